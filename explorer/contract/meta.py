"""What is known about an item besides its text, and the filter over it.

Source: memory-v2, "Metadata"; contract, "Matching a filter".
"""

from __future__ import annotations

import hashlib
import re
from enum import StrEnum
from typing import Any, ClassVar

from pydantic import Field

from explorer.contract.model import U32, Flag, Model, Text
from explorer.contract.namespace import Namespace, Reach, admitted_by
from explorer.contract.timestamp import Timestamp


class ItemKind(StrEnum):
    DOCUMENT = "document"
    CONVERSATION = "conversation"
    LEARNING = "learning"


class SourceKind(StrEnum):
    FOLDER = "folder"
    FILE = "file"
    LINK = "link"
    GITHUB = "github"
    RSS = "rss"
    CONVERSATION = "conversation"
    AGENT = "agent"
    IMPORT = "import"


class SourceRef(Model):
    """Where an item came from: the kind of source, and which one."""

    kind: SourceKind
    id: Text | None = None


class TurnRange(Model):
    """The turns of a thread that an item covers: zero-based, both ends included."""

    first: U32
    last: U32


class ToolCallRef(Model):
    """A tool call by its tool's name and, where known, the call's own id."""

    name: Text
    id: Text | None = None


class ActorRef(Model):
    """Who said or did what an item holds, when not its owner; `id` is written `type:id`. Newer than memory-v2."""

    id: Text
    name: Text | None = None


class MemoryMeta(Model):
    LEFT_OUT: ClassVar[dict[str, Any]] = {"namespace": Namespace.ROOT, "tags": []}

    namespace: Namespace = Field(default=Namespace.ROOT)
    workspace: Text | None = None
    folder: Text | None = None
    file_path: Text | None = None
    language: Text | None = None
    repo: Text | None = None
    commit: Text | None = None
    url: Text | None = None
    thread_id: Text | None = None
    turns: TurnRange | None = None
    agent_id: Text | None = None
    tool_call: ToolCallRef | None = None
    source: SourceRef = Field(default_factory=lambda: SourceRef(kind=SourceKind.AGENT))
    tags: list[Text] = Field(default_factory=list)
    observed_at: Timestamp | None = None
    """When it was seen; no part of the item's id."""
    derive: Flag | None = None
    """False asks an engine to derive nothing from the item."""
    observed_actor: ActorRef | None = None


NO_IDENTITY = ("observed_at", "observed_actor")
"""Metadata that does not make an item another item: when and by whom it was seen."""


class MetaFilter(Model):
    """Conditions that an item must all meet; the empty filter admits everything outside sandboxes."""

    LEFT_OUT: ClassVar[dict[str, Any]] = {"kinds": [], "sources": [], "tags_any": []}

    reach: Reach | None = None
    workspace: Text | None = None
    folder: Text | None = None
    """Equal, or a folder above: see `is_path_prefix`."""
    file_path: Text | None = None
    """Equal, or a folder above."""
    language: Text | None = None
    repo: Text | None = None
    commit: Text | None = None
    url: Text | None = None
    thread_id: Text | None = None
    turns: TurnRange | None = None
    agent_id: Text | None = None
    tool_call: Text | None = None
    """The tool's name."""
    source_id: Text | None = None
    kinds: list[ItemKind] = Field(default_factory=list)
    sources: list[SourceKind] = Field(default_factory=list)
    tags_any: list[Text] = Field(default_factory=list)
    observed_after: Timestamp | None = None
    """Inclusive."""
    observed_before: Timestamp | None = None
    """Exclusive."""

    def is_empty(self) -> bool:
        """Whether nothing is set; even the default reach counts as set."""
        return self == MetaFilter()

    def admits_kind(self, kind: ItemKind) -> bool:
        return not self.kinds or kind in self.kinds

    def matches(self, kind: ItemKind, meta: MemoryMeta) -> bool:
        return (
            self.admits_kind(kind)
            and admitted_by(self.reach, meta.namespace)
            and _is_wanted(self.workspace, meta.workspace)
            and _is_wanted(self.language, meta.language)
            and _is_wanted(self.repo, meta.repo)
            and _is_wanted(self.commit, meta.commit)
            and _is_wanted(self.url, meta.url)
            and (self.thread_id is None or is_same_id(self.thread_id, meta.thread_id))
            and (self.agent_id is None or is_same_id(self.agent_id, meta.agent_id))
            and (self.source_id is None or is_same_id(self.source_id, meta.source.id))
            and (self.folder is None or is_path_prefix(self.folder, meta.folder))
            and (self.file_path is None or is_path_prefix(self.file_path, meta.file_path))
            and (self.turns is None or self.turns == meta.turns)
            and (self.tool_call is None or (meta.tool_call is not None and self.tool_call == meta.tool_call.name))
            and (not self.sources or meta.source.kind in self.sources)
            and (not self.tags_any or not set(self.tags_any).isdisjoint(meta.tags))
            and self._is_in_window(meta.observed_at)
        )

    def _is_in_window(self, observed_at: Timestamp | None) -> bool:
        if self.observed_after is None and self.observed_before is None:
            return True
        if observed_at is None:
            return False
        if self.observed_after is not None and observed_at < self.observed_after:
            return False
        return self.observed_before is None or observed_at < self.observed_before


def _is_wanted(wanted: str | None, held: str | None) -> bool:
    return wanted is None or wanted == held


def is_path_prefix(wanted: str, held: str | None) -> bool:
    """Whether `held` is `wanted` or lies below it as a path; `/` alone separates, nothing is resolved."""
    if held is None:
        return False
    base = wanted.rstrip("/")
    return held == wanted or (held.startswith(base) and held[len(base) :][:1] in ("", "/"))


REDACTED_PREFIX = "tm-redacted:"
_UUID = re.compile(r"[0-9a-f]{8}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{4}-[0-9a-f]{12}", re.IGNORECASE | re.ASCII)
_PHONE_DIGITS = 7
_INSIDE_A_NUMBER = frozenset(b" -.()+")


def redacted_id(raw: str) -> str:
    """The form under which an engine off the device holds an id that has a phone number in it."""
    return REDACTED_PREFIX + hashlib.sha256(raw.encode("utf-8")).digest()[:16].hex()


def is_same_id(wanted: str, held: str | None) -> bool:
    """Whether `held` is `wanted`, as it is or in its redacted form."""
    if held is None:
        return False
    return held == wanted or (held.startswith(REDACTED_PREFIX) and held == redacted_id(wanted))


def holds_phone_number(raw: str) -> bool:
    """Whether `raw` has a run of at least 7 digits that is not glued to a letter; UUIDs are set aside first."""
    if raw.startswith(REDACTED_PREFIX):
        return False
    digits, is_glued, before = 0, False, 0
    for byte in _UUID.sub("_", raw).encode("utf-8"):
        if 0x30 <= byte <= 0x39:
            if digits == 0:
                is_glued = _is_letter(before)
            digits += 1
        elif byte not in _INSIDE_A_NUMBER:
            runs_into_letter = _is_letter(byte) and 0x30 <= before <= 0x39
            if digits >= _PHONE_DIGITS and not is_glued and not runs_into_letter:
                return True
            digits = 0
        before = byte
    return digits >= _PHONE_DIGITS and not is_glued


def _is_letter(byte: int) -> bool:
    return 0x41 <= byte <= 0x5A or 0x61 <= byte <= 0x7A
