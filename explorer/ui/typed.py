"""What stands in a field of several lines."""

from __future__ import annotations

from PySide6.QtWidgets import QPlainTextEdit

_LINE_ENDS = str.maketrans("\u2028\u2029", "\n\n")  # those of the Shift+Enter and of the Enter key


def typed(edit: QPlainTextEdit) -> str:
    """Its text, character by character: `toPlainText` makes spaces of those that do not break, and ids have them."""
    return edit.document().toRawText().translate(_LINE_ENDS)
