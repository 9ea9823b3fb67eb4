"""No words are cut: at any scale of the screen, in the real program, and at any size of text."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from PySide6.QtGui import QImage
from PySide6.QtWidgets import QCheckBox, QComboBox, QLabel, QLineEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from explorer.ui.theme import theme
from tests.conftest import Until
from tests.ui.looks import cut_in_all, cut_words
from tests.ui.test_main_window import opened

WORDS = "Everything that is stored here"


@pytest.fixture(autouse=True)
def _as_before() -> Iterator[None]:
    yield
    theme().set_zoom(100)


def wrapped() -> QLabel:
    label = QLabel(WORDS)
    label.setWordWrap(True)
    return label


def combo() -> QComboBox:
    box = QComboBox()
    box.addItem(WORDS)
    return box


def asking() -> QLineEdit:
    edit = QLineEdit()
    edit.setPlaceholderText(WORDS)
    return edit


@pytest.mark.parametrize(
    "make", [lambda: QLabel(WORDS), wrapped, lambda: QPushButton(WORDS), lambda: QCheckBox(WORDS), combo, asking]
)
def test_what_is_cut_is_found(qtbot: QtBot, make: type[QWidget]) -> None:
    page = QWidget()
    qtbot.addWidget(page)
    page.resize(600, 200)
    widget = make()
    widget.setParent(page)
    page.show()
    widget.resize(400, 40)
    assert cut_words(page) == []
    widget.resize(60, 30)
    assert len(cut_words(page)) == 1, "in width"
    widget.resize(400, 6)
    low = widget.height() < widget.fontMetrics().height()  # where the theme lets it be that low
    assert len(cut_words(page)) == low, "in height"


@pytest.mark.parametrize("scale", [1, 1.5, 2.75])
def test_the_program_cuts_no_words_at_any_scale(tmp_path: Path, scale: float) -> None:
    """Its window and, over it, each of its dialogs."""
    out = tmp_path / "window.png"
    home = {name: str(tmp_path / name) for name in ("HOME", "XDG_CONFIG_HOME", "XDG_DATA_HOME", "XDG_CACHE_HOME")}
    command = [sys.executable, "-m", "tests.ui.looks", "--sample", "--shot", str(out), "--size", "1280x800"]
    done = subprocess.run(
        [*command, "--scale", f"{scale}"],
        env={**os.environ, **home, "QT_QPA_PLATFORM": "offscreen"},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert (done.returncode, done.stderr) == (0, "")
    image = QImage(str(out))
    assert (image.width(), image.height()) == (round(1280 * scale), round(800 * scale))
    assert json.loads(done.stdout.splitlines()[-1]) == {"scale": scale, "cut": []}


@pytest.mark.limit_s(60)  # every dialog of the program
@pytest.mark.parametrize("percent", [150, 275])
async def test_no_words_are_cut_at_any_size_of_text(qtbot: QtBot, tmp_path: Path, until: Until, percent: int) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.resize(1280 * percent // 100, 800 * percent // 100)
        theme().set_zoom(percent)
        window.place_docks()
        await until(lambda: window.is_idle)
        assert await cut_in_all(window, tmp_path) == []
