"""One source of an answer: which item, where it stands, and what was quoted of it."""

from __future__ import annotations

from datetime import datetime, tzinfo

from PySide6.QtCore import QRect, QSize, Qt
from PySide6.QtGui import QKeyEvent, QPainter, QPaintEvent
from PySide6.QtWidgets import QAbstractButton, QPushButton, QSizePolicy

from explorer.contract import ItemKind, MemoryMeta
from explorer.i18n import tr
from explorer.text import in_quotes, isolate, listed, shown, tip, utc, when, word
from explorer.ui.ask_parts.question import cited_words
from explorer.ui.headline import one_line
from explorer.ui.item_view import KIND_ICONS
from explorer.ui.nodes import words_of
from explorer.ui.rows import draw_focus_ring, draw_icon, draw_text, fill_round, text_width
from explorer.ui.theme import theme
from explorer.ui.trees import mirrored
from explorer.ui.viewer_parts.lines import draw_lines, lay_out, line_height

_QUOTE_LINES = 2
_QUOTE_CHARS = 400  # more than two lines hold
_TIP_CHARS = 2_000
_TITLE_CHARS = 200
_NODE_CHARS = 120
_PAD = 6  # around the words, at all sides
_ICON = 16
_GAP = 8
_RULE = 3


def press_by_enter(button: QAbstractButton, event: QKeyEvent) -> bool:
    """Press a button where the key is Enter, as one follows a link; whether it was."""
    if event.key() not in (Qt.Key.Key_Return, Qt.Key.Key_Enter):
        return False
    button.click()
    return True


class CiteButton(QPushButton):
    """The number of a citation, after what rests on it."""

    def __init__(self, number: int, name: str) -> None:
        super().__init__(f"[{number}]")
        self.setObjectName(f"cite:{number}")
        self.setProperty("kind", "link")
        self.setProperty("textRole", "smallMedium")
        self.setAccessibleName(name)
        self.setToolTip(tip(name))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not press_by_enter(self, event):
            super().keyPressEvent(event)


class SourceRow(QAbstractButton):
    """Pressed, it opens its item; `number` is that of the citation, None for what was read and not cited."""

    def __init__(
        self, kind: ItemKind, title: str, quote: str, meta: MemoryMeta, zone: tzinfo, number: int | None = None
    ) -> None:
        super().__init__()
        self.number = number
        self.setObjectName(f"source:{number}" if number is not None else "readSource")
        self._icon = KIND_ICONS[kind]
        line = one_line(quote[:_TIP_CHARS])
        self.title = shown(title or line, _TITLE_CHARS) or tr("(empty)")
        self.quote = "" if line == title else in_quotes(shown(line, _QUOTE_CHARS))
        self.where = isolate(shown(words_of(meta.namespace), _NODE_CHARS))
        self.when = when(meta.observed_at, datetime.now(zone), zone) if meta.observed_at is not None else ""
        day = utc(meta.observed_at) if meta.observed_at is not None else ""
        named = cited_words(number, self.title) if number is not None else self.title
        said = listed((named, word(kind), self.where, self.when))
        self.setText(said)
        self.setAccessibleName(listed((said, self.quote)))
        whole = shown(quote[:_TIP_CHARS], _TIP_CHARS)
        self.setToolTip(tip("\n".join(filter(None, (self.title, self.where, day, in_quotes(whole))))))
        self.setFocusPolicy(Qt.FocusPolicy.StrongFocus)
        self.setCursor(Qt.CursorShape.PointingHandCursor)
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme().changed.connect(self.updateGeometry)

    @property
    def _left(self) -> int:
        """Where the title begins."""
        number = text_width("[88]", "smallMedium") + 4 if self.number is not None else 0
        return _PAD + number + _ICON + _GAP

    def _quoted(self, width: int) -> list[str]:
        return (
            lay_out(self.quote, "small", width - self._left - _RULE - _GAP - _PAD, _QUOTE_LINES) if self.quote else []
        )

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        lines = len(self._quoted(width))
        return line_height("medium") + line_height("small") * (1 + lines) + (2 if lines else 0) + 2 * _PAD

    def sizeHint(self) -> QSize:
        return QSize(240, self.heightForWidth(max(self.width(), 240)))

    def minimumSizeHint(self) -> QSize:
        return QSize(120, self.sizeHint().height())

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if not press_by_enter(self, event):
            super().keyPressEvent(event)

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        if self.underMouse() or self.isDown():
            fill_round(painter, self.rect(), 6, "soft" if self.isDown() else "hover")
        first = QRect(0, _PAD, self.width(), line_height("medium"))
        second = QRect(0, first.bottom() + 1, self.width(), line_height("small"))
        left, right = self._left, self.width() - _PAD
        if self.number is not None:
            number = mirrored(first, _PAD, left - _ICON - _GAP - _PAD, self)
            draw_text(painter, number, f"[{self.number}]", "smallMedium", "accent")
        draw_icon(painter, mirrored(first, left - _ICON - _GAP, _ICON, self), self._icon, "text2", _ICON)
        time = text_width(self.when, "small")
        draw_text(painter, mirrored(first, right - time, time, self), self.when, "small", "text2")
        draw_text(painter, mirrored(first, left, right - time - _GAP - left, self), self.title, "medium", "text")
        draw_text(painter, mirrored(second, left, right - left, self), self.where, "small", "text2")
        if lines := self._quoted(self.width()):
            quote = QRect(0, second.bottom() + 3, self.width(), line_height("small") * len(lines))
            painter.fillRect(mirrored(quote, left, _RULE, self), theme().color("barDim"))
            start = left + _RULE + _GAP
            draw_lines(painter, mirrored(quote, start, right - start, self), lines, "small", "text2")
        if self.hasFocus():
            draw_focus_ring(painter, self.rect(), 6)
        painter.end()
