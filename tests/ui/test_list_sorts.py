"""What a list can be sorted by is offered; the rest is greyed in the menu and in the head, and says why."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QAccessible, QAction, QImage
from pytestqt.qtbot import QtBot

from explorer.contract import ListOrder, MemoryEngine, MetaFilter, SortBy
from explorer.engines.sqlite import SqliteEngine
from explorer.ui.items import ItemList
from explorer.ui.models.item_model import NAMES, SORT_OF, Column
from explorer.ui.theme import theme
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning

TIP = Qt.ItemDataRole.ToolTipRole
SORTED_BY = {
    Column.OBSERVED: ("Newest first", "Oldest first"),
    Column.KIND: ("By kind",),
    Column.NODE: ("By node",),
    Column.AGENT: ("By agent",),
    Column.SOURCE: ("By source",),
}
NEVER = {
    Column.TEXT: ("By text",),
    Column.TAGS: ("By tags",),
    Column.CONFIDENCE: ("By confidence",),
    Column.SCORE: ("By score",),
    Column.LENGTH: ("By length",),
}


@asynccontextmanager
async def listed(qtbot: QtBot, until: Until, engine: MemoryEngine, query: str = "") -> AsyncIterator[ItemList]:
    items = ItemList(zone=UTC)
    qtbot.addWidget(items)
    items.resize(1_400, 400)
    for column in Column:
        items.set_column_shown(column, True)
    items.show()
    items.set_engine(engine, "memory")
    items.show_filter(MetaFilter(), query)
    await until(lambda: not items.jobs.is_busy and items.model.rowCount())
    try:
        yield items
    finally:
        await items.aclose()
        await engine.aclose()


async def file_of(tmp_path: Path) -> SqliteEngine:
    engine = SqliteEngine(tmp_path / "a.db", embedder=None)
    await engine.store_many([learning(f"item {at}", agent_id=f"a{at}", tags=["t"]) for at in range(3)])
    return engine


def entries(items: ItemList) -> dict[str, QAction]:
    items.sort_button.fill()
    return {action.text(): action for action in items.sort_button.menu().actions() if action.text()}


def head_says(items: ItemList, column: Column, role: int = TIP) -> str:
    return str(items.model.headerData(column, Qt.Orientation.Horizontal, role))


def darkest(items: ItemList, column: Column) -> int:
    """How far the words of a column's head stand out from their ground, in steps of lightness."""
    head = items.view.head
    image: QImage = head.viewport().grab().toImage()
    left, width = head.sectionViewportPosition(column), head.sectionSize(column)
    seen = [image.pixelColor(x, y).lightness() for x in range(left, left + width) for y in range(head.height() - 2)]
    return max(seen) - min(seen)


def press(qtbot: QtBot, items: ItemList, column: Column) -> None:
    head = items.view.head
    at = QPoint(head.sectionViewportPosition(column) + 10, head.height() // 2)
    qtbot.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=at)


def greyed(items: ItemList) -> set[Column]:
    """The columns whose heads are drawn in grey."""
    colors = theme()
    full = abs(colors.color("text2").lightness() - colors.color("base").lightness())
    grey = abs(colors.color("text3").lightness() - colors.color("base").lightness())
    named = [column for column in Column if column is not Column.KIND]  # it has an icon, and no words
    return {column for column in named if abs(darkest(items, column) - grey) < abs(darkest(items, column) - full)}


async def test_a_file_sorts_by_five_columns_and_the_others_are_greyed(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with listed(qtbot, until, await file_of(tmp_path)) as items:
        actions = entries(items)
        for column, names in NEVER.items():
            for name in names:
                assert not actions[name].isEnabled()
                assert actions[name].toolTip() == "SQLite file does not sort by this"
            assert head_says(items, column) == "SQLite file does not sort by this"
            before = items.order
            press(qtbot, items, column)
            assert items.order == before
        for column, names in SORTED_BY.items():
            assert all(actions[name].isEnabled() for name in names)
            assert head_says(items, column) == f"Sort by {NAMES[column].lower()}"
        assert set(NEVER) | set(SORTED_BY) == set(Column)
        assert greyed(items) == set(NEVER)


@pytest.mark.parametrize(("column", "by"), SORT_OF.items())
async def test_the_menu_sorts_by_each_that_it_offers(
    qtbot: QtBot, tmp_path: Path, until: Until, column: Column, by: SortBy
) -> None:
    async with listed(qtbot, until, await file_of(tmp_path)) as items:
        entries(items)[SORTED_BY[column][-1]].trigger()
        assert items.order == ListOrder(by=by, descending=False)
        await until(lambda: not items.jobs.is_busy)
        assert items.model.sorted_by is column


@pytest.mark.parametrize(
    ("query", "why"),
    [("", "Reference engine lists in its own order only"), ("item", "The hits of a search stand best first")],
)
async def test_where_nothing_can_be_sorted_all_say_why(qtbot: QtBot, until: Until, query: str, why: str) -> None:
    engine = await filled([learning("item one"), learning("item two two")], FakeEngine())
    why = why.replace("Reference engine", engine.descriptor().label)
    async with listed(qtbot, until, engine, query) as items:
        actions = entries(items)
        assert {name for name in actions if actions[name].isEnabled()} == set()
        assert {action.toolTip() for action in actions.values()} == {why}
        assert {head_says(items, column) for column in Column} == {why}
        assert greyed(items) == set(Column) - {Column.KIND, items.model.sorted_by}, "by what the rows go is no grey one"


async def test_a_screen_reader_hears_the_reason_at_the_head(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with listed(qtbot, until, await file_of(tmp_path)) as items:
        table = QAccessible.queryAccessibleInterface(items.view)
        heads = [table.child(at) for at in range(table.childCount())]
        said = {
            head.text(QAccessible.Text.Name): head.text(QAccessible.Text.Description)
            for head in heads
            if head.role() == QAccessible.Role.ColumnHeader
        }
        assert said["Tags"] == "SQLite file does not sort by this"
        assert said["Agent"] == "Sort by agent"
