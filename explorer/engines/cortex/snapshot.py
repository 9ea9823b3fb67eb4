"""What is in the scopes, read once and kept: the window's many questions about a memory are answered from here.

One listing of the scopes and one walk of each of them, however many questions wait for it. What this engine writes or
removes is told to it by scope; what others do is found out by `refresh`.
"""

from __future__ import annotations

import asyncio
import hashlib
import itertools
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, field
from functools import partial

from explorer.contract import ItemId, ItemKind, Namespace, Reach, admitted_by
from explorer.contract.namespace import EVERYTHING
from explorer.engines.cortex.cache import ListingCache, Saved
from explorer.engines.cortex.envelope import continues
from explorer.engines.cortex.rows import Rows, Start, Table, new_dictionary
from explorer.engines.cortex.sharing import Shared
from explorer.engines.cortex.walking import AT_MOST, MAX_PAGES, Site, Walk, in_order
from explorer.engines.cortex.wires import RawEvent

RECENT = 300
"""Events of a scope that are known again beside those that start an item: as many as may go without a full walk."""
_PAGE = 200
_FIRST = 40
"""How many copies of events are asked for first where little is likely to be new."""
_ALONE_S = 10.0
"""A walk left alone for that long begins anew: what came meanwhile is not at its end."""
_TABLES = 8
_ROUNDS = 5
"""After which an answer is given though this engine goes on writing."""


@dataclass(eq=False, slots=True)
class Kept:
    """One scope as far as it is read."""

    site: Site
    rows: Rows
    before: dict[ItemId, int] | None = None
    """What the reading before this one held, by the version each came with; None where there was none."""
    held: set[ItemId] = field(default_factory=set)
    foreign: list[str] = field(default_factory=list)
    """Events of other programs."""
    recent: dict[str, str] = field(default_factory=dict)
    """The newest events, at most `RECENT`, each with a digest of what it holds."""
    known: set[str] = field(default_factory=set)
    """Events at which a walk for what is new comes to its end; without any, all is read."""
    saved: Saved | None = None
    """What the cache has of it: shown once the server names one of its events."""
    is_looked_up: bool = False
    """Whether the cache was asked."""
    is_whole: bool = False
    is_stale: bool = False
    """Whether there may be newer events than the walk met."""
    is_cut: bool = False
    is_saved: bool = False
    """Whether the cache has just this."""
    shared: Shared = field(default_factory=Shared)
    # The walk that goes on:
    seen: dict[str, str] = field(default_factory=dict)
    fresh: list[Start] = field(default_factory=list)
    cursor: str | None = None
    pages: int = 0
    touched: float = 0.0

    @property
    def is_current(self) -> bool:
        return self.is_whole and not self.is_stale

    def begin(self) -> None:
        """Walk from the newest event on."""
        self.cursor, self.pages, self.is_whole, self.is_stale = None, 0, False, False
        self.seen, self.fresh = {}, []
        if not self.known:
            self.clear()

    def take_up(self, saved: Saved) -> None:
        """Begin where an earlier run has ended."""
        self.saved, self.recent, self.foreign = saved, saved.recent, saved.foreign
        self.known, self.is_cut = {*saved.rows.events, *saved.recent}, saved.is_cut

    def is_another(self, events: Sequence[RawEvent]) -> bool:
        """Whether a page shows that what the cache has is not of this memory: another key may open another one at the
        same place, whose events have the same ids.
        """
        if self.saved is None or self.known.isdisjoint(raw.id for raw in events):
            return False
        alike = [self.recent[raw.id] == digest_of(raw) for raw in events if raw.id in self.recent]
        return not alike or not all(alike)

    def disown(self) -> None:
        """Read all, and nothing from the cache."""
        self.saved, self.known, self.pages = None, set(), 0

    def clear(self) -> None:
        self.rows, self.held, self.foreign, self.recent = self.rows.emptied(), set(), [], {}

    def take(self, new: Mapping[str, str], starts: Iterable[Start], foreign: Iterable[str]) -> None:
        """What a page has that was not met before."""
        self.seen.update(new)
        self.foreign += foreign
        for start in starts:
            if self.known:
                self.fresh.append(start)
            else:
                self.add(start, -len(self.rows))

    def add(self, start: Start, stored: int) -> None:
        if start.id not in self.held:
            self.held.add(start.id)
            self.rows.add(start, stored)

    def end(self, *, is_known: bool) -> int:
        """What the walk met is all there is, with what is known if it came upon that. How many rows are as before."""
        saved, self.saved = self.saved, None
        is_added = bool(self.known) and is_known and saved is None
        same = len(self.rows) if is_added else 0
        if self.known:
            if not is_known:
                self.clear()
            elif saved is not None:
                self.rows, self.held = saved.rows, set(saved.rows.ids)
            first = max(self.rows.stored, default=0) + 1
            for place, start in enumerate(reversed(self.fresh)):
                self.add(start, first + place)
        self.is_saved = is_known and not self.seen and (self.is_saved or saved is not None)
        self.recent = dict(itertools.islice({**self.seen, **self.recent}.items(), RECENT))
        if is_added:
            self.known.update(self.seen)
        else:
            self.known = {*self.rows.events, *self.recent}
        self.seen, self.fresh, self.cursor = {}, [], None
        self.is_whole = True
        return same


def digest_of(raw: RawEvent) -> str:
    return hashlib.sha256("\0".join([raw.text, *raw.labels]).encode()).hexdigest()[:16]


@dataclass(frozen=True, slots=True)
class Listed:
    """The scopes that the server names at or below a node."""

    sites: frozenset[Site]
    is_cut: bool


class Snapshot:
    """The items of the scopes that were asked for; all calls on one loop."""

    def __init__(self, walk: Walk, cache: ListingCache | None = None) -> None:
        self._walk = walk
        self._cache = cache
        self._reads_cache = True
        """Not once all is to be read anew: what other programs removed is in the cache still."""
        self._dictionary = new_dictionary()
        self._kept: dict[str, Kept] = {}
        self._listings: dict[Namespace, Listed] = {}
        self._listing = Shared()
        self._first: frozenset[Site] | None = None
        """The scopes of the first listing: what is in others is new."""
        self._written: set[Site] = set()
        """Scopes that this engine wrote to: they are there, listed or not."""
        self._doubted: set[ItemId] = set()
        self._gate = asyncio.Semaphore(AT_MOST)
        self._tables: dict[tuple[str, ...], tuple[int, Table]] = {}
        self.version = 0
        """Rises whenever other items are held than before."""
        self.generation = 0
        """Rises with every page."""

    def refresh(self) -> None:
        """Read everything anew, from the next question on."""
        self._reads_cache = False
        for path in list(self._kept):
            self._drop(path)
        self._listings.clear()
        self._doubted.clear()

    def forget_everything(self) -> None:
        """All that there is was removed."""
        if self._cache is not None:
            self._cache.drop_all()
        self.refresh()

    def forget_scope(self, path: str) -> None:
        """Something was removed from a scope: nothing of it is shown before it is read anew."""
        if self._cache is not None:
            self._cache.drop(path)
        self._drop(path)

    def _drop(self, path: str) -> None:
        kept = self._kept.get(path)
        if kept is not None:
            self._kept[path] = Kept(kept.site, kept.rows.emptied(), kept.before)
            self.generation += 1

    def note_written(self, path: str) -> None:
        """Something was written to a scope: what is new in it is read, and what is known stays."""
        site = self._walk.site(path)
        if site is not None:
            self._written.add(site)
        kept = self._kept.get(path)
        if kept is not None:
            kept.is_stale = True
            self.generation += 1

    def note_missing(self, ids: Iterable[ItemId], reach: Reach | None) -> None:
        """A read of `reach` did not find these items: the scopes that should have them are read anew, once an item."""
        doubted = set(ids) - self._doubted
        for path in self.paths_of(doubted):
            kept = self._kept[path]
            if admitted_by(reach, kept.site.scope.namespace):
                self._doubted |= doubted & kept.held  # one that is there in part is doubted for ever else
                self.forget_scope(path)

    async def table(
        self,
        reach: Reach | None,
        kinds: Sequence[ItemKind] = (),
        *,
        everywhere: bool = False,
        until: float | None = None,
    ) -> Table:
        """The items of the scopes that a read of `reach` and `kinds` touches; `everywhere`: of all of them.

        Where they are not read by `until`, in the loop's time, it is what is there by then; a request that is under way
        is waited for. Raises what a request raises.
        """
        for _ in range(_ROUNDS):
            found = await self._sites(reach, kinds, everywhere, until)
            if found is None:
                return Table(self._dictionary, [], is_whole=False)
            sites, is_cut = found
            waiting = [site for site in sites if not self._of(site).is_current]
            if waiting:
                await in_order([partial(self._read, site, until) for site in waiting])
            if until is not None or all(self._of(site).is_current for site in sites):
                break  # else something was written or removed while the last of them were read
        return self._table(sites, is_cut)

    def holds(self, path: str, id: ItemId) -> bool:
        """Whether an item is in a scope, as far as it is read."""
        kept = self._kept.get(path)
        return kept is not None and id in kept.held

    def holds_all(self, reach: Reach | None, *, everywhere: bool = False) -> bool:
        """Whether each scope that a read of `reach` touches is read to its end; `everywhere`: each that there is."""
        wanted = EVERYTHING if reach is None else reach
        listing = self._listings.get(Namespace.ROOT)
        if listing is None or listing.is_cut or not listing.sites:
            return False
        for site in listing.sites | self._written:
            if everywhere or wanted.admits(site.scope.namespace):
                kept = self._kept.get(site.path)
                if kept is None or not kept.is_current or kept.is_cut:
                    return False
        return True

    def paths_of(self, ids: Iterable[ItemId]) -> set[str]:
        """The scopes that hold some of these items, as far as they are read."""
        wanted = set(ids)
        return {path for path, kept in self._kept.items() if not wanted.isdisjoint(kept.held)}

    def _table(self, sites: Sequence[Site], is_cut: bool) -> Table:
        key = tuple(site.path for site in sites)
        generation, table = self._tables.get(key, (None, None))
        if table is None or generation != self.generation:
            kept = [self._of(site) for site in sites]
            table = Table(
                self._dictionary,
                [each.rows for each in kept],
                is_whole=all(each.is_current for each in kept),
                is_cut=is_cut or any(each.is_cut for each in kept),
                is_merged=any(site.is_retired for site in sites),
            )
            self._tables.pop(key, None)
            self._tables[key] = self.generation, table
            while len(self._tables) > _TABLES:
                del self._tables[next(iter(self._tables))]
        return table

    # --- which scopes

    async def _sites(
        self, reach: Reach | None, kinds: Sequence[ItemKind], everywhere: bool, until: float | None
    ) -> tuple[list[Site], bool] | None:
        """In reading order, and whether there may be more; None where that is not known by `until`."""
        wanted = EVERYTHING if everywhere or reach is None else reach
        listing = self._listings.get(Namespace.ROOT)
        if wanted.descendants and (listing is None or listing.is_cut):
            listing = await self._listed(wanted.at, until)
            if listing is None:
                return None
        named = await self._walk.sites(wanted.model_copy(update={"descendants": False}), kinds)
        if listing is None:
            return named, False
        sites = listing.sites | self._written
        if not listing.sites or listing.is_cut:  # then what the server does not name may be there all the same
            sites = sites.union(named)
        touched = [
            site
            for site in sites
            if (everywhere or wanted.admits(site.scope.namespace)) and (not kinds or site.scope.kind in kinds)
        ]
        return sorted(touched, key=lambda site: site.order), listing.is_cut and wanted.descendants

    async def _listed(self, at: Namespace, until: float | None) -> Listed | None:
        """What the server names at or below a node: out of all that it names, unless it cuts that."""
        async with self._listing.turn(until) as is_mine:
            if not is_mine:
                return None
            for node in (Namespace.ROOT, at):
                if node not in self._listings:
                    named = await self._walk.named(node)
                    sites = frozenset(site for path in named.paths for site in self._walk.readings(path))
                    self._listings[node] = Listed(sites, named.is_cut)
                    self._note_listed(node)
                if not self._listings[node].is_cut:
                    return self._listings[node]
            return self._listings[at]

    def _note_listed(self, node: Namespace) -> None:
        listed = self._listings[node]
        if self._first is None:
            self._first = listed.sites
        if node.is_root and listed.sites and not listed.is_cut:
            for kept in list(self._kept.values()):
                if kept.site not in listed.sites and kept.site not in self._written:
                    del self._kept[kept.site.path]
                    self.version += bool(kept.before)  # the scope is gone, and what was in it

    # --- reading them

    def _of(self, site: Site) -> Kept:
        kept = self._kept.get(site.path)
        if kept is None:
            is_new = self._first is not None and site not in self._first
            kept = Kept(site, Rows(self._dictionary, site.path), {} if is_new else None)
            self._kept[site.path] = kept
        return kept

    async def _read(self, site: Site, until: float | None) -> None:
        """Read a scope to its end, or until `until`."""
        time = asyncio.get_running_loop().time
        while not (kept := self._of(site)).is_current:
            async with kept.shared.turn(until) as is_mine:
                if not is_mine:
                    return
                while self._kept.get(site.path) is kept and not kept.is_current:
                    if until is not None and time() >= until:
                        return
                    await self._step(kept)

    async def save(self) -> None:
        """Have the cache keep what was read whole."""
        if self._cache is None:
            return
        is_saved = False
        for path, kept in list(self._kept.items()):
            if kept.is_current and not kept.is_saved:
                kept.is_saved = is_saved = True
                saved = Saved(kept.rows, dict(kept.recent), list(kept.foreign), kept.is_cut)
                await asyncio.to_thread(self._cache.save, path, saved, len(kept.rows), self._cache.drops(path))
        if is_saved:
            await asyncio.to_thread(self._cache.trim)

    async def _step(self, kept: Kept) -> None:
        """Ask for one more page."""
        time = asyncio.get_running_loop().time
        if self._cache is not None and self._reads_cache and not kept.is_looked_up:
            kept.is_looked_up = True
            saved = await asyncio.to_thread(self._cache.load, kept.site.path, self._dictionary)
            if self._kept.get(kept.site.path) is not kept:
                return
            if saved is not None:
                kept.take_up(saved)
        if kept.is_whole or not kept.pages or time() - kept.touched > _ALONE_S:
            kept.begin()
        try:
            async with self._gate:
                size = _FIRST if kept.known and not kept.pages else _PAGE
                page = await self._walk.wire.events(kept.site.path, (), kept.cursor, size)
        except Exception:
            kept.pages = 0  # from the newest on, when it is tried again
            raise
        if self._kept.get(kept.site.path) is not kept:
            return
        if kept.is_another(page.events):
            kept.disown()
            return
        met = [raw.id for raw in page.events]
        new = {raw.id: raw for raw in page.events if raw.id not in kept.known and raw.id not in kept.seen}
        # To decode a page takes longer than the loop may stand still.
        digests, starts, foreign = await asyncio.to_thread(self._decoded, kept.site, list(new.values()))
        if self._kept.get(kept.site.path) is not kept:
            return
        # Only now: who is cancelled before leaves the page to be asked for again.
        kept.touched = time()
        kept.pages += 1
        kept.cursor = page.next_cursor
        kept.take(digests, starts, foreign)
        is_known = not kept.known.isdisjoint(met)
        if is_known or kept.cursor is None or kept.pages >= MAX_PAGES:
            kept.is_cut = kept.is_cut if is_known else kept.cursor is not None
            same = kept.end(is_known=is_known)
            self._walk.foreign.update(kept.foreign)
            self._number(kept, same)
        self.generation += 1

    def _decoded(self, site: Site, events: Iterable[RawEvent]) -> tuple[dict[str, str], list[Start], list[str]]:
        """The events by their digests, those that start an item, and the ids of those that are other programs'."""
        digests = {raw.id: digest_of(raw) for raw in events}
        starts, foreign = [], []
        for raw in events:
            if continues(raw.labels):  # as half of all events may, and to decode one takes as long as all else
                continue
            found = self._walk.read(site, raw)
            if found is not None and found.starts:
                starts.append(Start.of(raw, found.envelope, self._dictionary))
            elif raw.id in self._walk.foreign:
                foreign.append(raw.id)
        return digests, starts, foreign

    def _number(self, kept: Kept, same: int) -> None:
        """Note with which version of the snapshot the rows after the first `same` came.

        The first reading of a scope brings nothing new.
        """
        rows, before = kept.rows, kept.before
        new = rows.ids[same:]
        if before is not None:
            is_gone = not same and not before.keys() <= kept.held
            self.version += is_gone or any(id not in before for id in new)
            for at, id in enumerate(new, same):
                rows.arrived[at] = before.get(id, self.version)
        if before is None or not same:
            kept.before = before = {}
        before.update(zip(new, rows.arrived[same:], strict=True))
