"""Engines on the double, in each layout of each wire, and what to put into them."""

from __future__ import annotations

from collections.abc import AsyncIterator, Container
from contextlib import aclosing, asynccontextmanager
from typing import Any

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    Hit,
    ItemId,
    Learning,
    LearningKind,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Role,
    SourceKind,
    SourceRef,
    StoreItem,
    Turn,
)
from explorer.engines.config import EngineSettings, StaticCredential
from explorer.engines.cortex import DIRECT, HOSTED
from explorer.engines.cortex.cache import ListingCache
from explorer.engines.cortex.direct import DirectWire
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.envelope import lay_out
from explorer.engines.cortex.hosted import HostedWire
from explorer.engines.cortex.labels import id_label
from explorer.engines.cortex.pacing import Timing
from explorer.engines.cortex.settings import CortexSettings
from tests.doubles.cortexdb import CortexDouble

LAYOUTS: dict[str, tuple[bool, dict[str, Any]]] = {
    "direct-legacy": (False, {}),
    "direct-scope_root": (False, {"scope_root": "org:42"}),
    "hosted-legacy": (True, {}),
    "hosted-scope_root": (True, {"scope_root": "org:42"}),
    "hosted-tenant_root": (True, {"tenant_root": True}),
}
"""Each layout of each wire: whether it is the hosted one, and the settings. Direct has no tenant root."""

QUICK = Timing(retry_s=0.001, poll_s=0.001, most_poll_s=0.01, pause_s=0.01, listed_s=2.0, ranked_s=1.0)


def opened(
    double: CortexDouble,
    *,
    hosted: bool = False,
    token: str | None = None,
    timing: Timing = QUICK,
    cache: ListingCache | None = None,
    endpoint: str = "",
    **settings: Any,
) -> CortexEngine:
    """`endpoint`: another than the double's, such as a proxy's."""
    checked = CortexSettings.of(EngineSettings(endpoint=endpoint or double.endpoint, **settings), hosted=hosted)
    kind = HostedWire if hosted else DirectWire
    wire = kind(checked, StaticCredential(token or double.token), timing)
    descriptor = (HOSTED if hosted else DIRECT).model_copy(update={"consolidation": checked.consolidation})
    return CortexEngine(wire, checked, descriptor, cache)


def at(path: str) -> Namespace:
    return Namespace.parse(path)


def meta(namespace: str = "", **fields: Any) -> MemoryMeta:
    if "source_id" in fields:
        fields["source"] = SourceRef(kind=SourceKind.FILE, id=fields.pop("source_id"))
    return MemoryMeta(namespace=at(namespace), **fields)


def fact(text: str, namespace: str = "", **fields: Any) -> Learning:
    return Learning(text=text, kind=LearningKind.FACT, confidence=0.5, meta=meta(namespace, **fields))


def note(text: str, namespace: str = "", title: str | None = None, **fields: Any) -> Document:
    return Document(title=title, body=DocumentBody(text=text), meta=meta(namespace, **fields))


def talk(*texts: str, namespace: str = "", **fields: Any) -> Conversation:
    roles = (Role.USER, Role.ASSISTANT)
    turns = [Turn(role=roles[index % 2], text=text) for index, text in enumerate(texts)]
    return Conversation(turns=turns, meta=meta(namespace, **fields))


@asynccontextmanager
async def served(layout: str = "direct-legacy", **knobs: Any) -> AsyncIterator[tuple[CortexDouble, CortexEngine]]:
    """A double with these knobs, and an engine on it."""
    hosted, settings = LAYOUTS[layout]
    async with CortexDouble(**knobs) as double, aclosing(opened(double, hosted=hosted, **settings)) as engine:
        yield double, engine


def scope_of(engine: CortexEngine, item: StoreItem) -> str:
    """The path that an item is sent to."""
    return engine._settings.layout.path(item.meta.namespace, item.item_kind)


def stored_at(double: CortexDouble, engine: CortexEngine, item: StoreItem) -> str:
    """The path under which the server holds an item."""
    path = scope_of(engine, item)
    return double.rooted(path) if engine.descriptor().hosted else path


def lay(
    double: CortexDouble, engine: CortexEngine, *items: StoreItem, only: Container[int | None] | None = None
) -> list[ItemId]:
    """Items straight into the log, oldest first; `only` these turns or pieces of them."""
    ids = []
    for item in items:
        id = item.fingerprint()
        put_at(double, stored_at(double, engine, item), item, id, only)
        ids.append(id)
    return ids


def put_at(
    double: CortexDouble, path: str, item: StoreItem, id: ItemId, only: Container[int | None] | None = None
) -> None:
    """An item as another client of the same deployment stores it under `id`; `only` these turns or pieces of it."""
    for event in lay_out(item, id):
        if only is None or event.part in only:
            more = {"role": event.role, "modality": event.modality, "observed_at": event.observed_at}
            double.put(path, event.text, event.labels, **more)


def long_note(title: str = "Handbook", namespace: str = "", **fields: Any) -> Document:
    """A document of three pieces, each of them a page with a heading of its own."""
    pages = [f"# Part {number}\n\n" + f"word{number} " * 36_000 for number in (1, 2, 3)]
    return note("\f".join(pages), namespace, title, **fields)


async def listed(engine: MemoryEngine, limit: int = 50, **filter: Any) -> list[ItemId]:
    """The ids of everything that the filter admits, over all pages."""
    return [hit.id for hit in await all_hits(engine, limit, **filter)]


async def all_hits(engine: MemoryEngine, limit: int = 50, **filter: Any) -> list[Hit]:
    hits: list[Hit] = []
    cursor: str | None = None
    while True:
        page = await engine.list(ListRequest(filter=MetaFilter(**filter), limit=limit, cursor=cursor))
        hits += page.items
        cursor = page.next_cursor
        if cursor is None:
            return hits


def mislabelled(double: CortexDouble, engine: CortexEngine) -> tuple[ItemId, str]:
    """Two learnings, "wanted" and "other", of which the other has the label of the first. -> its id, their scope"""
    wanted, other = fact("wanted"), fact("other")
    ids = lay(double, engine, wanted, other)
    scope = scope_of(engine, other)
    held = double.held(scope)[1]
    double.log.drop(scope, [held.id])
    double.put(scope, held.text, [id_label(ids[0]), *held.labels[1:]])
    return ids[0], scope
