"""What the engine of the open connection tells of it."""

from __future__ import annotations

from collections.abc import Sequence

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QFormLayout, QFrame, QVBoxLayout

from explorer import text
from explorer.contract import Detail
from explorer.i18n import tr
from explorer.ui.engine_words import detail_name
from explorer.ui.labels import paragraph, plain_label

_NAME_CHARS = 120
_VALUE_CHARS = 300


class DetailsBox(QFrame):
    """A row for each thing it tells."""

    def __init__(self) -> None:
        super().__init__()
        self.setObjectName("connectionDetails")
        self._rows = QFormLayout()
        self._rows.setHorizontalSpacing(16)
        self._rows.setVerticalSpacing(4)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 8, 0, 4)
        column.setSpacing(4)
        column.addWidget(plain_label("smallStrong", "text2", tr("This connection")))
        column.addLayout(self._rows)

    @property
    def has_any(self) -> bool:
        return self._rows.rowCount() > 0

    def show_details(self, details: Sequence[Detail]) -> None:
        while self._rows.rowCount():
            self._rows.removeRow(0)
        for detail in details:
            value = paragraph("small", "", "detailLabel", text.shown(detail.value, _VALUE_CHARS))
            value.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
            self._rows.addRow(plain_label("small", "text2", text.shown(detail_name(detail), _NAME_CHARS)), value)
