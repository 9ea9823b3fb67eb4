"""Storing: what the server holds already is left as it is, the rest is written and waited for.

Source: cortex, "store and store_many".
"""

from __future__ import annotations

import asyncio
from collections import defaultdict
from collections.abc import Callable, Sequence
from contextlib import suppress
from dataclasses import dataclass

from explorer.contract import (
    Conversation,
    InvalidRequest,
    ItemId,
    ItemKind,
    Namespace,
    StoreItem,
    StoreOptions,
    StoreReceipt,
    TinyMemoryError,
    Unavailable,
    Wait,
)
from explorer.contract.query import check_batch
from explorer.engines.cortex.completing import missing_events
from explorer.engines.cortex.envelope import Envelope, Event, lay_out, newer_id
from explorer.engines.cortex.scopes import Layout, Scope
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.walking import Site, Walk

_QUERY = 256
"""Characters of a text that are enough to find it by."""

Held = dict[ItemId, list[Envelope]]
"""What the server holds of each item."""


@dataclass(frozen=True, slots=True)
class _Plan:
    """An item to store, and its events."""

    item: StoreItem
    scope: Scope
    id: ItemId
    newer: ItemId | None
    """The id that another program may have stored the item under."""
    events: list[Event]

    @property
    def ids(self) -> list[ItemId]:
        return [self.id] if self.newer is None else [self.id, self.newer]


@dataclass(frozen=True, slots=True)
class _Written:
    """An event that reads are to find."""

    scope: Scope
    event_id: str
    event: Event


class Writing:
    """Stores items. `on_written` is told of each scope whose events may not be what they were."""

    def __init__(self, walk: Walk, settings: CortexSettings, on_written: Callable[[Scope], None]) -> None:
        self._walk = walk
        self._wire = walk.wire
        self._settings = settings
        self._on_written = on_written

    async def store_many(self, items: Sequence[StoreItem], options: StoreOptions) -> list[StoreReceipt]:
        """Store in order. On an error earlier items are stored, and the same batch again stores the rest.

        Raises InvalidRequest before anything is sent for a batch of which one item cannot be stored.
        """
        check_batch(list(items))
        for item in items:
            self._refuse(item.meta.namespace)
        # Hashing and cutting take a while for long texts.
        plans = await asyncio.to_thread(lambda: [_plan(item, self._settings.layout) for item in items])
        if self._settings.owner is not None and self._settings.layout.root:
            await self._wire.register(self._settings.layout.root, self._settings.owner)
        waits = options.wait is Wait.VISIBLE
        held = {} if self._knows_by_key(plans, waits=waits) else await self._held(plans)
        stored: set[ItemId] = set()
        written: dict[Scope, _Written] = {}  # the last event of each scope, in the order of their writing
        try:
            receipts = [await self._store(plan, held, stored, written, waits=waits) for plan in plans]
            if waits:
                await self._wait(list(written.values()))
        finally:
            for scope in written:
                self._on_written(scope)  # what was read before it was listed is not all there is
        return receipts

    def _refuse(self, namespace: Namespace) -> None:
        layout, retired = self._settings.layout, self._settings.retired
        layout.refuse(namespace)
        if retired is None:
            return
        retired.refuse(namespace)
        for path in (layout.path(namespace, kind) for kind in ItemKind):
            scope = retired.parse(path)
            if scope is not None and scope.path == path:
                raise InvalidRequest(f"namespace `{namespace}` lies in the retired scope root `{retired.root}`")

    def _knows_by_key(self, plans: Sequence[_Plan], *, waits: bool) -> bool:
        """Whether the server's own check for a repeated write is enough: a host that logs each turn as it comes."""
        if waits or self._wire.hosted or len(plans) != 1:
            return False
        (plan,) = plans
        return isinstance(plan.item, Conversation) and len(plan.events) == 1 and plan.newer is None

    async def _held(self, plans: Sequence[_Plan]) -> Held:
        wanted: dict[Site, list[ItemId]] = defaultdict(list)
        for plan in sorted(plans, key=lambda plan: plan.scope):
            wanted[Site(plan.scope)] += plan.ids
        found = await self._walk.look_up(wanted)
        held: Held = {}
        for by_id in found.values():
            for id, events in by_id.items():
                held.setdefault(id, []).extend(event.envelope for event in events)
        return held

    async def _store(
        self, plan: _Plan, held: Held, stored: set[ItemId], written: dict[Scope, _Written], *, waits: bool
    ) -> StoreReceipt:
        """`stored` holds the ids of the items of this batch that are whole."""
        id, events = plan.id, plan.events
        known = held.keys() | stored
        if plan.newer is not None and id not in known and plan.newer in known:
            id = plan.newer
            events = lay_out(plan.item, id)
        missing = [] if id in stored else missing_events(plan.item, id, events, held.get(id, []))
        if not missing:
            return StoreReceipt(id=id, replayed=True)
        try:
            appended = await self._wire.append(plan.scope.path, missing, waits=waits)
        finally:
            self._on_written(plan.scope)  # even where it failed, it may have been written
        stored.add(id)
        written.pop(plan.scope, None)
        written[plan.scope] = _Written(plan.scope, appended.event_id, missing[-1])
        return StoreReceipt(id=id, replayed=appended.replayed)

    async def _wait(self, written: Sequence[_Written]) -> None:
        for last in written:
            await self._until_listed(last)
        if written:
            await self._until_ranked(written[-1])

    async def _until_listed(self, last: _Written) -> None:
        """Raises Unavailable where a listing does not show the event in time."""
        without = failed = 0
        fault = ""
        limit_s = self._wire.timing.listed_s
        with suppress(TimeoutError):
            async with asyncio.timeout(limit_s):
                for gap in self._wire.polls():
                    try:
                        page = await self._wire.events(last.scope.path, last.event.labels[:1])
                    except Unavailable as error:
                        if not self._wire.hosted:
                            raise
                        failed += 1
                        fault = f", the last with: {error.text}"
                    else:
                        if any(event.id == last.event_id for event in page.events):
                            return
                        without += 1
                    await self._wire.transport.sleep(gap)
        raise Unavailable(
            f"{self._wire.label}: what was written to `{last.scope.path}` was not listed within {limit_s:g} s: "
            f"{without} listings came without it and {failed} failed{fault}; store the same again later, which writes "
            "nothing twice"
        )

    async def _until_ranked(self, last: _Written) -> None:
        """Until the event is found by its own text; that it is not, or cannot be asked, is no failure of the store."""
        with suppress(TimeoutError, TinyMemoryError):
            async with asyncio.timeout(self._wire.timing.ranked_s):
                for gap in self._wire.polls():
                    pack = await self._wire.recall(
                        last.scope.path, last.event.text[:_QUERY], max_tokens=None, limits=None
                    )
                    if any(event.id == last.event_id for event in pack.events):
                        return
                    await self._wire.transport.sleep(gap)


def _plan(item: StoreItem, layout: Layout) -> _Plan:
    id = item.fingerprint()
    namespace, kind = item.meta.namespace, item.item_kind
    scope = Scope(layout.path(namespace, kind), namespace, kind)
    return _Plan(item, scope, id, newer_id(item), lay_out(item, id))
