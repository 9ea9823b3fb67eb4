"""The embedded engine and the window on real conversations, counted again by code of the test's own."""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import ExploreRequest, Facet, ListRequest, MemoryEngine, MetaFilter, Namespace, Reach
from explorer.engines import EngineSettings, build_engine
from explorer.transfer import import_jsonl

# Facet to its place in an item's JSON, read here without the program's own types.
PLACES: dict[Facet, Callable[[dict[str, Any]], list[str]]] = {
    Facet.KIND: lambda item: [item["type"]],
    Facet.SOURCE: lambda item: [item["meta"]["source"]["kind"]],
    Facet.SOURCE_ID: lambda item: _one(item["meta"]["source"].get("id")),
    Facet.WORKSPACE: lambda item: _one(item["meta"].get("workspace")),
    Facet.FOLDER: lambda item: _one(item["meta"].get("folder")),
    Facet.FILE_PATH: lambda item: _one(item["meta"].get("file_path")),
    Facet.LANGUAGE: lambda item: _one(item["meta"].get("language")),
    Facet.REPO: lambda item: _one(item["meta"].get("repo")),
    Facet.URL: lambda item: _one(item["meta"].get("url")),
    Facet.THREAD: lambda item: _one(item["meta"].get("thread_id")),
    Facet.AGENT: lambda item: _one(item["meta"].get("agent_id")),
    Facet.TOOL_CALL: lambda item: _one(item["meta"].get("tool_call", {}).get("name")),
    Facet.TAG: lambda item: sorted(set(item["meta"].get("tags", []))),
    Facet.NAMESPACE: lambda item: [item["meta"].get("namespace", "root")],
}


def _one(value: str | None) -> list[str]:
    return [] if value is None else [value]


def read(path: Path) -> list[dict[str, Any]]:
    return [json.loads(line) for line in path.read_text(encoding="utf-8").splitlines()]


def counted(items: list[dict[str, Any]], facet: Facet) -> tuple[list[tuple[str, int]], int]:
    """Buckets, largest first and ties by value, and how many items have none."""
    values = [PLACES[facet](item) for item in items]
    counts = Counter(value for of_item in values for value in of_item)
    return sorted(counts.items(), key=lambda pair: (-pair[1], pair[0])), sum(not of_item for of_item in values)


async def compare(engine: MemoryEngine, filter: MetaFilter, items: list[dict[str, Any]]) -> None:
    for facet in Facet:
        page = await engine.explore(ExploreRequest(facet=facet, filter=filter, limit=500))
        buckets, missing = counted(items, facet)
        assert [(bucket.value, bucket.count) for bucket in page.buckets] == buckets[:500], facet
        assert page.total == len(items), facet
        assert page.missing == missing, facet
        assert page.more_buckets == max(0, len(buckets) - 500), facet
        assert not page.truncated


@pytest.mark.limit_s(60)
async def test_every_facet_counts_what_the_file_holds(real_items: Path, tmp_path: Path) -> None:
    items = read(real_items)
    outside = [item for item in items if "service:" not in item["meta"].get("namespace", "")]
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "real.db")), None)
    try:
        async for done in import_jsonl(engine, real_items):
            assert not done.bad
        assert done.stored == len(items)

        await compare(engine, MetaFilter(), outside)

        # Three walks: at each step the largest bucket of the next facet that still divides what is left.
        walks = [
            [Facet.KIND, Facet.NAMESPACE, Facet.THREAD],
            [Facet.NAMESPACE, Facet.TAG, Facet.KIND],
            [Facet.SOURCE, Facet.AGENT, Facet.SOURCE_ID],
        ]
        for walk in walks:
            filter, left = MetaFilter(), outside
            for facet in walk:
                buckets, _ = counted(left, facet)
                if not buckets:  # no item has a value here: nothing to drill into
                    continue
                value = buckets[0][0]
                filter = facet.narrow(filter, value)
                left = [item for item in left if value in PLACES[facet](item)]
                await compare(engine, filter, left)
            assert left, walk

        node = Namespace.parse(counted(outside, Facet.NAMESPACE)[0][0][0])
        below = [item for item in outside if item["meta"].get("namespace", "root").startswith(str(node))]
        page = await engine.list(ListRequest(filter=MetaFilter(reach=Reach.subtree(node)), limit=10_000))
        assert len(page.items) == len(below)
    finally:
        await engine.aclose()
