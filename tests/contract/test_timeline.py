"""Items over time: units, zones whose clocks change, both ends of the calendar, and counting by listing."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, date, timedelta
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import (
    Document,
    DocumentBody,
    Histogram,
    HistogramRequest,
    InvalidRequest,
    MemoryMeta,
    MetaFilter,
    Timestamp,
    TimeUnit,
)
from explorer.contract.timeline import MAX_BARS, begin_of, day_of
from tests.contract.engines import PlainEngine

ZONES = (
    "UTC",
    "Europe/Berlin",
    "America/Sao_Paulo",  # puts the clock forward at midnight
    "America/Toronto",  # did so half an hour before midnight in 1919
    "America/Havana",
    "Asia/Tehran",
    "Asia/Kathmandu",
    "Australia/Lord_Howe",  # by half an hour
    "Pacific/Apia",  # left out a whole day in 2011
    "Pacific/Kiritimati",
    "Etc/GMT+12",
)


def at(text: str) -> Timestamp:
    return Timestamp.parse(text)


async def counted(times: list[str | None], **req: Any) -> Histogram:
    engine = PlainEngine()
    for number, time in enumerate(times):
        meta = MemoryMeta(observed_at=None if time is None else at(time))
        await engine.store(Document(body=DocumentBody(text=str(number)), meta=meta))
    return await engine.histogram(HistogramRequest(**req))


def bars(histogram: Histogram) -> list[tuple[str, int]]:
    return [(bar.start.text, bar.count) for bar in histogram.bars]


TIMES = [
    "2024-12-29T12:00:00Z",  # a Sunday
    "2024-12-30T00:00:00Z",
    "2025-01-05T23:59:59.999999999Z",
    None,
    "2025-01-06T00:00:00Z",
    "2025-01-31T10:00:00Z",
]


@pytest.mark.parametrize(
    ("unit", "expected"),
    [
        (
            TimeUnit.DAY,
            [("2024-12-29", 1), ("2024-12-30", 1), ("2025-01-05", 1), ("2025-01-06", 1), ("2025-01-31", 1)],
        ),
        (TimeUnit.WEEK, [("2024-12-23", 1), ("2024-12-30", 2), ("2025-01-06", 1), ("2025-01-27", 1)]),
        (TimeUnit.MONTH, [("2024-12-01", 2), ("2025-01-01", 3)]),
        (TimeUnit.YEAR, [("2024-01-01", 2), ("2025-01-01", 3)]),
    ],
)
async def test_units_begin_at_midnight_and_weeks_on_monday(unit: TimeUnit, expected: list[tuple[str, int]]) -> None:
    histogram = await counted(TIMES, unit=unit)
    assert bars(histogram) == [(f"{day}T00:00:00Z", count) for day, count in expected]
    assert (histogram.unit, histogram.undated, histogram.total, histogram.truncated) == (unit, 1, 6, False)


async def test_days_are_those_of_the_zone() -> None:
    times: list[str | None] = ["2024-03-31T00:30:00Z", "2024-03-30T22:59:59Z", "2024-03-31T21:59:59Z"]
    assert bars(await counted(times, unit=TimeUnit.DAY, zone="Europe/Berlin")) == [
        ("2024-03-29T23:00:00Z", 1),
        ("2024-03-30T23:00:00Z", 2),
    ]


async def test_filter_narrows_and_nothing_found_has_no_bars() -> None:
    window = MetaFilter(observed_after=at("2025-01-06T00:00:00Z"))
    histogram = await counted(TIMES, filter=window)
    assert bars(histogram) == [("2025-01-06T00:00:00Z", 1), ("2025-01-31T00:00:00Z", 1)]
    assert (histogram.undated, histogram.total) == (0, 2)
    nothing = await counted(TIMES, filter=MetaFilter(url="nowhere"))
    assert nothing == Histogram(unit=TimeUnit.DAY, bars=[], undated=0, total=0, truncated=False)


@pytest.mark.parametrize(
    ("first", "last", "unit"),
    [
        (date(2024, 1, 1), date(2024, 1, 1), TimeUnit.DAY),
        (date(2024, 1, 1), date(2024, 4, 29), TimeUnit.DAY),
        (date(2024, 1, 1), date(2024, 4, 30), TimeUnit.WEEK),
        (date(2024, 1, 7), date(2026, 4, 13), TimeUnit.WEEK),
        (date(2024, 1, 7), date(2026, 4, 20), TimeUnit.MONTH),
        (date(2015, 12, 31), date(2025, 11, 1), TimeUnit.MONTH),
        (date(2015, 12, 31), date(2025, 12, 1), TimeUnit.YEAR),
        (date.min, date.max, TimeUnit.YEAR),
    ],
)
def test_smallest_unit_that_gives_few_bars_is_chosen(first: date, last: date, unit: TimeUnit) -> None:
    assert TimeUnit.spanning(first, last) is unit


@given(st.dates(), st.integers(0, 4_000))
def test_chosen_unit_gives_at_most_so_many_bars(first: date, later: int) -> None:
    last = min(first + timedelta(days=later), date.max) if first < date.max - timedelta(days=later) else date.max
    unit = TimeUnit.spanning(first, last)
    days = [first + timedelta(days=day) for day in range((last - first).days + 1)]
    assert unit is TimeUnit.YEAR or len({unit.first_day(day) for day in days}) <= MAX_BARS


def over(days: Mapping[date, int], unit: TimeUnit | None = None) -> Histogram:
    return Histogram.of_days(HistogramRequest(unit=unit), days, undated=0, truncated=False)


SPRING = {date(2026, 3, 1) + timedelta(days=day): 1 for day in range(90)}


@pytest.mark.parametrize(
    ("far", "beside"),
    [
        ({date(1969, 12, 31): 1}, (1, 0)),
        ({date(9999, 12, 31): 1}, (0, 1)),
        ({date(1, 1, 1): 1, date(9999, 12, 31): 1}, (1, 1)),
        ({date(2020, 1, 1): 2}, (2, 0)),
    ],
)
def test_a_few_items_far_from_all_others_do_not_stretch_the_bars(far: dict[date, int], beside: tuple[int, int]) -> None:
    histogram = over({**SPRING, **far})
    assert (histogram.unit, len(histogram.bars)) == (TimeUnit.DAY, 90)
    assert (histogram.earlier, histogram.later) == beside
    assert histogram.total == 90 + sum(far.values())


@pytest.mark.parametrize(
    "far",
    [
        {date(1969, 12, 31): 3},  # that many are not a few
        {date(2024, 5, 1): 1},  # by week they are seen well enough
        {date(2021, 9, 5): 1},  # not so far: there are bars by month
    ],
)
def test_others_are_among_the_bars(far: dict[date, int]) -> None:
    days = {date(2026, 1, 1) + timedelta(days=day): 1 for day in range(90)}
    histogram = over({**days, **far})
    assert (histogram.earlier, histogram.later) == (0, 0)
    assert sum(bar.count for bar in histogram.bars) == histogram.total == 90 + sum(far.values())


def test_of_a_few_items_none_is_left_out_of_the_bars_nor_where_the_unit_is_given() -> None:
    few = {date(2026, 1, day): 1 for day in range(1, 9)}
    assert over({**few, date(1969, 1, 1): 1}).earlier == 0
    assert over({**SPRING, date(1969, 1, 1): 1}, TimeUnit.YEAR).earlier == 0


@given(
    st.dictionaries(st.dates(), st.integers(1, 300), min_size=1, max_size=20),
    st.dates(date(2000, 1, 1), date(2030, 1, 1)),
)
def test_every_item_is_in_a_bar_or_beside_them(days: dict[date, int], home: date) -> None:
    days[home] = days.get(home, 0) + 1_000
    histogram = over(days)
    assert histogram.earlier + histogram.later + sum(bar.count for bar in histogram.bars) == sum(days.values())
    first = min(day for day in days if begin_of(histogram.unit.first_day(day), UTC) >= histogram.bars[0].start)
    assert histogram.earlier == sum(count for day, count in days.items() if day < histogram.unit.first_day(first))
    assert histogram.earlier + histogram.later <= sum(days.values()) // 100


@pytest.mark.parametrize(
    ("zone", "day", "begin"),
    [
        ("Europe/Berlin", date(2024, 3, 31), "2024-03-30T23:00:00Z"),
        ("America/Sao_Paulo", date(2018, 11, 4), "2018-11-04T03:00:00Z"),  # its first hour was left out
        ("America/Sao_Paulo", date(2018, 2, 18), "2018-02-18T03:00:00Z"),  # the hour before it came twice
        ("America/Havana", date(2024, 11, 3), "2024-11-03T04:00:00Z"),  # its first hour came twice
        ("America/Toronto", date(1919, 3, 31), "1919-03-31T04:30:00Z"),  # from 23:30 to 00:30
        ("Pacific/Apia", date(2011, 12, 31), "2011-12-30T10:00:00Z"),
        ("Etc/GMT-14", date(1, 1, 1), "0001-01-01T00:00:00Z"),
        ("Etc/GMT+12", date(1, 1, 1), "0001-01-01T00:00:00Z"),
        ("Etc/GMT-14", date(1, 1, 2), "0001-01-01T10:00:00Z"),
        ("Etc/GMT+12", date(9999, 12, 31), "9999-12-31T12:00:00Z"),
    ],
)
def test_days_begin_where_the_clock_says(zone: str, day: date, begin: str) -> None:
    assert begin_of(day, ZoneInfo(zone)) == at(begin)


@given(st.sampled_from(ZONES), st.dates(date(1850, 1, 1), date(2040, 1, 1)))
def test_day_begins_with_the_first_second_that_lies_in_it(name: str, day: date) -> None:
    zone = ZoneInfo(name)
    begin = begin_of(day, zone)
    assert day_of(begin, zone) >= day  # later only where the day itself was left out
    assert day_of(begin - timedelta(seconds=1), zone) < day


@pytest.mark.parametrize("zone", ["Etc/GMT-14", "Etc/GMT+12", "Pacific/Kiritimati"])
async def test_ends_of_the_calendar_are_in_its_first_and_last_bar(zone: str) -> None:
    ends = ["0001-01-01T00:00:00Z", "9999-12-31T23:59:59.999999999Z"]
    for unit in TimeUnit:
        histogram = await counted([*ends], unit=unit, zone=zone)
        assert [bar.count for bar in histogram.bars] == [1, 1]
        assert histogram.bars[0].start == at(ends[0])
    assert day_of(at(ends[0]), ZoneInfo(zone)) == date.min
    assert day_of(at(ends[1]), ZoneInfo(zone)) == date.max


async def test_counting_by_listing_stops_at_its_limit() -> None:
    histogram = await counted(TIMES, scan_limit=4)
    assert (histogram.total, histogram.undated, histogram.truncated) == (4, 1, True)
    assert not (await counted(TIMES, scan_limit=6)).truncated


@pytest.mark.parametrize(
    ("req", "what"),
    [
        (HistogramRequest(scan_limit=0), "scan_limit must be between 1 and 50000"),
        (HistogramRequest(scan_limit=50_001), "scan_limit must be between 1 and 50000"),
        (HistogramRequest(zone="Mars/Base"), "`Mars/Base` is not a known time zone"),
        (HistogramRequest(zone="../../etc/passwd"), "is not a known time zone"),
        (HistogramRequest(zone=""), "is not a known time zone"),
    ],
)
async def test_bad_requests_are_refused_before_anything_is_read(req: HistogramRequest, what: str) -> None:
    engine = PlainEngine()
    with pytest.raises(InvalidRequest, match=what):
        await engine.histogram(req)
    assert engine.listed == []


def test_utc_needs_no_name() -> None:
    assert day_of(at("2024-01-01T00:00:00Z"), UTC) == date(2024, 1, 1)
