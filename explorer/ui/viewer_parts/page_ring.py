"""The focus ring around a page."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QFocusEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QWidget
from shiboken6 import isValid

from explorer.ui.rows import draw_focus_ring

_BY_MOUSE = (Qt.FocusReason.MouseFocusReason, Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason)


class PageRing(QWidget):
    """Seen while a page has the focus and did not get it by the mouse. It lies over the pages: one that is drawn by a
    page itself would be scrolled along with the text.
    """

    def __init__(self, over: QWidget) -> None:
        super().__init__(over)
        self._over = over
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        over.installEventFilter(self)
        self.hide()

    def watch(self, page: QWidget) -> None:
        """Stand around this one too."""
        page.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if not isValid(self):
            return False
        if event.type() == QEvent.Type.FocusIn and isinstance(event, QFocusEvent):
            if event.reason() not in _BY_MOUSE:
                self._stand()
        elif event.type() == QEvent.Type.FocusOut and isinstance(event, QFocusEvent):
            if event.reason() not in (Qt.FocusReason.ActiveWindowFocusReason, Qt.FocusReason.PopupFocusReason):
                self.hide()
        elif event.type() == QEvent.Type.Resize and watched is self._over:
            self._fit()
        return False

    def _stand(self) -> None:
        self._fit()
        self.raise_()
        self.show()

    def _fit(self) -> None:
        self.setGeometry(self._over.rect())

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_focus_ring(QPainter(self), self.rect())
