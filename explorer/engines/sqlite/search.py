"""Keyword scores: BM25 over the postings, with the filter's mask applied before anything is scored.

Formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the constants of
SQLite's FTS5; as there, a word that more than half of the items hold tells next to nothing, instead of less than that.

An item that holds a word of the query has its pure score. What only holds another word of the same stem, or a longer
word that begins with it, comes in at a share of that: so no stem disturbs the order of what was asked for.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
import numpy.typing as npt

from explorer.engines.sqlite.columns import Columns, Mask, Rows
from explorer.engines.sqlite.cores import on_cores
from explorer.engines.sqlite.fields import Field
from explorer.engines.sqlite.postings import Postings
from explorer.engines.sqlite.segments import Array
from explorer.engines.sqlite.tokens import ENGLISH, STEM_MARK, Query, Unit, stemmer_of, stems

Scores = npt.NDArray[np.float32]

_Piece = tuple[int, npt.NDArray[np.unsignedinteger] | Rows, npt.NDArray[np.uint8] | Scores]
"""A row that others are counted from; these distances, ascending; how often each of those rows holds something."""

_Lists = Sequence[Sequence[_Piece]]


@dataclass(slots=True)
class _Part:
    """The rows that hold a unit in one way."""

    pieces: Sequence[_Piece]
    """Of one list; empty where only `counts` says what it is."""
    counts: Array | None
    """Where these rows are many: how often each row of all holds it."""
    size: int
    most: float = 0.0
    """What a row gains where it holds it very often."""

    def keep(self, mask: Mask) -> None:
        """Leave out what the mask does not have."""
        if self.counts is None:
            self.pieces = _chosen(self.pieces, mask)
        else:
            self.pieces = []
            self.counts *= mask


K1 = 1.2
B = 0.75
_ENGLISH = (
    "a about an and any are as at be been but by can could did do does for from had has have how i in into is it its "
    "me my of on or our s should so t tell that the their them then there these they this to us was we were what when "
    "where which who whom whose why will with would you your"
)
COMMON = frozenset(_ENGLISH.split())
"""English words that tell little of what a text is about, however few of a file's texts hold them."""
COMMON_WEIGHT = 0.5
"""What such a word counts."""
LEAST_RARITY = 0.001
"""Of a word that half of the items hold, or more."""
STEM_WEIGHT = 0.7
"""What another word of the same stem counts, beside the query's word itself."""
PREFIX_WEIGHT = 0.25
"""What a longer word that begins with the query's last one counts."""
PREFIX_BELOW = 1_000
"""Items that hold a word or its stem, from which longer ones are not looked for: what holds these comes late anyway.

Counted in the whole file, so that a narrower filter never finds more.
"""
_AT_ONCE = 1 << 17
"""Entries of a list that one thread scores at a time."""
_MANY = 16
"""Lists that have one row in so many, or more, are gone through by row, instead of by entry."""
_BLOCK = 1 << 16
"""Of which the processor keeps all that scores them at hand."""
_KEPT = 10_000
"""Units whose rarities are remembered; one more, and all are forgotten."""


class KeywordSearch:
    """Scores the rows of a mask. Not thread-safe, as the columns it reads."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._postings = Postings()
        self._version: tuple[bytes, int] | None = None
        self._norms: Scores = np.zeros(0, np.float32)
        self._most: dict[Unit, tuple[float, int]] = {}
        self._stemmers: tuple[tuple[int, int], list[str]] = ((-1, 0), [])

    @property
    def postings(self) -> Postings:
        return self._postings

    def score(self, conn: sqlite3.Connection, query: Query, mask: Mask) -> tuple[Rows, Scores]:
        """The rows of `mask` that hold something of `query`, ascending, and their scores, all above 0.

        The postings must be in step with the columns.
        """
        self._follow()
        # Most rows that are found are of common words; where the mask has every item, they need no look at it.
        chosen = mask if np.count_nonzero(mask) < self._columns.living else None
        is_alone = len(query.units) == 1
        parts = [part for unit in query.units for part in self._parts(conn, unit, chosen, is_alone=is_alone)]
        return self._listed(parts[0]) if len(parts) == 1 and parts[0].pieces else self._added(parts)

    def best_possible(self, conn: sqlite3.Connection, query: Query) -> float:
        """The score that no item exceeds: every unit held, and so often that it counts in full; 0 for no units."""
        most = (self._most_of(conn, unit)[0] or _weight(unit) * self._rarity(0) * (K1 + 1.0) for unit in query.units)
        return sum(most)

    def rarities(self, conn: sqlite3.Connection, query: Query) -> list[float]:
        """How much each unit of a query tells, all above 0; one that no item holds tells most.

        Unlike in a score, a word tells something even where most of a few items hold it.
        """
        living = self._columns.living
        holders = [self._most_of(conn, unit)[1] for unit in query.units]
        return [
            _weight(unit) * math.log(1.0 + (living - held + 0.5) / (held + 0.5))
            for unit, held in zip(query.units, holders, strict=True)
        ]

    def stems(self, conn: sqlite3.Connection, unit: Unit) -> list[str]:
        """The stems, unmarked, of a unit's word in the languages of the file's items, and in English; often one."""
        if unit.word is None:
            return []
        dictionary = self._columns.dictionaries[Field.LANGUAGE]
        version = self._columns.epoch, dictionary.size
        if self._stemmers[0] != version:
            held = conn.execute("SELECT value FROM dict WHERE field = ?", (Field.LANGUAGE,))
            self._stemmers = version, sorted({ENGLISH, *(stemmer_of(language) for (language,) in held)})
        return stems(unit.word, self._stemmers[1])

    def _follow(self) -> None:
        """Drop what was kept of items that are no longer just these."""
        columns = self._columns
        if self._version != columns.version:
            self._version = None
            self._most.clear()
            self._norms = np.multiply(columns.lengths.values, K1 * B / columns.average_length(), dtype=np.float32)
            self._norms += np.float32(K1 * (1.0 - B))
            self._version = columns.version

    def _most_of(self, conn: sqlite3.Connection, unit: Unit) -> tuple[float, int]:
        """What an item gains at most by a unit, and how many items hold it."""
        self._follow()
        if unit not in self._most:
            self._parts(conn, unit, None, is_alone=True)
        return self._most[unit]

    def _listed(self, part: _Part) -> tuple[Rows, Scores]:
        """The rows of one part, which are in pieces, and what each gains."""
        rows = np.empty(_size(part.pieces), np.int64)
        begin = 0
        for first, places, _ in part.pieces:
            some_rows = rows[begin : begin + len(places)]
            some_rows[:] = places
            some_rows += first
            begin += len(places)
        often = np.concatenate([counts for _, _, counts in part.pieces]).astype(np.float32)
        gains = np.empty(len(rows), np.float32)

        def fill(begin: int) -> None:
            some = slice(begin, begin + _AT_ONCE)
            self._gain(rows[some], often[some], part.most, gains[some])

        on_cores([partial(fill, begin) for begin in range(0, len(rows), _AT_ONCE)], len(rows))
        return rows, gains

    def _added(self, parts: Sequence[_Part]) -> tuple[Rows, Scores]:
        """The rows of any part, ascending, and what each gains by all."""
        scores = np.zeros(self._columns.rows, np.float32)
        for part in parts:
            if part.counts is not None:
                self._add_all(part.counts, part.most, scores)
                continue
            for first, places, counts in part.pieces:
                at = places.astype(np.intp, copy=False)
                gains = np.empty(len(at), np.float32)
                self._gain(at, counts.astype(np.float32, copy=False), part.most, gains, first)
                scores[first:][at] += gains
        rows = np.flatnonzero(scores > 0)
        return rows, scores.take(rows)

    def _add_all(self, counts: Array, most: float, scores: Scores) -> None:
        """As `_gain`, for every row, added to `scores`: 0 where a row holds nothing."""
        for begin in range(0, len(counts), _BLOCK):
            some = slice(begin, begin + _BLOCK)
            often = counts[some].astype(np.float32)
            gains = self._norms[some] + often
            np.divide(often, gains, out=gains)
            gains *= np.float32(most)
            scores[some] += gains

    def _gain(self, at: npt.NDArray[np.intp], often: Scores, most: float, out: Scores, first: int = 0) -> None:
        """What the rows `at`, counted from `first`, gain by holding something so often."""
        self._norms[first:].take(at, out=out, mode="clip")  # the postings name no row beyond; this mode needs no copy
        out += often
        np.divide(often, out, out=out)
        out *= np.float32(most)

    def _parts(self, conn: sqlite3.Connection, unit: Unit, mask: Mask | None, *, is_alone: bool) -> list[_Part]:
        """The rows of `mask` (None: all) that hold a unit: itself, else another word of its stem, else a longer word.

        Every row counts for the rarity, whether the mask has it or not. `is_alone`: nothing else is sought.
        """
        stems = [term for stem in self.stems(conn, unit) for term in (stem, stem + STEM_MARK)]
        others = [term for term in stems if term not in unit.terms]
        found = self._postings.find(conn, [*unit.terms, *others], self._columns.alive.values)
        akin = [found[term] for term in others if term in found]
        may_spread = not is_alone or bool(akin)  # one list by itself is what is wanted
        weight = _weight(unit)
        parts: list[_Part] = []

        def add(lists: _Lists, share: float) -> int:
            """How many rows hold the unit in this way or one before."""
            part = self._part(parts, lists, may_spread=may_spread)
            held = sum(other.size for other in parts) + part.size
            part.most = share * self._rarity(held) * (K1 + 1.0) if part.size else 0.0
            parts.append(part)
            return held

        add([_all_of([found.get(term, []) for term in unit.terms])], weight)
        held = add(akin, STEM_WEIGHT * weight)
        if unit.is_prefix and held < PREFIX_BELOW:
            longer = self._postings.find_longer(conn, unit.terms[0], self._columns.alive.values)
            words = [pieces for term, pieces in longer.items() if not term.endswith(STEM_MARK)]
            held = add(words, PREFIX_WEIGHT * weight)
        if len(self._most) >= _KEPT:
            self._most.clear()
        self._most[unit] = max(part.most for part in parts), held
        parts = [part for part in parts if part.size]
        if mask is not None:
            for part in parts:
                part.keep(mask)
        return [part for part in parts if part.counts is not None or part.pieces]

    def _part(self, held: Sequence[_Part], lists: _Lists, *, may_spread: bool) -> _Part:
        """What any of the lists adds to what is held already."""
        rows = self._columns.rows
        if not may_spread or sum(map(_size, lists)) <= rows // _MANY:
            pieces = _any_of(lists)
            if pieces and any(part.size for part in held):
                pieces = _chosen(pieces, self._without(held))
            return _Part(pieces, None, _size(pieces))
        counts: Array = np.zeros(rows, np.uint8 if len(lists) == 1 else np.uint16)
        for pieces in lists:
            for first, places, often in pieces:
                at = places.astype(np.intp)  # by any other type of number it takes twice as long
                if pieces is lists[0]:
                    counts[first:][at] = often
                else:
                    counts[first:][at] += often.astype(np.uint16)
        for part in held:
            if part.counts is not None:
                counts *= part.counts == 0
            else:
                for first, places, _ in part.pieces:
                    counts[first:][places.astype(np.intp)] = 0
        is_list = len(lists) == 1 and not any(part.size for part in held)
        return _Part(lists[0] if is_list else [], counts, int(np.count_nonzero(counts)))

    def _without(self, parts: Sequence[_Part]) -> Mask:
        mask = np.ones(self._columns.rows, np.bool_)
        for part in parts:
            if part.counts is not None:
                mask &= part.counts == 0
            else:
                for first, places, _ in part.pieces:
                    mask[first:][places.astype(np.intp)] = False
        return mask

    def _rarity(self, holders: int) -> float:
        return max(LEAST_RARITY, math.log((self._columns.living - holders + 0.5) / (holders + 0.5)))


def _weight(unit: Unit) -> float:
    return COMMON_WEIGHT if unit.terms[0] in COMMON else 1.0


def _all_of(lists: Sequence[Sequence[_Piece]]) -> Sequence[_Piece]:
    """The rows that all lists have, as often as the list that has them least."""
    if len(lists) == 1:
        return lists[0]
    found = sorted(map(_joined, lists), key=lambda pair: len(pair[0]))
    rows, counts = found[0]
    for others, other_counts in found[1:]:
        if not len(rows):
            return []
        at = np.searchsorted(others, rows)
        at[at == len(others)] = 0
        both = np.flatnonzero(others.take(at) == rows)
        rows, counts = rows.take(both), np.minimum(counts.take(both), other_counts.take(at.take(both)))
    return [(0, rows, counts)] if len(rows) else []


def _any_of(lists: Sequence[Sequence[_Piece]]) -> Sequence[_Piece]:
    """The rows that any list has, as often as all have them."""
    if len(lists) <= 1:
        return lists[0] if lists else []
    rows, counts = _joined([piece for pieces in lists for piece in pieces])
    order = np.argsort(rows, kind="stable")  # linear where the lists are few
    rows = rows.take(order)
    begins = np.flatnonzero(np.diff(rows, prepend=-1))
    return [(0, rows.take(begins), np.add.reduceat(counts.take(order).astype(np.float32), begins))]


def _size(pieces: Sequence[_Piece]) -> int:
    return sum(len(places) for _, places, _ in pieces)


def _chosen(pieces: Sequence[_Piece], mask: Mask) -> list[_Piece]:
    """What a mask has of pieces."""
    chosen: list[_Piece] = []
    for first, places, counts in pieces:
        # Not by a mask of the piece: an array of numbers is several times as fast.
        kept = np.flatnonzero(mask[first:].take(places))
        if len(kept):
            chosen.append((first, places.take(kept), counts.take(kept)))
    return chosen


def _joined(pieces: Sequence[_Piece]) -> tuple[Rows, npt.NDArray[np.uint8] | Scores]:
    if not pieces:
        return np.zeros(0, np.int64), np.zeros(0, np.uint8)
    rows = np.concatenate([places.astype(np.int64) + first for first, places, _ in pieces])
    return rows, np.concatenate([counts for _, _, counts in pieces])
