"""How items are cut into passages and statements."""

from __future__ import annotations

import random
from itertools import pairwise

import pytest

from explorer.contract import Conversation, Document, DocumentBody, Learning, LearningKind, Role, StoreItem, Turn
from explorer.engines.sqlite.passages import passages_of, statements_of, turns_of
from tests.engines.sqlite.support import note

PIECES = (
    "word",
    "a",
    "don't",
    "3.14",
    " ",
    "  ",
    "\n",
    "\n\n",
    ". ",
    "! ",
    "? ",
    "。",
    "好",
    "x" * 900,
    "\x1c",
    "\u3000",
    "é",
)


def talk(*texts: str) -> Conversation:
    roles = (Role.USER, Role.ASSISTANT)
    return Conversation(turns=[Turn(role=roles[number % 2], text=text) for number, text in enumerate(texts)])


def shown(item: StoreItem) -> list[str]:
    text = item.render_text()
    return [text[start:stop] for start, stop in passages_of(item)]


def quoted(item: StoreItem) -> list[str]:
    text = item.render_text()
    return [text[start:stop] for start, stop in statements_of(item)]


def sentences(count: int) -> str:
    return " ".join(f"Sentence number {number} says something about nothing at all." for number in range(count))


def test_three_turns_overlap_by_one() -> None:
    assert shown(talk("one", "two", "three", "four", "five", "six")) == [
        "user: one\nassistant: two\nuser: three",
        "user: three\nassistant: four\nuser: five",
        "user: five\nassistant: six",
    ]


def test_long_turns_are_passages_of_their_own_and_not_repeated() -> None:
    item = talk("short", "x " * 350, "y " * 350, sentences(30))
    passages = shown(item)
    assert passages[0].startswith("user: short\nassistant: x x")
    assert passages[1].startswith("user: y y")
    assert [passage.count("Sentence number 29 ") for passage in passages[2:]] == [0, 0, 1]
    assert max(map(len, passages)) <= 800


def test_document_of_ordinary_length_has_three_that_share_a_sentence() -> None:
    item = Document(title="On nothing", body=DocumentBody(text=sentences(33)))
    assert 1_850 < len(item.render_text()) < 2_000
    first, second, third = shown(item)
    assert first.startswith("# On nothing\n\nSentence number 0 ")
    for before, after in ((first, second), (second, third)):
        assert before.endswith(" at all.")
        assert after.startswith(before[before.rindex("Sentence") :])


def test_short_texts_are_one_passage() -> None:
    assert shown(note(" a short note\n")) == ["a short note\n"]
    assert shown(Learning(text="short", kind=LearningKind.FACT, confidence=1)) == ["short"]


def test_lines_and_unbroken_runs_are_cut_where_they_can_be() -> None:
    code = "\n".join(f"value_{number} = compute({number})" for number in range(60))
    assert all(line.startswith("value_") for passage in shown(note(code)) for line in passage.split("\n"))
    assert [len(passage) for passage in shown(note("x" * 2_000))] == [800, 800, 400]
    assert shown(note("好" * 700 + "。" + "是" * 700)) == ["好" * 700 + "。", "是" * 700]


def test_white_space_that_is_a_text_to_the_contract_is_a_passage() -> None:
    assert passages_of(note("\x1c")) == statements_of(note("\x1c")) == [(0, 1)]


@pytest.mark.parametrize("seed", range(40))
def test_every_character_is_in_a_passage_and_in_a_statement_in_order(seed: int) -> None:
    rand = random.Random(seed)
    text = "".join(rand.choice(PIECES) + rand.choice(("", " ")) for _ in range(rand.choice((1, 5, 50, 400))))
    for item in (note(text), talk(*(line or " " for line in text.split("\n")))):
        rendered = item.render_text()
        for spans, size in ((passages_of(item), 800), (statements_of(item), 300)):
            covered = [False] * len(rendered)
            for start, stop in spans:
                assert 0 < stop - start <= size
                covered[start:stop] = [True] * (stop - start)
            assert all(is_in or char.isspace() for is_in, char in zip(covered, rendered, strict=True))
            assert spans == sorted(set(spans))
        assert all(stop <= start for (_, stop), (start, _) in pairwise(statements_of(item)))


def test_statements_are_sentences_lines_and_turns() -> None:
    assert quoted(note("One. Two is 2.5 km!\n- three\n\nfour 五。六")) == [
        "One.",
        "Two is 2.5 km!",
        "- three",
        "four 五。",
        "六",
    ]
    long = sentences(8)
    assert quoted(talk("Yes. No.", long)) == [
        "user: Yes. No.",
        "assistant: Sentence number 0 says something about nothing at all.",
        *(f"Sentence number {number} says something about nothing at all." for number in range(1, 8)),
    ]
    assert [len(part) for part in quoted(note("y" * 650))] == [300, 300, 50]


def test_turns_stand_where_they_are_rendered() -> None:
    item = talk("one\ntwo", "three")
    text = item.render_text()
    assert [text[start:stop] for start, stop in turns_of(item)] == ["user: one\ntwo", "assistant: three"]
