"""Removals and receipts that the tests of this folder share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from typing import Any

from explorer.contract import ItemId, MemoryEngine, MetaFilter, Namespace, SourceKind, SourceRef
from explorer.removal.journal import Journal
from explorer.removal.plan import Action, Target
from explorer.removal.preview import Preview
from explorer.removal.receipts import ReceiptWriter
from explorer.removal.removing import Removal
from tests.fakes import FakeEngine, filled, learning
from tests.removal import made


async def ten() -> FakeEngine:
    """Ten items: five at agent:a, out of the folder kb, and five at agent:b."""
    engine = FakeEngine()
    await filled(
        [
            *(learning(f"a {n}", "agent:a", source=SourceRef(kind=SourceKind.FOLDER, id="kb")) for n in range(5)),
            *(learning(f"b {n}", "agent:b") for n in range(5)),
        ],
        engine,
    )
    return engine


async def ready(
    engine: MemoryEngine, journal: Journal, target: Target | None = None, action: Action = Action.FORGET
) -> Removal:
    """A removal, of agent:a unless told, whose preview is whole."""
    removal = await made.counted(engine, target or Target.below(Namespace.parse("agent:a")), action, journal)
    removal.connection = "Notes"
    return removal


def begin(journal: Journal, removal: Removal, action: str) -> ReceiptWriter:
    """The receipt that its run begins."""
    return journal.start(action, removal.engine, removal.connection, planned(removal), **removal.facts())


def preview_of(removal: Removal) -> Preview:
    assert removal.preview is not None
    return removal.preview


def planned(removal: Removal) -> list[ItemId]:
    return list(preview_of(removal).ids)


def names(lines: Sequence[dict[str, Any]]) -> list[str]:
    return [line["line"] for line in lines]


async def everything(engine: MemoryEngine, nodes: Iterable[Namespace] | None = None) -> set[ItemId]:
    """All ids, node by node: no reach and no sandbox stands between. `nodes` are all there can be; else it is asked."""
    if nodes is None:
        nodes = [Namespace.parse(bucket.value) for bucket in (await engine.namespaces(MetaFilter())).buckets]
    return {id for node in nodes for id in await made.ids_of(engine, Target.at(node).filter)}
