"""Why an item is where it is in the list: asked of the engine, and put into words. Free of Qt."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime, tzinfo
from itertools import pairwise

from explorer.conditions import Condition, conditions, without
from explorer.contract import (
    HALF_LIFE_DAYS,
    ExplainedHit,
    FetchMode,
    FetchRequest,
    Hit,
    ItemId,
    ListOrder,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Reach,
    SpanRequest,
    Unsupported,
    WeightProfile,
    is_blank,
)
from explorer.i18n import mark, tr, tr_in, tr_n
from explorer.text import DASH, decimals, listed, number, sentence, shown, when_full

PAGE = 50
MAX_LOOKED_AT = 500  # hits of a search among which the item is looked for
LISTED = 200
MAX_PASSAGE = 1_200  # characters of it that are quoted
_ROUNDING = 0.002  # within which the parts are said to make up the score

_PLACES = {
    None: mark("Hit {n} of this search, found."),
    FetchMode.KEYWORD: mark("Hit {n} of this search, found by its words."),
    FetchMode.VECTOR: mark("Hit {n} of this search, found by its meaning."),
    FetchMode.HYBRID: mark("Hit {n} of this search, found by its words and its meaning."),
}


@dataclass(frozen=True)
class Question:
    """What the list shows: all that the filter admits, or the hits of a query among it."""

    filter: MetaFilter = field(default_factory=MetaFilter)
    query: str = ""
    mode: FetchMode | None = None
    order: ListOrder = field(default_factory=ListOrder)
    """Of the list, where the engine serves it."""

    @property
    def is_search(self) -> bool:
        return not is_blank(self.query)


@dataclass(frozen=True)
class Answer:
    """What the engine says of one item under a question."""

    place: int | None = None
    """In the list, from 1; None where it is not among what was looked at."""
    looked_at: int | None = None
    """How many of the list were; None for all of them."""
    explained: ExplainedHit | None = None
    profile: WeightProfile | None = None
    notes: tuple[str, ...] = ()
    refusal: str = ""
    """Why there are no parts, in the engine's words."""
    is_newest_first: bool = False
    is_in_order: bool = False
    """Whether the list is in the question's order, which is not the newest first."""


@dataclass(frozen=True)
class Part:
    """One part of a score. `weight` is None where the weights do not know it."""

    name: str
    meaning: str
    value: float
    weight: float | None = None
    is_sum: bool = False

    @property
    def gives(self) -> float:
        return self.value if self.is_sum else self.value * (self.weight or 0.0)

    @property
    def numbers(self) -> str:
        """`0.820 × 0.95 = 0.779`."""
        if self.is_sum:
            return decimals(self.value, 3)
        if self.weight is None:
            return f"{decimals(self.value, 3)} × {DASH}"
        return f"{decimals(self.value, 3)} × {decimals(self.weight, 2)} = {decimals(self.gives, 3)}"


@dataclass(frozen=True)
class Meets:
    """A condition of the filter, and whether the item meets it."""

    condition: Condition
    is_met: bool


@dataclass(frozen=True)
class Reason:
    """Everything that the page says."""

    lead: str
    parts: tuple[Part, ...] = ()
    remarks: tuple[str, ...] = ()
    warnings: tuple[str, ...] = ()
    passage: str = ""
    passage_words: str = ""
    """Where the passage stands in the item."""
    meets: tuple[Meets, ...] = ()


async def ask_why(engine: MemoryEngine, question: Question, id: ItemId) -> Answer:
    """The item's place in the list, and the parts of its score where the engine tells them."""
    if not question.is_search and question.order.by in engine.sorts():
        span = await engine.list_span(
            SpanRequest(filter=question.filter, order=question.order, offset=0, limit=1, place_of=id)
        )
        place = None if span.place is None else span.place + 1
        is_newest_first = question.order == ListOrder()
        return Answer(place, is_newest_first=is_newest_first, is_in_order=not is_newest_first)
    if not question.is_search:
        listed = await engine.list_preview(ListRequest(filter=question.filter, limit=LISTED))
        looked_at = None if listed.next_cursor is None else len(listed.items)
        return Answer(_place(listed.items, id), looked_at, is_newest_first=_is_newest_first(listed.items))
    modes = engine.descriptor().fetch_modes
    mode = question.mode or (modes[0] if modes else None)
    if mode is None:
        return Answer(refusal=tr("it has no search"))
    count = 0
    cursor: str | None = None
    while True:
        # With the limit of the list's own pages: an engine keeps a ranking that goes on, and does no work twice.
        req = FetchRequest(query=question.query, mode=mode, filter=question.filter, limit=PAGE, cursor=cursor)
        try:
            page = await engine.fetch_explained(req)
        except Unsupported as error:
            return Answer(refusal=error.text)
        for at, each in enumerate(page.hits, count + 1):
            if each.hit.id == id:
                return Answer(at, None, each, page.profile, tuple(page.notes))
        count += len(page.hits)
        cursor = page.next_cursor
        if cursor is None or not page.hits or count >= MAX_LOOKED_AT:
            seen = None if cursor is None else count
            return Answer(looked_at=seen, profile=page.profile, notes=tuple(page.notes))


def reason_of(hit: Hit, question: Question, answer: Answer, zone: tzinfo, now: datetime | None = None) -> Reason:
    """`answer` in words; `now` is for tests."""
    meets = tuple(_meets(hit, question.filter, zone))
    if not question.is_search:
        return Reason(_lead_of_list(hit, answer, zone), meets=meets)
    if answer.refusal:
        said = shown(answer.refusal, 300).removesuffix(".")
        lead = tr("This engine does not tell why a hit stands where it does: {reason}.", reason=said)
        if hit.score:
            score = tr("Its score is {score}; a higher one stands before it.", score=decimals(hit.score, 3))
            lead = f"{lead} {score}"
        return Reason(lead, meets=meets)
    warnings = tuple(sentence(note) for note in answer.notes)
    explained, profile = answer.explained, answer.profile
    if explained is None or profile is None or answer.place is None:
        return Reason(_not_among_hits(answer.looked_at), warnings=warnings, meets=meets)
    lead = tr(_PLACES[question.mode], n=number(answer.place))
    if answer.place > 1:
        above = tr("What comes before it has a higher score.")
        lead = f"{lead} {above}"
    parts = parts_of(explained, profile)
    passage, where = _passage(explained)
    return Reason(
        lead,
        parts,
        tuple(_remarks(explained, profile, parts, zone, now or datetime.now(UTC))),
        warnings,
        passage,
        where,
        meets,
    )


def _lead_of_list(hit: Hit, answer: Answer, zone: tzinfo) -> str:
    if answer.place is not None:
        where = tr("Item {n} of this list.", n=number(answer.place))
    else:
        where = _not_among_items(answer.looked_at)
    return f"{where} {_order_of_list(hit, answer, zone)}"


def _order_of_list(hit: Hit, answer: Answer, zone: tzinfo) -> str:
    if answer.is_in_order:
        return tr("Nothing is searched for, so the order is the one chosen for the list.")
    if not answer.is_newest_first:
        return tr("Nothing is searched for, so the order is the engine's own.")
    at = hit.meta.observed_at
    if at is None:
        return tr(
            "Nothing is searched for, so the newest come first; this one has no time, so it stands at the end.",
        )
    return tr(
        "Nothing is searched for, so the newest come first; this one is of {time}.",
        time=when_full(at, zone),
    )


def _not_among_hits(looked_at: int | None) -> str:
    if looked_at is None:
        return tr("It is not among the hits of this search.")
    return tr_n(
        "It is not among the first {n} hit of this search.",
        "It is not among the first {n} hits of this search.",
        looked_at,
        n=number(looked_at),
    )


def _not_among_items(looked_at: int | None) -> str:
    if looked_at is None:
        return tr("It is not among the items of this list.")
    return tr_n(
        "It is not among the first {n} item of this list.",
        "It is not among the first {n} items of this list.",
        looked_at,
        n=number(looked_at),
    )


def parts_of(explained: ExplainedHit, profile: WeightProfile) -> tuple[Part, ...]:
    """The parts that count, or could have, and their sum."""
    told = explained.breakdown
    # Translators: of things that are named together, no addresses
    links = tr_in("part of a score", "Links")
    found = [
        Part(tr("Words"), tr("How much of the query it holds in words"), told.keyword_relevance, profile.keyword),
        Part(tr("Meaning"), tr("How near its meaning is to the query's"), told.vector_similarity, profile.vector),
        Part(links, tr("How it hangs together with what the query names"), told.graph_relevance, profile.graph),
        Part(tr("Episodes"), tr("How it belongs to what was being done"), told.episodic_relevance),
    ]
    found = [part for part in found if part.weight or part.value]
    if profile.freshness:
        found.append(Part(tr("Freshness"), tr("How new it is"), told.freshness, profile.freshness))
    return (*found, Part(tr("Score"), tr("What it was ranked by"), told.final_score, is_sum=True))


def _remarks(
    explained: ExplainedHit, profile: WeightProfile, parts: Sequence[Part], zone: tzinfo, now: datetime
) -> list[str]:
    told = explained.breakdown
    weights = [
        f"{words} {decimals(weight, 2)}"
        for words, weight in (
            # Translators: each of these comes before its weight, as in "words 0.95"
            (tr("words"), profile.keyword),
            (tr("meaning"), profile.vector),
            (tr_in("part of a score", "links"), profile.graph),
            (tr("freshness"), profile.freshness),
        )
        if weight
    ]
    said = [
        tr(
            "The weights are those of the profile {name}: {weights}.",
            name=shown(told.profile or profile.name, 60),
            weights=listed(weights),
        )
    ]
    rest = told.final_score - math.fsum(part.gives for part in parts if not part.is_sum)
    if rest > _ROUNDING:
        said.append(tr("By a rule of its own the engine adds {n}.", n=decimals(rest, 3)))
    elif rest < -_ROUNDING:
        said.append(tr("By a rule of its own the engine takes away {n}.", n=decimals(-rest, 3)))
    said.append(_freshness_words(explained.hit, profile, zone, now))
    return said


def _freshness_words(hit: Hit, profile: WeightProfile, zone: tzinfo, now: datetime) -> str:
    if not profile.freshness:
        return tr("How old an item is does not count here.")
    at, days = hit.meta.observed_at, f"{HALF_LIFE_DAYS:g}"
    if at is None:
        return tr(
            "Nobody knows when it was observed, so it has no freshness; freshness halves every {days} days.",
            days=days,
        )
    time, age_days = when_full(at, zone), (now - at).days
    if age_days <= 0:
        return tr("Observed {time}; freshness halves every {days} days.", time=time, days=days)
    ago = tr_n("{n} day ago", "{n} days ago", age_days, n=number(age_days))
    return tr("Observed {time}, {ago}; freshness halves every {days} days.", time=time, ago=ago, days=days)


def _passage(explained: ExplainedHit) -> tuple[str, str]:
    """The piece that answers the query best, and where it stands."""
    passage, text = explained.passage, explained.hit.text
    if passage is None or not 0 <= passage.start < passage.stop <= len(text):
        return "", ""
    quote = text[passage.start : passage.stop].strip()
    if len(quote) > MAX_PASSAGE:
        quote = f"{quote[:MAX_PASSAGE]}…"
    if passage.start == 0 and passage.stop >= len(text):
        return quote, tr("The whole item answers the query.")
    where = tr(
        "Characters {first} to {last} of {total} answer the query best.",
        first=number(passage.start + 1),
        last=number(passage.stop),
        total=number(len(text)),
    )
    return quote, where


def _meets(hit: Hit, filter: MetaFilter, zone: tzinfo) -> list[Meets]:
    """Each condition alone, tried on the item."""
    found = []
    told = conditions(filter, zone)
    for one in told:
        alone = filter
        for other in told:
            alone = alone if other.field == one.field else without(alone, other.field)
        if one.field != "reach":  # what the reach keeps out is the reach's own line
            alone = alone.model_copy(update={"reach": Reach.exact(hit.meta.namespace)})
        found.append(Meets(one, alone.matches(hit.kind, hit.meta)))
    return found


def _place(hits: Sequence[Hit], id: ItemId) -> int | None:
    return next((at for at, hit in enumerate(hits, 1) if hit.id == id), None)


def _is_newest_first(hits: Sequence[Hit]) -> bool:
    """Whether the times go down, those without one last; a list of one tells nothing."""
    times = [hit.meta.observed_at for hit in hits]
    ends = times[:1] != times[-1:]
    return ends and all(after is None or (before is not None and after <= before) for before, after in pairwise(times))
