"""A label of one line that is cut where it has no room, and whole in its tooltip."""

from __future__ import annotations

from PySide6.QtCore import QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QLabel, QSizePolicy

from explorer.text import tip
from explorer.ui.rows import draw_text, text_width
from explorer.ui.theme import theme


class OneLine(QLabel):
    """Plain text in a role and a colour of the theme; its text is what it was given, however it is drawn."""

    def __init__(
        self, role: str = "body", token: str = "text", elide: Qt.TextElideMode = Qt.TextElideMode.ElideRight
    ) -> None:
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._role, self._token, self._elide = role, token, elide
        self._is_struck = False

    def say(self, words: str, token: str | None = None) -> None:
        self._token = token or self._token
        self.setText(words)
        self.setAccessibleName(words)
        self.setToolTip(tip(words))
        self.updateGeometry()
        self.update()

    def set_struck(self, is_struck: bool) -> None:
        """Draw a line through it: what it says is no longer so."""
        self._is_struck = is_struck
        self.update()

    def sizeHint(self) -> QSize:
        # Isolates and a pixel of rounding are wider than the words alone.
        return QSize(text_width(self.text(), self._role) + 2, self._height())

    def minimumSizeHint(self) -> QSize:
        return QSize(min(self.sizeHint().width(), theme().scaled(48)), self._height())

    def _height(self) -> int:
        return round(theme().metrics(self._role).height()) + 2

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        width = draw_text(painter, self.rect(), self.text(), self._role, self._token, elide=self._elide)
        if self._is_struck:
            left = self.width() - width if self.isRightToLeft() else 0
            middle = self.height() // 2
            painter.drawLine(left, middle, left + width, middle)
        painter.end()
