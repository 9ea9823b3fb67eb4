"""What runs in the background of a window, and what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from enum import Enum
from functools import partial

from PySide6.QtCore import QObject, QTimer, Signal
from shiboken6 import isValid

from explorer.i18n import tr, tr_n
from explorer.text import counted, number
from explorer.ui import news
from explorer.ui.jobs import Jobs, Stopped

APPEARS_S = 0.5
"""A read that takes longer is a job; a shorter one is not worth a word."""
KEPT_MOST = 100
END_LIMIT_S = 3.0
"""So long what was cancelled is waited for; then it is left behind: not every engine gives way."""
Progress = tuple[str, float | None]
"""How far something is: in words, and as the share that is done (0 to 1), None where that is not known."""
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
    sense. `pause` says until when the server asked to wait, "" where it did not.

    `holds_window`: the window asks before it closes. That is so for what a person began and waits for, and would
    have to begin again: an import, an export, a copy, a count of everything. It is not so for what the window reads by
    itself to show it, however long it takes: that is of no use once the window is gone, and a question at every closing
    over a slow engine would only be answered without being read.
    """

    def __init__(
        self,
        title: str,
        cancel: Callable[[], object] | None,
        *,
        holds_window: bool,
        pause: Callable[[], str] = str,
    ) -> None:
        self.title = title
        self._pause = pause
        self.cancel = cancel
        self.holds_window = holds_window
        self.state = State.RUNNING
        self.part: float | None = None
        self.words = ""
        self.details = ""
        self.retry: Callable[[], object] | None = None
        self.stopped_s: float | None = None  # when a person first wanted its end, of the monotonic clock
        self.began_at = datetime.now(UTC)
        self._began_s = time.monotonic()
        self._ended_s: float | None = None

    @property
    def elapsed_s(self) -> float:
        """How long it has been running, or ran."""
        return (time.monotonic() if self._ended_s is None else self._ended_s) - self._began_s

    @property
    def pause(self) -> str:
        """While it runs, until when the server asked to wait; "" where it did not."""
        return self._pause() if self.state is State.RUNNING else ""

    @property
    def is_stopped(self) -> bool:
        """Whether a person wanted its end."""
        return self.stopped_s is not None

    def stop(self) -> None:
        """Cancel it, where that is possible; once more where the first time did not end it."""
        if self.state is State.RUNNING and self.stopped_s is None:
            self.stopped_s = time.monotonic()
        if self.cancel is not None:
            self.cancel()


def items_done(n: int, total: int | None) -> Progress:
    """So many items of `total`, None where that is not known."""
    if total is None:
        return counted(n, "item"), None
    # More than there were when they were counted: others store meanwhile.
    said = tr_n("{n} of {total} item", "{n} of {total} items", total, n=number(n), total=number(total))
    return said, min(1.0, n / total) if total else None


def _unknown() -> Progress:
    return "", None


@dataclass(frozen=True, eq=False)
class Read:
    """What a widget does in one of its lanes, in words; how it is cancelled, None where it cannot be; how far it is.

    `holds_window` as that of a Job. Each is itself alone: two that are called the same are two.
    """

    title: str
    cancel: Callable[[], object] | None
    progress: Callable[[], Progress] = _unknown
    holds_window: bool = False


class JobList(QObject):
    """The jobs of one window, newest first: those that run, and the last that ended, until they are cleared."""

    changed = Signal()  # one began, got further, or ended; and each second while one runs

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self.pause: Callable[[], str] = str
        """Until when the server of what is open asked to wait, in words."""
        self._jobs: list[Job] = []
        self._reads: dict[Read, _Watched] = {}
        self._moved = asyncio.Event()  # one began or ended
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
        """Those that run and must not be lost unasked; not those whose end is wanted already."""
        return [job for job in self.running if job.holds_window and not job.is_stopped]

    @property
    def is_holding(self) -> bool:
        """Whether anything runs that must not be lost unasked, be it a job or too young to be one."""
        return bool(self.holding) or self._is_one_young

    def begin(
        self,
        title: str,
        cancel: Callable[[], object] | None = None,
        *,
        holds_window: bool = True,
        pause: Callable[[], str] | None = None,
    ) -> Job:
        """A new job. Its owner tells how far it is by `step`, and must `end` it.

        `pause` as that of a Job, where it asks another engine than the one that is open.
        """
        return self._add(Job(title, cancel, holds_window=holds_window, pause=pause or self._paused))

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
        self._moved.set()
        self.changed.emit()

    async def settle(self) -> None:
        """Wait until what must not be lost unasked, and was begun just now, has either ended or is a job."""
        while self._is_one_young:
            self._moved.clear()
            await self._moved.wait()

    async def end_holding(self) -> None:
        """Cancel what must not be lost unasked, once it was asked, and wait until each has ended.

        What does not end in `END_LIMIT_S` after its end was first wanted is left behind: it holds nothing up.
        """
        for job in self.holding:
            job.stop()
        while (left_s := self._ending_s()) > 0:
            self._moved.clear()
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(left_s):
                    await self._moved.wait()

    def _ending_s(self) -> float:
        """How long to wait yet for those whose end is wanted."""
        stopped = [job.stopped_s for job in self.running if job.holds_window and job.stopped_s is not None]
        return max(stopped) + END_LIMIT_S - time.monotonic() if stopped else 0.0

    @property
    def _is_one_young(self) -> bool:
        return any(one.job is None and one.read.holds_window for one in self._reads.values())

    def clear_finished(self) -> None:
        """Forget what has ended."""
        self._jobs = self.running
        self.changed.emit()

    def watch(self, jobs: Jobs, reads: Mapping[str, Read | None]) -> None:
        """Make a job of what a widget does in its lanes, once it takes long.

        `reads` by the name of the lane, up to a colon: None is never a job, and lanes of one Read are one job. A lane
        that is not among them is a job all the same, without a word on what it is. What runs already is watched too.
        """
        known = dict(reads)

        def read_of(lane: str) -> Read | None:
            name = lane.partition(":")[0]
            if name not in reads and lane not in known:
                known[lane] = Read(tr("Working"), lambda: jobs.cancel(lane))
            return known[name if name in reads else lane]

        def on_began(lane: str) -> None:
            if (read := read_of(lane)) is not None:
                if (old := self._reads.get(read)) is not None and old.job is not None and old.job.is_stopped:
                    old.error = Stopped()  # and what begins now is another one
                    self._end_watched(self._reads.pop(read))
                self._reads.setdefault(read, _Watched(read)).begin(lane)
                self._look.start()

        def on_ended(lane: str, error: BaseException | None) -> None:
            read = read_of(lane)
            watched = self._reads.get(read) if read is not None else None
            if read is None or watched is None:
                return
            watched.end(lane, error)
            if not watched.lanes:
                del self._reads[read]
                self._end_watched(watched)

        def on_destroyed() -> None:
            """No lane of a widget that is gone tells its end."""
            for read in known.values():
                if read is not None and (watched := self._reads.pop(read, None)) is not None and isValid(self):
                    watched.error = asyncio.CancelledError()
                    # In the next turn: the whole window may be going, and nobody must be told of it half way.
                    QTimer.singleShot(0, self, partial(self._end_watched, watched))

        jobs.began.connect(on_began)
        jobs.ended.connect(on_ended)
        jobs.destroyed.connect(on_destroyed)
        for lane in jobs.running:
            on_began(lane)

    @contextlib.contextmanager
    def if_slow(self, read: Read) -> Iterator[None]:
        """Make a job of what is done inside, once it takes long."""
        watched = _Watched(read)
        watched.begin(read.title)
        self._reads[read] = watched
        self._look.start()
        try:
            yield
        except BaseException as error:
            watched.end(read.title, error)
            raise
        finally:
            del self._reads[read]
            self._end_watched(watched)

    def _paused(self) -> str:
        return self.pause()

    def _add(self, job: Job) -> Job:
        self._jobs.insert(0, job)
        self._tick.start()
        self._moved.set()
        self.changed.emit()
        return job

    def _on_look_timeout(self) -> None:
        now = time.monotonic()
        is_further = False
        for watched in self._reads.values():
            read = watched.read
            if watched.job is None and now - watched.began_s >= APPEARS_S:
                watched.job = self._add(
                    Job(read.title, read.cancel, holds_window=read.holds_window, pause=self._paused)
                )
                watched.job._began_s = watched.began_s
            if (job := watched.job) is not None and (job.words, job.part) != (now_at := read.progress()):
                job.words, job.part = now_at
                is_further = True
        if is_further:
            self.changed.emit()
        if not self._reads:
            self._look.stop()

    def _end_watched(self, watched: _Watched) -> None:
        job, error = watched.job, watched.error
        self._moved.set()
        if job is None:
            return
        if error is None:
            self.end(job, State.DONE, watched.read.progress()[0] or tr("Done."))
        elif isinstance(error, asyncio.CancelledError):
            # What was there before it was stopped is a result too.
            self.end(job, State.CANCELLED, " ".join(filter(None, (tr("Cancelled."), job.words))))
            is_needless = not job.is_stopped and not isinstance(error, Stopped)
            if is_needless and job in self._jobs:  # nobody wants to know what the next question made needless
                self._jobs.remove(job)
                self.changed.emit()
        else:
            self.end(job, State.FAILED, news.sentence(error), news.details(error))


class _Watched:
    """What one widget does in lanes of one Read."""

    def __init__(self, read: Read) -> None:
        self.read = read
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
        if lane not in self.lanes:  # one of before, which was stopped: it ends late
            return
        self.lanes.discard(lane)
        if self.error is None or isinstance(self.error, asyncio.CancelledError):
            self.error = error  # a failure says more than the rest; of the others the last one tells how it went
