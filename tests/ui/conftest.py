"""Widgets are tested as they are seen: with the program's own style."""

from __future__ import annotations

from collections.abc import Iterator

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
