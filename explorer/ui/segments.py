"""One choice of a few, side by side."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QObject, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent
from PySide6.QtWidgets import QButtonGroup, QFrame, QHBoxLayout, QPushButton, QSizePolicy, QWidget

from explorer.i18n import tr
from explorer.ui.rows import text_width

PAD = 2
SIDE = 11  # of a segment's words, border and a pixel to spare included
STEPS = {Qt.Key.Key_Left: -1, Qt.Key.Key_Up: -1, Qt.Key.Key_Right: 1, Qt.Key.Key_Down: 1}


class Segments(QFrame):
    """Checkable buttons in a sunken pill, exactly one of them checked; arrow keys move the choice.

    A choice is its words in the source's language, marked for translation, whatever language is spoken.
    """

    chosen = Signal(str)  # by the user only

    def __init__(self, choices: Sequence[str], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "sunken")
        self.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(PAD, PAD, PAD, PAD)
        row.setSpacing(0)
        self._group = QButtonGroup(self)
        self._buttons: dict[str, QPushButton] = {}
        for choice in choices:
            button = _Segment(tr(choice))
            button.setObjectName(f"segment:{choice}")
            button.installEventFilter(self)
            self._group.addButton(button)
            self._buttons[choice] = button
            row.addWidget(button)
        first = next(iter(self._buttons.values()))
        first.setChecked(True)
        self._mark()
        self._group.buttonClicked.connect(self._on_group_button_clicked)

    def set_words(self, choice: str, words: str) -> None:
        """What a choice is called, where its own words are used for something else as well."""
        self._buttons[choice].setText(words)

    @property
    def choice(self) -> str:
        """The chosen segment."""
        return next(choice for choice, button in self._buttons.items() if button.isChecked())

    def set_choice(self, choice: str) -> None:
        """Choose without a signal."""
        self._buttons[choice].setChecked(True)
        self._mark()

    def set_enabled(self, choice: str, enabled: bool, reason: str = "") -> None:
        """Allow or refuse one choice; the reason is its tooltip."""
        button = self._buttons[choice]
        button.setEnabled(enabled)
        button.setToolTip("" if enabled else reason)

    def button(self, choice: str) -> QPushButton:
        """The button of one choice."""
        return self._buttons[choice]

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress:
            step = STEPS.get(Qt.Key(event.key()), 0)
            if step and self._move(-step if self.isRightToLeft() and event.key() in _SIDEWAYS else step):
                return True
        return super().eventFilter(watched, event)

    def _move(self, step: int) -> bool:
        """Choose the next enabled segment; whether the keys were for us, which they are even at the end of the row."""
        buttons = list(self._buttons.values())
        at = next((at for at, button in enumerate(buttons) if button.isChecked()), 0) + step
        while 0 <= at < len(buttons):
            if buttons[at].isEnabled():
                buttons[at].setChecked(True)
                self._mark()
                buttons[at].setFocus(Qt.FocusReason.TabFocusReason)
                self.chosen.emit(self.choice)
                break
            at += step
        return True

    def _on_group_button_clicked(self) -> None:
        self._mark()
        self.chosen.emit(self.choice)

    def _mark(self) -> None:
        """Only the chosen segment is a stop of the Tab key."""
        for button in self._buttons.values():
            button.setFocusPolicy(Qt.FocusPolicy.TabFocus if button.isChecked() else Qt.FocusPolicy.NoFocus)


_SIDEWAYS = (Qt.Key.Key_Left, Qt.Key.Key_Right)


class _Segment(QPushButton):
    def __init__(self, text: str) -> None:
        super().__init__(text.replace("&", "&&"))
        self.setCheckable(True)
        self.setProperty("kind", "segment")
        self.setAccessibleName(text)

    def sizeHint(self) -> QSize:
        """As wide as when it is chosen and bold, so that nothing moves when it is."""
        hint = super().sizeHint()
        return QSize(max(hint.width(), text_width(self.accessibleName(), "smallStrong") + 2 * SIDE), hint.height())

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()
