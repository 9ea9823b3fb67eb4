"""The journal: what was ever removed, moved, copied or restored here, each with its receipt."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import tzinfo
from pathlib import Path

from PySide6.QtCore import (
    QFileSystemWatcher,
    QItemSelectionModel,
    QModelIndex,
    QPoint,
    QRect,
    QSize,
    Qt,
    QTimer,
    QUrl,
    Signal,
    SignalInstance,
)
from PySide6.QtGui import QAction, QDesktopServices, QFocusEvent, QHideEvent, QPainter, QResizeEvent, QShowEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QStackedWidget,
    QStyledItemDelegate,
    QStyleOptionViewItem,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from explorer.i18n import tr
from explorer.removal.journal import Journal
from explorer.removal.receipts import Entry
from explorer.ui.actions import allow, panel_action
from explorer.ui.busy import BusyLine
from explorer.ui.empty import EmptyState
from explorer.ui.jobs import Jobs
from explorer.ui.margins import margins
from explorer.ui.models.journal_model import Index, JournalModel, State, state_of, state_words, title_of, where_of
from explorer.ui.rows import draw_icon, draw_text, text_width
from explorer.ui.theme import theme
from explorer.ui.trees import EDGE, GAP, PaneBanner, PaneHead, PaneTree, mirrored

_TYPING_MS = 250
_SETTLES_MS = 100  # a receipt and its page come one after the other
_RUNNING_MS = 2_000  # of what is written on nothing is told; only of what comes and goes in the folder
_ICON = 16
_BETWEEN = 2  # the two lines of a row
_AROUND = 12
_BUTTON_GAP = 4

_ICONS: dict[State, tuple[str, str]] = {
    State.DONE: ("check-ring", "accent"),
    State.STILL: ("warning", "caution"),
    State.PARTLY: ("warning", "caution"),
    State.INTERRUPTED: ("pause", "caution"),
    State.CONTINUED: ("minus-ring", "text3"),
    State.RUNNING: ("clock", "text2"),
    State.UNREADABLE: ("file", "text3"),
}


class _RowDelegate(QStyledItemDelegate):
    def sizeHint(self, option: QStyleOptionViewItem, index: Index) -> QSize:
        return QSize(0, sum(_line_heights()) + _BETWEEN + _AROUND)


def _line_heights() -> tuple[int, int]:
    return round(theme().metrics("medium").height()), round(theme().metrics("small").height())


class JournalTree(PaneTree):
    """A row a receipt: what was done and when, and below it where and how far it came."""

    def __init__(self, model: JournalModel) -> None:
        super().__init__()
        self._entries = model
        self.setModel(model)
        self.setItemDelegate(_RowDelegate(self))
        self.setObjectName("journalList")
        self.setAccessibleName(tr("Receipts"))
        self.setHeaderHidden(True)
        self.setRootIsDecorated(False)
        self.setIndentation(0)
        self.setUniformRowHeights(True)
        theme().changed.connect(self.scheduleDelayedItemsLayout)

    def draw_cells(self, painter: QPainter, cell: QRect, index: QModelIndex) -> None:
        entry = self._entries.entry(index)
        if entry is None:
            return
        icon, tone = _ICONS[state_of(entry)]
        told = "caution" if tone == "caution" else "text2"
        title_height, small_height = _line_heights()
        row = self.full_row(cell)
        first = QRect(row.x(), row.y() + _AROUND // 2, row.width(), title_height)
        second = QRect(row.x(), first.bottom() + 1 + _BETWEEN, row.width(), small_height)
        draw_icon(painter, mirrored(first, EDGE, _ICON, self), icon, tone, _ICON)
        self._draw_line(painter, first, (title_of(entry), "medium", "text"), (self._entries.when(entry), "text2"))
        self._draw_line(painter, second, (where_of(entry), "small", "text2"), (state_words(entry), told))

    def _draw_line(self, painter: QPainter, line: QRect, begins: tuple[str, str, str], ends: tuple[str, str]) -> None:
        """What it begins with, in a font role and a colour; what it ends with keeps its room first."""
        left, right = EDGE + _ICON + GAP, line.width() - EDGE
        words, token = ends
        width = min(text_width(words, "small"), (right - left) * 2 // 3)
        draw_text(painter, mirrored(line, right - width, width, self), words, "small", token)
        words, role, token = begins
        draw_text(painter, mirrored(line, left, right - width - GAP - left, self), words, role, token)


class JournalPanel(QWidget):
    """Reads the journal while it is seen, and again whenever something in its folder changes."""

    open_wanted = Signal(object)  # the path of a receipt, to be looked at
    continue_wanted = Signal(object)  # the path of one that was interrupted
    restore_wanted = Signal(object)  # the path of one that has a way back

    def __init__(self, journal: Journal, zone: tzinfo, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("journalPanel")
        self.setProperty("surface", "panel")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.journal = journal
        self.open_url: Callable[[QUrl], object] = QDesktopServices.openUrl
        self.jobs = Jobs(self)
        self._refused = ""
        self._wanted: Path | None = None  # to be made current once it is read

        self.head = PaneHead(tr("Journal"), tr("removals, moves and restores"), tr("removals"))
        self.search_edit = QLineEdit()
        self.search_edit.setObjectName("journalSearchEdit")
        self.search_edit.setProperty("kind", "small")
        self.search_edit.setPlaceholderText(tr("Search by connection, node, action or id"))
        self.search_edit.setAccessibleName(tr("Search the journal"))
        self.search_edit.setMaxLength(1_000)
        self.busy_line = BusyLine()
        self.banner = PaneBanner()
        self.model = JournalModel(zone, self)
        self.tree = JournalTree(self.model)
        self.empty = EmptyState()
        self.empty.setObjectName("journalEmpty")
        self._pages = QStackedWidget()
        self._pages.addWidget(self.tree)
        self._pages.addWidget(self.empty)

        self.open_action = self._action(tr("Open receipt"), tr("What was done, with its numbers and questions"))
        self.continue_action = self._action(tr("Continue…"), tr("Go on with what was interrupted"))
        self.settle_action = self._action(
            tr("Leave it at that"), tr("Nothing more is done, and the receipt says how far it came")
        )
        self.restore_action = self._action(tr("Restore…"), tr("Store the exported items again"))
        self.file_action = self._action(tr("Show file"), tr("Open the folder of the receipts"))
        self.foot = QWidget()
        self.foot.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Fixed)  # the dock may be narrower
        rule = QFrame()
        rule.setProperty("surface", "rule")
        rule.setFixedHeight(1)
        self.open_button = self._button("openReceiptButton", self.open_action)
        self.continue_button = self._button("continueReceiptButton", self.continue_action)
        self.restore_button = self._button("restoreReceiptButton", self.restore_action)
        self.file_button = self._button("receiptFileButton", self.file_action)
        row = QHBoxLayout(self.foot)
        row.setContentsMargins(margins(EDGE - 4, 6, EDGE - 4, 6))
        row.setSpacing(_BUTTON_GAP)
        for button in (self.open_button, self.continue_button, self.restore_button):
            row.addWidget(button)
        row.addStretch(1)
        row.addWidget(self.file_button)
        self.menu = QMenu(self)
        self.menu.setTitle(tr("Journal"))
        self.menu.addActions([self.open_action, self.continue_action, self.settle_action, self.restore_action])
        self.menu.addSeparator()
        self.menu.addAction(self.file_action)

        search = QHBoxLayout()
        search.setContentsMargins(margins(EDGE, 8, EDGE, 6))
        search.addWidget(self.search_edit)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.head)
        column.addLayout(search)
        column.addWidget(self.busy_line)
        column.addWidget(self.banner)
        column.addWidget(self._pages, 1)
        column.addWidget(rule)
        column.addWidget(self.foot)

        self._typing, self._settling, self._running = (self._timer(ms) for ms in (_TYPING_MS, _SETTLES_MS, _RUNNING_MS))
        self._watcher = QFileSystemWatcher(self)
        self._watcher.directoryChanged.connect(lambda: self._settling.start())
        self.search_edit.textChanged.connect(lambda: self._typing.start())
        self.search_edit.returnPressed.connect(self._on_search_edit_return_pressed)
        self.tree.selectionModel().currentChanged.connect(self._allow)
        self.tree.row_entered.connect(lambda: self.open_action.trigger())
        self.tree.row_double_clicked.connect(lambda: self.open_action.trigger())
        self.tree.menu_wanted.connect(self._on_tree_menu_wanted)
        self.open_action.triggered.connect(lambda: self._tell(self.open_wanted))
        self.continue_action.triggered.connect(lambda: self._tell(self.continue_wanted))
        self.settle_action.triggered.connect(self._on_settle_action_triggered)
        self.restore_action.triggered.connect(lambda: self._tell(self.restore_wanted))
        self.file_action.triggered.connect(self._on_file_action_triggered)
        self.jobs.busy_changed.connect(self.busy_line.set_busy)
        self.jobs.failed.connect(self._on_jobs_failed)
        self._allow()

    def _action(self, words: str, tip: str) -> QAction:
        action = panel_action(self, tr("Journal"), words)
        action.setIconText(words)  # which a button shows; Qt's own goes without the dots
        action.setProperty("tip", tip)
        return action

    def _button(self, name: str, action: QAction) -> QToolButton:
        button = QToolButton()
        button.setObjectName(name)
        button.setDefaultAction(action)
        button.setProperty("kind", "small")
        button.setProperty("textRole", "smallMedium")
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextOnly)
        button.setAccessibleName(action.text())
        return button

    def _timer(self, delay_ms: int) -> QTimer:
        timer = QTimer(self)
        timer.setSingleShot(True)
        timer.setInterval(delay_ms)
        timer.timeout.connect(self.refresh)
        return timer

    # What the window calls

    @property
    def current(self) -> Entry | None:
        """The receipt that the keyboard is on."""
        return self.model.entry(self.tree.currentIndex())

    def refuse_writing(self, why: str) -> None:
        """Offer nothing that writes, and say why; "" offers it again."""
        self._refused = why
        self._allow()

    def show_receipt(self, path: Path) -> None:
        """Make a receipt current, whatever was searched for."""
        self._wanted = path
        self.search_edit.clear()
        self.refresh()

    def refresh(self) -> None:
        """Read the journal again, where it is seen; else it is read once it is."""
        if self.isVisible():
            words = self.search_edit.text().strip()
            self.jobs.start("read", asyncio.to_thread(self._read, words), self._show)

    async def aclose(self) -> None:
        self._stop_watching()
        await self.jobs.aclose()

    def focusInEvent(self, event: QFocusEvent) -> None:
        self.tree.setFocus(event.reason())  # not by a focus proxy, see FacetPanel

    def showEvent(self, event: QShowEvent) -> None:
        super().showEvent(event)
        self.refresh()

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._fit_foot()

    def hideEvent(self, event: QHideEvent) -> None:
        super().hideEvent(event)
        self._stop_watching()
        self.jobs.cancel("read")

    # Reading

    def _read(self, words: str) -> list[Entry]:
        return self.journal.search(words) if words else self.journal.entries()

    def _show(self, entries: list[Entry]) -> None:
        self.banner.clear()
        current, scroll = self.current, self.tree.verticalScrollBar()
        top = self.model.entry(self.tree.indexAt(QPoint(0, 0))) if scroll.value() else None
        is_other = entries != self.model.entries
        if is_other:  # else nothing is touched
            self.model.show_entries(entries)
        if is_other or self._wanted is not None:
            self._keep_place(self._wanted or (current.path if current is not None else None), top)
            self._wanted = None
        self._pages.setCurrentWidget(self.tree if entries else self.empty)
        if not entries:
            self._say_nothing()
        self._allow()
        self._watch()
        if any(entry.is_running for entry in entries):
            self._running.start()

    def _keep_place(self, current: Path | None, top: Entry | None) -> None:
        """That receipt is current, else the newest; those seen stay where they are, unless the newest are seen."""
        index = self.model.index_of(current) if current is not None else QModelIndex()
        flags = QItemSelectionModel.SelectionFlag
        self.tree.selectionModel().setCurrentIndex(
            index if index.isValid() else self.model.index(0, 0), flags.ClearAndSelect | flags.Rows
        )
        if self._wanted is not None:
            self.tree.scrollTo(index)
        elif top is not None:
            self.tree.scrollTo(self.model.index_of(top.path), JournalTree.ScrollHint.PositionAtTop)

    def _say_nothing(self) -> None:
        if self.search_edit.text().strip():
            icon, title = "search", tr("No receipt has these words")
            said = tr("Ids are found by how they begin, from six characters on.")
        else:
            icon, title = "journal", tr("Nothing in the journal yet")
            said = tr("Every removal, move, copy and restore that is done here leaves a receipt in it.")
        self.empty.show_state(icon, title, said)

    def _watch(self) -> None:
        folder = str(self.journal.folder)
        if folder not in self._watcher.directories():
            self._watcher.addPath(folder)  # where there is none yet, the first receipt is told by who writes it

    def _stop_watching(self) -> None:
        for timer in (self._typing, self._settling, self._running):
            timer.stop()
        if watched := self._watcher.directories():
            self._watcher.removePaths(watched)

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.banner.show_failure(error, self.refresh)

    def _on_search_edit_return_pressed(self) -> None:
        self._typing.stop()
        self.refresh()

    # What can be done with a receipt

    def _allow(self) -> None:
        entry = self.current
        nothing = "" if entry is not None else tr("No receipt is chosen")
        is_readable = entry is not None and entry.is_readable
        can_continue = entry is not None and entry.is_interrupted
        can_restore = entry is not None and entry.can_restore
        allow(self.open_action, nothing or ("" if is_readable else tr("The receipt cannot be read")))
        allow(self.continue_action, nothing or (self._refused if can_continue else tr("It was not interrupted")))
        allow(self.restore_action, nothing or (self._refused if can_restore else tr("No way back was kept of it")))
        allow(self.file_action, nothing)
        allow(self.settle_action, nothing or ("" if can_continue else tr("It was not interrupted")))
        self._fit_foot()

    def _fit_foot(self) -> None:
        """Show what can be done with this receipt as far as there is room; all of it is in the menu of its row."""
        entry = self.current
        wanted = (
            (self.continue_button, entry is not None and entry.is_interrupted),
            (self.restore_button, entry is not None and entry.can_restore),
            (self.open_button, True),
            (self.file_button, True),
        )
        room = self.width() - 2 * EDGE
        for button, is_wanted in wanted:
            width = button.sizeHint().width() + _BUTTON_GAP
            button.setVisible(is_wanted and width <= room)
            room -= width if is_wanted else 0

    def _tell(self, wanted: SignalInstance) -> None:
        if (entry := self.current) is not None:
            wanted.emit(entry.path)

    def _on_settle_action_triggered(self) -> None:
        if (entry := self.current) is not None:
            self.jobs.start("settle", asyncio.to_thread(self.journal.settle, entry.path), lambda _: self.refresh())

    def _on_file_action_triggered(self) -> None:
        if (entry := self.current) is not None:
            self.open_url(QUrl.fromLocalFile(str(entry.path.parent)))

    def _on_tree_menu_wanted(self, index: QModelIndex, at: QPoint) -> None:
        self.tree.setCurrentIndex(index)
        self.menu.popup(at)
