"""Going on with what was interrupted, and restoring what was kept, from the journal."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtWidgets import QMessageBox
from pytestqt.qtbot import QtBot

from explorer.contract import MetaFilter, Namespace, Reach
from explorer.removal.journal import Journal
from explorer.removal.plan import Target
from explorer.removal.receipts import Entry
from explorer.ui.resuming import Resuming
from tests.conftest import Until
from tests.fakes import FakeEngine, learning
from tests.removal.made import ids_of
from tests.ui.removing import Opened, opened
from tests.ui.test_app import dialog_of, say_yes

ACME = MetaFilter(reach=Reach.subtree(Namespace.parse("team:acme")))
TEXTS = [f"learning {i}" for i in range(6)]


@asynccontextmanager
async def showing(qtbot: QtBot, tmp_path: Path, until: Until) -> AsyncIterator[tuple[Opened, Resuming]]:
    items = [learning(text, "team:acme") for text in TEXTS]
    async with opened(qtbot, tmp_path, until, FakeEngine(), [*items, learning("beside")]) as it:
        it.window.journal.journal = it.removals.journal
        resuming = Resuming(it.window, it.removals)
        try:
            yield it, resuming
        finally:
            await resuming.aclose()


async def interrupted(it: Opened, connection: str = "helpdesk.db", action: str = "forget") -> Path:
    """A removal of the items of a node, of which the first two were answered when the program ended."""
    ids = await ids_of(it.engine, ACME)
    writer = it.removals.journal.start(action, it.engine, connection, ids, target=Target.of_filter(ACME))
    writer.note("asked", ids=ids[:2])
    await it.engine.forget_within(ids[:2], None)
    writer.note("answered", forgotten=2)
    writer.release()
    return writer.path


async def test_what_is_left_is_planned_confirmed_and_written_down_as_gone_on_with(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with showing(qtbot, tmp_path, until) as (it, resuming):
        path = await interrupted(it)
        it.window.show_journal(path)
        await until(lambda: it.window.journal.continue_action.isEnabled())
        it.window.journal.continue_action.trigger()
        dialog = await it.counted()
        assert dialog.count_label.text() == "4 items"
        assert await it.stored() == 5, "nothing goes unasked"
        await it.done()
        assert await it.texts() == {"beside"}
        await until(lambda: not it.removals.journal.unfinished() and not resuming.jobs.is_busy)
        old = Entry.read(path)
        assert dialog.outcome is not None
        assert dialog.outcome.receipt is not None
        assert old.continued_by == dialog.outcome.receipt.name
        assert (old.removed, old.left) == (2, 4)


async def test_an_erase_is_planned_for_the_same_nodes(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (it, resuming):
        resuming.go_on(await interrupted(it, action="erase"))
        await it.counted()
        assert it.title == "Erase team:acme and everything below it"


async def test_it_goes_on_only_where_it_was(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (it, resuming):
        resuming.go_on(await interrupted(it, "other.db"))
        await until(lambda: it.window.error_banner.sentence)
        assert "other.db" in it.window.error_banner.sentence
        assert "open that memory" in it.window.error_banner.sentence
        assert it.removals.dialog is None


@pytest.mark.parametrize("action", ["move", "restore"])
async def test_what_is_no_removal_says_how_it_goes_on(qtbot: QtBot, tmp_path: Path, until: Until, action: str) -> None:
    async with showing(qtbot, tmp_path, until) as (it, resuming):
        resuming.go_on(await interrupted(it, action=action))
        await until(lambda: it.window.error_banner.sentence)
        assert "goes on when it is run again" in it.window.error_banner.sentence


async def test_where_nothing_is_left_its_receipt_ends(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (it, resuming):
        writer = it.removals.journal.start("forget", it.engine, "helpdesk.db", target=Target.of_filter(MetaFilter()))
        writer.release()
        resuming.go_on(writer.path)
        await until(lambda: it.window.error_banner.sentence)
        assert "Nothing of it is left" in it.window.error_banner.sentence
        assert it.removals.journal.unfinished() == []


@pytest.mark.parametrize("wants", [True, False])
async def test_what_was_kept_comes_back_once_it_is_said_again(
    qtbot: QtBot, tmp_path: Path, until: Until, wants: bool
) -> None:
    async with showing(qtbot, tmp_path, until) as (it, resuming):
        dialog = await it.planned(Target.of_filter(ACME))
        removal = dialog.removal
        assert removal is not None
        async for _ in removal.export_first(tmp_path / "kept.jsonl"):
            pass
        await it.done()
        receipt = dialog.outcome.receipt if dialog.outcome is not None else None
        assert receipt is not None
        await it.close()
        it.window.show_journal(receipt)
        await until(lambda: it.window.journal.restore_action.isEnabled())
        it.window.journal.restore_action.trigger()
        await until(lambda: dialog_of(QMessageBox) is not None)
        box = dialog_of(QMessageBox)
        assert box is not None
        assert box.text() == "Restore 6 items into helpdesk.db?"
        assert str(tmp_path / "kept.jsonl") in box.informativeText()
        assert box.defaultButton().text() == "Cancel"
        await say_yes(qtbot, until, "Restore" if wants else "Cancel")
        await until(lambda: not resuming.jobs.is_busy and not it.removals.jobs.is_busy and it.window.is_idle)
        assert await it.stored() == (7 if wants else 1)
        actions = [entry.action for entry in Journal(tmp_path / "receipts").entries()]
        assert sorted(actions) == (["forget", "restore"] if wants else ["forget"])
