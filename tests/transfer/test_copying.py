"""Items as text to put elsewhere, whatever became of them meanwhile."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.contract import (
    ExportPage,
    ForgetTarget,
    Hit,
    ListRequest,
    MemoryEngine,
    Unsupported,
    dump_item,
    parse_item,
)
from explorer.contract.query import MAX_GET_IDS
from explorer.contract.reference import ReferenceEngine
from explorer.transfer import CopyForm, copied, export_named
from tests.fakes import filled, learning


async def some(n: int) -> tuple[ReferenceEngine, list[Hit]]:
    engine = await filled((learning(f"item {at}") for at in range(n)), ReferenceEngine())
    return engine, (await engine.list(ListRequest(limit=n))).items


async def test_more_than_one_read_takes_keep_their_order() -> None:
    engine, hits = await some(MAX_GET_IDS + 50)
    cut = [hit.model_copy(update={"text": hit.text[:2]}) for hit in hits]
    assert await copied(engine, cut, CopyForm.TEXT) == [hit.text for hit in hits]
    assert await copied(engine, cut, CopyForm.JSON) == [dump_item(learning(hit.text)) for hit in hits]


async def test_what_was_removed_is_left_out() -> None:
    engine, hits = await some(3)
    await engine.forget(ForgetTarget(ids=[hits[1].id]))
    assert await copied(engine, hits, CopyForm.TEXT) == ["item 0", "item 2"]
    assert await copied(engine, hits, CopyForm.ID) == [hits[0].id, hits[2].id]
    assert len(await copied(engine, hits, CopyForm.JSON)) == 2


async def test_the_items_named_are_exported_and_the_gone_ones_told(tmp_path: Path) -> None:
    engine, hits = await some(MAX_GET_IDS + 5)
    await engine.forget(ForgetTarget(ids=[hits[3].id]))
    target = tmp_path / "some.jsonl"
    steps = [step async for step in export_named(engine, target, [hit.id for hit in reversed(hits)])]
    texts = [parse_item(line).render_text() for line in target.read_text("utf-8").splitlines()]
    assert texts == [hit.text for hit in reversed(hits) if hit is not hits[3]]
    assert [id for step in steps for id in step.incomplete] == [hits[3].id]
    assert (steps[-1].is_done, steps[-1].written) == (True, len(texts))


async def test_json_needs_an_engine_that_exports() -> None:
    class Closed(ReferenceEngine):
        get_items = MemoryEngine.get_items

        async def export(self, req: ListRequest) -> ExportPage:
            return await MemoryEngine.export(self, req)

    engine = await filled([learning("item")], Closed())
    hits = (await engine.list(ListRequest(limit=1))).items
    assert await copied(engine, hits, CopyForm.TEXT) == ["item"]
    with pytest.raises(Unsupported):
        await copied(engine, hits, CopyForm.JSON)
