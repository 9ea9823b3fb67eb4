"""A list whose engine serves any place of it, in five orders: over a real file."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from explorer.contract import (
    EngineFailure,
    ForgetTarget,
    Hit,
    ItemId,
    ItemKind,
    ListOrder,
    MemoryMeta,
    MetaFilter,
    SortBy,
    Span,
    SpanRequest,
    Timestamp,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.ui.items import ItemList
from explorer.ui.models.item_model import MAX_SPAN_PAGES, SPAN_PAGE, Column, ItemModel
from explorer.ui.viewer_parts.why import Question, ask_why, reason_of
from tests.conftest import Until
from tests.fakes import FakeEngine, learning

NARROW = "\u202f"


class Watched(SqliteEngine):
    """Notes what spans are asked for; fails or waits when told to."""

    def __init__(self, path: Path) -> None:
        super().__init__(path, embedder=None)
        self.spans: list[SpanRequest] = []
        self.error: Exception | None = None
        self.most = 1_000
        """As many rows are given of a span, whatever is asked for."""
        self.forgets = False
        self.gate = asyncio.Event()
        self.gate.set()

    async def list_span(self, req: SpanRequest) -> Span:
        self.spans.append(req)
        await self.gate.wait()
        if self.error is not None:
            raise self.error
        span = await super().list_span(req)
        if self.forgets:
            span = span.model_copy(update={"listing": str(len(self.spans))})
        return span.model_copy(update={"items": span.items[: self.most]})


def moment(n: int) -> Timestamp:
    return Timestamp.parse(f"20{10 + n // 10_000:02}-01-01T{n // 3600 % 24:02}:{n // 60 % 60:02}:{n % 60:02}Z")


@asynccontextmanager
async def opened(
    qtbot: QtBot, tmp_path: Path, until: Until, n: int = 1_000, **meta: Any
) -> AsyncIterator[tuple[ItemList, Watched]]:
    """A list of `item 0` (the oldest) to `item n-1`, at two agents."""
    engine = Watched(tmp_path / "a.db")
    for start in range(0, n, 100):
        await engine.store_many(
            [
                learning(f"item {at}", observed_at=moment(at), agent_id=f"agent-{at % 2}", **meta)
                for at in range(start, min(n, start + 100))
            ]
        )
    items = ItemList(zone=UTC)
    qtbot.addWidget(items)
    items.resize(680, 600)
    items.show()
    items.set_engine(engine, "a.db")
    items.show_filter(MetaFilter())
    await settled(items, until)
    try:
        yield items, engine
    finally:
        engine.gate.set()
        await items.aclose()
        await engine.aclose()


async def settled(items: ItemList, until: Until) -> None:
    def is_settled() -> bool:
        current = items.view.currentIndex()
        rows = range(current.row(), current.row() + 1) if current.isValid() else range(0)
        return not (items.jobs.is_busy or items.model.missing(items.view.visible_rows()) or items.model.missing(rows))

    await until(is_settled)


def seen(items: ItemList) -> list[str | None]:
    """The texts of the rows that are in view."""
    return [hit.text if (hit := items.model.held(row)) else None for row in items.view.visible_rows()]


def words(text: str) -> str:
    return text.replace(NARROW, " ")


async def test_the_scroll_bar_spans_all_and_the_end_is_one_key_away(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        assert items.model.rowCount() == 1_000
        assert items.model.held_count == SPAN_PAGE
        assert words(items.count_label.text()) == "1 000 items"
        chosen: list[Hit] = []
        items.item_selected.connect(chosen.append)
        qtbot.keyClick(items.view, Qt.Key.Key_End)
        assert chosen == []  # what is not read yet cannot be shown
        await settled(items, until)
        assert seen(items)[-1] == "item 0"
        assert [hit.text for hit in chosen] == ["item 0"]
        assert [req.offset for req in engine.spans] == [0, 1_000 - SPAN_PAGE]
        assert words(items.loaded_label.text()).endswith("to 1 000 of 1 000")


async def test_rows_in_between_are_read_when_looked_at(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        engine.gate.clear()
        bar = items.view.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
        assert set(seen(items)) == {None}
        assert items.model.data(items.model.index(500, Column.TEXT)) == "not read yet"
        assert not items.view.grab().isNull()
        for part in (4, 3):  # pulled on before that came
            bar.setValue(bar.maximum() * part // 5)
        engine.gate.set()
        await settled(items, until)
        first = items.view.visible_rows().start
        assert seen(items) == [f"item {999 - row}" for row in items.view.visible_rows()]
        assert 550 < first < 650
        assert items.model.held_count <= 3 * SPAN_PAGE


async def test_a_filter_chosen_far_down_is_shown_from_its_top(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        await engine.store_many([learning(f"few {at:02}", tags=["few"]) for at in range(21)])
        qtbot.keyClick(items.view, Qt.Key.Key_End)
        await settled(items, until)
        items.show_filter(MetaFilter(tags_any=["few"]))
        await settled(items, until)
        assert engine.spans[-1].offset == 0
        assert items.model.rowCount() == 21
        assert items.view.verticalScrollBar().value() == 0
        assert None not in seen(items)
        items.show_filter(MetaFilter(agent_id="agent-1"))
        await settled(items, until)
        assert items.model.rowCount() == 500
        qtbot.keyClick(items.view, Qt.Key.Key_End)
        await settled(items, until)
        assert seen(items)[-1] == "item 1"


async def test_no_more_than_some_pages_are_held(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.ui.models.item_model.MAX_SPAN_PAGES", 2)
    assert MAX_SPAN_PAGES > 2
    async with opened(qtbot, tmp_path, until) as (items, _):
        for row in (0, 450, 999, 0):
            items.view.scrollTo(items.model.index(row, Column.TEXT))
            await until(lambda: not items.jobs.is_busy and None not in seen(items))
            assert items.model.held_count <= 2 * SPAN_PAGE


async def test_rows_that_fail_are_asked_again_only_by_retry(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        engine.error = EngineFailure("disk")
        qtbot.keyClick(items.view, Qt.Key.Key_End)
        await until(lambda: items.banner.sentence)
        asked = len(engine.spans)
        items.view.scrollToTop()
        items.view.scrollToBottom()
        await until(lambda: not items.jobs.is_busy)
        assert len(engine.spans) == asked
        engine.error = None
        items.banner.findChild(type(items.load_more_button), "bannerActionButton").click()
        await settled(items, until)
        assert seen(items)[-1] == "item 0"


@pytest.mark.parametrize("most", [0, 30])
async def test_rows_that_the_engine_withholds_are_not_asked_for_without_end(
    qtbot: QtBot, tmp_path: Path, until: Until, most: int
) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        engine.most = most
        qtbot.keyClick(items.view, Qt.Key.Key_End)
        await until(lambda: items.banner.sentence and not items.jobs.is_busy)
        assert items.banner.sentence == "The engine failed: it did not give all rows that it says there are."
        asked = len(engine.spans)
        items.view.scrollToTop()
        items.view.scrollToBottom()
        await until(lambda: not items.jobs.is_busy)
        assert len(engine.spans) == asked == 2
        engine.most = 1_000
        retry = items.banner.findChild(QPushButton, "bannerActionButton")
        qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
        await settled(items, until)
        assert seen(items)[-1] == "item 0"


async def test_a_press_on_a_head_sorts_and_another_turns_it_round(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, n=300) as (items, _):
        head = items.view.head

        async def press(column: Column) -> None:
            at = QPoint(head.sectionViewportPosition(column) + 20, head.height() // 2)
            qtbot.mouseClick(head.viewport(), Qt.MouseButton.LeftButton, pos=at)
            await settled(items, until)

        items.set_column_shown(Column.AGENT, True)
        items.resize(1_000, 600)
        assert head.model().headerData(Column.OBSERVED, Qt.Orientation.Horizontal) == "↓ Observed"
        await press(Column.OBSERVED)
        assert (items.order, seen(items)[0]) == (ListOrder(descending=False), "item 0")
        assert head.model().headerData(Column.OBSERVED, Qt.Orientation.Horizontal) == "↑ Observed"
        assert items.sort_button.text() == "Oldest first"
        await press(Column.AGENT)
        assert seen(items)[:2] == ["item 298", "item 296"]
        await press(Column.AGENT)
        assert seen(items)[:2] == ["item 299", "item 297"]
        assert items.sort_button.text() == "By agent, Z to A"
        before = items.order
        await press(Column.TEXT)
        assert items.order == before
        assert items.model.headerData(Column.TEXT, Qt.Orientation.Horizontal, Qt.ItemDataRole.ToolTipRole) == (
            "SQLite file does not sort by this"
        )


async def test_the_menu_greys_what_cannot_be_sorted_by(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, n=3) as (items, _):
        items.sort_button.fill()
        actions = {action.text(): action for action in items.sort_button.menu().actions() if action.text()}
        assert actions["Newest first"].isChecked()
        assert not actions["By confidence"].isEnabled()
        assert actions["By confidence"].toolTip() == "SQLite file does not sort by this"
        actions["Oldest first"].trigger()
        await settled(items, until)
        assert seen(items) == ["item 0", "item 1", "item 2"]
        items.show_filter(MetaFilter(), "item")
        await settled(items, until)
        items.sort_button.fill()
        assert not any(action.isEnabled() for action in items.sort_button.menu().actions() if action.text())
        assert items.sort_button.text() == "Best first"


async def test_the_current_item_is_found_again_wherever_it_stands(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        left: list[bool] = []
        items.current_left.connect(left.append)
        qtbot.keyClick(items.view, Qt.Key.Key_End)
        await settled(items, until)
        await engine.store(learning("newest", observed_at=Timestamp.parse("2026-01-01T00:00:00Z")))
        items.refresh()
        await settled(items, until)
        current = items.current_hit()
        assert current is not None
        assert (current.text, items.view.currentIndex().row()) == ("item 0", 1_000)
        items.set_order(ListOrder(by=SortBy.OBSERVED, descending=False))
        await settled(items, until)
        assert items.view.currentIndex().row() == 0
        assert items.view.verticalScrollBar().value() == 0
        assert left == []
        assert current is not None
        await engine.forget(ForgetTarget(ids=[current.id]))
        items.refresh()
        await settled(items, until)
        assert left == [True]


async def test_an_item_is_gone_to_wherever_it_stands(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        far = (await engine.list_span(SpanRequest(offset=700, limit=1))).items[0]
        assert far is not None
        assert not items.select_id(far.id)  # not yet
        await until(lambda: items.current_hit() == far)
        await settled(items, until)
        assert items.view.currentIndex().row() in items.view.visible_rows()
        assert None not in seen(items)
        assert not items.select_id(ItemId("a" * 40))
        await settled(items, until)
        assert items.current_hit() == far


async def test_what_went_before_it_was_read_is_said_in_its_row(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        last = (await engine.list_span(SpanRequest(offset=999, limit=1))).items[0]
        assert last is not None
        await engine.forget(ForgetTarget(ids=[last.id]))
        qtbot.keyClick(items.view, Qt.Key.Key_End)
        await settled(items, until)
        assert items.model.data(items.model.index(999, Column.TEXT)) == "no longer stored"
        assert items.model.rowCount() == 1_000
        assert not items.view.grab().isNull()


async def test_a_listing_that_the_engine_forgot_is_read_anew(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        await engine.store(learning("newest", observed_at=Timestamp.parse("2026-01-01T00:00:00Z")))
        for by in (SortBy.KIND, SortBy.NODE, SortBy.AGENT, SortBy.SOURCE):
            await engine.list_span(SpanRequest(order=ListOrder(by=by), offset=0, limit=1))
        items.view.scrollToBottom()
        await settled(items, until)
        assert items.model.rowCount() == 1_001
        assert None not in seen(items)


async def test_an_engine_that_forgets_each_listing_is_not_asked_without_end(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        engine.forgets = True
        items.view.scrollTo(items.model.index(SPAN_PAGE - 2, Column.TEXT), items.view.ScrollHint.PositionAtTop)
        await until(lambda: items.banner.sentence)
        await until(lambda: not items.jobs.is_busy)
        assert items.banner.sentence == "The engine failed: it forgets each list before it can be read on."
        assert len(engine.spans) < 12
        engine.forgets = False
        items.refresh()
        await settled(items, until)
        assert None not in seen(items)
        assert items.banner.sentence == ""


async def test_leaving_a_search_returns_to_the_list_where_it_was(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, _):
        items.view.setCurrentIndex(items.model.index(700, Column.TEXT))
        await settled(items, until)
        bar = items.view.verticalScrollBar()
        was = bar.value()
        assert was > 0
        items.show_filter(MetaFilter(), "item")
        await settled(items, until)
        items.view.setCurrentIndex(items.model.index(3, Column.TEXT))
        items.show_filter(MetaFilter())
        await settled(items, until)
        assert bar.value() == was
        current = items.current_hit()
        assert current is not None
        assert current.text == "item 299"
        items.show_filter(MetaFilter(agent_id="agent-1"))
        await settled(items, until)
        assert bar.value() == 0


async def test_why_tells_the_place_in_the_order_that_was_chosen(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as (items, engine):
        hit = items.model.hit(0)
        question = Question(order=ListOrder(descending=False))
        reason = reason_of(hit, question, await ask_why(engine, question, hit.id), UTC)
        assert words(reason.lead) == (
            "Item 1 000 of this list. Nothing is searched for, so the order is the one chosen for the list."
        )
        newest = await ask_why(engine, Question(), hit.id)
        assert reason_of(hit, Question(), newest, UTC).lead.startswith(
            "Item 1 of this list. Nothing is searched for, so the newest come first;"
        )


class Million(FakeEngine):
    """Makes up the rows of a long list as they are asked for."""

    TOTAL = 1_000_000

    def sorts(self) -> frozenset[SortBy]:
        return frozenset({SortBy.OBSERVED})

    async def list_span(self, req: SpanRequest) -> Span:
        await self._pass("list_span", req)
        rows = range(req.offset, min(self.TOTAL, req.offset + req.limit))
        kind, meta = ItemKind.DOCUMENT, MemoryMeta()
        items = [Hit(id=ItemId(f"{row:040}"), kind=kind, text=f"row {row}", meta=meta, score=0.0) for row in rows]
        return Span(items=list(items), total=self.TOTAL, listing="all")


async def test_a_million_rows_are_walked_without_being_held(qtbot: QtBot, until: Until) -> None:
    engine = Million()
    items = ItemList(zone=UTC)
    qtbot.addWidget(items)
    items.resize(680, 600)
    items.show()
    items.set_engine(engine, "a.db")
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert words(items.count_label.text()) == "1 000 000 items"
    bar = items.view.verticalScrollBar()
    for part in range(0, 101, 4):
        bar.setValue(bar.maximum() * part // 100)
        await settled(items, until)
        assert seen(items) == [f"row {row}" for row in items.view.visible_rows()]
    assert seen(items)[-1] == "row 999999"
    assert items.model.held_count <= MAX_SPAN_PAGES * SPAN_PAGE
    assert sum(req.limit for req in engine.requests("list_span")) < 20_000
    qtbot.keyClick(items.view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
    assert words(items.selected_label.text()) == "1 000 000 selected, all that match"
    assert items.selected_filter == MetaFilter()
    assert not items.view.grab().isNull()  # at once, head and all: no part of it looks at each row
    qtbot.keyClick(items.view, Qt.Key.Key_Home)
    await settled(items, until)
    assert items.selected_label.text() == "1 selected"
    assert items.sort_button.text() == "Newest first"
    assert not items.model.can_sort(Column.NODE)
    await items.aclose()


def test_the_model_keeps_to_qts_rules(qtmodeltester: Any) -> None:
    def span(first: int, stop: int) -> Span:
        items = [learning(f"item {row}") for row in range(first, stop)]
        hits: list[Hit | None] = [Hit.of_item(item.fingerprint(), item) for item in items]
        return Span(items=[*hits[:-1], None], total=450, listing="a")

    model = ItemModel()
    model.show_span(span(200, 400), 200, ListOrder())
    qtmodeltester.check(model)
    model.put_span(span(400, 450), 400)
    qtmodeltester.check(model)
    assert model.missing(range(190, 450)) == range(200 - SPAN_PAGE, 200)
    assert model.missing(range(200, 450)) == range(0)
    assert (model.held(199), model.is_gone(449), model.is_gone(199)) == (None, True, False)
    model.clear()
    qtmodeltester.check(model)
