"""What the window offers to move and copy, and why it cannot be where it cannot."""

from __future__ import annotations

from typing import TYPE_CHECKING

from PySide6.QtCore import QObject

from explorer.i18n import tr
from explorer.removal.plan import Target
from explorer.ui import icons
from explorer.ui.actions import allow, view_action, why_not_all
from explorer.ui.dialogs.plan_parts.words import can_export

if TYPE_CHECKING:
    from explorer.ui.main_window import MainWindow


class MoveActions(QObject):
    """By the filter; the panels offer the rest with their own rows."""

    def __init__(self, window: MainWindow) -> None:
        super().__init__(window)
        self._window = window
        self._why_not = ""
        tip = tr("What the filter admits, to another node or another memory")
        self.matching_action = view_action(window, "moveMatchingAction", tr("Move or copy all that match…"), tip)
        icons.keep(self.matching_action, "arrow-right")
        self.matching_action.triggered.connect(self._on_matching_action_triggered)
        window.items.move_wanted.connect(window.move_selected_wanted)
        window.namespaces.move_wanted.connect(window.move_wanted)

    def allow(self) -> None:
        """Another memory is open, or none."""
        engine = self._window.engine
        if engine is None:
            self._why_not = tr("Nothing is open")
        else:
            self._why_not = "" if can_export(engine) else tr("This engine does not export")
        self.show_view()

    def show_view(self) -> None:
        """The filter is another."""
        view = self._window.trail.current
        why_not = self._why_not
        if not why_not and view.agent is not None:
            why_not = tr("No tool of an agent does that: leave its view first")
        self._window.items.allow_moving(why_not)
        self._window.namespaces.allow_moving(why_not)
        allow(self.matching_action, why_not or why_not_all(view.query))

    def _on_matching_action_triggered(self) -> None:
        self._window.move_wanted.emit(Target.of_filter(self._window.trail.current.filter))
