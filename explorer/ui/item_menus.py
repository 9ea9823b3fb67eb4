"""The two buttons over the item list: the order of its rows, and its columns."""

from __future__ import annotations

from functools import partial

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QActionGroup
from PySide6.QtWidgets import QMenu, QToolButton, QWidget

from explorer.contract import ListOrder, SortBy
from explorer.i18n import mark, tr
from explorer.ui import icons
from explorer.ui.actions import allow, clear
from explorer.ui.item_view import ItemView
from explorer.ui.models.item_model import NAMES, SORT_OF, Column, ItemModel

ORDER_WORDS = {
    (SortBy.OBSERVED, True): mark("Newest first"),
    (SortBy.OBSERVED, False): mark("Oldest first"),
    (SortBy.KIND, False): mark("By kind"),
    (SortBy.KIND, True): mark("By kind, Z to A"),
    (SortBy.NODE, False): mark("By node"),
    (SortBy.NODE, True): mark("By node, Z to A"),
    (SortBy.AGENT, False): mark("By agent"),
    (SortBy.AGENT, True): mark("By agent, Z to A"),
    (SortBy.SOURCE, False): mark("By source"),
    (SortBy.SOURCE, True): mark("By source, Z to A"),
}
_NEVER_BY = {
    Column.TEXT: mark("By text"),
    Column.TAGS: mark("By tags"),
    Column.CONFIDENCE: mark("By confidence"),
    # Translators: an order of the list: by how well each hit fits a search
    Column.SCORE: mark("By score"),
    Column.LENGTH: mark("By length"),
}
"""What no engine sorts by."""


def order_words(order: ListOrder) -> str:
    return tr(ORDER_WORDS[order.by, order.descending])


def next_order(now: ListOrder, by: SortBy) -> ListOrder:
    """What pressing a column's head asks for: its usual direction first, then the other."""
    usual = ListOrder(by=by, descending=by is SortBy.OBSERVED)
    return usual if now.by is not by else ListOrder(by=by, descending=not now.descending)


class _MenuButton(QToolButton):
    def __init__(self, name: str, icon: str, words: str, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName(name)
        self.setProperty("kind", "small")
        self.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.setAccessibleName(words)
        self.setToolTip(words)
        icons.keep(self, icon)
        self._filled: object = None  # of what the menu was made last
        menu = QMenu(words, self)
        menu.setToolTipsVisible(True)
        menu.aboutToShow.connect(self.fill)
        self.setMenu(menu)

    def fill(self) -> None:
        """Bring the menu up to date, as it is when it opens; what is up to date stays."""
        raise NotImplementedError


class SortButton(_MenuButton):
    """The order of the rows, in words; what the engine cannot sort by is greyed, with the reason."""

    order_wanted = Signal(object)  # a ListOrder

    def __init__(self, model: ItemModel, parent: QWidget | None = None) -> None:
        super().__init__("sortButton", "sort", tr("Order of the items"), parent)
        self._model = model
        self._order = ListOrder()
        self._is_search = False
        self.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.show_order(self._order)
        self.fill()

    def show_order(self, order: ListOrder, *, is_search: bool = False) -> None:
        """The order in use where the engine serves any; else what the rows are found to be in."""
        self._order, self._is_search = order, is_search
        self.setText(self.words)
        self.setAccessibleName(tr("Order of the items: {order}", order=self.words))

    @property
    def words(self) -> str:
        if self._model.can_sort(Column.OBSERVED):
            return order_words(self._order)
        if self._is_search:
            return tr("Best first")
        return tr("Newest first") if self._model.sorted_by is Column.OBSERVED else tr("Engine's order")

    def set_narrow(self, is_narrow: bool) -> None:
        """The icon alone."""
        style = Qt.ToolButtonStyle
        self.setToolButtonStyle(style.ToolButtonIconOnly if is_narrow else style.ToolButtonTextBesideIcon)

    def fill(self) -> None:
        refusals = tuple(map(self._model.sort_refusal, Column))
        if self._filled == (self._order, refusals):
            return
        self._filled = (self._order, refusals)
        menu = self.menu()
        clear(menu)
        group = QActionGroup(menu)
        for (by, descending), words in ORDER_WORDS.items():
            if descending and by is not SortBy.OBSERVED and self._order != ListOrder(by=by):
                continue  # the other direction: a press on the column's head, or on the entry that is chosen
            order = ListOrder(by=by, descending=descending)
            column = next(column for column, each in SORT_OF.items() if each is by)
            action = menu.addAction(tr(words))
            action.setCheckable(True)
            allow(action, self._model.sort_refusal(column))
            action.setChecked(action.isEnabled() and order == self._order)
            action.triggered.connect(lambda _=False, order=order: self.order_wanted.emit(order))
            group.addAction(action)
        menu.addSeparator()
        if self._model.can_sort(Column.OBSERVED):
            other = ListOrder(by=self._order.by, descending=not self._order.descending)
            menu.addAction(tr("Reverse")).triggered.connect(lambda: self.order_wanted.emit(other))
            menu.addSeparator()
        for column, words in _NEVER_BY.items():
            action = menu.addAction(tr(words))
            allow(action, self._model.sort_refusal(column))


class ColumnsButton(_MenuButton):
    """Which columns are shown, where they stand and how wide they are."""

    shown_wanted = Signal(int, bool)  # a Column
    reset_wanted = Signal()

    def __init__(self, view: ItemView, parent: QWidget | None = None) -> None:
        super().__init__("columnsButton", "columns", tr("Columns"), parent)
        self._view = view
        self.fill()

    def fill(self) -> None:
        columns = self._view.columns(), self._view.shown_columns()
        if self._filled == columns:
            return
        self._filled = columns
        menu = self.menu()
        clear(menu)
        fill_columns_menu(menu, self._view, self)


def fill_columns_menu(menu: QMenu, view: ItemView, button: ColumnsButton) -> None:
    """The entries of the button, for the head's own menu too."""
    for column in view.columns():
        action = menu.addAction(tr(NAMES[column]))
        action.setCheckable(True)
        action.setChecked(not view.isColumnHidden(column))
        if column is Column.TEXT:
            allow(action, tr("The text is always shown"))
        action.triggered.connect(lambda on, column=column: button.shown_wanted.emit(column, on))
    menu.addSeparator()
    movable = [column for column in view.shown_columns() if column is not Column.KIND]
    for words, do, columns in (
        (tr("Move forward"), partial(view.move_column, step=-1), movable[1:]),
        (tr("Move back"), partial(view.move_column, step=1), movable[:-1]),
        (tr("Wider"), partial(view.widen_column, step=1), movable),
        (tr("Narrower"), partial(view.widen_column, step=-1), movable),
    ):
        places = menu.addMenu(words)
        places.setEnabled(bool(columns))
        for column in columns:
            places.addAction(tr(NAMES[column])).triggered.connect(lambda _=False, do=do, column=column: do(column))
    menu.addAction(tr("Reset widths")).triggered.connect(view.reset_widths)
    menu.addAction(tr("Columns as at first")).triggered.connect(button.reset_wanted)
