"""What the tests of removals share."""

from __future__ import annotations

from pathlib import Path

import pytest

from explorer.removal.journal import Journal


@pytest.fixture
def journal(tmp_path: Path) -> Journal:
    return Journal(tmp_path / "receipts")
