"""What is missing of an item that the server holds in part.

Another program may have cut a document elsewhere. Pieces of two cuts do not make a document: what is missing is then
cut to go with what is held.

Source: cortex, "Rebuilding an item", "Chunked documents" and "store and store_many".
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from explorer.contract import Conflict, Document, InvalidRequest, ItemId, StoreItem
from explorer.engines.cortex.chunks import PAGE_BREAK, Piece
from explorer.engines.cortex.envelope import Envelope, Event, decode, lay_out_pieces, lay_out_whole, rebuild


def missing_events(item: StoreItem, id: ItemId, events: Sequence[Event], held: Sequence[Envelope]) -> list[Event]:
    """What to write, in order, so that the item is whole; none where it is.

    `events` are the item's own and `held` is what the server has under `id`. Raises Conflict for a document of which
    pieces are held that neither fit together nor can be done without.
    """
    if not isinstance(item, Document):
        parts = {envelope.part for envelope in held}
        return [event for event in events if event.part not in parts]
    if not held:
        return list(events)
    if any(envelope.part is None for envelope in held):
        return []
    found = rebuild(held)
    if isinstance(found, Document) and found.body == item.body:
        return []
    if events[0].part is None:
        return list(events)
    counts = {envelope.parts for envelope in held}
    pieces = {envelope.part or 0: envelope.text for envelope in held}
    own = _texts(events)
    if counts == {len(own)} and pieces.items() <= own.items():
        return [event for event in events if event.part not in pieces]
    filled = _filled(item.body.text or "", pieces, counts.pop() or 0) if len(counts) == 1 else None
    if filled is not None:
        return lay_out_pieces(item, id, filled.pieces, filled.count)
    try:
        return [lay_out_whole(item, id)]  # beside which pieces do not count
    except InvalidRequest:
        raise Conflict(
            f"the server holds pieces of the document {id} that do not fit together; forget it and store it again"
        ) from None


def _texts(events: Sequence[Event]) -> dict[int | None, str]:
    read = ((event.part, decode(event.text, event.labels)) for event in events)
    return {part: envelope.text for part, envelope in read if envelope is not None}


@dataclass(frozen=True, slots=True)
class _Filled:
    pieces: dict[int, Piece]
    """What is missing, by its number."""
    count: int


def _filled(text: str, held: dict[int, str], count: int) -> _Filled | None:
    """The pieces that are missing of a cut into `count`; None where `held` is not of such a cut of `text`."""
    if max(held) >= count:
        return None
    missing: dict[int, Piece] = {}
    at = index = 0
    for first, run in _runs(held):
        needed = first - index
        joined = "".join(held[number] for number in run)
        # Where the same words stand several times, any place will do that leaves something for what is between.
        start = at if not needed else text.find(joined, at + needed)
        if run[-1] == count - 1:
            start = len(text) - len(joined)
        if start < at + needed or (start > at and not needed) or not text.startswith(joined, start):
            return None
        missing.update(_cut(text, at, start, range(index, first)))
        at, index = start + len(joined), run[-1] + 1
    if len(text) - at < count - index:
        return None
    missing.update(_cut(text, at, len(text), range(index, count)))
    return _Filled(missing, count)


def _runs(held: dict[int, str]) -> Iterator[tuple[int, list[int]]]:
    """The numbers held, in stretches without a gap, each after its first."""
    for _, group in groupby(enumerate(sorted(held)), key=lambda each: each[1] - each[0]):
        run = [number for _, number in group]
        yield run[0], run


def _cut(text: str, start: int, end: int, numbers: range) -> Iterator[tuple[int, Piece]]:
    """The text from `start` to `end` in pieces of about one length, after the end of a line where there is one."""
    for left, number in zip(range(len(numbers), 0, -1), numbers, strict=True):
        most = start + (end - start) // left
        line_end = text.rfind("\n", start + (most - start) // 2, most) + 1 if left > 1 else 0
        stop = line_end or most
        pages = None
        if PAGE_BREAK in text:
            pages = (1 + text.count(PAGE_BREAK, 0, start + 1), 1 + text.count(PAGE_BREAK, 0, stop))
        yield number, Piece(text[start:stop], pages, None)
        start = stop
