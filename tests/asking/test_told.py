"""Answers as text to take elsewhere."""

from __future__ import annotations

from explorer.asking import Answered, By, Mark, Sentence, answer_text, as_markdown, as_text, note_of, sources_text
from explorer.contract import (
    NOTHING_ANSWERS,
    Citation,
    ItemId,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    SourceKind,
    SourceRef,
    Timestamp,
)

META = MemoryMeta(
    namespace=Namespace.parse("team:acme"),
    source=SourceRef(kind=SourceKind.FILE, id="notes.md"),
    observed_at=Timestamp.parse("2024-05-04T12:00:00Z"),
)


def cited(id: str, snippet: str, meta: MemoryMeta = META) -> Citation:
    return Citation(id=ItemId(id), kind=ItemKind.DOCUMENT, snippet=snippet, meta=meta)


def answered(*sentences: Sentence, question: str = "When?", snippet: str = "At\n noon.") -> Answered:
    return Answered(
        question=question,
        filter=MetaFilter(),
        sentences=sentences,
        citations=(cited("a1", snippet), cited("b2", "unused"), cited("c3", "Or at one.", MemoryMeta())),
        read_not_cited=(),
        says_nothing=not sentences,
        by=By.ENGINE,
        model=None,
        elapsed_s=0.0,
    )


WHOLE = answered(
    Sentence("At noon.", (1,), 1.0),
    Sentence("Or at one.", (1, 3), 1.0, begins_line=False),
    Sentence("By train.", (3,), 0.25, Mark.WEAK),
    Sentence("On Mars.", (), 0.0, Mark.UNCITED),
)


def test_plain_text_has_numbered_sources() -> None:
    assert as_text(WHOLE) == (
        "When?\n\n"
        "At noon. [1] Or at one. [1][3]\n"
        "By train. [3] (! its passages hold 25% of its words)\n"
        "On Mars. (! no citation)\n\n"
        "Sources\n"
        "[1] a1 · team:acme · file notes.md · 2024-05-04\n"
        "    “At noon.”\n"
        "[3] c3 · root · agent\n"
        "    “Or at one.”"
    )
    assert as_text(WHOLE) == f"When?\n\n{answer_text(WHOLE)}\n\nSources\n{sources_text(WHOLE)}"


def test_markdown_has_numbered_sources() -> None:
    assert as_markdown(WHOLE) == (
        "## When?\n\n"
        "- At noon. \\[1\\] Or at one. \\[1\\]\\[3\\]\n"
        "- By train. \\[3\\] (! its passages hold 25% of its words)\n"
        "- On Mars. (! no citation)\n\n"
        "### Sources\n\n"
        "- \\[1\\] a1 · team:acme · file notes.md · 2024-05-04\n"
        "  > At noon.\n"
        "- \\[3\\] c3 · root · agent\n"
        "  > Or at one."
    )


def test_stored_text_is_no_markup() -> None:
    hostile = "# x\n- [a](https://evil.example) <img src=x> `code` *b* _c_ ~~d~~ |e| &amp; ![p](q) \\"
    text = as_markdown(answered(Sentence(hostile.replace("\n", " "), (1,), 1.0), question=hostile, snippet=hostile))
    for line in text.splitlines():
        for sign in "[]<>`*_~|&":
            bare = line.removeprefix("  > ").replace("\\\\", "").replace(f"\\{sign}", "")
            assert sign not in bare, line
    assert "\n# x" not in text


def test_nothing_is_said_as_such() -> None:
    nothing = answered()
    assert as_text(nothing) == f"When?\n\n{NOTHING_ANSWERS}"
    assert as_markdown(nothing) == f"## When?\n\n{NOTHING_ANSWERS}"
    assert sources_text(nothing) == ""


def test_marks_in_words() -> None:
    assert note_of(Sentence("x", (1,), 1.0)) is None
    assert note_of(Sentence("x", (1,), 1.0, Mark.OUT_OF_RANGE)) == "cites a passage that is not there"
