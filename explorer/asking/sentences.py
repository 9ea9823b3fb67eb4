"""An answer's text taken apart: statements, and the numbers of the passages that each rests on."""

from __future__ import annotations

import re
from collections.abc import Iterator, Sequence
from dataclasses import dataclass

from explorer.asking.answered import MIN_SUPPORT, Mark, Sentence
from explorer.asking.overlap import Terms, share_held, terms_of, words_of
from explorer.contract.model import collapsed

_MARK = r"[\[【]\^?\d{1,4}(?:\s*[,;–-]\s*\^?\d{1,4})*[\]】]"
_MARKS = re.compile(_MARK)
_ENTRY = re.compile(r"(\d+)(?:\s*[–-]\s*\^?(\d+))?")
_AT_END = re.compile(rf"{_MARK}$")
_WITH_SPACE = re.compile(rf"\s*{_MARK}")
# What ends a sentence: with the quotes that close after it, and the marks that belong to it.
_END = re.compile(
    rf"(?:(?<![.!?…])[.!?…]+[\"'”’»)\]*_]*(?:\s*{_MARK})*(?=\s|$)|(?<![。！？])[。！？]+[」』”’）]*(?:\s*{_MARK})*)"
)
_SHORT = re.compile(r"(?:^|[\s(])(?:[A-Z]|Mr|Mrs|Ms|Dr|Prof|St|Jr|Sr|vs|etc|e\.g|i\.e|approx|No|Nr|z\.B|ca|[ap]\.m)\.$")
_BULLET = re.compile(r"\s*(?:[-*+•]|#{1,6}|>|\d{1,3}[.)])\s+")
_MIN_QUOTE = 20
"""Letters and digits of a snippet that does not stand in an answer by chance; a shorter one must be in quotes there."""
_OPENING = ("“", '"', "«", "„")
_CLOSING = ("”", '"', "»", "“")
_QUOTED = re.compile(r"(?:[-*+•]\s+)?[“«„\"](.+)[”»“\"](?:\s*\([^()]{1,200}\))?")
_AFTER = re.compile(rf"[{''.join(_CLOSING)}]?(?:\s*\([^()\n]{{1,200}}\))?(?:\s*{_MARK})*")
"""What belongs to a quote after it: its end, who said it and when, its marks."""
_MOST_CITED = 3
"""Passages that a sentence without marks is taken to rest on, at most."""
_NEAR_BEST = 0.9
"""The part of the best passage's share that a further one needs there."""
_MAX_RANGE = 50
_MOST_LOOKED_AT = 40
"""Characters before the end of a sentence that say whether it is one."""


@dataclass(frozen=True, slots=True)
class _Piece:
    text: str
    begins_line: bool
    cites: tuple[int, ...] = ()
    is_out_of_range: bool = False
    is_quote: bool = False
    """Whether it is what its passages say, word for word; with who said it, or when."""


def apart(answer: str) -> tuple[str, str | None]:
    """An answer, and what its engine says of it: in parentheses, on a line of its own at the end."""
    said, _, last = answer.rstrip().rpartition("\n")
    if said and last.startswith("(") and last.endswith(")"):
        return said.rstrip(), last[1:-1]
    return answer, None


def quotes_in(answer: str) -> list[str]:
    """What an answer gives in quotation marks as a bullet or a line of its own, without line breaks."""
    return [collapsed(found[1]) for line in answer.splitlines() if (found := _QUOTED.fullmatch(line.strip()))]


def by_quotes(answer: str, snippets: Sequence[str]) -> tuple[Sentence, ...]:
    """An engine's own answer: what it quotes word for word, what it marks by numbers, and else by the words shared.

    `snippets` are those of its citations, in order.
    """
    held = [terms_of(snippet) for snippet in snippets]
    sentences: list[Sentence] = []
    for piece in _joined(_quoting(answer, snippets)):
        if piece.cites and not piece.is_out_of_range:
            sentences.append(_judged(piece, held))
            continue
        words = words_of(piece.text)
        shares = [share_held(words, terms) for terms in held]
        least = max(MIN_SUPPORT, _NEAR_BEST * max(shares, default=0.0))
        best = sorted(range(len(shares)), key=lambda at: (-shares[at], at))[:_MOST_CITED]
        cites = tuple(sorted(at + 1 for at in best if shares[at] >= least))
        sentences.append(_judged(_Piece(piece.text, piece.begins_line, cites), held))
    return tuple(sentences)


def by_marks(answer: str, passages: Sequence[str]) -> tuple[Sentence, ...]:
    """An answer that was to mark each sentence with the numbers of its passages: only the marks count."""
    held = [terms_of(passage) for passage in passages]
    pieces = (piece for line in answer.splitlines() for piece in _marked(line, len(passages)))
    return tuple(_judged(piece, held) for piece in _joined(pieces))


def _judged(piece: _Piece, held: Sequence[Terms]) -> Sentence:
    words = words_of(piece.text)
    cited: Terms = frozenset().union(*(held[number - 1] for number in piece.cites))
    support = 1.0 if piece.is_quote else share_held(words, cited)
    mark = None
    if piece.is_out_of_range:
        mark = Mark.OUT_OF_RANGE
    elif not piece.cites:
        mark = Mark.UNCITED
    elif support < MIN_SUPPORT:
        mark = Mark.WEAK
    return Sentence(piece.text, piece.cites, support, mark, piece.begins_line)


def _quoting(answer: str, snippets: Sequence[str]) -> Iterator[_Piece]:
    """The answer in pieces: lines, or parts of lines, that hold a whole snippet; the rest sentence by sentence."""
    numbers: dict[str, list[int]] = {}
    for number, snippet in enumerate(snippets, 1):
        numbers.setdefault(" ".join(snippet.split()), []).append(number)
    at = 0
    for quote in _quotes(answer, list(numbers)):
        yield from _plain(answer[at : quote.start], len(snippets))
        # The quote itself may hold what looks like a mark.
        text = answer[quote.start : quote.end] + _WITH_SPACE.sub("", answer[quote.end : quote.stop])
        yield _Piece(collapsed(text), True, tuple(numbers[quote.said]), is_quote=True)
        at = quote.stop
    yield from _plain(answer[at:], len(snippets))


def _plain(text: str, count: int) -> Iterator[_Piece]:
    for line in text.splitlines():
        yield from _marked(line, count)


@dataclass(frozen=True, slots=True)
class _Quote:
    said: str
    start: int
    end: int
    """Where the quote itself ends."""
    stop: int
    """Where what belongs to it ends."""


def _quotes(answer: str, snippets: Sequence[str]) -> Iterator[_Quote]:
    """Where a snippet stands in an answer, white space aside, in order; of those at one place, the longest."""
    longest_first = sorted(filter(None, snippets), key=len, reverse=True)
    if not longest_first:
        return
    at = 0
    for place in re.finditer("|".join(map(_pattern, longest_first)), answer):
        after = _AFTER.match(answer, place.end())
        stop = after.end() if after else place.end()
        is_opened = place.start() > 0 and answer[place.start() - 1] in _OPENING
        start = place.start() - is_opened
        if start >= at:
            yield _Quote(collapsed(place[0]), start, place.end(), stop)
            at = stop


def _pattern(snippet: str) -> str:
    words = r"\s+".join(map(re.escape, snippet.split()))
    if sum(map(str.isalnum, snippet)) >= _MIN_QUOTE:
        return words
    return rf"(?<=[{''.join(_OPENING)}]){words}(?=[{''.join(_CLOSING)}])"


def _marked(line: str, count: int) -> Iterator[_Piece]:
    """The sentences of one line, with the numbers that they are marked with."""
    bullet = _BULLET.match(line)
    line = collapsed(line[bullet.end() :] if bullet else line)
    begins = True
    for part in _split(line):
        cites, is_out_of_range = _numbers(part, count)
        text = collapsed(_WITH_SPACE.sub("", part))
        if any(map(str.isalnum, text)):
            yield _Piece(text, begins, cites, is_out_of_range)
            begins = False


def _split(line: str) -> Iterator[str]:
    start = 0
    for end in _END.finditer(line):
        lately = line[max(start, end.start() - _MOST_LOOKED_AT) : end.start()]
        # A mark ends a sentence, however the next one begins.
        is_marked = _MARKS.search(end[0]) is not None or _AT_END.search(lately) is not None
        following = line[end.end() : end.end() + 2].lstrip()
        if is_marked or not (following[:1].islower() or _SHORT.search(f"{lately}.")):
            yield line[start : end.end()]
            start = end.end()
    if line[start:].strip():
        yield line[start:]


def _numbers(text: str, count: int) -> tuple[tuple[int, ...], bool]:
    """The passages that a text is marked with, and whether it names others, that are not there."""
    found: set[int] = set()
    for mark in _MARKS.findall(text):
        for first, last in _ENTRY.findall(mark):
            begin, end = int(first), int(last or first)
            found.update(range(begin, min(end, begin + _MAX_RANGE) + 1))
    known = {number for number in found if 1 <= number <= count}
    return tuple(sorted(known)), known != found


def _joined(pieces: Iterator[_Piece]) -> Iterator[_Piece]:
    """With what only leads to the next piece, such as `The notes say:`, put before it."""
    lead: _Piece | None = None
    for piece in pieces:
        if lead is not None:
            piece = _Piece(f"{lead.text} {piece.text}", lead.begins_line, piece.cites, piece.is_out_of_range)
            lead = None
        if piece.text.endswith((":", "：")) and not piece.cites:
            lead = piece
        else:
            yield piece
    if lead is not None:
        yield lead
