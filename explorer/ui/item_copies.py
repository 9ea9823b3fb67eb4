"""The selected items taken elsewhere: copied in four forms, or pulled out as a file."""

from __future__ import annotations

import asyncio
import contextlib
import re
from collections.abc import AsyncGenerator, Callable
from functools import partial
from pathlib import Path

from PySide6.QtCore import QMimeData, QObject, Qt, QTemporaryDir, QTimer, QUrl, Signal
from PySide6.QtGui import QAction, QDrag, QGuiApplication, QKeySequence
from PySide6.QtWidgets import QWidget

from explorer.contract import Hit, InvalidRequest, MemoryEngine, Reach
from explorer.i18n import mark, tr, tr_n
from explorer.text import counted, number, word
from explorer.transfer import BETWEEN, CopyForm, FileError, copied
from explorer.ui.actions import panel_action
from explorer.ui.headline import headline
from explorer.ui.item_questions import end_if_cancelled
from explorer.ui.job_list import Progress, items_done
from explorer.ui.jobs import Jobs

MAX_COPIED_CHARS = 50_000_000
MAX_DRAGGED = 2_000
_NAME_CHARS = 40
_FORMS = {
    CopyForm.TEXT: (mark("Copy text"), "Ctrl+C"),
    CopyForm.MARKDOWN: (mark("Copy as Markdown"), "Ctrl+Shift+M"),
    CopyForm.JSON: (mark("Copy as JSON"), "Ctrl+Shift+J"),
    CopyForm.ID: (mark("Copy id"), "Ctrl+Shift+I"),
}
_COPIED = {
    CopyForm.TEXT: mark("Copied {items}"),
    CopyForm.MARKDOWN: mark("Copied {items} as Markdown"),
    CopyForm.JSON: mark("Copied {items} as JSON"),
    CopyForm.ID: mark("Copied {items} as id"),
}

Batches = AsyncGenerator[list[Hit], None]
"""The selected items in order, some at a time."""


class Copies(QObject):
    """Reads what is selected in the lanes `copy` and `drag` of its owner's jobs."""

    said = Signal(str, bool)  # how far copying is, then what was copied; whether it goes on

    def __init__(self, view: QWidget, jobs: Jobs) -> None:
        super().__init__(view)
        self._view = view
        self._jobs = jobs
        self._folder: QTemporaryDir | None = None
        self._progress: dict[str, Progress] = {}
        self.actions: dict[CopyForm, QAction] = {}
        for form, (words, shortcut) in _FORMS.items():
            action = panel_action(self, tr("Selected items"), tr(words))
            action.setObjectName(f"copy{form.value.capitalize()}Action")
            action.setShortcut(QKeySequence(shortcut))
            action.setShortcutContext(Qt.ShortcutContext.WidgetShortcut)
            self.actions[form] = action
            view.addAction(action)

    def copy(
        self, engine: MemoryEngine, reach: Reach | None, batches: Batches, total: int | None, form: CopyForm
    ) -> None:
        """Put the selected items on the clipboard; `total` is how many there are, None where that is not known."""
        work = self._read(engine, reach, batches, form, partial(self._tell, total))
        self._progress["copy"] = "", None
        self._jobs.start("copy", work, partial(self._on_copied, form, total))

    def cancel(self) -> None:
        """End copying; the clipboard keeps what it held."""
        self._jobs.stop("copy")
        self.said.emit("", False)

    def progress(self, lane: str) -> Progress:
        """How far the last copying, or the last file, is."""
        return self._progress.get(lane, ("", None))

    def drag(self, engine: MemoryEngine, reach: Reach | None, batches: Batches, total: int) -> None:
        """Write the selected items to a file, and pull that out while the button is still held down."""
        self._progress["drag"] = "", None
        self._jobs.start("drag", self._write(engine, reach, batches, total), self._on_written)

    async def _read(
        self, engine: MemoryEngine, reach: Reach | None, batches: Batches, form: CopyForm, tell: Callable[[int], None]
    ) -> tuple[list[str], int]:
        """The copies, and of how many items they were to be."""
        texts: list[str] = []
        size = asked = 0
        async with contextlib.aclosing(batches) as steps:
            async for hits in steps:
                end_if_cancelled()
                fresh = await copied(engine, hits, form, reach)
                end_if_cancelled()
                texts += fresh
                asked += len(hits)
                size += sum(map(len, fresh))
                if size > MAX_COPIED_CHARS:
                    raise InvalidRequest(tr("that is too much for the clipboard; export it to a file"))
                tell(len(texts))
                await asyncio.sleep(0)  # an engine that never waits would keep the window waiting
        return texts, asked

    def _tell(self, total: int | None, n: int) -> None:
        self._progress["copy"] = items_done(n, total)
        if total is None or n < total:
            self.said.emit(tr("Copying, {items} so far", items=counted(n, "item")), True)

    def _on_copied(self, form: CopyForm, total: int | None, read: tuple[list[str], int]) -> None:
        texts, asked = read
        if texts:
            # Not as QMimeData: such an object of Python's on the clipboard crashes at the end (PySide 6.11).
            QGuiApplication.clipboard().setText(BETWEEN[form].join(texts))
        n, wanted = len(texts), max(total or 0, asked)
        gone = wanted - n
        if gone:
            said = tr_n(
                "{n} of {total} copied; {gone} is no longer stored",
                "{n} of {total} copied; {gone} are no longer stored",
                gone,
                n=number(n),
                total=number(wanted),
                gone=number(gone),
            )
        else:
            said = tr(_COPIED[form], items=counted(n, "item"))
        self.said.emit(said, False)

    async def _write(self, engine: MemoryEngine, reach: Reach | None, batches: Batches, total: int) -> Path:
        texts: list[str] = []
        first: Hit | None = None
        async with contextlib.aclosing(batches) as steps:
            async for hits in steps:
                first = first or hits[0]
                end_if_cancelled()
                texts += await copied(engine, hits, CopyForm.JSON, reach)
                end_if_cancelled()
                self._progress["drag"] = items_done(len(texts), total)
        if first is None or not texts:
            raise FileError(tr("none of the items could be read"))
        if self._folder is None:
            self._folder = QTemporaryDir()  # goes with the list: a drop may be read after it was let go
        if not self._folder.isValid():
            raise FileError(tr("there is no place for it"))
        n = len(texts)
        name = file_name(first) if total == n == 1 else tr_n("{n} item", "{n} items", n, n=n) + ".jsonl"
        path = Path(self._folder.path()) / name
        data = "".join(f"{text}\n" for text in texts).encode("utf-8", "replace")
        await asyncio.to_thread(path.write_bytes, data)
        return path

    def _on_written(self, path: Path) -> None:
        if QGuiApplication.mouseButtons() & Qt.MouseButton.LeftButton:
            # From the loop itself: a drag runs a loop of its own, which inside a task would stop all others.
            QTimer.singleShot(0, self, partial(self.pull, path))

    def pull(self, path: Path) -> None:
        """Let a file be dropped elsewhere; returns once it was."""
        drag = QDrag(self._view)
        data = QMimeData()
        data.setUrls([QUrl.fromLocalFile(str(path))])
        drag.setMimeData(data)
        drag.exec(Qt.DropAction.CopyAction)


def file_name(hit: Hit) -> str:
    """A name for the file of one item, that every system takes."""
    name = re.sub(r"[^\w\-. ]+", "_", headline(hit).name, flags=re.UNICODE)[:_NAME_CHARS].strip(" ._")
    return f"{name or word(hit.kind)}.jsonl"
