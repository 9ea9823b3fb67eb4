"""A passage of an item that was cited: where it stands in what is drawn of the item. Free of Qt."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import islice

from explorer.contract import Document, Hit, ItemKind, Passage, Role, StoreItem

_MOST_CHARS = 4_000  # of a passage, that are looked for
_LONG_WORD = 64  # characters: what is drawn of a longer one may be broken
_MOST_WORDS = 400  # of one line
_WORD = re.compile(r"[^\W_]+")  # the signs of markdown are no part of one
_BETWEEN = r"[\W_]+"
_ROLE = re.compile(rf"(?:{'|'.join(map(re.escape, Role))}): ")
_TOOLS = re.compile(r" \[tools: [^\]]*\]$")


@dataclass(frozen=True)
class Cited:
    """What was cited of an item: the words, and which characters of its rendered text they are, where that is known."""

    quote: str
    place: Passage | None = None


@dataclass(frozen=True)
class Sought:
    """What finds a passage in the drawn text: a pattern a line, and how often the first is found before it."""

    lines: Sequence[re.Pattern[str]]
    before: int = 0


def sought(cited: Cited, whole: Hit, item: StoreItem | None) -> Sought | None:
    """What finds a passage, however its white space and markdown are drawn; None where it has no words."""
    is_talk = whole.kind is ItemKind.CONVERSATION
    quote, start = cited.quote[:_MOST_CHARS], 0
    if cited.place is not None and 0 <= cited.place.start < cited.place.stop <= len(whole.text):
        # The place is the truth: the words may have been cut, or mended by who wrote the answer.
        start = cited.place.start
        quote = whole.text[start : min(cited.place.stop, start + _MOST_CHARS)]
    lines = [line for text in quote.split("\n") if (line := _line(text, is_talk=is_talk)) is not None]
    if not lines:
        return None
    first = _body_at(whole, item)  # the title is not drawn in the text
    before = sum(1 for found in lines[0].finditer(whole.text, first) if found.end() <= start) if start else 0
    return Sought(lines, before)


def spans_in(text: str, wanted: Sought, *, is_whole: bool = True) -> list[tuple[int, int]]:
    """Where the lines of a passage stand in a drawn text, in its characters; none where it is not there.

    `is_whole`: no more of the text is to come, in which the right one of several may be.
    """
    found = next(islice(wanted.lines[0].finditer(text), wanted.before, None), None)
    if found is None and wanted.before and is_whole:  # what stands before it may be drawn otherwise
        found = next(wanted.lines[0].finditer(text), None)
    if found is None:
        return []
    spans = [found.span()]
    for line in wanted.lines[1:]:
        following = line.search(text, spans[-1][1])
        if following is not None:
            spans.append(following.span())
    return spans


def _line(text: str, *, is_talk: bool) -> re.Pattern[str] | None:
    if is_talk:  # roles and tools are drawn in places of their own
        text = _TOOLS.sub("", _ROLE.sub("", text, count=1) if _ROLE.match(text) else text)
    words: list[str] = []
    for found in islice(_WORD.finditer(text), _MOST_WORDS):
        words.append(re.escape(found.group()[:_LONG_WORD]))
        if len(found.group()) > _LONG_WORD:
            break
    return re.compile(_BETWEEN.join(words)) if words else None


def _body_at(whole: Hit, item: StoreItem | None) -> int:
    title = f"# {item.title}\n\n" if isinstance(item, Document) else ""
    return len(title) if title and whole.text.startswith(title) else 0
