"""Serving one client over standard input and output: one JSON message a line.

Not by the SDK's own reader: that waits for a line on a thread which nothing can interrupt, so that a signal would not
end the server, and it drops what is still being answered when the input ends.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import os
import threading
from collections.abc import AsyncIterator, Iterator
from queue import SimpleQueue
from typing import Any

import anyio
import mcp_types as types
from anyio.streams.memory import MemoryObjectReceiveStream, MemoryObjectSendStream
from mcp.server import Server
from mcp.shared.message import ServerMessageMetadata, SessionMessage
from pydantic import ValidationError

from explorer.contract.wire import is_unicode

_CHUNK = 1 << 16
_LINES_AHEAD = 64
"""Lines read before they are wanted; the client waits beyond that."""

_MAX_ID = 2**53
"""Numbers beyond are no ids that every client reads."""

_OTHER_ENDS = "\x85\u2028\u2029"
"""Line ends that JSON leaves as they are in stored text: some clients' readers of lines break at them."""

Incoming = SessionMessage | Exception


async def serve_stdio(server: Server[Any], stop: asyncio.Event) -> None:
    """Serve until the input ends, and what was asked by then is answered; or until the client is gone, or `stop`."""
    to_server, from_client = anyio.create_memory_object_stream[Incoming](0)
    to_client, from_server = anyio.create_memory_object_stream[SessionMessage](0)
    with _streams() as (source, sink):
        lines, out = _Lines(source), _Out(sink)
        asked, all_sent = _Asked(), asyncio.Event()
        async with anyio.create_task_group() as group:

            async def send() -> None:
                try:
                    await _send(from_server, out, asked)
                    all_sent.set()
                except OSError:  # the client reads no more
                    group.cancel_scope.cancel()

            async def end() -> None:
                await stop.wait()
                group.cancel_scope.cancel()

            group.start_soon(_receive, lines, to_server, to_client.clone(), asked)
            group.start_soon(send)
            group.start_soon(end)
            await server.run(from_client, to_client, server.create_initialization_options())
            await all_sent.wait()
            group.cancel_scope.cancel()


@contextlib.contextmanager
def _streams() -> Iterator[tuple[int, int]]:
    """Descriptors of standard input and output; meanwhile whatever prints to the output goes to standard error."""
    sink = os.dup(1)
    try:
        os.dup2(2, 1)
    except OSError:  # there is no standard error
        nowhere = os.open(os.devnull, os.O_WRONLY)
        os.dup2(nowhere, 1)
        os.close(nowhere)
    try:
        yield 0, sink
    finally:
        os.dup2(sink, 1)
        # `sink` is never closed: a thread may still be writing to it, and another file might get its number.


class _Asked:
    """How many answers are due: of requests that are under way, and of lines that are none."""

    def __init__(self) -> None:
        self._due = 0
        self._none = asyncio.Event()
        self._none.set()

    def one_more(self) -> None:
        self._due += 1
        self._none.clear()

    async def one_less(self) -> None:
        """One was written; or, which the SDK tells, its request was cancelled and gets none."""
        self._due -= 1
        if not self._due:
            self._none.set()

    async def answered(self) -> None:
        await self._none.wait()


async def _receive(
    lines: _Lines,
    to_server: MemoryObjectSendStream[Incoming],
    to_client: MemoryObjectSendStream[SessionMessage],
    asked: _Asked,
) -> None:
    async with to_server, to_client:
        async for line in lines:
            try:
                message = types.jsonrpc_message_adapter.validate_json(line, by_name=False)
            except ValidationError:
                asked.one_more()
                await to_client.send(SessionMessage(_refusal(line)))
                continue
            metadata = None
            if isinstance(message, types.JSONRPCRequest):
                asked.one_more()
                metadata = ServerMessageMetadata(on_request_unanswered=asked.one_less)
            await to_server.send(SessionMessage(message, metadata))
        await asked.answered()


def _refusal(line: bytes) -> types.JSONRPCError:
    """The answer to a line that is no message; it names the request where one can be told, which waits for it."""
    try:
        read = json.loads(line)
    except (ValueError, RecursionError):
        read = None
    id = read.get("id") if isinstance(read, dict) else None
    is_told = (isinstance(id, str) and is_unicode(id)) or (type(id) is int and abs(id) < _MAX_ID)
    problem = types.ErrorData(
        code=types.INVALID_REQUEST if is_told else types.PARSE_ERROR,
        message="the line is not a message of the protocol",
    )
    return types.JSONRPCError(jsonrpc="2.0", id=id if is_told else None, error=problem)


async def _send(from_server: MemoryObjectReceiveStream[SessionMessage], out: _Out, asked: _Asked) -> None:
    async with from_server:
        async for sent in from_server:
            await out.write(_line(sent.message))
            if isinstance(sent.message, (types.JSONRPCResponse, types.JSONRPCError)):
                await asked.one_less()


def _line(message: types.JSONRPCMessage) -> bytes:
    written = message.model_dump_json(by_alias=True, exclude_unset=True)
    for end in _OTHER_ENDS:
        written = written.replace(end, f"\\u{ord(end):04x}")
    return written.encode() + b"\n"


class _Lines:
    """The lines of a descriptor, read on a thread that is left to itself when nobody wants them any more."""

    def __init__(self, source: int) -> None:
        self._source = source
        self._loop = asyncio.get_running_loop()
        self._read: asyncio.Queue[bytes | None] = asyncio.Queue()
        self._room = threading.Semaphore(_LINES_AHEAD)
        threading.Thread(target=self._run, name="mcp-reader", daemon=True).start()

    def _run(self) -> None:
        # By os.read: a thread inside a buffered stream would hold its lock, and Python could not end.
        begun: list[bytes] = []
        with contextlib.suppress(RuntimeError):  # the loop is closed
            while chunk := self._chunk():
                *ends, rest = chunk.split(b"\n")
                for end in ends:
                    self._put(b"".join([*begun, end]))
                    begun = []
                begun.append(rest)
            self._put(b"".join(begun))
            self._loop.call_soon_threadsafe(self._read.put_nowait, None)

    def _chunk(self) -> bytes:
        try:
            return os.read(self._source, _CHUNK)
        except OSError:
            return b""

    def _put(self, line: bytes) -> None:
        if line.strip():
            self._room.acquire()
            self._loop.call_soon_threadsafe(self._read.put_nowait, line)

    async def __aiter__(self) -> AsyncIterator[bytes]:
        while (line := await self._read.get()) is not None:
            self._room.release()
            yield line


class _Out:
    """Writes to a descriptor in order, on a thread that is left to itself where the other end takes nothing."""

    def __init__(self, sink: int) -> None:
        self._sink = sink
        self._loop = asyncio.get_running_loop()
        self._wanted: SimpleQueue[tuple[bytes, asyncio.Future[None]]] = SimpleQueue()
        threading.Thread(target=self._run, name="mcp-writer", daemon=True).start()

    async def write(self, data: bytes) -> None:
        """Raises OSError where it cannot be written."""
        written: asyncio.Future[None] = self._loop.create_future()
        self._wanted.put((data, written))
        await written

    def _run(self) -> None:
        with contextlib.suppress(RuntimeError):  # the loop is closed
            while True:
                data, written = self._wanted.get()
                error: OSError | None = None
                try:
                    while data:
                        data = data[os.write(self._sink, data) :]
                except OSError as raised:
                    error = raised
                self._loop.call_soon_threadsafe(self._tell, written, error)

    @staticmethod
    def _tell(written: asyncio.Future[None], error: OSError | None) -> None:
        if written.done():  # nobody waits for it any more
            return
        if error is None:
            written.set_result(None)
        else:
            written.set_exception(error)
