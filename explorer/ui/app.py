"""The process around the window: the loop, where files lie, uncaught errors, and the order in which all ends.

qasync runs Qt and asyncio on one loop. Qt's own `PySide6.QtAsyncio` is a preview: it has no transports, so that
httpx could not connect on it.
"""

from __future__ import annotations

import asyncio
import contextlib
import gc
import logging
import os
import sys
import tempfile
import threading
import time
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from types import TracebackType
from typing import Any

import platformdirs
from PySide6.QtCore import (  # before qasync, which takes it
    QLibraryInfo,
    QLocale,
    QMessageLogContext,
    Qt,
    QtMsgType,
    QTranslator,
    qInstallMessageHandler,
)
from PySide6.QtGui import QFontInfo, QGuiApplication
from PySide6.QtWidgets import QApplication, QWidget
from qasync import QEventLoop
from shiboken6 import isValid

from explorer import __version__
from explorer.engines import ConnectionStore, KeyStore
from explorer.i18n import LANGUAGES, language_for, tr, use_language
from explorer.options import Options
from explorer.sample import sample_path
from explorer.text import shown
from explorer.ui.garbage import GarbageCollector
from explorer.ui.main_window import open_settings
from explorer.ui.program import Program
from explorer.ui.signals import EndSignals
from explorer.ui.theme import Mode, theme
from explorer.ui.windows import Windows
from explorer.ui.zoom import saved_zoom

log = logging.getLogger(__name__)

SWITCH_S = 0.000_5
"""After this time a thread that reads hands the interpreter back: drawing asks for it at nearly each call."""

_FAMILIES = {"zh_CN": ["PingFang SC", "Microsoft YaHei UI", "Noto Sans CJK SC", "Source Han Sans SC"]}
"""Fonts that draw characters as a language has them: those of one code look different in Chinese and in Japanese."""

_SHOT_LIMIT_S = 30.0
_END_LIMIT_S = 3.0
_NO_PLATFORM = "no Qt platform plugin could be initialized"


def run(options: Options) -> int:
    """Run the program until its window is closed, or until its picture is drawn."""
    logging.basicConfig(level=logging.WARNING, format="%(levelname)s %(name)s: %(message)s")
    qInstallMessageHandler(_on_qt_message)
    QApplication.setApplicationName("TinyMemory Explorer")
    QApplication.setApplicationVersion(__version__)
    QApplication.setDesktopFileName("tinymemory-explorer")
    app = QApplication(sys.argv[:1])
    sys.setswitchinterval(SWITCH_S)
    GarbageCollector(app)
    gc.freeze()  # what is loaded by now stays: to look through it for garbage held the window up each time
    app.setQuitOnLastWindowClosed(False)  # the window ends the program once its tasks have ended
    signals = EndSignals(app)
    with asyncio.Runner(loop_factory=lambda: QEventLoop(app)) as runner:
        return runner.run(_run(app, signals, options))


async def _run(app: QApplication, signals: EndSignals, options: Options) -> int:
    async with _places(options) as (store, sample, config):
        settings = open_settings(config) if options.shot is None else None
        mode = options.theme or (settings.value("theme") if settings is not None else None) or "system"
        if settings is not None:
            theme().high_contrast = settings.value("highContrast") in ("true", True)
            theme().set_zoom(saved_zoom(settings.value("zoom", 100)))
        _speak(app, options.language or (settings.value("language") if settings is not None else None))
        if options.is_rtl:
            app.setLayoutDirection(Qt.LayoutDirection.RightToLeft)
        theme().apply(app, _mode(mode), has_sheet=False)
        windows = Windows(settings, store, KeyStore(), sample)
        _catch_uncaught(windows)
        program = windows.open()
        theme().dress()
        signals.received.connect(windows.ended.set)
        try:
            if options.shot is not None:
                return await _draw(program, options)
            windows.start(program, options)
            await windows.ended.wait()
            return 0
        finally:
            _end_at_latest(_END_LIMIT_S, lambda: windows.waited_for)
            await windows.aclose()


def _speak(app: QApplication, wanted: object) -> None:
    """Use the language that is wanted, else the system's, in the program's words and in Qt's."""
    language = wanted if wanted in LANGUAGES else language_for(QLocale.system().uiLanguages())
    assert isinstance(language, str)
    use_language(language)
    if language in _FAMILIES:
        font = QGuiApplication.font()
        font.setFamilies([QFontInfo(font).family(), *_FAMILIES[language]])
        app.setFont(font)
    words = QTranslator(app)
    if words.load(f"qtbase_{language}", QLibraryInfo.path(QLibraryInfo.LibraryPath.TranslationsPath)):
        app.installTranslator(words)


def _end_at_latest(limit_s: float, waited_for: Callable[[], list[str]]) -> None:
    """End the process in this time even if an engine never answers; its threads would hold the process for ever.

    `waited_for` names what has not ended then; it is asked in another thread.
    """

    def end() -> None:
        names = ", ".join(shown(name, 60) for name in waited_for() if name) or "something"
        log.warning("%s did not end within %g s and was left behind", names, limit_s)
        os._exit(0)

    timer = threading.Timer(limit_s, end)
    timer.daemon = True
    timer.start()


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
    program.jobs.start("open", program.start(options), lambda _: None)
    deadline = time.monotonic() + _SHOT_LIMIT_S
    settled = 0
    while settled < 5 and time.monotonic() < deadline:  # answers start new questions: idle must last
        await asyncio.sleep(0.05)
        if program.closing.is_set():
            return 1
        settled = settled + 1 if window.is_idle and not program.jobs.is_busy else 0
    assert options.shot is not None
    for widget in window.findChildren(QWidget):  # nothing looks pointed at
        widget.setAttribute(Qt.WidgetAttribute.WA_UnderMouse, False)
    if not window.grab().save(str(options.shot)):
        print(tr("The picture cannot be written to {path}.", path=options.shot), file=sys.stderr)
        return 1
    print(tr("Drew {path}", path=options.shot))
    if program.has_failed:
        print(window.error_banner.sentence, file=sys.stderr)
    return int(program.has_failed)


def _on_qt_message(kind: QtMsgType, context: QMessageLogContext, message: str | None) -> None:
    """Qt's own messages among the program's; what the platform without a screen says of itself is no news."""
    if message is None or message.startswith("This plugin does not support"):
        return
    if kind is QtMsgType.QtFatalMsg and _NO_PLATFORM in message:  # Qt would abort now, and leave a core
        said = tr(
            "The window cannot be shown: no display answers. Name one in DISPLAY or WAYLAND_DISPLAY, "
            "or draw the window into a file with --shot OUT.png."
        )
        print(said, file=sys.stderr, flush=True)
        os._exit(1)
    levels = {
        QtMsgType.QtDebugMsg: logging.DEBUG,
        QtMsgType.QtInfoMsg: logging.INFO,
        QtMsgType.QtWarningMsg: logging.WARNING,
    }
    log.log(levels.get(kind, logging.ERROR), "Qt: %s", message)


def _mode(value: object) -> Mode:
    return value if value in ("light", "dark") else "system"


def _catch_uncaught(windows: Windows) -> None:
    """Exceptions in slots and in tasks that nobody awaits: logged, and said in the window that is worked in."""

    def say(error: BaseException) -> None:
        program = windows.active if isValid(windows) else None
        if program is not None and isValid(program.window):
            program.window.show_exception(error)

    def on_exception(kind: type[BaseException], error: BaseException, trace: TracebackType | None) -> None:
        log.error("uncaught", exc_info=(kind, error, trace))
        if issubclass(kind, Exception):
            say(error)

    def on_loop_exception(loop: asyncio.AbstractEventLoop, context: dict[str, Any]) -> None:
        error = context.get("exception")
        log.error("uncaught on the loop: %s", context.get("message"), exc_info=error)
        if isinstance(error, Exception):
            say(error)

    sys.excepthook = on_exception
    asyncio.get_running_loop().set_exception_handler(on_loop_exception)
