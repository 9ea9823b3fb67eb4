"""How texts and queries are split into the terms of the index.

Words are runs of letters and digits, accents folded, in lower case; camelCase words add their parts, and every other
character separates (so snake_case, paths and dates split by themselves). Scripts written without spaces are indexed by
character and by pairs of neighbours, so that any piece of a run is found. An emoji is a term of its own.

Beside each word whose stem differs from it an item has the stem as a marked term, which no word equals: what is of one
stem is then either the stem itself as a word, or marked. Stems are Snowball's (https://snowballstem.org), by the item's
language.

Index and query must split alike: after a change here, files need their postings made anew.
"""

from __future__ import annotations

import re
import threading
import unicodedata
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import cache
from itertools import chain
from typing import Literal

import Stemmer

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
_ACCENT = "\u0300-\u036f\u0591-\u05bd\u05bf\u05c1\u05c2\u05c4\u05c5\u05c7\u064b-\u0652\u0670\u0640"
_ACCENTS = re.compile(f"[{_ACCENT}]")

_MOST_MARKS = 30
"""Combining marks in a row that are put in order together; no language has as many."""
_BREAK = "\u034f"
"""The combining grapheme joiner, an accent to `fold`: marks are not moved past it."""
# All combining marks, and other signs; and the two letters that become a mark in a compatibility form.
_MARK_LETTERS = "\uff9e\uff9f"
_MANY_MARKS = re.compile(rf"(?:[^\w\x00-\x7f]|[{_MARK_LETTERS}]){{{_MOST_MARKS + 1},}}")


def _marks() -> str:
    """The combining marks that stay, as a character class: Indic vowel signs and their like are part of a word."""
    marks = [code for code in range(0x0483, 0x1D00) if unicodedata.category(chr(code)) in ("Mn", "Mc")]
    return "".join(f"\\u{code:04x}" for code in marks)


LETTER = rf"[^\W_{_UNSPACED}]"
"""A letter or digit of a word, as a pattern."""
_IN_WORD = rf"(?:{LETTER}|[{_marks()}{_ACCENT}])"
# What is ASCII goes by the shorter way: that halves the time for the texts that are mostly so.
_TOKEN = re.compile(
    rf"[A-Za-z0-9]+(?:(?=[^\x00-\x7f]){_IN_WORD}+)?|(?=[^\x00-\x7f])(?:{LETTER}{_IN_WORD}*|[{_UNSPACED}]+|[{_EMOJI}])"
)
_NO_WORD = re.compile(f"[{_UNSPACED}{_EMOJI}]")
_ASCII_WORD = re.compile(r"[A-Za-z0-9]+")
HUMP = re.compile(r"[A-Z]+(?![a-z])|[A-Z]?[a-z]+|[0-9]+")
_IS_HUMPED = re.compile(r"[a-z0-9][A-Z]|[A-Z][A-Z][a-z]")

STEM_MARK = "!"
"""Ends the term of a stem. No word holds it, and it comes before what they hold: so a stem follows its own word."""

ENGLISH = "english"
_CODES = {
    "arabic": "ar ara",
    "armenian": "hy hye",
    "basque": "eu eus",
    "catalan": "ca cat",
    "danish": "da dan",
    "dutch": "nl nld",
    "finnish": "fi fin",
    "french": "fr fra",
    "german": "de deu",
    "greek": "el ell",
    "hindi": "hi hin",
    "hungarian": "hu hun",
    "indonesian": "id ind",
    "irish": "ga gle",
    "italian": "it ita",
    "lithuanian": "lt lit",
    "nepali": "ne nep",
    "norwegian": "no nor nb nob nn nno",
    "portuguese": "pt por",
    "romanian": "ro ron",
    "russian": "ru rus",
    "serbian": "sr srp",
    "spanish": "es spa",
    "swedish": "sv swe",
    "tamil": "ta tam",
    "turkish": "tr tur",
    "yiddish": "yi yid",
}
"""Snowball's stemmers beside English, and the ISO 639 codes that the BCP 47 tags of their languages begin with."""
_STEMMERS = {name: name for name in _CODES} | {code: name for name, codes in _CODES.items() for code in codes.split()}

_WORDS_KEPT = 1 << 15
"""Words whose terms are remembered, for each language; and as many that were met before these."""


@dataclass(frozen=True, slots=True)
class Terms:
    """What the index holds of one text."""

    counts: dict[str, int]
    """Every term, marked stems too, and how often it occurs."""
    length: int
    """Words, emoji, and characters of scripts without spaces; parts of words, pairs and stems are not counted."""


@dataclass(frozen=True, slots=True)
class Unit:
    """One thing that a query looks for: an item has it when it has all of `terms`."""

    terms: tuple[str, ...]
    phrase: str | None = None
    """Where the terms alone do not prove it: what `spaced` of the text must hold."""
    is_prefix: bool = False
    """The term also stands for longer words that begin with it."""
    word: str | None = None
    """The word in lower case, with its accents, for `stems`; None for what has no stem."""


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
    return _normalized("NFKC", _ACCENTS.sub("", _normalized("NFKD", text))).replace(_BREAK, "")


def _normalized(form: Literal["NFKC", "NFKD"], text: str) -> str:
    """A normal form of a text, with a break after each 30 combining marks in a row.

    Without breaks the time grows with the square of a run. As the Stream-Safe Text Format has it: Unicode Standard
    Annex #15, section 13.
    """
    # A longer run has one of these characters; they are looked at in a hundredth of the time that the pattern takes.
    if any(map(_is_mark, text[:: _MOST_MARKS + 1])):
        text = _MANY_MARKS.sub(_broken, text)
    return unicodedata.normalize(form, text)


def _is_mark(char: str) -> bool:
    return unicodedata.combining(char) > 0 or char in _MARK_LETTERS


def _broken(run: re.Match[str]) -> str:
    parts = []
    marks = 0
    for char in run[0]:
        marks = marks + 1 if _is_mark(char) else 0
        if marks > _MOST_MARKS:
            parts.append(_BREAK)
            marks = 1
        parts.append(char)
    return "".join(parts)


def index_terms(text: str, language: str | None) -> Terms:
    """The terms of a text with the stems of its words, by the language: see `stemmer_of`."""
    words = _tokens(text)
    others = [] if text.isascii() else [token for token in words if _is_no_word(token)]
    if others:
        words = [token for token in words if not _is_no_word(token)]
    known = _vocabulary(stemmer_of(language)).learn(words)
    counts = Counter(chain.from_iterable(map(known.__getitem__, words)))
    counts.update(chain.from_iterable(others))
    counts.update(chain.from_iterable(map(_pairs, others)))
    return Terms(counts, len(words) + sum(map(len, others)))


def stemmer_of(language: str | None) -> str:
    """The name of the stemmer for a language, which is given by a BCP 47 tag or its English name.

    English for None and for what has no stemmer, such as a programming language.
    """
    name = (language or "").strip().lower()
    return _STEMMERS.get(re.split("[-_]", name, maxsplit=1)[0], ENGLISH)


def stems(word: str, stemmers: Iterable[str]) -> list[str]:
    """The different stems of a query's word (see `Unit`) by any of the stemmers, unmarked."""
    found = (_term(_vocabulary(stemmer).stem([word])[0]) for stemmer in stemmers)
    return list(dict.fromkeys(stem for stem in found if stem))


def spaced(text: str) -> str:
    """The text's terms in order, one space before each: ` 深 色 mode`; a phrase is then a substring."""
    if text.isascii():
        return "".join(f" {word[:MAX_TERM].lower()}" for word in _ASCII_WORD.findall(text))
    return _phrase(_sequence(_tokens(text)))


def parse_query(text: str) -> Query:
    """Split a query as texts are split; nothing in it has a meaning of its own."""
    units: dict[tuple[tuple[str, ...], str | None], Unit] = {}
    found = _tokens(text)
    for position, token in enumerate(found):
        for unit in _units(token, is_last=position == len(found) - 1):
            units.setdefault((unit.terms, unit.phrase), unit)
        if len(units) >= MAX_UNITS:
            break
    return Query(tuple(units.values()), _phrase(_sequence(found)) if len(found) > 1 else None)


def _units(token: str, *, is_last: bool) -> Iterator[Unit]:
    if not _is_no_word(token):
        terms = _split(token)
        for term, spelled in terms:
            is_prefix = is_last and len(term) >= MIN_PREFIX and terms[0][0].endswith(term)
            yield Unit((term,), None, is_prefix, spelled)
    elif len(token) == 1:
        yield Unit((token,))
    else:
        # Two neighbours are a term by themselves; of more, the pairs may stand apart from one another.
        yield Unit(tuple(dict.fromkeys(_pairs(token[:MAX_UNITS]))), _phrase(token) if len(token) > 2 else None)


def _tokens(text: str) -> list[str]:
    """The words, runs without spaces and emoji of a text, in order; words keep their accents, for the stemmers."""
    if text.isascii():
        return _ASCII_WORD.findall(text)
    return _TOKEN.findall(_normalized("NFKC", text))


def _is_no_word(token: str) -> bool:
    """Whether a token is a run without spaces, or an emoji."""
    return token[0] > "\x7f" and _NO_WORD.match(token) is not None


def _split(word: str) -> list[tuple[str, str | None]]:
    """The terms of a word, itself and its parts, as often as they are there; each with what is to be stemmed for it.

    Not the whole of a word with parts, which have stems of their own; nor what has digits, which is no language.
    """
    term = _term(word)
    if not term:
        return []  # nothing but accents
    parts = [part for part in _parts(word) if part != term]
    if parts:
        return [(term, None), *((part, None if part.isdigit() else part) for part in parts)]
    is_language = len(word) <= MAX_TERM and (word.isalpha() or not any(map(str.isdigit, word)))
    return [(term, word.casefold() if is_language else None)]


class _Vocabulary:
    """The terms of words, with their stems by one stemmer; those of words met lately are remembered.

    Not of words beyond `MAX_TERM`: encoded data, of any length, which would stay in memory after it was erased.
    """

    def __init__(self, stemmer: str) -> None:
        self._stemmer = Stemmer.Stemmer(stemmer, 0)
        self._lock = threading.Lock()  # a stemmer works for one thread at a time
        self._known: dict[str, tuple[str, ...]] = {}
        self._known_before: dict[str, tuple[str, ...]] = {}

    def stem(self, words: Sequence[str]) -> list[str]:
        with self._lock:
            found: list[str] = self._stemmer.stemWords(words)
        return found

    def learn(self, words: Iterable[str]) -> Mapping[str, tuple[str, ...]]:
        """At least all of `words`, each with its terms as often as they are there."""
        known = self._known
        wanted = set(words)
        new = wanted.difference(known)
        if not new:
            return known
        long = {word for word in new if len(word) > MAX_TERM}
        new -= long
        if len(known) + len(new) > _WORDS_KEPT:
            self._known_before, known, new = known, {}, wanted - long
        before = self._known_before
        split, plain = {word: _split(word) for word in long}, []
        for word in new:
            if word in before:
                known[word] = before[word]
            elif word.isascii() and word.isalpha() and word.islower():
                plain.append(word)  # most words: their own and only term, but for the stem
            else:
                split[word] = _split(word)
        for word, stem in zip(plain, self.stem(plain), strict=True):
            known[word] = (word,) if stem == word else (word, stem + STEM_MARK)
        found = iter(self.stem([spelled for parts in split.values() for _, spelled in parts if spelled is not None]))
        of_long: dict[str, tuple[str, ...]] = {}
        for word, parts in split.items():
            terms = [term for term, _ in parts]
            for term, spelled in parts:
                stem = term if spelled is None else _term(next(found))
                if stem and stem != term:
                    terms.append(stem + STEM_MARK)
            (of_long if word in long else known)[word] = tuple(terms)
        self._known = known
        return {word: known[word] for word in wanted - long} | of_long if long else known


@cache
def _vocabulary(stemmer: str) -> _Vocabulary:
    return _Vocabulary(stemmer)


def _phrase(terms: Iterable[str]) -> str:
    return "".join(f" {term}" for term in terms)


def _sequence(tokens: Iterable[str]) -> Iterator[str]:
    for token in tokens:
        if _is_no_word(token):
            yield from token
        elif term := _term(token):
            yield term


def _term(word: str) -> str:
    if word.isascii():
        return word[:MAX_TERM].lower()
    # Folding the case may bring accents back (İ) or lengthen the word (ß).
    return _ACCENTS.sub("", fold(word)[:MAX_TERM].casefold())[:MAX_TERM]


def _pairs(run: str) -> list[str]:
    return [run[start : start + 2] for start in range(len(run) - 1)]


def _parts(word: str) -> list[str]:
    """The parts of a camelCase word, in lower case; none for a plain one."""
    word = fold(word)
    if word.islower() or len(word) > MAX_TERM or _IS_HUMPED.search(word) is None:
        return []
    return [part.lower() for part in HUMP.findall(word)]
