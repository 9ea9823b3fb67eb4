"""The order of listings: `observed_at` descending, items without one last, then the later stored first."""

from __future__ import annotations

import numpy as np

from explorer.engines.sqlite.columns import Columns, Rows
from explorer.engines.sqlite.cursors import ListPlace
from explorer.engines.sqlite.fields import UNDATED
from explorer.engines.sqlite.filters import Selection
from explorer.engines.sqlite.segments import Array

_FIRST_BLOCK = 2_048
_FEW = 1_024
"""Rows of a selection up to which they are sorted by themselves, instead of being looked for among all."""
_SAMPLED = 4_096
"""Rows that are looked at to tell which are likely the newest."""
_SORTED_ANEW = 4_096  # new rows beyond which one sort is cheaper than placing each


class NewestFirst:
    """A permutation of the rows, holes included, kept sorted as rows are added."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._epoch = 0
        self._opened_for = 0
        self._rows: Array = np.zeros(0, np.uint32)

    def place(self, row: int) -> ListPlace:
        """The row's sort key."""
        return ListPlace(int(self._columns.seconds.values[row]), int(self._columns.nanoseconds.values[row]), row)

    def page(self, selection: Selection, after: ListPlace | None, limit: int) -> list[int]:
        """The first `limit` rows of a selection that come after a place (None: from the start), in order."""
        if selection.total <= _FEW:
            rows = self._sorted(selection.rows)
            start = 0 if after is None else self._rank_after(rows, after)
            few: list[int] = rows[start : start + limit].tolist()
            return few
        if after is None and self._must_sort_all and self._opened_for != self._columns.epoch:
            self._opened_for = self._columns.epoch  # once: who asks again is worth sorting for
            newest = self._newest(selection, limit)
            if newest is not None:
                return newest
        self._bring_up_to_date()
        rows, mask = self._rows, selection.mask
        start = 0 if after is None else self._rank_after(rows, after)
        found: list[int] = []
        size = max(_FIRST_BLOCK, 2 * min(limit, len(rows)))
        while start < len(rows) and len(found) < limit:
            block = rows[start : start + size]
            found += block[mask[block]][: limit - len(found)].tolist()
            start += size
            size *= 2
        return found

    def all(self, selection: Selection) -> Rows:
        """The rows of a selection, in order; also of one from before rows came or went."""
        if selection.total <= _FEW:
            return self._sorted(selection.rows)
        self._bring_up_to_date()
        mask, rows = selection.mask, self._rows
        if len(mask) < len(rows):
            rows = rows[rows < len(mask)]
        ordered: Rows = rows[mask[rows]]
        return ordered

    def _newest(self, selection: Selection, limit: int) -> list[int] | None:
        """The first `limit` rows, without sorting the others, for the first page after opening; None where too many are
        of one time."""
        rows = self._likely(selection, limit)
        seconds = self._columns.seconds.values[rows]
        least = np.partition(seconds, len(rows) - limit)[len(rows) - limit] if limit < len(rows) else UNDATED
        newest = rows[seconds >= least]
        if len(newest) > limit + _FEW:
            return None
        first: list[int] = self._sorted(newest)[:limit].tolist()
        return first

    def _likely(self, selection: Selection, limit: int) -> Rows:
        """Rows of a selection, ascending, the newest `limit` among them: by a sample, not many more."""
        mask, seconds = selection.mask, self._columns.seconds.values
        step = len(mask) // _SAMPLED
        rank = 2 * limit // max(step, 1) + 16
        if step > 1:
            sample = seconds[::step][mask[::step]]
            if rank < len(sample):
                mask &= seconds >= np.partition(sample, len(sample) - rank)[len(sample) - rank]
                rows = np.flatnonzero(mask)
                if len(rows) >= limit:
                    return rows
        return selection.rows

    def _rank_after(self, rows: Array, place: ListPlace) -> int:
        """How many of the sorted `rows` come before or at `place`."""
        low, high = 0, len(rows)
        while low < high:
            middle = (low + high) // 2
            if self.place(int(rows[middle])) >= place:
                low = middle + 1
            else:
                high = middle
        return low

    @property
    def _must_sort_all(self) -> bool:
        """Whether what is sorted is of no use, or too little of all."""
        # Rows that were removed have lost their times at a new epoch: what was sorted by them no longer is.
        known = len(self._rows) if self._epoch == self._columns.epoch else 0
        return self._columns.rows - known > min(_SORTED_ANEW, known // 8)

    def _bring_up_to_date(self) -> None:
        columns = self._columns
        is_small = not self._must_sort_all
        if self._epoch != columns.epoch:
            self._epoch, self._rows = columns.epoch, np.zeros(0, np.uint32)
        known, rows = len(self._rows), columns.rows
        if rows == known:
            return
        fresh = self._sorted(np.arange(known if is_small else 0, rows))
        if is_small:
            ranks = [self._rank_after(self._rows, self.place(int(row))) for row in fresh]
            fresh = np.insert(self._rows, ranks, fresh)
        self._rows = fresh.astype(np.uint32)

    def _sorted(self, rows: Rows) -> Rows:
        """Ascending rows, newest first."""
        if not len(rows):
            return rows
        seconds = self._columns.seconds.values[rows]
        is_dated = seconds != UNDATED
        # From 1 on; as Python's numbers, which do not overflow.
        begin = int(seconds.min(where=is_dated, initial=np.iinfo(np.int64).max)) - 1
        bits = len(rows).bit_length()
        if (int(seconds.max()) - begin).bit_length() + bits > 63:
            slowly: Rows = rows[np.lexsort((self._columns.nanoseconds.values[rows], seconds))[::-1]]
            return slowly
        # Second and place in one number: plain numbers sort many times faster than anything by keys.
        keys = np.where(is_dated, seconds - begin, 0)
        keys <<= bits
        keys |= np.arange(len(rows))
        keys.sort()
        ordered: Rows = rows[keys & ((1 << bits) - 1)]
        keys >>= bits
        self._sort_ties(ordered, keys)
        return ordered[::-1]

    def _sort_ties(self, rows: Rows, seconds: Array) -> None:
        """Put rows of the same second, which follow one another, in the order of their nanoseconds."""
        is_same = (seconds[1:] == seconds[:-1]) & (seconds[1:] > 0)
        is_tied = np.zeros(len(rows), np.bool_)
        is_tied[1:] = is_same
        is_tied[:-1] |= is_same
        at = np.flatnonzero(is_tied)
        tied = rows[at]
        nanoseconds = self._columns.nanoseconds.values[tied]
        if nanoseconds.any():
            rows[at] = tied[np.lexsort((nanoseconds, seconds[at]))]
