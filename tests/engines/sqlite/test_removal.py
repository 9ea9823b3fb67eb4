"""What is left of removed items: no row, no string, no byte; and what stays that others still use."""

from __future__ import annotations

import random
import sqlite3
from contextlib import closing
from pathlib import Path

import pytest

from explorer.contract import (
    EraseRequest,
    ForgetReport,
    ForgetTarget,
    InvalidRequest,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    ToolCallRef,
    TurnRange,
)
from explorer.contract.meta import ActorRef
from explorer.engines.sqlite import postings, writer
from explorer.engines.sqlite.tokens import count_terms
from tests.engines.sqlite.support import everything, fill, list_all, note, opened, row_counts

ALL = EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True)
NO_ROWS = {"item": 0, "fac": 0, "dict": 0, "head": 0, "post": 0}


@pytest.fixture(params=[16, 1 << 14], ids=["sealed", "filling"])
def segment(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> int:
    """Words in sealed segments of 16 items, and all in the segment that is still filling."""
    monkeypatch.setattr(writer, "SEGMENT", request.param)
    monkeypatch.setattr(postings, "SEGMENT", request.param)
    return request.param


class Marks:
    """Items with a mark of their own in every field."""

    def __init__(self) -> None:
        self._rand = random.Random(3)

    def mark(self) -> str:
        return "".join(self._rand.choices("bcdfghjklmnpqrstvwxz", k=14))

    def item(self, namespace: str | None = None) -> tuple[StoreItem, list[str]]:
        marks = [self.mark() for _ in range(18)]
        m = iter(marks)
        item = note(
            f"{next(m)} {next(m)} " * 200 + f"{next(m)}.{next(m)}",
            namespace=Namespace.parse(namespace or f"agent:{next(m)}"),
            workspace=next(m),
            folder=f"/{next(m)}",
            file_path=f"/{next(m)}.py",
            language=next(m),
            repo=next(m),
            commit=next(m),
            url=f"https://{next(m)}.test/",
            thread_id=next(m),
            turns=TurnRange(first=self._rand.randrange(2**32), last=self._rand.randrange(2**32)),
            agent_id=next(m),
            tool_call=ToolCallRef(name=next(m), id=next(m)),
            source=SourceRef(kind=SourceKind.FILE, id=next(m)),
            tags=[self.mark(), self.mark()],
            observed_at=Timestamp.parse("2024-05-01T10:00:00.123456789Z"),
            observed_actor=ActorRef(id=next(m)),
        )
        meta = item.meta
        assert meta.turns is not None
        used = [mark for mark in marks if mark in item.model_dump_json()]
        return item, [*used, *meta.tags, f"{meta.turns.first}..", item.fingerprint()]


def bytes_of(folder: Path) -> bytes:
    """All bytes of all files, with the ids as the file holds them spelled out."""
    return b"".join(path.read_bytes() for path in sorted(folder.iterdir()))


def left_of(folder: Path, marks: list[str]) -> list[str]:
    held = bytes_of(folder)
    ids = [mark for mark in marks if len(mark) == 40 and bytes.fromhex(mark) in held]
    return [mark for mark in marks if mark.encode() in held] + ids


@pytest.mark.parametrize("how", ["ids", "filter", "erase"])
async def test_nothing_of_a_removed_item_is_in_any_file(folder: Path, segment: int, how: str) -> None:
    make = Marks()
    async with opened(folder / "memory.db") as engine:
        gone, kept, gone_marks, kept_marks = [], [], [], []
        for number in range(40):
            item, marks = make.item(f"agent:old/agent:a{number % 3}" if number % 2 else None)
            await engine.store(item)
            if number % 2:
                gone.append(item.fingerprint())
                gone_marks += [mark for mark in marks if not mark.startswith("a")]
            else:
                kept.append(item)
                kept_marks += marks
        assert len(left_of(folder, gone_marks)) >= len(gone_marks)
        reach = Reach.subtree(Namespace.agent("old"))
        if how == "ids":
            assert (await engine.forget(ForgetTarget(ids=gone))).forgotten == 20
        elif how == "filter":
            assert (await engine.forget(ForgetTarget(filter=MetaFilter(reach=reach)))).forgotten == 20
        else:
            report = await engine.erase(EraseRequest(reach=reach))
            assert (report.erased_scopes, report.receipts) == (3, [])
        assert left_of(folder, gone_marks) == []
        assert {*left_of(folder, kept_marks)} >= {*kept_marks}
        # As if only the kept ones had ever been stored: no row too many in any table.
        terms = sum(len(count_terms(item.render_text())) for item in kept)
        with closing(sqlite3.connect(folder / "memory.db")) as conn:
            in_head = sum(len(tf) for (tf,) in conn.execute("SELECT tf FROM head"))
            in_post = sum(len(data) // 3 for (data,) in conn.execute("SELECT data FROM post"))
        assert in_head + in_post == terms
        assert (in_post > 0) == (segment == 16)
    assert left_of(folder, gone_marks) == []
    counts = row_counts(folder / "memory.db")
    assert (counts["item"], counts["fac"]) == (20, 20)
    async with opened(folder / "memory.db") as engine:
        assert {hit.id for hit in await list_all(engine)} == {item.fingerprint() for item in kept}


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


async def test_unfinished_removal_is_said_until_the_reader_lets_go(folder: Path) -> None:
    path = folder / "memory.db"
    async with opened(path, busy_timeout_s=0.05) as engine:
        await fill(engine, [note("unforgettable"), note("b")])
        with closing(sqlite3.connect(path, isolation_level=None)) as other:
            other.execute("BEGIN")
            other.execute("SELECT * FROM item").fetchone()
            report = await engine.erase(ALL)
            assert "still holds traces" in report.receipts[0]
            assert await list_all(engine) == []
            health = await engine.health()
            assert health.state == "degraded"
            assert "still holds traces" in (health.reason or "")
            assert b"unforgettable" in bytes_of(folder)
            other.execute("ROLLBACK")
        await engine.store(note("the next change"))
        assert (await engine.health()).state == "ok"
        assert b"unforgettable" not in bytes_of(folder)


async def test_words_stored_by_another_splitter_are_found_and_removed(
    folder: Path, segment: int, monkeypatch: pytest.MonkeyPatch
) -> None:
    """A file outlives the Python that split its texts: the terms of then are removed though they would differ now."""
    with monkeypatch.context() as then:
        then.setattr(writer, "count_terms", lambda text: count_terms(text + " formerly"))
        async with opened(folder / "memory.db") as engine:
            ids = await fill(engine, [note(f"text {number}") for number in range(20)])
    async with opened(folder / "memory.db") as engine:
        await engine.forget(ForgetTarget(ids=ids[:5]))
        with closing(sqlite3.connect(folder / "memory.db")) as conn:
            for (data,) in conn.execute("SELECT data FROM post WHERE term = 'formerly'"):
                assert postings.unpack_posting(data)[0].tolist() == list(range(5, 16))
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
    item, marks = Marks().item()
    assert set(item.meta.model_dump(exclude_none=True)) == set(MemoryMeta.model_fields) - {"derive"}
    assert len(marks) > 15
