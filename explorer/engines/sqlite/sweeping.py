"""Zeroing what SQLite leaves of rows that it moved.

`secure_delete` overwrites a row where it is deleted. But balancing a tree moves rows from page to page, and where a
page has to be packed anew (`rebuildPage` in btree.c), copies of what was on it may stay in the unused bytes between its
pointers and its content. No later delete reaches them, only VACUUM of the whole file: measured with SQLite 3.40, about
one deleted row in a thousand can still be read after a truncating checkpoint.

So these bytes are zeroed in the file itself. SQLite never reads them. The caller holds the lock for writing, with an
empty log: all pages are in the file then, nobody writes, and the commit that follows makes every process read anew.
"""

from __future__ import annotations

import os
import struct
from collections.abc import Iterable
from dataclasses import dataclass

from explorer.engines.sqlite.location import Location

_LOG_HEAD = 32
_FRAME_HEAD = 24
_HEAD = 100  # of the file, at the beginning of page 1
_INTERIOR = (2, 5)
_LEAF = (10, 13)
_MOST_PAGES = 0x02000000
"""From here on (128 GiB) a page that is no part of a tree may begin like one."""
_PAGES_AT_ONCE = 256


@dataclass(frozen=True, slots=True)
class Log:
    """What lies in the write-ahead log."""

    pages: frozenset[int]
    """Numbers of the pages in it."""
    commits: int
    """Transactions in it."""


def read_log(location: Location) -> Log:
    """The pages in the log, some that were never committed among them. SQLite holds no lock on this file."""
    pages = set()
    commits = 0
    try:
        log = open(location.beside("-wal"), "rb", buffering=0)  # noqa: SIM115
    except OSError:
        return Log(frozenset(), 0)
    with log:
        head = log.read(_LOG_HEAD)
        if len(head) == _LOG_HEAD:
            (page_size,) = struct.unpack_from(">I", head, 8)
            at = _LOG_HEAD
            while len(frame := log.read(_FRAME_HEAD)) == _FRAME_HEAD:
                page, size = struct.unpack_from(">II", frame)
                if frame[8:16] != head[16:24]:
                    break  # written before the log began anew
                pages.add(page)
                commits += size > 0
                at += _FRAME_HEAD + page_size
                log.seek(at)
    return Log(frozenset(pages), commits)


def sweep(location: Location, pages: Iterable[int] | None) -> None:
    """Zero the unused bytes of these pages of the file, or of all, for good. See above when this may be called."""
    raw = _Raw(location)
    page_size, count = raw.layout()
    if count >= _MOST_PAGES:
        return
    pages = range(1, count + 1) if pages is None else sorted(page for page in pages if 0 < page <= count)
    is_changed = False
    for first, stop in _runs(pages):
        offset = (first - 1) * page_size
        data = raw.read((stop - first) * page_size, offset)
        for at in range(0, len(data), page_size):
            begin, end = _unused(data[at : at + page_size], _HEAD if offset + at == 0 else 0)
            if data[at + begin : at + end] != bytes(end - begin):
                raw.write(bytes(end - begin), offset + at + begin)
                is_changed = True
    if is_changed:
        raw.sync()


def _runs(pages: Iterable[int]) -> Iterable[tuple[int, int]]:
    """Pages that follow one another, as first and stop, a limited number at once."""
    first = stop = 0
    for page in pages:
        if page == stop and stop - first < _PAGES_AT_ONCE:
            stop += 1
            continue
        if stop:
            yield first, stop
        first, stop = page, page + 1
    if stop:
        yield first, stop


def _unused(page: bytes, head: int) -> tuple[int, int]:
    """Where the unused bytes of a page of a tree begin and end, `head` bytes before its own header; (0, 0) else."""
    kind = page[head] if len(page) > head + 12 else 0
    if kind not in _INTERIOR and kind not in _LEAF:
        return 0, 0
    free, cells, content = struct.unpack_from(">HHH", page, head + 1)
    pointers = head + (12 if kind in _INTERIOR else 8)
    begin = pointers + 2 * cells
    if not begin <= content <= len(page) or 0 < free < content:
        return 0, 0
    if cells and min(struct.unpack_from(f">{cells}H", page, pointers)) < content:
        return 0, 0
    return begin, content


class _Raw:
    """The file's bytes."""

    def __init__(self, location: Location) -> None:
        self._handle = location.handle()

    def layout(self) -> tuple[int, int]:
        """Bytes in a page, and the number of pages."""
        (page_size,) = struct.unpack(">H", self.read(2, 16))
        page_size = 1 << 16 if page_size == 1 else page_size
        return page_size, os.fstat(self._handle).st_size // page_size

    def read(self, size: int, offset: int) -> bytes:
        os.lseek(self._handle, offset, os.SEEK_SET)
        return os.read(self._handle, size)

    def write(self, data: bytes, offset: int) -> None:
        os.lseek(self._handle, offset, os.SEEK_SET)
        os.write(self._handle, data)

    def sync(self) -> None:
        os.fsync(self._handle)
