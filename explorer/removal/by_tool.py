"""What an agent's tool would store or forget, looked at before it is done; a forget is then a removal like any other.

The tools themselves know nothing of it: they are given an engine that holds their writes back, and another one later
whose forget counts, asks again, and leaves a receipt.
"""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from datetime import UTC, tzinfo

from explorer.contract import (
    Conflict,
    EngineDescriptor,
    EngineHealth,
    ExplorePage,
    ExploreRequest,
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
    StoreReceipt,
)
from explorer.contract.namespace import EVERYTHING
from explorer.removal.confirmation import Answers
from explorer.removal.journal import Journal
from explorer.removal.outcome import Outcome, Phase
from explorer.removal.plan import Action, Target, make_plan
from explorer.removal.preview import listed
from explorer.removal.removing import Removal

Hits = list[Hit]  # in the class `list` is a call
Store = Callable[[StoreItem], Awaitable[StoreReceipt]]
Forget = Callable[[ForgetTarget], Awaitable[ForgetReport]]


class ToolWrites:
    """One call of a tool that writes. Used once: `rehearsing`, then `plan`, then `running`.

    `reach` is what the tool reads, None for all but the sandboxes; `connection` is what is open, for the receipt.
    """

    def __init__(
        self, engine: MemoryEngine, journal: Journal, connection: str, reach: Reach | None, *, zone: tzinfo = UTC
    ) -> None:
        self.stores: StoreItem | None = None
        """What the tool would store."""
        self.forgets: ForgetTarget | None = None
        """What the tool would forget, once it has read the ids back."""
        self.removal: Removal | None = None
        """The forget, counted to its end; None where nothing would go."""
        self.outcome: Outcome | None = None
        """Of the forget that ran."""
        self._engine = engine
        self._journal = journal
        self._connection = connection
        self._reach = reach or EVERYTHING
        self._zone = zone

    def rehearsing(self) -> MemoryEngine:
        """The engine for a first call, whose arguments are checked and whose ids are read back: it writes nothing."""

        async def store(item: StoreItem) -> StoreReceipt:
            self.stores = item
            return StoreReceipt(id=ItemId(""), replayed=False)

        async def forget(target: ForgetTarget) -> ForgetReport:
            self.forgets = target
            return ForgetReport(forgotten=0)

        return _Writing(self._engine, store, forget)

    async def plan(self) -> None:
        """Count what the forget would take, item by item. Raises what counting raises."""
        if self.forgets is None:
            return
        ids = self.forgets.ids or []
        if self.forgets.filter is not None:
            async with contextlib.aclosing(listed(self._engine, self.forgets.filter)) as pages:
                ids = [hit.id async for hits in pages for hit in hits]
        if not ids:
            return
        plan = await make_plan(self._engine, Target.of_ids(ids, self._reach), Action.FORGET)
        removal = Removal(self._engine, plan, self._journal, self._connection, zone=self._zone)
        async with contextlib.aclosing(removal.count()) as counting:
            async for _ in counting:
                pass
        if removal.preview is not None and removal.preview.total:
            self.removal = removal

    def running(self) -> MemoryEngine:
        """The engine for the call itself, once a person has agreed to what was planned.

        Its forget raises Conflict, with nothing removed, where something else would go by now.
        """
        return _Writing(self._engine, self._engine.store, self._forget)

    async def _forget(self, target: ForgetTarget) -> ForgetReport:
        removal = self.removal
        if removal is None:  # nothing was there to be agreed to
            return ForgetReport(forgotten=0)
        if target != self.forgets:
            raise Conflict("what it would forget is no longer what was confirmed; nothing was forgotten")
        # The person has seen the numbers and agreed to them, by a switch of its own where they are large.
        async with contextlib.aclosing(removal.run(Answers(large=True))) as steps:
            async for step in steps:
                if step.phase is Phase.MOVED:
                    raise Conflict("what it would forget changed since it was confirmed; nothing was forgotten")
                self.outcome = step.outcome or self.outcome
        return ForgetReport(forgotten=self.outcome.removed if self.outcome is not None else 0)


class _Writing(MemoryEngine):
    """An engine with other writes, as far as tools call it."""

    def __init__(self, engine: MemoryEngine, store: Store, forget: Forget) -> None:
        self._engine = engine
        self._store, self._forget = store, forget

    def descriptor(self) -> EngineDescriptor:
        return self._engine.descriptor()

    async def health(self) -> EngineHealth:
        return await self._engine.health()

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        return await self._engine.recall(req)

    async def fetch(self, req: FetchRequest) -> FetchPage:
        return await self._engine.fetch(req)

    async def list(self, req: ListRequest) -> ListPage:
        return await self._engine.list(req)

    async def get(self, req: GetRequest) -> Hits:
        return await self._engine.get(req)

    async def explore(self, req: ExploreRequest) -> ExplorePage:
        return await self._engine.explore(req)

    async def store(self, item: StoreItem) -> StoreReceipt:
        return await self._store(item)

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        return await self._forget(target)
