"""A text of a few lines, laid out and drawn in a widget's own paint event."""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterable, Sequence
from typing import Any

from PySide6.QtCore import QPoint, QRect, QRectF, Qt
from PySide6.QtGui import QGuiApplication, QPainter, QTextLayout, QTextLine, QTextOption

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


def mark_in_lines(painter: QPainter, rect: QRect, lines: list[str], role: str, pattern: re.Pattern[str]) -> None:
    """The ground of what `pattern` finds in lines that `draw_lines` draws over it."""
    spans = [[found.span() for found in pattern.finditer(text)] for text in lines]
    fill_in_lines(painter, rect, lines, role, spans, "hit")


def fill_in_lines(
    painter: QPainter, rect: QRect, lines: list[str], role: str, spans: Sequence[Iterable[tuple[int, int]]], token: str
) -> None:
    """The ground of some characters of each line, which `draw_lines` draws over it."""
    height = line_height(role)
    for at, (text, within) in enumerate(zip(lines, spans, strict=True)):
        _layout, line = _line_of(text, role, rect)
        left = _left_of(line, rect)
        for span in within:
            xs = sorted(_x(line, len(text[:end].encode("utf-16-le", "replace")) // 2) for end in span)
            box = QRectF(left + xs[0], rect.top() + at * height + 1, xs[1] - xs[0], height - 2)
            painter.fillRect(box, theme().color(token))


def place_in_lines(rect: QRect, lines: list[str], role: str, point: QPoint) -> tuple[int, int]:
    """The line at a point of what `draw_lines` draws, and the character there that a mark would begin or end before."""
    at = min(max(0, (point.y() - rect.top()) // line_height(role)), len(lines) - 1)
    _layout, line = _line_of(lines[at], role, rect)
    units = line.xToCursor(point.x() - _left_of(line, rect))
    return at, len(lines[at].encode("utf-16-le", "replace")[: 2 * units].decode("utf-16-le", "replace"))


def _line_of(text: str, role: str, rect: QRect) -> tuple[QTextLayout, QTextLine]:
    """One line as it is drawn; it lives as long as its layout."""
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    option.setTextDirection(Qt.LayoutDirection.LeftToRight)  # as `draw_text` has it
    layout = QTextLayout(text, theme().font(role))
    layout.setTextOption(option)
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(rect.width() * 2)
    layout.endLayout()
    return layout, line


def _left_of(line: QTextLine, rect: QRect) -> int:
    return rect.right() + 1 - math.ceil(line.naturalTextWidth()) if _is_mirrored() else rect.left()


def _x(line: QTextLine, at: int) -> float:
    """Where a line is at a place in its text; the binding returns that place too."""
    found: Any = line.cursorToX(at)
    return float(found[0])


def _is_mirrored() -> bool:
    return QGuiApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft
