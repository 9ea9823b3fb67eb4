"""What SQLite leaves of moved rows is zeroed, and not a byte of anything else is touched."""

from __future__ import annotations

import asyncio
import contextlib
import os
import random
import re
import sqlite3
import struct
import sys
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from explorer.contract import ForgetTarget, MetaFilter
from explorer.engines.sqlite import connection
from explorer.engines.sqlite.location import Location
from explorer.engines.sqlite.sweeping import read_log, sweep
from tests.engines.sqlite.support import fill, list_all, note, opened

PAGE = 4096
KEY = re.compile(rb"zq\d{6}zq")


def churn(path: Path, seed: int, longest: int) -> tuple[set[bytes], set[bytes]]:
    """Store and delete rows of a table like the word index; the keys that are held, and those that are gone."""
    rand = random.Random(seed)
    held: list[str] = []
    gone: set[bytes] = set()
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("PRAGMA secure_delete = ON")
        conn.execute("CREATE TABLE t(k TEXT PRIMARY KEY, x BLOB) WITHOUT ROWID")
        conn.execute("CREATE TABLE large(id INTEGER PRIMARY KEY, x BLOB)")
        for step in range(120):
            conn.execute("BEGIN")
            conn.execute("INSERT INTO large VALUES(?, ?)", (step, rand.randbytes(rand.choice((10, 900, 20_000)))))
            conn.execute("DELETE FROM large WHERE id = ?", (step - 5,))
            for _ in range(rand.randint(1, 40)):
                key = "".join(rand.choices("abcdef", k=4)) + f"zq{len(held) + len(gone):06}zq"
                conn.execute("INSERT INTO t VALUES(?, ?)", (key, b"x" * rand.randint(1, longest)))
                held.append(key)
            while len(held) > 600:
                key = held.pop(rand.randrange(len(held)))
                conn.execute("DELETE FROM t WHERE k = ?", (key,))
                gone.add(key[4:].encode())
            conn.execute("COMMIT")
        conn.execute("PRAGMA wal_checkpoint(TRUNCATE)")
    return {key[4:].encode() for key in held}, gone


def swept(path: Path, pages: Iterable[int] | None = None) -> None:
    location = Location(str(path))
    with closing(location.open("mode=rw")):
        sweep(location, pages)


def rows(path: Path) -> list[object]:
    with closing(sqlite3.connect(f"{path.as_uri()}?immutable=1", uri=True)) as conn:
        assert conn.execute("PRAGMA integrity_check").fetchall() == [("ok",)]
        return [conn.execute(f"SELECT * FROM {table}").fetchall() for table in ("t", "large")]


def gaps(data: bytes) -> Iterable[tuple[int, int]]:
    """Where the unused bytes of each page of a tree lie, by the file format's description."""
    for start in range(0, len(data), PAGE):
        head = 100 if start == 0 else 0
        kind, _, cells, content = struct.unpack_from(">BHHH", data, start + head)
        if kind in (2, 5, 10, 13):
            yield start + head + (8 if kind > 5 else 12) + 2 * cells, start + content


@pytest.mark.parametrize("seed", range(4))
def test_deleted_rows_that_were_moved_before_are_gone(folder: Path, seed: int) -> None:
    path = folder / "t.db"
    held, gone = churn(path, seed, 400)
    before = rows(path)
    swept(path)
    found = set(KEY.findall(path.read_bytes()))
    assert not found & gone
    assert held <= found
    assert rows(path) == before


def test_only_unused_bytes_are_written(folder: Path) -> None:
    path = folder / "t.db"
    churn(path, 9, 30)
    swept(path)
    clean = path.read_bytes()
    places = [place for place in gaps(clean) if place[0] < place[1]]
    assert {clean[start // PAGE * PAGE + (100 if start < PAGE else 0)] for start, _ in places} >= {5, 10, 13}
    dirty = bytearray(clean)
    for start, stop in places:
        dirty[start:stop] = b"\xa5" * (stop - start)
    path.write_bytes(dirty)
    before = rows(path)
    some = [start // PAGE + 1 for start, _ in places[::2]]
    swept(path, [*some, 99_999])
    half = path.read_bytes()
    for start, stop in places:
        assert set(half[start:stop]) == ({0} if start // PAGE + 1 in some else {0xA5})
    swept(path)
    assert path.read_bytes() == clean
    assert rows(path) == before


def test_pages_that_are_damaged_are_left_alone(folder: Path) -> None:
    path = folder / "t.db"
    churn(path, 9, 30)
    swept(path)
    clean = path.read_bytes()
    for start, _ in list(gaps(clean))[1:12]:
        page = start // PAGE * PAGE
        for at, value in ((3, 0xFFFF), (5, 5), (5, 0xFFFF), (1, 9), (8, 2)):  # cells, content, free block, a pointer
            dirty = bytearray(clean)
            struct.pack_into(">H", dirty, page + at, value)
            path.write_bytes(dirty)
            swept(path, [page // PAGE + 1])
            assert path.read_bytes() == dirty


def test_log_is_read_as_far_as_it_goes(folder: Path) -> None:
    path = folder / "t.db"
    location = Location(str(path))
    assert read_log(location).pages == frozenset()
    with closing(sqlite3.connect(path, isolation_level=None)) as conn:
        conn.execute("PRAGMA journal_mode = WAL")
        conn.execute("CREATE TABLE t(x)")
        for number in range(3):
            conn.execute("INSERT INTO t VALUES(?)", (number,))
        assert (read_log(location).pages, read_log(location).commits) == ({1, 2}, 4)
        conn.execute("PRAGMA wal_checkpoint(RESTART)")
        conn.execute("INSERT INTO t VALUES(?)", (b"x" * 10_000,))
        assert (read_log(location).pages, read_log(location).commits) == ({1, 2, 3, 4}, 1)
        with closing(sqlite3.connect(path)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM t").fetchone()
            conn.execute("PRAGMA wal_checkpoint(PASSIVE)")
            conn.execute("INSERT INTO t VALUES(1)")
        log = path.with_name("t.db-wal")
        whole = read_log(location)
        for size in (0, 20, 32, 40, 56, 5_000):
            log_bytes = log.read_bytes()
            (folder / "cut.db-wal").write_bytes(log_bytes[:size])
            assert read_log(Location(str(folder / "cut.db"))).pages <= whole.pages


async def test_only_changed_pages_are_swept_unless_some_may_be_missed(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "memory.db"
    swept: list[int | None] = []

    def record(location: Location, pages: Iterable[int] | None) -> None:
        pages = None if pages is None else list(pages)
        swept.append(None if pages is None else len(pages))
        sweep(location, pages)

    monkeypatch.setattr(connection, "sweep", record)

    async def forget(number: int) -> int | None:
        swept.clear()
        await engine.forget(ForgetTarget(filter=MetaFilter(workspace=f"w{number}")))
        (found,) = swept
        return found

    async with opened(path) as engine:
        await fill(engine, [note(f"{number} {'text ' * 300}", workspace=f"w{number}") for number in range(200)])
        assert await forget(0) is None  # for the first time
        few = await forget(1)
        assert few is not None
        assert 0 < few < 30
        async with opened(path) as other:
            await fill(other, [note("of another engine", workspace="w1")])
            assert (await forget(2) or 0) > 0  # its pages are still in the log
            with closing(sqlite3.connect(path)) as foreign:
                await fill(other, [note("of another engine again", workspace="w1")])
                foreign.execute("PRAGMA wal_checkpoint(TRUNCATE)")
            assert await forget(3) is None
            assert (await forget(4) or 0) > 0
    swept.clear()
    async with opened(path) as engine:
        assert (await forget(5) or 0) > 0  # closing has swept what was left


LEAVING_WAL = """
import sqlite3, sys
conn = sqlite3.connect(sys.argv[1], timeout=0)
try:
    print(conn.execute("PRAGMA journal_mode = DELETE").fetchone()[0])
except sqlite3.OperationalError as error:
    print(error)
"""


async def test_locks_outlive_the_sweeping(folder: Path) -> None:
    """Closing a handle of the file would drop them: none is closed as long as a connection is open."""
    path = folder / "memory.db"

    async def leaving_wal() -> str:
        """Another process tries what nobody may do while somebody has the file open."""
        tried = await asyncio.create_subprocess_exec(
            sys.executable, "-c", LEAVING_WAL, str(path), stdout=asyncio.subprocess.PIPE
        )
        return (await tried.communicate())[0].decode().strip()

    async with opened(path) as engine, opened(path) as other:
        await fill(engine, [note("a", workspace="w"), note("b")])
        await fill(other, [note("c")])
        await engine.forget(ForgetTarget(filter=MetaFilter(workspace="w")))
        await list_all(engine)
        assert handles(path) == 4  # three of SQLite, and one for the bytes
        assert await leaving_wal() == "database is locked"
    assert handles(path) == 0
    assert await leaving_wal() == "delete"


def handles(path: Path) -> int:
    found = path.stat()
    count = 0
    for name in os.listdir("/dev/fd"):
        with contextlib.suppress(OSError):
            held = os.fstat(int(name))
            count += (held.st_dev, held.st_ino) == (found.st_dev, found.st_ino)
    return count


async def test_what_was_swept_does_not_come_back_from_a_cache(folder: Path) -> None:
    """Connections that hold a page as it was before the sweeping must not write it back so."""
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note(f"{number} " * 40, workspace=f"w{number}", tags=["t"]) for number in range(40)])
    data = bytearray(path.read_bytes())
    for start, stop in gaps(bytes(data)):
        if stop - start >= 200:
            at = (start + stop) // 2  # where the next rows do not come so soon
            data[at : at + 13] = b"unforgettable"  # as if a row had been moved away from there
    path.write_bytes(data)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE state SET swept = 0")  # nobody knows where it is
        conn.commit()

    def is_left() -> bool:
        return any(b"unforgettable" in file.read_bytes() for file in folder.iterdir())

    async with opened(path) as one, opened(path) as other:
        for engine in (one, other):
            await fill(engine, [note(f"of {engine}", workspace="w")])
            await list_all(engine)
        assert is_left()
        await one.forget(ForgetTarget(filter=MetaFilter(workspace="w1")))
        assert not is_left()
        for number in range(3):
            for engine in (one, other):
                await fill(engine, [note(f"{number} of {engine}", workspace="w")])
                assert not is_left()
