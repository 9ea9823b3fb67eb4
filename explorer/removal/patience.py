"""Holding a run up: by the person who pauses or stops it, and by an engine that cannot answer just now."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator, Awaitable, Callable
from typing import Protocol

from explorer.contract import TinyMemoryError, Unavailable
from explorer.i18n import tr

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


class Halted(Exception):
    """A person stopped it: nothing further is to be asked. The text says so, a sentence part."""

    def __init__(self) -> None:
        super().__init__(tr("it was stopped here"))


class Note(Protocol):
    """Writes a line of a receipt."""

    def __call__(self, line: str, /, **facts: object) -> object: ...


class Patience:
    """For an engine that is busy: waits as told, else 1, 2, 4 … 30 s, and gives up after 5 minutes without progress.

    `clock` tells seconds; `sleep` is how it waits; `note` is told of it.
    """

    def __init__(
        self, control: Control, sleep: Callable[[float], Awaitable[None]], clock: Callable[[], float], note: Note
    ) -> None:
        self.waited_s = 0.0
        """In all."""
        self.clock = clock
        self._control = control
        self._sleep = sleep
        self._note = note
        self._tries = 0
        self._idle_s = 0.0
        self._asked_at = 0.0

    async def ask(self, call: Callable[[], Awaitable[None]]) -> AsyncGenerator[str, None]:
        """Make `call`, over again as long as the engine is busy; tells why nothing happens, a sentence part.

        Raises what the call raises, Unavailable once it is given up, and Halted where it is stopped meanwhile. Not a
        context manager: hold it with `contextlib.aclosing`.
        """
        while True:
            self.asks_now()
            try:
                await call()
            except Unavailable as error:
                delay_s = self._delay_s(error)
                if delay_s is None:
                    raise
                self._note("waited", seconds=delay_s, why=error.text)
                async with contextlib.aclosing(self._wait(delay_s)) as waiting:
                    async for _ in waiting:
                        yield error.text
            except TinyMemoryError:
                self._answered()
                raise
            else:
                self._answered()
                return
            async with contextlib.aclosing(self.go_on()) as holding:
                async for why in holding:
                    yield why

    async def go_on(self) -> AsyncGenerator[str, None]:
        """Wait while it is paused, which is told. Raises Halted where it is stopped."""
        if self._control.is_paused:
            self._note("paused")
            yield tr("paused")
            await self._control.resumed()
            self._note("resumed")
        if self._control.is_stopped:
            raise Halted

    def asks_now(self) -> None:
        """What went before in the same call was no waiting for the engine."""
        self._asked_at = self.clock()

    def _answered(self) -> None:
        self._tries = 0
        self._idle_s = 0.0

    def _delay_s(self, error: Unavailable) -> float | None:
        """How long to wait before the call is made again; None when it is to be given up."""
        told = error.retry_after_s
        delay = min(_FIRST_S * 2**self._tries, _MOST_S) if told is None else max(told, _SLICE_S)
        self._tries += 1
        self._idle_s += max(0.0, self.clock() - self._asked_at) + delay
        return delay if self._idle_s <= LIMIT_S else None

    async def _wait(self, delay_s: float) -> AsyncGenerator[None, None]:
        """Wait, and let others act every now and then; a stop ends it early."""
        left = delay_s
        while left > 0 and not self._control.is_stopped:
            yield
            now = min(left, _SLICE_S)
            await self._sleep(now)
            self.waited_s += now
            left -= now
