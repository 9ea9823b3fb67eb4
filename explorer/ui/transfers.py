"""Files of items in and out of the open memory, in the background."""

from __future__ import annotations

import contextlib
import itertools
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from functools import partial
from pathlib import Path
from typing import Any

from PySide6.QtCore import QUrl
from PySide6.QtGui import QDesktopServices

from explorer import text
from explorer.contract import Hit, ItemId, MemoryEngine, MetaFilter, Reach, TinyMemoryError
from explorer.i18n import tr, tr_n
from explorer.transfer import (
    ExportProgress,
    FileError,
    export_jsonl,
    export_named,
    import_jsonl,
    sandbox_roots,
)
from explorer.ui import news
from explorer.ui.files import JSON_LINES, choose_source, choose_target
from explorer.ui.import_job import NAME_CHARS, ImportJob, end_badly
from explorer.ui.item_questions import Count
from explorer.ui.job_list import Progress, Read, State, items_done
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow


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

    async def _import(self, lane: str, engine: MemoryEngine, path: Path | None) -> None:
        if path is None:
            title = tr("Import items from a JSON Lines file")
            if (path := await choose_source(self.window, title, JSON_LINES, self._folder)) is None:
                return
            self._folder = str(path.parent)
        if not await self.window.paths_stay.may_store(engine, self.window.connection_name, self.window):
            return
        name = text.isolate(text.shown(path.name, NAME_CHARS))
        retry = self._if_open(engine, partial(self._start, lambda lane: self._import(lane, engine, path)))
        title, cancel = tr("Import {file}", file=name), partial(self.jobs.cancel, lane)
        job = ImportJob(self.window, engine, title, cancel, _imported, retry)
        self._unbegun.discard(lane)
        failure: TinyMemoryError | None = None
        with job.running():
            try:
                async with contextlib.aclosing(import_jsonl(engine, path)) as steps:
                    async for done in steps:
                        job.step(done)
            except TinyMemoryError as error:
                failure = error
        why, details = ("", "") if failure is None else (news.sentence(failure), news.details(failure))
        is_midway = failure is not None and not isinstance(failure, FileError)
        job.end(why, details, has_failed=failure is not None, about=text.inline(path.name), is_midway=is_midway)

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
        path = await choose_target(self.window, title, "memory.jsonl", JSON_LINES, self.memory_path, self._folder)
        if path is not None:
            self._folder = str(path.parent)
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
        name = text.isolate(text.shown(path.name, NAME_CHARS))
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
            end_badly(jobs, job, error, tr("No file was written."), again)
            raise
        said = tr(
            "{items}, {size}, in {file}.",
            items=text.counted(done.written, "item"),
            size=text.size(done.bytes_written),
            file=text.shown(str(path), 600),
        )
        if not engine.descriptor().keeps_paths:
            said += " " + tr("Folders and absolute workspaces are not in it.")
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


def _imported(n: int) -> str:
    return tr_n("{n} item stored", "{n} items stored", n, n=text.number(n))
