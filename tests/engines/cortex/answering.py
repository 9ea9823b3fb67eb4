"""A server on this computer that answers as a test tells it, and the keys that a client of it gives."""

from __future__ import annotations

import asyncio
import json
import time
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Any

from explorer.engines.config import DynamicCredential, EngineCredential, StaticCredential
from explorer.engines.cortex.pacing import Timing
from explorer.engines.cortex.transport import Transport
from tests.doubles.serving import HttpServer, Reply, Request

KEY = "sk-live-0123456789"
QUICK = Timing(retry_s=0.001, poll_s=0.001, most_poll_s=0.004, pause_s=0.05, listed_s=0.5, ranked_s=0.5, erasure_s=0.5)

Answer = Reply | None | Callable[[Request], Awaitable[Reply | None]]
"""None hangs up."""


def reply(value: Any, status: int = 200, **headers: str) -> Reply:
    """JSON; a header's name is written with underscores."""
    return Reply(json.dumps(value).encode(), status, {name.replace("_", "-"): text for name, text in headers.items()})


def wrapped(data: Any) -> Reply:
    return reply({"success": True, "data": data})


class Answering:
    """Answers from `script`, then with `otherwise`; `whoami` is answered apart and not among the `requests`."""

    def __init__(self) -> None:
        self.script: list[Answer] = []
        self.otherwise: Answer = reply({})
        self.whoami: Answer = Reply(status=404)
        self.whoami_requests: list[Request] = []
        self.requests: list[Request] = []
        self.arrivals: list[float] = []
        """When each of the `requests` came, as `time.monotonic()`."""
        self.server = HttpServer(self._answer)

    @property
    def endpoint(self) -> str:
        return f"http://127.0.0.1:{self.server.port}"

    @property
    def targets(self) -> list[str]:
        return [f"{request.method} {request.target}" for request in self.requests]

    @property
    def bodies(self) -> list[Any]:
        return [json.loads(request.body) for request in self.requests]

    def sent(self, header: str) -> list[str | None]:
        """A header of each of the requests."""
        return [request.headers.get(header) for request in self.requests]

    async def _answer(self, request: Request) -> Reply | None:
        if request.path.endswith("/v1/auth/whoami"):
            self.whoami_requests.append(request)
            answer = self.whoami
        else:
            self.requests.append(request)
            self.arrivals.append(time.monotonic())
            answer = self.script.pop(0) if self.script else self.otherwise
        return await answer(request) if callable(answer) else answer


@asynccontextmanager
async def answering() -> AsyncIterator[Answering]:
    made = Answering()
    await made.server.start()
    try:
        yield made
    finally:
        await made.server.stop()


@asynccontextmanager
async def asking(
    server: Answering | str,
    *,
    hosted: bool = False,
    timing: Timing = QUICK,
    credential: EngineCredential = StaticCredential(KEY),  # noqa: B008 (it never changes)
    **more: Any,
) -> AsyncIterator[Transport]:
    endpoint = server if isinstance(server, str) else server.endpoint
    label = "TinyHumans" if hosted else "CortexDB"
    made = Transport(endpoint, credential, label=label, hosted=hosted, timing=timing, **more)
    try:
        yield made
    finally:
        await made.aclose()


class Keys:
    """A source of keys: each of them once, then the last one; an error is raised."""

    def __init__(self, *keys: str | Exception) -> None:
        self.keys = list(keys)
        self.asked = 0

    async def bearer(self) -> str:
        self.asked += 1
        key = self.keys.pop(0) if len(self.keys) > 1 else self.keys[0]
        if isinstance(key, Exception):
            raise key
        return key


def keys(*given: str | Exception) -> DynamicCredential:
    return DynamicCredential(Keys(*given))


class Gate:
    """An answer that comes when the gate is opened."""

    def __init__(self, answer: Reply) -> None:
        self._answer = answer
        self._opens = asyncio.Event()
        self.waiting = 0

    def open(self) -> None:
        self._opens.set()

    async def __call__(self, request: Request) -> Reply:
        self.waiting += 1
        await self._opens.wait()
        return self._answer
