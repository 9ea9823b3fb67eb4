"""Two documents beside each other."""

from __future__ import annotations

import pytest

from explorer.context import Change, ContextDoc, compare, trim
from tests.context.literal import Answer, Line
from tests.context.made import AT, gathered


def document(body: str, tokens: int = 9, at: str = "2026-10-02T12:00:00Z", refs: str = "a, b") -> str:
    return f"---\ngenerated_at: {at}\nengine: e\ntokens: {tokens}\nrefs: [{refs}]\n---\n\n# Context\n\n{body}"


def changed(before: str | ContextDoc, after: str | ContextDoc) -> list[tuple[str, str]]:
    return [(line.change.value, line.text) for line in compare(before, after).lines if line.change is not Change.SAME]


def test_time_and_tokens_are_no_content() -> None:
    before, after = document("## H\n\nx\n"), document("## H\n\nx\n", 10, "2027-01-01T00:00:00Z")
    found = compare(before, after)
    assert found.is_same
    assert "\n".join(line.text for line in found.lines) + "\n" == after
    assert changed(document("tokens: 1\n"), document("tokens: 2\n")) == [
        ("removed", "tokens: 1"),
        ("added", "tokens: 2"),
    ]
    assert not compare(before, before.replace("engine: e", "engine: f")).is_same


def test_two_budgets() -> None:
    found = gathered([Answer("H", "word " * 40 + "end", ["a"])], [Line("b", "x"), Line("c", "y")])
    large, small = (trim(found, budget, generated_at=AT).doc for budget in (1_000, 70))
    both = compare(large, small)
    assert both.refs_added == ()
    assert both.refs_removed == ("b", "c")
    went = [line.text for line in both.lines if line.change is Change.REMOVED]
    assert went == ["refs: [a, b, c]", found.briefs[0].body, "", "## Learnings", "", "- x", "- y"]
    came = [line.text for line in both.lines if line.change is Change.ADDED]
    assert came[0] == "refs: [a]"
    assert came[1].endswith("word…")
    assert len(came) == 2
    assert both.is_same is compare(small, large).is_same is False
    assert compare(small, large).refs_added == ("b", "c")


def test_items_are_those_of_the_documents() -> None:
    found = compare(document("x\n", refs="a, b, c"), document("x\n", refs="d, c, a"))
    assert (found.refs_added, found.refs_removed) == (("d",), ("b",))
    assert compare(document("x\n", refs=""), document("x\n")).refs_added == ("a", "b")
    # What only looks like a frontmatter is text.
    assert compare("refs: [a]\n", "refs: [b]\n").refs_added == ()
    assert compare("---\nrefs: [a]\n", "x\n").refs_removed == ()


def test_nothing_is_a_document_too() -> None:
    text = document("## H\n\nx\n")
    found = compare("", text)
    assert [line.change for line in found.lines] == [Change.ADDED] * text.count("\n")
    assert {line.words for line in found.lines} == {()}
    assert compare("", "").lines == ()
    assert compare("", "").is_same
    empty = ContextDoc(markdown="", tokens=0, generated_at=AT, engine="e", refs=[])
    assert compare(text, empty).refs_removed == ("a", "b")


@pytest.mark.parametrize(
    ("before", "after", "went", "came"),
    [
        ("one two three", "one 2 three", ["two"], ["2"]),
        ("one two three four", "one two three", [" four"], []),
        ("one two", "one two and more of it", [], [" and more of it"]),
        ("我喜欢绿茶。", "我喜欢红茶。", ["绿"], ["红"]),
        ("a b c d e f g", "a B c d E f g", ["b", "e"], ["B", "E"]),
        ("entirely other", "nothing of this", [], []),
    ],
)
def test_words_that_differ_in_a_line(before: str, after: str, went: list[str], came: list[str]) -> None:
    removed, added = compare(f"{before}\n", f"{after}\n").lines
    assert (removed.change, added.change) == (Change.REMOVED, Change.ADDED)
    assert [removed.text[start:stop] for start, stop in removed.words] == went
    assert [added.text[start:stop] for start, stop in added.words] == came


def test_a_long_line_is_compared_by_its_ends() -> None:
    words = [f"w{number}" for number in range(6_000)]
    other = [*words[:1_000], *reversed(words[1_000:-1_500]), *words[-1_500:]]
    removed, added = compare(" ".join(words), " ".join(other)).lines
    ((start, stop),) = removed.words
    assert removed.text[:start].split() == words[:1_000]
    assert removed.text[stop:].split() == words[-1_500:]
    assert len(added.words) == 1


def test_other_line_ends_than_lf_are_text() -> None:
    assert changed("a\u2028b\rc\n", "a\u2028b\rd\n") == [("removed", "a\u2028b\rc"), ("added", "a\u2028b\rd")]


@pytest.mark.parametrize("unit", ["line", "word"])
def test_what_is_the_same_again_and_again_is_compared_as_well(unit: str) -> None:
    """Which would take minutes if every place were compared with every other that is the same."""
    end = "\n" if unit == "line" else " "
    one, other = f"a{end}b{end}" * 2_000, f"b{end}b{end}a{end}" * 600
    lines = compare(f"begin{end}{one}stop\n", f"begin{end}{other}stop\n").lines
    left = [line.text for line in lines if line.change is not Change.ADDED]
    right = [line.text for line in lines if line.change is not Change.REMOVED]
    assert "\n".join(left) == f"begin{end}{one}stop"
    assert "\n".join(right) == f"begin{end}{other}stop"
    if unit == "line":
        assert (lines[0].change, lines[-1].change) == (Change.SAME, Change.SAME)
