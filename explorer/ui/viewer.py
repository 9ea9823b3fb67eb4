"""One item: to read, as it is stored, and what is known about it."""

from __future__ import annotations

import asyncio
import re
import time
from bisect import bisect_right
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import tzinfo
from functools import partial
from itertools import accumulate

from PySide6.QtCore import QPoint, QSize, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QAction,
    QDesktopServices,
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QAbstractScrollArea,
    QApplication,
    QFrame,
    QHBoxLayout,
    QLabel,
    QMenu,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from explorer.contract import (
    Conversation,
    Document,
    GetRequest,
    Hit,
    ItemKind,
    Learning,
    MemoryEngine,
    Namespace,
    Reach,
    StoreItem,
    TurnRange,
    Unsupported,
    dump_item,
)
from explorer.i18n import mark, tr, tr_n
from explorer.text import listed, number, size_out_of, tip
from explorer.ui import icons
from explorer.ui.actions import allow, under
from explorer.ui.ask import ask
from explorer.ui.banner import Banner
from explorer.ui.clock import local_zone
from explorer.ui.empty import EmptyState
from explorer.ui.headline import headline
from explorer.ui.item_view import KIND_ICONS
from explorer.ui.job_list import Progress
from explorer.ui.jobs import Jobs
from explorer.ui.margins import margins
from explorer.ui.markdown import Block, is_openable, is_too_intricate, slices
from explorer.ui.news import brief, details, may_pass
from explorer.ui.segments import Segments
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.describe import Pair, Value, all_pairs, short_pairs, similar_query, turn_words
from explorer.ui.viewer_parts.find_bar import FindBar
from explorer.ui.viewer_parts.found import Spans, mark_found, mark_spans, pattern_of, raw_text, spans_of
from explorer.ui.viewer_parts.ink import MAX_LINE, UNWRAPPED_LINE, Ink, Steps, end_of, has_long_line
from explorer.ui.viewer_parts.json_text import pretty
from explorer.ui.viewer_parts.learning import LearningCard
from explorer.ui.viewer_parts.link_dialog import LinkDialog, address
from explorer.ui.viewer_parts.page_ring import PageRing
from explorer.ui.viewer_parts.pairs import RING, PairGrid
from explorer.ui.viewer_parts.parsing import measured, parsed
from explorer.ui.viewer_parts.passage import Cited, Sought, sought, spans_in
from explorer.ui.viewer_parts.piece import piece_start, piece_words
from explorer.ui.viewer_parts.readers import GrowingReader, PlainReader, Reader, long_line_note
from explorer.ui.viewer_parts.seen_by import Seen, SeenBy, seen_at
from explorer.ui.viewer_parts.thread import find_conversation, find_whole, first_turn
from explorer.ui.viewer_parts.title import MAX_LEARNING_LINES, MAX_LINES, ConfidenceRow, TitleBlock
from explorer.ui.viewer_parts.why import Answer, Question, ask_why, reason_of
from explorer.ui.viewer_parts.why_view import WhyView
from explorer.ui.viewer_parts.writing import TurnPlaces, write_blocks, write_plain, write_turns

# Translators: the pages of an item: to read it, as it is stored, its metadata, why it is in the list
READ, RAW, METADATA, WHY = mark("Read"), mark("Raw"), mark("Metadata"), mark("Why")
LOAD, STOP = mark("Load the rest"), mark("Stop")
NOW_CHARS = 8_000  # written before the window gets its turn: a page and more
NOW_S = 0.012  # at most, whatever the characters cost: a cell of a table is dear
FIRST_CHARS = 64_000  # written without being asked for
FIRST_TURNS = 200
TURN_S = 0.006  # of writing between two turns of the window
TELL_EVERY_S = 0.1
FIRST_CARD_CHARS = 16_000  # a page that scrolls as a whole is laid out as a whole
PROVISIONAL_AFTER_MS = 120  # what the list knows is shown when the whole item takes longer than this
_MARKDOWN = frozenset({"text/markdown", "text/x-markdown", "text/md"})
_ALIGNED = re.compile(r"\S {2,}\S|^ {2,}\S|\t", re.MULTILINE)  # columns and indents need equal widths


@dataclass(frozen=True)
class Loaded:
    """What the engine has of an item: all of it, or its hit in full, or neither (it is gone)."""

    item: StoreItem | None = None
    hit: Hit | None = None
    note: str = ""
    """Why there is no item, as a sentence."""
    is_gone: bool = False


class Writing:
    """A text on its way into a page: the steps that are left, and how many characters of how many are there.

    `more` brings further steps once the first ones are used up, None at the end.
    """

    def __init__(
        self,
        steps: Steps,
        total: int,
        words: Callable[[int, int], str],
        more: Callable[[], Awaitable[Steps | None]] | None = None,
    ) -> None:
        self._steps = steps
        self._words = words
        self._more = more
        self._total = total
        self._written = 0

    @property
    def is_partial(self) -> bool:
        """Whether something is left that is worth asking for."""
        return self._written < self._total

    @property
    def words(self) -> str:
        """How much is there, of how much."""
        return self._words(min(self._written, self._total), self._total)

    @property
    def progress(self) -> Progress:
        """How far it is, for the list of jobs."""
        return self.words, min(self._written, self._total) / self._total if self._total else None

    def step(self) -> bool:
        """Take one step; False when there is none at hand."""
        done = next(self._steps, None)
        self._written += done or 0
        return done is not None

    def write(self, chars: int) -> None:
        """Take steps until `chars` are written; what needs no more than that is finished."""
        while self._written < chars and self.step():
            pass
        while not self.is_partial and self.step():
            pass

    def write_now(self, chars: int) -> bool:
        """As `write`, but no longer than the window may wait; False where it had to stop before."""
        until = time.monotonic() + NOW_S
        while self._written < chars and time.monotonic() < until and self.step():
            pass
        if self._written < min(chars, self._total) and time.monotonic() >= until:
            return False
        self.write(chars)
        return True

    async def write_until(self, chars: int) -> None:
        """As `write`, with turns for the window."""
        for _ in iter(lambda: self._written < chars and self._steps_for_a_turn(chars), False):
            await asyncio.sleep(0)
        self.write(chars)

    async def write_rest(self, tell: Callable[[], None]) -> None:
        """Everything that is left, with turns for the window."""
        told = time.monotonic()
        while True:
            while self._steps_for_a_turn(self._total):
                if time.monotonic() - told > TELL_EVERY_S:
                    told = time.monotonic()
                    tell()
                await asyncio.sleep(0)
            steps = await self._more() if self._more is not None else None
            if steps is None:
                self._written = self._total
                return
            self._steps = steps

    def _steps_for_a_turn(self, chars: int) -> bool:
        """Take steps until `chars` are written or the window should have its turn; False when there were none."""
        until = time.monotonic() + TURN_S
        took = self.step()
        while took and self._written < chars and time.monotonic() < until:
            took = self.step()
        return took


class ItemViewer(QWidget):
    """The item under the list's current row. A newer choice supersedes whatever is still being read.

    `header` is its title bar: whoever places the viewer places it too.
    """

    filter_wanted = Signal(str, object)  # a field of MetaFilter, and one value of the item for it
    agent_wanted = Signal(object)  # a Namespace: see as an agent that is placed there
    similar_wanted = Signal(str)  # the query that looks for items like this one
    failed = Signal(object)  # an exception

    def __init__(self, parent: QWidget | None = None, zone: tzinfo | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("itemViewer")
        self.setProperty("surface", "base")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._engine: MemoryEngine | None = None
        self._zone = zone or local_zone()
        self._asked: Hit | None = None  # as the list has it
        self._hit: Hit | None = None  # the same, whole once it is loaded
        self._loaded: Loaded | None = None
        self._origin: Hit | None = None  # the learning whose conversation is read
        self._turns: TurnRange | None = None  # of that conversation, those that the learning rests on
        self._piece: re.Pattern[str] | None = None  # the beginning of the piece that was found of this document
        self._cited: Cited | None = None  # the passage for which the item was opened
        self._passage: Sought | None = None  # what finds it, once the item is here
        self._places = TurnPlaces()
        self._found: re.Pattern[str] | None = None  # the words of the search
        self._question = Question()
        self._spans: list[Spans] = []  # of what the find bar looks for, in each text of the page
        self._current = 0  # among all of them
        self._finds_from_here = False  # the current one is to be the first that is seen
        self._is_arriving = False  # at an item, and the place in it for which it was opened is not on screen yet
        self._takes_focus = False  # the page that comes next: the one before had it
        self._is_listed = True
        self._has_fingerprint = False  # on the Metadata page
        self._can_stop = False  # the button below a text, which then stops what it began
        self._pages: dict[str, QWidget] = {}  # by segment, what is made already
        self._writings: dict[str, Writing] = {}
        self.open_url: Callable[[QUrl], object] = QDesktopServices.openUrl
        self.known_nodes: Callable[[], list[Namespace]] = list
        """All nodes of the memory that are known, of which it is told who can see an item."""
        self._seen: tuple[Namespace, Seen] | None = None
        self._scope: Reach | None = None
        self._reveals_seen = False
        self.jobs = Jobs(self)
        self._build_header()
        self._build_body()

        self._provisional = QTimer(self)
        self._provisional.setSingleShot(True)
        self._provisional.setInterval(PROVISIONAL_AFTER_MS)
        self._provisional.timeout.connect(self._show_provisional)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.segments.chosen.connect(self._on_segments_chosen)
        self.rest_button.clicked.connect(self._on_rest_button_clicked)
        self.rest_action.triggered.connect(self._on_rest_button_clicked)
        for choice, action in self.page_actions.items():
            action.triggered.connect(partial(self._choose_page, choice))
        for grid in (self.pairs, self.metadata):
            grid.filter_wanted.connect(self.filter_wanted)
        self.card.filter_wanted.connect(self.filter_wanted)
        for seen_by in (self.card.seen_by, self.seen_by):
            seen_by.agent_wanted.connect(self.agent_wanted)
            seen_by.node_wanted.connect(lambda node: self.filter_wanted.emit("reach", node))
        self.who_action.triggered.connect(self.show_who)
        self.card.conversation_wanted.connect(self._find_conversation)
        self.whole_button.clicked.connect(self._find_whole)
        self.back_button.clicked.connect(self._on_back_button_clicked)
        for each in (self.read_view, self.plain_view, self.raw_view, self.card.statement, self.card.evidence):
            each.copy_id = self.copy_id
        for reader in (self.read_view, self.card.statement, self.card.evidence):
            reader.link_wanted.connect(self._on_link_wanted)
        self.similar_action.triggered.connect(self._on_similar_action_triggered)
        self.find_action.triggered.connect(self.open_find)
        self.find_bar.words_changed.connect(self._on_find_bar_words_changed)
        self.find_bar.step_wanted.connect(self.find_step)
        self.find_bar.closed.connect(self.close_find)
        self._marking = QTimer(self)  # marks go with what is seen, once scrolling leaves time for it
        self._marking.setSingleShot(True)
        self._marking.setInterval(0)
        self._marking.timeout.connect(self._mark_spans)
        for view in (self.read_view, self.plain_view, self.raw_view):
            view.verticalScrollBar().valueChanged.connect(self._on_scrolled)
        theme().changed.connect(self._on_theme_changed)
        self._show_nothing()

    def _build_header(self) -> None:
        self.header = Header()
        self.header.setObjectName("viewerHeader")
        label = QLabel(tr("Item"))
        label.setProperty("textRole", "smallStrong")
        label.setProperty("tone", "text2")
        self.segments = Segments([READ, RAW, METADATA, WHY])
        self.segments.setObjectName("viewerSegments")
        self.similar_action = QAction(tr("More like this"), self)
        icons.keep(self.similar_action, "similar")
        self.find_action = QAction(tr("Find in item"), self)
        icons.keep(self.find_action, "search")
        self.find_action.setShortcut(QKeySequence("Ctrl+F"))  # said, and handled by the window: elsewhere it searches
        self.find_action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
        self.next_action = self._found_action(tr("The next place found"), "F3", 1)
        self.previous_action = self._found_action(tr("The place found before"), "Shift+F3", -1)
        self.who_action = QAction(tr("Who can see this"), self)
        icons.keep(self.who_action, "eye")
        self.page_actions = {choice: QAction(tr(choice), self) for choice in (READ, RAW, METADATA, WHY)}
        self.rest_action = QAction(tr(LOAD), self)
        for action in (*self.page_actions.values(), self.rest_action):
            action.setProperty("wholeTitle", under(tr("Item"), action.text()))
        self.similar_button = QToolButton()
        self.similar_button.setObjectName("similarButton")
        self.similar_button.setDefaultAction(self.similar_action)
        self.similar_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        self.similar_button.setAccessibleName(tr("More like this"))
        self.copy_button = QToolButton()
        self.copy_button.setObjectName("copyButton")
        self.copy_button.setAccessibleName(tr("Copy the item"))
        self.copy_button.setToolTip(tr("Copy the item"))
        self.copy_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        icons.keep(self.copy_button, "copy")
        menu = QMenu(self.copy_button)
        menu.setTitle(tr("Item"))
        self._of_item_actions = [
            self.find_action,
            self.who_action,
            self.next_action,
            self.previous_action,
            menu.addAction(tr("Copy text"), self.copy_text),
            menu.addAction(tr("Copy as JSON"), self.copy_json),
            menu.addAction(tr("Copy id"), self.copy_id),
        ]
        self.copy_button.setMenu(menu)
        self.more_button = QToolButton()
        self.more_button.setObjectName("viewerMoreButton")
        self.more_button.setAccessibleName(tr("More for this item"))
        self.more_button.setToolTip(tr("More for this item"))
        self.more_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        icons.keep(self.more_button, "more")
        menu = QMenu(self.more_button)
        menu.addActions([self.find_action, self.similar_action, self.who_action])
        self.more_button.setMenu(menu)
        row = QHBoxLayout(self.header)
        row.setContentsMargins(margins(12, 0, 8, 0))
        row.setSpacing(6)
        row.addWidget(label)
        row.addWidget(self.segments)
        row.addStretch(1)
        for button in (self.similar_button, self.copy_button, self.more_button):
            row.addWidget(button)
        self.header.spare = [label, self.similar_button]

    def _found_action(self, words: str, key: str, step: int) -> QAction:
        action = QAction(words, self)
        action.setShortcut(QKeySequence(key))
        action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        action.triggered.connect(partial(self.find_step, step))
        self.addAction(action)
        return action

    def _build_body(self) -> None:
        self.banner = Banner()
        self.banner.setObjectName("viewerBanner")
        self.back_button = QPushButton(tr("Back to the learning"))
        self.back_button.setObjectName("backToLearningButton")
        self.back_button.setProperty("kind", "link")
        icons.keep(self.back_button, "chevron-left", "accent")
        self.listed_label = QLabel(tr("Not in this list"))
        self.listed_label.setObjectName("notListedLabel")
        self.listed_label.setProperty("tone", "caution")
        self.listed_label.setProperty("textRole", "small")
        self.listed_label.setToolTip(tr("The list's filter or search does not admit this item, or no longer does."))
        self.piece_label = QLabel()
        self.piece_label.setObjectName("pieceLabel")
        self.piece_label.setTextFormat(Qt.TextFormat.PlainText)
        self.piece_label.setProperty("tone", "text2")
        self.piece_label.setProperty("textRole", "small")
        self.piece_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
        self.whole_button = QPushButton(tr("Open the whole"))
        self.whole_button.setObjectName("wholeButton")
        self.whole_button.setProperty("kind", "link")
        self.whole_button.setToolTip(tr("Read the whole conversation here, at these turns"))
        self.place_row = QFrame()
        self.place_row.setProperty("surface", "head")
        row = QHBoxLayout(self.place_row)
        row.setContentsMargins(margins(10, 4, 16, 4))  # a link has 6 of its own before its words
        row.addWidget(self.back_button)
        row.addSpacing(6)
        row.addWidget(self.listed_label)
        row.addWidget(self.piece_label, 1)
        row.addWidget(self.whole_button)
        self.title = TitleBlock()
        self.confidence_row = ConfidenceRow()
        self.pairs = PairGrid()
        self.pairs_box = QWidget()
        column = QVBoxLayout(self.pairs_box)
        column.setContentsMargins(16 - RING, 8, 16 - RING, 0)
        column.addWidget(self.pairs)
        self.find_bar = FindBar()
        self.find_bar.hide()
        self.head = QFrame()
        self.head.setProperty("surface", "head")
        column = QVBoxLayout(self.head)
        column.setContentsMargins(0, 12, 0, 10)
        column.setSpacing(4)
        column.addWidget(self.title)
        column.addWidget(self.confidence_row)
        column.addWidget(self.pairs_box)

        self.read_view = Reader("readView")
        self.read_view.setAccessibleName(tr("Item text"))
        self.plain_view = PlainReader("plainView")
        self.plain_view.setAccessibleName(tr("Item text"))
        self.card = LearningCard()
        self.raw_view = PlainReader("rawView")
        self.raw_view.setAccessibleName(tr("Item as JSON"))
        self.metadata = PairGrid(is_list=True)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(16 - RING, 12, 16 - RING, 12)
        column.addWidget(self.metadata)
        self.seen_by = SeenBy()
        below = QVBoxLayout()
        below.setContentsMargins(RING, 12, RING, 0)
        below.addWidget(self.seen_by)
        column.addLayout(below)
        column.addStretch(1)
        self.metadata_view = QScrollArea()
        self.metadata_view.setObjectName("metadataView")
        self.metadata_view.setFrameShape(QFrame.Shape.NoFrame)
        self.metadata_view.setWidgetResizable(True)
        self.metadata_view.setWidget(page)
        self.why_view = WhyView()
        self.pages = QStackedWidget()
        self.blank = QWidget()  # until the text is here: the old one must not stand under the new title
        self.pages.addWidget(self.blank)
        ring = PageRing(self.pages)
        for each in (self.read_view, self.plain_view, self.card, self.raw_view, self.metadata_view, self.why_view):
            self.pages.addWidget(each)
            ring.watch(each)

        self.note_label = QLabel()
        self.note_label.setObjectName("viewerNoteLabel")
        self.note_label.setTextFormat(Qt.TextFormat.PlainText)
        self.note_label.setWordWrap(True)
        self.note_label.setProperty("tone", "text2")
        self.note_label.setProperty("textRole", "small")
        self.rest_button = QPushButton(tr(LOAD))
        self.rest_button.setObjectName("loadRestButton")
        self.foot = QFrame()
        self.foot.setProperty("surface", "foot")
        self.foot.setMinimumHeight(theme().row_height("listFoot"))
        row = QHBoxLayout(self.foot)
        row.setContentsMargins(margins(16, 5, 12, 5))
        row.setSpacing(8)
        row.addWidget(self.note_label, 1)
        row.addWidget(self.rest_button)

        self.content = QWidget()
        column = QVBoxLayout(self.content)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.place_row)
        column.addWidget(self.banner)
        column.addWidget(self.head)
        column.addWidget(self.find_bar)
        column.addWidget(self.pages, 1)
        column.addWidget(self.foot)
        self.empty = EmptyState()
        self.empty.setObjectName("viewerEmpty")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.empty, 1)
        column.addWidget(self.content, 1)

    # What to show

    def set_engine(self, engine: MemoryEngine | None) -> None:
        """Show nothing, and read from another engine from now on."""
        self._engine = engine
        self._seen = None
        self.show_hit(None)

    def _enable_actions(self) -> None:
        has_item = self._hit is not None
        can_search = self._engine is not None and bool(self._engine.descriptor().fetch_modes)
        self.copy_button.setEnabled(has_item)
        self.more_button.setEnabled(has_item)
        nothing = "" if has_item else tr("No item is selected")
        for action in (*self._of_item_actions, *self.page_actions.values()):
            allow(action, nothing)
        refused = tr("This engine declares no search") if self._engine is not None and not can_search else nothing
        self.similar_action.setProperty("tip", "" if refused else tr("Search for items like this one, by its text"))
        allow(self.similar_action, refused)

    def show_hit(self, hit: Hit | None) -> None:
        """Show an item, from what its hit knows until the engine has brought the rest; None for no item."""
        if hit is not None and hit == self._asked and self._loaded is not None and not self._loaded.is_gone:
            return  # chosen again: what is being read stays where it is
        if hit is not None and self._cited is not None and self._asked is not None and hit.id == self._asked.id:
            self.show_listed(True)  # its row was found meanwhile
            return
        self._asked = hit
        self._is_listed = True
        self._origin = self._turns = self._cited = None
        self._show(hit)

    def show_passage(self, hit: Hit, cited: Cited) -> None:
        """Show an item to read, at a passage of it, which is marked in place of the words of the search."""
        self._asked = hit
        self._is_listed = True
        self._origin = self._turns = None
        self._cited = cited
        self.segments.set_choice(READ)
        if self.is_finding:
            self.close_find()
        self._show(hit)

    def _show(self, hit: Hit | None) -> None:
        for lane in ("item", "parse", "link", "thread"):
            self.jobs.cancel(lane)
        self._provisional.stop()
        self.banner.clear()
        focus = QApplication.focusWidget()
        self._takes_focus = focus is not None and self.content.isAncestorOf(focus)
        if self._takes_focus:  # what has it may be hidden now, and Qt would pass it on to anything
            self.segments.button(self.segments.choice).setFocus(Qt.FocusReason.OtherFocusReason)
        self._hit = hit
        self._loaded = self._passage = None
        self._is_arriving = self._finds_from_here = True
        self._forget_pages()
        self._show_place()
        if hit is None:
            self._show_nothing()
            return
        self.empty.hide()
        self.content.show()
        self._enable_actions()
        self._show_head()
        self._show_foot()
        if self._engine is None:
            self._show_provisional()
            return
        self._provisional.start()
        self.jobs.start("item", _load(self._engine, hit), self._on_loaded)

    def refresh(self) -> None:
        """Read the item again."""
        self._show(self._hit)

    def cancel_reading(self) -> None:
        """Stop what the pages wait for. What was read stays, and the rest can be asked for again."""
        for lane in ("item", "thread", "parse", "first", "raw", "why", "fingerprint", "seen"):
            self.jobs.stop(lane)
        if self._hit is None:
            return
        self._show_provisional()
        self._show_foot()
        self.banner.show_note(tr("Reading was stopped."), tr("Read again"), self.refresh)

    def set_search(self, words: Sequence[str]) -> None:
        """Mark these words where an item is read; one that is opened from now on is scrolled to the first of them."""
        self._found = pattern_of(words)
        self.title.mark_found(self._found)
        self._mark_found()

    def set_question(self, question: Question) -> None:
        """What the list shows, of which the Why page tells the item's place."""
        if question == self._question:
            return
        self._question = question
        self._pages.pop(WHY, None)
        if self.segments.choice == WHY:
            self._show_page()

    def set_scope(self, scope: Reach | None) -> None:
        """What the agent reads whose view is shown; None for a view of nobody's. Other items say that they are out."""
        if scope != self._scope:
            self._scope = scope
            self._show_place()

    def show_listed(self, is_listed: bool) -> None:
        """Say whether the item that was shown last is one of the list; until told otherwise it is."""
        self._is_listed = is_listed
        self._show_place()

    def _show_place(self) -> None:
        """Where the item stands: beside the list, or behind a learning."""
        self.back_button.setVisible(self._origin is not None)
        is_part = self._origin is not None and self._origin.kind is ItemKind.CONVERSATION
        self.back_button.setText(tr("Back to the part") if is_part else tr("Back to the learning"))
        is_out = self._scope is not None and self._hit is not None and not self._scope.admits(self._hit.meta.namespace)
        self.listed_label.setText(tr("Out of the agent's reach") if is_out else tr("Not in this list"))
        self.listed_label.setVisible(is_out or (self._origin is None and not self._is_listed))
        words, can_open = self._piece_words()
        self.piece_label.setText(words)
        self.piece_label.setToolTip(tip(words))
        self.whole_button.setVisible(can_open)
        self.place_row.setVisible(self._origin is not None or is_out or not self._is_listed or bool(words))

    def _piece_words(self) -> tuple[str, bool]:
        """Of what the item is a piece, and whether the whole can be asked for."""
        hit, asked = self._hit, self._asked
        if hit is None:
            return "", False
        if hit.kind is ItemKind.CONVERSATION and hit.meta.turns is not None and self._origin is None:
            turns = hit.meta.turns
            words = tr("Turns {turns} of a thread", turns=turn_words(turns))
            if turns.first == turns.last:
                words = tr("Turn {turn} of a thread", turn=turns.first)
            return words, hit.meta.thread_id is not None
        is_whole = self.item is not None
        if asked is None or asked.id != hit.id or not (words := piece_words(asked, hit if is_whole else None)):
            return "", False
        if is_whole:
            return tr("Found in {piece}; this is the whole", piece=words), False
        return tr("A piece: {piece}", piece=words), False

    async def aclose(self) -> None:
        """End every call."""
        self._provisional.stop()
        await self.jobs.aclose()

    @property
    def hit(self) -> Hit | None:
        """The item that is shown."""
        return self._hit

    @property
    def item(self) -> StoreItem | None:
        """The item as it was stored, once it is here."""
        return self._loaded.item if self._loaded else None

    # Copying

    def full_text(self) -> str:
        """The whole text, exactly, whatever part of it is on screen."""
        return self._hit.text if self._hit else ""

    def copy_text(self) -> None:
        QGuiApplication.clipboard().setText(self.full_text())

    def copy_json(self) -> None:
        """The stored item's JSON, exactly; the hit's, where the engine gives no more."""
        if self._hit is not None:
            work = asyncio.to_thread(_json, self.item or self._hit)
            self.jobs.start("copy", work, QGuiApplication.clipboard().setText)

    def copy_id(self) -> None:
        QGuiApplication.clipboard().setText(self._hit.id if self._hit else "")

    def _on_similar_action_triggered(self) -> None:
        if self._hit is not None and (query := similar_query(self._hit.text)):
            self.similar_wanted.emit(query)

    # Loading

    def _on_loaded(self, loaded: Loaded) -> None:
        self._provisional.stop()
        self._loaded = loaded
        self._hit = loaded.hit or self._hit
        self._is_arriving = True
        asked = self._asked
        self._piece = None
        if loaded.item is not None and loaded.hit is not None and asked is not None and asked.id == loaded.hit.id:
            self._piece = piece_start(asked, loaded.hit) if piece_words(asked, loaded.hit) else None
        if self._cited is not None and self._hit is not None and self._origin is None:
            self._passage = sought(self._cited, self._hit, loaded.item)
        self._show_place()
        if loaded.is_gone:
            self.banner.show_note(tr("This item is no longer stored."), icon="warning")
        self._forget_pages()
        self._show_head()
        self._show_page()

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        if lane != "why":  # which would only be asked, and fail, again
            self._show_provisional()
        is_part = self._hit is not None and self._hit.kind is ItemKind.CONVERSATION
        find = self._find_whole if is_part else self._find_conversation
        again = find if lane == "thread" else self.refresh
        self.banner.show_error(brief(error), details(error), again if may_pass(error) else None)
        self.failed.emit(error)

    def _show_provisional(self) -> None:
        """What the hit knows, until more is known."""
        self._provisional.stop()
        if self._hit is not None and self._loaded is None and self.segments.choice not in self._pages:
            self._show_page()

    # From a learning to its conversation, and back

    def _find_conversation(self) -> None:
        hit = self._hit
        if self._engine is not None and hit is not None:
            work = find_conversation(self._engine, hit)
            self.jobs.start("thread", work, lambda found: self._on_conversation_found(hit, found))

    def _find_whole(self) -> None:
        hit = self._hit
        if self._engine is not None and hit is not None:
            work = find_whole(self._engine, hit)
            self.jobs.start("thread", work, lambda found: self._on_conversation_found(hit, found))

    def _on_conversation_found(self, origin: Hit, found: Hit | None) -> None:
        if found is None:
            said = (
                tr("No more of this thread is stored.")
                if origin.kind is ItemKind.CONVERSATION
                else tr("No conversation of this thread is stored.")
            )
            self.banner.show_note(said, icon="warning")
            return
        self._origin, self._turns = origin, origin.meta.turns
        self._show(found)

    def _on_back_button_clicked(self) -> None:
        origin = self._origin
        self._origin = self._turns = None
        self._show(origin)

    # Pages

    def _on_segments_chosen(self, choice: str) -> None:
        if self._hit is not None:
            self._stop_writing()
            if self.is_finding and not self._can_find():
                self.close_find()
            self._show_head()
            self._show_page()
            if self.is_finding:
                self._finds_from_here = True
                self._find()

    def _choose_page(self, choice: str) -> None:
        self.segments.set_choice(choice)
        self._on_segments_chosen(choice)

    def _show_nothing(self) -> None:
        self.content.hide()
        self._allow_rest(False)
        self.empty.show_state("eye", tr("No item is selected."), "")
        self.empty.show()
        self._enable_actions()

    def _forget_pages(self) -> None:
        self._stop_writing()
        self._pages.clear()
        self._writings.clear()
        self._spans = []
        self._show_blank()

    def _stop_writing(self) -> None:
        for lane in ("first", "rest", "raw", "fingerprint", "why", "find"):
            self.jobs.cancel(lane)

    def _show_blank(self) -> None:
        self.pages.setCurrentWidget(self.blank)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape and self.is_finding:
            self.close_find()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        """The focus goes to the page, or where none is seen to the chosen segment."""
        # Not by a focus proxy: from a widget that has one, Tab goes past all before the proxy (Qt 6.11).
        page = self.pages.currentWidget()
        is_seen = self._hit is not None and page is not None and page is not self.blank
        target = page if is_seen and page else self.segments.button(self.segments.choice)
        target.setFocus(event.reason())

    def _show_head(self) -> None:
        hit = self._hit
        if hit is None:
            return
        is_learning = hit.kind is ItemKind.LEARNING
        reading = self.segments.choice == READ
        lines = MAX_LEARNING_LINES if is_learning and reading else MAX_LINES
        self.title.show_title(KIND_ICONS[hit.kind], headline(hit).name or tr("(empty)"), lines)
        item = self.item
        kind = item.kind if isinstance(item, Learning) else None
        self.confidence_row.show_learning(kind, hit.confidence)
        self.confidence_row.setVisible(is_learning and reading)
        self.pairs_box.setVisible(reading and not is_learning)
        if not is_learning:
            self.pairs.show_pairs(short_pairs(hit, item, self._zone))

    def _show_page(self) -> None:
        """The chosen page, made of what is known by now."""
        hit, choice = self._hit, self.segments.choice
        if hit is None:
            return
        if (made := self._pages.get(choice)) is not None:
            self._use(choice, made)
            if choice == METADATA and not self._has_fingerprint:
                self._ask_fingerprint()  # the page was left before it was known
        elif choice == RAW:
            self._show_blank()
            self.jobs.start("raw", asyncio.to_thread(_raw, self.item or hit), self._on_raw)
        elif choice == METADATA:
            self._show_metadata(hit)
        elif choice == WHY:
            self._ask_why(hit)
        else:
            self._read(hit, self.item)
        self._show_foot()

    def _use(self, choice: str, page: QWidget) -> None:
        """Remember the page of a segment, and show it if that is the chosen one."""
        self._pages[choice] = page
        if choice != self.segments.choice:
            return
        had_focus = any(each.hasFocus() for each in (self.read_view, self.plain_view, self.card, self.raw_view))
        self.pages.setCurrentWidget(page)
        takes_focus = self._takes_focus and self.segments.button(choice).hasFocus()
        self._takes_focus = False
        if had_focus or takes_focus:
            page.setFocus(Qt.FocusReason.OtherFocusReason)

    def _read(self, hit: Hit, item: StoreItem | None) -> None:
        if isinstance(item, Conversation):
            self._read_turns(hit, item)
        elif isinstance(item, Document):
            self._read_document(item)
        elif hit.kind is ItemKind.LEARNING:
            self._read_learning(hit, item if isinstance(item, Learning) else None)
        else:
            self._write_plainly(READ, self.plain_view, hit.text, "body")

    def _read_turns(self, hit: Hit, item: Conversation) -> None:
        self.read_view.start(top_px=6)  # a turn has room of its own above it
        ends = list(accumulate(len(turn.text) for turn in item.turns))
        total = ends[-1] if ends else 0

        def words(written: int, total: int) -> str:
            if written >= total:
                return ""
            done, all = number(bisect_right(ends, written)), len(ends)
            return tr_n("{n} of {total} turn", "{n} of {total} turns", all, n=done, total=number(all))

        budget = min(FIRST_CHARS, ends[FIRST_TURNS - 1] if len(ends) > FIRST_TURNS else FIRST_CHARS)
        self._places = places = TurnPlaces(first_turn(hit))
        if self._turns is not None:
            places.found = range(self._turns.first, self._turns.last + 1)
            at = self._turns.first - places.first
            if 0 <= at < len(ends):
                budget = max(budget, ends[at] + NOW_CHARS)  # and a page more: it is to stand at the top
            else:
                said = tr("Turn {turn} is not in this conversation.", turn=turn_words(self._turns))
                self.banner.show_note(said, icon="warning")
        steps = write_turns(end_of(self.read_view.document()), item.turns, self._zone, Ink(), places)
        self._begin(READ, self.read_view, Writing(steps, total, words), budget)

    def _read_learning(self, hit: Hit, item: Learning | None) -> None:
        # What the bar looks for is counted in the texts, so that while it is open the statement is one of them.
        with_statement = self.title.is_cut or self.title.text != hit.text or self.is_finding or bool(self._passage)
        self._ask_seen(hit)
        steps, total = self.card.start(hit, item, self._zone, with_statement=with_statement)
        self._begin(READ, self.card, Writing(steps, total, _size_words), FIRST_CARD_CHARS)

    def _read_document(self, item: Document) -> None:
        source = _body(item)
        if not _is_markdown(item) or is_too_intricate(source):
            self._read_plainly(item)
            return
        parts = slices(source)
        first = next(parts)

        def on_parsed(found: list[Block] | None) -> None:
            if found is None:
                self._read_plainly(item, tr("shown as plain text: this markdown is too intricate"))
                return
            self.read_view.start()
            ink = Ink()
            cursor = end_of(self.read_view.document())

            part = next(parts, None)

            async def more() -> Steps | None:
                nonlocal part
                if (source := part) is None:
                    return None
                found = await parsed(source)  # where this is cut off, the next one begins with the same part
                part = next(parts, None)
                if found is None:
                    return write_plain(end_of(self.read_view.document()), source, "mono", "text", ink)
                return measured(write_blocks(end_of(self.read_view.document()), found, ink), len(source))

            steps = measured(write_blocks(cursor, found, ink), len(first))
            self._begin(READ, self.read_view, Writing(steps, len(source), _size_words, more), len(first))

        self.jobs.start("parse", parsed(first), on_parsed)

    def _read_plainly(self, item: Document, note: str = "") -> None:
        body = _body(item)
        self._write_plainly(READ, self.plain_view, body, "body" if _is_prose(item, body) else "mono", note)

    def _on_raw(self, made: tuple[str, bool]) -> None:
        still = tr("still reading; this is the item as its search gives it")
        note = self._loaded.note if self._loaded else still
        text, is_long = made
        self._write_plainly(RAW, self.raw_view, text, "mono", note, is_long)

    def _write_plainly(
        self, choice: str, view: PlainReader, text: str, role: str, note: str = "", is_long: bool | None = None
    ) -> None:
        if is_long is None:
            is_long = has_long_line(text)
        view.start(role, wraps=not is_long)
        limit = UNWRAPPED_LINE if is_long else MAX_LINE
        steps = write_plain(end_of(view.document()), text, role, "text", Ink(), limit)
        notes = [part for part in (note, long_line_note() if is_long else "") if part]

        def words(written: int, total: int) -> str:
            said = listed((_size_words(written, total), *notes))
            return f"{said[:1].upper()}{said[1:]}"

        self._begin(choice, view, Writing(steps, len(text), words), FIRST_CHARS)

    def _show_metadata(self, hit: Hit) -> None:
        self.metadata.show_pairs(all_pairs(hit, self.item, self._zone))
        self.metadata_view.verticalScrollBar().setValue(0)
        self._ask_seen(hit)
        self._use(METADATA, self.metadata_view)
        self._ask_fingerprint()

    def _ask_seen(self, hit: Hit) -> None:
        """Which nodes read the item: it depends on its own node alone."""
        at = hit.meta.namespace

        def show(seen: Seen | None) -> None:
            self._seen = (at, seen) if seen is not None else None
            for seen_by in (self.card.seen_by, self.seen_by):
                seen_by.show_seen(seen)
            self._reveal_seen()

        if self._seen is None or self._seen[0] != at:
            show(None)
            self.jobs.start("seen", asyncio.to_thread(seen_at, at, self.known_nodes()), show)

    def on_nodes_changed(self) -> None:
        """Other nodes are known than before, so others may see the item."""
        self._seen = None
        if self._hit is not None and not {self.card, self.metadata_view}.isdisjoint(self._pages.values()):
            self._ask_seen(self._hit)

    def show_who(self) -> None:
        """The nodes that can see the item, with the keyboard among them."""
        if self._hit is None:
            return
        self._choose_page(METADATA)
        self._reveals_seen = True
        self._reveal_seen()
        self.seen_by.tree.setFocus(Qt.FocusReason.OtherFocusReason)

    def _reveal_seen(self) -> None:
        """Scroll to the nodes that can see the item, once they are known, where they were asked for."""
        page = self.metadata_view.widget()
        if self._reveals_seen and self._seen is not None and page is not None and (layout := page.layout()) is not None:
            self._reveals_seen = False
            layout.activate()
            self.metadata_view.ensureWidgetVisible(self.seen_by)

    def _ask_fingerprint(self) -> None:
        """Whether the id is the one that the content gives: its line comes when that is known."""
        item, hit = self.item, self._hit
        if item is None or hit is None:
            return

        def on_made(fingerprint: str) -> None:
            is_own = fingerprint == hit.id
            words = tr("the id is that of the content") if is_own else tr("the engine has given an id of its own")
            self.metadata.add_pairs([Pair(mark("fingerprint"), (Value(words),))])
            self._has_fingerprint = True

        self._has_fingerprint = False
        self.jobs.start("fingerprint", asyncio.to_thread(item.fingerprint), on_made)

    def _ask_why(self, hit: Hit) -> None:
        self._show_blank()
        if self._engine is None:
            return
        question = self._question

        def on_answer(answer: Answer) -> None:
            self.why_view.show_reason(reason_of(hit, question, answer, self._zone))
            self._use(WHY, self.why_view)

        self.jobs.start("why", ask_why(self._engine, question, hit.id), on_answer)

    # Long texts

    def _begin(self, choice: str, page: QWidget, writing: Writing, budget: int) -> None:
        is_written = writing.write_now(min(budget, NOW_CHARS))
        self._writings[choice] = writing
        if isinstance(page, (Reader, PlainReader)):
            page.go_to_start()
        self._use(choice, page)
        if writing.is_partial and (budget > NOW_CHARS or not is_written):
            self.jobs.start("first", writing.write_until(budget), lambda _: self._on_written())
        self._on_written()

    def _on_written(self) -> None:
        """More of a text is in its page."""
        self._show_foot()
        found = self._mark_found()
        if self._is_arriving and self.segments.choice == READ:
            self._arrive(found)

    def _mark_found(self) -> list[tuple[Reader | PlainReader, int]]:
        """Mark the words of the search in what is written of the text; in each of its parts the place of the first."""
        if self._passage is not None:
            found = self._mark_passage(self._passage)
        else:
            found = [(part, at) for part in self._texts(READ) if (at := mark_found(part, self._found)) is not None]
        if self.is_finding:
            self._find()  # its marks take the place of the search's
        return found

    def _mark_passage(self, passage: Sought) -> list[tuple[Reader | PlainReader, int]]:
        """Mark the passage that was cited, and nothing else; the text in which it is, and its place there."""
        found: list[tuple[Reader | PlainReader, int]] = []
        for part in self._texts(READ):
            text = part.document().toRawText()
            spans = Spans.of(text, [] if found else spans_in(text, passage, is_whole=not self._can_load_rest))
            mark_spans(part, spans)
            if spans:
                found.append((part, spans.starts[0]))
        return found

    def _texts(self, choice: str) -> list[Reader | PlainReader]:
        """The texts of a segment's page, once it is made."""
        page = self._pages.get(choice)
        if page is self.card:
            return [self.card.statement, self.card.evidence]
        return [page] if isinstance(page, (Reader, PlainReader)) else []

    def _arrive(self, found: list[tuple[Reader | PlainReader, int]]) -> None:
        """Go to the place for which the item was opened, once it is written, unless the reader has scrolled by then."""
        page = self._pages.get(READ)
        if (layout := self.content.layout()) is not None:
            layout.activate()  # what is seen of the page depends on the head above, which may be new too
        if isinstance(page, QAbstractScrollArea) and page.verticalScrollBar().value():
            self._is_arriving = False
        elif self._turns is not None:
            at = self._turns.first - self._places.first
            if page is self.read_view and 0 <= at < len(self._places.starts):
                self.read_view.go_to(self._places.starts[at])
                self._is_arriving = False
        elif self._passage is not None and not found:
            self._load_rest_for_place()
        elif self._passage is None and self._piece is not None and (start := self._piece_at(page)) is not None:
            start[0].go_to(start[1])
            self._is_arriving = False
        elif self._passage is None and self._piece is not None and self._can_load_rest:
            self._load_rest_for_place()
        elif found:
            part, at = found[0]
            if isinstance(part, GrowingReader):
                self.card.reveal(part, at)
            else:
                part.reveal(at)
            self._is_arriving = False

    @property
    def _can_load_rest(self) -> bool:
        return READ in self._writings and self._writings[READ].is_partial

    def _load_rest_for_place(self) -> None:
        """Load on, as the place for which the item was opened is not there yet; say so where it is not there at all."""
        if self._can_load_rest:
            if not self._is_loading_rest:
                self._load_rest()
        elif self._passage is not None and not self.jobs.is_running("first"):
            self._is_arriving = False
            said = tr("The cited words are not found in this text. It may have been changed since.")
            self.banner.show_note(said, icon="warning")

    # Finding

    @property
    def is_finding(self) -> bool:
        """Whether the find bar is open."""
        return not self.find_bar.isHidden()

    def open_find(self) -> None:
        """Look for words in what is read; pages that are no text give way to the one that is."""
        if self._hit is None:
            return
        if not self._can_find():
            self._choose_page(READ)
        self.find_bar.show()
        if self._pages.get(READ) is self.card and self.card.statement_box.isHidden():
            del self._pages[READ]
            self._show_page()
        self.find_bar.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.find_bar.edit.selectAll()
        if self.find_bar.edit.text():
            self._on_find_bar_words_changed()

    def close_find(self) -> None:
        """Put the search's own marks back; the keyboard goes to the text."""
        had_focus = self.find_bar.isAncestorOf(QApplication.focusWidget() or self)
        self.find_bar.hide()
        self.jobs.cancel("find")
        self._spans = []
        for part in self._texts(RAW):
            mark_spans(part, Spans())
        self._mark_found()
        if had_focus:
            self.setFocus(Qt.FocusReason.OtherFocusReason)

    def find_step(self, step: int) -> None:
        """Go to the next one, or with -1 to the one before; from either end on to the other."""
        if not self.is_finding:
            self.open_find()
            return
        self._load_for_find()
        if total := sum(map(len, self._spans)):
            self._current = (self._current + step) % total
            self._show_current()

    def _can_find(self) -> bool:
        return self.segments.choice in (READ, RAW)

    def _on_find_bar_words_changed(self) -> None:
        self._finds_from_here = True
        self._find()
        self._load_for_find()

    def _load_for_find(self) -> None:
        """What is not there yet is loaded: words are looked for in all of the item."""
        writing = self._writings.get(self.segments.choice)
        if self.find_bar.edit.text() and writing is not None and writing.is_partial and not self._is_loading_rest:
            self._load_rest()

    def _find(self) -> None:
        """Look for the bar's words in what is written of the page."""
        parts = self._texts(self.segments.choice)
        words = self.find_bar.edit.text()
        if not words or not parts:
            self.jobs.cancel("find")
            self._on_found(parts, [Spans() for _ in parts])
            return
        pattern = re.compile(re.escape(words), re.IGNORECASE)

        async def look() -> list[Spans]:
            texts = [await raw_text(part) for part in parts]
            return await asyncio.to_thread(lambda: [text.spans_of(pattern) for text in texts])

        self.jobs.start("find", look(), partial(self._on_found, parts))

    def _on_found(self, parts: list[Reader | PlainReader], spans: list[Spans]) -> None:
        self._spans = spans
        total = sum(map(len, spans))
        if self._finds_from_here and total:
            self._current = self._first_seen(parts)
            self._finds_from_here = False
            self._show_current()
        else:
            self._current = min(self._current, max(0, total - 1))
            self._mark_spans()
            self._show_find_count()

    def _first_seen(self, parts: list[Reader | PlainReader]) -> int:
        """The number of the first one that is not above what is seen."""
        view, spans = parts[0], self._spans[0]
        if len(parts) > 1:
            return 0  # a card is short, and its texts do not scroll
        at = spans.from_(view.cursorForPosition(QPoint(0, 0)).position())
        return at if at < len(spans) else 0

    def _show_current(self) -> None:
        number = self._current
        for part, spans in zip(self._texts(self.segments.choice), self._spans, strict=False):
            if number < len(spans):
                if isinstance(part, GrowingReader):
                    self.card.reveal(part, spans.starts[number])
                else:
                    part.reveal(spans.starts[number])
                break
            number -= len(spans)
        self._is_arriving = False
        self._mark_spans()
        self._show_find_count()

    def _mark_spans(self) -> None:
        if not self.is_finding:
            return
        number = self._current
        for part, spans in zip(self._texts(self.segments.choice), self._spans, strict=False):
            mark_spans(part, spans, number if 0 <= number < len(spans) else None)
            number -= len(spans)

    def _show_find_count(self) -> None:
        writing = self._writings.get(self.segments.choice)
        is_partial = writing is not None and writing.is_partial
        self.find_bar.show_count(self._current, sum(map(len, self._spans)), is_partial=is_partial)

    def _on_scrolled(self) -> None:
        if self.is_finding and any(spans.is_many for spans in self._spans):
            self._marking.start()

    # How much is loaded

    def _piece_at(self, page: QWidget | None) -> tuple[Reader | PlainReader, int] | None:
        """The text and the place in it where the piece begins that was found, if that is written."""
        if self._piece is None or not isinstance(page, (Reader, PlainReader)):
            return None
        spans = spans_of(page.document().toRawText(), self._piece, 1)
        return (page, spans.starts[0]) if spans else None

    def _show_foot(self) -> None:
        writing = self._writings.get(self.segments.choice)
        words = writing.words if writing is not None else ""
        partial = writing is not None and writing.is_partial
        self.note_label.setText(words)
        self._show_rest_button(is_loading=False)
        self.rest_button.setVisible(partial)
        self._allow_rest(partial)
        self.foot.setVisible(partial or bool(words))

    def _allow_rest(self, is_partial: bool) -> None:
        allow(self.rest_action, "" if is_partial else tr("Nothing is left to load"))

    def _show_rest_button(self, *, is_loading: bool) -> None:
        self._can_stop = is_loading
        self.rest_button.setText(tr(STOP) if is_loading else tr(LOAD))
        self.rest_action.setText(self.rest_button.text())
        self.rest_action.setProperty("wholeTitle", under(tr("Item"), self.rest_button.text()))

    def _on_rest_button_clicked(self) -> None:
        writing = self._writings.get(self.segments.choice)
        if writing is None:
            return
        if self._can_stop:
            self.cancel_rest()
        else:
            self._load_rest()

    @property
    def rest_progress(self) -> Progress:
        """How much of the text of the chosen page is there."""
        writing = self._writings.get(self.segments.choice)
        return writing.progress if writing is not None else ("", None)

    def cancel_rest(self) -> None:
        """Load no more of the text; what is there stays."""
        self.jobs.stop("rest")
        self._show_foot()

    @property
    def _is_loading_rest(self) -> bool:
        return self.jobs.is_running("rest") and self._can_stop

    def _load_rest(self) -> None:
        writing = self._writings[self.segments.choice]

        def tell() -> None:
            self.note_label.setText(writing.words)

        self.jobs.cancel("first")
        self.jobs.start("rest", writing.write_rest(tell), lambda _: self._on_written())
        self._show_rest_button(is_loading=True)

    # Links

    def _on_link_wanted(self, url: QUrl) -> None:
        if url.isValid() and is_openable(address(url)):
            dialog = LinkDialog(url, self)
            self.jobs.start("link", ask(dialog), lambda agreed: self._on_link_answered(url, agreed))

    def _on_link_answered(self, url: QUrl, agreed: bool) -> None:
        if agreed:
            self.open_url(url)

    # The theme

    def _on_theme_changed(self) -> None:
        self.foot.setMinimumHeight(theme().row_height("listFoot"))
        self._redraw()

    def _redraw(self) -> None:
        """Write everything again: formats hold the colours of the time they were made."""
        if self._hit is not None and self._pages:
            self._is_arriving = self._turns is not None or self._passage is not None
            self._forget_pages()
            self._show_head()
            self._show_page()


class Header(QFrame):
    """The title bar; a dock asks for its size hint, not for its fixed height. Where it is narrow, `spare` is hidden."""

    def __init__(self) -> None:
        super().__init__()
        self.spare: Sequence[QWidget] = ()  # can be done without, the first ones first
        self.setProperty("surface", "head")
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def add(self, control: QWidget) -> None:
        """Put a control after the others."""
        layout = self.layout()
        assert layout is not None
        layout.addWidget(control)

    def sizeHint(self) -> QSize:
        return QSize(super().sizeHint().width(), theme().row_height("dockTitle"))

    def minimumSizeHint(self) -> QSize:
        shown = sum(self._room(part) for part in self.spare if not part.isHidden())
        return QSize(super().minimumSizeHint().width() - shown, theme().row_height("dockTitle"))

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        room = self.width() - self.minimumSizeHint().width()
        for part in reversed(self.spare):
            room -= self._room(part)
            part.setVisible(room >= 0)

    def _room(self, part: QWidget) -> int:
        layout = self.layout()
        return part.minimumSizeHint().width() + (layout.spacing() if layout is not None else 0)


async def _load(engine: MemoryEngine, hit: Hit) -> Loaded:
    """The item as it was stored; where the engine cannot give that, its hit in full; neither when it is gone."""
    # Without a reach an item in a sandbox would not be found; its own node always admits it.
    req = GetRequest(ids=[hit.id], reach=Reach.exact(hit.meta.namespace))
    note = tr("The engine holds only a part of this item; what it gave is shown.")
    try:
        for found in await engine.get_items(req):
            if found.id == hit.id:
                whole = Hit.of_item(found.id, found.item, hit.score)
                return Loaded(item=found.item, hit=whole)
    except Unsupported:
        note = tr("This engine does not export items; this is the item as its search gives it.")
    for each in await engine.get(req):
        if each.id == hit.id:
            return Loaded(hit=each.model_copy(update={"score": hit.score}), note=note)
    return Loaded(note=tr("It is no longer stored; this is what was read of it before."), is_gone=True)


def _json(stored: StoreItem | Hit) -> str:
    return stored.model_dump_json() if isinstance(stored, Hit) else dump_item(stored)


def _raw(stored: StoreItem | Hit) -> tuple[str, bool]:
    """The text of the Raw page, and whether any of its lines is too long."""
    text = pretty(_json(stored))
    return text, has_long_line(text)


def _body(item: Document) -> str:
    return item.body.text if item.body.text is not None else item.body.uri or ""


def _is_markdown(item: Document) -> bool:
    """By its type, else by its file's name; text of no known kind is read as markdown."""
    if item.mime is not None:
        return item.mime.partition(";")[0].strip().lower() in _MARKDOWN
    path = (item.meta.file_path or "").lower()
    name = path.rpartition("/")[2]
    return "." not in name or name.endswith((".md", ".markdown", ".mdx"))


def _is_prose(item: Document, body: str) -> bool:
    """Whether the text reads best in the body's font: plain text or markdown that does not line things up."""
    mime = (item.mime or "").partition(";")[0].strip().lower()
    return (mime in ("", "text/plain") or mime in _MARKDOWN) and not _ALIGNED.search(body[:20_000])


def _size_words(written: int, total: int) -> str:
    """`9.0 of 48.6 KB`; nothing when all is there."""
    return "" if written >= total else size_out_of(written, total)
