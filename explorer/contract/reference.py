"""The plainest engine: one list in memory, searched by reading all of it. It shows what the contract means.

Source: memory-v2, "Testing"; contract, "The reference engine" and what came after it.
"""

from __future__ import annotations

import math
import re
import struct
import sys
from collections import Counter
from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from functools import cached_property
from itertools import groupby, islice
from typing import TypeVar

from explorer.contract.engine import MemoryEngine
from explorer.contract.errors import InvalidRequest
from explorer.contract.facets import Facet, rank_buckets
from explorer.contract.items import Conversation, Document, ItemId, Learning, LearningKind, Role, StoreItem
from explorer.contract.meta import ItemKind, MemoryMeta, MetaFilter
from explorer.contract.model import collapsed, trimmed
from explorer.contract.namespace import Reach, admitted_by, fnv1a_32
from explorer.contract.query import (
    DEFAULT_SCAN,
    NOTHING_ANSWERS,
    Citation,
    ConsolidateReceipt,
    ConsolidateRequest,
    Consolidation,
    EngineDescriptor,
    EngineHealth,
    EraseReport,
    EraseRequest,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    ListPage,
    ListRequest,
    RecallAnswer,
    RecallRequest,
    StoreReceipt,
    TimeHint,
    check_batch,
)

T = TypeVar("T")
Listed = list[T]
"""`MemoryEngine.list` hides the built-in of that name inside the class body."""

CONSOLIDATED_TAG = "consolidated"
_BELIEF_CONFIDENCE = 0.5
_SENTENCE_CHARS = 240
_DIMENSIONS = 64
_WINDOW = 3
_VECTOR_HIT = struct.unpack("<f", struct.pack("<f", 0.2))[0]  # the threshold as the 32-bit float it is compared with
_OFFSET = re.compile(r"0*(\d{1,20})", re.ASCII)
_MAX_OFFSET = 2**64 - 1

_DESCRIPTOR = EngineDescriptor(
    id="reference",
    label="Reference (in-memory)",
    description="Holds everything in memory until the program ends; for tests and for trying things out.",
    hosted=False,
    needs_endpoint=False,
    needs_key=False,
    fetch_modes=[FetchMode.KEYWORD, FetchMode.VECTOR, FetchMode.HYBRID],
    consolidation=Consolidation.ON_DEMAND,
)


class ReferenceEngine(MemoryEngine):
    """Items in the order stored; `len()` tells how many. What goes in and comes out is a copy."""

    def __init__(self) -> None:
        self._held: dict[ItemId, _Held] = {}

    def __len__(self) -> int:
        return len(self._held)

    def __bool__(self) -> bool:
        return True  # `if engine:` asks whether there is one, not whether it holds something

    def is_empty(self) -> bool:
        return not self._held

    def descriptor(self) -> EngineDescriptor:
        return _DESCRIPTOR.model_copy(update={"fetch_modes": list(_DESCRIPTOR.fetch_modes)})

    async def health(self) -> EngineHealth:
        return EngineHealth.ok()

    async def store(self, item: StoreItem) -> StoreReceipt:
        item.check()
        return self._keep(item)

    async def store_many(self, items: Listed[StoreItem]) -> Listed[StoreReceipt]:
        check_batch(items)
        return [self._keep(item) for item in items]

    async def list(self, req: ListRequest) -> ListPage:
        """Oldest first. Cursors are offsets: they count anew on each call and do not survive a write."""
        req.check()
        page, next_cursor = _page(self._matching(req.filter), req.limit, req.cursor)
        return ListPage(items=[held.hit() for held in page], next_cursor=next_cursor)

    async def export(self, req: ListRequest) -> ExportPage:
        req.check()
        page, next_cursor = _page(self._matching(req.filter), req.limit, req.cursor)
        return ExportPage(items=[held.exported() for held in page], next_cursor=next_cursor)

    async def get_items(self, req: GetRequest) -> Listed[Exported]:
        req.check()
        found = (self._held.get(id) for id in dict.fromkeys(req.ids))
        return [held.exported() for held in found if held and admitted_by(req.reach, held.item.meta.namespace)]

    async def namespaces(self, filter: MetaFilter, scan_limit: int = DEFAULT_SCAN) -> ExplorePage:
        """Every node there is, sandboxes included; nothing is scanned, so nothing is truncated."""
        ExploreRequest(facet=Facet.NAMESPACE, filter=filter, limit=1, scan_limit=scan_limit).check()
        counts: Counter[str] = Counter()
        for held in self._held.values():
            meta = held.item.meta
            here = filter.model_copy(update={"reach": Reach.exact(meta.namespace)})
            counts[str(meta.namespace)] += here.matches(held.item.item_kind, meta)
        counts = +counts  # without the nodes where nothing matched
        buckets, _ = rank_buckets(counts, len(counts))
        return ExplorePage(
            facet=Facet.NAMESPACE, buckets=buckets, total=counts.total(), missing=0, more_buckets=0, truncated=False
        )

    async def fetch(self, req: FetchRequest) -> FetchPage:
        self.refuse_undeclared(req.mode)
        req.check()
        ranked = _lifted(self._ranked(req.query, req.mode, req.filter), req.refers_to)
        page, next_cursor = _page(ranked, req.limit, req.cursor)
        return FetchPage(hits=[held.hit(points) for points, held in page], next_cursor=next_cursor)

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        req.check()
        citations = [
            Citation(id=hit.id, kind=hit.kind, snippet=hit.text, meta=hit.meta, score=hit.score)
            for points, held in self._ranked(req.question, FetchMode.HYBRID, req.filter)[: req.limit]
            for hit in [held.hit(points)]
        ]
        if citations:
            answer = f"From {len(citations)} stored items: {' | '.join(cited.snippet for cited in citations)}"
        else:
            answer = NOTHING_ANSWERS
        return RecallAnswer(answer=answer, citations=citations, model="reference")

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        target.check()
        if target.filter is not None:
            gone = [held.id for held in self._matching(target.filter)]
        else:
            gone = [id for id in dict.fromkeys(target.ids or []) if id in self._held]
        self._drop(gone)
        return ForgetReport(forgotten=len(gone))

    async def erase(self, req: EraseRequest) -> EraseReport:
        req.check()
        gone = [held for held in self._held.values() if req.admits(held.item.item_kind, held.item.meta)]
        self._drop(held.id for held in gone)
        return EraseReport(erased_scopes=len({(held.item.meta.namespace, held.item.item_kind) for held in gone}))

    async def consolidate(self, req: ConsolidateRequest) -> ConsolidateReceipt:
        """One learning for the first sentence of each document and conversation; repeating is a replay."""
        req.check()
        kinds = req.kinds or list(ItemKind)
        beliefs = [
            belief
            for held in self._held.values()
            if held.item.item_kind in kinds and req.reach.admits(held.item.meta.namespace)
            if (belief := _distilled(held)) is not None
        ]
        for belief in beliefs:
            self._keep(belief)
        nodes = {belief.meta.namespace for belief in beliefs}
        return ConsolidateReceipt(status="completed", scopes=len(nodes) * len(kinds), built=len(beliefs))

    def _keep(self, item: StoreItem) -> StoreReceipt:
        id = item.fingerprint()
        is_held = id in self._held
        if not is_held:
            self._held[id] = _Held(id, item.model_copy(deep=True))
        return StoreReceipt(id=id, replayed=is_held)

    def _drop(self, ids: Iterable[ItemId]) -> None:
        for id in ids:
            del self._held[id]

    def _matching(self, filter: MetaFilter) -> Iterator[_Held]:
        return (held for held in self._held.values() if filter.matches(held.item.item_kind, held.item.meta))

    def _ranked(self, query: str, mode: FetchMode, filter: MetaFilter) -> Listed[tuple[float, _Held]]:
        asked = Searchable(query)
        scored = [(score(mode, asked, held.searchable), held) for held in self._matching(filter)]
        hits = [(points, held) for (points, is_hit), held in scored if is_hit]
        return sorted(hits, key=lambda pair: -pair[0])  # stable: equal scores stay in the order stored


@dataclass
class _Held:
    id: ItemId
    item: StoreItem

    @cached_property
    def searchable(self) -> Searchable:
        return Searchable(self.item.render_text())

    def hit(self, points: float = 0.0) -> Hit:
        hit = Hit.of_item(self.id, self.item, points)
        # Models are frozen, their lists are not; tags are the only list in a hit.
        return hit.model_copy(update={"meta": hit.meta.model_copy(update={"tags": list(hit.meta.tags)})})

    def exported(self) -> Exported:
        return Exported.model_validate({"id": self.id, "item": self.item.model_copy(deep=True)})


def _page(found: Iterable[T], limit: int, cursor: str | None) -> tuple[list[T], str | None]:
    """The `limit` results from the offset that `cursor` is, and the offset of the next page if there is one."""
    if cursor is None:
        offset = 0
    elif (written := _OFFSET.fullmatch(cursor)) and int(written[1]) <= _MAX_OFFSET:
        offset = int(written[1])
    else:
        raise InvalidRequest(f"unknown cursor `{cursor}`")
    rest = iter(found)
    for _ in zip(range(offset), rest, strict=False):  # `islice` refuses an offset of 64 bits
        pass
    page = list(islice(rest, min(limit, sys.maxsize)))
    has_more = next(rest, None) is not None
    return page, str(offset + len(page)) if has_more else None


def _lifted(ranked: list[tuple[float, _Held]], hint: TimeHint | None) -> list[tuple[float, _Held]]:
    """Items of the days hinted at first; otherwise the order stays."""
    if hint is None:
        return ranked
    return sorted(ranked, key=lambda pair: not hint.covers(pair[1].item.meta.observed_at))


# --- scoring, in 32-bit floats: every step is rounded as the Rust engine's is


class Searchable:
    """A text as the scorer sees it: its words, and its direction among trigrams."""

    def __init__(self, text: str) -> None:
        self._words = ["".join(run).lower() for is_word, run in groupby(text, str.isalnum) if is_word]

    @cached_property
    def distinct_words(self) -> frozenset[str]:
        return frozenset(self._words)

    @cached_property
    def vector(self) -> tuple[float, ...]:
        """64 counts of hashed trigrams, scaled to length 1; all zero where there is no word."""
        counts = [0.0] * _DIMENSIONS
        for word in self._words:
            points = [ord(char) for char in f" {word} "]
            for start in range(len(points) - _WINDOW + 1):
                counts[fnv1a_32(points[start : start + _WINDOW]) % _DIMENSIONS] += 1.0
        norm = _f32(math.sqrt(_sum_f32(_f32(count * count) for count in counts)))
        return tuple(_f32(count / norm) for count in counts) if norm else tuple(counts)


def score(mode: FetchMode, query: Searchable, text: Searchable) -> tuple[float, bool]:
    """How well `text` answers `query`, 0 to 1, and whether that makes it a hit."""
    keyword = _f32(len(query.distinct_words & text.distinct_words) / max(1, len(query.distinct_words)))
    if mode is FetchMode.KEYWORD:
        return keyword, keyword > 0.0
    vector = _sum_f32(_f32(a * b) for a, b in zip(query.vector, text.vector, strict=True))
    is_near = vector >= _VECTOR_HIT
    if mode is FetchMode.VECTOR:
        return vector, is_near
    return _f32(_f32(keyword + vector) / 2.0), keyword > 0.0 or is_near


_SINGLE = struct.Struct("<f")


def _f32(value: float) -> float:
    rounded: float = _SINGLE.unpack(_SINGLE.pack(value))[0]
    return rounded


def _sum_f32(values: Iterable[float]) -> float:
    total = 0.0
    for value in values:
        total = _f32(total + value)
    return total


# --- consolidation


def _distilled(held: _Held) -> Learning | None:
    sentence = _first_sentence(_said(held.item))
    if not sentence:
        return None
    meta = held.item.meta
    tags = [*meta.tags, *([] if CONSOLIDATED_TAG in meta.tags else [CONSOLIDATED_TAG])]
    tagged: MemoryMeta = meta.model_copy(update={"tags": tags})
    return Learning(text=sentence, kind=LearningKind.FACT, confidence=_BELIEF_CONFIDENCE, evidence=held.id, meta=tagged)


def _said(item: StoreItem) -> str:
    """The text that a belief is drawn from: a document's body, or what the user said first."""
    if isinstance(item, Document):
        return item.body.text or ""
    if isinstance(item, Conversation):
        return next((turn.text for turn in item.turns if turn.role is Role.USER), "")
    return ""


def _first_sentence(text: str) -> str:
    """At most 240 characters, up to the first full stop; headings count only where there is nothing else."""
    lines = [line for line in map(trimmed, text.split("\n")) if line]
    plain = [line for line in lines if not line.startswith("#")]
    joined = collapsed(" ".join(plain or [line.lstrip("#") for line in lines]))
    ends = [joined.find(mark) for mark in ".!?" if mark in joined]
    return joined[: min(ends) + 1 if ends else None][:_SENTENCE_CHARS]
