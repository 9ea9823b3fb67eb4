"""Keyword ranking: BM25 over the postings, with the filter's mask applied before anything is scored.

Formula: Robertson and Zaragoza, "The Probabilistic Relevance Framework: BM25 and Beyond" (2009), with the logarithm's
argument raised by one, as Lucene does, so that no score is negative.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable
from datetime import UTC, date, datetime, time, timedelta
from zoneinfo import ZoneInfo

import numpy as np
import numpy.typing as npt

from explorer.contract import TimeHint
from explorer.engines.sqlite.columns import Columns, Mask, Rows
from explorer.engines.sqlite.cursors import RankPlace
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import UNDATED
from explorer.engines.sqlite.postings import Postings
from explorer.engines.sqlite.tokens import Query, Unit, spaced

Scores = npt.NDArray[np.float32]
ReadText = Callable[[int], str]
"""The rendered text of the item in a row."""

_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)
_K1 = 1.2
_B = 0.75
_PREFIX_WEIGHT = 0.6
"""What a longer word that begins with the query's last one counts, beside that word itself."""
_PHRASE_BONUS = 0.5
"""Share of its score that an item gains when it holds the query as one phrase."""
_LOOKED_AT = 64
"""Best items whose texts are read to tell phrases from words that stand apart."""
_LONGEST_LOOKED_AT = 200_000
"""Characters of a text beyond which that is not worth the time."""


class Ranking:
    """Rows that a query finds, ascending, with their scores; ties go to the later stored."""

    def __init__(self, rows: Rows, scores: Scores, hinted: Mask | None = None) -> None:
        self._rows = rows
        self._scores = scores
        self._hinted = hinted
        # What falls on hinted days ranks before the rest: a power of two above every score is added to its key, which
        # is exact for 32-bit scores in 64 bits.
        self._lift = float(2.0 ** math.ceil(math.log2(float(scores.max()) + 1.0))) if len(scores) else 0.0
        self._keys = scores.astype(np.float64)
        if hinted is not None:
            self._keys[hinted] += self._lift

    def after(self, place: RankPlace | None, limit: int, among: Mask | None = None) -> list[RankPlace]:
        """The `limit` best rows, of `among` where given, that come after a place (None: from the start), best first."""
        rows, keys = self._rows, self._keys
        if among is not None:
            is_among = among[rows]
            rows, keys = rows[is_among], keys[is_among]
        if place is not None:
            key = self._present_key(place)
            is_later = (keys < key) | ((keys == key) & (rows < place.row))
            rows, keys = rows[is_later], keys[is_later]
        if limit < len(rows):
            is_near = keys >= np.partition(keys, len(keys) - limit)[len(keys) - limit]
            rows, keys = rows[is_near], keys[is_near]
        best = rows[np.lexsort((rows, keys))[::-1][:limit]]
        return [self._place(at, row) for at, row in zip(self._at(best), best.tolist(), strict=True)]

    def _at(self, rows: Rows) -> list[int]:
        found: list[int] = np.searchsorted(self._rows, rows).tolist()
        return found

    def _place(self, at: int, row: int) -> RankPlace:
        return RankPlace(self._hinted is not None and bool(self._hinted[at]), float(self._scores[at]), row)

    def _present_key(self, place: RankPlace) -> float:
        """The key of the item at `place`: as it ranks now where it is still found, else as it ranked then."""
        at = int(np.searchsorted(self._rows, place.row))
        if at < len(self._rows) and self._rows[at] == place.row:
            return float(self._keys[at])
        return place.score + (self._lift if place.is_hinted else 0.0)


class KeywordSearch:
    """Ranks the rows of a mask. Not thread-safe, as the columns it reads."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._postings = Postings()

    @property
    def postings(self) -> Postings:
        return self._postings

    def rank(
        self, conn: sqlite3.Connection, query: Query, mask: Mask, read_text: ReadText, hint: TimeHint | None = None
    ) -> Ranking:
        """The rows of `mask` that hold something of `query`. The postings must be in step with the columns."""
        scores = np.zeros(self._columns.rows, np.float32)
        proofs: list[tuple[str, Rows, Scores]] = []
        for unit in query.units:
            rows, gains = self._score(conn, unit)
            is_admitted = mask[rows]
            rows, gains = rows[is_admitted], gains[is_admitted]
            scores[rows] += gains
            if unit.phrase is not None:
                proofs.append((unit.phrase, rows, gains))
        self._look(scores, query, proofs, read_text)
        rows = np.flatnonzero(scores > 0)
        return Ranking(rows, scores[rows], None if hint is None else self._falls_on(rows, hint))

    def weights(self, conn: sqlite3.Connection, query: Query) -> dict[str, float]:
        """How much each term of a query tells, by its rarity; 0 for a term that no item holds."""
        weights: dict[str, float] = {}
        for unit in query.units:
            rows, _ = self._matches(conn, unit)
            weight = self._rarity(len(rows)) if len(rows) else 0.0
            weights.update((term, weight) for term in unit.terms)
        return weights

    def _score(self, conn: sqlite3.Connection, unit: Unit) -> tuple[Rows, Scores]:
        rows, counts = self._matches(conn, unit)
        if not len(rows):
            return rows, counts
        length = self._columns.lengths.values[rows].astype(np.float32) / self._columns.average_length()
        gains = counts * (_K1 + 1.0) / (counts + _K1 * (1.0 - _B + _B * length)) * self._rarity(len(rows))
        return rows, gains.astype(np.float32)

    def _rarity(self, holders: int) -> float:
        total = int(np.count_nonzero(self._columns.alive.values))
        return math.log(1.0 + (total - holders + 0.5) / (holders + 0.5))

    def _matches(self, conn: sqlite3.Connection, unit: Unit) -> tuple[Rows, Scores]:
        """The living rows that have the unit, ascending, and how often."""
        rows, counts = self._living(conn, unit.terms[0])
        for term in unit.terms[1:]:
            others, other_counts = self._living(conn, term)
            rows, mine, theirs = np.intersect1d(rows, others, assume_unique=True, return_indices=True)
            counts = np.minimum(counts[mine], other_counts[theirs])
        if unit.is_prefix:
            found = [(rows, counts)]
            for term in self._postings.beginning_with(conn, unit.terms[0]):
                others, other_counts = self._living(conn, term)
                found.append((others, other_counts * np.float32(_PREFIX_WEIGHT)))
            if len(found) > 1:
                every = np.concatenate([pair[0] for pair in found])
                rows, inverse = np.unique(every, return_inverse=True)
                counts = np.bincount(inverse, np.concatenate([pair[1] for pair in found])).astype(np.float32)
        return rows, counts

    def _living(self, conn: sqlite3.Connection, term: str) -> tuple[Rows, Scores]:
        rows, counts = self._postings.find(conn, term)
        alive = self._columns.alive.values
        if len(rows) and rows[-1] >= len(alive):
            raise Contradiction(f"the words name item {rows[-1]}, which was never stored")
        is_alive = alive[rows]
        return rows[is_alive], counts[is_alive].astype(np.float32)

    def _look(self, scores: Scores, query: Query, proofs: list[tuple[str, Rows, Scores]], read_text: ReadText) -> None:
        """Among the best, reward the whole phrase and take back what only looked like a run of characters."""
        if not proofs and query.phrase is None:
            return
        rows = np.flatnonzero(scores > 0)
        for place in Ranking(rows, scores[rows]).after(None, _LOOKED_AT):
            text = read_text(place.row)
            if len(text) > _LONGEST_LOOKED_AT:
                continue
            text = spaced(text)
            for phrase, holders, gains in proofs:
                at = int(np.searchsorted(holders, place.row))
                if at < len(holders) and holders[at] == place.row and phrase not in text:
                    scores[place.row] -= gains[at]
                    if scores[place.row] < gains[at] * 1e-5:  # what rounding leaves of a score taken back whole
                        scores[place.row] = 0.0
            if query.phrase is not None and query.phrase in text:
                scores[place.row] *= np.float32(1.0 + _PHRASE_BONUS)

    def _falls_on(self, rows: Rows, hint: TimeHint) -> Mask:
        first, last = _bounds(hint)
        seconds = self._columns.seconds.values[rows]
        is_on: Mask = (seconds >= first) & (seconds < last) & (seconds != UNDATED)
        return is_on


def _bounds(hint: TimeHint) -> tuple[int, int]:
    """The seconds at which the hinted days begin, and end (not included)."""
    zone = ZoneInfo(hint.zone or "UTC")
    return _midnight(hint.from_, 0, zone), _midnight(hint.to, 1, zone)


def _midnight(day: date, later: int, zone: ZoneInfo) -> int:
    """The second at which `day`, or the day `later` days after it, begins in `zone`."""
    if later and day < date.max:
        day, later = day + timedelta(days=later), 0
    begin = datetime.combine(day, time(), UTC)
    # Not by `astimezone`: the first and last days of the calendar have no UTC time in every zone.
    offset = begin.replace(tzinfo=zone).utcoffset() or timedelta()
    return int((begin - _EPOCH - offset + timedelta(days=later)).total_seconds())
