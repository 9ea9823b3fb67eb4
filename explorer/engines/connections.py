"""The connections that the user saved, in one readable file, and their keys, which are never in it.

    <config folder>/tinymemory-explorer/connections.json
    {"version": 1, "connections": [{"name": "Notes", "engine": "sqlite", "settings": {"path": "…"}, …}]}

How the file is shared and kept whole: `EntryFile`.
"""

from __future__ import annotations

import logging
import os
import re
import threading
import uuid
from collections.abc import Callable
from dataclasses import dataclass
from enum import StrEnum
from functools import partial
from pathlib import Path
from typing import TYPE_CHECKING, Any, Literal

from pydantic import Field, ValidationError, field_validator, model_validator

from explorer.contract import ConfigError, Conflict, InvalidRequest, Timestamp, is_blank
from explorer.contract.model import Model, Text, reason, trimmed
from explorer.engines.config import EngineSettings, StaticCredential
from explorer.engines.entry_file import APP_NAME, EntryFile, places_of
from explorer.engines.registry import check_endpoint, check_url

if TYPE_CHECKING:
    from keyring.backend import KeyringBackend

log = logging.getLogger(__name__)

KEYRING_SERVICE = APP_NAME

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

    @property
    def engine_settings(self) -> EngineSettings:
        """The settings to open it with: of an endpoint they say whose memory there it is."""
        settings = self.settings
        if settings.path is not None or settings.account is not None:
            return settings
        return settings.model_copy(update={"account": self.name})


class ConnectionStore:
    """The saved connections of this user, in the order they were added.

    `path` is the file; None is the one in the user's config folder. `notices` tells what the user should know of
    what was found there, a sentence each, and empties only by the caller. All calls touch the disk.
    """

    def __init__(self, path: str | Path | None = None) -> None:
        self._file = EntryFile(path, name="connections", what="saved connections")

    @property
    def path(self) -> Path:
        return self._file.path

    @property
    def notices(self) -> list[str]:
        return self._file.notices

    def load(self) -> list[SavedConnection]:
        """What is saved. A file that cannot be read as connections is moved aside, and a notice says where to.

        Raises ConfigError where the file is there but may not be read or moved.
        """
        return self._known(self._file.load())

    def get(self, name: str) -> SavedConnection | None:
        """The connection of that name."""
        return next((connection for connection in self.load() if connection.name == name), None)

    def add(self, connection: SavedConnection) -> None:
        """Append a connection. Raises Conflict where its name is taken."""

        def change(entries: list[Any]) -> bool:
            if places_of(entries, connection.name):
                raise Conflict(f"there is a connection named {connection.name} already; choose another name")
            entry = _written(connection, {})
            if any(_account(other) == connection.name for other in entries):  # what was renamed keeps it
                entry["settings"]["account"] = f"{connection.name} {uuid.uuid4()}"
            entries.append(entry)
            return True

        _refuse_secrets(connection)
        self._file.change(change)

    def save(self, connection: SavedConnection, *, replacing: str | None = None) -> None:
        """Put a connection in the place of the one of its name, or of `replacing` (a rename); else append it.

        Raises Conflict where a rename meets a name that is taken, InvalidRequest for settings that hold a key.
        """
        _refuse_secrets(connection)
        old = connection.name if replacing is None else replacing
        self._file.put(connection.name, partial(_written, connection), old=old, noun="connection")

    def remove(self, name: str) -> bool:
        """Take a connection off the list; False where it was not on it. Its key is the key store's to delete."""
        return self._file.remove(name)

    def touch(self, name: str) -> bool:
        """Note that a connection was opened just now; False where it is not on the list any more."""

        def change(entries: list[Any]) -> bool:
            places = places_of(entries, name)
            for place in places[:1]:
                entries[place]["last_opened"] = Timestamp.now_utc().text
            return bool(places)

        return self._file.change(change)

    def _known(self, entries: list[Any]) -> list[SavedConnection]:
        connections: dict[str, SavedConnection] = {}
        for number, entry in enumerate(entries, 1):
            try:
                connection = SavedConnection.model_validate(entry)
            except ValidationError as error:
                self._file.notice(f"Saved connection {number} in {self.path} is left out: {reason(error)}.")
                continue
            if connection.name in connections:
                self._file.notice(f"Saved connection {number} in {self.path} is left out: its name is there twice.")
                continue
            connections[connection.name] = connection
        return list(connections.values())


def _account(entry: Any) -> Any:
    settings = entry.get("settings") if isinstance(entry, dict) else None
    return settings.get("account") if isinstance(settings, dict) else None


def _written(connection: SavedConnection, old: dict[str, Any]) -> dict[str, Any]:
    """The entry as it goes to the file: all that this version knows is new, and what it does not know stays."""
    new = connection.model_dump(mode="json")
    old_settings = old.get("settings")
    unknown = {key: value for key, value in old.items() if key not in SavedConnection.model_fields}
    if isinstance(old_settings, dict) and old.get("engine") == connection.engine:
        kept = {key: value for key, value in old_settings.items() if key not in EngineSettings.model_fields}
        new["settings"] = {**new["settings"], **kept}
        if connection.settings.path is None and "name" in old and connection.settings.account is None:
            before = old_settings.get("account") or (old["name"] if old["name"] != connection.name else None)
            new["settings"]["account"] = before if isinstance(before, str) else None
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
