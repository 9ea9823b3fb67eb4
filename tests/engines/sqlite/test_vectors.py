"""Vectors: that they are those of the items, whoever makes them and whatever comes in between, and that they go."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import subprocess
import sys
import threading
from collections.abc import Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path
from typing import Any

import numpy as np
import numpy.typing as npt
import pytest

from explorer.contract import (
    Conversation,
    EngineFailure,
    EraseRequest,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    ItemId,
    Learning,
    LearningKind,
    Namespace,
    Reach,
    Role,
    StoreItem,
    Turn,
    Unavailable,
)
from explorer.engines.sqlite import SqliteEngine, embedding_job, nearest, schema, vectors
from explorer.engines.sqlite.nearest import VectorIndex
from explorer.engines.sqlite.passages import passages_of
from explorer.engines.sqlite.payloads import read_payload
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.vectors import Made, Passages, Work
from tests.conftest import Until
from tests.engines.sqlite.support import fill, list_all, note, opened
from tests.engines.sqlite.word_vectors import WordVectors

ROOT = Path(__file__).parents[3]
WORDS = [f"word{number}" for number in range(60)]

BLOCKED = Unavailable("the model is out")

HELPER = """
import asyncio, sys
from explorer.engines.sqlite import SqliteEngine, schema
from tests.engines.sqlite.support import note
from tests.engines.sqlite.word_vectors import WordVectors

schema.SEGMENT = 16

async def main(path, who):
    engine = SqliteEngine(path, embedder=WordVectors())
    for batch in range(20):
        await engine.store_many([note(f"{who} batch{batch} word{n} common") for n in range(8)])
        print(batch, flush=True)
    while (await engine.vector_status()).with_vector < (await engine.vector_status()).items:
        await asyncio.sleep(0.01)
    await engine.aclose()

asyncio.run(main(*sys.argv[1:]))
"""


def start_helper(path: Path, who: str) -> subprocess.Popen[str]:
    return subprocess.Popen([sys.executable, "-c", HELPER, str(path), who], stdout=subprocess.PIPE, text=True, cwd=ROOT)


def random_item(rand: random.Random) -> StoreItem:
    """One of few words, of several passages, or without any meaning to `WordVectors`."""
    words = " ".join(rand.choices(WORDS, k=rand.randint(1, 8)))
    match rand.randrange(5):
        case 0:
            return Conversation(turns=[Turn(role=Role.USER, text=f"{word} turn") for word in rand.choices(WORDS, k=9)])
        case 1:
            return note("\n\n".join(f"{word} {rand.random()} " * 25 for word in rand.choices(WORDS, k=4)))
        case 2:
            return Learning(text=f"… {rand.random()}", kind=LearningKind.FACT, confidence=1.0)
        case _:
            return note(f"{words} {rand.random()}")


async def caught_up(engine: SqliteEngine) -> None:
    """Until every item has its vector; the test's own limit ends it where that never comes."""
    while True:
        status = await engine.vector_status()
        assert status is not None
        if status.with_vector == status.items:
            return
        await asyncio.sleep(0.002)


def unit(vector: npt.NDArray[np.float32]) -> npt.NDArray[np.float32]:
    return vector / np.float32(np.linalg.norm(vector))


def check_file(path: Path, embedder: WordVectors) -> int:
    """Every vector in the file against one made anew of its item; how many items have one."""
    with closing(sqlite3.connect(path)) as conn:
        made = Made.read(conn)
        assert made is not None
        assert (made.name, made.dims) == (embedder.name, embedder.dims)
        of_items = dict(conn.execute("SELECT id, data FROM vec").fetchall())
        of_passages = dict(conn.execute("SELECT id, data FROM pvec").fetchall())
        for id, payload in conn.execute("SELECT id, payload FROM item").fetchall():
            assert made.covers(id, id + 1)
            item = read_payload(payload, str(id))
            text, spans = item.render_text(), passages_of(item)
            rows = embedder.embed([text[start:stop] for start, stop in spans])
            mean = rows.sum(axis=0)
            if not mean.any():
                assert of_items.pop(id) == b""
                continue
            kept = np.frombuffer(of_items.pop(id), np.int8).astype(np.float32)
            assert unit(kept) @ unit(mean) > 0.9995
            if len(spans) == 1:
                assert id not in of_passages
                continue
            places, those = vectors.unpack_passages(of_passages.pop(id), embedder.dims)
            kept_ones = np.flatnonzero(rows.any(axis=1))
            assert [tuple(place) for place in places.tolist()] == [spans[number] for number in kept_ones.tolist()]
            for row, other in zip(rows[kept_ones], those, strict=True):
                assert row @ unit(other) > 0.95
        assert (of_items, of_passages) == ({}, {})
        count: int = conn.execute("SELECT count(*) FROM vec WHERE data <> x''").fetchone()[0]
        check_signs(conn, made)
        return count


def check_signs(conn: sqlite3.Connection, made: Made) -> None:
    """The kept signs of each segment that is done are those of its vectors, one bit a number."""
    width = -(-made.dims // 64) * 8
    for segment in range(made.top // schema.SEGMENT):
        first, stop = segment * schema.SEGMENT, (segment + 1) * schema.SEGMENT
        row = conn.execute("SELECT data FROM vbits WHERE seg = ?", (segment,)).fetchone()
        if not made.covers(first, stop):
            continue
        expected = bytearray(width * schema.SEGMENT)
        for id, data in conn.execute("SELECT id, data FROM vec WHERE id >= ? AND id < ?", (first, stop)):
            for place, number in enumerate(np.frombuffer(data, np.int8).tolist()):
                if number > 0:
                    expected[(id - first) * width + place // 8] |= 1 << place % 8
        assert row[0] == bytes(expected)


def check_search(conn: sqlite3.Connection, index: VectorIndex, embedder: WordVectors, rand: random.Random) -> None:
    """An index that has seen earlier states finds what is nearest among the vectors that count now."""
    state = State.read(conn)
    index.sync(conn, state)
    made = Made.read(conn)
    alive = np.zeros(state.next_id, np.bool_)
    alive[[id for (id,) in conn.execute("SELECT id FROM item")]] = True
    mask = alive & (np.random.default_rng(rand.randrange(100)).random(state.next_id) < rand.choice([0.02, 0.5, 1.0]))
    (query,) = embedder.embed([" ".join(rand.choices(WORDS, k=3))])
    expected = {}
    if made is not None and made.is_by(embedder.name, embedder.dims):
        for id, data in conn.execute("SELECT id, data FROM vec WHERE data <> x''"):
            if mask[id] and made.covers(id, id + 1):
                expected[id] = float(unit(np.frombuffer(data, np.int8).astype(np.float32)) @ query)
    rows, cosines = index.nearest(conn, query, mask, 7)
    best = sorted(expected.items(), key=lambda pair: -pair[1])[:7]
    assert cosines.tolist() == pytest.approx([cosine for _, cosine in best], abs=1e-5)
    assert [expected[row] for row in rows.tolist()] == pytest.approx(cosines.tolist(), abs=1e-5)
    every = np.random.default_rng(1).permutation(state.next_id)
    found = index.cosines(conn, every, query)
    assert [found[every == row].item() for row in expected] == pytest.approx(list(expected.values()), abs=1e-5)


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Segments, pieces of work and what may wait for them so small that a few items cross all bounds."""
    monkeypatch.setattr(schema, "SEGMENT", 16)
    monkeypatch.setattr(vectors, "_GAP", 12)
    monkeypatch.setattr(embedding_job, "_NEW", (5, 1 << 16))
    monkeypatch.setattr(embedding_job, "_OLDER", (7, 1 << 16))
    monkeypatch.setattr(embedding_job, "_TEXTS", 3)
    monkeypatch.setattr(embedding_job, "_LOST_S", 0.01)
    monkeypatch.setattr(embedding_job, "_FIRST_RETRY_S", 0.01)
    monkeypatch.setattr(nearest, "_AT_ONCE", 7)


@pytest.mark.limit_s(60)
@pytest.mark.parametrize("seed", range(3))
async def test_vectors_are_those_of_the_items(folder: Path, small: None, seed: int) -> None:
    """Whatever is stored and removed, whichever model comes next, and whenever it is closed."""
    rand = random.Random(seed)
    path = folder / "memory.db"
    indexes = [VectorIndex(WordVectors(dims).name) for dims in (70, 128)]
    ids: list[ItemId] = []
    for _ in range(9):
        dims = rand.choice([70, 70, 128, 0])
        async with opened(path, embedder=WordVectors(dims) if dims else None) as engine:
            for _ in range(rand.randint(1, 4)):
                ids += await fill(engine, [random_item(rand) for _ in range(rand.randint(0, 15))])
                if rand.random() < 0.4 and ids:
                    gone = rand.sample(ids, rand.randint(1, len(ids) // 2 + 1))
                    await engine.forget(ForgetTarget(ids=gone))
                    ids = [id for id in ids if id not in gone]
                if dims and rand.random() < 0.3:
                    await caught_up(engine)
                    check_file(path, WordVectors(dims))
                with closing(sqlite3.connect(path)) as conn:
                    for index, embedder in zip(indexes, (WordVectors(70), WordVectors(128)), strict=True):
                        conn.execute("BEGIN")
                        check_search(conn, index, embedder, rand)
                        conn.execute("ROLLBACK")
    async with opened(path, embedder=WordVectors(70)) as engine:
        await fill(engine, [random_item(rand) for _ in range(25)])
        await caught_up(engine)
        assert check_file(path, WordVectors(70)) >= 15


@pytest.mark.limit_s(60)
async def test_processes_and_engines_share_the_work(folder: Path, small: None) -> None:
    """Two others store and embed, one is killed in the middle of it; then all have their vectors, each once."""
    path = folder / "memory.db"
    async with opened(path, embedder=WordVectors()) as a, opened(path, embedder=WordVectors()) as b:
        await a.store(note("the first"))
        with start_helper(path, "theirs") as one, start_helper(path, "others") as two:
            for number in range(10):
                await fill(a if number % 2 else b, [note(f"ours {number} word{n} common") for n in range(8)])
            assert two.stdout is not None
            while (await asyncio.to_thread(two.stdout.readline)).strip() != "8":
                pass
            two.send_signal(signal.SIGKILL)
            await asyncio.to_thread(one.communicate)
            assert one.returncode == 0
        await a.store(note("the last"))
        for engine in (a, b):
            await caught_up(engine)
            assert (await engine.health()).state == "ok"
        found = await list_all(a, limit=1_000)
    assert check_file(path, WordVectors()) == len(found) > 300


async def test_other_readers_see_what_comes_and_what_goes(folder: Path, until: Until) -> None:
    path = folder / "memory.db"
    async with opened(path, embedder=WordVectors()) as engine:
        (cat,) = await fill(engine, [note("a cat")])
        await fill(engine, [note(f"a dog {word}") for word in WORDS])
        await caught_up(engine)
        async with opened(path, embedder=WordVectors(), read_only=True) as reader:
            request = FetchRequest(query="feline", mode=FetchMode.VECTOR, limit=1)
            assert [hit.id for hit in (await reader.fetch(request)).hits] == [cat]
            (lion,) = await fill(engine, [note("cat cat feline")])
            await caught_up(engine)
            assert [hit.id for hit in (await reader.fetch(request)).hits] == [lion]
            await engine.forget(ForgetTarget(ids=[lion]))
            assert [hit.id for hit in (await reader.fetch(request)).hits] == [cat]


@pytest.mark.parametrize("mode", [FetchMode.VECTOR, FetchMode.HYBRID])
async def test_what_was_just_stored_is_found_by_its_meaning(folder: Path, mode: FetchMode) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        for number in range(20):
            await fill(engine, [note(f"other things {word} {number}") for word in WORDS[:5]])
            receipt = await engine.store(note(f"cat {number}"))
            page = await engine.fetch(FetchRequest(query="feline", mode=mode, limit=number + 1))
            assert receipt.id in [hit.id for hit in page.hits]


@pytest.mark.parametrize("had_vectors", [True, False])
async def test_newest_come_first_where_many_wait(folder: Path, small: None, had_vectors: bool) -> None:
    path = folder / "memory.db"
    async with opened(path, embedder=WordVectors()) as engine:
        await fill(engine, [note(f"oldest {number}") for number in range(4 * had_vectors)])
        await caught_up(engine)
    async with opened(path, embedder=None) as engine:
        await fill(engine, [note(f"old {word}") for word in WORDS])
    embedder = WordVectors()
    embedder.gate.clear()
    async with opened(path, embedder=embedder) as engine:
        await list_all(engine)
        assert await asyncio.to_thread(embedder.entered.wait, 5)
        await fill(engine, [note(f"new {word}") for word in WORDS[:9]])
        embedder.gate.set()
        await caught_up(engine)
    old = [text for text in embedder.texts if text.startswith("old")]
    assert sorted(old) == sorted(f"old {word}" for word in WORDS)
    assert old[:5] == [f"old {word}" for word in WORDS[:-6:-1]]
    assert old[-1] == "old word0"
    after = embedder.texts[embedder.texts.index("new word0") :]
    assert after[:9] == [f"new {word}" for word in WORDS[:9]]
    assert len(after) > 50  # before most of the old
    assert embedder.texts.index("new word0") == 3  # for which a piece of seven was left unfinished
    assert check_file(path, WordVectors()) == 69 + 4 * had_vectors


async def test_removed_while_its_vector_is_made(folder: Path) -> None:
    path = folder / "memory.db"
    embedder = WordVectors()
    embedder.gate.clear()
    async with opened(path, embedder=embedder) as engine:
        gone, _ = await fill(engine, [note("gone soon"), note("here to stay")])
        assert await asyncio.to_thread(embedder.entered.wait, 5)
        await engine.forget(ForgetTarget(ids=[gone]))
        embedder.gate.set()
        await caught_up(engine)
        with closing(sqlite3.connect(path)) as conn:
            assert conn.execute("SELECT id FROM vec").fetchall() == [(1,)]
        data = Passages([(0, 9)], WordVectors().embed(["gone soon"]), is_only=True)
        vector = vectors.joined(data, 70)
        assert vector is not None
        for file in folder.iterdir():
            assert vector.tobytes()[:24] not in file.read_bytes()


@pytest.mark.parametrize("size", [16, 1 << 14], ids=["full", "filling"])
async def test_no_byte_of_a_removed_vector_is_left(folder: Path, monkeypatch: pytest.MonkeyPatch, size: int) -> None:
    """Nor of those of its passages, nor its signs: in the file, its log and its index, whichever model was the last."""
    monkeypatch.setattr(schema, "SEGMENT", size)
    path = folder / "memory.db"
    texts = ["\n\n".join(f"{a} {b} " * 45 for b in ("left", "right", "up")) for a in WORDS]
    async with opened(path, embedder=WordVectors(192)) as engine:
        ids = await fill(engine, [note(text) for text in texts])
        await caught_up(engine)
    blocked = WordVectors(256)
    blocked.gate.clear()
    async with opened(path, embedder=blocked) as engine:
        await list_all(engine)
        assert await asyncio.to_thread(blocked.entered.wait, 5)  # so the vectors of the model before are there still
        await asyncio.sleep(0)
        marks = {id: marks_of(path, row) for row, id in enumerate(ids)}
        assert all(len(found) == (5 if size == 16 and row < 48 else 4) for row, found in enumerate(marks.values()))
        assert left_in(folder, [mark for found in marks.values() for mark in found]) == 60 * 4 + 48 * (size == 16)
        await engine.forget(ForgetTarget(ids=ids[::2]))
        kept, gone = [marks[id] for id in ids[1::2]], [marks[id] for id in ids[::2]]
        assert left_in(folder, [mark for found in gone for mark in found]) == 0
        assert left_in(folder, [mark for found in kept for mark in found]) == sum(map(len, kept))
        await engine.erase(EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True))
        assert left_in(folder, [mark for found in marks.values() for mark in found]) == 0
    assert left_in(folder, [mark for found in marks.values() for mark in found]) == 0


def marks_of(path: Path, row: int) -> list[bytes]:
    """Bytes that tell the vectors of a row: its own, those of its three passages, and its signs where they are kept."""
    with closing(sqlite3.connect(path)) as conn:
        (vector,) = conn.execute("SELECT data FROM vec WHERE id = ?", (row,)).fetchone()
        (passages,) = conn.execute("SELECT data FROM pvec WHERE id = ?", (row,)).fetchone()
        segment, place = divmod(row, schema.SEGMENT)
        signs = conn.execute("SELECT data FROM vbits WHERE seg = ?", (segment,)).fetchone()
    count = len(passages) // (8 + 96)
    assert count == 3
    marks = [vector[:24], *(passages[24 + 96 * number :][:24] for number in range(count))]
    return marks if signs is None else [*marks, signs[0][24 * place : 24 * place + 24]]


def left_in(folder: Path, marks: Sequence[bytes]) -> int:
    held = b"".join(file.read_bytes() for file in folder.iterdir())
    return sum(mark in held for mark in marks)


@pytest.mark.parametrize("heeds_closing", [True, False])
async def test_closing_does_not_wait_for_an_embedder(
    folder: Path, small: None, until: Until, heeds_closing: bool
) -> None:
    """One that ends when it is told to, and one that does not: what it says later is dropped."""
    path = folder / "memory.db"
    embedder = WordVectors()
    embedder.gate.clear()
    if not heeds_closing:
        embedder.close = lambda: None  # type: ignore[method-assign]
    engine = SqliteEngine(path, embedder=embedder)
    await fill(engine, [note(word) for word in WORDS[:5]])
    assert await asyncio.to_thread(embedder.entered.wait, 5)
    await engine.aclose()
    assert {file.name for file in folder.iterdir()} == {"memory.db"}
    before = path.read_bytes()
    embedder.gate.set()
    await until(lambda: not any(thread.name.startswith("sqlite-embedder") for thread in threading.enumerate()))
    assert path.read_bytes() == before
    assert embedder.texts == WORDS[:3]  # and nothing was asked for after that
    async with opened(path, embedder=WordVectors()) as engine:
        await list_all(engine)
        await caught_up(engine)
    assert check_file(path, WordVectors()) == 5


@pytest.mark.parametrize("is_closed", [True, False])
async def test_what_is_done_is_kept_where_the_rest_fails(
    folder: Path, small: None, until: Until, is_closed: bool
) -> None:
    """Of a piece of five items, the three that were done when it was closed, or when the embedder failed."""

    class Halting(WordVectors):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            if self.texts and is_closed:
                self.gate.clear()
            if self.texts and not is_closed:
                self.error = BLOCKED
            return super().embed(texts)

    path = folder / "memory.db"
    embedder = Halting()
    async with opened(path, embedder=embedder) as engine:
        await fill(engine, [note(word) for word in WORDS[:5]])
        if is_closed:
            await until(lambda: len(embedder.texts) > 3)
        else:
            await wait_for_error(engine, BLOCKED.text)
    with closing(sqlite3.connect(path)) as conn:
        assert conn.execute("SELECT id FROM vec").fetchall() == [(0,), (1,), (2,)]
    async with opened(path, embedder=WordVectors()) as engine:
        await list_all(engine)
        await caught_up(engine)
    assert check_file(path, WordVectors()) == 5


async def test_failing_embedder_is_told_and_tried_again(folder: Path, small: None, until: Until) -> None:
    path = folder / "memory.db"
    embedder = WordVectors()
    embedder.error = BLOCKED
    async with opened(path, embedder=embedder) as engine:
        await fill(engine, [note(f"cat {word}") for word in WORDS])
        await wait_for_error(engine, BLOCKED.text)
        health = await engine.health()
        assert (health.state, health.reason) == ("degraded", f"search by meaning is behind: {BLOCKED.text}")
        assert len((await engine.fetch(FetchRequest(query="cat", mode=FetchMode.KEYWORD, limit=99))).hits) == 60
        asked = len(embedder.texts)
        await until(lambda: len(embedder.texts) > asked)
        embedder.error = None
        await caught_up(engine)
        status = await engine.vector_status()
        assert status is not None
        assert (status.model, status.items, status.with_vector, status.error) == ("words 70", 60, 60, None)
        assert (await engine.health()).state == "ok"
    assert check_file(path, WordVectors()) == 60


async def wait_for_error(engine: SqliteEngine, error: str) -> None:
    while True:
        status = await engine.vector_status()
        assert status is not None
        if status.error is not None:
            assert status.error == error
            return
        await asyncio.sleep(0.002)


async def test_embedder_that_breaks_is_told_too(folder: Path, small: None, caplog: pytest.LogCaptureFixture) -> None:
    class Broken(WordVectors):
        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            return super().embed(texts)[:, 1:]

    async with opened(folder / "memory.db", embedder=Broken()) as engine:
        await engine.store(note("one"))
        said = (
            "answered 1 texts with numbers of the shape (1, 69); it must give one vector for each text, all of the same"
        )
        await wait_for_error(engine, f"the embedder words 70 {said} size")
        assert len(await list_all(engine)) == 1
    assert "search by meaning is behind: the embedder words 70 answered 1 texts" in caplog.text


async def test_locked_file_puts_vectors_off(folder: Path, small: None, until: Until) -> None:
    path = folder / "memory.db"
    embedder = WordVectors()
    embedder.gate.clear()
    async with opened(path, embedder=embedder, busy_timeout_s=0.01) as engine:
        await engine.store(note("one"))
        assert await asyncio.to_thread(embedder.entered.wait, 5)
        with closing(sqlite3.connect(path, isolation_level=None)) as conn:
            conn.execute("BEGIN IMMEDIATE")
            embedder.gate.set()
            await until(lambda: len(embedder.texts) > 1)  # it was made again, since it could not be kept
            assert (await engine.health()).state == "ok"
            conn.execute("ROLLBACK")
        await caught_up(engine)
    assert check_file(path, WordVectors()) == 1


async def test_work_that_others_did_is_looked_for_anew(
    folder: Path, small: None, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "memory.db"
    results = [False, False, False]

    def add(*args: Any) -> bool:
        return results.pop() if results else real_add(*args)

    real_add = vectors.add
    monkeypatch.setattr(vectors, "add", add)
    async with opened(path, embedder=WordVectors()) as engine:
        await fill(engine, [note(word) for word in WORDS[:9]])
        await caught_up(engine)
    assert results == []
    assert check_file(path, WordVectors()) == 9


async def test_damaged_item_does_not_keep_others_from_theirs(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path, embedder=None) as engine:
        await fill(engine, [note("one"), note("two"), note("three")])
    with closing(sqlite3.connect(path)) as conn:
        conn.execute("UPDATE item SET payload = x'00' WHERE id = 1")
        conn.commit()
    async with opened(path, embedder=WordVectors()) as engine:
        await engine.store(note("four"))
        await caught_up(engine)
        with closing(sqlite3.connect(path)) as conn:
            assert conn.execute("SELECT id FROM vec WHERE data <> x''").fetchall() == [(0,), (2,), (3,)]


async def test_dimensions_may_be_known_only_by_the_first_answer(
    folder: Path, small: None, caplog: pytest.LogCaptureFixture
) -> None:
    """As an endpoint's; also where its model of one name gives other vectors than it gave when the file was made."""

    class Late(WordVectors):
        def __init__(self, dims: int) -> None:
            super().__init__(0)
            self.name = "words 70"
            self._late_dims = dims

        def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
            self.dims = self._late_dims
            return super().embed(texts)

    path = folder / "memory.db"
    for number, dims in enumerate((90, 90, 70)):
        async with opened(path, embedder=Late(dims)) as engine:
            await fill(engine, [note(f"{word} number{number}") for word in WORDS[:8]])
            await caught_up(engine)
            with closing(sqlite3.connect(path)) as conn:
                made = Made.read(conn)
            assert made is not None
            assert (made.dims, made.epoch) == (dims, 1 + number // 2)
    assert check_file(path, WordVectors(70)) == 24
    assert caplog.messages == ["vectors are made anew: those of words 70 (90) do not fit words 70 (70)"]


async def test_items_without_meaning_are_asked_about_once(folder: Path) -> None:
    path = folder / "memory.db"
    first, second = WordVectors(), WordVectors()
    async with opened(path, embedder=first) as engine:
        await fill(engine, [note("?!"), note("12 34"), note("real words")])
        await caught_up(engine)
    assert check_file(path, WordVectors()) == 1
    async with opened(path, embedder=second) as engine:
        await list_all(engine)
        await engine.store(note("more words"))
        await caught_up(engine)
    assert (first.texts, second.texts) == (["?!", "12 34", "real words"], ["more words"])


async def test_another_model_replaces_the_vectors_bit_by_bit(folder: Path, small: None) -> None:
    path = folder / "memory.db"
    async with opened(path, embedder=WordVectors(70)) as engine:
        await fill(engine, [note(word) for word in WORDS])
        await caught_up(engine)
    embedder = WordVectors(128)
    embedder.gate.clear()
    async with opened(path, embedder=embedder) as engine:
        await list_all(engine)
        assert await asyncio.to_thread(embedder.entered.wait, 5)
        status = await engine.vector_status()
        assert status is not None
        assert (status.model, status.items, status.with_vector) == ("words 128", 60, 0)
        embedder.gate.set()
        await caught_up(engine)
    assert check_file(path, WordVectors(128)) == 60


async def test_two_models_do_not_fight_over_a_file(folder: Path, small: None) -> None:
    path = folder / "memory.db"
    async with opened(path, embedder=WordVectors(70)) as a, opened(path, embedder=WordVectors(128)) as b:
        await fill(a, [note(word) for word in WORDS])
        await caught_up(a)
        await list_all(b)
        await caught_up(b)
        await a.store(note("one more"))
        await wait_for_error(
            a,
            "another program gives this memory vectors of the model words 128, and this one of words 70; set the same "
            "in both, and open the memory again",
        )
        await b.store(note("and another"))
        await caught_up(b)
        with closing(sqlite3.connect(path)) as conn:
            made = Made.read(conn)
        assert made is not None
        assert (made.name, made.epoch) == ("words 128", 2)


async def test_read_only_makes_no_vectors(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path, embedder=None) as engine:
        await engine.store(note("cat"))
    before = path.read_bytes()
    embedder = WordVectors()
    async with opened(path, embedder=embedder, read_only=True) as engine:
        assert (await engine.fetch(FetchRequest(query="feline", mode=FetchMode.VECTOR, limit=5))).hits == []
        status = await engine.vector_status()
        assert status is not None
        assert (status.items, status.with_vector, status.error) == (1, 0, None)
    assert path.read_bytes() == before
    assert embedder.texts == ["feline"]
    assert embedder.is_closed


async def test_modes_are_those_that_there_is_an_embedder_for(folder: Path) -> None:
    async with opened(folder / "a.db", embedder=None) as words, opened(folder / "b.db", embedder=WordVectors()) as both:
        assert words.descriptor().fetch_modes == [FetchMode.KEYWORD]
        assert both.descriptor().fetch_modes == [FetchMode.KEYWORD, FetchMode.VECTOR, FetchMode.HYBRID]
        assert await words.vector_status() is None


# --- the search, without an engine ---


def memory_of(rows: npt.NDArray[np.float32]) -> sqlite3.Connection:
    """Nothing but vectors, and what makes them count; in no file."""
    conn = sqlite3.connect(":memory:", isolation_level=None)
    schema.migrate(conn)
    data = np.rint(rows * (127 / np.abs(rows).max(axis=1, keepdims=True))).astype(np.int8)
    conn.executemany("INSERT INTO vec VALUES(?, ?)", [(id, row.tobytes()) for id, row in enumerate(data)])
    conn.execute("UPDATE state SET changes = 1, next_id = ?", (len(rows),))
    Made("m", rows.shape[1], vectors.FORM, 1, len(rows), len(rows), len(rows)).write(conn)
    return conn


@pytest.mark.parametrize("dims", [3, 64, 100])
@pytest.mark.parametrize("share", [1.0, 0.3, 0.01, 0.0])
def test_nearest_of_few_is_exact(monkeypatch: pytest.MonkeyPatch, dims: int, share: float) -> None:
    """Few enough that the vectors of all are read."""
    monkeypatch.setattr(schema, "SEGMENT", 64)
    random_numbers = np.random.default_rng(1)
    rows = random_numbers.standard_normal((900, dims), np.float32)
    with closing(memory_of(rows)) as conn:
        index = VectorIndex("m")
        index.sync(conn, State.read(conn))
        kept = [np.frombuffer(data, np.int8).astype(np.float32) for (data,) in conn.execute("SELECT data FROM vec")]
        rows = np.array([unit(row) for row in kept])
        mask = random_numbers.random(len(rows)) < share
        for query in random_numbers.standard_normal((10, dims), np.float32):
            expected = sorted(zip((rows[mask] @ unit(query)).tolist(), np.flatnonzero(mask).tolist(), strict=True))
            near, cosines = index.nearest(conn, query, mask, 10)
            assert cosines.tolist() == pytest.approx([cosine for cosine, _ in expected[:-11:-1]], abs=1e-5)
            assert {*near.tolist()} <= {*np.flatnonzero(mask).tolist()}
        assert index.nearest(conn, np.zeros(dims, np.float32), mask, 10)[0].tolist() == []
        assert index.nearest(conn, np.ones(dims + 1, np.float32), mask, 10)[0].tolist() == []


@pytest.mark.parametrize("share", [1.0, 0.3, 0.05])
@pytest.mark.parametrize("are_signs_kept", [True, False])
def test_nearest_of_many(monkeypatch: pytest.MonkeyPatch, share: float, are_signs_kept: bool) -> None:
    """So many that the signs choose whose vectors are read: what is near stands out from what is not."""
    monkeypatch.setattr(schema, "SEGMENT", 256)
    monkeypatch.setattr(nearest, "_BY_SIGNS", 40)
    monkeypatch.setattr(nearest, "_READ", 15)
    random_numbers = np.random.default_rng(1)
    topics = random_numbers.standard_normal((300, 128), np.float32)
    rows = np.repeat(topics, 10, axis=0) + 0.6 * random_numbers.standard_normal((3_000, 128), np.float32)
    rows = rows[random_numbers.permutation(3_000)]
    with closing(memory_of(rows)) as conn:
        if are_signs_kept:
            vectors.rebuild(conn)
        index = VectorIndex("m")
        index.sync(conn, State.read(conn))
        mask = random_numbers.random(3_000) < share
        for topic in topics[:40]:
            cosines = (rows @ topic) / np.linalg.norm(rows, axis=1) / np.linalg.norm(topic)
            expected = np.flatnonzero(mask & (cosines > 0.6))
            near, _ = index.nearest(conn, topic, mask, len(expected))
            assert sorted(near.tolist()) == expected.tolist()


@pytest.mark.parametrize("period", [1, 2, 3, 64])
@pytest.mark.parametrize("first", [0, 1])
def test_signs_choose_as_many_rows_whichever_are_asked_about(period: int, first: int) -> None:
    """As where every third item is of one node."""
    distances = np.full(200_000, nearest._FAR)
    distances[first::period] = np.random.default_rng(1).binomial(256, 0.4, len(distances[first::period]))
    for count in (1, 700, 1_600):
        cut = nearest._cut(distances, count, 256)
        assert np.count_nonzero(distances < cut) < count <= np.count_nonzero(distances <= cut)
    assert nearest._cut(distances, 200_001, 256) == 256


def test_best_passage() -> None:
    embedder = WordVectors(77)
    with closing(memory_of(embedder.embed(["one"]))) as conn:
        conn.execute("UPDATE state SET next_id = 4")
        conn.executemany("INSERT INTO fac VALUES(?, x'', x'')", [(1,), (2,)])
        spans = [(0, 4), (5, 9), (70_000, 80_000)]
        found = {
            1: Passages(spans, embedder.embed(["cat dog", "feline", "rock stone"]), is_only=False),
            2: Passages([(0, 4)], embedder.embed(["feline"]), is_only=True),
            3: Passages([(0, 4)], embedder.embed(["of an item that is gone"]), is_only=True),
        }
        made = Made.read(conn)
        assert made is not None
        assert vectors.add(conn, Work(made, 1, 4, []), found)
        assert not vectors.add(conn, Work(made, 1, 4, []), found)
        index = VectorIndex("m")
        index.sync(conn, State.read(conn))
        (query,) = embedder.embed(["cat"])
        none, best, only, gone = index.best_passages(conn, np.arange(4), query)
        assert (none, only, gone) == (None, None, None)
        assert best is not None
        assert best[1:] == (5, 9)
        assert best[0] == pytest.approx(1.0, abs=0.02)
        cosines = index.cosines(conn, np.array([3, 2, 1]), query)
        assert cosines[:2].tolist() == pytest.approx([0.0, 1.0], abs=1e-3)
        assert 0.3 < cosines[2] < 0.9


def test_vectors_of_the_model_before_are_not_read() -> None:
    """They are there still, of the same size, in the rows that wait for others."""
    embedder = WordVectors(70)
    (cat,) = embedder.embed(["cat"])
    with closing(memory_of(np.array([cat] * 9))) as conn:
        two = Passages([(0, 3), (4, 7)], np.array([cat, cat]), is_only=False)
        conn.executemany("INSERT INTO pvec VALUES(?, ?)", [(id, vectors.pack_passages(two)) for id in range(9)])
        Made("m", 70, vectors.FORM, 2, 2, 5, 7).write(conn)
        index = VectorIndex("m")
        index.sync(conn, State.read(conn))
        rows = np.arange(9)
        assert index.covered(9).tolist() == [True, True, False, False, False, True, True, False, False]
        assert sorted(index.nearest(conn, cat, np.ones(9, np.bool_), 9)[0].tolist()) == [0, 1, 5, 6]
        assert np.flatnonzero(index.cosines(conn, rows, cat)).tolist() == [0, 1, 5, 6]
        found = index.best_passages(conn, rows, cat)
        assert [row for row, passage in enumerate(found) if passage is not None] == [0, 1, 5, 6]


@pytest.mark.parametrize("what", ["file", "model", "model of as many numbers"])
def test_signs_are_read_anew_of_what_took_their_place(monkeypatch: pytest.MonkeyPatch, what: str) -> None:
    """Another file at the path, or the same name for other vectors."""
    monkeypatch.setattr(nearest, "_BY_SIGNS", 3)
    monkeypatch.setattr(nearest, "_READ", 1)
    words = [f"{word} other" for word in WORDS]
    first, second = WordVectors(70), WordVectors(200 if what == "model" else 70)
    index = VectorIndex("m")
    for embedder, texts, uid, epoch in (
        (first, words, b"first id", 1),
        (second, words[::-1], b"other id" if what == "file" else b"first id", 1 if what == "file" else 2),
    ):
        with closing(memory_of(embedder.embed(texts))) as conn:
            conn.execute("UPDATE state SET uid = ?", (uid,))
            conn.execute("UPDATE model SET epoch = ?", (epoch,))
            index.sync(conn, State.read(conn))
            for row in (3, 20):
                (query,) = embedder.embed([texts[row]])
                assert index.nearest(conn, query, np.ones(len(texts), np.bool_), 1)[0].tolist() == [row]


@pytest.mark.parametrize(
    ("epoch", "first", "stop", "expected"),
    [
        (1, 20, 25, (5, 12, 25)),
        (1, 18, 25, (5, 12, 25)),
        (1, 21, 25, None),
        (1, 15, 20, None),
        (1, 8, 12, (5, 8, 20)),
        (1, 8, 15, (5, 8, 20)),
        (1, 5, 12, (5, 5, 20)),
        (1, 4, 12, None),
        (1, 8, 11, None),
        (1, 12, 14, None),
        (0, 20, 25, None),
        (0, 8, 12, None),
    ],
)
def test_work_is_kept_that_goes_on_from_what_there_is(
    epoch: int, first: int, stop: int, expected: tuple[int, int, int] | None
) -> None:
    """Vectors are below 5 and from 12 up to 20. Another process may have made some, or all, of a work's meanwhile."""
    embedder = WordVectors(5)
    old, new = embedder.embed(["old", "new"])
    with closing(memory_of(np.array([old] * 30))) as conn:
        conn.executemany("INSERT INTO fac VALUES(?, x'', x'')", [(id,) for id in range(30)])
        made = Made("m", 5, vectors.FORM, 1, 5, 12, 20)
        made.write(conn)
        before = conn.execute("SELECT data FROM vec").fetchall()
        work = Work(replace(made, epoch=epoch), first, stop, [])
        found = {id: Passages([(0, 3)], new[np.newaxis], is_only=True) for id in range(first, stop)}
        assert vectors.add(conn, work, found) is (expected is not None)
        after = Made.read(conn)
        assert after is not None
        assert (after.low, after.high, after.top) == (expected or (5, 12, 20))
        changed = [
            id
            for id, pair in enumerate(zip(before, conn.execute("SELECT data FROM vec"), strict=True))
            if pair[0] != pair[1]
        ]
        assert changed == [id for id in range(first, stop) if expected and not made.covers(id, id + 1)]


@pytest.mark.parametrize(
    ("damage", "error"),
    [
        ("UPDATE vec SET data = x'00'", "a vector in it has the wrong size"),
        ("UPDATE model SET high = -1", "what it says of its vectors makes no sense"),
        ("UPDATE model SET dims = 0", "what it says of its vectors makes no sense"),
    ],
)
async def test_damage_is_told(folder: Path, damage: str, error: str) -> None:
    path = folder / "memory.db"
    async with opened(path, embedder=WordVectors()) as engine:
        await fill(engine, [note(word) for word in WORDS])
        await caught_up(engine)
    with closing(sqlite3.connect(path)) as conn:
        conn.execute(damage)
        conn.commit()
    async with opened(path, embedder=WordVectors(), read_only=True) as engine:
        with pytest.raises(EngineFailure, match=error):
            await engine.fetch(FetchRequest(query="word1", mode=FetchMode.VECTOR, limit=5))
        assert len(await list_all(engine)) == 60


@pytest.mark.parametrize("erases", [False, True])
async def test_what_was_searched_for_is_not_kept_once_something_was_removed(folder: Path, erases: bool) -> None:
    embedder = WordVectors()
    async with opened(folder / "memory.db", embedder=embedder) as engine:
        id = (await engine.store(note("a cat"))).id
        for _ in range(2):
            await engine.fetch(FetchRequest(query="cats that hide", mode=FetchMode.VECTOR, limit=5))
        assert embedder.texts.count("cats that hide") == 1, "kept for the next page"
        if erases:
            await engine.erase(EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True))
        else:
            await engine.forget(ForgetTarget(ids=[id]))
        await engine.fetch(FetchRequest(query="cats that hide", mode=FetchMode.VECTOR, limit=5))
        assert embedder.texts.count("cats that hide") == 2
