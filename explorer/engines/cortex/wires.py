"""What CortexDB is asked, the same for its own API (Direct) and behind the TinyHumans backend (hosted).

Source: cortex, "HTTP".
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TypeVar

from explorer.engines.config import EngineCredential
from explorer.engines.cortex.envelope import Event
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.transport import Timing, Transport

T = TypeVar("T")

MAX_LABELS = 50
"""In one request."""
MAX_FORGOTTEN = 100
"""Events in one request."""
MAX_SCOPES = 1000
"""That many paths in a listing may be all that fit."""


@dataclass(frozen=True, slots=True)
class RawEvent:
    id: str
    text: str
    labels: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class EventPage:
    events: list[RawEvent]
    """Newest first and as sent: each twice in a row."""
    next_cursor: str | None


@dataclass(frozen=True, slots=True)
class Pack:
    id: str | None
    events: list[RawEvent]


@dataclass(frozen=True, slots=True)
class Answered:
    answer: str
    model: str | None


@dataclass(frozen=True, slots=True)
class Scopes:
    paths: list[str]
    """As sent, a tenant's prefix included."""
    is_cut: bool
    """Whether there may be more."""


@dataclass(frozen=True, slots=True)
class Appended:
    event_id: str
    """Of the last event."""
    replayed: bool
    """Whether the server held every one of them already."""


@dataclass(frozen=True, slots=True)
class Erased:
    scopes: int
    receipts: list[str]


def batches(values: Sequence[T], size: int) -> Iterator[Sequence[T]]:
    """`values` in order, at most `size` at a time."""
    return (values[start : start + size] for start in range(0, len(values), size))


class Wire(ABC):
    """One CortexDB. Nothing is asked before the first call; `aclose` ends it."""

    hosted: bool
    transport: Transport
    timing: Timing

    def __init__(self, settings: CortexSettings, credential: EngineCredential, timing: Timing | None = None) -> None:
        raise NotImplementedError

    def polls(self) -> Iterator[float]:
        """The gaps in seconds between polls for what was written, without end."""
        return self.timing.polls(doubling=self.hosted)

    @abstractmethod
    async def append(self, scope: str, events: Sequence[Event], *, waits: bool) -> Appended:
        """Write an item's events in order. `waits`: answered when they are indexed, where the wire can.

        Hosted, an event whose answer was lost is looked for by the item's label, the first of its labels.
        """

    async def events(
        self, scope: str, labels: Sequence[str] = (), cursor: str | None = None, limit: int = 200
    ) -> EventPage:
        """A page of one scope's events that carry any of the labels, of which there are at most `MAX_LABELS`."""
        raise NotImplementedError

    async def recall(
        self,
        scope: str,
        query: str,
        *,
        include: Sequence[str] = ("events",),
        max_tokens: int | None,
        limits: Mapping[str, int] | None,
        labels: Sequence[str] = (),
    ) -> Pack:
        """A ranked pack of one scope. No budget is sent where `max_tokens` is None."""
        raise NotImplementedError

    async def answer(self, scope: str, question: str, pack_id: str, instructions: str | None) -> Answered:
        """An answer from a pack of that scope. Raises NotFound where the pack is gone."""
        raise NotImplementedError

    async def forget(self, scope: str, event_ids: Sequence[str]) -> None:
        """Remove events of a scope, and what was derived from them; nothing is sent where there are none."""
        raise NotImplementedError

    async def scopes(self, prefix: str) -> Scopes:
        """The registered scopes at or below a prefix, behind a tenant's prefix too; "" is all."""
        raise NotImplementedError

    @abstractmethod
    async def erase(self, scope: str) -> Erased:
        """Erase a scope, and wait until that is done. What lies below it is hidden."""

    @abstractmethod
    async def erase_everything(self) -> int:
        """Erase the account's whole memory, whoever wrote it; the number of scopes. Raises Unsupported on Direct."""

    async def register(self, root: str, owner: str) -> None:  # noqa: B027 (hosted, the backend does it)
        """Register the root for its owner, once. What fails is logged, and tried again by the next call."""

    @abstractmethod
    async def health(self) -> None:
        """One request, whose failure is raised."""

    async def aclose(self) -> None:
        raise NotImplementedError


class DirectWire(Wire):
    hosted = False


class HostedWire(Wire):
    hosted = True
