"""An engine's items as JSONL."""

from __future__ import annotations

import asyncio
import contextlib
import os
import shutil
import stat
import tempfile
import threading
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO, Protocol

from explorer.contract import (
    EngineFailure,
    Exported,
    ExportPage,
    GetRequest,
    ItemId,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    dump_item,
)
from explorer.contract.query import MAX_GET_IDS
from explorer.engines.os_errors import why
from explorer.transfer.errors import FileError
from explorer.transfer.lines import write_all
from explorer.transfer.sandboxes import reaches, sandbox_roots

_PAGE = 200
_MAX_EMPTY_PAGES = 1000


@dataclass(frozen=True, slots=True)
class ExportProgress:
    """How far an export is; how much there is in all is not known beforehand."""

    written: int = 0
    bytes_written: int = 0
    incomplete: tuple[ItemId, ...] = ()
    """Items since the progress before that are not in the file, because the engine holds only part of them."""
    is_done: bool = False
    """Whether the file is there, whole."""


def refuse_memory(target: str | Path, database: str | None) -> None:
    """Raise FileError where an export to `target` would take the place of the memory file, or of one that SQLite keeps
    beside it, there or not: what it finds there it takes for its log."""
    if database is None:
        return
    memory, path = os.path.realpath(database), os.path.realpath(target)
    if path == memory or (os.path.exists(path) and os.path.exists(memory) and os.path.samefile(path, memory)):
        raise FileError(f"{target} is the memory itself; choose another name for the export")
    if path in {memory + suffix for suffix in ("-wal", "-shm", "-journal")}:
        raise FileError(f"{target} belongs to the memory itself; choose another name for the export")


def write_file(target: str | Path, data: bytes, *, overwrite: bool = False) -> None:
    """Write a file that appears under its name only when it is whole. Raises FileError."""
    sink = _sink(target, overwrite)
    try:
        sink.open()
        sink.write(data)
        sink.finish()
    finally:
        sink.discard()


async def export_jsonl(
    engine: MemoryEngine,
    target: str | Path | BinaryIO,
    filter: MetaFilter | None = None,
    *,
    sandboxes: bool = False,
    overwrite: bool = False,
    page_size: int = _PAGE,
) -> AsyncGenerator[ExportProgress, None]:
    """Write every item that `filter` admits, one a line, and tell after each page and once the file is in place.

    A file appears under its name only when it is whole; one that is there already is kept unless `overwrite`. A
    stream is written as it goes. `sandboxes` also exports those below the filter's subtree.
    Raises Unsupported where the engine does not export, before anything is written; FileError for the file;
    EngineFailure for an engine that pages in a circle; and the engine's own errors.
    """
    pages = _pages(engine, filter or MetaFilter(), sandboxes, page_size)
    async with contextlib.aclosing(_write(pages, target, overwrite)) as steps:
        async for step in steps:
            yield step


async def export_named(
    engine: MemoryEngine,
    target: str | Path | BinaryIO,
    ids: Sequence[ItemId],
    reach: Reach | None = None,
    *,
    overwrite: bool = False,
) -> AsyncGenerator[ExportProgress, None]:
    """As `export_jsonl`, but the items named, in their order; those that are no longer there count as incomplete."""
    async with contextlib.aclosing(_write(_named(engine, ids, [reach]), target, overwrite)) as steps:
        async for step in steps:
            yield step


async def export_at(
    engine: MemoryEngine,
    target: str | Path | BinaryIO,
    ids: Sequence[ItemId],
    nodes: Collection[Namespace],
    *,
    overwrite: bool = False,
) -> AsyncGenerator[ExportProgress, None]:
    """As `export_named`, but wherever they are among `nodes`, sandboxes too; in any order."""
    by_id = len(ids) <= MAX_GET_IDS or type(engine).get_items is not MemoryEngine.get_items
    pages = _named(engine, ids, reaches(nodes)) if by_id else _listed_at(engine, ids, nodes)
    async with contextlib.aclosing(_write(pages, target, overwrite)) as steps:
        async for step in steps:
            yield step


async def _write(
    pages: AsyncGenerator[ExportPage, None], target: str | Path | BinaryIO, overwrite: bool
) -> AsyncGenerator[ExportProgress, None]:
    async with contextlib.AsyncExitStack() as stack:
        await stack.enter_async_context(contextlib.aclosing(pages))
        # The first page comes before the file: an engine that refuses leaves nothing behind.
        page = await anext(pages, None)
        sink = await asyncio.to_thread(_sink, target, overwrite)
        stack.callback(sink.discard)
        await asyncio.to_thread(sink.open)
        written = size = 0
        while page is not None:
            incomplete = list(page.incomplete)
            lines: list[bytes] = []
            for exported in page.items:
                try:
                    lines.append(dump_item(exported.item).encode("utf-8") + b"\n")
                except UnicodeEncodeError:  # half of a surrogate pair: what is written could not be the item
                    incomplete.append(exported.id)
            data = b"".join(lines)
            await asyncio.to_thread(sink.write, data)
            written += len(lines)
            size += len(data)
            yield ExportProgress(written, size, tuple(incomplete))
            page = await anext(pages, None)
        await asyncio.to_thread(sink.finish)
        yield ExportProgress(written, size, is_done=True)


async def _named(
    engine: MemoryEngine, ids: Sequence[ItemId], reaches: Sequence[Reach | None]
) -> AsyncGenerator[ExportPage, None]:
    """Each item is looked for under one reach after the other."""
    for start in range(0, len(ids), MAX_GET_IDS):
        missing = dict.fromkeys(ids[start : start + MAX_GET_IDS])
        found: list[Exported] = []
        for reach in reaches:
            for each in await engine.get_items(GetRequest(ids=list(missing), reach=reach)) if missing else []:
                if each.id in missing:
                    del missing[each.id]
                    found.append(each)
        yield ExportPage(items=found, incomplete=list(missing))


async def _listed_at(
    engine: MemoryEngine, ids: Sequence[ItemId], nodes: Collection[Namespace]
) -> AsyncGenerator[ExportPage, None]:
    """For an engine that finds an item by its id only in listings: each node is listed once."""
    missing = dict.fromkeys(ids)
    for node in nodes:
        async with contextlib.aclosing(export_pages(engine, MetaFilter(reach=Reach.exact(node)))) as listing:
            async for page in listing:
                found = [each for each in page.items if each.id in missing]
                for each in found:
                    missing.pop(each.id, None)
                yield ExportPage(items=list({each.id: each for each in found}.values()))
        if not missing:
            return
    yield ExportPage(items=[], incomplete=list(missing))


async def _pages(
    engine: MemoryEngine, filter: MetaFilter, sandboxes: bool, page_size: int
) -> AsyncGenerator[ExportPage, None]:
    async with contextlib.aclosing(export_pages(engine, filter, page_size)) as listing:
        async for page in listing:
            yield page
    if sandboxes:
        for root, _ in await sandbox_roots(engine, filter):
            below = filter.model_copy(update={"reach": Reach.subtree(root)})
            async with contextlib.aclosing(export_pages(engine, below, page_size)) as listing:
                async for page in listing:
                    yield page


async def export_pages(
    engine: MemoryEngine, filter: MetaFilter, page_size: int = _PAGE
) -> AsyncGenerator[ExportPage, None]:
    """The pages of an export to its very end. Raises EngineFailure where it has none, and the engine's errors."""
    cursor: str | None = None
    seen: set[str] = set()
    empty = 0
    while True:
        page = await engine.export(ListRequest(filter=filter, limit=page_size, cursor=cursor))
        yield page
        cursor = page.next_cursor
        if cursor is None:
            return
        # An empty page is legal where an engine filters after reading; one after the other without end is not.
        empty = 0 if page.items or page.incomplete else empty + 1
        if cursor in seen or empty > _MAX_EMPTY_PAGES:
            raise EngineFailure(
                f"engine `{engine.descriptor().id}` never came to the end of its export: it repeats a page; "
                "nothing was kept, since items may be missing"
            )
        seen.add(cursor)


class _Sink(Protocol):
    def open(self) -> None: ...

    def write(self, data: bytes) -> None: ...

    def finish(self) -> None:
        """Put what was written in place."""

    def discard(self) -> None:
        """Leave nothing behind, unless it is finished. May come while another thread is in one of the others."""


class _Stream:
    """The standard output, a pipe, a device: written as it goes."""

    def __init__(self, target: BinaryIO | Path) -> None:
        self._target = target
        self._own: BinaryIO | None = None

    def open(self) -> None:
        if isinstance(self._target, Path):
            try:
                self._own = self._target.open("wb")
            except OSError as error:
                raise FileError(f"cannot write {self._target}: {why(error)}") from error

    def write(self, data: bytes) -> None:
        stream = self._own if isinstance(self._target, Path) else self._target
        assert stream is not None
        try:
            write_all(stream, data)
            stream.flush()
        except BrokenPipeError:
            raise  # whoever reads has seen enough: not a failure to tell of
        except OSError as error:
            raise FileError(f"cannot write the export: {why(error)}") from error

    def finish(self) -> None:
        """Nothing is left to do: the last write was flushed."""

    def discard(self) -> None:
        if self._own is not None:
            with contextlib.suppress(OSError):
                self._own.close()


class _File:
    """A temporary file beside the target, which takes its place when it is whole."""

    def __init__(self, path: Path, overwrite: bool) -> None:
        self._path = path
        self._overwrite = overwrite
        self._file: BinaryIO | None = None
        self._temporary = ""
        # A thread cannot be cancelled: it may still make the file, or put it in place, when the export is given up.
        self._lock = threading.Lock()
        self._is_discarded = False

    def open(self) -> None:
        with self._lock:
            if self._is_discarded:
                return
            if not self._overwrite and os.path.lexists(self._path):
                raise self._taken()
            try:
                handle, self._temporary = tempfile.mkstemp(
                    prefix=f".{self._path.name[:50]}-", suffix=".tmp", dir=self._path.parent
                )
            except OSError as error:
                raise FileError(f"cannot write {self._path}: {why(error)}") from error
            self._file = os.fdopen(handle, "wb")

    def write(self, data: bytes) -> None:
        assert self._file is not None
        try:
            self._file.write(data)
        except OSError as error:
            raise FileError(f"cannot write {self._path}: {why(error)}") from error

    def finish(self) -> None:
        with self._lock:
            if self._is_discarded:
                return
            assert self._file is not None
            try:
                self._file.flush()
                os.fsync(self._file.fileno())
                self._file.close()
                self._put_in_place()
            except OSError as error:
                raise FileError(f"cannot write {self._path}: {why(error)}") from error
            self._temporary = ""

    def _put_in_place(self) -> None:
        if self._overwrite:
            with contextlib.suppress(FileNotFoundError):
                shutil.copymode(self._path, self._temporary)
            os.replace(self._temporary, self._path)
            return
        try:
            os.link(self._temporary, self._path)  # which, unlike a rename, never overwrites
        except FileExistsError:
            raise self._taken() from None
        except OSError:  # a file system without links
            if os.path.lexists(self._path):
                raise self._taken() from None
            os.replace(self._temporary, self._path)
        else:
            os.unlink(self._temporary)

    def discard(self) -> None:
        with self._lock:
            self._is_discarded = True
            if self._file is not None:
                with contextlib.suppress(OSError):
                    self._file.close()
            if self._temporary:
                with contextlib.suppress(OSError):
                    os.unlink(self._temporary)

    def _taken(self) -> FileError:
        return FileError(f"{self._path} is there already; choose another name, or overwrite it on purpose")


def _sink(target: str | Path | BinaryIO, overwrite: bool) -> _Sink:
    if not isinstance(target, (str, Path)):
        return _Stream(target)
    try:
        path = Path(os.path.realpath(target))  # a link stays one: what it points to is replaced
    except ValueError as error:
        raise FileError(f"cannot write {target}: {why(error)}") from error
    try:
        mode = path.stat().st_mode
    except OSError:
        return _File(path, overwrite)
    if stat.S_ISDIR(mode):
        raise FileError(f"cannot write {path}: it is a folder")
    return _File(path, overwrite) if stat.S_ISREG(mode) else _Stream(path)
