"""A way back from a removal: what would go, exported, read back and counted before anything goes."""

from __future__ import annotations

import asyncio
import contextlib
import os
import re
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field
from pathlib import Path

from explorer.contract import InvalidRequest, ItemId, MemoryEngine, parse_item
from explorer.engines.os_errors import why
from explorer.removal.preview import Preview
from explorer.transfer import FileError, export_at, open_source, refuse_memory
from explorer.transfer.lines import LineReader

_LINES = 200
_BATCH_BYTES = 8 << 20
_OWN_ID = re.compile(r"[0-9a-f]{40}")


class Lost(FileError):
    """The file of a way back is gone, or is no longer the one that was read back."""


@dataclass(frozen=True, slots=True)
class WayBack:
    """A file that was read back: `items` of it are exactly those that would go, but for `incomplete`."""

    path: Path
    items: int
    size_bytes: int
    incomplete: tuple[ItemId, ...] = ()
    """Items that the engine holds only part of, or that none would take back: the file does not bring them back."""
    mark: tuple[int, ...] = field(default=(), compare=False)
    """Of the file as it was read: which one it is, its size and when it was written last."""

    def look_again(self) -> None:
        """Raises Lost where the file is gone, or was changed since it was read back. Touches the disk."""
        try:
            now = _mark(os.stat(self.path))
        except OSError as error:
            raise Lost(f"the export {self.path} is no way back any more: {why(error)}; export again") from error
        if now != self.mark:
            raise Lost(f"the export {self.path} was changed since it was read back; export again")


@dataclass(frozen=True, slots=True)
class Export:
    """How far it is: items written, or read back; `done` at the end."""

    written: int = 0
    read_back: int = 0
    done: WayBack | None = None


async def export_first(
    engine: MemoryEngine, preview: Preview, path: Path, *, overwrite: bool = False
) -> AsyncGenerator[Export, None]:
    """Export the previewed items by id, read the file back, and compare ids.

    Raises Unsupported where the engine does not export, FileError for the file or where it does not hold what it
    should, and the engine's errors.
    """
    path = await asyncio.to_thread(_place, path, getattr(engine, "path", None))
    written = 0
    incomplete: list[ItemId] = []
    export = export_at(engine, path, list(preview.ids), list(preview.nodes), overwrite=overwrite)
    async with contextlib.aclosing(export) as steps:
        async for step in steps:
            written = step.written
            incomplete += step.incomplete
            yield Export(written)
    # Without its paths an item is another one, of an id that nobody can tell before.
    reading = _ReadBack(path, preview, incomplete, keeps_ids=engine.descriptor().keeps_paths)
    async with contextlib.AsyncExitStack() as stack:
        reader = await asyncio.to_thread(reading.open)
        stack.callback(reading.close)
        while await asyncio.to_thread(reading.read_on, reader):
            yield Export(written, reading.items)
    yield Export(written, reading.items, reading.held())


def _place(path: Path, database: str | None) -> Path:
    """The absolute path. Raises FileError for the memory's own file, and for what could not be read back."""
    refuse_memory(path, database)
    if os.path.exists(path) and not os.path.isfile(path):  # a pipe, a device
        raise FileError(f"{path} is no file that could be read back; choose another name")
    return Path(os.path.abspath(path))


def _mark(about: os.stat_result) -> tuple[int, ...]:
    return about.st_dev, about.st_ino, about.st_size, about.st_mtime_ns


class _ReadBack:
    """A file of items against what it should hold: every id made anew from what the file says."""

    def __init__(self, path: Path, preview: Preview, incomplete: list[ItemId], *, keeps_ids: bool) -> None:
        self.items = 0
        self._keeps_ids = keeps_ids
        self._path = path
        self._incomplete = incomplete
        self._missing = dict.fromkeys(preview.ids)
        for id in incomplete:
            self._missing.pop(id, None)
        self._strange = 0
        self._size = 0

    def open(self) -> LineReader:
        self._stream = open_source(self._path)
        self._mark = _mark(os.fstat(self._stream.fileno()))
        return LineReader(self._stream)

    def close(self) -> None:
        self._stream.close()

    def read_on(self, reader: LineReader) -> bool:
        """Some more lines; False at the end. Raises FileError for one that is no item, or is there twice."""
        try:
            lines = reader.next_batch(_LINES, _BATCH_BYTES)
        except OSError as error:
            raise FileError(f"cannot read back {self._path}: {why(error)}") from error
        for at, line in lines:
            try:
                item = parse_item(line)
            except InvalidRequest as error:
                raise self._fault(f"line {at} is no item: {error.text[:200]}") from error
            id = item.fingerprint()
            try:
                item.check()
            except InvalidRequest:  # held, but no engine takes it back
                self._missing.pop(id, None)
                self._incomplete.append(id)
                continue
            self.items += 1
            if id in self._missing:
                del self._missing[id]
            else:
                self._strange += 1
        self._size = reader.done_bytes
        return bool(lines)

    def held(self) -> WayBack:
        """Raises FileError where the file does not hold exactly what it should."""
        # An engine may give ids of its own, which no item says; then as many others have to be there.
        is_own = not (self._keeps_ids and any(map(_OWN_ID.fullmatch, self._missing)))
        if len(self._missing) != self._strange or not is_own:
            raise self._fault(f"{len(self._missing)} of its items are missing, and {self._strange} are others")
        return WayBack(self._path, self.items, self._size, tuple(self._incomplete), self._mark)

    def _fault(self, what: str) -> FileError:
        return FileError(f"{self._path} does not hold what would go, so it is no way back: {what}")
