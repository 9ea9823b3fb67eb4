"""What CortexDB is asked, the same for its own API (Direct) and behind the TinyHumans backend (hosted).

Source: cortex, "HTTP".
"""

from __future__ import annotations

import hashlib
import json
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, ClassVar, TypeVar

from explorer.contract import EngineDescriptor, EngineFailure, InvalidRequest, NotFound, wire
from explorer.engines.config import EngineCredential
from explorer.engines.cortex.envelope import Event
from explorer.engines.cortex.failures import alien
from explorer.engines.cortex.pacing import Timing, Tries
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.transport import Transport

T = TypeVar("T")

MAX_LABELS = 50
"""In one request."""
MAX_FORGOTTEN = 100
"""Events in one request."""
MAX_BULK = 1000
"""Events in one request."""
MAX_SCOPES = 1000
"""That many paths in a listing may be all that fit."""


@dataclass(frozen=True, slots=True)
class RawEvent:
    id: str
    text: str = field(repr=False)
    labels: tuple[str, ...] = field(repr=False)


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
    is_missing: bool = False
    """Whether the server has no such listing."""


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
    """One CortexDB. Nothing is asked before the first call; `aclose` ends it.

    Errors are those of `Transport.ask`, and EngineFailure for an answer that lacks what it must hold.
    """

    hosted: ClassVar[bool]
    """Whether it is the TinyHumans backend's, else CortexDB's own."""
    _descriptor: ClassVar[EngineDescriptor]
    _root: ClassVar[str]
    _scope_list: ClassVar[str]

    def __init__(self, settings: CortexSettings, credential: EngineCredential, timing: Timing | None = None) -> None:
        self.timing = timing or Timing()
        self.transport = Transport(
            settings.endpoint,
            credential,
            label=self._descriptor.label,
            hosted=self.hosted,
            headers=settings.headers,
            timing=self.timing,
        )

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.transport!r})"

    @property
    def label(self) -> str:
        """The engine's name, with which its errors begin."""
        return self._descriptor.label

    def polls(self) -> Iterator[float]:
        """The gaps in seconds between polls for what was written, without end."""
        return self.timing.polls(doubling=self.hosted)

    @abstractmethod
    async def append(self, scope: str, events: Sequence[Event], *, waits: bool) -> Appended:
        """Write an item's events, of which there is one at least, in order. `waits`: answered when they are indexed,
        where the wire can.

        Hosted, an event whose answer was lost is looked for by the item's label, the first of its labels.
        """

    async def events(
        self, scope: str, labels: Sequence[str] = (), cursor: str | None = None, limit: int = 200
    ) -> EventPage:
        """A page of one scope's events that carry any of the labels, of which there are at most `MAX_LABELS`."""
        if len(labels) > MAX_LABELS:
            raise InvalidRequest(f"at most {MAX_LABELS} labels fit into one request, not {len(labels)}")
        params = [("scope", scope), ("limit", str(limit))]
        if labels:
            params.append(("labels", ",".join(labels)))
        if cursor is not None:
            params.append(("cursor", cursor))
        value = await self._ask("GET", "events", params=params, tries=Tries.READ)
        items = value.get("items") if isinstance(value, dict) else None
        if not isinstance(items, list):
            raise self.bad("GET", "events", "its events")
        next_cursor = value.get("next_cursor") if value.get("has_more") is True else None
        if not isinstance(next_cursor, str):
            next_cursor = None
        elif next_cursor == cursor:
            raise EngineFailure(
                f"{self.transport.head('GET', self._root + 'events')} gave the cursor that it was asked with: its "
                "listing has no end"
            )
        return EventPage(_raw_events(items), next_cursor)

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
        body: dict[str, Any] = {"scope": scope, "query": query, "view": "granular", "include": list(include)}
        if max_tokens is not None:
            body["budgets"] = {"max_tokens": max_tokens, "per_layer_limits": dict(limits or {})}
        if labels:
            body["filters"] = {"metadata": {"labels": list(labels)}}
        value = await self._ask("POST", "recall", body=body, tries=Tries.READ)
        layers = value.get("layers", {}) if isinstance(value, dict) else None
        found = (layers.get("events") or []) if isinstance(layers, dict) else None
        if not isinstance(found, list):
            raise self.bad("POST", "recall", "its events")
        pack_id = value.get("pack_id")
        return Pack(pack_id if isinstance(pack_id, str) else None, _raw_events(found))

    async def answer(self, scope: str, question: str, pack_id: str, instructions: str | None) -> Answered:
        """An answer from a pack of that scope. Raises NotFound where the pack is gone."""
        body: dict[str, Any] = {
            "scope": scope,
            "question": question,
            "use_pack_id": pack_id,
            "cite_sources": True,
            "include_context": True,
        }
        if instructions is not None or not self.hosted:  # which refuses a null
            body["answer_instructions"] = instructions
        value = await self._ask("POST", "answer", body=body, headers=self._claim())
        answer = value.get("answer") if isinstance(value, dict) else None
        if not isinstance(answer, str):
            raise self.bad("POST", "answer", "its text")
        diagnostics = value.get("diagnostics")
        model = diagnostics.get("answer_model") if isinstance(diagnostics, dict) else None
        return Answered(answer, model if isinstance(model, str) else None)

    async def forget(self, scope: str, event_ids: Sequence[str]) -> bool:
        """Remove events of a scope, and what was derived from them; nothing is sent where there are none.

        False where some may be there still, or were gone before.
        """
        is_sure = True
        for ids in batches(event_ids, MAX_FORGOTTEN):
            value = await self._forget(
                {
                    "scope": scope,
                    "layers": ["events"],
                    "selector": {"memory_ids": list(ids)},  # an empty one would be the whole scope
                    "cascade": "redact_events",  # by default the events stay
                    "audit_note": "tinymemory: forget",
                }
            )
            deleted = value.get("deleted") if isinstance(value, dict) else None
            count = deleted.get("events") if isinstance(deleted, dict) else None
            is_sure = is_sure and not (type(count) is int and count < len(ids))
        return is_sure

    @abstractmethod
    async def _forget(self, body: dict[str, Any]) -> Any:
        """What the server says of it."""

    async def scopes(self, prefix: str) -> Scopes:
        """The registered scopes at or below a prefix, behind a tenant's prefix too; "" is all."""
        params = [("prefix", prefix)] if prefix else []
        params.append(("limit", str(MAX_SCOPES)))
        try:
            value = await self.transport.ask("GET", self._scope_list, params=params, tries=Tries.READ)
        except NotFound:  # a server without such a listing
            return Scopes([], is_cut=False, is_missing=True)
        listed = None
        if isinstance(value, dict):
            listed = value["items"] if "items" in value else value.get("scopes")
        if not isinstance(listed, list):
            raise alien(f"{self.transport.head('GET', self._scope_list)} gave an answer without its scopes")
        entries = (entry.get("path") if isinstance(entry, dict) else entry for entry in listed)
        paths = [path for path in entries if isinstance(path, str) and _lies_below(path, prefix)]
        return Scopes(paths, is_cut=len(listed) >= MAX_SCOPES)

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
        """End what is under way, which then raises Unavailable. May be called twice."""
        await self.transport.aclose()

    async def _ask(self, method: str, route: str, **more: Any) -> Any:
        return await self.transport.ask(method, self._root + route, **more)

    def _claim(self) -> dict[str, str]:
        """The header of a request that must not be applied twice, however often it arrives."""
        return {}

    def bad(self, method: str, route: str, lacks: str) -> EngineFailure:
        """The error for an answer that cannot be used; `route` is below the wire's root."""
        return alien(f"{self.transport.head(method, self._root + route)} gave an answer without {lacks}")

    def appended(self, route: str, value: Any) -> Appended:
        """What the server says of one written event."""
        event_id = value.get("event_id") if isinstance(value, dict) else None
        if not isinstance(event_id, str):
            raise self.bad("POST", route, "the event's id")
        return Appended(event_id, value.get("replayed_from_idempotency") is True)


def experience(scope: str, event: Event, *, names_actor: bool = False) -> dict[str, Any]:
    """The body that writes an event, with the key by which the server knows it again.

    `names_actor`: the server is told who was observed, if that is known.
    """
    context: dict[str, Any] = {"labels": list(event.labels)}
    if event.observed_at is not None:
        context["observed_at"] = event.observed_at
    body: dict[str, Any] = {
        "scope": scope,
        "modality": event.modality,
        "content": {"kind": "message", "role": event.role, "text": event.text},
        "context": context,
    }
    if not event.derives:
        body["directives"] = {"extract": []}
    if names_actor and event.actor is not None:
        kind = event.actor.partition(":")[0] if ":" in event.actor else "user"
        body["observed_actor"] = {"id": event.actor, "type": kind}
    hashed = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return {**body, "idempotency_key": f"tm3:{hashlib.sha256(hashed.encode()).hexdigest()[:56]}"}


def _raw_events(items: list[Any]) -> list[RawEvent]:
    """The events among what the server listed; one without an id is none.

    One without a text, whose content is no message, is another program's: its labels are not read either.
    """
    found: list[RawEvent] = []
    for item in items:
        id = item.get("id") if isinstance(item, dict) else None
        if not isinstance(id, str):
            continue
        if found and found[-1].id == id:  # the copy of it
            found.append(found[-1])
            continue
        content, context = item.get("content"), item.get("context")
        text = content.get("text") if isinstance(content, dict) else None
        labels = context.get("labels") if isinstance(context, dict) else None
        kept: list[str] = []
        if isinstance(text, str) and isinstance(labels, list):
            kept = [label for label in labels if isinstance(label, str)]
        if isinstance(text, str) and wire.is_unicode("".join((id, text, *kept))):
            found.append(RawEvent(id, text, tuple(kept)))
        elif wire.is_unicode(id):
            found.append(RawEvent(id, "", ()))
    return found


def _lies_below(path: str, prefix: str) -> bool:
    """Whether `path` is the prefix or below it, by whole segments, and perhaps behind a tenant's."""
    return not prefix or f"/{prefix}/" in f"/{path}/"
