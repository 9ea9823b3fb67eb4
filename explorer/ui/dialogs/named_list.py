"""A list of what the person named: saved views, briefs."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QListWidget


class NamedList(QListWidget):
    """Del asks for the current row to be removed."""

    remove_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setViewportMargins(4, 4, 4, 4)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self.remove_wanted.emit()
        else:
            super().keyPressEvent(event)
