"""Questions that ask for several things at once, and for what shares no word with its answer."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import timedelta
from pathlib import Path

import pytest

from explorer.context import DEFAULT_BRIEFS, Brief, ContextSpec, gather
from explorer.contract import (
    NOTHING_ANSWERS,
    Conversation,
    Learning,
    LearningKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
    Role,
    StoreItem,
    Timestamp,
    Turn,
    parse_item,
)
from explorer.engines.embedding import default_embedder
from explorer.engines.sqlite import SqliteEngine
from explorer.engines.sqlite.broad import RECENT, taken_apart
from tests.engines.sqlite.support import fill, note, opened, vectors_made
from tests.engines.sqlite.test_passages import talk
from tests.engines.sqlite.test_recall import recall, snippets

SAMPLE = Path(__file__).parents[3] / "resources" / "sample" / "memory.jsonl"
FRONT_DESK = Reach.of(Namespace.parse("team:wrenholt/agent:front-desk"))
DAY = Timestamp.parse("2025-03-10T12:00:00Z")

NONSENSE = (
    "What are the alien's dietary habits, pets and vehicles?",
    "Who is the emperor of Zanthia: identity, role, and how do they like to rule?",
    "What is the dragon working on now: spells, potions and treasures?",
    "Which preferences and standing instructions has the unicorn given?",
    "Which important volcanoes erupted recently on Neptune?",
    "Who are the astronauts: names, ranks, and what do they like to eat in orbit?",
    "What are the pirate's treasures, ships and enemies?",
    "Which submarines, torpedoes and admirals does the navy of Atlantis have?",
    "What does the vampire prefer: blood types, coffins and castles?",
    "Which recent events happened in the parliament of Mars?",
    "What are the rules and procedures of the quidditch league?",
    "What is the robot's identity, role and warranty?",
    "Which skyscrapers, bridges and tunnels did the giant build?",
    "What are the mermaid's hobbies, songs and shipwrecks?",
    "Who is the wizard: identity, wand, and how does he like to travel?",
    "What are the dinosaur's preferences: ferns, swamps and eggs?",
    "Which cryptocurrencies, stocks and bonds does the sultan own?",
    "What is the goblin working on: mines, forges and axes?",
    "Which vaccines, antibiotics and surgeries did the cyborg get?",
    "What happened recently: coups, juntas and revolutions in Ruritania?",
    "Who is the quarterback: identity, salary, and how does he like to train?",
    "What instructions did the sphinx give: riddles, curses and tombs?",
    "Which glaciers, penguins and icebreakers does the yeti like?",
    "What are the sheriff's guns, horses and duels?",
    "Which kubernetes clusters, pods and ingresses does the leprechaun run?",
    "What are the preferences of the chess grandmaster: openings, endgames and clocks?",
    "Which galaxies, quasars and nebulae did the oracle visit recently?",
    "What is the zeppelin's crew, cargo and altitude?",
    "Who is the samurai: identity, clan, and how does he like to fight?",
    "Which casinos, yachts and racehorses does the baron own?",
)


@asynccontextmanager
async def filled_with_sample(folder: Path) -> AsyncIterator[SqliteEngine]:
    """The sample memory, searched by words and meaning where the model is there, as a user has it."""
    engine = SqliteEngine(folder / "memory.db", embedder=default_embedder())
    try:
        await fill(engine, [parse_item(line) for line in SAMPLE.read_text("utf-8").splitlines()])
        await vectors_made(engine)
        yield engine
    finally:
        await engine.aclose()


@pytest.mark.limit_s(30)
async def test_default_briefs_of_the_sample_are_answered_and_nonsense_is_not(tmp_path: Path) -> None:
    filter = MetaFilter(reach=FRONT_DESK)
    async with filled_with_sample(tmp_path) as engine:
        gathered = await gather(engine, ContextSpec(reach=FRONT_DESK))
        assert sum(bool(answered.citations) for answered in gathered.briefs) >= 3
        assert "“Hello, my name is Jonah Marrow.” (user, 13 January 2026)" in gathered.briefs[0].body
        for question in NONSENSE:
            answer = await engine.recall(RecallRequest(question=question, filter=filter, limit=8))
            assert (question, answer.answer, answer.citations) == (question, NOTHING_ANSWERS, [])


async def test_who_the_user_is_what_they_prefer_and_work_on(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        await fill(
            engine,
            [
                talk("Hello. My name is Ada Kettle, of Ulm. Is it open?", "My name is Bot. I like you."),
                learned("Answers are to be short.", LearningKind.PREFERENCE),
                learned("Never send a draft. Ask first.", LearningKind.CORRECTION),
                learned("The kiln is hot.", LearningKind.FACT),
                talk("We are building a kiln for the school.", "Good."),
                talk("I really like bells. I would like tea.", "Here it is."),
                note("My name is not told here."),
            ],
        )
        who = "My name is Ada Kettle, of Ulm."
        assert snippets(await recall(engine, "Who is the user?")) == [who]
        assert snippets(await recall(engine, "Which preferences has the user given?")) == [
            "Answers are to be short.",
            "I really like bells.",
        ]
        assert snippets(await recall(engine, "Which standing instructions are there?")) == [
            "Never send a draft. Ask first."
        ]
        assert snippets(await recall(engine, "What is the user working on?")) == [
            "We are building a kiln for the school."
        ]
        # By turns: each part has its first answer before one has its second.
        assert snippets(await recall(engine, "Who is the user: name, preferences and instructions?", limit=3)) == [
            who,
            "Answers are to be short.",
            "Never send a draft. Ask first.",
        ]


async def test_what_is_recent_is_so_by_the_memorys_own_days(tmp_path: Path) -> None:
    def told(text: str, days: int) -> StoreItem:
        at = Timestamp.of(DAY.as_datetime() - timedelta(days=days))
        return Conversation(turns=[Turn(role=Role.ASSISTANT, text=text, at=at)], meta=MemoryMeta(observed_at=at))

    items = [
        told("It rains. The ferry sank yesterday.", 3),
        told("We leave tomorrow.", 1),
        told("Did the mast break yesterday?", 1),
        told("The pier burned yesterday.", RECENT.days + 1),
        learned("The bell is back.", LearningKind.FACT),
        learned("Ring softly.", LearningKind.PROCEDURE),
    ]
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, items)
        answer = await recall(engine, "What important events happened recently?")
        assert answer.answer == (
            "- “The bell is back.” (10 March 2025)\n"
            "- “The ferry sank yesterday.” (assistant, 7 March 2025; yesterday: 6 March 2025)"
        )
        assert "The pier burned yesterday." in snippets(await recall(engine, "What happened?"))


async def test_newest_of_each_workspace_is_what_is_worked_on(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        await fill(
            engine,
            [
                note("Old plan.", repo="acme/kiln", observed_at=Timestamp.parse("2025-01-01T00:00:00Z")),
                note("New plan.", repo="acme/kiln", observed_at=DAY),
                note("A letter.", workspace="/home/ada (old)", observed_at=DAY),
                note("Elsewhere.", observed_at=DAY),
            ],
        )
        answer = await recall(engine, "Which repositories and workspaces are active?")
        assert "“New plan.” (repository acme/kiln, 10 March 2025)" in answer.answer
        assert "“A letter.” (workspace /home/ada old, 10 March 2025)" in answer.answer
        assert len(answer.citations) == 2


async def test_part_is_answered_only_of_whom_the_question_is_about(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        await fill(
            engine,
            [
                talk("Ann: My hobby is pottery.", "Bo: Mine is chess. My pet is a cat."),
                talk("Ann: I have a job at the harbour.", "Bo: I am a pilot."),
                *(note(f"Nothing to see, {number}.") for number in range(20)),
            ],
        )
        assert "Ann: My hobby is pottery." in snippets(await recall(engine, "Who is Ann: hobby, age and shoe size?"))
        assert (await recall(engine, "Who is Zoe: hobby, pet and job?")).answer == NOTHING_ANSWERS


def learned(text: str, kind: LearningKind) -> StoreItem:
    return Learning(text=text, kind=kind, confidence=1.0, meta=MemoryMeta(observed_at=DAY))


@pytest.mark.parametrize(
    "question",
    [
        "What did Caroline and Melanie paint?",
        "Who painted the barn, the mill and the pier?",
        "Ann, Bo and Cy: pets, cars and boats?",
        "What does the dragon prefer?",
        "Is the train due at 10:30, at 11:00 or at noon?",
        "Welche Ereignisse gab es?",
        "",
        ":, and",
    ],
)
def test_other_questions_stay_whole(question: str) -> None:
    assert taken_apart(question) is None


@pytest.mark.parametrize("brief", DEFAULT_BRIEFS, ids=lambda brief: brief.heading)
def test_default_briefs_are_understood(brief: Brief) -> None:
    apart = taken_apart(brief.question)
    assert apart is not None
    assert apart.is_understood


def test_partly_known_question_asks_for_what_stands_behind_the_colon() -> None:
    apart = taken_apart("Who is Ann: hobby, name and job?")
    assert apart is not None
    assert not apart.is_understood
    assert [(part.text, part.subject, part.aspects) for part in apart.parts] == [
        ("ann hobby", "ann", ()),
        ("ann name", "ann", ()),
        ("ann job?", "ann", ()),
    ]
    apart = taken_apart("Who is the user: pets, name and cars?")
    assert apart is not None
    assert [(part.text, bool(part.aspects)) for part in apart.parts] == [
        ("pets", False),
        ("name", True),
        ("cars?", False),
    ]
