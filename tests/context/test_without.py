"""A document seen without some items: learnings leave their list, of a brief goes what only they say."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.context import Brief, ContextCompiler, ContextSpec, Gathered, State, Trimmed, Why, gather, trim
from explorer.context.attributing import pieces_of, without
from explorer.context.gathering import Answered
from explorer.contract import ForgetTarget, ItemId, Timestamp
from explorer.engines import build_engine, file_settings
from tests.context.literal import Line
from tests.context.made import AT, citation, gathered
from tests.fakes import filled, learning


def answered(body: str, **snippets: str) -> Gathered:
    """One brief that was answered so, citing items of these ids for these words."""
    brief = Brief(heading="H", question="Q")
    citations = tuple(citation(id, text) for id, text in snippets.items())
    return Gathered(ContextSpec(briefs=[brief]), "reference", (Answered(brief, body, citations),))


def seen(found: Gathered, *gone: str, budget: int = 10_000) -> Trimmed:
    return trim(found, budget, without=[ItemId(id) for id in gone], generated_at=AT)


def body_of(trimmed: Trimmed) -> str:
    return trimmed.sections[0].text.removeprefix("## H\n\n").removesuffix("\n")


def test_the_next_learning_takes_the_place() -> None:
    found = gathered([], [Line("a", "one"), Line("b", "two"), Line("c", "three"), Line("d", "four")], limit=2)
    trimmed = seen(found, "a")
    assert trimmed.doc.refs == ["b", "c"]
    assert trimmed.doc.markdown.endswith("## Learnings\n\n- two\n- three\n")
    assert [(left.id, left.why) for left in trimmed.left_out] == [("a", Why.WITHOUT), ("d", Why.LIMIT)]
    assert trimmed.left_out[0].reason == "You left it out."
    assert trimmed.sections[0].items_in_all == 4
    assert seen(found).doc.refs == ["a", "b"]  # and it comes back


def test_without_every_learning_there_is_no_list() -> None:
    trimmed = seen(gathered([], [Line("a", "one")]), "a")
    assert trimmed.doc.markdown == ""
    assert (trimmed.sections[0].state, trimmed.sections[0].why) == (State.SKIPPED, Why.WITHOUT)
    assert trimmed.sections[0].reason == "It rests on nothing but what you left out."


def test_an_item_that_is_nowhere_changes_nothing() -> None:
    found = answered("anything that no item says", a="x")
    assert seen(found, "z").doc == seen(found).doc


TEA, BOATS, LIKES = "Tea is green.", "Boats are red.", "likes tea"
HI, NO = "user: Hi.\nassistant: Yes.", "He said “no”, twice."
REFERENCE = f"From 3 stored items: {TEA} | {HI} | {LIKES}"
EMBEDDED = f"- “{TEA}” (4 May 2024)\n- “{NO}”\n- “{LIKES}” (Ann, 4 May 2024; yesterday: 3 May 2024)"
BY_WORDS = "\n\n(Searched by words alone: 404.)"
BULLETS = f"- {TEA} [1]\n- {BOATS} [2]\n- {LIKES} [3]"


@pytest.mark.parametrize(
    ("body", "snippets", "gone", "left"),
    [
        (REFERENCE, (TEA, HI, LIKES), "b", f"From 2 stored items: {TEA} | {LIKES}"),
        (REFERENCE, (TEA, HI, LIKES), "a", f"From 2 stored items: {HI} | {LIKES}"),
        (REFERENCE, (TEA, HI, LIKES), "bc", f"From 1 stored items: {TEA}"),
        (EMBEDDED, (TEA, NO, LIKES), "b", EMBEDDED.replace(f"- “{NO}”\n", "")),
        (EMBEDDED, (TEA, NO, LIKES), "a", EMBEDDED.removeprefix(f"- “{TEA}” (4 May 2024)\n")),
        (EMBEDDED, (TEA, NO, LIKES), "c", f"- “{TEA}” (4 May 2024)\n- “{NO}”"),
        (EMBEDDED, (TEA, NO, LIKES), "bc", f"- “{TEA}” (4 May 2024)"),
        (EMBEDDED + BY_WORDS, (TEA, NO, LIKES), "c", f"- “{TEA}” (4 May 2024)\n- “{NO}”{BY_WORDS}"),
        (EMBEDDED + BY_WORDS, (TEA, NO, LIKES), "bc", f"- “{TEA}” (4 May 2024){BY_WORDS}"),
        (BULLETS, (TEA, BOATS, LIKES), "b", f"- {TEA} [1]\n- {LIKES} [3]"),
        (BULLETS, (TEA, BOATS, LIKES), "c", f"- {TEA} [1]\n- {BOATS} [2]"),
        (BULLETS, (f"All {TEA} So it is.", BOATS, LIKES), "a", f"- {BOATS} [2]\n- {LIKES} [3]"),
        (f"1. {TEA}\n2. {BOATS}\n3. {LIKES}", (TEA, BOATS, LIKES), "b", f"1. {TEA}\n3. {LIKES}"),
        (f"{TEA} {BOATS} {LIKES}", (TEA, BOATS, LIKES), "b", f"{TEA} {LIKES}"),
        ("- 我喜欢绿茶。\n- 船是红色的。", ("我喜欢绿茶。", "船是红色的。"), "a", "- 船是红色的。"),
        ("- Tea  is\n  green.\n- no", (TEA, "no"), "b", "- Tea  is\n  green."),
        # Words that an item says which stays do so too, alike or around those of the one that goes.
        (BULLETS, (TEA, BOATS, LIKES, BOATS), "b", BULLETS),
        (BULLETS, (f"{TEA} {BOATS}", f"So {BOATS}", LIKES), "b", BULLETS),
        (f"- he {LIKES} a lot\n- {BOATS}", (LIKES, f"he {LIKES} a lot", BOATS), "a", f"- he {LIKES} a lot\n- {BOATS}"),
        # Cited without being quoted: only the ref goes.
        (f"- {TEA}", (TEA, BOATS), "b", f"- {TEA}"),
    ],
)
def test_of_a_brief_goes_what_only_the_item_says(body: str, snippets: tuple[str, ...], gone: str, left: str) -> None:
    found = answered(body, **dict(zip("abcd", snippets, strict=False)))
    trimmed = seen(found, *gone)
    assert body_of(trimmed) == left
    assert trimmed.doc.refs == [id for id in "abcd"[: len(snippets)] if id not in gone]
    assert [(one.id, one.section, one.why) for one in trimmed.left_out] == [(id, "H", Why.WITHOUT) for id in gone]
    assert trimmed.sections[0].items_in_all == len(snippets)


@pytest.mark.parametrize(
    "body",
    [
        "Tea is green, and boats, by the way, are red.",  # written by a model, in its own words
        "- Tea is green.\n- Something that nobody said.",
        "A word before. Tea is green. | Boats are red.",
        "Tea is green. | Boats are red. And a word after.",
        "- Teatime\n- Boats are red.",
    ],
)
def test_where_words_cannot_be_told_apart_the_whole_brief_goes(body: str) -> None:
    found = answered(body, a="Tea is green.", b="Boats are red.", c="Tea")
    trimmed = seen(found, "a")
    assert trimmed.doc.markdown == ""
    (section, _) = trimmed.sections
    assert (section.state, section.why, section.items_in_all) == (State.SKIPPED, Why.MIXED, 3)
    assert section.reason == (
        "It rests on an item that you left out, and its words do not tell which of them come from there."
    )
    assert [(left.id, left.why) for left in trimmed.left_out] == [
        ("a", Why.WITHOUT),
        ("b", Why.MIXED),
        ("c", Why.MIXED),
    ]
    assert trimmed.left_out[1].reason == (
        "The section was left out whole, since it also rests on an item that you left out."
    )


def test_a_brief_that_rests_on_nothing_else_goes() -> None:
    for body, gone in (("whatever", "ab"), ("- Tea is green.", "a")):
        trimmed = seen(answered(body, a="Tea is green.", b="Boats are red."), *gone)
        assert trimmed.doc.markdown == ""
        assert (trimmed.sections[0].state, trimmed.sections[0].why) == (State.SKIPPED, Why.WITHOUT)


def test_pieces_lie_in_order_and_apart() -> None:
    found = pieces_of(
        BULLETS, [citation("a", "Boats are red."), citation("b", "Tea is green."), citation("c", "likes")]
    )
    assert found is None  # the third says more than its item
    found = pieces_of(
        BULLETS, [citation("a", "Boats are red."), citation("b", "Tea is green."), citation("c", "He likes tea")]
    )
    assert found is not None
    assert [(BULLETS[piece.start : piece.stop], set(piece.ids)) for piece in found] == [
        *(("Tea is green. [1]", {"b"}), ("Boats are red. [2]", {"a"}), ("likes tea [3]", {"c"}))
    ]


def test_what_stands_for_an_expression_is_only_text() -> None:
    body = "- a.b(c)*[d]\n- e\\1$"
    assert without(body, [citation("a", "a.b(c)*[d]"), citation("b", "e\\1$")], {ItemId("a")}) == "- e\\1$"


async def test_as_if_it_had_never_been_stored() -> None:
    """The reference engine quotes all that it cites, so nothing has to be guessed."""
    items = [learning(text) for text in ("likes tea", "likes boats and tea", "tea at 4 or 7", "boats")]
    items += [learning("dated tea", observed_at=Timestamp.parse("2026-01-01T00:00:00Z"))]
    spec = ContextSpec(
        briefs=[Brief(heading="Tea", question="tea"), Brief(heading="Boats", question="boats")], learnings_limit=3
    )
    engine = await filled(items)
    found = await gather(engine, spec)
    for item in items:
        id = item.fingerprint()
        rest = await filled([one for one in items if one is not item])
        assert trim(found, 1500, without=[id], generated_at=AT).doc == await ContextCompiler.at(AT).compile(rest, spec)


async def test_all_that_an_answer_quotes_of_an_item_goes_with_it(tmp_path: Path) -> None:
    engine = build_engine("sqlite", file_settings(tmp_path / "m.db"), None)
    try:
        twice = learning("The harbour project keeps a tide table. Lunch is at noon. The harbour project keeps a bell.")
        await engine.store_many([twice, learning("The harbour project keeps a log of boats.")])
        spec = ContextSpec(
            briefs=[Brief(heading="H", question="What does the harbour project keep?")], learnings_limit=0
        )
        found = await gather(engine, spec)
        assert {"tide table", "bell", "log of boats"} <= {
            part for part in ("tide table", "bell", "log of boats") if part in seen(found).doc.markdown
        }
        trimmed = seen(found, twice.fingerprint())
        assert body_of(trimmed) == "- “The harbour project keeps a log of boats.”"
    finally:
        await engine.aclose()


async def test_the_embedded_engine_can_be_told_apart(tmp_path: Path) -> None:
    engine = build_engine("sqlite", file_settings(tmp_path / "m.db"), None)
    try:
        receipts = await engine.store_many(
            [learning(f"The harbour project keeps {what}.") for what in ("a tide table", "a log of boats", "a bell")]
        )
        spec = ContextSpec(
            briefs=[Brief(heading="H", question="What does the harbour project keep?")], learnings_limit=0
        )
        found = await gather(engine, spec)
        whole = seen(found)
        assert len(whole.doc.refs) == 3
        trimmed = seen(found, receipts[1].id)
        assert "log of boats" in whole.doc.markdown
        assert "log of boats" not in trimmed.doc.markdown
        assert "a tide table" in trimmed.doc.markdown
        assert "a bell" in trimmed.doc.markdown
        assert trimmed.doc.refs == [id for id in whole.doc.refs if id != receipts[1].id]
        await engine.forget(ForgetTarget(ids=[receipts[1].id]))
        after = seen(await gather(engine, spec))
        assert body_of(trimmed) == body_of(after)
    finally:
        await engine.aclose()


@pytest.mark.parametrize("many", ["[1]" * 40_000, " " * 80_000, "\n" * 80_000, "• " * 40_000])
def test_marks_without_end_between_words_are_looked_at_once(many: str) -> None:
    """Looked at from each of them on, they would take minutes."""
    cited = [citation("a", "Tea is green."), citation("b", "Boats are red.")]
    found = pieces_of(f"- Tea is green. {many}\n- Boats are red.", cited)
    assert found is not None
    assert [set(piece.ids) for piece in found] == [{"a"}, {"b"}]
    pieces_of(f"- {many} tea {many} boats", cited)


def test_a_word_that_is_everywhere_is_a_piece_wherever_it_stands() -> None:
    found = pieces_of("tea " * 20_000, [citation("a", "tea")])
    assert found is not None
    assert len(found) == 20_000
