"""A list of the user's own in a JSON file of the config folder: `{"version": 1, NAME: [entry, …]}`.

Several windows and the command line share it: each change reads it again under a lock, changes its own entry and
leaves the others, also those that this version does not understand, as they are.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import tempfile
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import platformdirs

from explorer.contract import ConfigError, Conflict, Unavailable
from explorer.engines.locks import sync_folder, try_lock
from explorer.engines.os_errors import why

log = logging.getLogger(__name__)

APP_NAME = "tinymemory-explorer"
VERSION = 1

_LOCK_WAIT_S = 10.0
_LOCK_TRY_S = 0.02


class EntryFile:
    """The file of one list. Entries are what JSON holds; the caller knows what they mean.

    `path` is the file; None is NAME.json in the user's config folder. `what` says what the entries are, such as
    "saved connections". `notices` tells what the user should know of what was found there, a sentence each, and empties
    only by the caller. All calls touch the disk.
    """

    def __init__(self, path: str | Path | None, *, name: str, what: str) -> None:
        if path is None:
            path = platformdirs.user_config_path(APP_NAME, appauthor=False) / f"{name}.json"
        # A link, as kept by people who version their settings, stays one: its target is what is replaced.
        self.path = Path(os.path.realpath(path))
        self.notices: list[str] = []
        self._name = name
        self._what = what

    def load(self) -> list[Any]:
        """The entries. A file that cannot be read is moved aside, and a notice says where to.

        Raises ConfigError where the file is there but may not be read or moved.
        """
        try:
            return self._read()
        except _Unreadable:
            with self._locked():
                return self._read_or_move_aside()  # again: another program may have mended it meanwhile

    def change(self, change: Callable[[list[Any]], bool]) -> bool:
        """Let `change` alter the list, alone with the file; written where it returns True. What it returned.

        Raises ConfigError where the file cannot be read, moved or written, Unavailable where another keeps it.
        """
        with self._locked():
            entries = self._read_or_move_aside()
            is_changed = change(entries)
            if is_changed:
                self._write(entries)
            return is_changed

    def put(self, name: str, written: Callable[[dict[str, Any]], dict[str, Any]], *, old: str, noun: str) -> None:
        """Put the entry of a name in the place of that of the name `old`; else append it.

        `written` makes it of the entry that was there, of {} where there was none. Raises Conflict where it is a rename
        to a name that is taken, and what `change` raises.
        """

        def change(entries: list[Any]) -> bool:
            if old != name and places_of(entries, name):
                raise Conflict(f"there is a {noun} named {name} already; choose another name")
            places = places_of(entries, old)
            if places:
                entries[places[0]] = written(entries[places[0]])
            else:
                entries.append(written({}))
            return True

        self.change(change)

    def remove(self, name: str) -> bool:
        """Take the entries of a name off the list; False where there are none. Raises what `change` raises."""

        def change(entries: list[Any]) -> bool:
            places = places_of(entries, name)
            for place in reversed(places):
                del entries[place]
            return bool(places)

        return self.change(change)

    def notice(self, notice: str) -> None:
        """Note what the user should know, once."""
        if notice not in self.notices:  # `load` is called again and again
            self.notices.append(notice)

    def _read(self) -> list[Any]:
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ConfigError(f"cannot read the {self._what} at {self.path}: {why(error)}") from error
        try:
            value = json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise _Unreadable("it is not JSON") from None
        if not isinstance(value, dict) or not isinstance(value.get(self._name), list):
            raise _Unreadable(f"it does not hold {self._name}")
        version = value.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise _Unreadable("it says no version")
        if version > VERSION:
            raise _Unreadable(f"it is of version {version}, which a newer release of this program wrote")
        entries: list[Any] = value[self._name]
        return entries

    def _read_or_move_aside(self) -> list[Any]:
        try:
            return self._read()
        except _Unreadable as fault:
            aside = self._move_aside()
            notice = f"The {self._what} could not be read: {fault}. The file was kept as {aside}."
            self.notices.append(notice)
            log.warning("%s", notice)
            return []

    def _move_aside(self) -> Path:
        number = 1
        while True:
            aside = self.path.with_name(f"{self.path.stem}.unreadable-{number}{self.path.suffix}")
            try:
                # Made empty first, and only where nothing is, so that the move overwrites this and nothing else.
                os.close(os.open(aside, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600))
            except FileExistsError:
                number += 1
                continue
            except OSError as error:
                raise ConfigError(f"cannot move {self.path}, which is unreadable, aside: {why(error)}") from error
            try:
                os.replace(self.path, aside)
            except OSError as error:
                with contextlib.suppress(OSError):
                    aside.unlink()
                raise ConfigError(f"cannot move {self.path}, which is unreadable, aside: {why(error)}") from error
            return aside

    def _write(self, entries: list[Any]) -> None:
        text = json.dumps({"version": VERSION, self._name: entries}, ensure_ascii=False, indent=2) + "\n"
        # Half of a surrogate pair, from a path that is no text, has no UTF-8 but an escape that JSON reads.
        data = text.encode("utf-8", errors="backslashreplace")
        temporary: str | None = None
        try:
            handle, temporary = tempfile.mkstemp(prefix=f".{self.path.stem}-", suffix=".tmp", dir=self.path.parent)
            with os.fdopen(handle, "wb") as file:  # mkstemp makes it 0600
                file.write(data)
                file.flush()
                os.fsync(file.fileno())
            os.replace(temporary, self.path)
            temporary = None
            sync_folder(self.path.parent)
        except OSError as error:
            raise ConfigError(f"cannot write the {self._what} to {self.path}: {why(error)}") from error
        finally:
            if temporary is not None:
                with contextlib.suppress(OSError):
                    os.unlink(temporary)

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among threads and programs that change the file; Unavailable where another keeps it too long."""
        lock = self.path.with_name(f".{self.path.name}.lock")  # its own file: the other one is replaced
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot write the {self._what} to {self.path}: {why(error)}") from error
        try:
            deadline = time.monotonic() + _LOCK_WAIT_S
            while not try_lock(handle):
                if time.monotonic() > deadline:
                    raise Unavailable(f"another program holds the {self._what} at {self.path}; try again")
                time.sleep(_LOCK_TRY_S)
            yield
        finally:
            os.close(handle)  # which also unlocks


class _Unreadable(Exception):
    """Why the file is not a list of this version; a sentence part."""


def places_of(entries: list[Any], name: str) -> list[int]:
    """Where in a list the entries of a name are."""
    return [place for place, entry in enumerate(entries) if isinstance(entry, dict) and entry.get("name") == name]
