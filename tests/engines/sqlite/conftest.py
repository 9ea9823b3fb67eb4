"""A folder with nothing else in it."""

from __future__ import annotations

from pathlib import Path

import pytest


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Empty: `tmp_path` itself holds the home folder that each test of an engine gets."""
    made = tmp_path / "files"
    made.mkdir()
    return made
