"""Folders and file paths as a tree."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextDocument

from explorer.contract import Facet, MetaFilter
from explorer.ui.facets import FacetPanel
from explorer.ui.models.facet_model import BelowRole, CountRole
from explorer.ui.models.facet_rows import RowType
from tests.fakes import FakeEngine, filled, learning, page_of
from tests.ui.test_facets import FORGET, is_counted, menu_at, pick, point_at, showing, words_of

FOLDERS = ["/home/u/proj", "/home/u/proj", "/home/u/proj/src", "/home/u/proj-old", "/srv", "rel/x", None]
ITEMS = [learning(f"item {at}", folder=folder, agent_id=f"a{at}") for at, folder in enumerate(FOLDERS)]


def nodes(panel: FacetPanel, facet: Facet = Facet.FOLDER) -> list[str]:
    """What stands in the rows of a tree, two spaces a level: the segment, what is here, and all with what is below."""
    head = panel.model.facet_index(facet)
    rows = [panel.model.index(at, 0, head) for at in range(panel.model.rowCount(head))]
    found = []
    for index in rows:
        row = panel.model.row_at(index)
        if row.type is RowType.NODE:
            mark = "*" if row.is_chosen else ""
            found.append(f"{'  ' * row.depth}{mark}{row.label} {index.data(CountRole)} {index.data(BelowRole)}")
    return found


def node(panel: FacetPanel, key: str, facet: Facet = Facet.FOLDER):
    index = panel.model.row_index(facet, RowType.NODE, key)
    assert index.isValid(), key
    panel.tree.scrollTo(index)
    return index


def click(qtbot, panel: FacetPanel, place: QPoint) -> None:
    qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)


async def as_tree(panel: FacetPanel, until, facet: Facet = Facet.FOLDER) -> None:
    menu = menu_at(panel, panel.model.facet_index(facet))
    pick(menu, "As a tree")
    await until(lambda: is_counted(panel, facet))


def tip_of(index) -> str:
    tooltip = QTextDocument()
    tooltip.setHtml(index.data(Qt.ItemDataRole.ToolTipRole))
    return tooltip.toPlainText()


async def test_a_tree_counts_here_and_below(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await as_tree(panel, until)
        assert panel.tree.isExpanded(panel.model.facet_index(Facet.FOLDER)), "asking for a tree opens it"
        down_to_the_fork = ["/ 0 5", "  home 0 4", "    u 0 4", "      proj 2 3", "      proj-old 1 1", "  srv 1 1"]
        assert nodes(panel) == [*down_to_the_fork, "rel 0 1", "  x 1 1"]
        click(qtbot, panel, panel.delegate.chevron_area(node(panel, "//home/u/proj")).center())
        assert nodes(panel)[2:6] == ["    u 0 4", "      proj 2 3", "        src 1 1", "      proj-old 1 1"]
        click(qtbot, panel, panel.delegate.chevron_area(node(panel, "/")).center())
        assert nodes(panel) == ["/ 0 5", "rel 0 1", "  x 1 1"]
        assert panel.filters == [], "opening chooses nothing"
        menu = menu_at(panel, panel.model.facet_index(Facet.FOLDER))
        pick(menu, "As a list")
        assert nodes(panel) == []


async def test_a_node_is_chosen_with_what_is_below_and_without_its_neighbour(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await as_tree(panel, until)
        index = node(panel, "//home/u/proj")
        assert "not a neighbour such as \u2068/home/u/proj-old\u2069" in tip_of(index)
        assert "2 here, 3 items with what is below." in tip_of(index)
        click(qtbot, panel, panel.delegate.box_area(index).center())
        assert panel.filters == [MetaFilter(folder="/home/u/proj")]
        panel.tree.expand(panel.model.facet_index(Facet.AGENT))
        await until(lambda: is_counted(panel, Facet.AGENT))
        assert panel.model.section(Facet.AGENT).total_values() == 3, "as many as the node said"
        assert "      *proj 2 3" in nodes(panel)
        top = panel.model.row_index(Facet.FOLDER, RowType.VALUE, "/home/u/proj")
        assert top.row() < node(panel, "/").row(), "what is chosen stands on top as well"
        menu = menu_at(panel, node(panel, "//home/u/proj"))
        assert words_of(menu) == ["Only this value", "Remove from the filter", "Copy value", FORGET]
        pick(menu, "Remove from the filter")
        assert panel.filters[-1] == MetaFilter()


async def test_a_folder_above_all_items_is_no_dead_condition(qtbot, until):
    async with showing(qtbot, await filled(ITEMS), MetaFilter(folder="/home")) as panel:
        panel.reveal(Facet.FOLDER)
        await until(lambda: is_counted(panel, Facet.FOLDER))
        row = panel.model.row_index(Facet.FOLDER, RowType.VALUE, "/home")
        assert "0 here, 4 items with what is below." in tip_of(row)
        assert "no item has it" not in tip_of(row)
        assert panel.dead == {}
        panel.show_filter(MetaFilter(folder="/gone"))
        await until(lambda: panel.dead == {"folder": ["/gone"]})


async def test_empty_segments_are_shown_and_leaves_add_up(qtbot, until):
    folders = ["//a//b", "//a//b", "/a", "/a/b", "", "/"]
    async with showing(
        qtbot, await filled([learning(f"i{at}", folder=one) for at, one in enumerate(folders)])
    ) as panel:
        await as_tree(panel, until)
        panel.model.set_open(Facet.FOLDER, "//", True)
        panel.model.set_open(Facet.FOLDER, "//a", True)
        assert nodes(panel) == [
            "/ 1 5",
            "  (empty) 0 2",
            "    a 0 2",
            "      (empty) 0 2",
            "        b 2 2",
            "  a 1 2",
            "    b 1 1",
            "(empty) 1 1",
        ]
        rows = [row for row in panel.model.section(Facet.FOLDER).rows if row.type is RowType.NODE]
        assert sum(row.count for row in rows) == len(folders)
        empty = node(panel, "//")
        click(qtbot, panel, panel.delegate.box_area(empty).center())
        panel.tree.setCurrentIndex(empty)
        qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
        assert panel.filters == [], "a filter for it would admit all below /"
        assert "cannot ask for an empty segment" in tip_of(empty)
        click(qtbot, panel, panel.delegate.box_area(node(panel, "////a//b"[1:])).center())
        assert panel.filters == [MetaFilter(folder="//a//b")]


async def test_segments_are_sorted_as_segments_under_their_own_node(qtbot, until):
    paths = ["A-1", "A", "A/1", "201/01", "2016/01"]
    items = [learning(f"i{at}", file_path=path) for at, path in enumerate(paths)]
    async with showing(qtbot, await filled(items)) as panel:
        await as_tree(panel, until, Facet.FILE_PATH)
        pick(menu_at(panel, panel.model.facet_index(Facet.FILE_PATH)), "By name")
        panel.model.set_open(Facet.FILE_PATH, "A", True)
        said = nodes(panel, Facet.FILE_PATH)
        assert said == ["201 0 1", "  01 1 1", "2016 0 1", "  01 1 1", "A 1 2", "  1 1 1", "A-1 1 1"]


async def test_a_tree_by_the_keyboard_alone(qtbot, until):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        await as_tree(panel, until)
        tree = panel.tree
        tree.setFocus()
        tree.setCurrentIndex(node(panel, "/"))
        for key, seen in (
            (Qt.Key.Key_Right, "home"),
            (Qt.Key.Key_Right, "u"),
            (Qt.Key.Key_Right, "proj"),
            (Qt.Key.Key_Down, "proj-old"),
            (Qt.Key.Key_Right, "proj-old"),
            (Qt.Key.Key_Left, "u"),
            (Qt.Key.Key_Left, "u"),
            (Qt.Key.Key_Left, "home"),
        ):
            qtbot.keyClick(tree, key)
            assert tree.currentIndex().data() == seen
        assert not any("proj" in said for said in nodes(panel)), "closed by the second Left"
        said = node(panel, "//home/u").data(Qt.ItemDataRole.AccessibleTextRole)
        assert said == "folder u, level 3, 0 here, 4 items with what is below, closed"
        qtbot.keyClick(tree, Qt.Key.Key_Space)
        assert panel.filters == [MetaFilter(folder="/home")]
        tree.setCurrentIndex(node(panel, "/"))
        qtbot.keyClick(tree, Qt.Key.Key_Left)
        qtbot.keyClick(tree, Qt.Key.Key_Left)
        assert tree.currentIndex() == panel.model.facet_index(Facet.FOLDER)


async def test_what_is_looked_for_in_a_tree_is_a_list(qtbot, until):
    items = [learning(f"i{at}", file_path=f"/src/{at % 3}/f{at:02}") for at in range(30)]
    async with showing(qtbot, await filled(items)) as panel:
        await as_tree(panel, until, Facet.FILE_PATH)
        qtbot.keyClicks(panel.find_edit(Facet.FILE_PATH), "f07")
        shown = [row.value for row in panel.model.section(Facet.FILE_PATH).rows if row.type is RowType.VALUE]
        assert shown == ["/src/1/f07"]
        panel.find_edit(Facet.FILE_PATH).clear()
        assert nodes(panel, Facet.FILE_PATH)[:2] == ["/ 0 30", "  src 0 30"]


async def test_the_keyboard_goes_past_the_names_of_the_columns(qtbot, until):
    items = [learning(f"i{at}", file_path=f"/src/f{at:02}") for at in range(9)]
    async with showing(qtbot, await filled(items)) as panel:
        await as_tree(panel, until, Facet.FILE_PATH)
        columns = panel.model.row_index(Facet.FILE_PATH, RowType.COLUMNS)
        assert "All: these and what is below" in tip_of(columns)
        qtbot.keyClick(panel.find_edit(Facet.FILE_PATH), Qt.Key.Key_Down)
        assert panel.tree.currentIndex() == node(panel, "/", Facet.FILE_PATH)
        qtbot.keyClick(panel.tree, Qt.Key.Key_Up)
        assert panel.tree.currentIndex() == panel.model.row_index(Facet.FILE_PATH, RowType.FIND)


async def test_a_tree_of_what_was_cut_claims_no_more_than_it_knows(qtbot, until):
    engine = FakeEngine()
    engine.pages[Facet.FOLDER] = page_of(Facet.FOLDER, {"/a/b": 5, "/a/c": 3}, more=12)
    async with showing(qtbot, engine) as panel:
        await as_tree(panel, until)
        assert nodes(panel) == ["/ – 8+", "  a – 8+", "    b 5 5+", "    c 3 3+"]
        labels = [row.label for row in panel.model.section(Facet.FOLDER).rows]
        assert labels[-1] == "12 more folders are not in the tree"
        assert [req.limit for req in engine.requests("explore_many")[-1]] == [500]


@pytest.mark.parametrize("is_tree", [False, True])
async def test_twenty_thousand_paths_make_few_rows_and_no_widgets(qtbot, until, is_tree):
    engine = FakeEngine()
    engine.pages[Facet.FILE_PATH] = page_of(Facet.FILE_PATH, {f"/src/f{at:05}": 1 for at in range(20_000)})
    async with showing(qtbot, engine) as panel:
        panel.model.set_tree(Facet.FILE_PATH, is_tree)
        panel.reveal(Facet.FILE_PATH)
        await until(lambda: panel.find_edit(Facet.FILE_PATH))
        before = len(panel.findChildren(object))
        rows = panel.model.section(Facet.FILE_PATH).rows
        assert len(rows) < 30
        more = next(at for at, row in enumerate(rows) if row.type is RowType.MORE)
        index = panel.model.index(more, 0, panel.model.facet_index(Facet.FILE_PATH))
        panel.tree.setCurrentIndex(index)
        qtbot.keyClick(panel.tree, Qt.Key.Key_Return)
        assert 500 <= len(panel.model.section(Facet.FILE_PATH).rows) < 510
        assert len(panel.findChildren(object)) <= before
        panel.tree.scrollToBottom()
        panel.grab()


async def test_nodes_keep_their_places_under_the_pointer(qtbot, until):
    items = [learning("1", folder="/x/a", agent_id="one"), learning("2", folder="/x/a", agent_id="one")]
    items += [learning("3", folder="/x/b", agent_id="two")]
    async with showing(qtbot, await filled(items)) as panel:
        await as_tree(panel, until)
        assert nodes(panel)[2:] == ["    a 2 2", "    b 1 1"]
        point_at(panel, panel.tree.visualRect(node(panel, "//x/b")).center())
        panel.show_filter(MetaFilter(agent_id="two"))
        await until(lambda: is_counted(panel, Facet.FOLDER))
        assert nodes(panel)[2:] == ["    a 0 0", "    b 1 1"], "what is gone leaves no gap to slip into"
        panel.tree.pointer = None
        panel.tree.left.emit()
        assert nodes(panel)[2:] == ["    b 1 1"]


@pytest.mark.parametrize("direction", [Qt.LayoutDirection.LeftToRight, Qt.LayoutDirection.RightToLeft])
async def test_chevrons_and_arrow_keys_in_both_directions(qtbot, until, direction):
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.setLayoutDirection(direction)
        await as_tree(panel, until)
        index = node(panel, "//home")
        chevron, box = panel.delegate.chevron_area(index), panel.delegate.box_area(index)
        assert not chevron.intersects(box)
        is_left = chevron.center().x() < box.center().x()
        assert is_left is (direction is Qt.LayoutDirection.LeftToRight)
        panel.tree.setCurrentIndex(index)
        qtbot.keyClick(panel.tree, Qt.Key.Key_Left if is_left else Qt.Key.Key_Right)
        assert not any("proj" in said for said in nodes(panel))
