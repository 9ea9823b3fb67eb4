"""Items of a file that go into the open memory: a job, whether they are new there or are brought back."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator

from explorer import text
from explorer.contract import MemoryEngine
from explorer.contract.query import MAX_STORE_MANY
from explorer.i18n import tr, tr_n
from explorer.transfer import ImportProgress
from explorer.ui import news
from explorer.ui.job_list import Job, JobList, State
from explorer.ui.main_window import MainWindow

NAME_CHARS = 40  # of a file, in the title of a job
_BAD_LINES_SHOWN = 200


class ImportJob:
    """Shows how far it is, and says in the window how it went.

    `counts` says how many went in; `retry` begins it anew.
    """

    def __init__(
        self,
        window: MainWindow,
        engine: MemoryEngine,
        title: str,
        cancel: Callable[[], None],
        counts: Callable[[int], str],
        retry: Callable[[], None] | None = None,
    ) -> None:
        self._window, self._engine = window, engine
        self._counts, self._retry = counts, retry
        self._job = window.job_list.begin(title, cancel)
        self._done = ImportProgress()
        self._bad: list[str] = []
        self._is_elsewhere = engine.descriptor().needs_key
        self._is_midway = False
        """Whether it ended in the middle of a batch of which some may have gone in."""

    @contextlib.contextmanager
    def running(self) -> Iterator[None]:
        """While items come: what ends it early is said, and what came by then is shown."""
        try:
            yield
        except BaseException as error:  # cancelled, or a fault of ours
            self._is_midway = self._is_elsewhere
            end_badly(self._window.job_list, self._job, error, self._said, self._retry)
            raise
        finally:
            if (self._done.stored or self._is_elsewhere) and self._window.engine is self._engine:
                self._window.refresh()

    def step(self, done: ImportProgress) -> None:
        self._done = done
        self._bad += [
            tr("line {n}: {reason}", n=line.number, reason=text.shown(line.reason, 600))
            for line in done.bad[: _BAD_LINES_SHOWN - len(self._bad)]
        ]
        part = done.bytes_done / done.bytes_total if done.bytes_total else None
        read = text.share(done.bytes_done, done.bytes_total) if done.bytes_total else text.number(done.read)
        self._window.job_list.step(self._job, read, part)

    def end(
        self, why: str = "", details: str = "", *, has_failed: bool, about: str = "", is_midway: bool = False
    ) -> None:
        """It came to an end: `why` it is not the one that was wanted, a sentence; `about` names the file.

        `is_midway`: the engine failed it in the middle.
        """
        self._is_midway = is_midway and self._is_elsewhere
        said = " ".join(filter(None, (why, text.named(about, self._said) if about else self._said)))
        lines = list(self._bad)
        if self._done.refused > len(lines):
            lines.append(text.and_more(self._done.refused - len(lines)))
        details = "\n".join([*lines, *filter(None, (details,))])
        state = State.FAILED if has_failed else State.DONE
        self._window.job_list.end(self._job, state, said, details, self._retry if has_failed else None)
        if has_failed or details:
            self._window.show_error(said, details)
        else:
            self._window.error_banner.show_done(said)

    @property
    def _said(self) -> str:
        done = self._done
        said = [self._counts(done.stored), tr("{n} held already", n=text.number(done.replayed))]
        if done.refused:
            said.append(tr_n("{n} line refused", "{n} lines refused", done.refused, n=text.number(done.refused)))
        told = text.full_stop(text.listed(said))
        if self._is_midway:
            more = tr("Some of the next {n} may have gone in as well.", n=text.number(MAX_STORE_MANY))
            told = f"{told} {more}"
        return told


def end_badly(jobs: JobList, job: Job, error: BaseException, said: str, retry: Callable[[], None] | None) -> None:
    """End a job that was cancelled, or that failed; `said` is what came of it."""
    if isinstance(error, Exception):
        jobs.end(job, State.FAILED, f"{news.sentence(error)} {said}", news.details(error), retry)
    else:
        jobs.end(job, State.CANCELLED, " ".join((tr("Cancelled."), said)), retry=retry)
