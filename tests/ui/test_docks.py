"""The docks: closed and shown again, moved, tabbed, sized and floated, by the keyboard as well."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QDockWidget, QMenu, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from explorer.ui.main_window import MainWindow
from explorer.ui.seals import sealed
from explorer.ui.theme import Theme
from tests.conftest import Until
from tests.ui.test_main_window import opened

LEFT, RIGHT = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
NAMES = {
    "namespacesDock": "Close the namespaces",
    "facetsDock": "Close the facets",
    "viewerDock": "Close the item",
    "contextDock": "Close context.md",
}


def dock(window: MainWindow, name: str) -> QDockWidget:
    found = window.findChild(QDockWidget, name)
    assert isinstance(found, QDockWidget)
    return found


def close_button(window: MainWindow, name: str) -> QToolButton:
    found = window.findChild(QToolButton, f"close:{name}")
    assert isinstance(found, QToolButton)
    return found


def panels_menu(window: MainWindow) -> QMenu:
    found = next(action.menu() for action in window.more_button.menu().actions() if action.text() == "Panels")
    assert isinstance(found, QMenu)
    return found


def entry(menu: QMenu, words: str) -> QAction:
    return next(action for action in menu.actions() if action.text() == words)


def press(qtbot: QtBot, window: MainWindow, key: Qt.Key) -> None:
    """Alt, Shift and a key, where the keyboard is."""
    focus = QApplication.focusWidget()
    assert focus is not None
    qtbot.keyClick(focus, key, Qt.KeyboardModifier.AltModifier | Qt.KeyboardModifier.ShiftModifier)


def focus_in(window: MainWindow, widget: QWidget) -> None:
    window.activateWindow()
    widget.setFocus()
    assert QApplication.focusWidget() is widget


@pytest.mark.parametrize("name", NAMES)
async def test_each_head_has_a_named_button_that_closes(qtbot: QtBot, tmp_path: Path, until: Until, name: str) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        panel, button = dock(window, name), close_button(window, name)
        assert button.accessibleName() == button.toolTip() == NAMES[name]
        assert button.geometry().right() > panel.titleBarWidget().width() - 16, "it is the last of its head"
        focus_in(window, button)
        qtbot.keyClick(button, Qt.Key.Key_Space)
        assert not panel.isVisible()
        assert QApplication.focusWidget() is window.items.view, "the keyboard is not left nowhere"
        assert "Panels" in window.statusBar().currentMessage(), "the way back is said"
        toggle = entry(panels_menu(window), panel.windowTitle())
        assert not toggle.isChecked()
        toggle.trigger()
        assert panel.isVisible()
        assert toggle.isChecked()


async def test_a_panel_is_moved_to_the_other_side_and_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        panel = dock(window, "facetsDock")
        focus_in(window, window.facets.tree)
        press(qtbot, window, Qt.Key.Key_R)
        assert window.dockWidgetArea(panel) is RIGHT
        await until(lambda: panel.geometry().left() > window.items.mapTo(window, window.items.rect().center()).x())
        assert QApplication.focusWidget() is window.facets.tree, "the keyboard goes with it"
        press(qtbot, window, Qt.Key.Key_L)
        assert window.dockWidgetArea(panel) is LEFT
        press(qtbot, window, Qt.Key.Key_B)
        assert window.dockWidgetArea(panel) is Qt.DockWidgetArea.BottomDockWidgetArea


async def test_a_panel_is_a_tab_of_its_neighbour_and_alone_again(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        panel, beside = dock(window, "facetsDock"), dock(window, "namespacesDock")
        focus_in(window, window.facets.tree)
        press(qtbot, window, Qt.Key.Key_T)
        assert window.tabifiedDockWidgets(panel) == [beside]
        assert window.facets.tree.isVisible()
        await until(lambda: not window.namespaces.tree.isVisible() or window.namespaces.visibleRegion().isEmpty())
        assert QApplication.focusWidget() is window.facets.tree
        press(qtbot, window, Qt.Key.Key_T)
        assert window.tabifiedDockWidgets(panel) == []
        await until(lambda: not window.namespaces.visibleRegion().isEmpty())


async def test_a_panel_is_a_window_and_in_its_place_again(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        panel = dock(window, "namespacesDock")
        focus_in(window, window.namespaces.tree)
        press(qtbot, window, Qt.Key.Key_F)
        assert panel.isFloating()
        assert panel.isVisible()
        await until(lambda: QApplication.focusWidget() is window.namespaces.tree)
        width, height = panel.width(), panel.height()
        press(qtbot, window, Qt.Key.Key_Right)
        press(qtbot, window, Qt.Key.Key_Down)
        assert (panel.width(), panel.height()) == (width + 24, height + 24)
        press(qtbot, window, Qt.Key.Key_F)
        assert not panel.isFloating()
        assert window.dockWidgetArea(panel) is LEFT


@pytest.mark.parametrize(
    ("widget", "name", "wider", "narrower", "is_across"),
    [
        ("namespaceTree", "namespacesDock", Qt.Key.Key_Right, Qt.Key.Key_Left, True),
        ("itemViewer", "viewerDock", Qt.Key.Key_Right, Qt.Key.Key_Left, True),
        ("namespaceTree", "namespacesDock", Qt.Key.Key_Down, Qt.Key.Key_Up, False),
    ],
)
async def test_a_panel_is_sized_by_keys(
    qtbot: QtBot, tmp_path: Path, until: Until, widget: str, name: str, wider: Qt.Key, narrower: Qt.Key, is_across: bool
) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        panel = dock(window, name)
        window.place_docks()
        window.activateWindow()
        window.findChild(QWidget, widget).setFocus()

        def size() -> int:
            return panel.width() if is_across else panel.height()

        before = size()
        press(qtbot, window, wider)
        await until(lambda: size() == before + 24)
        press(qtbot, window, narrower)
        await until(lambda: size() == before)


async def test_in_no_panel_the_keys_do_nothing_and_say_why(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        focus_in(window, window.items.view)
        before = window.saveState()
        for key in (Qt.Key.Key_R, Qt.Key.Key_T, Qt.Key.Key_F, Qt.Key.Key_W, Qt.Key.Key_Right):
            press(qtbot, window, key)
        assert window.saveState() == before
        action = entry(panels_menu(window), "Close panel")
        assert not action.isEnabled()
        assert "The keyboard is in no panel" in action.toolTip()
        focus_in(window, window.facets.tree)
        assert action.isEnabled()
        press(qtbot, window, Qt.Key.Key_W)
        assert not dock(window, "facetsDock").isVisible()


async def test_the_palette_acts_on_the_panel_where_the_keyboard_was(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        focus_in(window, window.facets.tree)
        qtbot.keyClick(window.facets.tree, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClicks(window.palette_box.edit, "panel right move")
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        assert window.dockWidgetArea(dock(window, "facetsDock")) is RIGHT


async def test_everything_is_put_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.place_docks()
        places = {name: dock(window, name).geometry() for name in NAMES}
        focus_in(window, window.facets.tree)
        press(qtbot, window, Qt.Key.Key_T)
        focus_in(window, window.viewer.segments.button("Read"))
        press(qtbot, window, Qt.Key.Key_L)
        close_button(window, "namespacesDock").click()
        entry(panels_menu(window), "Put everything back").trigger()
        await until(lambda: {name: dock(window, name).geometry() for name in NAMES} == places)
        assert all(dock(window, name).isVisible() for name in NAMES)
        tabbed = {name for name in NAMES if window.tabifiedDockWidgets(dock(window, name))}
        assert tabbed == {"contextDock"}, "with what lies below the item"


async def test_what_was_arranged_by_keys_comes_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        focus_in(window, window.facets.tree)
        press(qtbot, window, Qt.Key.Key_R)
        close_button(window, "namespacesDock").click()
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout()
        assert window.dockWidgetArea(dock(window, "facetsDock")) is RIGHT
        assert not dock(window, "namespacesDock").isVisible()


async def test_a_layout_of_before_there_were_these_panels_is_left_alone(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        close_button(window, "facetsDock").click()
        settings.setValue("state", sealed(window.saveState(1)))  # as of the version with neither context.md nor Ask
        settings.setValue("geometry", sealed(window.saveGeometry()))
        kept = {key: settings.value(key) for key in ("geometry", "state")}
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout(kept)
        assert dock(window, "facetsDock").isVisible()
        assert dock(window, "askDock") in window.tabifiedDockWidgets(dock(window, "contextDock"))


@pytest.fixture
def large_text(themed: Theme) -> Iterator[None]:
    themed.set_zoom(275)
    yield
    themed.set_zoom(100)


async def test_everything_is_put_back_where_the_window_has_to_grow_for_it(
    qtbot: QtBot, tmp_path: Path, until: Until, large_text: None
) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        for name in (*NAMES, "askDock", "compareDock"):
            close_button(window, name).click()

        def is_narrow() -> bool:
            window.resize(400, 700)
            return window.width() < 900

        await until(is_narrow)
        entry(panels_menu(window), "Put everything back").trigger()  # a warning of Qt's would fail the test
        await until(lambda: window.width() > 1400)
        assert all(dock(window, name).isVisible() for name in NAMES)
