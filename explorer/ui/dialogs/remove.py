"""Forget and erase: the plan in words and numbers, the question, the run, and what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable
from datetime import UTC, datetime
from functools import partial
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtWidgets import (
    QHBoxLayout,
    QSizePolicy,
    QStackedWidget,
    QWidget,
)

from explorer import text
from explorer.contract import ItemId, MetaFilter, Namespace, Reach, TinyMemoryError, Unsupported
from explorer.i18n import mark, tr, tr_n
from explorer.removal.outcome import Outcome, Phase, Step
from explorer.removal.page import page
from explorer.removal.plan import Action, Target, make_plan
from explorer.removal.preview import Moved, Preview
from explorer.removal.receipts import Receipt
from explorer.removal.remaining import remaining
from explorer.removal.removing import Removal
from explorer.removal.way_back import Export, Lost
from explorer.removal.words import doubt, others_go, outcome_title
from explorer.ui import news
from explorer.ui.banner import UNLIMITED
from explorer.ui.dialogs.plan_parts.dialog import SHOWN_EVERY_S, SIZE, Memory, PlanDialog, counted_when
from explorer.ui.dialogs.plan_parts.one_line import OneLine
from explorer.ui.dialogs.plan_parts.words import can_export, what
from explorer.ui.dialogs.receipt_page import print_page, show_printed
from explorer.ui.dialogs.remove_parts import words
from explorer.ui.dialogs.remove_parts.confirm import ConfirmPart
from explorer.ui.dialogs.remove_parts.one_item import OneItem
from explorer.ui.dialogs.remove_parts.receipt import ReceiptView, subtitle
from explorer.ui.files import JSON_LINES, PDF, choose_target
from explorer.ui.item_questions import end_if_cancelled
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.theme import theme

FORGET, ERASE = mark("Forget"), mark("Erase")
_CHOICES = {FORGET: Action.FORGET, ERASE: Action.ERASE}
_SIDE_PX = 384
_SMALL_SIZE = (560, 640)
_SMALL_PLAN_PX = 190
_RECEIPT_SIZE = (960, 576)


class RemoveDialog(PlanDialog):
    """Counts at once, asks as strongly as the harm is, runs it, and shows what a fresh read says."""

    restore_wanted = Signal(object, int)  # the Path of an export, and how many items it holds
    printed = Signal(object)  # the Path of the PDF file
    run_ended = Signal(object, object, str)
    # an Outcome and the ids that were planned; None where nothing was removed, or, with ids, where it was left midway;
    # and why it failed, a sentence, where that is not in an outcome

    def __init__(self, memory: Memory, target: Target, action: Action, parent: QWidget | None = None) -> None:
        super().__init__("remove", memory, target, {FORGET: "forgetChoice", ERASE: "eraseChoice"}, _SIDE_PX, parent)
        self._action = action
        self._beside = ""
        self._removal: Removal | None = None
        self._is_exporting = False
        self._planned: list[ItemId] = []
        self._unsupported: dict[str, str] = {}
        """By target, why the engine refused to erase it; it need not be asked again."""
        self._began_at = datetime.now(UTC)
        self.outcome: Outcome | None = None
        """Of the last run."""
        self.continues: Path | None = None
        """The receipt of what was interrupted, which this goes on with; no longer once it is about something else."""

        self.old_count_label = OneLine("title", "text3")
        self.old_count_label.setObjectName("oldCountLabel")
        self.old_count_label.set_struck(True)
        self.share_label = OneLine("body", "text3")
        self.share_label.setObjectName("shareLabel")
        self.moved_label = plain_label("medium", "caution")
        self.moved_label.setObjectName("movedLabel")
        self.moved_label.setWordWrap(True)
        self.one_item = OneItem(memory.zone)
        self._counted_row.insertWidget(0, self.old_count_label)
        self._counted_row.insertWidget(2, self.share_label)
        said = QHBoxLayout()
        said.setContentsMargins(margins(24, 0, 24, 4))
        said.addWidget(self.moved_label)
        self._right.insertLayout(1, said)
        self._right.addWidget(self.one_item, 1)
        self.confirm = ConfirmPart()
        self.confirm.way_back.keeps_paths = memory.engine.descriptor().keeps_paths
        self.never_by_enter = self.confirm.remove_button
        self._lower = QStackedWidget()
        self._lower.addWidget(self.confirm)
        self._lower.addWidget(self.running)
        self._lower.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.receipt = ReceiptView(memory.zone)
        self._lay_out((), (self._lower,), self.receipt)

        self.confirm.cancelled.connect(self.reject)
        self.confirm.pressed.connect(self._on_confirm_pressed)
        self.confirm.way_back.export_wanted.connect(self._on_export_wanted)
        self.confirm.way_back.cancel_wanted.connect(lambda: self.jobs.stop("export"))
        self.confirm.way_back.folder_wanted.connect(self.folder_wanted)
        self.confirm.way_back.incomplete_wanted.connect(self._on_incomplete_wanted)
        self.receipt.hit_opened.connect(self.item_opened)
        self.receipt.retry_wanted.connect(self._on_receipt_retry_wanted)
        self.receipt.restore_wanted.connect(self._on_receipt_restore_wanted)
        self.receipt.file_wanted.connect(self._on_receipt_file_wanted)
        self.receipt.print_wanted.connect(self._on_receipt_print_wanted)
        self.receipt.done.connect(self.accept)
        self.begin(target, action)

    # What it is about

    @property
    def removal(self) -> Removal | None:
        """What was planned last."""
        return self._removal

    @property
    def action(self) -> Action:
        return self._action

    @property
    def target(self) -> Target:
        return self._target

    def begin(self, target: Target, action: Action) -> None:
        """Plan another removal, from its count on; what was said so far is for the one before."""
        refused = words.why_not_erase(self._memory.engine, target) or self._unsupported.get(
            target.model_dump_json(), ""
        )
        if refused and action is Action.ERASE:
            action = Action.FORGET
        if (target, action) != (self._target, self._action):
            self.continues = None
        self._target, self._action = target, action
        self._beside = words.beside(target, self._memory.nodes)
        self.outcome = None
        self.choice.set_enabled(ERASE, not refused, text.full_stop(refused) if refused else "")
        self.choice.set_choice(ERASE if action is Action.ERASE else FORGET)
        self.choice.show()
        self._say("erase" if action is Action.ERASE else "minus-ring", "danger", words.title(target, action))
        is_single = len(target.ids) == 1
        self.numbers.setVisible(not is_single)
        self.one_item.setVisible(is_single)
        self._body.setDirection(QHBoxLayout.Direction.BottomToTop if is_single else QHBoxLayout.Direction.LeftToRight)
        self._plan_rule.setVisible(not is_single)
        self._pages.setCurrentIndex(0)
        self._lower.setCurrentIndex(0)
        self._take_size(_SMALL_SIZE if is_single else SIZE)
        self._fit_columns()
        self.confirm.cancel_button.setDefault(True)
        self.confirm.cancel_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self._count()

    # Counting

    def _count(self) -> None:
        self._removal = None
        self._is_exporting = False
        self.jobs.cancel("export")
        self.banner.clear()
        self.moved_label.hide()
        self.old_count_label.hide()
        self.confirm.begin(self._action)
        self.confirm.wait("")
        self._show_count(Preview(self._memory.zone), tr("Counting"))
        self.share_label.setVisible(len(self._target.ids) != 1)
        self.numbers.clear()
        self.one_item.show_hit(None)
        self.plan_column.show_sections([])
        self._begin_count()
        self.jobs.start("count", self._counting(self._target, self._action), self._on_counted)

    async def _counting(self, target: Target, action: Action) -> Removal:
        where = self._memory
        plan = await make_plan(where.engine, target, action)
        removal = Removal(where.engine, plan, where.journal, where.connection, zone=where.zone)
        await self._follow(removal.count(), partial(self._show_preview, removal))
        return removal

    def _on_counted(self, removal: Removal) -> None:
        preview = removal.preview
        assert preview is not None
        self._removal = removal
        self.busy_line.set_busy(False)
        self.count_button.hide()
        self._show_preview(removal, preview)
        self.confirm.way_back.offer(can_export(self._memory.engine))
        self._ask_for_it(preview)
        self._announce(text.listed((self.count_label.text(), self.share_label.text())))

    def _ask_for_it(self, preview: Preview, *, has_moved: bool = False) -> None:
        needed = self._removal.confirmation if self._removal is not None else None
        if needed is not None:
            self.confirm.show_needed(needed, preview, has_moved=has_moved)
            self.confirm.way_back.export_button.setEnabled(preview.total > 0)

    def _show_preview(self, removal: Removal, preview: Preview) -> None:
        plan = removal.plan
        self.plan_column.show_sections(
            words.plan_sections(
                plan,
                preview,
                self._beside,
                self._remaining(),
                self._memory.zone,
                self._memory.shown,
                self._plan_apart,
                others_go(self._memory.engine.descriptor(), plan),
            )
        )
        self.numbers.show_preview(plan, preview)
        if not self.one_item.isHidden():
            self.one_item.show_hit(next(iter(preview.samples), None))
        if preview.counted_at is None:
            self._show_count(preview, tr("so far"))
        else:
            self._show_count(preview, _of_stored(preview), counted_when(preview.counted_at, self._memory.zone))

    def _remaining(self) -> list[str]:
        """What may remain of what goes, once it is counted."""
        removal = self._removal
        if removal is None or removal.preview is None:
            return []
        about, health = self._memory.engine.descriptor(), self._memory.health
        return [one.words for one in remaining(about, removal.plan, removal.preview, health)]

    def _show_count(self, preview: Preview, aside: str, at: str = "") -> None:
        self.count_label.say(text.counted(preview.total, "item"))
        self.share_label.say(aside)
        self.counted_label.setText(at)
        self.counted_label.setVisible(bool(at))

    def _plan_apart(self, node: Namespace) -> Callable[[], None]:
        """The same of a sandbox below, with the same conditions."""
        reach = Reach.subtree(node)
        filter = self._target.filter or MetaFilter()
        apart = Target.of_filter(filter.model_copy(update={"reach": reach}))
        return lambda: self.begin(apart, self._action)

    def _on_choice_chosen(self, choice: str) -> None:
        self.begin(self._target, _CHOICES[choice])
        self.choice.button(choice).setFocus(Qt.FocusReason.OtherFocusReason)

    def _say_aside(self, said: str) -> None:
        self.share_label.say(said)
        self.share_label.show()

    # The way back

    def _on_export_wanted(self) -> None:
        if self._removal is not None and not self._is_exporting:
            self._is_exporting = True
            self.confirm.wait(tr("The export is being written."))
            self.jobs.start("export", self._export(self._removal), lambda _: None)

    async def _export(self, removal: Removal) -> None:
        preview = removal.preview
        assert preview is not None
        kinds, memory = JSON_LINES, self._memory.path
        path = await choose_target(self, tr("Export first"), _export_name(removal), kinds, memory)
        if path is None:
            return
        self.confirm.way_back.show_progress(Export(), preview.total)
        shown_s = 0.0
        async with contextlib.aclosing(removal.export_first(path, overwrite=True)) as steps:
            async for step in steps:
                if time.monotonic() - shown_s >= SHOWN_EVERY_S and step.done is None:
                    self.confirm.way_back.show_progress(step, preview.total)
                    shown_s = time.monotonic()
                await asyncio.sleep(0)

    def _end_export(self, said: str) -> None:
        self._is_exporting = False
        self.confirm.wait("")
        way_back = self._removal.way_back if self._removal is not None else None
        if way_back is not None:
            self.confirm.way_back.show_done(way_back)
            self._announce(self.confirm.way_back.said_label.text())
        elif self._removal is not None:
            self.confirm.way_back.offer(can_export(self._memory.engine), said)

    def _on_incomplete_wanted(self) -> None:
        way_back = self._removal.way_back if self._removal is not None else None
        if way_back is not None:
            n = len(way_back.incomplete)
            said = tr_n("{n} item is not in the file.", "{n} items are not in the file.", n, n=text.number(n))
            self.banner.show_error(said, "\n".join(way_back.incomplete))

    # Running

    def _on_confirm_pressed(self) -> None:
        removal = self._removal
        if removal is None or self.is_running or self._is_exporting:
            return
        removal.keeps_texts = self.confirm.texts_check.isChecked()
        self._began_at = datetime.now(UTC)
        self.moved_label.hide()
        self.old_count_label.hide()
        self._begin_run(removal, self._action)
        self.jobs.start("run", self._run(removal), self._on_run)

    async def _run(self, removal: Removal) -> Step | None:
        last: Step | None = None
        self._planned = list(removal.preview.ids) if removal.preview is not None else []
        async with contextlib.aclosing(removal.run(self.confirm.answers)) as steps:
            async for last in steps:
                end_if_cancelled()
                self._tell_step(last)
                await asyncio.sleep(0)
        return last

    def _on_run(self, last: Step | None) -> None:
        self._end_run()
        if last is not None and last.phase is Phase.MOVED and last.now is not None:
            self._show_moved(last.now, last.moved or Moved((), ()))
            self.run_ended.emit(None, [], "")
        elif last is not None and last.outcome is not None:
            self._show_outcome(last.outcome)
            self.run_ended.emit(last.outcome, self._planned, "")

    def _show_running(self, is_running: bool) -> None:
        self._lower.setCurrentIndex(1 if is_running else 0)
        self.plan_column.allow_offers(not is_running)
        if not is_running:
            self.confirm.cancel_button.setFocus(Qt.FocusReason.OtherFocusReason)  # else it is on the red one again

    def _show_moved(self, now: Preview, difference: Moved) -> None:
        removal = self._removal
        assert removal is not None
        before = self.count_label.text()
        self._show_preview(removal, now)
        self.old_count_label.say(before)
        self.old_count_label.setVisible(bool(difference))
        self.moved_label.setText(words.moved(self._action, difference))
        self.moved_label.show()
        if removal.way_back is None:  # else the file still holds what would go
            self.confirm.way_back.offer(can_export(self._memory.engine))
        self._ask_for_it(now, has_moved=True)
        self._announce(self.moved_label.text())

    # Afterwards

    def _show_outcome(self, outcome: Outcome) -> None:
        self.outcome = outcome
        way_back = self._removal.way_back if self._removal is not None else None
        name, now = text.inline(self._memory.connection), datetime.now(UTC)
        self.place_label.say(subtitle(what(self._target), name, self._began_at, now, self._memory.zone))
        remains = dict.fromkeys([*map(text.sentence, outcome.remains), *self._remaining()])
        self.receipt.show_outcome(outcome, self._action, way_back, list(remains))
        self._show_result(
            outcome_title(outcome, self._action),
            is_clean=outcome.is_clean,
            doubt=doubt(outcome),
            size=_RECEIPT_SIZE,
            done=self.receipt.done_button,
        )

    def _on_receipt_retry_wanted(self) -> None:
        """Only what is left: by its ids, or, since an erase is told no ids, what the same plan finds now."""
        if self.outcome is not None and self.outcome.left:
            is_erase = self._action is Action.ERASE
            self.begin(self._target if is_erase else Target.of_ids(self.outcome.left), self._action)

    def _on_receipt_restore_wanted(self) -> None:
        if self._removal is not None and self._removal.way_back is not None:
            self.restore_wanted.emit(self._removal.way_back.path, self._removal.way_back.items)

    def _on_receipt_file_wanted(self) -> None:
        if self.outcome is not None and self.outcome.receipt is not None:
            self.folder_wanted.emit(self.outcome.receipt)

    def _on_receipt_print_wanted(self) -> None:
        if self.outcome is not None and self.outcome.receipt is not None:
            self.jobs.start("print", self._print(self.outcome.receipt), lambda _: None)

    async def _print(self, receipt: Path) -> None:
        name = f"{receipt.stem}.pdf"
        title, memory = tr("Print the receipt to a PDF file"), self._memory.path
        path = await choose_target(self, title, name, PDF, memory)
        if path is not None:
            read = await asyncio.to_thread(Receipt.read, receipt)
            await print_page(await asyncio.to_thread(page, read, self._memory.zone), path)
            show_printed(self.banner, path, lambda path: self.folder_wanted.emit(path))
            self.printed.emit(path)

    # Ends

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        said, details = news.sentence(error), news.details(error)
        if lane == "count":
            self._end_count(tr("not counted to the end"))
            self.banner.show_error(
                " ".join((said, tr("Nothing can be confirmed before it is counted to the end."))), details
            )
        elif lane == "export":
            self._end_export("")
            self.banner.show_error(said, details)
        elif lane == "run":
            self._on_run_failed(said, details, error)
        else:
            self.banner.show_error(said, details)

    def _on_run_failed(self, said: str, details: str, error: Exception) -> None:
        """Nothing was removed; or, of a fault of ours, nobody knows."""
        self._end_run()
        if not isinstance(error, TinyMemoryError):
            self.run_ended.emit(None, self._planned, said)
            self._count_is_needed()
            self.banner.show_error(said, details)
            return
        self.run_ended.emit(None, [], said)
        self.confirm.clear()
        nothing = tr("Nothing was erased.") if self._action is Action.ERASE else tr("Nothing was forgotten.")
        if isinstance(error, Lost):
            self.confirm.way_back.offer(can_export(self._memory.engine))
            again = tr("Export again…")
            self.banner.show_note(" ".join((said, nothing)), again, self._on_export_wanted, icon="warning")
            return
        if self._action is Action.ERASE and isinstance(error, Unsupported):
            why = text.sentence(error.text).removesuffix(".")
            self._unsupported[self._target.model_dump_json()] = why
            self.choice.set_enabled(ERASE, False, text.full_stop(why))
            self.confirm.wait(text.full_stop(why))
            self.banner.show_note(
                " ".join((said, nothing)), tr("Forget instead…"), self._forget_instead, icon="warning"
            )
            return
        self.banner.show_error(" ".join((said, nothing)), details)

    def _count_is_needed(self) -> None:
        """It was left in the middle: some may be gone, and nobody has asked which."""
        self._removal = None
        self.confirm.begin(self._action)
        self._end_count(tr("before it was left in the middle; the journal has what went"))

    def _forget_instead(self) -> None:
        self.begin(self._target, Action.FORGET)

    def _on_count_stopped(self) -> None:
        self._end_count(tr("so far: counting was cancelled, and nothing can be confirmed"))

    def _on_run_left(self) -> None:
        self._tell_left()
        self._count_is_needed()

    def _tell_left(self) -> None:
        self.run_ended.emit(None, self._planned, "")

    def _on_jobs_ended(self, lane: str, error: BaseException | None) -> None:
        super()._on_jobs_ended(lane, error)
        if lane == "export" and (error is None or isinstance(error, asyncio.CancelledError)) and self._is_exporting:
            self._end_export(tr("The export was cancelled; no file was written.") if error is not None else "")

    def _fit_columns(self) -> None:
        if len(self._target.ids) == 1:
            self.plan_column.setMinimumWidth(0)
            self.plan_column.setMaximumWidth(UNLIMITED)
            self.plan_column.setFixedHeight(min(theme().scaled(_SMALL_PLAN_PX), self.height() // 3))
        else:
            self.plan_column.setMinimumHeight(0)
            self.plan_column.setMaximumHeight(UNLIMITED)
            super()._fit_columns()


def _of_stored(preview: Preview) -> str:
    """`of 5 440 stored, 72 %`."""
    if preview.stored_is_least:
        # Translators: beside the number of items, as in “37 items” “of 5 440+ stored”.
        return tr("of {total} stored", total=text.at_least(preview.stored))
    of = tr("of {total} stored", total=text.number(preview.stored))
    return text.listed((of, text.share(preview.total, preview.stored))) if preview.stored else of


def _export_name(removal: Removal) -> str:
    """`team-acme-2026-07-03.jsonl`."""
    node = removal.plan.target.node
    name = "items" if node is None else "-".join(f"{one.kind.prefix}-{one.id}" for one in node.segments) or "root"
    return f"{name[:80]}-{datetime.now(UTC):%Y-%m-%d}.jsonl"
