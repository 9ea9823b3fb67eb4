"""Stored markdown as blocks of plain text with roles: no HTML comes in, and none goes out. Free of Qt.

The library parses, but its output is never used: its tree is read into a handful of block kinds, and whoever draws
them decides on every pixel. HTML in the source is text like any other, an image is only its address, and a link is
one that can be opened only for three schemes.
"""

from __future__ import annotations

import html
import re
from collections.abc import Iterator
from dataclasses import dataclass, field, replace
from enum import StrEnum
from functools import partial
from urllib.parse import urlsplit
from xml.etree.ElementTree import Element

from markdown import Markdown
from markdown.extensions.sane_lists import SaneListExtension
from markdown.extensions.tables import TableExtension
from markdown.preprocessors import Preprocessor

from explorer.text import MARKS

OPENABLE = frozenset({"http", "https", "mailto"})
MAX_DEPTH = 24  # of lists and quotes inside each other; the library recurses and would not come back
MAX_MARKS = 600  # of one kind in one paragraph; beyond that the library's search goes with the square
MAX_LINE = 16_000  # characters; no prose
SLICE = 12_000  # characters parsed at a time: some 80 ms

_HIDDEN = [chr(code) for code in range(0x20) if chr(code) not in "\n\t\r"] + list(MARKS)
_STAND_IN = 0x10F000  # private use: the library eats STX and ETX, and strips some of the others as white space
_OUT = {ord(char): chr(_STAND_IN + at) for at, char in enumerate(_HIDDEN)}
_BACK = {_STAND_IN + at: char for at, char in enumerate(_HIDDEN)}
_LOOKALIKES = dict.fromkeys(_BACK, "\ufffd")
_FENCE = re.compile(r"( *)(`{3,}|~{3,})[ \t]*[^`\n]*$")
_DEEP = re.compile(rf"^(?:[ \t]*>){{{MAX_DEPTH}}}|^ {{{MAX_DEPTH * 4}}}[ ]*[-*+\d]", re.MULTILINE)
_SIGNS = "[]*_`!<\\"
_LINE_END = re.compile(r"(?<![ \t])[ \t]*\n[ \t]*")  # looked for once in a run of blanks, not from each of them on
_SEPARATED = re.compile(r"\n[ \t]*\n")
_ITEM = re.compile(r"( *)([-*+]|\d{1,9}[.)])(?: +(.*)|$)")
_HEADING = re.compile(r" {0,3}#{1,6}(?: |$)")
_UNDERLINE = re.compile(r" {0,3}(?:=+|-+) *$")
_RULE = re.compile(r" {0,3}(?:(?:\* *){3,}|(?:- *){3,}|(?:_ *){3,})$")
_TABLE_RULE = re.compile(r" {0,3}\|?(?: *:?-+:? *\|)+(?: *:?-+:? *)?$")


_SIDE = re.compile(r"text-align: (left|center|right);")  # as the library writes it


class BlockKind(StrEnum):
    HEADING = "heading"
    TEXT = "text"
    CODE = "code"
    RULE = "rule"
    TABLE = "table"


@dataclass(frozen=True)
class Span:
    """Text in one style. A link has its `target`; `opens` tells whether it may be opened. An image is its address."""

    text: str
    bold: bool = False
    italic: bool = False
    code: bool = False
    target: str = ""
    opens: bool = False
    is_image: bool = False


Spans = list[Span]


class Side(StrEnum):
    """Where the text of a table's column stands."""

    NONE = ""
    LEFT = "left"
    CENTER = "center"
    RIGHT = "right"


@dataclass(frozen=True)
class Block:
    """One paragraph or the like. `marker` is its list sign (`•`, `3.`), `indent` and `quote` how deep it stands."""

    kind: BlockKind
    spans: Spans = field(default_factory=list)
    level: int = 0
    """Of a heading: 1 to 6."""
    indent: int = 0
    quote: int = 0
    marker: str = ""
    rows: list[list[Spans]] = field(default_factory=list)
    """Of a table: the head first, if it has one."""
    has_head: bool = False
    sides: list[Side] = field(default_factory=list)
    """Of a table: one for each column."""

    @property
    def text(self) -> str:
        return "".join(span.text for span in self.spans)


def is_openable(target: str) -> bool:
    """Whether a link to `target` may be opened at all."""
    try:
        return urlsplit(target).scheme.lower() in OPENABLE
    except ValueError:
        return False


def is_too_intricate(source: str) -> bool:
    """Whether parsing could take far longer than reading: thousands of signs in one paragraph, or endless nesting."""
    # Of megabytes too, while the window waits: so only what might be any of that is looked at closely.
    may_be_deep = source.count(">") >= MAX_DEPTH or " " * (MAX_DEPTH * 4) in source
    if (may_be_deep and _DEEP.search(source)) or _has_long_line(source):
        return True
    if sum(source.count(sign) for sign in _SIGNS) < MAX_MARKS:
        return False
    crowded = (part for part in source.split("\n\n") if _is_crowded(part))
    return any(_is_crowded(paragraph) for part in crowded for paragraph in _SEPARATED.split(part))


def _has_long_line(source: str) -> bool:
    at = 0
    while len(source) - at > MAX_LINE:
        end = source.rfind("\n", at, at + MAX_LINE + 1)
        if end < 0:
            return True
        at = end + 1
    return False


def _is_crowded(part: str) -> bool:
    return len(part) > MAX_MARKS and any(part.count(sign) > MAX_MARKS for sign in _SIGNS)


def blocks(source: str) -> list[Block]:
    """`source` as blocks in order of reading.

    Raises RecursionError for nesting that the library cannot follow, ValueError for a number of thousands of digits.
    """
    fences = _Fences()
    md = Markdown(extensions=[TableExtension(), SaneListExtension()], output_format="xhtml")
    md.preprocessors.deregister("html_block")
    for name in ("html", "entity", "automail"):
        md.inlinePatterns.deregister(name)
    md.treeprocessors.deregister("prettify")
    md.preprocessors.register(fences, "fences", 25)
    md.preprocessors.register(_Layout(), "layout", 24)
    safe = source.replace("\r\n", "\n").translate(_LOOKALIKES).translate(_OUT)
    lines = safe.split("\n")
    for preprocessor in md.preprocessors:
        lines = preprocessor.run(lines)
    root = md.parser.parseDocument(lines).getroot()
    if root is None:
        return []
    for treeprocessor in md.treeprocessors:
        replaced = treeprocessor.run(root)
        root = root if replaced is None else replaced
    return list(_walk(root, _Place(), fences))


def slices(source: str, size: int = SLICE) -> Iterator[str]:
    """`source` in parts of about `size` characters that can be read one by one: cut between paragraphs, not in code."""
    part: list[str] = []
    length = 0
    fence = ""
    before_blank = False
    for line in _lines(source):
        full = length >= size and before_blank and not fence and line[:1] not in ("", " ", "\t")
        if full or length >= 4 * size:
            yield "\n".join([*part, fence] if fence else part)
            part, length = ([fence] if fence else []), 0
        part.append(line)
        length += len(line) + 1
        before_blank = not line.strip()
        opening = _FENCE.match(line)
        if not fence:
            fence = opening[2] if opening else ""
        elif line.strip().startswith(fence) and not line.strip().strip(fence[0]):
            fence = ""
    yield "\n".join(part)


def _lines(source: str) -> Iterator[str]:
    """As `split`, but one by one: of megabytes only the first part is wanted at once."""
    at = 0
    while (end := source.find("\n", at)) >= 0:
        yield source[at:end]
        at = end + 1
    yield source[at:]


class _Fences(Preprocessor):
    """Takes fenced code out of the source before anything else reads it; an open fence reaches to the end."""

    def __init__(self) -> None:
        super().__init__()
        self.held: list[str] = []

    def run(self, lines: list[str]) -> list[str]:
        kept: list[str] = []
        rest = iter(lines)
        for line in rest:
            opening = _FENCE.match(line)
            if opening is None:
                kept.append(line)
                continue
            indent, fence = len(opening[1]), opening[2]
            closing = re.compile(rf" *{fence[0]}{{{len(fence)},}}[ \t]*$")
            code: list[str] = []
            for inside in rest:
                if closing.match(inside):
                    break
                margin = min(indent, len(inside) - len(inside.lstrip(" ")))
                code.append(inside[margin:])
            else:  # never closed: the library ends every source with empty lines
                while code and not code[-1].strip():
                    code.pop()
            kept += ["", f"{' ' * indent}{self._name(len(self.held))}", ""]
            self.held.append("\n".join(code))
        return kept

    def find(self, text: str | None) -> str | None:
        """The code that stands where `text` stood."""
        name = (text or "").strip()
        if not name.startswith("\x02fence:") or not name.endswith("\x03"):
            return None
        return self.held[int(name[7:-1])]

    @staticmethod
    def _name(at: int) -> str:
        return f"\x02fence:{at}\x03"  # no source can hold it: control characters stand in for others


class _Layout(Preprocessor):
    """Writes what people and models write in the one way that the library reads.

    It wants four spaces a level and an empty line before each list, heading and table; most markdown of today has two
    spaces and no such line. Without the empty lines it also takes a time that goes with the square of the headings.
    """

    def run(self, lines: list[str]) -> list[str]:
        out: list[str] = []
        open_items: list[tuple[int, bool]] = []  # how far each open item is indented, and whether it is numbered
        after_item = False
        for at, raw in enumerate(lines):
            line = raw.expandtabs(4) if raw.strip() else ""  # blanks at the end may mean a break
            after = lines[at + 1] if at + 1 < len(lines) else ""
            was_blank = not out or not out[-1]
            indent = len(line) - len(line.lstrip(" "))
            item = _ITEM.match(line)
            if not line:
                out.append("")
            elif _RULE.match(line) or _HEADING.match(line):
                open_items.clear()
                is_underline = _UNDERLINE.match(line) is not None and not was_blank
                out += [line, ""] if is_underline else ["", line, ""]
            elif item and (open_items or indent <= 3):
                numbered = item[2][0].isdigit()
                depth = len(open_items)
                left: tuple[int, bool] | None = None
                while open_items and indent <= open_items[-1][0] + 1:
                    left = open_items.pop()
                begins = left is None and not open_items
                turns_back = len(open_items) < depth - 1
                other_kind = left is not None and left[1] != numbered
                if begins or turns_back or other_kind or not (was_blank or after_item):
                    out.append("")
                marker = f"{item[2][:-1]}." if numbered else "-"
                out.append(f"{'    ' * len(open_items)}{marker} {item[3] or ''}")
                open_items.append((indent, numbered))
                after_item = True
                continue
            elif open_items and (indent or not was_blank):
                while was_blank and len(open_items) > 1 and indent <= open_items[-1][0]:
                    open_items.pop()
                extra = indent - open_items[-1][0] - 2
                extra = extra if was_blank and extra >= 4 else 0  # code inside the item
                out.append(" " * (4 * len(open_items) + extra) + line.lstrip(" "))
            else:
                open_items.clear()
                if not was_blank and _TABLE_RULE.match(after) and "|" in line:
                    out.append("")
                out.append(line)
                if _UNDERLINE.match(line):
                    out.append("")
            after_item = False
        return out


@dataclass(frozen=True)
class _Place:
    """Where in lists and quotes the walk is, and the sign that its next block gets."""

    indent: int = 0
    quote: int = 0


def _walk(parent: Element, place: _Place, fences: _Fences) -> Iterator[Block]:
    for element in parent:
        yield from _block(element, place, fences)


def _block(element: Element, place: _Place, fences: _Fences) -> Iterator[Block]:
    tag = element.tag
    block = partial(Block, indent=place.indent, quote=place.quote)
    if tag in ("h1", "h2", "h3", "h4", "h5", "h6"):
        yield block(BlockKind.HEADING, _spans(element), level=int(tag[1]))
    elif tag == "pre":
        code = "".join(element.itertext()).removesuffix("\n")
        yield block(BlockKind.CODE, [Span(_code_text(code), code=True)])
    elif tag == "hr":
        yield block(BlockKind.RULE)
    elif tag in ("ul", "ol"):
        yield from _list(element, place, fences)
    elif tag == "blockquote":
        yield from _walk(element, replace(place, quote=place.quote + 1), fences)
    elif tag == "table":
        cells = [list(row) for row in element.iter("tr")]
        rows = [[_spans(cell) for cell in row] for row in cells]
        has_head = any(rows[0])
        sides = [_side(cell) for cell in cells[0]]
        yield block(BlockKind.TABLE, rows=rows if has_head else rows[1:], has_head=has_head, sides=sides)
    elif (fenced := fences.find(element.text)) is not None:
        yield block(BlockKind.CODE, [Span(_restored(fenced), code=True)])
    else:
        yield block(BlockKind.TEXT, _spans(element))


def _side(cell: Element) -> Side:
    found = _SIDE.fullmatch(cell.get("style") or "")
    return Side(found[1]) if found else Side.NONE


def _list(element: Element, place: _Place, fences: _Fences) -> Iterator[Block]:
    """Each item's first block carries the sign; what follows in the item stands under its text."""
    inner = replace(place, indent=place.indent + 1)
    first = int(element.get("start") or 1)
    for at, item in enumerate(element):
        marker = f"{first + at}." if element.tag == "ol" else "•"
        own = Element("p")  # text directly in the item, up to its first block
        own.text = item.text
        tail: list[Element] = []
        for child in item:
            if not tail and child.tag in _INLINE:
                own.append(child)
            else:
                tail.append(child)
        parts = [own] if (own.text or "").strip() or len(own) else []
        found = [block for part in [*parts, *tail] for block in _block(part, inner, fences)]
        if not found:
            found = [Block(BlockKind.TEXT, indent=inner.indent, quote=inner.quote)]
        yield replace(found[0], marker=marker)
        yield from found[1:]


_INLINE = frozenset({"a", "img", "em", "strong", "code", "br", "span", "del"})


def _spans(element: Element) -> Spans:
    return [span for span in _inline(element, Span("")) if span.text or span.is_image]


def _inline(element: Element, style: Span) -> Iterator[Span]:
    if element.text:
        yield _span(element.text, style)
    for child in element:
        if child.tag == "br":
            yield replace(style, text="\n")
        elif child.tag == "img":
            yield Span(_plain(child.get("alt") or ""), target=_restored(child.get("src") or ""), is_image=True)
        else:
            yield from _inline(child, _styled(child, style))
        if child.tail:
            yield _span(child.tail, style)


def _styled(element: Element, style: Span) -> Span:
    match element.tag:
        case "strong":
            return replace(style, bold=True)
        case "em":
            return replace(style, italic=True)
        case "code":
            return replace(style, code=True)
        case "a":
            target = _restored(html.unescape(element.get("href") or ""))
            return replace(style, target=target, opens=is_openable(target))
        case _:
            return style


def _span(text: str, style: Span) -> Span:
    if style.code:
        return replace(style, text=_code_text(text))
    return replace(style, text=_plain(_LINE_END.sub(" ", text)))


def _plain(text: str) -> str:
    return _restored(html.unescape(text))


def _code_text(text: str) -> str:
    """Code as it was written: the library has escaped exactly these three."""
    return _restored(text.replace("&lt;", "<").replace("&gt;", ">").replace("&amp;", "&"))


def _restored(text: str) -> str:
    return text.translate(_BACK)
