"""What CortexDB is asked, the same for its own API (Direct) and behind the TinyHumans backend (hosted).

Source: cortex, "HTTP".
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
import json
import logging
import secrets
import time
from abc import ABC, abstractmethod
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, ClassVar, TypeVar
from urllib.parse import quote

from explorer.contract import (
    Conflict,
    EngineDescriptor,
    EngineFailure,
    InvalidRequest,
    NotFound,
    TinyMemoryError,
    Unavailable,
    Unsupported,
)
from explorer.engines.config import EngineCredential
from explorer.engines.cortex import DIRECT, HOSTED
from explorer.engines.cortex.envelope import Event
from explorer.engines.cortex.failures import error_code
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.transport import Timing, Transport, Tries

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_LABELS = 50
"""In one request."""
MAX_FORGOTTEN = 100
"""Events in one request."""
MAX_SCOPES = 1000
"""That many paths in a listing may be all that fit."""

_ATTEMPTS = 3  # of what is sent again by the hosted wire, in all
_SALT = secrets.token_hex(8)
_counter = itertools.count(1)


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
    """One CortexDB. Nothing is asked before the first call; `aclose` ends it.

    Errors are those of `Transport.ask`, and EngineFailure for an answer that lacks what it must hold.
    """

    hosted: ClassVar[bool]
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
            raise self._bad("GET", "events", "its events")
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
            raise self._bad("POST", "recall", "its events")
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
            raise self._bad("POST", "answer", "its text")
        diagnostics = value.get("diagnostics")
        model = diagnostics.get("answer_model") if isinstance(diagnostics, dict) else None
        return Answered(answer, model if isinstance(model, str) else None)

    async def forget(self, scope: str, event_ids: Sequence[str]) -> None:
        """Remove events of a scope, and what was derived from them; nothing is sent where there are none."""
        for ids in batches(event_ids, MAX_FORGOTTEN):
            await self._forget(
                {
                    "scope": scope,
                    "layers": ["events"],
                    "selector": {"memory_ids": list(ids)},  # an empty one would be the whole scope
                    "cascade": "redact_events",  # by default the events stay
                    "audit_note": "tinymemory: forget",
                }
            )

    @abstractmethod
    async def _forget(self, body: dict[str, Any]) -> None: ...

    async def scopes(self, prefix: str) -> Scopes:
        """The registered scopes at or below a prefix, behind a tenant's prefix too; "" is all."""
        params = [("prefix", prefix)] if prefix else []
        params.append(("limit", str(MAX_SCOPES)))
        try:
            value = await self.transport.ask("GET", self._scope_list, params=params, tries=Tries.READ)
        except NotFound:  # a server without such a listing
            return Scopes([], is_cut=False)
        listed = None
        if isinstance(value, dict):
            listed = value["items"] if "items" in value else value.get("scopes")
        if not isinstance(listed, list):
            raise EngineFailure(f"{self.transport.head('GET', self._scope_list)} gave an answer without its scopes")
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

    def _bad(self, method: str, route: str, lacks: str) -> EngineFailure:
        return EngineFailure(f"{self.transport.head(method, self._root + route)} gave an answer without {lacks}")

    def _appended(self, route: str, value: Any) -> Appended:
        event_id = value.get("event_id") if isinstance(value, dict) else None
        if not isinstance(event_id, str):
            raise self._bad("POST", route, "the event's id")
        return Appended(event_id, value.get("replayed_from_idempotency") is True)


class DirectWire(Wire):
    """CortexDB's own API."""

    hosted = False
    _descriptor = DIRECT
    _root = "v1/"
    _scope_list = "v1/scopes/list"

    def __init__(self, settings: CortexSettings, credential: EngineCredential, timing: Timing | None = None) -> None:
        super().__init__(settings, credential, timing)
        self._registered: set[tuple[str, str]] = set()
        self._registering = asyncio.Lock()

    async def append(self, scope: str, events: Sequence[Event], *, waits: bool) -> Appended:
        bodies = [experience(scope, event) for event in events]
        params = [("wait", "indexed")] if waits else []
        if len(bodies) == 1:
            return self._appended("experience", await self._ask("POST", "experience", params=params, body=bodies[0]))
        body = {"items": bodies, "ordering": "strict_temporal"}
        value = await self._ask("POST", "experience/bulk", params=params, body=body)
        results = value.get("results") if isinstance(value, dict) else None
        if not isinstance(results, list) or len(results) != len(bodies):
            raise self._bad("POST", "experience/bulk", "one result for each event")
        appended = [self._appended("experience/bulk", result) for result in results]
        return Appended(appended[-1].event_id, all(one.replayed for one in appended))

    async def _forget(self, body: dict[str, Any]) -> None:
        await self._ask("POST", "forget", body=body)

    async def erase(self, scope: str) -> Erased:
        body = {"scope": scope, "confirm_all": True, "audit_note": "tinymemory: erase"}
        value = await self._ask("POST", "erasures", body=body)
        erasure_id = value.get("erasure_id") if isinstance(value, dict) else None
        if not isinstance(erasure_id, str):
            raise self._bad("POST", "erasures", "the erasure's id")
        status = value.get("status")
        if status is None:
            status = "completed"
        route = f"erasures/{quote(erasure_id, safe='')}"
        gap, ends = self.timing.poll_s, time.monotonic() + self.timing.erasure_s
        while status in ("running", "pending", "queued", "accepted"):
            if time.monotonic() + gap > ends:
                raise Unavailable(
                    f"{self.transport.head('POST', 'v1/erasures')} took the erasure {erasure_id}, which is still "
                    f"pending after {self.timing.erasure_s:g} s; look again later"
                )
            await self.transport.sleep(gap)
            gap = min(gap * 2, self.timing.most_poll_s)
            value = await self._ask("GET", route, tries=Tries.READ)
            status = value.get("status") if isinstance(value, dict) else None
            if not isinstance(status, str):
                raise self._bad("GET", route, "its status")
        if status != "completed":
            raise EngineFailure(
                f"{self.transport.head('POST', 'v1/erasures')} ended the erasure {erasure_id} as "
                f"`{str(status)[:40]}`, not as completed; it may be asked for again"
            )
        return Erased(1, [erasure_id])

    async def erase_everything(self) -> int:
        raise Unsupported("CortexDB's own API erases scope by scope, not an account's whole memory at once")

    async def register(self, root: str, owner: str) -> None:
        async with self._registering:
            if (root, owner) in self._registered:
                return
            try:
                await self._register(root, owner)
            except TinyMemoryError as error:
                log.warning("the scope root %s was not registered for %s: %s", root, owner, error.text)
            else:
                self._registered.add((root, owner))

    async def _register(self, root: str, owner: str) -> None:
        own = {"actor": owner, "role": "owner"}
        try:
            await self._ask("POST", "scopes", body={"path": root, "members": [own]})
        except Conflict:
            pass
        else:
            return
        record = await self._ask("GET", "scopes", params=[("path", root)], tries=Tries.READ)
        members = record.get("members") if isinstance(record, dict) else None
        if not isinstance(members, list):  # to replace what is not known would put its members out
            raise self._bad("GET", "scopes", "its members")
        if any(isinstance(one, dict) and own.items() <= one.items() for one in members):
            return
        await self._ask("PUT", "scopes/members", params=[("path", root)], body={"members": [*members, own]})

    async def health(self) -> None:
        await self._ask("GET", "admin/health")


class HostedWire(Wire):
    """CortexDB behind the TinyHumans backend."""

    hosted = True
    _descriptor = HOSTED
    _root = "memory/"
    _scope_list = "memory/scopes"

    async def append(self, scope: str, events: Sequence[Event], *, waits: bool) -> Appended:
        appended = [await self._append(scope, event) for event in events]
        return Appended(appended[-1].event_id, all(one.replayed for one in appended))

    async def _append(self, scope: str, event: Event) -> Appended:
        body = experience(scope, event)
        claim = self._claim()
        attempt = 1
        while True:
            try:
                return self._appended("experience", await self._ask("POST", "experience", body=body, headers=claim))
            except Conflict:
                if attempt == 1:
                    raise
                break  # an earlier attempt took the claim, and may have been applied
            except Unavailable:
                if attempt == _ATTEMPTS:
                    raise
            await self.transport.sleep(self.timing.gap(attempt))
            attempt += 1
        return Appended(await self._find(scope, event), replayed=False)

    async def _find(self, scope: str, event: Event) -> str:
        """The id of an event that may have been written; its labels tell two turns of the same words apart."""
        ends = time.monotonic() + self.timing.listed_s
        for gap in self.polls():
            try:
                page = await self.events(scope, event.labels[:1])
            except Unavailable:
                page = EventPage([], None)
            for found in page.events:
                if (found.text, found.labels) == (event.text, event.labels):
                    return found.id
            if time.monotonic() + gap > ends:
                break
            await self.transport.sleep(gap)
        raise Unavailable(
            f"{self.transport.head('POST', 'memory/experience')} may have written an event or not: the outcome is "
            "unknown; store the same again, which completes it"
        )

    async def _forget(self, body: dict[str, Any]) -> None:
        attempt = 1
        while True:
            try:
                await self._ask("POST", "forget", body=body, headers=self._claim())
                return
            except NotFound:
                if attempt == 1:
                    raise
                return  # an earlier attempt did it
            except Unavailable:
                if attempt == _ATTEMPTS:
                    raise
            await self.transport.sleep(self.timing.gap(attempt))
            attempt += 1

    async def erase(self, scope: str) -> Erased:
        body = {"scope": scope, "audit_note": "tinymemory: erase"}
        attempt = 1
        while True:
            try:
                value = await self._ask("POST", "v1/erasures", body=body, headers=self._claim(), is_wrapped=False)
                break
            except NotFound as error:
                raise Unsupported(
                    f"this server erases no single scope ({error.text}); forget its items instead"
                ) from None
            except Unavailable as error:
                if attempt == _ATTEMPTS or error_code(error) != "ERASURE_INCOMPLETE":
                    raise
            await self.transport.sleep(self.timing.gap(attempt))
            attempt += 1
        scopes = self._erased("POST", "memory/v1/erasures", value)
        ids = value.get("erasure_ids")
        receipts = [] if ids is None else ids
        if not isinstance(receipts, list) or not all(isinstance(id, str) for id in receipts):
            raise self._bad("POST", "v1/erasures", "usable receipts")
        if scopes and not receipts:
            raise self._bad("POST", "v1/erasures", "a receipt for what it erased")
        return Erased(scopes, receipts)

    async def erase_everything(self) -> int:
        try:
            value = await self.transport.ask("DELETE", "memory")
        except NotFound as error:
            raise Unsupported(f"this server does not erase a whole memory ({error.text})") from None
        return self._erased("DELETE", "memory", value)

    def _erased(self, method: str, route: str, value: Any) -> int:
        scopes = value.get("scopes") if isinstance(value, dict) and value.get("erased") is True else None
        if type(scopes) is not int or scopes < 0:
            raise EngineFailure(f"{self.transport.head(method, route)} did not say that and how much it erased")
        return scopes

    async def health(self) -> None:
        await self._ask("GET", "scopes", params=[("prefix", "tmh:probe"), ("limit", "1")])

    def _claim(self) -> dict[str, str]:
        return {"idempotency-key": f"tm-{_SALT}-{time.time_ns()}-{next(_counter)}"}


def experience(scope: str, event: Event) -> dict[str, Any]:
    """The body that writes an event, with the key by which the server knows it again."""
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
    hashed = json.dumps(body, ensure_ascii=False, separators=(",", ":"), sort_keys=True)
    return {**body, "idempotency_key": f"tm3:{hashlib.sha256(hashed.encode()).hexdigest()[:56]}"}


def _raw_events(items: list[Any]) -> list[RawEvent]:
    """The events among what the server listed; one without an id or a text is none."""
    found = []
    for item in items:
        if not isinstance(item, dict):
            continue
        id, content, context = item.get("id"), item.get("content"), item.get("context")
        text = content.get("text") if isinstance(content, dict) else None
        labels = context.get("labels") if isinstance(context, dict) else None
        if isinstance(id, str) and isinstance(text, str):
            kept = [label for label in labels if isinstance(label, str)] if isinstance(labels, list) else []
            found.append(RawEvent(id, text, tuple(kept)))
    return found


def _lies_below(path: str, prefix: str) -> bool:
    """Whether `path` is the prefix or below it, by whole segments, and perhaps behind a tenant's."""
    return not prefix or f"/{prefix}/" in f"/{path}/"
