"""Engines that wait, fail, count their calls, or answer what they are told."""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable, Iterable
from typing import Any

from explorer.contract import (
    EngineHealth,
    EraseReport,
    EraseRequest,
    ExplorePage,
    ExploreRequest,
    Exported,
    Facet,
    FacetBucket,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    Learning,
    LearningKind,
    ListPage,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    Namespace,
    RecallAnswer,
    RecallRequest,
    SourceKind,
    SourceRef,
    StoreItem,
    ToolCallRef,
)
from explorer.contract.query import DEFAULT_SCAN
from explorer.contract.reference import ReferenceEngine

When = Callable[[Any], bool]


def always(req: Any) -> bool:
    """Any request at all."""
    return True


def learning(text: str, at: str = "root", **meta: Any) -> Learning:
    """A learning at a node. `source` may be a kind by name, `tool_call` a tool's name; the rest is MemoryMeta's."""
    source = meta.pop("source", "agent")
    if isinstance(source, str):
        source = SourceRef(kind=SourceKind(source))
    tool = meta.pop("tool_call", None)
    whole = MemoryMeta(
        namespace=Namespace.parse(at), source=source, tool_call=ToolCallRef(name=tool) if tool else None, **meta
    )
    return Learning(text=text, kind=LearningKind.FACT, confidence=0.5, meta=whole)


async def filled(items: Iterable[StoreItem], engine: ReferenceEngine | None = None) -> ReferenceEngine:
    """An engine that holds `items`."""
    engine = FakeEngine() if engine is None else engine
    for item in items:
        await engine.store(item)
    return engine


def page_of(
    facet: Facet,
    counts: dict[str, int],
    *,
    missing: int = 0,
    more: int = 0,
    truncated: bool = False,
    total: int | None = None,
) -> ExplorePage:
    """An answer to explore with these counts, in this order."""
    return ExplorePage(
        facet=facet,
        buckets=[FacetBucket(value=value, count=count) for value, count in counts.items()],
        total=sum(counts.values()) + missing if total is None else total,
        missing=missing,
        more_buckets=more,
        truncated=truncated,
    )


class Gate:
    """Calls wait here until it is opened. A stubborn one cannot be cancelled: as a thread, it answers all the same."""

    def __init__(self, stubborn: bool = False) -> None:
        self.waiting = 0
        self._stubborn = stubborn
        self._open = asyncio.Event()

    def open(self) -> None:
        """Let every call through, now and later."""
        self._open.set()

    async def wait(self) -> None:
        self.waiting += 1
        try:
            while not self._open.is_set():
                try:
                    await self._open.wait()
                except asyncio.CancelledError:
                    if not self._stubborn:
                        raise
        finally:
            self.waiting -= 1


class FakeEngine(ReferenceEngine):
    """The reference engine, with every call noted, and held up or refused where a test says so.

    A call is named by its method; `when` looks at its request (for `explore_many` the list of them).
    """

    def __init__(self) -> None:
        super().__init__()
        self.calls: list[tuple[str, Any]] = []
        self.pages: dict[Facet, ExplorePage] = {}
        self.listing: Callable[[ListRequest], ListPage] | None = None  # answers `list_preview` in place of the truth
        self.state = EngineHealth.ok()
        self.ghosts: list[Hit] = []  # go on being found by `fetch` and `recall`, whatever was removed
        self.page_size: int | None = None  # the most that a page of a listing holds, whatever was asked for
        self.most_forgotten: int | None = None  # what a `forget` removes at most, whatever it was told to
        self._gates: list[tuple[str, When, Gate]] = []
        self._errors: list[tuple[str, When, Exception, int]] = []

    def hold(self, call: str, when: When = always, *, stubborn: bool = False) -> Gate:
        """Have such calls wait at the gate that is returned."""
        gate = Gate(stubborn)
        self._gates.append((call, when, gate))
        return gate

    def fail(self, call: str, error: Exception, when: When = always, *, times: int = sys.maxsize) -> None:
        """Have such calls raise `error`, so many times or until `mend`. What was told first comes first."""
        self._errors.append((call, when, error, times))

    def haunt(self, hits: Iterable[Hit]) -> None:
        """Have these be found by `fetch` and `recall`, also once they are removed."""
        self.ghosts += hits

    def mend(self) -> None:
        """Have no call fail any more."""
        self._errors.clear()

    def requests(self, call: str) -> list[Any]:
        """What was asked by calls of one name, in order."""
        return [req for name, req in self.calls if name == call]

    async def _pass(self, call: str, req: Any) -> None:
        self.calls.append((call, req))
        for name, when, gate in list(self._gates):
            if name == call and when(req):
                await gate.wait()
        for at, (name, when, error, times) in enumerate(self._errors):
            if name == call and when(req):
                self._errors[at : at + 1] = [(name, when, error, times - 1)] if times > 1 else []
                raise error

    async def explore(self, req: ExploreRequest) -> ExplorePage:
        await self._pass("explore", req)
        return await self._explored(req)

    async def explore_many(self, reqs: list[ExploreRequest]) -> list[ExplorePage]:
        await self._pass("explore_many", reqs)
        return [await self._explored(req) for req in reqs]

    async def namespaces(self, filter: MetaFilter, scan_limit: int = DEFAULT_SCAN) -> ExplorePage:
        await self._pass("namespaces", filter)
        return await super().namespaces(filter, scan_limit)

    async def list_preview(self, req: ListRequest) -> ListPage:
        await self._pass("list_preview", req)
        if self.page_size is not None:
            req = req.model_copy(update={"limit": min(req.limit, self.page_size)})
        return self.listing(req) if self.listing is not None else await super().list_preview(req)

    async def fetch(self, req: FetchRequest) -> FetchPage:
        await self._pass("fetch", req)
        page = await super().fetch(req)
        return page.model_copy(update={"hits": [*self.ghosts, *page.hits][: req.limit]})

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        await self._pass("recall", req)
        answer = await super().recall(req)
        said = [answer.answer, *(ghost.text for ghost in self.ghosts)]
        return answer.model_copy(update={"answer": " | ".join(said)})

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        """Where it forgets less than it is told to, it says all the same that it forgot all of it."""
        await self._pass("forget", target)
        if self.most_forgotten is None or target.ids is None:
            return await super().forget(target)
        await super().forget(ForgetTarget(ids=target.ids[: self.most_forgotten]))
        return ForgetReport(forgotten=len(target.ids))

    async def erase(self, req: EraseRequest) -> EraseReport:
        await self._pass("erase", req)
        return await super().erase(req)

    async def get(self, req: GetRequest) -> list[Hit]:
        await self._pass("get", req)
        return await super().get(req)

    async def get_items(self, req: GetRequest) -> list[Exported]:
        await self._pass("get_items", req)
        return await super().get_items(req)

    async def health(self) -> EngineHealth:
        await self._pass("health", None)
        return self.state

    async def _explored(self, req: ExploreRequest) -> ExplorePage:
        """The page that a test put there, else the true one."""
        if req.facet in self.pages:
            return self.pages[req.facet]
        return await super().explore(req)
