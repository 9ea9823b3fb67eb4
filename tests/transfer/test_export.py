"""Engines into JSONL: whole files or none, and the same ids when they come back."""

from __future__ import annotations

import asyncio
import contextlib
import io
import os
import stat
import sys
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from explorer.contract import (
    Document,
    DocumentBody,
    EngineFailure,
    ExportPage,
    ItemId,
    ListPage,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    StoreItem,
    Unavailable,
    Unsupported,
    dump_item,
    parse_item,
)
from explorer.contract.reference import ReferenceEngine
from explorer.transfer import ExportProgress, FileError, export_jsonl, import_jsonl, sandbox_roots

from .made import learning

OpenMemory = Callable[[str], MemoryEngine]

ITEMS: list[StoreItem] = [
    learning("at the root", tags=["a"]),
    learning("in a team", "team:acme"),
    learning("deeper", "team:acme/agent:writer", tags=["a", "b"]),
    learning("boxed", "team:acme/service:cron"),
    learning("boxed deeper", "team:acme/service:cron/agent:x"),
    learning("boxed twice", "team:acme/service:cron/service:job"),
    learning("boxed elsewhere", "service:other"),
    Document(title="Zeilen", body=DocumentBody(text='two\nlines, "quoted", \u2028 and \x00 zero\U0001f600')),
]


async def run(
    engine: MemoryEngine,
    target: str | Path | BinaryIO,
    filter: MetaFilter | None = None,
    *,
    sandboxes: bool = False,
    overwrite: bool = False,
    page_size: int = 200,
) -> list[ExportProgress]:
    export = export_jsonl(engine, target, filter, sandboxes=sandboxes, overwrite=overwrite, page_size=page_size)
    return [progress async for progress in export]


async def filled(*items: StoreItem) -> ReferenceEngine:
    engine = ReferenceEngine()
    await engine.store_many(list(items or ITEMS))
    return engine


async def texts(engine: MemoryEngine, filter: MetaFilter | None = None, *, sandboxes: bool = False) -> set[str]:
    stream = io.BytesIO()
    await run(engine, stream, filter, sandboxes=sandboxes)
    lines = stream.getvalue().decode().split("\n")[:-1]
    return {parse_item(line).render_text() for line in lines}


def left_over(folder: Path) -> list[str]:
    return sorted(path.name for path in folder.iterdir() if path.name != "home")


async def test_export_and_import_give_the_same_ids(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    first, second = open_memory("a.db"), open_memory("b.db")
    try:
        await first.store_many(ITEMS)
        told = await run(first, path, sandboxes=True, page_size=3)
        assert told[-1].is_done
        assert told[-1].written == len(ITEMS)
        content = await asyncio.to_thread(path.read_bytes)
        assert told[-1].bytes_written == len(content)
        assert sorted(content.split(b"\n")[:-1]) == sorted(dump_item(item).encode() for item in ITEMS)
        done = [progress async for progress in import_jsonl(second, path)][-1]
        assert (done.stored, done.replayed, done.refused) == (len(ITEMS), 0, 0)
        done = [progress async for progress in import_jsonl(first, path)][-1]
        assert (done.stored, done.replayed, done.refused) == (0, len(ITEMS), 0)
    finally:
        await first.aclose()
        await second.aclose()


async def test_filter_chooses(open_memory: OpenMemory) -> None:
    engine = open_memory("a.db")
    try:
        await engine.store_many(ITEMS)
        assert await texts(engine, MetaFilter(tags_any=["a"])) == {"at the root", "deeper"}
        at = Namespace.parse("team:acme/agent:writer")
        assert await texts(engine, MetaFilter(reach=Reach.exact(at))) == {"deeper"}
        reached = await texts(engine, MetaFilter(reach=Reach.of(at), tags_any=[]))
        assert {"at the root", "in a team", "deeper"} <= reached
    finally:
        await engine.aclose()


class NoNodes(ReferenceEngine):
    """An engine that names no nodes, and must not be listed for them."""

    namespaces = MemoryEngine.namespaces

    async def list(self, req: ListRequest) -> ListPage:
        raise AssertionError("read for nothing")


async def test_an_engine_that_names_no_sandboxes_is_not_read_for_them() -> None:
    engine = NoNodes()
    await engine.store_many(ITEMS)
    assert await sandbox_roots(engine, MetaFilter()) == []


@pytest.mark.parametrize("kind", ["sqlite", "reference"])
async def test_sandboxes_are_left_out_unless_asked_for(open_memory: OpenMemory, kind: str) -> None:
    engine = open_memory("a.db") if kind == "sqlite" else ReferenceEngine()
    try:
        await engine.store_many(ITEMS)
        outside = {"at the root", "in a team", "deeper", ITEMS[-1].render_text()}
        assert await texts(engine) == outside
        boxed = {"boxed", "boxed deeper", "boxed twice", "boxed elsewhere"}
        assert await texts(engine, sandboxes=True) == outside | boxed
        at = Reach.subtree(Namespace.parse("team:acme"))
        assert await texts(engine, MetaFilter(reach=at), sandboxes=True) == {
            "in a team", "deeper", "boxed", "boxed deeper", "boxed twice",
        }  # fmt: skip
        assert [(str(root), count) for root, count in await sandbox_roots(engine, MetaFilter())] == [
            ("service:other", 1),
            ("team:acme/service:cron", 2),
            ("team:acme/service:cron/service:job", 1),
        ]
        assert await sandbox_roots(engine, MetaFilter(reach=Reach.exact(Namespace.ROOT))) == []
        inside = Reach.subtree(Namespace.parse("team:acme/service:cron"))
        assert [str(root) for root, _ in await sandbox_roots(engine, MetaFilter(reach=inside))] == [
            "team:acme/service:cron/service:job"
        ]
    finally:
        await engine.aclose()


async def test_nothing_to_export_is_an_empty_file(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    told = await run(ReferenceEngine(), path)
    assert told[-1] == ExportProgress(is_done=True)
    assert await asyncio.to_thread(path.read_bytes) == b""


async def test_file_appears_only_when_it_is_whole(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    async with contextlib.aclosing(export_jsonl(await filled(), path, page_size=1)) as told:
        async for progress in told:
            assert await asyncio.to_thread(path.exists) == progress.is_done
    assert await asyncio.to_thread(left_over, tmp_path) == ["out.jsonl"]


async def test_leaving_early_leaves_nothing(tmp_path: Path) -> None:
    async with contextlib.aclosing(export_jsonl(await filled(), tmp_path / "out.jsonl", page_size=1)) as told:
        async for _ in told:
            break
    assert await asyncio.to_thread(left_over, tmp_path) == []


async def test_existing_file_is_kept_unless_overwritten(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    await asyncio.to_thread(path.write_text, "mine")
    with pytest.raises(FileError, match="is there already; choose another name"):
        await run(await filled(), path)
    assert await asyncio.to_thread(path.read_text) == "mine"
    await asyncio.to_thread(path.chmod, 0o640)
    await run(await filled(), path, overwrite=True)
    assert (await asyncio.to_thread(path.read_text)).count('"type"') == 4
    if sys.platform != "win32":
        assert stat.S_IMODE((await asyncio.to_thread(path.stat)).st_mode) == 0o640
    assert await asyncio.to_thread(left_over, tmp_path) == ["out.jsonl"]


async def test_file_that_appears_meanwhile_is_kept(tmp_path: Path) -> None:
    path = tmp_path / "out.jsonl"
    told = export_jsonl(await filled(), path)
    await anext(told)
    await asyncio.to_thread(path.write_text, "mine")
    with pytest.raises(FileError, match="is there already"):
        await anext(told)
    assert await asyncio.to_thread(path.read_text) == "mine"
    assert await asyncio.to_thread(left_over, tmp_path) == ["out.jsonl"]


async def test_link_stays_a_link(tmp_path: Path) -> None:
    real, link = tmp_path / "real.jsonl", tmp_path / "link.jsonl"
    await asyncio.to_thread(real.write_text, "old")
    await asyncio.to_thread(link.symlink_to, real)
    await run(await filled(), link, overwrite=True)
    assert await asyncio.to_thread(link.is_symlink)
    assert '"type"' in await asyncio.to_thread(real.read_text)


async def test_place_that_cannot_be_written_is_named(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot write .*none/out\.jsonl: no such file"):
        await run(await filled(), tmp_path / "none" / "out.jsonl")
    with pytest.raises(FileError, match="it is a folder"):
        await run(await filled(), tmp_path, overwrite=True)
    with pytest.raises(FileError, match="cannot write"):
        await run(await filled(), tmp_path / "a\0b")


async def test_device_is_written_to() -> None:
    told = await run(await filled(), os.devnull)
    assert told[-1].is_done
    assert told[-1].written == 4


async def test_full_disk_leaves_the_old_file(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = tmp_path / "out.jsonl"
    await asyncio.to_thread(path.write_text, "mine")

    def no_space(handle: int) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", no_space)
    with pytest.raises(FileError, match=r"cannot write .*: no space left on device"):
        await run(await filled(), path, overwrite=True)
    assert await asyncio.to_thread(path.read_text) == "mine"
    assert await asyncio.to_thread(left_over, tmp_path) == ["out.jsonl"]


# Engines that are not what they should be.


class Odd(ReferenceEngine):
    """Answers an export with pages prepared by the test."""

    def __init__(self, answer: Callable[[str | None], ExportPage]) -> None:
        super().__init__()
        self.answer = answer
        self.calls = 0

    async def export(self, req: ListRequest) -> ExportPage:
        self.calls += 1
        return self.answer(req.cursor)


class NoExport(ReferenceEngine):
    export = MemoryEngine.export


async def test_engine_without_export_leaves_nothing(tmp_path: Path) -> None:
    with pytest.raises(Unsupported, match="does not export items"):
        await run(NoExport(), tmp_path / "out.jsonl")
    assert await asyncio.to_thread(left_over, tmp_path) == []


async def test_failure_midway_leaves_nothing(tmp_path: Path) -> None:
    def answer(cursor: str | None) -> ExportPage:
        if cursor is not None:
            raise Unavailable("no answer")
        return ExportPage(items=[], next_cursor="next")

    with pytest.raises(Unavailable):
        await run(Odd(answer), tmp_path / "out.jsonl")
    assert await asyncio.to_thread(left_over, tmp_path) == []


async def test_incomplete_items_are_named(tmp_path: Path) -> None:
    def answer(cursor: str | None) -> ExportPage:
        if cursor is None:
            return ExportPage(items=[], incomplete=[ItemId("a")], next_cursor="")
        return ExportPage(items=[], incomplete=[ItemId("b")])

    told = await run(Odd(answer), tmp_path / "out.jsonl")
    assert [progress.incomplete for progress in told] == [("a",), ("b",), ()]  # an empty cursor is not the end


async def test_repeated_cursor_ends_in_an_error(tmp_path: Path) -> None:
    engine = Odd(lambda cursor: ExportPage(items=[], incomplete=[ItemId("a")], next_cursor="again"))
    with pytest.raises(EngineFailure, match="it repeats a page; nothing was kept"):
        await run(engine, tmp_path / "out.jsonl")
    assert engine.calls == 2
    assert await asyncio.to_thread(left_over, tmp_path) == []


async def test_endless_empty_pages_end_in_an_error(tmp_path: Path) -> None:
    engine = Odd(lambda cursor: ExportPage(items=[], next_cursor=str(int(cursor or 0) + 1)))
    with pytest.raises(EngineFailure, match="never came to the end"):
        await run(engine, tmp_path / "out.jsonl")
    assert await asyncio.to_thread(left_over, tmp_path) == []


async def test_empty_page_in_the_middle_is_legal(tmp_path: Path) -> None:
    def answer(cursor: str | None) -> ExportPage:
        number = int(cursor or 0)
        return ExportPage(items=[], next_cursor=str(number + 1) if number < 30 else None)

    assert (await run(Odd(answer), tmp_path / "out.jsonl"))[-1].is_done


async def test_closed_pipe_passes_as_such() -> None:
    out, into = os.pipe()
    os.close(out)
    with contextlib.suppress(BrokenPipeError), os.fdopen(into, "wb") as writer, pytest.raises(BrokenPipeError):
        await run(await filled(), writer)
