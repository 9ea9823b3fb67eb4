"""Choosing a file of the person's own."""

from __future__ import annotations

import asyncio
import os
from pathlib import Path

from PySide6.QtWidgets import QFileDialog, QWidget

from explorer import text
from explorer.i18n import mark, tr
from explorer.transfer import refuse_memory
from explorer.ui.ask import ask, confirm

JSON_LINES = "JSON Lines (*.jsonl *.ndjson)"
PDF = "PDF (*.pdf)"
_MEMORIES = mark("Memory files")


async def choose_memory(parent: QWidget, title: str, at: str = "", *, may_be_new: bool = False) -> Path | None:
    """A memory's file, looked for from `at` on; None where none was chosen."""
    mode = QFileDialog.FileMode.AnyFile if may_be_new else QFileDialog.FileMode.ExistingFile
    dialog = _dialog(parent, title, tr(_MEMORIES) + " (*.db *.sqlite *.sqlite3)", at)
    dialog.setFileMode(mode)
    return await _chosen(dialog)


async def choose_source(parent: QWidget, title: str, kinds: str, folder: str = "") -> Path | None:
    """A file to read, of `kinds` as Qt writes them; None where none was chosen."""
    dialog = _dialog(parent, title, kinds, folder)
    dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
    return await _chosen(dialog)


async def choose_target(
    parent: QWidget, title: str, name: str, kinds: str, memory_path: str | None, folder: str = ""
) -> Path | None:
    """A file to write, whose name ends as `name` does; it may take the place of one that is there.

    Raises FileError for the file of the memory that is open, at `memory_path` where it is a file.
    """
    dialog = _dialog(parent, title, kinds, folder)
    dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
    dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # its question would stop the loop
    dialog.setDefaultSuffix(Path(name).suffix.removeprefix("."))
    dialog.selectFile(name)
    path = await _chosen(dialog)
    if path is None:
        return None
    await asyncio.to_thread(refuse_memory, path, memory_path)
    if await asyncio.to_thread(os.path.lexists, path) and not await confirm(
        parent,
        tr("{file} is there already", file=text.inline(path.name)),
        tr("What is written takes its place."),
        tr("Replace it"),
    ):
        return None
    return path


def not_there(path: str | None) -> str:
    """Why a memory's file is not opened, a sentence part: an empty one in its place would look all forgotten."""
    return tr("{file} is not there any more; it was moved, renamed or removed", file=path)


def _dialog(parent: QWidget, title: str, kinds: str, at: str) -> QFileDialog:
    dialog = QFileDialog(parent, title, at or str(Path.home()))
    dialog.setNameFilters([kinds, tr("All files") + " (*)"])
    return dialog


async def _chosen(dialog: QFileDialog) -> Path | None:
    if not await ask(dialog) or not dialog.selectedFiles():
        return None
    return Path(dialog.selectedFiles()[0])
