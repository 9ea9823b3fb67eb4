"""The window on real conversations shows what the file holds, counted by code of the test's own."""

from __future__ import annotations

import json
from collections import Counter
from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from explorer.contract import Facet
from explorer.engines import EngineSettings, build_engine
from explorer.options import Options
from explorer.text import number
from explorer.transfer import import_jsonl
from explorer.ui.models.facet_rows import RowType
from explorer.ui.models.item_model import SPAN_PAGE
from tests.conftest import Until
from tests.ui.test_app import is_idle, rows, running
from tests.ui.test_main_window import count_text, drill


@pytest.mark.limit_s(60)
async def test_the_window_opens_on_real_items(qtbot: QtBot, tmp_path: Path, until: Until, real_items: Path) -> None:
    path = tmp_path / "real.db"
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    async for _ in import_jsonl(engine, real_items):
        pass
    await engine.aclose()
    items = [json.loads(line) for line in real_items.read_text(encoding="utf-8").splitlines()]
    items = [item for item in items if "service:" not in item["meta"].get("namespace", "")]

    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program), 20)
        window = program.window
        assert number(len(items)) in count_text(window)
        assert rows(program) == min(SPAN_PAGE, len(items))

        def shown(facet: Facet) -> dict[str, int]:
            section = window.facets.model.section(facet)
            return {bucket.value: bucket.count for bucket in section.page.buckets} if section.page else {}

        assert shown(Facet.KIND) == dict(Counter(item["type"] for item in items))
        tags = Counter(tag for item in items for tag in set(item["meta"].get("tags", [])))
        assert shown(Facet.TAG).items() <= tags.items()
        window.facets.reveal(Facet.NAMESPACE)
        await until(lambda: is_idle(program) and bool(shown(Facet.NAMESPACE)), 20)
        assert shown(Facet.NAMESPACE) == dict(Counter(item["meta"].get("namespace", "root") for item in items))

        drill(qtbot, window, Facet.KIND, "conversation")
        talks = [item for item in items if item["type"] == "conversation"]
        await until(lambda: is_idle(program) and rows(program) == min(SPAN_PAGE, len(talks)), 20)
        assert window.facets.model.row_index(Facet.KIND, RowType.VALUE, "conversation").isValid()
        assert number(len(talks)) in count_text(window)
        assert any(
            talks[0]["turns"][0]["text"][:20] in hit.text for hit in map(window.items.model.hit, range(rows(program)))
        )
