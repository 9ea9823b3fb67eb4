"""The numbers of a document: its budget, its tokens by two counts, its sections, and what was left out by hand."""

from __future__ import annotations

from PySide6.QtCore import Signal
from PySide6.QtGui import QResizeEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QSizePolicy, QVBoxLayout, QWidget

from explorer import text
from explorer.context import Gathered, SecondCount, Trimmed
from explorer.i18n import tr, tr_n
from explorer.ui import icons
from explorer.ui.context_parts.budget import LEAST, MOST, BudgetRow
from explorer.ui.context_parts.section_bar import SectionBar, SectionLines
from explorer.ui.context_parts.shown import parts_of
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.rows import text_width
from explorer.ui.theme import theme

_EDGE = 16
_WARNING = 12
_BETWEEN = 6
_BRIEF_BELOW_PX = 440  # lines of sections that are whole are left out


class Numbers(QFrame):
    """Shows what it is given; the budget is the person's."""

    put_back_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setProperty("surface", "head")
        self._tokens: int | None = None
        self._counted: SecondCount | None = None
        self._is_list = False
        self.budget = BudgetRow()
        self.tokens_label = plain_label("smallStrong")
        self.tokens_label.setObjectName("contextTokensLabel")
        self.warning = icons.IconLabel("warning", "caution", _WARNING)
        self.estimate_label = plain_label("small", "text3")
        self.estimate_label.setObjectName("contextEstimateLabel")
        self.estimate_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.bar = SectionBar()
        self.lines = SectionLines()
        self.without_label = plain_label("small", "caution")
        self.without_label.setObjectName("contextWithoutLabel")
        self.put_back_button = QPushButton(tr("Put back"))
        self.put_back_button.setObjectName("contextPutBackButton")
        self.put_back_button.setProperty("kind", "link")
        self.put_back_button.setProperty("textRole", "smallMedium")
        self.without_row = QWidget()
        row = QHBoxLayout(self.without_row)
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(4)
        row.addWidget(self.without_label)
        row.addWidget(self.put_back_button)
        row.addStretch(1)
        words = QHBoxLayout()
        words.setSpacing(_BETWEEN)
        words.addWidget(self.tokens_label)
        words.addWidget(self.warning)
        words.addWidget(self.estimate_label, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(margins(_EDGE, 6, _EDGE, 8))
        column.setSpacing(6)
        column.addWidget(self.budget)
        column.addLayout(words)
        column.addWidget(self.bar)
        column.addWidget(self.lines)
        column.addWidget(self.without_row)
        self.budget.refused.connect(self._on_budget_refused)
        self.put_back_button.clicked.connect(self.put_back_wanted)
        self.clear()

    @property
    def stops(self) -> list[QWidget]:
        """Where the Tab key comes to."""
        return [self.budget.slider, self.budget.spin, self.bar, self.lines, self.put_back_button]

    def show_document(self, gathered: Gathered, trimmed: Trimmed, left_out: int) -> None:
        """The numbers of another document; `left_out`: how many items it is without since the person said so."""
        parts = parts_of(trimmed, gathered.is_list_whole)
        self.bar.show_parts(parts)
        self.lines.show_parts(parts)
        n = text.number(left_out)
        words = tr_n("Without {n} item that you left out.", "Without {n} items that you left out.", left_out, n=n)
        self.without_label.setText(words)
        self.without_row.setVisible(left_out > 0)
        self._tokens, self._counted = trimmed.doc.tokens, None
        self._show_counts()

    def show_counted(self, counted: SecondCount) -> None:
        """The second count of what is shown."""
        self._counted = counted
        self._show_counts()

    def clear(self) -> None:
        """There is no document."""
        self._tokens = self._counted = None
        self.bar.show_parts([])
        self.lines.show_parts([])
        self.without_row.hide()
        self._show_counts()

    def set_list(self, is_list: bool) -> None:
        """Whether the items stand below: lines of sections that are whole leave their room to them."""
        self._is_list = is_list
        self.lines.set_brief(is_list or self.width() < theme().scaled(_BRIEF_BELOW_PX))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.set_list(self._is_list)
        self._show_counts()

    def _show_counts(self) -> None:
        is_far = self._counted is not None and self._counted.is_far
        self.warning.setVisible(is_far)
        if self._tokens is None:
            self.tokens_label.setText("")
            self.estimate_label.setText("")
            return
        n, total = text.number(self._tokens), text.number(self.budget.tokens)
        self.tokens_label.setText(tr("{n} of {total} tokens", n=n, total=total))
        whole = said = tr("estimate, 4 characters a token")
        if self._counted is not None:
            other = tr("by {counter} {n}", counter=self._counted.by, n=text.number(self._counted.tokens))
            whole = said = tr("{estimate}; {other}", estimate=whole, other=other)
            between = _BETWEEN + (_WARNING + _BETWEEN if is_far else 0)
            room = self.width() - 2 * _EDGE - self.tokens_label.sizeHint().width() - between
            if text_width(whole, "small") > room:
                said = tr("{estimate}; {other}", estimate=tr("estimate"), other=other)
        self.estimate_label.setText(said)
        _set_tone(self.estimate_label, "caution" if is_far else "text3")
        _set_tone(self.tokens_label, "caution" if is_far else "")
        far = tr("The two differ by more than half: what a model counts may be far from the budget.")
        self.warning.setAccessibleName(far if is_far else "")
        more = [text.named(self.tokens_label.text(), whole), far if is_far else ""]
        if self._counted is not None and self._counted.frame:
            ids = text.number(self._counted.frame)
            more.append(tr("{n} of the second count are the frontmatter with its ids.", n=ids))
        for part in (self.tokens_label, self.estimate_label, self.warning):
            part.setToolTip(text.tip("\n".join(filter(None, more))))

    def _on_budget_refused(self, is_refused: bool) -> None:
        if not is_refused:
            self._show_counts()
            return
        least, most = text.number(LEAST), text.number(MOST)
        self.estimate_label.setText(tr("a budget is {least} to {most} tokens", least=least, most=most))
        _set_tone(self.estimate_label, "caution")


def _set_tone(label: QWidget, tone: str) -> None:
    if label.property("tone") != tone:
        label.setProperty("tone", tone)
        label.style().polish(label)
