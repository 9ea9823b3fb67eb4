"""The fields of a dialog that sets how a server is reached: their rows, where the key is kept, what a test found."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QMargins, Qt
from PySide6.QtGui import QStandardItemModel
from PySide6.QtWidgets import QComboBox, QFormLayout, QFrame, QHBoxLayout, QLabel, QLineEdit, QVBoxLayout, QWidget

from explorer.contract import TinyMemoryError
from explorer.engines import KeyPlace
from explorer.i18n import mark, tr
from explorer.text import sentence
from explorer.ui import icons
from explorer.ui.labels import paragraph
from explorer.ui.theme import theme

_WORDS = {
    KeyPlace.NONE: mark("It needs none"),
    KeyPlace.KEYRING: mark("In the system's keyring"),
    KeyPlace.ENVIRONMENT: mark("In an environment variable"),
    KeyPlace.ASK: mark("Nowhere: ask at each connect"),
}


def field(name: str, words: str) -> QLineEdit:
    """A field of one line; `words` say what it is for."""
    edit = QLineEdit()
    edit.setObjectName(name)
    edit.setAccessibleName(words)
    return edit


def rows_of(rows: Sequence[tuple[str, QWidget]]) -> QFormLayout:
    """A row each, its words in front of it."""
    made = QFormLayout()
    made.setHorizontalSpacing(16)
    made.setVerticalSpacing(8)
    made.setLabelAlignment(Qt.AlignmentFlag.AlignLeft | Qt.AlignmentFlag.AlignTop)
    add_rows(made, rows)
    return made


def add_rows(form: QFormLayout, rows: Sequence[tuple[str, QWidget]]) -> None:
    """Further rows of such a form."""
    for words, widget in rows:
        label = QLabel(words)
        label.setProperty("tone", "text2")
        label.setMinimumWidth(theme().scaled(96))
        label.setFixedHeight(theme().row_height("field"))  # beside the first line of what is higher
        form.addRow(label, widget)


def row_of(*widgets: QWidget) -> QWidget:
    """Widgets side by side; fields of a line, and texts of several, take what is left."""
    whole = QWidget()
    row = QHBoxLayout(whole)
    row.setContentsMargins(0, 0, 0, 0)
    row.setSpacing(8)
    taking = [one for one in widgets if isinstance(one, QLineEdit) or (isinstance(one, QLabel) and one.wordWrap())]
    for widget in widgets:
        row.addWidget(widget, int(widget in taking), Qt.AlignmentFlag(0))
    if not taking:
        row.addStretch(1)
    return whole


class KeyPlaceBox(QComboBox):
    """Where a key is kept: one of `places`."""

    def __init__(self, name: str, places: Sequence[KeyPlace]) -> None:
        super().__init__()
        self.setObjectName(name)
        self.setAccessibleName(tr("Where the key is kept"))
        for place in places:
            self.addItem(tr(_WORDS[place]), place.value)

    @property
    def place(self) -> KeyPlace:
        return KeyPlace(self.currentData())

    def show_place(self, place: KeyPlace) -> None:
        self.setCurrentIndex(self.findData(place.value))

    def refuse_keyring(self) -> None:
        """There is none on this system."""
        row = self.findData(KeyPlace.KEYRING.value)
        model = self.model()
        assert isinstance(model, QStandardItemModel)
        model.item(row).setEnabled(False)
        self.setItemText(row, tr("In the system's keyring: there is none here"))


class ResultLine(QWidget):
    """What a test found, as a sentence with its sign; `around` is left free around it while there is one."""

    def __init__(self, around: QMargins | None = None) -> None:
        super().__init__()
        frame = QFrame()
        frame.setProperty("surface", "sunken")
        outer = QVBoxLayout(self)
        outer.setContentsMargins(around or QMargins())
        outer.addWidget(frame)
        self._sign = QLabel()
        self._label = paragraph("body", "", "testResult")
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._details = paragraph("small", "text2", "testDetails")
        self._details.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        column = QVBoxLayout()
        column.setSpacing(2)
        column.addWidget(self._label)
        column.addWidget(self._details)
        row = QHBoxLayout(frame)
        row.setContentsMargins(12, 8, 12, 8)
        row.setSpacing(8)
        row.addWidget(self._sign, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(column, 1)
        self.hide()

    @property
    def words(self) -> str:
        return self._label.text()

    def show_words(self, words: str, is_good: bool | None, details: str = "") -> None:
        """None: neither good nor bad, only to be known. `details` stand below in small letters."""
        signs = {True: ("check-ring", "accent"), False: ("warning", "caution"), None: ("info", "text2")}
        name, token = signs[is_good]
        self._sign.setPixmap(icons.pixmap(name, token, 16, self.devicePixelRatioF()))
        self._label.setText(words)
        self._details.setText(details)
        self._details.setVisible(bool(details))
        self.show()

    def show_failure(self, error: Exception) -> None:
        """Why a test, or keeping what was set, did not go well."""
        words = error.text if isinstance(error, TinyMemoryError) else tr("something failed inside the program")
        self.show_words(sentence(words), False)
