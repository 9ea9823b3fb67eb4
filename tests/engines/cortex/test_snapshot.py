"""The window's questions: what they cost in requests, and that they are answered as a plain listing would."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    EraseRequest,
    ExploreRequest,
    Facet,
    ForgetTarget,
    GetRequest,
    HistogramRequest,
    ItemId,
    ItemKind,
    ListOrder,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    SortBy,
    Span,
    SpanRequest,
    StoreItem,
    Timestamp,
    TimeUnit,
    Turn,
    Unavailable,
    rank_buckets,
)
from explorer.contract.engine import explore_many_by_listing, histogram_by_listing
from explorer.contract.timeline import day_of
from explorer.engines.cortex import browsing, snapshot
from explorer.engines.cortex.envelope import Envelope, continues, decode, lay_out
from explorer.engines.cortex.scopes import Layout
from explorer.engines.sqlite import SqliteEngine
from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.filling import WIRES, opened, put
from tests.engines.sqlite.support import Maker, note
from tests.fakes import learning

ALL = MetaFilter()
on_each_wire = pytest.mark.parametrize("wire", WIRES)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    """A listing waits for all of it, however busy the machine is."""
    monkeypatch.setattr(browsing, "PATIENCE_S", 60.0)


def exploring(filter: MetaFilter = ALL, limit: int = 500) -> list[ExploreRequest]:
    return [ExploreRequest(facet=facet, filter=filter, limit=limit) for facet in Facet]


async def open_window(engine: MemoryEngine, filter: MetaFilter = ALL) -> tuple[Any, ...]:
    """What the window asks at once when it opens a memory."""
    return await asyncio.gather(
        engine.changes(filter),
        engine.namespaces(filter),
        engine.explore_many(exploring(filter)),
        engine.histogram(HistogramRequest(filter=filter)),
        engine.list_span(SpanRequest(filter=filter, offset=0, limit=50)),
    )


def made(count: int, seed: int = 7) -> list[StoreItem]:
    make = Maker(seed)
    return list({item.fingerprint(): item for item in (make.item() for _ in range(count))}.values())


def envelopes(items: list[StoreItem]) -> list[Envelope]:
    """What a reader gets of the items, in the order stored."""
    found = []
    for item in items:
        first = lay_out(item, item.fingerprint())[0]
        envelope = decode(first.text, first.labels)
        assert envelope is not None
        found.append(envelope)
    return found


def scopes_of(double: CortexDouble) -> int:
    return len(double.log.scopes())


# --- what it costs


@on_each_wire
async def test_opening_lists_the_scopes_once_and_walks_each_once(wire: str) -> None:
    async with CortexDouble() as double, opened(double, wire) as engine:
        put(double, wire, made(120))
        changes, nodes, pages, histogram, span = await open_window(engine)
        assert double.counts() == {"scopes": 1, "events": scopes_of(double)}
        total = pages[0].total
        assert [changes.total, histogram.total, span.total] == [total] * 3
        assert nodes.total == 120 > total  # sandboxes among them
        assert not any(page.truncated for page in [*pages, nodes, histogram])


@on_each_wire
async def test_drilling_down_and_listing_ask_nothing_more(wire: str) -> None:
    async with CortexDouble() as double, opened(double, wire) as engine:
        put(double, wire, made(120))
        await open_window(engine)
        double.forget_requests()
        for filter in (
            MetaFilter(kinds=[ItemKind.LEARNING]),
            MetaFilter(reach=Reach.of(Namespace.parse("agent:a/service:j"))),
            MetaFilter(reach=Reach.subtree(Namespace.parse("team:t"))),
            MetaFilter(reach=Reach.exact(Namespace.parse("team:nobody"))),
            MetaFilter(tags_any=["x"]),
        ):
            await open_window(engine, filter)
        assert double.requests == []


async def test_a_reach_of_named_nodes_needs_no_list_of_scopes() -> None:
    async with CortexDouble() as double, opened(double) as engine:
        put(double, "direct", made(60))
        await engine.explore_many(exploring(MetaFilter(reach=Reach.of(Namespace.parse("agent:a")))))
        assert double.counts() == {"events": 6}


async def test_a_long_scope_is_walked_page_by_page() -> None:
    async with CortexDouble() as double, opened(double) as engine:
        put(double, "direct", [learning(f"note {number}") for number in range(450)])
        (page,) = await engine.explore_many(exploring()[:1])
        assert (page.total, page.truncated) == (450, False)
        assert double.counts() == {"scopes": 1, "events": 5}


async def test_at_most_four_scopes_are_walked_at_a_time() -> None:
    async with CortexDouble(latency_ms=20) as double, opened(double) as engine:
        put(double, "direct", [learning("note", f"agent:a{number}") for number in range(30)])
        await open_window(engine)
        assert 1 < double.listings_peak <= 4


# --- that it is right


def test_an_event_that_only_continues_an_item_is_told_without_decoding_it() -> None:
    talk = Conversation(turns=[Turn(role=Role.USER, text=f"turn {number}") for number in range(12)], meta=MemoryMeta())
    long = Document(title='","turn":{"index":1,', body=DocumentBody(text="word " * 200_000), meta=MemoryMeta())
    for item in (talk, long, *made(50)):
        events = lay_out(item, item.fingerprint())
        assert [continues(event.labels) for event in events] == [bool(event.part) for event in events]


@on_each_wire
@pytest.mark.parametrize("seed", range(2))
async def test_any_filter_is_answered_as_the_envelopes_say(wire: str, seed: int) -> None:
    items, make = made(150, seed), Maker(1_000 + seed)
    async with CortexDouble() as double, opened(double, wire) as engine:
        put(double, wire, items)
        held = envelopes(items)
        for _ in range(30):
            filter = make.filter()
            found = [envelope for envelope in held if envelope.matches(filter)]
            for page in await engine.explore_many(exploring(filter, limit=5)):
                values = [page.facet.values(envelope.kind, envelope.meta) for envelope in found]
                counts = Counter(value for each in values for value in each)
                buckets, more = rank_buckets(counts, 5)
                assert (page.buckets, page.more_buckets) == (buckets, more), (page.facet, filter)
                assert (page.total, page.missing) == (len(found), values.count([]))
            days = Counter(day_of(e.meta.observed_at, UTC) for e in found if e.meta.observed_at is not None)
            histogram = await engine.histogram(HistogramRequest(filter=filter, unit=TimeUnit.DAY))
            assert {bar.start.date(): bar.count for bar in histogram.bars} == days
            assert histogram.undated == len(found) - days.total()
            span = await engine.list_span(SpanRequest(filter=filter, offset=0, limit=1000))
            assert Counter(hit.id for hit in span.items if hit is not None) == Counter(e.id for e in found)
            changes = await engine.changes(filter)
            assert changes is not None
            assert changes.total == len(found)


@on_each_wire
async def test_it_agrees_with_the_contract_s_own_count_of_a_listing(wire: str) -> None:
    async with CortexDouble() as double, opened(double, wire) as engine:
        put(double, wire, made(80))
        for filter in (ALL, MetaFilter(reach=Reach.subtree(Namespace.parse("agent:a")))):
            assert await engine.explore_many(exploring(filter)) == await explore_many_by_listing(
                engine, exploring(filter)
            )
            for zone in (None, "Pacific/Apia", "Europe/Berlin"):
                req = HistogramRequest(filter=filter, zone=zone)
                assert await engine.histogram(req) == await histogram_by_listing(engine, req)


@on_each_wire
async def test_nodes_are_named_with_the_sandboxes(wire: str) -> None:
    items = made(100)
    async with CortexDouble() as double, opened(double, wire) as engine:
        put(double, wire, items)
        page = await engine.namespaces(MetaFilter(kinds=[ItemKind.LEARNING]))
        nodes = Counter(str(item.meta.namespace) for item in items if item.item_kind is ItemKind.LEARNING)
        assert {bucket.value: bucket.count for bucket in page.buckets} == nodes
        assert any("service:" in value for value in nodes)


async def read_all(engine: MemoryEngine, filter: MetaFilter, order: ListOrder) -> list[ItemId]:
    span = await engine.list_span(SpanRequest(filter=filter, order=order, offset=0, limit=7))
    found = [hit.id for hit in span.items if hit is not None]
    while len(found) < span.total:
        req = SpanRequest(filter=filter, order=order, offset=len(found), limit=7, listing=span.listing)
        found += [hit.id for hit in (await engine.list_span(req)).items if hit is not None]
    return found


def _value(envelope: Envelope, by: SortBy) -> Any:
    match by:
        case SortBy.OBSERVED:
            at = envelope.meta.observed_at
            return None if at is None else at.unix_ns
        case SortBy.KIND:
            return envelope.kind.value
        case SortBy.NODE:
            return envelope.meta.namespace
        case SortBy.AGENT:
            return envelope.meta.agent_id
        case SortBy.SOURCE:
            return envelope.meta.source.kind.value


@pytest.mark.parametrize("by", SortBy)
@pytest.mark.parametrize("descending", [True, False])
async def test_a_listing_is_in_the_order_asked(by: SortBy, descending: bool) -> None:
    items = made(80)
    async with CortexDouble() as double, opened(double) as engine:
        put(double, "direct", items)
        assert by in engine.sorts()
        order = ListOrder(by=by, descending=descending)
        found = await read_all(engine, ALL, order)
        by_id = {envelope.id: envelope for envelope in envelopes(items)}
        values = [_value(by_id[id], by) for id in found]
        there = [value for value in values if value is not None]
        assert sorted(there, reverse=descending) == there
        assert values == there + [None] * (len(values) - len(there))
        assert sorted(found) == sorted(id for id, envelope in by_id.items() if envelope.matches(ALL))
        place = len(found) // 2
        span = await engine.list_span(SpanRequest(order=order, offset=0, limit=1, place_of=found[place]))
        assert span.place == place


@pytest.mark.parametrize("descending", [True, False])
async def test_what_is_alike_is_in_the_order_of_the_embedded_engine(tmp_path: Path, descending: bool) -> None:
    items: list[StoreItem] = [
        learning(
            f"note {number}",
            agent_id=(None, "b", "a")[number % 3],
            source=("agent", "file")[number % 2],
            observed_at=Timestamp.parse(Maker.TIMES[number % 7]) if number % 5 else None,
        )
        for number in range(40)
    ]
    embedded = SqliteEngine(tmp_path / "memory.db", embedder=None)
    async with CortexDouble() as double, opened(double) as engine:
        put(double, "direct", items)
        for item in items:
            await embedded.store(item)
        for by in SortBy:
            order = ListOrder(by=by, descending=descending)
            assert await read_all(engine, ALL, order) == await read_all(embedded, ALL, order), by
    await embedded.aclose()


async def test_of_one_time_the_later_stored_is_the_newer() -> None:
    async with CortexDouble() as double, opened(double) as engine:
        ids = put(double, "direct", [learning(f"note {number}") for number in range(5)])
        assert await read_all(engine, ALL, ListOrder()) == ids[::-1]
        await engine.store(new := learning("one more"))
        assert await read_all(engine, ALL, ListOrder()) == [new.fingerprint(), *ids[::-1]]


# --- what this engine writes and removes


@on_each_wire
async def test_what_is_stored_shows_at_once_and_costs_one_page(wire: str) -> None:
    async with CortexDouble() as double, opened(double, wire) as engine:
        put(double, wire, [learning(f"note {number}") for number in range(250)])
        before = await engine.changes(ALL)
        assert before is not None
        await engine.store(learning("one more"))
        double.forget_requests()
        after = await engine.changes(ALL, before.mark)
        assert after is not None
        assert after.mark != before.mark
        assert (after.total, after.added, after.gone_since(before)) == (251, 1, 0)
        (page,) = await engine.explore_many(exploring()[:1])
        assert page.total == 251
        assert double.counts() == {"events": 1}


async def test_a_scope_that_is_new_is_shown_too() -> None:
    async with CortexDouble() as double, opened(double) as engine:
        put(double, "direct", [learning("note")])
        before = await engine.changes(ALL)
        assert before is not None
        await engine.store(learning("elsewhere", "team:acme"))
        after = await engine.changes(ALL, before.mark)
        assert after is not None
        assert (after.total, after.added) == (2, 1)
        nodes = await engine.namespaces(ALL)
        assert {bucket.value for bucket in nodes.buckets} == {"root", "team:acme"}


@on_each_wire
async def test_what_is_forgotten_or_erased_is_gone_at_once(wire: str) -> None:
    items = [learning(f"note {number}", f"agent:a{number % 3}") for number in range(9)]
    async with CortexDouble() as double, opened(double, wire) as engine:
        ids = put(double, wire, items)
        before = await engine.changes(ALL)
        span = await engine.list_span(SpanRequest(offset=0, limit=50))
        assert before is not None
        await engine.forget(ForgetTarget(ids=ids[:1]))
        after = await engine.changes(ALL, before.mark)
        assert after is not None
        assert (after.total, after.added, after.gone_since(before)) == (8, 0, 1)
        await engine.erase(EraseRequest(reach=Reach.exact(Namespace.parse("agent:a1"))))
        (page,) = await engine.explore_many(exploring()[:1])
        assert page.total == 5
        same = await engine.list_span(SpanRequest(offset=0, limit=50, listing=span.listing))
        assert (same.listing, same.total) == (span.listing, 9), "it stays as it was begun"
        shown = [None if hit is None else hit.id for hit in span.items]
        gone = {ids[0], ids[1], ids[4], ids[7]}
        assert [None if hit is None else hit.id for hit in same.items] == [None if id in gone else id for id in shown]
        await engine.erase(EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True))
        (page,) = await engine.explore_many(exploring()[:1])
        assert page.total == 0


async def test_a_listing_stays_as_it_was_begun_while_items_come() -> None:
    async with CortexDouble() as double, opened(double) as engine:
        put(double, "direct", [learning(f"note {number}") for number in range(5)])
        span = await engine.list_span(SpanRequest(offset=0, limit=50))
        await engine.store(learning("one more"))
        same = await engine.list_span(SpanRequest(offset=0, limit=50, listing=span.listing))
        assert same == span
        new = await engine.list_span(SpanRequest(offset=0, limit=50))
        assert new.listing != span.listing
        assert new.total == 6


async def test_an_answer_waits_for_what_is_written_meanwhile() -> None:
    async with CortexDouble(latency_ms=5) as double, opened(double) as engine:
        put(double, "direct", [learning(f"note {number}", f"agent:a{number % 9}") for number in range(90)])
        counting, _ = await asyncio.gather(engine.changes(ALL), engine.store(learning("one more", "agent:a0")))
        assert counting is not None
        assert counting.total in (90, 91)
        (page,) = await engine.explore_many(exploring()[:1])
        assert (page.total, page.truncated) == (91, False)


# --- what others do


@on_each_wire
async def test_what_others_do_is_found_by_a_refresh(wire: str) -> None:
    async with CortexDouble() as double, opened(double, wire) as engine, opened(double, wire) as other:
        ids = put(double, wire, [learning(f"note {number}") for number in range(3)])
        before = await engine.changes(ALL)
        assert before is not None
        await other.forget(ForgetTarget(ids=ids[:1]))
        put(double, wire, [learning("theirs", "team:acme"), learning("theirs")])
        double.forget_requests()
        assert await engine.changes(ALL, before.mark) == before.model_copy(update={"added": 0})
        assert double.requests == []
        engine.refresh()
        after = await engine.changes(ALL, before.mark)
        assert after is not None
        assert (after.total, after.added, after.gone_since(before)) == (4, 2, 1)


@on_each_wire
async def test_a_scope_that_another_erased_is_gone_after_a_refresh(wire: str) -> None:
    async with CortexDouble() as double, opened(double, wire) as engine, opened(double, wire) as other:
        put(double, wire, [learning("note"), learning("elsewhere", "team:acme")])
        before = await engine.changes(ALL)
        assert before is not None
        await other.erase(EraseRequest(reach=Reach.exact(Namespace.parse("team:acme"))))
        engine.refresh()
        after = await engine.changes(ALL, before.mark)
        assert after is not None
        assert after.mark != before.mark
        assert (after.total, after.added, after.gone_since(before)) == (1, 0, 1)


@on_each_wire
async def test_a_mark_stays_while_more_scopes_are_read(wire: str) -> None:
    async with CortexDouble() as double, opened(double, wire) as engine:
        put(double, wire, made(60))
        filter = MetaFilter(reach=Reach.exact(Namespace.parse("agent:a")))
        before = await engine.changes(filter)
        assert before is not None
        await open_window(engine)
        assert await engine.changes(filter, before.mark) == before.model_copy(update={"added": 0})


async def test_an_item_that_a_read_does_not_find_leaves_the_lists() -> None:
    async with CortexDouble() as double, opened(double) as engine, opened(double) as other:
        ids = put(double, "direct", [learning(f"note {number}") for number in range(3)])
        await engine.changes(ALL)
        await other.forget(ForgetTarget(ids=ids[:1]))
        assert [hit.id for hit in await engine.get(GetRequest(ids=ids))] == ids[1:]
        (page,) = await engine.explore_many(exploring()[:1])
        assert page.total == 2
        double.forget_requests()
        await engine.get(GetRequest(ids=ids[:1]))
        await engine.explore_many(exploring()[:1])
        assert double.count("events") == 3, "what is known to be gone is looked for, and nothing is read again"


async def test_get_asks_the_scope_first_that_is_known_to_hold_the_item() -> None:
    async with CortexDouble() as double, opened(double) as engine:
        *_, last = put(double, "direct", [learning("note", f"agent:a{number}") for number in range(9)])
        await engine.changes(ALL)
        double.forget_requests()
        assert [hit.id for hit in await engine.get(GetRequest(ids=[last]))] == [last]
        assert double.counts() == {"events": 1}


@on_each_wire
async def test_events_of_others_are_skipped_and_counted(wire: str) -> None:
    async with CortexDouble() as double, opened(double, wire) as engine:
        ids = put(double, wire, [learning("note")])
        (scope,) = double.log.scopes()
        double.put(scope, "a chat of another program", ["team:x"])
        double.put(scope, '{"v":2,"id":"0","kind":"learning","text":"","meta":{"source":{"kind":"composio"}}}')
        double.put(scope, "[" * 5_000)
        double.put(scope, "", ["tm:e:00:{", "tm:e:00:{"])
        double.put(scope.replace("app:tinymemory", "app:tinymemory2"), "elsewhere")
        (page,) = await engine.explore_many(exploring()[:1])
        assert page.total == 1
        assert await read_all(engine, ALL, ListOrder()) == ids
        assert [(detail.name, detail.value) for detail in engine.details()] == [("Events of other programs", "4")]
        assert len(double.held(scope)) == 5


async def test_one_item_in_several_events_is_one_row() -> None:
    talk = Conversation(turns=[Turn(role=Role.USER, text=f"turn {number}") for number in range(3)], meta=MemoryMeta())
    long = Document(title="Long", body=DocumentBody(text="word " * 120_000), meta=MemoryMeta())
    async with CortexDouble() as double, opened(double) as engine:
        ids = put(double, "direct", [talk, long, talk])
        assert len(double.held("app:tinymemory/app:documents")) > 1
        span = await engine.list_span(SpanRequest(offset=0, limit=50))
        assert {hit.id: hit.text[:20] for hit in span.items if hit is not None} == {
            ids[0]: "user: turn 0",
            ids[1]: "# Long\n\nword word wo",
        }
        assert span.total == 2
        (page,) = await engine.explore_many(exploring()[:1])
        assert {bucket.value: bucket.count for bucket in page.buckets} == {"conversation": 1, "document": 1}


async def test_an_item_of_the_retired_root_that_the_new_one_has_too_is_one_row() -> None:
    items = [learning(f"note {number}", "team:acme") for number in range(4)]
    async with CortexDouble() as double:
        put(double, "direct", items[:3], Layout(root="user:7"))
        put(double, "direct", items[2:], Layout(root="org:42"))
        async with opened(double, scope_root="org:42", retired_scope_root="user:7") as engine:
            (page,) = await engine.explore_many(exploring()[:1])
            assert page.total == 4
            assert len(await read_all(engine, ALL, ListOrder())) == 4
            assert double.counts() == {"scopes": 2, "events": 2}


# --- many questions, and those that end early


async def test_a_question_that_is_cancelled_leaves_the_walk_to_the_others(until: Until) -> None:
    async with CortexDouble(latency_ms=5) as double, opened(double) as engine:
        put(double, "direct", [learning(f"note {number}", f"agent:a{number % 6}") for number in range(600)])
        first = asyncio.ensure_future(engine.explore_many(exploring()))
        await until(lambda: double.count("events") >= 2)
        second = asyncio.ensure_future(engine.changes(ALL))
        await asyncio.sleep(0)
        first.cancel()
        with pytest.raises(asyncio.CancelledError):
            await first
        changes = await second
        assert changes is not None
        assert changes.total == 600
        assert double.count("scopes") == 1
        assert 6 <= double.count("events") <= 6 + 4, "at most what was under way is asked again"


async def test_the_last_question_that_is_cancelled_ends_the_walk(until: Until) -> None:
    async with CortexDouble(latency_ms=5) as double, opened(double) as engine:
        put(double, "direct", [learning(f"note {number}") for number in range(600)])
        asked = [asyncio.ensure_future(ask) for ask in (engine.explore_many(exploring()), engine.changes(ALL))]
        await until(lambda: double.count("events") >= 2)
        for one in asked:
            one.cancel()
        await asyncio.gather(*asked, return_exceptions=True)
        await until(lambda: double.in_flight == 0)
        await engine.health()  # nothing else is asked before it
        assert double.count("events") < 6
        (page,) = await engine.explore_many(exploring()[:1])
        assert page.total == 600


async def test_a_failure_is_told_to_all_that_wait_and_asked_for_once() -> None:
    async with CortexDouble(latency_ms=20) as double, opened(double) as engine:
        put(double, "direct", [learning("note")])
        double.fail_all = (503, "DOWN")
        asked = [engine.explore_many(exploring()), engine.changes(ALL), engine.namespaces(ALL)]
        for error in await asyncio.gather(*asked, return_exceptions=True):
            assert isinstance(error, Unavailable)
        assert double.counts() == {"scopes": 3}, "three attempts of one request"
        double.fail_all = None
        (page,) = await engine.explore_many(exploring()[:1])
        assert page.total == 1


async def test_a_count_that_goes_on_yields_lower_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "STEP_S", 0.01)
    async with CortexDouble(latency_ms=5) as double, opened(double) as engine:
        put(double, "direct", [learning(f"note {number}", f"agent:a{number % 6}") for number in range(600)])
        steps = [pages async for pages in engine.explore_gradually(exploring()[:2])]
        totals = [pages[0].total for pages in steps]
        assert len(steps) > 2
        assert totals == sorted(totals)
        assert [pages[0].truncated for pages in steps] == [True] * (len(steps) - 1) + [False]
        assert steps[-1] == await engine.explore_many(exploring()[:2])
        assert double.counts() == {"scopes": 1, "events": 6}


async def test_a_listing_of_what_is_still_read_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "PATIENCE_S", 0.01)
    async with CortexDouble(latency_ms=5) as double, opened(double) as engine:
        put(double, "direct", [learning(f"note {number}") for number in range(600)])
        spans: list[Span] = []
        while not spans or spans[-1].is_partial:
            spans.append(await engine.list_span(SpanRequest(offset=0, limit=5)))
        totals = [span.total for span in spans]
        assert len(spans) > 2
        assert totals == sorted(set(totals))
        assert totals[-1] == 600
        assert double.counts() == {"scopes": 1, "events": 6}
        same = await engine.list_span(SpanRequest(offset=0, limit=5, listing=spans[-2].listing))
        assert (same.total, same.is_partial) == (totals[-2], True), "a place of it stays a place of it"


# --- where it cannot be whole


async def test_a_scope_without_end_makes_the_counts_lower_bounds(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(snapshot, "MAX_PAGES", 5)
    async with CortexDouble(endless_listing=True) as double, opened(double) as engine:
        put(double, "direct", [learning("note")])
        (page,) = await engine.explore_many(exploring()[:1])
        assert (page.total, page.truncated) == (1, True)
        assert double.counts() == {"scopes": 1, "events": 5}


async def test_a_list_of_scopes_that_the_server_cut_makes_the_counts_lower_bounds() -> None:
    async with CortexDouble(padding_scopes=1_000) as double, opened(double) as engine:
        put(double, "direct", [learning("note", "team:acme")])
        within = exploring(MetaFilter(reach=Reach.subtree(Namespace.parse("team:acme"))))[:1]
        (page,) = await engine.explore_many(within)
        assert (page.total, page.truncated) == (1, False), "its own list is complete"
        assert double.count("scopes") == 2
        put(double, "direct", [note("a document")])
        (page,) = await engine.explore_many(exploring(MetaFilter(kinds=[ItemKind.DOCUMENT]))[:1])
        assert (page.total, page.truncated) == (1, True)


@on_each_wire
async def test_without_a_list_of_scopes_the_root_is_read(wire: str) -> None:
    async with CortexDouble(scopes_missing=True) as double, opened(double, wire) as engine:
        put(double, wire, [learning("note"), learning("unseen", "team:acme")])
        (page,) = await engine.explore_many(exploring()[:1])
        assert page.total == 1
