"""A sign of work going on."""

from __future__ import annotations

from PySide6.QtCore import QRectF, QSize, QTimer
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from explorer.i18n import tr
from explorer.ui.theme import theme

APPEARS_MS = 150
FRAME_MS = 33
LOOP_FRAMES = 42  # 1.4 s across
HEIGHT = 2


class BusyLine(QWidget):
    """A line of 2 px that moves while something runs; shown only after 150 ms, so that quick answers do not blink.

    It keeps its 2 px of room when it is not drawn: nothing under it moves.
    """

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._frame = 0
        self._shown = False
        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.setInterval(APPEARS_MS)
        self._wait.timeout.connect(self._on_wait_timeout)
        self._tick = QTimer(self)
        self._tick.setInterval(FRAME_MS)
        self._tick.timeout.connect(self._on_tick_timeout)
        self.setFixedHeight(HEIGHT)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.setAccessibleName(tr("Working"))

    def sizeHint(self) -> QSize:
        return QSize(64, HEIGHT)

    @property
    def is_shown(self) -> bool:
        """Whether the line is drawn now."""
        return self._shown

    def set_busy(self, busy: bool) -> None:
        """Start or stop."""
        if busy:
            if not self._shown and not self._wait.isActive():
                self._wait.start()
            return
        self._wait.stop()
        self._tick.stop()
        self._shown = False
        self.update()

    def _on_wait_timeout(self) -> None:
        self._shown = True
        self._frame = 0
        if theme().animation_ms(1):
            self._tick.start()
        self.update()

    def _on_tick_timeout(self) -> None:
        self._frame = (self._frame + 1) % LOOP_FRAMES
        if self.isVisible():
            self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        if not self._shown:
            return
        painter = QPainter(self)
        painter.fillRect(self.rect(), theme().color("barDim"))
        accent = theme().color("accent")
        if not self._tick.isActive():  # no motion wanted: a line that stands still says it too
            painter.fillRect(self.rect(), accent)
            return
        length = self.width() * 0.3
        left = -length + (self.width() + length) * self._frame / LOOP_FRAMES
        if self.isRightToLeft():
            left = self.width() - length - left
        painter.fillRect(QRectF(left, 0, length, self.height()), accent)
