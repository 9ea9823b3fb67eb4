"""The time line as a person uses it: bars over time, and the range chosen on them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, date, datetime, tzinfo
from zoneinfo import ZoneInfo

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, QSettings, Qt
from PySide6.QtGui import QColor, QHelpEvent, QImage, QMouseEvent
from PySide6.QtWidgets import QApplication, QToolTip, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Histogram,
    HistogramBar,
    HistogramRequest,
    MetaFilter,
    Timestamp,
    TimeUnit,
    Unavailable,
    Unsupported,
)
from explorer.contract.query import DEFAULT_SCAN, MAX_SCAN
from explorer.text import isolate
from explorer.ui.main_window import MainWindow
from explorer.ui.models.item_model import Column
from explorer.ui.theme import Theme, theme
from explorer.ui.time_scale import Scale
from explorer.ui.timeline import End, TimelineView
from explorer.ui.trail import View
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning

NARROW = "\u202f"
BERLIN = ZoneInfo("Europe/Berlin")
AUCKLAND = ZoneInfo("Pacific/Auckland")
DAYS = [f"2026-06-{day:02}T12:00:00Z" for day in (1, 2, 2, 5, 6, 6, 6, 10)]


class Counting(FakeEngine):
    """Counts over time at gates and with errors, as the other calls do."""

    async def histogram(self, req: HistogramRequest) -> Histogram:
        await self._pass("histogram", req)
        return await super().histogram(req)


async def dated(times: list[str | None], engine: FakeEngine | None = None) -> FakeEngine:
    engine = Counting() if engine is None else engine
    items = [
        learning(f"item {at}", tags=["odd" if at % 2 else "even"], observed_at=Timestamp.parse(time) if time else None)
        for at, time in enumerate(times)
    ]
    await filled(items, engine)
    return engine


@asynccontextmanager
async def built(
    qtbot: QtBot, engine: FakeEngine, until: Until, zone: tzinfo = BERLIN, filter: MetaFilter | None = None
) -> AsyncIterator[tuple[TimelineView, list[MetaFilter]]]:
    """A view that is told every filter it asks for, as the window tells it."""
    view, wanted = TimelineView(zone), []
    qtbot.addWidget(view, before_close_func=lambda _, kept=view: None)
    view.resize(680, 84)

    def go(filter: MetaFilter) -> None:
        wanted.append(filter)
        view.show_filter(filter)

    view.filter_wanted.connect(go)
    view.set_engine(engine)
    view.show_filter(filter or MetaFilter())
    try:
        await until(lambda: not view.jobs.is_busy)
        yield view, wanted
    finally:
        await view.aclose()


def point(view: TimelineView, bar: int) -> QPoint:
    return view.bar_rect(bar).center()


def move(view: TimelineView, to: QPoint, button: Qt.MouseButton = Qt.MouseButton.LeftButton) -> None:
    """A move with a button held: QTest's own has none."""
    place = QPointF(to)
    glob = QPointF(view.mapToGlobal(to))
    none = Qt.KeyboardModifier.NoModifier
    QApplication.sendEvent(view, QMouseEvent(QEvent.Type.MouseMove, place, glob, Qt.MouseButton.NoButton, button, none))


def drag(qtbot: QtBot, view: TimelineView, start: QPoint, stop: QPoint) -> None:
    qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=start)
    move(view, (start + stop) / 2)
    move(view, stop)
    qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=stop)


def days_of(filter: MetaFilter, zone: tzinfo = BERLIN) -> tuple[date | None, date | None]:
    ends = (filter.observed_after, filter.observed_before)
    assert all(end is None or end.astimezone(zone).hour == 0 for end in ends)
    return tuple(None if end is None else end.astimezone(zone).date() for end in ends)  # type: ignore[return-value]


def june(first: int, after_last: int) -> tuple[date, date]:
    return date(2026, 6, first), date(2026, 6, after_last)


def tooltip(view: TimelineView, at: QPoint) -> str:
    QToolTip.hideText()
    QApplication.sendEvent(view, QHelpEvent(QEvent.Type.ToolTip, at, view.mapToGlobal(at)))
    return QToolTip.text().replace(NARROW, " ")


def colors(view: TimelineView, x: int) -> set[str]:
    """The colours in one column of what is painted."""
    image: QImage = view.grab().toImage()
    return {QColor(image.pixel(x, y)).name() for y in range(image.height())}


def named(token: str) -> str:
    return theme().color(token).name()


async def test_bars_of_days_side_by_side_with_the_empty_ones(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated([*DAYS, None, None]), until) as (view, _):
        assert view.isVisible()
        assert view.objectName() == "timelineView"
        scale = view.scale
        assert scale is not None
        assert scale.counts == (1, 2, 0, 0, 1, 3, 0, 0, 0, 1)
        assert view.words == "1 Jun 2026 to 10 Jun 2026, by day"
        said = view.accessibleDescription()
        assert "Berlin" in said
        assert "8 items with a date, 2 items without" in said
        assert view.accessibleName() == "Time line"


async def test_dragging_over_bars_chooses_their_days(qtbot: QtBot, until: Until) -> None:
    for backwards in (False, True):
        async with built(qtbot, await dated(DAYS), until) as (view, wanted):
            ends = (point(view, 4), point(view, 1)) if backwards else (point(view, 1), point(view, 4))
            drag(qtbot, view, *ends)
            assert [days_of(filter) for filter in wanted] == [june(2, 6)]
            assert view.words == "2 Jun 2026 to 5 Jun 2026, by day"


async def test_range_counts_nothing_anew_and_another_condition_does(qtbot: QtBot, until: Until) -> None:
    engine = await dated(DAYS)
    async with built(qtbot, engine, until) as (view, wanted):
        drag(qtbot, view, point(view, 1), point(view, 4))
        assert len(engine.requests("histogram")) == 1
        view.show_filter(wanted[-1].model_copy(update={"tags_any": ["odd"]}))
        await until(lambda: not view.jobs.is_busy)
        last = engine.requests("histogram")[-1]
        assert last.filter == MetaFilter(tags_any=["odd"]), "the range does not narrow its own bars"
        assert last.zone == "Europe/Berlin"
        assert view.scale is not None
        assert sum(view.scale.counts) == 4
        assert view.words == "2 Jun 2026 to 5 Jun 2026, by day"


async def test_click_chooses_one_bar_and_double_click_all(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, wanted):
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point(view, 5))
        assert days_of(wanted[-1]) == june(6, 7)
        qtbot.mouseDClick(view, Qt.MouseButton.LeftButton, pos=point(view, 5))
        assert wanted[-1] == MetaFilter()
        n = len(wanted)
        qtbot.mouseClick(view, Qt.MouseButton.RightButton, pos=point(view, 5))
        assert len(wanted) == n


async def test_handle_is_dragged_and_stops_at_the_other(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, wanted):
        drag(qtbot, view, point(view, 2), point(view, 4))
        stop = view.handle_rect(End.STOP)
        assert stop is not None
        drag(qtbot, view, stop.center(), view.bar_rect(7).topLeft() + QPoint(0, 40))
        assert days_of(wanted[-1]) == june(3, 8)
        start = view.handle_rect(End.START)
        assert start is not None
        drag(qtbot, view, start.center(), QPoint(view.width() + 100, 40))
        assert days_of(wanted[-1]) == june(7, 8), "one bar is left"
        n = len(wanted)
        start = view.handle_rect(End.START)
        assert start is not None
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=start.center())
        assert len(wanted) == n, "a press on the grip alone changes nothing"


async def test_esc_lets_a_drag_go_then_clears_the_range(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, wanted):
        view.setFocus()
        drag(qtbot, view, point(view, 1), point(view, 4))
        qtbot.mousePress(view, Qt.MouseButton.LeftButton, pos=point(view, 6))
        move(view, point(view, 8))
        assert view.words.startswith("7 Jun 2026 to 9 Jun 2026")
        qtbot.keyClick(view, Qt.Key.Key_Escape)
        qtbot.mouseRelease(view, Qt.MouseButton.LeftButton, pos=point(view, 8))
        assert view.words.startswith("2 Jun 2026 to 5 Jun 2026")
        assert len(wanted) == 1
        qtbot.keyClick(view, Qt.Key.Key_Escape)
        assert wanted[-1] == MetaFilter()


async def test_keys_move_the_ends_and_ask_once(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, wanted):
        view.setFocus(Qt.FocusReason.TabFocusReason)
        for _ in range(3):
            qtbot.keyClick(view, Qt.Key.Key_Right)
        qtbot.keyClick(view, Qt.Key.Key_Tab)  # to the other handle
        qtbot.keyClick(view, Qt.Key.Key_Left)
        assert wanted == []
        assert view.words.startswith("4 Jun 2026 to 9 Jun 2026")
        await until(lambda: wanted)
        assert [days_of(filter) for filter in wanted] == [june(4, 10)]
        qtbot.keyClick(view, Qt.Key.Key_Left, Qt.KeyboardModifier.ShiftModifier)
        qtbot.keyClick(view, Qt.Key.Key_Return)
        assert days_of(wanted[-1]) == june(4, 5), "never past the other end"
        qtbot.keyClick(view, Qt.Key.Key_End)
        qtbot.keyClick(view, Qt.Key.Key_Backtab)
        qtbot.keyClick(view, Qt.Key.Key_Home)
        qtbot.keyClick(view, Qt.Key.Key_Return)
        assert days_of(wanted[-1]) == june(1, 11)


async def test_tab_leaves_after_the_second_handle(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, _):
        page = QWidget()
        qtbot.addWidget(page)
        view.setParent(page)
        after = QWidget(page)
        after.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        page.show()
        view.show()
        page.activateWindow()
        await until(page.isActiveWindow)
        view.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.keyClick(view, Qt.Key.Key_Tab)
        assert view.hasFocus()
        qtbot.keyClick(view, Qt.Key.Key_Tab)
        assert after.hasFocus()
        view.setParent(None)


async def test_range_of_other_origin_lies_inside_a_bar(qtbot: QtBot, until: Until) -> None:
    """Only what is inside is drawn in the strong colour; a key leads to the bar's edge."""
    after = Timestamp.parse("2026-06-06T10:00:00Z")  # noon of the 6th in Berlin
    async with built(qtbot, await dated(DAYS), until, filter=MetaFilter(observed_after=after)) as (view, wanted):
        assert view.range == pytest.approx((5.5, 10))
        assert view.words == "from 6 Jun 2026, 12:00 CEST (UTC+2), by day"
        bar = view.bar_rect(5)
        assert named("barDim") in colors(view, bar.left() + 5)
        assert named("bar") not in colors(view, bar.left() + 5)
        assert named("bar") in colors(view, bar.right() - 5)
        view.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.keyClick(view, Qt.Key.Key_Left)
        qtbot.keyClick(view, Qt.Key.Key_Return)
        assert days_of(wanted[-1]) == june(6, 11)


async def test_undated_items_have_a_bar_that_cannot_be_chosen(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated([*DAYS, None]), until) as (view, wanted):
        at = view.undated_rect().center()
        assert "1 item without a date" in tooltip(view, at)
        assert "cannot be chosen" in tooltip(view, at)
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=at)
        assert wanted == []
        assert named("edge") in colors(view, at.x())


async def test_only_undated_items(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated([None, None]), until) as (view, _):
        assert view.words == "No item has a date"
        assert view.isVisible()
        assert view.focusPolicy() == Qt.FocusPolicy.NoFocus
        view.grab()


async def test_nothing_stored_shows_no_time_line_and_nothing_matching_says_so(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated([]), until) as (view, _):
        assert view.isHidden()
    async with built(qtbot, await dated(DAYS), until) as (view, _):
        view.show_filter(MetaFilter(tags_any=["none"]))
        await until(lambda: view.scale is None)
        assert view.isVisible()
        assert view.words == "No items to show over time"


async def test_hover_tells_local_time_utc_and_number(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, _):
        said = tooltip(view, point(view, 5))
        assert "6 Jun 2026: 3 items" in said
        assert "6 Jun 2026, 00:00 CEST (UTC+2) to 7 Jun 2026, 00:00 CEST (UTC+2)" in said
        assert "2026-06-05 22:00:00 UTC to 2026-06-06 22:00:00 UTC" in said
        assert "2026-05-31 22:00:00 UTC to 2026-06-10 22:00:00 UTC" in tooltip(view, QPoint(100, 8))
        drag(qtbot, view, point(view, 1), point(view, 4))
        assert "2026-06-01 22:00:00 UTC to 2026-06-05 22:00:00 UTC" in tooltip(view, QPoint(100, 8))


G1 = ["2025-07-25T02:00:00Z", "2025-07-25T02:00:00-07:00", "2025-07-24T23:30:00Z", "2025-07-24T11:30:00Z"]


async def test_days_are_those_of_the_local_zone_for_bars_and_condition(qtbot: QtBot, until: Until) -> None:
    """In Auckland (UTC+12) all but the last of these are of the 25th, whatever zone they were stamped in."""
    engine = await dated(G1)
    async with built(qtbot, engine, until, zone=AUCKLAND) as (view, wanted):
        assert view.scale is not None
        assert view.scale.counts == (1, 3)
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point(view, 1))
        assert days_of(wanted[-1], AUCKLAND) == (date(2025, 7, 25), date(2025, 7, 26))
        narrowed = await engine.histogram(HistogramRequest(filter=wanted[-1]))
        assert narrowed.total == view.scale.counts[1], "the condition admits exactly what the bar counts"


@pytest.mark.parametrize(
    ("times", "words", "bars"),
    [
        (["2026-01-01T00:00:00Z", "2026-06-30T00:00:00Z"], "by week", 27),
        (["1969-07-20T20:17:00Z", "2026-06-30T00:00:00Z"], "by year", 58),
        (["2020-01-01T00:00:00Z", "2026-06-30T00:00:00Z"], "by month", 78),
        (["0001-01-01T00:00:00Z", "9999-12-31T23:59:59Z"], "by 100 years", 100),
    ],
)
async def test_unit_follows_the_span(qtbot: QtBot, until: Until, times: list[str], words: str, bars: int) -> None:
    for zone in (UTC, AUCKLAND, ZoneInfo("America/New_York")):
        async with built(qtbot, await dated([*times]), until, zone=zone) as (view, wanted):
            assert view.scale is not None
            assert view.words.endswith(words)
            assert len(view.scale) == pytest.approx(bars, abs=1)
            assert sum(view.scale.counts) == 2
            for bar in (0, len(view.scale) - 1):
                qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point(view, bar))
                engine = view._engine
                assert engine is not None
                found = await engine.histogram(HistogramRequest(filter=wanted[-1]))
                assert found.total == view.scale.counts[bar] == 1
                tooltip(view, point(view, bar))
            view.grab()


async def test_few_items_far_from_all_others_are_named_beside_the_bars_and_chosen_there(
    qtbot: QtBot, until: Until
) -> None:
    far = ["1969-12-31T23:59:59Z", "9999-12-31T23:59:59Z"]
    engine = await dated([*DAYS, *DAYS, *DAYS, *far, None])
    async with built(qtbot, engine, until) as (view, wanted):
        assert view.scale is not None
        assert view.scale.counts == (3, 6, 0, 0, 3, 9, 0, 0, 0, 3)
        assert view.words == "1 Jun 2026 to 10 Jun 2026, by day"
        assert "26 items with a date, 1 before 1 Jun 2026, 1 from 11 Jun 2026, 1 item without" in (
            view.accessibleDescription()
        )
        for button, said in ((view.earlier_button, "1 before 1 Jun 2026"), (view.later_button, "1 from 11 Jun 2026")):
            assert button.isVisible()
            assert button.text() == isolate(said)
            assert button.accessibleName() == said
            assert "1 item far from all others in time." in button.toolTip().replace(NARROW, " ")
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
            assert (await engine.histogram(HistogramRequest(filter=wanted[-1]))).total == 1
            view.grab()  # with a range beyond the bars
        assert days_of(wanted[0]) == (None, date(2026, 6, 1))
        assert days_of(wanted[1]) == (date(2026, 6, 11), None)
        assert not view.earlier_button.geometry().intersects(view.later_button.geometry())
        qtbot.mouseClick(view, Qt.MouseButton.LeftButton, pos=point(view, 1))
        assert days_of(wanted[2]) == june(2, 3)
        view.show_filter(MetaFilter(tags_any=["odd"]))
        await until(lambda: not view.jobs.is_busy)
        assert view.earlier_button.isHidden(), "it goes with what it told of"
        assert view.later_button.isVisible()


async def test_bars_move_to_new_counts(qtbot: QtBot, until: Until) -> None:
    def height(view: TimelineView) -> int:
        image, x = view.grab().toImage(), point(view, 1).x()
        return sum(QColor(image.pixel(x, y)).name() == named("bar") for y in range(image.height()))

    async with built(qtbot, await dated(DAYS), until) as (view, _):
        before = height(view)
        seen: set[int] = set()
        view._bars.valueChanged.connect(lambda: seen.add(height(view)))
        view.show_filter(MetaFilter(tags_any=["even"]))  # from two thirds of the most to one half
        await until(lambda: not view.jobs.is_busy and view._bars.state() == view._bars.State.Stopped)
        assert len(seen) > 2
        assert height(view) == min(seen) < max(seen) <= before


async def test_newer_filter_wins_over_a_late_answer(qtbot: QtBot, until: Until) -> None:
    engine = await dated(DAYS)
    gate = engine.hold("histogram", lambda req: req.filter.tags_any == ["odd"], stubborn=True)
    async with built(qtbot, engine, until) as (view, _):
        view.show_filter(MetaFilter(tags_any=["odd"]))
        await until(lambda: gate.waiting)
        assert view.scale is not None
        assert sum(view.scale.counts) == 8, "the old bars stay until the new ones are here"
        view.show_filter(MetaFilter(tags_any=["even", "odd"]))
        await until(lambda: len(engine.requests("histogram")) == 3)
        gate.open()
        await until(lambda: not view.jobs.is_busy)
        assert sum(view.scale.counts) == 8


class Capped(Counting):
    """Stops at `scan_limit`, of which 50 000 is not enough either where `is_endless`."""

    async def histogram(self, req: HistogramRequest) -> Histogram:
        await self._pass("histogram", req)
        bars = [HistogramBar(start=Timestamp.parse("2026-06-01T00:00:00Z"), count=req.scan_limit)]
        return Histogram(
            unit=TimeUnit.DAY, bars=bars, undated=0, total=req.scan_limit, truncated=req.scan_limit < MAX_SCAN
        )


async def test_capped_count_has_a_plus_and_is_counted_further(qtbot: QtBot, until: Until) -> None:
    engine = Capped()
    async with built(qtbot, engine, until, zone=UTC) as (view, _):
        assert view.words.replace(NARROW, " ").endswith("5 000+ items counted")
        assert "5 000+ items" in tooltip(view, point(view, 0))
        button = view.count_all_button
        assert button.isVisible()
        gate = engine.hold("histogram", lambda req: req.scan_limit == MAX_SCAN)
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: gate.waiting)
        assert button.text() == "Stop counting"
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: not view.jobs.is_busy)
        assert button.text() == "Count further"
        gate.open()
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: not view.jobs.is_busy)
        assert button.isHidden()
        assert "+" not in view.words
        assert [req.scan_limit for req in engine.requests("histogram")] == [DEFAULT_SCAN, 20_000, MAX_SCAN, MAX_SCAN]


async def test_engine_that_cannot_or_does_not_answer_is_one_line(qtbot: QtBot, until: Until) -> None:
    engine = await dated(DAYS)
    async with built(qtbot, engine, until) as (view, _):
        engine.fail("histogram", Unavailable("the network is down"))
        view.refresh()
        await until(lambda: "network is down" in view.words)
        assert view.words.startswith("Not counted over time.")
        bar = point(view, 5)
        assert named("bar") not in colors(view, bar.x()), "the old bars stay, and are seen to be old"
        assert named("barDim") in colors(view, bar.x())
        assert view.count_all_button.text() == "Count again"
        engine.mend()
        qtbot.mouseClick(view.count_all_button, Qt.MouseButton.LeftButton)
        await until(lambda: view.words.endswith("by day"))
        assert named("bar") in colors(view, bar.x())
        engine.fail("histogram", Unsupported("no"))
        view.refresh()
        await until(lambda: view.words == "This engine does not count over time")
        assert view.scale is None
        assert view.count_all_button.isHidden(), "it cannot tomorrow either"
        assert not view.count_all_action.isEnabled()
        assert view.count_all_action.toolTip() == "This engine does not count over time"


async def test_search_is_said_not_to_be_counted(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, _):
        view.set_search(True)
        assert view.words.endswith("not only what was found")
        view.set_search(False)
        assert view.words.endswith("by day")


async def test_right_to_left_mirrors_bars_and_keys(qtbot: QtBot, until: Until) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, wanted):
        view.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        assert point(view, 0).x() > point(view, 5).x()
        drag(qtbot, view, point(view, 1), point(view, 4))
        assert days_of(wanted[-1]) == june(2, 6)
        view.setFocus(Qt.FocusReason.TabFocusReason)
        qtbot.keyClick(view, Qt.Key.Key_Left)
        qtbot.keyClick(view, Qt.Key.Key_Return)
        assert days_of(wanted[-1]) == june(3, 6)
        view.grab()


async def test_height_follows_the_text_and_colours_the_theme(qtbot: QtBot, until: Until, themed: Theme) -> None:
    async with built(qtbot, await dated(DAYS), until) as (view, _):
        assert view.sizeHint().height() == themed.row_height("timeline")
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        try:
            themed.apply(app, "dark")
            assert named("bar") in colors(view, point(view, 5).x())
        finally:
            themed.apply(app, "light")


def test_scale_makes_one_day_narrow_and_counts_all() -> None:
    start = Timestamp.of(datetime(2026, 6, 1, tzinfo=UTC))
    one = Histogram(unit=TimeUnit.DAY, bars=[HistogramBar(start=start, count=3)], undated=0, total=3, truncated=False)
    scale = Scale.of(one, UTC)
    assert scale is not None
    assert scale.counts == (3,)
    assert scale.place_of(Timestamp.parse("2020-01-01T00:00:00Z")) == 0
    assert scale.place_of(Timestamp.parse("2026-06-01T06:00:00Z")) == 0.25
    assert scale.place_of(Timestamp.parse("2030-01-01T00:00:00Z")) == 1
    assert Scale.of(one.model_copy(update={"bars": []}), UTC) is None


def scale_of(first: str, last: str) -> Scale:
    days = {date.fromisoformat(first): 1, date.fromisoformat(last): 1}
    scale = Scale.of(Histogram.of_days(HistogramRequest(), days, undated=0, truncated=False), UTC)
    assert scale is not None
    return scale


@pytest.mark.parametrize(
    ("first", "last", "bars", "words"),
    [
        ("2026-06-01", "2026-06-10", 1.0, "1 Jun 2026, 2 Jun, 3 Jun, 4 Jun, 5 Jun, 6 Jun, 7 Jun, 8 Jun, 9 Jun, 10 Jun"),
        ("2026-06-01", "2026-06-10", 4.0, "1 Jun 2026, 6 Jun"),
        ("2025-09-29", "2026-03-30", 2.0, "Sep 2025, Nov, Dec, Jan 2026, Feb, Mar"),
        ("2025-09-29", "2026-03-30", 5.0, "Sep 2025, Nov, Jan 2026, Mar"),
        ("2025-12-01", "2026-03-31", 20.0, "Jan 2026"),
        ("2022-11-01", "2026-02-28", 4.0, "Jan 2023, May, Sep, Jan 2024, May, Sep, Jan 2025, May, Sep, Jan 2026"),
        ("2017-02-01", "2026-02-28", 20.0, "Jan 2018, Jan 2020, Jan 2022, Jan 2024, Jan 2026"),
        ("1969-02-01", "2026-02-28", 6.0, "1970, 1980, 1990, 2000, 2010, 2020"),
    ],
)
def test_labels_stand_clear_and_a_month_has_its_year_before_it(first: str, last: str, bars: float, words: str) -> None:
    """`bars`: the room that a label takes."""
    labels = scale_of(first, last).labels_for(lambda _: bars)
    assert ", ".join(label.words for label in sorted(labels, key=lambda label: label.at)) == words


@pytest.mark.parametrize("key", [Qt.Key.Key_Left, Qt.Key.Key_Right, Qt.Key.Key_Home, Qt.Key.Key_End])
@pytest.mark.parametrize("end", list(End))
@pytest.mark.parametrize("year", [1990, 2100])
async def test_range_beyond_all_bars_is_led_back_to_them(
    qtbot: QtBot, until: Until, key: Qt.Key, end: End, year: int
) -> None:
    after = Timestamp.of(datetime(year, 1, 1, tzinfo=UTC))
    away = MetaFilter(observed_after=after, observed_before=Timestamp.of(datetime(year, 2, 1, tzinfo=UTC)))
    async with built(qtbot, await dated(DAYS), until, filter=away) as (view, wanted):
        view.grab()
        view.setFocus(Qt.FocusReason.TabFocusReason if end is End.START else Qt.FocusReason.BacktabFocusReason)
        qtbot.keyClick(view, key)
        qtbot.keyClick(view, Qt.Key.Key_Return)
        first, last = days_of(wanted[-1])
        assert first is not None
        assert last is not None
        assert date(2026, 6, 1) <= first < last <= date(2026, 6, 11)


async def test_a_day_is_the_same_in_list_viewer_chip_and_filter(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """In Auckland, whatever zone the items were stamped in; one stamped in none is read as UTC."""
    monkeypatch.setattr("explorer.ui.main_window.local_zone", lambda: AUCKLAND)
    engine = await dated([*G1, "1969-07-20T20:17:00Z", "9999-12-31T23:59:59Z", None])
    naive = Timestamp.of(datetime(2025, 7, 25, 2, 0, 1))
    await filled([learning("naive", observed_at=naive)], engine)
    window = MainWindow()
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    window.show_engine(engine, "a", is_read_only=False)
    await until(lambda: window.is_idle)
    model = window.items.model
    days = {model.hit(row).text: model.index(row, Column.OBSERVED) for row in range(model.rowCount())}
    july = "25 Jul 2025"
    assert {text: index.data() for text, index in days.items()} == {
        "item 0": july,
        "item 1": july,
        "item 2": july,
        "item 3": "24 Jul 2025",
        "item 4": "21 Jul 1969",
        "item 5": "31 Dec 9999",  # in Auckland it has no time any more
        "item 6": "–",
        "naive": july,
    }
    tip = days["item 1"].data(Qt.ItemDataRole.ToolTipRole)
    assert "25 Jul 2025, 21:00 NZST (UTC+12)" in tip
    assert "2025-07-25 09:00:00 UTC" in tip
    assert "2025-07-25 02:00:01 UTC" in days["naive"].data(Qt.ItemDataRole.ToolTipRole)
    assert "Auckland" in window.zone_label.text()
    assert "Auckland" in window.timeline.accessibleDescription()

    window.items.view.setCurrentIndex(days["item 1"])
    await until(lambda: window.is_idle)
    (observed,) = window.viewer.card.pairs.buttons("observed")
    assert observed.drawn == "25 Jul 2025, 21:00 NZST (UTC+12)"
    observed.click()
    await until(lambda: window.is_idle)
    assert {model.hit(row).text for row in range(model.rowCount())} == {"item 0", "item 1", "item 2", "naive"}
    assert [chip.sentence for chip in window.chip_bar.chips()] == ["observed on 25 Jul 2025"]
    await window.aclose()
    window.close_for_good()


async def test_in_the_window_a_range_is_one_step_with_a_chip(qtbot: QtBot, until: Until) -> None:
    engine = await dated([*DAYS, None])
    window = MainWindow(QSettings())
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    window.show_engine(engine, "a", is_read_only=False)
    await until(lambda: window.is_idle)
    view = window.findChild(TimelineView, "timelineView")
    assert view is not None
    assert window.items.head.y() < view.mapTo(window.items, QPoint()).y() < window.items.view.y()
    drag(qtbot, view, point(view, 1), point(view, 4))
    await until(lambda: window.is_idle)
    chip = window.findChild(QWidget, "chip:observed_after")
    assert chip is not None
    assert window.items.model.rowCount() == 3
    window.back_action.trigger()
    await until(lambda: window.is_idle)
    assert window.trail.current == View()
    assert view.range is None
    assert window.items.model.rowCount() == 9
    window.go(View(query="item"))
    await until(lambda: window.is_idle)
    assert view.words.endswith("not only what was found")
    await window.aclose()
    window.close_for_good()
