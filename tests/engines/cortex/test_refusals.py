"""What an error tells of how a server refused, for a window that words it."""

from __future__ import annotations

import socket
from contextlib import aclosing

import pytest

from explorer.contract import ListRequest, MetaFilter, Refusal, TinyMemoryError
from explorer.engines.config import EngineSettings, StaticCredential
from explorer.engines.cortex import DIRECT
from explorer.engines.cortex.direct import DirectWire
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.settings import CortexSettings
from tests.doubles.cortexdb import CortexDouble
from tests.doubles.fault_proxy import Fault, FaultProxy, never_answers, raw, reset_unanswered, status
from tests.engines.cortex.flows import QUICK, opened

WIRES = pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])
EVERYTHING = ListRequest(filter=MetaFilter(), limit=9)
PAGE = raw(b"HTTP/1.1 200 OK\r\ncontent-length: 13\r\n\r\n<html></html>")


async def refusal_of(engine: CortexEngine) -> Refusal:
    with pytest.raises(TinyMemoryError) as caught:
        await engine.list(EVERYTHING)
    assert caught.value.refusal is not None
    return caught.value.refusal


@WIRES
@pytest.mark.parametrize("code", [401, 402, 403, 429, 503])
async def test_the_status_and_the_servers_words(hosted: bool, code: int) -> None:
    async with (
        CortexDouble(fail_all=(code, "NO"), error_text="not for you") as double,
        aclosing(opened(double, hosted=hosted)) as engine,
    ):
        refusal = await refusal_of(engine)
    assert refusal.status == code
    assert "not for you" in refusal.said
    assert refusal.fault == refusal.capability == ""


@WIRES
async def test_the_key_is_in_none_of_it(hosted: bool) -> None:
    key = "key-of-a-stranger"
    async with (
        CortexDouble(fail_all=(503, "NO"), error_text=f"no {key} here", token=key) as double,
        aclosing(opened(double, hosted=hosted)) as engine,
    ):
        refusal = await refusal_of(engine)
    assert "here" in refusal.said
    assert key not in repr(refusal)


@WIRES
@pytest.mark.parametrize(
    ("fault", "told"),
    [
        (PAGE, Refusal(fault="alien")),
        (reset_unanswered, Refusal(fault="cut")),
        (never_answers, Refusal(fault="timeout")),
        (status(307, location="http://127.0.0.1:9/"), Refusal(307)),
    ],
    ids=["page", "reset", "silent", "moved"],
)
async def test_where_the_exchange_broke_off(
    hosted: bool, fault: Fault, told: Refusal, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with CortexDouble() as double, FaultProxy(double.endpoint, always=fault) as proxy:
        monkeypatch.setattr(CortexDouble, "endpoint", proxy.endpoint)
        async with aclosing(opened(double, hosted=hosted)) as engine:
            engine._wire.transport.timing = type(QUICK)(request_s=0.05, retry_s=0.001)
            assert await refusal_of(engine) == told


async def test_nobody_listens() -> None:
    with socket.create_server(("127.0.0.1", 0)) as free:
        port = free.getsockname()[1]
    settings = CortexSettings.of(EngineSettings(endpoint=f"http://127.0.0.1:{port}"), hosted=False)
    async with aclosing(
        CortexEngine(DirectWire(settings, StaticCredential("key-1"), QUICK), settings, DIRECT)
    ) as engine:
        assert await refusal_of(engine) == Refusal(fault="connect")
