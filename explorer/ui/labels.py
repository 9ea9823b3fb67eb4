"""Labels that show what they are given as it is: stored text is no markup."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel


def plain_label(role: str, tone: str = "", words: str = "") -> QLabel:
    """A label in a text role of the theme, and in a tone where one is named."""
    label = QLabel()
    label.setTextFormat(Qt.TextFormat.PlainText)
    label.setText(words)
    label.setProperty("textRole", role)
    if tone:
        label.setProperty("tone", tone)
    return label
