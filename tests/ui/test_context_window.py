"""The preview and Compare in the window: where they are, what they follow, and what a removal does to them."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtWidgets import QApplication, QDockWidget, QLabel, QPushButton, QTabBar, QWidget
from pytestqt.qtbot import QtBot

from explorer.context import Brief, ContextSpec
from explorer.contract import ForgetTarget, MemoryEngine, MetaFilter, Namespace
from explorer.engines import EngineSettings, build_engine
from explorer.ui.actions import actions_of
from explorer.ui.compare import BUDGETS, LEFT_OUT, NODES, REMOVAL, ComparePanel
from explorer.ui.context_parts.budget import MOST
from explorer.ui.context_parts.pages import SOURCE
from explorer.ui.context_parts.section_bar import MOST_SEEN
from explorer.ui.main_window import MainWindow
from tests.conftest import Until
from tests.fakes import learning
from tests.ui.contexts import ACME, ITEMS, TRIAGE, WRITER, Asked, at, engine_of
from tests.ui.test_main_window import opened


@pytest.fixture(autouse=True)
def _asks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("context_preview", "compare"):
        monkeypatch.setattr(f"explorer.ui.{name}.ASKS_AFTER_MS", 1)


@asynccontextmanager
async def showing(
    qtbot: QtBot, tmp_path: Path, until: Until, engine: MemoryEngine | None = None, node: Namespace = TRIAGE
) -> AsyncIterator[tuple[MainWindow, MemoryEngine]]:
    """A window over a real file of these items, filtered by a node, with the document for it."""
    if engine is None:
        engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)
        await engine.store_many(ITEMS)
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.place_docks()
        window.go_to_filter(at(node))
        await until(lambda: is_done(window))
        yield window, engine


def is_done(window: MainWindow) -> bool:
    return window.is_idle and window.context.gathered is not None


def dock(window: MainWindow, name: str) -> QDockWidget:
    found = window.findChild(QDockWidget, name)
    assert isinstance(found, QDockWidget)
    return found


def raised(window: MainWindow) -> set[str]:
    """The docks below the viewer that are seen."""
    docks = (dock(window, name) for name in ("contextDock", "compareDock", "journalDock"))
    return {one.objectName() for one in docks if not one.widget().visibleRegion().isEmpty()}


def markdown(window: MainWindow) -> str:
    assert window.context.trimmed is not None
    return window.context.trimmed.doc.markdown


async def test_it_is_below_the_item_on_top_of_the_others(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, _):
        context, viewer = dock(window, "contextDock"), dock(window, "viewerDock")
        assert window.dockWidgetArea(context) is Qt.DockWidgetArea.RightDockWidgetArea
        assert context.y() > viewer.geometry().bottom()
        assert raised(window) == {"contextDock"}
        (tabs,) = (bar for bar in window.findChildren(QTabBar) if bar.isVisible())
        words = [tabs.tabText(at) for at in range(tabs.count())]
        assert (words[0], words[-1]) == ("context.md", "Compare")
        window.journal_action.trigger()
        await until(lambda: raised(window) == {"journalDock"})
        assert "Journal" in [tabs.tabText(at) for bar in [tabs] for at in range(bar.count())]


async def test_the_promised_names_are_there(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, _):
        names = ("contextDock", "contextPreview", "budgetSpin", "budgetSlider", "contextTokensLabel", "compareDock")
        for name in names:
            assert window.findChild(QWidget, name) is not None, name


async def test_it_follows_the_node_of_the_filter_and_nothing_else_of_it(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = await engine_of()
    async with showing(qtbot, tmp_path, until, engine) as (window, _):
        assert window.context.node == TRIAGE
        asked = len(engine.requests("recall"))
        window.go_to_filter(at(TRIAGE).model_copy(update={"tags_any": ["nothing"]}))
        await until(lambda: is_done(window))
        assert len(engine.requests("recall")) == asked
        window.go_to_filter(at(WRITER))
        await until(lambda: is_done(window) and "only the writer" in markdown(window))
        window.go_to_filter(MetaFilter())
        await until(lambda: is_done(window) and window.context.node.is_root)
        assert "only the writer" not in markdown(window)


async def test_it_is_read_again_with_the_rest(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, engine):
        await engine.store(learning("the user works on something brand new", str(TRIAGE)))
        window.refresh_action.trigger()
        await until(lambda: is_done(window) and "something brand new" in markdown(window))


async def test_a_citation_opens_its_item_in_the_viewer(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, _):
        hit = window.context.gathered.learnings[-1]  # type: ignore[union-attr]
        window.context.item_wanted.emit(hit, None)
        await until(lambda: window.viewer.hit is not None and window.viewer.hit.id == hit.id)
        focus = QApplication.focusWidget()
        assert window.viewer.isAncestorOf(focus) or window.viewer.header.isAncestorOf(focus)


async def test_nothing_is_asked_behind_another_tab(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with showing(qtbot, tmp_path, until, engine) as (window, _):
        window.show_journal()
        await until(lambda: raised(window) == {"journalDock"})
        asked = len(engine.requests("recall"))
        window.go_to_filter(at(WRITER))
        await until(lambda: window.is_idle)
        assert len(engine.requests("recall")) == asked
        window.context_dock.raise_()
        await until(lambda: is_done(window) and "only the writer" in markdown(window))


async def test_f6_comes_to_it_once_and_tab_goes_through(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, _):
        window.activateWindow()
        window.viewer.setFocus()
        window.next_pane_action.trigger()
        assert window.context.isAncestorOf(QApplication.focusWidget())
        window.next_pane_action.trigger()
        assert QApplication.focusWidget() is window.search_box.search_edit, "Compare lies under it"
        window.context.node_button.setFocus()
        seen = []
        for _ in range(6):
            qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Tab)
            seen.append(QApplication.focusWidget().objectName())
        head = ["segment:Rendered", "contextMoreButton", "close:contextDock"]
        assert seen == [*head, "budgetSlider", "budgetSpin", "sectionBar"]


async def test_its_actions_are_in_the_palette(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, _):
        titles = set(actions_of(window).values())
        assert {"context.md: Copy the document", "context.md: Briefs and presets…", "context.md: Compare…"} <= titles


async def test_budget_and_briefs_are_kept_with_the_window(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.context.set_budget(4_321)
    async with opened(qtbot, tmp_path, until, settings=settings) as window:
        window.restore_layout()
        assert window.context.budget.spin.value() == 4_321


async def test_another_memory_takes_all_of_it_away(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    other = await engine_of([])
    async with showing(qtbot, tmp_path, until) as (window, engine):
        await removed(window, engine, until)
        assert window.context.before is not None
        window.show_engine(other, "other", is_read_only=True)
        assert window.context.before is None
        assert window.context.pages.read_view.toPlainText() == ""
        await until(lambda: is_done(window))
        assert markdown(window) == ""


# A removal


async def removed(window: MainWindow, engine: MemoryEngine, until: Until) -> str:
    """Forget the first learning of the document; its text."""
    assert window.context.gathered is not None
    hit = window.context.gathered.learnings[0]
    assert hit.id in markdown(window)
    await engine.forget(ForgetTarget(ids=[hit.id]))
    window.show_removed({hit.id}, set())
    return hit.text


async def test_a_removal_drops_what_was_compiled_with_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, engine):
        before = markdown(window)
        panel = window.context
        text = await removed(window, engine, until)
        assert panel.trimmed is None
        assert panel.pages.read_view.toPlainText() == ""
        assert not panel.pages._parsed, "not a word of it is kept for the page"
        assert "1 item was removed: what was compiled with it was dropped." in panel.banner.sentence
        await until(lambda: is_done(window))
        assert text not in markdown(window)
        press(qtbot, panel.banner, "Compare…")
        await until(lambda: window.compare.comparison is not None)
        compare = window.compare
        assert compare.choice.choice == REMOVAL
        assert raised(window) == {"compareDock"}
        assert text in compare.view.toPlainText()
        assert compare.summary_label.text().startswith("before: ")
        assert markdown(window) != before
        qtbot.mouseClick(compare.forget_button, Qt.MouseButton.LeftButton)
        await until(lambda: said(compare) == "Nothing was removed")
        assert panel.before is None
        assert compare.view.toPlainText() == ""
        assert panel.banner.sentence == "", "Compare has nothing to show by now"


async def test_other_briefs_let_go_of_what_was_before_a_removal(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, engine):
        await removed(window, engine, until)
        await until(lambda: is_done(window))
        assert "Compare has it" in window.context.banner.sentence
        window.context.set_spec(ContextSpec(briefs=[]))
        assert window.context.before is None
        assert window.context.banner.sentence == ""


def press(qtbot: QtBot, owner: QWidget, words: str) -> None:
    button = next(one for one in owner.findChildren(QPushButton) if one.text() == words and one.isVisible())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


async def test_many_briefs_leave_the_window_its_size(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until, await engine_of()) as (window, _):
        size = window.size()
        briefs = [Brief(heading=f"Section {n}", question="What about refunds?") for n in range(60)]
        window.context.set_spec(ContextSpec(briefs=briefs))
        await until(lambda: is_done(window))
        lines = window.context.numbers.lines
        for budget in (5_000, MOST):
            window.context.set_budget(budget)
            await until(lambda: window.is_idle)
            assert len(lines.lines) > 40
            assert window.size() == size
            assert lines.height() == MOST_SEEN * lines.lines[0].height()
        lines.setFocus()
        last = lines.lines[-1]
        assert last.visibleRegion().isEmpty()
        for _ in lines.lines:
            qtbot.keyClick(lines, Qt.Key.Key_Down)
        assert last.is_current
        assert last.visibleRegion().boundingRect().height() == last.height(), "the keyboard comes to all of them"


# Compare


def said(compare: ComparePanel) -> str:
    label = compare.empty.findChild(QLabel, "emptyTitleLabel")
    assert isinstance(label, QLabel)
    return label.text() if label.isVisible() else ""


@asynccontextmanager
async def comparing(
    qtbot: QtBot, tmp_path: Path, until: Until, engine: Asked | None = None
) -> AsyncIterator[tuple[MainWindow, ComparePanel]]:
    async with showing(qtbot, tmp_path, until, engine) as (window, _):
        window.context.compare_action.trigger()
        await until(lambda: window.is_idle and not window.compare._asking.isActive())
        yield window, window.compare


def choose(qtbot: QtBot, compare: ComparePanel, choice: str) -> None:
    qtbot.mouseClick(compare.choice.button(choice), Qt.MouseButton.LeftButton)


async def test_two_budgets_are_compared(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with comparing(qtbot, tmp_path, until, engine) as (window, compare):
        asked = engine.asked
        assert compare.choice.choice == BUDGETS
        assert said(compare) == "No difference"
        compare.budget_spin.setValue(600)
        await until(lambda: compare.comparison is not None and not compare.comparison.is_same)
        assert compare.comparison is not None
        assert compare.comparison.refs_removed
        assert not compare.comparison.refs_added
        n = len(compare.comparison.refs_removed)
        assert compare.summary_label.text().endswith(f"{n} items fewer" if n > 1 else "1 item fewer")
        text = compare.view.toPlainText()
        assert "− " in text
        assert "generated_at" not in text
        assert engine.asked == asked, "nobody was asked"
        window.context.set_budget(600)
        await until(lambda: said(compare) == "No difference")


async def test_compare_has_its_document_compiled_where_it_is_the_one_that_is_seen(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with comparing(qtbot, tmp_path, until) as (window, compare):
        window.go_to_filter(at(WRITER))
        await until(lambda: is_done(window) and "only the writer" in markdown(window))
        compare.budget_spin.setValue(60)
        await until(lambda: compare.comparison is not None and not compare.comparison.is_same)
        assert "only the writer" in compare.view.toPlainText()
        assert raised(window) == {"compareDock"}


async def test_what_was_before_a_removal_is_of_its_node(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, tmp_path, until) as (window, engine):
        await removed(window, engine, until)
        await until(lambda: is_done(window))
        assert window.context.before is not None
        window.go_to_filter(at(WRITER))
        assert window.context.before is None
        window.go_to_filter(at(TRIAGE))
        assert window.context.before is not None


async def test_two_nodes_are_compared(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with comparing(qtbot, tmp_path, until, engine) as (window, compare):
        choose(qtbot, compare, NODES)
        await until(lambda: said(compare) == "Choose another node")
        compare.node_button.chosen.emit(ACME)
        await until(lambda: compare.comparison is not None and not window.compare.jobs.is_busy)
        assert compare.comparison is not None
        assert compare.comparison.refs_removed
        asked = engine.asked
        with qtbot.waitSignal(compare.item_wanted):
            compare.view.item_wanted.emit(compare.view._cited[0])
        choose(qtbot, compare, BUDGETS)
        choose(qtbot, compare, NODES)
        await until(lambda: compare.comparison is not None and not window.compare.jobs.is_busy)
        assert engine.asked == asked, "the other node is known"
        window.refresh()
        await until(lambda: engine.asked >= asked + 5 and not compare.jobs.is_busy)


async def test_another_node_of_an_engine_whose_answers_may_cost_is_asked_when_the_person_says_so(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = await engine_of()
    async with comparing(qtbot, tmp_path, until, engine) as (_window, compare):
        engine.may_cost = True
        asked = engine.asked
        choose(qtbot, compare, NODES)
        compare.node_button.chosen.emit(ACME)
        await until(lambda: said(compare) == "Not compiled yet")
        assert engine.asked == asked
        press(qtbot, compare.empty, "Compile")
        await until(lambda: compare.comparison is not None)


async def test_colours_change_while_other_documents_are_compared(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with comparing(qtbot, tmp_path, until) as (window, compare):
        choose(qtbot, compare, NODES)
        compare.node_button.chosen.emit(WRITER)
        await until(lambda: "writer" in compare.summary_label.text() and window.is_idle)
        before = compare.summary_label.text()
        compare.choice.set_choice(BUDGETS)
        compare._compare()
        compare._draw()  # as a theme that changes has it done
        assert compare.summary_label.text() == before, "it is still the two nodes that are shown"
        await until(lambda: window.is_idle)
        assert compare.summary_label.text() != before


async def test_what_is_left_out_is_compared(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with comparing(qtbot, tmp_path, until) as (window, compare):
        choose(qtbot, compare, LEFT_OUT)
        await until(lambda: said(compare) == "No item is left out")
        hit = window.context.gathered.learnings[0]  # type: ignore[union-attr]
        window.context.leave_out(hit.id, True)
        await until(lambda: compare.comparison is not None)
        assert compare.comparison is not None
        assert hit.id in compare.comparison.refs_removed
        window.context._choose_page(SOURCE)
        assert hit.id not in window.context.pages.source_view.toPlainText()


async def test_the_window_closes_while_both_gather(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with showing(qtbot, tmp_path, until, engine) as (window, _):
        gate = engine.hold("recall")
        window.compare_dock.raise_()
        choose(qtbot, window.compare, NODES)
        window.compare.node_button.chosen.emit(ACME)
        await until(lambda: gate.waiting == 4)
    assert gate.waiting == 0
