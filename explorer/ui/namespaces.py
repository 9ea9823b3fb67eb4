"""The namespaces: where memory is placed, and which nodes the filter reads."""

from __future__ import annotations

import heapq
import math
from functools import partial

from PySide6.QtCore import QItemSelectionModel, QModelIndex, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QGuiApplication, QPainter, QResizeEvent
from PySide6.QtWidgets import (
    QComboBox,
    QHeaderView,
    QMenu,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from explorer.contract import ExplorePage, MemoryEngine, MetaFilter, Namespace, Reach
from explorer.i18n import mark, tr
from explorer.removal.plan import Action, Target
from explorer.ui import icons
from explorer.ui.actions import allow
from explorer.ui.busy import BusyLine
from explorer.ui.jobs import Jobs
from explorer.ui.models.namespace_model import Column, Index, NamespaceModel, Node
from explorer.ui.rows import draw_icon, draw_pill, draw_text, pill_width, text_width
from explorer.ui.scans import Scan
from explorer.ui.theme import theme
from explorer.ui.trees import EDGE, GAP, PaneBanner, PaneHead, PaneTree, keeping_place, mirrored

REACHES = (
    ("exact", mark("only here")),
    ("inherit", mark("with its parents")),
    ("subtree", mark("and below")),
)
MENU_WORDS = {"exact": mark("Only here"), "subtree": mark("Here and below"), "inherit": mark("With its parents")}
SANDBOX = mark("sandbox")
OTHER_REACH = mark("its parents and below")  # a filter may hold what the box does not offer

INDENT = 14
ICON_LEFT = 4  # after the chevron
ICON = 16
NAME_LEFT = ICON_LEFT + ICON + ICON_LEFT + 2
NUMBER_WIDTH = 44
HEAD_PADDING = 4
REACH_LEAST = 124
MEASURED = 50  # siblings: the longest by their letters, among which the widest is

OPEN_DEPTH = 2
OPEN_NODES = 500  # of a tree larger than this only the first level is opened for the reader


def reach_of(kind: str, at: Namespace) -> Reach:
    """The reach that a choice of the box means at a node."""
    makers = {"exact": Reach.exact, "inherit": Reach.of, "subtree": Reach.subtree}
    return makers[kind](at)


def kind_of(reach: Reach) -> str | None:
    """The choice of the box that `reach` is; None where it is none of them."""
    return next((kind for kind, _ in REACHES if reach_of(kind, reach.at) == reach), None)


class MicroHead(QHeaderView):
    """Names of columns in the smallest type, ending where the numbers end."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setSectionsClickable(False)
        self.setStretchLastSection(False)
        self.setMinimumSectionSize(0)
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)

    def sizeHint(self) -> QSize:
        line = theme().metrics("micro").height() + HEAD_PADDING
        return QSize(super().sizeHint().width(), math.ceil(line / 4) * 4)

    def paintSection(self, painter: QPainter, rect: QRect, logicalIndex: int) -> None:
        painter.fillRect(rect, theme().color("panel"))
        words = self.model().headerData(logicalIndex, Qt.Orientation.Horizontal)
        inside = rect.adjusted(EDGE, 0, -EDGE, 0)
        is_number = logicalIndex != Column.NODE
        align = Qt.AlignmentFlag.AlignRight if is_number else Qt.AlignmentFlag.AlignLeft
        draw_text(painter, inside, words, "micro", "text3", align, Qt.TextElideMode.ElideNone)


class NamespaceDelegate(QStyledItemDelegate):
    """Draws the cells of the namespace tree."""

    def __init__(self, tree: PaneTree, model: NamespaceModel) -> None:
        super().__init__(tree)
        self._tree = tree
        self._model = model
        self._has_room: dict[str, bool] = {}  # by the path of a parent: for the prefixes of all its children
        for changed in (model.dataChanged, model.rowsInserted, model.rowsRemoved, model.modelReset, theme().changed):
            changed.connect(self.forget_widths)

    def forget_widths(self) -> None:
        """Measure again: something has another width."""
        self._has_room.clear()

    def shows_prefix(self, node: Node) -> bool:
        """Whether there is room for the kind before the name, at `node` and at each of its siblings."""
        if node.parent is None:
            return False
        known = self._has_room.get(node.parent.path)
        if known is None:
            known = self._has_room[node.parent.path] = self._fits_all(node.parent.children)
        return known

    def _fits_all(self, siblings: list[Node]) -> bool:
        # All as if chosen, and by the largest number: a choice changes no names.
        cell = self._tree.columnWidth(Column.NODE) - (siblings[0].namespace.depth + 1) * self._tree.indentation()
        width = self._name_width(cell, max(node.here for node in siblings), "strong")
        longest = heapq.nlargest(MEASURED, siblings, key=lambda node: len(node.prefix) + len(node.id))
        return max(text_width(node.prefix) + text_width(node.id, "strong") for node in longest) <= width

    def _name_width(self, cell_width: int, here: int, role: str) -> int:
        """The room for a name; a short number leaves some of its own."""
        spare = NUMBER_WIDTH - GAP - text_width(self._model.count_text(here), role)
        return cell_width - NAME_LEFT + max(0, spare)

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, theme().row_height("treeRow"))

    def paint_row(self, painter: QPainter, cell: QRect, index: Index) -> None:
        """Draw the row at `index`, whose first cell is at `cell`."""
        node, tree = self._model.node_at(index), self._tree
        if node is None:
            return
        is_chosen = node.namespace == self._model.chosen
        is_empty = self._model.is_counted and not node.here and not node.all
        is_dim = (is_empty and not is_chosen) or self._model.is_out_of_scope(node)
        self._paint_node(painter, cell, node, is_chosen, is_dim)
        for column in (Column.HERE, Column.ALL):
            place = QRect(tree.columnViewportPosition(column), cell.y(), tree.columnWidth(column), cell.height())
            if column == Column.ALL and node.is_sandbox:
                # Wider than a number: it begins before its column, and ends past the numbers to keep off those before.
                row = tree.full_row(cell)
                draw_pill(painter, mirrored(row, 0, row.width() - GAP, tree), tr(SANDBOX), dashed=True)
                continue
            if column == Column.HERE:
                said, token = self._model.count_text(node.here), "text2"
            else:
                # An agent reads no node below its own: of what it sees, only the first number tells.
                counts = bool(node.children) and not self._model.has_scope
                said, token = self._model.all_text(node), "text2" if counts else "text3"
            draw_text(
                painter,
                self._inside(place),
                said,
                "strong" if is_chosen else "body",
                "text3" if is_dim or self._model.is_stale else "text" if is_chosen else token,
                Qt.AlignmentFlag.AlignRight,
                Qt.TextElideMode.ElideNone,
            )

    def _inside(self, cell: QRect) -> QRect:
        """A number's cell without the room at its end; what is wider than the cell runs over its start."""
        if self._tree.isRightToLeft():
            return cell.adjusted(EDGE, 0, NUMBER_WIDTH, 0)
        return cell.adjusted(-NUMBER_WIDTH, 0, -EDGE, 0)

    def _paint_node(self, painter: QPainter, cell: QRect, node: Node, is_chosen: bool, is_dim: bool) -> None:
        icon = self._part(cell, ICON_LEFT, ICON)
        draw_icon(painter, icon, node.icon, "accent" if is_chosen else "text3" if is_dim else "text2", ICON)
        left = NAME_LEFT
        role = "strong" if is_chosen else "body"
        width = self._name_width(cell.width(), node.here, role)
        token = "text3" if is_dim else "text"
        if self.shows_prefix(node):  # else it goes before the name is cut: the kind is in the icon too
            prefix, own = text_width(node.prefix), text_width(node.id, role)
            # A path is read from left to right in every language: mirrored, its end is nearer to the icon.
            before, after = (own, 0) if self._tree.isRightToLeft() else (0, prefix)
            draw_text(painter, self._part(cell, left + before, prefix), node.prefix, "body", "text3")
            left, width = left + after, own
        draw_text(painter, self._part(cell, left, width), node.id, role, token, elide=Qt.TextElideMode.ElideMiddle)

    def _part(self, cell: QRect, left: int, width: int) -> QRect:
        return mirrored(cell, left, width, self._tree)


class NamespaceTree(PaneTree):
    """The tree of nodes, with their two numbers."""

    def __init__(self, model: NamespaceModel) -> None:
        super().__init__()
        self.setModel(model)
        self.delegate = NamespaceDelegate(self, model)
        self.setItemDelegate(self.delegate)

    def draw_cells(self, painter: QPainter, cell: QRect, index: QModelIndex) -> None:
        super().draw_cells(painter, cell, index)
        self.delegate.paint_row(painter, cell, index)


class ReachBox(QComboBox):
    """The choice of a reach, as wide as what is chosen: the words end at the arrow."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToContents)
        self.currentIndexChanged.connect(self.updateGeometry)

    def sizeHint(self) -> QSize:
        widest = super().sizeHint()
        texts = [self.itemText(at) for at in range(self.count())] + [self.placeholderText()]
        measure = self.fontMetrics().horizontalAdvance
        spare = max(map(measure, texts)) - measure(self.currentText() or self.placeholderText())
        return QSize(widest.width() - spare, widest.height())

    def minimumSizeHint(self) -> QSize:
        hint = self.sizeHint()  # large text may be cut: a panel must not push the others out of the window
        return QSize(min(hint.width(), REACH_LEAST), hint.height())

    def showPopup(self) -> None:
        view = self.view()
        view.setMinimumWidth(view.sizeHintForColumn(0) + 2 * EDGE)
        super().showPopup()


class NamespacePanel(QWidget):
    """The nodes with their counts under the filter, and the choice of where it reads."""

    filter_wanted = Signal(object)  # MetaFilter
    nodes_changed = Signal()  # there are others now
    agent_wanted = Signal(object)  # a Namespace: see as an agent that is placed there
    removal_wanted = Signal(object, object)  # a Target and an Action
    move_wanted = Signal(object)  # a Target

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("namespacePanel")
        self._why_not_forget = self._why_not_erase = self._why_not_erase_tree = self._why_not_move = ""
        self.jobs = Jobs(self)
        self._engine: MemoryEngine | None = None
        self._filter = MetaFilter()
        self._scope: Reach | None = None  # what an agent reads whose view this is
        self._answered: MetaFilter | None = None  # what the counts are of
        self.scan = Scan()
        self.counted_items = (0, False)
        """How many items were counted under this filter, and whether there are more."""
        self._known: set[str] = set()  # paths of nodes that hold something
        self._opened: dict[Namespace, bool] = {}
        self._is_opening = False
        self._must_reveal = False  # the node of a new filter, once it has a row

        self.head = PaneHead(tr("Namespaces"))
        self.reach_box = ReachBox()
        self.reach_box.setObjectName("reachBox")
        self.reach_box.setProperty("kind", "flat")
        self.reach_box.setProperty("textRole", "small")
        self.reach_box.setAccessibleName(tr("What is read with a node"))
        self.reach_box.setToolTip(tr("What is read with the node that is chosen"))
        self.reach_box.setPlaceholderText(tr(OTHER_REACH))
        for kind, words in REACHES:
            self.reach_box.addItem(tr(words), kind)
        self.reach_box.setCurrentIndex(self.reach_box.findData("subtree"))
        self.head.add(self.reach_box)

        self.model = NamespaceModel(self)
        self.tree = NamespaceTree(self.model)
        self.delegate = self.tree.delegate
        self.tree.setObjectName("namespaceTree")
        self.tree.setAccessibleName(tr("Namespaces"))
        self.tree.setIndentation(INDENT)
        self.tree.setUniformRowHeights(True)
        # The arrows move the current row only; what is selected is what the filter names.
        self.tree.setSelectionMode(PaneTree.SelectionMode.NoSelection)
        columns = MicroHead(self.tree)
        self.tree.setHeader(columns)
        columns.setSectionResizeMode(Column.NODE, QHeaderView.ResizeMode.Stretch)
        columns.setSectionResizeMode(Column.HERE, QHeaderView.ResizeMode.Fixed)
        columns.setSectionResizeMode(Column.ALL, QHeaderView.ResizeMode.Fixed)
        columns.sectionResized.connect(self.delegate.forget_widths)
        self._fit_columns()
        self.banner = PaneBanner()
        self.busy_line = BusyLine(self)  # over the tree, which must not move for it
        self.busy_line.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)

        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addWidget(self.banner)
        column.addWidget(self.tree, 1)

        self.tree.row_clicked.connect(self._on_tree_row_clicked)
        self.tree.row_entered.connect(self._choose)
        self.tree.row_spaced.connect(self._choose)
        self.tree.menu_wanted.connect(self._on_tree_menu_wanted)
        self.tree.expanded.connect(self._on_tree_expanded)
        self.tree.collapsed.connect(self._on_tree_collapsed)
        self.reach_box.activated.connect(self._on_reach_box_activated)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.busy_changed.connect(self.busy_line.set_busy)
        self.model.modelReset.connect(self._open_first)
        self.model.rowsInserted.connect(self._on_model_rows_inserted)
        theme().changed.connect(self._on_theme_changed)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.busy_line.setGeometry(0, 0, self.width(), self.busy_line.height())
        self.busy_line.raise_()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.tree.setFocus(event.reason())  # not by a focus proxy, see FacetPanel

    # What the window calls

    def names(self) -> list[Namespace]:
        """Every node that is known, from top to bottom."""
        return self.model.names()

    @property
    def current(self) -> Namespace | None:
        """The node that the keyboard is on; else the one that the filter names."""
        node = self.model.node_at(self.tree.currentIndex())
        if node is not None:
            return node.namespace
        return self._filter.reach.at if self._filter.reach is not None else None

    @property
    def has_counted(self) -> bool:
        """Whether anything was counted under this filter."""
        return self._answered == _without_reach(self._filter)

    def set_engine(self, engine: MemoryEngine | None) -> None:
        """Show the nodes of another engine; with None only the root."""
        self.jobs.cancel()
        self._engine = engine
        self._answered = None
        self._known = set()
        self._opened = {}
        self.scan = Scan()
        self.counted_items = (0, False)
        self.banner.clear()
        self.model.clear()
        self.refresh()

    def set_search(self, active: bool) -> None:
        """Say whether a search narrows the list further than what is counted here."""
        self.head.set_search(active)

    def show_filter(self, filter: MetaFilter, scope: Reach | None = None) -> None:
        """Count under `filter` without its reach, and mark the node it names; dim the nodes out of `scope`."""
        before, self._filter = self._filter, filter
        self._scope = scope
        self.model.set_scope(scope)
        self.reach_box.setEnabled(scope is None)
        self.reach_box.setToolTip(
            tr("What is read with the node that is chosen")
            if scope is None
            else tr("An agent reads its node and those above; leave its view to choose otherwise")
        )
        if filter.reach is not None:
            self.reach_box.setCurrentIndex(self.reach_box.findData(kind_of(filter.reach)))
        self._mark()
        if before != filter:
            self._must_reveal = filter.reach is not None
            self._reveal()
        if _without_reach(before) != _without_reach(filter):
            self.counted_items = (0, False)
            if self.scan.begin():
                self.banner.clear()
            self._count(known=False)
        elif self._must_reveal:  # a node that is not known: counting gives it a row
            self._count(known=False)

    def refresh(self) -> None:
        """Read the nodes and count again; what was there stays until then."""
        self._count(known=True)

    def count_all(self) -> None:
        """Count again and further, in steps that are shown, as far as the contract lets a count go."""
        self.scan.begin_all(self.counted_items[0])
        self.refresh()

    def cancel_counting(self) -> None:
        """Stop counting; the numbers that are there stay, marked stale where they are of another filter."""
        self.jobs.stop()
        self.scan = Scan()
        if not self.has_counted:
            self.model.set_stale()
        again = self.count_all if self.counted_items[1] else self.refresh
        self.banner.show_note(tr("Counting stopped."), tr("Count again"), again)

    async def aclose(self) -> None:
        """End what is running."""
        await self.jobs.aclose()

    # Counting

    def _count(self, known: bool) -> None:
        engine = self._engine
        if engine is not None:
            work = _read(engine, _without_reach(self._filter), known or not self._known, self.scan.limit)
            lane, other = ("everything", "counts") if self.scan.goes_on else ("counts", "everything")
            self.jobs.cancel(other)
            self.jobs.start(lane, work, lambda pages: self._on_counted(engine, *pages))

    def _on_counted(self, engine: MemoryEngine, page: ExplorePage, everything: ExplorePage | None) -> None:
        if engine is not self._engine:
            return
        if everything is not None:
            there = {bucket.value for bucket in everything.buckets}
            # What a count that stopped early did not reach may still be there.
            self._known = there | self._known if everything.truncated else there
        named = set() if self._filter.reach is None else {str(self._filter.reach.at)}
        before = self.model.size
        with keeping_place(self.tree):
            self.model.show_counts(page, self._known | named)
        if self.model.size != before or everything is not None:
            self.nodes_changed.emit()
        self._answered = _without_reach(self._filter)
        self.counted_items = page.total, page.truncated
        self._fit_columns()
        self._mark()
        self._reveal()
        if self.scan.step(page.truncated):
            self._count(known=True)
            self._say_counting_all()
        else:
            self._say_stopped(page)

    def _say_counting_all(self) -> None:
        self.banner.show_note(self.scan.words_so_far(self.counted_items[0]), tr("Cancel"), self.cancel_counting)

    def _say_stopped(self, page: ExplorePage) -> None:
        """Say where counting stopped, if it did: nodes that it did not reach have no row."""
        said = self.scan.words_at_end(page.total, page.truncated)
        if said is None:
            return
        if not said:
            self.banner.clear()
        elif self.scan.can_go_on:
            self.banner.show_note(said, tr("Count all"), self.count_all)
        else:
            self.banner.show_note(said)

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.scan.end_all()
        self.model.set_stale()
        self.banner.show_failure(error, self.refresh)

    # The node that is chosen

    def _mark(self) -> None:
        at = None if self._filter.reach is None else self._filter.reach.at
        self.model.set_chosen(at)
        selection = self.tree.selectionModel()
        index = QModelIndex() if at is None else self.model.index_of(at)
        if not index.isValid():
            selection.clearSelection()
        elif not selection.isSelected(index):
            flag = QItemSelectionModel.SelectionFlag
            selection.select(index, flag.ClearAndSelect | flag.Rows)

    def _reveal(self) -> None:
        """Once for each filter, bring its node into view and the keyboard to it."""
        reach = self._filter.reach
        index = QModelIndex() if reach is None else self.model.index_of(reach.at)
        if not self._must_reveal or not index.isValid():
            return
        self._must_reveal = False
        above = index.parent()
        while above.isValid():
            self.tree.expand(above)
            above = above.parent()
        self.tree.setCurrentIndex(index)
        if not self.tree.viewport().rect().intersects(self.tree.visualRect(index)):
            self.tree.scrollTo(index)

    def _on_tree_row_clicked(self, index: Index, at: QPoint) -> None:
        self._choose(index)

    def _choose(self, index: Index) -> None:
        node = self.model.node_at(index)
        if node is not None:
            self._want(node.namespace)

    def _on_reach_box_activated(self) -> None:
        if self._filter.reach is not None:
            self._want(self._filter.reach.at)

    def _want(self, at: Namespace) -> None:
        kind = self.reach_box.currentData() or "subtree"
        self._want_reach(reach_of(kind if self._scope is None else "exact", at))

    def _want_reach(self, reach: Reach) -> None:
        if reach != self._filter.reach:
            self.filter_wanted.emit(self._filter.model_copy(update={"reach": reach}))

    def _on_tree_menu_wanted(self, index: Index, at: QPoint) -> None:
        node = self.model.node_at(index)
        if node is None:
            return
        path = node.path
        menu = QMenu(self.tree)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        for kind, words in MENU_WORDS.items():
            reach = reach_of(kind, node.namespace)
            action = menu.addAction(tr(words), partial(self._want_reach, reach))
            is_read = self._scope is None or reach.within(self._scope)
            allow(action, "" if is_read else tr("The agent whose view this is does not read that"))
            if is_read:
                action.setEnabled(reach != self._filter.reach)
        menu.addSeparator()
        see = menu.addAction(tr("See as the agent here"), partial(self.agent_wanted.emit, node.namespace))
        icons.keep(see, "agent")
        see.setEnabled(self._scope != Reach.of(node.namespace))
        menu.addSeparator()
        menu.addAction(tr("Copy path"), lambda: QGuiApplication.clipboard().setText(path))
        menu.addSeparator()
        menu.setToolTipsVisible(True)
        here, below = Target.at(node.namespace), Target.below(node.namespace)
        whole = tr("Move or copy the whole tree…") if node.namespace.is_root else tr("Move or copy here and below…")
        for words, target in ((tr("Move or copy items here…"), here), (whole, below)):
            allow(menu.addAction(words, partial(self.move_wanted.emit, target)), self._why_not_move)
        menu.addSeparator()
        for words, target, act in _removals(node.namespace):
            action = menu.addAction(words, partial(self.removal_wanted.emit, target, act))
            why_not_erase = self._why_not_erase_tree if target.is_whole_tree else self._why_not_erase
            allow(action, why_not_erase if act is Action.ERASE else self._why_not_forget)
        menu.popup(at)

    def allow_removing(self, why_not_forget: str, why_not_erase: str, why_not_erase_tree: str) -> None:
        """Let nodes be forgotten and erased, and the whole tree be erased, or say why they cannot be."""
        self._why_not_forget, self._why_not_erase = why_not_forget, why_not_erase
        self._why_not_erase_tree = why_not_erase_tree

    def allow_moving(self, why_not: str) -> None:
        """Let what is at nodes be moved and copied, or say why it cannot be."""
        self._why_not_move = why_not

    # What is open

    def _on_tree_expanded(self, index: Index) -> None:
        self._remember(index, True)

    def _on_tree_collapsed(self, index: Index) -> None:
        self._remember(index, False)

    def _remember(self, index: Index, is_open: bool) -> None:
        node = self.model.node_at(index)
        if node is not None and not self._is_opening:
            self._opened[node.namespace] = is_open

    def _open_first(self) -> None:
        self._open(self.model.nodes())

    def _on_model_rows_inserted(self, parent: Index, first: int, last: int) -> None:
        above = self.model.node_at(parent)
        if above is not None:
            self._open([above, *above.children[first : last + 1]])

    def _open(self, nodes: list[Node]) -> None:
        """Open what the user opened before, and else the first levels."""
        depth = OPEN_DEPTH if self.model.size <= OPEN_NODES else 0
        self._is_opening = True
        for node in nodes:
            if node.children and self._opened.get(node.namespace, node.namespace.depth <= depth):
                self.tree.expand(self.model.index_of(node.namespace))
        self._is_opening = False

    # Sizes

    def _fit_columns(self) -> None:
        nodes = self.model.nodes()
        here = max((node.here for node in nodes), default=0)
        everywhere = max((node.all for node in nodes), default=0)
        pill = pill_width(tr(SANDBOX)) - EDGE if any(node.is_sandbox for node in nodes) else 0
        head = self.tree.header()
        head.blockSignals(True)  # the tree would paint all a second time, some time after it was told
        for column, largest, least in ((Column.HERE, here, NUMBER_WIDTH), (Column.ALL, everywhere, pill)):
            head_width = text_width(self.model.headerData(column, Qt.Orientation.Horizontal), "micro") + GAP
            width = max(NUMBER_WIDTH, least, head_width, text_width(self.model.count_text(largest), "strong") + GAP)
            head.resizeSection(column, width + EDGE)
        head.blockSignals(False)
        self.tree.viewport().update()
        self.delegate.forget_widths()

    def _on_theme_changed(self) -> None:
        self._fit_columns()
        self.tree.header().updateGeometry()
        self.tree.scheduleDelayedItemsLayout()


def _removals(at: Namespace) -> list[tuple[str, Target, Action]]:
    """What can be removed at a node: what is there itself, and all below as well."""
    here, below = Target.at(at), Target.below(at)
    if at.is_root:
        whole = tr("Forget the whole tree…"), tr("Erase the whole tree…")
    else:
        whole = tr("Forget here and below…"), tr("Erase here and below…")
    return [
        (tr("Forget items here…"), here, Action.FORGET),
        (whole[0], below, Action.FORGET),
        (tr("Erase items here…"), here, Action.ERASE),
        (whole[1], below, Action.ERASE),
    ]


def _without_reach(filter: MetaFilter) -> MetaFilter:
    return filter.model_copy(update={"reach": None})


async def _read(
    engine: MemoryEngine, filter: MetaFilter, known: bool, scan_limit: int
) -> tuple[ExplorePage, ExplorePage | None]:
    """The counts under `filter`, and those of everything where that is wanted."""
    page = await engine.namespaces(filter, scan_limit)
    if not known:
        return page, None
    return page, page if filter.is_empty() else await engine.namespaces(MetaFilter(), scan_limit)
