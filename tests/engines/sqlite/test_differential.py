"""Listing, counting and removing against the items themselves, over random items and filters."""

from __future__ import annotations

import asyncio
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.contract import (
    EraseRequest,
    ExploreRequest,
    Facet,
    ForgetTarget,
    MetaFilter,
    TinyMemoryError,
    parse_item,
)
from explorer.contract.wire import dumps
from explorer.engines.sqlite import SqliteEngine
from tests.contract import strategies
from tests.engines.sqlite.support import Maker, Oracle, check_page, fill, list_all, opened


async def compare(engine: SqliteEngine, oracle: Oracle, filter: MetaFilter, limit: int) -> None:
    hits = await list_all(engine, filter, limit)
    matching = oracle.matching(filter)
    assert [hit.id for hit in hits] == matching
    for hit in hits[:3]:
        item = oracle.held[hit.id]
        assert (hit.kind, hit.text, hit.meta) == (item.item_kind, item.render_text(), item.meta)
    pages = await engine.explore_many([ExploreRequest(facet=facet, filter=filter, limit=limit) for facet in Facet])
    for facet, page in zip(Facet, pages, strict=True):
        assert page.facet is facet
        check_page(page, *oracle.counts(matching, facet), limit=limit)
    nodes = await engine.namespaces(filter)
    check_page(nodes, *oracle.counts(oracle.everywhere(filter), Facet.NAMESPACE), limit=10**9)


@pytest.mark.limit_s(60)
@pytest.mark.parametrize("seed", range(2))
async def test_every_filter_admits_what_it_matches(tmp_path: Path, seed: int) -> None:
    make = Maker(seed)
    oracle = Oracle()
    async with opened(tmp_path / "memory.db") as engine:
        for _ in range(4):
            items = [make.item() for _ in range(100)]
            for item in items:
                oracle.store(item)
            await fill(engine, items)
            for _ in range(30):
                await compare(engine, oracle, make.filter(), make.rand.choice([1, 2, 7, 50]))
            gone = make.rand.sample(list(oracle.held), 20)
            assert (await engine.forget(ForgetTarget(ids=gone))).forgotten == 20
            for id in gone:
                del oracle.held[id]
            filter = make.filter()
            if not filter.is_empty():
                matching = oracle.matching(filter)
                if len(matching) < len(oracle.held) // 4:
                    assert (await engine.forget(ForgetTarget(filter=filter))).forgotten == len(matching)
                    for id in matching:
                        del oracle.held[id]
    async with opened(tmp_path / "memory.db") as engine:
        for _ in range(20):
            await compare(engine, oracle, make.filter(), 50)


@pytest.mark.parametrize("seed", range(4))
async def test_erase_takes_what_its_request_admits(tmp_path: Path, seed: int) -> None:
    make = Maker(seed)
    async with opened(tmp_path / "memory.db") as engine:
        for _ in range(6):
            oracle = Oracle()
            for _ in range(40):
                oracle.store(make.item())
            await fill(engine, oracle.held.values())
            kinds = make.filter().kinds
            req = EraseRequest(reach=make.reach(), kinds=kinds, whole_tree=True)
            gone = {id: item for id, item in oracle.held.items() if req.admits(item.item_kind, item.meta)}
            report = await engine.erase(req)
            assert report.erased_scopes == len({(item.meta.namespace, item.item_kind) for item in gone.values()})
            assert report.receipts == []
            everywhere = sum(bucket.count for bucket in (await engine.namespaces(MetaFilter())).buckets)
            assert everywhere == len(oracle.held) - len(gone)
            for item in gone.values():
                assert not (await engine.store(item)).replayed
            await engine.forget(ForgetTarget(ids=list(oracle.held)))


wild_filters = strategies.filters


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(strategies.items, min_size=1, max_size=8), st.data())
def test_wild_items(tmp_path: Path, raw: list[strategies.JsonObject], data: st.DataObject) -> None:
    """Any text anywhere: NUL, quotes, surrogate-free Unicode, times of all years."""
    items = []
    for value in raw:
        item = parse_item(dumps(value))
        try:
            item.check()
        except TinyMemoryError:
            continue
        items.append(item)
    filter = data.draw(wild_filters.map(MetaFilter.model_validate))
    if items and data.draw(st.booleans()):
        # A filter made of an item's own values, which random text would not hit.
        meta = data.draw(st.sampled_from(items)).meta
        own: dict[str, Any] = {
            "reach": None,
            **{name: getattr(meta, name) for name in ("workspace", "folder", "file_path", "language", "repo", "url")},
            "tags_any": meta.tags,
            "observed_after": meta.observed_at,
        }
        filter = MetaFilter(**own)

    async def check() -> None:
        oracle = Oracle()
        async with opened(tmp_path / "wild.db") as engine:
            for item in items:
                oracle.store(item)
                await engine.store(item)
            await compare(engine, oracle, filter, 2)
            await compare(engine, oracle, MetaFilter(), 3)
            if oracle.held:
                await engine.forget(ForgetTarget(ids=list(oracle.held)))
            assert (await engine.namespaces(MetaFilter())).total == 0

    asyncio.run(check())
