"""A small HTTP/1.1 server on loopback for the doubles: requests in, answers out, connections kept and counted."""

from __future__ import annotations

import asyncio
import contextlib
import ssl
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field
from http import HTTPStatus
from typing import Any
from urllib.parse import parse_qsl

JSON_TYPE = "application/json"


@dataclass(frozen=True)
class Request:
    method: str
    path: str
    query: str
    headers: dict[str, str]
    """By lower-case name."""
    body: bytes

    @property
    def target(self) -> str:
        return f"{self.path}?{self.query}" if self.query else self.path

    @property
    def params(self) -> list[tuple[str, str]]:
        return parse_qsl(self.query, keep_blank_values=True)


@dataclass
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


class HttpServer:
    """Asks `answer` for the reply to each request; None hangs up without one."""

    def __init__(self, answer: Callable[[Request], Awaitable[Reply | None]]) -> None:
        self._answer = answer
        self._server: asyncio.Server | None = None
        self._tasks: set[asyncio.Task[Any]] = set()
        self._readers: set[asyncio.StreamReader] = set()
        self.accepted = 0
        """Connections taken since the start."""
        self.port = 0

    @property
    def open_connections(self) -> int:
        """Connections whose other side has not hung up."""
        return sum(not reader.at_eof() and reader.exception() is None for reader in self._readers)

    async def start(self, tls: ssl.SSLContext | None = None) -> None:
        self._server = await asyncio.start_server(self._serve, "127.0.0.1", self.port, ssl=tls)
        self.port = self._server.sockets[0].getsockname()[1]

    async def stop(self) -> None:
        """Hang up on everyone; the port stays the same for a next `start`."""
        if self._server is not None:
            self._server.close()
            self._server = None
        tasks = list(self._tasks)
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        self._tasks.add(task)
        self._readers.add(reader)
        self.accepted += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
                await self._talk(reader, writer)
        finally:
            self._tasks.discard(task)
            self._readers.discard(reader)
            writer.close()

    async def _talk(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        while (request := await read_request(reader)) is not None:
            reply = await self._answer(request)
            if reply is None:
                return
            ends = request.headers.get("connection", "").lower() == "close"
            writer.write(rendered(reply, ends=ends))
            await writer.drain()
            if ends:
                return


async def read_request(reader: asyncio.StreamReader) -> Request | None:
    """The next request of a connection; None when the other side ended it between requests."""
    try:
        head = await reader.readuntil(b"\r\n\r\n")
    except asyncio.IncompleteReadError as error:
        if not error.partial:
            return None
        raise
    first, *lines = head.decode("latin-1").split("\r\n")
    method, target, _ = first.split(" ")
    pairs = (line.split(":", 1) for line in lines if line)
    headers = {name.strip().lower(): value.strip() for name, value in pairs}
    body = await reader.readexactly(int(headers.get("content-length", "0")))
    path, _, query = target.partition("?")
    return Request(method, path, query, headers, body)


def rendered(reply: Reply, *, ends: bool = False) -> bytes:
    """A reply as bytes on the wire."""
    try:
        phrase = HTTPStatus(reply.status).phrase
    except ValueError:
        phrase = "Other"
    headers = {"content-type": JSON_TYPE, "content-length": str(len(reply.body)), **reply.headers}
    if ends:
        headers["connection"] = "close"
    lines = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return f"HTTP/1.1 {reply.status} {phrase}\r\n{lines}\r\n".encode("latin-1") + reply.body
