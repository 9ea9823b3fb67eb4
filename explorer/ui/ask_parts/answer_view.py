"""An answer as it is read: its sentences, what they rest on, and what was read besides."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from datetime import tzinfo

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QVBoxLayout, QWidget

from explorer.asking import By
from explorer.contract import Hit
from explorer.i18n import tr, tr_n
from explorer.text import isolate, label, sentence, shown
from explorer.text import number as number_words
from explorer.ui import icons
from explorer.ui.ask_parts.question import Reply, by_words, cited_words, hit_of, not_cited_words, why_marked
from explorer.ui.ask_parts.sentence import SentenceRow
from explorer.ui.ask_parts.source import SourceRow
from explorer.ui.empty import Action
from explorer.ui.headline import headline
from explorer.ui.labels import paragraph
from explorer.ui.viewer_parts.passage import Cited

_SIDE = 16
_ROW_SIDE = 10  # a source has room of its own around its words
_QUESTION_CHARS = 600
_READ_CHARS = 400  # of an item that was read, as its passage
_AT_ONCE = 40  # sentences, that take no noticeable time to be laid out
_NOTE_CHARS = 600


class AnswerView(QScrollArea):
    """One answer at a time; what it cites opens at its place."""

    open_wanted = Signal(object, object)  # a Hit, and what was Cited of it or None

    def __init__(self, zone: tzinfo) -> None:
        super().__init__()
        self.setObjectName("answerView")
        self.setAccessibleName(tr("Answer"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._zone = zone
        self.reply: Reply | None = None
        self.sentences: list[SentenceRow] = []
        self.sources: list[SourceRow] = []
        self.not_cited: list[SourceRow] = []
        self.not_cited_button: QPushButton | None = None
        self.more_button: QPushButton | None = None
        """Shows more of an answer of many sentences; None where all are shown."""

    def clear(self) -> None:
        """Show no answer, and hold none."""
        self.reply = None
        self.sentences, self.sources, self.not_cited, self.not_cited_button = [], [], [], None
        self.more_button = None
        if (old := self.takeWidget()) is not None:
            old.hide()
            old.deleteLater()  # a button of it may be the one that was pressed

    def show_reply(self, reply: Reply, ways_on: Sequence[Action] = ()) -> None:
        """Show an answer; `ways_on`: what can be done where nothing answers."""
        self.clear()
        self.reply = reply
        answered = reply.answered
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 12, 0, 16)
        column.setSpacing(0)

        question = isolate(shown(answered.question, _QUESTION_CHARS))
        column.addWidget(_inset(paragraph("strong", "text", "askedLabel", question)))
        if not answered.says_nothing or answered.by is not By.ENGINE:
            by = by_words(answered, reply.address)
            column.addSpacing(2)
            column.addWidget(_inset(paragraph("small", "text3", "answeredByLabel", by)))
        if answered.says_nothing:
            self._add_nothing(column, ways_on)
        self._add_sentences(column)
        if answered.note is not None:
            note = sentence(shown(answered.note, _NOTE_CHARS))
            column.addSpacing(6)
            column.addWidget(_inset(paragraph("small", "caution", "engineNoteLabel", note)))
        cited = answered.cited
        if cited:
            column.addSpacing(10)
            column.addWidget(_inset(paragraph("smallStrong", "text2", "sourcesLabel", tr("Sources"))))
            column.addSpacing(2)
        for number in cited:
            citation = answered.citations[number - 1]
            source = SourceRow(citation.kind, self._title(number), citation.snippet, citation.meta, self._zone, number)
            source.clicked.connect(lambda _=False, number=number: self.open_citation(number))
            self.sources.append(source)
            column.addWidget(_inset(source, _ROW_SIDE))
        self._add_not_cited(column, reply)
        column.addStretch(1)
        self.setWidget(page)
        page.setAutoFillBackground(False)
        self.verticalScrollBar().setValue(0)

    def _add_sentences(self, column: QVBoxLayout) -> None:
        """The sentences, the first of many at once and the others when they are asked for."""
        box = QWidget()
        rows = QVBoxLayout(box)
        rows.setContentsMargins(0, 0, 0, 0)
        rows.setSpacing(0)
        column.addWidget(box)
        button = QPushButton()
        button.setObjectName("moreSentencesButton")
        button.setProperty("kind", "flat")
        button.setProperty("textRole", "smallMedium")
        line = QHBoxLayout()
        line.setContentsMargins(_ROW_SIDE - 3, 0, _SIDE, 0)
        line.addWidget(button)
        line.addStretch(1)
        column.addLayout(line)
        self.more_button = button
        button.clicked.connect(lambda: self._show_more(rows, button))
        self._show_more(rows, button)

    def _show_more(self, rows: QVBoxLayout, button: QPushButton) -> None:
        assert self.reply is not None
        every = self.reply.answered.sentences
        first = len(self.sentences)
        for one in every[first : first + _AT_ONCE]:
            cites = [(number, cited_words(number, self._title(number))) for number in one.cites]
            row = SentenceRow(one.text, cites, why_marked(one))
            row.cite_wanted.connect(self.open_citation)
            self.sentences.append(row)
            rows.addSpacing(2 if one.begins_line else 0)
            rows.addWidget(_inset(row))
        left = len(every) - len(self.sentences)
        if not left:
            if button.hasFocus():  # it is not to be passed on to anything
                self.setFocus(Qt.FocusReason.OtherFocusReason)
            self.more_button = None
        button.setVisible(left > 0)
        button.setText(tr_n("Show {n} more sentence", "Show {n} more sentences", left, n=number_words(left)))

    def open_citation(self, number: int) -> None:
        """Have the item of a citation opened at its place."""
        if self.reply is not None:
            citation = self.reply.answered.citations[number - 1]
            self.open_wanted.emit(hit_of(citation), Cited(citation.snippet, citation.place))

    def _title(self, number: int) -> str:
        assert self.reply is not None
        citation = self.reply.answered.citations[number - 1]
        return self.reply.titles.get(citation.id) or headline(hit_of(citation)).name

    def _add_nothing(self, column: QVBoxLayout, ways_on: Sequence[Action]) -> None:
        said = tr("Nothing stored answers this question.")
        column.addSpacing(6)
        column.addWidget(_inset(paragraph("body", "text2", "nothingLabel", said)))
        buttons = QHBoxLayout()
        buttons.setContentsMargins(_SIDE, 8, _SIDE, 0)
        buttons.setSpacing(8)
        for words, act in ways_on:
            button = QPushButton(label(words))
            button.clicked.connect(_calling(act))
            buttons.addWidget(button)
        buttons.addStretch(1)
        column.addLayout(buttons)

    def _add_not_cited(self, column: QVBoxLayout, reply: Reply) -> None:
        answered = reply.answered
        if answered.reading_error is not None:
            said = tr("What else was read is not known. {why}", why=sentence(answered.reading_error))
            column.addSpacing(12)
            column.addWidget(_inset(paragraph("small", "caution", "readingErrorLabel", said)))
        rest = [number for number in range(1, len(answered.citations) + 1) if number not in answered.cited]
        if not rest and not answered.read_not_cited:
            return
        button = QPushButton(label(not_cited_words(len(rest) + len(answered.read_not_cited))))
        button.setObjectName("notCitedButton")
        button.setProperty("kind", "flat")
        button.setProperty("textRole", "smallMedium")
        rows = QWidget()
        below = QVBoxLayout(rows)
        below.setContentsMargins(0, 0, 0, 0)
        below.setSpacing(0)
        for number in rest:  # of what was found for an answer, a model may leave something out
            citation = answered.citations[number - 1]
            row = SourceRow(citation.kind, self._title(number), citation.snippet, citation.meta, self._zone)
            row.clicked.connect(lambda _=False, number=number: self.open_citation(number))
            self.not_cited.append(row)
        for hit in answered.read_not_cited:
            row = SourceRow(hit.kind, headline(hit).name, _start_of(hit), hit.meta, self._zone)
            row.clicked.connect(lambda _=False, hit=hit: self.open_wanted.emit(hit, None))
            self.not_cited.append(row)
        for row in self.not_cited:
            below.addWidget(_inset(row, _ROW_SIDE))

        def open_rows(is_open: bool) -> None:
            rows.setVisible(is_open)
            icons.keep(button, "chevron-down" if is_open else "chevron-right")
            button.setAccessibleDescription(tr("The list is open") if is_open else tr("The list is closed"))

        button.clicked.connect(lambda: open_rows(rows.isHidden()))
        open_rows(answered.says_nothing)  # then it is all that there is to look at
        line = QHBoxLayout()
        line.setContentsMargins(_ROW_SIDE - 3, 0, _SIDE, 0)
        line.addWidget(button)
        line.addStretch(1)
        column.addSpacing(10)
        column.addLayout(line)
        column.addWidget(rows)
        self.not_cited_button = button


def _calling(act: Callable[[], None]) -> Callable[[], None]:
    return lambda: act()  # without what the signal brings


def _start_of(hit: Hit) -> str:
    """What an item says after its title."""
    rest = headline(hit).rest
    return rest[:_READ_CHARS] if headline(hit).title else hit.text[:_READ_CHARS]


def _inset(part: QWidget, side: int = _SIDE) -> QWidget:
    """`part` with room at its sides; a widget and not a layout, which would not know its height for its width."""
    box = QWidget()
    column = QVBoxLayout(box)
    column.setContentsMargins(side, 0, side, 0)
    column.addWidget(part)
    return box
