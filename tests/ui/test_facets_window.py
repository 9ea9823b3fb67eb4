"""The facets and the chips of the window they are in."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import QEvent, QObject, Qt
from PySide6.QtGui import QPaintEvent, QTextDocument
from PySide6.QtWidgets import QApplication, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import Facet, ForgetTarget, ItemKind, MetaFilter
from explorer.ui.main_window import MainWindow
from explorer.ui.models.facet_model import CountRole
from explorer.ui.models.facet_rows import RowType
from tests.conftest import Until
from tests.fakes import filled, learning
from tests.ui.test_main_window import opened


def chip(window: MainWindow, field: str) -> QWidget:
    found = window.chip_bar.findChild(QWidget, f"chip:{field}")
    assert found is not None
    return found


async def test_of_two_tags_only_the_dead_one_is_said_to_be_dead(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([learning("one", tags=["a"], agent_id="x"), learning("two", tags=["b"], agent_id="x")])
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.go_to_filter(MetaFilter(tags_any=["a", "b"], agent_id="x"))
        await until(lambda: window.is_idle)
        assert chip(window, "tags_any").accessibleName() == "Filter: tag is a or b"
        await engine.forget(ForgetTarget(filter=MetaFilter(tags_any=["a"])))
        window.refresh()
        await until(lambda: window.is_idle)
        assert chip(window, "tags_any").accessibleName() == "Filter: tag is a (0) or b"
        assert chip(window, "agent_id").accessibleName() == "Filter: agent is x"
        assert window.trail.current.filter == MetaFilter(tags_any=["a", "b"], agent_id="x"), "the filter stays"
        index = window.facets.model.row_index(Facet.TAG, RowType.VALUE, "a")
        assert index.data(CountRole) == "0"
        assert index.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked
        await engine.forget(ForgetTarget(filter=MetaFilter(tags_any=["b"])))
        window.refresh()
        await until(lambda: window.is_idle)
        assert chip(window, "tags_any").accessibleName() == "Filter: tag is a or b (0)"
        assert window.chip_bar.chips()[-1].dead
        window.go_to_filter(MetaFilter(tags_any=["a"]))
        assert not window.chip_bar.chips()[-1].dead, "not known yet of this filter"


async def test_two_kinds_can_be_ticked_one_after_the_other(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        panel = window.facets

        def tick(kind: str) -> None:
            index = panel.model.row_index(Facet.KIND, RowType.VALUE, kind)
            panel.tree.scrollTo(index)
            place = panel.delegate.box_area(index).center()
            qtbot.mouseClick(panel.tree.viewport(), Qt.MouseButton.LeftButton, pos=place)

        tick("document")
        await until(lambda: window.is_idle)
        assert panel.model.row_index(Facet.KIND, RowType.VALUE, "learning").data(CountRole) == "2", "it is still there"
        tick("learning")
        await until(lambda: window.is_idle)
        assert window.trail.current.filter.kinds == [ItemKind.DOCUMENT, ItemKind.LEARNING]
        assert window.items.model.rowCount() == 3


async def test_the_chip_of_a_path_says_what_it_admits(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([learning("one", folder="/home/u/proj/x"), learning("two", folder="/home/u/proj-old")])
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.go_to_filter(MetaFilter(folder="/home/u/proj"))
        await until(lambda: window.is_idle)
        assert window.items.model.rowCount() == 1
        said = QTextDocument()
        said.setHtml(chip(window, "folder").toolTip())
        assert "below \u2068/home/u/proj/\u2069" in said.toPlainText()
        assert "not a neighbour such as \u2068/home/u/proj-old\u2069" in said.toPlainText()
        assert "proj-old" in chip(window, "folder").accessibleDescription()
        window.facets.reveal(Facet.FOLDER)
        await until(lambda: window.is_idle)
        assert not window.chip_bar.chips()[0].dead, "nothing is here, but something is below"


class Painted(QObject):
    """How often a widget was painted whole."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.times = 0
        self._widget = widget
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent) and event.rect() == self._widget.rect():
            self.times += 1
        return False


async def test_a_click_paints_the_list_once_and_the_facets_once_an_answer(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    items = [
        learning(f"{at} of {agent}", agent_id=agent, tags=[f"{agent} {at}"], workspace=f"/work/{agent}")
        for agent in ("triage", "writer")
        for at in range(12)
    ]
    async with opened(qtbot, tmp_path, until, await filled(items)) as window:
        panel = window.facets
        panel._on_expand_triggered()
        await until(lambda: window.is_idle)
        window.go_to_filter(MetaFilter(agent_id="writer"))  # there are chips from here on, which moves all below
        await until(lambda: window.is_idle and window.items.model.rowCount() == 12)
        QApplication.processEvents()
        listed, counted = Painted(window.items.view.viewport()), Painted(panel.tree.viewport())
        window.go_to_filter(MetaFilter(agent_id="triage"))
        await until(lambda: window.is_idle and window.items.model.hit(0).meta.agent_id == "triage")
        await until(lambda: listed.times > 0)
        assert listed.times == 1
        answers = 2  # of the facets under the filter, and of the one that has a condition
        assert counted.times <= answers + 2, "the choice itself, and the sign that counting takes long"
