"""A receipt while it is written: one JSON object a line."""

from __future__ import annotations

import json
import os
from datetime import UTC, datetime
from pathlib import Path
from types import TracebackType
from typing import Any


class ReceiptWriter:
    """Appends to the file at `path`, which it makes. Leaving it closes the file, with or without an `end`."""

    def __init__(self, path: Path) -> None:
        self.path = path
        self._file = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_EXCL | os.O_APPEND, 0o600)

    def note(self, line: str, **facts: Any) -> None:
        said = {"line": line, "at": datetime.now(UTC).isoformat(), **facts}
        os.write(self._file, json.dumps(said, default=str).encode() + b"\n")

    def close(self, **facts: Any) -> None:
        """Write `end`: what came of it."""
        self.note("end", **facts)

    def __enter__(self) -> ReceiptWriter:
        return self

    def __exit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        os.close(self._file)
