"""Forgetting and erasing: what goes is exactly what was asked for.

Source: cortex, "Forget", "Erasures", "forget", "erase".
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable, Collection, Iterable, Iterator, Mapping, Sequence

from explorer.contract import (
    Conflict,
    EngineFailure,
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
    TinyMemoryError,
    Unsupported,
    admitted_by,
    is_blank,
)
from explorer.engines.cortex.labels import narrowing
from explorer.engines.cortex.reading import NOWHERE, Likely
from explorer.engines.cortex.walking import Found, Lookup, Site, Walk
from explorer.engines.cortex.wires import MAX_FORGOTTEN, Erased, batches


class Removing:
    """`on_changed` is told the path of each scope that something is to go from, and again when it may have gone."""

    def __init__(self, walk: Walk, on_changed: Callable[[str], None]) -> None:
        self._walk = walk
        self._on_changed = on_changed

    async def forget(self, target: ForgetTarget, likely: Likely = NOWHERE, *, knows_all: bool = False) -> ForgetReport:
        """An error part way leaves forgotten what was; asking again is safe.

        `knows_all`: what is in a likely scope is in no other.
        """
        target.check()
        if target.filter is not None:
            return await self._forget_matching(target.filter)
        ids = target.ids or []
        return await self._forget_ids(ids, likely, self._walk.everywhere, lambda site: True, knows_all=knows_all)

    async def forget_within(
        self, ids: Sequence[ItemId], reach: Reach | None, likely: Likely = NOWHERE, *, knows_all: bool = False
    ) -> ForgetReport:
        if not ids:
            raise InvalidRequest("forget needs at least one id")
        if any(map(is_blank, ids)):
            raise InvalidRequest("an id must not be blank")
        return await self._forget_ids(
            ids,
            likely,
            lambda: self._walk.sites(reach, complete=True),
            lambda site: admitted_by(reach, site.scope.namespace),
            knows_all=knows_all,
        )

    async def _forget_ids(
        self,
        ids: Iterable[ItemId],
        likely: Likely,
        list_sites: Callable[[], Awaitable[list[Site]]],
        is_meant: Callable[[Site], bool],
        *,
        knows_all: bool,
    ) -> ForgetReport:
        """Looks in the likely scopes, and in all that `list_sites` names: another program may have copied an item."""
        wanted = list(dict.fromkeys(ids))
        near: dict[Site, list[ItemId]] = {}
        for path, there in likely.items():
            for site in filter(is_meant, self._walk.twins(path)):
                near[site] = [*near.get(site, []), *there]
        held: Lookup = await self._walk.look_up(near) if knows_all else {}
        found = {id for by_id in held.values() for id in by_id}
        rest = [id for id in wanted if id not in found]
        if rest:
            # The likely ones again: the server may not name them yet.
            sites = [*await list_sites(), *near]
            for site, by_id in (await self._walk.look_up(dict.fromkeys(sites, rest))).items():
                held[site] = {**held.get(site, {}), **by_id}
        forgotten: set[ItemId] = set()
        with _telling(forgotten):
            for site, by_id in held.items():
                await self._remove(site, [event for events in by_id.values() for event in events], forgotten)
        return ForgetReport(forgotten=len(forgotten))

    async def _forget_matching(self, filter: MetaFilter) -> ForgetReport:
        labels = narrowing(filter)
        forgotten: set[ItemId] = set()
        with _telling(forgotten):
            for site in await self._walk.sites(filter.reach, filter.kinds, complete=True):
                done: set[str] = set()
                is_over = False
                while not is_over:
                    pages, events = 0, []
                    async for page in self._walk.pages(site, labels):
                        pages += 1
                        events += [one for one in page if one.event_id not in done and one.envelope.matches(filter)]
                    await self._remove(site, events, forgotten)
                    done.update(found.event_id for found in events)
                    # What another program removed meanwhile moved what was behind it past the page that was read next.
                    is_over = pages == 1 or not events
        return ForgetReport(forgotten=len(forgotten))

    async def _remove(self, site: Site, events: Sequence[Found], forgotten: set[ItemId]) -> None:
        """Adds to `forgotten` the items of which at least one event went."""
        item_of = {found.event_id: found.id for found in events}
        for batch in batches(list(item_of), MAX_FORGOTTEN):
            self._on_changed(site.path)  # before as well: should the program end, nothing of it is kept here
            try:
                await self._forget_events(site, batch, item_of, forgotten)
            finally:
                self._on_changed(site.path)

    async def _forget_events(
        self, site: Site, event_ids: Sequence[str], item_of: Mapping[str, ItemId], forgotten: set[ItemId]
    ) -> None:
        """Forget each by this call: one that was gone before must not keep the others."""
        try:
            is_sure = await self._walk.wire.forget(site.path, event_ids)
        except (NotFound, InvalidRequest, Conflict):
            if len(event_ids) == 1:
                if await self._still_held(site, event_ids, item_of):
                    raise
                return
        else:
            held = [] if is_sure else await self._still_held(site, event_ids, item_of)
            forgotten.update(item_of[event_id] for event_id in event_ids if event_id not in held)
            if not held:
                return
            if len(held) < len(event_ids):
                await self._forget_events(site, held, item_of, forgotten)
                return
            if len(event_ids) == 1:
                raise EngineFailure(
                    f"{self._walk.wire.label} was asked to forget an event of `{site.path}` and holds it still"
                )
        middle = len(event_ids) // 2
        for half in (event_ids[:middle], event_ids[middle:]):
            await self._forget_events(site, half, item_of, forgotten)

    async def _still_held(self, site: Site, event_ids: Sequence[str], item_of: Mapping[str, ItemId]) -> list[str]:
        held = await self._walk.look_up({site: [item_of[event_id] for event_id in event_ids]})
        there = {found.event_id for events in held[site].values() for found in events}
        return [event_id for event_id in event_ids if event_id in there]

    async def erase(self, req: EraseRequest) -> EraseReport:
        """For a checked request. Raises Unsupported, before anything goes, where more than that would go."""
        wire = self._walk.wire
        if wire.hosted and req.is_whole_tree:
            return EraseReport(erased_scopes=await wire.erase_everything())
        named = await self._walk.named(req.reach.at, complete=True)
        if named.is_missing:  # nothing erased must not look like all erased
            raise Unsupported(
                f"{wire.label} does not list its scopes, so that none is erased; forget the items instead"
            )
        meant: dict[str, Site] = {}
        kept: list[str] = []
        for path in named.paths:
            readings = self._walk.readings(path)
            are_meant = [_is_meant(site, req) for site in readings]
            if not any(are_meant):
                kept.append(readings[0].path if readings else path)
            elif all(are_meant):
                meant[readings[0].path] = readings[0]
            else:
                raise Unsupported(
                    f"`{path}` is a scope of the retired root and of the scope root, for different nodes, of which one "
                    "was not asked for; forget the items instead"
                )
        self._refuse_hiding(meant, kept)
        erased: list[Erased] = []
        # The server only hides what is below an erased scope, and keeps its write keys.
        in_order = sorted(sorted(meant.values(), key=lambda site: site.order), key=lambda site: -site.path.count("/"))
        with _telling(erased):
            for site in in_order:
                self._on_changed(site.path)
                try:
                    erased.append(await wire.erase(site.path))
                finally:
                    self._on_changed(site.path)
        receipts = [receipt for each in erased for receipt in each.receipts]
        return EraseReport(erased_scopes=sum(each.scopes for each in erased), receipts=receipts)

    def _refuse_hiding(self, meant: Iterable[str], kept: Iterable[str]) -> None:
        for path in kept:
            for erased in meant:
                if self._walk.lies_below(path, erased):
                    raise Unsupported(
                        f"erasing `{erased}` would hide `{path}` as well, which lies below it and was not asked for; "
                        "forget the items instead"
                    )


def _is_meant(site: Site, req: EraseRequest) -> bool:
    return req.admits(site.scope.kind, MemoryMeta(namespace=site.scope.namespace))


@contextlib.contextmanager
def _telling(done: Collection[object]) -> Iterator[None]:
    """Have an error say that something went before it."""
    try:
        yield
    except TinyMemoryError as error:
        error.may_be_done |= bool(done)
        raise
