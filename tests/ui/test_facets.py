"""The facet panel as a person uses it, over a real engine."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

import pytest
from PySide6.QtCore import QEvent, QObject, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication, QHelpEvent, QMouseEvent, QPaintEvent
from PySide6.QtWidgets import QApplication, QLabel, QLineEdit, QMenu, QPushButton, QToolTip, QVBoxLayout, QWidget

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    EngineFailure,
    Facet,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    SourceKind,
    SourceRef,
    Turn,
    Unauthorized,
    Unavailable,
)
from explorer.ui import facet_delegate
from explorer.ui.facets import OPEN_FIRST, FacetPanel
from explorer.ui.models.facet_model import CountRole
from explorer.ui.models.facet_rows import Order, RowType
from explorer.ui.theme import theme
from tests.fakes import FakeEngine, filled, learning, page_of

FORGET = "Forget all with this value…"
ITEMS = [
    learning("one", agent_id="triage", tags=["refunds", "billing"], source="conversation"),
    learning("two", agent_id="triage", tags=["refunds"], source="conversation"),
    learning("three", agent_id="writer", tags=["billing"], source="file", folder="/src"),
    learning("four", agent_id="writer", source="file", folder="/src/a", workspace=""),
]


@asynccontextmanager
async def showing(qtbot, engine, filter: MetaFilter | None = None) -> AsyncIterator[FacetPanel]:
    """A panel in a window that gives it back every filter it asks for."""
    panel = FacetPanel()
    qtbot.addWidget(panel)
    panel.resize(288, 900)
    panel.filters = []

    def on_filter_wanted(wanted: MetaFilter) -> None:
        panel.filters.append(wanted)
        panel.show_filter(wanted)

    panel.filter_wanted.connect(on_filter_wanted)
    if filter is not None:
        panel.show_filter(filter)
    panel.set_engine(engine)
    panel.show()
    try:
        yield panel
    finally:
        await panel.aclose()


def counts(panel: FacetPanel, facet: Facet) -> dict[str, str]:
    """What stands in a facet's rows: names and numbers, from top to bottom."""
    head = panel.model.facet_index(facet)
    rows = [panel.model.index(at, 0, head) for at in range(panel.model.rowCount(head))]
    return {row.data(): row.data(CountRole) for row in rows if row.data(CountRole) is not None}


def is_counted(panel: FacetPanel, facet: Facet) -> bool:
    return panel.model.section(facet).page is not None and not panel.jobs.is_busy


def labels(panel: FacetPanel, facet: Facet) -> list[str]:
    return list(counts(panel, facet))


def value(panel: FacetPanel, facet: Facet, name: str):
    index = panel.model.row_index(facet, RowType.VALUE, name)
    assert index.isValid()
    return index


def tick(qtbot, panel: FacetPanel, facet: Facet, name: str) -> None:
    index = value(panel, facet, name)
    panel.tree.scrollTo(index)
    qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=panel.delegate.box_area(index).center())


def beside_box(panel: FacetPanel, index) -> QPoint:
    panel.tree.scrollTo(index)
    return QPoint(panel.delegate.name_left() + 10, panel.tree.visualRect(index).center().y())


def point_at(panel: FacetPanel, place: QPoint) -> None:
    """Move the pointer. Not by QTest, which lets other events run inside: the tasks that wake then are lost."""
    viewport = panel.tree.viewport()
    none = Qt.MouseButton.NoButton
    whole = viewport.mapToGlobal(place).toPointF()
    moved = QMouseEvent(QEvent.Type.MouseMove, place.toPointF(), whole, none, none, Qt.KeyboardModifier.NoModifier)
    QApplication.sendEvent(viewport, moved)


class Painted(QObject):
    """How high the parts are that a widget repaints, of each time."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.heights: list[int] = []
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.heights.append(max(part.height() for part in event.region()))
        return False


def is_whole(panel: FacetPanel) -> bool:
    """Whether all is on screen as it would be painted now."""
    return bool(panel.screen().grabWindow(panel.winId()).toImage() == panel.grab().toImage())


SHIFTING = [
    learning("one", agent_id="triage", tags=["billing"]),
    learning("two", agent_id="triage", tags=["billing"]),
    learning("three", agent_id="writer", tags=["billing", "refunds"]),
    learning("four", agent_id="writer", tags=["billing", "refunds"]),
    learning("five", agent_id="reader", tags=["refunds"]),
]


async def test_a_bar_on_its_way_repaints_itself_alone(qtbot, until):
    async with showing(qtbot, await filled(SHIFTING)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG) and panel.delegate.progress == 1.0)
        painted = Painted(panel.tree.viewport())
        panel.show_filter(MetaFilter(agent_id="writer"))
        await until(lambda: counts(panel, Facet.TAG) == {"billing": "2", "refunds": "2"})
        await until(lambda: 0.0 < panel.delegate.progress < 1.0)
        await until(lambda: panel.delegate.progress == 1.0)
        await until(lambda: painted.heights.count(facet_delegate.BAR_HEIGHT) >= 2)
        await until(lambda: is_whole(panel))  # nothing else was lost, once what is due is painted


async def test_a_choice_repaints_what_it_changes(qtbot, until):
    async with showing(qtbot, await filled(SHIFTING)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG) and panel.delegate.progress == 1.0)
        await until(lambda: is_whole(panel))
        painted = Painted(panel.tree.viewport())
        panel.show_filter(MetaFilter(agent_id="writer"))
        QApplication.sendPostedEvents(panel, QEvent.Type.UpdateRequest)
        assert 0 < max(painted.heights) < panel.tree.viewport().height() // 2
        await until(lambda: counts(panel, Facet.TAG) == {"billing": "2", "refunds": "2"} and not panel.jobs.is_busy)
        await until(lambda: panel.delegate.progress == 1.0 and is_whole(panel))


async def test_bars_stand_at_once_where_the_rows_are_others(qtbot, until):
    async with showing(qtbot, await filled(SHIFTING)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG) and panel.delegate.progress == 1.0)
        panel.show_filter(MetaFilter(agent_id="reader"))
        await until(lambda: counts(panel, Facet.TAG) == {"refunds": "1"})
        rows = [row for facet in panel.model.facets for row in panel.model.section(facet).rows]
        assert all(row.share == row.share_before for row in rows if row.label == "refunds")


async def test_first_counts_and_what_is_open(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        assert counts(panel, Facet.TAG) == {"billing": "2", "refunds": "2", "no value": "1"}
        assert counts(panel, Facet.KIND) == {"Learning": "4"}
        opened = [facet for facet in panel.model.facets if panel.tree.isExpanded(panel.model.facet_index(facet))]
        assert opened == [Facet.KIND, Facet.TAG, Facet.SOURCE, Facet.AGENT]
        assert panel.model.summary(Facet.SOURCE, is_open=True) == "2 values"
        assert panel.model.summary(Facet.FOLDER) == "", "a closed one is not counted"


async def test_a_facet_ignores_itself_and_obeys_the_rest(qtbot, until):
    filter = MetaFilter(tags_any=["refunds"], agent_id="triage")
    async with showing(qtbot, await filled(ITEMS), filter) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        assert counts(panel, Facet.TAG) == {"refunds": "2", "billing": "1"}
        assert counts(panel, Facet.AGENT) == {"triage": "2"}
        assert counts(panel, Facet.SOURCE) == {"Conversation": "2"}
        panel.reveal(Facet.WORKSPACE)
        await until(lambda: counts(panel, Facet.WORKSPACE) == {"no value": "2"})


async def test_the_namespace_facets_own_condition_is_the_reach(qtbot, until):
    items = [learning("a", "team:acme"), learning("b", "user:dana"), learning("c", "team:acme/service:nightly")]
    at = Namespace.parse("team:acme/service:nightly")
    async with showing(qtbot, await filled(items), MetaFilter(reach=Reach.exact(at))) as panel:
        panel.reveal(Facet.NAMESPACE)
        await until(lambda: is_counted(panel, Facet.NAMESPACE) and is_counted(panel, Facet.KIND))
        assert counts(panel, Facet.NAMESPACE) == {"team:acme/service:nightly": "1", "team:acme": "1", "user:dana": "1"}
        assert counts(panel, Facet.KIND) == {"Learning": "1"}


async def test_double_click_narrows(qtbot, until):
    async with showing(qtbot, await filled(ITEMS), MetaFilter(tags_any=["billing"])) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        place = beside_box(panel, value(panel, Facet.TAG, "refunds"))
        qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert panel.filters == [], "one click only selects"
        qtbot.mouseDClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
        assert panel.filters == [MetaFilter(tags_any=["refunds"])]


async def test_ticking_two_tags(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        tick(qtbot, panel, Facet.TAG, "refunds")
        assert panel.model.section(Facet.TAG).chosen == ["refunds"], "marked at once, counted later"
        await until(lambda: counts(panel, Facet.AGENT) == {"triage": "2"})
        assert counts(panel, Facet.TAG) == {"refunds": "2", "billing": "2", "no value": "1"}
        tick(qtbot, panel, Facet.TAG, "billing")
        await until(lambda: counts(panel, Facet.AGENT) == {"triage": "2", "writer": "1"})
        assert panel.filters[-1] == MetaFilter(tags_any=["refunds", "billing"])
        tick(qtbot, panel, Facet.TAG, "refunds")
        assert panel.filters[-1] == MetaFilter(tags_any=["billing"])


async def test_chosen_values_stand_on_top_also_at_zero(qtbot, until):
    talks = [
        Conversation(turns=[Turn(role=Role.USER, text=f"talk {at}")], meta=MemoryMeta(agent_id="writer"))
        for at in range(5)
    ]
    document = Document(body=DocumentBody(text="a page"), meta=MemoryMeta(agent_id="triage"))
    both = [ItemKind.DOCUMENT, ItemKind.LEARNING]
    async with showing(qtbot, await filled([*ITEMS, document, *talks]), MetaFilter(kinds=both)) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        assert counts(panel, Facet.KIND) == {"Learning": "4", "Document": "1", "Conversation": "5"}
        panel.show_filter(MetaFilter(kinds=both, agent_id="writer"))
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "2", "Document": "0", "Conversation": "5"})
        assert labels(panel, Facet.KIND) == ["Learning", "Document", "Conversation"]


async def test_a_double_click_on_the_box_is_two_clicks(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        box = panel.delegate.box_area(value(panel, Facet.TAG, "billing")).center()
        qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=box)
        qtbot.mouseDClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=box)
        assert [wanted.tags_any for wanted in panel.filters][:2] == [["billing"], []]


async def test_single_values_are_radios(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.AGENT))
        tick(qtbot, panel, Facet.AGENT, "triage")
        await until(lambda: not panel.jobs.is_busy)
        tick(qtbot, panel, Facet.AGENT, "writer")
        await until(lambda: not panel.jobs.is_busy)
        tick(qtbot, panel, Facet.AGENT, "writer")
        assert panel.filters == [MetaFilter(agent_id="triage"), MetaFilter(agent_id="writer"), MetaFilter()]


async def test_a_blank_value_is_shown_and_set_directly(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.reveal(Facet.WORKSPACE)
        await until(lambda: is_counted(panel, Facet.WORKSPACE))
        assert counts(panel, Facet.WORKSPACE) == {"(empty)": "1", "no value": "3"}
        panel.tree.setCurrentIndex(value(panel, Facet.WORKSPACE, ""))
        qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
        assert panel.filters == [MetaFilter(workspace="")]
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "1"})


async def test_values_with_empty_segments_are_one_row_each(qtbot, until):
    sources = [SourceRef(kind=SourceKind.FILE, id=id) for id in ("::a::b", ":x", "a:b")]
    items = [learning(f"item {at}", source=source, folder="//a//b") for at, source in enumerate(sources)]
    async with showing(qtbot, await filled(items)) as panel:
        panel.reveal(Facet.FOLDER)
        panel.reveal(Facet.SOURCE_ID)
        await until(lambda: is_counted(panel, Facet.SOURCE_ID) and is_counted(panel, Facet.FOLDER))
        assert counts(panel, Facet.SOURCE_ID) == {"::a::b": "1", ":x": "1", "a:b": "1"}
        assert counts(panel, Facet.FOLDER) == {"//a//b": "3"}
        panel.tree.setCurrentIndex(value(panel, Facet.SOURCE_ID, "::a::b"))
        qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
        assert panel.filters == [MetaFilter(source_id="::a::b")]


async def test_no_value_cannot_be_chosen(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        missing = panel.model.row_index(Facet.TAG, RowType.MISSING)
        for place in (panel.delegate.box_area(missing).center(), beside_box(panel, missing)):
            qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
            qtbot.mouseDClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)
        panel.tree.setCurrentIndex(missing)
        qtbot.keyClick(panel.tree, Qt.Key.Key_Space)
        qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
        assert panel.filters == []


async def test_more_row_raises_the_limit(qtbot, until):
    items = [learning(f"item {at}", tags=[f"t{at:02}"]) for at in range(60)]
    engine = await filled(items)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        assert panel.model.summary(Facet.TAG, is_open=True) == "8 of 60 values"
        more = panel.model.row_index(Facet.TAG, RowType.MORE)
        assert more.data() == "Show 52 more tags"
        qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=beside_box(panel, more))
        await until(lambda: len(counts(panel, Facet.TAG)) == 60)
        assert [req.limit for req in engine.requests("explore_many")[-1]] == [500], "only the facet that has more"
        assert panel.model.summary(Facet.TAG, is_open=True) == "60 values"
        fewer = panel.model.row_index(Facet.TAG, RowType.FEWER)
        qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=beside_box(panel, fewer))
        assert len(counts(panel, Facet.TAG)) == 8


async def test_find_box(qtbot, until):
    items = [learning(f"item {at}", tags=[f"t{at:02}"]) for at in range(60)]
    async with showing(qtbot, await filled(items)) as panel:
        await until(lambda: panel.find_edit(Facet.TAG))
        edit = panel.find_edit(Facet.TAG)
        assert edit.placeholderText() == "Find a tag"
        assert panel.tree.findChildren(QLineEdit) == [edit], "one per open facet that has values enough"
        qtbot.keyClicks(edit, "t5")
        await until(lambda: len(counts(panel, Facet.TAG)) == 10)
        assert set(counts(panel, Facet.TAG)) == {f"t5{at}" for at in range(10)}, "also those that were cut before"
        qtbot.keyClick(edit, Qt.Key.Key_Escape)
        assert edit.text() == ""
        assert len(counts(panel, Facet.TAG)) == 8
        panel.tree.collapse(panel.model.facet_index(Facet.TAG))
        assert panel.find_edit(Facet.TAG) is None


async def test_finding_among_twenty_thousand_values_makes_no_widgets(qtbot, until):
    engine = FakeEngine()
    engine.pages[Facet.FILE_PATH] = page_of(Facet.FILE_PATH, {f"/src/f{at:05}": 1 for at in range(20_000)})
    async with showing(qtbot, engine) as panel:
        panel.reveal(Facet.FILE_PATH)
        await until(lambda: panel.find_edit(Facet.FILE_PATH))
        before = len(panel.findChildren(object))
        edit = panel.find_edit(Facet.FILE_PATH)
        qtbot.keyClicks(edit, "f0123")
        assert labels(panel, Facet.FILE_PATH) == [f"/src/f0123{at}" for at in range(10)]
        assert len(panel.findChildren(object)) <= before + 2


async def test_find_box_stays_while_it_hides_rows_and_comes_back_with_its_values(qtbot, until):
    engine = FakeEngine()
    engine.pages[Facet.TAG] = page_of(Facet.TAG, {f"t{at}": 1 for at in range(9)})
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.find_edit(Facet.TAG))
        few, many = page_of(Facet.TAG, {"a": 1, "b": 1}), engine.pages[Facet.TAG]
        panel.find_edit(Facet.TAG).setText("a")
        panel.model.show_pages({Facet.TAG: few})
        assert labels(panel, Facet.TAG) == ["a"]
        panel.find_edit(Facet.TAG).clear()
        assert labels(panel, Facet.TAG) == ["a", "b"]
        assert panel.find_edit(Facet.TAG) is None
        panel.model.show_pages({Facet.TAG: many})
        edit = panel.find_edit(Facet.TAG)
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete.value)
        assert panel.find_edit(Facet.TAG) is edit
        assert edit is not None


async def test_a_value_beyond_all_limits_can_be_typed(qtbot, until):
    engine = FakeEngine()
    paths = {f"/src/f{at:03}": 1 for at in range(500)}
    engine.pages[Facet.FILE_PATH] = page_of(Facet.FILE_PATH, paths, more=19_500)
    async with showing(qtbot, engine) as panel:
        panel.reveal(Facet.FILE_PATH)
        await until(lambda: panel.find_edit(Facet.FILE_PATH))
        qtbot.keyClicks(panel.find_edit(Facet.FILE_PATH), "/src/f12345")
        await until(lambda: not panel.jobs.is_busy)
        exact = panel.model.row_index(Facet.FILE_PATH, RowType.EXACT, "exact")
        qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=beside_box(panel, exact))
        assert panel.filters == [MetaFilter(file_path="/src/f12345")]


async def test_the_newer_filter_wins(qtbot, until):
    engine = await filled(ITEMS)
    slow = engine.hold("explore_many", lambda reqs: reqs[0].filter.agent_id == "triage", stubborn=True)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        panel.show_filter(MetaFilter(agent_id="triage"))
        await until(lambda: slow.waiting)
        panel.show_filter(MetaFilter(source_id="none", agent_id="writer"))
        await until(lambda: counts(panel, Facet.KIND) == {})
        slow.open()
        await until(lambda: not slow.waiting)
        await panel.aclose()
        assert counts(panel, Facet.KIND) == {}
        assert counts(panel, Facet.AGENT) == {"writer": "0"}


async def test_old_counts_stay_until_the_new_ones_are_there(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        gate = engine.hold("explore_many")
        panel.show_filter(MetaFilter(agent_id="triage"))
        await until(lambda: panel.model.section(Facet.KIND).is_stale)
        assert counts(panel, Facet.KIND) == {"Learning": "4"}
        gate.open()
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "2"})
        assert not panel.model.section(Facet.KIND).is_stale


async def test_a_refused_key_leaves_the_old_counts(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        engine.fail("explore_many", Unauthorized("not this key"))
        panel.refresh()
        await until(lambda: panel.banner.sentence)
        assert panel.banner.sentence == "The key was refused: not this key."
        assert not panel.banner.findChild(QPushButton, "bannerActionButton").isVisible(), "the same key fails again"
        assert engine.requests("explore") == [], "no knocking again for each facet"
        assert counts(panel, Facet.KIND) == {"Learning": "4"}
        assert panel.model.section(Facet.KIND).is_stale
        engine.mend()
        panel.refresh()
        await until(lambda: not panel.model.section(Facet.KIND).is_stale)
        assert panel.model.section(Facet.KIND).error is None
        assert panel.banner.sentence == ""


async def test_nothing_counted_is_said_once_and_can_be_tried_again(qtbot, until):
    engine = await filled(ITEMS)
    engine.fail("explore_many", Unavailable("the server is away"))
    async with showing(qtbot, engine) as panel:
        panel.resize(220, 900)
        await until(lambda: panel.banner.sentence)
        assert panel.banner.sentence == "No answer came: the server is away."
        said = panel.banner.findChild(QLabel, "bannerLabel")
        await until(lambda: said.height() >= said.heightForWidth(said.width()))
        assert {panel.model.summary(facet) for facet in Facet} == {""}, "not fourteen times"
        assert all(panel.model.section(facet).error is None for facet in Facet)
        engine.mend()
        qtbot.mouseClick(panel.banner.findChild(QPushButton, "bannerActionButton"), Qt.MouseButton.LeftButton)
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "4"})
        assert panel.banner.isHidden()


async def test_a_long_reason_leaves_room_for_the_rows(qtbot, until):
    engine = await filled(ITEMS)
    engine.fail("explore_many", Unavailable("because " * 60))
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.banner.sentence)
        assert panel.banner.sentence.endswith("because…")
        assert panel.banner.toolTip().count("because") == 60
        await until(lambda: panel.banner.maximumHeight() > 10_000)
        assert panel.tree.height() > panel.banner.height()


async def test_another_engine_takes_the_news_of_the_last_away(qtbot, until):
    engine = await filled(ITEMS)
    engine.fail("explore_many", Unavailable("the server is away"))
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.banner.sentence)
        panel.set_engine(None)
        assert panel.banner.sentence == ""


async def test_one_facet_that_fails_hides_no_other(qtbot, until):
    engine = await filled(ITEMS)
    refused = EngineFailure("no such column")
    engine.fail("explore_many", refused)
    engine.fail("explore", refused, lambda req: req.facet is Facet.AGENT)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        assert panel.model.section(Facet.AGENT).error == refused
        assert panel.model.summary(Facet.AGENT) == "not counted"
        assert counts(panel, Facet.KIND) == {"Learning": "4"}
        assert panel.banner.sentence == "", "its head says it"


async def test_truncated_counts_and_counting_everything(qtbot, until):
    engine = await filled([learning(f"item {at}") for at in range(30)])
    async with showing(qtbot, engine) as panel:
        panel.scan.limit = 12
        panel.refresh()
        await until(lambda: is_counted(panel, Facet.KIND))
        assert counts(panel, Facet.KIND) == {"Learning": "12+"}
        assert panel.model.summary(Facet.KIND) == "1+ values"
        assert panel.count_all_action.isEnabled()
        panel.count_all_action.trigger()
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "30"})
        assert engine.requests("explore_many")[-1][0].scan_limit == 48, "a step further was enough"
        assert not panel.count_all_action.isEnabled()


async def test_a_count_that_stopped_is_said_and_can_go_on_or_be_cancelled(qtbot, until):
    engine = await filled([learning(f"item {at}") for at in range(30)])
    async with showing(qtbot, engine) as panel:
        panel.scan.limit = 12
        panel.refresh()
        await until(lambda: panel.banner.sentence)
        assert panel.banner.sentence == "Counted 12 of more items"
        gate = engine.hold("explore_many", lambda reqs: reqs[0].scan_limit > 12)
        more = panel.banner.findChild(QPushButton, "bannerActionButton")
        assert more.text() == "Count all"
        qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
        await until(lambda: panel.banner.sentence == "Counting everything, 12 items so far…")
        assert counts(panel, Facet.KIND) == {"Learning": "12+"}
        assert more.text() == "Cancel"
        qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
        await until(lambda: not panel.jobs.is_busy)
        assert counts(panel, Facet.KIND) == {"Learning": "12+"}, "what was counted stays"
        assert not panel.model.section(Facet.KIND).is_stale
        assert panel.banner.sentence == "Counted 12 of more items"
        gate.open()
        qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "30"})
        assert panel.banner.sentence == ""


async def test_a_failure_is_not_said_any_more_once_it_is_counted(qtbot, until):
    engine = await filled([learning(f"item {at}") for at in range(30)])
    async with showing(qtbot, engine) as panel:
        panel.scan.limit = 12
        panel.refresh()
        await until(lambda: panel.banner.sentence == "Counted 12 of more items")
        engine.fail("explore_many", Unavailable("the server is away"))
        panel.refresh()
        await until(lambda: panel.banner.sentence == "No answer came: the server is away.")
        engine.mend()
        panel.refresh()
        await until(lambda: panel.banner.sentence == "Counted 12 of more items")


async def count_everything(qtbot, until, panel: FacetPanel) -> None:
    """Click it, once a count has stopped at twelve items, and wait until it is said to go on."""
    panel.scan.limit = 12
    panel.refresh()
    await until(lambda: panel.banner.sentence == "Counted 12 of more items")
    button = panel.banner.findChild(QPushButton, "bannerActionButton")
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
    await until(lambda: panel.banner.sentence == "Counting everything, 12 items so far…")


@pytest.mark.parametrize("items", [30, 80])
async def test_a_facet_that_fails_last_ends_the_round(qtbot, until, items):
    engine = await filled([learning(f"item {at}", tags=["a"]) for at in range(items)])
    async with showing(qtbot, engine, MetaFilter(tags_any=["a"])) as panel:
        gate = engine.hold("explore_many", lambda reqs: reqs[0].scan_limit > 12 and reqs[0].facet is Facet.TAG)
        rest = engine.hold("explore_many", lambda reqs: reqs[0].scan_limit > 12 and reqs[0].facet is not Facet.TAG)
        engine.fail("explore_many", EngineFailure("too far"), lambda reqs: "too far" in reasons(reqs))
        engine.fail("explore", EngineFailure("too far"), lambda req: "too far" in reasons([req]))
        await count_everything(qtbot, until, panel)
        rest.open()
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "30" if items == 30 else "48+"})
        assert panel.jobs.is_busy
        gate.open()
        await until(lambda: not panel.jobs.is_busy)
        assert counts(panel, Facet.KIND) == {"Learning": str(items)}, "the others are counted to the end"
        assert panel.model.section(Facet.TAG).error is not None
        assert panel.banner.sentence == ""


def reasons(reqs) -> str:
    return "too far" if any(req.facet is Facet.TAG and req.scan_limit > 12 for req in reqs) else ""


async def test_counting_everything_ends_with_the_last_open_facet(qtbot, until):
    engine = await filled([learning(f"item {at}") for at in range(80)])
    async with showing(qtbot, engine) as panel:
        gate = engine.hold("explore_many", lambda reqs: reqs[0].scan_limit == 48)
        await count_everything(qtbot, until, panel)
        pick(panel.more_button.menu(), "Collapse all")
        gate.open()
        await until(lambda: not panel.jobs.is_busy)
        assert panel.banner.sentence == "Counted 48 of more items"
        panel.tree.expand(panel.model.facet_index(Facet.KIND))
        button = panel.banner.findChild(QPushButton, "bannerActionButton")
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "80"})


async def test_another_filter_ends_counting_everything(qtbot, until):
    engine = await filled([learning(f"item {at}", tags=["a"]) for at in range(30)])
    async with showing(qtbot, engine) as panel:
        engine.hold("explore_many", lambda reqs: reqs[0].scan_limit == 48)
        await count_everything(qtbot, until, panel)
        pick(panel.more_button.menu(), "Collapse all")
        panel.show_filter(MetaFilter(tags_any=["a"]))
        assert panel.banner.sentence == ""
        await until(lambda: not panel.jobs.is_busy)
        assert panel.banner.sentence == ""


@pytest.mark.parametrize(
    ("error", "words"),
    [
        (None, "Counted 12 of more items"),
        (Unavailable("the server is away"), "No answer came: the server is away."),
    ],
)
async def test_nothing_is_said_of_facets_that_are_closed(qtbot, until, error, words):
    engine = await filled([learning(f"item {at}") for at in range(30)])
    async with showing(qtbot, engine) as panel:
        panel.scan.limit = 12
        if error is not None:
            engine.fail("explore_many", error)
        panel.refresh()
        await until(lambda: panel.banner.sentence == words)
        pick(panel.more_button.menu(), "Collapse all")
        if error is None:
            panel.count_all_action.trigger()
        else:
            panel.refresh()
        await until(lambda: not panel.jobs.is_busy)
        assert panel.banner.sentence == ""
        engine.mend()
        panel.scan.limit = 48
        panel.tree.expand(panel.model.facet_index(Facet.KIND))
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "30"})


async def test_what_is_closed_while_counting_is_stopped_is_counted_once_it_opens(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        gate = engine.hold("explore_many")
        panel.show_filter(MetaFilter(agent_id="triage"))
        await until(lambda: gate.waiting)
        panel.tree.collapse(panel.model.facet_index(Facet.KIND))
        panel.cancel_counting()
        await until(lambda: not panel.jobs.is_busy)
        assert counts(panel, Facet.KIND) == {}
        assert panel.model.section(Facet.TAG).is_stale
        assert panel.banner.sentence == "Counting stopped."
        gate.open()
        panel.tree.expand(panel.model.facet_index(Facet.KIND))
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "2"})
        assert not panel.model.section(Facet.TAG).is_stale, "what is open beside it, too"
        assert panel.banner.sentence == ""


async def test_a_retry_that_is_stopped_leaves_the_counts_stale(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        engine.fail("explore_many", Unavailable("the server is away"))
        panel.refresh()
        await until(lambda: panel.banner.sentence)
        gate = engine.hold("explore_many")
        qtbot.mouseClick(panel.banner.findChild(QPushButton, "bannerActionButton"), Qt.MouseButton.LeftButton)
        await until(lambda: gate.waiting and panel.model.section(Facet.KIND).is_counting)
        panel.cancel_counting()
        await until(lambda: not panel.jobs.is_busy)
        assert panel.model.section(Facet.KIND).is_stale
        assert panel.banner.sentence == "Counting stopped."


async def test_a_value_is_not_dead_by_a_count_under_the_former_filter(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        both = MetaFilter(agent_id="triage", tags_any=["refunds"])
        panel.show_filter(both.model_copy(update={"agent_id": "nobody"}))
        await until(lambda: panel.dead == {"agent_id": ["nobody"], "tags_any": ["refunds"]})
        held = engine.hold("explore_many", lambda reqs: reqs[0].facet is Facet.TAG)
        panel._quick.setInterval(60_000)  # it does not come to be dimmed
        panel.show_filter(both)
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "2"})
        assert held.waiting
        assert panel.dead == {}


async def test_a_note_that_was_dismissed_stays_away(qtbot, until):
    engine = await filled([learning(f"item {at}") for at in range(30)])
    async with showing(qtbot, engine) as panel:
        panel.scan.limit = 12
        panel.refresh()
        await until(lambda: panel.banner.sentence)
        panel.banner.clear()
        panel.refresh()
        await until(lambda: is_counted(panel, Facet.KIND))
        assert counts(panel, Facet.KIND) == {"Learning": "12+"}
        assert panel.banner.sentence == ""


async def test_a_chosen_value_that_the_limit_cut_has_its_count(qtbot, until):
    items = [learning(f"item {at}", tags=[f"t{at:02}"]) for at in range(60)]
    async with showing(qtbot, await filled(items), MetaFilter(tags_any=["t59"])) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        assert next(iter(counts(panel, Facet.TAG).items())) == ("t59", "1")


async def test_keyboard_alone(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        keys = panel.tree
        panel.reveal(Facet.TAG)
        assert panel.model.facet_at(keys.currentIndex()) is Facet.TAG
        qtbot.keyClick(keys, Qt.Key.Key_Space)
        assert not keys.isExpanded(panel.model.facet_index(Facet.TAG))
        qtbot.keyClick(keys, Qt.Key.Key_Return)
        assert keys.isExpanded(panel.model.facet_index(Facet.TAG))
        qtbot.keyClick(keys, Qt.Key.Key_Down)
        qtbot.keyClick(keys, Qt.Key.Key_Down)
        assert keys.currentIndex().data() == "refunds"
        qtbot.keyClick(keys, Qt.Key.Key_Space)
        await until(lambda: counts(panel, Facet.AGENT) == {"triage": "2"})
        assert keys.currentIndex().data() == "refunds"
        assert labels(panel, Facet.TAG)[:2] == ["billing", "refunds"], "it stays under the hand that chose it"
        qtbot.keyClick(keys, Qt.Key.Key_Up)
        qtbot.keyClick(keys, Qt.Key.Key_Return)
        assert panel.filters == [MetaFilter(tags_any=["refunds"]), MetaFilter(tags_any=["billing"])]
        qtbot.keyClick(keys, Qt.Key.Key_Left)
        assert keys.currentIndex() == panel.model.facet_index(Facet.TAG)


async def test_keyboard_in_and_out_of_the_find_box(qtbot, until):
    items = [learning(f"item {at}", tags=[f"t{at:02}"]) for at in range(20)]
    async with showing(qtbot, await filled(items)) as panel:
        panel.activateWindow()
        await until(lambda: panel.find_edit(Facet.TAG) and panel.isActiveWindow())
        edit = panel.find_edit(Facet.TAG)
        panel.reveal(Facet.TAG)
        await until(panel.tree.hasFocus)
        qtbot.keyClick(panel.tree, Qt.Key.Key_Down)
        assert QApplication.focusWidget() is edit
        qtbot.keyClicks(edit, "t13")
        qtbot.keyClick(edit, Qt.Key.Key_Down)
        assert QApplication.focusWidget() is panel.tree
        assert panel.tree.currentIndex().data() == "t13"
        qtbot.keyClick(panel.tree, Qt.Key.Key_Up)
        assert QApplication.focusWidget() is edit
        qtbot.keyClick(edit, Qt.Key.Key_Up)
        assert panel.tree.currentIndex() == panel.model.facet_index(Facet.TAG)


async def test_the_panel_gives_the_keyboard_to_a_row_that_is_seen(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.activateWindow()
        await until(lambda: counts(panel, Facet.TAG) and panel.isActiveWindow())
        panel.sort_button.setFocus()
        panel.setFocus(Qt.FocusReason.TabFocusReason)
        assert QApplication.focusWidget() is panel.tree
        assert panel.tree.currentIndex() == panel.model.index(0, 0)
        assert ring_pixels(panel) > 0
        qtbot.keyClick(panel.tree, Qt.Key.Key_Down)
        assert panel.tree.currentIndex().data() == "Learning"
        panel.sort_button.setFocus()
        panel.resize(288, 200)
        panel.tree.scrollToBottom()
        panel.setFocus(Qt.FocusReason.TabFocusReason)
        assert panel.tree.viewport().rect().contains(panel.tree.visualRect(panel.tree.currentIndex()))


def ring_pixels(panel: FacetPanel) -> int:
    """How much of the left edge of the current row has the colour of the focus."""
    row = panel.tree.visualRect(panel.tree.currentIndex())
    drawn = panel.tree.viewport().grab().toImage()
    return sum(drawn.pixelColor(4, y) == theme().color("accent") for y in range(row.top(), row.bottom()))


async def test_the_current_row_does_not_vanish_with_its_facet(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        panel.tree.setCurrentIndex(value(panel, Facet.TAG, "refunds"))
        panel.tree.collapse(panel.model.facet_index(Facet.TAG))
        assert panel.tree.currentIndex() == panel.model.facet_index(Facet.TAG)


async def test_find_boxes_are_no_tab_stops_and_are_left_as_the_tree_is(qtbot, until):
    items = [learning(f"item {at}", tags=[f"t{at:02}"], agent_id=f"a{at:02}") for at in range(20)]
    async with showing(qtbot, await filled(items)) as panel:
        window = QWidget()
        qtbot.addWidget(window)
        column = QVBoxLayout(window)
        first, last = QLineEdit(), QLineEdit()
        for part in (first, panel, last):
            column.addWidget(part)
        QWidget.setTabOrder(panel.tree, last)
        window.show()
        window.activateWindow()
        await until(lambda: panel.find_edit(Facet.TAG) and panel.find_edit(Facet.AGENT) and window.isActiveWindow())
        first.setFocus()
        seen = [first]
        while len(seen) < 6 and (len(seen) == 1 or seen[-1] is not first):
            qtbot.keyClick(seen[-1], Qt.Key.Key_Tab)
            seen.append(QApplication.focusWidget())
        assert seen == [first, panel.sort_button, panel.more_button, panel.tree, last, first]
        for facet in (Facet.TAG, Facet.AGENT):
            panel.find_edit(facet).setFocus()
            qtbot.keyClick(panel.find_edit(facet), Qt.Key.Key_Tab)
            assert QApplication.focusWidget() is last
            panel.find_edit(facet).setFocus()
            qtbot.keyClick(panel.find_edit(facet), Qt.Key.Key_Tab, Qt.KeyboardModifier.ShiftModifier)
            assert QApplication.focusWidget() is panel.tree
        panel.setParent(None)
        qtbot.addWidget(panel)


async def test_escape_clears_the_find_box_and_then_leaves_it(qtbot, until):
    items = [learning(f"item {at}", tags=[f"t{at:02}"]) for at in range(20)]
    async with showing(qtbot, await filled(items)) as panel:
        panel.activateWindow()
        await until(lambda: panel.find_edit(Facet.TAG) and panel.isActiveWindow())
        edit = panel.find_edit(Facet.TAG)
        edit.setFocus()
        qtbot.keyClicks(edit, "t1")
        assert panel.model.summary(Facet.TAG, is_open=True) == "10 of 20 values, finding “\u2068t1\u2069”"
        qtbot.keyClick(edit, Qt.Key.Key_Escape)
        assert (edit.text(), QApplication.focusWidget()) == ("", edit)
        qtbot.keyClick(edit, Qt.Key.Key_Escape)
        assert QApplication.focusWidget() is panel.tree


async def test_clearing_the_filter_clears_what_is_looked_for(qtbot, until):
    items = [learning(f"item {at}", tags=[f"t{at:02}"]) for at in range(20)]
    async with showing(qtbot, await filled(items), MetaFilter(tags_any=["t01"])) as panel:
        await until(lambda: panel.find_edit(Facet.TAG))
        panel.find_edit(Facet.TAG).setText("t1")
        panel.show_filter(MetaFilter(tags_any=["t02"]))
        await until(lambda: not panel.jobs.is_busy)
        assert panel.find_edit(Facet.TAG).text() == "t1"
        panel.show_filter(MetaFilter())
        await until(lambda: not panel.jobs.is_busy)
        assert panel.find_edit(Facet.TAG).text() == ""
        assert panel.model.summary(Facet.TAG, is_open=True) == "8 of 20 values"


async def test_a_search_is_said_not_to_be_counted(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        assert panel.head.aside.words_seen == "counted under the filter"
        assert not panel.head.warning.isVisible()
        panel.resize(400, 900)
        panel.set_search(True)
        await until(lambda: panel.head.aside.words_seen == "counted without the search")
        assert panel.head.warning.isVisible(), "a shape besides the colour"
        panel.resize(250, 900)
        await until(lambda: panel.head.aside.words_seen == "without the search")
        panel.set_search(False)
        await until(lambda: panel.head.aside.words_seen == "counted under the filter")
        assert not panel.head.warning.isVisible()


def menu_at(panel: FacetPanel, index, by_key: bool = False) -> QMenu | None:
    """The menu of a row, asked for as a person asks: through the view's own event."""
    viewport = panel.tree.viewport()
    panel.tree.scrollTo(index)
    place = panel.tree.visualRect(index).center()
    reason = QContextMenuEvent.Reason.Keyboard if by_key else QContextMenuEvent.Reason.Mouse
    if by_key:
        panel.tree.setCurrentIndex(index)
        place = QPoint(0, 0)
    before = panel.tree.findChildren(QMenu)
    target = panel.tree if by_key else viewport
    QApplication.sendEvent(target, QContextMenuEvent(reason, place, target.mapToGlobal(place)))
    made = [menu for menu in panel.tree.findChildren(QMenu) if menu not in before]
    return made[0] if made else None


def pick(menu: QMenu, words: str) -> None:
    next(action for action in menu.actions() if action.text() == words).trigger()
    menu.close()


def words_of(menu: QMenu) -> list[str]:
    return [action.text() for action in menu.actions() if not action.isSeparator()]


async def test_menu_of_a_value_that_may_stand_beside_others(qtbot, until):
    async with showing(qtbot, await filled(ITEMS), MetaFilter(tags_any=["billing"])) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        menu = menu_at(panel, value(panel, Facet.TAG, "refunds"))
        assert words_of(menu) == ["Only this value", "Add to the filter", "Copy value", FORGET]
        pick(menu, "Add to the filter")
        assert panel.filters[-1] == MetaFilter(tags_any=["billing", "refunds"])
        menu = menu_at(panel, value(panel, Facet.TAG, "refunds"), by_key=True)
        assert words_of(menu) == ["Only this value", "Remove from the filter", "Copy value", FORGET]
        pick(menu, "Only this value")
        assert panel.filters[-1] == MetaFilter(tags_any=["refunds"])
        menu = menu_at(panel, value(panel, Facet.TAG, "refunds"))
        assert not menu.actions()[0].isEnabled(), "it is alone already"
        pick(menu, "Remove from the filter")
        assert panel.filters[-1] == MetaFilter()


async def test_menu_of_a_value_that_stands_alone(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.AGENT))
        menu = menu_at(panel, value(panel, Facet.AGENT, "triage"))
        assert words_of(menu) == ["Only this value", "Copy value", FORGET]
        pick(menu, "Copy value")
        assert QGuiApplication.clipboard().text() == "triage"
        assert menu_at(panel, panel.model.row_index(Facet.TAG, RowType.MISSING)) is None


async def test_a_chosen_value_that_nothing_has_is_dim(qtbot, until, monkeypatch):
    drawn: dict[str, str] = {}
    plain = facet_delegate.draw_text

    def noted(painter, rect, text, role="body", token="text", *rest, **more):
        drawn[text] = token
        return plain(painter, rect, text, role, token, *rest, **more)

    monkeypatch.setattr(facet_delegate, "draw_text", noted)
    async with showing(qtbot, await filled(ITEMS), MetaFilter(tags_any=["gone", "refunds"])) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        assert counts(panel, Facet.TAG)["gone"] == "0"
        drawn.clear()
        panel.grab()
        assert (drawn["gone"], drawn["0"], drawn["refunds"]) == ("text3", "text3", "text")


async def test_nothing_moves_under_the_pointer(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        place = panel.delegate.box_area(value(panel, Facet.TAG, "refunds")).center()
        point_at(panel, place)
        panel.show_filter(MetaFilter(tags_any=["refunds"], agent_id="writer"))
        await until(lambda: counts(panel, Facet.AGENT) == {"writer": "0", "triage": "2"})
        assert counts(panel, Facet.TAG) == {"billing": "1", "refunds": "0", "no value": "1"}
        assert panel.tree.indexAt(place).data() == "refunds"
        QApplication.sendEvent(panel.tree.viewport(), QEvent(QEvent.Type.Leave))
        assert labels(panel, Facet.TAG) == ["refunds", "billing", "no value"]


async def test_rows_that_come_above_do_not_push_what_is_under_the_pointer(qtbot, until):
    items = [learning(f"item {at}", tags=[f"t{at:02}"], agent_id=f"a{at:02}") for at in range(40)]
    async with showing(qtbot, await filled(items), MetaFilter(agent_id="a07")) as panel:
        panel.resize(288, 300)
        await until(lambda: is_counted(panel, Facet.TAG))
        panel.tree.scrollToBottom()
        place = QPoint(60, 150)
        point_at(panel, place)
        under = panel.tree.indexAt(place).data()
        top = panel.tree.visualRect(panel.tree.indexAt(place)).top()
        panel.show_filter(MetaFilter())
        await until(lambda: len(counts(panel, Facet.TAG)) > 1)
        assert panel.tree.indexAt(place).data() == under
        assert panel.tree.visualRect(panel.tree.indexAt(place)).top() == top


async def test_sorting_by_name(qtbot, until):
    items = [*ITEMS, learning("five", tags=["vip", "refunds"]), learning("six", tags=["vip", "refunds"])]
    async with showing(qtbot, await filled(items)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        by_count, by_name = panel.sort_button.menu().actions()
        assert counts(panel, Facet.TAG) == {"refunds": "4", "billing": "2", "vip": "2", "no value": "1"}
        assert labels(panel, Facet.TAG) == ["refunds", "billing", "vip", "no value"]
        by_name.trigger()
        assert panel.model.order is Order.NAME
        assert labels(panel, Facet.TAG) == ["billing", "refunds", "vip", "no value"]
        by_count.trigger()
        assert panel.model.order is Order.COUNT
        assert labels(panel, Facet.TAG) == ["refunds", "billing", "vip", "no value"]


async def test_a_round_box_is_for_one_value_and_a_square_one_for_several(qtbot, until, monkeypatch):
    drawn: dict[int, bool] = {}  # by the middle of the box, whether it is round
    real = facet_delegate.draw_check

    def noting(painter, rect, checked, enabled=True, radio=False):
        drawn[rect.center().y()] = radio
        real(painter, rect, checked, enabled, radio)

    monkeypatch.setattr(facet_delegate, "draw_check", noting)
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.resize(288, 4_000)
        panel.more_button.menu().actions()[0].trigger()  # all of them open
        await until(lambda: all(is_counted(panel, facet) for facet in Facet))
        drawn.clear()
        panel.tree.viewport().grab()
        kinds: dict[Facet, set[bool]] = {}
        for y, is_round in drawn.items():
            facet = panel.model.facet_at(panel.tree.indexAt(QPoint(100, y)))
            kinds.setdefault(facet, set()).add(is_round)
        several = {Facet.KIND, Facet.SOURCE, Facet.TAG}
        assert {facet for facet, is_round in kinds.items() if is_round == {False}} == several
        assert {facet for facet, is_round in kinds.items() if is_round == {True}} == set(kinds) - several
        assert {Facet.AGENT, Facet.FOLDER, Facet.NAMESPACE} < set(kinds)


async def test_expanding_and_collapsing_all(qtbot, until):
    threads = [learning(f"item {at}", thread_id=f"t{at}") for at in range(9)]
    engine = await filled([*ITEMS, *threads])
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        expand, collapse = panel.more_button.menu().actions()[:2]
        expand.trigger()
        heads = [panel.model.facet_index(facet) for facet in panel.model.facets]
        assert all(map(panel.tree.isExpanded, heads))
        await until(lambda: panel.find_edit(Facet.THREAD))
        asked = [{req.facet for req in reqs} for reqs in engine.requests("explore_many")]
        assert asked == [set(OPEN_FIRST), set(Facet) - set(OPEN_FIRST)], "together, and none twice"
        collapse.trigger()
        assert panel.find_edit(Facet.THREAD) is None
        assert not any(map(panel.tree.isExpanded, heads))


async def test_reveal_opens_and_takes_the_keyboard(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.activateWindow()
        await until(lambda: counts(panel, Facet.TAG) and panel.isActiveWindow())
        panel.reveal(Facet.URL)
        assert panel.tree.isExpanded(panel.model.facet_index(Facet.URL))
        await until(panel.tree.hasFocus)
        assert panel.tree.currentIndex() == panel.model.facet_index(Facet.URL)


HOSTILE = '<style>a{color:red}</style><a href="http://x.test">Erase done</a>'


async def test_stored_html_is_text_in_the_tooltip_that_is_shown(qtbot, until):
    async with showing(qtbot, await filled([learning("one", tags=[HOSTILE])])) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        assert labels(panel, Facet.TAG) == [HOSTILE]
        place = beside_box(panel, value(panel, Facet.TAG, HOSTILE))
        asked = QHelpEvent(QEvent.Type.ToolTip, place, panel.tree.viewport().mapToGlobal(place))
        QApplication.sendEvent(panel.tree.viewport(), asked)
        assert "&lt;a href=" in QToolTip.text()
        assert "<a" not in QToolTip.text()
        QToolTip.hideText()
        await until(lambda: not QToolTip.isVisible())


async def test_another_engine_leaves_nothing_of_the_last(qtbot, until):
    first = await filled(ITEMS)
    async with showing(qtbot, first) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        panel.set_engine(None)
        assert all(counts(panel, facet) == {} for facet in Facet)
        gate = first.hold("explore_many", stubborn=True)
        panel.set_engine(first)
        await until(lambda: gate.waiting)
        panel.set_engine(None)
        gate.open()
        await until(lambda: not gate.waiting)
        await asyncio.sleep(0)
        assert all(counts(panel, facet) == {} for facet in Facet)


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
async def test_box_is_where_it_is_drawn_in_both_directions(qtbot, until, direction):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.setLayoutDirection(direction)
        await until(lambda: is_counted(panel, Facet.TAG))
        box = panel.delegate.box_area(value(panel, Facet.TAG, "refunds"))
        is_left = box.center().x() < panel.tree.viewport().width() / 2
        assert is_left is (direction is Qt.LayoutDirection.LeftToRight)
        tick(qtbot, panel, Facet.TAG, "refunds")
        assert panel.filters == [MetaFilter(tags_any=["refunds"])]


async def test_rows_grow_with_the_text(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        index = value(panel, Facet.TAG, "refunds")
        assert panel.tree.visualRect(index).height() == theme().row_height("valueRow")
        assert panel.tree.visualRect(panel.model.facet_index(Facet.TAG)).height() == theme().row_height("facetHead")
        assert panel.head.height() == theme().row_height("dockTitle")
