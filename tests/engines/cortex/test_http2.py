"""Where the server offers HTTP/2, one connection serves all requests."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import ipaddress
import ssl
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC, datetime, timedelta
from pathlib import Path

import pytest
from h2 import config, connection, events

from explorer.contract import EngineFailure, Unavailable
from explorer.engines.cortex import transport as module
from tests.conftest import Until
from tests.engines.cortex.answering import KEY, asking

HAS_CERTIFICATES = importlib.util.find_spec("cryptography") is not None


def certificate(folder: Path) -> Path:
    """A file with a key and a certificate for this computer, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now - timedelta(days=1), now + timedelta(days=1))
    place = x509.SubjectAlternativeName([x509.IPAddress(ipaddress.ip_address("127.0.0.1"))])
    pem = serialization.Encoding.PEM
    held = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "own.pem"
    file.write_bytes(made.add_extension(place, critical=False).sign(key, hashes.SHA256()).public_bytes(pem) + held)
    return file


class Http2Server:
    """Answers each request with its path, once `go_on` is set; one to `/endless` has no end."""

    def __init__(self, context: ssl.SSLContext) -> None:
        self._context = context
        self._tasks: set[asyncio.Task[None]] = set()
        self.go_on = asyncio.Event()
        self.go_on.set()
        self.versions: list[str | None] = []
        """What each connection speaks."""
        self.headers: list[dict[str, str]] = []
        self.open_connections = 0
        self.endpoint = ""

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self.versions.append(writer.get_extra_info("ssl_object").selected_alpn_protocol())
        if self.versions[-1] != "h2":
            writer.close()
            self._tasks.discard(task)
            return
        self.open_connections += 1
        talk = connection.H2Connection(config.H2Configuration(client_side=False, header_encoding="utf-8"))
        talk.initiate_connection()
        writer.write(talk.data_to_send())
        answers: set[asyncio.Task[None]] = set()

        async def answer(stream: int, path: str) -> None:
            await self.go_on.wait()
            talk.send_headers(stream, [(":status", "200"), ("content-type", "application/json")])
            while path == "/endless":
                size = min(talk.local_flow_control_window(stream), 16_000)
                if size:
                    talk.send_data(stream, b"x" * size)
                writer.write(talk.data_to_send())
                await writer.drain()
                await asyncio.sleep(0)
            talk.send_data(stream, f'"{path}"'.encode(), end_stream=True)
            writer.write(talk.data_to_send())
            await writer.drain()

        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while data := await reader.read(65536):
                for event in talk.receive_data(data):
                    if isinstance(event, events.RequestReceived):
                        assert event.headers is not None
                        headers = {str(name): str(value) for name, value in event.headers}
                        self.headers.append(headers)
                        answers.add(asyncio.create_task(answer(event.stream_id, headers[":path"])))
                writer.write(talk.data_to_send())
        self.open_connections -= 1
        for each in answers:
            each.cancel()
        await asyncio.gather(*answers, return_exceptions=True)
        writer.close()
        self._tasks.discard(task)

    async def stop(self) -> None:
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)


@asynccontextmanager
async def serving(folder: Path, monkeypatch: pytest.MonkeyPatch) -> AsyncIterator[Http2Server]:
    file = await asyncio.to_thread(certificate, folder)
    monkeypatch.setenv("SSL_CERT_FILE", str(file))
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    context.set_alpn_protocols(["h2", "http/1.1"])
    made = Http2Server(context)
    server = await asyncio.start_server(made.serve, "127.0.0.1", 0, ssl=context)
    made.endpoint = f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield made
    finally:
        server.close()
        await made.stop()


if HAS_CERTIFICATES:

    async def test_requests_share_one_connection(tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Until) -> None:
        async with serving(tmp_path, monkeypatch) as server, asking(server.endpoint, headers={"X-Team": "a"}) as wire:
            wire._knows_actor = True
            assert await wire.ask("GET", "first") == "/first"
            server.go_on.clear()
            asked = [asyncio.create_task(wire.ask("GET", f"n/{number}")) for number in range(40)]
            await until(lambda: len(server.headers) == 41)  # all at once, none waits for another
            server.go_on.set()
            assert await asyncio.gather(*asked) == [f"/n/{number}" for number in range(40)]
            assert server.versions == ["h2"]
        assert {(each["authorization"], each["x-team"]) for each in server.headers} == {(f"Bearer {KEY}", "a")}

    async def test_what_is_given_up_leaves_the_others_their_connection_and_later_ones_a_new_one(
        tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Until
    ) -> None:
        monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 100_000)
        async with serving(tmp_path, monkeypatch) as server, asking(server.endpoint) as wire:
            wire._knows_actor = True
            await wire.ask("GET", "first")
            with pytest.raises(EngineFailure, match="more than"):
                await wire.ask("GET", "endless")
            await until(lambda: not server.open_connections)
            server.go_on.clear()
            kept, cancelled = (asyncio.create_task(wire.ask("GET", name)) for name in ("kept", "cancelled"))
            await until(lambda: len(server.headers) == 4)
            cancelled.cancel()
            with pytest.raises(asyncio.CancelledError):
                await cancelled
            later = asyncio.create_task(wire.ask("GET", "later"))
            await until(lambda: len(server.headers) == 5)
            assert server.open_connections == 2
            server.go_on.set()
            assert (await kept, await later) == ("/kept", "/later")
            assert await wire.ask("GET", "last") == "/last"
            assert server.versions == ["h2"] * 3
            await until(lambda: server.open_connections == 1)
            await wire.aclose()
            await until(lambda: not server.open_connections)

    async def test_without_its_library_it_is_not_offered(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
        monkeypatch.setitem(sys.modules, "h2", None)
        async with serving(tmp_path, monkeypatch) as server, asking(server.endpoint) as wire:
            with pytest.raises(Unavailable, match="connection broke"):  # this server speaks nothing else
                await wire.ask("GET", "first")
            assert set(server.versions) == {"http/1.1"}
