"""The `service:` sandboxes of a memory, which an ordinary read never enters."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Collection, Iterator, Mapping
from typing import NamedTuple

from explorer.contract import ItemId, MemoryEngine, MetaFilter, Namespace, Reach
from explorer.contract.query import MAX_GET_IDS


def names_sandboxes(engine: MemoryEngine) -> bool:
    """Whether the engine knows its nodes by itself: a count of its listing never enters a sandbox."""
    return type(engine).namespaces is not MemoryEngine.namespaces


def reaches(nodes: Collection[Namespace]) -> list[Reach]:
    """Those that together admit `nodes`, the one outside of all sandboxes first: a sandbox is read only by name."""
    return [Reach.subtree(root) for root in sorted({_root(node) for node in nodes})]


def by_sandbox(nodes: Mapping[ItemId, Namespace]) -> Iterator[tuple[Reach, list[ItemId]]]:
    """Under which reach to get items at these nodes: at most as many ids each as one get takes."""
    groups: dict[Namespace, list[ItemId]] = defaultdict(list)
    for id, node in nodes.items():
        groups[_root(node)].append(id)
    for root, ids in groups.items():
        for start in range(0, len(ids), MAX_GET_IDS):
            yield Reach.subtree(root), ids[start : start + MAX_GET_IDS]


def _root(node: Namespace) -> Namespace:
    return Namespace.ROOT if node.sandbox is None else node.sandbox


class Sandboxes(NamedTuple):
    roots: list[tuple[Namespace, int]]
    """Each with how many of its items the filter admits; a nested one on its own."""
    is_all: bool
    """Whether there can be no others."""


async def sandboxes(engine: MemoryEngine, filter: MetaFilter) -> Sandboxes:
    """The sandboxes in the filter's subtree; none for a filter that reads single nodes.

    A read of `Reach.subtree` of each, beside the filter's own reach, meets every item once.
    """
    reach = filter.reach or Reach.subtree(Namespace.ROOT)
    if not reach.descendants:
        return Sandboxes([], is_all=True)
    if not names_sandboxes(engine):
        return Sandboxes([], is_all=False)
    counts: dict[Namespace, int] = {}
    page = await engine.namespaces(filter)
    for bucket in page.buckets:
        node = Namespace.parse(bucket.value)
        if node.is_within(reach.at) and not reach.admits(node):
            root = node.sandbox
            assert root is not None
            counts[root] = counts.get(root, 0) + bucket.count
    return Sandboxes(sorted(counts.items()), is_all=not page.truncated)


async def sandbox_roots(engine: MemoryEngine, filter: MetaFilter) -> list[tuple[Namespace, int]]:
    """As `sandboxes`, those that are known alone."""
    return (await sandboxes(engine, filter)).roots
