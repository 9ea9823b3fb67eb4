"""What a removal, a move and a restore share: calls that touch the disk and are cancelled, and why one was left."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import Callable
from typing import TypeVar

from explorer.contract import TinyMemoryError
from explorer.i18n import tr
from explorer.removal.forgetting import unexpected
from explorer.removal.receipts import ReceiptWriter

T = TypeVar("T")


async def on_a_thread(call: Callable[[], T], undo: Callable[[T], object] | None = None) -> T:
    """Runs to its end also where this is cancelled, so that nobody else has the file meanwhile.

    What it made is then given to `undo`, since nobody else gets it.
    """
    running = asyncio.get_running_loop().run_in_executor(None, call)
    try:
        return await asyncio.shield(running)
    except asyncio.CancelledError:
        while not running.done():
            with contextlib.suppress(asyncio.CancelledError):  # once more does not end the thread either
                await asyncio.wait([running])
        if running.exception() is None and undo is not None:
            undo(running.result())
        raise


async def begun(begin: Callable[[], ReceiptWriter]) -> ReceiptWriter:
    """A receipt that is begun, and taken away again where nobody waits for it any more."""
    return await on_a_thread(begin, ReceiptWriter.discard)


def why_left(error: BaseException) -> str:
    """Why it ended before its end, a sentence part."""
    if isinstance(error, TinyMemoryError):
        return error.text
    return unexpected(error) if isinstance(error, Exception) else tr("it was left before its end")
