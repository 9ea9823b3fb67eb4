"""What is asked of an engine, and what becomes of what it answers or fails at."""

from __future__ import annotations

import asyncio
import logging
import random
from pathlib import Path

import pytest

from explorer.context import (
    DEFAULT_BRIEFS,
    Brief,
    ContextCompiler,
    ContextDoc,
    ContextSpec,
    InvalidSpec,
    State,
    Why,
    compile,
    estimate,
    gather,
    trim,
)
from explorer.contract import (
    EngineFailure,
    Hit,
    InvalidRequest,
    ItemKind,
    ListPage,
    ListRequest,
    MetaFilter,
    Namespace,
    Reach,
    RecallAnswer,
    RecallRequest,
    Timestamp,
    Unavailable,
)
from explorer.engines import build_engine, file_settings
from tests.context.made import AT, citation, hit
from tests.fakes import FakeEngine, filled, learning

WRITER = Namespace.parse("team:acme/agent:writer")
EDITOR = Namespace.parse("team:acme/agent:editor")


class Told(FakeEngine):
    """Answers each question as it was told, and lists the pages it was given."""

    def __init__(self, answers: dict[str, RecallAnswer] | None = None, pages: list[list[Hit]] | None = None) -> None:
        super().__init__()
        self.answers = answers or {}
        self.listed = pages or [[]]

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        await self._pass("recall", req)
        return self.answers[req.question]

    async def list(self, req: ListRequest) -> ListPage:
        await self._pass("list", req)
        page = int(req.cursor or 0)
        is_last = page + 1 >= len(self.listed)
        return ListPage(items=self.listed[page], next_cursor=None if is_last else str(page + 1))


def said(text: str, *ids: str) -> RecallAnswer:
    return RecallAnswer(answer=text, citations=[citation(id) for id in ids])


# The spec.


def test_defaults() -> None:
    spec = ContextSpec()
    assert (spec.budget_tokens, spec.learnings_limit, spec.reach) == (1500, 20, None)
    assert [brief.heading for brief in spec.briefs] == [
        "About the user",
        "Active work",
        "Preferences and standing instructions",
        "Recent important events",
    ]
    assert [brief.question for brief in spec.briefs] == [
        "Who is the user: identity, role, and how do they like to work?",
        "What is the user working on now: projects, workspaces and repositories?",
        "Which preferences and standing instructions has the user given?",
        "Which important events happened recently?",
    ]
    assert all(brief.filter.is_empty() for brief in spec.briefs)
    assert tuple(spec.briefs) == DEFAULT_BRIEFS


def test_a_spec_is_written_and_read() -> None:
    spec = ContextSpec(budget_tokens=7, briefs=[Brief(heading="H", question="Q")], learnings_limit=0)
    written = '{"budget_tokens":7,"briefs":[{"heading":"H","question":"Q","filter":{}}],"learnings_limit":0}'
    assert spec.model_dump_json() == written
    assert ContextSpec.model_validate_json(written) == spec
    assert ContextSpec.model_validate_json('{"briefs":[{"heading":"H","question":"Q"}]}').briefs == spec.briefs
    reaching = spec.model_copy(update={"reach": Reach.of(WRITER)})
    assert '"reach":{"at":"team:acme/agent:writer","inherit":true,"descendants":false}' in reaching.model_dump_json()
    assert ContextSpec.model_validate_json(reaching.model_dump_json()) == reaching


@pytest.mark.parametrize(
    ("spec", "says"),
    [
        (ContextSpec(budget_tokens=0), "budget must be at least 1"),
        (ContextSpec(briefs=[Brief(heading=" \n", question="Q")]), "the heading of brief 1 must not be blank"),
        (
            ContextSpec(briefs=[*DEFAULT_BRIEFS, Brief(heading="H", question="\u2003")]),
            "the question of brief 5 must not be blank",
        ),
    ],
)
async def test_invalid_specs_are_refused_before_anything_is_asked(spec: ContextSpec, says: str) -> None:
    engine = Told()
    with pytest.raises(InvalidSpec, match=says) as caught:
        await compile(engine, spec)
    assert isinstance(caught.value, InvalidRequest)
    assert engine.calls == []


def test_a_document_is_written_and_read() -> None:
    doc = ContextDoc(markdown="", tokens=0, generated_at=AT, engine="e", refs=[])
    written = '{"markdown":"","tokens":0,"generated_at":"2026-10-02T12:00:00Z","engine":"e","refs":[]}'
    assert doc.model_dump_json() == written
    assert ContextDoc.model_validate_json(written) == doc


# What is asked.


async def test_each_brief_is_one_recall_and_the_learnings_are_listed_once() -> None:
    engine = Told({brief.question: said("x", "a") for brief in DEFAULT_BRIEFS})
    gathered = await gather(engine, ContextSpec())
    recalls = engine.requests("recall")
    assert [recall.question for recall in recalls] == [brief.question for brief in DEFAULT_BRIEFS]
    assert {recall.limit for recall in recalls} == {8}
    assert len({recall.instructions for recall in recalls}) == 1
    assert "bullets" in recalls[0].instructions
    assert engine.requests("list") == [ListRequest(filter=MetaFilter(kinds=[ItemKind.LEARNING]), limit=100)]
    engine.calls.clear()
    for budget in (1, 40, 1500, 200_000):
        trim(gathered, budget, generated_at=AT)
    assert engine.calls == []


async def test_learnings_switched_off_are_not_listed() -> None:
    engine = Told({}, [[hit("a", "x")]])
    gathered = await gather(engine, ContextSpec(briefs=[], learnings_limit=0))
    assert engine.calls == []
    trimmed = trim(gathered, 1500, generated_at=AT)
    assert trimmed.doc.markdown == ""
    (section,) = trimmed.sections
    assert (section.state, section.why) == (State.SKIPPED, Why.SWITCHED_OFF)


async def test_reach_of_the_spec_replaces_that_of_each_brief() -> None:
    own = MetaFilter(reach=Reach.exact(EDITOR), workspace="w")
    spec = ContextSpec(briefs=[Brief(heading="H", question="Q", filter=own)], reach=Reach.of(WRITER))
    engine = Told({"Q": said("x", "a")})
    await gather(engine, spec)
    assert engine.requests("recall")[0].filter == MetaFilter(reach=Reach.of(WRITER), workspace="w")
    assert engine.requests("list")[0].filter == MetaFilter(reach=Reach.of(WRITER), kinds=[ItemKind.LEARNING])
    await gather(engine, spec.model_copy(update={"reach": None}))
    assert engine.requests("recall")[1].filter == own
    assert engine.requests("list")[1].filter == MetaFilter(kinds=[ItemKind.LEARNING])


async def test_an_agent_reads_its_own_and_what_is_above_never_a_siblings() -> None:
    engine = await filled(
        [
            learning("the root likes tea"),
            learning("the team likes tea", "team:acme"),
            learning("the writer likes tea", str(WRITER)),
            learning("the editor likes tea", str(EDITOR)),
            learning("the box likes tea", f"{WRITER}/service:job"),
        ]
    )
    spec = ContextSpec(briefs=[Brief(heading="Tea", question="Who likes tea?")], reach=Reach.of(WRITER))
    doc = await compile(engine, spec)
    for name, is_read in (("root", True), ("team", True), ("writer", True), ("editor", False), ("box", False)):
        assert (f"the {name} likes tea" in doc.markdown) is is_read
    assert len(doc.refs) == 3


async def test_briefs_are_asked_at_the_same_time_and_keep_their_order(until) -> None:
    briefs = [Brief(heading=name, question=name) for name in ("One", "Two", "Three")]
    engine = Told({brief.question: said(f"said of {brief.heading}", "a") for brief in briefs})
    first = engine.hold("recall", lambda req: req.question == "One")
    work = asyncio.create_task(gather(engine, ContextSpec(briefs=briefs)))
    await until(lambda: len(engine.requests("recall")) == 3 and len(engine.requests("list")) == 1)
    first.open()
    gathered = await work
    assert [answered.body for answered in gathered.briefs] == ["said of One", "said of Two", "said of Three"]


async def test_giving_up_ends_what_was_asked(until) -> None:
    engine = Told()
    gate = engine.hold("recall")
    work = asyncio.create_task(gather(engine, ContextSpec()))
    await until(lambda: gate.waiting == 4)
    work.cancel()
    with pytest.raises(asyncio.CancelledError):
        await work
    assert gate.waiting == 0


# What is answered.


async def test_what_a_brief_is_skipped_for(caplog: pytest.LogCaptureFixture) -> None:
    briefs = [Brief(heading=name, question=name) for name in ("failing", "odd", "blank", "uncited", "answered")]
    engine = Told(
        {"blank": said(" \n\u2003", "a"), "uncited": said("words"), "answered": said(" \n- words\u2003", "b", "a", "b")}
    )
    engine.fail("recall", Unavailable("the server is away"), lambda req: req.question == "failing")
    engine.fail("recall", RuntimeError("secret"), lambda req: req.question == "odd")
    with caplog.at_level(logging.WARNING):
        trimmed = trim(await gather(engine, ContextSpec(briefs=briefs)), 1500, generated_at=AT)
    assert [section.why for section in trimmed.sections] == [
        *(Why.FAILED, Why.FAILED, Why.BLANK, Why.UNCITED, None, Why.NONE_STORED)
    ]
    assert [section.reason for section in trimmed.sections] == [
        "The engine did not answer. The server is away.",
        "The engine did not answer. An error that was not expected: RuntimeError.",
        "The answer was blank.",
        "The answer named no item that it rests on.",
        "",
        "There are no learnings here.",
    ]
    assert trimmed.doc.refs == ["b", "a"]
    assert trimmed.doc.markdown.endswith("# Context\n\n## answered\n\n- words\n")
    assert "the brief “failing”: unavailable: the server is away" in caplog.text
    assert "the brief “odd”" in caplog.text


async def test_an_engine_that_fails_at_everything_gives_an_empty_document(caplog: pytest.LogCaptureFixture) -> None:
    engine = Told()
    engine.fail("recall", EngineFailure("broken"))
    engine.fail("list", EngineFailure("broken"))
    doc = await ContextCompiler.at(AT).compile(engine, ContextSpec())
    assert doc == ContextDoc(markdown="", tokens=0, generated_at=AT, engine="reference", refs=[])
    assert len([record for record in caplog.records if record.levelno == logging.WARNING]) == 5


async def test_whether_anything_was_answered() -> None:
    engine = Told({"Q": said("words")}, [[]])
    spec = ContextSpec(briefs=[Brief(heading="H", question="Q")])
    assert (await gather(engine, spec)).failure is None
    engine.fail("recall", EngineFailure("broken"))
    assert (await gather(engine, spec)).failure is None
    assert (await gather(engine, spec.model_copy(update={"learnings_limit": 0}))).failure == "broken"
    engine.fail("list", EngineFailure("worn out"))
    assert (await gather(engine, spec)).failure == "broken"
    assert (await gather(engine, ContextSpec(briefs=[]))).failure == "worn out"
    assert (await gather(engine, ContextSpec(briefs=[], learnings_limit=0))).failure is None


async def test_an_engine_with_nothing_stored_gives_an_empty_document(tmp_path: Path) -> None:
    engine = build_engine("sqlite", file_settings(tmp_path / "m.db"), None)
    try:
        doc = await ContextCompiler.at(AT).compile(engine, ContextSpec())
    finally:
        await engine.aclose()
    assert doc == ContextDoc(markdown="", tokens=0, generated_at=AT, engine="sqlite", refs=[])


async def test_newest_learnings_come_first_then_the_most_confident() -> None:
    def of(text: str, at: str | None, confidence: float | None) -> Hit:
        made = hit(text, text, confidence=confidence)
        when = Timestamp.parse(at) if at else None
        return made.model_copy(update={"meta": made.meta.model_copy(update={"observed_at": when})})

    engine = Told(
        {},
        [
            [
                of("undated", None, 0.2),
                of("older", "2026-01-01T00:00:00Z", 1.0),
                of("tie one", "2026-02-01T00:00:00Z", 0.5),
                of("no confidence", "2026-02-01T00:00:00Z", None),
                of("tie two", "2026-02-01T00:00:00Z", 0.5),
                of("a nanosecond newer", "2026-02-01T00:00:00.000000001Z", 0.1),
                of("confident", "2026-02-01T00:00:00Z", 0.9),
                of("undated, surer", None, 0.3),
                of("before the epoch", "1950-01-01T00:00:00Z", 0.3),
            ]
        ],
    )
    gathered = await gather(engine, ContextSpec(briefs=[]))
    assert [learned.id for learned in gathered.learnings] == [
        "a nanosecond newer",
        "confident",
        "tie one",
        "tie two",
        "no confidence",
        "older",
        "before the epoch",
        "undated, surer",
        "undated",
    ]


async def test_limit_takes_the_first_learnings() -> None:
    items = [learning(f"rule {day}", observed_at=Timestamp.parse(f"2026-01-0{day}T00:00:00Z")) for day in range(1, 6)]
    doc = await compile(await filled(items), ContextSpec(briefs=[], learnings_limit=2))
    assert doc.markdown.endswith("## Learnings\n\n- rule 5\n- rule 4\n")
    assert len(doc.refs) == 2


async def test_learnings_are_read_page_by_page_and_other_kinds_dropped() -> None:
    engine = Told({}, [[hit("a", "x"), hit("d", "no", kind="document")], [], [hit("b", "y")]])
    gathered = await gather(engine, ContextSpec(briefs=[]))
    assert [learned.id for learned in gathered.learnings] == ["a", "b"]
    assert [req.cursor for req in engine.requests("list")] == [None, "1", "2"]
    assert gathered.is_list_whole


async def test_listing_ends_after_fifty_pages() -> None:
    engine = Told({}, [[hit(f"{page}", "x")] for page in range(51)])
    gathered = await gather(engine, ContextSpec(briefs=[]))
    assert len(gathered.learnings) == len(engine.requests("list")) == 50
    assert not gathered.is_list_whole


async def test_a_later_page_that_fails_leaves_no_learnings(caplog: pytest.LogCaptureFixture) -> None:
    engine = Told({"Q": said("words", "a")}, [[hit("b", "x")], [hit("c", "y")]])
    engine.fail("list", Unavailable("gone"), lambda req: req.cursor == "1")
    spec = ContextSpec(briefs=[Brief(heading="H", question="Q")])
    trimmed = trim(await gather(engine, spec), 1500, generated_at=AT)
    assert trimmed.doc.refs == ["a"]
    assert "Learnings" not in trimmed.doc.markdown
    assert trimmed.sections[-1].reason == "The engine did not answer. Gone."
    assert "context.md goes without the learnings: unavailable: gone" in caplog.text


async def test_a_fraction_of_the_time_is_not_written() -> None:
    at = Timestamp.parse("2026-10-02T12:00:00.999999999Z")
    doc = await ContextCompiler.at(at).compile(await filled([learning("x")]), ContextSpec(briefs=[]))
    assert "generated_at: 2026-10-02T12:00:00Z\n" in doc.markdown
    assert doc.generated_at == at


async def test_trimming_gives_what_compiling_gives_at_any_budget(tmp_path: Path) -> None:
    engine = build_engine("sqlite", file_settings(tmp_path / "m.db"), None)
    try:
        await engine.store_many(
            [learning(f"the harbour project has rule {number}: " + "keep the log " * number) for number in range(1, 25)]
        )
        briefs = [
            Brief(heading="Project", question="What is the harbour project?"),
            Brief(heading="Log", question="Which rule of the harbour project says to keep the log?"),
        ]
        spec = ContextSpec(briefs=briefs)
        gathered = await gather(engine, spec)
        dice = random.Random(7)
        docs = []
        for budget in [1, 200_000, *(dice.randrange(1, 1_200) for _ in range(50))]:
            at = ContextCompiler.at(AT)
            doc = await at.compile(engine, spec.model_copy(update={"budget_tokens": budget}))
            assert trim(gathered, budget, generated_at=AT).doc == doc
            assert doc.tokens == estimate(doc.markdown) <= budget
            docs.append(doc)
    finally:
        await engine.aclose()
    assert len({doc.markdown for doc in docs}) > 15
