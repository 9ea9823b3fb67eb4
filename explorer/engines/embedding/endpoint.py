"""Vectors from a server that speaks OpenAI's embeddings API: the user's own (Ollama, llama.cpp, vLLM) or a paid one.

Source: OpenAI, "Create embeddings": POST {endpoint}/embeddings with `model`, `input` and `encoding_format`; the
reply's `data` holds an `embedding` for each input, and the `index` of that input.
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
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from email.utils import parsedate_to_datetime
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

import numpy as np
import numpy.typing as npt

from explorer.contract import ConfigError, EngineFailure, TinyMemoryError, Unauthorized, Unavailable, is_blank
from explorer.contract.model import trimmed
from explorer.engines.config import EngineCredential, StaticCredential
from explorer.engines.embedding.rows import excerpt, unit_rows
from explorer.engines.registry import check_url, is_private

if TYPE_CHECKING:
    import httpx

_BATCH = 64  # texts in a request
_MAX_BYTES = 8_000  # of one text; no more tokens than that, the limit of OpenAI's models
_MIN_BYTES = 400  # a text that is refused when it is this short was not refused for its length
_TRIES = 3
_MAX_DELAY_S = 20.0  # a server that wants a longer pause is left alone
_CONNECT_S = 10.0
_SILENT_S = 60.0  # a model on a small computer takes its time
_ANSWER_S = 120.0
_MAX_ANSWER = 64 << 20  # bytes
_MAX_SAID = 200  # characters of a server's own words
_PROBE = "text"

_BUSY = (429, 503)
_TOO_LONG = (400, 413, 422)  # what servers answer to a text, or a batch, that is too long for the model

_KEY = re.compile(r"[!-~]+")

Vectors = npt.NDArray[np.float32]


@dataclass(frozen=True, slots=True)
class _Answer:
    status: int
    retry_after: str
    body: bytes


class EndpointEmbedder:
    """The embedder over one model of one server. Asks nothing before the first `embed`.

    Raises ConfigError for an endpoint that is not a plain http(s) URL, a blank model, and a key that would travel
    unencrypted. The key goes into the header of requests to the endpoint and nowhere else; redirects are not followed.
    """

    def __init__(self, endpoint: str, model: str, credential: EngineCredential = None) -> None:
        endpoint = trimmed(endpoint)
        check_url("the embedding endpoint", endpoint)
        if is_blank(model):
            raise ConfigError("the embedding endpoint has no model; set embedding_model to the name of one it offers")
        if isinstance(credential, StaticCredential) and credential.is_blank:
            credential = None
        if credential is not None and not is_private(endpoint):
            raise ConfigError(
                "the embedding endpoint would get its key unencrypted; use an https:// address, "
                "or http:// only for a server on this computer"
            )
        url = urlsplit(endpoint)
        place = url.netloc.lower() + url.path.rstrip("/")
        self.name = f"endpoint {place} {trimmed(model)}"
        self._said = f"the embedding endpoint {place}"
        self._url = endpoint.rstrip("/") + "/embeddings"
        # What goes to this computer, perhaps with a key, goes there directly, whatever proxy the environment names.
        self._may_use_proxy = url.scheme == "https" or not is_private(endpoint)
        self._model = trimmed(model)
        self._credential = credential
        self._lock = threading.Lock()
        self._dims = 0
        self._client: httpx.Client | None = None
        self._under_way = 0  # requests
        self._sockets: weakref.WeakSet[socket.socket] = weakref.WeakSet()
        self._closed = threading.Event()

    def __repr__(self) -> str:
        return f"EndpointEmbedder({self.name!r})"

    @property
    def dims(self) -> int:
        return self._dims

    def embed(self, texts: Sequence[str]) -> Vectors:
        """As `Embedder.embed`; blank texts are not sent.

        Raises Unauthorized for a refused key, Unavailable where no answer comes now, ConfigError for an address or a
        model that is not there, EngineFailure for an answer that is not vectors, or not of the size of those before.
        """
        parts = [excerpt(text, _MAX_BYTES) for text in texts]
        places = [place for place, part in enumerate(parts) if not is_blank(part)]
        if parts and not places and not self._dims:
            self._vectors([_PROBE])  # for the number of dimensions
        found = [
            self._vectors([parts[place] for place in places[start : start + _BATCH]])
            for start in range(0, len(places), _BATCH)
        ]
        rows = np.zeros((len(parts), self._dims), np.float32)
        if found:
            rows[places] = np.concatenate(found)
        return unit_rows(rows)

    def close(self) -> None:
        """End what is under way, which then raises Unavailable, and let go of connections. May be called twice."""
        self._closed.set()
        with self._lock:
            for connection in self._sockets:
                _shut(connection)
        self._close_client()

    # --- one batch ---

    def _vectors(self, texts: list[str]) -> Vectors:
        """As the server gave them, in the order of `texts`, which are not blank."""
        answer, key = self._ask(texts)
        if answer.status in _TOO_LONG:
            if len(texts) > 1:
                half = len(texts) // 2
                return np.concatenate([self._vectors(texts[:half]), self._vectors(texts[half:])])
            size = len(texts[0].encode()) // 2
            if size >= _MIN_BYTES:
                return self._vectors([excerpt(texts[0], size)])
        if not 200 <= answer.status < 300:
            raise self._refusal(answer, key)
        vectors = self._read(answer.body, len(texts))
        with self._lock:
            self._dims = self._dims or vectors.shape[1]
        if vectors.shape[1] != self._dims:
            raise EngineFailure(
                f"{self._said} gave vectors of {vectors.shape[1]:,} numbers after vectors of {self._dims:,}: its model "
                "was changed; open the memory again"
            )
        return vectors

    def _ask(self, texts: list[str]) -> tuple[_Answer, str]:
        """The answer, and the key that was sent; asks again where the server is busy."""
        for attempt in range(1, _TRIES + 1):
            key = self._key()
            answer = self._post(texts, key)
            if answer.status not in _BUSY or attempt == _TRIES:
                break
            delay = _delay(answer.retry_after, attempt)
            if delay > _MAX_DELAY_S:
                raise Unavailable(f"{self._said} is busy and asks to wait {delay:,.0f} s; try again then")
            if self._closed.wait(delay):
                raise self._is_closed()
        return answer, key

    def _key(self) -> str:
        if self._credential is None:
            return ""
        if isinstance(self._credential, StaticCredential):
            key = self._credential.reveal()
        else:
            key = asyncio.run(self._credential.bearer())  # a worker thread has no loop
        if not _KEY.fullmatch(key):  # no header holds it, and what the library says of that quotes it
            raise Unauthorized(f"the key for {self._said} holds characters that no key has; enter it again")
        return key

    def _post(self, texts: list[str], key: str) -> _Answer:
        import httpx  # slow to import

        content = json.dumps({"model": self._model, "input": texts, "encoding_format": "float"}).encode()
        headers = {"content-type": "application/json", "accept": "application/json"}
        if key:
            headers["authorization"] = f"Bearer {key}"
        fault: TinyMemoryError
        try:
            return self._exchange(content, headers)
        except TinyMemoryError:
            raise
        except httpx.InvalidURL:
            fault = ConfigError(f"{self._said} is not an address; check it")
        except (httpx.ConnectError, httpx.ConnectTimeout, httpx.ProxyError):
            fault = Unavailable(f"{self._said} cannot be reached; check that it runs and that its address is right")
        except httpx.TimeoutException:
            fault = Unavailable(f"{self._said} did not answer within {_SILENT_S:.0f} s; try again")
        except (httpx.HTTPError, OSError) as error:
            fault = Unavailable(f"the connection to {self._said} broke ({type(error).__name__}); try again")
        # Outside the handler: the library's error holds the request and with it the key.
        raise self._is_closed() if self._closed.is_set() else fault

    def _exchange(self, content: bytes, headers: dict[str, str]) -> _Answer:
        deadline = time.monotonic() + _ANSWER_S
        trace = {"trace": self._note_connection}
        with (
            self._opened() as client,
            client.stream("POST", self._url, content=content, headers=headers, extensions=trace) as response,
        ):
            body = bytearray()
            for chunk in response.iter_bytes():
                body += chunk
                if len(body) > _MAX_ANSWER:
                    raise EngineFailure(f"{self._said} gave an answer without end; check its address")
                if time.monotonic() > deadline:
                    raise Unavailable(f"{self._said} did not finish its answer within {_ANSWER_S:.0f} s; try again")
                if self._closed.is_set():
                    raise self._is_closed()
            return _Answer(response.status_code, response.headers.get("retry-after", ""), bytes(body))

    @contextlib.contextmanager
    def _opened(self) -> Iterator[httpx.Client]:
        import httpx

        with self._lock:
            if self._closed.is_set():
                raise self._is_closed()
            if self._client is None:
                timeout = httpx.Timeout(_SILENT_S, connect=_CONNECT_S)
                try:
                    self._client = httpx.Client(timeout=timeout, follow_redirects=False, trust_env=self._may_use_proxy)
                except (ImportError, ValueError, OSError):  # whose texts may quote a proxy's password
                    raise ConfigError(
                        f"{self._said} cannot be asked: the environment names a proxy or certificates that cannot be "
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

    def _note_connection(self, event: str, info: dict[str, Any]) -> None:
        """Keeps the sockets, which `close` needs, since the client tells nothing of them before an answer is there."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            connection = info["return_value"].get_extra_info("socket")
            with self._lock:
                self._sockets.add(connection)
                if self._closed.is_set():
                    _shut(connection)

    def _is_closed(self) -> Unavailable:
        return Unavailable(f"{self._said} is not asked any more: the memory was closed")

    # --- what came back ---

    def _refusal(self, answer: _Answer, key: str) -> TinyMemoryError:
        status = answer.status
        if status in (401, 403):
            if key:
                return Unauthorized(f"{self._said} refused the key; check the key and what it may do")
            return Unauthorized(f"{self._said} asks for a key; give it when you connect")
        if 300 <= status < 400:
            return ConfigError(f"{self._said} answers that it has moved, which is not followed; set its new address")
        said = _words(answer.body, key)
        if status in (404, 405):
            return ConfigError(
                f"{self._said} has no embeddings there, or not this model ({status}{said}); check embedding_endpoint, "
                "which mostly ends in /v1, and embedding_model"
            )
        if status in _BUSY or status >= 500 or status == 408:
            return Unavailable(f"{self._said} cannot answer now ({status}{said}); try again later")
        return EngineFailure(f"{self._said} refused the request ({status}{said}); check embedding_model")

    def _read(self, body: bytes, count: int) -> Vectors:
        """The vectors of an answer to `count` texts."""
        try:
            value = json.loads(body)
        except (ValueError, RecursionError):
            raise self._strange("is not JSON") from None
        data = value.get("data") if isinstance(value, dict) else None
        if not isinstance(data, list) or not all(isinstance(entry, dict) for entry in data):
            raise self._strange("holds no list of vectors")
        if len(data) != count:
            raise self._strange(f"holds {len(data):,} vectors for {count:,} texts")
        order = [entry.get("index", place) for place, entry in enumerate(data)]
        if any(type(index) is not int for index in order) or sorted(order) != list(range(count)):
            raise self._strange("does not tell which vector is of which text")
        rows = [entry.get("embedding") for entry in data]
        if not all(isinstance(row, list) and row for row in rows) or len({len(row) for row in rows}) > 1:
            raise self._strange("holds vectors of different sizes, or what is no vector")
        try:
            with np.errstate(over="ignore"):
                vectors = np.asarray(rows, np.float64).astype(np.float32)
        except (ValueError, TypeError, OverflowError):
            raise self._strange("holds vectors with something else than numbers") from None
        if vectors.ndim != 2 or not np.isfinite(vectors).all():
            raise self._strange("holds vectors with something else than finite numbers")
        return vectors[np.argsort(order)]

    def _strange(self, what: str) -> EngineFailure:
        return EngineFailure(
            f"the answer of {self._said} {what}; check that it is the address of an OpenAI-compatible API, "
            "which mostly ends in /v1, and that its model makes embeddings"
        )


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
