"""Counts of a facet's values among the rows that a filter admits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence

import numpy as np
from pydantic import TypeAdapter

from explorer.contract import ExplorePage, Facet, FacetBucket
from explorer.engines.sqlite.columns import Columns
from explorer.engines.sqlite.fields import FIELD_OF_FACET, MISSING, Field
from explorer.engines.sqlite.filters import Selection
from explorer.engines.sqlite.segments import Array

_BUCKETS = TypeAdapter(list[FacetBucket])
"""Of which many are made in a third of the time that one after the other takes."""


def explore(
    conn: sqlite3.Connection, columns: Columns, selection: Selection, wanted: Iterable[tuple[Facet, int | None]]
) -> list[ExplorePage]:
    """For each facet the largest buckets, as many as wanted (None: all), ties by value; exact, so never truncated."""
    wanted = list(wanted)
    counted = _Counted(columns, selection, [FIELD_OF_FACET[facet] for facet, _ in wanted])
    return [_page(conn, columns, counted, facet, limit) for facet, limit in wanted]


class _Counted:
    """Counts over a selection: of its rows, or of all items without the rows left out, whichever are fewer."""

    def __init__(self, columns: Columns, selection: Selection, fields: Sequence[Field]) -> None:
        """`fields`: those that will be asked for."""
        self._columns = columns
        self.total = selection.total
        self._is_from_all = 2 * selection.total > columns.living
        mask = columns.alive.values & ~selection.mask if self._is_from_all else selection.mask
        rows = np.flatnonzero(mask) if self._is_from_all else selection.rows
        self._rows = rows
        self._counts = columns.count_each(fields, rows, mask) if len(rows) else {}

    def of(self, field: Field) -> Array:
        """How often each code occurs, in an array of the caller's own."""
        if self._is_from_all and not len(self._rows):
            return self._columns.counts(field).copy()
        counts = self._counts.pop(field, None)
        if counts is None:  # no rows, or a field that is asked for twice
            counts = self._columns.count(field, self._rows)
        return self._columns.counts(field) - counts if self._is_from_all else counts


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
        is_narrow = different < len(counts) // 4
        if is_narrow:  # most strings are of no item then: they are looked at once
            held = np.flatnonzero(counts)
            those = counts.take(held)
        else:
            those = counts
        least = _at_rank(those, limit)
        more, equal = np.flatnonzero(those > least), np.flatnonzero(those == least)
        if is_narrow:
            more, equal = held.take(more), held.take(equal)
        codes = more.tolist()
        codes += dictionary.smallest(conn, equal, limit - len(codes))
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
    return _BUCKETS.validate_python([{"value": value, "count": -count} for count, value in sorted(held)])
