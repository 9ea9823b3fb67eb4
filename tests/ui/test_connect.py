"""The connections dialog: it asks for what the engine needs, tests without a trace, and never shows a key."""

from __future__ import annotations

import threading
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from pathlib import Path

import keyring
import keyring.backends.null
import keyring.errors
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import EngineDescriptor, FetchMode
from explorer.engines import (
    ConnectionStore,
    EngineSettings,
    KeyPlace,
    KeyStore,
    SavedConnection,
    build_engine,
    list_engines,
)
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.dialogs.connect_parts.cards import EngineCard
from explorer.ui.dialogs.key import KeyDialog
from tests.conftest import Until
from tests.engines.keyrings import MemoryKeyring
from tests.fakes import FakeEngine, learning

KEY = "sk-test-0123456789"
HOSTED = EngineDescriptor(
    id="hosted-test",
    label="Hosted",
    description="somewhere else",
    hosted=True,
    needs_endpoint=False,
    needs_key=True,
    default_endpoint="https://memory.example",
    fetch_modes=[FetchMode.HYBRID],
)


@pytest.fixture
def kept_keys() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@asynccontextmanager
async def showing(qtbot: QtBot, store: ConnectionStore, current: str = "") -> AsyncIterator[ConnectDialog]:
    dialog = ConnectDialog(store, KeyStore(), store.load(), [*list_engines(), HOSTED], current)
    qtbot.addWidget(dialog)
    dialog.show()
    try:
        yield dialog
    finally:
        await dialog.jobs.aclose()


def choose_engine(qtbot: QtBot, dialog: ConnectDialog, id: str) -> None:
    card = dialog.findChild(EngineCard, f"engine:{id}")
    assert card is not None
    qtbot.mouseClick(card, Qt.MouseButton.LeftButton)


def visible(dialog: ConnectDialog) -> set[str]:
    names = {"pathEdit", "readOnlyCheck", "endpointEdit", "keyEdit", "keyPlaceBox", "variableEdit", "nameEdit"}
    return {name for name in names if dialog.findChild(QWidget, name).isVisible()}


def result(dialog: ConnectDialog) -> str:
    label = dialog.findChild(QWidget, "testResult")
    return label.text() if label.isVisible() else ""


async def test_only_what_an_engine_needs_is_asked(qtbot: QtBot, tmp_path: Path, kept_keys: MemoryKeyring) -> None:
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json")) as dialog:
        assert visible(dialog) == {"nameEdit", "pathEdit", "readOnlyCheck"}
        choose_engine(qtbot, dialog, "reference")
        assert visible(dialog) == {"nameEdit", "readOnlyCheck"}
        choose_engine(qtbot, dialog, "hosted-test")
        assert visible(dialog) == {"nameEdit", "readOnlyCheck", "endpointEdit", "keyPlaceBox", "keyEdit"}
        dialog.place_box.setCurrentIndex(dialog.place_box.findData(KeyPlace.ENVIRONMENT.value))
        assert visible(dialog) == {"nameEdit", "readOnlyCheck", "endpointEdit", "keyPlaceBox", "variableEdit"}
        dialog.place_box.setCurrentIndex(dialog.place_box.findData(KeyPlace.ASK.value))
        assert visible(dialog) == {"nameEdit", "readOnlyCheck", "endpointEdit", "keyPlaceBox"}


async def test_a_new_file_is_saved_and_chosen(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    async with showing(qtbot, store) as dialog:
        qtbot.keyClicks(dialog.path_edit, str(tmp_path / "new.db"))
        dialog.open_button.click()
        await until(lambda: dialog.chosen_name)
        assert dialog.chosen_name == "new.db"
        assert dialog.result() == ConnectDialog.DialogCode.Accepted
    assert [saved.name for saved in store.load()] == ["new.db"]


async def test_what_is_being_saved_is_saved_whole(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    store, gate = ConnectionStore(tmp_path / "c.json"), threading.Event()
    add = store.add

    def add_late(saved: SavedConnection) -> None:
        gate.wait(5)
        add(saved)

    monkeypatch.setattr(store, "add", add_late)
    async with showing(qtbot, store) as dialog:
        qtbot.keyClicks(dialog.path_edit, str(tmp_path / "new.db"))
        dialog.open_button.click()
        await until(lambda: dialog.jobs.is_running("save"))
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        dialog.close()
        assert dialog.isVisible()
        gate.set()
        await until(lambda: dialog.chosen_name)
        assert dialog.result() == ConnectDialog.DialogCode.Accepted
    assert [saved.name for saved in store.load()] == ["new.db"]


async def test_a_missing_file_name_is_a_sentence(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    async with showing(qtbot, store) as dialog:
        dialog.open_button.click()
        await until(lambda: result(dialog) and not dialog.jobs.is_running("test"))
        assert "hoose a file" in result(dialog)
        assert dialog.isVisible()
    assert store.load() == []


async def test_a_test_counts_and_leaves_no_trace(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "a.db"
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    await engine.store_many([learning("one"), learning("two", "team:acme"), learning("three", "team:acme/service:x")])
    await engine.aclose()
    before = path.read_bytes()
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json")) as dialog:
        qtbot.keyClicks(dialog.path_edit, str(path))
        dialog.test_button.click()
        await until(lambda: result(dialog) and not dialog.jobs.is_running("test"))
        assert result(dialog).startswith("Healthy. 3 items at 3 nodes")
    assert path.read_bytes() == before
    assert {file.name for file in tmp_path.iterdir()} == {"a.db"}


async def test_a_test_of_something_else_says_what_it_is(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "a.db"
    path.write_text("no database at all, only words\n" * 50)
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json")) as dialog:
        qtbot.keyClicks(dialog.path_edit, str(path))
        dialog.test_button.click()
        await until(lambda: result(dialog) and not dialog.jobs.is_running("test"))
        assert "a.db" in result(dialog)
        assert not result(dialog).startswith("Healthy")


async def test_a_path_is_said_as_it_is_written(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "MyFile.DB"
    path.write_text("no database at all, only words\n" * 50)
    async with showing(qtbot, ConnectionStore(tmp_path / "c.json")) as dialog:
        qtbot.keyClicks(dialog.path_edit, str(path))
        dialog.test_button.click()
        await until(lambda: result(dialog) and not dialog.jobs.is_running("test"))
        assert "MyFile.DB" in result(dialog)
        assert result(dialog)[0].isupper() or result(dialog).startswith("`")


async def test_a_file_in_no_folder_is_refused_by_test_and_by_open(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    async with showing(qtbot, store) as dialog:
        qtbot.keyClicks(dialog.path_edit, str(tmp_path / "nowhere" / "a.db"))
        for button in (dialog.test_button, dialog.open_button):
            button.click()
            await until(lambda: not dialog.jobs.is_busy)
            assert "there is no folder" in result(dialog).lower()
    assert store.load() == []


async def test_a_result_belongs_to_the_connection_it_was_asked_for(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    for name in ("a", "b"):
        store.add(SavedConnection(name=name, engine="sqlite", settings=EngineSettings(path=str(tmp_path / name))))
    async with showing(qtbot, store, "a") as dialog:
        dialog.test_button.click()
        rows = [button for button in dialog._row_group.buttons() if "b" in button.accessibleName().split(",")[0]]
        qtbot.mouseClick(rows[0], Qt.MouseButton.LeftButton)
        await until(lambda: not dialog.jobs.is_busy)
        assert dialog.name_edit.text() == "b"
        assert result(dialog) == ""


async def test_a_keyring_that_refuses_can_be_tried_again(
    qtbot: QtBot, tmp_path: Path, until: Until, kept_keys: MemoryKeyring, monkeypatch: pytest.MonkeyPatch
) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    monkeypatch.setattr("explorer.ui.dialogs.connect_parts.trial.build_engine", lambda *_: FakeEngine())

    async with showing(qtbot, store) as dialog:
        choose_engine(qtbot, dialog, "hosted-test")
        qtbot.keyClicks(dialog.name_edit, "cloud")
        qtbot.keyClicks(dialog.key_edit, KEY)
        with monkeypatch.context() as patch:
            patch.setattr(kept_keys, "set_password", _locked)
            dialog.open_button.click()
            await until(lambda: result(dialog) and not dialog.jobs.is_running("test"))
        assert "keyring" in result(dialog)
        assert KEY not in result(dialog)
        dialog.open_button.click()
        await until(lambda: dialog.chosen_name == "cloud")
    assert [saved.name for saved in store.load()] == ["cloud"]
    assert kept_keys.kept == {("tinymemory-explorer", "cloud"): KEY}


@pytest.mark.parametrize("change", ["place", "rename", "rename and key", "rename refused"])
async def test_no_key_stays_behind_in_the_keyring(
    change: str,
    qtbot: QtBot,
    tmp_path: Path,
    until: Until,
    kept_keys: MemoryKeyring,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setattr("explorer.ui.dialogs.connect_parts.trial.build_engine", lambda *_: FakeEngine())
    store = ConnectionStore(tmp_path / "c.json")
    store.add(SavedConnection(name="old", engine="hosted-test", key_from=KeyPlace.KEYRING))
    kept_keys.set_password("tinymemory-explorer", "old", KEY)
    async with showing(qtbot, store, "old") as dialog:
        await until(lambda: not dialog.jobs.is_busy)
        if change == "place":
            dialog.place_box.show_place(KeyPlace.ASK)
        else:
            dialog.name_edit.setText("new")
        if change == "rename and key":
            qtbot.keyClicks(dialog.key_edit, "another")
        if change == "rename refused":
            with monkeypatch.context() as patch:
                patch.setattr(kept_keys, "set_password", _locked)
                dialog.open_button.click()
                await until(lambda: result(dialog))
        dialog.open_button.click()
        await until(lambda: dialog.chosen_name)
    key = {"place": None, "rename and key": "another"}.get(change, KEY)
    assert kept_keys.kept == ({("tinymemory-explorer", "new"): key} if key else {})


def _locked(service: str, username: str, password: str) -> None:
    raise keyring.errors.PasswordSetError("locked")


async def test_without_a_keyring_the_key_is_asked_for(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    before = keyring.get_keyring()
    keyring.set_keyring(keyring.backends.null.Keyring())
    try:
        async with showing(qtbot, ConnectionStore(tmp_path / "c.json")) as dialog:
            choose_engine(qtbot, dialog, "hosted-test")
            await until(lambda: not dialog.jobs.is_busy)
            assert dialog.place_box.currentData() == KeyPlace.ASK.value
            row = dialog.place_box.findData(KeyPlace.KEYRING.value)
            assert (
                not dialog.place_box.model().flags(dialog.place_box.model().index(row, 0)) & Qt.ItemFlag.ItemIsEnabled
            )
    finally:
        keyring.set_keyring(before)


async def test_renaming_keeps_one_entry(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    store.add(SavedConnection(name="old", engine="sqlite", settings=EngineSettings(path=str(tmp_path / "a.db"))))
    async with showing(qtbot, store, "old") as dialog:
        dialog.name_edit.selectAll()
        qtbot.keyClicks(dialog.name_edit, "new")
        dialog.open_button.click()
        await until(lambda: dialog.chosen_name == "new")
    assert [saved.name for saved in store.load()] == ["new"]


async def test_removing_takes_the_entry_and_not_the_file(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    path = tmp_path / "a.db"
    path.write_bytes(b"kept")
    store = ConnectionStore(tmp_path / "c.json")
    store.add(SavedConnection(name="a", engine="sqlite", settings=EngineSettings(path=str(path))))
    async with showing(qtbot, store, "a") as dialog:
        dialog.remove_button.click()
        await until(lambda: store.load() == [] and not dialog.jobs.is_busy)
        assert not dialog.remove_button.isEnabled()
    assert path.read_bytes() == b"kept"


async def test_a_kept_key_never_comes_back_on_screen(qtbot: QtBot, tmp_path: Path, kept_keys: MemoryKeyring) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    store.add(SavedConnection(name="cloud", engine="hosted-test", key_from=KeyPlace.KEYRING))
    kept_keys.set_password("tinymemory-explorer", "cloud", KEY)
    async with showing(qtbot, store, "cloud") as dialog:
        assert dialog.key_edit.text() == ""
        assert "kept" in dialog.key_edit.placeholderText()
        for edit in dialog.findChildren(QLineEdit):
            assert KEY not in edit.text() + edit.placeholderText() + edit.toolTip()


async def test_names_of_connections_are_drawn_as_they_are(qtbot: QtBot, tmp_path: Path) -> None:
    store = ConnectionStore(tmp_path / "c.json")
    name = "<img src='http://127.0.0.1:9/x'>"
    store.add(SavedConnection(name=name, engine="sqlite", settings=EngineSettings(path=str(tmp_path / "a.db"))))
    async with showing(qtbot, store, name) as dialog:
        assert dialog._title.text() == name
        assert dialog._title.textFormat() == Qt.TextFormat.PlainText


def test_the_key_question_hides_what_is_typed(qtbot: QtBot) -> None:
    dialog = KeyDialog("Acme <b>cloud</b>", "the keyring holds no key; enter it")
    qtbot.addWidget(dialog)
    assert not dialog.open_button.isEnabled()
    qtbot.keyClicks(dialog.key_edit, KEY)
    assert dialog.open_button.isEnabled()
    assert KEY not in dialog.key_edit.displayText()
    assert KEY not in repr(dialog.credential)
    assert dialog.credential.reveal() == KEY
