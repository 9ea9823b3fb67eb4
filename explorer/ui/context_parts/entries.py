"""The items of a document and those that it is without, one a row, with the reason."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from PySide6.QtCore import (
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QAction, QFocusEvent, QGuiApplication, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QMenu,
    QPushButton,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)

from explorer.i18n import tr, tr_n
from explorer.text import inline, listed, named, number, out_of, shown, tip, word
from explorer.ui.actions import allow, panel_action
from explorer.ui.context_parts.shown import Entry
from explorer.ui.headline import headline
from explorer.ui.item_view import KIND_ICONS
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.models.journal_model import Index
from explorer.ui.models.list_model import ListModel
from explorer.ui.nodes import words_of
from explorer.ui.rows import draw_icon, draw_text
from explorer.ui.theme import theme
from explorer.ui.trees import EDGE, GAP, PaneTree, mirrored

_ICON = 16
_BETWEEN = 2
_AROUND = 10
_TIP_CHARS = 1_000


class EntryModel(ListModel[Entry]):
    """The entries as they are given."""

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        entry = self.entry(index)
        if entry is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return line_of(entry)
            case Qt.ItemDataRole.UserRole:
                return entry.hit.id
            case Qt.ItemDataRole.AccessibleTextRole:
                return listed((word(entry.hit.kind), line_of(entry), second_line(entry)))
            case Qt.ItemDataRole.ToolTipRole:
                said = shown(entry.hit.text, _TIP_CHARS)
                return tip("\n".join((said, words_of(entry.hit.meta.namespace), second_line(entry))))
        return None


def line_of(entry: Entry) -> str:
    """The item in one line."""
    return shown(headline(entry.hit).line) or tr("(empty)")


def _is_same(one: Entry, other: Entry) -> bool:
    """Whether they are of one item in one section; what is taken out goes to the end, and the row stays current."""
    return (one.hit.id, one.section, one.is_taken_out) == (other.hit.id, other.section, other.is_taken_out)


def second_line(entry: Entry) -> str:
    """Of which section it is, and why it is not in it."""
    heading = inline(entry.heading, 60)
    return named(heading, entry.why_not) if entry.why_not else heading


class _RowDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, sum(_line_heights()) + _BETWEEN + _AROUND)


def _line_heights() -> tuple[int, int]:
    return round(theme().metrics("body").height()), round(theme().metrics("small").height())


class EntryTree(PaneTree):
    """A row an item: what it says, and below it where it belongs."""

    take_out_wanted = Signal()

    def __init__(self, model: EntryModel) -> None:
        super().__init__()
        self._rows = model
        self.setModel(model)
        self.setItemDelegate(_RowDelegate(self))
        self.setObjectName("contextItems")
        self.setAccessibleName(tr("Items of the document"))
        self.setProperty("surface", "base")
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setUniformRowHeights(True)
        theme().changed.connect(self.scheduleDelayedItemsLayout)

    def draw_cells(self, painter: QPainter, cell: QRect, index: QModelIndex) -> None:
        entry = self._rows.entry(index)
        if entry is None:
            return
        body, small = _line_heights()
        row = self.full_row(cell)
        first = QRect(row.x(), row.y() + _AROUND // 2, row.width(), body)
        second = QRect(row.x(), first.bottom() + 1 + _BETWEEN, row.width(), small)
        is_in = entry.is_in
        draw_icon(
            painter, mirrored(first, EDGE, _ICON, self), KIND_ICONS[entry.hit.kind], "text2" if is_in else "text3"
        )
        left = EDGE + _ICON + GAP
        width = row.width() - left - EDGE
        draw_text(painter, mirrored(first, left, width, self), line_of(entry), "body", "text" if is_in else "text2")
        token = "text3" if is_in else "caution"
        draw_text(painter, mirrored(second, left, width, self), second_line(entry), "small", token)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Delete:
            self.take_out_wanted.emit()
        else:
            super().keyPressEvent(event)


class EntryPage(QWidget):
    """The items of all sections, or what one of them is without."""

    item_wanted = Signal(object)  # an Entry
    without_wanted = Signal(object, bool)  # an Entry, and whether the document is to be without its item
    back_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._all: list[Entry] = []
        self._section: int | None = None
        self.title_label = plain_label("smallStrong", "text2")
        self.title_label.setObjectName("contextItemsTitle")
        self.all_button = self._link("contextAllItemsButton", tr("All items"))
        self.back_button = self._link("contextBackButton", tr("Back to the document"))
        head = QFrame()
        head.setProperty("surface", "head")
        row = QHBoxLayout(head)
        row.setContentsMargins(margins(EDGE + 4, 3, EDGE - 4, 3))
        row.setSpacing(2)
        row.addWidget(self.title_label, 1)
        row.addWidget(self.all_button)
        row.addWidget(self.back_button)
        self.model = EntryModel(self)
        self.tree = EntryTree(self.model)
        self.open_action = panel_action(self, tr("context.md"), tr("Open item"))
        self.without_action = panel_action(self, tr("context.md"), tr("Without this item"))
        self.copy_action = panel_action(self, tr("context.md"), tr("Copy id"))
        self.open_action.setProperty("tip", tr("Show it above, in the item panel"))
        self.without_action.setProperty("tip", tr("See the document as if this item were not stored"))
        self.open_button = self._button("contextOpenItemButton", self.open_action)
        self.without_button = self._button("contextWithoutButton", self.without_action)
        self.menu = QMenu(self)
        self.menu.setTitle(tr("context.md"))
        self.menu.addActions([self.open_action, self.without_action, self.copy_action])
        foot = QFrame()
        foot.setProperty("surface", "foot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(margins(EDGE - 4, 4, EDGE - 4, 4))
        row.setSpacing(4)
        row.addWidget(self.open_button)
        row.addWidget(self.without_button)
        row.addStretch(1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(head)
        column.addWidget(self.tree, 1)
        column.addWidget(foot)
        self.all_button.clicked.connect(lambda: self.look_at(None))
        self.back_button.clicked.connect(self.back_wanted)
        self.tree.selectionModel().currentChanged.connect(lambda *_: self._allow())
        self.tree.row_entered.connect(lambda *_: self.open_action.trigger())
        self.tree.row_double_clicked.connect(lambda *_: self.open_action.trigger())
        self.tree.menu_wanted.connect(self._on_tree_menu_wanted)
        self.tree.take_out_wanted.connect(self.without_action.trigger)
        self.open_action.triggered.connect(self._on_open_action_triggered)
        self.without_action.triggered.connect(self._on_without_action_triggered)
        self.copy_action.triggered.connect(self._on_copy_action_triggered)
        self._allow()

    def _link(self, name: str, words: str) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setProperty("kind", "link")
        button.setProperty("textRole", "smallMedium")
        return button

    def _button(self, name: str, action: QAction) -> QPushButton:
        button = QPushButton(action.text())
        button.setObjectName(name)
        button.setProperty("kind", "small")
        button.setProperty("textRole", "smallMedium")
        button.clicked.connect(action.trigger)
        action.changed.connect(lambda: self._show_button(button, action))
        return button

    @staticmethod
    def _show_button(button: QPushButton, action: QAction) -> None:
        button.setText(action.text())
        button.setEnabled(action.isEnabled())
        button.setToolTip(action.toolTip())

    @property
    def current(self) -> Entry | None:
        return self.model.entry(self.tree.currentIndex())

    def show_entries(self, entries: Sequence[Entry]) -> None:
        """Show other items; the current one stays current, else the row where it was."""
        self._all = list(entries)
        self._show()

    def look_at(self, section: int | None) -> None:
        """What this section is without; None: every item of all of them."""
        self._section = section
        self._show()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.tree.setFocus(event.reason())

    def _show(self) -> None:
        current, row = self.current, self.tree.currentIndex().row()
        found = [one for one in self._all if self._section is None or (one.section == self._section and not one.is_in)]
        self.model.show_entries(found)
        same = next(
            (at for at, one in enumerate(found) if current is not None and _is_same(one, current)),
            min(max(row, 0), len(found) - 1),
        )
        if found:
            flags = QItemSelectionModel.SelectionFlag
            index = self.model.index(same, 0)
            self.tree.selectionModel().setCurrentIndex(index, flags.ClearAndSelect | flags.Rows)
            self.tree.scrollTo(index)
        if self._section is None:
            n, said = len(self._all), out_of(sum(one.is_in for one in self._all), len(self._all))
            words = tr_n("{n} item in the document", "{n} items in the document", n, n=said)
        else:
            heading = next((one.heading for one in self._all if one.section == self._section), "")
            section = inline(heading, 60)
            n = len(found)
            words = tr_n("{n} not in {section}", "{n} not in {section}", n, n=number(n), section=section)
        self.title_label.setText(words)
        self.all_button.setVisible(self._section is not None)
        self._allow()

    def _allow(self) -> None:
        entry = self.current
        nothing = "" if entry is not None else tr("No item is chosen")
        for action in (self.open_action, self.without_action, self.copy_action):
            allow(action, nothing)
        is_out = entry is not None and entry.is_taken_out
        self.without_action.setText(tr("Put back") if is_out else tr("Without this item"))

    def _on_open_action_triggered(self) -> None:
        if (entry := self.current) is not None:
            self.item_wanted.emit(entry)

    def _on_without_action_triggered(self) -> None:
        if (entry := self.current) is not None:
            self.without_wanted.emit(entry, not entry.is_taken_out)

    def _on_copy_action_triggered(self) -> None:
        if (entry := self.current) is not None:
            QGuiApplication.clipboard().setText(entry.hit.id)

    def _on_tree_menu_wanted(self, index: QModelIndex, at: QPoint) -> None:
        self.tree.setCurrentIndex(index)
        self.menu.popup(at)
