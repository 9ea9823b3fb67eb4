"""The facets: what the memory under the filter consists of, and the way to narrow it."""

from __future__ import annotations

import json
import time
from collections.abc import Callable, Iterable
from functools import partial

from PySide6.QtCore import QAbstractAnimation, QModelIndex, QPoint, QRect, Qt, QTimer, QVariantAnimation, Signal
from PySide6.QtGui import (
    QAction,
    QActionGroup,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QRegion,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QToolButton,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from explorer.contract import (
    ExplorePage,
    Facet,
    InvalidRequest,
    MemoryEngine,
    MetaFilter,
    Reach,
    Unauthorized,
    Unavailable,
)
from explorer.contract.query import MAX_BUCKETS
from explorer.i18n import tr
from explorer.text import label
from explorer.ui import icons
from explorer.ui.actions import allow, clear
from explorer.ui.facet_counts import Counted, count
from explorer.ui.facet_delegate import FIND_MARGIN, INDENT, FacetDelegate
from explorer.ui.jobs import Jobs
from explorer.ui.models.facet_model import FacetModel, Index
from explorer.ui.models.facet_rows import CHOICES, WORDS, Order, RowType, narrowed, toggled
from explorer.ui.scans import Scan
from explorer.ui.theme import theme
from explorer.ui.trees import EDGE, PaneBanner, PaneHead, PaneTree, keeping_place

OPEN_FIRST = (Facet.KIND, Facet.TAG, Facet.SOURCE, Facet.AGENT)

Change = Callable[[Facet, MetaFilter, str], MetaFilter]  # the filter with a value chosen or taken away

BAR_MS = 160
BAR_STEP = 0.2  # of the way, between two drawings
SO_FAR_S = 0.4  # between two sights of a count that goes on
QUICK_MS = 150  # an answer within this time is not announced
TURN_MS = 40
TURN_DEGREES = 18


class FindEdit(QLineEdit):
    """The find box of a facet. It gives the keyboard back to the tree by Up, Down and Esc."""

    stepped = Signal(int)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            self.stepped.emit(1 if event.key() == Qt.Key.Key_Down else -1)
        elif event.key() == Qt.Key.Key_Escape:
            if self.text():
                self.clear()
            else:
                self.stepped.emit(-1)
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.stepped.emit(1)
        else:
            super().keyPressEvent(event)
            return
        event.accept()


class FacetTree(PaneTree):
    """The tree of facets: the nodes of paths open and close by the arrow keys, and facets move by Alt with them."""

    node_opened = Signal(QModelIndex, bool)  # it is to be open, or closed
    head_moved = Signal(QModelIndex, int)  # up (-1) or down (1)

    def __init__(self, model: FacetModel) -> None:
        super().__init__()
        self.setModel(model)
        self.delegate = FacetDelegate(self, model)
        self.setItemDelegate(self.delegate)
        # Not stretched by Qt, which narrows and widens the column at each layout, and then paints all a second time.
        self.header().setStretchLastSection(False)
        self._strips = QRegion()  # of bars that are to be repainted, while no row has moved since
        self._draws_bars_only = False

    def update_bars(self) -> None:
        """Repaint the bars that are on their way, and nothing beside them: they are drawn many times a second."""
        self._strips = QRegion()
        for index, cell in self.rows_in(self.viewport().rect()):
            self._strips += self.delegate.moving_bar(index, self.full_row(cell))
        self.viewport().update(self._strips)

    def paintEvent(self, event: QPaintEvent) -> None:
        self._draws_bars_only = event.region().subtracted(self._strips).isEmpty()
        super().paintEvent(event)

    def draw_cells(self, painter: QPainter, cell: QRect, index: QModelIndex) -> None:
        if self._draws_bars_only:
            self.delegate.paint_bar(painter, self.full_row(cell), index)
            return
        self.delegate.paint_row(painter, self.full_row(cell), index)
        if index.internalId() == 0:  # a head
            self.draw_chevron(painter, cell, index)

    def resizeEvent(self, event: QResizeEvent) -> None:
        self.header().resizeSection(0, self.viewport().width())
        super().resizeEvent(event)

    def scrollContentsBy(self, dx: int, dy: int) -> None:
        self._strips = QRegion()
        super().scrollContentsBy(dx, dy)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex()
        model = self.model()
        assert isinstance(model, FacetModel)
        row, key = model.row_at(index), event.key()
        forth, back = Qt.Key.Key_Right, Qt.Key.Key_Left
        if self.isRightToLeft():
            forth, back = back, forth
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if event.modifiers() == Qt.KeyboardModifier.AltModifier and key in (Qt.Key.Key_Up, Qt.Key.Key_Down):
            if index.isValid():
                self.head_moved.emit(index, 1 if key == Qt.Key.Key_Down else -1)
        elif plain and row is not None and row.type is RowType.NODE and key in (forth, back):
            if row.is_open is (key == back):  # open and to be closed, or closed and to be opened
                self.node_opened.emit(index, key == forth)
            elif key == back:
                self.setCurrentIndex(model.above(index))
            elif row.is_open:
                self.setCurrentIndex(index.siblingAtRow(index.row() + 1))
        else:
            super().keyPressEvent(event)
            return
        event.accept()


class FacetPanel(QWidget):
    """What there is to filter by, counted; the filter itself belongs to the window."""

    filter_wanted = Signal(object)  # MetaFilter
    refused = Signal(object)  # the exception, when a value that was chosen can be no condition
    dead_changed = Signal()  # `dead` is another
    forget_wanted = Signal(object)  # the MetaFilter with the value: of what it admits

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("facetPanel")
        self.jobs = Jobs(self)
        self.scan = Scan()
        self._engine: MemoryEngine | None = None
        self._filter = MetaFilter()
        self._scope: Reach | None = None
        self._wanted: MetaFilter | None = None
        self._key_held: Facet | None = None
        self._serial = 0
        self._asked: dict[Facet, str] = {}  # the lane whose answer counts: a later one may be on its way already
        self._lanes: dict[str, list[Facet]] = {}  # what is being counted
        self._told_s: dict[str, float] = {}  # by lane, when it was begun, or what it had so far was shown last
        self._round: set[Facet] = set()  # with what was counted since the first of these began
        self._is_failed = False
        self._why_not_forget = ""
        self._open = set(OPEN_FIRST)
        self._dead: dict[str, list[str]] = {}
        self._find_edits: dict[Facet, FindEdit] = {}
        self._shown_filled: tuple[list[Facet], set[Facet]] | None = None  # of what that menu was made last

        self.model = FacetModel(self)
        self.head = PaneHead(tr("Facets"), tr("counted under the filter"), tr("under the filter"))
        self.head.add(self._make_sort_button())
        self.head.add(self._make_more_button())

        self.tree = FacetTree(self.model)
        self.delegate = self.tree.delegate
        self.tree.setObjectName("facetTree")
        self.tree.setAccessibleName(tr("Facets"))
        self.tree.setHeaderHidden(True)
        self.tree.setIndentation(INDENT)
        self.banner = PaneBanner()

        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addWidget(self.banner)
        column.addWidget(self.tree, 1)

        self._opened = QTimer(self)
        self._opened.setSingleShot(True)
        self._opened.setInterval(0)
        self._quick = QTimer(self)
        self._quick.setSingleShot(True)
        self._quick.setInterval(QUICK_MS)
        self._turn = QTimer(self)
        self._turn.setInterval(TURN_MS)
        self._bars = QVariantAnimation(self)
        self._bars.setStartValue(0.0)
        self._bars.setEndValue(1.0)

        self.tree.row_clicked.connect(self._on_tree_row_clicked)
        self.tree.row_double_clicked.connect(self._on_tree_row_double_clicked)
        self.tree.row_entered.connect(self._on_tree_row_entered)
        self.tree.row_spaced.connect(self._on_tree_row_spaced)
        self.tree.row_pointed.connect(self._settle)
        self.tree.menu_wanted.connect(self._on_tree_menu_wanted)
        self.tree.left.connect(self._on_tree_left)
        self.tree.node_opened.connect(self._on_tree_node_opened)
        self.tree.head_moved.connect(self._on_tree_head_moved)
        self.tree.expanded.connect(self._on_tree_expanded)
        self.tree.collapsed.connect(self._on_tree_collapsed)
        self.tree.selectionModel().currentChanged.connect(self._on_selection_current_changed)
        self.model.rowsInserted.connect(self._on_model_rows_inserted)
        self.model.rowsRemoved.connect(self._on_model_rows_removed)
        self.model.rowsMoved.connect(self.tree.scheduleDelayedItemsLayout)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.busy_changed.connect(self._on_jobs_busy_changed)
        self._opened.timeout.connect(self._on_opened_timeout)
        self._quick.timeout.connect(self._on_quick_timeout)
        self._turn.timeout.connect(self._on_turn_timeout)
        self._bars.valueChanged.connect(self._on_bars_value_changed)
        theme().changed.connect(self.tree.scheduleDelayedItemsLayout)
        for facet in OPEN_FIRST:
            self.tree.expand(self.model.facet_index(facet))

    def _make_sort_button(self) -> QToolButton:
        self.sort_button = self._tool("sortFacetsButton", "sort", tr("Sort values"))
        menu = QMenu(tr("Facets"), self.sort_button)
        menu.aboutToShow.connect(lambda: self._fill_sort_menu(menu))
        self._fill_sort_menu(menu)
        self.sort_button.setMenu(menu)
        return self.sort_button

    def _fill_sort_menu(self, menu: QMenu) -> None:
        clear(menu)
        self._add_orders(menu, self.model.order, list(Facet))

    def _add_orders(self, menu: QMenu, now: Order | None, facets: list[Facet]) -> None:
        group = QActionGroup(menu)
        group.setExclusionPolicy(QActionGroup.ExclusionPolicy.ExclusiveOptional)
        for order, words in ((Order.COUNT, tr("By count")), (Order.NAME, tr("By name"))):
            action = menu.addAction(words)
            action.setCheckable(True)
            action.setChecked(order is now)
            group.addAction(action)
            action.triggered.connect(partial(self._sort, order, facets))

    def _make_more_button(self) -> QToolButton:
        self.more_button = self._tool("moreFacetsButton", "more", tr("More about facets"))
        menu = QMenu(tr("Facets"), self.more_button)
        menu.addAction(tr("Expand all")).triggered.connect(self._on_expand_triggered)
        menu.addAction(tr("Collapse all")).triggered.connect(self._on_collapse_triggered)
        menu.addSeparator()
        self.shown_menu = menu.addMenu(tr("Facets shown"))
        self.shown_menu.aboutToShow.connect(self._fill_shown_menu)
        self._fill_shown_menu()
        menu.addAction(tr("Put facets back")).triggered.connect(self._on_put_back_triggered)
        menu.addSeparator()
        self.count_all_action = QAction(tr("Count everything"), menu)
        allow(self.count_all_action, tr("Everything is counted"))
        self.count_all_action.triggered.connect(self.count_all)
        menu.addAction(self.count_all_action)
        self.more_button.setMenu(menu)
        return self.more_button

    def _tool(self, name: str, icon: str, words: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(name)
        button.setProperty("kind", "small")
        button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        button.setAccessibleName(words)
        button.setToolTip(words)
        icons.keep(button, icon)
        return button

    def focusInEvent(self, event: QFocusEvent) -> None:
        # Not by a focus proxy: from a widget that has one, Tab goes to the proxy and past all before it (Qt 6.11).
        self.tree.setFocus(event.reason())

    # What the window calls

    def set_engine(self, engine: MemoryEngine | None) -> None:
        """Count on another engine; with None there is nothing to count."""
        self.jobs.cancel()
        self._lanes.clear()
        self._engine = engine
        self.scan = Scan()
        self._is_failed, self._dead = False, {}
        self.banner.clear()
        self.model.clear()
        self.refresh()

    def set_search(self, active: bool) -> None:
        """Say whether a search narrows the list further than what is counted here."""
        self.head.set_search(active)

    def show_filter(self, filter: MetaFilter, scope: Reach | None = None) -> None:
        """Count under `filter`; its values are marked at once. `scope` is a reach that no condition of it set."""
        if (filter, scope) == (self._filter, self._scope):
            return
        if filter != self._wanted:
            self._key_held = None
        self._wanted = None
        if self.scan.begin():
            self.banner.clear()
        self._filter, self._scope = filter, scope
        self._dead = {}  # not known under this one
        with keeping_place(self.tree):
            self.model.show_filter(filter, self._held(), scope)
        if filter == MetaFilter(reach=scope):
            for edit in list(self._find_edits.values()):
                edit.clear()
        self.refresh()

    def refresh(self) -> None:
        """Count again what is open; the numbers of before stay until then. What is closed is counted once it opens."""
        if self._engine is None:
            return
        self.jobs.cancel()
        self._lanes.clear()
        self._asked.clear()
        self._is_failed = False
        self.model.forget(facet for facet in self.model.arrangement if not self._is_open(facet))
        self._count([facet for facet in self.model.facets if self._is_open(facet)])
        if not self._lanes:  # none is open: nothing more comes, and nothing is left of what was said
            self.scan.end_all()
            self.banner.clear()

    def count_all(self) -> None:
        """Count again and further, in steps that are shown, as far as the contract lets a count go."""
        self.scan.begin_all(self.counted_items[0])
        self.refresh()

    @property
    def counted_facets(self) -> tuple[int, int]:
        """How many facets are counted by now, of how many."""
        awaited = {facet for facets in self._lanes.values() for facet in facets}
        return len(self._round - awaited), len(self._round)

    @property
    def is_partial(self) -> bool:
        """Whether a count that goes on is shown as far as it is."""
        return any(self.model.section(facet).is_partial for facets in self._lanes.values() for facet in facets)

    @property
    def counted_items(self) -> tuple[int, bool]:
        """How many items the facets have counted under this filter, and whether there are more."""
        pages = self._counted_pages()
        cut = [page.total for page in pages if page.truncated]
        return max(cut or [page.total for page in pages], default=0), bool(cut)

    @property
    def has_counted(self) -> bool:
        """Whether anything was counted under this filter."""
        return bool(self._counted_pages())

    def _counted_pages(self) -> list[ExplorePage]:
        sections = [self.model.section(facet) for facet in self.model.facets]
        return [one.page for one in sections if one.page is not None and not (one.is_old or one.is_of_other)]

    def cancel_counting(self) -> None:
        """Stop counting; the numbers that are there stay, marked stale where they are of another filter."""
        self.jobs.stop()
        self._lanes.clear()
        self._asked.clear()
        self.scan.begin()
        self.model.end_counting()
        closed = [facet for facet in self.model.facets if not self._is_open(facet)]
        self.model.forget([facet for facet in closed if self.model.section(facet).is_behind])  # counted once it opens
        if self._is_missing_some():
            self.scan.end_all()
            self.banner.show_note(tr("Counting stopped."), tr("Count again"), self.refresh)
        else:
            self._say_stopped()

    @property
    def dead(self) -> dict[str, list[str]]:
        """By filter field, the chosen values that are known to have no items under the other conditions."""
        return self._dead

    def state(self) -> str:
        """How the facets are arranged and which are open, for `restore`."""
        sections = [self.model.section(facet) for facet in self.model.arrangement]
        return json.dumps(
            {
                "facets": self.model.arrangement,
                "pinned": sorted(self.model.pinned),
                "hidden": sorted(self.model.hidden),
                "open": sorted(self._open),
                "by_name": [section.facet for section in sections if section.order is Order.NAME],
                "trees": [section.facet for section in sections if section.is_tree],
            }
        )

    def restore(self, state: str) -> None:
        """Arrange the facets as `state` says; what it says amiss is passed over."""
        try:
            held = json.loads(state)
        except (ValueError, RecursionError):
            return
        if not isinstance(held, dict):
            return

        def facets(key: str) -> list[Facet]:
            named = held.get(key)
            names = [name for name in named if isinstance(name, str)] if isinstance(named, list) else []
            return [Facet(name) for name in names if name in list(Facet)]

        self.model.arrange_facets(facets("facets"), facets("pinned"), facets("hidden"))
        by_name, trees, opened = facets("by_name"), facets("trees"), facets("open")
        for facet in Facet:
            self.model.set_order(Order.NAME if facet in by_name else Order.COUNT, [facet])
            self.model.set_tree(facet, facet in trees)
        self._open = set(opened)
        for facet in self.model.facets:
            self.tree.setExpanded(self.model.facet_index(facet), facet in opened)
        self.refresh()

    def reveal(self, facet: Facet) -> None:
        """Open `facet` and give it the keyboard; a hidden one is shown again."""
        self.model.set_hidden(facet, False)
        head = self.model.facet_index(facet)
        self.tree.expand(head)
        self.tree.setCurrentIndex(head)
        self.tree.executeDelayedItemsLayout()
        self.tree.scrollTo(head, PaneTree.ScrollHint.PositionAtTop)
        self.tree.setFocus(Qt.FocusReason.OtherFocusReason)

    async def aclose(self) -> None:
        """End what is running."""
        for timer in (self._opened, self._quick, self._turn):
            timer.stop()
        self._bars.stop()
        await self.jobs.aclose()

    # Counting

    def _is_open(self, facet: Facet) -> bool:
        return facet in self._open and facet not in self.model.hidden

    def _is_missing_some(self) -> bool:
        return any(self._is_open(facet) and self.model.section(facet).is_missing for facet in self.model.facets)

    def _count(self, facets: Iterable[Facet]) -> None:
        """Count `facets`: together those under the same filter, so that one reading counts them; each group appears
        as it arrives.
        """
        groups: dict[Facet | None, list[Facet]] = {}
        for facet in facets:
            groups.setdefault(facet if self.model.section(facet).has_condition else None, []).append(facet)
        for group in groups.values():
            self._start(group)

    def _start(self, facets: list[Facet]) -> None:
        """Count `facets` by one call, whatever else is being counted."""
        engine = self._engine
        if engine is None:
            return
        self._serial += 1
        if not self._lanes:
            self._round = set()
        self._round.update(facets)
        lane = f"everything:{self._serial}" if self.scan.goes_on else f"counts:{self._serial}"
        limits = {facet: self.model.section(facet).fetched for facet in facets}
        self._lanes[lane] = facets
        self._asked |= dict.fromkeys(facets, lane)
        self._told_s = {one: self._told_s.get(one, time.monotonic()) for one in self._lanes}
        so_far = partial(self._on_counted_so_far, lane)
        work = count(engine, self._filter, limits, self.scan.limit, self._scope, so_far)
        self.jobs.start(lane, work, partial(self._on_counted, lane))
        if self.delegate.turn_degrees is not None:
            self.model.set_counting(facets)

    def _on_opened_timeout(self) -> None:
        asked = {facet for lane in self._lanes.values() for facet in lane}
        opened = [facet for facet in self.model.facets if self._is_open(facet) and facet not in asked]
        sections = self.model.section
        self._count([facet for facet in opened if sections(facet).page is None or sections(facet).is_behind])
        if self.scan.goes_on:  # one was closed again before it was counted, and the round had waited for it
            self._go_on()

    def _awaited(self, lane: str) -> set[Facet]:
        """The facets that no later lane was asked for. The lane itself has ended."""
        return {facet for facet in self._lanes.pop(lane, []) if self._asked.get(facet) == lane}

    def _on_counted_so_far(self, lane: str, counted: Counted) -> None:
        """Show a count that goes on: now and then, so that what comes at once is not seen to flicker."""
        now_s = time.monotonic()
        if lane not in self._lanes or now_s - self._told_s[lane] < SO_FAR_S:
            return
        self._told_s[lane] = now_s
        awaited = {facet for facet in self._lanes[lane] if self._asked.get(facet) == lane}
        # What was counted to its end under this filter is no less true than the start of a new count.
        awaited = {facet for facet in awaited if self.model.section(facet).can_grow}
        with keeping_place(self.tree):
            pages = {facet: page for facet, page in counted.pages.items() if facet in awaited and page.total}
            self.model.show_pages(pages, held=self._held(), is_partial=True)
        self._move_bars()

    def _on_counted(self, lane: str, counted: Counted) -> None:
        awaited = self._awaited(lane)
        pages = {facet: page for facet, page in counted.pages.items() if facet in awaited}
        with keeping_place(self.tree):
            self.model.show_pages(pages, counted.chosen, self._held())
            self.model.show_errors({facet: error for facet, error in counted.errors.items() if facet in awaited})
        self._go_on()
        self._tell_dead()
        self._move_bars()

    def _go_on(self) -> None:
        """Where a round of counting has ended: the next one, if everything is to be counted, else how far it came."""
        if self._lanes or self._is_failed or self._is_missing_some():
            return  # what the banner says of that still holds
        opened = [facet for facet in self.model.facets if self._is_open(facet)]
        is_cut = self.counted_items[1] and bool(opened)
        if self.scan.step(is_cut):
            self._asked.clear()
            self._count(opened)
            self._say_counting_all()
        else:
            self._say_stopped()

    def _say_counting_all(self) -> None:
        self.banner.show_note(self.scan.words_so_far(self.counted_items[0]), tr("Cancel"), self.cancel_counting)

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        awaited = self._awaited(lane)
        if len(awaited) == 1 and not isinstance(error, (Unauthorized, Unavailable)):
            self.model.show_errors(dict.fromkeys(awaited, error))
        elif awaited:
            self._is_failed = True
            self.scan.end_all()
            self.model.set_stale(awaited)
            self.banner.show_failure(error, self.refresh)
        self._go_on()

    def _say_stopped(self) -> None:
        """Say once where counting stopped, if it did, and offer to go on."""
        n, is_cut = self.counted_items
        can_go_on = is_cut and self.scan.can_go_on
        as_far = tr("A count goes no further") if is_cut else tr("Everything is counted")
        allow(self.count_all_action, "" if can_go_on else as_far)
        said = self.scan.words_at_end(n, is_cut)
        if said is None:
            return
        if not said:
            self.banner.clear()
        elif can_go_on:
            self.banner.show_note(said, tr("Count all"), self.count_all_action.trigger)
        else:
            self.banner.show_note(said)

    def _tell_dead(self) -> None:
        dead = {facet.field: self.model.section(facet).dead_values() for facet in self.model.facets}
        dead = {field: values for field, values in dead.items() if values}
        if dead != self._dead:
            self._dead = dead
            self.dead_changed.emit()

    def _on_jobs_busy_changed(self, busy: bool) -> None:
        if busy:
            self._quick.start()
        else:
            self._quick.stop()
            self._turn.stop()
            self.delegate.turn_degrees = None
            self.model.end_counting()

    def _on_quick_timeout(self) -> None:
        self.delegate.turn_degrees = 0
        for facets in self._lanes.values():
            self.model.set_counting(facets)
        if self.scan.goes_on:
            self._say_counting_all()
        if theme().animation_ms(TURN_MS):
            self._turn.start()

    def _on_turn_timeout(self) -> None:
        self.delegate.turn_degrees = ((self.delegate.turn_degrees or 0) + TURN_DEGREES) % 360
        for facet in self.model.facets:
            if self.model.section(facet).is_counting:
                self.tree.viewport().update(self.tree.full_row(self.tree.visualRect(self.model.facet_index(facet))))

    def _move_bars(self) -> None:
        self._bars.stop()
        self.delegate.progress = 1.0
        moves = any(
            row.share != row.share_before
            for facet in self.model.facets
            if self.tree.isExpanded(self.model.facet_index(facet))
            for row in self.model.section(facet).rows
        )
        duration_ms = theme().animation_ms(BAR_MS)
        if moves and duration_ms and self.isVisible():
            self.delegate.progress = 0.0
            self._bars.setDuration(duration_ms)
            self._bars.start()

    def _on_bars_value_changed(self, progress: float) -> None:
        is_moving = self._bars.state() == QAbstractAnimation.State.Running and progress < 1.0
        if is_moving and progress - self.delegate.progress < BAR_STEP:
            return
        self.delegate.progress = progress if is_moving else 1.0
        self.tree.update_bars()

    # Order: nothing moves under the pointer

    def _held(self) -> set[Facet]:
        """The facets that must not move: down to the one under the pointer, or where a key has just chosen."""
        facets = self.model.facets
        under = self.model.facet_at(self.tree.indexAt(self.tree.pointer)) if self.tree.pointer is not None else None
        ends = [facets.index(one) for one in (under, self._key_held) if one in facets]  # it may be hidden now
        return set(facets[: max(ends) + 1]) if ends else set()

    def _settle(self) -> None:
        with keeping_place(self.tree):
            self.model.settle(self._held())

    def _on_tree_left(self) -> None:
        if not self.tree.hasFocus():
            self._key_held = None
        self._settle()

    def _on_selection_current_changed(self, current: Index, previous: Index) -> None:
        facet, row = self.model.facet_at(current), self.model.row_at(current)
        if facet is not self._key_held and self._key_held is not None:
            self._key_held = None
            self._settle()
        if row is not None and row.type is RowType.FIND and facet in self._find_edits and self.tree.hasFocus():
            self._find_edits[facet].setFocus(Qt.FocusReason.TabFocusReason)

    # What is done to rows

    def _want(self, filter: MetaFilter) -> None:
        if filter != self._filter:
            self._wanted = filter
            self.filter_wanted.emit(filter)

    def _on_tree_row_clicked(self, index: Index, at: QPoint) -> None:
        row = self.model.row_at(index)
        if row is None:
            self.tree.setExpanded(self.model.index(index.row(), 0), not self.tree.isExpanded(index))
        elif row.type not in CHOICES:
            self._act(index)
        elif self.delegate.box_area(index).contains(at):
            self._toggle(index)
        elif row.is_open is not None and self.delegate.chevron_area(index).contains(at):
            self._on_tree_node_opened(index, not row.is_open)

    def _on_tree_row_double_clicked(self, index: Index, at: QPoint) -> None:
        row = self.model.row_at(index)
        if row is not None and row.type in CHOICES:
            if self.delegate.box_area(index).contains(at):
                self._toggle(index)
            elif row.is_open is not None and self.delegate.chevron_area(index).contains(at):
                self._on_tree_node_opened(index, not row.is_open)
            else:
                self._narrow(index)

    def _on_tree_row_entered(self, index: Index) -> None:
        row = self.model.row_at(index)
        if row is not None and row.type in CHOICES:
            self._key_held = self.model.facet_at(index)
            self._narrow(index)
        else:
            self._act(index)

    def _on_tree_row_spaced(self, index: Index) -> None:
        row = self.model.row_at(index)
        if row is not None and row.type in CHOICES:
            self._key_held = self.model.facet_at(index)
            self._toggle(index)
        else:
            self._act(index)

    def _act(self, index: Index) -> None:
        """Do what a row other than a value stands for."""
        facet, row = self.model.facet_at(index), self.model.row_at(index)
        if facet is None:
            return
        if row is None:
            self.tree.setExpanded(self.model.facet_index(facet), not self.tree.isExpanded(index))
        elif row.type is RowType.FIND and facet in self._find_edits:
            self._find_edits[facet].setFocus(Qt.FocusReason.OtherFocusReason)
        elif row.type is RowType.MORE:
            self._show_more(facet, row.value)
        elif row.type is RowType.FEWER:
            self.model.show_fewer(facet)
            self.tree.scrollTo(self.model.facet_index(facet))
        elif row.type is RowType.EXACT:
            self._want(narrowed(facet, self._filter, self.model.section(facet).find))

    def _narrow(self, index: Index) -> None:
        facet, row = self.model.facet_at(index), self.model.row_at(index)
        if facet is not None and row is not None and row.can_be_chosen:
            self._try(facet, narrowed, row.wanted)

    def _toggle(self, index: Index) -> None:
        facet, row = self.model.facet_at(index), self.model.row_at(index)
        if facet is not None and row is not None and row.can_be_chosen:
            self._try(facet, toggled, row.wanted)

    def _try(self, facet: Facet, change: Change, value: str) -> None:
        try:
            self._want(change(facet, self._filter, value))
        except InvalidRequest as error:  # a value that an engine counts and the contract has no filter for
            self.refused.emit(error)

    def _on_tree_menu_wanted(self, index: Index, at: QPoint) -> None:
        facet, row = self.model.facet_at(index), self.model.row_at(index)
        if facet is not None and row is None:
            self._popup_head_menu(facet, at)
        if facet is None or row is None or row.type not in CHOICES:
            return
        value, chosen = row.wanted, self.model.section(facet).chosen  # the row may be another by the time of the choice
        menu = QMenu(self.tree)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        only = menu.addAction(tr("Only this value"), lambda: self._choose(facet, narrowed, value))
        only.setEnabled(chosen != [value] and row.can_be_chosen)
        if row.is_chosen:
            menu.addAction(tr("Remove from the filter"), lambda: self._choose(facet, toggled, value))
        elif facet.takes_several:
            menu.addAction(tr("Add to the filter"), lambda: self._choose(facet, toggled, value))
        menu.addSeparator()
        menu.addAction(tr("Copy value"), lambda: QGuiApplication.clipboard().setText(value))
        menu.addSeparator()
        menu.setToolTipsVisible(True)
        forget = menu.addAction(tr("Forget all with this value…"), lambda: self._forget(facet, value))
        allow(forget, self._why_not_forget or ("" if row.can_be_chosen else tr("No filter can have this value")))
        menu.popup(at)

    def allow_forgetting(self, why_not: str) -> None:
        """Let what has a value be forgotten, or say why it cannot be."""
        self._why_not_forget = why_not

    def _forget(self, facet: Facet, value: str) -> None:
        try:
            self.forget_wanted.emit(narrowed(facet, self._filter, value))
        except InvalidRequest as error:
            self.refused.emit(error)

    def _popup_head_menu(self, facet: Facet, at: QPoint) -> None:
        section, model = self.model.section(facet), self.model
        menu = QMenu(self.tree)
        menu.setObjectName(f"facetMenu:{facet}")
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._add_orders(menu, section.order, [facet])
        if facet.is_prefix:
            menu.addSeparator()
            group = QActionGroup(menu)
            for is_tree, words in ((False, tr("As a list")), (True, tr("As a tree"))):
                action = menu.addAction(words, partial(self._set_tree, facet, is_tree))
                action.setCheckable(True)
                action.setChecked(section.is_tree is is_tree)
                group.addAction(action)
        menu.addSeparator()
        is_pinned = facet in model.pinned
        pin_words = tr("Unpin") if is_pinned else tr("Pin on top")
        menu.addAction(pin_words, lambda: self._set_pinned(facet, not is_pinned))
        for step, words, keys in ((-1, tr("Move up"), "Alt+Up"), (1, tr("Move down"), "Alt+Down")):
            action = menu.addAction(words, partial(self._move, facet, step))
            action.setShortcut(QKeySequence(keys))  # seen here; the tree itself takes the keys
            action.setEnabled(model.can_move(facet, step))
        menu.addAction(tr("Hide"), lambda: self._set_hidden(facet, True)).setEnabled(len(model.facets) > 1)
        menu.popup(at)

    def _choose(self, facet: Facet, change: Change, value: str) -> None:
        """As by a key: the facet's rows stay where they are."""
        self._key_held = facet
        self._try(facet, change, value)

    def _show_more(self, facet: Facet, key: str) -> None:
        section = self.model.section(facet)
        fetched = section.fetched
        with keeping_place(self.tree):
            self.model.show_more(facet, key)
        if section.page is not None and section.page.more_buckets and section.fetched > fetched:
            self._start([facet])

    def _on_tree_node_opened(self, index: Index, is_open: bool) -> None:
        facet, row = self.model.facet_at(index), self.model.row_at(index)
        if facet is not None and row is not None:
            with keeping_place(self.tree):
                self.model.set_open(facet, row.value, is_open)

    # The arrangement

    def _sort(self, order: Order, facets: Iterable[Facet]) -> None:
        with keeping_place(self.tree):
            self.model.set_order(order, facets)

    def _set_tree(self, facet: Facet, is_tree: bool) -> None:
        section = self.model.section(facet)
        with keeping_place(self.tree):
            self.model.set_tree(facet, is_tree)
        self.tree.expand(self.model.facet_index(facet))
        if section.page is not None and section.page.more_buckets and len(section.page.buckets) < section.fetched:
            self._start([facet])

    def _set_pinned(self, facet: Facet, is_pinned: bool) -> None:
        self.model.set_pinned(facet, is_pinned)
        self._show_current()

    def _move(self, facet: Facet, step: int) -> None:
        self.model.move(facet, step)
        self._show_current()

    def _set_hidden(self, facet: Facet, is_hidden: bool) -> None:
        self.model.set_hidden(facet, is_hidden)

    def _on_tree_head_moved(self, index: Index, step: int) -> None:
        facet = self.model.facet_at(index)
        if facet is not None:
            self._move(facet, step)

    def _show_current(self) -> None:
        self.tree.executeDelayedItemsLayout()
        self.tree.scrollTo(self.tree.currentIndex())

    def _fill_shown_menu(self) -> None:
        facets = list(self.model.arrangement), set(self.model.hidden)
        if facets == self._shown_filled:
            return
        self._shown_filled = facets
        self.shown_menu.clear()
        for facet in self.model.arrangement:
            is_shown = facet not in self.model.hidden
            action = self.shown_menu.addAction(label(WORDS[facet].title))
            action.setCheckable(True)
            action.setChecked(is_shown)
            allow(action, tr("One facet is always shown") if is_shown and len(self.model.facets) == 1 else "")
            action.setData(str(facet))
            action.triggered.connect(lambda checked, facet=facet: self._set_hidden(facet, not checked))

    def _on_put_back_triggered(self) -> None:
        self.model.arrange_facets(WORDS)

    # Sections

    # One by one: expandAll and collapseAll say nothing of each, and the find boxes have to come and go.
    def _on_expand_triggered(self) -> None:
        for facet in self.model.facets:
            self.tree.expand(self.model.facet_index(facet))

    def _on_collapse_triggered(self) -> None:
        for facet in self.model.facets:
            self.tree.collapse(self.model.facet_index(facet))

    def _on_tree_expanded(self, index: Index) -> None:
        facet = self.model.facet_at(index)
        if facet is not None:
            self._open.add(facet)
            self._add_find(facet)
            self._opened.start()  # those that are opened at once are counted together

    def _on_tree_collapsed(self, index: Index) -> None:
        facet = self.model.facet_at(index)
        if facet is not None:
            self._open.discard(facet)
            self._drop_find(facet)
            self.model.show_fewer(facet)

    def _on_model_rows_inserted(self, parent: Index, first: int, last: int) -> None:
        facet = self.model.facet_at(parent)
        if facet is not None and self.tree.isExpanded(self.model.facet_index(facet)):
            self._add_find(facet)
        for shown in self.model.facets[first : last + 1] if facet is None else []:
            if shown in self._open:  # it comes back as it went
                self.tree.expand(self.model.facet_index(shown))
                self._on_tree_expanded(self.model.facet_index(shown))

    def _on_model_rows_removed(self, parent: Index, first: int, last: int) -> None:
        facet = self.model.facet_at(parent)
        if facet is not None and not self.model.row_index(facet, RowType.FIND).isValid():
            self._find_edits.pop(facet, None)  # the view has dropped it with its row
        for hidden in self.model.hidden if facet is None else ():
            self._find_edits.pop(hidden, None)
            self._asked.pop(hidden, None)

    # The find boxes

    def find_edit(self, facet: Facet) -> FindEdit | None:
        """The find box of an open facet with values enough for one."""
        edit = self._find_edits.get(facet)
        return edit if edit is not None and isValid(edit) else None

    def _add_find(self, facet: Facet) -> None:
        index = self.model.row_index(facet, RowType.FIND)
        if not index.isValid() or self.find_edit(facet) is not None:
            return
        edit = FindEdit()
        edit.setObjectName(f"findEdit:{facet}")
        edit.setProperty("kind", "small")
        edit.setPlaceholderText(tr("Find {one}", one=WORDS[facet].one))
        edit.setAccessibleName(tr("Find {one}", one=WORDS[facet].one))
        edit.setText(self.model.section(facet).find)
        edit.setFocusPolicy(Qt.FocusPolicy.ClickFocus)  # by Tab it would come before the tree, even scrolled away
        edit.textChanged.connect(lambda text: self._on_find_text_changed(facet, text))
        edit.stepped.connect(lambda step: self._on_find_stepped(facet, step))
        holder = QWidget()
        row = QHBoxLayout(holder)
        is_mirrored = self.tree.isRightToLeft()
        row.setContentsMargins(EDGE * is_mirrored, FIND_MARGIN, EDGE * (not is_mirrored), FIND_MARGIN)
        row.addWidget(edit)
        self.tree.setIndexWidget(index, holder)
        QWidget.setTabOrder(self.tree, edit)  # Tab and Backtab leave it as they leave the tree
        self._find_edits[facet] = edit

    def _drop_find(self, facet: Facet) -> None:
        if self._find_edits.pop(facet, None) is not None:
            index = self.model.row_index(facet, RowType.FIND)
            if index.isValid() and (holder := self.tree.indexWidget(index)) is not None:
                self.tree.setIndexWidget(index, None)  # type: ignore[arg-type]
                holder.deleteLater()
        self.model.set_find(facet, "")

    def _on_find_text_changed(self, facet: Facet, text: str) -> None:
        section = self.model.section(facet)
        with keeping_place(self.tree):
            self.model.set_find(facet, text)
        if text and section.page is not None and section.page.more_buckets and section.fetched < MAX_BUCKETS:
            self.model.fetch_all(facet)
            self._start([facet])

    def _on_find_stepped(self, facet: Facet, step: int) -> None:
        """Leave the find box for the row above or below it."""
        find = self.model.row_index(facet, RowType.FIND)
        index = self.model.facet_index(facet)
        if step > 0:
            below = self.model.row_at(find.siblingAtRow(find.row() + 1))
            is_columns = below is not None and below.type is RowType.COLUMNS
            index = find.siblingAtRow(find.row() + 1 + is_columns)
        self.tree.setFocus(Qt.FocusReason.OtherFocusReason)
        if index.isValid():
            self.tree.setCurrentIndex(index)
