"""Moving and copying through the window: from what is pointed at to what a fresh read says."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, AsyncIterator, Sequence
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QMenu, QPlainTextEdit, QPushButton
from pytestqt.qtbot import QtBot
from shiboken6 import isValid

from explorer.contract import (
    EngineFailure,
    ExportPage,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    ListRequest,
    MetaFilter,
    Namespace,
    Reach,
    StoreItem,
    Unauthorized,
    Unavailable,
)
from explorer.engines import ConnectionStore, EngineSettings, KeyStore, SavedConnection, build_engine
from explorer.removal.journal import Journal
from explorer.removal.moving import Move, MoveStep, Way
from explorer.removal.plan import Action, Target, make_plan
from explorer.removal.receipts import Receipt
from explorer.ui.dialogs.move import COPY, MOVE, MoveDialog, Opened
from explorer.ui.dialogs.move_parts.form import FLATTEN, HERE, Place
from explorer.ui.dialogs.plan_parts.dialog import Memory
from explorer.ui.dialogs.plan_parts.plan_column import PlanColumn
from explorer.ui.job_list import State
from explorer.ui.main_window import MainWindow
from explorer.ui.program import Program
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.removal.made import as_if_killed

ITEMS: list[StoreItem] = [
    learning("tea", "team:a"),
    learning("milk", "team:a/agent:b"),
    learning("boxed", "team:a/service:cron"),
    learning("elsewhere", "team:z"),
]


def node(text: str) -> Namespace:
    return Namespace.parse(text)


async def memory(path: Path, items: Sequence[StoreItem] = ()) -> Path:
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    if items:
        await engine.store_many(list(items))
    else:
        await engine.health()
    await engine.aclose()
    return path


async def held(path: Path) -> set[tuple[str, str]]:
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    found = set()
    for bucket in (await engine.namespaces(MetaFilter())).buckets:
        filter = MetaFilter(reach=Reach.exact(node(bucket.value)))
        page = await engine.export(ListRequest(filter=filter, limit=100))
        found |= {(each.item.render_text(), bucket.value) for each in page.items}
    await engine.aclose()
    return found


@asynccontextmanager
async def running(qtbot: QtBot, folder: Path, until: Until, *, is_read_only: bool = False) -> AsyncIterator[Program]:
    """A window on a memory of `ITEMS`; another one, empty, is saved as Archive."""
    path, archive = await memory(folder / "a.db", ITEMS), await memory(folder / "archive.db")
    store = ConnectionStore(folder / "connections.json")
    store.add(SavedConnection(name="Archive", engine="sqlite", settings=EngineSettings(path=str(archive))))
    locked = EngineSettings(path=str(archive), read_only=True)
    store.add(SavedConnection(name="Locked", engine="sqlite", settings=locked))
    window = MainWindow()
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.show()
    program = Program(window, store, KeyStore(), folder / "data" / "sample.db")
    try:
        await program.open_file(path, is_read_only=is_read_only)
        await until(lambda: window.is_idle)
        yield program
    finally:
        await program.aclose()
        window.close_for_good()


async def opened(program: Program, until: Until) -> MoveDialog:
    await until(lambda: program.moves.dialog is not None)
    assert program.moves.dialog is not None
    return program.moves.dialog


def is_counted(dialog: MoveDialog) -> bool:
    """Whether what is asked now was counted to its end."""
    return dialog.counted_label.text().startswith("Counted ")


def type_node(qtbot: QtBot, dialog: MoveDialog, at: str) -> None:
    edit = dialog.form.node_edit
    edit.clear()
    qtbot.keyClicks(edit, at)
    edit.completer().popup().hide()
    qtbot.keyClick(edit, Qt.Key.Key_Return)


def press(qtbot: QtBot, button: Any) -> None:
    assert button.isEnabled()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def offer(column: PlanColumn, words: str) -> QPushButton:
    return next(button for button in column.findChildren(QPushButton) if button.text() == words)


def row_action(menu: QMenu, words: str) -> QAction:
    return next(action for action in menu.actions() if action.text() == words)


async def left_in_the_middle(move: Move, journal: Journal) -> Path:
    """The receipt of a move that was killed before its first batch."""
    async for _ in move.count():
        pass
    steps = move.run()
    await anext(steps)
    await steps.aclose()
    (path,) = journal.folder.glob("*-move.jsonl")
    as_if_killed(path)
    return path


async def test_a_node_is_moved_from_its_menu(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        window = program.window
        panel = window.namespaces
        index = panel.model.index_of(node("team:a"))
        panel.tree.menu_wanted.emit(index, panel.tree.mapToGlobal(panel.tree.visualRect(index).center()))
        menu = panel.tree.findChildren(QMenu)[-1]
        row_action(menu, "Move or copy here and below…").trigger()
        menu.close()
        dialog = await opened(program, until)
        assert dialog.title_label.text() == "Move team:a and everything below it"
        assert not dialog.move_button.isEnabled()
        names = dialog.form.completer.model()
        assert {names.index(row, 0).data() for row in range(names.rowCount())} >= {"root", "team:a", "team:z"}
        type_node(qtbot, dialog, "project:p")
        await until(lambda: is_counted(dialog))
        assert dialog.move_button.text() == "Move 2 items"
        assert any("The sandbox team:a/service:cron with 1 item." in said for said in dialog.plan_column.sentences)
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None)
        assert dialog.title_label.text() == "2 of 2 items moved"
        await until(lambda: window.is_idle)
        assert window.error_banner.sentence == "2 of 2 items moved."
        assert panel.model.index_of(node("project:p/agent:b")).isValid()
        (receipt,) = program.moves.journal.folder.glob("*-move.jsonl")
        assert dialog.outcome is not None
        assert dialog.outcome.receipt == receipt
        press(qtbot, dialog.list_button)
        assert window.trail.current.filter.reach == Reach.subtree(node("project:p"))
        press(qtbot, dialog.done_button)
        await until(lambda: program.moves.dialog is None and window.is_idle)
        (job,) = [job for job in window.job_list.jobs if job.title == "Move team:a and everything below it"]
        assert job.state is State.DONE
    assert await held(tmp_path / "a.db") == {
        ("tea", "project:p"),
        ("milk", "project:p/agent:b"),
        ("boxed", "team:a/service:cron"),
        ("elsewhere", "team:z"),
    }


async def test_what_is_selected_goes_to_a_saved_memory(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        window = program.window
        window.items.view.setFocus()
        rows = {hit.text: row for row, hit in window.items.model.held_rows().items()}
        window.items.view.selectRow(rows["milk"])
        window.items.move_action.trigger()
        dialog = await opened(program, until)
        assert [dialog.form.place_box.itemText(row) for row in range(dialog.form.place_box.count())] == [
            "This memory: a.db",
            "Archive, SQLite file",
        ]
        dialog.form.place_box.setCurrentIndex(1)
        await until(lambda: is_counted(dialog))
        assert not dialog.form.node_edit.isVisible()
        assert dialog.move_button.text() == "Move 1 item"
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None and window.is_idle)
        assert not dialog.list_button.isVisible()
        assert all(hit.text != "milk" for hit in window.items.model.held_rows().values())
        dialog.accept()
        await until(lambda: program.moves.dialog is None and not program.moves.jobs.is_busy)
    assert await held(tmp_path / "archive.db") == {("milk", "team:a/agent:b")}
    assert ("milk", "team:a/agent:b") not in await held(tmp_path / "a.db")


async def test_all_that_match_are_copied_from_a_memory_opened_read_only(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with running(qtbot, tmp_path, until, is_read_only=True) as program:
        program.window.moving.matching_action.trigger()
        dialog = await opened(program, until)
        assert dialog.choice.choice == COPY
        assert not dialog.choice.button(MOVE).isEnabled()
        assert dialog.form.place.name == "Archive"
        await until(lambda: is_counted(dialog))
        assert dialog.title_label.text() == "Copy the whole tree"
        sentences = dialog.plan_column.sentences
        assert "3 items at 3 nodes, read to the end. To Archive, each to the node it has." in sentences
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None)
        assert dialog.title_label.text() == "3 of 3 items copied"
    assert len(await held(tmp_path / "archive.db")) == 3
    assert len(await held(tmp_path / "a.db")) == 4


async def test_what_was_asked_to_go_and_never_answered_for_is_said(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(qtbot, tmp_path, until) as program:
        engine = program.window.engine
        assert engine is not None
        program.moves.plan(Target.below(node("team:a")))
        dialog = await opened(program, until)
        type_node(qtbot, dialog, "user:u")
        await until(lambda: is_counted(dialog))
        forget = engine.forget

        async def refuse(req: GetRequest) -> list[Hit]:
            raise Unauthorized("the key was refused")

        async def forget_and_close(target: ForgetTarget) -> ForgetReport:
            report = await forget(target)
            monkeypatch.setattr(engine, "get", refuse)
            return report

        monkeypatch.setattr(engine, "forget", forget_and_close)
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None)
        assert dialog.title_label.text() == "0 of 2 moved, 2 without an answer"
        assert "Whether 2 items are still where they were is not known." in dialog.banner.sentence
        assert any("may still be at their old one" in said for said in dialog.result_column.sentences)
        assert dialog.again_button.isVisible()
        dialog.accept()


async def interrupted(program: Program, at: str, *, is_all: bool = False) -> Path:
    """The receipt of a move of team:a to the node `at` that was left before its first item, or after its last."""
    engine = program.window.engine
    assert engine is not None
    plan = await make_plan(engine, Target.below(node("team:a")), Action.FORGET)
    move = Move(engine, plan, engine, Way(node(at), keeps_tree=False), program.moves.journal, "a.db", "a.db")
    async for _ in move.count():
        pass
    steps = move.run()
    await anext(steps)
    if is_all:
        await anext(steps)
    await steps.aclose()
    (path,) = program.moves.journal.folder.glob("*-move.jsonl")
    as_if_killed(path)
    return path


@pytest.mark.limit_s(30)
async def test_an_interrupted_move_goes_on_from_the_journal(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        window = program.window
        path = await interrupted(program, "user:u")
        window.journal.continue_wanted.emit(path)
        dialog = await opened(program, until)
        assert dialog.form.node_edit.text() == "user:u"
        assert dialog.form.tree_choice.choice == FLATTEN
        await until(lambda: is_counted(dialog))
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None and not program.moves.jobs.is_busy)
        assert dialog.outcome is not None
        assert dialog.outcome.receipt is not None
        assert Receipt.read(path).continued_by == dialog.outcome.receipt.name
        window.journal.continue_wanted.emit(dialog.outcome.receipt)
        await until(lambda: window.error_banner.sentence == "Nothing of it is left to be moved or copied.")
        dialog.accept()
    assert {at for _, at in await held(tmp_path / "a.db")} == {"user:u", "team:a/service:cron", "team:z"}


async def test_another_move_in_its_dialog_does_not_settle_the_interrupted_one(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with running(qtbot, tmp_path, until) as program:
        path = await interrupted(program, "user:u")
        program.window.journal.continue_wanted.emit(path)
        dialog = await opened(program, until)
        type_node(qtbot, dialog, "user:v")
        await until(lambda: is_counted(dialog))
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None and not program.moves.jobs.is_busy)
        assert not Receipt.read(path).is_finished
        dialog.accept()


async def test_of_what_nothing_is_left_is_offered_no_more(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        path = await interrupted(program, "user:u", is_all=True)
        assert not Receipt.read(path).is_finished
        program.window.journal.continue_wanted.emit(path)
        said = "Nothing of it is left to be moved or copied."
        await until(lambda: program.window.error_banner.sentence == said)
        assert Receipt.read(path).is_finished
        assert program.moves.journal.unfinished() == []


async def test_a_receipt_that_does_not_say_enough_is_kept(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        path = await interrupted(program, "user:u")
        path.write_text(path.read_text("utf-8").replace('"to":"user:u"', '"to":"user u"'), "utf-8")
        program.window.journal.continue_wanted.emit(path)
        await until(lambda: program.window.error_banner.sentence.startswith("Its receipt does not say enough"))
        assert not Receipt.read(path).is_finished


async def test_a_renamed_connection_is_no_place_of_its_own(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        await program.open_saved("Archive")
        await until(lambda: program.window.is_idle)
        program.store.add(SavedConnection(name="Attic", engine="sqlite", settings=program.store.load()[0].settings))
        program.follow_rename("Archive", "Attic")
        assert program.moves.key == "Attic"
        names = [place.name for place in await program.moves._places()]
        assert names.count("Attic") == 1, "this memory, and no other"


async def test_a_move_interrupted_in_a_file_of_the_same_name_is_of_another_memory(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    (tmp_path / "other").mkdir()
    other = build_engine("sqlite", EngineSettings(path=await memory(tmp_path / "other" / "a.db", ITEMS)))
    async with running(qtbot, tmp_path, until) as program:
        plan = await make_plan(other, Target.below(node("team:a")), Action.FORGET)
        move = Move(other, plan, other, Way(node("user:u")), program.moves.journal, "a.db", "a.db")
        path = await left_in_the_middle(move, program.moves.journal)
        program.window.journal.continue_wanted.emit(path)
        await until(lambda: bool(program.window.error_banner.sentence))
        said = program.window.error_banner.sentence
        place = tmp_path / "other" / "a.db"
        assert said == f"It was interrupted in a.db, {place}: open that memory, then go on."
        assert program.moves.dialog is None
    await other.aclose()


async def test_the_memory_itself_under_another_name_is_refused(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        same = EngineSettings(path=str(tmp_path / "a.db"))
        program.store.add(SavedConnection(name="Same", engine="sqlite", settings=same))
        program.window.move_wanted.emit(Target.below(node("team:a")))
        dialog = await opened(program, until)
        dialog.form.place_box.setCurrentIndex(dialog.form.place_box.findText("Same, SQLite file"))
        await until(lambda: bool(dialog.banner.sentence))
        assert dialog.banner.sentence == "Everything is there already; choose another node, or another memory."
        assert not dialog.move_button.isEnabled()
        dialog.close()
    assert len(await held(tmp_path / "a.db")) == 4


async def test_a_memory_that_is_gone_is_not_made_anew_to_move_there(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        program.store.touch("Archive")
        (tmp_path / "archive.db").unlink()
        program.window.move_wanted.emit(Target.below(node("team:a")))
        dialog = await opened(program, until)
        dialog.form.place_box.setCurrentIndex(dialog.form.place_box.findText("Archive, SQLite file"))
        await until(lambda: "archive.db is not there any more" in dialog.banner.sentence)
        assert not (tmp_path / "archive.db").exists()
        assert not dialog.move_button.isEnabled()
        dialog.close()


async def test_the_same_file_under_another_name_is_no_place_to_move_to(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with running(qtbot, tmp_path, until) as program:
        (tmp_path / "again.db").hardlink_to(tmp_path / "a.db")
        again = EngineSettings(path=str(tmp_path / "again.db"))
        program.store.add(SavedConnection(name="Again", engine="sqlite", settings=again))
        program.window.move_wanted.emit(Target.below(node("team:a")))
        dialog = await opened(program, until)
        dialog.form.place_box.setCurrentIndex(dialog.form.place_box.findText("Again, SQLite file"))
        await until(lambda: "are one file under two names" in dialog.banner.sentence)
        assert not dialog.move_button.isEnabled()
        dialog.close()


async def test_a_memory_that_cannot_be_opened_is_named(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with running(qtbot, tmp_path, until) as program:
        (tmp_path / "broken.db").write_bytes(b"no database, whatever its name says" * 100)
        broken = EngineSettings(path=str(tmp_path / "broken.db"))
        program.store.add(SavedConnection(name="Broken", engine="sqlite", settings=broken))
        program.window.move_wanted.emit(Target.below(node("team:a")))
        dialog = await opened(program, until)
        dialog.form.place_box.setCurrentIndex(dialog.form.place_box.findText("Broken, SQLite file"))
        await until(lambda: bool(dialog.banner.sentence))
        assert not dialog.move_button.isEnabled()
        dialog.form.place_box.setCurrentIndex(0)
        type_node(qtbot, dialog, "user:u")
        await until(lambda: is_counted(dialog))
        assert not dialog.banner.sentence
        dialog.close()


class Held(Move):
    """Begins, and then waits for good."""

    async def run(self) -> AsyncGenerator[MoveStep, None]:
        yield MoveStep(0, 2)
        await asyncio.Event().wait()


async def running_move(qtbot: QtBot, program: Program, until: Until) -> MoveDialog:
    program.window.move_wanted.emit(Target.below(node("team:a")))
    dialog = await opened(program, until)
    type_node(qtbot, dialog, "user:u")
    await until(lambda: is_counted(dialog))
    press(qtbot, dialog.move_button)
    return dialog


@pytest.mark.parametrize("is_hidden", [False, True])
async def test_a_move_that_runs_ends_with_its_memory(
    is_hidden: bool, qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.ui.dialogs.move.Move", Held)
    async with running(qtbot, tmp_path, until) as program:
        dialog = await running_move(qtbot, program, until)
        await until(lambda: dialog.has_begun)
        if is_hidden:
            press(qtbot, dialog.running.hide_button)
        program.window.job_list.running[0].stop()
        program.moves.leave(None)
        await until(lambda: program.moves.dialog is None and not program.moves.jobs.is_busy)
        await until(lambda: not isValid(dialog))
        (job,) = [job for job in program.window.job_list.jobs if job.title.startswith("Move")]
        assert job.state is State.CANCELLED
        assert job.words == "It was left in the middle; the journal has what went."


# The dialog alone, over engines that fail


@asynccontextmanager
async def dialog_on(
    qtbot: QtBot, folder: Path, engine: FakeEngine, target: Target, *, other: FakeEngine | None = None
) -> AsyncIterator[MoveDialog]:
    async def open_other(place: Place) -> Opened | None:
        assert other is not None
        return Opened(other, None)

    places = [Place(HERE, "Notes", ""), Place("other", "Other", "Reference")]
    journal = Journal(folder / "receipts")
    memory = Memory(engine, "Notes", journal, nodes=[node("root"), node("team:a")])
    dialog = MoveDialog(memory, places, open_other, target)
    qtbot.addWidget(dialog)
    dialog.show()
    try:
        yield dialog
    finally:
        await dialog.aclose()


async def test_a_wrong_or_deep_node_is_said_before_anything_begins(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled(ITEMS)
    async with dialog_on(qtbot, tmp_path, engine, Target.below(node("team:a"))) as dialog:
        type_node(qtbot, dialog, "team:a b")
        assert "must be 1 to 128 characters" in dialog.form.hint_label.text()
        assert not dialog.move_button.isEnabled()
        type_node(qtbot, dialog, "team:a")
        assert dialog.form.hint_label.text() == "There is this node."
        await until(lambda: bool(dialog.banner.sentence))
        assert dialog.banner.sentence == "Everything is there already; choose another node, or another memory."
        type_node(qtbot, dialog, "/".join(["user:u"] * 8))
        await until(lambda: is_counted(dialog))
        assert "would nest more than 8 deep" in dialog.banner.sentence
        assert not dialog.move_button.isEnabled()
        press(qtbot, dialog.form.tree_choice.button(FLATTEN))
        await until(lambda: dialog.move_button.isEnabled())
        assert not dialog.banner.sentence
        assert len(engine) == 4


async def test_a_sandbox_is_taken_along_when_it_is_named(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled(ITEMS)
    async with dialog_on(qtbot, tmp_path, engine, Target.below(node("team:a"))) as dialog:
        type_node(qtbot, dialog, "user:u")
        await until(lambda: is_counted(dialog))
        press(qtbot, offer(dialog.plan_column, "Take it along"))
        await until(lambda: dialog.move_button.text() == "Move 3 items")
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None)
        boxed = await engine.export(
            ListRequest(filter=MetaFilter(reach=Reach.exact(node("user:u/service:cron"))), limit=9)
        )
        assert [each.item.render_text() for each in boxed.items] == ["boxed"]


class Partly(FakeEngine):
    """Holds only part of what says milk."""

    async def export(self, req: ListRequest) -> ExportPage:
        page = await super().export(req)
        lacking = [each.id for each in page.items if each.item.render_text() == "milk"]
        items = [each for each in page.items if each.id not in lacking]
        return ExportPage(items=items, incomplete=lacking, next_cursor=page.next_cursor)


async def test_what_is_held_in_part_is_named_by_its_id(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled(ITEMS, Partly())
    async with dialog_on(qtbot, tmp_path, engine, Target.below(node("team:a"))) as dialog:
        type_node(qtbot, dialog, "user:u")
        await until(lambda: is_counted(dialog))
        assert "1 item of which the memory holds only part." in dialog.plan_column.sentences
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None)
        assert "1 item of which the memory holds only part." in dialog.result_column.sentences
        assert dialog.title_label.text() == "1 of 1 moved, 1 held only in part"
        assert dialog.banner.sentence == "1 item stays, because the memory holds only part of it."
        press(qtbot, offer(dialog.result_column, "Show which"))
        details = dialog.banner.findChild(QPlainTextEdit)
        assert isinstance(details, QPlainTextEdit)
        assert ITEMS[1].fingerprint() in details.toPlainText()


async def test_it_is_paused_hidden_stopped_and_gone_on_with(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    items: list[StoreItem] = [learning(f"note {n}", "team:a") for n in range(250)]
    engine = await filled(items)
    async with dialog_on(qtbot, tmp_path, engine, Target.at(node("team:a"))) as dialog:
        type_node(qtbot, dialog, "user:u")
        await until(lambda: is_counted(dialog))
        gate = engine.hold("get_items", lambda req: items[150].fingerprint() in req.ids)
        third = engine.hold("get_items", lambda req: items[200].fingerprint() in req.ids)
        press(qtbot, dialog.move_button)
        await until(lambda: gate.waiting == 1)
        assert dialog.running.said == "100 of 250"
        dialog.close()
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        assert dialog.isVisible()
        press(qtbot, dialog.running.pause_button)
        gate.open()
        await until(lambda: dialog.running.said == "200 of 250")
        for _ in range(20):
            await asyncio.sleep(0)
        assert not third.waiting, "paused, it begins no other batch"
        third.open()
        press(qtbot, dialog.running.hide_button)
        assert not dialog.isVisible()
        dialog.stop_running()
        await until(lambda: dialog.outcome is not None)
        assert dialog.isVisible()
        assert dialog.title_label.text() == "200 of 250 moved, 50 not tried"
        assert dialog.banner.sentence == "It was stopped here. 50 items are where they were."
        press(qtbot, dialog.again_button)
        await until(lambda: is_counted(dialog))
        assert dialog.move_button.text() == "Move 50 items"
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None)
        assert dialog.title_label.text() == "50 of 50 items moved"
        assert not dialog.again_button.isVisible()


async def test_what_fails_stays_with_its_reason(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine, other = await filled(ITEMS), await filled([learning("there")], Refusing())
    async with dialog_on(qtbot, tmp_path, engine, Target.below(node("team:a")), other=other) as dialog:
        dialog.form.place_box.setCurrentIndex(1)
        await until(lambda: is_counted(dialog))
        press(qtbot, dialog.move_button)
        await until(lambda: dialog.outcome is not None)
        assert dialog.title_label.text() == "1 of 2 moved, 1 stayed"
        assert "1 item: No milk." in dialog.result_column.sentences
        assert len(await engine.get(GetRequest(ids=[ITEMS[1].fingerprint()]))) == 1


class Refusing(FakeEngine):
    """Takes no milk."""

    async def store_many(self, items: list[StoreItem]) -> Any:
        if any(item.render_text() == "milk" for item in items):
            raise EngineFailure("no milk")
        return await super().store_many(items)


async def test_counting_is_cancelled_and_a_busy_engine_is_named(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled(ITEMS, Slow())
    assert isinstance(engine, Slow)
    async with dialog_on(qtbot, tmp_path, engine, Target.below(node("team:a"))) as dialog:
        type_node(qtbot, dialog, "user:u")
        await until(lambda: engine.is_asked)
        press(qtbot, dialog.count_button)
        await until(lambda: dialog.counted_label.text() == "so far: counting was cancelled")
        assert not dialog.move_button.isEnabled()
        engine.go.set()
        press(qtbot, dialog.count_button)
        await until(lambda: dialog.move_button.isEnabled())
        busy = Unavailable("too many requests")
        engine.fail("get_items", busy)
        press(qtbot, dialog.move_button)
        await until(lambda: "Too many requests." in dialog.running.waiting_label.text())
        engine.mend()
        await until(lambda: dialog.outcome is not None)
        assert dialog.outcome is not None
        assert dialog.outcome.is_clean


class Slow(FakeEngine):
    """Exports once it may."""

    def __init__(self) -> None:
        super().__init__()
        self.go = asyncio.Event()
        self.is_asked = False

    async def export(self, req: ListRequest) -> ExportPage:
        self.is_asked = True
        await self.go.wait()
        return await super().export(req)


async def test_nothing_goes_to_the_node_that_stood_there_before_the_typing(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with running(qtbot, tmp_path, until) as program:
        program.window.move_wanted.emit(Target.below(node("team:a")))
        dialog = await opened(program, until)
        type_node(qtbot, dialog, "project:p")
        await until(lambda: is_counted(dialog))
        assert dialog.move_button.isEnabled()
        qtbot.keyClicks(dialog.form.node_edit, "2")
        dialog.move_button.click()  # as assistive tools do it, and macOS: the keyboard stays in the field
        assert not dialog.is_running
        assert not dialog.move_button.isEnabled()
        await until(dialog.move_button.isEnabled)
        assert "To project:p2 and below it." in " ".join(dialog.plan_column.sentences)


async def test_a_fault_in_the_middle_of_a_move_is_not_called_nothing(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with running(qtbot, tmp_path, until) as program:
        program.window.move_wanted.emit(Target.below(node("team:a")))
        dialog = await opened(program, until)
        type_node(qtbot, dialog, "project:p")
        await until(lambda: is_counted(dialog))
        monkeypatch.setattr(Move, "_end", lambda *_: 1 / 0)  # once both are there
        press(qtbot, dialog.move_button)
        await until(lambda: bool(dialog.banner.sentence) and is_counted(dialog))
        job = next(one for one in program.window.job_list.jobs if one.title.startswith("Move"))
        assert job.state is State.FAILED
        why = "Something failed inside the program (ZeroDivisionError)."
        assert job.words == f"{why} It was left in the middle; the journal has what went."
        assert dialog.count_label.text() == "0 items", "counted once more"
        await until(lambda: program.window.is_idle)
        assert {hit.text for hit in program.window.items.model.held_rows().values()} == {"tea", "milk", "elsewhere"}


async def test_a_long_node_that_is_not_named_whole_is_seen_to_be_cut(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with running(qtbot, tmp_path, until) as program:
        program.window.move_wanted.emit(Target.below(node("team:a")))
        dialog = await opened(program, until)
        type_node(qtbot, dialog, f"project:{'p' * 100}/agent:{'q' * 100}one")
        await until(lambda: is_counted(dialog))
        assert any("project:pppppppppp…qqqqqqqqqqqqqqqone" in said for said in dialog.plan_column.sentences)
