"""Margins by the direction of reading: Qt mirrors what lies in a layout, but not the margins around it."""

from __future__ import annotations

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QGuiApplication


def margins(start: int, top: int, end: int, bottom: int) -> QMargins:
    """Logical pixels at the edge where a line of text starts, above, where it ends, and below."""
    if QGuiApplication.layoutDirection() is Qt.LayoutDirection.RightToLeft:
        start, end = end, start
    return QMargins(start, top, end, bottom)
