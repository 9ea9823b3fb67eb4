"""What of a window's words is cut; and the real program measured: `python -m tests.ui.looks ARGUMENTS`."""

from __future__ import annotations

import asyncio
import json
import sys
from pathlib import Path

from PySide6.QtCore import QSize, Qt, QUrl
from PySide6.QtWidgets import (
    QAbstractButton,
    QComboBox,
    QDialog,
    QLabel,
    QLineEdit,
    QMessageBox,
    QSizePolicy,
    QToolButton,
    QWidget,
)

from explorer.__main__ import main
from explorer.asking import WriterStore
from explorer.engines import ConnectionStore, EngineSettings, KeyStore, SavedConnection, list_engines
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.dialogs.key import KeyDialog
from explorer.ui.dialogs.shortcuts import ShortcutSheet
from explorer.ui.dialogs.views import NameDialog, ViewsDialog
from explorer.ui.dialogs.writer import WriterDialog
from explorer.ui.main_window import MainWindow
from explorer.ui.shortcuts import areas
from explorer.ui.trees import Aside
from explorer.ui.viewer_parts.link_dialog import LinkDialog
from explorer.ui.views import SavedView


def dialogs_of(window: MainWindow, folder: Path) -> list[QDialog]:
    """One of each dialog, over `window`; none is shown."""
    window.views.open("memory")
    window.views.save(SavedView(name="A view of the last week"))
    window.views.save(SavedView(name="A view that was removed"))
    window.views.remove("A view that was removed")
    saved = SavedConnection(name="mine", engine="sqlite", settings=EngineSettings(path="/home/somebody/memory.db"))
    store = ConnectionStore(folder / "connections.json")
    box = QMessageBox(QMessageBox.Icon.Question, "TinyMemory Explorer", "A job is running.", parent=window)
    box.setInformativeText("Closing ends it; what it has written so far stays.")
    box.addButton("Close and end it", QMessageBox.ButtonRole.AcceptRole)
    box.addButton("Cancel", QMessageBox.ButtonRole.RejectRole)
    return [
        ConnectDialog(store, KeyStore(), [saved], list_engines(), "mine", window),
        KeyDialog("mine", "it is kept nowhere", window),
        ShortcutSheet(areas(window), window),
        NameDialog(window.views, "a", window),
        ViewsDialog(window.views, window),
        WriterDialog(WriterStore(folder / "answers.json"), window),
        LinkDialog(QUrl("https://example.org/a/page?of=words"), window),
        window.jobs_view,
        box,
    ]


def cut_words(top: QWidget) -> list[str]:
    """The labels, buttons and fields in `top` that are seen and have less room than their words need."""
    return [
        f"{type(widget).__name__} {widget.objectName()!r} {words!r}: {widget.size().toTuple()} of {need.toTuple()}"
        for widget in [top, *top.findChildren(QWidget)]
        if widget.isVisible() and not widget.visibleRegion().isEmpty() and widget.window() is top
        for words, need in [_need(widget)]
        if words and (need.width() > widget.width() or need.height() > widget.height())
    ]


def _need(widget: QWidget) -> tuple[str, QSize]:
    """The words of a widget, and the room they take; no words where it has none, or shortens them on purpose."""
    line = widget.fontMetrics().height()
    is_shortened = widget.sizePolicy().horizontalPolicy() == QSizePolicy.Policy.Ignored and bool(widget.toolTip())
    if isinstance(widget, Aside):
        return widget.text(), QSize(0 if widget.words_seen else widget.sizeHint().width(), line)
    if isinstance(widget, QLabel) and widget.wordWrap():
        return widget.text(), QSize(0, widget.heightForWidth(widget.width()))
    if isinstance(widget, QLabel):
        return widget.text(), QSize(0 if is_shortened else widget.sizeHint().width(), line)
    if isinstance(widget, QToolButton) and widget.toolButtonStyle() == Qt.ToolButtonStyle.ToolButtonIconOnly:
        return "", QSize()
    if isinstance(widget, QAbstractButton | QComboBox):
        words = widget.currentText() if isinstance(widget, QComboBox) else widget.text()
        return words, QSize(0 if is_shortened else widget.sizeHint().width(), line)
    if isinstance(widget, QLineEdit):
        words = widget.text() or widget.placeholderText()
        return words, QSize(widget.fontMetrics().horizontalAdvance(words) if not widget.text() else 0, line)
    return "", QSize()


async def cut_in_all(window: MainWindow, folder: Path) -> list[str]:
    """What is cut in the window and, each shown over it, in its dialogs."""
    found = cut_words(window)
    for dialog in dialogs_of(window, folder):
        dialog.show()
        for _ in range(10):  # not processEvents, which would run other tasks inside of this one
            await asyncio.sleep(0)
        found += [f"{type(dialog).__name__}: {each}" for each in cut_words(dialog)]
        dialog.close()
        if isinstance(dialog, ConnectDialog | WriterDialog):
            await dialog.jobs.aclose()
    return found


def _run() -> int:
    from explorer.ui import app

    draw = app._draw

    async def draw_and_measure(program: app.Program, options: app.Options) -> int:
        code = await draw(program, options)
        assert options.shot is not None
        dpr = program.window.devicePixelRatioF()
        said = {"scale": dpr, "cut": await cut_in_all(program.window, options.shot.parent)}
        print(json.dumps(said))
        return code

    app._draw = draw_and_measure
    return main()


if __name__ == "__main__":
    sys.exit(_run())
