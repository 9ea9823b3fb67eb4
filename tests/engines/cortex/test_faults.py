"""What goes wrong between engine and server: the error of each fault, what is sent again, and what is stored then."""

from __future__ import annotations

import asyncio
import contextlib
import importlib.util
import json
import random
import socket
import ssl
import traceback
from collections.abc import AsyncIterator, Awaitable, Callable, Coroutine
from contextlib import asynccontextmanager
from dataclasses import dataclass, replace
from datetime import UTC, datetime, timedelta
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import (
    EngineFailure,
    EraseRequest,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    ItemId,
    ItemKind,
    ListRequest,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
    StoreItem,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
)
from explorer.engines.config import DynamicCredential, EngineCredential, EngineSettings, StaticCredential
from explorer.engines.cortex import DIRECT, HOSTED, reading, transport
from explorer.engines.cortex.direct import DirectWire
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.hosted import HostedWire
from explorer.engines.cortex.settings import CortexSettings
from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble
from tests.doubles.fault_proxy import (
    Fault,
    FaultProxy,
    Link,
    body,
    cut_in_body,
    never_answers,
    passes,
    raw,
    reset_in_body,
    reset_unanswered,
    reset_unread,
    slow_body,
    slow_headers,
    status,
)
from tests.engines.cortex.flows import QUICK, fact, note, talk

WIRES = pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])
HASTY = replace(QUICK, request_s=0.2)
"""For servers that are slow on purpose."""
EVERYTHING = ListRequest(filter=MetaFilter(), limit=100)
ATTEMPTS = 3
"""In all, of what may be sent again."""


@dataclass
class Spoiled:
    """An engine that speaks to the double through the proxy."""

    double: CortexDouble
    proxy: FaultProxy
    engine: CortexEngine

    async def ids(self) -> list[ItemId]:
        return [hit.id for hit in (await self.engine.list(EVERYTHING)).items]

    def texts(self) -> list[str]:
        """What the log holds, whatever the scope."""
        return sorted(held.text for held in self.double.log)

    async def refusal(self, kind: type[TinyMemoryError], call: Awaitable[object]) -> TinyMemoryError:
        """The error of a call, which names the engine and the host and shows nothing of the key."""
        with pytest.raises(TinyMemoryError) as caught:
            await call
        error = caught.value
        assert type(error) is kind or (kind is EngineFailure and isinstance(error, kind)), repr(error)
        shown = "".join(traceback.format_exception(error)) + repr(error.__dict__)
        for key in {self.double.token, *(held.removeprefix("Bearer ") for held in self.proxy.keys)} - {""}:
            assert key not in shown
        assert self.engine.descriptor().label in error.text
        return error


@asynccontextmanager
async def spoiled(
    hosted: bool,
    *,
    timing: transport.Timing = QUICK,
    credential: EngineCredential = None,
    proxied: dict[str, Any] | None = None,
    **knobs: Any,
) -> AsyncIterator[Spoiled]:
    async with CortexDouble(**knobs) as double, FaultProxy(double.endpoint, **(proxied or {})) as proxy:
        settings = CortexSettings.of(EngineSettings(endpoint=proxy.endpoint), hosted=hosted)
        wire = (HostedWire if hosted else DirectWire)(settings, credential or StaticCredential(double.token), timing)
        engine = CortexEngine(wire, settings, HOSTED if hosted else DIRECT)
        try:
            yield Spoiled(double, proxy, engine)
        finally:
            await engine.aclose()
        async with asyncio.timeout(5):  # whatever happened, nothing is left open
            while proxy.open_connections or double.open_connections:  # noqa: ASYNC110 (asks the sockets)
                await asyncio.sleep(0.001)


BREAKS = [reset_unread, reset_unanswered, reset_in_body, cut_in_body, raw(b""), raw(b"\0\1 who asks?\r\n\r\n")]
SLOW = [never_answers, slow_headers, slow_body]
BUSY = [status(code, b"<html>busy</html>") for code in (408, 429, 500, 502, 503, 504)]
NO_JSON = [
    body(b'{"items":[{"id":"evt_1",'),
    body(b""),
    body(b"\xff\xfe{}"),
    body(b"<html>Welcome</html>"),
    body(b"NaN"),
    body(b"[" * 100_000),
    body(b"{}", content_encoding="gzip"),
    raw(b"HTTP/1.1 200 OK\r\ncontent-length: 68000000\r\n\r\n"),
]
OTHER_JSON = [body(text) for text in (b"[]", b"null", b"7", b"{}", b'{"items":{}}', b'{"success":"yes","data":{}}')]
NOT_SO = [status(204, b""), status(418), status(501)]
IDS = [fault.__name__ if fault.__name__ != "fault" else None for fault in BREAKS]


# Reads


@WIRES
@pytest.mark.parametrize("fault", BREAKS, ids=IDS)
async def test_a_read_that_broke_is_asked_again_three_times_in_all(hosted: bool, fault: Fault) -> None:
    async with spoiled(hosted, proxied={"only": "events"}) as it:
        receipt = await it.engine.store(fact("the kiln is hot"))
        it.double.forget_requests()
        it.proxy.plan = [fault, fault]
        assert await it.ids() == [receipt.id]
        before = len(it.proxy.seen)
        it.proxy.always = fault
        error = await it.refusal(Unavailable, it.ids())
        assert "events" in error.text
        assert "(other)" in error.text
        assert len([asked for asked in it.proxy.seen[before:] if "events" in asked]) >= ATTEMPTS
        it.proxy.always = None
        assert await it.ids() == [receipt.id]
        assert it.texts() == ["the kiln is hot"]


@WIRES
@pytest.mark.parametrize("fault", SLOW)
async def test_an_answer_that_takes_too_long_is_a_timeout(hosted: bool, fault: Fault, until: Until) -> None:
    async with spoiled(hosted, timing=HASTY, proxied={"only": "recall"}) as it:
        await it.engine.store(fact("the kiln is hot"))
        it.proxy.plan = [fault] * ATTEMPTS
        given_up = it.proxy.given_up
        error = await it.refusal(Unavailable, it.engine.fetch(kiln()))
        assert "(timeout)" in error.text
        assert it.proxy.plan == []
        await until(lambda: it.proxy.given_up == given_up + ATTEMPTS)
        assert len((await it.engine.fetch(kiln())).hits) == 1


@WIRES
async def test_a_server_that_is_busy_is_asked_three_times(hosted: bool) -> None:
    async with spoiled(hosted, proxied={"only": "recall"}) as it:
        await it.engine.store(fact("the kiln is hot"))
        for fault in BUSY:
            it.double.forget_requests()
            it.proxy.plan = [fault] * ATTEMPTS
            await it.refusal(Unavailable, it.engine.fetch(kiln()))
            assert it.proxy.plan == []
            assert it.double.count("recall") == 0
            assert len((await it.engine.fetch(kiln())).hits) == 1
            assert it.double.count("recall") == 1


@WIRES
@pytest.mark.parametrize("faults", [NO_JSON, OTHER_JSON, NOT_SO], ids=["no JSON", "other JSON", "other status"])
async def test_an_answer_that_cannot_be_used_is_a_failure_and_not_asked_for_again(
    hosted: bool, faults: list[Fault]
) -> None:
    async with spoiled(hosted, proxied={"only": "events"}) as it:
        receipt = await it.engine.store(fact("the kiln is hot"))
        for number, fault in enumerate(faults):
            it.proxy.seen.clear()
            it.proxy.plan = [fault]
            await it.refusal(EngineFailure, it.engine.list(ListRequest(filter=learnings(), limit=9)))
            assert len([asked for asked in it.proxy.seen if "events" in asked]) == 1, number
        assert await it.ids() == [receipt.id]


@WIRES
async def test_an_answer_without_end_is_given_up(hosted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(transport, "MAX_ANSWER_BYTES", 2**20)

    async def floods(link: Link) -> None:
        await link.send(b"HTTP/1.1 200 OK\r\ncontent-type: application/json\r\n\r\n")
        while not link.reader.at_eof():
            await link.send(b" " * 2**16)
        link.end()

    async with spoiled(hosted, proxied={"only": "events"}) as it:
        it.proxy.plan = [floods]
        assert "MiB" in (await it.refusal(EngineFailure, it.ids())).text


@WIRES
async def test_a_server_that_is_not_there(hosted: bool) -> None:
    async with spoiled(hosted) as it:
        await it.proxy.down()
        error = await it.refusal(Unavailable, it.ids())
        assert "(connect)" in error.text
        assert (await it.engine.health()).state == "degraded"
        await it.refusal(Unavailable, it.engine.store(fact("the kiln is hot")))
        await it.proxy.up()
        assert await it.ids() == []
        await it.engine.store(fact("the kiln is hot"))
        assert it.texts() == ["the kiln is hot"]


@WIRES
async def test_a_name_that_nobody_knows(hosted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    def unknown(*_: object, **__: object) -> None:
        raise socket.gaierror(socket.EAI_NONAME, "Name or service not known")

    monkeypatch.setattr(socket, "getaddrinfo", unknown)
    settings = CortexSettings.of(EngineSettings(endpoint="https://cortex.invalid"), hosted=hosted)
    wire = (HostedWire if hosted else DirectWire)(settings, StaticCredential("key-1"), QUICK)
    engine = CortexEngine(wire, settings, HOSTED if hosted else DIRECT)
    with pytest.raises(Unavailable, match=r"(CortexDB|TinyHumans): .* at cortex\.invalid .*DNS") as caught:
        await engine.list(EVERYTHING)
    assert "key-1" not in "".join(traceback.format_exception(caught.value))
    await engine.aclose()


def own_certificate(folder: Path) -> ssl.SSLContext:
    """A listener's, signed by itself."""
    from cryptography import x509
    from cryptography.hazmat.primitives import hashes, serialization
    from cryptography.hazmat.primitives.asymmetric import ec

    key = ec.generate_private_key(ec.SECP256R1())
    name = x509.Name([x509.NameAttribute(x509.NameOID.COMMON_NAME, "localhost")])
    now = datetime.now(UTC)
    made = x509.CertificateBuilder(name, name, key.public_key(), 1, now, now + timedelta(days=1))
    pem = serialization.Encoding.PEM
    held = key.private_bytes(pem, serialization.PrivateFormat.PKCS8, serialization.NoEncryption())
    file = folder / "own.pem"
    file.write_bytes(made.sign(key, hashes.SHA256()).public_bytes(pem) + held)
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(file)
    return context


@WIRES
@pytest.mark.parametrize("how", ["no TLS", *(["own"] if importlib.util.find_spec("cryptography") else [])])
async def test_no_secure_connection(hosted: bool, how: str, tmp_path: Path) -> None:
    listener = {"tls": own_certificate(tmp_path)} if how == "own" else {"speaks_tls": True}
    async with spoiled(hosted, proxied=listener) as it:
        asyncio.get_running_loop().set_exception_handler(lambda *_: None)  # the listener's side of the handshake
        error = await it.refusal(Unavailable, it.ids())
        assert "(TLS)" in error.text
        assert it.proxy.seen == it.proxy.keys == []
        assert it.double.requests == []


@WIRES
@pytest.mark.parametrize("code", [301, 302, 303, 307, 308])
async def test_a_redirect_is_refused_and_the_key_stays_here(hosted: bool, code: int) -> None:
    async with spoiled(hosted) as it, FaultProxy(it.double.endpoint) as elsewhere:
        it.proxy.always = status(code, location=f"{elsewhere.endpoint}v1/events?scope=app:x")
        for call in (it.ids(), it.engine.store(fact("the kiln is hot")), it.engine.fetch(kiln())):
            await it.refusal(EngineFailure, call)
        assert elsewhere.seen == []
        assert it.double.requests == []


@WIRES
async def test_a_cursor_that_leads_back_to_itself(hosted: bool) -> None:
    async with spoiled(hosted, repeat_cursor=True) as it:
        error = await it.refusal(EngineFailure, it.ids())
        assert "cursor" in error.text
        assert it.double.count("events") == 2


@WIRES
async def test_what_the_window_counts_meets_the_same_faults(hosted: bool) -> None:
    def count() -> Awaitable[object]:
        return it.engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)])

    async with spoiled(hosted, proxied={"only": "events"}) as it:
        await it.engine.store(fact("the kiln is hot"))
        broken: list[tuple[Fault, type[TinyMemoryError], int]] = [
            (reset_in_body, Unavailable, ATTEMPTS),
            (status(503), Unavailable, ATTEMPTS),
            (NO_JSON[0], EngineFailure, 1),
            (OTHER_JSON[0], EngineFailure, 1),
            (status(307, location="http://127.0.0.1:9/"), EngineFailure, 1),
            (status(401), Unauthorized, 1),
            (status(403), Unauthorized, 1),
        ]
        for fault, kind, attempts in broken:
            it.proxy.seen.clear()
            it.proxy.always = fault
            await it.refusal(kind, count())
            assert len([asked for asked in it.proxy.seen if "events" in asked]) == attempts
            it.proxy.always = None
        it.double.repeat_cursor = True
        assert "cursor" in (await it.refusal(EngineFailure, count())).text
        it.double.repeat_cursor = False
        (counted,) = await it.engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)])
        assert (counted.total, counted.truncated) == (1, False)


@WIRES
async def test_a_listing_that_never_ends(hosted: bool, monkeypatch: pytest.MonkeyPatch) -> None:
    assert reading.MAX_PAGES == 500
    monkeypatch.setattr(reading, "MAX_PAGES", 12)
    async with spoiled(hosted, endless_listing=True) as it:
        await it.refusal(EngineFailure, it.engine.list(ListRequest(filter=learnings(), limit=9)))
        assert 12 <= it.double.count("events") <= 13
        it.double.endless_listing = False
        assert await it.ids() == []


# Who asks


@WIRES
async def test_a_key_that_is_refused_until_it_is_a_new_one(hosted: bool) -> None:
    class Source:
        key = "key-of-yesterday"

        async def bearer(self) -> str:
            return self.key

    source = Source()
    async with spoiled(hosted, credential=DynamicCredential(source)) as it:
        it.proxy.keys.append(source.key)
        await it.refusal(Unauthorized, it.ids())
        await it.refusal(Unauthorized, it.engine.store(fact("the kiln is hot")))
        assert it.double.counts().get("experience", 0) == 0
        asked = len(it.proxy.seen)
        await it.refusal(Unauthorized, it.engine.fetch(kiln()))
        assert len([each for each in it.proxy.seen[asked:] if "whoami" not in each]) == 1, "not asked again"
        source.key = it.double.token
        await it.engine.store(fact("the kiln is hot"))
        assert len(await it.ids()) == 1
        source.key = "key-that-ran-out"
        await it.refusal(Unauthorized, it.ids())
        it.double.token = source.key
        assert len(await it.ids()) == 1


@WIRES
async def test_a_capability_that_the_key_lacks_is_named(hosted: bool) -> None:
    async with spoiled(hosted) as it:
        said = {"error_code": "POLICY_DENIED", "errorCode": "POLICY_DENIED", "success": False, "message": "no"}
        denied = json.dumps(said | {"details": {"capability": "memory.write"}}).encode()
        it.proxy.only, it.proxy.always = "experience", status(403, denied)
        error = await it.refusal(Unauthorized, it.engine.store(fact("the kiln is hot")))
        assert "memory.write" in error.text
        assert it.texts() == []
        it.proxy.always = status(403, json.dumps({"message": f"the key {it.double.token} may not"}).encode())
        await it.refusal(Unauthorized, it.engine.store(fact("the kiln is hot")))


# A server that asks to wait


@WIRES
async def test_a_storm_of_429_is_waited_out_where_that_is_said_in_seconds(hosted: bool, until: Until) -> None:
    async with spoiled(hosted, timing=replace(QUICK, pause_s=0.2), rate_limit_headers={"Retry-After": "7"}) as it:
        await it.engine.store(fact("the kiln is hot"))
        assert it.engine.waiting() is None
        it.double.rate_limit_any = 1
        task = asyncio.create_task(it.engine.fetch(kiln()))
        await until(it.engine.waiting)
        asked = len(it.double.asked)
        other = asyncio.create_task(it.ids())
        await until(lambda: len(it.double.asked) > asked)
        assert it.engine.waiting() is None, "neither was sent before"
        assert len((await task).hits) == len(await other) == 1
        it.double.rate_limit_any = 100
        error = await it.refusal(Unavailable, it.engine.fetch(kiln()))
        assert it.double.rate_limit_any == 97
        assert isinstance(error, Unavailable)
        assert error.retry_after_s == 7
        it.double.rate_limit_any = 0
        assert len(await it.ids()) == 1


@WIRES
@pytest.mark.parametrize("headers", [{}, {"Retry-After": "Mon, 30 Nov 2099 16:00:00 GMT"}, {"Retry-After": "soon"}])
async def test_where_no_seconds_are_said_nothing_is_waited_for(hosted: bool, headers: dict[str, str]) -> None:
    async with spoiled(hosted, timing=replace(QUICK, pause_s=60), rate_limit_headers=headers) as it:
        it.double.rate_limit_any = 2
        assert await it.ids() == []
        assert it.engine.waiting() is None


async def test_a_write_that_met_a_limit_is_not_sent_again_on_the_direct_wire() -> None:
    async with spoiled(False, rate_limit_experience=1) as it:
        await it.refusal(Unavailable, it.engine.store(fact("the kiln is hot")))
        assert it.double.count("experience") == 1
        assert it.texts() == []


async def test_a_hosted_write_that_met_a_limit_is_sent_again_under_its_claim() -> None:
    async with spoiled(True, rate_limit_experience=2) as it:
        await it.engine.store(fact("the kiln is hot"))
        assert it.double.count("experience") == 3
        assert len(claims(it, "experience")) == 1
        assert it.texts() == ["the kiln is hot"]


@WIRES
async def test_a_minute_of_503(hosted: bool) -> None:
    async with spoiled(hosted) as it:
        first = await it.engine.store(fact("the kiln is hot"))
        it.double.fail_all = (503, "UNAVAILABLE")
        for call, route, most in (
            (it.engine.fetch(kiln()), "recall", ATTEMPTS),
            (it.engine.store(fact("and red")), "events", ATTEMPTS),
            (it.engine.forget(ForgetTarget(ids=[first.id])), "scopes", ATTEMPTS),
        ):
            it.double.forget_requests()
            await it.refusal(Unavailable, call)
            assert it.double.counts() == {route: most}
        assert (await it.engine.health()).state == "degraded"
        it.double.fail_all = None
        assert (await it.engine.health()).state == "ok"
        await it.engine.store(fact("and red"))
        assert it.texts() == ["and red", "the kiln is hot"]


# Writes


@pytest.mark.parametrize("fault", [reset_unread, BUSY[0], BUSY[-2]], ids=["reset", "408", "503"])
async def test_a_direct_write_that_never_arrived_is_sent_once_and_stored_when_asked_for_again(fault: Fault) -> None:
    async with spoiled(False, proxied={"only": "experience"}) as it:
        it.proxy.plan = [fault]
        await it.refusal(Unavailable, it.engine.store(fact("the kiln is hot")))
        assert len([asked for asked in it.proxy.seen if "experience" in asked]) == 1
        assert it.texts() == []
        assert (await it.engine.store(fact("the kiln is hot"))).replayed is False
        assert it.texts() == ["the kiln is hot"]


@pytest.mark.parametrize("fault", [reset_unanswered, reset_in_body, cut_in_body, never_answers, slow_body])
async def test_a_direct_write_whose_answer_was_lost_is_a_replay_when_asked_for_again(fault: Fault) -> None:
    async with spoiled(False, timing=HASTY, proxied={"only": "experience"}) as it:
        it.proxy.plan = [fault]
        await it.refusal(Unavailable, it.engine.store(fact("the kiln is hot")))
        assert it.double.count("experience") == 1
        assert (await it.engine.store(fact("the kiln is hot"))).replayed is True
        assert it.texts() == ["the kiln is hot"]


async def test_a_direct_write_that_was_durable_before_its_408() -> None:
    async with spoiled(False, apply_then_fail=1, applied_failure=(408, "TIMEOUT")) as it:
        await it.refusal(Unavailable, it.engine.store(talk("hot?", "very", "how hot?")))
        assert it.double.count("bulk") == 1
        assert (await it.engine.store(talk("hot?", "very", "how hot?"))).replayed is True
        assert it.texts() == ["hot?", "how hot?", "very"]


async def test_a_direct_conversation_that_came_through_in_part_is_completed() -> None:
    async with spoiled(False, fail_nth_experience=3) as it:
        with pytest.raises(TinyMemoryError):
            await it.engine.store(talk("hot?", "very", "how hot?", "1,240 degrees"))
        assert it.texts() == ["hot?", "very"]
        assert (await it.engine.store(talk("hot?", "very", "how hot?", "1,240 degrees"))).replayed is False
        assert it.texts() == ["1,240 degrees", "hot?", "how hot?", "very"]
        assert len(await it.ids()) == 1


LOST = [reset_unanswered, reset_in_body, cut_in_body, never_answers]


@pytest.mark.parametrize("fault", [reset_unread, BUSY[0], BUSY[-2]], ids=["reset", "408", "503"])
async def test_a_hosted_write_that_never_arrived_is_sent_again_under_its_claim(fault: Fault) -> None:
    async with spoiled(True, proxied={"only": "experience"}) as it:
        it.proxy.plan = [fault, fault]
        receipt = await it.engine.store(fact("the kiln is hot"))
        assert receipt.replayed is False
        assert len([asked for asked in it.proxy.seen if "experience" in asked]) == ATTEMPTS
        assert it.texts() == ["the kiln is hot"]


@pytest.mark.parametrize("fault", LOST)
@pytest.mark.parametrize("legacy", [False, True])
async def test_a_hosted_write_whose_answer_was_lost_is_found_not_doubled(fault: Fault, legacy: bool) -> None:
    knobs = {"legacy_conflict": legacy, "listed_after": 2}
    async with spoiled(True, timing=HASTY, proxied={"only": "experience"}, **knobs) as it:
        it.proxy.plan = [passes, fault]
        receipt = await it.engine.store(talk("hot?", "very", "hot?"))
        assert receipt.replayed is False
        assert it.double.count("experience") == 4
        assert len(claims(it, "experience")) == 3
        assert it.texts() == ["hot?", "hot?", "very"]
        assert await it.ids() == [receipt.id]


async def test_a_hosted_write_whose_every_answer_is_lost() -> None:
    async with spoiled(True, proxied={"only": "experience"}) as it:
        it.proxy.plan = [reset_unanswered] * ATTEMPTS
        await it.refusal(Unavailable, it.engine.store(fact("the kiln is hot")))
        assert it.double.count("experience") == ATTEMPTS
        assert (await it.engine.store(fact("the kiln is hot"))).replayed is True
        assert it.texts() == ["the kiln is hot"]


async def test_a_hosted_write_that_took_its_claim_and_was_not_applied() -> None:
    timing = replace(QUICK, listed_s=0.4)
    async with spoiled(True, timing=timing, proxied={"only": "experience"}) as it:

        async def takes_its_claim(link: Link) -> None:
            it.double.claim_then_fail = 1
            await passes(link)

        it.proxy.plan = [passes, passes, takes_its_claim]
        error = await it.refusal(Unavailable, it.engine.store(talk("hot?", "very", "hot?")))
        assert "unknown" in error.text
        assert it.texts() == ["hot?", "very"], "the first of these words is not taken for the last"
        assert (await it.engine.store(talk("hot?", "very", "hot?"))).replayed is False
        assert it.texts() == ["hot?", "hot?", "very"]


# Removals and answers


async def test_a_direct_removal_is_sent_once() -> None:
    async with spoiled(False) as it:
        ids = [(await it.engine.store(fact(text))).id for text in ("one", "two")]
        it.proxy.only, it.proxy.plan = "forget", [reset_unread]
        await it.refusal(Unavailable, it.engine.forget(ForgetTarget(ids=ids[:1])))
        assert it.texts() == ["one", "two"]
        it.proxy.plan = [reset_unanswered]
        await it.refusal(Unavailable, it.engine.forget(ForgetTarget(ids=ids[:1])))
        assert it.double.count("forget") == 1
        assert (await it.engine.forget(ForgetTarget(ids=ids[:1]))).forgotten == 0
        assert it.texts() == ["two"]
        it.proxy.only, it.proxy.plan = "erasures", [reset_unanswered]
        await it.refusal(Unavailable, it.engine.erase(whole()))
        assert it.double.count("erasures") == 1
        assert it.texts() == []
        assert (await it.engine.erase(whole())).erased_scopes == 0


@pytest.mark.parametrize("fault", [reset_unread, reset_unanswered, status(503)], ids=["unread", "unanswered", "503"])
@pytest.mark.parametrize("missing", [False, True])
async def test_a_hosted_forget_is_sent_again_under_a_claim_of_its_own(fault: Fault, missing: bool) -> None:
    async with spoiled(True, forget_gone_is_missing=missing, proxied={"only": "forget"}) as it:
        ids = [(await it.engine.store(fact(text))).id for text in ("one", "two")]
        it.proxy.plan = [fault, fault]
        assert (await it.engine.forget(ForgetTarget(ids=ids[:1]))).forgotten == 1
        assert len([asked for asked in it.proxy.seen if "forget" in asked]) == ATTEMPTS
        assert len(claims(it, "forget")) == it.double.count("forget")
        assert it.texts() == ["two"]


async def test_a_hosted_erasure_is_only_asked_for_again_where_it_says_so() -> None:
    async with spoiled(True) as it:
        await it.engine.store(fact("one", "team:a"))
        await it.engine.store(fact("two", "team:b"))
        request = EraseRequest(reach=Reach.exact(Namespace.parse("team:a")))
        it.proxy.only, it.proxy.plan = "erasures", [reset_unread]
        await it.refusal(Unavailable, it.engine.erase(request))
        assert it.double.count("erasures") == 0
        it.double.erasure_incomplete = 2
        assert (await it.engine.erase(request)).erased_scopes == 1
        assert it.double.count("erasures") == 3
        assert len(claims(it, "erasures")) == 3
        assert it.texts() == ["two"]
        it.proxy.only, it.proxy.plan = "memory", [reset_unanswered]
        await it.refusal(Unavailable, it.engine.erase(whole()))
        assert it.double.count("erase_all") == 1
        assert it.texts() == []


@WIRES
async def test_an_answer_is_paid_for_once(hosted: bool) -> None:
    async with spoiled(hosted, proxied={"only": "answer"}) as it:
        await it.engine.store(fact("the kiln is hot"))
        it.proxy.plan = [reset_unanswered]
        request = RecallRequest(question="Is the kiln hot?", filter=learnings(), limit=3)
        await it.refusal(Unavailable, it.engine.recall(request))
        assert it.double.count("answer") == 1
        assert (await it.engine.recall(request)).answer == it.double.answer


# Giving up, and everything at once


@WIRES
async def test_a_call_that_is_cancelled_leaves_nothing_half_open(hosted: bool, until: Until) -> None:
    async with spoiled(hosted) as it:
        for number in range(6):
            await it.engine.store(fact("the kiln is hot", f"team:t{number}"))
        stuck: list[Callable[[], Coroutine[Any, Any, object]]] = [
            lambda: it.engine.list(EVERYTHING),
            lambda: it.engine.fetch(kiln()),
            lambda: it.engine.store(fact("never mind")),
            lambda: it.engine.recall(RecallRequest(question="Is the kiln hot?", limit=3)),
            lambda: it.engine.export(EVERYTHING),
            lambda: it.engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)]),
            lambda: it.engine.forget(ForgetTarget(ids=[ItemId("never mind")])),
            lambda: it.engine.erase(EraseRequest(reach=Reach.subtree(Namespace.parse("team:nobody")))),
            lambda: it.engine.health(),
        ]
        for _ in range(3):  # more in all than there are connections to lose
            for call in stuck:
                it.proxy.always = never_answers
                before = it.proxy.given_up, len(it.proxy.seen)
                task = asyncio.create_task(call())
                await until(lambda before=before: len(it.proxy.seen) > before[1])
                task.cancel()
                with pytest.raises(asyncio.CancelledError):
                    await task
                await until(lambda before=before: it.proxy.given_up > before[0])
                await until(lambda: it.double.in_flight == 0 and not it.double.open_connections)
                it.proxy.always = None
        assert len(await it.ids()) == 6
        assert (await it.engine.store(fact("never mind"))).id
        assert it.texts().count("never mind") == 1


@WIRES
@pytest.mark.limit_s(30)
async def test_a_store_that_is_cancelled_at_any_of_its_requests_is_completed_by_the_next(hosted: bool) -> None:
    async with spoiled(hosted) as it:
        wanted: list[str] = []
        for at in range(40):
            items = [fact(f"one {at}"), talk(f"{at}?", "very", f"{at}?"), note(f"of {at} kilns")]
            wanted += [f"one {at}", f"{at}?", "very", f"{at}?", f"of {at} kilns"]
            reached = asyncio.Event()

            async def holds(link: Link, reached: asyncio.Event = reached) -> None:
                reached.set()
                await never_answers(link)

            it.proxy.plan = [*[passes] * at, holds]
            task = asyncio.create_task(it.engine.store_many(items))
            arrived = asyncio.create_task(reached.wait())
            await asyncio.wait([task, arrived], return_when=asyncio.FIRST_COMPLETED)
            done = task.done()
            task.cancel()
            arrived.cancel()
            await asyncio.gather(task, arrived, return_exceptions=True)
            it.proxy.plan = []
            await it.engine.store_many(items)
            assert it.texts() == sorted(wanted), at
            if done:
                break
        assert done
        assert at > 5
        assert len(await it.ids()) == 3 * (at + 1)


@WIRES
async def test_a_memory_that_is_closed_while_it_is_asked(hosted: bool, until: Until) -> None:
    async with spoiled(hosted) as it:
        it.proxy.always = never_answers
        task = asyncio.create_task(it.engine.list(EVERYTHING))
        await until(lambda: it.proxy.seen)
        await it.engine.aclose()
        await it.refusal(Unavailable, task)
        await it.refusal(Unavailable, it.engine.list(EVERYTHING))


@WIRES
@pytest.mark.parametrize("seed", range(3))
@pytest.mark.limit_s(30)
async def test_whatever_goes_wrong_what_is_stored_is_exact(hosted: bool, seed: int) -> None:
    chance = random.Random(seed)
    faults: list[Fault] = [reset_unread, reset_unanswered, reset_in_body, cut_in_body, *BUSY, NO_JSON[0]]
    items: list[StoreItem] = [
        fact("one"),
        talk("hot?", "very", "hot?", "very", namespace="team:a"),
        note("of the kiln", "team:a/agent:w"),
        talk("and now?", "cold"),
        fact("one", "team:b"),
        note("of the clay"),
    ]
    wanted = sorted(["one", "hot?", "very", "hot?", "very", "of the kiln", "and now?", "cold", "one", "of the clay"])
    async with spoiled(hosted, listed_after=1, ranked_after=1) as it:
        for _ in range(8):
            it.proxy.plan = [chance.choice(faults) if chance.random() < 0.3 else passes for _ in range(60)]
            with contextlib.suppress(TinyMemoryError):
                await it.engine.store_many(items)
        it.proxy.plan = []
        receipts = await it.engine.store_many(items)
        assert it.texts() == wanted
        assert sorted(await it.ids()) == sorted(receipt.id for receipt in receipts)
        gone = [receipts[1].id, receipts[4].id]
        for _ in range(8):
            it.proxy.plan = [chance.choice(faults) if chance.random() < 0.3 else passes for _ in range(60)]
            with contextlib.suppress(TinyMemoryError):
                await it.engine.forget(ForgetTarget(ids=gone))
        it.proxy.plan = []
        await it.engine.forget(ForgetTarget(ids=gone))
        assert it.texts() == ["and now?", "cold", "of the clay", "of the kiln", "one"]


def claims(it: Spoiled, route: str) -> set[str]:
    """The Idempotency-Keys that came with a route's requests, of which each had one."""
    return {asked.headers["idempotency-key"] for asked in it.double.asked if asked.route == route}


def kiln() -> FetchRequest:
    return FetchRequest(query="the kiln", mode=FetchMode.HYBRID, filter=learnings(), limit=5)


def learnings() -> MetaFilter:
    """Of one scope."""
    return MetaFilter(reach=Reach.exact(Namespace.ROOT), kinds=[ItemKind.LEARNING])


def whole() -> EraseRequest:
    return EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True)
