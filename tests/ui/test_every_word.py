"""A window in a language that is nobody's: what is not in it was never asked a translation of, or is stored text."""

from __future__ import annotations

import gettext
import html
import json
import re
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path

import pytest
from PySide6.QtCore import QAbstractListModel, QModelIndex, Qt
from PySide6.QtWidgets import (
    QAbstractButton,
    QAbstractItemView,
    QApplication,
    QDialog,
    QLabel,
    QLineEdit,
    QMenu,
    QPlainTextEdit,
    QTextBrowser,
    QWidget,
)
from pytestqt.qtbot import QtBot

from explorer import i18n
from explorer.contract import ItemKind, MetaFilter
from explorer.contract.reference import ReferenceEngine
from explorer.engines import ConnectionStore, KeyStore, list_engines
from explorer.paths import resource
from explorer.tools import MemoryTools
from explorer.ui.engine_words import OURS
from explorer.ui.main_window import MainWindow
from explorer.ui.program import Program
from explorer.ui.viewer import METADATA, RAW, READ, WHY
from tests.conftest import Until

OPEN, CLOSE = "⸢", "⸣"
INNERMOST = re.compile(f"{OPEN}[^{OPEN}{CLOSE}]*{CLOSE}")
NAMES = {
    *("TinyMemory", "Explorer", "SQLite", "Ctrl", "Alt", "Shift", "Backspace", "Left", "Right"),  # keys are Qt's words
    *("Del", "Down", "Esc", "PgDown", "PgUp", "Return", "Space"),
    *("refund", "nowhere", "all"),  # what this test asks for
    "Team",  # a header, as an example
}
WORD = re.compile(r"[A-Za-z]{3,}")


class Marked(gettext.NullTranslations):
    """Every message between marks, so that what did not pass `tr` is seen."""

    def gettext(self, message: str) -> str:
        return f"{OPEN}{message}{CLOSE}"

    def ngettext(self, msgid1: str, msgid2: str, n: int) -> str:
        return f"{OPEN}{msgid1 if n == 1 else msgid2}{CLOSE}"

    def pgettext(self, context: str, message: str) -> str:
        return f"{OPEN}{message}{CLOSE}"


@pytest.fixture
def marked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(i18n, "_words", Marked())


def own_words(said: str) -> set[str]:
    """The words of what is said that did not pass `tr`."""
    while (less := INNERMOST.sub(" ", said)) != said:
        said = less
    return set(WORD.findall(html.unescape(re.sub(r"^<p style[^>]*>|</p>$|\b[0-9a-f]{40}\b", " ", said))))


class Stored:
    """What is stored, which is in no one's language."""

    def __init__(self, lines: str) -> None:
        self._text = "\n".join(text for line in lines.splitlines() for text in _strings(json.loads(line)))
        self._known: set[str] = set()

    def unknown(self, said: str) -> set[str]:
        """The words of what is said that neither passed `tr` nor are stored, or the beginning of one that is.

        None of what was asked before.
        """
        if said in self._known:
            return set()
        self._known.add(said)
        return {word for word in own_words(said) - NAMES if word not in self._text}


def _strings(part: object) -> Iterator[str]:
    if isinstance(part, str):
        yield part
    elif isinstance(part, dict | list):
        for inner in part.values() if isinstance(part, dict) else part:
            yield from _strings(inner)


def said_by(widget: QWidget) -> Iterator[tuple[str, str]]:
    """Where a widget says something, and what."""
    yield "title", widget.windowTitle() if widget.isWindow() else ""
    yield "tip", widget.toolTip()
    yield "status", widget.statusTip()
    yield "name", widget.accessibleName()
    yield "description", widget.accessibleDescription()
    if isinstance(widget, QLabel | QAbstractButton):
        yield "text", widget.text()
    if isinstance(widget, QLineEdit | QPlainTextEdit | QTextBrowser):
        yield "placeholder", widget.placeholderText()
    if isinstance(widget, QMenu):
        yield "menu", widget.title()
    for action in widget.actions():
        yield "action", action.text()
        yield "action's tip", action.toolTip() if action.toolTip() != action.iconText() else ""


def found(root: QWidget, stored: Stored) -> list[str]:
    widgets = [root, *(widget for widget in root.findChildren(QWidget) if not widget.objectName().startswith("qt_"))]
    return [
        f"{type(widget).__name__} {widget.objectName()!r} {where}: {said!r}"
        for widget in widgets
        for where, said in said_by(widget)
        if stored.unknown(said)
    ]


def told(view: QAbstractItemView) -> Iterator[tuple[str, str]]:
    """What the rows and heads of a view say, and say aloud."""
    model = view.model()
    roles = (Qt.ItemDataRole.DisplayRole, Qt.ItemDataRole.ToolTipRole, Qt.ItemDataRole.AccessibleTextRole)
    is_list = isinstance(model, QAbstractListModel)  # has one column, and does not answer for it
    columns = 0 if model is None else 1 if is_list else model.columnCount(QModelIndex())
    for column in range(columns):
        for role in roles:
            said = model.headerData(column, Qt.Orientation.Horizontal, role)
            yield f"head {column}", said if isinstance(said, str) else ""
    below = [QModelIndex()] if model is not None else []
    while below:
        parent = below.pop()
        for row in range(min(model.rowCount(parent), 12)):
            for column in range(1 if is_list else model.columnCount(parent)):
                index = model.index(row, column, parent)
                for role in roles:
                    said = index.data(role)
                    yield f"row {row}, {column}", said if isinstance(said, str) else ""
                if column == 0:
                    below.append(index)


def untold(root: QWidget, stored: Stored) -> list[str]:
    return [
        f"{view.objectName()!r} {where}: {said!r}"
        for view in root.findChildren(QAbstractItemView)
        for where, said in told(view)
        if stored.unknown(said)
    ]


def test_the_engines_are_named_in_english_as_they_name_themselves() -> None:
    engines = {engine.id: engine for engine in list_engines()}
    for id, (label, name, description) in OURS.items():
        assert (label, description) == (engines[id].label, engines[id].description)
        assert label.startswith(name)


def dialog(qapp: QApplication) -> QWidget | None:
    shown = (widget for widget in qapp.topLevelWidgets() if isinstance(widget, QDialog) and widget.isVisible())
    return next(shown, None)


@pytest.mark.limit_s(60)
async def test_every_word_of_the_window_passes_tr(
    qtbot: QtBot, qapp: QApplication, tmp_path: Path, until: Until, marked: None
) -> None:
    window = MainWindow()
    qtbot.addWidget(window)
    window.resize(1440, 900)
    window.show()
    program = Program(window, ConnectionStore(tmp_path / "connections.json"), KeyStore(), tmp_path / "sample.db")
    tools = json.dumps([asdict(spec) for spec in MemoryTools(ReferenceEngine()).specs()])  # as a model is told
    stored = Stored("\n".join([resource("sample/memory.jsonl").read_text().strip(), tools]))
    seen: list[str] = []

    def settled() -> bool:
        return window.is_idle and not program.jobs.is_busy

    def look(root: QWidget) -> None:
        seen.extend(found(root, stored) + untold(root, stored))

    try:
        look(window)
        await program.open_sample()
        await until(settled)
        window.facets._on_expand_triggered()
        await until(settled)
        look(window)
        for kind in ItemKind:
            window.go_to_filter(MetaFilter(kinds=[kind]))
            await until(settled)
            window.items.view.setCurrentIndex(window.items.model.index(0, 0))
            await until(settled)
            for part in (READ, RAW, METADATA, WHY):
                if (button := window.viewer.segments.button(part)).isEnabled():
                    button.click()
                await until(settled)
                look(window)
        window.go_to_filter(MetaFilter())
        window.search_box.search("refund")
        for action in (window.palette_action, window.find_action):
            action.trigger()
            await until(settled)
            look(window)
        for action in (window.jobs_action, window.shortcuts_action, window.connections_action, window.save_view_action):
            action.trigger()
            await until(lambda: dialog(qapp) is not None)
            opened = dialog(qapp)
            assert opened is not None
            look(opened)
            opened.close()
            await until(lambda: dialog(qapp) is None and settled())
        window.go_to_filter(MetaFilter(tags_any=["nowhere at all"]))
        await until(settled)
        look(window)
        await program.open_file(tmp_path)
        await until(settled)
        look(window)
    finally:
        await program.aclose()
        window.close_for_good()
    assert not seen, "\n".join(sorted(set(seen)))
