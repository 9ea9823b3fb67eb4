"""A passage of an item that was cited: where it stands in what is drawn of the item. Free of Qt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from explorer.asking.loose import Loose
from explorer.contract import Document, Hit, ItemKind, Passage, Role, StoreItem

_MOST_CHARS = 4_000  # of a passage, that are looked for
_LONG_WORD = 64  # characters: what is drawn of a longer one may be broken
_MOST_WORDS = 400  # of one line
_NEAR = 20_000  # characters from where a passage begins, in which all of it is drawn
_WORD = re.compile(r"[^\W_]+")  # the signs of markdown are no part of one
_ROLE = re.compile(rf"(?:{'|'.join(map(re.escape, Role))}): ")
_TOOLS = re.compile(r" \[tools: [^\]]*\]$")


@dataclass(frozen=True)
class Cited:
    """What was cited of an item: the words, and which characters of its rendered text they are, where that is known."""

    quote: str
    place: Passage | None = None


@dataclass(frozen=True)
class Sought:
    """What finds a passage in the drawn text: the words of each line, and how often the first is found before it."""

    lines: Sequence[str]
    before: int = 0


def sought(cited: Cited, whole: Hit, item: StoreItem | None) -> Sought | None:
    """What finds a passage, however its white space and markdown are drawn; None where it has no words."""
    is_talk = whole.kind is ItemKind.CONVERSATION
    quote, start = cited.quote[:_MOST_CHARS], 0
    if cited.place is not None and 0 <= cited.place.start < cited.place.stop <= len(whole.text):
        # The place is the truth: the words may have been cut, or mended by who wrote the answer.
        start = cited.place.start
        quote = whole.text[start : min(cited.place.stop, start + _MOST_CHARS)]
    lines = [line for text in quote.split("\n") if (line := _line(text, is_talk=is_talk))]
    if not lines:
        return None
    first = _body_at(whole, item)  # the title is not drawn in the text
    return Sought(lines, " ".join(_WORD.findall(whole.text[first:start])).count(lines[0]))


def spans_in(text: str, wanted: Sought, *, is_whole: bool = True) -> list[tuple[int, int]]:
    """Where the lines of a passage stand in a drawn text, in its characters; none where it is not there.

    `is_whole`: no more of the text is to come, in which the right one of several may be.
    """
    start = _start_of(wanted.lines[0], text, wanted.before)
    if start is None and wanted.before and is_whole:  # what stands before it may be drawn otherwise
        start = _start_of(wanted.lines[0], text, 0)
    if start is None:
        return []
    near = Loose(text[start : start + _NEAR], _WORD)
    spans: list[tuple[int, int]] = []
    at = 0
    for line in wanted.lines:
        if (found := near.find(line, at)) is not None:
            at = found[1]
            spans.append((start + found[0], start + at))
    return spans


def _start_of(line: str, text: str, before: int) -> int | None:
    """The first character of a line's words in a text, where they are found once more than `before`."""
    words = " ".join(_WORD.findall(text))
    at = words.find(line)
    while at >= 0 and before:
        before -= 1
        at = words.find(line, at + len(line))
    if at < 0:
        return None
    word = next(islice(_WORD.finditer(text), words.count(" ", 0, at), None))
    return word.start() + at - (words.rfind(" ", 0, at) + 1)


def _line(text: str, *, is_talk: bool) -> str:
    """The words of a line, joined by single spaces."""
    if is_talk:  # roles and tools are drawn in places of their own
        text = _TOOLS.sub("", _ROLE.sub("", text, count=1) if _ROLE.match(text) else text)
    words: list[str] = []
    for found in islice(_WORD.finditer(text), _MOST_WORDS):
        words.append(found.group()[:_LONG_WORD])
        if len(found.group()) > _LONG_WORD:
            break
    return " ".join(words)


def _body_at(whole: Hit, item: StoreItem | None) -> int:
    title = f"# {item.title}\n\n" if isinstance(item, Document) else ""
    return len(title) if title and whole.text.startswith(title) else 0
