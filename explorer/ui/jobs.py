"""Async work that a widget owns."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Coroutine
from typing import Any, TypeVar

from PySide6.QtCore import QObject, Signal
from shiboken6 import isValid

from explorer.contract.errors import TinyMemoryError

log = logging.getLogger(__name__)

T = TypeVar("T")


class Stopped(asyncio.CancelledError):
    """Cancelled because a person wanted it, and not since another question made it needless."""


class Jobs(QObject):
    """Coroutines owned by one widget, in named lanes of one live task each.

    Starting a lane again cancels its task; whatever that task still returns is dropped.
    """

    busy_changed = Signal(bool)  # the first task began, or the last one ended
    failed = Signal(str, object)  # lane and exception
    began = Signal(str)  # lane, also where it is started again
    ended = Signal(
        str, object
    )  # lane, and None, the exception, CancelledError or Stopped; not of one that was started again

    _showing: asyncio.AbstractEventLoop | None = None  # one for all: that handed out an answer in this turn

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._lanes: dict[str, asyncio.Task[Exception | None]] = {}
        self._stopped: set[asyncio.Task[Exception | None]] = set()

    @property
    def is_busy(self) -> bool:
        """Whether any lane has a task that has not ended."""
        return bool(self._lanes)

    @property
    def running(self) -> list[str]:
        """The lanes that have a task that has not ended."""
        return list(self._lanes)

    def is_running(self, lane: str) -> bool:
        """Whether the lane has a task that has not ended."""
        return lane in self._lanes

    def start(self, lane: str, work: Coroutine[Any, Any, T], done: Callable[[T], None]) -> None:
        """Run `work` in `lane` and hand its result to `done`, unless the lane was started again or cancelled before."""
        self.cancel(lane)
        try:
            loop = asyncio.get_running_loop()
        except RuntimeError:  # a timer of a widget that outlives the loop: nobody is left to answer
            work.close()
            return
        if not self._lanes:
            self.busy_changed.emit(True)
        task = loop.create_task(self._run(lane, work, done), name=lane)
        self._lanes[lane] = task  # the loop keeps weak references only
        task.add_done_callback(lambda ended: self._forget(lane, ended, work))
        self.began.emit(lane)

    def cancel(self, lane: str | None = None) -> None:
        """Cancel the task of one lane, or of all."""
        for name in [lane] if lane else list(self._lanes):
            if task := self._lanes.get(name):
                task.cancel()

    def stop(self, lane: str | None = None) -> None:
        """As `cancel`, because a person wants it: it ends with Stopped."""
        self._stopped.update(task for name, task in self._lanes.items() if lane in (None, name))
        self.cancel(lane)

    async def end(self, lane: str) -> None:
        """Cancel the task of one lane and wait until it has really ended."""
        if task := self._lanes.get(lane):
            task.cancel()
            await asyncio.gather(task, return_exceptions=True)

    async def settle(self) -> None:
        """Wait until every lane has really ended."""
        await asyncio.gather(*self._lanes.values(), return_exceptions=True)

    async def aclose(self) -> None:
        """Cancel every lane and wait until each has really ended."""
        self.cancel()
        await self.settle()

    async def _run(self, lane: str, work: Coroutine[Any, Any, T], done: Callable[[T], None]) -> Exception | None:
        try:
            result = await work
            # Several answers often come at once, and clicks and keys are let in between them.
            loop = asyncio.get_running_loop()
            while Jobs._showing is loop:  # noqa: ASYNC110  (it ends with the turn of the loop)
                await asyncio.sleep(0)
            if self._is_current(lane):  # a thread cannot be cancelled: its answer may come late
                Jobs._showing = loop
                loop.call_soon(Jobs._end_turn)
                done(result)
            return None
        except Exception as error:  # CancelledError is not an Exception: it passes through
            if not isinstance(error, TinyMemoryError):
                log.exception("lane %s", lane)
            if self._is_current(lane):
                self.failed.emit(lane, error)
            return error

    @staticmethod
    def _end_turn() -> None:
        Jobs._showing = None

    def _is_current(self, lane: str) -> bool:
        task = asyncio.current_task()
        # One that was cancelled and answers all the same has been told that nobody listens any more.
        return isValid(self) and task is not None and self._lanes.get(lane) is task and not task.cancelling()

    def _forget(self, lane: str, ended: asyncio.Task[Exception | None], work: Coroutine[Any, Any, Any]) -> None:
        work.close()  # cancelled before its first step: never awaited
        is_stopped = ended in self._stopped
        self._stopped.discard(ended)
        if self._lanes.get(lane) is ended:
            del self._lanes[lane]
            if not isValid(self):  # the widget may be gone already
                return
            is_cancelled = ended.cancelled() or ended.cancelling()
            if is_cancelled:
                self.ended.emit(lane, Stopped() if is_stopped else asyncio.CancelledError())
            else:
                self.ended.emit(lane, ended.exception() or ended.result())
            if not self._lanes:
                self.busy_changed.emit(False)
