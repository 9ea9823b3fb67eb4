"""The windows of the program, each with what is open in it; the program ends with the last of them."""

from __future__ import annotations

import asyncio
import json
from functools import partial
from pathlib import Path

from PySide6.QtCore import QObject, QPoint, QSettings
from PySide6.QtWidgets import QApplication
from shiboken6 import isValid

from explorer import text
from explorer.engines import ConnectionStore, KeyStore
from explorer.i18n import tr
from explorer.options import Options
from explorer.removal.journal import Journal
from explorer.ui import news
from explorer.ui.job_list import APPEARS_S, Job, JobList, State
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow
from explorer.ui.program import Program

_STEP = QPoint(32, 32)  # of a new window from the one it was opened from
_KEPT = "windows"
_KEPT_MOST = 20  # a file that is not ours may name any number


class Windows(QObject):
    """Opens windows and sees them off. A memory that two of them show is opened twice: each has an engine of its own,
    and is told by the file itself what the other one changes.
    """

    def __init__(self, settings: QSettings | None, store: ConnectionStore, keys: KeyStore, sample: Path) -> None:
        super().__init__()
        self._settings = settings
        self._store, self._keys, self._sample = store, keys, sample
        self.programs: list[Program] = []
        self._left: list[Program] = []  # they have not ended, though the windows of some are gone
        self._opened = 0
        self.ended = asyncio.Event()
        self.jobs = Jobs(self)
        self._ends = Jobs(self)

    def open(self) -> Program:
        """A new window, not shown yet, with nothing open in it."""
        journal = Journal(self._sample.parent / "receipts")  # where the journal's default is as well
        window = MainWindow(self._settings, journal)
        program = Program(window, self._store, self._keys, self._sample)
        self.programs.append(program)
        self._left.append(program)
        self._opened += 1
        window.quit_wanted.connect(self._on_window_quit_wanted)
        window.new_window_wanted.connect(lambda: self.open_beside(program))
        window.connection_renamed.connect(partial(self._on_window_connection_renamed, program))
        self.jobs.start(f"see off {self._opened}", self._see_off(program, self._opened), lambda _: None)
        return program

    def open_beside(self, other: Program) -> Program:
        """Another window on what `other` shows."""
        program = self.open()
        program.window.restore_layout()
        if not other.window.isMaximized():
            program.window.resize(other.window.size())
            program.window.move(other.window.pos() + _STEP)
        program.window.show()
        program.jobs.start("open", program.open_like(other), lambda _: None)
        return program

    def start(self, first: Program, options: Options) -> None:
        """Show the window of `first`, and beside it the others that were open together with one at the end.

        What the command line names is opened alone.
        """
        wanted = (options.open_path, options.connection, options.is_sample or None, options.filter)
        kept = self._kept() if all(one is None for one in wanted) else []
        self._start(first, options, kept[0] if kept else None, is_first=True)
        for entry in kept[1:]:
            self._start(self.open(), options, entry, is_first=False)

    @staticmethod
    def _start(program: Program, options: Options, kept: dict[str, object] | None, *, is_first: bool) -> None:
        program.window.restore_layout(kept)
        if options.size is not None:
            program.window.resize(*options.size)
        program.window.show()
        key = str(kept["key"]) if kept is not None else ""
        program.jobs.start("open", program.start(options, key, is_first=is_first), lambda _: None)

    def _kept(self) -> list[dict[str, object]]:
        """The windows that were open together at the end, by what was open in them and their layout."""
        if self._settings is None:
            return []
        try:
            entries = json.loads(str(self._settings.value(_KEPT, "[]")))
        except (ValueError, RecursionError):
            return []
        entries = entries if isinstance(entries, list) else []
        known = [one for one in entries if isinstance(one, dict) and isinstance(one.get("key"), str)]
        return known[:_KEPT_MOST]

    def _keep(self) -> None:
        """Remember the windows that are open, if they are several: of one alone its own layout is enough."""
        open_now = [program for program in self.programs if program in self._left]
        if self._settings is not None and open_now:
            entries = [{"key": one.key, **one.window.layout_now()} for one in open_now if one.key]
            self._settings.setValue(_KEPT, json.dumps(entries if len(entries) > 1 else []))

    @property
    def active(self) -> Program | None:
        """The one whose window the person works in, else the newest."""
        window = QApplication.activeWindow()
        return next(
            (program for program in self.programs if program.window is window),
            self.programs[-1] if self.programs else None,
        )

    @property
    def waited_for(self) -> list[str]:
        """The names of what is open and has not ended."""
        return [program.name for program in self._left]

    async def aclose(self) -> None:
        """End all of them, none after another; those that began to end before are waited for as well."""
        await self.jobs.aclose()
        self._keep()
        for program in self.programs:
            program.window.leave()
        for place, program in enumerate(self.programs):
            if program in self._left:
                self._ends.start(f"last {place}", self._end(program), lambda _: None)
        await self._ends.settle()

    async def _see_off(self, program: Program, number: int) -> None:
        await program.closing.wait()
        if self.programs == [program]:
            self.ended.set()  # what it shows is ended with the program
            return
        self.programs.remove(program)
        program.window.leave()
        self._ends.start(f"one {number}", self._end_unseen(program), lambda _: None)

    async def _end_unseen(self, program: Program) -> None:
        """End one whose window is gone. Where that takes long, all windows that are left say what is waited for."""
        told: list[tuple[JobList, Job]] = []

        def tell() -> None:
            for other in self.programs:
                jobs = other.window.job_list
                told.append((jobs, jobs.begin(title, holds_window=False)))

        # Translators: the title of a job: the window is gone, the file or the connection shown in it is being closed.
        title = tr("Close {name}", name=text.isolate(text.shown(program.name, 60)))
        late = asyncio.get_running_loop().call_later(APPEARS_S, tell)
        how = State.DONE, tr("Done.")
        try:
            await self._end(program)
        except Exception as error:
            how = State.FAILED, news.sentence(error)
            raise
        finally:
            late.cancel()
            for jobs, job in told:
                if isValid(jobs):
                    jobs.end(job, *how)
        program.window.deleteLater()

    async def _end(self, program: Program) -> None:
        await program.aclose()
        program.window.close_for_good()
        self._left.remove(program)

    def _on_window_connection_renamed(self, program: Program, old: str, new: str) -> None:
        for other in self.programs:
            if other is not program:  # it follows by itself
                other.follow_rename(old, new)

    def _on_window_quit_wanted(self) -> None:
        if not self.jobs.is_running("quit"):  # else it is asked, or waited for, already
            self.jobs.start("quit", self._may_quit(), self._on_may_quit)

    async def _may_quit(self) -> bool:
        """All are asked before one is closed; again those in which something was begun while others were asked."""
        asked = list(self.programs)
        while asked:
            for program in asked:
                if program not in self.programs:  # closed meanwhile
                    continue
                if program.window.job_list.holding:
                    program.window.raise_()
                    program.window.activateWindow()
                if not await program.may_close():
                    return False
            asked = [program for program in self.programs if program.window.job_list.is_holding]
        return True

    def _on_may_quit(self, may_quit: bool) -> None:
        if may_quit:
            self.ended.set()
