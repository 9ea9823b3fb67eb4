"""What is left of removed items: no row, no string, no byte; and what stays that others still use."""

from __future__ import annotations

import asyncio
import random
import signal
import sqlite3
import sys
import zlib
from collections.abc import Iterable
from contextlib import closing
from pathlib import Path

import pytest

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    EraseRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    InvalidRequest,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    ToolCallRef,
    Turn,
    TurnRange,
    redacted_id,
)
from explorer.contract.meta import ActorRef
from explorer.engines.sqlite import connection, postings, schema, writer
from explorer.engines.sqlite.checking import check_file
from explorer.engines.sqlite.tokens import STEM_MARK, index_terms
from tests.conftest import Until
from tests.engines.sqlite.crashing import DIMS, FakeEmbedder
from tests.engines.sqlite.support import everything, fill, list_all, note, opened, row_counts, settled

ALL = EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True)
ROOT = Path(__file__).parents[3]
SHARED = ["sharedword", "sharedtag", "/sharedfolder"]
NO_ROWS = {"item": 0, "fac": 0, "dict": 0, "head": 0, "post": 0}


@pytest.fixture(params=[8, 1 << 12], ids=["sealed", "filling"])
def segment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Words in sealed runs of 8 items, merged by four as their segments become full; and all waiting to be sealed."""
    monkeypatch.setattr(schema, "RUN", request.param)
    monkeypatch.setattr(schema, "SEGMENT", 4 * request.param)
    return int(request.param)


class Marks:
    """Items with a mark of their own in every field."""

    def __init__(self) -> None:
        self._rand = random.Random(3)

    def mark(self) -> str:
        return "".join(self._rand.choices("bcdfghjklmnpqrstvwxz", k=14))

    def signs(self) -> str:
        """Of a script without spaces, which is indexed by pairs."""
        return "".join(chr(self._rand.randrange(0x3400, 0x4DBF)) for _ in range(4))

    def item(self, namespace: str | None = None) -> tuple[StoreItem, list[str]]:
        marks = [self.mark() for _ in range(24)]
        signs = [self.signs(), self.signs()]
        m = iter(marks)
        redacted = redacted_id(next(m))
        # Long enough for passages with vectors of their own; with words that have a stem, parts and accents.
        text = f"{next(m)} a{next(m)}ing {next(m).capitalize()}{next(m).capitalize()} é{next(m)}. " * 40
        meta = MemoryMeta(
            namespace=Namespace.parse(namespace or f"agent:{next(m)}"),
            workspace=next(m),
            folder=f"/{next(m)}",
            file_path=f"/{next(m)}.py",
            language=next(m),
            repo=next(m),
            commit=next(m),
            url=f"https://{next(m)}.test/",
            thread_id=redacted,
            turns=TurnRange(first=self._rand.randrange(2**32), last=self._rand.randrange(2**32)),
            agent_id=next(m),
            tool_call=ToolCallRef(name=next(m), id=next(m)),
            source=SourceRef(kind=SourceKind.FILE, id=next(m)),
            tags=[self.mark(), self.mark()],
            observed_at=Timestamp.parse("2024-05-01T10:00:00.123456789Z"),
            observed_actor=ActorRef(id=next(m)),
        )
        item: StoreItem
        match self._rand.randrange(3):
            case 0:
                item = Document(title=next(m), body=DocumentBody(text=f"{text} {signs[0]} {signs[1]}"), meta=meta)
            case 1:
                said = f"{text} {signs[0]}"
                item = Learning(text=said, kind=LearningKind.FACT, confidence=0.5, evidence=next(m), meta=meta)
            case _:
                call = ToolCallRef(name=next(m), id=next(m))
                turns = [Turn(role=Role.USER, text=text), Turn(role=Role.TOOL, text=signs[0], tool_calls=[call])]
                item = Conversation(turns=turns * 4, meta=meta)
        wire = item.model_dump_json()
        assert meta.turns is not None
        used = [mark for mark in marks if mark in wire or mark.capitalize() in wire]
        pairs = [run[at : at + 2] for run in signs if run in wire for at in range(3)]
        return item, [*used, *pairs, *meta.tags, redacted, f"{meta.turns.first}..", item.fingerprint()]


def bytes_of(folder: Path) -> bytes:
    """All bytes of all files: the file, its log, and the log's index."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def payloads_of(folder: Path) -> dict[str, bytes]:
    with closing(sqlite3.connect(folder / "memory.db")) as conn:
        return {fp.hex(): payload for fp, payload in conn.execute("SELECT fp, payload FROM item")}


def left_of(folder: Path, marks: list[str]) -> list[str]:
    """Which marks are still in some file, as they are, in lower case, or, of an id, as the file holds it.

    Compressed content counts as far as rows have it; what rows no longer have is for `pieces_left`.
    """
    readable = (
        payload if payload[:1] == b"{" else zlib.decompress(payload) for payload in payloads_of(folder).values()
    )
    held = b"".join([bytes_of(folder), *readable])
    ids = [mark for mark in marks if len(mark) == 40 and bytes.fromhex(mark) in held]
    return [mark for mark in marks if mark.encode() in held or mark.capitalize().encode() in held] + ids


def pieces_of(folder: Path, ids: Iterable[str]) -> list[bytes]:
    """Pieces of the compressed content of items, such as would be left where one was only half overwritten."""
    payloads = payloads_of(folder)
    return [payloads[id][at : at + 12] for id in ids for at in range(0, len(payloads[id]) - 12, 5)]


def pieces_left(folder: Path, pieces: list[bytes]) -> list[bytes]:
    """Those that are still in some file and are not also of an item that is held."""
    found, held = bytes_of(folder), b"".join(payloads_of(folder).values())
    return [piece for piece in pieces if piece in found and piece not in held]


def vectors_of(path: Path, ids: Iterable[str]) -> list[bytes]:
    """What is only of each item: its vector, and those of its passages without their places."""
    found = []
    with closing(sqlite3.connect(path)) as conn:
        for id in ids:
            key = (bytes.fromhex(id),)
            (vector,) = conn.execute("SELECT data FROM vec JOIN item USING(id) WHERE fp = ?", key).fetchone()
            found.append(vector)
            row = conn.execute("SELECT data FROM pvec JOIN item USING(id) WHERE fp = ?", key).fetchone()
            found += [] if row is None else [row[0][-DIMS // 2 :]]
    return found


@pytest.mark.limit_s(20)
@pytest.mark.parametrize("how", ["ids", "filter", "erase"])
async def test_nothing_of_a_removed_item_is_in_any_file(folder: Path, segment: int, how: str) -> None:
    make = Marks()
    path = folder / "memory.db"
    async with opened(path, embedder=FakeEmbedder()) as engine:
        gone: list[ItemId] = []
        gone_marks: list[str] = []
        kept: list[StoreItem] = []
        kept_marks: list[str] = []
        made = [make.item(f"agent:old/agent:a{number % 3}" if number % 2 else None) for number in range(40)]
        for start in range(0, 40, 10):
            await engine.store_many([item for item, _ in made[start : start + 10]])
        for number, (item, marks) in enumerate(made):
            if number % 2:
                gone.append(item.fingerprint())
                gone_marks += marks
            else:
                kept.append(item)
                kept_marks += marks
        await settled(engine)
        gone_vectors = vectors_of(path, gone)
        assert len(gone_vectors) > 30
        others = b"".join(payload for id, payload in payloads_of(folder).items() if id not in gone)
        gone_pieces = [piece for piece in pieces_of(folder, gone) if piece in bytes_of(folder) and piece not in others]
        assert len(gone_pieces) > 50 * len(gone)
        assert {*left_of(folder, gone_marks)} == {*gone_marks}
        assert all(vector in bytes_of(folder) for vector in gone_vectors)
        reach = Reach.subtree(Namespace.agent("old"))
        if how == "ids":
            assert (await engine.forget(ForgetTarget(ids=gone))).forgotten == 20
        elif how == "filter":
            assert (await engine.forget(ForgetTarget(filter=MetaFilter(reach=reach)))).forgotten == 20
        else:
            found = await engine.get(GetRequest(ids=gone, reach=reach))
            kinds = {(str(hit.meta.namespace), hit.kind) for hit in found}
            report = await engine.erase(EraseRequest(reach=reach))
            assert (report.erased_scopes, report.receipts) == (len(kinds), [])

        def assert_clean() -> None:
            assert left_of(folder, gone_marks) == []
            assert not [vector for vector in gone_vectors if vector in bytes_of(folder)]
            assert pieces_left(folder, gone_pieces) == []

        assert_clean()
        assert {*left_of(folder, kept_marks)} == {*kept_marks}
        assert (await engine.health()).state == "ok"
        # What comes later moves what is left: into other runs, and other pages.
        for _ in range(2):
            await engine.store_many([make.item()[0] for _ in range(10)])
        await settled(engine)
        assert_clean()
        with closing(sqlite3.connect(path)) as conn:
            assert (conn.execute("SELECT count(*) FROM post").fetchone()[0] > 0) == (segment == 8)
            assert conn.execute("SELECT count(*) FROM cols").fetchone()[0] == (1 if segment == 8 else 0)
    assert_clean()
    assert check_file(path).problems == ()
    async with opened(path) as engine:
        left = {hit.id for hit in await list_all(engine)}
        assert len(left) == 40
        assert left >= {item.fingerprint() for item in kept}


async def test_whole_tree_leaves_no_row(folder: Path, segment: int) -> None:
    make = Marks()
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [make.item()[0] for _ in range(35)])
        await fill(engine, [note("hidden", namespace=Namespace.parse("agent:a/service:job"))])
        await engine.erase(ALL)
        assert row_counts(folder / "memory.db") == NO_ROWS
        assert b"hidden" not in bytes_of(folder)
    assert row_counts(folder / "memory.db") == NO_ROWS


async def test_strings_that_others_use_stay(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        a, _ = await fill(engine, [note("a", workspace="/ws", tags=["t", "t"]), note("b", workspace="/ws", tags=["t"])])
        await engine.forget(ForgetTarget(ids=[a]))
        assert len(await list_all(engine, MetaFilter(workspace="/ws", tags_any=["t"]))) == 1
    async with opened(folder / "memory.db") as engine:
        assert len(await list_all(engine, MetaFilter(workspace="/ws", tags_any=["t"]))) == 1
        await engine.erase(ALL)
    assert row_counts(folder / "memory.db") == NO_ROWS


async def test_removed_item_is_new_when_stored_again(folder: Path, segment: int) -> None:
    items = [note(f"text {number}", tags=[f"t{number}"]) for number in range(20)]
    async with opened(folder / "memory.db") as engine:
        for _ in range(3):
            ids = await fill(engine, items)
            assert not (await engine.store(note("other"))).replayed
            assert (await engine.store(items[0])).replayed
            assert await engine.forget(ForgetTarget(ids=[*ids, *ids, "no such id"])) == ForgetReport(forgotten=20)
            assert await engine.forget(ForgetTarget(ids=ids)) == ForgetReport(forgotten=0)
            await engine.erase(EraseRequest(reach=Reach.exact(Namespace.ROOT)))


async def test_sandbox_goes_by_name_and_with_the_whole_tree_only(folder: Path) -> None:
    nodes = [Namespace.parse(text) for text in ("agent:a", "agent:a/agent:b", "agent:a/service:j", "agent:c")]
    async with opened(folder / "memory.db") as engine:

        async def left() -> list[str]:
            return sorted(bucket.value for bucket in (await engine.namespaces(MetaFilter())).buckets)

        await fill(engine, [note("x", namespace=node) for node in nodes])
        with pytest.raises(InvalidRequest, match="whole_tree: true"):
            await engine.erase(EraseRequest(reach=Reach.subtree(Namespace.ROOT)))
        assert (await engine.erase(EraseRequest(reach=Reach.subtree(nodes[0])))).erased_scopes == 2
        assert await left() == ["agent:a/service:j", "agent:c"]
        # Up it never goes.
        assert (await engine.erase(EraseRequest(reach=Reach.of(nodes[1])))).erased_scopes == 0
        assert (await engine.erase(EraseRequest(reach=Reach.exact(nodes[2])))).erased_scopes == 1
        assert await left() == ["agent:c"]
        learnings = EraseRequest(reach=Reach.exact(nodes[3]), kinds=[ItemKind.LEARNING])
        assert (await engine.erase(learnings)).erased_scopes == 0
        assert await left() == ["agent:c"]


async def test_neighbours_of_a_tag_or_path_are_not_caught(folder: Path) -> None:
    tags = ["Test", "Test2", "Test space", "test"]
    folders = ["/a", "/a/b", "/ab", "/home/u/proj", "/home/u/proj-old"]
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("x", tags=[tag]) for tag in tags])
        await fill(engine, [note("x", folder=path) for path in folders])
        assert (await engine.forget(ForgetTarget(filter=MetaFilter(tags_any=["Test"])))).forgotten == 1
        assert (await engine.forget(ForgetTarget(filter=MetaFilter(tags_any=["Test space"])))).forgotten == 1
        assert (await engine.forget(ForgetTarget(filter=MetaFilter(folder="/a")))).forgotten == 2
        assert (await engine.forget(ForgetTarget(filter=MetaFilter(folder="/home/u/proj/")))).forgotten == 1
        left = await list_all(engine)
        assert {hit.meta.folder for hit in left} - {None} == {"/ab", "/home/u/proj-old"}
        assert {tag for hit in left for tag in hit.meta.tags} == {"Test2", "test"}


async def test_forget_by_filter_is_not_bound_by_any_page(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(f"n {number}", workspace="/ws") for number in range(700)])
        await fill(engine, [note("stays")])
        assert (await engine.forget(ForgetTarget(filter=MetaFilter(workspace="/ws")))).forgotten == 700
        assert [hit.text for hit in await list_all(engine)] == ["stays"]


@pytest.mark.parametrize("how", ["forget", "erase"])
async def test_unfinished_removal_is_said_until_the_reader_lets_go(folder: Path, until: Until, how: str) -> None:
    path = folder / "memory.db"
    async with opened(path, busy_timeout_s=0.05) as engine, opened(path, read_only=True) as looking:
        ids = await fill(engine, [note("unforgettable"), note("b")])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM item").fetchone()
            if how == "forget":
                assert (await engine.forget(ForgetTarget(ids=ids))).forgotten == 2
            else:
                (receipt,) = (await engine.erase(ALL)).receipts
                assert "is not finished: its log still holds traces" in receipt
            assert await list_all(engine) == []
            for each in (engine, looking):
                health = await each.health()
                assert health.state == "degraded"
                assert "is not finished: its log still holds traces" in (health.reason or "")
            await engine.store(note("a change in between, which another reader's lock does not hold up"))
            assert (await engine.health()).state == "degraded"
            assert b"unforgettable" in bytes_of(folder)
            other.execute("ROLLBACK")
        # Nobody does anything more: the engine finishes it by itself.
        await until(lambda: b"unforgettable" not in bytes_of(folder))
        for each in (engine, looking):
            assert (await each.health()).state == "ok"


async def test_removal_whose_caller_gave_up_is_finished(folder: Path, until: Until) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        ids = await fill(engine, [note("unforgettable", workspace="w"), note("stays")])
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM item").fetchone()
            removal = asyncio.create_task(engine.forget(ForgetTarget(ids=ids[:1])))
            with closing(sqlite3.connect(path)) as other:
                await until(lambda: other.execute("SELECT count(*) FROM item").fetchone() == (1,))
            removal.cancel()
            with pytest.raises(asyncio.CancelledError):
                await removal
            reader.execute("ROLLBACK")
        await until(lambda: b"unforgettable" not in bytes_of(folder))


@pytest.mark.parametrize("failure", [sqlite3.OperationalError("database or disk is full"), OSError(5, "I/O error")])
async def test_disk_that_fails_after_a_removal_is_no_failed_removal(
    folder: Path, until: Until, monkeypatch: pytest.MonkeyPatch, failure: Exception
) -> None:
    path = folder / "memory.db"

    def fail(*_: object) -> None:
        raise failure

    async with opened(path) as engine:
        ids = await fill(engine, [note("unforgettable", workspace="w"), note("stays"), note("goes too")])
        with monkeypatch.context() as patch:
            patch.setattr(connection, "sweep", fail)
            assert (await engine.forget(ForgetTarget(ids=ids[:1]))).forgotten == 1
            assert "the disk failed (" in ((await engine.health()).reason or "")
            report = await engine.erase(ALL)
            assert report.erased_scopes == 1
            assert "is not finished: its log still holds traces, because the disk failed (" in report.receipts[0]
            (receipt,) = await engine.store_many([note("stored meanwhile")])
            assert not receipt.replayed
            async with opened(path) as other:
                assert [hit.text for hit in await list_all(other)] == ["stored meanwhile"]
        await until(lambda: b"unforgettable" not in bytes_of(folder))
        assert (await engine.health()).state == "ok"


async def test_next_change_finishes_a_removal(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note("unforgettable")])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM item").fetchone()
            assert (await engine.erase(ALL)).receipts != []
        await engine.store(note("the next change"))
        assert b"unforgettable" not in bytes_of(folder)
        assert (await engine.health()).state == "ok"


async def test_closing_finishes_a_removal(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as second:
        async with opened(path) as engine:
            await fill(engine, [note("unforgettable")])
            await list_all(second)
            with closing(sqlite3.connect(path, isolation_level=None)) as other:
                other.execute("BEGIN")
                other.execute("SELECT * FROM item").fetchone()
                assert (await engine.erase(ALL)).receipts != []
        assert b"unforgettable" not in bytes_of(folder)
        assert (await second.health()).state == "ok"


KILLED = """
import asyncio, os, signal, sys
from explorer.contract import ForgetTarget, MetaFilter
from explorer.engines.sqlite import SqliteEngine, connection

def kill(*_):
    os.kill(os.getpid(), signal.SIGKILL)

async def main():
    engine = SqliteEngine(sys.argv[1], embedder=None)
    connection.OpenedFile.empty_log = kill
    await engine.forget(ForgetTarget(filter=MetaFilter(workspace="w")))

asyncio.run(main())
"""


async def test_removal_killed_before_its_log_is_empty_is_finished_by_who_opens_next(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note("unforgettable", workspace="w"), note("stays")])
    killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(path), cwd=ROOT)
    assert await killed.wait() == -signal.SIGKILL
    assert b"unforgettable" in bytes_of(folder)
    async with opened(path, read_only=True) as engine:
        assert [hit.text for hit in await list_all(engine)] == ["stays"]
        assert (await engine.health()).state == "degraded"
    assert b"unforgettable" in bytes_of(folder)  # reading only has written nothing
    async with opened(path) as engine:
        assert [hit.text for hit in await list_all(engine)] == ["stays"]
        assert b"unforgettable" not in bytes_of(folder)
        assert (await engine.health()).state == "ok"


async def test_removal_killed_beside_others_is_finished_by_them(folder: Path, until: Until) -> None:
    """By a program that has the file open, and by one that opens it while a reader is in the way."""
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note("unforgettable", workspace="w"), note("stays")])
        with closing(sqlite3.connect(path, isolation_level=None)) as reader:
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM item").fetchone()
            killed = await asyncio.create_subprocess_exec(sys.executable, "-c", KILLED, str(path), cwd=ROOT)
            assert await killed.wait() == -signal.SIGKILL
            async with opened(path) as late:
                assert [hit.text for hit in await list_all(late)] == ["stays"]
                assert (await engine.health()).state == "degraded"
                assert (await late.health()).state == "degraded"
                reader.execute("ROLLBACK")
                await until(lambda: b"unforgettable" not in bytes_of(folder))
        assert (await engine.health()).state == "ok"


async def test_failed_store_after_a_removal_is_no_unfinished_removal(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = folder / "memory.db"
    async with opened(path) as engine:
        await fill(engine, [note("a")])
        await engine.erase(ALL)

        def spill(conn: sqlite3.Connection, *_: object) -> None:
            conn.execute("PRAGMA cache_spill = 1")
            conn.execute("PRAGMA cache_size = 1")
            conn.execute("INSERT INTO item VALUES(77, x'00', zeroblob(10000000))")  # more than it keeps in memory
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as broken:
            broken.setattr(writer, "_insert", spill)
            with pytest.raises(Exception, match="disk I/O error"):
                await engine.store(note("b"))
        assert (folder / "memory.db-wal").stat().st_size > 0
        assert (await engine.health()).state == "ok"


async def test_string_that_another_item_uses_stays_and_goes_with_the_last(folder: Path, segment: int) -> None:
    path = folder / "memory.db"
    items = [note(f"{number} sharedword", tags=["sharedtag"], folder="/sharedfolder") for number in range(40)]
    async with opened(path) as engine:
        ids = await fill(engine, items)
        await settled(engine)
        for some in (ids[:13], ids[13:39]):
            await engine.forget(ForgetTarget(ids=some))
            assert sorted(left_of(folder, SHARED)) == sorted(SHARED)
            assert check_file(path).is_clean
        await engine.forget(ForgetTarget(ids=ids[39:]))
        assert left_of(folder, SHARED) == []


async def test_sandbox_below_an_erased_node_keeps_every_byte(folder: Path, segment: int) -> None:
    make = Marks()
    path = folder / "memory.db"
    outside: list[str] = []
    inside: list[str] = []
    async with opened(path, embedder=FakeEmbedder()) as engine:
        made = [make.item("agent:a/service:box" if number % 3 == 0 else "agent:a/agent:b") for number in range(36)]
        for number, (_, marks) in enumerate(made):
            (inside if number % 3 == 0 else outside).extend(marks)
        await engine.store_many([item for item, _ in made])
        await settled(engine)
        await engine.erase(EraseRequest(reach=Reach.subtree(Namespace.agent("a"))))
        assert left_of(folder, outside) == []
        assert {*left_of(folder, inside)} == {*inside}
        assert check_file(path).is_clean
        await engine.erase(ALL)
        assert left_of(folder, inside) == []
    assert set(row_counts(path).values()) == {0}


async def test_words_stored_by_another_splitter_are_found_and_removed(
    folder: Path, segment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file outlives the Python that split its texts: the terms of then are removed though they would differ now."""
    with monkeypatch.context() as then:
        then.setattr(writer, "index_terms", lambda text, language: index_terms(text + " formerly", language))
        async with opened(folder / "memory.db") as engine:
            ids = await fill(engine, [note(f"text {number}") for number in range(20)])
            await settled(engine)
    async with opened(folder / "memory.db") as engine:
        await engine.forget(ForgetTarget(ids=ids[:5]))
        with closing(sqlite3.connect(folder / "memory.db")) as conn:
            found = conn.execute("SELECT first, data FROM post JOIN run ON run = id WHERE term = 'formerly'").fetchall()
        rows = [first + row for first, data in found for row in postings.unpack_posting(data)[0].tolist()]
        assert sorted(rows) == (list(range(5, 16)) if segment == 8 else [])
        await engine.forget(ForgetTarget(ids=ids[5:]))
    assert row_counts(folder / "memory.db") == NO_ROWS


async def test_failed_removal_removes_nothing(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    async with opened(folder / "memory.db") as engine:
        ids = await fill(engine, [note("a"), note("b")])
        before = everything(folder / "memory.db")

        def fail(*_: object) -> None:
            raise sqlite3.OperationalError("disk I/O error")

        with monkeypatch.context() as broken:
            broken.setattr(writer, "_remove", fail)
            with pytest.raises(Exception, match="disk I/O error"):
                await engine.forget(ForgetTarget(ids=ids))
        assert everything(folder / "memory.db") == before
        assert (await engine.forget(ForgetTarget(ids=ids))).forgotten == 2


def test_marks_fill_every_field() -> None:
    make = Marks()
    made = [make.item() for _ in range(9)]
    assert {item.item_kind for item, _ in made} == set(ItemKind)
    for item, marks in made:
        assert set(item.meta.model_dump(exclude_none=True)) == set(MemoryMeta.model_fields) - {"derive"}
        assert len(marks) > 25
        assert any(term.endswith(STEM_MARK) for term in index_terms(item.render_text(), item.meta.language).counts)
