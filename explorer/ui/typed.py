"""What stands in a field or is selected in a text, character by character.

Qt's own `toPlainText` makes spaces of those that do not break; ids and stored texts have them.
"""

from __future__ import annotations

from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QPlainTextEdit

_LINE_ENDS = str.maketrans("\u2028\u2029\ufdd0\ufdd1", "\n\n\n\n")  # of lines and paragraphs, and around tables


def typed(edit: QPlainTextEdit) -> str:
    """What stands in a field."""
    return edit.document().toRawText().translate(_LINE_ENDS)


def selected(cursor: QTextCursor) -> str:
    """What is selected."""
    return cursor.selection().toRawText().translate(_LINE_ENDS)
