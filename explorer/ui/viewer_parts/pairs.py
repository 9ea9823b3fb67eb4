"""Metadata as pairs of a key and what it says; a value is a button that filters by it, and can be copied."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QAccessible,
    QAccessibleAnnouncementEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QAbstractButton, QMenu, QSizePolicy, QWidget

from explorer.i18n import tr
from explorer.text import shown, tip
from explorer.ui.rows import draw_focus_ring, draw_text, text_width
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.describe import Pair, Value
from explorer.ui.viewer_parts.lines import draw_lines, lay_out, line_height

COLUMN_GAP = 16
FIRST_SHARE = 44  # per cent of the width for the first column: a time in full fits the second
KEY_GAP = 12
RING = 4  # at each side of a value: the ring of the one with the focus must not touch its text
MAX_WRAPPED = 6  # lines of a value where values may wrap
_TIP_CHARS = 2_000
_SHOWN_CHARS = 1_000


class ValueButton(QAbstractButton):
    """A value in plain text; in link colour under the pointer where pressing it filters."""

    filter_wanted = Signal(str, object)

    def __init__(self, key: str, value: Value, ends: str, wraps: bool, parent: QWidget) -> None:
        super().__init__(parent)
        self.value = value
        self._wraps = wraps
        self._role = "monoSmall" if value.is_mono else "small"
        self._drawn = (shown(value.drawn or value.text, _SHOWN_CHARS) or tr("(empty)")) + ends
        self.setObjectName(f"value:{key}")
        about = shown(value.tooltip or value.text, _TIP_CHARS)
        self.setToolTip(tip(f"{about}\n{value.act}" if value.act else about))
        self.setAccessibleName(f"{tr(key)} {self._drawn}")
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)  # one that does not filter is copied from here
        if value.field:
            self.setCursor(Qt.CursorShape.PointingHandCursor)
            self.setAccessibleDescription(value.act or tr("Filter by this {field}", field=tr(key)))
            self.clicked.connect(lambda: self.filter_wanted.emit(value.field, value.value))
        else:
            self.setAccessibleDescription(value.tooltip if value.tooltip != value.drawn else "")
        self.setContextMenuPolicy(Qt.ContextMenuPolicy.CustomContextMenu)
        self.customContextMenuRequested.connect(self._on_menu_requested)

    @property
    def drawn(self) -> str:
        """The text that is drawn, before it is elided."""
        return self._drawn

    def natural_width(self) -> int:
        """The width that shows the value whole on one line."""
        return text_width(self._drawn, self._role) + 1 + 2 * RING

    def height_for(self, width: int) -> int:
        """The height that `width` asks for."""
        row = theme().row_height("treeRow")
        if not self._wraps or self.natural_width() <= width:
            return row
        lines = lay_out(self._drawn, self._role, width - 2 * RING, MAX_WRAPPED)
        return row - line_height(self._role) + len(lines) * line_height(self._role)

    def sizeHint(self) -> QSize:
        return QSize(self.natural_width(), theme().row_height("treeRow"))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        active = bool(self.value.field) and (self.underMouse() or self.isDown() or self.hasFocus())
        token = "accent" if active else "text"
        room = self.rect().adjusted(RING, 0, -RING, 0)
        if self._wraps and self.natural_width() > self.width():
            lines = lay_out(self._drawn, self._role, room.width(), MAX_WRAPPED)
            margin = (theme().row_height("treeRow") - line_height(self._role)) // 2
            draw_lines(painter, room.adjusted(0, margin, 0, 0), lines, self._role, token)
        else:
            draw_text(painter, room, self._drawn, self._role, token, elide=Qt.TextElideMode.ElideMiddle)
        if self.hasFocus():
            draw_focus_ring(painter, self.rect())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy):
            self.copy()
        else:
            super().keyPressEvent(event)

    def copy(self) -> None:
        """Put the value on the clipboard, as it is stored."""
        QGuiApplication.clipboard().setText(self.value.text)
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, tr("Copied")))

    def _on_menu_requested(self, at: QPoint) -> None:
        menu = QMenu(self)
        menu.setAttribute(Qt.WidgetAttribute.WA_DeleteOnClose)
        menu.addAction(tr("Copy value"), self.copy)
        if self.value.field:
            menu.addAction(tr("Filter by this value"), self.click)
        menu.popup(self.mapToGlobal(at))


class _Key(QWidget):
    """The name of a field; unlike a QLabel's, its side is that of the layout, whatever its letters are."""

    def __init__(self, key: str, parent: QWidget) -> None:
        super().__init__(parent)
        self.key = key
        self.text = tr(key)

    def paintEvent(self, event: QPaintEvent) -> None:
        draw_text(QPainter(self), self.rect(), self.text, "small", "text3")


class PairGrid(QWidget):
    """Pairs in two columns where they are short, over the whole width where they are not.

    `RING` at each side is for the focus ring alone: the margin around the grid is that much smaller.
    """

    filter_wanted = Signal(str, object)

    def __init__(self, parent: QWidget | None = None, *, is_list: bool = False) -> None:
        """`is_list`: one pair a row, long values over several lines."""
        super().__init__(parent)
        self._is_list = is_list
        self._pairs: list[tuple[_Key, list[ValueButton]]] = []
        self._anchor = QWidget(self)  # never shown: where the values, made later, join the order of the Tab key
        self._anchor.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._anchor.hide()
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)

    def show_pairs(self, pairs: Sequence[Pair]) -> None:
        """Replace what is shown."""
        for label, buttons in self._pairs:
            for old in (label, *buttons):
                old.hide()
                old.deleteLater()
        self._pairs = []
        self.add_pairs(pairs)

    def add_pairs(self, pairs: Sequence[Pair]) -> None:
        """Show more, below what is shown."""
        held = [button for _, buttons in self._pairs for button in buttons]
        before: QWidget = held[-1] if held else self._anchor
        for pair in pairs:
            label = _Key(pair.key, self)
            buttons = []
            for at, value in enumerate(pair.values):
                ends = "," if at < len(pair.values) - 1 else ""
                button = ValueButton(pair.key, value, ends, self._is_list, self)
                button.filter_wanted.connect(self.filter_wanted)
                buttons.append(button)
                QWidget.setTabOrder(before, button)
                before = button
            for part in (label, *buttons):
                part.show()
            self._pairs.append((label, buttons))
        self._place(self.width(), move=True)
        self.updateGeometry()

    def buttons(self, key: str) -> list[ValueButton]:
        """The values of a pair's key."""
        return [button for label, buttons in self._pairs if label.key == key for button in buttons]

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._place(width, move=False)

    def sizeHint(self) -> QSize:
        return QSize(320, self._place(max(self.width(), 200), move=False))

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.sizeHint().height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._place(self.width(), move=True)
        self.updateGeometry()

    def _place(self, width: int, *, move: bool) -> int:
        """Lay the pairs out for `width`; the height that takes."""
        row = theme().row_height("treeRow")
        inner = width - 2 * RING
        first = (inner - COLUMN_GAP) * FIRST_SHARE // 100
        halves = first, inner - COLUMN_GAP - first
        keys = [text_width(label.text, "small") for label, _ in self._pairs]
        least = round(56 * theme().size_px("body") / 13)
        key_width = max([least, *keys]) + KEY_GAP
        y, second = 0, False  # the top of the row being filled, and whether its first half is taken
        for label, buttons in self._pairs:
            wanted = sum(button.natural_width() for button in buttons) - 2 * RING
            fits = [not self._is_list and wanted <= half - key_width for half in halves]
            if second and not fits[1]:
                y, second = y + row, False
            x = RING + (first + COLUMN_GAP if second else 0)
            fits_half = fits[second]
            half = halves[second]
            if move:
                self._move(label, QRect(x, y, key_width, row), width)
            room = QRect(x + key_width - RING, y, (half if fits_half else inner) - key_width + 2 * RING, row)
            height = self._place_values(buttons, room, width, move=move)
            if fits_half and not second:
                second = True
            else:
                y, second = y + height, False
        return y + (row if second else 0)

    def _place_values(self, buttons: list[ValueButton], room: QRect, width: int, *, move: bool) -> int:
        """Values one after the other, over as many rows as they need; the height that takes."""
        row = room.height()
        x, y, tallest = room.left(), room.top(), row
        for button in buttons:
            natural = min(button.natural_width(), room.width())
            if x > room.left() and x + natural > room.left() + room.width():
                x, y = room.left(), y + row
            tallest = max(row, button.height_for(natural))
            if move:
                self._move(button, QRect(x, y, natural, tallest), width)
            x += natural
        return y + tallest - room.top()

    def _move(self, part: QWidget, rect: QRect, width: int) -> None:
        if self.isRightToLeft():
            rect.moveLeft(width - rect.left() - rect.width())
        part.setGeometry(rect)
