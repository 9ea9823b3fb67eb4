"""Move and copy: where to, what that comes to in numbers, the run, and what became of it."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.contract import InvalidRequest, ItemId, MemoryEngine, MetaFilter, Namespace, TinyMemoryError, Unsupported
from explorer.i18n import mark, tr
from explorer.removal.moving import Interrupted, Move, MoveOutcome, MovePreview, MoveStep, Way, is_one_file
from explorer.removal.outcome import Phase, Step
from explorer.removal.plan import Action, Plan, Target, make_plan
from explorer.removal.words import move_title
from explorer.ui import news
from explorer.ui.dialogs.move_parts import words
from explorer.ui.dialogs.move_parts.form import FLATTEN, HERE, MoveForm, Place
from explorer.ui.dialogs.plan_parts.dialog import SIZE, Memory, PlanDialog, counted_when
from explorer.ui.dialogs.plan_parts.plan_column import PlanColumn
from explorer.ui.dialogs.plan_parts.words import reads_below
from explorer.ui.first_click import take_first_click_only
from explorer.ui.labels import plain_label
from explorer.ui.paths_stay import MayStore, may_always

MOVE, COPY = mark("Move"), mark("Copy")
_WAITING_EVERY_MS = 500
_SIDE_PX = 352
_RESULT_SIZE = (720, 440)


@dataclass(frozen=True, slots=True)
class Opened:
    """A memory that is open to be written: the engine, and its file where it is one."""

    engine: MemoryEngine
    path: str | None


class MoveDialog(PlanDialog):
    """Asks where to, counts as soon as that is said, runs it, and shows what fresh reads say.

    `open` opens a place of another key than HERE; it returns None where the person gave no key for it. Whoever gives it
    closes what it opened.
    """

    run_ended = Signal(object, bool, str)
    # a MoveOutcome and True; or None, and whether it was left midway: else nothing was begun; and why it failed, a
    # sentence, where that is not in an outcome

    def __init__(
        self,
        memory: Memory,
        places: Sequence[Place],
        open: Callable[[Place], Awaitable[Opened | None]],
        target: Target,
        parent: QWidget | None = None,
    ) -> None:
        super().__init__("move", memory, target, {MOVE: "moveChoice", COPY: "copyChoice"}, _SIDE_PX, parent)
        self._open_place = open
        self._opened: Opened | None = Opened(memory.engine, memory.path)
        self._place = places[0]
        self._taken: set[Namespace] = set()
        self._move: Move | None = None
        self._proposed: tuple[str, Way] | None = None
        self.is_as_proposed = False
        """Whether the last run was what had been proposed."""
        self.has_begun = False
        """Whether anything may have been written or taken away by the last run."""
        self.outcome: MoveOutcome | None = None
        """Of the last run."""
        self.may_store: MayStore = may_always
        if memory.is_read_only:
            self.choice.set_choice(COPY)
            self.choice.set_enabled(MOVE, False, tr("Opened read-only: nothing can be taken away here"))

        self.form = MoveForm(places)
        self.form.setObjectName("moveForm")
        rule = QFrame()
        rule.setProperty("surface", "rule")
        rule.setFixedHeight(1)
        policy = self.numbers.sizePolicy()
        policy.setRetainSizeWhenHidden(True)
        self.numbers.setSizePolicy(policy)
        self.promise_label = plain_label("small", "text3")
        self.promise_label.setWordWrap(True)
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setObjectName("cancelMoveButton")
        self.move_button = QPushButton()
        self.move_button.setObjectName("moveButton")
        self.move_button.setProperty("kind", "primary")
        self._foot = _foot(self.promise_label, self.cancel_button, self.move_button)

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
        self._lay_out((self.form, rule), (self._foot, self.running), after)
        for button in self.findChildren(QPushButton):
            button.setAutoDefault(False)

        self._tick = QTimer(self)
        self._tick.setInterval(_WAITING_EVERY_MS)
        self._tick.timeout.connect(self._tell_how_far)
        self._step = MoveStep(0, 0)
        self.form.place_changed.connect(self._on_form_place_changed)
        self.form.typed.connect(self._drop_count)
        self.form.changed.connect(self._count)
        self.cancel_button.clicked.connect(self.reject)
        self.move_button.clicked.connect(self._on_move_button_clicked)
        self.again_button.clicked.connect(self.begin)
        self.list_button.clicked.connect(self._on_list_button_clicked)
        self.done_button.clicked.connect(self.accept)
        self.form.set_nodes(memory.nodes)
        if target.ids:  # who chooses items means these, not the tree that they are in
            self.form.tree_choice.set_choice(FLATTEN)
        self.begin()
        if self._place.key != HERE:
            self._on_form_place_changed()

    # What it is about

    @property
    def engines(self) -> list[MemoryEngine]:
        return [self._memory.engine, *([self._opened.engine] if self._opened is not None else [])]

    @property
    def is_copy(self) -> bool:
        return self.choice.choice == COPY

    def propose(self, found: Interrupted, key: str) -> bool:
        """Ask for the same again, at the place of that key; False where there is no such place any more."""
        wanted = COPY if found.way.is_copy else MOVE
        if self.choice.button(wanted).isEnabled():
            self.choice.set_choice(wanted)
        self._taken = set(found.sandboxes)
        self._say_what()
        self._proposed = key, found.way
        return self.form.propose(key, found.way.to, keeps_tree=found.way.keeps_tree)

    def begin(self) -> None:
        """Ask, and count; what was said of a run before is over."""
        self.outcome = None
        self.choice.show()
        self.form.begin(bool(self._target.ids) or reads_below(self._target))
        self._pages.setCurrentIndex(0)
        self._show_running(False)
        self._say_what()
        self._take_size(SIZE)
        self._fit_columns()
        self.form.node_edit.setFocus(Qt.FocusReason.OtherFocusReason)
        self._count()

    def _say_what(self) -> None:
        self._say("copy" if self.is_copy else "arrow-right", "accent", words.title(self._target, self.is_copy))
        self.promise_label.setText(words.promise(self.is_copy))

    def _on_choice_chosen(self, choice: str) -> None:
        self._say_what()
        self._count()

    # Where to

    def _on_form_place_changed(self) -> None:
        self._place = self.form.place
        self._opened = None
        self.form.set_nodes([])
        self.jobs.cancel("open")
        self._count()
        if self._place.key == HERE:
            self._on_opened((Opened(self._memory.engine, self._memory.path), list(self._memory.nodes)))
        else:
            self.busy_line.set_busy(True)
            self.jobs.start("open", self._open(self._place), self._on_opened)

    async def _open(self, place: Place) -> tuple[Opened | None, list[Namespace]]:
        opened = await self._open_place(place)
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
        self._begin_count()
        self.jobs.start("count", self._counting(way, opened), self._on_counted)

    async def _counting(self, way: Way, opened: Opened) -> Move:
        source, place = self._memory, self._place
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
        await self._follow(move.count(), lambda found: self._show_preview(plan, found, way))
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
        name = self._memory.connection if self._place.key == HERE else self._place.name
        self.plan_column.show_sections(
            words.sections(
                plan,
                preview,
                way,
                name,
                self._taken,
                self._taking,
                self._showing_ids,
                keeps_paths=self._opened is None or self._opened.engine.descriptor().keeps_paths,
            )
        )
        self.numbers.show_preview(plan, preview.found)
        self.count_label.say(text.counted(preview.total, "item"), "text")
        at = preview.found.counted_at
        self.counted_label.setText(tr("so far") if at is None else counted_when(at, self._memory.zone))

    def _taking(self, node: Namespace) -> Callable[[], None]:
        """What takes a sandbox along, or leaves it."""

        def take() -> None:
            self._taken ^= {node}
            self._count()

        return take

    def _showing_ids(self, said: str, ids: list[ItemId]) -> Callable[[], None]:
        return lambda: self.banner.show_error(said, "\n".join(ids))

    def _say_aside(self, said: str) -> None:
        self.counted_label.setText(said)

    # Running

    def _on_move_button_clicked(self) -> None:
        move = self._move
        if move is None or self._running is not None or move.refusal() is not None:
            return
        if move.keeps_paths:
            self._begin_move(move)
        else:
            name = self._memory.connection if self._place.key == HERE else self._place.name
            asked = self.may_store(move.destination, name, self)
            self.jobs.start("agree", asked, partial(self._on_agreed, move))

    def _on_agreed(self, move: Move, may_store: bool) -> None:
        if may_store and move is self._move:
            self._begin_move(move)

    def _begin_move(self, move: Move) -> None:
        self.has_begun = False
        self.is_as_proposed = (self._place.key, move.way) == self._proposed
        self._step = MoveStep(0, move.preview.total if move.preview is not None else 0)
        self._begin_run(move, Action.FORGET)
        self._tell_how_far()
        self.jobs.start("run", self._run(move), partial(self._on_run, move))

    async def _run(self, move: Move) -> MoveOutcome | None:
        outcome: MoveOutcome | None = None
        async with contextlib.aclosing(move.run()) as steps:
            async for step in steps:
                outcome, self._step, self.has_begun = step.outcome, step, True
                self._tell_how_far()
                await asyncio.sleep(0)
        return outcome

    def _tell_how_far(self) -> None:
        if self.is_running and self._move is not None:
            self._tell_step(Step(Phase.REMOVING, self._step.done, self._step.total, self._move.waiting))

    def _on_run(self, move: Move, outcome: MoveOutcome | None) -> None:
        self._end_run()
        if outcome is not None:
            self._show_outcome(outcome, move)
        self.run_ended.emit(outcome, self.has_begun, "")

    def _show_running(self, is_running: bool) -> None:
        self.form.setEnabled(not is_running)
        self.plan_column.setEnabled(not is_running)
        self._foot.setVisible(not is_running)
        self.running.setVisible(is_running)
        (self._tick.start if is_running else self._tick.stop)()

    # Afterwards

    def _show_outcome(self, outcome: MoveOutcome, move: Move) -> None:
        self.outcome = outcome
        name = self._memory.connection if self._place.key == HERE else self._place.name
        assert move.preview is not None
        self.result_column.show_sections(
            words.outcome_sections(outcome, move.preview, move.way, name, self._showing_ids, self._on_receipt_wanted)
        )
        if doubt := words.doubt(outcome):
            self.banner.show_note(doubt, icon="warning")
        self.again_button.setVisible(bool(outcome.kept or outcome.not_tried or outcome.unanswered))
        self.list_button.setVisible(self._place.key == HERE and move.way.to is not None and bool(outcome.done))
        self._show_result(
            move_title(outcome),
            is_clean=outcome.is_clean,
            doubt=doubt,
            size=_RESULT_SIZE,
            done=self.done_button,
        )

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
            self._end_run()
            self._on_run_left(said)
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

    def _on_run_left(self, why: str = "") -> None:
        """It did not come to its end: nothing was begun; or some may have gone, and nobody has asked which."""
        self._tell_left(why)
        if self.has_begun:
            self._drop_count()
            self._end_count(tr("before it was left in the middle; the journal has what went"))

    def _on_count_stopped(self) -> None:
        self._end_count(tr("so far: counting was cancelled"))

    def _tell_left(self, why: str = "") -> None:
        self._tick.stop()
        self.run_ended.emit(None, self.has_begun, why)


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
