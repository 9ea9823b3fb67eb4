"""The question before a link of a stored text is opened."""

from __future__ import annotations

from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import QDialog, QFrame, QHBoxLayout, QLabel, QPushButton, QVBoxLayout, QWidget

from explorer.i18n import tr
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.ink import Ink, end_of, put
from explorer.ui.viewer_parts.readers import PlainReader

WIDTH_EM = 36
LINES = 4


class LinkDialog(QDialog):
    """Shows where a link leads, character by character; Cancel is the default."""

    def __init__(self, url: QUrl, parent: QWidget) -> None:
        super().__init__(parent)
        self.setObjectName("linkDialog")
        self.setWindowTitle(tr("Open link"))
        title = QLabel(tr("Open this link outside the program?"))
        title.setProperty("tone", "title")
        host = QLabel(tr("It leads to the address below, which is part of a stored text."))
        host.setProperty("tone", "text2")
        host.setWordWrap(True)
        self.target_view = PlainReader("linkTarget")
        self.target_view.setAccessibleName(tr("Address"))
        self.target_view.setProperty("kind", "field")
        self.target_view.start("mono")
        self.target_view.document().setDocumentMargin(6)
        self.target_view.setFixedHeight(round(theme().metrics("mono").lineSpacing() * LINES) + 20)
        ink = Ink()
        put(end_of(self.target_view.document()), address(url), ink.chars("mono"), ink)
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setObjectName("cancelButton")
        self.cancel_button.setDefault(True)
        self.open_button = QPushButton(tr("Open link"))
        self.open_button.setObjectName("openButton")
        self.open_button.setAutoDefault(False)

        page = QVBoxLayout()
        page.setContentsMargins(24, 20, 24, 16)
        page.setSpacing(8)
        page.addWidget(title)
        page.addWidget(host)
        page.addWidget(self.target_view)
        foot = QFrame()
        foot.setProperty("surface", "dialogFoot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(24, 11, 24, 11)
        row.setSpacing(8)
        row.addStretch(1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.open_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addLayout(page)
        column.addWidget(foot)
        self.setMinimumWidth(theme().size_px("body") * WIDTH_EM)
        self.setWindowModality(Qt.WindowModality.WindowModal)
        self.cancel_button.clicked.connect(self.reject)
        self.open_button.clicked.connect(self.accept)
        self.cancel_button.setFocus()


def address(url: QUrl) -> str:
    """The address as it will be used: encoded, so that no letter of it can pass for another."""
    return url.toString(QUrl.ComponentFormattingOption.FullyEncoded)
