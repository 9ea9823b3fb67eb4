"""The `service:` sandboxes of a memory, which an ordinary read never enters."""

from __future__ import annotations

from explorer.contract import MemoryEngine, MetaFilter, Namespace, Reach


def names_sandboxes(engine: MemoryEngine) -> bool:
    """Whether the engine knows its nodes by itself: a count of its listing never enters a sandbox."""
    return type(engine).namespaces is not MemoryEngine.namespaces


async def sandbox_roots(engine: MemoryEngine, filter: MetaFilter) -> list[tuple[Namespace, int]]:
    """The sandboxes in the filter's subtree, with how many of their items it admits; a nested one on its own.

    None for a filter that reads single nodes, and for an engine that does not name its sandboxes. A read of
    `Reach.subtree` of each, beside the filter's own reach, meets every item once.
    """
    reach = filter.reach or Reach.subtree(Namespace.ROOT)
    if not reach.descendants or not names_sandboxes(engine):
        return []
    counts: dict[Namespace, int] = {}
    for bucket in (await engine.namespaces(filter)).buckets:
        node = Namespace.parse(bucket.value)
        if node.is_within(reach.at) and not reach.admits(node):
            root = node.sandbox
            assert root is not None
            counts[root] = counts.get(root, 0) + bucket.count
    return sorted(counts.items())
