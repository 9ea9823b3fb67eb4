"""The Why page: the parts of a score as numbers with bars, the passage that was found, and the filter's conditions."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QEvent, QRect, QRectF, QSize, Qt
from PySide6.QtGui import QHelpEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QScrollArea, QSizePolicy, QToolTip, QVBoxLayout, QWidget

from explorer.i18n import tr
from explorer.text import isolate, listed, shown, tip
from explorer.ui.icons import IconLabel
from explorer.ui.labels import plain_label
from explorer.ui.rows import draw_bar, draw_text, text_width
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.learning import Quote
from explorer.ui.viewer_parts.marks import marked
from explorer.ui.viewer_parts.readers import MARGIN
from explorer.ui.viewer_parts.why import Meets, Part, Reason

BAR_PX = 6
GAP = 12
_LEAST_BAR = 40
_MAX_VALUE = 600  # characters of a condition


class PartBars(QWidget):
    """One row a part: its name, a bar over what it reached of 1, and what its weight makes of that."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("partBars")
        self.parts: Sequence[Part] = ()
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def show_parts(self, parts: Sequence[Part]) -> None:
        self.parts = parts
        self.setVisible(bool(parts))
        self.setAccessibleName(listed(f"{part.name} {part.numbers}" for part in parts))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(240, len(self.parts) * self._row())

    def minimumSizeHint(self) -> QSize:
        return QSize(160, len(self.parts) * self._row())

    def event(self, event: QEvent) -> bool:
        if event.type() == QEvent.Type.ToolTip and isinstance(event, QHelpEvent):
            at = event.pos().y() // self._row()
            words = self.parts[at].meaning if 0 <= at < len(self.parts) else ""
            QToolTip.showText(event.globalPos(), tip(words), self)
            return True
        return super().event(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        row, width = self._row(), self.width()
        names = max((text_width(part.name, "smallStrong") for part in self.parts), default=0) + GAP
        numbers = max((text_width(part.numbers, "smallStrong") for part in self.parts), default=0) + GAP
        bar = width - names - numbers
        for at, part in enumerate(self.parts):
            role = "smallStrong" if part.is_sum else "small"
            top = at * row
            if part.is_sum:
                painter.fillRect(0, top, width, 1, theme().color("line"))
            draw_text(painter, self._placed(0, top, names, row), part.name, role, "text")
            if bar >= _LEAST_BAR:
                box = self._placed(names, top + (row - BAR_PX) // 2, bar, BAR_PX)
                counts = part.is_sum or bool(part.weight)
                draw_bar(painter, box, part.value, "accent" if part.is_sum else "bar" if counts else "barDim")
            text = self._placed(width - numbers, top, numbers, row)
            end = Qt.AlignmentFlag.AlignRight
            draw_text(painter, QRectF(text), part.numbers, role, "text" if part.is_sum else "text2", end)

    def _placed(self, left: int, top: int, width: int, height: int) -> QRect:
        if self.isRightToLeft():
            left = self.width() - left - width
        return QRect(left, top, width, height)

    def _row(self) -> int:
        return theme().row_height("valueRow")


class WhyView(QScrollArea):
    """Shows a `Reason`."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("whyView")
        self.setAccessibleName(tr("Why the item is here"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.lead_label = _said("whyLead", "text")
        self.bars = PartBars()
        self.remarks_label = _said("whyRemarks", "text2", "small")
        self.warnings_label = _said("whyWarnings", "caution", "small")
        self.passage_head = plain_label("smallStrong", "text2", tr("Passage found"))
        self.passage_label = _said("whyPassage", "text")
        self.passage_quote = Quote(self.passage_label)
        self.passage_words = _said("whyPassageWords", "text3", "small")
        self.meets_head = plain_label("smallStrong", "text2", tr("Conditions of the filter"))
        self.meets_label = _said("whyNoConditions", "text2", "small")
        self.meets_label.setText(tr("The filter is empty: it admits everything outside sandboxes."))
        self._meets = QVBoxLayout()
        self._meets.setSpacing(4)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(MARGIN, 12, MARGIN, 12)
        column.setSpacing(8)
        parts: list[QWidget] = [self.lead_label, self.bars, self.remarks_label, self.warnings_label]
        parts += [self.passage_head, self.passage_quote, self.passage_words, self.meets_head, self.meets_label]
        for part in parts:
            column.addWidget(part)
        column.addLayout(self._meets)
        column.addStretch(1)
        self.setWidget(page)

    def show_reason(self, reason: Reason) -> None:
        """Replace what is shown."""
        self.lead_label.setText(reason.lead)
        self.bars.show_parts(reason.parts)
        for label, words in (
            (self.remarks_label, "\n".join(reason.remarks)),
            (self.warnings_label, "\n".join(reason.warnings)),
            (self.passage_words, reason.passage_words),
        ):
            label.setText(words)
            label.setVisible(bool(words))
        self.passage_label.setText(isolate(marked(reason.passage)))
        self.passage_head.setVisible(bool(reason.passage))
        self.passage_quote.setVisible(bool(reason.passage))
        self.meets_label.setVisible(not reason.meets)
        while (old := self._meets.takeAt(0)) is not None:
            if (row := old.widget()) is not None:
                row.hide()
                row.deleteLater()
        for each in reason.meets:
            self._meets.addWidget(_condition_row(each))
        self.verticalScrollBar().setValue(0)

    def conditions(self) -> list[str]:
        """The conditions as they are read."""
        rows = [item.widget() for at in range(self._meets.count()) if (item := self._meets.itemAt(at)) is not None]
        return [row.accessibleName() for row in rows if row is not None]


def _condition_row(meets: Meets) -> QWidget:
    value = meets.condition.drawn or shown(meets.condition.value, _MAX_VALUE)
    words = f"{meets.condition.words} {isolate(value)}"
    row = QWidget()
    row.setAccessibleName(words if meets.is_met else tr("{condition}: it does not meet this", condition=words))
    line = QHBoxLayout(row)
    line.setContentsMargins(0, 0, 0, 0)
    line.setSpacing(8)
    line.addWidget(IconLabel("check" if meets.is_met else "close", "accent" if meets.is_met else "caution"))
    label = _said("whyCondition", "text" if meets.is_met else "caution", "small")
    label.setText(row.accessibleName())
    line.addWidget(label, 1)
    return row


def _said(name: str, tone: str, role: str = "body") -> QLabel:
    """A text over several lines, that can be selected."""
    label = plain_label(role, tone)
    label.setObjectName(name)
    label.setWordWrap(True)
    label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    return label
