"""The preview of context.md: what an agent placed at a node is told at the start of a session, within a budget."""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Callable, Collection, Sequence
from datetime import tzinfo
from enum import Enum, auto
from functools import partial
from pathlib import Path

from pydantic import ValidationError
from PySide6.QtCore import QPoint, Qt, QTimer, QUrl, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QAction,
    QDesktopServices,
    QFocusEvent,
    QGuiApplication,
    QHideEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QMenu,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.context import (
    ContextSpec,
    Gathered,
    InvalidSpec,
    SecondCount,
    Trimmed,
    count_again,
    gather,
    trim,
)
from explorer.context.presets import PresetStore
from explorer.contract import ItemId, MemoryEngine, MetaFilter, Namespace, Reach, Timestamp
from explorer.i18n import tr, tr_n
from explorer.transfer import write_file
from explorer.ui import icons
from explorer.ui.actions import allow, panel_action
from explorer.ui.ask import ask
from explorer.ui.busy import BusyLine
from explorer.ui.context_parts.budget import MOST
from explorer.ui.context_parts.emptiness import Way, emptiness_of
from explorer.ui.context_parts.entries import EntryPage
from explorer.ui.context_parts.header import ITEMS, ContextHeader
from explorer.ui.context_parts.numbers import Numbers
from explorer.ui.context_parts.pages import RENDERED, DocumentPages, passages_of
from explorer.ui.context_parts.shown import Entry, bodies_of, cited_of, entries_of, failures_of, hits_of
from explorer.ui.dialogs.briefs import BriefsDialog
from explorer.ui.empty import Action, EmptyState
from explorer.ui.files import choose_target
from explorer.ui.jobs import Jobs, Stopped
from explorer.ui.markdown import is_openable
from explorer.ui.theme import theme
from explorer.ui.trees import PaneBanner
from explorer.ui.viewer_parts.link_dialog import LinkDialog, address

log = logging.getLogger(__name__)

ASKS_AFTER_MS = 200  # after the last change of what is asked
LOOKS_AGAIN_MS = 50  # whether the list has been read by now
TRIMS_AFTER_MS = 30  # after the slider has moved
WAITS_MS = 300  # what was shown of another node stays so long


class _Told(Enum):
    """What the banner says, where it may be over before the person has dismissed it."""

    ELSE = auto()
    FAILED = auto()
    OLD = auto()
    """That the document was not asked for again."""
    REMOVED = auto()
    """That Compare has what was before a removal."""


class ContextPanel(QWidget):
    """Asks while it is seen, once the list is read; then it only trims what it was told.

    `header` is its title bar: whoever places the panel places it too. An engine whose answers may cost is asked only
    where the person says so.
    """

    item_wanted = Signal(object, object)  # a Hit to be shown, and what was Cited of it or None
    compare_wanted = Signal()
    changed = Signal()  # what is shown is another document

    def __init__(
        self,
        nodes: Callable[[], Sequence[Namespace]],
        is_list_read: Callable[[], bool],
        zone: tzinfo,
        presets: PresetStore | None = None,
        parent: QWidget | None = None,
    ) -> None:
        """`nodes`: those that can be chosen. `is_list_read`: whether the window has what comes first.
        `presets`: None are those of the user.
        """
        super().__init__(parent)
        self.setObjectName("contextPreview")
        self.setProperty("surface", "base")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._zone = zone
        self._presets = PresetStore() if presets is None else presets
        self._filter = MetaFilter()
        self._is_list_read = is_list_read
        self._engine: MemoryEngine | None = None
        self._filter_node = Namespace.ROOT
        self._chosen: Namespace | None = None  # None: whatever the filter names
        self._spec = ContextSpec()
        self._is_due = False
        self._is_wanted = False  # by the person, where an answer may cost
        self._gathered: Gathered | None = None
        self._gathered_at = Timestamp.now_utc()
        self._gathered_for: Namespace | None = None
        self._before: tuple[Namespace, Gathered, Timestamp] | None = None  # what it was before a removal
        self.is_needed: Callable[[], bool] = lambda: False  # whether somebody else is seen who shows its document
        self._trimmed: Trimmed | None = None
        self._without: frozenset[ItemId] = frozenset()
        self._is_stopped = False
        self._told = _Told.ELSE
        self.memory_path: Callable[[], str | None] = lambda: None  # of the file that no document may be saved over
        self.open_url: Callable[[QUrl], object] = QDesktopServices.openUrl
        self.jobs = Jobs(self)
        self.header = ContextHeader(nodes)
        self.node_button, self.segments = self.header.node_button, self.header.segments
        self._build_body()
        self._make_actions()
        self._asking = self._timer(ASKS_AFTER_MS, self._ask_if_seen)
        self._trimming = self._timer(TRIMS_AFTER_MS, self._trim)
        self._waiting = self._timer(WAITS_MS, self._show_compiling)
        self._connect()
        self._show_state()

    def _timer(self, delay_ms: int, then: Callable[[], None]) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(delay_ms)
        timer.timeout.connect(then)
        return timer

    # Building

    def _build_body(self) -> None:
        self.busy_line = BusyLine()
        self.banner = PaneBanner()
        self.banner.setObjectName("contextBanner")
        self.numbers = Numbers()
        self.budget = self.numbers.budget
        self.pages = DocumentPages(self.jobs)
        self.entry_page = EntryPage()
        self.empty = EmptyState()
        self.empty.setObjectName("contextEmpty")
        self.blank = QWidget()
        self.stack = QStackedWidget()
        for page in (self.blank, self.pages, self.entry_page, self.empty):
            self.stack.addWidget(page)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.busy_line)
        column.addWidget(self.banner)
        column.addWidget(self.numbers)
        column.addWidget(self.stack, 1)

    def _make_actions(self) -> None:
        self.briefs_action = self._action(
            tr("Briefs and presets…"), "settings", tr("Which questions the sections answer, and in which order")
        )
        self.compile_action = self._action(tr("Compile again"), "refresh", tr("Ask every brief anew"))
        self.copy_action = self._action(tr("Copy the document"), "copy", tr("As Markdown, with its frontmatter"))
        self.save_action = self._action(tr("Save to a file…"), "export", tr("As Markdown, with its frontmatter"))
        self.compare_action = self._action(
            tr("Compare…"), "compare", tr("With another budget, another node, or as it was before a removal")
        )
        self.put_back_action = self._action(tr("Put all items back"), "plus", tr("The document with all of its items"))
        menu = QMenu(self.header.more_button)
        menu.setTitle(tr("context.md"))
        menu.setToolTipsVisible(True)
        menu.addActions([self.copy_action, self.save_action, self.compare_action])
        menu.addSeparator()
        menu.addActions([self.briefs_action, self.compile_action, self.put_back_action])
        self.header.more_button.setMenu(menu)

    def _action(self, words: str, icon: str, tip: str) -> QAction:
        action = panel_action(self, tr("context.md"), words)
        icons.keep(action, icon)
        action.setProperty("tip", tip)
        return action

    def _connect(self) -> None:
        self.node_button.chosen.connect(self._on_node_button_chosen)
        self.segments.chosen.connect(self._on_segments_chosen)
        self.budget.changed.connect(self._on_budget_changed)
        self.numbers.bar.section_wanted.connect(self._go_to_section)
        self.numbers.lines.section_wanted.connect(self._go_to_section)
        self.numbers.lines.rest_wanted.connect(self._show_rest)
        self.numbers.put_back_wanted.connect(self.put_all_back)
        self.put_back_action.triggered.connect(self.put_all_back)
        self.pages.link_wanted.connect(self._on_link_wanted)
        self.pages.item_wanted.connect(self._open)
        self.pages.item_menu_wanted.connect(self._on_item_menu_wanted)
        self.entry_page.item_wanted.connect(self._open)
        self.entry_page.without_wanted.connect(lambda entry, is_wanted: self.leave_out(entry.hit.id, is_wanted))
        self.entry_page.back_wanted.connect(lambda: self._choose_page(RENDERED))
        self.briefs_action.triggered.connect(self._on_briefs_action_triggered)
        self.compile_action.triggered.connect(self.compile)
        self.copy_action.triggered.connect(self.copy_document)
        self.save_action.triggered.connect(self._on_save_action_triggered)
        self.compare_action.triggered.connect(self.compare_wanted)
        self.jobs.busy_changed.connect(lambda _: self._show_busy())
        self.jobs.began.connect(lambda _: self._show_busy())
        self.jobs.ended.connect(self._on_jobs_ended)
        self.jobs.failed.connect(self._on_jobs_failed)
        theme().changed.connect(self.pages.redraw)

    # What the window calls

    def set_engine(self, engine: MemoryEngine | None) -> None:
        """Ask another engine from now on. Nothing of what the one before said is kept."""
        self._engine = engine
        self._chosen = None
        self._without = frozenset()
        self._forget()
        self._before = None
        self._told = _Told.ELSE
        self.banner.clear()
        self._want()

    def show_filter(self, filter: MetaFilter) -> None:
        """The node of this filter is the one in focus; the rest of it makes no difference to an agent there."""
        self._filter = filter
        self._filter_node = filter.reach.at if filter.reach is not None else Namespace.ROOT
        if self.node != self.node_button.node or self.node != self._gathered_for:
            self._want()

    def refresh(self) -> None:
        """Ask again, if it is seen; what is shown stays until then."""
        self._want()

    def show_removed(self, gone: Collection[ItemId]) -> None:
        """Items are gone: drop what was gathered with them. It is kept for Compare alone, until it is closed."""
        if not gone or self._gathered is None or self._gathered_for is None:
            return
        self._before = self._gathered_for, self._gathered, self._gathered_at
        self._forget()
        self._told = _Told.REMOVED
        n = len(gone)
        said = tr_n(
            "{n} item was removed: what was compiled with it was dropped. Compare has it, until you forget it.",
            "{n} items were removed: what was compiled with them was dropped. Compare has it, until you forget it.",
            n,
            n=text.number(n),
        )
        self.banner.show_note(said, tr("Compare…"), self.compare_wanted.emit, icon="info")

    def forget_before(self) -> None:
        """Let go of what was compiled before a removal."""
        self._before = None
        self._take_back(_Told.REMOVED)
        self.changed.emit()

    def let_go_of_all(self) -> None:
        """Drop all that was compiled: what was removed is not known."""
        self.forget_before()
        self._forget()
        self._want()

    async def aclose(self) -> None:
        """End every call."""
        for timer in (self._asking, self._trimming, self._waiting):
            timer.stop()
        for dialog in self.findChildren(BriefsDialog):
            dialog.reject()
            await dialog.jobs.aclose()
        await self.jobs.aclose()

    @property
    def node(self) -> Namespace:
        """For whom the document is: the node that was chosen, else that of the filter."""
        return self._chosen if self._chosen is not None else self._filter_node

    @property
    def engine(self) -> MemoryEngine | None:
        return self._engine

    @property
    def spec(self) -> ContextSpec:
        """What is asked for the node that is shown."""
        return self.spec_for(self.node)

    @property
    def gathered(self) -> Gathered | None:
        """What was answered, for `node`; None until it is."""
        return self._gathered if self._gathered_for == self.node else None

    @property
    def gathered_at(self) -> Timestamp:
        """When that was."""
        return self._gathered_at

    @property
    def before(self) -> tuple[Gathered, Timestamp] | None:
        """What was answered for the node before the last removal, and when."""
        return self._before[1:] if self._before is not None and self._before[0] == self.node else None

    @property
    def without(self) -> frozenset[ItemId]:
        """The items that the person left out."""
        return self._without

    @property
    def trimmed(self) -> Trimmed | None:
        """What is shown."""
        return self._trimmed

    @property
    def stops(self) -> list[QWidget]:
        """Where the Tab key comes to in the title bar."""
        return self.header.stops

    @property
    def pages_stops(self) -> list[QWidget]:
        """Where it comes to below it."""
        page = self.entry_page
        return [
            *self.numbers.stops,
            self.pages.read_view,
            self.pages.source_view,
            self.pages.rest_button,
            page.all_button,
            page.back_button,
            page.tree,
            page.open_button,
            page.without_button,
        ]

    def set_spec(self, spec: ContextSpec) -> None:
        """Ask by other briefs; the budget is that of the slider."""
        self._spec = spec
        self._before = None  # by other questions
        self._take_back(_Told.REMOVED)
        self._forget()
        self._want()

    def state(self) -> str:
        """Briefs and budget, for `restore`."""
        spec = self.spec.model_copy(update={"reach": None})
        return spec.model_dump_json()

    def restore(self, state: str) -> None:
        """Go on with the briefs and the budget of before; what is not understood is left aside."""
        try:
            spec = ContextSpec.model_validate_json(state)
            spec.check()
        except (ValidationError, InvalidSpec) as error:
            log.warning("briefs that cannot be read: %s", error)
            return
        self._spec = spec
        self.budget.show_budget(min(MOST, spec.budget_tokens))

    def set_budget(self, tokens: int) -> None:
        """As if the slider were drawn there."""
        self.budget.show_budget(tokens)
        self._trim()

    def spec_for(self, node: Namespace) -> ContextSpec:
        """What is asked for a node."""
        return self._spec.model_copy(update={"reach": Reach.of(node), "budget_tokens": self.budget.tokens})

    def focusInEvent(self, event: QFocusEvent) -> None:
        page = self.stack.currentWidget()
        target = self.pages.view if page is self.pages else self.entry_page.tree if page is self.entry_page else None
        (target or self.budget.spin).setFocus(event.reason())  # not by a focus proxy, see FacetPanel

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        if self._is_due:
            self._asking.start(ASKS_AFTER_MS)

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self.rest()

    def rest(self) -> None:
        """It is not seen any more: what is asked for is asked when it is again."""
        if self.is_needed():
            return
        self._asking.stop()
        if self.jobs.is_running("gather"):
            self.jobs.cancel("gather")
            self._is_due = True

    @property
    def is_seen(self) -> bool:
        """Whether any of it is on the screen, of docks that lie on each other one is; or of who shows its document."""
        return self.is_needed() or (self.isVisible() and not self.visibleRegion().isEmpty())

    # Asking

    def compile(self) -> None:
        """Ask every brief now, whatever it costs."""
        self._is_wanted = True
        self._ask()

    def _want(self) -> None:
        """What is shown is no answer any more to what is asked."""
        node = self.node
        is_other = node != self.node_button.node
        self.node_button.show_node(node)
        self._is_due = True
        self._is_stopped = self._is_wanted = False
        self.jobs.cancel("gather")
        if self._gathered_for == node:
            self._waiting.stop()  # it is back in time, and what is shown is its own
        elif self._gathered_for is not None:
            self._waiting.start()
        if is_other:
            self._take_back(_Told.FAILED, _Told.OLD)
            self.changed.emit()
        if self._engine is None:
            self._forget()
        self._show_state()
        self._asking.start(ASKS_AFTER_MS)

    def look(self) -> None:
        """It may be seen now."""
        if self._is_due and self.is_seen and not self._asking.isActive():
            self._asking.start(ASKS_AFTER_MS)

    def _ask_if_seen(self) -> None:
        if not self._is_due or not self.is_seen or self._engine is None:
            return
        if not self._is_list_read():
            self._asking.start(LOOKS_AGAIN_MS)
        elif self._may_cost and not self._is_wanted:
            self._is_due = False
            self._show_state()
            if self.gathered is not None:
                self._told = _Told.OLD
                said = tr("The memory may be another by now: this engine is asked only when you say so.")
                self.banner.show_note(said, tr("Compile again"), self.compile)
        else:
            self._ask()

    @property
    def _may_cost(self) -> bool:
        return self._engine is not None and self._engine.descriptor().may_cost

    def _ask(self) -> None:
        engine, node = self._engine, self.node
        if engine is None:
            return
        self._is_due = self._is_stopped = False
        self._asking.stop()
        if self._gathered_for != node:
            self._waiting.start()
        self.jobs.start("gather", gather(engine, self.spec_for(node)), partial(self._on_gathered, node))
        self._show_state()

    def _on_gathered(self, node: Namespace, gathered: Gathered) -> None:
        self._waiting.stop()
        self._gathered, self._gathered_for, self._gathered_at = gathered, node, Timestamp.now_utc()
        self._take_back(_Told.FAILED, _Told.OLD)
        self._trim()
        self._tell_failures()

    def stop(self) -> None:
        """Wait for no answer any more."""
        self._is_stopped = True
        self.jobs.stop("gather")

    def _on_jobs_ended(self, lane: str, how: object) -> None:
        if lane == "gather" and isinstance(how, Stopped):
            self._is_stopped = True
            self._waiting.stop()
            if self._gathered_for != self.node:
                self._forget()
            self._show_state()

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self._waiting.stop()
        if lane == "gather" and self._gathered_for != self.node:
            self._forget()
        self._told = _Told.FAILED
        ways = {"gather": self.compile, "save": self._on_save_action_triggered}
        self.banner.show_failure(error, ways.get(lane, self._trim))
        self._show_state()

    def _forget(self) -> None:
        """Drop what was answered, and all that is made of it."""
        self._trimming.stop()
        self._waiting.stop()
        self.jobs.cancel("gather")
        self._forget_shown()
        self.changed.emit()

    # Trimming

    def _on_budget_changed(self, tokens: int) -> None:
        if not self._trimming.isActive():  # while it is drawn it is shown again and again
            self._trimming.start()

    def _trim(self) -> None:
        self._trimming.stop()
        gathered = self._gathered
        if gathered is None or self._gathered_for != self.node:
            return
        self._trimmed = trimmed = trim(
            gathered, self.budget.tokens, without=self._without, generated_at=self._gathered_at
        )
        if self.segments.choice == ITEMS:
            self._list_items()
        if trimmed.doc.markdown:
            headings = [one.heading for one in trimmed.sections]
            passages = passages_of(headings, bodies_of(trimmed), cited_of(gathered, trimmed, self._without))
            self.pages.show_document(trimmed.doc.markdown, passages)
        else:
            self.pages.clear()
        self.jobs.start("count", asyncio.to_thread(count_again, trimmed.doc.markdown), self._on_counted)
        self._show_numbers()
        self._show_state()
        self.changed.emit()

    def _list_items(self) -> None:
        """The items of the document that is shown, for their page."""
        gathered, trimmed = self._gathered, self._trimmed
        if gathered is not None and trimmed is not None:
            work = asyncio.to_thread(entries_of, gathered, trimmed, self._without)
            self.jobs.start("items", work, self.entry_page.show_entries)

    def _on_counted(self, counted: SecondCount) -> None:
        self.numbers.show_counted(counted)
        focus = QApplication.focusWidget()
        if focus is not None and self.isAncestorOf(focus):  # numbers speak once they have settled
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, self.numbers.tokens_label.text()))

    def put_all_back(self) -> None:
        """The document with all of its items."""
        self._without = frozenset()
        self._trim()

    def leave_out(self, id: ItemId, is_wanted: bool) -> None:
        """The document as if this item were not stored, or with it again."""
        self._without = self._without | {id} if is_wanted else self._without - {id}
        self._trim()

    @property
    def _left_out(self) -> frozenset[ItemId]:
        """What of it would be in the document else: items of other nodes, or that are gone, leave nothing out."""
        gathered = self._gathered
        return self._without.intersection(hits_of(gathered)) if self._without and gathered else frozenset()

    # What is seen

    def _show_numbers(self) -> None:
        gathered, trimmed = self._gathered, self._trimmed
        n = 0
        if gathered is None or trimmed is None:
            self.numbers.clear()
        else:
            n = len(self._left_out)
            self.numbers.show_document(gathered, trimmed, n)
        allow(self.put_back_action, "" if n else tr("No item is left out"))

    def _show_busy(self) -> None:
        self.busy_line.set_busy(self.jobs.is_running("gather"))

    def _show_compiling(self) -> None:
        """What was shown is of another node, and the answer takes its time."""
        self._forget_shown()
        self._show_state()

    def _forget_shown(self) -> None:
        for lane in ("count", "items"):
            self.jobs.cancel(lane)
        self._gathered, self._gathered_for, self._trimmed = None, None, None
        self.pages.clear()
        self.entry_page.show_entries([])
        self._show_numbers()

    def _show_state(self) -> None:
        """The page that is chosen, or why there is none."""
        nothing = "" if self._engine is not None else tr("Nothing is open")
        trimmed = self._trimmed
        has_text = trimmed is not None and bool(trimmed.doc.markdown)
        no_text = nothing or ("" if has_text else tr("There is no document"))
        for action in (self.copy_action, self.save_action):
            allow(action, no_text)
        allow(self.compare_action, nothing or ("" if trimmed is not None else tr("There is no document")))
        allow(self.compile_action, nothing)
        self.numbers.setVisible(self._engine is not None)
        self.numbers.set_list(self.segments.choice == ITEMS)
        if trimmed is not None and self.segments.choice == ITEMS:
            self.stack.setCurrentWidget(self.entry_page)
        elif has_text:
            self.stack.setCurrentWidget(self.pages)
        elif trimmed is not None:
            self._say_empty(trimmed)
        elif self._engine is None:
            self._say("plug", tr("Nothing is open"), tr("The preview shows what an agent is told of a memory."))
        elif self.jobs.is_running("gather"):
            if not self._waiting.isActive():
                said = tr("Every brief is a question to the engine.")
                self._say("clock", tr("Compiling"), said, [(tr("Cancel"), self.stop)])
        elif self._is_stopped:
            self._say("stop", tr("Compiling was stopped"), "", [(tr("Compile"), self.compile)])
        elif self._may_cost:
            said = tr("Each brief is a question to the engine, which may cost money: it is asked when you say so.")
            self._say("cloud", tr("Not compiled yet"), said, [(tr("Compile"), self.compile)])
        elif self.stack.currentWidget() is not self.empty:
            self.stack.setCurrentWidget(self.blank)

    def _say(self, icon: str, title: str, said: str, actions: Sequence[Action] = (), tone: str = "text2") -> None:
        self.empty.show_state(icon, title, said, actions, tone)
        self.stack.setCurrentWidget(self.empty)

    def _say_empty(self, trimmed: Trimmed) -> None:
        why = emptiness_of(trimmed, self.budget.tokens, has_left_out=bool(self._left_out))
        ways: dict[Way, Action] = {
            Way.REST: (tr("What was left out"), partial(self._show_rest, None)),
            Way.AGAIN: (tr("Retry"), self.compile),
            Way.PUT_BACK: (tr("Put all items back"), self.put_all_back),
        }
        actions = [ways[why.way]] if why.way in ways else []
        self._say(why.icon, why.title, why.sentence, actions, "caution" if why.is_caution else "text2")

    def _take_back(self, *told: _Told) -> None:
        """What the banner says is over, where it is one of these."""
        if self._told in told:
            self._told = _Told.ELSE
            self.banner.clear()

    def _tell_failures(self) -> None:
        """Which sections the engine did not answer for; where it is all of them the empty page says so."""
        trimmed = self._trimmed
        failed = list(failures_of(trimmed)) if trimmed is not None and trimmed.doc.markdown else []
        if failed:
            names = text.listed(text.inline(heading, 60) for heading, _ in failed)
            said = text.named(tr("Not answered"), tr("{sections}. {reason}", sections=names, reason=failed[0][1]))
            self._told = _Told.FAILED
            self.banner.show_error(said, retry=self.compile)

    # What can be done

    def _on_node_button_chosen(self, node: Namespace | None) -> None:
        self._chosen = node
        if self.node != self._gathered_for or self.node != self.node_button.node:
            self._want()

    def _on_segments_chosen(self, choice: str) -> None:
        if choice == ITEMS:
            self.entry_page.look_at(None)
            self._list_items()
        else:
            self.pages.choose(choice)
        self._show_state()

    def _choose_page(self, choice: str) -> None:
        self.segments.set_choice(choice)
        self._on_segments_chosen(choice)

    def _go_to_section(self, at: int) -> None:
        trimmed = self._trimmed
        if trimmed is None:
            return
        if self.segments.choice == ITEMS:
            self._choose_page(RENDERED)
        self.pages.go_to_section(sum(one.tokens > 0 for one in trimmed.sections[:at]))

    def _show_rest(self, section: int | None) -> None:
        """The items that a section is without, with the reasons."""
        self.segments.set_choice(ITEMS)
        self.entry_page.look_at(section)
        self._list_items()
        self._show_state()
        self.entry_page.setFocus(Qt.FocusReason.OtherFocusReason)

    def _open(self, entry: Entry) -> None:
        self.item_wanted.emit(entry.hit, entry.cited)

    def _on_item_menu_wanted(self, entry: Entry, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Open item"), lambda: self._open(entry))
        menu.addAction(tr("Without this item"), lambda: self.leave_out(entry.hit.id, True))
        menu.addAction(tr("Copy id"), lambda: QGuiApplication.clipboard().setText(entry.hit.id))
        menu.popup(at)

    def _on_link_wanted(self, url: QUrl) -> None:
        if url.isValid() and is_openable(address(url)):
            self.jobs.start("link", ask(LinkDialog(url, self)), lambda agreed: self._on_link_answered(url, agreed))

    def _on_link_answered(self, url: QUrl, agreed: bool) -> None:
        if agreed:
            self.open_url(url)

    def _on_briefs_action_triggered(self) -> None:
        dialog = BriefsDialog(self.spec, self._presets, self._filter, self._zone, self)

        def on_accepted() -> None:
            spec = dialog.spec
            self.budget.show_budget(min(MOST, spec.budget_tokens))
            if (spec.briefs, spec.learnings_limit) != (self._spec.briefs, self._spec.learnings_limit):
                self.set_spec(spec)
            else:
                self._trim()

        dialog.accepted.connect(on_accepted)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def copy_document(self) -> None:
        """The document as it is written, on the clipboard."""
        if self._trimmed is not None:
            QGuiApplication.clipboard().setText(self._trimmed.doc.markdown)

    def _on_save_action_triggered(self) -> None:
        if self._trimmed is not None:
            self.jobs.start("save", self._save(self._trimmed.doc.markdown), self._on_saved)

    async def _save(self, markdown: str) -> Path | None:
        kinds = "Markdown (*.md)"
        path = await choose_target(self, tr("Save context.md"), "context.md", kinds, self.memory_path())
        if path is not None:
            await asyncio.to_thread(write_file, path, markdown.encode("utf-8", "surrogatepass"), overwrite=True)
        return path

    def _on_saved(self, path: Path | None) -> None:
        if path is not None:
            name = text.isolate(text.shown(path.name, 80))
            self._told = _Told.ELSE
            self.banner.show_done(tr("Saved to {file}.", file=name))
