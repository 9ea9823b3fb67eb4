"""What rows are painted with, and the tree that paints them."""

from __future__ import annotations

from collections.abc import Callable, Iterator

import pytest
from PySide6.QtCore import QEvent, QItemSelectionModel, QObject, QPoint, QRect, Qt
from PySide6.QtGui import QImage, QPainter, QPaintEvent, QRegion, QStandardItem, QStandardItemModel
from PySide6.QtWidgets import QApplication, QLineEdit, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from explorer.ui import rows
from explorer.ui.rows import RowTree
from explorer.ui.segments import Segments
from explorer.ui.theme import Theme

BOX = QRect(0, 0, 200, 24)


def paint(themed: Theme, draw: Callable[[QPainter], object]) -> QImage:
    image = QImage(BOX.size(), QImage.Format.Format_ARGB32_Premultiplied)
    image.fill(themed.color("base"))
    painter = QPainter(image)
    draw(painter)
    painter.end()
    return image


def inked(themed: Theme, image: QImage) -> list[int]:
    """The columns that are not ground."""
    ground = themed.color("base")
    return [x for x in range(image.width()) if any(image.pixelColor(x, y) != ground for y in range(image.height()))]


@pytest.fixture
def mirrored(qapp: QApplication) -> Iterator[None]:
    qapp.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
    yield
    qapp.setLayoutDirection(Qt.LayoutDirection.LeftToRight)


def test_text_of_either_direction_begins_at_the_same_edge(themed: Theme) -> None:
    for text in ("Refund policy", "أين المبلغ المسترد"):
        columns = inked(themed, paint(themed, lambda painter, text=text: rows.draw_text(painter, BOX, text)))
        assert columns[0] <= 3, text
        assert columns[-1] < 190


def rows_inked(themed: Theme, text: str) -> list[int]:
    image = paint(themed, lambda painter: rows.draw_text(painter, BOX, text))
    ground = themed.color("base")
    return [y for y in range(image.height()) if any(image.pixelColor(x, y) != ground for x in range(image.width()))]


def test_a_box_that_cannot_be_ticked_is_an_outline(themed: Theme) -> None:
    for radio in (False, True):
        image = paint(themed, lambda painter, radio=radio: rows.draw_check(painter, BOX, False, False, radio))
        assert image.pixelColor(BOX.center()) == themed.color("base"), "not filled"
        assert inked(themed, image)


def test_a_sign_of_another_font_does_not_move_the_line(themed: Theme) -> None:
    plain = rows_inked(themed, "1 088")
    assert 3 <= plain[0] <= 9
    for text in ("1\u202f088", "1\u2068088\u2069", "1 088 \u2009"):
        assert rows_inked(themed, text) == plain, ascii(text)


def test_numbers_end_at_the_trailing_edge(themed: Theme) -> None:
    right = Qt.AlignmentFlag.AlignRight
    ends = {
        inked(themed, paint(themed, lambda painter, n=n: rows.draw_text(painter, BOX, n, align=right)))[-1]
        for n in ("8", "1\u202f888", "88")
    }
    assert len(ends) == 1
    assert ends.pop() >= 196


def test_everything_is_mirrored(themed: Theme, mirrored: None) -> None:
    columns = inked(themed, paint(themed, lambda painter: rows.draw_text(painter, BOX, "leading")))
    assert columns[-1] >= 196
    columns = inked(themed, paint(themed, lambda painter: rows.draw_bar(painter, BOX, 0.25, track_token=None)))
    assert columns[0] == 150
    columns = inked(themed, paint(themed, lambda painter: rows.draw_pill(painter, BOX, "fact")))
    assert columns[0] == 0


def test_long_text_is_elided_and_its_width_told(themed: Theme) -> None:
    widths: list[int] = []
    image = paint(themed, lambda painter: widths.append(rows.draw_text(painter, BOX, "word " * 100)))
    assert 150 < widths[0] <= 200
    assert inked(themed, image)[-1] <= 199


@pytest.mark.parametrize(("fraction", "length"), [(0, 0), (0.0001, 1), (0.5, 100), (1, 200), (7, 200)])
def test_a_bar_s_length(themed: Theme, fraction: float, length: int) -> None:
    image = paint(themed, lambda painter: rows.draw_bar(painter, BOX, fraction, track_token=None))
    assert len(inked(themed, image)) == length


def test_a_pill_takes_the_width_it_says(themed: Theme) -> None:
    widths: list[int] = []
    image = paint(themed, lambda painter: widths.append(rows.draw_pill(painter, BOX, "correction")))
    assert widths == [rows.pill_width("correction")]
    assert abs(len(inked(themed, image)) - widths[0]) <= 1
    paint(themed, lambda painter: widths.append(rows.draw_pill(painter, QRect(0, 0, 30, 24), "correction")))
    assert widths[-1] == 30


def test_ticks_differ_by_more_than_colour(themed: Theme) -> None:
    def seen(checked: bool, enabled: bool, radio: bool) -> QImage:
        return paint(themed, lambda painter: rows.draw_check(painter, QRect(0, 0, 24, 24), checked, enabled, radio))

    images = [
        seen(checked, enabled, radio)
        for checked in (False, True)
        for enabled in (False, True)
        for radio in (False, True)
    ]
    assert all(one != two for at, one in enumerate(images) for two in images[at + 1 :])


def test_painting_leaves_the_painter_as_it_was(themed: Theme) -> None:
    def draw(painter: QPainter) -> None:
        hints, brush = painter.renderHints(), painter.brush()
        rows.fill_round(painter, BOX, 4, "soft")
        rows.draw_pill(painter, BOX, "sandbox", dashed=True)
        rows.draw_check(painter, BOX, True)
        rows.draw_focus_ring(painter, BOX)
        assert (painter.renderHints(), painter.brush()) == (hints, brush)

    paint(themed, draw)


class TreePane(QWidget):
    def __init__(self) -> None:
        super().__init__()
        self.other = QLineEdit()
        self.tree = RowTree()
        self.tree.setHeaderHidden(True)
        self.model = QStandardItemModel(self)
        root = QStandardItem("")
        for _ in range(3):
            root.appendRow(QStandardItem(""))
        self.model.appendRow(root)
        self.tree.setModel(self.model)
        self.tree.expandAll()
        column = QVBoxLayout(self)
        column.addWidget(self.other)
        column.addWidget(self.tree)
        self.resize(300, 300)

    def color_at(self, row: QRect, x: int) -> str:
        return self.tree.viewport().grab().toImage().pixelColor(x, row.center().y()).name()


@pytest.fixture
def pane(qtbot: QtBot) -> TreePane:
    made = TreePane()
    qtbot.addWidget(made)
    made.show()
    made.activateWindow()
    qtbot.waitUntil(made.isActiveWindow)
    return made


def test_the_selection_runs_under_the_branch_and_knows_the_focus(pane: TreePane, themed: Theme) -> None:
    index = pane.model.index(1, 0, pane.model.index(0, 0))
    pane.tree.setCurrentIndex(index)
    pane.tree.setFocus()
    row = pane.tree.visualRect(index)
    right = pane.tree.viewport().width() - 10
    assert pane.color_at(row, 8) == themed.color("soft").name()  # left of the item: the branch
    assert pane.color_at(row, right) == themed.color("soft").name()
    assert pane.color_at(row, 1) == themed.color("base").name()  # the inset
    pane.other.setFocus()
    assert pane.color_at(row, 8) == themed.color("idle").name()


def test_hover_is_seen_at_once_and_leaves(pane: TreePane, themed: Theme, qtbot: QtBot) -> None:
    pane.tree.clearSelection()
    pane.tree.setCurrentIndex(pane.model.index(0, 0))
    pane.tree.clearSelection()
    pane.other.setFocus()
    index = pane.model.index(2, 0, pane.model.index(0, 0))
    row = pane.tree.visualRect(index)
    qtbot.mouseMove(pane.tree.viewport(), row.center())
    qtbot.waitUntil(lambda: pane.tree.is_hovered(index))
    assert pane.color_at(row, 8) == themed.color("hover").name()
    qtbot.mouseMove(pane.tree.viewport(), QPoint(50, pane.tree.viewport().height() - 5))
    qtbot.waitUntil(lambda: not pane.tree.is_hovered(index))


class Painted(QObject):
    """The region that a widget was painted in."""

    def __init__(self, widget: QWidget) -> None:
        super().__init__(widget)
        self.region = QRegion()
        widget.installEventFilter(self)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(event, QPaintEvent):
            self.region = self.region.united(event.region())
        return False


def test_the_ring_of_the_current_row_moves_whole(pane: TreePane, qtbot: QtBot) -> None:
    pane.model.setColumnCount(3)
    root = pane.model.index(0, 0)
    old, new = pane.model.index(0, 0, root), pane.model.index(2, 0, root)
    pane.tree.setFocus()
    no_update = QItemSelectionModel.SelectionFlag.NoUpdate
    pane.tree.selectionModel().setCurrentIndex(old, no_update)
    painted = Painted(pane.tree.viewport())
    qtbot.waitUntil(lambda: not painted.region.isEmpty())
    QApplication.processEvents()
    painted.region = QRegion()  # nothing is left to be painted
    pane.tree.selectionModel().setCurrentIndex(new, no_update)
    QApplication.processEvents()
    for index in (old, new):
        assert QRegion(pane.tree.row_box(pane.tree.visualRect(index))).subtracted(painted.region).isEmpty()


def test_a_hovered_row_may_vanish(pane: TreePane, qtbot: QtBot) -> None:
    index = pane.model.index(2, 0, pane.model.index(0, 0))
    qtbot.mouseMove(pane.tree.viewport(), pane.tree.visualRect(index).center())
    qtbot.waitUntil(lambda: pane.tree.is_hovered(index))
    pane.model.clear()
    pane.tree.grab()
    qtbot.mouseMove(pane.tree.viewport(), QPoint(5, 5))


def test_a_tree_without_a_model_can_be_shown(qtbot: QtBot) -> None:
    tree = RowTree()
    qtbot.addWidget(tree)
    tree.show()
    qtbot.mouseMove(tree.viewport(), QPoint(5, 5))
    tree.grab()


def test_segments_choose_by_click_and_by_arrow(qtbot: QtBot) -> None:
    segments = Segments(["Read", "Raw", "Metadata", "Why"])
    qtbot.addWidget(segments)
    segments.show()
    segments.activateWindow()
    qtbot.waitUntil(segments.isActiveWindow)
    told: list[str] = []
    segments.chosen.connect(told.append)
    assert segments.choice == "Read"
    segments.set_choice("Raw")
    assert told == []
    qtbot.mouseClick(segments.button("Metadata"), Qt.MouseButton.LeftButton)
    segments.set_enabled("Raw", False, "the item has no raw form")
    assert segments.button("Raw").toolTip() == "the item has no raw form"
    segments.button("Metadata").setFocus(Qt.FocusReason.TabFocusReason)
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Left)  # over the disabled one
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Left)  # the end: stays
    qtbot.keyClick(QApplication.focusWidget(), Qt.Key.Key_Right)
    assert told == ["Metadata", "Read", "Metadata"]
    assert segments.button("Metadata").hasFocus()
    stops = [text for text in ("Read", "Raw", "Metadata", "Why") if segments.button(text).focusPolicy().value]
    assert stops == ["Metadata"]


def test_segments_do_not_move_when_chosen(qtbot: QtBot) -> None:
    segments = Segments(["Rendered", "Source"])
    qtbot.addWidget(segments)
    segments.show()
    before = segments.button("Source").geometry()
    segments.set_choice("Source")
    segments.layout().invalidate()
    segments.layout().activate()
    assert segments.button("Source").geometry() == before
