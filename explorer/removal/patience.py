"""Holding a run up: by the person who pauses or stops it, and by an engine that cannot answer just now."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable

from explorer.contract import Unavailable

LIMIT_S = 300.0
"""How long nothing may come of waiting before it is given up."""
_FIRST_S = 1.0
_MOST_S = 30.0
_SLICE_S = 0.5
"""How soon a stop ends a wait; what an engine tells to wait is at least this, so that it is not asked without end."""


class Control:
    """Whether to go on; asked between batches."""

    def __init__(self) -> None:
        self.is_stopped = False
        self._going = asyncio.Event()
        self._going.set()

    @property
    def is_paused(self) -> bool:
        return not self._going.is_set()

    def pause(self) -> None:
        if not self.is_stopped:
            self._going.clear()

    def resume(self) -> None:
        self._going.set()

    def stop(self) -> None:
        self.is_stopped = True
        self._going.set()

    def next_part(self) -> None:
        """What comes now was not stopped yet."""
        self.is_stopped = False
        self._going.set()

    async def resumed(self) -> None:
        """Returns once it goes on, or is stopped."""
        await self._going.wait()


class Patience:
    """For an engine that is busy: waits as told, else 1, 2, 4 … 30 s, and gives up after 5 minutes without progress.

    `clock` tells seconds; `sleep` is how it waits.
    """

    def __init__(self, control: Control, sleep: Callable[[float], Awaitable[None]], clock: Callable[[], float]) -> None:
        self.waited_s = 0.0
        """In all."""
        self.clock = clock
        self._control = control
        self._sleep = sleep
        self._tries = 0
        self._idle_s = 0.0

    def progressed(self) -> None:
        """The engine answered: what was waited for is over."""
        self._tries = 0
        self._idle_s = 0.0

    def delay_s(self, error: Unavailable, asked_at: float) -> float | None:
        """How long to wait before the call of `asked_at` is made again; None when it is to be given up."""
        told = error.retry_after_s
        delay = min(_FIRST_S * 2**self._tries, _MOST_S) if told is None else max(told, _SLICE_S)
        self._tries += 1
        self._idle_s += max(0.0, self.clock() - asked_at) + delay
        return delay if self._idle_s <= LIMIT_S else None

    async def wait(self, delay_s: float) -> AsyncGenerator[float, None]:
        """Wait, telling every now and then how many seconds are left; a stop ends it early."""
        left = delay_s
        while left > 0 and not self._control.is_stopped:
            yield left
            now = min(left, _SLICE_S)
            await self._sleep(now)
            self.waited_s += now
            left -= now
