"""What stands in a pane that has no rows."""

from __future__ import annotations

import time
from collections.abc import Callable, Sequence

from PySide6.QtCore import QRectF, QSize, Qt, QTimer, Signal
from PySide6.QtGui import QPainter, QPaintEvent
from PySide6.QtWidgets import QHBoxLayout, QLabel, QPushButton, QSizePolicy, QStyle, QVBoxLayout, QWidget

from explorer.i18n import tr
from explorer.text import duration, label
from explorer.ui import icons
from explorer.ui.busy import BusyLine
from explorer.ui.labels import plain_label
from explorer.ui.rows import fill_round
from explorer.ui.theme import theme

Action = tuple[str, Callable[[], None]]

MEASURE_EM = 28  # of a sentence, in text sizes: about 55 characters
APPEARS_MS = 150
TELLS_AFTER_S = 2.0
TICK_MS = 250
SKELETON_ROWS = (0.58, 0.45, 0.66, 0.37, 0.52)  # lengths of the text that is not there yet


def _sentence_label(tone: str = "text2") -> QLabel:
    """A centred sentence that wraps."""
    made = plain_label("body", tone)
    made.setAlignment(Qt.AlignmentFlag.AlignHCenter | Qt.AlignmentFlag.AlignTop)
    made.setWordWrap(True)
    made.setMaximumWidth(theme().size_px("body") * MEASURE_EM)
    made.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Minimum)
    return made


class EmptyState(QWidget):
    """An icon, what is known in one sentence, and up to two ways on."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._actions: list[Callable[[], None]] = []
        self._icon = icons.IconLabel(size=24)
        self._title = _sentence_label("title")
        self._title.setObjectName("emptyTitleLabel")
        self._sentence = _sentence_label()
        self._sentence.setObjectName("emptySentenceLabel")
        self._other_button = QPushButton()
        self._other_button.setObjectName("emptyOtherButton")
        self._main_button = QPushButton()
        self._main_button.setObjectName("emptyMainButton")
        self._main_button.setProperty("kind", "primary")

        buttons = QHBoxLayout()
        buttons.setSpacing(8)
        buttons.addStretch()
        buttons.addWidget(self._other_button)
        buttons.addWidget(self._main_button)
        buttons.addStretch()
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 16, 24, 16)
        column.setSpacing(0)
        column.addStretch(4)
        column.addWidget(self._icon, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(12)
        column.addLayout(_centred(self._title))
        column.addSpacing(8)
        column.addLayout(_centred(self._sentence))
        column.addSpacing(12)
        column.addLayout(buttons)
        column.addStretch(5)

        self._other_button.clicked.connect(lambda: self._actions[0]())
        self._main_button.clicked.connect(lambda: self._actions[-1]())

    def show_state(
        self, icon: str, title: str, sentence: str, actions: Sequence[Action] = (), tone: str = "text2"
    ) -> None:
        """Show a state. The last of two actions is the primary one; `tone` "caution" colours the icon."""
        self._icon.show_icon(icon, tone)
        self._title.setText(title)
        self._sentence.setText(sentence)
        self._actions = [act for _, act in actions]
        self._main_button.setVisible(bool(actions))
        self._other_button.setVisible(len(actions) > 1)
        if actions:
            self._main_button.setText(label(actions[-1][0]))
            self._other_button.setText(label(actions[0][0]))
        self.setAccessibleName(f"{title}. {sentence}")


def _centred(widget: QWidget) -> QHBoxLayout:
    """`widget` in the middle, at most as wide as it wants; an alignment would hide its height for its width."""
    row = QHBoxLayout()
    row.addStretch(1)
    row.addWidget(widget, 100)
    row.addStretch(1)
    return row


class Skeleton(QWidget):
    """Rows that are not there yet."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setSizePolicy(QSizePolicy.Policy.Expanding, QSizePolicy.Policy.Fixed)

    def sizeHint(self) -> QSize:
        return QSize(240, theme().row_height("row") * len(SKELETON_ROWS))

    def paintEvent(self, event: QPaintEvent) -> None:
        painter = QPainter(self)
        row, bar = theme().row_height("row"), 10
        left, right = 16, self.width() - 16
        text, date = left + 32, right - 84
        for at, share in enumerate(SKELETON_ROWS):
            top = at * row + (row - bar) // 2
            widest = max(0, date - 24 - text)
            for rect in (
                QRectF(left, top - 1, 12, 12),
                QRectF(text, top, widest * share, bar),
                QRectF(date, top, right - date, bar),
            ):
                box = QStyle.visualRect(self.layoutDirection(), self.rect(), rect.toRect())
                fill_round(painter, box, 3, "idle")


class LoadingState(QWidget):
    """Nothing for 150 ms, then five skeleton rows; from 2 s on the time it takes, and Cancel."""

    cancel_wanted = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._started_s = 0.0
        self._skeleton = Skeleton()
        self._title = _sentence_label("title")
        self._title.setObjectName("loadingTitleLabel")
        self._sentence = _sentence_label()
        self._sentence.setObjectName("loadingLabel")
        self._line = BusyLine()
        self._line.setFixedSize(240, 4)
        self._cancel_button = QPushButton(tr("Cancel"))
        self._cancel_button.setObjectName("loadingCancelButton")

        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 16)
        column.setSpacing(0)
        column.addWidget(self._skeleton)
        column.addSpacing(24)
        column.addLayout(_centred(self._title))
        column.addSpacing(8)
        column.addLayout(_centred(self._sentence))
        column.addSpacing(12)
        column.addWidget(self._line, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addSpacing(12)
        column.addWidget(self._cancel_button, 0, Qt.AlignmentFlag.AlignHCenter)
        column.addStretch(1)

        self._wait = QTimer(self)
        self._wait.setSingleShot(True)
        self._wait.setInterval(APPEARS_MS)
        self._wait.timeout.connect(self._on_wait_timeout)
        self._tick = QTimer(self)
        self._tick.setInterval(TICK_MS)
        self._tick.timeout.connect(self._tell)
        self._cancel_button.clicked.connect(self.cancel_wanted)
        self.stop()

    def start(self, title: str) -> None:
        """Begin counting from now."""
        self.stop()
        self._started_s = time.monotonic()
        self._title.setText(title)
        self._wait.start()

    def stop(self) -> None:
        """End."""
        self._wait.stop()
        self._tick.stop()
        self._line.set_busy(False)
        for part in (self._skeleton, self._title, self._sentence, self._line, self._cancel_button):
            part.hide()

    def _on_wait_timeout(self) -> None:
        self._skeleton.show()
        self._tick.start()

    def _tell(self) -> None:
        elapsed_s = time.monotonic() - self._started_s
        if elapsed_s < TELLS_AFTER_S:
            return
        so_far = tr("{time} so far.", time=duration(int(elapsed_s)))
        self._sentence.setText(" ".join((so_far, tr("The first page appears as soon as it is here."))))
        if self._cancel_button.isHidden():
            for part in (self._title, self._sentence, self._line, self._cancel_button):
                part.show()
            self._line.set_busy(True)
