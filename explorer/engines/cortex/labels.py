"""Labels: the hidden ones that events are looked up by, and those that a person reads.

Source: cortex, sections 1.3, 2.1, 2.2 and 2.4.
"""

from __future__ import annotations

from explorer.contract import MemoryMeta, MetaFilter
from explorer.contract.meta import holds_phone_number, redacted_id
from explorer.engines.cortex.digests import label_digest

MAX_LABELS = 64
"""What the server takes with one event."""

MAX_LABEL_BYTES = 256


def id_label(id: str) -> str:
    """The label that every event of the item carries, before all others."""
    return _label("i", id)


def sent_id(raw: str | None) -> str | None:
    """A thread's or source's id as it is stored: in redacted form where it holds a phone number."""
    return redacted_id(raw) if raw is not None and holds_phone_number(raw) else raw


def lookup_labels(id: str, meta: MemoryMeta, ws: str | None) -> list[str]:
    """The labels of an event with the wire metadata `meta`; `ws` is the digest of an absolute workspace."""
    fields = (
        ("t", meta.thread_id),
        ("s", meta.source.id),
        ("r", meta.repo),
        ("w", meta.workspace),
        ("a", meta.agent_id),
        ("l", meta.language),
        ("k", meta.source.kind.value),
    )
    labels = [id_label(id), *(_label(tag, value) for tag, value in fields if value is not None)]
    return labels if ws is None else [*labels, f"tm:w:{ws[:16]}"]


def narrowing(filter: MetaFilter) -> list[str]:
    """The labels to read by, any of which an event must carry; none where the whole scope has to be read.

    One field narrows, since the server joins labels by "or"; the filter is applied again to what comes back.
    """
    fields = (
        ("t", filter.thread_id),
        ("s", filter.source_id),
        ("r", filter.repo),
        ("w", filter.workspace),
        ("a", filter.agent_id),
        ("l", filter.language),
    )
    for tag, value in fields:
        if value is not None:
            stored = (sent_id(value) or value) if tag in ("t", "s") else value
            return [_label(tag, form) for form in dict.fromkeys((value, stored))]
    return [_label("k", kind.value) for kind in dict.fromkeys(filter.sources)]


def _label(tag: str, value: str) -> str:
    return f"tm:{tag}:{label_digest(value)}"


def place_labels(pages: tuple[int, int] | None, section: str | None) -> list[str]:
    """Where in its document a piece is: also the tags that a piece is given when it is read."""
    labels = []
    if pages is not None:
        first, last = pages
        labels.append(f"page:{first}" if first == last else f"page:{first}-{last}")
    if section is not None:
        labels.append(f"section:{section}")
    return labels
