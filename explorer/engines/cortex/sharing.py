"""Work that several questions wait for, and one of them does."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncIterator


class Shared:
    """What several questions want done: one does it while the others wait, and share its failure.

    A question that is cancelled leaves the work to the next one that waits, as far as it has come.
    """

    def __init__(self) -> None:
        self._lock = asyncio.Lock()
        self._attempt: list[Exception] = []

    @contextlib.asynccontextmanager
    async def turn(self, until: float | None) -> AsyncIterator[bool]:
        """Whether it is one's turn; False where it did not come by `until`, in the loop's time."""
        attempt = self._attempt
        try:
            async with asyncio.timeout_at(until):
                await self._lock.acquire()
        except TimeoutError:
            is_mine = False
        else:
            is_mine = True
        if not is_mine:
            yield False
            return
        try:
            if attempt:
                raise attempt[0]
            yield True
        except Exception as error:
            if not attempt:
                attempt.append(error)
                self._attempt = []
            raise
        finally:
            self._lock.release()
