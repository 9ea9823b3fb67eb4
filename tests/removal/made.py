"""Removals as tests drive them: counted, confirmed, run to the end, with nothing waited for."""

from __future__ import annotations

import contextlib
import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

from explorer.contract import Hit, ItemId, ListRequest, MemoryEngine, MetaFilter
from explorer.removal.confirmation import Answers
from explorer.removal.journal import Journal
from explorer.removal.outcome import Asked, Check, Outcome, Phase, Step
from explorer.removal.plan import Action, Target, make_plan
from explorer.removal.preview import Preview
from explorer.removal.removing import Removal


class Waits:
    """A sleep that takes no time and notes what was asked of it, and a clock that goes only while it sleeps."""

    def __init__(self) -> None:
        self.slept_s: list[float] = []
        self.now_s = 0.0

    @property
    def total_s(self) -> float:
        return sum(self.slept_s)

    async def sleep(self, seconds: float) -> None:
        self.slept_s.append(seconds)
        self.now_s += seconds

    def clock(self) -> float:
        return self.now_s


async def counted(
    engine: MemoryEngine, target: Target, action: Action, journal: Journal, waits: Waits | None = None
) -> Removal:
    """A removal that is ready to be confirmed."""
    waits = waits or Waits()
    plan = await make_plan(engine, target, action)
    removal = Removal(engine, plan, journal, "Test", sleep=waits.sleep, clock=waits.clock)
    await shown(removal)
    return removal


async def shown(removal: Removal) -> Preview:
    """Count it to its end."""
    async with contextlib.aclosing(removal.count()) as counting:
        async for preview in counting:
            last = preview
    return last


def yes(removal: Removal) -> Answers:
    """All that has to be said."""
    needed = removal.confirmation
    assert needed is not None
    return Answers(needed.name or "", needed.whole_tree, needed.large)


async def steps_of(removal: Removal, at_step: Callable[[Step], None] = lambda step: None) -> list[Step]:
    """Run it to its end. `at_step` may pause, resume or stop it."""
    steps = []
    async with contextlib.aclosing(removal.run(yes(removal))) as run:
        async for step in run:
            steps.append(step)
            at_step(step)
    return steps


async def done(removal: Removal, at_step: Callable[[Step], None] = lambda step: None) -> Outcome:
    """What came of it; each item that was planned is in it once."""
    last = (await steps_of(removal, at_step))[-1]
    assert last.phase is Phase.DONE
    assert last.outcome is not None
    assert whole(last.outcome)
    return last.outcome


def whole(outcome: Outcome) -> bool:
    """Whether each item that was planned is in the outcome once."""
    return outcome.settled + len(outcome.not_tried) + len(outcome.unanswered) == outcome.planned


async def forgotten(engine: MemoryEngine, target: Target, journal: Journal, waits: Waits | None = None) -> Outcome:
    return await done(await counted(engine, target, Action.FORGET, journal, waits))


async def erased(engine: MemoryEngine, target: Target, journal: Journal, waits: Waits | None = None) -> Outcome:
    return await done(await counted(engine, target, Action.ERASE, journal, waits))


async def held(engine: MemoryEngine, filter: MetaFilter | None = None) -> list[Hit]:
    """All items that a filter admits."""
    found: list[Hit] = []
    cursor: str | None = None
    while True:
        page = await engine.list(ListRequest(filter=filter or MetaFilter(), limit=1_000, cursor=cursor))
        found += page.items
        cursor = page.next_cursor
        if cursor is None:
            return found


async def ids_of(engine: MemoryEngine, filter: MetaFilter | None = None) -> list[ItemId]:
    return [hit.id for hit in await held(engine, filter)]


def check_of(outcome: Outcome, asked: Asked) -> Check:
    """The first line of a question."""
    return next(check for check in outcome.checks if check.asked is asked)


def lines_of(receipt: Path | None) -> list[dict[str, Any]]:
    assert receipt is not None
    return [json.loads(line) for line in receipt.read_text("utf-8").splitlines()]


def named(receipt: Path | None, line: str) -> list[dict[str, Any]]:
    """The lines of one name."""
    return [each for each in lines_of(receipt) if each["line"] == line]


def as_if_killed(receipt: Path) -> None:
    """Take from a receipt the two lines that are written where it is left."""
    lines = receipt.read_bytes().splitlines(keepends=True)
    assert [json.loads(line)["line"] for line in lines[-2:]] == ["stopped", "end"]
    receipt.write_bytes(b"".join(lines[:-2]))
