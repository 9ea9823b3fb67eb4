"""HTTP to one CortexDB: one pool of connections, the key and the actor of each request, what is tried again, and what
each failure means.

The key goes into the header of requests to that endpoint and nowhere else. Redirects are not followed.

Source: cortex, "HTTP".
"""

from __future__ import annotations

import random
import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import Enum
from typing import TYPE_CHECKING, Any

from explorer.contract import (
    EngineFailure,
    TinyMemoryError,
    Unavailable,
)
from explorer.engines.config import EngineCredential

if TYPE_CHECKING:
    pass

MAX_ANSWER_BYTES = 64 * 2**20
_MAX_ERROR_BYTES = 64 * 2**10
_MAX_SAID = 300  # characters of the server's own words
_MAX_CODE = 64
_CONNECTIONS = 16  # several questions, each over a few scopes at a time

_DASH = " — "
"""Between what this program says of a failure and what the server said."""
_CODE = re.compile(rf"\[([A-Z0-9_]{{1,{_MAX_CODE}}})\] ")
_CODE_REST = re.compile(r"[^A-Za-z0-9_]+")
_SECONDS = re.compile(r"\d{1,9}(\.\d{1,9})?")
_STATE_CHANGED = "AUTHORIZATION_STATE_CHANGED"
_INSUFFICIENT_CREDITS = "USER_INSUFFICIENT_CREDITS"


@dataclass(frozen=True, slots=True)
class Timing:
    """How long things are waited for, in seconds."""

    connect_s: float = 10.0
    request_s: float = 60.0
    """For one attempt, from its first byte to the last of the answer."""
    retry_s: float = 0.25
    """Before the second attempt; twice as long before each one after it."""
    pause_s: float = 10.0
    """At most, where the server asks to wait."""
    poll_s: float = 0.25
    most_poll_s: float = 2.0
    """Up to which the gaps between polls double, where they do."""
    listed_s: float = 30.0
    """Until what was written must be listed."""
    ranked_s: float = 10.0
    """Until what was written should be found."""
    erasure_s: float = 300.0
    """Until an erasure must be done."""

    def gap(self, attempt: int) -> float:
        """The wait after that attempt, from 1; a little longer at random, so that many do not come at once."""
        return self.retry_s * 2 ** (attempt - 1) * random.uniform(1.0, 1.2)

    def polls(self, *, doubling: bool) -> Iterator[float]:
        """The gaps between polls, without end."""
        gap = self.poll_s
        while True:
            yield gap
            gap = min(gap * 2, self.most_poll_s) if doubling else gap


class Tries(Enum):
    """How often a request may be sent."""

    ONCE = 1
    READ = 3
    """On Unavailable: repeating it changes nothing."""

    def most(self, error: Unavailable) -> int:
        if self is Tries.READ and error_code(error) == _STATE_CHANGED:
            return 6
        return self.value


def error_code(error: TinyMemoryError) -> str | None:
    """The code that the server gave a failure; None for what was refused here, and for most of the Direct wire's."""
    match = _CODE.match(error.text)
    return match[1] if match else None


def is_insufficient_credits(error: TinyMemoryError) -> bool:
    """Whether the account behind the hosted wire has no credits left."""
    return isinstance(error, EngineFailure) and error_code(error) == _INSUFFICIENT_CREDITS


def without_words(error: TinyMemoryError) -> str:
    """The error's text with the server's own words withheld."""
    head, dash, _ = error.text.partition(_DASH)
    return f"{head}{dash}(the server's words are withheld)" if dash else head


class Transport:
    """Requests to one endpoint."""

    def __init__(
        self,
        endpoint: str,
        credential: EngineCredential,
        *,
        label: str,
        hosted: bool,
        headers: Mapping[str, str] | None = None,
        timing: Timing | None = None,
    ) -> None:
        raise NotImplementedError

    @property
    def paused_until(self) -> float | None:
        """Until when the server asked to wait, as `time.monotonic()`; None where it does not, or no longer."""
        raise NotImplementedError

    async def ask(
        self,
        method: str,
        route: str,
        *,
        params: Sequence[tuple[str, str]] = (),
        body: Any = None,
        tries: Tries = Tries.ONCE,
        headers: Mapping[str, str] | None = None,
        is_wrapped: bool = True,
    ) -> Any:
        """The decoded JSON of the answer, without the hosted envelope; None for an empty one of the Direct wire."""
        raise NotImplementedError

    async def sleep(self, seconds: float) -> None:
        """Wait, but not beyond `aclose`, after which this raises Unavailable."""
        raise NotImplementedError

    async def aclose(self) -> None:
        """End what is under way, which then raises Unavailable, and let go of connections. May be called twice."""
        raise NotImplementedError
