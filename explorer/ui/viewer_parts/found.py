"""Found words, marked where they are read: drawn over the text, which stays as it is."""

from __future__ import annotations

import asyncio
import re
import time
from array import array
from bisect import bisect_left, bisect_right
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from itertools import islice

from PySide6.QtCore import QPoint
from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from explorer.ui.theme import theme
from explorer.ui.viewer_parts.ink import GOES_ON

MAX_MARKS = 500
_AROUND = 200  # marks of very many, around what is seen
MAX_WORDS = 20  # each is looked for at each character
MAX_SEARCHED = 300_000  # characters: some milliseconds
_TURN_S = 0.006  # of reading between two turns of the window
_STRIDE = 50_000  # characters between two turns of other threads

View = QTextEdit | QPlainTextEdit


class Spans:
    """Places in a document, ascending, as Qt counts: in UTF-16."""

    def __init__(self) -> None:
        self.starts = array("q")
        self.ends = array("q")

    @classmethod
    def of(cls, text: str, places: Iterable[tuple[int, int]]) -> Spans:
        """Places in the characters of a document's raw text, as Qt counts."""
        spans = cls()
        at = units = 0
        for start, end in places:
            units += _units(text[at:start])
            spans.starts.append(units)
            units += _units(text[start:end])
            spans.ends.append(units)
            at = end
        return spans

    def __len__(self) -> int:
        return len(self.starts)

    @property
    def is_many(self) -> bool:
        """Whether only those around what is seen are marked."""
        return len(self) > _AROUND

    def from_(self, position: int) -> int:
        """The number of the first place at or after `position`."""
        return bisect_left(self.starts, position)


def pattern_of(words: Sequence[str]) -> re.Pattern[str] | None:
    """What finds any of `words`, the longest first; None for no words, and for a whole text, where all is a word."""
    wanted = sorted({word for word in words if word.strip()}, key=len, reverse=True)
    if not wanted or len(wanted) > MAX_WORDS:
        return None
    return re.compile("|".join(map(re.escape, wanted)), re.IGNORECASE)


def spans_of(text: str, pattern: re.Pattern[str], most: int | None = None) -> Spans:
    """Where `pattern` is found in a document's raw text; the first `most` of it, where that is given."""
    return Spans.of(text, (found.span() for found in islice(_finds(text, pattern), most)))


def _finds(text: str, pattern: re.Pattern[str]) -> Iterator[re.Match[str]]:
    """As `finditer`, which would keep every other thread waiting while it looks through megabytes for the next one."""
    overlap = len(pattern.pattern)  # at least as long as anything that it finds
    at = 0
    while at < len(text):
        stop = at + _STRIDE
        for found in pattern.finditer(text, at, stop + overlap):
            if found.start() >= stop:
                break
            yield found
            at = found.end()
        at = max(at, stop)


@dataclass
class Raw:
    """A document's text without the breaks that only the view has, and where those stood in it."""

    text: str = ""
    breaks: array[int] = field(default_factory=lambda: array("q"))

    def spans_of(self, pattern: re.Pattern[str]) -> Spans:
        """Where `pattern` is found, by the positions of the document."""
        spans = spans_of(self.text, pattern)
        without = [at - number for number, at in enumerate(self.breaks)]  # as they would stand with none before them
        if without:
            for number, (start, end) in enumerate(zip(spans.starts, spans.ends, strict=True)):
                spans.starts[number] = start + bisect_right(without, start)
                spans.ends[number] = end + bisect_left(without, end)
        return spans


async def raw_text(view: View) -> Raw:
    """What is written in a view, with turns for the window: of megabytes it takes a tenth of a second."""
    document = view.document()
    if isinstance(view, QTextEdit):
        return Raw(document.toRawText())  # a selection that enters a table takes in all of it
    parts: list[str] = []
    breaks = array("q")
    cursor = QTextCursor(document)
    block, at, end = document.begin(), 0, document.characterCount() - 1
    until = time.monotonic() + _TURN_S
    while at < end:
        # Whole paragraphs, so that no pair of surrogates is parted.
        stop = at
        while block.isValid() and stop - at < _STRIDE and (stop == at or block.userState() != GOES_ON):
            stop = block.position() + block.length()
            block = block.next()
        goes_on = block.isValid() and block.userState() == GOES_ON
        cursor.setPosition(at)
        cursor.setPosition(min(stop - goes_on, end), QTextCursor.MoveMode.KeepAnchor)
        parts.append(cursor.selectedText())
        if goes_on:
            breaks.append(stop - 1)
        at = stop
        if time.monotonic() > until:
            await asyncio.sleep(0)
            until = time.monotonic() + _TURN_S
    return Raw("".join(parts), breaks)


def mark_found(view: View, pattern: re.Pattern[str] | None) -> int | None:
    """Mark what `pattern` finds in the part that is loaded, and nothing else; the place of the first one."""
    spans = Spans()
    if pattern is not None:
        spans = spans_of(view.document().toRawText()[:MAX_SEARCHED], pattern, MAX_MARKS)
    view.setExtraSelections([_mark(view, spans, number, is_current=False) for number in range(len(spans))])
    return spans.starts[0] if spans else None


def mark_spans(view: View, spans: Spans, current: int | None = None) -> None:
    """Mark places, and nothing else: all, or where `is_many` those around what is seen. The current one stands out."""
    around = range(len(spans))
    if spans.is_many:
        top = view.cursorForPosition(QPoint(0, 0)).position()
        first = max(0, spans.from_(top) - _AROUND // 4)
        around = around[first : first + _AROUND]
    numbers = list(around)
    if current is not None and current not in around:
        numbers.append(current)
    view.setExtraSelections([_mark(view, spans, number, is_current=number == current) for number in numbers])


def _mark(view: View, spans: Spans, number: int, *, is_current: bool) -> QTextEdit.ExtraSelection:
    form = QTextCharFormat()
    form.setBackground(theme().color("accent" if is_current else "hit"))
    form.setForeground(theme().color("onAccent" if is_current else "text"))
    cursor = QTextCursor(view.document())
    cursor.setPosition(spans.starts[number])
    cursor.setPosition(spans.ends[number], QTextCursor.MoveMode.KeepAnchor)
    # By its own constructor it would be copied at each access, and lose what was set.
    mark = QTextEdit.ExtraSelection()
    mark.cursor = cursor
    mark.format = form
    return mark


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
