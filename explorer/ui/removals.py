"""Forgetting and erasing in the open memory: the dialog, its job, and the window after it."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
from functools import partial
from pathlib import Path

from explorer import text
from explorer.contract import ItemId, MemoryEngine, MetaFilter, Namespace, Reach
from explorer.i18n import tr, tr_n
from explorer.removal.journal import Journal
from explorer.removal.outcome import Outcome
from explorer.removal.plan import Action, Target
from explorer.removal.restoring import Restored, restore
from explorer.removal.words import doubt, outcome_title
from explorer.ui.agent_view import agent_name
from explorer.ui.dialogs.remove import RemoveDialog
from explorer.ui.import_job import NAME_CHARS, ImportJob
from explorer.ui.main_window import MainWindow
from explorer.ui.planned import Planned, sentences
from explorer.ui.selected import Seen, listed_ids, plan_selected, seen_of, selected_ids


class Removals(Planned[RemoveDialog]):
    """Forgetting and erasing, and storing back what was exported before."""

    def __init__(self, window: MainWindow, journal: Journal) -> None:
        super().__init__(window, journal)
        self._lanes = itertools.count(1)
        window.removal_wanted.connect(self._on_window_removal_wanted)
        window.forget_selected_wanted.connect(self._on_window_forget_selected_wanted)
        window.forget_as_agent_wanted.connect(self._on_window_forget_as_agent_wanted)

    def leave(self, memory_path: str | None) -> None:
        """Another engine is open, on the file of this path: what was planned was for the one before."""
        self.jobs.cancel()
        self._leave(memory_path)

    def plan(self, target: Target, action: Action, continues: Path | None = None) -> None:
        """Open the dialog on a target; it counts at once. `continues`: the receipt of what was interrupted."""
        engine = self.window.engine
        if engine is None or self._is_refused() or not self._makes_way():
            return
        dialog = RemoveDialog(self._memory(engine), target, action, self.window)
        dialog.restore_wanted.connect(self.restore)
        dialog.run_ended.connect(partial(self._on_dialog_run_ended, dialog, engine))
        dialog.continues = continues
        self._show(dialog)

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
        if not await self.window.paths_stay.may_store(engine, self.window.connection_name, self.window):
            return
        name = text.isolate(text.shown(path.name, NAME_CHARS))
        title, cancel = tr("Restore from {file}", file=name), partial(self.jobs.cancel, lane)
        job = ImportJob(self.window, engine, title, cancel, _restored)
        done = Restored()
        with job.running():
            restoring = restore(engine, path, self.journal, self.window.connection_name, items)
            async with contextlib.aclosing(restoring) as steps:
                async for done in steps:
                    if continues is not None and done.receipt is not None:
                        await asyncio.to_thread(self.journal.settle, continues, done.receipt)
                        continues = None
                    job.step(done.progress)
        job.end(text.sentence(done.stopped or ""), has_failed=not done.is_clean)

    def _on_dialog_run_ended(
        self, dialog: RemoveDialog, engine: MemoryEngine, outcome: Outcome | None, planned: list[ItemId], why: str
    ) -> None:
        if outcome is None:
            self._end_left(engine, is_midway=bool(planned), nothing=tr("Nothing was removed."), why=why)
            return
        said = sentences(outcome_title(outcome, dialog.action), doubt(outcome))
        self._end_job(said, is_done=outcome.is_gone)
        if dialog.continues is not None and outcome.receipt is not None:
            settle = asyncio.to_thread(self.journal.settle, dialog.continues, outcome.receipt)
            self.jobs.start("settle", settle, lambda _: None)
            dialog.continues = None
        if self.window.engine is engine:
            left = set(outcome.left)
            self.window.show_removed(set(planned) - left, left)
            self._say_outcome(said, is_clean=outcome.is_clean)


def _restored(n: int) -> str:
    return tr_n("{n} item restored", "{n} items restored", n, n=text.number(n))
