"""Giving items their vectors, behind the stores: a little at a time, so that a store or a read never waits for long."""

from __future__ import annotations

import contextlib
import logging
import sqlite3
import threading
from collections import Counter
from collections.abc import Callable, Iterable
from concurrent.futures import Future, InvalidStateError
from dataclasses import dataclass
from typing import Protocol, TypeVar

import numpy as np
import numpy.typing as npt

from explorer.contract import TinyMemoryError
from explorer.engines.embedding import Embedder
from explorer.engines.embedding.asking import ask
from explorer.engines.sqlite import vectors
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.passages import Span, passages_of
from explorer.engines.sqlite.payloads import read_payload
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.vectors import Made, Passages, Work

log = logging.getLogger(__name__)

T = TypeVar("T")

_NEW = (64, 1 << 16)
"""Items of one transaction at most, and bytes of their payloads, where one is not larger by itself."""
_OLDER = (512, 1 << 20)
"""As `_NEW`, for those that have waited: from the last to the first the file grows by a tenth less so."""
_TEXTS = 32
"""Passages of one call of the embedder: tens of milliseconds of one core, for which closing may have to wait."""
_LOST_S = 1.0
"""How long to leave the work to another process that was faster."""
_FIRST_RETRY_S = 1.0
_LONGEST_RETRY_S = 60.0


class Run(Protocol):
    """Calls something with a connection to the file, on the thread that owns that, and waits for what it returns."""

    def __call__(self, work: Callable[[sqlite3.Connection], T], /) -> T: ...


@dataclass(frozen=True, slots=True)
class _Look:
    """What one snapshot says is left to do."""

    must_begin: bool
    """Whether the vectors are of another model, or the order of the work is to change."""
    is_new_done: bool
    """Whether nothing that was stored lately waits."""
    work: Work | None


class _NoVectors(Exception):
    """Why there are none, where the file itself is well; a sentence."""


class EmbeddingJob:
    """Brings the file's vectors up to date with its items, whenever it is asked to. Ask from any thread.

    It works in steps on a thread of its own, and ends when nothing is left to do. What fails is tried again later, at
    growing intervals. Several processes may do this on one file: who comes second drops its work, and waits a while.
    """

    def __init__(self, embedder: Embedder, start: Callable[[Callable[[], None]], None], read: Run, write: Run) -> None:
        """`start` queues a call on the thread of this job; `read` gives a snapshot, `write` a transaction."""
        self._embedder = embedder
        self._start = start
        self._read = read
        self._write = write
        self._lock = threading.Lock()
        self._is_running = False
        self._is_wanted = False
        self._is_ended = False
        self._is_put_off = False
        self._has_begun = False
        self._losses = 0
        self._failures = 0
        self._waiting: list[Future[None]] = []
        self._timer: threading.Timer | None = None
        self.error: str | None = None
        """What keeps items from getting vectors, a sentence; None while all is well, the file apart."""

    def ask(self) -> None:
        """Begin, or go on until what is stored by now is done; not before its time where it failed lately."""
        with self._lock:
            self._is_wanted = True
            if self._is_ended or self._is_running or self._is_put_off:
                return
            self._run()

    def when_new_done(self) -> Future[None]:
        """Ask, and know when what is stored by now has its vectors, or will not get them soon."""
        done: Future[None] = Future()
        with self._lock:
            if self._is_ended or self._is_put_off:
                done.set_result(None)
            else:
                self._waiting.append(done)
        self.ask()
        return done

    def end(self) -> None:
        """Do nothing more. What the embedder is at ends with an error, which is not told."""
        with self._lock:
            self._is_ended = True
            self._stop_timer()
        self._embedder.close()
        self._release(self._waiting)

    # --- when to work: with the lock held ---

    def _run(self) -> None:
        self._stop_timer()
        self._is_running = True
        self._start(self._step)

    def _run_later(self, delay_s: float) -> None:
        self._is_running = False
        if not self._is_ended:
            self._timer = threading.Timer(delay_s, self._run_now)
            self._timer.daemon = True
            self._timer.start()

    def _stop_timer(self) -> None:
        if self._timer is not None:
            self._timer.cancel()
            self._timer = None

    def _run_now(self) -> None:
        with self._lock:
            if not self._is_ended and not self._is_running:
                self._run()

    # --- the work, on the job's thread ---

    def _step(self) -> None:
        """A little of the work. The next step is queued behind it, so that the thread can be ended between the two."""
        with self._lock:
            self._is_wanted = False
        try:
            delay_s = self._advance()
        except _NoVectors as error:
            self._put_off(str(error), is_told=True)
        except TinyMemoryError as error:
            self._put_off(error.text)
        except Exception as error:
            if not self._is_ended:
                log.exception("items could not be given their vectors")
            self._put_off(f"items could not be given their vectors ({type(error).__name__})", is_told=True)
        else:
            with self._lock:
                self.error = None
                self._is_put_off = False
                self._failures = 0
                if delay_s:
                    self._run_later(delay_s)
                elif not self._is_ended and (delay_s is not None or self._is_wanted):
                    self._run()
                else:
                    self._is_running = False

    def _put_off(self, error: str, *, is_told: bool = False) -> None:
        with self._lock:
            if self._is_ended:
                return
            if not self._is_put_off:
                log.warning("search by meaning is behind: %s", error)
            if is_told:
                self.error = error
            self._is_put_off = True
            self._run_later(min(_FIRST_RETRY_S * 2**self._failures, _LONGEST_RETRY_S))
            self._failures += 1
        self._release(self._waiting)

    def _advance(self) -> float | None:
        """Do the next piece of work. Seconds to wait before the one after it; None where none is left."""
        with self._lock:
            waiting = list(self._waiting)
        look = self._read(self._look)
        if look.is_new_done:
            self._release(waiting)
        if look.must_begin:
            self._begin()
            return 0.0
        if look.work is None:
            return None
        embedded = self._embed(look.work)
        if embedded is None:
            return None
        work, found = embedded
        if not work.made.is_by(self._embedder.name, self._embedder.dims):
            return 0.0  # as only its answer showed: the next look finds that the model is another one
        self._has_begun = True
        if self._write(lambda conn: vectors.add(conn, work, found)):
            self._losses = 0
            return 0.0
        self._losses += 1  # the second in a row: the other process is at all of it
        return _LOST_S if self._losses > 1 else 0.0

    def _look(self, conn: sqlite3.Connection) -> _Look:
        made, next_id = Made.read(conn), State.read(conn).next_id
        name, dims = self._embedder.name, self._embedder.dims
        if vectors.due(made, name, dims, next_id) is None:
            assert made is not None  # else something is due
            work = vectors.find_new(conn, made, *_NEW) or vectors.find_older(conn, made, *_OLDER)
            return _Look(False, made.top >= next_id, work)
        if made is not None and self._has_begun and not made.is_by(name, dims):
            raise _NoVectors(
                f"another program gives this memory vectors of the model {made.name}, and this one of {name}; set the "
                "same in both, and open the memory again"
            )
        return _Look(next_id > 0, next_id == 0, None)

    def _begin(self) -> None:
        name, dims = self._embedder.name, self._embedder.dims or self._vectors(["text"]).shape[1]
        before = self._write(lambda conn: vectors.begin(conn, name, dims))
        if before is not None:
            log.warning(
                "vectors are made anew: those of %s (%d) do not fit %s (%d)", before.name, before.dims, name, dims
            )
        self._has_begun = True

    def _embed(self, work: Work) -> tuple[Work, dict[int, Passages]] | None:
        """The passages' vectors by row, and the part of the work that they are for; None where the job was ended.

        Not all of it where something newer came meanwhile, or the embedder failed, or the job was ended.
        """
        spans: list[tuple[int, Span]] = []
        texts: list[str] = []
        for id, payload in work.items:
            try:
                item = read_payload(payload, str(id))
            except Contradiction as error:
                log.warning("an item gets no vector: %s", error)  # nor may it keep the others from theirs
                continue
            text = item.render_text()
            for start, stop in passages_of(item):
                spans.append((id, (start, stop)))
                texts.append(text[start:stop])
        rows: list[npt.NDArray[np.float32]] = []
        for first in range(0, len(texts), _TEXTS):
            row = spans[first][0]
            is_one_done = row != spans[0][0]
            if self._is_ended or (is_one_done and work.is_older and self._is_wanted):
                break
            try:
                rows.append(self._vectors(texts[first : first + _TEXTS]))
            except _NoVectors:
                if not is_one_done:
                    raise
                break  # the next step fails, if it still does
        else:
            return work, _by_item(spans, np.concatenate(rows)) if rows else {}
        if not is_one_done:
            return None
        return work.before(row), _by_item([span for span in spans[:first] if span[0] != row], np.concatenate(rows))

    def _vectors(self, texts: list[str]) -> npt.NDArray[np.float32]:
        try:
            return ask(self._embedder, texts)
        except TinyMemoryError as error:
            raise _NoVectors(error.text) from error

    def _release(self, waiting: Iterable[Future[None]]) -> None:
        with self._lock:
            released = list(waiting)
            self._waiting = [future for future in self._waiting if future not in released]
        for future in released:
            with contextlib.suppress(InvalidStateError):  # who waited gave up
                future.set_result(None)


def _by_item(spans: list[tuple[int, Span]], rows: npt.NDArray[np.float32]) -> dict[int, Passages]:
    """The passages that have any meaning, by item."""
    found: dict[int, Passages] = {}
    start = 0
    for id, count in Counter(id for id, _ in spans).items():
        kept = start + np.flatnonzero(rows[start : start + count].any(axis=1))
        found[id] = Passages([spans[place][1] for place in kept.tolist()], rows[kept], is_only=count == 1)
        start += count
    return found
