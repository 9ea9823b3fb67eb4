"""Facets as a person arranges them: sorted, pinned, hidden, moved, and remembered."""

from __future__ import annotations

import json

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction, QKeySequence
from PySide6.QtWidgets import QMenu

from explorer.contract import Facet, MetaFilter
from explorer.ui.facets import OPEN_FIRST, FacetPanel
from explorer.ui.main_window import MainWindow
from explorer.ui.models.facet_rows import WORDS, Order
from tests.fakes import filled, learning
from tests.ui.test_facets import ITEMS, counts, is_counted, labels, menu_at, pick, showing, tick, words_of


def heads(panel: FacetPanel) -> list[str]:
    """The names of the facets, as they stand on the screen from top to bottom."""
    tree, model = panel.tree, panel.model
    tree.executeDelayedItemsLayout()
    found = [model.index(at, 0) for at in range(model.rowCount())]
    tops = [tree.visualRect(index).top() for index in found]
    assert tops == sorted(tops)
    assert len(set(tops)) == len(tops)
    return [index.data() for index in found]


def head_menu(panel: FacetPanel, facet: Facet, by_key: bool = False) -> QMenu:
    menu = menu_at(panel, panel.model.facet_index(facet), by_key)
    assert menu is not None
    return menu


def action(menu: QMenu, words: str) -> QAction:
    return next(one for one in menu.actions() if one.text() == words)


async def test_one_facet_is_sorted_by_name_and_the_others_are_not(qtbot, until):
    items = [*ITEMS, learning("five", tags=["refunds"], source="rss"), learning("six", source="rss", tags=["refunds"])]
    async with showing(qtbot, await filled([*items, learning("seven", source="rss")])) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        assert labels(panel, Facet.TAG)[:2] == ["refunds", "billing"]
        menu = head_menu(panel, Facet.TAG)
        assert [one.text() for one in menu.actions() if one.isChecked()] == ["By count"]
        pick(menu, "By name")
        assert labels(panel, Facet.TAG) == ["billing", "refunds", "no value"]
        assert labels(panel, Facet.SOURCE) == ["RSS", "Conversation", "File"]
        assert panel.model.order is None
        sort = panel.sort_button.menu()
        sort.aboutToShow.emit()
        assert not any(one.isChecked() for one in sort.actions()), "they differ"
        action(sort, "By name").trigger()
        assert labels(panel, Facet.SOURCE) == ["Conversation", "File", "RSS"]
        sort.aboutToShow.emit()
        assert [one.text() for one in sort.actions() if one.isChecked()] == ["By name"]


async def test_a_pinned_facet_stands_above_the_others_and_stays_open(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.AGENT))
        panel.tree.setCurrentIndex(panel.model.facet_index(Facet.AGENT))
        pick(head_menu(panel, Facet.AGENT), "Pin on top")
        assert heads(panel)[:4] == ["Agent", "Kind", "Tag", "Source"]
        assert panel.tree.isExpanded(panel.model.facet_index(Facet.AGENT))
        assert panel.tree.currentIndex() == panel.model.facet_index(Facet.AGENT)
        assert "pinned" in panel.model.facet_index(Facet.AGENT).data(Qt.ItemDataRole.AccessibleTextRole)
        tick(qtbot, panel, Facet.AGENT, "writer")
        assert panel.filters == [MetaFilter(agent_id="writer")], "its rows are where they are drawn"
        pick(head_menu(panel, Facet.URL), "Pin on top")
        assert heads(panel)[:3] == ["Agent", "Link", "Kind"]
        pick(head_menu(panel, Facet.AGENT), "Unpin")
        assert heads(panel)[:3] == ["Link", "Agent", "Kind"]


async def test_facets_move_by_the_keyboard_alone(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        panel.tree.setFocus()
        panel.tree.setCurrentIndex(panel.model.facet_index(Facet.TAG))
        qtbot.keyClick(panel.tree, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
        assert heads(panel)[:3] == ["Tag", "Kind", "Source"]
        qtbot.keyClick(panel.tree, Qt.Key.Key_Up, Qt.KeyboardModifier.AltModifier)
        assert heads(panel)[:3] == ["Tag", "Kind", "Source"], "there is nothing above"
        for _ in range(2):
            qtbot.keyClick(panel.tree, Qt.Key.Key_Down, Qt.KeyboardModifier.AltModifier)
        assert heads(panel)[:3] == ["Kind", "Source", "Tag"]
        assert panel.tree.currentIndex() == panel.model.facet_index(Facet.TAG), "the keyboard goes with it"
        menu = head_menu(panel, Facet.KIND, by_key=True)
        assert not action(menu, "Move up").isEnabled()
        assert action(menu, "Move down").shortcut() == QKeySequence("Alt+Down")
        pick(menu, "Hide")
        assert "Kind" not in heads(panel)


async def test_a_hidden_facet_costs_nothing_and_comes_back_as_it_was(qtbot, until):
    engine = await filled([learning(f"item {at}", tags=[f"t{at:02}"]) for at in range(20)])
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.find_edit(Facet.TAG))
        pick(head_menu(panel, Facet.TAG), "Hide")
        assert "Tag" not in heads(panel)
        assert panel.find_edit(Facet.TAG) is None
        engine.calls.clear()
        panel.refresh()
        await until(lambda: is_counted(panel, Facet.KIND))
        assert {req.facet for reqs in engine.requests("explore_many") for req in reqs} == {*OPEN_FIRST} - {Facet.TAG}
        panel.shown_menu.aboutToShow.emit()
        shown = action(panel.shown_menu, "Tag")
        assert not shown.isChecked()
        shown.trigger()
        assert heads(panel)[:2] == ["Kind", "Tag"]
        await until(lambda: panel.find_edit(Facet.TAG) and len(counts(panel, Facet.TAG)) == 8)


async def test_a_hidden_facet_is_found_by_its_condition(qtbot, until):
    async with showing(qtbot, await filled(ITEMS), MetaFilter(tags_any=["refunds"])) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        pick(head_menu(panel, Facet.TAG), "Hide")
        panel.show_filter(MetaFilter(tags_any=["billing"]))
        await until(lambda: is_counted(panel, Facet.KIND))
        panel.reveal(Facet.TAG)
        await until(lambda: is_counted(panel, Facet.TAG))
        assert labels(panel, Facet.TAG)[0] == "billing"


async def test_the_last_facet_cannot_be_hidden(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        for facet in list(Facet)[1:]:
            pick(head_menu(panel, facet), "Hide")
        assert heads(panel) == ["Kind"]
        assert not action(head_menu(panel, Facet.KIND), "Hide").isEnabled()
        panel.shown_menu.aboutToShow.emit()
        assert [one.isEnabled() for one in panel.shown_menu.actions() if one.isChecked()] == [False]
        pick(panel.more_button.menu(), "Put facets back")
        assert heads(panel) == [words.title for words in WORDS.values()]
        assert counts(panel, Facet.KIND) == {"Learning": "4"}


async def test_head_menu_of_paths_offers_a_tree(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))
        said = words_of(head_menu(panel, Facet.FOLDER))
        assert said == ["By count", "By name", "As a list", "As a tree", "Pin on top", "Move up", "Move down", "Hide"]
        assert "As a tree" not in words_of(head_menu(panel, Facet.TAG))


async def test_what_was_arranged_is_remembered_by_the_window(qtbot, until, tmp_path):
    path = str(tmp_path / "window.ini")
    first = MainWindow(QSettings(path, QSettings.Format.IniFormat))
    qtbot.addWidget(first)
    first.restore_layout()
    first.show()
    model = first.facets.model
    model.set_pinned(Facet.REPO, True)
    model.set_hidden(Facet.URL, True)
    model.move(Facet.TAG, -1)
    model.set_order(Order.NAME, [Facet.AGENT])
    model.set_tree(Facet.FOLDER, True)
    first.facets.tree.expand(model.facet_index(Facet.FOLDER))
    first.facets.tree.collapse(model.facet_index(Facet.SOURCE))
    before = first.facets.state()
    await first.aclose()

    second = MainWindow(QSettings(path, QSettings.Format.IniFormat))
    qtbot.addWidget(second)
    second.restore_layout()
    assert second.facets.state() == before
    model, tree = second.facets.model, second.facets.tree
    assert model.facets[:3] == [Facet.REPO, Facet.TAG, Facet.KIND]
    assert Facet.URL not in model.facets
    opened = {facet for facet in model.facets if tree.isExpanded(model.facet_index(facet))}
    assert opened == {Facet.KIND, Facet.TAG, Facet.AGENT, Facet.FOLDER}
    assert model.section(Facet.FOLDER).is_tree
    assert model.section(Facet.AGENT).order is Order.NAME
    await second.aclose()


@pytest.mark.parametrize(
    "state",
    ["", "no json", "[]", "7", '{"facets": 3, "open": [null, {}], "hidden": "tag"}', '{"facets": ["colour", "tag"]}'],
)
async def test_a_state_that_makes_no_sense_harms_nothing(qtbot, until, state):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.restore(state)
        assert sorted(panel.model.facets) == sorted(Facet)
        panel.restore(json.dumps({"hidden": list(Facet)}))
        assert len(panel.model.facets) > 0


async def test_facets_appear_as_they_arrive(qtbot, until):
    engine = await filled(ITEMS)
    gate = engine.hold("explore_many", lambda reqs: any(req.facet is Facet.KIND for req in reqs))
    async with showing(qtbot, engine, MetaFilter(agent_id="triage")) as panel:
        await until(lambda: counts(panel, Facet.AGENT) == {"triage": "2", "writer": "2"})
        assert panel.model.section(Facet.KIND).page is None
        assert [len(reqs) for reqs in engine.requests("explore_many")] == [3, 1], "one call for each filter"
        gate.open()
        await until(lambda: counts(panel, Facet.KIND) == {"Learning": "2"})


async def test_what_is_closed_is_not_asked_for(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: is_counted(panel, Facet.KIND))

        def asked() -> set[Facet]:
            return {req.facet for call in ("explore_many", "explore") for reqs in engine.requests(call) for req in reqs}

        assert asked() == set(OPEN_FIRST)
        for facet in OPEN_FIRST[1:]:
            panel.tree.collapse(panel.model.facet_index(facet))
        engine.calls.clear()
        panel.show_filter(MetaFilter(agent_id="triage"))
        await until(lambda: is_counted(panel, Facet.KIND))
        assert asked() == {Facet.KIND}
        assert counts(panel, Facet.TAG) == {}, "those of another filter are no counts"
        engine.calls.clear()
        panel.tree.expand(panel.model.facet_index(Facet.TAG))
        await until(lambda: counts(panel, Facet.TAG) == {"refunds": "2", "billing": "1"})
        assert asked() == {Facet.TAG}
        panel.tree.collapse(panel.model.facet_index(Facet.TAG))
        engine.calls.clear()
        panel.tree.expand(panel.model.facet_index(Facet.TAG))
        assert counts(panel, Facet.TAG) == {"refunds": "2", "billing": "1"}, "still true"
        await until(lambda: not panel.jobs.is_busy)
        assert asked() == set()


async def test_the_facet_in_which_a_value_was_just_chosen_can_be_hidden(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: is_counted(panel, Facet.TAG))
        menu = menu_at(panel, panel.model.index(0, 0, panel.model.facet_index(Facet.TAG)))
        assert menu is not None
        pick(menu, "Only this value")
        await until(lambda: is_counted(panel, Facet.TAG))
        pick(head_menu(panel, Facet.TAG), "Hide")
        panel._settle()  # as when the pointer leaves
        assert "Tag" not in heads(panel)
