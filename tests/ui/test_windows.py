"""Several windows, the size of text, and the ways the window can be looked at and walked."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import (
    QApplication,
    QMessageBox,
    QPushButton,
    QTabBar,
    QWidget,
)
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from explorer import text
from explorer.contract import MetaFilter
from explorer.engines import ConnectionStore, EngineSettings, KeyStore, SavedConnection
from explorer.options import Options
from explorer.removal.journal import Journal
from explorer.ui import windows as all_windows
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.job_list import Job, State
from explorer.ui.main_window import MainWindow
from explorer.ui.program import Program
from explorer.ui.theme import theme
from explorer.ui.trail import View
from explorer.ui.windows import Windows
from explorer.ui.zoom import ZOOMS, saved_zoom, zoomed
from tests.conftest import Until
from tests.fakes import Gate, learning
from tests.ui.test_app import memory
from tests.ui.test_main_window import opened


@pytest.fixture(autouse=True)
def _as_before(qapp: QApplication) -> Iterator[None]:
    yield
    if theme().zoom != 100:
        theme().set_zoom(100)
    if theme().high_contrast:
        theme().set_high_contrast(False)
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def test_the_journal_of_a_window_is_the_one_it_was_given(qtbot: QtBot, tmp_path: Path) -> None:
    journal = Journal(tmp_path / "given")
    window = MainWindow(journal=journal)
    qtbot.addWidget(window)
    program = Program(window, ConnectionStore(tmp_path / "connections.json"), KeyStore(), tmp_path / "sample.db")
    assert window.journal.journal is program.removals.journal is program.moves.journal is journal
    window.close_for_good()


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


async def test_a_connection_that_is_renamed_keeps_its_views_in_every_window(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with started(tmp_path, until, "one", "two", settings=settings) as (windows, first):
        path = EngineSettings(path=str(tmp_path / "a.db"))
        first.store.add(SavedConnection(name="before", engine="sqlite", settings=path))
        await first.open_saved("before")
        first.window.new_window_action.trigger()
        second = windows.programs[1]
        await until(lambda: is_idle(windows) and second.window.engine is not None)
        first.window.go(View(query="one"))
        first.window.views.save(first.window._saved_view("ones"))

        first.window.connections_action.trigger()
        await until(lambda: first.window.findChild(ConnectDialog) is not None)
        dialog = first.window.findChild(ConnectDialog)
        dialog.name_edit.selectAll()
        qtbot.keyClicks(dialog.name_edit, "after")
        dialog.open_button.click()
        await until(lambda: is_idle(windows))
        assert [saved.name for saved in first.store.load()] == ["after"]
        assert first.window.trail.current == View(query="one"), "it is the same memory"
        for program in (first, second):
            assert program.window.windowTitle().startswith("after ")
            assert program.window.connection_box.currentText().split()[0] == "after"
        first.window.views.save(first.window._saved_view("more"))
        second.window.views.save(second.window._saved_view("others"))
        second.window.views.open("saved:after")
        assert [view.name for view in second.window.views.views] == ["ones", "more", "others"]
        first.window.views.open("saved:before")
        assert first.window.views.views == []


async def test_what_was_open_in_a_closed_window_and_does_not_end_is_told_in_the_others(
    tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(all_windows, "APPEARS_S", 0.01)
    async with started(tmp_path, until, "one") as (windows, first):
        for _ in range(2):
            first.window.new_window_action.trigger()
        others = windows.programs[1:]
        await until(lambda: is_idle(windows) and all(other.window.engine is not None for other in others))
        gate, engine = Gate(stubborn=True), first.window.engine
        assert engine is not None
        ends = engine.aclose

        async def aclose() -> None:
            await gate.wait()
            await ends()

        monkeypatch.setattr(engine, "aclose", aclose)

        def told(window: MainWindow) -> list[Job]:
            """Oldest first, what is told of the closing; where all is slow, other things are jobs as well."""
            return [job for job in reversed(window.job_list.jobs) if job.title == f"Close {text.isolate('a.db')}"]

        first.window.close()
        await until(lambda: all(told(other.window) for other in others))
        assert not first.window.isVisible()
        for other in others:
            assert [job.state for job in told(other.window)] == [State.RUNNING]
            assert not other.window.job_list.is_holding
        others[0].window.close()
        await until(lambda: len(windows.waited_for) == 2)
        gone, last = others[0].window, others[1].window
        await until(lambda: not isValid(gone))
        last.close()
        await until(windows.ended.is_set)
        ending = asyncio.ensure_future(windows.aclose())
        await until(lambda: windows.waited_for == ["a.db"])
        assert not ending.done(), "it waits for the first one yet; the others have ended"
        gate.open()
        await ending
        job = told(last)[0]
        assert (job.state, job.words) == (State.DONE, "Done.")
        assert windows.waited_for == []


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


async def test_quitting_asks_again_where_something_was_begun_meanwhile(tmp_path: Path, until: Until) -> None:
    async with started(tmp_path, until, "one") as (windows, first):
        first.window.new_window_action.trigger()
        second = windows.programs[1]
        await until(lambda: is_idle(windows) and second.window.engine is not None)
        second.window.job_list.begin("Import")
        first.window.quit_action.trigger()
        await until(lambda: question() is not None)
        first_list = first.window.job_list
        late = first_list.begin("Export", lambda: first_list.end(late, State.CANCELLED, "Cancelled."))
        second.window.job_list.end(second.window.job_list.jobs[0], State.DONE, "Done.")
        await until(lambda: (box := question()) is not None and box.informativeText().startswith("Export"))
        assert late.state is State.RUNNING
        press("Cancel jobs and close")
        await until(windows.ended.is_set)
        assert late.state is State.CANCELLED


async def test_closing_and_quitting_ask_once(tmp_path: Path, until: Until) -> None:
    async with started(tmp_path, until, "one") as (windows, first):
        job = first.window.job_list.begin("Import")

        def questions() -> int:
            return sum(isinstance(one, QMessageBox) and one.isVisible() for one in QApplication.topLevelWidgets())

        first.window.close()
        await until(lambda: questions() == 1)
        first.window.quit_action.trigger()
        await until(lambda: not first.jobs.is_running("close"))
        await until(lambda: questions() == 1)
        first.window.job_list.end(job, State.DONE, "Done.")
        await until(windows.ended.is_set)
        assert questions() == 0


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


@pytest.mark.limit_s(30)  # two windows, dressed anew several times
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


# The keyboard


def pane_of(window: MainWindow, widget: QWidget) -> int:
    """The place of a widget's pane in the order of the Tab key."""
    panes: list[list[QWidget]] = [
        [window.top],
        [window.namespaces, window.namespaces.head],
        [window.facets, window.facets.head],
        [window.items],
        [window.viewer, window.viewer.header],
        [window.context, window.context.header],
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
        ours = [widget for widget in walked if not isinstance(widget, QTabBar)]  # Qt makes those of the docks anew
        order = [pane_of(window, widget) for widget in ours]
        assert order == sorted(order), [(at, one.objectName()) for at, one in zip(order, ours, strict=True)]
        stops = {
            widget
            for widget in window.findChildren(QWidget)
            if widget.focusPolicy() & Qt.FocusPolicy.TabFocus
            and widget.isVisible()
            and widget.isEnabled()
            and widget.window() is window
            and not widget.objectName().startswith("qt_")  # a part of one of Qt's own
            and not any(each.isAncestorOf(widget) for each in (window.ask_dock, window.compare_dock))  # under it
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
        for _ in range(6):
            qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6)
            there.append(here())
        assert there == [0, 2, 3, 4, 5, 6, 0]
        back = [here()]
        for _ in range(6):
            qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_F6, Qt.KeyboardModifier.ShiftModifier)
            back.append(here())
        assert back == there[::-1]
