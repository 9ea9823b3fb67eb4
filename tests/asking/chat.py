"""A chat server on this computer, which a test tells how to answer and asks what it was sent."""

from __future__ import annotations

import asyncio
import contextlib
import json
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Any

from explorer.contract import (
    Citation,
    ItemId,
    MemoryMeta,
    RecallAnswer,
    RecallRequest,
    StoreItem,
)
from tests.fakes import FakeEngine


@dataclass(frozen=True)
class Reply:
    body: bytes = b""
    status: int = 200
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Asked:
    path: str
    headers: dict[str, str]
    raw: bytes

    @property
    def body(self) -> Any:
        return json.loads(self.raw)

    @property
    def system(self) -> str:
        return str(self.body["messages"][0]["content"])

    @property
    def data(self) -> Any:
        """The question and the passages, as the model reads them."""
        return json.loads(self.body["messages"][1]["content"])


def said(content: object, model: object = "tiny-chat-7b") -> Reply:
    """As OpenAI's API answers."""
    choice = {"index": 0, "message": {"role": "assistant", "content": content}, "finish_reason": "stop"}
    return Reply(json.dumps({"object": "chat.completion", "model": model, "choices": [choice]}).encode())


class ChatServer:
    """Answers with the replies of `script` in turn, then with `answer`."""

    def __init__(self) -> None:
        self.answer: Reply | Callable[[Asked], Reply] = said("Yes [1].")
        self.script: list[Reply] = []
        self.asked: list[Asked] = []
        self.connections = 0
        self.hung_up = 0
        """Connections that the other side ended while their answer was waited for."""
        self.is_silent = False
        self.address = ""

    @property
    def endpoint(self) -> str:
        return f"{self.address}/v1"

    async def serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        self.connections += 1
        try:
            with contextlib.suppress(ConnectionError, asyncio.IncompleteReadError):
                while head := await reader.readuntil(b"\r\n\r\n"):
                    lines = head.decode().split("\r\n")
                    pairs = (line.split(":", 1) for line in lines[1:] if line)
                    headers = {name.lower(): value.strip() for name, value in pairs}
                    raw = await reader.readexactly(int(headers.get("content-length", "0")))
                    self.asked.append(Asked(lines[0].split(" ")[1], headers, raw))
                    if self.is_silent:
                        await reader.read()
                        self.hung_up += 1
                        return
                    reply = self.script.pop(0) if self.script else self.answer
                    reply = reply if isinstance(reply, Reply) else reply(self.asked[-1])
                    told = {"Content-Length": str(len(reply.body)), **reply.headers}
                    names = "".join(f"{name}: {value}\r\n" for name, value in told.items())
                    writer.write(f"HTTP/1.1 {reply.status} Told\r\n{names}\r\n".encode() + reply.body)
                    await writer.drain()
        finally:
            writer.close()


@asynccontextmanager
async def chatting() -> AsyncIterator[ChatServer]:
    chat = ChatServer()
    tasks: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        tasks.add(task)
        with contextlib.suppress(asyncio.CancelledError):
            await chat.serve(reader, writer)
        tasks.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    chat.address = f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    try:
        yield chat
    finally:
        server.close()
        for task in list(tasks):
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)


class Foreign(FakeEngine):
    """An engine that answers as it is told: with a text of its own, and the snippets of items that it holds."""

    def __init__(self) -> None:
        super().__init__()
        self.text = ""
        self.cites: list[tuple[ItemId, str]] = []

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        await self._pass("recall", req)
        return RecallAnswer(
            answer=self.text,
            citations=[
                Citation(id=id, kind="learning", snippet=snippet, meta=MemoryMeta())  # type: ignore[arg-type]
                for id, snippet in self.cites
            ],
            model="foreign-1",
        )

    async def told(self, text: str, *cites: tuple[StoreItem, str]) -> None:
        """Have it answer so, out of these items, which it stores."""
        self.text = text
        self.cites = [((await self.store(item)).id, snippet) for item, snippet in cites]
