"""The Ask panel: a question to what the filter admits, and its answer with all that it rests on."""

from __future__ import annotations

import asyncio
import time
from collections.abc import Callable, Collection
from datetime import tzinfo
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QFocusEvent,
    QGuiApplication,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QShowEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QMenu,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.asking import Answered, History, WriterSettings, WriterStore, as_markdown, as_text
from explorer.contract import (
    EngineHealth,
    ItemId,
    MemoryEngine,
    MetaFilter,
)
from explorer.i18n import tr, tr_in
from explorer.ui import icons
from explorer.ui.actions import allow, panel_action
from explorer.ui.ask_parts import states
from explorer.ui.ask_parts.answer_view import AnswerView
from explorer.ui.ask_parts.history_menu import HistoryMenu
from explorer.ui.ask_parts.question import Reply, ask_all, gone_of, scope_words
from explorer.ui.ask_parts.states import State, WaysOn
from explorer.ui.busy import BusyLine
from explorer.ui.dialogs.writer import WriterDialog, shown_place
from explorer.ui.empty import TELLS_AFTER_S, TICK_MS, EmptyState
from explorer.ui.item_questions import health_sentence
from explorer.ui.jobs import Jobs, Stopped
from explorer.ui.labels import paragraph, plain_label
from explorer.ui.margins import margins
from explorer.ui.rows import draw_text
from explorer.ui.trees import EDGE, PaneBanner, PaneHead

MAX_CHARS = 10_000  # of a question
_TOLD_CHARS = 500


class _Scope(QLabel):
    """Of what is asked: as much as there is room for."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("askScopeLabel")
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_text(QPainter(self), self.rect(), self.text(), "small", "text2")


class AskPanel(QWidget):
    """Asks one question at a time, and only when it is told to: a newer one supersedes what is still awaited."""

    open_wanted = Signal(object, object)  # a Hit, and what was Cited of it or None
    filter_wanted = Signal(object)  # a MetaFilter
    search_wanted = Signal(str)
    connections_wanted = Signal()
    import_wanted = Signal()

    def __init__(self, zone: tzinfo, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("askPanel")
        self.setProperty("surface", "base")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._zone = zone
        self._engine: MemoryEngine | None = None
        self._filter = MetaFilter()
        self._health: EngineHealth | None = None
        self._refused = ""  # why nothing can be imported
        self._began_s = 0.0
        self._asked = ""  # what is awaited, or was asked last
        self.writers: WriterStore | None = None
        """Whether a model writes answers; None where the engine always does."""
        self.history = History()
        self._replies: list[Reply] = []  # of the history's answers
        self.jobs = Jobs(self)
        self._build_head()
        self._build_body()
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(self._show_elapsed)
        self.ask_edit.returnPressed.connect(self.ask)
        self.ask_edit.textChanged.connect(self._allow)
        self.ask_button.clicked.connect(self._on_ask_button_clicked)
        self.cancel_action.triggered.connect(self.cancel)
        self.again_action.triggered.connect(self.ask_again)
        self.writer_action.triggered.connect(self.open_settings)
        self.view.open_wanted.connect(self.open_wanted)
        self.history_menu.chosen.connect(self.show_again)
        self.history_menu.forget_wanted.connect(self._forget)
        self.jobs.began.connect(self._on_jobs_began)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.ended.connect(self._on_jobs_ended)
        self._show_scope()
        self._say(states.beginning())
        self._allow()

    def _build_head(self) -> None:
        self.head = PaneHead(tr("Ask"))
        self.head.setProperty("surface", "head")
        self.scope_label = _Scope()
        self.elapsed_label = plain_label("small", "text2")
        self.elapsed_label.setObjectName("askElapsedLabel")
        self.head.put_aside(self.scope_label, self.elapsed_label)
        self.cancel_action = panel_action(self, tr("Ask"), tr("Stop asking"))
        self.cancel_action.setShortcut(QKeySequence("Esc"))
        self.cancel_action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.again_action = panel_action(self, tr("Ask"), tr("Ask again"))
        self.again_action.setProperty("tip", tr("The same question, of what the filter admits now"))
        self.writer_action = panel_action(self, tr("Ask"), tr("Who writes answers…"))
        self.writer_action.setProperty("tip", tr("The engine by itself, or a model at an address of yours"))
        self.addActions([self.cancel_action, self.again_action])
        self.history_button = _menu_button("askHistoryButton", "clock", tr("Questions of before"))
        self.history_menu = HistoryMenu(self.history, lambda: self.answered, self.history_button)
        self.history_button.setMenu(self.history_menu)
        self.copy_button = _menu_button("copyAnswerButton", "copy", tr("Copy the answer"))
        self.copy_actions = [
            self.copy_button.menu().addAction(tr("Copy with sources"), partial(self.copy, as_text)),
            self.copy_button.menu().addAction(tr("Copy with sources, as Markdown"), partial(self.copy, as_markdown)),
        ]
        self.more_button = _menu_button("askMoreButton", "more", tr("More for questions"))
        self.more_button.menu().addActions([self.again_action, self.writer_action])
        for button in (self.history_button, self.copy_button, self.more_button):
            self.head.add(button)

    def _build_body(self) -> None:
        self.ask_edit = QLineEdit()
        self.ask_edit.setObjectName("askEdit")
        self.ask_edit.setPlaceholderText(tr("Ask a question"))
        self.ask_edit.setAccessibleName(tr_in("asked", "Question"))
        self.ask_edit.setMaxLength(MAX_CHARS)
        self.ask_button = QPushButton(tr("Ask"))
        self.ask_button.setObjectName("askNowButton")
        self.ask_button.setMinimumWidth(self.ask_button.fontMetrics().horizontalAdvance(tr("Cancel")) + 26)
        self.writer_label = paragraph("small", "caution", "askWriterLabel")
        self.writer_label.setContentsMargins(margins(EDGE, 0, EDGE, 6))
        self.writer_label.hide()
        self.busy_line = BusyLine()
        self.banner = PaneBanner()
        self.banner.setObjectName("askBanner")
        self.stale_banner = PaneBanner()
        self.stale_banner.setObjectName("askStaleBanner")
        self.view = AnswerView(self._zone)
        self.empty = EmptyState()
        self.empty.setObjectName("askEmpty")
        self._pages = QStackedWidget()
        self._pages.addWidget(self.empty)
        self._pages.addWidget(self.view)
        row = QHBoxLayout()
        row.setContentsMargins(margins(EDGE, 8, EDGE, 6))
        row.setSpacing(8)
        row.addWidget(self.ask_edit, 1)
        row.addWidget(self.ask_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addLayout(row)
        column.addWidget(self.writer_label)
        column.addWidget(self.busy_line)
        column.addWidget(self.banner)
        column.addWidget(self.stale_banner)
        column.addWidget(self._pages, 1)

    # What the window calls

    @property
    def answered(self) -> Answered | None:
        """The answer that is shown."""
        return self.view.reply.answered if self.view.reply is not None else None

    def set_engine(self, engine: MemoryEngine | None, *, keeps_answers: bool = False) -> None:
        """Ask another engine from now on; `keeps_answers`: it holds the same memory."""
        self._engine, self._health = engine, None
        self.jobs.cancel()
        self.banner.clear()
        if not keeps_answers:
            self.ask_edit.clear()
            self._forget()
        self._allow()

    def show_filter(self, filter: MetaFilter) -> None:
        """Ask what this filter admits from now on; an answer from under another one says so."""
        self._filter = filter
        self._show_scope()
        self._show_whether_stale()

    def show_health(self, health: EngineHealth) -> None:
        """What the engine says of itself, which concerns what it answers."""
        self._health = health

    def refuse_writing(self, why: str) -> None:
        """Offer no import, and say why not; "" offers it again."""
        self._refused = why

    def let_go(self, gone: Collection[ItemId]) -> None:
        """Drop every answer that holds something of items that were removed; also one that is awaited."""
        if not gone:
            return
        self.history.drop(gone)
        self._keep_replies()
        if self.answered is not None and self.answered.ids & frozenset(gone):
            self._show_let_go()

    def let_go_of_all(self) -> None:
        """Drop every answer: what was removed is not known."""
        self.history.clear()
        self._keep_replies()
        if self.answered is not None:
            self._show_let_go()

    def look_again(self) -> None:
        """Drop the answers that hold what others have removed meanwhile."""
        answers = list(self.history)
        if self._engine is not None and answers:
            self.jobs.start("stored", gone_of(self._engine, answers), self.let_go)

    def refresh(self) -> None:
        """Read again: an answer stays what it was, unless what it holds is gone."""
        self.look_again()

    async def aclose(self) -> None:
        self._tick.stop()
        for dialog in self.window().findChildren(WriterDialog):
            await dialog.jobs.aclose()
        await self.jobs.aclose()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.ask_edit.setFocus(event.reason())  # not by a focus proxy, see FacetPanel

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._read_settings()

    # Who writes

    def open_settings(self) -> None:
        """The settings of who writes answers, over the window."""
        if self.writers is None:
            return
        dialog = WriterDialog(self.writers, self.window())
        dialog.accepted.connect(self._read_settings)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _read_settings(self) -> None:
        if self.writers is not None:
            self.jobs.start("settings", asyncio.to_thread(self.writers.load), self._on_settings)

    def _on_settings(self, settings: WriterSettings) -> None:
        """Say before it happens where a question goes."""
        place = text.inline(shown_place(settings.endpoint))
        said = tr("The question, and what is found for it, go to {address}.", address=place)
        self.writer_label.setText(said if settings.is_on else "")
        self.writer_label.setVisible(settings.is_on)

    # Asking

    def ask_about(self, question: str) -> None:
        """Ask `question` as if it had been typed."""
        self.ask_edit.setText(question)
        self.ask()

    def ask(self) -> None:
        """Ask what is typed, of what the filter admits now."""
        question = self.ask_edit.text().strip()
        if self._engine is None or not question:
            return
        self.banner.clear()
        self._read_settings()  # another window may have changed them
        self._asked = question
        self._began_s = time.monotonic()
        since = self.history.now()
        work = ask_all(self._engine, question, self._filter, self.writers)
        self.jobs.start("ask", work, partial(self._on_reply, since))

    def ask_again(self) -> None:
        """The question whose answer is shown, else the last one, of what the filter admits now."""
        self.ask_about(self.answered.question if self.answered is not None else self._asked)

    def cancel(self) -> None:
        """Ask no further; what is shown stays."""
        self.jobs.stop("ask")

    def _on_ask_button_clicked(self) -> None:
        if self.jobs.is_running("ask"):
            self.cancel()
        else:
            self.ask()

    def _on_reply(self, since: int, reply: Reply) -> None:
        if not self.history.add(reply.answered, since):
            self._show_let_go()
            return
        self._replies.append(reply)
        self._keep_replies()
        self._show(reply)
        self._tell(reply)
        answered = reply.answered
        if reply.writer_error:
            why = text.sentence(reply.writer_error)
            said = tr("The model did not write the answer. {why} This is the engine's own.", why=why)
            self.banner.show_note(said, tr("Settings…"), self.open_settings, icon="warning")
        elif not answered.says_nothing and self._health is not None and self._health.state != "ok":
            said = tr("{health} The answer may lack what cannot be found now.", health=health_sentence(self._health))
            self.banner.show_note(said, tr("Ask again"), self.ask_again, icon="warning")

    def _tell(self, reply: Reply) -> None:
        """To who hears it: what the answer is, as the keyboard stays in the field."""
        said = " ".join(text.shown(one.text, _TOLD_CHARS) for one in reply.answered.sentences)[:_TOLD_CHARS]
        words = said or self.empty.accessibleName()
        if self._pages.currentWidget() is self.view and not said:
            words = tr("Nothing stored answers this question.")
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, words))

    def _on_jobs_began(self, lane: str) -> None:
        if lane == "ask":
            self.elapsed_label.clear()
            self._show_busy()

    def _show_busy(self) -> None:
        is_asking = self.jobs.is_running("ask")
        self.busy_line.set_busy(is_asking)
        self.ask_button.setText(tr("Cancel") if is_asking else tr("Ask"))
        if is_asking:
            self._tick.start()
        else:
            self._tick.stop()
            self.elapsed_label.clear()
        self._allow()

    def _show_elapsed(self) -> None:
        elapsed_s = time.monotonic() - self._began_s
        if elapsed_s >= TELLS_AFTER_S:
            self.elapsed_label.setText(tr("{time} so far.", time=text.duration(int(elapsed_s))))

    def _on_jobs_ended(self, lane: str, error: BaseException | None) -> None:
        if lane != "ask":
            return
        self._show_busy()
        if isinstance(error, Stopped):
            self.banner.show_note(tr("Asking was stopped."), tr("Ask again"), self.ask)

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        if lane != "ask":  # whether all is still stored is looked at again with the next change
            return
        state = states.failure(error, self._ways_on(self._filter))
        if self.answered is None:
            self._say(state)
            return
        words, act = state.ways_on[-1] if state.ways_on else ("", None)
        self.banner.show_note(state.sentence, words, act, icon="warning")  # the answer stays, of another question

    @property
    def _can_search(self) -> bool:
        return self._engine is not None and bool(self._engine.descriptor().fetch_modes)

    def _search(self) -> None:
        self.search_wanted.emit(self._asked)

    def _ask_everything(self) -> None:
        self.filter_wanted.emit(MetaFilter())
        self.ask_again()

    # What is shown

    def _show(self, reply: Reply) -> None:
        ways = self._ways_on(reply.answered.filter)
        state = states.nothing(reply, ways)
        self._leave_view()
        if state is None:
            self.view.show_reply(reply, ways.where_nothing_answers())
            self._pages.setCurrentWidget(self.view)
        else:
            self._say(state)
        self._show_whether_stale()
        self._allow()

    def _ways_on(self, filter: MetaFilter) -> WaysOn:
        """What can be done where a question under this filter has no answer."""
        return WaysOn(
            again=(tr("Ask again"), self._ask_last),
            connections=(tr("Connections…"), self.connections_wanted.emit),
            search=(tr("Search instead"), self._search) if self._can_search else None,
            unfiltered=None if filter.is_empty() else (tr("Ask without the filter"), self._ask_everything),
            imports=None if self._refused else (tr("Import…"), self.import_wanted.emit),
        )

    def _show_let_go(self) -> None:
        self._leave_view()
        self._say(states.let_go((tr("Ask again"), self._ask_last)))
        self._show_whether_stale()
        self._allow()

    def _ask_last(self) -> None:
        self.ask_about(self._asked)

    def _leave_view(self) -> None:
        """The keyboard goes to the field before what has it is taken away."""
        focus = QApplication.focusWidget()
        if focus is not None and self._pages.isAncestorOf(focus):
            self.ask_edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _say(self, state: State) -> None:
        """Show this in the place of an answer."""
        self.view.clear()
        self.empty.show_state(state.icon, state.title, state.said, state.ways_on, state.tone)
        self._pages.setCurrentWidget(self.empty)

    def _show_scope(self) -> None:
        words = scope_words(self._filter, self._zone)
        said = tr("Of what the filter admits: {conditions}", conditions=words) if words else tr("Of all items")
        self.scope_label.setText(words or tr("all items"))
        self.scope_label.setAccessibleName(said)
        self.scope_label.setToolTip(text.tip(said))

    def _show_whether_stale(self) -> None:
        answered = self.answered
        if answered is None or answered.filter == self._filter:
            self.stale_banner.clear()
            return
        words = scope_words(answered.filter, self._zone)
        said = tr("Asked under another filter: {conditions}", conditions=words) if words else ""
        self.stale_banner.show_note(said or tr("Asked without a filter"), tr("Ask again"), self.ask_again)

    def _allow(self) -> None:
        nothing = "" if self._engine is not None else tr("Nothing is open")
        is_asking = self.jobs.is_running("ask")
        question = "" if self.ask_edit.text().strip() else tr("No question is typed")
        self.ask_edit.setEnabled(not nothing)
        self.ask_button.setEnabled(is_asking or not (nothing or question))
        self.ask_button.setToolTip("" if is_asking else nothing or question)
        allow(self.cancel_action, "" if is_asking else tr("Nothing is being asked"))
        allow(self.again_action, nothing or ("" if self._asked else tr("Nothing was asked yet")))
        answered = self.answered
        allow(self.writer_action, "" if self.writers is not None else tr("The engine always writes them here"))
        no_answer = "" if answered is not None and not answered.says_nothing else tr("There is no answer to copy")
        for action in self.copy_actions:
            allow(action, no_answer)

    # Copying, and what was asked before

    def copy(self, written: Callable[[Answered], str]) -> None:
        """Copy the answer with its sources."""
        if self.answered is not None:
            QGuiApplication.clipboard().setText(written(self.answered))

    def show_again(self, answered: Answered) -> None:
        """Show an answer of before, under the filter of then."""
        self.banner.clear()
        self.ask_edit.setText(answered.question)
        self._asked = answered.question
        found = next((reply for reply in self._replies if reply.answered is answered), None)
        if found is not None:
            self._show(found)
        self.look_again()

    def _keep_replies(self) -> None:
        """Hold no more of what is stored than the history does."""
        kept = {id(answered) for answered in self.history}
        self._replies = [reply for reply in self._replies if id(reply.answered) in kept]

    def _forget(self) -> None:
        self.history.clear()
        self._keep_replies()
        self._leave_view()
        self._asked = ""
        self._say(states.beginning())
        self._show_whether_stale()
        self._allow()


def _menu_button(name: str, icon: str, words: str) -> QToolButton:
    """A button of the head that opens a menu."""
    button = QToolButton()
    button.setObjectName(name)
    button.setProperty("kind", "small")
    button.setAccessibleName(words)
    button.setToolTip(words)
    button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
    icons.keep(button, icon)
    menu = QMenu(button)
    menu.setTitle(tr("Ask"))
    button.setMenu(menu)
    return button
