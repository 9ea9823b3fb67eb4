"""What each call of the two wires sends, and what it makes of each answer."""

from __future__ import annotations

import asyncio
import itertools
import json
import logging
import re
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import pytest

from explorer.contract import (
    Conflict,
    EngineFailure,
    InvalidRequest,
    NotFound,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.contract.items import parse_item
from explorer.engines import EngineSettings, StaticCredential
from explorer.engines.cortex.direct import DirectWire
from explorer.engines.cortex.envelope import Event, lay_out
from explorer.engines.cortex.failures import error_code
from explorer.engines.cortex.hosted import HostedWire
from explorer.engines.cortex.pacing import Timing
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.wires import (
    MAX_FORGOTTEN,
    MAX_LABELS,
    Answered,
    Appended,
    Erased,
    Pack,
    RawEvent,
    Scopes,
    Wire,
    batches,
    experience,
)
from tests.doubles.cortexdb import CortexDouble
from tests.doubles.serving import Reply
from tests.engines.cortex.answering import KEY, QUICK, Answering, answering, reply, wrapped
from tests.engines.cortex.vectors import VECTORS, written_out

EACH_WIRE = pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])
SCOPE = "app:tinymemory/app:learnings"
ITEM = "tm:i:067f52d5df721b52"
CLAIM = re.compile(r"tm-[0-9a-f]{16}-[0-9]+-[0-9]+")


def event(text: str = "prefers helix", part: int | None = None, **more: Any) -> Event:
    fields = {"modality": "observation", "role": "user", "observed_at": None, "derives": True, **more}
    return Event(text=text, labels=(ITEM, "kind:learning", f"tm:e:00:{part}"), part=part, **fields)


def wire_to(endpoint: str, *, hosted: bool, key: str = KEY, timing: Timing = QUICK, **more: Any) -> Wire:
    settings = CortexSettings.of(EngineSettings(endpoint=endpoint, **more), hosted=hosted)
    return (HostedWire if hosted else DirectWire)(settings, StaticCredential(key), timing)


class Both:
    """A wire and a server that answers it as scripted: `answers` are enveloped where the wire is the hosted one."""

    def __init__(self, server: Answering, wire: Wire) -> None:
        self.server = server
        self.wire = wire

    def answers(self, *values: Any) -> None:
        self.server.script += [self.wrap(value) for value in values]

    def always(self, value: Any) -> None:
        self.server.otherwise = self.wrap(value)

    def wrap(self, value: Any) -> Any:
        if isinstance(value, Reply) or value is None or callable(value):
            return value
        return wrapped(value) if self.wire.hosted else reply(value)

    @property
    def claims(self) -> list[str | None]:
        return self.server.sent("idempotency-key")


@asynccontextmanager
async def scripted(*, hosted: bool, timing: Timing = QUICK, **settings: Any) -> AsyncIterator[Both]:
    async with answering() as server:
        wire = wire_to(server.endpoint, hosted=hosted, timing=timing, **settings)
        try:
            yield Both(server, wire)
        finally:
            await wire.aclose()


@asynccontextmanager
async def doubled(
    *, hosted: bool, settings: dict[str, Any] | None = None, **knobs: Any
) -> AsyncIterator[tuple[CortexDouble, Wire]]:
    async with CortexDouble(**knobs) as double:
        wire = wire_to(double.endpoint, hosted=hosted, key=double.token, **(settings or {}))
        try:
            yield double, wire
        finally:
            await wire.aclose()


# Bodies of events.


@pytest.mark.parametrize(
    "vector", [each for each in VECTORS["envelopes"] if "events" in each], ids=lambda each: each["name"]
)
def test_bodies_and_their_keys_are_those_of_the_vectors(vector: Any) -> None:
    item = parse_item(json.dumps(written_out(vector["item"])))
    laid_out = lay_out(item, vector["id"])
    assert len(laid_out) == len(vector["events"])
    for made, wanted in zip(laid_out, vector["events"], strict=True):
        scope = wanted["body"]["scope"] if "body" in wanted else wanted["scope"]
        body = experience(scope, made)
        if "body" in wanted:
            assert body == wanted["body"]
        else:
            assert body["idempotency_key"] == wanted["idempotency_key"]


def test_the_key_stands_for_the_whole_body() -> None:
    plain = experience(SCOPE, event())
    others = [
        experience("app:tinymemory/app:documents", event()),
        experience(SCOPE, event("prefers vim")),
        experience(SCOPE, event(role="tool")),
        experience(SCOPE, event(modality="document")),
        experience(SCOPE, event(part=1)),
        experience(SCOPE, event(observed_at="2026-01-02T03:04:05+00:00")),
        experience(SCOPE, event(derives=False)),
    ]
    assert len({body["idempotency_key"] for body in [plain, *others]}) == 8
    assert len(plain["idempotency_key"]) == 60
    assert "directives" not in plain
    assert "observed_at" not in plain["context"]
    assert others[-1]["directives"] == {"extract": []}
    assert others[-2]["context"]["observed_at"] == "2026-01-02T03:04:05+00:00"


# Appending, Direct.


@pytest.mark.parametrize("waits", [True, False])
async def test_direct_sends_one_event_alone_and_several_in_bulk(waits: bool) -> None:
    query = "?wait=indexed" if waits else ""
    async with scripted(hosted=False) as it:
        it.answers({"event_id": "evt_1", "status": "captured"})
        assert await it.wire.append(SCOPE, [event()], waits=waits) == Appended("evt_1", replayed=False)
        results = [{"event_id": "evt_2", "replayed_from_idempotency": True}, {"event_id": "evt_3"}]
        it.answers({"accepted": 2, "results": results})
        turns = [event("a", 0), event("b", 1)]
        assert await it.wire.append(SCOPE, turns, waits=waits) == Appended("evt_3", replayed=False)
        assert it.server.targets == [f"POST /v1/experience{query}", f"POST /v1/experience/bulk{query}"]
        assert it.server.bodies[0] == experience(SCOPE, event())
        bulk = {"items": [experience(SCOPE, turn) for turn in turns], "ordering": "strict_temporal"}
        assert it.server.bodies[1] == bulk
        assert it.claims == [None, None]


async def test_direct_is_a_replay_only_where_every_event_was_one() -> None:
    replayed = {"replayed_from_idempotency": True}
    async with scripted(hosted=False) as it:
        it.answers({"event_id": "evt_1", **replayed})
        assert (await it.wire.append(SCOPE, [event()], waits=True)).replayed
        it.answers({"results": [{"event_id": "evt_1", **replayed}, {"event_id": "evt_2", **replayed}]})
        assert (await it.wire.append(SCOPE, [event("a", 0), event("b", 1)], waits=True)).replayed


@pytest.mark.parametrize("answer", [None, [], {}, {"event_id": None}, {"event_id": 7}])
@EACH_WIRE
async def test_an_append_needs_the_id_of_its_event(hosted: bool, answer: Any) -> None:
    async with scripted(hosted=hosted) as it:
        it.always(reply(answer) if not hosted else wrapped(answer))
        with pytest.raises(EngineFailure, match="without the event's id"):
            await it.wire.append(SCOPE, [event()], waits=True)
        assert len(it.server.requests) == 1


@pytest.mark.parametrize(
    "results",
    [
        None,
        {},
        [],
        [{"event_id": "evt_1"}],
        [{"event_id": "evt_1"}] * 3,
        [{"event_id": "evt_1"}, {}],
        [{"event_id": "evt_1"}, None],
    ],
)
async def test_a_bulk_answer_has_a_result_for_each_event(results: Any) -> None:
    async with scripted(hosted=False) as it:
        it.always({"accepted": 2, "results": results})
        with pytest.raises(EngineFailure):
            await it.wire.append(SCOPE, [event("a", 0), event("b", 1)], waits=True)


@pytest.mark.parametrize("status", [503, 429, 408])
async def test_direct_writes_once(status: int) -> None:
    async with scripted(hosted=False) as it:
        it.always(Reply(status=status))
        for events in ([event()], [event("a", 0), event("b", 1)]):
            with pytest.raises(Unavailable):
                await it.wire.append(SCOPE, events, waits=True)
        assert len(it.server.requests) == 2


@pytest.mark.parametrize(("actor", "kind"), [("user:priya", "user"), ("agent:writer", "agent"), ("priya", "user")])
async def test_direct_says_who_was_observed_where_that_is_wanted(actor: str, kind: str) -> None:
    said = {"id": actor, "type": kind}
    turns = [event("a", part, actor=actor) for part in range(3)]
    async with scripted(hosted=False, observed_actor=True) as it:
        results = [{"event_id": "evt_2"}, {"event_id": "evt_3"}]
        it.answers({"event_id": "evt_1", "replayed_from_idempotency": True}, {"results": results})
        assert await it.wire.append(SCOPE, turns, waits=True) == Appended("evt_3", replayed=False)
        first, rest = it.server.bodies
        assert [body["observed_actor"] for body in (first, *rest["items"])] == [said] * 3
        assert first["idempotency_key"] != experience(SCOPE, turns[0])["idempotency_key"]
        it.answers({"event_id": "evt_4"})
        await it.wire.append(SCOPE, [event()], waits=True)
        assert it.server.bodies[-1] == experience(SCOPE, event())
    async with scripted(hosted=False) as it:
        it.answers({"results": [{"event_id": "evt_1"}, *results]})
        await it.wire.append(SCOPE, turns, waits=True)
        assert it.server.bodies[0]["items"] == [experience(SCOPE, event("a", part)) for part in range(3)]


async def test_a_server_that_refuses_actors_gets_no_event_twice() -> None:
    turns = [event("a", part, actor="user:1") for part in range(3)]
    async with doubled(hosted=False, settings={"observed_actor": True}) as (double, wire):
        double.attribution_refusal = (422, "INVALID_BODY")
        await wire.append(SCOPE, turns, waits=True)
        assert len(double.held(SCOPE)) == 3
    async with scripted(hosted=False, observed_actor=True) as it:
        it.answers({"event_id": "evt_1"}, Reply(status=422))
        with pytest.raises(InvalidRequest):
            await it.wire.append(SCOPE, turns, waits=True)
        assert len(it.server.requests) == 2


@pytest.mark.parametrize("status", [401, 403, 400, 413, 422])
async def test_a_write_that_is_refused_for_its_actor_is_sent_without(status: int) -> None:
    async with scripted(hosted=False, observed_actor=True) as it:
        it.answers(Reply(status=status), {"event_id": "evt_1"})
        assert (await it.wire.append(SCOPE, [event(actor="user:1")], waits=True)).event_id == "evt_1"
        assert "observed_actor" in it.server.bodies[0]
        assert it.server.bodies[1] == experience(SCOPE, event())
        it.server.requests.clear()
        it.always(Reply(status=status))
        for actor, count in (("user:1", 2), (None, 1)):
            with pytest.raises((Unauthorized, InvalidRequest)):
                await it.wire.append(SCOPE, [event(actor=actor)], waits=True)
            assert len(it.server.requests) == count
            it.server.requests.clear()
        it.always(Reply(status=503))
        with pytest.raises(Unavailable):
            await it.wire.append(SCOPE, [event(actor="user:1")], waits=True)
        assert len(it.server.requests) == 1


async def test_hosted_says_nothing_of_who_was_observed() -> None:
    async with scripted(hosted=True, observed_actor=True) as it:
        it.answers({"event_id": "evt_1"})
        await it.wire.append(SCOPE, [event(actor="user:1")], waits=True)
        assert it.server.bodies == [experience(SCOPE, event())]


async def test_attribution_on_the_double() -> None:
    settings = {"observed_actor": True}
    async with doubled(hosted=False, settings=settings, attribution_refusal=(403, "FORBIDDEN")) as (double, wire):
        await wire.append(SCOPE, [event(actor="user:1")], waits=True)
        assert [("observed_actor" in body) for body in double.bodies("experience")] == [True, False]
        assert len(double.held(SCOPE)) == 1


# Appending, hosted.


async def test_hosted_sends_each_event_alone_under_a_claim_of_its_own() -> None:
    async with scripted(hosted=True) as it:
        replayed = {"replayed_from_idempotency": True}
        it.answers({"event_id": "evt_1", **replayed}, {"event_id": "evt_2"})
        turns = [event("a", 0), event("b", 1)]
        assert await it.wire.append(SCOPE, turns, waits=True) == Appended("evt_2", replayed=False)
        it.answers({"event_id": "evt_1", **replayed}, {"event_id": "evt_2", **replayed})
        assert await it.wire.append(SCOPE, turns, waits=False) == Appended("evt_2", replayed=True)
        assert it.server.targets == ["POST /memory/experience"] * 4
        assert it.server.bodies == [experience(SCOPE, turn) for turn in turns] * 2
        assert len(set(it.claims)) == 4
        for claim, body in zip(it.claims, it.server.bodies, strict=True):
            assert claim is not None
            assert CLAIM.fullmatch(claim)
            assert len(claim) <= 128
            assert claim != body["idempotency_key"]


@pytest.mark.parametrize("failed", [Reply(status=503), Reply(status=408), Reply(status=429), None])
async def test_a_hosted_write_is_sent_again_under_its_claim(failed: Reply | None) -> None:
    async with scripted(hosted=True) as it:
        it.answers(failed, failed, {"event_id": "evt_1"})
        assert await it.wire.append(SCOPE, [event()], waits=True) == Appended("evt_1", replayed=False)
        assert len(it.claims) == 3
        assert len(set(it.claims)) == 1
        it.always(failed)
        with pytest.raises(Unavailable):
            await it.wire.append(SCOPE, [event()], waits=True)
        assert len(it.claims) == 6


@pytest.mark.parametrize(("status", "kind"), [(400, InvalidRequest), (401, Unauthorized), (402, EngineFailure)])
async def test_a_hosted_write_that_is_refused_is_not_sent_again(status: int, kind: type[TinyMemoryError]) -> None:
    async with scripted(hosted=True) as it:
        it.always(Reply(status=status))
        with pytest.raises(kind):
            await it.wire.append(SCOPE, [event()], waits=True)
        assert len(it.server.requests) == 1


async def test_a_conflict_at_once_is_one() -> None:
    async with scripted(hosted=True) as it:
        it.always(Reply(status=409))
        with pytest.raises(Conflict):
            await it.wire.append(SCOPE, [event()], waits=True)
        assert len(it.server.requests) == 1


def listed(*events: Event, id: str = "evt_9") -> dict[str, Any]:
    """A listing that holds the events, each twice, under ids counted from `id`."""
    items = [
        {
            "id": id if number == 0 else f"{id}{number}",
            "scope": SCOPE,
            "content": {"kind": "message", "role": one.role, "text": one.text},
            "context": {"labels": list(one.labels)},
        }
        for number, one in enumerate(events)
    ]
    return {"items": [item for item in items for _ in range(2)], "has_more": False, "next_cursor": "end"}


@pytest.mark.parametrize("conflict", [Reply(status=409), reply({"success": False, "errorCode": "CONFLICT"}, 400)])
async def test_a_conflict_after_a_lost_answer_is_looked_for(conflict: Reply) -> None:
    other_turn, other_text = event("same", 1), event("other", 0)
    async with scripted(hosted=True) as it:
        it.answers(None, conflict, listed(), Reply(status=503), listed(other_turn, other_text))
        it.answers(listed(other_turn, event("same", 0), id="evt_5"))
        # The reads' own attempts: the 503 is followed by the answer of the next one.
        assert await it.wire.append(SCOPE, [event("same", 0)], waits=True) == Appended("evt_51", replayed=False)
        assert len(set(it.claims[:2])) == 1
        wanted = f"GET /memory/events?scope=app%3Atinymemory%2Fapp%3Alearnings&limit=200&labels={ITEM}"
        assert {target.replace("%3A", ":") for target in it.server.targets[2:]} == {wanted.replace("%3A", ":")}


async def test_a_write_that_is_nowhere_to_be_found_has_an_unknown_outcome() -> None:
    timing = Timing(retry_s=0.001, poll_s=0.001, most_poll_s=0.004, listed_s=0.05)
    async with scripted(hosted=True, timing=timing) as it:
        it.answers(None, Reply(status=409))
        it.always(listed(event("other", 0)))
        with pytest.raises(Unavailable, match="outcome is unknown"):
            await it.wire.append(SCOPE, [event("same", 0)], waits=True)
        assert len(it.server.requests) > 4


async def test_while_it_is_looked_for_what_passes_is_ridden_out_and_what_does_not_is_raised() -> None:
    async with scripted(hosted=True) as it:
        it.answers(None, Reply(status=409), *[Reply(status=502)] * 7, listed(event("same", 0)))
        assert (await it.wire.append(SCOPE, [event("same", 0)], waits=True)).event_id == "evt_9"
        it.answers(None, Reply(status=409), Reply(status=401))
        with pytest.raises(Unauthorized):
            await it.wire.append(SCOPE, [event("same", 0)], waits=True)


@pytest.mark.parametrize("knobs", [{"apply_then_fail": 1}, {"apply_then_fail": 2}, {"legacy_conflict": True}])
async def test_hosted_recovery_on_the_double(knobs: dict[str, Any]) -> None:
    async with doubled(hosted=True, **{"apply_then_fail": 1, **knobs}) as (double, wire):
        appended = await wire.append(SCOPE, [event("same", 0), event("same", 1)], waits=True)
        held = double.held(double.rooted(SCOPE))
        assert len(held) == 2
        assert appended.event_id == held[-1].id


async def test_gaps_between_polls_are_the_wires_own() -> None:
    async with scripted(hosted=False, timing=Timing()) as direct, scripted(hosted=True, timing=Timing()) as hosted:
        first = [[gap for gap, _ in zip(wire.polls(), range(4), strict=False)] for wire in (direct.wire, hosted.wire)]
    assert first == [[0.25] * 4, [0.25, 0.5, 1.0, 2.0]]


# Listing events.


@EACH_WIRE
async def test_a_listing_asks_in_the_order_of_the_sheet(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.always({"items": []})
        await it.wire.events(SCOPE)
        await it.wire.events(SCOPE, [ITEM, "tm:k:1"], "a b", 7)
        root = "memory" if hosted else "v1"
        scope = "app%3Atinymemory%2Fapp%3Alearnings"
        assert it.server.targets == [
            f"GET /{root}/events?scope={scope}&limit=200",
            f"GET /{root}/events?scope={scope}&limit=7&labels=tm%3Ai%3A067f52d5df721b52%2Ctm%3Ak%3A1&cursor=a%20b",
        ]
        assert it.claims == [None, None]


@EACH_WIRE
async def test_events_are_given_as_sent_and_what_is_none_left_out(hosted: bool) -> None:
    good = {"id": "evt_2", "content": {"text": "b"}, "context": {"labels": ["x", 7, "y"]}, "more": 1}
    none: list[Any] = [None, 7, {}, {"id": 7, "content": {"text": "a"}}, {"content": {"text": "a"}}]
    other = {"context": {"labels": ["x"]}}  # of another program
    odd = [{"id": "evt_9", **other, **more} for more in ({}, {"content": "a"}, {"content": {"kind": "blob_ref"}})]
    bare = [{"id": "evt_1", "content": {"text": ""}, **more} for more in ({}, {"context": None}, {"context": {}})]
    async with scripted(hosted=hosted) as it:
        it.always({"items": [good, good, *none, *odd, *bare], "has_more": True, "next_cursor": "2"})
        page = await it.wire.events(SCOPE)
    bare_ones = [RawEvent("evt_9", "", ())] * 3 + [RawEvent("evt_1", "", ())] * 3
    assert page.events == [RawEvent("evt_2", "b", ("x", "y"))] * 2 + bare_ones
    assert page.next_cursor == "2"


@pytest.mark.parametrize(
    "end",
    [
        {"has_more": False, "next_cursor": "2"},
        {"next_cursor": "2"},
        {"has_more": "true", "next_cursor": "2"},
        {"has_more": True},
        {"has_more": True, "next_cursor": 2},
        {"has_more": True, "next_cursor": None},
    ],
)
@EACH_WIRE
async def test_there_is_a_next_page_only_where_both_say_so(hosted: bool, end: dict[str, Any]) -> None:
    async with scripted(hosted=hosted) as it:
        it.always({"items": [], **end})
        assert (await it.wire.events(SCOPE)).next_cursor is None


@EACH_WIRE
async def test_a_cursor_that_comes_back_is_a_failure(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.always({"items": [], "has_more": True, "next_cursor": "2"})
        assert (await it.wire.events(SCOPE)).next_cursor == "2"
        with pytest.raises(EngineFailure, match="no end"):
            await it.wire.events(SCOPE, cursor="2")
        it.always({"items": [], "has_more": False, "next_cursor": "2"})
        assert (await it.wire.events(SCOPE, cursor="2")).next_cursor is None


@EACH_WIRE
async def test_labels_fit_into_one_request_or_it_is_not_sent(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.always({"items": []})
        await it.wire.events(SCOPE, [f"tm:i:{n}" for n in range(MAX_LABELS)])
        assert it.server.targets[0].count("labels=") == 1
        with pytest.raises(InvalidRequest, match="50"):
            await it.wire.events(SCOPE, [f"tm:i:{n}" for n in range(MAX_LABELS + 1)])
        assert len(it.server.requests) == 1


@pytest.mark.parametrize("answer", [None, [], {}, {"items": None}, {"items": {}}])
@EACH_WIRE
async def test_a_listing_needs_its_events(hosted: bool, answer: Any) -> None:
    async with scripted(hosted=hosted) as it:
        it.server.otherwise = wrapped(answer) if hosted else reply(answer)
        with pytest.raises(EngineFailure, match="without its events"):
            await it.wire.events(SCOPE)


READS: dict[str, Callable[[Wire], Any]] = {
    "events": lambda wire: wire.events(SCOPE),
    "recall": lambda wire: wire.recall(SCOPE, "q", max_tokens=None, limits=None),
    "scopes": lambda wire: wire.scopes("app:tinymemory"),
}
ONCE: dict[str, Callable[[Wire], Any]] = {
    "answer": lambda wire: wire.answer(SCOPE, "q", "pack_1", None),
    "health": lambda wire: wire.health(),
    "erase": lambda wire: wire.erase(SCOPE),
}


@EACH_WIRE
@pytest.mark.parametrize("name", [*READS, *ONCE])
async def test_reads_have_three_attempts_and_the_rest_one(hosted: bool, name: str) -> None:
    async with scripted(hosted=hosted) as it:
        it.always(Reply(status=503))
        with pytest.raises(Unavailable):
            await (READS | ONCE)[name](it.wire)
        assert len(it.server.requests) == (3 if name in READS else 1)


# Recalls and answers.


@EACH_WIRE
async def test_a_recall_names_its_view_its_layers_and_its_budget(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.always({"pack_id": "pack_1", "layers": {"events": [{"id": "evt_1", "content": {"text": "a"}}]}})
        pack = await it.wire.recall(SCOPE, "q", max_tokens=None, limits=None)
        assert pack == Pack("pack_1", [RawEvent("evt_1", "a", ())])
        await it.wire.recall(
            SCOPE,
            "q",
            include=["events", "facts"],
            max_tokens=786432,
            limits={"events": 18, "facts": 2},
            labels=[ITEM],
        )
        bare = {"scope": SCOPE, "query": "q", "view": "granular", "include": ["events"]}
        full = {
            **bare,
            "include": ["events", "facts"],
            "budgets": {"max_tokens": 786432, "per_layer_limits": {"events": 18, "facts": 2}},
            "filters": {"metadata": {"labels": [ITEM]}},
        }
        assert it.server.bodies == [bare, full]
        assert it.server.targets == [f"POST /{'memory' if hosted else 'v1'}/recall"] * 2
        assert it.claims == [None, None]


@EACH_WIRE
async def test_a_pack_may_be_empty_and_may_have_no_id(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        for answer in ({}, {"layers": {}}, {"layers": {"events": None}, "pack_id": 7}):
            it.answers(answer)
            assert await it.wire.recall(SCOPE, "q", max_tokens=None, limits=None) == Pack(None, [])
        for answer in ([], {"layers": []}, {"layers": {"events": {"a": 1}}}):
            it.answers(answer)
            with pytest.raises(EngineFailure, match="without its events"):
                await it.wire.recall(SCOPE, "q", max_tokens=None, limits=None)


@EACH_WIRE
async def test_an_answer_is_asked_for_as_the_wire_takes_it(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.answers({"answer": "yes", "citations": [], "diagnostics": {"answer_model": "m"}}, {"answer": ""})
        assert await it.wire.answer(SCOPE, "q", "pack_1", None) == Answered("yes", "m")
        assert await it.wire.answer(SCOPE, "q", "pack_1", "be brief") == Answered("", None)
        body = {
            "scope": SCOPE,
            "question": "q",
            "use_pack_id": "pack_1",
            "cite_sources": True,
            "include_context": True,
        }
        unset = {} if hosted else {"answer_instructions": None}
        assert it.server.bodies == [{**body, **unset}, {**body, "answer_instructions": "be brief"}]
        assert len({claim for claim in it.claims if claim}) == (2 if hosted else 0)
        for diagnostics in (None, [], {}, {"answer_model": 7}):
            it.answers({"answer": "yes", "diagnostics": diagnostics})
            assert (await it.wire.answer(SCOPE, "q", "pack_1", None)).model is None


@pytest.mark.parametrize("answer", [None, [], {}, {"answer": None}, {"answer": 7}])
@EACH_WIRE
async def test_an_answer_is_a_text(hosted: bool, answer: Any) -> None:
    async with scripted(hosted=hosted) as it:
        it.server.otherwise = wrapped(answer) if hosted else reply(answer)
        with pytest.raises(EngineFailure, match="without its text"):
            await it.wire.answer(SCOPE, "q", "pack_1", None)


@EACH_WIRE
async def test_a_pack_that_is_gone_is_not_found(hosted: bool) -> None:
    async with doubled(hosted=hosted) as (double, wire):
        await wire.append(SCOPE, [event()], waits=True)
        pack = await wire.recall(SCOPE, "helix", max_tokens=None, limits=None)
        assert pack.id is not None
        assert (await wire.answer(SCOPE, "helix", pack.id, None)).answer == double.answer
        await wire.forget(SCOPE, ["evt_none"])
        with pytest.raises(NotFound):
            await wire.answer(SCOPE, "helix", pack.id, None)
        assert double.count("answer") == 2


# Forgetting.


@EACH_WIRE
async def test_events_are_forgotten_by_the_hundred(hosted: bool) -> None:
    ids = [f"evt_{n}" for n in range(2 * MAX_FORGOTTEN + 1)]
    async with scripted(hosted=hosted) as it:
        it.always({"deleted": {"events": 1}})
        await it.wire.forget(SCOPE, [])
        assert it.server.requests == []
        await it.wire.forget(SCOPE, ids)
        sent = [body["selector"].pop("memory_ids") for body in it.server.bodies]
        assert sent == [ids[:100], ids[100:200], ids[200:]]
        for body in it.server.bodies:
            body["selector"].pop("memory_ids")
            assert body == {
                "scope": SCOPE,
                "layers": ["events"],
                "selector": {},
                "cascade": "redact_events",
                "audit_note": "tinymemory: forget",
            }
        assert len({claim for claim in it.claims if claim}) == (3 if hosted else 0)


async def test_direct_forgets_once() -> None:
    async with scripted(hosted=False) as it:
        it.always(Reply(status=503))
        with pytest.raises(Unavailable):
            await it.wire.forget(SCOPE, ["evt_1"])
        assert len(it.server.requests) == 1


async def test_hosted_forgets_again_where_that_may_help() -> None:
    async with scripted(hosted=True) as it:
        it.answers(Reply(status=503), None, {})
        await it.wire.forget(SCOPE, ["evt_1"])
        it.answers(Reply(status=503), Reply(status=404))
        await it.wire.forget(SCOPE, ["evt_1"])
        assert len(set(it.claims)) == 5
        it.server.requests.clear()
        it.always(Reply(status=503))
        with pytest.raises(Unavailable):
            await it.wire.forget(SCOPE, ["evt_1"])
        assert len(it.server.requests) == 3
        for status, kind in ((404, NotFound), (409, Conflict), (400, InvalidRequest)):
            it.server.requests.clear()
            it.always(Reply(status=status))
            with pytest.raises(kind):
                await it.wire.forget(SCOPE, ["evt_1"])
            assert len(it.server.requests) == 1


@EACH_WIRE
async def test_what_is_forgotten_is_gone(hosted: bool) -> None:
    async with doubled(hosted=hosted) as (_, wire):
        gone = (await wire.append(SCOPE, [event("a")], waits=True)).event_id
        kept = (await wire.append(SCOPE, [event("b")], waits=True)).event_id
        await wire.forget(SCOPE, [gone])
        assert {one.id for one in (await wire.events(SCOPE)).events} == {kept}


# Listing scopes.


@EACH_WIRE
async def test_scopes_are_asked_for_below_a_prefix_or_all(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.always({"scopes": []})
        await it.wire.scopes("app:tinymemory")
        await it.wire.scopes("")
        route = "memory/scopes" if hosted else "v1/scopes/list"
        assert it.server.targets == [
            f"GET /{route}?prefix=app%3Atinymemory&limit=1000",
            f"GET /{route}?limit=1000",
        ]


@EACH_WIRE
@pytest.mark.parametrize("name", ["items", "scopes"])
async def test_scopes_of_either_form_are_kept_by_whole_segments(hosted: bool, name: str) -> None:
    mine = ["org:4", "org:4/app:learnings", "org:acme/org:4", "org:acme/org:4/team:a/app:learnings"]
    others = ["org:42", "org:42/app:learnings", "xorg:4", "org:4x/app:learnings", "org:acme/org:42", ""]
    async with scripted(hosted=hosted) as it:
        it.answers({name: [*mine, *others]}, {name: [{"path": path} for path in [*others, *mine]]})
        assert await it.wire.scopes("org:4") == Scopes(mine, is_cut=False)
        assert await it.wire.scopes("org:4") == Scopes(mine, is_cut=False)
        it.answers({name: ["a:1", 7, None, {}, {"path": 7}, {"path": "b:2", "more": 1}]})
        assert (await it.wire.scopes("")).paths == ["a:1", "b:2"]


@EACH_WIRE
@pytest.mark.parametrize(("count", "is_cut"), [(999, False), (1000, True), (1001, True)])
async def test_a_thousand_entries_may_be_cut(hosted: bool, count: int, is_cut: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.always({"items": [f"org:{n}" for n in range(count)]})
        assert (await it.wire.scopes("org:7")) == Scopes(["org:7"], is_cut=is_cut)


@EACH_WIRE
async def test_no_listing_of_scopes_is_an_empty_one(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.always(Reply(status=404))
        assert await it.wire.scopes("org:4") == Scopes([], is_cut=False, is_missing=True)
        for answer in ([], {}, {"items": {}}, {"scopes": None}):
            it.always(answer)
            with pytest.raises(EngineFailure, match="without its scopes"):
                await it.wire.scopes("org:4")


@EACH_WIRE
async def test_scopes_on_the_double(hosted: bool) -> None:
    async with doubled(hosted=hosted, string_prefix_scopes=True) as (double, wire):
        await wire.append("app:tinymemory/app:learnings", [event()], waits=True)
        await wire.append("app:tinymemoryx/app:learnings", [event()], waits=True)
        stored = double.rooted(SCOPE) if hosted else SCOPE
        assert await wire.scopes("app:tinymemory") == Scopes([stored], is_cut=False)


# Erasing, Direct.


async def test_direct_erases_a_scope_and_never_by_selector() -> None:
    async with scripted(hosted=False) as it:
        it.answers({"erasure_id": "erasure_1", "status": "completed"}, {"erasure_id": "erasure_2"})
        assert await it.wire.erase(SCOPE) == Erased(1, ["erasure_1"])
        assert await it.wire.erase(SCOPE) == Erased(1, ["erasure_2"])
        assert it.server.targets == ["POST /v1/erasures"] * 2
        assert it.server.bodies[0] == {"scope": SCOPE, "confirm_all": True, "audit_note": "tinymemory: erase"}


@pytest.mark.parametrize("status", ["running", "pending", "queued", "accepted"])
async def test_direct_waits_until_an_erasure_is_done(status: str) -> None:
    async with scripted(hosted=False) as it:
        it.answers({"erasure_id": "a/b c", "status": status}, {"status": status}, Reply(status=503))
        it.answers({"status": "completed"})
        assert await it.wire.erase(SCOPE) == Erased(1, ["a/b c"])
        assert it.server.targets == ["POST /v1/erasures"] + ["GET /v1/erasures/a%2Fb%20c"] * 3


@pytest.mark.parametrize("status", ["failed", "cancelled", "Completed", "", 7, {}])
async def test_an_erasure_that_ends_otherwise_is_a_failure(status: Any) -> None:
    async with scripted(hosted=False) as it:
        it.answers({"erasure_id": "erasure_1", "status": status})
        with pytest.raises(EngineFailure, match="erasure_1"):
            await it.wire.erase(SCOPE)
        it.answers({"erasure_id": "erasure_1", "status": "running"}, {"status": status})
        with pytest.raises(EngineFailure):
            await it.wire.erase(SCOPE)


@pytest.mark.parametrize("answer", [None, [], {}, {"status": None}])
async def test_a_polled_erasure_needs_its_status(answer: Any) -> None:
    async with scripted(hosted=False) as it:
        it.answers({"erasure_id": "erasure_1", "status": "running"}, reply(answer))
        with pytest.raises(EngineFailure, match="without its status"):
            await it.wire.erase(SCOPE)


async def test_an_erasure_that_takes_too_long_is_pending() -> None:
    async with scripted(hosted=False, timing=Timing(poll_s=0.001, most_poll_s=0.002, erasure_s=0.02)) as it:
        it.answers({"erasure_id": "erasure_1", "status": "running"})
        it.always({"status": "running"})
        with pytest.raises(Unavailable, match="pending"):
            await it.wire.erase(SCOPE)
        assert it.server.targets.count("POST /v1/erasures") == 1


@pytest.mark.parametrize("answer", [None, [], {}, {"erasure_id": None}, {"erasure_id": 7, "status": "completed"}])
async def test_an_erasure_needs_its_id(answer: Any) -> None:
    async with scripted(hosted=False) as it:
        it.answers(reply(answer))
        with pytest.raises(EngineFailure, match="without the erasure's id"):
            await it.wire.erase(SCOPE)


async def test_direct_erases_no_whole_account() -> None:
    async with scripted(hosted=False) as it:
        with pytest.raises(Unsupported):
            await it.wire.erase_everything()
        assert it.server.server.accepted == 0


@pytest.mark.parametrize(
    "knobs", [{}, {"erasure_running_for": 3}, {"erasure_post_omits_status": True}], ids=["at once", "later", "unsaid"]
)
async def test_direct_erasure_on_the_double(knobs: dict[str, Any]) -> None:
    async with doubled(hosted=False, **knobs) as (double, wire):
        await wire.append(SCOPE, [event()], waits=True)
        erased = await wire.erase(SCOPE)
        assert erased.scopes == 1
        assert double.held(SCOPE) == []


# Erasing, hosted.


async def test_hosted_erases_a_scope_without_an_envelope() -> None:
    async with scripted(hosted=True) as it:
        it.server.script = [
            reply({"erased": True, "scope": SCOPE, "scopes": 2, "erasure_ids": ["e1", "e2"]}),
            reply({"erased": True, "scopes": 0, "erasure_ids": []}),
            reply({"erased": True, "scopes": 0, "erasure_ids": None}),
            reply({"erased": True, "scopes": 0}),
        ]
        assert await it.wire.erase(SCOPE) == Erased(2, ["e1", "e2"])
        for _ in range(3):
            assert await it.wire.erase(SCOPE) == Erased(0, [])
        assert it.server.targets == ["POST /memory/v1/erasures"] * 4
        assert it.server.bodies[0] == {"scope": SCOPE, "audit_note": "tinymemory: erase"}
        assert len(set(it.claims)) == 4


@pytest.mark.parametrize(
    "answer",
    [
        None,
        {},
        {"scopes": 1, "erasure_ids": ["e1"]},
        {"erased": False, "scopes": 1, "erasure_ids": ["e1"]},
        {"erased": "true", "scopes": 1, "erasure_ids": ["e1"]},
        {"erased": 1, "scopes": 1, "erasure_ids": ["e1"]},
        {"erased": True, "erasure_ids": ["e1"]},
        {"erased": True, "scopes": -1, "erasure_ids": ["e1"]},
        {"erased": True, "scopes": 1.0, "erasure_ids": ["e1"]},
        {"erased": True, "scopes": True, "erasure_ids": ["e1"]},
        {"erased": True, "scopes": 1, "erasure_ids": "e1"},
        {"erased": True, "scopes": 1, "erasure_ids": [7]},
        {"erased": True, "scopes": 1, "erasure_ids": []},
        {"erased": True, "scopes": 1},
        {"success": True, "data": {"erased": True, "scopes": 1, "erasure_ids": ["e1"]}},
    ],
)
async def test_a_hosted_erasure_says_exactly_what_it_did(answer: Any) -> None:
    async with scripted(hosted=True) as it:
        it.server.otherwise = reply(answer)
        with pytest.raises(EngineFailure):
            await it.wire.erase(SCOPE)
        assert len(it.server.requests) == 1


async def test_an_incomplete_erasure_is_asked_for_three_times() -> None:
    incomplete = reply({"erased": False, "error_code": "ERASURE_INCOMPLETE", "retriable": True}, 502)
    async with scripted(hosted=True) as it:
        it.server.script = [incomplete, incomplete, reply({"erased": True, "scopes": 1, "erasure_ids": ["e1"]})]
        assert await it.wire.erase(SCOPE) == Erased(1, ["e1"])
        assert len(set(it.claims)) == 3
        it.server.requests.clear()
        it.server.otherwise = incomplete
        with pytest.raises(Unavailable) as caught:
            await it.wire.erase(SCOPE)
        assert error_code(caught.value) == "ERASURE_INCOMPLETE"
        assert len(it.server.requests) == 3


@pytest.mark.parametrize(
    ("answer", "kind"),
    [
        (Reply(status=502), Unavailable),
        (reply({"error_code": "OTHER", "retriable": True}, 502), Unavailable),
        (None, Unavailable),
        (reply({"error_code": "ROOT_ERASURE_REFUSED"}, 422), InvalidRequest),
        (reply({"error_code": "UNKNOWN_FIELD"}, 400), InvalidRequest),
        (reply({"message": "Not Found"}, 404), Unsupported),
    ],
)
async def test_no_other_failure_of_a_hosted_erasure_is_repeated(
    answer: Reply | None, kind: type[TinyMemoryError]
) -> None:
    async with scripted(hosted=True) as it:
        it.server.otherwise = answer
        with pytest.raises(kind):
            await it.wire.erase(SCOPE)
        assert len(it.server.requests) == 1


async def test_a_whole_account_is_erased_once_and_without_a_body() -> None:
    async with scripted(hosted=True) as it:
        it.answers({"erased": True, "scopes": 3}, {"erased": True, "scopes": 0})
        assert await it.wire.erase_everything() == 3
        assert await it.wire.erase_everything() == 0
        assert it.server.targets == ["DELETE /memory"] * 2
        assert [request.body for request in it.server.requests] == [b"", b""]
        assert it.claims == [None, None]
        for answer in ({}, {"erased": False, "scopes": 1}, {"erased": True}, {"erased": True, "scopes": "1"}, [1]):
            it.answers(answer)
            with pytest.raises(EngineFailure):
                await it.wire.erase_everything()
        it.server.requests.clear()
        for failed, kind in ((reply({"message": "Not Found"}, 404), Unsupported), (Reply(status=503), Unavailable)):
            it.answers(failed)
            with pytest.raises(kind):
                await it.wire.erase_everything()
        assert len(it.server.requests) == 2


@pytest.mark.parametrize("knobs", [{}, {"erasure_incomplete": 2}], ids=["at once", "in three attempts"])
async def test_hosted_erasures_on_the_double(knobs: dict[str, Any]) -> None:
    async with doubled(hosted=True, **knobs) as (double, wire):
        await wire.append(SCOPE, [event()], waits=True)
        await wire.append("app:tinymemory/app:documents", [event()], waits=True)
        assert (await wire.erase(SCOPE)).scopes == 1
        assert double.held(double.rooted(SCOPE)) == []
        assert await wire.erase_everything() >= 1
        assert double.held(double.rooted("app:tinymemory/app:documents")) == []


INCOMPLETE = reply({"erased": False, "error_code": "ERASURE_INCOMPLETE"}, 502)


@pytest.mark.parametrize(
    ("call", "failed"),
    [
        (lambda wire: wire.append(SCOPE, [event()], waits=True), Reply(status=503)),
        (lambda wire: wire.forget(SCOPE, ["evt_1"]), Reply(status=503)),
        (lambda wire: wire.erase(SCOPE), INCOMPLETE),
    ],
    ids=["append", "forget", "erase"],
)
async def test_what_hosted_sends_again_comes_later_and_later(call: Callable[[Wire], Any], failed: Reply) -> None:
    async with scripted(hosted=True, timing=Timing(retry_s=0.02)) as it:
        it.always(failed)
        with pytest.raises(Unavailable):
            await call(it.wire)
        first, second, third = it.server.arrivals
    assert second - first >= 0.02
    assert third - second >= 0.04


async def test_an_erasure_is_polled_less_and_less_often() -> None:
    async with scripted(hosted=False, timing=Timing(poll_s=0.01, most_poll_s=0.02, erasure_s=5)) as it:
        it.answers({"erasure_id": "erasure_1", "status": "running"}, *[{"status": "running"}] * 2)
        it.always({"status": "completed"})
        await it.wire.erase(SCOPE)
        gaps = [later - earlier for earlier, later in itertools.pairwise(it.server.arrivals)]
    assert all(gap >= wanted for gap, wanted in zip(gaps, (0.01, 0.02, 0.02), strict=True))


# Registering the root.

OWN = {"actor": "user:42", "role": "owner"}


async def test_a_root_is_registered_once() -> None:
    async with doubled(hosted=False) as (double, wire):
        async with asyncio.TaskGroup() as group:
            for _ in range(3):
                group.create_task(wire.register("org:42", "user:42"))
        await wire.register("org:42", "user:42")
        assert double.counts() == {"register": 1}
        assert double.bodies("register") == [{"path": "org:42", "members": [OWN]}]


@pytest.mark.parametrize(
    ("members", "put"),
    [
        ([OWN], None),
        ([{**OWN, "since": "2026"}], None),
        ([], [OWN]),
        ([{"actor": "user:1", "role": "owner"}], [{"actor": "user:1", "role": "owner"}, OWN]),
        ([{"actor": "user:42", "role": "reader"}], [{"actor": "user:42", "role": "reader"}, OWN]),
    ],
)
async def test_a_root_that_is_registered_gets_its_owner(members: list[Any], put: list[Any] | None) -> None:
    async with scripted(hosted=False) as it:
        it.answers(reply({"error_code": "SCOPE_REGISTRATION_EXISTS"}, 409), {"path": "org:42", "members": members}, {})
        await it.wire.register("org:42", "user:42")
        await it.wire.register("org:42", "user:42")
        targets = ["POST /v1/scopes", "GET /v1/scopes?path=org%3A42"]
        assert it.server.targets == [*targets, *(["PUT /v1/scopes/members?path=org%3A42"] if put else [])]
        if put:
            assert json.loads(it.server.requests[-1].body) == {"members": put}


@pytest.mark.parametrize("record", [None, [], {}, {"members": None}, {"members": {}}])
async def test_members_that_are_not_known_are_not_replaced(record: Any, caplog: pytest.LogCaptureFixture) -> None:
    async with scripted(hosted=False) as it:
        it.answers(Reply(status=409), reply(record))
        await it.wire.register("org:42", "user:42")
        assert len(it.server.requests) == 2
    assert "org:42" in caplog.text


@pytest.mark.parametrize("status", [401, 403, 404, 422, 500, 503])
async def test_a_failed_registration_is_logged_and_tried_again_next_time(
    status: int, caplog: pytest.LogCaptureFixture
) -> None:
    async with scripted(hosted=False) as it:
        it.always(Reply(KEY.encode(), status))
        with caplog.at_level(logging.WARNING):
            await it.wire.register("org:42", "user:42")
        assert "org:42" in caplog.text
        assert KEY not in caplog.text
        assert len(it.server.requests) == 1
        it.always({})
        await it.wire.register("org:42", "user:42")
        await it.wire.register("org:42", "user:42")
        assert len(it.server.requests) == 2


async def test_hosted_registers_nothing() -> None:
    async with scripted(hosted=True) as it:
        await it.wire.register("org:42", "user:42")
        assert it.server.server.accepted == 0


# Health, and the rest.


@EACH_WIRE
async def test_health_is_one_request(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        it.answers({"scopes": []} if hosted else {"status": "healthy"})
        await it.wire.health()
        assert it.server.targets == [
            "GET /memory/scopes?prefix=tmh%3Aprobe&limit=1" if hosted else "GET /v1/admin/health"
        ]
        it.always(Reply(status=404))
        with pytest.raises(NotFound):
            await it.wire.health()


@EACH_WIRE
async def test_a_closed_wire_asks_nothing_more(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        await it.wire.aclose()
        await it.wire.aclose()
        for name, call in (READS | ONCE).items():
            with pytest.raises(Unavailable, match="was closed"):
                await call(it.wire)
            assert it.server.server.accepted == 0, name


@EACH_WIRE
async def test_prints_show_the_wire_and_its_origin(hosted: bool) -> None:
    async with scripted(hosted=hosted) as it:
        assert KEY not in repr(it.wire)
        assert it.server.endpoint in repr(it.wire)


def test_batches_keep_the_order() -> None:
    assert [list(part) for part in batches([1, 2, 3, 4, 5], 2)] == [[1, 2], [3, 4], [5]]
    assert list(batches([], 2)) == []
