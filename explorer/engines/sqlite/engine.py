"""The embedded engine: one SQLite file, its columns mirrored in memory, all work on two threads of its own."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sqlite3
import threading
import time
from collections import OrderedDict
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from dataclasses import dataclass
from typing import Literal, TypeVar

from explorer.contract import (
    Changes,
    ConfigError,
    EngineDescriptor,
    EngineHealth,
    EraseReport,
    EraseRequest,
    ExplainedPage,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    Facet,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Histogram,
    HistogramRequest,
    Hit,
    ListPage,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
    SortBy,
    Span,
    SpanRequest,
    StoreItem,
    StoreReceipt,
    TinyMemoryError,
    Unavailable,
    WeightProfile,
    check_batch,
)
from explorer.contract.query import DEFAULT_SCAN
from explorer.engines.config import EngineCredential, EngineSettings
from explorer.engines.embedding import Embedder, default_embedder, embedder_for
from explorer.engines.embedding.asking import ask
from explorer.engines.sqlite.connection import OpenedFile, Reader, check, moved_away
from explorer.engines.sqlite.copies import copies_of, holding_removed
from explorer.engines.sqlite.embedding_job import EmbeddingJob
from explorer.engines.sqlite.failures import DAMAGE
from explorer.engines.sqlite.location import BUSY_TIMEOUT_S, Location
from explorer.engines.sqlite.reading import Meaning, Reading
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.vectors import Vector
from explorer.engines.sqlite.writer import Writer

log = logging.getLogger(__name__)

_RETRY_S = 1.0
_WAITED_FOR = 300
"""Items just stored, up to which a ranked read waits for their vectors."""
_WAIT_S = 1.5
_KEPT_QUERIES = 16
_CLOSING_S = 0.2
"""How long closing waits for an embedder that does not end when it is told to."""

T = TypeVar("T")
Listed = list[T]  # `SqliteEngine.list` hides the built-in of that name inside the class body

DESCRIPTOR = EngineDescriptor(
    id="sqlite",
    label="SQLite file",
    description="One file on this computer; needs no service, no key and no network.",
    hosted=False,
    needs_endpoint=False,
    needs_key=False,
    needs_path=True,
    fetch_modes=[FetchMode.KEYWORD, FetchMode.VECTOR, FetchMode.HYBRID],  # the last two where there is an embedder
)


def build(settings: EngineSettings, credential: EngineCredential = None) -> MemoryEngine:
    """The engine over the file that `settings.path` names. Raises ConfigError without one."""
    if not settings.path:
        raise ConfigError("the SQLite engine needs the path of its file")
    embedder = embedder_for(settings, credential)
    profile = WeightProfile.by_name(settings.profile) if settings.profile else None
    return SqliteEngine(settings.path, read_only=bool(settings.read_only), embedder=embedder, profile=profile)


@dataclass(frozen=True, slots=True)
class VectorStatus:
    """How far search by meaning is."""

    model: str
    items: int
    with_vector: int
    """Of the present model; items without any meaning, such as blank ones, are counted as if they had one."""
    error: str | None
    """What keeps the others from getting theirs, a sentence."""


class SqliteEngine(MemoryEngine):
    """Memory in the file at `path`, which is opened, and made where it is missing, by the first call.

    Writes run one after another on one thread, reads on another; neither waits for the other, nor for other processes'
    reads, but for a removal, which chooses what it takes after the read that is under way. A call that is cancelled
    leaves its transaction whole: done, or not begun.
    """

    def __init__(
        self,
        path: str | os.PathLike[str],
        *,
        read_only: bool = False,
        busy_timeout_s: float = BUSY_TIMEOUT_S,
        embedder: Embedder | Literal["default"] | None = "default",
        profile: WeightProfile | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`busy_timeout_s`: how long a write waits while another program writes, before it is Unavailable.

        `embedder`: what makes the vectors for search by meaning, the model on this computer unless another is given;
        None for search by words alone. The engine closes it.
        `profile`: what the parts of a hybrid score count, None for the engine's own weights; the other modes rank by
        their one part alone. `clock`: seconds since 1970, for freshness.
        Raises ConfigError for a path that no file can have, and InvalidRequest for weights that are none.
        """
        if profile is not None:
            profile.check()
        if "\0" in os.fspath(path):
            raise ConfigError("the path of the memory file holds a NUL character; choose another name")
        self._location = Location(os.path.abspath(path), read_only, busy_timeout_s)
        self._embedder = default_embedder() if embedder == "default" else embedder
        self._reading = Reading(None if self._embedder is None else self._embedder.name, profile, clock)
        self._opened = OpenedFile(self._location)
        self._reader = Reader(self._opened, self._reading.reset)
        self._writer = Writer(self._opened)
        self._read_thread = _Thread("sqlite-reader")
        self._write_thread = _Thread("sqlite-writer")
        self._job_thread = _Thread("sqlite-embedder")
        self._job: EmbeddingJob | None = None
        if self._embedder is not None and not read_only:
            self._job = EmbeddingJob(self._embedder, self._job_thread.start, self._read_soon, self._change_soon)
        self._has_looked = False
        self._queries: OrderedDict[str, Vector] = OrderedDict()
        self._retry: asyncio.TimerHandle | None = None
        self._is_closed = False

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self._location.path

    def descriptor(self) -> EngineDescriptor:
        modes = DESCRIPTOR.fetch_modes if self._embedder is not None else [FetchMode.KEYWORD]
        return DESCRIPTOR.model_copy(deep=True, update={"fetch_modes": [*modes]})

    async def health(self) -> EngineHealth:
        """Down with a sentence when the file cannot be opened; degraded when it was moved, when a removal is unfinished
        or did not reach a copy of the file, or when search by meaning is behind.
        """
        try:
            # Another program may have written over the file's first pages, which SQLite reads only once.
            await self._read_thread.run(lambda: check(self._location))
            is_unfinished, copies = await self._read(
                lambda conn: (State.read(conn).traces > 0, holding_removed(self._location, conn))
            )
            if is_unfinished and not self._location.read_only:  # another program's, perhaps, which was ended
                await self._write(lambda: self._writer.empty_log(wait_s=0))
                is_unfinished = self._opened.has_traces
        except TinyMemoryError as error:
            return EngineHealth.down(error.text)
        if self._opened.is_moved:
            return EngineHealth.degraded(moved_away(self._location.path).text)
        if is_unfinished:
            return EngineHealth.degraded(_traces(self._opened))
        if copies:
            return EngineHealth.degraded(_copies(copies))
        if self._job is not None and self._job.error is not None:
            return EngineHealth.degraded(f"search by meaning is behind: {self._job.error}")
        return EngineHealth.ok()

    async def vector_status(self) -> VectorStatus | None:
        """None for an engine that searches by words alone. Not in memory-v2."""
        if self._embedder is None:
            return None
        coverage = await self._read(self._reading.coverage)
        error = None if self._job is None else self._job.error
        return VectorStatus(self._embedder.name, coverage.items, coverage.with_vector, error)

    async def list(self, req: ListRequest) -> ListPage:
        """Items that match, newest first: `observed_at` descending, undated last, then the later stored first.

        The cursor names the last item shown, so it stays good while items are added or removed.
        Raises InvalidRequest for a cursor of another filter.
        """
        req.check()
        return await self._read(lambda conn: self._reading.list(conn, req))

    def sorts(self) -> frozenset[SortBy]:
        return frozenset(SortBy)

    async def list_span(self, req: SpanRequest) -> Span:
        """Newest first is the order of `list`. The listings used last are kept, four bytes an item."""
        req.check()
        return await self._read(lambda conn: self._reading.span(conn, req))

    async def export(self, req: ListRequest) -> ExportPage:
        req.check()
        return await self._read(lambda conn: self._reading.export(conn, req))

    async def explore(self, req: ExploreRequest) -> ExplorePage:
        """Exact counts; `scan_limit` bounds nothing here."""
        (page,) = await self.explore_many([req])
        return page

    async def explore_many(self, reqs: Listed[ExploreRequest]) -> Listed[ExplorePage]:
        for req in reqs:
            req.check()
        return await self._read(lambda conn: self._reading.explore(conn, reqs))

    async def namespaces(self, filter: MetaFilter, scan_limit: int = DEFAULT_SCAN) -> ExplorePage:
        """Every node with items that the filter admits, sandboxes included, uncut and exact; nothing is scanned."""
        ExploreRequest(facet=Facet.NAMESPACE, filter=filter, limit=1, scan_limit=scan_limit).check()
        return await self._read(lambda conn: self._reading.namespaces(conn, filter))

    async def histogram(self, req: HistogramRequest) -> Histogram:
        """Exact counts; `scan_limit` bounds nothing here."""
        req.check()
        return await self._read(lambda conn: self._reading.histogram(conn, req))

    async def changes(self, filter: MetaFilter, since: str | None = None) -> Changes:
        """Exact, whichever process changed the file. Raises Unavailable once it was moved, deleted or replaced."""
        found = await self._read(lambda conn: self._reading.changes(conn, filter, since))
        if self._opened.is_moved:
            raise moved_away(self._location.path)
        return found

    async def get(self, req: GetRequest) -> Listed[Hit]:
        req.check()
        return await self._read(
            lambda conn: [Hit.of_item(found.id, found.item) for found in self._reading.get(conn, req)]
        )

    async def get_items(self, req: GetRequest) -> Listed[Exported]:
        req.check()
        return await self._read(lambda conn: self._reading.get(conn, req))

    async def fetch(self, req: FetchRequest) -> FetchPage:
        """Items that hold words of the query, or are near it in meaning, or either; see `ranking` for their scores.

        Whatever the query holds is literal text; one without a letter, digit or emoji finds nothing by words. A hybrid
        read whose query gets no vector is ranked by words alone, as `fetch_explained` says. At most 500 items are
        found by meaning alone.
        The pages of a ranking go on as it was begun while items come and go. Once it is forgotten (eight other rankings
        later, or opened anew) they go on from the last hit's place among the present scores, which may have shifted.
        """
        self.refuse_undeclared(req.mode)
        req.check()
        meaning = await self._meaning(req.query, req.mode)
        return await self._read(lambda conn: self._reading.fetch(conn, req, meaning))

    async def fetch_explained(self, req: FetchRequest) -> ExplainedPage:
        """The page of `fetch`: same hits, order, scores and cursor. Notes say what the ranking had to do without."""
        self.refuse_undeclared(req.mode)
        req.check()
        meaning = await self._meaning(req.query, req.mode)
        return await self._read(lambda conn: self._reading.explain(conn, req, meaning))

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        """What the best items say that holds most of the question, quoted; nothing where none of it is an answer.

        A citation's snippet is what its item says, and stands at its place.
        """
        req.check()
        meaning = await self._meaning(req.question, FetchMode.HYBRID)
        return await self._read(lambda conn: self._reading.recall(conn, req, meaning))

    async def store(self, item: StoreItem) -> StoreReceipt:
        """Raises InvalidRequest for an item whose JSON has more than 256,000,000 bytes, as `store_many` does."""
        item.check()
        (receipt,) = await self._store([item])
        return receipt

    async def store_many(self, items: Listed[StoreItem]) -> Listed[StoreReceipt]:
        """One transaction: on an error nothing of the batch is stored, which is stricter than the contract."""
        check_batch(items)
        return await self._store(items)

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        """Remove items and their traces, as `erase` does; all of a filter's at once, none on an error."""
        target.check()

        def choose(conn: sqlite3.Connection) -> Sequence[int]:
            if target.ids is not None:
                return self._reading.rows_of(conn, target.ids)
            assert target.filter is not None  # a target is one or the other
            return self._reading.rows_matching(conn, target.filter)

        removed = await self._write(lambda: self._writer.remove(choose))
        self.drop_queries()
        return ForgetReport(forgotten=removed)

    async def erase(self, req: EraseRequest) -> EraseReport:
        """Delete for good. Receipts say where text is left: while a reader holds up the file's log, and in copies of
        the file from before an update or a repair; and where a damaged file may hold more of what was to be erased. The
        whole tree is emptied in a damaged file too.
        """
        req.check()
        scopes = 0
        receipts: Listed[str] = []

        def choose(conn: sqlite3.Connection) -> Sequence[int]:
            nonlocal scopes
            erasure = self._reading.erasure(conn, req)
            scopes = erasure.scopes
            if erasure.has_orphans and not req.is_whole_tree:
                receipts.append(_orphans(self._location.path))
            return erasure.rows

        def count(conn: sqlite3.Connection) -> None:
            try:
                choose(conn)
            except DAMAGE:
                receipts.append(_uncounted(self._location.path))

        if req.is_whole_tree:
            await self._write(lambda: self._writer.remove_all(count))
        else:
            await self._write(lambda: self._writer.remove(choose))
        self.drop_queries()
        if self._opened.has_traces:
            receipts.append(_traces(self._opened))
        if copies := copies_of(self._location):
            receipts.append(_copies(copies))
        return EraseReport(erased_scopes=scopes, receipts=receipts)

    def drop_queries(self) -> None:
        """Forget what was searched for lately: it may say what was removed."""
        self._queries.clear()

    async def aclose(self) -> None:
        """End both threads after what they have begun, and close the file. Calling it again does nothing."""
        self._is_closed = True
        if self._retry is not None:
            self._retry.cancel()
        try:
            await self._end_job()
        finally:
            try:
                await self._read_thread.end(self._reader.close)
            finally:
                await self._write_thread.end(self._writer.close)

    async def _end_job(self) -> None:
        if self._job is None:
            if self._embedder is not None:
                self._embedder.close()
            return
        self._job.end()
        # An embedder that goes on is left to itself: what it returns is dropped.
        with contextlib.suppress(TimeoutError):
            await asyncio.wait_for(self._job_thread.end(lambda: None), _CLOSING_S)

    async def _store(self, items: Listed[StoreItem]) -> Listed[StoreReceipt]:
        receipts = await self._write(lambda: self._writer.store(items))
        if self._writer.is_settling_due:
            # Not awaited: the items are stored, and searching finds them where they are now.
            self._write_thread.start(self._settle)
        if self._job is not None:
            self._job.ask()
        return receipts

    def _settle(self) -> None:
        try:
            if self._writer.settle():
                self._write_thread.start(self._settle)  # not in a loop: a store that waits goes first
        except TinyMemoryError as error:
            log.warning("settling was put off: %s", error)  # the next store tries again
        except Exception:
            log.exception("settling failed")  # nobody awaits it, so nobody else would say so

    async def _meaning(self, query: str, mode: FetchMode) -> Meaning:
        """Of a query for a mode: with neither a vector nor a failure where words are all that is wanted or there is."""
        if mode is FetchMode.KEYWORD:
            return Meaning()
        try:
            vector = await self._query_vector(query)
        except TinyMemoryError as error:
            if mode is FetchMode.VECTOR:
                raise
            return Meaning(failure=error.text)
        return Meaning(vector, behind=None if self._job is None else self._job.error)

    async def _query_vector(self, query: str) -> Vector | None:
        """The vector of a query, once what was just stored has its own, or will not have it soon.

        None for an engine that searches by words alone. Raises TinyMemoryError where the embedder fails.
        """
        embedder = self._embedder
        if embedder is None:
            return None
        if self._job is not None:
            coverage = await self._read(self._reading.coverage)
            if coverage.with_vector < coverage.items:
                await self._wait_for_new(self._job, coverage.new)
        vector = self._queries.get(query)
        if vector is None:
            (vector,) = await asyncio.to_thread(ask, embedder, [query])
        self._queries[query] = vector
        self._queries.move_to_end(query)
        if len(self._queries) > _KEPT_QUERIES:
            self._queries.popitem(last=False)
        return vector

    async def _wait_for_new(self, job: EmbeddingJob, count: int) -> None:
        done = asyncio.wrap_future(job.when_new_done())
        try:
            if 0 < count <= _WAITED_FOR:
                await asyncio.wait([done], timeout=_WAIT_S)
        finally:
            done.cancel()

    async def _read(self, read: Callable[[sqlite3.Connection], T]) -> T:
        result = await self._read_thread.run(self._then_finishing(lambda: self._reader.run(read)))
        if self._job is not None and not self._has_looked:
            self._has_looked = True  # at what may be left from before it was opened
            self._job.ask()
        return result

    async def _write(self, write: Callable[[], T]) -> T:
        return await self._write_thread.run(self._then_finishing(write))

    def _read_soon(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """As `_read`, for another thread than the loop's."""
        return self._read_thread.submit(lambda: self._reader.run(read)).result()

    def _change_soon(self, change: Callable[[sqlite3.Connection], T]) -> T:
        return self._write_thread.submit(lambda: self._writer.change(change)).result()

    def _then_finishing(self, job: Callable[[], T]) -> Callable[[], T]:
        """`job`, with what it leaves unfinished taken up by the loop: also where its caller no longer waits for it."""
        loop = asyncio.get_running_loop()

        def run() -> T:
            try:
                return job()
            finally:
                if self._opened.has_traces:
                    with contextlib.suppress(RuntimeError):  # the loop is closed: whoever opens the file next does it
                        loop.call_soon_threadsafe(self._finish_removal)

        return run

    def _finish_removal(self) -> None:
        """While removed text lies in the log, try again to empty it each second: no other change may come for long."""
        if self._opened.has_traces and self._retry is None and not self._is_closed:
            self._retry = asyncio.get_running_loop().call_later(_RETRY_S, self._empty_log)

    def _empty_log(self) -> None:
        self._retry = None
        if self._opened.has_traces:
            self._write_thread.start(self._try_to_empty_log)
            self._finish_removal()

    def _try_to_empty_log(self) -> None:
        try:
            self._writer.empty_log(wait_s=0)
        except TinyMemoryError as error:
            log.warning("the removal could not be finished yet: %s", error)


class _Thread:
    """One thread for work that blocks, started by the first of it. Jobs run in order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._lock = threading.Lock()
        self._pool: ThreadPoolExecutor | None = None
        self._is_ended = False

    async def run(self, job: Callable[[], T]) -> T:
        """What `job` returns. Cancelling takes it back only while it has not begun."""
        return await asyncio.get_running_loop().run_in_executor(self._open(), job)

    def submit(self, job: Callable[[], T]) -> Future[T]:
        """As `run`, for another thread than a loop's."""
        return self._open().submit(job)

    def start(self, job: Callable[[], None]) -> None:
        """Run `job` without waiting; it must not raise. Dropped after the end."""
        if not self._is_ended:
            self._open().submit(job)

    async def end(self, last: Callable[[], None]) -> None:
        """Run `last` after all that was begun, then let the thread go; `last` runs too where this is cancelled."""
        with self._lock:
            self._is_ended = True
            pool, self._pool = self._pool, None
        if pool is None:
            return
        ending = pool.submit(last)
        try:
            await asyncio.shield(asyncio.wrap_future(ending))
        finally:
            pool.shutdown(wait=ending.done())  # at once: nothing is queued behind `last`

    def _open(self) -> ThreadPoolExecutor:
        with self._lock:
            if self._is_ended:
                raise Unavailable("the memory file was closed; open it again")
            if self._pool is None:
                self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name)
            return self._pool


def _traces(opened: OpenedFile) -> str:
    if opened.location.read_only:
        reason = "the program that removed it has not ended yet, or was ended; open the file once for writing"
    elif opened.obstacle is None:
        reason = "another program is reading the file; they go by themselves soon after that ends"
    else:
        reason = f"the disk failed ({opened.obstacle}); it is tried again each second, and whenever the file is opened"
    return f"the removal from `{opened.location.path}` is not finished: its log still holds traces, because {reason}"


def _orphans(path: str) -> str:
    return (
        f"the memory file `{path}` is damaged: items and their fields do not go together, so some may be left that "
        "belong to what was erased; run `tinymemory check --repair`, then erase again"
    )


def _uncounted(path: str) -> str:
    return f"all items are erased; the memory file `{path}` is damaged, so what it held could not be counted"


def _copies(copies: Listed[str]) -> str:
    named = ", ".join(f"`{copy}`" for copy in copies)
    return f"what was removed may still lie in {named}, made when the file was updated or repaired; delete that too"
