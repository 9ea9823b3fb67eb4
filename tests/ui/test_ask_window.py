"""Asking in the window: where the panel is, what it opens, and what a removal leaves of it."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QLabel, QLineEdit, QToolButton, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Document,
    DocumentBody,
    ForgetTarget,
    MemoryMeta,
    MetaFilter,
    StoreItem,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.removal.plan import Target
from explorer.ui import job_list
from explorer.ui.main_window import MainWindow
from explorer.ui.viewer import METADATA, READ
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.removing import opened as removing_in
from tests.ui.test_ask_panel import cite, press, said, state
from tests.ui.test_main_window import opened
from tests.ui.test_stored_text import hostile, items_of, look_at_everything
from tests.ui.test_viewer_passages import is_seen, marked

ASKED = "When does the ledger close?"
LONG = "Nothing of note stands here.\n\n" * 200
ITEMS: list[StoreItem] = [
    *(learning(f"filler number {at}", tags=["filler"]) for at in range(30)),
    Document(
        title="Handbook",
        body=DocumentBody(text=f"{LONG}The ledger closes at six in the evening.\n\n{LONG}"),
        mime="text/markdown",
        meta=MemoryMeta(tags=["desk"]),
    ),
]


def dock_of(window: MainWindow) -> QDockWidget:
    dock = window.findChild(QDockWidget, "askDock")
    assert isinstance(dock, QDockWidget)
    return dock


async def asked(window: MainWindow, until: Until, question: str = ASKED) -> None:
    window.show_asking(question)
    await until(lambda: window.is_idle)


async def embedded(folder: Path, items: list[StoreItem] | None = None) -> SqliteEngine:
    engine = SqliteEngine(folder / "a.db", embedder=None)
    await engine.store_many(ITEMS if items is None else items)
    return engine


@pytest.mark.parametrize("by", ["button", "key"])
async def test_the_field_is_one_step_away(qtbot: QtBot, tmp_path: Path, until: Until, by: str) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.restore_layout()
        window.activateWindow()
        await until(lambda: window.asking.visibleRegion().isEmpty())  # context.md lies on it
        if by == "button":
            button = window.findChild(QToolButton, "askButton")
            assert isinstance(button, QToolButton)
            assert button.text() == "Ask"
            qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        else:
            modifiers = Qt.KeyboardModifier.ControlModifier | Qt.KeyboardModifier.ShiftModifier
            qtbot.keyClick(window.items.view, Qt.Key.Key_A, modifiers)
        await until(lambda: not window.asking.visibleRegion().isEmpty())
        focus = QApplication.focusWidget()
        assert focus is window.findChild(QLineEdit, "askEdit")
        assert len(window.findChildren(QWidget, "askEdit")) == 1
        assert window.dockWidgetArea(dock_of(window)) is Qt.DockWidgetArea.RightDockWidgetArea
        await until(lambda: window.is_idle)
        qtbot.mouseClick(window.findChild(QToolButton, "close:askDock"), Qt.MouseButton.LeftButton)
        assert not dock_of(window).isVisible()


async def test_it_lies_on_the_panels_below_the_item(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout()
        window.show_journal()
        window.show_asking()
        names = {dock.objectName() for dock in window.tabifiedDockWidgets(dock_of(window))}
        assert names == {"contextDock", "compareDock", "journalDock"}
        await until(lambda: not window.asking.visibleRegion().isEmpty())
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout()
        assert dock_of(window).isVisible(), "it is as it was left"


async def test_the_palette_asks(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await embedded(tmp_path)) as window:
        window.activateWindow()
        window.palette_action.trigger()
        qtbot.keyClicks(window.palette_box.edit, ASKED)
        await until(lambda: not window.palette_box.jobs.is_busy)
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_End)
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_PageDown)
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Up)  # the search is last
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        await until(lambda: window.asking.answered is not None)
        assert window.asking.ask_edit.text() == ASKED
        assert not window.trail.current.query, "it is asked and not searched for"


async def test_what_takes_long_is_a_job_that_is_cancelled(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(job_list, "APPEARS_S", 0.0)
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        engine.hold("recall", lambda req: req.question == ASKED)
        window.show_asking(ASKED)
        await until(lambda: any(job.title == "Asking" for job in window.job_list.running))
        next(job for job in window.job_list.running if job.title == "Asking").stop()
        await until(lambda: not window.asking.jobs.is_busy)
        assert window.asking.banner.sentence == "Asking was stopped."


async def test_a_citation_opens_the_item_at_its_place(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await embedded(tmp_path)) as window:
        window.items.view.selectRow(0)
        window.viewer._choose_page(METADATA)
        window.findChild(QDockWidget, "viewerDock").hide()
        await asked(window, until)
        qtbot.mouseClick(cite(window.asking, 1), Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle)
        viewer = window.viewer
        assert viewer.isVisible(), "its panel was closed"
        assert viewer.hit is not None
        assert viewer.hit.id == ITEMS[-1].fingerprint()
        assert viewer.segments.choice == READ
        assert marked(viewer) == ["The ledger closes at six in the evening"]
        assert is_seen(viewer)
        current = window.items.current_hit()
        assert current is not None
        assert current.id == viewer.hit.id, "its row is the current one"
        assert viewer.listed_label.isHidden()
        window.go_to_filter(MetaFilter(tags_any=["filler"]))
        await until(lambda: window.is_idle)
        qtbot.mouseClick(cite(window.asking, 1), Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle)
        assert viewer.hit.id == ITEMS[-1].fingerprint()
        assert marked(viewer)
        assert viewer.listed_label.isVisible(), "the filter does not admit it any more"


async def test_it_asks_under_the_filter_of_the_chips(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await embedded(tmp_path)) as window:
        window.go_to_filter(MetaFilter(tags_any=["nobody"]))
        await asked(window, until)
        panel = window.asking
        assert panel.scope_label.text().replace("\u2068", "").replace("\u2069", "") == "tag is nobody"
        assert state(panel)[0] == "The filter admits nothing"
        press(panel, "Ask without the filter")
        await until(lambda: window.is_idle and panel.answered is not None)
        assert window.trail.current.filter == MetaFilter()
        assert said(panel)
        window.back_action.trigger()
        assert panel.stale_banner.isVisible()
        panel.search_wanted.emit("ledger")
        assert window.trail.current.query == "ledger"


async def test_a_key_that_is_refused_leads_to_the_connections(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        with qtbot.waitSignal(window.connections_action.triggered):
            window.asking.connections_wanted.emit()
        with qtbot.waitSignal(window.import_wanted):
            window.asking.import_wanted.emit()


# What was removed


async def test_after_a_removal_no_answer_says_what_went(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with removing_in(qtbot, tmp_path, until, SqliteEngine(tmp_path / "a.db", embedder=None), ITEMS) as in_it:
        panel = in_it.window.asking
        await asked(in_it.window, until)
        assert said(panel)
        await in_it.planned(Target(filter=MetaFilter(tags_any=["desk"])))
        await in_it.done()
        await in_it.close()
        assert state(panel)[0] == "The answer is gone"
        assert len(panel.history) == 0
        assert all("six in the evening" not in label.text() for label in in_it.window.findChildren(QLabel))


async def test_what_another_program_removes_takes_answers_along(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await embedded(tmp_path)) as window:
        await asked(window, until)
        window.watch.timer.setInterval(20)
        other = SqliteEngine(tmp_path / "a.db", embedder=None)
        await other.forget(ForgetTarget(ids=[ITEMS[-1].fingerprint()]))
        await until(lambda: window.asking.answered is None)
        assert state(window.asking)[0] == "The answer is gone"
        await other.aclose()


async def test_another_memory_has_no_answers_of_this_one(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await embedded(tmp_path)) as window:
        await asked(window, until)
        engine = window.engine
        window.show_engine(engine, "a.db", is_read_only=True, keeps_view=True)
        assert said(window.asking), "it is the same one, locked"
        await until(lambda: window.is_idle)
        window.show_engine(engine, "b.db", is_read_only=True)
        assert said(window.asking) == []
        await until(lambda: window.is_idle)


# Stored text


async def test_what_looks_like_markup_is_text_in_answers(
    qtbot: QtBot, tmp_path: Path, until: Until, listener: Any
) -> None:
    text = hostile(listener.port)
    engine = await filled(items_of(text))
    assert isinstance(engine, FakeEngine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        await asked(window, until, text)
        panel = window.asking
        assert said(panel)
        assert await look_at_everything(until) > 3
        if panel.view.not_cited_button is not None:
            panel.view.not_cited_button.click()
        panel.view.sources[0].click()
        await until(lambda: window.is_idle)
        panel.history_menu.aboutToShow.emit()
        window.go_to_filter(MetaFilter(tags_any=[text, "b"]))
        await until(lambda: window.is_idle)
        assert panel.stale_banner.isVisible()
        assert await look_at_everything(until) > 3
    assert not listener()


async def test_controls_are_drawn_and_directions_stay_apart(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    texts = [
        "needle before\0after \x07\x1b[31m",
        "needle a\u202egnp.exe",
        "needle שלום (12) /home/u/x",
        "needle المسار",
    ]
    engine = await filled([learning(text, tags=["t\u202eag"]) for text in texts])
    async with opened(qtbot, tmp_path, until, engine) as window:
        await asked(window, until, "needle \u202e")
        panel = window.asking
        drawn = [label.text() for label in panel.findChildren(QLabel)]
        drawn += [source.accessibleName() for source in panel.view.sources]
        drawn += [source.toolTip() for source in panel.view.sources]
        assert any("⟦NUL⟧" in each for each in drawn)
        assert any("⟦RLO⟧" in each for each in drawn)
        assert not any(char in each for each in drawn for char in "\0\u202e\x1b")
        assert not panel.grab().isNull()
