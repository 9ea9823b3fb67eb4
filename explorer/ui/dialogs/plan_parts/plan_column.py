"""The plan in words: what goes, what stays, what may remain."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFrame, QHBoxLayout, QPushButton, QScrollArea, QSizePolicy, QVBoxLayout, QWidget

from explorer.i18n import tr
from explorer.text import label
from explorer.ui.dialogs.plan_parts.words import Line, Section
from explorer.ui.icons import IconLabel
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins

_MARK = 16
_LINK_EDGE = 6


class PlanColumn(QScrollArea):
    """Sections of sentences, each sentence beside its mark."""

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("planColumn")
        self.setAccessibleName(tr("The plan in words"))
        self.setFrameShape(QFrame.Shape.NoFrame)
        self.setWidgetResizable(True)
        self.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self.setFocusPolicy(Qt.FocusPolicy.TabFocus)
        self._shown: list[tuple[str, list[tuple[str, str]]]] = []
        self._body = QWidget()
        self._column = QVBoxLayout(self._body)
        self._column.setContentsMargins(margins(24, 16, 24, 16))
        self._column.setSpacing(4)
        self.setWidget(self._body)

    def show_sections(self, sections: Sequence[Section]) -> None:
        shown = [(section.title, [(line.said, line.offer) for line in section.lines]) for section in sections]
        if shown == self._shown:
            return
        self._shown = shown
        while (item := self._column.takeAt(0)) is not None:
            if (old := item.widget()) is not None:
                old.hide()
                old.deleteLater()
        for at, section in enumerate(sections):
            title = plain_label("smallStrong", "text2", section.title)
            title.setContentsMargins(0, 8 if at else 0, 0, 0)
            self._column.addWidget(title)
            for line in section.lines:
                self._column.addWidget(_row(line))
        self._column.addStretch(1)

    def allow_offers(self, is_allowed: bool) -> None:
        """Let its buttons be pressed, or not: while the plan runs."""
        for button in self._body.findChildren(QPushButton):
            button.setEnabled(is_allowed)

    @property
    def sentences(self) -> list[str]:
        """All that is said, from top to bottom."""
        return [said for _, lines in self._shown for said, _ in lines]


def _row(line: Line) -> QWidget:
    row = QWidget()
    across = QHBoxLayout(row)
    across.setContentsMargins(0, 0, 0, 0)
    across.setSpacing(8 - _LINK_EDGE)
    mark = IconLabel(line.icon, line.token)
    down = QVBoxLayout()
    down.setContentsMargins(0, 0, 0, 0)
    down.setSpacing(0)
    said = plain_label("body", "text2" if line.icon == "info" else "", line.said)
    said.setWordWrap(True)
    said.setContentsMargins(margins(_LINK_EDGE, 0, 0, 0))  # flush with the words of a link, which has a border
    said.setSizePolicy(QSizePolicy.Policy.Ignored, QSizePolicy.Policy.Preferred)
    said.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
    if line.is_stored:
        said.setProperty("textRole", "strong")
        said.setMinimumHeight(said.fontMetrics().height())
    down.addWidget(said)
    if line.offer and line.act is not None:
        button = QPushButton(label(line.offer))
        button.setProperty("kind", "link")
        button.setAutoDefault(False)
        button.setAccessibleDescription(line.said)
        button.clicked.connect(line.act)
        down.addWidget(button, 0, Qt.AlignmentFlag.AlignLeft)
    height = said.fontMetrics().height()
    top = QVBoxLayout()
    top.setContentsMargins(0, max(0, (height - _MARK) // 2), 0, 0)
    top.addWidget(mark)
    top.addStretch(1)
    across.addLayout(top)
    across.addLayout(down, 1)
    return row
