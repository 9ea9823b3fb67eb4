"""What is planned in the open memory, one at a time: its dialog, its job, and the window after it."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial
from pathlib import Path
from typing import Generic, TypeVar

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from shiboken6 import isValid

from explorer import text
from explorer.contract import Hit, MemoryEngine, MetaFilter
from explorer.i18n import tr
from explorer.removal.journal import Journal
from explorer.ui.clock import local_zone
from explorer.ui.dialogs.plan_parts.dialog import Memory, PlanDialog
from explorer.ui.job_list import Job, State
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow

D = TypeVar("D", bound=PlanDialog)


class Planned(Generic[D]):
    """What is wanted while one runs brings that one to the front."""

    def __init__(self, window: MainWindow, journal: Journal) -> None:
        self.window = window
        self.journal = journal
        self.memory_path: str | None = None
        """The file that is open, which no export may replace."""
        self.open_url: Callable[[QUrl], object] = QDesktopServices.openUrl
        self.dialog: D | None = None
        """What is planned, runs or ran, until it is closed."""
        self._job: Job | None = None
        self.jobs = Jobs(window)
        self.jobs.failed.connect(lambda _, error: self.window.show_exception(error))

    def _leave(self, memory_path: str | None) -> None:
        """Another engine is open, on the file of this path: what was planned was for the one before."""
        self.memory_path = memory_path
        if self.dialog is not None:
            self.dialog.leave()

    async def aclose(self) -> None:
        dialog = self.dialog
        if dialog is not None:
            dialog.leave()
        await self.jobs.aclose()
        if dialog is not None and isValid(dialog):
            await dialog.aclose()

    def show_folder(self, path: Path) -> None:
        """Open the folder that a file lies in."""
        self.open_url(QUrl.fromLocalFile(str(path.parent)))

    def _memory(self, engine: MemoryEngine) -> Memory:
        window = self.window
        return Memory(
            engine,
            window.connection_name,
            self.journal,
            self.memory_path,
            window.namespaces.names(),
            local_zone(),
            window.health.reason if window.health is not None else None,
            window.is_read_only,
            window.trail.current.filter,
        )

    def _makes_way(self) -> bool:
        """Close the dialog there is, unless something runs in it, which is then brought to the front."""
        dialog = self.dialog
        if dialog is None:
            return True
        if dialog.is_running:
            dialog.show()
            dialog.raise_()
            dialog.activateWindow()
            return False
        dialog.close()
        return True

    def _show(self, dialog: D) -> None:
        dialog.item_opened.connect(self._on_dialog_item_opened)
        dialog.list_wanted.connect(self._on_dialog_list_wanted)
        dialog.folder_wanted.connect(self.show_folder)
        dialog.run_began.connect(partial(self._on_dialog_run_began, dialog))
        dialog.run_stepped.connect(self._on_dialog_run_stepped)
        dialog.finished.connect(partial(self._on_dialog_finished, dialog))
        self.dialog = dialog
        dialog.show()  # beside the window, in which samples are looked at

    def _on_dialog_item_opened(self, hit: Hit) -> None:
        self.window.open_item(hit)
        self.window.activateWindow()

    def _on_dialog_list_wanted(self, filter: MetaFilter) -> None:
        self.window.go_to_filter(filter)
        self.window.activateWindow()

    def _on_dialog_run_began(self, dialog: D, title: str) -> None:
        self._job = self.window.job_list.begin(title, dialog.stop_running, pause=dialog.pause_words)

    def _on_dialog_run_stepped(self, said: str, part: float | None) -> None:
        if self._job is not None:
            self.window.job_list.step(self._job, said, part)

    def _end_left(self, engine: MemoryEngine, *, is_midway: bool, nothing: str, why: str = "") -> None:
        """It was left; `nothing` says that nothing came of it, where that is so, and `why` why it failed."""
        job, self._job = self._job, None
        if job is not None:
            became = tr("It was left in the middle; the journal has what went.") if is_midway else nothing
            state = State.FAILED if why else State.CANCELLED
            self.window.job_list.end(job, state, " ".join(filter(None, (why, became))))
        if is_midway and self.window.engine is engine:
            self.window.show_left_midway()

    def _end_job(self, said: str, *, is_done: bool) -> None:
        job, self._job = self._job, None
        if job is not None:
            state = State.DONE if is_done else State.CANCELLED if job.is_stopped else State.FAILED
            self.window.job_list.end(job, state, said)

    def _say_outcome(self, said: str, *, is_clean: bool) -> None:
        if is_clean:
            self.window.error_banner.show_done(said)
        else:
            self.window.show_error(said)

    def _on_dialog_finished(self, dialog: D, _: int) -> None:
        if self.dialog is dialog:
            self.dialog = None
            self.window.items.setFocus()
        self.jobs.start(f"end {id(dialog)}", self._end(dialog), lambda _: None)

    async def _end(self, dialog: D) -> None:
        await dialog.aclose()
        dialog.deleteLater()


def sentences(title: str, doubt: str) -> str:
    """What became of it, and why not all is well, if so."""
    return " ".join(filter(None, (text.full_stop(title), doubt)))
