"""Why an item is where it is: the Why page over a real file, and what it says where an engine does not tell."""

from __future__ import annotations

from datetime import UTC, datetime, timedelta
from pathlib import Path

from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QHelpEvent
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QToolTip, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Document,
    DocumentBody,
    ExplainedHit,
    ExplainedPage,
    FetchMode,
    FetchRequest,
    Hit,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    RetrievalScoreBreakdown,
    StoreItem,
    Timestamp,
    Unavailable,
)
from explorer.contract.explain import BALANCED
from explorer.contract.query import Passage
from explorer.engines import EngineSettings, build_engine
from explorer.ui.main_window import MainWindow
from explorer.ui.viewer import METADATA, READ, WHY, ItemViewer
from explorer.ui.viewer_parts.why import Answer, Question, reason_of
from tests.conftest import Until
from tests.fakes import FakeEngine, learning

NODE = "team:acme"
LONG = "Nothing of note. " * 400
ITEMS: list[StoreItem] = [
    learning("the ledger closes at six", NODE, tags=["billing"], observed_at=Timestamp.parse("2026-06-01T09:00:00Z")),
    learning("a refund is entered in the ledger", NODE, observed_at=Timestamp.parse("2026-06-03T09:00:00Z")),
    Document(
        body=DocumentBody(text=f"{LONG}The ledger names the team.\n\n{LONG}"),
        mime="text/plain",
        meta=MemoryMeta(
            namespace=Namespace.parse(NODE), tags=["billing"], observed_at=Timestamp.parse("2026-06-02T09:00:00Z")
        ),
    ),
]


def built(qtbot: QtBot, engine: MemoryEngine) -> ItemViewer:
    viewer = ItemViewer(zone=UTC)
    pane = QWidget()
    column = QVBoxLayout(pane)
    column.addWidget(viewer.header)
    column.addWidget(viewer, 1)
    qtbot.addWidget(pane, before_close_func=lambda _, kept=(pane, viewer): None)
    pane.resize(464, 640)
    pane.show()
    viewer.set_engine(engine)
    return viewer


async def choose(viewer: ItemViewer, hit: Hit, until: Until, segment: str = WHY) -> None:
    viewer.show_hit(hit)
    viewer.segments.button(segment).click()
    await until(lambda: not viewer.jobs.is_busy)


def lead(viewer: ItemViewer) -> str:
    return viewer.why_view.lead_label.text()


def plain(said: str) -> str:
    return said.replace("\u2068", "").replace("\u2069", "")


async def test_a_hit_shows_the_parts_of_its_score(qtbot: QtBot, until: Until, tmp_path: Path) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)
    await engine.store_many(ITEMS)
    question = Question(MetaFilter(tags_any=["billing"]), "ledger team", FetchMode.KEYWORD)
    told = await engine.fetch_explained(
        FetchRequest(query=question.query, mode=FetchMode.KEYWORD, filter=question.filter, limit=10)
    )
    viewer = built(qtbot, engine)
    viewer.set_question(question)
    for place, each in enumerate(told.hits, 1):
        await choose(viewer, each.hit, until)
        assert viewer.pages.currentWidget() is viewer.why_view
        assert lead(viewer).startswith(f"Hit {place} of this search, found by its words.")
        *parts, total = viewer.why_view.bars.parts
        assert [(part.name, part.value, part.weight) for part in parts] == [
            ("Words", each.breakdown.keyword_relevance, 1.0)
        ]
        assert total.is_sum
        assert total.value == each.breakdown.final_score
        assert total.numbers in viewer.why_view.bars.accessibleName()
        assert "profile keyword: words 1.00" in viewer.why_view.remarks_label.text()
        assert list(map(plain, viewer.why_view.conditions())) == ["tag is billing"]
    document = next(each for each in told.hits if "Nothing of note" in each.hit.text)
    await choose(viewer, document.hit, until)
    assert "The ledger names the team." in viewer.why_view.passage_label.text()
    assert len(viewer.why_view.passage_label.text()) < 2_000
    assert document.passage is not None
    assert f"of {len(document.hit.text)}" in viewer.why_view.passage_words.text().replace("\u202f", "")
    await viewer.aclose()
    await engine.aclose()


async def test_without_a_search_it_is_the_order_and_the_filter(qtbot: QtBot, until: Until, tmp_path: Path) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)
    await engine.store_many(ITEMS)
    viewer = built(qtbot, engine)
    older = Hit.of_item(ITEMS[0].fingerprint(), ITEMS[0])
    await choose(viewer, older, until)
    assert lead(viewer) == (
        "Item 3 of this list. Nothing is searched for, so the newest come first; this one is of 1 Jun 2026, 09:00 UTC."
    )
    assert not viewer.why_view.meets_label.isHidden()
    assert viewer.why_view.bars.isHidden()
    assert viewer.why_view.passage_quote.isHidden()
    viewer.set_question(Question(MetaFilter(reach=Reach.exact(Namespace.parse(NODE)), tags_any=["billing", "x"])))
    await until(lambda: lead(viewer).startswith("Item 2 of this list."))
    assert list(map(plain, viewer.why_view.conditions())) == ["namespace only at team:acme", "tag is billing or x"]
    # An item that the filter no longer admits says what keeps it out.
    viewer.set_question(Question(MetaFilter(tags_any=["late"])))
    await until(lambda: lead(viewer).startswith("It is not among the items of this list."))
    assert list(map(plain, viewer.why_view.conditions())) == ["tag is late: it does not meet this"]
    await viewer.aclose()
    await engine.aclose()


async def test_an_engine_that_does_not_tell_says_so(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    for item in ITEMS:
        await engine.store(item)
    viewer = built(qtbot, engine)
    viewer.set_question(Question(query="ledger", mode=FetchMode.KEYWORD))
    await choose(viewer, Hit.of_item(ITEMS[0].fingerprint(), ITEMS[0], score=0.5), until)
    assert lead(viewer) == (
        "This engine does not tell why a hit stands where it does: engine `reference` does not explain its scores. "
        "Its score is 0.500; a higher one stands before it."
    )
    assert viewer.why_view.bars.isHidden()
    assert viewer.banner.isHidden()
    # Its listing has the oldest first, and nothing else is claimed.
    viewer.set_question(Question())
    await until(lambda: lead(viewer).startswith("Item 1 of this list."))
    assert lead(viewer).endswith("so the order is the engine's own.")
    await viewer.aclose()


class Explaining(FakeEngine):
    """Tells the same of every hit."""

    told: ExplainedPage

    async def fetch_explained(self, req: FetchRequest) -> ExplainedPage:
        await self._pass("fetch_explained", req)
        return self.told


async def test_weights_age_and_warnings_are_in_words(qtbot: QtBot, until: Until) -> None:
    engine = Explaining()
    observed = Timestamp.of(datetime.now(UTC) - timedelta(days=14, hours=1))
    evil = "<b>gone</b>"
    item = learning(f"ledger {evil}", NODE, observed_at=observed)
    await engine.store(item)
    hit = Hit.of_item(item.fingerprint(), item, score=0.9)
    told = RetrievalScoreBreakdown(
        keyword_relevance=0.8, vector_similarity=0.4, freshness=0.25, final_score=0.3975, profile="balanced"
    )
    engine.told = ExplainedPage(
        hits=[ExplainedHit(hit=hit, breakdown=told)], profile=BALANCED, notes=["3 of 9 items have no vector yet"]
    )
    viewer = built(qtbot, engine)
    viewer.set_question(Question(query="ledger", mode=FetchMode.HYBRID))
    await choose(viewer, hit, until)
    view = viewer.why_view
    assert [part.name for part in view.bars.parts] == ["Words", "Meaning", "Links", "Freshness", "Score"]
    assert view.bars.parts[0].numbers == "0.800 × 0.15 = 0.120"
    remarks = view.remarks_label.text()
    assert "profile balanced: words 0.15, meaning 0.35, links 0.35, freshness 0.15." in remarks
    assert "By a rule of its own the engine adds 0.100." in remarks
    assert "14 days ago; freshness halves every 7 days." in remarks
    assert view.warnings_label.text() == "3 of 9 items have no vector yet."
    assert view.passage_quote.isHidden()
    # What a part means is its row's tooltip, and no stored text is taken for HTML.
    at = QPoint(10, view.bars.height() - 4)
    QApplication.sendEvent(view.bars, QHelpEvent(QHelpEvent.Type.ToolTip, at, view.bars.mapToGlobal(at)))
    await until(lambda: "What it was ranked by" in QToolTip.text())
    QToolTip.hideText()
    for label in view.findChildren(QLabel):
        assert label.textFormat() is not Qt.TextFormat.RichText
    # Read again only where something has changed.
    assert len(engine.requests("fetch_explained")) == 1
    viewer.segments.button(READ).click()
    viewer.segments.button(WHY).click()
    await until(lambda: not viewer.jobs.is_busy)
    assert len(engine.requests("fetch_explained")) == 1
    assert viewer.pages.currentWidget() is view
    await viewer.aclose()


async def test_a_hit_that_is_not_found_is_not_sought_for_ever(qtbot: QtBot, until: Until) -> None:
    engine = Explaining()
    other = learning("another")
    page = [ExplainedHit(hit=Hit.of_item(other.fingerprint(), other), breakdown=RetrievalScoreBreakdown())] * 50
    engine.told = ExplainedPage(hits=page, profile=BALANCED, next_cursor="more")
    viewer = built(qtbot, engine)
    viewer.set_question(Question(query="ledger", mode=FetchMode.HYBRID))
    await choose(viewer, Hit.of_item(ITEMS[0].fingerprint(), ITEMS[0]), until)
    assert lead(viewer) == "It is not among the first 500 hits of this search."
    assert len(engine.requests("fetch_explained")) == 10
    await viewer.aclose()


async def test_an_engine_that_fails_is_asked_again_on_demand_only(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    await engine.store(ITEMS[0])
    for call in ("list_preview", "get_items", "get"):
        engine.fail(call, Unavailable("connection refused"))
    viewer = built(qtbot, engine)
    await choose(viewer, Hit.of_item(ITEMS[0].fingerprint(), ITEMS[0]), until)
    assert viewer.banner.sentence == "No answer came: connection refused."
    assert len(engine.requests("list_preview")) <= 2
    engine.mend()
    retry = viewer.banner.findChild(QPushButton, "bannerActionButton")
    assert isinstance(retry, QPushButton)
    retry.click()
    await until(lambda: lead(viewer).startswith("Item 1 of this list."))
    assert viewer.banner.isHidden()
    await viewer.aclose()


def test_a_passage_out_of_bounds_is_not_quoted() -> None:
    item = ITEMS[0]
    hit = Hit.of_item(item.fingerprint(), item)
    for start, stop in ((0, 10_000), (5, 5), (20, 4)):
        passage = Passage(start=start, stop=stop)
        explained = ExplainedHit(hit=hit, breakdown=RetrievalScoreBreakdown(), passage=passage)
        answer = Answer(1, 1, explained, BALANCED)
        assert reason_of(hit, Question(query="x"), answer, UTC).passage == ""


async def test_the_window_hands_its_search_to_the_page(qtbot: QtBot, until: Until, tmp_path: Path) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)
    await engine.store_many(ITEMS)
    window = MainWindow()
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    window.show_engine(engine, "a.db", is_read_only=False)
    await until(lambda: window.is_idle)
    window.viewer.segments.button(WHY).click()
    await until(lambda: lead(window.viewer).startswith("Item 1 of this list. Nothing is searched for"))
    edit = window.search_box.search_edit
    edit.setFocus()
    qtbot.keyClicks(edit, "refund")
    qtbot.keyClick(edit, Qt.Key.Key_Return)
    await until(lambda: lead(window.viewer).startswith("Hit 1 of this search"))
    assert window.viewer.why_view.bars.parts[0].name == "Words"
    # The page is one of the segments, which the arrow keys walk.
    why = window.viewer.segments.button(WHY)
    why.setFocus()
    qtbot.keyClick(why, Qt.Key.Key_Left)
    assert window.viewer.segments.choice == METADATA
    # More like this: a search by the item's text, which is found first itself, and Back leads out of it.
    hit = window.viewer.hit
    assert hit is not None
    window.viewer.similar_action.trigger()
    await until(lambda: lead(window.viewer) and window.is_idle)
    assert window.trail.current.query == hit.text
    assert window.items.model.hit(0).id == hit.id
    window.back_action.trigger()
    assert window.trail.current.query == "refund"
    await window.aclose()
    await engine.aclose()
    window.close_for_good()
