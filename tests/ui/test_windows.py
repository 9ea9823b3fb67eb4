"""Several windows, the size of text, and the ways the window can be looked at and walked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAccessible
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QAbstractScrollArea,
    QAbstractSlider,
    QAbstractSpinBox,
    QApplication,
    QComboBox,
    QDialog,
    QFrame,
    QHeaderView,
    QLabel,
    QLineEdit,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QScrollBar,
    QTextEdit,
    QWidget,
)
from pytestqt.qtbot import QtBot

from explorer.contract import MetaFilter
from explorer.engines import ConnectionStore, EngineSettings, KeyStore, SavedConnection, list_engines
from explorer.options import Options
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.dialogs.key import KeyDialog
from explorer.ui.dialogs.shortcuts import ShortcutSheet
from explorer.ui.dialogs.views import NameDialog, ViewsDialog
from explorer.ui.job_list import State
from explorer.ui.main_window import MainWindow
from explorer.ui.program import Program
from explorer.ui.shortcuts import areas
from explorer.ui.theme import theme
from explorer.ui.trail import View
from explorer.ui.views import SavedView
from explorer.ui.windows import Windows
from explorer.ui.zoom import ZOOMS, saved_zoom, zoomed
from tests.conftest import Until
from tests.fakes import learning
from tests.ui.test_app import memory
from tests.ui.test_main_window import opened

CONTROLS = (
    QAbstractButton,
    QAbstractItemView,
    QAbstractSlider,
    QAbstractSpinBox,
    QComboBox,
    QLineEdit,
    QPlainTextEdit,
    QProgressBar,
    QTextEdit,
)


@pytest.fixture(autouse=True)
def _as_before(qapp: QApplication) -> Iterator[None]:
    yield
    if theme().zoom != 100:
        theme().set_zoom(100)
    if theme().high_contrast:
        theme().set_high_contrast(False)
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


@asynccontextmanager
async def started(
    folder: Path, until: Until, *texts: str, settings: QSettings | None = None
) -> AsyncIterator[tuple[Windows, Program]]:
    """One window, with a memory of these texts open in it."""
    path = await memory(folder / "a.db", *texts)
    windows = Windows(settings, ConnectionStore(folder / "connections.json"), KeyStore(), folder / "sample.db")
    program = windows.open()
    program.window.resize(1280, 800)
    program.window.show()
    try:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(windows))
        yield windows, program
    finally:
        await windows.aclose()
        for one in windows.programs:
            one.window.deleteLater()


def is_idle(windows: Windows) -> bool:
    return all(program.window.is_idle and not program.jobs.is_busy for program in windows.programs)


def rows(program: Program) -> int:
    return program.window.items.model.rowCount()


def question() -> QMessageBox | None:
    return next(
        (one for one in QApplication.topLevelWidgets() if isinstance(one, QMessageBox) and one.isVisible()), None
    )


def press(words: str) -> None:
    box = question()
    assert box is not None
    button = next(one for one in box.buttons() if one.text() == words)
    assert isinstance(button, QPushButton)
    button.click()


# Several windows


async def test_another_window_shows_the_same_and_lives_on_alone(tmp_path: Path, until: Until) -> None:
    async with started(tmp_path, until, "one", "two") as (windows, first):
        first.window.go(View(MetaFilter(), "one", None))
        await until(lambda: is_idle(windows))
        first.window.new_window_action.trigger()
        assert len(windows.programs) == 2
        second = windows.programs[1]
        await until(lambda: is_idle(windows) and second.window.engine is not None)
        assert second.window.trail.current == first.window.trail.current
        assert second.window.windowTitle() == first.window.windowTitle()
        assert second.window.pos() != first.window.pos(), "it does not cover the other one"
        assert second.window.engine is not first.window.engine

        first.window.close()
        await until(lambda: windows.programs == [second])
        assert not windows.ended.is_set()
        second.window.go(View())
        await until(lambda: is_idle(windows) and rows(second) == 2)
        theme().set_zoom(110)  # everything that was told of the theme and is gone must not be told any more
        second.window.close()
        await until(windows.ended.is_set)


async def test_what_one_window_stores_the_other_tells(tmp_path: Path, until: Until) -> None:
    async with started(tmp_path, until, "one") as (windows, first):
        first.window.new_window_action.trigger()
        second = windows.programs[1]
        await until(lambda: is_idle(windows) and second.window.engine is not None)
        assert first.window.engine is not None
        await first.window.engine.store_many([learning("two")])
        second.window.watch.look()
        await until(lambda: second.window.items.news_button.text() == "1 new: refresh")


async def test_quitting_asks_each_window_that_has_a_job(tmp_path: Path, until: Until) -> None:
    async with started(tmp_path, until, "one") as (windows, first):
        first.window.new_window_action.trigger()
        second = windows.programs[1]
        await until(lambda: is_idle(windows) and second.window.engine is not None)
        jobs = second.window.job_list
        job = jobs.begin("Import", lambda: jobs.end(job, State.CANCELLED, "Cancelled."))
        first.window.quit_action.trigger()
        await until(lambda: question() is not None)
        press("Keep open")
        await until(lambda: not windows.jobs.is_running("quit"))
        assert not windows.ended.is_set()
        assert first.window.isVisible(), "none is closed where one is kept"
        assert job.state is State.RUNNING
        first.window.quit_action.trigger()
        await until(lambda: question() is not None)
        press("Cancel jobs and close")
        await until(windows.ended.is_set)
        assert job.state is State.CANCELLED


async def test_the_window_is_left_and_found_again(tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with started(tmp_path, until, "one", settings=settings) as (_, first):
        first.window.resize(780, 700)
        first.window.namespaces.parentWidget().hide()
    async with started(tmp_path, until, "two", settings=settings) as (_, again):
        again.window.restore_layout()
        assert again.window.height() == 700  # its width is more than this screen has
        assert not again.window.namespaces.isVisible()


# The size of text


def test_steps_of_zoom() -> None:
    assert [zoomed(100, 1), zoomed(100, -1), zoomed(275, 1), zoomed(80, -1), zoomed(150, 0)] == [110, 90, 275, 80, 100]
    assert [saved_zoom("150"), saved_zoom(90), saved_zoom("huge"), saved_zoom("1000000"), saved_zoom(None)] == [
        150,
        90,
        100,
        100,
        100,
    ]


async def test_larger_text_makes_everything_larger_and_is_remembered(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.activateWindow()
        row, bar = window.items.view.rowHeight(0), window.search_box.height()
        for _ in range(5):
            qtbot.keyClick(window.items.view, Qt.Key.Key_Plus, Qt.KeyboardModifier.ControlModifier)
        assert theme().zoom == 200
        assert settings.value("zoom") == 200
        assert window.items.view.rowHeight(0) > row
        assert window.search_box.height() > bar
        assert window.search_box.search_edit.height() >= window.search_box.search_edit.fontMetrics().height()
        qtbot.keyClick(window.items.view, Qt.Key.Key_Minus, Qt.KeyboardModifier.ControlModifier)
        assert theme().zoom == 175
        qtbot.keyClick(window.items.view, Qt.Key.Key_0, Qt.KeyboardModifier.ControlModifier)
        assert theme().zoom == 100
        assert window.items.view.rowHeight(0) == row


@pytest.mark.parametrize("percent", [80, 150, 200, 275])
async def test_no_words_are_cut_in_height(qtbot: QtBot, tmp_path: Path, until: Until, percent: int) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.go_to_filter(MetaFilter(tags_any=["refunds"]))
        await until(lambda: window.is_idle)
        theme().set_zoom(percent)
        await until(lambda: window.is_idle)
        QApplication.processEvents()
        for widget in window.findChildren(QWidget):
            has_words = isinstance(widget, QAbstractButton | QComboBox | QLineEdit)
            if has_words and widget.isVisible() and widget.visibleRegion().boundingRect().isValid():
                line = widget.fontMetrics().tightBoundingRect("Hg").height()
                assert widget.height() >= line, widget.objectName()


async def test_the_ends_of_zoom_say_so(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        theme().set_zoom(ZOOMS[-1])
        assert not window.zoom_in_action.isEnabled()
        assert "largest" in window.zoom_in_action.toolTip()
        assert window.zoom_out_action.isEnabled()


# How it looks


async def test_high_contrast_is_a_choice_and_remembered(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        assert not theme().is_high_contrast
        window.contrast_action.trigger()
        assert theme().is_high_contrast
        assert theme().color("line") == theme().color("text"), "lines are as strong as text"
        assert settings.value("highContrast") is True
        window.contrast_action.trigger()
        assert not theme().is_high_contrast


async def test_from_right_to_left_the_panes_change_sides(
    qapp: QApplication, qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        assert window.namespaces.mapTo(window, window.namespaces.rect().center()).x() < window.width() // 2
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    (tmp_path / "other").mkdir()
    async with opened(qtbot, tmp_path / "other", until) as window:
        assert window.namespaces.mapTo(window, window.namespaces.rect().center()).x() > window.width() // 2
        assert window.viewer.mapTo(window, window.viewer.rect().center()).x() < window.width() // 2
        window.palette_action.trigger()
        assert window.rect().contains(window.palette_box.geometry())


# The keyboard and the screen reader


def spoken(widget: QWidget) -> str:
    interface = QAccessible.queryAccessibleInterface(widget)
    return interface.text(QAccessible.Text.Name) if interface is not None else ""


def unnamed(top: QWidget) -> list[str]:
    """The controls in `top` that say nothing of themselves."""
    found = []
    for widget in [top, *top.findChildren(QWidget)]:
        is_inner = widget.objectName().startswith("qt_") or isinstance(widget, QScrollBar | QMenu)
        is_inner |= isinstance(widget.parent(), QFrame) and isinstance(widget.parent().parent(), QComboBox)  # its list
        is_inner |= isinstance(widget, QLabel) and not widget.text()
        takes_keys = widget.focusPolicy() != Qt.FocusPolicy.NoFocus and not isinstance(widget, QAbstractScrollArea)
        is_inner |= isinstance(widget, QHeaderView) or widget.isHidden()
        is_inner |= widget.objectName() == "bannerActionButton" and not widget.isVisible()  # named as it is shown
        if (isinstance(widget, CONTROLS) or takes_keys) and not is_inner and not spoken(widget).strip():
            found.append(f"{type(widget).__name__} {widget.objectName()} in {type(widget.parent()).__name__}")
    return found


async def test_every_control_of_the_window_has_a_name_to_be_spoken(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.go_to_filter(MetaFilter(tags_any=["refunds"]))
        await until(lambda: window.is_idle)
        for choice in ("Read", "Raw", "Metadata", "Why"):
            window.viewer.segments.button(choice).click()
            await until(lambda: window.is_idle)
        jobs = window.job_list
        jobs.end(jobs.begin("An import"), State.FAILED, "It failed.", "why", lambda: None)
        jobs.step(jobs.begin("An export", lambda: None), "half", 0.5)
        window.show_error("It failed", "details", lambda: None)
        window.palette_action.trigger()
        window.show_jobs()
        assert unnamed(window) == []
        for job in jobs.running:
            jobs.end(job, State.DONE, "Done.")


async def test_every_control_of_the_dialogs_has_a_name_to_be_spoken(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.views.open("key")
        window.views.save(SavedView(name="a"))
        store = ConnectionStore(tmp_path / "connections.json")
        saved = SavedConnection(name="mine", engine="sqlite", settings=EngineSettings(path="/x.db"))
        connect = ConnectDialog(store, KeyStore(), [saved], list_engines(), "mine", window)
        dialogs: list[QDialog] = [
            connect,
            KeyDialog("mine", "it is kept nowhere", window),
            ShortcutSheet(areas(window), window),
            NameDialog(window.views, "a", window),
            ViewsDialog(window.views, window),
        ]
        for dialog in dialogs:
            dialog.show()
        assert {type(dialog).__name__: unnamed(dialog) for dialog in dialogs} == {
            type(dialog).__name__: [] for dialog in dialogs
        }
        for dialog in dialogs:
            dialog.close()
        await connect.jobs.aclose()


def pane_of(window: MainWindow, widget: QWidget) -> int:
    """The place of a widget's pane in the order of the Tab key."""
    panes: list[list[QWidget]] = [
        [window.top],
        [window.namespaces, window.namespaces.head],
        [window.facets, window.facets.head],
        [window.items],
        [window.viewer, window.viewer.header],
        [window.statusBar()],
    ]
    if window.chip_bar.isAncestorOf(widget):
        return 1
    for at, parts in enumerate(panes):
        if any(part is widget or part.isAncestorOf(widget) for part in parts):
            return at + (at > 0)
    raise AssertionError(widget)


async def test_tab_reaches_every_control_in_the_order_of_the_panes(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.go_to_filter(MetaFilter(tags_any=["refunds"]))
        jobs = window.job_list
        jobs.end(jobs.begin("An import"), State.DONE, "Done.")
        await until(lambda: window.is_idle)
        window.activateWindow()
        window.connection_box.setFocus(Qt.FocusReason.TabFocusReason)
        walked: list[QWidget] = []
        focus: QWidget | None = window.connection_box
        while focus is not None and (focus not in walked[:-1]) and len(walked) < 200:  # one may take the key twice
            walked += [focus] if focus not in walked else []
            qtbot.keyClick(focus, Qt.Key.Key_Tab)
            focus = QApplication.focusWidget()
        assert focus is window.connection_box, [widget.objectName() for widget in walked]
        order = [pane_of(window, widget) for widget in walked]
        assert order == sorted(order), [(at, one.objectName()) for at, one in zip(order, walked, strict=True)]
        stops = {
            widget
            for widget in window.findChildren(QWidget)
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
            and widget.isVisible()
            and widget.isEnabled()
            and widget.window() is window
        }
        assert {widget.objectName() or repr(widget) for widget in stops - set(walked)} == set()


async def test_f6_goes_from_pane_to_pane_and_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.activateWindow()
        window.search_box.search_edit.setFocus()

        def here() -> int:
            focus = QApplication.focusWidget()
            assert focus is not None
            return pane_of(window, focus)

        there = [here()]
        for _ in range(5):
            qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6)
            there.append(here())
        assert there == [0, 2, 3, 4, 5, 0]
        back = [here()]
        for _ in range(5):
            qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)
            back.append(here())
        assert back == there[::-1]
