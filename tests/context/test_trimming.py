"""What fits a budget is what the sheet's own loop leaves, whatever was gathered; and what it leaves out is told."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.context import Brief, ContextSpec, Gathered, InvalidSpec, LeftOut, State, Why, estimate, trim
from explorer.context.gathering import Answered
from tests.context import literal
from tests.context.literal import Answer, Line
from tests.context.made import AT, citation, gathered

# Words, every kind of white space, the four characters that only Python takes for some, and characters of 1 to 4 bytes.
CHARS = "ab.é日🎉\u200b" + literal.SPACES + "\x1c\x1d\x1e\x1f"
texts = st.text(st.sampled_from(CHARS + "abcdefgh" * 3 + " " * 8), max_size=260)
ids = st.sampled_from(["a", "bb", "c" * 40, "d" * 64, "e"])
bodies = texts.map(lambda text: text.strip(literal.SPACES) or "x")
answers = st.lists(
    st.builds(Answer, st.text("Hé#", min_size=1, max_size=12), bodies, st.lists(ids, min_size=1)), max_size=5
)
lines = st.lists(st.builds(Line, ids, texts), max_size=12)


def by_the_sheet(found: Gathered, all_answers: Sequence[Answer], all_lines: Sequence[Line], budget: int) -> None:
    wanted = literal.trimmed("reference", AT.text, all_answers, all_lines, budget)
    doc = trim(found, budget, generated_at=AT).doc
    assert (doc.markdown, doc.tokens, doc.refs) == (wanted.markdown, wanted.tokens, wanted.refs)


@settings(max_examples=100, deadline=None)
@given(answers, lines, st.lists(st.integers(1, 400), min_size=1, max_size=8))
def test_what_fits_is_what_the_loop_leaves(
    all_answers: list[Answer], all_lines: list[Line], budgets: list[int]
) -> None:
    found = gathered(all_answers, all_lines)
    for budget in budgets:
        by_the_sheet(found, all_answers, all_lines, budget)


def test_at_each_budget_there_is() -> None:
    all_answers = [
        Answer("One", "word " * 60 + "end", ["a"]),
        Answer("Two", "日本語の文。" * 20, ["b", "a"]),
        Answer("Three", "x" * 230, ["c" * 40]),
    ]
    all_lines = [Line(str(number) * 40, f"line {number} " * number) for number in range(1, 9)]
    found = gathered(all_answers, all_lines)
    for budget in range(1, 480):
        by_the_sheet(found, all_answers, all_lines, budget)
    assert trim(found, 479, generated_at=AT).doc.markdown.count("\n- ") == 8


def test_the_number_of_tokens_counts_itself() -> None:
    # Around 10, 100 and 1 000 tokens, where one digit more makes the document longer.
    for words in (*range(100, 340), *range(3_700, 4_100, 3)):
        text = "x" * words
        doc = trim(gathered([], [Line("a", text)]), 10_000, generated_at=AT).doc
        assert doc.tokens == estimate(doc.markdown)
        assert f"\ntokens: {doc.tokens}\n" in doc.markdown
        assert doc.markdown == literal.trimmed("reference", AT.text, [], [Line("a", text)], 10_000).markdown


def test_a_cut_keeps_words_by_the_bytes_of_their_first_half() -> None:
    # 20 characters of 3 bytes, a space, 40 of 1 byte: in characters the space is in the first half, in bytes not.
    body = "日" * 20 + " " + "x" * 80
    all_answers = [Answer("H", body, ["a"])]
    found = gathered(all_answers)
    whole = trim(found, 1_000, generated_at=AT).doc.tokens
    cut = trim(found, whole - 12, generated_at=AT).doc.markdown
    assert cut.endswith("\n\n" + "日" * 20 + "…\n")
    for budget in range(1, whole + 1):
        by_the_sheet(found, all_answers, [], budget)


def test_python_alone_takes_these_for_white_space() -> None:
    body = "a" * 60 + "\x1f" + "b" * 40
    all_answers = [Answer("H", body, ["a"])]
    found = gathered(all_answers, [Line("l", "x\x1c\x1dy\x85z")])
    for budget in range(20, 80):
        by_the_sheet(found, all_answers, [Line("l", "x\x1c\x1dy\x85z")], budget)
    assert "- x\x1c\x1dy z\n" in trim(found, 1_000, generated_at=AT).doc.markdown


def test_learnings_go_before_briefs_and_the_last_brief_first() -> None:
    found = gathered([Answer("One", "a " * 100 + "a", ["1"]), Answer("Two", "b " * 100 + "b", ["2"])], [Line("3", "c")])
    whole = trim(found, 1_000, generated_at=AT)
    assert [section.state for section in whole.sections] == [State.WHOLE] * 3
    assert whole.left_out == ()

    less = trim(found, whole.doc.tokens - 1, generated_at=AT)
    assert [section.state for section in less.sections] == [State.WHOLE, State.WHOLE, State.DROPPED]
    assert less.doc.refs == ["1", "2"]
    (left,) = less.left_out
    assert (left.id, left.section, left.why, left.text) == ("3", "Learnings", Why.BUDGET, "c")
    assert left.reason == "The token budget had no room for it."

    shortened = trim(found, less.doc.tokens - 10, generated_at=AT)
    assert [section.state for section in shortened.sections] == [State.WHOLE, State.SHORTENED, State.DROPPED]
    assert shortened.sections[1].reason == "Shortened to fit the token budget."

    one = trim(found, less.doc.tokens - 52, generated_at=AT)
    assert [section.state for section in one.sections] == [State.WHOLE, State.DROPPED, State.DROPPED]
    assert one.doc.refs == ["1"]
    assert [(left.id, left.section) for left in one.left_out] == [("2", "Two"), ("3", "Learnings")]


def test_sections_tell_their_share() -> None:
    found = gathered([Answer("One", "a" * 100, ["1", "2", "1"])], [Line("3", "c"), Line("1", "d")], limit=1)
    trimmed = trim(found, 1_000, generated_at=AT)
    one, learnings = trimmed.sections
    assert (one.text, one.tokens) == (f"## One\n\n{'a' * 100}\n", estimate(one.text))
    assert (one.items, one.items_in_all) == (2, 2)
    assert (learnings.text, learnings.items, learnings.items_in_all) == ("## Learnings\n\n- c\n", 1, 2)
    assert (learnings.state, learnings.why) == (State.WHOLE, Why.LIMIT)
    assert learnings.reason == "More are stored than the limit of learnings lets in."
    assert trimmed.doc.markdown.endswith("\n" + one.text + "\n" + learnings.text)
    (left,) = trimmed.left_out
    assert (left.id, left.why) == ("1", Why.LIMIT)

    nothing = trim(found, 1, generated_at=AT)
    assert nothing.doc.markdown == ""
    assert [section.state for section in nothing.sections] == [State.DROPPED, State.DROPPED]
    assert [section.tokens for section in nothing.sections] == [0, 0]


def test_what_is_cut_off_is_told_item_by_item() -> None:
    said = {id: f"{id} says something of some length here" for id in "abcd"}
    body = "From 4 stored items: " + " | ".join(said.values())
    brief = Brief(heading="One", question="?")
    answer = Answered(brief, body, tuple(citation(id, text) for id, text in said.items()))
    found = Gathered(ContextSpec(briefs=[brief]), "reference", (answer,))
    whole = trim(found, 1_000, generated_at=AT).doc.tokens
    trimmed = trim(found, whole - 17, generated_at=AT)
    assert trimmed.sections[0].state is State.SHORTENED
    assert said["b"] in trimmed.doc.markdown
    assert "d says" not in trimmed.doc.markdown
    assert [(left.id, left.why) for left in trimmed.left_out] == [("d", Why.SHORTENED)]


def test_budget_of_zero_is_refused() -> None:
    with pytest.raises(InvalidSpec, match="at least 1"):
        trim(gathered([]), 0, generated_at=AT)


def test_many_lines_take_no_longer_than_one() -> None:
    """Composed anew for each dropped line, sixty documents of 600 000 characters would take hours."""
    dice = random.Random(1)
    all_lines = [Line(f"{number:040}", "words of a learning " * dice.randrange(1, 12)) for number in range(5_000)]
    found = gathered([Answer("One", "a" * 400_000, ["1"])], all_lines)
    for budget in dice.sample(range(1, 300_000), 60):
        trimmed = trim(found, budget, generated_at=AT)
        assert trimmed.doc.tokens <= budget
    assert len(trim(found, 1, generated_at=AT).left_out) == 5_001


def test_how_a_left_out_text_begins_is_one_line() -> None:
    found = gathered([], [Line("1", " a\n\n b" + "c" * 1_000)])
    (left,) = trim(found, 1, generated_at=AT).left_out
    assert isinstance(left, LeftOut)
    assert left.text == "a b" + "c" * 197
