"""Engines for tests: one that can do nothing but what it must, and one that passes every call on."""

from __future__ import annotations

from explorer.contract import (
    BeliefsRequest,
    ConsolidateReceipt,
    ConsolidateRequest,
    EngineDescriptor,
    EngineHealth,
    EraseReport,
    EraseRequest,
    ExportPage,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    Hit,
    ListPage,
    ListRequest,
    MemoryEngine,
    RecallAnswer,
    RecallRequest,
    StoreItem,
    StoreReceipt,
)
from explorer.contract.reference import ReferenceEngine

Listed = list


class PlainEngine(MemoryEngine):
    """The calls without a default, and nothing else: each default is tested over them. Listings are counted."""

    def __init__(self, page_size: int = 1000) -> None:
        self.inner = ReferenceEngine()
        self.page_size = page_size
        """The most that a page holds, whatever was asked for."""
        self.listed: list[ListRequest] = []
        self.forgotten: list[ForgetTarget] = []

    def descriptor(self) -> EngineDescriptor:
        return EngineDescriptor(
            id="plain",
            label="Plain",
            description="Only what it must",
            hosted=False,
            needs_endpoint=False,
            needs_key=False,
            fetch_modes=[FetchMode.HYBRID],
        )

    async def health(self) -> EngineHealth:
        return EngineHealth.degraded("slow today")

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        return await self.inner.recall(req)

    async def fetch(self, req: FetchRequest) -> FetchPage:
        self.refuse_undeclared(req.mode)
        return await self.inner.fetch(req)

    async def store(self, item: StoreItem) -> StoreReceipt:
        return await self.inner.store(item)

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        self.forgotten.append(target)
        return await self.inner.forget(target)

    async def list(self, req: ListRequest) -> ListPage:
        self.listed.append(req)
        limit = min(req.limit, self.page_size)
        return await self.inner.list(req.model_copy(update={"limit": limit}))


class ForwardingEngine(PlainEngine):
    """As the reference engine in all that it does; a test replaces one call to make it wrong."""

    def descriptor(self) -> EngineDescriptor:
        return self.inner.descriptor()

    async def health(self) -> EngineHealth:
        return await self.inner.health()

    async def fetch(self, req: FetchRequest) -> FetchPage:
        return await self.inner.fetch(req)

    async def export(self, req: ListRequest) -> ExportPage:
        return await self.inner.export(req)

    async def erase(self, req: EraseRequest) -> EraseReport:
        return await self.inner.erase(req)

    async def consolidate(self, req: ConsolidateRequest) -> ConsolidateReceipt:
        return await self.inner.consolidate(req)

    async def beliefs(self, req: BeliefsRequest) -> Listed[Hit]:
        return await self.inner.beliefs(req)
