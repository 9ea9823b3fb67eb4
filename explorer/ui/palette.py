"""The command palette: one field over all that can be done, gone to or looked at again."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Coroutine, Sequence
from dataclasses import dataclass, field
from typing import Any

from PySide6.QtCore import QAbstractListModel, QModelIndex, QPersistentModelIndex, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent, QFocusEvent, QKeyEvent, QPainter
from PySide6.QtWidgets import (
    QAbstractItemView,
    QApplication,
    QFrame,
    QLabel,
    QLineEdit,
    QListView,
    QStyle,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QVBoxLayout,
    QWidget,
)
from shiboken6 import isValid

from explorer import text
from explorer.contract import TinyMemoryError
from explorer.i18n import tr
from explorer.text import listed
from explorer.ui import news
from explorer.ui.busy import BusyLine
from explorer.ui.jobs import Jobs
from explorer.ui.matching import best, fold, initials
from explorer.ui.rows import RADIUS, draw_icon, draw_text, fill_round, text_width
from explorer.ui.theme import theme
from explorer.ui.trees import mirrored

Index = QModelIndex | QPersistentModelIndex

SHOWN_MOST = 100
ROWS_SEEN = 12
ASKS_AFTER_MS = 200
WIDTH = 640  # at the design's text size
_DESIGN_PX = 13
_SIDE = 12
_ICON = 16
_GAP = 10
_NO_INDEX = QModelIndex()


@dataclass(slots=True)
class Command:
    """A line of the palette: what it does or where it leads, drawn as plain text.

    `kind` is what it is ("Action", "Tag"); `aside` stands after the title; `why_not` says why it cannot be now.
    `key` is what tells it from all others, whatever they look like. `by_initials`: those find it as well.
    """

    title: str
    kind: str
    run: Callable[[], object]
    icon: str = ""
    aside: str = ""
    keys: str = ""
    why_not: str = ""
    key: str = ""
    by_initials: bool = False
    names: tuple[str, str] = field(init=False, compare=False)

    def __post_init__(self) -> None:
        # What it is can be typed as well: "tag refunds", "refunds tag".
        name = fold(f"{self.title} {self.kind}")
        self.names = name, initials(name) if self.by_initials else ""

    @property
    def spoken(self) -> str:
        """All of it, for those who hear it."""
        return listed((self.title, self.kind, self.aside, self.keys, self.why_not))


Gather = Callable[[], Sequence[Command]]
Ask = Callable[[], Coroutine[Any, Any, Sequence[Command]]]
Last = Callable[[str], Sequence[Command]]


class CommandModel(QAbstractListModel):
    """The commands that fit what is typed, best first."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self._commands: list[Command] = []

    def show_commands(self, commands: list[Command]) -> None:
        self.beginResetModel()
        self._commands = commands
        self.endResetModel()

    def command(self, index: Index) -> Command | None:
        return self._commands[index.row()] if index.isValid() and index.row() < len(self._commands) else None

    def rowCount(self, parent: Index = _NO_INDEX) -> int:
        return 0 if parent.isValid() else len(self._commands)

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        command = self.command(index)
        if command is None:
            return None
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return command.title
            case Qt.ItemDataRole.AccessibleTextRole:
                return command.spoken
            case Qt.ItemDataRole.ToolTipRole:
                return text.tip(command.why_not or command.title)
        return None

    def flags(self, index: Index) -> Qt.ItemFlag:
        # A command that cannot be run can still be walked to: its reason is read there.
        return Qt.ItemFlag.ItemIsSelectable | Qt.ItemFlag.ItemIsEnabled


class CommandDelegate(QStyledItemDelegate):
    """Icon and title, what more is said of it, and at the end its keys and what it is."""

    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, theme().row_height("row"))

    def paint(self, painter: QPainter, option: QStyleOptionViewItem, index: Index) -> None:
        model, view = index.model(), option.widget
        command = model.command(index) if isinstance(model, CommandModel) else None
        if command is None or not isinstance(view, QWidget):
            return
        row = option.rect
        is_current = bool(option.state & QStyle.StateFlag.State_Selected)
        if is_current:
            fill_round(painter, row.adjusted(4, 0, -4, 0), RADIUS, "soft")
        off = bool(command.why_not)
        strong = "text3" if off else "softText" if is_current else "text"
        faint = "text2" if is_current else "text3"

        def part(left: int, width: int) -> QRect:
            return mirrored(row, left, max(0, width), view)

        if command.icon:
            draw_icon(painter, part(_SIDE, _ICON), command.icon, "disabled" if off else "text2", _ICON)
        left, right = _SIDE + _ICON + _GAP, row.width() - _SIDE
        for words, role in ((command.kind, "small"), (command.keys, "small")):
            if words:
                width = text_width(words, role)
                right -= width
                draw_text(painter, part(right, width), words, role, faint, elide=Qt.TextElideMode.ElideNone)
                right -= _GAP
        room = right - left
        width = min(text_width(command.title), room)
        draw_text(painter, part(left, width), command.title, "body", strong, elide=Qt.TextElideMode.ElideMiddle)
        aside = command.why_not or command.aside
        if aside and room - width > 4 * _GAP:
            draw_text(painter, part(left + width + _GAP, room - width - _GAP), aside, "small", faint)


class CommandEdit(QLineEdit):
    """The field; the keys that mean the list go there."""

    stepped = Signal(int)
    left = Signal(bool)  # by Esc (True), or because the focus went elsewhere

    def __init__(self, page: Callable[[], int]) -> None:
        super().__init__()
        self._page = page

    def keyPressEvent(self, event: QKeyEvent) -> None:
        steps = {
            Qt.Key.Key_Down: 1,
            Qt.Key.Key_Up: -1,
            Qt.Key.Key_PageDown: self._page(),
            Qt.Key.Key_PageUp: -self._page(),
        }
        step = steps.get(Qt.Key(event.key()), 0)
        if step:
            self.stepped.emit(step)
        elif event.key() == Qt.Key.Key_Escape:
            self.left.emit(True)
        else:
            super().keyPressEvent(event)

    def focusNextPrevChild(self, next: bool) -> bool:
        self.stepped.emit(1 if next else -1)  # there is nowhere else to go: the rest of the window waits behind
        return True

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() not in (Qt.FocusReason.PopupFocusReason, Qt.FocusReason.ActiveWindowFocusReason):
            self.left.emit(False)


class Palette(QFrame):
    """An overlay over the window; it closes before what was chosen is done, and gives the focus back.

    `gather` brings what is known now, `ask` what the engine knows besides; it is asked once for each opening. `last`
    makes the lines at the end out of what is typed. `beyond` says what there is that none of them brings; "" for
    nothing.
    """

    failed = Signal(object)  # the exception of an ask that was refused

    def __init__(self, parent: QWidget, gather: Gather, ask: Ask, last: Last, beyond: Callable[[], str]) -> None:
        super().__init__(parent)
        self.setObjectName("commandPalette")
        self.setAccessibleName(tr("Commands"))
        self.setProperty("surface", "popup")
        self._gather, self._ask, self._last, self._beyond = gather, ask, last, beyond
        self._commands: list[Command] = []
        self._found: list[Command] = []
        self._has_asked = False
        self._focus_before: QWidget | None = None
        self.jobs = Jobs(self)

        self.list = QListView()
        self.list.setObjectName("commandList")
        self.list.setAccessibleName(tr("Commands that fit"))
        self.list.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.list.setFrameShape(QFrame.Shape.NoFrame)
        self.list.setUniformItemSizes(True)
        self.list.setVerticalScrollMode(QAbstractItemView.ScrollMode.ScrollPerPixel)
        self.list.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.model = CommandModel(self)
        self.list.setModel(self.model)
        self.list.setItemDelegate(CommandDelegate(self.list))
        self.edit = CommandEdit(lambda: max(1, self.list.height() // theme().row_height("row") - 1))
        self.edit.setObjectName("commandEdit")
        self.edit.setAccessibleName(tr("Command, node, value or item"))
        self.edit.setPlaceholderText(tr("Type what to do or where to go"))
        self.edit.setProperty("kind", "bare")
        self.edit.setMaxLength(300)
        self.busy_line = BusyLine()
        self.empty_label = QLabel(tr("Nothing has these words."))
        self.empty_label.setObjectName("commandEmptyLabel")
        self.empty_label.setProperty("tone", "text3")
        self.empty_label.setContentsMargins(_SIDE, 4, _SIDE, 8)
        self.note_label = QLabel()
        self.note_label.setObjectName("commandNoteLabel")
        self.note_label.setTextFormat(Qt.TextFormat.PlainText)
        self.note_label.setProperty("textRole", "small")
        self.note_label.setProperty("tone", "caution")
        self.note_label.setContentsMargins(_SIDE, 4, _SIDE, 4)
        self.note_label.setWordWrap(True)
        column = QVBoxLayout(self)
        column.setContentsMargins(1, 1, 1, 4)
        column.setSpacing(0)
        self._top = QVBoxLayout()
        self._top.setContentsMargins(_SIDE, 8, _SIDE, 6)
        self._top.addWidget(self.edit)
        column.addLayout(self._top)
        column.addWidget(self.busy_line)
        column.addWidget(self.empty_label)
        column.addWidget(self.list, 1)
        column.addWidget(self.note_label)
        self.hide()

        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(ASKS_AFTER_MS)
        self._typing.timeout.connect(self._on_typing_timeout)
        self.edit.textChanged.connect(self._on_edit_text_changed)
        self.edit.returnPressed.connect(self._on_edit_return_pressed)
        self.edit.stepped.connect(self._on_edit_stepped)
        self.edit.left.connect(self._leave)
        self.list.clicked.connect(self._run)
        self.list.selectionModel().currentChanged.connect(self._on_current_changed)
        self.jobs.busy_changed.connect(self.busy_line.set_busy)
        self.jobs.failed.connect(self._on_jobs_failed)
        theme().changed.connect(self.place)

    def open(self) -> None:
        """Show everything that is known, with nothing typed; closes it where it is open."""
        if self.isVisible():
            self._leave(True)
            return
        self._focus_before = QApplication.focusWidget()
        self._commands, self._found, self._has_asked = list(self._gather()), [], False
        self.note_label.hide()
        self.edit.clear()
        self._show_fitting()
        self.place()
        self.show()
        self.raise_()
        self.edit.setFocus(Qt.FocusReason.ShortcutFocusReason)

    def place(self) -> None:
        """In the middle of the window's width, under its toolbar, as high as its rows need."""
        window = self.parentWidget()
        if window is None:
            return
        scale = max(1.0, theme().size_px("body") / _DESIGN_PX)
        width = min(round(WIDTH * scale), window.width() - 32)
        top = min(theme().row_height("toolbar") + 8, window.height() // 8)
        row = theme().row_height("row")
        rows = min(ROWS_SEEN, self.model.rowCount())
        self.list.setVisible(rows > 0)
        self.empty_label.setVisible(rows == 0)
        self.list.setMinimumHeight(min(row, rows * row))
        around = self.edit.sizeHint().height() + 14 + self.busy_line.height() + 8
        around += self.empty_label.sizeHint().height() if rows == 0 else 0
        around += self.note_label.heightForWidth(width) if not self.note_label.isHidden() else 0
        height = min(around + rows * row, window.height() - top - 16)
        self.setGeometry((window.width() - width) // 2, top, width, height)

    async def aclose(self) -> None:
        """End the ask."""
        self._typing.stop()
        await self.jobs.aclose()

    def cancel_asking(self) -> None:
        """Offer what is known; what is typed next asks again."""
        self.jobs.stop("ask")
        self._has_asked = False

    # What fits

    def _show_fitting(self) -> None:
        typed = self.edit.text().strip()
        fitting = best(typed, itertools.chain(self._commands, self._found), lambda command: command.names, SHOWN_MOST)
        if typed:
            known = {command.key for command in fitting if command.key}
            fitting += [command for command in self._last(typed) if command.key not in known]
        self.model.show_commands(fitting)
        self.list.setCurrentIndex(self.model.index(0))
        self.list.scrollToTop()
        self.place()

    def _on_edit_text_changed(self) -> None:
        if not self.isVisible():
            return
        self._show_fitting()
        if not self._has_asked and self.edit.text().strip():
            self._typing.start()

    def _on_typing_timeout(self) -> None:
        if self.isVisible() and not self._has_asked:
            self._has_asked = True
            self.jobs.start("ask", self._ask(), self._on_found)

    def _on_found(self, found: Sequence[Command]) -> None:
        current = self.model.command(self.list.currentIndex())
        was_first = self.list.currentIndex().row() == 0
        known = {command.key for command in self._commands}
        self._found = [command for command in found if command.key not in known]
        if beyond := self._beyond():
            self._show_note(beyond)
        self._show_fitting()
        for row in range(0 if was_first else self.model.rowCount()):  # who has walked on stays where they were
            if self.model.command(self.model.index(row)) == current:
                self.list.setCurrentIndex(self.model.index(row))
                break

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        if isinstance(error, TinyMemoryError):
            self._show_note(tr("More values could not be read.") + " " + news.sentence(error))
        else:
            self.failed.emit(error)

    def _show_note(self, words: str) -> None:
        self.note_label.setText(words)
        self.note_label.show()
        self.place()

    # The choice

    def _on_edit_stepped(self, step: int) -> None:
        rows = self.model.rowCount()
        if rows:
            at = self.list.currentIndex().row() + step
            at = at % rows if abs(step) == 1 else max(0, min(at, rows - 1))
            self.list.setCurrentIndex(self.model.index(at))

    def _on_current_changed(self, now: QModelIndex, before: QModelIndex) -> None:
        command = self.model.command(now)
        if command is not None and self.isVisible():  # the focus stays in the field: the row is told from there
            QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self.edit, command.spoken))

    def _on_edit_return_pressed(self) -> None:
        self._run(self.list.currentIndex())

    def _run(self, index: Index) -> None:
        command = self.model.command(index)
        if command is None or command.why_not:
            return
        self._leave(True)
        command.run()

    def _leave(self, gives_back: bool) -> None:
        if not self.isVisible():
            return
        self._typing.stop()
        self.jobs.cancel()
        before, self._focus_before = self._focus_before, None
        self.hide()
        self.model.show_commands([])
        self._commands, self._found = [], []
        if gives_back and before is not None and isValid(before) and before.isVisible():
            before.setFocus(Qt.FocusReason.OtherFocusReason)
