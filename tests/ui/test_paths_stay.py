"""Before anything is first stored where no local paths are kept, that is said; whichever way it is stored."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QLabel
from pytestqt.qtbot import QtBot

from explorer.contract import (
    EngineDescriptor,
    Exported,
    ExportPage,
    GetRequest,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    StoreItem,
    dump_item,
)
from explorer.engines import ConnectionStore, KeyStore
from explorer.removal.plan import Action, Target
from explorer.removal.way_back import WayBack
from explorer.ui import moves as moves_module
from explorer.ui.dialogs.move import COPY
from explorer.ui.job_list import Job
from explorer.ui.main_window import MainWindow, open_settings
from explorer.ui.paths_stay import PathsStay
from explorer.ui.program import Program
from tests.conftest import Until
from tests.fakes import FakeEngine, learning
from tests.ui.removing import choose_file
from tests.ui.removing import opened as opened_to_remove
from tests.ui.test_agent_console import answer, question
from tests.ui.test_app import choose
from tests.ui.test_main_window import opened
from tests.ui.test_moves import is_counted, press
from tests.ui.test_moves import opened as opened_move
from tests.ui.test_moves import running as running_moves

TITLE = "Folders and absolute workspaces stay on this machine"


class Pathless(FakeEngine):
    """Gives items back without their folders, as one does that is elsewhere."""

    def descriptor(self) -> EngineDescriptor:
        return super().descriptor().model_copy(update={"keeps_paths": False})

    async def export(self, req: ListRequest) -> ExportPage:
        page = await super().export(req)
        return page.model_copy(update={"items": [_bare(each) for each in page.items]})

    async def get_items(self, req: GetRequest) -> list[Exported]:
        return [_bare(each) for each in await super().get_items(req)]


def _bare(each: Exported) -> Exported:
    name = (each.item.meta.file_path or "").rpartition("/")[2] or None
    meta = each.item.meta.model_copy(update={"folder": None, "file_path": name})
    return each.model_copy(update={"item": each.item.model_copy(update={"meta": meta})})


def file_of(folder: Path, *items: StoreItem) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join(dump_item(item) + "\n" for item in items))
    return path


async def stored(engine: MemoryEngine) -> int:
    return len((await engine.list(ListRequest(filter=MetaFilter(), limit=200))).items)


def imports(window: MainWindow) -> list[Job]:
    return [job for job in window.job_list.jobs if job.title.startswith("Import")]


async def idle(window: MainWindow, until: Until) -> None:
    await until(lambda: window.is_idle and not window.job_list.running)


async def test_it_is_said_once_for_each_connection_and_remembered(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings, engine = open_settings(tmp_path), Pathless()
    label = QLabel()
    qtbot.addWidget(label)

    async def asked(stay: PathsStay, name: str, words: str | None, one: FakeEngine = engine) -> bool:
        """Whether it may be stored; `words` are pressed in the question that has to come, None where none may."""
        import asyncio

        async with asyncio.TaskGroup() as group:
            task = group.create_task(stay.may_store(one, name, label))
            if words is not None:
                said = await answer(until, words)
                assert said.startswith(TITLE)
                assert name in said
                assert "an export from there cannot give the rest back" in said
        assert question() is None
        return task.result()

    stay = PathsStay(settings)
    assert await asked(stay, "work", None, FakeEngine()), "one that keeps paths is nothing to be told of"
    assert not await asked(stay, "work", "Cancel")
    assert await asked(stay, "work", "Continue"), "a no is not for ever"
    assert await asked(stay, "work", None)
    assert await asked(stay, "home", "Continue"), "another account"
    settings.sync()
    later = PathsStay(QSettings(settings.fileName(), QSettings.Format.IniFormat))
    assert await asked(later, "work", None), "the next time the program runs"
    assert "work" not in Path(settings.fileName()).read_text("utf-8")
    assert await asked(PathsStay(None), "work", "Continue")


@pytest.mark.parametrize(("words", "n"), [("Cancel", 0), ("Continue", 2)])
async def test_an_import(words: str, n: int, qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = Pathless()
    window = MainWindow()
    qtbot.addWidget(window)
    program = Program(window, ConnectionStore(tmp_path / "connections.json"), KeyStore(), tmp_path / "sample.db")
    window.show()
    window.show_engine(engine, "there", is_read_only=False)
    await idle(window, until)
    path = file_of(tmp_path, learning("one", folder="/src"), learning("two"))
    await choose(qtbot, until, window.import_action, path)
    assert TITLE in await answer(until, words)
    await until(lambda: not program.transfers.jobs.is_busy)
    assert await stored(engine) == n
    assert len(imports(window)) == (1 if n else 0)
    if n:
        await choose(qtbot, until, window.import_action, path)
        await until(lambda: len(imports(window)) == 2 and not program.transfers.jobs.is_busy)
        assert question() is None
    await program.aclose()
    window.close_for_good()


@pytest.mark.parametrize(("words", "n"), [("Cancel", 0), ("Continue", 1)])
async def test_a_restore(words: str, n: int, qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = Pathless()
    async with opened_to_remove(qtbot, tmp_path, until, engine, []) as it:
        it.removals.restore(file_of(tmp_path, learning("one", folder="/src")))
        assert TITLE in await answer(until, words)
        await until(lambda: not it.removals.jobs.is_busy)
        assert await stored(engine) == n
        assert len(list((tmp_path / "receipts").glob("*.jsonl"))) == n


@pytest.mark.parametrize(("words", "n"), [("Cancel", 0), ("Continue", 1)])
async def test_a_tool_of_the_console(words: str, n: int, qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = Pathless()
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.console_action.trigger()
        panel = window.console
        panel.tool_box.setCurrentText("memory_store")
        assert panel.form is not None
        assert panel.form.set_values(STORED)
        panel.run_button.click()
        assert "Store this at" in await answer(until, "Store")
        assert TITLE in await answer(until, words)
        await until(lambda: not panel.jobs.is_busy)
        assert await stored(engine) == n
        assert panel.said_label.text().startswith("memory_store" if n else "Nothing was done.")


STORED: dict[str, Any] = {"learning": {"text": "tea"}}


@pytest.fixture
def there(monkeypatch: pytest.MonkeyPatch) -> Pathless:
    """What every saved connection opens."""
    engine = Pathless()
    monkeypatch.setattr(moves_module, "build_engine", lambda *_: engine)
    return engine


@pytest.mark.parametrize("is_copy", [True, False])
async def test_a_move_says_it_and_takes_nothing_away_that_does_not_come_back(
    is_copy: bool, qtbot: QtBot, tmp_path: Path, until: Until, there: Pathless
) -> None:
    async with running_moves(qtbot, tmp_path, until) as program:
        window = program.window
        assert window.engine is not None
        await window.engine.store(learning("kept whole", "team:a", folder="/src", file_path="/src/a.py"))
        window.move_wanted.emit(Target.below(Namespace.parse("team:a")))
        dialog = await opened_move(program, until)
        if is_copy:
            press(qtbot, dialog.choice.button(COPY))
        dialog.form.place_box.setCurrentIndex(1)
        await until(lambda: is_counted(dialog))
        said = [label.text() for label in dialog.plan_column.findChildren(QLabel)]
        assert any(each.startswith("Folders and absolute workspaces: ") for each in said)
        assert any("stays here as well" in each for each in said) is not is_copy
        press(qtbot, dialog.move_button)
        asked = await answer(until, "Cancel")
        assert TITLE in asked
        assert "Archive" in asked
        await until(lambda: not dialog.jobs.is_busy)
        assert not dialog.is_running
        assert dialog.outcome is None
        assert await stored(there) == 0
        press(qtbot, dialog.move_button)
        await answer(until, "Continue")
        await until(lambda: dialog.outcome is not None)
        outcome = dialog.outcome
        assert outcome is not None
        assert await stored(there) == 3
        left = {hit.text for hit in (await window.engine.list(ListRequest(filter=MetaFilter(), limit=99))).items}
        if is_copy:
            assert outcome.is_clean
            assert len(outcome.done) == 3
            assert left == {"tea", "milk", "elsewhere", "kept whole"}
        else:
            assert list(outcome.kept.values()) == [
                "its new place does not keep its folder, its whole path or its workspace"
            ]
            assert left == {"elsewhere", "kept whole"}


async def test_the_way_back_of_a_removal_says_what_is_not_in_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    items = [learning("one", "team:a", folder="/src"), learning("two", "team:a"), learning("x")]
    async with opened_to_remove(qtbot, tmp_path, until, Pathless(), items) as it:
        dialog = await it.planned(Target.at(Namespace.parse("team:a")), Action.ERASE)
        way_back = dialog.confirm.way_back
        assert way_back.paths_label.isVisible()
        assert way_back.paths_label.text() == "Folders and absolute workspaces are not in it."
        way_back.export_button.click()
        await choose_file(until, tmp_path / "way.jsonl")
        await until(lambda: way_back.folder_button.isVisible())
        assert dialog.removal is not None
        kept = dialog.removal.way_back
        assert isinstance(kept, WayBack)
        assert kept.items == 2
        assert way_back.paths_label.isVisible()


async def test_one_that_keeps_paths_says_nothing_of_them(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened_to_remove(qtbot, tmp_path, until, FakeEngine(), [learning("one", "team:a")]) as it:
        dialog = await it.planned(Target.at(Namespace.parse("team:a")), Action.ERASE)
        assert dialog.confirm.way_back.isVisible()
        assert dialog.confirm.way_back.paths_label.isHidden()
