"""The vectors of items and of their passages as the file keeps them: how they come in, and how they go.

An item's vector is the mean direction of its passages' vectors, in whole numbers of 8 bits: only directions count. The
passages' own are kept where there are several, in 4 bits. The signs of the items' vectors are kept again by segment,
for the search that begins with them. All vectors that count are of one model, which `Made` names.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.engines.sqlite import schema
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.passages import Span

Vector = npt.NDArray[np.float32]
"""Of unit length."""
Bytes = npt.NDArray[np.uint8]

FORM = 1
"""Of passages and their vectors, as they are made now. Vectors of another form are made anew, as of another model."""

_GAP = 256
"""Items without a vector, beyond which those that are stored from now on do not wait for them."""
_LEVELS = 16
_STEP = 0.35
"""Of the levels of 4 bits, in root mean squares of a vector: the least error for numbers of a normal spread."""
_SPAN = np.dtype([("start", "<u4"), ("stop", "<u4")])


@dataclass(frozen=True, slots=True)
class Made:
    """Which model made the vectors, and of which rows: those below `low`, and those from `high` up to `top`.

    The rows from `top` on get theirs next. Then those from `high` down to `low`, the newest first: what was there when
    the model changed, or when search by meaning was first asked for. They may hold vectors of the model before, which
    nothing reads. An item without any meaning, such as a blank one, has a vector without numbers.
    """

    name: str
    dims: int
    form: int
    epoch: int
    """Grows with each change of the model."""
    low: int
    high: int
    top: int

    @classmethod
    def read(cls, conn: sqlite3.Connection) -> Made | None:
        """None before the first vector."""
        row = conn.execute(
            "SELECT name, dims, form, epoch, low, high, top, (SELECT next_id FROM state) FROM model"
        ).fetchone()
        if row is None:
            return None
        name, *numbers, next_id = row
        is_sane = type(name) is str and all(type(number) is int for number in (*numbers, next_id))
        made = cls(name, *numbers)
        if (
            not is_sane
            or not 0 < made.dims < 1 << 16
            or not 0 <= made.epoch < schema.MOST_COUNTED
            or not 0 <= made.low <= made.high <= made.top <= next_id
        ):
            raise Contradiction(
                "what it says of its vectors makes no sense; `tinymemory check --repair` makes that anew"
            )
        return made

    def write(self, conn: sqlite3.Connection) -> None:
        values = (self.name, self.dims, self.form, self.epoch, self.low, self.high, self.top)
        conn.execute("INSERT OR REPLACE INTO model VALUES(1, ?, ?, ?, ?, ?, ?, ?)", values)

    def is_by(self, name: str, dims: int) -> bool:
        """Whether vectors of that model can be compared with these; 0 dimensions are not known yet."""
        return (self.name, self.form) == (name, FORM) and dims in (0, self.dims)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """The rows whose vectors count, where there are any, ascending and apart."""
        if self.low == self.high:
            return [(0, self.top)] if self.top else []
        return [pair for pair in ((0, self.low), (self.high, self.top)) if pair[0] < pair[1]]

    def covers(self, first: int, stop: int) -> bool:
        return any(start <= first and stop <= end for start, end in self.ranges)

    def covers_each(self, rows: npt.NDArray[np.int64]) -> npt.NDArray[np.bool_]:
        return (rows < self.low) | ((rows >= self.high) & (rows < self.top))


@dataclass(frozen=True, slots=True)
class Work:
    """Rows to make vectors for: from `first` up to `stop`, with the payloads of the items there, the next first."""

    made: Made
    first: int
    stop: int
    items: list[tuple[int, bytes]]

    @property
    def is_older(self) -> bool:
        return self.stop <= self.made.high

    def before(self, row: int) -> Work:
        """What comes before a row in this work."""
        return replace(self, first=row + 1) if self.is_older else replace(self, stop=row)


@dataclass(frozen=True, slots=True)
class Passages:
    """The passages of one item that have a vector, in order."""

    spans: Sequence[Span]
    vectors: npt.NDArray[np.float32]
    """A row for each span, of unit length."""
    is_only: bool
    """Whether the item has no other passage, with a vector or without."""


# --- upkeep, inside the caller's transaction ---


def due(made: Made | None, name: str, dims: int, next_id: int) -> Made | None:
    """What the file is to say before a model gives it more vectors; None where that may stay as it is."""
    if made is None or not made.is_by(name, dims):
        start = next_id if next_id > _GAP else 0
        return Made(name, dims, FORM, 1 if made is None else made.epoch + 1, 0, start, start)
    if made.low == made.high and next_id - made.top > _GAP:
        return replace(made, low=made.top, high=next_id, top=next_id)
    return None


def begin(conn: sqlite3.Connection, name: str, dims: int) -> Made | None:
    """Make the model the one whose vectors count. Those of another do not from now on, and are replaced bit by bit.

    What the file said of those; None where there were none.
    """
    before = Made.read(conn)
    wanted = due(before, name, dims, schema.State.read(conn).next_id)
    if wanted is not None:
        wanted.write(conn)
    return None if before is None or before.is_by(name, dims) else before


def find_new(conn: sqlite3.Connection, made: Made, most: int, most_bytes: int) -> Work | None:
    """The next items stored since: so many, or fewer where their payloads are large; None where all have vectors."""
    next_id = schema.State.read(conn).next_id
    return _find(conn, made, made.top, next_id, "ASC", most, most_bytes) if made.top < next_id else None


def find_older(conn: sqlite3.Connection, made: Made, most: int, most_bytes: int) -> Work | None:
    """As `find_new`, of the items that were there before, the last first."""
    return _find(conn, made, made.low, made.high, "DESC", most, most_bytes) if made.low < made.high else None


def _find(conn: sqlite3.Connection, made: Made, first: int, stop: int, order: str, most: int, most_bytes: int) -> Work:
    query = f"SELECT id, payload FROM item WHERE id >= ? AND id < ? ORDER BY id {order}"
    items: list[tuple[int, bytes]] = []
    size = 0
    for id, payload in conn.execute(query, (first, stop)):
        items.append((id, payload))
        size += len(payload)
        if len(items) == most or size >= most_bytes:
            first, stop = (first, id + 1) if order == "ASC" else (id, stop)
            break
    return Work(made, first, stop, items)


def add(conn: sqlite3.Connection, work: Work, found: Mapping[int, Passages]) -> bool:
    """Keep the vectors of what is still there; False where another process was first, or changed the model."""
    made = Made.read(conn)
    if made is None or made.epoch != work.made.epoch:
        return False
    if work.first <= made.top < work.stop:
        first, stop = made.top, work.stop
        made = replace(made, top=stop)
    elif made.low <= work.first < made.high <= work.stop:
        first, stop = work.first, made.high
        made = replace(made, high=first)
    else:
        return False
    made.write(conn)
    for table in ("vec", "pvec"):
        conn.execute(f"DELETE FROM {table} WHERE id >= ? AND id < ?", (first, stop))
    for (id,) in conn.execute("SELECT id FROM fac WHERE id >= ? AND id < ?", (first, stop)).fetchall():
        passages = found.get(id)
        vector = None if passages is None else joined(passages, made.dims)
        # Without numbers where there is no meaning, so that a row that is not there is known to be lost.
        conn.execute("INSERT INTO vec VALUES(?, ?)", (id, b"" if vector is None else vector.tobytes()))
        if passages is not None and vector is not None and not passages.is_only:
            conn.execute("INSERT INTO pvec VALUES(?, ?)", (id, pack_passages(passages)))
    for segment in range(first // schema.SEGMENT, (stop - 1) // schema.SEGMENT + 1):
        _write_signs(conn, made, segment)
    return True


def remove(conn: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Delete the vectors of removed rows, ascending."""
    for table in ("vec", "pvec"):
        conn.executemany(f"DELETE FROM {table} WHERE id = ?", [(id,) for id in ids])
    segments: dict[int, list[int]] = {}
    for id in ids:
        segments.setdefault(id // schema.SEGMENT, []).append(id % schema.SEGMENT)
    for segment, places in segments.items():
        if conn.execute("SELECT 1 FROM vbits WHERE seg = ?", (segment,)).fetchone() is None:
            continue
        with conn.blobopen("vbits", "data", segment) as blob:
            width = len(blob) // schema.SEGMENT  # of the model that made them, which may be the one before
            for place in places:
                blob.seek(place * width)
                blob.write(bytes(width))


def rebuild(conn: sqlite3.Connection) -> None:
    """Make anew what is derived from the items' vectors."""
    conn.execute("DELETE FROM vbits")
    made = Made.read(conn)
    if made is not None:
        held = conn.execute("SELECT DISTINCT id / ? FROM vec WHERE id < ?", (schema.SEGMENT, made.top))
        for (segment,) in held.fetchall():
            _write_signs(conn, made, segment)


def _write_signs(conn: sqlite3.Connection, made: Made, segment: int) -> None:
    """Keep the signs of a segment, once all its vectors are there."""
    first, stop = segment * schema.SEGMENT, (segment + 1) * schema.SEGMENT
    if made.covers(first, stop):
        conn.execute(
            "INSERT OR REPLACE INTO vbits VALUES(?, ?)", (segment, signs_of_rows(conn, made, first, stop).tobytes())
        )


def joined(passages: Passages, dims: int) -> npt.NDArray[np.int8] | None:
    """The vector of an item, of which only the direction counts; None where its passages say nothing together."""
    if passages.vectors.shape != (len(passages.spans), dims):
        raise RuntimeError(f"{len(passages.spans)} passages do not go with vectors of {passages.vectors.shape}")
    mean = passages.vectors.sum(axis=0)
    largest = float(np.abs(mean).max(initial=0.0))
    return np.rint(mean * (127 / largest)).astype(np.int8) if largest > 1e-6 else None


# --- what the bytes mean ---


def signs_of_rows(conn: sqlite3.Connection, made: Made, first: int, stop: int) -> Bytes:
    """The signs of the rows' vectors, (rows, bytes); zero where there is none."""
    rows, vectors = read_vectors(conn, "WHERE id >= ? AND id < ?", (first, stop), made.dims)
    signs = np.zeros((stop - first, sign_bytes(made.dims)), np.uint8)
    signs[rows - first] = pack_signs(vectors)
    return signs


def read_vectors(
    conn: sqlite3.Connection, where: str, values: Sequence[int], dims: int
) -> tuple[npt.NDArray[np.int64], npt.NDArray[np.int8]]:
    """Rows that have one, ascending, and their vectors; of each, only the direction counts."""
    found = conn.execute(f"SELECT id, data FROM vec {where} AND data <> x'' ORDER BY id", values).fetchall()
    data = b"".join([row[1] for row in found])
    if len(data) != len(found) * dims:
        raise Contradiction("a vector in it has the wrong size")
    return np.array([row[0] for row in found], np.int64), np.frombuffer(data, np.int8).reshape(-1, dims)


def sign_bytes(dims: int) -> int:
    """Bytes of a vector's signs: whole words of 64 bits."""
    return (dims + 63) // 64 * 8


def pack_signs(vectors: npt.NDArray[Any]) -> Bytes:
    """One bit a number, set where it is above zero; each row padded with zeros to whole words."""
    bits = np.packbits(vectors > 0, axis=1, bitorder="little")
    return np.pad(bits, ((0, 0), (0, sign_bytes(vectors.shape[1]) - bits.shape[1])))


def pack_passages(passages: Passages) -> bytes:
    spans = np.array(list(passages.spans), _SPAN)
    vectors = passages.vectors
    step = _STEP * np.sqrt(np.square(vectors).mean(axis=1, keepdims=True))
    codes = np.clip(np.floor(vectors / np.maximum(step, 1e-12)) + _LEVELS // 2, 0, _LEVELS - 1).astype(np.uint8)
    half = (codes.shape[1] + 1) // 2
    packed = codes[:, :half].copy()
    packed[:, : codes.shape[1] - half] |= codes[:, half:] << 4
    data: bytes = spans.tobytes() + packed.tobytes()
    return data


def unpack_passages(data: bytes, dims: int) -> tuple[npt.NDArray[np.uint32], npt.NDArray[np.float32]]:
    """Starts and stops, (n, 2), and vectors, (n, dims), of which only the directions count."""
    half = (dims + 1) // 2
    count = len(data) // (_SPAN.itemsize + half)
    if not count or len(data) != count * (_SPAN.itemsize + half):
        raise Contradiction("the vectors of an item's passages have the wrong size")
    spans = np.frombuffer(data, "<u4", 2 * count).reshape(-1, 2)
    packed = np.frombuffer(data, np.uint8, offset=count * _SPAN.itemsize).reshape(-1, half)
    codes = np.concatenate([packed & 15, packed[:, : dims - half] >> 4], axis=1)
    return spans, codes.astype(np.float32) - np.float32((_LEVELS - 1) / 2)
