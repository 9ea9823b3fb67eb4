"""What the item list asks besides its rows, and how the answers read. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass, field

from explorer.contract import (
    EngineHealth,
    ExplorePage,
    ExploreRequest,
    Facet,
    FetchMode,
    MemoryEngine,
    MetaFilter,
    Namespace,
    is_blank,
)
from explorer.contract.query import MAX_SCAN
from explorer.ui.conditions import QUERY, Condition
from explorer.ui.text import at_least, counted, number, shown


@dataclass(frozen=True)
class Ask:
    """What the list shows: everything that `filter` admits, or the hits of `query` among it."""

    filter: MetaFilter = field(default_factory=MetaFilter)
    query: str = ""
    mode: FetchMode | None = None
    conditions: tuple[Condition, ...] = ()

    @property
    def is_search(self) -> bool:
        return not is_blank(self.query)


@dataclass(frozen=True)
class Count:
    """A number of items; `is_least` when there may be more."""

    n: int
    is_least: bool = False

    def __str__(self) -> str:
        return at_least(self.n) if self.is_least else number(self.n)


NONE = Count(0)


@dataclass(frozen=True)
class Stored:
    """What a memory holds: the items that a filter without a reach admits, and those in sandboxes, as far as known."""

    outside: Count
    sandboxed: Count = NONE

    @property
    def place(self) -> str:
        """What the number of `outside` is true of."""
        return "stored" if self.sandboxed == NONE else "outside sandboxes"


@dataclass(frozen=True)
class Why:
    """What the engine says about itself and holds, and how many would match without each of the conditions."""

    health: EngineHealth
    stored: Stored
    without: tuple[tuple[Condition, Count], ...] = ()


async def count_of(engine: MemoryEngine, filter: MetaFilter) -> Count:
    """How many items `filter` admits; by a facet's total, which every engine has."""
    page: ExplorePage = await engine.explore(
        ExploreRequest(facet=Facet.KIND, filter=filter, limit=3, scan_limit=MAX_SCAN)
    )
    return Count(page.total, page.truncated)


async def stored_in(engine: MemoryEngine) -> Stored:
    """How much is stored, in sandboxes too where the engine knows its nodes: the default listing never enters one."""
    outside = await count_of(engine, MetaFilter())
    if type(engine).namespaces is MemoryEngine.namespaces:
        return Stored(outside)
    nodes = await engine.namespaces(MetaFilter(), MAX_SCAN)
    sandboxed = sum(
        bucket.count for bucket in nodes.buckets if Namespace.parse(bucket.value).is_sandboxed_from(Namespace.ROOT)
    )
    return Stored(outside, Count(sandboxed, nodes.truncated) if sandboxed else NONE)


def sandbox_words(filter: MetaFilter) -> str:
    """That the filter looks into a sandbox, whose items are no part of what is stored outside; else empty."""
    if filter.reach is None or not filter.reach.at.is_sandboxed_from(Namespace.ROOT):
        return ""
    return "sandbox and its parents" if filter.reach.inherit else "in a sandbox"


def named(condition: Condition) -> str:
    """`the tag`, `the search`: a condition by its kind; the chip has its value."""
    names = {QUERY: "search", "observed_after": "dates", "observed_before": "dates", "reach": "namespace"}
    return f"the {names.get(condition.field) or condition.words.rpartition(' ')[0] or condition.words}"


def stored_sentence(stored: Stored) -> str:
    said = f"There {are(stored.outside)} {stored.place}"
    return f"{said}, and {stored.sandboxed} in them." if stored.sandboxed != NONE else f"{said}."


def health_sentence(health: EngineHealth) -> str:
    said = shown(health.reason or "", 300).strip().removesuffix(".")
    if not said:
        return "The engine is down." if health.state == "down" else "The engine is degraded."
    return f"{said[:1].upper()}{said[1:]}."


def are(count: Count) -> str:
    """`is 1 item`, `are 2 467 items`, `are none`."""
    if count == NONE:
        return "are none"
    return f"{'is' if count == Count(1) else 'are'} {counted(count.n, 'item', count.is_least)}"
