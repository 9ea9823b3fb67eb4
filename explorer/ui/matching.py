"""Which of many names a few typed words mean. Free of Qt."""

from __future__ import annotations

import heapq
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

WHOLE, START, WORD, INSIDE, INITIALS = range(5)
"""How well a word fits a name: it is its first word, begins it, begins another word, is inside of one, or is made of
the first letters of its words."""


def fold(text: str) -> str:
    """As it is compared: capitals do not count."""
    return text.casefold()


def fit(word: str, name: str) -> int | None:
    """How a folded word fits a folded name; None where it does not."""
    if name.startswith(word):
        return START if name[len(word) : len(word) + 1].isalnum() else WHOLE
    at = name.find(word)
    if at < 0:
        return INITIALS if len(word) > 1 and _has_initials(word, name) else None
    while at >= 0:
        if not name[at - 1].isalnum():
            return WORD
        at = name.find(word, at + 1)
    return INSIDE


def rank(words: Iterable[str], name: str) -> tuple[int, int] | None:
    """How folded words, in any order, fit a folded name: the worst of them, and all together; None if one does not."""
    worst = total = 0
    for word in words:
        how = fit(word, name)
        if how is None:
            return None
        worst, total = max(worst, how), total + how
    return worst, total


def best(query: str, choices: Iterable[T], name_of: Callable[[T], str], limit: int) -> list[T]:
    """The `limit` choices whose folded names fit all words of `query` best; equal ones in the order they came."""
    words = fold(query).split()
    ranked = (
        (*how, at, choice) for at, choice in enumerate(choices) if (how := rank(words, name_of(choice))) is not None
    )
    return [one[-1] for one in heapq.nsmallest(limit, ranked, key=lambda one: one[:3])]


def _has_initials(word: str, name: str) -> bool:
    """Whether the letters of `word` begin words of `name`, in their order: `npn` for "next pane now"."""
    starts = [char for at, char in enumerate(name) if char.isalnum() and (at == 0 or not name[at - 1].isalnum())]
    letters = iter(starts)
    return all(letter in letters for letter in word)
