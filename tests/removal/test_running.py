"""A run of a removal on engines that misbehave: rows A1 to A21 and C1 to C9 of the cases."""

from __future__ import annotations

import asyncio
import contextlib
import threading
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import (
    ConfigError,
    Conflict,
    EngineDescriptor,
    EngineFailure,
    EngineHealth,
    EraseReport,
    EraseRequest,
    FetchMode,
    ForgetReport,
    ForgetTarget,
    InvalidRequest,
    ItemId,
    ListPage,
    ListRequest,
    MetaFilter,
    Namespace,
    NotFound,
    Reach,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.contract.reference import ReferenceEngine
from explorer.engines.sqlite.engine import SqliteEngine
from explorer.removal.confirmation import Answers
from explorer.removal.journal import Journal
from explorer.removal.outcome import Asked, Phase, Step
from explorer.removal.page import verdict
from explorer.removal.plan import Action, Target
from explorer.removal.receipts import Receipt, ReceiptWriter
from explorer.transfer import FileError
from tests.conftest import Until
from tests.contract.engines import PlainEngine
from tests.fakes import FakeEngine, filled, learning
from tests.removal.made import (
    Waits,
    check_of,
    counted,
    done,
    erased,
    forgotten,
    held,
    ids_of,
    lines_of,
    named,
    shown,
    steps_of,
    yes,
)

ACME = Namespace.parse("team:acme")
TEAM = Target.at(ACME)
BIG = Target.below(ACME)
BOT = MetaFilter(reach=Reach.exact(Namespace.parse("team:acme/service:bot")))


class Words(FakeEngine):
    """Searched by words alone, which takes a test less time."""

    def descriptor(self) -> EngineDescriptor:
        return super().descriptor().model_copy(update={"fetch_modes": [FetchMode.KEYWORD]})


async def acme(count: int, engine: FakeEngine | None = None) -> FakeEngine:
    """So many items at `team:acme`, and one beside them."""
    engine = engine or Words()
    await filled((learning(f"number {n} of the team", "team:acme") for n in range(count)), engine)
    await engine.store(learning("stays", "user:ann"))
    return engine


def with_id(id: ItemId) -> Callable[[ForgetTarget], bool]:
    return lambda target: id in (target.ids or [])


def alone(*ids: ItemId) -> Callable[[ForgetTarget], bool]:
    """Calls that name one of these and nothing else."""
    return lambda target: len(target.ids or []) == 1 and (target.ids or [])[0] in ids


# --- the plain way


@pytest.mark.parametrize("action", Action)
async def test_all_that_was_confirmed_goes_and_nothing_else(action: Action, journal: Journal) -> None:
    engine = await acme(7, FakeEngine())
    removal = await counted(engine, TEAM, action, journal)
    outcome = await done(removal)
    assert (outcome.removed, outcome.left, outcome.stopped) == (7, [], None)
    assert outcome.is_clean
    assert (outcome.stored_before, outcome.stored_after) == (8, 1)
    assert [hit.text for hit in await held(engine)] == ["stays"]
    assert [check.asked for check in outcome.checks] == [
        *(Asked.LIST, Asked.GET, Asked.EXPLORE),
        *[Asked.FETCH] * 3,
        Asked.RECALL,
    ]
    assert [check.questions for check in outcome.checks] == [1, 7, 14, 7, 7, 7, 5]


async def test_the_steps_tell_of_counting_removing_and_asking_again(journal: Journal) -> None:
    steps = await steps_of(await counted(await acme(130), TEAM, Action.FORGET, journal))
    phases = list(dict.fromkeys(step.phase for step in steps))
    assert phases == [Phase.COUNTING, Phase.REMOVING, Phase.CHECKING, Phase.DONE]
    assert [step.done for step in steps if step.phase is Phase.REMOVING] == [0, 100, 130]
    checking = [step for step in steps if step.phase is Phase.CHECKING]
    assert [step.done for step in checking] == list(range(len(checking)))
    assert {step.total for step in checking} == {len(checking)}


@pytest.mark.parametrize(
    "said", [Answers(), Answers(typed="team:acm"), Answers(typed="team:acme"), Answers(typed="team:acme\u200b")]
)
async def test_the_service_itself_refuses_what_is_not_confirmed(said: Answers, journal: Journal) -> None:
    engine = await acme(7)  # more than half of all, so that the name alone is not enough
    removal = await counted(engine, TEAM, Action.ERASE, journal)
    with pytest.raises(InvalidRequest, match="not confirmed"):
        await anext(removal.run(said))
    assert len(engine) == 8
    assert not journal.folder.exists()


async def test_nothing_runs_that_was_not_counted_to_its_end(journal: Journal) -> None:
    engine = await acme(3)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    async with contextlib.aclosing(removal.count()) as counting:
        await anext(counting)
    with pytest.raises(InvalidRequest, match="counted to its end"):
        await anext(removal.run(Answers("team:acme", large=True)))
    assert len(engine) == 4


async def test_nothing_to_remove_is_never_done(journal: Journal) -> None:
    removal = await counted(await acme(1), Target.at(Namespace.parse("team:other")), Action.ERASE, journal)
    with pytest.raises(InvalidRequest, match="nothing to remove"):
        await anext(removal.run(yes(removal)))


# --- A1, A2, A3: engines that page, and that forget less than they say


async def test_a1_what_was_answered_as_gone_and_is_there_is_told_as_left(journal: Journal) -> None:
    engine = await acme(148)
    engine.page_size = engine.most_forgotten = 50
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, len(outcome.failed)) == (98, 50)  # 50 of the first 100, 48 of the other 48
    assert sorted(outcome.left) == sorted(await ids_of(engine, TEAM.filter))
    assert not outcome.is_clean
    assert (check_of(outcome, Asked.LIST).found, check_of(outcome, Asked.GET).found) == (50, 50)
    assert check_of(outcome, Asked.EXPLORE).found == 50
    again = await forgotten(engine, Target.of_ids(outcome.left), journal)  # Continue
    assert (again.removed, again.is_clean) == (50, True)


async def test_a2_a_listing_that_is_the_same_until_something_goes_comes_to_an_end(journal: Journal) -> None:
    engine = await acme(30)
    cursors = iter(range(1_000_000))
    first = (await ReferenceEngine.list(engine, ListRequest(filter=TEAM.filter or MetaFilter(), limit=10))).items
    engine.listing = lambda req: ListPage(items=first, next_cursor=str(next(cursors)))
    with pytest.raises(EngineFailure, match="repeats the same items"):
        await counted(engine, TEAM, Action.FORGET, journal)
    assert not engine.requests("forget")


async def test_a3_a_listing_that_shifts_while_it_is_removed_from_loses_nothing(journal: Journal) -> None:
    engine = await acme(25)
    engine.page_size = 10
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, outcome.is_clean) == (25, True)
    assert await ids_of(engine, TEAM.filter) == []


# --- A12 to A15: some of them fail, or are gone


async def test_a12_those_that_fail_are_kept_with_their_reasons_and_can_be_tried_again(journal: Journal) -> None:
    engine = await acme(10)
    ids = await ids_of(engine, TEAM.filter)
    for id in ids[:4]:
        engine.fail("forget", EngineFailure(f"no {id[:6]}"), with_id(id))
    outcome = await forgotten(engine, Target.of_ids(ids), journal)
    assert (outcome.removed, outcome.left) == (6, ids[:4])
    assert outcome.failed == {id: f"no {id[:6]}" for id in ids[:4]}
    assert [line["id"] for line in named(outcome.receipt, "failed")] == ids[:4]
    assert not outcome.is_clean
    assert all(check.is_clean for check in outcome.checks)  # of those that went nothing is left
    engine.mend()
    again = await forgotten(engine, Target.of_ids(outcome.left), journal)
    assert (again.planned, again.removed, again.is_clean) == (4, 4, True)


@pytest.mark.parametrize("error", [InvalidRequest("third"), EngineFailure("third"), Conflict("third")], ids=repr)
async def test_a13_the_third_of_ten_fails_and_the_rest_goes(error: TinyMemoryError, journal: Journal) -> None:
    engine = await acme(10)
    third = (await ids_of(engine, TEAM.filter))[2]
    engine.fail("forget", error, with_id(third))
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, outcome.failed, outcome.not_tried, outcome.stopped) == (9, {third: "third"}, [], None)
    assert await ids_of(engine, TEAM.filter) == [third]


@pytest.mark.parametrize("error", [Unauthorized("key rejected"), ConfigError("no key")], ids=repr)
async def test_a13_a_refused_key_stops_at_once(error: TinyMemoryError, journal: Journal) -> None:
    engine = await acme(300)
    ids = await ids_of(engine, TEAM.filter)
    engine.fail("forget", error, with_id(ids[150]))
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, outcome.stopped, outcome.not_tried) == (100, error.text, ids[100:])
    assert len(engine.requests("forget")) == 2
    assert named(outcome.receipt, "stopped")[0]["why"] == error.text


async def test_ids_that_all_fail_are_given_up(journal: Journal) -> None:
    engine = await acme(200)
    engine.fail("forget", EngineFailure("never"))
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, len(outcome.failed), len(outcome.not_tried)) == (0, 50, 150)
    assert outcome.stopped == "never"
    assert outcome.checks == []  # nothing went, so there is nothing to ask for


async def test_a14_a_stale_id_keeps_no_other_of_its_batch_back(journal: Journal) -> None:
    engine = await acme(100)
    stale = (await ids_of(engine, TEAM.filter))[37]

    def another_client(target: ForgetTarget) -> bool:
        engine._drop([stale] if stale in engine._held else [])
        return stale in (target.ids or [])

    engine.fail("forget", NotFound("no such id"), another_client)
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, outcome.already_gone, outcome.failed) == (99, 1, {})
    assert outcome.is_clean


async def test_a15_what_another_client_removed_meanwhile_is_neutral(journal: Journal) -> None:
    engine = await acme(150)
    ids = await ids_of(engine, TEAM.filter)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    others = iter([ids[120:123]])

    def another_client(step: Step) -> None:
        if step.phase is Phase.REMOVING:
            engine._drop(next(others, []))

    outcome = await done(removal, another_client)
    assert (outcome.removed, outcome.already_gone, outcome.left) == (147, 3, [])
    assert outcome.is_clean


async def test_a15_an_id_that_is_gone_already_is_told_by_the_preview(journal: Journal) -> None:
    engine = await acme(3)
    ids = await ids_of(engine, TEAM.filter)
    await engine.forget(ForgetTarget(ids=ids[:1]))
    removal = await counted(engine, Target.of_ids(ids), Action.FORGET, journal)
    assert removal.preview is not None
    assert (removal.preview.gone, list(removal.preview.ids)) == (ids[:1], ids[1:])


# --- A19, A21: counting


async def test_a19_the_oldest_of_more_than_any_scan_reads_is_found(journal: Journal) -> None:
    engine = await acme(1)
    (hit,) = await held(engine, TEAM.filter)
    hits = [hit.model_copy(update={"id": f"{n:040x}"}) for n in range(6_000)]

    def listing(req: ListRequest) -> ListPage:
        start = int(req.cursor or 0)
        stop = start + req.limit
        return ListPage(items=hits[start:stop], next_cursor=str(stop) if stop < len(hits) else None)

    engine.listing = listing
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    assert removal.preview is not None
    assert list(removal.preview.ids) == [hit.id for hit in hits]


async def test_a19_what_is_more_than_half_of_all_has_to_be_confirmed_as_that(journal: Journal) -> None:
    engine = await filled((learning(f"a {n}", "user:ann", tags=["a"] if n < 11 else []) for n in range(20)), Words())
    removal = await counted(engine, Target.of_filter(MetaFilter(tags_any=["a"])), Action.FORGET, journal)
    with pytest.raises(InvalidRequest, match="not confirmed"):
        await anext(removal.run(Answers()))
    assert ((await done(removal)).removed, len(engine)) == (11, 9)


@pytest.mark.parametrize("action", Action)
async def test_a21_a_number_that_moved_stops_it_and_is_shown(action: Action, journal: Journal) -> None:
    engine = await acme(12)
    removal = await counted(engine, TEAM, action, journal)
    await filled((learning(f"later {n}", "team:acme") for n in range(500)), engine)
    last = (await steps_of(removal))[-1]
    assert last.phase is Phase.MOVED
    assert last.now is not None
    assert last.moved is not None
    assert (last.now.total, len(last.moved.new), last.moved.gone) == (512, 500, ())
    assert len(engine) == 513
    assert not journal.folder.exists()
    outcome = await done(removal)  # confirmed again, with the new number
    assert (outcome.planned, outcome.removed, outcome.is_clean) == (512, 512, True)


async def test_a21_other_items_in_the_same_number_are_a_move_too(journal: Journal) -> None:
    engine = await acme(12)
    ids = await ids_of(engine, TEAM.filter)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    await engine.forget(ForgetTarget(ids=ids[:1]))
    new = (await engine.store(learning("another", "team:acme"))).id
    last = (await steps_of(removal))[-1]
    assert last.moved is not None
    assert (last.phase, last.moved.new, last.moved.gone) == (Phase.MOVED, (new,), (ids[0],))


async def test_a21_items_named_that_vanished_are_a_move_too(journal: Journal) -> None:
    engine = await acme(12)
    ids = await ids_of(engine, TEAM.filter)
    removal = await counted(engine, Target.of_ids(ids[:3]), Action.FORGET, journal)
    await engine.forget(ForgetTarget(ids=ids[:1]))
    last = (await steps_of(removal))[-1]
    assert last.moved is not None
    assert (last.phase, last.moved.gone) == (Phase.MOVED, (ids[0],))


async def test_a21_the_same_items_that_are_most_of_all_by_now_need_more_said(journal: Journal) -> None:
    engine = await acme(4)
    await filled((learning(f"beside {n}", "user:ann") for n in range(10)), engine)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    assert removal.confirmation is not None
    assert not removal.confirmation.large
    await engine.forget(ForgetTarget(filter=MetaFilter(reach=Target.at(Namespace.parse("user:ann")).filter.reach)))  # type: ignore[union-attr]
    last = (await steps_of(removal))[-1]
    assert (last.phase, len(engine)) == (Phase.MOVED, 4)
    assert (await done(removal)).removed == 4


async def test_a21_a_sandbox_that_came_since_is_no_part_of_an_erase_unseen(journal: Journal) -> None:
    engine = await acme(3)
    removal = await counted(engine, Target.below(Namespace.ROOT), Action.ERASE, journal)
    await engine.store(learning("secret", "service:mail"))
    last = (await steps_of(removal))[-1]
    assert last.moved is not None
    assert (last.phase, len(last.moved.new), len(engine)) == (Phase.MOVED, 1, 5)
    assert (await done(removal)).is_clean
    assert len(engine) == 0


async def test_a21_an_export_of_other_items_is_no_way_back(journal: Journal, tmp_path: Path) -> None:
    engine = await acme(3)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    async with contextlib.aclosing(removal.export_first(tmp_path / "before.jsonl")) as export:
        assert [step async for step in export][-1].done is not None
    await shown(removal)
    assert removal.way_back is not None  # counted anew, and the same
    await engine.store(learning("another", "team:acme"))
    assert (await steps_of(removal))[-1].phase is Phase.MOVED
    assert removal.way_back is None
    assert named((await done(removal)).receipt, "begin")[0].get("way_back") is None


# --- C1, C2, C3: cursors


@pytest.mark.parametrize("items", [0, 2])
async def test_c1_a_repeated_cursor_cannot_be_confirmed(items: int, journal: Journal) -> None:
    engine = await acme(4)
    some = (await held(engine))[:items]
    engine.listing = lambda req: ListPage(items=some, next_cursor="repeat")
    with pytest.raises(EngineFailure, match=f"repeated a cursor after {items} items"):
        await counted(engine, TEAM, Action.FORGET, journal)


async def test_c2_empty_pages_are_followed_but_not_without_end(journal: Journal) -> None:
    engine = await acme(4)
    cursors = iter(range(1_000_000))

    def after_twenty(req: ListRequest) -> ListPage:
        at = next(cursors)
        if at < 20:
            return ListPage(items=[], next_cursor="" if at == 0 else f"p{at}")
        return ListPage(items=some if at == 20 else [], next_cursor=None)

    some = await held(engine, TEAM.filter)
    engine.listing = after_twenty
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    assert removal.preview is not None
    assert removal.preview.total == 4
    engine.listing = lambda req: ListPage(items=[], next_cursor=f"p{next(cursors)}")
    with pytest.raises(EngineFailure, match="empty pages"):
        await shown(removal)
    assert removal.preview is None


# --- C6: busy engines


async def test_c6_a_busy_engine_is_waited_for_as_it_tells(journal: Journal) -> None:
    engine = await acme(150)
    ids = await ids_of(engine, TEAM.filter)
    engine.fail("forget", Unavailable("429: slow down", retry_after_s=7), with_id(ids[120]), times=1)
    engine.fail("forget", Unavailable("503: down"), with_id(ids[120]), times=1)
    waits = Waits()
    steps = await steps_of(await counted(engine, TEAM, Action.FORGET, journal, waits))
    outcome = steps[-1].outcome
    assert outcome is not None
    assert (outcome.removed, outcome.already_gone, outcome.is_clean) == (150, 0, True)
    assert (outcome.waited_s, waits.total_s) == (9, 9)  # 7 as told, then 2: it is the second in a row
    assert {step.waiting for step in steps if step.waiting} == {"429: slow down", "503: down"}
    assert [target.ids for target in engine.requests("forget")] == [ids[:100], ids[100:], ids[100:], ids[100:]]
    assert [(line["seconds"], line["why"]) for line in named(outcome.receipt, "waited")] == [
        (7, "429: slow down"),
        (2, "503: down"),
    ]


async def test_c6_what_was_done_though_the_connection_dropped_is_not_a_failure(journal: Journal) -> None:
    engine = Dropping()
    await acme(150, engine)
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, outcome.already_gone, outcome.left) == (100, 50, [])
    assert outcome.is_clean


async def test_c6_an_engine_that_stays_away_is_given_up_after_five_minutes(journal: Journal) -> None:
    engine = await acme(150)
    ids = await ids_of(engine, TEAM.filter)
    engine.fail("forget", Unavailable("gone fishing"), with_id(ids[120]))
    waits = Waits()
    outcome = await forgotten(engine, TEAM, journal, waits)
    assert waits.total_s == 271  # 1, 2, 4, 8, 16, and 8 times 30; a ninth would be more than 300 in all
    assert (outcome.removed, outcome.stopped, outcome.not_tried) == (100, "gone fishing", ids[100:])


async def test_c6_a_wait_that_is_too_long_is_not_begun(journal: Journal) -> None:
    engine = await acme(150)
    ids = await ids_of(engine, TEAM.filter)
    engine.fail("forget", Unavailable("tomorrow", retry_after_s=86_400), with_id(ids[120]))
    waits = Waits()
    outcome = await forgotten(engine, TEAM, journal, waits)
    assert (waits.total_s, outcome.removed, outcome.stopped) == (0, 100, "tomorrow")


async def test_c6_a_stop_ends_the_wait(journal: Journal) -> None:
    engine = await acme(150)
    ids = await ids_of(engine, TEAM.filter)
    engine.fail("forget", Unavailable("busy", retry_after_s=60), with_id(ids[120]))
    waits = Waits()
    removal = await counted(engine, TEAM, Action.FORGET, journal, waits)
    outcome = await done(removal, lambda step: removal.stop() if step.waiting else None)
    assert waits.total_s <= 1
    assert (outcome.removed, outcome.not_tried, outcome.unanswered) == (100, ids[100:], [])
    assert outcome.stopped == "it was stopped here"


async def test_c6_an_engine_that_goes_down_with_the_last_batch_leaves_it_unanswered(journal: Journal) -> None:
    engine = await acme(120)
    ids = await ids_of(engine, TEAM.filter)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    for call in ("get", "forget", "fetch", "recall", "explore_many", "list_preview"):
        engine.fail(call, Unavailable("down"), lambda req: len(engine) == 21)
    outcome = await done(removal)
    assert (outcome.removed, outcome.unanswered, outcome.stopped) == (100, ids[100:], "down")
    assert {check.error for check in outcome.checks} == {"down"}
    assert not outcome.is_clean


# --- C7, C9: refusals before anything went


async def test_c7_a_refused_key_is_raised_where_nothing_went(journal: Journal) -> None:
    engine = await acme(10)
    engine.fail("forget", Unauthorized("key rejected"))
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    with pytest.raises(Unauthorized, match="key rejected"):
        await steps_of(removal)
    (receipt,) = journal.folder.glob("*.jsonl")
    assert [line["line"] for line in lines_of(receipt)] == ["begin", "planned", "asked", "stopped", "end"]
    assert (len(engine), len(engine.requests("forget"))) == (11, 1)


@pytest.mark.parametrize("action", Action)
async def test_c9_what_is_not_offered_is_never_done(action: Action, journal: Journal) -> None:
    engine = await acme(10)
    engine.fail(action.value, Unsupported(f"engine does not {action}"))
    removal = await counted(engine, TEAM, action, journal)
    with pytest.raises(Unsupported):
        await steps_of(removal)
    (receipt,) = journal.folder.glob("*.jsonl")
    end = named(receipt, "end")[0]
    assert (end["removed"], end["not_tried"], end["stopped"]) == (0, 10, f"engine does not {action}")
    assert len(engine) == 11


async def test_c9_forget_with_its_own_preview_goes_where_erase_is_refused(journal: Journal) -> None:
    engine = await acme(10)
    engine.fail("erase", Unsupported("engine does not erase"))
    with pytest.raises(Unsupported):
        await erased(engine, TEAM, journal)
    assert (await forgotten(engine, TEAM, journal)).removed == 10


async def test_an_engine_that_cannot_list_its_scopes_erases_nothing(journal: Journal) -> None:
    engine = await acme(10)
    engine.fail("erase", EngineFailure("the scopes could not be listed to the end; nothing was erased"))
    removal = await counted(engine, BIG, Action.ERASE, journal)
    with pytest.raises(EngineFailure, match="scopes"):
        await steps_of(removal)
    assert len(engine) == 11


# --- erase


async def test_an_erase_that_drops_halfway_tells_what_is_left(journal: Journal) -> None:
    engine = HalfErasing()
    await acme(10, engine)
    outcome = await erased(engine, TEAM, journal)
    assert (outcome.removed, len(outcome.failed), outcome.stopped) == (5, 5, "the connection broke")
    assert sorted(outcome.left) == sorted(await ids_of(engine, TEAM.filter))
    assert check_of(outcome, Asked.LIST).is_clean  # of what went
    assert not outcome.is_clean


async def test_a_busy_engine_is_asked_to_erase_once_more(journal: Journal) -> None:
    engine = await acme(10)
    engine.fail("erase", Unavailable("429", retry_after_s=3), times=1)
    waits = Waits()
    outcome = await erased(engine, TEAM, journal, waits)
    assert (outcome.removed, outcome.waited_s, waits.total_s, outcome.is_clean) == (10, 3, 3, True)
    assert (outcome.erased_scopes, outcome.receipts) == (1, [])
    assert len(named(outcome.receipt, "erase_asked")) == 2


async def test_an_erase_is_not_asked_once_more_for_items_that_nobody_confirmed(journal: Journal) -> None:
    engine = await acme(10)
    engine.fail("erase", Unavailable("429"), times=1)
    removal = await counted(engine, TEAM, Action.ERASE, journal)
    new = learning("another", "team:acme")
    steps = steps_of(removal, lambda step: engine._keep(new) and None if step.waiting else None)
    outcome = (await steps)[-1].outcome
    assert outcome is not None
    assert (outcome.removed, len(outcome.not_tried), len(engine)) == (0, 10, 12)
    assert outcome.stopped == "more items came while the engine did not answer"


@pytest.mark.parametrize("keeps_texts", [False, True])
async def test_an_erase_takes_nothing_that_came_after_it_was_compared(keeps_texts: bool, journal: Journal) -> None:
    engine = await acme(10)
    removal = await counted(engine, TEAM, Action.ERASE, journal)
    removal.keeps_texts = keeps_texts
    new = [learning("another", "team:acme")]

    def someone_stores(step: Step) -> None:  # the receipt is begun by now
        if step.phase is Phase.REMOVING and new:
            engine._keep(new.pop())

    outcome = await done(removal, someone_stores)
    assert (outcome.removed, len(outcome.not_tried), len(engine)) == (0, 10, 12)
    assert outcome.stopped == "more items came after it was confirmed"
    assert not engine.requests("erase")
    assert named(outcome.receipt, "end")[0]["not_tried"] == 10


async def test_what_went_before_an_erase_is_asked_for_was_gone_already(journal: Journal) -> None:
    engine = await acme(10)
    going = [(await ids_of(engine, TEAM.filter))[:3]]
    removal = await counted(engine, TEAM, Action.ERASE, journal)
    outcome = await done(removal, lambda step: engine._drop(going.pop() if going and step.outcome else []))
    assert (outcome.removed, outcome.already_gone, outcome.is_clean) == (7, 3, True)


@pytest.mark.parametrize("action", Action)
async def test_more_that_is_gone_than_was_to_go_is_told_and_never_clean(action: Action, journal: Journal) -> None:
    engine = await acme(10)
    removal = await counted(engine, TEAM, action, journal)
    (beside,) = set(await ids_of(engine)) - set(await ids_of(engine, TEAM.filter))
    one = [beside]

    def takes_another(step: Step) -> None:
        if step.phase is Phase.CHECKING and one:
            engine._drop([one.pop()])

    outcome = await done(removal, takes_another)
    assert (outcome.removed, outcome.left, outcome.gone_besides, outcome.is_clean) == (10, [], 1, False)
    assert all(check.is_clean for check in outcome.checks)
    assert outcome.receipt is not None
    receipt = Receipt.read(outcome.receipt)
    assert not receipt.is_clean
    assert verdict(receipt)[0] == "1 more item is gone than this removed: by another program, or by the engine."


@pytest.mark.parametrize("action", Action)
async def test_a_refusal_after_an_answer_that_was_lost_says_nothing_of_what_went(
    action: Action, journal: Journal
) -> None:
    engine = await acme(10)
    ids = await ids_of(engine, TEAM.filter)
    parts = iter([ids[:5]])

    def is_done_in_part(_: Any) -> bool:
        part = next(parts, [])
        engine._drop(part)
        return bool(part)

    removal = await counted(engine, TEAM, action, journal)
    engine.fail(action.value, Unavailable("cut"), is_done_in_part)
    engine.fail(action.value, Unauthorized("refused"))
    outcome = await done(removal)
    assert (outcome.removed, outcome.left, outcome.stopped) == (5, ids[5:], "refused")


@pytest.mark.parametrize("error", [Unauthorized("refused"), ConfigError("no key"), Unsupported("no erase")], ids=repr)
async def test_an_erase_that_is_refused_was_answered(error: TinyMemoryError, journal: Journal) -> None:
    engine = await acme(10)
    engine.fail("erase", error)
    removal = await counted(engine, TEAM, Action.ERASE, journal)
    with pytest.raises(type(error)):
        await steps_of(removal)
    (receipt,) = journal.folder.glob("*.jsonl")
    end = named(receipt, "end")[0]
    assert (end["unanswered"], end["not_tried"], end["stopped"]) == (0, 10, error.text)
    assert len(engine.requests("get")) == 0  # nothing has to be found out


async def test_an_engine_that_does_no_more_than_it_must(journal: Journal) -> None:
    engine = PlainEngine(page_size=7)
    for n in range(30):
        await engine.store(learning(f"number {n}", "team:acme" if n < 20 else "user:ann"))
    with pytest.raises(Unsupported):
        await erased(engine, TEAM, journal)
    assert len(engine.inner) == 30
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, outcome.is_clean, outcome.stored_after) == (20, True, 10)
    named_ones = await forgotten(engine, Target.of_ids((await ids_of(engine))[:3]), journal)
    assert (named_ones.removed, named_ones.is_clean, len(engine.inner)) == (3, True, 7)
    assert all(target.filter is None for target in engine.forgotten)


async def test_a_file_that_another_program_writes_to_is_counted_again(journal: Journal, tmp_path: Path) -> None:
    here, there = (SqliteEngine(tmp_path / "memory.db", embedder=None) for _ in range(2))
    try:
        await here.store_many([learning(f"number {n}", "team:acme") for n in range(20)])
        removal = await counted(here, TEAM, Action.ERASE, journal)
        await there.store(learning("later", "team:acme"))
        last = (await steps_of(removal))[-1]
        assert last.moved is not None
        assert (last.phase, len(last.moved.new), len(await held(there))) == (Phase.MOVED, 1, 21)
        outcome = await done(removal)
        assert (outcome.removed, outcome.is_clean, outcome.erased_scopes) == (21, True, 1)
        assert await held(there) == []
    finally:
        await here.aclose()
        await there.aclose()


# --- pause, stop, leave


async def test_it_pauses_between_batches_and_goes_on(journal: Journal, until: Until) -> None:
    engine = await acme(350)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    seen: list[Step] = []

    def pause_once(step: Step) -> None:
        seen.append(step)
        if step.phase is Phase.REMOVING and step.done == 100:
            removal.pause()

    running = asyncio.create_task(done(removal, pause_once))
    await until(lambda: seen and seen[-1].waiting == "paused")
    await asyncio.sleep(0)
    assert len(engine) == 251
    removal.resume()
    outcome = await running
    assert (outcome.removed, outcome.is_clean) == (350, True)
    assert [line["line"] for line in lines_of(outcome.receipt) if line["line"] in ("paused", "resumed")] == [
        "paused",
        "resumed",
    ]


async def test_an_erase_that_was_paused_while_it_was_counted_once_more_is_not_asked_for(
    journal: Journal, until: Until
) -> None:
    engine = await acme(3)
    removal = await counted(engine, TEAM, Action.ERASE, journal)
    seen: list[Step] = []

    def pause(step: Step) -> None:
        seen.append(step)
        if step.phase is Phase.COUNTING:
            removal.pause()

    running = asyncio.create_task(done(removal, pause))
    await until(lambda: seen and seen[-1].waiting == "paused")
    assert seen[-1].phase is Phase.COUNTING, "there it can be resumed"
    assert (engine.requests("erase"), journal.entries()) == ([], [])
    removal.resume()
    assert (await running).is_clean


@pytest.mark.parametrize("paused", [False, True])
async def test_a_stop_leaves_the_rest_and_asks_for_what_went(paused: bool, journal: Journal, until: Until) -> None:
    engine = await acme(350)
    ids = await ids_of(engine, TEAM.filter)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    seen: list[Step] = []

    def act(step: Step) -> None:
        seen.append(step)
        if step.phase is Phase.REMOVING and step.done == 100 and step.waiting is None:
            (removal.pause if paused else removal.stop)()

    running = asyncio.create_task(done(removal, act))
    if paused:
        await until(lambda: seen and seen[-1].waiting == "paused")
        removal.stop()
    outcome = await running
    assert (outcome.removed, outcome.not_tried, outcome.stopped) == (100, ids[100:], "it was stopped here")
    assert all(check.is_clean for check in outcome.checks)
    assert check_of(outcome, Asked.GET).questions == 100
    assert check_of(outcome, Asked.FETCH).questions >= 10  # some of the first are always kept to ask with
    assert not outcome.is_clean
    assert await ids_of(engine, TEAM.filter) == ids[100:]


@pytest.mark.parametrize("action", Action)
async def test_a_stop_before_anything_is_asked_for_removes_nothing(action: Action, journal: Journal) -> None:
    engine = await acme(10)
    removal = await counted(engine, TEAM, action, journal)
    outcome = await done(removal, lambda step: removal.stop())
    assert (outcome.removed, len(outcome.not_tried), len(engine)) == (0, 10, 11)


@pytest.mark.parametrize("action", Action)
async def test_cancelled_in_the_midst_of_a_call_the_receipt_says_what_was_not_answered(
    action: Action, journal: Journal, until: Until
) -> None:
    engine = await acme(10)
    ids = await ids_of(engine, TEAM.filter)
    gate = engine.hold(action.value)
    removal = await counted(engine, TEAM, action, journal)
    running = asyncio.create_task(steps_of(removal))
    await until(lambda: gate.waiting)
    running.cancel()
    with pytest.raises(asyncio.CancelledError):
        await running
    (receipt,) = journal.folder.glob("*.jsonl")
    lines = lines_of(receipt)
    asked = {Action.FORGET: "asked", Action.ERASE: "erase_asked"}[action]
    assert [line["line"] for line in lines] == ["begin", "planned", asked, "stopped", "end"]
    assert (lines[-1]["unanswered"], lines[-1]["removed"], lines[-1]["not_tried"]) == (10, 0, 0)
    if action is Action.FORGET:
        assert lines[1]["ids"] == ids


async def test_left_between_two_batches_the_receipt_ends_with_what_went(journal: Journal) -> None:
    engine = await acme(350)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    async with contextlib.aclosing(removal.run(yes(removal))) as run:
        async for step in run:
            if step.done == 100 and step.phase is Phase.REMOVING:
                break
    (receipt,) = journal.folder.glob("*.jsonl")
    end = named(receipt, "end")[0]
    assert (end["removed"], end["not_tried"], end["unanswered"]) == (100, 250, 0)
    assert end["stopped"] == "it was left before its end"
    assert len(engine) == 251


async def test_an_error_that_no_engine_should_raise_is_told_and_what_went_is_found_out(journal: Journal) -> None:
    engine = await acme(150)
    ids = await ids_of(engine, TEAM.filter)
    engine.fail("forget", ConnectionResetError("secret"), with_id(ids[120]))
    outcome = await forgotten(engine, TEAM, journal)
    assert outcome.stopped == "an error that was not expected: ConnectionResetError"
    assert (outcome.removed, outcome.not_tried) == (100, ids[100:])


@pytest.mark.parametrize("action", Action)
async def test_what_was_done_though_the_engine_broke_is_found_out_and_asked_for(
    action: Action, journal: Journal
) -> None:
    outcome = await done(await counted(await acme(10, Breaking()), TEAM, action, journal))
    assert outcome.stopped == "an error that was not expected: ConnectionResetError"
    assert (outcome.removed, outcome.left, outcome.stored_after) == (10, [], 1)
    assert check_of(outcome, Asked.GET).questions == 10


async def test_a_receipt_that_cannot_be_written_ends_it(journal: Journal, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = await acme(350)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    note = ReceiptWriter.note
    asked = []

    def full(writer: ReceiptWriter, line: str, **facts: object) -> None:
        asked.append(line)
        if asked.count("asked") > 1:
            raise FileError("the disk is full")
        note(writer, line, **facts)

    monkeypatch.setattr(ReceiptWriter, "note", full)
    outcome = await done(removal)
    assert (outcome.removed, len(outcome.not_tried), outcome.stopped) == (100, 250, "the disk is full")
    assert len(engine) == 251


async def test_a_receipt_that_cannot_be_begun_removes_nothing(journal: Journal) -> None:
    engine = await acme(10)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    journal.folder.write_text("no folder")
    with pytest.raises(FileError):
        await steps_of(removal)
    assert len(engine) == 11


async def test_a_receipt_that_cannot_be_ended_is_told_with_what_went(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    def full(writer: ReceiptWriter, **facts: object) -> None:
        raise FileError("the disk is full")

    removal = await counted(await acme(10), TEAM, Action.FORGET, journal)
    monkeypatch.setattr(ReceiptWriter, "close", full)
    outcome = await done(removal)
    assert (outcome.removed, outcome.stopped) == (10, "the disk is full")


async def test_cancelled_while_the_receipt_is_begun_nothing_is_left_of_it(
    journal: Journal, monkeypatch: pytest.MonkeyPatch, until: Until
) -> None:
    engine = await acme(10)
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    start = Journal.start
    begun, may_go_on = threading.Event(), threading.Event()

    def slowly(self: Journal, *args: Any, **facts: Any) -> ReceiptWriter:
        begun.set()
        may_go_on.wait(5)
        return start(self, *args, **facts)

    monkeypatch.setattr(Journal, "start", slowly)
    running = asyncio.create_task(steps_of(removal))
    await until(begun.is_set)
    running.cancel()
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    assert (list(journal.folder.iterdir()), len(engine)) == ([], 11)


@pytest.mark.parametrize("keeps_texts", [False, True])
async def test_texts_are_on_the_receipt_only_where_they_are_asked_for(keeps_texts: bool, journal: Journal) -> None:
    engine = await acme(2)
    await engine.store(learning("sandboxed", "team:acme/service:bot"))
    ids = [*await ids_of(engine), *await ids_of(engine, BOT)]
    removal = await counted(engine, Target.of_ids(ids), Action.FORGET, journal)
    removal.keeps_texts = keeps_texts
    outcome = await done(removal)
    texts = {line["id"]: line["text"] for line in named(outcome.receipt, "text")}
    said = ["number 0 of the team", "number 1 of the team", "stays", "sandboxed"]
    assert texts == (dict(zip(ids, said, strict=True)) if keeps_texts else {})
    assert (outcome.removed, len(engine)) == (4, 0)


async def test_a_busy_engine_is_waited_for_while_the_texts_are_kept(journal: Journal) -> None:
    engine = await acme(3)
    engine.fail("get", Unavailable("503", retry_after_s=4), times=1)
    waits = Waits()
    removal = await counted(engine, TEAM, Action.ERASE, journal, waits)
    removal.keeps_texts = True
    outcome = await done(removal)
    assert (outcome.removed, outcome.is_clean, waits.total_s, outcome.waited_s) == (3, True, 4, 4)
    assert len(named(outcome.receipt, "text")) == 3


@pytest.mark.parametrize("action", Action)
@pytest.mark.parametrize("is_paused", [False, True])
async def test_a_stop_while_the_texts_are_kept_removes_nothing(
    action: Action, is_paused: bool, journal: Journal, until: Until
) -> None:
    engine = await acme(450)
    removal = await counted(engine, TEAM, action, journal)
    removal.keeps_texts = True
    said: list[str] = []

    def act(step: Step) -> None:
        if step.waiting is not None:
            said.append(step.waiting)
            if len(said) == 2:
                (removal.pause if is_paused else removal.stop)()

    running = asyncio.create_task(done(removal, act))
    if is_paused:
        await until(lambda: "paused" in said)
        removal.stop()
    outcome = await running
    assert (outcome.removed, len(outcome.not_tried), outcome.stopped) == (0, 450, "it was stopped here")
    assert len(named(outcome.receipt, "text")) == 200
    assert len(engine) == 451


async def test_what_an_engine_says_of_a_removal_is_on_the_receipt(journal: Journal) -> None:
    engine = await acme(3)
    engine.state = EngineHealth.degraded("the removal is not finished: its log still holds traces")
    outcome = await forgotten(engine, TEAM, journal)
    assert [line["words"] for line in named(outcome.receipt, "remains")] == [[engine.state.reason]]


# --- batches


async def test_batches_grow_while_they_are_quick_and_shrink_when_they_are_slow(journal: Journal) -> None:
    engine = Taking(await_s=[0.1, 0.1, 6.0, 2.0, 6.0, 0.1])
    await acme(1_300, engine)
    waits = engine.waits
    outcome = await forgotten(engine, TEAM, journal, waits)
    assert [len(target.ids) for target in engine.requests("forget")] == [100, 200, 400, 200, 200, 100, 100]
    assert (outcome.removed, outcome.is_clean) == (1_300, True)


class Dropping(Words):
    """Does the second batch of a forget, and drops the connection before it says so."""

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        report = await super().forget(target)
        if len(self.requests("forget")) == 2:
            raise Unavailable("the connection broke")
        return report


class Breaking(Words):
    """Does what it is told, and breaks before it says so."""

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        await super().forget(target)
        raise ConnectionResetError("secret")

    async def erase(self, req: EraseRequest) -> EraseReport:
        await super().erase(req)
        raise ConnectionResetError("secret")


class HalfErasing(Words):
    """Erases half of what it is told to, then drops the connection."""

    async def erase(self, req: EraseRequest) -> EraseReport:
        gone = [held.id for held in self._held.values() if req.admits(held.item.item_kind, held.item.meta)]
        self._drop(gone[: len(gone) // 2])
        raise EngineFailure("the connection broke")


class Taking(Words):
    """Takes so long for each forget, by a clock of its own."""

    def __init__(self, await_s: list[float]) -> None:
        super().__init__()
        self.waits = Waits()
        self._takes = iter(await_s)

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        self.waits.now_s += next(self._takes, 0.0)
        return await super().forget(target)
