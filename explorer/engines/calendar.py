"""On which day of a time zone moments lie, many at once."""

from __future__ import annotations

from datetime import UTC, date, datetime, time, timedelta, tzinfo
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.contract.timeline import day_of

Array = npt.NDArray[Any]

_DAY_S = 86_400
_EPOCH = date(1970, 1, 1).toordinal()
_LAST = date.max.toordinal()


def count_days(seconds: Array, zone: tzinfo) -> dict[date, int]:
    """How many of the moments, in seconds since 1970, lie on each day of a zone."""
    ordinals = _days(seconds, zone) + _EPOCH
    first = int(ordinals.min(initial=_LAST))
    counts = np.bincount(ordinals - first)
    return {date.fromordinal(first + day): int(counts[day]) for day in np.flatnonzero(counts).tolist()}


def _days(seconds: Array, zone: tzinfo) -> Array:
    """The day in a zone, counted from 1970, of each second."""
    days = seconds // _DAY_S
    if zone is UTC or not len(days):
        return days
    first = int(days.min())
    at = days - first
    occurring = np.flatnonzero(np.bincount(at))
    offsets = np.zeros(int(occurring[-1]) + 1, np.int64)
    is_uneven = np.zeros(len(offsets), np.bool_)
    for day in occurring.tolist():
        begin, end = _offset(first + day, zone), _offset(first + day + 1, zone)
        if begin is None or begin != end:
            is_uneven[day] = True
        else:
            offsets[day] = begin
    local: Array = (seconds + offsets[at]) // _DAY_S
    # Where the clock was changed during the day, the zone is asked for each second.
    uneven = np.flatnonzero(is_uneven[at])
    asked, inverse = np.unique(seconds[uneven], return_inverse=True)
    answers = [day_of(_moment(second), zone).toordinal() - _EPOCH for second in asked.tolist()]
    local[uneven] = np.array(answers, np.int64)[inverse]
    return local


def _offset(day: int, zone: tzinfo) -> int | None:
    """Seconds by which a zone is ahead of UTC when a day begins in UTC; None at the ends of the calendar."""
    try:
        offset = datetime.combine(date.fromordinal(day + _EPOCH), time(), UTC).astimezone(zone).utcoffset()
    except (OverflowError, ValueError):
        return None
    return None if offset is None else int(offset.total_seconds())


def _moment(second: int) -> datetime:
    return datetime(1970, 1, 1, tzinfo=UTC) + timedelta(seconds=second)
