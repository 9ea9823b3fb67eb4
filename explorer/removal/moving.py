"""Items from one node to another, or from one memory to another: copied, read back whole, and only then removed.

Stands with removals, since a move ends in one: what it takes is a removal's target, and it is written down as one is.
An item's id says where it is (contract, "Fingerprint"), so that at another node it gets another; with what it is stored
over again, which is a replay, a move that was cut short goes on when it is run again.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import re
import time
from collections import Counter
from collections.abc import AsyncGenerator, Awaitable, Callable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from functools import partial
from pathlib import Path
from typing import Any, TypeVar

from explorer.contract import (
    MAX_STORE_MANY,
    ConfigError,
    EngineFailure,
    Exported,
    ForgetTarget,
    GetRequest,
    Hit,
    InvalidRequest,
    ItemId,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    NotFound,
    Reach,
    StoreItem,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.i18n import tr, tr_n
from explorer.removal.ending import begun, on_a_thread, why_left
from explorer.removal.forgetting import HOPELESS
from explorer.removal.journal import Journal
from explorer.removal.patience import Control, Halted, Patience
from explorer.removal.plan import Plan, Target
from explorer.removal.preview import PAGE, Preview, named
from explorer.removal.receipts import Receipt, ReceiptWriter, ids_left
from explorer.removal.turns import Turns
from explorer.text import number
from explorer.transfer import FileError, by_sandbox, export_pages

T = TypeVar("T")
R = TypeVar("R")

log = logging.getLogger(__name__)

_PAGE = 100
"""Items read at once to be counted: what is made of them keeps a window waiting."""


@dataclass(frozen=True, slots=True)
class Way:
    """Where items go, and whether they also stay."""

    to: Namespace | None
    """The node; None keeps each item at its own, in another memory."""
    keeps_tree: bool = True
    """Whether what is below the node they come from is below this one too; else all go to the node itself."""
    is_copy: bool = False

    def place(self, node: Namespace, base: Namespace) -> Namespace:
        """Where an item at `node` goes, of a target at `base`. Raises InvalidRequest where that nests too deep."""
        if self.to is None:
            return node
        below = node.segments[base.depth :] if self.keeps_tree and node.is_within(base) else ()
        return Namespace((*self.to.segments, *below))


@dataclass(slots=True)
class MovePreview:
    """What would be moved or copied. While counting, of what was found so far; nothing runs before it `is_whole`."""

    found: Preview
    """Those that would go, as a removal counts them."""
    nodes: dict[ItemId, Namespace] = field(default_factory=dict)
    """Where each of them is, in the order found."""
    to: Counter[Namespace] = field(default_factory=Counter)
    """How many go to each node."""
    held: int = 0
    """Those that their new place holds already, whole: nothing is written for them."""
    different: list[ItemId] = field(default_factory=list)
    """Those whose new place holds the same item seen at another time or by someone else: they will not be moved."""
    equal: dict[ItemId, list[ItemId]] = field(default_factory=dict)
    """By the id that they would get: two or more that become one."""
    incomplete: list[ItemId] = field(default_factory=list)
    """Those that the memory holds only part of, which therefore stay."""
    there: int = 0
    """Items that are at their place already, and stay."""
    too_deep: Counter[Namespace] = field(default_factory=Counter)
    """Nodes whose new place would nest too deep."""
    overlapping: Counter[Namespace] = field(default_factory=Counter)
    """Nodes whose new place is itself among what is to go."""
    is_same_store: bool = False
    """Whether both ends are one memory, or cannot be told apart."""
    can_check: bool = True
    """Whether the destination gives items back whole; without that nothing is moved, only copied."""
    is_whole: bool = False
    _new: dict[ItemId, ItemId] = field(default_factory=dict)  # the id that an item would get: the first that gets it

    @property
    def total(self) -> int:
        return len(self.nodes)


@dataclass(slots=True)
class MoveOutcome:
    """Of one run. `done` + `gone` + `kept` + `not_tried` + `unanswered` is what was planned."""

    planned: int
    is_copy: bool
    done: dict[ItemId, ItemId] = field(default_factory=dict)
    """The old id and the new of each item that was read back whole at its new place and, moved, is gone at its old."""
    replayed: int = 0
    """Of those, the ones that were held there before."""
    gone: list[ItemId] = field(default_factory=list)
    """No longer there when it was their turn."""
    kept: dict[ItemId, str] = field(default_factory=dict)
    """Those that stay where they are, or that their new place lost, with the reason, a sentence part."""
    not_tried: list[ItemId] = field(default_factory=list)
    unanswered: list[ItemId] = field(default_factory=list)
    """Read back whole at their new place and asked to be removed from their old: whether they were, is not known."""
    incomplete: list[ItemId] = field(default_factory=list)
    """Not planned, since the memory holds only part of them."""
    stopped: str | None = None
    """Why it ended before everything was tried, a sentence part."""
    waited_s: float = 0.0
    receipt: Path | None = None

    @property
    def is_clean(self) -> bool:
        return not (self.kept or self.not_tried or self.unanswered or self.incomplete)


@dataclass(frozen=True, slots=True)
class MoveStep:
    done: int
    """Items tried, of `total`."""
    total: int
    outcome: MoveOutcome | None = None
    """At the end."""


class _Stopped(Exception):
    """Nothing further is begun; the text says why."""


class Move:
    """Count, then run. Used by one caller; `pause`, `resume` and `stop` may be called at any time.

    `plan` is one of a forget. Of the sandboxes below its target those of `sandboxes` go as well, the others stay.
    `is_same_store` says whether both engines are on one memory; None has that found out, and it counts as one as long
    as it is not. The connections are the names of what is open, for the receipt. `sleep` is how it waits, in seconds,
    and `clock` tells them.
    """

    def __init__(
        self,
        source: MemoryEngine,
        plan: Plan,
        destination: MemoryEngine,
        way: Way,
        journal: Journal,
        connection: str,
        to_connection: str,
        *,
        sandboxes: Sequence[Namespace] = (),
        is_same_store: bool | None = None,
        zone: tzinfo = UTC,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.source = source
        self.plan = plan
        self.destination = destination
        self.way = way
        self.preview: MovePreview | None = None
        """The last that was counted to its end."""
        self.waiting: str | None = None
        """Why nothing happens just now, a sentence part."""
        self._ids = frozenset(plan.target.ids)
        self._filters: list[MetaFilter] = []
        if (filter := plan.target.filter) is not None:
            below = [filter.model_copy(update={"reach": Reach.subtree(node)}) for node in sandboxes]
            self._filters = [filter, *below]
        self._is_same = True if source is destination else is_same_store
        self._journal = journal
        self._connection = connection
        self._to_connection = to_connection
        self._zone = zone
        self._sleep = sleep
        self._clock = clock
        self._control = Control()
        self._patience = Patience(self._control, sleep, clock, self._note)
        self._stopped: str | None = None  # why, a sentence part
        self._failed_in_a_row = 0
        self._outcome = MoveOutcome(0, way.is_copy)
        self._writer: ReceiptWriter | None = None

    @property
    def base(self) -> Namespace:
        """The node that a place below is told from."""
        target = self.plan.target
        reach = target.reach if target.filter is None else target.filter.reach
        return Namespace.ROOT if reach is None else reach.at

    @property
    def keeps_paths(self) -> bool:
        """Whether items come back from the destination with their folders and absolute workspaces."""
        return self.destination.descriptor().keeps_paths

    # --- counting

    async def count(self) -> AsyncGenerator[MovePreview, None]:
        """Read all that would go, to the end: one preview, growing, told after each page; the last time it is whole.

        Raises InvalidRequest where there is nothing to do or no way to do it, Unsupported where one of the engines does
        not export, and the engines' errors. Not a context manager: hold it with `contextlib.aclosing`.
        """
        self.preview = None
        found = MovePreview(Preview(self._zone))
        found.is_same_store = await self._is_one_store() if self._is_same is None else self._is_same
        if found.is_same_store and (self.way.to is None or (self.way.keeps_tree and self.way.to == self.base)):
            raise self._no_move()
        try:
            await self.destination.export(ListRequest(filter=MetaFilter(reach=Reach.exact(Namespace.ROOT)), limit=1))
        except Unsupported:
            if not self.way.is_copy:
                raise Unsupported(
                    "the destination does not give items back whole, so that a move could not be checked; copy them"
                ) from None
            found.can_check = False
        async with contextlib.aclosing(self._pages(found)) as listing:
            async for items in listing:
                await self._add(found, items)
                yield found
        if not found.total and found.there:
            raise self._no_move()
        found.found.counted_at = datetime.now(UTC)
        found.is_whole = True
        self.preview = found
        yield found

    def refusal(self) -> str | None:
        """Why what was counted cannot run, a sentence part; None where it can."""
        preview = self.preview
        if preview is None or not preview.is_whole:
            return tr("nothing was counted to its end yet")
        if preview.too_deep:
            node = min(preview.too_deep)
            return tr(
                "what is at {node} would nest more than 8 deep; choose a higher node, or put all at one", node=node
            )
        if preview.overlapping:
            node = min(preview.overlapping)
            return tr("what is at {node} would go to a node that is itself to be emptied; move it by itself", node=node)
        if not preview.total:
            return tr("there is nothing to take")
        return None

    def _no_move(self) -> InvalidRequest:
        if self._is_same is None:
            return InvalidRequest(
                "both ends hold the same items at the same nodes, and may be one memory; nothing would be moved"
            )
        return InvalidRequest("everything is there already; choose another node, or another memory")

    async def _pages(self, found: MovePreview) -> AsyncGenerator[list[Exported], None]:
        """Whole items, a page at a time; what there is only part of goes into `found`."""
        gone = dict.fromkeys(self.plan.target.ids)
        async with contextlib.aclosing(named(self.source, self.plan.target)) as pages:
            async for hits in pages:
                nodes = {hit.id: hit.meta.namespace for hit in hits}
                items: dict[ItemId, Exported] = {}
                for reach, ids in by_sandbox(nodes):
                    items.update((each.id, each) for each in await self.source.get_items(_get(ids, reach)))
                partly = await _answering(self.source, {id: nodes[id] for id in _without(nodes, items)})
                found.incomplete += partly
                for id in (*items, *partly):
                    gone.pop(id, None)
                yield [items[id] for id in nodes if id in items]
        found.found.gone += gone
        for filter in self._filters:
            async with contextlib.aclosing(export_pages(self.source, filter, _PAGE)) as listing:
                async for page in listing:
                    found.incomplete += page.incomplete
                    yield page.items

    async def _add(self, found: MovePreview, items: list[Exported]) -> None:
        new: dict[ItemId, tuple[ItemId, StoreItem]] = {}
        turns = Turns()
        for each in items:
            await turns.pass_on()
            node = each.item.meta.namespace
            if each.id in found.nodes:
                continue
            if found.is_same_store and self._stays(node):
                found.there += 1
                continue
            found.nodes[each.id] = node
            found.found.add(Hit.of_item(each.id, each.item), self.plan)
            try:
                item = self._placed(each.item)
            except InvalidRequest:
                found.too_deep[node] += 1
                continue
            to, id = item.meta.namespace, item.fingerprint()
            found.to[to] += 1
            if found.is_same_store and self._is_read_again(to, id):
                found.overlapping[node] += 1
            first = found._new.setdefault(id, each.id)
            if first != each.id:
                found.equal.setdefault(id, [first]).append(each.id)
            new[each.id] = id, item
        held = await self._held(new, found.can_check)
        found.held += sum(held.values())
        found.different += [old for old, is_whole in held.items() if not is_whole]

    def _placed(self, item: StoreItem) -> StoreItem:
        to = self.way.place(item.meta.namespace, self.base)
        return item.model_copy(update={"meta": item.meta.model_copy(update={"namespace": to})})

    def _stays(self, node: Namespace) -> bool:
        """Whether what is at `node` is where it is to be, in the one memory that both ends are.

        Where the tree is kept and the destination is below the source, all that is at or below the destination stays:
        what a run before has put there would else be moved on, deeper each time.
        """
        to = self.way.to
        if to is None:
            return True
        if self.way.keeps_tree and to.is_within(self.base) and node.is_within(to):
            return True
        try:
            return self.way.place(node, self.base) == node
        except InvalidRequest:
            return False

    def _is_read_again(self, to: Namespace, id: ItemId) -> bool:
        """Whether an item that was put at `to` would be taken along by this very move."""
        if self._stays(to):
            return False
        if self.plan.target.filter is None:
            return id in self._ids
        return any(filter.reach is not None and filter.reach.admits(to) for filter in self._filters)

    async def _is_one_store(self) -> bool:
        """Whether the two may be one memory: an item that one has and the other lacks tells them apart."""
        for filter in [*self._filters, MetaFilter()]:
            for one, other in ((self.source, self.destination), (self.destination, self.source)):
                page = await one.list_preview(ListRequest(filter=filter, limit=PAGE))
                nodes = {hit.id: hit.meta.namespace for hit in page.items}
                lacking = {id: nodes[id] for id in _without(nodes, await _answering(other, nodes))}
                # Asked again, since it may have been removed between the two questions.
                if await _answering(one, lacking):
                    return False
        return True

    async def _held(self, new: dict[ItemId, tuple[ItemId, StoreItem]], can_check: bool) -> dict[ItemId, bool]:
        """Of what is to be at the destination under these ids, what is, by old id; and whether it is the whole item."""
        nodes = {id: item.meta.namespace for id, item in new.values()}
        held: dict[ItemId, Exported | Hit] = {}
        for reach, ids in by_sandbox(nodes):
            if can_check:
                held.update((each.id, each) for each in await self.destination.get_items(_get(ids, reach)))
            else:
                held.update((hit.id, hit) for hit in await self.destination.get(_get(ids, reach)))
        # What a destination does not keep is no difference to a copy; a move would take it away for good.
        keeps = self.keeps_paths or not self.way.is_copy
        return {old: _is_same(held[id], item, keeps) for old, (id, item) in new.items() if id in held}

    # --- running

    async def run(self) -> AsyncGenerator[MoveStep, None]:
        """Take exactly what was counted, a batch at a time, and write the receipt as it goes; the last step has all.

        Raises InvalidRequest, with nothing done, where `refusal` says why. Not a context manager: hold it with
        `contextlib.aclosing`; leaving it early stops it, with a receipt that is true so far, and nothing lost: what was
        not yet removed is in both places, and is found there when it is run again.
        """
        preview = self.preview
        if preview is None or (why := self.refusal()) is not None:
            raise InvalidRequest(f"the move cannot run: {why if preview is not None else 'nothing was counted'}")
        ids = list(preview.nodes)
        self._outcome = outcome = MoveOutcome(len(ids), self.way.is_copy, incomplete=list(preview.incomplete))
        self._control = Control()
        self._patience = Patience(self._control, self._sleep, self._clock, self._note)
        self._stopped = None
        self._failed_in_a_row = 0
        action = "copy" if self.way.is_copy else "move"
        facts = self._facts(preview)
        begin = partial(self._journal.start, action, self.source, self._connection, preview.nodes, **facts)
        with await begun(begin) as writer:
            self._writer = writer
            outcome.receipt = writer.path
            try:
                yield MoveStep(0, len(ids))
                for start in range(0, len(ids), MAX_STORE_MANY):
                    try:
                        async with contextlib.aclosing(self._patience.go_on()) as holding:
                            async for _ in holding:
                                pass
                        await self._take(ids[start : start + MAX_STORE_MANY], preview)
                    except Halted as halted:
                        self._stopped = str(halted)
                    if self._stopped is not None:
                        break
                    yield MoveStep(min(start + MAX_STORE_MANY, len(ids)), len(ids))
            except BaseException as error:
                self._stopped = self._stopped or why_left(error)
                if not isinstance(error, Exception):
                    self._end(writer, ids)
                    raise
                log.exception("a move ended early")
            finally:
                self._writer = None
            await on_a_thread(partial(self._end, writer, ids))
        yield MoveStep(len(ids) - len(outcome.not_tried), len(ids), outcome)

    def pause(self) -> None:
        """Begin no further batch until `resume`."""
        self._control.pause()

    def resume(self) -> None:
        self._control.resume()

    def stop(self) -> None:
        """Begin no further batch: what was begun is finished, the rest is told as not tried."""
        self._control.stop()

    def _facts(self, preview: MovePreview) -> dict[str, Any]:
        """For the first line of the receipt."""
        about = self.destination.descriptor()
        return {
            "target": self.plan.target,
            "base": self.base,
            "sandboxes": [filter.reach.at for filter in self._filters[1:] if filter.reach is not None],
            "to_connection": self._to_connection,
            "to_engine": {"id": about.id, "label": about.label},
            "to": self.way.to,
            "keeps_tree": self.way.keeps_tree,
            "kinds": preview.found.kinds,
            "nodes": preview.found.nodes,
            "sources": preview.found.sources,
            "incomplete": len(preview.incomplete),
            "counted_at": preview.found.counted_at,
        }

    def _end(self, writer: ReceiptWriter, ids: list[ItemId]) -> None:
        outcome = self._outcome
        outcome.unanswered = _without(outcome.unanswered, outcome.kept)
        tried = outcome.done.keys() | outcome.kept.keys() | set(outcome.gone) | set(outcome.unanswered)
        outcome.not_tried = [id for id in ids if id not in tried]
        outcome.stopped = self._stopped
        outcome.waited_s = self._patience.waited_s
        try:
            if outcome.stopped is not None:
                writer.note("stopped", why=outcome.stopped)
            writer.close(
                removed=0 if outcome.is_copy else len(outcome.done),
                done=len(outcome.done),
                replayed=outcome.replayed,
                already_gone=outcome.gone,
                failed=outcome.kept,
                not_tried=outcome.not_tried,
                unanswered=outcome.unanswered,
                stopped=outcome.stopped,
                waited_s=round(outcome.waited_s, 3),
                is_clean=outcome.is_clean,
            )
        except FileError as error:  # what was done is done; the receipt lacks its end, and says no more than is true
            outcome.stopped = outcome.stopped or error.text

    def _note(self, line: str, /, **facts: Any) -> bool:
        """Write a line of the receipt; where the disk refuses it, nothing further is begun."""
        if self._writer is None:
            return False
        try:
            self._writer.note(line, **facts)
        except FileError as error:
            self._stopped = self._stopped or error.text
            return False
        return True

    async def _take(self, ids: list[ItemId], preview: MovePreview) -> None:
        """One batch, from reading it to removing it: each step takes only what the one before has brought."""
        old = await self._read_old({id: preview.nodes[id] for id in ids})
        placed = [(each.id, self._placed(each.item)) for each in old]
        stored = await self._store(placed)
        whole = await self._read_new(placed, stored, preview.can_check)
        if not whole or not self._note("copied", pairs=[[id, stored[id][0]] for id in whole]):
            return
        if not self.way.is_copy:
            if preview.is_same_store:  # where one id is one item, which removing the old would remove
                whole = [id for id in whole if not self._is_itself(id, stored[id][0])]
            moved = {id: (stored[id][0], item) for id, item in placed if id in stored}
            whole = await self._remove({id: preview.nodes[id] for id in whole}, moved)
        for id in whole:
            self._outcome.done[id] = stored[id][0]
            self._outcome.replayed += stored[id][1]

    async def _read_old(self, nodes: dict[ItemId, Namespace]) -> list[Exported]:
        found: list[Exported] = []
        missing: dict[ItemId, Namespace] = {}
        for reach, ids in by_sandbox(nodes):

            async def read(part: list[ItemId], reach: Reach = reach) -> list[Exported]:
                return await self.source.get_items(_get(part, reach))

            for part, items in await self._parts(ids, read, lambda id: id):
                there = {each.id: each for each in items if each.id in part}
                found += there.values()
                missing.update((id, nodes[id]) for id in part if id not in there)
        for id, is_there in (await self._answers(missing)).items():
            if is_there:
                self._keep(id, tr("the memory holds only part of it"))
            else:
                self._outcome.gone.append(id)
        return found

    async def _store(self, placed: list[tuple[ItemId, StoreItem]]) -> dict[ItemId, tuple[ItemId, bool]]:
        """The new id of each, by its old, and whether it was held before."""

        async def store(part: list[tuple[ItemId, StoreItem]]) -> list[tuple[ItemId, bool]]:
            receipts = await self.destination.store_many([item for _, item in part])
            if len(receipts) != len(part):
                raise EngineFailure(f"the destination answered {len(receipts)} receipts for {len(part)} items")
            return [(receipt.id, receipt.replayed) for receipt in receipts]

        stored: dict[ItemId, tuple[ItemId, bool]] = {}
        for part, receipts in await self._parts(placed, store, lambda pair: pair[0]):
            stored.update((id, receipt) for (id, _), receipt in zip(part, receipts, strict=True))
        return stored

    async def _read_new(
        self, placed: list[tuple[ItemId, StoreItem]], stored: dict[ItemId, tuple[ItemId, bool]], can_check: bool
    ) -> list[ItemId]:
        """Those of what was stored that the destination gives back as they were stored, by old id."""

        async def read(part: list[tuple[ItemId, StoreItem]]) -> dict[ItemId, bool]:
            return await self._held({old: (stored[old][0], item) for old, item in part}, can_check)

        held: dict[ItemId, bool] = {}
        asked = [pair for pair in placed if pair[0] in stored]
        for part, found in await self._parts(asked, read, lambda pair: pair[0]):
            held.update(found)
            for id, _ in part:
                if id not in found:
                    self._keep(id, tr("it was stored at its new place, but cannot be read there"))
                elif not found[id] and not self.keeps_paths:
                    self._keep(id, tr("its new place does not keep its folder, its whole path or its workspace"))
                elif not found[id]:
                    self._keep(id, tr("its new place holds the same item, seen at another time or by someone else"))
        return [id for id, is_whole in held.items() if is_whole]

    def _is_itself(self, old: ItemId, new: ItemId) -> bool:
        if old == new:
            self._keep(old, tr("it is the same item at its new place"))
        return old == new

    async def _remove(
        self, nodes: dict[ItemId, Namespace], new: dict[ItemId, tuple[ItemId, StoreItem]]
    ) -> list[ItemId]:
        """Remove what was read back whole; those that a fresh read finds at their new place, `new`, and nowhere else.

        Whatever came of the asking, it is the fresh read that says what went.
        """
        before = self._outcome.unanswered
        unanswered: dict[ItemId, Namespace] = {}
        refused: dict[ItemId, str] = {}

        async def forget(part: list[ItemId]) -> None:
            if not self._note("asked", ids=part):
                raise _Stopped(self._stopped)
            unanswered.update((id, nodes[id]) for id in part)
            self._outcome.unanswered = [*before, *unanswered]
            try:
                await self.source.forget(ForgetTarget(ids=part))
            except NotFound:
                if len(part) > 1:
                    raise

        parts = await self._parts(list(nodes), forget, lambda id: id, refused.__setitem__)
        answered = {id for part, _ in parts for id in part}
        # One that cannot be looked for is neither here nor there: it stays without an answer.
        there = await self._answers(unanswered, lambda id, reason: None)
        still = [id for id, is_there in there.items() if is_there]
        self._outcome.unanswered = [*before, *_without(unanswered, still)]
        for id in still:
            if id in answered or id in refused:
                self._keep(id, refused.get(id) or tr("it is at its new place, but still answers at its old one"))
        gone = await self._still_held({id: new[id] for id in _without(there, still)})
        self._outcome.unanswered = [*before, *_without(unanswered, there)]
        if gone:
            self._note("removed", ids=gone)
        return gone

    async def _still_held(self, new: dict[ItemId, tuple[ItemId, StoreItem]]) -> list[ItemId]:
        """Those of what was removed that their new place has. What it lost is stored again, and the run ends.

        Two connections that were taken for two memories and are one, whose parts learn of each other late, both gave
        the item back before: removing it at one end took it from the other.
        """

        async def read(part: list[ItemId]) -> dict[ItemId, bool]:
            return await self._held({id: new[id] for id in part}, can_check=True)

        unread: list[str] = []
        held: dict[ItemId, bool] = {}
        asked: list[ItemId] = []
        for part, found in await self._parts(list(new), read, lambda id: id, lambda id, reason: unread.append(reason)):
            held.update(found)
            asked += part
        if unread:  # it was read back whole before it was removed, but nothing further is risked
            self._stopped = self._stopped or unread[0]
        if lost := _without(asked, held):
            again = await self._store([(id, new[id][1]) for id in lost])
            for id in lost:
                self._keep(
                    id,
                    tr("its new place lost it as it was removed from its old one; it was stored there again")
                    if id in again
                    else tr("its new place lost it as it was removed from its old one, and did not take it again"),
                )
            self._stopped = tr("what was removed from one end was gone from the other; they may be one memory")
        return _without(new, lost)

    async def _answers(
        self, nodes: dict[ItemId, Namespace], keep: Callable[[ItemId, str], None] | None = None
    ) -> dict[ItemId, bool]:
        """Whether the source has each; one that cannot be asked about is not in it: `keep` is told of it and why."""
        answers: dict[ItemId, bool] = {}
        for reach, ids in by_sandbox(nodes):

            async def read(part: list[ItemId], reach: Reach = reach) -> set[ItemId]:
                return {hit.id for hit in await self.source.get(_get(part, reach))}

            for part, there in await self._parts(ids, read, lambda id: id, keep):
                answers.update((id, id in there) for id in part)
        return answers

    async def _parts(
        self,
        things: list[T],
        call: Callable[[list[T]], Awaitable[R]],
        id_of: Callable[[T], ItemId],
        keep: Callable[[ItemId, str], None] | None = None,
    ) -> list[tuple[list[T], R]]:
        """What `call` says of them all; of what it refuses, halves, down to single ones.

        Those `keep` is told of, with the reason; where it is not given, they are kept where they are.

        Where nothing further is to be begun, that is noted, and what it said until then is what counts.
        """
        answers: list[tuple[list[T], R]] = []
        rest = [things] if things else []
        while rest:
            part = rest.pop()
            try:
                answers.append((part, await self._patiently(part, call)))
            except _Stopped as stopped:
                self._stopped = self._stopped or str(stopped)
                break
            except (Unauthorized, ConfigError, Unsupported) as error:
                self._stopped = self._stopped or error.text
                break
            except TinyMemoryError as error:
                if len(part) > 1:
                    middle = len(part) // 2
                    rest += [part[middle:], part[:middle]]
                    continue
                (keep or self._keep)(id_of(part[0]), error.text)
                self._failed_in_a_row += 1
                if self._failed_in_a_row >= HOPELESS:
                    self._stopped = self._stopped or tr_n(
                        "{n} item in a row failed", "{n} items in a row failed", HOPELESS, n=number(HOPELESS)
                    )
                    break
            else:
                self._failed_in_a_row = 0
        return answers

    async def _patiently(self, part: list[T], call: Callable[[list[T]], Awaitable[R]]) -> R:
        """Ask again while the engine is busy. Every call of a move may be made twice."""
        answers: list[R] = []

        async def ask() -> None:
            answers.append(await call(part))

        try:
            async with contextlib.aclosing(self._patience.ask(ask)) as waiting:
                async for why in waiting:
                    self.waiting = why
        except Unavailable as error:
            raise _Stopped(error.text) from error
        except Halted as halted:
            raise _Stopped(str(halted)) from halted
        finally:
            self.waiting = None
        return answers[0]

    def _keep(self, id: ItemId, reason: str) -> None:
        self._outcome.kept[id] = reason
        self._note("failed", id=id, reason=reason)


@dataclass(frozen=True, slots=True)
class Interrupted:
    """A move or a copy that did not come to its end, to be planned again: what is done of it is replayed, or gone."""

    target: Target
    way: Way
    sandboxes: tuple[Namespace, ...]
    connection: str
    engine_id: str
    place: str
    account: str
    to_connection: str


def read_interrupted(path: Path) -> Interrupted | None:
    """What the receipt at `path` says; None where it tells of no move or copy, or nothing of it is left.

    Raises FileError where it cannot be read. A receipt may hold anything: what is none of ours is as if it were not.
    """
    receipt, left = Receipt.read(path), ids_left(path)
    target, facts = receipt.target, receipt.facts
    if receipt.action not in ("move", "copy") or target is None or not left:
        return None
    try:
        to = None if facts.get("to") is None else Namespace.parse(str(facts["to"]))
        sandboxes = facts.get("sandboxes")
        boxes = tuple(map(Namespace.parse, map(str, sandboxes if isinstance(sandboxes, list) else [])))
    except InvalidRequest:
        return None
    return Interrupted(
        Target.of_ids(left, target.reach) if target.filter is None else target,
        Way(to, facts.get("keeps_tree") is not False, receipt.action == "copy"),
        boxes,
        receipt.connection,
        receipt.engine_id,
        receipt.place,
        receipt.account,
        str(facts.get("to_connection") or ""),
    )


def is_one_file(path: str | None, other: str | None) -> bool | None:
    """Whether two memories are one file, by their paths; None where one of them is no file."""
    if path is None or other is None:
        return None
    if os.path.exists(path) and os.path.exists(other):
        return os.path.samefile(path, other)
    return os.path.realpath(path) == os.path.realpath(other)


def _is_same(found: Exported | Hit, item: StoreItem, keeps_paths: bool) -> bool:
    """Whether what was read is `item`, whole; as far as a hit says it, but for paths that are not kept."""
    if not keeps_paths:
        item = _without_paths(item, found.item.meta if isinstance(found, Exported) else found.meta)
    if isinstance(found, Exported):
        return bool(found.item == item)
    return found.model_copy(update={"score": 0.0}) == Hit.of_item(found.id, item)


def _without_paths(item: StoreItem, found: MemoryMeta) -> StoreItem:
    """`item` without the folders and the workspace that are missing from what was read of it."""
    meta = item.meta
    name = re.split(r"[/\\\\]", meta.file_path or "")[-1] or None
    lacking = {
        "file_path": name if found.file_path == name else meta.file_path,
        "folder": meta.folder if found.folder is not None else None,
        "workspace": meta.workspace if found.workspace is not None else None,
    }
    return item.model_copy(update={"meta": meta.model_copy(update=lacking)})


def _get(ids: list[ItemId], reach: Reach) -> GetRequest:
    return GetRequest(ids=ids, reach=reach)


def _without(ids: Iterable[ItemId], others: Iterable[ItemId]) -> list[ItemId]:
    left_out = set(others)
    return [id for id in ids if id not in left_out]


async def _answering(engine: MemoryEngine, nodes: dict[ItemId, Namespace]) -> list[ItemId]:
    return [hit.id for reach, ids in by_sandbox(nodes) for hit in await engine.get(_get(ids, reach))]
