"""A text of a few lines, laid out and drawn in a widget's own paint event."""

from __future__ import annotations

import functools

from PySide6.QtCore import QRect, QRectF, Qt
from PySide6.QtGui import QPainter, QTextLayout, QTextOption

from explorer.ui.rows import draw_text
from explorer.ui.theme import theme


def lay_out(text: str, role: str, width: int, max_lines: int) -> list[str]:
    """`text` in at most `max_lines` lines of `width` pixels; what does not fit ends the last one with an ellipsis."""
    return list(_lay_out(text, role, width, max_lines, theme().type_generation))


@functools.lru_cache(maxsize=256)  # layouts ask for the height again and again
def _lay_out(text: str, role: str, width: int, max_lines: int, type_generation: int) -> tuple[str, ...]:
    layout = QTextLayout(text, theme().font(role))
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.WrapAtWordBoundaryOrAnywhere)
    layout.setTextOption(option)
    units = text.encode("utf-16-le", "replace")  # Qt counts in UTF-16
    lines: list[str] = []
    layout.beginLayout()
    while (line := layout.createLine()).isValid():
        line.setLineWidth(max(1, width))
        start, length = line.textStart(), line.textLength()
        if len(lines) == max_lines - 1 and start + length < len(units) // 2:
            rest = units[2 * start :].decode("utf-16-le", "replace")
            lines.append(theme().metrics(role).elidedText(rest, Qt.TextElideMode.ElideRight, width))
            break
        lines.append(units[2 * start : 2 * (start + length)].decode("utf-16-le", "replace").rstrip(" "))
    layout.endLayout()
    return tuple(lines)


def line_height(role: str) -> int:
    """The height of one line for reading."""
    return -(-int(theme().metrics(role).height() * 1.25) // 2) * 2


def draw_lines(painter: QPainter, rect: QRect, lines: list[str], role: str, token: str) -> None:
    """Draw lines from the top of `rect`."""
    height = line_height(role)
    for at, line in enumerate(lines):
        box = QRectF(rect.left(), rect.top() + at * height, rect.width(), height)
        draw_text(painter, box, line, role, token, elide=Qt.TextElideMode.ElideNone)
