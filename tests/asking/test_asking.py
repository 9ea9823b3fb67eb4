"""A question to a memory: what comes back from the embedded engine, from others, and from a writer."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest

from explorer.asking import Answered, By, Given, Mark, Written, ask
from explorer.asking.asking import place_of
from explorer.contract import (
    NOTHING_ANSWERS,
    Conversation,
    FetchMode,
    FetchPage,
    FetchRequest,
    Hit,
    InvalidRequest,
    MetaFilter,
    Passage,
    Role,
    Timestamp,
    Turn,
    Unauthorized,
    Unavailable,
)
from tests.asking.chat import Foreign
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex import filling
from tests.engines.sqlite.support import fill, note, opened
from tests.engines.sqlite.word_vectors import WordVectors
from tests.fakes import filled, learning

KILN = "The kiln fires at 1,240 degrees."
AGAIN = "The kiln fires again at 980 degrees."


class Told:
    """A writer that writes what it is told, and keeps what it was given."""

    def __init__(self, text: str = "", error: Exception | None = None) -> None:
        self.text = text
        self.error = error
        self.given: list[tuple[str, list[Given]]] = []

    async def write(self, question: str, passages: Sequence[Given]) -> Written:
        self.given.append((question, list(passages)))
        if self.error is not None:
            raise self.error
        return Written(self.text, "writer-1")


def told(answered: Answered) -> list[tuple[str, tuple[int, ...], Mark | None]]:
    return [(sentence.text, sentence.cites, sentence.mark) for sentence in answered.sentences]


async def test_embedded_engine_answers_in_quotes_of_what_it_cites(folder: Path) -> None:
    items = [note(f"{KILN} Lunch is at noon. {AGAIN}", workspace="w"), note(KILN), note("x"), note("A kiln is hot.")]
    async with opened(folder / "memory.db") as engine:
        ids = await fill(engine, items)
        answered = await ask(engine, "At how many degrees does the kiln fire?")
        assert told(answered) == [(f"“{KILN}”", (1, 2), None), (f"“{AGAIN}”", (3,), None)]
        assert [sentence.support for sentence in answered.sentences] == [1.0, 1.0]
        # What is quoted of an item besides is a citation more, with its own place.
        assert {cited.id for cited in answered.citations} == set(ids[:2])
        again = answered.citations[2]
        assert (again.id, again.snippet, again.place) == (ids[0], AGAIN, Passage(start=51, stop=87))
        assert [hit.id for hit in answered.read_not_cited] == [ids[3]]
        assert (answered.by, answered.model, answered.says_nothing) == (By.ENGINE, "sqlite", False)
        assert answered.ids == {ids[0], ids[1], ids[3]}
        assert answered.cited == (1, 2, 3)
        within = await ask(engine, "At how many degrees does the kiln fire?", MetaFilter(workspace="w"))
        assert within.ids == {ids[0]}
        assert (await ask(engine, "kiln", limit=1)).citations[0].id in ids


async def test_every_citation_stands_at_its_place_in_the_item(folder: Path) -> None:
    turns = [
        Turn(role=Role.USER, text="Ann: Which vet treats hamsters in town?"),
        Turn(role=Role.ASSISTANT, text="Bo: The vet at the bridge treats hamsters.\nNot on Mondays."),
    ]
    conversation = Conversation(turns=turns)
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [conversation, note("x"), note("y")])
        answered = await ask(engine, "Which vet treats hamsters?")
        text = conversation.render_text()
        for cited in answered.citations:
            assert cited.place is not None
            assert text[cited.place.start : cited.place.stop] == cited.snippet
        assert answered.cited
        assert all(sentence.support == 1.0 for sentence in answered.sentences)


async def test_nothing_is_said_honestly_with_what_was_read(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        ids = await fill(engine, [note("The office plants are watered on Mondays."), note("x"), note("y")])
        writer = Told("Made up [1].")
        answered = await ask(engine, "When did the ferry to Rhodes sink on Monday?", writer=writer)
        assert (answered.says_nothing, answered.sentences, answered.citations) == (True, (), ())
        assert [hit.id for hit in answered.read_not_cited] == [ids[0]]
        assert writer.given == []  # there is nothing to write from
        with pytest.raises(InvalidRequest):
            await ask(engine, " ")


async def test_search_by_words_alone_is_noted(folder: Path) -> None:
    embedder = WordVectors()
    async with opened(folder / "memory.db", embedder=embedder) as engine:
        await fill(engine, [note("A kite.")])
        embedder.error = Unavailable("the model is out")
        answered = await ask(engine, "kite")
        assert told(answered) == [("“A kite.”", (1,), None)]
        assert answered.note == "Searched by words alone: the model is out."


# --- other engines ---


async def test_engine_without_places_is_asked_for_the_items() -> None:
    engine = Foreign()
    item = learning("Before it. The kiln\nfires at 1,240 degrees. After it.")
    gone = learning("Swans came back.")
    await engine.told("It fires at 1,240 degrees [1]. Swans came back [2].", (item, KILN), (gone, "…came back…"))
    answered = await ask(engine, "kiln")
    first, second = answered.citations
    assert first.place == Passage(start=11, stop=43)
    assert second.place == Passage(start=6, stop=15)
    assert told(answered) == [
        ("It fires at 1,240 degrees.", (1,), None),
        ("Swans came back.", (2,), None),
    ]
    assert answered.model == "foreign-1"
    assert engine.requests("fetch")[0].mode is FetchMode.HYBRID


async def test_snippet_that_the_item_does_not_hold_has_no_place() -> None:
    engine = Foreign()
    await engine.told("It fires.", (learning("Something else."), KILN))
    assert (await ask(engine, "kiln")).citations[0].place is None


@pytest.mark.parametrize(
    ("snippet", "text", "place"),
    [
        ("b c", "a b c d", (2, 5)),
        (" b c\n", "a b c d", (2, 5)),
        ("b c", "a b\n\n c d", (2, 7)),
        ("…b c…", "a b c d", (2, 5)),
        ("...b c...", "a b c d", (2, 5)),
        ("b.c", "a bxc d", None),
        ("", "a", None),
        ("…", "a", None),
    ],
)
def test_place_of_a_snippet(snippet: str, text: str, place: tuple[int, int] | None) -> None:
    found = place_of(snippet, text)
    assert (found and (found.start, found.stop)) == place


async def test_engine_that_gives_more_than_it_was_asked_for_floods_nothing() -> None:
    class Flooding(Foreign):
        async def fetch(self, req: FetchRequest) -> FetchPage:
            return FetchPage(hits=[Hit.of_item(item.fingerprint(), item) for item in items])

    items = [learning(f"kiln {number}") for number in range(300)]
    engine = Flooding()
    await engine.told("Kiln [1].\n" + "".join(f"“said {number}”\n" for number in range(1_000)))
    engine.cites = [((await engine.store(item)).id, item.text) for item in items]
    answered = await ask(engine, "kiln", limit=5)
    assert len(answered.citations) == 20
    assert len(answered.read_not_cited) <= 5


@pytest.mark.parametrize("text", ["", "\0", "[1]", "“”", "(", " \n- \n"])
async def test_answer_without_a_word_is_none(text: str) -> None:
    engine = Foreign()
    await engine.told(text, (learning(KILN), KILN))
    answered = await ask(engine, "kiln")
    assert (answered.says_nothing, answered.sentences, answered.by) == (True, (), By.ENGINE)
    written = await ask(engine, "kiln", writer=Told(f"{text}."))
    assert (written.says_nothing, written.sentences, written.by) == (True, (), By.ENDPOINT)


async def test_half_a_character_in_a_question_is_mended(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(KILN), note("x")])
        answered = await ask(engine, "When does the kiln\ud83d fire?")
        assert answered.question == "When does the kiln\ufffd fire?"
        assert answered.citations


async def test_reference_engine_answers_too() -> None:
    engine = await filled([learning("The kiln fires at noon."), learning("The kiln is closed on Mondays.")])
    answered = await ask(engine, "When does the kiln fire?")
    assert {sentence.cites for sentence in answered.sentences} == {(1,), (2,)}
    assert all(sentence.mark is None for sentence in answered.sentences)
    assert all(cited.place is not None for cited in answered.citations)
    assert (await ask(await filled([]), "zzz")).says_nothing


async def test_answer_stands_where_the_reading_besides_fails() -> None:
    engine = Foreign()
    await engine.told(f"{KILN} [1]", (learning(KILN), KILN))
    engine.fail("fetch", Unavailable("it is busy"))
    answered = await ask(engine, "kiln")
    assert (answered.read_not_cited, answered.reading_error) == ((), "it is busy")
    assert told(answered) == [(KILN, (1,), None)]
    engine.fail("recall", Unavailable("it is down"))
    with pytest.raises(Unavailable):
        await ask(engine, "kiln")


# --- a writer ---


async def test_writer_gets_the_passages_and_its_answer_is_marked_locally(folder: Path) -> None:
    at = Timestamp.parse("2024-05-04T12:00:00Z")
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(f"{KILN} {AGAIN} Secret: 1234.", observed_at=at), note("x"), note("y")])
        writer = Told(
            "It fires at 1,240 degrees [1]. It was built by giants [2]. It is blue. On 4 May 2024 it fires [1]."
        )
        answered = await ask(engine, "At how many degrees does the kiln fire?", writer=writer)
    assert writer.given == [
        (
            "At how many degrees does the kiln fire?",
            [Given(KILN, "Saturday, 4 May 2024"), Given(AGAIN, "Saturday, 4 May 2024")],
        )
    ]
    assert told(answered) == [
        ("It fires at 1,240 degrees.", (1,), None),
        ("It was built by giants.", (2,), Mark.WEAK),
        ("It is blue.", (), Mark.UNCITED),
        ("On 4 May 2024 it fires.", (1,), None),
    ]
    assert (answered.by, answered.model, answered.writer_error) == (By.ENDPOINT, "writer-1", None)


async def test_writer_may_say_that_nothing_answers(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(KILN), note("x"), note("y")])
        for text in (NOTHING_ANSWERS, f"**{NOTHING_ANSWERS}**", f"{NOTHING_ANSWERS} The passages are of kilns."):
            answered = await ask(engine, "kiln", writer=Told(text))
            assert (answered.says_nothing, answered.by, answered.sentences) == (True, By.ENDPOINT, ())
            assert answered.citations


async def test_what_a_writer_has_from_the_passages_is_kept_whatever_it_says_before(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(KILN), note("x"), note("y")])
        answered = await ask(engine, "kiln", writer=Told(f"{NOTHING_ANSWERS} The kiln fires at 1,240 degrees [1]."))
        assert not answered.says_nothing
        assert told(answered) == [(NOTHING_ANSWERS, (), Mark.UNCITED), ("The kiln fires at 1,240 degrees.", (1,), None)]


async def test_engine_answers_where_the_writer_fails(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note(KILN), note("x"), note("y")])
        answered = await ask(engine, "kiln", writer=Told(error=Unauthorized("the key was refused")))
        assert told(answered) == [(f"“{KILN}”", (1,), None)]
        assert (answered.by, answered.model, answered.writer_error) == (By.ENGINE, "sqlite", "the key was refused")


async def test_writer_gets_the_begin_of_a_long_passage() -> None:
    engine = Foreign()
    text = "kiln " * 2_000
    await engine.told("x", (learning(text), text))
    writer = Told("x")
    await ask(engine, "kiln", writer=writer)
    ((_, (given,)),) = writer.given
    assert given.text == text[:2_000]


async def test_writer_gets_the_first_of_many_long_passages() -> None:
    engine = Foreign()
    items = [(learning(f"kiln {number} {'x' * 1_990}"), f"kiln {number} {'x' * 1_990}") for number in range(20)]
    await engine.told("x", *items)
    writer = Told("kiln 3 [4]. kiln 19 [20].")
    answered = await ask(engine, "kiln", writer=writer)
    ((_, given),) = writer.given
    assert len(given) == 12
    assert len(answered.citations) == 20
    assert [sentence.mark for sentence in answered.sentences] == [None, Mark.OUT_OF_RANGE]


async def test_the_answer_of_a_model_at_the_server_is_held_against_what_it_cites() -> None:
    async with CortexDouble(answer=f"{KILN} It is blue, and older than the town.") as double:
        filling.put(double, "direct", [note(KILN)])
        async with filling.opened(double) as engine:
            answered = await ask(engine, "At how many degrees does the kiln fire?")
    assert (answered.by, answered.model) == (By.SERVER, "double-1")
    assert [(cites, mark) for _, cites, mark in told(answered)] == [((1,), None), ((), Mark.UNCITED)]
