"""The journal: every receipt in a folder, listed by its head and tail, searched, and gone on with."""

from __future__ import annotations

import contextlib
import os
from pathlib import Path

import pytest

from explorer.contract import ForgetTarget, InvalidRequest, ItemId, MemoryEngine, Namespace, StoreItem, StoreReceipt
from explorer.engines import ConnectionStore, EngineSettings, SavedConnection, build_engine, read_only_view
from explorer.engines.place import keep_place
from explorer.removal import journal as journal_module
from explorer.removal.journal import Journal, default_folder, is_done_in
from explorer.removal.moving import Move, Way
from explorer.removal.page import heading
from explorer.removal.plan import Action, Target, make_plan
from explorer.removal.receipts import Entry, Receipt, ids_left
from tests.fakes import FakeEngine, filled, learning
from tests.removal.made import done
from tests.removal.written import begin, planned, ready, ten


async def test_newest_first_and_by_number_within_a_second(journal: Journal) -> None:
    engine = await ten()
    paths = []
    for action in ("erase", "forget", "erase", "erase"):
        with begin(journal, await ready(engine, journal), action) as writer:
            paths.append(writer.path)
    assert [entry.path for entry in journal.entries()] == paths[::-1]
    assert len({path.name for path in paths}) == 4


def test_no_folder_is_an_empty_journal(journal: Journal) -> None:
    assert journal.entries() == journal.unfinished() == journal.search("x") == []
    assert not journal.folder.exists()


async def test_strange_files_beside_receipts(journal: Journal) -> None:
    with begin(journal, await ready(await ten(), journal), "forget") as writer:
        writer.close(removed=5)
    (journal.folder / "notes.txt").write_text("mine")
    (journal.folder / "items.jsonl").write_text('{"type":"learning"}\n')
    (journal.folder / "folder.jsonl").mkdir()
    (journal.folder / "dangling.jsonl").symlink_to(journal.folder / "nowhere")
    torn = journal.folder / "2026-07-03T145931Z-erase.jsonl"
    torn.write_bytes(b'{"line":"beg')
    renamed = writer.path.rename(journal.folder / "the day I forgot.jsonl")
    assert [(entry.path, entry.is_readable) for entry in journal.entries()] == [(renamed, True), (torn, False)]
    assert journal.unfinished() == []


async def test_search(journal: Journal) -> None:
    engine = await ten()
    removal = await ready(engine, journal)
    first, *_ = planned(removal)
    with begin(journal, removal, "forget") as writer:
        a = writer.path
    other = await ready(engine, journal, Target.below(Namespace.parse("agent:b")), Action.ERASE)
    other.connection = "Straße"
    with begin(journal, other, "erase") as writer:
        b = writer.path

    def found(words: str) -> list[Path]:
        return [entry.path for entry in journal.search(words)]

    assert found("") == [b, a]
    assert found("notes") == [a]
    assert found("STRASSE") == [b]
    assert found("agent:a forget") == [a]
    assert found("agent:a erase") == []
    assert found(b.stem) == [b]
    assert found("reference") == [b, a]
    assert found(first) == found(first[:8]) == [a]
    assert found(first[1:9]) == []  # not its beginning
    assert found("1234567890abcdef") == []


async def test_a_list_reads_heads_and_tails_only(journal: Journal) -> None:
    """What is in the middle of a receipt could be anything, and as long as anything."""
    engine = await ten()
    with journal.start("forget", engine, "Notes", [ItemId(f"{n:040x}") for n in range(3)]) as writer:
        head = writer.path.stat().st_size
        writer.close(removed=3)
    data = writer.path.read_bytes()
    with writer.path.open("wb") as file:
        file.write(data[:head])
        file.seek(8 << 30, os.SEEK_CUR)  # a hole of 8 GB, which takes no room and would take very long to read
        file.write(b"\n" + data[head:])
    (entry,) = journal.entries()
    assert (entry.removed, entry.is_finished) == (3, True)


async def test_the_first_line_is_short_however_much_goes(journal: Journal) -> None:
    nodes = [f"agent:n{n:04}" for n in range(600)]
    engine = await filled([learning(f"of {node}", node) for node in nodes], FakeEngine())
    removal = await ready(engine, journal, Target.below(Namespace.ROOT))
    chosen = await ready(engine, journal, Target.of_ids(planned(removal)))
    for one in (removal, chosen):
        with begin(journal, one, "forget") as writer:
            pass
        assert len(writer.path.read_bytes().split(b"\n")[0]) < 20_000
        entry = Entry.read(writer.path)
        assert (entry.planned, entry.nodes_in_all, len(entry.nodes)) == (600, 600, 500)
    assert Receipt.read(writer.path).facts["target"]["named"] == 600


def begun(journal: Journal, engine: MemoryEngine, connection: str) -> Receipt:
    with journal.start("forget", engine, connection) as writer:
        pass
    read, entry = Receipt.read(writer.path), Entry.read(writer.path)
    assert entry.place == read.place
    return read


async def test_a_file_is_known_by_where_it_is(journal: Journal, tmp_path: Path) -> None:
    for name in ("one", "two"):
        (tmp_path / name).mkdir()
    (tmp_path / "link.db").symlink_to(tmp_path / "one" / "memory.db")
    one, two, link = (
        build_engine("sqlite", EngineSettings(path=tmp_path / path))
        for path in ("one/memory.db", "two/memory.db", "link.db")
    )
    done = begun(journal, one, "memory.db")
    assert not is_done_in(done, two, "memory.db")
    assert is_done_in(done, one, "another name")
    assert is_done_in(done, link, "link.db")
    assert is_done_in(done, read_only_view(one), "memory.db")
    assert not is_done_in(done, FakeEngine(), "memory.db")


async def test_an_endpoint_is_known_by_its_address_and_its_name(journal: Journal) -> None:
    def at(endpoint: str) -> FakeEngine:
        engine = FakeEngine()
        keep_place(engine, EngineSettings(endpoint=endpoint), None)
        return engine

    done = begun(journal, at("https://Memory.example.com/v1/"), "mine")
    assert done.place == "https://memory.example.com/v1"
    assert is_done_in(done, at("https://memory.example.com/v1"), "mine")
    assert is_done_in(done, read_only_view(at("https://memory.example.com/v1")), "mine")
    assert not is_done_in(done, at("https://memory.example.com/v1"), "of another account")
    assert not is_done_in(done, at("https://other.example.com/v1"), "mine")


async def test_an_endpoint_is_known_by_the_first_name_of_its_connection(journal: Journal, tmp_path: Path) -> None:
    def at(saved: SavedConnection | None) -> FakeEngine:
        assert saved is not None
        engine = FakeEngine()
        keep_place(engine, saved.settings, None)
        return engine

    store, endpoint = ConnectionStore(tmp_path / "connections.json"), "https://memory.example.com/v1"
    store.add(SavedConnection(name="mine", engine="fake", settings=EngineSettings(endpoint=endpoint)))
    first = begun(journal, at(store.get("mine")), "mine")
    for before, after in (("mine", "ours"), ("ours", "theirs")):
        saved = store.get(before)
        assert saved is not None
        store.save(saved.model_copy(update={"name": after}), replacing=before)
    renamed = at(store.get("theirs"))
    later = begun(journal, renamed, "theirs")
    assert is_done_in(first, read_only_view(renamed), "theirs")
    assert is_done_in(later, renamed, "theirs")

    store.add(SavedConnection(name="mine", engine="fake", settings=EngineSettings(endpoint=endpoint)))
    other = at(store.get("mine"))
    assert not is_done_in(first, other, "mine"), "of another account, perhaps"
    assert is_done_in(begun(journal, other, "mine"), other, "mine")


async def test_what_has_no_place_is_known_by_its_name(journal: Journal, tmp_path: Path) -> None:
    """As with receipts of before, which say none."""
    done = begun(journal, FakeEngine(), "mine")
    assert done.place == ""
    assert is_done_in(done, FakeEngine(), "mine")
    assert not is_done_in(done, FakeEngine(), "another")


async def test_a_whole_run_is_in_the_journal_with_its_page(journal: Journal) -> None:
    outcome = await done(await ready(await ten(), journal))
    (entry,) = journal.entries()
    assert entry.path == outcome.receipt
    assert (entry.is_clean, entry.removed, entry.left, entry.is_running) == (True, 5, 0, False)
    read = Receipt.read(entry.path)
    assert (read.stored_before, read.stored_after, read.planned) == (10, 5, 5)
    assert len(read.checks) == len(outcome.checks)
    page = entry.path.with_suffix(".html").read_text("utf-8")
    assert "5 of 5 items forgotten" in page


async def test_a_page_that_cannot_be_written_fails_no_removal(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, caplog: pytest.LogCaptureFixture
) -> None:
    def fail(path: Path) -> Path:
        raise OSError("no room")

    monkeypatch.setattr(journal_module, "write_page", fail)
    assert (await done(await ready(await ten(), journal))).is_clean
    assert "no page could be written" in caplog.text


class Keeping(FakeEngine):
    """Takes all but one of the items."""

    async def store_many(self, items: list[StoreItem]) -> list[StoreReceipt]:
        if any(item.render_text() == "a 1" for item in items):
            raise InvalidRequest("it is locked")
        return await super().store_many(items)


@pytest.mark.parametrize("is_copy", [False, True])
async def test_a_move_and_a_copy_are_kept_as_well(journal: Journal, is_copy: bool) -> None:
    source, destination = await ten(), Keeping()
    plan = await make_plan(source, Target.below(Namespace.parse("agent:a")), Action.FORGET)
    way = Way(Namespace.parse("agent:z"), is_copy=is_copy)
    move = Move(source, plan, destination, way, journal, "Notes", "Other", is_same_store=False)
    async with contextlib.aclosing(move.count()) as counting:
        ids = [list(preview.nodes) async for preview in counting][-1]
    await source.forget(ForgetTarget(ids=[ids[0]]))
    async with contextlib.aclosing(move.run()) as steps:
        outcome = [step.outcome async for step in steps][-1]
    assert outcome is not None
    assert (len(outcome.done), outcome.gone, list(outcome.kept)) == (3, [ids[0]], [ids[1]])
    (entry,) = journal.entries()
    assert (entry.action, entry.removed, entry.left) == ("copy" if is_copy else "move", 3, 1)
    read = Receipt.read(entry.path)
    assert (read.copied, read.removed, read.planned, read.engine_id) == (3, 0 if is_copy else 3, 5, "reference")
    assert (read.already_gone, read.failed, read.not_tried) == (1, {ids[1]: "it is locked"}, 0)
    assert heading(read) == f"3 of 5 items {'copied' if is_copy else 'moved'}"

    # The same, cut short before its last line, as one that is killed leaves it.
    lines = entry.path.read_bytes().splitlines(keepends=True)
    cut = journal.folder / f"2026-07-03T145931Z-{entry.action}.jsonl"
    cut.write_bytes(b"".join(lines[:-1]))
    read = Receipt.read(cut)
    assert read.is_interrupted
    assert (read.copied, read.failed_in_all, read.not_tried) == (3, 1, 1)  # that one was gone had no line
    assert ids_left(cut) == ids[:2]
    journal.settle(cut)
    settled = next(entry for entry in journal.entries() if entry.path == cut)
    assert (settled.removed, settled.left) == (3, 2)
    assert heading(Receipt.read(cut)) == heading(read)


def test_the_folder_is_in_the_users_data(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    for name in ("XDG_DATA_HOME", "LOCALAPPDATA", "HOME"):
        monkeypatch.setenv(name, str(tmp_path))
    assert Journal().folder == default_folder()
    assert default_folder().is_relative_to(tmp_path)
    assert default_folder().parts[-2:] == ("tinymemory-explorer", "receipts")
