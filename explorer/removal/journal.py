"""Every removal, move and restore done here: one receipt each, in one folder.

A receipt is JSON Lines, written line by line while things happen, so that it is true at any moment; beside it stands a
page to read and print once it is finished.
"""

from __future__ import annotations

from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

from explorer.removal.receipts import ReceiptWriter

if TYPE_CHECKING:
    from explorer.removal.removing import Removal


class Journal:
    """The receipts in `folder`, which is made when the first is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder

    def begin(self, removal: Removal, action_name: str) -> ReceiptWriter:
        """A new receipt, with all that is known before anything goes."""
        self.folder.mkdir(parents=True, exist_ok=True)
        name = f"{datetime.now(UTC):%Y-%m-%dT%H%M%SZ}-{action_name}"
        names = [name, *(f"{name}-{number}" for number in range(2, 1000))]
        writer = ReceiptWriter(next(path for each in names if not (path := self.folder / f"{each}.jsonl").exists()))
        writer.note("begin", action=action_name, planned=len(removal.preview.ids if removal.preview else ()))
        return writer
