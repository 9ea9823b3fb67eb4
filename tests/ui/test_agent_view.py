"""Seeing as the agent: the list, the facets, the time line and the search of exactly what an agent at a node reads."""

from __future__ import annotations

import json
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, QSettings, Qt
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QMenu, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import (
    ExploreRequest,
    Facet,
    FetchMode,
    InvalidRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
)
from explorer.engines import EngineSettings, build_engine
from explorer.ui.main_window import MainWindow
from explorer.ui.models.namespace_model import NodeRole
from explorer.ui.trail import Trail, View
from explorer.ui.views import SavedView
from tests.conftest import Until
from tests.fakes import learning
from tests.ui.test_main_window import opened, texts

ROOT = Namespace.ROOT
ACME = Namespace.parse("team:acme")
WRITER = Namespace.parse("team:acme/agent:writer")
TRIAGE = Namespace.parse("team:acme/agent:triage")
NIGHTLY = Namespace.parse("team:acme/service:nightly")
BELOW = Namespace.parse("team:acme/agent:writer/project:book")
ITEMS = [
    learning("everyone is called by first name", "root", tags=["style"]),
    learning("refunds need a second approval", "team:acme", tags=["refunds", "billing"]),
    learning("the ledger closes at six", "team:acme/agent:writer", tags=["billing"]),
    learning("<b>bold</b> & \u202eodd", "team:acme/agent:writer", tags=["<i>hostile</i>"]),
    learning("the book has ten chapters", "team:acme/agent:writer/project:book", tags=["book"]),
    learning("triage keeps a queue of refunds", "team:acme/agent:triage", tags=["refunds", "queue"]),
    learning("a nightly digest of refunds", "team:acme/service:nightly", tags=["refunds", "digest"]),
    learning("a stranger's note", "team:other/agent:writer", tags=["billing"]),
]
READ_BY_WRITER = {
    "everyone is called by first name",
    "refunds need a second approval",
    "the ledger closes at six",
    "<b>bold</b> & \u202eodd",
}


async def memory(tmp_path: Path) -> MemoryEngine:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "nodes.db")), None)
    await engine.store_many(list(ITEMS))
    return engine


async def see_as(window: MainWindow, node: Namespace, until: Until) -> None:
    """As a person does: the keyboard on the node, and the action."""
    tree = window.namespaces.tree
    index = window.namespaces.model.index_of(node)
    assert index.isValid()
    tree.setCurrentIndex(index)
    window.seeing.see_action.trigger()
    await until(lambda: window.is_idle)


def chips(window: MainWindow) -> list[str]:
    return [chip.sentence for chip in window.chip_bar.chips()]


def facet_counts(window: MainWindow, facet: Facet) -> dict[str, int]:
    page = window.facets.model.section(facet).page
    assert page is not None
    return {bucket.value: bucket.count for bucket in page.buckets}


@pytest.mark.parametrize(
    ("node", "read"),
    [
        (ROOT, {"everyone is called by first name"}),
        (ACME, {"everyone is called by first name", "refunds need a second approval"}),
        (WRITER, READ_BY_WRITER),
        (
            NIGHTLY,
            {"everyone is called by first name", "refunds need a second approval", "a nightly digest of refunds"},
        ),
        (BELOW, {*READ_BY_WRITER, "the book has ten chapters"}),
    ],
    ids=str,
)
async def test_the_list_is_what_an_agent_there_reads(
    qtbot: QtBot, tmp_path: Path, until: Until, node: Namespace, read: set[str]
) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        await see_as(window, node, until)
        assert texts(window) == read
        assert window.timeline.counted_items == (len(read), False)


async def test_every_facet_counts_as_the_agents_explore(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await memory(tmp_path)
    async with opened(qtbot, tmp_path, until, engine) as window:
        await see_as(window, WRITER, until)
        for facet in (Facet.KIND, Facet.TAG, Facet.SOURCE, Facet.NAMESPACE):
            window.facets.reveal(facet)
            await until(lambda facet=facet: window.facets.model.section(facet).page is not None)
            told = await engine.explore(
                ExploreRequest(facet=facet, filter=MetaFilter(reach=Reach.of(WRITER)), limit=500)
            )
            assert facet_counts(window, facet) == {bucket.value: bucket.count for bucket in told.buckets}, facet
        assert facet_counts(window, Facet.NAMESPACE) == {"root": 1, "team:acme": 1, "team:acme/agent:writer": 2}
        assert facet_counts(window, Facet.TAG) == {"billing": 2, "<i>hostile</i>": 1, "refunds": 1, "style": 1}


async def test_it_is_said_above_the_filter_and_left_by_one_act(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        strip = window.seeing.strip
        assert not strip.isVisible()
        await see_as(window, WRITER, until)
        assert strip.isVisible()
        assert strip.name_label.text() == "Seen as agent:writer at team:acme"
        assert strip.reads_label.text() == "It reads this node and those above: team:acme, root."
        assert chips(window) == [], "what the agent reads is no condition that could be taken away"
        assert window.chip_bar.empty_text == "No filter: all that the agent reads"
        assert not window.clear_action.isEnabled()

        button = strip.findChild(QPushButton, "leaveAgentButton")
        assert button is not None
        qtbot.mouseClick(button, Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle)
        assert not strip.isVisible()
        assert window.trail.current == View()
        assert "a stranger's note" in texts(window)


async def test_conditions_narrow_and_are_cleared_within_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        await see_as(window, WRITER, until)
        window.go_to_filter(window.trail.current.filter.model_copy(update={"tags_any": ["refunds", "billing"]}))
        await until(lambda: window.is_idle)
        assert texts(window) == {"refunds need a second approval", "the ledger closes at six"}
        assert chips(window) == ["tag is refunds or billing"]
        window.clear_action.trigger()
        await until(lambda: window.is_idle)
        assert texts(window) == READ_BY_WRITER
        assert window.trail.current.agent == WRITER

        # A condition on the node, as the tree sets it, is exact and removable.
        window.namespaces._choose(window.namespaces.model.index_of(ACME))  # as Enter does
        await until(lambda: window.is_idle)
        assert texts(window) == {"refunds need a second approval"}
        assert chips(window) == ["namespace only at team:acme"]
        window.chip_bar.removed.emit("reach")
        await until(lambda: window.is_idle)
        assert texts(window) == READ_BY_WRITER


@pytest.mark.parametrize(
    "wider",
    [Reach.exact(TRIAGE), Reach.subtree(ACME), Reach.of(BELOW), Reach.subtree(ROOT), Reach.exact(NIGHTLY)],
    ids=repr,
)
async def test_no_condition_on_the_node_widens_it(qtbot: QtBot, tmp_path: Path, until: Until, wider: Reach) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        await see_as(window, WRITER, until)
        before = window.trail.current
        window.go_to_filter(MetaFilter(reach=wider))
        await until(lambda: window.is_idle)
        assert window.trail.current == before
        assert texts(window) == READ_BY_WRITER
        assert str(wider.at) in window.error_banner.sentence
        button = window.error_banner.findChild(QPushButton, "bannerActionButton")
        assert button is not None
        assert button.text() == "Leave"


def test_a_view_never_reads_more_than_its_agent() -> None:
    assert View(agent=WRITER).filter.reach == Reach.of(WRITER)
    assert View(agent=WRITER).own_filter == MetaFilter()
    narrow = View(MetaFilter(reach=Reach.exact(ACME)), agent=WRITER)
    assert narrow.filter.reach == Reach.exact(ACME)
    assert narrow.own_filter == narrow.filter
    with pytest.raises(InvalidRequest, match="agent at team:acme/agent:writer"):
        View(MetaFilter(reach=Reach.exact(TRIAGE)), agent=WRITER)
    trail = Trail(View())
    assert trail.go(View(MetaFilter(reach=Reach.of(WRITER))))
    assert trail.go(View(agent=WRITER)), "the same items, and another view: one can be left"


async def test_back_and_forward_go_in_and_out(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        await see_as(window, WRITER, until)
        window.search_box.search("refunds")
        await until(lambda: window.is_idle)
        assert texts(window) <= READ_BY_WRITER
        assert "refunds need a second approval" in texts(window)
        window.back_action.trigger()
        window.back_action.trigger()
        await until(lambda: window.is_idle)
        assert not window.seeing.strip.isVisible()
        assert window.trail.current == View()
        window.forward_action.trigger()
        await until(lambda: window.is_idle)
        assert window.seeing.strip.isVisible()
        assert texts(window) == READ_BY_WRITER
        await see_as(window, TRIAGE, until)
        assert "triage keeps a queue of refunds" in texts(window), "from one agent's view straight into another's"
        assert not texts(window) & {"the ledger closes at six"}


async def test_a_saved_view_comes_back_as_the_agents(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, await memory(tmp_path), settings) as window:
        window.views.open("key")
        await see_as(window, WRITER, until)
        window.go_to_filter(window.trail.current.filter.model_copy(update={"tags_any": ["billing"]}))
        window.views.save(window._saved_view("writer's billing"))
        kept = window.views.get("writer's billing")
        assert kept is not None
        assert SavedView.model_validate_json(kept.model_dump_json()) == kept
        window.seeing.leave_action.trigger()
        await until(lambda: window.is_idle)
        assert texts(window) == {
            "refunds need a second approval",
            "the ledger closes at six",
            "a stranger's note",
        }
        window.show_saved("writer's billing")
        await until(lambda: window.is_idle)
        assert window.trail.current.agent == WRITER
        assert texts(window) == {"refunds need a second approval", "the ledger closes at six"}


async def test_a_saved_view_changed_by_hand_cannot_widen_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, await memory(tmp_path), settings) as window:
        window.views.open("key")
        await see_as(window, WRITER, until)
        window.views.save(window._saved_view("mine"))
        [place] = [key for key in settings.allKeys() if key.startswith("views/")]
        entries = json.loads(str(settings.value(place)))
        entries[0]["filter"] = {"reach": {"at": "team:other", "inherit": False, "descendants": True}}
        settings.setValue(place, json.dumps(entries))
        window.views.open("key")
        assert window.views.get("mine") is None, "it is left in the file, and not shown"
        assert json.loads(str(settings.value(place))) == entries


async def test_the_tree_dims_what_is_out_of_reach(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        model = window.namespaces.model
        assert not any(model.is_out_of_scope(node) for node in model.nodes())
        await see_as(window, WRITER, until)
        dim = {node.path for node in model.nodes() if model.is_out_of_scope(node)}
        assert dim == {
            "team:acme/agent:triage",
            "team:acme/agent:writer/project:book",
            "team:acme/service:nightly",
            "team:other",
            "team:other/agent:writer",
        }
        spoken = model.index_of(TRIAGE).data(Qt.ItemDataRole.AccessibleTextRole)
        assert spoken.endswith("out of reach")
        assert not window.namespaces.reach_box.isEnabled()
        assert model.index_of(TRIAGE).data(NodeRole).here == 1, "the count is the person's, and the row stays"


async def test_the_menu_of_a_node_leads_into_its_view(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        tree = window.namespaces.tree
        tree.menu_wanted.emit(window.namespaces.model.index_of(TRIAGE), QPoint(10, 10))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        action = next(one for one in menu.actions() if one.text() == "See as the agent here")
        action.trigger()
        menu.close()
        await until(lambda: window.is_idle)
        assert window.trail.current.agent == TRIAGE

        tree.menu_wanted.emit(window.namespaces.model.index_of(WRITER), QPoint(10, 10))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        offered = {one.text(): one.isEnabled() for one in menu.actions()}
        menu.close()
        assert not offered["Only here"], "the sibling's node is not read from here"
        assert not offered["Erase here and below…"]
        assert not offered["Move or copy items here…"]
        assert offered["See as the agent here"]


async def test_no_act_that_an_agent_lacks_is_offered(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        removing = window.removing
        await see_as(window, WRITER, until)
        refused = [removing.erase_action, removing.forget_tree_action, removing.erase_tree_action]
        refused += [window.moving.matching_action, removing.forget_matching_action]
        assert not any(action.isEnabled() for action in refused)
        assert "set a condition" in removing.forget_matching_action.toolTip()
        window.go_to_filter(window.trail.current.filter.model_copy(update={"tags_any": ["billing"]}))
        await until(lambda: window.is_idle)
        assert removing.forget_matching_action.isEnabled()
        window.seeing.leave()
        window.clear_action.trigger()
        await until(lambda: window.is_idle)
        assert all(action.isEnabled() for action in refused)


async def test_an_agent_with_nothing_to_read_is_told(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "one.db")), None)
    await engine.store_many([learning("deep", "team:acme/agent:writer")])
    async with opened(qtbot, tmp_path, until, engine) as window:
        await see_as(window, ACME, until)
        title = window.items.state.findChild(QWidget, "emptyTitleLabel")
        assert title.text() == "This agent has nothing to read"


async def test_the_palette_names_the_node_it_would_see_as(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        window.namespaces.tree.setCurrentIndex(window.namespaces.model.index_of(NIGHTLY))
        titles = [command.title for command in window.palette_box._gather()]
        assert "See as the agent at team:acme/service:nightly" in titles
        action = window.findChild(QAction, "seeAsAgentAction")
        assert action is not None
        assert action.shortcut().toString() == "Ctrl+Shift+E"


async def test_a_search_in_every_mode_stays_inside(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await memory(tmp_path)
    async with opened(qtbot, tmp_path, until, engine) as window:
        await see_as(window, WRITER, until)
        for mode in engine.descriptor().fetch_modes:
            window.go(View(MetaFilter(), "refunds digest queue", FetchMode(mode), WRITER))
            await until(lambda: window.is_idle)
            assert texts(window) <= READ_BY_WRITER, mode
