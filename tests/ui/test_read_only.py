"""The lock: what is open read-only cannot change, and only a deliberate act allows changes, for this session."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QAbstractButton, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from explorer.contract import EngineDescriptor, InvalidRequest, ListRequest
from explorer.contract.reference import ReferenceEngine
from explorer.engines import EngineEntry, EngineSettings, SavedConnection, build_engine, registry
from explorer.options import Options
from explorer.ui.app import Program
from tests.conftest import Until
from tests.fakes import learning
from tests.ui.test_app import dialog_of, is_idle, memory, rows, running, say_yes


def press(qtbot: QtBot, program: Program) -> None:
    qtbot.mouseClick(program.window.read_only_button, Qt.MouseButton.LeftButton)


async def question(until: Until) -> QMessageBox:
    await until(lambda: dialog_of(QMessageBox) is not None)
    box = dialog_of(QMessageBox)
    assert box is not None
    return box


def button(box: QMessageBox, words: str) -> QAbstractButton:
    return next(one for one in box.buttons() if one.text() == words)


async def allow_changes(qtbot: QtBot, until: Until, program: Program) -> None:
    """Unlock, and say so again."""
    press(qtbot, program)
    await say_yes(qtbot, until, "Allow changes")
    await until(lambda: is_idle(program) and not program.window.is_read_only)


def is_locked(program: Program) -> bool:
    shown = program.window.read_only_button
    assert (shown.text() == "Read-only") == shown.isChecked() == program.window.is_read_only
    return shown.isChecked()


async def saved(program: Program, tmp_path: Path, *, is_read_only: bool) -> None:
    path = await memory(tmp_path / "a.db", "one")
    settings = EngineSettings(path=str(path), read_only=is_read_only or None)
    program.store.add(SavedConnection(name="My <b>notes</b>", engine="sqlite", settings=settings))


async def test_unlocking_asks_by_name_and_its_answer_is_no(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path) as program:
        await saved(program, tmp_path, is_read_only=True)
        await program.start(Options())
        await until(lambda: is_idle(program))
        assert is_locked(program)
        press(qtbot, program)
        box = await question(until)
        assert is_locked(program), "it turns once it is unlocked"
        assert "My <b>notes</b>" in box.text()
        assert box.textFormat() is Qt.TextFormat.PlainText
        assert "stays read-only" in box.informativeText()
        assert box.defaultButton() is button(box, "Cancel")
        qtbot.keyClick(box, Qt.Key.Key_Return)
        await until(lambda: is_idle(program))
        assert is_locked(program)


async def test_unlocking_lasts_for_the_session(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path) as program:
        await saved(program, tmp_path, is_read_only=True)
        await program.start(Options())
        await until(lambda: is_idle(program))
        await allow_changes(qtbot, until, program)
        assert not is_locked(program)
        engine = program.window.engine
        assert engine is not None
        await engine.store(learning("two"))
        kept = program.store.get("My <b>notes</b>")
        assert kept is not None
        assert kept.settings.read_only, "what is saved of it stays"
    async with running(qtbot, tmp_path) as program:
        await program.start(Options())
        await until(lambda: is_idle(program))
        assert is_locked(program)
        assert rows(program) == 2


async def test_a_connection_that_may_be_written_is_opened_read_only_where_the_command_line_says_so(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with running(qtbot, tmp_path) as program:
        await saved(program, tmp_path, is_read_only=False)
        for options in (Options(is_read_only=True), Options(connection="My <b>notes</b>", is_read_only=True)):
            await program.start(options)
            await until(lambda: is_idle(program))
            assert is_locked(program)
        press(qtbot, program)
        assert "stays read-only" not in (await question(until)).informativeText(), "it is not kept as that"


async def test_actions_that_write_say_why_they_cannot_be(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path, is_read_only=True))
        await until(lambda: is_idle(program))
        window = program.window
        window.items.view.selectRow(0)
        writing = [window.import_action, window.items.forget_action, *window.removing.all]
        for action in writing:
            assert not action.isEnabled()
            assert action.toolTip().endswith("Opened read-only." if action.property("tip") else "Opened read-only")
        assert not window.items.forget_button.isEnabled()
        await allow_changes(qtbot, until, program)
        window.items.view.selectRow(0)
        assert all(action.isEnabled() for action in writing)
        assert window.items.forget_button.isEnabled()


@pytest.mark.parametrize("is_read_only", [False, True])
async def test_an_empty_memory_offers_an_import_only_where_it_can_be(
    qtbot: QtBot, tmp_path: Path, until: Until, is_read_only: bool
) -> None:
    path = tmp_path / "a.db"
    empty = build_engine("sqlite", EngineSettings(path=str(path)))
    await empty.health()
    await empty.aclose()
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path, is_read_only=is_read_only))
        await until(lambda: is_idle(program))
        main = program.window.items.findChild(QPushButton, "emptyMainButton")
        assert isinstance(main, QPushButton)
        assert main.isVisible() is not is_read_only


async def test_the_window_has_no_way_to_write(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = await memory(tmp_path / "a.db", "one")
    before = path.read_bytes()
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path, is_read_only=True))
        await until(lambda: is_idle(program))
        engine = program.window.engine
        assert engine is not None
        with pytest.raises(InvalidRequest):
            await engine.store(learning("two"))
    assert path.read_bytes() == before


class Counted(ReferenceEngine):
    """Held in memory, as a service may hold it; counts how often one was opened and closed."""

    made = 0
    closed = 0

    def __init__(self) -> None:
        super().__init__()
        type(self).made += 1

    async def aclose(self) -> None:
        type(self).closed += 1


async def test_an_engine_without_a_file_is_locked_as_it_is(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Counted, "made", 0)
    monkeypatch.setattr(Counted, "closed", 0)
    descriptor = EngineDescriptor.model_validate({**ReferenceEngine().descriptor().model_dump(), "id": "acme"})
    entry = EngineEntry(descriptor, lambda settings, credential: Counted())
    monkeypatch.setattr(registry, "_found", ({**registry._engines()[0], "acme": entry}, []))
    async with running(qtbot, tmp_path) as program:
        program.store.add(SavedConnection(name="held", engine="acme", settings=EngineSettings()))
        await program.start(Options())
        await until(lambda: is_idle(program))
        engine = program.window.engine
        assert engine is not None
        await engine.store(learning("one"))
        press(qtbot, program)
        await until(lambda: is_idle(program) and program.window.is_read_only)
        view = program.window.engine
        assert view is not None
        with pytest.raises(InvalidRequest):
            await view.store(learning("two"))
        assert [hit.text for hit in (await view.list(ListRequest(limit=9))).items] == ["one"]
        await allow_changes(qtbot, until, program)
        assert program.window.engine is engine
        press(qtbot, program)
        await until(lambda: is_idle(program) and program.window.is_read_only)
        assert (Counted.made, Counted.closed) == (1, 0)
        await program.open_sample()
        assert Counted.closed == 1, "with its view"
        assert program.window.engine is not engine
        press(qtbot, program)
        await until(lambda: is_idle(program) and program.window.is_read_only)
        await allow_changes(qtbot, until, program)
        assert program.window.windowTitle().startswith("Sample memory")
