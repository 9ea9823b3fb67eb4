"""The passages of an item: pieces of its rendered text, short enough to be about one thing; and what can be quoted.

A ranking looks for the best of them, a vector stands for each of them, and a snippet is one.
After a change here, files need the vectors of their passages made anew.
"""

from __future__ import annotations

import re
from collections.abc import Iterator

from explorer.contract import Conversation, StoreItem

Span = tuple[int, int]
"""Characters `start` to `stop` (not included) of an item's rendered text."""

_SIZE = 800
"""Characters of a passage, at most."""
_SHARED = 250
"""Characters that two neighbouring passages share, at most: a turn, or a sentence."""
_TURNS = 3
"""Turns of a conversation in one passage."""
QUOTED = 300
"""Characters of a statement, at most."""

_ENDS = ("\n", ". ", "! ", "? ", "。", "！", "？")
"""What ends a sentence or a line."""
_END = re.compile(r"[.!?。！？\n]+\s*")
_SPACE = re.compile(r"\s")
_SOLID = re.compile(r"\S")


def passages_of(item: StoreItem) -> list[Span]:
    """The passages of an item, in order; neighbours share a turn or a sentence where it is short.

    Every character that is no white space is in one of them. Empty only for an empty text.
    Conversations: three turns. Other texts, and turns that are longer than a passage: sentences and lines.
    """
    text = item.render_text()
    if not isinstance(item, Conversation):
        return list(_cut(text, 0, len(text), _SIZE, _SHARED)) or _all(text)
    passages: list[Span] = []
    held: list[Span] = []
    for unit in (piece for start, stop in turns_of(item) for piece in _cut(text, start, stop, _SIZE, 0)):
        if held and (len(held) == _TURNS or unit[1] - held[0][0] > _SIZE):
            passages.append((held[0][0], held[-1][1]))
            last = held[-1]
            is_shared = len(held) > 1 and last[1] - last[0] <= _SHARED and unit[1] - last[0] <= _SIZE
            held = [last] if is_shared else []
        held.append(unit)
    if held:
        passages.append((held[0][0], held[-1][1]))
    return passages or _all(text)


def statements_of(item: StoreItem) -> list[Span]:
    """What of an item can be quoted, in order: turns or sentences, cut between words beyond 300 characters.

    Of a longer turn each sentence is one. Empty only for an empty text.
    """
    text = item.render_text()
    if isinstance(item, Conversation):
        units = [
            part
            for start, stop in turns_of(item)
            for part in ([(start, stop)] if stop - start <= QUOTED else sentences_of(text, start, stop))
        ]
    else:
        units = sentences_of(text, 0, len(text))
    return [piece for start, stop in units for piece in _cut(text, start, stop, QUOTED, 0)] or _all(text)


def turns_of(item: Conversation) -> list[Span]:
    """Where each turn of a conversation stands in its rendered text, in order."""
    spans = []
    start = 0
    for turn in item.turns:
        stop = start + len(turn.render_text())
        spans.append((start, stop))
        start = stop + 1
    return spans


def _all(text: str) -> list[Span]:
    return [(0, len(text))] if text else []


def sentences_of(text: str, first: int, last: int) -> list[Span]:
    """The sentences and lines of a piece of a text, in order."""
    spans = []
    start = first
    for end in _END.finditer(text, first, last):
        marks = end[0].rstrip()
        if marks == end[0] and not any(mark in marks for mark in "。！？"):
            continue  # inside a number, a name or a path
        stop = end.start() + len(marks)
        if start < stop:
            spans.append((start, stop))
        start = end.end()
    if start < last:
        spans.append((start, last))
    return spans


def _cut(text: str, first: int, last: int, size: int, shared: int) -> Iterator[Span]:
    """A part of a text in pieces of at most `size`: after a sentence, else between words where that can be.

    Each begins with the last sentence of the one before, where that has at most `shared` characters.
    """
    start = _begin(text, first, last)
    while last - start > size:
        middle, end = start + size // 2, start + size
        stop = _last_end(text, middle, end)
        if stop is None:
            stop = max((gap.start() for gap in _SPACE.finditer(text, middle, end)), default=end)
        yield start, stop
        again = _last_end(text, max(start, stop - shared), stop - 1) if shared else None
        start = _begin(text, stop if again is None else again, last)
    if start < last:
        yield start, last


def _begin(text: str, first: int, last: int) -> int:
    """The first character that is no white space."""
    found = _SOLID.search(text, first, last)
    return last if found is None else found.start()


def _last_end(text: str, first: int, last: int) -> int | None:
    """Where the last sentence or line that ends between `first` and `last` ends; None where none does."""
    found = max(text.rfind(mark, first, last) + (mark != "\n") for mark in _ENDS)
    return found if found > first else None
