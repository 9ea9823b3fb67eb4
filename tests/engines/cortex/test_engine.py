"""What the engine says of itself and of its connection, and consolidation."""

from __future__ import annotations

import asyncio
from contextlib import AsyncExitStack, aclosing
from dataclasses import replace
from typing import Any

import pytest

from explorer.contract import (
    BeliefsRequest,
    ConsolidateRequest,
    Consolidation,
    ExploreRequest,
    Facet,
    FetchMode,
    InvalidRequest,
    ItemKind,
    ListRequest,
    MetaFilter,
    Reach,
    StoreOptions,
    Timestamp,
    Unavailable,
    Unsupported,
    Wait,
)
from explorer.engines.cortex.engine import CortexEngine
from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.flows import LAYOUTS, QUICK, at, fact, lay, listed, note, opened, scope_of, served

BOTH = ["direct-legacy", "hosted-legacy"]


@pytest.mark.parametrize("layout", BOTH)
async def test_a_server_in_good_health_costs_one_request(layout: str) -> None:
    async with served(layout) as (double, engine):
        assert (await engine.health()).state == "ok"
        hosted = "hosted" in layout
        wanted = "GET /memory/scopes?prefix=tmh%3Aprobe&limit=1" if hosted else "GET /v1/admin/health"
        assert double.requests == [wanted]


@pytest.mark.parametrize("layout", BOTH)
@pytest.mark.parametrize(
    ("failure", "state"),
    [((503, "DOWN"), "degraded"), ((429, "SLOW"), "degraded"), ((403, "NO"), "down"), ((404, "NO"), "down")],
)
async def test_ill_health_is_told_without_the_servers_own_words(
    layout: str, failure: tuple[int, str], state: str
) -> None:
    async with served(layout, fail_all=failure, error_text="the operator's secret words") as (double, engine):
        health = await engine.health()
        assert health.state == state
        assert health.reason is not None
        assert "127.0.0.1" in health.reason
        assert "secret" not in health.reason
        assert double.token not in health.reason
        assert len(double.requests) == 1


async def test_a_server_that_is_not_there_is_degraded() -> None:
    async with CortexDouble() as double:
        engine = opened(double)
    async with aclosing(engine):
        assert (await engine.health()).state == "degraded"


async def test_the_pause_that_a_server_asks_for_is_told_until_it_is_over(until: Until) -> None:
    patient = replace(QUICK, pause_s=0.5)
    limits: dict[str, Any] = {"rate_limit_events": 1, "rate_limit_headers": {"Retry-After": "60"}}
    async with CortexDouble(**limits) as double, aclosing(opened(double, timing=patient)) as engine:
        lay(double, engine, fact("a"))
        assert engine.waiting() is None
        began = Timestamp.now_utc()
        reading = asyncio.create_task(listed(engine, reach=Reach.exact(at("")), kinds=["learning"]))
        await until(engine.waiting)
        told = engine.waiting()
        assert told is not None
        assert began < told.until
        assert told.until.unix_ns - began.unix_ns < 60e9  # cut to the engine's longest pause
        assert len(await reading) == 1
        assert engine.waiting() is None


async def test_a_descriptor_is_a_copy() -> None:
    async with served() as (_, engine):
        engine.descriptor().fetch_modes.append(FetchMode.VECTOR)
        assert engine.descriptor().fetch_modes == [FetchMode.HYBRID]
        assert not engine.descriptor().keeps_paths


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_store_that_is_only_to_be_accepted_waits_for_no_reads(layout: str) -> None:
    async with served(layout) as (double, engine):
        item = fact("a")
        receipt = await engine.store_with(item, StoreOptions(wait=Wait.ACCEPTED))
        assert (receipt.id, receipt.replayed) == (item.fingerprint(), False)
        assert double.count("recall") == 0
        assert double.count("events") == 1  # whether it is held already
        assert await listed(engine) == [item.fingerprint()]


async def test_what_was_stored_is_counted_though_the_scopes_were_read_before() -> None:
    async with served() as (_, engine):
        req = ExploreRequest(facet=Facet.KIND, limit=9)
        assert (await engine.explore_many([req]))[0].total == 0
        await engine.store_many([fact("a"), note("b", "agent:b")])
        assert (await engine.explore_many([req]))[0].total == 2


async def test_an_engine_that_was_closed_asks_nothing_more() -> None:
    async with CortexDouble() as double:
        engine = opened(double)
        await engine.aclose()
        await engine.aclose()
        with pytest.raises(Unavailable):
            await engine.list(ListRequest(limit=1))
        assert double.requests == []


# --- consolidation


async def test_on_the_direct_wire_beliefs_are_built_scope_by_scope() -> None:
    async with served() as (double, engine):
        items = [note("a", "agent:a"), fact("b", "agent:a"), note("c", "agent:a/agent:c"), note("d", "agent:d")]
        lay(double, engine, *items)
        req = ConsolidateRequest(reach=Reach.subtree(at("agent:a")), kinds=[ItemKind.DOCUMENT])
        receipt = await engine.consolidate(req)
        assert (receipt.status, receipt.scopes, receipt.built) == ("completed", 2, 2)
        asked = [body["scope"] for body in double.bodies("build_beliefs")]
        assert sorted(asked) == sorted([scope_of(engine, items[0]), scope_of(engine, items[2])])
        assert await engine.beliefs(BeliefsRequest(reach=req.reach, limit=5)) == []


async def test_beliefs_of_a_retired_root_are_not_built() -> None:
    async with CortexDouble() as double, AsyncExitStack() as stack:
        before = await stack.enter_async_context(aclosing(opened(double, scope_root="user:42")))
        now = await stack.enter_async_context(
            aclosing(opened(double, scope_root="org:42", retired_scope_root="user:42"))
        )
        lay(double, before, fact("a"), fact("b", "agent:a"))
        lay(double, now, fact("c"))
        receipt = await now.consolidate(ConsolidateRequest(reach=Reach.exact(at("")), kinds=[ItemKind.LEARNING]))
        assert receipt.scopes == 1
        assert [body["scope"] for body in double.bodies("build_beliefs")] == ["org:42/app:learnings"]


async def test_on_the_hosted_wire_the_backends_schedule_does_it_and_nothing_is_sent() -> None:
    async with served("hosted-legacy") as (double, engine):
        receipt = await engine.consolidate(ConsolidateRequest(reach=Reach.exact(at(""))))
        assert (receipt.status, receipt.scopes) == ("scheduled", 0)
        assert double.requests == []


@pytest.mark.parametrize("layout", BOTH)
async def test_a_consolidation_that_names_a_kind_twice_is_refused(layout: str) -> None:
    async with served(layout) as (double, engine):
        with pytest.raises(InvalidRequest):
            await engine.consolidate(ConsolidateRequest(reach=Reach.exact(at("")), kinds=[ItemKind.LEARNING] * 2))
        assert double.requests == []


async def test_where_none_is_declared_none_is_done() -> None:
    async with served() as (double, engine):
        descriptor = engine.descriptor().model_copy(update={"consolidation": Consolidation.NONE})
        without = CortexEngine(engine._wire, engine._settings, descriptor)
        with pytest.raises(Unsupported):
            await without.consolidate(ConsolidateRequest(reach=Reach.exact(at(""))))
        assert double.requests == []


async def test_kinds_that_are_not_asked_for_are_not_read() -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("a"), note("b"))
        page = await engine.list(ListRequest(filter=MetaFilter(kinds=[ItemKind.DOCUMENT]), limit=9))
        assert [hit.text for hit in page.items] == ["b"]
        assert not any("learnings" in request for request in double.requests)
