"""The window as a person uses it, over a real file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, QPoint, QSettings, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    EngineFailure,
    EngineHealth,
    Facet,
    FetchMode,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    StoreItem,
    Timestamp,
    Turn,
    Unauthorized,
)
from explorer.engines import EngineSettings, build_engine
from explorer.ui.main_window import MainWindow
from explorer.ui.models.item_model import ItemRole
from explorer.ui.trail import View
from tests.conftest import Until
from tests.fakes import FakeEngine, learning

ACME = Namespace.parse("team:acme")
WRITER = Namespace.parse("team:acme/agent:writer")
ITEMS: list[StoreItem] = [
    learning("refunds above 200 need a second approval", "team:acme", tags=["refunds", "billing"], agent_id="triage"),
    learning("the ledger closes at six", "team:acme/agent:writer", tags=["billing"], agent_id="writer"),
    learning("a nightly digest", "team:acme/service:nightly", tags=["billing"]),
    Document(
        title="Refund policy",
        body=DocumentBody(text="Customers may return items.\n\n| a | b |\n| - | - |\n| 1 | 2 |"),
        mime="text/markdown",
        meta=MemoryMeta(namespace=ACME, tags=["refunds"], observed_at=Timestamp.parse("2026-06-30T09:30:00Z")),
    ),
    Conversation(
        turns=[Turn(role=Role.USER, text="where is my refund"), Turn(role=Role.ASSISTANT, text="on its way")],
        meta=MemoryMeta(thread_id="helpdesk/1", tags=["refunds"]),
    ),
]


@asynccontextmanager
async def opened(
    qtbot: QtBot, tmp_path: Path, until: Until, engine: MemoryEngine | None = None, settings: QSettings | None = None
) -> AsyncIterator[MainWindow]:
    if engine is None:
        engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)
        await engine.store_many(ITEMS)
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    window.show_engine(engine, "a.db", is_read_only=False)
    try:
        await until(lambda: window.is_idle)
        yield window
    finally:
        await window.aclose()
        await engine.aclose()
        window.close_for_good()


def texts(window: MainWindow) -> set[str]:
    model = window.items.model
    return {model.index(row, 0).data(ItemRole).text for row in range(model.rowCount())}


def count_text(window: MainWindow) -> str:
    return window.items.findChild(QWidget, "itemCountLabel").text()


def chip_names(window: MainWindow) -> set[str]:
    found = {child.objectName() for child in window.chip_bar.findChildren(QWidget)}
    return {name for name in found if name.startswith("chip:")}


def find_row(window: MainWindow, view_name: str, value: str, below: str | None = None) -> tuple[QWidget, QModelIndex]:
    """The view of that name, and its row that holds `value` in Qt.UserRole (inside the row that holds `below`)."""
    view = window.findChild(QWidget, view_name)
    model = view.model()

    def walk(parent: QModelIndex, inside: bool) -> QModelIndex | None:
        for row in range(model.rowCount(parent)):
            index = model.index(row, 0, parent)
            held = index.data(Qt.ItemDataRole.UserRole)
            if inside and held == value:
                return index
            if (found := walk(index, inside or held == below)) is not None:
                return found
        return None

    index = walk(QModelIndex(), below is None)
    assert index is not None, (view_name, value)
    view.scrollTo(index)
    return view, index


def place_of(view: QWidget, index: QModelIndex) -> QPoint:
    rect = view.visualRect(index)
    return QPoint(rect.left() + 60, rect.center().y())


def drill(qtbot: QtBot, window: MainWindow, facet: Facet, value: str) -> None:
    if not window.facets.tree.isExpanded(window.facets.model.facet_index(facet)):
        window.facets.reveal(facet)
    view, index = find_row(window, "facetTree", value, facet.value)
    qtbot.mouseDClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place_of(view, index))


def click_node(qtbot: QtBot, window: MainWindow, path: str) -> None:
    view, index = find_row(window, "namespaceTree", path)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=place_of(view, index))


async def test_opening_shows_what_is_there(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        assert window.windowTitle().startswith("a.db")
        assert window.items.model.rowCount() == 4, "a sandbox is not read without being asked for"
        assert "4" in count_text(window)
        assert window.viewer.isVisible()
        assert chip_names(window) == set()
        assert not window.back_button.isEnabled()
        assert window.connection_box.health_badge.accessibleName() == "health: healthy"
        find_row(window, "namespaceTree", "team:acme/service:nightly")


async def test_drilling_down_narrows_step_by_step_and_back_returns(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        drill(qtbot, window, Facet.TAG, "billing")
        await until(lambda: window.is_idle and window.items.model.rowCount() == 2)
        drill(qtbot, window, Facet.AGENT, "writer")
        await until(lambda: window.is_idle and window.items.model.rowCount() == 1)
        assert texts(window) == {"the ledger closes at six"}
        assert chip_names(window) == {"chip:agent_id", "chip:tags_any"}
        qtbot.mouseClick(window.back_button, Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle and window.items.model.rowCount() == 2)
        assert chip_names(window) == {"chip:tags_any"}
        qtbot.mouseClick(window.forward_button, Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle and window.items.model.rowCount() == 1)
        window.back_action.trigger()
        window.back_action.trigger()
        await until(lambda: window.is_idle and window.items.model.rowCount() == 4)
        assert window.trail.current == View()


async def test_a_chip_removes_its_condition_and_no_other(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.go_to_filter(MetaFilter(tags_any=["billing"], agent_id="writer", reach=Reach.of(WRITER)))
        await until(lambda: window.is_idle and window.items.model.rowCount() == 1)
        chip = window.findChild(QWidget, "chip:agent_id")
        chip.setFocus()
        qtbot.keyClick(chip, Qt.Key.Key_Delete)
        await until(lambda: window.is_idle and window.items.model.rowCount() == 2)
        assert window.trail.current.filter == MetaFilter(tags_any=["billing"], reach=Reach.of(WRITER))
        window.findChild(QWidget, "clearFilterButton").click()
        await until(lambda: window.is_idle and window.items.model.rowCount() == 4)
        assert chip_names(window) == set()


async def test_a_node_is_one_click_and_the_reach_says_how_far(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        click_node(qtbot, window, "team:acme")
        await until(lambda: window.is_idle and window.items.model.rowCount() == 3)
        assert window.trail.current.filter.reach == Reach.subtree(ACME)
        box = window.namespaces.reach_box
        box.setCurrentIndex(box.findData("exact"))
        box.activated.emit(box.currentIndex())
        await until(lambda: window.is_idle and window.items.model.rowCount() == 2)
        box.setCurrentIndex(box.findData("inherit"))
        box.activated.emit(box.currentIndex())
        await until(lambda: window.is_idle and window.items.model.rowCount() == 3)
        assert window.trail.current.filter.reach == Reach.of(ACME)
        click_node(qtbot, window, "team:acme/service:nightly")
        await until(lambda: window.is_idle and "a nightly digest" in texts(window))


async def test_an_item_is_read_by_selecting_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.items.select_id(ITEMS[4].fingerprint())
        await until(lambda: window.is_idle)
        shown = window.viewer.findChildren(QWidget)
        assert any("where is my refund" in getattr(child, "toPlainText", str)() for child in shown)


async def test_a_value_in_the_viewer_filters(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.viewer.filter_wanted.emit("thread_id", "helpdesk/1")
        await until(lambda: window.is_idle and window.items.model.rowCount() == 1)
        window.viewer.filter_wanted.emit("reach", ACME)
        await until(lambda: window.is_idle and window.items.model.rowCount() == 0)
        assert window.trail.current.filter == MetaFilter(thread_id="helpdesk/1", reach=Reach.exact(ACME))
        assert chip_names(window) == {"chip:thread_id", "chip:reach"}, "with no hit the chips stay"


async def test_a_search_runs_inside_the_filter_and_escape_leaves_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.go_to_filter(MetaFilter(tags_any=["refunds"]))
        await until(lambda: window.is_idle and window.items.model.rowCount() == 3)
        window.find_action.trigger()
        edit = window.findChild(QLineEdit, "searchEdit")
        qtbot.keyClicks(edit, "approval")
        await until(lambda: window.is_idle and window.items.model.rowCount() == 1)
        assert window.trail.current == View(MetaFilter(tags_any=["refunds"]), "approval", FetchMode.HYBRID)
        assert "chip:query" in chip_names(window)
        qtbot.keyClick(edit, Qt.Key.Key_Escape)
        await until(lambda: window.is_idle and window.items.model.rowCount() == 3)
        assert window.trail.current == View(MetaFilter(tags_any=["refunds"]))


@pytest.mark.parametrize(
    "query", ["Downloads/x", "don't", "pre-edit", '"--error"', "a AND", "NEAR(", "*", "col:x", "^x"]
)
async def test_what_people_type_is_never_an_error(qtbot: QtBot, tmp_path: Path, until: Until, query: str) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        edit = window.findChild(QLineEdit, "searchEdit")
        edit.setText(query)
        qtbot.keyClick(edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        assert window.error_banner.sentence == ""
        assert window.trail.current.query == query


async def test_modes_are_what_the_engine_declares(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        box = window.search_box.mode_box
        declared = [mode.value for mode in window.engine.descriptor().fetch_modes]
        assert [box.itemData(row) for row in range(box.count())] == declared


async def test_a_failing_engine_leaves_the_old_rows(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    for item in ITEMS:
        await engine.store(item)
    async with opened(qtbot, tmp_path, until, engine) as window:
        before = texts(window)
        assert before

        async def broken(*_: object) -> object:
            raise EngineFailure("the disk is on fire <b>now</b>")

        engine.list = engine.list_preview = engine.explore = engine.explore_many = engine.namespaces = broken
        window.refresh_action.trigger()
        await until(lambda: window.is_idle)
        assert texts(window) == before


async def test_a_refused_key_is_asked_for_anew_and_takes_nothing_away(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    for item in ITEMS:
        await engine.store(item)
    async with opened(qtbot, tmp_path, until, engine) as window:
        before, nodes = texts(window), window.namespaces.names()
        for call in ("list_preview", "explore", "explore_many", "namespaces", "fetch", "get", "get_items"):
            engine.fail(call, Unauthorized("token expired"))
        window.refresh_action.trigger()
        await until(lambda: window.is_idle)
        assert texts(window) == before
        assert window.namespaces.names() == nodes
        assert window.items.model.is_stale
        assert window.namespaces.model.is_stale
        assert window.facets.model.section(Facet.KIND).is_stale
        for pane in (window.facets, window.namespaces):
            assert pane.banner.sentence == "The key was refused: token expired."
        shown = [button.text() for button in window.findChildren(QPushButton) if button.isVisible()]
        assert "Retry" not in shown
        assert "Try again" not in shown, "the same key would be refused again"
        asked = len(engine.calls)
        window.items.view.scrollToBottom()
        window.items.view.setFocus()
        await until(lambda: window.is_idle)
        assert len(engine.calls) == asked
        wanted: list[bool] = []
        window.connections_action.triggered.connect(lambda: wanted.append(True))
        edit = next(button for button in window.findChildren(QPushButton) if button.text() == "Edit connection…")
        qtbot.mouseClick(edit, Qt.MouseButton.LeftButton)
        assert len(wanted) == 1


async def test_health_is_shown_by_word_and_shape(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()

    async def degraded() -> EngineHealth:
        return EngineHealth.degraded("half of the index is missing")

    engine.health = degraded
    async with opened(qtbot, tmp_path, until, engine) as window:
        assert window.connection_box.health_badge.accessibleName() == "health: degraded"
        assert "half of the index" in window.connection_box.toolTip()


async def test_stored_text_in_the_banner_is_plain(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.show_exception(EngineFailure("<img src='http://127.0.0.1:9/'> failed"))
        assert "<img src='http://127.0.0.1:9/'> failed" in window.error_banner.sentence
        window.show_exception(ValueError("internal detail"))
        assert "internal detail" not in window.error_banner.sentence


async def test_the_layout_comes_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.facets.parentWidget().hide()
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout()
        assert not window.facets.isVisible()
        assert window.namespaces.isVisible()


async def test_closing_waits_for_the_program(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        wanted: list[bool] = []
        window.close_wanted.connect(lambda: wanted.append(True))
        window.close()
        assert wanted == [True]
        assert window.isVisible()


async def test_the_promised_names_are_there(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    promised = """connectionBox healthBadge backButton forwardButton searchEdit modeBox readOnlyButton refreshButton
        chipBar clearFilterButton namespaceTree reachBox facetTree timelineView itemView itemCountLabel itemViewer
        errorBanner askEdit chip:tags_any jobsView journalDock"""
    async with opened(qtbot, tmp_path, until) as window:
        window.go_to_filter(MetaFilter(tags_any=["refunds"]))
        await until(lambda: window.is_idle)
        window.show_jobs()  # made when it is first asked for
        assert window.objectName() == "mainWindow"
        for name in promised.split():
            assert len(window.findChildren(QWidget, name)) == 1, name
        for name in ("exportAction", "forgetAction", "eraseAction"):
            assert len(window.findChildren(QAction, name)) == 1, name


async def test_every_control_has_a_name_to_be_spoken(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        for button in (window.back_button, window.forward_button, window.refresh_button, window.more_button):
            assert button.accessibleName() or button.text()
        assert window.connection_box.accessibleName()
        assert window.search_box.search_edit.accessibleName()
