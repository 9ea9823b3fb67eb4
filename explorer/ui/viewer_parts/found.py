"""Found words, marked where they are read: drawn over the text, which stays as it is."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence

from PySide6.QtGui import QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QPlainTextEdit, QTextEdit

from explorer.ui.theme import theme

MAX_MARKS = 500
MAX_WORDS = 20  # each is looked for at each character
MAX_SEARCHED = 300_000  # characters: some milliseconds


def pattern_of(words: Sequence[str]) -> re.Pattern[str] | None:
    """What finds any of `words`, the longest first; None for no words, and for a whole text, where all is a word."""
    wanted = sorted({word for word in words if word.strip()}, key=len, reverse=True)
    if not wanted or len(wanted) > MAX_WORDS:
        return None
    return re.compile("|".join(map(re.escape, wanted)), re.IGNORECASE)


def mark_found(view: QTextEdit | QPlainTextEdit, pattern: re.Pattern[str] | None) -> int | None:
    """Mark what `pattern` finds in the part that is loaded, and nothing else; the place of the first one."""
    marks: list[QTextEdit.ExtraSelection] = []
    if pattern is not None:
        form = QTextCharFormat()
        form.setBackground(theme().color("hit"))
        form.setForeground(theme().color("text"))
        for start, end in _places(view.document().toRawText()[:MAX_SEARCHED], pattern):
            cursor = QTextCursor(view.document())
            cursor.setPosition(start)
            cursor.setPosition(end, QTextCursor.MoveMode.KeepAnchor)
            # By its own constructor it would be copied at each access, and lose what was set.
            mark = QTextEdit.ExtraSelection()
            mark.cursor = cursor
            mark.format = form
            marks.append(mark)
    view.setExtraSelections(marks)
    return int(marks[0].cursor.selectionStart()) if marks else None


def _places(text: str, pattern: re.Pattern[str]) -> Iterator[tuple[int, int]]:
    """Start and end of the first `MAX_MARKS`, as Qt counts: in UTF-16."""
    at = units = 0
    for _, found in zip(range(MAX_MARKS), pattern.finditer(text), strict=False):
        units += _units(text[at : found.start()])
        start = units
        units += _units(found.group())
        at = found.end()
        yield start, units


def _units(text: str) -> int:
    return len(text) if text.isascii() else len(text.encode("utf-16-le", "surrogatepass")) // 2
