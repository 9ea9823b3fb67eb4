"""Files of items in and out of the open memory, one at a time, in the background."""

from __future__ import annotations

import asyncio
import contextlib
import os
from collections.abc import AsyncGenerator
from pathlib import Path

from PySide6.QtWidgets import QFileDialog

from explorer.contract import MemoryEngine, MetaFilter, TinyMemoryError
from explorer.transfer import (
    BadLine,
    ExportProgress,
    ImportProgress,
    export_jsonl,
    export_named,
    import_jsonl,
    refuse_memory,
    sandbox_roots,
)
from explorer.ui import news, text
from explorer.ui.ask import ask, confirm
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow

_LANE = "transfer"
_BAD_LINES_SHOWN = 200
_NAME_CHARS = 40


class Transfers:
    """Asks for the file, runs the import or export, and says in the window how it went."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.memory_path: str | None = None
        """The file that is open, which no export may replace."""
        self._folder = str(Path.home())
        self.jobs = Jobs(window)
        window.import_wanted.connect(self._on_window_import_wanted)
        window.export_wanted.connect(self._on_window_export_wanted)
        window.export_selected_wanted.connect(self._on_window_export_selected_wanted)
        window.job_cancel_wanted.connect(self._on_window_job_cancel_wanted)
        self.jobs.failed.connect(self._on_jobs_failed)

    async def may_end(self, yes: str) -> bool:
        """Whether nothing runs any more; asks before it ends what does, `yes` being the button that does so."""
        if not self.jobs.is_running(_LANE):
            return True
        if not await confirm(
            self.window,
            "A file is being read or written",
            "What is stored by now stays; the rest is left out. An export that is not finished leaves no file.",
            yes,
        ):
            return False
        await self.jobs.end(_LANE)
        return True

    async def aclose(self) -> None:
        await self.jobs.aclose()

    def _on_window_import_wanted(self) -> None:
        engine = self.window.engine
        if engine is not None and not self.jobs.is_running(_LANE):
            self.jobs.start(_LANE, self._import(engine), lambda _: None)

    def _on_window_export_wanted(self) -> None:
        engine = self.window.engine
        if engine is not None and not self.jobs.is_running(_LANE):
            self.jobs.start(_LANE, self._export(engine, self.window.trail.current.filter), lambda _: None)

    def _on_window_export_selected_wanted(self) -> None:
        engine, items = self.window.engine, self.window.items
        if engine is None or self.jobs.is_running(_LANE):
            return
        if items.selected_filter is not None:
            self.jobs.start(_LANE, self._export(engine, items.selected_filter), lambda _: None)
        else:
            self.jobs.start(_LANE, self._export_selected(engine), lambda _: None)

    def _on_window_job_cancel_wanted(self) -> None:
        self.jobs.cancel(_LANE)

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.window.show_exception(error)

    async def _choose(self, title: str, filters: list[str], *, to_save: str = "") -> Path | None:
        dialog = QFileDialog(self.window, title, self._folder)
        dialog.setNameFilters([*filters, "All files (*)"])
        if to_save:
            dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)
            dialog.setOption(QFileDialog.Option.DontConfirmOverwrite)  # its question would stop the loop
            dialog.setDefaultSuffix(Path(to_save).suffix.removeprefix("."))
            dialog.selectFile(to_save)
        else:
            dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        if not await ask(dialog) or not dialog.selectedFiles():
            return None
        path = Path(dialog.selectedFiles()[0])
        self._folder = str(path.parent)
        return path

    async def _import(self, engine: MemoryEngine) -> None:
        path = await self._choose("Import items from a JSON Lines file", ["JSON Lines (*.jsonl *.ndjson)"])
        if path is None:
            return
        bad: list[BadLine] = []
        done = ImportProgress()
        failure: TinyMemoryError | None = None
        try:
            async with contextlib.aclosing(import_jsonl(engine, path)) as steps:
                async for done in steps:
                    bad += done.bad[: _BAD_LINES_SHOWN - len(bad)]
                    part = text.share(done.bytes_done, done.bytes_total) if done.bytes_total else text.number(done.read)
                    self.window.show_job(f"Importing {text.shown(path.name, _NAME_CHARS)}  {part}")
        except TinyMemoryError as error:
            failure = error
        finally:
            self.window.show_job("")
            if done.stored and self.window.engine is engine:
                self.window.refresh()
        self._say_imported(path, done, bad, failure)

    def _say_imported(
        self, path: Path, done: ImportProgress, bad: list[BadLine], failure: TinyMemoryError | None
    ) -> None:
        said = f"{text.counted(done.stored, 'item')} stored, {text.number(done.replayed)} held already"
        if done.refused:
            said += f", {text.counted(done.refused, 'line')} refused"
        said = f"{text.shown(path.name)}: {said}."
        lines = [f"line {line.number}: {text.shown(line.reason, 600)}" for line in bad]
        if done.refused > len(bad):
            lines.append(f"and {text.number(done.refused - len(bad))} more")
        if failure is not None:
            self.window.show_error(f"{news.sentence(failure)} {said}", "\n".join([*lines, news.details(failure)]))
        elif lines:
            self.window.show_error(said, "\n".join(lines))
        else:
            self.window.error_banner.show_note(said)

    async def _export(self, engine: MemoryEngine, filter: MetaFilter) -> None:
        left_out = sum(count for _, count in await sandbox_roots(engine, filter))
        path = await self._choose_target("Export what the filter admits to a JSON Lines file")
        if path is not None:
            await self._write(path, export_jsonl(engine, path, filter, overwrite=True), left_out)

    async def _export_selected(self, engine: MemoryEngine) -> None:
        reach = self.window.trail.current.filter.reach
        async with contextlib.aclosing(self.window.items.selected_batches()) as batches:
            ids = [hit.id async for hits in batches for hit in hits]  # before the question: what is selected now
        path = await self._choose_target(f"Export {text.counted(len(ids), 'selected item')} to a JSON Lines file")
        if path is not None:
            await self._write(path, export_named(engine, path, ids, reach, overwrite=True))

    async def _choose_target(self, title: str) -> Path | None:
        """A file to write, which may take the place of one that is there."""
        path = await self._choose(title, ["JSON Lines (*.jsonl *.ndjson)"], to_save="memory.jsonl")
        if path is None:
            return None
        await asyncio.to_thread(refuse_memory, path, self.memory_path)
        if await asyncio.to_thread(os.path.lexists, path) and not await confirm(
            self.window, f"{text.shown(path.name)} is there already", "The export takes its place.", "Replace it"
        ):
            return None
        return path

    async def _write(self, path: Path, export: AsyncGenerator[ExportProgress, None], left_out: int = 0) -> None:
        incomplete: list[str] = []
        done = ExportProgress()
        try:
            async with contextlib.aclosing(export) as steps:
                async for done in steps:
                    incomplete += done.incomplete
                    written = text.counted(done.written, "item")
                    self.window.show_job(f"Exporting to {text.shown(path.name, _NAME_CHARS)}  {written}")
        finally:
            self.window.show_job("")
        said = (
            f"{text.counted(done.written, 'item')}, {text.size(done.bytes_written)}, in {text.shown(str(path), 600)}."
        )
        if left_out:
            said += f" {text.counted(left_out, 'item')} in sandboxes not among them: choose a sandbox to export it."
        if incomplete:
            said += f" {text.counted(len(incomplete), 'item')} held only in part and left out."
            self.window.show_error(said, "\n".join(incomplete))
        else:
            self.window.error_banner.show_note(said)
