"""Columns of the item list, chosen, moved and sized by hand."""

from __future__ import annotations

from datetime import UTC
from pathlib import Path
from typing import Any

from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QAction
from pytestqt.qtbot import QtBot

from explorer.contract import ListOrder, ListPage, ListRequest, MemoryEngine, MetaFilter, SourceKind, SourceRef
from explorer.ui.items import ItemList
from explorer.ui.models.item_model import Column
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.test_main_window import opened

ITEM: dict[str, Any] = {
    "agent_id": "triage",
    "tags": ["refunds", "billing"],
    "source": SourceRef(kind=SourceKind.AGENT, id="a/1"),
}


class Whole(FakeEngine):
    """Lists texts in full."""

    list_preview = MemoryEngine.list_preview


async def listed(qtbot: QtBot, until: Until, engine: FakeEngine | None = None, width: int = 900) -> ItemList:
    if engine is None:
        engine = Whole()
        await filled([learning("a learning", "team:acme", **ITEM), learning("another")], engine)
    items = ItemList(zone=UTC)
    qtbot.addWidget(items)
    items.resize(width, 400)
    items.show()
    items.set_engine(engine, "a.db")
    items.show_filter(MetaFilter())
    await until(lambda: not items.jobs.is_busy)
    return items


def entry(items: ItemList, *words: str) -> QAction:
    """An entry of the columns' menu, as it opens."""
    items.columns_button.fill()
    menu = items.columns_button.menu()
    for one in words[:-1]:
        menu = next(action.menu() for action in menu.actions() if action.text() == one)
    return next(action for action in menu.actions() if action.text() == words[-1])


def cell(items: ItemList, column: Column, role: Qt.ItemDataRole = Qt.ItemDataRole.DisplayRole) -> str:
    return str(items.model.data(items.model.index(0, column), role))


async def test_first_the_columns_of_the_design(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until)
    assert items.view.shown_columns() == [Column.KIND, Column.TEXT, Column.NODE, Column.OBSERVED, Column.CONFIDENCE]
    await items.aclose()


async def test_columns_are_chosen_in_the_menu(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until)
    for name in ("Agent", "Source", "Tags", "Length"):
        assert not entry(items, name).isChecked()
        entry(items, name).trigger()
    assert [cell(items, column) for column in (Column.AGENT, Column.SOURCE, Column.TAGS, Column.LENGTH)] == [
        "triage",
        "agent",
        "refunds, billing",
        "10",
    ]
    assert "a/1" in cell(items, Column.SOURCE, Qt.ItemDataRole.ToolTipRole)
    assert cell(items, Column.LENGTH, Qt.ItemDataRole.ToolTipRole) == "10 characters"
    assert not items.view.grab().isNull()
    entry(items, "Kind").trigger()
    entry(items, "Observed").trigger()
    assert items.view.shown_columns()[:2] == [Column.TEXT, Column.NODE]
    assert Column.OBSERVED not in items.view.shown_columns()
    assert not entry(items, "Text").isEnabled()
    entry(items, "Columns as at first").trigger()
    assert items.view.shown_columns() == [Column.KIND, Column.TEXT, Column.NODE, Column.OBSERVED, Column.CONFIDENCE]
    await items.aclose()


async def test_a_length_is_known_from_below_where_texts_are_cut(qtbot: QtBot, until: Until) -> None:
    class Short(FakeEngine):
        async def list_preview(self, req: ListRequest) -> ListPage:
            page = await super().list_preview(req)
            return ListPage(items=[hit.model_copy(update={"text": hit.text[:4]}) for hit in page.items])

    engine = Short()
    await filled([learning("a learning")], engine)
    items = await listed(qtbot, until, engine)
    assert cell(items, Column.LENGTH) == "4+"
    await items.aclose()


async def test_a_head_is_dragged_to_another_place(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until)
    head = items.view.head
    arranged: list[None] = []
    items.arranged.connect(lambda: arranged.append(None))

    def middle(column: Column) -> QPoint:
        return QPoint(head.sectionViewportPosition(column) + head.sectionSize(column) // 2, head.height() // 2)

    def drag(column: Column, to: Column) -> None:
        start, end = middle(column), middle(to)
        qtbot.mousePress(head.viewport(), Qt.MouseButton.LeftButton, pos=start)
        for share in (0.5, 1.0, 1.3):
            qtbot.mouseMove(head.viewport(), start + (end - start) * share)
        qtbot.mouseRelease(head.viewport(), Qt.MouseButton.LeftButton, pos=start + (end - start) * 1.3)

    drag(Column.OBSERVED, Column.NODE)
    assert items.view.shown_columns() == [Column.KIND, Column.TEXT, Column.OBSERVED, Column.NODE, Column.CONFIDENCE]
    assert arranged
    drag(Column.KIND, Column.NODE)
    assert items.view.shown_columns()[0] is Column.KIND  # it leads the row
    assert head.length() == items.view.viewport().width()
    assert not items.view.grab().isNull()
    await items.aclose()


async def test_columns_are_moved_by_keyboard_too(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until)
    entry(items, "Move forward", "Confidence").trigger()
    entry(items, "Move forward", "Confidence").trigger()
    entry(items, "Move back", "Text").trigger()
    assert items.view.shown_columns() == [Column.KIND, Column.CONFIDENCE, Column.TEXT, Column.NODE, Column.OBSERVED]
    qtbot.keyClick(items.view, Qt.Key.Key_Down)
    qtbot.keyClick(items.view, Qt.Key.Key_Up, Qt.KeyboardModifier.ShiftModifier)
    assert items.selected_label.text() == "2 selected, all that match"  # rows are counted once, wherever columns stand
    await items.aclose()


async def test_more_columns_than_room_are_scrolled_to(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until, width=420)
    for column in Column:
        items.set_column_shown(column, True)
    items.resize(400, 400)
    assert set(items.view.shown_columns()) == set(Column)  # what was chosen stays, however narrow
    assert items.view.horizontalScrollBar().maximum() > 0
    entry(items, "Columns as at first").trigger()
    await until(lambda: items.view.horizontalScrollBar().maximum() == 0)
    await items.aclose()


async def test_the_arrangement_comes_back(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until)
    first = items.arrangement()
    items.set_column_shown(Column.TAGS, True)
    items.set_column_shown(Column.NODE, False)
    items.view.move_column(Column.TAGS, -1)
    items.view.head.resizeSection(Column.TAGS, 177)
    items.set_order(ListOrder(descending=False))
    kept = items.arrangement()
    other = await listed(qtbot, until)
    other.restore(kept)
    assert other.view.shown_columns() == items.view.shown_columns()
    assert Column.TAGS in other.view.shown_columns()
    assert other.view.columnWidth(Column.TAGS) == items.view.columnWidth(Column.TAGS) == 177
    assert other.order == ListOrder(descending=False)
    assert other.arrangement() == kept
    other.restore(first)
    assert other.arrangement() == first
    for odd in ("", "[]", "{", '{"order": 3}', kept.replace("TAGS", "NOSUCH"), '{"columns": 1}'):
        other.restore(odd)
        assert other.arrangement() == first
    await items.aclose()
    await other.aclose()


async def test_the_window_remembers_them(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.items.set_column_shown(Column.AGENT, True)
        window.items.set_order(ListOrder(descending=False))
        await until(lambda: window.is_idle)
    (tmp_path / "again").mkdir()
    async with opened(qtbot, tmp_path / "again", until, settings=settings) as window:
        window.restore_layout()
        await until(lambda: window.is_idle)
        assert Column.AGENT in window.items.view.shown_columns()
        assert window.items.sort_button.text() == "Oldest first"
        assert window.items.model.sorted_by is Column.OBSERVED
        assert window.items.model.is_sorted_up


async def test_an_entry_that_is_older_than_the_list_does_nothing(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until)
    words = ("Move forward", "Move back", "Wider", "Narrower")
    entries = [entry(items, one, "Node") for one in words]
    items.resize(500, 400)
    before = items.view.columns(), items.view.shown_columns()
    assert Column.NODE not in before[1], "there is no room for it by now"
    told: list[None] = []
    items.arranged.connect(lambda: told.append(None))
    for action in entries:
        action.trigger()
    assert (items.view.columns(), items.view.shown_columns()) == before
    assert items.view.widths == {}
    assert told == []
    await items.aclose()
