"""Where the file is, and plain connections to it.

POSIX locks belong to the process, not to the handle: closing any handle of the file drops the locks that SQLite holds
on it. So the one handle that is not SQLite's stays open until the process has no connection to the file any more.
"""

from __future__ import annotations

import os
import sqlite3
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

from explorer.contract import ConfigError
from explorer.engines.sqlite.failures import translating

BUSY_TIMEOUT_S = 5.0

_File = tuple[int, int]  # device and inode

_lock = threading.Lock()
_connections: Counter[_File] = Counter()
_handles: dict[_File, int] = {}
_names: dict[_File, str] = {}  # under which it was opened first, links followed


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
            return os.stat(self.beside("-wal")).st_size
        except OSError:
            return None

    @property
    def has_log_index(self) -> bool:
        """Whether the index of the log, which processes share, lies beside the file."""
        return os.path.exists(self.beside("-shm"))

    def beside(self, suffix: str) -> str:
        """The path of a file that belongs to this one."""
        return os.path.realpath(self.path) + suffix  # SQLite follows links, and keeps its files with the real one

    def identity(self) -> _File | None:
        """Which file is at the path now (device, inode); None when there is none."""
        try:
            found = os.stat(self.path)
        except OSError:
            return None
        return found.st_dev, found.st_ino

    def open(self, parameters: str) -> sqlite3.Connection:
        """A connection; `parameters` are those of SQLite's URI, such as `mode=ro`.

        Raises ConfigError for a file that this process has open under another name of it: SQLite would keep a log
        beside each, and either would overwrite the other.
        """
        self._refuse_second_name()
        # Transactions are begun and ended by hand: Python's own implicit ones would not be IMMEDIATE.
        with translating(self.path):
            conn = sqlite3.connect(
                self._uri(parameters),
                uri=True,
                timeout=self.busy_timeout_s,
                isolation_level=None,
                factory=_Connection,
            )
        conn.count(self.identity(), os.path.realpath(self.path))
        return conn

    def handle(self) -> int:
        """A descriptor of the file, for reading and writing its bytes; not to be closed.

        Only for who has a connection to the file open, by `open`. Raises OSError.
        """
        with _lock:
            found = os.stat(self.path)
            file = found.st_dev, found.st_ino
            if not _connections[file]:
                raise OSError("the file is not the one that is open")
            if file not in _handles:
                _handles[file] = os.open(self.path, os.O_RDWR | getattr(os, "O_BINARY", 0))
            return _handles[file]

    def _refuse_second_name(self) -> None:
        try:
            found = os.stat(self.path)
        except OSError:
            return
        with _lock:
            first = _names.get((found.st_dev, found.st_ino))
        name = os.path.realpath(self.path)
        if first is not None and first != name and found.st_nlink > 1 and os.path.exists(first):
            raise ConfigError(f"`{name}` and `{first}` are one file under two names; open it under one of them")

    def _uri(self, parameters: str) -> str:
        uri = Path(self.path).as_uri()
        if not uri.startswith("file:///"):  # a Windows share: SQLite wants its name in the path, not as the host
            uri = uri.replace("file://", "file:////", 1)
        return f"{uri}?{parameters}"


class _Connection(sqlite3.Connection):
    """A connection that is counted as long as it is open."""

    _file: _File | None = None

    def count(self, file: _File | None, name: str) -> None:
        with _lock:
            self._file = file
            if file is not None:
                _names.setdefault(file, name)
                _connections[file] += 1

    def close(self) -> None:
        super().close()
        with _lock:
            file, self._file = self._file, None
            if file is not None:
                _connections[file] -= 1
                if not _connections[file]:
                    del _connections[file]
                    _names.pop(file, None)
                    if file in _handles:
                        os.close(_handles.pop(file))
