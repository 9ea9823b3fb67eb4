"""Answers without a model: what is quoted, where it stands, and when nothing answers."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import pytest

from explorer.contract import (
    NOTHING_ANSWERS,
    Citation,
    Conversation,
    GetRequest,
    Learning,
    LearningKind,
    MemoryMeta,
    RecallAnswer,
    RecallRequest,
    Role,
    StoreItem,
    Timestamp,
    Turn,
    Unavailable,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.engines.sqlite.recall import Quote, Statement, answering, compose, named_in, quote, speakers_of, spread
from explorer.engines.sqlite.sought import Sought, Wanted
from explorer.engines.sqlite.tokens import MAX_UNITS, parse_query
from tests.engines.sqlite.support import fill, note, opened, vectors_made
from tests.engines.sqlite.test_passages import sentences, talk
from tests.engines.sqlite.word_vectors import WordVectors


async def recall(engine: SqliteEngine, question: str, limit: int = 5, **options: object) -> RecallAnswer:
    answer = await engine.recall(RecallRequest.model_validate({"question": question, "limit": limit, **options}))
    for cited in answer.citations:
        await check_place(engine, cited)
    return answer


async def check_place(engine: SqliteEngine, cited: Citation) -> None:
    (hit,) = await engine.get(GetRequest(ids=[cited.id]))
    assert cited.place is not None
    assert cited.snippet == hit.text[cited.place.start : cited.place.stop]
    assert (cited.kind, cited.meta) == (hit.kind, hit.meta)


def snippets(answer: RecallAnswer) -> list[str]:
    return [cited.snippet for cited in answer.citations]


async def test_sentence_of_a_document(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(
            engine, [note(f"{sentences(20)} The kiln fires at 1,240 degrees. {sentences(20)}"), note("The kiln fires.")]
        )
        answer = await recall(engine, "At how many degrees does the kiln fire?")
        assert snippets(answer)[0] == "The kiln fires at 1,240 degrees."
        assert answer.answer == "- “The kiln fires at 1,240 degrees.”\n- “The kiln fires.”"


async def test_turn_of_a_conversation_and_the_reply_to_a_question(folder: Path) -> None:
    items = [
        talk("Hello!", "Hi. How are you?", "I sold my bicycle yesterday.", "Oh no!"),
        talk("What did the vet say about the hamster?", "It needs a diet.", "Poor thing."),
        talk(f"Which vet?\n{'Nothing to see. ' * 30}", "The one in town."),
    ]
    async with opened(folder / "memory.db") as engine:
        await fill(engine, items)
        assert snippets(await recall(engine, "Who sold a bicycle?")) == ["I sold my bicycle yesterday."]
        first = snippets(await recall(engine, "What did the vet say about the hamster?"))[0]
        assert first == "What did the vet say about the hamster?\nassistant: It needs a diet."
        # The question is within the turn: what follows it there is no reply.
        assert "Which vet?" in snippets(await recall(engine, "Which vet?"))


async def test_learning_and_title_are_quoted_too(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("plain"), *titled("Quarterly numbers", "They rose.")])
        assert snippets(await recall(engine, "quarterly numbers")) == ["# Quarterly numbers"]


def titled(title: str, text: str) -> Sequence[StoreItem]:
    return [note(text).model_copy(update={"title": title})]


@pytest.mark.parametrize(
    ("text", "question", "snippet"),
    [
        (
            "Das Wetter war gut. Der Zug nach Köln fährt um neun.",
            "Wann fährt der Zug nach Köln?",
            "Der Zug nach Köln fährt um neun.",
        ),
        ("我喜欢茶。猫在花园里睡觉。天气很好。", "花园里睡觉的猫", "猫在花园里睡觉。"),
        ("Le chat dort. La réunion est reportée à mardi.", "réunion reportée", "La réunion est reportée à mardi."),
        ("Use getUserProfile. Never call it twice!", "user profile", "Use getUserProfile."),
    ],
)
async def test_other_languages_and_code(folder: Path, text: str, question: str, snippet: str) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(text), note("Ein anderer Text. 别的。")])
        assert snippets(await recall(engine, question))[0] == snippet


async def test_long_sentences_are_cut_to_what_can_be_read(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(f"{'before ' * 2_000}needle {'after ' * 2_000}")])
        (snippet,) = snippets(await recall(engine, "needle"))
        assert "needle" in snippet
        assert len(snippet) <= 300


async def test_two_statements_of_one_item_are_quoted_and_the_best_is_cited(folder: Path) -> None:
    text = "The kiln fires at 1,240 degrees. Lunch is at noon. The kiln fires again at 980 degrees."
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(text), note("x"), note("y")])
        answer = await recall(engine, "At how many degrees does the kiln fire?")
        assert snippets(answer) == ["The kiln fires at 1,240 degrees."]
        assert answer.answer == "- “The kiln fires at 1,240 degrees.”\n- “The kiln fires again at 980 degrees.”"


async def test_answer_says_who_said_it_and_when_where_the_quote_does_not(folder: Path) -> None:
    at = Timestamp.parse("2024-05-04T23:30:00+02:00")
    long = f"Ann: {sentences(12)} We had a picnic yesterday. {sentences(3)}"
    turns = [Turn(role=Role.USER, text=long, at=at), Turn(role=Role.ASSISTANT, text="Bo: Fine.", at=at)]
    plain = Turn(role=Role.USER, text=f"{sentences(12)} The ferry sank.")
    learned = Learning(
        text="Swans came back last week.", kind=LearningKind.FACT, confidence=1.0, meta=MemoryMeta(observed_at=at)
    )
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [Conversation(turns=turns), Conversation(turns=[plain]), learned, note("A kite.")])
        for question, answer in (
            ("Who had a picnic?", "- “We had a picnic yesterday.” (Ann, 4 May 2024; yesterday: 3 May 2024)"),
            ("Which ferry sank?", "- “The ferry sank.” (user)"),
            (
                "When did swans come back?",
                "- “Swans came back last week.” (4 May 2024; last week: the week before 4 May 2024)",
            ),
            ("kite", "- “A kite.”"),
        ):
            assert (await recall(engine, question)).answer == answer


def test_where_no_word_is_shared_the_nearest_passage_is_quoted() -> None:
    item = note("One thing. Another thing. The feline is asleep. A last thing.")
    sought = Sought([Wanted(unit, 1.0, []) for unit in parse_query("cat").units], " cat")
    start = item.render_text().index("The feline")
    assert quote(item, sought, 0.5, nearest=lambda: (start, 60)).best.text == "The feline is asleep."
    assert [one.text for one in quote(item, sought, 0.5).statements] == ["One thing."]


# --- when nothing answers ---


async def test_what_another_said_is_no_answer_about_somebody(folder: Path) -> None:
    items = [
        talk("Ann: I sold my red bicycle yesterday.", "Bo: Mine is still in the cellar.", "Ann: Keep it."),
        talk("Bo: My brother's name is Carl.", "Ann: I have none."),
    ]
    async with opened(folder / "memory.db") as engine:
        await fill(engine, items)
        assert snippets(await recall(engine, "What became of the red bicycle of Ann?")) == [
            "Ann: I sold my red bicycle yesterday."
        ]
        assert (await recall(engine, "When was the red bicycle sold by Bo?")).answer == NOTHING_ANSWERS
        # Who is not known as a speaker is not asked for.
        assert (await recall(engine, "When did Zoe sell the red bicycle?")).citations


@pytest.mark.parametrize("has_vectors", [False, True])
async def test_says_that_nothing_answers(folder: Path, has_vectors: bool) -> None:
    stored = [
        note("The office plants are watered on Mondays."),
        talk("Where did we park?", "On level two of the garage."),
        *(note(f"{sentences(3)} {number}") for number in range(8)),
    ]
    embedder = WordVectors(2_000) if has_vectors else None
    async with opened(folder / "memory.db", embedder=embedder) as engine:
        assert (await recall(engine, "Who waters the plants?")).answer == NOTHING_ANSWERS
        await fill(engine, stored)
        for question in (
            "Which programming language has the smallest compiler?",
            "When did the ferry to Rhodes sink in the storm on Monday?",
            "?!",
            "zzz",
        ):
            answer = await recall(engine, question)
            assert (answer.answer, answer.citations) == (NOTHING_ANSWERS, [])
        for question in ("Who waters the office plants?", "garage", "plants"):
            assert (await recall(engine, question)).citations


async def test_what_answers_in_other_words_is_found_by_its_meaning(folder: Path) -> None:
    texts = ["The feline is asleep.", "Trains to Bern run hourly.", "We serve soup at noon."]
    async with opened(folder / "memory.db", embedder=WordVectors(2_000)) as engine:
        await fill(engine, [note(text) for text in texts])
        assert snippets(await recall(engine, "the cat is where?")) == [texts[0]]


async def test_item_that_waits_for_its_vector_answers_by_its_words(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("The kiln fires at 1,240 degrees."), note("x"), note("y")])
    async with opened(folder / "memory.db", embedder=WordVectors(2_000), read_only=True) as engine:
        status = await engine.vector_status()
        assert status is None or status.with_vector == 0
        answer = await recall(engine, "At how many degrees does the kiln fire?")
        assert snippets(answer) == ["The kiln fires at 1,240 degrees."]


async def test_weaker_evidence_is_left_out_beside_stronger(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("The red kite was seen over Ulm in June."), note("In June."), note("x"), note("y")])
        assert snippets(await recall(engine, "red kite seen over Ulm in June")) == [
            "The red kite was seen over Ulm in June."
        ]


@pytest.mark.parametrize(
    "code",
    ['{"deck":2,"kiln":"red kite kiln"}', "red_kite = kiln(); // red kite kiln {deck: 2};", "[kiln]=<red>;{kite}"],
)
async def test_code_and_what_tools_say_are_behind_words(folder: Path, code: str) -> None:
    asked = "Which red kite flew over the kiln?"
    data = Conversation(
        turns=[
            Turn(role=Role.USER, text="Which kite is it?"),
            Turn(role=Role.TOOL, text="Red kite over kiln flew."),
            Turn(role=Role.TOOL, text=code),
        ]
    )
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [data, note(code), note("x"), note("y")])
        # Where nothing else answers, they do.
        assert snippets(await recall(engine, asked))[0] == "Red kite over kiln flew."
        await fill(engine, [note("A red kite was seen near the kiln.")])
        said = snippets(await recall(engine, asked))
        assert said[0] == "A red kite was seen near the kiln."
        assert not [text for text in said if text == code or text == "Red kite over kiln flew."]


async def test_what_tells_nothing_is_never_quoted(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [talk("a what", "The kiln."), talk("What is it?"), note("what?")])
        assert snippets(await recall(engine, "a what")) == []
        assert snippets(await recall(engine, "kiln user what")) == ["The kiln."]


async def test_filter_limit_and_days_hold(folder: Path) -> None:
    def kite(number: int) -> StoreItem:
        at = Timestamp.parse(f"2024-05-{number + 1:02}T12:00:00Z")
        return note(f"A kite, number {number}.", workspace=f"w{number % 2}", observed_at=at)

    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, map(kite, range(8)))
        assert len((await recall(engine, "kite", 3)).citations) == 3
        found = (await recall(engine, "kite", 10, filter={"workspace": "w1"})).citations
        assert {cited.meta.workspace for cited in found} == {"w1"}
        day = {"from": "2024-05-03", "to": "2024-05-03"}
        assert snippets(await recall(engine, "kite", 3, refers_to=day))[0] == "A kite, number 2."


async def test_says_that_it_had_to_do_without_vectors(folder: Path) -> None:
    embedder = WordVectors()
    async with opened(folder / "memory.db", embedder=embedder) as engine:
        await fill(engine, [note("A kite.")])
        await vectors_made(engine)
        embedder.error = Unavailable("the model is out")
        answer = (await recall(engine, "kite")).answer
        assert answer == "- “A kite.”\n\n(Searched by words alone: the model is out.)"


@pytest.mark.parametrize("seed", range(10))
async def test_every_citation_stands_at_its_place(folder: Path, seed: int) -> None:
    rand = random.Random(seed)
    words = ["kite", "kites", "red.", "blue?", "猫。", "é", "\n", "  ", "x" * 400, "fly!", "Kite"]

    def text() -> str:
        return "".join(rand.choice(words) + rand.choice((" ", "")) for _ in range(rand.randint(1, 40)))

    items = [rand.choice([note, talk])(f"kite {text()}") for _ in range(20)]
    items += [talk(*(f"said {text()}" for _ in range(rand.randint(2, 6)))) for _ in range(10)]
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, items)
        for question in ("kite", "red kites fly", "猫", "What is blue?"):
            await recall(engine, question, 30)


# --- parts by themselves ---


def test_evidence_of_words_or_of_both() -> None:
    def is_answer(share: float, similarity: float | None) -> bool:
        return quote_of("x", share=share, similarity=similarity).is_answer

    assert is_answer(0.25, None)
    assert not is_answer(0.24, None)
    assert is_answer(0.75, 0.0)
    assert not is_answer(0.7, 0.19)
    assert is_answer(0.7, 0.21)
    assert is_answer(0.0, 0.45)
    assert not is_answer(0.25, 0.3)


def quote_of(*texts: str, share: float = 1.0, similarity: float | None = None, is_of_named: bool = True) -> Quote:
    return Quote(tuple(Statement((0, len(text)), text) for text in texts), share, similarity, is_of_named)


def test_answer_is_bullets_with_the_best_of_each_item_first_and_each_statement_once() -> None:
    answer = compose([quote_of("one\n two", "three"), quote_of("four"), quote_of("four", "five")])
    assert answer == "- “one two”\n- “four”\n- “three”\n- “five”"
    assert compose([Quote((Statement((0, 1), "x", "Ann, 4 May 2024"),), 1.0)]) == "- “x” (Ann, 4 May 2024)"
    assert compose([]) == NOTHING_ANSWERS
    assert len(compose([quote_of(str(number)) for number in range(30)]).splitlines()) == 8


def test_evidence_that_is_of_somebody_else_answers_nothing() -> None:
    weaker = quote_of("x", share=0.8)
    assert answering([quote_of("y", share=0.9), weaker]) == [0, 1]
    assert answering([quote_of("y", share=0.9, is_of_named=False), weaker]) == []
    assert answering([quote_of("y", share=0.2), weaker]) == [1]


def test_who_speaks_is_known_where_every_turn_says_so() -> None:
    assert speakers_of(talk("Ann: Hello.", "Bo Li: Hi.\nNote: none.")) == ["Ann", "Bo Li"]
    assert speakers_of(talk("Ann: Hello.", "Hi.")) == []
    assert speakers_of(talk("10:30 is fine.", "Ann: Hi.")) == []
    assert speakers_of(note("Ann: Hello.")) == []
    items = [talk("Ann: Hello.", "Bo Li: Hi."), talk("Note: a thing.", "So it is.")]
    assert named_in(parse_query("What note did ann leave for Bo?"), items) == {"ann", "bo"}
    assert named_in(parse_query("What was left?"), items) == frozenset()


def test_question_of_many_runs_is_cut_as_a_query_is() -> None:
    runs = ["".join(chr(0x4E00 + 90 * run + number) for number in range(90)) for run in range(200)]
    units = spread(parse_query(" ".join(runs))).units
    assert len(units) == MAX_UNITS
    assert [unit.terms for unit in units[:2]] == [(runs[0][:2],), (runs[0][1:3],)]


def test_answering_keeps_the_order_and_drops_the_weak() -> None:
    quotes = [quote_of(str(share), share=share, similarity=share / 3) for share in (0.46, 0.05, 1.0, 0.44, 0.61)]
    assert answering(quotes) == [0, 2, 4]
    # Beside what is less sure, more is given.
    assert answering([quote_of(str(share), share=share, similarity=share / 3) for share in (0.7, 0.29, 0.27)]) == [0, 1]
    assert answering([quote_of("x", share=0.2)]) == answering([]) == []
