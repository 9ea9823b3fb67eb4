"""Forgetting by ids, batch by batch: what fails goes on in halves, so that one bad id keeps no other back."""

from __future__ import annotations

import contextlib
import logging
from collections.abc import AsyncGenerator, Sequence

from explorer.contract import (
    ConfigError,
    ForgetTarget,
    ItemId,
    MemoryEngine,
    NotFound,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.i18n import tr
from explorer.removal.outcome import Outcome, Phase, Step
from explorer.removal.patience import Halted, Patience
from explorer.removal.receipts import ReceiptWriter
from explorer.transfer import FileError

log = logging.getLogger(__name__)

FIRST_BATCH = 100
LEAST_BATCH = 25
MOST_BATCH = 5_000
_QUICK_S = 1.0
_SLOW_S = 5.0
HOPELESS = 50
"""Ids that fail one after another, with none between them that does not, until it is given up."""


class Forgetting:
    """One pass over ids. Each is in `outcome` once: removed, already gone, failed, not tried or unanswered."""

    def __init__(
        self,
        engine: MemoryEngine,
        ids: Sequence[ItemId],
        outcome: Outcome,
        writer: ReceiptWriter,
        patience: Patience,
    ) -> None:
        self.error: TinyMemoryError | None = None
        """What ended it early, where an engine did."""
        self.may_be_done = False
        """Whether an engine said, beside an error, that it may have done some of it."""
        self._engine = engine
        self._ids = ids
        self._next = 0
        self._again: list[list[ItemId]] = []
        """Batches to ask for before the next of `ids`; the last comes first."""
        self._size = FIRST_BATCH
        self._failed_in_a_row = 0
        self._outcome = outcome
        self._writer = writer
        self._patience = patience

    async def run(self) -> AsyncGenerator[Step, None]:
        """Tell before the first and after each batch, and while nothing happens.

        Raises what the receipt raises, and no engine's error.
        """
        outcome = self._outcome
        try:
            yield self._step()
            while outcome.stopped is None and (self._again or self._next < len(self._ids)):
                try:
                    async with contextlib.aclosing(self._patience.go_on()) as holding:
                        async for why in holding:
                            yield self._step(why)
                except Halted as halted:
                    outcome.stopped = str(halted)
                    return
                async with contextlib.aclosing(self._ask(self._take())) as steps:
                    async for step in steps:
                        yield step
        finally:
            outcome.not_tried = [id for batch in reversed(self._again) for id in batch]
            outcome.not_tried += self._ids[self._next :]

    async def _ask(self, batch: list[ItemId]) -> AsyncGenerator[Step, None]:
        outcome, clock = self._outcome, self._patience.clock
        try:
            self._writer.note("asked", ids=batch)
        except BaseException:
            self._again.append(batch)
            raise
        outcome.unanswered = batch
        forgotten, took_s, is_open, is_lost = 0, 0.0, False, False

        async def forget() -> None:
            nonlocal forgotten, took_s, is_open, is_lost
            asked_at = clock()
            try:
                report = await self._engine.forget(ForgetTarget(ids=batch))
            except TinyMemoryError as error:
                self.may_be_done |= error.may_be_done
                is_open |= error.may_be_done or isinstance(error, Unavailable)
                is_lost |= error.may_be_done or _is_lost(error)
                raise
            # What is gone by now went by the call that was not answered.
            forgotten, took_s = len(batch) if is_lost else min(report.forgotten, len(batch)), clock() - asked_at

        try:
            async with contextlib.aclosing(self._patience.ask(forget)) as waiting:
                async for why in waiting:
                    yield self._step(why)
        except FileError:  # the receipt's
            raise
        except Halted as halted:
            outcome.stopped = str(halted)
        except Unavailable as error:
            self._end(error)  # unanswered: it may have been done all the same
        except (Unauthorized, ConfigError, Unsupported) as error:  # what holds for each of them
            if not is_open:  # else some of it may have gone
                self._put_back(batch)
            self._end(error)
        except TinyMemoryError as error:
            outcome.unanswered = []
            self._refused(batch, error)
            yield self._step()
        except Exception as error:
            log.exception("forgetting failed")
            outcome.stopped = unexpected(error)
        else:
            outcome.unanswered = []
            self._answered(batch, forgotten, took_s)
            yield self._step()

    def _answered(self, batch: list[ItemId], forgotten: int, took_s: float) -> None:
        self._outcome.removed += forgotten
        self._outcome.already_gone += len(batch) - forgotten
        self._failed_in_a_row = 0
        if took_s > _SLOW_S:
            # Not below the first size: a call costs something however little it is asked.
            self._size = min(self._size, max(self._size // 2, FIRST_BATCH))
        elif took_s < _QUICK_S and len(batch) >= self._size:
            self._size = min(self._size * 2, MOST_BATCH)
        self._writer.note("answered", forgotten=forgotten)

    def _refused(self, batch: list[ItemId], error: TinyMemoryError) -> None:
        if len(batch) > 1:
            half = len(batch) // 2
            self._again += [batch[half:], batch[:half]]
            self._size = max(half, LEAST_BATCH)
            self._writer.note("answered", forgotten=0, refused=error.text)
        elif isinstance(error, NotFound):
            self._answered(batch, 0, _SLOW_S)
        else:
            self._outcome.failed[batch[0]] = error.text
            self._failed_in_a_row += 1
            if self._failed_in_a_row >= HOPELESS:
                self._end(error)
            self._writer.note("failed", id=batch[0], reason=error.text)

    def _take(self) -> list[ItemId]:
        if self._again:
            return self._again.pop()
        batch = list(self._ids[self._next : self._next + self._size])
        self._next += len(batch)
        return batch

    def _put_back(self, batch: list[ItemId]) -> None:
        self._outcome.unanswered = []
        self._again.append(batch)

    def _end(self, error: TinyMemoryError) -> None:
        self.error = error
        self._outcome.stopped = error.text

    def _step(self, waiting: str | None = None) -> Step:
        outcome = self._outcome
        return Step(Phase.REMOVING, outcome.settled, outcome.planned, waiting, outcome)


def _is_lost(error: TinyMemoryError) -> bool:
    """Whether a server elsewhere had the request, and its answer did not come."""
    refusal = error.refusal
    if not isinstance(error, Unavailable) or refusal is None:
        return False
    return refusal.fault in ("timeout", "cut") or refusal.status == 408 or (refusal.status or 0) >= 500


def unexpected(error: Exception) -> str:
    """Why it ended, for an error that no engine should raise; its text may hold anything, so it is for the log."""
    return tr("an error that was not expected: {name}", name=type(error).__name__)
