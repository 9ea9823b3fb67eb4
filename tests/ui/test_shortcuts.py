"""The sheet of shortcuts: nothing that has keys is missing from it."""

from __future__ import annotations

import ast
import gettext
import inspect
from pathlib import Path
from types import ModuleType

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QAction, QKeySequence, QShortcut
from PySide6.QtWidgets import QApplication, QLabel, QWidget
from pytestqt.qtbot import QtBot

from explorer import i18n
from explorer.ui import chips, facets, item_head, item_view, palette, segments, timeline, toolbar, trees, viewer
from explorer.ui.ask_parts import sentence, source
from explorer.ui.context_parts import budget, entries, node_button, section_bar
from explorer.ui.dialogs.shortcuts import ShortcutSheet
from explorer.ui.shortcuts import PANE_KEYS, areas
from explorer.ui.viewer_parts import find_bar, pairs, readers
from tests.conftest import Until
from tests.ui.test_main_window import opened

HANDLERS: list[tuple[ModuleType, str]] = [
    (chips, "Filter"),
    (facets, "Namespaces and facets"),
    (trees, "Namespaces and facets"),
    (timeline, "Time line"),
    (item_view, "List"),
    (item_head, "Column heads"),
    (toolbar, "Search"),
    (viewer, "Item"),
    (find_bar, "Item"),
    (readers, "Item"),
    (pairs, "Item"),
    (segments, "Item"),
    (budget, "context.md"),
    (entries, "context.md"),
    (node_button, "context.md"),
    (section_bar, "context.md"),
    (sentence, "Ask"),
    (source, "Ask"),
    (palette, "Command palette"),
]
SAME = {"Key_Enter": "Key_Return"}  # on two places of one keyboard
PASSED_ON = {"explorer.ui.item_view": {"Left", "Right"}}  # to the window: there is no cell to go to
EXEMPT = {"Key_F3", "Key_Tab", "Key_Backtab"}  # a shortcut of its own; the same everywhere


def portable(key: str) -> str:
    return QKeySequence(getattr(Qt.Key, SAME.get(key, key))).toString(QKeySequence.SequenceFormat.PortableText)


def handled(module: ModuleType) -> set[str]:
    """The keys that a module names, and the standard ones."""
    found = set()
    for node in ast.walk(ast.parse(inspect.getsource(module))):
        if isinstance(node, ast.Attribute) and node.attr.startswith("Key_") and node.attr not in EXEMPT:
            found.add(portable(node.attr))
        elif isinstance(node, ast.Attribute) and ast.unparse(node).startswith("QKeySequence.StandardKey."):
            standard = getattr(QKeySequence.StandardKey, node.attr)
            found.add(QKeySequence(standard).toString(QKeySequence.SequenceFormat.PortableText))
    return found


@pytest.mark.parametrize(("module", "area"), HANDLERS, ids=[f"{module.__name__}" for module, _ in HANDLERS])
def test_every_key_that_a_pane_takes_is_in_the_sheet(module: ModuleType, area: str) -> None:
    listed = {key.rpartition("+")[2] if key != "*" else key for one in PANE_KEYS[area] for key in one.keys}
    listed |= {key for one in PANE_KEYS[area] for key in one.keys}
    keys = handled(module) - PASSED_ON.get(module.__name__, set())
    assert keys, "the module takes no keys any more; take it from the list"
    assert keys <= listed, keys - listed


def test_every_module_that_takes_keys_is_among_them() -> None:
    known = {module.__file__ for module, _ in HANDLERS}
    folder = Path(inspect.getfile(palette)).parent
    parts = ("*.py", "viewer_parts/*.py", "ask_parts/*.py", "context_parts/*.py", "models/*.py")
    for file in [file for part in parts for file in folder.glob(part)]:
        if "def keyPressEvent" in file.read_text(encoding="utf-8"):
            assert str(file) in known, f"{file.name} takes keys that the sheet does not know of"


async def test_every_action_with_keys_is_in_the_sheet(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        listed = {(key, one.words) for _, keys in areas(window) for one in keys for key in one.keys}
        actions = [action for action in window.findChildren(QAction) if not action.shortcut().isEmpty()]
        assert len(actions) > 15
        for action in actions:
            for key in action.shortcuts():
                words = action.text().replace("&", "").removesuffix("…")
                assert (key.toString(QKeySequence.SequenceFormat.PortableText), words) in listed, action.text()
        assert not window.findChildren(QShortcut), "what has keys is an action, so that the palette has it too"


class Marked(gettext.NullTranslations):
    def gettext(self, message: str) -> str:
        return f"«{message}»"


async def test_it_speaks_the_language_in_use(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(i18n, "_words", Marked())
    async with opened(qtbot, tmp_path, until) as window:
        found = dict(areas(window))
    assert set(found) >= {"«Window»", "«View»", *(f"«{area}»" for area in PANE_KEYS)}
    assert all(area.startswith("«") for area in found)
    window_keys = {one.words for one in found["«Window»"]}
    assert "«Keyboard shortcuts»" in window_keys
    for area, own in PANE_KEYS.items():
        assert {f"«{one.words}»" for one in own} <= {one.words for one in found[f"«{area}»"]}


async def test_no_keys_mean_two_things(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    """Two actions of one window with the same keys do neither: Qt calls them ambiguous."""
    async with opened(qtbot, tmp_path, until) as window:
        taken: dict[str, str] = {}
        for action in window.actions():
            for key in action.shortcuts():
                assert taken.setdefault(key.toString(), action.text()) == action.text()


async def test_f1_opens_it_and_escape_closes_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.activateWindow()
        qtbot.keyClick(window.items.view, Qt.Key.Key_F1)

        def sheet() -> QWidget | None:
            return next((one for one in QApplication.topLevelWidgets() if isinstance(one, ShortcutSheet)), None)

        await until(lambda: sheet() is not None)
        shown = sheet()
        assert shown is not None
        words = {label.text() for label in shown.findChildren(QLabel)}
        assert {"Window", "Do or go to", "Namespaces and facets", "Copy as Markdown"} <= words
        qtbot.keyClick(shown, Qt.Key.Key_Escape)
        await until(lambda: sheet() is None)
