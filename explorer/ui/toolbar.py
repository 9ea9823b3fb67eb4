"""The two composite controls of the toolbar: which memory is open, and the search inside the filter."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import (
    QComboBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QMenu,
    QSizePolicy,
    QStyle,
    QToolButton,
    QWidget,
)

from explorer.contract import EngineHealth, FetchMode
from explorer.i18n import mark, tr
from explorer.text import isolate, label, listed, named, shown, tip
from explorer.ui import icons
from explorer.ui.actions import allow
from explorer.ui.margins import margins
from explorer.ui.rows import draw_focus_ring, draw_icon, draw_text, text_width
from explorer.ui.theme import theme

CHOOSE_FILE = "choose-file"
MANAGE = "manage"
TYPING_DELAY_MS = 200
MAX_RECENT = 12
MAX_RECENT_CHARS = 300
_RECENT_CHARS = 60

_SIDE = 10  # between the box's edge and what it holds
_DOT = 16
_HEALTH = {"ok": mark("healthy"), "degraded": mark("degraded"), "down": mark("down")}
_MODES = {
    # Translators: the ways to search, to choose from.
    FetchMode.KEYWORD: mark("Keyword"),
    FetchMode.VECTOR: mark("Vector"),
    FetchMode.HYBRID: mark("Hybrid"),
}


def mode_words(mode: FetchMode) -> str:
    """A way to search, by its name."""
    return tr(_MODES[mode])


@dataclass(frozen=True)
class Choice:
    """A line of the connection picker; `key` is what `chosen` says, `detail` the engine, `icon` its kind."""

    key: str
    name: str
    detail: str
    icon: str = "file"


class HealthBadge(QWidget):
    """How the engine is, by shape: full dot healthy, half degraded, triangle down, ring not asked yet."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("healthBadge")
        self.setAttribute(Qt.WidgetAttribute.WA_TransparentForMouseEvents)
        self.setFixedSize(_DOT, _DOT)
        self._health: EngineHealth | None = None
        self.show_health(None)

    @property
    def words(self) -> str:
        if self._health is None:
            return tr("not asked yet")
        return tr(_HEALTH[self._health.state])

    def show_health(self, health: EngineHealth | None) -> None:
        self._health = health
        reason = health.reason if health is not None and health.reason else ""
        self.setAccessibleName(tr("health: {state}", state=self.words))
        self.setAccessibleDescription(reason)
        self.update()

    def paintEvent(self, event: QPaintEvent) -> None:
        state = self._health.state if self._health is not None else ""
        name, token = {
            "ok": ("health-full", "accent"),
            "degraded": ("health-half", "caution"),
            "down": ("warning", "caution"),
        }.get(state, ("health-empty", "text3"))
        painter = QPainter(self)
        draw_icon(painter, self.rect(), name, token)
        painter.end()


class ConnectionBox(QComboBox):
    """The open connection with its engine and health; its list opens another one, a file, or the connections."""

    chosen = Signal(str)  # a choice's key, CHOOSE_FILE or MANAGE

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("connectionBox")
        self.setAccessibleName(tr("Connection"))
        self.setSizePolicy(QSizePolicy.Policy.Fixed, QSizePolicy.Policy.Fixed)
        self.setSizeAdjustPolicy(QComboBox.SizeAdjustPolicy.AdjustToMinimumContentsLengthWithIcon)
        self.setMaxVisibleItems(20)
        self.health_badge = HealthBadge(self)
        self._name = ""
        self._detail = ""
        self._width = 276
        self.activated.connect(self._on_self_activated)
        theme().changed.connect(self.updateGeometry)
        theme().changed.connect(self.update)

    def show_choices(self, choices: Sequence[Choice], current: str) -> None:
        """Fill the list; `current` is the key of the open one."""
        self.clear()
        for choice in choices:
            self.addItem(icons.icon(choice.icon), f"{shown(choice.name)}   {choice.detail}", choice.key)
        if choices:
            self.insertSeparator(self.count())
        self.addItem(icons.icon("plus"), tr("Open a file…"), CHOOSE_FILE)
        self.addItem(icons.icon("settings"), tr("Connections…"), MANAGE)
        self.setCurrentIndex(self.findData(current))

    def show_open(self, name: str, engine: str, health: EngineHealth | None) -> None:
        """Say what is open."""
        self._name, self._detail = name, engine
        self.health_badge.show_health(health)
        reason = health.reason if health is not None else None
        says = listed((engine, self.health_badge.words))
        says = named(says, reason) if reason else says
        self.setToolTip(tip(named(name, says)) if name else "")
        self.setAccessibleDescription(listed((shown(name), says)))
        self.update()

    def set_compact(self, is_compact: bool) -> None:
        """Narrower, with the state alone beside the name."""
        self._width = 222 if is_compact else 276
        self.updateGeometry()

    def sizeHint(self) -> QSize:
        return QSize(theme().scaled(self._width), theme().row_height("field"))

    def minimumSizeHint(self) -> QSize:
        return self.sizeHint()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        painter.setRenderHint(QPainter.RenderHint.Antialiasing)
        box = self.rect().adjusted(0, 0, -1, -1).toRectF().translated(0.5, 0.5)
        painter.setPen(theme().color("edge" if self.underMouse() else "line"))
        painter.setBrush(theme().color("raised"))
        painter.drawRoundedRect(box, 6, 6)
        if self.hasFocus():
            draw_focus_ring(painter, self.rect(), 6)
        direction = self.layoutDirection()
        inner = self.rect().adjusted(_SIDE, 0, -_SIDE, 0)

        def place(left: int, width: int) -> QRect:
            rect = QRect(inner.left() + left, inner.top(), width, inner.height())
            return QStyle.visualRect(direction, inner, rect)

        self.health_badge.move(place(0, _DOT).left(), (self.height() - _DOT) // 2)
        arrow = place(inner.width() - 12, 12)
        draw_icon(painter, arrow, "chevron-down", "text2", 12)
        detail = (
            self.health_badge.words
            if self.width() < theme().scaled(250)
            else listed((self._detail, self.health_badge.words))
        )
        room = inner.width() - _DOT - 8 - 20
        name = shown(self._name) or tr("No memory open")
        detail_width = text_width(detail, "small") if self._name else 0
        name_width = min(text_width(name, "strong"), max(room - detail_width - 8, room // 2))
        draw_text(painter, place(_DOT + 6, name_width), name, "strong", "text")
        rest = room - name_width - 8
        if self._name and rest > 20:
            draw_text(painter, place(_DOT + 6 + name_width + 8, rest), detail, "small", "text3")
        painter.end()

    def _on_self_activated(self, index: int) -> None:
        key = self.itemData(index)
        if isinstance(key, str):
            self.chosen.emit(key)


class _SearchEdit(QLineEdit):
    left = Signal()
    list_wanted = Signal()  # Down
    recent_wanted = Signal()  # Alt+Down
    focus_changed = Signal(bool)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.focus_changed.emit(True)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.focus_changed.emit(False)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() == Qt.Key.Key_Escape:
            self.left.emit()
        elif event.key() == Qt.Key.Key_Down:
            has_alt = event.modifiers() & Qt.KeyboardModifier.AltModifier
            (self.recent_wanted if has_alt else self.list_wanted).emit()
        else:
            super().keyPressEvent(event)


class SearchBox(QFrame):
    """One field for the query, with the modes that the engine declares inside its right end."""

    search_wanted = Signal(str, object)  # the query, trimmed ("" ends the search), and the FetchMode
    left = Signal()  # for the list

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("searchBox")
        self.setProperty("surface", "searchBox")
        self.search_edit = _SearchEdit()
        self.search_edit.setObjectName("searchEdit")
        self.search_edit.setProperty("kind", "bare")
        self.search_edit.setPlaceholderText(tr("Search inside this filter"))
        self.search_edit.setAccessibleName(tr("Search inside this filter"))
        self.search_edit.setClearButtonEnabled(False)
        self.search_edit.setMaxLength(10_000)
        self.recent_button = QToolButton()
        self.recent_button.setObjectName("recentSearchesButton")
        self.recent_button.setProperty("kind", "small")
        self.recent_button.setAccessibleName(tr("Recent searches"))
        self.recent_button.setToolTip(tr("Recent searches (Alt+Down in the search)"))
        self.recent_button.setPopupMode(QToolButton.ToolButtonPopupMode.InstantPopup)
        icons.keep(self.recent_button, "search", "text3")
        self._recent_menu = QMenu(self.recent_button)
        self.recent_button.setMenu(self._recent_menu)
        self._recent: list[str] = []
        self._remembers = True
        self.fill_recent()
        self._is_typed = False
        self._line = QFrame()
        self._line.setProperty("surface", "vrule")
        self._line.setFixedSize(1, theme().row_height("treeRow") - 4)
        self.mode_box = QComboBox()
        self.mode_box.setObjectName("modeBox")
        self.mode_box.setProperty("kind", "flat")
        self.mode_box.setAccessibleName(tr("Search mode"))
        self._row = QHBoxLayout(self)
        self._row.setContentsMargins(margins(4, 1, 3, 1))
        self._row.setSpacing(4)
        self._row.addWidget(self.recent_button)
        self._row.addWidget(self.search_edit, 1)
        self._row.addWidget(self._line, 0, Qt.AlignmentFlag.AlignVCenter)
        self._row.addWidget(self.mode_box)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self.setMinimumWidth(220)
        self._typing = QTimer(self)
        self._typing.setSingleShot(True)
        self._typing.setInterval(TYPING_DELAY_MS)
        self._typing.timeout.connect(self._tell)
        self.search_edit.textEdited.connect(self._on_search_edit_text_edited)
        self.search_edit.returnPressed.connect(self._on_search_edit_return_pressed)
        self.search_edit.left.connect(self._on_search_edit_left)
        self.search_edit.list_wanted.connect(self.left)
        self.search_edit.recent_wanted.connect(self._on_search_edit_recent_wanted)
        self._recent_menu.aboutToShow.connect(self.fill_recent)
        self.search_edit.focus_changed.connect(self._on_search_edit_focus_changed)
        self.mode_box.activated.connect(self._on_mode_box_activated)
        theme().changed.connect(self._fit_to_font)
        self._fit_to_font()

    @property
    def mode(self) -> FetchMode | None:
        mode = self.mode_box.currentData()
        return FetchMode(mode) if mode is not None else None

    def show_modes(self, modes: Sequence[FetchMode]) -> None:
        """Offer what the engine declares and nothing else; the mode of before stays, else hybrid, else the first."""
        before = self.mode
        self.mode_box.clear()
        for mode in modes:
            self.mode_box.addItem(tr(_MODES[mode]), mode.value)
        wanted = before if before in modes else (FetchMode.HYBRID if FetchMode.HYBRID in modes else None)
        if wanted is not None:
            self.mode_box.setCurrentIndex(self.mode_box.findData(wanted.value))
        self.search_edit.setEnabled(bool(modes))
        self.mode_box.setEnabled(bool(modes))
        self.search_edit.setToolTip("" if modes else tr("This engine declares no search"))
        lacking = [mode_words(mode) for mode in FetchMode if mode not in modes]
        said = [tr("How the engine looks for the words")]
        if modes and lacking:
            said.append(tr("This engine does not offer: {modes}", modes=listed(lacking)))
        self.mode_box.setToolTip("\n".join(said))

    def show_search(self, query: str, mode: FetchMode | None) -> None:
        """Put a view's search into the field."""
        self._typing.stop()
        if self.search_edit.text().strip() != query:
            self._remember()
            self.search_edit.setText(query)
        if mode is not None and (at := self.mode_box.findData(mode.value)) >= 0:
            self.mode_box.setCurrentIndex(at)

    def tell_now(self) -> None:
        """Say at once what is being typed, before something else changes the view."""
        if self._typing.isActive():
            self._tell()

    def sizeHint(self) -> QSize:
        return QSize(420, theme().row_height("field"))

    # Recent searches

    @property
    def recent(self) -> list[str]:
        """What was searched for, the last first."""
        return list(self._recent)

    def recent_state(self) -> str:
        """The recent searches, for `restore_recent`."""
        return json.dumps({"remembers": self._remembers, "queries": self._recent})

    def restore_recent(self, state: str) -> None:
        """Go on with the searches of before; what is not understood is no search."""
        try:
            found = json.loads(state)
            self._remembers = bool(found["remembers"])
            self._recent = [query for query in found["queries"] if isinstance(query, str)][:MAX_RECENT]
        except (ValueError, KeyError, TypeError, RecursionError):
            self._recent = []

    def fill_recent(self) -> None:
        """Bring the menu of recent searches up to date, as it is when it opens."""
        menu = self._recent_menu
        menu.clear()
        for query in self._recent:
            action = menu.addAction(label(isolate(shown(query, _RECENT_CHARS))))
            action.setProperty("what", tr("Recent search"))
            action.setProperty("wholeTitle", shown(query, MAX_RECENT_CHARS))
            action.setProperty("iconName", "clock")
            action.triggered.connect(lambda _=False, query=query: self.search(query))
        none = tr("No recent searches") if self._remembers else tr("Searches are not remembered")
        if not self._recent:
            note = menu.addAction(none)
            note.setEnabled(False)
            note.setProperty("note", True)
        menu.addSeparator()
        forget = menu.addAction(tr("Forget recent searches"))
        forget.triggered.connect(lambda: self._recent.clear())
        allow(forget, "" if self._recent else none)
        remember = menu.addAction(tr("Remember searches"))
        remember.setCheckable(True)
        remember.setChecked(self._remembers)
        remember.triggered.connect(self._on_remember_triggered)

    def search(self, query: str) -> None:
        """Search for `query` as if it had been typed."""
        self.search_edit.setText(query)
        self._is_typed = True
        self._remember()
        self._tell()

    def _on_remember_triggered(self, remembers: bool) -> None:
        self._remembers = remembers
        if not remembers:
            self._recent.clear()

    def _remember(self) -> None:
        """Keep what was typed, now that typing is over; what was put there by something else is none."""
        query = self.search_edit.text().strip()
        if self._is_typed and self._remembers and 0 < len(query) <= MAX_RECENT_CHARS:
            self._recent = [query, *(one for one in self._recent if one != query)][:MAX_RECENT]
        self._is_typed = False

    def _on_search_edit_recent_wanted(self) -> None:
        self._recent_menu.popup(self.mapToGlobal(QPoint(0, self.height())))

    def _on_search_edit_return_pressed(self) -> None:
        self._remember()
        self._tell()

    def _on_search_edit_left(self) -> None:
        self._remember()
        self.search_edit.clear()
        self._tell()
        self.left.emit()

    def _on_search_edit_text_edited(self, text: str) -> None:
        self._is_typed = True
        self._typing.start()

    def _on_search_edit_focus_changed(self, has_focus: bool) -> None:
        if not has_focus:
            self._remember()
        # A style sheet cannot ask whether a child has the focus.
        self.setProperty("active", has_focus)
        self._row.setContentsMargins(margins(3, 0, 2, 0) if has_focus else margins(4, 1, 3, 1))
        self.style().unpolish(self)
        self.style().polish(self)

    def _on_mode_box_activated(self, index: int) -> None:
        if self.search_edit.text().strip():
            self._tell()

    def _tell(self) -> None:
        self._typing.stop()
        self.search_wanted.emit(self.search_edit.text().strip(), self.mode)

    def _fit_to_font(self) -> None:
        self.setMaximumWidth(theme().scaled(420))
        self.setFixedHeight(theme().row_height("field"))
