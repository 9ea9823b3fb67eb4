"""What an engine reads slowly: numbers that grow, marked as the lower bounds they are, and a list that fills up."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QPushButton, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import (
    ExplorePage,
    ExploreRequest,
    Facet,
    ItemId,
    ListRequest,
    MetaFilter,
    SortBy,
    Span,
    SpanRequest,
    Timestamp,
    Unauthorized,
    Unavailable,
)
from explorer.ui import facets as facets_module
from explorer.ui import items as items_module
from explorer.ui import job_list
from explorer.ui.facets import FacetPanel
from explorer.ui.items import ItemList
from explorer.ui.job_list import State
from tests.conftest import Until
from tests.fakes import FakeEngine, learning, page_of
from tests.ui.test_facets import counts, labels, point_at, showing, value
from tests.ui.test_main_window import opened

NARROW = "\u202f"


class Slow(FakeEngine):
    """Reads its list bit by bit: as much of it as a test says, in the order in which it was stored."""

    def __init__(self) -> None:
        super().__init__()
        self.told: asyncio.Queue[dict[str, int] | Exception | None] = asyncio.Queue()
        self.known = 0
        self.is_done = False
        self.spans: list[SpanRequest] = []
        self.error: Exception | None = None
        self.gradual = 0
        self.closed = 0

    async def explore_gradually(self, reqs: list[ExploreRequest]) -> AsyncIterator[list[ExplorePage]]:
        """Tag counts, as a test tells them; None is the end, of what is true."""
        self.gradual += 1
        try:
            while (said := await self.told.get()) is not None:
                if isinstance(said, Exception):
                    raise said
                yield [
                    page_of(req.facet, said if req.facet is Facet.TAG else {}, truncated=True, total=sum(said.values()))
                    for req in reqs
                ]
            yield await self.explore_many(reqs)
        finally:
            self.closed += 1

    def sorts(self) -> frozenset[SortBy]:
        return frozenset({SortBy.OBSERVED})

    async def list_span(self, req: SpanRequest) -> Span:
        self.spans.append(req)
        if self.error is not None:
            raise self.error
        stored = (await self.list(ListRequest(filter=req.filter, limit=200))).items
        stored = sorted(stored, key=lambda hit: int(hit.text.split()[1]))[: self.known]
        hits = sorted(stored, key=lambda hit: hit.meta.observed_at or moment(0), reverse=True)
        places = {hit.id: at for at, hit in enumerate(hits)}
        return Span(
            items=list(hits[req.offset : req.offset + req.limit]),
            total=len(hits),
            listing=f"of {self.known}",
            place=places.get(req.place_of or ItemId("")),
            is_partial=not self.is_done,
        )


def moment(n: int) -> Timestamp:
    return Timestamp.parse(f"2026-01-01T{n // 60:02}:{n % 60:02}:00Z")


async def slow(n: int = 200) -> Slow:
    """Items 0 to n-1; those that are read later are sometimes older and sometimes newer."""
    engine = Slow()
    for at in range(n):
        await engine.store(learning(f"item {at}", observed_at=moment(at * 7 % n), tags=["red" if at % 3 else "blue"]))
    return engine


def numbers(panel: FacetPanel) -> dict[str, str]:
    return {name: said.replace(NARROW, " ") for name, said in counts(panel, Facet.TAG).items()}


def shown(items: ItemList) -> list[str]:
    return [hit.text if (hit := items.model.held(row)) else "?" for row in items.view.visible_rows()]


def press(parent: QWidget, words: str) -> None:
    (button,) = [each for each in parent.findChildren(QPushButton) if each.text() == words]
    button.click()


def count_words(items: ItemList) -> str:
    return items.count_label.text().replace(NARROW, " ")


@pytest.fixture(autouse=True)
def _at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(facets_module, "SO_FAR_S", 0.0)
    monkeypatch.setattr(items_module, "GROWS_EVERY_S", 0.01)


# Counts


async def test_counts_grow_as_lower_bounds_until_the_answer(qtbot: QtBot, until: Until) -> None:
    engine = await slow(12)
    async with showing(qtbot, engine) as panel:
        engine.told.put_nowait({"blue": 3, "red": 2})
        await until(lambda: numbers(panel) == {"blue": "3+", "red": "2+"})
        section = panel.model.section(Facet.TAG)
        assert not section.is_stale, "they are of what is asked, only not all"
        assert panel.jobs.is_busy
        assert panel.counted_items == (5, True)
        assert panel.dead == {}
        engine.told.put_nowait({"blue": 3, "red": 6})
        await until(lambda: numbers(panel) == {"red": "6+", "blue": "3+"})
        engine.told.put_nowait(None)
        await until(lambda: not panel.jobs.is_busy)
        assert numbers(panel) == {"red": "8", "blue": "4"}
        assert not section.is_partial
        assert engine.gradual == engine.closed == 1


async def test_what_is_under_the_pointer_keeps_its_place_while_counts_grow(qtbot: QtBot, until: Until) -> None:
    engine = await slow(12)
    async with showing(qtbot, engine) as panel:
        engine.told.put_nowait({"blue": 3, "red": 2})
        await until(lambda: labels(panel, Facet.TAG)[:2] == ["blue", "red"])
        panel.tree.scrollTo(value(panel, Facet.TAG, "red"))
        point_at(panel, panel.tree.visualRect(value(panel, Facet.TAG, "red")).center())
        engine.told.put_nowait({"blue": 3, "red": 6, "green": 9})
        await until(lambda: numbers(panel).get("red") == "6+")
        assert labels(panel, Facet.TAG) == ["blue", "red", "green"]
        engine.told.put_nowait(None)
        await until(lambda: not panel.jobs.is_busy)
        assert labels(panel, Facet.TAG)[:2] == ["blue", "red"]
        point_at(panel, QPoint(5, panel.tree.viewport().height() - 2))
        await until(lambda: labels(panel, Facet.TAG)[0] in ("blue", "red"))


async def test_only_the_newest_question_paints_and_a_stop_ends_it(qtbot: QtBot, until: Until) -> None:
    engine = await slow(12)
    async with showing(qtbot, engine) as panel:
        engine.told.put_nowait({"red": 2})
        await until(lambda: numbers(panel) == {"red": "2+"})
        panel.show_filter(MetaFilter(agent_id="nobody"))
        await until(lambda: engine.closed == 1)
        await until(lambda: engine.gradual == 3)  # what has a condition is counted apart
        assert panel.model.section(Facet.TAG).is_of_other
        engine.told.put_nowait({"red": 1})
        engine.told.put_nowait({"red": 1})
        await until(lambda: numbers(panel) == {"red": "1+"})
        panel.cancel_counting()
        await until(lambda: not panel.jobs.is_busy)
        assert engine.closed == 3, "the engine was told that nobody listens"
        assert numbers(panel) == {"red": "1+"}, "a lower bound stays true"
        assert panel.banner.sentence == "Counting stopped."
        press(panel.banner, "Count again")
        await until(lambda: engine.gradual > 3)
        while not engine.told.empty():
            engine.told.get_nowait()
        for _ in range(2):
            engine.told.put_nowait(None)
        await until(lambda: not panel.jobs.is_busy)
        assert not panel.model.section(Facet.TAG).is_partial


async def test_a_count_that_breaks_off_stays_as_far_as_it_came_and_is_marked(qtbot: QtBot, until: Until) -> None:
    engine = await slow(12)
    async with showing(qtbot, engine) as panel:
        engine.told.put_nowait({"red": 2})
        await until(lambda: numbers(panel) == {"red": "2+"})
        engine.told.put_nowait(Unavailable("the connection was reset"))
        await until(lambda: not panel.jobs.is_busy)
        assert panel.model.section(Facet.TAG).is_stale
        assert "the connection was reset" in panel.banner.sentence


async def test_an_answer_that_comes_at_once_does_not_flicker(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(facets_module, "SO_FAR_S", 60.0)
    engine = await slow(12)
    async with showing(qtbot, engine) as panel:
        seen: list[str] = []
        panel.model.rowsInserted.connect(lambda *_: seen.append(str(numbers(panel))))
        for said in ({"red": 2}, {"red": 5}, None):
            engine.told.put_nowait(said)
        await until(lambda: not panel.jobs.is_busy)
        assert numbers(panel) == {"red": "8", "blue": "4"}
        assert not any("+" in each for each in seen)


# The list


def listing(qtbot: QtBot, engine: Slow) -> ItemList:
    items = ItemList()
    qtbot.addWidget(items)
    items.resize(680, 600)
    items.show()
    items.set_engine(engine, "slow")
    items.show_filter(MetaFilter())
    return items


async def test_a_list_that_is_still_read_fills_up_by_itself(qtbot: QtBot, until: Until) -> None:
    engine = await slow()
    engine.known = 40
    items = listing(qtbot, engine)
    await until(lambda: items.model.rowCount() == 40)
    assert count_words(items) == "40+ items"
    assert "still counting" in items.aside_label.text()
    assert items.known_total(MetaFilter()) is None
    assert items.jobs.is_running("grow")
    engine.known = 90
    await until(lambda: items.model.rowCount() == 90)
    assert count_words(items) == "90+ items"
    engine.known, engine.is_done = 200, True
    await until(lambda: not items.jobs.is_busy)
    assert count_words(items) == "200 items"
    assert items.known_total(MetaFilter()) == 200
    assert not items.busy_line.is_shown
    asked = len(engine.spans)
    await asyncio.sleep(0.05)
    assert len(engine.spans) == asked, "it is whole: nothing more is asked"
    await items.aclose()


async def test_what_is_looked_at_and_chosen_stays_while_the_list_grows(qtbot: QtBot, until: Until) -> None:
    engine = await slow()
    engine.known = 60
    items = listing(qtbot, engine)
    await until(lambda: items.model.rowCount() == 60)
    chosen_texts: list[str] = []
    items.item_selected.connect(lambda hit: chosen_texts.append(hit.text))
    items.view.setFocus()
    for row in (30, 34):
        index = items.model.index(row, 1)
        items.view.scrollTo(index)
        keys = Qt.KeyboardModifier.ControlModifier if row == 34 else Qt.KeyboardModifier.NoModifier
        at = items.view.visualRect(index).center()
        qtbot.mouseClick(items.view.viewport(), Qt.MouseButton.LeftButton, keys, at)
    items.view.verticalScrollBar().setValue(items.view.verticalScrollBar().value() + 11)
    selected = {hit.text for hit in items.selected_hits()}
    current, before = items.current_hit(), shown(items)
    offset = items.view.visualRect(items.model.index(items.view.visible_rows().start, 1)).top()
    told = len(chosen_texts)
    assert len(selected) == 2
    assert current is not None
    engine.known, engine.is_done = 200, True
    await until(lambda: items.model.rowCount() == 200)
    await until(lambda: not items.jobs.is_busy)
    assert shown(items)[0] == before[0], "what was on top is there still"
    assert items.view.visualRect(items.model.index(items.view.visible_rows().start, 1)).top() == offset
    assert {hit.text for hit in items.selected_hits()} == selected
    assert items.current_hit() == current
    assert items.view.hasFocus()
    assert len(chosen_texts) == told, "the item is not opened anew"
    await items.aclose()


async def test_an_empty_start_of_a_list_is_no_emptiness(qtbot: QtBot, until: Until) -> None:
    engine = await slow(20)
    items = listing(qtbot, engine)
    await until(lambda: items.jobs.is_running("grow"))
    assert items.state.isHidden()
    assert not items.loading.isHidden()
    engine.known, engine.is_done = 20, True
    await until(lambda: not items.jobs.is_busy)
    assert items.model.rowCount() == 20
    await items.aclose()


async def test_a_growing_list_is_stopped_by_hand_and_read_on(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch, tmp_path
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    engine = await slow(100)
    engine.known = 30
    engine.told.put_nowait(None)
    async with opened(qtbot, tmp_path, lambda _: asyncio.sleep(0), engine) as window:
        items = window.items
        await until(lambda: [job.title for job in window.job_list.running] == ["Reading the list"])
        (job,) = window.job_list.running
        job.stop()
        await until(lambda: job.state is State.CANCELLED)
        assert items.banner.sentence == "Reading was stopped; these are not all items."
        assert count_words(items) == "30+ items"
        assert "not all were read" in items.aside_label.text()
        engine.known, engine.is_done = 100, True
        press(items.banner, "Read on")
        await until(lambda: window.is_idle)
        assert count_words(items) == "100 items"


@pytest.mark.parametrize("error", [Unauthorized("the key was refused"), Unavailable("reset")])
async def test_a_growing_list_that_fails_stays_marked_and_is_not_asked_again(
    error: Exception, qtbot: QtBot, until: Until
) -> None:
    engine = await slow(100)
    engine.known = 30
    items = listing(qtbot, engine)
    await until(lambda: items.model.rowCount() == 30)
    engine.error = error
    await until(lambda: not items.jobs.is_busy)
    assert items.model.is_stale
    assert items.model.rowCount() == 30
    asked = len(engine.spans)
    await asyncio.sleep(0.05)
    assert len(engine.spans) == asked
    await items.aclose()


# What was whole before


async def test_a_refresh_takes_nothing_back_before_it_has_all(qtbot: QtBot, until: Until) -> None:
    engine = await slow(60)
    async with showing(qtbot, engine) as panel:
        engine.told.put_nowait(None)
        await until(lambda: not panel.jobs.is_busy)
        assert numbers(panel) == {"red": "40", "blue": "20"}
        panel.refresh()
        engine.told.put_nowait({"red": 1})
        engine.told.put_nowait({"red": 2})
        await until(lambda: engine.told.empty())
        assert numbers(panel) == {"red": "40", "blue": "20"}
        engine.told.put_nowait(None)
        await until(lambda: not panel.jobs.is_busy)
        assert numbers(panel) == {"red": "40", "blue": "20"}
    engine.known, engine.is_done = 60, True
    items = listing(qtbot, engine)
    await until(lambda: not items.jobs.is_busy)
    assert count_words(items) == "60 items"
    engine.known, engine.is_done = 5, False
    asked = len(engine.spans)
    items.refresh()
    await until(lambda: len(engine.spans) > asked + 2)
    assert count_words(items) == "60 items"
    engine.known, engine.is_done = 59, True
    await until(lambda: not items.jobs.is_busy)
    assert count_words(items) == "59 items"
    await items.aclose()
