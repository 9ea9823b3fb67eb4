"""HTTP to one CortexDB: one pool of connections, the key and the actor of each request, and what is tried again.

The key goes into the header of requests to that endpoint and nowhere else. Redirects are not followed.

Source: cortex, "HTTP".
"""

from __future__ import annotations

import asyncio
import contextlib
import json
import math
import re
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from dataclasses import dataclass, field
from http.cookiejar import CookieJar, DefaultCookiePolicy
from typing import TYPE_CHECKING, Any
from urllib.parse import quote, urlsplit

from explorer.contract import ConfigError, EngineFailure, TinyMemoryError, Unauthorized, Unavailable
from explorer.engines.config import EngineCredential
from explorer.engines.cortex.failures import alien, broken, refusal
from explorer.engines.cortex.pacing import Timing, Tries
from explorer.engines.json_endpoint import KEY
from explorer.engines.registry import is_private

if TYPE_CHECKING:
    import ssl

    import httpx

MAX_ANSWER_BYTES = 64 * 2**20
MAX_ERROR_BYTES = 64 * 2**10
_CONNECTIONS = 16  # several questions at once, each over a few scopes
_LONG_BYTES = 2**20  # an answer that takes long enough to read as JSON that the window would stand still
_MIN_SECRET = 8  # characters; a shorter header value is no secret, and is a part of ordinary words
_CLOSING_S = 2.0  # for requests that are told to end

_WHOAMI = "v1/auth/whoami"
_SECONDS = re.compile(r"[0-9]{1,9}(\.[0-9]{1,9})?")


@dataclass(frozen=True, slots=True)
class _Reply:
    status: int
    body: bytes = field(repr=False)
    asks_to_wait_s: float | None = None
    is_whole: bool = True

    @property
    def is_good(self) -> bool:
        return 200 <= self.status < 300


@dataclass(eq=False, slots=True)
class _Pool:
    client: httpx.AsyncClient
    may_share: bool
    """Whether requests may share a connection (HTTP/2): known from the first answer on."""
    under_way: int = 0


class Transport:
    """Requests to one endpoint, which was checked to keep the key safe. Nothing is asked before the first of them.

    All calls belong to one event loop.
    """

    def __init__(
        self,
        endpoint: str,
        credential: EngineCredential,
        *,
        label: str,
        hosted: bool,
        headers: Mapping[str, str] | None = None,
        timing: Timing | None = None,
    ) -> None:
        url = urlsplit(endpoint)
        self.timing = timing or Timing()
        self._base = endpoint.rstrip("/") + "/"
        self._origin = f"{url.scheme}://{url.netloc.lower()}"
        self._host = url.netloc.lower()
        # As everywhere: what goes to this computer goes there directly, whatever proxy the environment names.
        self._is_encrypted = url.scheme == "https"
        self._may_use_proxy = self._is_encrypted or not is_private(endpoint)
        self._credential = credential
        self._label = label
        self._hosted = hosted
        self._headers = {name.lower(): value for name, value in (headers or {}).items()}
        self._pool: _Pool | None = None
        self._trust: ssl.SSLContext | None = None
        """The certificates that are trusted, which take long to load."""
        self._left: list[_Pool] = []
        """Pools that get no more requests, until they are closed."""
        self._opening = asyncio.Lock()
        self._pause_ends = 0.0
        self._actor: str | None = None
        self._knows_actor = hosted  # where no actor is ever sent
        self._actor_lock = asyncio.Lock()
        self._times_asked_actor = 0
        self._under_way: set[asyncio.Timeout] = set()
        self._is_idle = asyncio.Event()
        self._is_closed = False

    def __repr__(self) -> str:
        return f"Transport({self._label}, {self._origin})"

    @property
    def paused_until(self) -> float | None:
        """Until when the server asked to wait, as `time.monotonic()`; None where it does not, or no longer."""
        return self._pause_ends if self._pause_ends > time.monotonic() else None

    async def ask(
        self,
        method: str,
        route: str,
        *,
        params: Sequence[tuple[str, str]] = (),
        body: Any = None,
        tries: Tries = Tries.ONCE,
        headers: Mapping[str, str] | None = None,
        is_wrapped: bool = True,
    ) -> Any:
        """The JSON value of a good answer, without the hosted envelope unless it is not `is_wrapped`; None for an empty
        answer of the Direct wire.

        Raises Unauthorized, NotFound, InvalidRequest, Conflict, Unavailable or EngineFailure by the server's status,
        Unavailable where no answer comes, EngineFailure for one that cannot be used, ConfigError where the environment
        allows no request.
        """
        url = self._base + route
        if params:
            url += "?" + "&".join(f"{name}={quote(value, safe='')}" for name, value in params)
        content = None if body is None else self._encoded(method, route, body)
        async with self._alive():
            attempt = 1
            while True:
                try:
                    return await self._attempt(method, route, url, content, headers or {}, is_wrapped)
                except Unavailable as error:
                    if attempt >= tries.most(error):
                        raise
                await asyncio.sleep(self.timing.gap(attempt))
                attempt += 1

    async def sleep(self, seconds: float) -> None:
        """Wait, but not beyond `aclose`, after which this raises Unavailable."""
        async with self._alive():
            await asyncio.sleep(seconds)

    async def aclose(self) -> None:
        """End what is under way, which then raises Unavailable, and let go of connections. May be called twice."""
        if not self._is_closed:
            self._is_closed = True
            now = asyncio.get_running_loop().time()
            for scope in self._under_way:
                scope.reschedule(now)
        try:
            with contextlib.suppress(TimeoutError):
                async with asyncio.timeout(_CLOSING_S):
                    while self._under_way:
                        self._is_idle.clear()
                        await self._is_idle.wait()
        finally:
            if self._pool is not None:
                self._left.append(self._pool)
                self._pool = None
            for pool in self._left:
                pool.under_way = 0
            await self._close_left()

    @contextlib.asynccontextmanager
    async def _alive(self) -> AsyncIterator[None]:
        """What runs in here ends with `aclose`."""
        if self._is_closed:
            raise self._closed()
        try:
            async with asyncio.timeout(None) as scope:
                self._under_way.add(scope)
                try:
                    yield
                finally:
                    self._under_way.discard(scope)
                    self._is_idle.set()
        except TimeoutError:
            if not self._is_closed:
                raise
        else:
            return
        raise self._closed()

    def _closed(self) -> Unavailable:
        return Unavailable(f"{self._label} at {self._host} is not asked any more: the memory was closed")

    async def _attempt(
        self, method: str, route: str, url: str, content: bytes | None, extra: Mapping[str, str], is_wrapped: bool
    ) -> Any:
        await self._wait_out_pause()
        key = await self._key()
        if not self._knows_actor:
            await self._ask_for_actor(key)
        reply = await self._exchange(method, route, url, content, key, extra)
        if reply.status in (401, 403):
            self._knows_actor = self._hosted
            self._actor = None
        if not reply.is_good:
            raise self._refusal(method, route, reply, key)
        if not reply.body and not (self._hosted and is_wrapped):
            return None
        value = await self._decoded(method, route, reply.body)
        if not (self._hosted and is_wrapped):
            return value
        success = value.get("success") if isinstance(value, dict) else None
        if success is False:
            raise self._refusal(method, route, reply, key)
        if success is not True or "data" not in value:
            raise alien(f"{self.head(method, route)} gave an answer without its data; check the endpoint")
        return value["data"]

    async def _key(self) -> str:
        """The key of this moment."""
        if self._credential is None:
            raise Unauthorized(f"{self._label} needs a key; give it when you connect")
        fault = ""
        try:
            key = await self._credential.bearer()
        except Unauthorized as error:
            fault = error.text
        if fault:
            raise Unauthorized(f"{self._label}: {fault}")
        if not KEY.fullmatch(key):  # no header holds it, and what the library says of that quotes it
            raise Unauthorized(f"the key for {self._label} holds characters that no key has; enter it again")
        return key

    async def _ask_for_actor(self, key: str) -> None:
        """Learn as whom the server knows the key. Where it does not say now, the request itself tells what is wrong."""
        before = self._times_asked_actor
        async with self._actor_lock:
            if self._knows_actor or self._times_asked_actor != before:  # another request asked meanwhile
                return
            reply: _Reply | None = None
            with contextlib.suppress(TinyMemoryError):
                reply = await self._exchange("GET", _WHOAMI, self._base + _WHOAMI, None, key, {})
            self._times_asked_actor += 1  # but not where it was cancelled: then whoever waits asks itself
            if reply is None:
                return
            if reply.status in (404, 405):
                self._knows_actor = True
            elif reply.status == 200 and (caller := _caller(reply.body)):
                self._actor, self._knows_actor = caller, True

    async def _exchange(
        self, method: str, route: str, url: str, content: bytes | None, key: str, extra: Mapping[str, str]
    ) -> _Reply:
        await self._wait_out_pause()
        pool = await self._opened()
        import httpx  # which `_opened` loaded

        headers = {**self._headers, "accept": "application/json", **extra, "authorization": f"Bearer {key}"}
        if content is not None:
            headers["content-type"] = "application/json"
        if self._actor is not None:
            headers["x-cortex-actor"] = self._actor
        fault: TinyMemoryError
        pool.under_way += 1
        is_whole = is_ended = False
        try:
            async with (
                asyncio.timeout(self.timing.request_s),
                pool.client.stream(method, url, content=content, headers=headers) as response,
            ):
                pool.may_share = response.http_version == "HTTP/2"
                reply = await self._read(response, self.head(method, route))
            is_whole, is_ended = reply.is_whole, True
            return reply
        except TinyMemoryError:
            is_ended = True
            raise
        except (httpx.InvalidURL, httpx.UnsupportedProtocol, httpx.LocalProtocolError, ValueError):
            fault = EngineFailure(f"{self.head(method, route)} cannot be asked: the request is no valid one")
        except httpx.DecodingError:
            fault = EngineFailure(f"{self.head(method, route)} gave an answer that cannot be unpacked")
        except (httpx.HTTPError, httpx.StreamError, OSError) as error:
            is_ended = not isinstance(error, TimeoutError)
            fault = broken(self.head(method, route), error)
        finally:
            await self._give_back(pool, is_reusable=is_whole or (is_ended and not pool.may_share))
        # Outside the handler: the library's error holds the request and with it the key.
        raise fault

    async def _read(self, response: httpx.Response, head: str) -> _Reply:
        is_good = 200 <= response.status_code < 300
        wait_s = self._note_pause(response)
        too_long = EngineFailure(f"{head} gave an answer of more than {MAX_ANSWER_BYTES // 2**20} MiB")
        if is_good and _number(response.headers.get("content-length", "")) > MAX_ANSWER_BYTES:
            raise too_long
        body = bytearray()
        is_whole = True
        async for chunk in response.aiter_bytes():
            body += chunk
            if is_good and len(body) > MAX_ANSWER_BYTES:
                raise too_long
            if not is_good and len(body) >= MAX_ERROR_BYTES:
                del body[MAX_ERROR_BYTES:]
                is_whole = False
                break
        return _Reply(response.status_code, bytes(body), wait_s, is_whole)

    def _note_pause(self, response: httpx.Response) -> float | None:
        """The seconds that a busy server asks to wait, which holds for every request from now on."""
        if response.status_code != 429:
            return None
        for name in ("retry-after", "ratelimit-reset"):
            seconds = _number(response.headers.get(name, ""))
            if seconds >= 0:
                ends = time.monotonic() + min(seconds, self.timing.pause_s)
                self._pause_ends = max(self._pause_ends, ends)
                return seconds
        return None

    async def _wait_out_pause(self) -> None:
        while (until := self.paused_until) is not None:  # noqa: ASYNC110 (it may have moved while this one slept)
            await asyncio.sleep(max(until - time.monotonic(), 0.0))

    async def _opened(self) -> _Pool:
        async with self._opening:
            if self._pool is None:
                # In a thread: the library and the certificates take a moment to load.
                client = await asyncio.to_thread(self._made)
                self._pool = _Pool(client, may_share=self._is_encrypted and _has_http2())
            return self._pool

    async def _give_back(self, pool: _Pool, *, is_reusable: bool) -> None:
        """Note that a request ended. A connection that others share does not end with one that was given up, and what
        still comes for that takes up its window until nothing comes for anyone. One of its own may never be free again
        where the cancel came while it was taken or let go of. Such a pool gets no more requests.
        """
        pool.under_way -= 1
        if not is_reusable and pool is self._pool:
            self._pool = None
            self._left.append(pool)
        await self._close_left()

    async def _close_left(self) -> None:
        """Close the pools that nobody uses any more; one whose closing is cancelled stays for the next time."""
        for pool in [pool for pool in self._left if not pool.under_way]:
            await pool.client.aclose()
            if pool in self._left:
                self._left.remove(pool)

    def _made(self) -> httpx.AsyncClient:
        import httpx

        try:
            # Certificates take longer to load than all else, and what is not encrypted has no use for them.
            if self._trust is None and self._is_encrypted:
                self._trust = httpx.create_ssl_context(trust_env=self._may_use_proxy)
            return httpx.AsyncClient(
                verify=self._trust or False,
                http2=_has_http2(),
                timeout=httpx.Timeout(None, connect=self.timing.connect_s),
                limits=httpx.Limits(max_connections=_CONNECTIONS, max_keepalive_connections=_CONNECTIONS),
                follow_redirects=False,
                trust_env=self._may_use_proxy,
                cookies=CookieJar(DefaultCookiePolicy(allowed_domains=[])),
            )
        except (ImportError, ValueError, OSError):  # whose texts may quote a proxy's password
            raise ConfigError(
                f"{self._label} at {self._host} cannot be asked: the environment names a proxy or certificates that "
                "cannot be used; check HTTPS_PROXY and SSL_CERT_FILE"
            ) from None

    def _encoded(self, method: str, route: str, body: Any) -> bytes:
        try:
            return json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode()
        except ValueError:
            fault = EngineFailure(f"{self.head(method, route)} cannot be asked: the request has no JSON form")
        raise fault

    async def _decoded(self, method: str, route: str, body: bytes) -> Any:
        try:
            if len(body) > _LONG_BYTES:
                return await asyncio.to_thread(_parsed, body)
            return _parsed(body)
        except json.JSONDecodeError as error:
            fault = f"not JSON: {error.msg.lower().removesuffix(' at')} at character {error.pos}"
        except (ValueError, RecursionError):
            fault = "not JSON in UTF-8 that can be read"
        raise alien(f"{self.head(method, route)} gave an answer that cannot be read: {fault}")

    def head(self, method: str, route: str) -> str:
        """How errors begin that are about such a request."""
        return f"{self._label}: {method} {route} at {self._host}"

    def _secrets(self, key: str) -> list[str]:
        """What no message may hold, though a server repeats it."""
        return [key, *(value for value in self._headers.values() if len(value) >= _MIN_SECRET)]

    def _refusal(self, method: str, route: str, reply: _Reply, key: str) -> TinyMemoryError:
        return refusal(
            f"{self.head(method, route)} answered {reply.status}",
            reply.status,
            reply.body,
            hosted=self._hosted,
            secrets=self._secrets(key),
            retry_after_s=reply.asks_to_wait_s,
        )


def _parsed(body: bytes) -> Any:
    """The JSON of an answer. Raises ValueError or RecursionError.

    Not as strictly as the contract reads: what is odd in the event of another program must not hide all others.
    """
    return json.loads(body.decode("utf-8"))


def _caller(body: bytes) -> str | None:
    """The actor that the server names, where a header can hold it."""
    try:
        value = _parsed(body)
    except (ValueError, RecursionError):
        return None
    caller = value.get("caller") if isinstance(value, dict) else None
    return caller if isinstance(caller, str) and KEY.fullmatch(caller) else None


def _number(text: str) -> float:
    """A plain number of a header; less than none where it is anything else, such as a date."""
    text = text.strip()
    return float(text) if _SECONDS.fullmatch(text) else -math.inf


def _has_http2() -> bool:
    try:
        import h2  # noqa: F401
    except ImportError:
        return False
    return True
