"""Collects Python's cyclic garbage on the thread of the widgets, and nowhere else."""

from __future__ import annotations

import gc

from PySide6.QtCore import QObject, QTimer

_EVERY_MS = 1_000


class GarbageCollector(QObject):
    """Replaces the interpreter's own moment of collecting, for as long as the program runs.

    That one comes in whatever thread happens to allocate. A widget in a reference cycle would then be destroyed off
    its thread: its timers stay registered, and Qt runs into the freed object at their next tick.
    """

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        gc.disable()
        self._timer = QTimer(self)
        self._timer.setInterval(_EVERY_MS)
        self._timer.timeout.connect(self.collect_due)
        self._timer.start()

    def collect_due(self) -> None:
        """Collect the oldest generation whose own threshold is passed; the interpreter goes on counting."""
        counts, thresholds = gc.get_count(), gc.get_threshold()
        for generation in (2, 1, 0):
            if counts[generation] > thresholds[generation]:
                gc.collect(generation)
                return
