"""What is remembered of the looks is there at the next start, and what the system asks for is done."""

from __future__ import annotations

import asyncio
import base64
import json
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import pytest
from PySide6.QtCore import QByteArray, QObject, QSettings, Qt, Signal
from PySide6.QtGui import QAction, QGuiApplication
from PySide6.QtWidgets import QApplication, QMenu
from pytestqt.qtbot import QtBot

from explorer.engines import ConnectionStore, EngineSettings, KeyStore, SavedConnection
from explorer.options import Options
from explorer.ui import app
from explorer.ui.main_window import MainWindow, open_settings
from explorer.ui.theme import LIGHT, Theme, theme
from explorer.ui.trail import View
from explorer.ui.views import SavedView, SavedViews
from explorer.ui.windows import Windows
from explorer.ui.zoom import saved_zoom
from tests.conftest import Until
from tests.ui.test_app import memory
from tests.ui.test_main_window import opened


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
    monkeypatch.setattr(app, "_end_at_latest", lambda *_: None)
    monkeypatch.setattr(app, "_catch_uncaught", lambda _: None)


def shown() -> list[MainWindow]:
    return [one for one in QApplication.topLevelWidgets() if isinstance(one, MainWindow) and one.isVisible()]


@asynccontextmanager
async def run_of_the_program(
    qapp: QApplication, until: Until, n: int = 1, n_open: int | None = None
) -> AsyncIterator[MainWindow]:
    """The program from its start, with `n` windows, to its end; something is open in `n_open`, else in all."""
    ends = Ends()
    assert shown() == []
    running = asyncio.ensure_future(app._run(qapp, ends, Options(language="en", theme="light")))  # type: ignore[arg-type]
    await until(lambda: len(shown()) == n)
    await until(lambda: sum(one.engine is not None for one in shown()) == (n if n_open is None else n_open))
    await until(lambda: all(one.is_idle and (one.engine or one.error_banner.sentence) for one in shown()))
    yield shown()[0]
    windows = shown()
    ends.received.emit()
    assert await running == 0
    for window in windows:
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


@pytest.mark.limit_s(60)  # three starts of the program
async def test_windows_that_were_open_together_are_opened_again(
    qapp: QApplication, restored: Theme, at_home: None, until: Until, tmp_path: Path
) -> None:
    path = await memory(tmp_path / "a.db", "one")
    store = ConnectionStore(tmp_path / "connections.json")
    store.add(SavedConnection(name="mine", engine="sqlite", settings=EngineSettings(path=str(path))))

    def places() -> dict[str, bool]:
        """By what is open in a window, whether the namespaces are there."""
        return {one.windowTitle().partition(" –")[0]: one._docks[0].isVisible() for one in shown()}

    async with run_of_the_program(qapp, until) as window:
        window.new_window_action.trigger()
        await until(lambda: len(shown()) == 2)
        (other,) = (one for one in shown() if one is not window)
        await until(lambda: other.engine is not None and other.is_idle)
        other.connection_chosen.emit("sample")
        await until(lambda: len(places()) == 2 and other.is_idle)
        other._docks[0].hide()
        left = places()
        assert left == {"mine": True, "Sample memory": False}

    async with run_of_the_program(qapp, until, n=2):
        assert places() == left
        (mine,) = (one for one in shown() if one.windowTitle().startswith("mine"))
        mine.close()
        await until(lambda: len(shown()) == 1)

    store.touch("mine")
    async with run_of_the_program(qapp, until):
        assert places().keys() == {"mine"}, "of one alone, what was opened last"


@pytest.mark.limit_s(40)
async def test_what_is_not_there_any_more_is_said_in_its_window(
    qapp: QApplication, restored: Theme, at_home: None, until: Until, tmp_path: Path
) -> None:
    gone, moved = tmp_path / "gone.db", tmp_path / "moved.db"
    ConnectionStore(tmp_path / "connections.json").add(
        SavedConnection(name="mine", engine="sqlite", settings=EngineSettings(path=str(moved)))
    )
    settings = open_settings(tmp_path)
    keys = ["sample", f"file:{gone}", "saved:mine", "saved:removed"]
    settings.setValue("windows", json.dumps([{"key": key} for key in keys]))
    settings.sync()
    async with run_of_the_program(qapp, until, n=4, n_open=1):
        said = {one.error_banner.sentence for one in shown() if one.engine is None}
        assert len(said) == 3
        for words in (
            "gone.db is not there any more",
            "moved.db is not there any more",
            "no saved connection named re",
        ):
            assert any(words in sentence for sentence in said), said
    assert not gone.exists(), "no empty memory in its place"
    assert not moved.exists()


def test_windows_that_make_no_sense_are_none(qapp: QApplication, tmp_path: Path) -> None:
    settings = open_settings(tmp_path)
    windows = Windows(settings, ConnectionStore(tmp_path / "c.json"), KeyStore(), tmp_path)
    for kept in (DEEP, "7", "[7, null, {}]", '[{"key": 7}]', ["a", "b"], QByteArray(b"[]")):
        settings.setValue("windows", kept)
        assert windows._kept() == []
    settings.setValue("windows", json.dumps([{"key": str(at)} for at in range(10_000)]))
    assert len(windows._kept()) == 20
    window = MainWindow(settings)
    window.restore_layout({"key": "x", "geometry": [], "state": 1e400})
    window.close_for_good()


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


# What makes no sense

KEYS = ("language", "theme", "highContrast", "zoom", "geometry", "state", "facets", "items", "searches")
DEEP = "[" * 100_000
ORDER = '"order": {"by": "observed", "descending": true}'
GARBAGE = [
    "de,en",
    "",
    "1, 2, 3",
    "99999999999999999999",
    "-5",
    "1e400",
    "nan",
    "null",
    "true",
    "\\x1\\x2\\x7f\\x1b[31m",
    "\\xd800",
    "@Invalid()",
    "@ByteArray()",
    "@ByteArray(\\0\\0\\0\\xff)",
    "@ByteArray(\\x1\\xd9\\xd0\\xcb)",
    "@Variant(\\0\\0)",
    "@Rect(1 2 3 4)",
    "@Size(-1 99999999)",
    '"[]"',
    '"{}"',
    '"[1, null, {}, [[]]]"',
    r'"{\"facets\": 5}"',
    f'"{DEEP}"',
]
OF_ITEMS = [
    f'{{{ORDER}, "shown": {{"TEXT": false}}, "widths": {{}}, "columns": []}}',
    f'{{{ORDER}, "shown": {{}}, "widths": {{"OBSERVED": 99999999999}}, "columns": []}}',
    f'{{{ORDER}, "shown": {{}}, "widths": {{"NODE": 1e400, "TEXT": -1e400, "CONFIDENCE": NaN}}, "columns": []}}',
    f'{{{ORDER}, "shown": {{}}, "widths": {{"NODE": -7, "OBSERVED": "wide", "CONFIDENCE": [1]}}, "columns": []}}',
    f'{{{ORDER}, "shown": {{}}, "widths": {{}}, "columns": ["TEXT", "TEXT", "KIND", "TEXT", "NODE"]}}',
    f'{{{ORDER}, "shown": {{}}, "widths": {{}}, "columns": [["TEXT"], null, 1]}}',
    f'{{{ORDER}, "shown": [], "widths": {{}}, "columns": []}}',
    '{"order": [1e400], "shown": {}, "widths": {}, "columns": []}',
    '{"order": {"by": "taste", "descending": "x"}, "shown": {}, "widths": {}, "columns": []}',
    DEEP,
]
OF_FACETS = ['{"facets": [[], null, "nope", 1e400]}', '{"facets": "tag", "open": {"tag": 1}, "trees": [[]]}', DEEP]
OF_SEARCHES = [
    '{"remembers": [], "queries": {"a": 1}}',
    '{"remembers": true, "queries": [null, 1e400, "  ", "\\ud800", "\\u0000\\u202e\\u001b", "x"]}',
    DEEP,
]


def looks(window: MainWindow) -> object:
    """What a person sees of everything that is remembered."""
    view = window.items.view
    docks = [(one.objectName(), one.isVisible(), one.isFloating(), one.width()) for one in window._docks]
    columns = [(column, view.columnWidth(column)) for column in view.shown_columns()]
    languages = [
        one.text() for one in window.findChildren(QAction) if one.isChecked() and one.text() == "As the system"
    ]
    facets = window.facets.model.arrangement, window.facets.model.facets
    return window.size(), docks, columns, window.items.order, languages, facets


def seen_of(settings: QSettings | None, qtbot: QtBot) -> object:
    """The looks of a window with these settings, whose menus have all been opened once."""
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.restore_layout()
    window.show()
    for menu in window.findChildren(QMenu):
        menu.aboutToShow.emit()
    window.items.view.head.setFocus()
    qtbot.keyClick(window.items.view.head, Qt.Key.Key_Right)
    assert not window.grab().isNull()
    assert QGuiApplication.primaryScreen().availableGeometry().intersects(window.geometry())
    found = looks(window)
    window.leave()
    window.close_for_good()
    return found


@pytest.mark.limit_s(60)  # a window for each
async def test_a_window_of_settings_that_make_no_sense_is_as_at_first(qtbot: QtBot, tmp_path: Path) -> None:
    first = seen_of(None, qtbot)
    for at, value in enumerate(GARBAGE):
        folder = tmp_path / str(at)
        folder.mkdir()
        (folder / "window.ini").write_text("[General]\n" + "".join(f"{key}={value}\n" for key in KEYS))
        settings = open_settings(folder)
        assert saved_zoom(settings.value("zoom")) == 100, value
        assert app._mode(settings.value("theme")) == "system", value
        assert seen_of(settings, qtbot) == first, value


@pytest.mark.limit_s(60)
async def test_an_arrangement_that_makes_no_sense_is_as_at_first(qtbot: QtBot, tmp_path: Path) -> None:
    first = seen_of(None, qtbot)
    for key, values in (("items", OF_ITEMS), ("facets", OF_FACETS), ("searches", OF_SEARCHES)):
        for value in values:
            settings = open_settings(tmp_path)
            settings.clear()
            settings.setValue(key, value)
            assert seen_of(settings, qtbot) == first, (key, value[:200])


async def test_a_saved_view_that_makes_no_sense_does_no_harm(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.views.open("key")
        before = looks(window)
        for items in OF_ITEMS:
            for facets in OF_FACETS:
                window.views.save(SavedView(name="x", items=items, facets=facets, layout="\x00é=" + items))
                window.show_saved("x")
        await until(lambda: window.is_idle)
        assert looks(window) == before


async def test_saved_views_nested_without_end_are_none(qtbot: QtBot, tmp_path: Path) -> None:
    settings, owner = open_settings(tmp_path), QObject()
    views = SavedViews(settings, owner)
    views.open("key")
    views.save(SavedView(name="x"))
    (key,) = [key for key in settings.allKeys() if key.startswith("views/")]
    for held in (DEEP, ["a", "b"], QByteArray(b"[]")):
        settings.setValue(key, held)
        views.open("key")
        assert views.views == []


def left_by_a_window(settings: QSettings, qtbot: QtBot) -> tuple[object, object]:
    """The looks of a window that is arranged by the person and then closed; and of one that was not."""
    first = seen_of(None, qtbot)
    window = MainWindow(settings)
    qtbot.addWidget(window)
    window.restore_layout()
    window.show()
    window.resize(1300, 800)
    window._docks[0].hide()
    window.leave()
    window.close_for_good()
    own = seen_of(settings, qtbot)
    assert own != first
    return own, first


def flipped(data: bytes, at: int) -> bytes:
    return data[:at] + bytes([data[at] ^ 0x80]) + data[at + 1 :]


@pytest.mark.parametrize("cut", [0, 4, 64, 65, 80, 120])
async def test_a_window_that_was_cut_off_in_the_file_is_seen_all_the_same(
    qtbot: QtBot, tmp_path: Path, cut: int
) -> None:
    settings = open_settings(tmp_path)
    _, first = left_by_a_window(settings, qtbot)
    for key in ("geometry", "state"):
        settings.setValue(key, str(settings.value(key))[:cut])
    assert seen_of(settings, qtbot) == first


async def test_a_changed_byte_in_what_was_left_of_a_window_does_no_harm(qtbot: QtBot, tmp_path: Path) -> None:
    """Qt ends the process at some of these bytes; with none of them is the window arranged by halves."""
    settings = open_settings(tmp_path)
    own, _ = left_by_a_window(settings, qtbot)
    kept = {key: str(settings.value(key)) for key in ("geometry", "state")}

    def seen_with(state: object) -> object:
        settings.setValue("geometry", kept["geometry"])
        settings.setValue("state", state)
        return seen_of(settings, qtbot)

    digest, _, words = kept["state"].partition(":")
    data = base64.b64decode(words)
    no_state = seen_with(None)
    assert no_state != own
    for at in (13, 15, 123, 125, len(data) - 1):
        assert seen_with(f"{digest}:{base64.b64encode(flipped(data, at)).decode()}") == no_state, at
    assert seen_with(QByteArray(data)) == no_state, "as it was left before there was a digest"
    assert seen_with(kept["state"]) == own


async def test_a_changed_byte_in_the_layout_of_a_saved_view_leaves_the_rest_of_it(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until) as window:
        window.views.open("key")
        window._docks[0].hide()
        window.views.save(window._saved_view("x").model_copy(update={"query": "refund"}))
        window._docks[0].show()
        whole = window.views.views[0].layout
        digest, _, words = whole.partition(":")
        data = base64.b64decode(words)
        for at in (13, 15, 123, 125):
            for layout in (f"{digest}:{base64.b64encode(flipped(data, at)).decode()}", words):
                window.views.save(SavedView(name="x", query="refund", layout=layout))
                window.go(View())
                window.show_saved("x")
                assert window.trail.current.query == "refund"
                assert window._docks[0].isVisible()
        window.views.save(SavedView(name="x", layout=whole))
        window.show_saved("x")
        assert not window._docks[0].isVisible()
        await until(lambda: window.is_idle)
