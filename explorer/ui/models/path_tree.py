"""Paths as a tree by `/`, counted here and with what is below. Free of Qt."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

ROOT = "/"
"""The segment above every absolute path."""
DEEPEST = 64
"""As many segments are nodes; what a path has beyond them is one more, with its slashes."""


@dataclass(slots=True)
class PathNode:
    """One segment. A node may hold items and nodes alike."""

    segments: tuple[str, ...]
    here: int | None = None
    """Items whose value is this very path; None where no value is."""
    below: int = 0
    """Items here and below."""
    nodes: dict[str, PathNode] = field(default_factory=dict)

    @property
    def segment(self) -> str:
        """The last segment; empty between two slashes and after a trailing one."""
        return self.segments[-1]

    @property
    def path(self) -> str:
        """As it is stored, and as a filter asks for it and all below it."""
        if self.segments[0] != ROOT:
            return "/".join(self.segments)
        return ROOT + "/".join(self.segments[1:])

    @property
    def key(self) -> str:
        """What tells it from every other node: a root and an empty segment below it have the same path."""
        return "/".join(self.segments)

    @property
    def depth(self) -> int:
        return len(self.segments) - 1

    @property
    def is_passage(self) -> bool:
        """Whether there is nothing here but one way on."""
        return self.here is None and len(self.nodes) == 1

    @property
    def can_be_asked_for(self) -> bool:
        """Whether a filter can mean it: a prefix loses its slashes at the end, and so an empty last segment."""
        return self.segments == (ROOT,) or self.segment.rpartition("/")[2] != ""

    def walk(self) -> Iterator[PathNode]:
        """This node and every one below it."""
        pending = [self]
        while pending:
            node = pending.pop()
            yield node
            pending += node.nodes.values()


def segments_of(value: str) -> tuple[str, ...]:
    """The segments of a path, the empty ones included; an absolute one begins with `ROOT`."""
    if value.startswith("/"):
        return (ROOT, *value[1:].split("/", DEEPEST)) if value != "/" else (ROOT,)
    return tuple(value.split("/", DEEPEST))


def path_tree(counts: Mapping[str, int]) -> dict[str, PathNode]:
    """The outermost nodes by their segment. Every value's count is one node's `here`, so that they add up to all."""
    top: dict[str, PathNode] = {}
    for value, count in counts.items():
        segments = segments_of(value)
        nodes = top
        for end, segment in enumerate(segments, 1):
            if segment not in nodes:
                nodes[segment] = PathNode(segments[:end])
            node = nodes[segment]
            node.below += count
            if end == len(segments):
                node.here = (node.here or 0) + count
            nodes = node.nodes
    return top
