"""Comparing a file with itself: every index against the items, in one snapshot, whatever its size.

The items are the truth. What is in memory at once is bounded by one sealed run of words and by the codes of the file's
strings (8 bytes each), not by the number of items.
"""

from __future__ import annotations

import os
import sqlite3
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import dataclass
from enum import Enum
from functools import lru_cache
from typing import Any

import numpy as np

from explorer.engines.sqlite import schema
from explorer.engines.sqlite.connection import OpenedFile, Reader
from explorer.engines.sqlite.facts import Facts, is_next_code
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import MISSING, RECORD, SINGLE, Field
from explorer.engines.sqlite.location import Location
from explorer.engines.sqlite.payloads import read_payload
from explorer.engines.sqlite.postings import MOST_COUNTED, split_terms, unpack_posting
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.segments import Block
from explorer.engines.sqlite.tokens import Terms, index_terms
from explorer.engines.sqlite.vectors import Made, signs_of_rows, unpack_passages

EXAMPLES = 5
"""How many of the places of a problem are named."""

_BATCH = 500
_STEPS = 1_000_000  # of SQLite's machine, between two looks at whether to go on
_STRUCTURE_PROBLEMS = 20
_KNOWN_STRINGS = 1 << 16
_FIRST, _LAST = -(2**63), 2**63 - 1
_MOST_IN_RUN = 1 << 16  # a row's place in its run has 16 bits
_WORD = (1 << 64) - 1
# What one term adds to the sum of an item by how often it occurs: odd, so that no bit of the term's hash is lost.
_BY_COUNT = np.arange(MOST_COUNTED + 1, dtype=np.uint64) * np.uint64(0x9E3779B97F4A7C15) | np.uint64(1)

_LAYOUT = "SELECT name, sql FROM sqlite_master WHERE sql IS NOT NULL"
_ITEMS = (
    "SELECT item.id, fp, payload, rec, tags, terms, tf FROM item LEFT JOIN fac ON fac.id = item.id"
    " LEFT JOIN head ON head.id = item.id WHERE item.id >= ? AND item.id < ? ORDER BY item.id"
)

Progress = Callable[[str], None]
"""Told in words how far the work is, many times a second; an exception out of it stops the work, changing nothing."""


class Trouble(Enum):
    """What can be wrong, as the first part of a sentence that a number ends."""

    STRUCTURE = "faults in the structure of the SQLite file"
    LAYOUT = "tables or indexes that are not as this version makes them"
    UNREADABLE = "parts that cannot be read to their end"
    STATE = "contradictions in what the file says of itself"
    CONTENT = "items whose content cannot be read"
    FINGERPRINT = "items whose content is not that of their id: changed by another program, or damaged"
    NO_RECORD = "items without a record of their fields, which lists and filters hide"
    RECORD = "items with a record of fields that differs from the item"
    NO_ITEM = "records of fields with no item"
    NO_STRING = "codes in records that no string belongs to"
    USES = "strings that are counted as used more or less often than they are"
    ORPHAN_STRING = "strings that no item uses"
    SAME_STRING = "strings that are there twice"
    WORDS = "items whose words in the index differ from their text, so that a search misses or misjudges them"
    ORPHAN_WORDS = "entries of the word index with no item"
    RUNS = "runs of the word index that are damaged, or do not follow one another"
    COLUMNS = "segments of columns that differ from the records"
    LOG = "entries of the log of removals that are damaged, or name an item that is held"
    VECTORS = "vectors that are damaged"
    NO_VECTOR = "items whose vector is missing, so that search by meaning does not find them"
    ORPHAN_VECTORS = "vectors with no item"
    SIGNS = "segments of vector signs that differ from the vectors"


@dataclass(frozen=True, slots=True)
class Problem:
    trouble: Trouble
    count: int
    examples: tuple[str, ...]
    """The first few places: ids of items where they are known, else what says most."""

    @property
    def text(self) -> str:
        """One sentence, without a full stop. Holds nothing that was stored."""
        named = ", ".join(self.examples) + (", ..." if self.count > len(self.examples) else "")
        return f"{self.trouble.value}: {self.count:,} ({named})"


@dataclass(frozen=True, slots=True)
class Checked:
    """What a check found."""

    items: int
    problems: tuple[Problem, ...]

    @property
    def is_clean(self) -> bool:
        return not self.problems

    def count_of(self, trouble: Trouble) -> int:
        return sum(problem.count for problem in self.problems if problem.trouble is trouble)


def check_file(path: str | os.PathLike[str], on_progress: Progress = lambda _: None) -> Checked:
    """Compare everything in the file at `path` with its items. Writes nothing.

    It reads one snapshot: programs that have the file open go on, but what they erase meanwhile leaves the file's log
    only when this ends. Raises as opening does: NotFound, ConfigError, EngineFailure, Unavailable.
    """
    location = Location(os.path.abspath(path), read_only=True)
    reader = Reader(OpenedFile(location), on_open=lambda: None)
    with closing(reader):
        return reader.run(lambda conn: check(conn, on_progress))


def check(conn: sqlite3.Connection, on_progress: Progress = lambda _: None) -> Checked:
    """As `check_file`, of the snapshot or transaction that `conn` is in."""
    return _Check(conn, on_progress).run()


class _Check:
    def __init__(self, conn: sqlite3.Connection, on_progress: Progress) -> None:
        self._conn = conn
        self._on_progress = on_progress
        self._items = 0
        self._sealed_below = 0
        self._counts: Counter[Trouble] = Counter()
        self._examples: dict[Trouble, list[str]] = {}
        self._string = lru_cache(_KNOWN_STRINGS)(self._look_up)

    def run(self) -> Checked:
        for name, part in (
            ("the structure", self._check_structure),
            ("the layout", self._check_layout),
            ("the state", self._check_state),
            ("the items", self._check_items),
            ("the fields", self._check_fields),
            ("the columns", self._check_columns),
            ("the removals", self._check_removals),
            ("the vectors", self._check_vectors),
        ):
            self._on_progress(f"checking {name}")
            try:
                part()
            except sqlite3.Error as error:
                self._found(Trouble.UNREADABLE, f"{name}: {error}")
            except (TypeError, ValueError, OverflowError) as error:  # a value of another type than its column's
                self._found(Trouble.UNREADABLE, f"{name}: {type(error).__name__}")
        problems = [
            Problem(trouble, self._counts[trouble], tuple(self._examples[trouble]))
            for trouble in Trouble
            if self._counts[trouble]
        ]
        return Checked(self._items, tuple(problems))

    def _found(self, trouble: Trouble, *examples: str, count: int | None = None) -> None:
        self._counts[trouble] += len(examples) if count is None else count
        known = self._examples.setdefault(trouble, [])
        known += examples[: max(0, EXAMPLES - len(known))]

    def _found_rows(self, trouble: Trouble, query: str, *parameters: int) -> None:
        """A problem of each row that `query` finds."""
        rows = self._conn.execute(query, parameters)
        while batch := rows.fetchmany(_BATCH):
            self._found(trouble, *(f"row {row}" for (row,) in batch))

    def _check_structure(self) -> None:
        stopped: list[BaseException] = []

        def watch() -> int:
            try:
                self._on_progress("checking the structure")
            except BaseException as error:
                stopped.append(error)
                return 1
            return 0

        self._conn.set_progress_handler(watch, _STEPS)
        try:
            for (line,) in self._conn.execute(f"PRAGMA integrity_check({_STRUCTURE_PROBLEMS})"):
                if line != "ok":
                    self._found(Trouble.STRUCTURE, " ".join(line.split()))
        except sqlite3.Error as error:
            if stopped:
                raise stopped[0] from None
            self._found(Trouble.STRUCTURE, str(error))
        finally:
            self._conn.set_progress_handler(None, 0)

    def _check_layout(self) -> None:
        with closing(sqlite3.connect(":memory:")) as empty:
            schema.migrate(empty)
            wanted, held = dict(empty.execute(_LAYOUT)), dict(self._conn.execute(_LAYOUT))
        names = sorted(name for name in wanted.keys() | held.keys() if wanted.get(name) != held.get(name))
        self._found(Trouble.LAYOUT, *names)

    def _check_state(self) -> None:
        self._sealed_below = self._conn.execute("SELECT max(stop) FROM run").fetchone()[0] or 0
        try:
            state = State.read(self._conn)
        except Contradiction as error:
            self._found(Trouble.STATE, str(error))
            return
        self._sealed_below = state.sealed_below
        (last,) = self._conn.execute("SELECT max(id) FROM item").fetchone()
        if last is not None and last >= state.next_id:
            self._found(Trouble.STATE, "the next arrival number")
        codes: dict[int, Any] = dict(self._conn.execute("SELECT field, next_code FROM field"))
        for field in Field:
            (largest,) = self._conn.execute("SELECT max(code) FROM dict WHERE field = ?", (field,)).fetchone()
            code = codes.get(field, 0)
            if not is_next_code(field, code, state) or type(largest or 0) is not int or code <= (largest or 0):
                self._found(Trouble.STATE, f"the next code of {field.name.lower()}")

    def _check_items(self) -> None:
        (total,) = self._conn.execute("SELECT count(*) FROM item").fetchone()
        for run, first, stop in self._spans():
            words = _Words(stop - first if run is not None else 0)
            found = self._conn.execute(_ITEMS, (first, stop))
            while batch := found.fetchmany(_BATCH):
                for row in batch:
                    self._check_item(row, None if run is None else (words, first))
                self._items += len(batch)
                self._on_progress(f"checking the items: {self._items:,} of {total:,}")
            if run is not None:
                self._check_run(run, first, words)
        self._found_rows(Trouble.NO_ITEM, "SELECT id FROM fac WHERE id NOT IN (SELECT id FROM item)")
        self._found_rows(Trouble.ORPHAN_WORDS, "SELECT id FROM head WHERE id NOT IN (SELECT id FROM item)")

    def _spans(self) -> Iterator[tuple[int | None, int, int]]:
        """All rows in pieces, ascending: a run's, with its id; or between and after the runs, with None."""
        at = _FIRST
        held: set[int] = set()
        for run, first, stop in self._conn.execute("SELECT id, first, stop FROM run ORDER BY first").fetchall():
            held.add(run)
            if not (max(at, 0) == first < stop <= first + _MOST_IN_RUN and run in (2 * first, 2 * first + 1)):
                self._found(Trouble.RUNS, f"run {run}")
            if at <= first < stop <= first + _MOST_IN_RUN:
                if at < first:
                    yield None, at, first
                yield run, first, stop
                at = stop
        if max(at, 0) != self._sealed_below:
            self._found(Trouble.RUNS, "their end")
        yield None, at, _LAST
        query, run = "SELECT min(run) FROM post WHERE run > ?", _FIRST
        while (run := self._conn.execute(query, (run,)).fetchone()[0]) is not None:
            if run not in held:
                self._found(Trouble.ORPHAN_WORDS, f"run {run}")

    def _check_item(self, row: tuple[Any, ...], sealed: tuple[_Words, int] | None) -> None:
        id, fp, payload, record, tags, head, counts = row
        name = fp.hex() if isinstance(fp, bytes) else f"row {id}"
        if record is None:
            self._found(Trouble.NO_RECORD, name)
        try:
            item = read_payload(payload, name)
        except Contradiction:
            self._found(Trouble.CONTENT, name)
            if sealed is not None:
                sealed[0].skip(id - sealed[1])
            return
        if item.fingerprint() != name:
            self._found(Trouble.FINGERPRINT, name)
        terms = index_terms(item.render_text(), item.meta.language)
        if record is not None and not self._fits(record, tags, Facts.of(item), terms):
            self._found(Trouble.RECORD, name)
        if sealed is not None:
            sealed[0].expect(id - sealed[1], terms.counts)
        if (head is None) != (sealed is not None) or (head is not None and not _is_head(head, counts, terms.counts)):
            self._found(Trouble.WORDS, name)

    def _fits(self, record: bytes, tags: bytes, facts: Facts, terms: Terms) -> bool:
        """Whether the codes of a record are those of the item's strings, and its numbers the item's."""
        if len(record) != RECORD.itemsize or len(tags) % 4:
            return False
        held = np.frombuffer(record, RECORD)[0]
        numbers = (facts.seconds, facts.nanoseconds, terms.length, len(terms.counts))
        return (
            [self._string(field, code) for field, code in zip(SINGLE, held["codes"].tolist(), strict=True)]
            == facts.values
            and [self._string(Field.TAG, code) for code in np.frombuffer(tags, "<u4").tolist()] == facts.tags
            and tuple(int(held[name]) for name in ("seconds", "nanoseconds", "length", "terms")) == numbers
        )

    def _look_up(self, field: Field, code: int) -> str | None:
        row = self._conn.execute("SELECT value FROM dict WHERE field = ? AND code = ?", (field, code)).fetchone()
        return None if row is None else str(row[0])

    def _check_run(self, run: int, first: int, words: _Words) -> None:
        postings = self._conn.execute("SELECT term, data FROM post WHERE run = ?", (run,))
        while batch := postings.fetchmany(_BATCH):
            for term, data in batch:
                if not words.add(term, data):
                    self._found(Trouble.RUNS, f"run {run}")
            self._on_progress(f"checking the words of {self._items:,} items")
        orphans, others = words.differing()
        self._found(Trouble.ORPHAN_WORDS, *(f"row {first + row}" for row in orphans))
        named = [self._name(first + row) for row in others[:EXAMPLES]]
        self._found(Trouble.WORDS, *named, count=len(others))

    def _name(self, row: int) -> str:
        (fp,) = self._conn.execute("SELECT hex(fp) FROM item WHERE id = ?", (row,)).fetchone()
        return str(fp).lower()

    def _check_fields(self) -> None:
        codes: dict[Field, list[int]] = {field: [] for field in Field}
        for field, code in self._conn.execute("SELECT field, code FROM dict ORDER BY field, code"):
            codes[Field(field)].append(code)
        known = {field: np.array(held, np.int64) for field, held in codes.items()}
        uses = {field: np.zeros(len(held), np.int64) for field, held in codes.items()}
        found = self._conn.execute("SELECT id, rec, tags FROM fac ORDER BY id")
        while batch := [row for row in found.fetchmany(_BATCH)]:
            whole = [row for row in batch if len(row[1]) == RECORD.itemsize and len(row[2]) % 4 == 0]
            held = np.frombuffer(b"".join(record for _, record, _ in whole), RECORD)["codes"]
            tags = np.frombuffer(b"".join(tags for _, _, tags in whole), "<u4")
            for field, used in (*((field, held[:, place]) for place, field in enumerate(SINGLE)), (Field.TAG, tags)):
                used = used[used != MISSING].astype(np.int64)
                places = np.searchsorted(known[field], used)
                is_known = np.isin(used, known[field])
                np.add.at(uses[field], places[is_known], 1)
                self._found(Trouble.NO_STRING, *(_string_name(field, code) for code in used[~is_known].tolist()))
            self._on_progress("checking the fields")
        before = (-1, "")
        for field, code, value, count in self._conn.execute(
            "SELECT field, code, value, uses FROM dict ORDER BY field, value"
        ):
            used_times = int(uses[Field(field)][np.searchsorted(known[Field(field)], code)])
            if used_times == 0:
                self._found(Trouble.ORPHAN_STRING, _string_name(field, code))
            elif count != used_times:
                self._found(Trouble.USES, _string_name(field, code))
            if (field, value) == before:
                self._found(Trouble.SAME_STRING, _string_name(field, code))
            before = (field, value)

    def _check_columns(self) -> None:
        for (segment,) in self._conn.execute("SELECT seg FROM cols ORDER BY seg").fetchall():
            (data,) = self._conn.execute("SELECT data FROM cols WHERE seg = ?", (segment,)).fetchone()
            first = segment * schema.SEGMENT
            try:
                wanted = Block.of_records(self._conn, first, first + schema.SEGMENT)
                is_right = Block.of_bytes(data).is_same(wanted)
            except Contradiction:
                is_right = False
            if not is_right:
                self._found(Trouble.COLUMNS, f"segment {segment}")
            self._on_progress("checking the columns")

    def _check_removals(self) -> None:
        state = State.read(self._conn)
        for generation, ids in self._conn.execute("SELECT generation, ids FROM gone"):
            is_sane = state.log_floor < generation <= state.generation and len(ids) % 8 == 0
            if not is_sane or any(self._is_held(id) for id in np.frombuffer(ids, "<i8").tolist()):
                self._found(Trouble.LOG, f"generation {generation}")

    def _check_vectors(self) -> None:
        for table in ("vec", "pvec"):
            self._found_rows(Trouble.ORPHAN_VECTORS, f"SELECT id FROM {table} WHERE id NOT IN (SELECT id FROM item)")
        made = Made.read(self._conn)
        if made is None:
            return
        for first, stop in made.ranges:
            self._found_rows(
                Trouble.VECTORS,
                "SELECT id FROM vec WHERE id >= ? AND id < ?"
                " AND (typeof(data) <> 'blob' OR length(data) NOT IN (0, ?))",
                first,
                stop,
                made.dims,
            )
            self._found_rows(
                Trouble.NO_VECTOR,
                "SELECT id FROM item WHERE id >= ? AND id < ? AND id NOT IN (SELECT id FROM vec)",
                first,
                stop,
            )
            passages = self._conn.execute("SELECT id, data FROM pvec WHERE id >= ? AND id < ?", (first, stop))
            while batch := passages.fetchmany(_BATCH):
                for id, data in batch:
                    if not _are_passages(data, made.dims):
                        self._found(Trouble.VECTORS, f"row {id}")
                self._on_progress("checking the vectors")
        for (segment,) in self._conn.execute("SELECT seg FROM vbits ORDER BY seg").fetchall():
            first, stop = segment * schema.SEGMENT, (segment + 1) * schema.SEGMENT
            if made.covers(first, stop):  # the others are of the model before, and not read
                (data,) = self._conn.execute("SELECT data FROM vbits WHERE seg = ?", (segment,)).fetchone()
                if data != signs_of_rows(self._conn, made, first, stop).tobytes():
                    self._found(Trouble.SIGNS, f"segment {segment}")
                self._on_progress("checking the vectors")

    def _is_held(self, id: int) -> bool:
        return self._conn.execute("SELECT 1 FROM item WHERE id = ?", (id,)).fetchone() is not None


class _Words:
    """Whether the postings of a run hold the words of its items, by a sum of hashes for each: exact but for a chance of
    2^-64, at a few bytes an item instead of all its words."""

    def __init__(self, size: int) -> None:
        self._wanted = np.zeros(size, np.uint64)
        self._terms = np.zeros(size, np.int64)
        self._is_item = np.zeros(size, np.bool_)
        self._is_skipped = np.zeros(size, np.bool_)
        self._held = np.zeros(size, np.uint64)
        self._entries = np.zeros(size, np.int64)

    def expect(self, row: int, words: dict[str, int]) -> None:
        """An item of the run, by its row from the run's first, and what its text holds."""
        self._is_item[row] = True
        hashes = np.fromiter(map(hash, words), np.int64, len(words)).view(np.uint64)
        counts = np.minimum(np.fromiter(words.values(), np.int64, len(words)), MOST_COUNTED)
        self._wanted[row] = (hashes * _BY_COUNT[counts]).sum(dtype=np.uint64)
        self._terms[row] = len(words)

    def skip(self, row: int) -> None:
        """An item whose text is not known."""
        self._is_item[row] = self._is_skipped[row] = True

    def add(self, term: str, data: bytes) -> bool:
        """One term's postings; False where they are damaged."""
        try:
            rows, counts = unpack_posting(data)
        except Contradiction:
            return False
        if not len(rows) or int(rows[-1]) >= len(self._held) or (rows[1:] <= rows[:-1]).any():
            return False
        self._held[rows] += np.uint64(hash(term) & _WORD) * _BY_COUNT[counts]
        self._entries[rows] += 1
        return True

    def differing(self) -> tuple[list[int], list[int]]:
        """Rows with words but no item; and rows of items whose words are not those expected."""
        orphans = (self._entries > 0) & ~self._is_item
        others = self._is_item & ~self._is_skipped & ((self._held != self._wanted) | (self._entries != self._terms))
        return np.flatnonzero(orphans).tolist(), np.flatnonzero(others).tolist()


def _are_passages(data: bytes, dims: int) -> bool:
    try:
        unpack_passages(data, dims)
    except Contradiction:
        return False
    return True


def _is_head(terms: str, counts: bytes, words: dict[str, int]) -> bool:
    """Whether a row of `head` holds just these words."""
    split = split_terms(terms)
    capped = {term: min(count, MOST_COUNTED) for term, count in words.items()}
    return len(split) == len(counts) == len(capped) and dict(zip(split, counts, strict=True)) == capped


def _string_name(field: int, code: int) -> str:
    return f"{Field(field).name.lower()} {code}"
