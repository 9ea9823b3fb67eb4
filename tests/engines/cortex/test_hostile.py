"""What a hostile server, disk or neighbour may do: nothing goes that was not meant, and nothing removed stays."""

from __future__ import annotations

import pytest

from explorer.contract import ExploreRequest, Facet, ForgetTarget, ItemId, MetaFilter, Reach, StoreItem
from explorer.engines.cortex.engine import CortexEngine
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.flows import LAYOUTS, at, fact, lay, scope_of, served, stored_at, talk

BOTH = ["direct-legacy", "hosted-legacy"]


def copy(double: CortexDouble, engine: CortexEngine, item: StoreItem, node: str) -> None:
    """What another program does that copies an item's events into the scope of another node."""
    like = item.model_copy(update={"meta": item.meta.model_copy(update={"namespace": at(node)})})
    for held in double.held(stored_at(double, engine, item)):
        double.put(stored_at(double, engine, like), held.text, held.labels, role=held.role, modality=held.modality)


async def forget(engine: CortexEngine, *ids: ItemId) -> int:
    return (await engine.forget(ForgetTarget(ids=list(ids)))).forgotten


# --- what was removed is still there


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("read", ["nothing", "one scope", "since changed", "all"])
async def test_a_copy_in_another_scope_is_forgotten_with_the_item(layout: str, read: str) -> None:
    async with served(layout) as (double, engine):
        item = talk("a", "b", namespace="agent:a")
        (id,) = lay(double, engine, item)
        lay(double, engine, fact("kept", "agent:b"))
        if read != "since changed":
            copy(double, engine, item, "agent:b")
        reach = {"one scope": Reach.exact(at("agent:a"))}.get(read)
        if read != "nothing":
            await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9, filter=MetaFilter(reach=reach))])
        if read == "since changed":
            copy(double, engine, item, "agent:b")
            engine._snapshot.note_written(scope_of(engine, item))
        assert await forget(engine, id) == 1
        assert [held.text for held in double.log] == ["kept"]


async def test_a_copy_within_the_reach_is_forgotten_and_one_outside_stays() -> None:
    async with served() as (double, engine):
        item = talk("a", namespace="agent:a")
        (id,) = lay(double, engine, item)
        copy(double, engine, item, "agent:a/team:x")
        copy(double, engine, item, "agent:b")
        await engine.explore_many(
            [ExploreRequest(facet=Facet.KIND, limit=9, filter=MetaFilter(reach=Reach.exact(at("agent:a"))))]
        )
        assert (await engine.forget_within([id], Reach.subtree(at("agent:a")))).forgotten == 1
        assert [held.scope for held in double.log] == ["app:tinymemory/agent:b/app:conversations"]
