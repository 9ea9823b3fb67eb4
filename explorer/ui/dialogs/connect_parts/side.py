"""The saved connections at the left."""

from __future__ import annotations

import math

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QSizePolicy

from explorer import text
from explorer.contract import EngineDescriptor
from explorer.engines import SavedConnection
from explorer.i18n import tr
from explorer.ui.dialogs.connect_parts.cards import engine_icon
from explorer.ui.engine_words import engine_label
from explorer.ui.rows import draw_focus_ring, draw_icon, draw_text
from explorer.ui.theme import theme


class ConnectionRow(QAbstractButton):
    """A saved connection, to choose."""

    def __init__(self, saved: SavedConnection, engine: EngineDescriptor | None) -> None:
        super().__init__()
        self.saved = saved
        self._icon = engine_icon(engine)
        self._aside = engine_label(engine) if engine is not None else tr("{engine}, not installed", engine=saved.engine)
        self.setCheckable(True)
        self.setAccessibleName(text.listed((text.shown(saved.name), self._aside)))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        lines = theme().metrics("strong").height() + theme().metrics("small").height()
        return QSize(200, max(44, math.ceil(lines) + 12))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        if self.isChecked() or self.underMouse():
            painter.setPen(Qt.PenStyle.NoPen)
            painter.setBrush(theme().color("soft" if self.isChecked() else "hover"))
            painter.drawRoundedRect(self.rect(), 6, 6)
        half = self.height() // 2
        draw_icon(painter, QRect(12, 0, 16, self.height()), self._icon, "text2")
        name_token = "softText" if self.isChecked() else "text"
        draw_text(painter, QRect(38, 3, self.width() - 46, half), text.shown(self.saved.name), "strong", name_token)
        draw_text(painter, QRect(38, half - 2, self.width() - 46, half), text.shown(self._aside), "small", "text2")
        if self.hasFocus():
            draw_focus_ring(painter, self.rect(), 6)
        painter.end()
