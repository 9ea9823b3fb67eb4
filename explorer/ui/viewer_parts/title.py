"""The head of an item: its kind and what it is called, and for a learning how sure it is."""

from __future__ import annotations

import re

from PySide6.QtCore import QRect, QRectF, QSize, Qt
from PySide6.QtGui import QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QSizePolicy, QWidget

from explorer.contract import LearningKind
from explorer.i18n import tr
from explorer.text import confidence, listed, shown, tip, word
from explorer.ui.rows import draw_icon, draw_pill, draw_text, fill_round, pill_width, text_width
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.lines import draw_lines, lay_out, line_height, mark_in_lines

SIDE = 16
ICON = 24  # from the side to the text
MAX_LINES = 2
MAX_LEARNING_LINES = 5  # the title of a learning is all of it
BLOCKS = 10
_BLOCK = QSize(10, 8)
_BLOCK_GAP = 2


class TitleBlock(QWidget):
    """A title of at most two lines beside its icon."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("itemTitle")
        self._icon = ""
        self._text = ""
        self._max_lines = MAX_LINES
        self._found: re.Pattern[str] | None = None
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    @property
    def text(self) -> str:
        """The title in full, as it is drawn."""
        return self._text

    @property
    def is_cut(self) -> bool:
        """Whether the title does not fit."""
        return "".join(self._lines(self.width())).replace(" ", "") != self._text.replace(" ", "")

    def show_title(self, icon: str, text: str, max_lines: int = MAX_LINES) -> None:
        """Show another title; stored text, drawn as it is written."""
        self._max_lines = max_lines
        self._icon = icon
        self._text = shown(text, 600)
        self.setAccessibleName(self._text)
        self.setToolTip(tip(self._text))
        self.updateGeometry()
        self.update()

    def mark_found(self, pattern: re.Pattern[str] | None) -> None:
        """Mark what `pattern` finds in the title."""
        self._found = pattern
        self.update()

    def _lines(self, width: int) -> list[str]:
        return lay_out(self._text, "title", width - 2 * SIDE - ICON, self._max_lines)

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return max(1, len(self._lines(width))) * line_height("title")

    def sizeHint(self) -> QSize:
        return QSize(240, self.heightForWidth(max(self.width(), 240)))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, line_height("title"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.updateGeometry()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        height = line_height("title")
        mirrored = self.isRightToLeft()
        left = self.width() - SIDE - 16 if mirrored else SIDE
        if self._icon:
            draw_icon(painter, QRect(left, 0, 16, height), self._icon, "accent")
        text = QRect(SIDE if mirrored else SIDE + ICON, 0, self.width() - 2 * SIDE - ICON, self.height())
        lines = self._lines(self.width())
        if self._found is not None:
            mark_in_lines(painter, text, lines, "title", self._found)
        draw_lines(painter, text, lines, "title", "text")


class ConfidenceRow(QWidget):
    """A learning's kind as a pill, and its confidence as a number and ten blocks."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("confidenceRow")
        self._kind: LearningKind | None = None
        self._confidence: float | None = None
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    @property
    def kind(self) -> LearningKind | None:
        return self._kind

    @property
    def confidence(self) -> float | None:
        return self._confidence

    def show_learning(self, kind: LearningKind | None, value: float | None) -> None:
        """`kind` is None while it is not known: a hit does not tell."""
        self._kind, self._confidence = kind, value
        said = tr("confidence {value}", value=confidence(value)) if value is not None else ""
        self.setAccessibleName(listed((word(kind) if kind else "", said)))
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, theme().row_height("chip"))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        row = QRect(SIDE, 0, self.width() - 2 * SIDE, self.height())
        mirrored = self.isRightToLeft()
        taken = 0
        if self._kind is not None:
            kind = word(self._kind)
            width = pill_width(kind)
            taken = ICON + width + 8
            left = row.right() + 1 - ICON - width if mirrored else row.left() + ICON
            draw_pill(painter, QRect(left, row.top(), width, row.height()), kind)
        if self._confidence is None:
            return
        number, name = confidence(self._confidence), tr("confidence")
        number_width, name_width = text_width(number, "strong"), text_width(name, "small")
        blocks_width = BLOCKS * _BLOCK.width() + (BLOCKS - 1) * _BLOCK_GAP + 12
        room = row.width() - taken - number_width  # in a narrow pane the name goes first, then the blocks
        has_blocks, has_name = room >= blocks_width, room >= blocks_width + 8 + name_width
        if has_blocks:
            self._draw_blocks(painter, row.left() if mirrored else row.right() + 1 - blocks_width + 12, row)
        else:
            blocks_width = 0
        number_left = row.left() + blocks_width if mirrored else row.right() + 1 - blocks_width - number_width
        name_left = number_left + number_width + 8 if mirrored else number_left - 8 - name_width
        align = Qt.AlignmentFlag.AlignLeft
        draw_text(painter, QRectF(number_left, 0, number_width + 1, self.height()), number, "strong", "text", align)
        if has_name:
            draw_text(painter, QRectF(name_left, 0, name_width + 1, self.height()), name, "small", "text2", align)

    def _draw_blocks(self, painter: QPainter, left: int, row: QRect) -> None:
        filled = round(max(0.0, min(1.0, self._confidence or 0.0)) * BLOCKS)
        top = row.top() + (row.height() - _BLOCK.height()) // 2
        for at in range(BLOCKS):
            place = BLOCKS - 1 - at if self.isRightToLeft() else at
            x = left + place * (_BLOCK.width() + _BLOCK_GAP)
            box = QRect(x, top, _BLOCK.width(), _BLOCK.height())
            fill_round(painter, box, 2, "accent" if at < filled else "barDim")
