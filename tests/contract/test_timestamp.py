"""Times: UTC, to the nanosecond, and still a datetime."""

from __future__ import annotations

import copy
import operator
import pickle
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import MemoryMeta, TimeHint, Timestamp
from explorer.contract.errors import InvalidRequest
from tests.contract import strategies

NINE = datetime(2026, 10, 4, 9, 30, tzinfo=UTC)


def at(text: str) -> Timestamp:
    return Timestamp.parse(text)


@pytest.mark.parametrize(
    ("text", "written"),
    [
        ("2026-10-04T09:30:00Z", "2026-10-04T09:30:00Z"),
        ("2026-10-04t09:30:00z", "2026-10-04T09:30:00Z"),
        ("2026-10-04 09:30:00Z", "2026-10-04T09:30:00Z"),
        ("2026-10-04T09:30:00.000Z", "2026-10-04T09:30:00Z"),
        ("2026-10-04T09:30:00.1Z", "2026-10-04T09:30:00.100Z"),
        ("2026-10-04T09:30:00.0001Z", "2026-10-04T09:30:00.000100Z"),
        ("2026-10-04T09:30:00.1234567Z", "2026-10-04T09:30:00.123456700Z"),
        ("2026-10-04T09:30:00.1234567899Z", "2026-10-04T09:30:00.123456789Z"),
        ("2026-10-04T00:00:00-09:30", "2026-10-04T09:30:00Z"),
        ("2026-12-31T23:59:59.999999999-00:01", "2027-01-01T00:00:59.999999999Z"),
        ("0001-01-01T00:00:00-00:00", "0001-01-01T00:00:00Z"),
        ("9999-12-31T23:59:59.999999999Z", "9999-12-31T23:59:59.999999999Z"),
    ],
)
def test_reading_and_writing(text: str, written: str) -> None:
    assert at(text).text == str(at(text)) == written


@pytest.mark.parametrize(
    "text",
    [
        "0000-06-01T00:00:00Z",
        "0001-01-01T00:00:00+00:01",
        "9999-12-31T23:59:59-00:01",
        "2026-10-04T09:30:60Z",
        "2026-13-04T09:30:00Z",
        "2026-10-04T09:30:00+00:60",
        "2026-10-04T09:30Z",
        "2026-10-04T09:30:00",
        "2026-10-04T09:30:00Z\n",
        "",
    ],
)
def test_what_is_no_time(text: str) -> None:
    with pytest.raises(ValueError, match=r"time|range|second|month"):
        at(text)


def test_it_is_a_datetime_in_utc() -> None:
    moment = at("2026-10-04T15:00:00.123456789+05:30")
    assert isinstance(moment, datetime)
    assert moment.tzinfo is UTC
    assert (moment.hour, moment.minute, moment.microsecond, moment.nanosecond) == (9, 30, 123456, 789)


def test_it_equals_the_datetime_of_its_moment() -> None:
    moment = Timestamp.of(NINE)
    assert moment == NINE
    assert moment == NINE
    assert moment == NINE.astimezone(ZoneInfo("Asia/Tokyo"))
    assert hash(moment) == hash(NINE)
    assert moment != NINE + timedelta(microseconds=1)
    assert moment != NINE.replace(tzinfo=None)
    assert moment != "2026-10-04T09:30:00Z"
    assert len({moment, NINE, at(moment.text)}) == 1


def test_a_nanosecond_counts() -> None:
    later = at("2026-10-04T09:30:00.000000001Z")
    assert later != NINE
    assert later != NINE
    assert later != Timestamp.of(NINE)
    assert hash(later) == hash(at(later.text))


@pytest.mark.parametrize("compare", [operator.lt, operator.le, operator.gt, operator.ge])
@pytest.mark.parametrize(
    ("left", "right", "order"),
    [
        (at("2026-10-04T09:30:00Z"), at("2026-10-04T09:30:00.000000001Z"), -1),
        (at("2026-10-04T09:30:00.000000002Z"), at("2026-10-04T09:30:00.000000001Z"), 1),
        (NINE, at("2026-10-04T09:30:00.000000001Z"), -1),
        (at("2026-10-04T09:30:00.000000001Z"), NINE, 1),
        (at("2026-10-04T09:30:00Z"), NINE, 0),
        (at("2026-10-04T09:30:00.000000999Z"), NINE + timedelta(microseconds=1), -1),
        (at("2026-10-04T09:30:00Z"), datetime(2026, 10, 4, 11, 0, tzinfo=timezone(timedelta(hours=2))), 1),
    ],
)
def test_it_orders_with_datetimes(
    compare: Callable[[object, object], bool], left: datetime, right: datetime, order: int
) -> None:
    assert compare(left, right) is compare(order, 0)


def test_it_is_no_day() -> None:
    midnight = at("2026-10-04T00:00:00Z")
    assert midnight != date(2026, 10, 4)
    assert date(2026, 10, 4) != midnight


def test_it_does_not_order_with_what_is_no_moment() -> None:
    with pytest.raises(TypeError):
        at("2026-10-04T09:30:00Z") < date(2026, 10, 4)  # noqa: B015 (the comparison is what is tested)
    with pytest.raises(TypeError):
        at("2026-10-04T09:30:00Z") >= NINE.replace(tzinfo=None)  # noqa: B015


def test_a_datetime_without_a_zone_is_read_as_utc() -> None:
    assert Timestamp.of(NINE.replace(tzinfo=None)).text == "2026-10-04T09:30:00Z"
    assert Timestamp.of(Timestamp(2026, 10, 4, 9, 30, nanosecond=5)).text == "2026-10-04T09:30:00.000000005Z"
    meta = MemoryMeta.model_validate({"observed_at": NINE.replace(tzinfo=None)})
    assert meta.observed_at == NINE


def test_other_zones_are_converted() -> None:
    summer = datetime(2026, 7, 1, 1, 0, tzinfo=ZoneInfo("Europe/Paris"))
    assert Timestamp.of(summer).text == "2026-06-30T23:00:00Z"
    second_time = datetime(2026, 10, 25, 2, 30, fold=1, tzinfo=ZoneInfo("Europe/Paris"))
    assert Timestamp.of(second_time).text == "2026-10-25T01:30:00Z"
    elsewhere = Timestamp(2026, 10, 4, 11, 30, tzinfo=timezone(timedelta(hours=2)), nanosecond=7)
    assert Timestamp.of(elsewhere).text == "2026-10-04T09:30:00.000000007Z"


def test_a_moment_outside_the_calendar_is_refused() -> None:
    with pytest.raises(ValueError, match="years 1 to 9999"):
        Timestamp.of(datetime(1, 1, 1, tzinfo=timezone(timedelta(hours=1))))
    with pytest.raises(ValueError, match="years 1 to 9999"):
        Timestamp.of(datetime(9999, 12, 31, 23, 59, tzinfo=timezone(-timedelta(hours=1))))


@pytest.mark.parametrize("text", ["2026-10-04T09:30:00.123456789Z", "0001-01-01T00:00:00Z"])
def test_copies_keep_the_nanoseconds(text: str) -> None:
    moment = at(text)
    copies = [copy.copy(moment), copy.deepcopy(moment), pickle.loads(pickle.dumps(moment)), Timestamp.of(moment)]
    assert [made.text for made in copies] == [text] * 4
    assert {type(made) for made in copies} == {Timestamp}


def test_arithmetic_is_to_the_microsecond() -> None:
    moment = at("2026-10-04T09:30:00.000001999Z")
    assert moment - Timestamp.of(NINE) == timedelta(microseconds=1)
    assert (moment + timedelta(days=1)).isoformat() == "2026-10-05T09:30:00.000001+00:00"
    assert Timestamp.of(moment + timedelta(days=1)).text == "2026-10-05T09:30:00.000001Z"
    assert moment.as_datetime() == NINE + timedelta(microseconds=1)
    assert type(moment.as_datetime()) is datetime
    assert moment.astimezone(ZoneInfo("Asia/Tokyo")).hour == 18


@pytest.mark.parametrize(
    ("nanoseconds", "text"),
    [
        (0, "1970-01-01T00:00:00Z"),
        (1, "1970-01-01T00:00:00.000000001Z"),
        (-1, "1969-12-31T23:59:59.999999999Z"),
        (1_790_000_000_123_456_789, "2026-09-21T14:13:20.123456789Z"),  # date -u -d @1790000000
    ],
)
def test_unix_time(nanoseconds: int, text: str) -> None:
    assert Timestamp.from_unix_ns(nanoseconds).text == text
    assert at(text).unix_ns == nanoseconds


@given(strategies.times())
@strategies.some_examples
def test_any_time_keeps_its_text_and_its_place(text: str) -> None:
    moment = at(text)
    assert at(moment.text) == moment
    assert at(moment.text).text == moment.text
    assert Timestamp.from_unix_ns(moment.unix_ns) == moment


@given(strategies.times(), strategies.times())
@strategies.some_examples
def test_times_order_as_their_nanoseconds(left: str, right: str) -> None:
    assert (at(left) < at(right)) == (at(left).unix_ns < at(right).unix_ns)
    assert (at(left) == at(right)) == (at(left).unix_ns == at(right).unix_ns)


@given(st.datetimes(timezones=st.just(UTC)))
@strategies.some_examples
def test_a_datetime_comes_back_as_it_was(moment: datetime) -> None:
    assert Timestamp.of(moment).as_datetime() == moment


def test_now_is_now() -> None:
    before = datetime.now(UTC)
    assert before <= Timestamp.now_utc() <= datetime.now(UTC)


# --- days that a question refers to


def hint(first: str, last: str, zone: str | None = None) -> TimeHint:
    return TimeHint.model_validate({"from": first, "to": last, "zone": zone})


def test_a_hint_covers_whole_days_in_its_zone() -> None:
    in_utc, in_tokyo = hint("2026-10-04", "2026-10-05"), hint("2026-10-04", "2026-10-05", "Asia/Tokyo")
    assert in_utc.covers(at("2026-10-04T00:00:00Z"))
    assert in_utc.covers(at("2026-10-05T23:59:59.999999999Z"))
    assert not in_utc.covers(at("2026-10-06T00:00:00Z"))
    assert not in_utc.covers(None)
    # Tokyo is nine hours ahead, so its 4 October began at 15:00 on the third.
    assert in_tokyo.covers(at("2026-10-03T15:00:00Z"))
    assert not in_tokyo.covers(at("2026-10-03T14:59:59Z"))
    assert not in_tokyo.covers(at("2026-10-05T15:00:00Z"))


def test_a_day_past_the_calendar_in_the_zone_is_not_covered() -> None:
    assert not hint("9999-12-30", "9999-12-31", "Asia/Tokyo").covers(at("9999-12-31T23:00:00Z"))
    assert not hint("0001-01-01", "0001-01-02", "America/Lima").covers(at("0001-01-01T00:00:00Z"))


@pytest.mark.parametrize(
    "wrong",
    [hint("2026-10-05", "2026-10-04"), *(hint("2026-10-04", "2026-10-04", z) for z in ("", "Nowhere/Else", "../x"))],
)
def test_a_hint_that_makes_no_sense_is_refused(wrong: TimeHint) -> None:
    with pytest.raises(InvalidRequest):
        wrong.check()
    hint("2026-10-04", "2026-10-04", "Europe/Lisbon").check()
