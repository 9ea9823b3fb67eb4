"""Long calculations on the event loop, in turns with all else that it does."""

from __future__ import annotations

import asyncio
import time

SLICE_S = 0.008


class Turns:
    """For one calculation: `pass_on` is awaited after each piece of it, and lets others act once a turn is over."""

    def __init__(self) -> None:
        self._over_s = time.perf_counter() + SLICE_S

    async def pass_on(self) -> None:
        if time.perf_counter() >= self._over_s:
            await asyncio.sleep(0)
            self._over_s = time.perf_counter() + SLICE_S
