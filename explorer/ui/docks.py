"""The docks of a window by the keyboard: the one that holds the focus is moved, sized, tabbed, floated and closed."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from functools import partial
from typing import NamedTuple

from PySide6.QtCore import QObject, Qt, Signal
from PySide6.QtGui import QAction
from PySide6.QtWidgets import QApplication, QDockWidget, QMainWindow, QToolButton, QWidget

from explorer.i18n import tr
from explorer.ui import icons
from explorer.ui.actions import allow
from explorer.ui.theme import theme

STEP_PX = 24  # at the design's text size, that a key makes a dock wider or higher

_ACROSS, _DOWN = Qt.Orientation.Horizontal, Qt.Orientation.Vertical


class Way(NamedTuple):
    """Something to do with a dock: what it is called, its key after Alt and Shift, and what to expect of it."""

    words: str
    key: str
    tip: str
    do: Callable[[QDockWidget], None]


class Docks(QObject):
    """Left and right are those of the screen, as the arrow keys are."""

    arranged = Signal()  # the layout is the person's own now
    closed = Signal()  # the one that had the focus

    def __init__(self, window: QMainWindow, spare: Callable[[QWidget], bool]) -> None:
        """`spare`: whether the focus in this widget leaves the dock that had it before the one that is meant."""
        super().__init__(window)
        self._window = window
        self._spare = spare
        self._docks: list[QDockWidget] = []
        self._current: QDockWidget | None = None
        self.actions: list[QAction] = []

    def ways(self) -> list[Way]:
        """All that can be done, in the order of the menu."""
        areas = Qt.DockWidgetArea
        left, right, below = areas.LeftDockWidgetArea, areas.RightDockWidgetArea, areas.BottomDockWidgetArea
        gives, takes = tr("The others get the room"), tr("The others give the room")
        return [
            Way(tr("Move panel to the left"), "L", tr("To the left edge of the window"), partial(self._move, left)),
            Way(tr("Move panel to the right"), "R", tr("To the right edge of the window"), partial(self._move, right)),
            Way(tr("Move panel below"), "B", tr("To the lower edge of the window"), partial(self._move, below)),
            Way(tr("Panel as a tab"), "T", tr("On the panel beside it; once more to have it alone again"), self._tab),
            Way(tr("Panel as a window"), "F", tr("Out of this window; once more to have it in again"), self._float),
            Way(tr("Close panel"), "W", tr("The menu shows it again, under Panels"), self._close),
            Way(tr("Narrower panel"), "Left", gives, partial(self._resize, _ACROSS, -1)),
            Way(tr("Wider panel"), "Right", takes, partial(self._resize, _ACROSS, 1)),
            Way(tr("Lower panel"), "Up", gives, partial(self._resize, _DOWN, -1)),
            Way(tr("Higher panel"), "Down", takes, partial(self._resize, _DOWN, 1)),
        ]

    def begin(self, docks: Sequence[QDockWidget], actions: Sequence[QAction]) -> None:
        """Look after these docks, by an action for each of the `ways`."""
        self._docks, self.actions = list(docks), list(actions)
        for way, action in zip(self.ways(), actions, strict=True):
            action.triggered.connect(partial(self._on_action_triggered, way.do))
        app = QApplication.instance()
        assert isinstance(app, QApplication)
        app.focusChanged.connect(self._on_application_focus_changed)
        self._allow()

    def close_button(self, dock: QDockWidget, words: str) -> QToolButton:
        """What closes a dock, for the end of its head."""
        button = QToolButton()
        button.setObjectName(f"close:{dock.objectName()}")
        button.setProperty("kind", "small")
        button.setAccessibleName(words)
        button.setToolTip(words)
        icons.keep(button, "close")
        button.clicked.connect(lambda: self._close(dock))
        return button

    def _allow(self) -> None:
        refused = tr("The keyboard is in no panel; F6 goes to the next") if self._current is None else ""
        for action in self.actions:
            allow(action, refused)

    def _on_application_focus_changed(self, before: QWidget | None, now: QWidget | None) -> None:
        if now is None or self._spare(now):
            return
        current = next((dock for dock in self._docks if dock.isAncestorOf(now)), None)
        if current is not self._current:
            self._current = current
            self._allow()

    def _on_action_triggered(self, do: Callable[[QDockWidget], None]) -> None:
        dock, focus = self._current, QApplication.focusWidget()
        if dock is None:
            return
        do(dock)
        self.arranged.emit()
        if dock.isVisible() and focus is not None and dock.isAncestorOf(focus):
            focus.window().activateWindow()  # which may be another one now
            focus.setFocus(Qt.FocusReason.OtherFocusReason)

    def _move(self, area: Qt.DockWidgetArea, dock: QDockWidget) -> None:
        dock.setFloating(False)
        self._window.addDockWidget(area, dock)  # after those that are there

    def _tab(self, dock: QDockWidget) -> None:
        area = self._window.dockWidgetArea(dock)
        if self._window.tabifiedDockWidgets(dock):
            self._window.addDockWidget(area, dock)
            return
        others = self._in_window(dock)
        if others:
            dock.setFloating(False)
            beside = min(others, key=lambda one: self._window.dockWidgetArea(one) is not area)
            self._window.tabifyDockWidget(beside, dock)
            dock.raise_()

    def _float(self, dock: QDockWidget) -> None:
        dock.setFloating(not dock.isFloating())

    def _close(self, dock: QDockWidget) -> None:
        focus = QApplication.focusWidget()
        had_focus = focus is not None and dock.isAncestorOf(focus)
        dock.close()
        self.arranged.emit()
        if had_focus:
            self.closed.emit()

    def _resize(self, way: Qt.Orientation, step: int, dock: QDockWidget) -> None:
        by = step * theme().scaled(STEP_PX)
        if dock.isFloating():
            dock.resize(dock.width() + by * (way is _ACROSS), dock.height() + by * (way is _DOWN))
            return

        def size(one: QDockWidget) -> int:
            return one.width() if way is _ACROSS else one.height()

        docks, sizes = [dock], [max(1, size(dock) + by)]
        beside = self._beside(dock, way)
        if beside:  # else Qt would share the room out among all of them
            docks.append(beside[0])
            sizes.append(max(1, size(beside[0]) - by))
        self._window.resizeDocks(docks, sizes, way)

    def _beside(self, dock: QDockWidget, way: Qt.Orientation) -> list[QDockWidget]:
        """The docks with which one shares its edge of the window in this direction, those that follow it first."""
        area = self._window.dockWidgetArea(dock)
        is_upright = area in (Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea)
        tabbed = self._window.tabifiedDockWidgets(dock)
        if is_upright is (way is _ACROSS):
            return []
        others = [one for one in self._in_window(dock) if self._window.dockWidgetArea(one) is area]
        place = QWidget.y if way is _DOWN else QWidget.x
        return sorted((one for one in others if one not in tabbed), key=lambda one: place(one) < place(dock))

    def _in_window(self, dock: QDockWidget) -> list[QDockWidget]:
        """The others that are seen, and are no windows."""
        return [one for one in self._docks if one is not dock and one.isVisible() and not one.isFloating()]
