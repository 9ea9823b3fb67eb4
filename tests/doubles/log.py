"""The append-only log behind both wires of the double (spec 8.1): it knows scopes and tenants, but nothing of HTTP."""

from __future__ import annotations

import json
import string
from collections import defaultdict
from collections.abc import Collection, Iterator
from dataclasses import dataclass
from datetime import UTC, datetime, timedelta
from typing import Any

EPOCH = datetime(2026, 3, 1, tzinfo=UTC)
WORD_MIN = 3


@dataclass(slots=True, eq=False)
class Held:
    """One stored event."""

    id: str
    scope: str
    modality: str
    content: dict[str, Any]
    context: dict[str, Any]
    key: tuple[str | None, str] | None = None
    """Its write key, with the tenant that wrote it."""
    unlisted: int = 0
    """How many listings do not show it yet."""
    unranked: int = 0
    """How many recalls do not show it yet."""
    json: str = ""

    @property
    def text(self) -> str:
        return str(self.content.get("text", ""))

    @property
    def role(self) -> str:
        return str(self.content.get("role", ""))

    @property
    def labels(self) -> list[str]:
        return list(self.context.get("labels", []))

    @property
    def observed_at(self) -> str | None:
        return self.context.get("observed_at")

    def shown(self) -> dict[str, Any]:
        return {
            "id": self.id,
            "scope": self.scope,
            "modality": self.modality,
            "content": self.content,
            "context": self.context,
        }


def is_below(path: str, prefix: str) -> bool:
    """At or below, on a segment boundary; all of it is below nothing."""
    return not prefix or path == prefix or path.startswith(prefix + "/")


class KeyTaken(Exception):
    """The write key stands for another body."""


class Log:
    def __init__(self) -> None:
        self._by_scope: dict[str, list[Held]] = defaultdict(list)
        self._redacted: dict[str, list[Held]] = defaultdict(list)
        """Below an erased scope: gone from reads, their keys not released."""
        self._keys: dict[tuple[str | None, str], tuple[str, str]] = {}
        self._written = 0
        self._is_late = False

    def __iter__(self) -> Iterator[Held]:
        """Every event that reads find, oldest first."""
        return iter(sorted((each for held in self._by_scope.values() for each in held), key=number_of))

    def __len__(self) -> int:
        return sum(map(len, self._by_scope.values()))

    def held(self, scope: str) -> list[Held]:
        return list(self._by_scope.get(scope, ()))

    def replay(self, key: tuple[str | None, str] | None, fingerprint: str) -> str | None:
        """The id of the event that this write has already made; `KeyTaken` where the key made another."""
        if key is None or key not in self._keys:
            return None
        known, event_id = self._keys[key]
        if known != fingerprint:
            raise KeyTaken
        return event_id

    def append(
        self,
        body: dict[str, Any],
        scope: str,
        *,
        key: tuple[str | None, str] | None = None,
        fingerprint: str = "",
        unlisted: int = 0,
        unranked: int = 0,
    ) -> Held:
        self._written += 1
        recorded = (EPOCH + timedelta(seconds=self._written)).isoformat()
        held = Held(
            id=f"evt_{self._written}",
            scope=scope,
            modality=body["modality"],
            content=dict(body["content"]),
            context={**body.get("context", {}), "recorded_at": recorded},
            key=key,
            unlisted=unlisted,
            unranked=unranked,
        )
        held.json = json.dumps(held.shown(), ensure_ascii=False, separators=(",", ":"))
        self._by_scope[scope].append(held)
        if key is not None:
            self._keys[key] = (fingerprint, held.id)
        self._is_late = self._is_late or bool(unlisted)
        return held

    def expire_keys(self) -> None:
        """As after a day: a write sent again is a new event."""
        self._keys.clear()

    def scopes(self) -> list[str]:
        return sorted(scope for scope, held in self._by_scope.items() if held)

    def page(self, scope: str, labels: Collection[str], start: int, limit: int) -> tuple[list[Held], int]:
        """Copies `start` to `start + limit` of the doubled stream, newest first, and how many copies it has."""
        held: list[Held] = self._by_scope.get(scope, [])
        if labels:
            wanted = set(labels)
            held = [each for each in held if not wanted.isdisjoint(each.context.get("labels", ()))]
        if self._is_late:
            held = [each for each in held if not seen_later(each, start)]
            for each in self._by_scope.get(scope, []):  # a scope is indexed in the order of its events
                if held and number_of(each) < number_of(held[-1]):
                    each.unlisted = 0
        total = 2 * len(held)
        return [held[-1 - copy // 2] for copy in range(start, min(start + limit, total))], total

    def ranked(self, scope: str, query: str, labels: Collection[str], *, descends: bool, ascends: bool) -> list[Held]:
        """Events with a word of the query, the most words first, newest first among equals."""
        words = {word for word in (each.strip(string.punctuation).lower() for each in query.split())}
        words = {word for word in words if len(word) >= WORD_MIN}
        wanted = set(labels)
        found: list[tuple[int, int, Held]] = []
        for path, events in self._by_scope.items():
            if not (path == scope or (descends and is_below(path, scope)) or (ascends and is_below(scope, path))):
                continue
            for held in events:
                if wanted and wanted.isdisjoint(held.context.get("labels", ())):
                    continue
                text = held.text.lower()
                score = sum(word in text for word in words)
                if not score and words:
                    continue
                if held.unranked:
                    held.unranked -= 1
                else:
                    found.append((-score, -number_of(held), held))
        return [held for _, _, held in sorted(found, key=lambda each: each[:2])]

    def drop(self, scope: str, ids: Collection[str]) -> int:
        """Remove the named events of this scope and release their keys. -> how many were there"""
        wanted = set(ids)
        gone = [each for each in self._by_scope.get(scope, []) if each.id in wanted]
        self._by_scope[scope] = [each for each in self._by_scope.get(scope, []) if each.id not in wanted]
        self._release(gone)
        return len(gone)

    def drop_all(self, scope: str) -> int:
        """Remove what a scope holds; the keys stay taken. -> how many there were"""
        return len(self._by_scope.pop(scope, []))

    def erase(self, scope: str) -> int:
        """Delete a scope's own events and release their keys; what is below it goes from reads. -> how many went"""
        own = self._by_scope.pop(scope, []) + self._redacted.pop(scope, [])
        self._release(own)
        gone = len(own)
        for path in [path for path in self._by_scope if is_below(path, scope)]:
            below = self._by_scope.pop(path)
            self._redacted[path] += below
            gone += len(below)
        return gone

    def holds(self, scope: str) -> bool:
        """Whether reads find anything at or below it."""
        return any(held and is_below(path, scope) for path, held in self._by_scope.items())

    def lose_last(self, scope: str) -> Held:
        """Take away the newest event of a scope, as if its write had never come through."""
        lost = self._by_scope[scope].pop()
        self._release([lost])
        return lost

    def _release(self, events: Collection[Held]) -> None:
        for each in events:
            if each.key is not None:
                self._keys.pop(each.key, None)


def number_of(held: Held) -> int:
    return int(held.id.removeprefix("evt_"))


def seen_later(held: Held, start: int) -> bool:
    """Whether this listing does not show it yet; a first page counts as one look."""
    if not held.unlisted:
        return False
    if start == 0:
        held.unlisted -= 1
    return True
