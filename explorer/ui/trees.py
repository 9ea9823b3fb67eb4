"""What the two panels with a tree share: the head above it, how it takes clicks and keys, and keeping its place."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager

from PySide6.QtCore import (
    QEvent,
    QItemSelectionModel,
    QModelIndex,
    QPersistentModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    Signal,
)
from PySide6.QtGui import QAccessible, QContextMenuEvent, QFocusEvent, QKeyEvent, QMouseEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractItemView, QFrame, QHBoxLayout, QLabel, QSizePolicy, QTreeView, QWidget

from explorer.i18n import mark, tr
from explorer.text import tip
from explorer.ui import news
from explorer.ui.banner import Banner
from explorer.ui.icons import IconLabel
from explorer.ui.margins import margins
from explorer.ui.rows import Index, RowTree, draw_text, text_width
from explorer.ui.theme import theme

EDGE = 12  # from a panel's edge to its text and numbers
GAP = 8
WARNING = 12
BANNER_CHARACTERS = 120
FEW = 8  # runs of rows, whose places are found sooner than all is repainted

NOT_SEARCHED = mark("counted without the search")
NOT_SEARCHED_SHORT = mark("without the search")
NOT_SEARCHED_TIP = mark("The numbers are those of the filter alone: the search does not change them.")


def mirrored(row: QRect, left: int, width: int, tree: QWidget) -> QRect:
    """A part of `row` given from its leading edge, where it is on the screen."""
    start = row.right() + 1 - left - width if tree.isRightToLeft() else row.left() + left
    return QRect(start, row.top(), width, row.height())


class PaneBanner(Banner):
    """A banner in a narrow panel, of which it leaves most to the rows."""

    def __init__(self) -> None:
        super().__init__()
        # Its words take more lines here than its size hint is for.
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Preferred)

    def show_failure(self, error: Exception, again: Callable[[], None]) -> None:
        """Say why nothing could be counted; all of it in the tooltip, where it is long."""
        self.setToolTip(tip(news.sentence(error)))
        said = news.brief(error)
        short = said if len(said) <= BANNER_CHARACTERS else f"{said[: BANNER_CHARACTERS - 1].rstrip()}…"
        self.show_error(short, retry=again if news.may_pass(error) else None)


class Aside(QLabel):
    """A few words in a head, where controls come first: in short where they are cut otherwise, or not at all."""

    def __init__(self) -> None:
        super().__init__()
        self._short = ""
        self._token = "text3"
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def say(self, words: str, short: str, token: str) -> None:
        """Show other words."""
        self._short, self._token = short, token
        self.setText(words)
        self.update()

    @property
    def words_seen(self) -> str:
        """What there is room for now."""
        fitting = (words for words in (self.text(), self._short) if text_width(words, "small") <= self.width())
        return next(fitting, "")

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_text(QPainter(self), self.rect(), self.words_seen, "small", self._token)


class PaneHead(QFrame):
    """The bar above a panel: its name, an aside, and room for controls at the end.

    It can also be a dock's title bar, which asks the size hint and not the fixed height.
    """

    def __init__(self, title: str, aside: str = "", short: str = "", parent: QWidget | None = None) -> None:
        """`short`: the aside where there is little room."""
        super().__init__(parent)
        self._usual = aside, short
        self.setProperty("surface", "panelHead")
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        row = QHBoxLayout(self)
        row.setContentsMargins(margins(EDGE, 0, 2, 0))  # what stands at the end has some room around its icon
        row.setSpacing(3)
        name = QLabel(title)
        name.setTextFormat(Qt.TextFormat.PlainText)
        name.setProperty("textRole", "smallStrong")
        name.setProperty("tone", "text2")
        row.addWidget(name)
        self.warning = IconLabel("warning", "caution", WARNING)
        self.warning.hide()
        row.addWidget(self.warning)
        self.aside = Aside()
        row.addWidget(self.aside, 1)
        self.set_search(False)
        theme().changed.connect(self.updateGeometry)

    def add(self, control: QWidget) -> None:
        """Put a control after the others."""
        layout = self.layout()
        assert layout is not None
        layout.addWidget(control)

    def put_aside(self, aside: QWidget, *others: QWidget) -> None:
        """Have another aside, which takes the room that there is, and what stands after it."""
        row = self.layout()
        assert isinstance(row, QHBoxLayout)
        self.aside.hide()
        row.addWidget(aside, 1)
        for each in others:
            row.addWidget(each)

    def set_search(self, active: bool) -> None:
        """Say that what is counted below does not obey the search."""
        if active:
            self.aside.say(tr(NOT_SEARCHED), tr(NOT_SEARCHED_SHORT), "caution")
        else:
            self.aside.say(*self._usual, "text3")
        self.warning.setVisible(active)
        for part in (self, self.warning, self.aside):
            part.setToolTip(tr(NOT_SEARCHED_TIP) if active else "")
        self.warning.setAccessibleName(tr(NOT_SEARCHED) if active else "")

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), theme().row_height("dockTitle"))

    def minimumSizeHint(self) -> QSize:
        return QSize(super().minimumSizeHint().width(), theme().row_height("dockTitle"))


class PaneTree(RowTree):
    """A tree that says what was done to which row, and leaves what it means to its panel."""

    row_clicked = Signal(QModelIndex, QPoint)  # pressed and released on the same row, beside its chevron
    row_double_clicked = Signal(QModelIndex, QPoint)
    row_entered = Signal(QModelIndex)  # Enter
    row_spaced = Signal(QModelIndex)  # Space
    row_pointed = Signal()  # the pointer is over another row
    menu_wanted = Signal(QModelIndex, QPoint)  # by the right button or the menu key; where, on the screen
    left = Signal()  # the pointer, or the keyboard, has gone elsewhere

    is_changing = False  # on the class: the base's constructor asks for it already

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.pointer: QPoint | None = None
        self._pointed = QPersistentModelIndex()
        self._pressed = QPersistentModelIndex()
        self._changed: list[tuple[QModelIndex, QModelIndex]] = []  # the first and last of rows that were changed
        self.setProperty("surface", "panel")
        self.setExpandsOnDoubleClick(False)
        self.setEditTriggers(QTreeView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOn)  # numbers stay where they are
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setAnimated(False)
        self.collapsed.connect(self._on_collapsed)

    def full_row(self, rect: QRect) -> QRect:
        """The whole width of the row at `rect`."""
        return QRect(0, rect.y(), self.viewport().width(), rect.height())

    def dataChanged(self, first: Index, last: Index, roles: Sequence[int] = ()) -> None:
        # Not the tree view's own: it measures each row again, and what a row says never changes how high it is. The
        # one below it finds the place of each cell, only to repaint the range of them.
        if QAccessible.isActive():
            QAbstractItemView.dataChanged(self, first, last, roles)
            return
        self._changed.append((first.sibling(first.row(), 0), last.sibling(last.row(), 0)))
        if not self.is_changing:
            self.repaint_changed()

    def repaint_changed(self) -> None:
        """Repaint the rows that say something else: once all have changed, as it is only then known where each is."""
        if len(self._changed) > FEW:
            self.viewport().update()
        else:
            for first, last in self._changed:
                top, bottom = self.visualRect(first).top(), self.visualRect(last).bottom()
                self.viewport().update(0, top, self.viewport().width(), bottom + 1 - top)
        self._changed.clear()

    def updateEditorGeometries(self) -> None:
        # Qt calls this after each insertion, and with a widget in a row it lays the whole tree out: once is enough.
        if not self.is_changing:
            super().updateEditorGeometries()

    def mousePressEvent(self, event: QMouseEvent) -> None:
        index = self._row_at(event)
        self._pressed = QPersistentModelIndex(index)
        super().mousePressEvent(event)

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        pressed, self._pressed = self._pressed, QPersistentModelIndex()
        super().mouseReleaseEvent(event)
        index = self._row_at(event)
        if index.isValid() and pressed == QPersistentModelIndex(index):
            self.row_clicked.emit(index, event.position().toPoint())

    def mouseDoubleClickEvent(self, event: QMouseEvent) -> None:
        # Not the base's: it would also activate, on one click where the desktop is set so.
        self._pressed = QPersistentModelIndex()
        index = self._row_at(event)
        if index.isValid():
            self.row_double_clicked.emit(index, event.position().toPoint())
        else:
            super().mouseDoubleClickEvent(event)

    def _row_at(self, event: QMouseEvent) -> QModelIndex:
        """The row under the pointer for its left button; none over a chevron, which opens and closes by itself."""
        if event.button() != Qt.MouseButton.LeftButton:
            return QModelIndex()
        at = event.position().toPoint()
        index = self.indexAt(at)
        index = index.siblingAtColumn(0)
        if index.isValid() and self.model().hasChildren(index):
            start, step = self.visualRect(index), self.indentation()
            beside = (
                start.right() < at.x() <= start.right() + step
                if self.isRightToLeft()
                else (start.left() - step <= at.x() < start.left())
            )
            if beside:
                return QModelIndex()
        return index

    def keyPressEvent(self, event: QKeyEvent) -> None:
        index = self.currentIndex().siblingAtColumn(0)
        plain = event.modifiers() in (Qt.KeyboardModifier.NoModifier, Qt.KeyboardModifier.KeypadModifier)
        if index.isValid() and plain and event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.row_entered.emit(index)
            event.accept()
        elif index.isValid() and plain and event.key() == Qt.Key.Key_Space:
            self.row_spaced.emit(index)
            event.accept()
        elif index.isValid() and event.key() == Qt.Key.Key_Asterisk:
            self._expand_below(index)  # the base would, too, but say nothing of it
            event.accept()
        else:
            super().keyPressEvent(event)

    def _expand_below(self, index: QModelIndex) -> None:
        if self.model().hasChildren(index):
            self.expand(index)
            for row in range(self.model().rowCount(index)):
                self._expand_below(self.model().index(row, 0, index))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        self.pointer = event.position().toPoint()
        super().mouseMoveEvent(event)
        index = QPersistentModelIndex(self.indexAt(self.pointer).siblingAtColumn(0))
        if index != self._pointed:
            self._pointed = index
            self.row_pointed.emit()

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self.pointer = None
            self._pointed = QPersistentModelIndex()
            self.left.emit()
        return super().viewportEvent(event)

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        by_key = event.reason() == QContextMenuEvent.Reason.Keyboard
        index = (self.currentIndex() if by_key else self.indexAt(event.pos())).siblingAtColumn(0)
        if by_key and index.isValid():
            self.scrollTo(index)
            row = self.visualRect(index)
            at = self.viewport().mapToGlobal(row.bottomRight() if self.isRightToLeft() else row.bottomLeft())
        else:
            at = event.globalPos()
        if index.isValid():
            self.menu_wanted.emit(index, at)
        event.accept()  # else the window would show its menu of docks

    def _on_collapsed(self, index: QModelIndex) -> None:
        """Keep the current row among those that are seen."""
        above = self.currentIndex().parent()
        while above.isValid() and above != index:
            above = above.parent()
        if above.isValid():
            self._make_current(index)

    def _make_current(self, index: QModelIndex) -> None:
        self.selectionModel().setCurrentIndex(index, QItemSelectionModel.SelectionFlag.NoUpdate)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        if not self.currentIndex().isValid() and self.model() is not None:
            self._make_current(self.model().index(0, 0))
        reasons = Qt.FocusReason
        is_back = event.reason() in (reasons.ActiveWindowFocusReason, reasons.PopupFocusReason)
        if not is_back and event.reason() != reasons.MouseFocusReason:  # the keyboard must come to a row that is seen
            self.scrollTo(self.currentIndex())

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.left.emit()


@contextmanager
def keeping_place(tree: PaneTree) -> Iterator[None]:
    """Rows may come and go meanwhile: the one under the pointer stays there, or else the current one, or the first."""
    anchor = QPersistentModelIndex(_anchor(tree))
    top = tree.visualRect(anchor).top() if anchor.isValid() else 0
    tree.is_changing = True
    try:
        yield
    finally:
        tree.is_changing = False
    tree.executeDelayedItemsLayout()
    tree.updateEditorGeometries()
    tree.repaint_changed()
    if anchor.isValid():
        bar = tree.verticalScrollBar()
        bar.setValue(bar.value() + tree.visualRect(anchor).top() - top)


def _anchor(tree: PaneTree) -> QModelIndex:
    if tree.pointer is not None and (under := tree.indexAt(tree.pointer)).isValid():
        return under
    current = tree.currentIndex()
    if tree.hasFocus() and current.isValid() and tree.viewport().rect().intersects(tree.visualRect(current)):
        return current
    return tree.indexAt(QPoint(tree.viewport().width() // 2, 0)) if tree.verticalScrollBar().value() else QModelIndex()
