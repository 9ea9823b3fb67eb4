"""Several calls at a time: what a failure among them leaves behind."""

from __future__ import annotations

import asyncio

import pytest

from explorer.engines.cortex.walking import in_order


async def fails() -> None:
    await asyncio.sleep(0)
    raise ValueError("one")


async def waits() -> None:
    await asyncio.Event().wait()


async def test_a_failure_is_not_taken_for_a_cancel() -> None:
    task = asyncio.current_task()
    assert task is not None
    with pytest.raises(ValueError, match="one"):
        await in_order([waits, fails])
    assert task.cancelling() == 0
    async with asyncio.timeout(5):  # which could not tell its own end from a cancel
        await asyncio.sleep(0)


async def test_a_cancel_stays_one() -> None:
    begun = asyncio.Event()

    async def begins() -> None:
        begun.set()
        await waits()

    async with asyncio.TaskGroup() as group:
        asking = group.create_task(in_order([begins, waits]))
        await begun.wait()
        asking.cancel()
    assert asking.cancelled()
    assert asking.cancelling() == 1
