"""A receipt of the journal, to read and to print."""

from __future__ import annotations

import asyncio
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, QUrl, Signal
from PySide6.QtGui import QPageSize, QPdfWriter, QTextDocument
from PySide6.QtWidgets import QDialog, QFileDialog, QPushButton, QTextBrowser, QWidget

from explorer import text
from explorer.engines.os_errors import why
from explorer.i18n import tr
from explorer.transfer import FileError, refuse_memory
from explorer.ui.ask import ask, confirm
from explorer.ui.dialogs.foot import put_over_foot
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.jobs import Jobs
from explorer.ui.theme import theme

_SIZE = (720, 640)


class _Page(QTextBrowser):
    def loadResource(self, type: int, name: QUrl | str) -> QByteArray:
        return QByteArray()  # a page that is made here names nothing to load


class ReceiptPage(QDialog):
    """The page that lies beside the receipt's file, drawn here."""

    folder_wanted = Signal(object)  # the Path of the receipt
    printed = Signal(object)  # the Path of the PDF file

    def __init__(self, title: str, html: str, receipt: Path, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("receiptPage")
        self.setWindowTitle(title)
        self.jobs = Jobs(self)
        self._html, self._receipt = html, receipt
        self.view = _Page()
        self.view.setObjectName("receiptPageView")
        self.view.setOpenLinks(False)
        self.view.setAccessibleName(title)
        self.view.document().setDocumentMargin(24)
        self.view.document().setDefaultFont(theme().font("body"))
        self.view.setHtml(html)
        self.print_button = QPushButton(tr("Print…"))
        self.print_button.setObjectName("printPageButton")
        self.file_button = QPushButton(tr("Show receipt file"))
        for button in (self.print_button, self.file_button):
            button.setAutoDefault(False)
        close = QPushButton(tr("Close"))
        put_over_foot(self, self.view, close, self.print_button, self.file_button)
        resize_to_design(self, *_SIZE)
        close.clicked.connect(self.accept)
        self.file_button.clicked.connect(lambda: self.folder_wanted.emit(receipt))
        self.print_button.clicked.connect(lambda: self.jobs.start("print", self._print(), lambda _: None))

    async def _print(self) -> None:
        path = await choose_target(
            self, tr("Print the receipt to a PDF file"), f"{self._receipt.stem}.pdf", "PDF (*.pdf)"
        )
        if path is not None:
            await print_page(self._html, path)
            self.printed.emit(path)


async def print_page(html: str, path: Path) -> None:
    """A page as a PDF file, in A4. Raises FileError where it cannot be written, which Qt's own writer does not tell."""
    document = QTextDocument()
    document.setHtml(html)
    printed = QBuffer()
    printed.open(QIODevice.OpenModeFlag.WriteOnly)
    writer = QPdfWriter(printed)
    writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
    writer.setTitle(path.stem)
    document.print_(writer)
    del writer  # it writes the end of the file
    try:
        await asyncio.to_thread(path.write_bytes, bytes(printed.data().data()))
    except OSError as error:
        raise FileError(f"cannot write {path}: {why(error)}") from error


def printed_words(path: Path) -> str:
    """Where the file is now, a sentence."""
    return tr("Printed to {file}.", file=text.isolate(text.shown(str(path), 1_000)))


async def choose_target(
    parent: QWidget, title: str, name: str, kinds: str, memory_path: str | None = None
) -> Path | None:
    """A file to write, whose name ends as `name` does; it may take the place of one that is there.

    Raises FileError for the file of the memory that is open.
    """
    dialog = QFileDialog(parent, title, str(Path.home()))
    dialog.setNameFilters([kinds, tr("All files") + " (*)"])
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # its question would stop the loop
    dialog.setDefaultSuffix(Path(name).suffix.removeprefix("."))
    dialog.selectFile(name)
    if not await ask(dialog) or not dialog.selectedFiles():
        return None
    path = Path(dialog.selectedFiles()[0])
    await asyncio.to_thread(refuse_memory, path, memory_path)
    if await asyncio.to_thread(path.exists) and not await confirm(
        parent,
        tr("{file} is there already", file=text.inline(path.name)),
        tr("What is written takes its place."),
        tr("Replace it"),
    ):
        return None
    return path
