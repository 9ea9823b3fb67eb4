"""Painting of rows: a tree with rounded selection, and the parts that delegates are made of.

The helpers take colours and fonts by name and set both for everything they draw: a painter keeps the last ones. They
leave render hints and brush as they found them. `Qt.AlignLeft` means the leading edge, as everywhere in Qt: it is the
right one where the program reads from right to left.
"""

from __future__ import annotations

import functools
import math
import re
from collections.abc import Iterator, Sequence

from PySide6.QtCore import QEvent, QModelIndex, QPersistentModelIndex, QPoint, QPointF, QRect, QRectF, Qt
from PySide6.QtGui import (
    QBrush,
    QFocusEvent,
    QFont,
    QGlyphRun,
    QGuiApplication,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QPalette,
    QPen,
    QPixmap,
    QStaticText,
    QTextLayout,
    QTextLine,
    QTextOption,
)
from PySide6.QtWidgets import QAbstractItemView, QFrame, QTreeView, QWidget

from explorer.text import isolate
from explorer.ui.icons import pixmap
from explorer.ui.theme import theme

Index = QModelIndex | QPersistentModelIndex
Rect = QRect | QRectF

INSET = 4  # of a row's ground from the edges of its view
RADIUS = 4
CHEVRON = 12
PILL_PAD = 6
LEAST_SIGN = 3  # pixels: signs are wider than that, on the whole


def _is_mirrored() -> bool:
    return QGuiApplication.layoutDirection() == Qt.LayoutDirection.RightToLeft


def fill_round(painter: QPainter, rect: Rect, radius: float, token: str) -> None:
    """A filled box with round corners."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    painter.setPen(Qt.PenStyle.NoPen)
    painter.setBrush(theme().color(token))
    painter.drawRoundedRect(QRectF(rect), radius, radius)
    painter.restore()


def outline_round(
    painter: QPainter, rect: Rect, radius: float, token: str, width: float = 1, dashed: bool = False
) -> None:
    """The outline of a box with round corners, inside `rect`."""
    painter.save()
    painter.setRenderHint(QPainter.RenderHint.Antialiasing)
    pen = QPen(theme().color(token), width)
    if dashed:
        pen.setDashPattern([3, 2])
    painter.setPen(pen)
    painter.setBrush(Qt.BrushStyle.NoBrush)
    half = width / 2
    painter.drawRoundedRect(QRectF(rect).adjusted(half, half, -half, -half), radius - half, radius - half)
    painter.restore()


def draw_text(
    painter: QPainter,
    rect: Rect,
    text: str,
    font_role: str = "body",
    color_token: str = "text",
    align: Qt.AlignmentFlag = Qt.AlignmentFlag.AlignLeft,
    elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight,
) -> int:
    """Draw one line, vertically centred, elided to `rect`; the width it took.

    The text is plain, whatever it looks like, and isolated: one that reads from right to left keeps its own order and
    does not change the side it stands at.
    """
    mirrored = _is_mirrored()
    colors = theme()
    start, end, room = rect.left(), rect.right(), rect.width()
    if isinstance(rect, QRect):
        end += 1
    else:
        room = math.floor(room)
    parts, width, rise, height = _line(text, font_role, room, elide, mirrored, colors.type_generation)
    if align == Qt.AlignmentFlag.AlignHCenter:
        left = start + (rect.width() - width) / 2
    else:
        left = end - width if (align == Qt.AlignmentFlag.AlignRight) != mirrored else start
    top = rect.top() + math.floor((rect.height() - height) / 2) + rise
    painter.setFont(colors.font(font_role))
    painter.setPen(colors.color(color_token))
    for further, part in parts:
        if isinstance(part, QGlyphRun):
            painter.drawGlyphRun(QPointF(left + further, top), part)
        else:
            painter.drawStaticText(QPointF(left, top), part)
    return math.ceil(width)


Line = tuple[Sequence[tuple[float, QGlyphRun | QStaticText]], float, float, float]
"""What is drawn how far from its start, its width, how far below the top of the font's height it starts, that height.
"""


@functools.lru_cache(maxsize=2048)
def _line(text: str, font_role: str, room: int, elide: Qt.TextElideMode, mirrored: bool, type_generation: int) -> Line:
    """A line ready to draw. Shaping costs more than drawing, so of a text far too long only a start is looked at."""
    start = text[: max(0, room) // LEAST_SIGN + 1] if elide == Qt.TextElideMode.ElideRight else text
    if start and not mirrored and _PLAIN.fullmatch(start) is not None:
        plain = _plain_line(start, len(start) < len(text), font_role, room, elide, type_generation)
        if plain is not None:
            return plain
    metrics = theme().metrics(font_role)
    width = metrics.horizontalAdvance(start)
    if len(start) < len(text):
        if width > room:
            text = start
        else:
            width = metrics.horizontalAdvance(text)
    if width > room:
        text = metrics.elidedText(text, elide, room)
        width = min(room, metrics.horizontalAdvance(text))
    text = text if text.isascii() and not mirrored else isolate(text)
    line = QStaticText(text)
    line.setTextFormat(Qt.TextFormat.PlainText)
    line.setTextOption(_one_line())
    line.prepare(font=theme().font(font_role))
    # The ascent is the line's own: a sign from another font makes it taller, and must not move the baseline.
    ascent = _ascent("x" if text.isascii() else text, font_role, type_generation)
    return [(0.0, line)], width, round(metrics.ascent()) - ascent, metrics.height()


# Western letters and signs: one place a sign, from left to right, from fonts without pictures.
_PLAIN = re.compile("[ -~\u00a0-\u00ac\u00ae-\u024f\u2010-\u2027\u202f-\u203b]*")
_DOTS = "\u2026"


def _plain_line(
    text: str, goes_on: bool, font_role: str, room: int, elide: Qt.TextElideMode, type_generation: int
) -> Line | None:
    """A line of `_PLAIN` text, shaped once for measuring, cutting and drawing; None where there is no room for any.

    `goes_on`: there is more text than `text`, which alone is wide enough in nearly all cases.
    """
    font, metrics = theme().font(font_role), theme().metrics(font_role)
    layout, line = _laid_out(text, font)
    width: float = line.cursorToX(len(text))[0]  # type: ignore[index]
    rise, height = round(metrics.ascent()) - line.ascent(), metrics.height()
    if width <= room or elide == Qt.TextElideMode.ElideNone:
        return None if goes_on else ([(0.0, run) for run in layout.glyphRuns()], min(room, width), rise, height)
    dots, dots_width = _dots(font_role, type_generation)
    spare = room - dots_width
    if spare <= 0 or elide == Qt.TextElideMode.ElideLeft:
        return None
    if elide == Qt.TextElideMode.ElideMiddle:
        kept = _middle(line, len(text), width, spare)
    else:
        kept = line.xToCursor(spare, QTextLine.CursorPosition.CursorOnCharacter)
    if kept <= 0:
        return None
    cut: float = line.cursorToX(kept)[0]  # type: ignore[index]
    parts = [(0.0, run) for run in layout.glyphRuns(0, kept)] + [(cut, run) for run in dots]
    width, after = cut + dots_width, width
    if elide == Qt.TextElideMode.ElideMiddle:
        behind: float = line.cursorToX(len(text) - kept)[0]  # type: ignore[index]
        parts += [(width - behind, run) for run in layout.glyphRuns(len(text) - kept, kept)]
        width += after - behind
    return parts, width, rise, height


def _middle(line: QTextLine, size: int, width: float, spare: float) -> int:
    """How many signs of a line have room at each end."""
    low, high = 0, size // 2
    while low < high:
        kept = (low + high + 1) // 2
        taken: float = line.cursorToX(kept)[0] + width - line.cursorToX(size - kept)[0]  # type: ignore[index]
        low, high = (kept, high) if taken <= spare else (low, kept - 1)
    return low


def _laid_out(text: str, font: QFont) -> tuple[QTextLayout, QTextLine]:
    """A text on one line, which lasts as long as its layout."""
    layout = QTextLayout(text, font)
    layout.setTextOption(_one_line())
    layout.setCacheEnabled(True)  # else what was shaped is forgotten at the end, and shaped again for each question
    layout.beginLayout()
    line = layout.createLine()
    line.setLineWidth(1e6)  # lays it out; until then it has no ascent
    layout.endLayout()
    return layout, line


@functools.lru_cache(maxsize=32)
def _dots(font_role: str, type_generation: int) -> tuple[list[QGlyphRun], float]:
    """What stands for the rest of a text, and its width."""
    layout, line = _laid_out(_DOTS, theme().font(font_role))
    return layout.glyphRuns(), line.cursorToX(1)[0]  # type: ignore[index]


@functools.cache
def _one_line() -> QTextOption:
    option = QTextOption()
    option.setWrapMode(QTextOption.WrapMode.NoWrap)
    option.setTextDirection(Qt.LayoutDirection.LeftToRight)
    return option


@functools.lru_cache(maxsize=256)
def _ascent(text: str, font_role: str, type_generation: int) -> float:
    _layout, line = _laid_out(text, theme().font(font_role))
    return line.ascent()


def text_width(text: str, font_role: str = "body") -> int:
    """The width of a line in pixels, rounded up."""
    return _text_width(text, font_role, theme().type_generation)


@functools.lru_cache(maxsize=8192)
def _text_width(text: str, font_role: str, type_generation: int) -> int:
    return math.ceil(theme().metrics(font_role).horizontalAdvance(text))


def draw_bar(
    painter: QPainter, rect: Rect, fraction: float, token: str = "bar", track_token: str | None = "line"
) -> None:
    """A bar over `fraction` (0 to 1) of `rect`, from its leading edge, over a track.

    It is at least 1 px long, unless `fraction` is 0: little is not nothing.
    """
    box = QRectF(rect)
    if track_token is not None:
        painter.fillRect(box, theme().color(track_token))
    if fraction <= 0:
        return
    width = max(1.0, round(box.width() * min(1.0, fraction)))
    left = box.right() - width if _is_mirrored() else box.left()
    color = theme().color(token)
    hatched = theme().is_high_contrast and box.height() > 2  # thinner, a pattern would have nothing to show
    painter.fillRect(
        QRectF(left, box.top(), width, box.height()), QBrush(color, Qt.BrushStyle.BDiagPattern) if hatched else color
    )


def pill_width(text: str) -> int:
    """The width `draw_pill` takes."""
    return text_width(text, "micro") + 2 * PILL_PAD


def draw_pill(painter: QPainter, rect: Rect, text: str, dashed: bool = False, ground: str = "idle") -> int:
    """A word in a pill at the trailing end of `rect`, vertically centred; the width it took.

    `dashed` is for sandboxes only: it has an outline in place of a ground. `ground` must differ from the row's own.
    """
    box = QRectF(rect)
    width = float(min(pill_width(text), math.floor(box.width())))
    height = float(min(math.ceil(theme().metrics("micro").height()) + 4, math.floor(box.height())))
    left = box.left() if _is_mirrored() else box.right() - width
    top = box.top() + math.floor((box.height() - height) / 2)
    pill = QRectF(left, top, width, height)
    if dashed:
        outline_round(painter, pill, RADIUS, "edge", dashed=True)
    else:
        fill_round(painter, pill, RADIUS, ground)
    inside = pill.adjusted(PILL_PAD - 1, 0, 1 - PILL_PAD, 0)  # a pixel to spare: widths of text are fractions
    draw_text(painter, inside, text, "micro", "text2", Qt.AlignmentFlag.AlignHCenter)
    return int(width)


def check_size() -> int:
    """The side of a box to tick: even, so that its mark is in the middle."""
    side = theme().size_px("body") + 1
    return side + side % 2


def draw_check(painter: QPainter, rect: Rect, checked: bool, enabled: bool = True, radio: bool = False) -> None:
    """A box to tick, or a radio, centred in `rect`."""
    side = check_size()
    box = QRectF(rect)
    left = box.left() + math.floor((box.width() - side) / 2)
    top = box.top() + math.floor((box.height() - side) / 2)
    drawn = _check(checked, enabled, radio, side, painter.device().devicePixelRatioF(), theme().color_generation)
    painter.drawPixmap(QRectF(left, top, side, side), drawn, QRectF(drawn.rect()))


@functools.lru_cache(maxsize=64)
def _check(checked: bool, enabled: bool, radio: bool, side: int, dpr: float, color_generation: int) -> QPixmap:
    """The box of `draw_check`, in the colours of now: round corners cost more than a picture of them."""
    drawn = QPixmap(math.ceil(side * dpr), math.ceil(side * dpr))
    drawn.setDevicePixelRatio(dpr)
    drawn.fill(Qt.GlobalColor.transparent)
    painter = QPainter(drawn)
    mark = QRectF(0, 0, side, side)
    radius = side / 2 if radio else RADIUS
    filled = checked and enabled and not radio
    if enabled:
        fill_round(painter, mark, radius, "accent" if filled else "raised")
    if not filled:
        outline_round(painter, mark, radius, "line" if not enabled else "accent" if checked else "edge")
    if checked:
        token = "disabled" if not enabled else "accent" if radio else "onAccent"
        if radio:
            dot = side * 0.25
            fill_round(painter, mark.adjusted(dot, dot, -dot, -dot), side, token)
        else:
            draw_icon(painter, mark, "check", token, side)
    painter.end()
    return drawn


def draw_focus_ring(painter: QPainter, rect: Rect, radius: float = RADIUS) -> None:
    """The 2 px ring of what has the focus, inside `rect`."""
    outline_round(painter, rect, radius, "accent", width=2)


def draw_icon(painter: QPainter, rect: Rect, name: str, color_token: str = "text2", size: int = 16) -> None:
    """An icon centred in `rect`, sharp at the painter's pixel ratio."""
    device = painter.device()
    drawn = pixmap(name, color_token, size, device.devicePixelRatioF())
    box = QRectF(rect)
    left = box.left() + math.floor((box.width() - size) / 2)
    top = box.top() + math.floor((box.height() - size) / 2)
    painter.drawPixmap(QRectF(left, top, size, size), drawn, QRectF(drawn.rect()))


class RowTree(QTreeView):
    """A tree whose rows are drawn whole: hover, selection and focus run under the branches, inset and rounded."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._hovered = QPersistentModelIndex()
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setMouseTracking(True)
        self.setIndentation(14)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        palette = QPalette()  # with this one role set: the others go on following the application's
        palette.setColor(QPalette.ColorRole.Highlight, Qt.GlobalColor.transparent)  # else branches are painted twice
        self.setPalette(palette)

    # Drawing

    def row_box(self, rect: QRect) -> QRect:
        """The ground of the row at `rect`."""
        return QRect(INSET, rect.y(), self.viewport().width() - 2 * INSET, rect.height())

    def is_hovered(self, index: Index) -> bool:
        """Whether the pointer is over the row of `index`."""
        hovered = self._hovered
        return hovered.isValid() and hovered.row() == index.row() and hovered.parent() == index.parent()

    def rows_in(self, area: QRect) -> Iterator[tuple[QModelIndex, QRect]]:
        """The rows of `area`, which is part of the viewport, and where the first cell of each is."""
        index = self.indexAt(QPoint(self.viewport().width() // 2, area.top())).siblingAtColumn(0)
        while index.isValid() and (cell := self.visualRect(index)).top() <= area.bottom():
            yield index, cell
            index = self.indexBelow(index)

    def paintEvent(self, event: QPaintEvent) -> None:
        # Not the base's, which calls back for each row and each cell of it: that takes longer than the drawing.
        painter = QPainter(self.viewport())
        region = event.region()
        selection, current = self.selectionModel(), self._row_index(self.currentIndex())
        for index, cell in self.rows_in(region.boundingRect()):
            box = self.row_box(cell)
            if not region.intersects(QRect(0, box.y(), self.viewport().width(), box.height())):
                continue
            selected = selection.isSelected(index)
            if selected:
                fill_round(painter, box, RADIUS, "soft" if self.hasFocus() else "idle")
            elif self.is_hovered(index) and self.isEnabled():
                fill_round(painter, box, RADIUS, "hover")
            self.draw_cells(painter, cell, index)
            if self.hasFocus() and not selected and current == index:
                draw_focus_ring(painter, box)
        painter.end()

    def draw_cells(self, painter: QPainter, cell: QRect, index: QModelIndex) -> None:
        """Draw what stands on the ground of a row whose first cell is at `cell`: here its chevron alone."""
        if self.model().hasChildren(index):
            self.draw_chevron(painter, cell, index)

    def draw_chevron(self, painter: QPainter, cell: QRect, index: QModelIndex) -> None:
        """A small chevron beside the first cell of what can be opened; there are no lines."""
        step = self.indentation()
        name = "chevron-down" if self.isExpanded(index) else "chevron-right"
        left = cell.left() - step + INSET // 2
        if self.isRightToLeft():
            name = name.replace("right", "left")
            left = cell.right() + 1 - INSET // 2
        draw_icon(painter, QRect(left, cell.y(), step, cell.height()), name, "text3", CHEVRON)

    @staticmethod
    def _row_index(index: Index) -> QModelIndex:
        """The index of a row's first column, which stands for the row."""
        return index.sibling(index.row(), 0)

    # The pointer and the focus

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self._hover(self.indexAt(event.position().toPoint()))
        super().mouseMoveEvent(event)

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() in (QEvent.Type.Leave, QEvent.Type.HoverLeave, QEvent.Type.Wheel):
            self._hover(QModelIndex())
        return super().viewportEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()  # the whole selection changes its ground

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def currentChanged(self, current: Index, previous: Index) -> None:
        super().currentChanged(current, previous)
        for index in (current, previous):  # the view itself repaints one cell, the ring runs round the row
            self.viewport().update(self.row_box(self.visualRect(index)))

    def _hover(self, index: QModelIndex) -> None:
        old = self._hovered
        before = self.model().index(old.row(), 0, old.parent()) if old.isValid() else QModelIndex()
        if before == self._row_index(index):
            return
        self._hovered = QPersistentModelIndex(index)
        for one in (before, index):
            if one.isValid():
                row = self.visualRect(one)
                self.viewport().update(0, row.y(), self.viewport().width(), row.height())
