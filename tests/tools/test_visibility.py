"""Who can see an item: against the tools themselves, asked from every node."""

from __future__ import annotations

import asyncio
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import MetaFilter, Namespace
from explorer.contract.reference import ReferenceEngine
from explorer.tools import MemoryTools, ToolScope
from explorer.tools.visibility import Viewer, who_sees
from tests.contract.strategies import namespaces, some_examples
from tests.fakes import filled, learning

N = Namespace.parse
ROOT, TEAM, A, SUB, B = N("root"), N("team:acme"), N("team:acme/agent:a"), N("team:acme/agent:a/agent:s"), N("agent:b")
CRON, IN_CRON = N("team:acme/service:cron"), N("team:acme/service:cron/agent:a")
TREE = [SUB, B, IN_CRON]


@pytest.mark.parametrize(
    ("at", "viewers", "by_default", "sandbox"),
    [
        (ROOT, [ROOT, B, TEAM, A, SUB, CRON, IN_CRON], True, None),
        (TEAM, [TEAM, A, SUB, CRON, IN_CRON], True, None),
        (A, [A, SUB], True, None),
        (SUB, [SUB], True, None),
        (B, [B], True, None),
        (CRON, [CRON, IN_CRON], False, CRON),
        (IN_CRON, [IN_CRON], False, CRON),
        (N("user:new"), [N("user:new")], True, None),
    ],
)
def test_a_node_sees_its_own_and_what_is_above_it(at, viewers, by_default, sandbox):
    seen = who_sees(at, TREE)
    assert [viewer.node for viewer in seen.nodes] == viewers
    assert seen.nodes[0] == Viewer(at, None)
    assert {viewer.inherited_from for viewer in seen.nodes[1:]} <= {at}
    assert (seen.by_default, seen.sandbox) == (by_default, sandbox)


def test_a_node_named_twice_is_there_once_and_no_node_is_needed():
    assert who_sees(A, [A, A, TEAM]) == who_sees(A, [])
    assert [viewer.node for viewer in who_sees(A, []).nodes] == [A]


nodes = namespaces.map(Namespace.parse) | st.sampled_from([ROOT, TEAM, A, SUB, B, CRON, IN_CRON])


@given(st.lists(nodes, min_size=1, max_size=6))
@some_examples
def test_what_is_said_is_what_the_tools_read(placed):
    async def check() -> None:
        engine = await filled([learning(f"at {at}", str(at)) for at in placed], ReferenceEngine())
        buckets = (await engine.namespaces(MetaFilter())).buckets
        tree = [Namespace.parse(bucket.value) for bucket in buckets]
        known = {above for node in tree for above in node.ancestors_and_self()}

        async def texts(scope: ToolScope) -> set[str]:
            page = json.loads(await MemoryTools.with_scope(engine, scope).call("memory_list", {"limit": 50}))
            return {hit["text"] for hit in page["items"]}

        read = {node: await texts(ToolScope.at(node)) for node in known}
        by_default = await texts(ToolScope.default())
        for at in placed:
            seen = who_sees(at, tree)
            assert {viewer.node for viewer in seen.nodes} == {node for node in known if f"at {at}" in read[node]}
            assert seen.by_default == (f"at {at}" in by_default)

    asyncio.run(check())
