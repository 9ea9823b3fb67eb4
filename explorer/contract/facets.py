"""The fourteen dimensions that an explorer walks, on every engine alike.

Source: memory-v2, "Explore and get"; contract, "Facets".
"""

from __future__ import annotations

from collections.abc import Mapping
from enum import StrEnum
from typing import Any

from explorer.contract.errors import InvalidRequest
from explorer.contract.meta import ItemKind, MemoryMeta, MetaFilter, SourceKind
from explorer.contract.model import Count, Model, Text, is_blank
from explorer.contract.namespace import Namespace, Reach


class FacetBucket(Model):
    value: Text
    count: Count


class Facet(StrEnum):
    KIND = "kind"
    SOURCE = "source"
    SOURCE_ID = "source_id"
    WORKSPACE = "workspace"
    FOLDER = "folder"
    FILE_PATH = "file_path"
    LANGUAGE = "language"
    REPO = "repo"
    URL = "url"
    THREAD = "thread"
    AGENT = "agent"
    TOOL_CALL = "tool_call"
    TAG = "tag"
    NAMESPACE = "namespace"

    @property
    def field(self) -> str:
        """The name of the filter field that a value of this facet narrows."""
        return _FIELDS[self]

    @property
    def takes_several(self) -> bool:
        """Whether the filter can hold more than one value of this facet (any of them matches)."""
        return self.field in ("kinds", "sources", "tags_any")

    @property
    def is_prefix(self) -> bool:
        """Whether narrowing also admits what lies below the value as a path."""
        return self in (Facet.FOLDER, Facet.FILE_PATH)

    def values(self, kind: ItemKind, meta: MemoryMeta) -> list[str]:
        """The values by which an item is counted: none when it has no value, for a tag each one once."""
        match self:
            case Facet.KIND:
                return [kind.value]
            case Facet.SOURCE:
                return [meta.source.kind.value]
            case Facet.TAG:
                return list(dict.fromkeys(meta.tags))
            case Facet.NAMESPACE:
                return [str(meta.namespace)]
            case Facet.SOURCE_ID:
                value = meta.source.id
            case Facet.TOOL_CALL:
                value = meta.tool_call.name if meta.tool_call else None
            case _:
                value = getattr(meta, self.field)
        return [] if value is None else [value]

    def narrow(self, filter: MetaFilter, value: str) -> MetaFilter:
        """`filter` with this facet's one field set to `value`; the argument stays as it is.

        Raises InvalidRequest for a blank value, an unknown kind or source kind, or a malformed namespace.
        """
        if is_blank(value):
            raise InvalidRequest(f"a `{self}` value must not be blank")
        return filter.model_copy(update={self.field: self._condition(value)})

    def _condition(self, value: str) -> Any:
        match self:
            case Facet.KIND:
                if value not in list(ItemKind):
                    raise InvalidRequest(f"`{value}` is not an item kind")
                return [ItemKind(value)]
            case Facet.SOURCE:
                if value not in list(SourceKind):
                    raise InvalidRequest(f"`{value}` is not a source kind")
                return [SourceKind(value)]
            case Facet.TAG:
                return [value]
            case Facet.NAMESPACE:
                return Reach.exact(Namespace.parse(value))
            case _:
                return value

    def without(self, filter: MetaFilter) -> MetaFilter:
        """`filter` without this facet's own condition."""
        unset: list[str] | None = [] if self.takes_several else None
        return filter.model_copy(update={self.field: unset})


_FIELDS = {
    Facet.KIND: "kinds",
    Facet.SOURCE: "sources",
    Facet.SOURCE_ID: "source_id",
    Facet.WORKSPACE: "workspace",
    Facet.FOLDER: "folder",
    Facet.FILE_PATH: "file_path",
    Facet.LANGUAGE: "language",
    Facet.REPO: "repo",
    Facet.URL: "url",
    Facet.THREAD: "thread_id",
    Facet.AGENT: "agent_id",
    Facet.TOOL_CALL: "tool_call",
    Facet.TAG: "tags_any",
    Facet.NAMESPACE: "reach",
}


def rank_buckets(counts: Mapping[str, int], limit: int) -> tuple[list[FacetBucket], int]:
    """The `limit` largest buckets, ties by value, and how many values were cut."""
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    return [FacetBucket(value=value, count=count) for value, count in ranked[:limit]], max(0, len(ranked) - limit)
