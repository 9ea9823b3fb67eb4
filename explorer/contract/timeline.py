"""Items counted over time: a bar for each day, week, month or year of a time zone.

Not in memory-v2: a calendar of the program's own, from what `list` knows.
"""

from __future__ import annotations

from bisect import bisect_left
from collections import Counter
from collections.abc import Mapping
from datetime import UTC, date, datetime, time, timedelta, tzinfo
from enum import StrEnum

from pydantic import Field

from explorer.contract.errors import InvalidRequest
from explorer.contract.meta import MetaFilter
from explorer.contract.model import Count, Flag, Model, Text
from explorer.contract.query import DEFAULT_SCAN, MAX_SCAN
from explorer.contract.timestamp import Timestamp, zone_named

MAX_BARS = 120
"""Bars, empty ones included, beyond which a chosen unit gives way to the next larger one."""
FAR = 20
"""Times: few items that would stretch the bars of the others so much or more are counted beside them."""


class TimeUnit(StrEnum):
    """What one bar covers. A week begins on Monday."""

    DAY = "day"
    WEEK = "week"
    MONTH = "month"
    YEAR = "year"

    def first_day(self, day: date) -> date:
        """The first day of the unit that `day` lies in."""
        match self:
            case TimeUnit.DAY:
                return day
            case TimeUnit.WEEK:
                return day - timedelta(days=day.weekday())
            case TimeUnit.MONTH:
                return day.replace(day=1)
            case TimeUnit.YEAR:
                return day.replace(month=1, day=1)

    @classmethod
    def spanning(cls, first: date, last: date) -> TimeUnit:
        """The smallest unit with at most MAX_BARS from one day to another, else a year."""
        days = (last - first).days
        if days < MAX_BARS:
            return cls.DAY
        if (cls.WEEK.first_day(last) - cls.WEEK.first_day(first)).days < 7 * MAX_BARS:
            return cls.WEEK
        if 12 * (last.year - first.year) + last.month - first.month < MAX_BARS:
            return cls.MONTH
        return cls.YEAR


class HistogramRequest(Model):
    filter: MetaFilter = Field(default_factory=MetaFilter)
    unit: TimeUnit | None = None
    """None: the smallest that gives at most MAX_BARS, a few items that lie far from all others left beside them."""
    zone: Text | None = None
    """The IANA name of the time zone whose days are meant; None is UTC."""
    scan_limit: Count = DEFAULT_SCAN
    """Items that a counting by listing reads at most, 1..50 000."""

    def check(self) -> None:
        if not 1 <= self.scan_limit <= MAX_SCAN:
            raise InvalidRequest(f"histogram scan_limit must be between 1 and {MAX_SCAN}")
        zone_named(self.zone)


class HistogramBar(Model):
    start: Timestamp
    """When the first day of the bar begins in the zone of the request."""
    count: Count


class Histogram(Model):
    unit: TimeUnit
    bars: list[HistogramBar]
    """Those with items, oldest first."""
    earlier: Count = 0
    """Items before the first bar, far from it, in no bar."""
    later: Count = 0
    """Items after the last bar, far from it, in no bar."""
    undated: Count
    """Items without `observed_at`, in no bar."""
    total: Count
    """Items that the filter admits."""
    truncated: Flag
    """Whether counting stopped early, so that every number is a lower bound."""

    @classmethod
    def of_days(cls, req: HistogramRequest, days: Mapping[date, int], *, undated: int, truncated: bool) -> Histogram:
        """From the number of items on each day, as `day_of` tells it."""
        first, last = _span(days, is_whole=req.unit is not None)
        unit = req.unit or TimeUnit.spanning(first, last)
        counts: Counter[date] = Counter()
        earlier = later = 0
        for day, count in days.items():
            begin = unit.first_day(day)
            if begin < unit.first_day(first):
                earlier += count
            elif begin > unit.first_day(last):
                later += count
            else:
                counts[begin] += count
        zone = zone_named(req.zone)
        return cls(
            unit=unit,
            bars=[HistogramBar(start=begin_of(day, zone), count=count) for day, count in sorted(counts.items())],
            earlier=earlier,
            later=later,
            undated=undated,
            total=undated + sum(days.values()),
            truncated=truncated,
        )


def _span(days: Mapping[date, int], *, is_whole: bool) -> tuple[date, date]:
    """From which day to which the bars reach: over all, or over nearly all where a few would stretch them FAR.

    One wrong year must not press everything else into a single bar. Two years and less are never cut.
    """
    if not days:
        return date.min, date.min
    first, last = min(days), max(days)
    if is_whole or TimeUnit.spanning(first, last) in (TimeUnit.DAY, TimeUnit.WEEK):
        return first, last
    start, stop = _shortest(days)
    length = (stop - start).days + 1
    # What is nearer to the others than these are long is one of them.
    near = [day for day in days if (start - day).days <= length and (day - stop).days <= length]
    start, stop = min(near), max(near)
    is_far = FAR * (stop - start).days <= (last - first).days and stop.year - start.year < MAX_BARS
    return (start, stop) if is_far else (first, last)


def _shortest(days: Mapping[date, int]) -> tuple[date, date]:
    """The shortest time that holds all items but one in a hundred; of few, but one in ten and at most two."""
    ordered = sorted(days.items())
    n = sum(days.values())
    wanted = n - max(min(2, n // 10), n // 100)
    best, held, at = (ordered[0][0], ordered[-1][0]), 0, 0
    for last, count in ordered:
        held += count
        while held - ordered[at][1] >= wanted:
            held -= ordered[at][1]
            at += 1
        if held >= wanted:
            best = min(best, (ordered[at][0], last), key=lambda span: span[1] - span[0])
    return best


def day_of(moment: datetime, zone: tzinfo) -> date:
    """The day of `moment` in a zone; beyond either end of the calendar its first or last day."""
    try:
        return moment.astimezone(zone).date()
    except (OverflowError, ValueError):
        return date.min if moment.year == 1 else date.max


def begin_of(day: date, zone: tzinfo) -> Timestamp:
    """The moment at which a day begins in a zone; the first day, which takes in what lies before it, with all time."""
    if day == date.min:
        return Timestamp.of(datetime.min)
    midnight = datetime.combine(day, time())
    before, after = (midnight.replace(tzinfo=zone, fold=fold).utcoffset() or timedelta() for fold in (0, 1))
    begin = (midnight - before).replace(tzinfo=UTC)
    if after > before:
        # The clock was put forward over midnight: the day begins at that second, which may have come before it.
        skipped = int((after - before).total_seconds())
        seconds = range(1 - skipped, 1)
        first = bisect_left(seconds, day, key=lambda second: day_of(begin + timedelta(seconds=second), zone))
        begin += timedelta(seconds=seconds[first])
    return Timestamp.of(begin)
