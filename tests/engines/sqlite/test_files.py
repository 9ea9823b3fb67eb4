"""Opening: odd paths, foreign and damaged files left as they are, and reading without a trace."""

from __future__ import annotations

import gc
import os
import random
import shutil
import sqlite3
import threading
from contextlib import closing
from pathlib import Path
from types import SimpleNamespace

import pytest

from explorer.contract import (
    ConfigError,
    EngineFailure,
    EraseRequest,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    InvalidRequest,
    ListRequest,
    MetaFilter,
    Namespace,
    NotFound,
    Reach,
    Timestamp,
    TinyMemoryError,
    Unavailable,
)
from explorer.engines.config import EngineSettings
from explorer.engines.sqlite import DESCRIPTOR, SqliteEngine, build, connection, schema
from tests.engines.sqlite.support import everything, fill, list_all, note, opened

Snapshot = dict[str, tuple[bytes, int]]


def snapshot(of: Path) -> Snapshot:
    """Every file of a folder: its bytes and when it was last written."""
    return {path.name: (path.read_bytes(), path.stat().st_mtime_ns) for path in sorted(of.iterdir())}


async def made(path: Path, *texts: str) -> None:
    async with opened(path) as engine:
        await fill(engine, [note(text) for text in texts])


@pytest.mark.parametrize(
    "name",
    [
        "with space.db",
        "a?b.db",
        "a#b.db",
        "100%.db",
        "%41.db",
        "🚀 é.db",
        "a&mode=ro.db",
        "no suffix",
        "'.db",
        ":memory:",
        *([] if os.name == "nt" else [r"\\server\share\m.db"]),  # there it is the place of a share, and no name
    ],
)
async def test_odd_paths(folder: Path, name: str) -> None:
    path = folder / name
    await made(path, "a")
    assert [file.name for file in folder.iterdir()] == [name]  # one file, under just this name, and no log left
    async with opened(path) as engine:
        assert [hit.text for hit in await list_all(engine)] == ["a"]
    async with opened(path, read_only=True) as engine:
        assert [hit.text for hit in await list_all(engine)] == ["a"]
    assert [file.name for file in folder.iterdir()] == [name]


async def test_relative_path_stays_where_it_was_meant(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(folder)
    engine = SqliteEngine("memory.db")
    (folder / "elsewhere").mkdir()
    monkeypatch.chdir(folder / "elsewhere")
    await engine.store(note("a"))
    await engine.aclose()
    assert (folder / "memory.db").exists()


def test_building_touches_nothing(folder: Path) -> None:
    before = threading.active_count()
    engine = build(EngineSettings(path=str(folder / "missing" / "memory.db")))
    assert engine.descriptor() == DESCRIPTOR
    assert list(folder.glob("**/*.db")) == []
    assert threading.active_count() == before


def test_name_that_no_file_can_have_is_refused(folder: Path) -> None:
    with pytest.raises(ConfigError, match="NUL"):
        build(EngineSettings(path=f"{folder}/a\0b.db"))


@pytest.mark.parametrize("read_only", [False, True])
async def test_path_that_is_too_long_is_named(folder: Path, read_only: bool) -> None:
    """Also where the file alone would have room, but not the log beside it."""
    longest = folder / ("n" * (255 - len("-journal")))
    await made(longest, "a")
    deep = folder
    while len(str(deep)) < 400:
        deep /= "d" * 50
    deep.mkdir(parents=True)
    room = 512 - len("-journal") - len(f"{deep}/")
    await made(deep / ("n" * room), "a")
    for path in (folder / ("n" * 248), folder / ("n" * 300), deep / ("n" * (room + 1)), deep / ("d" * 200) / "m.db"):
        await refused(path, ConfigError, "is too long, with what SQLite adds to it", read_only=read_only)


async def test_first_pages_that_are_overwritten_while_it_is_open_are_noticed(folder: Path) -> None:
    """SQLite itself reads them once, and goes on with what it has read."""
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note("a")])
        assert (await engine.health()).state == "ok"
        with path.open("r+b") as file:
            file.write(b"\xa5" * 8192)
        health = await engine.health()
        assert health.state == "down"
        assert health.reason == f"`{path}` is not a SQLite database"


@pytest.mark.parametrize("read_only", [False, True])
async def test_damaged_layout_is_told_whatever_bytes_it_holds(folder: Path, read_only: bool) -> None:
    """SQLite quotes the layout in its error, and Python reads that as UTF-8."""
    path = folder / "memory.db"
    await made(path, "a")
    whole = path.read_bytes()
    path.write_bytes(whole.replace(b"CREATE TABLE gone", b"CREATE TABL\xbf gone"))
    assert path.read_bytes() != whole
    await refused(path, EngineFailure, "is damaged", read_only=read_only)


@pytest.mark.filterwarnings("error::pytest.PytestUnraisableExceptionWarning")
async def test_damaged_words_are_told_and_nothing_else_is_said(folder: Path) -> None:
    path = folder / "memory.db"
    await made(path, "a", "b")
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE head SET terms = 'a b c'")
        conn.commit()
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match="wrong number of counts"):
            await engine.fetch(FetchRequest(query="a", mode=FetchMode.KEYWORD, limit=1))
    gc.collect()


@pytest.mark.parametrize("path", [None, ""])
def test_path_is_needed(path: str | None) -> None:
    with pytest.raises(ConfigError, match="needs the path"):
        build(EngineSettings(path=path))


async def refused(path: Path, kind: type[TinyMemoryError], reason: str, *, read_only: bool = False) -> None:
    """Every call is refused with a sentence, and health says down with the same one."""
    async with opened(path, read_only=read_only) as engine:
        with pytest.raises(kind, match=reason) as error:
            await engine.list(ListRequest(limit=1))
        health = await engine.health()
        assert health.state == "down"
        assert health.reason == error.value.text
        if not read_only:
            with pytest.raises(kind, match=reason):
                await engine.store(note("a"))


async def test_missing_places_are_named(folder: Path) -> None:
    await refused(folder / "none" / "memory.db", NotFound, "the folder .*none` does not exist")
    await refused(folder, ConfigError, "is a folder")
    await refused(folder / "memory.db", NotFound, "no file .* to open read-only", read_only=True)
    (folder / "empty.db").touch()
    await refused(folder / "empty.db", ConfigError, "is empty", read_only=True)
    assert sorted(file.name for file in folder.iterdir() if file.is_file()) == ["empty.db"]


async def test_empty_file_becomes_a_memory_file(folder: Path) -> None:
    path = folder / "memory.db"
    path.touch()
    await made(path, "a")
    assert path.stat().st_size > 0


async def test_folder_that_appears_later_is_used(folder: Path) -> None:
    async with opened(folder / "late" / "memory.db") as engine:
        assert not (await engine.health()).is_serving
        (folder / "late").mkdir()
        assert (await engine.health()).is_serving
        await engine.store(note("a"))


def foreign_database(path: Path, *, application: int = 0, is_wal: bool = False) -> None:
    with closing(sqlite3.connect(path)) as conn:
        if is_wal:
            conn.execute("PRAGMA journal_mode = WAL")
        conn.execute(f"PRAGMA application_id = {application}")
        conn.execute("CREATE TABLE item(id INTEGER PRIMARY KEY, text TEXT)")
        conn.execute("INSERT INTO item VALUES(1, 'mine')")
        conn.commit()


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize("is_wal", [False, True])
@pytest.mark.parametrize("application", [0, 0x12345678])
async def test_database_of_another_program_stays_as_it_is(
    folder: Path, application: int, is_wal: bool, read_only: bool
) -> None:
    path = folder / "other.db"
    foreign_database(path, application=application, is_wal=is_wal)
    before = snapshot(folder)
    await refused(path, ConfigError, "another program", read_only=read_only)
    assert snapshot(folder) == before


@pytest.mark.parametrize("read_only", [False, True])
@pytest.mark.parametrize(
    "content", [b"x", b"not a database at all" * 100, b"\0" * 4096, b"SQLite format 3\0" + b"\xff" * 4096]
)
async def test_other_file_stays_as_it_is(folder: Path, content: bytes, read_only: bool) -> None:
    path = folder / "other.bin"
    path.write_bytes(content)
    before = snapshot(folder)
    await refused(path, TinyMemoryError, "other.bin` is", read_only=read_only)
    assert snapshot(folder) == before


@pytest.mark.parametrize("read_only", [False, True])
async def test_newer_layout_stays_as_it_is(folder: Path, read_only: bool) -> None:
    path = folder / "memory.db"
    await made(path, "a")
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(f"PRAGMA user_version = {schema.VERSION + 1}")
    before = snapshot(folder)
    await refused(path, ConfigError, "newer version", read_only=read_only)
    assert snapshot(folder) == before


@pytest.mark.parametrize("read_only", [False, True])
async def test_truncated_file_stays_as_it_is(folder: Path, read_only: bool) -> None:
    path = folder / "memory.db"
    await made(path, *(f"{number} " * 500 for number in range(100)))
    os.truncate(path, 3 * 4096 + 17)
    before = snapshot(folder)
    await refused(path, EngineFailure, "is damaged", read_only=read_only)
    assert snapshot(folder) == before


@pytest.mark.parametrize("read_only", [False, True])
async def test_reading_damage_changes_nothing(folder: Path, read_only: bool) -> None:
    """Each page in turn is overwritten: reading answers or says that the file is damaged, and writes nothing."""
    good = folder / "good.db"
    rand = random.Random(5)  # of words that do not compress well
    await made(good, *(" ".join(rand.randbytes(4).hex() for _ in range(400)) for _ in range(30)))
    content = good.read_bytes()
    damaged = folder / "damaged"
    damaged.mkdir()
    path = damaged / "memory.db"
    failures = []
    for page in range(1, len(content) // 4096, 3):
        path.write_bytes(content[: page * 4096] + b"\xa5" * 4096 + content[(page + 1) * 4096 :])
        before = snapshot(damaged)
        async with opened(path, read_only=read_only) as engine:
            try:
                await list_all(engine)
            except EngineFailure as error:
                failures.append(error.text)
        assert snapshot(damaged) == before
    assert len(failures) > 5
    assert all(f"`{path}` is damaged" in failure for failure in failures)


def forbid_writing(monkeypatch: pytest.MonkeyPatch, *forbidden: Path) -> None:
    # Tests may run as root, who may write anywhere: the permission is only said to be missing.
    paths = {str(path) for path in forbidden}
    access = lambda path, mode: not (mode == os.W_OK and str(path) in paths)  # noqa: E731
    monkeypatch.setattr(connection, "os", SimpleNamespace(**{**vars(os), "access": access}))


async def test_place_that_may_not_be_written_is_named(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "memory.db"
    forbid_writing(monkeypatch, folder)
    await refused(path, ConfigError, "no memory file can be created")
    monkeypatch.undo()
    await made(path, "a")
    forbid_writing(monkeypatch, path)
    await refused(path, ConfigError, "not writable; open it read-only")
    async with opened(path, read_only=True) as engine:
        assert len(await list_all(engine)) == 1


@pytest.mark.parametrize("has_read", [True, False])
async def test_moved_file_is_said_and_not_written_into(folder: Path, has_read: bool) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await engine.store(note("a"))
        if has_read:
            assert len(await list_all(engine)) == 1
        shutil.move(path, folder / "moved.db")
        health = await engine.health()
        assert health.state == ("degraded" if has_read else "down")
        assert "moved, deleted or replaced" in (health.reason or "")
        with pytest.raises(Unavailable, match="moved, deleted or replaced"):
            await engine.store(note("b"))
        assert not path.exists()


async def test_reading_only_writes_nothing_at_all(folder: Path) -> None:
    path = folder / "memory.db"
    await made(path, "apple", "pear")
    before = snapshot(folder)
    async with opened(path, read_only=True) as engine:
        assert (await engine.health()).is_serving
        (newest, _) = await list_all(engine)
        await engine.get(GetRequest(ids=[newest.id]))
        await engine.namespaces(MetaFilter())
        for refused_call in (
            engine.store(note("new")),
            engine.store_many([note("new")]),
            engine.forget(ForgetTarget(ids=[newest.id])),
            engine.erase(EraseRequest(reach=Reach.exact(Namespace.ROOT))),
        ):
            with pytest.raises(InvalidRequest, match="open read-only; nothing was changed"):
                await refused_call
        assert snapshot(folder) == before
    assert snapshot(folder) == before


async def test_reading_only_beside_a_writer_sees_what_it_writes(folder: Path) -> None:
    path = folder / "memory.db"
    await made(path, "one")
    async with opened(path, read_only=True) as reader:
        assert [hit.text for hit in await list_all(reader)] == ["one"]
        async with opened(path) as writer:
            (two,) = await fill(writer, [note("two")])
            assert [hit.text for hit in await list_all(reader)] == ["two", "one"]
            await fill(writer, [note("three")])
            log = (folder / "memory.db-wal").read_bytes()
            assert [hit.text for hit in await list_all(reader)] == ["three", "two", "one"]
            assert (folder / "memory.db-wal").read_bytes() == log
            await writer.forget(ForgetTarget(ids=[two]))  # empties the log into the file
            assert [hit.text for hit in await list_all(reader)] == ["three", "one"]
        assert [hit.text for hit in await list_all(reader)] == ["three", "one"]
        assert [file.name for file in folder.iterdir()] == ["memory.db"]
        # Another file in its place: nothing of the first is remembered.
        await made(folder / "other.db", "a", "b", "c", "d")
        os.replace(folder / "other.db", path)
        assert [hit.text for hit in await list_all(reader)] == ["d", "c", "b", "a"]
    assert [file.name for file in folder.iterdir()] == ["memory.db"]


async def test_link_is_followed(folder: Path) -> None:
    (folder / "real").mkdir()
    link = folder / "link.db"
    link.symlink_to(folder / "real" / "memory.db")
    await made(link, "a")
    assert [file.name for file in (folder / "real").iterdir()] == ["memory.db"]
    async with opened(link) as writer, opened(link, read_only=True) as reader:
        assert len(await list_all(reader)) == 1
        await fill(writer, [note("b")])
        assert len(await list_all(reader)) == 2


async def test_file_left_by_a_crash_is_completed_by_writing_only(folder: Path) -> None:
    crashed = folder / "crashed"
    crashed.mkdir()
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("a"), note("b")])
        for name in ("memory.db", "memory.db-wal"):
            shutil.copy(folder / name, crashed / name)
    before = snapshot(crashed)
    await refused(crashed / "memory.db", ConfigError, "not closed properly", read_only=True)
    assert snapshot(crashed) == before
    async with opened(crashed / "memory.db") as engine:
        assert len(await list_all(engine)) == 2
    async with opened(crashed / "memory.db", read_only=True) as engine:
        assert len(await list_all(engine)) == 2


async def test_opening_and_reading_changes_no_byte(folder: Path) -> None:
    path = folder / "memory.db"
    await made(path, "a", "b")
    before = snapshot(folder)
    async with opened(path) as engine:
        await list_all(engine)
        await engine.health()
    assert snapshot(folder) == before


async def test_item_without_its_content_is_an_error_and_not_a_gap(folder: Path) -> None:
    path = folder / "memory.db"
    await made(path, "a", "b")
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("DELETE FROM item WHERE id = 0")
        conn.commit()
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match="is damaged: item 0 has fields but no content"):
            await list_all(engine)
        assert len((await engine.list(ListRequest(limit=1))).items) == 1


@pytest.mark.parametrize("payload", [b"", b"{}", b"\xff\xfe", b'{"type":"learning"}'])
async def test_item_with_broken_content_is_an_error(folder: Path, payload: bytes) -> None:
    path = folder / "memory.db"
    await made(path, "a")
    id = note("a").fingerprint()
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE item SET payload = ?", (payload,))
        conn.commit()
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match=f"is damaged: the content of item {id} cannot be read"):
            await list_all(engine)
        # It can still be removed.
        assert (await engine.forget(ForgetTarget(ids=[id]))).forgotten == 1
        assert await list_all(engine) == []


@pytest.mark.parametrize(
    ("damage", "reason"),
    [
        ("UPDATE fac SET rec = x'00' WHERE id = 1", "a record of fields has the wrong size"),
        ("UPDATE fac SET tags = x'00' WHERE id = 1", "a record of tags has the wrong size"),
        ("UPDATE fac SET tags = x'05000000' WHERE id = 1", "an item has a tag that no string belongs to"),
        ("UPDATE fac SET id = 7 WHERE id = 1", "a record of fields has the wrong size"),
        ("DELETE FROM dict WHERE field = 14", "an item has a namespace that no string belongs to"),
        ("UPDATE dict SET value = 'robot:x' WHERE field = 14", "it names a node that is none"),
        ("DELETE FROM state", "its state row is missing"),
        ("UPDATE state SET generation = 'x'", "its state row makes no sense"),
        ("UPDATE state SET next_id = -1", "its state row makes no sense"),
        ("UPDATE state SET uid = 'x'", "its state row makes no sense"),
        ("UPDATE state SET sealed_below = 16384", "its state row makes no sense"),
    ],
)
async def test_contradictions_are_errors_and_stay_so(folder: Path, damage: str, reason: str) -> None:
    path = folder / "memory.db"
    await made(path, "a", "b")
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(damage)
        conn.commit()
    before = everything(path)
    async with opened(path) as engine:
        for _ in range(2):
            with pytest.raises(EngineFailure, match=f"is damaged: {reason}"):
                await list_all(engine)
    assert everything(path) == before


async def test_older_copy_written_over_the_open_file_is_read_anew(folder: Path) -> None:
    """By SQLite's own means, as its shell's `.restore` does: the same file, and counters that were there before."""
    path = folder / "memory.db"
    await made(path, "base")
    shutil.copyfile(path, folder / "copy.db")
    old, new = Timestamp.parse("2001-01-01T00:00:00Z"), Timestamp.parse("2026-01-01T00:00:00Z")
    before_2010 = MetaFilter(observed_before=Timestamp.parse("2010-01-01T00:00:00Z"))
    request = FetchRequest(query="junk precious", mode=FetchMode.KEYWORD, limit=9)
    async with opened(path) as engine:
        await engine.store(note("junk", observed_at=old))
        assert [hit.text for hit in await list_all(engine, before_2010)] == ["junk"]
        assert [hit.text for hit in (await engine.fetch(request)).hits] == ["junk"]
        with closing(sqlite3.connect(folder / "copy.db")) as copy, closing(sqlite3.connect(path)) as file:
            copy.backup(file)
        async with opened(path) as other:
            await other.store(note("precious", observed_at=new))
        assert await list_all(engine, before_2010) == []
        assert [hit.text for hit in (await engine.fetch(request)).hits] == ["precious"]
        assert (await engine.forget(ForgetTarget(filter=before_2010))).forgotten == 0
        assert {hit.text for hit in await list_all(engine)} == {"base", "precious"}


async def test_file_that_was_moved_while_open_has_all_that_was_stored(folder: Path) -> None:
    path, elsewhere = folder / "memory.db", folder / "elsewhere.db"
    await made(path, "first")
    async with opened(path) as engine:
        await engine.store(note("acknowledged"))
        path.rename(elsewhere)
        with pytest.raises(Unavailable, match="was moved"):
            await engine.store(note("refused"))
    async with opened(elsewhere) as engine:
        assert {hit.text for hit in await list_all(engine)} == {"first", "acknowledged"}


async def test_a_file_is_not_open_under_two_names_at_once(folder: Path) -> None:
    one, two = folder / "one.db", folder / "two.db"
    async with opened(one) as engine:
        await engine.store(note("x"))
        two.hardlink_to(one)
        async with opened(two) as other:
            with pytest.raises(ConfigError, match="are one file under two names; open it under one of them"):
                await other.store(note("y"))
            health = await other.health()
            assert not health.is_serving
            assert "are one file under two names" in (health.reason or "")
        async with opened(one) as again:
            assert len(await list_all(again)) == 1
    async with opened(two) as alone:
        assert len(await list_all(alone)) == 1
