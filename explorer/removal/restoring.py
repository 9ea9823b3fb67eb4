"""Back from a file: what an export brought out of a memory before a removal, stored again, with a receipt."""

from __future__ import annotations

import asyncio
import contextlib
import logging
import os
from collections.abc import AsyncGenerator
from dataclasses import dataclass, field, replace
from functools import partial
from pathlib import Path

from explorer.contract import MemoryEngine, TinyMemoryError
from explorer.i18n import tr
from explorer.removal.ending import begun, on_a_thread, why_left
from explorer.removal.journal import Journal
from explorer.removal.receipts import ReceiptWriter
from explorer.transfer import ImportProgress, import_jsonl, open_source

log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Restored:
    """How far it is."""

    progress: ImportProgress = field(default_factory=ImportProgress)
    stopped: str | None = None
    """Why it ended before the end of the file, a sentence part."""
    receipt: Path | None = None
    is_done: bool = False

    @property
    def is_clean(self) -> bool:
        """Whether every line of the file is in the memory now."""
        return self.is_done and not self.progress.refused and self.stopped is None


async def restore(
    engine: MemoryEngine, path: Path, journal: Journal, connection: str, items: int | None = None
) -> AsyncGenerator[Restored, None]:
    """Store a file's items, tell after each batch, and write it down; the last step is done.

    `items` is how many the file held when it was written, where that is known: one that holds fewer by now was cut
    off, and what it still holds is not all.

    Raises FileError, before anything is stored, where the file cannot be read or the receipt not begun; what fails
    later is in the last step. Restoring the same file again only replays what is there. Not a context manager: hold it
    with `contextlib.aclosing`; leaving it early stops it, and the receipt says so.
    """
    stream = await on_a_thread(lambda: open_source(path), lambda stream: stream.close())
    with contextlib.closing(stream):
        size = os.fstat(stream.fileno()).st_size
        from_file = {"path": await asyncio.to_thread(os.path.abspath, path), "size_bytes": size, "items": items}
        with await begun(lambda: journal.start("restore", engine, connection, file=from_file)) as writer:
            done = Restored(receipt=writer.path)
            try:
                async with contextlib.aclosing(import_jsonl(engine, stream)) as steps:
                    async for step in steps:
                        done = replace(done, progress=step)
                        _note(writer, step)
                        yield done
            except BaseException as error:
                done = replace(done, stopped=why_left(error))
                if not isinstance(error, Exception):
                    _end(writer, done)
                    raise
                if not isinstance(error, TinyMemoryError):  # which is of the engine, the file or the receipt
                    log.exception("a restore ended early")
            if done.stopped is None and items is not None and done.progress.read < items:
                done = replace(done, stopped=tr("the file was cut off: it holds fewer items than were written to it"))
            done = replace(done, progress=replace(done.progress, bad=()), is_done=True)
            yield replace(done, stopped=await on_a_thread(partial(_end, writer, done)))


def _note(writer: ReceiptWriter, done: ImportProgress) -> None:
    for line in done.bad:
        writer.note("refused", number=line.number, reason=line.reason)
    writer.note("stored", new=done.stored, replayed=done.replayed, refused=done.refused)


def _end(writer: ReceiptWriter, done: Restored) -> str | None:
    """Why it did not come to its end, the receipt's own included."""
    try:
        if done.stopped is not None:
            writer.note("stopped", why=done.stopped)
        writer.close(
            new=done.progress.stored,
            replayed=done.progress.replayed,
            refused=done.progress.refused,
            stopped=done.stopped,
            is_clean=done.stopped is None and not done.progress.refused,
        )
    except TinyMemoryError as error:
        return done.stopped or error.text
    return done.stopped
