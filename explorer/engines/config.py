"""Which engine to open and how: settings, the config file that holds them, and the credential that never is in one.

Source: memory-v2, "Registry and config"; cortex, "MemoryConfig" (the names) and "build_engine".
"""

from __future__ import annotations

import os
import tomllib
from pathlib import Path
from typing import TYPE_CHECKING, Annotated, Any, NoReturn, Protocol, Self, TypeAlias, final

from pydantic import BeforeValidator, Field, ValidationError

from explorer.contract import ConfigError, Unauthorized, is_blank, wire
from explorer.contract.model import Flag, Model, Text, reason, trimmed
from explorer.engines.os_errors import lowered, why

if TYPE_CHECKING:
    from explorer.contract import MemoryEngine

DEFAULT_ENGINE = "sqlite"
"""Upstream's default is its hosted engine; this program begins offline."""


def _to_text(value: object) -> object:
    return os.fspath(value) if isinstance(value, os.PathLike) else value


FilePath = Annotated[Text, BeforeValidator(_to_text)]


class EngineSettings(Model):
    """What an engine is opened with. All optional; a key that this version does not know is ignored."""

    endpoint: Text | None = Field(default=None, repr=False)  # one that was written by hand may hold a password
    """Base URL; unset or blank is the engine's default."""
    headers: dict[Text, Text] | None = Field(default=None, repr=False)  # a value may be a secret of some proxy
    """Sent with every request."""
    consolidation: Text | None = None
    scope_root: Text | None = None
    scope_owner: Text | None = None
    tenant_root: Flag | None = None
    retired_scope_root: Text | None = None
    observed_actor: Flag | None = None
    path: FilePath | None = None
    """The file of the embedded engine, or the folder of a v1 workspace. This program's own; takes a Path too."""
    read_only: Flag | None = None
    """Whether nothing may be written, not even a missing file; `build_engine` sees to it for any engine. This program's
    own."""
    account: Text | None = None
    """What the memory of an endpoint is told from others there by: the name that its connection had first; unset while
    it has that name. This program's own."""
    profile: Text | None = None
    """Named weights of ranked reads; unset is the engine's own. The engine checks it. This program's own."""
    embedding_endpoint: Text | None = Field(default=None, repr=False)  # as `endpoint`
    """Base URL of an OpenAI-compatible embeddings API, such as http://localhost:11434/v1; unset or blank is the model
    on this computer. The credential is for it. This program's own."""
    embedding_model: Text | None = None
    """The model to ask that endpoint for; "none" is no search by meaning at all. This program's own."""

    listing_cache: Flag | None = None
    """Whether what was listed of a memory elsewhere is kept on this computer, for the next time it is opened; unset is
    yes. This program's own."""

    def endpoint_or(self, default: str | None) -> str | None:
        """The endpoint, trimmed; `default` where it is unset or blank."""
        own = trimmed(self.endpoint or "")
        return own or (trimmed(default or "") or None)


def file_settings(path: Path | str | None, *, read_only: bool | None = None) -> EngineSettings:
    """What opens a file. Raises ConfigError where its name is no Unicode text, which no setting can hold."""
    try:
        return EngineSettings(path=path, read_only=read_only)  # type: ignore[arg-type]
    except ValidationError:
        raise ConfigError("the path of the database is not Unicode text; rename the file") from None


class MemoryConfig(Model):
    """One engine by its id, and the settings of any."""

    engine: Text = DEFAULT_ENGINE
    engines: dict[Text, EngineSettings] = Field(default_factory=dict)

    @property
    def settings(self) -> EngineSettings:
        """The chosen engine's settings; all unset where the file has none for it."""
        return self.engines.get(self.engine, EngineSettings())

    def build(self, credential: EngineCredential = None) -> MemoryEngine:
        """The chosen engine, opened. Raises ConfigError as `build_engine` does."""
        from explorer.engines.registry import build_engine  # which itself needs this module

        return build_engine(self.engine, self.settings, credential)

    @classmethod
    def from_toml(cls, text: str) -> Self:
        """Raises ConfigError for text that is not TOML, names no engine, or holds a setting of the wrong type."""
        try:
            value = tomllib.loads(text)
        except tomllib.TOMLDecodeError as error:
            raise ConfigError(f"the config is not TOML: {lowered(str(error))}") from None
        return cls._read(value)

    @classmethod
    def from_json(cls, text: str | bytes) -> Self:
        """Raises ConfigError for text that is not JSON, names no engine, or holds a setting of the wrong type."""
        try:
            value = wire.loads(text)
        except wire.WireError as error:
            raise ConfigError(f"the config is {error}") from None
        return cls._read(value)

    @classmethod
    def load(cls, path: str | Path) -> Self:
        """Read a file: JSON where its name ends in `.json`, else TOML. Raises ConfigError, which names the file."""
        path = Path(path)
        try:
            raw = path.read_bytes()
        except ValueError as error:
            raise ConfigError(f"cannot read {path}: its name holds a NUL character") from error
        except OSError as error:
            raise ConfigError(f"cannot read {path}: {why(error)}") from error
        try:
            text = raw.decode("utf-8-sig")
        except UnicodeDecodeError:
            raise ConfigError(f"{path} is not UTF-8 text") from None
        try:
            return cls.from_json(text) if path.suffix.lower() == ".json" else cls.from_toml(text)
        except ConfigError as error:
            raise ConfigError(f"{path}: {error.text}") from None

    @classmethod
    def _read(cls, value: Any) -> Self:
        if not isinstance(value, dict):
            raise ConfigError("the config must be a table with the key `engine`")
        if "engine" not in value:
            raise ConfigError('the config names no engine; add a line like engine = "sqlite"')
        try:
            return cls.model_validate(value)
        except ValidationError as error:
            # `from None`: pydantic's own text quotes the value, which may be a key put in the wrong place.
            raise ConfigError(f"the config does not fit: {reason(error)}") from None


class BearerSource(Protocol):
    """Where a key that changes comes from, such as a signed-in session; asked before every attempt."""

    async def bearer(self) -> str: ...


class _Hidden:
    """A holder of a secret, of which no print, dump or copy shows anything."""

    __slots__ = ()

    def __repr__(self) -> str:
        return f"{type(self).__name__}(hidden)"

    __str__ = __repr__

    def __format__(self, spec: str) -> str:
        return format(repr(self), spec)

    def __copy__(self) -> Self:
        return self

    def __deepcopy__(self, memo: object) -> Self:
        return self

    def __reduce_ex__(self, protocol: object) -> NoReturn:
        raise TypeError("a credential is not written down: open the engine again with a new one")

    def __getstate__(self) -> NoReturn:
        raise TypeError("a credential is not written down: open the engine again with a new one")


@final
class StaticCredential(_Hidden):
    """A key that stays the same. Equal to another of the same key; `reveal()` is the one way to read it."""

    __slots__ = ("_key",)

    def __init__(self, key: str) -> None:
        self._key = key

    @property
    def is_blank(self) -> bool:
        return is_blank(self._key)

    def reveal(self) -> str:
        """The key without white space around it, for the header of a request and nothing else."""
        return trimmed(self._key)

    async def bearer(self) -> str:
        return self.reveal()

    def __eq__(self, other: object) -> bool:
        return isinstance(other, StaticCredential) and self._key == other._key

    def __hash__(self) -> int:
        return hash((StaticCredential, self._key))


@final
class DynamicCredential(_Hidden):
    """A key that is asked of its source each time."""

    __slots__ = ("_source",)

    def __init__(self, source: BearerSource) -> None:
        self._source = source

    async def bearer(self) -> str:
        """The key of this moment. Raises Unauthorized where the source gives none or fails."""
        why = "gave no key"
        try:
            key: object = await self._source.bearer()
        except Exception as error:
            # Its text is the source's own and may hold the key: only the kind of the failure is passed on.
            why = f"failed ({type(error).__name__})"
        else:
            if isinstance(key, str) and not is_blank(key):
                return trimmed(key)
        raise Unauthorized(f"the source of the key {why}; sign in again")


EngineCredential: TypeAlias = StaticCredential | DynamicCredential | None
"""What opens an engine that needs a key; None is no credential."""
