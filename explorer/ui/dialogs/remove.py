"""Forget and erase: the plan in words and numbers, the question, the run, and what became of it."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime, tzinfo
from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QCloseEvent,
    QKeyEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
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
from explorer.contract import ItemId, MemoryEngine, MetaFilter, Namespace, Reach, TinyMemoryError, Unsupported
from explorer.i18n import mark, tr, tr_n
from explorer.removal.journal import Journal
from explorer.removal.outcome import Outcome, Phase, Step
from explorer.removal.page import page
from explorer.removal.plan import Action, Target, make_plan
from explorer.removal.preview import Moved, Preview
from explorer.removal.receipts import Receipt
from explorer.removal.remaining import remaining
from explorer.removal.removing import Removal
from explorer.removal.way_back import Export
from explorer.ui import icons, news
from explorer.ui.banner import UNLIMITED, Banner
from explorer.ui.busy import BusyLine
from explorer.ui.dialogs.receipt_page import choose_target, print_page, show_printed
from explorer.ui.dialogs.remove_parts import words
from explorer.ui.dialogs.remove_parts.confirm import ConfirmPart
from explorer.ui.dialogs.remove_parts.numbers import Numbers
from explorer.ui.dialogs.remove_parts.one_item import OneItem
from explorer.ui.dialogs.remove_parts.one_line import OneLine
from explorer.ui.dialogs.remove_parts.plan_column import PlanColumn
from explorer.ui.dialogs.remove_parts.receipt import ReceiptView, subtitle
from explorer.ui.dialogs.remove_parts.running import RunningPart
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.engine_words import engine_label
from explorer.ui.item_questions import end_if_cancelled
from explorer.ui.jobs import Jobs, Stopped
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.segments import Segments
from explorer.ui.theme import theme

FORGET, ERASE = mark("Forget"), mark("Erase")
_CHOICES = {FORGET: Action.FORGET, ERASE: Action.ERASE}
_SHOWN_EVERY_S = 0.1
_SIDE_PX = 384
_SIDE_SHARE = 0.4
_SIZE = (960, 712)
_SMALL_SIZE = (560, 640)
_SMALL_PLAN_PX = 190
_RECEIPT_SIZE = (960, 576)


@dataclass(frozen=True)
class Where:
    """What a removal is about besides its target: the memory that is open, and where receipts are kept.

    `nodes` are all that are known, root first; `memory_path` is the file that is open, which no export may replace.
    """

    engine: MemoryEngine
    connection: str
    journal: Journal
    zone: tzinfo = UTC
    nodes: Sequence[Namespace] = ()
    memory_path: str | None = None
    health: str | None = None
    """The reason that the engine gives for its health."""


class RemoveDialog(QDialog):
    """Counts at once, asks as strongly as the harm is, runs it, and shows what a fresh read says.

    It stands beside its window, so that samples can be looked at there. While it runs it cannot be closed.
    """

    item_opened = Signal(object)  # a Hit
    list_wanted = Signal(object)  # a MetaFilter
    restore_wanted = Signal(object, int)  # the Path of an export, and how many items it holds
    folder_wanted = Signal(object)  # a Path of a file in it
    printed = Signal(object)  # the Path of the PDF file
    run_began = Signal(str)  # what it is called
    run_stepped = Signal(str, object)  # how far in words, and the share that is done (0 to 1) or None
    run_ended = Signal(object, object)
    # an Outcome and the ids that were planned; None where nothing was removed, or, with ids, where it was left midway

    def __init__(self, where: Where, target: Target, action: Action, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("removeDialog")
        self._where = where
        self._target, self._action = target, action
        self._beside = ""
        self._design_size = (0, 0)
        self._removal: Removal | None = None
        self._shown_s = 0.0
        self._is_exporting = self._is_running = False
        self._planned: list[ItemId] = []
        self._began_at = datetime.now(UTC)
        self.outcome: Outcome | None = None
        """Of the last run."""
        self.continues: Path | None = None
        """The receipt of what was interrupted, which this goes on with; no longer once it is about something else."""
        self.jobs = Jobs(self)

        self._mark = icons.IconLabel("erase", "danger")
        self.title_label = OneLine("dialogTitle", "text", Qt.TextElideMode.ElideMiddle)
        self.title_label.setObjectName("removeTitleLabel")
        self.place_label = OneLine("small", "text2")
        self.place_label.setObjectName("removePlaceLabel")
        for line in (self.title_label, self.place_label):
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.choice = Segments([FORGET, ERASE])
        self.choice.button(FORGET).setObjectName("forgetChoice")
        self.choice.button(ERASE).setObjectName("eraseChoice")
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
        self.banner.setObjectName("removeBanner")
        self.plan_column = PlanColumn()
        self.plan_column.setProperty("surface", "panel")
        self._plan_rule = QFrame()
        self._plan_rule.setProperty("surface", "vrule")
        self.count_label = OneLine("title")
        self.count_label.setObjectName("countLabel")
        self.old_count_label = OneLine("title", "text3")
        self.old_count_label.setObjectName("oldCountLabel")
        self.old_count_label.set_struck(True)
        self.share_label = OneLine("body", "text3")
        self.share_label.setObjectName("shareLabel")
        self.counted_label = plain_label("body", "text3")
        self.counted_label.setObjectName("countedLabel")
        self.moved_label = plain_label("medium", "caution")
        self.moved_label.setObjectName("movedLabel")
        self.moved_label.setWordWrap(True)
        self.count_button = QPushButton()
        self.count_button.setObjectName("countButton")
        self.count_button.setProperty("kind", "link")
        self.count_button.setAutoDefault(False)
        self.busy_line = BusyLine()
        self.numbers = Numbers(where.zone)
        self.one_item = OneItem(where.zone)
        counted = QHBoxLayout()
        counted.setContentsMargins(margins(24, 14, 24, 4))
        counted.setSpacing(8)
        for part in (self.old_count_label, self.count_label, self.share_label):
            counted.addWidget(part)
        counted.addStretch(1)
        counted.addWidget(self.counted_label)
        counted.addWidget(self.count_button)
        said = QHBoxLayout()
        said.setContentsMargins(margins(24, 0, 24, 4))
        said.addWidget(self.moved_label)
        right = QVBoxLayout()
        right.setSpacing(0)
        right.addLayout(counted)
        right.addLayout(said)
        right.addWidget(self.busy_line)
        right.addWidget(self.numbers, 1)
        right.addWidget(self.one_item, 1)
        self._body = QHBoxLayout()
        self._body.setSpacing(0)
        self._body.addWidget(self.plan_column)
        self._body.addWidget(self._plan_rule)
        self._body.addLayout(right, 1)

        self.confirm = ConfirmPart()
        self.running = RunningPart()
        self._lower = QStackedWidget()
        self._lower.addWidget(self.confirm)
        self._lower.addWidget(self.running)
        self._lower.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        page = QWidget()
        column = QVBoxLayout(page)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(self._body, 1)
        column.addWidget(self._lower)
        self.receipt = ReceiptView(where.zone)
        self._pages = QStackedWidget()
        self._pages.addWidget(page)
        self._pages.addWidget(self.receipt)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(head)
        column.addWidget(self.banner)
        column.addWidget(self._pages, 1)

        self.choice.chosen.connect(self._on_choice_chosen)
        self.count_button.clicked.connect(self._on_count_button_clicked)
        self.numbers.sample_opened.connect(self.item_opened)
        self.numbers.list_wanted.connect(lambda: self.list_wanted.emit(self._target.filter))
        self.confirm.cancelled.connect(self.reject)
        self.confirm.pressed.connect(self._on_confirm_pressed)
        self.confirm.way_back.export_wanted.connect(self._on_export_wanted)
        self.confirm.way_back.cancel_wanted.connect(lambda: self.jobs.stop("export"))
        self.confirm.way_back.folder_wanted.connect(self.folder_wanted)
        self.confirm.way_back.incomplete_wanted.connect(self._on_incomplete_wanted)
        self.running.pause_wanted.connect(lambda: self._while_running(Removal.pause))
        self.running.resume_wanted.connect(lambda: self._while_running(Removal.resume))
        self.running.stop_wanted.connect(lambda: self._while_running(Removal.stop))
        self.running.hide_wanted.connect(self.hide)
        self.receipt.hit_opened.connect(self.item_opened)
        self.receipt.retry_wanted.connect(self._on_receipt_retry_wanted)
        self.receipt.restore_wanted.connect(self._on_receipt_restore_wanted)
        self.receipt.file_wanted.connect(self._on_receipt_file_wanted)
        self.receipt.print_wanted.connect(self._on_receipt_print_wanted)
        self.receipt.done.connect(self.accept)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.ended.connect(self._on_jobs_ended)
        self.begin(target, action)

    # What it is about

    @property
    def is_running(self) -> bool:
        """Whether anything is being removed."""
        return self._is_running

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
        refused = words.why_not_erase(self._where.engine, target)
        if refused and action is Action.ERASE:
            action = Action.FORGET
        if (target, action) != (self._target, self._action):
            self.continues = None
        self._target, self._action = target, action
        self._beside = words.beside(target, self._where.nodes)
        self.outcome = None
        self.choice.set_enabled(ERASE, not refused, refused)
        self.choice.set_choice(ERASE if action is Action.ERASE else FORGET)
        self.choice.show()
        self._mark.show_icon("erase" if action is Action.ERASE else "minus-ring", "danger")
        self._say_title(words.title(target, action))
        engine = engine_label(self._where.engine.descriptor())
        self.place_label.say(text.listed((text.inline(self._where.connection), engine)))
        is_single = len(target.ids) == 1
        self.numbers.setVisible(not is_single)
        self.one_item.setVisible(is_single)
        self._body.setDirection(QHBoxLayout.Direction.BottomToTop if is_single else QHBoxLayout.Direction.LeftToRight)
        self._plan_rule.setVisible(not is_single)
        self._pages.setCurrentIndex(0)
        self._lower.setCurrentIndex(0)
        self._take_size(_SMALL_SIZE if is_single else _SIZE)
        self._fit_columns()
        self.confirm.cancel_button.setDefault(True)
        self.confirm.cancel_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self._count()

    def stop_running(self) -> None:
        """Begin no further batch; for the list of jobs."""
        if self._is_running:
            self.running.show_stopping()
            self._while_running(Removal.stop)

    def _take_size(self, size: tuple[int, int]) -> None:
        """A size of the design, unless it is what the dialog had already: what was pulled by hand stays."""
        if size != self._design_size:
            self._design_size = size
            resize_to_design(self, *size)

    def _say_title(self, said: str) -> None:
        self.title_label.say(said)
        self.setWindowTitle(said)

    def _while_running(self, do: Callable[[Removal], None]) -> None:
        if self._is_running and self._removal is not None:
            do(self._removal)

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
        self._show_count(Preview(self._where.zone), tr("Counting"))
        self.share_label.setVisible(len(self._target.ids) != 1)
        self.numbers.clear()
        self.one_item.show_hit(None)
        self.plan_column.show_sections([])
        self.count_button.setText(tr("Cancel counting"))
        self.count_button.show()
        self.busy_line.set_busy(True)
        self._shown_s = 0.0
        self.jobs.start("count", self._counting(self._target, self._action), self._on_counted)

    async def _counting(self, target: Target, action: Action) -> Removal:
        where = self._where
        plan = await make_plan(where.engine, target, action)
        removal = Removal(where.engine, plan, where.journal, where.connection, zone=where.zone)
        async with contextlib.aclosing(removal.count()) as steps:
            async for found in steps:
                end_if_cancelled()
                if not found.is_whole and time.monotonic() - self._shown_s >= _SHOWN_EVERY_S:
                    self._show_preview(removal, found)
                    self._shown_s = time.monotonic()
                await asyncio.sleep(0)  # an engine that never waits would keep the window waiting
        return removal

    def _on_counted(self, removal: Removal) -> None:
        preview = removal.preview
        assert preview is not None
        self._removal = removal
        self.busy_line.set_busy(False)
        self.count_button.hide()
        self._show_preview(removal, preview)
        self.confirm.way_back.offer(words.can_export(self._where.engine))
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
            words.plan_sections(plan, preview, self._beside, self._remaining(), self._where.zone, self._plan_apart)
        )
        self.numbers.show_preview(plan, preview)
        if not self.one_item.isHidden():
            self.one_item.show_hit(next(iter(preview.samples), None))
        if preview.counted_at is None:
            self._show_count(preview, tr("so far"))
        else:
            at = preview.counted_at.astimezone(self._where.zone)
            # Translators: when they were counted, past tense
            self._show_count(preview, _of_stored(preview), tr("Counted {time}", time=f"{at:%H:%M:%S}"))

    def _remaining(self) -> list[str]:
        """What may remain of what goes, once it is counted."""
        removal = self._removal
        if removal is None or removal.preview is None:
            return []
        about, health = self._where.engine.descriptor(), self._where.health
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

    def _on_count_button_clicked(self) -> None:
        if self.jobs.is_running("count"):
            self.jobs.stop("count")
        else:
            self._count()

    def _end_count(self, said: str) -> None:
        """It did not come to its end: what was counted so far is no number to confirm."""
        self.busy_line.set_busy(False)
        self.share_label.say(said)
        self.share_label.show()
        self.count_button.setText(tr("Count again"))
        self.count_button.show()
        self.numbers.setEnabled(False)

    # The way back

    def _on_export_wanted(self) -> None:
        if self._removal is not None and not self._is_exporting:
            self._is_exporting = True
            self.confirm.wait(tr("The export is being written."))
            self.jobs.start("export", self._export(self._removal), lambda _: None)

    async def _export(self, removal: Removal) -> None:
        preview = removal.preview
        assert preview is not None
        kinds, memory = "JSON Lines (*.jsonl *.ndjson)", self._where.memory_path
        path = await choose_target(self, tr("Export first"), _export_name(removal), kinds, memory)
        if path is None:
            return
        self.confirm.way_back.show_progress(Export(), preview.total)
        shown_s = 0.0
        async with contextlib.aclosing(removal.export_first(path, overwrite=True)) as steps:
            async for step in steps:
                if time.monotonic() - shown_s >= _SHOWN_EVERY_S and step.done is None:
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
            self.confirm.way_back.offer(words.can_export(self._where.engine), said)

    def _on_incomplete_wanted(self) -> None:
        way_back = self._removal.way_back if self._removal is not None else None
        if way_back is not None:
            n = len(way_back.incomplete)
            said = tr_n("{n} item is not in the file.", "{n} items are not in the file.", n, n=text.number(n))
            self.banner.show_error(said, "\n".join(way_back.incomplete))

    # Running

    def _on_confirm_pressed(self) -> None:
        removal = self._removal
        if removal is None or self._is_running or self._is_exporting:
            return
        removal.keeps_texts = self.confirm.texts_check.isChecked()
        self._is_running = True
        self._began_at = datetime.now(UTC)
        self.banner.clear()
        self.moved_label.hide()
        self.old_count_label.hide()
        self.choice.hide()
        self.running.begin(self._action)
        self._lower.setCurrentIndex(1)
        self.plan_column.allow_offers(False)
        self.running.hide_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.run_began.emit(self.title_label.text())
        self.jobs.start("run", self._run(removal), self._on_run)

    async def _run(self, removal: Removal) -> Step | None:
        last: Step | None = None
        self._planned = list(removal.preview.ids) if removal.preview is not None else []
        async with contextlib.aclosing(removal.run(self.confirm.answers)) as steps:
            async for last in steps:
                end_if_cancelled()
                self.running.show_step(last)
                said = " ".join(filter(None, (self.running.said, text.sentence(last.waiting or ""))))
                self.run_stepped.emit(said, self.running.part)
                await asyncio.sleep(0)
        return last

    def _on_run(self, last: Step | None) -> None:
        self._end_run()
        if last is not None and last.phase is Phase.MOVED and last.now is not None:
            self._show_moved(last.now, last.moved or Moved((), ()))
            self.run_ended.emit(None, [])
        elif last is not None and last.outcome is not None:
            self._show_outcome(last.outcome)
            self.run_ended.emit(last.outcome, self._planned)

    def _end_run(self) -> None:
        self._is_running = False
        self.running.end()
        self.plan_column.allow_offers(True)
        self._lower.setCurrentIndex(0)
        self.confirm.cancel_button.setFocus(Qt.FocusReason.OtherFocusReason)  # else it is on the red one again
        self.choice.show()
        if self.isHidden():
            self.show()

    def _show_moved(self, now: Preview, difference: Moved) -> None:
        removal = self._removal
        assert removal is not None
        before = self.count_label.text()
        removal.preview, removal.way_back = now, None  # the file holds what is no longer what would go
        self._show_preview(removal, now)
        self.old_count_label.say(before)
        self.old_count_label.setVisible(bool(difference))
        self.moved_label.setText(words.moved(self._action, difference))
        self.moved_label.show()
        self.confirm.way_back.offer(words.can_export(self._where.engine))
        self._ask_for_it(now, has_moved=True)
        self._announce(self.moved_label.text())

    # Afterwards

    def _show_outcome(self, outcome: Outcome) -> None:
        self.outcome = outcome
        way_back = self._removal.way_back if self._removal is not None else None
        is_clean = outcome.is_clean
        self._mark.show_icon("check-ring" if is_clean else "warning", "accent" if is_clean else "caution")
        self._say_title(words.outcome_title(outcome, self._action))
        what = words.what(self._target)
        now = datetime.now(UTC)
        self.place_label.say(subtitle(what, text.inline(self._where.connection), self._began_at, now, self._where.zone))
        self.choice.hide()
        remains = dict.fromkeys([*map(text.sentence, outcome.remains), *self._remaining()])
        self.receipt.show_outcome(outcome, self._action, way_back, list(remains))
        self._pages.setCurrentIndex(1)
        self._take_size(_RECEIPT_SIZE)
        self.receipt.done_button.setDefault(True)
        self.receipt.done_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self._announce(". ".join(filter(None, (self.title_label.text(), words.doubt(outcome)))))

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
        title, memory = tr("Print the receipt to a PDF file"), self._where.memory_path
        path = await choose_target(self, title, name, "PDF (*.pdf)", memory)
        if path is not None:
            read = await asyncio.to_thread(Receipt.read, receipt)
            await print_page(await asyncio.to_thread(page, read, self._where.zone), path)
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
            self.run_ended.emit(None, self._planned)
            self._count_is_needed()
            self.banner.show_error(said, details)
            return
        self.run_ended.emit(None, [])
        self.confirm.clear()
        if self._action is Action.ERASE and isinstance(error, Unsupported):
            self.banner.show_note(
                " ".join((said, tr("Nothing was erased."))), tr("Forget instead…"), self._forget_instead, icon="warning"
            )
            return
        nothing = tr("Nothing was erased.") if self._action is Action.ERASE else tr("Nothing was forgotten.")
        self.banner.show_error(" ".join((said, nothing)), details)

    def _count_is_needed(self) -> None:
        """It was left in the middle: some may be gone, and nobody has asked which."""
        self._removal = None
        self.confirm.begin(self._action)
        self._end_count(tr("before it was left in the middle; the journal has what went"))

    def _forget_instead(self) -> None:
        self.begin(self._target, Action.FORGET)

    def _on_jobs_ended(self, lane: str, error: BaseException | None) -> None:
        if lane == "count" and isinstance(error, Stopped):
            self._end_count(tr("so far: counting was cancelled, and nothing can be confirmed"))
        elif lane == "run" and isinstance(error, asyncio.CancelledError) and self._is_running:
            self._end_run()
            self.run_ended.emit(None, self._planned)
            self._count_is_needed()
        elif lane == "export" and (error is None or isinstance(error, asyncio.CancelledError)) and self._is_exporting:
            self._end_export(tr("The export was cancelled; no file was written.") if error is not None else "")

    def reject(self) -> None:
        if not self._is_running:  # Esc by accident must not hide what is being removed
            super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._is_running:
            event.ignore()
        else:
            super().closeEvent(event)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        """Enter presses the button that has the focus, but never the red one; elsewhere it does nothing."""
        if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            super().keyPressEvent(event)
            return
        event.accept()
        focus = QApplication.focusWidget()
        if isinstance(focus, QCheckBox):
            return
        if isinstance(focus, QPushButton) and focus is not self.confirm.remove_button and focus.isEnabled():
            focus.click()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        if len(self._target.ids) == 1:
            self.plan_column.setMinimumWidth(0)
            self.plan_column.setMaximumWidth(UNLIMITED)
            self.plan_column.setFixedHeight(min(theme().scaled(_SMALL_PLAN_PX), self.height() // 3))
        else:
            self.plan_column.setMinimumHeight(0)
            self.plan_column.setMaximumHeight(UNLIMITED)
            self.plan_column.setFixedWidth(min(theme().scaled(_SIDE_PX), round(self.width() * _SIDE_SHARE)))

    def _announce(self, said: str) -> None:
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, said))

    def leave(self) -> None:
        """Go: what it is about is no longer open."""
        self.jobs.cancel()
        if self._is_running:
            self._is_running = False
            self.run_ended.emit(None, self._planned)
        self.done(QDialog.DialogCode.Rejected)  # which is told of one that is hidden as well

    async def aclose(self) -> None:
        """End what it asks for; a removal that runs is left, with a receipt that is true so far."""
        await self.jobs.aclose()


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
