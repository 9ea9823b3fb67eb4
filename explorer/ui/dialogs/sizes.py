"""How large a dialog is."""

from __future__ import annotations

from PySide6.QtCore import QSize
from PySide6.QtWidgets import QDialog

from explorer.ui.theme import theme

_AROUND = QSize(32, 32)


def resize_to_design(dialog: QDialog, width: int, height: int) -> None:
    """Give a dialog its size in the design, in pixels, at the text's size of now; but no more than its window has."""
    size = QSize(theme().scaled(width), theme().scaled(height))
    parent = dialog.parentWidget()
    dialog.resize(size.boundedTo(parent.window().size() - _AROUND) if parent is not None else size)
