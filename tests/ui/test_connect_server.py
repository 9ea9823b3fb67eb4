"""A test of a connection to a server: what it counts, and each refusal in one sentence with what to do."""

from __future__ import annotations

import asyncio
import importlib.util
import logging
import re
import socket
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path

import keyring
import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QLabel, QLineEdit, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import ExplorePage, ExploreRequest, MetaFilter
from explorer.engines import (
    ConnectionStore,
    EngineSettings,
    KeyPlace,
    KeyStore,
    SavedConnection,
    StaticCredential,
    build_engine,
    list_engines,
)
from explorer.engines.cortex.pacing import Timing
from explorer.options import Options
from explorer.ui.dialogs.connect import ConnectDialog
from explorer.ui.dialogs.connect_parts import trial
from explorer.ui.dialogs.key import KeyDialog
from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble
from tests.doubles.fault_proxy import FaultProxy
from tests.doubles.serving import HttpServer, Reply, Request
from tests.engines.keyrings import MemoryKeyring
from tests.fakes import FakeEngine, learning, page_of
from tests.ui.test_app import dialog_of, is_idle, running
from tests.ui.test_connect import result
from tests.ui.test_connect_settings import choose_engine

ENGINES = pytest.mark.parametrize("id", ["cortexdb", "tinyhumans"])


@pytest.fixture(autouse=True)
def _asks_again_at_once(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(Timing, "gap", lambda *_: 0.001)


@pytest.fixture(autouse=True)
def kept_keys() -> Iterator[MemoryKeyring]:
    before = keyring.get_keyring()
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@dataclass
class Asking:
    """The dialog with a new connection to a server."""

    dialog: ConnectDialog
    store: ConnectionStore
    until: Until

    async def test(self) -> str:
        """The sentence that a test ends with."""
        self.dialog.test_button.click()
        await self.until(lambda: not self.dialog.jobs.is_running("test"), timeout_s=9.0)
        return result(self.dialog)

    @property
    def details(self) -> str:
        label = self.dialog.findChild(QLabel, "testDetails")
        return label.text() if label.isVisible() else ""

    @property
    def endpoint_fault(self) -> str:
        label = self.dialog.findChild(QLabel, "endpointEditFault")
        return label.text() if label.isVisible() else ""

    def everything_shown(self) -> str:
        """All that is on screen, spoken or in a tooltip."""
        found: list[str] = []
        for widget in self.dialog.findChildren(QWidget):
            found += [widget.toolTip(), widget.accessibleName(), widget.accessibleDescription()]
            if isinstance(widget, QLabel):
                found.append(widget.text())
            if isinstance(widget, QLineEdit):
                found += [widget.displayText(), widget.placeholderText()]
        return "\n".join(found)


@asynccontextmanager
async def asking(
    qtbot: QtBot, tmp_path: Path, until: Until, id: str, endpoint: str, key: str = CortexDouble.token
) -> AsyncIterator[Asking]:
    store = ConnectionStore(tmp_path / "c.json")
    dialog = ConnectDialog(store, KeyStore(), [], list_engines(), "")
    qtbot.addWidget(dialog)
    dialog.show()
    choose_engine(qtbot, dialog, id)
    qtbot.keyClicks(dialog.endpoint_edit, endpoint)
    qtbot.keyClicks(dialog.key_edit, key)
    try:
        yield Asking(dialog, store, until)
    finally:
        await dialog.jobs.aclose()


@asynccontextmanager
async def serving(answer: Callable[[Request], Reply | None]) -> AsyncIterator[str]:
    """A server that answers like that; its address."""

    async def answered(request: Request) -> Reply | None:
        return answer(request)

    server = HttpServer(answered)
    await server.start()
    try:
        yield f"http://127.0.0.1:{server.port}"
    finally:
        await server.stop()


@ENGINES
async def test_a_test_counts_what_is_there_and_writes_nothing(
    qtbot: QtBot, tmp_path: Path, until: Until, id: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    async with CortexDouble() as double:
        engine = build_engine(id, EngineSettings(endpoint=double.endpoint), StaticCredential(double.token))
        await engine.store_many([learning("one"), learning("two", "team:acme"), learning("three", "team:acme")])
        await engine.aclose()
        double.forget_requests()
        before = [held.id for scope in double.log.scopes() for held in double.held(scope)]
        async with asking(qtbot, tmp_path, until, id, double.endpoint) as it:
            said = await it.test()
        assert said.startswith("Healthy. 3 items at 2 nodes, answers in ")
        assert [held.id for scope in double.log.scopes() for held in double.held(scope)] == before
        assert {asked.request.method for asked in double.asked} == {"GET"}
        assert double.count("scopes") <= 2
    assert not (tmp_path / "cache").exists()
    assert it.store.load() == []


async def test_a_test_leaves_what_is_kept_of_the_memory(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.engines.cortex.cache.cache_folder", lambda: tmp_path / "cache")
    async with CortexDouble() as double:
        engine = build_engine("cortexdb", EngineSettings(endpoint=double.endpoint), StaticCredential(double.token))
        await engine.store(learning("one"))
        await engine.changes(MetaFilter())
        await engine.aclose()
        kept = {file: file.read_bytes() for file in (tmp_path / "cache").rglob("*") if file.is_file()}
        assert kept
        async with asking(qtbot, tmp_path, until, "cortexdb", double.endpoint) as it:
            assert (await it.test()).startswith("Healthy. 1 item at 1 node, ")
    assert {file: file.read_bytes() for file in (tmp_path / "cache").rglob("*") if file.is_file()} == kept


async def test_a_count_that_is_cut_short_is_a_lower_bound(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    class Slow(FakeEngine):
        async def explore_gradually(self, reqs: list[ExploreRequest]) -> AsyncIterator[list[ExplorePage]]:
            yield [
                page_of(reqs[0].facet, {"learning": 1200}, truncated=True),
                page_of(reqs[1].facet, {"root": 5}, more=6, truncated=True),
            ]
            await asyncio.Event().wait()

    monkeypatch.setattr(trial, "build_engine", lambda *_: Slow())
    monkeypatch.setattr(trial, "COUNT_S", 0.05)
    async with asking(qtbot, tmp_path, until, "cortexdb", "https://memory.example") as it:
        assert (await it.test()).startswith("Healthy. 1\u202f200+ items at 7+ nodes, answers in ")


@ENGINES
@pytest.mark.parametrize(
    ("failure", "said", "to_do"),
    [
        ((401, "UNAUTHORIZED"), "The key was refused.", "Enter a new key"),
        ((402, "INSUFFICIENT"), "no credits left", "Add some"),
        ((403, "FORBIDDEN"), "The key is known, but it may not", "Ask whoever runs the server"),
        ((503, "DOWN"), "cannot answer now (503)", "Test again later"),
        ((429, "RATE_LIMITED"), "asked too often", "Test again in a minute"),
        ((404, "NOT_FOUND"), "What answers at 127.0.0.1", "Check the address"),
    ],
)
async def test_a_refusal_is_a_sentence_and_what_to_do(
    qtbot: QtBot, tmp_path: Path, until: Until, id: str, failure: tuple[int, str], said: str, to_do: str
) -> None:
    async with CortexDouble() as double:
        double.fail_all = failure
        async with asking(qtbot, tmp_path, until, id, double.endpoint) as it:
            words = await it.test()
            assert said in words
            assert to_do in words
            assert str(failure[0]) in it.details
            assert double.token not in it.everything_shown()
            assert it.dialog.isVisible()


async def test_a_refused_key_is_named_nowhere(
    qtbot: QtBot, tmp_path: Path, until: Until, caplog: pytest.LogCaptureFixture
) -> None:
    key = "sk-wrong-0123456789abcdef"
    caplog.set_level(logging.DEBUG)
    async with (
        CortexDouble(error_text=f"the key {key} is not known") as double,
        asking(qtbot, tmp_path, until, "cortexdb", double.endpoint, key) as it,
    ):
        assert "The key was refused." in await it.test()
        assert key not in it.everything_shown()
        it.dialog.open_button.click()
        await until(lambda: it.dialog.chosen_name)
        assert key not in it.everything_shown()
    assert key not in caplog.text
    assert key not in (tmp_path / "c.json").read_text()


async def test_a_missing_capability_is_named(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    body = b'{"error_code":"FORBIDDEN","capability":"events:read","message":"no"}'
    async with (
        serving(lambda _: Reply(body, 403)) as endpoint,
        asking(qtbot, tmp_path, until, "cortexdb", endpoint) as it,
    ):
        words = await it.test()
    assert "it may not do this: events:read." in words


async def test_the_end_of_a_pause_is_said(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with CortexDouble(rate_limit_any=9, rate_limit_headers={"Retry-After": "7"}) as double:
        async with asking(qtbot, tmp_path, until, "tinyhumans", double.endpoint) as it:
            words = await it.test()
        assert re.search(r"wants a pause until \d\d:\d\d:\d\d\. Test again then\.", words)
        assert len(double.requests) == 1


@pytest.mark.parametrize(
    "reply",
    [
        Reply(b"<html><body>Welcome</body></html>", headers={"content-type": "text/html"}),
        Reply(b"<html><body>Not found</body></html>", 404, {"content-type": "text/html"}),
        Reply(b'{"hello":"there"}'),
    ],
    ids=["page", "no page", "another API"],
)
@ENGINES
async def test_something_else_there_is_said(qtbot: QtBot, tmp_path: Path, until: Until, id: str, reply: Reply) -> None:
    async with serving(lambda _: reply) as endpoint, asking(qtbot, tmp_path, until, id, endpoint) as it:
        words = await it.test()
    assert words.startswith(f"What answers at {endpoint.removeprefix('http://')} is not ")
    assert "<html>" not in words


async def test_a_redirect_is_not_followed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    seen: list[str] = []

    def elsewhere(request: Request) -> Reply:
        seen.append(request.path)
        return Reply(b"{}")

    async with (
        serving(elsewhere) as other,
        serving(lambda _: Reply(b"", 307, {"location": f"{other}/v1/x"})) as endpoint,
        asking(qtbot, tmp_path, until, "cortexdb", endpoint) as it,
    ):
        words = await it.test()
    assert "has moved elsewhere, which is not followed. Enter its new address." in words
    assert seen == []


async def test_nothing_listens_there(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    async with asking(qtbot, tmp_path, until, "cortexdb", f"http://127.0.0.1:{port}") as it:
        assert await it.test() == (f"Nothing answers at 127.0.0.1:{port}. Check the address, and that the server runs.")


async def test_a_name_that_nobody_knows(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    async with asking(qtbot, tmp_path, until, "cortexdb", "https://cortex.invalid") as it:
        assert "No server is known by the name of cortex.invalid." in await it.test()


@pytest.mark.parametrize("how", ["no TLS", *(["own"] if importlib.util.find_spec("cryptography") else [])])
async def test_no_secure_connection(qtbot: QtBot, tmp_path: Path, until: Until, how: str) -> None:
    from tests.engines.cortex.test_faults import own_certificate

    listener = {"tls": own_certificate(tmp_path)} if how == "own" else {"speaks_tls": True}
    async with CortexDouble() as double, FaultProxy(double.endpoint, **listener) as proxy:  # type: ignore[arg-type]
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the listener's side of the handshake
        async with asking(qtbot, tmp_path, until, "cortexdb", proxy.endpoint) as it:
            words = await it.test()
        assert ("The certificate of 127.0.0.1" if how == "own" else "takes no encrypted connection") in words
        assert "the key was not sent" in words
        assert proxy.seen == []


async def test_a_server_that_never_answers(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(trial, "HEALTH_S", 0.05)
    with socket.create_server(("127.0.0.1", 0)) as silent:
        port = silent.getsockname()[1]
        async with asking(qtbot, tmp_path, until, "cortexdb", f"http://127.0.0.1:{port}") as it:
            assert f"127.0.0.1:{port} did not answer in time." in await it.test()


async def test_a_connection_that_breaks_off(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with serving(lambda _: None) as endpoint, asking(qtbot, tmp_path, until, "cortexdb", endpoint) as it:
        assert "broke off. Test again." in await it.test()


@ENGINES
async def test_a_key_in_the_clear_is_refused_before_anything_is_sent(
    qtbot: QtBot, tmp_path: Path, until: Until, id: str, listener: Callable[[], bool]
) -> None:
    port = listener.port  # type: ignore[attr-defined]
    place = f"2130706433:{port}"  # 127.0.0.1, but not written as this computer
    with socket.create_connection(("2130706433", port)):
        assert listener()
    async with asking(qtbot, tmp_path, until, id, "http://localhost") as it:
        assert it.endpoint_fault == ""
        it.dialog.endpoint_edit.clear()
        qtbot.keyClicks(it.dialog.endpoint_edit, f"http://{place}")
        await until(lambda: it.endpoint_fault)
        assert "unencrypted, so nothing is sent there" in it.endpoint_fault
        for button in (it.dialog.test_button, it.dialog.open_button):
            button.click()
            await until(lambda: not it.dialog.jobs.is_busy)
            assert "unencrypted" in it.endpoint_fault
            assert result(it.dialog) == ""
            assert it.dialog.endpoint_edit.hasFocus()
            assert it.dialog.isVisible()
        assert not listener()
        it.dialog.endpoint_edit.clear()
        qtbot.keyClicks(it.dialog.endpoint_edit, f"https://{place}")
        await until(lambda: not it.endpoint_fault)
    assert it.store.load() == []


async def test_half_an_address_is_no_fault_yet(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with asking(qtbot, tmp_path, until, "cortexdb", "") as it:
        for char in "http://localhost:7878":
            qtbot.keyClicks(it.dialog.endpoint_edit, char)
            assert it.endpoint_fault == ""
        it.dialog.endpoint_edit.editingFinished.emit()
        assert it.endpoint_fault == ""


async def test_an_empty_address_is_the_engines_own(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with asking(qtbot, tmp_path, until, "tinyhumans", "") as it:
        assert it.dialog.endpoint_edit.placeholderText() == "https://api.tinyhumans.ai"
        it.dialog.open_button.click()
        await until(lambda: it.dialog.chosen_name)
    assert [saved.settings.endpoint for saved in it.store.load()] == [None]


async def test_a_key_that_is_kept_nowhere_is_asked_for(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with CortexDouble() as double, asking(qtbot, tmp_path, until, "cortexdb", double.endpoint, "") as it:
        dialog = it.dialog
        assert await it.test() == ""
        assert "Enter the key" in dialog.findChild(QLabel, "keyEditFault").text()
        dialog.place_box.show_place(KeyPlace.ASK)

        def question() -> KeyDialog | None:
            return next((one for one in dialog.findChildren(KeyDialog) if one.isVisible()), None)

        dialog.test_button.click()
        await until(question)
        asked = question()
        assert asked is not None
        assert "for this test only" in "".join(label.text() for label in asked.findChildren(QLabel))
        qtbot.keyClicks(asked.key_edit, double.token)
        qtbot.keyClick(asked.key_edit, Qt.Key.Key_Return)
        await until(lambda: result(dialog).startswith("Healthy."))
        dialog.test_button.click()
        await until(question)
        again = question()
        assert again is not None
        assert again.key_edit.text() == ""
        again.reject()
        await until(lambda: not dialog.jobs.is_running("test"))
        assert result(dialog) == ""


async def test_a_key_that_was_typed_goes_to_no_other_engine(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    given: list[object] = []

    def build(id: str, settings: EngineSettings, credential: object) -> FakeEngine:
        given.append(credential)
        return FakeEngine()

    monkeypatch.setattr(trial, "build_engine", build)
    async with asking(qtbot, tmp_path, until, "cortexdb", "") as it:
        choose_engine(qtbot, it.dialog, "reference")
        assert (await it.test()).startswith("Healthy.")
        it.dialog.open_button.click()
        await until(lambda: it.dialog.chosen_name)
    assert given == [None, None]


async def test_a_root_that_the_server_has_no_place_for_is_said_at_its_field(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with CortexDouble() as double, asking(qtbot, tmp_path, until, "cortexdb", double.endpoint) as it:
        more = it.dialog.more
        more.open(True)
        for name, typed in (("scope_root", "nonsense"), ("retired_scope_root", "what")):
            more.rows[name].field.setText(typed)
            assert await it.test() == ""
            assert [one for one, row in more.rows.items() if row.fault] == [name]
            assert f"`{typed}`" in more.rows[name].fault
            more.rows[name].field.setText("org:42")
            more.clear_faults()
        more.rows["retired_scope_root"].field.setText("org:7")
        more.rows["headers"].field.setPlainText("Authorization: x")
        await it.test()
        assert [one for one, row in more.rows.items() if row.fault] == ["headers"]
        assert double.requests == []


async def test_a_fault_goes_when_another_field_mends_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with asking(qtbot, tmp_path, until, "cortexdb", "") as it:
        more, dialog = it.dialog.more, it.dialog
        dialog.activateWindow()
        await until(dialog.isActiveWindow)
        more.open(True)
        former, root = more.rows["retired_scope_root"], more.rows["scope_root"]
        former.field.setFocus()
        qtbot.keyClicks(former.field, "org:7")
        qtbot.keyClick(former.field, Qt.Key.Key_Tab)
        await until(lambda: former.fault)
        root.field.setFocus()
        qtbot.keyClicks(root.field, "org:42")
        qtbot.keyClick(root.field, Qt.Key.Key_Tab)
        await until(lambda: not former.fault)
        assert [name for name, row in more.rows.items() if row.fault] == []


async def test_a_saved_key_is_used_and_not_shown(
    qtbot: QtBot, tmp_path: Path, until: Until, kept_keys: MemoryKeyring
) -> None:
    async with CortexDouble() as double:
        store = ConnectionStore(tmp_path / "c.json")
        settings = EngineSettings(endpoint=double.endpoint)
        store.add(SavedConnection(name="a", engine="cortexdb", settings=settings, key_from=KeyPlace.KEYRING))
        kept_keys.set_password("tinymemory-explorer", "a", double.token)
        dialog = ConnectDialog(store, KeyStore(), store.load(), list_engines(), "a")
        qtbot.addWidget(dialog)
        dialog.show()
        it = Asking(dialog, store, until)
        assert (await it.test()).startswith("Healthy. 0 items")
        assert double.token not in it.everything_shown()
        await dialog.jobs.aclose()


async def test_what_the_open_engine_met_is_told_where_its_connection_is(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("CORTEX_KEY", CortexDouble.token)
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "cache"))
    async with CortexDouble() as double, running(qtbot, tmp_path) as program:
        double.put("app:tinymemory/app:learnings", "of another program")
        place = {"key_from": KeyPlace.ENVIRONMENT, "key_variable": "CORTEX_KEY"}
        settings = EngineSettings(endpoint=double.endpoint)
        program.store.add(SavedConnection(name="a", engine="cortexdb", settings=settings, **place))
        await program.start(Options())
        await until(lambda: is_idle(program) and program.name == "a")
        for n in ("1", "2"):
            program.window.connections_action.trigger()
            await until(lambda: dialog_of(ConnectDialog) is not None)
            dialog = dialog_of(ConnectDialog)
            assert dialog is not None
            box = dialog.findChild(QWidget, "connectionDetails")
            assert box is not None
            told = [label.text() for label in box.findChildren(QLabel)]
            assert told[told.index("Events of other programs") + 1] == n
            dialog.reject()
            await until(lambda: is_idle(program) and dialog_of(ConnectDialog) is None)
            double.put("app:tinymemory/app:documents", "one more")
            assert program.window.engine is not None
            program.window.engine.refresh()
            await program.window.engine.namespaces(MetaFilter())
