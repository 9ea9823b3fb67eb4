"""The CortexDB engine: each call of the contract as a flow over one of the two wires."""

from __future__ import annotations

from typing import TYPE_CHECKING, TypeVar

from explorer.contract import (
    Detail,
    EngineDescriptor,
    EngineHealth,
    EraseReport,
    EraseRequest,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    ItemId,
    ListPage,
    ListRequest,
    MemoryEngine,
    Reach,
    RecallAnswer,
    RecallRequest,
    StoreItem,
    StoreOptions,
    StoreReceipt,
    Waiting,
)

if TYPE_CHECKING:
    from explorer.engines.cortex.cache import ListingCache
    from explorer.engines.cortex.settings import CortexSettings
    from explorer.engines.cortex.wires import Wire

T = TypeVar("T")
Listed = list[T]
"""`MemoryEngine.list` hides the built-in of that name inside the class body."""


class CortexEngine(MemoryEngine):
    """Items in scopes of an append-only log elsewhere, each item one event or several."""

    def __init__(
        self, wire: Wire, settings: CortexSettings, descriptor: EngineDescriptor, cache: ListingCache | None = None
    ) -> None:
        self._wire = wire
        self._settings = settings
        self._descriptor = descriptor
        self._cache = cache

    def _on_changed(self, scope_path: str) -> None:
        """Told of each scope that this engine wrote to or removed from."""

    def descriptor(self) -> EngineDescriptor:
        return self._descriptor.model_copy(deep=True)

    async def aclose(self) -> None:
        await self._wire.aclose()

    def waiting(self) -> Waiting | None:
        raise NotImplementedError

    def details(self) -> Listed[Detail]:
        raise NotImplementedError

    async def health(self) -> EngineHealth:
        raise NotImplementedError

    async def store(self, item: StoreItem) -> StoreReceipt:
        raise NotImplementedError

    async def store_many(self, items: Listed[StoreItem]) -> Listed[StoreReceipt]:
        raise NotImplementedError

    async def store_with(self, item: StoreItem, options: StoreOptions) -> StoreReceipt:
        raise NotImplementedError

    async def store_many_with(self, items: Listed[StoreItem], options: StoreOptions) -> Listed[StoreReceipt]:
        raise NotImplementedError

    async def list(self, req: ListRequest) -> ListPage:
        raise NotImplementedError

    async def list_preview(self, req: ListRequest) -> ListPage:
        raise NotImplementedError

    async def get(self, req: GetRequest) -> Listed[Hit]:
        raise NotImplementedError

    async def get_items(self, req: GetRequest) -> Listed[Exported]:
        raise NotImplementedError

    async def export(self, req: ListRequest) -> ExportPage:
        raise NotImplementedError

    async def explore(self, req: ExploreRequest) -> ExplorePage:
        raise NotImplementedError

    async def fetch(self, req: FetchRequest) -> FetchPage:
        raise NotImplementedError

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        raise NotImplementedError

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        raise NotImplementedError

    async def forget_within(self, ids: Listed[ItemId], reach: Reach | None) -> ForgetReport:
        raise NotImplementedError

    async def erase(self, req: EraseRequest) -> EraseReport:
        raise NotImplementedError
