from __future__ import annotations

import gettext
import json
import threading
import time
from datetime import UTC, timedelta, timezone
from typing import Any

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QTextCharFormat, QTextDocument, QTextTable
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPushButton, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from explorer import i18n
from explorer.contract import (
    ActorRef,
    Conversation,
    Document,
    DocumentBody,
    EngineDescriptor,
    EngineFailure,
    ForgetTarget,
    GetRequest,
    Hit,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    ListRequest,
    MemoryEngine,
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
from explorer.contract.query import Exported
from explorer.ui.rows import text_width
from explorer.ui.theme import theme
from explorer.ui.viewer import FIRST_CHARS, LOAD, METADATA, RAW, READ, WHY, ItemViewer
from explorer.ui.viewer_parts.ink import MAX_LINE, broken_lines, has_long_line
from explorer.ui.viewer_parts.json_text import pretty
from explorer.ui.viewer_parts.link_dialog import LinkDialog
from explorer.ui.viewer_parts.marks import marked
from explorer.ui.viewer_parts.page_ring import PageRing
from explorer.ui.viewer_parts.why import Question
from tests.conftest import SAMPLE_ITEMS, Until
from tests.fakes import FakeEngine, filled

NODE = "team:acme/agent:triage"
JUNE = Timestamp(2026, 6, 30, tzinfo=UTC)
EVIL = '<img src="http://127.0.0.1:1/p.png"><b>Erase done</b>'


class WithoutExport(FakeEngine):
    """An engine that lists and gets, and exports nothing."""

    async def get_items(self, req: GetRequest) -> list[Exported]:
        return await MemoryEngine.get_items(self, req)

    async def export(self, req: ListRequest) -> Any:
        return await MemoryEngine.export(self, req)


def built(qtbot: QtBot, engine: MemoryEngine | None, zone: Any = UTC) -> ItemViewer:
    viewer = ItemViewer(zone=zone)
    pane = QWidget()
    column = QVBoxLayout(pane)
    column.addWidget(viewer.header)
    column.addWidget(viewer, 1)
    # Kept to the end of the test: a widget that is garbage before may be collected, and so deleted, in another thread.
    qtbot.addWidget(pane, before_close_func=lambda _, kept=(pane, viewer): None)
    pane.resize(464, 540)
    pane.show()
    viewer.set_engine(engine)
    return viewer


async def hit_of(engine: FakeEngine, item: StoreItem) -> Hit:
    await engine.store(item)
    return Hit.of_item(item.fingerprint(), item)


async def settled(viewer: ItemViewer, until: Until) -> None:
    await until(lambda: not viewer.jobs.is_busy)


async def shown(viewer: ItemViewer, hit: Hit, until: Until) -> None:
    viewer.show_hit(hit)
    await settled(viewer, until)


async def opened(qtbot: QtBot, until: Until, item: StoreItem, zone: Any = UTC) -> ItemViewer:
    """A viewer that shows `item`."""
    engine = FakeEngine()
    viewer = built(qtbot, engine, zone)
    await shown(viewer, await hit_of(engine, item), until)
    return viewer


async def choose(viewer: ItemViewer, segment: str, until: Until) -> None:
    viewer.segments.button(segment).click()
    await until(lambda: not viewer.jobs.is_busy)


def page_text(viewer: ItemViewer) -> str:
    """What the page that is seen says."""
    page: Any = viewer.pages.currentWidget()
    if page is viewer.card:
        return f"{viewer.card.statement.toPlainText()}\n{viewer.card.evidence.toPlainText()}".strip()
    return str(page.toPlainText()).replace("\u202f", "")


def values(viewer: ItemViewer, grid: Any, key: str) -> list[str]:
    return [button.drawn for button in grid.buttons(key)]


def meta(**more: Any) -> MemoryMeta:
    return MemoryMeta(namespace=Namespace.parse(NODE), **more)


def talk(*turns: tuple[str, str], **more: Any) -> Conversation:
    return Conversation(turns=[Turn(role=Role(role), text=text) for role, text in turns], **more)


def note(body: str, **more: Any) -> Document:
    return Document(body=DocumentBody(text=body), **more)


# What is shown


async def test_nothing_selected(qtbot: QtBot) -> None:
    viewer = built(qtbot, FakeEngine())
    assert not viewer.empty.isHidden()
    assert viewer.content.isHidden()
    assert not viewer.copy_button.isEnabled()


async def test_conversation_as_turns(qtbot: QtBot, until: Until) -> None:
    item = Conversation(
        turns=[
            Turn(role=Role.USER, text="Two lines\nhere", at=Timestamp(2026, 6, 30, 14, 31, tzinfo=UTC)),
            Turn(
                role=Role.ASSISTANT,
                text="I will look.",
                at=Timestamp(2026, 6, 30, 14, 32, tzinfo=UTC),
                tool_calls=[ToolCallRef(name="crm.lookup", id="call-7"), ToolCallRef(name="ledger")],
            ),
            Turn(role=Role.TOOL, text='{"order": 4812}'),
            Turn(role=Role.SYSTEM, text="stop", at=Timestamp(2026, 7, 1, 9, 0, tzinfo=UTC)),
        ],
        meta=meta(thread_id="helpdesk/4812"),
    )
    viewer = await opened(qtbot, until, item, timezone(timedelta(hours=2)))
    assert viewer.title.text == "Two lines here"
    assert page_text(viewer).replace("  #", " #").split("\n") == [
        "",
        "user",
        "30 Jun 2026",
        "16:31 #0",
        "Two lines",
        "here",
        "assistant",
        "16:32 #1",
        "I will look.",
        "→ crm.lookup (call-7)",
        "→ ledger",
        "tool",
        "#2",
        '{"order": 4812}',
        "system",
        "1 Jul 2026",
        "11:00 #3",
        "stop",
        "",
    ]
    assert values(viewer, viewer.pairs, "thread") == ["helpdesk/4812"]
    assert viewer.foot.isHidden()
    await viewer.aclose()


async def test_learning_as_a_card(qtbot: QtBot, until: Until) -> None:
    item = Learning(
        text="Refunds above 200 EUR need a second approval",
        kind=LearningKind.CORRECTION,
        confidence=0.92,
        evidence="We paid 240 EUR back\nwithout asking.",
        meta=meta(thread_id="helpdesk/4790", turns=TurnRange(first=6, last=6)),
    )
    viewer = await opened(qtbot, until, item)
    assert viewer.pages.currentWidget() is viewer.card
    assert viewer.title.text == item.text
    assert viewer.confidence_row.kind is LearningKind.CORRECTION
    assert viewer.confidence_row.confidence == 0.92
    assert page_text(viewer) == "“We paid 240 EUR back\nwithout asking.”"
    assert viewer.card.thread_label.text == "from thread helpdesk/4790, turn 6"
    assert viewer.card.statement_box.isHidden()  # the title says it all
    assert viewer.card.thread_button.text() == "Open the conversation"
    assert viewer.foot.isHidden()
    await viewer.aclose()


async def test_a_long_learning_is_read_below_its_title(qtbot: QtBot, until: Until) -> None:
    item = Learning(text="All of this is to be read. " * 60, kind=LearningKind.FACT, confidence=0.5, meta=meta())
    viewer = await opened(qtbot, until, item)
    assert page_text(viewer) == item.text.strip()
    assert viewer.card.evidence_box.isHidden()
    await viewer.aclose()


async def test_markdown_is_read_as_such(qtbot: QtBot, until: Until) -> None:
    body = "# Head\n\nSome *text*.\n\n- one\n- two\n\n| A | B |\n|---|---|\n| 1 | 2 |\n\n```\ncode\n```\n\n> said\n"
    item = note(body, title="T")
    viewer = await opened(qtbot, until, item)
    assert viewer.pages.currentWidget() is viewer.read_view
    lines = [line for line in page_text(viewer).split("\n") if line]
    assert lines == ["Head", "Some text.", "•\tone", "•\ttwo", "A", "B", "1", "2", "code", "said"]
    assert viewer.title.text == "T"
    await viewer.aclose()


@pytest.mark.parametrize(
    ("mime", "path", "as_markdown"),
    [
        ("text/markdown", None, True),
        ("text/markdown; charset=utf-8", "/a.py", True),
        (None, None, True),
        (None, "/srv/notes.md", True),
        (None, "/srv/tool.py", False),
        ("text/x-python", None, False),
        ("application/json", None, False),
        ("text/plain", "/a.md", False),
    ],
)
async def test_only_markdown_is_read_as_markdown(
    qtbot: QtBot, until: Until, mime: str | None, path: str | None, as_markdown: bool
) -> None:
    viewer = await opened(qtbot, until, note("# One\n\n*two*", mime=mime, meta=meta(file_path=path)))
    assert (viewer.pages.currentWidget() is viewer.read_view) is as_markdown
    assert page_text(viewer) == ("One\ntwo" if as_markdown else "# One\n\n*two*")
    await viewer.aclose()


async def test_metadata_above_the_text_filters(qtbot: QtBot, until: Until) -> None:
    item = note(
        "text",
        mime="text/plain",
        meta=meta(file_path="/srv/a & b.md", language="en", tags=["R&D", EVIL], observed_at=JUNE),
    )
    viewer = await opened(qtbot, until, item)
    wanted: list[tuple[str, object]] = []
    viewer.filter_wanted.connect(lambda field, value: wanted.append((field, value)))
    for key in ("file", "node", "language", "tags", "observed"):
        for button in viewer.pairs.buttons(key):
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    assert wanted == [
        ("file_path", "/srv/a & b.md"),
        ("reach", Namespace.parse(NODE)),
        ("language", "en"),
        ("tags_any", "R&D"),
        ("tags_any", EVIL),
        ("observed_after", (JUNE, Timestamp(2026, 7, 1, tzinfo=UTC))),
    ]
    assert values(viewer, viewer.pairs, "node") == ["team:acme / agent:triage"]
    assert values(viewer, viewer.pairs, "observed") == ["30 Jun 2026, 00:00 UTC"]
    (observed,) = viewer.pairs.buttons("observed")
    assert "2026-06-30 00:00:00 UTC" in observed.toolTip()
    assert "Show only what was observed on this day" in observed.toolTip()
    (file,) = viewer.pairs.buttons("file")
    assert file.accessibleDescription() == "Filter by this file and what is below it"
    assert file.accessibleDescription() in file.toolTip()
    await viewer.aclose()


async def test_metadata_page_has_every_field(qtbot: QtBot, until: Until) -> None:
    full = meta(
        workspace="/w",
        folder="/w/f",
        file_path="/w/f/a.md",
        language="en",
        repo="o/r",
        commit="c0ffee",
        url="https://a.test",
        thread_id="t/1",
        turns=TurnRange(first=0, last=4),
        agent_id="triage",
        tool_call=ToolCallRef(name="crm", id="call-7"),
        source=SourceRef(kind=SourceKind.GITHUB, id="o/r"),
        tags=["a", "b"],
        observed_at=Timestamp(2026, 6, 30, tzinfo=UTC),
        derive=False,
        observed_actor=ActorRef(id="user:dana", name="Dana"),
    )
    item = Learning(text="x", kind=LearningKind.FACT, confidence=0.5, meta=full)
    viewer = await opened(qtbot, until, item)
    await choose(viewer, METADATA, until)
    wanted: dict[str, object] = {}
    viewer.filter_wanted.connect(wanted.__setitem__)
    grid = viewer.metadata
    for label, buttons in grid._pairs:
        for button in buttons:
            if button.value.field:
                button.click()
        assert buttons, label.text()
    assert wanted == {
        "kinds": ItemKind.LEARNING,
        "reach": full.namespace,
        "workspace": "/w",
        "folder": "/w/f",
        "file_path": "/w/f/a.md",
        "language": "en",
        "repo": "o/r",
        "commit": "c0ffee",
        "url": "https://a.test",
        "thread_id": "t/1",
        "turns": TurnRange(first=0, last=4),
        "agent_id": "triage",
        "tool_call": "crm",
        "sources": SourceKind.GITHUB,
        "source_id": "o/r",
        "tags_any": "b",
        "observed_after": (JUNE, Timestamp(2026, 7, 1, tzinfo=UTC)),
    }
    assert set(wanted) <= set(MetaFilter.model_fields)
    assert values(viewer, grid, "tool call id") == ["call-7"]
    assert values(viewer, grid, "derive") == ["no, nothing is to be derived from it"]
    assert values(viewer, grid, "observed by") == ["user:dana"]
    assert values(viewer, grid, "id") == [item.fingerprint()]
    assert values(viewer, grid, "fingerprint") == ["the id is that of the content"]
    await viewer.aclose()


async def test_a_day_is_one_of_the_zone_that_is_shown(qtbot: QtBot, until: Until) -> None:
    first, last = "2026-06-30T22:30:00Z", "9999-12-31T23:59:59Z"
    for at, expected in ((first, "2026-06-30T22:00:00Z"), (last, None)):
        item = note("x", meta=meta(observed_at=Timestamp.parse(at)))
        viewer = await opened(qtbot, until, item, timezone(timedelta(hours=2)))
        (observed,) = viewer.pairs.buttons("observed")
        assert (observed.value.value[0].text if observed.value.field else None) == expected
        await viewer.aclose()


async def test_more_like_this_asks_by_the_text(qtbot: QtBot, until: Until) -> None:
    viewer = built(qtbot, engine := FakeEngine())
    wanted: list[str] = []
    viewer.similar_wanted.connect(wanted.append)
    assert not viewer.similar_button.isEnabled()
    await shown(viewer, await hit_of(engine, talk(("user", "where is\n my refund"), ("assistant", "here"))), until)
    viewer.similar_button.setFocus()
    qtbot.keyClick(viewer.similar_button, Qt.Key.Key_Space)
    assert wanted == ["user: where is my refund assistant: here"]
    assert viewer.similar_action in viewer.more_button.menu().actions()
    assert viewer.find_action in viewer.more_button.menu().actions()
    for body, end in (("word " * 5_000, "word"), ("x" * 50_000, "x" * 100)):
        await shown(viewer, await hit_of(engine, note(body, mime="text/plain")), until)
        viewer.similar_action.trigger()
        assert 900 < len(wanted[-1]) <= 1_000
        assert wanted[-1].endswith(end)
    await viewer.aclose()


async def test_an_engine_without_a_search_has_nothing_like_this(qtbot: QtBot, until: Until) -> None:
    class WithoutSearch(FakeEngine):
        def descriptor(self) -> EngineDescriptor:
            return super().descriptor().model_copy(update={"fetch_modes": []})

    viewer = built(qtbot, engine := WithoutSearch())
    await shown(viewer, await hit_of(engine, note("x")), until)
    assert not viewer.similar_button.isEnabled()
    assert viewer.similar_button.toolTip() == "This engine declares no search"
    await choose(viewer, WHY, until)
    viewer.set_question(Question(query="x"))
    await until(lambda: "it has no search" in viewer.why_view.lead_label.text())
    await viewer.aclose()


async def test_a_narrow_title_bar_does_without_what_the_menu_has(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("x"))
    pane = viewer.window()
    pane.resize(330, 500)
    await until(lambda: viewer.similar_button.isHidden() or viewer.header.width() > 400)
    assert viewer.segments.button(WHY).visibleRegion().boundingRect().width() == viewer.segments.button(WHY).width()
    pane.resize(480, 500)
    await until(lambda: viewer.similar_button.isVisible())
    await viewer.aclose()


async def test_raw_is_the_stored_item(qtbot: QtBot, until: Until) -> None:
    item = Learning(
        text='quotes " and \\ and {} [] , : \n tab\t ünïcode',
        kind=LearningKind.OTHER,
        confidence=0.33333334,
        evidence="",
        meta=meta(observed_at=Timestamp.parse("2026-06-30T14:42:05.123456789Z")),
    )
    viewer = await opened(qtbot, until, item)
    await choose(viewer, RAW, until)
    raw = viewer.raw_view.toPlainText()
    assert parse_item(raw) == item
    assert list(json.loads(raw)) == ["type", "text", "kind", "confidence", "evidence", "meta"]
    assert '"confidence": 0.33333334,' in raw
    assert raw == pretty(dump_item(item))
    await viewer.aclose()


def test_pretty_changes_nothing_but_white_space() -> None:
    compact = '{"a":[],"b":{},"c":[1,{"d":1e-7}],"e":"x: [,] \\" {","f":null}'
    assert pretty(compact) == (
        '{\n  "a": [],\n  "b": {},\n  "c": [\n    1,\n    {\n      "d": 1e-7\n    }\n  ],\n'
        '  "e": "x: [,] \\" {",\n  "f": null\n}'
    )


async def test_copying_is_exact(qtbot: QtBot, until: Until) -> None:
    item = note("before\0after\u202e" + "x" * 100_000, title="T", mime="text/plain", meta=meta())
    viewer = await opened(qtbot, until, item)
    actions = {action.text(): action for action in viewer.copy_button.menu().actions()}
    clipboard = QGuiApplication.clipboard()
    actions["Copy text"].trigger()
    assert clipboard.text() == item.render_text()
    actions["Copy as JSON"].trigger()
    await until(lambda: not viewer.jobs.is_busy)
    assert clipboard.text() == dump_item(item)
    actions["Copy id"].trigger()
    assert clipboard.text() == item.fingerprint()
    await viewer.aclose()


# When the engine is late, gone, or gives less


async def test_newer_choice_wins_over_a_late_answer(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    first, second = await hit_of(engine, talk(("user", "first"))), await hit_of(engine, talk(("user", "second")))
    gate = engine.hold("get_items", lambda req: req.ids == [first.id], stubborn=True)
    viewer = built(qtbot, engine)
    viewer.show_hit(first)
    await until(lambda: gate.waiting)
    viewer.show_hit(second)
    await until(lambda: "second" in page_text_or_none(viewer))
    gate.open()
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.title.text == "second"
    assert "first" not in page_text(viewer)
    await viewer.aclose()


def page_text_or_none(viewer: ItemViewer) -> str:
    return "" if viewer.pages.currentWidget() is viewer.blank else page_text(viewer)


async def test_the_old_text_never_stands_under_the_new_title(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    first, second = await hit_of(engine, talk(("user", "first"))), await hit_of(engine, talk(("user", "second")))
    viewer = built(qtbot, engine)
    await shown(viewer, first, until)
    engine.hold("get_items")
    viewer.show_hit(second)
    assert viewer.title.text == "second"
    assert viewer.pages.currentWidget() is viewer.blank
    await viewer.aclose()


async def test_until_the_item_is_here_its_hit_is_read(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    hit = await hit_of(engine, talk(("user", "one"), ("assistant", "two")))
    gate = engine.hold("get_items")
    viewer = built(qtbot, engine)
    viewer.show_hit(hit)
    await until(lambda: page_text_or_none(viewer) == "user: one\nassistant: two")
    assert viewer.pages.currentWidget() is viewer.plain_view
    viewer.segments.button(RAW).click()
    await until(lambda: '"score": 0.0' in page_text_or_none(viewer))
    assert viewer.note_label.text().startswith("Still reading")
    gate.open()
    await until(lambda: '"type": "conversation"' in page_text_or_none(viewer))
    viewer.segments.button(READ).click()
    assert viewer.pages.currentWidget() is viewer.read_view
    await viewer.aclose()


class Named(FakeEngine):
    """Holds one item under an id of its own choice; another engine's answer comes to every id."""

    def __init__(self, id: str) -> None:
        super().__init__()
        self.id = ItemId(id)
        self.answers_with = self.id

    async def get_items(self, req: GetRequest) -> list[Exported]:
        await self._pass("get_items", req)
        return [Exported(id=self.answers_with, item=note("the item itself"))]

    async def get(self, req: GetRequest) -> list[Hit]:
        await self._pass("get", req)
        return [Hit.of_item(self.answers_with, note("the item itself"))]


@pytest.mark.parametrize("id", ["openclaw:main:9119", "a/b", "ABC#1", "x?y", "%2F", ".", "..", " a ", "a\0b"])
async def test_any_id_is_asked_for_as_it_is_and_only_its_own_answer_is_shown(
    qtbot: QtBot, until: Until, id: str
) -> None:
    engine = Named(id)
    viewer = built(qtbot, engine)
    await shown(viewer, Hit.of_item(engine.id, note("the start")), until)
    assert [req.ids for req in engine.requests("get_items")] == [[id]]
    assert viewer.full_text() == "the item itself"
    await choose(viewer, METADATA, until)
    (copied,) = viewer.metadata.buttons("id")
    assert copied.value.text == id
    engine.answers_with = ItemId("another")
    viewer.show_hit(None)
    await shown(viewer, Hit.of_item(engine.id, note("the start")), until)
    assert viewer.full_text() == "the start"
    assert "no longer stored" in viewer.banner.sentence
    await viewer.aclose()


async def test_an_item_that_is_gone_stays_readable(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    hit = await hit_of(engine, talk(("user", "still here")))
    await engine.forget(ForgetTarget(ids=[hit.id]))
    viewer = built(qtbot, engine)
    await shown(viewer, hit, until)
    assert viewer.banner.sentence == "This item is no longer stored."
    assert page_text(viewer) == "user: still here"
    await viewer.aclose()


async def test_an_item_deleted_while_open_stays_readable(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    hit = await hit_of(engine, talk(("user", "still here")))
    viewer = built(qtbot, engine)
    await shown(viewer, hit, until)
    await engine.forget(ForgetTarget(ids=[hit.id]))
    viewer.refresh()
    await until(lambda: viewer.banner.sentence)
    assert "still here" in page_text(viewer)
    await viewer.aclose()


async def test_an_item_in_a_sandbox_is_found(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    inside = MemoryMeta(namespace=Namespace.parse("team:a/service:nightly"))
    viewer = built(qtbot, engine)
    await shown(viewer, await hit_of(engine, talk(("user", "inside"), meta=inside)), until)
    assert viewer.item is not None
    assert viewer.banner.sentence == ""
    (req,) = engine.requests("get_items")
    assert req.reach == Reach.exact(inside.namespace)
    await viewer.aclose()


async def test_without_export_the_hit_is_shown_and_that_is_said(qtbot: QtBot, until: Until) -> None:
    engine = WithoutExport()
    item = talk(("user", "one"), ("assistant", "two"))
    hit = await hit_of(engine, item)
    viewer = built(qtbot, engine)
    await shown(viewer, hit.model_copy(update={"text": "user: on"}), until)  # a listing may cut texts
    assert page_text(viewer) == "user: one\nassistant: two"
    assert viewer.banner.sentence == ""
    await choose(viewer, RAW, until)
    assert json.loads(viewer.raw_view.toPlainText())["text"] == "user: one\nassistant: two"
    assert "does not export" in viewer.note_label.text()
    await viewer.aclose()


async def test_an_item_of_which_only_a_part_is_held_is_not_gone(qtbot: QtBot, until: Until) -> None:
    class Partial(FakeEngine):
        async def get_items(self, req: GetRequest) -> list[Exported]:
            return []

    engine = Partial()
    viewer = built(qtbot, engine)
    await shown(viewer, await hit_of(engine, talk(("user", "one"))), until)
    assert viewer.banner.sentence == ""
    await choose(viewer, RAW, until)
    assert "only a part" in viewer.note_label.text()
    await viewer.aclose()


async def test_failure_shows_what_is_known_and_offers_retry(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    hit = await hit_of(engine, talk(("user", "one")))
    error = EngineFailure("disk")
    engine.fail("get_items", error)
    viewer = built(qtbot, engine)
    failed: list[object] = []
    viewer.failed.connect(failed.append)
    await shown(viewer, hit, until)
    assert failed == [error]
    assert viewer.banner.sentence == "The engine failed: disk."
    assert page_text(viewer) == "user: one"
    engine.mend()
    retry = viewer.banner.findChild(QPushButton, "bannerActionButton")
    assert isinstance(retry, QPushButton)
    qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
    await until(lambda: viewer.item is not None)
    assert viewer.banner.sentence == ""
    await viewer.aclose()


async def test_choosing_the_same_item_again_leaves_it_where_it_is(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    hit = await hit_of(engine, note("line\n\n" * 500, mime="text/plain"))
    viewer = built(qtbot, engine)
    await shown(viewer, hit, until)
    bar = viewer.plain_view.verticalScrollBar()
    bar.setValue(40)
    await shown(viewer, hit, until)
    assert bar.value() == 40
    assert len(engine.requests("get_items")) == 1
    await viewer.aclose()


# Stored text is data


async def test_html_stays_text_wherever_it_stands(qtbot: QtBot, until: Until) -> None:
    for item in (
        Learning(text=EVIL, kind=LearningKind.FACT, confidence=0.5, evidence=EVIL, meta=meta(tags=[EVIL])),
        talk(("user", EVIL), ("tool", EVIL), meta=meta(tags=[EVIL], agent_id=EVIL)),
        note(EVIL, title=EVIL, meta=meta(tags=[EVIL], file_path=EVIL)),
        note(EVIL, title=EVIL, mime="text/html", meta=meta()),
    ):
        viewer = await opened(qtbot, until, item)
        assert viewer.title.text == EVIL
        assert "<img" not in viewer.title.toolTip()
        assert EVIL in page_text(viewer)
        for grid in (viewer.pairs, viewer.card.pairs):
            for button in grid.buttons("tags"):
                assert button.drawn == EVIL
                assert "<img" not in button.toolTip()
        await choose(viewer, RAW, until)
        assert EVIL.replace('"', '\\"') in page_text(viewer)
        await viewer.aclose()


async def show_tooltips(viewer: ItemViewer, until: Until) -> None:
    """Each tooltip that is seen with a mark of HTML in it, drawn."""
    for widget in viewer.findChildren(QWidget):
        if widget.isVisible() and "img" in (said := widget.toolTip()):
            QToolTip.showText(widget.mapToGlobal(QPoint(1, 1)), said, widget)
            await until(lambda: any(each.inherits("QTipLabel") for each in QApplication.topLevelWidgets()))
            for each in QApplication.topLevelWidgets():
                if each.inherits("QTipLabel"):
                    assert not each.grab().isNull()
            QToolTip.hideText()


async def test_no_address_in_a_stored_text_is_ever_asked(qtbot: QtBot, until: Until, listener: Any) -> None:
    url = f"http://127.0.0.1:{listener.port}/p.png"
    body = (
        f'<img src="{url}">\n\n![x]({url})\n\n![y](file:///etc/passwd)\n\n![z](data:image/png;base64,iVBORw0KGgo=)\n\n'
        f'[![x]({url})]({url})\n\n<link rel=stylesheet href="{url}"> <iframe src="{url}"></iframe>\n\n'
        f"| ![x]({url}) |\n|---|\n| ![x]({url}) |\n\n[ref]: {url}\n![ref]"
    )
    tags = [f'<img src="{url}">']
    for item in (
        note(body, title=f'<img src="{url}">', meta=meta(tags=tags)),
        talk(("user", body), meta=meta(tags=tags)),
        Learning(text=body, kind=LearningKind.FACT, confidence=0.5, evidence=body, meta=meta(tags=tags)),
    ):
        viewer = await opened(qtbot, until, item)
        viewer.set_question(Question(MetaFilter(tags_any=[f'<img src="{url}">', "x"])))
        for segment in (READ, RAW, METADATA, WHY, READ):
            await choose(viewer, segment, until)
            assert not viewer.grab().isNull()
            await show_tooltips(viewer, until)
        viewer.open_find()
        viewer.find_bar.edit.setText(url)
        await settled(viewer, until)
        assert not viewer.grab().isNull()
        if isinstance(item, Document):
            assert page_text(viewer).count(f"image not loaded: {url}") == 5
            assert "image not loaded: file:///etc/passwd" in page_text(viewer)
        assert "<img" not in viewer.title.toolTip()
        await viewer.aclose()
    assert not listener()


async def test_the_reader_loads_nothing(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("text"))
    for name in ("http://127.0.0.1:1/p.png", "file:///etc/passwd", "/etc/passwd", ":/any"):
        kind = QTextDocument.ResourceType.ImageResource.value
        assert bytes(viewer.read_view.document().resource(kind, QUrl(name))) == b""
    assert viewer.read_view.source().isEmpty()
    await viewer.aclose()


def anchors(viewer: ItemViewer) -> list[str]:
    found = []
    block = viewer.read_view.document().begin()
    while block.isValid():
        for fragment in block:
            form = fragment.fragment().charFormat()
            if form.isAnchor():
                found.append(form.anchorHref())
        block = block.next()
    return found


async def test_links_show_their_target_and_only_three_schemes_are_links(qtbot: QtBot, until: Until) -> None:
    body = (
        "[portal](https://intranet.example/refunds) [js](javascript:alert(1)) [f](file:///etc/passwd) "
        "<https://plain.example/> [mail](mailto:a@b.test)"
    )
    viewer = await opened(qtbot, until, note(body))
    assert anchors(viewer) == ["https://intranet.example/refunds", "https://plain.example/", "mailto:a@b.test"]
    said = page_text(viewer)
    assert "portal  https://intranet.example/refunds" in said
    assert "js  javascript:alert(1)" in said
    assert said.count("https://plain.example/") == 1
    await viewer.aclose()


async def test_a_link_opens_only_after_its_target_was_shown(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("[portal](https://intranet.example/a?b=c)"))
    went: list[str] = []
    viewer.open_url = lambda url: went.append(url.toString())
    for button, expected in (("cancelButton", []), ("openButton", ["https://intranet.example/a?b=c"])):
        viewer.read_view.anchorClicked.emit(QUrl("https://intranet.example/a?b=c"))
        dialog = viewer.findChild(LinkDialog)
        assert isinstance(dialog, LinkDialog)
        await until(dialog.isVisible)
        assert dialog.target_view.toPlainText() == "https://intranet.example/a?b=c"
        assert dialog.cancel_button.isDefault()
        pressed = dialog.findChild(QPushButton, button)
        assert isinstance(pressed, QPushButton)
        qtbot.mouseClick(pressed, Qt.MouseButton.LeftButton)
        await until(lambda: not viewer.jobs.is_busy)
        await until(lambda: viewer.findChild(LinkDialog) is None)
        assert went == expected
    for refused in ("javascript:alert(1)", "file:///etc/passwd", "data:text/html,x", "relative"):
        viewer.read_view.anchorClicked.emit(QUrl(refused))
        assert not viewer.jobs.is_busy
    assert viewer.read_view.toPlainText().startswith("portal")  # it went nowhere itself
    await viewer.aclose()


async def test_an_address_is_shown_as_it_will_be_used(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("x"))
    dialog = LinkDialog(QUrl("https://\u0430pple.example/\u202egnp.exe"), viewer)  # a Cyrillic a, and RLO
    assert dialog.target_view.toPlainText() == "https://xn--pple-43d.example/%E2%80%AEgnp.exe"
    await viewer.aclose()


async def test_what_is_not_seen_is_marked(qtbot: QtBot, until: Until) -> None:
    odd = "before\0after \x1b[31m \u202eevil\u202c \u200bzero \ufffc \ufdd0 \u2028line"
    viewer = await opened(qtbot, until, talk(("user", odd)))
    said = page_text(viewer)
    for name in ("NUL", "ESC", "RLO", "PDF", "ZWSP", "U+FFFC", "U+FDD0", "LSEP"):
        assert name in said
    assert all(hidden not in said for hidden in "\0\x1b\u202e\u200b\u2028")
    assert "beforeNULafter" in said
    assert viewer.full_text() == f"user: {odd}"
    marks = mark_formats(viewer)
    assert marks == {theme().color("caution").name()}
    await viewer.aclose()


def mark_formats(viewer: ItemViewer) -> set[str]:
    """The colours of everything with a ground of its own."""
    found = set()
    block = viewer.read_view.document().begin()
    while block.isValid():
        for fragment in block:
            form = fragment.fragment().charFormat()
            if form.background().style() != Qt.BrushStyle.NoBrush:
                found.add(form.foreground().color().name())
        block = block.next()
    return found


def test_marks_leave_alone_what_shapes_letters() -> None:
    persian = "\u0645\u06cc\u200c\u062e\u0648\u0627\u0647\u0645"
    assert marked(persian) == persian
    assert marked("\U0001f469\u200d\U0001f4bb \u2764\ufe0f") == "\U0001f469\u200d\U0001f4bb \u2764\ufe0f"
    assert marked("pass\u200dword\ttab\nline\rend") == "pass⟦ZWJ⟧word\ttab\nline⟦CR⟧end"
    assert marked("\ud83d!") == "⟦half of a pair⟧!"


async def test_right_to_left_text_keeps_its_letters(qtbot: QtBot, until: Until) -> None:
    text = "أين المبلغ المسترد للطلب 4655 في /home/u/x؟"
    viewer = await opened(qtbot, until, talk(("user", text)))
    assert text in page_text(viewer)
    block = viewer.read_view.document().findBlock(viewer.read_view.toPlainText().index(text))
    assert block.textDirection() is Qt.LayoutDirection.RightToLeft
    viewer.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    assert not viewer.grab().isNull()
    await viewer.aclose()


# Long texts


def test_long_lines_are_broken_wherever_a_piece_ends() -> None:
    n = MAX_LINE
    whole = "a" * (2 * n + 500) + "\n" + "b" * n + "\n\n" + "c" * (n + 1)
    out, begun = "", 0
    for start in range(0, len(whole), 700):
        piece, begun = broken_lines(whole[start : start + 700], begun)
        out += piece
    assert out == broken_lines(whole)[0]
    assert max(map(len, out.split("\n"))) == MAX_LINE
    assert out.replace("\n", "") == whole.replace("\n", "")
    assert [len(line) for line in out.split("\n")] == [n, n, 500, n, 0, n, 1]


def test_only_lines_beyond_the_limit_are_long() -> None:
    full = "x" * MAX_LINE
    assert not has_long_line("")
    assert not has_long_line(full)
    assert not has_long_line(f"\n{full}\n{full}\n\n{full}\n")
    assert has_long_line(f"{full}x")
    assert has_long_line(f"{full}\n{full}x\n")
    assert has_long_line(f"a\n\n{full}x")


def test_long_lines_of_words_are_broken_between_them() -> None:
    out, _ = broken_lines("word " * 5_000)
    assert all(line.endswith("word ") for line in out.split("\n"))
    assert out.replace("\n", "") == "word " * 5_000


@pytest.mark.limit_s(60)
async def test_five_megabytes_on_one_line(qtbot: QtBot, until: Until) -> None:
    item = note("QUJD" * 1_250_000, mime="text/plain", meta=meta())
    engine = FakeEngine()
    hit = await hit_of(engine, item)
    viewer = built(qtbot, engine)
    await shown(viewer, hit, until)
    written = len(page_text(viewer).replace("\n", ""))
    assert FIRST_CHARS <= written < 2 * FIRST_CHARS
    assert "of 5.0" in viewer.note_label.text()
    assert "long lines are broken" in viewer.note_label.text()
    assert viewer.rest_button.text() == LOAD
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    assert viewer.rest_button.text() == "Stop"
    await until(lambda: not viewer.jobs.is_busy, timeout_s=50)
    assert page_text(viewer).replace("\n", "") == item.body.text
    assert viewer.rest_button.isHidden()
    assert viewer.full_text() == item.body.text
    await viewer.aclose()


async def test_loading_the_rest_can_be_stopped(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("line of text\n" * 200_000, mime="text/plain", meta=meta()))
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.rest_button.text() == LOAD
    assert not viewer.rest_button.isHidden()
    await viewer.aclose()


async def test_of_one_long_turn_none_is_whole_at_first(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, talk(("user", "line of text\n" * 20_000)))
    assert viewer.note_label.text() == "0 of 1 turn"
    await viewer.aclose()


@pytest.mark.limit_s(60)
async def test_two_thousand_turns(qtbot: QtBot, until: Until) -> None:
    item = talk(*[("user" if at % 2 else "assistant", f"turn number {at}") for at in range(2_000)])
    viewer = await opened(qtbot, until, item)
    said = page_text(viewer)
    assert "turn number 199\n" in said
    assert "turn number 300" not in said
    assert viewer.note_label.text().replace("\u202f", " ") == "200 of 2 000 turns"
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy, timeout_s=50)
    said = page_text(viewer)
    assert all(f"turn number {at}\n" in said for at in range(2_000))
    assert viewer.foot.isHidden()
    await viewer.aclose()


async def test_a_long_turn_goes_on_in_its_own_cell(qtbot: QtBot, until: Until) -> None:
    item = Conversation(
        turns=[
            Turn(role=Role.USER, text="x " * 50_000 + "END", tool_calls=[ToolCallRef(name="after")]),
            Turn(role=Role.ASSISTANT, text="short"),
        ],
    )
    viewer = await opened(qtbot, until, item)
    while not viewer.rest_button.isHidden():
        qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
        await until(lambda: not viewer.jobs.is_busy)
    said = page_text(viewer)
    assert said.index("END") < said.index("→ after") < said.index("assistant")
    await viewer.aclose()


async def test_long_markdown_is_loaded_in_parts(qtbot: QtBot, until: Until) -> None:
    body = "\n\n".join(f"## Part {at}\n\nSome *text* with `code` and more of it." for at in range(1_500))
    viewer = await opened(qtbot, until, note(body, meta=meta()))
    assert "Part 3\n" in page_text(viewer)
    assert "Part 1499" not in page_text(viewer)
    assert " of " in viewer.note_label.text()
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy, timeout_s=9)
    said = page_text(viewer)
    assert [line for line in said.split("\n") if line.startswith("Part ")] == [f"Part {at}" for at in range(1_500)]
    assert viewer.foot.isHidden()
    await viewer.aclose()


async def test_markdown_that_would_take_for_ever_is_plain_text(qtbot: QtBot, until: Until) -> None:
    for body in ("[" * 5_000, ">" * 3_000 + "deep", "x" * 100_000):
        started = time.monotonic()
        viewer = await opened(qtbot, until, note(body, meta=meta()))
        assert viewer.pages.currentWidget() is viewer.plain_view
        assert page_text(viewer).replace("\n", "")[:3_000] == body[:3_000]
        assert time.monotonic() - started < 5  # it would be minutes
        await viewer.aclose()


async def test_markdown_with_long_runs_of_blanks_is_read_as_such(qtbot: QtBot, until: Until) -> None:
    """As tables of some programs have them; each run was once looked through from every blank in it on."""
    body = f"# Head\n\nleft{chr(9) * 15_900}right\n\nleft{' ' * 15_900}right\n\n"
    viewer = await opened(qtbot, until, note(body, meta=meta()))
    assert viewer.pages.currentWidget() is viewer.read_view, "in good time"
    assert page_text(viewer).startswith("Head\n")
    assert "right" in page_text(viewer)
    await viewer.aclose()


@pytest.mark.parametrize("body", [f"{'1' * 5_000}. item", f"an entity &#{'1' * 5_000}; here"])
async def test_markdown_with_a_number_beyond_all_limits_is_plain_text(qtbot: QtBot, until: Until, body: str) -> None:
    viewer = await opened(qtbot, until, note(body, meta=meta()))
    assert viewer.pages.currentWidget() is viewer.plain_view
    assert page_text(viewer).replace("\n", "") == body
    assert viewer.banner.sentence == ""
    await viewer.aclose()


async def test_a_long_learning_and_its_evidence_are_loaded_in_parts(qtbot: QtBot, until: Until) -> None:
    item = Learning(
        text="word " * 8_000, kind=LearningKind.FACT, confidence=0.5, evidence="proof " * 8_000, meta=meta()
    )
    viewer = await opened(qtbot, until, item)
    assert viewer.rest_button.text() == LOAD
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.card.statement.toPlainText().count("word") == 8_000
    assert viewer.card.evidence.toPlainText().count("proof") == 8_000
    await viewer.aclose()


# In another language


class Foreign(gettext.NullTranslations):
    """Says everything in other words."""

    def gettext(self, message: str) -> str:
        return f"<{message}>"


async def test_the_pages_and_the_foot_work_in_any_language(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(i18n, "_words", Foreign())
    item = note("line of text\n" * 200_000, mime="text/plain", meta=meta(language="de"))
    viewer = await opened(qtbot, until, item)
    assert viewer.segments.button(RAW).text() == "<Raw>"
    assert values(viewer, viewer.pairs, "language") == ["de"]
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    assert viewer.rest_button.text() == "<Stop>"
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.rest_button.text() == "<Load the rest>"
    await choose(viewer, METADATA, until)
    assert viewer.pages.currentWidget() is viewer.metadata_view
    assert values(viewer, viewer.metadata, "kind") == ["<document>"]
    wanted: list[object] = []
    viewer.filter_wanted.connect(lambda field, value: wanted.append((field, value)))
    viewer.metadata.buttons("kind")[0].click()
    assert wanted == [("kinds", ItemKind.DOCUMENT)]
    await viewer.aclose()


# The keyboard, the theme


async def test_an_item_is_read_by_keyboard(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, talk(*[("user", f"turn {at}") for at in range(100)]))
    viewer.setFocus(Qt.FocusReason.OtherFocusReason)
    await until(lambda: viewer.read_view.hasFocus())
    bar = viewer.read_view.verticalScrollBar()
    assert bar.value() == 0
    qtbot.keyClick(viewer.read_view, Qt.Key.Key_PageDown)
    assert bar.value() > 0
    qtbot.keyClick(viewer.read_view, Qt.Key.Key_End)
    assert bar.value() == bar.maximum()
    qtbot.keyClick(viewer.segments.button(READ), Qt.Key.Key_Right)
    assert viewer.segments.choice == RAW
    await until(lambda: viewer.pages.currentWidget() is viewer.raw_view)
    qtbot.keyClick(viewer.segments.button(RAW), Qt.Key.Key_Right)
    assert viewer.pages.currentWidget() is viewer.metadata_view
    await viewer.aclose()


async def test_the_theme_can_change_while_an_item_is_read(qtbot: QtBot, until: Until, qapp: QApplication) -> None:
    viewer = await opened(qtbot, until, talk(("user", "hello \u202e there")))
    light = mark_formats(viewer)
    try:
        theme().apply(qapp, "dark")
        assert mark_formats(viewer) != light
        assert "hello" in page_text(viewer)
    finally:
        theme().apply(qapp, "light")
    await viewer.aclose()


async def test_a_blank_text_has_a_title_all_the_same(qtbot: QtBot) -> None:
    viewer = built(qtbot, None)
    viewer.show_hit(Hit(id=ItemId("a"), kind=ItemKind.LEARNING, text=" \n ", meta=MemoryMeta(), score=0.0))
    assert viewer.title.text == "(empty)"
    await viewer.aclose()


@pytest.mark.limit_s(30)
async def test_items_of_the_sample_are_read(qtbot: QtBot, until: Until) -> None:
    items = [parse_item(line) for line in SAMPLE_ITEMS.read_text(encoding="utf-8").splitlines() if line]
    engine = FakeEngine()
    await filled(items, engine)
    viewer = built(qtbot, engine)
    for item in items[::12]:
        await shown(viewer, Hit.of_item(item.fingerprint(), item), until)
        for segment in (RAW, METADATA, READ):
            await choose(viewer, segment, until)
            assert not viewer.grab().isNull()
    await viewer.aclose()


# From a learning to its conversation


LESSON = Learning(
    text="Ask before paying",
    kind=LearningKind.CORRECTION,
    confidence=0.9,
    evidence="said so",
    meta=meta(thread_id="desk/7", turns=TurnRange(first=150, last=151)),
)


def long_talk(**more: Any) -> Conversation:
    return talk(*[("user", f"this was said as {at}") for at in range(300)], meta=meta(thread_id="desk/7", **more))


async def at_the_lesson(qtbot: QtBot, until: Until, *others: StoreItem, lesson: Learning = LESSON) -> ItemViewer:
    engine = FakeEngine()
    await filled(others, engine)
    viewer = built(qtbot, engine)
    await shown(viewer, await hit_of(engine, lesson), until)
    return viewer


async def open_conversation(qtbot: QtBot, viewer: ItemViewer, until: Until) -> None:
    qtbot.mouseClick(viewer.card.thread_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy)


def top_lines(viewer: ItemViewer) -> str:
    """The text at the top of the page, from the third line's height on."""
    view = viewer.read_view
    start = view.cursorForPosition(QPoint(20, 30)).position()
    return view.toPlainText()[max(0, start - 10) : start + 40]


def grounds(viewer: ItemViewer) -> dict[str, str]:
    """The first word of each cell of the read page that has a ground of its own, by that ground."""
    found: dict[str, str] = {}
    for frame in viewer.read_view.document().rootFrame().childFrames():
        assert isinstance(frame, QTextTable)
        for row in range(frame.rows()):
            cell = frame.cellAt(row, 0)
            if cell.format().background().style() != Qt.BrushStyle.NoBrush:
                text = viewer.read_view.toPlainText()[cell.firstPosition() : cell.lastPosition()]
                found[text.split("\n")[-1]] = cell.format().background().color().name()
    return found


async def test_the_conversation_of_a_learning_is_read_at_its_turn(qtbot: QtBot, until: Until) -> None:
    viewer = await at_the_lesson(qtbot, until, long_talk())
    wanted: list[object] = []
    viewer.filter_wanted.connect(lambda *args: wanted.append(args))
    await open_conversation(qtbot, viewer, until)
    assert isinstance(viewer.item, Conversation)
    assert wanted == []
    hit_color = theme().color("hit").name()
    assert grounds(viewer) == {"#150": hit_color, "#151": hit_color}
    assert "#150" in top_lines(viewer)
    assert not viewer.back_button.isHidden()
    qtbot.mouseClick(viewer.back_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.item == LESSON
    assert viewer.place_row.isHidden()
    await viewer.aclose()


async def test_of_several_conversations_the_one_that_holds_the_turn_is_read(qtbot: QtBot, until: Until) -> None:
    begin = talk(*[("user", f"begin {at}") for at in range(100)], meta=meta(thread_id="desk/7"))
    end = talk(
        *[("user", f"end {at}") for at in range(100, 200)],
        meta=meta(thread_id="desk/7", turns=TurnRange(first=100, last=199)),
    )
    viewer = await at_the_lesson(qtbot, until, begin, end)
    await open_conversation(qtbot, viewer, until)
    assert viewer.item == end
    assert list(grounds(viewer)) == ["#150", "#151"]
    await viewer.aclose()


async def test_of_several_conversations_without_ranges_the_long_enough_one_is_read(qtbot: QtBot, until: Until) -> None:
    short = talk(("user", "short"), meta=meta(thread_id="desk/7"))
    for others in ((short, long_talk()), (long_talk(), short)):
        viewer = await at_the_lesson(qtbot, until, *others)
        await open_conversation(qtbot, viewer, until)
        assert viewer.item == long_talk()
        await viewer.aclose()


async def test_a_conversation_in_the_learnings_own_sandbox_is_found(qtbot: QtBot, until: Until) -> None:
    inside = MemoryMeta(namespace=Namespace.parse("team:a/service:nightly"), thread_id="t")
    spoken = talk(("user", "inside"), meta=inside)
    lesson = LESSON.model_copy(update={"meta": inside})
    viewer = await at_the_lesson(qtbot, until, spoken, lesson=lesson)
    await open_conversation(qtbot, viewer, until)
    assert viewer.item == spoken
    await viewer.aclose()


async def test_a_conversation_that_is_not_stored_is_said_so(qtbot: QtBot, until: Until) -> None:
    viewer = await at_the_lesson(qtbot, until)
    await open_conversation(qtbot, viewer, until)
    assert viewer.banner.sentence == "No conversation of this thread is stored."
    assert viewer.item == LESSON
    await viewer.aclose()


async def test_a_failure_to_find_the_conversation_can_be_retried(qtbot: QtBot, until: Until) -> None:
    viewer = await at_the_lesson(qtbot, until, long_talk())
    engine = viewer._engine
    assert isinstance(engine, FakeEngine)
    engine.fail("list_preview", EngineFailure("disk"))
    await open_conversation(qtbot, viewer, until)
    assert viewer.banner.sentence == "The engine failed: disk."
    engine.mend()
    retry = viewer.banner.findChild(QPushButton, "bannerActionButton")
    assert isinstance(retry, QPushButton)
    qtbot.mouseClick(retry, Qt.MouseButton.LeftButton)
    await until(lambda: isinstance(viewer.item, Conversation))
    await viewer.aclose()


async def test_turns_are_counted_alike_wherever_they_have_a_number(qtbot: QtBot, until: Until) -> None:
    part = talk(("user", "a"), ("user", "b"), meta=meta(thread_id="t", turns=TurnRange(first=7, last=8)))
    viewer = await opened(qtbot, until, part)
    assert [line for line in page_text(viewer).split("\n") if line.startswith("#")] == ["#7", "#8"]
    (turns,) = viewer.pairs.buttons("turns")
    assert turns.drawn == "7 to 8"
    assert "counted from 0" in turns.toolTip()
    await viewer.aclose()
    viewer = await at_the_lesson(qtbot, until)
    assert viewer.card.thread_label.text == "from thread desk/7, turns 150 to 151"
    assert "counted from 0" in viewer.card.thread_label.toolTip()
    await viewer.aclose()


# Evidence, metadata


@pytest.mark.parametrize(
    ("evidence", "drawn", "is_mono"),
    [
        ("She said so.", "“She said so.”", False),
        ('"She said so."', '"She said so."', False),
        ("»Sie sagte es.« (Brief)", "»Sie sagte es.« (Brief)", False),
        ("Mira: “Take the joke.”", "Mira: “Take the joke.”", False),
        ("locomo-26/session-1", "locomo-26/session-1", True),
        ("六十一の朝を比べた。", "“六十一の朝を比べた。”", False),
    ],
)
async def test_evidence_gets_quotes_only_where_it_has_none(
    qtbot: QtBot, until: Until, evidence: str, drawn: str, is_mono: bool
) -> None:
    viewer = await opened(qtbot, until, LESSON.model_copy(update={"evidence": evidence}))
    assert viewer.card.evidence.toPlainText() == drawn
    families = viewer.card.evidence.document().begin().begin().fragment().charFormat().fontFamilies()
    assert (families == [theme().font("mono").family()]) is is_mono
    assert viewer.foot.isHidden()
    await viewer.aclose()


async def test_source_and_its_id_are_two_fields(qtbot: QtBot, until: Until) -> None:
    item = talk(("user", "a"), meta=meta(source=SourceRef(kind=SourceKind.AGENT, id="events-43")))
    viewer = await opened(qtbot, until, item)
    assert values(viewer, viewer.pairs, "source") == ["agent"]
    assert values(viewer, viewer.pairs, "source id") == ["events-43"]
    await viewer.aclose()


async def test_the_node_says_what_pressing_it_does(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, talk(("user", "a"), meta=meta()))
    (node,) = viewer.pairs.buttons("node")
    assert "Show only what is at this node" in node.toolTip()
    assert node.accessibleDescription() == "Show only what is at this node"
    await viewer.aclose()


async def test_the_ring_of_a_value_stands_clear_of_its_text(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, talk(("user", "a"), meta=meta(tags=["x", "y"])))
    label, _ = viewer.pairs._pairs[0]
    for key in ("node", "tags"):
        first = viewer.pairs.buttons(key)[0]
        assert first.width() >= text_width(first.drawn, "small") + 2 * 4
        assert label.x() == 4  # as much is left of the keys, so that both stand where they did
    await viewer.aclose()


# Work beside the window


async def test_raw_fingerprint_and_copy_are_made_in_another_thread(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    viewer = await opened(qtbot, until, talk(("user", "a"), meta=meta()))
    threads: list[bool] = []
    real = Conversation.model_dump

    def noted(self: Conversation, *args: Any, **more: Any) -> dict[str, Any]:
        threads.append(threading.current_thread() is threading.main_thread())
        return real(self, *args, **more)

    monkeypatch.setattr(Conversation, "model_dump", noted)
    await choose(viewer, RAW, until)
    assert '"type": "conversation"' in page_text(viewer)
    await choose(viewer, METADATA, until)
    assert values(viewer, viewer.metadata, "fingerprint") == ["the id is that of the content"]
    viewer.copy_json()
    await until(lambda: not viewer.jobs.is_busy)
    assert threads == [False] * 3
    await viewer.aclose()


# The search


def marked_words(view: Any) -> list[str]:
    selections = view.extraSelections()
    assert all(each.format.background().color() == theme().color("hit") for each in selections)
    return [each.cursor.selectedText() for each in selections]


async def test_found_words_are_marked_and_the_first_is_seen(qtbot: QtBot, until: Until) -> None:
    body = "\U0001f600 x\n" * 400 + "The LEDGER here, and a ledger; Café but no Cafe."
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    viewer.set_search(["ledger", "café", " "])
    pages: list[tuple[str, Any]] = [("text/plain", viewer.plain_view), ("text/markdown", viewer.read_view)]
    for mime, view in pages:
        await shown(viewer, await hit_of(engine, note(body, mime=mime, meta=meta())), until)
        assert viewer.pages.currentWidget() is view
        assert marked_words(view) == ["LEDGER", "ledger", "Café"]
        selections = view.extraSelections()
        assert view.viewport().rect().contains(view.cursorRect(selections[0].cursor))
    viewer.set_search([])
    assert marked_words(viewer.read_view) == []
    await viewer.aclose()


async def test_words_of_a_new_search_are_marked_where_the_reader_is(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("x\n\n" * 400 + "ledger", mime="text/plain"))
    viewer.set_search(["ledger"])
    assert marked_words(viewer.plain_view) == ["ledger"]
    assert viewer.plain_view.verticalScrollBar().value() == 0
    await viewer.aclose()


async def test_marks_are_limited(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("word " * 5_000, mime="text/plain"))
    viewer.set_search(["word"])
    assert len(marked_words(viewer.plain_view)) == 500
    await viewer.aclose()


async def test_found_words_are_marked_in_a_learning(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    hit = await hit_of(engine, LESSON)
    await shown(viewer, hit, until)
    before = viewer.title.grab().toImage()
    viewer.set_search(["paying", "said"])
    assert marked_words(viewer.card.evidence) == ["said"]
    colors = {
        image.pixelColor(x, image.height() // 2).name()
        for image in [viewer.title.grab().toImage()]
        for x in range(image.width())
    }
    assert theme().color("hit").name() in colors
    assert before != viewer.title.grab().toImage()
    await viewer.aclose()


# Where the item stands, and the keyboard


async def test_an_item_that_the_list_has_not_is_said_so(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    await shown(viewer, await hit_of(engine, talk(("user", "a"))), until)
    assert viewer.place_row.isHidden()
    viewer.show_listed(False)
    assert viewer.listed_label.isVisible()
    assert viewer.listed_label.text() == "Not in this list"
    viewer.show_listed(True)
    assert viewer.place_row.isHidden()
    viewer.show_listed(False)
    await shown(viewer, await hit_of(engine, talk(("user", "b"))), until)
    assert viewer.place_row.isHidden()
    await viewer.aclose()


async def test_the_focus_lands_where_it_is_seen(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    viewer.setFocus(Qt.FocusReason.TabFocusReason)
    await until(lambda: viewer.segments.button(READ).hasFocus())
    ring = viewer.pages.findChild(PageRing)
    assert isinstance(ring, PageRing)
    for item, page in (
        (note("a", mime="text/plain"), viewer.plain_view),
        (LESSON, viewer.card),
        (talk(("user", "a")), viewer.read_view),
    ):
        await shown(viewer, await hit_of(engine, item), until)
        viewer.setFocus(Qt.FocusReason.TabFocusReason)
        await until(page.hasFocus)
        assert page.isVisible()
        assert ring.isVisible()
        viewer.segments.button(READ).setFocus(Qt.FocusReason.TabFocusReason)
        assert not ring.isVisible()
    viewer.show_hit(None)
    viewer.setFocus(Qt.FocusReason.TabFocusReason)
    await until(lambda: viewer.segments.button(READ).hasFocus())
    await viewer.aclose()


async def test_nothing_selected_promises_no_list(qtbot: QtBot) -> None:
    viewer = built(qtbot, FakeEngine())
    words = [label.text() for label in viewer.empty.findChildren(QLabel) if label.text()]
    assert words == ["No item is selected."]
    await viewer.aclose()


# The menu


async def test_the_menu_copies_plain_text_in_our_words(qtbot: QtBot, until: Until) -> None:
    item = note("# Head\n\n**bold**", meta=meta())
    viewer = await opened(qtbot, until, item)
    clipboard = QGuiApplication.clipboard()
    for segment, view in ((READ, viewer.read_view), (RAW, viewer.raw_view)):
        await choose(viewer, segment, until)
        at = QPoint(20, 20)
        qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)
        view.contextMenuEvent(QContextMenuEvent(QContextMenuEvent.Reason.Mouse, at, view.mapToGlobal(at)))
        menu = view.findChild(QMenu)
        assert isinstance(menu, QMenu)
        actions = {action.text().partition("\t")[0]: action for action in menu.actions()}
        assert list(actions) == ["Copy", "Select all", "Copy id"]
        assert not actions["Copy"].isEnabled()
        actions["Copy id"].trigger()
        assert clipboard.text() == item.fingerprint()
        actions["Select all"].trigger()
        menu.close()
        qtbot.keyClick(view, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
        assert clipboard.mimeData().formats() == ["text/plain"]
        assert clipboard.text() == view.toPlainText()
    await viewer.aclose()


# Tables


async def test_tables_stand_as_they_are_written(qtbot: QtBot, until: Until) -> None:
    body = "|   |   |\n|---|--:|\n| a | 1 |\n\n| A | B |\n|:-:|---|\n| c | d |\n\n" + "Word. " * 400
    viewer = await opened(qtbot, until, note(body, meta=meta()))
    tables = [frame for frame in viewer.read_view.document().rootFrame().childFrames() if isinstance(frame, QTextTable)]
    assert [table.rows() for table in tables] == [1, 2]
    assert [table.format().headerRowCount() for table in tables] == [0, 1]
    sides = [
        [table.cellAt(0, column).firstCursorPosition().blockFormat().alignment() for column in (0, 1)]
        for table in tables
    ]
    assert sides[0][1] & Qt.AlignmentFlag.AlignRight
    assert not sides[0][0] & Qt.AlignmentFlag.AlignRight
    assert sides[1][0] & Qt.AlignmentFlag.AlignHCenter
    middle = QTextCharFormat.VerticalAlignment.AlignMiddle
    assert tables[1].cellAt(1, 1).format().verticalAlignment() == middle
    for width in (420, 464, 511):
        viewer.window().resize(width, 540)
        await until(lambda: viewer.read_view.verticalScrollBar().maximum() > 0)
        assert not viewer.read_view.horizontalScrollBar().isVisible()
    await viewer.aclose()
