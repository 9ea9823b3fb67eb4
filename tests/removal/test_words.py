"""A plan in words."""

from __future__ import annotations

from explorer.contract import Facet, MetaFilter, Namespace, Reach
from explorer.removal import words
from explorer.removal.plan import Action, Plan, Sandbox, Target, make_plan
from tests.fakes import FakeEngine

NODE = Namespace.parse("team:a/agent:b")


def title(target: Target, action: Action = Action.ERASE) -> str:
    return words.title(Plan(target, action, ()))


def test_a_plan_is_called_by_what_it_does() -> None:
    assert title(Target.below(NODE)) == "Erase team:a/agent:b and everything below it"
    assert title(Target.at(NODE), Action.FORGET) == "Forget the items at team:a/agent:b"
    assert title(Target.below(Namespace.ROOT)) == "Erase the whole tree"
    assert title(Target.of_ids(["a"]), Action.FORGET) == "Forget 1 chosen item"  # type: ignore[list-item]


def test_a_reason_ends_without_a_full_stop_that_some_languages_write_another_way() -> None:
    assert words.why_no_erase()[-1].isalpha()


def test_a_sandbox_is_called_what_it_is_told_and_nothing_else_is_changed() -> None:
    box = Sandbox(Namespace.parse("service:a"), 3)
    assert words.sandbox_goes(box) == "The sandbox service:a with 3 items goes too."
    assert words.sandbox_goes(box, "ser…a") == "The sandbox ser…a with 3 items goes too."
    assert words.sandbox_stays(box, "a sandbox").startswith("The sandbox a sandbox with 3 items. A sandbox is never")


def test_stored_text_is_no_part_of_a_title() -> None:
    assert title(Target.of_value(Facet.TAG, "</b>Done"), Action.FORGET) == "Forget what the filter admits"


async def test_what_is_above_is_said_to_stay_where_the_list_shows_it_too() -> None:
    plan = await make_plan(FakeEngine(), Target.of_filter(MetaFilter(reach=Reach.of(NODE))), Action.FORGET)
    assert words.what_stays(plan) == ["What is read from above: root, team:a. A removal never goes up."]


def test_the_other_action_promises_nothing_that_no_engine_has_to_do() -> None:
    assert words.the_other(Action.FORGET) == "Erase would remove them for good; it takes nodes and kinds only."
