"""The program around the window: the loop, what is opened, long work, and the order in which everything ends.

qasync runs Qt and asyncio on one loop. Qt's own `PySide6.QtAsyncio` is a preview: it has no transports, so that
httpx could not connect on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass
from pathlib import Path
from types import TracebackType
from typing import Any

import platformdirs
from PySide6.QtCore import (
    QMessageLogContext,
    QtMsgType,
    qInstallMessageHandler,
)  # before qasync, which takes what is loaded
from PySide6.QtGui import QCursor
from PySide6.QtWidgets import QApplication, QFileDialog
from qasync import QEventLoop

from explorer import __version__
from explorer.contract import EngineHealth, MemoryEngine, TinyMemoryError
from explorer.engines import (
    ConnectionStore,
    EngineCredential,
    EngineSettings,
    KeyStore,
    SavedConnection,
    build_engine,
    find_credential,
    list_engines,
)
from explorer.options import Options
from explorer.sample import NAME as SAMPLE_NAME
from explorer.sample import ensure_sample, sample_path
from explorer.transfer import BadLine, ExportProgress, ImportProgress, export_jsonl, import_jsonl
from explorer.ui import text
from explorer.ui.ask import ask, confirm
from explorer.ui.dialogs.connect import ConnectDialog, engine_icon
from explorer.ui.dialogs.key import KeyDialog
from explorer.ui.garbage import GarbageCollector
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow, open_settings
from explorer.ui.theme import Mode, theme
from explorer.ui.toolbar import CHOOSE_FILE, MANAGE, Choice

log = logging.getLogger(__name__)

_SAMPLE_KEY = "sample"
_SAVED_KEY = "saved:"
_FILE_KEY = "file:"
_SHOT_LIMIT_S = 30.0
_BAD_LINES_SHOWN = 200


@dataclass(frozen=True)
class Opened:
    """What is open: a key of the picker, and how to open it again."""

    key: str
    name: str
    engine_id: str
    settings: EngineSettings
    credential: EngineCredential = None


class Program:
    """Opens memories into one window, one at a time, and ends in order."""

    def __init__(self, window: MainWindow, store: ConnectionStore, keys: KeyStore, sample: Path) -> None:
        self.window = window
        self.store = store
        self.keys = keys
        self._sample = sample
        self._opened: Opened | None = None
        self._saved: list[SavedConnection] = []
        self.jobs = Jobs(window)
        self.closing = asyncio.Event()
        window.connection_chosen.connect(self._on_window_connection_chosen)
        window.open_action.triggered.connect(self._on_open_action_triggered)
        window.connections_action.triggered.connect(self._on_connections_action_triggered)
        window.read_only_wanted.connect(self._on_window_read_only_wanted)
        window.import_wanted.connect(self._on_window_import_wanted)
        window.export_wanted.connect(self._on_window_export_wanted)
        window.job_cancel_wanted.connect(self._on_window_job_cancel_wanted)
        window.close_wanted.connect(self._on_window_close_wanted)
        self.jobs.failed.connect(self._on_jobs_failed)

    # Opening

    async def start(self, options: Options) -> None:
        """Open what the command line names, else what was open last, else the sample."""
        await asyncio.to_thread(list_engines)  # imports them all, which takes a moment
        await self._load_saved()
        if options.open_path is not None:
            await self.open_file(options.open_path, is_read_only=options.is_read_only)
        elif options.connection is not None:
            await self.open_saved(options.connection)
        elif options.is_sample or not self._saved:
            await self.open_sample(is_read_only=options.is_read_only)
        else:
            opened = [saved for saved in self._saved if saved.last_opened is not None]
            await self.open_saved(
                max(opened or self._saved, key=lambda s: s.last_opened.unix_ns if s.last_opened else 0).name
            )
        if options.filter is not None and self.window.engine is not None:
            self.window.go_to_filter(options.filter)
        self._say_notices()

    async def open_sample(self, *, is_read_only: bool = False) -> None:
        path = await ensure_sample(self._sample)
        settings = EngineSettings(path=str(path), read_only=is_read_only or None)
        await self._open(Opened(_SAMPLE_KEY, SAMPLE_NAME, "sqlite", settings))

    async def open_file(self, path: Path, *, is_read_only: bool = False) -> None:
        path = _absolute(path)
        settings = EngineSettings(path=str(path), read_only=is_read_only or None)
        await self._open(Opened(f"{_FILE_KEY}{path}", path.name, "sqlite", settings))

    async def open_saved(self, name: str) -> None:
        """Open a saved connection, asking for its key where it is not kept."""
        await self._load_saved()
        saved = next((saved for saved in self._saved if saved.name == name), None)
        if saved is None:
            self.window.show_error(
                f"There is no saved connection named {text.shown(name)}. Open Connections to see them."
            )
            return
        found = await asyncio.to_thread(find_credential, saved, self.keys)
        credential: EngineCredential = found.credential
        if found.ask_because is not None:
            dialog = KeyDialog(saved.name, found.ask_because, self.window)
            if not await ask(dialog):
                return
            credential = dialog.credential
        if await self._open(Opened(f"{_SAVED_KEY}{name}", name, saved.engine, saved.settings, credential)):
            await asyncio.to_thread(self.store.touch, name)

    async def _open(self, opened: Opened) -> bool:
        """Show `opened` in the window; False where it cannot be opened, which is said, and what was open stays."""
        engine = build_engine(opened.engine_id, opened.settings, opened.credential)
        health = await engine.health()
        old = self.window.engine
        if not health.is_serving and old is not None:
            await engine.aclose()
            self._show_choices()
            self._say_down(opened, health)
            return False
        self._opened = opened
        can_lock = engine.descriptor().needs_path
        self.window.show_engine(engine, opened.name, is_read_only=bool(opened.settings.read_only), can_lock=can_lock)
        self._show_choices()
        if not health.is_serving:
            self._say_down(opened, health)
        if old is not None:
            await self._close_engine(old)
        return health.is_serving

    def _say_down(self, opened: Opened, health: EngineHealth) -> None:
        reason = text.shown(health.reason or "the engine is down", 600)
        self.window.show_error(
            f"{text.shown(opened.name)} cannot be opened: {reason}.", retry=lambda: self._start_open(opened)
        )

    def _start_open(self, opened: Opened) -> None:
        self.jobs.start("open", self._open(opened), lambda _: None)

    async def _close_engine(self, engine: MemoryEngine) -> None:
        try:
            await engine.aclose()
        except TinyMemoryError as error:
            log.warning("closing an engine: %s", error)

    async def _load_saved(self) -> None:
        try:
            self._saved = await asyncio.to_thread(self.store.load)
        except TinyMemoryError as error:
            self.window.show_exception(error)

    def _say_notices(self) -> None:
        """What was found out about the saved connections; after an opening, which clears the banner."""
        if self.store.notices:
            self.window.error_banner.show_note(" ".join(text.shown(notice, 600) for notice in self.store.notices))
            self.store.notices.clear()

    def _show_choices(self) -> None:
        engines = {engine.id: engine for engine in list_engines()}

        def choice(key: str, name: str, engine_id: str) -> Choice:
            engine = engines.get(engine_id)
            return Choice(key, name, engine.label if engine is not None else engine_id, engine_icon(engine))

        choices = [choice(f"{_SAVED_KEY}{saved.name}", saved.name, saved.engine) for saved in self._saved]
        choices.append(choice(_SAMPLE_KEY, SAMPLE_NAME, "sqlite"))
        current = self._opened.key if self._opened is not None else ""
        if self._opened is not None and current not in {one.key for one in choices}:
            choices.insert(0, choice(current, self._opened.name, self._opened.engine_id))
        self.window.show_choices(choices, current)

    # Signals

    def _on_window_connection_chosen(self, key: str) -> None:
        self._show_choices()  # the box goes back to what is open until the new one is
        if key == CHOOSE_FILE:
            self._on_open_action_triggered()
        elif key == MANAGE:
            self._on_connections_action_triggered()
        elif key == _SAMPLE_KEY:
            self.jobs.start("open", self.open_sample(), lambda _: None)
        elif key.startswith(_SAVED_KEY):
            self.jobs.start("open", self.open_saved(key.removeprefix(_SAVED_KEY)), lambda _: None)
        elif key.startswith(_FILE_KEY):
            self.jobs.start("open", self.open_file(Path(key.removeprefix(_FILE_KEY))), lambda _: None)

    def _on_open_action_triggered(self) -> None:
        self.jobs.start("open", self._choose_file(), lambda _: None)

    async def _choose_file(self) -> None:
        dialog = QFileDialog(self.window, "Open a memory file")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(["Memory files (*.db *.sqlite *.sqlite3)", "All files (*)"])
        if not await ask(dialog) or not dialog.selectedFiles():
            return
        path = Path(dialog.selectedFiles()[0])
        saved = next((s for s in self._saved if s.settings.path is not None and Path(s.settings.path) == path), None)
        if saved is None:
            saved = SavedConnection(
                name=self._free_name(path.name), engine="sqlite", settings=EngineSettings(path=str(path))
            )
            await asyncio.to_thread(self.store.add, saved)
        await self.open_saved(saved.name)

    def _free_name(self, name: str) -> str:
        taken = {saved.name for saved in self._saved}
        name = text.shown(name).strip() or "Memory"
        number = 2
        free = name
        while free in taken:
            free, number = f"{name} ({number})", number + 1
        return free

    def _on_connections_action_triggered(self) -> None:
        self.jobs.start("open", self._manage(), lambda _: None)

    async def _manage(self) -> None:
        await self._load_saved()
        current = self._opened.key.removeprefix(_SAVED_KEY) if self._opened is not None else ""
        dialog = ConnectDialog(self.store, self.keys, self._saved, list_engines(), current, self.window)
        try:
            is_open_wanted = await ask(dialog)
        finally:
            await dialog.jobs.aclose()
        await self._load_saved()
        self._show_choices()
        if is_open_wanted:
            await self.open_saved(dialog.chosen_name)
        self._say_notices()

    def _on_window_read_only_wanted(self, is_read_only: bool) -> None:
        opened = self._opened
        if opened is None:
            return
        settings = opened.settings.model_copy(update={"read_only": is_read_only or None})
        self._start_open(Opened(opened.key, opened.name, opened.engine_id, settings, opened.credential))

    # Files in and out

    def _on_window_import_wanted(self) -> None:
        if not self.jobs.is_running("transfer"):
            self.jobs.start("transfer", self._import(), lambda _: None)

    async def _import(self) -> None:
        engine = self.window.engine
        dialog = QFileDialog(self.window, "Import items from a JSON Lines file")
        dialog.setFileMode(QFileDialog.FileMode.ExistingFile)
        dialog.setNameFilters(["JSON Lines (*.jsonl *.ndjson)", "All files (*)"])
        if engine is None or not await ask(dialog) or not dialog.selectedFiles():
            return
        path = Path(dialog.selectedFiles()[0])
        bad: list[BadLine] = []
        bad_count = 0
        done = ImportProgress()
        try:
            async with contextlib.aclosing(import_jsonl(engine, path)) as steps:
                async for done in steps:
                    bad_count += len(done.bad)
                    bad += done.bad[: _BAD_LINES_SHOWN - len(bad)]
                    part = text.share(done.bytes_done, done.bytes_total) if done.bytes_total else text.number(done.read)
                    self.window.show_job(f"Importing {text.shown(path.name, 40)}  {part}")
        finally:
            self.window.show_job("")
            if done.stored:
                self.window.refresh()
        said = (
            f"Imported {text.shown(path.name)}: {_items(done.stored)} stored, {text.number(done.replayed)} held already"
        )
        if not bad_count:
            self.window.error_banner.show_note(f"{said}.")
            return
        lines = "\n".join(f"line {line.number}: {text.shown(line.reason, 600)}" for line in bad)
        if bad_count > len(bad):
            lines += f"\nand {text.number(bad_count - len(bad))} more"
        self.window.show_error(f"{said}, {text.number(bad_count)} lines refused.", lines)

    def _on_window_export_wanted(self) -> None:
        if not self.jobs.is_running("transfer"):
            self.jobs.start("transfer", self._export(), lambda _: None)

    async def _export(self) -> None:
        engine, filter = self.window.engine, self.window.trail.current.filter
        dialog = QFileDialog(self.window, "Export what the filter admits to a JSON Lines file", "memory.jsonl")
        dialog.setAcceptMode(QFileDialog.AcceptMode.AcceptSave)  # asks before it names a file that is there
        dialog.setDefaultSuffix("jsonl")
        if engine is None or not await ask(dialog) or not dialog.selectedFiles():
            return
        path = Path(dialog.selectedFiles()[0])
        incomplete: list[str] = []
        done = ExportProgress()
        try:
            async with contextlib.aclosing(export_jsonl(engine, path, filter, overwrite=True)) as steps:
                async for done in steps:
                    incomplete += done.incomplete
                    self.window.show_job(f"Exporting to {text.shown(path.name, 40)}  {_items(done.written)}")
        finally:
            self.window.show_job("")
        said = f"Exported {_items(done.written)} to {text.shown(str(path), 600)}, {text.size(done.bytes_written)}"
        if incomplete:
            self.window.show_error(
                f"{said}; {_items(len(incomplete))} are held only in part and are not in it.", "\n".join(incomplete)
            )
        else:
            self.window.error_banner.show_note(f"{said}.")

    def _on_window_job_cancel_wanted(self) -> None:
        self.jobs.cancel("transfer")

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.window.show_exception(error)

    # The end

    def _on_window_close_wanted(self) -> None:
        if self.jobs.is_running("transfer"):
            self.jobs.start("close", self._ask_to_close(), lambda _: None)
        else:
            self.closing.set()

    async def _ask_to_close(self) -> None:
        if await confirm(
            self.window,
            "A file is being read or written",
            "What is stored by now stays; the rest is left out. An export that is not finished leaves no file.",
            "End it and close",
        ):
            self.closing.set()

    async def aclose(self) -> None:
        """End the window's work, then the engine."""
        await self.jobs.aclose()
        await self.window.aclose()
        if self.window.engine is not None:
            await self._close_engine(self.window.engine)


def run(options: Options) -> int:
    """Run the program until its window is closed, or until its picture is drawn."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    qInstallMessageHandler(_on_qt_message)
    QApplication.setApplicationName("TinyMemory Explorer")
    QApplication.setApplicationVersion(__version__)
    QApplication.setDesktopFileName("tinymemory-explorer")
    app = QApplication(sys.argv[:1])
    GarbageCollector(app)
    app.setQuitOnLastWindowClosed(False)  # the window ends the program once its tasks have ended
    with asyncio.Runner(loop_factory=lambda: QEventLoop(app)) as runner:
        return runner.run(_run(app, options))


async def _run(app: QApplication, options: Options) -> int:
    async with _places(options) as (store, sample, config):
        settings = open_settings(config) if options.shot is None else None
        mode = options.theme or (settings.value("theme") if settings is not None else None) or "system"
        theme().apply(app, _mode(mode))
        window = MainWindow(settings)
        _catch_uncaught(window)
        program = Program(window, store, KeyStore(), sample)
        try:
            if options.shot is not None:
                return await _draw(program, options)
            window.restore_layout()
            if options.size is not None:
                window.resize(*options.size)
            window.show()
            program.jobs.start("open", program.start(options), lambda _: None)
            await program.closing.wait()
            return 0
        finally:
            await program.aclose()
            window.close_for_good()


@contextlib.asynccontextmanager
async def _places(options: Options) -> AsyncIterator[tuple[ConnectionStore, Path, Path]]:
    """The connections, the sample's copy and the config folder; a picture has its own, so that it shows no one's."""
    if options.shot is None:
        config = platformdirs.user_config_path("tinymemory-explorer", appauthor=False)
        yield ConnectionStore(), sample_path(), config
        return
    with tempfile.TemporaryDirectory() as folder:
        yield ConnectionStore(Path(folder) / "connections.json"), Path(folder) / "sample.db", Path(folder)


async def _draw(program: Program, options: Options) -> int:
    window = program.window
    window.resize(*(options.size or (1440, 900)))
    window.place_docks()
    window.show()
    window.place_docks()
    QCursor.setPos(window.mapToGlobal(window.rect().bottomRight()))  # nothing looks pointed at
    try:
        await program.start(options)
    except TinyMemoryError as error:
        window.show_exception(error)
    deadline = time.monotonic() + _SHOT_LIMIT_S
    settled = 0
    while settled < 5 and time.monotonic() < deadline:  # answers start new questions: idle must last
        await asyncio.sleep(0.05)
        settled = settled + 1 if window.is_idle else 0
    assert options.shot is not None
    if not window.grab().save(str(options.shot)):
        print(f"The picture cannot be written to {options.shot}.", file=sys.stderr)
        return 1
    print(f"Drew {options.shot}")
    return 0


def _items(count: int) -> str:
    return f"{text.number(count)} item{'' if count == 1 else 's'}"


def _absolute(path: Path) -> Path:
    return Path(os.path.abspath(path))


def _on_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str | None) -> None:
    """Qt's own messages among the program's; what the platform without a screen says of itself is no news."""
    if message is None or message.startswith("This plugin does not support"):
        return
    levels = {
        QtMsgType.QtDebugMsg: logging.DEBUG,
        QtMsgType.QtInfoMsg: logging.INFO,
        QtMsgType.QtWarningMsg: logging.WARNING,
    }
    log.log(levels.get(kind, logging.ERROR), "Qt: %s", message)


def _mode(value: object) -> Mode:
    return value if value in ("light", "dark") else "system"


def _catch_uncaught(window: MainWindow) -> None:
    """Exceptions in slots and in tasks that nobody awaits: logged, and said in the window."""

    def on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        log.error("uncaught", exc_info=(kind, error, trace))
        if issubclass(kind, Exception):
            window.show_exception(error)

    def on_loop_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        log.error("uncaught on the loop: %s", context.get("message"), exc_info=error)
        if isinstance(error, Exception):
            window.show_exception(error)

    sys.excepthook = on_exception
    asyncio.get_running_loop().set_exception_handler(on_loop_exception)
