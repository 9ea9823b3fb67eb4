"""What a plan means: what goes, what stays, and what an erase cannot be told."""

from __future__ import annotations

import pytest

from explorer.contract import Facet, InvalidRequest, ItemKind, MetaFilter, Namespace, Reach
from explorer.contract.namespace import EVERYTHING
from explorer.removal import words
from explorer.removal.plan import Action, Plan, Sandbox, Target, make_plan
from explorer.removal.preview import count
from tests.fakes import FakeEngine, filled, learning

NODE = Namespace.parse("team:a/agent:b")


async def gone(engine: FakeEngine, target: Target, action: Action = Action.FORGET) -> set[str]:
    """The texts that a plan would take."""
    plan = await make_plan(engine, target, action)
    found = [step async for step in count(engine, plan)][-1]
    texts = {hit.id: hit.text for hit in found.texts}
    return {texts[id] for id in found.ids}


async def small() -> FakeEngine:
    engine = FakeEngine()
    await filled(
        [
            learning("at root"),
            learning("at a", "team:a"),
            learning("at b", "team:a/agent:b", tags=["Test"], folder="/home/u/proj"),
            learning("below b", "team:a/agent:b/project:c", tags=["Test2"], folder="/home/u/proj/sub"),
            learning("in the sandbox", "team:a/agent:b/service:s", folder="/home/u/proj-old"),
            learning("inside it", "team:a/agent:b/service:s/user:d"),
            learning("beside", "team:a/agent:x"),
        ],
        engine,
    )
    return engine


async def test_a_node_leaves_alone_what_is_below_above_and_beside() -> None:
    assert await gone(await small(), Target.at(NODE)) == {"at b"}


async def test_a_node_and_below_leaves_its_sandbox_which_is_named() -> None:
    engine = await small()
    assert await gone(engine, Target.below(NODE)) == {"at b", "below b"}
    plan = await make_plan(engine, Target.below(NODE), Action.ERASE)
    assert plan.sandboxes == (Sandbox(Namespace.parse("team:a/agent:b/service:s"), 2),)
    assert not plan.takes_sandboxes


async def test_a_sandbox_is_removed_by_its_name() -> None:
    assert await gone(await small(), Target.below(Namespace.parse("team:a/agent:b/service:s"))) == {
        "in the sandbox",
        "inside it",
    }


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("target", [Target.below(Namespace.ROOT), Target.of_filter(MetaFilter())])
async def test_the_whole_tree_takes_sandboxes_and_lists_them(target, action) -> None:
    engine = await small()
    assert len(await gone(engine, target, action)) == 7
    plan = await make_plan(engine, target, action)
    assert plan.takes_sandboxes
    assert [sandbox.items for sandbox in plan.sandboxes] == [2]


async def test_some_kinds_of_everything_are_not_the_whole_tree() -> None:
    target = Target.of_filter(MetaFilter(kinds=[ItemKind.LEARNING]))
    assert not target.is_whole_tree
    assert "in the sandbox" not in await gone(await small(), target, Action.ERASE)
    assert Target.of_filter(MetaFilter(kinds=list(ItemKind))).is_whole_tree


async def test_ancestors_that_the_filter_reads_are_never_touched() -> None:
    target = Target.of_filter(MetaFilter(reach=Reach.of(NODE)))
    assert await gone(await small(), target) == {"at b"}
    assert list(map(str, target.above)) == ["root", "team:a"]
    plan = await make_plan(await small(), target, Action.FORGET)
    assert any("root, team:a" in said for said in words.what_stays(plan))


async def test_a_prefix_catches_what_is_below_and_not_its_neighbour() -> None:
    engine = await small()
    target = Target.of_value(Facet.FOLDER, "/home/u/proj")
    assert await gone(engine, target) == {"at b", "below b"}
    plan = await make_plan(engine, target, Action.FORGET)
    found = [step async for step in count(engine, plan)][-1]
    assert found.paths == {"/home/u/proj": 1, "/home/u/proj/sub": 1}


async def test_a_tag_takes_no_tag_that_begins_with_it() -> None:
    assert await gone(await small(), Target.of_value(Facet.TAG, "Test")) == {"at b"}


async def test_a_value_inside_a_filter_takes_only_what_meets_both() -> None:
    within = MetaFilter(reach=Reach.exact(Namespace.parse("team:a")))
    assert await gone(await small(), Target.of_value(Facet.TAG, "Test", within)) == set()


@pytest.mark.parametrize(
    "target",
    [
        Target.of_value(Facet.TAG, "Test"),
        Target.of_value(Facet.WORKSPACE, "w"),
        Target.of_filter(MetaFilter(reach=EVERYTHING, agent_id="x")),
        Target.of_ids(["0" * 64]),
    ],
)
async def test_an_erase_takes_nodes_and_kinds_only(target) -> None:
    with pytest.raises(InvalidRequest, match="nodes and kinds only"):
        await make_plan(await small(), target, Action.ERASE)


def test_nothing_chosen_is_no_target() -> None:
    with pytest.raises(InvalidRequest):
        Target.of_ids([])


def test_a_target_is_the_same_after_it_was_written_down() -> None:
    for target in (Target.below(NODE), Target.of_ids(["a", "b", "a"], EVERYTHING), Target.of_value(Facet.TAG, "x")):
        assert Target.model_validate_json(target.model_dump_json()) == target


def test_a_plan_is_called_by_what_it_does() -> None:
    def title(target: Target, action: Action = Action.ERASE) -> str:
        return words.title(Plan(target, action, ()))

    assert title(Target.below(NODE)) == "Erase team:a/agent:b and everything below it"
    assert title(Target.at(NODE), Action.FORGET) == "Forget the items at team:a/agent:b"
    assert title(Target.below(Namespace.ROOT)) == "Erase the whole tree"
    assert title(Target.of_ids(["a"]), Action.FORGET) == "Forget 1 chosen item"
    assert "x" not in title(Target.of_value(Facet.TAG, "xx"), Action.FORGET).replace("exactly", "")
