"""What a text means by "yesterday", on the day it was said."""

from __future__ import annotations

from datetime import date

import pytest

from explorer.engines.sqlite.days import meant, written

SAID = date(2023, 7, 15)  # a Saturday


@pytest.mark.parametrize(
    ("text", "meaning"),
    [
        ("I went there yesterday.", "14 July 2023"),
        ("Last night was long.", "14 July 2023"),
        ("It was the day before yesterday.", "13 July 2023"),
        ("We leave tomorrow!", "16 July 2023"),
        ("two days ago", "13 July 2023"),
        ("a week ago", "about 8 July 2023"),
        ("7 months ago", "December 2022"),
        ("ten years ago", "2013"),
        ("1 year ago", "2022"),
        ("last Friday", "14 July 2023"),
        ("Last saturday", "8 July 2023"),
        ("this past Sunday", "9 July 2023"),
        ("last week", "the week before 15 July 2023"),
        ("last weekend", "the weekend before 15 July 2023"),
        ("next week", "the week after 15 July 2023"),
        ("next month", "August 2023"),
        ("last year", "2022"),
    ],
)
def test_what_can_be_counted_is(text: str, meaning: str) -> None:
    assert [said for _, said in meant(text, SAID)] == [meaning]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "a few weeks ago",
        "next Friday",
        "the last week of it",
        "yesterdays",
        "at last, week after week",
        "9999999 years ago",
        "999 years agog",
    ],
)
def test_the_rest_stays_unsaid(text: str) -> None:
    assert list(meant(text, SAID)) == []


def test_days_that_no_calendar_has_stay_unsaid() -> None:
    assert list(meant("last year, yesterday, 2 weeks ago", date(1, 1, 1))) == []
    assert list(meant("tomorrow, next month, next year", date(9999, 12, 31))) == []
    assert list(meant("a year ago", date(2024, 2, 29))) == [("a year ago", "2023")]


def test_each_is_told_once_and_few_at_all() -> None:
    text = "Yesterday I said yesterday; tomorrow, last week, last month and last year."
    assert [phrase for phrase, _ in meant(text, SAID)] == ["yesterday", "tomorrow", "last week"]


def test_day_is_written_in_words() -> None:
    assert written(date(2026, 10, 4)) == "4 October 2026"
    assert written(date(2026, 10, 4), has_weekday=True) == "Sunday, 4 October 2026"
