"""Texts that are found in others, whatever stands between their words. By plain search: a regular expression as long as
an item takes seconds to be made, and one of many words as long to fail, in which nothing else runs.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right
from itertools import accumulate

from explorer.contract.model import WHITE_SPACE

SPACED = re.compile(f"[^{WHITE_SPACE}]+")
"""Words as white space parts them."""


class Loose:
    """A text as its words, in which others are found; `word` says what one is."""

    def __init__(self, text: str, word: re.Pattern[str] = SPACED) -> None:
        self.text = text
        self._word = word
        self._joined = " ".join(word.findall(text))
        self._starts: tuple[array[int], array[int]] | None = None
        """Where each word begins, in the text and among the words; made when it is first needed."""

    def find(self, quote: str, start: int = 0) -> tuple[int, int] | None:
        """Where words, joined by single spaces, stand from character `start` on: the first one, and the end."""
        at = self._joined.find(quote, self._to_joined(start)) if quote else -1
        return (self._to_text(at), self._to_text(at + len(quote) - 1) + 1) if at >= 0 else None

    def _to_text(self, at: int) -> int:
        starts, joined_starts = self._words()
        word = bisect_right(joined_starts, at) - 1
        return starts[word] + at - joined_starts[word]

    def _to_joined(self, at: int) -> int:
        """The place of a character, or of the first one after it that is kept."""
        if at <= 0:
            return 0
        starts, joined_starts = self._words()
        word = bisect_right(starts, at) - 1
        if word < 0:
            return 0
        stop = joined_starts[word + 1] if word + 1 < len(joined_starts) else len(self._joined)
        return min(joined_starts[word] + at - starts[word], stop)

    def _words(self) -> tuple[array[int], array[int]]:
        if self._starts is None:
            starts = array("q", [word.start() for word in self._word.finditer(self.text)])
            lengths = map(len, self._joined.split(" "))
            joined_starts = array("q", accumulate(lengths, lambda at, length: at + length + 1, initial=0))
            joined_starts.pop()  # where the next one would begin
            self._starts = starts, joined_starts
        return self._starts
