"""Which items hold a term: the sealed segments' lists, and the words of the segment that is still filling."""

from __future__ import annotations

import itertools
import sqlite3
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.engines.sqlite.columns import Rows
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.schema import SEGMENT, State

Local = npt.NDArray[np.uint16]
Counts = npt.NDArray[np.uint8]

HeadRow = tuple[int, str, bytes]
"""An item's words as `head` holds them: arrival number, terms with a space between, how often each occurs."""

_MAX_EXPANSIONS = 50
_COUNT_BITS = 8


def pack_posting(local: Local | Rows, counts: Counts) -> bytes:
    """One term of one segment as the file holds it: ids within the segment, ascending, then the term's counts."""
    return local.astype("<u2").tobytes() + counts.tobytes()


def unpack_posting(data: bytes) -> tuple[Local, Counts]:
    size, rest = divmod(len(data), 3)
    if rest:
        raise Contradiction("a list of a word's items has the wrong size")
    return np.frombuffer(data, "<u2", size), np.frombuffer(data, np.uint8, size, 2 * size)


def split_terms(terms: str) -> list[str]:
    """The terms of a row of `head`; an item whose text holds none has an empty text there."""
    return terms.split(" ") if terms else []


@dataclass(frozen=True, slots=True)
class Grouped:
    """Words of many items, by term: the rows (ascending) and counts of a term are one slice."""

    numbers: dict[str, int]
    bounds: list[int]
    rows: Rows
    counts: Counts

    @classmethod
    def of(cls, found: Iterable[HeadRow]) -> Grouped:
        """Group rows of `head`, which come in ascending order."""
        numbers: defaultdict[str, int] = defaultdict(itertools.count().__next__)
        terms_found: list[int] = []
        ids, sizes, counts = [], [], []
        for id, terms, tf in found:
            before = len(terms_found)
            terms_found.extend(map(numbers.__getitem__, split_terms(terms)))
            ids.append(id)
            sizes.append(len(terms_found) - before)
            counts.append(tf)
            if sizes[-1] != len(tf):
                raise Contradiction(f"the words of item {id} have the wrong number of counts")
        term_of = np.array(terms_found, np.int64)
        by_term = np.argsort(term_of, kind="stable")  # so that the rows of a term stay ascending
        ends = np.cumsum(np.bincount(term_of, minlength=len(numbers))).tolist()
        return cls(
            dict(numbers),
            [0, *ends],
            np.repeat(np.array(ids, np.int64), sizes)[by_term],
            np.frombuffer(b"".join(counts), np.uint8)[by_term],
        )

    def find(self, term: str) -> tuple[Rows, Counts] | None:
        number = self.numbers.get(term)
        if number is None:
            return None
        held = slice(self.bounds[number], self.bounds[number + 1])
        return self.rows[held], self.counts[held]

    def sorted(self) -> Iterator[tuple[str, Rows, Counts]]:
        """Every term, in order."""
        for term, number in sorted(self.numbers.items()):
            held = slice(self.bounds[number], self.bounds[number + 1])
            yield term, self.rows[held], self.counts[held]


class Postings:
    """Lookup of terms in a snapshot. Holds the words of the filling segment in memory, from the first search on.

    Rows of removed items may come up from memory: the caller's mask drops them.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew at the next `sync`."""
        self._uid = b""
        self._sealed_below = 0
        self._next_id = 0
        self._early: Grouped | None = None
        # What came after the first reading, an entry an item: row << 8 | count, ascending.
        self._late: dict[str, array[int]] = {}
        self._terms: list[str] = []  # of both, sorted
        self._new_terms: list[str] = []

    def sync(self, conn: sqlite3.Connection, state: State) -> None:
        """Read the words that came since the last call."""
        is_begun = self._early is not None and state.uid == self._uid and state.sealed_below == self._sealed_below
        if is_begun and state.next_id == self._next_id:
            return
        try:
            if is_begun and state.next_id > self._next_id:
                self._add(_head(conn, self._next_id))
            else:
                self.clear()
                self._early = Grouped.of(_head(conn, state.sealed_below))
                self._terms = sorted(self._early.numbers)
                self._uid, self._sealed_below = state.uid, state.sealed_below
        except BaseException:
            self.clear()
            raise
        self._next_id = state.next_id

    def find(self, conn: sqlite3.Connection, term: str) -> tuple[Rows, Counts]:
        """The rows that hold `term`, ascending, and how often (at most 255)."""
        rows: list[Rows] = []
        counts: list[Counts] = []
        for segment in range(self._sealed_below // SEGMENT):
            row = conn.execute("SELECT data FROM post WHERE seg = ? AND term = ?", (segment, term)).fetchone()
            if row is not None:
                local, count = unpack_posting(row[0])
                rows.append(local.astype(np.int64) + segment * SEGMENT)
                counts.append(count)
        if self._early is not None and (early := self._early.find(term)) is not None:
            rows.append(early[0])
            counts.append(early[1])
        if (late := self._late.get(term)) is not None:
            entries = np.array(late, np.int64)
            rows.append(entries >> _COUNT_BITS)
            counts.append((entries & 0xFF).astype(np.uint8))
        if not rows:
            return np.zeros(0, np.int64), np.zeros(0, np.uint8)
        return np.concatenate(rows), np.concatenate(counts)

    def beginning_with(self, conn: sqlite3.Connection, prefix: str) -> list[str]:
        """Longer terms that begin with `prefix`, in order, at most 50."""
        after = prefix + "\U0010ffff"
        if self._new_terms:
            self._terms = sorted(self._terms + self._new_terms)
            self._new_terms = []
        start = bisect_left(self._terms, prefix)
        found = set(self._terms[start : min(bisect_left(self._terms, after), start + _MAX_EXPANSIONS + 1)])
        for segment in range(self._sealed_below // SEGMENT):
            found.update(
                term
                for (term,) in conn.execute(
                    "SELECT term FROM post WHERE seg = ? AND term > ? AND term < ? ORDER BY term LIMIT ?",
                    (segment, prefix, after, _MAX_EXPANSIONS),
                )
            )
        found.discard(prefix)
        return sorted(found)[:_MAX_EXPANSIONS]

    def _add(self, found: Iterable[HeadRow]) -> None:
        known = self._early.numbers if self._early is not None else {}
        for id, terms, counts in found:
            split = split_terms(terms)
            if len(split) != len(counts):
                raise Contradiction(f"the words of item {id} have the wrong number of counts")
            for term, count in zip(split, counts, strict=True):
                entry = (id << _COUNT_BITS) | count
                held = self._late.get(term)
                if held is not None:
                    held.append(entry)
                    continue
                self._late[term] = array("q", (entry,))
                if term not in known:
                    self._new_terms.append(term)


def _head(conn: sqlite3.Connection, first: int) -> Iterator[HeadRow]:
    # No generator: one that is left early closes its cursor wherever it is collected, on another thread perhaps.
    return conn.execute("SELECT id, terms, tf FROM head WHERE id >= ? ORDER BY id", (first,))
