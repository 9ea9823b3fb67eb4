"""The list in the middle of the window: what a filter admits, or what a search inside it finds."""

from __future__ import annotations

import asyncio
import json
import logging
from collections.abc import AsyncGenerator, Collection, Sequence
from dataclasses import dataclass, replace
from datetime import datetime, tzinfo

from PySide6.QtCore import QItemSelection, QItemSelectionModel, QModelIndex, QPoint, QSize, Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAction,
    QFocusEvent,
    QGuiApplication,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QMenu, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from explorer.conditions import QUERY, Condition, without
from explorer.contract import (
    EngineFailure,
    EngineHealth,
    FetchMode,
    FetchRequest,
    GetRequest,
    Hit,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    ListOrder,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Reach,
    Span,
    SpanRequest,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.contract.query import MAX_GET_IDS
from explorer.i18n import mark, tr, tr_n
from explorer.text import counted, full_stop, inline, number, shown, tip
from explorer.transfer import CopyForm
from explorer.ui.actions import allow, panel_action, under
from explorer.ui.banner import Banner
from explorer.ui.busy import BusyLine
from explorer.ui.clock import local_zone
from explorer.ui.empty import Action, EmptyState, LoadingState
from explorer.ui.engine_words import engine_label
from explorer.ui.growing import Grown, Sight, read_more
from explorer.ui.item_copies import MAX_DRAGGED, Copies
from explorer.ui.item_menus import ColumnsButton, SortButton, fill_columns_menu, next_order
from explorer.ui.item_questions import (
    NONE,
    Ask,
    Count,
    Stored,
    Why,
    count_of,
    end_if_cancelled,
    health_sentence,
    remove_words,
    sandbox_words,
    stored_in,
    stored_sentence,
    without_sentence,
)
from explorer.ui.item_view import ItemView
from explorer.ui.jobs import Jobs
from explorer.ui.margins import margins
from explorer.ui.models.item_model import MAX_EMPTY_PAGES, SORT_OF, SPAN_PAGE, Column, ItemModel, Page
from explorer.ui.news import details, lacks_permission, may_pass, sentence
from explorer.ui.rows import draw_text
from explorer.ui.theme import theme

log = logging.getLogger(__name__)

LIST_PAGE = 200
FETCH_PAGE = 50
COUNT_PAGE = 1_000
MAX_KEPT_SELECTED = 500
MAX_KEPT_AMONG = 2_000  # rows that are read again at once to find what was selected among them
MAX_HITS_SELECTED = 1_000  # of a search, which are loaded to be selected
MAX_PAGES_BACK = 25  # that are read again one after the other to come back to a place in the list
MAX_FORGOTTEN = 3  # listings in a row, before the engine is not asked by itself any more
GROWS_EVERY_S = 1.0  # a list that the engine is still reading
KINDS_AFTER_MS = 60  # scrolling has come to rest
NARROW_PX = 600  # at the design's text size: below it Node and Conf. give their room to the text
_DESIGN_PX = 13
_WORDS_MOST = 300  # of an engine's own
MAX_TOLD = 3  # conditions whose removal is told; of more, the best
_NOTHING_MATCHES = {
    0: mark("Nothing matches"),
    1: mark("Nothing matches this condition"),
    2: mark("Nothing matches these two conditions"),
    3: mark("Nothing matches these three conditions"),
    4: mark("Nothing matches these four conditions"),
    5: mark("Nothing matches these five conditions"),
    6: mark("Nothing matches these six conditions"),
    7: mark("Nothing matches these seven conditions"),
    8: mark("Nothing matches these eight conditions"),
    9: mark("Nothing matches these nine conditions"),
}
"""By the number of conditions; more of them in figures."""
_FOUND_BY = {
    FetchMode.KEYWORD: mark("found by keyword"),
    FetchMode.VECTOR: mark("found by vector"),
    FetchMode.HYBRID: mark("found by hybrid"),
}
"""Beside the number of hits."""


@dataclass(frozen=True)
class Place:
    """Where a list was left: how far it was scrolled, up to which row it was read, and the current item."""

    scrolled: int
    rows: range
    id: ItemId | None


_WIDEST = 10_000  # of a column, in pixels: more than any screen has
_HIDDEN_FIRST = frozenset({Column.AGENT, Column.SOURCE, Column.TAGS, Column.LENGTH})


class ItemList(QWidget):
    """Rows, the number of matches, and which emptiness it is when there are none.

    Where the engine serves any place of a listing, the rows span all that match, and are read where they are looked
    at; else they come by page. Selecting all means the filter, not the rows that are there.
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
    export_wanted = Signal()  # of what is selected
    forget_wanted = Signal()  # what is selected
    move_wanted = Signal()  # what is selected
    refresh_wanted = Signal()
    failed = Signal(object)  # an exception
    busy_changed = Signal(bool)
    order_changed = Signal()
    arranged = Signal()  # columns or order were changed by hand: `arrangement` is another

    def __init__(self, parent: QWidget | None = None, zone: tzinfo | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("itemList")
        self.setProperty("surface", "base")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._engine: MemoryEngine | None = None
        self._name = ""
        self.is_read_only = False
        """Whether the engine refuses every write; set before it."""
        self._zone = zone or local_zone()
        self.more_actions: list[QAction] = []
        """Of the current item, for the menu of its row."""
        self._ask = Ask()
        self._shown_ask: Ask | None = None  # the one whose rows are on screen
        self._shown_order = ListOrder()  # of those rows, where they are read by place
        self._is_partial = False  # those rows are some of what the engine is still reading
        self._is_cut = False  # and there may be others that the engine does not know of
        self._is_growth_stopped = False  # by hand
        self._is_growing = False  # they are being put in the place of fewer of them
        self._listing = object()  # another one whenever the rows begin anew
        self._total: Count | None = None
        self._stored: Stored | None = None
        self._counting = False
        self._counted_so_far: int | None = None
        self._read_at: datetime | None = None
        self._health: EngineHealth | None = None
        self._current_id: ItemId | None = None
        self._has_left = False
        self._left: tuple[MetaFilter, Place] | None = None  # the list that a search was begun in
        self._goes_to: Place | None = None  # where the rows that are being read will be shown from
        self._current_place: int | None = None
        self._waits_for_current = False
        self._has_rows_failed = False
        self._stopped_at: int | None = None  # how far it was scrolled when reading further was stopped by hand
        self._rows_asked = range(0)
        self._times_forgotten = 0  # in a row
        self._order = ListOrder()
        self._notes: tuple[str, ...] = ()
        self._is_all_selected = False
        self._wants_all_hits = False  # of a search: they are being loaded, and selected as they come
        self._let_go = 0  # items that were selected, and not found among the rows that were read again
        self._is_replacing = False  # rows or selection change, and not by the person
        self._why_not_forget = ""  # whatever is selected
        self._why_not_move = ""
        self._chosen_columns: dict[Column, bool] = {}
        self._announced = ""
        self.jobs = Jobs(self)
        self.model = ItemModel(self, self._zone)

        self.count_label = QLabel()
        self.count_label.setObjectName("itemCountLabel")
        self.count_label.setTextFormat(Qt.TextFormat.PlainText)
        self.count_label.setProperty("tone", "title")
        self.aside_label = _AsideLabel()
        self.aside_label.setObjectName("itemAsideLabel")
        self.aside_label.setTextFormat(Qt.TextFormat.PlainText)
        self.aside_label.setProperty("textRole", "small")
        self.aside_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.count_all_button = QPushButton(tr("Count all"))
        self.count_all_button.setObjectName("countAllButton")
        self.count_all_button.setProperty("kind", "link")
        self.news_button = QPushButton()  # in the head: beside the rows, which it must not move
        self.news_button.setObjectName("newsButton")
        self.news_button.setProperty("kind", "link")
        self.news_button.hide()
        self.view = ItemView()
        self.view.setModel(self.model)
        self.sort_button = SortButton(self.model)
        self.columns_button = ColumnsButton(self.view)
        self.head = QFrame()
        self.head.setProperty("surface", "base")
        self.head.setMinimumHeight(theme().row_height("listHead"))
        row = QHBoxLayout(self.head)
        row.setContentsMargins(margins(16, 0, 12, 0))
        row.setSpacing(10)
        row.addWidget(self.count_label)
        row.addWidget(self.count_all_button)
        row.addWidget(self.aside_label, 1)
        row.addWidget(self.news_button)
        row.addWidget(self.sort_button)
        row.addWidget(self.columns_button)

        self.busy_line = BusyLine()
        self.banner = Banner()
        self.banner.setObjectName("itemBanner")
        self.health_banner = Banner()  # of its own: a word on the engine must not replace an error and its way out
        self.health_banner.setObjectName("itemHealthBanner")
        self.state = EmptyState()
        self.state.setObjectName("itemState")
        self.loading = LoadingState()

        self.selected_label = QLabel()
        self.selected_label.setObjectName("selectedLabel")
        self.selected_label.setTextFormat(Qt.TextFormat.PlainText)
        self.selected_label.setProperty("textRole", "medium")
        self.select_all_button = QPushButton()
        self.select_all_button.setObjectName("selectAllButton")
        self.select_all_button.setProperty("kind", "link")
        self.export_button = QPushButton(tr("Export…"))
        self.export_button.setObjectName("exportSelectedButton")
        self.export_button.setAccessibleName(tr("Export what is selected"))
        self.forget_button = QPushButton(tr("Forget…"))
        self.forget_button.setObjectName("forgetSelectedButton")
        self.forget_button.setProperty("kind", "dangerText")
        self.forget_button.setAccessibleName(tr("Forget what is selected"))
        self.copied_label = _AsideLabel()
        self.copied_label.setObjectName("copiedLabel")
        self.copied_label.setTextFormat(Qt.TextFormat.PlainText)
        self.copied_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.copy_cancel_button = QPushButton(tr("Cancel"))
        self.copy_cancel_button.setObjectName("copyCancelButton")
        self.copy_cancel_button.setProperty("kind", "link")
        self.copy_cancel_button.setAccessibleName(tr("Cancel copying"))
        self.stopped_label = QLabel()
        self.stopped_label.setObjectName("stoppedLabel")
        self.stopped_label.setTextFormat(Qt.TextFormat.PlainText)
        self.stopped_label.setProperty("tone", "caution")
        self.stopped_label.setWordWrap(True)
        self.go_on_button = QPushButton(tr("Look further"))
        self.go_on_button.setObjectName("goOnButton")
        self.go_on_button.setProperty("kind", "link")
        self.loaded_label = _PlaceLabel()
        self.loaded_label.setProperty("tone", "text2")
        self.loaded_label.setObjectName("loadedLabel")
        self.loaded_label.setTextFormat(Qt.TextFormat.PlainText)
        self.load_more_button = QPushButton(tr("Load more"))
        self.load_more_button.setObjectName("loadMoreButton")
        self.load_more_button.setProperty("kind", "link")
        self.foot = QFrame()
        self.foot.setProperty("surface", "foot")
        self.foot.setMinimumHeight(theme().row_height("listFoot"))
        row = QHBoxLayout(self.foot)
        row.setContentsMargins(16, 0, 16, 0)
        row.setSpacing(8)
        row.addWidget(self.selected_label)
        row.addWidget(self.select_all_button)
        row.addWidget(self.copied_label, 1)
        row.addWidget(self.copy_cancel_button)
        row.addWidget(self.stopped_label, 1)
        row.addWidget(self.go_on_button)
        row.addWidget(self.loaded_label)
        row.addWidget(self.load_more_button)
        row.addWidget(self.export_button)
        row.addWidget(self.forget_button)

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
        self.copies = Copies(self.view, self.jobs)
        self.select_all_action = panel_action(self, tr("Items"), tr("Select all"))
        self.select_all_action.setShortcut(QKeySequence(QKeySequence.StandardKey.SelectAll))
        self.select_all_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.view.addAction(self.select_all_action)
        self.export_action = panel_action(self, tr("Selected items"), tr("Export…"))
        self.forget_action = panel_action(self, tr("Selected items"), tr("Forget…"))
        self.forget_action.setObjectName("forgetAction")
        self.forget_action.setShortcut(QKeySequence(QKeySequence.StandardKey.Delete))
        self.forget_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.view.addAction(self.forget_action)
        self.move_action = panel_action(self, tr("Selected items"), tr("Move or copy…"))
        self.move_action.setObjectName("moveSelectedAction")
        self.count_all_action = panel_action(self, tr("Items"), tr("Count all"))
        self.load_more_action = panel_action(self, tr("Items"), tr("Load more"))
        self.go_on_action = panel_action(self, tr("Items"), tr("Look further"))
        self.cancel_copy_action = panel_action(self, tr("Selected items"), tr("Cancel copying"))
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.busy_changed.connect(self.busy_changed)
        self.model.page_wanted.connect(self._on_model_page_wanted)
        self.view.entered_row.connect(self._on_view_entered_row)
        self.select_all_action.triggered.connect(self.select_all)
        self.export_action.triggered.connect(self.export_wanted)
        self.forget_action.triggered.connect(self.forget_wanted)
        self.move_action.triggered.connect(self.move_wanted)
        self.count_all_action.triggered.connect(self._on_count_all_button_clicked)
        self.load_more_action.triggered.connect(self._on_load_more_button_clicked)
        self.go_on_action.triggered.connect(self.model.go_on)
        self.cancel_copy_action.triggered.connect(self.copies.cancel)
        self.view.escaped.connect(self._on_view_escaped)
        self.view.drag_wanted.connect(self._on_view_drag_wanted)
        self.view.arranged.connect(self.arranged)
        self.view.head.sort_wanted.connect(self._on_head_sort_wanted)
        for form, action in self.copies.actions.items():
            action.triggered.connect(lambda _=False, form=form: self.copy(form))
        self.copies.said.connect(self._on_copies_said)
        self.view.selectionModel().currentRowChanged.connect(self._on_current_row_changed)
        self.view.selectionModel().selectionChanged.connect(self._on_selection_changed)
        self.view.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        self.view.verticalScrollBar().rangeChanged.connect(self._on_scrolled)
        self.view.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.customContextMenuRequested.connect(self._on_view_menu_requested)
        self.view.head.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.view.head.customContextMenuRequested.connect(self._on_head_menu_requested)
        self.sort_button.order_wanted.connect(self.set_order)
        self.columns_button.shown_wanted.connect(self._on_columns_button_shown_wanted)
        self.columns_button.reset_wanted.connect(self._on_columns_button_reset_wanted)
        self.select_all_button.clicked.connect(self._on_select_all_button_clicked)
        self.export_button.clicked.connect(self.export_wanted)
        self.forget_button.clicked.connect(self.forget_wanted)
        self.copy_cancel_button.clicked.connect(self.copies.cancel)
        self.count_all_button.clicked.connect(self._on_count_all_button_clicked)
        self.news_button.clicked.connect(self.refresh_wanted)
        self.go_on_button.clicked.connect(self.model.go_on)
        self.load_more_button.clicked.connect(self._on_load_more_button_clicked)
        self.loading.cancel_wanted.connect(self._on_loading_cancel_wanted)
        theme().changed.connect(self._on_theme_changed)
        self._show_sorts()
        self._fit_columns()
        self._on_copies_said("")
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
        self._is_partial = self._is_cut = False
        self._let_go = 0
        self._on_copies_said("")
        self._current_id = self._current_place = self._left = self._goes_to = self._stopped_at = None
        self._notes = ()
        self.model.has_whole_texts = engine is None or type(engine).list_preview is MemoryEngine.list_preview
        self.banner.clear()
        self.health_banner.clear()
        self.busy_line.set_busy(False)
        self.model.clear()
        self._show_sorts()
        self._show_nothing_open()
        self.item_selected.emit(None)
        self._tell_whether_current_left()

    def set_name(self, name: str) -> None:
        """The memory is called that from now on."""
        self._name = name

    def show_filter(
        self,
        filter: MetaFilter,
        query: str = "",
        mode: FetchMode | None = None,
        conditions: Sequence[Condition] = (),
        scope: Reach | None = None,
    ) -> None:
        """Read what `filter` admits, or the hits of `query` among it; `conditions` are both in words.

        `scope` is a reach that no condition set: what an agent reads whose view this is.
        """
        before, self._ask = self._shown_ask, Ask(filter, query, mode, tuple(conditions), scope)
        self._goes_to = None
        if before is not None and not before.is_search:
            self._left = (before.filter, self._place()) if self._ask.is_search else None
            if not self._ask.is_search and before.filter == filter:  # out of a search that had found nothing yet
                self._goes_to = self._place()
        elif not self._ask.is_search and self._left is not None and self._left[0] == filter:
            self._goes_to, self._left = self._left[1], None  # out of the search, to where it was begun
        self._read()

    def refresh(self) -> None:
        """Read again what is shown, the totals too; the current item and the place in the list stay."""
        self._stored = None
        self._goes_to = self._place() if self._shown_ask == self._ask else None
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
            self.health_banner.show_note(health_sentence(health), tr("Try again"), self.refresh, icon="warning")

    def show_news(self, words: str) -> None:
        """Offer to read again, since what is shown changed elsewhere; the rows stay. "" takes the offer back."""
        # Translators: on a button, after what changed, as in “3 new, 1 gone: refresh”.
        self.news_button.setText(tr("{news}: refresh", news=words) if words else "")
        if words:
            self.news_button.setToolTip(
                tr("What is shown was read at {time}. Press to read it again.", time=f"{self._read_at:%H:%M:%S}")
                if self._read_at
                else ""
            )
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.news_button.text()))
        self.news_button.setVisible(bool(words))

    def put_under_head(self, widget: QWidget) -> None:
        """Show something of another's between the count and the rows."""
        self._column.insertWidget(self._column.indexOf(self.busy_line) + 1, widget)

    # Columns and order

    def set_column_shown(self, column: Column, shown: bool) -> None:
        """Show or hide a column by hand, which a narrow window then leaves as it is."""
        self._chosen_columns[column] = shown
        self._fit_columns()

    @property
    def order(self) -> ListOrder:
        """The order in which the items are listed, where the engine serves any but its own."""
        return self._order

    def set_order(self, order: ListOrder) -> None:
        """List in another order, from the top."""
        if order == self._order:
            return
        self._order = order
        self._show_sorts()
        self.order_changed.emit()
        self.arranged.emit()
        if self._is_by_place(self._ask):
            self._goes_to = None
            self._read()

    def arrangement(self) -> str:
        """The columns and the order as they were chosen, for `restore`."""
        return json.dumps(
            {
                "columns": [column.name for column in self.view.columns()],
                "shown": {column.name: shown for column, shown in self._chosen_columns.items()},
                "widths": {column.name: width for column, width in self.view.widths.items()},
                "order": self._order.model_dump(mode="json"),
            }
        )

    def restore(self, arrangement: str) -> None:
        """Put columns and order as `arrangement` said; what is not understood of it is left as it is at first."""
        try:
            found = json.loads(arrangement)
            order = ListOrder.model_validate(found["order"])
            shown = {Column[name]: bool(each) for name, each in found["shown"].items()}
            widths = {Column[name]: width for name, width in found["widths"].items() if _is_width(width)}
            columns = [Column[name] for name in found["columns"]]
        except (ValueError, KeyError, TypeError, AttributeError, RecursionError):
            log.info("the list's columns could not be restored")
            return
        shown.pop(Column.TEXT, None)  # which is always shown
        self._chosen_columns = shown
        self.view.arrange(columns, widths)
        self._fit_columns()
        self.set_order(order)

    def _is_by_place(self, ask: Ask) -> bool:
        """Whether the rows of `ask` can be had from any place on."""
        return self._engine is not None and bool(self._engine.sorts()) and not ask.is_search

    def _listed_order(self, engine: MemoryEngine) -> ListOrder:
        return self._order if self._order.by in engine.sorts() else ListOrder()

    def _show_sorts(self) -> None:
        """Say by which columns the rows can be sorted, and why not by the others."""
        engine, ask = self._engine, self._shown_ask or self._ask
        refusals = dict.fromkeys(Column, tr("Nothing is open"))
        if ask.is_search:
            refusals = dict.fromkeys(Column, tr("The hits of a search stand best first"))
        elif engine is not None:
            label = engine_label(engine.descriptor())
            if engine.sorts():
                why = tr("{engine} does not sort by this", engine=label)
            else:
                why = tr("{engine} lists in its own order only", engine=label)
            refusals = {column: why for column in Column if SORT_OF.get(column) not in engine.sorts()}
        self.model.set_sort_refusals(refusals)
        order = self._listed_order(engine) if engine is not None else self._order
        self.sort_button.show_order(order, is_search=ask.is_search)

    def _on_head_sort_wanted(self, section: int) -> None:
        self.set_order(next_order(self._order, SORT_OF[Column(section)]))

    def _on_columns_button_shown_wanted(self, section: int, shown: bool) -> None:
        self.set_column_shown(Column(section), shown)
        self.arranged.emit()

    def _on_columns_button_reset_wanted(self) -> None:
        self._chosen_columns.clear()
        self.view.arrange(list(Column), {})
        self._fit_columns()
        self.arranged.emit()

    # What is chosen

    def selected_hits(self) -> list[Hit]:
        """The selected items that are held, in the order of the rows."""
        held = self.model.held_rows()
        found: list[Hit] = []
        for part in self._selected_rows():
            rows = part if len(part) < len(held) else sorted(row for row in held if row in part)
            found += [held[row] for row in rows if row in held]
        return found

    @property
    def selected_filter(self) -> MetaFilter | None:
        """Of what all items are selected, loaded or not; None where only the rows that are marked are."""
        if self._shown_ask is None or not self._is_all_selected or self._is_of_before:
            return None
        return self._shown_ask.filter

    @property
    def _is_of_before(self) -> bool:
        """Whether the rows answer another question than what is chosen now."""
        ask = self._shown_ask
        if ask is None or self._engine is None or not self.model.rowCount():
            return False
        is_other_order = self.model.listing is not None and self._shown_order != self._listed_order(self._engine)
        return ask != self._ask or is_other_order

    @property
    def selected_count(self) -> Count:
        """How many items are selected."""
        if self._is_all_selected and (settled := self._settled_count()) is not None:
            return settled
        return Count(sum(map(len, self._selected_rows())))

    def select_all(self) -> None:
        """Select all that the filter admits, not loaded ones too; the hits of a search are loaded, up to a limit.

        Of rows that are of the filter before, those that are there.
        """
        ask = self._shown_ask if not self._is_of_before else None
        self._is_replacing = True
        self.view.selectAll()
        self._is_replacing = False
        self._is_all_selected = ask is not None and not ask.is_search and self.model.rowCount() > 0
        self._wants_all_hits = ask is not None and ask.is_search
        self._let_go = 0
        self._load_hits()
        self._show_selected()

    def _load_hits(self) -> None:
        """Load the next hits of a search where all are to be selected; they end at the limit, if there are so many."""
        model = self.model
        may_load = model.has_more and not model.can_go_on and not model.is_stale  # stale rows load no others
        may_load &= model.rowCount() < MAX_HITS_SELECTED
        self._wants_all_hits &= may_load
        if self._wants_all_hits:
            self.model.retry()

    def current_hit(self) -> Hit | None:
        """The item of the current row."""
        index = self.view.currentIndex()
        return self.model.held(index.row()) if index.isValid() else None

    @property
    def current_is_shown(self) -> bool:
        """False while the item that was selected last is not among the rows."""
        if self._current_id is None or self.model.row_of(self._current_id) is not None:
            return True
        return self._current_place is not None and self.model.listing is not None

    def select_id(self, id: ItemId) -> bool:
        """Make the row of an item the current one; False where it is not loaded.

        Where any place can be asked for, it is then looked for, and its row made the current one once it is found.
        """
        row = self.model.row_of(id)
        if row is None:
            self._look_for(id)
            return False
        self.view.setCurrentIndex(self.model.index(row, Column.TEXT))
        return True

    def known_total(self, filter: MetaFilter) -> int | None:
        """How many items `filter` admits, where the list shows just these and knows exactly."""
        settled, ask = self._settled_count(), self._shown_ask
        is_of_it = ask is not None and ask.filter == filter and not ask.is_search
        return settled.n if settled is not None and is_of_it and not settled.is_least else None

    def allow_forgetting(self, why_not: str) -> None:
        """Let what is selected be forgotten; or say why nothing can be, whatever is selected."""
        self._why_not_forget = why_not
        self._show_selected()

    def allow_moving(self, why_not: str) -> None:
        """Let what is selected be moved and copied; or say why nothing can be."""
        self._why_not_move = why_not
        self._show_selected()

    def let_go(self, gone: Collection[ItemId], kept: Collection[ItemId] = ()) -> None:
        """`gone` were removed and are still in the rows: choose what stays, before the rows are read again.

        Those of `kept` that are held become what is selected; else the row that slides in becomes the current one.
        """
        held = self.model.held_rows()
        rows = sorted(row for row, hit in held.items() if hit.id not in gone)
        chosen = [row for row in rows if held[row].id in kept]
        at = self.view.currentIndex().row()
        after = [row for row in rows if row >= at]
        now = chosen[0] if chosen else after[0] if after else rows[-1] if rows else None
        if now is None:
            self._current_id = None
            self.view.selectionModel().clear()
            self.item_selected.emit(None)
            return
        self.view.setCurrentIndex(self.model.index(now, Column.TEXT))
        self.view.selectRow(now)
        self._select_ids([held[row].id for row in chosen])

    def cancel_reading(self) -> None:
        """Stop reading. Rows that are there stay, and once it is scrolled those that are looked at are asked for."""
        if self.jobs.is_running("first") or not self.model.rowCount():
            self._on_loading_cancel_wanted()
            return
        if self.jobs.is_running("grow"):
            self._stop_growing()
            return
        for lane in ("page", "rows"):
            self.jobs.stop(lane)
        self.model.fail()
        self._wants_all_hits = False
        self._show_selected()
        self.busy_line.set_busy(False)
        self._stopped_at = self.view.verticalScrollBar().value()
        said = tr("Reading was stopped; it goes on when you scroll.")
        self.banner.show_note(said, tr("Read on"), self._read_on)

    def _stop_growing(self) -> None:
        self.jobs.stop("grow")
        self._is_growth_stopped = True
        self.busy_line.set_busy(False)
        said = tr("Reading was stopped; these are not all items.")
        self.banner.show_note(said, tr("Read on"), self._read)
        self._show_count()

    def _read_on(self) -> None:
        """As before it was stopped by hand."""
        self._stopped_at = None
        self.banner.clear()
        self.model.retry()
        self._ask_rows()

    def cancel_counting(self) -> None:
        """Stop counting; the number so far stays."""
        for lane in ("count", "stored", "all"):
            self.jobs.stop(lane)
        if self._counting:
            self._total = None  # it was that of before
        self._counting, self._counted_so_far = False, None
        self._show_count()

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
        for lane in ("page", "rows", "place", "why", "kinds", "all", "grow"):
            self.jobs.cancel(lane)
        ask = self._ask
        self._counting = not ask.is_search and not self._is_by_place(ask)
        self._counted_so_far = None
        self.busy_line.set_busy(True)
        self._show_selected()  # of other rows, perhaps, than those that are chosen now
        if self.model.rowCount() == 0:
            self._show_loading()

        def on_first_page(page: Page | list[tuple[int, Span]]) -> None:
            # A lane that was cancelled, and not begun again, may still bring its answer: of another engine, perhaps.
            if engine is self._engine and ask is self._ask:
                self._on_first_page(page)

        if self._is_by_place(ask):
            self.jobs.start("first", self._first_spans(engine, ask), on_first_page)
        else:
            self.jobs.start("first", self._first_pages(engine, ask), on_first_page)
        if not self._counting:
            self.jobs.cancel("count")
        else:
            self.jobs.start("count", count_of(engine, ask.filter), self._on_count)
        if self._stored is None:
            self.jobs.start("stored", stored_in(engine), self._on_stored)

    async def _page(self, engine: MemoryEngine, ask: Ask, cursor: str | None) -> Page:
        if not ask.is_search:
            listed = await engine.list_preview(ListRequest(filter=ask.filter, limit=LIST_PAGE, cursor=cursor))
            return Page(listed.items, listed.next_cursor)
        modes = engine.descriptor().fetch_modes
        mode = ask.mode or (modes[0] if modes else None)
        if mode is None:
            raise Unsupported(tr("engine `{engine}` has no search", engine=engine.descriptor().id))
        req = FetchRequest(query=ask.query, mode=mode, filter=ask.filter, limit=FETCH_PAGE, cursor=cursor)
        if type(engine).fetch_explained is not MemoryEngine.fetch_explained:
            told = await engine.fetch_explained(req)
            hits = [each.hit for each in told.hits]
            return Page(hits, told.next_cursor, tuple(told.hits), told.profile, tuple(told.notes))
        found = await engine.fetch(req)
        return Page(found.hits, found.next_cursor)

    async def _first_pages(self, engine: MemoryEngine, ask: Ask) -> Page:
        """The first page, with as many more as reach down to the place that is to be shown again, and the selection."""
        wanted = max(self._goes_to.rows.stop, self._kept_rows(ask).stop) if self._goes_to is not None else 0
        page = await self._page(engine, ask, None)
        for _ in range(MAX_PAGES_BACK):
            if len(page.hits) >= wanted or page.cursor is None:
                break
            end_if_cancelled()
            more = await self._page(engine, ask, page.cursor)
            page = Page(
                page.hits + more.hits,
                more.cursor,
                page.explained + more.explained,
                more.profile or page.profile,
                more.notes,
            )
        return page

    async def _first_spans(self, engine: MemoryEngine, ask: Ask) -> list[tuple[int, Span]]:
        """As `_spans`. Rows that were all of what is asked stay until all of it is read again."""
        is_whole = self._shown_ask == ask and self.model.rowCount() > 0 and not self._is_partial
        spans = await self._spans(engine, ask)
        while spans[0][1].is_partial and is_whole:
            await asyncio.sleep(GROWS_EVERY_S)
            spans = await self._spans(engine, ask)
        return spans

    async def _spans(self, engine: MemoryEngine, ask: Ask) -> list[tuple[int, Span]]:
        """The rows of the place that is to be shown, and those where the selected ones were; each by its first row."""
        goes_to, order = self._goes_to, self._listed_order(engine)
        kept = self._kept_rows(ask) if goes_to is not None else range(0)
        await self._name_rows(engine, ask, self.model.missing(kept))
        first = _page_start(goes_to.rows.start) if goes_to is not None else 0
        span = await engine.list_span(
            SpanRequest(filter=ask.filter, order=order, offset=first, limit=SPAN_PAGE, place_of=self._place_id())
        )
        # Those that came or went meanwhile may have moved them.
        again = range(max(0, _page_start(kept.start) - SPAN_PAGE), min(span.total, kept.stop + SPAN_PAGE))
        if not kept or not again or (again.start >= first and again.stop <= first + len(span.items)):
            return [(first, span)]
        end_if_cancelled()
        req = SpanRequest(filter=ask.filter, order=order, offset=again.start, limit=len(again), listing=span.listing)
        return [(first, span), (again.start, await engine.list_span(req))]

    async def _name_rows(self, engine: MemoryEngine, ask: Ask, rows: range) -> None:
        """Hold selected rows that were never looked at, so that they are known again: while the engine has them."""
        listing = self.model.listing
        if not rows or len(rows) > MAX_KEPT_AMONG:
            return
        span = await engine.list_span(
            SpanRequest(filter=ask.filter, order=self._shown_order, offset=rows.start, limit=len(rows), listing=listing)
        )
        end_if_cancelled()
        if span.listing == listing == self.model.listing:
            self.model.put_span(span, rows.start)

    def _kept_rows(self, ask: Ask) -> range:
        """From the first to the last row that is selected, where these are to be found again."""
        parts = self._selected_rows()
        if ask != self._shown_ask or self._is_all_selected or not 1 < sum(map(len, parts)) <= MAX_KEPT_SELECTED:
            return range(0)
        rows = range(parts[0].start, parts[-1].stop)
        return rows if len(rows) <= MAX_KEPT_AMONG else range(0)

    def _place_id(self) -> ItemId | None:
        """The item that is to be the current one among the rows that are being read."""
        return self._goes_to.id if self._goes_to is not None and self._goes_to.id is not None else self._current_id

    def _place(self) -> Place:
        return Place(self.view.verticalScrollBar().value(), self.view.visible_rows(), self._current_id)

    def _on_first_page(self, page: Page | list[tuple[int, Span]]) -> None:
        for lane in ("page", "rows"):  # one that the old rows asked for meanwhile
            self.jobs.cancel(lane)
        self._listing = object()
        had_current = self._current_id is not None
        goes_to, self._goes_to = self._goes_to, None
        is_same = self._shown_ask == self._ask
        was_all, selected = self._is_all_selected and is_same, self._selected_ids() if is_same else []
        n_selected = self.selected_count.n if is_same and not was_all else 0
        if not is_same:
            self._total = None if self._counting else self._total
        self._shown_ask = self._ask
        self._read_at = datetime.now(self._zone)
        self._has_rows_failed = self._waits_for_current = self._is_all_selected = self._wants_all_hits = False
        self._stopped_at = None
        self._is_replacing = True  # the rows being replaced is no choice of the person's
        if isinstance(page, list):
            assert self._engine is not None
            self._shown_order = self._listed_order(self._engine)
            (first, span), *others = page
            self._notes, self._current_place = (), span.place
            self._is_partial, self._is_cut = span.is_partial, span.is_cut
            self.model.show_span(span, first, self._shown_order)
            for first, other in others:
                if other.listing == span.listing:
                    self.model.put_span(other, first)
        else:
            self._notes, self._current_place = page.notes, None
            self._is_partial = self._is_cut = False
            self.model.show_first(page)
        self._show_sorts()
        self._after_page()
        if not self._is_growing:
            self.banner.clear()
        self._show_health_note()
        self._fit_columns()
        is_there = self._current_place is not None
        if goes_to is not None and goes_to.id is not None and (is_there or self.model.row_of(goes_to.id) is not None):
            self._current_id = goes_to.id
        self._restore_current(had_current)
        self._is_growing = False
        self._tell_whether_current_left()
        self._select_ids(selected)
        self.view.executeDelayedItemsLayout()  # else the first painting lays out, and asks for another
        self.view.verticalScrollBar().setValue(goes_to.scrolled if goes_to is not None else 0)
        self._is_replacing = False
        if was_all:
            self.select_all()
        n_left = sum(map(len, self._selected_rows()))
        self._let_go = max(0, n_selected - n_left) if n_selected > 1 else 0
        self._show_count()  # told only now: whoever hears of it may choose among the rows
        self._show_selected()
        self._ask_rows()
        self._grow_on()

    def _grow_on(self) -> None:
        """Have more of the list, as long as the engine is still reading it."""
        engine, ask = self._engine, self._shown_ask
        if self._is_partial and engine is not None and ask is not None and not self.jobs.is_running("grow"):
            self._is_growth_stopped = False
            self.jobs.start("grow", self._grow(engine, ask), lambda _: None)

    async def _grow(self, engine: MemoryEngine, ask: Ask) -> None:
        while self._is_partial:
            await asyncio.sleep(GROWS_EVERY_S)
            if not self.isVisible():
                continue
            sight, order = self._sight(), self._shown_order
            grown = await read_more(engine, ask.filter, order, sight)
            end_if_cancelled()
            is_seen = self._sight_of_choice() == (sight.current, sight.chosen)
            # What is being pulled at, or was chosen meanwhile, is looked for in the next turn.
            if is_seen and QGuiApplication.mouseButtons() == Qt.MouseButton.NoButton:
                self._show_grown(sight, grown)

    def _sight(self) -> Sight:
        row = self.view.visible_rows().start
        hit = self.model.held(row) if self.view.verticalScrollBar().value() else None
        return Sight(hit.id if hit is not None else None, row, *self._sight_of_choice())

    def _sight_of_choice(self) -> tuple[ItemId | None, tuple[ItemId, ...]]:
        return self._current_id, () if self._is_all_selected else tuple(self._selected_ids())

    def _show_grown(self, sight: Sight, grown: Grown) -> None:
        """What was in view stays there, with what is new above it and below."""
        span = grown.spans[0][1]
        if span.is_partial and span.total == self.model.rowCount():
            return
        scrolled = self.view.verticalScrollBar().value()
        if sight.top is not None:
            scrolled += (grown.top - sight.row) * self.view.verticalHeader().defaultSectionSize()
        self._goes_to = Place(scrolled, range(0), self._current_id)
        self._is_growing = True
        self._on_first_page(grown.spans)

    def _restore_current(self, had_current: bool) -> None:
        if self.model.rowCount() == 0:
            return
        if not had_current:  # a viewer that is empty at the start tells nothing
            self.view.setCurrentIndex(self.model.index(0, Column.TEXT))
        elif self._current_place is not None:
            self.view.setCurrentIndex(self.model.index(self._current_place, Column.TEXT))
        elif self._current_id is not None and self.model.row_of(self._current_id) is not None:
            self.select_id(self._current_id)

    # Rows by place

    def _look_for(self, id: ItemId) -> None:
        engine, ask, listing = self._engine, self._shown_ask, self.model.listing
        if engine is None or ask is None or listing is None:
            return
        order = self._shown_order
        req = SpanRequest(filter=ask.filter, order=order, offset=0, limit=1, listing=listing, place_of=id)

        current = self._current_id

        def on_place(span: Span) -> None:
            is_awaited = self._current_id == current  # nothing else was chosen meanwhile
            if is_awaited and span.listing == self.model.listing and span.place is not None:
                self.view.setCurrentIndex(self.model.index(span.place, Column.TEXT))
                self._ask_rows()

        self.jobs.start("place", engine.list_span(req), on_place)

    def _on_scrolled(self) -> None:
        self._kinds_timer.start()
        if self._stopped_at not in (None, self.view.verticalScrollBar().value()):  # not a banner's coming alone
            self._read_on()
        self._ask_rows()
        if self.model.listing is not None:
            self._show_foot()

    def _ask_rows(self) -> None:
        """Have the rows that are looked at read, where they are not held; then the current one, out of sight."""
        engine, ask, listing = self._engine, self._shown_ask, self._listing
        if self._is_replacing or self._stopped_at is not None:  # the view is not yet where it will be, or stays there
            return
        wanted = self.model.missing(self.view.visible_rows())
        if not wanted and self._waits_for_current:
            row = self.view.currentIndex().row()
            wanted = self.model.missing(range(row, row + 1))
        if engine is None or ask is None or not wanted or self._has_rows_failed:
            return
        if self.jobs.is_running("rows") and self._rows_asked == wanted:
            return
        self._rows_asked = wanted
        self.busy_line.set_busy(True)
        req = SpanRequest(
            filter=ask.filter,
            order=self._shown_order,
            offset=wanted.start,
            limit=len(wanted),
            listing=self.model.listing,
        )

        def on_rows(span: Span) -> None:
            if listing is self._listing:
                self._on_rows(span, wanted)

        self.jobs.start("rows", engine.list_span(req), on_rows)

    def _on_rows(self, span: Span, wanted: range) -> None:
        grows = self._is_partial and not self._is_growth_stopped
        self.busy_line.set_busy(grows)
        if span.listing != self.model.listing and grows:  # it has more by now, which comes by itself
            return
        if span.listing != self.model.listing:  # the engine has forgotten it: all places are others
            self._times_forgotten += 1
            if self._times_forgotten > MAX_FORGOTTEN:
                self._times_forgotten = 0
                self._on_jobs_failed("rows", EngineFailure(tr("it forgets each list before it can be read on")))
            else:
                self.refresh()
            return
        self._times_forgotten = 0
        self.model.put_span(span, wanted.start)
        if len(span.items) < len(wanted):  # asked again by itself, it would be asked without end
            self._on_jobs_failed("rows", EngineFailure(tr("it did not give all rows that it says there are")))
            return
        self._kinds_timer.start()
        if self._waits_for_current:
            self._on_current_row_changed(self.view.currentIndex())
        QTimer.singleShot(0, self, self._ask_rows)

    def _retry_rows(self) -> None:
        self._has_rows_failed = False
        self._ask_rows()

    def _on_model_page_wanted(self, cursor: str) -> None:
        if self._engine is None or self._shown_ask is None:
            return
        self.busy_line.set_busy(True)
        listing = self._listing

        def on_page(page: Page) -> None:
            if listing is self._listing:
                self._notes = page.notes or self._notes
                first = self.model.rowCount()
                self.model.append(page)
                if self._is_all_selected or self._wants_all_hits:
                    self._select_from(first)
                self._load_hits()
                self._after_page()
                self._tell_whether_current_left()

        self.jobs.start("page", self._page(self._engine, self._shown_ask, cursor), on_page)

    def _after_page(self) -> None:
        """Rows came, or the end, or an empty page after which the model has asked for the next one already."""
        if self.model.rowCount() or not self.model.is_waiting:
            self.busy_line.set_busy(self.model.is_waiting or self._is_partial)
        if self.model.rowCount():
            self.loading.stop()
            self._show_only(self.view)
            self._kinds_timer.start()
        elif self._is_partial:
            if self.loading.isHidden():
                self._show_loading()
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
            self.cancel_counting()
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
            end_if_cancelled()  # by then it would be told of another list
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
        if engine.descriptor().needs_key:  # elsewhere, where it is a request for each scope
            return
        wanted = [
            hit.id
            for row in self.view.visible_rows()
            if (hit := self.model.held(row)) is not None
            and hit.kind is ItemKind.LEARNING
            and self.model.learning_kind(row) is None
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
        if lane in ("kinds", "place"):
            log.info("%s: %s", lane, error)  # a pill less, or a row not gone to: nothing that a person has to know
            return
        if lane in ("count", "stored", "all"):
            self._counting, self._counted_so_far = False, None
            if lane == "count":
                self._total = None
            if not isinstance(error, Unauthorized):
                self._show_count()
                return
        self.failed.emit(error)
        if lane in ("copy", "drag"):
            self._on_copies_said("")
            self.banner.show_error(sentence(error), details(error))
            return
        self.busy_line.set_busy(False)
        self.loading.stop()
        if isinstance(error, Unauthorized):
            for each in ("first", "page", "rows", "count", "stored", "all", "why", "grow"):  # each would be refused too
                self.jobs.cancel(each)
            self._counting = False
        if lane in ("page", "rows"):
            again = self.model.retry if lane == "page" else self._retry_rows
            if lane == "page":
                self.model.fail()
                self._wants_all_hits = False
                self._show_selected()
            self._has_rows_failed = lane == "rows"
            if not isinstance(error, Unauthorized):
                retry = again if may_pass(error) else None
                self.banner.show_error(sentence(error), details(error), retry)
                return
        self._show_failure(error)

    def _show_failure(self, error: Exception) -> None:
        has_rows = self.model.rowCount() > 0
        self.model.set_stale(True)
        of_before = self._own_up()
        self._show_health_note()
        self._show_count()
        if isinstance(error, Unauthorized):
            self.banner.clear()
            told = [tr("What you saw last stays below.")] if has_rows else []
            title = tr("The key was refused")
            if lacks_permission(error):
                title = tr("The key may not do this")
                told.insert(0, full_stop(shown(error.text, _WORDS_MOST)))
            self._say(
                "key",
                title,
                " ".join([*told, tr("Open the connection and enter a new key; nothing is sent until then.")]),
                [(tr("Edit connection…"), self.edit_connection_wanted.emit)],
                tone="caution",
            )
        elif has_rows:
            said = " ".join(filter(None, (sentence(error), of_before)))
            self.banner.show_error(said, details(error), self._read if may_pass(error) else None)
        else:
            down = isinstance(error, Unavailable)
            self._say(
                "plug" if down else "warning",
                tr("No answer from {memory}", memory=inline(self._name)) if down else tr("This could not be read"),
                sentence(error),
                [(tr("Try again"), self._read)] if may_pass(error) else [],
                tone="caution",
            )

    def _on_loading_cancel_wanted(self) -> None:
        for lane in ("first", "page", "rows", "place", "count", "stored", "why", "grow"):
            self.jobs.stop(lane)
        self._counting = False
        self.busy_line.set_busy(False)
        self.loading.stop()
        of_before = self._own_up()
        if of_before:
            self.model.set_stale(True)
            self._show_health_note()
        said = of_before or tr("Nothing was changed.")
        self._say("pause", tr("Reading was stopped"), said, [(tr("Read again"), self._read)])
        self._show_count()

    def _own_up(self) -> str:
        """That the rows which stay are of another question, where they are: a sentence, else empty."""
        is_of_before = self._is_of_before
        if is_of_before:
            self.jobs.cancel("count")  # of the rows that do not come
            self._counting, self._total = False, None
        self._show_selected()
        return tr("The rows below are those of before; what is chosen now was not read.") if is_of_before else ""

    # Emptiness

    def _explain_emptiness(self) -> None:
        """There are no rows; which emptiness that is depends on the engine's health and on what is stored."""
        if self._engine is None:
            return
        self.jobs.start("why", self._why(self._engine, self._ask), self._on_why)

    async def _why(self, engine: MemoryEngine, ask: Ask) -> Why:
        health = await engine.health()
        stored = self._stored or await stored_in(engine)
        without_each = []
        for one in ask.conditions if health.state == "ok" else ():
            end_if_cancelled()
            rest = Ask(ask.filter) if one.field == QUERY else Ask(without(ask.filter, one.field), ask.query, ask.mode)
            if rest.filter.reach is None:
                rest = replace(rest, filter=rest.filter.model_copy(update={"reach": ask.scope}))
            without_each.append((one, await self._matches(engine, rest)))
        return Why(health, stored, tuple(without_each))

    async def _matches(self, engine: MemoryEngine, ask: Ask) -> Count:
        """How many there are; of a search no more than one page is looked at."""
        if not ask.is_search:
            return await count_of(engine, ask.filter)
        page = await self._page(engine, ask, None)
        return Count(len(page.hits), is_least=page.cursor is not None)

    def _on_why(self, why: Why) -> None:
        health, stored = why.health, why.stored
        self._stored = stored
        self.loading.stop()
        self._show_count()
        if health.state != "ok":
            down = health.state == "down"
            if down:
                title = tr("{memory} does not serve now", memory=inline(self._name))
                doubt = tr("Items may exist that this cannot see.")
            else:
                title = tr("The engine answers, but not fully")
                doubt = tr("That may be why nothing is shown.")
            said = f"{health_sentence(health)} {doubt}"
            self._say("plug" if down else "warning", title, said, [(tr("Try again"), self.refresh)], tone="caution")
        elif self.model.stopped:
            self._say(
                "warning",
                tr("Nothing found yet"),
                self.model.stopped,
                [(tr("Look further"), self._look_further)] if self.model.can_go_on else [],
                tone="caution",
            )
        elif self._ask.filter.is_empty() and not self._ask.is_search and stored.sandboxed != NONE:
            held = tr_n(
                "In sandboxes there is {n} item.",
                "In sandboxes there are {n} items.",
                stored.sandboxed.plural,
                n=stored.sandboxed,
            )
            way_on = tr("Choose one among the namespaces to see what it holds.")
            self._say("inbox", tr("Nothing is stored outside sandboxes"), f"{held} {way_on}")
        elif self._ask.filter.is_empty() and not self._ask.is_search:
            title = tr("Nothing is stored in {memory}", memory=inline(self._name))
            if self.is_read_only:
                self._say("inbox", title, tr("It is open read-only, so that nothing can be imported."))
            else:
                self._say("inbox", title, tr("Import a file to begin."), [(tr("Import…"), self.import_wanted.emit)])
        elif self._ask.scope is not None and not self._ask.conditions:
            at = inline(str(self._ask.scope.at))
            said = tr("Nothing is stored at {node} or above it, which is all that an agent there reads.", node=at)
            self._say("inbox", tr("This agent has nothing to read"), said)
        else:
            self._say_nothing_matches(why)

    def _say_nothing_matches(self, why: Why) -> None:
        """The conditions by name, what is there without each, and the removal that gives most as the first way on."""
        n = len(why.without)
        if n in _NOTHING_MATCHES:
            title = tr(_NOTHING_MATCHES[n])
        else:
            title = tr("Nothing matches these {n} conditions", n=number(n))
        best = max(why.without, key=lambda each: each[1].n, default=None)
        clear: Action = (tr("Clear all"), self.clear_wanted.emit)
        if best is None or best[1] == NONE:
            said = [tr("Without any one of them there are still none.")] if n > 1 else []
            self._say("funnel", title, " ".join([*said, stored_sentence(why.stored)]), [clear])
            return
        told = why.without if n <= MAX_TOLD else (best,)
        ranked = sorted(told, key=lambda each: -each[1].n)
        field = best[0].field
        remove: Action = (remove_words(best[0]), lambda: self.remove_wanted.emit(field))
        self._say(
            "funnel",
            title,
            " ".join(without_sentence(one, count) for one, count in ranked),
            [remove] if n == 1 else [clear, remove],
        )

    def _show_loading(self) -> None:
        self.loading.start(tr("Reading {memory}", memory=inline(self._name)))
        self._show_only(self.loading)

    def _look_further(self) -> None:
        self._show_loading()
        self.model.go_on()

    def _show_nothing_open(self) -> None:
        self.loading.stop()
        self._show_count()
        self._say("plug", tr("Nothing is open"), tr("Open a memory to see its items."))

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
        aside = self._aside(ask)
        self.aside_label.say(aside, is_doubtful=bool(self._notes) and ask.is_search and not self.model.is_stale)
        cut = self._total if self._total is not None and self._total.is_least and not ask.is_search else None
        why_more = tr("Counting stopped at {n} items; there may be more.", n=number(cut.n)) if cut else ""
        if ask.is_search and settled is not None and settled.is_least:
            why_more = tr(
                "A search is read page by page and not counted before its end; more hits come with “Load more”."
            )
        if self._is_cut:
            why_more = tr("The server does not name all of its nodes; there may be more at others.")
        if self._is_partial:
            why_more = tr("The engine is still reading its list; the number grows by itself.")
        self.count_label.setToolTip(why_more)
        running = self._counted_so_far is not None
        is_uncounted = self._total is None and not self._counting and self.model.has_more and not ask.is_search
        self.count_all_button.setVisible((cut is not None or running or is_uncounted) and not self.model.is_stale)
        self.count_all_button.setText(tr("Stop counting") if running else tr("Count all"))
        self.count_all_action.setText(self.count_all_button.text())
        self.count_all_action.setProperty("wholeTitle", under(tr("Items"), self.count_all_button.text()))
        allow(self.count_all_action, tr("Everything is counted") if self.count_all_button.isHidden() else "")
        is_settled = not (self._counting or running or self._is_replacing or self.model.is_stale)
        if settled is not None and is_settled:
            self._announce(settled)

    def _settled_count(self) -> Count | None:
        if self._shown_ask is None:
            return None
        rows, more = self.model.rowCount(), self.model.has_more
        if self.model.listing is not None:
            return Count(rows, is_least=self._is_partial or self._is_cut)
        if self._shown_ask.is_search or self._total is None or (not more and not self.model.stopped):
            return Count(rows, is_least=more)
        agrees = self._total.n > rows or (self._total.n == rows and not self.model.stopped)
        return self._total if agrees else Count(rows, is_least=True)

    def _aside(self, ask: Ask) -> str:
        if self._engine is None or self._shown_ask is None:
            return ""
        if self.model.is_stale:
            # Translators: of rows that are shown although newer ones could not be had.
            return tr("read {time}, not current", time=f"{self._read_at:%H:%M:%S}") if self._read_at else ""
        if ask.is_search:
            modes = self._engine.descriptor().fetch_modes
            mode = ask.mode or (modes[0] if modes else None)
            notes = "".join(f"; {shown(note).removesuffix('.')}" for note in self._notes)
            return f"{tr(_FOUND_BY[mode])}{notes}" if mode else ""
        if self._counted_so_far is not None:
            return tr("counting all")
        if self._is_partial:
            return tr("not all were read") if self._is_growth_stopped else tr("still counting")
        if self._stored == Stored(NONE) and self.model.rowCount() == 0:
            return tr("nothing stored yet")
        if self._counting and self.model.has_more:
            return tr("still counting")
        if self._total is None and self.model.has_more:
            return tr("not counted")
        if where := sandbox_words(ask.filter):
            return where
        if self._stored is None:
            return ""
        if ask.filter.is_empty():
            sandboxed = self._stored.sandboxed
            return tr("{n} more in sandboxes", n=sandboxed) if sandboxed != NONE else ""
        if self._stored.sandboxed == NONE:
            # Translators: beside the number of items that match, as in “37 items” “of 2 467 stored”.
            return tr("of {total} stored", total=self._stored.outside)
        # Translators: beside the number of items that match, as in “37 items” “of 2 467 outside sandboxes”.
        return tr("of {total} outside sandboxes", total=self._stored.outside)

    def _announce(self, settled: Count) -> None:
        self.counted.emit((settled.n, settled.is_least))
        words = self.count_label.text()
        if words != self._announced and not self._is_partial:
            self._announced = words
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def _show_foot(self) -> None:
        rows = self.model.rowCount()
        settled = self._settled_count()
        self.foot.setVisible(rows > 0)
        self._show_selected()
        self.stopped_label.setText(self.model.stopped)
        self.stopped_label.setVisible(bool(self.model.stopped))
        self.go_on_button.setVisible(self.model.can_go_on)
        is_search = self._shown_ask is not None and self._shown_ask.is_search
        self.load_more_button.setVisible(
            is_search and self.model.has_more and not self.model.can_go_on and not self.model.is_stale
        )
        nothing = tr("Everything is loaded")
        allow(self.load_more_action, nothing if self.load_more_button.isHidden() else "")
        allow(self.go_on_action, nothing if self.go_on_button.isHidden() else "")
        if self.model.listing is not None:
            seen = self.view.visible_rows()
            first, last = number(seen.start + 1), number(seen.stop)
            # Translators: which rows are in sight, as in “1 to 20 of 2 467”.
            place = tr("{first} to {last} of {total}", first=first, last=last, total=settled) if seen else ""
            self.loaded_label.setText(place)
        else:
            loaded = tr("{n} of {total} loaded", n=number(rows), total=settled) if settled is not None and rows else ""
            self.loaded_label.setText(loaded)

    def _on_load_more_button_clicked(self) -> None:
        self.banner.clear()  # of the page that failed before, if one did
        self.model.retry()

    # What is selected

    def _selected_rows(self) -> list[range]:
        """The selected rows, ascending; neighbours in one range."""
        found: list[range] = []
        # Where columns were moved, Qt holds the same rows once a column.
        for top, bottom in sorted(
            (part.top(), part.bottom()) for part in self.view.selectionModel().selection().toList()
        ):
            if found and top <= found[-1].stop:
                found[-1] = range(found[-1].start, max(found[-1].stop, bottom + 1))
            else:
                found.append(range(top, bottom + 1))
        return found

    def _selected_ids(self) -> list[ItemId]:
        """Of what is selected, besides the current row, as much as is put back after a refresh."""
        return [hit.id for hit in self.selected_hits()] if self.selected_count.n <= MAX_KEPT_SELECTED else []

    def _select_ids(self, ids: Sequence[ItemId]) -> None:
        """Select the rows of `ids` too, where they are held."""
        flags = QItemSelectionModel.SelectionFlag
        for id in ids:
            if (row := self.model.row_of(id)) is not None:
                self.view.selectionModel().select(self.model.index(row, Column.TEXT), flags.Select | flags.Rows)

    def _select_from(self, first: int) -> None:
        """Select the rows from `first` on too."""
        last = self.model.rowCount() - 1
        if last >= first:
            chosen = QItemSelection(self.model.index(first, 0), self.model.index(last, len(Column) - 1))
            self._is_replacing = True
            self.view.selectionModel().select(chosen, QItemSelectionModel.SelectionFlag.Select)
            self._is_replacing = False

    def _on_selection_changed(self, chosen: QItemSelection, left: QItemSelection) -> None:
        if self._is_replacing:
            return
        # Rows that were chosen one by one are these, also where they are all: what comes later was not chosen.
        self._is_all_selected = self._wants_all_hits = False
        self._let_go = 0
        self._show_selected()

    def _show_selected(self) -> None:
        """The foot's words on what is selected, and the way to all that match."""
        count, settled = self.selected_count, self._settled_count()
        is_search = self._shown_ask is None or self._shown_ask.is_search
        rows = self.model.rowCount()
        has_all_rows = is_search and count.n > 1 and count.n == rows
        is_of_before = self._is_of_before
        if self._let_go:
            # Translators: beside what is still selected, after the list was read again.
            words = tr("{n} selected, {gone} let go: not found again", n=count, gone=number(self._let_go))
        elif is_of_before:
            words = tr("{n} selected", n=count) if count != NONE else ""
        elif (self._is_all_selected or (count.n > 1 and settled == count)) and not self._is_cut:
            words = tr("{n} selected, all that match", n=count)
        elif self._wants_all_hits:
            words = tr("{n} selected, more are being loaded", n=count)
        elif has_all_rows and settled is not None:
            words = tr("{n} selected of {found} found", n=count, found=settled)
        else:
            words = tr("{n} selected", n=count) if count != NONE else ""
        self.selected_label.setText(words)
        self.export_button.setVisible(count != NONE)
        nothing = tr("Nothing is selected") if count == NONE else ""
        for action in self.copies.actions.values():
            allow(action, nothing)
        old = tr("The rows are those of before: read the list again first") if is_of_before else ""
        allow(self.export_action, nothing or old)
        self.export_button.setEnabled(not old)
        self.export_button.setToolTip(old)
        why_not = self._why_not_forget or nothing or old
        allow(self.forget_action, why_not)
        allow(self.move_action, self._why_not_move or nothing or old)
        self.forget_button.setVisible(count != NONE)
        self.forget_button.setEnabled(not why_not)
        self.forget_button.setToolTip(why_not)
        allow(self.select_all_action, "" if self.model.rowCount() else tr("There are no items"))
        self.select_all_button.setText(tr("Select all {n}", n=settled) if settled is not None else tr("Select all"))
        is_limit = has_all_rows and (rows >= MAX_HITS_SELECTED or self.model.can_go_on)
        is_done = self._is_all_selected or self._wants_all_hits or is_limit or is_of_before
        self.select_all_button.setVisible(count != NONE and settled not in (None, count) and not is_done)
        if not self.jobs.is_running("copy"):
            self._on_copies_said("")

    def _on_select_all_button_clicked(self) -> None:
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)  # the button goes, and takes the focus with it otherwise
        self.select_all()

    def _on_view_escaped(self) -> None:
        """Back out of a search; else back to the current row alone."""
        if self._ask.is_search:
            self.remove_wanted.emit(QUERY)
        elif self.view.currentIndex().isValid():
            self.view.selectRow(self.view.currentIndex().row())

    def _on_view_entered_row(self, row: int) -> None:
        if (hit := self.model.held(row)) is not None:
            self.item_activated.emit(hit)

    def _on_current_row_changed(self, now: QModelIndex, before: QModelIndex | None = None) -> None:
        if not now.isValid():
            return  # the rows were replaced: what was being read stays
        hit = self.model.held(now.row())
        self._waits_for_current = hit is None
        if hit is None:
            return  # told once it is read
        is_as_before, self._current_id = self._is_growing and hit.id == self._current_id, hit.id
        self._current_place = now.row()
        if not is_as_before:
            self.item_selected.emit(hit)
        self._tell_whether_current_left()

    def _tell_whether_current_left(self) -> None:
        has_left = not self.current_is_shown
        if has_left != self._has_left:
            self._has_left = has_left
            self.current_left.emit(has_left)

    # Taking items elsewhere

    def copy(self, form: CopyForm) -> None:
        """Put the selected items on the clipboard; many are read on the way, which can be cancelled."""
        if self._engine is None or self._shown_ask is None or self.selected_count == NONE:
            return
        count = self.selected_count
        is_long = count.n > MAX_GET_IDS
        self._on_copies_said(tr("Copying") if is_long else "", is_long)
        total = None if count.is_least else count.n
        self.copies.copy(self._engine, self.selected_reach, self.selected_batches(), total, form)

    def _on_copies_said(self, words: str, can_cancel: bool = False) -> None:
        self.copied_label.say(words)
        self.copy_cancel_button.setVisible(can_cancel)
        allow(self.cancel_copy_action, tr("Nothing is being copied") if self.copy_cancel_button.isHidden() else "")

    def _on_view_drag_wanted(self) -> None:
        if self._engine is None or self._shown_ask is None:
            return
        if self.selected_count.n > MAX_DRAGGED:
            self.banner.show_note(
                tr("More than {n} items cannot be pulled out; export them to a file.", n=number(MAX_DRAGGED))
            )
            return
        self.copies.drag(self._engine, self.selected_reach, self.selected_batches(), self.selected_count.n)

    @property
    def selected_reach(self) -> Reach | None:
        """The reach under which the rows were read, and so the selected items can be: another may be chosen by now."""
        return self._shown_ask.filter.reach if self._shown_ask is not None else None

    def selected_batches(self) -> AsyncGenerator[list[Hit], None]:
        """The items that are selected now, in the order of the rows, some at a time, those that are not held too."""
        engine, ask, listing, order = self._engine, self._shown_ask, self.model.listing, self._shown_order
        assert engine is not None
        assert ask is not None
        parts, held = self._selected_rows(), self.model.held_rows()
        rest = self.model.cursor if self._is_all_selected and listing is None else None
        is_anew = self._is_all_selected and self._is_partial  # the rows are only some of what is selected
        if is_anew:
            parts, held = [], {}

        async def batches() -> AsyncGenerator[list[Hit], None]:
            for part in parts:
                for start in range(part.start, part.stop, MAX_GET_IDS):
                    rows = range(start, min(part.stop, start + MAX_GET_IDS))
                    if listing is None or all(row in held for row in rows):
                        hits = [held[row] for row in rows if row in held]
                    else:
                        span = await engine.list_span(
                            SpanRequest(filter=ask.filter, order=order, offset=start, limit=len(rows), listing=listing)
                        )
                        if span.listing != listing:
                            raise Unavailable(tr("the list was read long ago; refresh it and select again"))
                        hits = [hit for hit in span.items if hit is not None]
                    if hits:
                        yield hits
            cursor = rest
            seen = {hit.id for hit in held.values()}
            cursors: set[str | None] = set()
            idle_pages, is_begun = 0, not is_anew
            while cursor is not None or not is_begun:
                is_begun = True
                if cursor in cursors or idle_pages >= MAX_EMPTY_PAGES:
                    raise EngineFailure(tr("it never came to the end of its list, so that not all could be read"))
                cursors.add(cursor)
                page = await engine.list_preview(ListRequest(filter=ask.filter, limit=LIST_PAGE, cursor=cursor))
                fresh = [hit for hit in page.items if hit.id not in seen]
                seen.update(hit.id for hit in fresh)
                idle_pages = 0 if fresh else idle_pages + 1
                if fresh:
                    yield fresh
                cursor = page.next_cursor

        return batches()

    def _on_view_menu_requested(self, at: QPoint) -> None:
        if not self.view.indexAt(at).isValid() and self.selected_count == NONE:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addActions(list(self.copies.actions.values()))
        menu.addAction(self.export_action)
        menu.addAction(self.move_action)
        menu.addSeparator()
        menu.addActions(self.more_actions)
        menu.addAction(self.select_all_action)
        menu.addSeparator()
        menu.addAction(self.forget_action)
        menu.popup(self.view.viewport().mapToGlobal(at))

    # The view

    def _on_head_menu_requested(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.setToolTipsVisible(True)
        fill_columns_menu(menu, self.view, self.columns_button)
        menu.popup(self.view.head.mapToGlobal(at))

    def _fit_columns(self) -> None:
        """Hide what a narrow list has no room for; what the person chose stays."""
        narrow = self.width() < NARROW_PX * max(1.0, theme().size_px("body") / _DESIGN_PX)
        searching = (self._shown_ask or self._ask).is_search
        self.sort_button.set_narrow(narrow)
        wanted = (
            dict.fromkeys(_HIDDEN_FIRST, False)
            | {
                Column.KIND: True,
                Column.OBSERVED: True,
                Column.NODE: not narrow,
                Column.CONFIDENCE: not narrow and not searching,
                Column.SCORE: searching,
            }
            | self._chosen_columns
        )
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


class _AsideLabel(QLabel):
    """A remark beside the count, which gives way to it: cut with dots, and whole in its tooltip."""

    def __init__(self) -> None:
        super().__init__()
        self._token = "text3"

    def say(self, words: str, *, is_doubtful: bool = False) -> None:
        self._token = "caution" if is_doubtful else "text3"
        self.setText(words)
        self.setToolTip(tip(words))
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        draw_text(painter, self.rect(), self.text(), "small", self._token)
        painter.end()


class _PlaceLabel(QLabel):
    """Which rows are in sight; not drawn where there is no room for all of it: the buttons beside it come first."""

    def minimumSizeHint(self) -> QSize:
        return QSize(0, super().minimumSizeHint().height())

    def paintEvent(self, event: QPaintEvent) -> None:
        if self.width() >= self.sizeHint().width():
            super().paintEvent(event)


def _is_width(value: object) -> bool:
    """Whether something that was remembered can be the width of a column."""
    return isinstance(value, int) and 0 < value <= _WIDEST


def _page_start(row: int) -> int:
    return row - row % SPAN_PAGE
