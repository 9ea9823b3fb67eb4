"""The journal as rows: one for each removal, move, copy and restore, in words."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime, tzinfo
from enum import Enum
from pathlib import Path
from types import MappingProxyType
from typing import Any, NamedTuple

from PySide6.QtCore import QModelIndex, QObject, QPersistentModelIndex, Qt

from explorer import text
from explorer.i18n import mark, mark_n, tr, tr_n
from explorer.removal.receipts import Entry
from explorer.ui.models.list_model import ListModel

Index = QModelIndex | QPersistentModelIndex
EntryRole = Qt.ItemDataRole.UserRole + 1

_NAME_CHARS = 60
_REASON_CHARS = 300
_PLACE_CHARS = 1_000


class State(Enum):
    DONE = "done"
    STILL = "still"
    """All of it is gone, and something still answers."""
    PARTLY = "partly"
    INTERRUPTED = "interrupted"
    CONTINUED = "continued"
    """Interrupted, and gone on with under a receipt of its own."""
    RUNNING = "running"
    UNREADABLE = "unreadable"


class _Words(NamedTuple):
    """Of an action: what was planned, what was done, and what was done of what was planned."""

    planned: tuple[str, str]
    done: tuple[str, str]
    partly: tuple[str, str]


_ACTIONS: Mapping[str, _Words] = MappingProxyType(
    {
        "forget": _Words(
            mark_n("Forgetting {n} item", "Forgetting {n} items"),
            mark_n("{n} item forgotten", "{n} items forgotten"),
            mark_n("{n} of {total} item forgotten", "{n} of {total} items forgotten"),
        ),
        "erase": _Words(
            mark_n("Erasing {n} item", "Erasing {n} items"),
            mark_n("{n} item erased", "{n} items erased"),
            mark_n("{n} of {total} item erased", "{n} of {total} items erased"),
        ),
        "move": _Words(
            mark_n("Moving {n} item", "Moving {n} items"),
            mark_n("{n} item moved", "{n} items moved"),
            mark_n("{n} of {total} item moved", "{n} of {total} items moved"),
        ),
        "copy": _Words(
            mark_n("Copying {n} item", "Copying {n} items"),
            mark_n("{n} item copied", "{n} items copied"),
            mark_n("{n} of {total} item copied", "{n} of {total} items copied"),
        ),
        "restore": _Words(
            mark_n("Restoring {n} item", "Restoring {n} items"),
            mark_n("{n} item restored", "{n} items restored"),
            mark_n("{n} of {total} item restored", "{n} of {total} items restored"),
        ),
    }
)
_STATES: Mapping[State, str] = MappingProxyType(
    {
        State.DONE: mark("done"),
        State.STILL: mark("done, but something still answers"),
        # Translators: only a part of it was done.
        State.PARTLY: mark("partly"),
        State.INTERRUPTED: mark("interrupted"),
        State.CONTINUED: mark("interrupted, continued later"),
        State.RUNNING: mark("running"),
        State.UNREADABLE: mark("cannot be read"),
    }
)


def state_of(entry: Entry) -> State:
    if not entry.is_readable:
        return State.UNREADABLE
    if entry.is_running:
        return State.RUNNING
    if not entry.is_finished:
        return State.INTERRUPTED
    if entry.continued_by is not None:
        return State.CONTINUED
    if entry.left or entry.stopped is not None:
        return State.PARTLY
    return State.STILL if entry.is_clean is False else State.DONE


def title_of(entry: Entry) -> str:
    """What was done, with its numbers: `3 895 items erased`, `6 of 10 items forgotten`."""
    if not entry.is_readable:
        return text.shown(entry.path.name, _NAME_CHARS)
    words = _ACTIONS.get(entry.action)
    if words is None:  # of a newer version of this program
        return text.shown(entry.action, _NAME_CHARS)
    done, planned = entry.removed, entry.planned
    if done is None:
        if not planned and entry.action == "restore":  # which knows how much there is once its file is read
            return tr("Restoring from a file")
        return tr_n(*words.planned, planned, n=text.number(planned))
    if done >= planned:
        return tr_n(*words.done, done, n=text.number(done))
    return tr_n(*words.partly, planned, n=text.number(done), total=text.number(planned))


def where_of(entry: Entry) -> str:
    """The connection, and the node, or how many there were."""
    nodes = max(entry.nodes_in_all, len(entry.nodes))
    if entry.at:
        node = text.shown(entry.at, _NAME_CHARS)
    elif nodes == 1:
        node = text.shown(entry.nodes[0], _NAME_CHARS) if entry.nodes else ""
    else:
        node = text.counted(nodes, "node") if nodes else ""
    return text.listed((text.shown(entry.connection, _NAME_CHARS), node))


def state_words(entry: Entry) -> str:
    state = state_of(entry)
    if state is State.PARTLY and entry.left:
        return tr_n("{n} left", "{n} left", entry.left, n=text.number(entry.left))
    return tr(_STATES[state])


class JournalModel(ListModel[Entry]):
    """The entries as they are given, newest first. What a row says is made when it is drawn."""

    def __init__(self, zone: tzinfo, parent: QObject) -> None:
        super().__init__(parent)
        self._zone = zone

    def index_of(self, path: Path) -> QModelIndex:
        """The row of the receipt at `path`; none where it is not among them."""
        row = next((row for row, entry in enumerate(self._entries) if entry.path == path), None)
        return QModelIndex() if row is None else self.index(row, 0)

    def when(self, entry: Entry) -> str:
        return "" if entry.begun_at is None else text.when(entry.begun_at, datetime.now(UTC), self._zone)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self.entry(index)
        if entry is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return title_of(entry)
            case Qt.ItemDataRole.AccessibleTextRole:
                return text.listed((title_of(entry), state_words(entry), self.when(entry), where_of(entry)))
            case Qt.ItemDataRole.ToolTipRole:
                return text.tip("\n".join(filter(None, self._tip(entry))))
            case _ if role == EntryRole:
                return entry
        return None

    def _tip(self, entry: Entry) -> list[str]:
        state = tr(_STATES[state_of(entry)])
        at = entry.begun_at
        why = text.sentence(entry.stopped[:_REASON_CHARS]) if entry.stopped else ""
        return [
            text.named(title_of(entry), text.listed((state, state_words(entry) if entry.left else ""))),
            where_of(entry),
            text.shown(entry.place, _PLACE_CHARS),  # of two memories the name may be the same
            "" if at is None else f"{text.when_full(at, self._zone)} ({text.utc(at)})",
            why,
            text.shown(entry.path.name, _REASON_CHARS),
        ]
