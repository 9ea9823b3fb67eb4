"""Labels that show what they are given as it is: stored text is no markup."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QLabel


def paragraph(role: str, tone: str, name: str, words: str = "") -> QLabel:
    """A label over several lines, which begin where the program's lines do, whichever way its words are read."""
    label = plain_label(role, tone, words)
    label.setObjectName(name)
    label.setWordWrap(True)
    is_mirrored = QGuiApplication.layoutDirection() is Qt.LayoutDirection.RightToLeft
    side = Qt.AlignmentFlag.AlignRight if is_mirrored else Qt.AlignmentFlag.AlignLeft
    label.setAlignment(side | Qt.AlignmentFlag.AlignAbsolute | Qt.AlignmentFlag.AlignTop)
    return label


def plain_label(role: str, tone: str = "", words: str = "") -> QLabel:
    """A label in a text role of the theme, and in a tone where one is named."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setText(words)
    label.setProperty("textRole", role)
    if tone:
        label.setProperty("tone", tone)
    return label
