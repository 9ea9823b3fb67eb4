"""How texts and queries are split into the terms of the index.

Words are runs of letters and digits, accents folded, in lower case; camelCase words add their parts, and every other
character separates (so snake_case, paths and dates split by themselves). Scripts written without spaces are indexed by
character and by pairs of neighbours, so that any piece of a run is found. An emoji is a term of its own.

Index and query must split alike: after a change here, files need their postings made anew.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass

MAX_TERM = 64
"""Characters of a word that count; longer ones (encoded data) are cut, in texts and queries alike."""

MAX_UNITS = 256
"""Different words of a query that are looked up; the rest of a longer one is not."""

MIN_PREFIX = 3
"""Characters from which the last word of a query also stands for words that begin with it."""

# Thai, Lao, Myanmar, Khmer; Hangul; kana; bopomofo; Han. Half-width forms are gone after folding.
_UNSPACED = (
    "\u0e01-\u0e5b\u0e81-\u0edf\u1000-\u109f\u1100-\u11ff\u1780-\u17ff\u3005-\u3007\u3021-\u3029\u3031-\u3035"
    "\u3041-\u3096\u3099\u309d-\u309f\u30a1-\u30fa\u30fc-\u30ff\u3105-\u312f\u3131-\u318e\u31a0-\u31bf\u31f0-\u31ff"
    "\u3400-\u4dbf\u4e00-\u9fff\ua960-\ua97f\uaa60-\uaa7f\uac00-\ud7fb\uf900-\ufaff\U00020000-\U0003ffff"
)
_EMOJI = (
    "\u203c\u2049\u2122\u2139\u2194-\u21aa\u231a-\u23ff\u25aa-\u25fe\u2600-\u27bf\u2934\u2935\u2b05-\u2b55\u3297\u3299"
    "\U0001f000-\U0001f3fa\U0001f400-\U0001faff"  # without the skin tones between, which only vary the one before
)
# Marks that a reader may leave out: Latin, Greek and Cyrillic accents, Hebrew points, Arabic vowels.
_ACCENTS = re.compile("[\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670\u0640]")


def _marks() -> str:
    """The combining marks that stay, as a character class: Indic vowel signs and their like are part of a word."""
    marks = [code for code in range(0x0483, 0x1D00) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    return "".join(f"\\u{code:04x}" for code in marks)


_LETTER = rf"[^\W_{_UNSPACED}]"
_TOKEN = re.compile(rf"([{_UNSPACED}]+)|([{_EMOJI}])|({_LETTER}(?:{_LETTER}|[{_marks()}])*)")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
_HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IS_HUMPED = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a query looks for: an item has it when it has all of `terms`."""

    terms: tuple[str, ...]
    phrase: str | None = None
    """Where the terms alone do not prove it: what `spaced` of the text must hold."""
    is_prefix: bool = False
    """The term also stands for longer words that begin with it."""


@dataclass(frozen=True, slots=True)
class Query:
    """A query as the index sees it; without units it finds nothing."""

    units: tuple[Unit, ...]
    phrase: str | None
    """The query as one phrase of `spaced` text; None for a single term, which needs no such look."""


def fold(text: str) -> str:
    """`text` without accents and compatibility forms (full width, ligatures); the case stays."""
    if text.isascii():
        return text
    return unicodedata.normalize("NFKC", _ACCENTS.sub("", unicodedata.normalize("NFKD", text)))


def count_terms(text: str) -> Counter[str]:
    """The terms of a text and how often each occurs."""
    counts: Counter[str] = Counter()
    words: Counter[str] = Counter()
    if text.isascii() and _IS_HUMPED.search(text) is None:
        # Most texts: nothing to fold and nothing to take apart, at half the time of the general way.
        words.update(_ASCII_WORD.findall(text.lower()))
        if max(map(len, words), default=0) <= MAX_TERM:
            return words
    elif text.isascii():
        words.update(_ASCII_WORD.findall(text))
    else:
        for run, emoji, word in _TOKEN.findall(fold(text)):
            if word:
                words[word] += 1
            elif emoji:
                counts[emoji] += 1
            else:
                counts.update(run)
                counts.update(_pairs(run))
    for word, count in words.items():
        if word.isascii() and word == word.lower():
            counts[word[:MAX_TERM]] += count
            continue
        term = _term(word)
        counts[term] += count
        for part in _parts(word):
            if part != term:
                counts[part] += count
    return counts


def spaced(text: str) -> str:
    """The text's terms in order, one space before each: ` 深 色 mode`; a phrase is then a substring."""
    if text.isascii():
        return "".join(f" {word[:MAX_TERM].lower()}" for word in _ASCII_WORD.findall(text))
    return "".join(f" {term}" for term in _sequence(fold(text)))


def parse_query(text: str) -> Query:
    """Split a query as texts are split; nothing in it has a meaning of its own."""
    units: dict[Unit, None] = {}
    found = _TOKEN.findall(fold(text))
    for position, (run, emoji, word) in enumerate(found):
        is_last = position == len(found) - 1
        if word:
            term = _term(word)
            for part in dict.fromkeys((term, *_parts(word))):
                units[Unit((part,), is_prefix=is_last and len(part) >= MIN_PREFIX and term.endswith(part))] = None
        elif emoji or len(run) == 1:
            units[Unit((emoji or run,))] = None
        else:
            # Two neighbours are a term by themselves; of more, the pairs may stand apart from one another.
            units[Unit(tuple(dict.fromkeys(_pairs(run))), _phrase(run) if len(run) > 2 else None)] = None
        if len(units) >= MAX_UNITS:
            break
    sequence = list(_sequence(fold(text)))
    return Query(tuple(units), _phrase(sequence) if len(found) > 1 else None)


def _phrase(terms: list[str] | str) -> str:
    return "".join(f" {term}" for term in terms)


def _sequence(folded: str) -> Iterator[str]:
    for run, emoji, word in _TOKEN.findall(folded):
        if word:
            yield _term(word)
        else:
            yield from run or (emoji,)


def _term(word: str) -> str:
    # Folding the case may bring accents back (İ) or lengthen the word (ß).
    return _ACCENTS.sub("", word[:MAX_TERM].casefold())[:MAX_TERM]


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _parts(word: str) -> list[str]:
    """The parts of a camelCase word, in lower case; none for a plain one."""
    if len(word) > MAX_TERM or _IS_HUMPED.search(word) is None:
        return []
    return [part.lower() for part in _HUMP.findall(word)]
