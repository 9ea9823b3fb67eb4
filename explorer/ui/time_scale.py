"""The scale of the time line: which days its bars cover, and what is written under them. Free of Qt."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Callable
from dataclasses import dataclass
from datetime import date, timedelta, tzinfo
from itertools import pairwise

from explorer.contract import Histogram, Timestamp, TimeUnit
from explorer.contract.timeline import MAX_BARS, begin_of, day_of
from explorer.i18n import mark, tr
from explorer.text import date_in_full, day_and_month, month

YEAR_STEPS = tuple(base * 10**power for power in range(5) for base in (1, 2, 5))

_BY = {
    TimeUnit.DAY: mark("by day"),
    TimeUnit.WEEK: mark("by week"),
    TimeUnit.MONTH: mark("by month"),
    TimeUnit.YEAR: mark("by year"),
}
_MONTH_STEPS = (1, 2, 3, 4, 6, 12)
"""Months from one label to the next, of which each begins the year."""


@dataclass(frozen=True)
class Label:
    """Words under the beginning of bar `at`, which is in a month (1..12) of a year."""

    at: int
    words: str
    year: int
    month: int


@dataclass(frozen=True)
class Scale:
    """Bars side by side without gaps: bar `at` reaches from `days[at]` to `days[at + 1]`, where it begins in a zone.

    The last of `days` is None where it lies past the end of the calendar.
    """

    unit: TimeUnit
    years: int
    """That one bar of years covers; 1 with any other unit."""
    days: tuple[date | None, ...]
    counts: tuple[int, ...]
    moments: tuple[Timestamp | None, ...]

    @classmethod
    def of(cls, histogram: Histogram, zone: tzinfo) -> Scale | None:
        """None where no item has a date."""
        unit = histogram.unit
        counts = {day_of(bar.start, zone): bar.count for bar in histogram.bars}
        if not counts:
            return None
        first, last, years = min(counts), max(counts), 1
        if unit is TimeUnit.YEAR:
            least = (last.year - first.year + 1) / MAX_BARS
            years = next(step for step in YEAR_STEPS if step >= least)
            first = date(max(1, first.year // years * years), 1, 1)
        days: list[date | None] = [first]
        while (day := days[-1]) is not None and day <= last:
            days.append(_after(unit, years, day))
        begins = [day for day in days if day is not None]
        held = [0] * (len(days) - 1)
        for day, count in counts.items():
            held[bisect_right(begins, day) - 1] += count
        moments = tuple(None if day is None else begin_of(day, zone) for day in days)
        return cls(unit, years, tuple(days), tuple(held), moments)

    def __len__(self) -> int:
        return len(self.counts)

    @property
    def words(self) -> str:
        """`by week`, `by 10 years`."""
        return tr(_BY[self.unit]) if self.years == 1 else tr("by {n} years", n=self.years)

    def place_of(self, moment: Timestamp) -> float:
        """Where a moment lies, in bars from the first one's beginning; outside of all at the nearer end."""
        begins = [each for each in self.moments if each is not None]
        at = bisect_right(begins, moment) - 1
        if at < 0 or at >= len(self):
            return 0.0 if at < 0 else float(len(self))
        end = self.moments[at + 1]
        if end is None:
            return at + 0.5
        return at + (moment.as_datetime() - begins[at].as_datetime()) / (end.as_datetime() - begins[at].as_datetime())

    def labels(self) -> list[Label]:
        """What may stand under the axis, from left to right."""
        found: list[Label] = []
        before: date | None = None
        for at, day in enumerate(self.days[:-1]):
            assert day is not None  # only the last can be
            is_year = before is None or before.year != day.year
            if self.unit is TimeUnit.YEAR:
                found.append(Label(at, str(day.year), day.year, day.month))
            elif self.unit is TimeUnit.DAY:
                whole, short = date_in_full(day.day, day.month, day.year), day_and_month(day.day, day.month)
                found.append(Label(at, whole if is_year else short, day.year, day.month))
            elif before is None or before.month != day.month or is_year:
                name = month(day.month)
                words = tr("{month} {year}", month=name, year=day.year) if is_year else name
                found.append(Label(at, words, day.year, day.month))
            before = day
        return found

    def labels_for(self, room: Callable[[str], float]) -> list[Label]:
        """Those of them that stand clear of each other, at even distances but for the first.

        The first of each year that is written names it. `room`: the bars that a label takes, with the gap after it.
        """
        labels = self.labels()
        if self.unit is TimeUnit.DAY:
            widest = max(room(label.words) for label in labels)
            step = next((step for step in YEAR_STEPS if step >= widest), YEAR_STEPS[-1])
            return labels[::step]
        if self.unit is not TimeUnit.YEAR:
            for step in _MONTH_STEPS:
                even = [label for label in labels[1:] if (label.month - 1) % step == 0]
                if not self._is_crowded(even, room):
                    first = labels[0]
                    clear = [label for label in even if first.at + room(first.words) <= label.at]
                    year = next((label for label in even if label.month == 1), None)
                    if year is None or year in clear:
                        return [first, *clear]
                    return even[even.index(year) :]  # the first would stand too near to it
        years = [label for label in labels if label.month == 1 or self.unit is TimeUnit.YEAR]
        widest = max(room(label.words) for label in years)
        bars = 12 if self.unit is TimeUnit.MONTH else 1
        step = next((step for step in YEAR_STEPS if step * bars >= widest), YEAR_STEPS[-1]) * self.years
        return [label for label in years if label.year % step == 0]

    @staticmethod
    def _is_crowded(labels: list[Label], room: Callable[[str], float]) -> bool:
        return any(
            one.at + room(one.words) > other.at for one, other in pairwise(sorted(labels, key=lambda each: each.at))
        )


def _after(unit: TimeUnit, years: int, day: date) -> date | None:
    try:
        match unit:
            case TimeUnit.DAY:
                return day + timedelta(days=1)
            case TimeUnit.WEEK:
                return day + timedelta(days=7)
            case TimeUnit.MONTH:
                return date(day.year + day.month // 12, day.month % 12 + 1, 1)
            case TimeUnit.YEAR:
                return date(day.year // years * years + years, 1, 1)
    except (OverflowError, ValueError):
        return None
