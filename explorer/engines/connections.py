"""The connections that the user saved, in one readable file, and their keys, which are never in it.

    <config folder>/tinymemory-explorer/connections.json
    {"version": 1, "connections": [{"name": "Notes", "engine": "sqlite", "settings": {"path": "…"}, …}]}

Several windows and the command line share the file: each change reads it again under a lock, changes its own entry
and leaves the others, also those that this version does not understand, as they are.
"""

from __future__ import annotations

import contextlib
import json
import logging
import os
import re
import threading
import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

import platformdirs
from pydantic import Field, ValidationError, field_validator, model_validator

from explorer.contract import ConfigError, Conflict, InvalidRequest, Timestamp, Unavailable, is_blank
from explorer.contract.model import Model, Text, reason, trimmed
from explorer.engines.config import EngineSettings, StaticCredential
from explorer.engines.files import replace_file
from explorer.engines.locks import try_lock
from explorer.engines.os_errors import why
from explorer.engines.registry import check_endpoint, check_url

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

log = logging.getLogger(__name__)

APP_NAME = "tinymemory-explorer"
FILE_NAME = "connections.json"
KEYRING_SERVICE = APP_NAME
VERSION = 1

_LOCK_WAIT_S = 10.0
_LOCK_TRY_S = 0.02
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_SECRET_HEADER = re.compile("auth|token|key|secret|cookie|passw|credential", re.IGNORECASE)


class KeyPlace(StrEnum):
    """Where a connection's key is. The file says only this, never the key."""

    NONE = "none"
    KEYRING = "keyring"
    ENVIRONMENT = "environment"
    """In the environment variable that `key_variable` names."""
    ASK = "ask"
    """The user gives it at each connect."""


class SavedConnection(Model):
    """One engine with its settings under a name of the user's. Raises ValidationError for a blank name."""

    name: Text
    engine: Text
    settings: EngineSettings = Field(default_factory=EngineSettings)
    last_opened: Timestamp | None = None
    key_from: KeyPlace = KeyPlace.NONE
    key_variable: Text | None = None
    """The environment variable's name, with `KeyPlace.ENVIRONMENT` only."""

    @field_validator("name")
    @classmethod
    def _is_a_line(cls, name: str) -> str:
        if is_blank(name) or not name.isprintable():
            raise ValueError("a connection's name must be one line of readable characters")
        return name

    @model_validator(mode="after")
    def _names_variable(self) -> SavedConnection:
        if (self.key_from is KeyPlace.ENVIRONMENT) != (self.key_variable is not None):
            raise ValueError("key_variable goes with key_from environment, and only with it")
        if self.key_variable is not None and not _VARIABLE.fullmatch(self.key_variable):
            raise ValueError("key_variable must be the name of an environment variable, like CORTEX_KEY")
        return self


class ConnectionStore:
    """The saved connections of this user, in the order they were added.

    `path` is the file; None is the one in the user's config folder. `notices` tells what the user should know of
    what was found there, a sentence each, and empties only by the caller. All calls touch the disk.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        if path is None:
            path = platformdirs.user_config_path(APP_NAME, appauthor=False) / FILE_NAME
        # A link, as kept by people who version their settings, stays one: its target is what is replaced.
        self.path = Path(os.path.realpath(path))
        self.notices: list[str] = []

    def load(self) -> list[SavedConnection]:
        """What is saved. A file that cannot be read as connections is moved aside, and a notice says where to.

        Raises ConfigError where the file is there but may not be read or moved.
        """
        try:
            entries = self._read()
        except _Unreadable:
            with self._locked():
                entries = self._read_or_move_aside()  # again: another program may have mended it meanwhile
        return self._known(entries)

    def get(self, name: str) -> SavedConnection | None:
        """The connection of that name."""
        return next((connection for connection in self.load() if connection.name == name), None)

    def add(self, connection: SavedConnection) -> None:
        """Append a connection. Raises Conflict where its name is taken."""

        def change(entries: list[Any]) -> bool:
            if _places(entries, connection.name):
                raise Conflict(f"there is a connection named {connection.name} already; choose another name")
            entries.append(_written(connection, {}))
            return True

        self._change(connection, change)

    def save(self, connection: SavedConnection, *, replacing: str | None = None) -> None:
        """Put a connection in the place of the one of its name, or of `replacing` (a rename); else append it.

        Raises Conflict where a rename meets a name that is taken, InvalidRequest for settings that hold a key.
        """
        old = connection.name if replacing is None else replacing

        def change(entries: list[Any]) -> bool:
            if old != connection.name and _places(entries, connection.name):
                raise Conflict(f"there is a connection named {connection.name} already; choose another name")
            places = _places(entries, old)
            if places:
                entries[places[0]] = _written(connection, entries[places[0]])
            else:
                entries.append(_written(connection, {}))
            return True

        self._change(connection, change)

    def remove(self, name: str) -> bool:
        """Take a connection off the list; False where it was not on it. Its key is the key store's to delete."""

        def change(entries: list[Any]) -> bool:
            places = _places(entries, name)
            for place in reversed(places):
                del entries[place]
            return bool(places)

        return self._change(None, change)

    def touch(self, name: str) -> bool:
        """Note that a connection was opened just now; False where it is not on the list any more."""

        def change(entries: list[Any]) -> bool:
            places = _places(entries, name)
            for place in places[:1]:
                entries[place]["last_opened"] = Timestamp.now_utc().text
            return bool(places)

        return self._change(None, change)

    def _change(self, connection: SavedConnection | None, change: Callable[[list[Any]], bool]) -> bool:
        if connection is not None:
            _refuse_secrets(connection)
        with self._locked():
            entries = self._read_or_move_aside()
            is_changed = change(entries)
            if is_changed:
                self._write(entries)
            return is_changed

    def _read(self) -> list[Any]:
        try:
            raw = self.path.read_bytes()
        except FileNotFoundError:
            return []
        except OSError as error:
            raise ConfigError(f"cannot read the saved connections at {self.path}: {why(error)}") from error
        try:
            value = json.loads(raw.decode("utf-8-sig"))
        except (ValueError, RecursionError):
            raise _Unreadable("it is not JSON") from None
        if not isinstance(value, dict) or not isinstance(value.get("connections"), list):
            raise _Unreadable("it does not hold connections")
        version = value.get("version")
        if not isinstance(version, int) or isinstance(version, bool) or version < 1:
            raise _Unreadable("it says no version")
        if version > VERSION:
            raise _Unreadable(f"it is of version {version}, which a newer release of this program wrote")
        entries: list[Any] = value["connections"]
        return entries

    def _read_or_move_aside(self) -> list[Any]:
        try:
            return self._read()
        except _Unreadable as fault:
            aside = self._move_aside()
            notice = f"The saved connections could not be read: {fault}. The file was kept as {aside}."
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

    def _known(self, entries: list[Any]) -> list[SavedConnection]:
        connections: dict[str, SavedConnection] = {}
        for number, entry in enumerate(entries, 1):
            try:
                connection = SavedConnection.model_validate(entry)
            except ValidationError as error:
                self._notice(f"Saved connection {number} in {self.path} is left out: {reason(error)}.")
                continue
            if connection.name in connections:
                self._notice(f"Saved connection {number} in {self.path} is left out: its name is there twice.")
                continue
            connections[connection.name] = connection
        return list(connections.values())

    def _notice(self, notice: str) -> None:
        if notice not in self.notices:  # `load` is called again and again
            self.notices.append(notice)

    def _write(self, entries: list[Any]) -> None:
        text = json.dumps({"version": VERSION, "connections": entries}, ensure_ascii=False, indent=2) + "\n"
        # Half of a surrogate pair, from a path that is no text, has no UTF-8 but an escape that JSON reads.
        data = text.encode("utf-8", errors="backslashreplace")
        try:
            replace_file(self.path, data)
        except OSError as error:
            raise ConfigError(f"cannot write the saved connections to {self.path}: {why(error)}") from error

    @contextlib.contextmanager
    def _locked(self) -> Iterator[None]:
        """Alone among threads and programs that change the file; Unavailable where another keeps it too long."""
        lock = self.path.with_name(f".{self.path.name}.lock")  # its own file: the other one is replaced
        try:
            self.path.parent.mkdir(mode=0o700, parents=True, exist_ok=True)
            handle = os.open(lock, os.O_RDWR | os.O_CREAT, 0o600)
        except OSError as error:
            raise ConfigError(f"cannot write the saved connections to {self.path}: {why(error)}") from error
        try:
            deadline = time.monotonic() + _LOCK_WAIT_S
            while not try_lock(handle):
                if time.monotonic() > deadline:
                    raise Unavailable(f"another program holds the saved connections at {self.path}; try again")
                time.sleep(_LOCK_TRY_S)
            yield
        finally:
            os.close(handle)  # which also unlocks


class _Unreadable(Exception):
    """Why the file is not connections of this version; a sentence part."""


def _places(entries: list[Any], name: str) -> list[int]:
    return [place for place, entry in enumerate(entries) if isinstance(entry, dict) and entry.get("name") == name]


def _written(connection: SavedConnection, old: dict[str, Any]) -> dict[str, Any]:
    """The entry as it goes to the file: all that this version knows is new, and what it does not know stays."""
    new = connection.model_dump(mode="json")
    old_settings = old.get("settings")
    unknown = {key: value for key, value in old.items() if key not in SavedConnection.model_fields}
    if isinstance(old_settings, dict) and old.get("engine") == connection.engine:
        kept = {key: value for key, value in old_settings.items() if key not in EngineSettings.model_fields}
        new["settings"] = {**new["settings"], **kept}
    return {**new, **unknown}


def _refuse_secrets(connection: SavedConnection) -> None:
    """Raise InvalidRequest or ConfigError where a setting would carry a key into the file."""
    settings = connection.settings
    for name in settings.headers or {}:
        if _SECRET_HEADER.search(name):
            raise InvalidRequest(
                f"the header `{name}` may hold a key, which is not saved; give the key when you connect"
            )
    endpoint = settings.endpoint_or(None)
    if endpoint is not None:
        check_endpoint(connection.engine, endpoint)
    if embedding_endpoint := trimmed(settings.embedding_endpoint or ""):
        check_url("the embedding endpoint", embedding_endpoint)


class KeyStore:
    """Keys by connection name, in the system's keyring.

    Where there is none that keeps secrets, `is_available` is False: then a key comes from an environment variable or
    from the user. Every call may wait for the system, or for the user to unlock it: use `asyncio.to_thread`.
    """

    def __init__(self, service: str = KEYRING_SERVICE) -> None:
        self._service = service

    @property
    def is_available(self) -> bool:
        """Whether this system has a keyring that keeps secrets. Loads it, which takes a moment the first time."""
        return _backend() is not None

    def get(self, name: str) -> StaticCredential | None:
        """The key kept for a connection, None where there is none. Raises ConfigError where the keyring fails."""
        backend = self._backend()
        key = self._asked("give", lambda: backend.get_password(self._service, name))
        return None if key is None or is_blank(key) else StaticCredential(key)

    def set(self, name: str, credential: StaticCredential) -> None:
        """Keep a key, in place of an earlier one. Raises ConfigError where the keyring is missing or fails."""
        if credential.is_blank:
            raise InvalidRequest("the key is blank; enter the key, or delete the saved one")
        backend = self._backend()
        self._asked("keep", lambda: backend.set_password(self._service, name, credential.reveal()))

    def delete(self, name: str) -> bool:
        """Delete a connection's key; False where none was kept. Raises ConfigError where the keyring fails."""
        if not self.is_available:
            return False
        backend = self._backend()
        if self._asked("give", lambda: backend.get_password(self._service, name)) is None:
            return False
        self._asked("delete", lambda: backend.delete_password(self._service, name))
        return True

    def rename(self, old: str, new: str) -> None:
        """Keep under `new` what was kept under `old`. Raises ConfigError where the keyring fails."""
        if old == new or not self.is_available or (credential := self.get(old)) is None:
            return
        self.set(new, credential)
        self.delete(old)

    def _backend(self) -> KeyringBackend:
        backend = _backend()
        if backend is None:
            raise ConfigError(
                "this system has no keyring to keep keys in; put the key in an environment variable, "
                "or choose to be asked for it"
            )
        return backend

    def _asked(self, what: Literal["give", "keep", "delete"], call: Callable[[], str | None]) -> str | None:
        failure = ""
        try:
            return call()
        except Exception as error:  # backends raise what their system raises
            failure = type(error).__name__
        # Outside the handler, and without the error's text: either may carry the key.
        raise ConfigError(
            f"the system's keyring did not {what} the key ({failure}); unlock it, put the key in an "
            "environment variable, or choose to be asked for it"
        )


_backend_lock = threading.Lock()


def _backend() -> KeyringBackend | None:
    """The keyring to use; None where the system has none, or only one that keeps nothing or keeps it in the open."""
    with _backend_lock:  # its import and its first search are not meant for two threads
        try:
            import keyring  # slow: it looks through every installed package
            from keyring.backends.chainer import ChainerBackend

            backend = keyring.get_keyring()
            choices = list(backend.backends) if isinstance(backend, ChainerBackend) else [backend]
        except Exception as error:
            log.warning("the system's keyring cannot be used (%s)", type(error).__name__)
            return None
    return next(filter(_keeps_secrets, choices), None)


def _keeps_secrets(backend: KeyringBackend) -> bool:
    from keyring.backends import fail, null

    if isinstance(backend, (fail.Keyring, null.Keyring)):
        return False
    return not any("plaintext" in kind.__name__.lower() for kind in type(backend).__mro__)


@dataclass(frozen=True, slots=True)
class FoundCredential:
    """The credential of a connection, or the reason why the user has to be asked; neither where none is needed."""

    credential: StaticCredential | None = None
    ask_because: str | None = None


def find_credential(connection: SavedConnection, keys: KeyStore) -> FoundCredential:
    """Look for the connection's key where its entry says it is. Never raises for a key that is not there; may wait."""
    match connection.key_from:
        case KeyPlace.NONE:
            return FoundCredential()
        case KeyPlace.ASK:
            return FoundCredential(ask_because=f"the key of {connection.name} is not kept; enter it")
        case KeyPlace.ENVIRONMENT:
            variable = connection.key_variable or ""
            key = os.environ.get(variable, "")
            if is_blank(key):
                return FoundCredential(ask_because=f"the environment variable {variable} is not set; enter the key")
            return FoundCredential(StaticCredential(key))
        case KeyPlace.KEYRING:
            try:
                found = keys.get(connection.name)
            except ConfigError as error:
                return FoundCredential(ask_because=error.text)
            if found is None:
                return FoundCredential(ask_because=f"the keyring holds no key for {connection.name}; enter it")
            return FoundCredential(found)
