"""The questions that a window asks about a memory, answered from a snapshot of it.

`scan_limit` bounds nothing here: a snapshot is read whole, and a count says that it is cut where the server names no
more scopes, or a scope has more pages than are read.
"""

from __future__ import annotations

import asyncio
import itertools
import secrets
from collections import OrderedDict
from collections.abc import AsyncIterator, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.contract import (
    Changes,
    ExplorePage,
    ExploreRequest,
    Facet,
    Histogram,
    HistogramRequest,
    Hit,
    ItemId,
    MetaFilter,
    Span,
    SpanRequest,
    rank_buckets,
)
from explorer.contract.timestamp import zone_named
from explorer.engines.cortex.reading import opening
from explorer.engines.cortex.rows import Array, Table
from explorer.engines.cortex.snapshot import Snapshot

STEP_S = 0.3
"""Between the lower bounds of a count that goes on."""
PATIENCE_S = 1.0
"""How long a listing waits for all of it, before it shows what there is."""
_KEPT = 4


@dataclass(frozen=True, slots=True)
class Listing:
    """Rows in one order, as they were when it was begun."""

    name: str
    question: str
    table: Table
    rows: Array


class Browsing:
    def __init__(self, snapshot: Snapshot) -> None:
        self._snapshot = snapshot
        self._listings: OrderedDict[str, Listing] = OrderedDict()
        self._begin = secrets.token_hex(4)  # so that no name or mark of before means one of these
        self._numbers = itertools.count()

    async def explore_many(self, reqs: Sequence[ExploreRequest]) -> list[ExplorePage]:
        for req in reqs:
            req.check()
        pages, _ = await self._explored(reqs, None)
        return pages

    async def explore_gradually(self, reqs: Sequence[ExploreRequest]) -> AsyncIterator[list[ExplorePage]]:
        for req in reqs:
            req.check()
        time = asyncio.get_running_loop().time
        shown = None
        is_whole = False
        while not is_whole:
            pages, is_whole = await self._explored(reqs, time() + STEP_S)
            if is_whole or shown != self._snapshot.generation:
                shown = self._snapshot.generation
                yield pages

    async def _explored(self, reqs: Sequence[ExploreRequest], until: float | None) -> tuple[list[ExplorePage], bool]:
        """The pages, and whether all that they count is read."""
        tables: dict[str, Table] = {}
        keys = [req.filter.model_dump_json() for req in reqs]
        for key, req in zip(keys, reqs, strict=True):
            if key not in tables:
                tables[key] = await self._snapshot.table(req.filter.reach, req.filter.kinds, until=until)

        def count() -> list[ExplorePage]:
            admitted = {
                key: tables[key].admitted(req.filter) for key, req in dict(zip(keys, reqs, strict=True)).items()
            }
            return [
                _page(tables[key], admitted[key], req.facet, req.limit) for key, req in zip(keys, reqs, strict=True)
            ]

        return await asyncio.to_thread(count), all(table.is_whole for table in tables.values())

    async def namespaces(self, filter: MetaFilter, scan_limit: int) -> ExplorePage:
        ExploreRequest(facet=Facet.NAMESPACE, filter=filter, limit=1, scan_limit=scan_limit).check()
        table = await self._snapshot.table(None, filter.kinds, everywhere=True)
        return await asyncio.to_thread(
            lambda: _page(table, table.admitted(filter, everywhere=True), Facet.NAMESPACE, None)
        )

    async def histogram(self, req: HistogramRequest) -> Histogram:
        req.check()
        zone = zone_named(req.zone)
        table = await self._snapshot.table(req.filter.reach, req.filter.kinds)

        def count() -> Histogram:
            days, undated = table.days(table.admitted(req.filter), zone)
            return Histogram.of_days(req, days, undated=undated, truncated=_is_cut(table))

        return await asyncio.to_thread(count)

    async def changes(self, filter: MetaFilter, since: str | None) -> Changes:
        """No request is made once the scopes are read; what other programs do shows after a refresh."""
        table = await self._snapshot.table(filter.reach, filter.kinds)
        begin, _, version = (since or "").partition(".")
        mark = f"{self._begin}.{self._snapshot.version}"

        def count() -> Changes:
            rows = table.admitted(filter)
            added = table.added(rows, int(version)) if begin == self._begin else None
            return Changes(mark=mark, total=len(rows), added=added)

        changes = await asyncio.to_thread(count)
        await self._snapshot.save()  # here, where nobody waits for the answer
        return changes

    async def list_span(self, req: SpanRequest) -> Span:
        req.check()
        until = asyncio.get_running_loop().time() + PATIENCE_S
        table = await self._snapshot.table(req.filter.reach, req.filter.kinds, until=until)
        listing = await self._listing(req, table)
        rows = listing.rows[req.offset : req.offset + req.limit].tolist()
        is_held = [self._is_held(listing.table, row) for row in rows]

        def hits() -> tuple[list[Hit | None], int | None]:
            shown = [_hit(listing.table, row) if held else None for row, held in zip(rows, is_held, strict=True)]
            return shown, _place(listing, req.place_of)

        items, place = await asyncio.to_thread(hits)
        return Span(
            items=items,
            total=len(listing.rows),
            listing=listing.name,
            place=place,
            is_partial=not (listing.table.is_whole and table.is_whole),
            is_cut=listing.table.is_cut,
        )

    async def _listing(self, req: SpanRequest, table: Table) -> Listing:
        """The one that a request names, else one of what there is now."""
        question = f"{req.order!r} {req.filter.model_dump_json()}"
        kept = self._listings.get(req.listing or "")
        if kept is None or kept.question != question:
            alike = (one for one in self._listings.values() if one.question == question and one.table is table)
            kept = next(alike, None)
        if kept is None:
            rows = await asyncio.to_thread(lambda: table.ordered(table.admitted(req.filter), req.order))
            kept = Listing(f"{self._begin}.{next(self._numbers)}", question, table, rows)
            self._listings[kept.name] = kept
            if len(self._listings) > _KEPT:
                self._listings.popitem(last=False)
        self._listings.move_to_end(kept.name)
        return kept

    def _is_held(self, table: Table, row: int) -> bool:
        part, at = table.row(row)
        return self._snapshot.holds(part.path, part.ids[at])


def _page(table: Table, rows: Array, facet: Facet, limit: int | None) -> ExplorePage:
    counts, missing = table.counts(facet, rows)
    buckets, more = rank_buckets(counts, len(counts) if limit is None else limit)
    return ExplorePage(
        facet=facet,
        buckets=buckets,
        total=len(rows),
        missing=missing,
        more_buckets=more,
        truncated=_is_cut(table),
    )


def _is_cut(table: Table) -> bool:
    return table.is_cut or not table.is_whole


def _hit(table: Table, row: int) -> Hit:
    part, at = table.row(row)
    return opening(part.envelope(at))


def _place(listing: Listing, id: ItemId | None) -> int | None:
    if id is None or id not in listing.table.ids:
        return None
    found = np.flatnonzero(listing.rows == listing.table.ids.index(id))
    return int(found[0]) if len(found) else None
