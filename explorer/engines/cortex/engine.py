"""The CortexDB engine: each call of the contract as a flow over one of the two wires."""

from __future__ import annotations

import time
from collections.abc import AsyncIterator
from typing import TYPE_CHECKING, TypeVar

from explorer.contract import (
    Changes,
    ConsolidateReceipt,
    ConsolidateRequest,
    Consolidation,
    Detail,
    EngineDescriptor,
    EngineHealth,
    EraseReport,
    EraseRequest,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Histogram,
    HistogramRequest,
    Hit,
    ItemId,
    ListPage,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Reach,
    RecallAnswer,
    RecallRequest,
    SortBy,
    Span,
    SpanRequest,
    StoreItem,
    StoreOptions,
    StoreReceipt,
    Timestamp,
    TinyMemoryError,
    Unavailable,
    Waiting,
)
from explorer.contract.query import DEFAULT_SCAN
from explorer.engines.cortex.browsing import Browsing
from explorer.engines.cortex.consolidating import consolidate
from explorer.engines.cortex.failures import without_words
from explorer.engines.cortex.ranking import Ranking
from explorer.engines.cortex.reading import Reading
from explorer.engines.cortex.removing import Removing
from explorer.engines.cortex.snapshot import Snapshot
from explorer.engines.cortex.walking import Walk
from explorer.engines.cortex.writing import Writing

if TYPE_CHECKING:
    from explorer.engines.cortex.cache import ListingCache
    from explorer.engines.cortex.settings import CortexSettings
    from explorer.engines.cortex.wires import Wire

T = TypeVar("T")
Listed = list[T]
"""`MemoryEngine.list` hides the built-in of that name inside the class body."""

FOREIGN_EVENTS = "Events of other programs"


class CortexEngine(MemoryEngine):
    """Items in scopes of an append-only log elsewhere, each item one event or several."""

    def __init__(
        self, wire: Wire, settings: CortexSettings, descriptor: EngineDescriptor, cache: ListingCache | None = None
    ) -> None:
        self._wire = wire
        self._settings = settings
        self._descriptor = descriptor
        self._walk = Walk(wire, settings)
        self._reading = Reading(self._walk)
        self._ranking = Ranking(self._walk, self._reading)
        self._snapshot = Snapshot(self._walk, cache)
        self._browsing = Browsing(self._snapshot)
        self._removing = Removing(self._walk, self._snapshot.forget_scope)
        self._writing = Writing(self._walk, settings, lambda scope: self._snapshot.note_written(scope.path))

    def descriptor(self) -> EngineDescriptor:
        return self._descriptor.model_copy(deep=True)

    async def aclose(self) -> None:
        try:
            await self._snapshot.save()
        finally:
            await self._wire.aclose()

    def waiting(self) -> Waiting | None:
        paused_until = self._wire.transport.paused_until
        if paused_until is None:
            return None
        left_ns = int((paused_until - time.monotonic()) * 1e9)
        return Waiting(until=Timestamp.from_unix_ns(time.time_ns() + left_ns)) if left_ns > 0 else None

    def details(self) -> Listed[Detail]:
        return [Detail(name=FOREIGN_EVENTS, value=str(len(self._walk.foreign)))]

    async def health(self) -> EngineHealth:
        """One request. A reason never repeats what the server said."""
        try:
            await self._wire.health()
        except Unavailable as error:
            return EngineHealth.degraded(without_words(error))
        except TinyMemoryError as error:
            return EngineHealth.down(without_words(error))
        return EngineHealth.ok()

    async def store(self, item: StoreItem) -> StoreReceipt:
        return await self.store_with(item, StoreOptions())

    async def store_many(self, items: Listed[StoreItem]) -> Listed[StoreReceipt]:
        return await self.store_many_with(items, StoreOptions())

    async def store_with(self, item: StoreItem, options: StoreOptions) -> StoreReceipt:
        (receipt,) = await self.store_many_with([item], options)
        return receipt

    async def store_many_with(self, items: Listed[StoreItem], options: StoreOptions) -> Listed[StoreReceipt]:
        return await self._writing.store_many(items, options)

    async def list(self, req: ListRequest) -> ListPage:
        return await self._reading.listing(req)

    async def list_preview(self, req: ListRequest) -> ListPage:
        return await self._reading.preview(req)

    async def export(self, req: ListRequest) -> ExportPage:
        return await self._reading.export(req)

    async def get(self, req: GetRequest) -> Listed[Hit]:
        hits = await self._reading.get(req, self._likely(req.ids))
        self._snapshot.note_missing(set(req.ids) - {hit.id for hit in hits}, req.reach)
        return hits

    async def get_items(self, req: GetRequest) -> Listed[Exported]:
        found = await self._reading.get_items(req, self._likely(req.ids))
        self._snapshot.note_missing(set(req.ids) - {each.id for each in found}, req.reach)
        return found

    def _likely(self, ids: Listed[ItemId]) -> dict[str, Listed[ItemId]]:
        """By path, the items that are in a scope as far as it was read."""
        paths = sorted(self._snapshot.paths_of(ids))
        return {path: [id for id in ids if self._snapshot.holds(path, id)] for path in paths}

    def refresh(self) -> None:
        """All is read from the server anew: what other programs stored or removed is found by nothing else."""
        self._snapshot.refresh()

    async def explore_many(self, reqs: Listed[ExploreRequest]) -> Listed[ExplorePage]:
        """From what was read once of all scopes in reach; `scan_limit` bounds nothing."""
        return await self._browsing.explore_many(reqs)

    async def explore_gradually(self, reqs: Listed[ExploreRequest]) -> AsyncIterator[Listed[ExplorePage]]:
        async for pages in self._browsing.explore_gradually(reqs):
            yield pages

    async def namespaces(self, filter: MetaFilter, scan_limit: int = DEFAULT_SCAN) -> ExplorePage:
        """Every node that the server names and that holds such an item, sandboxes included."""
        return await self._browsing.namespaces(filter, scan_limit)

    async def histogram(self, req: HistogramRequest) -> Histogram:
        return await self._browsing.histogram(req)

    async def changes(self, filter: MetaFilter, since: str | None = None) -> Changes:
        """What this engine did; what other programs did shows after a `refresh`."""
        return await self._browsing.changes(filter, since)

    def sorts(self) -> frozenset[SortBy]:
        return frozenset(SortBy)

    async def list_span(self, req: SpanRequest) -> Span:
        """Hits hold an item's first event, and of that the beginning. Of equal times the later stored of a scope is the
        newer. Where the scopes are read for longer than a second it is of those that were read: `is_partial`.
        """
        return await self._browsing.list_span(req)

    async def explore(self, req: ExploreRequest) -> ExplorePage:
        return await self._reading.explore(req)

    async def fetch(self, req: FetchRequest) -> FetchPage:
        self.refuse_undeclared(req.mode)
        return await self._ranking.fetch(req)

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        return await self._ranking.recall(req)

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        knows_all = self._snapshot.holds_all(None, everywhere=True)
        return await self._removing.forget(target, self._likely(target.ids or []), knows_all=knows_all)

    async def forget_within(self, ids: Listed[ItemId], reach: Reach | None) -> ForgetReport:
        knows_all = self._snapshot.holds_all(reach)
        return await self._removing.forget_within(ids, reach, self._likely(ids), knows_all=knows_all)

    async def erase(self, req: EraseRequest) -> EraseReport:
        req.check()
        if not req.is_whole_tree:
            return await self._removing.erase(req)
        self._snapshot.forget_everything()  # on the hosted wire no scope is named
        try:
            return await self._removing.erase(req)
        finally:
            self._snapshot.forget_everything()

    async def consolidate(self, req: ConsolidateRequest) -> ConsolidateReceipt:
        if self._descriptor.consolidation is Consolidation.NONE:
            return await super().consolidate(req)
        return await consolidate(self._walk, req)
