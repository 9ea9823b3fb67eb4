"""Who can see an item: every node that is known, whether an agent placed there reads the item, and why."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from PySide6.QtCore import (
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QGuiApplication, QPainter
from PySide6.QtWidgets import (
    QHBoxLayout,
    QMenu,
    QSizePolicy,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from explorer.contract import Namespace
from explorer.i18n import tr, tr_n
from explorer.text import listed, number, shown, tip
from explorer.tools.visibility import who_sees
from explorer.ui import icons
from explorer.ui.labels import plain_label
from explorer.ui.models.list_model import ListModel
from explorer.ui.nodes import icon_of
from explorer.ui.rows import draw_icon, draw_text, text_width
from explorer.ui.theme import theme
from explorer.ui.trees import GAP, PaneTree, mirrored

ROWS_MOST = 6
"""Rows that are seen at once; the others are scrolled to."""
_ICON = 16
_CHARS = 300
Index = QModelIndex | QPersistentModelIndex


@dataclass(frozen=True, slots=True)
class Row:
    """A node, and how an agent placed there stands to the item."""

    node: Namespace
    sees: bool
    at: Namespace
    """Where the item lies."""

    @property
    def why(self) -> str:
        if self.node == self.at:
            return tr("placed here")
        if self.sees:
            return tr("below, reads upward")
        return tr("above, does not read down") if self.at.is_within(self.node) else tr("beside, never")


@dataclass(frozen=True)
class Seen:
    """Who sees what lies at one node, those that do first; how many they are; and how it is without a place."""

    rows: Sequence[Row]
    n: int
    note: str


def seen_at(at: Namespace, nodes: Sequence[Namespace]) -> Seen:
    """Of all nodes that are known, each once and in the order of the tree."""
    told = who_sees(at, [])
    below: list[Namespace] = []
    beside: list[Namespace] = []
    # The same as to ask `who_sees` about each of them, which takes seconds for many thousands.
    for node in nodes:
        if node.is_within(at):
            if node != at:
                below.append(node)
        elif not at.is_within(node):
            beside.append(node)
    above = list(at.ancestors_and_self())[:-1]
    rows = [*(Row(node, True, at) for node in (at, *below)), *(Row(node, False, at) for node in (*above, *beside))]
    if told.by_default:
        note = tr("Tools that are given no node read it as well.")
    else:
        note = tr("It lies in a sandbox: tools that are given no node do not read it.")
    return Seen(rows, 1 + len(below), note)


class SeenModel(ListModel[Row]):
    """The nodes as rows; there may be many thousands."""

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        row = self.entry(index)
        if row is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole | Qt.ItemDataRole.UserRole:
                return str(row.node)
            case Qt.ItemDataRole.ToolTipRole:
                act = tr("Press to see the memory as an agent there does.")
                return tip(f"{row.node}\n{row.why}\n{act}")
            case Qt.ItemDataRole.AccessibleTextRole:
                return listed((str(row.node), tr("sees it") if row.sees else tr("does not see it"), row.why))
        return None


class _RowDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, theme().row_height("treeRow"))


class _SeenTree(PaneTree):
    def __init__(self, model: SeenModel) -> None:
        super().__init__()
        self._seen = model
        self.setModel(model)
        self.setItemDelegate(_RowDelegate(self))
        self.setObjectName("seenByList")
        self.setProperty("surface", "base")
        self.setAccessibleName(tr("Who can see this"))
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setUniformRowHeights(True)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAsNeeded)
        theme().changed.connect(self.scheduleDelayedItemsLayout)

    def draw_cells(self, painter: QPainter, cell: QRect, index: QModelIndex) -> None:
        row = self._seen.entry(index)
        if row is None:
            return
        line = self.full_row(cell)
        token = "text" if row.sees else "text3"
        sign, tone = ("check-ring", "accent") if row.sees else ("minus-ring", "text3")
        left = 2 * GAP
        draw_icon(painter, mirrored(line, left - GAP, _ICON, self), sign, tone, _ICON)
        left += _ICON
        kind = icon_of(row.node)
        draw_icon(painter, mirrored(line, left, _ICON, self), kind, "text2" if row.sees else "text3", _ICON)
        left += _ICON + GAP
        why = min(text_width(row.why, "small") + 2, line.width() // 2)
        end = line.width() - GAP
        node, middle = shown(str(row.node), _CHARS), Qt.TextElideMode.ElideMiddle
        name = mirrored(line, left, max(0, end - why - GAP - left), self)
        draw_text(painter, name, node, "small", token, elide=middle)
        draw_text(painter, mirrored(line, end - why, why, self), row.why, "small", "text2" if row.sees else "text3")


class SeenBy(QWidget):
    """The list of nodes under its own small head. Pressing one sees the memory as an agent there does."""

    agent_wanted = Signal(object)  # a Namespace
    node_wanted = Signal(object)  # a Namespace: what lies at it

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("seenBy")
        self.title_label = plain_label("smallStrong", "text2", tr("Who can see this"))
        self.count_label = plain_label("small", "text2")
        self.count_label.setObjectName("seenByCountLabel")
        self.note_label = plain_label("small", "text3")
        self.note_label.setObjectName("seenByNoteLabel")
        self.note_label.setWordWrap(True)
        self.model = SeenModel(self)
        self.tree = _SeenTree(self.model)
        head = QHBoxLayout()
        head.addWidget(self.title_label)
        head.addStretch(1)
        head.addWidget(self.count_label)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(4)
        column.addLayout(head)
        column.addWidget(self.tree)
        column.addWidget(self.note_label)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.tree.row_clicked.connect(lambda index, _: self._see(index))
        self.tree.row_entered.connect(self._see)
        self.tree.menu_wanted.connect(self._on_tree_menu_wanted)
        theme().changed.connect(self._fit)
        self.show_seen(None)

    def show_seen(self, seen: Seen | None) -> None:
        """Replace what is shown; None while it is not known."""
        rows = seen.rows if seen is not None else ()
        if rows is not self.model.entries:
            self.model.show_entries(rows)
        said = ""
        if seen is not None:
            total = len(seen.rows)
            # Translators: of all the nodes that are known, how many read an item.
            said = tr_n("{n} of {total} node", "{n} of {total} nodes", total, n=number(seen.n), total=number(total))
        self.count_label.setText(said)
        self.note_label.setText(seen.note if seen is not None else "")
        self._fit()

    def _fit(self) -> None:
        self.tree.setFixedHeight(max(1, min(len(self.model.entries), ROWS_MOST)) * theme().row_height("treeRow"))

    def _see(self, index: Index) -> None:
        if (row := self.model.entry(index)) is not None:
            self.agent_wanted.emit(row.node)

    def _on_tree_menu_wanted(self, index: QModelIndex, at: QPoint) -> None:
        row = self.model.entry(index)
        if row is None:
            return
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        icons.keep(menu.addAction(tr("See as the agent here"), partial(self.agent_wanted.emit, row.node)), "agent")
        menu.addAction(tr("Show what is at this node"), partial(self.node_wanted.emit, row.node))
        path = str(row.node)
        menu.addAction(tr("Copy path"), lambda: QGuiApplication.clipboard().setText(path))
        menu.popup(at)
