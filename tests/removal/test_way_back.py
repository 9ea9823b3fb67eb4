"""A way back: what would go is exported, read back and compared, and restored with a receipt of its own."""

from __future__ import annotations

import asyncio
import contextlib
import os
import threading
from pathlib import Path
from typing import Any, BinaryIO

import pytest

from explorer.contract import (
    Exported,
    ExportPage,
    GetRequest,
    ItemId,
    ListRequest,
    MemoryEngine,
    Namespace,
    StoreItem,
    StoreReceipt,
    Unavailable,
    Unsupported,
    dump_item,
    parse_item,
)
from explorer.contract.reference import ReferenceEngine
from explorer.engines.sqlite import SqliteEngine
from explorer.removal import restoring
from explorer.removal.journal import Journal
from explorer.removal.plan import Action, Target
from explorer.removal.receipts import Receipt
from explorer.removal.removing import Removal
from explorer.removal.restoring import Restored, restore
from explorer.removal.way_back import Export, WayBack
from explorer.transfer import FileError
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.removal.made import done
from tests.removal.written import everything, planned, ready, ten

WHOLE = Target.below(Namespace.ROOT)
TREE = [
    *(learning(f"note {n}", place) for n in range(3) for place in ("root", "agent:a", "agent:a/agent:c", "agent:b")),
    *(
        learning(f"boxed {n}", place)
        for n in range(3)
        for place in ("agent:a/service:j", "service:s/agent:d/service:t")
    ),
]


async def exported(removal: Removal, path: Path, *, overwrite: bool = False) -> WayBack:
    steps: list[Export] = []
    async with contextlib.aclosing(removal.export_first(path, overwrite=overwrite)) as export:
        async for step in export:
            steps.append(step)
    assert [step.done is None for step in steps] == [*[True] * (len(steps) - 1), False]
    assert removal.way_back == steps[-1].done
    assert removal.way_back is not None
    return removal.way_back


def counts(back: Restored) -> tuple[int, int, int]:
    """New, held already, refused."""
    return back.progress.stored, back.progress.replayed, back.progress.refused


async def restored(engine: MemoryEngine, path: Path, journal: Journal) -> Restored:
    async with contextlib.aclosing(restore(engine, path, journal, "Notes")) as steps:
        async for step in steps:
            last = step
    assert last.is_done
    return last


@pytest.mark.parametrize("kind", ["sqlite", "reference", "by listing"])
async def test_the_whole_tree_goes_and_comes_back(tmp_path: Path, journal: Journal, kind: str) -> None:
    engine: MemoryEngine
    match kind:
        case "sqlite":
            engine = SqliteEngine(tmp_path / "memory.db", embedder=None)
        case "reference":
            engine = ReferenceEngine()
        case _:
            engine = ByListing()
    try:
        await engine.store_many(list(TREE))
        before = await everything(engine)
        removal = await ready(engine, journal, WHOLE, Action.ERASE)
        path = tmp_path / "out.jsonl"
        kept = await exported(removal, path)
        assert kept == WayBack(path, len(TREE), path.stat().st_size)
        outcome = await done(removal)
        assert await everything(engine) == set()
        assert outcome.receipt is not None
        read = Receipt.read(outcome.receipt)
        assert read.way_back is not None
        assert (read.way_back.path, read.way_back.items) == (path, len(TREE))
        back = await restored(engine, path, journal)
        assert (counts(back), back.is_clean) == ((len(TREE), 0, 0), True)
        assert await everything(engine) == before
        again = await restored(engine, path, journal)
        assert counts(again) == (0, len(TREE), 0)
    finally:
        await engine.aclose()


class ByListing(ReferenceEngine):
    """Finds an item by its id only where it lists it."""

    get_items = MemoryEngine.get_items

    def __init__(self) -> None:
        super().__init__()
        self.exports = 0

    async def export(self, req: ListRequest) -> ExportPage:
        self.exports += 1
        return await super().export(req)


async def test_an_engine_that_lists_for_an_id_is_listed_once_for_all(tmp_path: Path, journal: Journal) -> None:
    engine = await filled((learning(f"item {n}", f"agent:n{n % 3}") for n in range(450)), ByListing())
    assert isinstance(engine, ByListing)
    removal = await ready(engine, journal, Target.below(Namespace.ROOT))
    assert (await exported(removal, tmp_path / "out.jsonl")).items == 450
    assert engine.exports == 3  # a page for each node


async def test_only_what_goes_is_in_it(tmp_path: Path, journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    kept = await exported(removal, tmp_path / "out.jsonl")
    lines = kept.path.read_bytes().splitlines()
    assert sorted(parse_item(line).fingerprint() for line in lines) == sorted(planned(removal))


class Partial(FakeEngine):
    """Holds only part of some items, and others under ids of its own."""

    def __init__(self) -> None:
        super().__init__()
        self.change: dict[str, StoreItem] = {}

    async def get_items(self, req: GetRequest) -> list[Exported]:
        found = await super().get_items(req)
        return [
            Exported.model_validate({"id": each.id, "item": self.change.get(each.id, each.item)})
            for each in found
            if not each.item.render_text().startswith("part")
        ]


async def test_items_that_the_engine_holds_part_of_are_named(tmp_path: Path, journal: Journal) -> None:
    engine = Partial()
    await filled([learning("part of one", "agent:a"), learning("whole", "agent:a")], engine)
    removal = await ready(engine, journal)
    part = learning("part of one", "agent:a").fingerprint()
    kept = await exported(removal, tmp_path / "out.jsonl")
    assert (kept.items, kept.incomplete) == (1, (part,))
    outcome = await done(removal)
    assert outcome.receipt is not None
    read = Receipt.read(outcome.receipt)
    assert read.way_back is not None
    assert (read.way_back.items, read.way_back.incomplete) == (1, 1)


async def test_an_item_that_reads_back_as_another_is_no_way_back(tmp_path: Path, journal: Journal) -> None:
    engine = Partial()
    await filled([learning("one", "agent:a"), learning("two", "agent:a")], engine)
    engine.change[learning("one", "agent:a").fingerprint()] = learning("one, shortened", "agent:a")
    removal = await ready(engine, journal)
    with pytest.raises(
        FileError, match=r"out\.jsonl does not hold what would go, so it is no way back: 1 of its items"
    ):
        await exported(removal, tmp_path / "out.jsonl")
    assert removal.way_back is None


async def test_an_item_that_no_engine_takes_back_is_named(tmp_path: Path, journal: Journal) -> None:
    engine = Partial()
    await filled([learning("one", "agent:a")], engine)
    blank = learning(" ", "agent:a")
    engine._keep(blank)  # as an engine that checks less may hold it
    removal = await ready(engine, journal)
    kept = await exported(removal, tmp_path / "out.jsonl")
    assert (kept.items, kept.incomplete) == (1, (blank.fingerprint(),))


class OwnIds(ReferenceEngine):
    """Gives its items ids of its own."""

    def _keep(self, item: StoreItem) -> StoreReceipt:
        receipt = super()._keep(item)
        held = self._held.pop(receipt.id)
        held.id = ItemId(f"item-{len(self._held)}")
        self._held[held.id] = held
        return StoreReceipt(id=held.id, replayed=False)


async def test_an_engine_with_ids_of_its_own_has_a_way_back(tmp_path: Path, journal: Journal) -> None:
    engine = await filled([learning("one", "agent:a"), learning("two", "agent:a")], OwnIds())
    removal = await ready(engine, journal)
    kept = await exported(removal, tmp_path / "out.jsonl")
    assert (kept.items, kept.incomplete) == (2, ())


async def test_a_file_that_the_disk_changed_is_no_way_back(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    removal = await ready(await ten(), journal)
    path = tmp_path / "out.jsonl"
    first = dump_item(learning("a 0", "agent:a")).encode()

    async def broken(content: bytes) -> None:
        async with contextlib.aclosing(removal.export_first(path, overwrite=True)) as export:
            async for step in export:
                if step.written and not step.read_back:
                    path.write_bytes(content)

    for content in (b"", first + b"\n", first[:-5], (first + b"\n") * 5, b"\x00" * 500):
        with pytest.raises(FileError, match="does not hold what would go"):
            await broken(content)
        assert removal.way_back is None


async def test_an_export_that_is_left_leaves_nothing_behind(tmp_path: Path, journal: Journal) -> None:
    removal = await ready(await ten(), journal)
    (tmp_path / "out").mkdir()
    async with contextlib.aclosing(removal.export_first(tmp_path / "out" / "out.jsonl")) as export:
        async for step in export:
            assert step.written
            assert list((tmp_path / "out").iterdir())
            break
    assert list((tmp_path / "out").iterdir()) == []


async def test_where_nothing_may_be_written(tmp_path: Path, journal: Journal) -> None:
    engine = SqliteEngine(tmp_path / "memory.db", embedder=None)
    try:
        await engine.store_many([learning("one", "agent:a")])
        removal = await ready(engine, journal)
        before = (tmp_path / "memory.db").read_bytes()
        for path in (tmp_path / "memory.db", tmp_path / "memory.db-wal"):
            with pytest.raises(FileError, match="the memory itself"):
                await exported(removal, path, overwrite=True)
        taken = tmp_path / "taken.jsonl"
        taken.write_text("mine")
        with pytest.raises(FileError, match="is there already"):
            await exported(removal, taken)
        assert taken.read_text() == "mine"
        os.mkfifo(tmp_path / "pipe")
        with pytest.raises(FileError, match="no file that could be read back"):
            await exported(removal, tmp_path / "pipe", overwrite=True)
        assert (tmp_path / "memory.db").read_bytes() == before
        assert removal.way_back is None
    finally:
        await engine.aclose()


async def test_an_engine_that_does_not_export_has_no_way_back(tmp_path: Path, journal: Journal) -> None:
    engine = await ten()
    engine.fail("get_items", Unsupported("engine `fake` does not export items"))
    removal = await ready(engine, journal)
    with pytest.raises(Unsupported):
        await exported(removal, tmp_path / "out.jsonl")
    assert not (tmp_path / "out.jsonl").exists()


# --- restoring


async def test_a_restore_says_what_was_refused(tmp_path: Path, journal: Journal) -> None:
    engine = await filled([learning("held", "agent:a")])
    path = tmp_path / "in.jsonl"
    lines = [dump_item(learning("held", "agent:a")), "{", dump_item(learning("new", "agent:a")), '{"type":"x"}']
    path.write_text("\n".join(lines) + "\n")
    back = await restored(engine, path, journal)
    assert (back.progress.read, counts(back), back.is_clean) == (4, (1, 1, 2), False)
    assert back.receipt is not None
    read = Receipt.read(back.receipt)
    assert (read.action, read.new, read.replayed, read.refused, read.is_clean) == ("restore", 1, 1, 2, False)
    assert [number for number, _ in read.refused_lines] == [2, 4]
    assert read.facts["file"]["path"] == str(path)
    assert b"held" not in back.receipt.read_bytes().replace(b"held already", b"")


class Drops(FakeEngine):
    """Loses its connection after the first batch."""

    error: Exception = Unavailable("the connection is gone")

    async def store_many(self, items: list[StoreItem]) -> list[StoreReceipt]:
        if len(self):
            raise self.error
        return await super().store_many(items)


async def test_a_restore_that_is_cut_short_says_how_far_it_came(tmp_path: Path, journal: Journal) -> None:
    engine = Drops()
    path = tmp_path / "in.jsonl"
    path.write_text("".join(dump_item(learning(f"item {n}")) + "\n" for n in range(150)))
    back = await restored(engine, path, journal)
    assert (back.progress.stored, back.stopped, back.is_clean) == (100, "the connection is gone", False)
    assert back.receipt is not None
    read = Receipt.read(back.receipt)
    assert (read.is_finished, read.new, read.stopped) == (True, 100, "the connection is gone")


async def test_a_restore_that_is_left_ends_its_receipt(tmp_path: Path, journal: Journal) -> None:
    engine = FakeEngine()
    path = tmp_path / "in.jsonl"
    path.write_text("".join(dump_item(learning(f"item {n}")) + "\n" for n in range(150)))
    async with contextlib.aclosing(restore(engine, path, journal, "Notes")) as steps:
        async for step in steps:
            assert step.progress.stored == len(engine) == 100
            break
    (entry,) = journal.entries()
    assert (entry.is_finished, entry.is_clean) == (True, False)
    assert Receipt.read(entry.path).new == 100


async def test_an_error_that_no_engine_should_raise_ends_a_restore(tmp_path: Path, journal: Journal) -> None:
    engine = Drops()
    engine.error = ConnectionResetError("secret")
    path = tmp_path / "in.jsonl"
    path.write_text("".join(dump_item(learning(f"item {n}")) + "\n" for n in range(150)))
    back = await restored(engine, path, journal)
    assert (back.progress.stored, back.stopped) == (100, "an error that was not expected: ConnectionResetError")
    (entry,) = journal.entries()
    assert (entry.is_finished, entry.stopped) == (True, back.stopped)


@pytest.mark.parametrize("part", ["open_source", "start"])
async def test_cancelled_while_a_restore_begins_nothing_stays_open(
    tmp_path: Path, journal: Journal, monkeypatch: pytest.MonkeyPatch, until: Until, part: str
) -> None:
    path = tmp_path / "in.jsonl"
    path.write_text(dump_item(learning("one")) + "\n")
    owner: Any = {"open_source": restoring, "start": Journal}[part]
    opened: list[BinaryIO] = []
    source, call = restoring.open_source, getattr(owner, part)
    entered, may_go_on = threading.Event(), threading.Event()

    def opening(path: Path) -> BinaryIO:
        opened.append(source(path))
        return opened[-1]

    def slowly(*args: Any, **more: Any) -> Any:
        entered.set()
        may_go_on.wait(5)
        return opening(*args) if part == "open_source" else call(*args, **more)

    monkeypatch.setattr(restoring, "open_source", opening)
    monkeypatch.setattr(owner, part, slowly)
    running = asyncio.create_task(restored(FakeEngine(), path, journal))
    await until(entered.is_set)
    running.cancel()
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert [stream.closed for stream in opened] == [True]
    assert journal.entries() == []


async def test_nothing_is_restored_without_a_file_or_a_receipt(tmp_path: Path) -> None:
    engine = FakeEngine()
    (tmp_path / "file").write_text("")
    with pytest.raises(FileError, match="cannot read"):
        await restored(engine, tmp_path / "nowhere.jsonl", Journal(tmp_path / "receipts"))
    assert not (tmp_path / "receipts").exists()
    path = tmp_path / "in.jsonl"
    path.write_text(dump_item(learning("one")) + "\n")
    with pytest.raises(FileError, match="no receipt can be written"):
        await restored(engine, path, Journal(tmp_path / "file" / "receipts"))
    assert len(engine) == 0


@pytest.mark.parametrize("lines", [0, 2])
async def test_a_file_that_was_cut_off_since_is_not_restored_whole(
    journal: Journal, tmp_path: Path, lines: int
) -> None:
    engine = await ten()
    removal = await ready(engine, journal)
    kept = await exported(removal, tmp_path / "back.jsonl")
    await done(removal)
    whole = kept.path.read_bytes().splitlines(keepends=True)
    kept.path.write_bytes(b"".join(whole[:lines]))
    steps = [step async for step in restore(engine, kept.path, journal, "Notes", kept.items)]
    assert (steps[-1].progress.stored, steps[-1].is_clean) == (lines, False)
    assert "cut off" in (steps[-1].stopped or "")
    assert steps[-1].receipt is not None
    read = Receipt.read(steps[-1].receipt)
    assert (read.is_clean, read.items_to_restore) == (False, kept.items)
    kept.path.write_bytes(b"".join(whole))
    steps = [step async for step in restore(engine, kept.path, journal, "Notes", kept.items)]
    assert steps[-1].is_clean
