"""Serving any number of clients over HTTP, to this computer alone."""

from __future__ import annotations

import asyncio
import contextlib
import socket
from collections.abc import Iterator
from typing import Any

import anyio
import uvicorn
from mcp.server import Server
from mcp.server.transport_security import TransportSecuritySettings
from starlette.responses import Response
from starlette.types import ASGIApp, Receive, Scope, Send

from explorer.contract import ConfigError
from explorer.engines.os_errors import why

HOST = "127.0.0.1"
PATH = "/mcp"

_ENDING_S = 2
"""How long answers that are under way may take once the server is told to end."""


def listen(port: int) -> socket.socket:
    """A socket that listens on `port` of this computer alone; 0 is any that is free. Raises ConfigError."""
    listening = socket.socket(socket.AF_INET, socket.SOCK_STREAM)
    try:
        if hasattr(socket, "SO_EXCLUSIVEADDRUSE"):
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_EXCLUSIVEADDRUSE, 1)
        else:
            listening.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        listening.bind((HOST, port))
        listening.listen()
    except OSError as error:
        listening.close()
        raise ConfigError(f"cannot listen on {HOST}:{port}: {why(error)}; choose another port") from error
    return listening


def address(listening: socket.socket) -> str:
    """The URL that clients connect to."""
    return f"http://{HOST}:{listening.getsockname()[1]}{PATH}"


async def serve_http(server: Server[Any], listening: socket.socket, stop: asyncio.Event) -> None:
    """Serve until `stop`. The socket is closed at the end.

    A request from a page of another origin, or to another name of this computer, is refused: a browser may be tricked
    into sending one. No session is kept between requests, since the tools have none.
    """
    port = listening.getsockname()[1]
    hosts = [f"{name}:{port}" for name in (HOST, "localhost")]
    app = server.streamable_http_app(
        streamable_http_path=PATH,
        json_response=True,
        stateless_http=True,
        transport_security=TransportSecuritySettings(
            allowed_hosts=hosts, allowed_origins=[f"http://{host}" for host in hosts]
        ),
    )
    config = uvicorn.Config(
        _posts_only(app),
        log_config=None,
        access_log=False,
        lifespan="on",
        ws="none",
        server_header=False,
        timeout_graceful_shutdown=_ENDING_S,
    )
    http = _Http(config)

    async with anyio.create_task_group() as group:

        async def end() -> None:
            await stop.wait()
            http.should_exit = True

        group.start_soon(end)
        await http.serve(sockets=[listening])
        group.cancel_scope.cancel()


def _posts_only(app: ASGIApp) -> ASGIApp:
    """Refuse to open a stream for news, as a server may: there are none, and each would hold up the end."""

    async def checked(scope: Scope, receive: Receive, send: Send) -> None:
        if scope["type"] == "http" and scope["method"] != "POST":
            await Response(status_code=405, headers={"Allow": "POST"})(scope, receive, send)
        else:
            await app(scope, receive, send)

    return checked


class _Http(uvicorn.Server):
    @contextlib.contextmanager
    def capture_signals(self) -> Iterator[None]:
        """Leave signals to who calls."""
        yield
