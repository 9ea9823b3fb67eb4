"""Counting to the end, by the query that runs."""

from __future__ import annotations

import asyncio
from datetime import timedelta, timezone

import pytest

from explorer.contract import EngineFailure, ForgetTarget, ItemId, ListPage, MetaFilter, Namespace, Timestamp
from explorer.removal import turns
from explorer.removal.confirmation import MANY, Answers, Confirmation
from explorer.removal.plan import Action, Plan, Target, make_plan
from explorer.removal.preview import Preview, count, moved
from tests.fakes import FakeEngine, filled, learning

ROOT = Target.below(Namespace.ROOT)


async def previewed(engine: FakeEngine, target: Target = ROOT, **kwargs) -> Preview:
    plan = await make_plan(engine, target, Action.FORGET)
    found = [step async for step in count(engine, plan, **kwargs)][-1]
    assert found.is_whole
    return found


async def test_every_page_is_read_and_counted_by_kind_node_source_and_month() -> None:
    engine = FakeEngine()
    await filled(
        [
            learning(f"n {n}", "team:a" if n % 2 else "root", source="rss" if n % 3 else "file", observed_at=at(n))
            for n in range(450)
        ],
        engine,
    )
    found = await previewed(engine)
    assert found.total == found.stored == 450
    assert sorted(found.nodes.values()) == [225, 225]
    assert sorted(found.sources.values()) == [150, 300]
    assert found.months == {"2026-01": 225, None: 225}
    assert len(found.samples) == 10
    assert len({hit.id for hit in found.samples}) == 10
    assert found.oldest is not None
    assert found.oldest.text == "n 0"
    assert found.newest is not None
    assert found.newest.text == "n 448"
    assert {found.oldest.id, found.newest.id} <= {hit.id for hit in found.samples}


def at(n: int) -> Timestamp | None:
    return Timestamp.parse(f"2026-01-01T00:{n // 60:02}:{n % 60:02}Z") if n % 2 == 0 else None


async def test_a_month_is_that_of_the_zone_on_screen() -> None:
    engine = FakeEngine()
    await filled([learning("x", observed_at=Timestamp.parse("2026-01-31T23:30:00Z"))], engine)
    assert (await previewed(engine)).months == {"2026-01": 1}
    assert (await previewed(engine, zone=timezone(timedelta(hours=13)))).months == {"2026-02": 1}


async def test_named_items_that_are_not_there_are_told() -> None:
    engine = FakeEngine()
    receipt = await engine.store(learning("x"))
    found = await previewed(engine, Target.of_ids([receipt.id, "0" * 64]))
    assert list(found.ids) == [receipt.id]
    assert found.gone == ["0" * 64]


@pytest.mark.parametrize("cursor", ["again", ""])
async def test_an_engine_that_pages_in_a_circle_cannot_be_confirmed(cursor) -> None:
    engine = FakeEngine()
    await filled([learning("x")], engine)
    engine.listing = lambda req: ListPage(items=[], next_cursor=cursor)
    plan = await make_plan(engine, ROOT, Action.FORGET)
    told = []
    with pytest.raises(EngineFailure, match="counted to the end"):
        told += [step.is_whole async for step in count(engine, plan)]
    assert not any(told)


async def test_what_changed_is_known_by_ids_where_the_number_stayed() -> None:
    engine = FakeEngine()
    first = await engine.store(learning("one"))
    before = await previewed(engine)
    assert not moved(before, await previewed(engine))
    await engine.store(learning("two"))
    await engine.forget(ForgetTarget(ids=[first.id]))
    now = await previewed(engine)
    assert now.total == before.total
    assert moved(before, now).gone == (first.id,)
    assert len(moved(before, now).new) == 1


def confirmation(target: Target, total: int, stored: int, *, is_least: bool = False) -> Confirmation:
    preview = Preview(
        ids=dict.fromkeys([ItemId(str(n)) for n in range(total)]), stored=stored, stored_is_least=is_least
    )
    return Confirmation.needed(Plan(target, Action.FORGET, ()), preview)


def test_the_question_is_as_strong_as_the_harm() -> None:
    node = Namespace.parse("team:a/agent:b")
    some = Target.of_filter(MetaFilter(workspace="w"))
    assert confirmation(some, 10, 100) == Confirmation(None, whole_tree=False, large=False)
    assert confirmation(some, 51, 100).large
    assert not confirmation(some, 50, 100).large
    assert confirmation(some, MANY + 1, 10**6).large
    assert not confirmation(some, MANY, 10**6).large
    assert confirmation(some, 10, 100, is_least=True).large
    assert confirmation(Target.at(node), 10, 100).name == "team:a/agent:b"
    assert confirmation(ROOT, 10, 10) == Confirmation("root", whole_tree=True, large=False)


@pytest.mark.parametrize(
    ("answers", "is_met"),
    [
        (Answers("root", whole_tree=True), True),
        (Answers("root"), False),
        (Answers("", whole_tree=True), False),
        (Answers("Root", whole_tree=True), False),
        (Answers("root ", whole_tree=True), False),
        (Answers("r\u043e\u043et", whole_tree=True), False),  # Cyrillic letters that look the same
    ],
)
def test_a_name_is_compared_by_code_point(answers, is_met) -> None:
    assert (confirmation(ROOT, 5, 5).missing(answers) is None) is is_met


@pytest.mark.parametrize("slice_s", [0.0, 3_600.0])
async def test_counting_lets_others_act_within_a_page(slice_s: float, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(turns, "SLICE_S", slice_s)
    engine = await filled([learning(f"{n}", "agent:a") for n in range(150)])
    plan = await make_plan(engine, Target.below(Namespace.parse("agent:a")), Action.FORGET)
    acted = 0

    async def act() -> None:
        nonlocal acted
        while True:
            await asyncio.sleep(0)
            acted += 1

    acting = asyncio.create_task(act())
    async for found in count(engine, plan):
        if found.total:
            break
    acting.cancel()
    assert found.total == 150
    assert (acted >= 140) is (slice_s == 0.0)
