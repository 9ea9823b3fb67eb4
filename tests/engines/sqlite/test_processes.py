"""Two processes on one file, locks, crashes, threads and cancelled calls."""

from __future__ import annotations

import asyncio
import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest

from explorer.contract import (
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    ListRequest,
    MetaFilter,
    Unavailable,
)
from explorer.engines.sqlite import SqliteEngine, facts, schema, writer
from tests.engines.sqlite.support import everything, fill, list_all, note, opened

ROOT = Path(__file__).parents[3]

HELPER = """
import asyncio, sys
from explorer.contract import Document, DocumentBody, ForgetTarget, ListRequest, MemoryMeta, MetaFilter
from explorer.engines.sqlite import SqliteEngine

def note(text, **meta):
    return Document(body=DocumentBody(text=text), meta=MemoryMeta(**meta))

async def main():
    engine = SqliteEngine(sys.argv[1], embedder=None)
    for line in sys.stdin:
        command, _, rest = line.strip().partition(" ")
        if command == "store":
            first, count = map(int, rest.split())
            items = [note(f"theirs {n}", workspace=f"ws{n % 3}", tags=[f"t{n}"]) for n in range(first, first + count)]
            answer = len(await engine.store_many(items))
        elif command == "forget":
            answer = (await engine.forget(ForgetTarget(filter=MetaFilter(workspace=rest)))).forgotten
        elif command == "count":
            answer = len((await engine.list(ListRequest(limit=10_000))).items)
        print(answer, flush=True)
    await engine.aclose()

asyncio.run(main())
"""


class Other:
    """A second process with the file open."""

    def __init__(self, path: Path) -> None:
        self.process = subprocess.Popen(
            [sys.executable, "-c", HELPER, str(path)],
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
            cwd=ROOT,
        )

    def send(self, command: str) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(command + "\n")
        self.process.stdin.flush()

    def answer(self) -> int:
        assert self.process.stdout is not None
        return int(self.process.stdout.readline())

    async def ask(self, command: str) -> int:
        self.send(command)
        return await asyncio.to_thread(self.answer)

    def __enter__(self) -> Other:
        return self

    def __exit__(self, *_: object) -> None:
        for pipe in (self.process.stdin, self.process.stdout):
            assert pipe is not None
            pipe.close()
        self.process.wait()


@pytest.mark.limit_s(30)
@pytest.mark.parametrize("log_kept", [1, 1_000])
async def test_what_another_process_changes_is_seen(
    folder: Path, monkeypatch: pytest.MonkeyPatch, log_kept: int
) -> None:
    """Also when it changed more often than removals are logged, so that the columns are read anew."""
    monkeypatch.setattr(writer, "LOG_KEPT", log_kept)
    path = folder / "memory.db"
    async with opened(path) as engine:

        async def counts(facet: Facet) -> dict[str, int]:
            page = await engine.explore(ExploreRequest(facet=facet, limit=500))
            return {bucket.value: bucket.count for bucket in page.buckets}

        await fill(engine, [note(f"ours {number}", workspace="ws0") for number in range(10)])
        with Other(path) as other:
            assert await other.ask("count") == 10
            assert await other.ask("store 0 9") == 9
            assert await counts(Facet.WORKSPACE) == {"ws0": 13, "ws1": 3, "ws2": 3}
            assert len(await list_all(engine)) == 19
            found = FetchRequest(query="theirs", mode=FetchMode.KEYWORD, limit=50)
            assert len((await engine.fetch(found)).hits) == 9
            assert await other.ask("forget ws1") == 3
            assert await counts(Facet.WORKSPACE) == {"ws0": 13, "ws2": 3}
            assert len((await engine.fetch(found)).hits) == 6
            # Stored and gone between two looks; and by this process, seen by the other.
            assert await other.ask("store 100 3") == 3
            assert await other.ask("forget ws1") == 1
            assert (await engine.forget(ForgetTarget(filter=MetaFilter(workspace="ws0")))).forgotten == 14
            assert await other.ask("count") == 4
            await fill(engine, [note("ours again", workspace="ws7")])
            assert await other.ask("store 200 1") == 1
            assert await counts(Facet.WORKSPACE) == {"ws2": 5, "ws7": 1}
            assert await counts(Facet.TAG) == {"t2": 1, "t5": 1, "t8": 1, "t101": 1, "t200": 1}
            texts = [hit.text for hit in await list_all(engine, limit=1)]
            assert texts == ["theirs 200", "ours again", "theirs 101", "theirs 8", "theirs 5", "theirs 2"]
            assert len((await engine.fetch(found)).hits) == 5
    async with opened(path) as engine:
        assert [hit.text for hit in await list_all(engine, limit=2)] == texts


async def test_two_engines_on_one_file_take_turns(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as a, opened(path) as b:
        stored = await asyncio.gather(
            *(engine.store(note(f"{name} {number}")) for number in range(30) for name, engine in (("a", a), ("b", b)))
        )
        assert not any(receipt.replayed for receipt in stored)
        same = await asyncio.gather(a.store(note("same")), b.store(note("same")))
        assert sorted(receipt.replayed for receipt in same) == [False, True]
        assert len(await list_all(a)) == len(await list_all(b)) == 61


async def test_files_are_created_once_when_two_begin_together(folder: Path) -> None:
    for number in range(5):
        path = folder / f"{number}.db"
        async with opened(path) as a, opened(path) as b:
            await asyncio.gather(a.store(note("a")), b.store(note("b")), list_all(a), list_all(b))
            assert len(await list_all(a)) == 2


async def test_lock_that_stays_is_unavailable_and_does_not_stop_reading(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path, busy_timeout_s=0.05) as engine:
        (id,) = await fill(engine, [note("a")])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN IMMEDIATE")
            other.execute("UPDATE state SET one = 1")
            for call in (engine.store(note("b")), engine.forget(ForgetTarget(ids=[id]))):
                with pytest.raises(Unavailable, match="is locked, probably by another program that is writing"):
                    await call
            assert [hit.text for hit in await list_all(engine)] == ["a"]
            assert (await engine.health()).state == "ok"
            other.execute("ROLLBACK")
        assert not (await engine.store(note("b"))).replayed


async def test_file_held_for_itself_by_another_program_is_down(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note("a")])
    with closing(sqlite3.connect(path, isolation_level=None)) as other:
        other.execute("PRAGMA journal_mode = DELETE")
        other.execute("BEGIN EXCLUSIVE")
        async with opened(path, busy_timeout_s=0.05) as engine:
            health = await engine.health()
            assert health.state == "down"
            assert "locked" in (health.reason or "")
            other.execute("ROLLBACK")
            assert (await engine.health()).state == "ok"


async def test_failing_batch_stores_nothing_of_it(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note("a", tags=["t"])])
        before = everything(path)

        def fail(self: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as broken:
            broken.setattr(facts._Coder, "write", fail)
            with pytest.raises(Exception, match="disk I/O error"):
                await fill(engine, [note("b", tags=["t", "u"]), note("c")])
        assert everything(path) == before
        assert [hit.text for hit in await list_all(engine)] == ["a"]
        await fill(engine, [note("b", tags=["t", "u"]), note("c")])
        assert len(await list_all(engine, MetaFilter(tags_any=["t"]))) == 2


def own_threads() -> list[str]:
    return [thread.name for thread in threading.enumerate() if thread.name.startswith("sqlite-")]


async def test_closing_ends_threads_and_is_final(folder: Path) -> None:
    engine = SqliteEngine(folder / "memory.db", embedder=None)
    assert own_threads() == []
    await asyncio.gather(engine.store(note("a")), engine.list(ListRequest(limit=1)))
    assert len(own_threads()) == 2
    await asyncio.gather(engine.aclose(), engine.aclose())
    await engine.aclose()
    assert own_threads() == []
    assert [path.name for path in folder.iterdir()] == ["memory.db"]
    for call in (
        engine.store(note("b")),
        engine.list(ListRequest(limit=1)),
        engine.fetch(FetchRequest(query="a", mode=FetchMode.KEYWORD, limit=1)),
    ):
        with pytest.raises(Unavailable, match="closed"):
            await call
    assert (await engine.health()).state == "down"


async def test_closing_that_is_cancelled_closes_all_the_same(folder: Path) -> None:
    engine = SqliteEngine(folder / "memory.db", embedder=None)
    await asyncio.gather(engine.store(note("a")), engine.list(ListRequest(limit=1)))
    calls = [asyncio.create_task(engine.store(note(f"b{number}"))) for number in range(5)]
    calls += [asyncio.create_task(engine.list(ListRequest(limit=1))) for _ in range(5)]  # type: ignore[misc]
    await asyncio.sleep(0)
    close = asyncio.create_task(engine.aclose())
    await asyncio.sleep(0)
    close.cancel()
    await asyncio.gather(close, *calls, return_exceptions=True)
    for thread in threading.enumerate():
        if thread.name in own_threads():
            await asyncio.to_thread(thread.join)
    assert [path.name for path in folder.iterdir()] == ["memory.db"]  # no connection keeps the log


async def test_closing_an_engine_that_was_never_used_does_nothing(folder: Path) -> None:
    await SqliteEngine(folder / "memory.db", embedder=None).aclose()
    assert list(folder.iterdir()) == []


async def test_closing_waits_for_what_was_begun(folder: Path) -> None:
    engine = SqliteEngine(folder / "memory.db", embedder=None)
    stores = [asyncio.create_task(engine.store(note(f"{number}"))) for number in range(20)]
    await asyncio.sleep(0)
    await engine.aclose()
    assert not any(receipt.replayed for receipt in await asyncio.gather(*stores))
    async with opened(folder / "memory.db") as again:
        assert len(await list_all(again)) == 20


async def test_cancelled_calls_leave_whole_transactions(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        for number in range(20):
            batch = [note(f"{number} {part} " * 20, workspace=f"w{number}") for part in range(20)]
            store = asyncio.create_task(engine.store_many(batch))
            listing = asyncio.create_task(engine.list(ListRequest(limit=5)))
            for _ in range(number % 4):
                await asyncio.sleep(0.001)
            store.cancel()
            listing.cancel()
            await asyncio.gather(store, listing, return_exceptions=True)
        page = await engine.explore(ExploreRequest(facet=Facet.WORKSPACE, limit=100))
        assert {bucket.count for bucket in page.buckets} <= {20}
        again = await engine.store_many([note(f"0 {part} " * 20, workspace="w0") for part in range(20)])
        assert len({receipt.replayed for receipt in again}) == 1
        assert len(await list_all(engine, MetaFilter(workspace="w0"))) == 20


async def test_sealing_goes_on_behind_the_stores(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "RUN", 50)
    path = folder / "memory.db"
    async with opened(path) as engine, opened(path) as second:
        for number in range(6):
            await engine.store_many([note(f"word{number} common {part}") for part in range(30)])
            for each in (engine, second):
                hits = await each.fetch(FetchRequest(query="common", mode=FetchMode.KEYWORD, limit=500))
                assert len(hits.hits) == 30 * (number + 1)
    with closing(sqlite3.connect(path)) as conn:
        assert schema.State.read(conn).sealed_below == 150
        assert conn.execute("SELECT min(id), max(id) FROM head").fetchone() == (150, 179)
        assert conn.execute("SELECT first, stop FROM run").fetchall() == [(0, 50), (50, 100), (100, 150)]
