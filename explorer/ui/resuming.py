"""What the journal asks for: going on with what was interrupted, and restoring what was kept."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from explorer import text
from explorer.contract import MemoryEngine
from explorer.i18n import tr, tr_n
from explorer.removal.journal import target_left
from explorer.removal.outcome import Outcome
from explorer.removal.plan import Action
from explorer.removal.receipts import Receipt
from explorer.ui.ask import confirm
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow
from explorer.ui.removals import Removals

_PATH_CHARS = 600


class Resuming:
    """Nothing begins unasked: a removal is planned and confirmed anew, a restore is asked about by name."""

    def __init__(self, window: MainWindow, removals: Removals) -> None:
        self.window = window
        self.removals = removals
        self.jobs = Jobs(window)
        window.journal.continue_wanted.connect(self.go_on)
        window.journal.restore_wanted.connect(self.restore)
        self.jobs.failed.connect(lambda _, error: self.window.show_exception(error))

    async def aclose(self) -> None:
        await self.jobs.aclose()

    def go_on(self, path: Path) -> None:
        """Plan what is left of the interrupted removal at `path`; its receipt ends once the new one has."""
        if (engine := self.window.engine) is not None:
            self.jobs.start("go on", self._go_on(engine, path), lambda _: None)

    def restore(self, path: Path) -> None:
        """Store the items again that the removal at `path` exported first."""
        if (engine := self.window.engine) is not None:
            self.jobs.start("restore", self._restore(engine, path), lambda _: None)

    async def _go_on(self, engine: MemoryEngine, path: Path) -> None:
        receipt = await asyncio.to_thread(Receipt.read, path)
        name = self.window.connection_name
        if receipt.action not in list(Action):
            self.window.show_error(
                tr("This goes on when it is run again: what is at its new place already is not stored twice.")
            )
        elif (receipt.connection, receipt.engine_id) != (name, engine.descriptor().id):
            where = text.inline(receipt.connection)
            self.window.show_error(tr("It was interrupted in {name}: open that memory, then go on.", name=where))
        else:
            target = await asyncio.to_thread(target_left, path)
            if self.window.engine is not engine:
                return
            if target is None:
                await self._settle(path, None)
                self.window.error_banner.show_note(tr("Nothing of it is left. Its receipt says so now."), icon="info")
                return
            before = self.removals.dialog
            self.removals.plan(target, Action(receipt.action))
            dialog = self.removals.dialog
            if dialog is not None and dialog is not before:  # else another one runs, and is in front now
                dialog.run_ended.connect(partial(self._on_run_ended, path))

    def _on_run_ended(self, path: Path, outcome: Outcome | None, planned: object) -> None:
        if outcome is not None and outcome.receipt is not None:
            self.jobs.start(f"settle {path}", self._settle(path, outcome.receipt), lambda _: None)

    async def _settle(self, path: Path, continued_by: Path | None) -> None:
        await asyncio.to_thread(self.removals.journal.settle, path, continued_by)
        self.window.journal.refresh()

    async def _restore(self, engine: MemoryEngine, path: Path) -> None:
        receipt = await asyncio.to_thread(Receipt.read, path)
        kept, name = receipt.way_back, self.window.connection_name
        if kept is None:
            return
        title = tr_n(
            "Restore {n} item into {name}?",
            "Restore {n} items into {name}?",
            kept.items,
            n=text.number(kept.items),
            name=text.inline(name),
        )
        said = tr("They come from {file}.", file=text.shown(str(kept.path), _PATH_CHARS))
        if receipt.connection != name:
            said += " " + tr("They were removed from {name}.", name=text.inline(receipt.connection))
        if await confirm(self.window, title, said, tr("Restore")) and self.window.engine is engine:
            self.removals.restore(engine, kept.path)
