"""The order of what a query finds: parts of a score between 0 and 1, joined by the weights of a profile.

Keyword part: BM25 divided by the most that the query could get, so that 1 is an item that holds every word so often
that it counts in full, and a weak match stays weak beside a vector's. For the best items it is the mean of the whole
item's and of its best passage's, each times a power of the share of the query, by rarity, that it holds at all. For the
rest of a query of several words its square stands for that: what an item holds at all is at least its score.
Vector part: the mean of the item's cosine and of its best passage's; the item's alone beyond the best.
Freshness: halves in a week. What holds the query as a whole phrase does not age, so that no newer item passes it.

The choices and the weights are measured: tests/benchmarks/bench_quality.py.
"""

from __future__ import annotations

import math
import sqlite3
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, date, datetime, time, timedelta
from typing import Any
from zoneinfo import ZoneInfo

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
"""Characters of their texts after which no further one is."""
_SURE = 5
"""Of the first so many items of a hybrid ranking, all are looked at."""
_NEAREST = 500
"""Items that are found by their vectors alone, at most."""
_ROUNDED = 1e-5
"""What rounding may leave of a part that is taken back whole."""
_PHRASE_BONUS = 0.5
"""How far towards 1 the keyword part goes for an item that holds the query as one phrase."""
_GRID = float(1 << 20)
"""Scores are multiples of 1 / _GRID: sums of them are exact in 32 bits, so freshness never swaps what it adds 1 to."""
_DAY_S = 86_400.0
_EPOCH = datetime(1970, 1, 1, tzinfo=UTC)

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
        ageless: frozenset[int] = frozenset(),
        hinted: Mask | None = None,
    ) -> None:
        """`fresh`: the freshness of each row, None where it has no weight; `ageless`: rows whose freshness stays 1."""
        self.weights = weights
        self._now = now
        self._rows = rows
        self._keyword = keyword
        self._vector = vector
        self._ageless = ageless
        self._hinted = hinted
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
        """The parts of the score at a place that `after` gave; `observed_at` of the item there."""
        at = self._at(place.row)
        second, _ = split_time(observed_at)
        fresh = 0.0 if observed_at is None else freshness((self._now - second) / _DAY_S)
        return RetrievalScoreBreakdown(
            keyword_relevance=float(self._keyword[at]),
            vector_similarity=float(self._vector[at]),
            freshness=1.0 if place.row in self._ageless else fresh,
            final_score=place.score,
            profile=self.weights.name,
        )

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
        by_item = scores / np.float32(best_possible)
        vector = np.zeros(len(rows), np.float32)
        if question.vector is not None:
            near = self._vectors.nearest(conn, question.vector, mask, _NEAREST)
            rows, by_item, vector = _united(rows, by_item, *near)
        hinted = None if question.hint is None else self._falls_on(rows, question.hint)

        def find(unit: Unit) -> tuple[Rows, Scores]:
            return self._search.score(conn, Query((unit,), None), mask)

        sought = self.sought(conn, question.query, question.phrase)
        draft = _Draft(rows, by_item, vector, hinted, sought, best_possible)
        needs_texts = sought.is_several or weights.freshness > 0
        chosen = np.zeros(0, np.int64)
        if needs_texts or question.vector is not None:
            chosen = np.union1d(draft.first(by_item, _LOOKED_AT), draft.first(vector, _LOOKED_AT))
        while len(chosen):
            if needs_texts:
                draft.look_at_texts(chosen, read_item, find)
            if question.vector is not None:
                draft.vector[chosen] = self._vector_parts(conn, rows[chosen], question.vector)
            draft.is_looked_at[chosen] = True
            chosen = np.zeros(0, np.int64)
            if question.mode is FetchMode.HYBRID:
                # Neither the best by words nor by vectors, and yet the best by both.
                first = draft.first(_weighed(draft.keyword, draft.vector, weights), _LOOKED_AT)
                if not draft.is_looked_at[first[:_SURE]].all():
                    chosen = np.sort(first[~draft.is_looked_at[first]])
        keyword, vector, ageless = draft.keyword, draft.vector, frozenset(draft.whole)
        if np.count_nonzero(keyword) < len(rows):
            hits = np.flatnonzero((keyword > 0) | (vector >= VECTOR_HIT))
            rows, keyword, vector = rows.take(hits), keyword.take(hits), vector.take(hits)
            hinted = None if hinted is None else hinted.take(hits)
        fresh = self._fresh(rows, ageless, now) if weights.freshness else None
        return Ranking(rows, keyword, vector, weights, now, fresh=fresh, ageless=ageless, hinted=hinted)

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

    def _fresh(self, rows: Rows, ageless: frozenset[int], now: float) -> npt.NDArray[np.float64]:
        """The freshness of rows: 1 for what is new or does not age, 0 for what has no date."""
        seconds = self._columns.seconds.values[rows]
        days = np.maximum(now - seconds.astype(np.float64), 0.0) / _DAY_S
        fresh = np.where(seconds == UNDATED, 0.0, np.exp2(-days / HALF_LIFE_DAYS))
        fresh[np.searchsorted(rows, sorted(ageless))] = 1.0
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
        self.whole: list[int] = []
        """Rows that hold the query as one phrase, as far as they were looked at."""

    def first(self, keys: _Keys, limit: int) -> Rows:
        """Places of the `limit` largest keys above 0, largest first; hinted rows before all others."""
        places = np.flatnonzero(keys > 0)
        held = keys[places]
        if self._hinted is not None:
            held = held + _lift(held) * self._hinted[places]
        return places[_best(held, limit)]

    def look_at_texts(self, places: Rows, read_item: ReadItem, find: Callable[[Unit], tuple[Rows, Scores]]) -> None:
        """Put the keyword parts right that the index alone cannot know, the best first.

        `find`: the rows that seem to hold a unit, ascending, and what they gained by it.
        """
        for at in places[np.argsort(-self._by_item[places], kind="stable")].tolist():
            by_item = float(self._by_item[at])
            if not by_item or self._chars > _CHARS_LOOKED_AT:
                return
            row = int(self._rows[at])
            look = self._sought.look(read_item(row))
            self._chars += look.chars
            if look.is_whole:
                self.whole.append(row)
            if not self._sought.is_several:
                continue
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
            taken += float(gains[holders == row].sum()) / self._best_possible
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
    places = np.arange(len(keys))
    if limit < len(keys):
        places = np.flatnonzero(keys >= np.partition(keys, len(keys) - limit)[len(keys) - limit])
    return places[np.lexsort((places, keys[places]))[::-1][:limit]]


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
