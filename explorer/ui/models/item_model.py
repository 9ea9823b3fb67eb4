"""The rows of the item list: filled a page at a time by cursor, or all there at once and read where looked at."""

from __future__ import annotations

import itertools
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from enum import IntEnum
from typing import Any

from PySide6.QtCore import QAbstractTableModel, QModelIndex, QObject, QPersistentModelIndex, Qt, Signal

from explorer.contract import ExplainedHit, Hit, ItemId, LearningKind, ListOrder, SortBy, Span, Timestamp, WeightProfile
from explorer.i18n import mark, tr, tr_n
from explorer.text import (
    DASH,
    at_least,
    confidence,
    decimals,
    listed,
    named,
    number,
    shown,
    tip,
    utc,
    when,
    when_full,
    word,
)
from explorer.ui.headline import Headline, headline
from explorer.ui.viewer_parts.why import parts_of

Index = QModelIndex | QPersistentModelIndex
ItemRole = Qt.ItemDataRole.UserRole + 1

MAX_EMPTY_PAGES = 10
SPAN_PAGE = 100
MAX_SPAN_PAGES = 120
"""Pages of a listing read by place that are held at once; the ones farthest from what is looked at go first."""
DOWN = "\u2193"  # before the name of the column by which the rows go down
UP = "\u2191"
_TIP_CHARS = 600
_TAGS_SHOWN = 20
_HEADLINES = 500  # kept: some times as many as are seen
_SMALL_SCORE = 0.1  # where the best one is below it, two digits would make most scores look alike
_NO_INDEX = QModelIndex()
_FLAGS = (
    Qt.ItemFlag.ItemIsEnabled
    | Qt.ItemFlag.ItemIsSelectable
    | Qt.ItemFlag.ItemIsDragEnabled
    | Qt.ItemFlag.ItemNeverHasChildren
)


class Column(IntEnum):
    KIND = 0
    TEXT = 1
    NODE = 2
    AGENT = 3
    SOURCE = 4
    TAGS = 5
    OBSERVED = 6
    CONFIDENCE = 7
    SCORE = 8
    LENGTH = 9


HEADS = {
    Column.KIND: "",
    Column.TEXT: mark("Text"),
    Column.NODE: mark("Node"),
    Column.AGENT: mark("Agent"),
    Column.SOURCE: mark("Source"),
    Column.TAGS: mark("Tags"),
    Column.OBSERVED: mark("Observed"),
    # Translators: short for confidence, at the head of a narrow column.
    Column.CONFIDENCE: mark("Conf."),
    Column.SCORE: mark("Score"),
    Column.LENGTH: mark("Length"),
}
NAMES = {**HEADS, Column.KIND: mark("Kind"), Column.CONFIDENCE: mark("Confidence")}
NUMBERS = (Column.OBSERVED, Column.CONFIDENCE, Column.SCORE, Column.LENGTH)
"""Columns that line up at their trailing edge."""
COLUMN_OF = {
    SortBy.OBSERVED: Column.OBSERVED,
    SortBy.KIND: Column.KIND,
    SortBy.NODE: Column.NODE,
    SortBy.AGENT: Column.AGENT,
    SortBy.SOURCE: Column.SOURCE,
}
SORT_OF = {column: by for by, column in COLUMN_OF.items()}
_SORT_TIPS = {
    Column.OBSERVED: mark("Sort by observed"),
    Column.KIND: mark("Sort by kind"),
    Column.NODE: mark("Sort by node"),
    Column.AGENT: mark("Sort by agent"),
    Column.SOURCE: mark("Sort by source"),
}


def head_words(column: Column) -> str:
    """What stands at the head of a column; nothing over the icons of kinds."""
    return tr(HEADS[column]) if HEADS[column] else ""


@dataclass(frozen=True)
class Page:
    """Hits of a listing or a search, and the cursor of the next page; None, and only None, is the end."""

    hits: list[Hit]
    cursor: str | None
    explained: tuple[ExplainedHit, ...] = ()
    """The same hits with the parts of their scores, where the engine tells them."""
    profile: WeightProfile | None = None
    notes: tuple[str, ...] = ()
    """What kept the ranking from being whole."""


class ItemModel(QAbstractTableModel):
    """One filtered listing.

    By cursor it asks for each page once, and stops where an engine would have it run for ever. By place every row is
    there from the start; rows that are not held are blank until `put_span` brings them.
    """

    page_wanted = Signal(str)  # the cursor to continue from; once until `append` or `retry`

    def __init__(self, parent: QObject | None = None, zone: tzinfo = UTC) -> None:
        super().__init__(parent)
        self._zone = zone
        self._now = datetime.now(UTC)
        self._size = 0
        self._hits: dict[int, Hit] = {}
        self._gone: set[int] = set()
        self._rows: dict[ItemId, int] = {}
        self._kinds: dict[ItemId, LearningKind] = {}
        self._explained: dict[ItemId, ExplainedHit] = {}
        self._profile: WeightProfile | None = None
        self._listing: str | None = None
        self._pages: set[int] = set()
        self._cursor: str | None = None
        self._cursors: set[str] = set()
        self._empty_pages = 0
        self._waiting = False
        self._failed = False
        self._stopped = ""
        self._can_go_on = False
        self._stale = False
        self._sorted_by: Column | None = None
        self._is_up = False
        self._goes_down: set[Column] = set()
        self._widest_score = ""
        self._top_score = 0.0
        self._refusals: dict[Column, str] = dict.fromkeys(Column, "")
        self.has_whole_texts = True
        """Whether a hit's text is all of the item's; else its length is only known from below."""

    # What it holds

    @property
    def has_more(self) -> bool:
        """Whether the listing goes on after the last row."""
        return self._cursor is not None

    @property
    def cursor(self) -> str | None:
        """From where the listing goes on."""
        return self._cursor

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

    @property
    def is_sorted_up(self) -> bool:
        """Whether the rows go up by `sorted_by` instead."""
        return self._is_up

    def can_sort(self, column: Column) -> bool:
        """Whether the engine can put the rows in order by a column."""
        return column not in self._refusals

    def sort_refusal(self, column: Column) -> str:
        """Why the rows cannot be sorted by a column, a sentence; empty where they can."""
        return self._refusals.get(column, "")

    def set_sort_refusals(self, refusals: Mapping[Column, str]) -> None:
        """Say by which columns the rows cannot be sorted, and why."""
        self._refusals = dict(refusals)
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(Column) - 1)

    @property
    def listing(self) -> str | None:
        """The listing whose rows are all there from the start; None where they come by cursor."""
        return self._listing

    @property
    def held_count(self) -> int:
        """Rows that are held."""
        return len(self._hits)

    @property
    def top_score(self) -> float:
        """The highest score among the rows."""
        return self._top_score

    def hit(self, row: int) -> Hit:
        """The item of a row that is held."""
        return self._hits[row]

    def held(self, row: int) -> Hit | None:
        """The item of a row; None where it is not held."""
        return self._hits.get(row)

    def held_rows(self) -> dict[int, Hit]:
        """By row, the items that are held: a copy, ascending only where rows come by cursor."""
        return dict(self._hits)

    def is_gone(self, row: int) -> bool:
        """Whether the row's item was removed before it could be read."""
        return row in self._gone

    def row_of(self, id: ItemId) -> int | None:
        """The row of an item, if it is held."""
        return self._rows.get(id)

    def headline(self, row: int) -> Headline:
        """The parts of a row's text."""
        hit = self._hits[row]
        of, found = self._headlines.get(row, (None, None))
        if found is None or of is not hit:
            if len(self._headlines) >= _HEADLINES:
                self._headlines.clear()
            found = headline(hit)
            self._headlines[row] = hit, found
        return found

    def learning_kind(self, row: int) -> LearningKind | None:
        """A learning's kind, once it is known."""
        hit = self._hits.get(row)
        return self._kinds.get(hit.id) if hit is not None else None

    def missing(self, rows: range) -> range:
        """Of a listing read by place, the whole pages that some of `rows` are on and that are not held."""
        if self._listing is None or self._stale or not rows:
            return range(0)
        pages = [page for page in range(rows[0] // SPAN_PAGE, rows[-1] // SPAN_PAGE + 1) if page not in self._pages]
        if not pages:
            return range(0)
        return range(pages[0] * SPAN_PAGE, min(self._size, (pages[-1] + 1) * SPAN_PAGE))

    # Filling

    def show_first(self, page: Page) -> None:
        """Replace everything by the first page of a listing."""
        self.beginResetModel()
        self._start(datetime.now(UTC))
        self._hold(self._take(page))
        self.endResetModel()
        self._find_order(0)
        self._look_further(bool(self._hits))

    def show_span(self, span: Span, first: int, order: ListOrder) -> None:
        """Replace everything by a listing read by place, of which `span` is the part from row `first` on."""
        self.beginResetModel()
        self._start(datetime.now(UTC))
        self._listing, self._size = span.listing, span.total
        self._put(span, first)
        self._sorted_by, self._is_up = COLUMN_OF[order.by], not order.descending
        self.endResetModel()
        self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(Column) - 1)

    def put_span(self, span: Span, first: int) -> None:
        """Hold more of the same listing, from row `first` on, a multiple of SPAN_PAGE."""
        self._put(span, first)
        if span.items:
            last = first + len(span.items) - 1
            self.dataChanged.emit(self.index(first, 0), self.index(last, len(Column) - 1))

    def _put(self, span: Span, first: int) -> None:
        for row, hit in enumerate(span.items, first):
            if hit is None:
                self._gone.add(row)
            else:
                self._hits[row] = hit
                self._rows[hit.id] = row
        here, end = first // SPAN_PAGE, first + len(span.items)
        self._pages.update(range(here, -(-end // SPAN_PAGE) if end >= self._size else end // SPAN_PAGE))
        while len(self._pages) > MAX_SPAN_PAGES:
            self._drop(max(self._pages, key=lambda page: abs(page - here)))

    def _drop(self, page: int) -> None:
        self._pages.discard(page)
        for row in range(page * SPAN_PAGE, (page + 1) * SPAN_PAGE):
            self._gone.discard(row)
            hit = self._hits.pop(row, None)
            if hit is not None:
                self._rows.pop(hit.id, None)
                self._kinds.pop(hit.id, None)

    def append(self, page: Page) -> None:
        """Add the page that `page_wanted` asked for."""
        self._waiting = False
        first = self._size
        fresh = self._take(page)
        if fresh:  # an empty insert is an error in Qt's protocol
            self.beginInsertRows(_NO_INDEX, first, first + len(fresh) - 1)
            self._hold(fresh)
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
        for id in kinds:  # singly: between them are rows that stay as they are
            if (row := self._rows.get(id)) is not None:
                changed = self.index(row, Column.TEXT)
                self.dataChanged.emit(changed, changed)

    def _start(self, now: datetime) -> None:
        self._now = now
        self._size = 0
        self._hits, self._gone, self._rows, self._kinds = {}, set(), {}, {}
        self._headlines: dict[int, tuple[Hit, Headline]] = {}  # of the rows drawn last, for the next drawing
        self._explained, self._profile = {}, None
        self._listing, self._pages = None, set()
        self._cursor, self._cursors = None, set()
        self._empty_pages = 0
        self._waiting = self._failed = self._stale = self._can_go_on = False
        self._stopped = ""
        self._goes_down = {Column.OBSERVED, Column.SCORE}
        self._widest_score, self._top_score = "", 0.0
        self._sorted_by, self._is_up = None, False

    def _hold(self, fresh: list[Hit]) -> None:
        self._hits.update(enumerate(fresh, self._size))
        self._size += len(fresh)

    def _take(self, page: Page) -> list[Hit]:
        """The hits not held yet, entered by id; moves the cursor, or stops for good where there is no way on."""
        fresh = []
        for hit in page.hits:
            if hit.id not in self._rows:
                self._rows[hit.id] = len(self._rows)
                fresh.append(hit)
                self._top_score = max(self._top_score, hit.score)
                self._widest_score = max(self._widest_score, self._score(hit), key=len)
        self._explained.update((each.hit.id, each) for each in page.explained)
        self._profile = page.profile or self._profile
        self._empty_pages = 0 if fresh else self._empty_pages + 1
        self._cursor = page.cursor
        if page.cursor is None:
            return fresh
        unique = len(self._rows)
        if page.cursor in self._cursors:
            self._cursor = None
            self._stopped = tr_n(
                "The engine repeated a cursor; showing {n} unique item.",
                "The engine repeated a cursor; showing {n} unique items.",
                unique,
                n=number(unique),
            )
        elif self._empty_pages >= MAX_EMPTY_PAGES:
            self._can_go_on = True
            self._stopped = tr_n(
                "{pages} pages in a row brought nothing new; showing {n} unique item.",
                "{pages} pages in a row brought nothing new; showing {n} unique items.",
                unique,
                pages=number(self._empty_pages),
                n=number(unique),
            )
        self._cursors.add(page.cursor)
        return fresh

    def _find_order(self, first: int) -> None:
        """Bring `sorted_by` up to date, now that there are rows from `first` on."""
        fresh = [self._hits[row] for row in range(max(0, first - 1), self._size)]
        for before, after in itertools.pairwise(fresh):
            if after.score > before.score:
                self._goes_down.discard(Column.SCORE)
            if _date_key(after) > _date_key(before):
                self._goes_down.discard(Column.OBSERVED)
        found: Column | None = None
        if self._hits and Column.SCORE in self._goes_down:
            top, end = self._hits[0], self._hits[self._size - 1]
            if top.score > end.score:
                found = Column.SCORE
            elif not top.score and Column.OBSERVED in self._goes_down and _date_key(top) > _date_key(end):
                found = Column.OBSERVED
        if found != self._sorted_by:
            self._sorted_by = found
            self.headerDataChanged.emit(Qt.Orientation.Horizontal, 0, len(Column) - 1)

    def _look_further(self, brought_rows: bool) -> None:
        """A page without rows gives a view nothing to scroll to, so the next one is asked for from here."""
        if not brought_rows:
            self.fetchMore(_NO_INDEX)

    def _redraw(self) -> None:
        if self._size:
            self.dataChanged.emit(self.index(0, 0), self.index(self._size - 1, len(Column) - 1))

    # Qt's side

    def flags(self, index: Index) -> Qt.ItemFlag:
        return _FLAGS if index.isValid() else Qt.ItemFlag.NoItemFlags

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else self._size

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
            arrow = UP if self._is_up else DOWN
            head = head_words(column)
            return f"{arrow} {head}".rstrip() if is_sorted else head
        if role == Qt.ItemDataRole.AccessibleTextRole:
            name = tr(NAMES[column])
            return listed((name, self._order_words(column))) if is_sorted else name
        if role in (Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleDescriptionRole):
            return tr(_SORT_TIPS[column]) if self.can_sort(column) else self.sort_refusal(column)
        if role == Qt.ItemDataRole.TextAlignmentRole:
            side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
            return side | Qt.AlignmentFlag.AlignVCenter
        return None

    def _order_words(self, column: Column) -> str:
        if column is Column.OBSERVED:
            return tr("oldest first") if self._is_up else tr("newest first")
        if column is Column.SCORE:
            return tr("best first")
        return tr("A to Z") if self._is_up else tr("Z to A")

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid() or not 0 <= index.row() < self._size:
            return None
        column = Column(index.column())
        hit = self._hits.get(index.row())
        if hit is None:
            if column is not Column.TEXT or role not in (
                Qt.ItemDataRole.DisplayRole,
                Qt.ItemDataRole.AccessibleTextRole,
            ):
                return None
            return tr("no longer stored") if index.row() in self._gone else tr("not read yet")
        match role:
            case _ if role == ItemRole:
                return hit
            case Qt.ItemDataRole.DisplayRole:
                return self.cell(hit, column)
            case Qt.ItemDataRole.ToolTipRole:
                return self._tip(hit, column)
            case Qt.ItemDataRole.AccessibleTextRole:
                if column is Column.OBSERVED and hit.meta.observed_at is None:
                    return tr("no date")
                return self._spoken(hit) if column is Column.TEXT else self.cell(hit, column) or word(hit.kind)
            case _:
                return None

    def cell(self, hit: Hit, column: Column) -> str:
        """What stands in a cell; of the text, its line."""
        match column:
            case Column.KIND:
                return ""
            case Column.TEXT:
                return shown(headline(hit).line)
            case Column.NODE:
                return str(hit.meta.namespace.last or tr("root"))
            case Column.AGENT:
                return shown(hit.meta.agent_id or "")
            case Column.SOURCE:
                return word(hit.meta.source.kind)
            case Column.TAGS:
                return listed(map(shown, hit.meta.tags[:_TAGS_SHOWN]))
            case Column.LENGTH:
                return number(len(hit.text)) if self.has_whole_texts else at_least(len(hit.text))
            case Column.OBSERVED:
                return when(hit.meta.observed_at, self._now, self._zone) if hit.meta.observed_at else DASH
            case Column.CONFIDENCE:
                return "" if hit.confidence is None else confidence(hit.confidence)
            case Column.SCORE:
                return self._score(hit)

    def _tip(self, hit: Hit, column: Column) -> str | None:
        match column:
            case Column.KIND:
                return word(hit.kind)
            case Column.TEXT:
                return tip(shown(hit.text, _TIP_CHARS))
            case Column.NODE:
                return str(hit.meta.namespace)
            case Column.AGENT if hit.meta.agent_id:
                return tip(shown(hit.meta.agent_id, _TIP_CHARS))
            case Column.SOURCE:
                source = hit.meta.source
                kind = word(source.kind)
                return tip(named(kind, shown(source.id, _TIP_CHARS)) if source.id else kind)
            case Column.TAGS if hit.meta.tags:
                return tip("\n".join(map(shown, hit.meta.tags)))
            case Column.LENGTH:
                n = number(len(hit.text))
                return tr("{n} characters", n=n) if self.has_whole_texts else tr("{n} characters, perhaps more", n=n)
            case Column.SCORE:
                return self._score_tip(hit)
            case Column.OBSERVED if hit.meta.observed_at is not None:
                return f"{when_full(hit.meta.observed_at, self._zone)}\n{utc(hit.meta.observed_at)}"
            case _:
                return None

    def _score(self, hit: Hit) -> str:
        digits = 3 if 0 < self._top_score < _SMALL_SCORE else 2
        return decimals(hit.score, digits)

    def _score_tip(self, hit: Hit) -> str:
        """The score and what it is made of."""
        explained = self._explained.get(hit.id)
        if explained is None or self._profile is None:
            return tr("Score {score}", score=decimals(hit.score, 3))
        return "\n".join(named(part.name, part.numbers) for part in parts_of(explained, self._profile))

    def _spoken(self, hit: Hit) -> str:
        kind = self._kinds.get(hit.id)
        parts = [
            word(hit.kind),
            word(kind) if kind else "",
            tr("confidence {value}", value=confidence(hit.confidence)) if hit.confidence is not None else "",
            shown(headline(hit).line),
            str(hit.meta.namespace.last or tr("root")),
            when_full(hit.meta.observed_at, self._zone) if hit.meta.observed_at else tr("no date"),
        ]
        return listed(parts)


def _date_key(hit: Hit) -> tuple[bool, Timestamp | None]:
    """By it, items without a date come last where the newest come first."""
    return hit.meta.observed_at is not None, hit.meta.observed_at
