"""What a dialog that plans, counts and runs has, whether it removes or moves: its head, its numbers, and its ends."""

from __future__ import annotations

import asyncio
import contextlib
import time
from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from typing import Protocol, TypeVar

from PySide6.QtCore import Qt, QTimer, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QCloseEvent,
    QKeyEvent,
    QResizeEvent,
)
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
from explorer.contract import MemoryEngine, MetaFilter, Namespace
from explorer.i18n import tr
from explorer.removal.journal import Journal
from explorer.removal.outcome import Step
from explorer.removal.plan import Action, Target
from explorer.ui import icons
from explorer.ui.banner import Banner
from explorer.ui.busy import BusyLine
from explorer.ui.dialogs.plan_parts.numbers import Numbers
from explorer.ui.dialogs.plan_parts.one_line import OneLine
from explorer.ui.dialogs.plan_parts.plan_column import PlanColumn
from explorer.ui.dialogs.plan_parts.running import RunningPart
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.engine_words import engine_label
from explorer.ui.item_questions import end_if_cancelled
from explorer.ui.jobs import Jobs, Stopped
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.pauses import pause_words
from explorer.ui.segments import Segments
from explorer.ui.theme import theme

SIZE = (960, 712)
SHOWN_EVERY_S = 0.1
_PAUSE_EVERY_MS = 500
_SIDE_SHARE = 0.4


@dataclass(frozen=True)
class Memory:
    """The memory that is open, and where receipts are kept.

    `path` is its file, which no export may replace; `nodes` are all that are known, root first; `health` is the reason
    that the engine gives for its health. `shown` is the filter of the list behind the dialog.
    """

    engine: MemoryEngine
    connection: str
    journal: Journal
    path: str | None = None
    nodes: Sequence[Namespace] = ()
    zone: tzinfo = UTC
    health: str | None = None
    is_read_only: bool = False
    shown: MetaFilter = field(default_factory=MetaFilter)


class Runs(Protocol):
    """What is planned, and can be held up once it runs."""

    def pause(self) -> None: ...
    def resume(self) -> None: ...
    def stop(self) -> None: ...


class Counted(Protocol):
    """A count that may be of the start only."""

    @property
    def is_whole(self) -> bool: ...


C = TypeVar("C", bound=Counted)


class PlanDialog(QDialog):
    """Stands beside its window, so that samples can be looked at there. While it runs it cannot be closed.

    `name` is what its parts are called by; `choices` are what can be done, marked, with the names of their buttons.
    """

    item_opened = Signal(object)  # a Hit
    list_wanted = Signal(object)  # a MetaFilter
    folder_wanted = Signal(object)  # a Path of a file in it
    run_began = Signal(str)  # what it is called
    run_stepped = Signal(str, object)  # how far in words, and the share that is done (0 to 1) or None

    never_by_enter: QPushButton | None = None
    """The button that Enter does not press."""

    def __init__(
        self, name: str, memory: Memory, target: Target, choices: dict[str, str], side_px: int, parent: QWidget | None
    ) -> None:
        super().__init__(parent)
        self.setObjectName(f"{name}Dialog")
        self._memory = memory
        self._target = target
        self._running: Runs | None = None
        self._side_px = side_px
        self._design_size = (0, 0)
        self._shown_s = 0.0
        self._has_ended = False  # whether the last count did, before its end
        self.jobs = Jobs(self)

        self._mark = icons.IconLabel("arrow-right", "accent")
        self.title_label = OneLine("dialogTitle", "text", Qt.TextElideMode.ElideMiddle)
        self.title_label.setObjectName(f"{name}TitleLabel")
        self.place_label = OneLine("small", "text2")
        self.place_label.setObjectName(f"{name}PlaceLabel")
        for line in (self.title_label, self.place_label):
            line.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)
        self.choice = Segments(list(choices))
        for choice, button_name in choices.items():
            self.choice.button(choice).setObjectName(button_name)
        self.banner = Banner()
        self.banner.setObjectName(f"{name}Banner")
        self.plan_column = PlanColumn()
        self.plan_column.setProperty("surface", "panel")
        self._plan_rule = QFrame()
        self._plan_rule.setProperty("surface", "vrule")
        self.count_label = OneLine("title")
        self.count_label.setObjectName("countLabel")
        self.counted_label = plain_label("body", "text3")
        self.counted_label.setObjectName("countedLabel")
        self.count_button = QPushButton()
        self.count_button.setObjectName("countButton")
        self.count_button.setProperty("kind", "link")
        self.count_button.setAutoDefault(False)
        self.busy_line = BusyLine()
        self.pause_label = plain_label("small", "caution")
        self.pause_label.setObjectName("countPauseLabel")
        self.pause_label.setContentsMargins(margins(24, 4, 24, 0))
        self.pause_label.hide()
        self._pause_tick = QTimer(self)
        self._pause_tick.setInterval(_PAUSE_EVERY_MS)
        self.numbers = Numbers(memory.zone)
        self.running = RunningPart()
        self.running.pause = self.pause_words

        self._counted_row = QHBoxLayout()
        self._counted_row.setContentsMargins(margins(24, 14, 24, 4))
        self._counted_row.setSpacing(8)
        self._counted_row.addWidget(self.count_label)
        self._counted_row.addStretch(1)
        self._counted_row.addWidget(self.counted_label)
        self._counted_row.addWidget(self.count_button)
        self._right = QVBoxLayout()
        self._right.setSpacing(0)
        self._right.addLayout(self._counted_row)
        self._right.addWidget(self.busy_line)
        self._right.addWidget(self.pause_label)
        self._right.addWidget(self.numbers, 1)
        self._body = QHBoxLayout()
        self._body.setSpacing(0)
        self._body.addWidget(self.plan_column)
        self._body.addWidget(self._plan_rule)
        self._body.addLayout(self._right, 1)
        self._pages = QStackedWidget()

    def _lay_out(self, before: Sequence[QWidget], below: Sequence[QWidget], after: QWidget) -> None:
        """The page of the plan, with what stands over it and below it, and the page of what became of it."""
        page = QWidget()
        column = _column(page)
        for part in before:
            column.addWidget(part)
        column.addLayout(self._body, 1)
        for part in below:
            column.addWidget(part)
        self._pages.addWidget(page)
        self._pages.addWidget(after)
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
        column = _column(self)
        column.addWidget(head)
        column.addWidget(self.banner)
        column.addWidget(self._pages, 1)
        self.choice.chosen.connect(self._on_choice_chosen)
        self.count_button.clicked.connect(self._on_count_button_clicked)
        self.numbers.sample_opened.connect(self.item_opened)
        self.numbers.list_wanted.connect(self._on_numbers_list_wanted)
        self.running.pause_wanted.connect(lambda: self._while_running(lambda runs: runs.pause()))
        self.running.resume_wanted.connect(lambda: self._while_running(lambda runs: runs.resume()))
        self.running.stop_wanted.connect(lambda: self._while_running(lambda runs: runs.stop()))
        self.running.hide_wanted.connect(self.hide)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.ended.connect(self._on_jobs_ended)
        self.jobs.busy_changed.connect(self._on_jobs_busy_changed)
        self._pause_tick.timeout.connect(self._show_pause)

    # What it is about

    @property
    def is_running(self) -> bool:
        """Whether anything is being removed, moved or copied."""
        return self._running is not None

    @property
    def engines(self) -> list[MemoryEngine]:
        """Those that are asked while it runs."""
        return [self._memory.engine]

    def pause_words(self) -> str:
        """Until when the server asked to wait; "" where it did not."""
        return pause_words(self.engines, self._memory.zone)

    def _on_jobs_busy_changed(self, is_busy: bool) -> None:
        (self._pause_tick.start if is_busy else self._pause_tick.stop)()
        self._show_pause()

    def _show_pause(self) -> None:
        """While it is counted or exported; what runs says it itself."""
        said = self.pause_words() if self.jobs.is_busy and not self.is_running else ""
        self.pause_label.setText(said)
        self.pause_label.setVisible(bool(said))

    def stop_running(self) -> None:
        """Begin no further batch; for the list of jobs."""
        if self.is_running:
            self.running.show_stopping()
            self._while_running(lambda runs: runs.stop())

    def _on_choice_chosen(self, choice: str) -> None:
        raise NotImplementedError

    def _say(self, icon: str, token: str, title: str) -> None:
        """What is planned, and in which memory."""
        self._mark.show_icon(icon, token)
        self._say_title(title)
        engine = engine_label(self._memory.engine.descriptor())
        self.place_label.say(text.listed((text.inline(self._memory.connection), engine)))

    def _say_title(self, said: str) -> None:
        self.title_label.say(said)
        self.setWindowTitle(said)

    def _take_size(self, size: tuple[int, int]) -> None:
        """A size of the design, unless it is what the dialog had already: what was pulled by hand stays."""
        if size != self._design_size:
            self._design_size = size
            resize_to_design(self, *size)

    # Counting

    def _count(self) -> None:
        """Count what is planned, from its start."""
        raise NotImplementedError

    def _say_aside(self, said: str) -> None:
        """Say of a count why it is none to go by."""
        raise NotImplementedError

    def _begin_count(self) -> None:
        self._has_ended = False
        self.count_button.setText(tr("Cancel counting"))
        self.count_button.show()
        self.busy_line.set_busy(True)
        self._shown_s = 0.0

    async def _follow(self, counting: AsyncGenerator[C, None], show: Callable[[C], None]) -> None:
        """Count to the end, and show now and then how far it is."""
        async with contextlib.aclosing(counting) as steps:
            async for found in steps:
                end_if_cancelled()
                if not found.is_whole and time.monotonic() - self._shown_s >= SHOWN_EVERY_S:
                    show(found)
                    self._shown_s = time.monotonic()
                await asyncio.sleep(0)  # an engine that never waits would keep the window waiting

    def _end_count(self, said: str) -> None:
        """It did not come to its end: what was counted so far is no number to go by."""
        self._has_ended = True
        self.busy_line.set_busy(False)
        self._say_aside(said)
        self.count_button.setText(tr("Count again"))
        self.count_button.show()
        self.numbers.setEnabled(False)

    def _on_count_button_clicked(self) -> None:
        if self._has_ended:  # as the button says, also in the moment before its lane is free
            self._count()
        else:
            self.jobs.stop("count")

    def _on_numbers_list_wanted(self) -> None:
        if self._target.filter is not None:
            self.list_wanted.emit(self._target.filter)

    # Running

    def _begin_run(self, runs: Runs, action: Action) -> None:
        self._running = runs
        self.banner.clear()
        self.choice.hide()
        self.running.begin(action)
        self._show_running(True)
        self.running.hide_button.setFocus(Qt.FocusReason.OtherFocusReason)
        self.run_began.emit(self.title_label.text())

    def _show_running(self, is_running: bool) -> None:
        """Let what runs stand in the place of what is asked before it, or the other way round."""
        raise NotImplementedError

    def _while_running(self, do: Callable[[Runs], None]) -> None:
        if self._running is not None:
            do(self._running)

    def _tell_step(self, step: Step) -> None:
        self.running.show_step(step)
        said = " ".join(filter(None, (self.running.said, text.sentence(step.waiting or ""))))
        self.run_stepped.emit(said, self.running.part)

    def _end_run(self) -> None:
        self._running = None
        self.running.end()
        self._show_running(False)
        self.choice.show()
        if self.isHidden():
            self.show()

    def _on_run_left(self) -> None:
        """It was cancelled before its end."""
        raise NotImplementedError

    def _show_result(self, title: str, *, is_clean: bool, doubt: str, size: tuple[int, int], done: QPushButton) -> None:
        """Turn to what became of it, which says the rest."""
        self._mark.show_icon("check-ring" if is_clean else "warning", "accent" if is_clean else "caution")
        self._say_title(title)
        self.choice.hide()
        self._pages.setCurrentIndex(1)
        self._take_size(size)
        done.setDefault(True)
        done.setFocus(Qt.FocusReason.OtherFocusReason)
        self._announce(". ".join(filter(None, (title, doubt))))

    # Ends

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        raise NotImplementedError

    def _on_count_stopped(self) -> None:
        """A person cancelled it."""
        raise NotImplementedError

    def _on_jobs_ended(self, lane: str, error: BaseException | None) -> None:
        if lane == "count" and isinstance(error, Stopped):
            self._on_count_stopped()
        elif lane == "run" and isinstance(error, asyncio.CancelledError) and self.is_running:
            self._end_run()
            self._on_run_left()

    def reject(self) -> None:
        if not self.is_running:  # Esc by accident must not hide what is being done
            super().reject()

    def closeEvent(self, event: QCloseEvent) -> None:
        if self.is_running:
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
        if isinstance(focus, QPushButton) and focus is not self.never_by_enter and focus.isEnabled():
            focus.click()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_columns()

    def _fit_columns(self) -> None:
        self.plan_column.setFixedWidth(min(theme().scaled(self._side_px), round(self.width() * _SIDE_SHARE)))

    def _announce(self, said: str) -> None:
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, said))

    def _tell_left(self) -> None:
        """Tell that what ran was left midway."""
        raise NotImplementedError

    def leave(self) -> None:
        """Go: what it is about is no longer open."""
        self.jobs.cancel()
        if self._running is not None:
            self._running = None
            self._tell_left()
        self.done(QDialog.DialogCode.Rejected)  # which is told of one that is hidden as well

    async def aclose(self) -> None:
        """End what it asks for; what runs is left, with a receipt that is true so far."""
        await self.jobs.aclose()


def counted_when(at: datetime, zone: tzinfo) -> str:
    """`Counted 14:59:31`."""
    # Translators: when they were counted, past tense
    return tr("Counted {time}", time=f"{at.astimezone(zone):%H:%M:%S}")


def _column(parent: QWidget) -> QVBoxLayout:
    column = QVBoxLayout(parent)
    column.setContentsMargins(0, 0, 0, 0)
    column.setSpacing(0)
    return column
