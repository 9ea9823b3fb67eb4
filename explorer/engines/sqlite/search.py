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

import numpy as np
import numpy.typing as npt

from explorer.engines.sqlite.columns import Columns, Mask, Rows
from explorer.engines.sqlite.fields import Field
from explorer.engines.sqlite.postings import Postings
from explorer.engines.sqlite.tokens import ENGLISH, STEM_MARK, Query, Unit, stemmer_of, stems

Scores = npt.NDArray[np.float32]

_Piece = tuple[int, npt.NDArray[np.unsignedinteger] | Rows, npt.NDArray[np.uint8] | Scores]
"""A row that others are counted from; these distances, ascending; how often each of those rows holds something."""

_Part = tuple[Sequence[_Piece], float]
"""The rows that hold a unit in one way, and what each of them gains where it holds it very often."""

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
        parts = [part for unit in query.units for part in self._parts(conn, unit, chosen)]
        return self._listed(*parts[0]) if len(parts) == 1 else self._added(parts)

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
            self._parts(conn, unit, None)
        return self._most[unit]

    def _listed(self, pieces: Sequence[_Piece], most: float) -> tuple[Rows, Scores]:
        """The rows of one part, and what each gains."""
        rows = np.empty(_size(pieces), np.int64)
        gains = np.empty(len(rows), np.float32)
        begin = 0
        for first, places, counts in pieces:
            end = begin + len(places)
            at = places.astype(np.intp, copy=False)
            np.add(at, first, out=rows[begin:end])
            self._gain(first, at, counts, most, gains[begin:end])
            begin = end
        return rows, gains

    def _added(self, parts: Sequence[_Part]) -> tuple[Rows, Scores]:
        """The rows of any part, ascending, and what each gains by all."""
        scores = np.zeros(self._columns.rows, np.float32)
        for pieces, most in parts:
            for first, places, counts in pieces:
                at = places.astype(np.intp, copy=False)
                gains = np.empty(len(at), np.float32)
                self._gain(first, at, counts, most, gains)
                scores[first:][at] += gains
        rows = np.flatnonzero(scores > 0)
        return rows, scores.take(rows)

    def _gain(
        self, first: int, at: npt.NDArray[np.intp], counts: npt.NDArray[np.uint8] | Scores, most: float, out: Scores
    ) -> None:
        often = counts.astype(np.float32, copy=False)
        self._norms[first:].take(at, out=out, mode="clip")  # the postings name no row beyond; this mode needs no copy
        out += often
        np.divide(often, out, out=out)
        out *= np.float32(most)

    def _parts(self, conn: sqlite3.Connection, unit: Unit, mask: Mask | None) -> list[_Part]:
        """The rows of `mask` (None: all) that hold a unit: itself, else another word of its stem, else a longer word.

        Every row counts for the rarity, whether the mask has it or not.
        """
        stems = [term for stem in self.stems(conn, unit) for term in (stem, stem + STEM_MARK)]
        others = [term for term in stems if term not in unit.terms]
        found = self._postings.find(conn, [*unit.terms, *others], self._columns.alive.values)
        held: list[_Piece] = []
        weight = _weight(unit)
        parts = [
            self._part(held, weight, _all_of([found.get(term, []) for term in unit.terms]), mask),
            self._part(held, STEM_WEIGHT * weight, _any_of([found[term] for term in others if term in found]), mask),
        ]
        if unit.is_prefix and _size(held) < PREFIX_BELOW:
            longer = self._postings.find_longer(conn, unit.terms[0], self._columns.alive.values)
            words = [pieces for term, pieces in longer.items() if not term.endswith(STEM_MARK)]
            parts.append(self._part(held, PREFIX_WEIGHT * weight, _any_of(words), mask))
        if len(self._most) >= _KEPT:
            self._most.clear()
        self._most[unit] = max(most for _, most in parts), _size(held)
        return [part for part in parts if part[0]]

    def _part(self, held: list[_Piece], weight: float, pieces: Sequence[_Piece], mask: Mask | None) -> _Part:
        """What `pieces` add to what is held already, which then has it too; of that what the mask has."""
        if pieces and held:
            pieces = _chosen(pieces, self._without(held))
        if not pieces:
            return [], 0.0
        held += pieces
        most = weight * self._rarity(_size(held)) * (K1 + 1.0)
        return pieces if mask is None else _chosen(pieces, mask), most

    def _without(self, pieces: Sequence[_Piece]) -> Mask:
        mask = np.ones(self._columns.rows, np.bool_)
        for first, places, _ in pieces:
            mask[first:][places] = False
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
