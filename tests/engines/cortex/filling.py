"""Items put straight into the log of the double, and engines over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

from explorer.contract import ItemId, MemoryEngine, Namespace, StoreItem
from explorer.engines import EngineSettings, StaticCredential
from explorer.engines.cortex import build_direct, build_hosted
from explorer.engines.cortex.envelope import lay_out
from explorer.engines.cortex.scopes import Layout
from tests.doubles.cortexdb import CortexDouble

WIRES = ("direct", "hosted")
LEGACY = {"direct": Layout(), "hosted": Layout(hosted=True)}


def put(double: CortexDouble, wire: str, items: Iterable[StoreItem], layout: Layout | None = None) -> list[ItemId]:
    """Store items as another client of the same deployment would."""
    ids = []
    for item in items:
        id = item.fingerprint()
        path = (layout or LEGACY[wire]).path(item.meta.namespace, item.item_kind)
        for event in lay_out(item, id):
            scope = double.rooted(path) if wire == "hosted" else path
            double.put(scope, event.text, event.labels, modality=event.modality, role=event.role)
        ids.append(id)
    return ids


@asynccontextmanager
async def opened(double: CortexDouble, wire: str = "direct", **settings: object) -> AsyncIterator[MemoryEngine]:
    """An engine over the double; `settings` beside its endpoint, no cache unless asked for."""
    given = {"endpoint": double.endpoint, "listing_cache": False, **settings}
    build = build_hosted if wire == "hosted" else build_direct
    engine = build(EngineSettings.model_validate(given), StaticCredential(double.token))
    try:
        yield engine
    finally:
        await engine.aclose()


def node(text: str) -> Namespace:
    return Namespace.parse(text)
