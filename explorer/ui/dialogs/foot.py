"""The foot of a dialog that one reads and closes."""

from __future__ import annotations

from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QPushButton, QVBoxLayout, QWidget


def put_over_foot(dialog: QDialog, body: QWidget, close: QPushButton, *others: QPushButton) -> None:
    """Lay out a dialog: `body` as large as it can be, and under it the foot, where `close` stands at the end."""
    close.setDefault(True)
    foot = QFrame()
    foot.setProperty("surface", "dialogFoot")
    row = QHBoxLayout(foot)
    row.setContentsMargins(24, 12, 24, 12)
    for button in others:
        row.addWidget(button)
    row.addStretch(1)
    row.addWidget(close)
    column = QVBoxLayout(dialog)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    column.addWidget(body, 1)
    column.addWidget(foot)
