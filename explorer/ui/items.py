"""The list in the middle of the window: what a filter admits, or what a search inside it finds."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import datetime, tzinfo

from PySide6.QtCore import QItemSelection, QModelIndex, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QGuiApplication,
    QResizeEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from explorer.contract import (
    EngineHealth,
    ExplorePage,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    GetRequest,
    Hit,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Unauthorized,
    Unavailable,
    Unsupported,
    is_blank,
)
from explorer.contract.query import MAX_GET_IDS, MAX_SCAN
from explorer.ui.banner import Banner
from explorer.ui.busy import BusyLine
from explorer.ui.clock import local_zone
from explorer.ui.conditions import QUERY, Condition, without
from explorer.ui.empty import Action, EmptyState, LoadingState
from explorer.ui.item_view import ItemView
from explorer.ui.jobs import Jobs
from explorer.ui.models.item_model import MAX_EMPTY_PAGES, NAMES, Column, ItemModel, Page
from explorer.ui.news import details, may_pass, sentence
from explorer.ui.text import at_least, counted, number, shown
from explorer.ui.theme import theme

log = logging.getLogger(__name__)

LIST_PAGE = 200
FETCH_PAGE = 50
COUNT_PAGE = 1_000
KINDS_AFTER_MS = 60  # scrolling has come to rest
NARROW_PX = 600  # at the design's text size: below it Node and Conf. give their room to the text
_DESIGN_PX = 13
MAX_TOLD = 3  # conditions whose removal is told; of more, the best
_NUMBER_WORDS = ("no", "one", "two", "three", "four", "five", "six", "seven", "eight", "nine")


@dataclass(frozen=True)
class Ask:
    """What the list shows: everything that `filter` admits, or the hits of `query` among it."""

    filter: MetaFilter = field(default_factory=MetaFilter)
    query: str = ""
    mode: FetchMode | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def is_search(self) -> bool:
        return not is_blank(self.query)


@dataclass(frozen=True)
class Count:
    """A number of items; `is_least` when there may be more."""

    n: int
    is_least: bool = False

    def __str__(self) -> str:
        return at_least(self.n) if self.is_least else number(self.n)


NONE = Count(0)


@dataclass(frozen=True)
class Stored:
    """What a memory holds: the items that a filter without a reach admits, and those in sandboxes, as far as known."""

    outside: Count
    sandboxed: Count = NONE

    @property
    def place(self) -> str:
        """What the number of `outside` is true of."""
        return "stored" if self.sandboxed == NONE else "outside sandboxes"


@dataclass(frozen=True)
class Why:
    """What the engine says about itself and holds, and how many would match without each of the conditions."""

    health: EngineHealth
    stored: Stored
    without: tuple[tuple[Condition, Count], ...] = ()


class ItemList(QWidget):
    """Rows by page, the number of matches, and which emptiness it is when there are none.

    Old rows stay until new ones are here; when those cannot be had they are marked with the time they were read.
    """

    item_selected = Signal(object)  # a Hit, or None: the current row changed
    item_activated = Signal(object)  # a Hit: double click or Enter
    counted = Signal(object)  # (number, whether there may be more)
    clear_wanted = Signal()
    remove_wanted = Signal(str)  # the field of the condition that stands in the way
    current_left = Signal(bool)  # the current item is no longer among the rows; False: it is again
    edit_connection_wanted = Signal()
    import_wanted = Signal()
    refresh_wanted = Signal()
    failed = Signal(object)  # an exception
    busy_changed = Signal(bool)

    def __init__(self, parent: QWidget | None = None, zone: tzinfo | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("itemList")
        self.setProperty("surface", "base")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._engine: MemoryEngine | None = None
        self._name = ""
        self._zone = zone or local_zone()
        self._ask = Ask()
        self._shown_ask: Ask | None = None  # the one whose rows are on screen
        self._listing = object()  # another one whenever the rows begin anew
        self._total: Count | None = None
        self._stored: Stored | None = None
        self._counting = False
        self._counted_so_far: int | None = None
        self._read_at: datetime | None = None
        self._health: EngineHealth | None = None
        self._current_id: ItemId | None = None
        self._has_left = False
        self._keeps_scroll = False
        self._chosen_columns: dict[Column, bool] = {}
        self._announced = ""
        self.jobs = Jobs(self)
        self.model = ItemModel(self, self._zone)

        self.count_label = QLabel()
        self.count_label.setObjectName("itemCountLabel")
        self.count_label.setTextFormat(Qt.TextFormat.PlainText)
        self.count_label.setProperty("tone", "title")
        self.aside_label = QLabel()
        self.aside_label.setObjectName("itemAsideLabel")
        self.aside_label.setTextFormat(Qt.TextFormat.PlainText)
        self.aside_label.setProperty("tone", "text3")
        self.aside_label.setProperty("textRole", "small")
        self.aside_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.count_all_button = QPushButton("Count all")
        self.count_all_button.setObjectName("countAllButton")
        self.count_all_button.setProperty("kind", "link")
        self.news_button = QPushButton()  # in the head: beside the rows, which it must not move
        self.news_button.setObjectName("newsButton")
        self.news_button.setProperty("kind", "link")
        self.news_button.hide()
        self.head = QFrame()
        self.head.setProperty("surface", "base")
        self.head.setMinimumHeight(theme().row_height("listHead"))
        row = QHBoxLayout(self.head)
        row.setContentsMargins(16, 0, 12, 0)
        row.setSpacing(10)
        row.addWidget(self.count_label)
        row.addWidget(self.count_all_button)
        row.addWidget(self.aside_label, 1)
        row.addWidget(self.news_button)

        self.busy_line = BusyLine()
        self.banner = Banner()
        self.banner.setObjectName("itemBanner")
        self.health_banner = Banner()  # of its own: a word on the engine must not replace an error and its way out
        self.health_banner.setObjectName("itemHealthBanner")
        self.state = EmptyState()
        self.state.setObjectName("itemState")
        self.loading = LoadingState()
        self.view = ItemView()
        self.view.setModel(self.model)

        self.selected_label = QLabel()
        self.selected_label.setObjectName("selectedLabel")
        self.selected_label.setTextFormat(Qt.TextFormat.PlainText)
        self.selected_label.setProperty("textRole", "medium")
        self.stopped_label = QLabel()
        self.stopped_label.setObjectName("stoppedLabel")
        self.stopped_label.setTextFormat(Qt.TextFormat.PlainText)
        self.stopped_label.setProperty("tone", "caution")
        self.stopped_label.setWordWrap(True)
        self.go_on_button = QPushButton("Look further")
        self.go_on_button.setObjectName("goOnButton")
        self.go_on_button.setProperty("kind", "link")
        self.loaded_label = QLabel()
        self.loaded_label.setObjectName("loadedLabel")
        self.loaded_label.setTextFormat(Qt.TextFormat.PlainText)
        self.loaded_label.setProperty("tone", "text2")
        self.load_more_button = QPushButton("Load more")
        self.load_more_button.setObjectName("loadMoreButton")
        self.load_more_button.setProperty("kind", "link")
        self.foot = QFrame()
        self.foot.setProperty("surface", "foot")
        self.foot.setMinimumHeight(theme().row_height("listFoot"))
        row = QHBoxLayout(self.foot)
        row.setContentsMargins(16, 0, 16, 0)
        row.setSpacing(8)
        row.addWidget(self.selected_label)
        row.addWidget(self.stopped_label, 1)
        row.addWidget(self.go_on_button)
        row.addWidget(self.loaded_label)
        row.addWidget(self.load_more_button)

        self._column = QVBoxLayout(self)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.head)
        self._column.addWidget(self.busy_line)
        self._column.addWidget(self.health_banner)
        self._column.addWidget(self.banner)
        self._column.addWidget(self.state)
        self._column.addWidget(self.loading)
        self._column.addWidget(self.view, 1)
        self._column.addWidget(self.foot)

        self._kinds_timer = QTimer(self)
        self._kinds_timer.setSingleShot(True)
        self._kinds_timer.setInterval(KINDS_AFTER_MS)
        self._kinds_timer.timeout.connect(self._ask_kinds)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.busy_changed.connect(self.busy_changed)
        self.model.page_wanted.connect(self._on_model_page_wanted)
        self.view.entered_row.connect(lambda row: self.item_activated.emit(self.model.hit(row)))
        self.view.copy_wanted.connect(self._on_view_copy_wanted)
        self.view.selectionModel().currentRowChanged.connect(self._on_current_row_changed)
        self.view.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.view.verticalScrollBar().valueChanged.connect(lambda: self._kinds_timer.start())
        self.view.verticalScrollBar().rangeChanged.connect(lambda: self._kinds_timer.start())
        self.view.horizontalHeader().setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.horizontalHeader().customContextMenuRequested.connect(self._on_head_menu_requested)
        self.count_all_button.clicked.connect(self._on_count_all_button_clicked)
        self.news_button.clicked.connect(self.refresh_wanted)
        self.go_on_button.clicked.connect(self.model.go_on)
        self.load_more_button.clicked.connect(self._on_load_more_button_clicked)
        self.loading.cancel_wanted.connect(self._on_loading_cancel_wanted)
        theme().changed.connect(self._on_theme_changed)
        self._fit_columns()
        self._show_nothing_open()

    # What to show

    def focusInEvent(self, event: QFocusEvent) -> None:
        # Not by a focus proxy: from a widget that has one, Tab goes past all before the proxy (Qt 6.11).
        self.view.setFocus(event.reason())

    def set_engine(self, engine: MemoryEngine | None, name: str) -> None:
        """Forget what was read from the engine before; `show_filter` then reads from this one."""
        self.jobs.cancel()
        self._engine, self._name = engine, name
        self._ask, self._shown_ask = Ask(), None
        self._listing = object()
        self._total = self._stored = self._health = self._read_at = None
        self._counting, self._counted_so_far = False, None
        self._current_id = None
        self.banner.clear()
        self.health_banner.clear()
        self.busy_line.set_busy(False)
        self.model.clear()
        self._show_nothing_open()
        self.item_selected.emit(None)
        self._tell_whether_current_left()

    def show_filter(
        self,
        filter: MetaFilter,
        query: str = "",
        mode: FetchMode | None = None,
        conditions: Sequence[Condition] = (),
    ) -> None:
        """Read what `filter` admits, or the hits of `query` among it; `conditions` are both in words."""
        self._ask = Ask(filter, query, mode, tuple(conditions))
        self._keeps_scroll = False
        self._read()

    def refresh(self) -> None:
        """Read again what is shown, the totals too; the current item and the place in the list stay."""
        self._stored = None
        self._keeps_scroll = self._shown_ask == self._ask
        self._read()

    def show_health(self, health: EngineHealth | None) -> None:
        """What the engine says about itself: a warning stands beside its rows while it does not serve fully."""
        if health != self._health:  # it is told every half minute; said once, it can be dismissed
            self._health = health
            self._show_health_note()

    def _show_health_note(self) -> None:
        health = self._health
        if health is None or health.state == "ok" or self.model.is_stale:  # stale rows have a graver sentence
            self.health_banner.clear()
        else:
            self.health_banner.show_note(_health_sentence(health), "Try again", self.refresh, icon="warning")

    def show_news(self, words: str) -> None:
        """Offer to read again, since what is shown changed elsewhere; the rows stay. "" takes the offer back."""
        self.news_button.setText(f"{words}: refresh" if words else "")
        if words:
            self.news_button.setToolTip(
                f"What is shown was read at {self._read_at:%H:%M:%S}. Press to read it again." if self._read_at else ""
            )
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.news_button.text()))
        self.news_button.setVisible(bool(words))

    def put_under_head(self, widget: QWidget) -> None:
        """Show something of another's between the count and the rows."""
        self._column.insertWidget(self._column.indexOf(self.busy_line) + 1, widget)

    def set_column_shown(self, column: Column, shown: bool) -> None:
        """Show or hide a column by hand, which a narrow window then leaves as it is."""
        self._chosen_columns[column] = shown
        self._fit_columns()

    # What is chosen

    def selected_hits(self) -> list[Hit]:
        """The selected items, in the order of the rows."""
        return [self.model.hit(row) for row in self._selected_rows()]

    def current_hit(self) -> Hit | None:
        """The item of the current row."""
        index = self.view.currentIndex()
        return self.model.hit(index.row()) if index.isValid() else None

    @property
    def current_is_shown(self) -> bool:
        """False while the item that was selected last is not among the rows."""
        return self._current_id is None or self.model.row_of(self._current_id) is not None

    def select_id(self, id: ItemId) -> bool:
        """Make the row of an item the current one; False where it is not loaded."""
        row = self.model.row_of(id)
        if row is None:
            return False
        self.view.setCurrentIndex(self.model.index(row, Column.TEXT))
        return True

    async def aclose(self) -> None:
        """End every call."""
        self._kinds_timer.stop()
        self.loading.stop()
        self.busy_line.set_busy(False)
        await self.jobs.aclose()

    # Reading

    def _read(self) -> None:
        engine = self._engine
        if engine is None:
            self._show_nothing_open()
            return
        for lane in ("page", "why", "kinds", "all"):
            self.jobs.cancel(lane)
        ask = self._ask
        self._counting = not ask.is_search
        self._counted_so_far = None
        self.busy_line.set_busy(True)
        if self.model.rowCount() == 0:
            self.loading.start(f"Reading {shown(self._name)}")
            self._show_only(self.loading)

        def on_first_page(page: Page) -> None:
            # A lane that was cancelled, and not begun again, may still bring its answer: of another engine, perhaps.
            if engine is self._engine and ask is self._ask:
                self._on_first_page(page)

        self.jobs.start("first", self._page(engine, ask, None), on_first_page)
        if ask.is_search:
            self.jobs.cancel("count")
        else:
            self.jobs.start("count", _count(engine, ask.filter), self._on_count)
        if self._stored is None:
            self.jobs.start("stored", _stored(engine), self._on_stored)

    async def _page(self, engine: MemoryEngine, ask: Ask, cursor: str | None) -> Page:
        if not ask.is_search:
            listed = await engine.list_preview(ListRequest(filter=ask.filter, limit=LIST_PAGE, cursor=cursor))
            return Page(listed.items, listed.next_cursor)
        modes = engine.descriptor().fetch_modes
        mode = ask.mode or (modes[0] if modes else None)
        if mode is None:
            raise Unsupported(f"engine `{engine.descriptor().id}` has no search")
        found = await engine.fetch(
            FetchRequest(query=ask.query, mode=mode, filter=ask.filter, limit=FETCH_PAGE, cursor=cursor)
        )
        return Page(found.hits, found.next_cursor)

    def _on_first_page(self, page: Page) -> None:
        self.jobs.cancel("page")  # one that the old rows asked for meanwhile
        self._listing = object()
        scrolled = self.view.verticalScrollBar().value()
        had_current = self._current_id is not None
        if self._shown_ask != self._ask:
            self._total = None if self._counting else self._total
        self._shown_ask = self._ask
        self._read_at = datetime.now(self._zone)
        self.model.show_first(page)
        self._after_page()
        self.banner.clear()
        self._show_health_note()
        self._fit_columns()
        self._restore_current(had_current)
        self._tell_whether_current_left()
        bar = self.view.verticalScrollBar()
        bar.setValue(scrolled if self._keeps_scroll else 0)
        self._on_selection_changed()

    def _restore_current(self, had_current: bool) -> None:
        if self.model.rowCount() == 0:
            return
        if not had_current:  # a viewer that is empty at the start tells nothing
            self.view.setCurrentIndex(self.model.index(0, Column.TEXT))
        elif self._current_id is not None:
            self.select_id(self._current_id)

    def _on_model_page_wanted(self, cursor: str) -> None:
        if self._engine is None or self._shown_ask is None:
            return
        self.busy_line.set_busy(True)
        listing = self._listing

        def on_page(page: Page) -> None:
            if listing is self._listing:
                self.model.append(page)
                self._after_page()
                self._tell_whether_current_left()

        self.jobs.start("page", self._page(self._engine, self._shown_ask, cursor), on_page)

    def _after_page(self) -> None:
        """Rows came, or the end, or an empty page after which the model has asked for the next one already."""
        if self.model.rowCount() or not self.model.is_waiting:
            self.busy_line.set_busy(self.model.is_waiting)
        if self.model.rowCount():
            self.loading.stop()
            self._show_only(self.view)
            self._kinds_timer.start()
        elif not self.model.is_waiting:
            self._explain_emptiness()
        self._show_count()
        self._show_foot()

    def _on_count(self, total: Count) -> None:
        self._counting = False
        self._total = total
        self._show_count()
        self._show_foot()

    def _on_stored(self, stored: Stored) -> None:
        self._stored = stored
        self._show_count()

    def _on_count_all_button_clicked(self) -> None:
        if self._counted_so_far is not None:
            self.jobs.cancel("all")  # what was counted so far stays
            self._counted_so_far = None
        elif self._engine is not None:
            self._counted_so_far = 0
            self.jobs.start("all", self._count_all(self._engine, self._ask.filter), self._on_counted_all)
        self._show_count()

    async def _count_all(self, engine: MemoryEngine, filter: MetaFilter) -> Count:
        """Page through the whole listing; the number so far is shown on the way."""
        n, cursor, idle_pages = 0, None, 0
        seen: set[str] = set()
        before: set[ItemId] = set()
        while True:
            page = await engine.list_preview(ListRequest(filter=filter, limit=COUNT_PAGE, cursor=cursor))
            ids = {hit.id for hit in page.items}
            fresh = len(ids - before)
            n, before = n + fresh, ids
            cursor = page.next_cursor
            if cursor is None:
                return Count(n)
            idle_pages = 0 if fresh else idle_pages + 1
            if cursor in seen or idle_pages >= MAX_EMPTY_PAGES:
                return Count(n, is_least=True)
            await asyncio.sleep(0)  # an engine that never waits would keep the window waiting
            seen.add(cursor)
            self._counted_so_far = n
            if self._total is None or n > self._total.n:
                self._total = Count(n, is_least=True)
            self._show_count()

    def _on_counted_all(self, total: Count) -> None:
        self._counted_so_far = None
        self._total = total
        self._show_count()
        self._show_foot()

    def _ask_kinds(self) -> None:
        """Which kind of learning the visible ones are: a hit does not say. Only where asking is cheap."""
        engine = self._engine
        if engine is None or type(engine).get_items is MemoryEngine.get_items or self.model.is_stale:
            return
        wanted = [
            hit.id
            for row in self.view.visible_rows()
            if (hit := self.model.hit(row)).kind is ItemKind.LEARNING and self.model.learning_kind(row) is None
        ]
        if wanted:
            self.jobs.start(
                "kinds", self._kinds(engine, wanted[:MAX_GET_IDS], self._ask), self.model.set_learning_kinds
            )

    async def _kinds(self, engine: MemoryEngine, ids: list[ItemId], ask: Ask) -> dict[ItemId, LearningKind]:
        found = await engine.get_items(GetRequest(ids=ids, reach=ask.filter.reach))
        return {each.id: each.item.kind for each in found if isinstance(each.item, Learning)}

    # Failing

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        if lane == "kinds":
            log.info("learning kinds: %s", error)  # a pill less: nothing that a person has to know
            return
        if lane in ("count", "stored", "all"):
            self._counting, self._counted_so_far = False, None
            if lane == "count":
                self._total = None
            self._show_count()
            if not isinstance(error, Unauthorized):
                return
        self.failed.emit(error)
        if lane == "copy":
            self.banner.show_error(sentence(error), details(error), self._on_view_copy_wanted)
            return
        self.busy_line.set_busy(False)
        self.loading.stop()
        if isinstance(error, Unauthorized):
            for each in ("first", "page", "count", "stored", "all", "why"):  # each would be refused too
                self.jobs.cancel(each)
            self._counting = False
        if lane == "page":
            self.model.fail()
            if not isinstance(error, Unauthorized):
                retry = self.model.retry if may_pass(error) else None
                self.banner.show_error(sentence(error), details(error), retry)
                return
        self._show_failure(error)

    def _show_failure(self, error: Exception) -> None:
        has_rows = self.model.rowCount() > 0
        self.model.set_stale(True)
        self._show_health_note()
        self._show_count()
        if isinstance(error, Unauthorized):
            self.banner.clear()
            rest = "What you saw last stays below. " if has_rows else ""
            self._say(
                "key",
                "The key was refused",
                f"{rest}Open the connection and enter a new key; nothing is sent until then.",
                [("Edit connection…", self.edit_connection_wanted.emit)],
                tone="caution",
            )
        elif has_rows:
            self.banner.show_error(sentence(error), details(error), self._read if may_pass(error) else None)
        else:
            down = isinstance(error, Unavailable)
            self._say(
                "plug" if down else "warning",
                f"No answer from {shown(self._name)}" if down else "This could not be read",
                sentence(error),
                [("Try again", self._read)] if may_pass(error) else [],
                tone="caution",
            )

    def _on_loading_cancel_wanted(self) -> None:
        for lane in ("first", "page", "count", "stored", "why"):
            self.jobs.cancel(lane)
        self._counting = False
        self.busy_line.set_busy(False)
        self.loading.stop()
        self._say("pause", "Reading was stopped", "Nothing was changed.", [("Read again", self._read)])
        self._show_count()

    # Emptiness

    def _explain_emptiness(self) -> None:
        """There are no rows; which emptiness that is depends on the engine's health and on what is stored."""
        if self._engine is None:
            return
        self.jobs.start("why", self._why(self._engine, self._ask), self._on_why)

    async def _why(self, engine: MemoryEngine, ask: Ask) -> Why:
        health = await engine.health()
        stored = self._stored or await _stored(engine)
        without_each = []
        for one in ask.conditions if health.state == "ok" else ():
            rest = Ask(ask.filter) if one.field == QUERY else Ask(without(ask.filter, one.field), ask.query, ask.mode)
            without_each.append((one, await self._matches(engine, rest)))
        return Why(health, stored, tuple(without_each))

    async def _matches(self, engine: MemoryEngine, ask: Ask) -> Count:
        """How many there are; of a search no more than one page is looked at."""
        if not ask.is_search:
            return await _count(engine, ask.filter)
        page = await self._page(engine, ask, None)
        return Count(len(page.hits), is_least=page.cursor is not None)

    def _on_why(self, why: Why) -> None:
        health, stored = why.health, why.stored
        self._stored = stored
        self.loading.stop()
        self._show_count()
        if health.state != "ok":
            down = health.state == "down"
            title = f"{shown(self._name)} does not serve now" if down else "The engine answers, but not fully"
            doubt = "Items may exist that this cannot see." if down else "That may be why nothing is shown."
            said = f"{_health_sentence(health)} {doubt}"
            self._say("plug" if down else "warning", title, said, [("Try again", self.refresh)], tone="caution")
        elif self.model.stopped:
            self._say(
                "warning",
                "Nothing found yet",
                self.model.stopped,
                [("Look further", self._look_further)] if self.model.can_go_on else [],
                tone="caution",
            )
        elif self._ask.filter.is_empty() and not self._ask.is_search and stored.sandboxed != NONE:
            self._say(
                "inbox",
                "Nothing is stored outside sandboxes",
                f"In sandboxes there {_are(stored.sandboxed)}. Choose one among the namespaces to see what it holds.",
            )
        elif self._ask.filter.is_empty() and not self._ask.is_search:
            self._say(
                "inbox",
                f"Nothing is stored in {shown(self._name)}",
                "Import a file to begin.",
                [("Import…", self.import_wanted.emit)],
            )
        else:
            self._say_nothing_matches(why)

    def _say_nothing_matches(self, why: Why) -> None:
        """The conditions by name, what is there without each, and the removal that gives most as the first way on."""
        n = len(why.without)
        title = "Nothing matches"
        if n == 1:
            title += " this condition"
        elif n:
            title += f" these {_NUMBER_WORDS[n] if n < len(_NUMBER_WORDS) else number(n)} conditions"
        best = max(why.without, key=lambda each: each[1].n, default=None)
        clear: Action = ("Clear all", self.clear_wanted.emit)
        if best is None or best[1] == NONE:
            said = "Without any one of them there are still none. " if n > 1 else ""
            self._say("funnel", title, f"{said}{_stored_sentence(why.stored)}", [clear])
            return
        told = why.without if n <= MAX_TOLD else (best,)
        ranked = sorted(told, key=lambda each: -each[1].n)
        said = " ".join(f"Without {_named(one)} there {_are(count)}." for one, count in ranked)
        field = best[0].field
        remove: Action = (f"Remove {_named(best[0])}", lambda: self.remove_wanted.emit(field))
        self._say("funnel", title, said, [remove] if n == 1 else [clear, remove])

    def _look_further(self) -> None:
        self.loading.start(f"Reading {shown(self._name)}")
        self._show_only(self.loading)
        self.model.go_on()

    def _show_nothing_open(self) -> None:
        self.loading.stop()
        self._show_count()
        self._say("plug", "Nothing is open", "Open a memory to see its items.")

    def _say(self, icon: str, title: str, said: str, actions: Sequence[Action] = (), tone: str = "text2") -> None:
        self.state.show_state(icon, title, said, actions, tone)
        if self.model.rowCount():
            self._show_only(self.state, self.view)
        else:
            self._show_only(self.state)
        self._show_foot()

    def _show_only(self, *parts: QWidget) -> None:
        for part in (self.state, self.loading, self.view):
            part.setVisible(part in parts)
        # Alone, what is said takes the whole pane; over old rows, only what it needs.
        alone = self.state in parts and self.view not in parts
        self._column.setStretchFactor(self.state, 1 if alone else 0)
        self._column.setStretchFactor(self.loading, 1)
        policy = QSizePolicy.Policy.Expanding if alone else QSizePolicy.Policy.Maximum
        self.state.setSizePolicy(QSizePolicy.Policy.Preferred, policy)

    # Words around the rows

    def _show_count(self) -> None:
        """The head: how many there are, and of how many."""
        settled = self._settled_count()
        ask = self._shown_ask or self._ask
        if self._engine is None:
            self.count_label.clear()
        else:
            noun = "hit" if ask.is_search else "item"
            self.count_label.setText(counted(settled.n, noun, settled.is_least) if settled else "")
        self.aside_label.setText(self._aside(ask))
        cut = self._total if self._total is not None and self._total.is_least and not ask.is_search else None
        why_more = f"Counting stopped at {number(cut.n)} items; there may be more." if cut else ""
        if ask.is_search and settled is not None and settled.is_least:
            why_more = "A search is read page by page and not counted before its end; more hits come with “Load more”."
        self.count_label.setToolTip(why_more)
        running = self._counted_so_far is not None
        self.count_all_button.setVisible((cut is not None or running) and not self.model.is_stale)
        self.count_all_button.setText("Stop counting" if running else "Count all")
        if settled is not None and not self._counting and not running and not self.model.is_stale:
            self._announce(settled)

    def _settled_count(self) -> Count | None:
        if self._shown_ask is None:
            return None
        rows, more = self.model.rowCount(), self.model.has_more
        if self._shown_ask.is_search or self._total is None or (not more and not self.model.stopped):
            return Count(rows, is_least=more)
        agrees = self._total.n > rows or (self._total.n == rows and not self.model.stopped)
        return self._total if agrees else Count(rows, is_least=True)

    def _aside(self, ask: Ask) -> str:
        if self._engine is None or self._shown_ask is None:
            return ""
        if self.model.is_stale:
            return f"read {self._read_at:%H:%M:%S}, not current" if self._read_at else ""
        if ask.is_search:
            modes = self._engine.descriptor().fetch_modes
            mode = ask.mode or (modes[0] if modes else None)
            return f"found by {mode}" if mode else ""
        if self._counted_so_far is not None:
            return "counting all"
        if self._stored == Stored(NONE) and self.model.rowCount() == 0:
            return "nothing stored yet"
        if self._counting and self.model.has_more:
            return "still counting"
        if self._total is None and self.model.has_more:
            return "not counted"
        if where := _sandbox_words(ask.filter):
            return where
        if self._stored is None:
            return ""
        if ask.filter.is_empty():
            sandboxed = self._stored.sandboxed
            return f"{sandboxed} more in sandboxes" if sandboxed != NONE else ""
        return f"of {self._stored.outside} {self._stored.place}"

    def _announce(self, settled: Count) -> None:
        self.counted.emit((settled.n, settled.is_least))
        words = self.count_label.text()
        if words != self._announced:
            self._announced = words
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def _show_foot(self) -> None:
        rows = self.model.rowCount()
        settled = self._settled_count()
        self.foot.setVisible(rows > 0)
        self.stopped_label.setText(self.model.stopped)
        self.go_on_button.setVisible(self.model.can_go_on)
        is_search = self._shown_ask is not None and self._shown_ask.is_search
        self.load_more_button.setVisible(
            is_search and self.model.has_more and not self.model.can_go_on and not self.model.is_stale
        )
        self.loaded_label.setText(f"{number(rows)} of {settled} loaded" if settled is not None and rows else "")

    def _on_load_more_button_clicked(self) -> None:
        self.banner.clear()  # of the page that failed before, if one did
        self.model.retry()

    # The view

    def _selected_rows(self) -> list[int]:
        ranges = self.view.selectionModel().selection().toList()
        return sorted({row for part in ranges for row in range(part.top(), part.bottom() + 1)})

    def _on_selection_changed(self, chosen: QItemSelection | None = None, left: QItemSelection | None = None) -> None:
        n = len(self._selected_rows())
        self.selected_label.setText(f"{number(n)} selected" if n else "")

    def _on_current_row_changed(self, now: QModelIndex, before: QModelIndex) -> None:
        if not now.isValid():
            return  # the rows were replaced: what was being read stays
        hit = self.model.hit(now.row())
        self._current_id = hit.id
        self.item_selected.emit(hit)
        self._tell_whether_current_left()

    def _tell_whether_current_left(self) -> None:
        has_left = not self.current_is_shown
        if has_left != self._has_left:
            self._has_left = has_left
            self.current_left.emit(has_left)

    def _on_view_copy_wanted(self) -> None:
        hits = self.selected_hits()
        if hits and self._engine is not None:
            whole = self._whole_texts(self._engine, hits, self._ask)
            self.jobs.start("copy", whole, QGuiApplication.clipboard().setText)

    async def _whole_texts(self, engine: MemoryEngine, hits: list[Hit], ask: Ask) -> str:
        """The texts of `hits` in full: a listing may hold only their starts."""
        texts = {hit.id: hit.text for hit in hits}
        ids = list(texts)
        for start in range(0, len(ids), MAX_GET_IDS):
            whole = await engine.get(GetRequest(ids=ids[start : start + MAX_GET_IDS], reach=ask.filter.reach))
            texts.update((hit.id, hit.text) for hit in whole)
        return "\n\n".join(texts.values())

    def _on_head_menu_requested(self) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for column in (Column.NODE, Column.OBSERVED, Column.CONFIDENCE, Column.SCORE):
            action = menu.addAction(NAMES[column])
            action.setCheckable(True)
            action.setChecked(not self.view.isColumnHidden(column))
            action.triggered.connect(lambda on, column=column: self.set_column_shown(column, on))
        menu.popup(self.cursor().pos())

    def _fit_columns(self) -> None:
        """Hide what a narrow list has no room for; what the person chose stays."""
        narrow = self.width() < NARROW_PX * max(1.0, theme().size_px("body") / _DESIGN_PX)
        searching = (self._shown_ask or self._ask).is_search
        wanted = {
            Column.NODE: not narrow,
            Column.CONFIDENCE: not narrow and not searching,
            Column.SCORE: searching,
        } | self._chosen_columns
        for column, is_shown in wanted.items():
            self.view.set_column_hidden(column, not is_shown)
        self.view.fit_columns()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _on_theme_changed(self) -> None:
        self.view.fit_to_font()
        self.head.setMinimumHeight(theme().row_height("listHead"))
        self.foot.setMinimumHeight(theme().row_height("listFoot"))
        self.view.viewport().update()


async def _count(engine: MemoryEngine, filter: MetaFilter) -> Count:
    """How many items `filter` admits; by a facet's total, which every engine has."""
    page: ExplorePage = await engine.explore(
        ExploreRequest(facet=Facet.KIND, filter=filter, limit=3, scan_limit=MAX_SCAN)
    )
    return Count(page.total, page.truncated)


async def _stored(engine: MemoryEngine) -> Stored:
    """How much is stored, in sandboxes too where the engine knows its nodes: the default listing never enters one."""
    outside = await _count(engine, MetaFilter())
    if type(engine).namespaces is MemoryEngine.namespaces:
        return Stored(outside)
    nodes = await engine.namespaces(MetaFilter(), MAX_SCAN)
    sandboxed = sum(
        bucket.count for bucket in nodes.buckets if Namespace.parse(bucket.value).is_sandboxed_from(Namespace.ROOT)
    )
    return Stored(outside, Count(sandboxed, nodes.truncated) if sandboxed else NONE)


def _sandbox_words(filter: MetaFilter) -> str:
    """That the filter looks into a sandbox, whose items are no part of what is stored outside; else empty."""
    if filter.reach is None or not filter.reach.at.is_sandboxed_from(Namespace.ROOT):
        return ""
    return "sandbox and its parents" if filter.reach.inherit else "in a sandbox"


def _named(condition: Condition) -> str:
    """`the tag`, `the search`: a condition by its kind; the chip has its value."""
    names = {QUERY: "search", "observed_after": "dates", "observed_before": "dates", "reach": "namespace"}
    return f"the {names.get(condition.field) or condition.words.rpartition(' ')[0] or condition.words}"


def _stored_sentence(stored: Stored) -> str:
    said = f"There {_are(stored.outside)} {stored.place}"
    return f"{said}, and {stored.sandboxed} in them." if stored.sandboxed != NONE else f"{said}."


def _health_sentence(health: EngineHealth) -> str:
    said = shown(health.reason or "", 300).strip().removesuffix(".")
    if not said:
        return "The engine is down." if health.state == "down" else "The engine is degraded."
    return f"{said[:1].upper()}{said[1:]}."


def _are(count: Count) -> str:
    """`is 1 item`, `are 2 467 items`, `are none`."""
    if count == NONE:
        return "are none"
    return f"{'is' if count == Count(1) else 'are'} {counted(count.n, 'item', count.is_least)}"
