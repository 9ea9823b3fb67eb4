from __future__ import annotations

import pytest

from explorer.ui.markdown import (
    MAX_LINE,
    MAX_MARKS,
    Block,
    BlockKind,
    Side,
    Span,
    blocks,
    is_openable,
    is_too_intricate,
    slices,
)


def only(source: str) -> Block:
    (block,) = blocks(source)
    return block


def outline(source: str) -> list[tuple[str, int, str, str]]:
    """Kind, indent, list sign and text of each block."""
    return [(block.kind.value, block.indent, block.marker, block.text) for block in blocks(source)]


def test_headings_paragraphs_and_rules() -> None:
    found = blocks("# One\ntext of\ntwo lines\n\nTwo\n---\n\n---\n### Three #\n")
    assert [(block.kind, block.level, block.text) for block in found] == [
        (BlockKind.HEADING, 1, "One"),
        (BlockKind.TEXT, 0, "text of two lines"),
        (BlockKind.HEADING, 2, "Two"),
        (BlockKind.RULE, 0, ""),
        (BlockKind.HEADING, 3, "Three"),
    ]


def test_inline_styles() -> None:
    assert only("a *b* **c** `d < e && f` _g_ \\* h").spans == [
        Span("a "),
        Span("b", italic=True),
        Span(" "),
        Span("c", bold=True),
        Span(" "),
        Span("d < e && f", code=True),
        Span(" "),
        Span("g", italic=True),
        Span(" * h"),
    ]


def test_two_blanks_at_the_end_of_a_line_are_a_break() -> None:
    assert only("one  \ntwo").text == "one\ntwo"


def test_html_is_text() -> None:
    for source in (
        '<b>Erase done</b> <img src="http://127.0.0.1:9/p.png" onerror=alert(1)>',
        "<script>alert(1)</script>",
        "<div>\n<a href='javascript:x'>y</a>\n</div>",
        "<!-- hidden -->",
        "<style>a{color:red}</style>",
    ):
        block = only(source)
        assert block.text == source.replace("\n", " ")
        assert all(not span.target and not span.is_image for span in block.spans)


def test_entities_are_read_outside_of_code_only() -> None:
    assert only("&copy; &lt;b&gt; &amp;lt;").text == "© <b> &lt;"
    assert only("`&copy; &lt;`").text == "&copy; &lt;"
    assert only("```\n&lt; &amp;amp; <b>\n```").text == "&lt; &amp;amp; <b>"


@pytest.mark.parametrize(
    ("source", "target", "opens"),
    [
        ("[x](https://a.test/b?c=1&d=2)", "https://a.test/b?c=1&d=2", True),
        ("[x](MAILTO:a@b.test)", "MAILTO:a@b.test", True),
        ("[x](javascript:alert(1))", "javascript:alert(1)", False),
        ("[x](java&#115;cript:alert(1))", "javascript:alert(1)", False),
        ("[x](file:///etc/passwd)", "file:///etc/passwd", False),
        ("[x](data:text/html,hi)", "data:text/html,hi", False),
        ("[x](/relative)", "/relative", False),
        ("[x][r]\n\n[r]: vbscript:x", "vbscript:x", False),
        ("<https://a.test/>", "https://a.test/", True),
    ],
)
def test_only_three_schemes_can_be_opened(source: str, target: str, opens: bool) -> None:
    (span,) = only(source).spans
    assert (span.target, span.opens) == (target, opens)
    assert is_openable(target) is opens


def test_a_broken_address_is_no_error() -> None:
    assert not is_openable("http://[")


def test_an_image_is_its_address() -> None:
    assert only("see ![a plan](file:///etc/passwd) here").spans == [
        Span("see "),
        Span("a plan", target="file:///etc/passwd", is_image=True),
        Span(" here"),
    ]


def test_a_picture_inside_a_link_is_only_a_picture() -> None:
    (span,) = only("[![x](http://a.test/p.png)](javascript:alert(1))").spans
    assert span.is_image
    assert not span.opens


def test_lists_as_people_write_them() -> None:
    assert outline("Intro:\n- a\n- b\n  - b1\n    goes on\n  * b2\n- c\n1. one\n2) two\n\nafter") == [
        ("text", 0, "", "Intro:"),
        ("text", 1, "•", "a"),
        ("text", 1, "•", "b"),
        ("text", 2, "•", "b1 goes on"),
        ("text", 2, "•", "b2"),
        ("text", 1, "•", "c"),
        ("text", 1, "1.", "one"),
        ("text", 1, "2.", "two"),
        ("text", 0, "", "after"),
    ]


def test_numbers_go_on_from_where_they_begin() -> None:
    assert [block.marker for block in blocks("7. a\n8. b\n")] == ["7.", "8."]


def test_code_inside_a_list_stays_in_it() -> None:
    assert outline("1. do\n   ```sh\n   run\n     it\n   ```\n2. done") == [
        ("text", 1, "1.", "do"),
        ("code", 1, "", "run\n  it"),
        ("text", 1, "2.", "done"),
    ]


def test_fences_of_both_kinds_and_without_an_end() -> None:
    assert outline("```py\n# no heading\n~~~\n```\n~~~~\n```\n~~~\n") == [
        ("code", 0, "", "# no heading\n~~~"),
        ("code", 0, "", "```\n~~~"),
    ]


def test_quotes_know_their_depth() -> None:
    assert [(block.quote, block.text) for block in blocks("> one\n>\n> > two\n\nthree")] == [
        (1, "one"),
        (2, "two"),
        (0, "three"),
    ]


def test_tables_right_after_a_line() -> None:
    before, table = blocks("Limits\n| Amount | Who |\n|---|---:|\n| up to 50 | *agent* |\n")
    assert before.text == "Limits"
    assert [[[span.text for span in cell] for cell in row] for row in table.rows] == [
        [["Amount"], ["Who"]],
        [["up to 50"], ["agent"]],
    ]


def test_characters_that_the_library_would_eat_are_kept() -> None:
    odd = "a\x00b\x01c\x02d\x03e\x1bf\u202eg\u2028h\u200bi"
    assert only(odd).text == odd
    assert only(f"`{odd}`").text == odd
    assert only(f"```\n{odd}\n```").text == odd
    assert only("klzzwxh:0001 \x02fence:0\x03 wzxhzdk:0").text == "klzzwxh:0001 \x02fence:0\x03 wzxhzdk:0"


def test_what_would_take_too_long_is_known_before() -> None:
    assert not is_too_intricate("Word [a](b) *c* `d`\n\n" * 5_000)
    assert is_too_intricate("[" * (MAX_MARKS + 1))
    assert is_too_intricate("x" * (MAX_LINE + 1))
    assert is_too_intricate("short\n" * 9_000 + "x" * (MAX_LINE + 1) + "\nshort")
    assert not is_too_intricate(("x" * MAX_LINE + "\n") * 3 + "short\n" + "x" * MAX_LINE)
    half = "*a " * (MAX_MARKS // 2 + 1)
    assert not is_too_intricate(f"{half}\n \t\n{half}"), "in two paragraphs"
    assert is_too_intricate(f"text\n\n{half}\n{half}"), "in one"
    assert is_too_intricate(">" * 500 + "a")
    assert is_too_intricate("".join(" " * (4 * depth) + "- a\n" for depth in range(40)))


def test_slices_are_the_source_cut_between_paragraphs() -> None:
    source = "\n".join(f"para {at} " + "word " * 20 + "\n" for at in range(200))
    parts = list(slices(source, 1_000))
    assert len(parts) > 10
    assert "\n".join(parts) == source
    assert all(part.startswith("para") for part in parts)
    assert [block for part in parts for block in blocks(part)] == blocks(source)


def test_slices_do_not_cut_code_but_where_it_is_endless() -> None:
    code = "```\n" + "a = 1\n\n" * 100 + "```\n"
    assert len(list(slices(code, 300))) == 1
    endless = "```\n" + "a = 1\n\n" * 1_000
    parts = list(slices(endless, 300))
    assert len(parts) > 1
    assert all(block.kind is BlockKind.CODE for part in parts for block in blocks(part))


def test_tables_know_their_sides_and_whether_they_have_a_head() -> None:
    table = only("| A | B | C | D |\n|---|:--|:-:|--:|\n| 1 | 2 | 3 | 4 |\n")
    assert table.has_head
    assert table.sides == [Side.NONE, Side.LEFT, Side.CENTER, Side.RIGHT]
    bare = only("|   |   |\n|---|--:|\n| 1 | 2 |\n")
    assert not bare.has_head
    assert [[cell[0].text for cell in row] for row in bare.rows] == [["1", "2"]]
    assert bare.sides == [Side.NONE, Side.RIGHT]
