"""What can be done with a receipt of the journal: read and print it, go on with it, store back what was exported."""

from __future__ import annotations

import asyncio
from functools import partial
from pathlib import Path

from explorer import text
from explorer.i18n import tr
from explorer.removal.journal import is_done_in, target_left
from explorer.removal.page import heading, page
from explorer.removal.plan import Action
from explorer.removal.receipts import Receipt
from explorer.removal.words import memory_of
from explorer.ui import reads
from explorer.ui.clock import local_zone
from explorer.ui.dialogs.receipt_page import ReceiptPage
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow
from explorer.ui.removals import Removals

_REMOVALS = {action.value: action for action in Action}


class Receipts:
    """Does what the journal's panel wants done with removals; with moves another does."""

    def __init__(self, window: MainWindow, removals: Removals) -> None:
        self.window = window
        self._removals = removals
        self._pages: dict[Path, ReceiptPage] = {}
        self.jobs = Jobs(window)
        window.job_list.watch(self.jobs, reads.of_receipts(self.jobs))
        journal = window.journal
        journal.open_wanted.connect(lambda path: self.jobs.start("open", self._read(path), self._show))
        journal.continue_wanted.connect(lambda path: self.jobs.start("continue", self._continue(path), lambda _: None))
        journal.restore_wanted.connect(lambda path: self.jobs.start("restore", self._restore(path), lambda _: None))
        self.jobs.failed.connect(lambda _, error: self.window.show_exception(error))

    async def aclose(self) -> None:
        await self.jobs.aclose()
        for dialog in self._pages.values():
            await dialog.jobs.aclose()

    async def _read(self, path: Path) -> tuple[Receipt, str]:
        receipt = await asyncio.to_thread(Receipt.read, path)
        return receipt, await asyncio.to_thread(page, receipt, local_zone())

    def _show(self, read: tuple[Receipt, str]) -> None:
        receipt, html = read
        if (old := self._pages.get(receipt.path)) is not None:
            old.show_page(heading(receipt), html)
            old.show()
            old.raise_()
            old.activateWindow()
            return
        dialog = ReceiptPage(receipt.path, lambda: self._removals.memory_path, self.window)
        dialog.show_page(heading(receipt), html)
        self._pages[receipt.path] = dialog
        dialog.folder_wanted.connect(self._removals.show_folder)
        dialog.finished.connect(partial(self._leave, dialog, receipt.path))
        dialog.show()

    def _leave(self, dialog: ReceiptPage, path: Path, _: int) -> None:
        self._pages.pop(path, None)
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
            # From the start: what is stored by now is not stored twice.
            self._removals.restore(receipt.restored_from, receipt.items_to_restore, continues=path)
            return
        action = _REMOVALS.get(receipt.action)
        if action is None or not self._is_of_this(receipt):
            return
        target = await asyncio.to_thread(target_left, path)
        if not self._is_of_this(receipt):  # another may have been opened meanwhile
            return
        if target is None:
            await asyncio.to_thread(self._removals.journal.settle, path)
            self.window.error_banner.show_done(tr("Nothing of it is left to be done."))
            return
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
        self.window.show_error(text.named(said, memory_of(receipt)))
        return False
