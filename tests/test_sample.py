import asyncio
import shutil
from pathlib import Path

import pytest

from explorer.contract import (
    EngineFailure,
    ExploreRequest,
    Facet,
    ListRequest,
    MetaFilter,
    Namespace,
    Reach,
    SegmentKind,
    parse_item,
)
from explorer.engines import EngineSettings, build_engine
from explorer.paths import resource
from explorer.sample import ensure_sample

LINES = resource("sample/memory.jsonl").read_bytes().splitlines()


async def test_the_copy_holds_every_item_and_is_made_once(tmp_path: Path) -> None:
    path = await ensure_sample(tmp_path / "new folder" / "sample.db")
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    try:
        nodes = await engine.namespaces(MetaFilter())
        assert nodes.total == len(LINES)
        found = await engine.list(ListRequest(filter=MetaFilter(reach=Reach.exact(Namespace.ROOT)), limit=1))
        gone = found.items[0].id
        await engine.forget_within([gone], None)
    finally:
        await engine.aclose()
    assert sorted(file.name for file in path.parent.iterdir()) == ["sample.db"]

    await ensure_sample(path)  # what the person changed stays changed
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    try:
        assert (await engine.namespaces(MetaFilter())).total == len(LINES) - 1
    finally:
        await engine.aclose()


async def held(path: Path) -> int:
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    try:
        return (await engine.namespaces(MetaFilter())).total
    finally:
        await engine.aclose()


async def test_two_that_make_it_at_once_get_one_whole_copy(tmp_path: Path) -> None:
    path = tmp_path / "sample.db"
    assert await asyncio.gather(*(ensure_sample(path) for _ in range(3))) == [path] * 3
    assert [file.name for file in tmp_path.iterdir()] == ["sample.db"]
    assert await held(path) == len(LINES)


async def test_the_log_of_a_deleted_copy_does_not_come_back(tmp_path: Path) -> None:
    path, log, kept = tmp_path / "sample.db", tmp_path / "sample.db-wal", tmp_path / "kept"
    await ensure_sample(path)
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    try:
        await engine.store(parse_item(b'{"type":"document","body":{"text":"of the copy that was deleted"}}'))
        shutil.copy(log, kept)
    finally:
        await engine.aclose()
    path.unlink()
    kept.rename(log)
    await ensure_sample(path)
    assert await held(path) == len(LINES)


async def test_a_folder_that_cannot_be_made_is_said(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    with pytest.raises(EngineFailure, match="cannot be written"):
        await ensure_sample(tmp_path / "file" / "sample.db")


def test_the_sample_shows_every_side_of_the_program() -> None:
    items = [parse_item(line) for line in LINES]
    for item in items:
        item.check()
    assert len({item.fingerprint() for item in items}) == len(items)
    assert 380 <= len(items) <= 450
    for facet in Facet:
        values = [facet.values(item.item_kind, item.meta) for item in items]
        assert sum(map(bool, values)) >= 10, facet
    nodes = {item.meta.namespace for item in items}
    assert max(node.depth for node in nodes) == 4
    assert any(node.last is not None and node.last.kind is SegmentKind.SERVICE for node in nodes)
    assert {"en", "de", "ja"} <= {item.meta.language for item in items}
    times = [item.meta.observed_at for item in items if item.meta.observed_at is not None]
    assert (max(times) - min(times)).days > 700


async def test_kinds_are_counted_as_the_file_has_them(tmp_path: Path) -> None:
    path = await ensure_sample(tmp_path / "sample.db")
    engine = build_engine("sqlite", EngineSettings(path=str(path), read_only=True), None)
    try:
        page = await engine.explore(ExploreRequest(facet=Facet.KIND, limit=3))
    finally:
        await engine.aclose()
    outside = [line for line in LINES if b"service:" not in line.partition(b'"meta"')[2]]
    for bucket in page.buckets:
        assert bucket.count == sum(line.startswith(f'{{"type":"{bucket.value}"'.encode()) for line in outside)
