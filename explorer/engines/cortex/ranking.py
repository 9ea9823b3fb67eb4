"""Ranked reads: hits from recall packs, and answers grounded on one of them.

Source: cortex, "Recall pack", "Answer", "fetch", "recall".
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from functools import partial
from itertools import zip_longest

from explorer.contract import (
    Citation,
    EngineFailure,
    FetchPage,
    FetchRequest,
    Hit,
    ItemId,
    MetaFilter,
    NotFound,
    RecallAnswer,
    RecallRequest,
    TimeHint,
)
from explorer.engines.cortex.labels import narrowing
from explorer.engines.cortex.reading import Reading, opening
from explorer.engines.cortex.walking import Found, Site, Walk, in_order, read_cursor, unknown_cursor, write_cursor
from explorer.engines.cortex.wires import Pack

MOST_EVENTS = 1000
_EVENT_TOKENS = 786_432  # what the longest event may need: an excerpt of one may no longer decode
_MOST_TOKENS = 8_388_608
_DERIVED = ("facts", "beliefs", "episodes", "understanding")
_ROUNDS = 3

Ranked = list[tuple[Site, Found]]


class Ranking:
    def __init__(self, walk: Walk, reading: Reading) -> None:
        self._walk = walk
        self._reading = reading

    async def fetch(self, req: FetchRequest) -> FetchPage:
        """Scores fall with the rank, which counts on from page to page."""
        req.check()
        start = _offset(req.cursor) if req.cursor is not None else 0
        stop = start + req.limit
        ranked = _hinted(await self._ranked(req, stop), req.refers_to)
        hits = await self._hits(ranked[start:stop], start)
        return FetchPage(hits=hits, next_cursor=write_cursor("f", {"offset": stop}) if len(ranked) > stop else None)

    async def _ranked(self, req: FetchRequest, stop: int) -> Ranked:
        """More than `stop` items, where there are so many."""
        sites = await self._walk.sites(req.filter.reach, req.filter.kinds)
        packs: dict[Site, Pack] = {}
        events, wanted = min((stop + 1) * 3, MOST_EVENTS), sites
        while True:
            found = await in_order([partial(self._pack, site, req.query, req.filter, events) for site in wanted])
            packs.update(zip(wanted, found, strict=True))
            ranked = _merged(self._admitted(sites, [packs[site] for site in sites], req.filter))
            # One long conversation may take up all of a pack.
            wanted = [site for site in wanted if len(packs[site].events) >= events]
            if len(ranked) > stop or not wanted or events == MOST_EVENTS:
                return ranked
            events = min(events * 4, MOST_EVENTS)

    async def _pack(self, site: Site, query: str, filter: MetaFilter, events: int) -> Pack:
        return await self._walk.wire.recall(
            site.path, query, max_tokens=_tokens(events), limits={"events": events}, labels=narrowing(filter)
        )

    async def _hits(self, ranked: Ranked, start: int) -> list[Hit]:
        """A conversation is shown whole, a document by the piece that was found."""
        conversations = {found.id: (site, found) for site, found in ranked if found.envelope.turn is not None}
        items = await self._reading.assembled(conversations)
        hits = []
        for rank, (_, found) in enumerate(ranked, start):
            score = 1.0 / (1 + rank)
            if found.id not in conversations:
                hits.append(opening(found.envelope, found.envelope.located_meta(), score))
            elif found.id in items:
                hits.append(Hit.of_item(found.id, items[found.id], score))
        return hits

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        """Where no scope holds anything, nothing is asked and the answer is empty."""
        req.check()
        filter, walk = req.filter, self._walk
        find = walk.registered if filter.reach is None else walk.sites
        sites = await find(filter.reach, filter.kinds)
        if not sites:
            return RecallAnswer(answer="")
        sites.sort(key=lambda site: -site.scope.namespace.depth)
        for _ in range(_ROUNDS):
            packs = await in_order([partial(self._answer_pack, site, req) for site in sites])
            admitted = self._admitted(sites, packs, filter, any_kind=True)
            best = max(range(len(sites)), key=lambda position: len(admitted[position]))
            pack = packs[best]
            if pack.id is None:
                path = sites[best].path
                raise EngineFailure(f"{walk.wire.label}: the pack recalled from `{path}` has no id to answer from")
            try:
                said = await walk.wire.answer(sites[best].path, req.question, pack.id, req.instructions)
            except NotFound as error:  # any removal drops every pack
                gone = error
                continue
            cited = _hinted(_merged(admitted), req.refers_to)[: req.limit]
            return RecallAnswer(
                answer=said.answer, citations=[_citation(found) for _, found in cited], model=said.model
            )
        raise gone

    async def _answer_pack(self, site: Site, req: RecallRequest) -> Pack:
        limits = {"events": 2 * req.limit, **_split(req.limit)}
        return await self._walk.wire.recall(
            site.path,
            req.question,
            include=("events", *_DERIVED),
            max_tokens=_tokens(3 * req.limit),
            limits=limits,
            labels=narrowing(req.filter),
        )

    def _admitted(
        self, sites: Sequence[Site], packs: Sequence[Pack], filter: MetaFilter, *, any_kind: bool = False
    ) -> list[Ranked]:
        """Each pack's items that the filter admits, best first, each by its best event."""
        read = (lambda _, raw: self._walk.decoded(raw)) if any_kind else self._walk.read
        ranks: list[dict[ItemId, Found]] = []
        for site, pack in zip(sites, packs, strict=True):
            rank: dict[ItemId, Found] = {}
            for raw in pack.events:
                found = read(site, raw)
                if found is not None and found.envelope.matches(filter):
                    rank.setdefault(found.id, found)
            ranks.append(rank)
        now = {id for site, rank in zip(sites, ranks, strict=True) if not site.is_retired for id in rank}
        return [
            [(site, found) for id, found in rank.items() if not (site.is_retired and id in now)]
            for site, rank in zip(sites, ranks, strict=True)
        ]


def _merged(packs: Sequence[Ranked]) -> Ranked:
    """All firsts, then all seconds and so on, in the order of the packs; each item once."""
    merged: dict[ItemId, tuple[Site, Found]] = {}
    for level in zip_longest(*packs):
        for entry in level:
            if entry is not None:
                merged.setdefault(entry[1].id, entry)
    return list(merged.values())


def _hinted(ranked: Ranked, hint: TimeHint | None) -> Ranked:
    """Items of the days hinted at first; otherwise the order stays."""
    if hint is None:
        return ranked
    return sorted(ranked, key=lambda entry: not hint.covers(entry[1].envelope.meta.observed_at))


def _citation(found: Found) -> Citation:
    envelope = found.envelope
    return Citation(id=found.id, kind=envelope.kind, snippet=envelope.text, meta=envelope.located_meta())


def _tokens(events: int) -> int:
    return min(max(1, events) * _EVENT_TOKENS, _MOST_TOKENS)


def _split(limit: int) -> Mapping[str, int]:
    """`limit` shared out among what the server derived, the first layers getting what does not divide."""
    each, more = divmod(limit, len(_DERIVED))
    return {layer: each + (position < more) for position, layer in enumerate(_DERIVED)}


def _offset(cursor: str) -> int:
    match read_cursor("f", cursor):
        case {"offset": int(offset)} if not isinstance(offset, bool) and offset >= 0:
            return offset
    raise unknown_cursor(cursor)
