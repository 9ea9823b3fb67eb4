"""Where items go: the memory, the node, and what becomes of the tree below."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QStringListModel, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QCompleter,
    QFrame,
    QGridLayout,
    QHBoxLayout,
    QLineEdit,
    QSizePolicy,
    QWidget,
)

from explorer import text
from explorer.contract import InvalidRequest, Namespace, is_blank
from explorer.i18n import mark, tr
from explorer.removal.moving import Way
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.segments import Segments
from explorer.ui.theme import theme

KEEP, FLATTEN = mark("Keep the tree below"), mark("All at this node")
HERE = ""
"""The key of the memory that items come from."""
_TYPING_MS = 400
_FIELD_PX = 320


@dataclass(frozen=True, slots=True)
class Place:
    """A memory that items can go to: the key it is opened by, and what a person calls it."""

    key: str
    name: str
    engine: str


class MoveForm(QFrame):
    """`changed` comes when the answer is another, and once a person pauses in typing it."""

    place_changed = Signal()
    typed = Signal()  # the node is being typed: what was answered before is no answer any more
    changed = Signal()

    def __init__(self, places: Sequence[Place], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._places = list(places)
        self._known: frozenset[Namespace] = frozenset()
        self._has_tree = True
        self.place_box = QComboBox()
        self.place_box.setObjectName("movePlaceBox")
        self.place_box.setAccessibleName(tr("To which memory"))
        self.place_box.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self.place_box.setMinimumContentsLength(20)
        for place in self._places:
            name = text.shown(place.name, 60)
            words = tr("This memory: {name}", name=name) if place.key == HERE else text.listed((name, place.engine))
            self.place_box.addItem(words)
        self.own_check = QCheckBox(tr("Each item to the node it has"))
        self.own_check.setObjectName("ownNodesCheck")
        self.own_check.setChecked(True)
        self.node_edit = QLineEdit()
        self.node_edit.setObjectName("moveNodeEdit")
        self.node_edit.setProperty("textRole", "mono")
        self.node_edit.setAccessibleName(tr("To which node"))
        # Translators: an example of a node, in a field; kind:id stays as it is.
        self.node_edit.setPlaceholderText(tr("such as team:acme/agent:writer, or root"))
        self._names = QStringListModel(self)
        self.completer = QCompleter(self._names, self)
        self.completer.setCaseSensitivity(Qt.CaseSensitivity.CaseInsensitive)
        self.completer.setFilterMode(Qt.MatchFlag.MatchContains)
        self.completer.setMaxVisibleItems(12)
        self.node_edit.setCompleter(self.completer)
        self.tree_choice = Segments([KEEP, FLATTEN])
        self.hint_label = plain_label("small", "text3")
        self.hint_label.setObjectName("moveNodeLabel")
        self.hint_label.setWordWrap(True)
        to_label, self._node_label = plain_label("body", "text2", tr("To")), plain_label("body", "text2", tr("Node"))
        to_label.setMinimumWidth(self._node_label.sizeHint().width())  # nothing moves while there is no node to name
        to_label.setBuddy(self.place_box)
        self._node_label.setBuddy(self.node_edit)
        first, second = QHBoxLayout(), QHBoxLayout()
        for row in (first, second):
            row.setSpacing(12)
        first.addWidget(self.place_box, 1)
        first.addWidget(self.own_check)
        second.addWidget(self.node_edit, 1)
        second.addWidget(self.tree_choice)
        grid = QGridLayout(self)
        grid.setContentsMargins(margins(24, 14, 24, 12))
        grid.setHorizontalSpacing(12)
        grid.setVerticalSpacing(8)
        grid.addWidget(to_label, 0, 0)
        grid.addLayout(first, 0, 1)
        grid.addWidget(self._node_label, 1, 0)
        grid.addLayout(second, 1, 1)
        grid.addWidget(self.hint_label, 2, 1)
        grid.setColumnStretch(1, 1)
        self.place_box.setMinimumWidth(theme().scaled(_FIELD_PX))
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(_TYPING_MS)
        self._typing.timeout.connect(self.changed)
        self.place_box.currentIndexChanged.connect(self._on_place_box_changed)
        self.own_check.toggled.connect(self._on_chosen)
        self.tree_choice.chosen.connect(self._on_chosen)
        self.node_edit.textEdited.connect(self._on_node_edit_edited)
        self.completer.activated.connect(self._on_chosen)
        self.node_edit.editingFinished.connect(self._on_node_edit_finished)
        self._show()

    @property
    def place(self) -> Place:
        return self._places[max(0, self.place_box.currentIndex())]

    def begin(self, has_tree: bool) -> None:
        """`has_tree`: whether what goes may lie below the node it is told from."""
        self._has_tree = has_tree
        self._show()

    def propose(self, key: str, to: Namespace | None, *, keeps_tree: bool) -> bool:
        """Answer as was answered before; False where the place of that key is none to go to any more."""
        at = next((at for at, place in enumerate(self._places) if place.key == key), None)
        if at is None:
            return False
        self.own_check.setChecked(to is None)
        self.node_edit.setText("" if to is None else str(to))
        self.tree_choice.set_choice(KEEP if keeps_tree else FLATTEN)
        self.place_box.setCurrentIndex(at)
        self._on_chosen()
        return True

    def set_nodes(self, nodes: Sequence[Namespace]) -> None:
        """The nodes that are known at the place, root first."""
        self._known = frozenset(nodes)
        self._names.setStringList([str(node) for node in nodes])
        self._show()

    def way(self, is_copy: bool) -> Way | None:
        """What is answered; None while it is no answer yet."""
        if self._keeps_nodes:
            return Way(None, is_copy=is_copy)
        try:
            node = None if is_blank(self.node_edit.text()) else Namespace.parse(self.node_edit.text())
        except InvalidRequest:
            return None
        keeps_tree = self._has_tree and self.tree_choice.choice == KEEP
        return None if node is None else Way(node, keeps_tree, is_copy)

    @property
    def _keeps_nodes(self) -> bool:
        return self.place.key != HERE and self.own_check.isChecked()

    def _show(self) -> None:
        self.own_check.setVisible(self.place.key != HERE)
        for part in (self._node_label, self.node_edit, self.tree_choice, self.hint_label):
            part.setVisible(not self._keeps_nodes)
        if self._keeps_nodes:
            return
        self.tree_choice.setVisible(self._has_tree)
        said, is_wrong = self._hint()
        self.hint_label.setText(said)
        self.hint_label.setProperty("tone", "caution" if is_wrong else "text3")
        self.hint_label.style().polish(self.hint_label)

    def _hint(self) -> tuple[str, bool]:
        typed = self.node_edit.text()
        if is_blank(typed):
            return tr("Type a node, or choose one; root is the top of the tree."), False
        try:
            node = Namespace.parse(typed)
        except InvalidRequest as error:
            return text.sentence(error.text), True
        if node in self._known:
            return tr("There is this node."), False
        return tr("There is nothing at this node yet: it is there as soon as an item is."), False

    def _on_place_box_changed(self) -> None:
        self._typing.stop()
        self._show()
        self.place_changed.emit()

    def _on_chosen(self) -> None:
        self._typing.stop()
        self._show()
        self.changed.emit()

    def _on_node_edit_edited(self) -> None:
        self._show()
        self._typing.start()
        self.typed.emit()

    def _on_node_edit_finished(self) -> None:
        if self._typing.isActive():
            self._on_chosen()
