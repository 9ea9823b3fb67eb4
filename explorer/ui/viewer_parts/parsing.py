"""Markdown parsed beside the window, and how much of it is written."""

from __future__ import annotations

import asyncio

from explorer.ui.markdown import Block, blocks
from explorer.ui.viewer_parts.ink import Steps

PARSE_LIMIT_S = 3.0


async def parsed(source: str) -> list[Block] | None:
    """A markdown text, parsed beside the window; None where it cannot be followed, or not in good time."""
    try:
        # Not `wait_for`: cancelled as its thread ends, it goes on as if it were not (Python 3.11).
        async with asyncio.timeout(PARSE_LIMIT_S):
            return await asyncio.to_thread(blocks, source)
    except (TimeoutError, RecursionError, ValueError):
        return None


def measured(steps: Steps, chars: int) -> Steps:
    """`steps`, counted as `chars` in all: what the signs of markdown took is not seen in what was written."""
    left = chars
    for done in steps:
        counted = min(done, left)
        left -= counted
        yield counted
    yield left
