"""What became of one question: the answer's sentences, what each rests on, and what was read besides."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from enum import StrEnum

from explorer.contract import Citation, Hit, ItemId, MetaFilter

MIN_SUPPORT = 0.5
"""The share of a sentence's words that its cited passages must hold; below it the sentence is marked."""


class By(StrEnum):
    """Who put the answer into words."""

    ENGINE = "engine"
    """In the words of what is stored."""
    SERVER = "server"
    """A model at the engine's server."""
    ENDPOINT = "endpoint"


class Mark(StrEnum):
    """Why a sentence is not to be trusted as it stands."""

    UNCITED = "uncited"
    """It names no passage that there is."""
    OUT_OF_RANGE = "out_of_range"
    """Besides others, or alone, it names a number that no passage has."""
    WEAK = "weak"
    """Its passages hold less than `MIN_SUPPORT` of its words."""


@dataclass(frozen=True, slots=True)
class Sentence:
    """One statement of an answer, without the marks of its citations."""

    text: str
    """One line."""
    cites: tuple[int, ...] = ()
    """Numbers, from 1, into `Answered.citations`; ascending, each once."""
    support: float = 0.0
    """The share of its words that the cited passages hold, 0 to 1; words that every text has are not counted."""
    mark: Mark | None = None
    begins_line: bool = True
    """Whether the answer has it on a line of its own, or first on its line."""


@dataclass(frozen=True, slots=True)
class Answered:
    """A question with its answer. Holds what was stored: after a removal see `History.drop`."""

    question: str
    filter: MetaFilter
    sentences: tuple[Sentence, ...]
    """Empty where nothing answers."""
    citations: tuple[Citation, ...]
    """As the engine gave them, each with its place in the item's text where it could be found; then, as further ones,
    what its answer quotes of these items besides."""
    read_not_cited: tuple[Hit, ...]
    """What a search for the question finds beside them, best first; whole items."""
    says_nothing: bool
    """Whether it was said honestly that nothing answers."""
    by: By
    model: str | None
    """What the engine, or the endpoint, says that it answered with."""
    elapsed_s: float
    writer_error: str | None = None
    """Why the endpoint did not write, so that the engine's own answer stands; a sentence."""
    reading_error: str | None = None
    """Why `read_not_cited` is not known; a sentence."""
    note: str | None = None
    """What the engine says of its answer, as that it had to search by words alone."""

    @property
    def ids(self) -> frozenset[ItemId]:
        """All items that it holds something of."""
        return frozenset([*(cited.id for cited in self.citations), *(hit.id for hit in self.read_not_cited)])

    @property
    def cited(self) -> tuple[int, ...]:
        """The numbers of the citations that a sentence rests on, ascending: a writer may leave some out."""
        return tuple(sorted({number for sentence in self.sentences for number in sentence.cites}))

    def lines(self) -> Iterator[tuple[Sentence, ...]]:
        """The sentences by the lines of the answer."""
        held: list[Sentence] = []
        for sentence in self.sentences:
            if sentence.begins_line and held:
                yield tuple(held)
                held = []
            held.append(sentence)
        if held:
            yield tuple(held)
