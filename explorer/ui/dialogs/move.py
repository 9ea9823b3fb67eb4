"""Move and copy: where to, what that comes to in numbers, the run, and what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, tzinfo
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QCloseEvent, QKeyEvent, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QDialog,
    QFrame,
    QHBoxLayout,
    QPushButton,
    QSizePolicy,
    QStackedWidget,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.contract import InvalidRequest, ItemId, MemoryEngine, MetaFilter, Namespace, TinyMemoryError, Unsupported
from explorer.i18n import mark, tr
from explorer.removal.journal import Journal
from explorer.removal.moving import Interrupted, Move, MoveOutcome, MovePreview, MoveStep, Way, is_one_file
from explorer.removal.outcome import Phase, Step
from explorer.removal.plan import Action, Plan, Target, make_plan
from explorer.removal.preview import Preview
from explorer.ui import icons, news
from explorer.ui.banner import Banner
from explorer.ui.busy import BusyLine
from explorer.ui.dialogs.move_parts import words
from explorer.ui.dialogs.move_parts.form import FLATTEN, HERE, MoveForm, Place
from explorer.ui.dialogs.remove_parts.numbers import Numbers
from explorer.ui.dialogs.remove_parts.one_line import OneLine
from explorer.ui.dialogs.remove_parts.plan_column import PlanColumn
from explorer.ui.dialogs.remove_parts.running import RunningPart
from explorer.ui.dialogs.remove_parts.words import reads_below
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.engine_words import engine_label
from explorer.ui.first_click import take_first_click_only
from explorer.ui.jobs import Jobs, Stopped
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.segments import Segments
from explorer.ui.theme import theme

MOVE, COPY = mark("Move"), mark("Copy")
_SHOWN_EVERY_S = 0.1
_WAITING_EVERY_MS = 500
_SIDE_PX = 352
_SIDE_SHARE = 0.4
_SIZE = (960, 712)
_RESULT_SIZE = (720, 440)


@dataclass(frozen=True, slots=True)
class Opened:
    """A memory that is open to be written: the engine, and its file where it is one."""

    engine: MemoryEngine
    path: str | None


@dataclass(frozen=True)
class From:
    """The memory that is open, and where items can go from it.

    `nodes` are all that are known of it, root first. `open` opens a place of another key; None where the person gave no
    key for it. Whoever gives it closes what it opened.
    """

    engine: MemoryEngine
    connection: str
    path: str | None
    journal: Journal
    places: Sequence[Place]
    open: Callable[[Place], Awaitable[Opened | None]]
    nodes: Sequence[Namespace] = ()
    zone: tzinfo = UTC
    is_read_only: bool = False


class MoveDialog(QDialog):
    """Asks where to, counts as soon as that is said, runs it, and shows what fresh reads say.

    It stands beside its window, so that samples can be looked at there. While it runs it cannot be closed.
    """

    item_opened = Signal(object)  # a Hit
    list_wanted = Signal(object)  # a MetaFilter
    folder_wanted = Signal(object)  # a Path of a file in it
    run_began = Signal(str)  # what it is called
    run_stepped = Signal(str, object)  # how far in words, and the share that is done (0 to 1) or None
    run_ended = Signal(object, bool)
    # a MoveOutcome and True; or None, and whether it was left midway: else nothing was begun

    def __init__(self, source: From, target: Target, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("moveDialog")
        self._from = source
        self._target = target
        self._opened: Opened | None = Opened(source.engine, source.path)
        self._place = source.places[0]
        self._taken: set[Namespace] = set()
        self._move: Move | None = None
        self._running: Move | None = None
        self._proposed: tuple[str, Way] | None = None
        self.is_as_proposed = False
        """Whether the last run was what had been proposed."""
        self.has_begun = False
        """Whether anything may have been written or taken away by the last run."""
        self._shown_s = 0.0
        self.outcome: MoveOutcome | None = None
        """Of the last run."""
        self.jobs = Jobs(self)

        self._mark = icons.IconLabel("arrow-right", "accent")
        self.title_label = OneLine("dialogTitle", "text", Qt.TextElideMode.ElideMiddle)
        self.title_label.setObjectName("moveTitleLabel")
        self.place_label = OneLine("small", "text2")
        for line in (self.title_label, self.place_label):
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.choice = Segments([MOVE, COPY])
        self.choice.button(MOVE).setObjectName("moveChoice")
        self.choice.button(COPY).setObjectName("copyChoice")
        if source.is_read_only:
            self.choice.set_choice(COPY)
            self.choice.set_enabled(MOVE, False, tr("Opened read-only: nothing can be taken away here"))
        names = QVBoxLayout()
        names.setSpacing(2)
        names.addWidget(self.title_label)
        names.addWidget(self.place_label)
        head = QFrame()
        head.setProperty("surface", "head")
        row = QHBoxLayout(head)
        row.setContentsMargins(margins(24, 14, 24, 14))
        row.setSpacing(14)
        row.addWidget(self._mark)
        row.addLayout(names, 1)
        row.addWidget(self.choice)

        self.banner = Banner()
        self.banner.setObjectName("moveBanner")
        self.form = MoveForm(source.places)
        self.form.setObjectName("moveForm")
        rule = QFrame()
        rule.setProperty("surface", "rule")
        rule.setFixedHeight(1)
        self.plan_column = PlanColumn()
        self.plan_column.setProperty("surface", "panel")
        side = QFrame()
        side.setProperty("surface", "vrule")
        self.count_label = OneLine("title")
        self.count_label.setObjectName("countLabel")
        self.counted_label = plain_label("body", "text3")
        self.counted_label.setObjectName("countedLabel")
        self.count_button = QPushButton()
        self.count_button.setObjectName("countButton")
        self.count_button.setProperty("kind", "link")
        self.busy_line = BusyLine()
        self.numbers = Numbers(source.zone)
        policy = self.numbers.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.numbers.setSizePolicy(policy)
        counted = QHBoxLayout()
        counted.setContentsMargins(margins(24, 14, 24, 4))
        counted.setSpacing(8)
        counted.addWidget(self.count_label)
        counted.addStretch(1)
        counted.addWidget(self.counted_label)
        counted.addWidget(self.count_button)
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addLayout(counted)
        right.addWidget(self.busy_line)
        right.addWidget(self.numbers, 1)
        body = QHBoxLayout()
        body.setSpacing(0)
        body.addWidget(self.plan_column)
        body.addWidget(side)
        body.addLayout(right, 1)

        self.promise_label = plain_label("small", "text3")
        self.promise_label.setWordWrap(True)
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setObjectName("cancelMoveButton")
        self.move_button = QPushButton()
        self.move_button.setObjectName("moveButton")
        self.move_button.setProperty("kind", "primary")
        self._foot = _foot(self.promise_label, self.cancel_button, self.move_button)
        self.running = RunningPart()
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.form)
        column.addWidget(rule)
        column.addLayout(body, 1)
        column.addWidget(self._foot)
        column.addWidget(self.running)

        self.result_column = PlanColumn()
        self.result_column.setObjectName("moveResult")
        self.result_column.setAccessibleName(tr("What became of it"))
        self.again_button = QPushButton(tr("Go on with the rest…"))
        self.again_button.setObjectName("moveAgainButton")
        self.list_button = QPushButton(tr("Show them there"))
        self.list_button.setObjectName("moveListButton")
        self.done_button = QPushButton(tr("Done"))
        self.done_button.setObjectName("moveDoneButton")
        self.done_button.setProperty("kind", "primary")
        take_first_click_only(self.move_button, self.again_button, self.done_button)
        after = QWidget()
        column = QVBoxLayout(after)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.result_column, 1)
        column.addWidget(_foot(self.again_button, self.list_button, None, self.done_button))
        self._pages = QStackedWidget()
        self._pages.addWidget(page)
        self._pages.addWidget(after)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(head)
        column.addWidget(self.banner)
        column.addWidget(self._pages, 1)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)

        self._tick = QTimer(self)
        self._tick.setInterval(_WAITING_EVERY_MS)
        self._tick.timeout.connect(self._show_running)
        self._step = MoveStep(0, 0)
        self.choice.chosen.connect(self._on_choice_chosen)
        self.form.place_changed.connect(self._on_form_place_changed)
        self.form.typed.connect(self._drop_count)
        self.form.changed.connect(self._count)
        self.count_button.clicked.connect(self._on_count_button_clicked)
        self.numbers.sample_opened.connect(self.item_opened)
        self.numbers.list_wanted.connect(self._on_numbers_list_wanted)
        self.cancel_button.clicked.connect(self.reject)
        self.move_button.clicked.connect(self._on_move_button_clicked)
        self.running.pause_wanted.connect(lambda: self._while_running(Move.pause))
        self.running.resume_wanted.connect(lambda: self._while_running(Move.resume))
        self.running.stop_wanted.connect(lambda: self._while_running(Move.stop))
        self.running.hide_wanted.connect(self.hide)
        self.again_button.clicked.connect(self.begin)
        self.list_button.clicked.connect(self._on_list_button_clicked)
        self.done_button.clicked.connect(self.accept)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.ended.connect(self._on_jobs_ended)
        self.form.set_nodes(source.nodes)
        if target.ids:  # who chooses items means these, not the tree that they are in
            self.form.tree_choice.set_choice(FLATTEN)
        self.begin()
        if self._place.key != HERE:
            self._on_form_place_changed()

    # What it is about

    @property
    def is_running(self) -> bool:
        """Whether anything is being moved or copied."""
        return self._running is not None

    @property
    def is_copy(self) -> bool:
        return self.choice.choice == COPY

    @property
    def move_of(self) -> Move | None:
        """What was counted to its end last, and can run."""
        return self._move

    def propose(self, found: Interrupted, key: str) -> bool:
        """Ask for the same again, at the place of that key; False where there is no such place any more."""
        wanted = COPY if found.way.is_copy else MOVE
        if self.choice.button(wanted).isEnabled():
            self.choice.set_choice(wanted)
        self._taken = set(found.sandboxes)
        self._say()
        self._proposed = key, found.way
        return self.form.propose(key, found.way.to, keeps_tree=found.way.keeps_tree)

    def begin(self) -> None:
        """Ask, and count; what was said of a run before is over."""
        self.outcome = None
        self.choice.show()
        self.form.begin(bool(self._target.ids) or reads_below(self._target))
        self._pages.setCurrentIndex(0)
        self._show_foot()
        self._say()
        resize_to_design(self, *_SIZE)
        self._fit_columns()
        self.form.node_edit.setFocus(Qt.FocusReason.OtherFocusReason)
        self._count()

    def stop_running(self) -> None:
        """Begin no further batch; for the list of jobs."""
        if self._running is not None:
            self.running.show_stopping()
            self._running.stop()

    def _say(self) -> None:
        self._mark.show_icon("copy" if self.is_copy else "arrow-right", "accent")
        self._say_title(words.title(self._target, self.is_copy))
        engine = engine_label(self._from.engine.descriptor())
        self.place_label.say(text.listed((text.inline(self._from.connection), engine)))
        self.promise_label.setText(words.promise(self.is_copy))

    def _say_title(self, said: str) -> None:
        self.title_label.say(said)
        self.setWindowTitle(said)

    def _while_running(self, do: Callable[[Move], None]) -> None:
        if self._running is not None:
            do(self._running)

    def _on_choice_chosen(self) -> None:
        self._say()
        self._count()

    # Where to

    def _on_form_place_changed(self) -> None:
        self._place = self.form.place
        self._opened = None
        self.form.set_nodes([])
        self.jobs.cancel("open")
        self._count()
        if self._place.key == HERE:
            self._on_opened((Opened(self._from.engine, self._from.path), list(self._from.nodes)))
        else:
            self.busy_line.set_busy(True)
            self.jobs.start("open", self._open(self._place), self._on_opened)

    async def _open(self, place: Place) -> tuple[Opened | None, list[Namespace]]:
        opened = await self._from.open(place)
        nodes: list[Namespace] = []
        if opened is not None:
            with contextlib.suppress(TinyMemoryError):  # they are there to be chosen from, nothing depends on them
                page = await opened.engine.namespaces(MetaFilter())
                nodes = sorted(Namespace.parse(bucket.value) for bucket in page.buckets)
        return opened, nodes

    def _on_opened(self, found: tuple[Opened | None, list[Namespace]]) -> None:
        self._opened, nodes = found
        self.busy_line.set_busy(False)
        self.form.set_nodes(nodes)
        if self._opened is None:
            self.banner.show_note(tr("It was not opened. Choose it again to give its key."), icon="warning")
        else:
            self._count()

    # Counting

    def _drop_count(self) -> None:
        """Nothing goes to the node that stood there before: the button may be pressed without leaving the field."""
        self._move = None
        self.jobs.cancel("count")
        self.move_button.setEnabled(False)

    def _count(self) -> None:
        """Read what would go, if it is said where to."""
        self._drop_count()
        self.banner.clear()
        self.move_button.setText(tr(self.choice.choice))
        self.plan_column.show_sections([])
        self.numbers.setEnabled(True)
        self.count_button.hide()
        way, opened = self.form.way(self.is_copy), self._opened
        self.numbers.setVisible(way is not None)
        self.counted_label.setText("")
        if way is None or opened is None:
            self.busy_line.set_busy(self.jobs.is_running("open"))
            self.count_label.say(tr("Say where to; what goes is then counted."), "text3")
            return
        self.count_button.setText(tr("Cancel counting"))
        self.count_button.show()
        self.busy_line.set_busy(True)
        self._shown_s = 0.0
        self.jobs.start("count", self._counting(way, opened), self._on_counted)

    async def _counting(self, way: Way, opened: Opened) -> Move:
        source, place = self._from, self._place
        plan = await make_plan(source.engine, self._target, Action.FORGET)
        move = Move(
            source.engine,
            plan,
            opened.engine,
            way,
            source.journal,
            source.connection,
            source.connection if place.key == HERE else place.name,
            sandboxes=[sandbox.node for sandbox in plan.sandboxes if sandbox.node in self._taken],
            is_same_store=await asyncio.to_thread(is_one_file, source.path, opened.path),
            zone=source.zone,
        )
        async with contextlib.aclosing(move.count()) as steps:
            async for found in steps:
                if not found.is_whole and time.monotonic() - self._shown_s >= _SHOWN_EVERY_S:
                    self._show_preview(plan, found, way)
                    self._shown_s = time.monotonic()
                await asyncio.sleep(0)  # an engine that never waits would keep the window waiting
        return move

    def _on_counted(self, move: Move) -> None:
        preview = move.preview
        assert preview is not None
        self._move = move
        self.busy_line.set_busy(False)
        self.count_button.hide()
        self._show_preview(move.plan, preview, move.way)
        self.move_button.setText(words.press(self.is_copy, preview.total))
        refused = move.refusal()
        self.move_button.setEnabled(refused is None)
        if refused is not None:
            self.banner.show_note(text.sentence(refused), icon="warning")
        self._announce(self.count_label.text())

    def _show_preview(self, plan: Plan, preview: MovePreview, way: Way) -> None:
        name = self._from.connection if self._place.key == HERE else self._place.name
        self.plan_column.show_sections(
            words.sections(plan, preview, way, name, self._taken, self._taking, self._showing_ids)
        )
        self.numbers.show_preview(plan, preview.found)
        self.count_label.say(text.counted(preview.total, "item"), "text")
        self.counted_label.setText(_counted_at(preview.found, self._from.zone))

    def _taking(self, node: Namespace) -> Callable[[], None]:
        """What takes a sandbox along, or leaves it."""

        def take() -> None:
            self._taken ^= {node}
            self._count()

        return take

    def _showing_ids(self, said: str, ids: list[ItemId]) -> Callable[[], None]:
        return lambda: self.banner.show_error(said, "\n".join(ids))

    def _on_count_button_clicked(self) -> None:
        if self.jobs.is_running("count"):
            self.jobs.stop("count")
        else:
            self._count()

    def _end_count(self, said: str) -> None:
        """It did not come to its end: what was counted so far is no number to go by."""
        self.busy_line.set_busy(False)
        self.counted_label.setText(said)
        self.count_button.setText(tr("Count again"))
        self.count_button.show()
        self.numbers.setEnabled(False)

    def _on_numbers_list_wanted(self) -> None:
        if self._target.filter is not None:
            self.list_wanted.emit(self._target.filter)

    # Running

    def _on_move_button_clicked(self) -> None:
        move = self._move
        if move is None or self._running is not None or move.refusal() is not None:
            return
        self._running, self.has_begun = move, False
        self.is_as_proposed = (self._place.key, move.way) == self._proposed
        self.banner.clear()
        self.choice.hide()
        self.form.setEnabled(False)
        self.plan_column.setEnabled(False)
        self.running.begin(Action.FORGET)
        self._step = MoveStep(0, move.preview.total if move.preview is not None else 0)
        self._show_running()
        self._tick.start()
        self._show_foot()
        self.running.hide_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.run_began.emit(self.title_label.text())
        self.jobs.start("run", self._run(move), self._on_run)

    async def _run(self, move: Move) -> MoveOutcome | None:
        outcome: MoveOutcome | None = None
        async with contextlib.aclosing(move.run()) as steps:
            async for step in steps:
                outcome, self._step, self.has_begun = step.outcome, step, True
                self._show_running()
                await asyncio.sleep(0)
        return outcome

    def _show_running(self) -> None:
        if self._running is None:
            return
        waiting = self._running.waiting
        self.running.show_step(Step(Phase.REMOVING, self._step.done, self._step.total, waiting))
        said = " ".join(filter(None, (self.running.said, text.sentence(waiting or ""))))
        self.run_stepped.emit(said, self.running.part)

    def _on_run(self, outcome: MoveOutcome | None) -> None:
        move = self._running
        self._end_run()
        if outcome is not None and move is not None:
            self._show_outcome(outcome, move)
        self.run_ended.emit(outcome, self.has_begun)

    def _end_run(self) -> None:
        self._running = None
        self._tick.stop()
        self.running.end()
        self.form.setEnabled(True)
        self.plan_column.setEnabled(True)
        self._show_foot()
        self.choice.show()
        if self.isHidden():
            self.show()

    def _show_foot(self) -> None:
        self._foot.setVisible(not self.is_running)
        self.running.setVisible(self.is_running)

    # Afterwards

    def _show_outcome(self, outcome: MoveOutcome, move: Move) -> None:
        self.outcome = outcome
        is_clean = outcome.is_clean
        self._mark.show_icon("check-ring" if is_clean else "warning", "accent" if is_clean else "caution")
        self._say_title(words.outcome_title(outcome))
        name = self._from.connection if self._place.key == HERE else self._place.name
        assert move.preview is not None
        self.result_column.show_sections(
            words.outcome_sections(outcome, move.preview, move.way, name, self._showing_ids, self._on_receipt_wanted)
        )
        if doubt := words.doubt(outcome):
            self.banner.show_note(doubt, icon="warning")
        self.choice.hide()
        self.again_button.setVisible(bool(outcome.kept or outcome.not_tried or outcome.unanswered))
        self.list_button.setVisible(self._place.key == HERE and move.way.to is not None and bool(outcome.done))
        self._pages.setCurrentIndex(1)
        resize_to_design(self, *_RESULT_SIZE)
        self.done_button.setDefault(True)
        self.done_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self._announce(". ".join(filter(None, (self.title_label.text(), doubt))))

    def _on_receipt_wanted(self) -> None:
        if self.outcome is not None and self.outcome.receipt is not None:
            self.folder_wanted.emit(Path(self.outcome.receipt))

    def _on_list_button_clicked(self) -> None:
        way = self._move.way if self._move is not None else None
        if way is not None and way.to is not None:
            target = Target.below(way.to) if way.keeps_tree else Target.at(way.to)
            self.list_wanted.emit(target.filter)

    # Ends

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        said, details = news.sentence(error), news.details(error)
        if lane == "run":
            self._on_run_left()
            if self.has_begun:
                self._count()  # what is left is another number
            self.banner.show_error(said, details)
        elif lane == "count":
            self._end_count(tr("not counted to the end"))
            if isinstance(error, InvalidRequest | Unsupported):
                self.count_button.hide()
                self.counted_label.setText("")
                self.plan_column.show_sections([])
                self.banner.show_note(text.sentence(error.text), icon="warning")
            else:
                self.banner.show_error(said, details)
        else:
            self.busy_line.set_busy(False)
            self.banner.show_error(said, details)

    def _on_run_left(self) -> None:
        """It did not come to its end: nothing was begun; or some may have gone, and nobody has asked which."""
        self._end_run()
        self.run_ended.emit(None, self.has_begun)
        if self.has_begun:
            self._drop_count()
            self._end_count(tr("before it was left in the middle; the journal has what went"))

    def _on_jobs_ended(self, lane: str, error: BaseException | None) -> None:
        if lane == "count" and isinstance(error, Stopped):
            self._end_count(tr("so far: counting was cancelled"))
        elif lane == "run" and isinstance(error, asyncio.CancelledError) and self.is_running:
            self._on_run_left()

    def reject(self) -> None:
        if not self.is_running:  # Esc by accident must not hide what is being moved
            super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.is_running:
            event.ignore()
        else:
            super().closeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the button that has the focus; in a field it only ends the typing."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
            return
        event.accept()
        focus = QApplication.focusWidget()
        if isinstance(focus, QPushButton) and focus.isEnabled():
            focus.click()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        self.plan_column.setFixedWidth(min(theme().scaled(_SIDE_PX), round(self.width() * _SIDE_SHARE)))

    def _announce(self, said: str) -> None:
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, said))

    def leave(self) -> None:
        """Go: what it is about is no longer open."""
        self.jobs.cancel()
        if self._running is not None:
            self._running = None
            self._tick.stop()
            self.run_ended.emit(None, self.has_begun)
        self.done(QDialog.DialogCode.Rejected)  # which is told of one that is hidden as well

    async def aclose(self) -> None:
        """End what it asks for; a move that runs is left, with a receipt that is true so far."""
        await self.jobs.aclose()


def _counted_at(preview: Preview, zone: tzinfo) -> str:
    if preview.counted_at is None:
        return tr("so far")
    # Translators: when they were counted, past tense
    return tr("Counted {time}", time=f"{preview.counted_at.astimezone(zone):%H:%M:%S}")


def _foot(*parts: QWidget | None) -> QFrame:
    """The foot of a page; None is the room that is left over."""
    foot = QFrame()
    foot.setProperty("surface", "dialogFoot")
    row = QHBoxLayout(foot)
    row.setContentsMargins(24, 12, 24, 12)
    for part in parts:
        if part is None:
            row.addStretch(1)
        else:
            row.addWidget(part, 0 if isinstance(part, QPushButton) else 1)
    return foot
