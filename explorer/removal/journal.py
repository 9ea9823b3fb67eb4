"""Every removal, move and restore done here: one receipt each, in one folder.

A receipt is JSON Lines, written line by line while things happen, so that it is true at any moment; beside it stands a
page to read and print once it is finished.
"""

from __future__ import annotations

from pathlib import Path


class Journal:
    """The receipts in `folder`, which is made when the first is written."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
