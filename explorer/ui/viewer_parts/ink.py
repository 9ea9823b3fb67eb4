"""Writing into text documents: the formats of the theme, and texts of any size a piece at a time."""

from __future__ import annotations

import re
from collections.abc import Iterator
from functools import cached_property

from PySide6.QtGui import QTextBlock, QTextBlockFormat, QTextCharFormat, QTextCursor, QTextDocument

from explorer.ui.theme import theme
from explorer.ui.viewer_parts.marks import runs

PIECE = 8_000  # characters written before the window gets its turn again
MAX_LINE = 8_000  # characters; Qt lays out a whole line at once, so that longer ones are cut in view
UNWRAPPED_LINE = 500  # where lines do not wrap, all that are seen are laid out at once
GOES_ON = 1  # the state of a block that begins in the middle of a line
DEAR_SHARE = 4  # of a length, for text that takes so much longer to lay out
_DEAR = re.compile("[\u0900-\u0dff\u200d\U00010000-\U0010ffff]")
_LOOKS_BACK = 100  # characters, for a blank at which to cut
LEADING = 4  # added to a line of 16 px for reading

Step = int
"""Characters written by one step."""
Steps = Iterator[Step]


class Ink:
    """The formats that are used for writing, in the colours of now."""

    def __init__(self) -> None:
        self._made: dict[tuple[str, str], QTextCharFormat] = {}

    def chars(self, role: str = "body", token: str = "text") -> QTextCharFormat:
        """A font of the theme in a colour; shared, copy it before a change."""
        if (role, token) not in self._made:
            made = QTextCharFormat()
            made.setFont(theme().font(role))
            made.setForeground(theme().color(token))
            self._made[role, token] = made
        return self._made[role, token]

    @cached_property
    def mark(self) -> QTextCharFormat:
        """The name of a hidden character."""
        made = QTextCharFormat(self.chars("monoSmall", "caution"))
        made.setBackground(theme().color("cautionGround"))
        return made

    def block(self, above: float = 0, below: float = 0, indent: float = 0) -> QTextBlockFormat:
        """A paragraph at the line height for reading."""
        made = QTextBlockFormat()
        made.setLineHeight(LEADING, QTextBlockFormat.LineHeightTypes.LineDistanceHeight.value)
        made.setTopMargin(above)
        made.setBottomMargin(below)
        made.setLeftMargin(indent)
        return made


def put(cursor: QTextCursor, text: str, chars: QTextCharFormat, ink: Ink) -> None:
    """Insert `text` as plain text: what looks like HTML stays as it is, hidden characters are drawn as marks."""
    for piece, is_mark in runs(text.replace("\r\n", "\n")):
        if is_mark:
            cursor.insertText(f"\N{NARROW NO-BREAK SPACE}{piece}\N{NARROW NO-BREAK SPACE}", ink.mark)
        else:
            cursor.insertText(piece, chars)


def put_long(cursor: QTextCursor, text: str, chars: QTextCharFormat, ink: Ink, limit: int = MAX_LINE) -> Steps:
    """Insert a text of any size in steps; lines beyond `limit` are broken, which only the view shows."""
    begun = 0
    for whole in pieces(text):
        share = DEAR_SHARE if len(_DEAR.findall(whole)) > len(whole) // DEAR_SHARE else 1
        for piece in pieces(whole, PIECE // share):
            broken, begun = broken_lines(piece, begun, limit // share)
            start = cursor.position()
            cursor.beginEditBlock()
            put(cursor, broken, chars, ink)
            cursor.endEditBlock()
            if len(broken) > len(piece):
                _note_breaks(cursor.document().findBlock(start), piece.replace("\r\n", "\n"), broken)
            yield len(piece)


def _note_breaks(block: QTextBlock, piece: str, broken: str) -> None:
    """Give the blocks that begin at a break which only the view has the state `GOES_ON`."""
    at = 0
    for line in broken.replace("\r\n", "\n").split("\n")[:-1]:
        at += len(line)
        block = block.next()
        if piece[at : at + 1] == "\n":
            at += 1
        else:
            block.setUserState(GOES_ON)


def pieces(text: str, size: int = PIECE) -> Iterator[str]:
    """`text` in parts of about `size` characters, cut after a line if one ends near there, else between words."""
    at = 0
    while len(text) - at > size:
        end = at + size
        line = text.rfind("\n", end - size // 4, end)
        end = line + 1 if line >= 0 else _after_blank(text, at, end)
        yield text[at:end]
        at = end
    if at < len(text):
        yield text[at:]


def _after_blank(text: str, start: int, end: int) -> int:
    """The place after the last blank shortly before `end`, so that no word is cut; `end` where there is none."""
    blank = text.rfind(" ", max(start, end - _LOOKS_BACK), end)
    return blank + 1 if blank >= 0 else end


def broken_lines(text: str, begun: int = 0, limit: int = MAX_LINE) -> tuple[str, int]:
    """`text` with a break after each `limit` characters of a line, and how much its last line already holds.

    `begun` characters of the first line stand before `text`.
    """
    out: list[str] = []
    looks_back = min(_LOOKS_BACK, limit // 4)
    for line in text.split("\n"):
        at = 0
        while (left := begun + len(line) - at) > limit:
            is_full = begun > limit - looks_back  # there is no room in which to find a blank
            cut = at if is_full else _after_blank(line, at, at + limit - begun)
            out.append(line[at:cut])
            at, begun = cut, 0
        out.append(line[at:])
        begun = 0
    return "\n".join(out), left


def has_long_line(text: str) -> bool:
    """Whether `broken_lines` would break any."""
    start = 0
    while len(text) - start > MAX_LINE:  # a pattern would begin anew at each character of each line
        end = text.rfind("\n", start, start + MAX_LINE + 1)
        if end < 0:
            return True
        start = end + 1
    return False


def end_of(document: QTextDocument) -> QTextCursor:
    """A cursor after everything."""
    cursor = QTextCursor(document)
    cursor.movePosition(QTextCursor.MoveOperation.End)
    return cursor
