"""The items whose vectors are nearest to a query's: by their signs in memory, then by the vectors in the file.

First stage: signs of both, as Hamming distance. Second: the query's numbers over the items' signs. Third: the vectors.
Each keeps a few of what the one before found. The sizes were measured on real texts, with 256 numbers a vector: of
870,000 short ones all three found 0.99 of the true ten nearest, of 60,000 of 1,900 characters asked for with a few
words as much.
"""

from __future__ import annotations

import sqlite3
from collections.abc import Sequence
from itertools import pairwise

import numpy as np
import numpy.typing as npt

from explorer.engines.sqlite import schema, vectors
from explorer.engines.sqlite.columns import Mask, Rows
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.vectors import Bytes, Made, Vector

Scores = npt.NDArray[np.float32]
Signs = npt.NDArray[np.uint64]

BestPassage = tuple[float, int, int]
"""Cosine, and the characters `start` to `stop` (not included) of the item's rendered text."""

_BY_SIGNS = 16_000
"""Rows that the first stage keeps."""
_READ = 1_000
"""Rows whose vectors the third stage reads, at least; and four for each that is asked for."""
_SPARSE = 16
"""Where fewer rows than one in so many are asked about, only theirs are looked at."""
_AT_ONCE = 500
"""Rows to read from the file with one statement."""
_FAR = np.uint16(0xFFFF)


class VectorIndex:
    """The vectors of one file. Not thread-safe, as the columns beside it.

    Of the vectors themselves only the signs are in memory: an eighth of a byte for each number, once the first search
    has read them.
    """

    def __init__(self, name: str | None) -> None:
        """`name`: of the embedder that makes the queries' vectors; vectors of another are no use. None for none."""
        self._name = name
        self._made: Made | None = None
        self.clear()

    def clear(self) -> None:
        """Begin anew at the next `sync`."""
        self._uid = b""
        self._made = None
        self._forget_signs()

    def _forget_signs(self) -> None:
        self._loaded: list[tuple[int, int]] = []
        self._signs: list[Signs] = []  # of each segment, (words, rows)

    def sync(self, conn: sqlite3.Connection, state: State) -> None:
        """Become what the snapshot of `conn` holds, as far as that costs no more than one small query."""
        made = None if self._name is None else Made.read(conn)
        if made is not None and not made.is_by(self._name or "", 0):
            made = None
        before = self._made
        if made is None or before is None or state.uid != self._uid or made.epoch != before.epoch:
            self._forget_signs()
        self._uid, self._made = state.uid, made

    @property
    def version(self) -> tuple[int, ...]:
        """Differs whenever other rows have vectors, removed rows apart."""
        made = self._made
        return () if made is None else (made.epoch, made.low, made.high, made.top)

    @property
    def ranges(self) -> list[tuple[int, int]]:
        """Rows that have a vector, where they have any meaning: pairs of the first and the one after the last."""
        return [] if self._made is None else self._made.ranges

    @property
    def top(self) -> int:
        """Rows from here on were stored after the last that got a vector."""
        return 0 if self._made is None else self._made.top

    def covered(self, rows: int) -> Mask:
        """Which of so many rows the search knows; the others have no vector of the present model yet."""
        mask = np.zeros(rows, np.bool_)
        for first, stop in self.ranges:
            mask[first:stop] = True
        return mask

    def nearest(self, conn: sqlite3.Connection, query: Vector, mask: Mask, limit: int) -> tuple[Rows, Scores]:
        """The `limit` rows of `mask` nearest to a query, nearest first, ties to the later stored; and their cosines.

        None for a query without meaning (all zero), or of other dimensions than the vectors.
        """
        if not self._fits(query):
            return np.zeros(0, np.int64), np.zeros(0, np.float32)
        self._load(conn)
        read = max(_READ, 4 * limit)
        rows = self._by_signs(query, mask, max(_BY_SIGNS, 2 * read))
        if len(rows) > read:
            scores = self._estimates(rows, query)
            rows = rows[np.argpartition(scores, len(rows) - read)[len(rows) - read :]]
        rows, cosines = self._read(conn, rows, query)
        best = np.lexsort((rows, cosines))[::-1][:limit]
        return rows[best], cosines[best]

    def cosines(self, conn: sqlite3.Connection, rows: Rows, query: Vector) -> Scores:
        """How near each row is, from -1 to 1; 0 where there is no vector."""
        scores = np.zeros(len(rows), np.float32)
        if self._fits(query):
            found, cosines = self._read(conn, rows, query)
            order = np.argsort(rows, kind="stable")
            scores[order[np.searchsorted(rows, found, sorter=order)]] = cosines
        return scores

    def best_passages(self, conn: sqlite3.Connection, rows: Rows, query: Vector) -> list[BestPassage | None]:
        """The passage of each row that is nearest; None for an item of one passage, whose cosine is the item's."""
        best: list[BestPassage | None] = [None] * len(rows)
        made = self._made
        if made is None or not self._fits(query):
            return best
        places, spans, passages = [], [], []
        for place in np.flatnonzero(made.covers_each(rows)).tolist():
            found = conn.execute("SELECT data FROM pvec WHERE id = ?", (int(rows[place]),)).fetchone()
            if found is not None:
                of_one, codes = vectors.unpack_passages(found[0], made.dims)
                places.append(place)
                spans.append(of_one)
                passages.append(codes)
        if places:
            cosines = _cosines(np.concatenate(passages), query)
            start = 0
            for place, of_one in zip(places, spans, strict=True):
                nearest = int(cosines[start : start + len(of_one)].argmax())
                best[place] = (float(cosines[start + nearest]), int(of_one[nearest, 0]), int(of_one[nearest, 1]))
                start += len(of_one)
        return best

    def _fits(self, query: Vector) -> bool:
        return self._made is not None and query.shape == (self._made.dims,) and bool(query.any())

    # --- the signs ---

    def _load(self, conn: sqlite3.Connection) -> None:
        """Read the signs of rows that got their vectors since."""
        made = self._made
        assert made is not None  # as `_fits` found
        size = schema.SEGMENT
        words = vectors.sign_bytes(made.dims) // 8
        while len(self._signs) * size < made.top:
            self._signs.append(np.zeros((words, size), np.uint64))
        for first, stop in _without(made.ranges, self._loaded):
            for segment in range(first // size, (stop - 1) // size + 1):
                start, end = max(first, segment * size), min(stop, (segment + 1) * size)
                signs = self._kept_signs(conn, segment, made) if end - start == size else None
                if signs is None:
                    signs = vectors.signs_of_rows(conn, made, start, end)
                self._signs[segment][:, start - segment * size : end - segment * size] = signs.view(np.uint64).T
        self._loaded = made.ranges

    def _kept_signs(self, conn: sqlite3.Connection, segment: int, made: Made) -> Bytes | None:
        row = conn.execute("SELECT data FROM vbits WHERE seg = ?", (segment,)).fetchone()
        if row is None or len(row[0]) != schema.SEGMENT * vectors.sign_bytes(made.dims):
            return None
        return np.frombuffer(row[0], np.uint8).reshape(schema.SEGMENT, -1)

    def _by_signs(self, query: Vector, mask: Mask, count: int) -> Rows:
        """The `count` rows of `mask` whose signs differ least from the query's, and those as near; ascending."""
        words = vectors.pack_signs(query[np.newaxis]).view(np.uint64)[0]
        size = schema.SEGMENT
        distances = np.full(min(len(mask), len(self._signs) * size), _FAR)
        for first, stop in self._loaded:
            for segment in range(first // size, (stop - 1) // size + 1):
                start, end = max(first, segment * size), min(stop, (segment + 1) * size, len(distances))
                if start < end:
                    signs = self._signs[segment][:, start - segment * size : end - segment * size]
                    _measure(signs, words, mask[start:end], distances[start:end])
        cut = _cut(distances, count, 64 * len(words))
        return np.flatnonzero(distances <= cut)

    def _estimates(self, rows: Rows, query: Vector) -> Scores:
        """What the products of the query and the rows' vectors are like, where of these only the signs are known."""
        size = schema.SEGMENT
        words = len(self._signs[0])
        signs = np.empty((words, len(rows)), np.uint64)
        bounds = np.searchsorted(rows, np.arange(len(self._signs) + 1) * size).tolist()
        for segment, (start, end) in enumerate(pairwise(bounds)):
            if start < end:
                self._signs[segment].take(
                    rows[start:end] - segment * size, axis=1, out=signs[:, start:end], mode="clip"
                )
        # A table for each byte of signs: the sum of the query's numbers that its bits select.
        numbers = np.pad(query, (0, 64 * words - len(query))).reshape(-1, 8)
        bits = np.unpackbits(np.arange(256, dtype=np.uint8)[:, np.newaxis], axis=1, bitorder="little")
        sums = numbers @ bits.astype(np.float32).T
        scores = np.zeros(len(rows), np.float32)
        by_byte = signs.view(np.uint8).reshape(words, len(rows), 8).transpose(0, 2, 1).reshape(8 * words, len(rows))
        for table, codes in zip(sums, by_byte, strict=True):
            scores += table.take(codes)
        return scores

    # --- the vectors ---

    def _read(self, conn: sqlite3.Connection, rows: Rows, query: Vector) -> tuple[Rows, Scores]:
        """Those of the rows that have a vector, ascending, and their cosines."""
        made = self._made
        assert made is not None  # as `_fits` found
        rows = np.unique(rows)
        rows = rows[made.covers_each(rows)]
        found: list[Rows] = [np.zeros(0, np.int64)]
        cosines: list[Scores] = [np.zeros(0, np.float32)]
        for start in range(0, len(rows), _AT_ONCE):
            part = rows[start : start + _AT_ONCE].tolist()
            marks = ",".join("?" * len(part))
            those, held = vectors.read_vectors(conn, f"WHERE id IN ({marks})", part, made.dims)
            found.append(those)
            cosines.append(_cosines(held.astype(np.float32), query))
        return np.concatenate(found), np.concatenate(cosines)


def _measure(signs: Signs, query: Signs, mask: Mask, distances: npt.NDArray[np.uint16]) -> None:
    """Put the Hamming distances of the rows of `mask` into `distances`."""
    admitted = np.count_nonzero(mask)
    if not admitted:
        return
    picked: Rows | None = np.flatnonzero(mask) if admitted * _SPARSE < len(mask) else None
    total = np.zeros(len(mask) if picked is None else admitted, np.uint16)
    for row, word in zip(signs, query, strict=True):
        total += np.bitwise_count((row if picked is None else row[picked]) ^ word)
    if picked is not None:
        distances[picked] = total
    else:
        # 0 for a row of the mask, and all bits for another, which is `_FAR`; quicker than to choose between two.
        np.bitwise_or(total, np.subtract(mask.view(np.uint8), 1, dtype=np.uint16), out=distances)


def _cut(distances: npt.NDArray[np.uint16], count: int, most: int) -> int:
    """The least distance that no fewer than `count` rows do not exceed; `most` where there are not so many rows."""
    within = np.bincount(distances, minlength=most + 1)[: most + 1].cumsum()
    return min(int(np.searchsorted(within, count)), most)


def _cosines(rows: npt.NDArray[np.float32], query: Vector) -> Scores:
    """Of rows of any length, and a query of any."""
    lengths = np.sqrt(np.einsum("ij,ij->i", rows, rows)) * np.float32(np.linalg.norm(query))
    scores: Scores = (rows @ query) / np.maximum(lengths, np.float32(1e-12))
    return scores


def _without(ranges: Sequence[tuple[int, int]], taken: Sequence[tuple[int, int]]) -> list[tuple[int, int]]:
    """The parts of the ranges that are not in others; both ascending and apart."""
    left = list(ranges)
    for start, end in taken:
        left = [
            part
            for first, stop in left
            for part in ((first, min(stop, start)), (max(first, end), stop))
            if part[0] < part[1]
        ]
    return left
