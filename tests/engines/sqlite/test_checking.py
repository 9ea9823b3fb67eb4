"""Checking a file against itself, and making it whole again: each kind of damage is named, mended, and nothing lost."""

from __future__ import annotations

import asyncio
import shutil
import sqlite3
import zlib
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from functools import partial
from pathlib import Path

import pytest

from explorer.contract import (
    ConfigError,
    EngineFailure,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    ListRequest,
    MetaFilter,
    Namespace,
    NotFound,
    Reach,
    StoreItem,
    Unavailable,
)
from explorer.engines.sqlite import SqliteEngine, repairing, schema
from explorer.engines.sqlite.checking import Checked, Trouble, check_file
from explorer.engines.sqlite.location import Location
from explorer.engines.sqlite.payloads import read_payload
from explorer.engines.sqlite.repairing import repair_file
from tests.engines.sqlite.crashing import FakeEmbedder
from tests.engines.sqlite.support import Maker, fill, note, opened, settled, vectors_made

from .test_files import snapshot

PAGE = 4096
TABLES = ("item", "fac", "dict", "head", "run", "post", "cols", "gone", "vec", "pvec", "vbits", "model")
FORGOTTEN = range(3, 13, 2)


@pytest.fixture(autouse=True, scope="module")
def small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(schema, "RUN", 8)
        patch.setattr(schema, "SEGMENT", 16)
        yield


@pytest.fixture(scope="module")
def whole(small_segments: None, tmp_path_factory: pytest.TempPathFactory) -> Whole:
    """A file with 40 of 45 items left: two full segments, a run, and a rest."""
    path = tmp_path_factory.mktemp("whole") / "memory.db"
    maker = Maker(4)
    # Every fourth is long enough for passages with vectors of their own.
    items = [note(f"item {number} is long. " * 200) if number % 4 == 0 else maker.item() for number in range(45)]
    asyncio.run(make(path, items))
    left = [item for number, item in enumerate(items) if number not in FORGOTTEN]
    return Whole(path, {item.fingerprint(): item for item in left})


@dataclass(frozen=True)
class Whole:
    path: Path
    items: dict[str, StoreItem]

    def put(self, path: Path) -> None:
        shutil.copyfile(self.path, path)


async def make(path: Path, items: list[StoreItem]) -> None:
    async with opened(path, embedder=FakeEmbedder()) as engine:
        ids = await fill(engine, items)
        await settled(engine)
        await engine.forget(ForgetTarget(ids=[ids[number] for number in FORGOTTEN]))


async def held(path: Path) -> dict[str, StoreItem]:
    async with opened(path) as engine:
        return await list_everywhere(engine)


async def list_everywhere(engine: SqliteEngine) -> dict[str, StoreItem]:
    """The items that listing shows at each node, sandboxes included."""
    found: dict[str, StoreItem] = {}
    for node in (await engine.namespaces(MetaFilter())).buckets:
        reach = Reach.exact(Namespace.parse(node.value))
        page = await engine.export(ListRequest(filter=MetaFilter(reach=reach), limit=1_000))
        found.update({exported.id: exported.item for exported in page.items})
    return found


def troubles(checked: Checked) -> set[Trouble]:
    return {problem.trouble for problem in checked.problems}


def damage(path: Path, *statements: str) -> None:
    with closing(sqlite3.connect(path)) as conn:
        for statement in statements:
            assert conn.execute(statement).rowcount != 0, statement
        conn.commit()


# Statement, what is found, and how many items are lost by mending it.
DAMAGES: list[tuple[str, set[Trouble], int]] = [
    (
        "DELETE FROM fac WHERE id IN (1, 44)",
        {Trouble.NO_RECORD, Trouble.USES, Trouble.ORPHAN_STRING, Trouble.COLUMNS},
        0,
    ),
    ("INSERT INTO fac SELECT id + 100, rec, tags FROM fac WHERE id = 1", {Trouble.NO_ITEM, Trouble.USES}, 0),
    (
        "UPDATE fac SET rec = CAST(substr(rec, 1, 60) || x'01020304' || substr(rec, 65) AS BLOB) WHERE id = 44",
        {Trouble.RECORD},
        0,
    ),
    ("UPDATE fac SET rec = x'00' WHERE id = 44", {Trouble.RECORD, Trouble.USES}, 0),
    ("DELETE FROM item WHERE id = 44", {Trouble.NO_ITEM, Trouble.ORPHAN_WORDS, Trouble.ORPHAN_VECTORS}, 1),
    ("DELETE FROM item WHERE id = 2", {Trouble.NO_ITEM, Trouble.ORPHAN_WORDS, Trouble.ORPHAN_VECTORS}, 1),
    ("UPDATE item SET payload = x'7b' WHERE id = 2", {Trouble.CONTENT}, 1),
    ("UPDATE item SET payload = 5 WHERE id = 44", {Trouble.CONTENT}, 1),
    ("UPDATE item SET fp = x'0102' WHERE id = 2", {Trouble.FINGERPRINT}, 0),
    ("DELETE FROM dict WHERE field = 14 AND code = 1", {Trouble.NO_STRING, Trouble.RECORD}, 0),
    ("INSERT INTO dict VALUES(15, 99, 'left over', 1)", {Trouble.ORPHAN_STRING, Trouble.STATE}, 0),
    ("UPDATE dict SET value = 'other' WHERE field = 14 AND code = 1", {Trouble.RECORD}, 0),
    ("UPDATE dict SET uses = uses + 1 WHERE field = 0 AND code = 1", {Trouble.USES}, 0),
    ("UPDATE field SET next_code = 1 WHERE field = 14", {Trouble.STATE}, 0),
    ("DELETE FROM head WHERE id = 44", {Trouble.WORDS}, 0),
    ("UPDATE head SET terms = 'other', tf = x'01' WHERE id = 44", {Trouble.WORDS}, 0),
    ("UPDATE head SET tf = CAST(tf || x'01' AS BLOB) WHERE id = 44", {Trouble.WORDS}, 0),
    ("INSERT INTO head VALUES(3, 'forgotten words', x'0101')", {Trouble.ORPHAN_WORDS}, 0),
    ("INSERT INTO head SELECT 1, terms, tf FROM head WHERE id = 44", {Trouble.WORDS}, 0),
    ("UPDATE head SET terms = cast(x'ff' AS TEXT) WHERE id = 44", {Trouble.UNREADABLE}, 0),
    ("DELETE FROM post WHERE run = 1 AND term = 'item'", {Trouble.WORDS}, 0),
    ("UPDATE post SET term = 'itex' WHERE run = 1 AND term = 'item'", {Trouble.WORDS}, 0),
    (
        "UPDATE post SET data = CAST(substr(data, 1, length(data) - 1) || x'02' AS BLOB) WHERE term = 'item'",
        {Trouble.WORDS},
        0,
    ),
    ("UPDATE post SET data = x'00' WHERE run = 1 AND term = 'item'", {Trouble.RUNS, Trouble.WORDS}, 0),
    ("UPDATE post SET data = x'ffff01' WHERE run = 1 AND term = 'item'", {Trouble.RUNS, Trouble.WORDS}, 0),
    ("INSERT INTO post VALUES(1, 'forgotten', x'030001')", {Trouble.ORPHAN_WORDS}, 0),
    ("INSERT INTO post VALUES(77, 'forgotten', x'000001')", {Trouble.ORPHAN_WORDS}, 0),
    ("DELETE FROM run WHERE id = (SELECT max(id) FROM run)", {Trouble.RUNS, Trouble.WORDS, Trouble.ORPHAN_WORDS}, 0),
    ("UPDATE run SET stop = stop + 1", {Trouble.RUNS, Trouble.WORDS}, 0),
    ("DELETE FROM cols WHERE seg = 1", set(), 0),  # written again when the next segment is full
    ("UPDATE cols SET data = x'00' WHERE seg = 0", {Trouble.COLUMNS}, 0),
    ("UPDATE cols SET data = (SELECT data FROM cols WHERE seg = 1) WHERE seg = 0", {Trouble.COLUMNS}, 0),
    ("UPDATE gone SET ids = x'0100000000000000' WHERE ids <> x''", {Trouble.LOG}, 0),
    ("UPDATE gone SET ids = x'00' WHERE ids <> x''", {Trouble.LOG}, 0),
    (f"UPDATE gone SET generation = {2**61} WHERE ids <> x''", {Trouble.LOG}, 0),
    ("DELETE FROM state", {Trouble.STATE, Trouble.UNREADABLE}, 0),
    ("UPDATE state SET next_id = 44", {Trouble.STATE, Trouble.UNREADABLE}, 0),
    ("UPDATE state SET uid = 7", {Trouble.STATE, Trouble.UNREADABLE}, 0),
    ("DELETE FROM vec WHERE id = 1", {Trouble.SIGNS, Trouble.NO_VECTOR}, 0),
    ("DELETE FROM vec WHERE id = 44", {Trouble.NO_VECTOR}, 0),
    ("UPDATE vec SET data = x'00' WHERE id = 44", {Trouble.VECTORS}, 0),
    ("UPDATE pvec SET data = x'00' WHERE id = 44", {Trouble.VECTORS}, 0),
    ("INSERT INTO pvec VALUES(3, x'00')", {Trouble.ORPHAN_VECTORS, Trouble.VECTORS}, 0),
    ("UPDATE vbits SET data = zeroblob(length(data)) WHERE seg = 1", {Trouble.SIGNS}, 0),
    ("UPDATE model SET dims = -1", {Trouble.UNREADABLE}, 0),
    ("DROP INDEX dict_by_value", {Trouble.LAYOUT}, 0),
    ("CREATE TABLE other(x)", {Trouble.LAYOUT}, 0),
    ("DROP TABLE cols", {Trouble.LAYOUT, Trouble.UNREADABLE}, 0),
    ("UPDATE fac SET rec = 'text' WHERE id = 44", {Trouble.RECORD, Trouble.USES}, 0),
    # Numbers that no file counts to.
    *(
        (f"UPDATE state SET {name} = {number}", {Trouble.STATE, Trouble.UNREADABLE}, 0)
        for name, number in (
            ("next_id", 2**62),
            ("next_id", 2**63 - 1),
            ("next_id", 3_000_000_000),
            ("generation", 2**63 - 1),
            ("changes", 2**63 - 1),
            ("log_floor", 2**62),
            ("traces", 2**62),
            ("swept", 1.5),
            ("uid", "x''"),
        )
    ),
    ("UPDATE field SET next_code = 3000000000 WHERE field = 3", {Trouble.STATE}, 0),
    (f"UPDATE field SET next_code = {2**62} WHERE field = 15", {Trouble.STATE}, 0),
    ("UPDATE field SET next_code = -5", {Trouble.STATE}, 0),
    ("UPDATE field SET next_code = 'text' WHERE field = 3", {Trouble.STATE}, 0),
    ("DELETE FROM field WHERE field = 3", {Trouble.STATE}, 0),
    (f"UPDATE model SET top = {2**62}", {Trouble.UNREADABLE}, 0),
    ("UPDATE model SET top = top + 1", {Trouble.UNREADABLE}, 0),
    (f"UPDATE model SET epoch = {2**63 - 1}", {Trouble.UNREADABLE}, 0),
    # Rows that there cannot be.
    *(
        (
            f"UPDATE item SET id = {row} WHERE id = 44",
            {Trouble.NO_RECORD, Trouble.NO_ITEM, Trouble.WORDS, Trouble.ORPHAN_WORDS, Trouble.ORPHAN_VECTORS, *others},
            0,
        )
        for row, others in ((-7, ()), (3_000_000_000, (Trouble.STATE,)), (2**62, (Trouble.STATE,)))
    ),
    (f"UPDATE fac SET id = {2**63 - 1} WHERE id = 44", {Trouble.NO_RECORD, Trouble.NO_ITEM}, 0),
    (f"UPDATE head SET id = {2**60} WHERE id = 44", {Trouble.WORDS, Trouble.ORPHAN_WORDS}, 0),
    ("UPDATE run SET first = -100 WHERE id = 1", {Trouble.WORDS, Trouble.ORPHAN_WORDS, Trouble.RUNS}, 0),
    (f"UPDATE cols SET seg = {2**60} WHERE seg = 1", {Trouble.UNREADABLE}, 0),
    # Values of another kind than their column's.
    ("UPDATE run SET first = 'text' WHERE id = 1", {Trouble.UNREADABLE, Trouble.WORDS, Trouble.RUNS}, 0),
    ("UPDATE post SET data = 'txt' WHERE run = 1 AND term = 'item'", {Trouble.UNREADABLE}, 0),
    ("UPDATE post SET data = 7 WHERE run = 1 AND term = 'item'", {Trouble.UNREADABLE}, 0),
    ("UPDATE vec SET data = 7 WHERE id = 44", {Trouble.VECTORS}, 0),
    ("UPDATE vec SET data = CAST(substr(hex(data), 1, length(data)) AS TEXT) WHERE id = 44", {Trouble.VECTORS}, 0),
    ("UPDATE pvec SET data = 7 WHERE id = 44", {Trouble.UNREADABLE}, 0),
    ("UPDATE pvec SET data = CAST(substr(hex(data), 1, length(data)) AS TEXT) WHERE id = 44", {Trouble.UNREADABLE}, 0),
    ("UPDATE vbits SET data = 7 WHERE seg = 1", {Trouble.SIGNS}, 0),
    ("UPDATE item SET fp = 'text' WHERE id = 44", {Trouble.FINGERPRINT}, 0),
    ("UPDATE fac SET tags = 'text' WHERE id = 44", {Trouble.UNREADABLE}, 0),
    ("UPDATE head SET terms = x'ff20fe' WHERE id = 44", {Trouble.UNREADABLE}, 0),
    ("UPDATE cols SET data = 7 WHERE seg = 1", {Trouble.UNREADABLE}, 0),
    ("UPDATE gone SET ids = 7", {Trouble.UNREADABLE}, 0),
    ("INSERT INTO dict VALUES(99, 1, 'x', 1)", {Trouble.UNREADABLE}, 0),
    # A payload that is cut off, and one with something behind its end.
    (
        "UPDATE item SET payload = CAST(substr(payload, 1, length(payload) - 1) AS BLOB) WHERE id = 44",
        {Trouble.CONTENT},
        1,
    ),
    ("UPDATE item SET payload = CAST(payload || x'00' AS BLOB) WHERE id = 44", {Trouble.CONTENT}, 1),
    ("CREATE VIEW other AS SELECT * FROM item", {Trouble.LAYOUT}, 0),
    ("CREATE TRIGGER other AFTER DELETE ON dict BEGIN SELECT 1; END", {Trouble.LAYOUT}, 0),
]


@pytest.mark.parametrize(("statement", "found", "lost"), DAMAGES, ids=[damage for damage, _, _ in DAMAGES])
async def test_damage_is_named_and_mended(
    folder: Path, whole: Whole, statement: str, found: set[Trouble], lost: int
) -> None:
    path = folder / "memory.db"
    whole.put(path)
    damage(path, statement)
    before = snapshot(folder)
    checked = check_file(path)
    assert troubles(checked) == found
    assert snapshot(folder) == before
    repaired = repair_file(path)
    assert repaired.before == checked
    assert (repaired.after.items, repaired.after.problems) == (40 - lost, ())
    if not found:
        assert repaired.copy is None
        assert snapshot(folder) == before
        return
    assert repaired.copy == f"{path}.repair-backup"
    assert Path(repaired.copy).read_bytes()[100:] == before["memory.db"][0][100:]  # but for counters in its header
    left = await held(path)
    assert left.items() <= whole.items.items()
    assert len(left) == 40 - lost
    async with opened(path) as engine:
        hits = await engine.fetch(FetchRequest(query="item", mode=FetchMode.KEYWORD, limit=100))
        assert len(hits.hits) == len((await engine.list(ListRequest(limit=100))).items)
        assert not (await engine.store(note("and it goes on"))).replayed
    assert check_file(path).is_clean


def vectors_of(path: Path) -> list[list[tuple[object, ...]]]:
    with closing(sqlite3.connect(path)) as conn:
        return [conn.execute(f"SELECT * FROM {table} ORDER BY 1").fetchall() for table in ("vec", "pvec", "vbits")]


async def test_vectors_and_their_signs_outlive_a_repair(folder: Path, whole: Whole) -> None:
    path = folder / "memory.db"
    whole.put(path)
    before = vectors_of(path)
    assert all(before)
    damage(path, "DELETE FROM fac WHERE id = 44")
    assert repair_file(path).after.is_clean
    assert vectors_of(path) == before


async def test_vectors_that_were_lost_are_made_anew_after_a_repair(folder: Path, whole: Whole) -> None:
    path = folder / "memory.db"
    whole.put(path)
    before = vectors_of(path)
    damage(path, "DELETE FROM vec WHERE id IN (1, 44)")
    assert repair_file(path).after.is_clean
    async with opened(path, embedder=FakeEmbedder()) as engine:
        await vectors_made(engine)
    assert vectors_of(path) == before
    assert check_file(path).is_clean


async def test_whole_file_is_clean(folder: Path, whole: Whole) -> None:
    path = folder / "memory.db"
    whole.put(path)
    with closing(sqlite3.connect(path)) as conn:
        counts = [conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0] for table in TABLES]
    assert all(counts)  # nothing is clean for want of rows
    before = snapshot(folder)
    told: list[str] = []
    checked = check_file(path, told.append)
    assert (checked.items, checked.problems) == (40, ())
    assert "checking the items: 40 of 40" in told
    assert snapshot(folder) == before
    assert await held(path) == whole.items


async def test_content_that_differs_from_its_id_gets_the_id_of_the_content(folder: Path, whole: Whole) -> None:
    path = folder / "memory.db"
    whole.put(path)
    with closing(sqlite3.connect(path)) as conn:
        fp, payload = conn.execute("SELECT fp, payload FROM item WHERE id = 20").fetchone()
        twin_fp, twin = conn.execute("SELECT fp, payload FROM item WHERE id = 30").fetchone()
        changed = zlib.decompress(payload).replace(b"item ", b"changed ")
        conn.execute("UPDATE item SET payload = ? WHERE id = 20", (changed,))
        conn.execute("UPDATE item SET payload = ? WHERE id = 40", (twin,))  # what another item is already
        (lost_fp,) = conn.execute("SELECT fp FROM item WHERE id = 40").fetchone()
        conn.commit()
    assert {Trouble.FINGERPRINT, Trouble.WORDS} <= troubles(check_file(path))
    repaired = repair_file(path)
    new = read_payload(changed, "").fingerprint()
    assert (repaired.renamed, repaired.duplicates) == (((fp.hex(), new),), (lost_fp.hex(),))
    assert (repaired.after.items, repaired.after.problems) == (39, ())
    left = await held(path)
    assert "changed " in left[new].render_text()
    assert fp.hex() not in left
    assert twin_fp.hex() in left
    with closing(sqlite3.connect(path)) as conn:  # vectors may be of the content before: they are made anew
        assert conn.execute("SELECT count(*) FROM vec").fetchone() == (0,)


@pytest.mark.limit_s(60)
async def test_broken_pages_cost_only_the_items_on_them(folder: Path, whole: Whole) -> None:
    """Page by page is overwritten: what can be read is whole afterwards, and nothing is left of the broken page."""
    content = whole.path.read_bytes()
    path = folder / "memory.db"
    outcomes = set()
    for page in range(1, len(content) // PAGE, 2):
        for beside in folder.iterdir():
            beside.unlink()
        path.write_bytes(content[: page * PAGE] + b"\xa5" * PAGE + content[(page + 1) * PAGE :])
        checked = check_file(path)
        if checked.is_clean:
            outcomes.add("unused")
            continue
        assert Trouble.STRUCTURE in troubles(checked) or Trouble.CONTENT in troubles(checked), page
        try:
            repaired = repair_file(path)
        except EngineFailure as error:
            assert [beside.name for beside in folder.iterdir()] == ["memory.db"]
            outcomes.add(error.text.partition(": ")[2])
            continue
        assert repaired.after.is_clean, page
        left = await held(path)
        assert left.items() <= whole.items.items()
        lost = repaired.lost_places + len(repaired.unreadable)
        assert (len(left) == 40) or lost, page
        assert b"\xa5" * 64 not in path.read_bytes()
        outcomes.add("some lost" if lost else "all saved")
    assert outcomes - {"unused"} == {
        "some lost",
        "all saved",
        "none of its items can be read; nothing was changed; only a backup helps",
    }


async def test_repair_goes_on_beside_a_reader_and_not_beside_a_writer(
    folder: Path, whole: Whole, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(repairing, "Location", partial(Location, busy_timeout_s=0.05))
    path = folder / "memory.db"
    whole.put(path)
    damage(path, "DELETE FROM fac WHERE id = 44")
    async with opened(path) as engine:
        assert len(await list_everywhere(engine)) == 39
        repaired = await asyncio.to_thread(repair_file, path)
        assert repaired.after.is_clean
        assert len(await list_everywhere(engine)) == 40  # its columns are read anew
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            with pytest.raises(Unavailable, match="locked, probably by another program that is writing"):
                await asyncio.to_thread(repair_file, path)


async def test_stopping_changes_nothing(folder: Path, whole: Whole) -> None:
    path = folder / "memory.db"
    whole.put(path)
    damage(path, "DELETE FROM fac WHERE id = 44")
    before = snapshot(folder)
    steps: list[str] = []
    repair_file(path, steps.append)
    assert len({step.partition(":")[0] for step in steps}) > 8
    for number in range(0, len(steps), 3):
        for beside in folder.iterdir():
            beside.unlink()
        path.write_bytes(before["memory.db"][0])
        count = iter(range(number))

        def stop(_: str, count: Iterator[int] = count) -> None:
            if next(count, None) is None:
                raise KeyboardInterrupt

        with pytest.raises(KeyboardInterrupt):
            repair_file(path, stop)
        left = [beside.name for beside in folder.iterdir()]
        if check_file(path).is_clean:  # stopped while the repaired file was checked
            assert sorted(left) == ["memory.db", "memory.db.repair-backup"]
        else:
            assert left == ["memory.db"]
            assert path.read_bytes() == before["memory.db"][0]


async def test_check_sees_what_a_live_writer_did(folder: Path, whole: Whole) -> None:
    path = folder / "memory.db"
    whole.put(path)
    async with opened(path) as engine:
        await fill(engine, [note(f"new {number}") for number in range(20)])
        assert path.with_name("memory.db-wal").stat().st_size
        checked = await asyncio.to_thread(check_file, path)
        assert (checked.items, checked.problems) == (60, ())


async def test_what_cannot_be_opened_is_said(folder: Path, whole: Whole) -> None:
    path = folder / "memory.db"
    with pytest.raises(NotFound, match="no file"):
        check_file(path)
    with pytest.raises(NotFound, match="no file"):
        repair_file(path)
    path.write_bytes(b"something else" * 1_000)
    for work in (check_file, repair_file):
        with pytest.raises(ConfigError, match="is not a SQLite database"):
            work(path)
    whole.put(path)
    damage(path, f"PRAGMA user_version = {schema.VERSION + 1}")
    for work in (check_file, repair_file):
        with pytest.raises(ConfigError, match="newer version"):
            work(path)
    assert [beside.name for beside in folder.iterdir()] == ["memory.db"]


async def test_copies_are_never_overwritten(folder: Path, whole: Whole) -> None:
    path = folder / "memory.db"
    whole.put(path)
    names = []
    for number in (44, 43, 42):
        damage(path, f"DELETE FROM fac WHERE id = {number}")
        names.append(repair_file(path).copy)
    assert names == [f"{path}.repair-backup{end}" for end in ("", "-2", "-3")]
    assert len({Path(str(name)).read_bytes() for name in names}) == 3
