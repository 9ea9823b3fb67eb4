"""An answer without a model: what the best items say that holds most of the question, in their own words.

Whether anything answers is judged by the evidence: the share of the question's words that a statement holds, and how
near its item is in meaning. What is near in words and meaning but answers another question passes for an answer: what
a question wrongly takes for granted is not noticed. The bounds are measured: tests/benchmarks/bench_quality.py.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from explorer.contract import NOTHING_ANSWERS, Conversation, StoreItem
from explorer.contract.model import collapsed
from explorer.engines.sqlite.passages import Span, statements_of, turns_of
from explorer.engines.sqlite.search import COMMON
from explorer.engines.sqlite.sought import Sought
from explorer.engines.sqlite.tokens import MAX_UNITS, Query, Unit

_MAX_QUOTED = 8
"""Statements in an answer, however many items are cited."""
_BY_WORDS = 0.25
"""The share of a question that a statement holds, from which it answers where words are all there is."""
_BY_WORDS_ALONE = 0.75
"""That share from which it answers however far its item is in meaning."""
_BY_BOTH = 1.3
_SIMILARITY_COUNTS = 3.0
"""The share and so many times the similarity together are the evidence, which answers from `_BY_BOTH`."""
_BESIDE = 0.3
"""The part of the best evidence that a further statement needs."""


@dataclass(frozen=True, slots=True)
class Quote:
    """What an item says that holds most of a question."""

    span: Span
    """Where it stands in the item's rendered text."""
    text: str
    share: float
    """The share of the question that it holds, 0 to 1."""
    similarity: float | None = None
    """The vector part of its item; None where words are all there is."""
    day: str | None = None
    """When it was said, such as 2026-10-04."""

    @property
    def evidence(self) -> float:
        return self.share + _SIMILARITY_COUNTS * (self.similarity or 0.0)

    @property
    def is_answer(self) -> bool:
        if self.similarity is None:
            return self.share >= _BY_WORDS
        return self.share >= _BY_WORDS_ALONE or self.evidence >= _BY_BOTH


def spread(query: Query) -> Query:
    """The query with each run of characters as its pairs: a question in Chinese is one run, which no answer repeats.

    Of many long runs only the first pairs: `MAX_UNITS` units, as any query has at most.
    """
    units = dict.fromkeys(
        part
        for unit in query.units
        for part in ([unit] if unit.phrase is None else [Unit((pair,)) for pair in unit.terms])
    )
    return Query(tuple(units)[:MAX_UNITS], query.phrase)


def content_of(query: Query) -> Query:
    """The question without the words that every question has; all of them where it has no others."""
    units = tuple(unit for unit in query.units if unit.terms[0] not in COMMON)
    return Query(units, query.phrase) if units else query


def quote(item: StoreItem, sought: Sought, similarity: float | None) -> Quote:
    """The statement of an item that holds most of what is sought, the first among equals; with the reply to a question.

    The item's text must not be empty.
    """
    text = item.render_text()
    statements = statements_of(item)
    shares = sought.shares(item, statements)
    best = shares.index(max(shares))
    start, stop = statements[best]
    if isinstance(item, Conversation) and text[start:stop].endswith("?") and best + 1 < len(statements):
        is_end_of_turn = any(stop == end for _, end in turns_of(item))
        stop = statements[best + 1][1] if is_end_of_turn else stop
    return Quote((start, stop), text[start:stop], shares[best], similarity, _day(item, start))


def _day(item: StoreItem, start: int) -> str | None:
    """When what begins there was said: its turn's day, else the item's."""
    at = item.meta.observed_at
    if isinstance(item, Conversation):
        turn = next(turn for turn, (_, stop) in zip(item.turns, turns_of(item), strict=True) if start < stop)
        at = turn.at or at
    return at.text[:10] if at else None


def answering(quotes: Sequence[Quote]) -> list[int]:
    """The numbers of the quotes that are worth giving, in order; none where none of them is an answer."""
    if not any(quote.is_answer for quote in quotes):
        return []
    least = _BESIDE * max(quote.evidence for quote in quotes)
    return [number for number, quote in enumerate(quotes) if quote.evidence >= least]


def compose(quotes: Sequence[Quote]) -> str:
    """The answer in words: Markdown bullets, a statement each with its day, the best evidence first."""
    if not quotes:
        return NOTHING_ANSWERS
    said: dict[str, str | None] = {}
    for quote in sorted(quotes, key=lambda quote: -quote.evidence):
        said.setdefault(collapsed(quote.text), quote.day)
    return "\n".join(f"- “{text}”{f' ({day})' if day else ''}" for text, day in list(said.items())[:_MAX_QUOTED])
