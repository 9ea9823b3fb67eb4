"""Which keys do what: those of the actions, read from the window, and those that panes take themselves."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QWidget

from explorer.i18n import mark, tr

WINDOW = mark("Window")
# Translators: what is shown; a noun.
VIEW = mark("View")
PANELS = mark("Panels")
_SEARCH = mark("Search")
# Translators: the filter; a noun.
_FILTER = mark("Filter")
_PLACES = mark("Namespaces and facets")
_TIME = mark("Time line")
# Translators: the list of items; a noun.
_LIST = mark("List")
_HEADS = mark("Column heads")
_ITEM = mark("Item")
_CONTEXT = mark("context.md")
_PALETTE = mark("Command palette")
# Translators: the panel where questions are asked.
ASK = mark("Ask")


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
    _SEARCH: (
        Key(("Return",), mark("Search at once")),
        Key(("Esc",), mark("End the search and go back to the list")),
        Key(("Down",), mark("To what was found")),
        Key(("Alt+Down",), mark("Recent searches")),
    ),
    _FILTER: (
        Key(("Left", "Right"), mark("The condition before, or after")),
        Key(("Up", "Down"), mark("The same in the list of further conditions")),
        Key(("Home", "End"), mark("The first condition, or the last")),
        Key(("Return",), mark("Open the facet of the condition")),
        Key(("Del", "Backspace"), mark("Remove the condition")),
    ),
    _PLACES: (
        Key(("Up", "Down"), mark("The row before, or after")),
        Key(("Left", "Right"), mark("Close or open what is below")),
        Key(("*",), mark("Open all that is below")),
        Key(("Return",), mark("Filter by the node or value alone")),
        Key(("Space",), mark("Add the value, or take it away")),
        Key(("Alt+Up", "Alt+Down"), mark("Move the facet up or down")),
        Key(("Esc",), mark("Leave the find box")),
    ),
    _TIME: (
        Key(("Left", "Right"), mark("An end of the range a step earlier, or later; with Shift ten")),
        Key(("Home", "End"), mark("The end of the range to the first bar, or the last")),
        Key(("Return",), mark("Filter by the span")),
        Key(("Esc",), mark("Let go, then clear the span")),
    ),
    _LIST: (
        Key(("Up", "Down"), mark("The item before, or after; with Shift select")),
        Key(("PgUp", "PgDown"), mark("A page up, or down")),
        Key(("Home", "End"), mark("The first item, or the last; with Shift select")),
        Key(("Return",), mark("Read the item")),
        Key(("Esc",), mark("Back from a search to the list")),
    ),
    _HEADS: (
        Key(("Left", "Right"), mark("The column before, or after")),
        Key(("Shift+Left", "Shift+Right"), mark("Make the column narrower, or wider")),
        Key(("Ctrl+Left", "Ctrl+Right"), mark("Move the column")),
        Key(("Return", "Space"), mark("Sort by the column; once more turns the order around")),
        Key(("Down",), mark("To the items")),
    ),
    _ITEM: (
        Key(("Left", "Right"), mark("Between Read, Raw, Metadata and Why")),
        Key(("Up", "Down"), mark("The same; in the find bar the place before, or after")),
        Key(("Ctrl+C",), mark("Copy what is marked, or the metadata value")),
        Key(("Ctrl+A",), mark("Mark all")),
        Key(("Return",), mark("In the find bar the next place; with Shift the one before")),
        Key(("Esc",), mark("Close the find bar")),
    ),
    _CONTEXT: (
        Key(("Left", "Right"), mark("A hundred tokens less, or more; in the bar the section before, or after")),
        Key(("Up", "Down"), mark("A hundred tokens more, or less; the row or section before, or after")),
        Key(("PgUp", "PgDown"), mark("A thousand tokens more, or less")),
        Key(("Home", "End"), mark("The smallest budget, or the largest")),
        Key(("Return", "Space"), mark("To the section, or to what is not in it")),
        Key(("Del",), mark("See the document without the item")),
    ),
    ASK: (
        Key(("Return",), mark("Ask what is typed; open the source that has the keyboard")),
        Key(("Up", "Down"), mark("The source before, or after")),
        Key(("Ctrl+C",), mark("Copy what is marked of a sentence")),
    ),
    _PALETTE: (
        Key(("Up", "Down"), mark("The line before, or after")),
        Key(("PgUp", "PgDown"), mark("A page up, or down")),
        Key(("Return",), mark("Do it, or go there")),
        Key(("Esc",), mark("Close it")),
    ),
}


def areas(window: QWidget) -> list[tuple[str, list[Key]]]:
    """All keys by the title of the area they belong to: first what works everywhere, then pane by pane."""
    found: dict[str, list[Key]] = {area: [] for area in (WINDOW, VIEW, PANELS, *PANE_KEYS)}
    for area, keys, words in _of_actions(window):
        entries = found.setdefault(area, [])
        if (key := Key(keys, words)) not in entries:
            entries.append(key)
    for area, own in PANE_KEYS.items():
        found[area].extend(Key(one.keys, tr(one.words)) for one in own)
    return [(tr(area), keys) for area, keys in found.items() if keys]


def _of_actions(window: QWidget) -> Iterator[tuple[str, tuple[str, ...], str]]:
    for one in window.findChildren(QAction):
        if (keys := _portable(one.shortcuts())) and one.text():
            yield (
                str(one.property("area") or _pane_of(one)),
                keys,
                one.text().replace("&", "").removesuffix("…").rstrip(),
            )


def _portable(keys: Sequence[QKeySequence]) -> tuple[str, ...]:
    return tuple(key.toString(QKeySequence.SequenceFormat.PortableText) for key in keys if not key.isEmpty())


def _pane_of(action: QAction) -> str:
    owner = action.parent()
    while owner is not None:
        if owner.objectName() in _PANES:
            return _PANES[owner.objectName()]
        owner = owner.parent()
    return WINDOW


_PANES = {
    "itemViewer": _ITEM,
    "viewerHeader": _ITEM,
    "itemList": _LIST,
    "facetPanel": _PLACES,
    "namespacePanel": _PLACES,
    "searchBox": _SEARCH,
    "askPanel": ASK,
}
