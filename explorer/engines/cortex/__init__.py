"""CortexDB by its own API and behind the TinyHumans backend: one engine, two wires.

Only descriptors and builders are here: what speaks HTTP is imported when an engine is built.

Source: cortex, "Registry and config".
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from explorer.contract import Consolidation, EngineDescriptor, FetchMode

if TYPE_CHECKING:
    from explorer.contract import MemoryEngine
    from explorer.engines.config import EngineCredential, EngineSettings

DIRECT = EngineDescriptor(
    id="cortexdb",
    label="CortexDB",
    description="CortexDB's own API: an append-only log with ranked recall and answers that rest on what is stored.",
    hosted=False,
    needs_endpoint=False,
    needs_key=True,
    default_endpoint="https://api-v1.cortexdb.ai",
    fetch_modes=[FetchMode.HYBRID],
    consolidation=Consolidation.AUTOMATIC,
    settings=[
        "scope_root",
        "scope_owner",
        "retired_scope_root",
        "consolidation",
        "observed_actor",
        "headers",
        "listing_cache",
    ],
    keeps_paths=False,
    erases_others=True,
)

HOSTED = EngineDescriptor(
    id="tinyhumans",
    label="TinyHumans",
    description="CortexDB hosted by the TinyHumans backend, billed to the account that is signed in.",
    hosted=True,
    needs_endpoint=False,
    needs_key=True,
    default_endpoint="https://api.tinyhumans.ai",
    fetch_modes=[FetchMode.HYBRID],
    consolidation=Consolidation.SCHEDULED,
    settings=["tenant_root", "scope_root", "retired_scope_root", "consolidation", "headers", "listing_cache"],
    keeps_paths=False,
    erases_others=True,
)


def build_direct(settings: EngineSettings, credential: EngineCredential) -> MemoryEngine:
    """CortexDB by its own API. Asks nothing of the server yet. Raises ConfigError for settings it cannot use."""
    return _build(settings, credential, hosted=False)


def build_hosted(settings: EngineSettings, credential: EngineCredential) -> MemoryEngine:
    """CortexDB behind the TinyHumans backend, otherwise as `build_direct`."""
    return _build(settings, credential, hosted=True)


def forget_direct(settings: EngineSettings) -> None:
    """Remove what was kept on this computer of that memory. Raises ConfigError for settings it cannot use."""
    _forget(settings, hosted=False)


def forget_hosted(settings: EngineSettings) -> None:
    """As `forget_direct`."""
    _forget(settings, hosted=True)


def _forget(settings: EngineSettings, *, hosted: bool) -> None:
    from explorer.engines.cortex.cache import ListingCache
    from explorer.engines.cortex.settings import CortexSettings

    ListingCache.of(settings, CortexSettings.of(settings, hosted=hosted)).drop_all()


def _build(settings: EngineSettings, credential: EngineCredential, *, hosted: bool) -> MemoryEngine:
    from explorer.engines.cortex.cache import ListingCache
    from explorer.engines.cortex.direct import DirectWire
    from explorer.engines.cortex.engine import CortexEngine
    from explorer.engines.cortex.hosted import HostedWire
    from explorer.engines.cortex.settings import CortexSettings

    checked = CortexSettings.of(settings, hosted=hosted)
    wire = (HostedWire if hosted else DirectWire)(checked, credential)
    descriptor = (HOSTED if hosted else DIRECT).model_copy(update={"consolidation": checked.consolidation})
    cache = ListingCache.of(settings, checked)
    if settings.listing_cache is False:
        cache.drop_all()
        return CortexEngine(wire, checked, descriptor)
    return CortexEngine(wire, checked, descriptor, cache)
