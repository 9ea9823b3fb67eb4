"""A list that an engine is still reading: more of it, with what a person looks at and chose in its place."""

from __future__ import annotations

from dataclasses import dataclass

from explorer.contract import ItemId, ListOrder, MemoryEngine, MetaFilter, Span, SpanRequest
from explorer.ui.item_questions import end_if_cancelled
from explorer.ui.models.item_model import MAX_SPAN_PAGES, SPAN_PAGE

_PAGES_SEEN = 2  # what is seen may lie on the edge of two
_PAGES_CHOSEN = MAX_SPAN_PAGES // 2  # are read to find again what was chosen


@dataclass(frozen=True)
class Sight:
    """What is to be found again: the row at the top, None where that is the first, and what was chosen."""

    top: ItemId | None
    row: int
    current: ItemId | None
    chosen: tuple[ItemId, ...] = ()


@dataclass(frozen=True)
class Grown:
    """Parts of the list, each by its first row, the one that is looked at first; and where what was on top is now."""

    spans: list[tuple[int, Span]]
    top: int


async def read_more(engine: MemoryEngine, filter: MetaFilter, order: ListOrder, sight: Sight) -> Grown:
    """Read the list as far as it goes by now. Raises the engine's errors."""

    async def span(first: int, limit: int, place_of: ItemId | None = None, listing: str | None = None) -> Span:
        end_if_cancelled()
        req = SpanRequest(filter=filter, order=order, offset=first, limit=limit, listing=listing, place_of=place_of)
        return await engine.list_span(req)

    found = await span(0, _PAGES_SEEN * SPAN_PAGE, sight.top or sight.current)
    listing, places = found.listing, {sight.top or sight.current: found.place}
    top = found.place if sight.top is not None and found.place is not None else min(sight.row, found.total)
    first = top - top % SPAN_PAGE
    spans = [(0, found)] if first == 0 else [(first, await span(first, _PAGES_SEEN * SPAN_PAGE, None, listing))]
    for id in (sight.current, *sight.chosen):
        if id is not None and id not in places:
            places[id] = (await span(0, 1, id, listing)).place
    spans[0] = first, spans[0][1].model_copy(update={"place": places.get(sight.current)})
    held = {first // SPAN_PAGE + at for at in range(_PAGES_SEEN)}
    pages = {place // SPAN_PAGE for id in sight.chosen if (place := places.get(id)) is not None}
    for page in sorted(pages - held)[:_PAGES_CHOSEN]:
        spans.append((page * SPAN_PAGE, await span(page * SPAN_PAGE, SPAN_PAGE, None, listing)))
    return Grown(spans, top)
