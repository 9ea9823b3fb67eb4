"""Whose memory the tools touch, which the host fixes and a model never chooses.

Source: memory-v2, "Tools".
"""

from __future__ import annotations

from dataclasses import dataclass, field

from explorer.contract import MetaFilter, Namespace, Reach, admitted_by


@dataclass(frozen=True, slots=True)
class ToolScope:
    """Where stores land, what reads and forgets reach, and whether there are writes at all."""

    place: Namespace = field(default=Namespace.ROOT)
    reach: Reach | None = None
    """None is the root's subtree: every node except what is in a `service:` sandbox."""
    writes: bool = True

    @classmethod
    def default(cls) -> ToolScope:
        """The root, from which everything but the sandboxes is read."""
        return cls()

    @classmethod
    def at(cls, place: Namespace) -> ToolScope:
        """What an agent placed there has: it reads the node and every ancestor, and writes at the node."""
        return cls(place, Reach.of(place))

    def admits(self, namespace: Namespace) -> bool:
        """Whether the tools read, and may forget, what is at this node."""
        return admitted_by(self.reach, namespace)

    def confined(self, filter: MetaFilter) -> MetaFilter:
        """`filter` within this reach and no other; its own is replaced, also where this one is None."""
        return filter.model_copy(update={"reach": self.reach})
