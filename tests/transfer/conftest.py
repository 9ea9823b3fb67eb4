"""Engines that the tests of import and export share."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from explorer.contract import MemoryEngine
from explorer.engines import EngineSettings, build_engine


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(folder))
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    return folder


OpenMemory = Callable[[str], MemoryEngine]


@pytest.fixture
def open_memory(tmp_path: Path) -> OpenMemory:
    """Open a database file of that name; the test closes it."""
    return lambda name: build_engine("sqlite", EngineSettings(path=str(tmp_path / name)), None)
