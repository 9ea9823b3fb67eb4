"""Small files that only their owner may read, such as settings."""

from __future__ import annotations

import contextlib
import os
import tempfile
from pathlib import Path

from explorer.engines.locks import sync_folder


def replace_file(path: Path, data: bytes) -> None:
    """Put `data` in the place of a file, whole or not at all, also where the power fails. Raises OSError."""
    temporary: str | None = None
    try:
        handle, temporary = tempfile.mkstemp(prefix=f".{path.stem}-", suffix=".tmp", dir=path.parent)
        with os.fdopen(handle, "wb") as file:  # mkstemp makes it 0600
            file.write(data)
            file.flush()
            os.fsync(file.fileno())
        os.replace(temporary, path)
        temporary = None
        sync_folder(path.parent)
    finally:
        if temporary is not None:
            with contextlib.suppress(OSError):
                os.unlink(temporary)
