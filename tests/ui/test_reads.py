"""Every lane has a name in the list of jobs, and whatever takes long is there: how far it is, and a way to stop it."""

from __future__ import annotations

import ast
import asyncio
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QFileDialog, QProgressBar, QPushButton, QScrollArea
from pytestqt.qtbot import QtBot

import explorer.ui
from explorer.contract import (
    Document,
    DocumentBody,
    ExportPage,
    Facet,
    Histogram,
    HistogramRequest,
    ListPage,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    StoreItem,
    Timestamp,
)
from explorer.engines import ConnectionStore, KeyStore
from explorer.removal.receipts import Receipt
from explorer.transfer import CopyForm
from explorer.ui import job_list, reads
from explorer.ui.banner import Banner
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.job_list import Job, State
from explorer.ui.jobs_view import JobRow
from explorer.ui.main_window import MainWindow
from explorer.ui.models.facet_model import CountRole
from explorer.ui.models.facet_rows import RowType
from explorer.ui.program import Program
from explorer.ui.theme import theme
from explorer.ui.timeline import TimelineView
from explorer.ui.viewer import METADATA, RAW
from tests.conftest import Until
from tests.fakes import FakeEngine, Gate, filled, learning
from tests.ui.test_app import choose, dialog_of
from tests.ui.test_job_list import SlowStore, lines_of, press, question, titles
from tests.ui.test_list_places import Watched
from tests.ui.test_main_window import opened

UI = Path(explorer.ui.__file__).parent
NARROW = "\u202f"

OWNERS: dict[str, Callable[[MainWindow], reads.Reads]] = {
    "main_window.py": reads.of_window,
    "watch.py": lambda window: reads.of_watch(),
    "palette.py": lambda window: reads.of_palette(window.palette_box),
    "namespaces.py": reads.of_namespaces,
    "facets.py": reads.of_facets,
    "timeline.py": reads.of_timeline,
    "items.py": reads.of_items,
    "item_copies.py": reads.of_items,
    "viewer.py": reads.of_viewer,
    "context_preview.py": reads.of_context,
    "context_parts/pages.py": reads.of_context,
    "compare.py": reads.of_compare,
    "journal.py": reads.of_journal,
    "asking.py": reads.of_asking,
    "console.py": reads.of_console,
    "receipts.py": lambda window: reads.of_receipts(window.jobs),
    "dialogs/connect.py": lambda window: reads.of_connections(connect_dialog(window)),
}
"""By file: what names the lanes that are started in it."""

ELSEWHERE = {
    "app.py": {"open"},
    # These dialogs show how far they are, with Cancel; a run of theirs is a job.
    "dialogs/briefs.py": {"presets"},  # a small file of the program's own
    "dialogs/move.py": {"open", "count", "agree", "run"},
    "dialogs/remove.py": {"count", "export", "run", "print"},
    "dialogs/receipt_page.py": {"print"},
    "moves.py": {"plan", "continue", "settle"},  # small files of the program's own
    "planned.py": {"end"},
    "removals.py": {"restore", "settle", "selected"},  # a restore is a job by itself, and so is the last
    "dialogs/writer.py": {"load", "keyring", "test", "save"},
    "selected.py": {"selected"},  # so is this
    "program.py": {"open", "close"},  # they wait for a person now and then; what is slow in them is a job by itself
    "transfers.py": {"transfer"},  # so do these, and an import or export begins its job once it has a file
    "windows.py": {"open", "quit", "see off"},  # the program's, and of windows that are gone
}


def connect_dialog(window: MainWindow) -> ConnectDialog:
    dialog = ConnectDialog.__new__(ConnectDialog)  # only its methods are named
    ConnectDialog.__bases__[0].__init__(dialog, window)
    dialog.jobs = window.jobs
    return dialog


def words_in(node: ast.AST) -> Iterator[str]:
    """The literals of a lane's name; of one that is put together, what it begins with."""
    if isinstance(node, ast.JoinedStr):
        node = node.values[0]
    if isinstance(node, ast.Constant) and isinstance(node.value, str):
        yield node.value.rstrip(": ")
    elif isinstance(node, ast.IfExp):
        yield from words_in(node.body)
        yield from words_in(node.orelse)
    elif isinstance(node, ast.Tuple):
        for each in node.elts:
            yield from words_in(each)


def lanes_in(source: str) -> set[str]:
    """The names of the lanes that a module starts; fails where one cannot be told."""
    tree = ast.parse(source)
    found: set[str] = set()
    for function in ast.walk(tree):
        if not isinstance(function, ast.FunctionDef | ast.AsyncFunctionDef):
            continue
        given: dict[str, set[str]] = {}
        for node in ast.walk(function):
            if isinstance(node, ast.Assign):
                for target in node.targets:
                    for name in target.elts if isinstance(target, ast.Tuple) else [target]:
                        if isinstance(name, ast.Name):
                            given.setdefault(name.id, set()).update(words_in(node.value))
        for node in ast.walk(function):
            is_start = isinstance(node, ast.Call) and isinstance(node.func, ast.Attribute) and node.func.attr == "start"
            if not is_start or "jobs" not in ast.unparse(node.func.value):  # type: ignore[attr-defined]
                continue
            lane = node.args[0]  # type: ignore[attr-defined]
            names = given.get(lane.id, set()) if isinstance(lane, ast.Name) else set(words_in(lane))
            assert names, f"line {node.lineno}: which lane?"  # type: ignore[attr-defined]
            found |= names
    return found


def test_every_lane_has_a_name(qtbot: QtBot) -> None:
    window = MainWindow()
    qtbot.addWidget(window)
    started = {path.relative_to(UI).as_posix(): lanes_in(path.read_text()) for path in sorted(UI.rglob("*.py"))}
    started = {file: lanes for file, lanes in started.items() if lanes}
    assert started.keys() == OWNERS.keys() | ELSEWHERE.keys()
    for file, lanes in started.items():
        named = set(OWNERS[file](window)) if file in OWNERS else ELSEWHERE[file]
        assert lanes <= named, file


def test_a_lane_without_a_name_is_found() -> None:
    source = 'def f(self):\n lane = f"other:{n}" if a else "more"\n self.jobs.start(lane, w)\n jobs.start("x", w)'
    assert lanes_in(source) == {"other", "more", "x"}
    with pytest.raises(AssertionError, match="which lane"):
        lanes_in("def f(self, lane):\n    self.jobs.start(lane, work)")


async def test_a_lane_that_has_no_name_is_a_job_all_the_same(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    window = MainWindow()
    qtbot.addWidget(window)
    window.viewer.jobs.start("new", asyncio.Event().wait(), lambda _: None)
    await until(lambda: window.job_list.running)
    (job,) = window.job_list.running
    assert job.title == "Working"
    job.stop()
    await until(lambda: job.state is State.CANCELLED)
    await window.aclose()


# In the window


class Slow(SlowStore):
    """One whose exports, time line and whole lists wait at the gate too."""

    async def histogram(self, req: HistogramRequest) -> Histogram:
        await self._pass("histogram", req)
        return await super().histogram(req)

    async def export(self, req: ListRequest) -> ExportPage:
        await self._pass("export", req)
        return await super().export(req)

    async def list(self, req: ListRequest) -> ListPage:
        await self._pass("list", req)
        return await super().list(req)


@asynccontextmanager
async def showing(
    qtbot: QtBot,
    folder: Path,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
    n: int = 450,
    items: list[StoreItem] | None = None,
) -> AsyncIterator[tuple[MainWindow, Slow]]:
    """A window with the list of jobs beside it, in which all that is held at a gate is a job at once."""
    window = MainWindow()
    qtbot.addWidget(window)
    window.resize(1280, 800)
    window.show()
    program = Program(window, ConnectionStore(folder / "connections.json"), KeyStore(), folder / "sample.db")
    engine = Slow()
    await filled(items or [learning(f"item {at:03}", tags=["all"]) for at in range(n)], engine)
    window.show_engine(engine, "a memory", is_read_only=False)
    try:
        await until(lambda: window.is_idle)
        monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
        window.job_list.clear_finished()
        window.show_jobs()
        window.setProperty("test program", program)
        yield window, engine
    finally:
        await program.aclose()
        window.close_for_good()


async def job_called(window: MainWindow, until: Until, title: str) -> Job:
    await until(lambda: any(job.title == title for job in window.job_list.running))
    job = next(job for job in window.job_list.running if job.title == title)
    await until(lambda: window.jobs_view.row(job).isVisible())  # its layout shows it in the next turn
    return job


def row_of(window: MainWindow, job: Job) -> JobRow:
    """As it is seen: in `jobsView`."""
    view = window.jobs_view.findChild(QScrollArea, "jobsView")
    row = window.jobs_view.row(job)
    assert view.isVisible()
    assert view.widget().isAncestorOf(row)
    return row


def press_cancel(qtbot: QtBot, window: MainWindow, job: Job) -> None:
    button = row_of(window, job).findChild(QPushButton, "cancelJobButton")
    assert button.isVisible()
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def bar_of(window: MainWindow, job: Job) -> float | None:
    """The share that the bar of a job's row shows; None where it is one that only moves."""
    row = row_of(window, job)
    bar = row.findChild(QProgressBar, "jobBar")
    assert bar.isVisible() is not row.busy_line.isVisible()
    return bar.value() / bar.maximum() if bar.isVisible() else None


def said(job: Job) -> str:
    return job.words.replace(NARROW, " ").replace("\u00a0", " ")


async def test_the_row_of_a_job_cancels_it(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("namespaces")
        window.namespaces.refresh()
        job = await job_called(window, until, "Counting the nodes")
        assert bar_of(window, job) is None, "nobody knows how much there is"
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        row = row_of(window, job)
        assert row.words_label.text().startswith("Cancelled.")
        assert not row.cancel_button.isVisible()
        assert not row.busy_line.isVisible()
        assert gate.waiting == 0
        assert window.namespaces.banner.sentence == "Counting stopped."
        gate.open()
        window.namespaces.banner.findChild(QPushButton, "bannerActionButton").click()
        await until(lambda: window.namespaces.banner.sentence == "")


async def test_the_count_of_a_filter_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("explore")
        window.items.refresh()
        job = await job_called(window, until, "Counting the items")
        await until(lambda: not window.items.jobs.is_running("first"))
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert window.items.aside_label.text() == "not counted"
        assert window.items.count_label.text() == "200+ items"
        gate.open()
        assert window.items.count_all_button.isVisible(), "there is a way to the number"
        qtbot.mouseClick(window.items.count_all_button, Qt.MouseButton.LeftButton)
        await until(lambda: window.items.count_label.text() == "450 items")


async def test_counting_all_of_the_list_keeps_what_was_counted(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.ui.items.COUNT_PAGE", 300)
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("explore")
        window.items.refresh()
        await until(lambda: gate.waiting and not window.items.jobs.is_running("first"))
        window.items.cancel_counting()
        second = engine.hold("list_preview", lambda req: req.limit == 300 and req.cursor)
        qtbot.mouseClick(window.items.count_all_button, Qt.MouseButton.LeftButton)
        await until(lambda: second.waiting)
        job = await job_called(window, until, "Counting all of the list")
        await until(lambda: said(job) == "300+ items")
        assert bar_of(window, job) is None, "how many there are is the question"
        assert job.holds_window
        job.stop()
        job.stop()  # which must not begin it anew
        await until(lambda: job.state is State.CANCELLED)
        assert said(job) == "Cancelled. 300+ items"
        assert window.items.count_label.text() == "300+ items", "what was counted stays"
        assert window.items.count_all_button.text() == "Count all"
        gate.open()


@pytest.mark.parametrize(
    ("call", "title"),
    [("get_items", "Reading the kinds of learnings"), ("get_items", "Reading the item"), ("fetch", "Reading the list")],
)
async def test_what_the_panels_read_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch, call: str, title: str
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold(call)
        if call == "fetch":
            window.search_box.search("item")
        else:
            window.refresh()
        await until(lambda: gate.waiting == (1 if call == "fetch" else 2) and is_read(window))
        job = await job_called(window, until, title)
        assert not job.holds_window, "a read is no reason to keep the window"
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        gate.open()


async def test_what_is_stored_in_all_is_counted_as_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("explore", lambda req: req.filter.is_empty())
        window.refresh()
        window.go_to_filter(MetaFilter(tags_any=["all"]))
        await until(lambda: gate.waiting and not window.items.jobs.is_running("count"))
        job = await job_called(window, until, "Counting the items")
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert window.items.count_label.text() == "450 items", "which was counted before"
        gate.open()


async def test_looking_for_the_row_of_an_item_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    engine = Watched(tmp_path / "a.db")
    receipts = []
    for start in range(0, 300, 100):
        receipts += await engine.store_many([learning(f"item {at:03}") for at in range(start, start + 100)])
    async with opened(qtbot, tmp_path, until, engine) as window:
        engine.gate.clear()
        window.show_jobs()
        held = {hit.id for hit in window.items.model.held_rows().values()}
        window.items.select_id(next(each.id for each in receipts if each.id not in held))
        job = await job_called(window, until, "Looking for the row of an item")
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        engine.gate.set()


async def test_counting_over_time_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, n=100) as (window, engine):
        view = window.timeline
        gate = engine.hold("histogram")
        view.show_filter(MetaFilter(tags_any=["all"]))
        job = await job_called(window, until, "Counting over time")
        assert bar_of(window, job) is None
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert view.words == "Not counted over time. Counting was stopped."
        assert view.counted_items == (0, True), "what was counted before is of another filter"
        gate.open()
        view.scan.limit = 10
        view.show_filter(MetaFilter())
        view.scan.limit = 10
        view.refresh()
        await until(lambda: view.counted_items == (10, True))
        further = engine.hold("histogram", lambda req: req.scan_limit > 40)
        view.count_all_button.click()
        await until(lambda: further.waiting)
        job = await job_called(window, until, "Counting everything over time")
        await until(lambda: said(job) == "40+ items")
        assert job.part == 0.4
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert view.counted_items == (40, True), "what was counted stays"
        assert view.count_all_button.text() == "Count further"
        further.open()


DATED = [
    learning(
        f"item {at}", tags=["old" if at < 3 else "new"], observed_at=Timestamp.parse(f"2026-06-0{at + 1}T12:00:00Z")
    )
    for at in range(8)
]


def banner_button(banner: Banner) -> QPushButton:
    button = banner.findChild(QPushButton, "bannerActionButton")
    assert button.isVisible()
    return button


async def test_bars_of_the_former_filter_are_said_to_be_that_when_counting_is_stopped(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, items=DATED) as (window, engine):
        view = window.timeline
        button, words = view.count_all_button, view.words
        assert button.isHidden()
        gate = engine.hold("histogram")
        window.refresh()
        press_cancel(qtbot, window, await job_called(window, until, "Counting over time"))
        await until(lambda: not view.jobs.is_busy)
        assert (view.words, button.isHidden()) == (words, True), "the bars are still those of the filter"
        window.go_to_filter(MetaFilter(tags_any=["old"]))
        for _ in range(2):
            press_cancel(qtbot, window, await job_called(window, until, "Counting over time"))
            await until(lambda: not view.jobs.is_busy)
            assert view.words == "Not counted over time. Counting was stopped."
            assert view.scale is not None
            assert sum(view.scale.counts) == 8
            assert "barDim" in bar_tokens(view)
            assert view.count_all_action.text() == button.text() == "Count again"
            assert view.count_all_action.isEnabled()
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
            assert "stopped" not in view.words, "it is being counted"
        gate.open()
        await until(lambda: not view.jobs.is_busy)
        assert sum(view.scale.counts) == 3
        assert "barDim" not in bar_tokens(view)
        assert button.isHidden()


def bar_tokens(view: TimelineView) -> set[str]:
    """The colours of a bar."""
    image, x = view.grab().toImage(), view.bar_rect(0).center().x()
    seen = {image.pixelColor(x, y).name() for y in range(image.height())}
    return {token for token in ("bar", "barDim") if theme().color(token).name() in seen}


async def test_counts_of_the_former_filter_are_said_to_be_that_when_counting_is_stopped(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, items=DATED) as (window, engine):
        model, banner = window.facets.model, window.facets.banner
        gate = engine.hold("explore_many")
        window.facets.refresh()
        press_cancel(qtbot, window, await job_called(window, until, "Counting the facets"))
        await until(lambda: not window.facets.jobs.is_busy)
        assert not model.section(Facet.KIND).is_stale, "the counts are still those of the filter"
        assert banner.sentence == ""
        window.go_to_filter(MetaFilter(tags_any=["old"]))
        for _ in range(2):
            job = await job_called(window, until, "Counting the facets")
            press_cancel(qtbot, window, job)
            await until(lambda: not window.facets.jobs.is_busy)
            assert model.section(Facet.KIND).is_stale
            assert "counts of before" in model.facet_index(Facet.KIND).data(Qt.ItemDataRole.ToolTipRole)
            assert not model.section(Facet.TAG).is_stale, "its own condition does not change its counts"
            assert banner.sentence == "Counting stopped."
            assert banner_button(banner).text() == "Count again"
            qtbot.mouseClick(banner_button(banner), Qt.MouseButton.LeftButton)
        gate.open()
        await until(lambda: window.facets.counted_items == (8, False) and not window.facets.jobs.is_busy)
        assert model.row_index(Facet.KIND, RowType.VALUE, "learning").data(CountRole) == "3"
        assert not model.section(Facet.KIND).is_stale
        assert banner.sentence == ""


async def test_nodes_of_the_former_filter_are_said_to_be_that_when_counting_is_stopped(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, items=DATED) as (window, engine):
        panel = window.namespaces
        gate = engine.hold("namespaces")
        panel.refresh()
        press_cancel(qtbot, window, await job_called(window, until, "Counting the nodes"))
        await until(lambda: not panel.jobs.is_busy)
        assert not panel.model.is_stale, "the counts are still those of the filter"
        window.go_to_filter(MetaFilter(tags_any=["old"]))
        for _ in range(2):
            press_cancel(qtbot, window, await job_called(window, until, "Counting the nodes"))
            await until(lambda: not panel.jobs.is_busy)
            assert panel.model.is_stale
            assert panel.counted_items == (0, False)
            assert panel.banner.sentence == "Counting stopped."
            qtbot.mouseClick(banner_button(panel.banner), Qt.MouseButton.LeftButton)
        gate.open()
        await until(lambda: not panel.jobs.is_busy)
        assert panel.counted_items == (3, False)
        assert not panel.model.is_stale
        assert panel.banner.sentence == ""


COUNT_ALL = {
    "Counting everything over time": (["histogram"], lambda window: window.timeline.count_all_button.click()),
    "Counting everything at the nodes": (["namespaces"], lambda window: window.namespaces.count_all()),
    "Counting everything": (["explore", "explore_many"], lambda window: window.facets.count_all()),
}


@pytest.mark.parametrize("title", COUNT_ALL)
async def test_who_stops_before_anything_is_counted_is_told_no_number(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch, title: str
) -> None:
    calls, count_all = COUNT_ALL[title]
    async with showing(qtbot, tmp_path, until, monkeypatch, n=20) as (window, engine):
        for panel in (window.timeline, window.facets, window.namespaces):
            panel.scan.limit = 10
            panel.refresh()
        await until(lambda: window.is_idle)
        gates = [engine.hold(call) for call in calls]
        window.go_to_filter(MetaFilter(folder="none"))
        count_all(window)
        job = await job_called(window, until, title)
        await until(lambda: said(job) == "Nothing counted so far")
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert said(job) == "Cancelled. Nothing counted so far"
        for gate in gates:
            gate.open()
        count_all(window)
        await until(lambda: window.is_idle)


async def test_a_time_line_that_was_never_counted_says_why(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, n=3) as (window, engine):
        gate = engine.hold("histogram")
        window.show_engine(engine, "again", is_read_only=False)
        job = await job_called(window, until, "Counting over time")
        job.stop()
        await until(lambda: job.state is State.CANCELLED)
        assert window.timeline.words == "Not counted over time. Counting was stopped."
        gate.open()
        qtbot.mouseClick(window.timeline.count_all_button, Qt.MouseButton.LeftButton)
        await until(lambda: window.timeline.words == "No item has a date")
        await until(lambda: window.is_idle)


async def test_facets_that_were_never_counted_say_why(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, n=3) as (window, engine):
        gate = engine.hold("explore_many")
        window.show_engine(engine, "again", is_read_only=False)
        job = await job_called(window, until, "Counting the facets")
        job.stop()
        await until(lambda: job.state is State.CANCELLED)
        banner = window.facets.banner
        assert banner.sentence == "Counting stopped."
        gate.open()
        qtbot.mouseClick(banner.findChild(QPushButton, "bannerActionButton"), Qt.MouseButton.LeftButton)
        await until(lambda: banner.sentence == "" and window.facets.counted_items == (3, False))
        await until(lambda: window.is_idle)


async def test_what_an_export_needs_to_know_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        window.items.select_all()
        gate = engine.hold("namespaces")  # what is in sandboxes is not among them, and that is said
        window.items.export_button.click()
        job = await job_called(window, until, "Preparing the export")
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        gate.open()


async def test_what_was_stopped_and_begins_anew_is_another_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("namespaces", stubborn=True)  # its thread goes on for a while
        window.namespaces.refresh()
        first = await job_called(window, until, "Counting the nodes")
        first.stop()
        window.namespaces.refresh()
        assert first.state is State.CANCELLED
        await until(lambda: first not in window.job_list.running and "Counting the nodes" in titles(window))
        second = await job_called(window, until, "Counting the nodes")
        second.stop()
        gate.open()
        await until(lambda: second.state is State.CANCELLED)


async def test_what_the_palette_asks_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("explore_many")
        window.activateWindow()
        window.palette_action.trigger()
        qtbot.keyClicks(window.palette_box.edit, "it")
        job = await job_called(window, until, "Reading more for the palette")
        job.stop()
        await until(lambda: job.state is State.CANCELLED)
        assert window.palette_box.isVisible(), "what is known is still offered"
        gate.open()
        qtbot.keyClicks(window.palette_box.edit, "e")
        await until(lambda: len(engine.requests("explore_many")) >= 2 and not window.palette_box.jobs.is_busy)
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Escape)


def is_read(window: MainWindow) -> bool:
    """Whether the list will choose no other row any more."""
    return not any(window.items.jobs.is_running(lane) for lane in ("count", "stored", "rows", "page"))


def note(text: str, mime: str) -> Document:
    return Document(title="A note", body=DocumentBody(text=text), mime=mime, meta=MemoryMeta())


def choose_segment(window: MainWindow, qtbot: QtBot, choice: str) -> None:
    qtbot.mouseClick(window.viewer.segments.button(choice), Qt.MouseButton.LeftButton)


@pytest.mark.parametrize(
    ("lane", "title", "begin"),
    [
        ("raw", "Writing the item as JSON", lambda window, qtbot: choose_segment(window, qtbot, RAW)),
        ("fingerprint", "Checking the id of the item", lambda window, qtbot: choose_segment(window, qtbot, METADATA)),
        ("copy", "Copying the item as JSON", lambda window, qtbot: window.viewer.copy_json()),
        ("parse", "Reading the item", lambda window, qtbot: window.viewer.refresh()),
        ("find", "Looking for words in the item", lambda window, qtbot: find(window, qtbot, "ledger")),
    ],
)
async def test_what_the_viewer_works_on_is_a_job(
    qtbot: QtBot,
    tmp_path: Path,
    until: Until,
    monkeypatch: pytest.MonkeyPatch,
    lane: str,
    title: str,
    begin: Callable[[MainWindow, QtBot], None],
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, items=[note("the *ledger* closes", "text/markdown")]) as (
        window,
        _,
    ):
        gate, to_thread = Gate(), asyncio.to_thread

        async def held(work: Any, *args: Any, **kwargs: Any) -> Any:
            await gate.wait()
            return await to_thread(work, *args, **kwargs)

        monkeypatch.setattr(asyncio, "to_thread", held)
        QGuiApplication.clipboard().setText("before")
        begin(window, qtbot)
        await until(lambda: window.viewer.jobs.is_running(lane))
        job = await job_called(window, until, title)
        assert job.holds_window is (lane == "copy"), "of these only the clipboard outlives the window"
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert not window.viewer.jobs.is_running(lane)
        gate.open()
        assert QGuiApplication.clipboard().text() == "before"
        if lane in ("raw", "parse"):
            assert window.viewer.banner.sentence == "Reading was stopped."
            again = window.viewer.banner.findChild(QPushButton, "bannerActionButton")
            qtbot.mouseClick(again, Qt.MouseButton.LeftButton)
            await until(lambda: not window.viewer.jobs.is_busy)
            page: Any = window.viewer.pages.currentWidget()
            assert "ledger" in page.toPlainText()


def find(window: MainWindow, qtbot: QtBot, words: str) -> None:
    window.viewer.open_find()
    qtbot.keyClicks(window.viewer.find_bar.edit, words)


async def test_loading_the_rest_shows_how_far_it_is(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    long = note("hay and more hay\n" * 60_000, "text/plain")
    async with showing(qtbot, tmp_path, until, monkeypatch, items=[long]) as (window, _):
        viewer = window.viewer
        window.job_list._look.setInterval(1)
        qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
        job = await job_called(window, until, "Loading the rest of the item")
        await until(lambda: job.part)
        assert job.part is not None
        assert 0 < job.part < 1
        assert said(job).endswith("of 1.0 MB")
        await until(lambda: bar_of(window, job) == pytest.approx(job.part, abs=0.001))
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert said(job).startswith("Cancelled. ")
        assert viewer.rest_button.text() == "Load the rest", "what is there stays, and it can go on"


async def test_the_test_of_a_connection_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, _):
        slow = FakeEngine()
        gate = slow.hold("health")
        monkeypatch.setattr("explorer.ui.dialogs.connect_parts.trial.build_engine", lambda *_: slow)
        path = tmp_path / "a.db"
        path.write_bytes(b"")
        window.connections_action.trigger()
        await until(lambda: dialog_of(ConnectDialog) is not None)
        dialog = dialog_of(ConnectDialog)
        assert dialog is not None
        qtbot.keyClicks(dialog.path_edit, str(path))
        for _ in range(2):
            qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
            await until(lambda: gate.waiting == 1)
            job = await job_called(window, until, "Testing the connection")
            assert dialog.test_button.text() == "Stop testing"
            # The dialog is in front of the window, so that it has a way of its own.
            qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
            await until(lambda job=job: job.state is State.CANCELLED)
            assert job in window.job_list.jobs, "that it was stopped by hand is kept"
            assert dialog.test_button.text() == "Test"
        gate.open()
        qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        await until(lambda: not dialog.jobs.is_running("test"))
        assert window.job_list.jobs[0].state in (State.DONE, State.CANCELLED)
        dialog.reject()
        await until(lambda: dialog_of(ConnectDialog) is None)


@pytest.mark.parametrize("stubborn", [False, True])
async def test_a_test_of_a_connection_ends_with_its_dialog(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch, stubborn: bool
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, _):
        slow = FakeEngine()
        gate = slow.hold("health", stubborn=stubborn)
        monkeypatch.setattr("explorer.ui.dialogs.connect_parts.trial.build_engine", lambda *_: slow)
        path = tmp_path / "a.db"
        path.write_bytes(b"")
        window.connections_action.trigger()
        await until(lambda: dialog_of(ConnectDialog) is not None)
        dialog = dialog_of(ConnectDialog)
        assert dialog is not None
        qtbot.keyClicks(dialog.path_edit, str(path))
        qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        job = await job_called(window, until, "Testing the connection")
        await until(lambda: "Testing the connection" in window.jobs_button.text())
        dialog.reject()
        try:
            await until(lambda: not window.job_list.running)
            await until(lambda: not window.job_list._look.isActive())
        finally:
            gate.open()  # a stubborn one would hold up the end of the test too
        assert job.state is State.CANCELLED
        assert job not in window.job_list.jobs, "whoever closes the dialog wants no answer"
        assert "Testing the connection" not in window.jobs_button.text()
        assert not window.job_cancel_button.isVisible()
        job.stop()  # a press that comes too late


async def test_the_look_for_a_keyring_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    asked, answers = threading.Event(), threading.Event()

    def is_available(keys: KeyStore) -> bool:
        asked.set()
        return answers.wait(10)

    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, _):
        monkeypatch.setattr(KeyStore, "is_available", property(is_available))
        try:
            window.connections_action.trigger()
            await until(asked.is_set)
            job = await job_called(window, until, "Looking for the keyring")
            job.stop()
            await until(lambda: job.state is State.CANCELLED)
        finally:
            answers.set()
        dialog = dialog_of(ConnectDialog)
        assert dialog is not None
        dialog.reject()
        await until(lambda: dialog_of(ConnectDialog) is None)


async def test_what_is_called_the_same_is_not_the_same(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(reads, "tr", lambda message, **values: "Reading")  # a language with one word for it all
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gates = [engine.hold("explore"), engine.hold("get_items")]
        window.refresh()
        # Two counts that are one job, the kinds of the rows, and the item: nothing that comes and goes is among them.
        await until(lambda: [gate.waiting for gate in gates] == [2, 2] and len(window.job_list.running) == 3)
        jobs = window.job_list.running
        assert {job.title for job in jobs} == {"Reading"}
        for at, job in enumerate(jobs):
            job.stop()
            await until(lambda job=job: job.state is State.CANCELLED)
            assert all(other.state is State.RUNNING for other in jobs[at + 1 :])
        for gate in gates:
            gate.open()


async def test_a_count_that_is_begun_again_ends_as_the_last_one_did(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("explore_many")
        window.facets.refresh()
        job = await job_called(window, until, "Counting the facets")
        window.facets.refresh()
        await until(lambda: gate.waiting == 1)
        gate.open()
        await until(lambda: job.state is not State.RUNNING)
        assert job.state is State.DONE, "that the first was needless says nothing of the second"
        assert job in window.job_list.jobs


async def test_a_count_that_was_stopped_and_ends_late_is_not_the_next_one(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("explore_many", stubborn=True)
        window.facets.refresh()
        first = await job_called(window, until, "Counting the facets")
        press_cancel(qtbot, window, first)
        window.facets.refresh()
        await until(lambda: first.state is State.CANCELLED)
        second = await job_called(window, until, "Counting the facets")
        assert second is not first
        await until(lambda: gate.waiting == 2)
        gate.open()
        await until(lambda: second.state is not State.RUNNING)
        assert second.state is State.DONE
        assert window.job_list.jobs[:2] == [second, first]


# How far it is


async def test_of_one_there_is_one(qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, n=1) as (window, engine):
        gate = engine.hold("get_items")
        window.items.select_all()
        window.items.copy(CopyForm.JSON)
        job = await job_called(window, until, "Copying items")
        gate.open()
        await until(lambda: job.state is State.DONE)
        assert said(job) == "1 of 1 item"
        alone = engine.hold("explore_many")
        facets = window.facets
        closed = next(facet for facet in facets.model.facets if facets.model.section(facet).page is None)
        facets.tree.expand(facets.model.facet_index(closed))
        job = await job_called(window, until, "Counting the facets")
        await until(lambda: said(job) == "0 of 1 facet")
        alone.open()


async def test_facets_show_how_many_of_them_are_counted(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        # Those without a condition of their own are counted at one go, the one that has one by itself.
        alone = engine.hold("explore_many", lambda reqs: len(reqs) == 1)
        rest = engine.hold("explore_many", lambda reqs: len(reqs) > 1)
        window.go_to_filter(MetaFilter(tags_any=["all"]))
        job = await job_called(window, until, "Counting the facets")
        await until(lambda: said(job) == "0 of 4 facets")
        assert bar_of(window, job) is None
        rest.open()
        await until(lambda: said(job) == "3 of 4 facets")
        assert job.part == 0.75
        await until(lambda: bar_of(window, job) == 0.75)
        alone.open()
        await until(lambda: job.state is State.DONE)
        assert said(job) == "4 of 4 facets"
        assert not row_of(window, job).bar.isVisible()


async def test_counting_everything_shows_a_number_that_stays_when_it_is_stopped(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, n=100) as (window, engine):
        for panel in (window.facets, window.namespaces):
            panel.scan.limit = 10
            panel.refresh()
        await until(lambda: window.is_idle)
        further = engine.hold("explore_many", lambda reqs: reqs[0].scan_limit > 40)
        window.facets.count_all_action.trigger()
        await until(lambda: further.waiting)
        job = await job_called(window, until, "Counting everything")
        await until(lambda: said(job) == "40+ items")
        assert job.part == 0.4, "of the hundred in the list"
        await until(lambda: bar_of(window, job) == 0.4)
        assert window.facets.banner.sentence == "Counting everything, 40 items so far…"
        assert job.holds_window
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert said(job) == "Cancelled. 40+ items"
        assert window.facets.counted_items == (40, True), "what was counted stays"
        assert window.facets.banner.sentence == "Counted 40 of more items"
        further.open()
        window.facets.count_all_action.trigger()
        await until(lambda: window.facets.counted_items == (100, False) and window.is_idle)
        assert window.namespaces.counted_items == (100, False), "the nodes too"


async def test_copying_shows_its_share_and_can_be_stopped(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        QGuiApplication.clipboard().setText("before")
        window.items.select_all()
        gate = engine.hold("get_items", lambda req: len(req.ids) == 200 and len(engine.requests("get_items")) > before)
        before = len(engine.requests("get_items")) + 1
        window.items.copy(CopyForm.JSON)
        job = await job_called(window, until, "Copying items")
        await until(lambda: said(job) == "200 of 450 items")
        assert job.part == pytest.approx(200 / 450)
        await until(lambda: bar_of(window, job) == pytest.approx(200 / 450, abs=0.001))
        press_cancel(qtbot, window, job)
        await until(lambda: job.state is State.CANCELLED)
        assert said(job) == "Cancelled. 200 of 450 items"
        assert QGuiApplication.clipboard().text() == "before"
        gate.open()


async def test_a_file_that_is_pulled_out_shows_its_share(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        window.items.select_all()
        before = len(engine.requests("get_items")) + 1
        gate = engine.hold("get_items", lambda req: len(engine.requests("get_items")) > before)
        window.items.view.drag_wanted.emit()
        job = await job_called(window, until, "Writing a file to pull out")
        await until(lambda: said(job) == "200 of 450 items")
        assert job.holds_window
        gate.open()
        await until(lambda: job.state is State.DONE)
        assert said(job) == "450 of 450 items"


async def test_an_export_shows_its_share(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        second = engine.hold("export", lambda req: req.cursor is not None)
        await choose(qtbot, until, window.export_action, tmp_path / "out.jsonl")
        job = await job_called(window, until, "Export to \u2068out.jsonl\u2069")
        await until(lambda: said(job) == "200 of 450 items")
        assert job.part == pytest.approx(200 / 450)
        assert bar_of(window, job) == pytest.approx(200 / 450, abs=0.001)
        second.open()
        await until(lambda: job.state is State.DONE)
        assert said(job).startswith("450 items, ")


async def test_an_export_reads_nothing_only_to_know_its_share(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Slow, "namespaces", MemoryEngine.namespaces)  # one that names no nodes: it would list all
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        before = len(engine.calls)
        window.export_action.trigger()
        await until(lambda: dialog_of(QFileDialog) is not None)
        all_of_it = {"explore", "explore_many", "list", "list_preview", "export"}
        assert not all_of_it & {name for name, _ in engine.calls[before:]}
        dialog = dialog_of(QFileDialog)
        assert dialog is not None
        dialog.reject()
        await until(lambda: dialog_of(QFileDialog) is None)


async def test_an_export_of_what_is_not_counted_yet_waits_for_no_count(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        counting = engine.hold("explore")
        window.go_to_filter(MetaFilter(tags_any=["all"]))  # of these 450 the list has 200, and no total
        await until(lambda: counting.waiting and not window.items.jobs.is_running("first"))
        second = engine.hold("export", lambda req: req.cursor is not None)
        await choose(qtbot, until, window.export_action, tmp_path / "out.jsonl")
        job = await job_called(window, until, "Export to \u2068out.jsonl\u2069")
        await until(lambda: said(job) == "200 items")
        assert bar_of(window, job) is None
        second.open()
        await until(lambda: job.state is State.DONE)
        counting.open()


async def test_an_import_shows_its_share(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        gate = engine.hold("store_many", lambda items: len(engine.requests("store_many")) > 1)
        path = lines_of(tmp_path, *[f"line {at:04}" for at in range(1_000)])
        await choose(qtbot, until, window.import_action, path)
        job = await job_called(window, until, "Import \u2068items.jsonl\u2069")
        await until(lambda: gate.waiting and job.part)
        assert job.part is not None
        assert 0 < job.part < 1
        assert said(job) == f"{round(100 * job.part)} %"
        assert bar_of(window, job) == pytest.approx(job.part, abs=0.001)
        gate.open()
        await until(lambda: job.state is State.DONE)


# How long it takes


class Clock:
    """Stands for the module `time`."""

    def __init__(self) -> None:
        self.now = 100.0

    def monotonic(self) -> float:
        return self.now


async def test_a_row_and_the_status_line_say_how_long_it_has_been_running(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    clock = Clock()
    monkeypatch.setattr(job_list, "time", clock)
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        window.job_list._tick.setInterval(10)
        gate = engine.hold("get", lambda req: True)
        held = engine.hold("namespaces")
        window.namespaces.refresh()
        job = await job_called(window, until, "Counting the nodes")
        row = row_of(window, job)
        clock.now += 12
        await until(lambda: row.time_label.text() == "12\u00a0s")
        assert window.jobs_button.text().endswith("\u206812\u00a0s\u2069")
        assert window.jobs_button.isVisible()
        clock.now += 118
        await until(lambda: row.time_label.text() == "2\u00a0min 10\u00a0s")
        assert "2\u00a0min 10\u00a0s" in window.jobs_button.text()
        held.open()
        gate.open()
        await until(lambda: job.state is State.DONE)
        assert row.time_label.text().endswith("took 2\u00a0min 10\u00a0s")
        clock.now += 60
        window.job_list.changed.emit()
        assert row.time_label.text().endswith("took 2\u00a0min 10\u00a0s"), "it has ended"


# Closing


async def test_closing_names_what_was_begun_and_not_what_is_only_read(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, engine):
        window.items.select_all()
        gates = [engine.hold("get_items", lambda req: len(req.ids) > 50), engine.hold("namespaces")]
        window.namespaces.refresh()
        window.items.copy(CopyForm.JSON)
        copying = await job_called(window, until, "Copying items")
        reading = await job_called(window, until, "Counting the nodes")
        assert window.job_list.holding == [copying]
        window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        assert box.text() == "1 job is running"
        told = box.informativeText().split("\n")
        assert told[0] == "Copying items"
        assert "Counting the nodes" not in told
        press(box, "Keep open")
        await until(lambda: question() is None)
        assert copying.state is State.RUNNING
        press_cancel(qtbot, window, copying)
        await until(lambda: copying.state is State.CANCELLED)
        assert reading.state is State.RUNNING
        window.close()
        await until(window.property("test program").closing.is_set)
        assert question() is None, "a mere read goes with the window"
        for gate in gates:
            gate.open()


async def test_closing_all_the_same_ends_what_was_begun(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch, n=100) as (window, engine):
        window.facets.scan.limit = 10
        window.facets.refresh()
        await until(lambda: window.is_idle)
        gate = engine.hold("explore_many")
        window.facets.count_all_action.trigger()
        job = await job_called(window, until, "Counting everything")
        window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        assert box.informativeText().startswith("Counting everything\n")
        press(box, "Cancel jobs and close")
        await until(window.property("test program").closing.is_set)
        assert job.state is State.CANCELLED
        gate.open()


async def test_of_many_jobs_the_question_names_the_first(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with showing(qtbot, tmp_path, until, monkeypatch) as (window, _):
        jobs = [window.job_list.begin(f"job {at}") for at in range(7)]
        window.close()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        assert box.text() == "7 jobs are running"
        assert box.informativeText().split("\n")[:6] == ["job 6", "job 5", "job 4", "job 3", "job 2", "and 2 more"]
        press(box, "Keep open")
        await until(lambda: question() is None)
        for job in jobs:
            window.job_list.end(job, State.DONE, "Done.")


async def test_a_receipt_that_takes_long_to_read_is_a_job(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    """One of a million lines is."""
    may_read = threading.Event()

    def read(path: Path) -> Receipt:
        may_read.wait(10)
        return Receipt(path)

    monkeypatch.setattr(Receipt, "read", read)
    async with showing(qtbot, tmp_path, until, monkeypatch, 5) as (window, _):
        try:
            window.journal.open_wanted.emit(tmp_path / "some.jsonl")
            job = await job_called(window, until, "Reading a receipt")
            press_cancel(qtbot, window, job)
            await until(lambda: job.state is State.CANCELLED)
        finally:
            may_read.set()
