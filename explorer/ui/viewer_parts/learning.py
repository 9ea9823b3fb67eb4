"""A learning as a card: the statement, what it rests on, and where it came from."""

from __future__ import annotations

import re
import unicodedata
from collections.abc import Iterator
from datetime import tzinfo

from PySide6.QtCore import QSize, Qt, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QFrame, QHBoxLayout, QLabel, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from explorer.contract import Hit, Learning
from explorer.i18n import tr
from explorer.text import in_quotes, shown, tip
from explorer.ui.rows import draw_text, text_width
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.describe import TURN_BASE, short_pairs, turn_words
from explorer.ui.viewer_parts.ink import Ink, Steps, end_of
from explorer.ui.viewer_parts.pairs import RING, PairGrid
from explorer.ui.viewer_parts.readers import MARGIN, GrowingReader
from explorer.ui.viewer_parts.seen_by import SeenBy
from explorer.ui.viewer_parts.writing import write_plain

RULE_PX = 3
MAX_REFERENCE = 400  # characters
_MAX_THREAD_CHARS = 200
_QUOTES = "\"'“”„‟‘’‚‛«»‹›「」『』〝〞〟＂"


class LearningCard(QScrollArea):
    """The page of a learning. `start` sets it up; its steps then write the texts, which may be long."""

    filter_wanted = Signal(str, object)
    conversation_wanted = Signal()  # the one that the evidence is from

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("learningCard")
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self._thread: str | None = None
        self.statement = GrowingReader("statementView")
        self.statement.setAccessibleName(tr("Learning"))
        self.statement_box = _padded(self.statement)
        self.evidence_label = QLabel(tr("Evidence"))
        self.evidence_label.setProperty("textRole", "smallStrong")
        self.evidence_label.setProperty("tone", "text2")
        self.evidence = GrowingReader("evidenceView")
        self.evidence.setAccessibleName(tr("Evidence"))
        self.quote = Quote(self.evidence)
        self.thread_label = _OneLine()
        self.thread_label.setObjectName("threadLabel")
        self.thread_button = QPushButton(tr("Open the conversation"))
        self.thread_button.setObjectName("threadButton")
        self.thread_button.setProperty("kind", "link")
        self.thread_button.setToolTip(tr("Read the conversation here, at this turn"))
        row = QHBoxLayout()
        row.setContentsMargins(0, 0, 0, 0)
        row.setSpacing(6)
        row.addWidget(self.thread_label)
        row.addWidget(self.thread_button)
        row.addStretch(1)
        self.thread_row = QWidget()
        self.thread_row.setLayout(row)
        self.evidence_box = _padded(self.evidence_label, self.quote, self.thread_row)
        self.rules = [_rule(), _rule(), _rule()]
        self.seen_by = SeenBy()
        self.pairs = PairGrid()

        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.statement_box)
        column.addWidget(self.rules[0])
        column.addWidget(self.evidence_box)
        column.addWidget(self.rules[1])
        column.addWidget(_padded(self.seen_by))
        column.addWidget(self.rules[2])
        column.addWidget(_padded(self.pairs, side=MARGIN - RING))
        column.addStretch(1)
        self._page = page
        self.setWidget(page)
        self.pairs.filter_wanted.connect(self.filter_wanted)
        self.thread_button.clicked.connect(self.conversation_wanted)

    def reveal(self, reader: GrowingReader, position: int) -> None:
        """Scroll to a place in one of the texts."""
        cursor = end_of(reader.document())
        cursor.setPosition(position)
        top = reader.mapTo(self._page, reader.cursorRect(cursor).topLeft()).y()
        self.ensureVisible(0, top, 0, 3 * MARGIN)

    def start(self, hit: Hit, item: Learning | None, zone: tzinfo, *, with_statement: bool) -> tuple[Steps, int]:
        """Show a learning; `with_statement` when the title above does not hold all of it.

        What writes its texts, and how many characters they have.
        """
        ink = Ink()
        evidence = item.evidence if item is not None else None
        self._thread = hit.meta.thread_id
        self.statement_box.setVisible(with_statement)
        self.rules[0].setVisible(with_statement)
        self.evidence_label.setVisible(evidence is not None)
        self.quote.setVisible(evidence is not None)
        self.thread_row.setVisible(self._thread is not None)
        self.thread_label.show_text(self._thread_words(hit))
        base = f"\n{tr(TURN_BASE)}" if hit.meta.turns is not None else ""
        self.thread_label.setToolTip(tip(shown(self._thread or "", 2_000) + base))
        has_evidence = evidence is not None or self._thread is not None
        self.evidence_box.setVisible(has_evidence)
        self.rules[1].setVisible(has_evidence)
        self.pairs.show_pairs(short_pairs(hit, item, zone))
        self.statement.start()
        self.evidence.start()
        self.verticalScrollBar().setValue(0)
        statement, proof = hit.text if with_statement else "", quoted(evidence or "")
        return self._write(statement, proof, ink), len(statement) + len(proof)

    def _write(self, statement: str, evidence: str, ink: Ink) -> Iterator[int]:
        cursor = end_of(self.statement.document())
        cursor.setBlockFormat(ink.block())
        yield from write_plain(cursor, statement, "body", "text", ink)
        cursor = end_of(self.evidence.document())
        cursor.setBlockFormat(ink.block())
        yield from write_plain(cursor, evidence, "mono" if is_reference(evidence) else "body", "text2", ink)

    def _thread_words(self, hit: Hit) -> str:
        if self._thread is None:
            return ""
        thread = shown(self._thread, _MAX_THREAD_CHARS)
        if (turns := hit.meta.turns) is None:
            return tr("from thread {thread}", thread=thread)
        if turns.first == turns.last:
            return tr("from thread {thread}, turn {turn}", thread=thread, turn=turns.first)
        return tr("from thread {thread}, turns {turns}", thread=thread, turns=turn_words(turns))


def is_reference(evidence: str) -> bool:
    """Whether evidence is the name of something, as a path or an id: one word, in a script that parts words."""
    is_one_word = 0 < len(evidence) <= MAX_REFERENCE and re.search(r"\s", evidence) is None
    return is_one_word and all(unicodedata.category(char) != "Lo" for char in evidence)


def quoted(evidence: str) -> str:
    """`evidence` in quotes, unless it is no sentence or has brought its own at one end or the other."""
    ends = evidence.strip()
    is_bare = not ends or is_reference(evidence) or ends[0] in _QUOTES or ends[-1] in _QUOTES
    return evidence if is_bare else in_quotes(evidence)


class Quote(QFrame):
    """Text behind a rule."""

    def __init__(self, text: QWidget) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(RULE_PX + 13, 4, RULE_PX + 13, 4)  # the rule may be at either side
        column.addWidget(text)

    def paintEvent(self, event: QPaintEvent) -> None:
        left = self.width() - RULE_PX if self.isRightToLeft() else 0
        QPainter(self).fillRect(left, 0, RULE_PX, self.height(), theme().color("barDim"))


class _OneLine(QWidget):
    """A line of plain text that gives up its middle where it is too long."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)

    def show_text(self, text: str) -> None:
        self.text = text
        self.setAccessibleName(text)
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        return QSize(text_width(self.text, "small") + 1, theme().row_height("treeRow"))

    def minimumSizeHint(self) -> QSize:
        return QSize(40, theme().row_height("treeRow"))

    def paintEvent(self, event: QPaintEvent) -> None:
        elide = Qt.TextElideMode.ElideMiddle
        draw_text(QPainter(self), self.rect(), self.text, "small", "text2", elide=elide)


def _rule() -> QFrame:
    made = QFrame()
    made.setProperty("surface", "rule")
    return made


def _padded(*parts: QWidget, side: int = MARGIN) -> QWidget:
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(side, 12, side, 12)
    column.setSpacing(8)
    for part in parts:
        column.addWidget(part)
    return box
