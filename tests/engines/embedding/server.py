"""An embeddings server on this computer, which a test tells how to answer and asks what it was sent."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


@dataclass(frozen=True)
class Reply:
    status: int = 200
    body: bytes = b""
    headers: dict[str, str] = field(default_factory=dict)


@dataclass(frozen=True)
class Request:
    path: str
    headers: dict[str, str]
    body: Any

    @property
    def texts(self) -> list[str]:
        return list(self.body["input"])


Answer = Callable[[Request], Reply]


def vector_of(text: str) -> list[float]:
    return [float(len(text)), 1.0, -2.5]


def vectors(request: Request) -> Reply:
    """As OpenAI answers, but in reverse order, which `index` tells."""
    data = [
        {"object": "embedding", "index": place, "embedding": vector_of(text)}
        for place, text in enumerate(request.texts)
    ]
    return Reply(body=json.dumps({"object": "list", "data": data[::-1]}).encode())


class Server:
    """What it answers: the replies of `script` in turn, then what `answer` says."""

    def __init__(self) -> None:
        self.answer: Answer = vectors
        self.script: list[Reply | Answer] = []
        self.requests: list[Request] = []
        self.arrived = threading.Semaphore(0)
        """Counts requests that are here and not answered yet when it is released."""
        self.go_on = threading.Event()
        """Lets handlers that wait for it end."""
        self.address = ""

    @property
    def endpoint(self) -> str:
        return f"{self.address}/v1"

    def handle(self, request: Request) -> Reply:
        self.requests.append(request)
        self.arrived.release()
        reply = self.script.pop(0) if self.script else self.answer
        return reply if isinstance(reply, Reply) else reply(request)

    def silent(self, request: Request) -> Reply:
        """An answer that does not come while the test runs."""
        self.go_on.wait(20)
        return vectors(request)


@contextmanager
def served() -> Iterator[Server]:
    server = Server()

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            length = int(self.headers.get("content-length", 0))
            headers = {name.lower(): value for name, value in self.headers.items()}
            reply = server.handle(Request(self.path, headers, json.loads(self.rfile.read(length))))
            try:
                self.send_response(reply.status)
                for name, value in {"Content-Length": str(len(reply.body)), **reply.headers}.items():
                    self.send_header(name, value)
                self.end_headers()
                self.wfile.write(reply.body)
            except OSError:
                self.close_connection = True  # the client went away

        def log_message(self, format: str, *args: object) -> None:
            """Nothing: its errors are what a test asks for."""

    with ThreadingHTTPServer(("127.0.0.1", 0), Handler) as http:
        server.address = f"http://127.0.0.1:{http.server_address[1]}"
        thread = threading.Thread(target=http.serve_forever, args=(0.01,))
        thread.start()
        try:
            yield server
        finally:
            server.go_on.set()
            http.shutdown()
            thread.join()
