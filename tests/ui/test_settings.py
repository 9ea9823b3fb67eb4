"""What is remembered of the looks is there at the next start, and what the system asks for is done."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QApplication

from explorer.engines import ConnectionStore
from explorer.options import Options
from explorer.ui import app
from explorer.ui.main_window import MainWindow
from explorer.ui.theme import LIGHT, Theme, theme
from tests.conftest import Until


@pytest.fixture
def restored(themed: Theme, qapp: QApplication) -> Iterator[Theme]:
    yield themed
    themed.high_contrast = False
    themed.set_zoom(100)
    themed.apply(qapp, "light")


class Ends(QObject):
    """The signals by which a program is asked to end."""

    received = Signal()


@pytest.fixture
def at_home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A program that lives in the test's own folder, and leaves the process as it is."""

    @asynccontextmanager
    async def places(options: Options) -> AsyncIterator[tuple[ConnectionStore, Path, Path]]:
        yield ConnectionStore(tmp_path / "connections.json"), tmp_path / "sample.db", tmp_path

    monkeypatch.setattr(app, "_places", places)
    monkeypatch.setattr(app, "_end_at_latest", lambda _: None)
    monkeypatch.setattr(app, "_catch_uncaught", lambda _: None)


@asynccontextmanager
async def run_of_the_program(qapp: QApplication, until: Until) -> AsyncIterator[MainWindow]:
    """The program from its start to its end."""
    before, ends = set(map(id, QApplication.topLevelWidgets())), Ends()
    running = asyncio.ensure_future(app._run(qapp, ends, Options(language="en", theme="light")))  # type: ignore[arg-type]

    def windows() -> list[MainWindow]:
        tops = QApplication.topLevelWidgets()
        return [one for one in tops if isinstance(one, MainWindow) and id(one) not in before and one.isVisible()]

    await until(windows)
    (window,) = windows()
    await until(lambda: window.is_idle)
    yield window
    ends.received.emit()
    assert await running == 0
    window.deleteLater()


@pytest.mark.limit_s(40)  # two starts of the program
async def test_contrast_and_size_of_text_are_there_at_the_next_start(
    qapp: QApplication, restored: Theme, at_home: None, until: Until
) -> None:
    async with run_of_the_program(qapp, until) as window:
        assert (theme().zoom, theme().is_high_contrast) == (100, False)
        window.zoom_in_action.trigger()
        window.zoom_in_action.trigger()
        window.contrast_action.trigger()
        size = theme().size_px("body")
    restored.high_contrast = False
    restored.set_zoom(100)
    async with run_of_the_program(qapp, until) as window:
        assert (theme().zoom, theme().is_high_contrast) == (125, True)
        assert theme().size_px("body") == size
        assert theme().color("line") == theme().color("text")
        assert window.contrast_action.isChecked()


def test_high_contrast_comes_and_goes_with_the_system(
    qapp: QApplication, restored: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    hints = QGuiApplication.styleHints()
    wanted = Qt.ContrastPreference.NoPreference

    class Accessibility:
        def contrastPreference(self) -> Qt.ContrastPreference:
            return wanted

    class Hints:
        def accessibility(self) -> Accessibility:
            return Accessibility()

        def __getattr__(self, name: str) -> object:
            return getattr(hints, name)

    monkeypatch.setattr(qapp, "styleHints", Hints, raising=False)
    restored.apply(qapp, "light")
    assert not theme().is_high_contrast
    wanted = Qt.ContrastPreference.HighContrast
    hints.accessibility().contrastPreferenceChanged.emit(wanted)
    assert theme().is_high_contrast
    assert not theme().high_contrast, "it is the system's wish, not the person's"
    assert theme().color("line") == theme().color("text")
    wanted = Qt.ContrastPreference.NoPreference
    hints.accessibility().contrastPreferenceChanged.emit(wanted)
    assert not theme().is_high_contrast
    assert theme().color("line").name().upper() == LIGHT["line"]
