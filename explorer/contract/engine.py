"""The engine: what every store of memory does, with the defaults that need nothing but `list`.

Source: memory-v2, "Contract"; contract, "Explore and get" and what came after it.
"""

from __future__ import annotations

from abc import ABC, abstractmethod
from collections import Counter
from collections.abc import AsyncIterator
from datetime import date
from typing import TypeVar

from explorer.contract.changes import Changes
from explorer.contract.connection import Detail, Waiting
from explorer.contract.errors import EngineFailure, InvalidRequest, Unsupported
from explorer.contract.explain import ExplainedPage
from explorer.contract.facets import Facet, rank_buckets
from explorer.contract.items import ItemId, StoreItem
from explorer.contract.meta import MetaFilter
from explorer.contract.model import is_blank
from explorer.contract.namespace import EVERYTHING, Reach
from explorer.contract.query import (
    DEFAULT_SCAN,
    MAX_GET_IDS,
    BeliefsRequest,
    ConsolidateReceipt,
    ConsolidateRequest,
    EngineDescriptor,
    EngineHealth,
    EraseReport,
    EraseRequest,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    ListPage,
    ListRequest,
    RecallAnswer,
    RecallRequest,
    StoreOptions,
    StoreReceipt,
    check_batch,
)
from explorer.contract.spans import SortBy, Span, SpanRequest
from explorer.contract.timeline import Histogram, HistogramRequest, day_of
from explorer.contract.timestamp import zone_named

# `MemoryEngine.list` hides the built-in of that name inside the class body.
T = TypeVar("T")
Listed = list[T]

_PAGE = 200
_MAX_IDLE_PAGES = 1000  # in a row that bring nothing: legal where an engine filters after reading, but not without end


class MemoryEngine(ABC):
    """One store of memory. Every call checks its request first and touches nothing when that fails.

    Errors are the contract's eight kinds. Calls may run at the same time; `aclose` ends the engine.
    """

    @abstractmethod
    def descriptor(self) -> EngineDescriptor: ...

    @abstractmethod
    async def health(self) -> EngineHealth: ...

    @abstractmethod
    async def recall(self, req: RecallRequest) -> RecallAnswer:
        """An answer in words with the items it rests on, at most `req.limit` of them."""

    @abstractmethod
    async def fetch(self, req: FetchRequest) -> FetchPage:
        """Ranked items, best first. Raises Unsupported for a mode that the descriptor does not declare."""

    @abstractmethod
    async def store(self, item: StoreItem) -> StoreReceipt:
        """Store `item` under its fingerprint, readable on return; an item already held is a replay."""

    @abstractmethod
    async def forget(self, target: ForgetTarget) -> ForgetReport:
        """Remove items from reading; an unknown id counts as nothing. Ids are not confined to a reach."""

    @abstractmethod
    async def list(self, req: ListRequest) -> ListPage:
        """Items that match, in the engine's own order, each once until `next_cursor` is None. Scores are 0.0."""

    async def aclose(self) -> None:  # noqa: B027 (an engine may hold nothing)
        """Let go of files, connections and threads; the engine is not used afterwards."""

    def refresh(self) -> None:  # noqa: B027 (an engine may keep nothing)
        """Read anew, from the next call on, what was kept of earlier reads. Not in memory-v2."""

    def waiting(self) -> Waiting | None:
        """Until when the server asked not to be asked; None where it did not. Not in memory-v2."""
        return None

    def details(self) -> Listed[Detail]:
        """What is worth knowing of the connection, each by its name. Not in memory-v2."""
        return []

    async def explore(self, req: ExploreRequest) -> ExplorePage:
        """The values of one facet among the items that match, counted."""
        return await explore_by_listing(self, req)

    async def explore_many(self, reqs: Listed[ExploreRequest]) -> Listed[ExplorePage]:
        """One page per request, in order. Not in memory-v2: an engine that can count in one pass overrides it.

        The default lists once for all requests of one filter, unless the engine counts by itself.
        """
        if type(self).explore is MemoryEngine.explore:
            return await explore_many_by_listing(self, reqs)
        return [await self.explore(req) for req in reqs]

    async def explore_gradually(self, reqs: Listed[ExploreRequest]) -> AsyncIterator[Listed[ExplorePage]]:
        """As `explore_many`, again and again while it counts: the last pages are the answer. Not in memory-v2.

        Those before it are lower bounds, marked `truncated`. The default counts once and yields once.
        """
        yield await self.explore_many(reqs)

    async def namespaces(self, filter: MetaFilter, scan_limit: int = DEFAULT_SCAN) -> ExplorePage:
        """Every node that holds an item the filter admits, its reach aside, with the count of its own items.

        Not in memory-v2. Buckets are not cut. An engine that knows its nodes overrides this and names sandboxes too;
        the default counts a listing of the root's subtree, which never enters one.
        """
        return await explore_by_listing(
            self,
            ExploreRequest(
                facet=Facet.NAMESPACE,
                filter=filter.model_copy(update={"reach": EVERYTHING}),
                limit=1,
                scan_limit=scan_limit,
            ),
            uncut=True,
        )

    async def histogram(self, req: HistogramRequest) -> Histogram:
        """The items that match, counted over time. Not in memory-v2: an engine that counts by itself overrides it."""
        return await histogram_by_listing(self, req)

    async def changes(self, filter: MetaFilter, since: str | None = None) -> Changes | None:
        """What became of the items that `filter` admits since a mark of before. Not in memory-v2.

        Cheap enough to be asked every other second; None from an engine that does not know.
        """
        return None

    def sorts(self) -> frozenset[SortBy]:
        """What `list_span` can sort by; none where the engine does not offer it. Not in memory-v2."""
        return frozenset()

    async def list_span(self, req: SpanRequest) -> Span:
        """Part of a listing in the order asked, from any place on. Not in memory-v2.

        Raises Unsupported where `sorts` is empty.
        A listing stays as it was begun while items come and go, until the engine forgets it.
        """
        req.check()
        raise Unsupported(f"engine `{self.descriptor().id}` lists in its own order only")

    async def get(self, req: GetRequest) -> Listed[Hit]:
        """The items named, whole, in the order asked, each once; unknown or out-of-reach ids are left out."""
        return await get_by_listing(self, req)

    async def get_items(self, req: GetRequest) -> Listed[Exported]:
        """As `get`, but each item as it was stored. Not in memory-v2.

        The default finds them among exports; raises Unsupported where the engine does not export. Items that it
        holds only part of are left out.
        """
        return await get_items_by_export(self, req)

    async def store_many(self, items: Listed[StoreItem]) -> Listed[StoreReceipt]:
        """1 to 100 items; receipts in their order, a repeat inside the batch is a replay of its first copy."""
        check_batch(items)
        return [await self.store(item) for item in items]

    async def store_with(self, item: StoreItem, options: StoreOptions) -> StoreReceipt:
        """As `store`; an engine that can answer before the item is visible does so for `Wait.ACCEPTED`."""
        return await self.store(item)

    async def store_many_with(self, items: Listed[StoreItem], options: StoreOptions) -> Listed[StoreReceipt]:
        return await self.store_many(items)

    async def list_preview(self, req: ListRequest) -> ListPage:
        """As `list`, but a hit's text may be only the start of the item."""
        return await self.list(req)

    async def export(self, req: ListRequest) -> ExportPage:
        """As `list`, but each item whole as it was stored. Raises Unsupported where the engine does not export."""
        req.check()
        raise Unsupported(f"engine `{self.descriptor().id}` does not export items")

    async def erase(self, req: EraseRequest) -> EraseReport:
        """Delete for good at the nodes named. Raises Unsupported where the engine cannot: then forget."""
        req.check()
        raise Unsupported(f"engine `{self.descriptor().id}` does not erase")

    async def forget_within(self, ids: Listed[ItemId], reach: Reach | None) -> ForgetReport:
        """Forget those of `ids` that `reach` admits; none found is a report of 0."""
        if not ids:
            raise InvalidRequest("forget needs at least one id")
        if any(map(is_blank, ids)):
            raise InvalidRequest("an id must not be blank")
        unique = list(dict.fromkeys(ids))
        found: Listed[ItemId] = []
        for start in range(0, len(unique), MAX_GET_IDS):
            batch = GetRequest(ids=unique[start : start + MAX_GET_IDS], reach=reach)
            found += [hit.id for hit in await self.get(batch)]
        return await self.forget(ForgetTarget(ids=found)) if found else ForgetReport(forgotten=0)

    async def consolidate(self, req: ConsolidateRequest) -> ConsolidateReceipt:
        """Distil beliefs from what is stored. Raises Unsupported where the descriptor declares none."""
        req.check()
        raise Unsupported(f"engine `{self.descriptor().id}` does not consolidate memory")

    async def beliefs(self, req: BeliefsRequest) -> Listed[Hit]:
        """What the engine derived: learnings tagged `belief`, not stored items."""
        req.check()
        return []

    async def fetch_explained(self, req: FetchRequest) -> ExplainedPage:
        """As `fetch`, and why each hit is where it is. Not in memory-v2; Unsupported where the engine does not know."""
        req.check()
        raise Unsupported(f"engine `{self.descriptor().id}` does not explain its scores")

    def refuse_undeclared(self, mode: FetchMode) -> None:
        """Raise Unsupported for a mode that the descriptor does not list."""
        if mode not in self.descriptor().fetch_modes:
            raise Unsupported(f"engine `{self.descriptor().id}` does not offer {mode} fetch")


async def explore_by_listing(engine: MemoryEngine, req: ExploreRequest, *, uncut: bool = False) -> ExplorePage:
    """Count a facet over pages of `list`, at most `req.scan_limit` items; `uncut` keeps every bucket."""
    req.check()
    (page,) = await _count_listing(engine, [req], uncut=uncut)
    return page


async def explore_many_by_listing(engine: MemoryEngine, reqs: list[ExploreRequest]) -> list[ExplorePage]:
    """One page per request, in order; requests that share filter and scan limit share a listing."""
    groups: dict[tuple[str, int], list[int]] = {}
    for position, req in enumerate(reqs):
        req.check()
        groups.setdefault((req.filter.model_dump_json(), req.scan_limit), []).append(position)
    pages: dict[int, ExplorePage] = {}
    for positions in groups.values():
        counted = await _count_listing(engine, [reqs[position] for position in positions], uncut=False)
        pages.update(zip(positions, counted, strict=True))
    return [pages[position] for position in range(len(reqs))]


async def _count_listing(engine: MemoryEngine, reqs: list[ExploreRequest], *, uncut: bool) -> list[ExplorePage]:
    filter, scan_limit = reqs[0].filter, reqs[0].scan_limit
    counts: list[Counter[str]] = [Counter() for _ in reqs]
    missing = [0] * len(reqs)
    total, is_cut = 0, False
    async for hits, has_more in _listed(engine, filter, scan_limit):
        is_cut = has_more
        total += len(hits)
        for position, req in enumerate(reqs):
            for hit in hits:
                values = req.facet.values(hit.kind, hit.meta)
                missing[position] += not values
                counts[position].update(values)
    pages = []
    for req, count, without in zip(reqs, counts, missing, strict=True):
        buckets, more = rank_buckets(count, len(count) if uncut else req.limit)
        pages.append(
            ExplorePage(
                facet=req.facet,
                buckets=buckets,
                total=total,
                missing=without,
                more_buckets=more,
                truncated=is_cut,
            )
        )
    return pages


async def histogram_by_listing(engine: MemoryEngine, req: HistogramRequest) -> Histogram:
    """Count over time over pages of `list`, at most `req.scan_limit` items."""
    req.check()
    zone = zone_named(req.zone)
    days: Counter[date] = Counter()
    undated, is_cut = 0, False
    async for hits, has_more in _listed(engine, req.filter, req.scan_limit):
        is_cut = has_more
        moments = [hit.meta.observed_at for hit in hits]
        undated += moments.count(None)
        days.update(day_of(moment, zone) for moment in moments if moment is not None)
    return Histogram.of_days(req, days, undated=undated, truncated=is_cut)


async def _listed(engine: MemoryEngine, filter: MetaFilter, scan_limit: int) -> AsyncIterator[tuple[Listed[Hit], bool]]:
    """The pages of a listing up to `scan_limit` items, each with whether the listing goes on after it."""
    total = empty = 0
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        size = min(_PAGE, scan_limit - total)
        page = await engine.list(ListRequest(filter=filter, limit=size, cursor=cursor))
        total += len(page.items)
        empty = 0 if page.items else empty + 1
        cursor = page.next_cursor
        yield page.items, cursor is not None
        # A cursor met before comes from a broken engine; following it would count forever.
        if cursor is None or total >= scan_limit or cursor in seen or empty > _MAX_IDLE_PAGES:
            return
        seen.add(cursor)


async def get_by_listing(engine: MemoryEngine, req: GetRequest) -> list[Hit]:
    """Look for ids in pages of `list` under the request's reach, until all are found or the listing ends.

    Raises EngineFailure where it does not end: what was not found may be there all the same.
    """
    req.check()
    wanted = set(req.ids)
    found: dict[ItemId, Hit] = {}
    progress = _Progress(engine)
    cursor: str | None = None
    seen: set[str] = set()
    while len(found) < len(wanted):
        page = await engine.list(ListRequest(filter=MetaFilter(reach=req.reach), limit=_PAGE, cursor=cursor))
        found.update((hit.id, hit) for hit in page.items if hit.id in wanted)
        cursor = page.next_cursor
        if cursor is None or cursor in seen:
            break
        progress.note({hit.id for hit in page.items})
        seen.add(cursor)
    return [found[id] for id in dict.fromkeys(req.ids) if id in found]


async def get_items_by_export(engine: MemoryEngine, req: GetRequest) -> list[Exported]:
    """Whole items by id, in the order asked: each is looked for among the exports that share its metadata."""
    return [found for hit in await engine.get(req) if (found := await _exported(engine, hit)) is not None]


def alike(hit: Hit) -> MetaFilter:
    """The filter of an item's own metadata, which admits it and the others that share all of it, or are newer."""
    meta = hit.meta
    return MetaFilter(
        reach=Reach.exact(meta.namespace),
        workspace=meta.workspace,
        folder=meta.folder,
        file_path=meta.file_path,
        language=meta.language,
        repo=meta.repo,
        commit=meta.commit,
        url=meta.url,
        thread_id=meta.thread_id,
        turns=meta.turns,
        agent_id=meta.agent_id,
        tool_call=meta.tool_call.name if meta.tool_call else None,
        source_id=meta.source.id,
        kinds=[hit.kind],
        sources=[meta.source.kind],
        observed_after=meta.observed_at,
    )


async def _exported(engine: MemoryEngine, hit: Hit) -> Exported | None:
    filter = alike(hit)
    progress = _Progress(engine)
    cursor: str | None = None
    seen: set[str] = set()
    while True:
        page = await engine.export(ListRequest(filter=filter, limit=_PAGE, cursor=cursor))
        for exported in page.items:
            if exported.id == hit.id:
                return exported
        cursor = page.next_cursor
        if cursor is None or cursor in seen:
            return None
        progress.note({exported.id for exported in page.items} | set(page.incomplete))
        seen.add(cursor)


class _Progress:
    """Whether the pages of a listing bring anything that the one before did not, and so may come to an end."""

    def __init__(self, engine: MemoryEngine) -> None:
        self._engine = engine
        self._before: set[ItemId] = set()
        self._idle = 0

    def note(self, ids: set[ItemId]) -> None:
        """Raises EngineFailure once pages have brought nothing for too long."""
        self._idle = 0 if ids - self._before else self._idle + 1
        self._before = ids or self._before
        if self._idle > _MAX_IDLE_PAGES:
            raise EngineFailure(f"engine `{self._engine.descriptor().id}` never came to the end of its listing")
