"""Erasing: one call, which an engine that cannot do all of it refuses before it does any of it."""

from __future__ import annotations

import asyncio
import contextlib
import logging
from collections.abc import AsyncGenerator, Callable

from explorer.contract import (
    ConfigError,
    EraseRequest,
    MemoryEngine,
    TinyMemoryError,
    Unauthorized,
    Unsupported,
)
from explorer.i18n import tr
from explorer.removal.forgetting import unexpected
from explorer.removal.outcome import Outcome, Phase, Step
from explorer.removal.patience import Control, Halted, Patience
from explorer.removal.preview import Preview, moved
from explorer.removal.receipts import ReceiptWriter
from explorer.transfer import FileError

log = logging.getLogger(__name__)


class Erasing:
    """One erase. Until it is answered all that is planned is `unanswered`."""

    def __init__(
        self,
        engine: MemoryEngine,
        request: EraseRequest,
        preview: Preview,
        recount: Callable[[], AsyncGenerator[Preview, None]],
        outcome: Outcome,
        writer: ReceiptWriter,
        control: Control,
        patience: Patience,
    ) -> None:
        self.error: TinyMemoryError | None = None
        """What ended it early, where an engine did."""
        self.may_be_done = False
        """Whether an engine said, beside an error, that it may have done some of it, or goes on with it."""
        self._engine = engine
        self._request = request
        self._preview = preview
        self._recount = recount
        self._outcome = outcome
        self._writer = writer
        self._control = control
        self._patience = patience

    async def run(self) -> AsyncGenerator[Step, None]:
        """Tell before it is asked, and while nothing happens. Raises what the receipt raises, and no engine's error."""
        outcome = self._outcome
        outcome.not_tried = list(self._preview.ids)
        yield self._step()
        try:
            async with contextlib.aclosing(self._patience.ask(self._count_and_ask)) as waiting:
                async for why in waiting:
                    yield self._step(why)
        except FileError:  # the receipt's
            raise
        except Halted as halted:
            outcome.stopped = str(halted)
        except TinyMemoryError as error:
            self.error = error
            outcome.stopped = error.text
        except Exception as error:
            log.exception("erasing failed")
            outcome.stopped = unexpected(error)

    async def _count_and_ask(self) -> None:
        """Count right before each call: what comes between the two is erased, and nobody confirmed it."""
        async with contextlib.aclosing(self._recount()) as counting:
            async for found in counting:
                now = found
                if self._control.is_stopped:
                    raise Halted
                await asyncio.sleep(0)  # an engine that never waits would keep others waiting
        if self._may_ask(now):
            self._patience.asks_now()
            await self._ask()

    def _may_ask(self, now: Preview) -> bool:
        """Look what went already, and whether something came that nobody confirmed."""
        outcome = self._outcome
        asked, waiting = len(outcome.unanswered), len(outcome.not_tried)
        outcome.unanswered = [id for id in outcome.unanswered if id in now.ids]
        outcome.not_tried = [id for id in outcome.not_tried if id in now.ids]
        outcome.removed += asked - len(outcome.unanswered)
        outcome.already_gone += waiting - len(outcome.not_tried)
        if moved(self._preview, now).new:
            outcome.stopped = (
                tr("more items came while the engine did not answer")
                if asked
                else tr("more items came after it was confirmed")
            )
        return outcome.stopped is None and bool(outcome.unanswered or outcome.not_tried)

    async def _ask(self) -> None:
        outcome = self._outcome
        self._writer.note("erase_asked", request=self._request.model_dump(mode="json"))
        is_open = bool(outcome.unanswered)
        outcome.unanswered += outcome.not_tried
        outcome.not_tried = []
        try:
            report = await self._engine.erase(self._request)
        except TinyMemoryError as error:
            self.may_be_done |= error.may_be_done
            is_open |= error.may_be_done
            if isinstance(error, Unauthorized | ConfigError | Unsupported) and not is_open:  # an answer: it did nothing
                outcome.not_tried, outcome.unanswered = outcome.unanswered, []
            raise
        outcome.removed += len(outcome.unanswered)
        outcome.unanswered = []
        outcome.erased_scopes = report.erased_scopes
        outcome.receipts = list(report.receipts)
        self._writer.note("erased", scopes=report.erased_scopes, receipts=report.receipts)

    def _step(self, waiting: str | None = None) -> Step:
        return Step(Phase.REMOVING, self._outcome.settled, self._outcome.planned, waiting, self._outcome)
