"""The conditions of a filter, one chip each."""

from __future__ import annotations

from dataclasses import dataclass
from functools import partial

from PySide6.QtCore import QEvent, QObject, QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import QFocusEvent, QKeyEvent, QPainter, QPaintEvent, QResizeEvent
from PySide6.QtWidgets import QAbstractButton, QFrame, QLabel, QPushButton, QSizePolicy, QStyle, QVBoxLayout, QWidget

from explorer.i18n import mark, tr, tr_n
from explorer.text import isolate, label, shown, tip
from explorer.ui.rows import draw_focus_ring, draw_icon, draw_text, fill_round, outline_round, text_width
from explorer.ui.theme import theme

EMPTY_TEXT = mark("No filter: every item outside sandboxes")
VALUE_EM = (
    20  # the most room for a value: 260 px at 13 px text; longer ones lose their middle, where paths differ least
)
ROWS_MOST = 2
EDGE = 12  # from the ends of the bar
GAP = 8  # between chips
ROW_GAP = 4
PAD = 10  # inside a chip, before its words
SPACE = 4  # between words and value
RADIUS = 6


@dataclass(frozen=True)
class Chip:
    """One condition in words: field and operation, then the value. `dead`: the value no longer matches anything.

    `note`: what else there is to know of it, for the tooltip. `drawn`: the value safe to draw as it is, where it
    is made of more than one stored text.
    """

    field: str
    words: str
    value: str
    dead: bool = False
    note: str = ""
    drawn: str = ""

    @property
    def sentence(self) -> str:
        """The whole condition, as it is read aloud."""
        return f"{self.words} {shown(self.value)}" + (" (0)" if self.dead else "")


class _Cross(QAbstractButton):
    """The way to remove a chip with the pointer; the keyboard has Delete."""

    def __init__(self, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("removeChipButton")
        self.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self.setCursor(Qt.CursorShape.ArrowCursor)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)

    def sizeHint(self) -> QSize:
        side = theme().row_height("chip")
        return QSize(side, side)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.underMouse() or self.isDown():
            box = self.rect().adjusted(4, 4, -4, -4)
            fill_round(painter, box, 4, "barDim" if self.isDown() else "idle")
        draw_icon(painter, self.rect(), "close", "text" if self.underMouse() else "text2", 12)


class _ChipButton(QAbstractButton):
    """One chip. A click or Enter opens it, its cross and Delete remove it."""

    remove_wanted = Signal()

    def __init__(self, chip: Chip, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName(f"chip:{chip.field}")
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setAttribute(Qt.WidgetAttribute.WA_Hover)
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Fixed)
        self._cross = _Cross(self)
        self._cross.clicked.connect(self.remove_wanted)
        self.show_chip(chip)

    def show_chip(self, chip: Chip) -> None:
        self.chip = chip
        self._words = shown(chip.words)
        value = chip.drawn or shown(chip.value)
        self._value = f"{isolate(value)} (0)" if chip.dead else value
        self.setText(label(chip.sentence))
        self.setAccessibleName(tr("Filter: {condition}", condition=chip.sentence))
        self.setAccessibleDescription(" ".join(filter(None, (chip.note, tr("Enter opens it, Delete removes it")))))
        self.setToolTip(tip("\n".join(filter(None, (f"{self._words} {isolate(self._value)}", chip.note)))))
        self._cross.setAccessibleName(tr("Remove filter: {condition}", condition=chip.sentence))
        self._cross.setToolTip(tr("Remove this condition"))
        self.updateGeometry()
        self.update()

    def sizeHint(self) -> QSize:
        height = theme().row_height("chip")
        value = min(text_width(self._value, "smallStrong"), theme().size_px("body") * VALUE_EM)
        words = text_width(self._words, "small") + SPACE if self._words else 0
        return QSize(PAD + words + value + SPACE + height, height)

    def resizeEvent(self, event: QResizeEvent) -> None:
        side = self.height()
        cross = QRect(self.width() - side, 0, side, side)
        self._cross.setGeometry(QStyle.visualRect(self.layoutDirection(), self.rect(), cross))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        box = self.rect()
        fill_round(painter, box, RADIUS, "soft" if self.underMouse() or self.isDown() else "raised")
        if self.hasFocus():
            draw_focus_ring(painter, box, RADIUS)
        else:
            outline_round(painter, box, RADIUS, "line")
        left, end = PAD, self.width() - self.height() - SPACE + 2
        words_token, value_token = ("text3", "text3") if self.chip.dead else ("text2", "text")
        if self._words:
            # when there is too little room for both, the words give way first, but never whole
            room = max(end - left - text_width(self._value, "smallStrong") - SPACE, (end - left) // 3)
            rect = QRect(left, 0, min(room, text_width(self._words, "small")), self.height())
            draw_text(painter, self._visual(rect), self._words, "small", words_token)
            left = rect.right() + 1 + SPACE
        rect = QRect(left, 0, max(0, end - left), self.height())
        middle = Qt.TextElideMode.ElideMiddle
        draw_text(painter, self._visual(rect), self._value, "smallStrong", value_token, elide=middle)

    def _visual(self, rect: QRect) -> QRect:
        return QStyle.visualRect(self.layoutDirection(), self.rect(), rect)

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.key() in (Qt.Key.Key_Delete, Qt.Key.Key_Backspace):
            self.remove_wanted.emit()
        elif event.key() in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
            self.click()
        else:
            super().keyPressEvent(event)

    def focusInEvent(self, event: QFocusEvent) -> None:
        super().focusInEvent(event)
        self.update()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        self.update()


class ChipBar(QWidget):
    """The filter in words; each chip can be opened and removed.

    The bar only says what is wanted: whoever owns the filter calls `show_chips` again. It is as high as its chips
    need, two rows at most; those that find no room are behind a button that says how many they are.
    """

    removed = Signal(str)  # field
    activated = Signal(str)  # field
    clear_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("chipBar")
        self.setProperty("surface", "window")
        self.setAttribute(Qt.WidgetAttribute.WA_StyledBackground)
        self.setAccessibleName(tr("Filter"))
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)
        self._chips: list[_ChipButton] = []
        self._trailing: list[QWidget] = []
        self._current = ""  # the field that the Tab key comes to

        self._anchor = QWidget(self)  # never shown: where the chips, made later, join the order of the Tab key
        self._anchor.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self._anchor.hide()
        self._lead = QLabel(tr("Filter"), self)
        self._lead.setProperty("textRole", "smallStrong")
        self._lead.setProperty("tone", "text2")
        self._empty = QLabel(tr(EMPTY_TEXT), self)
        self._empty.setObjectName("emptyFilterLabel")
        self._empty.setTextFormat(Qt.TextFormat.PlainText)
        self._empty.setProperty("textRole", "small")
        self._empty.setProperty("tone", "text3")
        self._more = QPushButton(self)
        self._more.setObjectName("moreChipsButton")
        self._more.setProperty("kind", "small")
        self._clear = QPushButton(tr("Clear all"), self)
        self._clear.setObjectName("clearFilterButton")
        self._clear.setProperty("kind", "link")
        self._clear.setProperty("textRole", "smallMedium")
        self._rest = QFrame(self, Qt.WindowType.Popup)
        self._rest.setObjectName("moreChips")
        self._rest.setProperty("surface", "popup")
        self._column = QVBoxLayout(self._rest)
        self._column.setContentsMargins(GAP, GAP, GAP, GAP)
        self._column.setSpacing(ROW_GAP)

        for button in (self._more, self._clear):
            button.hide()
            button.installEventFilter(self)
        self._more.clicked.connect(self._on_more_clicked)
        self._clear.clicked.connect(self.clear_wanted)
        self._arrange()

    @property
    def empty_text(self) -> str:
        """What stands here while there is no chip."""
        return self._empty.text()

    @empty_text.setter
    def empty_text(self, text: str) -> None:
        self._empty.setText(text)
        self._arrange()

    def show_chips(self, chips: list[Chip]) -> None:
        """Replace the chips; the focus stays on the field it was on, or goes to its neighbour."""
        focused_at = next((at for at, button in enumerate(self._chips) if button.hasFocus()), None)
        focused = self._chips[focused_at].chip.field if focused_at is not None else None
        old = {button.chip.field: button for button in self._chips}
        self._chips = []
        for chip in chips:
            button = old.pop(chip.field, None)
            if button is None:
                button = _ChipButton(chip, self)
                button.installEventFilter(self)
                button.clicked.connect(partial(self.activated.emit, chip.field))
                button.remove_wanted.connect(partial(self.removed.emit, chip.field))
            else:
                button.show_chip(chip)
            self._chips.append(button)
        fields = [chip.field for chip in chips]
        if focused_at is not None and fields:
            target = fields.index(focused) if focused in fields else min(focused_at, len(fields) - 1)
            self._current = fields[target]
        self._set_tab_stop()
        self._arrange()
        if focused_at is not None and fields and focused not in fields:
            self._chips[fields.index(self._current)].setFocus(Qt.FocusReason.OtherFocusReason)
        for button in old.values():  # last, so that the focus did not have to look for a place by itself
            button.setObjectName("")
            button.removeEventFilter(self)
            button.hide()
            button.deleteLater()  # not at once: this may run inside the chip's own key event

    def chips(self) -> list[Chip]:
        """What is shown."""
        return [button.chip for button in self._chips]

    def add_trailing(self, widget: QWidget) -> None:
        """Put a control at the far end of the first row, beside the chips."""
        widget.setParent(self)
        self._trailing.append(widget)
        widget.show()
        self._arrange()

    # Placing

    def sizeHint(self) -> QSize:
        return QSize(480, self.height())

    def minimumSizeHint(self) -> QSize:
        return QSize(160, self.height())

    def resizeEvent(self, event: QResizeEvent) -> None:
        if event.oldSize().width() != event.size().width():
            self._arrange()

    def changeEvent(self, event: QEvent) -> None:
        super().changeEvent(event)
        kinds = (QEvent.Type.FontChange, QEvent.Type.StyleChange, QEvent.Type.LayoutDirectionChange)
        if event.type() in kinds and hasattr(self, "_rest"):
            self._arrange()

    def _arrange(self) -> None:
        """Give every part its place, and the bar its height."""
        bar, chip_height = theme().row_height("chipBar"), theme().row_height("chip")
        top = (bar - chip_height) // 2
        self._place(self._lead, EDGE, top, chip_height)
        start = EDGE + self._lead.sizeHint().width() + GAP
        end = self.width() - EDGE
        for widget in reversed(self._trailing):
            if not widget.isHidden():
                end -= widget.sizeHint().width()
                self._place(widget, end, top, chip_height)
                end -= GAP
        self._empty.setVisible(not self._chips)
        self._clear.setVisible(bool(self._chips))
        self._place(self._empty, start, top, chip_height)

        fitting = len(self._chips)
        while not (places := self._flow(fitting, start, end)) and fitting > 1:
            fitting -= 1
        rest = len(self._chips) - fitting
        self._more.setVisible(rest > 0)
        parts: list[QWidget] = [*self._chips[:fitting], *([self._more] if rest else []), self._clear]
        rows = 1
        for part, (row, left, width) in zip(parts, places, strict=False):
            if part.parentWidget() is not self:
                part.setParent(self)
            part.setGeometry(self._visual(QRect(left, top + row * (chip_height + ROW_GAP), width, chip_height)))
            rows = row + 1
            if part in self._chips:
                part.show()
        before = self._anchor
        for part in [*self._chips[:fitting], self._more, self._clear]:
            QWidget.setTabOrder(before, part)
            before = part
        self._fill_rest(self._chips[fitting:])
        height = bar + (rows - 1) * (chip_height + ROW_GAP)
        if self.height() != height or self.minimumHeight() != height:
            self.setFixedHeight(height)

    def _flow(self, count: int, start: int, end: int) -> list[tuple[int, int, int]]:
        """Row, left and width of `count` chips, the button for the rest and Clear all; empty if they are too many."""
        rest = len(self._chips) - count
        if rest:
            self._more.setText(f"+{rest}")
            self._more.setAccessibleName(tr_n("{n} more condition", "{n} more conditions", rest, n=rest))
        widths = [button.sizeHint().width() for button in self._chips[:count]]
        widths += [self._more.sizeHint().width()] if rest else []
        widths += [self._clear.sizeHint().width()]
        places: list[tuple[int, int, int]] = []
        row, left = 0, start
        for width in widths:
            limit = end if row == 0 else self.width() - EDGE
            width = min(width, max(self.width() - EDGE - start, 0))
            if left + width > limit and left > start:
                row, left = row + 1, start
                limit = self.width() - EDGE
            if row >= ROWS_MOST and count > 1:
                return []
            if row == 0 and left == start:
                width = min(width, max(limit - left, 0))
            places.append((row, left, width))
            left += width + GAP
        return places

    def _place(self, widget: QWidget, left: int, top: int, height: int) -> None:
        hint = widget.sizeHint()
        own = min(hint.height(), height)
        rect = QRect(left, top + (height - own) // 2, min(hint.width(), max(0, self.width() - left)), own)
        widget.setGeometry(self._visual(rect))

    def _visual(self, rect: QRect) -> QRect:
        return QStyle.visualRect(self.layoutDirection(), self.rect(), rect)

    def _fill_rest(self, chips: list[_ChipButton]) -> None:
        column = self._column
        for at, chip in enumerate(chips):
            if column.indexOf(chip) != at:
                column.insertWidget(at, chip)
                chip.show()
        if not chips:
            self._rest.hide()
        elif self._rest.isVisible():
            self._rest.adjustSize()

    # The keyboard

    def _on_more_clicked(self) -> None:
        self._rest.adjustSize()
        corner = self._more.rect().bottomLeft()
        if self.isRightToLeft():
            corner = self._more.rect().bottomRight() - QPoint(self._rest.width(), 0)
        self._rest.move(self._more.mapToGlobal(corner + QPoint(0, ROW_GAP)))
        self._rest.show()
        first = next(button for button in self._chips if button.parentWidget() is self._rest)
        first.setFocus(Qt.FocusReason.PopupFocusReason)

    def eventFilter(self, watched: QObject, event: QEvent) -> bool:
        if isinstance(watched, QWidget):
            if event.type() == QEvent.Type.FocusIn and isinstance(watched, _ChipButton):
                self._current = watched.chip.field
                self._set_tab_stop()
            elif event.type() == QEvent.Type.KeyPress and isinstance(event, QKeyEvent):
                return self._walk(watched, event.key())
        return super().eventFilter(watched, event)

    def _walk(self, at: QWidget, key: int) -> bool:
        """Move the focus from `at` by an arrow key, Home or End; whether `key` was one of these."""
        inside = at.parentWidget() is self._rest
        stops: list[QWidget] = [chip for chip in self._chips if (chip.parentWidget() is self._rest) == inside]
        if not inside:
            stops += [button for button in (self._more, self._clear) if not button.isHidden()]
        back, on = Qt.Key.Key_Left, Qt.Key.Key_Right
        if self.isRightToLeft():
            back, on = on, back
        place = stops.index(at)
        moves = {back: place - 1, on: place + 1, Qt.Key.Key_Home: 0, Qt.Key.Key_End: len(stops) - 1}
        if inside:
            moves |= {Qt.Key.Key_Up: place - 1, Qt.Key.Key_Down: place + 1}
        target = moves.get(Qt.Key(key))
        if target is None:
            return False
        stops[max(0, min(target, len(stops) - 1))].setFocus(Qt.FocusReason.TabFocusReason)
        return True

    def _set_tab_stop(self) -> None:
        """One chip is a stop of the Tab key: the one that had the focus last, or the first."""
        fields = [button.chip.field for button in self._chips]
        if self._current not in fields:
            self._current = fields[0] if fields else ""
        for button in self._chips:
            is_stop = button.chip.field == self._current
            button.setFocusPolicy(Qt.FocusPolicy.StrongFocus if is_stop else Qt.FocusPolicy.ClickFocus)
