"""Texts that are found in others white space aside. By plain search: a regular expression as long as an item takes
seconds to be made, in which nothing else runs.
"""

from __future__ import annotations

import re
from array import array
from bisect import bisect_right

from explorer.contract.model import WHITE_SPACE, collapsed

_WORD = re.compile(f"[^{WHITE_SPACE}]+")


class Loose:
    """A text in which others are found, whatever white space it has where they have some."""

    def __init__(self, text: str) -> None:
        self.text = text
        self._collapsed = collapsed(text)
        self._starts: array[int] | None = None
        """Of each word in the text; made when it is first needed."""
        self._collapsed_starts: array[int] = array("q")

    def find(self, quote: str, start: int = 0) -> tuple[int, int] | None:
        """Where a collapsed text stands from character `start` on: first and last character, that one not included."""
        at = self._collapsed.find(quote, self._to_collapsed(start)) if quote else -1
        if at < 0:
            return None
        return self._to_text(at), self._to_text(at + len(quote) - 1) + 1

    def _to_text(self, at: int) -> int:
        starts = self._words()
        word = bisect_right(self._collapsed_starts, at) - 1
        return starts[word] + at - self._collapsed_starts[word]

    def _to_collapsed(self, at: int) -> int:
        """The place of a character, or of the first one after it that is kept."""
        if at <= 0:
            return 0
        starts = self._words()
        word = bisect_right(starts, at) - 1
        if word < 0:
            return 0
        stop = self._collapsed_starts[word + 1] if word + 1 < len(starts) else len(self._collapsed)
        return min(self._collapsed_starts[word] + at - starts[word], stop)

    def _words(self) -> array[int]:
        if self._starts is None:
            self._starts = array("q")
            at = 0
            for word in _WORD.finditer(self.text):
                self._starts.append(word.start())
                self._collapsed_starts.append(at)
                at += word.end() - word.start() + 1
        return self._starts
