"""The embedded engine: one SQLite file, its columns mirrored in memory, all work on two threads of its own."""

from __future__ import annotations

import asyncio
import logging
import os
import sqlite3
from collections.abc import Callable, Sequence
from concurrent.futures import ThreadPoolExecutor
from typing import TypeVar

from explorer.contract import (
    ConfigError,
    EngineDescriptor,
    EngineHealth,
    EraseReport,
    EraseRequest,
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
    Hit,
    ListPage,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
    StoreItem,
    StoreReceipt,
    TinyMemoryError,
    Unavailable,
    check_batch,
)
from explorer.contract.query import DEFAULT_SCAN
from explorer.engines.config import EngineCredential, EngineSettings
from explorer.engines.sqlite.connection import BUSY_TIMEOUT_S, Location, OpenedFile, Reader, moved_away
from explorer.engines.sqlite.reading import Reading
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.writer import Writer

log = logging.getLogger(__name__)

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
    fetch_modes=[FetchMode.KEYWORD],
)


def build(settings: EngineSettings, credential: EngineCredential = None) -> MemoryEngine:
    """The engine over the file that `settings.path` names. Raises ConfigError without one."""
    if not settings.path:
        raise ConfigError("the SQLite engine needs the path of its file")
    return SqliteEngine(settings.path, read_only=bool(settings.read_only))


class SqliteEngine(MemoryEngine):
    """Memory in the file at `path`, which is opened, and made where it is missing, by the first call.

    Writes run one after another on one thread, reads on another; neither waits for the other, nor for other processes'
    reads. A call that is cancelled leaves its transaction whole: done, or not begun.
    """

    def __init__(
        self, path: str | os.PathLike[str], *, read_only: bool = False, busy_timeout_s: float = BUSY_TIMEOUT_S
    ) -> None:
        """`busy_timeout_s`: how long a write waits while another program writes, before it is Unavailable.

        Raises ConfigError for a path that no file can have.
        """
        if "\0" in os.fspath(path):
            raise ConfigError("the path of the memory file holds a NUL character; choose another name")
        self._location = Location(os.path.abspath(path), read_only, busy_timeout_s)
        self._reading = Reading()
        self._opened = OpenedFile(self._location)
        self._reader = Reader(self._opened, self._reading.reset)
        self._writer = Writer(self._opened)
        self._read_thread = _Thread("sqlite-reader")
        self._write_thread = _Thread("sqlite-writer")

    @property
    def path(self) -> str:
        """The file's absolute path."""
        return self._location.path

    def descriptor(self) -> EngineDescriptor:
        return DESCRIPTOR.model_copy(deep=True)  # its list of modes could be changed

    async def health(self) -> EngineHealth:
        """Down with a sentence when the file cannot be opened; degraded when it was moved, or removal is unfinished."""
        try:
            await self._read(State.read)
        except TinyMemoryError as error:
            return EngineHealth.down(error.text)
        if self._opened.is_moved:
            return EngineHealth.degraded(moved_away(self._location.path).text)
        if self._writer.has_traces:
            return EngineHealth.degraded(_traces(self._location.path))
        return EngineHealth.ok()

    async def list(self, req: ListRequest) -> ListPage:
        """Items that match, newest first: `observed_at` descending, undated last, then the later stored first.

        The cursor names the last item shown, so it stays good while items are added or removed.
        Raises InvalidRequest for a cursor of another filter.
        """
        req.check()
        return await self._read(lambda conn: self._reading.list(conn, req))

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

    async def get(self, req: GetRequest) -> Listed[Hit]:
        req.check()
        return await self._read(
            lambda conn: [Hit.of_item(found.id, found.item) for found in self._reading.get(conn, req)]
        )

    async def get_items(self, req: GetRequest) -> Listed[Exported]:
        req.check()
        return await self._read(lambda conn: self._reading.get(conn, req))

    async def fetch(self, req: FetchRequest) -> FetchPage:
        """Items that hold words of the query, by BM25 over all items; those that hold it as one phrase gain by it.

        Whatever the query holds is literal text; one without a letter, digit or emoji finds nothing.
        The pages of a ranking go on as it was begun while items come and go. Once it is forgotten (eight other rankings
        later, or opened anew) they go on from the last hit's place among the present scores, which may have shifted.
        """
        self.refuse_undeclared(req.mode)
        req.check()
        return await self._read(lambda conn: self._reading.fetch(conn, req))

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        """The sentences that hold most of the question, quoted; a citation's snippet is its item's best one."""
        req.check()
        return await self._read(lambda conn: self._reading.recall(conn, req))

    async def store(self, item: StoreItem) -> StoreReceipt:
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
        return ForgetReport(forgotten=removed)

    async def erase(self, req: EraseRequest) -> EraseReport:
        """Delete for good. A receipt says so when a reader keeps the file's log, and with it the text, for now."""
        req.check()
        scopes = 0

        def choose(conn: sqlite3.Connection) -> Sequence[int]:
            nonlocal scopes
            erasure = self._reading.erasure(conn, req)
            scopes = erasure.scopes
            return erasure.rows

        await self._write(lambda: self._writer.remove(choose))
        receipts = [_traces(self._location.path)] if self._writer.has_traces else []
        return EraseReport(erased_scopes=scopes, receipts=receipts)

    async def aclose(self) -> None:
        """End both threads after what they have begun, and close the file. Calling it again does nothing."""
        try:
            await self._read_thread.end(self._reader.close)
        finally:
            await self._write_thread.end(self._writer.close)

    async def _store(self, items: Listed[StoreItem]) -> Listed[StoreReceipt]:
        receipts = await self._write(lambda: self._writer.store(items))
        if self._writer.has_full_segment:
            # Not awaited: the items are stored, and searching finds them where they are now.
            self._write_thread.start(self._seal)
        return receipts

    def _seal(self) -> None:
        try:
            self._writer.seal()
        except TinyMemoryError as error:
            log.warning("sealing was put off: %s", error)  # the next store tries again
        except Exception:
            log.exception("sealing failed")  # nobody awaits it, so nobody else would say so

    async def _read(self, read: Callable[[sqlite3.Connection], T]) -> T:
        return await self._read_thread.run(lambda: self._reader.run(read))

    async def _write(self, write: Callable[[], T]) -> T:
        return await self._write_thread.run(write)


class _Thread:
    """One thread for work that blocks, started by the first of it. Jobs run in order."""

    def __init__(self, name: str) -> None:
        self._name = name
        self._pool: ThreadPoolExecutor | None = None
        self._is_ended = False

    async def run(self, job: Callable[[], T]) -> T:
        """What `job` returns. Cancelling takes it back only while it has not begun."""
        return await asyncio.get_running_loop().run_in_executor(self._open(), job)

    def start(self, job: Callable[[], None]) -> None:
        """Run `job` without waiting; it must not raise. Dropped after the end."""
        if not self._is_ended:
            self._open().submit(job)

    async def end(self, last: Callable[[], None]) -> None:
        """Run `last` after all that was begun, then let the thread go; `last` runs too where this is cancelled."""
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
        if self._is_ended:
            raise Unavailable("the memory file was closed; open it again")
        if self._pool is None:
            self._pool = ThreadPoolExecutor(max_workers=1, thread_name_prefix=self._name)
        return self._pool


def _traces(path: str) -> str:
    return (
        f"removed from `{path}`, but its log still holds traces, because another program is reading the file; they go "
        "with the first change after that"
    )
