"""Which keys do what: those of the actions, read from the window, and those that panes take themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QWidget

WINDOW = "Window"
VIEW = "View"


@dataclass(frozen=True)
class Key:
    """Keys in Qt's portable words, one or several to the same end, and what they do."""

    keys: tuple[str, ...]
    words: str

    @property
    def shown(self) -> str:
        """The keys as this system writes them."""
        return "  ".join(QKeySequence(key).toString(QKeySequence.SequenceFormat.NativeText) for key in self.keys)


# What the panes' own key handlers take; a test reads the handlers and fails where one takes a key that is not here.
PANE_KEYS: dict[str, tuple[Key, ...]] = {
    "Search": (
        Key(("Return",), "Search at once"),
        Key(("Esc",), "End the search and go back to the list"),
        Key(("Down",), "To what was found"),
        Key(("Alt+Down",), "Recent searches"),
    ),
    "Filter": (
        Key(("Left", "Right"), "The condition before, or after"),
        Key(("Up", "Down"), "The same in the list of further conditions"),
        Key(("Home", "End"), "The first condition, or the last"),
        Key(("Return",), "Open the facet of the condition"),
        Key(("Del", "Backspace"), "Remove the condition"),
    ),
    "Namespaces and facets": (
        Key(("Up", "Down"), "The row before, or after"),
        Key(("Left", "Right"), "Close or open what is below"),
        Key(("*",), "Open all that is below"),
        Key(("Return",), "Filter by the node or value alone"),
        Key(("Space",), "Add the value, or take it away"),
        Key(("Alt+Up", "Alt+Down"), "Move the facet up or down"),
        Key(("Esc",), "Leave the find box"),
    ),
    "Time line": (
        Key(("Left", "Right"), "An end of the range a step earlier, or later; with Shift ten"),
        Key(("Home", "End"), "The end of the range to the first bar, or the last"),
        Key(("Return",), "Filter by the span"),
        Key(("Esc",), "Let go, then clear the span"),
    ),
    "List": (
        Key(("Up", "Down"), "The item before, or after; with Shift select"),
        Key(("PgUp", "PgDown"), "A page up, or down"),
        Key(("Home", "End"), "The first item, or the last; with Shift select"),
        Key(("Return",), "Read the item"),
        Key(("Ctrl+A",), "Select all that match"),
        Key(("Esc",), "Back from a search to the list"),
    ),
    "Item": (
        Key(("Left", "Right"), "Between Read, Raw, Metadata and Why"),
        Key(("Up", "Down"), "The same; in the find bar the place before, or after"),
        Key(("Ctrl+C",), "Copy what is marked"),
        Key(("Ctrl+A",), "Mark all"),
        Key(("Return",), "In the find bar the next place; with Shift the one before"),
        Key(("Esc",), "Close the find bar"),
    ),
    "Command palette": (
        Key(("Up", "Down"), "The line before, or after"),
        Key(("PgUp", "PgDown"), "A page up, or down"),
        Key(("Return",), "Do it, or go there"),
        Key(("Esc",), "Close it"),
    ),
}


def areas(window: QWidget) -> list[tuple[str, list[Key]]]:
    """All keys by the area they belong to: first what works everywhere, then pane by pane."""
    found: dict[str, list[Key]] = {area: [] for area in (WINDOW, VIEW, *PANE_KEYS)}
    for area, keys, words in _of_actions(window):
        entries = found.setdefault(area, [])
        if (key := Key(keys, words)) not in entries:
            entries.append(key)
    for area, own in PANE_KEYS.items():
        found[area].extend(own)
    return [(area, keys) for area, keys in found.items() if keys]


def _of_actions(window: QWidget) -> Iterator[tuple[str, tuple[str, ...], str]]:
    for one in window.findChildren(QAction):
        if (keys := _portable(one.shortcuts())) and one.text():
            yield str(one.property("area") or _pane_of(one)), keys, one.text().replace("&", "").removesuffix("…")
    for bare in window.findChildren(QShortcut):
        if (keys := _portable(bare.keys())) and bare.whatsThis():
            yield _pane_of(bare), keys, bare.whatsThis()


def _portable(keys: Sequence[QKeySequence]) -> tuple[str, ...]:
    return tuple(key.toString(QKeySequence.SequenceFormat.PortableText) for key in keys if not key.isEmpty())


def _pane_of(action: QAction | QShortcut) -> str:
    owner = action.parent()
    while owner is not None:
        if owner.objectName() in _PANES:
            return _PANES[owner.objectName()]
        owner = owner.parent()
    return WINDOW


_PANES = {
    "itemViewer": "Item",
    "viewerHeader": "Item",
    "itemList": "List",
    "facetPanel": "Namespaces and facets",
    "namespacePanel": "Namespaces and facets",
    "searchBox": "Search",
}
