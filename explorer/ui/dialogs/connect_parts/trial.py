"""The test of a connection: it asks what an opening would ask, counts, and writes nothing."""

from __future__ import annotations

import asyncio
import contextlib
import os
import time
from collections.abc import AsyncIterator
from dataclasses import dataclass

from explorer import text
from explorer.contract import (
    EngineHealth,
    ExploreRequest,
    Facet,
    MemoryEngine,
    MetaFilter,
    Refusal,
    TinyMemoryError,
    Unavailable,
)
from explorer.engines import EngineCredential, SavedConnection, build_engine
from explorer.i18n import tr
from explorer.ui.dialogs.connect_parts.refused import Server, explained, pause_end

HEALTH_S = 15.0
"""How long a server may take to answer that it is there."""
COUNT_S = 20.0
"""How long what a server holds is counted, at most."""


_NO_ACCOUNT = "a connection that is tested"


@dataclass(frozen=True, slots=True)
class Found:
    """What a test found: a sentence, whether it is good (None: only to be known), and what the error itself says."""

    words: str
    is_good: bool | None
    details: str = ""


@dataclass(slots=True)
class _Counted:
    items: int = 0
    nodes: int = 0
    has_any: bool = False  # it is the count of something, not of nothing yet
    is_least: bool = True


async def check_settings(saved: SavedConnection, credential: EngineCredential) -> None:
    """Have the engine look at its settings, and reach nothing. Raises ConfigError for those that cannot be used."""
    engine = build_engine(saved.engine, saved.settings, credential)
    await engine.aclose()


async def try_connection(saved: SavedConnection, credential: EngineCredential, server: Server | None) -> Found:
    """Ask the engine whether it serves, and how much it holds. `server`: where the engine is elsewhere.

    Raises ConfigError for settings that cannot be used.
    """
    # Nothing is written: neither there, nor here. To turn the cache off would remove what is kept of this account.
    settings = saved.settings.model_copy(update={"read_only": True, "listing_cache": False, "account": _NO_ACCOUNT})
    engine = build_engine(saved.engine, settings, credential)
    try:
        if server is None:
            return await _test(engine, saved.settings.path)
        try:
            return await _test_server(engine)
        except TinyMemoryError as error:
            return Found(*_refused(error, server, engine))
    finally:
        await engine.aclose()


def _refused(error: TinyMemoryError, server: Server, engine: MemoryEngine) -> tuple[str, bool, str]:
    words, details = explained(error, server, pause_end(error, engine))
    return words, False, details


async def _test(engine: MemoryEngine, path: str | None) -> Found:
    started = time.monotonic()
    health = await engine.health()
    took = text.duration(time.monotonic() - started)
    if not health.is_serving:
        return Found(text.sentence(health.reason or tr("the engine is down")), False)
    counted = _Counted()
    await _count(engine, counted)
    size_bytes = await asyncio.to_thread(size_of, path) if path is not None else None
    return _told(health, counted, took, size_bytes)


async def _test_server(engine: MemoryEngine) -> Found:
    started = time.monotonic()
    async with _within(HEALTH_S):
        health = await engine.health()
    took = text.duration(time.monotonic() - started)
    counted = _Counted()
    if health.state == "ok":
        with contextlib.suppress(TimeoutError):
            async with asyncio.timeout(COUNT_S):
                await _count(engine, counted)
    elif engine.waiting() is not None:  # a read would only wait
        busy = Unavailable(health.reason or "")
        busy.refusal = Refusal(status=429)
        raise busy
    else:  # a read tells why: what the health says of that is withheld
        async with _within(HEALTH_S):
            await _count(engine, counted)
    return _told(health, counted, took, None)


@contextlib.asynccontextmanager
async def _within(limit_s: float) -> AsyncIterator[None]:
    """Raise Unavailable for what takes longer."""
    try:
        async with asyncio.timeout(limit_s):
            yield
    except TimeoutError:
        late = Unavailable(f"no answer within {limit_s:.0f} s")
        late.refusal = Refusal(fault="timeout")
        raise late from None


async def _count(engine: MemoryEngine, counted: _Counted) -> None:
    """Count items and nodes into `counted`, where what is known so far stands if it is cancelled."""
    wanted = [ExploreRequest(facet=Facet.KIND, limit=3), ExploreRequest(facet=Facet.NAMESPACE, limit=1)]
    is_cut = False
    async for kinds, nodes in engine.explore_gradually(wanted):
        counted.has_any = True
        counted.items = max(counted.items, kinds.total)
        counted.nodes = max(counted.nodes, len(nodes.buckets) + nodes.more_buckets)
        is_cut = kinds.truncated
    every = await engine.namespaces(MetaFilter())
    counted.items = max(counted.items, every.total)
    counted.nodes = max(counted.nodes, len(every.buckets))
    counted.is_least = is_cut or every.truncated


def _told(health: EngineHealth, counted: _Counted, took: str, size_bytes: int | None) -> Found:
    if not counted.has_any:
        words = tr("It answers in {took}; counting takes long and was left.", took=took)
    else:
        items = text.counted(counted.items, "item", counted.is_least)
        at = text.counted(counted.nodes, "node", counted.is_least)
        if size_bytes is None:
            words = tr("{items} at {nodes}, answers in {took}.", items=items, nodes=at, took=took)
        else:
            size = text.size(size_bytes)
            words = tr("{items} at {nodes}, {size}, answers in {took}.", items=items, nodes=at, size=size, took=took)
    reason = text.shown(health.reason or "")
    match health.state:
        case "ok":
            return Found(" ".join((tr("Healthy."), words)), True)
        case "degraded":
            return Found(" ".join((tr("Degraded ({reason}).", reason=reason), words)), False)
    return Found(" ".join((tr("It can be read, but says that it is down ({reason}).", reason=reason), words)), False)


def size_of(path: str) -> int | None:
    """A file's size in bytes; None where it is not there."""
    try:
        return os.stat(path).st_size
    except OSError:
        return None
