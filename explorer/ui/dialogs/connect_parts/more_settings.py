"""The further settings of the chosen engine, folded until they are wanted."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QFormLayout, QToolButton, QVBoxLayout, QWidget

from explorer.contract import ConfigError, EngineDescriptor, TinyMemoryError
from explorer.engines import EngineSettings
from explorer.i18n import tr, tr_n
from explorer.text import number, sentence
from explorer.ui import icons
from explorer.ui.dialogs.connect_parts.setting_fields import Field, setting_of
from explorer.ui.dialogs.fields import add_rows, row_of
from explorer.ui.labels import paragraph


class FaultRow(QWidget):
    """A field, and below it why what is in it cannot be used, and what it is for."""

    def __init__(self, field: QWidget, about: str = "") -> None:
        super().__init__()
        self.field = field
        self._about = about
        self._fault = paragraph("small", "caution", f"{field.objectName()}Fault")
        self._fault.hide()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addWidget(field)
        column.addWidget(self._fault)
        if about:
            column.addWidget(paragraph("small", "text3", f"{field.objectName()}About", about))
        field.setAccessibleDescription(about)

    @property
    def fault(self) -> str:
        """What is said to be wrong; empty when nothing is."""
        return self._fault.text()

    def show_fault(self, words: str) -> None:
        """Say what is wrong, or with no words that nothing is."""
        self._fault.setText(words)
        self._fault.setVisible(bool(words))
        self.field.setAccessibleDescription(" ".join(filter(None, (words, self._about))))


class SettingFault(ConfigError):
    """What stands in the field of the setting `name` is no value for it."""

    def __init__(self, name: str, text: str) -> None:
        super().__init__(text)
        self.name = name


class MoreSettings(QObject):
    """Rows at the end of a form: a button that opens and closes them, then a row for each setting of any engine, of
    which the chosen engine's are shown.
    """

    edited = Signal()
    left = Signal()  # a field that was edited

    def __init__(self, engines: Sequence[EngineDescriptor], form: QFormLayout, parent: QObject) -> None:
        super().__init__(parent)
        self._form = form
        self._engine: EngineDescriptor | None = None
        self._is_open = False
        self._fields: dict[str, Field] = {}
        self.rows: dict[str, FaultRow] = {}
        self.button = QToolButton()
        self.button.setObjectName("moreSettingsButton")
        self.button.setProperty("kind", "small")
        self.button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.button.clicked.connect(lambda: self.open(not self._is_open))
        self._head = row_of(self.button)
        form.addRow(self._head)
        for name in dict.fromkeys(name for engine in engines for name in engine.settings):
            self._add(name)

    def _add(self, name: str) -> None:
        setting = setting_of(name)
        if setting is None:
            return
        field = setting.make(setting)
        field.widget.setObjectName(f"setting:{name}")
        field.widget.setAccessibleName(tr(setting.name))
        field.news.edited.connect(lambda: self._on_field_edited(name))
        field.news.left.connect(self.left)
        row = FaultRow(field.widget, tr(setting.about) if setting.about else "")
        self._fields[name], self.rows[name] = field, row
        add_rows(self._form, [(tr(setting.name), row)])

    @property
    def offered(self) -> list[str]:
        """The settings that the chosen engine takes."""
        return [name for name in self._engine.settings if name in self.rows] if self._engine is not None else []

    def show_engine(self, engine: EngineDescriptor | None) -> None:
        """Offer what this engine takes."""
        self._engine = engine
        if engine is not None:
            for field in self._fields.values():
                field.show_engine(engine)
        self._show()

    def show_values(self, settings: EngineSettings) -> None:
        """Show what is saved, folded; what was said of other values is taken away."""
        for name, field in self._fields.items():
            field.show_value(getattr(settings, name))
        self.clear_faults()
        self.open(False)

    def open(self, is_open: bool) -> None:
        self._is_open = is_open
        self._show()

    def values(self) -> dict[str, Any]:
        """What is set of each setting; None for nothing, and for what the chosen engine does not take.

        Raises SettingFault.
        """
        values: dict[str, Any] = dict.fromkeys(self._fields)
        for name in self.offered:
            try:
                values[name] = self._fields[name].value()
            except ConfigError as error:
                raise SettingFault(name, error.text) from None
        return values

    def named_in(self, error: TinyMemoryError) -> str | None:
        """The setting of the chosen engine that a refusal names."""
        if isinstance(error, SettingFault):
            return error.name
        for name in sorted(self.offered, key=len, reverse=True):  # "retired_scope_root" names no "scope_root"
            if re.search(rf"\b{name.removesuffix('s').replace('_', '[ _]')}", error.text):
                return name
        return None

    def show_fault(self, name: str, error: TinyMemoryError) -> FaultRow:
        """Say at its field, which is opened, why it cannot be used; what was said at others may hold no longer."""
        self.clear_faults()
        self.open(True)
        words = self.rows[name].field.accessibleName()
        self.rows[name].show_fault(sentence(error.text.replace(f"`{name}`", name).replace(name, words)))
        return self.rows[name]

    def clear_faults(self) -> None:
        for row in self.rows.values():
            row.show_fault("")

    def _on_field_edited(self, name: str) -> None:
        self.rows[name].show_fault("")
        self.edited.emit()

    def _show(self) -> None:
        offered = self.offered
        self._form.setRowVisible(self._head, bool(offered))
        for name, row in self.rows.items():
            self._form.setRowVisible(row, self._is_open and name in offered)
        icons.keep(self.button, "chevron-down" if self._is_open else "chevron-right")
        n = 0 if self._is_open else sum(map(self._is_set, offered))
        said = tr("More settings")
        # Translators: beside the name of what is folded: how many fields in it are filled in.
        self.button.setText(tr_n("{name} ({n} set)", "{name} ({n} set)", n, name=said, n=number(n)) if n else said)
        self.button.setAccessibleDescription(tr("Opened") if self._is_open else tr("Folded"))

    def _is_set(self, name: str) -> bool:
        try:
            return self._fields[name].value() is not None
        except ConfigError:
            return True
