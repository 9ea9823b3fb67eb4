"""The sheet of all shortcuts."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QGridLayout,
    QHBoxLayout,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from explorer.i18n import tr
from explorer.ui.dialogs.foot import put_over_foot
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.labels import plain_label
from explorer.ui.rows import text_width
from explorer.ui.shortcuts import Key


class ShortcutSheet(QDialog):
    """Keys and what they do, area by area, in two columns of areas."""

    def __init__(self, areas: list[tuple[str, list[Key]]], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("shortcutSheet")
        self.setWindowTitle(tr("Keyboard shortcuts"))
        inside = QWidget()
        columns = QHBoxLayout(inside)
        columns.setContentsMargins(24, 16, 24, 16)
        columns.setSpacing(32)
        half = sum(len(keys) + 2 for _, keys in areas) / 2
        width = max(text_width(key.shown) for _, keys in areas for key in keys)
        left, right = QVBoxLayout(), QVBoxLayout()
        height = 0
        for area, keys in areas:
            (left if height < half else right).addWidget(_Area(area, keys, width))
            height += len(keys) + 2
        for column in (left, right):
            column.setSpacing(16)
            column.addStretch(1)
            columns.addLayout(column, 1)
        self.view = QScrollArea()
        self.view.setObjectName("shortcutView")
        self.view.setAccessibleName(tr("Keyboard shortcuts"))
        self.view.setWidgetResizable(True)
        self.view.setFocusPolicy(Qt.FocusPolicy.StrongFocus)  # the arrows scroll it
        self.view.setWidget(inside)
        self.close_button = QPushButton(tr("Close"))
        put_over_foot(self, self.view, self.close_button)
        self.close_button.clicked.connect(self.accept)
        resize_to_design(self, 760, 620)


class _Area(QWidget):
    def __init__(self, title: str, keys: list[Key], key_width: int) -> None:
        super().__init__()
        self.setAccessibleName(title)
        grid = QGridLayout(self)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setHorizontalSpacing(16)
        grid.setVerticalSpacing(6)
        grid.setColumnMinimumWidth(0, key_width)
        grid.setColumnStretch(1, 1)
        grid.addWidget(plain_label("strong", words=title), 0, 0, 1, 2)
        for row, key in enumerate(keys, start=1):
            grid.addWidget(plain_label("body", "text2", key.shown), row, 0, Qt.AlignmentFlag.AlignTop)
            words = plain_label("body", words=key.words)
            words.setWordWrap(True)
            grid.addWidget(words, row, 1)
