"""The order of what a query finds: parts of a score between 0 and 1, joined by the weights of a profile.

Keyword part: BM25 divided by the most that the query could get, so that 1 is an item that holds every word so often
that it counts in full, and a weak match stays weak beside a vector's. For the best items it is the mean of the whole
item's and of its best passage's, each times a power of the share of the query, by rarity, that it holds at all. For the
rest of a query of several words its square stands for that: what an item holds at all is at least its score. A run of
characters counts there if its pairs are all in the item; what holds neither the run nor anything else is no hit.
Vector part: the mean of the item's cosine and of its best passage's; the item's alone beyond the best.
Freshness: halves in a week. It never moves an item that holds the query as a whole phrase out of the first five: one
of them that newer items have passed is put back right before the best of those that are not among the five then, and
with that one's score, which is above the sum of its own parts.

The choices and the weights are measured: tests/benchmarks/bench_quality.py.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Sequence
from copy import copy
from dataclasses import dataclass
from datetime import date, timedelta
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.contract import (
    HALF_LIFE_DAYS,
    FetchMode,
    RetrievalScoreBreakdown,
    StoreItem,
    TimeHint,
    Timestamp,
    WeightProfile,
    freshness,
)
from explorer.contract.timeline import begin_of
from explorer.contract.timestamp import zone_named
from explorer.engines.sqlite.columns import Columns, Mask, Rows
from explorer.engines.sqlite.cursors import RankPlace
from explorer.engines.sqlite.fields import UNDATED, split_time
from explorer.engines.sqlite.nearest import VectorIndex
from explorer.engines.sqlite.passages import Span, passages_of
from explorer.engines.sqlite.search import KeywordSearch, Scores
from explorer.engines.sqlite.sought import SHARE_POWER, Sought, Wanted
from explorer.engines.sqlite.tokens import Query, Unit
from explorer.engines.sqlite.vectors import Vector

ReadItem = Callable[[int], StoreItem]
"""The item in a row."""

EMBEDDED = WeightProfile(name="embedded", graph=0.0, vector=0.05, keyword=0.95, freshness=0.0)
"""The engine's own weights. Chosen on questions about real conversations and on paraphrases that share no word with
their answer. Neither asks for recent items, so freshness counts only under a named profile."""

_BY_KEYWORD = WeightProfile(name="keyword", graph=0.0, vector=0.0, keyword=1.0, freshness=0.0)
_BY_VECTOR = WeightProfile(name="vector", graph=0.0, vector=1.0, keyword=0.0, freshness=0.0)

VECTOR_HIT = 0.1
"""The vector part from which an item is a hit without a word of the query. Below the reference engine's 0.2, where a
quarter of the answers lie that share no word with their question; of random texts, a sixth are that near."""

_LOOKED_AT = 32
"""Best items by words, and as many by vectors, whose texts and passages are looked at."""
_CHARS_LOOKED_AT = 2_000_000
"""Characters of their texts after which no further one is, but for the first `_SURE` items."""
_SURE = 5
"""Of the first so many items of a hybrid ranking, all are looked at, as far as `_ROUNDS` allows."""
_ROUNDS = 6
"""How often more items of a hybrid ranking are looked at, since some came first that were not. Of many alike items each
look may bring others forward; after the last one, these stay where the index alone puts them."""
_NEAREST = 500
"""Items that are found by their vectors alone, at most."""
_ROUNDED = 1e-5
"""What rounding may leave of a part that is taken back whole."""
_PHRASE_BONUS = 0.5
"""How far towards 1 the keyword part goes for an item that holds the query as one phrase."""
_SAMPLED = 4_096
"""Keys that are looked at to tell which are likely the largest."""
_GRID = float(1 << 20)
"""Scores are multiples of 1 / _GRID: sums of them are exact in 32 bits, so freshness never swaps what it adds 1 to."""
_STEP = 1 / (1 << 40)
_DAY_S = 86_400.0
_DAY = timedelta(days=1)

_Keys = npt.NDArray[np.floating[Any]]


@dataclass(frozen=True, slots=True)
class Question:
    """What a ranked read asks."""

    query: Query
    """What its words look for; without units where only its meaning counts."""
    phrase: str
    """All of it as one phrase of `spaced` text."""
    mode: FetchMode
    vector: Vector | None = None
    """None where the mode, or a failure, leaves words alone."""
    hint: TimeHint | None = None


class Ranking:
    """Rows that a question finds, ascending, with their scores; ties go to the later stored."""

    def __init__(
        self,
        rows: Rows,
        keyword: Scores,
        vector: Scores,
        weights: WeightProfile,
        now: float,
        *,
        fresh: npt.NDArray[np.float64] | None = None,
        protected: Sequence[int] = (),
        hinted: Mask | None = None,
        seeming: Mask | None = None,
    ) -> None:
        """`fresh`: the freshness of each row, None where it has no weight; `protected`: rows of the first five without
        it, which stay among the first five. `seeming`: see `is_seeming`.
        """
        self.weights = weights
        self.is_cut = False
        self._now = now
        self._rows = rows
        self._keyword = keyword
        self._vector = vector
        self._hinted = hinted
        self._seeming = seeming
        scores = _weighed(keyword, vector, weights)
        if fresh is not None:
            scores = scores + _on_grid(weights.freshness * fresh)
        self._scores: Scores = scores.astype(np.float32, copy=False)
        self._keys: _Keys = self._scores
        self._lift = 0.0
        if hinted is not None:
            # What falls on hinted days ranks before the rest.
            self._lift = _lift(self._scores)
            self._keys = self._scores + self._lift * hinted
        if protected:
            self._put_back(np.searchsorted(rows, sorted(protected)))

    @property
    def has_seeming(self) -> bool:
        return self._seeming is not None

    def is_seeming(self, place: RankPlace) -> bool:
        """Whether the item at a place that `after` gave is a hit only if it holds a run of characters that is sought:
        its pairs are all there, but may stand apart.
        """
        return self._seeming is not None and bool(self._seeming[self._at(place.row)])

    def cut(self, count: int) -> Ranking:
        """Its first `count` places, as a ranking that takes no more memory than they do; itself if it has no more."""
        if len(self._rows) <= count:
            return self
        kept = _largest(self._keys, count)
        other = copy(self)
        other.is_cut = True
        other._rows, other._scores, other._keys = self._rows[kept], self._scores[kept], self._keys[kept]
        other._keyword, other._vector = self._keyword[kept], self._vector[kept]
        other._hinted = None if self._hinted is None else self._hinted[kept]
        other._seeming = None if self._seeming is None else self._seeming[kept]
        return other

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
        return [self._place(row) for row in rows[_best(keys, limit)].tolist()]

    def breakdown(self, place: RankPlace, observed_at: Timestamp | None) -> RetrievalScoreBreakdown:
        """The parts of the score at a place that `after` gave; `observed_at` of the item there.

        The score is their weighted sum, but for an item that was put back among the first five.
        """
        at = self._at(place.row)
        second, _ = split_time(observed_at)
        fresh = 0.0 if observed_at is None else freshness((self._now - second) / _DAY_S)
        return RetrievalScoreBreakdown(
            keyword_relevance=float(self._keyword[at]),
            vector_similarity=float(self._vector[at]),
            freshness=fresh,
            final_score=place.score,
            profile=self.weights.name,
        )

    def _put_back(self, protected: Rows) -> None:
        """Put these places among the first `_SURE`, of which they are no more: see the begin of this module."""
        first = _best(self._keys, 2 * _SURE + 1)
        others = first[~np.isin(first, protected)]
        taken = _SURE - len(protected)
        if taken >= len(others):
            return
        best = int(others[taken])
        keys = self._keys.astype(np.float64)
        worse = [at for at in protected.tolist() if (keys[at], at) < (keys[best], best)]
        worse.sort(key=lambda at: (keys[at], at), reverse=True)
        equal = [
            at for at in sorted([*others[:taken], *protected], reverse=True) if keys[at] == keys[best] and at > best
        ]
        # Where `best` falls on hinted days these all do: else they would not have been among the first five, or would
        # not be worse. Other keys differ by more than these steps.
        for steps, at in enumerate(reversed(equal + worse), 1):
            keys[at] = keys[best] + steps * _STEP
        self._scores[worse] = self._scores[best]
        self._keys = keys

    def _at(self, row: int) -> int:
        return int(np.searchsorted(self._rows, row))

    def _place(self, row: int) -> RankPlace:
        at = self._at(row)
        return RankPlace(self._hinted is not None and bool(self._hinted[at]), float(self._scores[at]), row)

    def _present_key(self, place: RankPlace) -> float:
        """The key of the item at `place`: as it ranks now where it is still found, else as it ranked then."""
        at = self._at(place.row)
        if at < len(self._rows) and self._rows[at] == place.row:
            return float(self._keys[at])
        return place.score + (self._lift if place.is_hinted else 0.0)


class Ranker:
    """Ranks the rows of a mask. Not thread-safe, as the columns it reads."""

    def __init__(
        self, columns: Columns, search: KeywordSearch, vectors: VectorIndex, profile: WeightProfile | None
    ) -> None:
        """`profile` weighs the parts of a hybrid read; None for the engine's own. Other modes have one part alone."""
        self._columns = columns
        self._search = search
        self._vectors = vectors
        self._weights = {
            FetchMode.KEYWORD: _BY_KEYWORD,
            FetchMode.VECTOR: _BY_VECTOR,
            FetchMode.HYBRID: profile or EMBEDDED,
        }

    def rank(
        self, conn: sqlite3.Connection, question: Question, mask: Mask, read_item: ReadItem, now: float
    ) -> Ranking:
        """The rows of `mask` that hold something of the question or are near it. `now`: seconds since 1970.

        Words, vectors and columns must be in step.
        """
        weights = self._weights[question.mode]
        rows, scores = self._search.score(conn, question.query, mask)
        best_possible = self._search.best_possible(conn, question.query) or 1.0
        by_item = np.divide(scores, np.float32(best_possible), out=scores)
        vector = np.zeros(len(rows), np.float32)
        if question.vector is not None:
            near = self._vectors.nearest(conn, question.vector, mask, _NEAREST)
            rows, by_item, vector = _united(rows, by_item, *near)
        hinted = None if question.hint is None else self._falls_on(rows, question.hint)

        def find(unit: Unit) -> tuple[Rows, Scores]:
            return self._search.score(conn, Query((unit,), None), mask)

        sought = self.sought(conn, question.query, question.phrase)
        draft = _Draft(rows, by_item, vector, hinted, sought, best_possible)
        chosen = np.zeros(0, np.int64)
        if sought.is_several or question.vector is not None:
            chosen = np.sort(draft.first(by_item, _LOOKED_AT))
            if question.vector is not None:
                chosen = np.union1d(chosen, draft.first(vector, _LOOKED_AT))
        sure = draft.first(by_item, _SURE) if len(chosen) else chosen
        for _ in range(1 + _ROUNDS):
            draft.look_at_texts(chosen, sure, read_item, find)
            if question.vector is not None:
                draft.vector[chosen] = self._vector_parts(conn, rows[chosen], question.vector)
            if question.mode is not FetchMode.HYBRID:
                break
            # Neither the best by words nor by vectors, and yet the best by both.
            first = draft.first(_weighed(draft.keyword, draft.vector, weights), _LOOKED_AT)
            sure = first[:_SURE]
            if draft.is_looked_at[sure].all():
                break
            chosen = np.sort(first[~draft.is_looked_at[first]])
        keyword, vector = draft.keyword, draft.vector
        seeming = self._seeming(conn, question.query, mask, rows)
        if seeming is not None:
            seeming &= ~draft.is_read & (vector < VECTOR_HIT)
        if not keyword.all():
            hits = np.flatnonzero((keyword > 0) | (vector >= VECTOR_HIT))
            rows, keyword, vector = rows.take(hits), keyword.take(hits), vector.take(hits)
            hinted = None if hinted is None else hinted.take(hits)
            seeming = None if seeming is None else seeming.take(hits)
        ranking = Ranking(rows, keyword, vector, weights, now, hinted=hinted, seeming=seeming)
        if not weights.freshness:
            return ranking
        protected = [place.row for place in ranking.after(None, _SURE) if draft.is_whole(place.row, read_item)]
        fresh = self._fresh(rows, now)
        return Ranking(
            rows, keyword, vector, weights, now, fresh=fresh, protected=protected, hinted=hinted, seeming=seeming
        )

    def sought(self, conn: sqlite3.Connection, query: Query, phrase: str) -> Sought:
        """What a query looks for; `phrase` as of `Sought`."""
        rarities = self._search.rarities(conn, query)
        return Sought(
            [
                Wanted(unit, tells, self._search.stems(conn, unit))
                for unit, tells in zip(query.units, rarities, strict=True)
            ],
            phrase,
        )

    def span(
        self, conn: sqlite3.Connection, row: int, item: StoreItem, question: Question, sought: Sought
    ) -> Span | None:
        """The passage of an item that holds most of a question, or else is nearest to it; None where none is known."""
        span = sought.look(item).span
        if span is None and question.vector is not None:
            (nearest,) = self._vectors.best_passages(conn, np.array([row], np.int64), question.vector)
            if nearest is not None:
                return nearest[1:]
            spans = passages_of(item)
            return spans[0] if len(spans) == 1 else None
        return span

    def _vector_parts(self, conn: sqlite3.Connection, rows: Rows, query: Vector) -> Scores:
        parts = self._vectors.cosines(conn, rows, query)
        for place, nearest in enumerate(self._vectors.best_passages(conn, rows, query)):
            if nearest is not None:
                parts[place] = (parts[place] + nearest[0]) / 2
        return np.clip(parts, 0.0, 1.0)

    def _seeming(self, conn: sqlite3.Connection, query: Query, mask: Mask, rows: Rows) -> Mask | None:
        """Which of the rows are found, if by words, then only by runs of characters that the index does not prove."""
        proven = Query(tuple(unit for unit in query.units if unit.phrase is None), None)
        if len(proven.units) == len(query.units):
            return None
        return np.isin(rows, self._search.score(conn, proven, mask)[0], assume_unique=True, invert=True)

    def _fresh(self, rows: Rows, now: float) -> npt.NDArray[np.float64]:
        """The freshness of rows: 1 for what is new, 0 for what has no date."""
        seconds = self._columns.seconds.values[rows]
        days = np.maximum(now - seconds.astype(np.float64), 0.0) / _DAY_S
        fresh: npt.NDArray[np.float64] = np.where(seconds == UNDATED, 0.0, np.exp2(-days / HALF_LIFE_DAYS))
        return fresh

    def _falls_on(self, rows: Rows, hint: TimeHint) -> Mask:
        first, last = _bounds(hint)
        seconds = self._columns.seconds.values[rows]
        is_on: Mask = (seconds >= first) & (seconds < last) & (seconds != UNDATED)
        return is_on


class _Draft:
    """A ranking in the making: what is known of each row so far."""

    def __init__(
        self,
        rows: Rows,
        by_item: Scores,
        vector: Scores,
        hinted: Mask | None,
        sought: Sought,
        best_possible: float,
    ) -> None:
        """`by_item`: BM25 of whole items, as a share of the `best_possible` one."""
        self._best_possible = best_possible
        self._rows = rows
        self._by_item = by_item
        self._hinted = hinted
        self._sought = sought
        self._gains: dict[Unit, tuple[Rows, Scores]] = {}
        self._chars = 0
        # What is not looked at holds at least such a share of the query as its score is of the best possible one.
        self.keyword = by_item * by_item if sought.is_several else by_item
        self.vector = vector
        self.is_looked_at = np.zeros(len(rows), np.bool_)
        self.is_read = np.zeros(len(rows), np.bool_)
        """Places whose texts were looked at."""
        self._whole: dict[int, bool] = {}

    def first(self, keys: _Keys, limit: int) -> Rows:
        """Places of the `limit` largest keys above 0, largest first; hinted rows before all others."""
        if self._hinted is None:
            places = _best(keys, limit)
            return places[keys[places] > 0]
        places = np.flatnonzero(keys > 0)
        held = keys[places]
        return places[_best(held + _lift(held) * self._hinted[places], limit)]

    def is_whole(self, row: int, read_item: ReadItem) -> bool:
        """Whether the item in a row holds the query as one phrase."""
        if row not in self._whole:
            self._whole[row] = self._sought.look(read_item(row)).is_whole
        return self._whole[row]

    def look_at_texts(
        self, places: Rows, sure: Rows, read_item: ReadItem, find: Callable[[Unit], tuple[Rows, Scores]]
    ) -> None:
        """Put the keyword parts right that the index alone cannot know, the best first; of long texts no more than
        `_CHARS_LOOKED_AT` allows, but for those of the places in `sure`.

        `find`: the rows that seem to hold a unit, ascending, and what they gained by it.
        """
        if not self._sought.is_several:
            self.is_looked_at[places] = True  # the index knows all
            return
        always = frozenset(sure.tolist())
        for at in places[np.argsort(-self._by_item[places], kind="stable")].tolist():
            by_item = float(self._by_item[at])
            if by_item and self._chars > _CHARS_LOOKED_AT and at not in always:
                continue
            self.is_looked_at[at] = True
            if not by_item or self.is_read[at]:
                continue
            row = int(self._rows[at])
            look = self._sought.look(read_item(row))
            self._chars += look.chars
            self.is_read[at] = True
            self._whole[row] = look.is_whole
            left = by_item - self._taken_back(look.unproven, row, find)
            left = left if left > _ROUNDED * by_item else 0.0
            if not look.share:
                # Nothing is left, or it is spelled as only the index knows it.
                self.keyword[at] = left * left
                continue
            part = (left * math.pow(look.share, SHARE_POWER) + look.passage) / 2
            self.keyword[at] = part + (1.0 - part) * _PHRASE_BONUS if look.is_whole else part

    def _taken_back(self, units: Sequence[Unit], row: int, find: Callable[[Unit], tuple[Rows, Scores]]) -> float:
        """What of a row's part units gave that it only seemed to hold."""
        taken = 0.0
        for unit in units:
            if unit not in self._gains:
                self._gains[unit] = find(unit)
            holders, gains = self._gains[unit]
            taken += float(gains[slice(*np.searchsorted(holders, (row, row + 1)))].sum()) / self._best_possible
        return taken


def _united(rows: Rows, by_item: Scores, near: Rows, cosines: Scores) -> tuple[Rows, Scores, Scores]:
    """The rows of two findings, ascending, with what each of them gives for a row; 0 where it has not found it."""
    united = np.union1d(rows, near)
    parts = np.zeros((2, len(united)), np.float32)
    parts[0, np.searchsorted(united, rows)] = by_item
    parts[1, np.searchsorted(united, near)] = np.clip(cosines, 0.0, 1.0)
    return united, parts[0], parts[1]


def _weighed(keyword: Scores, vector: Scores, weights: WeightProfile) -> _Keys:
    """The scores without freshness."""
    if weights in (_BY_KEYWORD, _BY_VECTOR):
        return keyword if weights is _BY_KEYWORD else vector
    return _on_grid(weights.keyword * keyword.astype(np.float64) + weights.vector * vector.astype(np.float64))


def _on_grid(scores: npt.NDArray[np.float64]) -> npt.NDArray[np.float64]:
    return np.rint(scores * _GRID) / _GRID


def _lift(keys: _Keys) -> float:
    """A power of two above every key: added to some of them it puts these first, and loses no bit of a 32-bit score."""
    return float(2.0 ** math.ceil(math.log2(float(keys.max(initial=0.0)) + 1.0)))


def _best(keys: _Keys, limit: int) -> Rows:
    """Places of the `limit` largest keys, largest first, ties to the later place."""
    places = _largest(keys, limit)
    return places[np.lexsort((places, keys[places]))[::-1]]


def _largest(keys: _Keys, limit: int) -> Rows:
    """As `_best`, but ascending."""
    places = _likely(keys, limit)
    if limit >= len(places):
        return places
    held = keys[places]
    least = np.partition(held, len(held) - limit)[len(held) - limit]
    is_kept = held >= least
    equal = np.flatnonzero(held == least)
    is_kept[equal[: np.count_nonzero(is_kept) - limit]] = False
    return places.compress(is_kept)


def _likely(keys: _Keys, limit: int) -> Rows:
    """Places, ascending, the `limit` largest keys among them: where these are few, told by a sample, not many more."""
    step = len(keys) // _SAMPLED
    rank = 2 * limit // max(step, 1) + 16
    if step > 1 and rank < _SAMPLED // 2:
        sample = keys[::step]
        places = np.flatnonzero(keys >= np.partition(sample, len(sample) - rank)[len(sample) - rank])
        if len(places) >= limit:
            return places
    return np.arange(len(keys))


def _bounds(hint: TimeHint) -> tuple[int, int]:
    """The seconds at which the hinted days begin, and end (not included)."""
    zone = zone_named(hint.zone)
    # The first and the last day of the calendar begin or end where there is no time; both have 24 hours.
    first = hint.from_ == date.min
    last = hint.to == date.max
    begin, _ = split_time(begin_of(hint.from_ + _DAY * first, zone))
    end, _ = split_time(begin_of(hint.to + _DAY * (not last), zone))
    return begin - int(_DAY_S) * first, end + int(_DAY_S) * last
