"""Counts of a facet's values among the rows that a filter admits."""

from __future__ import annotations

import sqlite3
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from functools import partial

import numpy as np
from pydantic import TypeAdapter

from explorer.contract import ExplorePage, Facet, FacetBucket
from explorer.engines.sqlite.columns import Columns
from explorer.engines.sqlite.cores import on_cores
from explorer.engines.sqlite.fields import FIELD_OF_FACET, MISSING, Field
from explorer.engines.sqlite.filters import Selection
from explorer.engines.sqlite.segments import Array

_BUCKETS = TypeAdapter(list[FacetBucket])
"""Of which many are made in a third of the time that one after the other takes."""
_FIRST = MISSING + 1
"""The first code that stands for a value."""


def explore(
    conn: sqlite3.Connection, columns: Columns, selection: Selection, wanted: Iterable[tuple[Facet, int | None]]
) -> list[ExplorePage]:
    """For each facet the largest buckets, as many as wanted (None: all), ties by value; exact, so never truncated."""
    wanted = list(wanted)
    counted = _Counted(columns, selection, [FIELD_OF_FACET[facet] for facet, _ in wanted])
    jobs = [partial(_Largest.of, counted, FIELD_OF_FACET[facet], limit) for facet, limit in wanted]
    largest = on_cores(jobs, sum(columns.dictionaries[FIELD_OF_FACET[facet]].size for facet, _ in wanted))
    return [
        _page(conn, columns, facet, counted.total, found) for (facet, _), found in zip(wanted, largest, strict=True)
    ]


class _Counted:
    """Counts over a selection: of its rows, or of all items without the rows left out, whichever are fewer."""

    def __init__(self, columns: Columns, selection: Selection, fields: Sequence[Field]) -> None:
        """`fields`: those that will be asked for."""
        self._columns = columns
        self.total = selection.total
        self._is_from_all = 2 * selection.total > columns.living
        if self._is_from_all:
            columns.count_all(fields)
        mask = columns.alive.values & ~selection.mask if self._is_from_all else selection.mask
        rows = np.flatnonzero(mask)
        self._counts = columns.count_each(fields, rows, mask) if len(rows) else {}

    def of(self, field: Field) -> Array:
        """How often each code occurs; not to be changed."""
        if not self._is_from_all:
            return self._counts.get(field, np.zeros(1, np.int64))
        counts = self._columns.counts(field)
        return counts - self._counts[field] if self._counts else counts


@dataclass(frozen=True, slots=True)
class _Largest:
    """What a facet's page is made of."""

    counts: Array
    """By code."""
    different: int
    """Values that occur."""
    more: Array
    """The codes that are among the largest for sure."""
    equal: Array
    """Those of one count of which the first by value are the rest; the strings tell which."""
    wanted: int
    """How many of these."""

    @classmethod
    def of(cls, counted: _Counted, field: Field, limit: int | None) -> _Largest:
        counts = counted.of(field)
        those = counts[_FIRST:]
        is_held = those > 0  # numpy looks through numbers many times slower than through these
        different = int(np.count_nonzero(is_held))
        if limit is None or different <= limit:
            return cls(counts, different, np.flatnonzero(is_held) + _FIRST, np.zeros(0, np.int64), 0)
        held = None
        if different < len(those) // 4:  # most strings are of no item then: they are looked at once
            held = np.flatnonzero(is_held)
            those = those.take(held)
        least = _at_rank(those, limit)
        more, equal = np.flatnonzero(those > least), np.flatnonzero(those == least)
        if held is not None:
            more, equal = held.take(more), held.take(equal)
        more += _FIRST
        equal += _FIRST
        return cls(counts, different, more, equal, limit - len(more))


def _page(conn: sqlite3.Connection, columns: Columns, facet: Facet, total: int, found: _Largest) -> ExplorePage:
    dictionary = columns.dictionaries[FIELD_OF_FACET[facet]]
    codes = found.more.tolist()
    if found.wanted:
        codes += dictionary.smallest(conn, found.equal, found.wanted)
    return ExplorePage(
        facet=facet,
        buckets=_buckets(codes, found.counts, dictionary.strings(conn, codes)),
        total=total,
        missing=int(found.counts[MISSING]),
        more_buckets=found.different - len(codes),
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
