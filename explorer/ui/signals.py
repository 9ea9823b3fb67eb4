"""The signals by which a terminal, the session or another program asks this one to end."""

from __future__ import annotations

import signal
import socket
from types import FrameType

from PySide6.QtCore import QObject, QSocketNotifier, Signal

_NAMES = ("SIGINT", "SIGTERM", "SIGHUP", "SIGBREAK")  # no platform has all of them


class EndSignals(QObject):
    """Ctrl-C, SIGTERM and the like as one Qt signal; the second time they do what they do by themselves.

    Python runs a handler only between two steps of Python code, and the loop waits in Qt's: it is woken by the byte
    that the interpreter writes as a signal arrives. What was ignored from the start, as under nohup, stays ignored.
    """

    received = Signal()

    def __init__(self, parent: QObject) -> None:
        super().__init__(parent)
        self._near, self._far = socket.socketpair()
        for end in (self._near, self._far):
            end.setblocking(False)
        self._notifier = QSocketNotifier(self._near.fileno(), QSocketNotifier.Type.Read, self)
        self._notifier.activated.connect(self._on_notifier_activated)
        self._fd_before = signal.set_wakeup_fd(self._far.fileno(), warn_on_full_buffer=False)
        wanted = [getattr(signal, name) for name in _NAMES if hasattr(signal, name)]
        self._watched = [number for number in wanted if signal.getsignal(number) is not signal.SIG_IGN]
        for number in self._watched:
            signal.signal(number, _note)

    def close(self) -> None:
        """Leave the signals to themselves again."""
        if self._near.fileno() < 0:
            return
        for number in self._watched:
            signal.signal(number, signal.SIG_DFL)
        signal.set_wakeup_fd(self._fd_before)
        self._notifier.setEnabled(False)
        self._near.close()
        self._far.close()

    def _on_notifier_activated(self) -> None:
        if self._near.fileno() >= 0 and self._near.recv(64):
            self.close()
            self.received.emit()


def _note(number: int, frame: FrameType | None) -> None:
    """Nothing: the byte that was written is what counts."""
