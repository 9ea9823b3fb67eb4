"""Listings read by place: every order against a plain sort, and what stays while items come and go."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.contract import (
    ForgetTarget,
    InvalidRequest,
    ItemId,
    ListOrder,
    MemoryEngine,
    MetaFilter,
    SortBy,
    Span,
    SpanRequest,
    StoreItem,
    Timestamp,
    Unsupported,
)
from explorer.contract.reference import ReferenceEngine
from explorer.engines.sqlite import SqliteEngine, listings, order
from tests.engines.sqlite.support import Maker, Oracle, fill, list_all, note, opened


def value(item: StoreItem, by: SortBy) -> object:
    meta = item.meta
    match by:
        case SortBy.OBSERVED:
            return meta.observed_at
        case SortBy.KIND:
            return item.item_kind.value
        case SortBy.NODE:
            return meta.namespace
        case SortBy.AGENT:
            return meta.agent_id
        case SortBy.SOURCE:
            return meta.source.kind.value


def plainly(oracle: Oracle, filter: MetaFilter, order: ListOrder) -> list[ItemId]:
    """The same by sorting what matches, which comes newest first."""
    ids = oracle.matching(filter)
    if order.by is SortBy.OBSERVED and not order.descending:
        ids.reverse()
    values = {id: value(oracle.held[id], order.by) for id in ids}
    there = [id for id in ids if values[id] is not None]
    if order.by is SortBy.OBSERVED:
        there.sort(key=lambda id: values[id], reverse=order.descending)
    else:
        places = {each: at for at, each in enumerate(sorted(set(values[id] for id in there)))}  # type: ignore[type-var]
        there.sort(key=lambda id: -places[values[id]] if order.descending else places[values[id]])
    return there + [id for id in ids if values[id] is None]


async def read_all(engine: MemoryEngine, filter: MetaFilter, order: ListOrder, limit: int = 7) -> list[ItemId]:
    """All of a listing, a span at a time."""
    found: list[ItemId] = []
    listing = None
    while True:
        span = await engine.list_span(
            SpanRequest(filter=filter, order=order, offset=len(found), limit=limit, listing=listing)
        )
        listing = span.listing
        found += [hit.id for hit in span.items if hit is not None]
        if len(found) >= span.total:
            return found


ORDERS = [ListOrder(by=by, descending=descending) for by in SortBy for descending in (True, False)]


@pytest.mark.parametrize("few", [0, 1_024])
async def test_every_order_is_that_of_a_plain_sort(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(order, "_FEW", few)
    make = Maker(few)
    oracle = Oracle()
    async with opened(tmp_path / "memory.db") as engine:
        for _ in range(3):
            items = [make.item() for _ in range(60)]
            for item in items:
                oracle.store(item)
            await fill(engine, items)
            gone = make.rand.sample(list(oracle.held), 7)
            await engine.forget(ForgetTarget(ids=gone))
            for id in gone:
                del oracle.held[id]
            for wanted in ORDERS:
                for filter in (MetaFilter(), make.filter()):
                    assert await read_all(engine, filter, wanted) == plainly(oracle, filter, wanted), wanted


async def test_newest_first_is_the_order_of_the_listing(tmp_path: Path) -> None:
    make = Maker(3)
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, [make.item() for _ in range(40)])
        assert engine.sorts() == frozenset(SortBy)
        assert await read_all(engine, MetaFilter(), ListOrder()) == [hit.id for hit in await list_all(engine)]


async def test_nodes_go_by_their_segments(tmp_path: Path) -> None:
    nodes = ["team:A-1", "team:A/agent:1", "team:A", "root"]
    async with opened(tmp_path / "memory.db") as engine:
        from tests.fakes import learning

        await fill(engine, [learning(node, node) for node in nodes])
        span = await engine.list_span(SpanRequest(order=ListOrder(by=SortBy.NODE, descending=False), offset=0, limit=9))
        assert [hit and hit.text for hit in span.items] == ["root", "team:A", "team:A/agent:1", "team:A-1"]


def texts(span: Span) -> list[str | None]:
    return [hit and hit.text for hit in span.items]


async def span_of(engine: SqliteEngine, offset: int, limit: int, listing: str | None = None) -> Span:
    return await engine.list_span(SpanRequest(offset=offset, limit=limit, listing=listing))


@pytest.mark.parametrize("few", [0, 1_024])
async def test_places_stay_while_items_come_and_go(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int) -> None:
    monkeypatch.setattr(order, "_FEW", few)
    path = tmp_path / "memory.db"
    items = [note(f"{day}", observed_at=Timestamp.parse(f"2024-01-{day:02}T00:00:00Z")) for day in range(1, 7)]
    async with opened(path) as engine, opened(path) as other:
        ids = await fill(engine, items)
        first = await span_of(engine, 0, 2)
        assert (texts(first), first.total) == (["6", "5"], 6)
        await fill(other, [note("newer", observed_at=Timestamp.parse("2025-01-01T00:00:00Z"))])
        await other.forget(ForgetTarget(ids=[ids[3]]))
        then = await span_of(engine, 2, 9, first.listing)
        assert (texts(then), then.total, then.listing) == ([None, "3", "2", "1"], 6, first.listing)
        now = await span_of(engine, 0, 9)
        assert texts(now) == ["newer", "6", "5", "3", "2", "1"]
        assert now.listing != first.listing


async def test_a_listing_can_be_entered_anywhere(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        ids = await fill(engine, [note(str(at)) for at in range(30)])  # undated: the later stored first
        assert texts(await span_of(engine, 28, 9)) == ["1", "0"]
        assert texts(await span_of(engine, 30, 9)) == []
        found = await engine.list_span(SpanRequest(offset=0, limit=1, place_of=ids[4]))
        assert found.place == 25
        assert (await engine.list_span(SpanRequest(offset=0, limit=1, place_of=ItemId("a" * 40)))).place is None
        with pytest.raises(InvalidRequest):
            await span_of(engine, 0, 0)


async def test_a_forgotten_listing_is_told_by_its_name(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(listings, "_KEPT", 2)
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, [note(str(at)) for at in range(5)])
        first = await span_of(engine, 0, 1)
        assert (await span_of(engine, 1, 1)).listing == first.listing  # nothing changed: it is the same one
        for by in (SortBy.AGENT, SortBy.NODE):
            await engine.list_span(SpanRequest(order=ListOrder(by=by), offset=0, limit=1))
        assert (await span_of(engine, 1, 1, first.listing)).listing != first.listing
        other = await engine.list_span(
            SpanRequest(filter=MetaFilter(tags_any=["x"]), offset=0, limit=1, listing=first.listing)
        )
        assert (other.total, other.listing) != (5, first.listing)


async def test_an_engine_that_cannot_says_so() -> None:
    engine = ReferenceEngine()
    assert not engine.sorts()
    with pytest.raises(Unsupported):
        await engine.list_span(SpanRequest(offset=0, limit=1))
