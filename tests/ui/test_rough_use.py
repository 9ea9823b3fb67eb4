"""The program ended, hurried, refused and fed with what does not fit."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtCore import QRect, Qt
from PySide6.QtWidgets import QFileDialog, QLineEdit, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Document,
    DocumentBody,
    EngineFailure,
    Facet,
    FetchMode,
    LearningKind,
    ListPage,
    ListRequest,
    MetaFilter,
    Unavailable,
)
from explorer.options import Options
from explorer.ui import program as program_module
from explorer.ui.banner import MAX_DETAILS_LINE, MAX_DETAILS_LINES, Banner
from explorer.ui.models.facet_rows import RowType
from explorer.ui.rows import pill_width
from explorer.ui.signals import EndSignals
from explorer.ui.trail import View
from explorer.ui.viewer_parts.title import ICON, SIDE, ConfidenceRow
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning, page_of
from tests.ui.test_app import dialog_of, is_idle, memory, rows, running, type_path
from tests.ui.test_items import built as built_list
from tests.ui.test_items import settled
from tests.ui.test_main_window import opened
from tests.ui.test_viewer import opened as opened_viewer
from tests.ui.test_viewer import page_text

# The end of the process

RUN = """
import os, signal, sys
from explorer.options import Options
from explorer.ui import app
from explorer.ui.main_window import MainWindow

signal.signal(signal.SIGINT, signal.default_int_handler)  # it may be ignored where the tests were started from
show = MainWindow.show

def shown(window):
    show(window)
    {then}

MainWindow.show = shown
sys.exit(app.run(Options(is_sample=True)))
"""
STUCK = """
    import threading
    app._END_LIMIT_S = 0.2
    threading.Thread(target=threading.Event().wait).start()
    window.close()
"""
STUCK_BEFORE = """
    import asyncio
    from PySide6.QtCore import QTimer
    from explorer.ui.program import Program

    def when(holds, do):
        do() if holds() else QTimer.singleShot(5, lambda: when(holds, do))

    app._END_LIMIT_S = 0.2
    if not hasattr(app, "first"):
        app.first = window
        end = Program.aclose

        async def aclose(program):
            while program.window is app.first:
                try:
                    await asyncio.Event().wait()
                except asyncio.CancelledError:
                    pass
            await end(program)

        Program.aclose = aclose
        when(lambda: app.first.engine, app.first.new_window_action.trigger)
    else:
        app.first.close()
        when(lambda: not app.first.isVisible(), window.close)
"""


def run_until_end(home: Path, then: str, **more: str) -> subprocess.CompletedProcess[str]:
    """Run the program; `then` is done in it once its window is shown."""
    home_env = {name: str(home / name) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    env = {**os.environ, **home_env, "QT_QPA_PLATFORM": "offscreen", **more}
    command = [sys.executable, "-c", RUN.format(then=then)]
    return subprocess.run(command, env=env, capture_output=True, text=True, timeout=60, check=False)


@pytest.mark.parametrize("name", ["SIGINT", "SIGTERM"])
def test_a_signal_closes_the_program_in_order(tmp_path: Path, name: str) -> None:
    done = run_until_end(tmp_path, f"os.kill(os.getpid(), signal.{name})")
    assert (done.returncode, done.stdout, done.stderr) == (0, "", "")
    settings = tmp_path / "XDG_CONFIG_HOME" / "tinymemory-explorer" / "window.ini"
    assert "geometry" in settings.read_text(), "as a window that is closed, it remembers its place"


def test_what_never_ends_does_not_hold_the_process(tmp_path: Path) -> None:
    done = run_until_end(tmp_path, STUCK)
    assert done.returncode == 0
    assert "left behind" in done.stderr


def test_a_window_closed_before_the_last_one_does_not_hold_the_process_and_is_named(tmp_path: Path) -> None:
    done = run_until_end(tmp_path, STUCK_BEFORE)
    assert done.returncode == 0
    assert "Sample memory did not end within 0.2 s and was left behind" in done.stderr


def test_without_a_display_one_sentence_says_so(tmp_path: Path) -> None:
    done = run_until_end(tmp_path, "", QT_QPA_PLATFORM="xcb", DISPLAY=":9999", WAYLAND_DISPLAY="")
    assert done.returncode == 1, "not aborted"
    assert "The window cannot be shown" in done.stderr


@pytest.fixture
def handlers() -> Iterator[None]:
    """What the signals do before and after: `close` leaves them to themselves, as is right for a program's end."""
    before = {number: signal.getsignal(number) for number in (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)}
    yield
    for number, handler in before.items():
        signal.signal(number, handler)


@pytest.mark.usefixtures("handlers")
async def test_a_signal_comes_once(qtbot: QtBot, until: Until) -> None:
    window = Banner()
    qtbot.addWidget(window)
    signal.signal(signal.SIGTERM, lambda *_: None)
    signals = EndSignals(window)
    try:
        received: list[bool] = []
        signals.received.connect(lambda: received.append(True))
        os.kill(os.getpid(), signal.SIGTERM)
        await until(lambda: received)
        assert received == [True]
        assert signal.getsignal(signal.SIGTERM) is signal.SIG_DFL, "the second one ends it at once"
    finally:
        signals.close()


@pytest.mark.usefixtures("handlers")
async def test_what_is_ignored_from_the_start_stays_ignored(qtbot: QtBot) -> None:
    window = Banner()
    qtbot.addWidget(window)
    signal.signal(signal.SIGHUP, signal.SIG_IGN)  # as nohup leaves it
    signals = EndSignals(window)
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN
    signals.close()
    assert signal.getsignal(signal.SIGHUP) is signal.SIG_IGN


async def test_closing_leaves_the_screen_at_once(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.leave()
        assert not window.isVisible()


# Opening


async def test_an_engine_that_was_left_before_it_answered_is_closed(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    slow = FakeEngine()
    slow.hold("health")
    closed: list[FakeEngine] = []

    async def aclose() -> None:
        closed.append(slow)

    monkeypatch.setattr(slow, "aclose", aclose)
    good = await memory(tmp_path / "good.db", "one")
    build = program_module.build_engine
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=good))
        await until(lambda: is_idle(program))
        monkeypatch.setattr(program_module, "build_engine", lambda *_: slow)
        program.jobs.start("open", program.open_file(tmp_path / "slow.db"), lambda _: None)
        await until(lambda: slow.requests("health"))
        monkeypatch.setattr(program_module, "build_engine", build)
        program.jobs.start("open", program.open_file(good), lambda _: None)
        await until(lambda: is_idle(program) and closed == [slow])


async def test_the_lock_does_not_turn_where_the_memory_cannot_be_opened_anew(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    path = await memory(tmp_path / "a.db", "one")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        path.rename(tmp_path / "gone.db")
        button = program.window.read_only_button
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: is_idle(program) and program.window.error_banner.sentence)
        assert (button.text(), button.isChecked()) == ("Can write", False)


async def test_a_file_is_read_where_no_connection_can_be_kept(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one", "two")
    (tmp_path / "no folder").write_text("a file is where the folder should be")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(is_sample=True))
        await until(lambda: is_idle(program))
        program.store._file.path = tmp_path / "no folder" / "connections.json"
        program.window.open_action.trigger()
        await until(lambda: dialog_of(QFileDialog) is not None)
        dialog = dialog_of(QFileDialog)
        assert dialog is not None
        type_path(qtbot, dialog, path)
        await until(lambda: is_idle(program) and rows(program) == 2)
        assert "saved connections" in program.window.error_banner.sentence


# Haste


async def test_what_is_being_typed_is_not_lost_to_a_click(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        edit = window.findChild(QLineEdit, "searchEdit")
        qtbot.keyClicks(edit, "approval")
        window.facets.filter_wanted.emit(MetaFilter(tags_any=["refunds"]))
        await until(lambda: window.is_idle and rows_of(window) == 1)
        assert edit.text() == "approval"
        assert window.trail.current == View(MetaFilter(tags_any=["refunds"]), "approval", FetchMode.HYBRID)


def rows_of(window: object) -> int:
    return window.items.model.rowCount()  # type: ignore[attr-defined]


# Engines that tell what is not so


@pytest.mark.parametrize("page", ["empty", "the same"])
async def test_counting_all_ends_where_the_pages_do_not(qtbot: QtBot, until: Until, page: str) -> None:
    engine = await filled([learning("one"), learning("two")])
    assert isinstance(engine, FakeEngine)
    hits = [] if page == "empty" else (await engine.list_preview(ListRequest(limit=2))).items
    cursors = iter(range(1_000_000))
    engine.listing = lambda req: ListPage(items=hits, next_cursor=str(next(cursors)))
    engine.pages[Facet.KIND] = page_of(Facet.KIND, {"learning": 1}, truncated=True)
    items = built_list(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    items.count_all_button.setVisible(True)
    items.count_all_button.click()
    await until(lambda: not items.jobs.is_running("all"))
    assert next(cursors) < 100
    assert items.count_label.text() in ("0+ items", "2+ items"), "it is not said to be all"


async def test_a_value_that_can_be_no_condition_says_so(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([learning("one")])
    assert isinstance(engine, FakeEngine)
    engine.pages[Facet.KIND] = page_of(Facet.KIND, {"nonsense": 1})
    async with opened(qtbot, tmp_path, until, engine) as window:
        tree, model = window.facets.tree, window.facets.model
        index = model.row_index(Facet.KIND, RowType.VALUE, "nonsense")
        tree.setCurrentIndex(index)
        qtbot.keyClick(tree, Qt.Key.Key_Return)
        assert "nonsense" in window.error_banner.sentence
        assert window.trail.current == View()


# What is too long


def test_details_of_any_length_open_at_once(qtbot: QtBot) -> None:
    banner = Banner()
    qtbot.addWidget(banner)
    banner.show()
    long = "x" * 5_000_000
    banner.show_error("It failed.", f"{long}\n\u202etxt.exe\n" + "line\n" * 2 * MAX_DETAILS_LINES)
    banner.findChild(QPushButton, "detailsButton").click()
    said = banner.findChild(QPlainTextEdit, "bannerDetails").toPlainText().split("\n")
    assert max(map(len, said)) < MAX_DETAILS_LINE + 40
    assert said[0].endswith("(5\u202f000\u202f000 characters)")
    assert said[1] == "⟦RLO⟧txt.exe"
    assert len(said) == MAX_DETAILS_LINES + 1
    assert said[-1].endswith("more lines")


async def test_a_table_of_thousands_of_rows_lets_the_window_live(qtbot: QtBot, until: Until) -> None:
    count = 3_000
    lines = [f"| {at} | b |" for at in range(count)]
    body = "\n".join(["| a | b |", "| - | - |", *lines])
    viewer = await opened_viewer(qtbot, until, Document(body=DocumentBody(text=body), mime="text/markdown"))
    assert viewer.rest_button.isVisible() or str(count - 1) in page_text(viewer)
    tables = viewer.read_view.document().rootFrame().childFrames()
    assert len(tables) > 1, "each cell lays its whole table out again, so a long one is written in parts"
    while viewer.rest_button.isVisible():
        qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
        await until(lambda: not viewer.jobs.is_busy)
    cells = page_text(viewer).split()
    assert [cell for cell in cells if cell.isdigit()] == [str(at) for at in range(count)]


@pytest.mark.parametrize("error", [EngineFailure("\ud83d"), Unavailable("\0\u202e\x1b[31m"), EngineFailure("")])
async def test_errors_of_odd_letters_are_said(qtbot: QtBot, tmp_path: Path, until: Until, error: Exception) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.show_exception(error)
        assert window.error_banner.sentence.encode()
        assert "\u202e" not in window.error_banner.sentence
        window.error_banner.findChild(QPushButton, "detailsButton").click()
        assert window.error_banner.findChild(QPlainTextEdit, "bannerDetails").toPlainText()


# By keyboard alone


async def test_every_pane_that_f6_comes_to_shows_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.activateWindow()
        panes = (window.namespaces.tree, window.facets.tree, window.items.view)
        window.search_box.search_edit.setFocus()
        for pane in panes:
            window.next_pane_action.trigger()
            assert window.focusWidget() is pane, "an inert frame would take every key and answer none"
        assert window.namespaces.tree.currentIndex().isValid()
        assert window.facets.tree.currentIndex().isValid()


@pytest.mark.parametrize("width", [160, 200, 240, 280])
def test_a_narrow_learning_draws_nothing_over_its_kind(qtbot: QtBot, width: int) -> None:
    row = ConfidenceRow()
    qtbot.addWidget(row)
    row.resize(width, row.sizeHint().height())
    kind = QRect(0, 0, SIDE + ICON + pill_width("procedure"), row.height())
    row.show_learning(LearningKind.PROCEDURE, None)
    alone, without = row.grab(kind).toImage(), row.grab().toImage()
    row.show_learning(LearningKind.PROCEDURE, 0.64)
    assert row.grab(kind).toImage() == alone
    assert row.grab().toImage() != without, "the number is there"
