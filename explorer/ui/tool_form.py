"""A form made from the JSON Schema of a tool's arguments; only what is set in it is sent."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Any, Protocol

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QDoubleSpinBox,
    QGridLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from explorer.i18n import tr, tr_n
from explorer.text import label, number, shown, tip
from explorer.ui import icons
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.theme import theme
from explorer.ui.typed import typed

Schema = Mapping[str, Any]

NAME_EM = 8.5  # the room for a property's name, in text sizes
INDENT = 12
_LONG = ("text", "instructions", "evidence")
"""Strings that may have several lines."""
_LINES = 2
_MOST_ROWS = 20  # that are read into the form at once: each is a form of its own, and takes its time
_STEP = 0.05


class Unset:
    """In the place of a value that is not sent."""


UNSET = Unset()


class Field(Protocol):
    """One argument: a widget with a value, or none."""

    @property
    def widget(self) -> QWidget: ...

    def value(self) -> Any:
        """What is set, as JSON has it; UNSET for nothing."""

    def set_value(self, value: Any) -> None:
        """Show `value`, as far as the field can hold it; UNSET empties the field."""


class _Line:
    def __init__(self, schema: Schema) -> None:
        self.widget = QLineEdit()
        if schema.get("format") == "date-time":
            self.widget.setPlaceholderText("2026-06-30T09:30:00Z")

    def value(self) -> Any:
        return self.widget.text() or UNSET

    def set_value(self, value: Any) -> None:
        self.widget.setText(value if isinstance(value, str) else "")


class _Lines:
    """A text of several lines; with `is_list` a value a line."""

    def __init__(self, *, is_list: bool) -> None:
        self._is_list = is_list
        self.widget = QPlainTextEdit()
        self.widget.setProperty("kind", "field")
        self.widget.setProperty("textRole", "small")
        self.widget.setTabChangesFocus(True)
        if is_list:
            self.widget.setPlaceholderText(tr("One a line"))
        self.widget.setFixedHeight(round(theme().metrics("small").lineSpacing() * _LINES) + 20)

    def value(self) -> Any:
        text = typed(self.widget)
        if not self._is_list:
            return text or UNSET
        return [line for line in text.split("\n") if line] or UNSET

    def set_value(self, value: Any) -> None:
        if self._is_list:
            value = "\n".join(one for one in value if isinstance(one, str)) if isinstance(value, list) else ""
        self.widget.setPlainText(value if isinstance(value, str) else "")


class _Choice:
    def __init__(self, schema: Schema) -> None:
        self._values = [str(value) for value in schema["enum"]]
        self.widget = QComboBox()
        default = schema.get("default")
        # Translators: in a form: what a tool takes where nothing is chosen.
        self.widget.addItem(tr("{value} (default)", value=default) if default is not None else tr("not set"))
        self.widget.addItems(self._values)

    def value(self) -> Any:
        at = self.widget.currentIndex()
        return self._values[at - 1] if at > 0 else UNSET

    def set_value(self, value: Any) -> None:
        self.widget.setCurrentIndex(self._values.index(value) + 1 if value in self._values else 0)


class _Number:
    """An integer or a share: one step below the least it may be is where nothing is set."""

    def __init__(self, schema: Schema) -> None:
        self._is_whole = schema["type"] == "integer"
        least, most, default = schema.get("minimum", 0), schema.get("maximum", 1_000_000), schema.get("default")
        unset = tr("not set")
        if default is not None:
            unset = tr("{value} (default)", value=number(default) if self._is_whole else f"{default:.4g}")
        self.widget: QSpinBox | QDoubleSpinBox
        if self._is_whole:
            box = QSpinBox()
            box.setRange(int(least) - 1, int(most))
            self.widget = box
        else:
            real = QDoubleSpinBox()
            real.setDecimals(2)
            real.setSingleStep(_STEP)
            real.setRange(float(least) - _STEP, float(most))
            self.widget = real
        self.widget.setSpecialValueText(unset)
        self.widget.lineEdit().setTextMargins(margins(7, 0, 0, 0))
        self.set_value(UNSET)

    def value(self) -> Any:
        if math.isclose(self.widget.value(), self.widget.minimum(), abs_tol=1e-9):
            return UNSET
        return self.widget.value() if self._is_whole else round(self.widget.value(), 2)

    def set_value(self, value: Any) -> None:
        is_number = isinstance(value, int if self._is_whole else (int, float)) and not isinstance(value, bool)
        # Compared before it is handed on: JSON has numbers that no field takes at all.
        holds = is_number and self.widget.minimum() <= value <= self.widget.maximum()
        held: Any = value if holds else self.widget.minimum()
        self.widget.setValue(held)


class _Ticks:
    """Any of a few values."""

    def __init__(self, path: str, schema: Schema) -> None:
        self._boxes: dict[str, QCheckBox] = {}
        self.widget = QWidget()
        grid = QGridLayout(self.widget)
        grid.setContentsMargins(0, 0, 0, 0)
        grid.setSpacing(0)
        for at, value in enumerate(map(str, schema["items"]["enum"])):
            box = QCheckBox(label(value))
            box.setObjectName(f"arg:{path}:{value}")
            box.setProperty("textRole", "small")
            grid.addWidget(box, at // 2, at % 2)
            self._boxes[value] = box

    def value(self) -> Any:
        return [value for value, box in self._boxes.items() if box.isChecked()] or UNSET

    def set_value(self, value: Any) -> None:
        for name, box in self._boxes.items():
            box.setChecked(isinstance(value, list) and name in value)


class _Object:
    """Several arguments under one name, folded until they are wanted; sent where any of them is set."""

    def __init__(self, path: str, name: str, schema: Schema) -> None:
        self._name = name
        self.fields = _fields(f"{path}.", schema)
        self.widget = QWidget()
        self.fold_button = QToolButton()
        self.fold_button.setObjectName(f"fold:{path}")
        self.fold_button.setProperty("kind", "small")
        self.fold_button.setProperty("textRole", "monoSmall")
        self.fold_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.fold_button.setToolTip(tip(str(schema.get("description", ""))))
        self.body = QWidget()
        body = _grid(self.fields, schema)
        body.setContentsMargins(margins(INDENT, 0, 0, 4))
        self.body.setLayout(body)
        column = QVBoxLayout(self.widget)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(self.fold_button, 0, Qt.AlignmentFlag.AlignLeading)
        column.addWidget(self.body)
        self.fold_button.clicked.connect(lambda: self._open(self.body.isHidden()))
        self._open(False)

    def value(self) -> Any:
        return _values(self.fields) or UNSET

    def set_value(self, value: Any) -> None:
        _show(self.fields, value)
        self._open(bool(_values(self.fields)))

    def _open(self, is_open: bool) -> None:
        self.body.setVisible(is_open)
        icons.keep(self.fold_button, "chevron-down" if is_open else "chevron-right")
        n = 0 if is_open else len(_values(self.fields))
        # Translators: beside the name of what is folded: how many fields in it are filled in.
        said = tr_n("{name} ({n} set)", "{name} ({n} set)", n, name=self._name, n=n) if n else self._name
        self.fold_button.setText(said)


class _Rows:
    """A list of objects, a row each: they are added and taken away."""

    def __init__(self, path: str, schema: Schema) -> None:
        self._path = path
        self._schema: Schema = schema["items"]
        self._rows: list[tuple[QWidget, dict[str, Field]]] = []
        self.widget = QWidget()
        self._column = QVBoxLayout(self.widget)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(4)
        self.add_button = QPushButton(tr("Add one"))
        self.add_button.setObjectName(f"add:{path}")
        self.add_button.setProperty("kind", "link")
        self._column.addWidget(self.add_button, 0, Qt.AlignmentFlag.AlignLeading)
        self.add_button.clicked.connect(lambda: self._add({}))

    def value(self) -> Any:
        return [found for _, fields in self._rows if (found := _values(fields))] or UNSET

    def set_value(self, value: Any) -> None:
        for row, _ in list(self._rows):
            self._drop(row)
        for one in value if isinstance(value, list) else []:
            self._add(one if isinstance(one, dict) else {})

    def _add(self, value: Any) -> None:
        fields = _fields(f"{self._path}[{len(self._rows)}].", self._schema)
        row = QWidget()
        grid = _grid(fields, self._schema)
        grid.setContentsMargins(0, 0, 0, 0)
        row.setLayout(grid)
        drop = QToolButton()
        drop.setProperty("kind", "small")
        drop.setAccessibleName(tr("Take this one away"))
        drop.setToolTip(tr("Take this one away"))
        icons.keep(drop, "close")
        drop.clicked.connect(partial(self._drop, row))
        grid.addWidget(drop, 1, 2, Qt.AlignmentFlag.AlignTop)
        _show(fields, value)
        self._rows.append((row, fields))
        self._column.insertWidget(len(self._rows) - 1, row)
        row.show()

    def _drop(self, row: QWidget) -> None:
        self._rows = [one for one in self._rows if one[0] is not row]
        row.hide()
        row.deleteLater()


class ToolForm(QWidget):
    """The arguments of one tool."""

    def __init__(self, schema: Schema, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("toolForm")
        self._fields = _fields("", schema)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        grid = _grid(self._fields, schema)
        column.addLayout(grid)
        column.addStretch(1)

    def values(self) -> dict[str, Any]:
        """What is set, as the tool's arguments."""
        return _values(self._fields)

    def set_values(self, values: Mapping[str, Any]) -> bool:
        """Show arguments; False, and nothing is changed, where the form cannot hold all of them."""
        if not _fits(self._fields, values):
            return False
        before = self.values()
        _show(self._fields, values)
        if _alike(self.values(), values):
            return True
        _show(self._fields, before)
        return False


def _fields(path: str, schema: Schema) -> dict[str, Field]:
    made = {}
    for name, one in schema["properties"].items():
        field = _field(f"{path}{name}", name, one)
        if not field.widget.objectName():
            field.widget.setObjectName(f"arg:{path}{name}")
        field.widget.setToolTip(tip(str(one.get("description", ""))))
        field.widget.setAccessibleName(f"{path}{name}")
        field.widget.setAccessibleDescription(str(one.get("description", "")))
        made[name] = field
    return made


def _field(path: str, name: str, schema: Schema) -> Field:
    kind, items = schema.get("type"), schema.get("items", {})
    if kind == "object":
        return _Object(path, name, schema)
    if kind == "array" and items.get("type") == "object":
        return _Rows(path, schema)
    if kind == "array":
        return _Ticks(path, schema) if "enum" in items else _Lines(is_list=True)
    if kind in ("integer", "number"):
        return _Number(schema)
    if "enum" in schema:
        return _Choice(schema)
    return _Lines(is_list=False) if name in _LONG else _Line(schema)


def _grid(fields: Mapping[str, Field], schema: Schema) -> QGridLayout:
    """Names beside fields; what is folded, over the whole width."""
    grid = QGridLayout()
    grid.setContentsMargins(0, 0, 0, 0)
    grid.setHorizontalSpacing(8)
    grid.setVerticalSpacing(6)
    grid.setColumnStretch(1, 1)
    required: Sequence[str] = schema.get("required", ())
    for name, field in fields.items():
        row = grid.rowCount()
        if isinstance(field, _Object):
            grid.addWidget(field.widget, row, 0, 1, 2)
            continue
        # Translators: after the name of a field that must be filled in.
        words = tr("{name} (needed)", name=name) if name in required else name
        said = plain_label("monoSmall", "text2", shown(words))
        said.setToolTip(tip(str(schema["properties"][name].get("description", ""))))
        said.setBuddy(field.widget)
        said.setMinimumWidth(round(theme().size_px("body") * NAME_EM))
        if isinstance(field, _Rows):  # forms of their own, which need the room
            grid.addWidget(said, row, 0, 1, 2)
            grid.addWidget(field.widget, row + 1, 0, 1, 2)
            continue
        is_high = isinstance(field, (_Lines, _Ticks))
        if is_high:  # on the first line of what stands beside it
            said.setContentsMargins(0, 5, 0, 0)
        at = Qt.AlignmentFlag.AlignTop if is_high else Qt.AlignmentFlag.AlignVCenter
        grid.addWidget(said, row, 0, at | Qt.AlignmentFlag.AlignLeading)
        grid.addWidget(field.widget, row, 1)
    return grid


def _values(fields: Mapping[str, Field]) -> dict[str, Any]:
    found = {name: field.value() for name, field in fields.items()}
    return {name: value for name, value in found.items() if value is not UNSET}


def _show(fields: Mapping[str, Field], values: Any) -> None:
    for name, field in fields.items():
        field.set_value(values.get(name, UNSET) if isinstance(values, Mapping) else UNSET)


def _fits(fields: Mapping[str, Field], values: Mapping[str, Any]) -> bool:
    """Whether no list in it has too many rows to be read into the form."""
    for name, field in fields.items():
        value = values.get(name)
        if isinstance(field, _Rows) and isinstance(value, list) and len(value) > _MOST_ROWS:
            return False
        if isinstance(field, _Object) and isinstance(value, Mapping) and not _fits(field.fields, value):
            return False
    return True


def _alike(one: Any, other: Any) -> bool:
    """Equal as JSON: there 1 and true are two things, and 1 and 1.0."""
    if isinstance(one, dict) and isinstance(other, dict):
        return one.keys() == other.keys() and all(_alike(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_alike, one, other))
    return type(one) is type(other) and bool(one == other)
