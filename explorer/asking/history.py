"""The questions of a session with their answers, in memory only: stored text that was removed must not stay on here."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from explorer.asking.answered import Answered
from explorer.contract import ItemId

MAX_KEPT = 100


class History:
    """Answers, the newest first, at most `MAX_KEPT`. Never written to disk; one per opened memory."""

    def __init__(self) -> None:
        self._kept: list[Answered] = []
        self._dropped: list[frozenset[ItemId] | None] = []
        """What each removal took; None for all."""

    def __iter__(self) -> Iterator[Answered]:
        return iter(self._kept)

    def __len__(self) -> int:
        return len(self._kept)

    def now(self) -> int:
        """The moment before a question is asked, for `add`."""
        return len(self._dropped)

    def add(self, answered: Answered, since: int | None = None) -> bool:
        """Keep an answer; False, and nothing is kept, where something that it holds was dropped after `since`."""
        if since is not None:
            for dropped in self._dropped[since:]:
                if dropped is None or dropped & answered.ids:
                    return False
        self._kept = [answered, *self._kept][:MAX_KEPT]
        return True

    def drop(self, ids: Collection[ItemId]) -> int:
        """Let go of every answer that cites, or read, one of these items; how many there were."""
        gone = frozenset(ids)
        self._dropped.append(gone)
        kept = [answered for answered in self._kept if not gone & answered.ids]
        count = len(self._kept) - len(kept)
        self._kept = kept
        return count

    def clear(self) -> None:
        """Let go of all: after a removal that does not tell its ids, and when another memory is opened."""
        self._dropped = [*(None for _ in self._dropped), None]
        self._kept = []
