"""Who writes answers: off until it is turned on, told before anything is sent, and the engine's own where it fails."""

from __future__ import annotations

import json
import threading
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import keyring
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit
from pytestqt.qtbot import QtBot

from explorer.asking import By, WriterSettings, WriterStore
from explorer.asking.settings import KEYRING_SERVICE
from explorer.contract import NOTHING_ANSWERS
from explorer.engines import KeyPlace, KeyStore, StaticCredential
from explorer.ui.dialogs.writer import WriterDialog
from tests.conftest import Until
from tests.engines.keyrings import MemoryKeyring
from tests.fakes import FakeEngine, filled
from tests.ui.test_app import running
from tests.ui.test_ask_panel import ITEMS, asked, banner_button, label, said, showing

KEY = "sk-test-0123456789"


class Server:
    """A chat endpoint on this computer. `requests` are the bodies it was sent, `keys` the headers that went along."""

    def __init__(self) -> None:
        self.requests: list[Any] = []
        self.keys: list[str | None] = []
        self.status = 200
        self.answer = "The ledger closes at six [1]. Everybody knows that."
        self.may_answer = threading.Event()
        self.may_answer.set()
        server = self

        class Handler(BaseHTTPRequestHandler):
            def do_POST(self) -> None:
                server.requests.append(json.loads(self.rfile.read(int(self.headers["Content-Length"]))))
                server.keys.append(self.headers.get("Authorization"))
                server.may_answer.wait(5)
                content = {"role": "assistant", "content": server.answer}
                body = json.dumps({"model": "gemma", "choices": [{"message": content}]}).encode()
                self.send_response(server.status)
                self.send_header("Content-Length", str(len(body)))
                self.end_headers()
                self.wfile.write(body)

            def log_message(self, format: str, *args: Any) -> None:
                """Nothing."""

        self._http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self._http.daemon_threads = True
        self._thread = threading.Thread(target=lambda: self._http.serve_forever(0.01))
        self._thread.start()
        self.url = f"http://127.0.0.1:{self._http.server_address[1]}/v1"

    def close(self) -> None:
        self.may_answer.set()
        self._http.shutdown()
        self._http.server_close()
        self._thread.join()


@pytest.fixture
def server() -> Iterator[Server]:
    made = Server()
    yield made
    made.close()


@pytest.fixture(autouse=True)
def kept_keys() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture
def store(tmp_path: Path) -> WriterStore:
    return WriterStore(tmp_path / "answers.json")


@asynccontextmanager
async def dialog_on(qtbot: QtBot, store: WriterStore, until: Until) -> AsyncIterator[WriterDialog]:
    dialog = WriterDialog(store)
    qtbot.addWidget(dialog)
    dialog.show()
    dialog.activateWindow()
    try:
        await until(lambda: not dialog.jobs.is_busy)
        yield dialog
    finally:
        await dialog.jobs.aclose()


def result(dialog: WriterDialog) -> str:
    found = dialog.findChild(QLabel, "testResult")
    assert isinstance(found, QLabel)
    return found.text() if found.isVisible() else ""


def type_into(qtbot: QtBot, edit: QLineEdit, words: str) -> None:
    edit.clear()
    qtbot.keyClicks(edit, words)


def fill(qtbot: QtBot, dialog: WriterDialog, url: str, key: str = "") -> None:
    if not dialog.on_check.isChecked():
        dialog.on_check.click()
    type_into(qtbot, dialog.endpoint_edit, url)
    type_into(qtbot, dialog.model_edit, "gemma")
    if key:
        dialog.place_box.setCurrentIndex(dialog.place_box.findData(KeyPlace.KEYRING.value))
        type_into(qtbot, dialog.key_edit, key)


async def test_it_is_off_until_it_is_turned_on(qtbot: QtBot, store: WriterStore, until: Until) -> None:
    async with dialog_on(qtbot, store, until) as dialog:
        assert not dialog.on_check.isChecked()
        assert not dialog.endpoint_edit.isEnabled()
        assert not dialog.test_button.isEnabled()
        assert dialog.warning.text() == "It is off: no question and no passage is sent to any model."
        dialog.on_check.click()
        type_into(qtbot, dialog.endpoint_edit, "http://localhost:11434/v1")
        told = dialog.warning.text().replace("\u2068", "").replace("\u2069", "")
        assert told.startswith(
            "Each question, and the passages that are found for it, are then sent to localhost:11434/v1"
        )
        assert dialog.warning.property("tone") == "caution"
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
    assert not store.path.exists(), "what is not saved is not kept"


async def test_it_is_tested_with_nothing_that_is_stored(
    qtbot: QtBot, store: WriterStore, until: Until, server: Server
) -> None:
    async with dialog_on(qtbot, store, until) as dialog:
        fill(qtbot, dialog, server.url, KEY)
        assert server.requests == [], "nothing is sent while one types"
        qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        await until(lambda: not dialog.jobs.is_busy)
        assert result(dialog).startswith("gemma answers, in ")
        assert server.keys == [f"Bearer {KEY}"]
        assert "The door of the office was painted green." in json.dumps(server.requests)
        server.status = 401
        qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        await until(lambda: not dialog.jobs.is_busy)
        assert "key" in result(dialog)
        assert KEY not in result(dialog)
        type_into(qtbot, dialog.endpoint_edit, "no address")
        assert result(dialog) == "", "what was found was another address's"
        qtbot.mouseClick(dialog.test_button, Qt.MouseButton.LeftButton)
        await until(lambda: not dialog.jobs.is_busy)
        assert "must be" in result(dialog)
        assert len(server.requests) == 2


async def test_a_test_can_be_stopped(qtbot: QtBot, store: WriterStore, until: Until, server: Server) -> None:
    async with dialog_on(qtbot, store, until) as dialog:
        fill(qtbot, dialog, server.url)
        server.may_answer.clear()
        dialog.test_button.click()
        await until(lambda: server.requests)
        assert dialog.test_button.text() == "Stop testing"
        dialog.test_button.click()
        await until(lambda: not dialog.jobs.is_busy)
        assert (dialog.test_button.text(), result(dialog)) == ("Test", "")


async def test_a_kept_key_never_comes_back_on_screen(qtbot: QtBot, store: WriterStore, until: Until) -> None:
    url = "http://localhost:11434/v1"
    async with dialog_on(qtbot, store, until) as dialog:
        fill(qtbot, dialog, url, KEY)
        dialog.save_button.click()
        await until(lambda: not dialog.isVisible())
    assert KEY not in store.path.read_text("utf-8")
    assert KeyStore(KEYRING_SERVICE).get("localhost:11434/v1") == StaticCredential(KEY)
    async with dialog_on(qtbot, store, until) as dialog:
        assert dialog.on_check.isChecked()
        assert (dialog.endpoint_edit.text(), dialog.model_edit.text()) == (url, "gemma")
        assert dialog.key_edit.text() == ""
        assert dialog.key_edit.placeholderText() == "kept; enter a new one to replace it"
        type_into(qtbot, dialog.endpoint_edit, "http://localhost:8080/v1")
        assert dialog.key_edit.placeholderText() == "", "another address has another key"
        dialog.save_button.click()
        await until(lambda: not dialog.jobs.is_busy)
        assert result(dialog) == "Enter the key, or choose that none is needed."
        type_into(qtbot, dialog.endpoint_edit, url)
        dialog.place_box.setCurrentIndex(dialog.place_box.findData(KeyPlace.NONE.value))
        dialog.save_button.click()
        await until(lambda: not dialog.isVisible())
    assert KeyStore(KEYRING_SERVICE).get("localhost:11434/v1") is None, "it is not left behind"


async def test_the_key_of_an_address_that_is_left_is_not_kept(qtbot: QtBot, store: WriterStore, until: Until) -> None:
    for port, key in ((11434, KEY), (8080, "sk-other")):
        async with dialog_on(qtbot, store, until) as dialog:
            fill(qtbot, dialog, f"http://localhost:{port}/v1", key)
            dialog.save_button.click()
            await until(lambda dialog=dialog: not dialog.isVisible())
    assert KeyStore(KEYRING_SERVICE).get("localhost:11434/v1") is None
    assert KeyStore(KEYRING_SERVICE).get("localhost:8080/v1") == StaticCredential("sk-other")


@pytest.mark.parametrize(
    ("url", "model", "why"),
    [
        ("", "gemma", "endpoint"),
        ("ftp://x", "gemma", "endpoint"),
        ("http://somebody:secret@localhost/v1", "gemma", "endpoint"),
        ("http://localhost:1/v1", " ", "model"),
    ],
)
async def test_what_could_not_write_is_not_saved(
    qtbot: QtBot, store: WriterStore, until: Until, url: str, model: str, why: str
) -> None:
    async with dialog_on(qtbot, store, until) as dialog:
        fill(qtbot, dialog, url)
        type_into(qtbot, dialog.model_edit, model)
        dialog.save_button.click()
        await until(lambda: not dialog.jobs.is_busy)
        assert dialog.isVisible()
        assert why in result(dialog)
        assert "secret" not in result(dialog)
    assert not store.path.exists()


# Asking with it


async def test_the_model_writes_and_what_rests_on_nothing_is_marked(
    qtbot: QtBot, store: WriterStore, until: Until, server: Server
) -> None:
    store.save(WriterSettings(is_on=True, endpoint=server.url, model="gemma"))
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.writers = store
        panel.hide()
        panel.show()
        await until(lambda: panel.writer_label.isVisible())
        place = server.url.removeprefix("http://")
        told = panel.writer_label.text().replace("\u2068", "").replace("\u2069", "")
        assert told == f"The question, and what is found for it, go to {place}."
        assert server.requests == []
        await asked(qtbot, panel, until)
        assert said(panel) == ["The ledger closes at six.", "Everybody knows that."]
        assert [row.why for row in panel.view.sentences] == ["", "no citation"]
        by = label(panel, "answeredByLabel").text().replace("\u2068", "").replace("\u2069", "")
        assert by.startswith(f"Written by gemma at {place}, ")
        assert len(server.requests) == 1


async def test_a_model_that_finds_no_answer_is_named_and_what_it_read_is_shown(
    qtbot: QtBot, store: WriterStore, until: Until, server: Server
) -> None:
    store.save(WriterSettings(is_on=True, endpoint=server.url, model="gemma"))
    server.answer = NOTHING_ANSWERS
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.writers = store
        await asked(qtbot, panel, until)
        assert label(panel, "nothingLabel").text() == "Nothing stored answers this question."
        assert "gemma" in label(panel, "answeredByLabel").text()
        assert panel.view.sources == []
        assert panel.view.not_cited
        assert panel.view.not_cited[0].isVisible(), "it is all that there is to look at"


async def test_where_it_fails_the_engines_own_answer_stands(
    qtbot: QtBot, store: WriterStore, until: Until, server: Server
) -> None:
    store.save(WriterSettings(is_on=True, endpoint=server.url, model="gemma"))
    server.status = 500
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.writers = store
        await asked(qtbot, panel, until)
        assert any("The ledger closes at six" in each for each in said(panel))
        assert label(panel, "answeredByLabel").text().startswith("Put together by the engine")
        assert panel.banner.sentence.startswith("The model did not write the answer. ")
        assert panel.banner.sentence.endswith("This is the engine's own.")
        assert banner_button(panel.banner).text() == "Settings…"
        banner_button(panel.banner).click()
        dialog = panel.window().findChild(WriterDialog)
        assert dialog is not None
        await until(lambda: not dialog.jobs.is_busy)
        dialog.reject()


async def test_a_key_that_is_not_there_is_said_and_nothing_is_sent(
    qtbot: QtBot, store: WriterStore, until: Until, server: Server
) -> None:
    store.save(WriterSettings(is_on=True, endpoint=server.url, model="gemma", key_from=KeyPlace.KEYRING))
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.writers = store
        await asked(qtbot, panel, until)
        assert said(panel)
        assert "key" in panel.banner.sentence
        assert server.requests == []


async def test_cancelling_ends_what_the_model_was_asked(
    qtbot: QtBot, store: WriterStore, until: Until, server: Server
) -> None:
    store.save(WriterSettings(is_on=True, endpoint=server.url, model="gemma"))
    server.may_answer.clear()
    async with showing(qtbot, await filled(ITEMS)) as panel:
        panel.writers = store
        qtbot.keyClicks(panel.ask_edit, "ledger")
        qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Return)
        await until(lambda: server.requests)
        qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Escape)
        await until(lambda: not panel.jobs.is_busy)
        assert panel.answered is None


async def test_what_is_turned_off_while_the_engine_looks_sends_nothing(
    qtbot: QtBot, store: WriterStore, until: Until, server: Server
) -> None:
    store.save(WriterSettings(is_on=True, endpoint=server.url, model="gemma"))
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    gate = engine.hold("recall")
    async with showing(qtbot, engine) as panel:
        panel.writers = store
        panel.ask_about("When does the ledger close?")
        await until(lambda: gate.waiting == 1)
        store.save(WriterSettings(endpoint=server.url, model="gemma"))
        gate.open()
        await until(lambda: panel.answered is not None)
        assert server.requests == []
        assert panel.answered is not None
        assert panel.answered.by is By.ENGINE
        assert "It was turned off meanwhile" in panel.banner.sentence


async def test_without_the_setting_nothing_leaves(
    qtbot: QtBot, tmp_path: Path, until: Until, listener: Callable[[], bool]
) -> None:
    """In the program as it starts, with settings that are filled in and off."""
    port = listener.port  # type: ignore[attr-defined]
    store = WriterStore(tmp_path / "answers.json")
    store.save(WriterSettings(is_on=False, endpoint=f"http://127.0.0.1:{port}/v1", model="gemma"))
    async with running(qtbot, tmp_path) as program:
        panel = program.window.asking
        assert panel.writers is not None
        assert panel.writers.path == store.path
        engine = await filled(ITEMS)
        program.window.show_engine(engine, "a", is_read_only=False)
        program.window.show_asking("When does the ledger close?")
        await until(lambda: panel.answered is not None)
        assert said(panel)
        assert not listener()
