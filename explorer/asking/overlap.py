"""How much of a sentence a passage holds: its words, or others of their stems; in scripts without spaces, its pairs."""

from __future__ import annotations

from collections.abc import Iterable, Set

from explorer.engines.sqlite.recall import content_of, spread
from explorer.engines.sqlite.tokens import ENGLISH, STEM_MARK, Unit, index_terms, parse_query, stems

Terms = Set[str]


def terms_of(text: str) -> Terms:
    """What a text holds, for `share_held`."""
    return index_terms(text, None).counts.keys()


def words_of(sentence: str) -> tuple[Unit, ...]:
    """What of a sentence counts: its different words without those that every text has; all where it has no others."""
    return content_of(spread(parse_query(sentence))).units


def share_held(words: Iterable[Unit], held: Terms) -> float:
    """The share of the words that a text holds: 0 to 1, and 0 for no words."""
    found = [_is_held(word, held) for word in words]
    return sum(found) / len(found) if found else 0.0


def _is_held(unit: Unit, held: Terms) -> bool:
    if all(term in held for term in unit.terms):
        return True
    if unit.word is None:
        return False
    return any(stem in held or stem + STEM_MARK in held for stem in stems(unit.word, [ENGLISH]))
