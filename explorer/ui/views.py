"""Saved views: a filter, a search, and how the window showed them, under a name of the person's."""

from __future__ import annotations

import hashlib
import json
import logging
from typing import Any

from pydantic import ValidationError
from PySide6.QtCore import QObject, QSettings, Signal

from explorer.contract import FetchMode, MetaFilter, Namespace, Reach
from explorer.contract.model import Model, Text
from explorer.ui.trail import View

log = logging.getLogger(__name__)

NAME_MOST = 80
_GROUP = "views"


class SavedView(Model):
    """One view. `layout`, `facets` and `items` are what the window and its panels wrote; empty where there is none."""

    name: Text
    filter: MetaFilter = MetaFilter()
    query: Text = ""
    mode: FetchMode | None = None
    agent: Namespace | None = None
    """The node whose agent's eyes it was seen with."""
    layout: Text = ""
    facets: Text = ""
    items: Text = ""

    @property
    def is_sound(self) -> bool:
        """Whether it shows no more than the agent reads whose view it is."""
        return self.agent is None or self.filter.reach is None or self.filter.reach.within(Reach.of(self.agent))

    @property
    def view(self) -> View:
        """Raises InvalidRequest where the filter names more than the agent reads."""
        return View(self.filter, self.query, self.mode, self.agent)


class SavedViews(QObject):
    """The views of one memory, in the order they were saved; kept with the window's settings.

    What is there but cannot be read as a view is left as it is, and not shown.
    """

    changed = Signal()

    def __init__(self, settings: QSettings | None, parent: QObject) -> None:
        super().__init__(parent)
        self._settings = settings
        self._key = ""
        self._views: list[SavedView] = []
        self._others: list[Any] = []
        self._removed: tuple[int, SavedView] | None = None

    @property
    def views(self) -> list[SavedView]:
        return list(self._views)

    @property
    def removed(self) -> SavedView | None:
        """The one removed last, which can be put back."""
        return self._removed[1] if self._removed is not None else None

    @property
    def can_save(self) -> bool:
        """Whether a memory is open to which views belong."""
        return bool(self._key)

    def open(self, key: str) -> None:
        """Show the views of the memory of that key; of none for ""."""
        self._key = _place(key) if key else ""
        self._removed = None
        self._views, self._others = [], []
        self._read()
        self.changed.emit()

    def move(self, old: str, new: str) -> None:
        """The memory of the key `old` has the key `new` from now on: its views go there with it.

        They stand before those that are there already; of two of one name the first is shown, and both are kept.
        """
        before, after = _place(old), _place(new)
        if old == new:
            return
        kept = self._entries(before)
        if kept and self._settings is not None:
            self._settings.setValue(after, json.dumps([*kept, *self._entries(after)]))
            self._settings.remove(before)
        if self._key == before:
            self._key = after
        if self._key == after:
            self._read()
            self.changed.emit()

    def get(self, name: str) -> SavedView | None:
        return next((view for view in self._views if view.name == name), None)

    def save(self, view: SavedView) -> None:
        """Keep a view, in the place of the one of its name."""
        self._read()  # another window may have saved some meanwhile
        names = [one.name for one in self._views]
        if view.name in names:
            self._views[names.index(view.name)] = view
        else:
            self._views.append(view)
        self._write()

    def rename(self, old: str, new: str) -> bool:
        """Give a view another name; False where that name is blank or taken."""
        self._read()
        new = new.strip()[:NAME_MOST]
        at = next((at for at, view in enumerate(self._views) if view.name == old), None)
        if at is None or not new or (new != old and self.get(new) is not None):
            self.changed.emit()
            return False
        self._views[at] = self._views[at].model_copy(update={"name": new})
        self._write()
        return True

    def remove(self, name: str) -> None:
        """Take a view away; it can be put back until the next one is removed, or another memory is opened."""
        self._read()
        at = next((at for at, view in enumerate(self._views) if view.name == name), None)
        if at is not None:
            self._removed = (at, self._views.pop(at))
            self._write()

    def put_back(self) -> None:
        """Have the one removed last again, under its name where that is free."""
        if self._removed is None:
            return
        self._read()
        (at, view), self._removed = self._removed, None
        taken = {one.name for one in self._views}
        name, number = view.name, 2
        while name in taken:
            name, number = f"{view.name} ({number})", number + 1
        self._views.insert(at, view.model_copy(update={"name": name}))
        self._write()

    def _read(self) -> None:
        if self._settings is None or not self._key:
            return  # then they last as long as the window
        self._views, self._others = [], []
        for entry in self._entries(self._key):
            try:
                view = SavedView.model_validate(entry)
            except (ValidationError, TypeError):
                self._others.append(entry)
                continue
            if not view.name.strip() or self.get(view.name) is not None or not view.is_sound:
                self._others.append(entry)
            else:
                self._views.append(view)

    def _entries(self, place: str) -> list[Any]:
        """What the settings hold at a place, as far as it is a list."""
        if self._settings is None:
            return []
        if self._settings.isWritable():  # not where it is read-only: what was set would be lost
            self._settings.sync()
        try:
            entries = json.loads(str(self._settings.value(place, "[]")))
        except (ValueError, RecursionError) as error:
            log.warning("saved views that cannot be read: %s", error)
            return []
        return entries if isinstance(entries, list) else []

    def _write(self) -> None:
        if self._settings is not None and self._key:
            entries = [view.model_dump(mode="json") for view in self._views]
            self._settings.setValue(self._key, json.dumps([*entries, *self._others]))
        self.changed.emit()


def _place(key: str) -> str:
    """Where in the settings the views of a memory are: a name may hold anything."""
    return f"{_GROUP}/{hashlib.sha256(key.encode()).hexdigest()[:24]}"
