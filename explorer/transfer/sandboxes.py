"""The `service:` sandboxes of a memory, which an ordinary read never enters."""

from __future__ import annotations

from typing import NamedTuple

from explorer.contract import MemoryEngine, MetaFilter, Namespace, Reach


def names_sandboxes(engine: MemoryEngine) -> bool:
    """Whether the engine knows its nodes by itself: a count of its listing never enters a sandbox."""
    return type(engine).namespaces is not MemoryEngine.namespaces


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
