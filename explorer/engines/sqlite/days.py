"""Which days a text means that was said on a known day: "yesterday", "two weeks ago", "last Friday". English only.

Only what can be counted is: a day, a month, a year, or the week or weekend before or after. The rest stays unsaid.
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from datetime import date, timedelta

_MOST = 3
"""Meanings told of one text."""
_MONTHS = tuple(
    "January February March April May June July August September October November December".split()  # noqa: SIM905
)
_WEEKDAYS = ("monday", "tuesday", "wednesday", "thursday", "friday", "saturday", "sunday")
_NUMBERS = {"a": 1, "an": 1} | {
    word: number
    for number, word in enumerate(
        ("one", "two", "three", "four", "five", "six", "seven", "eight", "nine", "ten", "eleven", "twelve"), 1
    )
}
_NAMED = {
    "the day before yesterday": -2,
    "yesterday": -1,
    "last night": -1,
    "tomorrow": 1,
    "the day after tomorrow": 2,
}
_PHRASE = re.compile(
    rf"\b(?:(?P<named>{'|'.join(sorted(_NAMED, key=len, reverse=True))})"
    rf"|(?P<number>\d{{1,3}}|{'|'.join(_NUMBERS)}) (?P<unit>day|week|month|year)s? ago"
    rf"|(?P<past>last|this past|past) (?P<weekday>{'|'.join(_WEEKDAYS)})"
    r"|(?P<side>(?<!the )last|this past|next) (?P<span>week|weekend|month|year))\b",
    re.IGNORECASE,
)


def written(day: date, *, has_weekday: bool = False) -> str:
    """As in `4 October 2026`, or `Sunday, 4 October 2026`."""
    words = f"{day.day} {_MONTHS[day.month - 1]} {day.year}"
    return f"{_WEEKDAYS[day.weekday()].capitalize()}, {words}" if has_weekday else words


def meant(text: str, day: date) -> Iterator[tuple[str, str]]:
    """What a text that was said on `day` calls days, and what it means by it: `("yesterday", "3 October 2026")`."""
    told: set[str] = set()
    for found in _PHRASE.finditer(text):
        phrase = found[0].lower()
        if phrase in told or len(told) == _MOST:
            continue
        try:
            meaning = _meaning(found, day)
        except (OverflowError, ValueError):  # before the year 1, or after 9999
            continue
        told.add(phrase)
        yield phrase, meaning


def _meaning(found: re.Match[str], day: date) -> str:
    if found["named"]:
        return written(day + timedelta(days=_NAMED[found["named"].lower()]))
    if found["weekday"]:
        back = (day.weekday() - _WEEKDAYS.index(found["weekday"].lower()) - 1) % 7 + 1
        return written(day - timedelta(days=back))
    if found["unit"]:
        number = _NUMBERS.get(found["number"].lower()) or int(found["number"])
        return _ago(number, found["unit"].lower(), day)
    way = 1 if found["side"].lower() == "next" else -1
    span = found["span"].lower()
    if span in ("month", "year"):
        return _ago(-way, span, day)
    return f"the {span} {'after' if way > 0 else 'before'} {written(day)}"


def _ago(number: int, unit: str, day: date) -> str:
    if unit == "day":
        return written(day - timedelta(days=number))
    if unit == "week":
        return f"about {written(day - timedelta(weeks=number))}"
    if unit == "year":
        return str(date(day.year - number, 1, 1).year)
    months = 12 * day.year + day.month - 1 - number
    return f"{_MONTHS[months % 12]} {date(months // 12, 1, 1).year}"
