"""The heads of the list's columns by the keyboard: gone to, sized, moved and sorted by."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from PySide6.QtGui import QColor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from explorer.contract import ListOrder, SortBy
from explorer.ui.item_view import WIDER
from explorer.ui.main_window import MainWindow
from explorer.ui.models.item_model import Column
from explorer.ui.theme import theme
from tests.conftest import Until
from tests.ui.test_main_window import opened

SHIFT, CTRL = Qt.KeyboardModifier.ShiftModifier, Qt.KeyboardModifier.ControlModifier
LEFT, RIGHT = Qt.Key.Key_Left, Qt.Key.Key_Right


def step() -> int:
    return round(WIDER * theme().size_px("body") / 13)


def focus_head(qtbot: QtBot, window: MainWindow, column: Column) -> None:
    """Give the head the keyboard, and go to a column."""
    head = window.items.view.head
    window.activateWindow()
    head.setFocus(Qt.FocusReason.TabFocusReason)
    assert QApplication.focusWidget() is head
    for _ in range(len(Column)):
        qtbot.keyClick(head, LEFT)
    while head.current is not column:
        qtbot.keyClick(head, RIGHT)


async def make_room(window: MainWindow, until: Until) -> None:
    """Give the list the room of the item and of what lies below it."""
    before = window.items.view.width()
    for dock in (window.viewer.parentWidget(), window.context_dock, window.ask_dock, window.compare_dock):
        dock.hide()
    await until(lambda: window.items.view.width() > before + 200)


async def test_tab_goes_through_the_head_to_the_items(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        focus_head(qtbot, window, Column.NODE)
        qtbot.keyClick(window.items.view.head, Qt.Key.Key_Tab)
        assert QApplication.focusWidget() is window.items.view
        qtbot.keyClick(window.items.view, Qt.Key.Key_Backtab, SHIFT)
        assert QApplication.focusWidget() is window.items.view.head
        qtbot.keyClick(window.items.view.head, Qt.Key.Key_Down)
        assert QApplication.focusWidget() is window.items.view


async def test_a_column_is_sized_by_keys(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        view = window.items.view
        await make_room(window, until)
        for column in (Column.NODE, Column.TEXT, view.shown_columns()[-1]):
            view.reset_widths()
            before, total = view.columnWidth(column), sum(map(view.columnWidth, view.shown_columns()))
            told: list[bool] = []
            view.arranged.connect(lambda told=told: told.append(True))
            focus_head(qtbot, window, column)
            qtbot.keyClick(view.head, RIGHT, SHIFT)
            assert view.columnWidth(column) == before + step(), column
            assert told, "it is remembered"
            assert sum(map(view.columnWidth, view.shown_columns())) == total, "nothing is pushed out of the window"
            qtbot.keyClick(view.head, LEFT, SHIFT)
            assert view.columnWidth(column) == before, column
        for _ in range(100):
            qtbot.keyClick(view.head, LEFT, SHIFT)
        assert view.columnWidth(view.shown_columns()[-1]) > 16, "no further than what it shows allows"


async def test_a_column_is_moved_by_keys(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        view = window.items.view
        first = view.shown_columns()
        focus_head(qtbot, window, Column.NODE)
        qtbot.keyClick(view.head, LEFT, CTRL)
        assert view.shown_columns().index(Column.NODE) == first.index(Column.NODE) - 1
        assert view.head.current is Column.NODE
        qtbot.keyClick(view.head, RIGHT, CTRL)
        assert view.shown_columns() == first
        focus_head(qtbot, window, Column.KIND)
        qtbot.keyClick(view.head, RIGHT, CTRL)
        qtbot.keyClick(view.head, RIGHT, SHIFT)
        assert view.shown_columns() == first, "the kind stays where it is"


async def test_a_column_sorts_by_keys_where_the_engine_can(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        focus_head(qtbot, window, Column.NODE)
        qtbot.keyClick(window.items.view.head, Qt.Key.Key_Return)
        assert window.items.order == ListOrder(by=SortBy.NODE, descending=False)
        qtbot.keyClick(window.items.view.head, Qt.Key.Key_Space)
        assert window.items.order == ListOrder(by=SortBy.NODE, descending=True)
        focus_head(qtbot, window, Column.CONFIDENCE)
        qtbot.keyClick(window.items.view.head, Qt.Key.Key_Return)
        assert window.items.order.by is SortBy.NODE, "what cannot be sorted by does nothing"
        await until(lambda: window.is_idle)


async def test_the_column_with_the_keyboard_has_a_ring(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        head = window.items.view.head
        accent = QColor(theme().color("accent"))

        def ring(column: Column) -> bool:
            middle = head.viewport().height() // 2
            return head.grab().toImage().pixelColor(head.sectionViewportPosition(column), middle) == accent

        focus_head(qtbot, window, Column.NODE)
        assert ring(Column.NODE)
        assert not ring(Column.TEXT)
        window.items.set_column_shown(Column.NODE, False)
        assert head.current is Column.TEXT, "a hidden column has no keys"
        assert ring(Column.TEXT)
        window.items.view.setFocus()
        assert not ring(Column.TEXT)


async def test_the_palette_sizes_a_column_too(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        await make_room(window, until)
        before = window.items.view.columnWidth(Column.NODE)
        window.activateWindow()
        for words, width in (("columns wider node", before + step()), ("columns narrower node", before)):
            qtbot.keyClick(window.items.view, Qt.Key.Key_K, CTRL)
            qtbot.keyClicks(window.palette_box.edit, words)
            qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
            assert window.items.view.columnWidth(Column.NODE) == width
