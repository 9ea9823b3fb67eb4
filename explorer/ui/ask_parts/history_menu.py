"""The questions of before, to be shown again."""

from __future__ import annotations

from collections.abc import Callable
from functools import partial

from PySide6.QtCore import Signal
from PySide6.QtWidgets import QMenu, QWidget

from explorer.asking import Answered, History
from explorer.i18n import tr
from explorer.text import isolate, label, shown
from explorer.ui.actions import allow

_CHARS = 60
_WHOLE_CHARS = 300


class HistoryMenu(QMenu):
    """Filled when it opens, and when the palette looks through the menus."""

    chosen = Signal(object)  # an Answered
    forget_wanted = Signal()

    def __init__(self, history: History, current: Callable[[], Answered | None], parent: QWidget) -> None:
        """`current`: the answer that is shown."""
        super().__init__(parent)
        self.setTitle(tr("Ask"))
        self._history = history
        self._current = current
        self.aboutToShow.connect(self._fill)

    def _fill(self) -> None:
        self.clear()
        current = self._current()
        for answered in self._history:
            action = self.addAction(label(isolate(shown(answered.question, _CHARS))))
            action.setProperty("what", tr("Question asked"))
            action.setProperty("wholeTitle", shown(answered.question, _WHOLE_CHARS))
            action.setProperty("iconName", "ask")
            action.setCheckable(True)
            action.setChecked(answered is current)
            action.triggered.connect(partial(self._choose, answered))
        none = tr("Nothing was asked yet")
        if not len(self._history):
            note = self.addAction(none)
            note.setEnabled(False)
            note.setProperty("note", True)
        self.addSeparator()
        forget = self.addAction(tr("Forget these questions"))
        forget.triggered.connect(self.forget_wanted)
        allow(forget, "" if len(self._history) else none)

    def _choose(self, answered: Answered, _is_checked: bool = False) -> None:
        self.chosen.emit(answered)
