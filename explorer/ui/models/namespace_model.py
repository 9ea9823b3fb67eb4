"""The tree of nodes with the number of items at each, and at and below each."""

from __future__ import annotations

from bisect import bisect_left
from collections.abc import Collection, Iterator, Mapping
from dataclasses import dataclass, field
from enum import IntEnum
from operator import attrgetter
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from explorer.contract import ExplorePage, InvalidRequest, Namespace, Reach, SegmentKind
from explorer.i18n import mark, tr, tr_n
from explorer.text import at_least, listed, number, tip
from explorer.ui.nodes import icon_of

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()
Order = tuple[tuple[str, str], ...]
ROOT = str(Namespace.ROOT)

NodeRole = Qt.ItemDataRole.UserRole + 1


class Column(IntEnum):
    """What stands beside each other in a row."""

    NODE = 0
    HERE = 1
    ALL = 2


_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable

HEADS = {Column.NODE: mark("Node"), Column.HERE: mark("Here"), Column.ALL: mark("All")}
HEAD_TIPS = {
    Column.HERE: mark("Items at the node itself"),
    Column.ALL: mark("Items at the node and everywhere below it, sandboxes aside"),
}


@dataclass(eq=False)  # a node is itself: two with the same counts are two
class Node:
    """One node of the tree, with its counts under the filter."""

    namespace: Namespace
    path: str
    parent: Node | None = None
    children: list[Node] = field(default_factory=list)
    row: int = 0
    """Its place among its parent's children."""
    order: Order = ()
    """What it is sorted by: segment by segment, never as one text."""
    here: int = 0
    all: int = 0
    """Here and below, without what lies in a sandbox further down."""

    @property
    def is_sandbox(self) -> bool:
        """Whether what is above does not count it."""
        last = self.namespace.last
        return last is not None and last.kind is SegmentKind.SERVICE

    @property
    def prefix(self) -> str:
        """The kind of its own segment as it is written, with the colon; nothing at the root."""
        last = self.namespace.last
        return "" if last is None else f"{last.kind.prefix}:"

    @property
    def id(self) -> str:
        """What tells it from its siblings of one kind."""
        last = self.namespace.last
        return tr("root") if last is None else last.id

    @property
    def icon(self) -> str:
        """The name of the drawing for its kind."""
        return icon_of(self.namespace)


class NamespaceModel(QAbstractItemModel):
    """All nodes that are known, each below its parent; the root is the one top row."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._root = Node(Namespace.ROOT, ROOT)
        self._nodes: dict[str, Node] = {ROOT: self._root}  # by path: to hash a namespace costs as much as to read it
        # The indexes hold ids of nodes, and an id may be asked for after its node is gone.
        self._by_id: dict[int, Node] = {id(self._root): self._root}
        self._is_counted = False
        self._is_truncated = False
        self._counted_items = 0
        self._is_stale = False
        self._chosen: Namespace | None = None
        self._scope: Reach | None = None

    # What it holds

    @property
    def is_counted(self) -> bool:
        """Whether there are counts at all."""
        return self._is_counted

    @property
    def is_truncated(self) -> bool:
        """Whether counting stopped early, so that every number is a lower bound."""
        return self._is_truncated

    @property
    def is_stale(self) -> bool:
        """Whether newer counts were asked for and did not come."""
        return self._is_stale

    @property
    def chosen(self) -> Namespace | None:
        """The node that the filter names."""
        return self._chosen

    @property
    def size(self) -> int:
        """How many nodes there are."""
        return len(self._nodes)

    def nodes(self) -> list[Node]:
        """Every node from top to bottom, the root first."""
        return list(_walk(self._root))

    def names(self) -> list[Namespace]:
        """Where each node is, in the same order."""
        return [node.namespace for node in _walk(self._root)]

    def node(self, namespace: Namespace) -> Node | None:
        """The node at `namespace`, if it is known."""
        return self._nodes.get(str(namespace))

    def node_at(self, index: Index) -> Node | None:
        """The node of a row."""
        return self._by_id.get(index.internalId()) if index.isValid() else None

    def index_of(self, namespace: Namespace, column: int = Column.NODE) -> QModelIndex:
        """The row of `namespace`, or an invalid index."""
        node = self.node(namespace)
        return QModelIndex() if node is None else self._index(node, column)

    def count_text(self, count: int) -> str:
        """A count as it may be written; with a plus where counting stopped early."""
        if not self._is_counted:
            return ""
        return at_least(count) if self._is_truncated else number(count)

    def all_text(self, node: Node) -> str:
        """What stands under All; nothing for a sandbox, which has a pill there."""
        return "" if node.is_sandbox else self.count_text(node.all)

    # What it is told

    def clear(self) -> None:
        """Only the root, not counted."""
        self.beginResetModel()
        self._root = Node(Namespace.ROOT, ROOT)
        self._nodes = {ROOT: self._root}
        self._by_id = {id(self._root): self._root}
        self._is_counted = self._is_truncated = self._is_stale = False
        self.endResetModel()

    def set_chosen(self, namespace: Namespace | None) -> None:
        """Mark the node that the filter names."""
        before, self._chosen = self._chosen, namespace
        for one in (before, namespace):
            if one is not None and self.node(one) is not None:
                self.dataChanged.emit(self.index_of(one), self.index_of(one, Column.ALL))

    def set_scope(self, scope: Reach | None) -> None:
        """Nothing is read out of `scope`; None for no such bound."""
        if scope != self._scope:
            self._scope = scope
            self._changed()

    @property
    def has_scope(self) -> bool:
        """Whether anything bounds what is read here."""
        return self._scope is not None

    def is_out_of_scope(self, node: Node) -> bool:
        """Whether nothing at `node` can be read here, whatever the filter."""
        return self._scope is not None and not self._scope.admits(node.namespace)

    def set_stale(self) -> None:
        """The counts are those of before; newer ones will say themselves that they are not."""
        self._is_stale = self._is_counted
        self._changed()

    def _changed(self) -> None:
        for node in self.nodes():
            if node.row == 0:
                last = node if node.parent is None else node.parent.children[-1]
                self.dataChanged.emit(self._index(node), self._index(last, Column.ALL))

    def show_counts(self, page: ExplorePage, known: Collection[str] = ()) -> None:
        """Take new counts; the paths in `known` that hold nothing now, and all on the way down, have a row too.

        What is not a namespace is left out, as no filter could ask for it. Rows come and go singly, so that a view
        keeps its place and what is open in it.
        """
        counts = {bucket.value: bucket.count for bucket in page.buckets}
        spelling = self._is_counted, self._is_truncated, self._is_stale
        self._is_counted, self._is_truncated, self._counted_items = True, page.truncated, page.total
        self._is_stale = False
        self._show_nodes(known if counts.keys() <= set(known) else {*counts, *known})
        self._show_counts(counts)
        if spelling != (True, page.truncated, False):
            self._changed()  # numbers that are the same are written in another way

    def _show_nodes(self, paths: Collection[str]) -> None:
        whole = {ROOT}
        fresh: dict[str, Namespace] = {}
        for path in paths:
            if path not in self._nodes and path not in fresh:
                try:
                    namespace: Namespace | None = Namespace.parse(path)
                except InvalidRequest:
                    continue
                while namespace is not None and (own := str(namespace)) not in self._nodes and own not in fresh:
                    fresh[own] = namespace
                    namespace = namespace.parent
            while path not in whole:
                whole.add(path)
                path = path.rpartition("/")[0] or ROOT
        for path in [one for one in self._nodes if one not in whole]:
            if path in self._nodes:  # else gone with its parent
                self._remove(self._nodes[path])
        ordered = sorted((_order(namespace), path) for path, namespace in fresh.items())
        if ordered and len(self._nodes) == 1:  # the first time: at one go
            self.beginResetModel()
            for order, path in ordered:
                parent, at = self._place(path, order)
                self._add(Node(fresh[path], path, parent, order=order), at)
            self.endResetModel()
            return
        for order, path in ordered:
            parent, at = self._place(path, order)
            self.beginInsertRows(self._index(parent), at, at)
            self._add(Node(fresh[path], path, parent, order=order), at)
            self.endInsertRows()

    def _place(self, path: str, order: Order) -> tuple[Node, int]:
        """The node above, which there is, and the row below it."""
        parent = self._nodes[path.rpartition("/")[0] or ROOT]
        siblings = parent.children
        if not siblings or siblings[-1].order < order:
            return parent, len(siblings)
        return parent, bisect_left(siblings, order, key=attrgetter("order"))

    def _add(self, node: Node, at: int) -> None:
        assert node.parent is not None
        node.parent.children.insert(at, node)
        _number(node.parent.children, at)
        self._nodes[node.path] = node
        self._by_id[id(node)] = node

    def _remove(self, node: Node) -> None:
        parent = node.parent
        assert parent is not None
        self.beginRemoveRows(self._index(parent), node.row, node.row)
        del parent.children[node.row]
        _number(parent.children, node.row)
        for gone in _walk(node):
            del self._nodes[gone.path]
        self.endRemoveRows()
        for gone in _walk(node):
            del self._by_id[id(gone)]

    def _show_counts(self, counts: Mapping[str, int]) -> None:
        changed: dict[int, Node] = {}
        for node in reversed(self.nodes()):  # children before their parents
            before = node.here, node.all
            node.here = counts.get(node.path, 0)
            node.all = node.here + sum(child.all for child in node.children if not child.is_sandbox)
            if (node.here, node.all) != before:
                changed[id(node.parent)] = node
        for node in changed.values():
            beside = [node] if node.parent is None else node.parent.children
            self.dataChanged.emit(self._index(beside[0]), self._index(beside[-1], Column.ALL))

    # In words

    def _tip(self, node: Node) -> list[str]:
        lines = [node.path]
        if self._is_counted:
            lines.append(self._counts_in_words(node))
            if self._is_stale:
                lines.append(tr("These are the counts of before."))
            if self._is_truncated:
                lines.append(
                    tr(
                        "Counting stopped at {n} items, so every number is at least what it says.",
                        n=number(self._counted_items),
                    )
                )
        if node.is_sandbox:
            lines.append(tr("A sandbox: what is above does not count or read it."))
        if self.is_out_of_scope(node):
            lines.append(tr("The agent whose view this is does not read here."))
        return lines

    def _counts_in_words(self, node: Node) -> str:
        plural = max(node.here, 2) if self._is_truncated else node.here
        here = tr_n("{n} item here", "{n} items here", plural, n=self.count_text(node.here))
        if not node.children:
            return here
        # Translators: how many items, after “3 items here”.
        below = tr("{n} with everything below", n=self.count_text(node.all))
        return listed((here, below))

    def _spoken(self, node: Node) -> str:
        parts = [node.path]
        parts += [tr("sandbox")] if node.is_sandbox else []
        parts += [self._counts_in_words(node)] if self._is_counted else []
        parts += [tr("chosen")] if node.namespace == self._chosen else []
        parts += [tr("out of reach")] if self.is_out_of_scope(node) else []
        return listed(parts)

    # Qt's model

    def _index(self, node: Node, column: int = Column.NODE) -> QModelIndex:
        return self.createIndex(node.row, column, id(node))

    def rowCount(self, parent: Index = NOWHERE) -> int:
        if not parent.isValid():
            return 1
        node = self.node_at(parent)
        return len(node.children) if node is not None and parent.column() == 0 else 0

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return len(Column)

    def index(self, row: int, column: int, parent: Index = NOWHERE) -> QModelIndex:
        # Not through hasIndex: it asks back twice, and a layout asks for every row.
        if not 0 <= column < len(Column) or not 0 <= row < self.rowCount(parent):
            return QModelIndex()
        above = self.node_at(parent)
        node = self._root if above is None else above.children[row]
        return self.createIndex(row, column, id(node))

    def parent(self, child: Index = NOWHERE) -> QModelIndex:  # type: ignore[override]
        node = self.node_at(child)
        return QModelIndex() if node is None or node.parent is None else self._index(node.parent)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        return _FLAGS

    def headerData(self, section: int, orientation: Qt.Orientation, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if orientation is not Qt.Orientation.Horizontal or section not in list(Column):
            return None
        column = Column(section)
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return tr(HEADS[column])
            case Qt.ItemDataRole.ToolTipRole:
                return tr(HEAD_TIPS[column]) if column in HEAD_TIPS else None
        return None

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        node = self.node_at(index)
        if node is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                match index.column():
                    case Column.NODE:
                        return node.prefix + node.id
                    case Column.HERE:
                        return self.count_text(node.here)
                    case Column.ALL:
                        return tr("sandbox") if node.is_sandbox else self.all_text(node)
            case Qt.ItemDataRole.UserRole:
                return node.path
            case Qt.ItemDataRole.ToolTipRole:
                return tip("\n".join(self._tip(node)))
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._spoken(node) if index.column() == Column.NODE else None
            case _ if role == NodeRole:
                return node
        return None


def _order(namespace: Namespace) -> Order:
    return tuple((segment.kind.prefix, segment.id) for segment in namespace.segments)


def _number(nodes: list[Node], start: int) -> None:
    for at in range(start, len(nodes)):
        nodes[at].row = at


def _walk(node: Node) -> Iterator[Node]:
    """`node` and all below it, each before its children."""
    todo = [node]
    while todo:
        one = todo.pop()
        yield one
        todo.extend(reversed(one.children))
