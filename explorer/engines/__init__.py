"""The engines that this program can open, and what is remembered of the ones it opened.

Importing this loads no engine: each comes with its own libraries and is imported when first asked for.
"""

from explorer.engines.config import (
    BearerSource,
    DynamicCredential,
    EngineCredential,
    EngineSettings,
    MemoryConfig,
    StaticCredential,
    file_settings,
)
from explorer.engines.connections import (
    ConnectionStore,
    FoundCredential,
    KeyPlace,
    KeyStore,
    SavedConnection,
    find_credential,
)
from explorer.engines.read_only import read_only_view
from explorer.engines.registry import (
    ENTRY_POINT_GROUP,
    BrokenEngine,
    EngineEntry,
    broken_engines,
    build_engine,
    forget_kept,
    list_engines,
)

__all__ = [
    "ENTRY_POINT_GROUP",
    "BearerSource",
    "BrokenEngine",
    "ConnectionStore",
    "DynamicCredential",
    "EngineCredential",
    "EngineEntry",
    "EngineSettings",
    "FoundCredential",
    "KeyPlace",
    "KeyStore",
    "MemoryConfig",
    "SavedConnection",
    "StaticCredential",
    "broken_engines",
    "build_engine",
    "file_settings",
    "find_credential",
    "forget_kept",
    "list_engines",
    "read_only_view",
]
