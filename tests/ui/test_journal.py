"""The journal dock: what was ever done here, found, looked at, and gone on with."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt, QUrl
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QDockWidget, QLabel, QPushButton, QToolButton
from pytestqt.qtbot import QtBot

from explorer.contract import ItemId
from explorer.contract.reference import ReferenceEngine
from explorer.options import Options
from explorer.removal.journal import Journal
from explorer.removal.receipts import Entry, ReceiptWriter
from explorer.ui.journal import JournalPanel
from explorer.ui.main_window import MainWindow
from explorer.ui.models.journal_model import State, state_of, state_words, title_of, where_of
from tests.conftest import Until
from tests.ui.test_app import is_idle, memory, running
from tests.ui.test_main_window import opened

YEAR = datetime.now(UTC).year


def receipt(
    folder: Path,
    at: str,
    action: str,
    planned: int,
    end: dict[str, Any] | None = None,
    *,
    connection: str = "helpdesk.db",
    **facts: Any,
) -> Path:
    """A receipt as the journal writes it, begun `at` (such as `07-03T14:59:31`) of this year."""
    folder.mkdir(exist_ok=True)
    time = f"{YEAR}-{at}Z"
    path = folder / f"{time.replace(':', '')}-{action}.jsonl"
    engine = {"id": "sqlite", "label": "SQLite file", "hosted": False, "is_file": True}
    begin = {"line": "begin", "at": time, "action": action, "connection": connection, "engine": engine}
    lines = [{**begin, "planned": planned, **facts}, {"line": "planned", "at": time, "ids": ["c0ffee" + "0" * 34]}]
    if end is not None:
        lines.append({"line": "end", "at": time, **end})
    path.write_text("".join(json.dumps(line) + "\n" for line in lines), "utf-8")
    return path


def under(node: str) -> dict[str, Any]:
    return {"target": {"filter": {"reach": {"at": node, "descendants": True}}}}


def filled_journal(folder: Path) -> list[ReceiptWriter]:
    """One receipt of each kind; what is returned holds those that run."""
    kept = {"path": str(folder / "kept.jsonl"), "items": 3895, "size_bytes": 4_200_000, "incomplete": 0}
    clean = {"removed": 3895, "already_gone": 0, "failed": 0, "not_tried": 0, "unanswered": 0, "is_clean": True}
    receipt(folder, "07-03T14:59:31", "erase", 3895, clean, **under("team:acme"), way_back=kept)
    receipt(folder, "07-04T08:12:00", "forget", 10, {**clean, "removed": 6, "failed": 4, "is_clean": False})
    nodes = {"user:dana": 7, "agent:triage": 3}
    receipt(folder, "07-05T09:00:00", "forget", 10, {**clean, "removed": 10, "is_clean": False}, nodes=nodes)
    receipt(folder, "07-06T09:30:00", "move", 120, {"done": 120, "failed": 0}, connection="notes <b>of</b> dana")
    receipt(folder, "07-06T10:30:00", "restore", 0, {"new": 3890, "replayed": 5, "refused": 0, "is_clean": True})
    receipt(folder, "07-07T11:00:00", "erase", 1200, **under("agent:triage"), way_back=kept)
    going_on = receipt(folder, "07-08T12:00:00", "forget", 25_000, connection="memory.example.com")
    (folder / f"{YEAR}-07-02T100000Z-erase.jsonl").write_bytes(b"\0\0\0\0\0")
    return [ReceiptWriter.reopen(going_on)]


@pytest.fixture
def folder(tmp_path: Path) -> Iterator[Path]:
    """A journal of eight receipts, one of which is being written."""
    folder = tmp_path / "receipts"
    held = filled_journal(folder)
    yield folder
    for writer in held:
        writer.release()


@asynccontextmanager
async def showing(qtbot: QtBot, folder: Path, until: Until) -> AsyncIterator[JournalPanel]:
    panel = JournalPanel(Journal(folder), UTC)
    qtbot.addWidget(panel)
    panel.resize(440, 420)
    panel.show()
    panel.activateWindow()
    try:
        await until(lambda: not panel.jobs.is_busy)
        yield panel
    finally:
        await panel.aclose()


def titles(panel: JournalPanel) -> list[str]:
    return [panel.model.index(row, 0).data() for row in range(panel.model.rowCount())]


def go_to(panel: JournalPanel, title: str) -> Entry:
    row = titles(panel).index(title)
    panel.tree.setCurrentIndex(panel.model.index(row, 0))
    assert panel.current is not None
    return panel.current


def seen(panel: JournalPanel) -> set[str]:
    return {button.text() for button in panel.foot.findChildren(QToolButton) if button.isVisible()}


async def test_everything_done_here_is_listed_newest_first(qtbot: QtBot, folder: Path, until: Until) -> None:
    async with showing(qtbot, folder, until) as panel:
        told = [(title_of(one), where_of(one), state_words(one)) for one in panel.model.entries]
        assert told == [
            ("Forgetting 25\u202f000 items", "memory.example.com", "running"),
            ("Erasing 1\u202f200 items", "helpdesk.db, agent:triage", "interrupted"),
            ("3\u202f890 items restored", "helpdesk.db", "done"),
            ("120 items moved", "notes <b>of</b> dana", "done"),
            ("10 items forgotten", "helpdesk.db, 2 nodes", "done, but something still answers"),
            ("6 of 10 items forgotten", "helpdesk.db", "4 left"),
            ("3\u202f895 items erased", "helpdesk.db, team:acme", "done"),
            (f"{YEAR}-07-02T100000Z-erase.jsonl", "", "cannot be read"),
        ]
        assert panel.current is panel.model.entries[0], "the keyboard has a row to begin at"
        spoken = panel.model.index(1, 0).data(Qt.ItemDataRole.AccessibleTextRole)
        assert spoken == "Erasing 1\u202f200 items, interrupted, 7 Jul 11:00, helpdesk.db, agent:triage"
        assert "&lt;b&gt;" in panel.model.index(3, 0).data(Qt.ItemDataRole.ToolTipRole), "stored text is no markup"


async def test_every_state_has_words_and_a_picture(qtbot: QtBot, folder: Path, until: Until) -> None:
    receipt(folder, "07-09T11:00:00", "erase", 5, {"removed": 1, "not_tried": 4, "continued_by": "x.jsonl"})
    receipt(folder, "07-09T12:00:00", "forget", 5, {"removed": 0, "stopped": "the key was refused"})
    receipt(folder, "07-09T13:00:00", "copy", 10, {"removed": 0, "done": 10, "is_clean": True})
    async with showing(qtbot, folder, until) as panel:
        assert {state_of(entry) for entry in panel.model.entries} == set(State)
        assert titles(panel)[0] == "10 items copied"
        assert titles(panel)[1:3] == ["0 of 5 items forgotten", "1 of 5 items erased"]
        assert [state_words(one) for one in panel.model.entries[1:3]] == ["partly", "interrupted, continued later"]
        assert "The key was refused." in panel.model.index(1, 0).data(Qt.ItemDataRole.ToolTipRole)
        assert not panel.grab().isNull(), "each is drawn"


async def test_the_model_keeps_the_rules(qtbot: QtBot, folder: Path, until: Until, qtmodeltester: Any) -> None:
    async with showing(qtbot, folder, until) as panel:
        qtmodeltester.check(panel.model)


@pytest.mark.parametrize(
    ("words", "found"),
    [
        ("erase", ["Erasing 1\u202f200 items", "3\u202f895 items erased", f"{YEAR}-07-02T100000Z-erase.jsonl"]),
        ("helpdesk acme", ["3\u202f895 items erased"]),
        ("dana moved", []),
        ("DANA move", ["120 items moved"]),
    ],
)
async def test_a_search_finds_by_all_of_its_words(
    qtbot: QtBot, folder: Path, until: Until, words: str, found: list[str]
) -> None:
    async with showing(qtbot, folder, until) as panel:
        qtbot.keyClicks(panel.search_edit, words)
        await until(lambda: titles(panel) == found)
        assert panel.tree.isVisible() is bool(found)
        if not found:
            label = panel.empty.findChild(QLabel, "emptyTitleLabel")
            assert isinstance(label, QLabel)
            assert label.text() == "No receipt has these words"
        panel.search_edit.clear()
        await until(lambda: len(titles(panel)) == 8)


async def test_an_empty_journal_says_what_will_be_in_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path / "nowhere", until) as panel:
        label = panel.empty.findChild(QLabel, "emptyTitleLabel")
        assert isinstance(label, QLabel)
        assert (label.text(), label.isVisible()) == ("Nothing in the journal yet", True)
        assert seen(panel) == {"Open receipt", "Show file"}
        assert not panel.open_action.isEnabled()
        assert panel.open_action.toolTip().endswith("No receipt is chosen.")
        assert not (tmp_path / "nowhere").exists(), "only a receipt makes the folder"
        receipt(tmp_path / "nowhere", "07-03T14:59:31", "erase", 1)
        panel.refresh()
        await until(lambda: titles(panel) == ["Erasing 1 item"])


async def test_a_folder_that_cannot_be_read_is_said(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    (tmp_path / "receipts").write_text("a file where the folder should be")
    async with showing(qtbot, tmp_path / "receipts", until) as panel:
        assert "cannot read the receipts" in panel.banner.sentence


async def test_what_can_be_done_is_what_the_receipt_allows(qtbot: QtBot, folder: Path, until: Until) -> None:
    async with showing(qtbot, folder, until) as panel:
        go_to(panel, "10 items forgotten")
        assert seen(panel) == {"Open receipt", "Show file"}
        assert panel.restore_action.toolTip().endswith("No way back was kept of it.")
        assert panel.continue_action.toolTip().endswith("It was not interrupted.")
        go_to(panel, "3\u202f895 items erased")
        assert seen(panel) == {"Open receipt", "Show file", "Restore…"}
        go_to(panel, "Erasing 1\u202f200 items")
        assert seen(panel) == {"Open receipt", "Show file", "Restore…", "Continue…"}
        assert panel.continue_action.isEnabled()
        panel.refuse_writing("Opened read-only")
        assert not panel.continue_action.isEnabled()
        assert not panel.restore_action.isEnabled()
        assert panel.continue_action.toolTip().endswith("Opened read-only.")
        assert panel.open_action.isEnabled(), "to read is no harm"
        go_to(panel, "Forgetting 25\u202f000 items")
        assert "Continue…" not in seen(panel), "it runs"
        go_to(panel, f"{YEAR}-07-02T100000Z-erase.jsonl")
        assert not panel.open_action.isEnabled()
        assert panel.file_action.isEnabled()


@pytest.mark.parametrize("by", ["button", "key", "double click"])
async def test_a_receipt_is_opened(qtbot: QtBot, folder: Path, until: Until, by: str) -> None:
    async with showing(qtbot, folder, until) as panel:
        entry = go_to(panel, "120 items moved")
        with qtbot.waitSignal(panel.open_wanted) as told:
            if by == "button":
                qtbot.mouseClick(panel.open_button, Qt.MouseButton.LeftButton)
            elif by == "key":
                panel.tree.setFocus()
                qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
            else:
                at = panel.tree.visualRect(panel.tree.currentIndex()).center()
                qtbot.mouseDClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=at)
        assert told.args == [entry.path]


async def test_what_was_interrupted_is_gone_on_with_and_what_was_kept_is_restored(
    qtbot: QtBot, folder: Path, until: Until
) -> None:
    async with showing(qtbot, folder, until) as panel:
        entry = go_to(panel, "Erasing 1\u202f200 items")
        for button, signal in (
            (panel.continue_button, panel.continue_wanted),
            (panel.restore_button, panel.restore_wanted),
        ):
            with qtbot.waitSignal(signal) as told:
                qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
            assert told.args == [entry.path]
        opened_urls: list[QUrl] = []
        panel.open_url = opened_urls.append
        qtbot.mouseClick(panel.file_button, Qt.MouseButton.LeftButton)
        assert opened_urls == [QUrl.fromLocalFile(str(folder))]


async def test_the_menu_is_that_of_the_row(qtbot: QtBot, folder: Path, until: Until) -> None:
    async with showing(qtbot, folder, until) as panel:
        row = panel.model.index(1, 0)
        panel.tree.menu_wanted.emit(row, panel.mapToGlobal(panel.rect().center()))
        assert panel.menu.isVisible()
        assert panel.tree.currentIndex() == row
        told = [(action.text(), action.isEnabled()) for action in panel.menu.actions()]
        names = ["Open receipt", "Continue…", "Leave it at that", "Restore…", "", "Show file"]
        assert told == [(name, True) for name in names]
        panel.menu.close()


async def test_what_nobody_goes_on_with_is_left_at_that(qtbot: QtBot, folder: Path, until: Until) -> None:
    async with showing(qtbot, folder, until) as panel:
        entry = go_to(panel, "Erasing 1\u202f200 items")
        panel.settle_action.trigger()
        await until(lambda: not panel.journal.unfinished() and "0 of 1\u202f200 items erased" in titles(panel))
        assert panel.current is not None
        assert panel.current.path == entry.path
        assert not panel.settle_action.isEnabled()


async def test_in_a_narrow_dock_what_matters_is_kept(qtbot: QtBot, folder: Path, until: Until) -> None:
    async with showing(qtbot, folder, until) as panel:
        go_to(panel, "Erasing 1\u202f200 items")
        panel.resize(200, 420)
        await until(lambda: panel.width() == 200)
        assert seen(panel) == {"Continue…", "Restore…"}
        go_to(panel, "120 items moved")
        panel.resize(140, 420)
        await until(lambda: seen(panel) == {"Open receipt"})
        panel.resize(440, 420)
        await until(lambda: seen(panel) == {"Open receipt", "Show file"})


async def test_what_comes_and_ends_is_seen_without_being_asked(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    folder = tmp_path / "receipts"
    receipt(folder, "07-03T14:59:31", "erase", 1)
    async with showing(qtbot, folder, until) as panel:
        before = go_to(panel, "Erasing 1 item")
        writer = Journal(folder).start("forget", ReferenceEngine(), "notes", [ItemId("0" * 40)])
        await until(lambda: titles(panel) == ["Forgetting 1 item", "Erasing 1 item"])
        assert panel.current == before, "the keyboard stays where it was"
        writer.close(removed=1)
        await until(lambda: titles(panel) == ["1 item forgotten", "Erasing 1 item"])


async def test_what_is_not_seen_is_not_read(qtbot: QtBot, folder: Path, until: Until) -> None:
    async with showing(qtbot, folder, until) as panel:
        panel.hide()
        receipt(folder, "07-10T14:59:31", "erase", 1)
        panel.refresh()
        assert not panel.jobs.is_busy
        panel.show()
        await until(lambda: len(titles(panel)) == 9)


async def test_thousands_of_receipts_are_drawn_as_few(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    folder = tmp_path / "receipts"
    for n in range(2_000):
        receipt(folder, f"{1 + n // 200:02}-01T{n % 200 // 60:02}:{n % 60:02}:00", "erase", n, {"removed": n})
    async with showing(qtbot, folder, until) as panel:
        await until(lambda: panel.model.rowCount() == 2_000)
        drawn: list[int] = []
        draw = panel.tree.draw_cells

        def noted(painter: Any, cell: Any, index: Any) -> None:
            drawn.append(index.row())
            draw(painter, cell, index)

        panel.tree.draw_cells = noted  # type: ignore[method-assign]
        qtbot.keyClick(panel.tree, Qt.Key.Key_End)
        panel.tree.viewport().repaint()
        assert panel.current is panel.model.entries[-1]
        assert 0 < len(set(drawn)) < 40


# In the window


def dock_of(window: MainWindow) -> QDockWidget:
    dock = window.findChild(QDockWidget, "journalDock")
    assert isinstance(dock, QDockWidget)
    return dock


def filled_window(window: MainWindow, folder: Path) -> JournalPanel:
    window.journal.journal = Journal(folder)
    return window.journal


async def test_the_dock_is_closed_until_it_is_asked_for(
    qtbot: QtBot, tmp_path: Path, until: Until, folder: Path
) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout()
        panel = filled_window(window, folder)
        dock = dock_of(window)
        assert not dock.isVisible()
        window.activateWindow()
        modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
        qtbot.keyClick(window.items.view, Qt.Key.Key_H, modifiers)
        assert dock.isVisible()
        assert QApplication.focusWidget() is panel.tree
        await until(lambda: panel.model.rowCount() == 8)
        assert window.items.width() > 300
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout()
        assert dock_of(window).isVisible(), "it is as it was left"
        button = window.findChild(QToolButton, "close:journalDock")
        assert isinstance(button, QToolButton)
        assert button.accessibleName() == "Close the journal"
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        assert not dock_of(window).isVisible()


async def test_a_layout_of_before_there_was_a_journal_is_kept(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        dock = dock_of(window)
        window.removeDockWidget(dock)
        dock.setParent(None)  # as the window was without it
        window.findChild(QDockWidget, "facetsDock").close()
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout()
        assert not window.findChild(QDockWidget, "facetsDock").isVisible()
        assert not dock_of(window).isVisible()
        window.journal_action.trigger()
        assert dock_of(window).isVisible()
        assert dock_of(window).width() >= 200
    dock.deleteLater()


async def test_reading_everything_again_reads_the_journal_too(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    folder = tmp_path / "receipts"  # which is not there, so that nothing is told of it
    async with opened(qtbot, tmp_path, until) as window:
        panel = filled_window(window, folder)
        window.show_journal()
        await until(lambda: window.is_idle)
        receipt(folder, "07-03T14:59:31", "erase", 1)
        window.refresh_action.trigger()
        await until(lambda: titles(panel) == ["Erasing 1 item"])


async def test_the_palette_and_f6_go_to_it(qtbot: QtBot, tmp_path: Path, until: Until, folder: Path) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        panel = filled_window(window, folder)
        window.activateWindow()
        window.items.view.setFocus()
        qtbot.keyClick(window.items.view, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClicks(window.palette_box.edit, "show panel journal")
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        assert dock_of(window).isVisible()
        window.viewer.setFocus()
        window.next_pane_action.trigger()
        focus = QApplication.focusWidget()
        assert focus is panel.tree


async def test_a_read_only_memory_is_not_restored_into(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path, folder = await memory(tmp_path / "a.db", "one"), tmp_path / "receipts"
    kept = {"path": "/kept.jsonl", "items": 3, "size_bytes": 10, "incomplete": 0}
    receipt(folder, "07-03T14:59:31", "erase", 3, {"removed": 3, "is_clean": True}, way_back=kept)
    async with running(qtbot, tmp_path) as program:
        panel = filled_window(program.window, folder)
        for is_read_only in (True, False):
            await program.start(Options(open_path=path, is_read_only=is_read_only))
            program.window.show_journal()
            await until(lambda: is_idle(program) and panel.current is not None)
            assert panel.restore_action.isEnabled() is not is_read_only


async def test_two_memories_of_one_name_are_told_apart(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    folder = tmp_path / "receipts"
    engine = {"id": "sqlite", "label": "SQLite file", "place": "/home/dana/notes/memory.db"}
    receipt(folder, "07-03T14:59:31", "forget", 3, engine=engine)
    async with showing(qtbot, folder, until) as panel:
        assert "/home/dana/notes/memory.db" in panel.model.index(0, 0).data(Qt.ItemDataRole.ToolTipRole)


def banner_button(window: MainWindow) -> QPushButton:
    button = window.error_banner.findChild(QPushButton, "bannerActionButton")
    assert isinstance(button, QPushButton)
    return button


async def test_the_next_start_offers_to_go_on(qtbot: QtBot, tmp_path: Path, until: Until, folder: Path) -> None:
    async with running(qtbot, tmp_path) as program:
        window = program.window
        panel = filled_window(window, folder)
        await program.start(Options(open_path=await memory(tmp_path / "helpdesk.db", "one")))
        await until(lambda: is_idle(program))
        said = "Interrupted: Erasing 1\u202f200 items, helpdesk.db, agent:triage, "
        assert window.error_banner.sentence.startswith(said)
        with qtbot.waitSignal(panel.continue_wanted) as told:
            qtbot.mouseClick(banner_button(window), Qt.MouseButton.LeftButton)
        assert told.args == [panel.journal.unfinished()[0].path]


@pytest.mark.limit_s(30)
async def test_where_it_cannot_go_on_at_once_the_journal_is_offered(
    qtbot: QtBot, tmp_path: Path, until: Until, folder: Path
) -> None:
    older = receipt(folder, "01-01T10:00:00", "forget", 2)
    (wanted,) = (path for path in folder.iterdir() if "07-07T" in path.name)
    path = await memory(tmp_path / "helpdesk.db", "one")
    for options in (Options(open_path=path), Options(open_path=path, is_read_only=True), Options(is_sample=True)):
        async with running(qtbot, tmp_path) as program:
            window = program.window
            panel = filled_window(window, folder)
            await program.start(options)
            await until(lambda: is_idle(program))
            assert "interrupted" in window.error_banner.sentence
            qtbot.mouseClick(banner_button(window), Qt.MouseButton.LeftButton)
            await until(lambda panel=panel: panel.current is not None and panel.current.path == wanted)
            assert dock_of(window).isVisible()
        older.unlink(missing_ok=True)


async def test_of_several_windows_the_first_says_it(qtbot: QtBot, tmp_path: Path, until: Until, folder: Path) -> None:
    for is_first in (True, False):
        async with running(qtbot, tmp_path) as program:
            filled_window(program.window, folder)
            await program.start(Options(is_sample=True), is_first=is_first)
            await until(lambda program=program: is_idle(program))
            assert bool(program.window.error_banner.sentence) is is_first


async def test_an_error_at_the_start_is_not_written_over(
    qtbot: QtBot, tmp_path: Path, until: Until, folder: Path
) -> None:
    async with running(qtbot, tmp_path) as program:
        panel = filled_window(program.window, folder)
        await program.start(Options(connection="gone"))
        assert "no saved connection named" in program.window.error_banner.sentence
        await until(lambda: panel.current is not None and panel.current.is_interrupted)
        assert dock_of(program.window).isVisible()


async def test_its_actions_are_in_the_menu_and_have_tips(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        assert window.journal_action in window.more_button.menu().actions()
        for action in window.journal.findChildren(QAction):
            assert not action.text() or action.toolTip()
