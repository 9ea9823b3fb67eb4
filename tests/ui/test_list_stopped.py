"""Reading the list is stopped by hand: what is there stays good, and reading goes on where it is wanted."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QPushButton
from pytestqt.qtbot import QtBot

from explorer.contract import ListOrder, MemoryEngine, MetaFilter, SortBy
from explorer.transfer import CopyForm
from explorer.ui import job_list
from explorer.ui.job_list import Job, State
from explorer.ui.main_window import MainWindow
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.test_list_places import Watched
from tests.ui.test_main_window import opened

STOPPED = "Reading was stopped; it goes on when you scroll."
OF_BEFORE = "The rows below are those of before; what is chosen now was not read."


async def stored(engine: MemoryEngine, n: int) -> None:
    for start in range(0, n, 100):
        await engine.store_many([learning(f"item {at:04}") for at in range(start, min(n, start + 100))])


async def reading_job(window: MainWindow, until: Until) -> Job:
    await until(lambda: [job.title for job in window.job_list.running] == ["Reading the list"])
    return window.job_list.running[0]


async def cancel(qtbot: QtBot, window: MainWindow, until: Until, job: Job) -> None:
    """By the button in the status line."""
    assert window.job_cancel_button.isVisible()
    qtbot.mouseClick(window.job_cancel_button, Qt.MouseButton.LeftButton)
    await until(lambda: job.state is State.CANCELLED)


def again(window: MainWindow) -> QPushButton:
    return window.items.banner.findChild(QPushButton, "bannerActionButton")


def seen(window: MainWindow) -> list[str | None]:
    """The texts of the rows that are on screen; None of one that is not read."""
    model = window.items.model
    rows = window.items.view.visible_rows()
    return [hit.text if (hit := model.held(row)) is not None else None for row in rows]


def assert_rows_are_good(window: MainWindow) -> None:
    items = window.items
    assert items.view.isVisible()
    assert not items.state.isVisible(), "what is there is not questioned"
    assert not items.busy_line.is_shown
    assert items.banner.sentence == STOPPED


@pytest.mark.parametrize("way", ["scroll", "button"])
async def test_rows_that_are_scrolled_to(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    engine = Watched(tmp_path / "a.db")
    await stored(engine, 2_000)
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.job_list.clear_finished()
        engine.gate.clear()
        bar = window.items.view.verticalScrollBar()
        bar.setValue(bar.maximum() // 2)
        job = await reading_job(window, until)
        asked = len(engine.spans)
        await cancel(qtbot, window, until, job)
        await until(lambda: window.is_idle)
        assert_rows_are_good(window)
        assert set(seen(window)) == {None}
        assert len(engine.spans) == asked, "it is not asked for again by itself, though the banner moved the rows"
        engine.gate.set()
        if way == "scroll":
            bar.setValue(bar.value() + 10)
        else:
            assert again(window).text() == "Read on"
            qtbot.mouseClick(again(window), Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle and None not in seen(window))
        assert window.items.banner.sentence == ""


@pytest.mark.parametrize("way", ["scroll", "button"])
async def test_pages_that_follow(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch, way: str
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    engine = FakeEngine()
    await filled([learning(f"item {at:03}") for at in range(450)], engine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.job_list.clear_finished()
        gate = engine.hold("list_preview")
        bar = window.items.view.verticalScrollBar()
        bar.setValue(bar.maximum())
        job = await reading_job(window, until)
        asked = len(engine.requests("list_preview"))
        await cancel(qtbot, window, until, job)
        await until(lambda: window.is_idle)
        assert_rows_are_good(window)
        assert window.items.model.rowCount() == 200
        assert len(engine.requests("list_preview")) == asked
        gate.open()
        if way == "button":
            qtbot.mouseClick(again(window), Qt.MouseButton.LeftButton)
            await until(lambda: window.items.model.rowCount() == 400)
        for rows in (400, 450):  # by scrolling on, as before
            bar.setValue(bar.maximum() - 200)
            bar.setValue(bar.maximum())
            await until(lambda rows=rows: window.items.model.rowCount() >= rows)
        assert window.items.banner.sentence == ""
        await until(lambda: window.is_idle)


async def test_the_first_page(qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    engine = Watched(tmp_path / "a.db")
    await stored(engine, 300)
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.job_list.clear_finished()
        engine.gate.clear()
        window.items.show_filter(MetaFilter(tags_any=["none"]))
        job = await reading_job(window, until)
        await cancel(qtbot, window, until, job)
        items = window.items
        assert items.state.isVisible(), "the rows are those of another filter: that is to be said"
        assert items.state.accessibleName() == f"Reading was stopped. {OF_BEFORE}"
        engine.gate.set()
        await until(lambda: window.is_idle)


@pytest.mark.parametrize("query", ["", "item"])
async def test_rows_of_the_filter_before_are_not_passed_off_as_its_matches(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    engine = FakeEngine()
    await filled([learning(f"item {at:03}", tags=["a"] if at < 230 else ["b"]) for at in range(450)], engine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        items = window.items
        window.job_list.clear_finished()
        gate = engine.hold("fetch" if query else "list_preview", lambda req: bool(query) or bool(req.filter.tags_any))
        items.show_filter(MetaFilter(tags_any=["a"]), query)
        await cancel(qtbot, window, until, await reading_job(window, until))
        assert items.state.accessibleName() == f"Reading was stopped. {OF_BEFORE}"
        assert items.model.is_stale
        assert items.aside_label.text().endswith(", not current")
        assert items.count_label.text() == "200+ items", "neither count is that of these rows"
        qtbot.keyClick(items.view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        assert items.selected_label.text() == "200 selected", "what is on screen"
        assert items.selected_filter is None
        assert not items.select_all_button.isVisible()
        assert not items.export_button.isEnabled()
        assert items.export_button.toolTip() == "The rows are those of before: read the list again first"
        gate.open()
        again = next(one for one in items.state.findChildren(QPushButton) if one.text() == "Read again")
        qtbot.mouseClick(again, Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle and not items.model.is_stale)
        assert not items.state.isVisible()
        assert items.export_button.isEnabled()
        assert items.export_button.toolTip() == ""
        qtbot.keyClick(items.view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: items.selected_label.text() == "230 selected, all that match")


async def test_rows_in_the_order_of_before_say_so(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    engine = Watched(tmp_path / "a.db")
    await stored(engine, 300)
    async with opened(qtbot, tmp_path, until, engine) as window:
        items = window.items
        window.job_list.clear_finished()
        engine.gate.clear()
        items.set_order(ListOrder(by=SortBy.OBSERVED, descending=False))
        await cancel(qtbot, window, until, await reading_job(window, until))
        assert items.state.accessibleName() == f"Reading was stopped. {OF_BEFORE}"
        assert items.model.is_stale
        engine.gate.set()
        qtbot.keyClick(items.view, Qt.Key.Key_A, Qt.KeyboardModifier.ControlModifier)
        items.copy(CopyForm.ID)
        await until(lambda: window.is_idle)
        assert items.copied_label.text() == "Copied 300 items as id", "also those that were never looked at"
