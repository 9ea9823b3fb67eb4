"""An answer's text taken apart: statements, and the numbers of the passages that each rests on."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from itertools import islice

from explorer.asking.answered import MIN_SUPPORT, Mark, Sentence
from explorer.asking.loose import Loose
from explorer.asking.overlap import Terms, share_held, terms_of, words_of
from explorer.contract.model import collapsed

_MARK = r"[\[【]\^?\d{1,4}(?:\s*[,;–-]\s*\^?\d{1,4})*[\]】]"
_MARKS = re.compile(_MARK)
_ENTRY = re.compile(r"(\d+)(?:\s*[–-]\s*\^?(\d+))?")
_AT_END = re.compile(rf"{_MARK}$")
_WITH_SPACE = re.compile(rf"(?<!\s)\s*{_MARK}")
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
MOST_SENTENCES = 300
"""Of an answer; where it has more, an ellipsis follows."""
_MOST_COUNTED = 200_000
"""Characters of a passage, and of a sentence, whose words are counted: engines may cite whole items, however long."""


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
    return [collapsed(found[1]) for line in answer.split("\n") if (found := _QUOTED.fullmatch(line.strip()))]


def by_quotes(answer: str, snippets: Sequence[str]) -> tuple[Sentence, ...]:
    """An engine's own answer: what it quotes word for word, what it marks by numbers, and else by the words shared.

    `snippets` are those of its citations, in order.
    """
    held = [terms_of(snippet[:_MOST_COUNTED]) for snippet in snippets]
    return _limited(_weighed(piece, held) for piece in _joined(_quoting(answer, snippets)))


def _weighed(piece: _Piece, held: Sequence[Terms]) -> Sentence:
    """As it is marked; without marks, as resting on the passages that hold most of its words."""
    if not piece.cites or piece.is_out_of_range:
        words = words_of(piece.text[:_MOST_COUNTED])
        shares = [share_held(words, terms) for terms in held]
        least = max(MIN_SUPPORT, _NEAR_BEST * max(shares, default=0.0))
        best = sorted(range(len(shares)), key=lambda at: (-shares[at], at))[:_MOST_CITED]
        cites = tuple(sorted(at + 1 for at in best if shares[at] >= least))
        piece = _Piece(piece.text, piece.begins_line, cites)
    return _judged(piece, held)


def by_marks(answer: str, passages: Sequence[str]) -> tuple[Sentence, ...]:
    """An answer that was to mark each sentence with the numbers of its passages: only the marks count."""
    held = [terms_of(passage) for passage in passages]
    pieces = (piece for line in answer.split("\n") for piece in _marked(line, len(passages)))
    return _limited(_judged(piece, held) for piece in _joined(pieces))


def _limited(sentences: Iterable[Sentence]) -> tuple[Sentence, ...]:
    some = tuple(islice(sentences, MOST_SENTENCES + 1))
    return some if len(some) <= MOST_SENTENCES else (*some[:MOST_SENTENCES], Sentence("…"))


def _judged(piece: _Piece, held: Sequence[Terms]) -> Sentence:
    support = 1.0
    if not piece.is_quote:
        cited: Terms = frozenset().union(*(held[number - 1] for number in piece.cites))
        support = share_held(words_of(piece.text[:_MOST_COUNTED]), cited)
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
        numbers.setdefault(collapsed(snippet), []).append(number)
    at = 0
    for quote in _quotes(answer, list(filter(None, numbers))):
        yield from _plain(answer[at : quote.start], len(snippets))
        # The quote itself may hold what looks like a mark.
        text = answer[quote.start : quote.end] + _WITH_SPACE.sub("", answer[quote.end : quote.stop])
        yield _Piece(collapsed(text), True, tuple(numbers[quote.said]), is_quote=True)
        at = quote.stop
    yield from _plain(answer[at:], len(snippets))


def _plain(text: str, count: int) -> Iterator[_Piece]:
    for line in text.split("\n"):
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
    """Where a collapsed snippet stands in an answer, in order; of those at one place, the longest."""
    loose = Loose(answer)
    following: dict[str, tuple[int, int]] = {}
    waiting = list(snippets)
    at = 0
    while True:
        for snippet in waiting:
            if (found := _next(loose, snippet, at)) is not None:
                following[snippet] = found
        if not following:
            return
        said, (start, end) = min(following.items(), key=lambda one: (one[1][0], -one[1][1]))
        after = _AFTER.match(answer, end)
        stop = after.end() if after else end
        is_opened = start > at and answer[start - 1] in _OPENING
        yield _Quote(said, start - is_opened, end, stop)
        at = stop
        waiting = [snippet for snippet, (start, _) in following.items() if start < at]
        for snippet in waiting:
            del following[snippet]


def _next(loose: Loose, snippet: str, at: int) -> tuple[int, int] | None:
    """The next place of a snippet; of a short one, the next in quotes."""
    if next(islice(filter(str.isalnum, snippet), _MIN_QUOTE - 1, None), None) is not None:
        return loose.find(snippet, at)
    quoted = (loose.find(f"{opening}{snippet}{closing}", at) for opening in _OPENING for closing in _CLOSING)
    start, end = min(filter(None, quoted), default=(-1, -1))
    return (start + 1, end - 1) if start >= 0 else None


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
