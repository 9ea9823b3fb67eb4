"""The list of jobs: what runs, how far it is, and how the last ones went."""

from __future__ import annotations

from datetime import UTC, datetime, tzinfo

from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QProgressBar,
    QPushButton,
    QScrollArea,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.i18n import mark, tr
from explorer.text import listed, named
from explorer.ui.busy import BusyLine
from explorer.ui.dialogs.foot import put_over_foot
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.icons import IconLabel
from explorer.ui.job_list import Job, JobList, State
from explorer.ui.labels import plain_label
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.marks import marked

_ICONS = {
    State.RUNNING: ("clock", "text2"),
    State.DONE: ("check-ring", "accent"),
    State.FAILED: ("warning", "caution"),
    State.CANCELLED: ("minus-ring", "text3"),
}
_STATE_WORDS = {
    State.RUNNING: mark("running"),
    State.DONE: mark("done"),
    State.FAILED: mark("failed"),
    State.CANCELLED: mark("cancelled"),
}
_DETAILS_LINES = 8
_DETAILS_MOST = 20_000  # characters


class JobsView(QDialog):
    """Beside the window, which goes on meanwhile."""

    def __init__(self, jobs: JobList, zone: tzinfo, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("jobsDialog")
        self.setWindowTitle(tr("Jobs"))
        self._jobs = jobs
        self._zone = zone
        self._rows: dict[Job, JobRow] = {}
        self.empty_label = QLabel(tr("Nothing runs, and nothing took long since the window was opened."))
        self.empty_label.setProperty("tone", "text3")
        self.empty_label.setWordWrap(True)
        self.empty_label.setContentsMargins(24, 24, 24, 24)
        inside = QWidget()
        self._column = QVBoxLayout(inside)
        self._column.setContentsMargins(0, 0, 0, 0)
        self._column.setSpacing(0)
        self._column.addWidget(self.empty_label)
        self._column.addStretch(1)
        self.view = QScrollArea()
        self.view.setObjectName("jobsView")
        self.view.setAccessibleName(tr("Jobs"))
        self.view.setWidgetResizable(True)
        self.view.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.view.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.view.setWidget(inside)
        self.clear_button = QPushButton(tr("Clear finished"))
        self.clear_button.setObjectName("clearJobsButton")
        self.close_button = QPushButton(tr("Close"))
        put_over_foot(self, self.view, self.close_button, self.clear_button)
        resize_to_design(self, 600, 400)
        self.clear_button.clicked.connect(jobs.clear_finished)
        self.close_button.clicked.connect(self.close)
        jobs.changed.connect(self._on_jobs_changed)
        self.close_button.setFocus()

    def row(self, job: Job) -> JobRow:
        """The row of a job; KeyError where it was cleared."""
        return self._rows[job]

    def setVisible(self, visible: bool) -> None:
        if visible:
            self._show_jobs()
        else:
            for row in self._rows.values():
                row.busy_line.set_busy(False)  # nothing tells a row that nobody sees when its job ends
        super().setVisible(visible)

    def _on_jobs_changed(self) -> None:
        if self.isVisible():  # each read that takes long is a job: most are never looked at
            self._show_jobs()

    def _show_jobs(self) -> None:
        jobs = self._jobs.jobs
        for gone in self._rows.keys() - set(jobs):
            row = self._rows.pop(gone)
            self._column.removeWidget(row)
            row.hide()
            row.deleteLater()  # not at once: its own button may have asked for it
        for at, job in enumerate(jobs):
            if job not in self._rows:
                self._rows[job] = JobRow(job, self._zone)
                self._column.insertWidget(at + 1, self._rows[job])
            self._rows[job].show_job()
        self.empty_label.setVisible(not jobs)
        self.clear_button.setEnabled(len(jobs) > len(self._jobs.running))


class JobRow(QFrame):
    """One job: its title and time, how far it is or how it went, and what can be done about it."""

    def __init__(self, job: Job, zone: tzinfo) -> None:
        super().__init__()
        self.setProperty("surface", "head")
        self._job = job
        self._zone = zone
        self._state: State | None = None
        self.icon = IconLabel()
        self.title_label = plain_label("medium")
        self.title_label.setText(job.title)
        self.time_label = plain_label("small", "text3")
        self.words_label = plain_label("small", "text2")
        self.words_label.setWordWrap(True)
        self.words_label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.pause_label = plain_label("small", "caution")
        self.pause_label.setObjectName("jobPauseLabel")
        self.pause_label.setWordWrap(True)
        self.bar = QProgressBar()
        self.bar.setObjectName("jobBar")
        self.bar.setRange(0, 1000)
        self.bar.setTextVisible(False)
        self.bar.setAccessibleName(tr("Progress of {title}", title=job.title))
        self.busy_line = BusyLine()  # where nobody knows how much there is to do
        self.cancel_button = self._button(tr("Cancel"), "cancelJobButton")
        self.retry_button = self._button(tr("Retry"), "retryJobButton")
        self.details_button = self._button(tr("Details"), "jobDetailsButton")
        self.details_button.setCheckable(True)
        self.details = QPlainTextEdit()
        self.details.setReadOnly(True)
        self.details.setProperty("kind", "field")
        self.details.setProperty("textRole", "mono")
        self.details.setAccessibleName(tr("Details of {title}", title=job.title))
        self.details.setFixedHeight(round(theme().metrics("mono").lineSpacing() * _DETAILS_LINES) + 12)
        self.details.hide()
        head = QHBoxLayout()
        head.addWidget(self.title_label, 1)
        head.addWidget(self.time_label)
        body = QHBoxLayout()
        body.setSpacing(4)
        body.addWidget(self.words_label, 1)
        for button in (self.details_button, self.retry_button, self.cancel_button):
            body.addWidget(button, 0, Qt.AlignmentFlag.AlignTop)
        column = QVBoxLayout()
        column.setSpacing(4)
        column.addLayout(head)
        column.addLayout(body)
        column.addWidget(self.pause_label)
        column.addWidget(self.bar)
        column.addWidget(self.busy_line)
        column.addWidget(self.details)
        row = QHBoxLayout(self)
        row.setContentsMargins(24, 10, 24, 10)
        row.setSpacing(12)
        row.addWidget(self.icon, 0, Qt.AlignmentFlag.AlignTop)
        row.addLayout(column, 1)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)
        self.cancel_button.clicked.connect(job.stop)
        self.retry_button.clicked.connect(self._on_retry_button_clicked)
        self.details_button.toggled.connect(self.details.setVisible)

    def show_job(self) -> None:
        """Say it as it is now."""
        job = self._job
        running = job.state is State.RUNNING
        if job.state is not self._state:
            self._state = job.state
            self.icon.show_icon(*_ICONS[job.state])
            self.icon.setAccessibleName(tr(_STATE_WORDS[job.state]))
            self.details.setPlainText(marked(job.details[:_DETAILS_MOST]))
        elapsed = text.duration(job.elapsed_s)
        began = text.when(job.began_at, datetime.now(UTC), self._zone)
        self.time_label.setText(elapsed if running else tr("{began}, took {duration}", began=began, duration=elapsed))
        self.time_label.setToolTip(text.utc(job.began_at))
        self.words_label.setText(job.words or (tr("Working") if running else ""))
        pause = job.pause
        self.pause_label.setText(pause)
        self.pause_label.setVisible(bool(pause))
        self.bar.setVisible(running and job.part is not None)
        self.bar.setValue(round(1000 * (job.part or 0)))
        is_unknown = running and job.part is None
        self.busy_line.setVisible(is_unknown)
        self.busy_line.set_busy(is_unknown)
        self.cancel_button.setVisible(running and job.cancel is not None)
        self.retry_button.setVisible(job.retry is not None)
        self.details_button.setVisible(bool(job.details))
        self.setAccessibleName(listed((job.title, tr(_STATE_WORDS[job.state]))))

    def _button(self, words: str, name: str) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setProperty("kind", "link")
        button.setProperty("textRole", "smallMedium")
        button.setAutoDefault(False)
        button.setAccessibleName(named(words, self._job.title))
        return button

    def _on_retry_button_clicked(self) -> None:
        retry, self._job.retry = self._job.retry, None  # once: a second press must not begin a second one
        self.show_job()
        if retry is not None:
            retry()
