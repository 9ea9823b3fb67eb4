"""What can be done with a receipt of the journal: read and print it, go on with it, store back what was exported."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from explorer import text
from explorer.i18n import tr
from explorer.removal.journal import is_done_in
from explorer.removal.page import heading, page
from explorer.removal.plan import Action, Target
from explorer.removal.receipts import Receipt, ids_left
from explorer.ui import reads
from explorer.ui.clock import local_zone
from explorer.ui.dialogs.receipt_page import ReceiptPage, printed_words
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow
from explorer.ui.removals import Removals

_REMOVALS = {action.value: action for action in Action}


class Receipts:
    """Does what the journal's panel wants done with removals; with moves another does."""

    def __init__(self, window: MainWindow, removals: Removals) -> None:
        self.window = window
        self._removals = removals
        self.jobs = Jobs(window)
        window.job_list.watch(self.jobs, reads.of_receipts(self.jobs))
        journal = window.journal
        journal.open_wanted.connect(lambda path: self.jobs.start("open", self._read(path), self._show))
        journal.continue_wanted.connect(lambda path: self.jobs.start("continue", self._continue(path), lambda _: None))
        journal.restore_wanted.connect(lambda path: self.jobs.start("restore", self._restore(path), lambda _: None))
        self.jobs.failed.connect(lambda _, error: self.window.show_exception(error))

    async def aclose(self) -> None:
        await self.jobs.aclose()

    async def _read(self, path: Path) -> tuple[Receipt, str]:
        receipt = await asyncio.to_thread(Receipt.read, path)
        return receipt, await asyncio.to_thread(page, receipt, local_zone())

    def _show(self, read: tuple[Receipt, str]) -> None:
        receipt, html = read
        dialog = ReceiptPage(heading(receipt), html, receipt.path, self.window)
        dialog.folder_wanted.connect(self._removals.show_folder)
        dialog.jobs.failed.connect(lambda _, error: self.window.show_exception(error))
        dialog.printed.connect(lambda path: self.window.error_banner.show_note(printed_words(path), icon="check-ring"))
        dialog.finished.connect(partial(self._leave, dialog))
        dialog.show()

    def _leave(self, dialog: ReceiptPage, _: int) -> None:
        self.jobs.start(f"leave: {id(dialog)}", self._end(dialog), lambda _: None)

    async def _end(self, dialog: ReceiptPage) -> None:
        await dialog.jobs.aclose()
        dialog.deleteLater()

    async def _continue(self, path: Path) -> None:
        """Plan anew what is left of an interrupted removal: it is counted and confirmed as any other. A restore begins
        again.
        """
        receipt = await asyncio.to_thread(Receipt.read, path)
        if receipt.restored_from is not None and self._is_of_this(receipt):
            await asyncio.to_thread(self._removals.journal.settle, path)
            # From the start: what is stored by now is not stored twice.
            self._removals.restore(receipt.restored_from, receipt.items_to_restore)
            return
        action = _REMOVALS.get(receipt.action)
        if action is None or not self._is_of_this(receipt):
            return
        target = receipt.target
        if action is Action.FORGET or target is None or not target.is_nodes_and_kinds:
            ids = await asyncio.to_thread(ids_left, path)
            if not ids:
                await asyncio.to_thread(self._removals.journal.settle, path)
                self.window.error_banner.show_note(tr("Nothing of it is left to be done."), icon="check-ring")
                return
            action, target = Action.FORGET, Target.of_ids(ids)
        self._removals.plan(target, action, continues=path)

    async def _restore(self, path: Path) -> None:
        receipt = await asyncio.to_thread(Receipt.read, path)
        if receipt.way_back is not None and receipt.action in _REMOVALS and self._is_of_this(receipt):
            self._removals.restore(receipt.way_back.path, receipt.way_back.items)

    def _is_of_this(self, receipt: Receipt) -> bool:
        """Whether it was done in the memory that is open, which is said where it was not."""
        engine = self.window.engine
        if engine is not None and is_done_in(receipt, engine, self.window.connection_name):
            return True
        said = tr("That was done in another memory. Open it first")
        self.window.show_error(text.named(said, text.inline(receipt.connection)))
        return False
