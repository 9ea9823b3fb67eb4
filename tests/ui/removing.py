"""A window with a memory in it, and what a person does in the dialog that forgets and erases."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

from PySide6.QtCore import QUrl
from PySide6.QtWidgets import QApplication, QDialog, QFileDialog, QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from explorer.contract import ListRequest, MemoryEngine, MetaFilter, StoreItem
from explorer.removal.journal import Journal
from explorer.removal.plan import Action, Target
from explorer.removal.preview import stored
from explorer.ui.dialogs.plan_parts.numbers import CountTable
from explorer.ui.dialogs.remove import RemoveDialog
from explorer.ui.main_window import MainWindow
from explorer.ui.removals import Removals
from tests.conftest import Until

NARROW = "\u202f"


@dataclass
class Opened:
    window: MainWindow
    removals: Removals
    engine: MemoryEngine
    until: Until
    opened_urls: list[QUrl]

    @property
    def dialog(self) -> RemoveDialog:
        assert self.removals.dialog is not None
        return self.removals.dialog

    @property
    def title(self) -> str:
        return self.dialog.title_label.text().replace(NARROW, " ")

    async def planned(self, target: Target, action: Action = Action.FORGET) -> RemoveDialog:
        """The dialog on a target, counted to its end."""
        self.window.removal_wanted.emit(target, action)
        return await self.counted()

    async def counted(self) -> RemoveDialog:
        await self.until(lambda: self.removals.dialog is not None and self.dialog.removal is not None)
        return self.dialog

    def answer(self) -> None:
        """Say all that has to be said."""
        confirm = self.dialog.confirm
        for check in (confirm.whole_tree_check, confirm.large_check, confirm.moved_check):
            if not check.isHidden():
                check.setChecked(True)
        removal = self.dialog.removal
        assert removal is not None
        needed = removal.confirmation
        assert needed is not None
        confirm.confirm_edit.setText(needed.name or "")

    async def done(self) -> RemoveDialog:
        """Say all that has to be said, press, and see the receipt."""
        self.answer()
        dialog = self.dialog
        assert dialog.confirm.remove_button.isEnabled(), dialog.confirm.remove_button.toolTip()
        dialog.confirm.remove_button.click()
        await self.until(lambda: dialog.outcome is not None)
        await self.until(lambda: self.window.is_idle)
        return dialog

    async def close(self) -> None:
        self.dialog.close()
        await self.until(lambda: self.removals.dialog is None and not self.removals.jobs.is_busy)

    async def texts(self) -> set[str]:
        """What a fresh listing says is there, sandboxes aside."""
        page = await self.engine.list(ListRequest(filter=MetaFilter(), limit=200))
        return {hit.text for hit in page.items}

    async def stored(self) -> int:
        return (await stored(self.engine))[0]


@asynccontextmanager
async def opened(
    qtbot: QtBot,
    tmp_path: Path,
    until: Until,
    engine: MemoryEngine,
    items: list[StoreItem],
    *,
    is_read_only: bool = False,
) -> AsyncIterator[Opened]:
    for start in range(0, len(items), 100):
        await engine.store_many(list(items[start : start + 100]))
    journal = Journal(tmp_path / "receipts")
    window = MainWindow(journal=journal)
    qtbot.addWidget(window)
    removals = Removals(window, journal)
    urls: list[QUrl] = []
    removals.open_url = urls.append
    window.resize(1440, 900)
    window.show()
    window.show_engine(engine, "helpdesk.db", is_read_only=is_read_only)
    try:
        await until(lambda: window.is_idle)
        yield Opened(window, removals, engine, until, urls)
    finally:
        await removals.aclose()
        await window.aclose()
        await engine.aclose()
        window.close_for_good()


def said(dialog: QDialog) -> list[str]:
    """Every label's text."""
    return [label.text().replace(NARROW, " ") for label in dialog.findChildren(QLabel) if label.isVisible()]


def told(table: CountTable) -> list[str]:
    """What is heard of each row."""
    return [table.counts.spoken(row) for row in range(table.counts.size())]


async def choose_file(until: Until, path: Path) -> None:
    """Give a file dialog that is about to open this path."""

    def box() -> QFileDialog | None:
        return next(
            (one for one in QApplication.topLevelWidgets() if isinstance(one, QFileDialog) and one.isVisible()), None
        )

    await until(lambda: box() is not None)
    dialog = box()
    assert dialog is not None
    edit = dialog.findChild(QLineEdit, "fileNameEdit")
    assert isinstance(edit, QLineEdit)
    edit.setText(str(path))
    dialog.accept()
