"""What an engine remembers of what it was asked."""

from __future__ import annotations

from typing import Protocol, runtime_checkable

from explorer.contract import MemoryEngine


@runtime_checkable
class RemembersQueries(Protocol):
    """An engine that keeps what was searched for lately, so that the next page needs less work."""

    def drop_queries(self) -> None: ...


def drop_queries(engine: MemoryEngine) -> None:
    """Let an engine forget what was searched for, where it remembers that: the words may be those of removed items."""
    if isinstance(engine, RemembersQueries):
        engine.drop_queries()
