"""Which words of an answer come from which of its items: what it repeats of their texts word for word.

For seeing a document without an item. An answer is cut into pieces that stand in the citations' snippets, with what
joins them between. Where anything else is said, nothing is known of where it comes from.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Sequence
from dataclasses import dataclass
from itertools import pairwise

from explorer.contract import Citation, ItemId
from explorer.contract.model import WHITE_SPACE, collapsed, trimmed

_SPACE = f"[{WHITE_SPACE}]"
_LETTER = r"[^\W\u2e80-\ua4ff\uac00-\ud7ff\uf900-\ufaff]"
"""One of a word that white space ends; Chinese and Japanese ones stand beside one another."""
_MARK = re.compile(rf"{_SPACE}*(?:\[\d+\])+")
"""A citation's number after what it belongs to."""
_LEAD = re.compile(rf"[^\n]*:{_SPACE}*[“\"]?")
"""What comes before the first piece: `From 3 stored items: `."""
_TAIL = re.compile(rf"[”\"]?{_SPACE}*\([^()]*\)")
"""What may come after the last one: `(Searched by words alone.)`."""
_NUMBERED = re.compile(r"^\s*\d+[.)]\s", re.MULTILINE)
"""The number of a list's line."""
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
    found = _whole_snippets(body, citations)
    snippets = [(cited.id, collapsed(cited.snippet)) for cited in citations]
    at = 0
    for piece in [*found, Piece(len(body), len(body), frozenset())]:
        for start, stop in _between(body, at, piece.start):
            words = collapsed(body[start:stop])
            said = _as_words(words)
            ids = frozenset(id for id, snippet in snippets if said.search(snippet))
            if ids:
                found.append(Piece(start, stop, ids))
        at = piece.stop
    found = [_with_mark(body, piece) for piece in sorted(found, key=lambda piece: piece.start)]
    return tuple(found) if found and _is_all(body, found) else None


def without(body: str, citations: Sequence[Citation], gone: Collection[ItemId]) -> str | None:
    """What is left of an answer without the pieces that only the items `gone` say; None where that cannot be told."""
    pieces = pieces_of(body, citations)
    if pieces is None:
        return None
    left = [piece for piece in pieces if not piece.ids <= set(gone)]
    if not left:
        return ""
    lead = body[: pieces[0].start]
    before = len({cited.id for cited in citations})
    after = len({cited.id for cited in citations if cited.id not in gone})
    made = [re.sub(rf"\b{before}\b", str(after), lead)]
    for number, piece in enumerate(pieces):
        if piece in left:
            made += [
                body[pieces[number - 1].stop : piece.start] if len(made) > 1 else "",
                body[piece.start : piece.stop],
            ]
    made.append(body[pieces[-1].stop :])
    return trimmed("".join(made))


def _whole_snippets(body: str, citations: Sequence[Citation]) -> list[Piece]:
    """Where the snippets stand whole, the longest first, so that one inside another is part of that."""
    by_text: dict[str, set[ItemId]] = {}
    for cited in citations:
        if text := collapsed(cited.snippet):
            by_text.setdefault(text, set()).add(cited.id)
    found: list[Piece] = []
    for text in sorted(by_text, key=len, reverse=True):
        for match in _as_words(text).finditer(body):
            if all(match.end() <= piece.start or piece.stop <= match.start() for piece in found):
                found.append(Piece(match.start(), match.end(), frozenset(by_text[text])))
    return sorted(found, key=lambda piece: piece.start)


def _as_words(text: str) -> re.Pattern[str]:
    """Where `text` stands with any white space in it, and not as a part of words."""
    return re.compile(rf"(?<!{_LETTER}){rf'{_SPACE}+'.join(map(re.escape, text.split(' ')))}(?!{_LETTER})")


def _between(body: str, start: int, stop: int) -> list[tuple[int, int]]:
    """The parts with words of what lies between two pieces, without what surrounds their words."""
    ends = [(match.start(), match.end()) for match in _JOINTS.finditer(body, start, stop)]
    parts = zip([start, *(end for _, end in ends)], [*(begin for begin, _ in ends), stop], strict=True)
    found = []
    for begin, end in parts:
        text = re.sub(
            r"^(?:[\s*+•-]|\d+[.)]\s)+|\s*(?:\[\d+\]\s*)+$", lambda match: " " * len(match[0]), body[begin:end]
        )
        if any(map(str.isalnum, text)):
            found.append((begin + len(text) - len(text.lstrip()), begin + len(text.rstrip())))
    return found


def _with_mark(body: str, piece: Piece) -> Piece:
    mark = _MARK.match(body, piece.stop)
    return Piece(piece.start, mark.end(), piece.ids) if mark else piece


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
