"""The namespace panel as a person uses it, over a real engine."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager

from PySide6.QtCore import QModelIndex, QPoint, Qt
from PySide6.QtGui import QContextMenuEvent, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu, QPushButton

from explorer.contract import Facet, ForgetTarget, ItemKind, MemoryEngine, MetaFilter, Namespace, Reach, Unavailable
from explorer.ui.models.namespace_model import Column
from explorer.ui.namespaces import NamespacePanel
from explorer.ui.theme import theme
from tests.fakes import FakeEngine, filled, learning, page_of

ITEMS = [
    learning("r", "root", tags=["x"]),
    learning("a1", "team:acme", tags=["x"]),
    learning("a2", "team:acme"),
    learning("t", "team:acme/agent:triage", tags=["x"]),
    learning("n", "team:acme/agent:triage/service:nightly"),
    learning("d", "user:dana"),
]
ACME = Namespace.parse("team:acme")


@asynccontextmanager
async def showing(qtbot, engine, filter: MetaFilter | None = None) -> AsyncIterator[NamespacePanel]:
    """A panel in a window that gives it back every filter it asks for."""
    panel = NamespacePanel()
    qtbot.addWidget(panel)
    panel.resize(288, 400)
    panel.filters = []

    def on_filter_wanted(wanted: MetaFilter) -> None:
        panel.filters.append(wanted)
        panel.show_filter(wanted)

    panel.filter_wanted.connect(on_filter_wanted)
    if filter is not None:
        panel.show_filter(filter)
    panel.set_engine(engine)
    panel.show()
    try:
        yield panel
    finally:
        await panel.aclose()


def rows(panel: NamespacePanel) -> dict[str, tuple[str, str]]:
    model = panel.model
    return {
        str(name): (model.index_of(name, Column.HERE).data(), model.index_of(name, Column.ALL).data())
        for name in panel.names()
    }


def row(panel: NamespacePanel, path: str) -> QModelIndex:
    index = panel.model.index_of(Namespace.parse(path))
    assert index.isValid()
    return index


def click(qtbot, panel: NamespacePanel, path: str) -> None:
    index = row(panel, path)
    panel.tree.scrollTo(index)
    rect = panel.tree.visualRect(index)
    place = QPoint(rect.left() + 40, rect.center().y())
    qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)


def choose_reach(panel: NamespacePanel, kind: str) -> None:
    """As a person does in the box: the choice, and then its signal."""
    at = panel.reach_box.findData(kind)
    panel.reach_box.setCurrentIndex(at)
    panel.reach_box.activated.emit(at)


def selected(panel: NamespacePanel) -> list[str]:
    return [index.data(Qt.ItemDataRole.UserRole) for index in panel.tree.selectionModel().selectedRows()]


def is_open(panel: NamespacePanel, path: str) -> bool:
    return panel.tree.isExpanded(row(panel, path))


async def test_counts_of_everything(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: panel.model.is_counted)
        assert rows(panel) == {
            "root": ("1", "5"),
            "team:acme": ("2", "3"),
            "team:acme/agent:triage": ("1", "1"),
            "team:acme/agent:triage/service:nightly": ("1", "sandbox"),
            "user:dana": ("1", "1"),
        }
        assert selected(panel) == []
        assert is_open(panel, "team:acme/agent:triage"), "open to depth 2, so that depth 3 is seen"


async def test_counts_obey_the_filter_but_not_its_reach(qtbot, until):
    engine = await filled(ITEMS)
    filter = MetaFilter(tags_any=["x"], reach=Reach.exact(Namespace.parse("user:dana")))
    async with showing(qtbot, engine, filter) as panel:
        await until(lambda: panel.model.is_counted)
        assert rows(panel) == {
            "root": ("1", "3"),
            "team:acme": ("1", "2"),
            "team:acme/agent:triage": ("1", "1"),
            "team:acme/agent:triage/service:nightly": ("0", "sandbox"),
            "user:dana": ("0", "0"),
        }, "nodes with nothing under the filter stay"
        assert engine.requests("namespaces") == [MetaFilter(tags_any=["x"]), MetaFilter()]
        assert selected(panel) == ["user:dana"]


async def test_one_click_sets_the_reach_in_words(qtbot, until):
    async with showing(qtbot, await filled(ITEMS), MetaFilter(tags_any=["x"])) as panel:
        await until(lambda: panel.model.is_counted)
        assert panel.reach_box.currentText() == "and below"
        click(qtbot, panel, "team:acme")
        choose_reach(panel, "inherit")
        choose_reach(panel, "exact")
        assert panel.filters == [
            MetaFilter(tags_any=["x"], reach=reach)
            for reach in (Reach.subtree(ACME), Reach.of(ACME), Reach.exact(ACME))
        ]
        assert selected(panel) == ["team:acme"]
        assert panel.model.chosen == ACME
        click(qtbot, panel, "team:acme")
        assert len(panel.filters) == 3, "nothing new is asked for"


async def test_the_box_alone_asks_for_nothing(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: panel.model.is_counted)
        choose_reach(panel, "exact")
        assert panel.filters == []
        click(qtbot, panel, "user:dana")
        assert panel.filters == [MetaFilter(reach=Reach.exact(Namespace.parse("user:dana")))]


async def test_the_box_follows_the_filter(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: panel.model.is_counted)
        panel.show_filter(MetaFilter(reach=Reach.of(ACME)))
        assert panel.reach_box.currentText() == "with its parents"
        panel.show_filter(MetaFilter(reach=Reach(at=ACME, inherit=True, descendants=True)))
        assert panel.reach_box.currentIndex() == -1, "none of the three"
        panel.show_filter(MetaFilter(reach=Reach.exact(ACME)))
        assert panel.reach_box.currentData() == "exact"
        panel.show_filter(MetaFilter())
        assert panel.reach_box.currentData() == "exact", "without a node it is what the next click means"
        assert selected(panel) == []


async def test_root_and_everything_below(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: panel.model.is_counted)
        click(qtbot, panel, "root")
        assert panel.filters == [MetaFilter(reach=Reach.subtree(Namespace.ROOT))]
        assert selected(panel) == ["root"]


async def test_moving_the_reach_counts_nothing_again(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        click(qtbot, panel, "team:acme")
        assert not panel.jobs.is_busy
        assert len(engine.requests("namespaces")) == 1


async def test_arrows_only_move_and_enter_or_space_choose(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: panel.model.is_counted)
        panel.tree.setFocus()
        panel.tree.setCurrentIndex(row(panel, "root"))
        qtbot.keyClick(panel.tree, Qt.Key.Key_Down)
        assert panel.filters == []
        assert selected(panel) == []
        qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
        qtbot.keyClick(panel.tree, Qt.Key.Key_Down)
        assert selected(panel) == ["team:acme"]
        qtbot.keyClick(panel.tree, Qt.Key.Key_Space)
        triage = Namespace.parse("team:acme/agent:triage")
        assert panel.filters == [MetaFilter(reach=Reach.subtree(ACME)), MetaFilter(reach=Reach.subtree(triage))]
        qtbot.keyClick(panel.tree, Qt.Key.Key_Left)
        assert not is_open(panel, "team:acme/agent:triage")
        assert len(panel.filters) == 2


async def test_chevron_opens_without_choosing(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: panel.model.is_counted)
        rect = panel.tree.visualRect(row(panel, "team:acme"))
        chevron = QPoint(rect.left() - 7, rect.center().y())
        qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=chevron)
        assert not is_open(panel, "team:acme")
        assert panel.filters == []


async def test_what_is_open_and_current_stays_through_counts(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        panel.tree.collapse(row(panel, "team:acme/agent:triage"))
        panel.tree.setCurrentIndex(row(panel, "user:dana"))
        await engine.store(learning("b", "team:acme/agent:billing/user:b"))
        await engine.store(learning("z", "agent:first"))
        panel.refresh()
        await until(lambda: len(panel.names()) == 8)
        assert not is_open(panel, "team:acme/agent:triage")
        assert is_open(panel, "team:acme/agent:billing")
        assert panel.tree.currentIndex().data() == "user:dana"
        panel.show_filter(MetaFilter(kinds=[ItemKind.DOCUMENT]))
        await until(lambda: rows(panel)["root"] == ("0", "0"))
        assert not is_open(panel, "team:acme/agent:triage")


async def test_rows_that_come_above_do_not_scroll(qtbot, until):
    engine = await filled([learning(f"i{at}", f"team:t{at:02}") for at in range(60)])
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        panel.tree.scrollTo(row(panel, "team:t40"), panel.tree.ScrollHint.PositionAtTop)
        top = panel.tree.visualRect(row(panel, "team:t40")).top()
        for at in range(5):
            await engine.store(learning(f"new {at}", f"agent:n{at}"))
        panel.refresh()
        await until(lambda: len(panel.names()) == 66)
        assert panel.tree.visualRect(row(panel, "team:t40")).top() == top


async def test_nodes_that_are_gone_from_everywhere_go(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        await engine.forget(ForgetTarget(filter=MetaFilter(reach=Reach.subtree(Namespace.parse("user:dana")))))
        panel.show_filter(MetaFilter(tags_any=["x"]))
        await until(lambda: rows(panel)["root"] == ("1", "3"))
        assert "user:dana" in rows(panel), "not known to be gone yet"
        panel.refresh()
        await until(lambda: "user:dana" not in rows(panel))


async def test_a_node_of_the_filter_has_a_row_even_if_nothing_is_there(qtbot, until):
    at = Namespace.parse("team:acme/agent:gone")
    async with showing(qtbot, await filled(ITEMS), MetaFilter(reach=Reach.subtree(at))) as panel:
        await until(lambda: panel.model.is_counted)
        assert rows(panel)[str(at)] == ("0", "0")
        assert selected(panel) == [str(at)]


async def test_truncated_counts_keep_what_they_did_not_reach(qtbot, until):
    engine = FakeEngine()
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)

        async def answer(filter: MetaFilter, scan_limit: int = 0):
            return page_of(Facet.NAMESPACE, pages.pop(0), truncated=True, total=12)

        pages = [{"team:a": 12}, {"team:b": 12}]
        engine.namespaces = answer
        panel.refresh()
        await until(lambda: rows(panel).get("team:a") == ("12+", "12+"))
        panel.refresh()
        await until(lambda: rows(panel).get("team:b") == ("12+", "12+"))
        assert rows(panel)["team:a"] == ("0+", "0+")


async def test_counting_everything(qtbot, until):
    engine = await filled([learning(f"item {at}", "team:a") for at in range(30)])
    async with showing(qtbot, engine) as panel:
        panel.scan.limit = 12
        panel.refresh()
        await until(lambda: panel.model.is_counted)
        panel.count_all()
        await until(lambda: rows(panel)["team:a"] == ("30", "30"))


class Scanning(FakeEngine):
    """Does not know its nodes: they are found by reading items."""

    namespaces = MemoryEngine.namespaces


async def test_nodes_that_counting_did_not_reach_are_said_to_be_missing(qtbot, until):
    items = [learning(f"item {at}", "team:a") for at in range(30)] + [learning("last", "team:z")]
    engine = await filled(items, Scanning())
    async with showing(qtbot, engine) as panel:
        panel.scan.limit = 12
        panel.refresh()
        await until(lambda: rows(panel).get("team:a") == ("12+", "12+"))
        assert "team:z" not in rows(panel)
        assert panel.banner.sentence == "Counted 12 of more items"
        panel.banner.clear()
        panel.refresh()
        await until(lambda: not panel.jobs.is_busy)
        assert panel.banner.sentence == "", "once dismissed it stays away"
        panel.show_filter(MetaFilter(kinds=[ItemKind.LEARNING]))
        await until(lambda: not panel.jobs.is_busy)
        panel.scan.limit = 13
        panel.refresh()
        await until(lambda: panel.banner.sentence == "Counted 13 of more items")
        more = panel.banner.findChild(QPushButton, "bannerActionButton")
        assert more.text() == "Count all"
        qtbot.mouseClick(more, Qt.MouseButton.LeftButton)
        await until(lambda: rows(panel).get("team:z") == ("1", "1"))
        assert rows(panel)["team:a"] == ("30", "30")
        assert panel.banner.sentence == ""


async def test_an_engine_that_knows_its_nodes_names_all_of_them(qtbot, until):
    items = [learning(f"item {at}", "team:a") for at in range(30)] + [learning("last", "team:z")]
    async with showing(qtbot, await filled(items)) as panel:
        panel.scan.limit = 12
        panel.refresh()
        await until(lambda: rows(panel).get("team:z") == ("1", "1"))
        assert rows(panel)["team:a"] == ("30", "30")
        assert panel.banner.sentence == ""


async def test_the_newer_filter_wins(qtbot, until):
    engine = await filled(ITEMS)
    slow = engine.hold("namespaces", lambda filter: filter.tags_any == ["x"], stubborn=True)
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        panel.show_filter(MetaFilter(tags_any=["x"]))
        await until(lambda: slow.waiting)
        panel.show_filter(MetaFilter(tags_any=["none"]))
        await until(lambda: rows(panel)["root"] == ("0", "0"))
        slow.open()
        await until(lambda: not slow.waiting)
        await panel.aclose()
        assert rows(panel)["root"] == ("0", "0")


async def test_a_failure_leaves_the_old_counts(qtbot, until):
    engine = await filled(ITEMS)
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        engine.fail("namespaces", Unavailable("the server is away"))
        panel.show_filter(MetaFilter(tags_any=["x"]))
        await until(lambda: panel.banner.sentence)
        assert panel.banner.sentence == "No answer came: the server is away."
        assert rows(panel)["root"] == ("1", "5")
        assert panel.model.is_stale
        engine.mend()
        qtbot.mouseClick(panel.banner.findChild(QPushButton, "bannerActionButton"), Qt.MouseButton.LeftButton)
        await until(lambda: rows(panel)["root"] == ("1", "3"))
        assert not panel.model.is_stale
        assert panel.banner.isHidden()


async def test_a_failure_is_not_said_of_another_engine(qtbot, until):
    engine = await filled(ITEMS)
    engine.fail("namespaces", Unavailable("the server is away"))
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.banner.sentence)
        panel.set_engine(None)
        assert panel.banner.sentence == ""


def is_seen(panel: NamespacePanel, path: str) -> bool:
    rect = panel.tree.visualRect(row(panel, path)).adjusted(0, 1, 0, -1)  # Qt leaves the last pixel below the edge
    return panel.tree.viewport().rect().contains(rect)


async def test_a_new_filter_brings_its_node_into_view(qtbot, until):
    engine = await filled([learning(f"i{at}", f"team:t{at:02}/agent:a/user:u") for at in range(40)])
    at = Namespace.parse("team:t35/agent:a/user:u")
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        panel.tree.collapse(row(panel, "team:t35"))
        assert not is_seen(panel, str(at))
        panel.show_filter(MetaFilter(reach=Reach.exact(at)))
        assert is_seen(panel, str(at))
        assert panel.tree.currentIndex().data(Qt.ItemDataRole.UserRole) == str(at)
        panel.tree.scrollToTop()
        panel.refresh()
        await until(lambda: not panel.jobs.is_busy)
        assert panel.tree.verticalScrollBar().value() == 0, "counts are no reason to scroll"
        panel.show_filter(MetaFilter(reach=Reach.exact(at), tags_any=["x"]))
        assert is_seen(panel, str(at))
        await until(lambda: not panel.jobs.is_busy)
        place = panel.tree.verticalScrollBar().value()
        panel.show_filter(MetaFilter(reach=Reach.exact(at)))
        assert panel.tree.verticalScrollBar().value() == place, "it is in view"


async def test_a_node_that_is_not_known_comes_into_view_with_its_row(qtbot, until):
    engine = await filled([learning(f"i{at}", f"team:t{at:02}") for at in range(40)])
    at = Namespace.parse("team:t39/agent:new/user:u")
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        panel.show_filter(MetaFilter(reach=Reach.subtree(at)))
        await until(lambda: panel.model.node(at) is not None)
        assert is_seen(panel, str(at))
        assert selected(panel) == [str(at)]


async def test_the_panel_gives_the_keyboard_to_the_tree(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.activateWindow()
        await until(lambda: panel.model.is_counted and panel.isActiveWindow())
        panel.reach_box.setFocus()
        panel.setFocus(Qt.FocusReason.TabFocusReason)
        assert QApplication.focusWidget() is panel.tree
        assert panel.tree.currentIndex().data() == "root"
        qtbot.keyClick(panel.tree, Qt.Key.Key_Down)
        assert panel.tree.currentIndex().data() == "team:acme"


async def test_a_search_is_said_not_to_be_counted(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: panel.model.is_counted)
        assert not panel.head.warning.isVisible()
        panel.set_search(True)
        assert panel.head.warning.isVisible()
        assert panel.head.warning.accessibleName() == "counted without the search"
        assert "search" in panel.head.toolTip()
        panel.set_search(False)
        assert not panel.head.warning.isVisible()
        assert panel.head.toolTip() == ""


async def test_siblings_have_their_kind_before_the_name_all_or_none(qtbot, until):
    long = "a-source-with-a-name-of-some-length"
    places = [f"team:t/source:{long}", "team:t/source:s", "team:t/source:s/agent:short", "user:u"]
    async with showing(qtbot, await filled([learning(at, at) for at in places])) as panel:
        await until(lambda: panel.model.is_counted)

        def prefixed() -> set[str]:
            nodes = panel.model.nodes()
            return {node.path for node in nodes if panel.delegate.shows_prefix(node)}

        assert prefixed() == {"team:t", "user:u", "team:t/source:s/agent:short"}
        panel.resize(600, 400)
        await until(lambda: len(prefixed()) == 5)
        panel.resize(288, 400)
        await until(lambda: len(prefixed()) == 3)


def menu_at(panel: NamespacePanel, path: str, by_key: bool = False) -> QMenu:
    """The menu of a row, asked for as a person asks: through the view's own event."""
    index, viewport = row(panel, path), panel.tree.viewport()
    place = QPoint(0, 0) if by_key else panel.tree.visualRect(index).center()
    reason = QContextMenuEvent.Reason.Keyboard if by_key else QContextMenuEvent.Reason.Mouse
    if by_key:
        panel.tree.setCurrentIndex(index)
    before = panel.tree.findChildren(QMenu)
    target = panel.tree if by_key else viewport
    QApplication.sendEvent(target, QContextMenuEvent(reason, place, target.mapToGlobal(place)))
    return next(menu for menu in panel.tree.findChildren(QMenu) if menu not in before)


def pick(menu: QMenu, words: str) -> None:
    next(action for action in menu.actions() if action.text() == words).trigger()
    menu.close()


async def test_menu_of_a_node(qtbot, until):
    async with showing(qtbot, await filled(ITEMS), MetaFilter(tags_any=["x"])) as panel:
        await until(lambda: panel.model.is_counted)
        for words, reach in (
            ("Only here", Reach.exact(ACME)),
            ("Here and below", Reach.subtree(ACME)),
            ("With its parents", Reach.of(ACME)),
        ):
            menu = menu_at(panel, "team:acme", by_key=words == "Only here")
            pick(menu, words)
            assert panel.filters[-1] == MetaFilter(tags_any=["x"], reach=reach)
        assert panel.reach_box.currentData() == "inherit"
        pick(menu_at(panel, "team:acme/agent:triage"), "Copy path")
        assert QGuiApplication.clipboard().text() == "team:acme/agent:triage"
        assert len(panel.filters) == 3


async def test_another_engine_leaves_nothing_of_the_last(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await until(lambda: panel.model.is_counted)
        panel.set_engine(None)
        assert rows(panel) == {"root": ("", "")}
        panel.set_engine(await filled([learning("o", "user:other")]))
        await until(lambda: list(rows(panel)) == ["root", "user:other"])


async def test_columns_grow_with_their_numbers_and_end_where_their_heads_end(qtbot, until):
    engine = FakeEngine()
    async with showing(qtbot, engine) as panel:
        await until(lambda: panel.model.is_counted)
        width = panel.tree.columnWidth(Column.ALL)
        pages = page_of(Facet.NAMESPACE, {"team:a": 123_456_789})

        async def answer(filter: MetaFilter, scan_limit: int = 0):
            return pages

        engine.namespaces = answer
        panel.refresh()
        await until(lambda: "team:a" in rows(panel))
        assert panel.tree.columnWidth(Column.ALL) > width
        head = panel.tree.header()
        assert head.sectionViewportPosition(Column.ALL) + head.sectionSize(Column.ALL) == panel.tree.viewport().width()
        assert panel.tree.visualRect(row(panel, "root")).height() == theme().row_height("treeRow")
