"""Files that are whole for SQLite, and say what no file of this program says: told as damage, never believed."""

from __future__ import annotations

import asyncio
import sqlite3
import zlib
from collections.abc import Awaitable, Callable
from contextlib import closing
from pathlib import Path

import pytest

from explorer.contract import (
    ConfigError,
    EngineFailure,
    EraseReport,
    EraseRequest,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    InvalidRequest,
    ListRequest,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
)
from explorer.engines.sqlite import SqliteEngine, payloads, schema, segments, words
from explorer.engines.sqlite.checking import Trouble, check_file
from explorer.engines.sqlite.failures import translating
from explorer.engines.sqlite.repairing import repair_file
from tests.engines.sqlite.crashing import FakeEmbedder
from tests.engines.sqlite.support import fill, list_all, note, opened, row_counts, settled

Call = Callable[[SqliteEngine], Awaitable[object]]

EVERYTHING = EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True)
SECRET = "secrettag"

CALLS: dict[str, Call] = {
    "list": lambda engine: engine.list(ListRequest(filter=MetaFilter(tags_any=[SECRET]), limit=50)),
    "explore": lambda engine: engine.explore(ExploreRequest(facet=Facet.TAG, limit=5)),
    "words": lambda engine: engine.fetch(FetchRequest(query="apple", mode=FetchMode.KEYWORD, limit=5)),
    "vectors": lambda engine: engine.fetch(FetchRequest(query="apple", mode=FetchMode.VECTOR, limit=5)),
    "both": lambda engine: engine.fetch_explained(FetchRequest(query="apple", mode=FetchMode.HYBRID, limit=5)),
    "recall": lambda engine: engine.recall(RecallRequest(question="Which apple is it?", limit=5)),
    "store": lambda engine: engine.store(note("one more", tags=["new"])),
    "forget": lambda engine: engine.forget(ForgetTarget(filter=MetaFilter(tags_any=[SECRET]))),
    "erase": lambda engine: engine.erase(EVERYTHING),
}


@pytest.fixture
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "RUN", 8)
    monkeypatch.setattr(schema, "SEGMENT", 16)


@pytest.fixture
def filled(folder: Path, small_segments: None) -> Path:
    """A file with 20 items: a full segment with its columns, words and vectors, and a rest."""
    path = folder / "memory.db"
    asyncio.run(make(path, 20))
    return path


async def make(path: Path, count: int) -> None:
    async with opened(path, embedder=FakeEmbedder()) as engine:
        await fill(engine, [note(f"apple {number}. " * 200, tags=[SECRET]) for number in range(count)])
        await settled(engine)


def damage(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as conn:
        for statement in statements:
            assert conn.execute(statement).rowcount != 0, statement
        conn.commit()


def holds(folder: Path, text: str) -> bool:
    return any(text.encode() in path.read_bytes() for path in folder.iterdir())


STATE = "its state row makes no sense.*--repair"
CODES = "strings makes no sense.*--repair"
VECTORS = "what it says of its vectors makes no sense.*--repair"
KIND = "a value in it is not what belongs there"
RUNS = "a run of its word index makes no sense.*--repair"


@pytest.mark.parametrize(
    ("statement", "reason", "fail"),
    [
        *(
            (f"UPDATE state SET {name} = {number}", STATE, set(CALLS))
            for name, number in (
                ("next_id", 2**62),
                ("next_id", 2**63 - 1),
                ("next_id", 3_000_000_000),
                ("generation", 2**63 - 1),
                ("log_floor", 2**62),
                ("uid", "x''"),
            )
        ),
        *(
            (f"UPDATE field SET next_code = {code}", CODES, set(CALLS) - {"erase"})
            for code in (2**62, 3_000_000_000, -5, "'text'")
        ),
        (f"UPDATE model SET top = {2**62}", VECTORS, {"vectors", "both", "recall"}),
        ("UPDATE model SET low = 0.5", VECTORS, {"vectors", "both", "recall"}),
        ("UPDATE post SET data = 'txt'", KIND, {"words", "both", "recall"}),
        ("UPDATE post SET data = 7", KIND, {"words", "both", "recall"}),
        ("UPDATE run SET first = -100 WHERE id = 1", "the words name item", {"words", "both", "recall"}),
        ("UPDATE run SET first = -100", RUNS, {"store", "forget"}),
        ("UPDATE run SET first = 'text'", KIND, {"words", "both", "recall"}),
        ("UPDATE run SET first = 'text'", RUNS, {"store", "forget"}),
        ("UPDATE vec SET data = 'text'", KIND, {"vectors", "both", "recall"}),
        ("UPDATE vec SET data = 7", KIND, {"vectors", "both", "recall"}),
        ("UPDATE pvec SET data = 7", KIND, {"vectors", "both", "recall"}),
        ("UPDATE vbits SET data = 7", KIND, {"vectors", "both", "recall"}),
        ("UPDATE head SET terms = x'ff20fe'", KIND, {"words", "both", "recall"}),
        ("UPDATE item SET fp = cast(id AS TEXT)", KIND, {"list", "words", "both"}),
    ],
)
async def test_what_cannot_be_is_damage_and_never_believed(
    filled: Path, caplog: pytest.LogCaptureFixture, statement: str, reason: str, fail: set[str]
) -> None:
    damage(filled, statement)
    for name in sorted(fail):
        async with opened(filled, embedder=FakeEmbedder()) as engine:
            with pytest.raises(EngineFailure, match=f"(?s)is damaged: .*{reason}"):
                await CALLS[name](engine)
    assert SECRET not in caplog.text
    assert "apple" not in caplog.text
    if reason == KIND:
        assert "explorer/engines/sqlite" in caplog.text.replace("\\", "/")  # where it was met
    if "erase" not in fail:  # which empties the file, so that it is whole again
        async with opened(filled) as engine:
            await engine.erase(EVERYTHING)
        assert set(row_counts(filled).values()) == {0}


def test_too_little_memory_is_not_called_damage() -> None:
    with (
        pytest.raises(EngineFailure, match=r"not enough memory.*`memory.db`.*tinymemory check"),
        translating("memory.db"),
    ):
        raise MemoryError


def test_rows_without_items_are_not_stepped_through() -> None:
    """As many as a file may say it gave out: sealing and the columns take few steps, and the runs have no gap."""
    with closing(sqlite3.connect(":memory:", isolation_level=None)) as conn:
        schema.migrate(conn)
        rows = 5_000 * schema.SEGMENT + 3 * schema.RUN + 7
        conn.execute("UPDATE state SET changes = 5001, next_id = ?", (rows,))
        record = b"\1" + bytes(segments.RECORD.itemsize - 1)
        for row in (5, 3_000 * schema.SEGMENT + 2 * schema.RUN, rows - 1):
            conn.execute("INSERT INTO fac VALUES(?, ?, x'')", (row, record))
            conn.execute("INSERT INTO head VALUES(?, 'word', x'01')", (row,))
        steps = 0
        while words.step(conn) or segments.step(conn):
            steps += 1
        assert steps < 12
        assert [first for first, _ in segments.read(conn, 0, rows)] == [
            0,
            3_000 * schema.SEGMENT,
            5_000 * schema.SEGMENT,
        ]
        assert [row for (row,) in conn.execute("SELECT seg FROM cols ORDER BY seg")] == [0, 3_000]
        at = 0
        for run, first, stop in conn.execute("SELECT id, first, stop FROM run ORDER BY id"):
            assert first == at < stop <= first + schema.SEGMENT
            assert run in (2 * first, 2 * first + 1)
            at = stop
        assert at == schema.State.read(conn).sealed_below == rows - 7
        assert conn.execute("SELECT count(*) FROM post").fetchone() == (2,)
        assert conn.execute("SELECT id FROM head").fetchall() == [(rows - 1,)]


# --- payloads ---


@pytest.fixture
def small_items(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(payloads, "MOST_BYTES", 10_000)


async def test_what_unpacks_to_more_than_an_item_has_is_not_unpacked(folder: Path, small_items: None) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        ids = await fill(engine, [note("one"), note("two")])
    bomb = zlib.compress(b'{"type":"document","body":{"text":"' + b"a" * 20_000 + b'"}}')
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE item SET payload = ? WHERE id = 0", (bomb,))
        conn.commit()
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match=f"item {ids[0]} cannot be read .it has more than 10,000 bytes"):
            await engine.get(GetRequest(ids=ids))
    checked = check_file(path)
    assert checked.count_of(Trouble.CONTENT) == 1
    repaired = repair_file(path)
    assert repaired.unreadable == (ids[0],)
    assert repaired.after.is_clean


async def test_larger_items_than_can_be_read_are_refused(folder: Path, small_items: None) -> None:
    async with opened(folder / "memory.db") as engine:
        with pytest.raises(InvalidRequest, match=r"larger than the 10,000 bytes.*split it"):
            await engine.store_many([note("small"), note("a" * 10_000)])
        assert await list_all(engine) == []
        size = len(note("").written()[1])
        receipt = await engine.store(note("a" * (10_000 - size)))  # to the very byte
        assert [len(hit.text) for hit in await engine.get(GetRequest(ids=[receipt.id]))] == [10_000 - size]


@pytest.mark.parametrize("change", [lambda data: data[:-1], lambda data: data + b"\0", lambda data: data * 2])
async def test_payload_that_ends_in_the_wrong_place_is_damage(folder: Path, change: Callable[[bytes], bytes]) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        ids = await fill(engine, [note("one " * 100)])
    with closing(sqlite3.connect(path)) as conn:
        (data,) = conn.execute("SELECT payload FROM item").fetchone()
        conn.execute("UPDATE item SET payload = ?", (change(data),))
        conn.commit()
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match=r"cannot be read .it ends in the wrong place"):
            await engine.get(GetRequest(ids=ids))


# --- layouts of others ---


@pytest.mark.parametrize(
    ("statement", "reason"),
    [
        (f"PRAGMA user_version = {schema.VERSION + 1}", "newer version"),
        ("PRAGMA application_id = 7", "database of another program"),
    ],
)
async def test_layout_that_changed_while_the_file_is_open_is_left_alone(
    folder: Path, statement: str, reason: str
) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine, opened(path) as reader:
        await engine.store(note("one", tags=[SECRET]))
        assert len(await list_all(reader)) == 1
        with closing(sqlite3.connect(path)) as conn:
            conn.execute(statement)
            conn.commit()
            before = conn.execute("SELECT * FROM state").fetchall()
            for name in ("store", "forget", "erase", "list"):
                with pytest.raises(ConfigError, match=reason):
                    await CALLS[name](engine)
                with pytest.raises(ConfigError, match=reason):
                    await CALLS[name](reader)
            assert conn.execute("SELECT * FROM state").fetchall() == before
            assert conn.execute("SELECT count(*) FROM item").fetchone() == (1,)
    with closing(sqlite3.connect(path)) as conn:  # closing swept nothing either
        assert conn.execute("SELECT * FROM state").fetchall() == before


@pytest.mark.parametrize(
    "statements",
    [
        (
            "CREATE TABLE stash(a)",
            "CREATE TRIGGER t AFTER DELETE ON dict BEGIN INSERT INTO stash VALUES(old.value); END",
        ),
        ("CREATE TRIGGER t AFTER DELETE ON dict BEGIN UPDATE state SET uid = old.value; END",),
        ("CREATE VIEW v AS SELECT * FROM dict",),
        ("CREATE INDEX i ON dict(uses)",),
        ("CREATE TABLE t AS SELECT * FROM dict",),
        ("ANALYZE",),
    ],
)
async def test_what_others_put_into_the_file_is_taken_out_before_anything_is_written(
    folder: Path, statements: tuple[str, ...]
) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await engine.store(note("one", tags=[SECRET]))
    damage(path, *statements)
    content = path.read_bytes()
    async with opened(path) as engine:
        for call in CALLS["erase"], CALLS["list"]:
            with pytest.raises(EngineFailure, match=r"of another program.*check --repair.*read-only"):
                await call(engine)
    async with opened(path, read_only=True) as engine:
        assert [hit.text for hit in await list_all(engine)] == ["one"]
    assert path.read_bytes() == content
    repaired = repair_file(path)
    assert repaired.after.is_clean
    assert repaired.copy is not None
    Path(repaired.copy).unlink()
    async with opened(path) as engine:
        assert await engine.erase(EVERYTHING) == EraseReport(erased_scopes=1)
    assert not holds(folder, SECRET)


# --- items without a record, and records without an item ---


ORPHANS = ["DELETE FROM fac WHERE id = 3", "UPDATE item SET id = -7 WHERE id = 3", "DELETE FROM item WHERE id = 3"]


@pytest.mark.parametrize("statement", [*ORPHANS, "UPDATE fac SET rec = x'00' WHERE id = 18"])
async def test_whole_tree_is_empty_after_its_erase_whatever_the_columns_say(filled: Path, statement: str) -> None:
    with closing(sqlite3.connect(filled)) as conn:
        before = schema.State.read(conn)
    async with opened(filled) as other:
        assert len(await list_all(other)) == 20
        damage(filled, statement)
        async with opened(filled) as engine:
            report = await engine.erase(EVERYTHING)
            assert report.erased_scopes == (0 if report.receipts else 1)
            assert len(report.receipts) == ("rec =" in statement)  # where nothing can be counted
            assert await list_all(other) == []
            assert set(row_counts(filled).values()) == {0}
            with closing(sqlite3.connect(filled)) as conn:
                state = schema.State.read(conn)
            assert state.generation > before.generation
            assert state.next_id == before.next_id
            new = await fill(engine, [note(f"new {number}") for number in range(30)])
            await settled(engine)
            assert {hit.id for hit in await list_all(other)} == set(new)
            found = await other.fetch(FetchRequest(query="new", mode=FetchMode.KEYWORD, limit=50))
            assert {hit.id for hit in found.hits} == set(new)
    assert not holds(filled.parent, SECRET)
    assert check_file(filled).is_clean


async def test_erasing_the_whole_tree_of_an_empty_file_changes_nothing(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        for _ in range(2):
            assert await engine.erase(EVERYTHING) == EraseReport(erased_scopes=0)
    with closing(sqlite3.connect(path)) as conn:
        assert schema.State.read(conn).generation == 0


@pytest.mark.parametrize("row", [3, 18])  # its words sealed, or not yet
@pytest.mark.parametrize("statement", ["DELETE FROM fac WHERE id = {}", "UPDATE fac SET rec = x'00' WHERE id = {}"])
async def test_item_without_a_record_can_be_forgotten(
    folder: Path, small_segments: None, row: int, statement: str
) -> None:
    path = folder / "memory.db"
    items = [note(f"apple only{number}", tags=["all", f"tag{number}"]) for number in range(20)]
    async with opened(path) as engine:
        ids = await fill(engine, items)
        await settled(engine)
    damage(path, statement.format(row))
    async with opened(path) as engine:
        report = await engine.forget(ForgetTarget(ids=[ids[row]]))
        assert report.forgotten == 1
        assert {hit.id for hit in await list_all(engine)} == set(ids) - {ids[row]}
    assert not holds(folder, f"only{row}")
    assert not holds(folder, f"tag{row}")
    checked = check_file(path)
    assert checked.items == 19
    assert {problem.trouble for problem in checked.problems} <= {Trouble.COLUMNS}


async def test_words_of_an_item_beside_one_without_a_record_stay(filled: Path) -> None:
    """As many are forgotten as have a record, and yet one of them is left."""
    async with opened(filled) as engine:
        ids = [hit.id for hit in await list_all(engine)][::-1]
        await engine.forget(ForgetTarget(ids=ids[2:16]))
        damage(filled, "DELETE FROM fac WHERE id = 0")
        await engine.forget(ForgetTarget(ids=[ids[0]]))
        found = await engine.fetch(FetchRequest(query="apple 1", mode=FetchMode.KEYWORD, limit=50))
        assert ids[1] in {hit.id for hit in found.hits}
    assert check_file(filled).count_of(Trouble.WORDS) == 0


@pytest.mark.parametrize("statement", ORPHANS)
async def test_receipt_says_that_something_may_be_left_of_a_part(folder: Path, statement: str) -> None:
    path = folder / "memory.db"
    a, b = (Namespace.parse(node) for node in ("agent:a", "agent:b"))
    async with opened(path) as engine:
        await fill(engine, [note(f"{node} {number}", namespace=node) for node in (a, b) for number in range(5)])
        assert await engine.erase(EraseRequest(reach=Reach.subtree(b))) == EraseReport(erased_scopes=1)
    damage(path, statement)
    async with opened(path) as engine:
        report = await engine.erase(EraseRequest(reach=Reach.subtree(a)))
        assert report.erased_scopes == 1
        (receipt,) = report.receipts
        assert "is damaged" in receipt
        assert "tinymemory check --repair" in receipt
