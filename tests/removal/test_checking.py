"""What went, asked for again: every way in which it may still answer is told, and no question that failed is clean."""

from __future__ import annotations

import contextlib
from pathlib import Path

import pytest

from explorer.contract import (
    EngineFailure,
    Facet,
    FetchMode,
    FetchRequest,
    GetRequest,
    Hit,
    ListPage,
    Namespace,
    RecallAnswer,
    RecallRequest,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.removal.checking import shares
from explorer.removal.journal import Journal
from explorer.removal.outcome import Asked, Outcome, Phase
from explorer.removal.page import verdict
from explorer.removal.plan import Action, Target
from explorer.removal.receipts import Receipt, ReceiptWriter
from explorer.transfer import FileError
from tests.engines.sqlite.word_vectors import WordVectors
from tests.fakes import FakeEngine, filled, learning, page_of
from tests.removal.made import Waits, check_of, counted, done, forgotten, held, ids_of, named, yes

TEAM = Target.at(Namespace.parse("team:acme"))
SECRET = "the door of the vault behind the kitchen opens with the number 4711 and a turn to the left"


async def one(text: str = SECRET, at: str = "team:acme") -> tuple[FakeEngine, Hit]:
    """An engine with one item at a node, and one beside it."""
    engine = await filled([learning(text, at), learning("stays", "user:ann")])
    assert isinstance(engine, FakeEngine)
    (hit,) = await held(engine, TEAM.filter)
    return engine, hit


def unclean(outcome: Outcome) -> list[tuple[Asked, FetchMode | None]]:
    return [(check.asked, check.mode) for check in outcome.checks if not check.is_clean]


async def test_what_fetch_goes_on_finding_is_told_for_each_mode(journal: Journal) -> None:
    engine, hit = await one()
    engine.haunt([hit])
    outcome = await forgotten(engine, TEAM, journal)
    assert unclean(outcome)[:3] == [(Asked.FETCH, mode) for mode in FetchMode]
    check = check_of(outcome, Asked.FETCH)
    assert (check.questions, check.found, check.still) == (1, 1, (hit,))
    assert (outcome.removed, outcome.left, outcome.is_clean) == (1, [], False)
    lines = [line for line in named(outcome.receipt, "checked") if line["asked"] == "fetch"]
    assert [line["mode"] for line in lines] == list(FetchMode)
    assert lines[0]["still"] == [{"id": hit.id, "node": "team:acme"}]
    assert SECRET not in outcome.receipt.read_text("utf-8")  # type: ignore[union-attr]


async def test_a_recall_that_still_says_it_is_told(journal: Journal) -> None:
    engine, hit = await one()
    engine.haunt([hit])
    check = check_of(await forgotten(engine, TEAM, journal), Asked.RECALL)
    assert (check.questions, check.found, check.quoted, check.is_clean) == (1, 0, 1, False)


async def test_another_item_that_quotes_it_is_told(journal: Journal) -> None:
    engine, _ = await one()
    quoting = (await engine.store(learning(f"Ann said:  “{SECRET}”", "user:ann"))).id
    check = check_of(await forgotten(engine, TEAM, journal), Asked.RECALL)
    assert (check.found, check.quoted, [hit.id for hit in check.still]) == (0, 1, [quoting])


async def test_a_pleasantry_in_common_is_no_quote(journal: Journal) -> None:
    engine, _ = await one()
    await engine.store(learning(f"Ann read this out: {SECRET[:50]}, and so on", "user:ann"))
    check = check_of(await forgotten(engine, TEAM, journal), Asked.RECALL)
    assert (check.questions, check.found, check.quoted, check.is_clean) == (1, 0, 0, True)


async def test_an_engine_that_repeats_the_question_quotes_nothing(journal: Journal) -> None:
    class Repeating(FakeEngine):
        async def recall(self, req: RecallRequest) -> RecallAnswer:
            return RecallAnswer(answer=f"Nothing answers “{req.question}”.")

    engine = await filled(
        [learning(SECRET, "team:acme"), learning("the cat sleeps on the roof", "team:acme")], Repeating()
    )
    check = check_of(await forgotten(engine, TEAM, journal), Asked.RECALL)
    assert (check.questions, check.quoted, check.is_clean) == (2, 0, True)


async def test_a_count_that_goes_on_counting_it_is_told(journal: Journal) -> None:
    engine, _ = await one()
    engine.pages[Facet.TAG] = page_of(Facet.TAG, {}, missing=3)
    outcome = await forgotten(engine, TEAM, journal)
    assert unclean(outcome) == [(Asked.EXPLORE, None)]
    assert check_of(outcome, Asked.EXPLORE).found == 3


async def test_a_value_that_goes_on_being_counted_is_told(journal: Journal) -> None:
    engine, _ = await one()
    engine.pages[Facet.AGENT] = page_of(Facet.AGENT, {"ann": 2}, total=0)
    assert check_of(await forgotten(engine, TEAM, journal), Asked.EXPLORE).found == 2


async def test_a_count_of_a_part_says_nothing(journal: Journal) -> None:
    engine, _ = await one()
    engine.pages[Facet.TAG] = page_of(Facet.TAG, {}, truncated=True)
    outcome = await forgotten(engine, TEAM, journal)
    assert unclean(outcome) == [(Asked.EXPLORE, None)]
    check = check_of(outcome, Asked.EXPLORE)
    assert (check.found, check.error) == (0, "the engine counted only a part of what is there")


async def test_a_count_of_a_part_that_still_counts_it_is_told(journal: Journal) -> None:
    engine, _ = await one()
    engine.pages[Facet.TAG] = page_of(Facet.TAG, {}, missing=3, truncated=True)
    check = check_of(await forgotten(engine, TEAM, journal), Asked.EXPLORE)
    assert (check.found, check.error) == (3, None)


async def test_what_a_listing_repeats_hides_nothing_of_what_is_counted(journal: Journal) -> None:
    engine, hit = await one()
    (stays,) = (each for each in await held(engine) if each.id != hit.id)
    engine.listing = lambda req: (
        ListPage(items=[hit])
        if len(engine) == 2
        else ListPage(items=[stays], next_cursor=None if req.cursor else "again")
    )
    engine.pages[Facet.TAG] = page_of(Facet.TAG, {}, missing=2)
    assert check_of(await forgotten(engine, TEAM, journal), Asked.EXPLORE).found == 1


async def test_items_that_came_meanwhile_are_none_of_what_went(journal: Journal) -> None:
    engine, _ = await one()
    new = [learning(f"new {n}", "team:acme") for n in range(2)]

    def someone_adds(req: object) -> bool:
        while new:
            engine._keep(new.pop())  # after the listing, before the counts
        return False

    engine.fail("explore_many", EngineFailure("never"), someone_adds)
    outcome = await forgotten(engine, TEAM, journal)
    assert (unclean(outcome), len(engine), outcome.stored_after) == ([], 3, 3)


@pytest.mark.parametrize("error", [EngineFailure("broken"), Unauthorized("refused"), Unavailable("away")], ids=repr)
@pytest.mark.parametrize(
    ("call", "asked"),
    [
        ("list_preview", [(Asked.LIST, None), (Asked.EXPLORE, None)]),  # counts are compared with what is listed
        ("get", [(Asked.GET, None)]),
        ("explore_many", [(Asked.EXPLORE, None)]),
        ("fetch", [(Asked.FETCH, mode) for mode in FetchMode]),
        ("recall", [(Asked.RECALL, None)]),
    ],
)
async def test_a_question_that_fails_is_never_clean(
    call: str, asked: list[tuple[Asked, FetchMode | None]], error: TinyMemoryError, journal: Journal
) -> None:
    engine, _ = await one()
    engine.fail(call, error, lambda req: len(engine) == 1)
    outcome = await forgotten(engine, TEAM, journal)
    assert unclean(outcome) == asked
    assert {check.error for check in outcome.checks if not check.is_clean} == {error.text}
    assert not outcome.is_clean


async def test_a_busy_engine_is_waited_for_while_it_is_asked(journal: Journal) -> None:
    engine, _ = await one()
    engine.fail("fetch", Unavailable("429", retry_after_s=4), times=1)
    waits = Waits()
    outcome = await forgotten(engine, TEAM, journal, waits)
    assert (waits.total_s, outcome.waited_s, outcome.is_clean) == (4, 4, True)


async def test_a_stop_while_it_is_asked_leaves_the_rest_unknown(journal: Journal) -> None:
    engine, _ = await one()
    engine.fail("fetch", Unavailable("429", retry_after_s=60))
    waits = Waits()
    removal = await counted(engine, TEAM, Action.FORGET, journal, waits)
    outcome = await done(removal, lambda step: removal.stop() if step.waiting else None)
    assert [check.asked for check in outcome.checks if check.is_clean] == [Asked.LIST, Asked.GET, Asked.EXPLORE]
    assert {check.error for check in outcome.checks if not check.is_clean} == {"it was stopped before this was asked"}
    assert (outcome.removed, outcome.stopped, waits.total_s <= 1) == (1, None, True)


async def test_an_error_that_no_engine_should_raise_is_never_clean(journal: Journal) -> None:
    engine, _ = await one()
    engine.fail("recall", ConnectionResetError("secret"))
    outcome = await forgotten(engine, TEAM, journal)
    assert unclean(outcome) == [(Asked.RECALL, None)]
    assert check_of(outcome, Asked.RECALL).error == "an error that was not expected: ConnectionResetError"


async def test_an_engine_without_recall_is_not_said_to_have_been_asked_by_it(journal: Journal) -> None:
    engine, _ = await one()
    engine.fail("recall", Unsupported("no recall"))
    outcome = await forgotten(engine, TEAM, journal)
    assert [check.asked for check in outcome.checks if check.asked is Asked.RECALL] == []
    assert (len(engine.requests("recall")), outcome.is_clean) == (1, True)
    assert [line for line in named(outcome.receipt, "checked") if line["asked"] == "recall"] == []


async def test_a_recall_that_answered_once_has_to_go_on(journal: Journal) -> None:
    engine = await filled(learning(f"{SECRET} {n}", "team:acme") for n in range(2))
    assert isinstance(engine, FakeEngine)
    engine.fail("recall", Unsupported("no more"), lambda req: len(engine.requests("recall")) == 2)
    assert unclean(await forgotten(engine, TEAM, journal)) == [(Asked.RECALL, None)]


async def test_a_mode_that_is_declared_has_to_answer(journal: Journal) -> None:
    engine, _ = await one()
    engine.fail("fetch", Unsupported("not today"), lambda req: req.mode is FetchMode.VECTOR)
    assert unclean(await forgotten(engine, TEAM, journal)) == [(Asked.FETCH, FetchMode.VECTOR)]


async def test_a_question_that_nothing_is_there_to_ask_with_is_never_clean(journal: Journal) -> None:
    engine, hit = await one()
    blank = hit.model_copy(update={"text": " \n"})  # a preview may be only the start of its item
    engine.listing = lambda req: ListPage(items=[blank] if len(engine) == 2 else [])
    outcome = await forgotten(engine, TEAM, journal)
    assert unclean(outcome) == [*((Asked.FETCH, mode) for mode in FetchMode), (Asked.RECALL, None)]
    assert {check.error for check in outcome.checks if not check.is_clean} == {
        "no text of what went was kept that could be asked with"
    }


async def test_sandboxed_items_are_asked_for_in_their_sandboxes(journal: Journal) -> None:
    nodes = ["team:acme", "service:mail", "service:mail/user:ann", "team:acme/service:bot"]
    engine = FakeEngine()
    await filled((learning(f"{SECRET} {node}", node) for node in nodes), engine)
    removal = await counted(engine, Target.below(Namespace.ROOT), Action.ERASE, journal)
    outcome = await done(removal)
    assert (outcome.removed, outcome.is_clean) == (4, True)
    reaches = {str(req.reach.at) if req.reach else "": len(req.ids) for req in engine.requests("get")}
    assert reaches == {"root": 1, "service:mail": 2, "team:acme/service:bot": 1}
    asked = {str(req.filter.reach.at) if req.filter.reach else "" for req in engine.requests("fetch")}
    assert asked == {"", "service:mail", "team:acme/service:bot"}


async def test_items_named_are_asked_for_by_what_their_own_metadata_says(journal: Journal) -> None:
    engine = await filled(
        [
            learning("one", "team:acme", thread_id="t1", observed_at="2026-03-01T00:00:00Z"),
            learning("two", "team:acme", thread_id="t1", observed_at="2026-03-01T00:00:00Z"),
            learning("old", "team:acme", thread_id="t1", observed_at="2026-02-01T00:00:00Z"),
            learning("new", "team:acme", thread_id="t1", observed_at="2026-04-01T00:00:00Z"),
            learning("last", "service:bot", observed_at="9999-12-31T23:59:59.999999Z"),
        ]
    )
    assert isinstance(engine, FakeEngine)
    ids = [hit.id for hit in await engine.get(GetRequest(ids=await ids_of(engine))) if hit.text in ("one", "two")]
    (last,) = await held(engine, Target.at(Namespace.parse("service:bot")).filter)
    outcome = await forgotten(engine, Target.of_ids([*ids, last.id]), journal)
    assert (outcome.removed, outcome.is_clean) == (3, True)
    filters = [req.filter for req in engine.requests("list_preview")]
    assert [(str(filter.reach.at), filter.thread_id) for filter in filters if filter.reach] == [
        ("team:acme", "t1"),
        ("service:bot", None),
    ]
    assert not filters[0].matches(last.kind, (await held(engine))[0].meta)


@pytest.mark.parametrize(
    ("text", "other", "is_shared"),
    [
        (SECRET, SECRET, True),
        (SECRET, f"x{SECRET[3:43]}y", True),
        (SECRET, f"x{SECRET[3:42]}y", False),
        (SECRET, f"x{SECRET[45:85]}y", True),
        (SECRET, SECRET.replace(" ", "\n  "), True),
        (SECRET[:39], SECRET[:39], False),
        ("a" * 100, "a" * 39 + "b" + "a" * 39, False),
        ("", "", False),
    ],
)
def test_so_many_characters_in_a_row(text: str, other: str, is_shared: bool) -> None:
    assert shares(text, other, 40) is is_shared


@pytest.mark.parametrize("after", [1, 2, 4])
async def test_left_while_it_is_asked_the_receipt_claims_nothing_of_the_rest(after: int, journal: Journal) -> None:
    engine, _ = await one()
    removal = await counted(engine, TEAM, Action.FORGET, journal)
    async with contextlib.aclosing(removal.run(yes(removal))) as steps:
        async for step in steps:
            after -= step.phase is Phase.CHECKING
            if not after:
                break
    assert step.outcome is not None
    assert not step.outcome.is_clean
    receipt = Receipt.read(step.outcome.receipt or Path())
    assert (receipt.removed, receipt.is_clean) == (1, False)
    assert len(receipt.checks) == len(step.outcome.checks) == 4 + len(FetchMode)
    assert receipt.checks[-1].error == "it was stopped before this was asked"
    assert "Not every question could be asked again." in verdict(receipt)


async def test_a_disk_that_fills_up_while_it_is_asked_leaves_the_rest_unknown(
    journal: Journal, monkeypatch: pytest.MonkeyPatch
) -> None:
    engine, _ = await one()
    note = ReceiptWriter.note
    refused = ["checked"]

    def full_once(writer: ReceiptWriter, line: str, **facts: object) -> None:
        if line in refused:
            refused.remove(line)
            raise FileError("the disk is full")
        note(writer, line, **facts)

    monkeypatch.setattr(ReceiptWriter, "note", full_once)
    outcome = await forgotten(engine, TEAM, journal)
    assert (outcome.removed, outcome.stopped, outcome.is_clean) == (1, "the disk is full", False)
    receipt = Receipt.read(outcome.receipt or Path())
    assert receipt.is_clean is False
    assert [check.asked for check in receipt.checks] == [check.asked for check in outcome.checks]


async def test_the_end_of_the_program_while_it_is_asked_is_no_clean_answer(journal: Journal) -> None:
    engine, _ = await one()
    outcome = await forgotten(engine, TEAM, journal)
    assert outcome.receipt is not None
    lines = outcome.receipt.read_bytes().splitlines(keepends=True)
    first = next(at for at, line in enumerate(lines) if b'"checked"' in line)
    outcome.receipt.write_bytes(b"".join(lines[: first + 1]))
    journal.settle(outcome.receipt)
    said = verdict(Receipt.read(outcome.receipt))
    assert "Not every question could be asked again." in said
    assert not any("none found anything" in each for each in said)


async def test_the_texts_that_were_asked_with_are_not_kept_by_the_engine(tmp_path: Path, journal: Journal) -> None:
    embedder = WordVectors()
    engine = SqliteEngine(tmp_path / "memory.db", embedder=embedder)
    try:
        await engine.store(learning("a cat that hides", "agent:a"))
        removal = await counted(engine, Target.at(Namespace.parse("agent:a")), Action.FORGET, journal)
        assert (await done(removal)).is_clean
        asked = embedder.texts.count("a cat that hides")
        await engine.fetch(FetchRequest(query="a cat that hides", mode=FetchMode.VECTOR, limit=5))
        assert embedder.texts.count("a cat that hides") == asked + 1
    finally:
        await engine.aclose()
