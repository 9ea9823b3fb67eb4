"""Dialogs that a coroutine can await."""

from __future__ import annotations

import asyncio
from collections.abc import Callable

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QMessageBox, QWidget

from explorer.i18n import tr


async def ask(dialog: QDialog) -> bool:
    """Whether `dialog` was accepted; opens it, waits for its answer and disposes of it.

    `exec()` must not be used from a coroutine: its nested loop loses the wake-ups of every other task.
    """
    answer: asyncio.Future[int] = asyncio.get_running_loop().create_future()

    def settle(code: int) -> None:
        if not answer.done():
            answer.set_result(code)

    dialog.finished.connect(settle)
    dialog.open()
    try:
        return await answer == QDialog.DialogCode.Accepted
    finally:
        dialog.deleteLater()


async def confirm(
    parent: QWidget,
    title: str,
    sentence: str,
    yes: str,
    no: str | None = None,
    opened: Callable[[QMessageBox], object] | None = None,
) -> bool:
    """Whether the person pressed `yes`; `no`, else "Cancel", is the default.

    Both texts are drawn as they are, never as markup. `opened` is given the box, to change or reject it meanwhile.
    """
    box = QMessageBox(parent)
    box.setIcon(QMessageBox.Icon.Question)
    box.setTextFormat(Qt.TextFormat.PlainText)
    box.setWindowTitle("TinyMemory Explorer")
    box.setText(title)
    box.setInformativeText(sentence)
    accepted = box.addButton(yes, QMessageBox.ButtonRole.AcceptRole)
    refuse = box.addButton(no or tr("Cancel"), QMessageBox.ButtonRole.RejectRole)
    box.setDefaultButton(refuse)
    box.setEscapeButton(refuse)
    if opened is not None:
        opened(box)
    await ask(box)  # its code depends on the buttons' roles; which one was pressed does not
    return box.clickedButton() is accepted
