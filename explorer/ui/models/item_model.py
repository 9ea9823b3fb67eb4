"""The rows of the item list, filled a page at a time."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from explorer.contract import Hit, ItemId, LearningKind, Timestamp
from explorer.ui.headline import Headline, headline
from explorer.ui.text import DASH, confidence, number, shown, tip, utc, when, when_full

Index = QModelIndex | QPersistentModelIndex
ItemRole = Qt.ItemDataRole.UserRole + 1

MAX_EMPTY_PAGES = 10
DOWN = "\u2193"  # before the name of the column by which the rows go down
_TIP_CHARS = 600
_NO_INDEX = QModelIndex()


class Column(IntEnum):
    KIND = 0
    TEXT = 1
    NODE = 2
    OBSERVED = 3
    CONFIDENCE = 4
    SCORE = 5


HEADS = {
    Column.KIND: "",
    Column.TEXT: "Text",
    Column.NODE: "Node",
    Column.OBSERVED: "Observed",
    Column.CONFIDENCE: "Conf.",
    Column.SCORE: "Score",
}
NAMES = {**HEADS, Column.KIND: "Kind", Column.CONFIDENCE: "Confidence"}
NUMBERS = (Column.OBSERVED, Column.CONFIDENCE, Column.SCORE)
"""Columns that line up at their trailing edge."""


@dataclass(frozen=True)
class Page:
    """Hits of a listing or a search, and the cursor of the next page; None, and only None, is the end."""

    hits: list[Hit]
    cursor: str | None


class ItemModel(QAbstractTableModel):
    """One filtered listing. It asks for each page once, and stops where an engine would have it run for ever."""

    page_wanted = Signal(str)  # the cursor to continue from; once until `append` or `retry`

    def __init__(self, parent: QObject | None = None, zone: tzinfo = UTC) -> None:
        super().__init__(parent)
        self._zone = zone
        self._now = datetime.now(UTC)
        self._hits: list[Hit] = []
        self._rows: dict[ItemId, int] = {}
        self._kinds: dict[ItemId, LearningKind] = {}
        self._cursor: str | None = None
        self._cursors: set[str] = set()
        self._empty_pages = 0
        self._waiting = False
        self._failed = False
        self._stopped = ""
        self._can_go_on = False
        self._stale = False
        self._sorted_by: Column | None = None
        self._goes_down: set[Column] = set()
        self._widest_score = ""

    # What it holds

    @property
    def has_more(self) -> bool:
        """Whether the listing goes on after the last row."""
        return self._cursor is not None

    @property
    def is_waiting(self) -> bool:
        """Whether a page was asked for that has not come."""
        return self._waiting

    @property
    def stopped(self) -> str:
        """Why reading stopped before the engine said that it was the end, as a sentence; else empty."""
        return self._stopped

    @property
    def can_go_on(self) -> bool:
        """Whether reading stopped only out of caution, so that `go_on` may bring more."""
        return self._can_go_on

    @property
    def is_stale(self) -> bool:
        """Whether the rows are known to be old."""
        return self._stale

    @property
    def sorted_by(self) -> Column | None:
        """The column by which the rows held go down, ranks before dates; None where they do by neither.

        Not every engine lists the newest first, so it is read off the rows and not promised.
        """
        return self._sorted_by

    @property
    def widest_score(self) -> str:
        """The score with the most signs among the rows, as its cell has it."""
        return self._widest_score

    def hit(self, row: int) -> Hit:
        """The item of a row."""
        return self._hits[row]

    def row_of(self, id: ItemId) -> int | None:
        """The row of an item, if it is loaded."""
        return self._rows.get(id)

    def headline(self, row: int) -> Headline:
        """The parts of a row's text."""
        return headline(self._hits[row])

    def learning_kind(self, row: int) -> LearningKind | None:
        """A learning's kind, once it is known."""
        return self._kinds.get(self._hits[row].id)

    # Filling

    def show_first(self, page: Page) -> None:
        """Replace everything by the first page of a listing."""
        self.beginResetModel()
        self._start(datetime.now(UTC))
        self._hits = self._take(page)
        self.endResetModel()
        self._find_order(0)
        self._look_further(bool(self._hits))

    def append(self, page: Page) -> None:
        """Add the page that `page_wanted` asked for."""
        self._waiting = False
        first = len(self._hits)
        fresh = self._take(page)
        if fresh:  # an empty insert is an error in Qt's protocol
            self.beginInsertRows(_NO_INDEX, first, first + len(fresh) - 1)
            self._hits.extend(fresh)
            self.endInsertRows()
            self._find_order(first)
        self._look_further(bool(fresh))

    def fail(self) -> None:
        """The page did not come; it is not asked for again before `retry`, or scrolling would ask without end."""
        self._waiting = False
        self._failed = True

    def retry(self) -> None:
        """Ask again for the page that did not come."""
        self._failed = False
        self.fetchMore(_NO_INDEX)

    def go_on(self) -> None:
        """Look at as many pages again."""
        if self._can_go_on:
            self._stopped, self._can_go_on, self._empty_pages = "", False, 0
            self.fetchMore(_NO_INDEX)

    def clear(self) -> None:
        """Hold nothing."""
        self.beginResetModel()
        self._start(datetime.now(UTC))
        self._hits = []
        self.endResetModel()
        self._find_order(0)

    def set_stale(self, stale: bool) -> None:
        """Mark the rows as old, or as current."""
        if stale != self._stale:
            self._stale = stale
            self._redraw()

    def set_learning_kinds(self, kinds: Mapping[ItemId, LearningKind]) -> None:
        """What a listing does not tell: which kind of learning each is."""
        self._kinds.update((id, kind) for id, kind in kinds.items() if id in self._rows)
        rows = [row for id in kinds if (row := self._rows.get(id)) is not None]
        if rows:
            self.dataChanged.emit(self.index(min(rows), Column.TEXT), self.index(max(rows), Column.TEXT))

    def _start(self, now: datetime) -> None:
        self._now = now
        self._rows, self._kinds = {}, {}
        self._cursor, self._cursors = None, set()
        self._empty_pages = 0
        self._waiting = self._failed = self._stale = self._can_go_on = False
        self._stopped = ""
        self._goes_down = {Column.OBSERVED, Column.SCORE}
        self._widest_score = ""

    def _take(self, page: Page) -> list[Hit]:
        """The hits not held yet, entered by id; moves the cursor, or stops for good where there is no way on."""
        fresh = []
        for hit in page.hits:
            if hit.id not in self._rows:
                self._rows[hit.id] = len(self._rows)
                fresh.append(hit)
                self._widest_score = max(self._widest_score, _score(hit), key=len)
        self._empty_pages = 0 if fresh else self._empty_pages + 1
        self._cursor = page.cursor
        if page.cursor is None:
            return fresh
        unique = f"showing {number(len(self._rows))} unique {'item' if len(self._rows) == 1 else 'items'}"
        if page.cursor in self._cursors:
            self._cursor = None
            self._stopped = f"The engine repeated a cursor; {unique}."
        elif self._empty_pages >= MAX_EMPTY_PAGES:
            self._can_go_on = True
            self._stopped = f"{number(self._empty_pages)} pages in a row brought nothing new; {unique}."
        self._cursors.add(page.cursor)
        return fresh

    def _find_order(self, first: int) -> None:
        """Bring `sorted_by` up to date, now that there are rows from `first` on."""
        for before, after in itertools.pairwise(self._hits[max(0, first - 1) :]):
            if after.score > before.score:
                self._goes_down.discard(Column.SCORE)
            if _date_key(after) > _date_key(before):
                self._goes_down.discard(Column.OBSERVED)
        found: Column | None = None
        if self._hits and Column.SCORE in self._goes_down:
            top, end = self._hits[0], self._hits[-1]
            if top.score > end.score:
                found = Column.SCORE
            elif not top.score and Column.OBSERVED in self._goes_down and _date_key(top) > _date_key(end):
                found = Column.OBSERVED
        if found != self._sorted_by:
            self._sorted_by = found
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, Column.OBSERVED, Column.SCORE)

    def _look_further(self, brought_rows: bool) -> None:
        """A page without rows gives a view nothing to scroll to, so the next one is asked for from here."""
        if not brought_rows:
            self.fetchMore(_NO_INDEX)

    def _redraw(self) -> None:
        if self._hits:
            self.dataChanged.emit(self.index(0, 0), self.index(len(self._hits) - 1, len(Column) - 1))

    # Qt's side

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._hits)

    def columnCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(Column)

    def canFetchMore(self, parent: Index) -> bool:
        if parent.isValid() or self._cursor is None:
            return False
        return not (self._waiting or self._failed or self._can_go_on or self._stale)

    def fetchMore(self, parent: Index) -> None:
        if self.canFetchMore(parent):
            self._waiting = True
            self.page_wanted.emit(self._cursor)

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation != Qt.Orientation.Horizontal or not 0 <= section < len(Column):
            return None
        column = Column(section)
        is_sorted = column is self._sorted_by
        if role == Qt.ItemDataRole.DisplayRole:
            return f"{DOWN} {HEADS[column]}" if is_sorted else HEADS[column]
        if role == Qt.ItemDataRole.AccessibleTextRole:
            order = "best first" if column is Column.SCORE else "newest first"
            return f"{NAMES[column]}, {order}" if is_sorted else NAMES[column]
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or not 0 <= index.row() < len(self._hits):
            return None
        hit = self._hits[index.row()]
        column = Column(index.column())
        match role:
            case _ if role == ItemRole:
                return hit
            case Qt.ItemDataRole.DisplayRole:
                return self._cell(hit, column)
            case Qt.ItemDataRole.ToolTipRole:
                return self._tip(hit, column)
            case Qt.ItemDataRole.AccessibleTextRole:
                if column is Column.OBSERVED and hit.meta.observed_at is None:
                    return "no date"
                return self._spoken(hit) if column is Column.TEXT else self._cell(hit, column) or hit.kind.value
            case _:
                return None

    def _cell(self, hit: Hit, column: Column) -> str:
        match column:
            case Column.KIND:
                return ""
            case Column.TEXT:
                return shown(headline(hit).line)
            case Column.NODE:
                return str(hit.meta.namespace.last or "root")
            case Column.OBSERVED:
                return when(hit.meta.observed_at, self._now, self._zone) if hit.meta.observed_at else DASH
            case Column.CONFIDENCE:
                return "" if hit.confidence is None else confidence(hit.confidence)
            case Column.SCORE:
                return _score(hit)

    def _tip(self, hit: Hit, column: Column) -> str | None:
        match column:
            case Column.KIND:
                return hit.kind.value
            case Column.TEXT:
                return tip(shown(hit.text, _TIP_CHARS))
            case Column.NODE:
                return str(hit.meta.namespace)
            case Column.OBSERVED if hit.meta.observed_at is not None:
                return f"{when_full(hit.meta.observed_at, self._zone)}\n{utc(hit.meta.observed_at)}"
            case _:
                return None

    def _spoken(self, hit: Hit) -> str:
        kind = self._kinds.get(hit.id)
        parts = [
            hit.kind.value,
            kind.value if kind else "",
            f"confidence {confidence(hit.confidence)}" if hit.confidence is not None else "",
            shown(headline(hit).line),
            str(hit.meta.namespace.last or "root"),
            when_full(hit.meta.observed_at, self._zone) if hit.meta.observed_at else "no date",
        ]
        return ", ".join(part for part in parts if part)


def _date_key(hit: Hit) -> tuple[bool, Timestamp | None]:
    """By it, items without a date come last where the newest come first."""
    return hit.meta.observed_at is not None, hit.meta.observed_at


def _score(hit: Hit) -> str:
    return f"{hit.score:.2f}"
