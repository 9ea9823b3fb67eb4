"""The one family of errors that every engine and service raises.

Source: memory-v2, "Errors". Texts start in lower case, have no final punctuation and never hold a credential.
What is built on the contract may add kinds of its own below `TinyMemoryError`, for failures that are no engine's.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar, Literal

Fault = Literal["", "timeout", "dns", "tls", "certificate", "connect", "cut", "alien"]
"""Where an exchange with a server broke off; "certificate" is one that is not trusted, "alien" an
answer of something else than the server's API."""


@dataclass(frozen=True, slots=True)
class Refusal:
    """How a server elsewhere told so, or why it could not, for who words it. Not in memory-v2."""

    status: int | None = None
    """Of its HTTP answer; None where there was none."""
    fault: Fault = ""
    said: str = ""
    """In the server's own words, as far as the error's text has them and they are made for a person."""
    capability: str = ""
    """What the key would have to be allowed, where the server names it."""


class TinyMemoryError(Exception):
    """Base of the eight kinds; `text` is the message without the kind's label, `str()` adds it.

    Two errors are equal when their kind and text are.
    """

    label: ClassVar[str] = "error"
    transient: ClassVar[bool] = False
    """Whether the same call may succeed later without a change."""
    refusal: Refusal | None = None
    """How a server told so; None where none was asked, or where it is not known. Set by who raises it."""
    may_be_done: bool = False
    """Whether some of what was asked was done, or may yet be, all the same. Set by who raises it. Not in memory-v2."""

    def __init__(self, text: str) -> None:
        super().__init__(text)
        self.text = text

    def __str__(self) -> str:
        return f"{self.label}: {self.text}"

    def __eq__(self, other: object) -> bool:
        return isinstance(other, TinyMemoryError) and type(self) is type(other) and self.text == other.text

    def __hash__(self) -> int:
        return hash((type(self), self.text))


class Unsupported(TinyMemoryError):
    """The engine does not offer this call or mode."""

    label = "unsupported"


class InvalidRequest(TinyMemoryError):
    """The request or item breaks a rule of the contract; nothing was read or written."""

    label = "invalid request"


class Unauthorized(TinyMemoryError):
    """The credential was refused."""

    label = "unauthorized"


class NotFound(TinyMemoryError):
    """What the request names is not there (an unknown item id is not an error)."""

    label = "not found"


class Conflict(TinyMemoryError):
    """Another writer got there first, or the request contradicts what is stored."""

    label = "conflict"


class Unavailable(TinyMemoryError):
    """No answer now; the same call may succeed later: after `retry_after_s` seconds, where the engine said so."""

    label = "unavailable"
    transient = True

    def __init__(self, text: str, *, retry_after_s: float | None = None) -> None:
        super().__init__(text)
        self.retry_after_s = retry_after_s


class EngineFailure(TinyMemoryError):
    """The engine's own failure, already free of credentials."""

    label = "engine error"


class ConfigError(TinyMemoryError):
    """A saved connection or setting that cannot be used as it is."""

    label = "configuration error"
