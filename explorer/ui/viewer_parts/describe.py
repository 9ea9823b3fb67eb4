"""An item's metadata in words. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, tzinfo
from typing import Any

from explorer.contract import Document, Hit, ItemKind, Learning, StoreItem, TurnRange
from explorer.contract.timeline import begin_of, day_of
from explorer.ui.conditions import PREFIXES, WINDOW
from explorer.ui.text import confidence, number, size, utc, when_full

MAX_TAGS = 24  # drawn above a text; the Metadata page has more
MAX_TAGS_LISTED = 200
TURN_BASE = "Turns are counted from 0, as in the memory contract"
SIMILAR_CHARS = 1_000  # of an item's text, as a query: what comes later says little that is new
_ID_ENDS = 6, 4


@dataclass(frozen=True)
class Value:
    """One value: its exact text, and the filter field and value that it stands for (none where no filter can)."""

    text: str
    field: str = ""
    value: object = None
    tooltip: str = ""
    is_mono: bool = False
    drawn: str = ""
    """What is drawn in place of the text."""
    act: str = ""
    """What pressing it does, where that is more than to filter by the value."""


@dataclass(frozen=True)
class Pair:
    key: str
    values: tuple[Value, ...]


def short_id(id: str) -> str:
    """`9c41f0…7be2`."""
    start, end = _ID_ENDS
    return f"{id[:start]}…{id[-end:]}" if len(id) > start + end + 3 else id


def similar_query(text: str) -> str:
    """A text as a query, on one line; of a long one its start, up to the end of a word."""
    words = " ".join(text[: 4 * SIMILAR_CHARS].split())
    if len(words) <= SIMILAR_CHARS:
        return words
    end = words.rfind(" ", SIMILAR_CHARS // 2, SIMILAR_CHARS + 1)
    return words[: end if end > 0 else SIMILAR_CHARS]


def short_pairs(hit: Hit, item: StoreItem | None, zone: tzinfo) -> list[Pair]:
    """What stands above a text, or below a learning, where there is little room: the rest is on the Metadata page."""
    meta = hit.meta
    file = _one("file", meta.file_path, "file_path")
    language = _one("language", meta.language, "language")
    thread = _one("thread", meta.thread_id, "thread_id")
    agent = _one("agent", meta.agent_id, "agent_id")
    node, observed, tags = _node(hit), _observed(hit, zone), _tags(hit, MAX_TAGS)
    source = _one("source", meta.source.kind.value, "sources", meta.source.kind)
    source_id = _one("source id", meta.source.id, "source_id")
    found: list[Pair | None]
    match hit.kind:
        case ItemKind.DOCUMENT:
            kind = _one("type", item.mime) if isinstance(item, Document) else None
            found = [file or _one("url", meta.url, "url"), node, kind, language, observed, tags]
        case ItemKind.CONVERSATION:
            found = [node, thread, _turns(hit), observed, source, source_id, tags]
        case _:
            found = [node, agent, observed, language, source, source_id, _length(hit), tags, _id(hit)]
    return [pair for pair in found if pair is not None]


def all_pairs(hit: Hit, item: StoreItem | None, zone: tzinfo) -> list[Pair]:
    """Every field that is set, each under its own name."""
    meta = hit.meta
    found = [
        Pair("id", (Value(hit.id, is_mono=True),)),
        _one("kind", hit.kind.value, "kinds", hit.kind),
        Pair("learning kind", (Value(item.kind.value),)) if isinstance(item, Learning) else None,
        Pair("confidence", (Value(confidence(hit.confidence)),)) if hit.confidence is not None else None,
        _one("title", item.title) if isinstance(item, Document) else None,
        _one("type", item.mime) if isinstance(item, Document) else None,
        _length(hit),
        _node(hit),
        _one("workspace", meta.workspace, "workspace", is_mono=True),
        _one("folder", meta.folder, "folder", is_mono=True),
        _one("file", meta.file_path, "file_path", is_mono=True),
        _one("language", meta.language, "language"),
        _one("repo", meta.repo, "repo"),
        _one("commit", meta.commit, "commit", is_mono=True),
        _one("url", meta.url, "url", is_mono=True),
        _one("thread", meta.thread_id, "thread_id"),
        _turns(hit),
        _one("agent", meta.agent_id, "agent_id"),
        _one("tool", meta.tool_call.name, "tool_call") if meta.tool_call else None,
        _one("tool call id", meta.tool_call.id, is_mono=True) if meta.tool_call else None,
        _one("source", meta.source.kind.value, "sources", meta.source.kind),
        _one("source id", meta.source.id, "source_id"),
        _tags(hit, MAX_TAGS_LISTED),
        _observed(hit, zone),
        Pair("derive", (Value("yes" if meta.derive else "no, nothing is to be derived from it"),))
        if meta.derive is not None
        else None,
        _one("observed by", meta.observed_actor.id) if meta.observed_actor else None,
        _one("actor's name", meta.observed_actor.name) if meta.observed_actor else None,
        Pair("score", (Value(f"{hit.score:g}"),)) if hit.score else None,
    ]
    return [pair for pair in found if pair is not None]


def _one(key: str, text: str | None, field: str = "", value: Any = None, *, is_mono: bool = False) -> Pair | None:
    """A pair for one text; where `field` is given, it filters by `value`, or by the text itself."""
    if text is None:
        return None
    wanted = value if value is not None else text
    act = f"Filter by this {key} and what is below it" if field in PREFIXES else ""
    return Pair(key, (Value(text, field, wanted if field else None, is_mono=is_mono, act=act),))


def _node(hit: Hit) -> Pair:
    node = hit.meta.namespace
    drawn = " / ".join(map(str, node.segments)) or "root"
    return Pair("node", (Value(str(node), "reach", node, drawn=drawn, act="Show only what is at this node"),))


def _observed(hit: Hit, zone: tzinfo) -> Pair | None:
    at = hit.meta.observed_at
    if at is None:
        return None
    day = day_of(at, zone)
    try:
        window = begin_of(day, zone), begin_of(day + timedelta(days=1), zone)
    except OverflowError:  # the last day that there is
        return Pair("observed", (Value(at.text, tooltip=utc(at), drawn=when_full(at, zone)),))
    act = "Show only what was observed on this day"
    return Pair("observed", (Value(at.text, WINDOW, window, utc(at), drawn=when_full(at, zone), act=act),))


def _tags(hit: Hit, most: int) -> Pair | None:
    tags = list(dict.fromkeys(hit.meta.tags))
    if not tags:
        return None
    values = [Value(tag, "tags_any", tag) for tag in tags[:most]]
    if len(tags) > most:
        values.append(Value(f"and {number(len(tags) - most)} more"))
    return Pair("tags", tuple(values))


def _turns(hit: Hit) -> Pair | None:
    turns = hit.meta.turns
    if turns is None:
        return None
    return Pair("turns", (Value(turn_words(turns), "turns", turns, tooltip=TURN_BASE),))


def turn_words(turns: TurnRange) -> str:
    """`3`, `3 to 6`: counted as the contract does, here and wherever a turn has a number."""
    return str(turns.first) if turns.first == turns.last else f"{turns.first} to {turns.last}"


def _length(hit: Hit) -> Pair:
    n = len(hit.text)
    words = f"{number(n)} character{'' if n == 1 else 's'}"
    size_bytes = n if hit.text.isascii() else len(hit.text.encode("utf-8", "replace"))
    return Pair("length", (Value(words, tooltip=size(size_bytes)),))


def _id(hit: Hit) -> Pair:
    return Pair("id", (Value(hit.id, is_mono=True, drawn=short_id(hit.id)),))
