"""Storing into a memory that others write to as well: what is held already, under any of its ids or in part, is not
stored twice.

Source: cortex, "store and store_many"; contract, "Algorithm" (the two rules of ids).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Container, Iterable, Sequence
from contextlib import asynccontextmanager
from typing import Any

import pytest

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    Exported,
    ForgetTarget,
    GetRequest,
    InvalidRequest,
    ItemId,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Role,
    StoreItem,
    ToolCallRef,
    Turn,
    Unavailable,
)
from explorer.engines.cortex.envelope import ChunkPart, Envelope, decode, lay_out, newer_id
from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.flows import opened, put_at
from tests.fakes import learning

CALLED = MemoryMeta(tool_call=ToolCallRef(name="search", id="call-7"))
"""Metadata by which an item has two ids."""
EVERYTHING = ListRequest(filter=MetaFilter(), limit=100)
LEAVES = {"document": "app:documents", "conversation": "app:conversations", "learning": "app:learnings"}


def talk(turns: int, meta: MemoryMeta | None = None) -> Conversation:
    said = [Turn(role=Role.USER, text=f"turn {n} of {turns}") for n in range(turns)]
    return Conversation(turns=said, meta=meta or MemoryMeta())


def book(meta: MemoryMeta | None = None) -> Document:
    """A document of several pieces."""
    chapters = (f"# Chapter {n}\n" + f"a line of chapter {n}\n" * 12_000 for n in range(3))
    return Document(title="Book", body=DocumentBody(text="".join(chapters)), meta=meta or MemoryMeta())


def note(text: str = "a short one", meta: MemoryMeta | None = None) -> Document:
    return Document(title="Note", body=DocumentBody(text=text), meta=meta or MemoryMeta())


ONE_OF_EACH = {
    "learning": learning("the ferry lands at noon", tool_call=None).model_copy(update={"meta": CALLED}),
    "conversation": talk(3, CALLED),
    "note": note(meta=CALLED),
    "book": book(CALLED),
}


def batch() -> list[StoreItem]:
    """Items of every kind, of one event and of several."""
    return [learning("fact 0"), talk(2), note("text 0"), talk(3, CALLED), learning("fact 1"), note("text 1", CALLED)]


class Memory:
    """A double and what opens engines on it by one of the wires."""

    def __init__(self, double: CortexDouble, *, hosted: bool) -> None:
        self.double = double
        self._hosted = hosted
        self._engines: list[MemoryEngine] = []

    def engine(self) -> MemoryEngine:
        self._engines.append(opened(self.double, hosted=self._hosted))
        return self._engines[-1]

    async def close(self) -> None:
        for engine in self._engines:
            await engine.aclose()

    def scope(self, item: StoreItem) -> str:
        path = f"app:tinymemory/{LEAVES[item.item_kind.value]}"
        return self.double.rooted(path) if self._hosted else path

    def put(self, item: StoreItem, id: ItemId, parts: Container[int | None] | None = None) -> None:
        """What another program stored of the item under `id`: all, or the parts named."""
        put_at(self.double, self.scope(item), item, id, parts)

    def put_cut(self, item: Document, id: ItemId, ends: Sequence[int], parts: Iterable[int]) -> None:
        """The pieces named of a document that another program cut after `ends` characters, each as one text."""
        text = item.body.text or ""
        first = lay_out(item, id)[0]
        envelope = decode(first.text, first.labels)
        assert envelope is not None
        labels = [label for label in first.labels if label.startswith("tm:") and not label.startswith("tm:e:")]
        starts = [0, *ends]
        for part in parts:
            piece = text[starts[part] : [*ends, len(text)][part]]
            chunk = ChunkPart(index=part, count=len(starts))
            written = envelope.model_copy(update={"v": 2, "text": piece, "chunk": chunk})
            self.double.put(self.scope(item), written.model_dump_json(), labels, modality="document")

    def held(self, item: StoreItem) -> list[Envelope]:
        """What the log has in the scope of the item, oldest first."""
        envelopes = [decode(event.text, event.labels) for event in self.double.held(self.scope(item))]
        return [envelope for envelope in envelopes if envelope is not None]

    def parts(self, item: StoreItem) -> Counter[tuple[str, int | None]]:
        """How often each part is held, by the item's id and the part's number."""
        return Counter((envelope.id, envelope.part) for envelope in self.held(item))

    def every_part(self, items: Iterable[StoreItem]) -> Counter[tuple[str, int | None]]:
        return sum((self.parts(kind) for kind in {item.item_kind: item for item in items}.values()), Counter())


@pytest.fixture(params=["direct", "hosted"])
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


@asynccontextmanager
async def memory_by(wire: str, **knobs: Any) -> AsyncIterator[Memory]:
    async with CortexDouble(**knobs) as double:
        memory = Memory(double, hosted=wire == "hosted")
        try:
            yield memory
        finally:
            await memory.close()


def once(items: Iterable[StoreItem]) -> Counter[tuple[str, int | None]]:
    """Each event of the items once, as this program lays them out."""
    return Counter((item.fingerprint(), event.part) for item in items for event in lay_out(item, item.fingerprint()))


async def exported(engine: MemoryEngine) -> dict[str, StoreItem]:
    page = await engine.export(EVERYTHING)
    assert page.incomplete == []
    assert page.next_cursor is None
    ids = [exported.id for exported in page.items]
    assert len(ids) == len(set(ids))
    return {exported.id: exported.item for exported in page.items}


async def only_item(engine: MemoryEngine, id: ItemId) -> StoreItem:
    """The one item that every way of reading finds, by this id."""
    (hit,) = (await engine.list(EVERYTHING)).items
    (got,) = await engine.get_items(GetRequest(ids=[id]))
    assert isinstance(got, Exported)
    assert hit.id == got.id == id
    assert await exported(engine) == {id: got.item}
    return got.item


# --- two rules of ids


@pytest.mark.parametrize("kind", ONE_OF_EACH)
async def test_an_item_that_a_newer_release_stored_is_a_replay(wire: str, kind: str) -> None:
    item = ONE_OF_EACH[kind]
    newer = newer_id(item)
    assert newer is not None
    assert newer != item.fingerprint()
    async with memory_by(wire) as memory:
        memory.put(item, newer)
        before = memory.parts(item)
        engine = memory.engine()
        receipt = await engine.store(item)
        assert (receipt.id, receipt.replayed) == (newer, True)
        assert memory.parts(item) == before
        assert await only_item(engine, newer) == item


@pytest.mark.parametrize("kind", ONE_OF_EACH)
async def test_where_both_ids_are_held_this_programs_own_is_answered(wire: str, kind: str) -> None:
    item = ONE_OF_EACH[kind]
    newer = newer_id(item)
    assert newer is not None
    async with memory_by(wire) as memory:
        memory.put(item, newer)
        memory.put(item, item.fingerprint())
        before = memory.parts(item)
        receipt = await memory.engine().store(item)
        assert (receipt.id, receipt.replayed) == (item.fingerprint(), True)
        assert memory.parts(item) == before


async def test_two_calls_that_are_one_by_the_newer_rule_are_both_replays_of_what_is_held_by_it(wire: str) -> None:
    one, other = (
        learning("found it").model_copy(update={"meta": MemoryMeta(tool_call=ToolCallRef(name="find", id=id))})
        for id in ("call-1", "call-2")
    )
    newer = newer_id(one)
    assert newer is not None
    assert newer == newer_id(other)
    async with memory_by(wire) as memory:
        memory.put(one, newer)
        receipts = await memory.engine().store_many([one, other])
        assert [(receipt.id, receipt.replayed) for receipt in receipts] == [(newer, True)] * 2
        assert len(memory.held(one)) == 1


async def test_calls_of_one_name_are_told_apart_where_nothing_is_held(wire: str) -> None:
    one, other = (
        learning("found it").model_copy(update={"meta": MemoryMeta(tool_call=ToolCallRef(name="find", id=id))})
        for id in ("call-1", "call-2")
    )
    async with memory_by(wire) as memory:
        engine = memory.engine()
        receipts = await engine.store_many([one, other, one])
        ids = [one.fingerprint(), other.fingerprint(), one.fingerprint()]
        assert [(receipt.id, receipt.replayed) for receipt in receipts] == list(
            zip(ids, (False, False, True), strict=True)
        )
        assert await exported(engine) == {one.fingerprint(): one, other.fingerprint(): other}


# --- half-written items


@pytest.mark.parametrize("rule", ["own", "newer"])
@pytest.mark.parametrize("held", [(0,), (2,), (0, 2), (1, 3)])
async def test_a_half_written_conversation_is_completed(wire: str, rule: str, held: tuple[int, ...]) -> None:
    item = talk(4, CALLED)
    id = item.fingerprint() if rule == "own" else newer_id(item)
    assert id is not None
    async with memory_by(wire) as memory:
        memory.put(item, id, held)
        engine = memory.engine()
        receipt = await engine.store(item)
        assert (receipt.id, receipt.replayed) == (id, False)
        assert memory.parts(item) == Counter((id, part) for part in range(4))
        written = [envelope.part for envelope in memory.held(item)][len(held) :]
        assert written == [part for part in range(4) if part not in held]  # in order
        assert await only_item(engine, id) == item
        assert (await engine.store(item)).replayed
        assert memory.parts(item).total() == 4


@pytest.mark.parametrize("rule", ["own", "newer"])
async def test_a_half_written_document_is_completed(wire: str, rule: str) -> None:
    item = book(CALLED)
    id = item.fingerprint() if rule == "own" else newer_id(item)
    assert id is not None
    count = len(lay_out(item, id))
    assert count >= 3
    async with memory_by(wire) as memory:
        memory.put(item, id, [0, count - 1])
        engine = memory.engine()
        receipt = await engine.store(item)
        assert (receipt.id, receipt.replayed) == (id, False)
        assert memory.parts(item) == Counter((id, part) for part in range(count))
        assert await only_item(engine, id) == item
        assert (await engine.store(item)).replayed
        assert memory.parts(item).total() == count


@pytest.mark.parametrize(
    ("rule", "ends", "held"),
    [("own", [100_000], (0,)), ("newer", [300_000], (1,)), ("own", [9_000, 400_000, 500_000], (1, 3))],
)
async def test_a_document_that_another_program_half_wrote_with_other_cuts_is_completed(
    wire: str, rule: str, ends: list[int], held: tuple[int, ...]
) -> None:
    item = book(CALLED)
    id = item.fingerprint() if rule == "own" else newer_id(item)
    assert id is not None
    async with memory_by(wire) as memory:
        memory.put_cut(item, id, ends, held)
        engine = memory.engine()
        assert (await engine.list(EVERYTHING)).items == []
        receipt = await engine.store(item)
        assert (receipt.id, receipt.replayed) == (id, False)
        assert await only_item(engine, id) == item
        total = memory.parts(item).total()
        assert (await engine.store(item)).replayed
        assert memory.parts(item).total() == total


async def test_a_document_that_another_program_wrote_whole_with_other_cuts_is_a_replay(wire: str) -> None:
    item = book()
    async with memory_by(wire) as memory:
        memory.put_cut(item, item.fingerprint(), [9_000, 400_000], range(3))
        engine = memory.engine()
        assert (await engine.store(item)).replayed
        assert memory.parts(item).total() == 3
        assert await only_item(engine, item.fingerprint()) == item


async def test_a_document_that_an_older_release_wrote_in_one_piece_is_a_replay(wire: str) -> None:
    item = book()
    async with memory_by(wire) as memory:
        first = lay_out(item, item.fingerprint())[0]
        envelope = decode(first.text, first.labels)
        assert envelope is not None
        whole = envelope.model_copy(update={"v": 2, "text": item.body.text, "chunk": None})
        labels = [label for label in first.labels if label.startswith("tm:") and not label.startswith("tm:e:")]
        memory.double.put(memory.scope(item), whole.model_dump_json(), labels, modality="document")
        engine = memory.engine()
        assert (await engine.store(item)).replayed
        assert len(memory.held(item)) == 1
        assert await only_item(engine, item.fingerprint()) == item


async def test_a_conversation_of_more_turns_than_a_request_takes_is_written_by_several_in_order() -> None:
    item = talk(1001)
    async with memory_by("direct") as memory:
        engine = memory.engine()
        assert not (await engine.store(item)).replayed
        assert [len(body["items"]) for body in memory.double.bodies("bulk")] == [1000, 1]
        assert [envelope.part for envelope in memory.held(item)] == list(range(1001))
        assert (await engine.store(item)).replayed


# --- an interrupted batch


@pytest.mark.limit_s(30)
async def test_a_batch_that_broke_off_at_any_write_is_resumed_without_a_copy(wire: str) -> None:
    items = batch()
    events = once(items).total()
    for nth in range(1, events + 1):
        async with memory_by(wire, fail_nth_experience=nth) as memory:
            engine = memory.engine()
            with pytest.raises(InvalidRequest):
                await engine.store_many(items)
            assert memory.every_part(items).total() == nth - 1
            memory.double.log.expire_keys()  # the server has forgotten what it was sent
            await engine.store_many(items)
            assert memory.every_part(items) == once(items)
            again = await engine.store_many(items)
            assert all(receipt.replayed for receipt in again)
            assert memory.every_part(items) == once(items)
            assert await exported(engine) == {item.fingerprint(): item for item in items}


async def test_a_batch_that_was_cancelled_is_resumed_without_a_copy(wire: str, until: Until) -> None:
    items = batch()
    async with memory_by(wire, latency_ms=5) as memory:
        storing = asyncio.create_task(memory.engine().store_many(items))
        await until(lambda: len(memory.double.log) >= 4)
        storing.cancel()
        with pytest.raises(asyncio.CancelledError):
            await storing
        assert len(memory.double.log) < once(items).total()
        memory.double.log.expire_keys()
        engine = memory.engine()
        receipts = await engine.store_many(items)
        assert receipts[0].replayed
        assert not receipts[-1].replayed
        assert memory.every_part(items) == once(items)
        assert all(receipt.replayed for receipt in await engine.store_many(items))


@pytest.mark.parametrize("failure", [(503, "UNAVAILABLE"), (408, "TIMEOUT")])
async def test_a_batch_of_which_an_answer_was_lost_is_resumed_without_a_copy(
    wire: str, failure: tuple[int, str]
) -> None:
    items = batch()
    async with memory_by(wire, apply_then_fail=1, applied_failure=failure) as memory:
        engine = memory.engine()
        if wire == "direct":  # the hosted wire finds out by itself what became of its write
            with pytest.raises(Unavailable):
                await engine.store_many(items)
        memory.double.log.expire_keys()
        receipts = await engine.store_many(items)
        assert receipts[0].replayed == (wire == "direct")
        assert memory.every_part(items) == once(items)
        assert all(receipt.replayed for receipt in await engine.store_many(items))


async def test_a_write_whose_answer_was_lost_is_found_by_its_key_while_the_listing_is_late(wire: str) -> None:
    """Nothing shows it yet: only the write key, made from the content alone, tells that it is there."""
    item = talk(3, CALLED)
    async with memory_by(wire) as memory:
        await memory.engine().store(item)
        memory.double.hide_listing = 1
        receipt = await memory.engine().store(item)
        assert (receipt.id, receipt.replayed) == (item.fingerprint(), True)
        assert memory.parts(item) == once([item])


# --- side by side


async def test_two_engines_that_store_the_same_at_once_end_with_each_item_once(wire: str) -> None:
    items = [*batch(), book(CALLED)]
    async with memory_by(wire, latency_ms=1) as memory:
        one, other = memory.engine(), memory.engine()
        receipts = await asyncio.gather(one.store_many(items), other.store_many(items[::-1]))
        ids = {item.fingerprint() for item in items}
        assert all({receipt.id for receipt in each} == ids for each in receipts)
        assert memory.every_part(items) == once(items)
        assert await exported(one) == await exported(other) == {item.fingerprint(): item for item in items}


async def test_copies_that_another_program_made_are_read_once_and_forgotten_together(wire: str) -> None:
    items = [talk(3), note(), learning("a fact"), book()]
    async with memory_by(wire) as memory:
        for item in items:
            memory.put(item, item.fingerprint())
            memory.put(item, item.fingerprint())
        engine = memory.engine()
        assert all(receipt.replayed for receipt in await engine.store_many(items))
        assert await exported(engine) == {item.fingerprint(): item for item in items}
        report = await engine.forget(ForgetTarget(ids=[item.fingerprint() for item in items]))
        assert report.forgotten == 4
        assert memory.every_part(items).total() == 0
