"""An item's metadata in words. Free of Qt."""

from __future__ import annotations

from dataclasses import dataclass
from datetime import timedelta, tzinfo
from enum import StrEnum

from explorer.conditions import PREFIXES, WINDOW
from explorer.contract import Document, Hit, ItemKind, Learning, StoreItem, TurnRange
from explorer.contract.timeline import begin_of, day_of
from explorer.i18n import mark, tr
from explorer.text import and_more, confidence, counted, from_to, size, utc, when_full, word
from explorer.ui.nodes import words_of

MAX_TAGS = 24  # drawn above a text; the Metadata page has more
MAX_TAGS_LISTED = 200
TURN_BASE = mark("Turns are counted from 0, as in the memory contract")
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
    """`key` is what the field is called, in the source's language, marked for translation."""

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
    file = _one(mark("file"), meta.file_path, "file_path")
    language = _one(mark("language"), meta.language, "language")
    thread = _one(mark("thread"), meta.thread_id, "thread_id")
    agent = _one(mark("agent"), meta.agent_id, "agent_id")
    node, observed, tags = _node(hit), _observed(hit, zone), _tags(hit, MAX_TAGS)
    source = _word(mark("source"), meta.source.kind, "sources")
    source_id = _one(mark("source id"), meta.source.id, "source_id")
    found: list[Pair | None]
    match hit.kind:
        case ItemKind.DOCUMENT:
            kind = _one(mark("type"), item.mime) if isinstance(item, Document) else None
            found = [file or _one(mark("url"), meta.url, "url"), node, kind, language, observed, tags]
        case ItemKind.CONVERSATION:
            found = [node, thread, _turns(hit), observed, source, source_id, tags]
        case _:
            found = [node, agent, observed, language, source, source_id, _length(hit), tags, _id(hit)]
    return [pair for pair in found if pair is not None]


def all_pairs(hit: Hit, item: StoreItem | None, zone: tzinfo) -> list[Pair]:
    """Every field that is set, each under its own name."""
    meta = hit.meta
    found = [
        Pair(mark("id"), (Value(hit.id, is_mono=True),)),
        _word(mark("kind"), hit.kind, "kinds"),
        _word(mark("learning kind"), item.kind) if isinstance(item, Learning) else None,
        Pair(mark("confidence"), (Value(confidence(hit.confidence)),)) if hit.confidence is not None else None,
        _one(mark("title"), item.title) if isinstance(item, Document) else None,
        _one(mark("type"), item.mime) if isinstance(item, Document) else None,
        _length(hit),
        _node(hit),
        _one(mark("workspace"), meta.workspace, "workspace", is_mono=True),
        _one(mark("folder"), meta.folder, "folder", is_mono=True),
        _one(mark("file"), meta.file_path, "file_path", is_mono=True),
        _one(mark("language"), meta.language, "language"),
        _one(mark("repo"), meta.repo, "repo"),
        _one(mark("commit"), meta.commit, "commit", is_mono=True),
        _one(mark("url"), meta.url, "url", is_mono=True),
        _one(mark("thread"), meta.thread_id, "thread_id"),
        _turns(hit),
        _one(mark("agent"), meta.agent_id, "agent_id"),
        _one(mark("tool"), meta.tool_call.name, "tool_call") if meta.tool_call else None,
        _one(mark("tool call id"), meta.tool_call.id, is_mono=True) if meta.tool_call else None,
        _word(mark("source"), meta.source.kind, "sources"),
        _one(mark("source id"), meta.source.id, "source_id"),
        _tags(hit, MAX_TAGS_LISTED),
        _observed(hit, zone),
        Pair(mark("derive"), (Value(tr("yes") if meta.derive else tr("no, nothing is to be derived from it")),))
        if meta.derive is not None
        else None,
        _one(mark("observed by"), meta.observed_actor.id) if meta.observed_actor else None,
        _one(mark("actor's name"), meta.observed_actor.name) if meta.observed_actor else None,
        Pair(mark("score"), (Value(f"{hit.score:g}"),)) if hit.score else None,
    ]
    return [pair for pair in found if pair is not None]


def _one(key: str, text: str | None, field: str = "", *, is_mono: bool = False) -> Pair | None:
    """A pair for one text; where `field` is given, it filters by it."""
    if text is None:
        return None
    act = tr("Filter by this {field} and what is below it", field=tr(key)) if field in PREFIXES else ""
    return Pair(key, (Value(text, field, text if field else None, is_mono=is_mono, act=act),))


def _word(key: str, value: StrEnum, field: str = "") -> Pair:
    """A pair for one value of a closed set."""
    said = word(value.value)
    return Pair(key, (Value(value.value, field, value if field else None, said, drawn=said),))


def _node(hit: Hit) -> Pair:
    node = hit.meta.namespace
    return Pair(
        mark("node"), (Value(str(node), "reach", node, drawn=words_of(node), act=tr("Show only what is at this node")),)
    )


def _observed(hit: Hit, zone: tzinfo) -> Pair | None:
    at = hit.meta.observed_at
    if at is None:
        return None
    day = day_of(at, zone)
    try:
        window = begin_of(day, zone), begin_of(day + timedelta(days=1), zone)
    except OverflowError:  # the last day that there is
        return Pair(mark("observed"), (Value(at.text, tooltip=utc(at), drawn=when_full(at, zone)),))
    act = tr("Show only what was observed on this day")
    return Pair(mark("observed"), (Value(at.text, WINDOW, window, utc(at), drawn=when_full(at, zone), act=act),))


def _tags(hit: Hit, most: int) -> Pair | None:
    tags = list(dict.fromkeys(hit.meta.tags))
    if not tags:
        return None
    values = [Value(tag, "tags_any", tag) for tag in tags[:most]]
    if len(tags) > most:
        values.append(Value(and_more(len(tags) - most)))
    return Pair(mark("tags"), tuple(values))


def _turns(hit: Hit) -> Pair | None:
    turns = hit.meta.turns
    if turns is None:
        return None
    return Pair(mark("turns"), (Value(turn_words(turns), "turns", turns, tooltip=tr(TURN_BASE)),))


def turn_words(turns: TurnRange) -> str:
    """`3`, `3 to 6`: counted as the contract does, here and wherever a turn has a number."""
    return from_to(str(turns.first), str(turns.last))


def _length(hit: Hit) -> Pair:
    n = len(hit.text)
    size_bytes = n if hit.text.isascii() else len(hit.text.encode("utf-8", "replace"))
    return Pair(mark("length"), (Value(counted(n, "character"), tooltip=size(size_bytes)),))


def _id(hit: Hit) -> Pair:
    return Pair(mark("id"), (Value(hit.id, is_mono=True, drawn=short_id(hit.id)),))
