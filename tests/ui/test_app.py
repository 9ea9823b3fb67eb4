"""The program around the window: what it opens, what it refuses, and how it ends."""

from __future__ import annotations

import os
import sqlite3
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import TypeVar

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtGui import QAction, QImage
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QLineEdit, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from explorer import text
from explorer.contract import EngineHealth, ForgetTarget, ItemKind, MetaFilter, Namespace, Reach, dump_item
from explorer.engines import ConnectionStore, EngineSettings, KeyStore, SavedConnection, build_engine
from explorer.engines.sqlite import SqliteEngine
from explorer.options import Options
from explorer.ui.app import Program
from explorer.ui.job_list import State
from explorer.ui.main_window import MainWindow, open_settings
from explorer.ui.models.item_model import SPAN_PAGE
from explorer.ui.toolbar import CHOOSE_FILE, MANAGE
from tests.conftest import Until
from tests.fakes import Gate, learning

T = TypeVar("T", bound=QDialog)


@asynccontextmanager
async def running(qtbot: QtBot, folder: Path) -> AsyncIterator[Program]:
    window = MainWindow()
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.show()
    program = Program(window, ConnectionStore(folder / "connections.json"), KeyStore(), folder / "sample.db")
    try:
        yield program
    finally:
        await program.aclose()
        window.close_for_good()


async def memory(path: Path, *texts: str) -> Path:
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    await engine.store_many([learning(text) for text in texts])
    await engine.aclose()
    return path


def is_idle(program: Program) -> bool:
    return program.window.is_idle and not program.jobs.is_busy and not program.transfers.jobs.is_busy


def rows(program: Program) -> int:
    return program.window.items.model.held_count


def dialog_of(kind: type[T]) -> T | None:
    return next(
        (widget for widget in QApplication.topLevelWidgets() if isinstance(widget, kind) and widget.isVisible()), None
    )


def type_path(qtbot: QtBot, dialog: QFileDialog, path: Path) -> None:
    edit = dialog.findChild(QLineEdit, "fileNameEdit")
    assert isinstance(edit, QLineEdit)
    edit.setText(str(path))
    qtbot.keyClick(edit, Qt.Key.Key_Return)


async def choose(qtbot: QtBot, until: Until, action: QAction, path: Path) -> None:
    """Trigger an action that asks for a file, and give it this one."""
    action.trigger()
    await until(lambda: dialog_of(QFileDialog) is not None)
    dialog = dialog_of(QFileDialog)
    assert dialog is not None
    type_path(qtbot, dialog, path)


async def say_yes(qtbot: QtBot, until: Until, words: str) -> None:
    """Press the button of these words in the question that comes."""
    await until(lambda: dialog_of(QMessageBox) is not None)
    box = dialog_of(QMessageBox)
    assert box is not None
    qtbot.mouseClick(next(one for one in box.buttons() if one.text() == words), Qt.MouseButton.LeftButton)


async def test_a_first_run_opens_the_sample(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path) as program:
        await program.start(Options())
        await until(lambda: is_idle(program))
        assert rows(program) == SPAN_PAGE, "a page, not all of it"
        assert (tmp_path / "sample.db").exists()
        assert program.window.windowTitle().startswith("Sample memory")


async def test_the_next_run_opens_what_was_open_last(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = ConnectionStore(tmp_path / "connections.json")
    for name in ("a", "b"):
        path = await memory(tmp_path / f"{name}.db", f"text of {name}")
        store.add(SavedConnection(name=name, engine="sqlite", settings=EngineSettings(path=str(path))))
    store.touch("b")
    store.touch("a")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options())
        await until(lambda: is_idle(program))
        assert program.window.windowTitle().startswith("a \u2013")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(connection="b"))
        await until(lambda: is_idle(program))
        assert program.window.windowTitle().startswith("b \u2013")


async def test_a_filter_of_the_command_line(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(is_sample=True, filter=MetaFilter(kinds=[ItemKind.DOCUMENT])))
        await until(lambda: is_idle(program))
        assert 0 < rows(program) < SPAN_PAGE
        assert program.window.trail.can_go_back


async def test_another_connection_is_one_choice_away(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one", "two")
    async with running(qtbot, tmp_path) as program:
        program.store.add(SavedConnection(name="mine", engine="sqlite", settings=EngineSettings(path=str(path))))
        await program.start(Options(is_sample=True))
        await until(lambda: is_idle(program))
        box = program.window.connection_box
        box.setCurrentIndex(box.findData("saved:mine"))
        box.activated.emit(box.currentIndex())
        await until(lambda: is_idle(program) and rows(program) == 2)
        saved = program.store.get("mine")
        assert saved is not None
        assert saved.last_opened is not None


async def test_another_connection_is_opened_from_the_palette(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one", "two")
    async with running(qtbot, tmp_path) as program:
        program.store.add(SavedConnection(name="mine", engine="sqlite", settings=EngineSettings(path=str(path))))
        await program.start(Options(is_sample=True))
        await until(lambda: is_idle(program))
        box = program.window.palette_box
        program.window.activateWindow()
        qtbot.keyClick(program.window.items.view, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClicks(box.edit, "connection mine")
        first = box.model.command(box.model.index(0, 0))
        assert first is not None
        assert first.title.startswith("Connection: mine")
        assert first.aside == "", "it is not the one that is open"
        qtbot.keyClick(box.edit, Qt.Key.Key_Return)
        await until(lambda: is_idle(program) and rows(program) == 2)
        qtbot.keyClick(program.window.items.view, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        qtbot.keyClicks(box.edit, "connection mine")
        first = box.model.command(box.model.index(0, 0))
        assert first is not None
        assert first.aside == "on"


async def test_the_lock_is_turned_from_the_palette(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        window = program.window
        window.activateWindow()
        for text in ("Read-only", "Can write"):
            qtbot.keyClick(window.items.view, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
            qtbot.keyClicks(window.palette_box.edit, "read-only")
            qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
            if text == "Can write":
                await say_yes(qtbot, until, "Allow changes")
            await until(lambda text=text: is_idle(program) and window.read_only_button.text() == text)


@pytest.mark.parametrize("content", [b"this is not a database, just text\n" * 100, b"SQLite format 3\0" + b"\1" * 4000])
async def test_a_file_that_is_no_memory_changes_nothing(
    qtbot: QtBot, tmp_path: Path, until: Until, content: bytes
) -> None:
    bad = tmp_path / "bad <b>name.db"
    bad.write_bytes(content)
    good = await memory(tmp_path / "good.db", "one")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=good))
        await until(lambda: is_idle(program))
        await program.open_file(bad)
        await until(lambda: is_idle(program))
        assert "bad <b>name.db" in program.window.error_banner.sentence
        assert program.window.windowTitle().startswith("good.db"), "what was open stays open"
        assert rows(program) == 1
    assert bad.read_bytes() == content


async def test_a_file_of_any_name_is_opened_and_locked(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a?b#c %41 &mode=rw 🚀.db", "one")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path, is_read_only=True))
        await until(lambda: is_idle(program))
        assert rows(program) == 1
        assert program.window.read_only_button.isChecked()
        before = path.read_bytes()
        qtbot.mouseClick(program.window.read_only_button, Qt.MouseButton.LeftButton)
        await say_yes(qtbot, until, "Allow changes")
        await until(lambda: is_idle(program) and not program.window.read_only_button.isChecked())
        assert rows(program) == 1
        assert path.read_bytes() == before
    assert [one.name for one in tmp_path.iterdir() if one.suffix == ".db"] == [path.name]


async def test_a_name_that_is_no_text_is_said(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "m\udcfe.db"  # as a command line gives a name of other bytes
    async with running(qtbot, tmp_path) as program:
        program.jobs.start("open", program.start(Options(open_path=path)), lambda _: None)
        await until(lambda: program.window.error_banner.sentence)
        said = "the path of the database is not Unicode text; rename the file"
        assert program.window.error_banner.sentence == f"It cannot be opened as it is set: {said}."


async def test_a_file_that_another_program_holds_can_be_tried_again(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(SqliteEngine.__init__.__kwdefaults__, "busy_timeout_s", 0.05)
    first, held = await memory(tmp_path / "a.db", "one"), await memory(tmp_path / "held.db", "two", "three")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=first))
        with closing(sqlite3.connect(held, isolation_level=None)) as other:
            other.execute("PRAGMA journal_mode = DELETE")
            other.execute("BEGIN EXCLUSIVE")
            await program.open_file(held)
            await until(lambda: is_idle(program))
            banner = program.window.error_banner
            assert "held.db cannot be opened" in banner.sentence
            assert f"`{held}` is locked, probably by another program" in banner.sentence
            assert rows(program) == 1, "what was open stays"
            other.execute("ROLLBACK")
        retry = banner.findChild(QPushButton, "bannerActionButton")
        assert retry is not None
        qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
        await until(lambda: is_idle(program) and rows(program) == 2)
        assert program.window.windowTitle().startswith("held.db")


async def test_the_lock_reopens_the_file(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        button = program.window.read_only_button
        assert button.text() == "Can write"
        assert program.window.import_action.isEnabled()
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: is_idle(program) and button.text() == "Read-only")
        assert not program.window.import_action.isEnabled()
        assert rows(program) == 1
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await say_yes(qtbot, until, "Allow changes")
        await until(lambda: is_idle(program) and button.text() == "Can write")


async def test_importing_says_what_went_in_and_what_did_not(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one")
    lines = tmp_path / "items.jsonl"
    lines.write_text("\n".join([dump_item(learning("two")), dump_item(learning("one")), "{broken"]) + "\n")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        await choose(qtbot, until, program.window.import_action, lines)
        await until(lambda: is_idle(program) and rows(program) == 2)
        said = program.window.error_banner.sentence
        assert "1 item stored, 1 held already, 1 line refused" in said


async def test_exporting_writes_what_the_filter_admits(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one", "two")
    out = tmp_path / "out.jsonl"
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        await choose(qtbot, until, program.window.export_action, out)
        await until(lambda: is_idle(program) and out.exists())
        assert sorted(out.read_text().splitlines()) == sorted(dump_item(learning(text)) for text in ("one", "two"))
        size = text.size(out.stat().st_size)
        assert program.window.error_banner.sentence == f"2 items, {size}, in {out}."
        went: list[QUrl] = []
        program.transfers.open_url = went.append
        opens = program.window.error_banner.findChild(QPushButton, "bannerActionButton")
        assert opens is not None
        assert opens.text() == "Open folder"
        qtbot.mouseClick(opens, Qt.MouseButton.LeftButton)
        assert [url.toLocalFile() for url in went] == [str(tmp_path)]


async def test_what_is_selected_can_be_exported(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one", "two", "three")
    out = tmp_path / "out.jsonl"
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        items = program.window.items
        items.view.setCurrentIndex(items.model.index(0, 1))
        qtbot.keyClick(items.view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        wanted = [dump_item(learning(hit.text)) for hit in items.selected_hits()]
        button = QAction()
        button.triggered.connect(items.export_button.click)
        await choose(qtbot, until, button, out)
        await until(lambda: is_idle(program) and out.exists())
        assert out.read_text().splitlines() == wanted
        assert len(wanted) == 2
        assert "2 items" in program.window.error_banner.sentence
        items.select_all()
        await choose(qtbot, until, button, tmp_path / "all.jsonl")
        await until(lambda: is_idle(program) and (tmp_path / "all.jsonl").exists())
        assert len((tmp_path / "all.jsonl").read_text().splitlines()) == 3


async def test_what_was_selected_is_exported_whatever_is_looked_at_then(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    path = await memory(tmp_path / "a.db", "one", "two", "three")
    out = tmp_path / "out.jsonl"
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        items, engine = program.window.items, program.window.engine
        assert engine is not None
        items.view.setCurrentIndex(items.model.index(0, 1))
        qtbot.keyClick(items.view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
        first, second = items.selected_hits()
        button = QAction()
        button.triggered.connect(items.export_button.click)
        # Before anything of the export has begun, the list is told to show another node, and one item goes.
        elsewhere = MetaFilter(reach=Reach.exact(Namespace.parse("team:elsewhere")))
        button.triggered.connect(lambda: program.window.go_to_filter(elsewhere))
        await engine.forget(ForgetTarget(ids=[second.id]))
        await choose(qtbot, until, button, out)
        await until(lambda: is_idle(program) and out.exists())
        assert out.read_text().splitlines() == [dump_item(learning(first.text))]
        said = program.window.error_banner.sentence
        assert said.endswith("1 item no longer stored, or held only in part, and left out.")
        assert rows(program) == 0


async def test_an_import_is_not_cut_off_without_being_asked(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one")
    lines = tmp_path / "items.jsonl"
    lines.write_text("".join(dump_item(learning(f"number {at}")) + "\n" for at in range(20_000)))
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        await choose(qtbot, until, program.window.import_action, lines)
        await until(lambda: program.window.job_list.running and rows(program))
        program.window.connection_chosen.emit("sample")
        await until(lambda: dialog_of(QMessageBox) is not None)
        box = dialog_of(QMessageBox)
        assert box is not None
        box.reject()
        await until(lambda: not program.jobs.is_busy)
        assert program.window.windowTitle().startswith("a.db"), "the import goes on where it was begun"
        assert program.transfers.jobs.is_busy
        program.window.job_cancel_button.click()
        await until(lambda: is_idle(program), 10)
        assert program.window.error_banner.sentence == "", "what was cancelled is no failure"


class SlowToOpen(SqliteEngine):
    """One whose first answer waits at a gate."""

    def __init__(self, path: Path) -> None:
        super().__init__(str(path), embedder=None)
        self.gate = Gate()
        self.is_closed = False

    async def health(self) -> EngineHealth:
        await self.gate.wait()
        return await super().health()

    async def aclose(self) -> None:
        await super().aclose()
        self.is_closed = True


@pytest.mark.parametrize("answer", ["Cancel", "Cancel jobs and open"])
async def test_an_import_begun_while_another_memory_opens_is_not_cut_off_unasked(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch, answer: str
) -> None:
    path, other = await memory(tmp_path / "a.db", "one"), await memory(tmp_path / "b.db", "two", "three")
    lines = tmp_path / "items.jsonl"
    lines.write_text("".join(dump_item(learning(f"number {at}")) + "\n" for at in range(20_000)))
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        slow = SlowToOpen(other)
        monkeypatch.setattr("explorer.ui.program.build_engine", lambda *_: slow)
        program.window.connection_chosen.emit(f"file:{other}")
        await until(lambda: slow.gate.waiting == 1)
        await choose(qtbot, until, program.window.import_action, lines)
        await until(lambda: program.window.job_list.holding)
        job = program.window.job_list.holding[0]
        slow.gate.open()
        await until(lambda: dialog_of(QMessageBox) is not None)
        box = dialog_of(QMessageBox)
        assert box is not None
        assert job.state is State.RUNNING
        next(button for button in box.buttons() if button.text() == answer).click()
        await until(lambda: not program.jobs.is_busy)
        if answer == "Cancel":
            assert program.window.windowTitle().startswith("a.db")
            assert program.window.connection_box.currentText().startswith("a.db")
            assert slow.is_closed
            assert job.state is State.RUNNING, "the import goes on where it was begun"
            program.window.job_cancel_button.click()
        else:
            assert program.window.windowTitle().startswith("b.db")
        await until(lambda: is_idle(program), 10)
        assert job.state is State.CANCELLED


@pytest.mark.parametrize("does_export", [False, True])
async def test_what_waits_for_its_file_while_another_memory_opens_is_cancelled_and_said(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch, does_export: bool
) -> None:
    path, other = await memory(tmp_path / "a.db", "one"), await memory(tmp_path / "b.db", "two", "three")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        slow = SlowToOpen(other)
        monkeypatch.setattr("explorer.ui.program.build_engine", lambda *_: slow)
        program.window.connection_chosen.emit(f"file:{other}")
        await until(lambda: slow.gate.waiting == 1)
        (program.window.export_action if does_export else program.window.import_action).trigger()
        await until(lambda: dialog_of(QFileDialog) is not None)
        slow.gate.open()
        await until(lambda: is_idle(program) and rows(program) == 2)
        await until(lambda: dialog_of(QFileDialog) is None)
        assert program.window.error_banner.sentence == (
            "A memory was opened meanwhile: the import or export for which a file was being chosen was cancelled."
        )


async def test_an_export_never_replaces_the_open_memory(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        await choose(qtbot, until, program.window.export_action, path)
        await until(lambda: is_idle(program))
        assert "is the memory itself" in program.window.error_banner.sentence
        program.window.refresh()
        await until(lambda: is_idle(program))
        assert rows(program) == 1


async def test_an_export_replaces_a_file_only_when_told_to(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one")
    out = tmp_path / "out.jsonl"
    out.write_text("precious")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        for answer, content in (("Cancel", "precious"), ("Replace it", dump_item(learning("one")) + "\n")):
            await choose(qtbot, until, program.window.export_action, out)
            await until(lambda: dialog_of(QMessageBox) is not None)
            box = dialog_of(QMessageBox)
            assert box is not None
            next(button for button in box.buttons() if answer in button.text()).click()
            await until(lambda: is_idle(program))
            assert out.read_text() == content


async def test_an_export_says_what_stayed_in_sandboxes(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)
    await engine.store_many([learning("out"), learning("in", "team:a/service:job")])
    await engine.aclose()
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=tmp_path / "a.db"))
        await until(lambda: is_idle(program))
        await choose(qtbot, until, program.window.export_action, tmp_path / "out.jsonl")
        await until(lambda: is_idle(program))
        assert "1 item in sandboxes not among them" in program.window.error_banner.sentence


async def test_a_last_connection_that_cannot_be_built_leaves_a_way_on(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    ConnectionStore(tmp_path / "connections.json").add(SavedConnection(name="gone", engine="no-such-engine"))
    async with running(qtbot, tmp_path) as program:
        await program.start(Options())
        await until(lambda: is_idle(program))
        assert "no-such-engine" in program.window.error_banner.sentence
        assert program.window.windowTitle().startswith("Sample memory")
        box = program.window.connection_box
        assert {"saved:gone", "sample", CHOOSE_FILE, MANAGE} <= {box.itemData(row) for row in range(box.count())}


async def test_a_last_file_that_was_moved_is_not_made_anew(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    moved = tmp_path / "moved.db"
    async with running(qtbot, tmp_path) as program:
        program.store.add(SavedConnection(name="mine", engine="sqlite", settings=EngineSettings(path=str(moved))))
        await program.start(Options())
        await until(lambda: is_idle(program))
        assert program.window.windowTitle().startswith("Sample memory")
        assert "moved.db is not there any more" in program.window.error_banner.sentence
        assert not moved.exists()


async def test_a_file_that_is_gone_is_not_made_anew_by_the_picker_nor_the_lock(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    moved, mine = await memory(tmp_path / "moved.db", "one"), tmp_path / "mine.db"
    async with running(qtbot, tmp_path) as program:
        program.store.add(SavedConnection(name="mine", engine="sqlite", settings=EngineSettings(path=str(mine))))
        await program.start(Options(open_path=moved))
        await until(lambda: is_idle(program))
        window, banner = program.window, program.window.error_banner
        window.connection_chosen.emit("saved:mine")
        await until(lambda: "mine.db is not there any more" in banner.sentence)
        assert window.windowTitle().startswith("moved.db"), "what was open stays"
        assert not mine.exists()

        moved.rename(tmp_path / "elsewhere.db")
        window.read_only_wanted.emit(True)
        await until(lambda: "moved.db is not there any more" in banner.sentence)
        window.connection_chosen.emit("saved:mine")
        await until(lambda: "mine.db is not there any more" in banner.sentence)
        assert not moved.exists()

        offer = next(one for one in banner.findChildren(QPushButton) if one.text() == "Begin an empty memory there")
        qtbot.mouseClick(offer, Qt.MouseButton.LeftButton)
        await until(lambda: window.windowTitle().startswith("mine"))
        await until(lambda: not program.jobs.is_busy and is_idle(program))
        assert mine.exists()
        (saved,) = program.store.load()
        assert saved.last_opened is not None


async def test_the_lock_keeps_the_view(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(is_sample=True, filter=MetaFilter(kinds=[ItemKind.DOCUMENT])))
        await until(lambda: is_idle(program))
        window = program.window
        window.items.view.selectRow(7)
        chosen = window.items.selected_hits()[0].id
        qtbot.mouseClick(window.read_only_button, Qt.MouseButton.LeftButton)
        await until(lambda: is_idle(program) and window.read_only_button.isChecked())
        assert window.trail.current.filter == MetaFilter(kinds=[ItemKind.DOCUMENT])
        assert window.back_action.isEnabled()
        assert [hit.id for hit in window.items.selected_hits()] == [chosen]


@pytest.mark.parametrize("key", [CHOOSE_FILE, MANAGE])
async def test_a_dialog_left_alone_changes_nothing(qtbot: QtBot, tmp_path: Path, until: Until, key: str) -> None:
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(is_sample=True))
        await until(lambda: is_idle(program))
        program.window.connection_box.chosen.emit(key)
        await until(lambda: dialog_of(QDialog) is not None)
        dialog = dialog_of(QDialog)
        assert dialog is not None
        dialog.reject()
        await until(lambda: is_idle(program))
        assert program.window.connection_box.currentData() == "sample"
        assert program.store.load() == []


async def test_an_unreadable_list_of_connections_is_kept_and_said(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    (tmp_path / "connections.json").write_text("{ not json")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options())
        await until(lambda: is_idle(program))
        assert "could not be read" in program.window.error_banner.sentence
        assert rows(program) == SPAN_PAGE
    assert (tmp_path / "connections.unreadable-1.json").read_bytes() == b"{ not json"


async def test_closing_ends_the_program(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(is_sample=True))
        program.window.close()
        await until(program.closing.is_set)
        assert dialog_of(QMessageBox) is None


def test_the_window_draws_itself_without_a_screen(tmp_path: Path) -> None:
    out = tmp_path / "window.png"
    home = {name: str(tmp_path / name) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    env = {**os.environ, **home, "QT_QPA_PLATFORM": "offscreen"}
    command = [
        sys.executable,
        "-m",
        "explorer",
        "--sample",
        "--shot",
        str(out),
        "--size",
        "1280x800",
        "--theme",
        "dark",
    ]
    done = subprocess.run(command, env=env, capture_output=True, text=True, timeout=120, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stderr == ""
    image = QImage(str(out))
    assert (image.width(), image.height()) == (1280, 800)
    assert len({image.pixel(x, y) for x in range(0, 1280, 16) for y in range(0, 800, 16)}) > 10, "it is not blank"
    assert image.pixelColor(4, 60).lightness() < 60, "it is dark"
    assert not (tmp_path / "XDG_CONFIG_HOME").exists(), "a picture leaves nothing of its own behind"


SPEAKS = """
import sys
from explorer.options import Options
from explorer import i18n
from explorer.ui import app

async def start(program, options, key, is_first):
    print(i18n._words.info().get("language", "en"), flush=True)
    program.window.quit_wanted.emit()

app.Program.start = start
sys.exit(app.run(Options(language=sys.argv[1] or None)))
"""


@pytest.mark.parametrize(
    ("asked", "kept", "system", "says"),
    [
        ("", "de", "en_US", "de"),
        ("", "zh_CN", "en_US", "zh_CN"),
        ("", "en", "de_DE", "en"),
        ("de", "zh_CN", "en_US", "de"),
        ("", "", "de_DE", "de"),
        ("", "no such language", "de_DE", "de"),
    ],
    ids=["kept German", "kept Chinese", "kept English", "asked before kept", "the system's", "kept nonsense"],
)
def test_the_language_is_what_is_asked_for_else_kept_else_the_system_s(
    tmp_path: Path, asked: str, kept: str, system: str, says: str
) -> None:
    home = {name: str(tmp_path / name) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    settings = open_settings(tmp_path / "XDG_CONFIG_HOME" / "tinymemory-explorer")
    settings.setValue("language", kept)
    settings.sync()
    env = {**os.environ, **home, "QT_QPA_PLATFORM": "offscreen", "LC_ALL": f"{system}.UTF-8", "LANGUAGE": ""}
    done = subprocess.run(
        [sys.executable, "-c", SPEAKS, asked], env=env, capture_output=True, text=True, timeout=60, check=False
    )
    assert (done.stdout.strip(), done.returncode) == (says, 0), done.stderr
