"""The sections of a document against each other: a bar of all of them, and a line for each."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QBrush, QColor, QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QScrollArea, QSizePolicy, QStyle, QVBoxLayout, QWidget

from explorer.i18n import tr
from explorer.text import number, shown, tip
from explorer.ui.context_parts.shown import Part
from explorer.ui.rows import draw_focus_ring, draw_text, text_width
from explorer.ui.theme import mix, theme

HEIGHT = 12
MOST_SEEN = 5
"""Lines that are seen at once, which are all of the contract's own briefs: the document needs its room."""
TINTS = (0.0, 0.28, 0.46, 0.62, 0.76)
"""How much of the ground is in the accent, one after the other; after five they begin anew."""
HATCHED = 0.72
_GAP = 1
_LEAST = 3
_SWATCH = 8
_BETWEEN = 8
_AROUND = 5  # of a line of small text, above and below together
_TOKENS_EM = 4
_WAY = {Qt.Key.Key_Left: -1, Qt.Key.Key_Right: 1}
_DOWN = {Qt.Key.Key_Up: -1, Qt.Key.Key_Down: 1}
_PRESSES = (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space)


def tint(at: int) -> QColor:
    """The colour of the section with this number."""
    return mix(theme().color("accent"), theme().color("base"), TINTS[at % len(TINTS)])


def fill(painter: QPainter, rect: QRect, at: int, is_short: bool) -> None:
    """The ground of a section: its tint, or hatching where it is not whole."""
    if not is_short:
        painter.fillRect(rect, tint(at))
        return
    painter.fillRect(rect, mix(theme().color("accent"), theme().color("base"), HATCHED))
    painter.fillRect(rect, QBrush(theme().color("text3"), Qt.BrushStyle.BDiagPattern))


class BarPart(QAbstractButton):
    """A section in the bar, which is what takes the keyboard."""

    def __init__(self, part: Part, at: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(f"section:{at}")
        self.part, self.at = part, at
        self.is_current = False
        self.setAccessibleName(part.spoken)
        self.setToolTip(tip(part.spoken))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def sizeHint(self) -> QSize:
        return QSize(_LEAST, HEIGHT)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        fill(painter, self.rect(), self.at, self.part.is_short)
        if self.is_current:
            painter.fillRect(QRect(0, self.height() - 3, self.width(), 3), theme().color("text"))
        painter.end()


class SectionBar(QWidget):
    """A part a section, as long as its share of the document; one stop of the Tab key, arrows walk in it."""

    section_wanted = Signal(int)

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sectionBar")
        self.setAccessibleName(tr("Tokens by section"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setFixedHeight(HEIGHT)
        self.parts: list[BarPart] = []
        self._current = 0
        theme().changed.connect(self.update)

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show these sections; one of no tokens has no part."""
        for button in self.parts:
            button.hide()
            button.deleteLater()
        self.parts = [BarPart(part, at, self) for at, part in enumerate(parts) if part.tokens]
        for button in self.parts:
            button.clicked.connect(lambda _=False, at=button.at: self.section_wanted.emit(at))
            button.show()
        self._place()
        self._mark(min(self._current, max(0, len(self.parts) - 1)))

    def _mark(self, current: int) -> None:
        self._current = current
        for at, button in enumerate(self.parts):
            button.is_current = self.hasFocus() and at == current
            button.update()
        self.setAccessibleDescription(self.parts[current].part.spoken if self.parts else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _WAY.get(Qt.Key(event.key()), 0)
        if step and self.parts:
            to = self._current + (-step if self.isRightToLeft() else step)
            self._mark(min(len(self.parts) - 1, max(0, to)))
        elif event.key() in _PRESSES and self.parts:
            self.parts[self._current].click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._mark(self._current)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._mark(self._current)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place()

    def _place(self) -> None:
        total = sum(button.part.tokens for button in self.parts)
        room = self.width() - _GAP * (len(self.parts) - 1) - _LEAST * len(self.parts)
        left = 0.0
        for button in self.parts:
            width = _LEAST + max(0, room) * button.part.tokens / total
            box = QRect(QPoint(round(left), 0), QPoint(round(left + width) - 1, HEIGHT - 1))
            button.setGeometry(QStyle.visualRect(self.layoutDirection(), self.rect(), box))
            left += width + _GAP

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self.parts:
            painter = QPainter(self)
            painter.fillRect(self.rect(), theme().color("sunken"))
            painter.end()


class SectionLine(QAbstractButton):
    """A section in words: to press it goes there, or to what is not in it."""

    def __init__(self, part: Part, at: int, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(f"sectionLine:{at}")
        self.part, self.at = part, at
        self.is_current = False
        self.setAccessibleName(part.spoken)
        self.setToolTip(tip(part.why or part.spoken))
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(120, round(theme().metrics("small").height()) + _AROUND)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter, part = QPainter(self), self.part

        def place(left: int, width: int) -> QRect:
            return QStyle.visualRect(self.layoutDirection(), self.rect(), QRect(left, 0, width, self.height()))

        swatch = place(0, _SWATCH)
        swatch = QRect(swatch.left(), (self.height() - _SWATCH) // 2, _SWATCH, _SWATCH)
        fill(painter, swatch, self.at, part.is_short)
        number_width = text_width("0") * _TOKENS_EM + _BETWEEN
        items_width = text_width(part.items, "small")
        items_left = self.width() - number_width - _BETWEEN - items_width
        heading = place(_SWATCH + _BETWEEN, items_left - _SWATCH - 2 * _BETWEEN)
        token = "text" if self.underMouse() else "text2"
        draw_text(painter, heading, shown(part.heading), "small", token)
        items = place(items_left, items_width + 1)
        draw_text(painter, items, part.items, "small", "caution" if part.is_short else "text3")
        if part.is_short and self.underMouse():
            painter.fillRect(QRect(items.left(), items.bottom() - 2, items_width, 1), theme().color("caution"))
        at_end = Qt.AlignmentFlag.AlignRight
        tokens = place(self.width() - number_width, number_width)
        draw_text(painter, tokens, number(part.tokens), "smallStrong", "text", at_end)
        if self.is_current:
            draw_focus_ring(painter, self.rect())
        painter.end()


class SectionLines(QScrollArea):
    """A line a section; only those that are not whole, where there is little room. One stop of the Tab key."""

    section_wanted = Signal(int)
    rest_wanted = Signal(int)  # what is not in that section

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("sectionLines")
        self.setAccessibleName(tr("Sections"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._is_brief = False
        self._parts: list[Part] = []
        self._current = 0
        self.lines: list[SectionLine] = []
        self._all = QWidget()
        self._column = QVBoxLayout(self._all)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self.setWidget(self._all)
        theme().changed.connect(self._on_theme_changed)

    def sizeHint(self) -> QSize:
        return QSize(120, sum(line.sizeHint().height() for line in self.lines[:MOST_SEEN]))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def _on_theme_changed(self) -> None:
        self.updateGeometry()
        self.update()

    def set_brief(self, is_brief: bool) -> None:
        """Show only the sections that are not whole."""
        if is_brief != self._is_brief:
            self._is_brief = is_brief
            self._show()

    def show_parts(self, parts: Sequence[Part]) -> None:
        """Show these sections; nothing changes where they are the same."""
        if list(parts) != self._parts:
            self._parts = list(parts)
            self._show()

    def _show(self) -> None:
        for line in self.lines:
            self._column.removeWidget(line)
            line.hide()
            line.deleteLater()
        self.lines = []
        for at, part in enumerate(self._parts):
            if part.is_short or not self._is_brief:
                line = SectionLine(part, at, self._all)
                line.clicked.connect(lambda _=False, at=at, part=part: self._tell(at, part))
                self.lines.append(line)
                self._column.addWidget(line)
        self.setVisible(bool(self.lines))
        self.updateGeometry()
        self._mark(min(self._current, max(0, len(self.lines) - 1)))

    def _tell(self, at: int, part: Part) -> None:
        (self.rest_wanted if part.is_short else self.section_wanted).emit(at)

    def _mark(self, current: int) -> None:
        self._current = current
        for at, line in enumerate(self.lines):
            line.is_current = self.hasFocus() and at == current
            line.update()
        if self.lines and self.hasFocus():
            self.ensureWidgetVisible(self.lines[current], 0, 0)
        self.setAccessibleDescription(self.lines[current].part.spoken if self.lines else "")

    def keyPressEvent(self, event: QKeyEvent) -> None:
        step = _DOWN.get(Qt.Key(event.key()), 0)
        if step and self.lines:
            self._mark(min(len(self.lines) - 1, max(0, self._current + step)))
        elif event.key() in _PRESSES and self.lines:
            self.lines[self._current].click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self._mark(self._current)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self._mark(self._current)
