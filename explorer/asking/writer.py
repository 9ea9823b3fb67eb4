"""What may put an answer into words instead of the engine: from the passages that it cites, and nothing else."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol


@dataclass(frozen=True, slots=True)
class Given:
    """One passage as the writer gets it; its number is its place among them, from 1."""

    text: str
    when: str | None = None
    """The day it was observed, such as `Sunday, 4 October 2026`: "last Friday" is counted from there."""

    @property
    def whole(self) -> str:
        """All that the writer reads of it, which is what its sentences are held against."""
        return " ".join(part for part in (self.when, self.text) if part)


@dataclass(frozen=True, slots=True)
class Written:
    text: str
    """As the model wrote it; `NOTHING_ANSWERS` where it says that the passages do not answer."""
    model: str


class Writer(Protocol):
    """Writes answers. Its errors are the contract's, and quote neither the key nor a text."""

    async def write(self, question: str, passages: Sequence[Given]) -> Written:
        """The answer in words, each sentence marked with the numbers of its passages, as `[1]`."""
