"""A home folder of its own for each test, so that none sees or changes what the user saved."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.engines import registry


@pytest.fixture(autouse=True)
def home(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "home"
    folder.mkdir()
    for name in ("HOME", "USERPROFILE", "APPDATA", "LOCALAPPDATA"):
        monkeypatch.setenv(name, str(folder))
    for name in ("CONFIG", "DATA", "CACHE", "STATE"):
        monkeypatch.setenv(f"XDG_{name}_HOME", str(folder / name.lower()))
    for name in ("TINYMEMORY_DB", "TINYMEMORY_TRACEBACK"):
        monkeypatch.delenv(name, raising=False)
    return folder


@pytest.fixture
def fresh_registry() -> Iterator[None]:
    """Engines are looked for anew in this test, and again after it."""
    registry.rescan_engines()
    yield
    registry.rescan_engines()
