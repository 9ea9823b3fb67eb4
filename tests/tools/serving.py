"""`tinymemory mcp` as a process of its own, as a client starts it."""

from __future__ import annotations

import asyncio
import json
import os
import subprocess
import sys
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from typing import Any

from mcp import Client, StdioServerParameters
from mcp.types import CallToolResult

ROOT = Path(__file__).parents[2]
PROGRAM = "import sys; from explorer.cli import main; sys.exit(main())"
PLACE = "team:acme/agent:a"


def command(*args: object) -> list[str]:
    return [sys.executable, "-c", PROGRAM, "mcp", *map(str, args)]


def environment(home: Path) -> dict[str, str]:
    """This one's, with a home folder of the test's own."""
    own = {f"XDG_{name}_HOME": str(home / name.lower()) for name in ("CONFIG", "DATA", "CACHE", "STATE")}
    return {**os.environ, "HOME": str(home), "USERPROFILE": str(home), **own}


def run(home: Path, *args: object, stdin: bytes = b"", program: str = PROGRAM) -> subprocess.CompletedProcess[bytes]:
    """Run it to its end, which comes with the end of `stdin`."""
    whole = [sys.executable, "-c", program, "mcp", *map(str, args)]
    return subprocess.run(
        whole, cwd=ROOT, env=environment(home), input=stdin, capture_output=True, timeout=60, check=False
    )


@asynccontextmanager
async def client(home: Path, *args: object, mode: str = "auto") -> AsyncIterator[Client]:
    """The SDK's own client of a server that it starts."""
    program, *rest = command(*args)
    parameters = StdioServerParameters(command=program, args=rest, cwd=ROOT, env=environment(home))
    async with Client(parameters, mode=mode) as connected:
        yield connected


def text_of(result: CallToolResult) -> str:
    (content,) = result.content
    assert content.type == "text"
    return content.text


async def answer(connected: Client, name: str, arguments: dict[str, Any] | None = None) -> Any:
    """What a tool answers, which is no refusal."""
    result = await connected.call_tool(f"memory_{name}", arguments)
    assert not result.is_error, text_of(result)
    return json.loads(text_of(result))


async def refusal(connected: Client, name: str, arguments: dict[str, Any] | None = None) -> str:
    result = await connected.call_tool(name, arguments)
    assert result.is_error
    return text_of(result)


HELLO: list[dict[str, Any]] = [
    {
        "jsonrpc": "2.0",
        "id": "hello",
        "method": "initialize",
        "params": {
            "protocolVersion": "2025-06-18",
            "capabilities": {},
            "clientInfo": {"name": "test", "version": "1"},
        },
    },
    {"jsonrpc": "2.0", "method": "notifications/initialized"},
]


def call(id: int, name: str, arguments: dict[str, Any]) -> dict[str, Any]:
    params = {"name": f"memory_{name}", "arguments": arguments}
    return {"jsonrpc": "2.0", "id": id, "method": "tools/call", "params": params}


def lines(*messages: dict[str, Any]) -> bytes:
    return b"".join(json.dumps(message).encode() + b"\n" for message in messages)


class Wire:
    """A server whose messages a test writes itself."""

    def __init__(self, process: asyncio.subprocess.Process) -> None:
        self.process = process

    def send(self, *messages: dict[str, Any]) -> None:
        self.send_raw(lines(*messages))

    def send_raw(self, data: bytes) -> None:
        assert self.process.stdin is not None
        self.process.stdin.write(data)

    async def receive(self) -> dict[str, Any]:
        """The next message, which stands alone on its line."""
        assert self.process.stdout is not None
        message = json.loads(await self.process.stdout.readline())
        assert isinstance(message, dict)
        assert message["jsonrpc"] == "2.0"
        return message

    async def told(self, what: str) -> str:
        """The line of standard error that holds `what`."""
        assert self.process.stderr is not None
        while what not in (line := (await self.process.stderr.readline()).decode()):
            assert line, f"it ended without {what}"
        return line

    async def ended(self) -> tuple[int, bytes, bytes]:
        """The exit status, and what else came on standard output and error; its input stays open."""
        assert self.process.stdout is not None
        assert self.process.stderr is not None
        out, err = await asyncio.gather(self.process.stdout.read(), self.process.stderr.read())
        return await self.process.wait(), out, err


@asynccontextmanager
async def started(home: Path, *args: object) -> AsyncIterator[Wire]:
    pipe = subprocess.PIPE
    process = await asyncio.create_subprocess_exec(
        *command(*args), cwd=ROOT, env=environment(home), stdin=pipe, stdout=pipe, stderr=pipe
    )
    try:
        yield Wire(process)
    finally:
        if process.returncode is None:
            process.kill()
        assert process.stdin is not None
        process.stdin.close()
        await process.wait()
