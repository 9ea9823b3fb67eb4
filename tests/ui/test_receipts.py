"""A receipt of the journal in the window: read, printed, gone on with, and its export stored back."""

from __future__ import annotations

from pathlib import Path
from threading import Event

import pytest
from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QApplication, QPushButton
from pytestqt.qtbot import QtBot

from explorer.contract import ForgetTarget, Namespace, dump_item
from explorer.engines import EngineSettings, build_engine
from explorer.removal.journal import target_left
from explorer.removal.plan import Action, Target
from explorer.removal.receipts import Receipt
from explorer.transfer import FileError
from explorer.ui.dialogs.receipt_page import ReceiptPage, print_page
from explorer.ui.dialogs.remove import FORGET
from explorer.ui.receipts import Receipts
from tests.conftest import Until
from tests.fakes import FakeEngine, learning
from tests.removal.made import counted
from tests.removal.written import begin
from tests.ui.removing import Opened, choose_file, opened

ACME = Namespace.parse("team:acme")
ITEMS = [learning(f"learning {i}", "team:acme") for i in range(5)]


@pytest.fixture(autouse=True)
def _asks_little(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.removal.preview.TEXTS", 12)


async def interrupted(it: Opened, action: Action = Action.FORGET, target: Target | None = None) -> Path:
    """The receipt of a removal that got as far as two items, and then no further."""
    removal = await counted(it.engine, target or Target.at(ACME), action, it.removals.journal)
    removal.connection = it.window.connection_name
    assert removal.preview is not None
    ids = list(removal.preview.ids)[:2]
    writer = begin(it.removals.journal, removal, action.value)
    writer.note("asked", ids=ids)
    await it.engine.forget(ForgetTarget(ids=ids))
    writer.note("answered", forgotten=2)
    writer.release()
    return writer.path


def page() -> ReceiptPage | None:
    boxes = (one for one in QApplication.topLevelWidgets() if isinstance(one, ReceiptPage))
    return next((one for one in boxes if one.isVisible()), None)


async def test_what_was_interrupted_is_counted_and_confirmed_again(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        path = await interrupted(it)
        it.window.journal.continue_wanted.emit(path)
        dialog = await it.counted()
        assert dialog.count_label.text() == "3 items"
        await it.done()
        assert await it.stored() == 0
        assert dialog.outcome is not None
        new = dialog.outcome.receipt
        assert new is not None
        await until(lambda: not it.removals.jobs.is_busy)
        old = Receipt.read(path)
        assert old.is_finished
        assert old.continued_by == new.name
        await receipts.aclose()


async def test_another_removal_in_the_same_dialog_does_not_settle_what_was_interrupted(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    items = [*ITEMS, learning("boxed", "team:acme/service:nightly")]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        interrupted = it.removals.journal.folder / "interrupted.jsonl"
        it.removals.plan(Target.below(ACME), Action.FORGET, continues=interrupted)
        dialog = await it.counted()
        settled: list[Path] = []
        it.removals.journal.settle = lambda path, by: settled.append(path)  # type: ignore[assignment,misc]
        apart = next(b for b in dialog.plan_column.findChildren(QPushButton) if b.text() == "Plan it separately")
        apart.click()
        await until(lambda: dialog.removal is not None and dialog.count_label.text() == "1 item")
        await it.done()
        await until(lambda: not it.removals.jobs.is_busy)
        assert settled == [], "that one is as interrupted as it was"


async def test_an_erase_that_was_answered_has_nothing_left_to_go_on_with(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        removal = await counted(it.engine, Target.at(ACME), Action.ERASE, it.removals.journal)
        removal.connection = it.window.connection_name
        with begin(it.removals.journal, removal, "erase") as writer:
            writer.note("erase_asked", request=removal.plan.target.erasing())
            writer.note("erased", scopes=1, receipts=[])
        it.window.journal.continue_wanted.emit(writer.path)
        await until(lambda: it.window.error_banner.sentence == "Nothing of it is left to be done.")
        assert it.removals.dialog is None
        assert Receipt.read(writer.path).is_finished
        await receipts.aclose()


async def test_of_an_interrupted_whole_tree_only_what_was_planned_is_gone_on_with(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    items = [*ITEMS, learning("boxed", "service:mail")]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        receipts = Receipts(it.window, it.removals)
        path = await interrupted(it, target=Target.below(Namespace.ROOT))
        await it.engine.store(learning("came since"))
        it.window.journal.continue_wanted.emit(path)
        assert (await it.counted()).count_label.text() == "4 items"
        await receipts.aclose()


async def test_an_interrupted_erase_is_not_settled_by_forgetting(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        path = await interrupted(it, Action.ERASE)
        it.window.journal.continue_wanted.emit(path)
        dialog = await it.counted()
        assert dialog.action is Action.ERASE
        dialog.choice.button(FORGET).click()
        await until(lambda: dialog.removal is not None and dialog.removal.plan.action is Action.FORGET)
        await it.done()
        await until(lambda: not it.removals.jobs.is_busy)
        assert not Receipt.read(path).is_finished
        await receipts.aclose()


async def test_what_was_interrupted_elsewhere_is_not_gone_on_with_here(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        path = await interrupted(it)
        it.window.show_engine(it.engine, "another.db", is_read_only=False)
        it.window.journal.continue_wanted.emit(path)
        await until(lambda: bool(it.window.error_banner.sentence))
        assert it.window.error_banner.sentence == "That was done in another memory. Open it first: helpdesk.db"
        assert it.removals.dialog is None
        await until(lambda: it.window.is_idle)
        await receipts.aclose()


async def test_a_file_of_the_same_name_elsewhere_is_another_memory(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    for folder in ("one", "two"):
        (tmp_path / folder).mkdir()
    one, two = (build_engine("sqlite", EngineSettings(path=tmp_path / at / "memory.db")) for at in ("one", "two"))
    await two.store_many(ITEMS)
    async with opened(qtbot, tmp_path, until, one, ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        path = await interrupted(it)
        it.window.show_engine(two, it.window.connection_name, is_read_only=False)
        it.window.journal.continue_wanted.emit(path)
        await until(lambda: bool(it.window.error_banner.sentence))
        place = tmp_path / "one" / "memory.db"
        said = f"That was done in another memory. Open it first: helpdesk.db, {place}"
        assert it.window.error_banner.sentence == said
        assert it.removals.dialog is None

        it.window.show_engine(one, "by another name", is_read_only=False)
        it.window.journal.continue_wanted.emit(path)
        dialog = await it.counted()
        assert dialog.count_label.text() == "3 items"
        await it.close()
        await until(lambda: it.window.is_idle)
        await receipts.aclose()
    await two.aclose()


async def test_an_interrupted_restore_begins_again(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        kept = tmp_path / "kept.jsonl"
        kept.write_text("".join(f"{dump_item(item)}\n" for item in [*ITEMS, learning("gone by then")]))
        writer = it.removals.journal.start("restore", it.engine, it.window.connection_name, file={"path": kept})
        writer.release()
        it.window.journal.continue_wanted.emit(writer.path)
        await until(lambda: it.window.error_banner.sentence == "1 item restored, 5 held already.")
        assert await it.stored() == 6
        assert it.removals.journal.unfinished() == []
        await receipts.aclose()


async def test_an_interrupted_restore_is_ended_by_the_one_that_goes_on(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        kept = tmp_path / "kept.jsonl"
        writer = it.removals.journal.start("restore", it.engine, it.window.connection_name, file={"path": kept})
        writer.release()
        it.window.journal.continue_wanted.emit(writer.path)
        await until(lambda: bool(it.window.error_banner.sentence))
        assert not Receipt.read(writer.path).is_finished, "the file is gone, and may come back"

        kept.write_text("no item\n" * 250)
        it.window.journal.continue_wanted.emit(writer.path)
        await until(lambda: Receipt.read(writer.path).is_finished and not it.removals.jobs.is_busy)
        (new,) = {*it.removals.journal.folder.glob("*-restore*.jsonl")} - {writer.path}
        assert Receipt.read(writer.path).continued_by == new.name
        job = it.window.job_list.jobs[0]
        assert len(job.details.splitlines()) == 201
        assert job.details.endswith("and 50 more")
        await receipts.aclose()


async def test_what_is_opened_meanwhile_is_not_what_the_interrupted_one_was_about(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        path = await interrupted(it)
        reading, go_on = Event(), Event()

        def slowly(path: Path) -> Target | None:
            reading.set()
            go_on.wait(10)
            return target_left(path)

        monkeypatch.setattr("explorer.ui.receipts.target_left", slowly)
        it.window.journal.continue_wanted.emit(path)
        await until(reading.is_set)
        it.window.show_engine(it.engine, "another.db", is_read_only=False)
        go_on.set()
        await until(lambda: not receipts.jobs.is_busy)
        assert it.removals.dialog is None
        assert it.window.error_banner.sentence.startswith("That was done in another memory.")
        await until(lambda: it.window.is_idle)
        await receipts.aclose()


async def test_a_receipt_is_opened_once(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        path = await interrupted(it)
        for _ in range(2):
            it.window.journal.open_wanted.emit(path)
            await until(lambda: page() is not None and not receipts.jobs.is_busy)
        assert len([one for one in it.window.findChildren(ReceiptPage) if one.isVisible()]) == 1
        shown = page()
        assert shown is not None
        shown.close()
        await until(lambda: not receipts.jobs.is_busy)
        await receipts.aclose()


@pytest.mark.limit_s(30)
async def test_a_receipt_is_read_and_printed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        await it.planned(Target.at(ACME))
        dialog = await it.done()
        assert dialog.outcome is not None
        path = dialog.outcome.receipt
        assert path is not None
        printed: list[Path] = []
        dialog.printed.connect(printed.append)
        dialog.receipt.print_button.click()
        await choose_file(until, tmp_path / "receipt.pdf")
        await until(lambda: printed == [tmp_path / "receipt.pdf"])
        assert (tmp_path / "receipt.pdf").read_bytes().startswith(b"%PDF")

        it.window.journal.open_wanted.emit(path)
        await until(lambda: page() is not None)
        shown = page()
        assert shown is not None
        assert "5 of 5 items forgotten" in shown.view.toPlainText()
        shown.close()
        await until(lambda: not receipts.jobs.is_busy)
        await receipts.aclose()


async def test_an_export_is_stored_back_from_the_journal(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        dialog = await it.planned(Target.at(ACME), Action.ERASE)
        dialog.confirm.way_back.export_button.click()
        await choose_file(until, tmp_path / "back.jsonl")
        await until(lambda: dialog.confirm.way_back.path_label.isVisible())
        await it.done()
        assert await it.stored() == 0
        assert dialog.outcome is not None
        it.window.journal.restore_wanted.emit(dialog.outcome.receipt)
        await until(lambda: "restored" in it.window.error_banner.sentence)
        assert await it.stored() == 5
        it.window.journal.restore_wanted.emit(dialog.outcome.receipt)
        await until(lambda: it.window.error_banner.sentence == "0 items restored, 5 held already.")

        whole = (tmp_path / "back.jsonl").read_bytes().splitlines(keepends=True)
        (tmp_path / "back.jsonl").write_bytes(b"".join(whole[:2]))  # at the end of a line: each is an item
        it.window.journal.restore_wanted.emit(dialog.outcome.receipt)
        await until(lambda: "was cut off" in it.window.error_banner.sentence)
        assert "0 items restored, 2 held already." in it.window.error_banner.sentence
        await receipts.aclose()


@pytest.mark.limit_s(30)
async def test_a_printed_page_never_takes_the_place_of_the_memory(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    memory = tmp_path / "memory.db"
    memory.write_bytes(b"all that is remembered")
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        it.removals.memory_path = str(memory)
        await it.planned(Target.at(ACME))
        dialog = await it.done()
        dialog.receipt.print_button.click()
        await choose_file(until, memory)
        await until(lambda: bool(dialog.banner.sentence))
        assert "is the memory itself" in dialog.banner.sentence

        assert dialog.outcome is not None
        it.window.journal.open_wanted.emit(dialog.outcome.receipt)
        await until(lambda: page() is not None)
        shown = page()
        assert shown is not None
        shown.print_button.click()
        await choose_file(until, memory)
        await until(lambda: bool(shown.banner.sentence))
        assert "is the memory itself" in shown.banner.sentence
        shown.close()
        await receipts.aclose()
    assert memory.read_bytes() == b"all that is remembered"


@pytest.mark.limit_s(30)
async def test_a_printed_page_is_said_to_be_where_it_is_and_only_then(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        receipts = Receipts(it.window, it.removals)
        it.window.journal.open_wanted.emit(await interrupted(it))
        await until(lambda: page() is not None)
        shown = page()
        assert shown is not None
        printed: list[Path] = []
        shown.printed.connect(printed.append)
        (tmp_path / "folder.pdf").mkdir()
        with pytest.raises(FileError, match="cannot write"):
            await print_page("<p>a page</p>", tmp_path / "folder.pdf")
        shown.print_button.click()
        await choose_file(until, tmp_path / "nowhere" / "page.pdf")
        await until(lambda: bool(shown.banner.sentence))
        assert "cannot write" in shown.banner.sentence.lower()
        assert printed == []

        shown.print_button.click()
        await choose_file(until, tmp_path / "page.pdf")
        await until(lambda: printed == [tmp_path / "page.pdf"])
        assert shown.banner.sentence == f"Printed to \u2068{tmp_path / 'page.pdf'}\u2069."
        assert {one.name for one in tmp_path.iterdir()} == {"receipts", "folder.pdf", "page.pdf"}
        next(one for one in shown.banner.findChildren(QPushButton) if one.text() == "Open folder").click()
        assert it.opened_urls == [QUrl.fromLocalFile(str(tmp_path))]
        shown.close()
        await until(lambda: not receipts.jobs.is_busy)
        await receipts.aclose()
