"""CortexDB behind the TinyHumans backend, which takes a claim for what must not be applied twice.

Source: cortex, "HTTP" and "store and store_many" (hosted write recovery).
"""

from __future__ import annotations

import itertools
import secrets
import time
from collections.abc import Sequence
from typing import Any

from explorer.contract import Conflict, NotFound, Unavailable, Unsupported
from explorer.engines.cortex import HOSTED
from explorer.engines.cortex.envelope import Event
from explorer.engines.cortex.failures import alien, error_code
from explorer.engines.cortex.wires import Appended, Erased, EventPage, Wire, experience

_ATTEMPTS = 3  # in all, of what is sent again
_INCOMPLETE = "ERASURE_INCOMPLETE"

_SALT = secrets.token_hex(8)  # of this process
_counter = itertools.count(1)


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
                return self.appended("experience", await self._ask("POST", "experience", body=body, headers=claim))
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

    async def _forget(self, body: dict[str, Any]) -> Any:
        attempt = 1
        while True:
            try:
                return await self._ask("POST", "forget", body=body, headers=self._claim())
            except NotFound:
                if attempt == 1:
                    raise
                return {"deleted": {"events": 0}}  # an earlier attempt did it, or one of many was gone before
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
                if attempt == _ATTEMPTS or error_code(error) != _INCOMPLETE:
                    raise
            await self.transport.sleep(self.timing.gap(attempt))
            attempt += 1
        scopes = self._erased("POST", "memory/v1/erasures", value)
        ids = value.get("erasure_ids")
        receipts = [] if ids is None else ids
        if not isinstance(receipts, list) or not all(isinstance(id, str) for id in receipts):
            raise self.bad("POST", "v1/erasures", "usable receipts")
        if scopes and not receipts:
            raise self.bad("POST", "v1/erasures", "a receipt for what it erased")
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
            raise alien(f"{self.transport.head(method, route)} did not say that and how much it erased")
        return scopes

    async def health(self) -> None:
        await self._ask("GET", "scopes", params=[("prefix", "tmh:probe"), ("limit", "1")])

    def _claim(self) -> dict[str, str]:
        return {"idempotency-key": f"tm-{_SALT}-{time.time_ns()}-{next(_counter)}"}
