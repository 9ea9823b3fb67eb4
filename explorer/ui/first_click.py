"""Buttons that may come to stand where one was just pressed."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject
from PySide6.QtWidgets import QPushButton


class _FirstClick(QObject):
    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        return event.type() is QEvent.Type.MouseButtonDblClick


def take_first_click_only(*buttons: QPushButton) -> None:
    """Let no button be pressed by the second half of a double click, which was meant for what stood there before."""
    for button in buttons:
        button.installEventFilter(_FirstClick(button))
