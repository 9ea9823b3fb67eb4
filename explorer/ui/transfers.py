"""Files of items in and out of the open memory, in the background."""

from __future__ import annotations

import asyncio
import contextlib
import itertools
import os
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices
from PySide6.QtWidgets import QFileDialog

from explorer import text
from explorer.contract import Hit, ItemId, MemoryEngine, MetaFilter, Reach, TinyMemoryError
from explorer.i18n import tr, tr_n
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
from explorer.ui import news
from explorer.ui.ask import ask, confirm
from explorer.ui.item_questions import Count
from explorer.ui.job_list import Job, Progress, Read, State, items_done
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow

BAD_LINES_SHOWN = 200
_NAME_CHARS = 40
_JSON_LINES = "JSON Lines (*.jsonl *.ndjson)"


class Transfers:
    """Asks for the file, runs the import or export as a job, and says in the window how it went."""

    def __init__(self, window: MainWindow) -> None:
        self.window = window
        self.memory_path: str | None = None
        """The file that is open, which no export may replace."""
        self.open_url: Callable[[QUrl], object] = QDesktopServices.openUrl
        self._folder = str(Path.home())
        self._lanes = itertools.count(1)
        self._unbegun: set[str] = set()  # lanes that are being prepared, or wait for their file
        self.jobs = Jobs(window)
        window.import_wanted.connect(self._on_window_import_wanted)
        window.export_wanted.connect(self._on_window_export_wanted)
        window.export_selected_wanted.connect(self._on_window_export_selected_wanted)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.ended.connect(lambda lane, _: self._unbegun.discard(lane))

    def leave(self, memory_path: str | None) -> None:
        """Another engine is open, on the file of this path: what waits for its file was for the one before."""
        self.memory_path = memory_path
        if self._unbegun:
            for lane in self._unbegun:
                self.jobs.cancel(lane)
            self.window.error_banner.show_note(
                tr(
                    "A memory was opened meanwhile: the import or export for which a file was being chosen "
                    "was cancelled."
                )
            )

    async def aclose(self) -> None:
        await self.jobs.aclose()

    def _start(self, work: Callable[[str], Coroutine[Any, Any, None]]) -> None:
        """Run `work` in a lane of its own, whose name it is given."""
        lane = f"transfer {next(self._lanes)}"
        self._unbegun.add(lane)
        self.jobs.start(lane, work(lane), lambda _: None)

    def _on_window_import_wanted(self) -> None:
        engine = self.window.engine
        if engine is not None:
            self._start(lambda lane: self._import(lane, engine, None))

    def _on_window_export_wanted(self) -> None:
        engine = self.window.engine
        if engine is not None:
            self._start_export(engine, self.window.trail.current.filter)

    def _on_window_export_selected_wanted(self) -> None:
        engine, filter = self.window.engine, self.window.items.selected_filter
        if engine is None:
            return
        if filter is not None:
            self._start_export(engine, filter)
        else:
            items = self.window.items  # what is selected now, though it may be read later
            batches, reach, count = items.selected_batches(), items.selected_reach, items.selected_count
            self._start(lambda lane: self._export_selected(lane, engine, batches, reach, count))

    def _start_export(self, engine: MemoryEngine, filter: MetaFilter) -> None:
        # As far as the list knows by now. Counting them would be to read the memory once more, only for the bar.
        total = self.window.items.known_total(filter)
        self._start(lambda lane: self._export(lane, engine, filter, total))

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.window.show_exception(error)

    async def _choose(self, title: str, *, to_save: str = "") -> Path | None:
        dialog = QFileDialog(self.window, title, self._folder)
        dialog.setNameFilters([_JSON_LINES, tr("All files") + " (*)"])
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

    async def _import(self, lane: str, engine: MemoryEngine, path: Path | None) -> None:
        path = path or await self._choose(tr("Import items from a JSON Lines file"))
        if path is None:
            return
        jobs = self.window.job_list
        name = text.isolate(text.shown(path.name, _NAME_CHARS))
        job = jobs.begin(tr("Import {file}", file=name), lambda: self.jobs.cancel(lane))
        self._unbegun.discard(lane)
        retry = partial(self._start, lambda lane: self._import(lane, engine, path))
        bad: list[BadLine] = []
        done = ImportProgress()
        failure: TinyMemoryError | None = None
        try:
            async with contextlib.aclosing(import_jsonl(engine, path)) as steps:
                async for done in steps:
                    bad += done.bad[: BAD_LINES_SHOWN - len(bad)]
                    part = done.bytes_done / done.bytes_total if done.bytes_total else None
                    read = text.share(done.bytes_done, done.bytes_total) if done.bytes_total else text.number(done.read)
                    jobs.step(job, read, part)
        except TinyMemoryError as error:
            failure = error
        except BaseException as error:  # cancelled, or a fault of ours
            self._end_badly(job, error, _imported(done), self._if_open(engine, retry))
            raise
        finally:
            if done.stored and self.window.engine is engine:
                self.window.refresh()
        said = text.named(text.inline(path.name), _imported(done))
        lines = [tr("line {n}: {reason}", n=line.number, reason=text.shown(line.reason, 600)) for line in bad]
        if done.refused > len(bad):
            lines.append(text.and_more(done.refused - len(bad)))
        if failure is not None:
            said, lines = f"{news.sentence(failure)} {said}", [*lines, news.details(failure)]
        details = "\n".join(lines)
        if failure is not None:
            jobs.end(job, State.FAILED, said, details, self._if_open(engine, retry))
        else:
            jobs.end(job, State.DONE, said, details)
        if details:
            self.window.show_error(said, details)
        else:
            self.window.error_banner.show_note(said)

    def _end_badly(self, job: Job, error: BaseException, said: str, retry: Callable[[], None]) -> None:
        if isinstance(error, Exception):
            said = f"{news.sentence(error)} {said}"
            self.window.job_list.end(job, State.FAILED, said, news.details(error), retry)
        else:
            said = " ".join((tr("Cancelled."), said))
            self.window.job_list.end(job, State.CANCELLED, said, retry=retry)

    def _if_open(self, engine: MemoryEngine, retry: Callable[[], None]) -> Callable[[], None]:
        """`retry` while the memory that it is for is still the one that is open."""

        def again() -> None:
            if self.window.engine is engine:
                retry()
            else:
                self.window.show_error(tr("Another memory is open now. Open the one this was for, and begin it there."))

        return again

    @contextlib.contextmanager
    def _preparing(self, lane: str, progress: Callable[[], Progress] = lambda: ("", None)) -> Iterator[None]:
        cancel = partial(self.jobs.cancel, lane)
        preparing = Read(tr("Preparing the export"), cancel, progress, holds_window=True)
        try:
            with self.window.job_list.if_slow(preparing):
                yield
        except BaseException:
            self._unbegun.discard(lane)  # at once: who cancelled it need not be told
            raise

    async def _export(self, lane: str, engine: MemoryEngine, filter: MetaFilter, total: int | None) -> None:
        with self._preparing(lane):
            left_out = sum(count for _, count in await sandbox_roots(engine, filter))
        path = await self._choose_target(tr("Export what the filter admits to a JSON Lines file"))
        if path is not None:
            export = partial(export_jsonl, engine, path, filter, overwrite=True)
            await self._write(lane, engine, path, export, total, left_out)

    async def _export_selected(
        self,
        lane: str,
        engine: MemoryEngine,
        batches: AsyncGenerator[list[Hit], None],
        reach: Reach | None,
        selected: Count,
    ) -> None:
        ids: list[ItemId] = []

        def found() -> Progress:
            return items_done(len(ids), None if selected.is_least else selected.n)

        with self._preparing(lane, found):
            async with contextlib.aclosing(batches):
                async for hits in batches:
                    ids += [hit.id for hit in hits]
        path = await self._choose_target(
            tr_n(
                "Export {n} selected item to a JSON Lines file",
                "Export {n} selected items to a JSON Lines file",
                len(ids),
                n=text.number(len(ids)),
            )
        )
        if path is not None:
            export = partial(export_named, engine, path, ids, reach, overwrite=True)
            gone = 0 if selected.is_least else max(0, selected.n - len(ids))
            await self._write(lane, engine, path, export, len(ids), gone=gone)

    async def _choose_target(self, title: str) -> Path | None:
        """A file to write, which may take the place of one that is there."""
        path = await self._choose(title, to_save="memory.jsonl")
        if path is None:
            return None
        await asyncio.to_thread(refuse_memory, path, self.memory_path)
        if await asyncio.to_thread(os.path.lexists, path) and not await confirm(
            self.window,
            tr("{file} is there already", file=text.inline(path.name)),
            tr("The export takes its place."),
            tr("Replace it"),
        ):
            return None
        return path

    def _open_folder(self, folder: Path) -> None:
        self.open_url(QUrl.fromLocalFile(str(folder)))

    async def _write(
        self,
        lane: str,
        engine: MemoryEngine,
        path: Path,
        export: Callable[[], AsyncGenerator[ExportProgress, None]],
        total: int | None,
        left_out: int = 0,
        gone: int | None = None,
    ) -> None:
        """Run `export`, which is to bring `total` items, None where that is not known.

        `gone`: of items that were chosen one by one, how many were not found any more before.
        """
        jobs = self.window.job_list
        name = text.isolate(text.shown(path.name, _NAME_CHARS))
        job = jobs.begin(tr("Export to {file}", file=name), lambda: self.jobs.cancel(lane))
        self._unbegun.discard(lane)
        again = self._if_open(
            engine, partial(self._start, lambda lane: self._write(lane, engine, path, export, total, left_out, gone))
        )
        incomplete: list[str] = []
        done = ExportProgress()
        try:
            async with contextlib.aclosing(export()) as steps:
                async for done in steps:
                    incomplete += done.incomplete
                    jobs.step(job, *items_done(done.written, total))
        except BaseException as error:
            self._end_badly(job, error, tr("No file was written."), again)
            raise
        said = tr(
            "{items}, {size}, in {file}.",
            items=text.counted(done.written, "item"),
            size=text.size(done.bytes_written),
            file=text.shown(str(path), 600),
        )
        if left_out:
            said += " " + tr_n(
                "{n} item in sandboxes not among them: choose a sandbox to export it.",
                "{n} items in sandboxes not among them: choose a sandbox to export it.",
                left_out,
                n=text.number(left_out),
            )
        missed = len(incomplete) + (gone or 0)
        if missed and gone is not None:
            said += " " + tr_n(
                "{n} item no longer stored, or held only in part, and left out.",
                "{n} items no longer stored, or held only in part, and left out.",
                missed,
                n=text.number(missed),
            )
        elif missed:
            said += " " + tr_n(
                "{n} item held only in part and left out.",
                "{n} items held only in part and left out.",
                missed,
                n=text.number(missed),
            )
        if missed:
            self.window.show_error(said, "\n".join(incomplete))
        else:
            self.window.error_banner.show_note(said, tr("Open folder"), partial(self._open_folder, path.parent))
        jobs.end(job, State.DONE, said, "\n".join(incomplete))


def _imported(done: ImportProgress) -> str:
    said = [
        tr_n("{n} item stored", "{n} items stored", done.stored, n=text.number(done.stored)),
        tr("{n} held already", n=text.number(done.replayed)),
    ]
    if done.refused:
        said.append(tr_n("{n} line refused", "{n} lines refused", done.refused, n=text.number(done.refused)))
    return text.full_stop(text.listed(said))
