"""Cutting a long document into pieces, at pages and headings where it has them.

Source: cortex, sections 3.1 and 3.2. Sizes are bytes of the text as JSON writes it inside a string.
"""

from __future__ import annotations

import re
from bisect import bisect_right
from collections.abc import Iterator
from dataclasses import dataclass
from json.encoder import encode_basestring

from explorer.contract.model import WHITE_SPACE, is_blank

PAGE_BREAK = "\f"
TARGET = 256 * 1024
LIMIT = 768 * 1024
MAX_SECTION = 120
"""Characters of a section's title."""

SECTION_RESERVE = MAX_SECTION * 6 + 32
"""Bytes to keep free for a section, whose title is known only once the text is cut."""

_LONGEST = 6  # bytes of one character, when it is written as \u00xx

_HEADING = re.compile(r"(?:\A|(?<=[\n\f])) {0,3}#{1,6} ")
_WHITE = re.compile(f"[{WHITE_SPACE}]*")


@dataclass(frozen=True, slots=True)
class Piece:
    """A slice of the body; `pages` are counted from one, both included, None in a text without page breaks."""

    text: str
    pages: tuple[int, int] | None
    section: str | None


@dataclass(frozen=True, slots=True)
class _Unit:
    text: str
    page: int
    section: str | None


_Sized = tuple[str, int]
"""A text and its escaped length."""


def escaped_length(text: str) -> int:
    """The bytes of `text` inside a JSON string."""
    return len(encode_basestring(text).encode("utf-8")) - 2


def budget(overhead: int, target: int = TARGET, limit: int = LIMIT) -> int | None:
    """The bytes to fill a piece with, beside `overhead` bytes of envelope; None where there is no room for any."""
    room = limit - overhead
    if room < _LONGEST:
        return None
    wanted = target - overhead
    return min(wanted, room) if wanted >= _LONGEST else room


def cut(text: str, overhead: int, target: int = TARGET, limit: int = LIMIT) -> list[Piece] | None:
    """The pieces of `text`, which concatenate to it: one where it fits, None where the envelope leaves no room.

    With a target of 0 each unit is a piece of its own.
    """
    pack = budget(overhead, target, limit)
    if pack is None:
        return None
    if target and escaped_length(text) <= pack:
        return [Piece(text, None, None)]
    is_paged = PAGE_BREAK in text
    made: list[Piece] = []
    units: list[_Unit] = []  # of each part
    parts: list[_Sized] = []
    for unit in _units(text):
        fitted = _fitted(unit.text, pack)
        parts += fitted
        units += [unit] * len(fitted)
    for group in _packed(parts, pack if target else 0):
        first, last = units[group.start], units[group.stop - 1]
        made.append(Piece(_joined(parts, group)[0], (first.page, last.page) if is_paged else None, first.section))
    return made


def _units(text: str) -> Iterator[_Unit]:
    """The text between page breaks and headings; a blank stretch belongs to the unit next to it."""
    headings = dict(_headings(text))
    breaks = (found.start() for found in re.finditer(PAGE_BREAK, text))
    begins = sorted({0, *breaks, *headings})
    page, section = 1, None
    start = 0
    held: _Unit | None = None  # what follows may be blank to the end, and then is its
    for begin, end in zip(begins, [*begins[1:], len(text)], strict=True):
        page += text.startswith(PAGE_BREAK, begin)
        section = headings.get(begin, section)
        if is_blank(text[begin:end]):
            continue
        if held is not None:
            yield held
        held = _Unit(text[start if held is not None else 0 : end], page, section)
        start = end
    yield _Unit(text, page, None) if held is None else _Unit(held.text + text[start:], held.page, held.section)


def _headings(text: str) -> Iterator[tuple[int, str]]:
    """Where each heading line begins, and its title."""
    line_end = title_end = -1
    for found in _HEADING.finditer(text):
        if found.end() > line_end:  # several begin in one line where page breaks are in it
            line_end = text.find("\n", found.end())
            if line_end < 0:
                line_end = len(text)
            line = text[found.start() : line_end].rstrip(WHITE_SPACE).rstrip("#").rstrip(WHITE_SPACE)
            title_end = found.start() + len(line)
        white = _WHITE.match(text, found.end())
        begin = white.end() if white is not None else found.end()
        if begin < title_end:
            yield found.start(), text[begin : min(title_end, begin + MAX_SECTION)]


def _fitted(text: str, pack: int) -> list[_Sized]:
    """`text` in parts of at most `pack` bytes: cut after blank lines, else after lines, else anywhere."""
    size = escaped_length(text)
    if size <= pack:
        return [(text, size)]
    for separator in ("\n\n", "\n"):
        lines = text.split(separator)
        parts = [line + separator for line in lines[:-1]] + lines[-1:] * bool(lines[-1])
        if len(parts) > 1:
            finer = [fine for part in parts for fine in _fitted(part, pack)]
            return [_joined(finer, group) for group in _packed(finer, pack)]
    return _by_characters(text, pack)


def _by_characters(text: str, pack: int) -> list[_Sized]:
    parts = []
    while text:
        # A character takes at least one byte.
        most = bisect_right(range(1, min(pack, len(text)) + 1), pack, key=lambda count: escaped_length(text[:count]))
        parts.append((text[:most], escaped_length(text[:most])))
        text = text[most:]
    return parts


def _packed(parts: list[_Sized], pack: int) -> Iterator[range]:
    """Runs of neighbouring parts that fit together, each as long as it can be; one part is always a run."""
    start = size = 0
    for at, (_, length) in enumerate(parts):
        if at > start and size + length > pack:
            yield range(start, at)
            start, size = at, 0
        size += length
    if parts:
        yield range(start, len(parts))


def _joined(parts: list[_Sized], group: range) -> _Sized:
    together = parts[group.start : group.stop]
    return "".join(text for text, _ in together), sum(size for _, size in together)
