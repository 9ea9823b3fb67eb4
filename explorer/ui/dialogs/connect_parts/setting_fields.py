"""The further settings of engines: what each is called, what it is for, and the widget that holds it.

By the name that a setting has in `EngineSettings`; which of them an engine takes, its descriptor says.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any, Protocol

from pydantic import ValidationError
from PySide6.QtCore import QObject, Signal
from PySide6.QtWidgets import QCheckBox, QComboBox, QLineEdit, QPlainTextEdit, QWidget

from explorer.contract import ConfigError, Consolidation, EngineDescriptor
from explorer.engines import EngineSettings
from explorer.i18n import mark, tr
from explorer.text import inline
from explorer.ui.theme import theme
from explorer.ui.typed import typed

_LINES = 3  # of the headers that are seen at once


class Field(Protocol):
    """One setting: a widget, and what is set in it."""

    @property
    def widget(self) -> QWidget: ...

    @property
    def news(self) -> News: ...

    def value(self) -> Any:
        """What is set, as `EngineSettings` has it; None for nothing. Raises ConfigError for what is no value."""

    def show_value(self, value: Any) -> None:
        """Show what is saved."""

    def show_engine(self, engine: EngineDescriptor) -> None:
        """Offer what this engine can do with it."""


class News(QObject):
    """What a person does to a field."""

    edited = Signal()
    left = Signal()  # edited, and done with for now


class _Same:
    """A field that is the same for every engine."""

    def show_engine(self, engine: EngineDescriptor) -> None:
        pass


class _Line(_Same):
    def __init__(self, setting: Setting) -> None:
        self.news = News()
        self.widget = QLineEdit()
        self.widget.setProperty("kind", "mono")
        self.widget.setPlaceholderText(setting.example)
        self.widget.textEdited.connect(lambda: self.news.edited.emit())
        self.widget.editingFinished.connect(self.news.left)

    def value(self) -> str | None:
        return self.widget.text().strip() or None

    def show_value(self, value: Any) -> None:
        self.widget.setText(value or "")


class _Tick(_Same):
    """A box to tick; unset is `is_on`, and only the other is written down."""

    def __init__(self, setting: Setting) -> None:
        self.news = News()
        self._is_on = setting.is_on
        self.widget = QCheckBox(tr(setting.tick))
        self.widget.setMinimumHeight(theme().row_height("field"))  # level with the words in front of it
        self.widget.clicked.connect(lambda: self.news.edited.emit())
        self.widget.clicked.connect(lambda: self.news.left.emit())

    def value(self) -> bool | None:
        is_ticked = self.widget.isChecked()
        return None if is_ticked is self._is_on else is_ticked

    def show_value(self, value: Any) -> None:
        self.widget.setChecked(self._is_on if value is None else bool(value))


class _Choice:
    def __init__(self, setting: Setting) -> None:
        self.news = News()
        self._setting = setting
        self._wanted: Any = None  # which an engine that is looked at meanwhile may not offer
        self.widget = QComboBox()
        self._offer([value for value, _ in setting.choices])
        self.widget.activated.connect(self._on_widget_activated)

    def _on_widget_activated(self) -> None:
        self._wanted = self.value()
        self.news.edited.emit()
        self.news.left.emit()

    def value(self) -> str | None:
        value: str | None = self.widget.currentData()
        return value

    def show_engine(self, engine: EngineDescriptor) -> None:
        self._offer(self._setting.offered(engine))
        if self._wanted in dict(self._setting.choices):
            self.widget.setCurrentIndex(max(0, self.widget.findData(self._wanted)))
        else:
            self.show_value(self._wanted)

    def _offer(self, values: Sequence[str | None]) -> None:
        self.widget.clear()
        for value, words in self._setting.choices:
            if value in values:
                self.widget.addItem(tr(words), value)

    def show_value(self, value: Any) -> None:
        self._wanted = value
        if self.widget.findData(value) < 0:  # written by hand: shown as it is, and what is wrong with it is said
            self.widget.addItem(inline(str(value)), value)
        self.widget.setCurrentIndex(self.widget.findData(value))


class _Lines(QPlainTextEdit):
    left = Signal()

    def focusOutEvent(self, event: Any) -> None:
        super().focusOutEvent(event)
        self.left.emit()


class _Headers(_Same):
    """`Name: value`, one on a line."""

    def __init__(self, setting: Setting) -> None:
        self.news = News()
        self.widget = _Lines()
        self.widget.setProperty("kind", "field")
        self.widget.setProperty("textRole", "mono")
        self.widget.setTabChangesFocus(True)
        self.widget.setPlaceholderText(setting.example)
        self.widget.setFixedHeight(round(theme().metrics("mono").lineSpacing() * _LINES) + 16)
        self._is_shown = False
        self.widget.textChanged.connect(self._on_widget_text_changed)
        self.widget.left.connect(self.news.left)

    def _on_widget_text_changed(self) -> None:
        if not self._is_shown:
            self.news.edited.emit()

    def value(self) -> dict[str, str] | None:
        found: dict[str, str] = {}
        for line in typed(self.widget).split("\n"):
            name, colon, value = line.partition(":")
            name = name.strip()
            if not line.strip():
                continue
            if not colon or not name:
                raise ConfigError(tr("write each header on its own line, as in {example}", example="X-Team: 42"))
            if name.casefold() in map(str.casefold, found):
                raise ConfigError(tr("the header {name} is there twice", name=inline(name, 60)))
            found[name] = value.strip()
        return found or None

    def show_value(self, value: Any) -> None:
        self._is_shown = True
        self.widget.setPlainText("\n".join(f"{name}: {said}" for name, said in (value or {}).items()))
        self._is_shown = False


@dataclass(frozen=True, slots=True)
class Setting:
    """How a setting is offered; its words are marked, and translated where they are shown."""

    name: str
    """In front of its row."""
    about: str
    """What it is for, in a sentence below."""
    make: Callable[[Setting], Field] = _Line
    example: str = ""
    tick: str = ""
    """The words beside a box to tick."""
    is_on: bool = False
    """Whether a box is ticked where nothing is set."""
    choices: tuple[tuple[str | None, str], ...] = ()
    """Values and their words; None is unset."""
    of_engine: Callable[[EngineDescriptor], Sequence[str]] | None = None
    """Which of these values an engine takes; None: all of them."""

    def offered(self, engine: EngineDescriptor) -> list[str | None]:
        """The values to choose from."""
        taken = self.of_engine(engine) if self.of_engine is not None else [value for value, _ in self.choices]
        return [None, *taken]


def _consolidations(engine: EngineDescriptor) -> list[str]:
    """A host that draws conclusions at times of its own does it at no other."""
    if engine.consolidation is Consolidation.SCHEDULED:
        return [Consolidation.SCHEDULED.value]
    return [Consolidation.AUTOMATIC.value, Consolidation.ON_DEMAND.value]


SETTINGS: Mapping[str, Setting] = MappingProxyType(
    {
        "scope_root": Setting(
            mark("Root"),
            mark("Where this memory begins in a store that others share. Left empty, it has a part of its own."),
            example="org:42",
        ),
        "scope_owner": Setting(
            mark("Owner"),
            mark("Whom the root belongs to. That is registered before the first item is stored."),
            example="user:42",
        ),
        "tenant_root": Setting(
            mark("Account"),
            mark("The memory is the whole of the account, and not a part of its own in it."),
            make=_Tick,
            tick=mark("Begin at the top of the account"),
        ),
        "retired_scope_root": Setting(
            mark("Former root"),
            mark("Where this memory began before. It is still read and forgotten there; nothing new is stored there."),
            example="user:7",
        ),
        "consolidation": Setting(
            # Translators: conclusions that a server draws from what is stored.
            mark("Conclusions"),
            mark("When the server draws its own conclusions from what is stored."),
            make=_Choice,
            choices=(
                (None, mark("As the server does by itself")),
                (Consolidation.AUTOMATIC.value, mark("After each store")),
                (Consolidation.ON_DEMAND.value, mark("Only when asked to")),
                (Consolidation.SCHEDULED.value, mark("At set times")),
            ),
            of_engine=_consolidations,
        ),
        "observed_actor": Setting(
            mark("Observer"),
            mark("The server is told who each item came from, where the item says so."),
            make=_Tick,
            tick=mark("Store who observed an item"),
        ),
        "listing_cache": Setting(
            mark("Listing"),
            mark("Opening again then reads only what is new. The file holds what is stored there, but never the key."),
            make=_Tick,
            tick=mark("Keep what was listed on this computer"),
            is_on=True,
        ),
        "headers": Setting(
            mark("Headers"),
            mark("Sent with every request. They are saved in the open, so that no key belongs here."),
            make=_Headers,
            example="X-Team: 42",
        ),
    }
)


def setting_of(name: str) -> Setting | None:
    """How the setting of that name is offered; None for one that `EngineSettings` does not have.

    One without words of its own, of an engine that a package added, goes by its name.
    """
    if name in SETTINGS:
        return SETTINGS[name]
    if name not in EngineSettings.model_fields:
        return None
    shown = name.replace("_", " ").capitalize()
    for value, make in ((True, _Tick), ({"a": "b"}, _Headers)):
        try:
            EngineSettings.model_validate({name: value})
        except ValidationError:
            continue
        return Setting(shown, "", make=make, tick=name)
    return Setting(shown, "")
