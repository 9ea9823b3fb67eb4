"""What runs in the background of a window, and what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator
from datetime import UTC, datetime
from enum import Enum

from PySide6.QtCore import QObject, QTimer, Signal

from explorer.ui import news
from explorer.ui.i18n import tr
from explorer.ui.jobs import Jobs

APPEARS_S = 0.5
"""A read that takes longer is a job; a shorter one is not worth a word."""
KEPT_MOST = 100
_LOOK_MS = 100
_TICK_MS = 1_000


class State(Enum):
    RUNNING = "running"
    DONE = "done"
    FAILED = "failed"
    CANCELLED = "cancelled"


class Job:
    """One piece of work: what it is, how far it is, and in the end how it went, in a sentence each.

    `part` is the share that is done (0 to 1), None where it is not known. `retry` begins it anew, where that makes
    sense. `holds_window`: more than an answer is lost with it, so that the window asks before it closes.
    """

    def __init__(self, title: str, cancel: Callable[[], object] | None, *, holds_window: bool) -> None:
        self.title = title
        self.cancel = cancel
        self.holds_window = holds_window
        self.state = State.RUNNING
        self.part: float | None = None
        self.words = ""
        self.details = ""
        self.retry: Callable[[], object] | None = None
        self.is_stopped = False  # by a person
        self.began_at = datetime.now(UTC)
        self._began_s = time.monotonic()
        self._ended_s: float | None = None

    @property
    def elapsed_s(self) -> float:
        """How long it has been running, or ran."""
        return (time.monotonic() if self._ended_s is None else self._ended_s) - self._began_s

    def stop(self) -> None:
        """Cancel it, where that is possible."""
        if self.cancel is not None:
            self.is_stopped = True
            self.cancel()


class JobList(QObject):
    """The jobs of one window, newest first: those that run, and the last that ended, until they are cleared."""

    changed = Signal()  # one began, got further, or ended; and each second while one runs

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._jobs: list[Job] = []
        self._reads: dict[tuple[int, str], _Read] = {}
        self._ended = asyncio.Event()
        self._look = QTimer(self)
        self._look.setInterval(_LOOK_MS)
        self._look.timeout.connect(self._on_look_timeout)
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self.changed)

    @property
    def jobs(self) -> list[Job]:
        return list(self._jobs)

    @property
    def running(self) -> list[Job]:
        return [job for job in self._jobs if job.state is State.RUNNING]

    @property
    def holding(self) -> list[Job]:
        """Those that run and must not be lost unasked."""
        return [job for job in self.running if job.holds_window]

    def begin(self, title: str, cancel: Callable[[], object] | None = None, *, holds_window: bool = True) -> Job:
        """A new job. Its owner tells how far it is by `step`, and must `end` it."""
        return self._add(Job(title, cancel, holds_window=holds_window))

    def step(self, job: Job, words: str, part: float | None = None) -> None:
        """How far it is."""
        job.words, job.part = words, part
        self.changed.emit()

    def end(
        self,
        job: Job,
        state: State,
        words: str,
        details: str = "",
        retry: Callable[[], object] | None = None,
    ) -> None:
        """How it went; only the first word on this counts."""
        if job.state is not State.RUNNING:
            return
        job.state, job.words, job.details, job.retry = state, words, details, retry
        job.cancel, job.part = None, None
        job._ended_s = time.monotonic()
        for old in [job for job in self._jobs if job.state is not State.RUNNING][KEPT_MOST:]:
            self._jobs.remove(old)
        if not self.running:
            self._tick.stop()
        self._ended.set()
        self.changed.emit()

    async def end_holding(self) -> None:
        """Cancel what must not be lost unasked, once it was asked, and wait until each has ended."""
        for job in self.holding:
            job.stop()
        while self.holding:
            self._ended.clear()
            await self._ended.wait()

    def clear_finished(self) -> None:
        """Forget what has ended."""
        self._jobs = self.running
        self.changed.emit()

    def watch(
        self,
        jobs: Jobs,
        title_of: Callable[[str], str | None],
        cancel: Callable[[], object],
        progress: Callable[[], str] = str,
    ) -> None:
        """Make a job of what a widget reads by itself, once it takes long.

        `title_of` a lane is what is being done there; lanes of one title are one job, None is none.
        """

        def on_began(lane: str) -> None:
            if (title := title_of(lane)) is not None:
                read = self._reads.setdefault((id(jobs), title), _Read(title, cancel, progress))
                read.begin(lane)
                self._look.start()

        def on_ended(lane: str, error: BaseException | None) -> None:
            title = title_of(lane)
            read = self._reads.get((id(jobs), title)) if title is not None else None
            if read is None:
                return
            read.end(lane, error)
            if not read.lanes:
                del self._reads[id(jobs), read.title]
                if read.job is not None:
                    self._end_read(read.job, read.error)

        jobs.began.connect(on_began)
        jobs.ended.connect(on_ended)

    @contextlib.contextmanager
    def if_slow(self, title: str, cancel: Callable[[], object]) -> Iterator[None]:
        """Make a job of what is done inside, once it takes long."""
        read = _Read(title, cancel, str)
        read.begin(title)
        self._reads[id(read), title] = read
        self._look.start()
        try:
            yield
        except BaseException as error:
            read.end(title, error)
            raise
        finally:
            del self._reads[id(read), title]
            if read.job is not None:
                self._end_read(read.job, read.error)

    def _add(self, job: Job) -> Job:
        self._jobs.insert(0, job)
        self._tick.start()
        self.changed.emit()
        return job

    def _on_look_timeout(self) -> None:
        now = time.monotonic()
        for read in self._reads.values():
            if read.job is None and now - read.began_s >= APPEARS_S:
                read.job = self._add(Job(read.title, read.cancel, holds_window=False))
                read.job._began_s = read.began_s
            if read.job is not None:
                read.job.words = read.progress()
        if not self._reads:
            self._look.stop()

    def _end_read(self, job: Job, error: BaseException | None) -> None:
        if error is None:
            self.end(job, State.DONE, job.words or tr("Done."))
        elif isinstance(error, asyncio.CancelledError):
            self.end(job, State.CANCELLED, tr("Cancelled."))
            if not job.is_stopped and job in self._jobs:  # nobody wants to know what the next question made needless
                self._jobs.remove(job)
                self.changed.emit()
        else:
            self.end(job, State.FAILED, news.sentence(error), news.details(error))


class _Read:
    """What one widget reads in lanes of one title."""

    def __init__(self, title: str, cancel: Callable[[], object], progress: Callable[[], str]) -> None:
        self.title = title
        self.cancel = cancel
        self.progress = progress
        self.lanes: set[str] = set()
        self.error: BaseException | None = None
        self.began_s = 0.0
        self.job: Job | None = None

    def begin(self, lane: str) -> None:
        if self.job is None and self.lanes <= {lane}:  # started again: what counts is the newest
            self.began_s = time.monotonic()
            self.error = None
        self.lanes.add(lane)

    def end(self, lane: str, error: BaseException | None) -> None:
        self.lanes.discard(lane)
        if error is not None and (self.error is None or isinstance(self.error, asyncio.CancelledError)):
            self.error = error  # a failure says more than that the rest was cancelled
