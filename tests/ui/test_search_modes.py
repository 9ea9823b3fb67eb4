"""The way to search that is chosen is the one the engine is asked for."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt
from pytestqt.qtbot import QtBot

from explorer.contract import FetchMode
from explorer.ui.trail import View
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.test_main_window import opened

MODES = [FetchMode.KEYWORD, FetchMode.VECTOR, FetchMode.HYBRID]


def asked(engine: FakeEngine) -> list[tuple[str, FetchMode]]:
    return [(req.query, req.mode) for req in engine.requests("fetch")]


async def test_the_mode_that_is_chosen_is_the_one_that_is_used(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await filled([learning("refunds need a second approval"), learning("the ledger closes at six")])
    assert isinstance(engine, FakeEngine)
    async with opened(qtbot, tmp_path, until, engine) as window:
        box, edit = window.search_box.mode_box, window.search_box.search_edit
        assert [box.itemData(row) for row in range(box.count())] == MODES
        assert box.currentData() == FetchMode.HYBRID
        qtbot.keyClick(box, Qt.Key.Key_Home)
        await until(lambda: window.is_idle)
        assert asked(engine) == [], "a mode alone is no search"
        edit.setText("refunds")
        qtbot.keyClick(edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        assert set(asked(engine)) == {("refunds", FetchMode.KEYWORD)}
        assert window.items.aside_label.text() == "found by keyword"
        for mode in MODES[1:]:
            before = len(asked(engine))
            qtbot.keyClick(box, Qt.Key.Key_Down)
            await until(lambda: window.is_idle)
            assert set(asked(engine)[before:]) == {("refunds", mode)}
            assert window.trail.current == View(query="refunds", mode=mode)
            assert window.items.aside_label.text() == f"found by {mode}"
        window.back_action.trigger()
        await until(lambda: window.is_idle)
        assert window.trail.current == View(), "trying modes is one step, as typing is"
