"""What a document shows, section by section and item by item. Free of Qt."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Sequence
from dataclasses import dataclass, replace

from explorer.context import Gathered, SectionUse, State, Trimmed, Why
from explorer.contract import Citation, Hit, ItemId
from explorer.i18n import tr, tr_n
from explorer.text import at_least, listed, number, out_of, shown
from explorer.ui.ask_parts.question import hit_of
from explorer.ui.viewer_parts.passage import Cited


@dataclass(frozen=True)
class Part:
    """One section as it is shown. `items` says how many items are in it, or why there are none."""

    heading: str
    tokens: int
    items: str
    is_short: bool = False
    """Whether less is in it than there is: then it is hatched, and its words lead to what is not."""
    why: str = ""
    """Why, as a sentence; empty for a section that is whole."""

    @property
    def spoken(self) -> str:
        return listed((shown(self.heading), self.items, tr("{n} tokens", n=number(self.tokens)), self.why))


@dataclass(frozen=True)
class Entry:
    """An item that a section rests on, or could. Its text is what was cited of it."""

    hit: Hit
    section: int
    heading: str
    why_not: str = ""
    """Why it is not in that section, as a sentence; empty where it is."""
    is_taken_out: bool = False
    """Whether the person left it out."""
    numbers: tuple[int, ...] = ()
    """By which an answer may name it, from 1; none in the list of learnings."""
    cited: Cited | None = None
    """What of it was cited; None in the list of learnings."""
    quotes: tuple[str, ...] = ()
    """All that the answer may quote of it, that first."""

    @property
    def is_in(self) -> bool:
        return not self.why_not


def hits_of(gathered: Gathered) -> dict[ItemId, Hit]:
    """Every item that was gathered; of what a brief cites, as much as was cited."""
    cited = (one for answered in gathered.briefs for one in answered.citations)
    return {one.id: hit_of(one) for one in cited} | {hit.id: hit for hit in gathered.learnings}


def parts_of(trimmed: Trimmed, is_list_whole: bool = True) -> list[Part]:
    """The sections for bar and lines. `is_list_whole`: whether there are no more learnings than were read."""
    last = len(trimmed.sections) - 1
    return [
        Part(
            one.heading,
            one.tokens,
            _items(one, is_least=at == last and not is_list_whole),
            is_short=one.why not in _QUIET and (one.state is not State.WHOLE or one.items < one.items_in_all),
            why=one.reason,
        )
        for at, one in enumerate(trimmed.sections)
    ]


_QUIET = (Why.BLANK, Why.UNCITED, Why.SWITCHED_OFF, Why.NONE_STORED)
"""For these there is nothing to be seen that is not in the document."""


def _items(one: SectionUse, *, is_least: bool) -> str:
    """How many items a section has of how many; `is_least`: there may be more of them than were read."""
    items, in_all = one.items, one.items_in_all
    if one.state is State.SKIPPED and one.why is Why.FAILED:
        # Translators: of a question
        return tr("failed")
    if one.state is State.SKIPPED and one.why in (Why.BLANK, Why.UNCITED):
        return tr("no answer")
    if one.state is State.SKIPPED and one.why is Why.SWITCHED_OFF:
        # Translators: of a section: it is not wanted
        return tr("off")
    if is_least:
        said = tr("{n} of {total}", n=number(items), total=at_least(in_all))
        return tr_n("{n} item", "{n} items", max(in_all, 2), n=said)
    if items < in_all:
        return tr_n("{n} item", "{n} items", in_all, n=out_of(items, in_all))
    if one.state is State.SHORTENED:
        return tr_n("{n} item, shortened", "{n} items, shortened", items, n=number(items))
    return tr_n("{n} item", "{n} items", items, n=number(items))


def bodies_of(trimmed: Trimmed) -> list[str]:
    """What stands below the heading of each section; "" of those that are not in the document."""
    return [one.text.removeprefix(f"## {one.heading}\n\n").removesuffix("\n") for one in trimmed.sections]


def cited_of(gathered: Gathered, trimmed: Trimmed, without: Collection[ItemId]) -> list[Entry]:
    """The items that the document names, section by section in order."""
    entries: list[Entry] = []
    for at, (answered, one) in enumerate(zip(gathered.briefs, trimmed.sections, strict=False)):
        if one.tokens:
            for cited, numbers in _numbered(answered.citations):
                if cited.id not in without:
                    entries.append(_entry(cited, at, one.heading, numbers))
    last = trimmed.sections[-1]
    kept = [hit for hit in gathered.learnings if hit.id not in without][: last.items]
    return [*entries, *(Entry(hit, len(gathered.briefs), last.heading) for hit in kept)]


def _numbered(citations: Sequence[Citation]) -> list[tuple[Citation, tuple[int, ...]]]:
    """Each item once, with all of its numbers."""
    numbers: dict[ItemId, list[int]] = {}
    for place, cited in enumerate(citations, 1):
        numbers.setdefault(cited.id, []).append(place)
    return [(citations[own[0] - 1], tuple(own)) for own in numbers.values()]


def _entry(cited: Citation, section: int, heading: str, numbers: tuple[int, ...]) -> Entry:
    quotes = (cited.snippet, *cited.further)
    place = Cited(cited.snippet, cited.place)
    return Entry(hit_of(cited), section, heading, numbers=numbers, cited=place, quotes=quotes)


def entries_of(gathered: Gathered, trimmed: Trimmed, without: Collection[ItemId]) -> list[Entry]:
    """Every item of every section in order, those in the document before those that are not.

    What of a long answer was cut off takes its time to find out: not for the event loop.
    """
    left_out = iter(trimmed.left_out)
    missing = next(left_out, None)
    entries: list[Entry] = []
    for at, (answered, one) in enumerate(zip(gathered.briefs, trimmed.sections, strict=False)):
        inside: list[Entry] = []
        outside: list[Entry] = []
        for cited, numbers in _numbered(answered.citations):
            if missing is not None and (missing.id, missing.section) == (cited.id, one.heading):
                is_taken_out = missing.why is Why.WITHOUT
                entry = _entry(cited, at, one.heading, numbers)
                outside.append(replace(entry, why_not=missing.reason, is_taken_out=is_taken_out))
                missing = next(left_out, None)
            else:
                inside.append(_entry(cited, at, one.heading, numbers))
        entries += [*inside, *outside]
    at = len(gathered.briefs)
    by_id = {hit.id: hit for hit in gathered.learnings}
    last = trimmed.sections[at]
    kept = [hit for hit in gathered.learnings if hit.id not in without][: last.items]
    entries += [Entry(hit, at, last.heading) for hit in kept]
    while missing is not None:
        entries.append(Entry(by_id[missing.id], at, last.heading, missing.reason, missing.why is Why.WITHOUT))
        missing = next(left_out, None)
    return entries


def failures_of(trimmed: Trimmed) -> Iterator[tuple[str, str]]:
    """The sections that the engine did not answer for, each with the reason."""
    return ((one.heading, one.reason) for one in trimmed.sections if one.why is Why.FAILED)
