"""Who can see what is stored at a node: every node whose default reach admits it, and the root's own."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass

from explorer.contract import Namespace
from explorer.tools.scope import ToolScope


@dataclass(frozen=True, slots=True)
class Viewer:
    """A node from which an agent placed there reads the item."""

    node: Namespace
    inherited_from: Namespace | None
    """The ancestor that the item lies at; None where it lies at `node` itself."""


@dataclass(frozen=True, slots=True)
class Visibility:
    """Who sees what is stored at one node."""

    nodes: list[Viewer]
    """Of the nodes asked about, their ancestors and the item's own, each once, in the order of the tree."""
    by_default: bool
    """Whether `ToolScope.default()` reads it: tools at the root with no reach, which enter no sandbox."""
    sandbox: Namespace | None
    """The innermost `service:` node that it lies in, which keeps every read from above out; None outside of any."""


def who_sees(at: Namespace, nodes: Iterable[Namespace]) -> Visibility:
    """Who sees an item stored at `at`, among `nodes` as an engine's `namespaces` names them.

    A node sees its own items and those of every ancestor, also from within a sandbox; nothing sees a sibling's.
    """
    known = {above for node in (at, *nodes) for above in node.ancestors_and_self()}
    viewers = [Viewer(node, None if node == at else at) for node in sorted(known) if ToolScope.at(node).admits(at)]
    return Visibility(viewers, ToolScope.default().admits(at), at.sandbox)
