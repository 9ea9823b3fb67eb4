"""A receipt of the journal, to read and to print."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QBuffer, QByteArray, QIODevice, Qt, QThread, QUrl, Signal
from PySide6.QtGui import QPageSize, QPdfWriter, QTextDocument
from PySide6.QtWidgets import QDialog, QPushButton, QTextBrowser, QVBoxLayout, QWidget

from explorer import text
from explorer.i18n import tr
from explorer.transfer import FileError, write_file
from explorer.ui import news
from explorer.ui.banner import Banner
from explorer.ui.dialogs.foot import put_over_foot
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.files import PDF, choose_target
from explorer.ui.jobs import Jobs
from explorer.ui.theme import theme

_SIZE = (720, 640)


class _Page(QTextBrowser):
    def loadResource(self, type: int, name: QUrl | str) -> QByteArray:
        return QByteArray()  # a page that is made here names nothing to load


class ReceiptPage(QDialog):
    """The page that lies beside the receipt's file, drawn here; `memory_path` tells the file that is open."""

    folder_wanted = Signal(object)  # a Path of a file in it
    printed = Signal(object)  # the Path of the PDF file

    def __init__(self, receipt: Path, memory_path: Callable[[], str | None], parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("receiptPage")
        self.jobs = Jobs(self)
        self._html, self._receipt, self._memory_path = "", receipt, memory_path
        self.banner = Banner()
        self.banner.setObjectName("receiptPageBanner")
        self.view = _Page()
        self.view.setObjectName("receiptPageView")
        self.view.setOpenLinks(False)
        self.view.document().setDocumentMargin(24)
        self.view.document().setDefaultFont(theme().font("body"))
        self.print_button = QPushButton(tr("Print…"))
        self.print_button.setObjectName("printPageButton")
        self.file_button = QPushButton(tr("Show receipt file"))
        for button in (self.print_button, self.file_button, *self.banner.findChildren(QPushButton)):
            button.setAutoDefault(False)
        close = QPushButton(tr("Close"))
        body = QWidget()
        column = QVBoxLayout(body)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.banner)
        column.addWidget(self.view, 1)
        put_over_foot(self, body, close, self.print_button, self.file_button)
        resize_to_design(self, *_SIZE)
        self.view.setFocus(Qt.FocusReason.OtherFocusReason)
        close.clicked.connect(self.accept)
        self.file_button.clicked.connect(lambda: self.folder_wanted.emit(receipt))
        self.print_button.clicked.connect(lambda: self.jobs.start("print", self._print(), lambda _: None))
        self.jobs.failed.connect(lambda _, error: self.banner.show_error(news.sentence(error), news.details(error)))

    def show_page(self, title: str, html: str) -> None:
        self._html = html
        self.setWindowTitle(title)
        self.view.setAccessibleName(title)
        self.view.setHtml(html)

    async def _print(self) -> None:
        self.banner.clear()
        name = f"{self._receipt.stem}.pdf"
        path = await choose_target(self, tr("Print the receipt to a PDF file"), name, PDF, self._memory_path())
        if path is not None:
            await print_page(self._html, path)
            show_printed(self.banner, path, lambda path: self.folder_wanted.emit(path))
            self.printed.emit(path)


def show_printed(banner: Banner, path: Path, show_folder: Callable[[Path], None]) -> None:
    """Say where a printed page is."""
    said = tr("Printed to {file}.", file=text.isolate(text.shown(str(path), 1_000)))
    banner.show_done(said, tr("Open folder"), partial(show_folder, path))


class _Printing(QThread):
    """A page as the bytes of a PDF file. A document sets timers, so that it needs a thread of Qt's own."""

    def __init__(self, html: str, title: str) -> None:
        super().__init__()
        self._html, self._title = html, title
        self.data = b""

    def run(self) -> None:
        document = QTextDocument()
        document.setHtml(self._html)
        buffer = QBuffer()
        buffer.open(QIODevice.OpenModeFlag.WriteOnly)
        writer = QPdfWriter(buffer)
        writer.setPageSize(QPageSize(QPageSize.PageSizeId.A4))
        writer.setTitle(self._title)
        document.print_(writer)
        self.data = bytes(buffer.data().data())


async def print_page(html: str, path: Path) -> None:
    """Write a page as a PDF file, in A4, that takes the place of what is there once it is whole.

    Raises FileError, with what was there kept.
    """
    printing = _Printing(html, path.stem)
    printing.start()
    await asyncio.to_thread(printing.wait)  # a long page takes seconds; who waits keeps it alive until it ends
    if not printing.data:
        raise FileError(tr("cannot write {file}: {reason}", file=path, reason=tr("nothing was printed")))
    await asyncio.to_thread(write_file, path, printing.data, overwrite=True)
