"""Who can see an item: the nodes by name with the reason, and the way into the view of each."""

from __future__ import annotations

from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from explorer.contract import (
    Document,
    DocumentBody,
    GetRequest,
    Hit,
    ItemId,
    MemoryMeta,
    Namespace,
    Reach,
)
from explorer.tools import MemoryTools, ToolScope
from explorer.tools.visibility import who_sees
from explorer.ui.main_window import MainWindow
from explorer.ui.viewer import METADATA, READ
from explorer.ui.viewer_parts.seen_by import ROWS_MOST, SeenBy, seen_at
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.test_agent_console import ids_by_text
from tests.ui.test_agent_view import ACME, NIGHTLY, ROOT, TRIAGE, WRITER, memory, see_as
from tests.ui.test_main_window import opened, texts


def rows(seen_by: SeenBy) -> list[tuple[str, bool, str]]:
    return [(str(row.node), row.sees, row.why) for row in seen_by.model.entries]


async def opened_item(window: MainWindow, text: str, until: Until, at: Namespace) -> Hit:
    engine = window.engine
    assert engine is not None
    id = (await ids_by_text(engine))[text]
    [hit] = await engine.get(GetRequest(ids=[id], reach=Reach.exact(at)))
    window.open_item(hit)
    await until(lambda: window.is_idle and window.viewer.item is not None)
    return hit


async def test_a_learning_tells_who_can_see_it_and_why(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        await opened_item(window, "the ledger closes at six", until, WRITER)
        seen_by = window.viewer.card.seen_by
        assert seen_by.isVisible()
        assert rows(seen_by) == [
            ("team:acme/agent:writer", True, "placed here"),
            ("team:acme/agent:writer/project:book", True, "below, reads upward"),
            ("root", False, "above, does not read down"),
            ("team:acme", False, "above, does not read down"),
            ("team:acme/agent:triage", False, "beside, never"),
            ("team:acme/service:nightly", False, "beside, never"),
            ("team:other", False, "beside, never"),
            ("team:other/agent:writer", False, "beside, never"),
        ]
        assert seen_by.count_label.text() == "2 of 8 nodes"
        spoken = seen_by.model.index(4).data(Qt.ItemDataRole.AccessibleTextRole)
        assert spoken == "team:acme/agent:triage, does not see it, beside, never"


@pytest.mark.parametrize(
    ("text", "at"),
    [
        ("everyone is called by first name", ROOT),
        ("refunds need a second approval", ACME),
        ("a nightly digest of refunds", NIGHTLY),
        ("triage keeps a queue of refunds", TRIAGE),
    ],
)
async def test_it_is_what_the_tools_of_each_node_read(
    qtbot: QtBot, tmp_path: Path, until: Until, text: str, at: Namespace
) -> None:
    engine = await memory(tmp_path)
    async with opened(qtbot, tmp_path, until, engine) as window:
        hit = await opened_item(window, text, until, at)
        seen_by = window.viewer.card.seen_by
        for row in seen_by.model.entries:
            told = await MemoryTools.with_scope(engine, ToolScope.at(row.node)).call("memory_get", {"ids": [hit.id]})
            assert row.sees is ('"missing":[]' in told), row
        assert "sandbox" in seen_by.note_label.text() or at != NIGHTLY


async def test_a_node_is_pressed_to_see_as_its_agent(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        await opened_item(window, "the ledger closes at six", until, WRITER)
        tree = window.viewer.card.seen_by.tree
        index = tree.model().index(4, 0)
        assert index.data() == str(TRIAGE)
        tree.scrollTo(index)
        qtbot.mouseClick(tree.viewport(), Qt.MouseButton.LeftButton, pos=tree.visualRect(index).center())
        await until(lambda: window.is_idle and window.trail.current.agent == TRIAGE)
        assert "the ledger closes at six" not in texts(window)

        tree.menu_wanted.emit(tree.model().index(0, 0), QPoint(5, 5))
        menu = QApplication.activePopupWidget()
        assert isinstance(menu, QMenu)
        assert [one.text() for one in menu.actions()] == [
            "See as the agent here",
            "Show what is at this node",
            "Copy path",
        ]
        menu.actions()[0].trigger()
        menu.close()
        await until(lambda: window.is_idle and window.trail.current.agent == WRITER)
        assert "the ledger closes at six" in texts(window)


async def test_every_kind_of_item_has_it_among_its_metadata(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await memory(tmp_path)
    note = Document(title="<b>Plan</b>", body=DocumentBody(text="one"), meta=MemoryMeta(namespace=ACME))
    receipt = await engine.store(note)
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.items.select_id(ItemId(receipt.id))
        await until(lambda: window.is_idle and window.viewer.item is not None)
        assert window.viewer.segments.choice == READ
        assert window.viewer.who_action in window.items.more_actions
        window.viewer.who_action.trigger()
        await until(lambda: window.is_idle and bool(window.viewer.seen_by.model.entries))
        assert window.viewer.segments.choice == METADATA
        assert window.viewer.seen_by.isVisible()
        assert window.viewer.seen_by.tree.hasFocus()
        assert rows(window.viewer.seen_by)[:2] == [
            ("team:acme", True, "placed here"),
            ("team:acme/agent:triage", True, "below, reads upward"),
        ]
        assert window.viewer.seen_by.count_label.text() == "5 of 8 nodes"


async def test_nodes_that_come_later_are_told_of(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await memory(tmp_path)
    async with opened(qtbot, tmp_path, until, engine) as window:
        await opened_item(window, "the ledger closes at six", until, WRITER)
        await engine.store(learning("new", "team:acme/agent:writer/agent:helper"))
        window.refresh()
        await until(lambda: window.is_idle)
        assert ("team:acme/agent:writer/agent:helper", True, "below, reads upward") in rows(window.viewer.card.seen_by)


async def test_an_open_item_says_that_the_agent_does_not_read_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, await memory(tmp_path)) as window:
        await opened_item(window, "triage keeps a queue of refunds", until, TRIAGE)
        await see_as(window, WRITER, until)
        assert window.viewer.listed_label.isVisible()
        assert window.viewer.listed_label.text() == "Out of the agent's reach"
        await opened_item(window, "the ledger closes at six", until, WRITER)
        assert not window.viewer.listed_label.isVisible()
        window.seeing.leave()
        await opened_item(window, "triage keeps a queue of refunds", until, TRIAGE)
        assert not window.viewer.listed_label.isVisible()


async def test_many_thousand_nodes_are_rows_of_a_model(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    items = [learning("here", "team:acme")]
    engine = await filled(items, FakeEngine())
    async with opened(qtbot, tmp_path, until, engine) as window:
        nodes = [Namespace.parse(f"team:t{n // 100}/agent:a{n}") for n in range(20_000)]
        window.viewer.known_nodes = lambda: nodes
        window.viewer.on_nodes_changed()
        await until(lambda: window.is_idle and len(window.viewer.card.seen_by.model.entries) > 20_000)
        tree = window.viewer.card.seen_by.tree
        assert tree.height() == ROWS_MOST * tree.sizeHintForRow(0)
        assert len(window.viewer.card.seen_by.children()) < 20, "no widget a node"
        assert window.viewer.card.seen_by.count_label.text().startswith("1 of 20\u202f00")


@pytest.mark.parametrize("at", ["root", "team:a", "team:a/service:s", "team:a/service:s/agent:x", "team:c"])
def test_it_agrees_with_what_the_tools_tell(at: str) -> None:
    paths = ["root", "team:a", "team:a/agent:x", "team:a/service:s", "team:a/service:s/agent:x", "team:b"]
    nodes = [Namespace.parse(path) for path in paths]
    seen = seen_at(Namespace.parse(at), nodes)
    told = who_sees(Namespace.parse(at), nodes)
    assert {row.node for row in seen.rows if row.sees} == {viewer.node for viewer in told.nodes}
    assert len({row.node for row in seen.rows}) == len(seen.rows)
    assert {row.node for row in seen.rows} >= set(nodes)
    assert seen.n == len(told.nodes)
    assert ("sandbox" in seen.note) is not told.by_default


def test_the_nodes_above_come_before_those_beside() -> None:
    seen = seen_at(WRITER, [TRIAGE, NIGHTLY, WRITER])
    assert [str(row.node) for row in seen.rows] == [
        "team:acme/agent:writer",
        "root",
        "team:acme",
        "team:acme/agent:triage",
        "team:acme/service:nightly",
    ]
    assert seen.n == 1
