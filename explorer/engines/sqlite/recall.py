"""An answer without a model: the sentences of the best items that hold most of the question."""

from __future__ import annotations

import re
from dataclasses import dataclass

from explorer.engines.sqlite.tokens import Query, count_terms, parse_query

_BETWEEN_SENTENCES = re.compile(r"\n+|(?<=[.!?])\s+|(?<=[。！？])")
_MAX_SNIPPET = 300
_MAX_QUOTED = 3

_COMMON = frozenset(
    count_terms(
        "a about an and any are as at be been but by can could did do does for from had has have how i in into is it "
        "its me my of on or our s should so t tell that the their them then there these they this to us was we were "
        "what when where which who whom whose why will with would you your"
    )
)


@dataclass(frozen=True, slots=True)
class Quote:
    """The part of an item that answers best, and how well (the weights of the question's words in it, added up)."""

    text: str
    weight: float


def content_query(question: str) -> Query:
    """The question without the words that every question has; all of them where it has no others."""
    query = parse_query(question)
    units = tuple(unit for unit in query.units if unit.terms[0] not in _COMMON)
    return Query(units, query.phrase) if units else query


def quote(text: str, weights: dict[str, float]) -> Quote:
    """The sentence of `text` that holds most of the weighted terms; the first among equals."""
    best = Quote("", -1.0)
    for part in _BETWEEN_SENTENCES.split(text):
        sentence = part.strip()
        if not sentence:
            continue
        weight = sum(weights.get(term, 0.0) for term in count_terms(sentence))
        if weight > best.weight:
            best = Quote(_cut(sentence, weights), weight)
    return best if best.text else Quote(_cut(text.strip(), weights), 0.0)


def _cut(sentence: str, weights: dict[str, float]) -> str:
    """At most 300 characters, around the first weighted word of a longer sentence."""
    if len(sentence) <= _MAX_SNIPPET:
        return sentence
    lowered = sentence.lower()
    found = [at for term, weight in weights.items() if weight > 0 and (at := lowered.find(term)) >= 0]
    start = max(0, min(found, default=0) - _MAX_SNIPPET // 3)
    end = start + _MAX_SNIPPET
    return ("…" if start else "") + sentence[start:end].strip() + ("…" if end < len(sentence) else "")


def compose(quotes: list[Quote]) -> str:
    """The answer in words: how many items hold something of the question, and the best of what they say."""
    if not quotes:
        return "Nothing stored answers this question."
    items = "1 stored item says" if len(quotes) == 1 else f"{len(quotes)} stored items say"
    said = list(dict.fromkeys(quote.text for quote in sorted(quotes, key=lambda quote: -quote.weight)))
    return f"{items}: " + " ".join(f"“{text}”" for text in said[:_MAX_QUOTED])
