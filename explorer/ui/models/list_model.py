"""Rows of one list."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Generic, TypeVar

from PySide6.QtCore import QAbstractListModel, QModelIndex, QObject, QPersistentModelIndex

Index = QModelIndex | QPersistentModelIndex
_NO_INDEX = QModelIndex()
T = TypeVar("T")


class ListModel(QAbstractListModel, Generic[T]):
    """Holds the entries as they are given; what a row says is the subclass's `data`."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._entries: Sequence[T] = []

    @property
    def entries(self) -> Sequence[T]:
        return self._entries

    def show_entries(self, entries: Sequence[T]) -> None:
        """Show these in place of those of before."""
        self.beginResetModel()
        self._entries = entries
        self.endResetModel()

    def entry(self, index: Index) -> T | None:
        """That of a row; None where it is none."""
        return self._entries[index.row()] if index.isValid() and index.row() < len(self._entries) else None

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._entries)

    def hasChildren(self, parent: Index = _NO_INDEX) -> bool:
        # The base's is private in C++, and calling it from Python ends the program (PySide 6.11).
        return self.rowCount(parent) > 0
