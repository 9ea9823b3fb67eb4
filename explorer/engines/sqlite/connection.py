"""Opening the file: checked before it is touched, and connections for writing, reading, and reading without a trace."""

from __future__ import annotations

import errno
import logging
import os
import sqlite3
import threading
import time
from collections.abc import Callable
from contextlib import closing, suppress
from typing import TypeVar

from explorer.contract import ConfigError, EngineFailure, NotFound, TinyMemoryError, Unavailable
from explorer.engines.os_errors import why
from explorer.engines.sqlite import schema
from explorer.engines.sqlite.failures import DAMAGE, is_busy_error, primary_code, translated, translating
from explorer.engines.sqlite.location import Location
from explorer.engines.sqlite.migrating import migrate
from explorer.engines.sqlite.sweeping import read_log, sweep

log = logging.getLogger(__name__)

T = TypeVar("T")

_LONGEST_SUFFIX = "-journal"  # that SQLite appends
_MOST_BYTES = 512  # of a path that SQLite takes on Unix
CACHE_KB = 8_000
"""Pages of the file that a connection keeps: lists of common words at a million items, of which 2 MB hold too few."""

_MODE_TRIES = 50
_HEADER_TRIES = 3
_PAUSE_S = 0.02
_READ_TRIES = 5


def check(location: Location) -> None:
    """Refuse what is not a memory file of this program, without changing a byte of it.

    Raises NotFound (folder or file missing), ConfigError (too long a path, a folder, another program's file, a newer
    version of ours, no permission), EngineFailure (damaged). Passes a missing or empty file that may be created.
    """
    path = location.path
    folder = os.path.dirname(path)
    _check_length(location)
    if not os.path.isdir(folder):
        raise NotFound(f"the folder `{folder}` does not exist; create it or choose another place for the memory file")
    if os.path.isdir(path):
        raise ConfigError(f"`{path}` is a folder; name a file in it")
    if not os.path.exists(path):
        if location.read_only:
            raise NotFound(f"there is no file `{path}` to open read-only")
        if not os.access(folder, os.W_OK):
            raise ConfigError(f"the folder `{folder}` is not writable, so no memory file can be created in it")
        return
    if not os.path.isfile(path):
        raise ConfigError(f"`{path}` is not a regular file")
    if not os.access(path, os.R_OK):
        raise ConfigError(f"the file `{path}` may not be read; change its permissions")
    if os.path.getsize(path) == 0:
        if location.read_only:
            raise ConfigError(f"the file `{path}` is empty; open it for writing to make it a memory file")
        return
    _check_header(location)
    if not location.read_only and not (os.access(path, os.W_OK) and os.access(folder, os.W_OK)):
        raise ConfigError(f"`{path}` or its folder is not writable; open it read-only or change the permissions")


def _check_length(location: Location) -> None:
    """Refuse a name or path that is too long for the file, or for those that SQLite keeps beside it."""
    longest = location.beside(_LONGEST_SUFFIX)
    try:
        os.stat(longest)
        is_too_long = False
    except OSError as error:
        is_too_long = error.errno == errno.ENAMETOOLONG
    if is_too_long or (os.name == "posix" and len(os.fsencode(longest)) > _MOST_BYTES):
        raise ConfigError(f"the path `{location.path}` is too long, with what SQLite adds to it; choose a shorter one")


def _check_header(location: Location) -> None:
    for _ in range(_HEADER_TRIES):
        # Immutable: no lock, no recovery, no file made beside it, whoever the file belongs to.
        conn = location.open("immutable=1")
        try:
            (application,) = conn.execute("PRAGMA application_id").fetchone()
            (version,) = conn.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            code = primary_code(error)
            if code == sqlite3.SQLITE_NOTADB:
                raise ConfigError(f"`{location.path}` is not a SQLite database") from error
            failure = error
            if code != sqlite3.SQLITE_CORRUPT:
                break
            if location.wal_size:
                return  # a checkpoint may be under way; the locked reading that follows sees the truth
            time.sleep(_PAUSE_S)  # another process may be making the file at this moment
            continue
        finally:
            conn.close()
        _check_versions(location, application, version)
        return
    raise translated(failure, location.path) from failure


def _check_versions(location: Location, application: int, version: int) -> None:
    if application != schema.APPLICATION_ID:
        raise ConfigError(f"`{location.path}` is a SQLite database of another program, not a memory file")
    if version > schema.VERSION:
        raise ConfigError(
            f"`{location.path}` was written by a newer version of this program (layout {version}, this one reads up to "
            f"{schema.VERSION}); update to open it"
        )


def connect_writing(location: Location) -> sqlite3.Connection:
    """A connection that may write; makes the file, or brings an older one to the present layout.

    Raises as `check`, and Unavailable while another program holds the file.
    """
    check(location)
    conn = location.open("mode=rwc")
    try:
        with translating(location.path):
            prepare(conn)
            _check_objects(location, conn)
            _make_schema(location, conn)
            _use_wal(location, conn)
            schema.State.read(conn)
    except BaseException:
        conn.close()
        raise
    return conn


def _check_objects(location: Location, conn: sqlite3.Connection) -> None:
    """Refuse a file with tables, indexes, views or triggers that this program does not make."""
    (version,) = conn.execute("PRAGMA user_version").fetchone()
    if not 0 < version <= schema.VERSION:
        return  # which is looked at before anything is written
    foreign = set(schema.objects(conn)) - schema.made_by(version)
    if foreign:
        raise EngineFailure(
            f"the memory file `{location.path}` holds tables, indexes, views or triggers of another program "
            f"({len(foreign)}), which may keep or change what is stored; `tinymemory check --repair` takes them out, "
            "after a copy; until then the file can be opened read-only"
        )


def check_layout(location: Location, conn: sqlite3.Connection) -> None:
    """Refuse a file that another program brought to another layout while it was open; cheap, for each transaction."""
    (version,) = conn.execute("PRAGMA user_version").fetchone()
    (application,) = conn.execute("PRAGMA application_id").fetchone()
    _check_versions(location, application, version)
    if version < schema.VERSION:
        raise moved_away(location.path)


def prepare(conn: sqlite3.Connection) -> None:
    """Set what every connection that writes a memory file needs: nothing removed stays readable, nothing is lost."""
    # Temporary b-trees would hold stored text in a file that no erase reaches.
    conn.execute("PRAGMA temp_store = MEMORY")
    # Freed space is overwritten with zeros. FAST is not enough: it leaves traces in free pages.
    conn.execute("PRAGMA secure_delete = ON")
    # Not by itself: what the log holds has to be swept too. See `OpenedFile.empty_log`.
    conn.execute("PRAGMA wal_autocheckpoint = 0")
    # A receipt promises that the item is held, after a power loss too. NORMAL saves a third of a batch's time
    # and may lose the last commits then.
    conn.execute("PRAGMA synchronous = FULL")
    # Damage is then met as an error where it is, not as a wrong answer later.
    conn.execute("PRAGMA cell_size_check = ON")
    conn.execute("PRAGMA trusted_schema = OFF")
    conn.execute(f"PRAGMA cache_size = -{CACHE_KB}")


def _make_schema(location: Location, conn: sqlite3.Connection) -> None:
    (version,) = conn.execute("PRAGMA user_version").fetchone()
    (application,) = conn.execute("PRAGMA application_id").fetchone()
    if version == schema.VERSION and application == schema.APPLICATION_ID:
        return
    # Before WAL is switched on, so that the file itself, and not only its log, says from the first what it is.
    conn.execute("BEGIN IMMEDIATE")
    try:
        (version,) = conn.execute("PRAGMA user_version").fetchone()
        (application,) = conn.execute("PRAGMA application_id").fetchone()
        (tables,) = conn.execute("SELECT count(*) FROM sqlite_master").fetchone()
        if version or application or tables:  # not empty: another program's, or another process was first
            _check_versions(location, application, version)
        if not version:
            schema.migrate(conn)
        elif version < schema.VERSION:
            migrate(location, conn)
        conn.execute("COMMIT")
    except BaseException:
        if conn.in_transaction:
            conn.execute("ROLLBACK")
        raise


def _use_wal(location: Location, conn: sqlite3.Connection) -> None:
    """Readers and the writer then do not wait for one another; the mode stays with the file."""
    for _ in range(_MODE_TRIES):
        (mode,) = conn.execute("PRAGMA journal_mode").fetchone()
        if mode == "wal":
            return
        try:
            (mode,) = conn.execute("PRAGMA journal_mode = WAL").fetchone()
        except sqlite3.OperationalError as error:
            # Two processes that create the file at once: SQLite does not wait here by itself.
            if not is_busy_error(error):
                raise
            time.sleep(_PAUSE_S)
            continue
        if mode != "wal":
            raise EngineFailure(
                f"the disk that holds `{location.path}` cannot share memory between programs, as SQLite's log needs; "
                "move the file to a local disk"
            )
    raise Unavailable(f"the memory file `{location.path}` is held by another program; try again")


class OpenedFile:
    """The file that an engine opened first, for all its connections: none may end up in another one at that path."""

    def __init__(self, location: Location) -> None:
        self.location = location
        self.has_traces = False
        """Whether removed text may still lie in the file or its log, because the last sweeping was held up."""
        self.obstacle: str | None = None
        """What failed in the last sweeping; None where it only met another program's reading or writing."""
        self._identity: tuple[int, int] | None = None
        self._lock = threading.Lock()
        self._sweeping = threading.Lock()
        # Pages that were changed by the transactions after the last sweeping, up to that one.
        self._pages: frozenset[int] = frozenset()
        self._known = 0

    @property
    def is_moved(self) -> bool:
        """Whether the file that was opened is no longer the one at its path."""
        return self._identity is not None and self.location.identity() != self._identity

    def connect_writing(self) -> sqlite3.Connection:
        """As the function; Unavailable when the file was moved since it was opened first."""
        with self._lock:
            if self.is_moved:
                raise moved_away(self.location.path)
            conn = connect_writing(self.location)
            self._identity = self.location.identity()
        try:
            with translating(self.location.path):
                if schema.State.read(conn).traces:  # a process ended before it had swept them away
                    self.empty_log(conn, 0)
        except BaseException:
            conn.close()
            raise
        return conn

    def empty_log(self, conn: sqlite3.Connection, wait_s: float) -> bool:
        """Bring the log into the file, empty it, and sweep what it changed: no removed text is left then.

        False where a reader of an older snapshot, or another program's writing, held it up for `wait_s`, or where the
        disk failed: never an error, since what was committed before is done.
        """
        deadline = time.monotonic() + wait_s
        before, self.obstacle = self.obstacle, None
        is_done = False
        with self._sweeping:
            try:
                while not (is_done := self._try_to_empty_log(conn, wait_s)) and time.monotonic() < deadline:
                    time.sleep(_PAUSE_S)  # SQLite does not wait by itself where another program is at the same
            except (sqlite3.Error, OSError, TinyMemoryError) as error:
                self.obstacle = _reason(error)
                if self.obstacle != before:  # it is tried every second
                    log.warning("the log of `%s` could not be emptied: %s", self.location.path, self.obstacle)
        self.has_traces = not is_done and _may_have_traces(conn)
        return is_done

    def _try_to_empty_log(self, conn: sqlite3.Connection, wait_s: float) -> bool:
        self._look_at_log(conn)
        if not _truncate_log(conn, wait_s, self.location.busy_timeout_s):
            return False
        try:
            # On a connection of its own, so that every other one, this process's too, sees a change by somebody else,
            # and does not go on with a page as it was before.
            with closing(self.location.open("mode=rw")) as sweeper:
                prepare(sweeper)
                sweeper.execute(f"PRAGMA busy_timeout = {int(wait_s * 1_000)}")
                sweeper.execute("BEGIN IMMEDIATE")
                if self.location.wal_size or self.is_moved:
                    return False  # another program was faster
                check_layout(self.location, sweeper)
                state = schema.State.read(conn)  # not on the other, which would remember the page
                is_known = state.swept > 0 and state.changes == self._known
                sweep(self.location, self._pages if is_known else None)
                sweeper.execute("UPDATE state SET changes = changes + 1, swept = changes + 1, traces = 0")
                sweeper.execute("COMMIT")
        except sqlite3.OperationalError as error:
            if is_busy_error(error):
                return False
            raise
        self._pages, self._known = frozenset(), state.changes + 1
        # Of that change; no harm where another program is in the way.
        _truncate_log(conn, 0, self.location.busy_timeout_s)
        return True

    def _look_at_log(self, conn: sqlite3.Connection) -> None:
        """Remember which pages are in the log, before it is emptied."""
        state = schema.State.read(conn)  # before the log, which holds all that was committed by then
        if not state.swept:
            return  # all pages are looked at anyway
        found = read_log(self.location)
        if self._known < state.swept:
            self._pages, self._known = frozenset(), state.swept
        if state.changes - found.commits <= self._known:  # else some are not in it any more
            self._pages |= found.pages
            self._known = state.changes

    def close(self, conn: sqlite3.Connection) -> None:
        """Close a connection that may write, swept; the last one of all processes removes the log."""
        with closing(conn), suppress(sqlite3.Error, OSError):
            if self.is_moved:
                self.complete(conn)
                return
            state = schema.State.read(conn)
            if state.swept < state.changes:
                self.empty_log(conn, 0)

    def complete(self, conn: sqlite3.Connection) -> None:
        """Bring the log of a file that was moved into it, as far as that goes: the log stayed behind at its path.

        The log itself is left alone, since it may be another file's by now.
        """
        with suppress(sqlite3.Error):
            conn.execute("PRAGMA wal_checkpoint(PASSIVE)").fetchone()


def _reason(error: sqlite3.Error | OSError | TinyMemoryError) -> str:
    if isinstance(error, OSError):
        return why(error)
    return error.text if isinstance(error, TinyMemoryError) else str(error)


def _may_have_traces(conn: sqlite3.Connection) -> bool:
    try:
        return schema.State.read(conn).traces > 0
    except sqlite3.Error:
        return True


def _truncate_log(conn: sqlite3.Connection, wait_s: float, usual_wait_s: float) -> bool:
    """Bring the log into the file and empty it; False where something was in the way for `wait_s`."""
    conn.execute(f"PRAGMA busy_timeout = {int(wait_s * 1_000)}")
    try:
        (is_busy, _, _) = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
    finally:
        conn.execute(f"PRAGMA busy_timeout = {int(usual_wait_s * 1_000)}")
    return not is_busy


def moved_away(path: str) -> Unavailable:
    return Unavailable(
        f"the memory file `{path}` was moved, deleted or replaced while it was open; close it and open it again"
    )


class Reader:
    """Reads, each in a snapshot of its own. Lives on one thread.

    A writable file is read beside its writers. A read-only one is read without a trace: as immutable while no log lies
    beside it (the reading is repeated when a writer came meanwhile), else through a log index that is only looked at.
    """

    def __init__(self, opened: OpenedFile, on_open: Callable[[], None]) -> None:
        """`on_open` is called when the next read may see another file than the last one did."""
        self._opened = opened
        self._location = opened.location
        self._on_open = on_open
        self._conn: sqlite3.Connection | None = None
        self._seen: tuple[int, ...] | None = None

    def run(self, read: Callable[[sqlite3.Connection], T]) -> T:
        """What `read` makes of one snapshot; it may be called again, so it must have no effect of its own."""
        with translating(self._location.path):
            if not self._location.read_only:
                if self._conn is None:
                    self._conn = self._opened.connect_writing()
                return _in_snapshot(self._conn, self._read_known(read))
            try:
                return self._run_without_trace(read)
            except sqlite3.OperationalError as error:
                # The index of the log was left half-written by a program that was killed, and must not be mended.
                if primary_code(error) == sqlite3.SQLITE_PROTOCOL:
                    raise _not_closed(self._location.path) from error
                raise

    def _read_known(self, read: Callable[[sqlite3.Connection], T]) -> Callable[[sqlite3.Connection], T]:
        """`read`, of a layout that this program knows."""

        def checked(conn: sqlite3.Connection) -> T:
            check_layout(self._location, conn)
            return read(conn)

        return checked

    def close(self) -> None:
        if self._conn is not None:
            conn, self._conn = self._conn, None
            if self._location.read_only:
                conn.close()
            else:
                self._opened.close(conn)

    def _run_without_trace(self, read: Callable[[sqlite3.Connection], T]) -> T:
        for _ in range(_READ_TRIES):
            before = self._look()
            if self._conn is None or before != self._seen:
                self.close()
                self._on_open()
                self._conn = self._connect_reading()
                self._seen = before
            try:
                result = _in_snapshot(self._conn, self._read_known(read))
            except (sqlite3.Error, EngineFailure, *DAMAGE):
                if self._look() == before:
                    raise
                continue
            if self._look() == before:
                return result
        raise Unavailable(f"the memory file `{self._location.path}` is being written all the time; try again")

    def _look(self) -> tuple[int, ...]:
        """What changes when the reading must begin anew: the log's coming or going, or, without one, the file."""
        if self._location.wal_size:
            return (1,)
        try:
            found = os.stat(self._location.path)
        except OSError:
            return ()
        return (0, found.st_ino, found.st_size, found.st_mtime_ns)

    def _connect_reading(self) -> sqlite3.Connection:
        check(self._location)
        is_live = bool(self._location.wal_size)
        if is_live and not self._location.has_log_index:
            raise _not_closed(self._location.path)
        conn = self._location.open("mode=ro&readonly_shm=1" if is_live else "immutable=1")
        try:
            conn.execute("PRAGMA temp_store = MEMORY")
            conn.execute("PRAGMA query_only = ON")
            conn.execute(f"PRAGMA cache_size = -{CACHE_KB}")
            (application,) = conn.execute("PRAGMA application_id").fetchone()
            (version,) = conn.execute("PRAGMA user_version").fetchone()
            _check_versions(self._location, application, version)
            if version < schema.VERSION:
                raise ConfigError(
                    f"`{self._location.path}` has the layout of an older version of this program; open it once for "
                    "writing to bring it up to date"
                )
        except BaseException:
            conn.close()
            raise
        return conn


def _not_closed(path: str) -> ConfigError:
    return ConfigError(
        f"`{path}` was not closed properly; open it once for writing, which completes it from the log beside it"
    )


def _in_snapshot(conn: sqlite3.Connection, read: Callable[[sqlite3.Connection], T]) -> T:
    conn.execute("BEGIN")
    try:
        return read(conn)
    finally:
        if conn.in_transaction:  # some errors end it by themselves
            conn.execute("ROLLBACK")
