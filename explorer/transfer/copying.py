"""Items as text to put elsewhere: what they say, Markdown, JSON Lines as an export has them, or their ids."""

from __future__ import annotations

from collections.abc import Sequence
from enum import StrEnum

from explorer.contract import Exported, GetRequest, Hit, ItemId, MemoryEngine, Reach, dump_item
from explorer.contract.query import MAX_GET_IDS


class CopyForm(StrEnum):
    TEXT = "text"
    MARKDOWN = "Markdown"
    JSON = "JSON"
    ID = "id"


BETWEEN = {CopyForm.TEXT: "\n\n", CopyForm.MARKDOWN: "\n\n---\n\n", CopyForm.JSON: "\n", CopyForm.ID: "\n"}
"""What stands between two items."""


async def copied(engine: MemoryEngine, hits: Sequence[Hit], form: CopyForm, reach: Reach | None = None) -> list[str]:
    """One text per item, in order; their texts are read in full first, since a listing may hold only their starts.

    An item that was removed meanwhile is left out. Raises Unsupported for JSON where the engine does not export.
    """
    ids = [hit.id for hit in hits]
    batches = [ids[start : start + MAX_GET_IDS] for start in range(0, len(ids), MAX_GET_IDS)]
    if form is CopyForm.JSON:
        items: list[Exported] = []
        for batch in batches:
            items += await engine.get_items(GetRequest(ids=batch, reach=reach))
        return [dump_item(one.item) for one in items]
    whole: dict[ItemId, Hit] = {}
    for batch in batches:
        whole.update((hit.id, hit) for hit in await engine.get(GetRequest(ids=batch, reach=reach)))
    found = [whole[id] for id in ids if id in whole]
    if form is CopyForm.ID:
        return [hit.id for hit in found]
    return [hit.text if form is CopyForm.TEXT else markdown(hit) for hit in found]


def markdown(hit: Hit) -> str:
    """What the item is in one line, then its text as it is."""
    meta = hit.meta
    known = [f"**{hit.kind.value}**", _code(str(meta.namespace))]
    if meta.observed_at is not None:
        known.append(str(meta.observed_at))
    if meta.tags:
        known.append("tags " + ", ".join(map(_code, meta.tags)))
    known.append(_code(hit.id))
    return f"{' · '.join(known)}\n\n{hit.text}"


def _code(text: str) -> str:
    """A code span, whatever is in the text."""
    fence = "`"
    while fence in text:
        fence += "`"
    pad = " " if text.startswith("`") or text.endswith("`") else ""
    return f"{fence}{pad}{' '.join(text.splitlines())}{pad}{fence}"
