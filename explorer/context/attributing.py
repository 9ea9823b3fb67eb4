"""Which words of an answer come from which of its items: what it repeats of their texts word for word.

For seeing a document without an item. An answer is cut into pieces that stand in the citations' snippets, with what
joins them between. Where anything else is said, nothing is known of where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from explorer.contract import Citation, ItemId
from explorer.contract.model import WHITE_SPACE, collapsed, trimmed

_SPACE = f"[{WHITE_SPACE}]"
_WORD = re.compile(f"[^{WHITE_SPACE}]+")
_LETTER = re.compile(r"[^\W\u2e80-\ua4ff\uac00-\ud7ff\uf900-\ufaff]")
"""One of a word that white space ends; Chinese and Japanese ones stand beside one another."""
_MARK = re.compile(rf"{_SPACE}*(?:\[\d+\])+")
"""A citation's number after what it belongs to."""
_BULLET = "- “"
"""How a line of the embedded engine's answers begins, which is one quote."""
_REMARK = re.compile(r"”(?: \([^()\n]*\))?(?=\n|$)")
"""How such a line ends: perhaps with who said it, and when."""
_LEAD = re.compile(rf"[^\n]*:{_SPACE}*[“\"]?")
"""What comes before the first piece: `From 3 stored items: `."""
_TAIL = re.compile(rf"[”\"]?{_SPACE}*\([^()]*\)")
"""What may come after the last one: `(Searched by words alone.)`."""
_NUMBERED = re.compile(r"^[^\S\n]*\d+[.)]\s", re.MULTILINE)
"""The number of a list's line."""
_BULLETS = re.compile(r"(?:[\s*+•-]|\d+[.)]\s)+")
"""What stands before the words of a list's line."""
_MARKS_BACKWARDS = re.compile(r"\s*(?:\]\d+\[\s*)*")
"""The numbers of citations after some words. From the end: forwards each of many would be looked at again and again."""
_JOINTS = re.compile(r"\n+|[“”\"]+| \| |(?<=[.!?。！？…])\s+")
"""Where an answer may change from one item to another."""


@dataclass(frozen=True, slots=True)
class Piece:
    """Characters `start` to `stop` of an answer, which the items `ids` say too."""

    start: int
    stop: int
    ids: frozenset[ItemId]


def pieces_of(body: str, citations: Sequence[Citation]) -> tuple[Piece, ...] | None:
    """The pieces of an answer, in order; None where some of it cannot be told."""
    snippets = [(cited.id, collapsed(said)) for cited in citations for said in (cited.snippet, *cited.further)]
    spans = _whole_snippets(body, {snippet for _, snippet in snippets if snippet})
    at = 0
    for start, stop in [*spans, (len(body), len(body))]:
        spans += _between(body, at, start)
        at = stop
    found = []
    for start, stop in sorted(spans):
        words = collapsed(body[start:stop])
        # What is an item's whole snippet is quoted from that one, though a longer one may hold it too.
        ids = frozenset(id for id, snippet in snippets if snippet == words)
        ids = ids or frozenset(id for id, snippet in snippets if any(True for _ in _places(words, snippet)))
        if ids:
            mark = (_REMARK if body[:start].endswith(_BULLET) else _MARK).match(body, stop)
            found.append(Piece(start, mark.end() if mark else stop, ids))
    return tuple(found) if found and _is_all(body, found) else None


def without(body: str, citations: Sequence[Citation], gone: Collection[ItemId]) -> str | None:
    """What is left of an answer without the pieces that only the items `gone` say; None where that cannot be told."""
    pieces = pieces_of(body, citations)
    if pieces is None:
        return None
    left = [piece for piece in pieces if not piece.ids <= set(gone)]
    if not left:
        return ""
    before = len({cited.id for cited in citations})
    after = len({cited.id for cited in citations if cited.id not in gone})
    lead = re.sub(rf"\b{before}\b", str(after), body[: pieces[0].start])
    made = lead + body[left[0].start : left[0].stop]
    for one, other in pairwise(pieces):
        if other in left[1:]:
            made += body[one.stop : other.stop]
    return trimmed(made + body[pieces[-1].stop :])


def _whole_snippets(body: str, snippets: Collection[str]) -> list[tuple[int, int]]:
    """Where snippets stand whole, in any white space; the longest first, so that one inside another is part of that."""
    words = [match.span() for match in _WORD.finditer(body)]
    flat = " ".join(body[start:stop] for start, stop in words)
    places = [place for start, stop in words for place in range(start, stop + 1)]  # in `body`, of each of `flat`
    taken = bytearray(len(body))
    found: list[tuple[int, int]] = []
    for text in sorted(snippets, key=len, reverse=True):
        for at in _places(text, flat):
            start, stop = places[at], places[at + len(text) - 1] + 1
            if taken.find(1, start, stop) < 0:
                taken[start:stop] = bytes([1]) * (stop - start)
                found.append((start, stop))
    return sorted(found)


def _places(part: str, text: str) -> Iterator[int]:
    """Where `part` stands in `text` and does not begin or end within a word."""
    at = text.find(part)
    while at >= 0:
        end = at + len(part)
        if not (_is_inside(text[at - 1 : at], part[0]) or _is_inside(text[end : end + 1], part[-1])):
            yield at
        at = text.find(part, at + 1)


def _is_inside(beyond: str, char: str) -> bool:
    return _LETTER.match(beyond) is not None and _LETTER.match(char) is not None


def _between(body: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The parts with words of what lies between two pieces, without what surrounds their words."""
    ends = [(match.start(), match.end()) for match in _JOINTS.finditer(body, start, stop)]
    parts = zip([start, *(end for _, end in ends)], [*(begin for begin, _ in ends), stop], strict=True)
    found = []
    for begin, end in parts:
        text = body[begin:end]
        before, after = _BULLETS.match(text), _MARKS_BACKWARDS.match(text[::-1])
        first, last = before.end() if before else 0, len(text) - (after.end() if after else 0)
        if any(map(str.isalnum, text[first:last])):
            found.append((begin + first, begin + last))
    return found


def _is_all(body: str, pieces: Sequence[Piece]) -> bool:
    """Whether nothing but what joins them stands beside the pieces."""
    lead, tail = body[: pieces[0].start], body[pieces[-1].stop :]
    joints = [body[one.stop : other.start] for one, other in pairwise(pieces)]
    return (
        (not _has_words(lead) or _LEAD.fullmatch(lead) is not None)
        and (not _has_words(tail) or _TAIL.fullmatch(tail) is not None)
        and not any(map(_has_words, joints))
    )


def _has_words(text: str) -> bool:
    return any(map(str.isalnum, _NUMBERED.sub("", text)))
