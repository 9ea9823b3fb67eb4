"""An engine that notes what reaches it, in the contract's JSON form."""

from __future__ import annotations

import json
from collections.abc import Awaitable
from typing import Any, TypeVar

from explorer.contract import (
    EngineDescriptor,
    ExplorePage,
    ExploreRequest,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    ListPage,
    ListRequest,
    RecallAnswer,
    RecallRequest,
    StoreItem,
    StoreReceipt,
)
from explorer.contract.reference import ReferenceEngine

T = TypeVar("T")
Listed = list  # `RecordingEngine.list` hides the built-in of that name inside the class body


class RecordingEngine(ReferenceEngine):
    """The reference engine under any name and with any modes; `calls` holds each call's name and request."""

    def __init__(self, id: str = "reference", modes: list[str] | None = None) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any]] = []
        self._id = id
        self._modes = modes
        self._is_inside = False

    def descriptor(self) -> EngineDescriptor:
        own = super().descriptor()
        modes = own.fetch_modes if self._modes is None else [FetchMode(mode) for mode in self._modes]
        return own.model_copy(update={"id": self._id, "fetch_modes": modes})

    def _note(self, call: str, request: Any) -> None:
        self.calls.append((call, json.loads(request.model_dump_json())))

    async def _by_listing(self, call: Awaitable[T]) -> T:
        """The result of a call that lists, which is the engine's own affair."""
        self._is_inside = True
        try:
            return await call
        finally:
            self._is_inside = False

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        self._note("recall", req)
        return await super().recall(req)

    async def fetch(self, req: FetchRequest) -> FetchPage:
        self._note("fetch", req)
        return await super().fetch(req)

    async def list(self, req: ListRequest) -> ListPage:
        if self._is_inside:
            return await super().list(req)
        self._note("list", req)
        return await super().list(req.model_copy(update={"cursor": None}))  # it may be another engine's

    async def get(self, req: GetRequest) -> Listed[Hit]:
        self._note("get", req)
        return await self._by_listing(super().get(req))

    async def explore(self, req: ExploreRequest) -> ExplorePage:
        self._note("explore", req)
        return await self._by_listing(super().explore(req))

    async def store(self, item: StoreItem) -> StoreReceipt:
        self._note("store", item)
        return await super().store(item)

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        self._note("forget", target)
        return await super().forget(target)
