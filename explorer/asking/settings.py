"""Whether an endpoint writes answers, and which: a readable file of the user's, and the key, which is never in it.

<config folder>/tinymemory-explorer/answers.json
{"version": 1, "answers": [{"is_on": true, "endpoint": "http://localhost:11434/v1", "model": "…", …}]}
"""

from __future__ import annotations

import logging
from pathlib import Path
from typing import Any

from pydantic import ValidationError, model_validator

from explorer.asking.endpoint import EndpointWriter
from explorer.contract import ConfigError, InvalidRequest, TinyMemoryError, is_blank
from explorer.contract.model import Flag, Model, Text, reason, trimmed
from explorer.engines import (
    KeyPlace,
    KeyStore,
    SavedConnection,
    StaticCredential,
    find_credential,
)
from explorer.engines.entry_file import APP_NAME, EntryFile
from explorer.engines.json_endpoint import place_of

log = logging.getLogger(__name__)

_NAME = "answers"
FILE_NAME = f"{_NAME}.json"
KEYRING_SERVICE = f"{APP_NAME} answers"


class WriterSettings(Model):
    """Where answers are written. Off unless somebody turned it on."""

    is_on: Flag = False
    endpoint: Text = ""
    """Base URL of an OpenAI-compatible chat API, such as http://localhost:11434/v1."""
    model: Text = ""
    key_from: KeyPlace = KeyPlace.NONE
    """`ASK` is not among them: a question is not held up by another."""
    key_variable: Text | None = None
    """The environment variable's name, with `KeyPlace.ENVIRONMENT` only."""

    @model_validator(mode="after")
    def _is_known(self) -> WriterSettings:
        if self.key_from is KeyPlace.ASK:
            raise ValueError("the key of the answering endpoint is kept in the keyring or an environment variable")
        SavedConnection(name="x", engine="x", key_from=self.key_from, key_variable=self.key_variable)
        return self


class WriterStore:
    """The user's settings of answers, one entry. All calls touch the disk and may wait for a keyring: use a thread."""

    def __init__(self, path: str | Path | None = None) -> None:
        self._file = EntryFile(path, name=_NAME, what="settings of answers")
        self.path = self._file.path
        self.notices = self._file.notices
        self._keys = KeyStore(KEYRING_SERVICE)

    def load(self) -> WriterSettings:
        """What is saved; off where nothing is, and where it cannot be read or does not fit, which is logged."""
        try:
            entries = self._file.load()
            return WriterSettings.model_validate(entries[0]) if entries else WriterSettings()
        except TinyMemoryError as error:
            log.warning("%s: no endpoint writes answers", error.text)
        except ValidationError as error:
            log.warning("the settings of answers at %s do not fit (%s): no endpoint writes", self.path, reason(error))
        return WriterSettings()

    def save(self, settings: WriterSettings, key: StaticCredential | None = None) -> None:
        """Keep the settings; with a key, that too, in the keyring, in place of an earlier one of this address.

        Raises ConfigError for settings that are on and could not answer, for what is no address or holds a secret, and
        where the file or the keyring fails; InvalidRequest for a key that the settings do not put in the keyring.
        """
        if key is not None and settings.key_from is not KeyPlace.KEYRING:
            raise InvalidRequest("a key is kept in the keyring only; choose the keyring, or leave the key out")
        if settings.is_on or not is_blank(settings.endpoint):
            # Made to be checked; with a key of no meaning, since one may not travel unencrypted.
            needs_key = settings.key_from is not KeyPlace.NONE
            model = settings.model if settings.is_on else "any"  # that it has none yet is no reason to keep it on
            EndpointWriter(settings.endpoint, model, StaticCredential("key") if needs_key else None)
        if key is not None:
            self._keys.set(_key_name(settings), key)

        def change(entries: list[Any]) -> bool:
            entries[:] = [settings.model_dump(mode="json")]
            return True

        self._file.change(change)

    @property
    def has_keyring(self) -> bool:
        """Whether this system has a keyring that keeps secrets."""
        return self._keys.is_available

    def has_key(self, settings: WriterSettings) -> bool:
        """Whether the keyring holds a key for this address. Raises ConfigError where it fails."""
        return self._keys.is_available and self._keys.get(_key_name(settings)) is not None

    def delete_key(self, settings: WriterSettings) -> bool:
        """Delete the key kept for this address; False where there was none. Raises ConfigError where that fails."""
        return self._keys.delete(_key_name(settings))

    def writer(self) -> EndpointWriter | None:
        """What writes answers; None where it is off. Raises ConfigError where it is on and cannot, as without its key.

        Makes no connection.
        """
        settings = self.load()
        if not settings.is_on:
            return None
        EndpointWriter(settings.endpoint, settings.model)  # a file may have been changed by hand
        return EndpointWriter(settings.endpoint, settings.model, self.credential(settings))

    def credential(self, settings: WriterSettings) -> StaticCredential | None:
        """The key that goes to this address; None where it needs none. Raises ConfigError where it is not there."""
        name = _key_name(settings)
        saved = SavedConnection(
            name=name, engine="chat", key_from=settings.key_from, key_variable=settings.key_variable
        )
        found = find_credential(saved, self._keys)
        if found.ask_because is not None:
            raise ConfigError(f"the answering endpoint has no key: {found.ask_because}")
        return found.credential


def _key_name(settings: WriterSettings) -> str:
    """What the key is kept under: its address, so that no other ever gets it."""
    try:
        return place_of(trimmed(settings.endpoint))
    except ValueError:  # not an address
        raise ConfigError("the answering endpoint must be a URL like http://localhost:11434/v1") from None
