"""One sentence of an answer, with a button for each passage that it rests on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from PySide6.QtCore import QPoint, QRect, QSize, Qt, Signal
from PySide6.QtGui import (
    QFocusEvent,
    QGuiApplication,
    QKeyEvent,
    QKeySequence,
    QMouseEvent,
    QPainter,
    QPaintEvent,
    QResizeEvent,
)
from PySide6.QtWidgets import QLabel, QSizePolicy, QStyle, QWidget

from explorer.i18n import tr
from explorer.text import full_stop, named, shown, tip
from explorer.ui.ask_parts.source import CiteButton
from explorer.ui.icons import IconLabel
from explorer.ui.labels import plain_label
from explorer.ui.rows import text_width
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.lines import draw_lines, fill_in_lines, lay_out, line_height, place_in_lines

SHOWN_CHARS = 3_000
MAX_LINES = 60
_GAP = 4
_WARNING = 12


@dataclass(frozen=True)
class _Places:
    """Where the lines of the text and what follows them stand, for one width."""

    lines: list[str]
    parts: list[tuple[QWidget, QPoint]]
    height: int


class SentenceRow(QLabel):
    """Text over several lines, and after its last word the citations, and why it is marked where it is.

    A label, so that it is read out as one; it draws its text by itself, as Qt tells nobody where a label's text ends.
    """

    cite_wanted = Signal(int)  # a number, from 1

    def __init__(self, said: str, cites: Sequence[tuple[int, str]], why: str = "") -> None:
        """`cites`: numbers, and what each is called. `why`: why the sentence is marked, as a sentence part."""
        super().__init__()
        self.setTextFormat(Qt.TextFormat.PlainText)
        self.setWordWrap(True)
        self.setProperty("tone", "caution" if why else "text")
        cut = said[:SHOWN_CHARS]
        self._said = shown(cut if cut == said else f"{cut}…", SHOWN_CHARS + 1)
        self._token = "caution" if why else "text"
        self.setText(self._said)
        self.why = why
        self._marked: tuple[tuple[int, int], tuple[int, int]] | None = None
        """From where to where text is marked with the mouse: line and character."""
        self.setFocusPolicy(Qt.FocusPolicy.ClickFocus)
        self.setCursor(Qt.CursorShape.IBeamCursor)
        self._parts: list[QWidget] = []
        for number, name in cites:
            button = CiteButton(number, name)
            button.setParent(self)
            button.setCursor(Qt.CursorShape.ArrowCursor)
            button.clicked.connect(lambda _=False, number=number: self.cite_wanted.emit(number))
            self._parts.append(button)
        if why:
            warned = full_stop(f"{why[:1].upper()}{why[1:]}")
            self.setToolTip(tip(warned))
            self.setAccessibleName(named(tr("Marked, {why}", why=why), self._said))
            self.setAccessibleDescription(warned)
            reason = plain_label("small", "caution", why)
            reason.setObjectName("whyMarkedLabel")
            reason.setParent(self)
            self._parts += [IconLabel("warning", "caution", _WARNING, self), reason]
        policy = QSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Preferred)
        policy.setHeightForWidth(True)
        self.setSizePolicy(policy)
        theme().changed.connect(self._on_theme_changed)

    def _on_theme_changed(self) -> None:
        self._mark(None)
        self.updateGeometry()
        self._place()
        self.update()

    def _arranged(self, width: int) -> _Places:
        lines = lay_out(self._said, "body", width, MAX_LINES) or [""]
        height = line_height("body")
        pad = _pad()
        x, y = text_width(lines[-1]) + _GAP, pad + (len(lines) - 1) * height
        parts: list[tuple[QWidget, QPoint]] = []
        for at, part in enumerate(self._parts):
            size = _size_of(part)
            needed = size.width()
            if isinstance(part, IconLabel):  # the reason stands beside its sign
                needed += _GAP + _size_of(self._parts[at + 1]).width()
            if x + needed > width and x > 0:
                x, y = 0, y + height
            parts.append((part, QPoint(x, y + (height - size.height()) // 2)))
            x += size.width() + (_GAP if isinstance(part, IconLabel) else 0)
            if isinstance(part, CiteButton) and part is self._last_button:
                x += _GAP
        return _Places(lines, parts, y + height + pad)

    @property
    def _last_button(self) -> QWidget | None:
        return next((part for part in reversed(self._parts) if isinstance(part, CiteButton)), None)

    def _place(self) -> None:
        for part, at in self._arranged(self.width()).parts:
            rect = QRect(at, _size_of(part))
            part.setGeometry(QStyle.visualRect(self.layoutDirection(), self.rect(), rect))
            part.show()

    def hasHeightForWidth(self) -> bool:
        return True

    def heightForWidth(self, width: int) -> int:
        return self._arranged(max(1, width)).height

    def sizeHint(self) -> QSize:
        return QSize(120, self.heightForWidth(max(self.width(), 240)))

    def minimumSizeHint(self) -> QSize:
        return QSize(80, line_height("body") + 2 * _pad())

    def resizeEvent(self, event: QResizeEvent) -> None:
        super().resizeEvent(event)
        self._mark(None)  # its lines are others now
        self._place()

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        lines = self._arranged(self.width()).lines
        if self._marked is not None:
            fill_in_lines(painter, self._text_rect, lines, "body", self._spans(lines), "soft")
        draw_lines(painter, self._text_rect, lines, "body", self._token)
        painter.end()

    @property
    def _text_rect(self) -> QRect:
        return self.rect().adjusted(0, _pad(), 0, 0)

    # Text is marked with the mouse and copied

    @property
    def marked_text(self) -> str:
        """What is marked, as it is drawn and without the ends of lines."""
        if self._marked is None:
            return ""
        lines = self._arranged(self.width()).lines
        starts: list[int] = []
        at = 0
        for line in lines:
            start = self._said.find(line, at)
            starts.append(start if start >= 0 else at)  # the last one may end with an ellipsis
            at = starts[-1] + len(line)
        first, last = (starts[line] + char for line, char in sorted(self._marked))
        return self._said[first:last]

    def _spans(self, lines: list[str]) -> list[list[tuple[int, int]]]:
        assert self._marked is not None
        (first, start), (last, stop) = sorted(self._marked)
        return [
            [(start if at == first else 0, stop if at == last else len(line))] if first <= at <= last else []
            for at, line in enumerate(lines)
        ]

    def _mark(self, marked: tuple[tuple[int, int], tuple[int, int]] | None) -> None:
        self._marked = marked
        self.update()

    def _place_at(self, event: QMouseEvent) -> tuple[int, int]:
        lines = self._arranged(self.width()).lines
        return place_in_lines(self._text_rect, lines, "body", event.position().toPoint())

    def mousePressEvent(self, event: QMouseEvent) -> None:
        if event.button() == Qt.MouseButton.LeftButton:
            at = self._place_at(event)
            self._mark((at, at))

    def mouseMoveEvent(self, event: QMouseEvent) -> None:
        if self._marked is not None and event.buttons() & Qt.MouseButton.LeftButton:
            self._mark((self._marked[0], self._place_at(event)))

    def keyPressEvent(self, event: QKeyEvent) -> None:
        if event.matches(QKeySequence.StandardKey.Copy) and self.marked_text:
            QGuiApplication.clipboard().setText(self.marked_text)
        else:
            super().keyPressEvent(event)

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() is not Qt.FocusReason.ActiveWindowFocusReason:
            self._mark(None)


def _pad() -> int:
    """What a button is higher than a line, above and below."""
    return max(0, (theme().row_height("chip") - line_height("body") + 1) // 2)


def _size_of(part: QWidget) -> QSize:
    return part.size() if isinstance(part, IconLabel) else part.sizeHint()
