"""The contract's suite against the strict double: both wires, every layout."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from explorer.contract import conformance
from explorer.contract.conformance import CheckFailed
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.flows import LAYOUTS, fact, opened, served

OF_ONE = frozenset(range(1, 83))
OF_TWO = frozenset(range(82, 92))

RETIRED = {"retired_scope_root": "user:42"}


@pytest.mark.limit_s(60)
@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_engine_passes_every_check_and_leaves_nothing_behind(layout: str) -> None:
    hosted, settings = LAYOUTS[layout]
    made: set[int] = set()
    async with CortexDouble() as double, aclosing(opened(double, hosted=hosted, **settings)) as engine:
        await conformance.run(engine, made.add)
        assert len(double.log) == 0
        assert double.unknown_params == []
    assert made == OF_ONE


LATE = {"listed_after": 1, "ranked_after": 1}
SERVERS: dict[str, tuple[str, dict[str, Any]]] = {
    "late, behind a path": ("direct-legacy", {**LATE, "whoami": None, "prefix": "behind/a-proxy"}),
    "late, hosted": ("hosted-tenant_root", {**LATE, "max_page": 3}),
    "loose": (
        "hosted-scope_root",
        {"reroots": False, "string_prefix_scopes": True, "forget_gone_is_missing": True},
    ),
}
"""Servers that differ in what they may differ in, each in one layout."""


@pytest.mark.limit_s(60)
@pytest.mark.parametrize("server", SERVERS)
async def test_it_passes_on_servers_of_other_habits(server: str) -> None:
    layout, knobs = SERVERS[server]
    async with served(layout, **knobs) as (double, engine):
        await conformance.run(engine)
        assert len(double.log) == 0


@pytest.mark.limit_s(60)
@pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])
async def test_it_passes_beside_a_retired_root_that_holds_items_and_leaves_those(hosted: bool) -> None:
    async with CortexDouble() as double, AsyncExitStack() as stack:
        before = await stack.enter_async_context(aclosing(opened(double, hosted=hosted, scope_root="user:42")))
        engine = await stack.enter_async_context(
            aclosing(opened(double, hosted=hosted, scope_root="org:42", **RETIRED))
        )
        await before.store(fact("kept from before", workspace="of before"))
        await conformance.run(engine)
        assert len(double.log) == 1


TENANTS: dict[str, tuple[bool, dict[str, Any], dict[str, Any]]] = {
    "direct-scope_root": (False, {"scope_root": "org:42"}, {"scope_root": "org:43"}),
    "hosted-legacy": (True, {}, {"token": "key-of-b"}),
    "hosted-scope_root": (True, {"scope_root": "org:42"}, {"scope_root": "org:42", "token": "key-of-b"}),
    "hosted-tenant_root": (True, {"tenant_root": True}, {"tenant_root": True, "token": "key-of-b"}),
}
"""Two users of one server: on Direct two roots, on the hosted wire two accounts."""


@pytest.mark.limit_s(60)
@pytest.mark.parametrize("layout", TENANTS)
async def test_two_users_of_one_server_see_nothing_of_each_other(layout: str) -> None:
    hosted, of_a, of_b = TENANTS[layout]
    made: set[int] = set()
    async with CortexDouble(tenants={"key-of-b": "bolt"}) as double, AsyncExitStack() as stack:
        a = await stack.enter_async_context(aclosing(opened(double, hosted=hosted, **of_a)))
        b = await stack.enter_async_context(aclosing(opened(double, hosted=hosted, **of_b)))
        await conformance.run_isolation(a, b, made.add)
    assert made == OF_TWO


@pytest.mark.limit_s(60)
async def test_one_user_passed_for_two_is_found_out() -> None:
    async with CortexDouble() as double, aclosing(opened(double, hosted=True)) as engine:
        with pytest.raises(CheckFailed):
            await conformance.run_isolation(engine, engine)
