"""Until when a server asked not to be asked, in words. Free of Qt."""

from __future__ import annotations

import math
from collections.abc import Iterable
from datetime import UTC, datetime, tzinfo

from explorer.contract import MemoryEngine, TinyMemoryError
from explorer.i18n import tr
from explorer.text import duration


def pause_words(engines: Iterable[MemoryEngine | None], zone: tzinfo) -> str:
    """When the last of these goes on that was asked to wait, a sentence without a full stop; "" where none was."""
    ends = [until for engine in engines if engine is not None and (until := _until(engine)) is not None]
    if not ends:
        return ""
    end = max(ends)
    left_s = math.ceil((end - datetime.now(UTC)).total_seconds())
    if left_s <= 0:
        return ""
    # Translators: {left} is such as “7 s”.
    return tr(
        "The server asked to wait: going on at {time}, in {left}",
        time=f"{end.astimezone(zone):%H:%M:%S}",
        left=duration(left_s),
    )


def _until(engine: MemoryEngine) -> datetime | None:
    try:
        waiting = engine.waiting()
    except TinyMemoryError:  # nothing depends on it
        return None
    return waiting.until.as_datetime() if waiting is not None else None
