"""Opening the file: checked before it is touched, and connections for writing, reading, and reading without a trace.

Nothing here opens the file by anything but SQLite: closing such a handle would drop the locks that this process
holds on the file (POSIX locks belong to the process, not to the handle).
"""

from __future__ import annotations

import os
import sqlite3
import threading
import time
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import TypeVar

from explorer.contract import ConfigError, EngineFailure, NotFound, Unavailable
from explorer.engines.sqlite import schema
from explorer.engines.sqlite.failures import translated, translating

T = TypeVar("T")

BUSY_TIMEOUT_S = 5.0
_MODE_TRIES = 50
_HEADER_TRIES = 3
_PAUSE_S = 0.02
_READ_TRIES = 5


@dataclass(frozen=True, slots=True)
class Location:
    """The file, by absolute path, and whether it may be written."""

    path: str
    read_only: bool = False
    busy_timeout_s: float = BUSY_TIMEOUT_S

    @property
    def wal_size(self) -> int | None:
        """Bytes in the write-ahead log beside the file; None when there is none."""
        try:
            return os.stat(self._beside("-wal")).st_size
        except OSError:
            return None

    @property
    def has_log_index(self) -> bool:
        """Whether the index of the log, which processes share, lies beside the file."""
        return os.path.exists(self._beside("-shm"))

    def _beside(self, suffix: str) -> str:
        return os.path.realpath(self.path) + suffix  # SQLite follows links, and keeps its files with the real one

    def uri(self, parameters: str) -> str:
        uri = Path(self.path).as_uri()
        if not uri.startswith("file:///"):  # a Windows share: SQLite wants its name in the path, not as the host
            uri = uri.replace("file://", "file:////", 1)
        return f"{uri}?{parameters}"

    def identity(self) -> tuple[int, int] | None:
        """Which file is at the path now (device, inode); None when there is none."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def _open(self, parameters: str) -> sqlite3.Connection:
        # Transactions are begun and ended by hand: Python's own implicit ones would not be IMMEDIATE.
        with translating(self.path):
            return sqlite3.connect(self.uri(parameters), uri=True, timeout=self.busy_timeout_s, isolation_level=None)


def check(location: Location) -> None:
    """Refuse what is not a memory file of this program, without changing a byte of it.

    Raises NotFound (folder or file missing), ConfigError (a folder, another program's file, a newer version of ours,
    no permission), EngineFailure (damaged). Passes a missing or empty file that may be created.
    """
    path = location.path
    folder = os.path.dirname(path)
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


def _check_header(location: Location) -> None:
    for _ in range(_HEADER_TRIES):
        # Immutable: no lock, no recovery, no file made beside it, whoever the file belongs to.
        conn = location._open("immutable=1")
        try:
            (application,) = conn.execute("PRAGMA application_id").fetchone()
            (version,) = conn.execute("PRAGMA user_version").fetchone()
        except sqlite3.Error as error:
            code = getattr(error, "sqlite_errorcode", 0) & 0xFF
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
    conn = location._open("mode=rwc")
    try:
        with translating(location.path):
            # Temporary b-trees would hold stored text in a file that no erase reaches.
            conn.execute("PRAGMA temp_store = MEMORY")
            # Freed space is overwritten with zeros. FAST is not enough: it leaves traces in free pages.
            conn.execute("PRAGMA secure_delete = ON")
            # A receipt promises that the item is held, after a power loss too. NORMAL saves a third of a batch's time
            # and may lose the last commits then.
            conn.execute("PRAGMA synchronous = FULL")
            # Damage is then met as an error where it is, not as a wrong answer later.
            conn.execute("PRAGMA cell_size_check = ON")
            conn.execute("PRAGMA trusted_schema = OFF")
            _make_schema(location, conn)
            _use_wal(location, conn)
            schema.State.read(conn)
    except BaseException:
        conn.close()
        raise
    return conn


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
        schema.migrate(conn)
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
            if getattr(error, "sqlite_errorcode", 0) & 0xFF != sqlite3.SQLITE_BUSY:
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
        self._identity: tuple[int, int] | None = None
        self._lock = threading.Lock()

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
            return conn


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
                return _in_snapshot(self._conn, read)
            return self._run_without_trace(read)

    def close(self) -> None:
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _run_without_trace(self, read: Callable[[sqlite3.Connection], T]) -> T:
        for _ in range(_READ_TRIES):
            before = self._look()
            if self._conn is None or before != self._seen:
                self.close()
                self._on_open()
                self._conn = self._connect_reading()
                self._seen = before
            try:
                result = _in_snapshot(self._conn, read)
            except (sqlite3.Error, EngineFailure):
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
            raise ConfigError(
                f"`{self._location.path}` was not closed properly; open it once for writing, which completes it from "
                "the log beside it"
            )
        conn = self._location._open("mode=ro&readonly_shm=1" if is_live else "immutable=1")
        try:
            conn.execute("PRAGMA temp_store = MEMORY")
            conn.execute("PRAGMA query_only = ON")
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


def _in_snapshot(conn: sqlite3.Connection, read: Callable[[sqlite3.Connection], T]) -> T:
    conn.execute("BEGIN")
    try:
        return read(conn)
    finally:
        if conn.in_transaction:  # some errors end it by themselves
            conn.execute("ROLLBACK")
