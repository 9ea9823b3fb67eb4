"""The order of listings: `observed_at` descending, items without one last, then the later stored first."""

from __future__ import annotations

import numpy as np

from explorer.engines.sqlite.columns import Array, Columns, Mask
from explorer.engines.sqlite.cursors import ListPlace

_FIRST_BLOCK = 2_048
_SORTED_ANEW = 4_096  # new rows beyond which one sort is cheaper than placing each


class NewestFirst:
    """A permutation of the rows, holes included, kept sorted as rows are added."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._epoch = 0
        self._rows: Array = np.zeros(0, np.uint32)

    def place(self, row: int) -> ListPlace:
        """The row's sort key."""
        return ListPlace(int(self._columns.seconds.values[row]), int(self._columns.nanoseconds.values[row]), row)

    def page(self, mask: Mask, after: ListPlace | None, limit: int) -> list[int]:
        """The first `limit` rows of `mask` that come after a place (None: from the start), in order."""
        self._bring_up_to_date()
        start = 0 if after is None else self._rank_after(after)
        found: list[int] = []
        size = max(_FIRST_BLOCK, 2 * min(limit, len(self._rows)))
        while start < len(self._rows) and len(found) < limit:
            block = self._rows[start : start + size]
            found += block[mask[block]][: limit - len(found)].tolist()
            start += size
            size *= 2
        return found

    def _rank_after(self, place: ListPlace) -> int:
        """How many rows come before or at `place`."""
        low, high = 0, len(self._rows)
        while low < high:
            middle = (low + high) // 2
            if self.place(int(self._rows[middle])) >= place:
                low = middle + 1
            else:
                high = middle
        return low

    def _bring_up_to_date(self) -> None:
        columns = self._columns
        if self._epoch != columns.epoch:
            # Rows that were removed have lost their times: what was sorted by them no longer is.
            self._epoch, self._rows = columns.epoch, np.zeros(0, np.uint32)
        known, rows = len(self._rows), columns.rows
        if rows == known:
            return
        is_small = rows - known <= min(_SORTED_ANEW, known // 8)
        fresh = self._sorted(known if is_small else 0, rows)
        if is_small:
            ranks = [self._rank_after(self.place(int(row))) for row in fresh]
            fresh = np.insert(self._rows, ranks, fresh)
        self._rows = fresh

    def _sorted(self, start: int, stop: int) -> Array:
        seconds, nanoseconds = self._columns.seconds.values[start:stop], self._columns.nanoseconds.values[start:stop]
        rows = np.arange(start, stop, dtype=np.uint32)
        return rows[np.lexsort((rows, nanoseconds, seconds))[::-1]]
