"""The items' fields in memory: columns of dictionary codes that filters, counts and orders run over.

A row is an arrival number; rows of removed items stay as holes. The file's `fac` and `dict` tables are the truth, and
`sync` brings the columns to what a snapshot of the file holds.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Sequence
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.contract import InvalidRequest, Namespace
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import MISSING, RECORD, SINGLE, Field
from explorer.engines.sqlite.schema import State

Array = npt.NDArray[Any]
Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_BATCH = 20_000
_CODE_TYPES = (np.dtype(np.uint8), np.dtype(np.uint16), np.dtype(np.uint32))


class Growing:
    """A column that grows at its end by doubling; new rows are zero."""

    def __init__(self, dtype: npt.DTypeLike) -> None:
        self._held: Array = np.zeros(0, dtype)
        self._size = 0

    @property
    def values(self) -> Array:
        """All rows, as a view that is good until the next growth."""
        return self._held[: self._size]

    def __len__(self) -> int:
        return self._size

    def grow_to(self, size: int) -> None:
        if size > len(self._held):
            larger = np.zeros(max(size, 2 * len(self._held), 1024), self._held.dtype)
            larger[: self._size] = self._held[: self._size]
            self._held = larger
        self._size = size

    def append(self, values: Array) -> None:
        start = self._size
        self.grow_to(start + len(values))
        self._held[start : self._size] = values

    def put(self, rows: Rows, values: Array) -> None:
        self._held[rows] = values


class CodeColumn(Growing):
    """Dictionary codes in the smallest type that holds them."""

    def __init__(self) -> None:
        super().__init__(_CODE_TYPES[0])

    def put(self, rows: Rows, values: Array) -> None:
        largest = int(values.max(initial=0))
        if largest > np.iinfo(self._held.dtype).max:
            wider = next(kind for kind in _CODE_TYPES if largest <= np.iinfo(kind).max)
            self._held = self._held.astype(wider)
        super().put(rows, values)


class Dictionary:
    """The strings of one field by code. Code 0 is no value; a code whose string is no longer used reads as ''."""

    def __init__(self) -> None:
        self.values: list[str] = [""]
        self._rank: Array = np.zeros(0, np.uint32)
        self._namespaces: list[Namespace] = []

    def __len__(self) -> int:
        return len(self.values)

    def load(self, conn: sqlite3.Connection, field: Field) -> None:
        """Add the strings of codes not known yet."""
        found = conn.execute(
            "SELECT code, value FROM dict WHERE field = ? AND code >= ? ORDER BY code", (field, len(self.values))
        )
        for code, value in found:
            self.values += [""] * (code - len(self.values))
            self.values.append(value)

    def smallest(self, codes: Array, count: int) -> list[int]:
        """The `count` of `codes` whose strings come first, in order."""
        if len(codes) <= 4 * count + 64:
            return heapq.nsmallest(count, codes.tolist(), key=self.values.__getitem__)
        new = len(self.values) - len(self._rank)
        if new > 256 + len(self._rank) // 16:
            order = sorted(range(len(self.values)), key=self.values.__getitem__)
            self._rank = np.zeros(len(order), np.uint32)
            self._rank[order] = np.arange(len(order), dtype=np.uint32)
        # Strings that came since the ranks were made are few: they compete by themselves.
        ranked = codes[codes < len(self._rank)]
        if len(ranked) > count:
            ranked = ranked[np.argpartition(self._rank[ranked], count - 1)[:count]]
        late = codes[codes >= len(self._rank)]
        return heapq.nsmallest(count, [*ranked.tolist(), *late.tolist()], key=self.values.__getitem__)

    def namespaces(self) -> Sequence[Namespace]:
        """The strings as nodes; code 0 and unused codes read as the root."""
        for text in self.values[len(self._namespaces) :]:
            try:
                self._namespaces.append(Namespace.parse(text))
            except InvalidRequest as error:
                raise Contradiction(f"it names a node that is none ({error.text})") from error
        return self._namespaces


class Columns:
    """The mirror of one file. Not thread-safe: its owner holds a lock while it is read or brought up to date."""

    def __init__(self) -> None:
        self.epoch = 0
        """Grows whenever the columns are read anew; what was kept about their rows is void then."""
        self.clear()

    def clear(self) -> None:
        """Begin anew at the next `sync`."""
        self.epoch += 1
        self.uid = b""
        self.generation = -1
        self.alive = Growing(np.bool_)
        self.codes: dict[Field, CodeColumn] = {field: CodeColumn() for field in SINGLE}
        self.seconds = Growing(np.int64)
        self.nanoseconds = Growing(np.uint32)
        self.lengths = Growing(np.uint32)
        self.tag_rows = Growing(np.int64)
        self.tag_codes = Growing(np.uint32)
        self.is_tagged = Growing(np.bool_)
        self.dictionaries: dict[Field, Dictionary] = {field: Dictionary() for field in Field}
        self._largest = dict.fromkeys(Field, MISSING)
        self._average: tuple[int, float] = (-1, 0.0)

    @property
    def rows(self) -> int:
        """Rows, holes included."""
        return len(self.alive)

    @property
    def version(self) -> tuple[bytes, int]:
        """Differs whenever the items differ."""
        return self.uid, self.generation

    def average_length(self) -> float:
        """Mean number of tokens of the items, at least 1."""
        if self._average[0] != self.generation:
            lengths = self.lengths.values[self.alive.values]
            self._average = (self.generation, max(1.0, float(lengths.mean())) if len(lengths) else 1.0)
        return self._average[1]

    def sync(self, conn: sqlite3.Connection) -> State:
        """Become what the snapshot of `conn` holds; costs one small query when nothing changed.

        Raises Contradiction where the file contradicts itself.
        """
        state = State.read(conn)
        if (state.uid, state.generation) == (self.uid, self.generation):
            return state
        is_follower = self.uid == state.uid and state.log_floor <= self.generation < state.generation
        if not is_follower:
            self.clear()
        try:
            if is_follower:
                self._drop_removed(conn)
            self._add_new(conn, state.next_id)
            for field, next_code in conn.execute("SELECT field, next_code FROM field").fetchall():
                dictionary = self.dictionaries[Field(field)]
                if next_code > len(dictionary):
                    dictionary.load(conn, Field(field))
            self._check_codes()
        except BaseException:
            self.clear()  # half brought up to date is worse than empty: the next call begins anew
            raise
        self.uid, self.generation = state.uid, state.generation
        return state

    def _check_codes(self) -> None:
        for field, largest in self._largest.items():
            if largest >= len(self.dictionaries[field]):
                raise Contradiction(f"an item has a {field.name.lower()} that no string belongs to")

    def _drop_removed(self, conn: sqlite3.Connection) -> None:
        alive = self.alive.values
        for (ids,) in conn.execute("SELECT ids FROM gone WHERE generation > ?", (self.generation,)):
            removed = np.frombuffer(ids, "<i8")
            alive[removed[removed < len(alive)]] = False

    def _add_new(self, conn: sqlite3.Connection, next_id: int) -> None:
        found = conn.execute("SELECT id, rec, tags FROM fac WHERE id >= ? ORDER BY id", (self.rows,))
        self._grow_to(next_id)
        while batch := found.fetchmany(_BATCH):
            ids, records, tags = zip(*batch, strict=True)
            self._put(np.array(ids, np.int64), b"".join(records), tags)

    def _grow_to(self, rows: int) -> None:
        for column in (
            self.alive,
            *self.codes.values(),
            self.seconds,
            self.nanoseconds,
            self.lengths,
            self.is_tagged,
        ):
            column.grow_to(rows)

    def _put(self, rows: Rows, records: bytes, tags: Sequence[bytes]) -> None:
        if len(records) != len(rows) * RECORD.itemsize or rows[-1] >= self.rows:
            raise Contradiction("a record of fields has the wrong size")
        held = np.frombuffer(records, RECORD)
        for position, field in enumerate(SINGLE):
            codes = held["codes"][:, position]
            self.codes[field].put(rows, codes)
            self._largest[field] = max(self._largest[field], int(codes.max()))
        self.seconds.put(rows, held["seconds"])
        self.nanoseconds.put(rows, held["nanoseconds"])
        self.lengths.put(rows, held["length"])
        sizes = np.fromiter(map(len, tags), np.int64, len(tags))
        if (sizes % 4).any():
            raise Contradiction("a record of tags has the wrong size")
        counts = sizes // 4
        self.tag_rows.append(np.repeat(rows, counts))
        tag_codes = np.frombuffer(b"".join(tags), "<u4")
        self.tag_codes.append(tag_codes)
        self._largest[Field.TAG] = max(self._largest[Field.TAG], int(tag_codes.max(initial=0)))
        self.is_tagged.put(rows, counts > 0)
        self.alive.put(rows, np.ones(len(rows), np.bool_))


def code_of(conn: sqlite3.Connection, field: Field, value: str) -> int:
    """The code of a string, MISSING when no item uses it."""
    row = conn.execute("SELECT code FROM dict WHERE field = ? AND value = ?", (field, value)).fetchone()
    return MISSING if row is None else int(row[0])
