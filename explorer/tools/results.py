"""What a model gets back from a tool: compact JSON without any field that is absent, and without a namespace."""

from __future__ import annotations

import json
import math
import struct
from decimal import ROUND_HALF_UP, Decimal
from typing import Any

from explorer.contract import (
    Citation,
    ExplorePage,
    FetchPage,
    ForgetReport,
    Hit,
    ItemId,
    ListPage,
    MemoryMeta,
    RecallAnswer,
    StoreReceipt,
)

_FOUR_PLACES = Decimal("0.0001")
_WHOLE = 2.0**24  # from here on a 32-bit float has no decimals
_SINGLE = struct.Struct("<f")


def recall(answer: RecallAnswer) -> str:
    return _dumps({"answer": answer.answer, "citations": list(map(_citation, answer.citations))})


def fetch(page: FetchPage) -> str:
    return _dumps(_without_none({"hits": list(map(_hit, page.hits)), "next_cursor": page.next_cursor}))


def listing(page: ListPage) -> str:
    return _dumps(_without_none({"items": list(map(_hit, page.items)), "next_cursor": page.next_cursor}))


def get(ids: list[ItemId], hits: list[Hit]) -> str:
    return _dumps({"items": list(map(_hit, hits)), "missing": without(ids, hits)})


def explore(page: ExplorePage) -> str:
    buckets = [{"value": bucket.value, "count": bucket.count} for bucket in page.buckets]
    return _dumps(
        {
            "facet": page.facet.value,
            "buckets": buckets,
            "total": page.total,
            "missing": page.missing,
            "more_buckets": page.more_buckets,
            "truncated": page.truncated,
        }
    )


def store(receipt: StoreReceipt) -> str:
    return _dumps({"id": receipt.id, "replayed": receipt.replayed})


def forget(report: ForgetReport, skipped: list[ItemId]) -> str:
    return _dumps({"forgotten": report.forgotten, "skipped": skipped})


def without(ids: list[ItemId], hits: list[Hit]) -> list[ItemId]:
    """Those of `ids` that are not among `hits`, in their order."""
    found = {hit.id for hit in hits}
    return [id for id in ids if id not in found]


def _dumps(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, allow_nan=False, separators=(",", ":"))


def _without_none(fields: dict[str, Any]) -> dict[str, Any]:
    return {name: value for name, value in fields.items() if value is not None}


def _citation(citation: Citation) -> dict[str, Any]:
    return _without_none(
        {
            "id": citation.id,
            "kind": citation.kind.value,
            "snippet": citation.snippet,
            "score": None if citation.score is None else rounded(citation.score),
            "meta": _meta(citation.meta),
        }
    )


def _hit(hit: Hit) -> dict[str, Any]:
    return _without_none(
        {
            "id": hit.id,
            "kind": hit.kind.value,
            "text": hit.text,
            "score": rounded(hit.score),
            "confidence": None if hit.confidence is None else rounded(hit.confidence),
            "meta": _meta(hit.meta),
        }
    )


def _meta(meta: MemoryMeta) -> dict[str, Any]:
    return _without_none(
        {
            "source": _without_none({"kind": meta.source.kind.value, "id": meta.source.id}),
            "file_path": meta.file_path,
            "url": meta.url,
            "thread_id": meta.thread_id,
            "tags": list(meta.tags) or None,
            "observed_at": None if meta.observed_at is None else f"{meta.observed_at.text[:19]}Z",
        }
    )


def rounded(value: float) -> float:
    """A 32-bit float to four decimals, half away from zero; 0.0 for what JSON has no number for."""
    if not math.isfinite(value):
        return 0.0
    if abs(value) >= _WHOLE:
        return value
    (single,) = _SINGLE.unpack(_SINGLE.pack(value))  # the float itself, not its short decimal, lies at a half or not
    return float(Decimal(single).quantize(_FOUR_PLACES, ROUND_HALF_UP)) + 0.0  # no -0.0
