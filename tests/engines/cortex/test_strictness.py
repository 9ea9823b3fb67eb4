"""What a strict server demands, one lever of the double at a time: each fails where the engine does not meet it.

Source: cortex, "Knobs", "Where to be stricter than upstream's double".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable
from contextlib import aclosing
from typing import Any

import pytest

from explorer.contract import (
    Conflict,
    EngineFailure,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    InvalidRequest,
    ItemKind,
    ListRequest,
    MetaFilter,
    NotFound,
    Reach,
    RecallRequest,
    SpanRequest,
    StoreItem,
    TimeHint,
    Timestamp,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
)
from explorer.engines.cortex import ranking
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.failures import is_insufficient_credits
from tests.doubles.cortexdb import CortexDouble
from tests.doubles.serving import Reply, Request
from tests.engines.cortex.flows import LAYOUTS, at, fact, lay, listed, long_note, note, opened, scope_of, served, talk

BOTH = pytest.mark.parametrize("layout", ["direct-legacy", "hosted-legacy"])
NOTES = MetaFilter(reach=Reach.exact(at("")), kinds=[ItemKind.DOCUMENT])


# --- who asks


async def test_the_caller_is_named_with_every_request_and_asked_for_anew_after_a_refusal() -> None:
    async with served(needs_actor=True) as (double, engine):
        await engine.store(fact("tea"))
        assert len(await listed(engine)) == 1
        assert double.whoami_asked == 1
        assert {asked.headers.get("x-cortex-actor") for asked in double.asked} == {"user:local"}
        double.whoami = "user:renamed"
        with pytest.raises(Unauthorized):
            await listed(engine)
        assert len(await listed(engine)) == 1
        assert double.asked[-1].headers["x-cortex-actor"] == "user:renamed"


async def test_where_the_caller_is_not_told_now_requests_go_without_and_it_is_asked_for_again() -> None:
    reach = Reach.exact(at(""))
    async with served(needs_actor=False, failures={"whoami": [(503, "DOWN")] * 2}) as (double, engine):
        for _ in range(3):
            assert await listed(engine, reach=reach, kinds=["learning"]) == []
        named = [asked.headers.get("x-cortex-actor") for asked in double.asked]
        assert named == [None, None, "user:local"]
        assert double.whoami_asked == 3


@BOTH
async def test_a_key_that_is_refused_is_refused_at_every_call(layout: str) -> None:
    async with served(layout) as (double, engine):
        await engine.store(fact("tea"))
        double.token = "another-key-91c2"
        calls = [*each_read(engine), lambda: engine.store(fact("milk")), lambda: forget(engine, "x")]
        for call in calls:
            with pytest.raises(Unauthorized) as caught:
                await call()
            assert "key-4f1c9a0d77e2" not in caught.value.text
        assert len(double.log) == 1


def each_read(engine: CortexEngine) -> list[Callable[[], Awaitable[object]]]:
    """The contract's reads and the window's."""
    return [
        lambda: engine.list(ListRequest(limit=5)),
        lambda: engine.list_preview(ListRequest(limit=5)),
        lambda: engine.export(ListRequest(limit=5)),
        lambda: engine.get(GetRequest(ids=[fact("tea").fingerprint()])),
        lambda: engine.fetch(FetchRequest(query="tea", mode=FetchMode.HYBRID, limit=5)),
        lambda: engine.recall(RecallRequest(question="tea?", limit=5)),
        lambda: engine.explore(ExploreRequest(facet=Facet.KIND, limit=5)),
        lambda: engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=5)]),
        lambda: engine.namespaces(MetaFilter()),
        lambda: engine.list_span(SpanRequest(offset=0, limit=5)),
    ]


async def forget(engine: CortexEngine, *texts: str) -> int:
    return (await engine.forget(ForgetTarget(ids=[fact(text).fingerprint() for text in texts]))).forgotten


# --- what may be sent


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_only_parameters_that_the_server_knows_are_sent(layout: str) -> None:
    """It ignores others, so that a misspelt cursor would begin the listing again."""
    async with served(layout, max_page=4) as (double, engine):
        lay(double, engine, *(fact(f"tea {number}", "agent:a") for number in range(5)), talk("tea?", "green"))
        for read in each_read(engine):
            await read()
        await engine.store(fact("tea"))
        await forget(engine, "tea")
        assert any("cursor=" in request for request in double.requests)
        assert double.unknown_params == []


@BOTH
async def test_a_kind_of_node_that_the_server_does_not_register_is_said_and_nothing_else_is_lost(layout: str) -> None:
    items: list[StoreItem] = [fact("at the root"), fact("of an agent", "agent:a"), note("of a team", "team:t")]
    known = CortexDouble().scope_types - {"agent"}
    async with served(layout, scope_types=known) as (double, engine):
        with pytest.raises(InvalidRequest, match=r"(UNREGISTERED_SCOPE_TYPE|scope type agent is not registered)"):
            await engine.store_many(items)
        assert [held.text for held in double.log] == ["at the root"]
        double.scope_types |= {"agent"}
        assert [receipt.replayed for receipt in await engine.store_many(items)] == [True, False, False]
        assert set(await listed(engine)) == {item.fingerprint() for item in items}


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_every_layout_writes_into_registered_kinds_of_scopes_alone(layout: str) -> None:
    nodes = ["root", "source:gmail", "ws:main/service:job/source:rss", "team:t/project:p/user:u"]
    items: list[StoreItem] = [make("tea", node) for node in nodes for make in (fact, note)]
    items += [talk("tea?", namespace=node) for node in nodes]
    types = frozenset(("org", "dept", "team", "app", "user", "agent", "service", "ws", "project", "source"))
    async with served(layout, scope_types=types) as (double, engine):
        await engine.store_many(items)
        assert len(double.log) == len(items)


@BOTH
@pytest.mark.parametrize("compares_body", [True, False])
async def test_two_items_of_the_same_words_are_both_stored(layout: str, compares_body: bool) -> None:
    """A key made of the words alone would be refused by the one server and swallow the second item on the other."""
    items = [note("the same words", title="One"), note("the same words", title="Two"), note("the same words")]
    async with served(layout, compares_body=compares_body) as (double, engine):
        assert [receipt.replayed for receipt in await engine.store_many(list(items))] == [False] * 3
        assert [held.text for held in double.log] == ["the same words"] * 3
        keys = [body["idempotency_key"] for body in double.bodies("experience")]
        assert len(set(keys)) == 3
        double.hide_listing = 1  # nothing but the key tells the server that it has them
        again = await engine.store_many([items[0]])
        assert [receipt.replayed for receipt in again] == [True]
        assert double.bodies("experience")[-1]["idempotency_key"] == keys[0]
        assert len(double.log) == 3


@BOTH
async def test_no_request_names_more_labels_than_the_server_takes(layout: str) -> None:
    items: list[StoreItem] = [talk(f"ask {number}", "answer") for number in range(70)]
    ids = [item.fingerprint() for item in items]
    async with served(layout, max_listing_labels=50) as (double, engine):
        await engine.store_many(items)
        assert len(await listed(engine, 100)) == 70
        assert len(await engine.get(GetRequest(ids=ids))) == 70
        assert (await engine.forget(ForgetTarget(ids=ids))).forgotten == 70
        asked = [each.params["labels"].split(",") for each in double.asked if "labels" in each.params]
        assert max(map(len, asked)) == 50
        assert len(double.log) == 0


@pytest.mark.parametrize(
    "answer", [{"accepted": 3}, {"accepted": 3, "results": []}, {"accepted": 3, "results": [{"event_id": "evt_1"}] * 2}]
)
async def test_a_bulk_answer_that_leaves_events_out_is_a_failure_and_the_next_store_a_replay(answer: Any) -> None:
    async with served(bulk_answer=answer) as (double, engine):
        item = talk("hot?", "very", "how hot?")
        with pytest.raises(EngineFailure, match="CortexDB"):
            await engine.store(item)
        assert double.count("bulk") == 1
        assert (await engine.store(item)).replayed
        assert [held.text for held in double.log] == ["hot?", "very", "how hot?"]


async def test_a_place_deeper_than_the_backend_takes_is_an_invalid_request() -> None:
    root = "/".join(f"team:t{number}" for number in range(29))
    async with CortexDouble() as double, aclosing(opened(double, hosted=True, scope_root=root)) as engine:
        await engine.store(fact("tea", "agent:a"))
        assert len(await listed(engine)) == 1
        with pytest.raises(InvalidRequest, match="TinyHumans"):
            await engine.store(fact("tea", "agent:a/project:p"))
        assert len(double.log) == 1


async def test_a_root_has_as_owners_all_who_wrote_below_it() -> None:
    async with CortexDouble() as double:
        for owner in ("user:1", "user:2", "user:1"):
            async with aclosing(opened(double, scope_root="org:42", scope_owner=owner)) as engine:
                await engine.store(fact(f"of {owner}"))
        members = double.records["org:42"]["members"]
        assert members == [{"actor": actor, "role": "owner"} for actor in ("user:1", "user:2")]
        assert len(double.log) == 2


@BOTH
async def test_days_are_hinted_at_without_asking_the_server_for_what_it_may_not_have(layout: str) -> None:
    async with served(layout, version_down=True, refers_unlisted=True, refers_refused=True) as (double, engine):
        then = Timestamp.parse("2026-01-02T03:04:05Z")
        lay(double, engine, fact("tea then", observed_at=then), fact("tea leaf"))
        hint = TimeHint.model_validate({"from": "2026-01-02", "to": "2026-01-02"})
        req = FetchRequest(query="tea leaf", mode=FetchMode.HYBRID, filter=_facts(), limit=5, refers_to=hint)
        assert [hit.text for hit in (await engine.fetch(req)).hits] == ["tea then", "tea leaf"]
        said = await engine.recall(RecallRequest(question="tea leaf?", filter=_facts(), limit=5, refers_to=hint))
        assert said.citations[0].snippet == "tea then"
        assert double.count("version") == 0
        assert all("temporal" not in body for body in (*double.bodies("recall"), *double.bodies("answer")))


RELAYED: list[tuple[int, type[TinyMemoryError], type[TinyMemoryError]]] = [
    (400, InvalidRequest, InvalidRequest),
    (401, Unauthorized, Unavailable),  # of the backend's own key, which the user's cannot mend
    (402, EngineFailure, EngineFailure),
    (403, Unauthorized, Unavailable),
    (404, NotFound, NotFound),
    (409, Conflict, Conflict),
    (413, InvalidRequest, InvalidRequest),
    (422, InvalidRequest, InvalidRequest),
    (429, Unavailable, Unavailable),
    (500, Unavailable, Unavailable),
    (503, Unavailable, Unavailable),
]


@BOTH
@pytest.mark.parametrize(("status", "direct", "hosted"), RELAYED, ids=lambda value: str(value))
async def test_a_failure_of_the_servers_engine_is_its_kind_of_error(
    layout: str, status: int, direct: type[TinyMemoryError], hosted: type[TinyMemoryError]
) -> None:
    async with served(layout, failures={"recall": [(status, "NO")] * 3}) as (_, engine):
        req = FetchRequest(query="tea", mode=FetchMode.HYBRID, filter=_facts(), limit=1)
        with pytest.raises(TinyMemoryError) as caught:
            await engine.fetch(req)
        assert type(caught.value) is (hosted if "hosted" in layout else direct)
        assert is_insufficient_credits(caught.value) is (status == 402 and "hosted" in layout)


# --- packs


class Meanwhile(CortexDouble):
    """Another client does something just before the first answer."""

    act: Callable[[], Awaitable[object]] | None = None

    async def _answer(self, request: Request) -> Reply:
        act = self.act
        if request.path.endswith("/answer") and act is not None:
            self.act = None
            await act()
        return await super()._answer(request)


@BOTH
@pytest.mark.parametrize("drops_packs", [True, False])
@pytest.mark.parametrize("how", ["forget", "erase"])
async def test_any_removal_of_another_client_drops_the_pack_and_costs_a_round(
    layout: str, drops_packs: bool, how: str
) -> None:
    hosted, _ = LAYOUTS[layout]
    async with (
        Meanwhile(drops_packs=drops_packs) as double,
        aclosing(opened(double, hosted=hosted)) as engine,
        aclosing(opened(double, hosted=hosted)) as other,
    ):
        lay(double, engine, fact("tea is green"), gone := fact("milk", "agent:b"))
        if how == "forget":
            double.act = lambda: other.forget(ForgetTarget(ids=[gone.fingerprint()]))
        else:
            double.act = lambda: other._wire.erase(scope_of(other, gone))
        said = await engine.recall(RecallRequest(question="tea?", limit=3))
        assert [cited.snippet for cited in said.citations] == ["tea is green"]
        assert double.count("answer") == (2 if drops_packs else 1)


@BOTH
async def test_a_pack_has_room_for_as_many_long_events_as_are_asked_for(layout: str) -> None:
    tags = [f"tag number {number}" for number in range(1200)]  # more than labels hold: all of it is in the text
    words = "tea " + "word " * 55_000
    items = [fact(f"{words} {number}", tags=tags) for number in range(5)]
    async with served(layout, chars_per_token=1) as (double, engine):
        lay(double, engine, *items)
        assert sum(len(held.text) for held in double.log) > 786_432  # the room for one
        found: list[Any] = []
        cursor = None
        for _ in items:
            req = FetchRequest(query="tea", mode=FetchMode.HYBRID, filter=_facts(), limit=1, cursor=cursor)
            page = await engine.fetch(req)
            found += page.hits
            cursor = page.next_cursor
        assert sorted(hit.text for hit in found) == sorted(item.text for item in items)


@BOTH
async def test_what_the_server_cut_to_an_excerpt_is_found_all_the_same(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "_MOST_TOKENS", 40)
    async with served(layout, chars_per_token=5) as (double, engine):
        item = long_note()
        lay(double, engine, item)
        page = await engine.fetch(FetchRequest(query="word1", mode=FetchMode.HYBRID, filter=NOTES, limit=1))
        (hit,) = page.hits
        assert hit.id == item.fingerprint()
        assert len(hit.text) < 300
        assert hit.text.startswith("# Handbook")
        assert engine.details()[0].value == "0"


def _facts() -> MetaFilter:
    return MetaFilter(reach=Reach.exact(at("")), kinds=[ItemKind.LEARNING])


# --- forgetting


@BOTH
async def test_a_forget_leaves_no_event_and_frees_what_was_written(layout: str) -> None:
    """By what it names and how: the default keeps the events, and a forget of a whole scope keeps the write keys."""
    items: list[StoreItem] = [talk("hot?", "very", "how hot?"), fact("tea"), note("milk")]
    async with served(layout) as (double, engine):
        ids = [receipt.id for receipt in await engine.store_many(items)]
        assert (await engine.forget(ForgetTarget(ids=ids))).forgotten == 3
        assert len(double.log) == 0
        for body in double.bodies("forget"):
            assert body["cascade"] == "redact_events"
            assert body["selector"]["memory_ids"]
            assert "confirm_all" not in body
        assert [receipt.replayed for receipt in await engine.store_many(items)] == [False] * 3
        assert len(double.log) == 5
