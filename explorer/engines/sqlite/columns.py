"""The items' fields in memory: columns of dictionary codes that filters, counts and orders run over.

A row is an arrival number; rows of removed items stay as holes. The file's `fac` and `dict` tables are the truth, and
`sync` brings the columns to what a snapshot of the file holds. Strings stay in the file until they are asked for.
"""

from __future__ import annotations

import heapq
import sqlite3
from collections.abc import Iterable, Sequence
from contextlib import nullcontext
from functools import partial

import numpy as np
import numpy.typing as npt

from explorer.engines.sqlite import facts, schema, segments
from explorer.engines.sqlite.cores import on_cores
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import MISSING, SINGLE, Field
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.segments import FIRST_TAGS, Array, Block, smallest_type

Rows = npt.NDArray[np.int64]
Mask = npt.NDArray[np.bool_]

_Chosen = tuple[Rows, Mask]
"""Some rows, ascending, and the mask that has just them."""

_WORKING = 32
"""Bytes a row that a search or a count of facets works in."""
_MOST_KEPT = (1 << 25) - (1 << 13)
"""Bytes of the largest piece that is kept by glibc, with its head."""
_LINE = 64
"""Bytes at multiples of which columns begin."""
_PIECE = 1 << 16
"""Numbers that are counted at once."""
_STRINGS_KEPT = 4_096
_ASKED_AT_ONCE = 500
_FEW_TIES = 256
"""Strings beyond those wanted that are compared one by one, without a rank."""
_MOST_WALKED = 4_096
"""Strings that are walked in order, where this may find the wanted ones without ranking all."""
_RANKED_LATE = 256
"""New strings, besides a 64th, that may come before all are ranked anew."""


class Growing:
    """A column that grows at its end, an eighth at a time; new rows are zero."""

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
            # To the very size at first: what is opened to be read need not grow.
            larger = np.zeros(max(size, len(self._held) + len(self._held) // 8), self._held.dtype)
            larger[: self._size] = self._held[: self._size]
            self._held = larger
        self._size = max(size, self._size)

    def begin_in(self, memory: Array) -> None:
        """Have the rows, of which there are none yet, in zeros of the right type."""
        self._held = memory
        self._size = len(memory)

    def put(self, first: int, values: Array) -> None:
        """Set the rows from `first` on."""
        self._held[first : first + len(values)] = values

    def append(self, values: Array) -> None:
        held = self._size
        self.grow_to(held + len(values))
        self.put(held, values)


class Numbers(Growing):
    """Numbers from 0, in the smallest type that holds them."""

    def __init__(self) -> None:
        super().__init__(smallest_type(0))

    def fit(self, largest: int) -> None:
        if largest > np.iinfo(self._held.dtype).max:
            self._held = self._held.astype(smallest_type(largest))

    def put(self, first: int, values: Array) -> None:
        if values.itemsize > self._held.itemsize:
            self.fit(int(values.max(initial=0)))
        super().put(first, values)


def _begin_together(columns: Sequence[Growing], size: int) -> None:
    """As many rows in each of these columns that have none yet, all in one piece of memory: in large pieces, a system
    gives out large pages, of which the first touch takes a fraction of the time.
    """
    widths = [column.values.itemsize for column in columns]
    starts = np.cumsum([0] + [-(-size * width // _LINE) * _LINE for width in widths]).tolist()
    memory = np.zeros(starts[-1], np.uint8)
    # What is made while these columns are gone through should not come from the system anew each time, page by page,
    # which takes longer than the work: the C library of Linux keeps pieces as large as one that was free before.
    np.empty(min(_WORKING * size, _MOST_KEPT), np.uint8)
    for column, start, width in zip(columns, starts, widths, strict=False):
        column.begin_in(memory[start : start + size * width].view(column.values.dtype))


class Tags:
    """The codes of each row's tags: the first ones in a column each, further ones in a list of pairs."""

    def __init__(self) -> None:
        self.first = [Numbers() for _ in range(FIRST_TAGS)]
        """Code 0 where a row has fewer."""
        self._more_rows = Growing(np.uint32)
        self._more = Numbers()

    @property
    def more_rows(self) -> Array:
        """The rows that have further tags, once for each of them, ascending."""
        return self._more_rows.values

    @property
    def more(self) -> Array:
        """The codes of the further tags."""
        return self._more.values

    def add(self, start: int, block: Block) -> None:
        """Set the rows from `start` on, which were not set before."""
        for column, codes in zip(self.first, block.tags, strict=True):
            column.put(start, codes)
        self._more_rows.append(start + block.more_rows.astype(np.int64))
        self._more.append(block.more_tags)

    def more_of(self, mask: Mask) -> Array:
        """The codes of the further tags of some rows."""
        return self.more.compress(mask.take(self.more_rows))


class Dictionary:
    """The strings of one field by code, read from the file as they are asked for. Code 0 is no value."""

    def __init__(self, field: Field) -> None:
        self._field = field
        self._kept: dict[int, str] = {}
        self._ranks: Array = np.zeros(0, np.uint32)
        self.size = 1
        """Codes that were given out so far; those whose string is no longer used stay as holes."""

    def code(self, conn: sqlite3.Connection, value: str) -> int:
        """The code of a string, MISSING when no item uses it."""
        row = conn.execute("SELECT code FROM dict WHERE field = ? AND value = ?", (self._field, value)).fetchone()
        if row is None:
            return MISSING
        if row[0] >= self.size:
            raise Contradiction(f"a {self._field.name.lower()} has a number that was never given out")
        return int(row[0])

    def strings(self, conn: sqlite3.Connection, codes: Sequence[int]) -> list[str]:
        """The strings of `codes`, in order. Raises Contradiction where one is missing."""
        unknown = [code for code in codes if code not in self._kept]
        if len(self._kept) + len(unknown) > _STRINGS_KEPT:
            self._kept.clear()
            unknown = list(codes)
        for start in range(0, len(unknown), _ASKED_AT_ONCE):
            asked = unknown[start : start + _ASKED_AT_ONCE]
            self._kept.update(
                conn.execute(
                    f"SELECT code, value FROM dict WHERE field = ? AND code IN ({','.join('?' * len(asked))})",
                    (self._field, *asked),
                ).fetchall()
            )
        try:
            return [self._kept[code] for code in codes]
        except KeyError:
            raise no_string(self._field) from None

    def smallest(self, conn: sqlite3.Connection, codes: Array, count: int) -> list[int]:
        """The `count` of `codes`, all of which have strings, whose strings come first, in order."""
        if len(codes) > count + (0 if len(self._ranks) else _FEW_TIES):
            walked = None if len(self._ranks) else self._first_by_walking(conn, codes, count)
            if walked is not None:
                return walked
            self._rank(conn, _RANKED_LATE + len(self._ranks) // 64)
            # Strings that came since the ranks were made are few: they compete by themselves.
            is_ranked = codes < len(self._ranks)
            ranked, late = codes[is_ranked], codes[~is_ranked]
            if len(ranked) > count:
                ranked = ranked[np.argpartition(self._ranks[ranked], count - 1)[:count]]
            codes = np.concatenate([ranked, late])
        held: list[int] = codes.tolist()
        pairs = zip(self.strings(conn, held), held, strict=True)
        return [code for _, code in heapq.nsmallest(count, pairs)]

    def _first_by_walking(self, conn: sqlite3.Connection, codes: Array, count: int) -> list[int] | None:
        """As `smallest`, by walking all strings in order; None where `codes` are not met soon."""
        steps = 4 * count * self.size // len(codes) + 64
        if steps > _MOST_WALKED:
            return None
        is_wanted = np.zeros(self.size, np.bool_)
        is_wanted[codes] = True
        met = self._in_order(conn, steps)
        found: list[int] = met[is_wanted[met]][:count].tolist()
        return found if len(found) == count else None

    def ranks(self, conn: sqlite3.Connection) -> Array:
        """By code, the place of its string among all strings in order; 0 where it has none."""
        self._rank(conn, 0)
        return self._ranks

    def _rank(self, conn: sqlite3.Connection, late: int) -> None:
        """Bring the ranks of the strings to what the file holds, but for the `late` newest."""
        if self.size - len(self._ranks) <= late:
            return
        codes = self._in_order(conn, self.size)
        self._ranks = np.zeros(self.size, np.uint32)
        self._ranks[codes] = np.arange(len(codes), dtype=np.uint32)

    def _in_order(self, conn: sqlite3.Connection, count: int) -> Array:
        """The codes of the `count` first strings, in order."""
        ordered = "SELECT code FROM dict WHERE field = ? AND code < ? ORDER BY value LIMIT ?"
        return _numbers(conn, f"SELECT group_concat(code) FROM ({ordered})", (self._field, self.size, count))

    def below(self, conn: sqlite3.Connection, folder: str) -> Array:
        """The codes of the strings that begin with `folder` and a slash."""
        codes = _numbers(
            conn,
            "SELECT group_concat(code) FROM dict WHERE field = ? AND value >= ? AND value < ?",
            (self._field, folder + "/", folder + "0"),  # 0 is the character after the slash
        )
        return codes[codes < self.size]


def _numbers(conn: sqlite3.Connection, query: str, values: Sequence[object]) -> Array:
    """What a query that joins numbers to one text finds; a row of its own for each would take three times as long."""
    (text,) = conn.execute(query, values).fetchone()
    return np.fromstring(text or "", np.int64, sep=",")


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
        self.codes: dict[Field, Numbers] = {field: Numbers() for field in SINGLE}
        self.seconds = Growing(np.int64)
        self.nanoseconds = Numbers()
        self.lengths = Numbers()
        self.tags = Tags()
        self.dictionaries: dict[Field, Dictionary] = {field: Dictionary(field) for field in Field}
        self.living = 0
        """Rows that are no holes."""
        self._tokens = 0
        self._counts: dict[Field, Growing] = {}

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
        return max(1.0, self._tokens / max(1, self.living))

    def counts(self, field: Field) -> Array:
        """How often each code of a field occurs among the items, with the items without a tag under code 0.

        Counted once, then kept up.
        """
        self.count_all([field])
        return self._counts[field].values

    def count_all(self, fields: Iterable[Field]) -> None:
        """Have the `counts` of these fields; many are counted together in less time than one by one."""
        fields = [field for field in dict.fromkeys(fields) if field not in self._counts]
        if not fields:
            return
        counted = self._count_each(fields, None)
        holes = ~self.alive.values
        removed = self.count_each(fields, np.flatnonzero(holes), holes) if self.living < self.rows else {}
        for field, every in counted.items():
            counts = self._counts[field] = Growing(np.int32)
            counts.append(every - removed[field] if removed else every)

    def count_each(self, fields: Iterable[Field], rows: Rows, mask: Mask) -> dict[Field, Array]:
        """As `counts`, among some rows, which are those of `mask`; arrays of the caller's own."""
        return self._count_each(fields, (rows, mask))

    def _count_each(self, fields: Iterable[Field], chosen: _Chosen | None) -> dict[Field, Array]:
        """As `count_each`; all rows, the holes too, where none are chosen."""
        # What takes longest first.
        each = sorted(set(fields), key=lambda field: (field is Field.TAG, self.dictionaries[field].size), reverse=True)
        rows = self.rows if chosen is None else len(chosen[0])
        counted = on_cores([partial(self._count_field, field, chosen) for field in each], rows * len(each))
        return dict(zip(each, counted, strict=True))

    def _count_field(self, field: Field, chosen: _Chosen | None) -> Array:
        size = self.dictionaries[field].size
        rows = None if chosen is None else chosen[0]
        if field is not Field.TAG:
            return _count(self.codes[field].values, size, rows)
        first, *others = (_count(column.values, size, rows) for column in self.tags.first)
        missing = first[MISSING]
        for counts in others:
            first += counts
        first += _count(self.tags.more if chosen is None else self.tags.more_of(chosen[1]), size, None)
        first[MISSING] = missing
        return first

    def _mask_of(self, rows: Rows) -> Mask:
        mask = np.zeros(self.rows, np.bool_)
        mask[rows] = True
        return mask

    def sync(self, conn: sqlite3.Connection) -> State:
        """Become what the snapshot of `conn` holds; costs one small query when nothing changed.

        Raises Contradiction where the file contradicts itself.
        """
        state = State.read(conn)
        if (state.uid, state.generation) == (self.uid, self.generation):
            return state
        is_follower = self.uid == state.uid and self._is_past(conn, state)
        if not is_follower:
            self.clear()
        try:
            self._read_sizes(conn, state)
            if is_follower:
                self._drop_removed(conn)
            self._add_new(conn, state.next_id)
        except BaseException:
            self.clear()  # half brought up to date is worse than empty: the next call begins anew
            raise
        self.uid, self.generation = state.uid, state.generation
        return state

    def _is_past(self, conn: sqlite3.Connection, state: State) -> bool:
        """Whether the log begins at this generation or before; it may be of a file that is no longer this one."""
        if self.generation == state.log_floor:
            return True
        row = conn.execute("SELECT 1 FROM gone WHERE generation = ?", (self.generation,)).fetchone()
        return row is not None

    def _read_sizes(self, conn: sqlite3.Connection, state: State) -> None:
        sizes = facts.next_codes(conn, state)
        for field, dictionary in self.dictionaries.items():
            size = sizes[field]
            if size < dictionary.size:
                raise facts.senseless_codes(field)
            dictionary.size = size
            for column in self.tags.first if field is Field.TAG else [self.codes[field]]:
                column.fit(size - 1)

    def _drop_removed(self, conn: sqlite3.Connection) -> None:
        logged = conn.execute("SELECT ids FROM gone WHERE generation > ?", (self.generation,)).fetchall()
        if any(type(ids) is not bytes or len(ids) % 8 for (ids,) in logged):
            raise Contradiction("a record of removed items has the wrong size")
        rows = np.frombuffer(b"".join(ids for (ids,) in logged), "<i8")
        rows = rows[(rows >= 0) & (rows < self.rows)]  # others came and went since
        rows = rows[self.alive.values[rows]]
        self.alive.values[rows] = False
        self._tokens -= int(self.lengths.values[rows].sum(dtype=np.int64))
        self.living -= len(rows)
        self._keep_counts(rows, -1)

    def _add_new(self, conn: sqlite3.Connection, next_id: int) -> None:
        first = self.rows
        further = len(self.tags.more)
        with segments.few_pages(conn) if next_id - first >= schema.SEGMENT else nullcontext():
            for start, block in segments.read(conn, first, next_id):
                self._make_room(next_id, block)
                self._put(start, block)
        self._make_room(next_id, None)
        for field, column in self.codes.items():
            self._check_codes(field, column.values[first:])
        for column in self.tags.first:
            self._check_codes(Field.TAG, column.values[first:])
        self._check_codes(Field.TAG, self.tags.more[further:])
        (last,) = conn.execute("SELECT max(id) FROM fac").fetchone()
        if last is not None and last >= next_id:
            raise Contradiction("a record of fields has the wrong size or place")
        if self._counts:
            self._keep_counts(first + np.flatnonzero(self.alive.values[first:]), 1)

    def _make_room(self, rows: int, block: Block | None) -> None:
        """Have as many rows, in columns that need not change their type for those of a block."""
        if rows == self.rows:
            return
        columns = (self.alive, self.seconds, *self.codes.values(), self.nanoseconds, self.lengths, *self.tags.first)
        if self.rows:
            for column in columns:
                column.grow_to(rows)
            return
        if block is not None:
            self.nanoseconds.fit(np.iinfo(block.nanoseconds.dtype).max)
            self.lengths.fit(np.iinfo(block.lengths.dtype).max)
        _begin_together(columns, rows)

    def _check_codes(self, field: Field, codes: Array) -> None:
        if int(codes.max(initial=0)) >= self.dictionaries[field].size:
            raise no_string(field)

    def _keep_counts(self, rows: Rows, change: int) -> None:
        for field, counts in self._counts.items():
            counts.grow_to(self.dictionaries[field].size)
            if field is not Field.TAG:
                np.add.at(counts.values, self.codes[field].values.take(rows), change)
                continue
            first, *others = (column.values.take(rows) for column in self.tags.first)
            for codes in (first, *(codes[codes != MISSING] for codes in others)):
                np.add.at(counts.values, codes, change)
            np.add.at(counts.values, self.tags.more_of(self._mask_of(rows)), change)

    def _put(self, start: int, block: Block) -> None:
        for field, codes in zip(SINGLE, block.codes, strict=True):
            self.codes[field].put(start, codes)
        self.tags.add(start, block)
        self.alive.put(start, block.alive)
        self.seconds.put(start, block.seconds)
        self.nanoseconds.put(start, block.nanoseconds)
        self.lengths.put(start, block.lengths)
        self._tokens += int(block.lengths.sum(dtype=np.int64))
        self.living += int(np.count_nonzero(block.alive))


def _count(codes: Array, size: int, rows: Rows | None) -> Array:
    """How often each number below `size` is among `codes`, or among those of some rows."""
    total = len(codes) if rows is None else len(rows)
    counts = None
    # What is counted is widened first, which is faster in pieces that the processor keeps at hand.
    step = _PIECE if size <= _PIECE else max(total, 1)
    for start in range(0, total, step):
        piece = codes[start : start + step] if rows is None else codes.take(rows[start : start + step])
        found = np.bincount(piece, minlength=size)
        counts = found if counts is None else np.add(counts, found, out=counts)
    return np.zeros(size, np.int64) if counts is None else counts


def no_string(field: Field) -> Contradiction:
    """The error for a code whose string is missing."""
    return Contradiction(f"an item has a {field.name.lower()} that no string belongs to")
