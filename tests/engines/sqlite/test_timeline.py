"""Counting over time from the columns says what counting a listing says."""

from __future__ import annotations

import random
from datetime import timedelta
from pathlib import Path

import pytest

from explorer.contract import (
    ForgetTarget,
    HistogramRequest,
    InvalidRequest,
    MetaFilter,
    Timestamp,
    TimeUnit,
)
from explorer.contract.engine import histogram_by_listing
from tests.contract.test_timeline import ZONES
from tests.engines.sqlite.support import Maker, fill, note, opened

CHANGES = [  # of clocks, around which days are cut in unusual places
    "1893-04-01T00:00:00Z",
    "1919-03-31T04:30:00Z",
    "1996-04-07T07:00:00Z",
    "2011-12-30T10:00:00Z",
    "2018-11-04T03:00:00Z",
    "2024-03-10T05:00:00Z",
    "2024-03-31T01:00:00Z",
    "2024-10-27T01:00:00Z",
    "2024-11-03T05:00:00Z",
]


def close_to_a_change(rand: random.Random) -> Timestamp:
    change = Timestamp.parse(rand.choice(CHANGES))
    return Timestamp.of(change + timedelta(seconds=rand.randint(-172_800, 172_800), microseconds=rand.randint(0, 999)))


@pytest.mark.parametrize("seed", range(2))
async def test_bars_are_those_of_the_listing(tmp_path: Path, seed: int) -> None:
    make = Maker(seed)
    async with opened(tmp_path / "memory.db") as engine:
        ids = await fill(engine, [make.item() for _ in range(100)])
        await fill(engine, [note(str(number), observed_at=close_to_a_change(make.rand)) for number in range(200)])
        await engine.forget(ForgetTarget(ids=ids[::3]))
        for zone in (None, *ZONES):
            unit = make.rand.choice([None, *TimeUnit])
            req = HistogramRequest(filter=MetaFilter(), unit=unit, zone=zone)
            assert await engine.histogram(req) == await histogram_by_listing(engine, req)
            req = HistogramRequest(filter=make.filter(), unit=TimeUnit.DAY, zone=zone)
            assert await engine.histogram(req) == await histogram_by_listing(engine, req)


async def test_everything_is_counted_whatever_the_scan_limit(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        empty = await engine.histogram(HistogramRequest(zone="Europe/Berlin"))
        assert (empty.unit, empty.bars, empty.total) == (TimeUnit.DAY, [], 0)
        await fill(engine, [note(str(number)) for number in range(3)])
        undated = await engine.histogram(HistogramRequest(scan_limit=1, zone="Europe/Berlin"))
        assert (undated.bars, undated.undated, undated.total, undated.truncated) == ([], 3, 3, False)
        with pytest.raises(InvalidRequest, match="not a known time zone"):
            await engine.histogram(HistogramRequest(zone="Nowhere"))
