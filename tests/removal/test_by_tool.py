"""What an agent's tool would write, held back until a person has seen it."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from explorer.contract import Conflict, GetRequest, ItemId, Namespace, Reach, StoreItem
from explorer.contract.reference import ReferenceEngine
from explorer.removal.by_tool import ToolWrites
from explorer.removal.journal import Journal
from explorer.tools import MemoryTools, ToolScope
from tests.fakes import filled, learning

WRITER = Namespace.parse("team:acme/agent:writer")
SCOPE = ToolScope.at(WRITER)
ITEMS: list[StoreItem] = [
    learning("mine", str(WRITER), tags=["t"]),
    learning("above", "team:acme", tags=["t"]),
    learning("beside", "team:acme/agent:triage", tags=["t"]),
]


async def held(tmp_path: Path) -> tuple[ReferenceEngine, ToolWrites, list[ItemId]]:
    engine = await filled(ITEMS)
    ids = [item.fingerprint() for item in ITEMS]
    return engine, ToolWrites(engine, Journal(tmp_path), "a.db", SCOPE.reach), [ItemId(id) for id in ids]


async def there(engine: ReferenceEngine, ids: list[ItemId]) -> set[str]:
    return {hit.text for hit in await engine.get(GetRequest(ids=ids, reach=Reach.subtree(Namespace.ROOT)))}


async def test_a_rehearsal_writes_nothing(tmp_path: Path) -> None:
    engine, writes, ids = await held(tmp_path)
    tools = MemoryTools.with_scope(writes.rehearsing(), SCOPE)
    told = json.loads(await tools.call("memory_forget", {"ids": ids}))
    assert told == {"forgotten": 0, "skipped": [ids[2]]}
    assert writes.forgets is not None
    assert writes.forgets.ids == ids[:2]
    await tools.call("memory_store", {"document": {"text": "new"}})
    assert writes.stores is not None
    assert writes.stores.meta.namespace == WRITER
    assert await there(engine, ids) == {"mine", "above", "beside"}
    assert Journal(tmp_path).entries() == []


@pytest.mark.parametrize("by_filter", [False, True])
async def test_what_is_agreed_to_goes_with_a_receipt(tmp_path: Path, by_filter: bool) -> None:
    engine, writes, ids = await held(tmp_path)
    arguments = {"filter": {"tags_any": ["t"]}} if by_filter else {"ids": ids}
    await MemoryTools.with_scope(writes.rehearsing(), SCOPE).call("memory_forget", arguments)
    await writes.plan()
    assert writes.removal is not None
    assert writes.removal.preview is not None
    assert set(writes.removal.preview.ids) == set(ids[:2])
    told = json.loads(await MemoryTools.with_scope(writes.running(), SCOPE).call("memory_forget", arguments))
    assert told == {"forgotten": 2, "skipped": [] if by_filter else [ids[2]]}
    assert await there(engine, ids) == {"beside"}
    [entry] = Journal(tmp_path).entries()
    assert (entry.action, entry.planned, entry.path) == ("forget", 2, writes.outcome and writes.outcome.receipt)


async def test_what_matches_by_now_and_was_not_seen_stays(tmp_path: Path) -> None:
    engine, writes, ids = await held(tmp_path)
    arguments = {"filter": {"tags_any": ["t"]}}
    await MemoryTools.with_scope(writes.rehearsing(), SCOPE).call("memory_forget", arguments)
    await writes.plan()
    late = await engine.store(learning("late", str(WRITER), tags=["t"]))
    await MemoryTools.with_scope(writes.running(), SCOPE).call("memory_forget", arguments)
    assert await there(engine, [*ids, late.id]) == {"beside", "late"}


async def test_nothing_planned_forgets_nothing(tmp_path: Path) -> None:
    engine, writes, ids = await held(tmp_path)
    arguments = {"filter": {"tags_any": ["none"]}}
    await MemoryTools.with_scope(writes.rehearsing(), SCOPE).call("memory_forget", arguments)
    await writes.plan()
    assert writes.removal is None
    late = await engine.store(learning("late", str(WRITER), tags=["none"]))
    told = await MemoryTools.with_scope(writes.running(), SCOPE).call("memory_forget", arguments)
    assert told == '{"forgotten":0,"skipped":[]}'
    assert await there(engine, [*ids, late.id]) == {"mine", "above", "beside", "late"}


async def test_another_target_than_the_one_agreed_to_is_refused(tmp_path: Path) -> None:
    engine, writes, ids = await held(tmp_path)
    await MemoryTools.with_scope(writes.rehearsing(), SCOPE).call("memory_forget", {"ids": ids[:1]})
    await writes.plan()
    with pytest.raises(Conflict, match="nothing was forgotten"):
        await MemoryTools.with_scope(writes.running(), SCOPE).call("memory_forget", {"ids": ids[:2]})
    assert await there(engine, ids) == {"mine", "above", "beside"}
