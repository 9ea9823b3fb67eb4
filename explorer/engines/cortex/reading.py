"""Listing, reading by id, exporting and counting: always from the server.

Source: cortex, "list", "get", "export", "explore and health", "Rebuilding an item".
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from contextlib import aclosing
from functools import partial

from explorer.contract import (
    Document,
    DocumentBody,
    EngineFailure,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    GetRequest,
    Hit,
    ItemId,
    ListPage,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    StoreItem,
    admitted_by,
    rank_buckets,
)
from explorer.engines.cortex.envelope import Envelope, rebuild
from explorer.engines.cortex.labels import narrowing
from explorer.engines.cortex.walking import MAX_PAGES, Bookmark, EndlessListing, Found, Site, Walk, in_order

Shown = dict[ItemId, tuple[Site, Found]]
"""Items in order, each by the scope and the event that show it."""

Likely = Mapping[str, Sequence[ItemId]]
"""By the path of a scope, the items that were there before: it is asked for them first."""

NOWHERE: Likely = {}


class Reading:
    def __init__(self, walk: Walk) -> None:
        self._walk = walk

    async def listing(self, req: ListRequest) -> ListPage:
        """Whole items: one that cannot be put together is left out, so a page may be short and still have a cursor."""
        req.check()
        shown, cursor, is_cut = await self._shown(req, complete=False)
        items = await self.assembled(shown)
        hits = [Hit.of_item(id, item) for id in shown if (item := items.get(id)) is not None]
        return ListPage(items=hits, next_cursor=cursor, is_cut=is_cut)

    async def preview(self, req: ListRequest) -> ListPage:
        """The same items, each by its first event alone."""
        req.check()
        shown, cursor, is_cut = await self._shown(req, complete=False)
        hits = [opening(found.envelope) for _, found in shown.values()]
        return ListPage(items=hits, next_cursor=cursor, is_cut=is_cut)

    async def export(self, req: ListRequest) -> ExportPage:
        """Raises EngineFailure where the server does not name every scope: an export leaves nothing out unsaid."""
        req.check()
        shown, cursor, _ = await self._shown(req, complete=True)
        items = await self.assembled(shown)
        return ExportPage(
            items=[_exported(id, items[id]) for id in shown if id in items],
            incomplete=[id for id in shown if id not in items],
            next_cursor=cursor,
        )

    async def get(self, req: GetRequest, likely: Likely = NOWHERE) -> list[Hit]:
        return [Hit.of_item(id, item) for id, item in await self._got(req, likely)]

    async def get_items(self, req: GetRequest, likely: Likely = NOWHERE) -> list[Exported]:
        return [_exported(id, item) for id, item in await self._got(req, likely)]

    async def explore(self, req: ExploreRequest) -> ExplorePage:
        """Counts each item at the event that starts it; a count that was cut short is marked `truncated`."""
        req.check()
        sites, is_cut = await self._walk.reached(req.filter.reach, req.filter.kinds)
        tally = _Tally(req, is_cut=is_cut)
        await in_order([partial(self._count, site, tally) for site in sites])
        return tally.page()

    # --- how

    async def _shown(self, req: ListRequest, *, complete: bool) -> tuple[Shown, str | None, bool]:
        """Up to `req.limit` items from the cursor on, the cursor after them, and whether the server named only some of
        the scopes.
        """
        filter, walk = req.filter, self._walk
        mark = Bookmark.read(req.cursor) if req.cursor is not None else None
        sites, is_cut = await walk.reached(filter.reach, filter.kinds, complete=complete)
        if mark is not None:
            sites = self._from(sites, mark)
        labels = narrowing(filter)
        shown: Shown = {}
        pages, most = 0, MAX_PAGES + len(sites)
        for site in sites:
            at = mark if mark is not None and mark.scope == site.path else Bookmark(site.path)
            while True:
                pages += 1
                if pages > most:
                    raise EngineFailure(f"{walk.wire.label}: the listing has no end: {most} pages were read for it")
                page = await walk.page(site, labels, at.engine)
                events = page.events
                position, last = _resumed(at, [raw.id for raw in events]), at.last
                reads = [walk.read(site, raw) for raw in {raw.id: raw for raw in events[position:]}.values()]
                matching = {found.event_id: found for found in reads if found is not None and _is_shown(found, filter)}
                hidden = await walk.superseded(site, [found.id for found in matching.values()])
                while position < len(events) and len(shown) < req.limit:
                    is_copy, last = events[position].id == last, events[position].id
                    found = None if is_copy else matching.get(last)
                    if found is not None and found.id not in hidden:
                        shown.setdefault(found.id, (site, found))
                    position += 1
                while position < len(events) and events[position].id == last:  # the copy of the last one read
                    position += 1
                is_read = position == len(events)
                if len(shown) == req.limit and not (is_read and page.next_cursor is None and site is sites[-1]):
                    return shown, Bookmark(site.path, at.engine, position, last).write(), is_cut
                if page.next_cursor is None:
                    break
                at = Bookmark(site.path, page.next_cursor, 0, last)
        return shown, None, is_cut

    def _from(self, sites: list[Site], mark: Bookmark) -> list[Site]:
        """The sites from the mark's on, or, where that is gone, from the next one in order."""
        for position, site in enumerate(sites):
            if site.path == mark.scope:
                return sites[position:]
        gone = self._walk.site(mark.scope)
        return [site for site in sites if gone is not None and site.order > gone.order]

    async def assembled(self, shown: Shown) -> dict[ItemId, StoreItem]:
        """Each item whole; those whose parts are not all there are left out. An item of one event is not looked up."""
        wanted: dict[Site, list[ItemId]] = {}
        for id, (site, found) in shown.items():
            if not found.is_whole:
                wanted.setdefault(site, []).append(id)
        held = await self._walk.look_up(wanted)
        items: dict[ItemId, StoreItem] = {}
        for id, (site, found) in shown.items():
            item = _rebuilt([found] if found.is_whole else held[site].get(id, []))
            if item is not None:
                items[id] = item
        return items

    async def _got(self, req: GetRequest, likely: Likely) -> list[tuple[ItemId, StoreItem]]:
        req.check()
        ids = list(dict.fromkeys(req.ids))
        items: dict[ItemId, StoreItem] = {}
        for held in (await self._walk.look_up(self._near(req, likely))).values():
            _take(items, req, held)
        if len(items) < len(ids):
            for site in await self._walk.sites(req.reach):
                missing = [id for id in ids if id not in items]
                if not missing:
                    break
                _take(items, req, (await self._walk.look_up({site: missing}))[site])
        return [(id, items[id]) for id in ids if id in items]

    def _near(self, req: GetRequest, likely: Likely) -> dict[Site, Sequence[ItemId]]:
        """The likely scopes that are in reach, in reading order."""
        near = {site: ids for path, ids in likely.items() if (site := self._walk.site(path)) is not None}
        admitted = [site for site in near if admitted_by(req.reach, site.scope.namespace)]
        return {site: near[site] for site in sorted(admitted, key=lambda site: site.order)}

    async def _count(self, site: Site, tally: _Tally) -> None:
        if tally.is_over():
            return
        try:
            async with aclosing(self._walk.pages(site, narrowing(tally.req.filter))) as pages:
                async for page in pages:
                    for found in page:
                        if _is_shown(found, tally.req.filter):
                            tally.add(found)
                    if tally.is_over():
                        return
        except EndlessListing:
            tally.is_cut = True


class _Tally:
    """The values of a facet, counted up to the request's `scan_limit` of items."""

    def __init__(self, req: ExploreRequest, *, is_cut: bool) -> None:
        self.req = req
        self.is_cut = is_cut
        self._is_over = False
        self._ids: set[ItemId] = set()
        self._counts: Counter[str] = Counter()
        self._missing = 0

    def is_over(self) -> bool:
        """Whether there is more than may be counted; exactly as many as that is not more."""
        return self._is_over

    def add(self, found: Found) -> None:
        if found.id in self._ids:
            return
        if len(self._ids) == self.req.scan_limit:
            self._is_over = self.is_cut = True
            return
        self._ids.add(found.id)
        values = self.req.facet.values(found.envelope.kind, found.envelope.meta)
        self._missing += not values
        self._counts.update(values)

    def page(self) -> ExplorePage:
        buckets, more = rank_buckets(self._counts, self.req.limit)
        return ExplorePage(
            facet=self.req.facet,
            buckets=buckets,
            total=len(self._ids),
            missing=self._missing,
            more_buckets=more,
            truncated=self.is_cut,
        )


def opening(envelope: Envelope, meta: MemoryMeta | None = None, score: float = 0.0) -> Hit:
    """What one event tells of its item: all of it, its first turn, or one piece. `meta` stands in for the item's."""
    item = rebuild([envelope])
    if item is None:  # a piece
        item = Document(title=envelope.title, body=DocumentBody(text=envelope.text))
    return Hit(
        id=ItemId(envelope.id),
        kind=envelope.kind,
        text=item.render_text(),
        meta=meta if meta is not None else envelope.meta,
        score=score,
        confidence=item.confidence_or_none,
    )


def _is_shown(found: Found, filter: MetaFilter) -> bool:
    return found.starts and found.envelope.matches(filter)


def _resumed(mark: Bookmark, ids: Sequence[str]) -> int:
    """Where in a page the listing goes on: after the event read last, though others came or went before it."""
    if mark.last is not None and mark.last in ids:
        return len(ids) - ids[::-1].index(mark.last)
    return mark.offset


def _rebuilt(events: Iterable[Found]) -> StoreItem | None:
    envelopes = [found.envelope for found in events]
    return rebuild(envelopes) if envelopes else None


def _take(items: dict[ItemId, StoreItem], req: GetRequest, held: Mapping[ItemId, Sequence[Found]]) -> None:
    """Add the items that are whole and in reach; one that is there already is of a scope that goes before."""
    for id, events in held.items():
        item = _rebuilt(found for found in events if admitted_by(req.reach, found.envelope.meta.namespace))
        if item is not None:
            items.setdefault(id, item)


def _exported(id: ItemId, item: StoreItem) -> Exported:
    return Exported.model_validate({"id": id, "item": item})
