"""The tree of nodes that memory is placed at, and how far a read reaches in it.

Source: memory-v2, "Namespaces".
"""

from __future__ import annotations

import re
from collections.abc import Iterator
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Any, ClassVar

from pydantic import Field, GetCoreSchemaHandler
from pydantic_core import CoreSchema, PydanticCustomError, core_schema

from explorer.contract import wire
from explorer.contract.errors import InvalidRequest
from explorer.contract.model import Flag, Model, trimmed

MAX_DEPTH = 8
_MAX_ID = 128
_ID = re.compile(r"[A-Za-z0-9_-]{1,128}")
_OUTSIDE_ID = re.compile(r"[^A-Za-z0-9_-]", re.DOTALL)
_HASH_SUFFIX = 9  # a dash and 8 hex digits


class SegmentKind(StrEnum):
    """What a node stands for. The value is the JSON form; inside a namespace string it is `prefix`."""

    AGENT = "agent"
    TEAM = "team"
    USER = "user"
    WORKSPACE = "workspace"
    PROJECT = "project"
    SOURCE = "source"
    SERVICE = "service"

    @property
    def prefix(self) -> str:
        return "ws" if self is SegmentKind.WORKSPACE else self.value


_KIND_BY_PREFIX = {kind.prefix: kind for kind in SegmentKind}


@dataclass(frozen=True, slots=True)
class Segment:
    """One step of a namespace, written `kind:id`. Raises InvalidRequest for an id outside the charset."""

    kind: SegmentKind
    id: str

    def __post_init__(self) -> None:
        if not _ID.fullmatch(self.id):
            raise InvalidRequest(
                f"namespace id `{self.id}` must be 1 to {_MAX_ID} characters of A-Z, a-z, 0-9, `_` or `-`"
            )

    @classmethod
    def parse(cls, text: str) -> Segment:
        prefix, colon, id_ = text.partition(":")
        if not colon:
            raise InvalidRequest(f"namespace segment `{text}` must be written kind:id")
        kind = _KIND_BY_PREFIX.get(prefix)
        if kind is None:
            raise InvalidRequest(f"`{prefix}` is not a namespace segment kind")
        return cls(kind, id_)

    @classmethod
    def sanitized(cls, kind: SegmentKind, raw: str) -> Segment:
        """A segment for any host id: kept where valid, else a readable start and a hash of the whole."""
        if _ID.fullmatch(raw):
            return cls(kind, raw)
        if not raw:
            return cls(kind, "_")
        start = _OUTSIDE_ID.sub("-", raw[: _MAX_ID - _HASH_SUFFIX])
        return cls(kind, f"{start}-{fnv1a_32(wire.to_unicode(raw).encode('utf-8')):08x}")

    def __str__(self) -> str:
        return f"{self.kind.prefix}:{self.id}"

    def __lt__(self, other: Segment) -> bool:
        return (self.kind.prefix, self.id) < (other.kind.prefix, other.id)


def fnv1a_32(values: bytes | list[int]) -> int:
    """The 32-bit FNV-1a hash with one step per value (a byte, or a whole code point)."""
    hashed = 0x811C9DC5
    for value in values:
        hashed = ((hashed ^ value) * 0x01000193) & 0xFFFFFFFF
    return hashed


@dataclass(frozen=True, slots=True)
class Namespace:
    """A node: its segments from the root down. The root has none and prints as `root`.

    Raises InvalidRequest below depth 8. Nodes order segment by segment.
    """

    ROOT: ClassVar[Namespace]

    segments: tuple[Segment, ...] = field(default=())

    def __post_init__(self) -> None:
        if len(self.segments) > MAX_DEPTH:
            raise InvalidRequest(f"a namespace nests at most {MAX_DEPTH} deep")

    @classmethod
    @lru_cache(maxsize=1024)  # items share few nodes, and parsing one takes longer than the rest of its metadata
    def parse(cls, text: str) -> Namespace:
        text = trimmed(text)
        if text in ("", "root"):
            return cls.ROOT
        return cls(tuple(Segment.parse(part) for part in text.split("/")))

    @classmethod
    def agent(cls, id: str) -> Namespace:
        return cls((Segment.sanitized(SegmentKind.AGENT, id),))

    @classmethod
    def source(cls, id: str) -> Namespace:
        return cls((Segment.sanitized(SegmentKind.SOURCE, id),))

    @property
    def depth(self) -> int:
        return len(self.segments)

    @property
    def is_root(self) -> bool:
        return not self.segments

    @property
    def last(self) -> Segment | None:
        """The node's own segment; None at the root."""
        return self.segments[-1] if self.segments else None

    @property
    def parent(self) -> Namespace | None:
        return Namespace(self.segments[:-1]) if self.segments else None

    def child(self, segment: Segment) -> Namespace:
        return Namespace((*self.segments, segment))

    def ancestors_and_self(self) -> Iterator[Namespace]:
        """The root first, then each node on the way, then this one."""
        for depth in range(len(self.segments) + 1):
            yield Namespace(self.segments[:depth])

    def is_within(self, other: Namespace) -> bool:
        """Whether this is `other` or lies below it."""
        return self.segments[: len(other.segments)] == other.segments

    def is_sandboxed_from(self, above: Namespace) -> bool:
        """Whether a `service:` node lies on the way down from `above` to here, here included."""
        return any(segment.kind is SegmentKind.SERVICE for segment in self.segments[len(above.segments) :])

    @property
    def sandbox(self) -> Namespace | None:
        """The innermost `service:` node on the way from the root to here, here included; None outside of any."""
        inside = [at for at, segment in enumerate(self.segments) if segment.kind is SegmentKind.SERVICE]
        return Namespace(self.segments[: inside[-1] + 1]) if inside else None

    def __str__(self) -> str:
        return "/".join(map(str, self.segments)) or "root"

    def __lt__(self, other: Namespace) -> bool:
        return self.segments < other.segments

    @classmethod
    def __get_pydantic_core_schema__(cls, source: Any, handler: GetCoreSchemaHandler) -> CoreSchema:
        return core_schema.no_info_plain_validator_function(
            _read,
            serialization=core_schema.plain_serializer_function_ser_schema(str, return_schema=core_schema.str_schema()),
        )


Namespace.ROOT = Namespace()


def _read(value: object) -> Namespace:
    if isinstance(value, Namespace):
        return value
    if not isinstance(value, str):
        raise ValueError("a namespace must be a text like team:acme/agent:writer")
    try:
        return Namespace.parse(value)
    except InvalidRequest as error:
        raise PydanticCustomError("namespace", "{what}", {"what": error.text}) from error


class Reach(Model):
    """The nodes that a read admits: `at`, its ancestors when `inherit`, what is below when `descendants`.

    A descendant read never enters a `service:` sandbox below `at`, and a sibling is never admitted.
    """

    at: Namespace = Field(default=Namespace.ROOT)
    inherit: Flag = True
    descendants: Flag = False

    @classmethod
    def of(cls, at: Namespace) -> Reach:
        """What an agent placed at `at` reads: the node and every ancestor."""
        return cls(at=at, inherit=True, descendants=False)

    @classmethod
    def exact(cls, at: Namespace) -> Reach:
        return cls(at=at, inherit=False, descendants=False)

    @classmethod
    def subtree(cls, at: Namespace) -> Reach:
        return cls(at=at, inherit=False, descendants=True)

    def admits(self, namespace: Namespace) -> bool:
        if namespace == self.at:
            return True
        if self.inherit and self.at.is_within(namespace):
            return True
        return self.descendants and namespace.is_within(self.at) and not namespace.is_sandboxed_from(self.at)

    def nodes(self) -> list[Namespace]:
        """The nodes named exactly, root first; what is below them is not enumerable."""
        return list(self.at.ancestors_and_self()) if self.inherit else [self.at]

    def within(self, outer: Reach) -> bool:
        """Whether `outer` admits every node that this reach admits."""
        if not all(map(outer.admits, self.nodes())):
            return False
        if self.descendants and self.at.depth < MAX_DEPTH:
            return outer.descendants and self.at.is_within(outer.at)
        return True


EVERYTHING = Reach.subtree(Namespace.ROOT)
"""What a missing reach reads as: every node except a sandbox."""


def admitted_by(reach: Reach | None, namespace: Namespace) -> bool:
    return (reach or EVERYTHING).admits(namespace)
