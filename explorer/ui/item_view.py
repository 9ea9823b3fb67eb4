"""The table of the item list, and how its cells are drawn."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from PySide6.QtCore import (
    QAbstractItemModel,
    QEvent,
    QItemSelection,
    QItemSelectionModel,
    QRect,
    Qt,
    Signal,
)
from PySide6.QtGui import (
    QColor,
    QFocusEvent,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QRegion,
    QResizeEvent,
    QWheelEvent,
)
from PySide6.QtWidgets import (
    QAbstractItemView,
    QFrame,
    QHeaderView,
    QStyle,
    QTableView,
    QWidget,
)

from explorer.contract import Hit, ItemKind
from explorer.i18n import tr
from explorer.text import date_in_full, day_and_time, number, shown, word
from explorer.ui.empty import SKELETON_ROWS
from explorer.ui.item_head import ItemHead
from explorer.ui.models.item_model import DOWN, NUMBERS, Column, ItemModel, head_words
from explorer.ui.rows import draw_bar, draw_icon, draw_pill, draw_text, fill_round, pill_width, text_width
from explorer.ui.theme import theme

PAD = 8  # of a cell, at both sides; the head's sections have the same
GAP = 10  # between a title and the text after it, and before a pill
EDGE = 3  # of the selected row
KIND_ICONS = {
    ItemKind.DOCUMENT: "document",
    ItemKind.CONVERSATION: "conversation",
    ItemKind.LEARNING: "learning",
}
_ICON = 16
BAR, BAR_UP = 2, 4  # a score's bar, and how far above the row's end it stands
ICON_AT = 14  # of a kind's icon, from the row's leading edge
_DESIGN_PX = 13  # the body size for which the widths below are meant
KIND_WIDTH = 40  # at every text size: icons do not grow with it
_NODE_WIDTHS = (124, 220)
_NODE_SHARE = 0.19  # of the view, between those two
_WIDTHS = {Column.AGENT: 104, Column.SOURCE: 104, Column.TAGS: 132}
WIDER = 16  # by a key
_LEAST = {Column.TEXT: 120, Column.NODE: 64, Column.AGENT: 48, Column.SOURCE: 48, Column.TAGS: 48}


class ItemView(QTableView):
    """Whole rows, one line each: hovered, selected and walked as one."""

    entered_row = Signal(int)  # Enter or a double click
    escaped = Signal()
    drag_wanted = Signal()  # the selected rows are being pulled
    arranged = Signal()  # the order or the widths of the columns were changed by hand

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("itemView")
        self.setAccessibleName(tr("Items"))
        self._hovered = -1
        self._chosen: dict[Column, int] = {}  # widths given by hand
        self._is_fitting = False
        self._is_pulling = False
        self._anchor = -1  # the row from which Shift extends the selection
        self._head = ItemHead(self)
        self.setHorizontalHeader(self._head)
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setShowGrid(False)
        self.setWordWrap(False)
        self.setCornerButtonEnabled(False)
        self.setTabKeyNavigation(False)
        self.setMouseTracking(True)
        self.setSelectionBehavior(QAbstractItemView.SelectionBehavior.SelectRows)
        self.setSelectionMode(QAbstractItemView.SelectionMode.ExtendedSelection)
        self.setEditTriggers(QAbstractItemView.EditTrigger.NoEditTriggers)
        self.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setHorizontalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.setDragEnabled(True)
        self.setDragDropMode(QAbstractItemView.DragDropMode.DragOnly)
        self.setTextElideMode(Qt.TextElideMode.ElideRight)
        self._rows = RowPainter(self)
        rows = self.verticalHeader()
        rows.hide()
        rows.setSectionResizeMode(QHeaderView.ResizeMode.Fixed)
        self.doubleClicked.connect(lambda index: self.entered_row.emit(index.row()))
        self._head.sectionResized.connect(self._on_head_section_resized)
        self._head.sectionMoved.connect(self._on_head_section_moved)
        self._head.sectionHandleDoubleClicked.connect(self.reset_widths)
        self._head.width_wanted.connect(lambda section, step: self.widen_column(Column(section), step))
        self._head.place_wanted.connect(lambda section, step: self.move_column(Column(section), step))
        self._head.left.connect(self._on_head_left)

    @property
    def head(self) -> ItemHead:
        return self._head

    def setModel(self, model: QAbstractItemModel | None) -> None:
        super().setModel(model)
        head = self.horizontalHeader()
        for column in Column:
            fixed = column is Column.KIND
            head.setSectionResizeMode(
                column, QHeaderView.ResizeMode.Fixed if fixed else QHeaderView.ResizeMode.Interactive
            )
        self.fit_to_font()

    def fit_to_font(self) -> None:
        """Heights and widths for the fonts in use."""
        rows = self.verticalHeader()
        rows.setMinimumSectionSize(16)
        rows.setDefaultSectionSize(theme().row_height("row"))
        head = self.horizontalHeader()
        head.setFixedHeight(theme().row_height("columnHead"))
        self.fit_columns()

    def set_column_hidden(self, column: Column, is_hidden: bool) -> None:
        """Hide or show a column; the text takes or gives the room."""
        if self.isColumnHidden(column) != is_hidden:
            self._is_fitting = True  # the head tells of it as of a dragged edge
            self.setColumnHidden(column, is_hidden)
            self._is_fitting = False
            self.fit_columns()

    def fit_columns(self) -> None:
        """Numbers and dates as wide as they are, what was chosen by hand as it was chosen, the rest for the text."""
        if self.model() is None or self._is_fitting:
            return
        room = self.viewport().width()
        others = [column for column in self.shown_columns() if column is not Column.TEXT]
        widths: dict[Column, int] = {column: self._wanted_width(column) for column in others}
        lacking = _scaled(_LEAST[Column.TEXT]) - (room - sum(widths.values()))
        if lacking > 0 and Column.NODE in widths:
            widths[Column.NODE] = max(self._least_width(Column.NODE), widths[Column.NODE] - lacking)
        widths[Column.TEXT] = max(_scaled(_LEAST[Column.TEXT]), room - sum(widths.values()))
        self._is_fitting = True
        for column, width in widths.items():
            self.setColumnWidth(column, width)
        self._is_fitting = False

    def _wanted_width(self, column: Column) -> int:
        if column is Column.KIND:
            return KIND_WIDTH
        least = self._least_width(column)
        if column in self._chosen:
            return max(least, self._chosen[column])
        if column in _WIDTHS:
            return _scaled(_WIDTHS[column])
        if column is Column.NODE:
            lowest, highest = map(_scaled, _NODE_WIDTHS)
            return min(highest, max(lowest, round(self.viewport().width() * _NODE_SHARE)))
        return least

    def _least_width(self, column: Column) -> int:
        """Below this a column would cut what it shows; text and nodes are cut with dots."""
        if column in _LEAST:
            return _scaled(_LEAST[column])
        model = self.model()
        score = model.widest_score if isinstance(model, ItemModel) else ""
        sorts = column in (Column.OBSERVED, Column.SCORE)
        head = f"{DOWN} {head_words(column)}" if sorts else head_words(column)
        texts = {
            Column.OBSERVED: _dates(),
            Column.SCORE: ["0.00", score],
            Column.LENGTH: [number(10_000)],
        }.get(column, ["0.00"])
        widest = max(*(text_width(text, "body") for text in texts), text_width(head, "smallMedium"))
        return widest + 2 * PAD + 1  # a pixel to spare: widths of text are fractions

    def columns(self) -> list[Column]:
        """All columns as they stand, from the leading edge."""
        return [Column(self._head.logicalIndex(at)) for at in range(self._head.count())]

    def shown_columns(self) -> list[Column]:
        """The columns that are shown, as they stand."""
        return [column for column in self.columns() if not self.isColumnHidden(column)]

    @property
    def widths(self) -> dict[Column, int]:
        """The widths that were given by hand, in pixels."""
        return dict(self._chosen)

    def arrange(self, columns: Sequence[Column], widths: Mapping[Column, int] | None = None) -> None:
        """Put the columns in an order, those not named after them; the kind stays first. `widths` as by hand."""
        order = list(dict.fromkeys([Column.KIND, *columns, *Column]))
        self._is_fitting = True
        for at, column in enumerate(order):
            self._head.moveSection(self._head.visualIndex(column), at)
        self._is_fitting = False
        if widths is not None:
            self._chosen = {column: width for column, width in widths.items() if column is not Column.TEXT}
        self.fit_columns()
        self.viewport().update()

    def move_column(self, column: Column, step: int) -> None:
        """Move a shown column past so many of its neighbours; towards the leading edge where `step` is negative.

        One that is not shown stays: a menu may be older than what it is about.
        """
        others: list[Column] = [one for one in self.shown_columns() if one is not Column.KIND]
        if column not in others:
            return
        at = others.index(column)
        to = min(max(0, at + step), len(others) - 1)
        if to != at:
            self._head.moveSection(self._head.visualIndex(column), self._head.visualIndex(others[to]))

    def widen_column(self, column: Column, step: int) -> None:
        """Make a shown column a little wider, or narrower where `step` is negative: the text gives or takes the room,
        or where it is the text itself, the column with most to spare. One that is not shown stays as it is.
        """
        if column is Column.KIND or column not in self.shown_columns():
            return
        by = step * _scaled(WIDER)
        if column is Column.TEXT:
            others = [one for one in self.shown_columns() if one not in (Column.KIND, Column.TEXT)]
            if not others:
                return
            column, by = max(others, key=lambda one: self.columnWidth(one) - self._least_width(one)), -by
        spare = self.columnWidth(Column.TEXT) - self._least_width(Column.TEXT)
        self._chosen[column] = max(self._least_width(column), self.columnWidth(column) + min(by, spare))
        self.fit_columns()
        self.arranged.emit()

    def reset_widths(self) -> None:
        """Let go of the widths that were given by hand."""
        self._chosen.clear()
        self.fit_columns()
        self.arranged.emit()

    def _on_head_left(self) -> None:
        self.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_head_section_moved(self) -> None:
        if self._is_fitting:
            return
        if (at := self._head.visualIndex(Column.KIND)) != 0:  # another was dragged before it
            self._is_fitting = True
            self._head.moveSection(at, 0)
            self._is_fitting = False
        self.viewport().update()
        self.arranged.emit()

    def _on_head_section_resized(self, section: int, before: int, now: int) -> None:
        """An edge was dragged: what one column gains, the one after it loses, so that the edge stays under the hand."""
        shown_columns = self.shown_columns()
        if self._is_fitting or now == before or section not in shown_columns:
            return
        column = Column(section)
        neighbours = shown_columns[shown_columns.index(column) + 1 :]
        if neighbours:
            after = neighbours[0]
            moved = min(now - before, self.columnWidth(after) - self._least_width(after))
            moved = max(moved, self._least_width(column) - before)
            for one, width in ((column, before + moved), (after, self.columnWidth(after) - moved)):
                if one is not Column.TEXT:
                    self._chosen[one] = width
        self.fit_columns()
        self.arranged.emit()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.fit_columns()

    @property
    def hovered(self) -> int:
        """The row under the pointer; -1 for none."""
        return self._hovered

    def visible_rows(self) -> range:
        """The rows that can be seen now."""
        model = self.model()
        if model.rowCount() == 0:
            return range(0)
        first = max(0, self.rowAt(0))
        last = self.rowAt(self.viewport().height() - 1)
        return range(first, (last if last >= 0 else model.rowCount() - 1) + 1)

    def paintEvent(self, event: QPaintEvent) -> None:
        model = self.model()
        if isinstance(model, ItemModel):
            painter = QPainter(self.viewport())
            self._rows.paint(painter, event.region(), model)
            painter.end()

    # Keys

    def keyPressEvent(self, event: QKeyEvent) -> None:
        pressed = QKeySequence(event.keyCombination())
        for action in self.actions():
            if action.shortcut() == pressed:  # the view's own copying of a cell would come first otherwise
                action.trigger()
                return
        if event.key() == Qt.Key.Key_Escape:
            self.escaped.emit()
            return
        key, shift = event.key(), event.modifiers() & Qt.KeyboardModifier.ShiftModifier
        if key in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            if self.currentIndex().isValid():
                self.entered_row.emit(self.currentIndex().row())
            return
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            event.ignore()  # a row is one thing: there is no cell to go to
            return
        last = self.model().rowCount() - 1
        if key in (Qt.Key.Key_Home, Qt.Key.Key_End) and last >= 0:
            self._go_to(0 if key == Qt.Key.Key_Home else last, extends=bool(shift))
            return
        super().keyPressEvent(event)
        if not shift:
            self._anchor = self.currentIndex().row()

    def _go_to(self, row: int, *, extends: bool) -> None:
        """Make a row the current one; `extends`: with all rows from where the selection began."""
        index = self.model().index(row, Column.TEXT)
        if not extends:
            self.setCurrentIndex(index)
            self._anchor = row
            return
        anchor = self._anchor if 0 <= self._anchor < self.model().rowCount() else max(0, self.currentIndex().row())
        first, last = sorted((anchor, row))
        chosen = QItemSelection(self.model().index(first, 0), self.model().index(last, len(Column) - 1))
        flags = QItemSelectionModel.SelectionFlag
        self.selectionModel().select(chosen, flags.ClearAndSelect)
        self.selectionModel().setCurrentIndex(index, flags.NoUpdate)
        self.scrollTo(index)

    # The pointer and the focus

    def startDrag(self, supportedActions: Qt.DropAction) -> None:
        self._is_pulling = True
        self.drag_wanted.emit()  # what is dragged is read first; the model has no data to hand out

    def mousePressEvent(self, event: QMouseEvent) -> None:
        self._is_pulling = False
        super().mousePressEvent(event)
        if not event.modifiers() & Qt.KeyboardModifier.ShiftModifier:
            self._anchor = self.currentIndex().row()

    def mouseReleaseEvent(self, event: QMouseEvent) -> None:
        self._is_pulling = False
        super().mouseReleaseEvent(event)

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._is_pulling:
            return  # Qt would go on to select what is passed
        self._hover(self.rowAt(event.position().toPoint().y()))
        super().mouseMoveEvent(event)

    def wheelEvent(self, event: QWheelEvent) -> None:
        super().wheelEvent(event)
        self._hover(self.rowAt(event.position().toPoint().y()))

    def viewportEvent(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.Leave:
            self._hover(-1)
        return super().viewportEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()  # the whole selection changes its ground

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def _hover(self, row: int) -> None:
        if row == self._hovered:
            return
        for one in (self._hovered, row):
            if one >= 0:
                self.viewport().update(0, self.rowViewportPosition(one), self.viewport().width(), self.rowHeight(one))
        self._hovered = row


class RowPainter:
    """Draws the rows of the view: a row's ground, then its cells. Everything is plain text on one line.

    Not a delegate, which Qt asks for each cell by itself: that takes as long again as the drawing.
    """

    def __init__(self, view: ItemView) -> None:
        self._view = view

    def paint(self, painter: QPainter, region: QRegion, model: ItemModel) -> None:
        """Draw what is in `region` of the viewport."""
        view, head, area = self._view, self._view.head, region.boundingRect()
        first, last = view.rowAt(area.top()), view.rowAt(area.bottom())
        if first < 0:
            return
        shown_columns = view.shown_columns()
        places = [(column, head.sectionViewportPosition(column), head.sectionSize(column)) for column in shown_columns]
        left = min((start for _, start, _ in places), default=0)
        right = max((start + width for _, start, width in places), default=0)
        places = [one for one in places if one[1] <= area.right() and one[1] + one[2] > area.left()]
        selection, has_focus = view.selectionModel(), view.hasFocus()
        current = view.currentIndex().row() if has_focus else -1
        top = view.rowViewportPosition(first)
        for row in range(first, (last if last >= 0 else model.rowCount() - 1) + 1):
            height = view.rowHeight(row)
            ground = QRect(left, top, right - left, height)
            top += height
            if not region.intersects(ground):
                continue
            selected = selection.isSelected(model.index(row, 0))
            self._draw_ground(painter, ground, row, selected, has_focus, row == current)
            hit = model.held(row)
            focused = selected and has_focus
            for column, start, width in places:
                cell = QRect(start + PAD, ground.top(), width - 2 * PAD, height)
                if hit is None:
                    self._draw_blank(painter, cell, model, row, column, "raised" if selected else "idle")
                else:
                    self._draw_cell(painter, cell, model, row, column, hit, selected, focused)

    def _draw_cell(
        self,
        painter: QPainter,
        cell: QRect,
        model: ItemModel,
        row: int,
        column: Column,
        hit: Hit,
        selected: bool,
        focused: bool,
    ) -> None:
        main = "softText" if focused else "text3" if model.is_stale else "text"
        aside = "softText" if focused else "text3" if model.is_stale else "text2"
        match column:
            case Column.KIND:
                token = "accent" if focused else aside
                room = QRect(cell.left() - PAD, cell.top(), 2 * ICON_AT + _ICON, cell.height())
                if self._view.isRightToLeft():
                    room.moveRight(cell.right() + PAD)
                draw_icon(painter, room, KIND_ICONS[hit.kind], token)
            case Column.TEXT:
                self._draw_line(painter, cell, model, row, selected, main)
            case Column.NODE:
                node = model.cell(hit, column)
                if text_width(node) > cell.width():
                    node = node.partition(":")[2] or node  # the kind of node goes before any of its name
                draw_text(painter, cell, node, "body", aside)
            case _:
                if column is Column.OBSERVED and hit.meta.observed_at is None and not focused:
                    aside = "text3"
                side = Qt.AlignmentFlag.AlignRight if column in NUMBERS else Qt.AlignmentFlag.AlignLeft
                draw_text(painter, cell, model.cell(hit, column), "body", aside, side)
                if column is Column.SCORE and model.top_score > 0:
                    bar = QRect(cell.left(), cell.bottom() - BAR_UP, cell.width(), BAR)
                    draw_bar(painter, bar, max(0.0, hit.score) / model.top_score, track_token=None)

    def _draw_blank(
        self, painter: QPainter, cell: QRect, model: ItemModel, row: int, column: Column, ground: str
    ) -> None:
        """A row that is not held: what is to come, or that it is gone."""
        if model.is_gone(row):
            if column is Column.TEXT:
                draw_text(painter, cell, tr("No longer stored"), "body", "text3")
            return
        if column not in (Column.TEXT, Column.OBSERVED):
            return
        share = SKELETON_ROWS[row % len(SKELETON_ROWS)] if column is Column.TEXT else 1.0
        bar = QRect(cell.left(), cell.center().y() - 4, round(cell.width() * share), 9)
        fill_round(painter, QStyle.visualRect(self._view.layoutDirection(), cell, bar), 3, ground)

    def _draw_ground(
        self, painter: QPainter, ground: QRect, row: int, selected: bool, has_focus: bool, is_current: bool
    ) -> None:
        colors = theme()
        if selected:
            painter.fillRect(ground, colors.color("soft" if has_focus else "idle"))
        elif row == self._view.hovered:
            painter.fillRect(ground, colors.color("hover"))
        painter.fillRect(QRect(ground.left(), ground.bottom(), ground.width(), 1), colors.color("hover"))
        if selected:
            leading = ground.right() + 1 - EDGE if self._view.isRightToLeft() else ground.left()
            edge = QRect(leading, ground.top(), EDGE, ground.height())
            painter.fillRect(edge, colors.color("accent" if has_focus else "edge"))
        elif is_current:
            _draw_ring(painter, ground, colors.color("accent"))

    def _draw_line(
        self, painter: QPainter, cell: QRect, model: ItemModel, row: int, selected: bool, token: str
    ) -> None:
        parts = model.headline(row)
        kind = model.learning_kind(row)
        room = QRect(cell)
        if kind is not None:
            draw_pill(painter, cell, word(kind), ground="raised" if selected else "idle")
            room = self._before(cell, pill_width(word(kind)) + GAP)
        if not parts.line:
            draw_text(painter, room, tr("(empty)"), "body", "text3")
            return
        if not parts.title:
            draw_text(painter, room, shown(parts.rest), "medium" if selected else "body", token)
            return
        title = shown(parts.title)
        elide = Qt.TextElideMode.ElideMiddle if parts.is_path else Qt.TextElideMode.ElideRight
        took = draw_text(painter, room, title, "medium", token, elide=elide) + GAP
        rest = self._after(room, took)
        if parts.rest and rest.width() > 3 * theme().size_px("body"):  # less would be only the dots
            draw_text(painter, rest, shown(parts.rest), "body", token if token == "softText" else "text3")

    def _before(self, cell: QRect, width: int) -> QRect:
        return cell.adjusted(width, 0, 0, 0) if self._view.isRightToLeft() else cell.adjusted(0, 0, -width, 0)

    def _after(self, cell: QRect, width: int) -> QRect:
        return cell.adjusted(0, 0, -width, 0) if self._view.isRightToLeft() else cell.adjusted(width, 0, 0, 0)


def _draw_ring(painter: QPainter, rect: QRect, color: QColor) -> None:
    for side in (
        QRect(rect.left(), rect.top(), rect.width(), 2),
        QRect(rect.left(), rect.bottom() - 1, rect.width(), 2),
        QRect(rect.left(), rect.top(), 2, rect.height()),
        QRect(rect.right() - 1, rect.top(), 2, rect.height()),
    ):
        painter.fillRect(side, color)


def _scaled(width: int) -> int:
    """A width of the design, at the text size in use."""
    return round(width * theme().size_px("body") / _DESIGN_PX)


def _dates() -> list[str]:
    """The widest forms a date can take: which month and digit are widest is the font's matter."""
    digit = max("0123456789", key=text_width)
    day = f"{digit}{digit}"
    forms = [day_and_time(day, month, f"{day}:{day}") for month in range(1, 13)]
    return forms + [date_in_full(day, month, f"{day}{day}") for month in range(1, 13)]
