"""The command palette: what it finds, what it does, and where the focus is before and after."""

from __future__ import annotations

import gettext
from pathlib import Path
from typing import ClassVar

import pytest
from PySide6.QtCore import QEvent, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QApplication, QComboBox, QMenu, QWidget
from pytestqt.qtbot import QtBot

from explorer import i18n
from explorer.contract import ExploreRequest, MemoryEngine, MetaFilter, Unavailable
from explorer.ui import commands as offered
from explorer.ui.actions import actions_of, is_of_a_row
from explorer.ui.main_window import MainWindow
from explorer.ui.matching import best, fit, initials
from explorer.ui.palette import Command, CommandModel
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.test_main_window import ITEMS, opened

MARKUP = "<b>bold</b> & \u202eright"


def palette_of(window: MainWindow) -> CommandModel:
    return window.palette_box.model


def commands(window: MainWindow) -> list[Command]:
    model = palette_of(window)
    return [command for row in range(model.rowCount()) if (command := model.command(model.index(row))) is not None]


def found(window: MainWindow) -> list[tuple[str, str]]:
    return [(command.title, command.kind) for command in commands(window)]


def open_palette(qtbot: QtBot, window: MainWindow, typed: str = "") -> None:
    window.activateWindow()
    window.palette_action.trigger()
    assert window.palette_box.isVisible()
    qtbot.keyClicks(window.palette_box.edit, typed)


@pytest.mark.parametrize(
    ("word", "name", "order"),
    [
        ("refresh", "refresh action", 0),
        ("ref", "refresh action", 1),
        ("act", "refresh action", 2),
        ("fresh", "refresh action", 3),
        ("ra", "refresh action", 4),
        ("xyz", "refresh action", None),
        ("ar", "refresh action", None),
        ("r", "keep action", None),
    ],
)
def test_how_well_a_word_fits(word: str, name: str, order: int | None) -> None:
    assert fit(word, name, initials(name)) == order


def test_words_fit_in_any_order_and_beginnings_come_first() -> None:
    names = ["import items", "the items to import", "items", "reimport", "import"]

    def found(query: str, limit: int = 9) -> list[str]:
        return best(query, names, lambda name: (name, ""), limit)

    assert found("items import") == ["import items", "the items to import"]
    assert found("import") == ["import items", "import", "the items to import", "reimport"]
    assert found("import", 2) == ["import items", "import"]
    assert found("", 2) == names[:2], "nothing typed: as they come"


async def test_an_action_is_found_and_done_by_the_keyboard(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.facets.tree.setFocus()
        qtbot.keyClick(window.facets.tree, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
        box = window.palette_box
        assert box.isVisible()
        assert QApplication.focusWidget() is box.edit
        qtbot.keyClicks(box.edit, "items exp")
        assert found(window)[0] == ("Export items…", "Action")
        box.edit.clear()
        qtbot.keyClicks(box.edit, "keyboard")
        qtbot.keyClick(box.edit, Qt.Key.Key_Return)
        assert not box.isVisible()
        await until(lambda: any(one.objectName() == "shortcutSheet" for one in QApplication.topLevelWidgets()))


async def test_it_opens_from_everywhere_and_its_keys_close_it_too(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.activateWindow()
        for widget in (window.search_box.search_edit, window.items.view, window.namespaces.tree, window.more_button):
            widget.setFocus()
            for is_open in (True, False):
                focus = QApplication.focusWidget()
                assert focus is not None
                qtbot.keyClick(focus, Qt.Key.Key_K, Qt.KeyboardModifier.ControlModifier)
                assert window.palette_box.isVisible() == is_open
            assert QApplication.focusWidget() is widget


async def test_escape_closes_and_gives_the_focus_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.facets.tree.setFocus()
        open_palette(qtbot, window, "ref")
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Tab)
        assert QApplication.focusWidget() is window.palette_box.edit, "Tab does not leave it"
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Escape)
        assert not window.palette_box.isVisible()
        assert QApplication.focusWidget() is window.facets.tree
        open_palette(qtbot, window)
        assert window.palette_box.edit.text() == "", "nothing is left of what was typed"
        window.items.view.setFocus(Qt.FocusReason.MouseFocusReason)
        assert not window.palette_box.isVisible(), "who goes elsewhere has left it"
        assert QApplication.focusWidget() is window.items.view


async def test_what_cannot_be_done_says_why_and_is_not_done(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        open_palette(qtbot, window, "back")
        first = commands(window)[0]
        assert (first.title, first.why_not) == ("Back", "There is no view before this one")
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        assert window.palette_box.isVisible(), "nothing happened"
        assert "There is no view before this one" in palette_of(window).index(0).data(
            Qt.ItemDataRole.AccessibleTextRole
        )


NOT_OFFERED = {"paletteAction": "it opens the palette, which is open"}
"""Actions that the palette does not have, by object name, and why; the menus of single rows beside them."""


@pytest.mark.parametrize("is_open", [True, False], ids=["with a memory", "with nothing open"])
async def test_every_action_of_the_window_is_there_and_found_by_its_title(
    qtbot: QtBot, tmp_path: Path, until: Until, is_open: bool
) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        if not is_open:
            window.show_engine(None, "", is_read_only=False)
        # A menu on a row belongs to the row: it is there only while it is open.
        window.items.view.customContextMenuRequested.emit(window.items.view.rect().center())
        open_palette(qtbot, window)
        titles = actions_of(window)
        assert len(titles) > 100
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)  # type: ignore[arg-type]
        for action in window.findChildren(QAction):
            if not action.text() or action.isSeparator() or action.menu() is not None:
                continue
            if any(isinstance(one, QMenu) and is_of_a_row(one) for one in action.associatedObjects()):
                continue
            if action.objectName() in NOT_OFFERED or action.property("note"):
                continue
            assert action in titles, f"{action.text()} is in no menu and of no panel"
        for action, title in titles.items():
            if action.objectName() in NOT_OFFERED:
                continue
            window.palette_box.edit.setText(title)
            command = next((one for one in commands(window) if one.title == title), None)
            assert command is not None, title
            assert command.keys == action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
            assert bool(command.why_not) is not action.isEnabled()
            assert command.why_not != "Not possible now", f"{title} does not say why"


async def test_no_two_actions_look_the_same(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        titles = list(actions_of(window).values())
        assert sorted(titles) == sorted(set(titles))


async def test_a_node_a_value_and_an_item(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        open_palette(qtbot, window, "writer team")
        at = found(window).index(("team:acme/agent:writer", "Node"))
        qtbot.mouseClick(
            window.palette_box.list.viewport(),
            Qt.MouseButton.LeftButton,
            pos=window.palette_box.list.visualRect(palette_of(window).index(at)).center(),
        )
        await until(lambda: window.is_idle)
        assert window.trail.current.filter.reach is not None
        assert str(window.trail.current.filter.reach.at) == "team:acme/agent:writer"
        window.go_to_filter(MetaFilter())
        await until(lambda: window.is_idle)

        open_palette(qtbot, window, "tag refunds")
        assert found(window)[0] == ("refunds", "Tag")
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        assert window.trail.current.filter.tags_any == ["refunds"]

        before = window.items.current_hit()
        assert before is not None
        window.go_to_filter(MetaFilter(agent_id="writer"))
        await until(lambda: window.is_idle and window.items.model.rowCount() == 1)
        open_palette(qtbot, window, "item")
        kinds = [kind for _, kind in found(window)]
        qtbot.keyClicks(window.palette_box.edit, " refund")
        assert "Item" in kinds
        row = next(row for row, (_, kind) in enumerate(found(window)) if kind == "Item")
        title = found(window)[row][0]
        for _ in range(row):
            qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Down)
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        assert window.viewer.hit is not None
        assert title.split()[0] in window.viewer.hit.text, "it is read though it is not in the list"


async def test_values_that_are_not_on_screen_are_asked_for(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([*ITEMS, *(learning(f"n {n}", agent_id=f"worker-{n:03}") for n in range(60))])
    assert isinstance(engine, FakeEngine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        open_palette(qtbot, window, "worker-05")
        await until(lambda: ("worker-059", "Agent") in found(window))
        assert sorted(set(found(window))) == sorted(found(window)), "nothing stands there twice"
        asked = len(engine.calls)
        qtbot.keyClicks(window.palette_box.edit, "9")
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        assert engine.calls[asked:] == [] or window.trail.current.filter.agent_id == "worker-059"
        await until(lambda: window.is_idle)
        assert window.trail.current.filter.agent_id == "worker-059"


async def test_one_value_of_two_facets_is_there_for_both(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    agents = [learning(f"n {n}", agent_id=f"worker-{n:03}") for n in range(60)]
    engine = await filled([*ITEMS, *agents, learning("x", tags=["worker-059"])])
    async with opened(qtbot, tmp_path, until, engine) as window:
        open_palette(qtbot, window, "worker-059")
        await until(lambda: ("worker-059", "Agent") in found(window))
        assert ("worker-059", "Tag") in found(window)


async def test_values_that_the_engine_does_not_give_are_said_and_reached_whole(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    items = [learning(f"n {n}", agent_id=f"worker-{n:03}") for n in range(520)]
    engine = await filled(items)
    async with opened(qtbot, tmp_path, until, engine) as window:
        open_palette(qtbot, window, "worker-51")
        await until(lambda: window.palette_box.note_label.isVisible())
        said = window.palette_box.note_label.text()
        assert said == "There are more than can be found here: Agent. Type one whole to go to it."
        assert ("worker-519", "Agent") not in found(window), "it is one of those beyond"
        qtbot.keyClicks(window.palette_box.edit, "9")
        rows = found(window)
        at = next(row for row, (title, kind) in enumerate(rows) if kind == "Agent" and title.startswith("Filter by"))
        for _ in range(at):
            qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Down)
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle and window.items.model.rowCount() == 1)
        assert window.trail.current.filter.agent_id == "worker-519"


async def test_a_node_beyond_those_listed_is_reached_by_its_path(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(offered, "NODES_AT_ONCE", 1)
    monkeypatch.setattr(offered, "NODES_MOST", 2)
    engine = await filled([learning(f"n {n}", f"team:t{n}") for n in range(5)])
    async with opened(qtbot, tmp_path, until, engine) as window:
        open_palette(qtbot, window, "team:t")
        await until(lambda: window.palette_box.note_label.isVisible())
        assert "Node" in window.palette_box.note_label.text()
        assert ("team:t4", "Node") not in found(window)
        qtbot.keyClicks(window.palette_box.edit, "4")
        assert found(window)[0] == ("team:t4", "Node")
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        reach = window.trail.current.filter.reach
        assert reach is not None
        assert str(reach.at) == "team:t4"
        open_palette(qtbot, window, "team:t9")
        assert ("team:t9", "Node") not in found(window), "what is not there is not offered"


class German(gettext.NullTranslations):
    WORDS: ClassVar = {
        "Action": "Aktion",
        "Keyboard shortcuts": "Tastenkürzel zeigen",
        "Show panel: facets": "Bereich zeigen: Facetten",
    }

    def gettext(self, message: str) -> str:
        return self.WORDS.get(message, message)


async def test_actions_go_by_their_names_in_the_language_in_use(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(i18n, "_words", German())
    async with opened(qtbot, tmp_path, until) as window:
        open_palette(qtbot, window, "tz")
        assert found(window)[0] == ("Tastenkürzel zeigen", "Aktion"), "initials find actions, whatever they are called"
        window.palette_box.edit.setText("facetten zeigen")
        assert found(window)[0] == ("Bereich zeigen: Facetten", "Aktion")


async def test_an_answer_after_it_was_closed_changes_nothing(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([*ITEMS, *(learning(f"n {n}", agent_id=f"worker-{n:03}") for n in range(60))])
    assert isinstance(engine, FakeEngine)
    async with opened(qtbot, tmp_path, until, engine) as window:

        def is_palettes(reqs: list[ExploreRequest]) -> bool:
            return any(req.limit == 500 for req in reqs)

        gate = engine.hold("explore_many", is_palettes, stubborn=True)
        open_palette(qtbot, window, "worker-05")
        await until(lambda: gate.waiting == 1)
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Escape)
        open_palette(qtbot, window)
        gate.open()
        await until(lambda: not window.palette_box.jobs.is_busy)
        assert ("worker-059", "Agent") not in found(window)


class Scanning(FakeEngine):
    """Does not know its nodes: they are found by reading items."""

    namespaces = MemoryEngine.namespaces


async def test_counts_that_stopped_early_have_a_plus(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([learning(f"n {at}", "team:acme", agent_id="writer") for at in range(30)], Scanning())
    async with opened(qtbot, tmp_path, until, engine) as window:
        for panel in (window.namespaces, window.facets):
            panel.scan.limit = 12
            panel.refresh()
        await until(lambda: window.is_idle)
        open_palette(qtbot, window, "acme")
        assert ("team:acme", "12+ items") in [(command.title, command.aside) for command in commands(window)]
        window.palette_box.edit.setText("writer")
        assert ("writer", "12+ items") in [(command.title, command.aside) for command in commands(window)]


async def test_a_refusal_is_said_where_it_concerns(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([*ITEMS, *(learning(f"n {n}", agent_id=f"worker-{n:03}") for n in range(60))])
    assert isinstance(engine, FakeEngine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        engine.fail("explore_many", Unavailable("nobody is there"))
        open_palette(qtbot, window, "writ")
        await until(lambda: window.palette_box.note_label.isVisible())
        assert "nobody is there" in window.palette_box.note_label.text()
        assert found(window), "what was known is there all the same"


async def test_what_is_stored_is_drawn_as_it_is(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([learning("x", tags=[MARKUP])])
    async with opened(qtbot, tmp_path, until, engine) as window:
        open_palette(qtbot, window, "bold")
        command = commands(window)[0]
        assert command.title == "<b>bold</b> & ⟦RLO⟧right"
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        assert window.trail.current.filter.tags_any == [MARKUP], "and is looked for as it is stored"


async def test_the_last_line_searches_for_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        open_palette(qtbot, window, "second approval")
        assert [kind for _, kind in found(window)][-1] == "Search"
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Up)
        qtbot.keyClick(window.palette_box.edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        assert window.trail.current.query == "second approval"
        open_palette(qtbot, window, "recent")
        assert ("second approval", "Recent search") in found(window)


async def test_nothing_open_offers_actions_only(qtbot: QtBot) -> None:
    window = MainWindow()
    qtbot.addWidget(window)
    window.show()
    try:
        open_palette(qtbot, window, "ref")
        assert commands(window)[0].why_not == "Nothing is open"
        window.palette_box.edit.setText("zzzz")
        assert window.palette_box.empty_label.isVisible()
    finally:
        await window.aclose()
        window.close_for_good()


def test_a_choice_of_a_box_is_the_one_that_was_named(qtbot: QtBot) -> None:
    window = QWidget()
    qtbot.addWidget(window)
    box = QComboBox(window)
    box.setAccessibleName("Connection")
    box.addItems(["first", "second"])
    chosen: list[str] = []
    box.activated.connect(lambda row: chosen.append(box.itemText(row)))
    first, second = actions_of(window)
    box.insertItem(0, "new")
    second.trigger()
    assert chosen == ["second"]
    box.removeItem(box.findText("first"))
    first.trigger()
    assert chosen == ["second"], "what is gone is not chosen, nor what stands in its place"
