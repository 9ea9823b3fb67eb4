"""What was gathered as a document would show it if there were room for all: without some items, and measured."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property
from itertools import accumulate

from explorer.context import attributing
from explorer.context.gathering import Answered, Gathered
from explorer.context.layout import LEARNINGS, bullet, refs_chars, section_chars
from explorer.context.why import Why
from explorer.contract import Citation, Hit, ItemId
from explorer.contract.model import collapsed


@dataclass(frozen=True)
class OfferedBrief:
    """A brief as far as there is something of it to show."""

    heading: str
    body: str
    cited: tuple[Citation, ...]
    """All that the answer rested on."""
    ids: tuple[ItemId, ...]
    """The items that it rests on still, each once."""
    at: int | None
    """Its number among those that are shown; None where it is skipped."""
    skipped: Why | None = None
    error: str = ""

    @cached_property
    def ids_in_all(self) -> tuple[ItemId, ...]:
        return tuple(dict.fromkeys(cited.id for cited in self.cited))

    @cached_property
    def pieces(self) -> tuple[attributing.Piece, ...]:
        """Which of its words come from which item; none where that is not known."""
        return attributing.pieces_of(self.body, self.cited) or ()


class Offer:
    """What there is to show, with the lengths of its beginnings: `brief_chars[n]` is that of the first n briefs."""

    def __init__(self, gathered: Gathered, without: frozenset[ItemId]) -> None:
        self.gathered = gathered
        self.without = without
        self.briefs: list[OfferedBrief] = []
        shown = 0
        for answered in gathered.briefs:
            self.briefs.append(_offered(answered, without, shown))
            shown += self.briefs[-1].at is not None
        self.shown = [brief for brief in self.briefs if brief.at is not None]
        self.learnings: list[Hit] = [hit for hit in gathered.learnings if hit.id not in without]
        """All of them, those beyond the limit too."""
        limit = gathered.spec.learnings_limit
        self.lines = [collapsed(hit.text) for hit in self.learnings[:limit]]
        """Those that the limit lets in, as they are written."""

        self.brief_chars = list(
            accumulate((section_chars(brief.heading, len(brief.body)) for brief in self.shown), initial=0)
        )
        seen: set[ItemId] = set()
        id_chars = 0
        self.brief_refs_chars = [0]
        for brief in self.shown:
            id_chars += _new_chars(brief.ids, seen)
            self.brief_refs_chars.append(refs_chars(len(seen), id_chars))
        self._line_chars = list(accumulate((len(bullet(line)) + 1 for line in self.lines), initial=0))
        self._refs_chars = [refs_chars(len(seen), id_chars)]
        for hit in self.learnings[:limit]:
            id_chars += _new_chars((hit.id,), seen)
            self._refs_chars.append(refs_chars(len(seen), id_chars))

    @property
    def learnings_skipped(self) -> Why | None:
        """Why no budget would show a learning; None where one would."""
        if self.lines:
            return None
        if self.gathered.spec.learnings_limit == 0:
            return Why.SWITCHED_OFF
        if self.gathered.learnings_error is not None:
            return Why.FAILED
        return Why.WITHOUT if self.gathered.learnings else Why.NONE_STORED

    def chars_with(self, lines: int) -> int:
        """The characters of all briefs and so many learnings, with the ids of both in the frontmatter."""
        # A section's last line end is counted by `section_chars`, and with its line.
        listed = section_chars(LEARNINGS, self._line_chars[lines] - 1) if lines else 0
        return self.brief_chars[-1] + listed + self._refs_chars[lines]


def offer(gathered: Gathered, without: frozenset[ItemId]) -> Offer:
    """The offer; the last one is kept with what it was made of, for a slider that is dragged."""
    if not gathered.kept or gathered.kept[0].without != without:
        gathered.kept[:] = [Offer(gathered, without)]
    return gathered.kept[0]


def _new_chars(ids: tuple[ItemId, ...], seen: set[ItemId]) -> int:
    new = [id for id in dict.fromkeys(ids) if id not in seen]
    seen.update(new)
    return sum(map(len, new))


def _offered(answered: Answered, without: frozenset[ItemId], at: int) -> OfferedBrief:
    heading, cited = answered.brief.heading, answered.citations
    body, skipped = answered.body, answered.skipped
    ids = tuple(dict.fromkeys(one.id for one in cited))
    left = tuple(id for id in ids if id not in without)
    if skipped is None and len(left) < len(ids):
        rest = attributing.without(body, cited, without) if left else ""
        if rest:
            body = rest
        else:
            skipped = Why.MIXED if rest is None else Why.WITHOUT
    if skipped is not None:
        return OfferedBrief(heading, "", cited, (), None, skipped, answered.error)
    return OfferedBrief(heading, body, cited, left, at)
