"""The focus ring of filled buttons.

Their border has the fill's colour already, so a ring must stand inside it, and a style sheet can only draw one that
touches the words. Each button gets a ring of its own the first time the focus comes to it.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QEvent, QObject, QRectF, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QPen
from PySide6.QtWidgets import QPushButton, QWidget
from shiboken6 import isValid

if TYPE_CHECKING:
    from explorer.ui.theme import Theme

FILLED = ("primary", "danger")
INSET = 2
WIDTH = 2
RADIUS = 4


class _Ring(QWidget):
    def __init__(self, button: QPushButton, theme: Theme) -> None:
        super().__init__(button)
        self._theme = theme
        self._is_danger = button.property("kind") == "danger"
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        button.installEventFilter(self)
        self._fit(button)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Resize and isinstance(watched, QPushButton) and isValid(self):
            self._fit(watched)
        return False

    def _fit(self, button: QPushButton) -> None:
        self.setGeometry(button.rect().adjusted(INSET, INSET, -INSET, -INSET))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        color = self._theme.derived()["onDanger"] if self._is_danger else self._theme.color("onAccent")
        painter.setPen(QPen(color, WIDTH))
        half = WIDTH / 2
        painter.drawRoundedRect(QRectF(self.rect()).adjusted(half, half, -half, -half), RADIUS - half, RADIUS - half)


def move_ring(old: QWidget | None, new: QWidget | None, theme: Theme) -> None:
    """Take the ring from `old`, if it is a filled button, and give it to `new`, if that is one."""
    if isinstance(old, QPushButton) and isValid(old):
        ring = old.findChild(_Ring)
        if ring is not None:
            ring.hide()
    if isinstance(new, QPushButton) and new.property("kind") in FILLED:
        ring = new.findChild(_Ring) or _Ring(new, theme)
        ring.show()
