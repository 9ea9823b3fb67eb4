"""One removal from its plan to its receipt: the one way by which the window and the command line remove anything."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import time
from collections.abc import AsyncGenerator, Awaitable, Callable, Collection
from datetime import UTC, tzinfo
from functools import partial
from pathlib import Path
from typing import Any

from explorer.contract import GetRequest, Hit, InvalidRequest, ItemId, MemoryEngine, TinyMemoryError
from explorer.engines.queries import drop_queries
from explorer.i18n import tr
from explorer.removal.checking import Checking, by_reach, still_there
from explorer.removal.confirmation import Answers, Confirmation
from explorer.removal.ending import begun, on_a_thread, why_left
from explorer.removal.erasing import Erasing
from explorer.removal.forgetting import Forgetting
from explorer.removal.journal import Journal
from explorer.removal.outcome import Outcome, Phase, Step
from explorer.removal.patience import Control, Halted, Patience
from explorer.removal.plan import Action, Plan, make_plan
from explorer.removal.preview import Preview, count, moved, stored
from explorer.removal.receipts import ReceiptWriter
from explorer.removal.remaining import told
from explorer.removal.way_back import Export, Lost, WayBack, export_first
from explorer.transfer import FileError

log = logging.getLogger(__name__)

_MAX_SANDBOXES = 500  # on the first line of a receipt, which stays short


class Removal:
    """Count, export first if wanted, run. Used by one caller; `pause`, `resume` and `stop` may be called at any time.

    `connection` is the name of what is open, for the receipt. `sleep` is how it waits, and `clock`
    how it knows how long a call took, both in seconds.
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
        clock: Callable[[], float] = time.monotonic,
    ) -> None:
        self.engine = engine
        self.plan = plan
        self.connection = connection
        self.preview: Preview | None = None
        """The last that was counted to its end."""
        self.way_back: WayBack | None = None
        self.keeps_texts = keeps_texts
        """Whether the receipt also holds what the items say."""
        self._exported: Preview | None = None
        """What the way back holds."""
        self._journal = journal
        self._zone = zone
        self._sleep = sleep
        self._clock = clock
        self._control = Control()

    @property
    def confirmation(self) -> Confirmation | None:
        """What has to be said before it runs; None while nothing is counted to its end."""
        return None if self.preview is None else Confirmation.needed(self.plan, self.preview)

    async def count(self) -> AsyncGenerator[Preview, None]:
        """As `preview.count`; the whole one is kept as `preview`. A cancelled count leaves none to confirm."""
        self.preview = None
        async with contextlib.aclosing(count(self.engine, self.plan, self._zone)) as counting:
            async for found in counting:
                if found.is_whole:
                    self._show(found)
                yield found

    async def export_first(self, path: Path, *, overwrite: bool = False) -> AsyncGenerator[Export, None]:
        """Write what would go to `path`, read it back and count it; the last step sets `way_back`."""
        preview = self._whole_preview()
        async with contextlib.aclosing(export_first(self.engine, preview, path, overwrite=overwrite)) as export:
            async for step in export:
                if step.done is not None:
                    self.way_back = step.done
                    self._exported = preview
                yield step

    async def run(self, answers: Answers) -> AsyncGenerator[Step, None]:
        """Count again, remove, ask again, and write the receipt as it goes; the last step has the outcome.

        Raises InvalidRequest, with nothing removed, for answers that do not confirm it or where nothing would go;
        Lost where the way back is gone or changed; engine errors, and FileError for the receipt, only where nothing was
        removed: later ones are in the outcome.
        Not a context manager: hold it with `contextlib.aclosing`; leaving it early stops it, with a receipt that is
        true so far.
        """
        self._control = Control()
        before = self._whole_preview()
        Confirmation.needed(self.plan, before).check(answers)
        if not before.total:
            raise InvalidRequest("nothing of it is there, so there is nothing to remove")
        async with contextlib.aclosing(self._counted_again()) as counting:
            async for now in counting:
                yield Step(Phase.COUNTING, now.total, before.total)
        if self._control.is_paused:  # by now, since an erase is no longer to be held up
            yield Step(Phase.COUNTING, now.total, before.total, tr("paused"))
            await self._control.resumed()
        self._show(now)
        difference = moved(before, now)
        if difference or Confirmation.needed(self.plan, now).lacks(answers) is not None:
            yield Step(Phase.MOVED, now=now, moved=difference)
            return
        if self.way_back is not None:
            try:
                await asyncio.to_thread(self.way_back.look_again)
            except Lost:
                self.way_back = self._exported = None
                raise
        outcome = Outcome(
            planned=now.total, not_tried=list(now.ids), stored_before=now.stored, stored_is_least=now.stored_is_least
        )
        begin = partial(self._journal.start, self.plan.action.value, self.engine, self.connection, now.ids)
        with await begun(lambda: begin(**self.facts())) as writer:
            outcome.receipt = writer.path
            try:
                async with contextlib.aclosing(self._run(now, outcome, writer)) as steps:
                    async for step in steps:
                        yield step
            except BaseException as error:
                outcome.stopped = outcome.stopped or why_left(error)
                with contextlib.suppress(FileError, OSError):
                    writer.note("stopped", why=outcome.stopped)
                    writer.close(**_numbers(outcome))
                if not isinstance(error, Exception) or _took_nothing(outcome):
                    raise
                if not isinstance(error, TinyMemoryError):
                    log.exception("a removal ended early")
            else:
                try:
                    await on_a_thread(lambda: writer.close(**_numbers(outcome)))
                except FileError as error:
                    outcome.stopped = outcome.stopped or error.text
        yield Step(Phase.DONE, outcome.settled, outcome.planned, outcome=outcome)

    def pause(self) -> None:
        """Begin no further batch until `resume`; an erase that was asked for cannot be paused."""
        self._control.pause()

    def resume(self) -> None:
        self._control.resume()

    def stop(self) -> None:
        """Begin no further batch: what was removed is asked for again, the rest is told as not tried.

        While it is asked for again: ask no more, which is told as not known.
        """
        self._control.stop()

    def facts(self) -> dict[str, Any]:
        """For the first line of the receipt, of what was counted to its end."""
        preview, plan, kept = self._whole_preview(), self.plan, self.way_back
        facts: dict[str, Any] = {
            "target": plan.target,
            "kinds": preview.kinds,
            "nodes": preview.nodes,
            "sources": preview.sources,
            "gone": len(preview.gone),
            "sandboxes": [{"node": box.node, "items": box.items} for box in plan.sandboxes[:_MAX_SANDBOXES]],
            "takes_sandboxes": plan.takes_sandboxes,
            "knows_sandboxes": plan.knows_sandboxes,
            "stored_before": preview.stored,
            "stored_is_least": preview.stored_is_least,
            "counted_at": preview.counted_at,
            "keeps_texts": self.keeps_texts,
        }
        if kept is not None:
            facts["way_back"] = {
                "path": kept.path,
                "items": kept.items,
                "size_bytes": kept.size_bytes,
                "incomplete": len(kept.incomplete),
            }
        return facts

    async def _counted_again(self) -> AsyncGenerator[Preview, None]:
        if self.plan.takes_sandboxes:  # there may be others by now
            self.plan = await make_plan(self.engine, self.plan.target, self.plan.action)
        async with contextlib.aclosing(count(self.engine, self.plan, self._zone)) as counting:
            async for now in counting:
                yield now

    async def _run(self, preview: Preview, outcome: Outcome, writer: ReceiptWriter) -> AsyncGenerator[Step, None]:
        patience = Patience(self._control, self._sleep, self._clock, writer.note)
        if self.keeps_texts:
            async with contextlib.aclosing(self._keep_texts(preview, outcome, writer, patience)) as steps:
                async for step in steps:
                    yield step
        removing = self._removing(preview, outcome, writer, patience)
        async with contextlib.aclosing(removing.run()) as steps:
            async for step in steps:
                outcome.waited_s = patience.waited_s
                yield step
        await self._settle(preview, outcome, may_be_done=removing.may_be_done)
        if removing.error is not None and _took_nothing(outcome):
            raise removing.error
        if outcome.stopped is not None:
            writer.note("stopped", why=outcome.stopped)
        gone = set(preview.ids).difference(outcome.left)
        if gone:
            self._control.next_part()
            checking = Checking(self.engine, self.plan, preview, gone, self._control, patience)
            try:
                async with contextlib.aclosing(checking.run(outcome)) as steps:
                    async for step in steps:
                        _write_checks(writer, outcome)
                        outcome.waited_s = patience.waited_s
                        yield step
            except BaseException:  # those that were not asked have lines as well
                with contextlib.suppress(FileError):
                    _write_checks(writer, outcome)
                raise
            finally:
                _reconcile(outcome, checking.there)
                drop_queries(self.engine)  # which were the texts of what went
            _write_checks(writer, outcome)
        with contextlib.suppress(TinyMemoryError):
            after, is_least = await stored(self.engine)
            outcome.stored_after = None if is_least else after
        outcome.waited_s = patience.waited_s
        outcome.remains = await self._told()
        if outcome.remains:
            writer.note("remains", words=outcome.remains)

    async def _keep_texts(
        self, preview: Preview, outcome: Outcome, writer: ReceiptWriter, patience: Patience
    ) -> AsyncGenerator[Step, None]:
        """Raises the engine's errors: nothing was removed yet."""

        def step(waiting: str) -> Step:
            return Step(Phase.REMOVING, 0, outcome.planned, waiting, outcome)

        hits: list[Hit] = []
        for req in by_reach(preview, preview.ids):

            async def read(req: GetRequest = req) -> None:
                nonlocal hits
                hits = await self.engine.get(req)

            yield step(tr("writing down what the items say"))
            try:
                for asking in (patience.go_on(), patience.ask(read)):
                    async with contextlib.aclosing(asking) as waiting:
                        async for why in waiting:
                            yield step(why)
            except Halted as halted:
                outcome.stopped = str(halted)
                return
            for hit in hits:
                writer.note("text", id=hit.id, text=hit.text)

    async def _told(self) -> list[str]:
        """What the engine says of itself, where that is about a removal: it may be about anything."""
        with contextlib.suppress(TinyMemoryError):
            return told(await self.engine.health())
        return []

    def _removing(
        self, preview: Preview, outcome: Outcome, writer: ReceiptWriter, patience: Patience
    ) -> Forgetting | Erasing:
        if self.plan.action is Action.FORGET:
            return Forgetting(self.engine, list(preview.ids), outcome, writer, patience)
        request = self.plan.target.erasing()
        return Erasing(self.engine, request, preview, self._counted_again, outcome, writer, self._control, patience)

    async def _settle(self, preview: Preview, outcome: Outcome, *, may_be_done: bool) -> None:
        """What was asked without an answer is looked for: some of it, or all, may have gone.

        Where that `may_be_done`, what is there is not untouched; of an erase it may go yet, so it has no answer.
        """
        if not outcome.unanswered:
            return
        try:
            there = await still_there(self.engine, preview, outcome.unanswered)
        except TinyMemoryError:
            return  # it stays without an answer
        left = [id for id in outcome.unanswered if id in there]
        outcome.removed += len(outcome.unanswered) - len(left)
        is_none_gone = len(left) == len(outcome.unanswered)
        outcome.unanswered = []
        if may_be_done and self.plan.action is Action.ERASE:
            outcome.unanswered = left
        elif is_none_gone and not may_be_done:
            outcome.not_tried = [*left, *outcome.not_tried]
        else:
            why = outcome.stopped or ""
            if is_none_gone:  # and yet something went
                why = tr("some of its parts may be gone; {why}", why=why)
            outcome.failed |= dict.fromkeys(left, why)

    def _show(self, preview: Preview) -> None:
        self.preview = preview
        if self._exported is not None and moved(self._exported, preview):
            self.way_back = self._exported = None  # the file holds something else than what would go now

    def _whole_preview(self) -> Preview:
        if self.preview is None:
            raise InvalidRequest("nothing was counted to its end yet, so nothing can be confirmed")
        return self.preview


def _took_nothing(outcome: Outcome) -> bool:
    return not (outcome.settled or outcome.unanswered)


def _reconcile(outcome: Outcome, there: Collection[ItemId]) -> None:
    """What a fresh read still finds is not gone, whatever was answered before."""
    wrong = [id for id in there if id not in outcome.failed]
    outcome.failed |= dict.fromkeys(wrong, tr("the engine answered that it is gone, and it is still there"))
    neutral = min(len(wrong), outcome.already_gone)  # those that an engine did not count are the likelier ones
    outcome.already_gone -= neutral
    outcome.removed -= len(wrong) - neutral


def _write_checks(writer: ReceiptWriter, outcome: Outcome) -> None:
    """Those that are not written yet."""
    for check in outcome.checks[writer.checks :]:
        writer.note(
            "checked",
            asked=check.asked,
            mode=check.mode,
            questions=check.questions,
            found=check.found,
            still=[{"id": hit.id, "node": str(hit.meta.namespace)} for hit in check.still],
            quoted=check.quoted,
            error=check.error,
        )


def _numbers(outcome: Outcome) -> dict[str, Any]:
    """For the last line of the receipt."""
    return {
        **outcome.facts(),
        "waited_s": outcome.waited_s,
        "is_clean": outcome.is_clean,
    }
