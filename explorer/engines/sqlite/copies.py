"""Copies of the file beside it, made before its contents are made anew. A removal does not reach into them."""

from __future__ import annotations

import contextlib
import os
import re
import sqlite3
import stat
from collections.abc import Callable, Iterator
from contextlib import closing, contextmanager

from explorer.contract import ConfigError, TinyMemoryError
from explorer.engines.os_errors import why
from explorer.engines.sqlite.failures import translating
from explorer.engines.sqlite.location import Location
from explorer.engines.sqlite.schema import State

_PAGES_AT_ONCE = 4_096
_UNFINISHED = ".part"
_SUFFIX = re.compile(r"\.[a-z0-9]+-backup(-\d+)?(" + re.escape(_UNFINISHED) + ")?")


class Copy:
    """A whole copy, on the disk for good, under a name that says it is unfinished until it is kept."""

    def __init__(self, location: Location, label: str) -> None:
        self._name = location.beside(f".{label}-backup")
        self.path = self._name + _UNFINISHED

    def keep(self) -> str:
        """Give it its lasting name, which no other file has; that name."""
        number, name = 1, self._name
        while os.path.lexists(name):
            number += 1
            name = f"{self._name}-{number}"
        os.rename(self.path, name)
        self.path = name
        _sync(os.path.dirname(name))
        return name


@contextmanager
def copying(location: Location, label: str, on_page: Callable[[int, int], None] | None = None) -> Iterator[Copy]:
    """Copy the file, as `NAME.label-backup`, for as long as its contents are made anew; an error deletes the copy.

    The caller holds the lock for writing, so that neither the file nor another copying comes in between.
    `on_page` is told the pages copied and all pages. Raises ConfigError where no file can be made there, and
    Unavailable where the disk is full; nothing is left then.
    """
    copy = Copy(location, label)
    try:
        try:
            _write(location, copy.path, on_page)
            _sync(copy.path)
        except OSError as error:
            raise ConfigError(
                f"`{location.path}` has to be copied first, and `{copy.path}` cannot be made: {why(error)}"
            ) from error
        yield copy
    except BaseException:
        with contextlib.suppress(OSError):
            os.unlink(copy.path)
        raise


def copies_of(location: Location) -> list[str]:
    """The copies that lie beside the file, by name."""
    folder, name = os.path.split(location.beside(""))
    try:
        found = os.listdir(folder)
    except OSError:
        return []
    return sorted(
        os.path.join(folder, other)
        for other in found
        if other.startswith(name) and _SUFFIX.fullmatch(other, len(name)) is not None
    )


def holding_removed(location: Location, conn: sqlite3.Connection) -> list[str]:
    """The copies that may hold items that were removed from the file after they were made."""
    removals = State.read(conn).removals
    return [copy for copy in copies_of(location) if _removals(copy) < removals] if removals else []


def _removals(copy: str) -> int:
    """How many removals there had been when a copy was made; 0 where that is not known."""
    try:
        with closing(Location(copy).open("mode=ro&immutable=1")) as conn:
            return State.read(conn).removals
    except (sqlite3.Error, TinyMemoryError):
        return 0  # of an older layout, or damaged


def _write(location: Location, path: str, on_page: Callable[[int, int], None] | None) -> None:
    with contextlib.suppress(FileNotFoundError):
        os.unlink(path)  # of a copying that was killed: the lock says that nobody is at it now
    made = os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600)
    os.close(made)
    os.chmod(path, stat.S_IMODE(os.stat(location.path).st_mode))
    target = Location(path)
    with translating(path), closing(location.open("mode=ro")) as source, closing(target.open("mode=rw")) as copy:
        copy.execute("PRAGMA journal_mode = OFF")  # a copying that fails is begun anew
        copy.execute("PRAGMA synchronous = OFF")
        told = None if on_page is None else lambda _, left, all: on_page(all - left, all)
        source.backup(copy, pages=_PAGES_AT_ONCE, progress=told)


def _sync(path: str) -> None:
    """Bring a file, or the names in a folder, to the disk. Never the memory file: its locks would go."""
    if os.name == "nt" and os.path.isdir(path):
        return  # folders cannot be opened there
    opened = os.open(path, os.O_RDONLY if os.path.isdir(path) else os.O_RDWR)
    try:
        os.fsync(opened)
    finally:
        os.close(opened)
