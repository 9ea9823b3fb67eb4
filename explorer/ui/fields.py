"""Fields for numbers and dates."""

from __future__ import annotations

from PySide6.QtCore import QEvent, QObject, QRect, Qt
from PySide6.QtGui import QValidator
from PySide6.QtWidgets import QAbstractSpinBox, QCalendarWidget, QDateTimeEdit, QSpinBox, QWidget
from shiboken6 import isValid

from explorer.ui.text import number

PAD = 9
BUTTONS = 22
SPACES = " \u00a0\u2009\u202f"


class _Inset(QObject):
    """Keeps the editor of a spin box off its edges.

    With a style sheet, Qt (seen in 6.8 to 6.11) lets the editor begin at the very edge whatever the padding, and gives
    it one pixel where there are no buttons.
    """

    def __init__(self, box: QAbstractSpinBox) -> None:
        super().__init__(box)
        self._box = box
        self._editor = box.lineEdit()
        self._editor.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        kinds = (QEvent.Type.Move, QEvent.Type.Resize, QEvent.Type.Show)
        if event.type() in kinds and isValid(self._box) and isValid(self._editor):
            self._place()
        return False

    def _place(self) -> None:
        box = self._box
        has_buttons = box.buttonSymbols() != QAbstractSpinBox.ButtonSymbols.NoButtons
        before, after = PAD, BUTTONS if has_buttons else PAD
        if box.isRightToLeft():
            before, after = after, before
        wanted = QRect(before, 2, max(1, box.width() - before - after), max(1, box.height() - 4))
        if self._editor.geometry() != wanted:
            self._editor.setGeometry(wanted)


def inset_editor(box: QAbstractSpinBox) -> None:
    """Keep the editor of any spin box off its edges; once per box."""
    _Inset(box)


def calm_calendar(edit: QDateTimeEdit) -> None:
    """Give a date field a calendar without red Sundays: red is for what is removed."""
    edit.setCalendarPopup(True)
    calendar = edit.calendarWidget()
    calendar.setVerticalHeaderFormat(QCalendarWidget.VerticalHeaderFormat.NoVerticalHeader)
    for day in (Qt.DayOfWeek.Saturday, Qt.DayOfWeek.Sunday):
        calendar.setWeekdayTextFormat(day, calendar.weekdayTextFormat(Qt.DayOfWeek.Monday))


class NumberBox(QSpinBox):
    """A field for a whole number, written in groups of three; spaces typed between digits are no mistake."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        inset_editor(self)

    def textFromValue(self, value: int) -> str:
        return number(value)

    def valueFromText(self, text: str) -> int:
        digits = self._digits(text)
        return int(digits) if digits else self.minimum()

    def validate(self, text: str, position: int) -> tuple[QValidator.State, str, int]:
        digits = self._digits(text)
        if not digits:
            return QValidator.State.Intermediate, text, position
        if not digits.isascii() or not digits.isdigit() or len(digits) > len(str(self.maximum())):
            return QValidator.State.Invalid, text, position
        fits = self.minimum() <= int(digits) <= self.maximum()
        return QValidator.State.Acceptable if fits else QValidator.State.Intermediate, text, position

    def _digits(self, text: str) -> str:
        return "".join(
            char for char in text.removeprefix(self.prefix()).removesuffix(self.suffix()) if char not in SPACES
        )
