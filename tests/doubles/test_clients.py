"""What the double gives CortexDB's own clients beyond what the engine asks for."""

from __future__ import annotations

import pytest

from tests.doubles.test_cortexdb import LEARNINGS, Json, asking, data, event, refusal


async def test_an_event_is_had_by_its_id() -> None:
    async with asking() as client:
        id = await client.write("v1", "one")
        found = data(await client.get(f"v1/events/{id}"))
        assert (found["id"], found["scope"], found["content"]["text"]) == (id, LEARNINGS, "one")
        assert refusal(await client.get("v1/events/evt_9")) == (404, "NOT_FOUND")
        assert (await client.get(f"memory/events/{id}")).status_code == 404


@pytest.mark.parametrize(
    "content",
    [
        {"kind": "json", "data": {"seals": 3}},
        {"kind": "triple", "triple": {"predicate": "lives_in"}},
        {"kind": "blob_ref", "blob_id": "b1", "transcript": "words"},
    ],
)
async def test_content_that_is_no_message_is_listed_without_a_text(content: Json) -> None:
    async with asking() as client:
        assert (await client.post("v1/experience", event() | {"content": content})).status_code == 202
        (held, _) = data(await client.get("v1/events", scope=LEARNINGS))["items"]
        assert held["content"] == content
        wrong = content | {"text": "words"}
        assert refusal(await client.post("v1/experience", event() | {"content": wrong})) == (422, "UNKNOWN_FIELD")


async def test_a_retry_with_another_time_of_observation_is_a_replay() -> None:
    async with asking() as client:
        first = await client.write("v1", idempotency_key="cli:1")
        later = event(idempotency_key="cli:1")
        later["context"]["observed_at"] = "2026-01-03T00:00:00+00:00"
        said = data(await client.post("v1/experience", later))
        assert (said["event_id"], said["replayed_from_idempotency"]) == (first, True)


async def test_a_batch_has_at_most_a_thousand_items() -> None:
    async with asking() as client:
        items = [event(str(number)) for number in range(1001)]
        assert refusal(await client.post("v1/experience/bulk", {"items": items})) == (422, "INVALID_BODY")
        assert data(await client.post("v1/experience/bulk", {"items": items[1:]}))["accepted"] == 1000
