"""A preview over an engine that counts what it is asked."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

from pytestqt.qtbot import QtBot

from explorer.context.presets import PresetStore
from explorer.contract import (
    EngineDescriptor,
    ListPage,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    StoreItem,
)
from explorer.ui.context_preview import ContextPanel
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning

ACME = Namespace.parse("team:acme")
TRIAGE = Namespace.parse("team:acme/agent:triage")
WRITER = Namespace.parse("team:acme/agent:writer")
ITEMS: list[StoreItem] = [
    learning("the user is Dana, who leads support and likes plain sentences", "root"),
    learning("the user works on the refund project in the billing repository", "team:acme"),
    *(learning(f"working preference {n}: the user wants drafts of refund letters", str(TRIAGE)) for n in range(30)),
    learning("only the writer knows this", str(WRITER)),
]


class Asked(FakeEngine):
    """One whose lists pass the gate too, and whose answers may cost, where it is told to say so."""

    may_cost = False

    async def list(self, req: ListRequest) -> ListPage:
        await self._pass("list", req)
        return await super().list(req)

    def descriptor(self) -> EngineDescriptor:
        return super().descriptor().model_copy(update={"needs_key": self.may_cost})

    @property
    def asked(self) -> int:
        """How many questions of a preview it was asked."""
        return len(self.requests("recall")) + len(self.requests("list"))


async def engine_of(items: list[StoreItem] | None = None) -> Asked:
    engine = Asked()
    await filled(ITEMS if items is None else items, engine)
    return engine


def at(node: Namespace) -> MetaFilter:
    return MetaFilter(reach=Reach.subtree(node))


@asynccontextmanager
async def previewing(
    qtbot: QtBot,
    tmp_path: Path,
    until: Until,
    engine: MemoryEngine | None,
    node: Namespace = TRIAGE,
    *,
    is_list_read: Callable[[], bool] = lambda: True,
    waits: bool = True,
) -> AsyncIterator[ContextPanel]:
    """A preview of this node on the screen, with its document."""
    store = PresetStore(tmp_path / "presets.json")
    panel = ContextPanel(lambda: [Namespace.ROOT, ACME, TRIAGE, WRITER], is_list_read, UTC, store)
    qtbot.addWidget(panel)
    panel.resize(464, 420)
    panel.show()
    panel.set_engine(engine)
    panel.show_filter(at(node))
    try:
        if waits:
            await until(lambda: is_done(panel))
        yield panel
    finally:
        await panel.aclose()


def is_done(panel: ContextPanel) -> bool:
    """Whether the document of the node is there, and on the screen."""
    return panel.gathered is not None and not panel.jobs.is_busy
