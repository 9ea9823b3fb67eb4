from __future__ import annotations

from datetime import UTC
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QFont, QGuiApplication
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from explorer.conditions import QUERY, Condition, conditions
from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    EngineFailure,
    EngineHealth,
    ExplorePage,
    Facet,
    FetchMode,
    ForgetTarget,
    Hit,
    ItemId,
    ItemKind,
    ListPage,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    Timestamp,
    Turn,
    TurnRange,
    Unauthorized,
    Unavailable,
)
from explorer.text import MONTHS
from explorer.ui import item_view
from explorer.ui.item_questions import Count, remove_words, without_sentence
from explorer.ui.item_view import PAD, ItemView
from explorer.ui.items import ItemList
from explorer.ui.models.item_model import MAX_EMPTY_PAGES, Column, ItemModel, Page
from explorer.ui.rows import text_width
from explorer.ui.theme import Theme, theme
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning, page_of

NARROW = "\u202f"


def built(qtbot: QtBot, engine: FakeEngine | None, width: int = 680) -> ItemList:
    items = ItemList(zone=UTC)
    qtbot.addWidget(items, before_close_func=lambda _, kept=items: None)
    items.resize(width, 600)
    items.show()
    items.set_engine(engine, "helpdesk.db")
    return items


async def many(n: int, **meta: Any) -> FakeEngine:
    engine = FakeEngine()
    await filled((learning(f"learning {at:04}", **meta) for at in range(n)), engine)
    return engine


async def settled(items: ItemList, until: Until) -> None:
    await until(lambda: not items.jobs.is_busy)


def count(items: ItemList) -> str:
    return items.count_label.text().replace(NARROW, " ")


def aside(items: ItemList) -> str:
    return items.aside_label.text().replace(NARROW, " ")


def loaded(items: ItemList) -> str:
    return items.loaded_label.text().replace(NARROW, " ")


def state_words(items: ItemList) -> tuple[str, str]:
    """Title and sentence of the state that is seen; empty when rows or nothing are."""
    if items.state.isHidden():
        return "", ""
    title, said = (items.state.findChild(QLabel, name) for name in ("emptyTitleLabel", "emptySentenceLabel"))
    assert isinstance(title, QLabel)
    assert isinstance(said, QLabel)
    return title.text(), said.text().replace(NARROW, " ").replace("\u2068", "").replace("\u2069", "")


def state_button(items: ItemList, text: str) -> QPushButton:
    return next(
        button for button in items.state.findChildren(QPushButton) if button.text() == text and not button.isHidden()
    )


def texts(items: ItemList) -> list[str]:
    return [items.model.hit(row).text for row in range(items.model.rowCount())]


async def test_nothing_is_open_at_the_start(qtbot: QtBot) -> None:
    items = built(qtbot, None)
    assert state_words(items)[0] == "Nothing is open"
    assert count(items) == ""


async def test_first_page_with_its_numbers(qtbot: QtBot, until: Until) -> None:
    engine = await many(250)
    items = built(qtbot, engine)
    counted: list[object] = []
    items.counted.connect(counted.append)
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert items.model.rowCount() == 200
    assert count(items) == "250 items"
    assert aside(items) == ""
    assert loaded(items) == "200 of 250 loaded"
    assert counted[-1] == (250, False)
    items.show_filter(MetaFilter(kinds=[ItemKind.DOCUMENT]))
    await settled(items, until)
    assert count(items) == "0 items"
    assert aside(items) == "of 250 stored"
    await items.aclose()


async def test_scrolling_reads_to_the_end_by_cursor(qtbot: QtBot, until: Until) -> None:
    engine = await many(450)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    while items.model.has_more:
        before = items.model.rowCount()
        items.view.scrollToBottom()
        await until(lambda before=before: items.model.rowCount() > before)
    assert sorted(texts(items)) == [f"learning {at:04}" for at in range(450)]
    assert [req.cursor for req in engine.requests("list_preview")] == [None, "200", "400"]
    assert {req.limit for req in engine.requests("list_preview")} == {200}
    await settled(items, until)
    assert loaded(items) == "450 of 450 loaded"
    await items.aclose()


async def test_newer_filter_wins_over_a_late_answer(qtbot: QtBot, until: Until) -> None:
    engine = await filled([learning("old", tags=["old"]), learning("new", tags=["new"])])
    gate = engine.hold("list_preview", lambda req: req.filter.tags_any == ["old"], stubborn=True)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(tags_any=["old"]))
    await until(lambda: gate.waiting)
    items.show_filter(MetaFilter(tags_any=["new"]))
    await until(lambda: texts(items) == ["new"])
    gate.open()
    await settled(items, until)
    assert texts(items) == ["new"]
    assert count(items) == "1 item"
    await items.aclose()


async def test_a_page_of_the_old_rows_never_joins_the_new_ones(qtbot: QtBot, until: Until) -> None:
    engine = await many(250, tags=["old"])
    await engine.store(learning("new", tags=["new"]))
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(tags_any=["old"]))
    await settled(items, until)
    first = engine.hold("list_preview", lambda req: req.filter.tags_any == ["new"])
    page = engine.hold("list_preview", lambda req: req.cursor == "200", stubborn=True)
    items.show_filter(MetaFilter(tags_any=["new"]))
    items.view.scrollToBottom()  # the old rows are still there, and ask for more of their own
    await until(lambda: first.waiting and page.waiting)
    first.open()
    await until(lambda: texts(items) == ["new"])
    page.open()
    await settled(items, until)
    assert texts(items) == ["new"]
    await items.aclose()


async def test_a_new_filter_begins_at_the_top(qtbot: QtBot, until: Until) -> None:
    engine = await many(200, tags=["a"])
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    items.view.scrollToBottom()
    assert items.view.verticalScrollBar().value() > 0
    items.show_filter(MetaFilter(tags_any=["a"]))
    await settled(items, until)
    assert items.view.verticalScrollBar().value() == 0
    await items.aclose()


async def test_a_filter_chosen_far_down_begins_anew_and_can_be_read_to_its_end(qtbot: QtBot, until: Until) -> None:
    engine = await many(450)
    await filled((learning(f"few {at:02}", tags=["few"]) for at in range(21)), engine)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    while items.model.rowCount() <= 400:  # the third page
        before = items.model.rowCount()
        items.view.scrollToBottom()
        await until(lambda before=before: items.model.rowCount() > before)
    await settled(items, until)
    items.show_filter(MetaFilter(tags_any=["few"]))
    await settled(items, until)
    assert engine.requests("list_preview")[-1].cursor is None
    assert texts(items) == [f"few {at:02}" for at in range(21)]
    assert items.view.verticalScrollBar().value() == 0
    assert loaded(items) == "21 of 21 loaded"
    items.show_filter(MetaFilter(kinds=[ItemKind.LEARNING]))
    await settled(items, until)
    while items.model.has_more:
        before = items.model.rowCount()
        items.view.scrollToBottom()
        await until(lambda before=before: items.model.rowCount() > before)
    await settled(items, until)
    assert len(set(texts(items))) == 471
    await items.aclose()


async def test_more_hits_are_loaded_under_a_filter(qtbot: QtBot, until: Until) -> None:
    engine = await many(60, tags=["a"])
    await filled((learning(f"learning {at}", tags=["b"]) for at in range(60)), engine)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(tags_any=["a"]), "learning", FetchMode.KEYWORD)
    await settled(items, until)
    items.load_more_button.click()
    await settled(items, until)
    assert sorted(texts(items)) == [f"learning {at:04}" for at in range(60)]
    assert count(items) == "60 hits"
    await items.aclose()


async def test_refresh_keeps_the_place_and_the_row(qtbot: QtBot, until: Until) -> None:
    engine = await many(200)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    items.view.setCurrentIndex(items.model.index(150, Column.TEXT))
    scrolled = items.view.verticalScrollBar().value()
    assert scrolled > 0
    await engine.store(learning("newest"))
    items.refresh()
    await settled(items, until)
    assert items.view.verticalScrollBar().value() == scrolled
    current = items.current_hit()
    assert current is not None
    assert current.text == "learning 0150"
    assert count(items) == "201 items"
    await items.aclose()


async def test_failure_keeps_the_old_rows_and_says_when_they_were_read(qtbot: QtBot, until: Until) -> None:
    engine = await many(3)
    items = built(qtbot, engine)
    failed: list[object] = []
    items.failed.connect(failed.append)
    items.show_filter(MetaFilter())
    await settled(items, until)
    error = Unavailable("connection refused")
    engine.fail("list_preview", error)
    items.show_filter(MetaFilter(tags_any=["x"]))
    await settled(items, until)
    assert items.model.rowCount() == 3
    assert items.model.is_stale
    assert not items.view.isHidden()
    said = "No answer came: connection refused. The rows below are those of before; what is chosen now was not read."
    assert items.banner.sentence == said
    assert aside(items).startswith("read ")
    assert aside(items).endswith(", not current")
    assert failed == [error]
    engine.mend()
    retry = items.banner.findChild(QPushButton, "bannerActionButton")
    assert isinstance(retry, QPushButton)
    qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
    await settled(items, until)
    assert not items.model.is_stale
    assert items.banner.sentence == ""
    assert count(items) == "0 items"
    await items.aclose()


async def test_rows_that_stay_when_another_filter_fails_are_said_to_be_of_before(qtbot: QtBot, until: Until) -> None:
    engine = await many(450)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    items.select_all()
    engine.fail("list_preview", Unavailable("the network is down"))
    items.show_filter(MetaFilter(tags_any=["none"]))
    await settled(items, until)
    assert items.banner.sentence.endswith("The rows below are those of before; what is chosen now was not read.")
    assert (count(items), aside(items)[-11:]) == ("200+ items", "not current")
    assert items.selected_filter is None
    assert "all that match" not in items.selected_label.text()
    assert not items.export_button.isEnabled()
    engine.mend()
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert items.selected_label.text() == "450 selected, all that match", "back where it was"
    assert items.export_button.isEnabled()
    await items.aclose()


async def test_a_page_that_fails_is_asked_again_only_by_retry(qtbot: QtBot, until: Until) -> None:
    engine = await many(250)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    engine.fail("list_preview", EngineFailure("disk"), lambda req: req.cursor is not None)
    items.view.scrollToBottom()
    await until(lambda: items.banner.sentence)
    asked = len(engine.requests("list_preview"))
    items.view.scrollToTop()
    items.view.scrollToBottom()
    await settled(items, until)
    assert len(engine.requests("list_preview")) == asked
    assert items.model.rowCount() == 200
    engine.mend()
    retry = items.banner.findChild(QPushButton, "bannerActionButton")
    assert isinstance(retry, QPushButton)
    qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
    await until(lambda: items.model.rowCount() == 250)
    await items.aclose()


async def test_refused_key_is_one_sentence_and_no_loop(qtbot: QtBot, until: Until) -> None:
    engine = await many(250)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    for call in ("list_preview", "explore", "fetch"):
        engine.fail(call, Unauthorized("bad bearer token"))
    items.refresh()
    await settled(items, until)
    title, said = state_words(items)
    assert title == "The key was refused"
    assert "enter a new key" in said
    assert "bearer" not in said
    assert not items.view.isHidden()  # what was seen stays below
    assert items.model.is_stale
    asked = len(engine.calls)
    items.view.scrollToBottom()
    await settled(items, until)
    assert len(engine.calls) == asked
    with qtbot.waitSignal(items.edit_connection_wanted, timeout=1_000):
        state_button(items, "Edit connection…").click()
    await items.aclose()


async def test_refused_key_with_nothing_to_keep(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    engine.fail("list_preview", Unauthorized("no"))
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert state_words(items)[0] == "The key was refused"
    assert items.view.isHidden()
    await items.aclose()


async def test_nothing_stored(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, FakeEngine())
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert state_words(items)[0] == "Nothing is stored in helpdesk.db"
    assert count(items) == "0 items"
    assert aside(items) == "nothing stored yet"
    with qtbot.waitSignal(items.import_wanted, timeout=1_000):
        state_button(items, "Import…").click()
    await items.aclose()


TAG = Condition("tags_any", "tag is", "a<b")
KIND = Condition("kinds", "kind is", "document")
FOLDER = Condition("folder", "folder under", "/none")
REACH = Condition("reach", "namespace only at", "team:acme")


async def test_nothing_matches_tells_what_each_removal_would_bring(qtbot: QtBot, until: Until) -> None:
    engine = await many(4, tags=["a<b"])
    await engine.store(Document(body=DocumentBody(text="body")))
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(tags_any=["a<b"], kinds=[ItemKind.DOCUMENT]), conditions=[KIND, TAG])
    await settled(items, until)
    assert state_words(items) == (
        "Nothing matches these two conditions",
        "Without the kind there are 4 items. Without the tag there is 1 item.",
    )
    assert aside(items) == "of 5 stored"
    with qtbot.waitSignal(items.clear_wanted, timeout=1_000):
        state_button(items, "Clear all").click()
    with qtbot.waitSignal(items.remove_wanted, timeout=1_000) as wanted:
        state_button(items, "Remove the kind").click()
    assert wanted.args == ["kinds"]
    await items.aclose()


async def test_one_condition_has_one_way_on(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await many(4))
    items.show_filter(MetaFilter(tags_any=["a<b"]), conditions=[TAG])
    await settled(items, until)
    assert state_words(items) == ("Nothing matches this condition", "Without the tag there are 4 items.")
    assert state_button(items, "Remove the tag")
    assert not [button for button in items.state.findChildren(QPushButton) if button.text() == "Clear all"]
    await items.aclose()


async def test_of_many_conditions_the_best_removal_is_told(qtbot: QtBot, until: Until) -> None:
    acme = Reach.exact(Namespace.parse("team:acme"))
    engine = await filled([learning("one", "team:acme", folder="/none", tags=["a<b"])])
    items = built(qtbot, engine)
    asked = MetaFilter(reach=acme, folder="/none", kinds=[ItemKind.DOCUMENT], tags_any=["a<b"])
    items.show_filter(asked, conditions=[REACH, FOLDER, KIND, TAG])
    await settled(items, until)
    assert state_words(items) == ("Nothing matches these four conditions", "Without the kind there is 1 item.")
    await items.aclose()


def test_every_condition_can_be_named() -> None:
    time = Timestamp.parse("2026-06-30T09:30:00Z")
    asked = {
        **dict.fromkeys(MetaFilter.model_fields, "a"),
        "reach": Reach.exact(Namespace.parse("team:acme")),
        "turns": TurnRange(first=1, last=2),
        "kinds": ["document"],
        "sources": ["file"],
        "tags_any": ["a"],
        "observed_after": None,
        "observed_before": time,
    }
    found = conditions(MetaFilter.model_validate(asked), UTC, "refunds")
    found += conditions(MetaFilter(observed_after=time), UTC)
    assert len(found) == len(MetaFilter.model_fields) + 1
    for one in found:
        name = remove_words(one).removeprefix("Remove ")
        assert without_sentence(one, Count(2, is_least=True)) == f"Without {name} there are 2+ items."


async def test_no_single_removal_helps(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await many(4))
    items.show_filter(MetaFilter(tags_any=["a<b"], kinds=[ItemKind.DOCUMENT]), conditions=[KIND, TAG])
    await settled(items, until)
    assert state_words(items)[1] == "Without any one of them there are still none. There are 4 items stored."
    with qtbot.waitSignal(items.clear_wanted, timeout=1_000):
        state_button(items, "Clear all").click()
    await items.aclose()


async def test_a_search_without_hits_tells_what_there_is_without_it(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await many(7, tags=["a<b"]))
    search = Condition(QUERY, "search for", "“zebra”")
    items.show_filter(MetaFilter(tags_any=["a<b"]), "zebra", FetchMode.KEYWORD, [TAG, search])
    await settled(items, until)
    assert state_words(items)[1] == "Without the search there are 7 items. Without the tag there are none."
    assert count(items) == "0 hits"
    with qtbot.waitSignal(items.remove_wanted, timeout=1_000) as wanted:
        state_button(items, "Remove the search").click()
    assert wanted.args == [QUERY]
    await items.aclose()


@pytest.mark.parametrize("query", ["", "late fee"])
async def test_no_rows_from_an_engine_that_is_down_are_not_an_empty_memory(
    qtbot: QtBot, until: Until, query: str
) -> None:
    engine = FakeEngine()
    engine.state = EngineHealth.down("the index is being rebuilt")
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(), query, FetchMode.KEYWORD)
    await settled(items, until)
    title, said = state_words(items)
    assert title == "helpdesk.db does not serve now"
    assert said == "The index is being rebuilt. Items may exist that this cannot see."
    engine.state = EngineHealth.ok()
    state_button(items, "Try again").click()
    await settled(items, until)
    assert state_words(items)[0] in ("Nothing is stored in helpdesk.db", "Nothing matches")
    await items.aclose()


async def test_no_rows_from_a_degraded_engine_are_not_an_empty_memory(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    engine.state = EngineHealth.degraded("vector search has not responded since 16:41")
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(), "late fee", FetchMode.KEYWORD)
    await settled(items, until)
    title, said = state_words(items)
    assert title == "The engine answers, but not fully"
    assert said == "Vector search has not responded since 16:41. That may be why nothing is shown."
    await items.aclose()


async def test_a_degraded_engine_is_warned_of_beside_its_rows(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await many(3))
    items.show_filter(MetaFilter())
    await settled(items, until)
    rebuilding = EngineHealth.degraded("the index is rebuilding")
    items.show_health(rebuilding)
    assert items.health_banner.sentence == "The index is rebuilding."
    assert items.model.rowCount() == 3
    items.health_banner.clear()
    items.show_health(rebuilding)
    assert items.health_banner.sentence == ""  # dismissed; it is told every half minute
    items.refresh()
    await settled(items, until)
    assert items.health_banner.sentence == "The index is rebuilding."
    items.show_health(EngineHealth.ok())
    assert items.health_banner.sentence == ""
    await items.aclose()


async def test_news_of_the_engine_leave_a_failed_page_its_retry(qtbot: QtBot, until: Until) -> None:
    engine = await many(250)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    engine.fail("list_preview", EngineFailure("disk"), lambda req: req.cursor is not None)
    items.view.scrollToBottom()
    await until(lambda: items.banner.sentence)
    said = items.banner.sentence
    retry = items.banner.findChild(QPushButton, "bannerActionButton")
    assert isinstance(retry, QPushButton)
    for health in (EngineHealth.ok(), EngineHealth.degraded("slow"), EngineHealth.ok()):
        items.show_health(health)
        assert items.banner.sentence == said
        assert retry.text() == "Retry"
    engine.mend()
    qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
    await until(lambda: items.model.rowCount() == 250)
    await items.aclose()


async def test_an_engine_that_does_not_answer(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    engine.fail("list_preview", Unavailable("timed out after 30 s"))
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert state_words(items) == ("No answer from helpdesk.db", "No answer came: timed out after 30 s.")
    engine.mend()
    state_button(items, "Try again").click()
    await settled(items, until)
    assert state_words(items)[0] == "Nothing is stored in helpdesk.db"
    await items.aclose()


async def test_old_rows_stay_while_new_ones_are_awaited(qtbot: QtBot, until: Until) -> None:
    engine = await filled([learning("one", tags=["a"]), learning("two", tags=["b"])])
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(tags_any=["a"]))
    await settled(items, until)
    gate = engine.hold("list_preview")
    items.show_filter(MetaFilter(tags_any=["b"]))
    await until(lambda: items.busy_line.is_shown)
    assert texts(items) == ["one"]
    assert not items.view.isHidden()
    gate.open()
    await until(lambda: texts(items) == ["two"])
    assert not items.busy_line.is_shown
    await items.aclose()


async def test_reading_can_be_stopped_and_begun_again(qtbot: QtBot, until: Until) -> None:
    engine = await many(3)
    gate = engine.hold("list_preview")
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await until(lambda: gate.waiting)
    assert not items.loading.isHidden()
    items.loading.cancel_wanted.emit()
    await settled(items, until)
    assert state_words(items)[0] == "Reading was stopped"
    gate.open()
    state_button(items, "Read again").click()
    await until(lambda: items.model.rowCount() == 3)
    await items.aclose()


async def test_a_repeated_cursor_stops_and_is_said(qtbot: QtBot, until: Until) -> None:
    engine = await many(200)
    held = await engine.list_preview(ListRequest(limit=200))
    engine.listing = lambda req: ListPage(items=held.items, next_cursor="repeat")
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    items.view.scrollToBottom()
    await until(lambda: items.stopped_label.text())
    assert items.stopped_label.text() == "The engine repeated a cursor; showing 200 unique items."
    assert len(engine.requests("list_preview")) <= 4
    await items.aclose()


async def test_an_empty_cursor_is_followed_and_only_none_is_the_end(qtbot: QtBot, until: Until) -> None:
    engine = await many(250)
    all_items = (await engine.list_preview(ListRequest(limit=250))).items
    engine.listing = lambda req: (
        ListPage(items=all_items[:200], next_cursor="") if req.cursor is None else ListPage(items=all_items[200:])
    )
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    items.view.scrollToBottom()
    await until(lambda: items.model.rowCount() == 250)
    assert engine.requests("list_preview")[-1].cursor == ""
    assert items.stopped_label.text() == ""
    await settled(items, until)
    assert loaded(items) == "250 of 250 loaded"
    await items.aclose()


async def test_empty_pages_without_end_are_no_empty_memory(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    pages = iter(range(10_000))
    engine.listing = lambda req: ListPage(items=[], next_cursor=str(next(pages)))
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert len(engine.requests("list_preview")) == MAX_EMPTY_PAGES
    assert state_words(items)[0] == "Nothing found yet"
    assert count(items) == "0+ items"
    state_button(items, "Look further").click()
    await settled(items, until)
    assert len(engine.requests("list_preview")) == 2 * MAX_EMPTY_PAGES
    await items.aclose()


async def test_a_capped_count_is_never_a_total_and_can_be_finished(qtbot: QtBot, until: Until) -> None:
    engine = await many(250)
    engine.pages[Facet.KIND] = ExplorePage(
        facet=Facet.KIND, buckets=[], total=210, missing=0, more_buckets=0, truncated=True
    )
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert count(items) == "210+ items"
    assert loaded(items) == "200 of 210+ loaded"
    assert "may be more" in items.count_label.toolTip()
    assert not items.count_all_button.isHidden()
    items.count_all_button.click()
    await settled(items, until)
    assert count(items) == "250 items"
    assert items.count_all_button.isHidden()
    await items.aclose()


async def test_what_is_stored_is_no_total_where_counting_it_stopped(qtbot: QtBot, until: Until) -> None:
    engine = await many(3, tags=["a"])
    engine.pages[Facet.KIND] = page_of(Facet.KIND, {"learning": 50_000}, truncated=True)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(tags_any=["a"]), conditions=[TAG])
    await settled(items, until)
    assert (count(items), aside(items)) == ("3 items", "of 50 000+ stored")
    items.show_filter(MetaFilter(tags_any=["a"], kinds=[ItemKind.DOCUMENT]), conditions=[KIND, TAG])
    await settled(items, until)
    assert state_words(items)[1] == "Without the kind there are 50 000+ items. Without the tag there are 50 000+ items."
    await items.aclose()


async def test_counting_all_can_be_stopped(qtbot: QtBot, until: Until) -> None:
    engine = await many(250)
    engine.pages[Facet.KIND] = ExplorePage(
        facet=Facet.KIND, buckets=[], total=210, missing=0, more_buckets=0, truncated=True
    )
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    gate = engine.hold("list_preview", lambda req: req.limit == 1_000)
    items.count_all_button.click()
    await until(lambda: gate.waiting)
    assert items.count_all_button.text() == "Stop counting"
    items.count_all_button.click()
    await settled(items, until)
    assert count(items) == "210+ items"
    assert items.count_all_button.text() == "Count all"
    await items.aclose()


async def test_a_count_that_cannot_be_stopped_does_not_speak_for_the_next_list(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.ui.items.COUNT_PAGE", 150)
    engine = await many(450)
    await engine.store(learning("the one", tags=["a"]))
    engine.pages[Facet.KIND] = page_of(Facet.KIND, {"learning": 210}, truncated=True)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    gate = engine.hold("list_preview", lambda req: req.limit == 150, stubborn=True)
    items.count_all_button.click()
    await until(lambda: gate.waiting)
    items.show_filter(MetaFilter(tags_any=["a"]))
    await until(lambda: count(items) == "1 item")
    gate.open()
    await settled(items, until)
    assert (count(items), aside(items)) == ("1 item", "of 210+ stored")
    assert items.count_all_button.text() == "Count all"
    assert len([req for req in engine.requests("list_preview") if req.limit == 150]) == 1, "nor does it read on"
    await items.aclose()


async def test_what_was_counted_stays_when_counting_is_stopped(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.ui.items.COUNT_PAGE", 240)
    engine = await many(500)
    engine.pages[Facet.KIND] = page_of(Facet.KIND, {"learning": 210}, truncated=True)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    gate = engine.hold("list_preview", lambda req: req.cursor == "240")
    items.count_all_button.click()
    await until(lambda: gate.waiting)
    assert count(items) == "240+ items", "how far it is"
    items.count_all_button.click()
    await settled(items, until)
    assert count(items) == "240+ items"
    assert not items.count_all_button.isHidden()
    await items.aclose()


async def test_search_pages_through_the_hits(qtbot: QtBot, until: Until) -> None:
    engine = await many(120)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(), "learning", FetchMode.KEYWORD)
    await settled(items, until)
    assert count(items) == "50+ hits"
    assert loaded(items) == "50 of 50+ loaded"
    assert "page by page" in items.count_label.toolTip()
    assert aside(items) == "found by keyword"
    assert not items.view.isColumnHidden(Column.SCORE)
    while items.model.has_more:
        before = items.model.rowCount()
        items.view.scrollToBottom()
        await until(lambda before=before: items.model.rowCount() > before)
    assert count(items) == "120 hits"
    assert items.count_label.toolTip() == ""
    assert items.load_more_button.isHidden()
    assert [req.cursor for req in engine.requests("fetch")] == [None, "50", "100"]
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert items.view.isColumnHidden(Column.SCORE)
    assert count(items) == "120 items"
    await items.aclose()


async def test_more_hits_come_at_a_press_and_after_a_failure_too(qtbot: QtBot, until: Until) -> None:
    engine = await many(120)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(), "learning", FetchMode.KEYWORD)
    await settled(items, until)
    items.load_more_button.click()
    await until(lambda: items.model.rowCount() == 100)
    engine.fail("fetch", EngineFailure("disk"))
    items.load_more_button.click()
    await until(lambda: items.banner.sentence)
    engine.mend()
    items.load_more_button.click()
    await until(lambda: items.model.rowCount() == 120)
    assert items.banner.sentence == ""
    assert loaded(items) == "120 of 120 loaded"
    assert items.load_more_button.isHidden()
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert items.load_more_button.isHidden()
    await items.aclose()


async def test_a_blank_query_is_no_search(qtbot: QtBot, until: Until) -> None:
    engine = await many(2)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(), "  \t")
    await settled(items, until)
    assert count(items) == "2 items"
    assert not engine.requests("fetch")
    await items.aclose()


async def test_without_a_mode_the_engines_first_is_used(qtbot: QtBot, until: Until) -> None:
    engine = await many(2)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(), "learning")
    await settled(items, until)
    (req,) = engine.requests("fetch")
    assert req.mode is engine.descriptor().fetch_modes[0]
    await items.aclose()


async def test_first_row_is_current_only_when_nothing_was(qtbot: QtBot, until: Until) -> None:
    engine = await filled([learning("one", tags=["a"]), learning("two", tags=["b"]), learning("three", tags=["b"])])
    items = built(qtbot, engine)
    chosen: list[Hit | None] = []
    left: list[bool] = []
    items.item_selected.connect(chosen.append)
    items.current_left.connect(left.append)
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert items.current_is_shown
    assert [hit and hit.text for hit in chosen] == ["one"]
    items.view.setCurrentIndex(items.model.index(2, Column.TEXT))
    items.show_filter(MetaFilter(tags_any=["b"]))
    await settled(items, until)
    assert items.view.currentIndex().row() == 1  # "three" is still the one
    items.show_filter(MetaFilter(tags_any=["a"]))
    await settled(items, until)
    assert not items.view.currentIndex().isValid()  # the viewer goes on showing "three"
    assert not items.current_is_shown
    assert left == [True]
    assert [hit and hit.text for hit in chosen] == ["one", "three", "three"]
    items.show_filter(MetaFilter(tags_any=["none"]))
    await settled(items, until)
    assert left == [True]
    items.show_filter(MetaFilter(tags_any=["b"]))
    await settled(items, until)
    assert left == [True, False]
    assert items.current_is_shown
    items.set_engine(None, "")
    assert chosen[-1] is None
    assert items.current_is_shown
    await items.aclose()


async def test_the_list_is_walked_read_and_copied_by_keyboard(qtbot: QtBot, until: Until) -> None:
    engine = await many(30)
    items = built(qtbot, engine)
    chosen: list[Hit] = []
    entered: list[Hit] = []
    items.item_selected.connect(chosen.append)
    items.item_activated.connect(entered.append)
    items.show_filter(MetaFilter())
    await settled(items, until)
    view = items.view
    for key in (Qt.Key.Key_Down, Qt.Key.Key_Down, Qt.Key.Key_Up, Qt.Key.Key_End, Qt.Key.Key_Home, Qt.Key.Key_PageDown):
        qtbot.keyClick(view, key)
    rows = [int(hit.text.removeprefix("learning ")) for hit in chosen]
    assert rows[:6] == [0, 1, 2, 1, 29, 0]
    assert rows[6] > 5
    qtbot.keyClick(view, Qt.Key.Key_Right)
    assert len(chosen) == 7  # a row is one thing
    qtbot.keyClick(view, Qt.Key.Key_Home)
    qtbot.keyClick(view, Qt.Key.Key_Return)
    assert [hit.text for hit in entered] == ["learning 0000"]
    qtbot.keyClick(view, Qt.Key.Key_Down, Qt.KeyboardModifier.ShiftModifier)
    assert items.selected_label.text() == "2 selected"
    assert [hit.text for hit in items.selected_hits()] == ["learning 0000", "learning 0001"]
    qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    await settled(items, until)
    assert QGuiApplication.clipboard().text() == "learning 0000\n\nlearning 0001"
    await items.aclose()


async def test_copies_are_whole_where_the_list_had_only_the_start(qtbot: QtBot, until: Until) -> None:
    engine = await filled([learning("all of it")])
    (whole,) = (await engine.list_preview(ListRequest(limit=1))).items
    engine.listing = lambda req: ListPage(items=[whole.model_copy(update={"text": "all"})])
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    qtbot.keyClick(items.view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    await settled(items, until)
    assert QGuiApplication.clipboard().text() == "all of it"
    await items.aclose()


async def test_kinds_of_visible_learnings_are_asked_where_that_is_cheap(qtbot: QtBot, until: Until) -> None:
    engine = await many(200)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await until(lambda: items.model.rowCount() and items.model.learning_kind(0) is not None)
    (req, *_) = engine.requests("get_items")
    assert 0 < len(req.ids) < 60
    assert items.model.learning_kind(199) is None
    await items.aclose()


async def test_failing_to_learn_the_kinds_is_nobodys_concern(qtbot: QtBot, until: Until) -> None:
    engine = await many(3)
    engine.fail("get_items", EngineFailure("no"))
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await until(lambda: engine.requests("get_items"))
    await settled(items, until)
    assert items.banner.sentence == ""
    await items.aclose()


async def test_items_of_a_sandbox_are_not_counted_among_the_rest(qtbot: QtBot, until: Until) -> None:
    node = Namespace.parse("team:a/service:nightly")
    engine = await filled([learning("inside", str(node)), learning("outside")])
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(reach=Reach.exact(node)))
    await settled(items, until)
    assert count(items) == "1 item"
    assert aside(items) == "in a sandbox"
    items.show_filter(MetaFilter(reach=Reach.subtree(node)))
    await settled(items, until)
    assert aside(items) == "in a sandbox"
    items.show_filter(MetaFilter(reach=Reach.of(node)))
    await settled(items, until)
    assert aside(items) == "sandbox and its parents"
    await items.aclose()


async def test_what_is_stored_is_told_apart_from_what_is_in_sandboxes(qtbot: QtBot, until: Until) -> None:
    engine = await filled([learning("in", "team:a/service:nightly"), learning("out", tags=["a"]), learning("other")])
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert (count(items), aside(items)) == ("2 items", "1 more in sandboxes")
    items.show_filter(MetaFilter(tags_any=["a"]))
    await settled(items, until)
    assert (count(items), aside(items)) == ("1 item", "of 2 outside sandboxes")
    assert len(engine.requests("namespaces")) == 1
    await engine.store(learning("in too", "service:b"))
    items.refresh()
    await settled(items, until)
    items.show_filter(MetaFilter(tags_any=["a<b"], kinds=[ItemKind.DOCUMENT]), conditions=[KIND, TAG])
    await settled(items, until)
    assert state_words(items)[1].endswith("There are 2 items outside sandboxes, and 2 in them.")
    assert aside(items) == "of 2 outside sandboxes"
    await items.aclose()


async def test_a_memory_with_sandboxes_only_is_not_empty(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await filled([learning("inside", "service:nightly")]))
    items.show_filter(MetaFilter())
    await settled(items, until)
    title, said = state_words(items)
    assert title == "Nothing is stored outside sandboxes"
    assert said.startswith("In sandboxes there is 1 item.")
    assert aside(items) == "1 more in sandboxes"
    await items.aclose()


async def test_an_engine_that_does_not_name_its_nodes_is_not_asked_for_sandboxes(qtbot: QtBot, until: Until) -> None:
    class Plain(FakeEngine):
        namespaces = MemoryEngine.namespaces

    engine = await filled([learning("in", "service:nightly"), learning("out")], Plain())
    items = built(qtbot, engine)
    items.show_filter(MetaFilter(tags_any=["a<b"]), conditions=[TAG])
    await settled(items, until)
    assert aside(items) == "of 1 stored"
    await items.aclose()


async def test_narrow_lists_give_the_room_to_the_text(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await many(2), width=700)
    items.show_filter(MetaFilter())
    await settled(items, until)
    assert not items.view.isColumnHidden(Column.NODE)
    items.resize(520, 600)
    assert items.view.isColumnHidden(Column.NODE)
    assert items.view.isColumnHidden(Column.CONFIDENCE)
    items.set_column_shown(Column.NODE, True)
    assert not items.view.isColumnHidden(Column.NODE)  # what was chosen by hand stays
    items.resize(510, 600)
    assert not items.view.isColumnHidden(Column.NODE)
    await items.aclose()


async def test_every_kind_of_row_can_be_painted(qtbot: QtBot, until: Until) -> None:
    odd = "before\0after \u202e <img src=x> R&D أين \U0001f469\u200d\U0001f4bb"
    engine = await filled(
        [
            learning(odd),
            learning("x" * 100_000),
            Document(title="T", body=DocumentBody(text="body")),
            Document(body=DocumentBody(text="body"), meta=MemoryMeta(file_path="/a/" + "long/" * 40)),
            Conversation(turns=[Turn(role=Role.USER, text="أين المبلغ المسترد للطلب 4655؟")]),
        ]
    )
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    items.view.setFocus()
    assert not items.view.grab().isNull()
    items.model.set_stale(True)
    items.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    assert not items.view.grab().isNull()
    await items.aclose()


async def test_head_lines_up_with_the_cells(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await many(100))
    items.show_filter(MetaFilter())
    await settled(items, until)
    head = items.view.horizontalHeader()
    for column in Column:
        if not head.isSectionHidden(column):
            cell = items.view.visualRect(items.model.index(0, column))
            assert cell.x() == head.sectionViewportPosition(column)
            assert cell.width() == head.sectionSize(column)
    assert head.length() == items.view.viewport().width()
    await items.aclose()


DIGITS = "0123456789"


def fits(items: ItemList, column: Column, texts: list[str]) -> bool:
    """Whether each text is drawn whole in the column, and the column's head too."""
    room = items.view.columnWidth(column) - 2 * PAD
    head = items.model.headerData(column, Qt.Orientation.Horizontal).removeprefix("↓ ")
    return all(theme().metrics("body").horizontalAdvance(text) <= room for text in texts) and (
        theme().metrics("smallMedium").horizontalAdvance(f"↓ {head}") <= room or column is Column.CONFIDENCE
    )


@pytest.mark.parametrize("px", [11, 13, 20])
async def test_numbers_and_dates_are_never_cut(
    qtbot: QtBot, until: Until, qapp: QApplication, themed: Theme, px: int
) -> None:
    items = built(qtbot, await many(30), width=700)
    before = QFont(themed.font("body"))
    wide = QFont(before)
    wide.setPixelSize(px)
    wide.setStretch(140)  # as another font would be wider
    try:
        themed.apply(qapp, "light", wide)
        items.set_column_shown(Column.CONFIDENCE, True)
        items.show_filter(MetaFilter(), "learning", FetchMode.KEYWORD)
        await settled(items, until)
        dates = [f"{digit}{digit} {month} {rest}" for digit in DIGITS for month in MONTHS for rest in ("00:00", "2025")]
        assert fits(items, Column.OBSERVED, dates)
        assert fits(items, Column.CONFIDENCE, ["0.00", "0.92"])
        assert fits(items, Column.SCORE, ["0.00", items.model.widest_score])
        assert items.view.horizontalHeader().length() == items.view.viewport().width()
        for width in (460, 1_200):
            items.resize(width, 600)
            assert fits(items, Column.OBSERVED, dates)
    finally:
        themed.apply(qapp, "light", before)
    await items.aclose()


def test_a_long_score_widens_its_column(qtbot: QtBot) -> None:
    view = ItemView()
    qtbot.addWidget(view)
    model = ItemModel(view)
    view.setModel(model)
    view.fit_columns()
    before = view.columnWidth(Column.SCORE)
    meta = MemoryMeta()
    hits = [Hit(id=ItemId("a"), kind=ItemKind.LEARNING, text="a", meta=meta, score=-123456.789)]
    model.show_first(Page(hits, None))
    view.fit_columns()
    room = view.columnWidth(Column.SCORE) - 2 * PAD
    assert view.columnWidth(Column.SCORE) > before
    assert theme().metrics("body").horizontalAdvance("-123456.79") <= room


def drag(qtbot: QtBot, items: ItemList, column: Column, by: int) -> None:
    """Move the trailing edge of a column as a hand does."""
    head = items.view.horizontalHeader()
    at = QPoint(head.sectionViewportPosition(column) + head.sectionSize(column) - 1, head.height() // 2)
    qtbot.mouseMove(head.viewport(), at)
    qtbot.mousePress(head.viewport(), Qt.MouseButton.LeftButton, pos=at)
    for step in (by // 2, by):
        qtbot.mouseMove(head.viewport(), at + QPoint(step, 0))
    qtbot.mouseRelease(head.viewport(), Qt.MouseButton.LeftButton, pos=at + QPoint(by, 0))


async def test_the_edge_between_text_and_node_can_be_dragged_and_stays(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await many(3), width=700)
    items.show_filter(MetaFilter())
    await settled(items, until)
    view, head = items.view, items.view.horizontalHeader()
    text, node, observed = (view.columnWidth(one) for one in (Column.TEXT, Column.NODE, Column.OBSERVED))
    drag(qtbot, items, Column.TEXT, -60)
    assert (view.columnWidth(Column.TEXT), view.columnWidth(Column.NODE)) == (text - 60, node + 60)
    assert view.columnWidth(Column.OBSERVED) == observed
    assert head.length() == view.viewport().width()
    items.resize(800, 600)
    assert view.columnWidth(Column.NODE) == node + 60  # what was chosen stays
    assert head.length() == view.viewport().width()
    drag(qtbot, items, Column.NODE, 80)
    assert view.columnWidth(Column.OBSERVED) == observed  # a date gives no room
    assert head.length() == view.viewport().width()
    head.sectionHandleDoubleClicked.emit(Column.TEXT)
    items.resize(700, 600)
    assert view.columnWidth(Column.NODE) == node
    await items.aclose()


async def test_the_node_column_grows_with_the_list(qtbot: QtBot, until: Until) -> None:
    items = built(qtbot, await many(3), width=700)
    items.show_filter(MetaFilter())
    await settled(items, until)
    widths = []
    for width in (700, 1_000, 3_000):
        items.resize(width, 600)
        widths.append(items.view.columnWidth(Column.NODE))
    assert widths[0] < widths[1] < widths[2]
    assert widths[2] == round(220 * theme().size_px("body") / 13)
    await items.aclose()


async def test_a_node_loses_its_prefix_before_any_of_its_name(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = built(qtbot, await many(1, at="team:acme/project:tape-rescue"), width=700)
    items.show_filter(MetaFilter())
    await settled(items, until)
    drawn: list[str] = []
    real = item_view.draw_text

    def note(painter: Any, rect: Any, text: str, *more: Any, **named: Any) -> int:
        drawn.append(text)
        return real(painter, rect, text, *more, **named)

    monkeypatch.setattr(item_view, "draw_text", note)
    items.view.grab()
    assert "project:tape-rescue" in drawn
    drag(qtbot, items, Column.TEXT, items.view.columnWidth(Column.NODE) - text_width("tape-rescue") - 2 * PAD - 4)
    drawn.clear()
    items.view.grab()
    assert "tape-rescue" in drawn
    assert "project:tape-rescue" not in drawn
    await items.aclose()


async def test_the_parts_of_a_row_stand_where_the_design_has_them(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = built(qtbot, await many(1), width=700)
    items.show_filter(MetaFilter())
    await settled(items, until)
    found: dict[str, Any] = {}
    monkeypatch.setattr(
        item_view, "draw_icon", lambda painter, rect, *more: found.update(icon=rect.center().x() + 1 - 8)
    )
    items.view.grab()
    assert found["icon"] == 14
    text_at = items.view.columnViewportPosition(Column.TEXT) + PAD
    assert text_at == 48
    row = items.view.rowViewportPosition(0) + items.view.rowHeight(0) - 1 + items.view.viewport().y()
    items.view.setCurrentIndex(QModelIndex())
    picture = items.view.grab().toImage()
    ratio = picture.devicePixelRatio()
    x = items.view.viewport().width() // 2
    assert picture.pixelColor(round(x * ratio), round(row * ratio)) == theme().color("hover")
    await items.aclose()


async def test_a_forgotten_item_is_gone_after_refresh(qtbot: QtBot, until: Until) -> None:
    engine = await many(3)
    items = built(qtbot, engine)
    items.show_filter(MetaFilter())
    await settled(items, until)
    await engine.forget(ForgetTarget(ids=[items.model.hit(1).id]))
    items.refresh()
    await settled(items, until)
    assert texts(items) == ["learning 0000", "learning 0002"]
    assert count(items) == "2 items"
    await items.aclose()


@pytest.mark.parametrize("query", ["don't", "*", "a AND", "NEAR(", '"--x"', "col:x", "^x", "/a/b", "x" * 10_000])
async def test_no_query_is_an_error_on_screen(qtbot: QtBot, until: Until, query: str) -> None:
    items = built(qtbot, await many(2))
    search = Condition(QUERY, "search for", f"“{query}”")
    items.show_filter(MetaFilter(), query, FetchMode.KEYWORD, [search])
    await settled(items, until)
    assert items.banner.sentence == ""
    assert not items.model.is_stale
    await items.aclose()
