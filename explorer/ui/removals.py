"""Forgetting and erasing in the open memory: the dialog, its job, and the window after it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from shiboken6 import isValid

from explorer import text
from explorer.contract import Hit, ItemId, MemoryEngine, MetaFilter, Namespace, Reach
from explorer.i18n import tr, tr_n
from explorer.removal.journal import Journal
from explorer.removal.outcome import Outcome
from explorer.removal.plan import Action, Target
from explorer.removal.restoring import Restored, restore
from explorer.ui import news
from explorer.ui.agent_view import agent_name
from explorer.ui.clock import local_zone
from explorer.ui.dialogs.remove import RemoveDialog, Where
from explorer.ui.dialogs.remove_parts import words
from explorer.ui.job_list import Job, State
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow
from explorer.ui.selected import Seen, listed_ids, plan_selected, seen_of, selected_ids
from explorer.ui.transfers import BAD_LINES_SHOWN

_NAME_CHARS = 40


class Removals:
    """One removal at a time: what is wanted while one runs brings that one to the front."""

    def __init__(self, window: MainWindow, journal: Journal) -> None:
        self.window = window
        self.journal = journal
        self.memory_path: str | None = None
        """The file that is open, which no export may replace."""
        self.open_url: Callable[[QUrl], object] = QDesktopServices.openUrl
        self.dialog: RemoveDialog | None = None
        """What is planned, runs or ran, until it is closed."""
        self._job: Job | None = None
        self._lanes = itertools.count(1)
        self.jobs = Jobs(window)
        window.removal_wanted.connect(self._on_window_removal_wanted)
        window.forget_selected_wanted.connect(self._on_window_forget_selected_wanted)
        window.forget_as_agent_wanted.connect(self._on_window_forget_as_agent_wanted)
        self.jobs.failed.connect(lambda _, error: self.window.show_exception(error))

    def leave(self, memory_path: str | None) -> None:
        """Another engine is open, on the file of this path: what was planned was for the one before."""
        self.memory_path = memory_path
        self.jobs.cancel()
        if self.dialog is not None:
            self.dialog.leave()

    async def aclose(self) -> None:
        dialog = self.dialog
        if dialog is not None:
            dialog.leave()
        await self.jobs.aclose()
        if dialog is not None and isValid(dialog):
            await dialog.aclose()

    def plan(self, target: Target, action: Action, continues: Path | None = None) -> None:
        """Open the dialog on a target; it counts at once. `continues`: the receipt of what was interrupted."""
        engine = self.window.engine
        if engine is None or self._is_refused():
            return
        if (old := self.dialog) is not None:
            if old.is_running:
                _bring(old)
                return
            old.close()
        where = Where(
            engine,
            self.window.connection_name,
            self.journal,
            local_zone(),
            self.window.namespaces.names(),
            self.memory_path,
            self.window.health.reason if self.window.health is not None else None,
        )
        dialog = RemoveDialog(where, target, action, self.window)
        dialog.item_opened.connect(self._on_dialog_item_opened)
        dialog.list_wanted.connect(self._on_dialog_list_wanted)
        dialog.folder_wanted.connect(self.show_folder)
        dialog.restore_wanted.connect(self.restore)
        dialog.run_began.connect(partial(self._on_dialog_run_began, dialog))
        dialog.run_stepped.connect(self._on_dialog_run_stepped)
        dialog.run_ended.connect(partial(self._on_dialog_run_ended, engine))
        dialog.finished.connect(lambda _: self._on_dialog_finished(dialog))
        dialog.continues = continues
        self.dialog = dialog
        dialog.show()  # beside the window, in which samples are looked at

    def _is_refused(self) -> bool:
        """Whether nothing here can change, which is said: it may have been locked since that was asked for."""
        if self.window.is_read_only:
            self.window.show_error(text.full_stop(tr("Opened read-only")))
        return self.window.is_read_only

    def _on_window_removal_wanted(self, target: Target, action: Action) -> None:
        self.jobs.cancel("selected")  # what comes late must not stand in the place of what is looked at by then
        self.plan(target, action)

    def _on_window_forget_selected_wanted(self) -> None:
        if (agent := self.window.trail.current.agent) is None:
            plan_selected(self.window, self.jobs, lambda target: self.plan(target, Action.FORGET))
        elif (engine := self.window.engine) is not None:
            ids = selected_ids(self.window, self.jobs)
            self.jobs.start("selected", seen_of(engine, agent, ids), lambda seen: self._plan_seen(agent, seen))

    def _on_window_forget_as_agent_wanted(self, filter: MetaFilter) -> None:
        """All that a filter admits in the view of an agent, which its tool forgets wherever the agent reads it."""
        agent, engine = self.window.trail.current.agent, self.window.engine
        if agent is not None and engine is not None:
            ids = listed_ids(self.window, self.jobs, engine, filter)
            self.jobs.start("selected", seen_of(engine, agent, ids), lambda seen: self._plan_seen(agent, seen))

    def _plan_seen(self, agent: Namespace, seen: Seen) -> None:
        """Plan to forget what an agent reads of what was chosen, and say how much it does not."""
        skipped = ""
        if seen.skipped:
            skipped = tr_n(
                "{n} of those chosen is out of reach of {agent}, or gone: it is skipped.",
                "{n} of those chosen are out of reach of {agent}, or gone: they are skipped.",
                len(seen.skipped),
                n=text.number(len(seen.skipped)),
                agent=agent_name(agent),
            )
        if not seen.ids:
            self.window.error_banner.show_note(" ".join((skipped, tr("Nothing was forgotten."))).strip(), icon="info")
            return
        self.plan(Target.of_ids(seen.ids, Reach.of(agent)), Action.FORGET)
        if skipped and self.dialog is not None:
            self.dialog.banner.show_note(skipped, icon="info")

    # The dialog

    def _on_dialog_item_opened(self, hit: Hit) -> None:
        self.window.open_item(hit)
        self.window.activateWindow()

    def _on_dialog_list_wanted(self, filter: MetaFilter) -> None:
        self.window.go_to_filter(filter)
        self.window.activateWindow()

    def show_folder(self, path: Path) -> None:
        """Open the folder that a file lies in."""
        self.open_url(QUrl.fromLocalFile(str(path.parent)))

    def restore(self, path: Path, items: int | None = None, continues: Path | None = None) -> None:
        """Store an export back into the open memory.

        `items` is how many it should hold, where that is known; `continues` the receipt of a restore that was
        interrupted.
        """
        engine = self.window.engine
        if engine is not None and not self._is_refused():
            lane = f"restore {next(self._lanes)}"
            self.jobs.start(lane, self._restore(lane, engine, path, items, continues), lambda _: None)

    async def _restore(
        self, lane: str, engine: MemoryEngine, path: Path, items: int | None, continues: Path | None
    ) -> None:
        """Store an export back, as a job, and say what of it was there already."""
        name = text.isolate(text.shown(path.name, _NAME_CHARS))
        job = self.window.job_list.begin(tr("Restore from {file}", file=name), partial(self.jobs.cancel, lane))
        done = Restored()
        bad: list[str] = []
        try:
            restoring = restore(engine, path, self.journal, self.window.connection_name, items)
            async with contextlib.aclosing(restoring) as steps:
                async for done in steps:
                    if continues is not None and done.receipt is not None:
                        await asyncio.to_thread(self.journal.settle, continues, done.receipt)
                        continues = None
                    bad += [
                        tr("line {n}: {reason}", n=one.number, reason=text.shown(one.reason, 600))
                        for one in done.bad[: BAD_LINES_SHOWN - len(bad)]
                    ]
                    part = done.bytes_done / done.bytes_total if done.bytes_total else None
                    self.window.job_list.step(job, text.counted(done.read, "item"), part)
        except BaseException as error:  # cancelled too
            is_failure = isinstance(error, Exception)
            said = news.sentence(error) if is_failure else tr("Cancelled.")
            state = State.FAILED if is_failure else State.CANCELLED
            self.window.job_list.end(job, state, " ".join((said, _restored(done))))
            raise
        finally:
            if done.new and self.window.engine is engine:
                self.window.refresh()
        if done.refused > len(bad):
            bad.append(text.and_more(done.refused - len(bad)))
        said = _restored(done)
        if done.stopped is not None:
            said = " ".join((text.sentence(done.stopped), said))
        self.window.job_list.end(job, State.DONE if done.is_clean else State.FAILED, said, "\n".join(bad))
        if done.is_clean:
            self.window.error_banner.show_note(said, icon="check-ring")
        else:
            self.window.show_error(said, "\n".join(bad))

    def _on_dialog_run_began(self, dialog: RemoveDialog, title: str) -> None:
        self._job = self.window.job_list.begin(title, dialog.stop_running)

    def _on_dialog_run_stepped(self, said: str, part: float | None) -> None:
        if self._job is not None:
            self.window.job_list.step(self._job, said, part)

    def _on_dialog_run_ended(
        self, engine: MemoryEngine, outcome: Outcome | None, planned: list[ItemId], why: str
    ) -> None:
        job, self._job = self._job, None
        dialog = self.dialog
        if outcome is None or dialog is None:
            if job is not None:
                middle = tr("It was left in the middle; the journal has what went.")
                became = middle if planned else tr("Nothing was removed.")
                state = State.FAILED if why else State.CANCELLED
                self.window.job_list.end(job, state, " ".join(filter(None, (why, became))))
            if planned and self.window.engine is engine:
                self.window.refresh()
            return
        said = words.outcome_title(outcome, dialog.action)
        doubt = words.doubt(outcome)
        if job is not None:
            state = State.DONE if outcome.is_clean else State.CANCELLED if job.is_stopped else State.FAILED
            self.window.job_list.end(job, state, " ".join(filter(None, (text.full_stop(said), doubt))))
        if dialog.continues is not None and outcome.receipt is not None:
            settle = asyncio.to_thread(self.journal.settle, dialog.continues, outcome.receipt)
            self.jobs.start("settle", settle, lambda _: None)
            dialog.continues = None
        if self.window.engine is not engine:
            return
        left = set(outcome.left)
        self.window.show_removed(set(planned) - left, left)
        said = " ".join(filter(None, (text.full_stop(said), doubt)))
        if outcome.is_clean:
            self.window.error_banner.show_note(said, icon="check-ring")
        else:
            self.window.show_error(said)

    def _on_dialog_finished(self, dialog: RemoveDialog) -> None:
        if self.dialog is dialog:
            self.dialog = None
            self.window.items.setFocus()
        self.jobs.start(f"end {id(dialog)}", self._end(dialog), lambda _: None)

    async def _end(self, dialog: RemoveDialog) -> None:
        await dialog.aclose()
        dialog.deleteLater()


def _restored(done: Restored) -> str:
    """What came back, and what had never gone."""
    said = [
        tr_n("{n} item restored", "{n} items restored", done.new, n=text.number(done.new)),
        tr("{n} held already", n=text.number(done.replayed)),
    ]
    if done.refused:
        said.append(tr_n("{n} line refused", "{n} lines refused", done.refused, n=text.number(done.refused)))
    return text.full_stop(text.listed(said))


def _bring(dialog: RemoveDialog) -> None:
    dialog.show()
    dialog.raise_()
    dialog.activateWindow()
