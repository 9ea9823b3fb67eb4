"""The head of the item list's columns: dragged into order, and pressed to sort where the engine can."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, QRect, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QKeyEvent,
    QPainter,
    QPaintEvent,
)
from PySide6.QtWidgets import QHeaderView, QStyle, QStyleOptionHeader, QWidget

from explorer.i18n import tr
from explorer.text import listed
from explorer.ui.models.item_model import NAMES, Column, ItemModel
from explorer.ui.rows import draw_focus_ring


class ItemHead(QHeaderView):
    """Only what can be sorted by answers to the pointer; the others are greyed and tell why in their tooltips.

    With the focus, the arrow keys go from column to column; with Shift they size the column, with Ctrl they move it.
    """

    sort_wanted = Signal(int)  # a Column
    width_wanted = Signal(int, int)  # a Column, and wider (1) or narrower (-1)
    place_wanted = Signal(int, int)  # a Column, and further on (1) or back (-1)
    left = Signal()  # for the rows

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setObjectName("itemHead")
        self.setAccessibleName(tr("Columns"))
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self.setHighlightSections(False)
        self.setSectionsMovable(True)
        self.setSectionsClickable(True)
        self.setMinimumSectionSize(16)  # less than any column is given: each has its own least width
        self._current = Column.TEXT
        self.sectionClicked.connect(self._on_self_section_clicked)

    @property
    def current(self) -> Column:
        """The column that the keys are for; a hidden one gives way to the text, which never is."""
        return Column.TEXT if self.isSectionHidden(self._current) else self._current

    def can_sort(self, section: int) -> bool:
        """Whether pressing the head of a column sorts by it."""
        model = self.model()
        return isinstance(model, ItemModel) and model.can_sort(Column(section))

    def setSelectionModel(self, selectionModel: QItemSelectionModel) -> None:
        # One of its own, always empty: a head asks of each section whether all its rows are selected, row by row.
        super().setSelectionModel(QItemSelectionModel(selectionModel.model(), self))

    def initStyleOptionForIndex(self, option: QStyleOptionHeader, logicalIndex: int) -> None:
        super().initStyleOptionForIndex(option, logicalIndex)
        model = self.model()
        if isinstance(model, ItemModel) and not model.can_sort(Column(logicalIndex)):
            option.state &= ~(QStyle.StateFlag.State_MouseOver | QStyle.StateFlag.State_Sunken)
            if model.sorted_by != logicalIndex:
                option.state &= ~QStyle.StateFlag.State_Enabled

    def _on_self_section_clicked(self, section: int) -> None:
        if self.can_sort(section):
            self.sort_wanted.emit(section)

    # The keyboard

    def keyPressEvent(self, event: QKeyEvent) -> None:
        key, held = event.key(), event.modifiers() & ~Qt.KeyboardModifier.KeypadModifier
        if key in (Qt.Key.Key_Left, Qt.Key.Key_Right):
            step = 1 if (key == Qt.Key.Key_Right) is not self.isRightToLeft() else -1
            if held == Qt.KeyboardModifier.NoModifier:
                self._go(step)
            elif held == Qt.KeyboardModifier.ShiftModifier and self.current is not Column.KIND:
                self.width_wanted.emit(self.current, step)
            elif held == Qt.KeyboardModifier.ControlModifier and self.current is not Column.KIND:
                self.place_wanted.emit(self.current, step)
            else:
                event.ignore()
        elif key in (Qt.Key.Key_Return, Qt.Key.Key_Enter, Qt.Key.Key_Space):
            self._on_self_section_clicked(self.current)
        elif key == Qt.Key.Key_Down:
            self.left.emit()
        else:
            event.ignore()

    def _go(self, step: int) -> None:
        shown = [Column(self.logicalIndex(at)) for at in range(self.count())]
        shown = [column for column in shown if not self.isSectionHidden(column)]
        self._current = shown[min(max(0, shown.index(self.current) + step), len(shown) - 1)]
        self.viewport().update()
        self._tell()

    def _tell(self) -> None:
        """To who hears it: the column that the keys are for, and why it does not sort where it does not."""
        model = self.model()
        refusal = model.sort_refusal(self.current) if isinstance(model, ItemModel) else ""
        words = listed((tr(NAMES[self.current]), refusal))
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.viewport().update()
        self._tell()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.viewport().update()

    def paintEvent(self, event: QPaintEvent) -> None:
        super().paintEvent(event)
        if self.hasFocus():
            painter = QPainter(self.viewport())
            left = self.sectionViewportPosition(self.current)
            draw_focus_ring(painter, QRect(left, 1, self.sectionSize(self.current), self.viewport().height() - 2))
            painter.end()
