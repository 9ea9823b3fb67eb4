"""The columns of rows that follow one another, and how the file keeps those of full segments.

Opening a large file reads the blobs of `cols` instead of every record; `fac` stays the truth. A blob is a head (rows,
further tags, then the width in bytes of each column but the first two), followed by the columns of `Block` in their
order, little-endian.
"""

from __future__ import annotations

import io
import sqlite3
import struct
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from itertools import groupby
from typing import Any, Self

import numpy as np
import numpy.typing as npt

from explorer.engines.sqlite import schema
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import RECORD, SINGLE
from explorer.engines.sqlite.schema import State

Array = npt.NDArray[Any]

FIRST_TAGS = 4
"""Tags of a row that have a column each. Most items have no more; what is read by row is many times faster."""

_WIDTHS = (1, 2, 4)
_NARROW = len(SINGLE) + 2 + FIRST_TAGS + 2
"""Columns whose width differs by segment: all but the first two."""
_HEAD = struct.Struct(f"<II{_NARROW}B")
_FEW_PAGES = 100
_SLOTS = 256
"""Removed rows of a segment up to which each slot is written by itself, which leaves most pages as they are."""


def smallest_type(largest: int) -> np.dtype[Any]:
    """The unsigned type of the fewest bytes, of at most 4, that holds `largest`."""
    return next(dtype for width in _WIDTHS if largest <= np.iinfo(dtype := np.dtype(f"<u{width}")).max)


@dataclass(frozen=True, slots=True)
class Block:
    """The columns of rows that follow one another; all that a hole has is 0."""

    alive: Array
    seconds: Array
    codes: Sequence[Array]
    """Of the fields in SINGLE."""
    nanoseconds: Array
    lengths: Array
    """Tokens of the text."""
    tags: Sequence[Array]
    """The codes of each row's first FIRST_TAGS tags."""
    more_rows: Array
    """The rows that have further tags, counted from the block's first, once for each of them, ascending."""
    more_tags: Array
    """The codes of the further tags."""

    @property
    def _narrow(self) -> Sequence[Array]:
        return (*self.codes, self.nanoseconds, self.lengths, *self.tags, self.more_rows, self.more_tags)

    @classmethod
    def of_records(cls, conn: sqlite3.Connection, first: int, stop: int) -> Self:
        """The rows `first` to `stop` (not included) by their records. Raises Contradiction where one is damaged."""
        found = conn.execute(
            "SELECT id, rec, tags FROM fac WHERE id >= ? AND id < ? ORDER BY id", (first, stop)
        ).fetchall()
        ids, records, tags = zip(*found, strict=True) if found else ((), (), ())
        if any(type(record) is not bytes or len(record) != RECORD.itemsize for record in records):
            raise Contradiction("a record of fields has the wrong size")
        sizes = np.fromiter(map(len, tags), np.int64, len(tags))
        if (sizes % 4).any() or any(type(record) is not bytes for record in tags):
            raise Contradiction("a record of tags has the wrong size")
        at = np.array(ids, np.int64) - first
        held = np.frombuffer(b"".join(records), RECORD)
        counts = sizes // 4
        codes = np.frombuffer(b"".join(tags), "<u4")
        starts = np.cumsum(counts) - counts
        is_further = np.arange(len(codes)) - np.repeat(starts, counts) >= FIRST_TAGS

        def spread(values: Array) -> Array:
            column = np.zeros(stop - first, values.dtype)
            column[at] = values
            return column

        def nth_tag(number: int) -> Array:
            column = np.zeros(stop - first, codes.dtype)
            has_it = counts > number
            column[at[has_it]] = codes[starts[has_it] + number]
            return column

        return cls(
            alive=spread(np.ones(len(at), np.bool_)),
            seconds=spread(held["seconds"]),
            codes=[spread(held["codes"][:, position]) for position in range(len(SINGLE))],
            nanoseconds=spread(held["nanoseconds"]),
            lengths=spread(held["length"]),
            tags=[nth_tag(number) for number in range(FIRST_TAGS)],
            more_rows=np.repeat(at, np.maximum(counts - FIRST_TAGS, 0)),
            more_tags=codes[is_further],
        )

    @classmethod
    def of_bytes(cls, data: bytes) -> Self:
        """What `to_bytes` made. Raises Contradiction where it did not make it."""
        return cls._read(io.BytesIO(data).read, len(data))

    @classmethod
    def of_blob(cls, blob: sqlite3.Blob) -> Self:
        """As `of_bytes`. Column by column, since a piece that is read must not be so large that its memory is new."""
        return cls._read(blob.read, len(blob))

    @classmethod
    def _read(cls, read: Callable[[int], bytes], size: int) -> Self:
        layout = _Layout.read(read(_HEAD.size), size)
        alive, seconds, *narrow, more_rows, more_tags = (
            np.frombuffer(read(column.size), column.dtype) for column in layout.columns
        )
        is_held = more_tags != 0  # the others were removed
        if int(more_rows.max(initial=0)) >= len(alive):
            raise _damaged()
        codes, (nanoseconds, lengths, *tags) = narrow[: len(SINGLE)], narrow[len(SINGLE) :]
        return cls(alive, seconds, codes, nanoseconds, lengths, tags, more_rows[is_held], more_tags[is_held])

    def to_bytes(self) -> bytes:
        narrow = [column.astype(smallest_type(int(column.max(initial=0)))) for column in self._narrow]
        head = _HEAD.pack(len(self.alive), len(self.more_rows), *(column.itemsize for column in narrow))
        columns = (self.alive, self.seconds.astype("<i8"), *narrow)
        return head + b"".join(column.tobytes() for column in columns)

    def is_same(self, other: Block) -> bool:
        """Whether all rows have the same."""
        columns = (self.alive, self.seconds, *self._narrow)
        return all(map(np.array_equal, columns, (other.alive, other.seconds, *other._narrow)))


@dataclass(frozen=True, slots=True)
class _Column:
    """Where a blob holds a column: its first byte, and how many values of which type."""

    start: int
    count: int
    dtype: np.dtype[Any]

    @property
    def size(self) -> int:
        return self.count * self.dtype.itemsize


@dataclass(frozen=True, slots=True)
class _Layout:
    columns: Sequence[_Column]
    """As in `Block`, in that order."""

    @classmethod
    def read(cls, data: bytes, size: int) -> Self:
        """The layout of a blob of `size` bytes that begins with `data`. Raises Contradiction where it does not fit."""
        if len(data) < _HEAD.size:
            raise _damaged()
        rows, further, *widths = _HEAD.unpack_from(data)
        if rows != schema.SEGMENT or not set(widths) <= set(_WIDTHS):
            raise _damaged()
        columns: list[_Column] = []
        start = _HEAD.size
        for dtype in (np.dtype(np.bool_), np.dtype("<i8"), *(np.dtype(f"<u{width}") for width in widths)):
            column = _Column(start, rows if len(columns) < _NARROW else further, dtype)
            columns.append(column)
            start += column.size
        if start != size:
            raise _damaged()
        return cls(columns)


def read(conn: sqlite3.Connection, first: int, stop: int) -> Iterator[tuple[int, Block]]:
    """The rows `first` to `stop` (not included) in blocks, each after the number of its first row, ascending.

    Blocks without any items are left out. Raises Contradiction where the file contradicts itself.
    """
    size = schema.SEGMENT
    kept = conn.execute("SELECT seg FROM cols WHERE seg >= ? ORDER BY seg", (-(-first // size),)).fetchall()
    for (segment,) in kept:
        if (segment + 1) * size > stop:
            raise _damaged()
        yield from _read_records(conn, first, segment * size)
        with conn.blobopen("cols", "data", segment, readonly=True) as blob:  # which copies once less than a query
            block = Block.of_blob(blob)
        yield segment * size, block
        first = (segment + 1) * size
    yield from _read_records(conn, first, stop)


@contextmanager
def few_pages(conn: sqlite3.Connection) -> Iterator[None]:
    """For reading many columns, each once: a cache that they fill takes twice as long as one that is full already."""
    (kept,) = conn.execute("PRAGMA cache_size").fetchone()
    conn.execute(f"PRAGMA cache_size = {_FEW_PAGES}")
    try:
        yield
    finally:
        conn.execute(f"PRAGMA cache_size = {kept}")


def _read_records(conn: sqlite3.Connection, first: int, stop: int) -> Iterator[tuple[int, Block]]:
    # Not block by block where there are no records, of which a damaged file may have any number.
    while (held := _next_record(conn, first, stop)) is not None:
        first = held - (held - first) % schema.SEGMENT
        yield first, Block.of_records(conn, first, min(first + schema.SEGMENT, stop))
        first += schema.SEGMENT


def is_due(conn: sqlite3.Connection) -> bool:
    """Whether `step` has something to do. Segments are written in order, so it is enough to look at the last one."""
    full = State.read(conn).next_id // schema.SEGMENT
    return full > 0 and _is_missing(conn, full - 1)


def step(conn: sqlite3.Connection) -> bool:
    """Write the columns of the next full segment; False where none is due."""
    written = {segment for (segment,) in conn.execute("SELECT seg FROM cols")}
    first, next_id = 0, State.read(conn).next_id
    while (held := _next_record(conn, first, next_id - next_id % schema.SEGMENT)) is not None:
        segment = held // schema.SEGMENT
        first, stop = segment * schema.SEGMENT, (segment + 1) * schema.SEGMENT
        if segment not in written:
            data = Block.of_records(conn, first, stop).to_bytes()
            conn.execute("INSERT INTO cols VALUES(?, ?)", (segment, data))
            return True
        first = stop
    return False


def clear(conn: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Zero the slots of removed rows, ascending."""
    for segment, members in groupby(ids, lambda id: id // schema.SEGMENT):
        if conn.execute("SELECT 1 FROM cols WHERE seg = ?", (segment,)).fetchone() is not None:
            rows = np.fromiter(members, np.int64) - segment * schema.SEGMENT
            with conn.blobopen("cols", "data", segment) as blob:
                is_worth_keeping = _zero(blob, rows)
            if not is_worth_keeping:
                conn.execute("DELETE FROM cols WHERE seg = ?", (segment,))


def _next_record(conn: sqlite3.Connection, first: int, stop: int) -> int | None:
    """The first row from `first` on that has a record, None where there is none below `stop`."""
    (held,) = conn.execute("SELECT min(id) FROM fac WHERE id >= ? AND id < ?", (first, stop)).fetchone()
    return None if held is None else int(held)


def _is_missing(conn: sqlite3.Connection, segment: int) -> bool:
    """Whether a full segment has no columns in the file although it has items."""
    first = segment * schema.SEGMENT
    (is_missing,) = conn.execute(
        "SELECT NOT EXISTS(SELECT 1 FROM cols WHERE seg = ?) AND EXISTS(SELECT 1 FROM fac WHERE id >= ? AND id < ?)",
        (segment, first, first + schema.SEGMENT),
    ).fetchone()
    return bool(is_missing)


def _zero(blob: sqlite3.Blob, rows: Array) -> bool:
    """Zero all that rows of a segment have; False, with nothing done, where nothing but zeros would be left."""

    def load(column: _Column) -> Array:
        blob.seek(column.start)
        return np.frombuffer(blob.read(column.size), column.dtype).copy()

    def drop(column: _Column, places: Array) -> None:
        if len(places) > _SLOTS:
            values = load(column)
            values[places] = 0
            blob.seek(column.start)
            blob.write(values.tobytes())
            return
        for place in places.tolist():
            blob.seek(column.start + place * column.dtype.itemsize)
            blob.write(bytes(column.dtype.itemsize))

    try:
        layout = _Layout.read(blob.read(_HEAD.size), len(blob))
    except Contradiction:
        return False  # of a damaged blob nothing can be found to zero; what it held is in `fac`
    alive, *others, more_rows, more_tags = layout.columns
    living = load(alive)
    living[rows] = False
    if not living.any():
        return False
    further = np.flatnonzero(np.isin(load(more_rows), rows))
    for column in (more_rows, more_tags):
        drop(column, further)
    for column in (alive, *others):
        drop(column, rows)
    return True


def _damaged() -> Contradiction:
    return Contradiction("the columns of a segment have the wrong size")
