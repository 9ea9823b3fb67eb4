"""A document to read: rendered with its citations, and as it is written."""

from __future__ import annotations

import re
from collections import OrderedDict
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, Qt, QUrl, Signal
from PySide6.QtGui import QContextMenuEvent, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget

from explorer.contract.model import collapsed
from explorer.i18n import mark, tr
from explorer.text import shown, size_out_of, tip
from explorer.ui.context_parts.shown import Entry
from explorer.ui.jobs import Jobs
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.markdown import Block, BlockKind, Span, is_too_intricate, slices
from explorer.ui.viewer import FIRST_CHARS, LOAD, NOW_CHARS, STOP, Writing
from explorer.ui.viewer_parts.ink import MAX_LINE, UNWRAPPED_LINE, Ink, Steps, end_of, has_long_line, put
from explorer.ui.viewer_parts.page_ring import PageRing
from explorer.ui.viewer_parts.parsing import measured, parsed
from explorer.ui.viewer_parts.readers import PlainReader, Reader
from explorer.ui.viewer_parts.writing import write_blocks, write_plain

# Translators: how a document is shown: as it reads, and as it is written
RENDERED, SOURCE = mark("Rendered"), mark("Source")
SCHEME = "item"
"""Of links that the program makes; none of a stored text is opened that has another than the web's or mail."""
_MARK = re.compile(r"\[(\d{1,3})\]")
_PARSED_MOST = 400  # texts kept: of a slider that is dragged only the last one of all is another
_TIP_CHARS = 300
_ENOUGH = 60  # characters of a quote by which it is known
_TOP = 6
_LINES_AT_ONCE = 12_000  # characters of a list, parsed in one go


@dataclass(frozen=True)
class Passage:
    """A part of a section: what is written, and the items that it may name."""

    source: str
    cites: tuple[Entry, ...] = ()
    heading: str | None = None
    """That of the section, where it begins here."""
    is_end: bool = False
    """Whether the section ends here: its items stand behind it, unless the answer names them itself."""
    is_line: bool = False
    """Whether it is one of a list, with one item of its own."""


def passages_of(headings: Sequence[str], bodies: Sequence[str], entries: Sequence[Entry]) -> list[Passage]:
    """The parts of a document in order; the last section is the list of learnings, a part a line."""
    found: list[Passage] = []
    for at, (heading, body) in enumerate(zip(headings, bodies, strict=True)):
        if not body:
            continue
        cites = tuple(entry for entry in entries if entry.section == at and entry.is_in)
        is_list = at == len(headings) - 1
        parts = body.split("\n") if is_list else list(slices(body))
        for number, part in enumerate(parts):
            begins = heading if number == 0 else None
            if is_list:
                found.append(Passage(part, cites[number : number + 1], begins, is_line=True))
            else:
                found.append(Passage(part, cites, begins, is_end=number == len(parts) - 1))
    return found


class CitingReader(Reader):
    """A text some of whose links are items."""

    item_wanted = Signal(object)  # an Entry
    item_menu_wanted = Signal(object, QPoint)

    def __init__(self, name: str, parent: QWidget | None = None) -> None:
        super().__init__(name, parent)
        self._cited: list[Entry] = []
        self.anchorClicked.disconnect(self.link_wanted)
        self.anchorClicked.connect(self._on_anchor_clicked)

    def start(self, top_px: int = _TOP) -> None:
        super().start(top_px)
        self._cited = []

    def link_to(self, entry: Entry, ink: Ink) -> QTextCharFormat:
        """The format of a citation that leads to `entry`."""
        made = QTextCharFormat(ink.chars("small", "accent"))
        made.setAnchor(True)
        made.setAnchorHref(f"{SCHEME}:{len(self._cited)}")
        made.setToolTip(tip(shown(collapsed(entry.hit.text[: 2 * _TIP_CHARS]), _TIP_CHARS)))
        self._cited.append(entry)
        return made

    def contextMenuEvent(self, event: QContextMenuEvent) -> None:
        entry = self._entry_of(QUrl(self.anchorAt(event.pos())))
        if entry is None:
            super().contextMenuEvent(event)
        else:
            self.item_menu_wanted.emit(entry, event.globalPos())

    def _entry_of(self, url: QUrl) -> Entry | None:
        if url.scheme() != SCHEME or not url.path().isdigit() or int(url.path()) >= len(self._cited):
            return None
        return self._cited[int(url.path())]

    def _on_anchor_clicked(self, url: QUrl) -> None:
        entry = self._entry_of(url)
        if entry is None:
            self.link_wanted.emit(url)
        else:
            self.item_wanted.emit(entry)


def write_passage(
    view: CitingReader, cursor: QTextCursor, passage: Passage, blocks: list[Block] | None, starts: list[int], ink: Ink
) -> Steps:
    """One part; where it could not be parsed, as it is written. Where its section begins is put into `starts`."""
    if passage.heading is not None:
        yield from write_blocks(cursor, [Block(BlockKind.HEADING, [Span(passage.heading)], level=2)], ink)
        starts.append(cursor.block().position())
    start = cursor.position()
    if blocks is None:
        cursor.insertBlock(ink.block(above=4, below=6), QTextCharFormat())
        yield from write_plain(cursor, passage.source, "body", "text", ink)
    elif (points := _by_point(blocks, passage.cites)) is not None and not passage.is_line:
        for block, cites in zip(blocks, points, strict=True):
            yield from write_blocks(cursor, [block], ink)
            _put_links(view, cursor, _numbered(cites), ink)
        _put_links(
            view, cursor, _numbered([one for one in passage.cites if not any(one in each for each in points)]), ink
        )
        return
    else:
        yield from measured(write_blocks(cursor, blocks, ink), len(passage.source))
    cursor.movePosition(QTextCursor.MoveOperation.End)
    if passage.is_line:
        _put_links(view, cursor, [("→", entry) for entry in passage.cites], ink)
    elif not _link_marks(view, start, passage.cites, ink) and passage.is_end and passage.cites:
        if not blocks or blocks[-1].kind is not BlockKind.TEXT:
            cursor.insertBlock(ink.block(above=2, below=6), QTextCharFormat())
        _put_links(view, cursor, _numbered(passage.cites), ink)


def _numbered(cites: Sequence[Entry]) -> list[tuple[str, Entry]]:
    return [(str(number), entry) for entry in cites for number in entry.numbers[:1]]


def _by_point(blocks: Sequence[Block], cites: Sequence[Entry]) -> list[list[Entry]] | None:
    """Of an answer in points that each quote what they rest on, the items of each; None of any other answer."""
    if not blocks or not all(block.marker and _MARK.search(block.text) is None for block in blocks):
        return None
    quotes = [(entry, [collapsed(quote)[:_ENOUGH] for quote in entry.quotes]) for entry in cites]
    points = [
        [entry for entry, said in quotes if any(quote and quote in collapsed(block.text) for quote in said)]
        for block in blocks
    ]
    return points if all(points) else None


def _put_links(view: CitingReader, cursor: QTextCursor, links: Sequence[tuple[str, Entry]], ink: Ink) -> None:
    cursor.beginEditBlock()  # else the paragraph is laid out again for each
    for words, entry in links:
        put(cursor, " ", ink.chars("small", "text3"), ink)
        put(cursor, f"[{words}]", view.link_to(entry, ink), ink)
    cursor.endEditBlock()


def _link_marks(view: CitingReader, start: int, cites: Sequence[Entry], ink: Ink) -> bool:
    """Make links of the numbers that an answer has behind what it says; whether it has any."""
    by_number = {number: entry for entry in cites for number in entry.numbers}
    found = False
    whole = QTextCursor(view.document())
    whole.beginEditBlock()
    block = view.document().findBlock(start)
    while block.isValid():
        for match in _MARK.finditer(block.text()):
            if (entry := by_number.get(int(match[1]))) is not None:
                inside = QTextCursor(block)
                inside.setPosition(block.position() + match.start())
                inside.setPosition(block.position() + match.end(), QTextCursor.MoveMode.KeepAnchor)
                inside.mergeCharFormat(view.link_to(entry, ink))
                found = True
        block = block.next()
    whole.endEditBlock()
    return found


class DocumentPages(QWidget):
    """Two pages of one document; the one that is looked at is written, and more of a long one when asked for."""

    link_wanted = Signal(QUrl)
    item_wanted = Signal(object)  # an Entry
    item_menu_wanted = Signal(object, QPoint)

    def __init__(self, jobs: Jobs, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.jobs = jobs
        self._choice = RENDERED
        self._markdown = ""
        self._passages: list[Passage] = []
        self._starts: list[int] = []  # where each section begins in the rendered page
        self._writings: dict[str, Writing] = {}  # of the pages that have the document, or some of it
        self._parsed: OrderedDict[str, list[Block] | None] = OrderedDict()
        self.read_view = CitingReader("contextReadView")
        self.read_view.setAccessibleName(tr("context.md, rendered"))
        self.source_view = PlainReader("contextSourceView")
        self.source_view.setAccessibleName(tr("context.md, source"))
        self.stack = QStackedWidget()
        ring = PageRing(self.stack)
        for view in (self.read_view, self.source_view):
            self.stack.addWidget(view)
            ring.watch(view)
        self.note_label = plain_label("small", "text2")
        self.note_label.setObjectName("contextNoteLabel")
        self.rest_button = QPushButton(tr(LOAD))
        self.rest_button.setObjectName("contextRestButton")
        self.rest_button.setProperty("kind", "small")
        self.foot = QFrame()
        self.foot.setProperty("surface", "foot")
        row = QHBoxLayout(self.foot)
        row.setContentsMargins(margins(16, 4, 12, 4))
        row.addWidget(self.note_label, 1)
        row.addWidget(self.rest_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.stack, 1)
        column.addWidget(self.foot)
        self.foot.hide()
        self.read_view.link_wanted.connect(self.link_wanted)
        self.read_view.item_wanted.connect(self.item_wanted)
        self.read_view.item_menu_wanted.connect(self.item_menu_wanted)
        self.rest_button.clicked.connect(self._on_rest_button_clicked)

    @property
    def view(self) -> CitingReader | PlainReader:
        """The page that is looked at."""
        return self.read_view if self._choice == RENDERED else self.source_view

    def choose(self, choice: str) -> None:
        """Look at the other page."""
        self._choice = choice
        had_focus = self.view.hasFocus() or any(view.hasFocus() for view in (self.read_view, self.source_view))
        self.stack.setCurrentWidget(self.view)
        if had_focus:
            self.view.setFocus(Qt.FocusReason.OtherFocusReason)
        self.stop()
        writing = self._writings.get(choice)
        if writing is None or (writing.is_partial and len(self._markdown) <= FIRST_CHARS):
            self._write()
        else:
            self._show_foot()

    def show_document(self, markdown: str, passages: list[Passage]) -> None:
        """Show another document; what is read stays where it is on the screen, as far as it is there still."""
        self._markdown, self._passages = markdown, passages
        self._writings.clear()
        self._write()

    def clear(self) -> None:
        """Show nothing, and know nothing of what was shown."""
        self.stop()
        self._markdown, self._passages = "", []
        self._parsed.clear()
        self._writings.clear()
        self.read_view.start()
        self.source_view.start("mono")
        self.foot.hide()

    def stop(self) -> None:
        """Write no more."""
        for lane in ("parse", "first", "rest"):
            self.jobs.cancel(lane)

    def redraw(self) -> None:
        """Write everything again: formats hold the colours of the time they were made."""
        if self._markdown:
            self._writings.clear()
            self._write()

    def go_to_section(self, at: int) -> None:
        """Scroll to the heading of a section, by its number among those that are in the document."""
        if self._choice == RENDERED:
            if at < len(self._starts):
                self.read_view.go_to(self._starts[at], _TOP)
            return
        headings = [passage.heading for passage in self._passages if passage.heading is not None]
        start = -1
        for heading in headings[: at + 1]:
            start = self.source_view.toPlainText().find(f"## {heading}", start + 1)
        if start >= 0:
            self.source_view.go_to(start)

    # Writing

    def _write(self) -> None:
        self.stop()
        if self._choice == SOURCE:
            self._write_source()
        else:
            first = next(self._portions(self._passages), [])
            if all(one.source in self._parsed for one in first):
                self._write_rendered()  # at once: a page that is dragged over must not blink
            else:
                self.jobs.start("parse", self._parse(first), lambda _: self._write_rendered())

    def _write_source(self) -> None:
        view, text = self.source_view, self._markdown
        place = view.verticalScrollBar().value()
        is_long = has_long_line(text)
        view.start("mono", wraps=not is_long)
        limit = UNWRAPPED_LINE if is_long else MAX_LINE
        steps = write_plain(end_of(view.document()), text, "mono", "text", Ink(), limit)
        self._begin(SOURCE, Writing(steps, len(text), _size_words), place)

    def _write_rendered(self) -> None:
        view = self.read_view
        place = view.verticalScrollBar().value()
        view.start()
        cursor, ink = end_of(view.document()), Ink()
        starts: list[int] = []
        self._starts = starts
        portions = self._portions(self._passages)

        def write(portion: list[Passage]) -> Steps:
            for passage in portion:
                yield from write_passage(view, cursor, passage, self._parsed.get(passage.source), starts, ink)

        async def more() -> Steps | None:
            portion = next(portions, None)
            if portion is None:
                return None
            await self._parse(portion)
            return write(portion)

        total = sum(len(passage.source) for passage in self._passages)
        self._begin(RENDERED, Writing(write(next(portions, [])), total, _size_words, more), place)

    def _begin(self, choice: str, writing: Writing, place: int) -> None:
        """Write what is seen at once, the rest of a usual document after that, of a long one when it is asked for."""
        self._writings[choice] = writing
        writing.write_now(NOW_CHARS)
        view = self.view
        view.go_to_start()
        view.verticalScrollBar().setValue(place)
        is_long = writing.is_partial and len(self._markdown) > FIRST_CHARS
        if writing.is_partial and not is_long:
            self.jobs.start("first", writing.write_rest(lambda: None), lambda _: self._on_written(place))
        self._show_foot(is_quiet=not is_long)

    def _on_written(self, place: int) -> None:
        bar = self.view.verticalScrollBar()
        if bar.value() < place:  # there was no such place yet
            bar.setValue(place)
        self._show_foot()

    def _show_foot(self, *, is_quiet: bool = False) -> None:
        writing = self._writings.get(self._choice)
        is_partial = writing is not None and writing.is_partial and not is_quiet
        self.note_label.setText(writing.words if writing is not None else "")
        self.rest_button.setText(tr(LOAD))
        self.foot.setVisible(is_partial)

    def _on_rest_button_clicked(self) -> None:
        writing = self._writings.get(self._choice)
        if writing is None:
            return
        if self.jobs.is_running("rest"):
            self.jobs.stop("rest")
            self._show_foot()
            return
        self.rest_button.setText(tr(STOP))
        self.jobs.start(
            "rest", writing.write_rest(lambda: self.note_label.setText(writing.words)), lambda _: self._show_foot()
        )

    # Parsing

    def _portions(self, passages: Sequence[Passage]) -> Iterator[list[Passage]]:
        """The parts in runs that are parsed in one go."""
        run: list[Passage] = []
        size = 0
        for passage in passages:
            if run and size + len(passage.source) > _LINES_AT_ONCE:
                yield run
                run, size = [], 0
            run.append(passage)
            size += len(passage.source)
        if run:
            yield run

    async def _parse(self, portion: Sequence[Passage]) -> None:
        for passage in portion:
            source = passage.source
            if source not in self._parsed:
                self._parsed[source] = None if is_too_intricate(source) else await parsed(source)
                while len(self._parsed) > _PARSED_MOST:
                    self._parsed.popitem(last=False)


def _size_words(written: int, total: int) -> str:
    """`9.0 of 48.6 KB`; nothing when all is there."""
    return "" if written >= total else size_out_of(written, total)
