"""CortexDB by its own API.

Source: cortex, "HTTP" and "Root registration".
"""

from __future__ import annotations

import asyncio
import logging
import time
from collections.abc import Sequence
from typing import Any
from urllib.parse import quote

from explorer.contract import (
    Conflict,
    EngineFailure,
    InvalidRequest,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.engines.config import EngineCredential
from explorer.engines.cortex import DIRECT
from explorer.engines.cortex.envelope import Event
from explorer.engines.cortex.pacing import Timing, Tries
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.wires import MAX_BULK, Appended, Erased, Wire, batches, experience

log = logging.getLogger(__name__)

_SAID = 64  # characters of a server's own name for something, in an error
_RUNNING = ("running", "pending", "queued", "accepted")


class DirectWire(Wire):
    """CortexDB's own API."""

    hosted = False
    _descriptor = DIRECT
    _root = "v1/"
    _scope_list = "v1/scopes/list"

    def __init__(self, settings: CortexSettings, credential: EngineCredential, timing: Timing | None = None) -> None:
        super().__init__(settings, credential, timing)
        self._names_actors = settings.observes_actor
        self._registered: set[tuple[str, str]] = set()
        self._registering = asyncio.Lock()

    async def append(self, scope: str, events: Sequence[Event], *, waits: bool) -> Appended:
        if not self._names_actors or events[0].actor is None:
            return await self._append(scope, events, waits=waits, names_actor=False)
        # The first one alone, which tells whether the server takes what is said of the actor: a batch that is refused
        # half way and sent again without that would be there twice in part.
        names_actor = True
        try:
            first = await self._append(scope, events[:1], waits=waits, names_actor=True)
        except (Unauthorized, InvalidRequest):
            names_actor = False
            first = await self._append(scope, events[:1], waits=waits, names_actor=False)
        if len(events) == 1:
            return first
        rest = await self._append(scope, events[1:], waits=waits, names_actor=names_actor)
        return Appended(rest.event_id, first.replayed and rest.replayed)

    async def _append(self, scope: str, events: Sequence[Event], *, waits: bool, names_actor: bool) -> Appended:
        bodies = [experience(scope, event, names_actor=names_actor) for event in events]
        params = [("wait", "indexed")] if waits else []
        if len(bodies) == 1:
            return self.appended("experience", await self._ask("POST", "experience", params=params, body=bodies[0]))
        appended: list[Appended] = []
        for batch in batches(bodies, MAX_BULK):
            body = {"items": batch, "ordering": "strict_temporal"}
            value = await self._ask("POST", "experience/bulk", params=params, body=body)
            results = value.get("results") if isinstance(value, dict) else None
            if not isinstance(results, list) or len(results) != len(batch):
                raise self.bad("POST", "experience/bulk", "one result for each event")
            appended += [self.appended("experience/bulk", result) for result in results]
        return Appended(appended[-1].event_id, all(one.replayed for one in appended))

    async def _forget(self, body: dict[str, Any]) -> Any:
        return await self._ask("POST", "forget", body=body)

    async def erase(self, scope: str) -> Erased:
        body = {"scope": scope, "confirm_all": True, "audit_note": "tinymemory: erase"}
        value = await self._ask("POST", "erasures", body=body)
        try:
            return await self._ended(value)
        except TinyMemoryError as error:
            error.may_be_done = True  # the server took it, and goes on with it
            raise

    async def _ended(self, value: Any) -> Erased:
        """Wait until the erasure of which the server answered `value` is done."""
        erasure_id = value.get("erasure_id") if isinstance(value, dict) else None
        if not isinstance(erasure_id, str):
            raise self.bad("POST", "erasures", "the erasure's id")
        said = "".join(filter(str.isprintable, erasure_id))[:_SAID]
        status = value.get("status")
        if status is None:
            status = "completed"
        route = f"erasures/{quote(erasure_id, safe='')}"
        gap, ends = self.timing.poll_s, time.monotonic() + self.timing.erasure_s
        while status in _RUNNING:
            if time.monotonic() + gap > ends:
                raise Unavailable(
                    f"{self.transport.head('POST', 'v1/erasures')} took the erasure {said}, which is still "
                    f"pending after {self.timing.erasure_s:g} s; look again later"
                )
            await self.transport.sleep(gap)
            gap = min(gap * 2, self.timing.most_poll_s)
            value = await self._ask("GET", route, tries=Tries.READ)
            status = value.get("status") if isinstance(value, dict) else None
            if not isinstance(status, str):
                raise self.bad("GET", route, "its status")
        if status != "completed":
            raise EngineFailure(
                f"{self.transport.head('POST', 'v1/erasures')} ended the erasure {said} as "
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
            raise self.bad("GET", "scopes", "its members")
        if any(isinstance(one, dict) and own.items() <= one.items() for one in members):
            return
        await self._ask("PUT", "scopes/members", params=[("path", root)], body={"members": [*members, own]})

    async def health(self) -> None:
        await self._ask("GET", "admin/health")
