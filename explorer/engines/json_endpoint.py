"""One address of a server that speaks an API like OpenAI's: JSON sent there and taken from there, by worker threads.

What holds for each: the key goes into the header of requests to that address and nowhere else, never unencrypted to
another computer; redirects are not followed; no error's text holds the key or what was sent.
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import socket
import threading
import time
import weakref
from collections.abc import Iterator
from dataclasses import dataclass, field
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from explorer.contract import ConfigError, EngineFailure, TinyMemoryError, Unauthorized, Unavailable
from explorer.contract.model import trimmed
from explorer.engines.config import EngineCredential, StaticCredential
from explorer.engines.registry import check_url, is_private

if TYPE_CHECKING:
    import httpx

_TRIES = 3
_MAX_DELAY_S = 20.0  # a server that wants a longer pause is left alone
_CONNECT_S = 10.0
_MAX_SAID = 200  # characters of a server's own words

_BUSY = (429, 503)

KEY = re.compile(r"[!-~]+")


@dataclass(frozen=True, slots=True)
class Limits:
    """What is waited for, and taken, at most."""

    silent_s: float
    """While nothing comes."""
    answer_s: float
    """For the whole of an answer."""
    answer_bytes: int


@dataclass(frozen=True, slots=True)
class Names:
    """What errors call things."""

    endpoint: str
    """Begins their sentences: "the embedding endpoint"."""
    offers: str
    """What such a server has there: "embeddings"."""
    address: str
    """The setting of the address."""
    model: str
    """The setting of the model."""
    give_key: str
    """What to do where a key is asked for: "give it when you connect"."""
    closed: str
    """Why nothing is asked any more after `close`: "the memory was closed"."""


@dataclass(frozen=True, slots=True)
class Answer:
    status: int
    retry_after: str
    body: bytes = field(repr=False)
    key: str = field(repr=False)
    """What was sent, to be kept out of what is said of the answer."""

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


def place_of(endpoint: str) -> str:
    """An endpoint as its errors name it: host, port and path."""
    url = urlsplit(endpoint)
    return url.netloc.lower() + url.path.rstrip("/")


class JsonEndpoint:
    """POSTs to `path` below an endpoint. Asks nothing before the first `post`; every call may come from any thread.

    Raises ConfigError for an endpoint that is not a plain http(s) URL, and for a key that would travel unencrypted.
    """

    def __init__(self, endpoint: str, path: str, credential: EngineCredential, names: Names, limits: Limits) -> None:
        endpoint = trimmed(endpoint)
        check_url(names.endpoint, endpoint)
        if isinstance(credential, StaticCredential) and credential.is_blank:
            credential = None
        if credential is not None and not is_private(endpoint):
            raise ConfigError(
                f"{names.endpoint} would get its key unencrypted; use an https:// address, "
                "or http:// only for a server on this computer"
            )
        self.place = place_of(endpoint)
        self.said = f"{names.endpoint} {self.place}"
        self._url = endpoint.rstrip("/") + path
        # What goes to this computer, perhaps with a key, goes there directly, whatever proxy the environment names.
        self._may_use_proxy = urlsplit(endpoint).scheme == "https" or not is_private(endpoint)
        self._credential = credential
        self._limits = limits
        self._names = names
        self._lock = threading.Lock()
        self._client: httpx.Client | None = None
        self._under_way = 0  # requests
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._closed = threading.Event()

    def close(self) -> None:
        """End what is under way, which then raises Unavailable, and let go of connections. May be called twice."""
        self._closed.set()
        self._hang_up()
        self._close_client()

    def post(self, value: Any) -> Answer:
        """The answer to a JSON value, of whatever status; asks again where the server is busy.

        Raises Unavailable where no answer comes now, Unauthorized for a key that no header holds, EngineFailure for an
        answer that is too long, ConfigError for what cannot be asked.
        """
        content = json.dumps(value).encode()
        for attempt in range(1, _TRIES + 1):
            answer = self._post(content, self._key())
            if answer.status not in _BUSY or attempt == _TRIES:
                break
            delay = _delay(answer.retry_after, attempt)
            if delay > _MAX_DELAY_S:
                raise Unavailable(f"{self.said} is busy and asks to wait {delay:,.0f} s; try again then")
            if self._closed.wait(delay):
                raise self._is_closed()
        return answer

    def refusal(self, answer: Answer, *, is_quoted: bool = True) -> TinyMemoryError:
        """What an answer means that is not good. `is_quoted`: in the server's own words too, which may repeat what it
        was sent, though never the key.
        """
        names = self._names
        status = answer.status
        if status in (401, 403):
            if answer.key:
                return Unauthorized(f"{self.said} refused the key; check the key and what it may do")
            return Unauthorized(f"{self.said} asks for a key; {names.give_key}")
        if 300 <= status < 400:
            return ConfigError(f"{self.said} answers that it has moved, which is not followed; set its new address")
        said = _words(answer.body, answer.key) if is_quoted else ""
        if status in (404, 405):
            return ConfigError(
                f"{self.said} has no {names.offers} there, or not this model ({status}{said}); check {names.address}, "
                f"which mostly ends in /v1, and {names.model}"
            )
        if status in _BUSY or status >= 500 or status == 408:
            return Unavailable(f"{self.said} cannot answer now ({status}{said}); try again later")
        return EngineFailure(f"{self.said} refused the request ({status}{said}); check {names.model}")

    def _key(self) -> str:
        if self._credential is None:
            return ""
        if isinstance(self._credential, StaticCredential):
            key = self._credential.reveal()
        else:
            key = asyncio.run(self._credential.bearer())  # a worker thread has no loop
        if not KEY.fullmatch(key):  # no header holds it, and what the library says of that quotes it
            raise Unauthorized(f"the key for {self.said} holds characters that no key has; enter it again")
        return key

    def _post(self, content: bytes, key: str) -> Answer:
        import httpx  # slow to import

        headers = {"content-type": "application/json", "accept": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        deadline = time.monotonic() + self._limits.answer_s
        # One that dribbles is never silent. Others that wait for the same server end with it.
        giving_up = threading.Timer(self._limits.answer_s, self._hang_up)
        giving_up.daemon = True
        giving_up.start()
        fault: TinyMemoryError
        try:
            return self._exchange(content, headers, key, deadline)
        except TinyMemoryError:
            raise
        except httpx.InvalidURL:
            fault = ConfigError(f"{self.said} is not an address; check it")
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError):
            fault = Unavailable(f"{self.said} cannot be reached; check that it runs and that its address is right")
        except httpx.TimeoutException:
            fault = Unavailable(f"{self.said} did not answer within {self._limits.silent_s:.0f} s; try again")
        except (httpx.HTTPError, OSError) as error:
            fault = Unavailable(f"the connection to {self.said} broke ({type(error).__name__}); try again")
            if time.monotonic() >= deadline:
                fault = self._is_late()
        finally:
            giving_up.cancel()
        # Outside the handler: the library's error holds the request and with it the key.
        raise self._is_closed() if self._closed.is_set() else fault

    def _exchange(self, content: bytes, headers: dict[str, str], key: str, deadline: float) -> Answer:
        trace = {"trace": self._note_connection}
        with (
            self._opened() as client,
            client.stream("POST", self._url, content=content, headers=headers, extensions=trace) as response,
        ):
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > self._limits.answer_bytes:
                    raise EngineFailure(f"{self.said} gave an answer without end; check its address")
                if time.monotonic() > deadline:
                    raise self._is_late()
                if self._closed.is_set():
                    raise self._is_closed()
            return Answer(response.status_code, response.headers.get("retry-after", ""), bytes(body), key)

    @contextlib.contextmanager
    def _opened(self) -> Iterator[httpx.Client]:
        import httpx

        with self._lock:
            if self._closed.is_set():
                raise self._is_closed()
            if self._client is None:
                timeout = httpx.Timeout(self._limits.silent_s, connect=_CONNECT_S)
                try:
                    self._client = httpx.Client(timeout=timeout, follow_redirects=False, trust_env=self._may_use_proxy)
                except (ImportError, ValueError, OSError):  # whose texts may quote a proxy's password
                    raise ConfigError(
                        f"{self.said} cannot be asked: the environment names a proxy or certificates that cannot be "
                        "used; check HTTPS_PROXY and SSL_CERT_FILE"
                    ) from None
            client = self._client
            self._under_way += 1
        try:
            yield client
        finally:
            with self._lock:
                self._under_way -= 1
            if self._closed.is_set():
                self._close_client()

    def _close_client(self) -> None:
        """Close the client once nothing is under way: it would close sockets that other threads read from."""
        with self._lock:
            if self._under_way:
                return
            client, self._client = self._client, None
        if client is not None:
            client.close()

    def _hang_up(self) -> None:
        with self._lock:
            for connection in self._sockets:
                _shut(connection)

    def _note_connection(self, event: str, info: dict[str, Any]) -> None:
        """Keeps the sockets, which `close` needs, since the client tells nothing of them before an answer is there."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            connection = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.add(connection)
                if self._closed.is_set():
                    _shut(connection)

    def _is_late(self) -> Unavailable:
        return Unavailable(f"{self.said} did not finish its answer within {self._limits.answer_s:.0f} s; try again")

    def _is_closed(self) -> Unavailable:
        return Unavailable(f"{self.said} is not asked any more: {self._names.closed}")


def _shut(connection: socket.socket) -> None:
    """Wake the thread that waits for an answer there."""
    with contextlib.suppress(OSError):
        # Not the method of an encrypted one, which takes its state away from that thread.
        socket.socket.shutdown(connection, socket.SHUT_RDWR)


def _delay(retry_after: str, attempt: int) -> float:
    """Seconds to wait before the next try: what the server asks for, in seconds or as a date, else 1, 2, ..."""
    retry_after = retry_after.strip()
    try:
        delay = float(retry_after)
    except ValueError:
        try:
            date = parsedate_to_datetime(retry_after)
            delay = (date.replace(tzinfo=date.tzinfo or UTC) - datetime.now(UTC)).total_seconds()
        except (ValueError, TypeError, OverflowError):
            delay = math.nan
    return max(delay, 0.0) if math.isfinite(delay) else float(attempt)


def _words(body: bytes, key: str) -> str:
    """What the server itself says of a refusal, on one line and without the key, after a colon; empty if nothing."""
    try:
        value = json.loads(body)
    except (ValueError, RecursionError):
        return ""
    for name in ("error", "message", "detail"):  # OpenAI's, and those of servers that differ
        if isinstance(value, dict):
            value = value.get(name, value)
    if not isinstance(value, str):
        return ""
    if key:
        value = value.replace(key, "(key)")
    said = "".join(c if c.isprintable() else " " for c in value[: 2 * _MAX_SAID])
    said = " ".join(said.split())[:_MAX_SAID]
    return f": {said}" if said else ""
