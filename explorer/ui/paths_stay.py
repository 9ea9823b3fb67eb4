"""What is said before anything is first stored in a memory that keeps no folders and no absolute workspaces."""

from __future__ import annotations

import asyncio
import hashlib
import json
from collections.abc import Callable, Coroutine
from typing import Any

from PySide6.QtCore import QSettings
from PySide6.QtWidgets import QWidget

from explorer import text
from explorer.contract import MemoryEngine
from explorer.engines.place import account_of, place_of
from explorer.i18n import tr
from explorer.ui.ask import confirm

MayStore = Callable[[MemoryEngine, str, QWidget], Coroutine[Any, Any, bool]]
"""Whether a person agrees that something is stored in the memory of an engine, open by that name; asked over a widget.
"""
_GROUP = "pathsStay"


async def may_always(engine: MemoryEngine, name: str, parent: QWidget) -> bool:
    return True


class PathsStay:
    """Asks once for each connection. The yes is in the settings; without any it lasts as long as the window."""

    def __init__(self, settings: QSettings | None) -> None:
        self._settings = settings
        self._agreed: set[str] = set()
        self._lock = asyncio.Lock()

    async def may_store(self, engine: MemoryEngine, name: str, parent: QWidget) -> bool:
        """Whether to go on; where an engine keeps paths, or it was said before, nothing is asked."""
        if engine.descriptor().keeps_paths:
            return True
        async with self._lock:  # of two that come at once the second is answered by what the first was told
            key = await asyncio.to_thread(_key, engine, name)
            if self._is_agreed(key):
                return True
            said = tr(
                "{name} takes items without their folders, and without workspaces that are absolute paths. "
                "They come back with the file name only, and an export from there cannot give the rest back.",
                name=text.inline(name),
            )
            if not await confirm(
                parent, tr("Folders and absolute workspaces stay on this machine"), said, tr("Continue")
            ):
                return False
            self._agreed.add(key)
            if self._settings is not None:
                self._settings.setValue(f"{_GROUP}/{key}", True)
            return True

    def _is_agreed(self, key: str) -> bool:
        if key in self._agreed:
            return True
        return self._settings is not None and self._settings.value(f"{_GROUP}/{key}") in ("true", True)


def _key(engine: MemoryEngine, name: str) -> str:
    """By what a connection is known whatever it is called later. Touches the disk."""
    about = [engine.descriptor().id, place_of(engine), account_of(engine) or name]
    return hashlib.sha256(json.dumps(about).encode()).hexdigest()[:24]
