"""What a query looks for, found in texts: by looking for the beginnings of its words, since to split a text into all
its terms takes ten times as long.

The index is the truth of what an item holds. What is found here says where in the item, and counts for its passages; a
rare spelling that folds to other than one character for each may be overlooked.
"""

from __future__ import annotations

import math
import re
from bisect import bisect_left, bisect_right
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import cached_property
from itertools import takewhile

from explorer.contract import StoreItem
from explorer.engines.sqlite.passages import Span, passages_of
from explorer.engines.sqlite.search import COMMON, K1, PREFIX_WEIGHT, STEM_WEIGHT, B
from explorer.engines.sqlite.tokens import HUMP, LETTER, MAX_TERM, Unit, fold, spaced, stemmer_of, stems

_PASSAGE_CHARS = 400
"""Characters of a passage of ordinary length."""
SHARE_POWER = 1.25
"""How much the share of a query that a text holds counts: so that one word of several, held often, counts little."""
_MIN_BEGINNING = 3
"""Characters that a word and its stem must begin with together, to be looked for at once."""

_PATTERN_WORDS = 50
"""Words of a phrase that is looked for by a pattern: quickest for a short one, but many words make it slow."""

_IRREGULAR = "\uffff"

_LETTER = re.compile(LETTER)
_LETTERS = re.compile(f"{LETTER}+")
_CUT_LETTERS = re.compile(f"{LETTER}{{1,{MAX_TERM}}}")
_ASCII_GAP = "[^a-z0-9]+"

_Spots = list[tuple[int, float]]
"""Characters at which something begins, ascending, and what each counts, above 0."""


class _Folded(dict[int, str]):
    """Characters as words are compared, in lower case and without accents; a mark for what is not one character then.

    Such are accents by themselves, and letters like ß.
    """

    def __missing__(self, code: int) -> str:
        char = chr(code)
        folded = fold(char).casefold()
        if len(folded) > 1 and not any(map(str.isalnum, folded)):
            folded = char  # as three dots are, which are no part of a word in any form
        self[code] = folded if len(folded) == 1 else _IRREGULAR
        return self[code]


_FOLDED = _Folded()


@dataclass(frozen=True)
class Text:
    """A text to look into."""

    text: str
    folded: str
    """As long as the text."""
    stemmer: str

    @cached_property
    def spaced(self) -> str:
        return spaced(self.text)

    @classmethod
    def of(cls, item: StoreItem) -> Text:
        text = item.render_text()
        folded = text.lower() if text.isascii() else text.translate(_FOLDED)
        return cls(text, folded, stemmer_of(item.meta.language))


class Wanted:
    """One unit of a query, and how much it tells."""

    def __init__(self, unit: Unit, tells: float, akin: Sequence[str]) -> None:
        """`akin`: the stems of its word."""
        self.unit = unit
        self.tells = tells
        # Of the commonest words, which are everywhere, no other form: looking for them takes most of the time.
        self._is_exact = unit.terms[0] in COMMON and not unit.is_prefix
        self._stems = frozenset() if self._is_exact else frozenset(akin)
        self._is_word = unit.word is not None or _LETTERS.fullmatch(unit.terms[0]) is not None
        self._needles = self._beginnings() if self._is_word else [(unit.phrase or unit.terms[0]).replace(" ", "")]
        self._counts: dict[tuple[str, str], float] = {}

    def _beginnings(self) -> list[str]:
        """What begins every word that counts, short of the irregular (`dying` is no `die` here)."""
        (term,) = self.unit.terms
        found = {term}
        for stem in self._stems:
            shared = sum(1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(term, stem, strict=False)))
            # A stem may end in another letter than the word does: of `category` and `categories` it is `categori`.
            shared -= shared > _MIN_BEGINNING
            found.add(term[:shared] if shared >= min(_MIN_BEGINNING, len(term)) else stem)
        return [needle for needle in found if not any(needle.startswith(other) for other in found - {needle})]

    def spots(self, text: Text) -> _Spots:
        spots: _Spots = []
        for needle in self._needles:
            at = text.folded.find(needle)
            while at >= 0:
                end = at + len(needle)
                if not self._is_exact or not text.folded[end : end + 1].isalpha():
                    counts = self._count(text, at) if self._is_word else 1.0
                    if counts:
                        spots.append((at, counts))
                at = text.folded.find(needle, end)
        if len(self._needles) > 1:
            spots.sort()
        if not spots and self.unit.phrase is not None and self.unit.phrase in text.spaced:
            return [(0, 1.0)]  # somewhere, in a spelling that folds to other characters
        return spots

    def _count(self, text: Text, at: int) -> float:
        """What the word that begins at `at` counts; 0 where none begins there, or another one."""
        if at and text.folded[at - 1].isalnum() and not _begins_inside(text, at):
            return 0.0
        whole = _CUT_LETTERS.match(text.folded, at)  # as the index cuts it; each hump of a long word would go over all
        if whole is None:
            return 0.0
        counts = self._counts_of(whole[0], text.stemmer)
        if counts or text.text[at + 1 : whole.end()].islower():
            return counts
        part = HUMP.match(text.text, at)  # of a word like `userProfile`
        return self._counts_of(part[0].lower(), text.stemmer) if part and part.end() < whole.end() else 0.0

    def _counts_of(self, word: str, stemmer: str) -> float:
        known = self._counts.get((word, stemmer))
        if known is None:
            (term,) = self.unit.terms
            if word == term:
                known = 1.0
            elif self._stems and not self._stems.isdisjoint(stems(word, [stemmer])):
                known = STEM_WEIGHT
            else:
                known = PREFIX_WEIGHT if self.unit.is_prefix and word.startswith(term) else 0.0
            self._counts[word, stemmer] = known
        return known


def _begins_inside(text: Text, at: int) -> bool:
    """Whether a word may begin here, behind another character of a word: a hump, or after a script without spaces."""
    before, first, after = text.text[at - 1], text.text[at], text.text[at + 1 : at + 2]
    return (first.isupper() and (before.islower() or after.islower())) or _LETTER.match(before) is None


@dataclass(frozen=True, slots=True)
class Look:
    """What of a query an item holds."""

    share: float
    """The share of the query, by how much its units tell."""
    passage: float
    """The keyword part of its best passage."""
    span: Span | None
    """That passage, the first among equals; None where none holds anything."""
    is_whole: bool
    """Whether it holds the query as one phrase."""
    unproven: list[Unit]
    """Runs of characters that only seem to be there: their pairs stand apart."""
    chars: int
    """Length of its text."""


class Sought:
    """A whole query."""

    def __init__(self, wanted: Sequence[Wanted], phrase: str) -> None:
        """`phrase`: all of the query as one phrase of `spaced` text."""
        self._wanted = wanted
        self._phrase = phrase
        words = phrase.split()
        self._pattern: re.Pattern[str] | None = None
        if 0 < len(words) <= _PATTERN_WORDS and phrase.isascii():
            self._pattern = re.compile(rf"(?<![a-z0-9]){_ASCII_GAP.join(map(re.escape, words))}")
        self._total = sum(each.tells for each in wanted)
        self.is_several = len(wanted) > 1 or any(each.unit.phrase is not None for each in wanted)
        """Whether the items' texts tell more of their keyword part than the index does."""

    def look(self, item: StoreItem) -> Look:
        text = Text.of(item)
        held: list[tuple[float, _Spots]] = []
        unproven = []
        for each in self._wanted:
            spots = each.spots(text)
            if spots:
                held.append((each.tells, spots))
            elif each.unit.phrase is not None:
                unproven.append(each.unit)
        is_sure = _IRREGULAR not in text.folded
        is_whole = (len(held) == len(self._wanted) or not is_sure) and self._is_whole_in(text)
        passage, span = self._best_of(held, passages_of(item)) if held else (0.0, None)
        share = sum(tells for tells, _ in held) / self._total if held else 0.0
        return Look(share, passage, span, is_whole, unproven, len(text.text))

    def holds_run(self, item: StoreItem) -> bool:
        """Whether an item holds any of the runs of characters that the index does not prove."""
        text = Text.of(item)
        return any(each.unit.phrase is not None and bool(each.spots(text)) for each in self._wanted)

    def shares(self, item: StoreItem, spans: Sequence[Span]) -> list[float]:
        """The share of the query that each piece of an item holds, by how much its units tell: 0 to 1."""
        text = Text.of(item)
        shares = [0.0] * len(spans)
        for each in self._wanted:
            for number, _ in _times(each.spots(text), spans):
                shares[number] += each.tells / self._total
        return shares

    def _best_of(self, held: Sequence[tuple[float, _Spots]], spans: Sequence[Span]) -> tuple[float, Span | None]:
        """The best passage, the first among equals, and its keyword part: BM25 by the share of the query it holds."""
        gained = [0.0] * len(spans)
        covered = [0.0] * len(spans)
        for tells, spots in held:
            for number, times in _times(spots, spans):
                start, stop = spans[number]
                gained[number] += tells * times / (times + K1 * (1.0 - B + B * (stop - start) / _PASSAGE_CHARS))
                covered[number] += tells
        best, span = 0.0, None
        for number, share in enumerate(covered):
            if share:
                part = gained[number] / self._total * math.pow(share / self._total, SHARE_POWER)
                if part > best:
                    best, span = part, spans[number]
        return best, span

    def _is_whole_in(self, text: Text) -> bool:
        if self._pattern is not None and text.text.isascii():
            return self._pattern.search(text.folded) is not None
        return bool(self._phrase) and self._phrase in text.spaced


def _times(spots: _Spots, spans: Sequence[Span]) -> Iterator[tuple[int, float]]:
    """The numbers of the pieces that hold any of the spots, ascending, and what these count there together.

    `spans`: their starts ascending, and their stops. Only pieces that hold something are looked at.
    """
    stops = [stop for _, stop in spans]
    number = first = 0
    while first < len(spots):
        number = bisect_right(stops, spots[first][0], number)
        if number == len(spans):
            return
        start, stop = spans[number]
        first = bisect_left(spots, (start, 0.0), first)
        last = bisect_left(spots, (stop, 0.0), first)
        if first < last:
            yield number, sum(counts for _, counts in spots[first:last])
        number += 1
