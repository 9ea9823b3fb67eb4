"""How far a removal is, while it runs."""

from __future__ import annotations

import time
from collections.abc import Callable

from PySide6.QtCore import QTimer, Signal
from PySide6.QtWidgets import QFrame, QHBoxLayout, QProgressBar, QPushButton, QVBoxLayout, QWidget

from explorer import text
from explorer.i18n import tr
from explorer.removal.outcome import Phase, Step
from explorer.removal.plan import Action
from explorer.ui.first_click import take_first_click_only
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins

_TICK_MS = 1_000


class RunningPart(QWidget):
    """The bar, what is done and of how many, and the way to pause or stop."""

    pause_wanted = Signal()
    resume_wanted = Signal()
    stop_wanted = Signal()
    hide_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = Action.FORGET
        self._step = Step(Phase.COUNTING)
        self._began_s = 0.0
        self._is_paused = self._is_stopping = False
        self.pause: Callable[[], str] = str
        """Until when a server asked to wait, in words."""
        self.bar = QProgressBar()
        self.bar.setObjectName("runningBar")
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("How far it is"))
        self.said_label = plain_label("medium")
        self.said_label.setObjectName("runningLabel")
        self.waiting_label = plain_label("body", "caution")
        self.waiting_label.setObjectName("waitingLabel")
        self.waiting_label.setWordWrap(True)
        self.pause_button = QPushButton(tr("Pause"))
        self.pause_button.setObjectName("pauseButton")
        self.stop_button = QPushButton(tr("Stop"))
        self.stop_button.setObjectName("stopButton")
        self.hide_button = QPushButton(tr("Go on in the background"))
        self.hide_button.setObjectName("hideButton")
        self.hide_button.setToolTip(tr("It stays among the jobs; the receipt opens when it is done"))
        above = QVBoxLayout()
        above.setContentsMargins(margins(24, 16, 24, 16))
        above.setSpacing(8)
        for part in (self.said_label, self.bar, self.waiting_label):
            above.addWidget(part)
        above.addStretch(1)
        foot = QFrame()
        foot.setProperty("surface", "dialogFoot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(24, 12, 24, 12)
        row.addWidget(self.hide_button)
        row.addStretch(1)
        for button in (self.pause_button, self.stop_button):
            row.addWidget(button)
        for button in (self.pause_button, self.stop_button, self.hide_button):
            button.setAutoDefault(False)
        take_first_click_only(self.pause_button, self.stop_button, self.hide_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        top = QFrame()
        top.setProperty("surface", "foot")
        top.setLayout(above)
        column.addWidget(top, 1)
        column.addWidget(foot)
        self._tick = QTimer(self)
        self._tick.setInterval(_TICK_MS)
        self._tick.timeout.connect(self._show)
        self.pause_button.clicked.connect(self._on_pause_button_clicked)
        self.stop_button.clicked.connect(self._on_stop_button_clicked)
        self.hide_button.clicked.connect(self.hide_wanted)

    def begin(self, action: Action) -> None:
        self._action, self._step = action, Step(Phase.COUNTING)
        self._is_paused = self._is_stopping = False
        self._began_s = time.monotonic()
        self._tick.start()
        self._show()

    def end(self) -> None:
        self._tick.stop()

    def show_step(self, step: Step) -> None:
        if step.phase is not self._step.phase:
            self._began_s = time.monotonic()
        self._step = step
        self._show()

    def show_stopping(self) -> None:
        """Stopped, from here or from the list of jobs: what was begun comes to its end."""
        self._is_stopping, self._is_paused = True, False
        self._show()

    @property
    def said(self) -> str:
        """How far it is, in a few words."""
        return self.said_label.text()

    @property
    def part(self) -> float | None:
        """The share that is done; None where it is not known."""
        return self._step.done / self._step.total if self._step.total and not self._is_one_call else None

    @property
    def _is_one_call(self) -> bool:
        """Whether the engine does it all in one call, which can neither be paused nor stopped."""
        return self._action is Action.ERASE and self._step.phase is Phase.REMOVING

    def _show(self) -> None:
        step = self._step
        elapsed = text.duration(round(time.monotonic() - self._began_s))
        match step.phase:
            case Phase.COUNTING:
                said = tr("Counting once more")
                if step.done:
                    said = text.listed((said, text.counted(step.done, "item")))
            case Phase.REMOVING if self._is_one_call:
                said = text.listed((tr("Erasing"), elapsed))
            case Phase.REMOVING:
                said = text.out_of(step.done, step.total)
            case Phase.CHECKING:
                said = text.named(tr("Asking again for what went"), text.out_of(step.done, step.total))
            case _:
                said = ""
        self.said_label.setText(said)
        self.said_label.setAccessibleName(said)
        is_known = self.part is not None
        self.bar.setRange(0, 1_000 if is_known else 0)
        if is_known:
            self.bar.setValue(round(1_000 * (self.part or 0)))
        pause = self.pause()
        waiting = " ".join(filter(None, (text.sentence(step.waiting or ""), text.full_stop(pause) if pause else "")))
        if self._is_stopping:
            waiting = tr("Stopping: what was asked of the engine comes to its end first.")
        elif self._is_paused:
            waiting = tr("Paused. Nothing more goes until you resume.")
        self.waiting_label.setText(waiting)
        self.waiting_label.setVisible(bool(waiting))
        is_removing = step.phase in (Phase.COUNTING, Phase.REMOVING)
        can_stop = is_removing and not self._is_one_call and not self._is_stopping
        why = tr("An erase that was asked for cannot be paused or stopped") if self._is_one_call else ""
        self.pause_button.setText(tr("Resume") if self._is_paused else tr("Pause"))
        for button in (self.pause_button, self.stop_button):
            button.setEnabled(can_stop)
            button.setToolTip(why)

    def _on_pause_button_clicked(self) -> None:
        self._is_paused = not self._is_paused
        (self.pause_wanted if self._is_paused else self.resume_wanted).emit()
        self._show()

    def _on_stop_button_clicked(self) -> None:
        self.show_stopping()
        self.stop_wanted.emit()
