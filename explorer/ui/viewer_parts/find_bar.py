"""The bar for finding words in the item that is read."""

from __future__ import annotations

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QKeyEvent, QKeySequence
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QLineEdit, QSizePolicy, QToolButton, QWidget

from explorer.i18n import tr, tr_in
from explorer.text import number, out_of
from explorer.ui import icons
from explorer.ui.icons import IconLabel
from explorer.ui.margins import margins


class _FindEdit(QLineEdit):
    next_wanted = Signal(int)  # 1, or -1 for the one before
    left = Signal()

    def keyPressEvent(self, event: QKeyEvent) -> None:
        is_back = bool(event.modifiers() & Qt.KeyboardModifier.ShiftModifier)
        if event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.next_wanted.emit(-1 if is_back else 1)
        elif event.key() in (Qt.Key.Key_Down, Qt.Key.Key_Up):
            self.next_wanted.emit(1 if event.key() == Qt.Key.Key_Down else -1)
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        else:
            super().keyPressEvent(event)


class FindBar(QFrame):
    """A field, how many there are of what it holds, and the ways to the next and the one before."""

    words_changed = Signal(str)
    step_wanted = Signal(int)  # 1, or -1 for the one before
    closed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("findBar")
        self.setProperty("surface", "panelHead")
        self.edit = _FindEdit()
        self.edit.setObjectName("findEdit")
        self.edit.setProperty("kind", "small")
        self.edit.setPlaceholderText(tr("Find in item"))
        self.edit.setAccessibleName(tr("Find in item"))
        self.edit.setMaxLength(1_000)
        self.edit.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.edit.setMinimumWidth(90)
        self.count_label = QLabel()
        self.count_label.setObjectName("findCountLabel")
        self.count_label.setTextFormat(Qt.TextFormat.PlainText)
        self.count_label.setProperty("tone", "text2")
        self.count_label.setProperty("textRole", "small")
        self.previous_button = _button("findPreviousButton", "chevron-up", tr("The one before"), "Shift+F3")
        self.next_button = _button("findNextButton", "chevron-down", tr("The next one"), "F3")
        self.close_button = _button("findCloseButton", "close", tr("Close"), "Esc")
        row = QHBoxLayout(self)
        row.setContentsMargins(margins(16, 5, 8, 5))
        row.setSpacing(6)
        row.addWidget(IconLabel("search", "text3"))
        row.addWidget(self.edit, 1)
        row.addWidget(self.count_label)
        for button in (self.previous_button, self.next_button, self.close_button):
            row.addWidget(button)
        self.edit.textChanged.connect(self.words_changed)
        self.edit.next_wanted.connect(self.step_wanted)
        self.edit.left.connect(self.closed)
        self.previous_button.clicked.connect(lambda: self.step_wanted.emit(-1))
        self.next_button.clicked.connect(lambda: self.step_wanted.emit(1))
        self.close_button.clicked.connect(self.closed)
        self.show_count(None, 0)

    def show_count(self, current: int | None, total: int, *, is_partial: bool = False) -> None:
        """Which one of how many, from 0; `is_partial` while a part of the item is not loaded. None before words."""
        for button in (self.previous_button, self.next_button):
            button.setEnabled(total > 0)
        if current is None and not total and not self.edit.text():
            words = ""
        elif not total:
            words = tr("none so far") if is_partial else tr_in("places found", "none")
        elif is_partial:
            words = tr_in("places found", "{n} of {total} loaded", n=number((current or 0) + 1), total=number(total))
        else:
            words = out_of((current or 0) + 1, total)
        if words != self.count_label.text():
            self.count_label.setText(words)
            if words and self.isVisible():
                QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.closed.emit()
        else:
            super().keyPressEvent(event)


def _button(name: str, icon: str, words: str, key: str) -> QToolButton:
    button = QToolButton()
    button.setObjectName(name)
    button.setAccessibleName(words)
    button.setToolTip(f"{words} ({QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText)})")
    button.setProperty("kind", "small")
    icons.keep(button, icon)
    return button
