"""A way back from a removal: what would go, exported, read back and counted before anything goes."""

from __future__ import annotations

from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path

from explorer.contract import ItemId, MemoryEngine
from explorer.removal.preview import Preview


@dataclass(frozen=True, slots=True)
class WayBack:
    """A file that was read back: `items` of it are exactly those that would go, but for `incomplete`."""

    path: Path
    items: int
    size_bytes: int
    incomplete: tuple[ItemId, ...] = ()
    """Items that the engine holds only part of, and that the file therefore lacks."""


@dataclass(frozen=True, slots=True)
class Export:
    """How far it is: items written, or read back; `done` at the end."""

    written: int = 0
    read_back: int = 0
    done: WayBack | None = None


async def export_first(
    engine: MemoryEngine, preview: Preview, path: Path, *, overwrite: bool = False
) -> AsyncGenerator[Export, None]:
    """Export the previewed items by id, read the file back, and compare ids.

    Raises Unsupported where the engine does not export, FileError for the file or where it does not hold what it
    should, and the engine's errors.
    """
    yield Export()
    raise NotImplementedError
