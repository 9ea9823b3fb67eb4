"""Items come back as they were stored, after closing too; replays, batches and ids."""

from __future__ import annotations

import sqlite3
import zlib
from contextlib import closing
from pathlib import Path

import pytest

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    EngineHealth,
    GetRequest,
    InvalidRequest,
    ItemId,
    Learning,
    LearningKind,
    ListRequest,
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
    dump_item,
    parse_item,
)
from explorer.contract.meta import ActorRef
from explorer.engines import EngineSettings
from explorer.engines.sqlite import build
from tests.engines.sqlite.support import fill, list_all, note, opened

AT = Timestamp.parse("2024-05-01T10:00:00.123456789Z")

FULL = MemoryMeta(
    namespace=Namespace.parse("team:acme/agent:writer"),
    workspace="/ws",
    folder="/ws/src",
    file_path="/ws/src/a.py",
    language="python",
    repo="acme/app",
    commit="c0ffee",
    url="https://acme.test/?q=1#x",
    thread_id="t-1",
    turns=TurnRange(first=3, last=2**32 - 1),
    agent_id="writer",
    tool_call=ToolCallRef(name="grep", id="call-1"),
    source=SourceRef(kind=SourceKind.FILE, id="f-1"),
    tags=["b", "a", "b", ""],
    observed_at=AT,
    derive=False,
    observed_actor=ActorRef(id="user:priya@acme.test", name="Priya"),
)

ITEMS: list[StoreItem] = [
    Document(title="T", body=DocumentBody(text="text\0with\x1f marks \u202e and 🚀"), mime="text/markdown", meta=FULL),
    Document(title="", body=DocumentBody(text="x" * 3_000_000)),
    Conversation(
        turns=[
            Turn(role=Role.USER, text="hello", at=AT),
            Turn(role=Role.ASSISTANT, text="done", tool_calls=[ToolCallRef(name="shell", id="1")]),
        ],
        meta=FULL,
    ),
    Learning(text="likes tea", kind=LearningKind.PREFERENCE, confidence=0.8, evidence="said so", meta=FULL),
]


async def test_items_survive_closing_whole(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        ids = await fill(engine, ITEMS)
    assert ids == [item.fingerprint() for item in ITEMS]
    async with opened(tmp_path / "memory.db") as engine:
        assert [found.item for found in await engine.get_items(GetRequest(ids=ids))] == ITEMS
        for hit, item in zip(await engine.get(GetRequest(ids=ids)), ITEMS, strict=True):
            assert (hit.text, hit.meta, hit.score) == (item.render_text(), item.meta, 0.0)
            assert hit.confidence == item.confidence_or_none
        exported = await engine.export(ListRequest(limit=10))
        assert sorted((found.id, found.item.model_dump_json()) for found in exported.items) == sorted(
            (id, item.model_dump_json()) for id, item in zip(ids, ITEMS, strict=True)
        )


async def test_real_items_come_back_byte_for_byte(tmp_path: Path, real_items: Path) -> None:
    items = [parse_item(line) for line in real_items.read_text("utf-8").splitlines()]
    async with opened(tmp_path / "memory.db") as engine:
        ids = await fill(engine, items)
        held: dict[str, str] = {}
        for start in range(0, len(ids), 200):
            found = await engine.get_items(GetRequest(ids=ids[start : start + 200]))
            held |= {one.id: one.item.model_dump_json() for one in found}
        # Items in a sandbox are only seen from inside.
        for id, item in zip(ids, items, strict=True):
            if id not in held:
                reach = Reach.exact(item.meta.namespace)
                (one,) = await engine.get_items(GetRequest(ids=[id], reach=reach))
                held[id] = one.item.model_dump_json()
        assert [held[id] for id in ids] == [dump_item(item) for item in items]


async def test_same_item_seen_later_is_a_replay_and_keeps_the_first_time(tmp_path: Path) -> None:
    first = note("a", observed_at=AT)
    later = note("a", observed_at=Timestamp.parse("2025-01-01T00:00:00Z"))
    async with opened(tmp_path / "memory.db") as engine:
        assert not (await engine.store(first)).replayed
        assert (await engine.store(later)).replayed
        assert [hit.meta.observed_at for hit in await list_all(engine)] == [AT]


async def test_repeat_inside_a_batch_is_a_replay_of_its_first_copy(tmp_path: Path) -> None:
    a, b = note("a"), note("b")
    async with opened(tmp_path / "memory.db") as engine:
        await engine.store(b)
        receipts = await engine.store_many([a, b, a, note("c"), a])
        assert [receipt.replayed for receipt in receipts] == [False, True, True, False, True]
        assert [receipt.id for receipt in receipts][::2] == [a.fingerprint()] * 3
        assert len(await list_all(engine)) == 3


async def test_of_copies_seen_at_different_times_the_first_of_the_batch_is_kept(tmp_path: Path) -> None:
    later = Timestamp.parse("2025-01-01T00:00:00Z")
    async with opened(tmp_path / "memory.db") as engine:
        receipts = await engine.store_many([note("a", observed_at=AT), note("a", observed_at=later), note("a")])
        assert [receipt.replayed for receipt in receipts] == [False, True, True]
        assert [hit.meta.observed_at for hit in await list_all(engine)] == [AT]


async def test_file_holds_the_wire_form_to_the_byte(tmp_path: Path) -> None:
    items = [*ITEMS, note("x"), note("the same words " * 1_000)]
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, items)
    with closing(sqlite3.connect(tmp_path / "memory.db")) as conn:
        held = conn.execute("SELECT fp, payload FROM item ORDER BY id").fetchall()
    forms = [payload if payload[:1] == b"{" else zlib.decompress(payload) for _, payload in held]
    assert [fp for fp, _ in held] == [bytes.fromhex(item.fingerprint()) for item in items]
    assert forms == [dump_item(item).encode() for item in items]
    assert all(len(payload) <= len(form) for (_, payload), form in zip(held, forms, strict=True))
    assert len(held[-1][1]) < 500


async def test_content_that_is_not_compressed_is_read(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, ITEMS)
    with closing(sqlite3.connect(tmp_path / "memory.db")) as conn:
        plain = [(dump_item(item).encode(), bytes.fromhex(item.fingerprint())) for item in ITEMS]
        conn.executemany("UPDATE item SET payload = ? WHERE fp = ?", plain)
        conn.commit()
    async with opened(tmp_path / "memory.db") as engine:
        found = await engine.get_items(GetRequest(ids=[item.fingerprint() for item in ITEMS]))
    assert [exported.item for exported in found] == ITEMS


async def test_refused_batch_stores_nothing_and_makes_no_file(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        with pytest.raises(InvalidRequest, match="document body must not be empty"):
            await engine.store_many([note("a"), note("b"), note(" ")])
        assert not (tmp_path / "memory.db").exists()
        assert await list_all(engine) == []
        assert await engine.health() == EngineHealth.ok()


async def test_get_takes_ids_in_order_and_leaves_out_what_it_does_not_know(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        a, b, c = await fill(engine, [note("a"), note("b"), note("c", namespace=Namespace.agent("x"))])
        strange = [ItemId(id) for id in ("openclaw:main", "a/b", "..", "%2F", "é", a.upper() + "0", "0" * 40, "'; --")]
        hits = await engine.get(GetRequest(ids=[c, *strange, a, b, a]))
        assert [hit.id for hit in hits] == [c, a, b]
        reach = Reach.of(Namespace.agent("y"))
        assert [hit.id for hit in await engine.get(GetRequest(ids=[c, a], reach=reach))] == [a]


async def test_sandbox_is_read_only_from_inside(tmp_path: Path) -> None:
    service = Namespace.parse("agent:a/service:job")
    async with opened(tmp_path / "memory.db") as engine:
        (id,) = await fill(engine, [note("a", namespace=service)])
        assert await engine.get(GetRequest(ids=[id])) == []
        assert await list_all(engine) == []
        assert [hit.id for hit in await engine.get(GetRequest(ids=[id], reach=Reach.exact(service)))] == [id]


async def test_counting_nodes_checks_its_request_first(tmp_path: Path) -> None:
    engine = build(EngineSettings(path=str(tmp_path / "a.db")), None)
    with pytest.raises(InvalidRequest, match="scan_limit"):
        await engine.namespaces(MetaFilter(), 0)
    await engine.aclose()
    assert not (tmp_path / "a.db").exists(), "nothing was touched"


def test_a_changed_descriptor_is_the_callers_own(tmp_path: Path) -> None:
    engine = build(EngineSettings(path=str(tmp_path / "a.db")), None)
    engine.descriptor().fetch_modes.clear()
    assert engine.descriptor().fetch_modes
