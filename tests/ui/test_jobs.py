"""Lanes of work: the newest answer counts, and nothing outlives its widget."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Awaitable, Callable

import pytest
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtWidgets import QDialog, QWidget
from pytestqt.qtbot import QtBot
from shiboken6 import delete

from explorer.contract.errors import Unavailable
from explorer.ui.ask import ask
from explorer.ui.jobs import Jobs, Stopped

Until = Callable[..., Awaitable[None]]


class Slow:
    """Answers when it is told to."""

    def __init__(self) -> None:
        self._gates: dict[str, asyncio.Event] = {}
        self.started: list[str] = []
        self.ended: list[str] = []

    async def answer(self, name: str) -> str:
        self.started.append(name)
        try:
            await self._gates.setdefault(name, asyncio.Event()).wait()
        finally:
            self.ended.append(name)
        return name

    def release(self, name: str) -> None:
        self._gates.setdefault(name, asyncio.Event()).set()


@pytest.fixture
def owner(qtbot: QtBot) -> QWidget:
    widget = QWidget()
    qtbot.addWidget(widget)
    return widget


def others() -> set[asyncio.Task[object]]:
    current = asyncio.current_task()
    return {task for task in asyncio.all_tasks() if task is not current and not task.get_name().startswith("Task-")}


async def test_the_newer_question_supersedes_the_older(owner: QWidget, until: Until) -> None:
    jobs, slow, got = Jobs(owner), Slow(), []
    jobs.start("page", slow.answer("first"), got.append)
    await until(lambda: slow.started == ["first"])
    jobs.start("page", slow.answer("second"), got.append)
    slow.release("first")
    slow.release("second")
    await until(lambda: got)
    await jobs.aclose()
    assert got == ["second"]


async def test_lanes_do_not_disturb_each_other(owner: QWidget, until: Until) -> None:
    jobs, slow, got = Jobs(owner), Slow(), []
    jobs.start("page", slow.answer("page"), got.append)
    jobs.start("count", slow.answer("count"), got.append)
    slow.release("count")
    await until(lambda: got == ["count"])
    slow.release("page")
    await until(lambda: got == ["count", "page"])


class Clicks(QObject):
    """Comes through Qt's queue, as a click does."""

    made = Signal()


async def test_between_answers_that_come_at_once_clicks_are_let_in(owner: QWidget, until: Until) -> None:
    jobs, others, slow, clicks, order = Jobs(owner), Jobs(owner), Slow(), Clicks(), []
    clicks.made.connect(lambda: order.append("click"), Qt.ConnectionType.QueuedConnection)

    def on_answer(name: str) -> None:
        order.append(name)
        clicks.made.emit()

    for panel, name in ((jobs, "facets"), (others, "items"), (jobs, "times")):
        panel.start(name, slow.answer(name), on_answer)
        slow.release(name)
    await until(lambda: len(order) == 6)
    assert order == ["facets", "click", "items", "click", "times", "click"]


async def test_a_late_answer_of_a_thread_is_dropped(owner: QWidget, until: Until) -> None:
    jobs, got = Jobs(owner), []
    gate, came = threading.Event(), threading.Event()

    def read() -> str:
        gate.wait(5)
        came.set()
        return "old"

    async def shielded() -> str:
        # what an engine does whose thread cannot be stopped: it takes the answer although it was cancelled
        work = asyncio.ensure_future(asyncio.to_thread(read))
        while not work.done():
            try:
                await asyncio.shield(work)
            except asyncio.CancelledError:
                continue
        return work.result()

    async def new() -> str:
        return "new"

    jobs.start("read", shielded(), got.append)
    await asyncio.sleep(0)
    jobs.start("read", new(), got.append)
    await until(lambda: got == ["new"])
    gate.set()
    await until(came.is_set)
    await jobs.aclose()
    await until(lambda: not others())
    assert got == ["new"]


async def test_closing_leaves_no_task(owner: QWidget) -> None:
    jobs, slow, got = Jobs(owner), Slow(), []
    for lane in ("a", "b", "c"):
        jobs.start(lane, slow.answer(lane), got.append)
    await asyncio.sleep(0)
    await jobs.aclose()
    assert sorted(slow.ended) == ["a", "b", "c"]
    assert not others()
    assert not jobs.is_busy
    assert got == []


async def test_what_a_person_stops_ends_otherwise_than_what_became_needless(owner: QWidget, until: Until) -> None:
    jobs, slow, ends = Jobs(owner), Slow(), []
    jobs.ended.connect(lambda lane, error: ends.append((lane, type(error))))
    for lane in ("a", "b", "c"):
        jobs.start(lane, slow.answer(lane), lambda _: None)
    jobs.stop("a")
    jobs.cancel("b")
    await until(lambda: len(ends) == 2)
    jobs.stop()
    await until(lambda: not jobs.is_busy)
    assert ends == [("a", Stopped), ("b", asyncio.CancelledError), ("c", Stopped)]


async def test_work_cancelled_before_its_first_step_is_closed(owner: QWidget) -> None:
    jobs, slow = Jobs(owner), Slow()
    jobs.start("a", slow.answer("a"), lambda _: None)
    await jobs.aclose()  # a coroutine never awaited would be a warning here, and warnings are errors
    assert slow.started == []


async def test_busy_spans_from_the_first_to_the_last(owner: QWidget, until: Until) -> None:
    jobs, slow, told = Jobs(owner), Slow(), []
    jobs.busy_changed.connect(told.append)
    jobs.start("a", slow.answer("a"), lambda _: None)
    jobs.start("b", slow.answer("b"), lambda _: None)
    assert told == [True]
    slow.release("a")
    await until(lambda: slow.ended == ["a"])
    await asyncio.sleep(0)
    assert told == [True]
    slow.release("b")
    await until(lambda: told == [True, False])


async def test_restarting_a_lane_does_not_blink(owner: QWidget, until: Until) -> None:
    jobs, slow, told = Jobs(owner), Slow(), []
    jobs.busy_changed.connect(told.append)
    for name in ("1", "2", "3"):
        jobs.start("a", slow.answer(name), lambda _: None)
        await asyncio.sleep(0)
    slow.release("3")
    await until(lambda: told == [True, False])


async def test_failure_names_its_lane(owner: QWidget, until: Until, caplog: pytest.LogCaptureFixture) -> None:
    jobs, failures = Jobs(owner), []
    jobs.failed.connect(lambda lane, error: failures.append((lane, error)))

    async def refuse() -> None:
        raise Unavailable("no answer within 30 s")

    jobs.start("page", refuse(), lambda _: None)
    await until(lambda: failures)
    assert failures[0][0] == "page"
    assert isinstance(failures[0][1], Unavailable)
    assert not caplog.records  # expected: said in the banner, not in the log


async def test_a_bug_is_logged_as_well(owner: QWidget, until: Until, caplog: pytest.LogCaptureFixture) -> None:
    jobs, failures = Jobs(owner), []
    jobs.failed.connect(lambda lane, error: failures.append(error))

    async def stumble() -> None:
        raise ZeroDivisionError

    jobs.start("page", stumble(), lambda _: None)
    await until(lambda: failures)
    assert [record.message for record in caplog.records] == ["lane page"]


async def test_a_failure_in_a_superseded_lane_is_not_told(owner: QWidget, until: Until) -> None:
    jobs, slow, failures, got = Jobs(owner), Slow(), [], []
    jobs.failed.connect(lambda lane, error: failures.append(error))

    async def fail_when_cancelled() -> str:
        try:
            return await slow.answer("never")
        except asyncio.CancelledError as cause:
            raise Unavailable("cut off") from cause

    jobs.start("page", fail_when_cancelled(), got.append)
    await until(lambda: slow.started)
    slow.release("new")
    jobs.start("page", slow.answer("new"), got.append)
    await until(lambda: got == ["new"])
    assert failures == []


async def test_the_owner_may_be_gone_first(qtbot: QtBot, until: Until) -> None:
    holder = QObject()
    jobs, slow, got = Jobs(holder), Slow(), []
    jobs.start("page", slow.answer("page"), got.append)
    await until(lambda: slow.started)
    delete(holder)
    slow.release("page")
    await until(lambda: slow.ended and not others())
    assert got == []


async def test_a_dialog_is_awaited(owner: QWidget, until: Until) -> None:
    for accept in (True, False):
        dialog = QDialog(owner)
        task = asyncio.ensure_future(ask(dialog))
        await until(dialog.isVisible)
        (dialog.accept if accept else dialog.reject)()
        assert await task is accept


async def test_a_cancelled_question_takes_its_dialog_away(owner: QWidget, until: Until) -> None:
    dialog = QDialog(owner)
    gone = []
    dialog.destroyed.connect(lambda: gone.append(True))
    task = asyncio.ensure_future(ask(dialog))
    await until(dialog.isVisible)
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    await until(lambda: gone)
