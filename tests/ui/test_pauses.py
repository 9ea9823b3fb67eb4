"""What a server asked to wait for: seen with its end while work runs, and gone when it is over."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from explorer.contract import ForgetTarget, Namespace, Timestamp, Waiting
from explorer.removal.plan import Action, Target
from explorer.ui import job_list, pauses
from explorer.ui.dialogs.plan_parts import running
from explorer.ui.job_list import State
from explorer.ui.pauses import pause_words
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.removing import opened as opened_to_remove
from tests.ui.test_job_list import SlowStore, choose, lines_of, only_job, working
from tests.ui.test_main_window import opened

NOW = datetime(2026, 6, 30, 14, 3, 13, tzinfo=UTC)


class Clock(datetime):
    """Stands still unless a test moves it."""

    at = NOW

    @classmethod
    def now(cls, tz: object = None) -> datetime:  # type: ignore[override]
        return cls.at


@pytest.fixture(autouse=True)
def clock(monkeypatch: pytest.MonkeyPatch) -> type[Clock]:
    monkeypatch.setattr(Clock, "at", NOW)
    monkeypatch.setattr(pauses, "datetime", Clock)
    monkeypatch.setattr(job_list, "_TICK_MS", 5)
    monkeypatch.setattr(running, "_TICK_MS", 5)
    return Clock


class Paused(SlowStore):
    """Its server asked it to wait."""

    def __init__(self) -> None:
        super().__init__()
        self.until: datetime | None = None
        self.asked = 0

    def waiting(self) -> Waiting | None:
        self.asked += 1
        return None if self.until is None else Waiting(until=Timestamp.of(self.until))


def test_the_end_of_the_last_of_them_is_told_to_the_second(clock: type[Clock]) -> None:
    here, there = Paused(), Paused()
    assert pause_words([None, here, there], UTC) == ""
    here.until, there.until = NOW + timedelta(seconds=3), NOW + timedelta(seconds=6.2)
    said = pause_words([here, there], UTC)
    assert said == "The server asked to wait: going on at 14:03:19, in 7\u00a0s"
    clock.at = NOW + timedelta(seconds=6)
    assert pause_words([here, there], UTC).endswith("in 1\u00a0s")
    clock.at = NOW + timedelta(seconds=7)
    assert pause_words([here, there], UTC) == "", "it is over, whatever the engine still says"


async def test_a_pause_is_in_the_status_line_while_work_runs(
    qtbot: QtBot, tmp_path: Path, until: Until, clock: type[Clock]
) -> None:
    engine = Paused()
    await filled([learning("tea")], engine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        label = window.pause_label
        assert label.isHidden()
        engine.until = NOW + timedelta(seconds=7)
        job = window.job_list.begin("Counting")
        assert label.isVisible()
        assert label.text().endswith("in 7\u00a0s")
        assert window.statusBar().isAncestorOf(label)
        clock.at = NOW + timedelta(seconds=2)
        await until(lambda: label.text().endswith("in 5\u00a0s"))
        engine.until = None
        await until(lambda: label.isHidden())
        engine.until = NOW + timedelta(seconds=7)
        await until(lambda: label.isVisible())
        window.job_list.end(job, State.DONE, "")
        assert label.isHidden()
        asked = engine.asked
        window.jobs_view.show()
        await until(lambda: window.jobs_view.isVisible())
        assert engine.asked == asked, "nobody waits for anything"
        window.jobs_view.hide()


async def test_the_row_of_an_import_says_the_pause(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with working(qtbot, tmp_path, until) as (program, plain):
        window, engine = program.window, Paused()
        window.show_engine(engine, "a memory", is_read_only=False)
        await until(lambda: window.is_idle)
        gate = engine.hold("store_many")
        await choose(qtbot, until, window.import_action, lines_of(tmp_path, "one"))
        await until(lambda: gate.waiting == 1)
        window.show_jobs()
        row = window.jobs_view.row(only_job(program))
        assert row.pause_label.isHidden()
        engine.until = NOW + timedelta(seconds=7)
        await until(lambda: row.pause_label.isVisible())
        assert row.pause_label.text().startswith("The server asked to wait: going on at ")
        gate.open()
        await until(lambda: only_job(program).state is State.DONE)
        await until(lambda: row.pause_label.isHidden())
        await plain.aclose()


async def test_a_removal_says_the_pause_where_it_says_how_far_it_is(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = Paused()
    gate = engine.hold("forget")
    async with opened_to_remove(qtbot, tmp_path, until, engine, [learning("tea", "team:a"), learning("x")]) as it:
        dialog = await it.planned(Target.at(Namespace.parse("team:a")))
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: gate.waiting == 1)
        engine.until = NOW + timedelta(seconds=7)
        await until(lambda: "going on at" in dialog.running.waiting_label.text())
        assert dialog.running.waiting_label.isVisible()
        (job,) = [job for job in it.window.job_list.running if job.holds_window]
        assert job.pause == pause_words([engine], dialog._memory.zone)
        engine.until = None
        await until(lambda: dialog.running.waiting_label.isHidden())
        gate.open()
        await until(lambda: dialog.outcome is not None)


async def test_a_count_that_waits_says_so_in_its_dialog(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.ui.dialogs.plan_parts.dialog._PAUSE_EVERY_MS", 5)
    engine = Paused()
    async with opened_to_remove(qtbot, tmp_path, until, engine, [learning("tea", "team:a"), learning("x")]) as it:
        gate = engine.hold("list_preview")
        it.window.removal_wanted.emit(Target.at(Namespace.parse("team:a")), Action.FORGET)
        await until(lambda: gate.waiting == 1)
        label = it.dialog.pause_label
        assert label.isHidden()
        engine.until = NOW + timedelta(seconds=7)
        await until(lambda: label.isVisible())
        assert label.text().endswith("in 7\u00a0s")
        gate.open()
        await it.counted()
        await until(lambda: label.isHidden())


# Reading anew


class Keeps(FakeEngine):
    """Keeps what it read until it is told to read anew."""

    def __init__(self) -> None:
        super().__init__()
        self.refreshed: list[int] = []

    def refresh(self) -> None:
        self.refreshed.append(len(self.calls))


async def test_f5_reads_anew_and_says_what_is_gone(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = Keeps()
    await filled([learning("tea"), learning("milk")], engine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.refresh()
        await until(lambda: window.is_idle)
        assert engine.refreshed == [], "what this program wrote is known"
        hit = window.viewer.hit
        assert hit is not None
        await engine.forget(ForgetTarget(ids=[hit.id]))  # by another program
        before = len(engine.calls)
        window.refresh_action.trigger()
        assert engine.refreshed == [before], "before anything is asked"
        await until(lambda: window.is_idle)
        assert window.viewer.banner.sentence == "This item is no longer stored."
        assert window.items.model.rowCount() == 1
        window.items.refresh_wanted.emit()
        assert len(engine.refreshed) == 2
        await until(lambda: window.is_idle)
