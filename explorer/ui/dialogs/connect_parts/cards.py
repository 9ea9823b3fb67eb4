"""The engines to choose from, each a card."""

from __future__ import annotations

import math
from collections.abc import Sequence

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QButtonGroup, QGridLayout, QSizePolicy, QWidget

from explorer import text
from explorer.contract import EngineDescriptor
from explorer.i18n import tr
from explorer.ui.engine_words import engine_description, engine_label, engine_name
from explorer.ui.rows import draw_check, draw_focus_ring, draw_icon, draw_text
from explorer.ui.theme import theme

_GAP = 12


def engine_icon(engine: EngineDescriptor | None) -> str:
    """The icon of an engine by what it needs: a file, an account, a server, or nothing."""
    if engine is None:
        return "warning"
    if engine.needs_path:
        return "file"
    if engine.hosted:
        return "cloud"
    return "plug" if engine.needs_key or engine.needs_endpoint else "clock"


def engine_aside(engine: EngineDescriptor) -> str:
    """Where an engine keeps its memory, in a few words."""
    if engine.needs_path:
        return tr("a file on this computer")
    if engine.hosted:
        return tr("needs a key")
    return tr("your own server") if engine.needs_key or engine.needs_endpoint else tr("gone when it is closed")


class EngineCard(QAbstractButton):
    """One engine to choose, as a card with a radio."""

    def __init__(self, engine: EngineDescriptor) -> None:
        super().__init__()
        self.engine = engine
        self.setCheckable(True)
        self.setText(engine_label(engine))
        self.setObjectName(f"engine:{engine.id}")
        self.setAccessibleName(text.listed((engine_label(engine), engine_aside(engine))))
        self.setToolTip(text.tip(engine_description(engine)))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        theme().changed.connect(self.update)

    def sizeHint(self) -> QSize:
        """As wide as its words need; a layout may give it less."""
        name = theme().metrics("strong").horizontalAdvance(engine_name(self.engine)) + 76
        aside = theme().metrics("small").horizontalAdvance(engine_aside(self.engine)) + 48
        return QSize(math.ceil(max(name, aside)), 18 + 2 * theme().row_height("treeRow"))

    def minimumSizeHint(self) -> QSize:
        return QSize(0, self.sizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        chosen = self.isChecked()
        width = 2 if chosen else 1
        box = self.rect().toRectF().adjusted(width / 2, width / 2, -width / 2, -width / 2)
        pen = painter.pen()
        pen.setColor(theme().color("accent" if chosen else "line"))
        pen.setWidth(width)
        painter.setPen(pen)
        painter.setBrush(theme().color("hover" if self.underMouse() and not chosen else "raised"))
        painter.drawRoundedRect(box, 8, 8)
        line = theme().row_height("treeRow")
        draw_icon(painter, QRect(12, 8, 16, line), engine_icon(self.engine), "accent" if chosen else "text2")
        draw_text(painter, QRect(36, 8, self.width() - 76, line), engine_name(self.engine), "strong", "text")
        draw_check(painter, QRect(self.width() - 32, 8, 20, line), chosen, True, True)
        aside = QRect(36, 8 + line - 2, self.width() - 48, line)
        draw_text(painter, aside, engine_aside(self.engine), "small", "text2")
        if self.hasFocus():
            draw_focus_ring(painter, self.rect(), 8)
        painter.end()


class EngineCards(QWidget):
    """A card for each engine, in as few rows as hold their words, and as many cards in each as can be the same."""

    def __init__(self, engines: Sequence[EngineDescriptor]) -> None:
        super().__init__()
        self.group = QButtonGroup(self)
        self.cards = [EngineCard(engine) for engine in engines]
        self._columns = 0
        self._grid = QGridLayout(self)
        self._grid.setContentsMargins(0, 0, 0, 0)
        self._grid.setSpacing(_GAP)
        for card in self.cards:
            self.group.addButton(card)
        self._lay_out(self.sizeHint().width())

    def sizeHint(self) -> QSize:
        return QSize(0, super().sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._lay_out(self.width())

    def _lay_out(self, width: int) -> None:
        if not self.cards:
            return
        n, widest = len(self.cards), max(card.sizeHint().width() for card in self.cards)
        most = max(1, min(n, (width + _GAP) // (widest + _GAP)))
        columns = math.ceil(n / math.ceil(n / most))
        if columns == self._columns:
            return
        for column in range(max(columns, self._columns)):
            self._grid.setColumnStretch(column, int(column < columns))
        self._columns = columns
        for at, card in enumerate(self.cards):
            self._grid.removeWidget(card)
            self._grid.addWidget(card, at // columns, at % columns)
