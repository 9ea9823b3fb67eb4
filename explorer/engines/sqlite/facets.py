"""Counts of a facet's values among the rows that a filter admits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import numpy as np

from explorer.contract import ExplorePage, Facet, FacetBucket
from explorer.engines.sqlite.columns import Columns
from explorer.engines.sqlite.fields import FIELD_OF_FACET, MISSING, Field
from explorer.engines.sqlite.filters import Selection
from explorer.engines.sqlite.segments import Array


def explore(
    conn: sqlite3.Connection, columns: Columns, selection: Selection, wanted: Iterable[tuple[Facet, int | None]]
) -> list[ExplorePage]:
    """For each facet the largest buckets, as many as wanted (None: all), ties by value; exact, so never truncated."""
    counted = _Counted(columns, selection)
    return [_page(conn, columns, counted, facet, limit) for facet, limit in wanted]


class _Counted:
    """Counts over a selection: of its rows, or of all items without the rows left out, whichever are fewer."""

    def __init__(self, columns: Columns, selection: Selection) -> None:
        self._columns = columns
        self.total = selection.total
        self._is_from_all = 2 * selection.total > columns.living
        if self._is_from_all:
            self._rows = np.flatnonzero(columns.alive.values & ~selection.mask)
        else:
            self._rows = selection.rows

    def of(self, field: Field) -> Array:
        """How often each code occurs, in an array of the caller's own."""
        if not self._is_from_all:
            return self._columns.count(field, self._rows)
        counts = self._columns.counts(field)
        return counts - self._columns.count(field, self._rows) if len(self._rows) else counts.copy()


def _page(
    conn: sqlite3.Connection, columns: Columns, counted: _Counted, facet: Facet, limit: int | None
) -> ExplorePage:
    dictionary = columns.dictionaries[FIELD_OF_FACET[facet]]
    counts = counted.of(FIELD_OF_FACET[facet])
    missing = int(counts[MISSING])
    counts[MISSING] = 0
    different = int(np.count_nonzero(counts))
    if limit is None or different <= limit:
        codes = np.flatnonzero(counts).tolist()
    else:
        least = _at_rank(counts, limit)
        codes = np.flatnonzero(counts > least).tolist()
        codes += dictionary.smallest(conn, np.flatnonzero(counts == least), limit - len(codes))
    return ExplorePage(
        facet=facet,
        buckets=_buckets(codes, counts, dictionary.strings(conn, codes)),
        total=counted.total,
        missing=missing,
        more_buckets=different - len(codes),
        truncated=False,
    )


def _at_rank(counts: Array, rank: int) -> int:
    """The count that the `rank`-th largest has, above 0."""

    def reaches(least: int) -> bool:
        return int(np.count_nonzero(counts >= least)) >= rank

    # By trying: most counts are small, so that few tries do, each many times faster than partitioning.
    low, high = 1, 2
    while reaches(high):
        low, high = high, 2 * high
    while high - low > 1:
        middle = (low + high) // 2
        low, high = (middle, high) if reaches(middle) else (low, middle)
    return low


def _buckets(codes: Sequence[int], counts: Array, strings: Sequence[str]) -> list[FacetBucket]:
    held = zip((-counts[codes]).tolist(), strings, strict=True)
    return [FacetBucket(value=value, count=-count) for count, value in sorted(held)]
