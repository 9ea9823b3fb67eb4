"""News of a pane, said in the pane."""

from __future__ import annotations

from collections.abc import Callable

from PySide6.QtCore import QEasingCurve, QPropertyAnimation, Qt
from PySide6.QtGui import QAccessible, QAccessibleAnnouncementEvent
from PySide6.QtWidgets import (
    QFrame,
    QHBoxLayout,
    QLabel,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QToolButton,
    QVBoxLayout,
    QWidget,
)

from explorer.i18n import tr
from explorer.text import label, number
from explorer.ui import icons
from explorer.ui.margins import margins
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.marks import marked

OPENS_MS = 120
DETAILS_LINES = 8
UNLIMITED = 16_777_215  # QWIDGETSIZE_MAX
MAX_DETAILS_LINE = 2_000  # characters; Qt lays out a whole line at once, and an engine's answer may be one of megabytes
MAX_DETAILS_LINES = 5_000


class Banner(QWidget):
    """One sentence over the content it concerns, with what can be done about it; no height while there is none."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._act: Callable[[], None] | None = None
        self.setSizePolicy(QSizePolicy.Policy.Preferred, QSizePolicy.Policy.Maximum)

        self._frame = QFrame(self)
        self._frame.setProperty("surface", "caution")
        self._icon = icons.IconLabel("warning", "caution")
        self._label = QLabel()
        self._label.setObjectName("bannerLabel")
        self._label.setTextFormat(Qt.TextFormat.PlainText)
        self._label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self._label.setWordWrap(True)
        self._label.setProperty("textRole", "medium")
        self._details_button = QPushButton(tr("Details"))
        self._details_button.setObjectName("detailsButton")
        self._details_button.setProperty("kind", "flat")
        self._details_button.setCheckable(True)
        self._action_button = QPushButton()
        self._action_button.setObjectName("bannerActionButton")
        self._dismiss_button = QToolButton()
        self._dismiss_button.setObjectName("dismissButton")
        self._dismiss_button.setAccessibleName(tr("Dismiss"))
        self._dismiss_button.setToolTip(tr("Dismiss"))
        icons.keep(self._dismiss_button, "close")
        self._details = QPlainTextEdit()
        self._details.setObjectName("bannerDetails")
        self._details.setReadOnly(True)
        self._details.setProperty("kind", "field")
        self._details.setProperty("textRole", "mono")
        self._details.setAccessibleName(tr("Details"))
        self._details.setFixedHeight(round(theme().metrics("mono").lineSpacing() * DETAILS_LINES) + 12)
        self._details_box = QWidget()
        self._details_box.hide()
        box = QVBoxLayout(self._details_box)
        box.setContentsMargins(margins(0, 0, 9, 9))  # with the column's 3 as far from the edges as the icon
        box.addWidget(self._details)

        row = QHBoxLayout()
        row.setSpacing(8)
        for part in (self._icon, self._label, self._details_button, self._action_button, self._dismiss_button):
            row.addWidget(part, 1 if part is self._label else 0, Qt.AlignmentFlag(0))
        column = QVBoxLayout(self._frame)
        column.setContentsMargins(margins(12, 3, 3, 3))
        column.setSpacing(4)
        column.addLayout(row)
        column.addWidget(self._details_box)
        outer = QVBoxLayout(self)
        outer.setContentsMargins(12, 4, 12, 4)
        outer.addWidget(self._frame)

        self._opening = QPropertyAnimation(self, b"maximumHeight", self)
        self._opening.setEasingCurve(QEasingCurve.Type.OutCubic)
        self._opening.finished.connect(self._on_opening_finished)
        self._details_button.toggled.connect(self._on_details_button_toggled)
        self._action_button.clicked.connect(self._on_action_button_clicked)
        self._dismiss_button.clicked.connect(self.clear)
        self.hide()

    @property
    def sentence(self) -> str:
        """What is said now; empty when nothing is."""
        return self._label.text()

    def show_error(self, sentence: str, details: str = "", retry: Callable[[], None] | None = None) -> None:
        """Say what failed. `details` open on demand; `retry` is offered where the same call may succeed."""
        self._show("warning", sentence, details, tr("Retry") if retry else "", retry)

    def show_done(self, sentence: str, action_text: str = "", action: Callable[[], None] | None = None) -> None:
        """Say that something went as it was meant to."""
        self._show("check-ring", sentence, "", action_text, action, tone="accent", surface="sunken")

    def show_note(
        self, sentence: str, action_text: str = "", action: Callable[[], None] | None = None, icon: str = "clock"
    ) -> None:
        """Say that what is seen is not the whole truth, with one way to change that."""
        self._show(icon, sentence, "", action_text, action)

    def clear(self) -> None:
        """Take the news away."""
        self._opening.stop()
        self._act = None
        self._label.clear()
        self._details.clear()
        self._details_button.setChecked(False)
        self.hide()

    def _show(
        self,
        icon: str,
        sentence: str,
        details: str,
        action_text: str,
        act: Callable[[], None] | None,
        *,
        tone: str = "caution",
        surface: str = "caution",
    ) -> None:
        was_open = not self.isHidden()
        self._act = act
        self._icon.show_icon(icon, tone)
        if self._frame.property("surface") != surface:
            self._frame.setProperty("surface", surface)
            self._frame.style().unpolish(self._frame)
            self._frame.style().polish(self._frame)
        self._label.setText(sentence)
        self._details.setPlainText(_clipped(details))
        self._details_button.setVisible(bool(details))
        self._details_button.setChecked(False)
        self._action_button.setText(label(action_text))
        self._action_button.setVisible(act is not None and bool(action_text))
        self.setAccessibleName(sentence)
        self.show()
        QAccessible.updateAccessibility(QAccessibleAnnouncementEvent(self, sentence))
        parent = self.parentWidget()
        duration_ms = theme().animation_ms(OPENS_MS)
        if was_open or duration_ms == 0 or parent is None or not parent.isVisible():
            self._opening.stop()
            self._on_opening_finished()
            return
        self._opening.setDuration(duration_ms)
        self._opening.setStartValue(0)
        self._opening.setEndValue(self._full_height())
        self._opening.start()

    def _full_height(self) -> int:
        width = self.width()
        parent = self.parentWidget()
        if parent is not None:
            width = max(width, parent.width())  # before its first layout the banner has no width of its own
        tall = self.heightForWidth(width)
        return tall if tall > 0 else self.sizeHint().height()

    def _on_opening_finished(self) -> None:
        self.setMaximumHeight(UNLIMITED)

    def _on_details_button_toggled(self, is_open: bool) -> None:
        self._details_box.setVisible(is_open)

    def _on_action_button_clicked(self) -> None:
        act = self._act
        self.clear()
        if act is not None:
            act()


def _clipped(details: str) -> str:
    """`details` as far as they can be shown at once, with hidden characters as marks; what is left out is said."""
    lines = details.split("\n")
    kept = [
        line
        if len(line) <= MAX_DETAILS_LINE
        else tr("{start}… ({n} characters)", start=line[:MAX_DETAILS_LINE], n=number(len(line)))
        for line in lines[:MAX_DETAILS_LINES]
    ]
    if len(lines) > MAX_DETAILS_LINES:
        kept.append(tr("and {n} more lines", n=number(len(lines) - MAX_DETAILS_LINES)))
    return marked("\n".join(kept))
