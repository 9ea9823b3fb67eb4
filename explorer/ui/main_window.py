"""The window: which engine is open, the panels around it, the view they all show, and the way back."""

from __future__ import annotations

from collections.abc import Callable, Collection, Mapping
from dataclasses import replace
from datetime import datetime
from functools import partial
from itertools import pairwise
from pathlib import Path
from typing import Protocol

from PySide6.QtCore import QSettings, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QAction, QActionGroup, QCloseEvent, QGuiApplication, QKeySequence, QResizeEvent
from PySide6.QtWidgets import (
    QApplication,
    QDockWidget,
    QFrame,
    QMainWindow,
    QMenu,
    QPushButton,
    QSizePolicy,
    QTabBar,
    QTabWidget,
    QToolBar,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.conditions import QUERY, Condition, conditions, facet_of, with_value, without
from explorer.contract import (
    EngineHealth,
    Facet,
    FetchMode,
    GetRequest,
    Hit,
    InvalidRequest,
    ItemId,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    TinyMemoryError,
    Unauthorized,
)
from explorer.i18n import OWN_NAMES, tr, tr_n
from explorer.removal.journal import Journal
from explorer.ui import icons, news, reads
from explorer.ui.actions import allow
from explorer.ui.agent_view import AgentActions
from explorer.ui.asking import AskPanel
from explorer.ui.banner import Banner
from explorer.ui.chips import Chip, ChipBar
from explorer.ui.clock import local_zone, zone_words
from explorer.ui.commands import Commands, Recent
from explorer.ui.compare import ComparePanel
from explorer.ui.console import BY_HAND, FORM, RESULT, ConsolePanel
from explorer.ui.context_preview import ContextPanel
from explorer.ui.dialogs.shortcuts import ShortcutSheet
from explorer.ui.dialogs.views import NameDialog, ViewsDialog
from explorer.ui.docks import Docks
from explorer.ui.engine_words import engine_name
from explorer.ui.facets import FacetPanel
from explorer.ui.items import ItemList
from explorer.ui.job_list import JobList, State
from explorer.ui.jobs import Jobs
from explorer.ui.jobs_view import JobsView
from explorer.ui.journal import JournalPanel
from explorer.ui.labels import plain_label
from explorer.ui.move_actions import MoveActions
from explorer.ui.namespaces import NamespacePanel
from explorer.ui.palette import Palette
from explorer.ui.paths_stay import PathsStay
from explorer.ui.pauses import pause_words
from explorer.ui.removal_actions import RemovalActions
from explorer.ui.seals import sealed, unsealed
from explorer.ui.shortcuts import PANELS, VIEW, WINDOW, areas
from explorer.ui.theme import Mode, theme
from explorer.ui.timeline import TimelineView
from explorer.ui.toolbar import Choice, ConnectionBox, SearchBox, mode_words
from explorer.ui.trail import Trail, View
from explorer.ui.trees import PaneHead
from explorer.ui.viewer import METADATA, RAW, READ, WHY, Header, ItemViewer
from explorer.ui.viewer_parts.passage import Cited
from explorer.ui.viewer_parts.why import Question
from explorer.ui.views import NAME_MOST, SavedView, SavedViews
from explorer.ui.watch import News, Watch
from explorer.ui.zoom import ZOOMS, zoomed

_HEALTH_EVERY_MS = 30_000
_COMPACT_BELOW_PX = 1400
_ICONS_ONLY_BELOW_PX = 1000
_LAYOUT_VERSION = 3  # and the one after it, laid out from right to left; one of other panels is no use
_LAYOUT = ("geometry", "state")
_LEAST_SEEN_PX = 100
_STEPS_MOST = 500  # of the Tab key, over what is not seen
_TOLD_MS = 3_000  # what is said in passing stays in the status line
_COLUMNS = ((_COMPACT_BELOW_PX, 288, 464), (1100, 264, 420), (900, 240, 340), (0, 220, 280))
"""From which window width on, how wide the left and the right docks are; the list takes the rest."""


Docked = NamespacePanel | FacetPanel | ItemViewer | ContextPanel | AskPanel | ComparePanel | JournalPanel | ConsolePanel
"""What lies in a dock."""


class Panel(Protocol):
    """What the window asks of each panel at the end."""

    jobs: Jobs

    async def aclose(self) -> None: ...


class MainWindow(QMainWindow):
    """Browses one engine at a time. It runs no query itself: each panel asks for what it shows.

    `journal` is where what it does is written; None is that of the user.
    """

    connection_chosen = Signal(str)  # a key of the picker
    connection_renamed = Signal(str, str)  # the name before, and the one after
    read_only_wanted = Signal(bool)
    import_wanted = Signal()
    export_wanted = Signal()
    export_selected_wanted = Signal()
    removal_wanted = Signal(object, object)  # a Target and an Action
    forget_selected_wanted = Signal()
    forget_as_agent_wanted = Signal(object)  # a MetaFilter: all that it admits, in the view of an agent
    move_wanted = Signal(object)  # a Target
    move_selected_wanted = Signal()
    close_wanted = Signal()  # the program ends its work, then calls `close_for_good`
    quit_wanted = Signal()
    new_window_wanted = Signal()

    def __init__(self, settings: QSettings | None = None, journal: Journal | None = None) -> None:
        super().__init__()
        self.setObjectName("mainWindow")
        self.setWindowTitle("TinyMemory Explorer")
        self.setDockNestingEnabled(True)
        self.setTabPosition(Qt.DockWidgetArea.AllDockWidgetAreas, QTabWidget.TabPosition.North)
        self._settings = settings
        self._may_close = False
        self._engine: MemoryEngine | None = None
        self._name = ""
        self.is_read_only = False
        """Whether what is open refuses every write."""
        self._health: EngineHealth | None = None
        self._zone = local_zone()
        self.trail = Trail(View())
        self._wanted_id: ItemId | None = None
        self._has_own_layout = False
        self.jobs = Jobs(self)
        self.job_list = JobList(self)
        self.job_list.pause = lambda: pause_words([self._engine], self._zone)
        self.recent = Recent()
        self.views = SavedViews(settings, self)
        self.paths_stay = PathsStay(settings)

        self.connection_box = ConnectionBox()
        self.search_box = SearchBox()
        self.chip_bar = ChipBar()
        self.error_banner = Banner()
        self.error_banner.setObjectName("errorBanner")
        self.namespaces = NamespacePanel()
        self.facets = FacetPanel()
        self.timeline = TimelineView(zone=self._zone)
        self.items = ItemList(zone=self._zone)
        self.items.put_under_head(self.timeline)
        self.viewer = ItemViewer(zone=self._zone)
        self.context = ContextPanel(self.namespaces.names, self._is_list_read, self._zone)
        self.compare = ComparePanel(self.context, self.namespaces.names)
        self.journal = JournalPanel(Journal() if journal is None else journal, self._zone)
        self.asking = AskPanel(self._zone)
        self.console = ConsolePanel(self.journal.journal, self._zone)
        self.console.may_store = self.paths_stay.may_store
        self._panels: list[Panel] = [
            self.namespaces,
            self.facets,
            self.timeline,
            self.items,
            self.viewer,
            self.context,
            self.compare,
            self.journal,
            self.asking,
            self.console,
        ]
        self.watch = Watch(self)
        self._palette_box: Palette | None = None
        self._jobs_view: JobsView | None = None

        # What is chosen in the palette is done where the keyboard was.
        self.docks = Docks(self, self._is_in_palette)
        self._dock_moved = QTimer(self)
        self._dock_moved.setSingleShot(True)
        self._dock_moved.setInterval(0)  # the tab bars are there once Qt has laid out
        self._dock_moved.timeout.connect(self._dress_dock_tabs)

        self._build_actions()
        self.removing = RemovalActions(self)
        self.moving = MoveActions(self)
        self.seeing = AgentActions(self)
        self._build_top()
        self.setCentralWidget(self.items)
        left, right = Qt.DockWidgetArea.LeftDockWidgetArea, Qt.DockWidgetArea.RightDockWidgetArea
        if self.isRightToLeft():  # Qt mirrors what is inside of the areas, not the areas
            left, right = right, left
        self._layout_version = _LAYOUT_VERSION + self.isRightToLeft()  # one that was saved the other way is no use
        self._docks = [
            self._dock("namespacesDock", tr("Namespaces"), tr("Close the namespaces"), self.namespaces, left),
            self._dock("facetsDock", tr("Facets"), tr("Close the facets"), self.facets, left),
            self._dock("viewerDock", tr("Item"), tr("Close the item"), self.viewer, right),
            self._dock("contextDock", tr("context.md"), tr("Close context.md"), self.context, right),
            self._dock("askDock", tr("Ask"), tr("Close the questions"), self.asking, right),
            self._dock("compareDock", tr("Compare"), tr("Close the comparison"), self.compare, right),
            self._dock("journalDock", tr("Journal"), tr("Close the journal"), self.journal, right),
            self._dock("agentConsoleDock", tr("Console"), tr("Close the console"), self.console, right),
        ]
        self.context_dock, self.ask_dock, self.compare_dock, self.journal_dock, self.console_dock = self._docks[3:]
        self._tab_lower_docks()
        for dock in (self.journal_dock, self.console_dock):
            dock.hide()  # until it is asked for
        self.docks.begin(self._docks, self._panel_actions)
        self._fill_more_menu()
        self._build_status()
        reads.watch(self)
        self._connect()
        self._order_tabs()
        self._first_layout = self.saveState(self._layout_version)
        self._allow_actions()
        self._fill_views_menu()
        self._show_view()

    # Building

    def _build_actions(self) -> None:
        self.palette_action = self._action(
            tr("Do or go to…"), "search", "Ctrl+K", tr("Find an action, a node, a value, an item")
        )
        self.palette_action.setObjectName("paletteAction")
        self.shortcuts_action = self._action(tr("Keyboard shortcuts"), "", "F1", tr("All keys, by area"))
        self.back_action = self._action(
            tr("Back"), "chevron-left", "Alt+Left", tr("Show the view before this one"), VIEW
        )
        self.forward_action = self._action(
            tr("Forward"), "chevron-right", "Alt+Right", tr("Show the view after this one"), VIEW
        )
        self.refresh_action = self._action(tr("Refresh"), "refresh", "F5", tr("Read everything again"), VIEW)
        self.find_action = self._action(tr("Search"), "search", "Ctrl+F", tr("Search inside the filter"), VIEW)
        self.clear_action = self._action(
            tr("Clear all conditions"), "close", "Ctrl+Shift+Backspace", tr("Show everything"), VIEW
        )
        self.save_view_action = self._action(
            tr("Save this view…"), "plus", "Ctrl+D", tr("Keep the view under a name"), VIEW
        )
        self.views_action = self._action(tr("Saved views…"), "eye", "", tr("Rename and remove saved views"), VIEW)
        self.open_action = self._action(tr("Open a file…"), "file", "Ctrl+O", tr("Open a memory file"))
        self.connections_action = self._action(tr("Connections…"), "plug", "Ctrl+Shift+O", tr("Saved connections"))
        self.ask_action = self._action(
            tr("Ask"), "ask", "Ctrl+Shift+A", tr("Ask a question of what the filter admits"), VIEW
        )
        self.import_action = self._action(tr("Import items…"), "import", "", tr("Store the items of a JSON Lines file"))
        self.export_action = self._action(
            tr("Export items…"), "export", "", tr("Write what the filter admits to a file")
        )
        self.export_action.setObjectName("exportAction")
        self.read_only_action = self._action(tr("Read-only"), "lock", "", "")
        self.read_only_action.setCheckable(True)
        self.jobs_action = self._action(tr("Jobs"), "clock", "Ctrl+J", tr("What runs, and how the last jobs went"))
        self.journal_action = self._action(
            tr("Journal"), "journal", "Ctrl+Shift+H", tr("What was ever removed, moved and restored here")
        )
        self.console_action = self._action(
            tr("Console"), "agent", "Ctrl+Shift+T", tr("The tools of an agent, run by hand")
        )
        self.next_pane_action = self._action(tr("Next pane"), "", "F6", tr("Move the keyboard to the next pane"))
        self.previous_pane_action = self._action(
            tr("Previous pane"), "", "Shift+F6", tr("Move the keyboard to the pane before")
        )
        self.zoom_in_action = self._action(tr("Larger text"), "plus", "Ctrl++", tr("Make everything larger"), VIEW)
        self.zoom_in_action.setShortcuts([QKeySequence("Ctrl++"), QKeySequence("Ctrl+=")])  # + may need Shift
        self.zoom_out_action = self._action(tr("Smaller text"), "minus", "Ctrl+-", tr("Make everything smaller"), VIEW)
        self.zoom_reset_action = self._action(
            tr("Text at the system's size"), "", "Ctrl+0", tr("Undo larger and smaller"), VIEW
        )
        self._panel_actions = [
            self._action(way.words, "", f"Alt+Shift+{way.key}", way.tip, PANELS) for way in self.docks.ways()
        ]
        self.new_window_action = self._action(
            tr("New window"), "", "Ctrl+Shift+N", tr("This memory in another window as well")
        )
        self.close_action = self._action(tr("Close window"), "", "Ctrl+W", tr("Close this window; others stay"))
        self.quit_action = self._action(tr("Quit"), "", "Ctrl+Q", tr("Close every window and end the program"))

    def _action(self, words: str, icon: str, shortcut: str, tip: str, area: str = WINDOW) -> QAction:
        action = QAction(words, self)
        if icon:
            icons.keep(action, icon)
        if shortcut:
            action.setShortcut(QKeySequence(shortcut))
            tip = f"{tip} ({QKeySequence(shortcut).toString(QKeySequence.SequenceFormat.NativeText)})"
        action.setToolTip(tip)
        action.setStatusTip(tip)
        action.setProperty("area", area)
        action.setProperty("tip", tip)
        self.addAction(action)
        return action

    def _build_top(self) -> None:
        bar = QToolBar()
        bar.setObjectName("toolbar")
        bar.setIconSize(QSize(16, 16))
        bar.setFixedHeight(theme().row_height("toolbar"))
        bar.setContextMenuPolicy(Qt.ContextMenuPolicy.PreventContextMenu)
        self.back_button = self._tool_button("backButton", self.back_action)
        self.forward_button = self._tool_button("forwardButton", self.forward_action)
        self.refresh_button = self._tool_button("refreshButton", self.refresh_action)
        self.ask_button = QToolButton()
        self.ask_button.setObjectName("askButton")
        self.ask_button.setDefaultAction(self.ask_action)
        self.read_only_button = QToolButton()
        self.read_only_button.setObjectName("readOnlyButton")
        self.read_only_button.setDefaultAction(self.read_only_action)
        self.more_button = QToolButton()
        self.more_button.setObjectName("moreButton")
        self.more_button.setAccessibleName(tr("More"))
        self.more_button.setToolTip(tr("More"))
        self.more_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        icons.keep(self.more_button, "more")
        for widget in (self.connection_box, _gap(8), self.back_button, self.forward_button, _gap(8), self.search_box):
            bar.addWidget(widget)
        bar.addWidget(_gap(4))
        bar.addWidget(self.ask_button)
        bar.addWidget(_stretch())
        for widget in (self.read_only_button, self.refresh_button, self.more_button):
            bar.addWidget(widget)
        self.views_button = QToolButton()
        self.views_button.setObjectName("viewsButton")
        self.views_button.setText(tr("Views"))
        self.views_button.setAccessibleName(tr("Saved views"))
        self.views_button.setToolTip(tr("Saved views"))
        self.views_button.setProperty("kind", "small")
        self.views_button.setProperty("textRole", "smallMedium")
        self.views_button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonTextBesideIcon)
        self.views_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        self.views_button.setMenu(QMenu(self))
        icons.keep(self.views_button, "eye")
        self.chip_bar.add_trailing(self.views_button)
        self._bar = bar
        self.top = _Column(bar, _rule(), self.seeing.strip, self.chip_bar, self.error_banner, _rule())
        self.top.setProperty("surface", "window")
        self.setMenuWidget(self.top)

    def _tool_button(self, name: str, action: QAction) -> QToolButton:
        button = QToolButton()
        button.setObjectName(name)
        button.setDefaultAction(action)
        button.setToolButtonStyle(Qt.ToolButtonStyle.ToolButtonIconOnly)
        button.setAccessibleName(action.text())
        return button

    def _dock(
        self,
        name: str,
        title: str,
        close: str,
        panel: Docked,
        area: Qt.DockWidgetArea,
    ) -> QDockWidget:
        """A dock whose title bar is the panel's own head, by which it can be dragged; `close` names its last button."""
        dock = QDockWidget(title, self)
        dock.setObjectName(name)
        dock.setWidget(panel)
        head: PaneHead | Header = panel.header if isinstance(panel, ItemViewer | ContextPanel) else panel.head
        head.add(self.docks.close_button(dock, close))
        dock.setTitleBarWidget(head)
        self.addDockWidget(area, dock)
        dock.dockLocationChanged.connect(self._dock_moved.start)
        dock.visibilityChanged.connect(self._dock_moved.start)
        dock.toggleViewAction().triggered.connect(dock.raise_)  # where it lies under another
        return dock

    def _tab_lower_docks(self) -> None:
        """Those below the viewer lie on each other, the first one on top."""
        for below, dock in pairwise(self._docks[3:]):
            self.tabifyDockWidget(below, dock)
        self._docks[3].raise_()
        self._dress_dock_tabs()

    def _fill_more_menu(self) -> None:
        menu = QMenu(self)
        menu.addActions([self.palette_action, self.new_window_action])
        menu.addSeparator()
        menu.addActions([self.open_action, self.connections_action])
        menu.addSeparator()
        menu.addActions([self.import_action, self.export_action, self.moving.matching_action])
        menu.addActions([self.jobs_action, self.journal_action, self.console_action, self.asking.writer_action])
        menu.addSeparator()
        menu.addActions(self.removing.all)
        menu.addSeparator()
        menu.addActions([self.seeing.see_action, self.seeing.leave_action])
        menu.addSeparator()
        panels = menu.addMenu(tr("Panels"))
        titles = (
            tr("Show panel: namespaces"),
            tr("Show panel: facets"),
            tr("Show panel: item"),
            tr("Show panel: context.md"),
            tr("Show panel: ask"),
            tr("Show panel: compare"),
            tr("Show panel: journal"),
            tr("Show panel: console"),
        )
        for dock, title in zip(self._docks, titles, strict=True):
            toggle = dock.toggleViewAction()
            toggle.setProperty("wholeTitle", title)  # where it stands alone: in the palette
            panels.addAction(toggle)
        panels.addSeparator()
        panels.addActions(self.docks.actions)
        panels.addSeparator()
        panels.addAction(tr("Put everything back"), self._restore_first_layout)
        looks = menu.addMenu(tr("Appearance"))
        group = QActionGroup(self)
        modes: dict[Mode, str] = {"system": tr("As the system"), "light": tr("Light"), "dark": tr("Dark")}
        for mode, words in modes.items():
            look = looks.addAction(words)
            look.setCheckable(True)
            look.setChecked(theme().mode == mode)
            look.setData(mode)
            group.addAction(look)
        group.triggered.connect(self._on_look_group_triggered)
        self._looks = group
        looks.addSeparator()
        self.contrast_action = looks.addAction(tr("High contrast"))
        self.contrast_action.setCheckable(True)
        self.contrast_action.setChecked(theme().high_contrast)
        self.contrast_action.triggered.connect(self._on_contrast_action_triggered)
        self._add_languages(looks.addMenu(tr("Language")))
        looks.addSeparator()
        looks.addActions([self.zoom_in_action, self.zoom_out_action, self.zoom_reset_action])
        menu.addSeparator()
        menu.addActions([self.shortcuts_action, self.close_action, self.quit_action])
        self.more_button.setMenu(menu)

    def _add_languages(self, menu: QMenu) -> None:
        wanted = self._settings.value("language") if self._settings is not None else None
        if not isinstance(wanted, str) or wanted not in OWN_NAMES:  # it is whatever stands in the file
            wanted = ""
        group = QActionGroup(menu)
        for language, words in (("", tr("As the system")), *OWN_NAMES.items()):
            action = menu.addAction(words)
            action.setCheckable(True)
            action.setChecked(language == wanted)
            action.setData(language)
            group.addAction(action)
        group.triggered.connect(self._on_languages_triggered)

    def _fill_views_menu(self) -> None:
        menu = self.views_button.menu()
        menu.clear()
        for view in self.views.views:
            action = menu.addAction(text.label(text.shown(view.name)))
            action.setProperty("what", tr("Saved view"))
            action.setProperty("wholeTitle", text.shown(view.name, NAME_MOST))
            action.setProperty("iconName", "eye")
            action.triggered.connect(partial(self.show_saved, view.name))
        menu.addSeparator()
        menu.addActions([self.save_view_action, self.views_action])

    def _build_status(self) -> None:
        status = self.statusBar()
        status.setSizeGripEnabled(False)
        status.setContentsMargins(12, 0, 12, 0)
        self.read_label = plain_label("small", "text2")
        self.pause_label = plain_label("small", "text2")
        self.pause_label.setObjectName("pauseLabel")
        self.jobs_button = QPushButton()
        self.jobs_button.setObjectName("jobsButton")
        self.jobs_button.setProperty("kind", "link")
        self.jobs_button.setProperty("textRole", "smallMedium")
        self.jobs_button.setToolTip(tr("What runs, and how the last jobs went"))
        self.job_cancel_button = QPushButton(tr("Cancel"))
        self.job_cancel_button.setObjectName("jobCancelButton")
        self.job_cancel_button.setProperty("kind", "link")
        self.job_cancel_button.setProperty("textRole", "smallMedium")
        self.job_cancel_button.setAccessibleName(tr("Cancel the running work"))
        self.zone_label = plain_label("small", "text2", tr("Times in {zone}", zone=zone_words(self._zone)))
        status.addWidget(self.read_label, 1)
        status.addPermanentWidget(self.pause_label)
        status.addPermanentWidget(self.jobs_button)
        status.addPermanentWidget(self.job_cancel_button)
        status.addPermanentWidget(self.zone_label)
        self._show_jobs()

    def _connect(self) -> None:
        self.connection_box.chosen.connect(self.connection_chosen)
        self.search_box.search_wanted.connect(self._on_search_box_search_wanted)
        self.search_box.left.connect(self._on_search_box_left)
        self.chip_bar.removed.connect(self._on_chip_bar_removed)
        self.chip_bar.activated.connect(self._on_chip_bar_activated)
        self.chip_bar.clear_wanted.connect(self._clear)
        self.facets.filter_wanted.connect(self.go_to_filter)
        self.facets.refused.connect(self.show_exception)
        self.facets.dead_changed.connect(self._show_chips)
        self.facets.count_all_action.triggered.connect(self.namespaces.count_all)
        self.namespaces.filter_wanted.connect(self.go_to_filter)
        self.console_action.triggered.connect(self.show_console)
        self.console.item_wanted.connect(self.open_item)
        self.console.receipt_wanted.connect(self.show_journal)
        self.console.changed.connect(self.refresh)
        self.console.left_midway.connect(self.show_left_midway)
        self.console.forgotten.connect(self.show_removed)
        self.namespaces.agent_wanted.connect(self.seeing.see_as)
        self.namespaces.tree.selectionModel().currentChanged.connect(self.seeing.allow)
        self.timeline.filter_wanted.connect(self.go_to_filter)
        self.watch.changed.connect(self._on_watch_changed)
        self.watch.answering.connect(self._ask_health)
        self.items.item_selected.connect(self._on_items_item_selected)
        self.items.item_activated.connect(self._on_items_item_activated)
        self.items.clear_wanted.connect(self._clear)
        self.items.remove_wanted.connect(self._on_chip_bar_removed)
        self.items.refresh_wanted.connect(self.read_anew)
        self.items.order_changed.connect(self._tell_question)
        self.items.current_left.connect(self._on_items_current_left)
        self.items.counted.connect(self._on_items_counted)
        self.items.failed.connect(self._on_items_failed)
        self.items.import_wanted.connect(self.import_wanted)
        self.items.export_wanted.connect(self.export_selected_wanted)
        self.items.forget_wanted.connect(self.forget_selected_wanted)
        self.namespaces.removal_wanted.connect(self.removal_wanted)
        self.facets.forget_wanted.connect(self.removing.forget)
        self.items.edit_connection_wanted.connect(self.connections_action.trigger)
        self.viewer.filter_wanted.connect(self._on_viewer_filter_wanted)
        self.viewer.agent_wanted.connect(self.seeing.see_as)
        self.viewer.known_nodes = self.namespaces.names
        self.items.more_actions.append(self.viewer.who_action)
        self.namespaces.nodes_changed.connect(self.viewer.on_nodes_changed)
        self.viewer.similar_wanted.connect(self._on_viewer_similar_wanted)
        self.context.item_wanted.connect(self.open_item)
        self.asking.open_wanted.connect(self.open_item)
        self.asking.filter_wanted.connect(self.go_to_filter)
        self.asking.search_wanted.connect(self.search_box.search)
        self.asking.connections_wanted.connect(self.connections_action.trigger)
        self.asking.import_wanted.connect(self.import_wanted)
        self.compare.item_wanted.connect(self.open_item)
        self.context.compare_wanted.connect(self._on_context_compare_wanted)
        self.compare.preview_wanted.connect(self.context_dock.raise_)
        for dock, lower in ((self.context_dock, self.context), (self.compare_dock, self.compare)):
            dock.visibilityChanged.connect(partial(self._on_dock_visibility_changed, lower))
        self.jobs.failed.connect(self._on_jobs_failed)
        self.back_action.triggered.connect(self._on_back_action_triggered)
        self.forward_action.triggered.connect(self._on_forward_action_triggered)
        self.refresh_action.triggered.connect(self.read_anew)
        self.find_action.triggered.connect(self._on_find_action_triggered)
        self.clear_action.triggered.connect(self._clear)
        self.import_action.triggered.connect(self.import_wanted)
        self.export_action.triggered.connect(self.export_wanted)
        self.next_pane_action.triggered.connect(partial(self._go_to_pane, 1))
        self.quit_action.triggered.connect(self.quit_wanted)
        self.previous_pane_action.triggered.connect(partial(self._go_to_pane, -1))
        self.palette_action.triggered.connect(lambda: self.palette_box.open())
        self.shortcuts_action.triggered.connect(self._on_shortcuts_action_triggered)
        self.jobs_action.triggered.connect(self.show_jobs)
        self.journal_action.triggered.connect(lambda: self.show_journal())
        self.ask_action.triggered.connect(lambda: self.show_asking())
        self.jobs_button.clicked.connect(self.show_jobs)
        self.job_cancel_button.clicked.connect(self._on_job_cancel_button_clicked)
        self.job_list.changed.connect(self._show_jobs)
        self.save_view_action.triggered.connect(self._on_save_view_action_triggered)
        self.views_action.triggered.connect(self._on_views_action_triggered)
        self.views.changed.connect(self._fill_views_menu)
        self.zoom_in_action.triggered.connect(partial(self._zoom, 1))
        self.zoom_out_action.triggered.connect(partial(self._zoom, -1))
        self.zoom_reset_action.triggered.connect(partial(self._zoom, 0))
        self.new_window_action.triggered.connect(self.new_window_wanted)
        self.close_action.triggered.connect(self.close)
        theme().changed.connect(self._on_theme_changed)
        self.read_only_action.triggered.connect(self._on_read_only_action_triggered)
        self.docks.arranged.connect(self._on_docks_arranged)
        self.docks.closed.connect(self._on_docks_closed)
        self._health_timer = QTimer(self)
        self._health_timer.setInterval(_HEALTH_EVERY_MS)
        self._health_timer.timeout.connect(self._ask_health)

    def _order_tabs(self) -> None:
        """The way of the Tab key: toolbar, chips, namespaces, facets, time line, list, viewer, status."""
        close_buttons = [dock.titleBarWidget().findChildren(QToolButton)[-1] for dock in self._docks]
        stops: list[QWidget] = [
            self.connection_box,
            self.back_button,
            self.forward_button,
            self.search_box.recent_button,
            self.search_box.search_edit,
            self.search_box.mode_box,
            self.ask_button,
            self.read_only_button,
            self.refresh_button,
            self.more_button,
            self.seeing.strip.leave_button,
            self.chip_bar,
            self.views_button,
            self.namespaces.reach_box,
            close_buttons[0],
            self.namespaces.tree,
            self.facets.sort_button,
            self.facets.more_button,
            close_buttons[1],
            self.facets.tree,
            self.items.news_button,
            self.items.sort_button,
            self.items.columns_button,
            self.timeline,
            self.items.view.head,
            self.items.view,
            self.items.select_all_button,
            self.items.copy_cancel_button,
            self.items.export_button,
            self.items.forget_button,
            *(self.viewer.segments.button(choice) for choice in (READ, RAW, METADATA, WHY)),
            self.viewer.similar_button,
            self.viewer.copy_button,
            self.viewer.more_button,
            close_buttons[2],
            self.viewer,
            *_inside(self.viewer),
            *self.context.stops,
            close_buttons[3],
            *self.context.pages_stops,
            self.asking.history_button,
            self.asking.copy_button,
            self.asking.more_button,
            close_buttons[4],
            self.asking.ask_edit,
            self.asking.ask_button,
            self.asking.view,
            close_buttons[5],
            *self.compare.stops,
            close_buttons[6],
            self.journal.search_edit,
            self.journal.tree,
            self.journal.open_button,
            self.journal.continue_button,
            self.journal.restore_button,
            self.journal.file_button,
            close_buttons[7],
            self.console.read_only_check,
            self.console.tool_box,
            *(self.console.segments.button(choice) for choice in (FORM, BY_HAND, RESULT)),
            self.console.run_button,
            self.console.form_scroll,
            self.console.json_edit,
            self.console.result_view,
            self.console.receipt_button,
            self.console.raw_check,
            self.console.copy_button,
            self.console.history_button,
        ]
        # Qt passes over what takes no focus now: the time line while it has no bars, segments that are not chosen.
        policies = [(stop, stop.focusPolicy()) for stop in stops if stop is not self.chip_bar]
        for stop, _ in policies:
            stop.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        for before, after in pairwise(stops):
            QWidget.setTabOrder(before, after)
        for stop, policy in policies:
            stop.setFocusPolicy(policy)
        QWidget.setTabOrder(self.connection_box.previousInFocusChain() or self.viewer, self.jobs_button)
        QWidget.setTabOrder(self.jobs_button, self.job_cancel_button)

    # What is open

    @property
    def engine(self) -> MemoryEngine | None:
        return self._engine

    @property
    def connection_name(self) -> str:
        """What is open, as the person calls it."""
        return self._name

    @property
    def health(self) -> EngineHealth | None:
        """What the engine said last about itself; None before its first word."""
        return self._health

    def show_choices(self, choices: list[Choice], current: str) -> None:
        self.connection_box.show_choices(choices, current)

    def show_engine(
        self,
        engine: MemoryEngine | None,
        name: str,
        *,
        is_read_only: bool,
        keeps_view: bool = False,
        key: str = "",
    ) -> None:
        """Browse another engine; the one before is the caller's to close.

        `is_read_only`: it refuses every write, so that no action that writes is offered. `keeps_view`: it holds the
        same memory, so that view, trail and selection stay; otherwise all begin anew. `key`: that by which it is known
        among the others, and by which its saved views are found.
        """
        self._engine, self._health = engine, None
        self.is_read_only = self.items.is_read_only = is_read_only
        self.error_banner.clear()
        self.read_label.clear()
        self.views.open(key if engine is not None else "")
        current = self.items.current_hit() if keeps_view else None
        self._wanted_id = current.id if current is not None else None
        if not keeps_view:
            self.trail = Trail(View())
            self.recent.clear()
        self.search_box.show_modes(engine.descriptor().fetch_modes if engine is not None else [])
        self.search_box.show_search("", None)
        self.items.set_engine(engine, name)
        for panel in (self.namespaces, self.facets, self.timeline, self.viewer, self.context):
            panel.set_engine(engine)
        self.compare.set_engine()
        self.asking.set_engine(engine, keeps_answers=keeps_view)
        self.console.set_engine(engine, name, is_read_only=is_read_only, keeps=keeps_view)
        self._allow_actions()
        self.show_name(name)
        self._show_view()
        self._ask_health()
        self._health_timer.start()
        self.items.view.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_name(self, name: str) -> None:
        """Call what is open by another name."""
        self._name = name
        self.items.set_name(name)
        self.console.set_name(name)
        self.setWindowTitle(f"{text.shown(name)} – TinyMemory Explorer" if name else "TinyMemory Explorer")
        self._show_health()

    def _allow_actions(self) -> None:
        nothing = "" if self._engine is not None else tr("Nothing is open")
        for action in (self.refresh_action, self.export_action, self.find_action, self.ask_action):
            allow(action, nothing)
        nameless = "" if self.views.can_save else tr("This memory has no name to keep it by")
        allow(self.save_view_action, nothing or nameless)
        why_not_write = nothing or (tr("Opened read-only") if self.is_read_only else "")
        allow(self.import_action, why_not_write)
        self.removing.allow(why_not_write)
        self.moving.allow()
        self.journal.refuse_writing(why_not_write)
        self.asking.refuse_writing(why_not_write)
        allow(self.read_only_action, nothing)
        self._show_lock()

    def _show_lock(self) -> None:
        action, is_read_only = self.read_only_action, self.is_read_only
        action.setChecked(is_read_only)
        action.setIconText(tr("Read-only") if is_read_only else tr("Can write"))
        if action.isEnabled():
            action.setToolTip(
                tr("Opened read-only: nothing in this memory can change. Press to allow changes.")
                if is_read_only
                else tr("Changes are possible. Press to open read-only.")
            )
        icons.keep(action, "lock" if is_read_only else "lock-open")
        self._fold_labels()

    def _ask_health(self) -> None:
        if self._engine is not None:
            self.jobs.start("health", self._engine.health(), self._on_health)

    def _on_health(self, health: EngineHealth) -> None:
        self._health = health
        self._show_health()
        self.items.show_health(health)
        self.asking.show_health(health)

    def _show_health(self) -> None:
        engine = engine_name(self._engine.descriptor()) if self._engine is not None else ""
        self.connection_box.show_open(self._name, engine, self._health)

    # The view

    def go(self, view: View) -> None:
        """Show `view` and remember the way back."""
        if self.trail.go(view):
            self._show_view()

    def go_to_filter(self, filter: MetaFilter) -> None:
        self.search_box.tell_now()
        try:
            view = replace(self.trail.current, filter=filter)
        except InvalidRequest:  # it would read more than the agent whose view this is
            self.seeing.refuse(filter)
            return
        self.go(view)

    def read_anew(self) -> None:
        """Read again what is shown, and what other programs changed: nothing is kept of earlier reads."""
        if self._engine is not None:
            self._engine.refresh()
        self.refresh()

    def refresh(self) -> None:
        """Read again what is shown."""
        self.error_banner.clear()
        self._watch_from_now()
        for panel in (self.namespaces, self.facets, self.timeline, self.items, self.viewer):
            panel.refresh()
        for lower in (self.context, self.asking, self.compare, self.journal):
            lower.refresh()
        self._ask_health()
        self._health_timer.start()

    def _show_view(self) -> None:
        view = self.trail.current
        allow(self.back_action, "" if self.trail.can_go_back else tr("There is no view before this one"))
        allow(self.forward_action, "" if self.trail.can_go_forward else tr("There is no view after this one"))
        allow(self.clear_action, "" if view != View(agent=view.agent) else tr("There is no condition"))
        self.seeing.show_view()
        self.removing.show_view()
        self.moving.show_view()
        self.search_box.show_search(view.query, view.mode)
        self._watch_from_now()
        # An engine may answer one question after the other: the facets and the list are waited for.
        self.facets.show_filter(view.filter, view.scope)
        found = self._show_chips()
        mode = view.mode if view.query else None
        self.viewer.set_search(view.query.split())
        self.viewer.set_scope(view.scope)
        self._tell_question()
        self.items.show_filter(view.filter, view.query, mode, found, view.scope)
        self.namespaces.show_filter(view.filter, view.scope)
        self.timeline.show_filter(view.filter)
        # An agent whose view it is has its own document, wherever in it one looks.
        self.context.show_filter(view.filter if view.scope is None else MetaFilter(reach=view.scope))
        self.asking.show_filter(view.filter)
        for panel in (self.namespaces, self.facets, self.timeline):
            panel.set_search(bool(view.query))

    def _tell_question(self) -> None:
        view = self.trail.current
        self.viewer.set_question(Question(view.filter, view.query, view.mode if view.query else None, self.items.order))

    def _show_chips(self) -> list[Condition]:
        view = self.trail.current
        found = conditions(view.own_filter, self._zone, view.query, self.facets.dead)
        self.chip_bar.empty_text = self.seeing.no_filter_words
        self.chip_bar.show_chips(
            [Chip(one.field, one.words, one.value, one.is_dead, one.note, one.drawn) for one in found]
        )
        return found

    def _on_search_box_search_wanted(self, query: str, mode: object) -> None:
        self.go(replace(self.trail.current, query=query, mode=mode if query else None))  # type: ignore[arg-type]

    def _on_search_box_left(self) -> None:
        self.items.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_chip_bar_removed(self, field: str) -> None:
        filter = self.trail.current.filter
        if field == QUERY:
            self.go(replace(self.trail.current, query="", mode=None))
        else:
            self.go_to_filter(without(filter, field))

    def _on_chip_bar_activated(self, field: str) -> None:
        facet = facet_of(field)
        if field == QUERY:
            self._focus_search()
        elif facet is Facet.NAMESPACE:
            self.namespaces.tree.setFocus(Qt.FocusReason.OtherFocusReason)
        elif facet is not None:
            self.facets.reveal(facet)

    def _on_viewer_filter_wanted(self, field: str, value: object) -> None:
        if isinstance(value, Namespace):
            value = Reach.exact(value)
        self.go_to_filter(with_value(self.trail.current.filter, field, value))

    def _on_viewer_similar_wanted(self, query: str) -> None:
        modes = self._engine.descriptor().fetch_modes if self._engine is not None else []
        by_meaning = [mode for mode in (FetchMode.HYBRID, FetchMode.VECTOR) if mode in modes]
        view = replace(self.trail.current, query=query, mode=next(iter(by_meaning or modes), None))
        if self.trail.go(view, is_typed=False):
            self._show_view()

    def _on_items_item_activated(self, hit: object) -> None:
        self.viewer.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_items_counted(self, counted: tuple[int, bool]) -> None:
        if self._wanted_id is not None:
            self.items.select_id(self._wanted_id)
            self._wanted_id = None
        count, is_more = counted
        words = text.counted(count, "hit" if self.trail.current.query else "item", is_more)
        # Translators: when they were read, past tense.
        self.read_label.setText(tr("{items}, read {time}", items=words, time=f"{datetime.now(self._zone):%H:%M:%S}"))

    def _on_items_failed(self, error: Exception) -> None:
        if isinstance(error, Unauthorized):  # nothing is sent by itself, until a person wants to read again
            self._health_timer.stop()
            self.watch.rest()

    def show_removed(self, gone: Collection[ItemId], kept: Collection[ItemId]) -> None:
        """Read everything again after a removal: the keyboard comes to the next row, what failed stays selected."""
        self.recent.drop(gone)
        self.context.show_removed(gone)
        self.asking.let_go(gone)
        self.console.let_go(gone)
        self.items.let_go(gone, kept)
        if self.viewer.hit is not None and self.viewer.hit.id in gone:
            self.viewer.show_hit(None)
        self.refresh()

    def show_left_midway(self) -> None:
        """Read everything again after a removal of which nobody knows what went."""
        self._let_go_of_all()
        self.read_anew()

    def _let_go_of_all(self) -> None:
        """Nothing that was read before is known to be stored."""
        self.recent.clear()
        self.context.let_go_of_all()
        self.asking.let_go_of_all()
        self.console.let_go_of_all()

    def _on_items_current_left(self, has_left: bool) -> None:
        self.viewer.show_listed(not has_left)

    # What others change meanwhile

    def _watch_from_now(self) -> None:
        """What is about to be read is the state from which on changes are news."""
        self.items.show_news("")
        self.watch.begin(self._engine, self.trail.current.filter)

    def _on_watch_changed(self, found: News) -> None:
        self.items.show_news(
            tr("Another memory is in this place") if found.is_other else news.changes(found.new, found.gone)
        )
        if found.is_other:
            self._let_go_of_all()
        elif found.gone:
            self.asking.look_again()
        hit = self.viewer.hit
        if hit is not None and self._engine is not None:
            req = GetRequest(ids=[hit.id], reach=Reach.exact(hit.meta.namespace))
            self.jobs.start("open item", self._engine.get(req), lambda kept: self._on_open_item(hit, kept))

    def _on_open_item(self, hit: Hit, kept: list[Hit]) -> None:
        if not kept and self.viewer.hit is not None and self.viewer.hit.id == hit.id:
            self.viewer.banner.show_note(
                tr("This item is no longer stored. What was read of it stays until you leave it."), icon="warning"
            )

    def _clear(self) -> None:
        self.go(View(agent=self.trail.current.agent))

    def _on_back_action_triggered(self) -> None:
        self.trail.back()
        self._show_view()

    def _on_forward_action_triggered(self) -> None:
        self.trail.forward()
        self._show_view()

    def _on_find_action_triggered(self) -> None:
        focus: QWidget | None = self.focusWidget()
        if focus is not None and (_holds(self.viewer, focus) or _holds(self.viewer.header, focus)):
            self.viewer.open_find()
        else:
            self._focus_search()

    def _focus_search(self) -> None:
        self.search_box.search_edit.setFocus(Qt.FocusReason.ShortcutFocusReason)
        self.search_box.search_edit.selectAll()

    def _go_to_pane(self, step: int) -> None:
        panes: list[QWidget] = [
            self.namespaces,
            self.facets,
            self.items,
            self.viewer,
            self.context,
            self.asking,
            self.compare,
            self.journal,
            self.console,
            self.search_box.search_edit,
        ]
        heads: dict[QWidget, QWidget] = {
            self.viewer: self.viewer.header,
            self.namespaces: self.namespaces.head,
            self.facets: self.facets.head,
            self.context: self.context.header,
            self.compare: self.compare.head,
            self.journal: self.journal.head,
            self.asking: self.asking.head,
            self.console: self.console.head,
            self.search_box.search_edit: self.top,
        }
        focus: QWidget | None = self.focusWidget()
        at = len(panes) - 1 if step > 0 else 0
        for place, pane in enumerate(panes):
            if focus is not None and (_holds(pane, focus) or _holds(heads.get(pane, pane), focus)):
                at = place
        for further in range(1, len(panes) + 1):
            pane = panes[(at + further * step) % len(panes)]
            if not pane.visibleRegion().isEmpty():  # of docks that lie on each other one is seen
                pane.setFocus(Qt.FocusReason.TabFocusReason)
                return

    def focusNextPrevChild(self, next: bool) -> bool:
        """Step over what lies under another tab: Qt takes it for visible, and the focus would be nowhere."""
        for _ in range(_STEPS_MOST):
            if not super().focusNextPrevChild(next):
                return False
            focus: QWidget | None = self.focusWidget()
            under = [dock for dock in self._docks if focus is not None and dock.isAncestorOf(focus)]
            if not any(dock.widget().visibleRegion().isEmpty() for dock in under):
                return True
        return True

    def open_item(self, hit: Hit, cited: Cited | None = None) -> None:
        """Show an item: its row where it is among those loaded, else the item alone; at what was cited of it."""
        if cited is not None:
            self.viewer.show_passage(hit, cited)
        if not self.items.select_id(hit.id):
            if cited is None:
                self.viewer.show_hit(hit)
            self.viewer.show_listed(False)
        viewer_dock = self._docks[2]
        viewer_dock.show()
        viewer_dock.raise_()
        self.viewer.setFocus(Qt.FocusReason.OtherFocusReason)

    def _is_list_read(self) -> bool:
        return not self.items.jobs.is_running("first")

    def _on_dock_visibility_changed(self, panel: ContextPanel | ComparePanel, is_seen: bool) -> None:
        if is_seen:
            panel.look()
        else:
            panel.rest()

    def _on_context_compare_wanted(self) -> None:
        self.compare_dock.show()
        self.compare_dock.raise_()
        self.compare.show_best()
        self.compare.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_items_item_selected(self, hit: Hit | None) -> None:
        self.viewer.show_hit(hit)
        if hit is not None:
            self.recent.note(hit)

    # Saved views

    def show_saved(self, name: str) -> None:
        """Show a saved view as it was: what it admits, and how the window was laid out."""
        saved = self.views.get(name)
        if saved is None:
            return
        view = self._as_offered(saved.view)
        if saved.facets:
            self.facets.restore(saved.facets)
        if saved.items:
            self.items.restore(saved.items)
        layout = unsealed(saved.layout)
        if layout is not None and self.restoreState(layout, self._layout_version):
            self._has_own_layout = True
        self.search_box.tell_now()
        if self.trail.go(view, is_typed=False):
            self._show_view()

    def _as_offered(self, view: View) -> View:
        """A view that is searched in a way which the engine offers, which is said where it is another."""
        modes = self._engine.descriptor().fetch_modes if self._engine is not None else []
        if view.mode is None or view.mode in modes:
            return view
        said = tr(
            "The view was saved with a way to search that this engine does not offer ({mode}): it offers another.",
            mode=mode_words(view.mode),
        )
        self.error_banner.show_note(said, icon="info")
        return replace(view, mode=next(iter(modes), None))

    def _saved_view(self, name: str) -> SavedView:
        view = self.trail.current
        return SavedView(
            name=name,
            filter=view.filter,
            query=view.query,
            mode=view.mode,
            agent=view.agent,
            layout=sealed(self.saveState(self._layout_version)),
            facets=self.facets.state(),
            items=self.items.arrangement(),
        )

    def _on_save_view_action_triggered(self) -> None:
        chips = [f"{one.words} {one.value}" for one in self.chip_bar.chips()]
        dialog = NameDialog(self.views, text.shown(", ".join(chips), NAME_MOST), self)
        dialog.accepted.connect(lambda: self.views.save(self._saved_view(dialog.name)))
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_views_action_triggered(self) -> None:
        dialog = ViewsDialog(self.views, self)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    def _on_shortcuts_action_triggered(self) -> None:
        dialog = ShortcutSheet(areas(self), self)
        dialog.finished.connect(dialog.deleteLater)
        dialog.open()

    # News

    def show_error(self, sentence: str, details: str = "", retry: Callable[[], None] | None = None) -> None:
        """Say in the banner what failed; everything else stays as it is."""
        self.error_banner.show_error(sentence, details, retry)

    def show_exception(self, error: BaseException) -> None:
        """An error that no panel took up, as a sentence; its traceback is among the details."""
        self.show_error(news.sentence(error), news.details(error))

    @property
    def palette_box(self) -> Palette:
        """The command palette, made when it is first asked for."""
        if self._palette_box is None:
            offered = Commands(self)
            self._palette_box = Palette(self, offered.gather, offered.ask, offered.made_of, offered.beyond)
            self._palette_box.failed.connect(self.show_exception)
            self.job_list.watch(self._palette_box.jobs, reads.of_palette(self._palette_box))
        return self._palette_box

    @property
    def jobs_view(self) -> JobsView:
        """The list of jobs, made when it is first looked at."""
        if self._jobs_view is None:
            self._jobs_view = JobsView(self.job_list, self._zone, self)
        return self._jobs_view

    def show_jobs(self) -> None:
        """The list of jobs, beside the window."""
        self.jobs_view.show()
        self.jobs_view.raise_()
        self.jobs_view.activateWindow()

    def show_journal(self, path: Path | None = None) -> None:
        """The dock of the journal, with the keyboard in it, at a receipt where one is named."""
        self._show_dock(self.journal_dock)
        self.journal.setFocus(Qt.FocusReason.OtherFocusReason)
        if path is not None:
            self.journal.show_receipt(path)

    def show_console(self) -> None:
        """The dock of the agent's console, with the keyboard in it."""
        self._show_dock(self.console_dock)
        self.console.setFocus(Qt.FocusReason.OtherFocusReason)

    def show_asking(self, question: str = "") -> None:
        """The dock of questions, with the keyboard in its field; `question` is asked at once."""
        self._show_dock(self.ask_dock)
        self.asking.setFocus(Qt.FocusReason.OtherFocusReason)
        if question:
            self.asking.ask_about(question)

    def _show_dock(self, dock: QDockWidget) -> None:
        is_new = not dock.isVisible()
        dock.show()
        dock.raise_()  # where it lies under another
        if is_new and not self._has_own_layout:
            self.place_docks()

    def _show_jobs(self) -> None:
        """In the status line: the job that runs, or how many do; and whether one failed that nobody looked at."""
        jobs, running = self.job_list.jobs, self.job_list.running
        words = tr("Jobs")
        if len(running) == 1:
            job = running[0]
            elapsed = text.duration(round(job.elapsed_s)) if job.elapsed_s >= 1 else ""
            words = "  ".join(text.isolate(part) for part in (job.title, job.words, elapsed) if part)
        elif running:
            words = tr_n("{n} running", "{n} running", len(running), n=text.number(len(running)))
        elif failed := [job for job in jobs if job.state is State.FAILED]:
            words = tr_n("{n} failed", "{n} failed", len(failed), n=text.number(len(failed)))
        pause = next(filter(None, (job.pause for job in running)), "")
        self.pause_label.setText(pause)
        self.pause_label.setVisible(bool(pause))
        self.jobs_button.setText(text.label(words))
        self.jobs_button.setAccessibleName(tr("Jobs: {words}", words=words))
        self.jobs_button.setVisible(bool(jobs))
        self.job_cancel_button.setVisible(len(running) == 1 and running[0].cancel is not None)

    def _on_job_cancel_button_clicked(self) -> None:
        for job in self.job_list.running:
            job.stop()

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        if lane == "health" and isinstance(error, TinyMemoryError):
            self._on_health(EngineHealth.down(error.text))
        elif lane != "open item" or not isinstance(error, TinyMemoryError):  # of no answer the health tells
            self.show_exception(error)

    def _on_read_only_action_triggered(self, is_wanted: bool) -> None:
        self.read_only_action.setChecked(not is_wanted)  # it turns once the memory has been opened that way
        self.read_only_wanted.emit(is_wanted)

    def _on_look_group_triggered(self, action: QAction) -> None:
        mode: Mode = action.data()
        app = QApplication.instance()
        if isinstance(app, QApplication):
            theme().apply(app, mode)
        if self._settings is not None:
            self._settings.setValue("theme", mode)

    def _on_contrast_action_triggered(self, is_wanted: bool) -> None:
        theme().set_high_contrast(is_wanted)
        if self._settings is not None:
            self._settings.setValue("highContrast", is_wanted)

    def _on_languages_triggered(self, action: QAction) -> None:
        language: str = action.data()
        if self._settings is not None:
            self._settings.setValue("language", language)
        if language:
            said = tr("The window speaks {language} from its next start.", language=OWN_NAMES[language])
        else:
            said = tr("The window speaks the system's language from its next start.")
        self.error_banner.show_note(said, icon="info")

    def _zoom(self, step: int) -> None:
        percent = zoomed(theme().zoom, step)
        theme().set_zoom(percent)
        self.statusBar().showMessage(tr("Text at {percent}", percent=f"{percent}{text.NO_BREAK}%"), _TOLD_MS)
        if self._settings is not None:
            self._settings.setValue("zoom", percent)

    def _on_theme_changed(self) -> None:
        self._bar.setFixedHeight(theme().row_height("toolbar"))
        allow(self.zoom_in_action, "" if theme().zoom < ZOOMS[-1] else tr("It is at its largest"))
        allow(self.zoom_out_action, "" if theme().zoom > ZOOMS[0] else tr("It is at its smallest"))
        for look in self._looks.actions():
            look.setChecked(look.data() == theme().mode)
        self.contrast_action.setChecked(theme().high_contrast)
        if not self._has_own_layout:
            self.place_docks()

    # Layout and end

    def layout_now(self) -> dict[str, str]:
        """Where the window is and how its docks lie, to be put back by `restore_layout`."""
        return {"geometry": sealed(self.saveGeometry()), "state": sealed(self.saveState(self._layout_version))}

    def restore_layout(self, kept: Mapping[str, object] | None = None) -> None:
        """Put the window as `kept`, else as one was left last; the first time, as the design has it."""
        if kept is None:
            kept = {key: self._settings.value(key) for key in _LAYOUT} if self._settings is not None else {}
        geometry, state = (unsealed(kept.get(key)) for key in _LAYOUT)
        facets = self._settings.value("facets") if self._settings is not None else None
        if isinstance(facets, str):
            self.facets.restore(facets)
        searches = self._settings.value("searches") if self._settings is not None else None
        if isinstance(searches, str):
            self.search_box.restore_recent(searches)
        context = self._settings.value("context") if self._settings is not None else None
        if isinstance(context, str):
            self.context.restore(context)
        items = self._settings.value("items") if self._settings is not None else None
        if isinstance(items, str):
            self.items.restore(items)
        if geometry is not None and self.restoreGeometry(geometry) and self._is_on_a_screen():
            if state is not None and self.restoreState(state, self._layout_version):
                self._has_own_layout = True
                return
        else:
            self.setWindowState(Qt.WindowState.WindowNoState)
            self.move(0, 0)
            self.resize(1440, 900)
        self.place_docks()

    def _is_on_a_screen(self) -> bool:
        """Whether enough of the window can be seen to work in it: Qt takes nearly any place and size as they are."""
        seen = [screen.availableGeometry().intersected(self.geometry()) for screen in QGuiApplication.screens()]
        return any(min(part.width(), part.height()) >= _LEAST_SEEN_PX for part in seen)

    def place_docks(self) -> None:
        """The columns of the design at this width."""
        left, right = _columns_of(self.width())
        # Larger text gets wider columns, as far as the list keeps its share.
        left = max(left, min(theme().scaled(left), self.width() * 26 // 100))
        right = max(right, min(theme().scaled(right), self.width() * 36 // 100))
        height = self.height() - 140
        namespaces, facets, viewer, *lower = self._docks
        first = next((dock for dock in lower if dock.isVisible()), lower[0])
        self._resize({namespaces: left, viewer: right}, Qt.Orientation.Horizontal)
        self._resize({namespaces: height * 34 // 100, facets: height * 66 // 100}, Qt.Orientation.Vertical)
        self._resize({viewer: height * 54 // 100, first: height * 46 // 100}, Qt.Orientation.Vertical)

    def _resize(self, sizes: dict[QDockWidget, int], way: Qt.Orientation) -> None:
        """Size docks; while a layout is put back the window may be resized, and some of them have no place yet."""
        nowhere = Qt.DockWidgetArea.NoDockWidgetArea
        placed = {dock: size for dock, size in sizes.items() if self.dockWidgetArea(dock) != nowhere}
        self.resizeDocks(list(placed), list(placed.values()), way)

    def _restore_first_layout(self) -> None:
        self._has_own_layout = False
        self.restoreState(self._first_layout, self._layout_version)
        for dock in self._docks:
            dock.setVisible(dock not in (self.journal_dock, self.console_dock))
        self._docks[3].raise_()
        self.place_docks()

    def _is_in_palette(self, widget: QWidget) -> bool:
        return self._palette_box is not None and _holds(self._palette_box, widget)

    def _on_docks_arranged(self) -> None:
        self._has_own_layout = True

    def _on_docks_closed(self) -> None:
        self.statusBar().showMessage(tr("Closed. The menu shows it again, under Panels."), _TOLD_MS)
        self.items.setFocus(Qt.FocusReason.OtherFocusReason)

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self.connection_box.set_compact(self.width() < _COMPACT_BELOW_PX)
        self._fold_labels()
        if self._palette_box is not None:
            self._palette_box.place()
        if not self._has_own_layout and _columns_of(event.oldSize().width()) != _columns_of(self.width()):
            self.place_docks()

    def _dress_dock_tabs(self) -> None:
        """Docks that lie on each other share a tab bar that Qt makes anew each time."""
        for bar in self.findChildren(QTabBar, options=Qt.FindChildOption.FindDirectChildrenOnly):
            bar.setElideMode(Qt.TextElideMode.ElideNone)
            bar.setDrawBase(False)
            bar.setExpanding(False)
            bar.setAccessibleName(tr("Panels in one place"))
            ends = (tr("Tabs before"), tr("Tabs after"))
            for button, words in zip(bar.findChildren(QToolButton), ends, strict=False):
                button.setAccessibleName(words)  # else it speaks English

    def _fold_labels(self) -> None:
        style = Qt.ToolButtonStyle
        fold = self.width() < _ICONS_ONLY_BELOW_PX
        for button in (self.ask_button, self.read_only_button):
            button.setToolButtonStyle(style.ToolButtonIconOnly if fold else style.ToolButtonTextBesideIcon)

    def closeEvent(self, event: QCloseEvent) -> None:
        if self._may_close:
            event.accept()
            return
        event.ignore()  # running work ends first; the program then calls close_for_good
        self.close_wanted.emit()

    def leave(self) -> None:
        """Remember the layout and go from the screen: what still runs ends unseen."""
        if self._settings is not None and self.isVisible():
            for key, value in self.layout_now().items():
                self._settings.setValue(key, value)
            self._settings.setValue("facets", self.facets.state())
            self._settings.setValue("items", self.items.arrangement())
            self._settings.setValue("context", self.context.state())
            self._settings.setValue("searches", self.search_box.recent_state())
        if self._jobs_view is not None:
            self._jobs_view.hide()
        self.hide()

    async def aclose(self) -> None:
        """End every task of the window and of its panels; the engine stays the caller's."""
        self._health_timer.stop()
        self.leave()
        if self._palette_box is not None:
            await self._palette_box.aclose()
        await self.watch.aclose()
        for panel in self._panels:
            await panel.aclose()
        await self.jobs.aclose()

    def close_for_good(self) -> None:
        self._may_close = True
        self.close()

    @property
    def is_idle(self) -> bool:
        """Whether no panel waits for an answer."""
        return not self.jobs.is_busy and not any(panel.jobs.is_busy for panel in self._panels)


def _columns_of(width: int) -> tuple[int, int]:
    # Qt gives -1 for the size before the first one.
    return next((left, right) for least, left, right in _COLUMNS if max(0, width) >= least)


class _Column(QWidget):
    def __init__(self, *rows: QWidget) -> None:
        super().__init__()
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        for row in rows:
            column.addWidget(row)


def _gap(width: int) -> QWidget:
    gap = QWidget()
    gap.setFixedWidth(width)
    return gap


def _stretch() -> QWidget:
    stretch = QWidget()
    stretch.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
    return stretch


def _rule() -> QWidget:
    rule = QFrame()
    rule.setProperty("surface", "rule")
    rule.setFixedHeight(1)
    return rule


def _inside(pane: QWidget) -> list[QWidget]:
    """What is in a pane, in the order of the Tab key."""
    found: list[QWidget] = []
    each: QWidget | None = pane.nextInFocusChain()
    while each is not None and each is not pane:
        if pane.isAncestorOf(each):
            found.append(each)
        each = each.nextInFocusChain()
    return found


def _holds(pane: QWidget, widget: QWidget) -> bool:
    return pane is widget or pane.isAncestorOf(widget)


def open_settings(folder: Path) -> QSettings:
    """The window's own settings: layout and appearance, in a readable file of the user's config folder."""
    return QSettings(str(folder / "window.ini"), QSettings.Format.IniFormat)
