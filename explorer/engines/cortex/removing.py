"""Forgetting and erasing: what goes is exactly what was asked for.

Source: cortex, "Forget", "Erasures", "forget", "erase".
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable, Mapping, Sequence

from explorer.contract import (
    Conflict,
    EraseReport,
    EraseRequest,
    ForgetReport,
    ForgetTarget,
    InvalidRequest,
    ItemId,
    MemoryMeta,
    MetaFilter,
    NotFound,
    Reach,
    Unsupported,
    admitted_by,
    is_blank,
)
from explorer.engines.cortex.labels import narrowing
from explorer.engines.cortex.reading import NOWHERE, Likely
from explorer.engines.cortex.walking import Found, Site, Walk
from explorer.engines.cortex.wires import MAX_FORGOTTEN, batches


class Removing:
    """`on_changed` is told the path of each scope that something may have gone from."""

    def __init__(self, walk: Walk, on_changed: Callable[[str], None]) -> None:
        self._walk = walk
        self._on_changed = on_changed

    async def forget(self, target: ForgetTarget, likely: Likely = NOWHERE) -> ForgetReport:
        """An error part way leaves forgotten what was; asking again is safe."""
        target.check()
        if target.filter is not None:
            return await self._forget_matching(target.filter)
        return await self._forget_ids(target.ids or [], likely, self._walk.everywhere, lambda site: True)

    async def forget_within(self, ids: Sequence[ItemId], reach: Reach | None, likely: Likely = NOWHERE) -> ForgetReport:
        if not ids:
            raise InvalidRequest("forget needs at least one id")
        if any(map(is_blank, ids)):
            raise InvalidRequest("an id must not be blank")
        return await self._forget_ids(
            ids,
            likely,
            lambda: self._walk.sites(reach, complete=True),
            lambda site: admitted_by(reach, site.scope.namespace),
        )

    async def _forget_ids(
        self,
        ids: Iterable[ItemId],
        likely: Likely,
        list_sites: Callable[[], Awaitable[list[Site]]],
        is_meant: Callable[[Site], bool],
    ) -> ForgetReport:
        """Looks in the likely scopes first, and for what is not there in all that `list_sites` names.

        An id is a hash of the item's kind and node too, so that it is in no other scopes than theirs.
        """
        wanted = list(dict.fromkeys(ids))
        near: dict[Site, list[ItemId]] = {}
        for path, there in likely.items():
            for site in filter(is_meant, self._walk.twins(path)):
                near[site] = [*near.get(site, []), *there]
        held = await self._walk.look_up(near)
        found = {id for by_id in held.values() for id in by_id}
        rest = [id for id in wanted if id not in found]
        if rest:
            for site, by_id in (await self._walk.look_up({site: rest for site in await list_sites()})).items():
                held[site] = {**held.get(site, {}), **by_id}
        forgotten: set[ItemId] = set()
        for site, by_id in held.items():
            forgotten |= await self._remove(site, [event for events in by_id.values() for event in events])
        return ForgetReport(forgotten=len(forgotten))

    async def _forget_matching(self, filter: MetaFilter) -> ForgetReport:
        labels = narrowing(filter)
        forgotten: set[ItemId] = set()
        for site in await self._walk.sites(filter.reach, filter.kinds, complete=True):
            pages = self._walk.pages(site, labels)
            events = [found async for page in pages for found in page if found.envelope.matches(filter)]
            forgotten |= await self._remove(site, events)
        return ForgetReport(forgotten=len(forgotten))

    async def _remove(self, site: Site, events: Sequence[Found]) -> set[ItemId]:
        """The items of which at least one event went."""
        item_of = {found.event_id: found.id for found in events}
        gone: set[ItemId] = set()
        for batch in batches(list(item_of), MAX_FORGOTTEN):
            try:
                went = await self._forget_events(site, batch, item_of)
            finally:
                self._on_changed(site.path)
            gone.update(item_of[event_id] for event_id in went)
        return gone

    async def _forget_events(self, site: Site, event_ids: Sequence[str], item_of: Mapping[str, ItemId]) -> list[str]:
        """Those of the events that went by this call: one that was gone before must not keep the others."""
        try:
            await self._walk.wire.forget(site.path, event_ids)
        except (NotFound, InvalidRequest, Conflict):
            if len(event_ids) == 1:
                if await self._is_held(site, event_ids[0], item_of):
                    raise
                return []
        else:
            return list(event_ids)
        middle = len(event_ids) // 2
        return [
            *await self._forget_events(site, event_ids[:middle], item_of),
            *await self._forget_events(site, event_ids[middle:], item_of),
        ]

    async def _is_held(self, site: Site, event_id: str, item_of: Mapping[str, ItemId]) -> bool:
        id = item_of[event_id]
        held = await self._walk.look_up({site: [id]})
        return any(found.event_id == event_id for found in held[site].get(id, ()))

    async def erase(self, req: EraseRequest) -> EraseReport:
        """For a checked request. Raises Unsupported, before anything goes, where the server would take more than it."""
        wire = self._walk.wire
        if wire.hosted and req.is_whole_tree:
            return EraseReport(erased_scopes=await wire.erase_everything())
        named = await self._walk.named(req.reach.at, complete=True)
        sites = {path: self._walk.site(path) for path in named.paths}
        meant = {site.path: site for site in sites.values() if site is not None and _is_meant(site, req)}
        held = dict.fromkeys(site.path if site is not None else path for path, site in sites.items())
        self._refuse_hiding(meant, [path for path in held if path not in meant])
        erased, receipts = 0, []
        # The server only hides what is below an erased scope, and keeps its write keys.
        for site in sorted(sorted(meant.values(), key=lambda site: site.order), key=lambda site: -site.path.count("/")):
            try:
                report = await wire.erase(site.path)
            finally:
                self._on_changed(site.path)
            erased += report.scopes
            receipts += report.receipts
        return EraseReport(erased_scopes=erased, receipts=receipts)

    def _refuse_hiding(self, meant: Iterable[str], kept: Iterable[str]) -> None:
        above = {f"{path}/": path for path in meant}
        for path in kept:
            # Hosted, a path of no layout still has the tenant's prefix.
            prefix, _, rest = path.partition("/")
            bare = rest if self._walk.wire.hosted and prefix.startswith("org:") else path
            for start, erased in above.items():
                if path.startswith(start) or bare.startswith(start):
                    raise Unsupported(
                        f"erasing `{erased}` would hide `{path}` as well, which lies below it and was not asked for; "
                        "forget the items instead"
                    )


def _is_meant(site: Site, req: EraseRequest) -> bool:
    return req.admits(site.scope.kind, MemoryMeta(namespace=site.scope.namespace))
