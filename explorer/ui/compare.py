"""Two documents side by side in what they say: of two budgets, of two nodes, without some items, before a removal."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QTextBlockFormat, QTextCharFormat, QTextCursor
from PySide6.QtWidgets import QHBoxLayout, QPushButton, QStackedWidget, QVBoxLayout, QWidget
from shiboken6 import isValid

from explorer import text
from explorer.context import Change, Comparison, ContextDoc, Gathered, LineChange, compare, gather, trim
from explorer.contract import Hit, ItemId, Namespace
from explorer.i18n import mark, tr, tr_n
from explorer.ui.busy import BusyLine
from explorer.ui.context_parts.budget import BudgetSpin
from explorer.ui.context_parts.entries import line_of
from explorer.ui.context_parts.node_button import NodeButton
from explorer.ui.context_parts.pages import CitingReader
from explorer.ui.context_parts.shown import Entry, hits_of
from explorer.ui.context_preview import ContextPanel
from explorer.ui.empty import Action, EmptyState
from explorer.ui.jobs import Jobs
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.nodes import words_of
from explorer.ui.segments import Segments
from explorer.ui.theme import theme
from explorer.ui.trees import PaneBanner, PaneHead
from explorer.ui.viewer_parts.ink import Ink, broken_lines, end_of, put

# Translators: what two documents differ in: their budgets, their nodes, the items left out by hand, a removal
BUDGETS, NODES, LEFT_OUT, REMOVAL = mark("Budgets"), mark("Nodes"), mark("Left out"), mark("Removal")
ASKS_AFTER_MS = 100
AROUND = 2  # lines that are the same, shown beside those that are not
MOST_LINES = 2_000
MOST_ITEMS = 50
_LINE_MOST = 4_000  # characters of a line
_EDGE = 12
_TOP = 6

_SIGNS = {Change.SAME: "  ", Change.ADDED: "+ ", Change.REMOVED: f"{text.MINUS} "}
_GROUNDS = {Change.ADDED: "soft", Change.REMOVED: "cautionGround"}
_TOKENS = {Change.SAME: "text2", Change.ADDED: "softText", Change.REMOVED: "text"}


@dataclass(frozen=True)
class Pair:
    """Two documents, and what each is called."""

    before: ContextDoc
    after: ContextDoc
    before_name: str
    after_name: str
    hits: Mapping[ItemId, Hit]
    """The items that both may name."""


class ComparePanel(QWidget):
    """Compares what the preview shows with another document, while it is seen."""

    preview_wanted = Signal()
    item_wanted = Signal(object)  # a Hit, to be shown

    def __init__(
        self, preview: ContextPanel, nodes: Callable[[], Sequence[Namespace]], parent: QWidget | None = None
    ) -> None:
        super().__init__(parent)
        self.setObjectName("comparePanel")
        self.setProperty("surface", "base")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self._preview = preview
        self._other: Namespace | None = None
        self._other_gathered: Gathered | None = None
        self._is_due = True
        self._comparison: Comparison | None = None
        self._pair: Pair | None = None
        self.jobs = Jobs(self)
        preview.is_needed = lambda: self._is_seen
        self._build(nodes)
        self._asking = QTimer(self)
        self._asking.setSingleShot(True)
        self._asking.setInterval(ASKS_AFTER_MS)
        self._asking.timeout.connect(self._compare)
        self.choice.chosen.connect(self._on_choice_chosen)
        self.budget_spin.valueChanged.connect(lambda _: self._want())
        self.node_button.chosen.connect(self._on_node_button_chosen)
        self.forget_button.clicked.connect(preview.forget_before)
        self.view.item_wanted.connect(lambda entry: self.item_wanted.emit(entry.hit))
        preview.changed.connect(self._on_preview_changed)
        self.jobs.busy_changed.connect(self.busy_line.set_busy)
        self.jobs.failed.connect(self._on_jobs_failed)
        theme().changed.connect(self._draw)
        self._show_controls()

    def _build(self, nodes: Callable[[], Sequence[Namespace]]) -> None:
        self.head = PaneHead(tr("Compare"), tr("two documents for an agent"), tr("two documents"))
        self.choice = Segments([BUDGETS, NODES, LEFT_OUT, REMOVAL])
        self.choice.setObjectName("compareSegments")
        self.first_label = plain_label("small", "text2")
        self.first_label.setObjectName("compareFirstLabel")
        self.with_label = plain_label("small", "text3", tr("and"))
        self.budget_spin = BudgetSpin()
        self.budget_spin.setObjectName("compareBudgetSpin")
        self.budget_spin.setAccessibleName(tr("The other budget in tokens"))
        self.node_button = NodeButton("compareNodeButton", tr("The other node"), nodes)
        self.second_label = plain_label("small", "text2")
        self.second_label.setObjectName("compareSecondLabel")
        self.forget_button = QPushButton(tr("Forget what was before"))
        self.forget_button.setObjectName("forgetBeforeButton")
        self.forget_button.setProperty("kind", "link")
        self.forget_button.setProperty("textRole", "smallMedium")
        self.summary_label = plain_label("smallStrong")
        self.summary_label.setObjectName("compareSummaryLabel")
        self.summary_label.setWordWrap(True)
        self.busy_line = BusyLine()
        self.banner = PaneBanner()
        self.view = CitingReader("compareView")
        self.view.setAccessibleName(tr("What differs, line by line"))
        self.empty = EmptyState()
        self.empty.setObjectName("compareEmpty")
        self.stack = QStackedWidget()
        self.stack.addWidget(self.view)
        self.stack.addWidget(self.empty)
        row = QHBoxLayout()
        row.setSpacing(6)
        for part in (self.first_label, self.with_label, self.budget_spin, self.node_button, self.second_label):
            row.addWidget(part)
        row.addStretch(1)
        row.addWidget(self.forget_button)
        column = QVBoxLayout()
        column.setContentsMargins(margins(_EDGE, 8, _EDGE, 8))
        column.setSpacing(6)
        column.addWidget(self.choice)
        column.addLayout(row)
        column.addWidget(self.summary_label)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self.busy_line)
        whole.addWidget(self.banner)
        whole.addLayout(column)
        whole.addWidget(self.stack, 1)

    # What the window calls

    @property
    def stops(self) -> list[QWidget]:
        """Where the Tab key comes to."""
        segments = [self.choice.button(choice) for choice in (BUDGETS, NODES, LEFT_OUT, REMOVAL)]
        return [*segments, self.budget_spin, self.node_button, self.forget_button, self.view]

    @property
    def comparison(self) -> Comparison | None:
        """What is shown."""
        return self._comparison

    def set_engine(self) -> None:
        """The preview asks another engine: nothing of the one before is kept."""
        self._other = None
        self.choice.set_choice(BUDGETS)
        self._forget()

    def refresh(self) -> None:
        """The memory may be another: ask for the other node again."""
        self._other_gathered = None
        self._want()

    def show_best(self) -> None:
        """What the preview has to compare with: a removal, else items left out, else another budget."""
        if self._preview.before is not None:
            self.choice.set_choice(REMOVAL)
        elif self._preview.without:
            self.choice.set_choice(LEFT_OUT)
        self._on_choice_chosen()

    def look(self) -> None:
        """It may be seen now."""
        self._preview.look()
        if self._is_due and self._is_seen:
            self._asking.start()

    def rest(self) -> None:
        """It is not seen any more."""
        self._asking.stop()
        if self.jobs.is_busy:
            self.jobs.cancel()
            self._is_due = True

    def stop(self) -> None:
        """Wait for no answer any more."""
        self.jobs.stop()

    async def aclose(self) -> None:
        """End every call."""
        self._asking.stop()
        await self.jobs.aclose()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.choice.button(self.choice.choice).setFocus(event.reason())

    # Asking

    @property
    def _is_seen(self) -> bool:
        return isValid(self) and self.isVisible() and not self.visibleRegion().isEmpty()

    def _forget(self) -> None:
        self.jobs.cancel()
        self._other_gathered = self._comparison = self._pair = None
        self.banner.clear()
        self.view.start(_TOP)
        self.summary_label.setText("")
        self._want()

    def _want(self) -> None:
        self._is_due = True
        if self._is_seen:
            self._asking.start()

    def _on_preview_changed(self) -> None:
        if self._preview.gathered is None:  # dropped: no word of it may stay
            self._forget()
        else:
            self._want()

    def _on_choice_chosen(self) -> None:
        self._show_controls()
        self._want()

    def _on_node_button_chosen(self, node: Namespace) -> None:
        self._other, self._other_gathered = node, None
        self._show_controls()
        self._want()

    def _show_controls(self) -> None:
        choice, preview = self.choice.choice, self._preview
        self.budget_spin.setVisible(choice == BUDGETS)
        self.node_button.setVisible(choice == NODES)
        self.second_label.setVisible(choice in (LEFT_OUT, REMOVAL))
        self.forget_button.setVisible(choice == REMOVAL and preview.before is not None)
        budget = tr_n("{n} token", "{n} tokens", preview.budget.tokens, n=text.number(preview.budget.tokens))
        first, second = {
            BUDGETS: (budget, ""),
            NODES: (words_of(preview.node), ""),
            LEFT_OUT: (tr("All items"), tr("without those left out")),
            REMOVAL: (tr("Before the removal"), tr("now")),
        }[choice]
        self.first_label.setText(first)
        self.second_label.setText(second)
        if self._other is not None:
            self.node_button.show_node(self._other)

    def _compare(self) -> None:
        self._is_due = False
        self._show_controls()
        preview = self._preview
        gathered = preview.gathered
        if gathered is None:
            said = tr("There is no document for this node yet. The preview says why.")
            self._say("compare", tr("Nothing to compare"), said, [(tr("Show context.md"), self.preview_wanted.emit)])
        elif self.choice.choice == NODES and self._other is None:
            self._say("tree", tr("Choose another node"), tr("What an agent there is told is compared with this one."))
        elif self.choice.choice == NODES and self._other_gathered is None:
            if preview.engine is not None and preview.engine.descriptor().may_cost:
                said = tr("Each brief is a question to the engine, which may cost money.")
                self._say("cloud", tr("Not compiled yet"), said, [(tr("Compile"), self._gather_other)])
            else:
                self._gather_other()
        elif self.choice.choice == REMOVAL and preview.before is None:
            said = tr("What was compiled before a removal is kept here, until you forget it or open another memory.")
            self._say("minus-ring", tr("Nothing was removed"), said)
        elif self.choice.choice == LEFT_OUT and not preview.without:
            said = tr("“Without this item” in the preview leaves an item out, as if it were not stored.")
            self._say("info", tr("No item is left out"), said)
        else:
            pair = self._documents(gathered)
            work = asyncio.to_thread(compare, pair.before, pair.after)
            self.jobs.start("compare", work, partial(self._on_compared, pair))

    def _gather_other(self) -> None:
        engine, node = self._preview.engine, self._other
        if engine is None or node is None:
            return
        self.jobs.start("gather", gather(engine, self._preview.spec_for(node)), self._on_other_gathered)

    def _on_other_gathered(self, gathered: Gathered) -> None:
        self._other_gathered = gathered
        self._compare()

    def _documents(self, gathered: Gathered) -> Pair:
        """The two of the chosen kind; the one that the preview shows comes first, but for a removal."""
        preview = self._preview
        budget, without, at = preview.budget.tokens, preview.without, preview.gathered_at
        shown = trim(gathered, budget, without=without, generated_at=at).doc
        choice = self.choice.choice
        if choice == NODES and self._other is not None and self._other_gathered is not None:
            other = trim(self._other_gathered, budget, without=without, generated_at=at).doc
            hits = {**hits_of(gathered), **hits_of(self._other_gathered)}
            return Pair(shown, other, words_of(preview.node), words_of(self._other), hits)
        if choice == LEFT_OUT:
            whole = trim(gathered, budget, generated_at=at).doc
            return Pair(whole, shown, tr("all items"), tr("without"), hits_of(gathered))
        if choice == REMOVAL and preview.before is not None:
            old, old_at = preview.before
            before = trim(old, budget, without=without, generated_at=old_at).doc
            return Pair(before, shown, tr("before"), tr("now"), {**hits_of(old), **hits_of(gathered)})
        tokens = self.budget_spin.value()
        other = trim(gathered, tokens, without=without, generated_at=at).doc
        return Pair(shown, other, text.number(budget), text.number(tokens), hits_of(gathered))

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.banner.show_failure(error, self._compare)

    # What is seen

    def _on_compared(self, pair: Pair, comparison: Comparison) -> None:
        self._pair, self._comparison = pair, comparison
        self.banner.clear()
        self._draw()

    def _say(self, icon: str, title: str, said: str, actions: Sequence[Action] = ()) -> None:
        self.jobs.cancel()
        self._comparison = self._pair = None
        self.summary_label.setText("")
        self.view.start(_TOP)
        self.empty.show_state(icon, title, said, actions)
        self.stack.setCurrentWidget(self.empty)

    def _draw(self) -> None:
        comparison, pair = self._comparison, self._pair
        if comparison is None or pair is None:
            return
        self.summary_label.setText(_summary(comparison, pair))
        self.view.start(_TOP)
        if comparison.is_same:
            said = tr("Both documents say the same, and rest on the same items.")
            self.empty.show_state("check-ring", tr("No difference"), said)
            self.stack.setCurrentWidget(self.empty)
            return
        ink, cursor = Ink(), end_of(self.view.document())
        cursor.beginEditBlock()
        for change, ids in ((Change.REMOVED, comparison.refs_removed), (Change.ADDED, comparison.refs_added)):
            for id in ids[:MOST_ITEMS]:
                self._write_item(cursor, change, pair.hits[id], ink)
            if len(ids) > MOST_ITEMS:
                put(cursor, text.and_more(len(ids) - MOST_ITEMS), ink.chars("small", "text3"), ink)
                cursor.insertBlock()
        for at, line in enumerate(_seen(_below_frontmatter(comparison.lines))):
            if at:
                cursor.insertBlock()
            if isinstance(line, int):
                cursor.setBlockFormat(ink.block(above=4, below=4))
                words = tr_n("{n} line that is the same", "{n} lines that are the same", line, n=text.number(line))
                put(cursor, f"… {words}", ink.chars("small", "text3"), ink)
            else:
                _write_line(cursor, line, ink)
            if at == MOST_LINES:
                cursor.insertBlock(ink.block(above=6))
                put(cursor, tr("What follows is not shown."), ink.chars("small", "caution"), ink)
                break
        cursor.endEditBlock()
        self.view.go_to_start()
        self.stack.setCurrentWidget(self.view)

    def _write_item(self, cursor: QTextCursor, change: Change, hit: Hit, ink: Ink) -> None:
        """An item that only one of the two rests on, with the way to it."""
        entry = Entry(hit, 0, "")
        cursor.setBlockFormat(_form_of(change, ink))
        put(cursor, f"{_SIGNS[change]}{line_of(entry)[:_LINE_MOST]} ", ink.chars("small", _TOKENS[change]), ink)
        put(cursor, "[→]", self.view.link_to(entry, ink), ink)
        cursor.insertBlock()


def _below_frontmatter(lines: Sequence[LineChange]) -> Sequence[LineChange]:
    """Without what is no content, and the ids, for which their items are shown."""
    rules = [at for at, line in enumerate(lines) if line.text == "---"]
    return lines[rules[1] + 1 :] if len(rules) > 1 and rules[0] == 0 else lines


def _form_of(change: Change, ink: Ink) -> QTextBlockFormat:
    form = ink.block()
    if change in _GROUNDS:
        form.setBackground(theme().color(_GROUNDS[change]))
    return form


def _summary(comparison: Comparison, pair: Pair) -> str:
    """How large both are, and the items that only one of them rests on."""
    sizes = tr(
        "{one}: {n} tokens; {other}: {m} tokens",
        one=pair.before_name,
        n=text.number(pair.before.tokens),
        other=pair.after_name,
        m=text.number(pair.after.tokens),
    )
    came, went = len(comparison.refs_added), len(comparison.refs_removed)
    more = tr_n("{n} item more", "{n} items more", came, n=text.number(came)) if came else ""
    fewer = tr_n("{n} item fewer", "{n} items fewer", went, n=text.number(went)) if went else ""
    return ". ".join(filter(None, (sizes, text.listed((more, fewer)))))


def _seen(lines: Sequence[LineChange]) -> Iterator[LineChange | int]:
    """What differs with what stands around it; in place of long runs that do not, how many lines they have."""
    near: set[int] = set()
    for at, line in enumerate(lines):
        if line.change is not Change.SAME:
            near.update(range(at - AROUND, at + AROUND + 1))
    skipped = 0
    for at, line in enumerate(lines):
        if at in near:
            if skipped:
                yield skipped
                skipped = 0
            yield line
        else:
            skipped += 1
    if skipped:
        yield skipped


def _write_line(cursor: QTextCursor, line: LineChange, ink: Ink) -> None:
    """A line behind its sign, the words in it that changed on the ground of what is found."""
    cursor.setBlockFormat(_form_of(line.change, ink))
    plain = ink.chars("mono", _TOKENS[line.change])
    put(cursor, _SIGNS[line.change], plain, ink)
    marked = QTextCharFormat(ink.chars("mono", "text"))
    marked.setBackground(theme().color("hit"))
    at = 0
    said = line.text[:_LINE_MOST]
    for start, stop in line.words:
        put(cursor, said[at:start], plain, ink)
        put(cursor, said[start:stop], marked, ink)
        at = max(at, stop)
    put(cursor, broken_lines(said[at:])[0], plain, ink)
