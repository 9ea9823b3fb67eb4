"""What is to go, as a person means it: a selection, a filter, nodes; and what that leaves where it is.

Source: cases, rows A18 and A19; contract, "forget" and "erase".
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from pydantic import Field

from explorer.contract import (
    EraseRequest,
    Facet,
    InvalidRequest,
    ItemId,
    ItemKind,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
)
from explorer.contract.model import Model
from explorer.contract.namespace import EVERYTHING
from explorer.transfer import sandboxes


class Action(StrEnum):
    FORGET = "forget"
    """Out of every read."""
    ERASE = "erase"
    """Gone for good: stored again, it is a new item."""


class Target(Model):
    """What is to go: the items named, or what a filter admits. Make one by its class methods.

    A filter's reach never goes up from its node: what is above is not meant by a removal.
    """

    ids: list[ItemId] = Field(default_factory=list)
    reach: Reach | None = None
    """Where the items named are read, only for `ids`; None for wherever they are, sandboxes included."""
    filter: MetaFilter | None = None
    above: list[Namespace] = Field(default_factory=list)
    """Nodes that the filter read as well, and that a removal leaves alone; root first."""

    @classmethod
    def of_ids(cls, ids: list[ItemId], reach: Reach | None = None) -> Target:
        """Items chosen one by one under `reach`. Raises InvalidRequest for none."""
        if not ids:
            raise InvalidRequest("nothing is chosen, so there is nothing to remove")
        return cls(ids=list(dict.fromkeys(ids)), reach=reach)

    @classmethod
    def of_filter(cls, filter: MetaFilter) -> Target:
        """All that `filter` admits, but for nodes above its own: an empty one is the whole tree, sandboxes included."""
        reach = filter.reach or EVERYTHING
        above = reach.nodes()[:-1]
        down = reach.model_copy(update={"inherit": False})
        return cls(filter=filter.model_copy(update={"reach": down}), above=above)

    @classmethod
    def of_value(cls, facet: Facet, value: str, filter: MetaFilter | None = None) -> Target:
        """A value of a facet, among what `filter` admits. Raises InvalidRequest for one that no filter can have."""
        return cls.of_filter(facet.narrow(filter or MetaFilter(), value))

    @classmethod
    def at(cls, node: Namespace) -> Target:
        return cls.of_filter(MetaFilter(reach=Reach.exact(node)))

    @classmethod
    def below(cls, node: Namespace) -> Target:
        """A node and everything below it; at the root the whole tree."""
        return cls.of_filter(MetaFilter(reach=Reach.subtree(node)))

    @property
    def is_nodes_and_kinds(self) -> bool:
        """Whether it says nothing but where and of which kinds, which is all that an erase can be told."""
        return self.filter is not None and self.filter == MetaFilter(reach=self.filter.reach, kinds=self.filter.kinds)

    @property
    def is_whole_tree(self) -> bool:
        """Every item of every kind at every node: for this alone, sandboxes go as well."""
        return self.is_nodes_and_kinds and self._erasing(whole_tree=True).is_whole_tree

    @property
    def node(self) -> Namespace | None:
        """The node that it is about, where it is about nothing else but kinds; the root for the whole tree."""
        return self.filter.reach.at if self.is_nodes_and_kinds and self.filter and self.filter.reach else None

    @property
    def prefix(self) -> Facet | None:
        """The facet whose value also takes in what is below it as a path."""
        if self.filter is not None and self.filter.folder is not None:
            return Facet.FOLDER
        return Facet.FILE_PATH if self.filter is not None and self.filter.file_path is not None else None

    def erasing(self) -> EraseRequest:
        """What to ask of an engine. Raises InvalidRequest for what an erase cannot be told."""
        if not self.is_nodes_and_kinds:
            raise InvalidRequest(
                "an erase takes nodes and kinds only, and this names items or what their metadata says; forget them"
            )
        return self._erasing(whole_tree=self.is_whole_tree)

    def _erasing(self, *, whole_tree: bool) -> EraseRequest:
        assert self.filter is not None
        assert self.filter.reach is not None
        return EraseRequest(reach=self.filter.reach, kinds=self.filter.kinds, whole_tree=whole_tree)


@dataclass(frozen=True, slots=True)
class Sandbox:
    """A `service:` node below the target, and how many of the target's items it and what is below it hold."""

    node: Namespace
    items: int


@dataclass(frozen=True, slots=True)
class Plan:
    """One removal, before anything is counted."""

    target: Target
    action: Action
    filters: tuple[MetaFilter, ...]
    """What is listed to find what goes: together they admit each item once. Empty where items are named."""
    sandboxes: tuple[Sandbox, ...] = ()
    """Those below the target: they go with the whole tree, and stay otherwise."""
    knows_sandboxes: bool = True
    """Whether the engine names all its sandboxes; else there may be some, which no listing shows."""

    @property
    def takes_sandboxes(self) -> bool:
        return self.target.is_whole_tree

    @property
    def takes_unlisted(self) -> bool:
        """Whether it also takes sandboxes that are not counted: an erase of the whole tree is told no ids."""
        return self.takes_sandboxes and not self.knows_sandboxes and self.action is Action.ERASE

    @property
    def kinds(self) -> list[ItemKind]:
        """The kinds that go; all of them where none is named."""
        kinds = self.target.filter.kinds if self.target.filter is not None else []
        return list(dict.fromkeys(kinds)) or list(ItemKind)


async def make_plan(engine: MemoryEngine, target: Target, action: Action) -> Plan:
    """Plan a removal. Raises InvalidRequest where `action` is not possible for `target`, and the engine's errors."""
    if action is Action.ERASE:
        target.erasing().check()
    if target.filter is None:
        return Plan(target, action, ())
    if target.filter.reach is None or target.filter.reach.descendants:
        engine.refresh()  # there may be other nodes by now than an engine elsewhere has kept
    boxes = await sandboxes(engine, target.filter)
    found = tuple(Sandbox(node, items) for node, items in boxes.roots)
    filters = [target.filter]
    if target.is_whole_tree:
        filters += [target.filter.model_copy(update={"reach": Reach.subtree(sandbox.node)}) for sandbox in found]
    return Plan(target, action, tuple(filters), found, knows_sandboxes=boxes.is_all)
