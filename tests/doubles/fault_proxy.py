"""A proxy between a client and the double that spoils what passes through it, one request at a time.

    async with FaultProxy(double.endpoint) as proxy:
        proxy.plan = [cut_in_body, passes, never_answers]  # for the next three requests; then all pass

A fault is a coroutine function of a `Link`: it may ask the server, or not, and then sends what it likes.
"""

from __future__ import annotations

import asyncio
import contextlib
import socket
import ssl
import struct
import sys
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from typing import Self
from urllib.parse import urlsplit

from tests.doubles.serving import Reply, Request, read_request, rendered

DRIP_S = 0.005
"""Between the bytes of a slow answer."""
HEAD_END = b"\r\n\r\n"


@dataclass
class Link:
    """One request on its way."""

    request: Request
    proxy: FaultProxy
    reader: asyncio.StreamReader
    writer: asyncio.StreamWriter
    ended: bool = False
    """Whether the connection is over."""

    async def upstream(self) -> Reply:
        """Have the server do it. -> its answer"""
        return await ask(self.proxy.upstream, self.request)

    async def send(self, data: bytes) -> None:
        self.writer.write(data)
        await self.writer.drain()

    def end(self) -> None:
        """Hang up as is usual."""
        self.ended = True
        self.writer.close()

    def reset(self) -> None:
        """Hang up as a machine does that lost its power: what was not read yet may be lost too."""
        self.ended = True
        sock = self.writer.get_extra_info("socket")
        if sock is not None:
            linger = struct.pack("hh" if sys.platform == "win32" else "ii", 1, 0)
            sock.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, linger)
        self.writer.transport.abort()

    async def gone(self) -> None:
        """Until the client hangs up."""
        self.ended = True
        with contextlib.suppress(ConnectionError):
            await self.reader.read()
        self.proxy.given_up += 1


Fault = Callable[[Link], Awaitable[None]]


@dataclass
class FaultProxy:
    upstream: str
    """The endpoint of the server, without TLS."""
    plan: list[Fault] = field(default_factory=list)
    """What befalls the next requests, in turn."""
    always: Fault | None = None
    """What befalls all after those; None: they pass."""
    only: str = ""
    """What the path of a request ends in to be spoiled at all; others pass."""
    tls: ssl.SSLContext | None = None
    speaks_tls: bool = False
    """`endpoint` is https, which the listener does not understand."""
    seen: list[str] = field(default_factory=list)
    """`METHOD /path?query` of each request that came, in order."""
    keys: list[str] = field(default_factory=list)
    """Their Authorization headers."""
    given_up: int = 0
    """Connections that the client ended while it was kept waiting."""

    def __post_init__(self) -> None:
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[None]] = set()
        self._port = 0

    async def __aenter__(self) -> Self:
        await self.up()
        return self

    async def __aexit__(self, *exc: object) -> None:
        await self.down()

    @property
    def endpoint(self) -> str:
        path = urlsplit(self.upstream).path
        return f"{'https' if self.tls or self.speaks_tls else 'http'}://127.0.0.1:{self._port}{path}"

    @property
    def open_connections(self) -> int:
        return len(self._tasks)

    async def up(self) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self._port, ssl=self.tls)
        self._port = self._server.sockets[0].getsockname()[1]

    async def down(self) -> None:
        """Refuse connections from now on; the port stays the same for a next `up`."""
        if self._server is not None:
            self._server.close()
            self._server = None
        for task in list(self._tasks):
            task.cancel()
        await asyncio.gather(*self._tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError, ValueError):
                if self.speaks_tls:
                    await reader.read(1)
                    writer.write(b"HTTP/1.1 400 Bad Request\r\nconnection: close\r\n\r\n")
                else:
                    await self._pass(reader, writer)
        finally:
            self._tasks.discard(task)
            writer.close()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            self.seen.append(f"{request.method} {request.target}")
            self.keys.append(request.headers.get("authorization", ""))
            fault: Fault | None = None
            if request.path.endswith(self.only):
                fault = self.plan.pop(0) if self.plan else self.always
            link = Link(request, self, reader, writer)
            await (fault or passes)(link)
            if link.ended:
                return


async def ask(endpoint: str, request: Request) -> Reply:
    """Send a request on a connection of its own, with the headers it came with."""
    url = urlsplit(endpoint)
    reader, writer = await asyncio.open_connection(url.hostname, url.port)
    try:
        headers = {**request.headers, "host": url.netloc, "connection": "close"}
        lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
        writer.write(f"{request.method} {request.target} HTTP/1.1\r\n{lines}\r\n".encode("latin-1") + request.body)
        await writer.drain()
        head, _, body = (await reader.read()).partition(HEAD_END)
    finally:
        writer.close()
    first, *rest = head.decode("latin-1").split("\r\n")
    pairs = dict(line.split(": ", 1) for line in rest)
    kept = {name: value for name, value in pairs.items() if name not in ("content-length", "connection")}
    return Reply(body, int(first.split(" ")[1]), kept)


# What may befall a request


async def passes(link: Link) -> None:
    await link.send(rendered(await link.upstream()))


async def reset_unread(link: Link) -> None:
    """The server never gets the request."""
    link.reset()


async def reset_unanswered(link: Link) -> None:
    """The server does it, and nobody learns of it."""
    await link.upstream()
    link.reset()


async def reset_in_body(link: Link) -> None:
    """The connection breaks in the middle of the answer."""
    await link.send(half(rendered(await link.upstream())))
    await asyncio.sleep(DRIP_S)  # or the client would not even see this much
    link.reset()


async def cut_in_body(link: Link) -> None:
    """The answer ends before its length, without an error."""
    await link.send(half(rendered(await link.upstream())))
    link.end()


async def never_answers(link: Link) -> None:
    """The server does it, but the answer does not come."""
    await link.upstream()
    await link.gone()


async def slow_headers(link: Link) -> None:
    """The head of the answer comes byte by byte."""
    await drip(link, rendered(await link.upstream()))


async def slow_body(link: Link) -> None:
    """The head comes at once, the body byte by byte."""
    head, end, body = rendered(await link.upstream()).partition(HEAD_END)
    await link.send(head + end)
    await drip(link, body)


async def drip(link: Link, data: bytes) -> None:
    """Byte by byte, until the client has had enough; then wait for it to go."""
    try:
        for byte in data:
            await link.send(bytes([byte]))
            await asyncio.sleep(DRIP_S)
            if link.reader.at_eof():
                break
    except ConnectionError:
        pass
    await link.gone()


def body(data: bytes, **headers: str) -> Fault:
    """The server does it; in the place of its answer comes this one, with the same status."""

    async def fault(link: Link) -> None:
        told = {name.replace("_", "-"): value for name, value in headers.items()}
        await link.send(rendered(Reply(data, (await link.upstream()).status, told)))

    return fault


def status(code: int, data: bytes = b"{}", **headers: str) -> Fault:
    """Answered on the way, the server does not get it."""

    async def fault(link: Link) -> None:
        await link.send(rendered(Reply(data, code, {name.replace("_", "-"): value for name, value in headers.items()})))

    return fault


def raw(data: bytes) -> Fault:
    """These bytes in the place of any answer, then the end."""

    async def fault(link: Link) -> None:
        await link.upstream()
        await link.send(data)
        link.end()

    return fault


def half(data: bytes) -> bytes:
    """All of the head and the first half of the body."""
    head, end, rest = data.partition(HEAD_END)
    return head + end + rest[: len(rest) // 2]
