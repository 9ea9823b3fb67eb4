"""The double itself, over plain httpx: every behaviour that the engine is tested against, and every knob."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble

LEARNINGS = "app:tinymemory/app:learnings"
DOCUMENTS = "app:tinymemory/team:acme/app:documents"
WIRES = pytest.mark.parametrize("wire", ["v1", "memory"])
Json = dict[str, Any]


class Client:
    """Speaks both wires, as plainly as it can be done."""

    def __init__(self, http: httpx.AsyncClient, double: CortexDouble) -> None:
        self.http = http
        self.double = double

    async def post(self, route: str, body: Any, **headers: str) -> httpx.Response:
        return await self.http.post(route, json=body, headers={k.replace("_", "-"): v for k, v in headers.items()})

    async def get(self, route: str, **params: Any) -> httpx.Response:
        return await self.http.get(route, params=params)

    async def write(self, wire: str, text: str = "prefers helix", **more: Any) -> str:
        said = await self.post(f"{wire}/experience", event(text, **more))
        assert said.status_code == 202, said.text
        return str(data(said)["event_id"])

    async def listed(self, wire: str, scope: str = LEARNINGS, **params: Any) -> list[str]:
        return [each["id"] for each in data(await self.get(f"{wire}/events", scope=scope, **params))["items"]]

    async def recalled(self, wire: str, query: str, **more: Any) -> Json:
        body = {"scope": LEARNINGS, "query": query, "view": "granular", "include": ["events"], **more}
        return data(await self.post(f"{wire}/recall", body))

    async def scopes(self, wire: str, **params: Any) -> list[str]:
        if wire == "v1":
            return [each["path"] for each in data(await self.get("v1/scopes/list", **params))["items"]]
        return list(data(await self.get("memory/scopes", **params))["scopes"])

    async def forget(self, wire: str, *ids: str, **more: Any) -> httpx.Response:
        body = {"scope": LEARNINGS, "selector": {"memory_ids": list(ids)}, "cascade": "redact_events", **more}
        return await self.post(f"{wire}/forget", {name: value for name, value in body.items() if value is not None})


@asynccontextmanager
async def asking(**knobs: Any) -> AsyncIterator[Client]:
    async with CortexDouble(**knobs) as double, plain(double) as http:
        yield Client(http, double)


def plain(double: CortexDouble) -> httpx.AsyncClient:
    """Without the authorities of TLS, which take longer to load than a test takes."""
    return httpx.AsyncClient(base_url=double.endpoint, headers=double.headers, trust_env=False, verify=False)


def event(text: str = "prefers helix", scope: str = LEARNINGS, labels: tuple[str, ...] = (), **more: Any) -> Json:
    content = {"kind": "message", "role": "user", "text": text}
    context = {"labels": list(labels), "observed_at": "2026-01-02T03:04:05+00:00"}
    return {"scope": scope, "modality": "observation", "content": content, "context": context, **more}


def data(said: httpx.Response) -> Json:
    assert said.is_success, said.text
    body = said.json()
    return dict(body["data"] if "success" in body else body)


def refusal(said: httpx.Response) -> tuple[int, str]:
    """Status and code, by either wire's words."""
    body = said.json()
    assert "error_code" in body or body["success"] is False
    return said.status_code, body.get("error_code") or body["errorCode"]


# the log


@WIRES
async def test_a_listing_shows_each_event_twice_newest_first_and_its_limit_counts_copies(wire: str) -> None:
    async with asking() as client:
        ids = [await client.write(wire, text) for text in ("one", "two", "three")]
        assert await client.listed(wire) == [ids[2], ids[2], ids[1], ids[1], ids[0], ids[0]]
        page = data(await client.get(f"{wire}/events", scope=LEARNINGS, limit=3))
        assert [each["id"] for each in page["items"]] == [ids[2], ids[2], ids[1]]
        assert page["has_more"] is True
        rest = data(await client.get(f"{wire}/events", scope=LEARNINGS, limit=3, cursor=page["next_cursor"]))
        assert [each["id"] for each in rest["items"]] == [ids[1], ids[0], ids[0]]
        assert rest["has_more"] is False
        assert isinstance(rest["next_cursor"], str)
        assert set(rest["items"][0]) == {"id", "scope", "modality", "content", "context"}
        assert set(rest["items"][0]["context"]) == {"labels", "observed_at", "recorded_at"}


@WIRES
async def test_a_listing_has_fifty_copies_unless_told_and_never_over_its_page(wire: str) -> None:
    async with asking() as client:
        for number in range(120):
            client.double.put(client.double.rooted(LEARNINGS) if wire == "memory" else LEARNINGS, str(number))
        assert len(await client.listed(wire)) == 50
        assert len(await client.listed(wire, limit=1000)) == 200
        assert len(await client.listed(wire, limit=1000, cursor="200")) == 40


@WIRES
async def test_labels_are_any_of_one_parameter(wire: str) -> None:
    async with asking() as client:
        one = await client.write(wire, "one", labels=("tm:t:1", "x"))
        two = await client.write(wire, "two", labels=("tm:t:2",))
        await client.write(wire, "three")
        assert await client.listed(wire, labels="tm:t:1,tm:t:2") == [two, two, one, one]
        assert await client.listed(wire, labels="tm:t:9") == []
        many = ",".join(f"tm:t:{number}" for number in range(51))
        assert (await client.get(f"{wire}/events", scope=LEARNINGS, labels=many)).is_client_error
        twice = await client.http.get(f"{wire}/events?scope={LEARNINGS}&labels=tm:t:1&labels=tm:t:2")
        assert (twice.status_code, wire) in ((200, "v1"), (400, "memory"))


@WIRES
async def test_an_unknown_parameter_is_ignored_and_noted(wire: str) -> None:
    async with asking() as client:
        one = await client.write(wire)
        assert await client.listed(wire, cursr="200") == [one, one]
        assert client.double.unknown_params == ["cursr"]


@WIRES
async def test_a_write_key_replays_the_same_body_and_refuses_another(wire: str) -> None:
    async with asking() as client:
        first = await client.write(wire, idempotency_key="tm3:k")
        again = data(await client.post(f"{wire}/experience", event(idempotency_key="tm3:k")))
        assert again == {"event_id": first, "replayed_from_idempotency": True}
        other = await client.post(f"{wire}/experience", event(labels=("x",), idempotency_key="tm3:k"))
        assert refusal(other) == ((409, "IDEMPOTENCY_CONFLICT") if wire == "v1" else (409, "CONFLICT"))
        assert await client.listed(wire) == [first, first]
        client.double.compares_body = False
        client.double.log.expire_keys()
        second = await client.write(wire, idempotency_key="tm3:k")
        assert second != first
        assert await client.write(wire, idempotency_key="tm3:k", labels=("x",)) == second


@pytest.mark.parametrize(
    ("change", "code"),
    [
        ({"namespace": "x"}, "UNKNOWN_FIELD"),
        ({"content": {"kind": "message", "role": "user", "text": "x", "mime": "y"}}, "UNKNOWN_FIELD"),
        ({"content": {"kind": "message", "role": "user", "text": ""}}, "INVALID_ENVELOPE"),
        ({"content": {"kind": "message", "role": "robot", "text": "x"}}, "INVALID_ENVELOPE"),
        ({"context": {"labels": [], "tags": []}}, "UNKNOWN_FIELD"),
        ({"context": {"labels": ["x"] * 65}}, "INVALID_ENVELOPE"),
        ({"context": {"labels": ["é" * 129]}}, "INVALID_ENVELOPE"),
        ({"directives": {"extract": [], "derive": False}}, "UNKNOWN_FIELD"),
        ({"idempotency_key": "k" * 65}, "INVALID_ENVELOPE"),
        ({"scope": "app:tinymemory/room:7/app:learnings"}, "UNREGISTERED_SCOPE_TYPE"),
        ({"scope": "app:tinymemory/"}, "INVALID_SCOPE_GRAMMAR"),
        ({"content": {"kind": "message", "role": "user", "text": "x" * (1 << 20) + "y"}}, "INVALID_ENVELOPE"),
    ],
)
async def test_a_write_is_held_to_a_closed_schema(change: Json, code: str) -> None:
    async with asking() as client:
        assert refusal(await client.post("v1/experience", event() | change)) == (422, code)
        assert refusal(await client.post("memory/experience", event() | change)) == (400, "BAD_REQUEST")
        assert len(client.double.log) == 0


async def test_a_replay_is_found_before_the_size_is_looked_at() -> None:
    async with asking() as client:
        await client.write("v1", "small", idempotency_key="k")
        long = event("x" * (1 << 20) + "y", idempotency_key="k")
        assert refusal(await client.post("v1/experience", long)) == (409, "IDEMPOTENCY_CONFLICT")


async def test_a_batch_is_written_in_order_and_stops_with_its_first_failure() -> None:
    async with asking() as client:
        body = {"items": [event("one"), event("two")], "ordering": "strict_temporal"}
        said = data(await client.post("v1/experience/bulk?wait=indexed", body))
        ids = [each["event_id"] for each in said["results"]]
        assert said["accepted"] == 2
        assert [each["index"] for each in said["results"]] == [0, 1]
        assert [each.id for each in client.double.held(LEARNINGS)] == ids
        body["items"] = [event("three"), event("four", extra=1), event("five")]
        assert refusal(await client.post("v1/experience/bulk", body)) == (422, "UNKNOWN_FIELD")
        assert [each.text for each in client.double.held(LEARNINGS)] == ["one", "two", "three"]
        assert (await client.post("memory/experience/bulk", body)).json() == {"message": "Not Found"}
        client.double.bulk_answer = {"accepted": 1, "results": []}
        body["items"] = [event("six")]
        assert data(await client.post("v1/experience/bulk", body))["results"] == []


@WIRES
async def test_a_recall_ranks_by_words_and_returns_texts_as_stored(wire: str) -> None:
    async with asking() as client:
        one = await client.write(wire, "The kiln is hot.", labels=("tm:t:1",))
        two = await client.write(wire, "The kiln fires at night.", labels=("tm:t:2",))
        three = await client.write(wire, "Nothing of it.")

        async def ids(query: str, **more: Any) -> list[str]:
            return [each["id"] for each in (await client.recalled(wire, query, **more))["layers"]["events"]]

        assert await ids("kiln, hot?") == [one, two]
        assert await ids("kiln") == [two, one]
        assert await ids("zebra") == []
        assert await ids("is it") == [three, two, one]
        assert await ids("kiln", filters={"metadata": {"labels": ["tm:t:1"]}}) == [one]
        assert await ids("kiln", budgets={"per_layer_limits": {"events": 1}}) == [two]
        assert await ids("kiln", include=["facts"]) == []
        pack = await client.recalled(wire, "hot")
        assert pack["layers"]["events"][0]["content"]["text"] == "The kiln is hot."
        unknown = {"scope": LEARNINGS, "query": "x", "view": "granular", "limit": 3}
        assert (await client.post(f"{wire}/recall", unknown)).status_code == (422 if wire == "v1" else 400)


async def test_only_descend_looks_below_and_a_recall_without_a_view_gives_no_whole_texts() -> None:
    async with asking() as client:
        await client.write("v1", "kiln " * 100, scope="app:tinymemory/team:acme/app:learnings")
        wide = {"scope": "app:tinymemory", "query": "kiln"}
        found = data(await client.post("v1/recall", wide | {"view": "descend"}))["layers"]["events"]
        assert len(found) == 1
        assert data(await client.post("v1/recall", wide | {"view": "granular"}))["layers"]["events"] == []
        default = data(await client.post("v1/recall", {"scope": found[0]["scope"], "query": "kiln"}))
        assert len(default["layers"]["events"][0]["content"]["text"]) == 200


async def test_a_small_budget_cuts_texts_to_excerpts() -> None:
    async with asking() as client:
        await client.write("v1", "kiln " + "x" * 20_000)
        whole = {"max_tokens": 786_432}

        async def texts(**more: Any) -> list[Json]:
            return [each["content"] for each in (await client.recalled("v1", "kiln", **more))["layers"]["events"]]

        assert len((await texts(budgets=whole))[0]["text"]) == 20_005
        cut = (await texts())[0]
        assert len(cut["text"]) == 16_000
        assert cut["_partial"] is True
        await client.write("v1", "kiln, of late")
        assert [len(each["text"]) for each in await texts(budgets={"max_tokens": 5})] == [13, 7]
        assert [len(each["text"]) for each in await texts(budgets={"max_tokens": 3})] == [12]


@WIRES
async def test_packs_have_ids_of_their_own_bound_to_their_scope_and_any_removal_drops_them(wire: str) -> None:
    async with asking() as client:
        await client.write(wire)
        await client.write(wire, "other", scope=DOCUMENTS)
        packs = [(await client.recalled(wire, "helix"))["pack_id"] for _ in range(2)]
        assert len(set(packs)) == 2
        question = {"scope": LEARNINGS, "question": "Which?", "use_pack_id": packs[0]}
        said = data(await client.post(f"{wire}/answer", question))
        assert said["answer"] == client.double.answer
        assert said["diagnostics"]["answer_model"] == "double-1"
        code = "MISSING_PACK" if wire == "v1" else "BAD_REQUEST"
        assert refusal(await client.post(f"{wire}/answer", question | {"scope": DOCUMENTS})) == (400, code)
        assert refusal(await client.post(f"{wire}/answer", question | {"use_pack_id": "pack_test"})) == (400, code)
        await client.forget(wire, "evt_99")
        assert (await client.post(f"{wire}/answer", question)).status_code == 404
        question["use_pack_id"] = (await client.recalled(wire, "helix"))["pack_id"]
        erasure = {"scope": DOCUMENTS} | ({"confirm_all": True} if wire == "v1" else {})
        assert (await client.post(f"{wire if wire == 'v1' else 'memory/v1'}/erasures", erasure)).is_success
        assert (await client.post(f"{wire}/answer", question)).status_code == 404


@WIRES
async def test_the_five_outcomes_of_a_forget(wire: str) -> None:
    async with asking() as client:
        one = await client.write(wire, idempotency_key="k")
        two = await client.write(wire, "two", idempotency_key="l")
        kept = data(await client.forget(wire, one, cascade=None))
        assert kept == {"deleted": {"events": 0}, "requested": 1}
        assert await client.listed(wire) == [two, two, one, one]
        for cascade in ("all", 7, ["redact_events"]):
            assert (await client.forget(wire, one, cascade=cascade)).status_code == 400
        direct = wire == "v1"
        both = await client.forget(wire, one, confirm_all=True)
        assert refusal(both) == (400, "AMBIGUOUS_SELECTOR_CONFIRM_ALL" if direct else "BAD_REQUEST")
        empty = (422, "EMPTY_SELECTOR_WITHOUT_CONFIRMATION") if direct else (400, "BAD_REQUEST")
        assert refusal(await client.forget(wire)) == empty
        assert refusal(await client.forget(wire, selector={"labels": ["x"]})) == empty
        elsewhere = data(await client.forget(wire, one, scope=DOCUMENTS))
        assert elsewhere["deleted"] == {"events": 0}
        assert data(await client.forget(wire, one))["deleted"] == {"events": 1}
        assert await client.listed(wire) == [two, two]
        assert await client.write(wire, idempotency_key="k") not in (one, two)
        assert data(await client.forget(wire, selector=None, confirm_all=True))["deleted"] == {"events": 2}
        assert await client.write(wire, "two", idempotency_key="l") == two
        assert await client.listed(wire) == []
        assert (await client.forget(wire, *map(str, range(101)))).is_client_error


async def test_a_forget_takes_the_beliefs_built_from_it() -> None:
    async with asking() as client:
        ids = [await client.write("v1", "helix one"), await client.write("v1", "helix two")]
        assert data(await client.post("v1/beliefs/build", {"scope": LEARNINGS})) == {"built": 2}
        assert (await client.recalled("v1", "helix", include=["events", "beliefs"]))["layers"]["beliefs"] == []
        await client.forget("v1", ids[0])
        budgets = {"per_layer_limits": {"beliefs": 5}}
        layers = (await client.recalled("v1", "helix", include=["events", "beliefs"], budgets=budgets))["layers"]
        assert [each["sources"] for each in layers["beliefs"]] == [[ids[1]]]
        assert len(data(await client.get("v1/beliefs", scope=LEARNINGS))["items"]) == 1


# scopes and tenants


@WIRES
async def test_scopes_are_those_with_events_at_or_below_the_prefix(wire: str) -> None:
    async with asking() as client:
        root = "" if wire == "v1" else "org:acme/"
        for scope in (DOCUMENTS, "app:tinymemory/team:acme2/app:documents", LEARNINGS):
            await client.write(wire, scope=scope)
        assert await client.scopes(wire, prefix="app:tinymemory/team:acme") == [root + DOCUMENTS]
        assert await client.scopes(wire, prefix=DOCUMENTS) == [root + DOCUMENTS]
        assert len(await client.scopes(wire)) == 3
        assert await client.scopes(wire, prefix="tmh:probe", limit=1) == []
        client.double.string_prefix_scopes = True
        assert len(await client.scopes(wire, prefix="app:tinymemory/team:acme")) == 2
        route = f"{wire}/scopes/list" if wire == "v1" else "memory/scopes"
        for prefix in ("app:tinymemory/", "app"):
            expected = (422, "INVALID_SCOPE_GRAMMAR") if wire == "v1" else (400, "BAD_REQUEST")
            assert refusal(await client.get(route, prefix=prefix)) == expected
        client.double.scopes_missing = True
        assert (await client.get(route)).status_code == 404


@WIRES
async def test_a_listing_of_scopes_is_clamped_to_a_thousand_and_fifty_unless_told(wire: str) -> None:
    async with asking(padding_scopes=1200) as client:
        await client.write(wire)
        assert len(await client.scopes(wire, prefix="app:tinymemory")) == 50
        assert len(await client.scopes(wire, prefix="app:tinymemory", limit=5000)) == 1000


async def test_hosted_scopes_lie_below_the_tenant_and_tenants_see_only_their_own() -> None:
    async with asking(tenants={"key-b": "other"}) as client:
        mine = await client.write("memory", idempotency_key="k")
        other = {"authorization": "Bearer key-b"}
        theirs = data(await client.post("memory/experience", event(idempotency_key="k"), **other))["event_id"]
        assert theirs != mine
        assert [each.id for each in client.double.held("org:acme/" + LEARNINGS)] == [mine]
        assert [each.id for each in client.double.held(client.double.rooted(LEARNINGS, "other"))] == [theirs]
        assert await client.listed("memory") == [mine, mine]
        assert await client.listed("memory", scope="org:other/" + LEARNINGS) == []
        assert await client.scopes("memory") == ["org:acme/" + LEARNINGS]
        client.double.strips_tenant = True
        assert await client.scopes("memory") == [LEARNINGS]
        assert (await client.http.delete("memory")).json()["data"] == {"erased": True, "scopes": 1}
        assert [each.id for each in client.double.log] == [theirs]
        assert (await client.get("v1/events", scope=LEARNINGS)).json()["items"] == []
        assert (await client.http.get("v1/events", headers=other)).status_code == 401


async def test_hosted_paths_have_at_most_31_segments() -> None:
    async with asking() as client:
        deep = "/".join(f"team:t{number}" for number in range(31))
        assert await client.listed("memory", scope=deep) == []
        assert refusal(await client.get("memory/events", scope=deep + "/team:x")) == (400, "BAD_REQUEST")
        assert refusal(await client.post("memory/experience", event(scope="notes"))) == (400, "BAD_REQUEST")


async def test_a_root_is_registered_once_and_its_members_replaced() -> None:
    async with asking() as client:
        root = {"path": "org:42", "members": [{"actor": "user:1", "role": "owner"}]}
        assert refusal(await client.post("v1/scopes", {})) == (422, "INVALID_BODY")
        assert (await client.get("v1/scopes", path="org:42")).status_code == 404
        assert (await client.post("v1/scopes", root)).status_code == 201
        assert refusal(await client.post("v1/scopes", root)) == (409, "SCOPE_REGISTRATION_EXISTS")
        assert data(await client.get("v1/scopes", path="org:42")) == root
        members = {"members": [{"actor": "user:2", "role": "owner"}]}
        assert (await client.http.put("v1/scopes/members?path=org:42", json=members)).is_success
        assert data(await client.get("v1/scopes", path="org:42"))["members"] == members["members"]
        client.double.registration_failure = (403, "FORBIDDEN")
        assert refusal(await client.post("v1/scopes", {"path": "org:7"})) == (403, "FORBIDDEN")


# erasing


@WIRES
async def test_an_erasure_releases_its_own_keys_and_hides_what_lies_below(wire: str) -> None:
    async with asking() as client:
        upper, lower = "org:1/app:brain/source:github", "org:1/app:brain/source:github/project:api"
        await client.write(wire, "above", scope=upper, idempotency_key="a")
        below = await client.write(wire, "below", scope=lower, idempotency_key="b")
        body = {"scope": upper} | ({"confirm_all": True} if wire == "v1" else {})
        said = await client.post("v1/erasures" if wire == "v1" else "memory/v1/erasures", body)
        assert said.status_code == (202 if wire == "v1" else 200)
        assert await client.scopes(wire) == []
        assert await client.listed(wire, scope=lower) == []
        assert await client.write(wire, "below", scope=lower, idempotency_key="b") == below
        assert await client.listed(wire, scope=lower) == []
        assert await client.write(wire, "above", scope=upper, idempotency_key="a") == "evt_3"
        assert await client.listed(wire, scope=upper) == ["evt_3", "evt_3"]


async def test_a_direct_erasure_needs_its_confirmation_and_no_selector() -> None:
    async with asking() as client:
        assert refusal(await client.post("v1/erasures", {"confirm_all": True})) == (422, "INVALID_BODY")
        for more in ({}, {"confirm_all": True, "selector": {"memory_ids": ["evt_1"]}}):
            said = await client.post("v1/erasures", {"scope": LEARNINGS, **more})
            assert refusal(said) == (422, "EMPTY_SELECTOR_WITHOUT_CONFIRMATION")
        said = data(await client.post("v1/erasures", {"scope": LEARNINGS, "confirm_all": True, "audit_note": "x"}))
        assert said["status"] == "completed"
        assert set(said) == {"erasure_id", "status", "receipt_url", "verify_url"}
        assert (await client.get("v1/erasures/none")).status_code == 404


@pytest.mark.parametrize(("ends", "left"), [("completed", 0), ("failed", 1)])
async def test_an_erasure_that_takes_its_time(ends: str, left: int) -> None:
    async with asking(erasure_running_for=2, erasure_running_as="pending", erasure_ends_as=ends) as client:
        await client.write("v1")
        said = data(await client.post("v1/erasures", {"scope": LEARNINGS, "confirm_all": True}))
        assert said["status"] == "pending"
        polled = f"v1/erasures/{said['erasure_id']}"
        assert data(await client.get(polled))["status"] == "pending"
        assert len(client.double.log) == 1
        assert data(await client.get(polled))["status"] == ends
        assert len(client.double.log) == left
        client.double.erasure_poll_status = 7
        assert data(await client.get(polled))["status"] == 7
        client.double.erasure_poll_omits_status = client.double.erasure_post_omits_status = True
        assert "status" not in data(await client.get(polled))
        assert "status" not in data(await client.post("v1/erasures", {"scope": LEARNINGS, "confirm_all": True}))
        assert client.double.count("erasure") == 4


async def test_a_hosted_erasure_speaks_its_own_dialect() -> None:
    async with asking(erasure_incomplete=1) as client:
        await client.write("memory")

        async def erase(body: Any) -> tuple[int, Any]:
            said = await client.post("memory/v1/erasures", body)
            return said.status_code, said.json()

        assert await erase({"scope": LEARNINGS, "confirm_all": True}) == (400, {"error_code": "UNKNOWN_FIELD"})
        assert await erase({"scope": 7}) == (400, {"error_code": "INVALID_SCOPE"})
        assert await erase({"scope": "/"}) == (422, {"error_code": "ROOT_ERASURE_REFUSED"})
        incomplete = {"erased": False, "error_code": "ERASURE_INCOMPLETE", "retriable": True}
        assert await erase({"scope": LEARNINGS}) == (502, incomplete)
        done = {"erased": True, "scope": LEARNINGS, "scopes": 1, "erasure_ids": ["erasure_1"]}
        assert await erase({"scope": LEARNINGS, "audit_note": "x"}) == (200, done)
        assert await erase({"scope": LEARNINGS}) == (200, done | {"scopes": 0, "erasure_ids": []})
        assert (await client.get("memory/v1/erasures/erasure_1")).json()["status"] == "completed"
        assert (await client.get("memory/v1/erasures/erasure_9")).status_code == 404
        client.double.scoped_erase_answer = (200, {"erased": "yes"})
        assert await erase({"scope": LEARNINGS}) == (200, {"erased": "yes"})
        client.double.scoped_erase_missing = True
        assert await erase({"scope": LEARNINGS}) == (404, {"message": "Not Found"})


async def test_everything_hosted_is_erased_at_once() -> None:
    async with asking() as client:
        await client.write("memory")
        await client.write("memory", scope=DOCUMENTS)
        await client.write("v1")
        assert (await client.http.delete("memory")).json() == {"success": True, "data": {"erased": True, "scopes": 2}}
        assert [each.scope for each in client.double.log] == [LEARNINGS]
        client.double.erase_all_answer = (200, {"success": True, "data": {"erased": "yes"}})
        assert (await client.http.delete("memory")).json()["data"] == {"erased": "yes"}
        client.double.erase_all_missing = True
        assert (await client.http.delete("memory")).status_code == 404


# the gate and the two wires


@WIRES
async def test_another_key_or_none_is_refused_before_anything(wire: str) -> None:
    async with asking() as client:
        for key in ("Bearer", "Bearer wrong", "Basic x"):
            said = await client.post(f"{wire}/experience", event(), authorization=key)
            assert refusal(said) == (401, "UNAUTHORIZED")
        assert len(client.double.log) == 0
        client.double.token = "key-new"
        assert (await client.get(f"{wire}/events", scope=LEARNINGS)).status_code == 401
        client.http.headers["authorization"] = "Bearer key-new"
        assert await client.listed(wire) == []
        assert client.double.asked[-1].headers["authorization"] == "Bearer key-new"
        client.double.fail_all = (403, "MISSING_CAPABILITY")
        client.double.error_text = "memory.read is needed"
        said = await client.get(f"{wire}/events", scope=LEARNINGS)
        assert refusal(said) == (403, "MISSING_CAPABILITY")
        assert "memory.read is needed" in said.text


async def test_who_am_i_is_not_counted_and_its_caller_is_demanded() -> None:
    async with asking() as client:
        assert data(await client.get("v1/auth/whoami")) == {"caller": "user:local"}
        assert client.double.requests == []
        assert client.double.whoami_asked == 1
        said = await client.http.get("v1/admin/health", headers={"x-cortex-actor": "user:else"})
        assert refusal(said) == (401, "ACTOR_MISMATCH")
        del client.http.headers["x-cortex-actor"]
        assert refusal(await client.get("v1/admin/health")) == (401, "ACTOR_MISMATCH")
        assert await client.listed("memory") == []
        client.double.needs_actor = False
        assert data(await client.get("v1/admin/health")) == {"status": "healthy"}
        client.double.whoami = None
        assert (await client.get("v1/auth/whoami")).status_code == 404
        client.double.failures["whoami"] = [(500, "INTERNAL")]
        assert (await client.get("v1/auth/whoami")).status_code == 500


async def test_what_was_asked_is_kept_and_counted() -> None:
    async with asking(prefix="cortex/eu") as client:
        assert client.double.endpoint.endswith("/cortex/eu/")
        await client.write("v1")
        await client.listed("v1", limit=3)
        assert (await client.http.get(client.double.endpoint.replace("cortex/eu/", "v1/events"))).status_code == 404
        double = client.double
        scope = LEARNINGS.replace(":", "%3A").replace("/", "%2F")
        assert double.requests[:2] == [
            "POST /cortex/eu/v1/experience",
            f"GET /cortex/eu/v1/events?scope={scope}&limit=3",
        ]
        assert (double.count("experience"), double.count("events"), double.count("recall")) == (1, 1, 0)
        assert double.bodies("experience") == [event()]
        assert [each.status for each in double.asked] == [202, 200, 404]
        double.forget_requests()
        assert double.counts() == {}


@WIRES
async def test_a_route_that_is_not_there(wire: str) -> None:
    async with asking() as client:
        said = await client.get(f"{wire}/nothing")
        assert (said.status_code, said.json()) == (
            404,
            {"error_code": "NOT_FOUND"} if wire == "v1" else {"message": "Not Found"},
        )
        assert (await client.http.get(f"{wire}/nothing", headers={"authorization": "Bearer x"})).status_code == 401


async def test_a_hosted_claim_is_taken_once() -> None:
    async with asking(claim_then_fail=1) as client:
        lost = await client.post("memory/experience", event(), idempotency_key="tm-1")
        assert refusal(lost) == (502, "UPSTREAM_UNAVAILABLE")
        assert len(client.double.log) == 0
        assert refusal(await client.post("memory/experience", event(), idempotency_key="tm-1")) == (409, "CONFLICT")
        assert (await client.post("memory/experience", event(), idempotency_key="tm-2")).is_success
        client.double.legacy_conflict = True
        assert refusal(await client.post("memory/experience", event(), idempotency_key="tm-2")) == (400, "CONFLICT")
        assert len(client.double.log) == 1
        assert refusal(await client.post("memory/experience", event(), idempotency_key="t" * 129))[0] == 400


async def test_the_hosted_answer_takes_only_its_own_fields() -> None:
    async with asking() as client:
        question = {"scope": LEARNINGS, "question": "Which?", "cite_sources": True, "include_context": True}
        for more in ({"view": "granular"}, {"answer_instructions": None}):
            assert refusal(await client.post("memory/answer", question | more)) == (400, "VALIDATION_ERROR")
        assert data(await client.post("v1/answer", question | {"answer_instructions": None}))["citations"] == []
        assert data(await client.post("memory/answer", question | {"answer_instructions": "terse"}))


@pytest.mark.parametrize(
    ("failure", "relayed"),
    [
        ((402, "NO_CREDIT"), (402, "USER_INSUFFICIENT_CREDITS")),
        ((503, "BUSY"), (503, "UPSTREAM_UNAVAILABLE")),
        ((401, "X"), (502, "UPSTREAM_UNAVAILABLE")),
        ((403, "X"), (502, "UPSTREAM_UNAVAILABLE")),
        ((404, "X"), (404, "NOT_FOUND")),
        ((409, "X"), (409, "CONFLICT")),
        ((413, "X"), (413, "PAYLOAD_TOO_LARGE")),
        ((422, "X"), (400, "BAD_REQUEST")),
        ((500, "X"), (502, "UPSTREAM_UNAVAILABLE")),
    ],
)
async def test_failures_of_the_engine_are_relayed(failure: tuple[int, str], relayed: tuple[int, str]) -> None:
    async with asking(failures={"events": [failure, failure]}) as client:
        assert refusal(await client.get("v1/events", scope=LEARNINGS)) == failure
        assert refusal(await client.get("memory/events", scope=LEARNINGS)) == relayed
        assert await client.listed("v1") == []


# faults that count down


@pytest.mark.parametrize(
    "headers", [{}, {"Retry-After": "2"}, {"RateLimit-Reset": "3"}, {"Retry-After": "Mon, 30 Nov 2026 16:00:00 GMT"}]
)
@WIRES
async def test_a_rate_limit(wire: str, headers: dict[str, str]) -> None:
    knobs = {"rate_limit_events": 1, "rate_limit_experience": 1, "rate_limit_forget": 1}
    async with asking(**knobs, rate_limit_headers=headers) as client:
        asked = [
            await client.get(f"{wire}/events", scope=LEARNINGS),
            await client.post(f"{wire}/experience", event(), idempotency_key="tm-1"),
            await client.forget(wire, "evt_1"),
        ]
        for said in asked:
            assert said.status_code == 429
            for name in ("Retry-After", "RateLimit-Reset"):
                assert said.headers.get(name) == headers.get(name)
            if wire == "memory":
                assert said.json()["error"]["type"] == "rate_limit_error"
        again = await client.post(f"{wire}/experience", event(), idempotency_key="tm-1")
        assert again.is_success, "no claim was taken"
        client.double.rate_limit_any = 1
        assert (await client.get(f"{wire}/events", scope=LEARNINGS)).status_code == 429
        assert len(await client.listed(wire)) == 2


@WIRES
async def test_a_listing_can_hide_and_change_its_state(wire: str) -> None:
    async with asking(hide_listing=1, state_change_events=1) as client:
        await client.write(wire)
        code = "AUTHORIZATION_STATE_CHANGED" if wire == "v1" else "UPSTREAM_UNAVAILABLE"
        assert refusal(await client.get(f"{wire}/events", scope=LEARNINGS)) == (503, code)
        assert data(await client.get(f"{wire}/events", scope=LEARNINGS))["has_more"] is False
        assert len(await client.listed(wire)) == 2


@WIRES
async def test_a_write_is_listed_later_and_ranked_later_still(wire: str) -> None:
    async with asking(listed_after=2, ranked_after=1) as client:
        one = await client.write(wire, labels=("tm:i:1",))
        assert await client.listed(wire, labels="tm:i:2") == []
        assert [await client.listed(wire, labels="tm:i:1") for _ in range(3)] == [[], [], [one, one]]
        assert (await client.recalled(wire, "zebra"))["layers"]["events"] == []
        found = [(await client.recalled(wire, "helix"))["layers"]["events"] for _ in range(2)]
        assert list(map(len, found)) == [0, 1]
        assert len(client.double.log) == 1


@WIRES
async def test_a_write_that_is_applied_and_then_fails(wire: str) -> None:
    async with asking(apply_then_fail=2) as client:
        assert (await client.post(f"{wire}/experience", event("one"))).status_code == 503
        client.double.applied_failure = (408, "TIMEOUT")
        assert (await client.post(f"{wire}/experience", event("two"))).status_code == 408
        assert len(await client.listed(wire)) == 4
        await client.write(wire, "three")
        client.double.forget_then_fail = 1
        client.double.forget_gone_is_missing = True
        assert (await client.forget(wire, "evt_1")).status_code == 503
        assert (await client.forget(wire, "evt_1")).status_code == 404


@WIRES
async def test_one_write_of_several_fails_unapplied(wire: str) -> None:
    async with asking(fail_nth_experience=2) as client:
        await client.write(wire, "one")
        assert (await client.post(f"{wire}/experience", event("two"))).status_code == 400
        await client.write(wire, "two")
        assert len(client.double.log) == 2


@WIRES
async def test_listings_can_be_armed_for_after_the_next_write(wire: str) -> None:
    async with asking(arm_after_write=(1, 1)) as client:
        assert await client.listed(wire) == []
        await client.write(wire)
        assert (await client.get(f"{wire}/events", scope=LEARNINGS)).status_code == 429
        assert await client.listed(wire) == []
        assert len(await client.listed(wire)) == 2


@WIRES
async def test_cursors_that_repeat_and_a_listing_without_end(wire: str) -> None:
    async with asking(endless_listing=True) as client:
        await client.write(wire)
        page = data(await client.get(f"{wire}/events", scope=LEARNINGS, limit=200))
        assert (len(page["items"]), page["has_more"], page["next_cursor"]) == (2, True, "200")
        page = data(await client.get(f"{wire}/events", scope=LEARNINGS, limit=200, cursor="200"))
        assert (page["items"], page["has_more"], page["next_cursor"]) == ([], True, "400")
        client.double.endless_listing, client.double.repeat_cursor = False, True
        page = data(await client.get(f"{wire}/events", scope=LEARNINGS, limit=1, cursor="1"))
        assert (page["has_more"], page["next_cursor"]) == (True, "1")
        assert (await client.get(f"{wire}/events", scope=LEARNINGS, cursor="evt_1")).is_client_error


@WIRES
async def test_recall_and_answer_can_fail(wire: str) -> None:
    async with asking(recall_down=True, expire_packs=1, packs_without_id=1, answer_model=None) as client:
        said = await client.post(f"{wire}/recall", {"scope": LEARNINGS, "query": "x", "view": "granular"})
        assert said.status_code == (500 if wire == "v1" else 502)
        client.double.recall_down = False
        assert "pack_id" not in await client.recalled(wire, "x")
        question = {"scope": LEARNINGS, "question": "x", "use_pack_id": (await client.recalled(wire, "x"))["pack_id"]}
        assert (await client.post(f"{wire}/answer", question)).status_code == 404
        client.double.answer = 7
        assert data(await client.post(f"{wire}/answer", question)) == {"answer": 7, "citations": [], "diagnostics": {}}


async def test_attribution_and_time_hints_can_be_refused() -> None:
    async with asking() as client:
        await client.write("v1", observed_actor={"id": "user:1", "type": "user"})
        client.double.attribution_refusal = (403, "FORBIDDEN")
        attributed = event(subject={"id": "user:1", "type": "user"})
        assert refusal(await client.post("v1/experience", attributed)) == (403, "FORBIDDEN")
        await client.write("v1")
        assert data(await client.get("v1/admin/version"))["capabilities"] == ["refers_to_v1"]
        hinted = {"scope": LEARNINGS, "query": "x", "view": "granular", "temporal": {"refers_during": {}}}
        assert (await client.post("v1/recall", hinted)).is_success
        client.double.refers_refused = client.double.refers_unlisted = True
        assert (await client.post("v1/recall", hinted)).status_code == 422
        assert data(await client.get("v1/admin/version"))["capabilities"] == []
        client.double.version_down = True
        assert (await client.get("v1/admin/version")).status_code == 500


async def test_foreign_events_and_lost_ones() -> None:
    async with asking() as client:
        foreign = client.double.put(LEARNINGS, "from elsewhere", ["kind:note"], role="assistant")
        assert await client.listed("v1", labels="kind:note") == [foreign, foreign]
        await client.write("v1", idempotency_key="k")
        assert client.double.lose_last(LEARNINGS).text == "prefers helix"
        assert await client.listed("v1") == [foreign, foreign]
        assert await client.write("v1", idempotency_key="k") == "evt_3"


async def test_requests_at_once_are_measured() -> None:
    async with asking(latency_ms=10, listing_delay_ms=10) as client:
        asks = [client.listed("v1") for _ in range(3)] + [client.scopes("v1") for _ in range(2)]
        await asyncio.gather(*asks)
        assert (client.double.peak, client.double.listings_peak) == (5, 3)
        assert (client.double.in_flight, client.double.listings_in_flight) == (0, 0)
        assert client.double.open_connections == 5
        assert client.double.server.accepted == 5


async def test_a_connection_that_was_hung_up_is_not_open(until: Until) -> None:
    async with CortexDouble() as double:
        async with plain(double) as http:
            await http.get("v1/admin/health")
            assert double.open_connections == 1
        await until(lambda: not double.open_connections)


async def test_a_fault_of_the_double_itself_is_not_hidden() -> None:
    double = CortexDouble(max_page="many")  # type: ignore[arg-type]
    with pytest.raises(TypeError):
        async with double, plain(double) as http:
            assert (await http.get("v1/events", params={"scope": LEARNINGS})).status_code == 500
