"""The conversation that a learning was drawn from, or of which an item is a part. Free of Qt."""

from __future__ import annotations

from explorer.contract import (
    Conversation,
    GetRequest,
    Hit,
    ItemKind,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Reach,
    Unsupported,
)
from explorer.contract.namespace import EVERYTHING

MAX_LISTED = 20  # conversations of one thread


def first_turn(hit: Hit) -> int:
    """The number of a conversation's first turn: a thread may be stored in several parts."""
    return hit.meta.turns.first if hit.meta.turns is not None else 0


async def find_conversation(engine: MemoryEngine, learning: Hit) -> Hit | None:
    """A stored conversation of the learning's thread; None where there is none.

    Of several it is the one that holds the learning's first turn, as far as that is known.
    """
    if (thread := learning.meta.thread_id) is None:
        return None
    # A listing of everything never enters a sandbox, where the learning's own node may be.
    for reach in (EVERYTHING, Reach.of(learning.meta.namespace)):
        filter = MetaFilter(thread_id=thread, kinds=[ItemKind.CONVERSATION], reach=reach)
        if found := (await engine.list_preview(ListRequest(filter=filter, limit=MAX_LISTED))).items:
            turns = learning.meta.turns
            return found[0] if turns is None or len(found) == 1 else await _holder(engine, found, reach, turns.first)
    return None


async def find_whole(engine: MemoryEngine, part: Hit) -> Hit | None:
    """The stored conversation of which `part` is some turns; None where there is none.

    Of several it is the longest, as far as their ranges tell: one without a range holds all.
    """
    thread, turns = part.meta.thread_id, part.meta.turns
    if thread is None or turns is None:
        return None
    for reach in (EVERYTHING, Reach.of(part.meta.namespace)):
        filter = MetaFilter(thread_id=thread, kinds=[ItemKind.CONVERSATION], reach=reach)
        listed = (await engine.list_preview(ListRequest(filter=filter, limit=MAX_LISTED))).items
        for hit in listed:
            if hit.id != part.id and hit.meta.turns is None:
                return hit
        ranges = [(hit.meta.turns.last - hit.meta.turns.first, hit) for hit in listed if hit.meta.turns is not None]
        for length, hit in sorted(ranges, key=lambda each: -each[0]):
            held = hit.meta.turns
            is_wider = length > turns.last - turns.first
            if held is not None and is_wider and held.first <= turns.first and turns.last <= held.last:
                return hit
    return None


async def _holder(engine: MemoryEngine, found: list[Hit], reach: Reach, turn: int) -> Hit:
    """The one of `found` that holds `turn`: by its own range of turns, else by how many it has."""
    for hit in found:
        if hit.meta.turns is not None and hit.meta.turns.first <= turn <= hit.meta.turns.last:
            return hit
    without_range = [hit for hit in found if hit.meta.turns is None]
    if without_range:
        try:
            whole = await engine.get_items(GetRequest(ids=[hit.id for hit in without_range], reach=reach))
        except Unsupported:
            return without_range[0]
        held = {each.id for each in whole if isinstance(each.item, Conversation) and turn < len(each.item.turns)}
        for hit in without_range:
            if hit.id in held:
                return hit
    return found[0]
