"""Widgets are tested as they are seen: with the program's own style."""

from __future__ import annotations

import socket
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from PySide6.QtWidgets import QApplication

from explorer.ui.garbage import GarbageCollector
from explorer.ui.theme import Theme, theme


@pytest.fixture(scope="session")
def themed(qapp: QApplication) -> Theme:
    """The application's theme, applied in light."""
    theme().apply(qapp, "light")
    qapp.setQuitOnLastWindowClosed(False)  # as the program has it: the loop goes on when a test closes its window
    return theme()


@pytest.fixture(scope="session")
def collector(qapp: QApplication) -> GarbageCollector:
    """As in the program: widgets are freed on this thread only."""
    return GarbageCollector(qapp)


@pytest.fixture(autouse=True)
def _themed(themed: Theme, collector: GarbageCollector) -> Iterator[None]:
    """Every widget test runs under the theme, and collects what the ones before left."""
    yield
    collector.collect_due()


@pytest.fixture(autouse=True)
def _no_receipts_of_the_user(tmp_path: Path) -> Iterator[None]:
    """A window that is given no journal reads and writes none of whoever runs the tests."""
    # Not the fixture of that name: used here it would outlive all fixtures of the tests that use it.
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr("explorer.removal.journal.default_folder", lambda: tmp_path / "receipts")
        yield


@pytest.fixture(autouse=True)
def _no_context_by_itself(request: pytest.FixtureRequest) -> Iterator[None]:
    """The preview of context.md asks nothing by itself, except where a test is about it: others count what is asked."""
    with pytest.MonkeyPatch.context() as patch:
        if not request.path.name.startswith("test_context_"):
            patch.setattr("explorer.ui.context_preview.ASKS_AFTER_MS", 3_600_000)
        yield


@pytest.fixture
def listener() -> Iterator[Callable[[], bool]]:
    """A listening socket; the fixture tells whether anybody has connected, and its port is `.port`."""
    server = socket.create_server(("127.0.0.1", 0))
    server.setblocking(False)

    def was_asked() -> bool:
        try:
            server.accept()[0].close()
        except BlockingIOError:
            return False
        return True

    was_asked.port = server.getsockname()[1]  # type: ignore[attr-defined]
    yield was_asked
    server.close()
