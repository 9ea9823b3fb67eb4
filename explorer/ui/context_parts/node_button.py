"""Which node a document is for: a button that names it, and a list with a find box below it."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QAbstractButton,
    QFrame,
    QLineEdit,
    QListWidget,
    QListWidgetItem,
    QSizePolicy,
    QStyle,
    QVBoxLayout,
    QWidget,
)

from explorer.contract import Namespace
from explorer.i18n import tr
from explorer.text import and_more, tip
from explorer.ui import icons
from explorer.ui.labels import plain_label
from explorer.ui.nodes import ON_THE_WAY, icon_of, words_of
from explorer.ui.rows import draw_focus_ring, draw_icon, draw_text, fill_round, text_width
from explorer.ui.theme import theme

MOST_LISTED = 300
_SIDE = 6
_ICON = 16
_CHEVRON = 12
_GAP = 5
_OWN_MOST_PX = 110  # for the words of its own segment
_POPUP_PX = (320, 280)
_ROLE = "smallMedium"
_PASSED = (Qt.Key.Key_Up, Qt.Key.Key_Down, Qt.Key.Key_PageUp, Qt.Key.Key_PageDown)


def _shorter(node: Namespace) -> list[str]:
    """The node in words, and what may be said of it where there is less room: its own segment is said last of all."""
    segments = list(map(str, node.segments))
    ends = [ON_THE_WAY.join(["…", *segments[at:]]) for at in range(1, len(segments))]
    return [words_of(node), *ends, *segments[-1:]]


class NodeButton(QAbstractButton):
    """Names a node and lets another one be chosen, among those that `nodes` knows."""

    chosen = Signal(object)  # a Namespace; None: whatever the filter names

    def __init__(
        self, name: str, label: str, nodes: Callable[[], Sequence[Namespace]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self._label = label
        self._nodes = nodes
        self._node = Namespace.ROOT
        self._popup: NodePopup | None = None
        self.follows = ""
        """What the entry says that chooses no node; empty for no such entry."""
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.clicked.connect(self.open)
        theme().changed.connect(self.updateGeometry)
        self.show_node(self._node)

    @property
    def node(self) -> Namespace:
        return self._node

    @property
    def popup(self) -> NodePopup | None:
        """The list, while it is open."""
        return self._popup

    def show_node(self, node: Namespace) -> None:
        """Name another node."""
        self._node = node
        self.setAccessibleName(tr("{label} {node}", label=self._label, node=words_of(node)))
        self.setToolTip(tip(self.accessibleName()))
        self.updateGeometry()
        self.update()

    def open(self) -> None:
        """The list of nodes, below the button."""
        popup = NodePopup(self._nodes(), self._node, self.follows, self)
        self._popup = popup
        popup.chosen.connect(self.chosen)
        popup.destroyed.connect(self._forget)
        popup.open_below(self)

    def _forget(self) -> None:
        self._popup = None

    def sizeHint(self) -> QSize:
        return QSize(text_width(words_of(self._node), _ROLE) + 1 + self._around, theme().row_height("chip"))

    def minimumSizeHint(self) -> QSize:
        own = min(text_width(_shorter(self._node)[-1], _ROLE) + 1, theme().scaled(_OWN_MOST_PX))
        return QSize(own + self._around, self.sizeHint().height())

    @property
    def _around(self) -> int:
        return 2 * _SIDE + _ICON + _CHEVRON + 2 * _GAP

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        inner = self.rect().adjusted(_SIDE, 0, -_SIDE, 0)

        def place(left: int, width: int) -> QRect:
            box = QRect(inner.left() + left, inner.top(), width, inner.height())
            return QStyle.visualRect(self.layoutDirection(), inner, box)

        if self.underMouse() or self.isDown():
            fill_round(painter, self.rect(), 6, "idle")
        draw_icon(painter, place(0, _ICON), icon_of(self._node))
        room = inner.width() - _ICON - _CHEVRON - 2 * _GAP
        words = place(_ICON + _GAP, room)
        said = next((one for one in _shorter(self._node) if text_width(one, _ROLE) <= room), str(self._node.last))
        width = draw_text(painter, words, said, _ROLE, "text", elide=Qt.TextElideMode.ElideMiddle)
        draw_icon(painter, place(_ICON + _GAP + width + _GAP, _CHEVRON), "chevron-down", "text2", _CHEVRON)
        if self.hasFocus():
            draw_focus_ring(painter, self.rect(), 6)
        painter.end()


class NodePopup(QFrame):
    """A find box over the nodes whose names have all of its words."""

    chosen = Signal(object)

    def __init__(self, nodes: Sequence[Namespace], current: Namespace, follows: str, parent: QWidget) -> None:
        super().__init__(parent, Qt.WindowType.Popup)
        self.setObjectName("nodePopup")
        self.setProperty("surface", "popup")
        self.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        self._nodes, self._current, self._follows = list(nodes), current, follows
        self.find_edit = QLineEdit()
        self.find_edit.setObjectName("nodeFindEdit")
        self.find_edit.setProperty("kind", "small")
        self.find_edit.setPlaceholderText(tr("Find a node"))
        self.find_edit.setAccessibleName(tr("Find a node"))
        self.list = QListWidget()
        self.list.setObjectName("nodeList")
        self.list.setAccessibleName(tr("Nodes"))
        self.list.setUniformItemSizes(True)
        self.list.setTextElideMode(Qt.TextElideMode.ElideMiddle)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.more_label = plain_label("small", "text3")
        column = QVBoxLayout(self)
        column.setContentsMargins(8, 8, 8, 8)
        column.setSpacing(6)
        column.addWidget(self.find_edit)
        column.addWidget(self.list, 1)
        column.addWidget(self.more_label)
        self.find_edit.installEventFilter(self)
        self.find_edit.textChanged.connect(self._fill)
        self.find_edit.returnPressed.connect(lambda: self._choose(self.list.currentItem()))
        self.list.itemClicked.connect(self._choose)
        self.list.itemActivated.connect(self._choose)
        self._fill()

    def open_below(self, button: QWidget) -> None:
        """Show it under `button`, where there is room on the screen."""
        self.resize(*map(theme().scaled, _POPUP_PX))
        corner = button.mapToGlobal(QPoint(0, button.height() + 2))
        if self.isRightToLeft():
            corner.setX(button.mapToGlobal(QPoint(button.width(), 0)).x() - self.width())
        screen = button.screen().availableGeometry()
        corner.setX(min(corner.x(), screen.right() - self.width()))
        if corner.y() + self.height() > screen.bottom():
            corner.setY(button.mapToGlobal(QPoint(0, 0)).y() - self.height() - 2)
        self.move(corner)
        self.show()
        self.find_edit.setFocus(Qt.FocusReason.PopupFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QKeyEvent) and event.type() == QEvent.Type.KeyPress and event.key() in _PASSED:
            self.list.keyPressEvent(event)
            return True
        return super().eventFilter(watched, event)

    def _fill(self) -> None:
        words = self.find_edit.text().lower().split()
        self.list.clear()
        if self._follows and not words:
            item = QListWidgetItem(icons.icon("funnel"), self._follows)
            item.setData(Qt.ItemDataRole.UserRole, "")
            self._add(item)
        found = (
            [node for node in self._nodes if all(word in str(node).lower() for word in words)] if words else self._nodes
        )
        for node in found[:MOST_LISTED]:
            item = QListWidgetItem(icons.icon(icon_of(node)), words_of(node))
            item.setData(Qt.ItemDataRole.UserRole, str(node))
            item.setToolTip(tip(str(node)))
            self._add(item)
            if node == self._current and not words:
                self.list.setCurrentItem(item)
        if self.list.currentRow() < 0:
            self.list.setCurrentRow(0)
        more = len(found) - MOST_LISTED
        self.more_label.setText(and_more(more) if more > 0 else "" if found else tr("No node has these words"))
        self.more_label.setVisible(bool(self.more_label.text()))

    def _add(self, item: QListWidgetItem) -> None:
        item.setSizeHint(QSize(0, theme().row_height("treeRow")))
        self.list.addItem(item)

    def _choose(self, item: QListWidgetItem | None) -> None:
        if item is None:
            return
        held: str = item.data(Qt.ItemDataRole.UserRole)
        self.chosen.emit(Namespace.parse(held) if held else None)
        self.close()
