"""Widgets in reference cycles die on their own thread."""

from __future__ import annotations

import asyncio
import gc
import threading

from PySide6.QtCore import QObject, QTimer

from explorer.ui.garbage import GarbageCollector


class Cyclic(QObject):
    """An object that only the collector can free; says which thread did."""

    def __init__(self, deaths: list[int]) -> None:
        super().__init__()
        self.me = self
        self.timer = QTimer(self)
        self.timer.start(1_000_000)
        self.deaths = deaths

    def __del__(self) -> None:
        self.deaths.append(threading.get_ident())


def allocate() -> list[list[int]]:
    """Enough objects for the interpreter to collect several times over, were it allowed to."""
    return [[number] for number in range(200_000)]


async def test_a_busy_thread_frees_no_widget(collector: GarbageCollector) -> None:
    deaths: list[int] = []
    for _ in range(5):
        Cyclic(deaths)
    for _ in range(3):
        await asyncio.to_thread(allocate)
    collector.collect_due()
    gc.collect()
    assert deaths == [threading.get_ident()] * 5, "all of them here, none in the busy thread"
