"""What a plan would take, counted by the query that runs: every page of it, to the end."""

from __future__ import annotations

import contextlib
import random
from collections import Counter
from collections.abc import AsyncGenerator, AsyncIterator
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo

from explorer.contract import (
    EngineFailure,
    GetRequest,
    Hit,
    ItemId,
    ItemKind,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
)
from explorer.contract.query import MAX_GET_IDS
from explorer.removal.plan import Plan, Target
from explorer.removal.turns import Turns
from explorer.transfer import sandbox_roots

PAGE = 200
SAMPLES = 10
TEXTS = 40
"""Items whose texts are kept, to ask for them once they are gone."""
_FIRST = 10
_MAX_IDLE_PAGES = 1_000
"""Empty ones in a row, which are legal where an engine filters after reading, but not without end."""
_MAX_REPEATS = 20
"""Pages in a row that bring only items met before: some may, while others are added."""

Source = tuple[SourceKind, str | None]


@dataclass(slots=True)
class Preview:
    """Counts of what would go. While counting, of what was found so far; nothing may be confirmed before `is_whole`."""

    zone: tzinfo = UTC
    ids: dict[ItemId, None] = field(default_factory=dict)
    """In the order found."""
    kinds: Counter[ItemKind] = field(default_factory=Counter)
    nodes: Counter[Namespace] = field(default_factory=Counter)
    sources: Counter[Source] = field(default_factory=Counter)
    months: Counter[str | None] = field(default_factory=Counter)
    """By `2026-07` in `zone`; None for undated items."""
    paths: Counter[str] = field(default_factory=Counter)
    """The distinct folders or files caught, where the target is a path that also takes in what is below it."""
    sandboxed: dict[Namespace, list[ItemId]] = field(default_factory=dict)
    """Those of the items that no ordinary read meets, by their sandbox: a read of its subtree meets them."""
    gone: list[ItemId] = field(default_factory=list)
    """Items that the target names, and that are not there."""
    oldest: Hit | None = None
    newest: Hit | None = None
    stored: int = 0
    """All items of the engine, sandboxes included where it names them."""
    stored_is_least: bool = False
    """Whether there may be more than `stored`."""
    counted_at: datetime | None = None
    """When the last page was read, UTC; None while counting."""
    _first: datetime | None = None
    _last: datetime | None = None
    _kept: list[Hit] = field(default_factory=list)
    _chance: random.Random = field(default_factory=lambda: random.Random(0))

    @property
    def is_whole(self) -> bool:
        return self.counted_at is not None

    @property
    def total(self) -> int:
        return len(self.ids)

    @property
    def samples(self) -> list[Hit]:
        """At most ten: the oldest, the newest, and others from all over; a text may be only the start of its item."""
        ends = [hit for hit in (self.oldest, self.newest) if hit is not None]
        spread = [*self._kept[_FIRST:], *self._kept[:_FIRST]]
        return list({hit.id: hit for hit in [*ends, *spread]}.values())[:SAMPLES]

    @property
    def texts(self) -> list[Hit]:
        """At most forty of what would go: the first, which go first where it is stopped, and others from all over."""
        return list(self._kept)

    def add(self, hit: Hit, plan: Plan) -> bool:
        """Count one item found; False where it was counted before."""
        if hit.id in self.ids:
            return False
        self.ids[hit.id] = None
        meta = hit.meta
        self.kinds[hit.kind] += 1
        self.nodes[meta.namespace] += 1
        if (sandbox := meta.namespace.sandbox) is not None:
            self.sandboxed.setdefault(sandbox, []).append(hit.id)
        self.sources[meta.source.kind, meta.source.id] += 1
        if (prefix := plan.target.prefix) is not None:
            self.paths.update(prefix.values(hit.kind, meta))
        # A plain datetime: comparing a Timestamp takes as long as all the rest.
        at = None if meta.observed_at is None else meta.observed_at.as_datetime()
        self.months[None if at is None else _month(at, self.zone)] += 1
        if at is not None:
            if self._first is None or at < self._first:
                self.oldest, self._first = hit, at
            if self._last is None or at > self._last:
                self.newest, self._last = hit, at
        self._keep(hit)
        return True

    def _keep(self, hit: Hit) -> None:
        """After the first ones every item found has the same chance to be among those kept."""
        if len(self._kept) < TEXTS:
            self._kept.append(hit)
        elif (at := self._chance.randrange(_FIRST, self.total)) < TEXTS:
            self._kept[at] = hit


@dataclass(frozen=True, slots=True)
class Moved:
    """What is different from what was shown."""

    new: tuple[ItemId, ...]
    gone: tuple[ItemId, ...]

    def __bool__(self) -> bool:
        return bool(self.new or self.gone)


def moved(before: Preview, now: Preview) -> Moved:
    """Compared by ids: a number may stay the same while the items behind it change."""
    if now.ids.keys() == before.ids.keys():  # at once, where there are very many
        return Moved((), ())
    return Moved(
        tuple(id for id in now.ids if id not in before.ids),
        tuple(id for id in before.ids if id not in now.ids),
    )


async def count(engine: MemoryEngine, plan: Plan, zone: tzinfo = UTC) -> AsyncGenerator[Preview, None]:
    """Count what `plan` would take: one Preview, growing, told after each page; the last time it is whole.

    Raises EngineFailure for an engine that pages in a circle or without end: what cannot be counted to its end cannot
    be confirmed. Not a context manager: hold it with `contextlib.aclosing`.
    """
    found, turns = Preview(zone), Turns()
    async for hits in _hits(engine, plan, found):
        for hit in hits:
            found.add(hit, plan)
            await turns.pass_on()
        yield found
    found.stored, found.stored_is_least = await stored(engine)
    found.counted_at = datetime.now(UTC)
    yield found


async def stored(engine: MemoryEngine) -> tuple[int, bool]:
    """How many items the engine holds, and whether there may be more."""
    page = await engine.namespaces(MetaFilter())
    return sum(bucket.count for bucket in page.buckets), page.truncated


async def _hits(engine: MemoryEngine, plan: Plan, found: Preview) -> AsyncIterator[list[Hit]]:
    async with contextlib.aclosing(named(engine, plan.target)) as named_ones:
        async for hits in named_ones:
            yield hits
    found.gone = [id for id in plan.target.ids if id not in found.ids]
    for filter in plan.filters:
        async for hits in listed(engine, filter):
            yield hits


async def named(engine: MemoryEngine, target: Target) -> AsyncGenerator[list[Hit], None]:
    """The items that `target` names, wherever they are; each once. Those that are not there are left out."""
    missing = dict.fromkeys(target.ids)
    async with contextlib.aclosing(_got(engine, list(missing), target.reach)) as pages:
        async for hits in pages:
            yield _met(hits, missing)
    if missing and target.reach is None:  # not confined to what an ordinary read meets
        for sandbox, _ in await sandbox_roots(engine, MetaFilter()):
            async with contextlib.aclosing(_got(engine, list(missing), Reach.subtree(sandbox))) as pages:
                async for hits in pages:
                    yield _met(hits, missing)


def _met(hits: list[Hit], missing: dict[ItemId, None]) -> list[Hit]:
    """Those of `hits` that were missing, and are no longer."""
    met = {hit.id: hit for hit in hits if hit.id in missing}
    for id in met:
        del missing[id]
    return list(met.values())


async def _got(engine: MemoryEngine, ids: list[ItemId], reach: Reach | None) -> AsyncGenerator[list[Hit], None]:
    for start in range(0, len(ids), MAX_GET_IDS):
        batch = ids[start : start + MAX_GET_IDS]
        yield await engine.get(GetRequest(ids=batch, reach=reach))


async def listed(engine: MemoryEngine, filter: MetaFilter) -> AsyncGenerator[list[Hit], None]:
    """The pages of a listing to its very end. Raises EngineFailure where it has none, or is known to leave some out."""
    cursor: str | None = None
    seen: set[str] = set()
    ids: set[ItemId] = set()
    empty = repeats = 0
    while True:
        page = await engine.list_preview(ListRequest(filter=filter, limit=PAGE, cursor=cursor))
        if page.is_cut:
            raise EngineFailure(
                "the engine does not name all nodes that are in reach, so that not all can be counted; "
                "choose a node that has fewer below it"
            )
        before = len(ids)
        ids.update(hit.id for hit in page.items)
        empty = 0 if page.items else empty + 1
        repeats = 0 if len(ids) > before else repeats + bool(page.items)
        yield page.items
        cursor = page.next_cursor
        if cursor is None:  # and only then: an empty text is a cursor like any other
            return
        if cursor in seen or empty > _MAX_IDLE_PAGES or repeats > _MAX_REPEATS:
            why = (
                "repeated a cursor"
                if cursor in seen
                else "goes on with empty pages"
                if empty
                else "repeats the same items page after page"
            )
            raise EngineFailure(f"the engine {why} after {len(ids)} items, so that they cannot be counted to the end")
        seen.add(cursor)


def _month(at: datetime, zone: tzinfo) -> str:
    with contextlib.suppress(OverflowError):  # the last hours of year 9999 have no later zone
        at = at.astimezone(zone)
    return f"{at.year:04}-{at.month:02}"
