"""The agent's console: any of its tools run by hand, with the JSON that the agent would get."""

from __future__ import annotations

import json
import time
from collections.abc import Collection
from dataclasses import dataclass, replace
from datetime import tzinfo
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QAction, QFocusEvent, QGuiApplication, QKeySequence, QShowEvent
from PySide6.QtWidgets import (
    QCheckBox,
    QComboBox,
    QFrame,
    QHBoxLayout,
    QMenu,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QStackedWidget,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.contract import GetRequest, Hit, ItemId, MemoryEngine, StoreItem, TinyMemoryError, wire
from explorer.contract.namespace import EVERYTHING
from explorer.i18n import mark, tr, tr_n
from explorer.removal.by_tool import ToolWrites
from explorer.removal.journal import Journal
from explorer.tools import WRITE_TOOL_NAMES, MemoryTools, ToolScope, ToolSpec
from explorer.ui import news
from explorer.ui.actions import allow, clear, panel_action
from explorer.ui.agent_view import agent_name
from explorer.ui.ask import confirm
from explorer.ui.busy import BusyLine
from explorer.ui.dialogs.plan_parts.one_line import OneLine
from explorer.ui.dialogs.remove_parts.confirm import large_words
from explorer.ui.headline import headline
from explorer.ui.jobs import Jobs
from explorer.ui.margins import margins
from explorer.ui.paths_stay import MayStore, may_always
from explorer.ui.segments import Segments
from explorer.ui.tool_form import ToolForm
from explorer.ui.tool_result import SHOWN_MOST, ResultView, item_ids
from explorer.ui.trees import EDGE, PaneBanner, PaneHead
from explorer.ui.typed import typed
from explorer.ui.viewer_parts.json_text import pretty

# Translators: the pages of the console: fields, the same by hand, what came of it
FORM, BY_HAND, RESULT = mark("Form"), mark("JSON"), mark("Result")
_HISTORY_MOST = 50
_FORM_MOST = 500_000  # characters of JSON; a field lays out the whole of a line at once
_ESCAPES = {char: f"\\u{ord(char):04x}" for char in "\u2028\u2029"}
_TOLD_CHARS = 300
_NODES_TOLD = 6
_SAMPLES_TOLD = 3


@dataclass(frozen=True)
class Call:
    """One call of a tool in this session: what was sent and what came, as the agent has it."""

    tool: str
    scope: ToolScope
    arguments: str
    """JSON; empty for none."""
    answer: str = ""
    error: TinyMemoryError | None = None
    took_s: float = 0.0
    receipt: Path | None = None
    """In the journal, of what was forgotten."""
    note: str = ""
    """What the person should know besides: no agent is told."""

    @property
    def said(self) -> str:
        """What the agent gets: JSON, or the message of the error."""
        return self.answer if self.error is None else self.error.text


class ConsolePanel(QWidget):
    """Runs the seven tools in the scope of an agent. A write is shown first; what is forgotten leaves a receipt."""

    item_wanted = Signal(object)  # a Hit
    changed = Signal()  # something was stored, or may be
    left_midway = Signal()  # a forget, of which nobody knows what went
    forgotten = Signal(object, object)  # the ids that went, and those that were to go and stayed
    receipt_wanted = Signal(object)  # a Path

    def __init__(self, journal: Journal, zone: tzinfo, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("agentConsole")
        self.setProperty("surface", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._journal, self._zone = journal, zone
        self._engine: MemoryEngine | None = None
        self._connection = ""
        self._is_locked = False
        self._scope = ToolScope()
        self._specs: dict[str, ToolSpec] = {}
        self._forms: dict[str, ToolForm] = {}
        self._is_by_hand = False  # the arguments are those of the JSON, not of the form
        self.calls: list[Call] = []
        """Of this session, the newest last."""
        self._shown: Call | None = None
        self.may_store: MayStore = may_always
        self.jobs = Jobs(self)

        self.head = PaneHead(tr("Console"), tr("an agent's tools, by hand"), tr("an agent's tools"))
        self.scope_label = OneLine("small", "text2")
        self.scope_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.scope_label.setObjectName("consoleScopeLabel")
        self.read_only_check = QCheckBox(tr("Read-only agent"))
        self.read_only_check.setObjectName("agentReadOnlyCheck")
        self.read_only_check.setProperty("textRole", "small")
        self.tool_box = QComboBox()
        self.tool_box.setObjectName("toolBox")
        self.tool_box.setAccessibleName(tr("Tool"))
        self.segments = Segments([FORM, BY_HAND, RESULT])
        self.segments.setObjectName("consoleSegments")
        self.run_action = panel_action(self, tr("Console"), tr("Run"))
        self.run_action.setShortcut(QKeySequence("Ctrl+Return"))
        self.run_action.setShortcutContext(Qt.ShortcutContext.WidgetWithChildrenShortcut)
        self.addAction(self.run_action)
        self.run_button = QPushButton(tr("Run"))
        self.run_button.setObjectName("runToolButton")
        self.busy_line = BusyLine()
        self.banner = PaneBanner()

        self.form_scroll = QScrollArea()
        self.form_scroll.setFrameShape(QFrame.Shape.NoFrame)
        self.form_scroll.setWidgetResizable(True)
        self.form_scroll.setProperty("surface", "panel")
        self.form_scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._form_stack = QStackedWidget()
        self._form_stack.setContentsMargins(EDGE, 4, EDGE, 8)
        self.form_scroll.setWidget(self._form_stack)
        self.json_edit = QPlainTextEdit()
        self.json_edit.setObjectName("argumentsEdit")
        self.json_edit.setProperty("kind", "field")
        self.json_edit.setProperty("textRole", "mono")
        self.json_edit.setAccessibleName(tr("Arguments as JSON"))
        self.json_edit.setTabChangesFocus(True)
        by_hand = QWidget()
        column = QVBoxLayout(by_hand)
        column.setContentsMargins(margins(EDGE, 4, EDGE, 8))
        column.addWidget(self.json_edit)
        self.result_view = ResultView()
        self.result_view.setAccessibleName(tr("What the agent gets"))
        self._pages = QStackedWidget()
        for page in (self.form_scroll, by_hand, self.result_view):
            self._pages.addWidget(page)

        self.said_label = OneLine("small", "text2")
        self.said_label.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.said_label.setObjectName("toolSaidLabel")
        self.receipt_button = QPushButton(tr("Receipt"))
        self.receipt_button.setObjectName("toolReceiptButton")
        self.receipt_button.setProperty("kind", "link")
        self.receipt_button.setToolTip(tr("Show in the journal what was forgotten"))
        self.receipt_button.hide()
        self.raw_check = QCheckBox(tr("Raw"))
        self.raw_check.setObjectName("rawResultCheck")
        self.raw_check.setProperty("textRole", "small")
        self.raw_check.setToolTip(tr("On one line, byte for byte as the agent gets it"))
        self.copy_button = self._tool("copyResultButton", tr("Copy"))
        self.copy_button.setToolTip(tr("Copy what the agent gets, byte for byte"))
        self.history_button = self._tool("toolHistoryButton", tr("History"))
        self.history_button.setToolTip(tr("The calls of this session"))
        self.history_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self._history = QMenu(tr("Console"), self.history_button)
        self.history_button.setMenu(self._history)

        self._lay_out()
        self.tool_box.currentIndexChanged.connect(self._on_tool_box_changed)
        self.segments.chosen.connect(self._on_segments_chosen)
        self.read_only_check.toggled.connect(self._show_tools)
        self.run_action.triggered.connect(self.run)
        self.run_button.clicked.connect(self.run_action.trigger)
        self.raw_check.toggled.connect(lambda: self._show_result())
        self.copy_button.clicked.connect(self.copy)
        self._history.aboutToShow.connect(self._fill_history)
        self.receipt_button.clicked.connect(self._on_receipt_button_clicked)
        self.result_view.id_wanted.connect(self._on_id_wanted)
        self.jobs.busy_changed.connect(self._on_jobs_busy_changed)
        self.jobs.failed.connect(self._on_jobs_failed)
        self._show_scope()
        self._show_tools()
        self._show_result()

    def _tool(self, name: str, words: str) -> QToolButton:
        button = QToolButton()
        button.setObjectName(name)
        button.setText(words)
        button.setProperty("kind", "small")
        button.setProperty("textRole", "smallMedium")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        return button

    def _lay_out(self) -> None:
        scope = QHBoxLayout()
        scope.setContentsMargins(margins(EDGE, 6, EDGE, 0))
        scope.setSpacing(8)
        scope.addWidget(self.scope_label, 1)
        scope.addWidget(self.read_only_check)
        tool = QHBoxLayout()
        tool.setContentsMargins(margins(EDGE, 4, EDGE, 4))
        tool.setSpacing(6)
        self.tool_box.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.tool_box.setMinimumWidth(96)
        tool.addWidget(self.tool_box, 1)
        tool.addWidget(self.segments)
        tool.addWidget(self.run_button)
        rule = QFrame()
        rule.setProperty("surface", "rule")
        rule.setFixedHeight(1)
        self.foot = QWidget()
        self.foot.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)  # the dock may be narrower
        row = QHBoxLayout(self.foot)
        row.setContentsMargins(margins(EDGE, 4, EDGE - 4, 4))
        row.setSpacing(4)
        row.addWidget(self.said_label, 1)
        for part in (self.receipt_button, self.raw_check, self.copy_button, self.history_button):
            row.addWidget(part)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addLayout(scope)
        column.addLayout(tool)
        column.addWidget(self.busy_line)
        column.addWidget(self.banner)
        column.addWidget(self._pages, 1)
        column.addWidget(rule)
        column.addWidget(self.foot)

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.tool_box.setFocus(event.reason())  # not by a focus proxy, see FacetPanel

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self._show_form()

    # What the window calls

    def set_engine(self, engine: MemoryEngine | None, connection: str, *, is_read_only: bool, keeps: bool) -> None:
        """Run on another engine. `keeps`: it holds the same memory, so that the calls of before stay."""
        self.jobs.cancel()
        self._engine, self._connection, self._is_locked = engine, connection, is_read_only
        self.banner.clear()
        if not keeps:
            self.calls, self._shown = [], None
            for form in self._forms.values():
                form.set_values({})
            self.json_edit.clear()
            self._show_result()
        self.read_only_check.setEnabled(not is_read_only)
        self.read_only_check.setToolTip(tr("The memory is opened read-only") if is_read_only else "")
        self._show_tools()

    def set_name(self, connection: str) -> None:
        """What is open is called that from now on."""
        self._connection = connection

    def show_scope(self, scope: ToolScope) -> None:
        """Whose tools they are from now on."""
        if scope != self._scope:
            self._scope = scope
            self._show_scope()

    @property
    def scope(self) -> ToolScope:
        """Whose tools are run, with its writes as they are allowed here."""
        is_read_only = self._is_locked or self.read_only_check.isChecked()
        return replace(self._scope, writes=not is_read_only)

    def let_go(self, gone: Collection[ItemId]) -> None:
        """Drop the calls whose answers hold something of what was removed."""
        self._keep([call for call in self.calls if not set(gone).intersection(item_ids(call.answer))])

    def let_go_of_all(self) -> None:
        """Drop every call: what was removed is not known."""
        self._keep([])

    def _keep(self, calls: list[Call]) -> None:
        self.calls = calls
        if self._shown not in calls:
            self._shown = None
            self._show_result()

    async def aclose(self) -> None:
        await self.jobs.aclose()

    # Whose tools, and which

    def _show_scope(self) -> None:
        scope = self._scope
        if scope.reach is None:
            said = tr("Given no node: reads all but sandboxes")
        else:
            said = tr("As {agent}", agent=agent_name(scope.place))
        self.scope_label.say(said)

    def _show_tools(self) -> None:
        """Offer the tools that the agent has, as its specs name them."""
        specs = MemoryTools.with_scope(self._engine, self.scope).specs() if self._engine is not None else []
        chosen = self.tool
        offered = {spec.name: spec for spec in specs}
        if offered != self._specs:
            for name in [name for name in self._forms if name in offered and offered[name] != self._specs.get(name)]:
                form = self._forms.pop(name)  # of another engine, which takes other values
                self._form_stack.removeWidget(form)
                form.deleteLater()
            self._specs = offered
            self.tool_box.blockSignals(True)
            self.tool_box.clear()
            for spec in specs:
                self.tool_box.addItem(spec.name)
                self.tool_box.setItemData(self.tool_box.count() - 1, text.tip(spec.description), _TIP)
            self.tool_box.setCurrentIndex(max(0, self.tool_box.findText(chosen)))
            self.tool_box.blockSignals(False)
        if self.tool != chosen or self.form is None:
            self._on_tool_box_changed()
        self._allow()

    @property
    def tool(self) -> str:
        """The tool that is chosen; "" where nothing is open."""
        return self.tool_box.currentText()

    @property
    def form(self) -> ToolForm | None:
        """Of the tool that is chosen."""
        return self._forms.get(self.tool)

    def _on_tool_box_changed(self) -> None:
        self._show_form()
        self._write_by_hand()
        if self.segments.choice == RESULT:
            self._choose_page(BY_HAND if self._is_by_hand else FORM)

    def _show_form(self) -> None:
        """The form of the tool, made when it is first looked at."""
        spec = self._specs.get(self.tool)
        self.tool_box.setToolTip(text.tip(spec.description) if spec is not None else "")
        if spec is None or not self.isVisible():
            return
        if spec.name not in self._forms:
            form = self._forms[spec.name] = ToolForm(spec.parameters)
            self._form_stack.addWidget(form)
        for form in self._forms.values():  # else the page would be as high as the highest of them
            policy = QSizePolicy.Policy.Preferred if form is self.form else QSizePolicy.Policy.Ignored
            form.setSizePolicy(policy, policy)
        self._form_stack.setCurrentWidget(self._forms[spec.name])

    def _choose_page(self, choice: str) -> None:
        self.segments.set_choice(choice)
        self._pages.setCurrentIndex((FORM, BY_HAND, RESULT).index(choice))

    def _on_segments_chosen(self, choice: str) -> None:
        """The form and the JSON are two ways of writing the same; what the form cannot hold stays JSON."""
        self.banner.clear()
        if choice == BY_HAND and not self._is_by_hand:
            self._is_by_hand = True
            self._write_by_hand()
        elif choice == FORM and self._is_by_hand:
            if self._read_by_hand():
                self._is_by_hand = False
            else:
                self.banner.show_note(tr("The form cannot hold all that the JSON says."), icon="info")
                choice = BY_HAND
        self._choose_page(choice)

    def _write_by_hand(self) -> None:
        values = self.form.values() if self.form is not None else {}
        self._show_by_hand(json.dumps(values, ensure_ascii=False, indent=2) if values else "")

    def _show_by_hand(self, arguments: str) -> None:
        """Show JSON in the field, which would take some characters of its strings for ends of lines."""
        self.json_edit.setPlainText("".join(_ESCAPES.get(char, char) for char in arguments))

    def _read_by_hand(self) -> bool:
        """Fill the form from the JSON; False, and nothing is changed, where it cannot hold all of that."""
        if self.form is None:
            return False
        written = typed(self.json_edit).strip()
        if len(written) > _FORM_MOST:
            return False
        try:
            values = wire.loads(written) if written else {}  # as the tools read it
        except wire.WireError:
            return False
        return isinstance(values, dict) and self.form.set_values(values)

    # Running

    def run(self) -> None:
        """Call the tool with what is set; a write first says what it would do."""
        engine, name = self._engine, self.tool
        if engine is None or not name or self.jobs.is_running("write"):
            return
        self.banner.clear()
        given = self._given()
        if name in WRITE_TOOL_NAMES:
            self.jobs.start("write", self._write(engine, name, given), self._on_called)
        else:
            self.jobs.start("call", self._call(engine, name, given, self.scope), self._on_called)

    def _given(self) -> str:
        """The arguments as JSON; "" for none."""
        if self._is_by_hand:
            return typed(self.json_edit).strip()
        values = self.form.values() if self.form is not None else {}
        return json.dumps(values, ensure_ascii=False) if values else ""

    @staticmethod
    async def _call(engine: MemoryEngine, name: str, given: str, scope: ToolScope) -> Call:
        """One call, timed; errors of the tool are its answer."""
        tools = MemoryTools.with_scope(engine, scope)
        began_s = time.monotonic()
        try:
            answer = await (tools.call_json(name, given) if given else tools.call(name))
        except TinyMemoryError as error:
            return Call(name, scope, given, error=error, took_s=time.monotonic() - began_s)
        return Call(name, scope, given, answer, took_s=time.monotonic() - began_s)

    async def _write(self, engine: MemoryEngine, name: str, given: str) -> Call | None:
        """A call that changes something, once the person has seen what; None where they do not agree."""
        scope = self.scope
        writes = ToolWrites(engine, self._journal, self._connection, scope.reach, zone=self._zone)
        rehearsed = await self._call(writes.rehearsing(), name, given, scope)
        if rehearsed.error is not None:  # it would come to nothing
            return rehearsed
        await writes.plan()
        if writes.stores is not None:
            if not await confirm(self, *_store_question(writes.stores, scope), tr("Store")):
                return None
            if not await self.may_store(engine, self._connection, self):
                return None
        elif writes.removal is not None:
            skipped = json.loads(rehearsed.answer).get("skipped") or []
            needed, preview = writes.removal.confirmation, writes.removal.preview
            switch = None
            if needed is not None and preview is not None and needed.large:
                switch = partial(_add_switch, large_words(preview))
            question = _forget_question(writes, scope, len(skipped))
            if not await confirm(self, *question, tr("Forget"), opened=switch):
                return None
        try:
            called = await self._call(writes.running(), name, given, scope)
        except BaseException:  # cancelled too: some of it may have gone
            self.left_midway.emit()
            raise
        outcome = writes.outcome
        if writes.stores is not None:  # whatever was answered: it may be stored all the same
            self.changed.emit()
        if outcome is not None and writes.removal is not None and writes.removal.preview is not None:
            left = set(outcome.left)
            self.forgotten.emit(set(writes.removal.preview.ids) - left, left)
            if not outcome.is_clean:
                called = replace(called, note=tr("Not all of it went cleanly; the receipt says how far it came."))
            called = replace(called, receipt=outcome.receipt)
        return called

    def _on_called(self, call: Call | None) -> None:
        if call is None:
            self.said_label.say(tr("Nothing was done."))
            return
        self.calls = [*self.calls, call][-_HISTORY_MOST:]
        self._shown = call
        self._choose_page(RESULT)
        self._show_result()

    def _on_jobs_busy_changed(self, is_busy: bool) -> None:
        self.busy_line.set_busy(is_busy)
        self._allow()

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.banner.show_error(news.sentence(error), news.details(error))

    def _allow(self) -> None:
        why_not = "" if self._engine is not None else tr("Nothing is open")
        if not why_not and self.jobs.is_running("write"):
            why_not = tr("A call that writes goes on")
        allow(self.run_action, why_not)
        self.run_button.setEnabled(self.run_action.isEnabled())
        self.run_button.setToolTip(self.run_action.toolTip() if why_not else tr("Run the tool (Ctrl+Enter)"))

    # What came of it

    @property
    def shown_text(self) -> str:
        """The answer as it is shown, all of it."""
        call = self._shown
        if call is None:
            return ""
        return call.said if call.error is not None or self.raw_check.isChecked() else pretty(call.answer)

    def copy(self) -> None:
        """What the agent gets, byte for byte."""
        if self._shown is not None:
            QGuiApplication.clipboard().setText(self._shown.said)

    def _show_result(self) -> None:
        call = self._shown
        self.copy_button.setEnabled(call is not None)
        self.history_button.setEnabled(bool(self.calls))
        self.receipt_button.setVisible(call is not None and call.receipt is not None)
        if call is None:
            self.said_label.say("")
            self.jobs.cancel("show")
            self.result_view.start()
            return
        shown = self.shown_text
        ids = item_ids(call.answer) if call.error is None else []
        token = "text" if call.error is None else "danger"
        self.jobs.start("show", self.result_view.show_answer(shown, ids, token), lambda _: None)
        said = [text.duration(call.took_s)]
        if call.error is not None:
            said.insert(0, call.error.label)
        if len(shown) > SHOWN_MOST:
            said.append(tr("only its beginning is shown; Copy has all of it"))
        self.said_label.say(text.listed([call.tool, *said, call.note]))

    def _on_receipt_button_clicked(self) -> None:
        if self._shown is not None and self._shown.receipt is not None:
            self.receipt_wanted.emit(self._shown.receipt)

    def _on_id_wanted(self, id: str) -> None:
        engine, call = self._engine, self._shown
        if engine is None or call is None:
            return
        req = GetRequest(ids=[ItemId(id)], reach=call.scope.reach or EVERYTHING)
        self.jobs.start("open", engine.get(req), self._on_open)

    def _on_open(self, hits: list[Hit]) -> None:
        if hits:
            self.item_wanted.emit(hits[0])
        else:
            self.banner.show_note(tr("This item is no longer stored where the agent reads."), icon="info")

    # The calls of this session

    def _fill_history(self) -> None:
        clear(self._history)
        for call in reversed(self.calls):
            arguments = text.shown(call.arguments, 60)
            state = call.error.label if call.error is not None else text.duration(call.took_s)
            words = text.label(text.listed((" ".join(filter(None, (call.tool, arguments))), state)))
            action: QAction = self._history.addAction(words)
            action.triggered.connect(partial(self.show_call, call))

    def show_call(self, call: Call) -> None:
        """Show a call again: its answer, and its arguments to be run once more."""
        at = self.tool_box.findText(call.tool)
        if at >= 0:  # else it writes, and the agent does not now
            self.tool_box.setCurrentIndex(at)
            self._show_by_hand(call.arguments)
            self._is_by_hand = not self._read_by_hand()
        self._shown = call
        self._choose_page(RESULT)
        self._show_result()


_TIP = Qt.ItemDataRole.ToolTipRole


def _store_question(item: StoreItem, scope: ToolScope) -> tuple[str, str]:
    """What is about to be stored, and where; in plain text."""
    title = tr("Store this at {node}?", node=text.inline(str(scope.place)))
    return title, text.named(text.word(item.item_kind.value), _excerpt(item.render_text(), _TOLD_CHARS))


def _add_switch(words: str, box: QMessageBox) -> None:
    """Let a question be agreed to only once it is said that its number is meant."""
    agree = next(each for each in box.buttons() if box.buttonRole(each) is QMessageBox.ButtonRole.AcceptRole)
    check = QCheckBox(words, box)  # without a parent nobody would own it
    check.setObjectName("largeCheck")
    check.toggled.connect(agree.setEnabled)
    agree.setEnabled(False)
    box.setCheckBox(check)


def _excerpt(stored: str, most: int) -> str:
    """The start of a stored text, safe in the middle of others."""
    return text.isolate(text.shown(stored, most) + ("…" if len(stored) > most else ""))


def _forget_question(writes: ToolWrites, scope: ToolScope, skipped: int) -> tuple[str, str]:
    """How many items go, at which nodes and which some of them are, and what is left out."""
    assert writes.removal is not None
    preview = writes.removal.preview
    assert preview is not None
    n = preview.total
    title = tr_n(
        "Forget {n} item as {agent}?",
        "Forget {n} items as {agent}?",
        n,
        n=text.number(n),
        agent=agent_name(scope.place) if scope.reach is not None else tr("an agent that reads everything"),
    )
    nodes = [
        text.named(text.inline(str(node), 120), text.counted(count, "item"))
        for node, count in preview.nodes.most_common(_NODES_TOLD)
    ]
    if len(preview.nodes) > _NODES_TOLD:
        nodes.append(text.and_more(len(preview.nodes) - _NODES_TOLD))
    samples = [f"– {_excerpt(headline(hit).name, 80)}" for hit in preview.samples[:_SAMPLES_TOLD]]
    if n > _SAMPLES_TOLD:
        samples.append(text.and_more(n - _SAMPLES_TOLD))
    said = ["\n".join(nodes), "\n".join(samples)]
    if skipped:
        said.append(
            tr_n(
                "{n} id is out of its reach or not stored, and is skipped.",
                "{n} ids are out of its reach or not stored, and are skipped.",
                skipped,
                n=text.number(skipped),
            )
        )
    said.append(tr("They leave every read, and no copy is kept: export them first to have one."))
    return title, "\n\n".join(said)
