"""The window's questions: what they cost in requests, and that they are answered as a plain listing would."""

from __future__ import annotations

import asyncio
from collections import Counter
from datetime import UTC
from typing import Any

import pytest

from explorer.contract import (
    ExploreRequest,
    Facet,
    HistogramRequest,
    ItemId,
    ItemKind,
    ListOrder,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    SortBy,
    SpanRequest,
    StoreItem,
    TimeUnit,
    rank_buckets,
)
from explorer.contract.engine import explore_many_by_listing, histogram_by_listing
from explorer.contract.timeline import day_of
from explorer.engines.cortex import browsing
from explorer.engines.cortex.envelope import Envelope, decode, lay_out
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.filling import WIRES, opened, put
from tests.engines.sqlite.support import Maker
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
    async with CortexDouble(latency_ms=5) as double, opened(double) as engine:
        put(double, "direct", [learning("note", f"agent:a{number}") for number in range(30)])
        await open_window(engine)
        assert double.listings_peak == 4


# --- that it is right


@on_each_wire
@pytest.mark.parametrize("seed", range(4))
async def test_any_filter_is_answered_as_the_envelopes_say(wire: str, seed: int) -> None:
    items, make = made(150, seed), Maker(1_000 + seed)
    async with CortexDouble() as double, opened(double, wire) as engine:
        put(double, wire, items)
        held = envelopes(items)
        for _ in range(40):
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


async def test_of_one_time_the_later_stored_is_the_newer() -> None:
    async with CortexDouble() as double, opened(double) as engine:
        ids = put(double, "direct", [learning(f"note {number}") for number in range(5)])
        assert await read_all(engine, ALL, ListOrder()) == ids[::-1]
        await engine.store(new := learning("one more"))
        assert await read_all(engine, ALL, ListOrder()) == [new.fingerprint(), *ids[::-1]]
