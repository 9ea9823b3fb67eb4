"""Which of many names a few typed words mean. Free of Qt."""

from __future__ import annotations

import heapq
import itertools
from collections.abc import Callable, Iterable
from typing import TypeVar

T = TypeVar("T")

WHOLE, START, WORD, INSIDE, INITIALS = range(5)
"""How well a word fits a name: it is its first word, begins it, begins another word, is inside of one, or is made of
the first letters of words that follow each other."""


def fold(text: str) -> str:
    """As it is compared: capitals do not count."""
    return text.casefold()


def initials(name: str) -> str:
    """The first letters of the words of a folded name."""
    return "".join(char for at, char in enumerate(name) if char.isalnum() and (at == 0 or not name[at - 1].isalnum()))


def fit(word: str, name: str, letters: str = "") -> int | None:
    """How a folded word fits a folded name; None where it does not. `letters`: the name's initials, if they count."""
    at = name.find(word)
    if at < 0:
        return INITIALS if len(word) > 1 and word in letters else None
    if at == 0:
        return START if name[len(word) : len(word) + 1].isalnum() else WHOLE
    while at > 0:
        if not name[at - 1].isalnum():
            return WORD
        at = name.find(word, at + 1)
    return INSIDE


def rank(words: Iterable[str], name: str, letters: str = "") -> tuple[int, int] | None:
    """How folded words, in any order, fit a folded name: the worst of them, and all together; None if one does not."""
    worst = total = 0
    for word in words:
        how = fit(word, name, letters)
        if how is None:
            return None
        worst, total = max(worst, how), total + how
    return worst, total


def best(query: str, choices: Iterable[T], names_of: Callable[[T], tuple[str, str]], limit: int) -> list[T]:
    """The `limit` choices that fit all words of `query` best; equal ones in the order they came.

    `names_of` a choice are its folded name, and its initials where these count.
    """
    words = fold(query).split()
    if not words:
        return list(itertools.islice(choices, limit))
    ranked = (
        (*how, at, choice) for at, choice in enumerate(choices) if (how := rank(words, *names_of(choice))) is not None
    )
    return [one[-1] for one in heapq.nsmallest(limit, ranked, key=lambda one: one[:3])]
