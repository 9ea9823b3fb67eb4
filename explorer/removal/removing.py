"""One removal from its plan to its receipt: the one way by which the window and the command line remove anything."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable
from datetime import UTC, tzinfo
from pathlib import Path

from explorer.contract import InvalidRequest, MemoryEngine
from explorer.removal.confirmation import Answers, Confirmation
from explorer.removal.journal import Journal
from explorer.removal.outcome import Phase, Step
from explorer.removal.plan import Plan
from explorer.removal.preview import Preview, count
from explorer.removal.way_back import Export, WayBack, export_first


class Removal:
    """Count, export first if wanted, run. Used by one caller; `pause`, `resume` and `stop` may be called at any time.

    `connection` is the name of what is open, for the receipt. `sleep` is how it waits, in seconds.
    """

    def __init__(
        self,
        engine: MemoryEngine,
        plan: Plan,
        journal: Journal,
        connection: str,
        *,
        zone: tzinfo = UTC,
        keeps_texts: bool = False,
        sleep: Callable[[float], Awaitable[None]] = asyncio.sleep,
    ) -> None:
        self.engine = engine
        self.plan = plan
        self.connection = connection
        self.preview: Preview | None = None
        """The last that was counted to its end."""
        self.way_back: WayBack | None = None
        self.keeps_texts = keeps_texts
        """Whether the receipt also holds what the items say."""
        self._journal = journal
        self._zone = zone
        self._sleep = sleep

    @property
    def confirmation(self) -> Confirmation | None:
        """What has to be said before it runs; None while nothing is counted to its end."""
        return None if self.preview is None else Confirmation.needed(self.plan, self.preview)

    async def count(self) -> AsyncGenerator[Preview, None]:
        """As `preview.count`; the whole one is kept as `preview`. A cancelled count leaves none to confirm."""
        self.preview = None
        async for found in count(self.engine, self.plan, self._zone):
            if found.is_whole:
                self.preview = found
            yield found

    async def export_first(self, path: Path, *, overwrite: bool = False) -> AsyncGenerator[Export, None]:
        """Write what would go to `path`, read it back and count it; the last step sets `way_back`."""
        async for step in export_first(self.engine, self._whole_preview(), path, overwrite=overwrite):
            if step.done is not None:
                self.way_back = step.done
            yield step

    async def run(self, answers: Answers) -> AsyncGenerator[Step, None]:
        """Count again, remove, ask again, and write the receipt as it goes; the last step has the outcome.

        Raises InvalidRequest, with nothing removed, for answers that do not confirm it; engine errors only before
        anything was removed: later ones are in the outcome. Not a context manager: hold it with `contextlib.aclosing`;
        leaving it early stops it, with a receipt that is true so far.
        """
        yield Step(Phase.COUNTING)
        raise NotImplementedError

    def pause(self) -> None:
        """Begin no further batch until `resume`; an erase that was asked for cannot be paused."""
        raise NotImplementedError

    def resume(self) -> None:
        raise NotImplementedError

    def stop(self) -> None:
        """Begin no further batch: what was removed is asked for again, the rest is told as not tried."""
        raise NotImplementedError

    def _whole_preview(self) -> Preview:
        if self.preview is None:
            raise InvalidRequest("nothing was counted to its end yet, so nothing can be confirmed")
        return self.preview
