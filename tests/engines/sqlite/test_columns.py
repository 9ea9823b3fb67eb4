"""The columns of segments in the file, strings that are read when asked for, ties, and counts that are kept up."""

from __future__ import annotations

import asyncio
import json
import os
import random
import sqlite3
import struct
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing, contextmanager
from pathlib import Path

import numpy as np
import pytest

from explorer.contract import (
    EngineFailure,
    ExplorePage,
    ExploreRequest,
    Facet,
    ForgetTarget,
    ItemId,
    ListRequest,
    MetaFilter,
    StoreItem,
    Timestamp,
)
from explorer.engines.sqlite import SqliteEngine, columns, schema, segments
from explorer.engines.sqlite.columns import Columns, Numbers
from explorer.engines.sqlite.connection import connect_writing
from explorer.engines.sqlite.fields import SINGLE
from explorer.engines.sqlite.location import Location
from explorer.engines.sqlite.segments import Array, Block
from tests.conftest import Until
from tests.engines.sqlite.support import Maker, Oracle, check_page, fill, list_all, note, opened

ROOT = Path(__file__).parents[3]
SEGMENT = 16


@pytest.fixture(autouse=True)
def small_segments(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(schema, "SEGMENT", SEGMENT)
    monkeypatch.setattr(schema, "RUN", 4)


@contextmanager
def connected(path: Path) -> Iterator[sqlite3.Connection]:
    """As the engine writes; what is changed is kept."""
    with closing(connect_writing(Location(str(path)))) as conn:
        conn.execute("BEGIN IMMEDIATE")
        yield conn
        conn.execute("COMMIT")


def settle(path: Path) -> None:
    with connected(path) as conn:
        while segments.step(conn):
            pass


def tagged(make: Maker) -> StoreItem:
    """A random item, some with more tags than there are columns for."""
    item = make.item()
    tags = [f"tag {make.rand.randint(0, 12)}" for _ in range(make.rand.choice([0, 1, 3, 4, 5, 9]))]
    return item.model_copy(update={"meta": item.meta.model_copy(update={"tags": tags})})


def held(mirror: Columns) -> list[Array]:
    """All that the columns say of rows that live."""
    rows = np.flatnonzero(mirror.alive.values)
    singles = [mirror.codes[field].values[rows] for field in SINGLE]
    is_living = np.isin(mirror.tags.more_rows, rows)
    return [
        rows,
        *singles,
        mirror.seconds.values[rows],
        mirror.nanoseconds.values[rows],
        mirror.lengths.values[rows],
        *(column.values[rows] for column in mirror.tags.first),
        mirror.tags.more_rows[is_living],
        mirror.tags.more[is_living],
    ]


def opened_anew(conn: sqlite3.Connection) -> Columns:
    mirror = Columns()
    mirror.sync(conn)
    return mirror


async def explored(engine: SqliteEngine, filter: MetaFilter | None = None, limit: int = 500) -> list[ExplorePage]:
    return await engine.explore_many(
        [ExploreRequest(facet=facet, filter=filter or MetaFilter(), limit=limit) for facet in Facet]
    )


async def check_all(engine: SqliteEngine, oracle: Oracle, filter: MetaFilter | None = None, limit: int = 500) -> None:
    matching = oracle.matching(filter or MetaFilter())
    for facet, page in zip(Facet, await explored(engine, filter, limit), strict=True):
        check_page(page, *oracle.counts(matching, facet), limit=limit)


# --- segments


@pytest.mark.parametrize("seed", range(3))
async def test_segments_hold_what_the_records_hold(folder: Path, seed: int) -> None:
    path = folder / "memory.db"
    make = Maker(seed)
    oracle = Oracle()
    async with opened(path) as engine, opened(path) as second:
        for _ in range(5):
            items = [tagged(make) for _ in range(make.rand.randint(5, 40))]
            await fill(engine, items)
            for item in items:
                oracle.store(item)
            if make.rand.random() < 0.7:
                settle(path)
            gone = make.rand.sample(list(oracle.held), len(oracle.held) // 3)
            assert (await engine.forget(ForgetTarget(ids=gone))).forgotten == len(gone)
            for id in gone:
                del oracle.held[id]
            with connected(path) as conn:
                quick = held(opened_anew(conn))
                kept = conn.execute("SELECT seg, data FROM cols ORDER BY seg").fetchall()
                for segment, data in kept:
                    first = segment * SEGMENT
                    # Also: nothing of a removed item is left in its slot.
                    assert Block.of_bytes(data).is_same(Block.of_records(conn, first, first + SEGMENT))
                conn.execute("DELETE FROM cols")
                slow = held(opened_anew(conn))
                conn.executemany("INSERT INTO cols VALUES(?, ?)", kept)
            assert all(map(np.array_equal, quick, slow))
            for each in (engine, second):
                await check_all(each, oracle, make.filter(), 3)
    async with opened(path, read_only=True) as engine:
        await check_all(engine, oracle)


async def test_full_segments_are_written_behind_the_stores_and_read_at_opening(folder: Path, until: Until) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note(f"{number}", workspace=f"ws {number % 3}") for number in range(3 * SEGMENT + 5)])
        with closing(sqlite3.connect(path)) as conn:
            await until(lambda: conn.execute("SELECT count(*) FROM cols").fetchone() == (3,))
    with connected(path) as conn:
        assert not segments.is_due(conn)
        # The records are not read: without them a removal would fail, but opening does not see it.
        conn.execute("DELETE FROM fac WHERE id < ?", (3 * SEGMENT,))
    for is_read_only in (False, True):
        async with opened(path, read_only=is_read_only) as engine:
            page = await engine.explore(ExploreRequest(facet=Facet.WORKSPACE, limit=1))
            assert (page.total, page.buckets[0].count) == (3 * SEGMENT + 5, 18)


async def test_another_process_reads_the_segments(folder: Path) -> None:
    path = folder / "memory.db"
    make = Maker(1)
    oracle = Oracle()
    async with opened(path) as engine:
        for item in (items := [tagged(make) for _ in range(50)]):
            oracle.store(item)
        ids = await fill(engine, items)
        settle(path)
        await engine.forget(ForgetTarget(ids=ids[:20]))
        script = f"""
import asyncio, sys
from explorer.contract import ExploreRequest, Facet
from explorer.contract.wire import dumps
from explorer.engines.sqlite import SqliteEngine, schema

async def main():
    schema.SEGMENT, schema.RUN = {SEGMENT}, 4
    engine = SqliteEngine(sys.argv[1])
    pages = await engine.explore_many([ExploreRequest(facet=facet, limit=500) for facet in Facet])
    print(dumps([page.model_dump(mode="json") for page in pages]))
    await engine.aclose()

asyncio.run(main())
"""
        command = [sys.executable, "-c", script, str(path)]
        told = await asyncio.to_thread(subprocess.run, command, cwd=ROOT, capture_output=True, check=True)
        pages = [ExplorePage.model_validate(page) for page in json.loads(told.stdout)]
    for id in ids[:20]:
        del oracle.held[id]
    matching = oracle.matching(MetaFilter())
    for facet, page in zip(Facet, pages, strict=True):
        check_page(page, *oracle.counts(matching, facet), limit=500)


async def test_removed_time_is_in_no_segment_and_an_empty_segment_goes(folder: Path) -> None:
    path = folder / "memory.db"
    moments = [Timestamp.parse(f"2031-07-{day:02}T03:04:05Z") for day in range(1, SEGMENT + 1)]
    async with opened(path) as engine:
        ids = await fill(engine, [note(moment.text, observed_at=moment, tags=list("abcdef")) for moment in moments])
        settle(path)
        marks = [struct.pack("<q", moment.unix_ns // 10**9) for moment in moments]
        with closing(sqlite3.connect(path)) as conn:
            conn.execute("PRAGMA wal_checkpoint")
        assert [path.read_bytes().count(mark) for mark in marks] == [2] * SEGMENT  # in the record and the segment
        await engine.forget(ForgetTarget(ids=ids[:-1]))
        everywhere = b"".join(file.read_bytes() for file in folder.iterdir())
        assert [everywhere.count(mark) for mark in marks] == [0] * (SEGMENT - 1) + [2]
        await engine.forget(ForgetTarget(ids=ids[-1:]))
        with connected(path) as conn:
            assert conn.execute("SELECT count(*) FROM cols").fetchone() == (0,)
            assert not segments.is_due(conn)
            assert not segments.step(conn)
        await fill(engine, [note("after all that")])
        assert [hit.text for hit in await list_all(engine)] == ["after all that"]


@pytest.mark.parametrize("slots", [0, 256])
async def test_few_and_many_removed_rows_are_zeroed_alike(
    folder: Path, monkeypatch: pytest.MonkeyPatch, slots: int
) -> None:
    monkeypatch.setattr(segments, "_SLOTS", slots)
    path = folder / "memory.db"
    make = Maker(4)
    async with opened(path) as engine:
        ids = await fill(engine, [tagged(make) for _ in range(SEGMENT)])
        settle(path)
        for gone in (ids[2:9], ids[10:11]):
            await engine.forget(ForgetTarget(ids=gone))
            with connected(path) as conn:
                (data,) = conn.execute("SELECT data FROM cols").fetchone()
                assert Block.of_bytes(data).is_same(Block.of_records(conn, 0, SEGMENT))


DAMAGES = [
    "UPDATE cols SET data = x''",
    "UPDATE cols SET data = substr(data, 1, length(data) - 1)",
    "UPDATE cols SET data = data || x'00'",
    "UPDATE cols SET data = x'ffffffff' || substr(data, 5)",
    "UPDATE cols SET data = substr(data, 1, 4) || x'ff' || substr(data, 6)",
    "UPDATE cols SET data = substr(data, 1, 8) || x'03' || substr(data, 10)",
    "UPDATE cols SET data = substr(data, 1, length(data) - 64) || x'ff' || substr(data, length(data) - 62)",
    "UPDATE cols SET seg = 7",
]
ILLEGIBLE = DAMAGES[:-2]


@pytest.mark.parametrize("damage", DAMAGES)
async def test_damaged_segment_is_told_and_its_items_can_be_removed(folder: Path, damage: str) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        ids = await fill(engine, [note(str(number), tags=list("abcdef")) for number in range(SEGMENT + 1)])
    settle(path)
    with connected(path) as conn:
        conn.execute(damage)
    async with opened(path) as engine:
        for _ in range(2):
            with pytest.raises(EngineFailure, match="is damaged: the columns of a segment have the wrong size"):
                await list_all(engine)
        if damage in ILLEGIBLE:
            # A blob that cannot be read goes as a whole; what it held is in the records.
            assert (await engine.forget(ForgetTarget(ids=ids[:1]))).forgotten == 1
            assert len(await list_all(engine)) == SEGMENT


async def test_segment_of_another_size_is_told(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note(str(number)) for number in range(2 * SEGMENT)])
    settle(path)
    monkeypatch.setattr(schema, "SEGMENT", SEGMENT // 2)
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match="the columns of a segment have the wrong size"):
            await list_all(engine)


async def test_codes_beyond_every_string_are_told(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note(str(number), url="u", tags=list("abcdef")) for number in range(SEGMENT)])
    settle(path)
    with connected(path) as conn:
        conn.execute("UPDATE field SET next_code = 2 WHERE name = 'tag'")
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match="an item has a tag that no string belongs to"):
            await list_all(engine)
    with connected(path) as conn:
        conn.execute("UPDATE field SET next_code = 7 WHERE name = 'tag'")
        conn.execute("UPDATE field SET next_code = 1 WHERE name = 'url'")
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match="an item has a url that no string belongs to"):
            await list_all(engine)


# --- strings


async def test_missing_string_is_told_where_it_is_met(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note("a", workspace="w", url="u"), note("b", workspace="x")])
    with connected(path) as conn:
        conn.execute("DELETE FROM dict WHERE value = 'w'")
    async with opened(path) as engine:
        with pytest.raises(EngineFailure, match="is damaged: an item has a workspace that no string belongs to"):
            await engine.explore(ExploreRequest(facet=Facet.WORKSPACE, limit=5))
        page = await engine.explore(ExploreRequest(facet=Facet.URL, limit=5))
        assert [(bucket.value, bucket.count) for bucket in page.buckets] == [("u", 1)]
        assert len(await list_all(engine)) == 2


async def test_node_that_no_item_is_at_any_more_may_be_missing(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        ids = await fill(engine, [note("a", namespace="agent:a"), note("b", namespace="agent:b")])
        assert len(await list_all(engine)) == 2
        await engine.forget(ForgetTarget(ids=ids[:1]))
        await fill(engine, [note("c", namespace="agent:c/service:s")])
        assert [hit.text for hit in await list_all(engine)] == ["b"]
    async with opened(path) as engine:
        assert [hit.text for hit in await list_all(engine)] == ["b"]


async def test_nothing_kept_of_another_file_is_used(folder: Path) -> None:
    for name, node in (("one.db", "agent:a"), ("two.db", "agent:a/service:s")):
        async with opened(folder / name) as engine:
            await fill(engine, [note(node, namespace=node, workspace=name, observed_at=Timestamp.now_utc())])
    async with opened(folder / "one.db", read_only=True) as engine:
        assert [hit.text for hit in await list_all(engine)] == ["agent:a"]
        assert (await explored(engine))[0].total == 1
        os.replace(folder / "two.db", folder / "one.db")
        assert await list_all(engine) == []  # a sandbox
        (page,) = await engine.explore_many([ExploreRequest(facet=Facet.WORKSPACE, limit=1)])
        assert (page.total, page.buckets) == (0, [])
        nodes = await engine.namespaces(MetaFilter())
        assert [bucket.value for bucket in nodes.buckets] == ["agent:a/service:s"]


def url_of(number: int) -> str:
    """Different strings whose order is none of their numbers."""
    return f"{random.Random(number).choice('abz')}{'é日🚀~'[number % 4]}{number * 7919 % 1_000:03}/{number}"


@pytest.mark.parametrize("kept", [8, 4_096])
@pytest.mark.parametrize("walked", [0, 4_096])
async def test_ties_go_by_value_however_many_there_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, walked: int, kept: int
) -> None:
    """All counts equal (dense), a few among many (sparse), all at one end of the order (clustered); with holes."""
    monkeypatch.setattr(columns, "_FEW_TIES", 2)
    monkeypatch.setattr(columns, "_MOST_WALKED", walked)
    monkeypatch.setattr(columns, "_STRINGS_KEPT", kept)
    monkeypatch.setattr(columns, "_RANKED_LATE", 10)
    oracle = Oracle()
    path = folder / "memory.db"

    async def store(numbers: range) -> list[ItemId]:
        items: list[StoreItem] = [
            note(f"{number}", url=url_of(number), workspace="rare" if number % 50 == 3 else "often")
            for number in numbers
        ]
        for item in items:
            oracle.store(item)
        return await fill(engine, items)

    async def check() -> None:
        for limit in (1, 7, 40):
            for filter in (MetaFilter(), MetaFilter(workspace="rare"), MetaFilter(workspace="often")):
                await check_all(engine, oracle, filter, limit)
            last = max(item.meta.url or "" for item in oracle.held.values())
            await check_all(engine, oracle, MetaFilter(url=last), limit)

    async with opened(path) as engine:
        ids = await store(range(300))
        await check()
        await store(range(300, 305))  # too few for the ranks to be made anew
        await check()
        gone = ids[::4]
        await engine.forget(ForgetTarget(ids=gone))
        for id in gone:
            del oracle.held[id]
        await check()
        await store(range(400, 430))
        await check()
    async with opened(path) as engine:
        await check()


async def test_strings_that_lie_together_at_the_end_are_found_beyond_the_walk(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(columns, "_FEW_TIES", 2)
    oracle = Oracle()
    async with opened(folder / "memory.db") as engine:
        items: list[StoreItem] = [note(f"{n}", file_path=f"{'az'[n % 2]}/{n * 37 % 100:02}/{n}") for n in range(400)]
        for item in items:
            oracle.store(item)
        await fill(engine, items)
        for folder_of in ("z", "a", "z/", "a/37", "b", "", "/"):
            await check_all(engine, oracle, MetaFilter(file_path=folder_of), 5)


async def test_prefix_takes_what_is_below_and_no_neighbour(folder: Path) -> None:
    paths = ["/a", "/a/", "/a/b", "/a/b/c", "/a.b", "/a0", "/a-b", "/ab", "a/b", "/a//b", "/", "//", "", "/é", "/é/a"]
    oracle = Oracle()
    async with opened(folder / "memory.db") as engine:
        items: list[StoreItem] = [note(f"{number}", folder=path) for number, path in enumerate(paths)]
        for item in items:
            oracle.store(item)
        await fill(engine, items)
        for path in (*paths, "/a/b/", "///", "é"):
            hits = await list_all(engine, MetaFilter(folder=path))
            assert [hit.id for hit in hits] == oracle.matching(MetaFilter(folder=path)), path


# --- counts that are kept, and columns that widen


async def test_kept_counts_follow_what_comes_and_goes(folder: Path) -> None:
    make = Maker(9)
    oracle = Oracle()
    sandbox = "agent:a/service:j"
    async with opened(folder / "memory.db") as engine:
        for step in range(12):
            items = [tagged(make) for _ in range(make.rand.choice([1, 2, 25]))]
            items.append(note(f"new strings {step}", url=f"u{step}", tags=[f"t{step}", *"abcdef"], namespace=sandbox))
            items.append(note(f"more new strings {step}", repo=f"r{step}", tags=[f"t{step}"]))
            for item in items:
                oracle.store(item)
            await fill(engine, items)
            await check_all(engine, oracle, limit=make.rand.choice([1, 5, 500]))
            gone = make.rand.sample(list(oracle.held), make.rand.choice([0, 1, len(oracle.held) // 4]))
            if gone:
                await engine.forget(ForgetTarget(ids=gone))
                for id in gone:
                    del oracle.held[id]
            await check_all(engine, oracle)
            # Almost all, and almost none.
            await check_all(engine, oracle, MetaFilter(observed_before=Timestamp.parse("2300-01-01T00:00:00Z")), 5)
            await check_all(engine, oracle, MetaFilter(tags_any=["f", "tag 3"]), 5)
            await check_all(engine, oracle, MetaFilter(tags_any=[f"t{step}"], workspace="/a"), 5)
        await engine.forget(ForgetTarget(ids=list(oracle.held)))
        assert [page.total for page in await explored(engine)] == [0] * len(Facet)


@pytest.mark.parametrize(("largest", "width"), [(0, 1), (255, 1), (256, 2), (65_535, 2), (65_536, 4), (2**32 - 1, 4)])
def test_numbers_take_the_smallest_type_that_holds_them(largest: int, width: int) -> None:
    column = Numbers()
    for values in ([7, 0], [largest], [1]):
        column.append(np.array(values, np.uint32))
    assert column.values.tolist() == [7, 0, largest, 1]
    assert column.values.itemsize == width


async def test_many_values_widen_the_columns_and_lose_nothing(folder: Path) -> None:
    oracle = Oracle()
    async with opened(folder / "memory.db") as engine:
        for start in (0, 200, 400):
            items: list[StoreItem] = [
                note(f"{n}", url=f"u{n}", tags=[f"{n}", f"{n + 1}", f"{n // 9}", "x", f"{n // 7}y", "z"])
                for n in range(start, start + 200)
            ]
            for item in items:
                oracle.store(item)
            await fill(engine, items)
            await check_all(engine, oracle, limit=20)
            await check_all(engine, oracle, MetaFilter(tags_any=["44"]))
            await check_all(engine, oracle, MetaFilter(tags_any=["44", "z"]), 5)


async def test_counting_begins_with_any_page(folder: Path) -> None:
    """A listing alone leaves nothing that a later count could take for its own."""
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("a", workspace="w")])
        assert len((await engine.list(ListRequest(limit=1))).items) == 1
        await fill(engine, [note("b", workspace="w")])
        page = await engine.explore(ExploreRequest(facet=Facet.WORKSPACE, limit=1))
        assert (page.buckets[0].count, page.total) == (2, 2)


async def test_facet_that_is_asked_for_twice_is_counted_twice(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, [note("a", workspace="w"), note("b", workspace="w"), note("c"), note("d", agent_id="x")])
        for filter in (MetaFilter(), MetaFilter(workspace="w"), MetaFilter(agent_id="x")):
            for facet in (Facet.WORKSPACE, Facet.TAG, Facet.KIND):
                req = ExploreRequest(facet=facet, filter=filter, limit=5)
                first, second = await engine.explore_many([req, req])
                assert first == second == await engine.explore(req)
