"""Keys and actors of requests, what is tried again, pauses, limits, and what each failure is called."""

from __future__ import annotations

import asyncio
import gzip
import json
import socket
import ssl
import time
import traceback
from collections.abc import AsyncIterator, Callable
from contextlib import asynccontextmanager
from typing import Any

import httpx
import pytest

from explorer.contract import (
    Conflict,
    EngineFailure,
    InvalidRequest,
    NotFound,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
)
from explorer.engines import StaticCredential
from explorer.engines.cortex import transport as module
from explorer.engines.cortex.failures import error_code, fault_class, is_insufficient_credits, without_words
from explorer.engines.cortex.pacing import Timing, Tries
from explorer.engines.cortex.transport import Transport
from tests.conftest import Until
from tests.doubles.serving import Reply
from tests.engines.cortex.answering import KEY, QUICK, Gate, answering, asking, keys, reply, wrapped

EACH_WIRE = pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])


async def failure(asked: Any, kind: type[TinyMemoryError] = TinyMemoryError) -> TinyMemoryError:
    """What a request raises, which names no key wherever one looks."""
    with pytest.raises(kind) as caught:
        await asked
    assert type(caught.value) is kind or kind is TinyMemoryError
    assert KEY not in "".join(traceback.format_exception(caught.value))
    assert type(caught.value.__context__) in (type(None), asyncio.CancelledError)  # no error of the library
    assert caught.value.__cause__ is None
    return caught.value


@asynccontextmanager
async def raw(
    talk: Callable[[asyncio.StreamReader, asyncio.StreamWriter], Any], after: bytes = b"\r\n\r\n"
) -> AsyncIterator[str]:
    """A server whose every byte the test sends, when the request's head is there. -> its endpoint"""
    left: set[asyncio.Task[Any]] = set()

    async def serve(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        task = asyncio.current_task()
        assert task is not None
        left.add(task)
        try:
            await reader.readuntil(after)
            await talk(reader, writer)
        except (ConnectionError, asyncio.IncompleteReadError, asyncio.CancelledError):
            pass
        finally:
            writer.close()
            left.discard(task)

    server = await asyncio.start_server(serve, "127.0.0.1", 0)
    try:
        yield f"http://127.0.0.1:{server.sockets[0].getsockname()[1]}"
    finally:
        server.close()
        for task in list(left):
            task.cancel()


# What a request carries.


@EACH_WIRE
async def test_a_request_carries_key_headers_and_query(hosted: bool) -> None:
    async with (
        answering() as server,
        asking(server.endpoint + "/base/", hosted=hosted, headers={"X-Team": "blue", "Accept": "x"}) as wire,
    ):
        server.otherwise = wrapped({"a": 1}) if hosted else reply({"a": 1})
        params = [("scope", "app:a/b c"), ("labels", "x,y:é~-._")]
        assert await wire.ask("POST", "v1/events", params=params, body={"é": [1]}) == {"a": 1}
    (request,) = server.requests
    assert request.target == "/base/v1/events?scope=app%3Aa%2Fb%20c&labels=x%2Cy%3A%C3%A9~-._"
    assert request.body == '{"é":[1]}'.encode()
    assert request.headers["authorization"] == f"Bearer {KEY}"
    assert request.headers["x-team"] == "blue"
    assert request.headers["accept"] == "application/json"
    assert request.headers["content-type"] == "application/json"
    assert "idempotency-key" not in request.headers
    for asked in server.whoami_requests:
        assert asked.headers["x-team"] == "blue"


async def test_the_key_is_asked_for_at_every_attempt() -> None:
    async with answering() as server, asking(server, credential=keys("one", " two\n", "three")) as wire:
        server.script = [Reply(status=503), Reply(status=503)]
        await wire.ask("GET", "v1/events", tries=Tries.READ)
    assert server.sent("authorization") == ["Bearer one", "Bearer two", "Bearer three"]


@EACH_WIRE
@pytest.mark.parametrize(
    "given", [RuntimeError(KEY), "", " ", f"{KEY}\r\nx: y", f"{KEY}\0", f"{KEY} and more", f"ä{KEY}"]
)
async def test_nothing_is_sent_with_a_key_that_is_none(hosted: bool, given: str | Exception) -> None:
    async with answering() as server, asking(server, hosted=hosted, credential=keys(given)) as wire:
        error = await failure(wire.ask("GET", "v1/events", tries=Tries.READ), Unauthorized)
        assert server.server.accepted == 0
    assert ("TinyHumans" if hosted else "CortexDB") in error.text


async def test_a_fixed_key_that_no_header_holds_is_not_sent() -> None:
    async with answering() as server, asking(server, credential=StaticCredential(f"{KEY}\nx")) as wire:
        await failure(wire.ask("GET", "v1/events"), Unauthorized)
        assert server.server.accepted == 0


async def test_what_goes_to_this_computer_goes_through_no_proxy(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("HTTP_PROXY", "http_proxy", "ALL_PROXY", "all_proxy"):
        monkeypatch.setenv(name, "http://127.0.0.1:9")
    async with answering() as server, asking(server) as wire:
        assert await wire.ask("GET", "v1/events") == {}


async def test_what_is_encrypted_goes_through_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    seen: list[bytes] = []

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 403 No\r\ncontent-length: 0\r\n\r\n")
        await writer.drain()
        seen.append(b"")

    async with raw(talk) as proxy:
        monkeypatch.setenv("HTTPS_PROXY", proxy)
        async with asking("https://memory.example.com") as wire:
            error = await failure(wire.ask("GET", "v1/events"), Unavailable)
    assert "(connect)" in error.text
    assert seen


async def test_proxy_that_cannot_be_used_is_told_without_its_password(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTPS_PROXY", f"nonsense://user:{KEY}@proxy")
    async with asking("https://memory.example.com") as wire:
        with pytest.raises(TinyMemoryError, match="HTTPS_PROXY") as caught:
            await wire.ask("GET", "v1/events")
    assert KEY not in caught.value.text


async def test_cookies_of_a_server_do_not_come_back() -> None:
    async with answering() as server, asking(server) as wire:
        server.otherwise = reply({}, set_cookie="a=b; Path=/")
        await wire.ask("GET", "v1/events")
        await wire.ask("GET", "v1/events")
    assert server.sent("cookie") == [None, None]


# As whom the Direct wire asks.


async def test_the_actor_is_asked_for_once_and_sent_with_every_request() -> None:
    async with answering() as server, asking(server) as wire:
        server.whoami = reply({"caller": "user:local"})
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(wire.ask("GET", "v1/events"))
        await wire.ask("POST", "v1/recall", body={})
    (whoami,) = server.whoami_requests
    assert whoami.headers["authorization"] == f"Bearer {KEY}"
    assert "x-cortex-actor" not in whoami.headers
    assert server.sent("x-cortex-actor") == ["user:local"] * 6


@pytest.mark.parametrize("status", [404, 405])
async def test_a_server_without_actors_is_asked_once(status: int) -> None:
    async with answering() as server, asking(server) as wire:
        server.whoami = Reply(status=status)
        for _ in range(3):
            await wire.ask("GET", "v1/events")
    assert len(server.whoami_requests) == 1
    assert server.sent("x-cortex-actor") == [None] * 3


@pytest.mark.parametrize(
    "answer",
    [
        Reply(status=500),
        Reply(status=401),
        Reply(status=302, headers={"location": "/elsewhere"}),
        Reply(b"nonsense"),
        reply({}),
        reply([]),
        reply({"caller": None}),
        reply({"caller": ""}),
        reply({"caller": "user:a\r\nx-b: c"}),
        None,
    ],
    ids=["500", "401", "moved", "no JSON", "no caller", "list", "null", "empty", "two lines", "hangs up"],
)
async def test_while_the_actor_is_unknown_each_request_asks_and_goes_without(answer: Reply | None) -> None:
    async with answering() as server, asking(server) as wire:
        server.whoami = answer
        for _ in range(2):
            await wire.ask("GET", "v1/events")
        server.whoami = reply({"caller": "user:local"})
        await wire.ask("GET", "v1/events")
    assert len(server.whoami_requests) == 3
    assert server.sent("x-cortex-actor") == [None, None, "user:local"]


async def test_an_unknown_actor_is_asked_for_once_by_requests_of_one_moment(until: Until) -> None:
    async with answering() as server, asking(server) as wire:
        gate = Gate(Reply(status=500))
        server.whoami = gate
        async with asyncio.TaskGroup() as group:
            for _ in range(5):
                group.create_task(wire.ask("GET", "v1/events"))
            await until(lambda: gate.waiting)
            gate.open()
    assert len(server.whoami_requests) == 1
    assert len(server.requests) == 5


async def test_who_waits_for_an_actor_that_nobody_asks_for_any_more_asks_itself(until: Until) -> None:
    async with answering() as server, asking(server) as wire:
        gate = Gate(reply({"caller": "user:local"}))
        server.whoami = gate
        first, second = (asyncio.create_task(wire.ask("GET", "v1/events")) for _ in range(2))
        await until(lambda: gate.waiting)
        first.cancel()
        gate.open()
        await second
        with pytest.raises(asyncio.CancelledError):
            await first
    assert server.sent("x-cortex-actor") == ["user:local"]
    assert len(server.whoami_requests) == 2


@pytest.mark.parametrize("status", [401, 403])
async def test_a_refused_request_makes_the_next_one_ask_who_it_is(status: int) -> None:
    async with answering() as server, asking(server, credential=keys("old", "new")) as wire:
        server.whoami = reply({"caller": "user:old"})
        server.script = [Reply(status=status)]
        await failure(wire.ask("GET", "v1/events", tries=Tries.READ), Unauthorized)
        server.whoami = reply({"caller": "user:new"})
        await wire.ask("GET", "v1/events")
    assert server.sent("x-cortex-actor") == ["user:old", "user:new"]
    assert len(server.whoami_requests) == 2


async def test_the_hosted_wire_knows_no_actor() -> None:
    async with answering() as server, asking(server, hosted=True) as wire:
        server.whoami = reply({"caller": "user:local"})
        server.script = [Reply(status=401), wrapped({})]
        await failure(wire.ask("GET", "memory/events"), Unauthorized)
        await wire.ask("GET", "memory/events")
    assert server.whoami_requests == []
    assert server.sent("x-cortex-actor") == [None, None]


# What is tried again.

STATUSES = [
    *((401, Unauthorized), (403, Unauthorized), (402, EngineFailure), (404, NotFound)),
    *((400, InvalidRequest), (413, InvalidRequest), (422, InvalidRequest), (409, Conflict)),
    *((408, Unavailable), (429, Unavailable), (500, Unavailable), (502, Unavailable)),
    *((503, Unavailable), (504, Unavailable)),
    *((418, EngineFailure), (405, EngineFailure), (501, EngineFailure)),
    *((301, EngineFailure), (302, EngineFailure), (304, EngineFailure), (307, EngineFailure), (308, EngineFailure)),
]


@EACH_WIRE
@pytest.mark.parametrize(("status", "kind"), STATUSES)
async def test_each_status_is_its_error_and_only_a_passing_one_is_tried_again(
    hosted: bool, status: int, kind: type[TinyMemoryError]
) -> None:
    async with answering() as server, asking(server, hosted=hosted) as wire:
        body = b"" if status == 304 else b"{}"
        server.otherwise = Reply(body, status, {"location": server.endpoint + "/elsewhere"} if status < 400 else {})
        error = await failure(wire.ask("GET", "v1/events", tries=Tries.READ), kind)
        assert len(server.requests) == (3 if kind is Unavailable else 1)
        assert {request.path for request in server.requests} == {"/v1/events"}
        assert f"GET v1/events at {server.endpoint[7:]} answered {status}" in error.text
        server.requests.clear()
        await failure(wire.ask("POST", "v1/experience", body={}), kind)
        assert len(server.requests) == 1


async def test_a_read_that_is_answered_at_the_third_attempt_is_answered() -> None:
    async with answering() as server, asking(server) as wire:
        server.script = [None, Reply(status=502)]
        assert await wire.ask("GET", "v1/events", tries=Tries.READ) == {}
    assert len(server.requests) == 3


async def test_attempts_are_further_and_further_apart() -> None:
    async with answering() as server, asking(server, timing=Timing(retry_s=0.02)) as wire:
        server.script = [Reply(status=503)] * 2
        await wire.ask("GET", "v1/events", tries=Tries.READ)
    first, second, third = server.arrivals
    assert second - first >= 0.02
    assert third - second >= 0.04


@EACH_WIRE
async def test_a_changed_authorization_is_waited_for_longer(hosted: bool) -> None:
    changed = {"errorCode" if hosted else "error_code": "AUTHORIZATION_STATE_CHANGED"}
    async with answering() as server, asking(server, hosted=hosted) as wire:
        server.otherwise = reply(changed, 503)
        error = await failure(wire.ask("GET", "v1/events", tries=Tries.READ), Unavailable)
        assert error_code(error) == "AUTHORIZATION_STATE_CHANGED"
        assert error.text.startswith("[AUTHORIZATION_STATE_CHANGED] ")
        assert len(server.requests) == 6
        server.requests.clear()
        server.script = [reply(changed, 503)] * 5
        server.otherwise = wrapped({}) if hosted else reply({})
        await wire.ask("GET", "v1/events", tries=Tries.READ)
        assert len(server.requests) == 6
        server.requests.clear()
        server.script = [reply(changed, 503)]
        await failure(wire.ask("POST", "v1/experience", body={}), Unavailable)
        assert len(server.requests) == 1


def test_waits_are_those_of_the_sheet_and_never_all_the_same() -> None:
    timing = Timing()
    for attempt, wanted in enumerate((0.25, 0.5, 1.0, 2.0, 4.0), 1):
        gaps = {timing.gap(attempt) for _ in range(20)}
        assert len(gaps) > 1
        assert all(wanted <= gap <= 1.2 * wanted for gap in gaps)
    limits = (timing.connect_s, timing.request_s, timing.pause_s, timing.listed_s, timing.ranked_s, timing.erasure_s)
    assert limits == (10, 60, 10, 30, 10, 300)
    assert [gap for gap, _ in zip(timing.polls(doubling=True), range(6), strict=False)] == [0.25, 0.5, 1, 2, 2, 2]
    assert [gap for gap, _ in zip(timing.polls(doubling=False), range(3), strict=False)] == [0.25, 0.25, 0.25]
    assert (module.MAX_ANSWER_BYTES, module.MAX_ERROR_BYTES) == (64 * 2**20, 64 * 2**10)


# When the server asks to wait.


@pytest.mark.parametrize(
    ("headers", "said"),
    [
        ({"retry_after": "9"}, 9.0),
        ({"retry_after": " 0.5 "}, 0.5),
        ({"retry_after": "100000"}, 100000.0),
        ({"ratelimit_reset": "7"}, 7.0),
        ({"retry_after": "9", "ratelimit_reset": "7"}, 9.0),
        ({"retry_after": "Wed, 21 Oct 2065 07:28:00 GMT", "ratelimit_reset": "7"}, 7.0),
        ({"retry_after": "Wed, 21 Oct 2065 07:28:00 GMT"}, None),
        ({"retry_after": "inf"}, None),
        ({"retry_after": "-5"}, None),
        ({"retry_after": "soon"}, None),
        ({}, None),
    ],
)
async def test_a_pause_is_a_number_of_seconds(headers: dict[str, str], said: float | None) -> None:
    async with answering() as server, asking(server) as wire:
        server.script = [reply({}, 429, **headers)]
        before = time.monotonic()
        error = await failure(wire.ask("GET", "v1/events"), Unavailable)
        assert isinstance(error, Unavailable)
        assert error.retry_after_s == said
        if said is None:
            assert wire.paused_until is None
        else:
            assert wire._pause_ends >= before + min(said, QUICK.pause_s)
            assert wire._pause_ends <= time.monotonic() + QUICK.pause_s


async def test_only_a_limit_makes_a_pause() -> None:
    async with answering() as server, asking(server) as wire:
        server.script = [reply({}, 503, retry_after="9")]
        await failure(wire.ask("GET", "v1/events"), Unavailable)
        assert wire.paused_until is None


@EACH_WIRE
async def test_every_later_request_waits_until_the_pause_is_over(hosted: bool) -> None:
    async with answering() as server, asking(server, hosted=hosted) as wire:
        server.script = [reply({}, 429, retry_after="3")]
        server.otherwise = wrapped({}) if hosted else reply({})
        await failure(wire.ask("GET", "v1/events"), Unavailable)
        until = wire.paused_until
        assert until is not None
        async with asyncio.TaskGroup() as group:
            group.create_task(wire.ask("POST", "v1/recall", body={}))
            group.create_task(wire.ask("GET", "v1/scopes/list", tries=Tries.READ))
        assert all(arrival >= until for arrival in server.arrivals[1:])
        assert wire.paused_until is None


async def test_whoami_waits_too_and_so_does_what_asks_it() -> None:
    async with answering() as server, asking(server) as wire:
        server.whoami = reply({}, 429, retry_after="3")
        await wire.ask("GET", "v1/events")
        assert server.arrivals[0] >= wire._pause_ends


async def test_a_pause_that_grows_is_waited_out_whole(until: Until) -> None:
    async with answering() as server, asking(server) as wire:
        late = Gate(reply({}, 429, retry_after="3"))
        server.script = [late, reply({}, 429, retry_after="0.02")]
        under_way = asyncio.create_task(wire.ask("GET", "v1/first"))
        await until(lambda: late.waiting)
        await failure(wire.ask("GET", "v1/second"), Unavailable)
        first_end = wire._pause_ends
        waiting = asyncio.create_task(wire.ask("GET", "v1/third"))
        late.open()
        await failure(under_way, Unavailable)
        second_end = wire._pause_ends
        await waiting
        assert second_end > first_end
        assert server.arrivals[-1] >= second_end


# Limits.


async def test_an_answer_that_says_it_is_too_long_is_not_read(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 1000)

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\ncontent-length: 1001\r\n\r\n")  # and nothing more
        await reader.read()

    async with raw(talk) as endpoint, asking(endpoint, hosted=True) as wire:
        assert "more than" in (await failure(wire.ask("GET", "memory/events", tries=Tries.READ), EngineFailure)).text


@pytest.mark.parametrize("status", [200, 500])
async def test_a_body_without_end_is_read_to_its_limit_only(monkeypatch: pytest.MonkeyPatch, status: int) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 100_000)
    hung_up = asyncio.Event()

    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(f"HTTP/1.1 {status} So\r\n\r\n".encode())
        try:
            while True:
                writer.write(b"x" * 1000)
                await writer.drain()
        except ConnectionError:
            hung_up.set()

    async with raw(talk) as endpoint, asking(endpoint, hosted=True) as wire:
        kind = EngineFailure if status == 200 else Unavailable
        error = await failure(wire.ask("GET", "memory/events"), kind)
        await hung_up.wait()
    assert len(error.text) < 500


async def test_a_packed_answer_is_measured_unpacked(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "MAX_ANSWER_BYTES", 10_000)
    async with answering() as server, asking(server) as wire:
        packed = {"content-encoding": "gzip"}
        server.script = [Reply(gzip.compress(b'"' + b"x" * n + b'"'), 200, packed) for n in (9_000, 11_000)]
        assert await wire.ask("GET", "v1/events") == "x" * 9_000
        assert "more than" in (await failure(wire.ask("GET", "v1/events"), EngineFailure)).text


async def test_many_questions_share_a_few_connections() -> None:
    async with answering() as server, asking(server) as wire:
        async with asyncio.TaskGroup() as group:
            for _ in range(60):
                group.create_task(wire.ask("GET", "v1/events"))
        assert len(server.requests) == 60
        assert server.server.accepted <= 16


# When no answer comes.


@pytest.mark.parametrize("sent", [b"", b"HTTP/1.1 200 OK\r\n", b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"a"'])
async def test_a_server_that_falls_silent_is_a_timeout(sent: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await reader.read()

    async with raw(talk) as endpoint, asking(endpoint, hosted=True, timing=Timing(request_s=0.05)) as wire:
        assert "(timeout)" in (await failure(wire.ask("GET", "memory/events"), Unavailable)).text


async def test_a_body_that_dribbles_is_a_timeout_too() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 200 OK\r\n\r\n")
        while True:
            writer.write(b" ")
            await writer.drain()
            await asyncio.sleep(0.005)

    async with raw(talk) as endpoint, asking(endpoint, hosted=True, timing=Timing(request_s=0.05)) as wire:
        assert "(timeout)" in (await failure(wire.ask("GET", "memory/events"), Unavailable)).text


async def test_connecting_has_a_limit_of_its_own() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        await reader.read()  # the handshake is never answered

    async with (
        raw(talk, after=b"\x16") as endpoint,
        asking(endpoint.replace("http:", "https:"), hosted=True, timing=Timing(connect_s=0.05)) as wire,
    ):
        assert "(timeout)" in (await failure(wire.ask("GET", "memory/events"), Unavailable)).text


@pytest.mark.parametrize("sent", [b"", b"nonsense\r\n\r\n", b'HTTP/1.1 200 OK\r\ncontent-length: 9\r\n\r\n{"a"'])
async def test_a_connection_that_breaks_says_so(sent: bytes) -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(sent)
        await writer.drain()

    async with raw(talk) as endpoint, asking(endpoint, hosted=True) as wire:
        assert "(other)" in (await failure(wire.ask("GET", "memory/events"), Unavailable)).text


async def test_a_server_that_is_not_there_is_named() -> None:
    with socket.socket() as free:
        free.bind(("127.0.0.1", 0))
        place = f"127.0.0.1:{free.getsockname()[1]}"
    async with asking(f"http://{place}") as wire:
        error = await failure(wire.ask("GET", "v1/events"), Unavailable)
    assert "(connect)" in error.text
    assert f"CortexDB: GET v1/events at {place}" in error.text


async def test_plain_text_where_encryption_is_expected_is_tls() -> None:
    async def talk(reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        writer.write(b"HTTP/1.1 400 Bad Request\r\n\r\n")
        await writer.drain()

    async with (
        raw(talk, after=b"\x16") as endpoint,
        asking(endpoint.replace("http:", "https:"), hosted=True) as wire,
    ):
        assert "(TLS)" in (await failure(wire.ask("GET", "v1/events"), Unavailable)).text


def caused(error: Exception, by: Exception) -> Exception:
    error.__cause__ = by
    return error


@pytest.mark.parametrize(
    ("error", "name"),
    [
        (httpx.ConnectTimeout("tls dns"), "timeout"),
        (TimeoutError(), "timeout"),
        (caused(httpx.ConnectError("x"), TimeoutError()), "timeout"),
        (caused(httpx.ConnectError("tls"), socket.gaierror(-3, "Temporary failure")), "DNS"),
        (httpx.ConnectError("[Errno -2] Name or service not known"), "DNS"),
        (httpx.ConnectError("failed to lookup address"), "DNS"),
        (caused(httpx.ConnectError("x"), ssl.SSLError(1, "wrong version number")), "TLS"),
        *((httpx.ConnectError(f"a {sign} b"), "TLS") for sign in ("TLS", "handshake", "certificate", "fatal alert")),
        *((httpx.ConnectError(f"a {sign} b"), "TLS") for sign in ("invalid peer", "Unknown Issuer")),
        (httpx.ConnectError("refused"), "connect"),
        (httpx.ProxyError("refused"), "connect"),
        (httpx.ReadError(""), "other"),
        (ConnectionResetError(), "other"),
    ],
)
def test_faults_have_names_in_an_order(error: Exception, name: str) -> None:
    assert fault_class(error) == name


# What an answer means.


async def test_the_direct_wire_answers_bare() -> None:
    async with answering() as server, asking(server) as wire:
        server.script = [Reply(b""), Reply(b"", 204), reply({"success": False}), reply([1])]
        assert await wire.ask("GET", "v1/events") is None
        assert await wire.ask("GET", "v1/events") is None
        assert await wire.ask("GET", "v1/events") == {"success": False}
        assert await wire.ask("GET", "v1/events") == [1]


@EACH_WIRE
@pytest.mark.parametrize("body", [b"nonsense", b"{", b'"\xff"', b"[" * 100_000, b"<html>", b"1" * 5000])
async def test_what_is_not_json_is_a_failure(hosted: bool, body: bytes) -> None:
    async with answering() as server, asking(server, hosted=hosted) as wire:
        server.otherwise = Reply(body)
        await failure(wire.ask("GET", "v1/events", tries=Tries.READ), EngineFailure)
        assert len(server.requests) == 1


async def test_what_cannot_be_unpacked_is_a_failure() -> None:
    async with answering() as server, asking(server) as wire:
        server.otherwise = Reply(b"nonsense", 200, {"content-encoding": "gzip"})
        await failure(wire.ask("GET", "v1/events"), EngineFailure)


@pytest.mark.parametrize(
    "value", [None, [], {}, {"success": True}, {"success": "true", "data": 1}, {"success": 1, "data": 1}, {"data": 1}]
)
async def test_a_hosted_answer_needs_its_envelope(value: Any) -> None:
    async with answering() as server, asking(server, hosted=True) as wire:
        server.otherwise = reply(value)
        await failure(wire.ask("GET", "memory/events"), EngineFailure)
        assert await wire.ask("POST", "memory/v1/erasures", is_wrapped=False) == value


async def test_a_hosted_answer_is_unwrapped() -> None:
    async with answering() as server, asking(server, hosted=True) as wire:
        server.script = [wrapped({"a": 1}), wrapped(None), Reply(b"")]
        assert await wire.ask("GET", "memory/events") == {"a": 1}
        assert await wire.ask("GET", "memory/events") is None
        await failure(wire.ask("GET", "memory/events"), EngineFailure)


async def test_a_hosted_failure_under_a_good_status_is_a_failure() -> None:
    async with answering() as server, asking(server, hosted=True) as wire:
        server.otherwise = reply({"success": False, "error": "no luck", "errorCode": "NO_LUCK"})
        error = await failure(wire.ask("GET", "memory/events"), EngineFailure)
    assert error_code(error) == "NO_LUCK"
    assert error.text.endswith(" — no luck")


@pytest.mark.parametrize(
    ("status", "body", "code"),
    [
        (400, {"errorCode": "BAD_REQUEST"}, "BAD_REQUEST"),
        (400, {"errorCode": "bad-request: 7\n"}, "BADREQUEST7"),
        (400, {"errorCode": "x" * 100}, "X" * 64),
        (400, {"errorCode": "é!"}, "HTTP_400"),
        (400, {"errorCode": 7}, "HTTP_400"),
        (400, {"error_code": "UNKNOWN_FIELD"}, "UNKNOWN_FIELD"),
        (401, {}, "UNAUTHORIZED"),
        (403, {}, "UNAUTHORIZED"),
        (402, {}, "USER_INSUFFICIENT_CREDITS"),
        (429, {"error": {"message": "slow down", "type": "rate_limit_error"}}, "RATE_LIMITED"),
        (418, None, "HTTP_418"),
    ],
)
async def test_a_hosted_failure_has_a_code(status: int, body: Any, code: str) -> None:
    async with answering() as server, asking(server, hosted=True) as wire:
        server.otherwise = reply(body, status)
        error = await failure(wire.ask("GET", "memory/events"))
    assert error_code(error) == code
    assert error.text.startswith(f"[{code}] TinyHumans: GET memory/events at 127.0.0.1:")
    assert is_insufficient_credits(error) == (status == 402)


async def test_the_limiter_of_the_backend_is_quoted_as_it_is() -> None:
    async with answering() as server, asking(server, hosted=True) as wire:
        server.otherwise = reply({"error": {"message": "slow down", "type": "rate_limit_error"}}, 429)
        error = await failure(wire.ask("GET", "memory/events"), Unavailable)
    assert error.text.endswith(' — {"message":"slow down","type":"rate_limit_error"}')


@EACH_WIRE
@pytest.mark.parametrize(("status", "code"), [(400, "CONFLICT"), (422, "CONFLICT"), (400, "OTHER")])
async def test_an_older_backend_says_conflict_as_a_bad_request(hosted: bool, status: int, code: str) -> None:
    async with answering() as server, asking(server, hosted=hosted) as wire:
        server.otherwise = reply({"errorCode": code}, status)
        kind = Conflict if hosted and (status, code) == (400, "CONFLICT") else InvalidRequest
        await failure(wire.ask("POST", "v1/experience", body={}), kind)


async def test_a_direct_failure_has_its_code_among_the_words() -> None:
    async with answering() as server, asking(server) as wire:
        server.script = [
            reply({"error_code": "INVALID_CASCADE", "message": "no such cascade", "request_id": "r"}, 400),
            reply({"error_code": "INVALID_CASCADE"}, 400),
            reply({"error_code": "USER_INSUFFICIENT_CREDITS"}, 402),
        ]
        error = await failure(wire.ask("POST", "v1/forget", body={}), InvalidRequest)
        assert error.text.endswith("answered 400 — INVALID_CASCADE: no such cascade")
        assert error_code(error) is None
        assert (await failure(wire.ask("POST", "v1/forget", body={}))).text.endswith("400 — INVALID_CASCADE")
        assert not is_insufficient_credits(await failure(wire.ask("POST", "v1/forget", body={}), EngineFailure))
    assert error_code(Unavailable("refused here")) is None
    assert error_code(Unavailable("a [CODE] inside")) is None


@pytest.mark.parametrize(
    "body",
    [
        {"error_code": "POLICY_DENIED", "capability": "events.write"},
        {"error_code": "POLICY_DENIED", "details": {"required_capability": "events.write"}},
        {"success": False, "error": {"missing_capabilities": ["events.write"]}},
    ],
)
@EACH_WIRE
async def test_a_capability_that_is_missing_is_named(hosted: bool, body: Any) -> None:
    async with answering() as server, asking(server, hosted=hosted) as wire:
        server.otherwise = reply(body, 403)
        error = await failure(wire.ask("GET", "v1/events"), Unauthorized)
    assert "lacks the capability `events.write`" in without_words(error)


@EACH_WIRE
@pytest.mark.parametrize(
    "body",
    [
        b"",
        b"{}",
        b"[]",
        b'{"details":7,"capability":null}',
        b'{"capabilities":[]}',
        b'{"capability":"what is stored here"}',
        b"nonsense",
        pytest.param(b'{"error":' * 800 + b"1" + b"}" * 800, id="nested"),
    ],
)
async def test_where_no_capability_is_named_the_refusal_is_told_all_the_same(hosted: bool, body: bytes) -> None:
    async with answering() as server, asking(server, hosted=hosted) as wire:
        server.otherwise = Reply(body, 403)
        error = await failure(wire.ask("GET", "v1/events"), Unauthorized)
    assert without_words(error).partition(" — ")[0].endswith("may not do this; check what it may do")


@EACH_WIRE
async def test_words_of_the_server_are_short_one_line_and_without_secrets(hosted: bool) -> None:
    secret = "hush-hush-hush"
    async with answering() as server, asking(server, hosted=hosted, headers={"X-Proxy": secret, "X-A": "it"}) as wire:
        said = f"Bearer {KEY} with\n{secret}\x1b[31m " + "it is so " * 100
        server.script = [reply({"error": said}, 500), Reply(said.encode(), 500), reply({"error": {"said": said}}, 500)]
        for _ in range(3):
            error = await failure(wire.ask("GET", "v1/events", params=[("scope", "private")]), Unavailable)
            head, _, words = error.text.partition(" — ")
            assert "Bearer (key) with" in words.replace("\\n", " ")
            assert "it is so it is so" in words
            assert len(words) == 301
            assert words.endswith("…")
            assert words.isprintable()
            assert secret not in error.text
            assert "private" not in head
            assert without_words(error) == f"{head} — (the server's words are withheld)"


@EACH_WIRE
@pytest.mark.parametrize("form", [{"error": {"said": "{}"}}, {"why": "{}"}, ["{}"]])
async def test_a_key_that_json_writes_otherwise_is_hidden_too(hosted: bool, form: Any) -> None:
    key = 'a"b\\c&-0123456789'
    written = json.dumps(form).replace("{}", json.dumps(key)[1:-1].replace("&", "\\u0026"))
    async with answering() as server, asking(server, hosted=hosted, credential=StaticCredential(key)) as wire:
        server.otherwise = Reply(written.encode(), 500)
        error = await failure(wire.ask("GET", "v1/events"), Unavailable)
    assert "(key)" in error.text
    assert "0123456789" not in error.text


@EACH_WIRE
async def test_an_answer_that_cannot_be_read_is_not_quoted(hosted: bool) -> None:
    async with answering() as server, asking(server, hosted=hosted) as wire:
        server.otherwise = Reply(f'{{"{KEY} and what is stored":'.encode())
        error = await failure(wire.ask("GET", "v1/events"), EngineFailure)
    assert KEY not in error.text
    assert "stored" not in error.text
    assert "not JSON" in error.text


async def test_without_words_of_a_server_nothing_is_withheld() -> None:
    async with answering() as server, asking(server) as wire:
        server.otherwise = Reply(status=500)
        error = await failure(wire.ask("GET", "v1/events"), Unavailable)
    assert error.text.endswith(" answered 500")
    assert without_words(error) == error.text


async def test_a_redirect_is_not_followed_and_its_target_not_quoted() -> None:
    async with answering() as other, answering() as server, asking(server) as wire:
        server.otherwise = Reply(b"", 307, {"location": f"{other.endpoint}/{KEY}"})
        error = await failure(wire.ask("POST", "v1/recall", body={}, tries=Tries.READ), EngineFailure)
        assert other.server.accepted == 0
    assert "moved" in error.text


def test_prints_show_the_origin_only() -> None:
    made = Transport(
        "https://Memory.example.com/base",
        StaticCredential(KEY),
        label="CortexDB",
        hosted=False,
        headers={"X-Proxy": "hush"},
    )
    assert repr(made) == "Transport(CortexDB, https://memory.example.com)"


# The end.


async def test_closing_ends_what_is_under_way_and_everything_later(until: Until) -> None:
    async with answering() as server, asking(server) as wire:
        gate = Gate(reply({}))
        server.otherwise = gate
        reading = asyncio.create_task(wire.ask("GET", "v1/events", tries=Tries.READ))
        sleeping = asyncio.create_task(wire.sleep(60))
        await until(lambda: gate.waiting)
        await wire.aclose()
        for task in (reading, sleeping, wire.ask("GET", "v1/events"), wire.sleep(0)):
            error = await failure(task, Unavailable)
            assert "was closed" in error.text
        await wire.aclose()
        await until(lambda: not server.server.open_connections)
        assert gate.waiting == 1


async def test_closing_ends_a_pause() -> None:
    async with answering() as server, asking(server, timing=Timing()) as wire:
        server.script = [reply({}, 429, retry_after="10")]
        await failure(wire.ask("GET", "v1/events"), Unavailable)
        waiting = asyncio.create_task(wire.ask("GET", "v1/events"))
        await asyncio.sleep(0)
        await wire.aclose()
        await failure(waiting, Unavailable)
    assert len(server.requests) == 1


async def test_closing_before_anything_was_asked() -> None:
    async with answering() as server, asking(server) as wire:
        await wire.aclose()
        await failure(wire.ask("GET", "v1/events"), Unavailable)
    assert server.server.accepted == 0


async def test_a_cancelled_request_leaves_nothing_open(until: Until) -> None:
    async with answering() as server, asking(server) as wire:
        gate = Gate(reply({}))
        server.script = [gate]
        task = asyncio.create_task(wire.ask("GET", "v1/events", tries=Tries.READ))
        await until(lambda: gate.waiting)
        task.cancel()
        with pytest.raises(asyncio.CancelledError):
            await task
        await until(lambda: not server.server.open_connections)
        assert await wire.ask("GET", "v1/events") == {}


async def test_a_long_answer_is_read_like_a_short_one(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(module, "_LONG_BYTES", 10)
    async with answering() as server, asking(server) as wire:
        server.script = [reply({"text": "x" * 100}), Reply(b"x" * 100)]
        assert await wire.ask("GET", "v1/events") == {"text": "x" * 100}
        await failure(wire.ask("GET", "v1/events"), EngineFailure)


async def test_a_body_that_has_no_json_form_is_not_sent() -> None:
    async with answering() as server, asking(server) as wire:
        await failure(wire.ask("POST", "v1/recall", body={"query": "\ud800"}), EngineFailure)
        assert server.server.accepted == 0
