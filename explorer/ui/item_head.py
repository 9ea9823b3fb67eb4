"""The head of the item list's columns: dragged into order, and pressed to sort where the engine can."""

from __future__ import annotations

from PySide6.QtCore import QItemSelectionModel, Qt, Signal
from PySide6.QtWidgets import QHeaderView, QStyle, QStyleOptionHeader, QWidget

from explorer.ui.models.item_model import Column, ItemModel


class ItemHead(QHeaderView):
    """Only what can be sorted by answers to the pointer; the others are greyed and tell why in their tooltips."""

    sort_wanted = Signal(int)  # a Column

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(Qt.Orientation.Horizontal, parent)
        self.setObjectName("itemHead")
        self.setHighlightSections(False)
        self.setSectionsMovable(True)
        self.setSectionsClickable(True)
        self.setMinimumSectionSize(16)  # less than any column is given: each has its own least width
        self.sectionClicked.connect(self._on_self_section_clicked)

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
