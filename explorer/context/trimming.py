"""A document of what was gathered, within a budget; without asking anybody, and without writing it more than once.

Source: the sheet of context.md, "Trimming". Its loop composes the whole document again for each line that it drops;
here the length is added up, which is the same and does not take longer the more is dropped.
"""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property

from explorer.context.gathering import Gathered
from explorer.context.layout import (
    LEARNINGS,
    bullet,
    estimate,
    frame,
    section,
    section_chars,
    settled_tokens,
    written,
)
from explorer.context.offering import Offer, OfferedBrief, offer
from explorer.context.spec import ContextDoc, InvalidSpec
from explorer.context.why import Why, item_sentence, section_sentence
from explorer.contract import ItemId, ItemKind, Timestamp
from explorer.contract.model import WHITE_SPACE, collapsed, trimmed

_LEAST_BODY = 40
_ELLIPSIS = "…"
_SNIPPET = 200


class State(StrEnum):
    """How much of a section is in the document."""

    WHOLE = "whole"
    SHORTENED = "shortened"
    DROPPED = "dropped"
    """Nothing, for want of room."""
    SKIPPED = "skipped"
    """Nothing, whatever the budget."""


@dataclass(frozen=True, slots=True)
class SectionUse:
    """A section and what became of it."""

    heading: str
    tokens: int
    """The contract's estimate of the section as it stands in the document; 0 where it does not."""
    items: int
    """Items that the document names for it."""
    items_in_all: int
    """Items that it could rest on, those left out included."""
    state: State
    why: Why | None = None
    """None where it is whole and nothing more is stored for it."""
    error: str = ""
    """What the engine said, where it failed."""
    text: str = ""
    """The section as it stands in the document; "" where it does not."""

    @property
    def reason(self) -> str:
        """Why it is not whole, or no more than it is, as a sentence; "" where neither is so."""
        return "" if self.why is None else section_sentence(self.why, self.error)


@dataclass(frozen=True, slots=True)
class LeftOut:
    """An item that a section is without."""

    id: ItemId
    kind: ItemKind
    section: str
    """The section's heading."""
    why: Why
    text: str
    """How its text, or what was cited of it, begins: one line, as stored."""

    @property
    def reason(self) -> str:
        """Why, as a sentence."""
        return item_sentence(self.why)


@dataclass(frozen=True)
class Trimmed:
    """A document, and what is not in it."""

    doc: ContextDoc
    sections: tuple[SectionUse, ...]
    """In the document's order; those that were dropped or skipped in their places."""
    _offer: Offer
    _cut: _Cut

    @cached_property
    def left_out(self) -> tuple[LeftOut, ...]:
        """Item by item what the sections are without, in their order."""
        return tuple(_left_out(self._offer, self._cut))


@dataclass(frozen=True, slots=True)
class _Cut:
    """How much fits: so many briefs, the last of them perhaps shortened, and after all of them so many lines."""

    briefs: int
    lines: int
    last_body: str | None = None
    """What is left of the last brief; None where it is whole."""
    kept_chars: int = 0
    """How many characters of it that are."""


def trim(
    gathered: Gathered, budget_tokens: int, *, without: Collection[ItemId] = (), generated_at: Timestamp
) -> Trimmed:
    """The document that fits the budget, in place of the one in the spec. Raises InvalidSpec for a budget below 1.

    Items in `without` are left out as if they were not stored, as far as that can be told without asking again: the
    next learning takes the place of one, and of a brief goes what only they say, or all where that is not known.
    """
    if budget_tokens < 1:
        raise InvalidSpec("the token budget must be at least 1")
    offered = offer(gathered, frozenset(without))
    cut = _cut(offered, len(frame(generated_at, gathered.engine, "", ())), budget_tokens)
    shown = offered.shown[: cut.briefs]
    bodies = [brief.body for brief in shown]
    if cut.last_body is not None:
        bodies[-1] = cut.last_body
    texts = [section(brief.heading, body) for brief, body in zip(shown, bodies, strict=True)]
    if cut.lines:
        texts.append(section(LEARNINGS, "\n".join(map(bullet, offered.lines[: cut.lines]))))
    refs = dict.fromkeys(id for brief in shown for id in brief.ids)
    refs |= dict.fromkeys(hit.id for hit in offered.learnings[: cut.lines])
    doc = written(generated_at, gathered.engine, texts, list(refs))
    return Trimmed(doc, tuple(_sections(offered, cut, texts)), offered, cut)


def _cut(offered: Offer, frame_chars: int, budget: int) -> _Cut:
    briefs = len(offered.shown)

    def tokens_of(lines: int) -> int:
        return settled_tokens(frame_chars + offered.chars_with(lines)) if briefs or lines else 0

    # The longer the list, the longer the document: the most lines that fit are what dropping the last one ends at.
    lines = bisect_right(range(len(offered.lines) + 1), budget, key=tokens_of) - 1
    if lines >= 0:
        return _Cut(briefs, lines)
    while briefs:
        last = offered.shown[briefs - 1]
        body = last.body
        before = frame_chars + offered.brief_chars[briefs - 1] + offered.brief_refs_chars[briefs]
        while True:
            tokens = settled_tokens(before + section_chars(last.heading, len(body)))
            if tokens <= budget:
                is_whole = body is last.body
                return _Cut(briefs, 0) if is_whole else _Cut(briefs, 0, body, len(body) - len(_ELLIPSIS))
            # 3 is the length of an ellipsis in UTF-8, taken for characters: as the sheet has it.
            keep = len(body) - (tokens - budget) * 4 - 3
            if keep < _LEAST_BODY:
                break
            body = _shortened(body, keep)
        briefs -= 1
    return _Cut(0, 0)


def _shortened(body: str, keep: int) -> str:
    """The first `keep` characters, to the last white space where that is in their second half (of UTF-8 bytes)."""
    cut = body[:keep]
    space = max(map(cut.rfind, WHITE_SPACE))
    if space >= 0 and 2 * len(cut[:space].encode()) > len(cut.encode()):
        cut = cut[:space]
    return trimmed(cut) + _ELLIPSIS


def _sections(offered: Offer, cut: _Cut, texts: list[str]) -> Iterator[SectionUse]:
    for brief in offered.briefs:
        in_all = len(brief.ids_in_all)
        if brief.at is None:
            yield SectionUse(brief.heading, 0, 0, in_all, State.SKIPPED, brief.skipped, brief.error)
            continue
        if brief.at >= cut.briefs:
            yield SectionUse(brief.heading, 0, 0, in_all, State.DROPPED, Why.BUDGET)
            continue
        is_cut = cut.last_body is not None and brief.at == cut.briefs - 1
        state, why = (State.SHORTENED, Why.SHORTENED) if is_cut else (State.WHOLE, None)
        text = texts[brief.at]
        yield SectionUse(brief.heading, estimate(text), len(brief.ids), in_all, state, why, text=text)
    in_all = len(offered.gathered.learnings)
    if offered.learnings_skipped is not None:
        error = offered.gathered.learnings_error or ""
        yield SectionUse(LEARNINGS, 0, 0, in_all, State.SKIPPED, offered.learnings_skipped, error)
        return
    text = texts[-1] if cut.lines else ""
    if cut.lines == len(offered.lines):
        state, why = State.WHOLE, Why.LIMIT if len(offered.learnings) > cut.lines else None
    elif cut.lines:
        state, why = State.SHORTENED, Why.SHORTENED
    else:
        state, why = State.DROPPED, Why.BUDGET
    yield SectionUse(LEARNINGS, estimate(text), cut.lines, in_all, state, why, text=text)


def _left_out(offered: Offer, cut: _Cut) -> Iterator[LeftOut]:
    for brief in offered.briefs:
        cited = {cited.id: cited for cited in reversed(brief.cited)}  # the first of each counts
        for id in brief.ids_in_all:
            why = _why_not(offered, cut, brief, id)
            if why is not None:
                yield LeftOut(id, cited[id].kind, brief.heading, why, _start(cited[id].snippet))
    beyond = len(offered.lines)
    for hit in offered.gathered.learnings:
        if hit.id in offered.without:
            yield LeftOut(hit.id, hit.kind, LEARNINGS, Why.WITHOUT, _start(hit.text))
    for number, hit in enumerate(offered.learnings[cut.lines :], cut.lines):
        why = Why.BUDGET if number < beyond else Why.LIMIT
        yield LeftOut(hit.id, hit.kind, LEARNINGS, why, _start(hit.text))


def _why_not(offered: Offer, cut: _Cut, brief: OfferedBrief, id: ItemId) -> Why | None:
    """Why a brief does not rest on an item that it was gathered with; None where it does."""
    if id in offered.without:
        return Why.WITHOUT
    if brief.at is None:
        return brief.skipped
    if brief.at >= cut.briefs:
        return Why.BUDGET
    if cut.last_body is None or brief.at != cut.briefs - 1:
        return None
    its_own = [piece for piece in brief.pieces if id in piece.ids]
    is_cut_off = bool(its_own) and all(piece.start >= cut.kept_chars for piece in its_own)
    return Why.SHORTENED if is_cut_off else None


def _start(text: str) -> str:
    return collapsed(trimmed(text)[: 2 * _SNIPPET])[:_SNIPPET]
