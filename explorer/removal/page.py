"""A receipt to read and to print."""

from __future__ import annotations

from pathlib import Path


def write_page(path: Path) -> Path:
    """Write the page of a receipt beside it."""
    return path.with_suffix(".html")
