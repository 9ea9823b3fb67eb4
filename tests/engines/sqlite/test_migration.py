"""Files of an older layout: brought to the present one in place, after a copy, and whole or not at all."""

from __future__ import annotations

import asyncio
import signal
import sqlite3
import subprocess
import sys
from collections.abc import Sequence
from contextlib import closing
from pathlib import Path

import numpy as np
import numpy.typing as npt
import pytest

from explorer.contract import (
    ConfigError,
    EngineFailure,
    EraseRequest,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    ItemKind,
    Namespace,
    Reach,
)
from explorer.engines.sqlite import copies, rebuilding, schema
from explorer.engines.sqlite.checking import check_file
from explorer.engines.sqlite.repairing import repair_file
from tests.engines.sqlite.crashing import FakeEmbedder
from tests.engines.sqlite.support import fill, list_all, note, opened, vectors_made

from .test_files import refused, snapshot

ROOT = Path(__file__).parents[3]
LAYOUT_1 = Path(__file__).with_name("layout1.sql")
"""All of a file that the first version made: eight items, of which one was forgotten; six sealed, two not."""


def write_old(path: Path) -> None:
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.executescript(LAYOUT_1.read_text("utf-8"))


def rows(path: Path) -> dict[str, list[tuple[object, ...]]]:
    """All that a file holds, by table, without changing it."""
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as conn:
        tables = [name for (name,) in conn.execute("SELECT name FROM sqlite_master WHERE type = 'table' ORDER BY name")]
        return {table: conn.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall() for table in tables}


def version(path: Path) -> int:
    with closing(sqlite3.connect(path)) as conn:
        (found,) = conn.execute("PRAGMA user_version").fetchone()
        return int(found)


async def count(path: Path) -> int:
    async with opened(path) as engine:
        return len(await list_all(engine))


async def test_everything_is_there_after_it_and_a_copy_is_left(folder: Path, caplog: pytest.LogCaptureFixture) -> None:
    path = folder / "memory.db"
    write_old(path)
    before = rows(path)
    async with opened(path) as engine:
        assert [hit.text for hit in await list_all(engine)] == [
            "Überweist freitags; getUserProfile läuft",
            "a seventh, still in the head",
            "the eighth",
            "window again",
            "...",
            "likes window seats on trains",
        ]
        for query, count in (("window", 2), ("profile", 1), ("東京", 0), ("lauft", 1), ("forgotten", 0), ("seat", 1)):
            hits = (await engine.fetch(FetchRequest(query=query, mode=FetchMode.KEYWORD, limit=9))).hits
            assert len(hits) == count, query
        box = Reach.exact(Namespace.parse("team:acme/service:cron"))
        (found,) = await engine.get(GetRequest(ids=["f32417d6d2e8875ced13d096c9102c6132650b35"], reach=box))
        assert found.kind is ItemKind.CONVERSATION
        assert (await engine.health()).state == "ok"
        assert not (await engine.store(note("a new one"))).replayed
        assert (await engine.store(note("the eighth"))).replayed
    assert (version(path), check_file(path).problems) == (schema.VERSION, ())
    kept = folder / "memory.db.v1-backup"
    assert sorted(beside.name for beside in folder.iterdir()) == ["memory.db", kept.name]
    assert rows(kept) == before
    assert str(kept) in caplog.text
    assert kept.stat().st_mode == path.stat().st_mode
    # The copy opens like any file of its version.
    async with opened(kept) as engine:
        assert len(await list_all(engine)) == 6
    assert (folder / "memory.db.v1-backup.v1-backup").exists()


async def test_removal_names_the_copy_until_it_is_gone(folder: Path) -> None:
    path = folder / "memory.db"
    write_old(path)
    everything = EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True)
    async with opened(path) as engine:
        (newest, *_) = await list_all(engine)
        assert (await engine.health()).state == "ok"
        await engine.forget(ForgetTarget(ids=[newest.id]))
        said = f"`{path}.v1-backup`"
        assert said in ((await engine.health()).reason or "")
    async with opened(path) as engine:
        assert said in ((await engine.health()).reason or "")
        assert said in (await engine.erase(everything)).receipts[0]
        (folder / "memory.db.v1-backup").unlink()
        assert (await engine.health()).state == "ok"
        assert (await engine.erase(everything)).receipts == []


async def test_words_of_the_old_layout_are_overwritten(folder: Path) -> None:
    path = folder / "memory.db"
    write_old(path)
    async with opened(path) as engine:
        await engine.erase(EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True))
        for file in ("memory.db", "memory.db-wal", "memory.db-shm"):
            held = (folder / file).read_bytes()
            for mark in ("window", "getuserprofile", "overweist", "c0ffee", "a.example", "東", "thread-1"):
                assert mark.encode() not in held, (file, mark)


async def test_reading_only_is_refused_and_changes_nothing(folder: Path) -> None:
    path = folder / "memory.db"
    write_old(path)
    before = snapshot(folder)
    await refused(path, ConfigError, "the layout of an older version.*open it once for writing", read_only=True)
    assert snapshot(folder) == before


async def test_copy_is_never_written_over_another_file(folder: Path) -> None:
    path = folder / "memory.db"
    write_old(path)
    (folder / "memory.db.v1-backup").write_text("mine")
    (folder / "memory.db.v1-backup.part").write_text("of a copying that was killed")
    async with opened(path) as engine:
        assert len(await list_all(engine)) == 6
    assert (folder / "memory.db.v1-backup").read_text() == "mine"
    assert version(folder / "memory.db.v1-backup-2") == 1
    assert not (folder / "memory.db.v1-backup.part").exists()


async def test_no_copy_no_migration(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "memory.db"
    write_old(path)
    before = rows(path)

    def fail(*_: object) -> None:
        raise PermissionError(13, "Permission denied")

    with monkeypatch.context() as broken:
        broken.setattr(copies.os, "open", fail)
        await refused(path, ConfigError, "has to be copied first, and .* cannot be made: permission denied")
    with monkeypatch.context() as broken:
        broken.setattr(copies, "_sync", fail)
        await refused(path, ConfigError, "has to be copied first")
    assert rows(path) == before
    assert [beside.name for beside in folder.iterdir()] == ["memory.db"]


async def test_failing_half_way_leaves_the_old_file(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "memory.db"
    write_old(path)
    before = rows(path)

    def fail(*_: object) -> None:
        raise sqlite3.OperationalError("disk I/O error")

    with monkeypatch.context() as broken:
        broken.setattr(rebuilding.words, "insert", fail)
        await refused(path, EngineFailure, "disk I/O error")
    assert rows(path) == before
    assert [beside.name for beside in folder.iterdir()] == ["memory.db"]
    async with opened(path) as engine:
        assert len(await list_all(engine)) == 6


async def test_item_that_cannot_be_read_stops_it_until_it_is_taken_out(folder: Path) -> None:
    path = folder / "memory.db"
    write_old(path)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE item SET payload = x'00' WHERE id = 5")
        conn.commit()
    before = rows(path)
    await refused(path, EngineFailure, "item 866805e9.* cannot be read.*check --repair")
    assert rows(path) == before
    assert [beside.name for beside in folder.iterdir()] == ["memory.db"]
    repaired = repair_file(path)
    assert (repaired.before, repaired.after.items, repaired.after.problems) == (None, 6, ())
    assert repaired.unreadable == ("866805e9119a50b9c98e1c6fe5ed7d47dc0ffea6",)
    async with opened(path) as engine:
        assert len(await list_all(engine)) == 5


OPENING = """
import asyncio, sys
from explorer.contract import ListRequest
from explorer.engines.sqlite import SqliteEngine

async def main():
    engine = SqliteEngine(sys.argv[1], embedder=None)
    sys.stdin.readline()
    print(len((await engine.list(ListRequest(limit=50))).items))
    await engine.aclose()

asyncio.run(main())
"""


def test_processes_that_open_it_at_once_migrate_it_once(folder: Path) -> None:
    path = folder / "memory.db"
    write_old(path)
    pipe = subprocess.PIPE
    command = [sys.executable, "-c", OPENING, str(path)]
    both = [subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT) for _ in range(2)]
    for process in both:
        assert process.stdin is not None
        process.stdin.write("go\n")
        process.stdin.flush()
    assert [process.communicate()[0] for process in both] == ["6\n", "6\n"]
    assert sorted(beside.name for beside in folder.iterdir()) == ["memory.db", "memory.db.v1-backup"]
    assert check_file(path).is_clean


KILLED = """
import asyncio, os, signal, sys
from explorer.contract import ListRequest
from explorer.engines.sqlite import SqliteEngine, location

FILES = {"open", "os.chmod", "os.remove", "os.rename", "sqlite3.connect"}

def migrate(path, last):
    steps = 0

    def step(*_):
        nonlocal steps
        steps += 1
        if steps == last:
            os.kill(os.getpid(), signal.SIGKILL)

    def traced(self, parameters, open=location.Location.open):
        conn = open(self, parameters)
        conn.set_trace_callback(step)
        return conn

    async def main():
        engine = SqliteEngine(path, embedder=None)
        await engine.list(ListRequest(limit=50))
        os._exit(0)

    location.Location.open = traced
    sys.addaudithook(lambda event, args: step() if event in FILES and path in str(args[0]) else None)
    asyncio.run(main())

for line in sys.stdin:
    path, last = line.split()
    child = os.fork()
    if not child:
        migrate(path, int(last))
    print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)
"""


def test_killed_at_any_step_it_is_the_old_file_or_the_new(folder: Path) -> None:
    """Steps are SQL statements, and what is done to files."""
    pipe = subprocess.PIPE
    with subprocess.Popen([sys.executable, "-c", KILLED], stdin=pipe, stdout=pipe, text=True, cwd=ROOT) as process:
        assert process.stdin is not None
        assert process.stdout is not None
        seen = []
        for last in range(1, 1_000, 3):
            for beside in folder.iterdir():
                beside.unlink()
            path = folder / "memory.db"
            write_old(path)
            before = rows(path)
            process.stdin.write(f"{path} {last}\n")
            process.stdin.flush()
            status = int(process.stdout.readline())
            seen.append(version(path))  # this completes it from the log
            with closing(sqlite3.connect(path)) as conn:
                conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            if seen[-1] == 1:
                assert rows(path) == before
            else:
                assert (schema.VERSION, check_file(path).problems) == (seen[-1], ())
                assert rows(folder / "memory.db.v1-backup") == before
            assert asyncio.run(count(path)) == 6
            assert not list(folder.glob("*.part"))
            if status == 0:
                break
            assert status == -signal.SIGKILL
        process.stdin.close()
    assert seen == sorted(seen)
    assert seen.count(1) > 15
    assert seen.count(schema.VERSION) > 3


async def test_layout_2_keeps_its_vectors(folder: Path) -> None:
    """Which had no row for an item without meaning; and its content was not compressed."""

    class Forgetful(FakeEmbedder):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            return super().embed(texts) * np.array([["..." not in text] for text in texts], np.float32)

    path = folder / "memory.db"
    async with opened(path, embedder=Forgetful()) as engine:
        await fill(engine, [note(f"item {number}") for number in range(5)] + [note("..."), note("the last one")])
        await vectors_made(engine)
    with closing(sqlite3.connect(path)) as conn:
        held = conn.execute("SELECT * FROM vec ORDER BY id").fetchall()
        assert [id for id, data in held if not data] == [5]
        conn.execute("DELETE FROM vec WHERE data = x''")
        conn.execute("ALTER TABLE state DROP COLUMN removals")
        conn.execute("PRAGMA user_version = 2")
        conn.commit()
    async with opened(path) as engine:
        assert len(await list_all(engine)) == 7
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("SELECT * FROM vec ORDER BY id").fetchall() == held
    assert (version(path), check_file(path).problems) == (schema.VERSION, ())
