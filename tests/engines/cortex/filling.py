"""Items put straight into the log of the double, and engines over it."""

from __future__ import annotations

from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager
from typing import Any

from explorer.contract import ItemId, StoreItem
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.scopes import Layout
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex import flows

WIRES = ("direct", "hosted")
LEGACY = {"direct": Layout(), "hosted": Layout(hosted=True)}


def put(double: CortexDouble, wire: str, items: Iterable[StoreItem], layout: Layout | None = None) -> list[ItemId]:
    """Store items as another client of the same deployment would."""
    ids = []
    for item in items:
        id = item.fingerprint()
        path = (layout or LEGACY[wire]).path(item.meta.namespace, item.item_kind)
        flows.put_at(double, double.rooted(path) if wire == "hosted" else path, item, id)
        ids.append(id)
    return ids


@asynccontextmanager
async def opened(double: CortexDouble, wire: str = "direct", **settings: Any) -> AsyncIterator[CortexEngine]:
    engine = flows.opened(double, hosted=wire == "hosted", **settings)
    try:
        yield engine
    finally:
        await engine.aclose()
