"""How far a removal is, and what became of it."""

from __future__ import annotations

from dataclasses import dataclass, field
from enum import StrEnum
from pathlib import Path
from typing import Any

from explorer.contract import FetchMode, Hit, ItemId
from explorer.removal.preview import Moved, Preview


class Asked(StrEnum):
    """The questions that are asked again once it is done."""

    LIST = "list"
    GET = "get"
    EXPLORE = "explore"
    FETCH = "fetch"
    RECALL = "recall"


@dataclass(frozen=True, slots=True)
class Check:
    """One question asked again, and what still answers."""

    asked: Asked
    mode: FetchMode | None = None
    """Of a fetch."""
    questions: int = 0
    """How many were asked: ids of a get, facets, texts, filters."""
    found: int = 0
    """Removed items that still answer."""
    still: tuple[Hit, ...] = ()
    """Some of those, and of other items that quote what was removed."""
    quoted: int = 0
    """Answers that hold a removed item's words, from an item that was not in the plan."""
    error: str | None = None
    """Why it could not be asked, a sentence part; then nothing is known."""

    @property
    def is_clean(self) -> bool:
        return not self.found and not self.quoted and self.error is None


@dataclass(slots=True)
class Outcome:
    """Of one run. `removed` + `already_gone` + `failed` + `not_tried` + `unanswered` is what was planned."""

    planned: int
    removed: int = 0
    already_gone: int = 0
    """Gone before it was their turn; neither a success nor a failure."""
    failed: dict[ItemId, str] = field(default_factory=dict)
    """With the engine's reason."""
    not_tried: list[ItemId] = field(default_factory=list)
    unanswered: list[ItemId] = field(default_factory=list)
    """Asked of the engine, whose answer never came."""
    stopped: str | None = None
    """Why it ended before everything was tried, a sentence part; None where it did not."""
    erased_scopes: int | None = None
    receipts: list[str] = field(default_factory=list)
    """The engine's own, of an erase."""
    remains: list[str] = field(default_factory=list)
    """What the engine says once it is done of what its removals did not reach yet, a sentence each."""
    stored_before: int = 0
    stored_is_least: bool = False
    """Whether there may have been more."""
    stored_after: int | None = None
    """None where it could not be counted, or is not yet."""
    waited_s: float = 0.0
    """Spent waiting because the engine said that it was busy."""
    checks: list[Check] = field(default_factory=list)
    receipt: Path | None = None

    @property
    def settled(self) -> int:
        """Items of which it is known what became of them."""
        return self.removed + self.already_gone + len(self.failed)

    @property
    def left(self) -> list[ItemId]:
        """What Retry would touch."""
        return [*self.failed, *self.not_tried, *self.unanswered]

    @property
    def gone_besides(self) -> int:
        """How many items fewer are stored than what went explains, whoever removed them."""
        return gone_besides(
            None if self.stored_is_least else self.stored_before,
            self.stored_after,
            self.removed + self.already_gone + len(self.unanswered),
        )

    @property
    def is_clean(self) -> bool:
        """Whether everything planned is gone and nothing besides, and every question asked again found nothing."""
        is_exact = not self.left and not self.gone_besides
        return is_exact and bool(self.checks) and all(check.is_clean for check in self.checks)

    @property
    def is_gone(self) -> bool:
        """Whether nothing planned is left and no question found any of it; what others say in the same words apart."""
        asked = bool(self.checks) and not any(check.found or check.error is not None for check in self.checks)
        return asked and not self.left and not self.gone_besides

    def facts(self) -> dict[str, Any]:
        """What became of it, for the last line of the receipt and for a program that reads it."""
        return {
            "planned": self.planned,
            "removed": self.removed,
            "already_gone": self.already_gone,
            "failed": self.failed,
            "not_tried": self.not_tried,
            "unanswered": self.unanswered,
            "stopped": self.stopped,
            "erased_scopes": self.erased_scopes,
            "receipts": self.receipts,
            "stored_before": self.stored_before,
            "stored_after": self.stored_after,
        }


def gone_besides(before: int | None, after: int | None, explained: int) -> int:
    """By how much two counts of all that is stored are further apart than `explained`; 0 where either is not known.

    More of them than expected say nothing: others may have stored some.
    """
    return 0 if before is None or after is None else max(0, before - after - explained)


class Phase(StrEnum):
    COUNTING = "counting"
    """Counted once more, before anything goes."""
    REMOVING = "removing"
    CHECKING = "checking"
    DONE = "done"
    MOVED = "moved"
    """The number had moved: nothing was removed, and `now` is what would go."""


@dataclass(frozen=True, slots=True)
class Step:
    phase: Phase
    done: int = 0
    total: int = 0
    """Items; for CHECKING questions."""
    waiting: str | None = None
    """Why nothing happens just now, a sentence part."""
    outcome: Outcome | None = None
    """What came of it so far, from the first batch on; the whole of it when DONE."""
    now: Preview | None = None
    moved: Moved | None = None
