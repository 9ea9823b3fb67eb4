"""How the rows of the facet tree are drawn, and where in them a click means what."""

from __future__ import annotations

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QFont, QPainter, QPen
from PySide6.QtWidgets import QStyledItemDelegate, QStyleOptionViewItem, QWidget

from explorer.i18n import tr_in
from explorer.ui.models.facet_model import FacetModel, Index
from explorer.ui.models.facet_rows import BARS, CHOICES, PATHS, WORDS, Row, RowType, Section
from explorer.ui.rows import CHEVRON, check_size, draw_bar, draw_check, draw_icon, draw_text, fill_round, text_width
from explorer.ui.theme import theme
from explorer.ui.trees import EDGE, GAP, PaneTree, mirrored

INDENT = 16
HEAD_TEXT = INDENT + 4
BOX_LEFT = 2 * INDENT
COUNT_WIDTH = 52
HERE_WIDTH = 44  # beside it, in a tree
NODE_STEP = 12
DEEPEST_STEP = 8  # further down, rows stand no further in
BAR_HEIGHT = 2
BAR_ABOVE_EDGE = 4  # from its top to the bottom of the row
DOT = 6
ARC = 12
PIN = 12
FIND_MARGIN = 4


class FacetDelegate(QStyledItemDelegate):
    """Draws every row of the facet tree."""

    def __init__(self, tree: PaneTree, model: FacetModel) -> None:
        super().__init__(tree)
        self._tree = tree
        self._model = model
        self._italic: QFont | None = None
        self._box = 0
        self._sizes: dict[str, QSize] = {}  # a layout asks for every row
        self.progress = 1.0  # of the bars on their way to new counts
        self.turn_degrees: int | None = None  # of the arcs at the heads; None while none is shown
        theme().changed.connect(self._on_theme_changed)

    def _on_theme_changed(self) -> None:
        self._italic = None
        self._box = 0
        self._sizes.clear()

    @property
    def _box_size(self) -> int:
        self._box = self._box or check_size()
        return self._box

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        row = self._model.row_at(index)
        kind = "facetHead" if row is None else "smallField" if row.type is RowType.FIND else "valueRow"
        if kind not in self._sizes:
            self._sizes[kind] = QSize(0, theme().row_height(kind) + (2 * FIND_MARGIN if kind == "smallField" else 0))
        return self._sizes[kind]

    def updateEditorGeometry(self, editor: QWidget, option: QStyleOptionViewItem, index: Index) -> None:
        # Not the base's: to find the same place, it asks for all that the row says.
        editor.setGeometry(option.rect)

    def box_area(self, index: Index) -> QRect:
        """Where a click ticks the value at `index`: the box with its surroundings."""
        return mirrored(self._full_row(index), self._box_left(index) - GAP // 2, self._box_size + GAP, self._tree)

    def chevron_area(self, index: Index) -> QRect:
        """Where a click opens or closes a node of a tree."""
        left = self._box_left(index)
        return mirrored(self._full_row(index), left - GAP // 2 - INDENT, INDENT, self._tree)

    def _full_row(self, index: Index) -> QRect:
        return self._tree.full_row(self._tree.visualRect(self._model.index(index.row(), 0, index.parent())))

    def _box_left(self, index: Index) -> int:
        row = self._model.row_at(index)
        return BOX_LEFT + _step(row) if row is not None else BOX_LEFT

    def name_left(self, row: Row | None = None) -> int:
        """Where the names of values begin; of a node in a tree further in."""
        return BOX_LEFT + _step(row) + self._box_size + GAP

    def paint_row(self, painter: QPainter, full: QRect, index: Index) -> None:
        """Draw what stands on the ground of the row at `index`, which is at `full`."""
        facet, row = self._model.facet_at(index), self._model.row_at(index)
        if facet is None:
            return
        section = self._model.section(facet)
        if row is None:
            self._paint_head(painter, full, section)
        elif row.type in CHOICES:
            self._paint_value(painter, full, section, row)
        elif row.type is RowType.COLUMNS:
            self._paint_columns(painter, full)
        elif row.type is RowType.MISSING:
            self._paint_missing(painter, full, section, row)
        elif row.type is not RowType.FIND:
            self._paint_words(painter, full, row)

    def _part(self, full: QRect, left: int, right: int) -> QRect:
        """The part of a row between two distances from its leading edge."""
        return mirrored(full, left, max(0, right - left), self._tree)

    def _paint_head(self, painter: QPainter, full: QRect, section: Section) -> None:
        right = full.width() - EDGE
        said = self._model.summary(section.facet, self._tree.isExpanded(self._model.facet_index(section.facet)))
        failed = section.error is not None
        title = WORDS[section.facet].title
        # Only what is looked for may be longer than the row: its beginning is enough, it stands in the find box too.
        title_right = HEAD_TEXT + text_width(title, "strong") + GAP + (DOT + GAP if section.has_condition else 0)
        title_right += PIN + GAP // 2 if section.facet in self._model.pinned else 0
        said_left = max(title_right, right - text_width(said, "small"))
        is_empty = section.page is not None and section.total_values() == 0
        draw_text(
            painter,
            self._part(full, said_left, right),
            said,
            "small",
            "caution" if failed else "text3" if section.is_stale or is_empty else "text2",
            Qt.AlignmentFlag.AlignRight,
        )
        mark = self._part(full, said_left - GAP - ARC, said_left - GAP if said else right)
        if failed:
            draw_icon(painter, mark, "warning", "caution", ARC)
        elif section.is_counting and self.turn_degrees is not None:
            self._paint_arc(painter, mark)
        name_left = HEAD_TEXT
        if section.facet in self._model.pinned:
            draw_icon(painter, self._part(full, name_left, name_left + PIN), "pin", "text3", PIN)
            name_left += PIN + GAP // 2
        name = self._part(full, name_left, said_left - GAP)
        taken = draw_text(painter, name, title, "strong", "text")
        if section.has_condition:
            dot = self._part(full, name_left + taken + GAP, name_left + taken + GAP + DOT)
            fill_round(painter, QRect(dot.left(), full.center().y() - DOT // 2 + 1, DOT, DOT), DOT / 2, "accent")

    def _paint_arc(self, painter: QPainter, mark: QRect) -> None:
        painter.save()
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = QRect(mark.left(), mark.center().y() - ARC // 2, ARC, ARC).adjusted(1, 1, -1, -1)
        painter.setPen(QPen(theme().color("barDim"), 2))
        painter.drawEllipse(box)
        painter.setPen(QPen(theme().color("accent"), 2))
        painter.drawArc(box, (90 - (self.turn_degrees or 0)) * 16, -120 * 16)
        painter.restore()

    @staticmethod
    def _line(full: QRect) -> QRect:
        """The part of a row above its bar, which text and box share."""
        return full.adjusted(0, 0, 0, BAR_HEIGHT - 1 - BAR_ABOVE_EDGE)

    def _paint_value(self, painter: QPainter, full: QRect, section: Section, row: Row) -> None:
        self._paint_bar(painter, full, row)
        full = self._line(full)
        left = BOX_LEFT + _step(row)
        box = self._part(full, left, left + self._box_size)
        draw_check(painter, box, row.is_chosen, row.can_be_chosen, radio=not section.facet.takes_several)
        if row.is_open is not None:
            self._paint_chevron(painter, full, left, row.is_open)
        count = row.count if row.below is None else row.below
        dim = section.is_dead(row) if row.is_chosen else not count
        name_right = self._paint_count(painter, full, section, row, "strong" if row.is_chosen else "body", dim)
        draw_text(
            painter,
            self._part(full, self.name_left(row), name_right),
            row.label,
            "strong" if row.is_chosen else "body",
            "text3" if dim else "text",
            elide=Qt.TextElideMode.ElideMiddle if section.facet in PATHS else Qt.TextElideMode.ElideRight,
        )

    def _paint_chevron(self, painter: QPainter, full: QRect, left: int, is_open: bool) -> None:
        name = "chevron-down" if is_open else "chevron-left" if self._tree.isRightToLeft() else "chevron-right"
        draw_icon(painter, self._part(full, left - GAP // 2 - CHEVRON, left - GAP // 2), name, "text3", CHEVRON)

    def _paint_columns(self, painter: QPainter, full: QRect) -> None:
        end, right = full.width() - EDGE, Qt.AlignmentFlag.AlignRight
        # Translators: the heads of two narrow columns of numbers: items with what is below a path, and at it alone
        for words, to in ((tr_in("column", "All"), end), (tr_in("column", "Here"), end - COUNT_WIDTH)):
            draw_text(painter, self._part(full, to - HERE_WIDTH, to), words, "micro", "text3", right)

    def _paint_missing(self, painter: QPainter, full: QRect, section: Section, row: Row) -> None:
        self._paint_bar(painter, full, row)
        full = self._line(full)
        box = self._part(full, BOX_LEFT, BOX_LEFT + self._box_size)
        draw_check(painter, box, False, enabled=False, radio=not section.facet.takes_several)
        name_right = self._paint_count(painter, full, section, row, "body", dim=False)
        painter.setFont(self._italic_font())
        painter.setPen(theme().color("text3"))
        leading = Qt.AlignmentFlag.AlignRight if self._tree.isRightToLeft() else Qt.AlignmentFlag.AlignLeft
        flags = leading | Qt.AlignmentFlag.AlignVCenter | Qt.TextFlag.TextSingleLine | Qt.AlignmentFlag.AlignAbsolute
        painter.drawText(self._part(full, self.name_left(), name_right), int(flags), row.label)

    def _paint_count(self, painter: QPainter, full: QRect, section: Section, row: Row, role: str, dim: bool) -> int:
        """Draw the count at the end of the row, in a tree both; where the name has to end."""
        right = full.width() - EDGE
        if section.is_tree and not section.find:
            return self._paint_counts(painter, full, section, row, role, right)
        said = section.count_text(row.count)
        left = right - max(COUNT_WIDTH, text_width(said, role))
        token = "text" if row.is_chosen else "text2"
        draw_text(
            painter,
            self._part(full, left, right),
            said,
            role,
            "text3" if dim or section.is_stale else token,
            Qt.AlignmentFlag.AlignRight,
            Qt.TextElideMode.ElideNone,
        )
        return right - text_width(said, role) - GAP  # what the number does not need is the name's

    def _paint_counts(self, painter: QPainter, full: QRect, section: Section, row: Row, role: str, right: int) -> int:
        """Draw what is here and what is here and below; where the name has to end."""
        is_end = row.is_open is None  # nothing below: the same number twice
        here, all_text = section.count_text(row.count), section.count_text(row.count)
        if row.below is not None:
            all_text = section.below_text(row.below)
        here_right = right - max(COUNT_WIDTH, text_width(all_text, role) + GAP)
        for said, to, count, token in (
            (all_text, right, row.below if row.below is not None else row.count, "text3" if is_end else "text2"),
            (here, here_right, row.count, "text2"),
        ):
            token = "text3" if not count or section.is_stale else "text" if row.is_chosen else token
            part = self._part(full, to - max(HERE_WIDTH, text_width(said, role)), to)
            draw_text(painter, part, said, role, token, Qt.AlignmentFlag.AlignRight, Qt.TextElideMode.ElideNone)
        return here_right - text_width(here, role) - GAP

    def _bar(self, full: QRect, row: Row) -> QRect:
        line = self._part(full, self.name_left(row), full.width() - EDGE)
        return QRect(line.left(), full.bottom() + 1 - BAR_ABOVE_EDGE, line.width(), BAR_HEIGHT)

    def _paint_bar(self, painter: QPainter, full: QRect, row: Row) -> None:
        share = row.share_before + (row.share - row.share_before) * self.progress
        token = "barDim" if row.type is RowType.MISSING else "accent" if row.is_chosen else "bar"
        draw_bar(painter, self._bar(full, row), share, token)

    def paint_bar(self, painter: QPainter, full: QRect, index: Index) -> None:
        """Draw the bar alone, where the row has one."""
        row = self._model.row_at(index)
        if row is not None and row.type in BARS:
            self._paint_bar(painter, full, row)

    def moving_bar(self, index: Index, full: QRect) -> QRect:
        """Where the bar of the row at `full` is, an empty one where it does not move."""
        row = self._model.row_at(index)
        if row is None or row.type not in BARS or row.share == row.share_before:
            return QRect()
        return self._bar(full, row)

    def _paint_words(self, painter: QPainter, full: QRect, row: Row) -> None:
        words = self._part(full, self.name_left(row), full.width() - EDGE)
        if row.type is RowType.NOTE:
            draw_text(painter, words, row.label, "body", "text3")
        else:
            draw_text(painter, words, row.label, "medium", "accent", elide=Qt.TextElideMode.ElideMiddle)

    def _italic_font(self) -> QFont:
        if self._italic is None:
            self._italic = QFont(theme().font("body"))
            self._italic.setItalic(True)
        return self._italic


def _step(row: Row | None) -> int:
    """How much further in a row of a tree stands."""
    return min(row.depth, DEEPEST_STEP) * NODE_STEP if row is not None else 0
