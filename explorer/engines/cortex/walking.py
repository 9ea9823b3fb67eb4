"""Which scopes a read touches, and the events that are in them.

Source: cortex, "Which scopes a read touches", "List events", "Scopes".
"""

from __future__ import annotations

import asyncio
import json
import logging
import re
import sys
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TypeVar

from explorer.contract import EngineFailure, InvalidRequest, ItemId, ItemKind, Namespace, Reach, wire
from explorer.contract.namespace import EVERYTHING
from explorer.engines.cortex.envelope import Envelope, decode
from explorer.engines.cortex.labels import id_label
from explorer.engines.cortex.scopes import Layout, Scope
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.cortex.wires import MAX_LABELS, EventPage, RawEvent, Scopes, Wire, batches

log = logging.getLogger(__name__)

T = TypeVar("T")

MAX_PAGES = 500
AT_MOST = 4
_SHOWN = 60  # characters of a bad cursor that its error repeats
_HEX = re.compile(r"(?:[0-9a-f]{2})+", re.ASCII)


class EndlessListing(EngineFailure):
    """A scope that goes on past the pages that a walk reads."""


@dataclass(frozen=True, slots=True)
class Site:
    """A scope, of the layout that is written to or of the retired one."""

    scope: Scope
    is_retired: bool = False

    @property
    def path(self) -> str:
        return self.scope.path

    @property
    def order(self) -> tuple[int, list[tuple[int, str]], bool, str]:
        """By which sites are read; of one node and kind the retired one comes last."""
        kind, node, path = self.scope.key
        return kind, node, self.is_retired, path


_KINDS = list(ItemKind)


@dataclass(frozen=True, slots=True)
class Found:
    """An event that holds an item or a part of one."""

    event_id: str
    envelope: Envelope

    @property
    def id(self) -> ItemId:
        return ItemId(self.envelope.id)

    @property
    def starts(self) -> bool:
        """Whether a listing shows the item at this event."""
        return not self.envelope.part

    @property
    def is_whole(self) -> bool:
        return self.envelope.parts in (None, 1)


Lookup = dict[Site, dict[ItemId, list[Found]]]


class Walk:
    """Reads scopes and events for every flow; `foreign` holds the ids of events met that no item is in."""

    def __init__(self, wire: Wire, settings: CortexSettings) -> None:
        self.wire = wire
        self.foreign: set[str] = set()
        self._layouts: list[tuple[Layout, bool]] = [(settings.layout, False)]
        if settings.retired is not None:
            self._layouts.append((settings.retired, True))

    # --- scopes

    async def sites(self, reach: Reach | None, kinds: Sequence[ItemKind] = (), *, complete: bool = False) -> list[Site]:
        """What a read of `reach` and `kinds` (none: all) touches, in reading order.

        Raises EngineFailure where the listing must be `complete` and the server cut it.
        """
        sites, _ = await self.reached(reach, kinds, complete=complete)
        return sites

    async def reached(
        self, reach: Reach | None, kinds: Sequence[ItemKind] = (), *, complete: bool = False
    ) -> tuple[list[Site], bool]:
        """As `sites`, and whether there may be more that the server did not name."""
        wanted = reach or EVERYTHING
        sites = {
            Site(Scope(layout.path(node, kind), node, kind), is_retired)
            for layout, is_retired in self._layouts
            for node in wanted.nodes()
            for kind in kinds or _KINDS
        }
        if not wanted.descendants:
            return _ordered(sites), False
        named = await self.named(wanted.at, complete=complete)
        return _ordered({*sites, *self._touched(named, wanted, kinds)}), named.is_cut

    async def registered(self, reach: Reach | None, kinds: Sequence[ItemKind] = ()) -> list[Site]:
        """The scopes that the server names at or below the node of `reach` and that a read of it touches."""
        wanted = reach or EVERYTHING
        return _ordered(self._touched(await self.named(wanted.at), wanted, kinds))

    async def everywhere(self) -> list[Site]:
        """Every scope that the server names, sandboxes included, or those of the root where it names none.

        Raises EngineFailure where it cut the listing.
        """
        named = await self.named(Namespace.ROOT, complete=True)
        if named.is_missing:
            return await self.sites(Reach.exact(Namespace.ROOT))
        return _ordered(self._parsed(named))

    def _parsed(self, named: Scopes) -> set[Site]:
        return {site for path in named.paths for site in self.readings(path)}

    def _touched(self, named: Scopes, reach: Reach, kinds: Sequence[ItemKind]) -> set[Site]:
        return {
            site
            for site in self._parsed(named)
            if reach.admits(site.scope.namespace) and site.scope.kind in (kinds or _KINDS)
        }

    async def named(self, at: Namespace, *, complete: bool = False) -> Scopes:
        """What the server names at or below a node, paths of no layout included.

        That it was cut is logged, and raises EngineFailure where it must be `complete`.
        """
        prefixes = list(dict.fromkeys(prefix for layout, _ in self._layouts for prefix in layout.prefixes(at)))
        listings = await in_order([partial(self.wire.scopes, prefix) for prefix in prefixes])
        for prefix, listing in zip(prefixes, listings, strict=True):
            if listing.is_cut:
                count = len(listing.paths)
                what = f"{self.wire.label}: the server cut its list of the scopes below `{prefix}` at {count}"
                if complete:
                    raise EngineFailure(f"{what}, and this needs all of them; nothing was changed")
                log.warning("%s; what is in the others is not read", what)
        paths = dict.fromkeys(path for listing in listings for path in listing.paths)
        return Scopes(
            list(paths),
            is_cut=any(listing.is_cut for listing in listings),
            is_missing=any(listing.is_missing for listing in listings),
        )

    def site(self, path: str) -> Site | None:
        """The scope that a path names, in the layout that is written to first; None for a path of neither."""
        return next(iter(self.readings(path)), None)

    def readings(self, path: str) -> list[Site]:
        """The scope that a path names in each layout: two where one root lies in the other."""
        sites = [
            Site(scope, is_retired) for layout, is_retired in self._layouts if (scope := layout.parse(path)) is not None
        ]
        # Hosted, a root is found after any prefix, so that a root which is a node below the other is found there too.
        longest = max((len(site.path) for site in sites), default=0)
        return [site for site in sites if len(site.path) == longest]

    def lies_below(self, path: str, above: str) -> bool:
        """Whether a path that the server named is below a scope."""
        if self._layouts[0][0].root != "":
            return f"/{above}/" in f"/{path}"
        tenant, _, rest = path.partition("/")
        return path.startswith(f"{above}/") or (tenant.startswith("org:") and rest.startswith(f"{above}/"))

    def twins(self, path: str) -> list[Site]:
        """The scope that a path names, and those of the same node and kind in the other layout."""
        here = self.site(path)
        if here is None:
            return []
        namespace, kind = here.scope.namespace, here.scope.kind
        same = {Site(Scope(layout.path(namespace, kind), namespace, kind), old) for layout, old in self._layouts}
        return _ordered({here, *same})

    # --- events

    def read(self, site: Site, raw: RawEvent) -> Found | None:
        """The event decoded; None for what is not this program's, which is noted, or not of the scope's kind."""
        found = self.decoded(raw)
        return found if found is not None and found.envelope.kind is site.scope.kind else None

    def decoded(self, raw: RawEvent) -> Found | None:
        envelope = decode(raw.text, raw.labels)
        if envelope is None:
            self.foreign.add(raw.id)
            return None
        return Found(raw.id, envelope)

    async def page(self, site: Site, labels: Sequence[str], cursor: str | None) -> EventPage:
        return await self.wire.events(site.path, labels, cursor)

    async def pages(self, site: Site, labels: Sequence[str] = ()) -> AsyncGenerator[list[Found], None]:
        """The events of a scope page by page, newest first, each once. Raises EndlessListing past 500 pages."""
        seen: set[str] = set()
        cursor: str | None = None
        for _ in range(MAX_PAGES):
            page = await self.page(site, labels, cursor)
            new = {raw.id: raw for raw in page.events if raw.id not in seen}
            seen.update(new)
            yield [found for raw in new.values() if (found := self.read(site, raw)) is not None]
            cursor = page.next_cursor
            if cursor is None:
                return
        raise EndlessListing(f"{self.wire.label}: the scope `{site.path}` has more than {MAX_PAGES} pages of events")

    async def look_up(self, wanted: Mapping[Site, Iterable[ItemId]]) -> Lookup:
        """Every event of the items named, by scope and item; at most 4 requests at a time."""
        requests = [
            (site, batch) for site, ids in wanted.items() for batch in batches(list(dict.fromkeys(ids)), MAX_LABELS)
        ]
        found = await in_order([partial(self._look_up, site, batch) for site, batch in requests])
        by_site: Lookup = {site: {} for site in wanted}
        for (site, _), events in zip(requests, found, strict=True):
            for event in events:
                by_site[site].setdefault(event.id, []).append(event)
        return by_site

    async def _look_up(self, site: Site, ids: Sequence[ItemId]) -> list[Found]:
        # A label is only a digest: another item may carry the same one.
        wanted = frozenset(ids)
        labels = [id_label(id) for id in ids]
        return [found async for page in self.pages(site, labels) for found in page if found.id in wanted]

    async def superseded(self, site: Site, ids: Sequence[ItemId]) -> set[ItemId]:
        """Those of a retired scope's items that the scope which is written to now holds as well."""
        if not site.is_retired or not ids:
            return set()
        layout, _ = self._layouts[0]
        kind, namespace = site.scope.kind, site.scope.namespace
        now = Site(Scope(layout.path(namespace, kind), namespace, kind))
        held = await self.look_up({now: ids})
        return {id for id, events in held[now].items() if any(event.starts for event in events)}


@dataclass(frozen=True, slots=True)
class Bookmark:
    """How far a listing came: after `last`, at `offset` of the page that `engine`, the server's cursor, leads to."""

    scope: str
    engine: str | None = None
    offset: int = 0
    last: str | None = None

    def write(self) -> str:
        place = {"scope": self.scope, "engine": self.engine, "offset": self.offset, "last": self.last}
        return write_cursor("l", place)

    @classmethod
    def read(cls, cursor: str) -> Bookmark:
        match read_cursor("l", cursor):
            case {"scope": str(scope), "engine": str() | None as engine, "offset": int(offset), "last": last} if (
                offset >= 0 and (last is None or isinstance(last, str))
            ):
                return cls(scope, engine, offset, last)
        raise unknown_cursor(cursor)


def write_cursor(tag: str, place: object) -> str:
    return tag + json.dumps(place, ensure_ascii=False, separators=(",", ":")).encode().hex()


def read_cursor(tag: str, cursor: str) -> object:
    """What `write_cursor` wrote; raises InvalidRequest for any other text."""
    if not cursor.startswith(tag) or not _HEX.fullmatch(cursor, len(tag)):
        raise unknown_cursor(cursor)
    try:
        return wire.loads(bytes.fromhex(cursor[len(tag) :]))
    except wire.WireError as error:
        raise unknown_cursor(cursor) from error


def unknown_cursor(cursor: str) -> InvalidRequest:
    return InvalidRequest(f"unknown cursor `{cursor[:_SHOWN]}`")


async def in_order(calls: Sequence[Callable[[], Awaitable[T]]], at_most: int = AT_MOST) -> list[T]:
    """The answers in the order of the calls, `at_most` of which run at a time; the first failure ends the others."""
    gate = asyncio.Semaphore(at_most)

    async def answer(call: Callable[[], Awaitable[T]]) -> T:
        async with gate:
            return await call()

    if len(calls) == 1:
        return [await calls[0]()]
    task = asyncio.current_task()
    assert task is not None
    before = task.cancelling()
    try:
        async with asyncio.TaskGroup() as group:
            tasks = [group.create_task(answer(call)) for call in calls]
    except BaseExceptionGroup as failures:
        # Before 3.13 a group that a failure ended leaves its own cancel behind: whoever asks the task whether it is
        # being cancelled would take the failure for that.
        if sys.version_info < (3, 13) and task.cancelling() > before:
            task.uncancel()
        raise failures.exceptions[0] from None
    return [task.result() for task in tasks]


def _ordered(sites: Iterable[Site]) -> list[Site]:
    """In reading order, each scope once though both layouts have it."""
    by_path: dict[str, Site] = {}
    for site in sorted(sites, key=lambda site: site.is_retired):
        by_path.setdefault(site.path, site)
    return sorted(by_path.values(), key=lambda site: site.order)
