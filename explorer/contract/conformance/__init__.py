"""The checks that every engine passes, run against a real engine: it stores, reads and takes back its own items.

Source: memory-v2, "Testing"; contract, "The conformance suite".
"""

from __future__ import annotations

from contextlib import suppress

from explorer.contract.conformance import (
    cleanup,
    consolidate,
    empty_forget,
    erase,
    explore,
    export,
    fetch_filters,
    forget_by_filter,
    forget_by_id,
    get,
    health,
    isolation,
    namespaces,
    recall,
    replay,
    round_trip,
    store_many,
    store_with,
    unsupported_modes,
)
from explorer.contract.conformance.failures import CheckFailed, ConformanceFailure, EngineFailed
from explorer.contract.conformance.session import Group, OnCheck, Session, new_marker
from explorer.contract.engine import MemoryEngine

GROUPS: tuple[Group, ...] = (
    health.GROUP,
    round_trip.GROUP,
    export.GROUP,
    replay.GROUP,
    explore.GROUP,
    get.GROUP,
    store_many.GROUP,
    store_with.GROUP,
    fetch_filters.GROUP,
    unsupported_modes.GROUP,
    namespaces.GROUP,
    empty_forget.GROUP,
    forget_by_id.GROUP,
    forget_by_filter.GROUP,
    recall.GROUP,
    consolidate.GROUP,
    erase.GROUP,  # last: it removes the most
)

CHECKS: dict[int, str] = {
    **{number: text for group in (*GROUPS, cleanup.GROUP) for number, text in group.checks.items()},
    **isolation.CHECKS,
}
"""What each number stands for: 1 to 82 are `run`'s, 83 to 91 `run_isolation`'s."""


async def run(engine: MemoryEngine, on_check: OnCheck | None = None) -> None:
    """Put `engine` through all checks; raises ConformanceFailure at the first that fails.

    Everything stored is under a workspace of this run alone and is forgotten in the end, whatever happened; other
    items are left alone. `on_check` is told a check's number each time that it is made.
    """
    session = Session(engine, on_check)
    try:
        for group in GROUPS:
            await _make(session, group)
    except BaseException:
        with suppress(Exception):  # what went wrong first is what is worth telling
            await _make(session, cleanup.GROUP)
        raise
    await _make(session, cleanup.GROUP)


async def run_isolation(a: MemoryEngine, b: MemoryEngine, on_check: OnCheck | None = None) -> None:
    """Check that two users of one store, each through an engine, see nothing of each other; else as `run`."""
    marker = new_marker()
    first, second = Session(a, on_check, marker), Session(b, on_check, marker)
    for session in (first, second):
        session.begin(isolation.NAME)
    try:
        await isolation.make(first, second)
    except BaseException:
        for session in (second, first):
            with suppress(Exception):
                await _make(session, cleanup.GROUP)
        raise
    try:
        await _make(second, cleanup.GROUP)
    finally:
        await _make(first, cleanup.GROUP)


async def _make(session: Session, group: Group) -> None:
    session.begin(group.name)
    await group.make(session)


__all__ = [
    "CHECKS",
    "GROUPS",
    "CheckFailed",
    "ConformanceFailure",
    "EngineFailed",
    "Group",
    "OnCheck",
    "run",
    "run_isolation",
]
