"""A keyring that keeps keys in memory, and engines with what can be asked for."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import keyring
import pytest

from tests.engines.keyrings import MemoryKeyring


@pytest.fixture
def kept_keys() -> Iterator[MemoryKeyring]:
    """In the place of the system's keyring."""
    before = keyring.get_keyring()
    backend = MemoryKeyring()
    keyring.set_keyring(backend)
    yield backend
    keyring.set_keyring(before)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """Empty."""
    made = tmp_path / "files"
    made.mkdir()
    return made
