"""What the item list asks besides its rows, and how the answers read. Free of Qt."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass, field

from explorer.conditions import QUERY, Condition
from explorer.contract import (
    EngineHealth,
    ExplorePage,
    ExploreRequest,
    Facet,
    FetchMode,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    is_blank,
)
from explorer.contract.query import MAX_SCAN
from explorer.i18n import mark, tr, tr_n
from explorer.text import at_least, number, sentence


@dataclass(frozen=True)
class Ask:
    """What the list shows: everything that `filter` admits, or the hits of `query` among it."""

    filter: MetaFilter = field(default_factory=MetaFilter)
    query: str = ""
    mode: FetchMode | None = None
    conditions: tuple[Condition, ...] = ()
    scope: Reach | None = None
    """A reach that no condition set, and that nothing is read out of."""

    @property
    def is_search(self) -> bool:
        return not is_blank(self.query)


@dataclass(frozen=True)
class Count:
    """A number of items; `is_least` when there may be more."""

    n: int
    is_least: bool = False

    @property
    def plural(self) -> int:
        """What the words beside it agree with: of `1+ items` there are several."""
        return max(self.n, 2) if self.is_least else self.n

    def __str__(self) -> str:
        return at_least(self.n) if self.is_least else number(self.n)


NONE = Count(0)

_NAMED = {
    # Translators: this and the like only stand in “Without {condition} there are …”.
    "reach": mark("the namespace"),
    "workspace": mark("the workspace"),
    "folder": mark("the folder"),
    "file_path": mark("the file"),
    "language": mark("the language"),
    "repo": mark("the repo"),
    "commit": mark("the commit"),
    "url": mark("the url"),
    "thread_id": mark("the thread"),
    "agent_id": mark("the agent"),
    "tool_call": mark("the tool"),
    "source_id": mark("the source id"),
    "turns": mark("the turns"),
    "kinds": mark("the kind"),
    "sources": mark("the source"),
    "tags_any": mark("the tag"),
    "observed_after": mark("the dates"),
    "observed_before": mark("the dates"),
    QUERY: mark("the search"),
}
"""A condition by its field."""
_REMOVE = {
    "reach": mark("Remove the namespace"),
    "workspace": mark("Remove the workspace"),
    "folder": mark("Remove the folder"),
    "file_path": mark("Remove the file"),
    "language": mark("Remove the language"),
    "repo": mark("Remove the repo"),
    "commit": mark("Remove the commit"),
    "url": mark("Remove the url"),
    "thread_id": mark("Remove the thread"),
    "agent_id": mark("Remove the agent"),
    "tool_call": mark("Remove the tool"),
    "source_id": mark("Remove the source id"),
    "turns": mark("Remove the turns"),
    "kinds": mark("Remove the kind"),
    "sources": mark("Remove the source"),
    "tags_any": mark("Remove the tag"),
    "observed_after": mark("Remove the dates"),
    "observed_before": mark("Remove the dates"),
    QUERY: mark("Remove the search"),
}
"""What takes away the condition of a field, from the filter and not from what is stored."""


@dataclass(frozen=True)
class Stored:
    """What a memory holds: the items that a filter without a reach admits, and those in sandboxes, as far as known."""

    outside: Count
    sandboxed: Count = NONE


@dataclass(frozen=True)
class Why:
    """What the engine says about itself and holds, and how many would match without each of the conditions."""

    health: EngineHealth
    stored: Stored
    without: tuple[tuple[Condition, Count], ...] = ()


def end_if_cancelled() -> None:
    """End a task that was cancelled while an engine did not listen, and answered all the same: raises CancelledError.

    For a task that asks more than once, or tells how far it is: nobody wants to know any more.
    """
    task = asyncio.current_task()
    if task is not None and task.cancelling():
        raise asyncio.CancelledError


async def count_of(engine: MemoryEngine, filter: MetaFilter) -> Count:
    """How many items `filter` admits; by a facet's total, which every engine has."""
    req = ExploreRequest(facet=Facet.KIND, filter=filter, limit=3, scan_limit=MAX_SCAN)
    page: ExplorePage
    if type(engine).explore_gradually is MemoryEngine.explore_gradually:
        page = await engine.explore(req)
    else:  # one that reads long keeps for these what it has read
        (page,) = await engine.explore_many([req])
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
    # Translators: beside the number of items that match: where they are.
    return tr("sandbox and its parents") if filter.reach.inherit else tr("in a sandbox")


def without_sentence(condition: Condition, count: Count) -> str:
    """How many there are without a condition, named by its kind; the chip has its value."""
    named = tr(_NAMED[condition.field])
    if count == NONE:
        # Translators: {condition} is one of the phrases like “the tag”.
        return tr("Without {condition} there are none.", condition=named)
    return tr_n(
        "Without {condition} there is {n} item.",
        "Without {condition} there are {n} items.",
        count.plural,
        condition=named,
        n=count,
    )


def remove_words(condition: Condition) -> str:
    """`Remove the tag`: what removes a condition, for a button."""
    return tr(_REMOVE[condition.field])


def stored_sentence(stored: Stored) -> str:
    outside, sandboxed = stored.outside, stored.sandboxed
    if sandboxed == NONE:
        if outside == NONE:
            return tr("There are none stored.")
        return tr_n("There is {n} item stored.", "There are {n} items stored.", outside.plural, n=outside)
    if outside == NONE:
        return tr("There are none outside sandboxes, and {sandboxed} in them.", sandboxed=sandboxed)
    return tr_n(
        "There is {n} item outside sandboxes, and {sandboxed} in them.",
        "There are {n} items outside sandboxes, and {sandboxed} in them.",
        outside.plural,
        n=outside,
        sandboxed=sandboxed,
    )


def health_sentence(health: EngineHealth) -> str:
    said = (health.reason or "").strip()
    if not said:
        return tr("The engine is down.") if health.state == "down" else tr("The engine is degraded.")
    return sentence(said)
