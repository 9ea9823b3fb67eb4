"""Jobs: what runs is seen and can be cancelled, and what became of it stays."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import Qt, QTimer
from PySide6.QtWidgets import QApplication, QMessageBox, QPushButton
from pytestqt.qtbot import QtBot

from explorer.contract import StoreItem, StoreReceipt, Unavailable, dump_item
from explorer.engines import ConnectionStore, KeyStore
from explorer.ui import job_list
from explorer.ui.job_list import Job, JobList, Read, State
from explorer.ui.jobs import Jobs
from explorer.ui.jobs_view import JobRow, JobsView
from explorer.ui.main_window import MainWindow
from explorer.ui.palette import Palette
from explorer.ui.program import Program
from tests.conftest import Until
from tests.fakes import FakeEngine, always, filled, learning
from tests.ui.test_app import choose
from tests.ui.test_main_window import ITEMS


@pytest.fixture(autouse=True)
def _only_what_is_begun(monkeypatch: pytest.MonkeyPatch) -> None:
    """On a busy machine what is read would be a job here and there: of reads only where a test says so."""
    monkeypatch.setattr(job_list, "APPEARS_S", 60.0)


class SlowStore(FakeEngine):
    """One whose writes wait at the gate too."""

    async def store_many(self, items: Iterable[StoreItem]) -> list[StoreReceipt]:
        await self._pass("store_many", items)
        return await super().store_many(items)


@asynccontextmanager
async def working(qtbot: QtBot, folder: Path, until: Until) -> AsyncIterator[tuple[Program, SlowStore]]:
    window = MainWindow()
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.show()
    program = Program(window, ConnectionStore(folder / "connections.json"), KeyStore(), folder / "sample.db")
    engine = SlowStore()
    await filled(ITEMS, engine)
    window.show_engine(engine, "a memory", is_read_only=False)
    try:
        await until(lambda: window.is_idle)
        yield program, engine
    finally:
        await program.aclose()
        window.close_for_good()


def lines_of(folder: Path, *texts: str) -> Path:
    path = folder / "items.jsonl"
    path.write_text("".join(dump_item(learning(text)) + "\n" for text in texts))
    return path


def question() -> QMessageBox | None:
    return next(
        (one for one in QApplication.topLevelWidgets() if isinstance(one, QMessageBox) and one.isVisible()), None
    )


def press(box: QMessageBox, words: str) -> None:
    button = next(one for one in box.buttons() if one.text() == words)
    assert isinstance(button, QPushButton)
    button.click()


def titles(window: MainWindow) -> set[str]:
    return {job.title for job in window.job_list.running}


def only_job(program: Program) -> Job:
    jobs = [job for job in program.window.job_list.jobs if job.holds_window]
    assert len(jobs) == 1
    return jobs[0]


def only_of(program: Program, title: str) -> Job:
    (job,) = [job for job in program.window.job_list.jobs if job.title.startswith(title)]
    return job


def place_of(path: Path) -> str:
    """The key by which a file is chosen in the picker, which opens none that is not there."""
    path.touch()
    return f"file:{path}"


async def test_an_import_that_was_cancelled_is_kept_and_can_be_tried_again(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with working(qtbot, tmp_path, until) as (program, engine):
        window = program.window
        gate = engine.hold("store_many")
        await choose(qtbot, until, window.import_action, lines_of(tmp_path, "one", "two"))
        await until(lambda: gate.waiting == 1)
        job = only_job(program)
        assert job.state is State.RUNNING
        assert window.jobs_button.isVisible()
        assert "Import" in window.jobs_button.text()
        window.job_cancel_button.click()
        await until(lambda: job.state is State.CANCELLED)
        assert job.words == "Cancelled. 0 items stored, 0 held already."
        assert not window.job_cancel_button.isVisible()

        qtbot.mouseClick(window.jobs_button, Qt.MouseButton.LeftButton)
        view = window.jobs_view
        assert view.isVisible()
        row = view.row(job)
        assert (row.title_label.text(), row.words_label.text()) == (job.title, job.words)
        assert "took" in row.time_label.text()
        gate.open()
        row.retry_button.click()
        assert not row.retry_button.isVisible(), "once is enough"
        await until(lambda: len(window.job_list.jobs) == 2 and not window.job_list.running and window.is_idle)
        newest = window.job_list.jobs[0]
        assert (newest.state, newest.words.partition(": ")[2]) == (State.DONE, "2 items stored, 0 held already.")
        view.clear_button.click()
        assert window.job_list.jobs == []
        assert view.empty_label.isVisible()
        assert not window.jobs_button.isVisible()


async def test_nothing_is_made_for_a_list_that_nobody_looks_at(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, _):
        window = program.window
        jobs = window.job_list

        def rows() -> set[str]:
            found = {row.title_label.text() for row in window.findChildren(JobRow)}
            return found & {"before", "while closed"}  # reads that took long have theirs

        jobs.end(jobs.begin("before"), State.DONE, "Done.")
        assert window.findChild(JobsView) is None
        assert window.findChild(Palette) is None
        window.show_jobs()
        assert rows() == {"before"}
        window.jobs_view.close()
        jobs.end(jobs.begin("while closed"), State.DONE, "Done.")
        assert rows() == {"before"}
        window.show_jobs()
        assert rows() == {"before", "while closed"}


async def test_nothing_moves_in_a_list_that_is_closed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, _):
        window = program.window
        job = window.job_list.begin("slow")
        window.show_jobs()
        line = window.jobs_view.row(job).busy_line

        def moves() -> bool:
            return any(timer.isActive() for timer in line.findChildren(QTimer))

        window.jobs_view.close_button.click()
        assert not moves(), "it was about to"
        window.show_jobs()
        await until(lambda: line.is_shown)
        assert moves()
        window.jobs_view.close_button.click()
        assert not moves()
        window.show_jobs()
        await until(lambda: line.is_shown)
        window.job_list.end(job, State.DONE, "Done.")
        assert not moves()


async def test_two_jobs_at_once(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, engine):
        window = program.window
        gate = engine.hold("store_many")
        for _ in range(2):
            await choose(qtbot, until, window.import_action, lines_of(tmp_path, "one"))
            await until(lambda: QApplication.activeModalWidget() is None)
        await until(lambda: gate.waiting == 2)
        assert window.jobs_button.text() == "2 running"
        assert not window.job_cancel_button.isVisible(), "which one is not to be guessed"
        gate.open()
        await until(lambda: not window.job_list.running)
        assert window.jobs_button.text() == "Jobs"


async def test_a_failure_is_kept_with_its_reason(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, engine):
        window = program.window
        engine.fail("store_many", Unavailable("the disk is <b>full</b>"))
        await choose(qtbot, until, window.import_action, lines_of(tmp_path, "one"))
        await until(lambda: window.job_list.jobs and not window.job_list.running)
        job = only_job(program)
        assert job.state is State.FAILED
        assert "the disk is <b>full</b>" in job.words
        assert window.jobs_button.text() == "1 failed"
        window.show_jobs()
        row = window.jobs_view.row(job)
        assert "<b>full</b>" in row.words_label.text()
        row.details_button.click()
        assert row.details.isVisible()
        assert "Unavailable" in row.details.toPlainText()
        engine.mend()
        row.retry_button.click()
        await until(lambda: len(window.job_list.jobs) == 2 and not window.job_list.running)
        assert window.job_list.jobs[0].state is State.DONE


async def test_closing_asks_while_a_job_runs(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, engine):
        gate = engine.hold("store_many")
        await choose(qtbot, until, program.window.import_action, lines_of(tmp_path, "one"))
        await until(lambda: gate.waiting == 1)
        program.window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        assert box.text() == "1 job is running"
        assert {button.text() for button in box.buttons()} == {"Cancel jobs and close", "Keep open"}
        assert box.defaultButton().text() == "Keep open"
        press(box, "Keep open")
        await until(lambda: not program.jobs.is_busy)
        assert not program.closing.is_set()
        assert program.window.isVisible()
        assert gate.waiting == 1, "it goes on"

        program.window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        press(box, "Cancel jobs and close")
        await until(program.closing.is_set)
        assert only_job(program).state is State.CANCELLED


async def test_a_question_goes_with_what_it_asks_about(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, engine):
        gate = engine.hold("store_many")
        await choose(qtbot, until, program.window.import_action, lines_of(tmp_path, "one"))
        await until(lambda: gate.waiting == 1)
        other = program.window.job_list.begin("another")
        program.window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        assert box.text() == "2 jobs are running"
        assert box.informativeText().startswith("another\nImport")
        program.window.job_list.end(other, State.DONE, "Done.")
        assert question() is box
        assert box.text() == "1 job is running"
        assert box.informativeText().startswith("Import")
        gate.open()
        await until(program.closing.is_set)
        assert question() is None
        assert only_of(program, "Import").state is State.DONE, "it was not cut off"


async def test_there_is_one_question_at_a_time(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with working(qtbot, tmp_path, until) as (program, before):
        job = program.window.job_list.begin("a job")

        def questions() -> list[set[str]]:
            boxes = [one for one in QApplication.topLevelWidgets() if isinstance(one, QMessageBox) and one.isVisible()]
            return [{button.text() for button in box.buttons()} for box in boxes]

        to_open, to_close = {"Cancel jobs and open", "Cancel"}, {"Cancel jobs and close", "Keep open"}
        monkeypatch.setattr("explorer.ui.program.build_engine", lambda *_: FakeEngine())
        program.window.connection_chosen.emit(place_of(tmp_path / "other.db"))
        await until(lambda: questions() == [to_open])
        program.window.close()
        await until(lambda: questions() == [to_close])
        await until(lambda: not program.jobs.is_running("open"))
        assert program.window.engine is before, "the first question is answered with no"
        box = question()
        assert box is not None
        program.window.close()
        await asyncio.sleep(0)
        assert questions() == [to_close]
        assert question() is box, "it is asked already"
        press(box, "Keep open")
        await until(lambda: not program.jobs.is_busy)
        assert questions() == []
        assert not program.closing.is_set()
        program.window.job_list.end(job, State.DONE, "Done.")
        assert not program.closing.is_set(), "that it was kept open holds"


async def test_what_does_not_give_way_keeps_no_window_open(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "END_LIMIT_S", 0.05)
    async with working(qtbot, tmp_path, until) as (program, engine):
        gate = engine.hold("store_many", stubborn=True)
        await choose(qtbot, until, program.window.import_action, lines_of(tmp_path, "one"))
        await until(lambda: gate.waiting == 1)
        other = FakeEngine()
        monkeypatch.setattr("explorer.ui.program.build_engine", lambda *_: other)
        program.window.connection_chosen.emit(place_of(tmp_path / "other.db"))
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        press(box, "Cancel jobs and open")
        await until(lambda: program.window.engine is other)
        assert gate.waiting == 1, "it was left behind"
        assert only_of(program, "Import").state is State.RUNNING

        program.window.close()
        await until(program.closing.is_set)
        assert question() is None, "its end was wanted already"
        gate.open()
        await until(lambda: not program.transfers.jobs.is_busy)


async def test_a_window_closes_over_what_does_not_give_way(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "END_LIMIT_S", 0.05)
    async with working(qtbot, tmp_path, until) as (program, engine):
        gate = engine.hold("store_many", stubborn=True)
        await choose(qtbot, until, program.window.import_action, lines_of(tmp_path, "one"))
        await until(lambda: gate.waiting == 1)
        program.window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        press(box, "Cancel jobs and close")
        await until(program.closing.is_set)
        assert gate.waiting == 1
        gate.open()
        await until(lambda: not program.transfers.jobs.is_busy)


async def test_what_did_not_give_way_can_be_cancelled_again(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, _):
        told: list[str] = []
        job = program.window.job_list.begin("a job", lambda: told.append("cancel"))
        for _ in range(2):
            await until(lambda: program.window.job_cancel_button.isVisible())
            qtbot.mouseClick(program.window.job_cancel_button, Qt.MouseButton.LeftButton)
        assert told == ["cancel", "cancel"]
        program.window.job_list.end(job, State.CANCELLED, "Cancelled.")


async def test_an_export_that_is_prepared_is_not_cut_off_unasked(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.1)
    async with working(qtbot, tmp_path, until) as (program, engine):
        window = program.window
        gate = engine.hold("namespaces")
        window.export_action.trigger()
        await until(lambda: gate.waiting == 1)
        window.close()  # at once: it is no job yet
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        assert box.informativeText().startswith("Preparing the export\n")
        press(box, "Keep open")
        await until(lambda: not program.jobs.is_busy)
        assert program.transfers.jobs.is_busy
        window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        press(box, "Keep open")
        await until(lambda: not program.jobs.is_busy)
        other = FakeEngine()
        monkeypatch.setattr("explorer.ui.program.build_engine", lambda *_: other)
        window.connection_chosen.emit(place_of(tmp_path / "other.db"))
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        press(box, "Cancel jobs and open")
        await until(lambda: window.engine is other)
        await until(lambda: not program.transfers.jobs.is_busy)
        assert window.error_banner.sentence == "", "who cancelled it knows"
        gate.open()


async def test_what_cannot_be_cancelled_is_asked_about_once(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "END_LIMIT_S", 0.05)
    async with working(qtbot, tmp_path, until) as (program, _):
        job = program.window.job_list.begin("a job")
        program.window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        press(box, "Cancel jobs and close")
        await until(program.closing.is_set)
        program.window.job_list.end(job, State.DONE, "Done.")


async def test_a_slow_read_becomes_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.05)
    async with working(qtbot, tmp_path, until) as (program, engine):
        window = program.window
        window.job_list.clear_finished()
        gate = engine.hold("namespaces")
        window.refresh()
        await until(lambda: window.job_list.running)
        await until(lambda: titles(window) == {"Counting the nodes", "Counting the items"})
        assert window.job_list.holding == [], "a read is no reason to keep the window"
        gate.open()
        await until(lambda: not window.job_list.running)
        assert {job.state for job in window.job_list.jobs} == {State.DONE}

        engine.hold("list_preview")
        window.refresh()
        await until(lambda: titles(window) == {"Reading the list"})
        job = window.job_list.running[0]
        window.job_cancel_button.click()
        await until(lambda: job.state is State.CANCELLED)
        assert not window.items.busy_line.is_shown


async def test_a_read_that_became_needless_leaves_no_trace(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    async with working(qtbot, tmp_path, until) as (program, engine):
        window = program.window
        gate = engine.hold("get_items")
        window.refresh()
        await until(lambda: "Reading the item" in titles(window))
        window.viewer.show_hit(None)
        await until(lambda: "Reading the item" not in titles(window))
        assert "Reading the item" not in [job.title for job in window.job_list.jobs]
        gate.open()


async def test_counting_all_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    async with working(qtbot, tmp_path, until) as (program, engine):
        window = program.window
        window.job_list.clear_finished()
        engine.hold("list_preview")
        window.items.count_all_button.click()
        await until(lambda: window.job_list.running)
        job = window.job_list.running[0]
        assert job.title == "Counting all of the list"
        job.stop()
        await until(lambda: job.state is State.CANCELLED)
        assert window.items.count_all_button.text() == "Count all"


async def test_what_is_quick_is_no_job(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, _):
        program.window.job_list.clear_finished()
        program.window.refresh()
        await until(lambda: program.window.is_idle)
        assert program.window.job_list.jobs == []


async def test_a_lane_started_again_is_one_job(qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    window = MainWindow()
    qtbot.addWidget(window)
    jobs, listed = Jobs(window), JobList(window)
    one = Read("A", jobs.cancel)
    listed.watch(jobs, {"a": one, "b": one})
    never = asyncio.Event()
    jobs.start("a", never.wait(), always)
    jobs.start("b", never.wait(), always)
    await until(lambda: listed.running)
    jobs.start("a", asyncio.sleep(0), always)
    await until(lambda: not jobs.is_running("a"))
    assert len(listed.running) == 1
    jobs.start("b", _failing(), always)
    await until(lambda: not listed.running)
    assert [(job.title, job.state) for job in listed.jobs] == [("A", State.FAILED)]
    assert "it broke" in listed.jobs[0].words
    await window.aclose()


async def _failing() -> None:
    raise Unavailable("it broke")


async def test_a_slow_opening_is_a_job_that_can_be_cancelled(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    async with working(qtbot, tmp_path, until) as (program, before):
        slow = FakeEngine()
        slow.hold("health")
        monkeypatch.setattr("explorer.ui.program.build_engine", lambda *_: slow)
        program.window.connection_chosen.emit(place_of(tmp_path / "slow.db"))
        await until(lambda: [job.title for job in program.window.job_list.running] == ["Open \u2068slow.db\u2069"])
        program.window.job_cancel_button.click()
        await until(lambda: not program.jobs.is_busy)
        assert program.window.job_list.jobs[0].state is State.CANCELLED
        assert program.window.engine is before, "what was open stays open"


def test_only_the_last_hundred_are_kept(qtbot: QtBot) -> None:
    window = MainWindow()
    qtbot.addWidget(window)
    listed = window.job_list
    for at in range(job_list.KEPT_MOST + 5):
        listed.end(listed.begin(f"job {at}"), State.DONE, "Done.")
    running = listed.begin("running")
    assert len(listed.jobs) == job_list.KEPT_MOST + 1
    assert listed.jobs[-1].title == "job 5"
    listed.clear_finished()
    assert listed.jobs == [running], "what runs is not forgotten"
    listed.end(running, State.DONE, "Done.")
