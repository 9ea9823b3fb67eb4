"""The question for a key that is kept nowhere."""

from __future__ import annotations

from PySide6.QtCore import Qt
from PySide6.QtWidgets import QDialog, QHBoxLayout, QLabel, QLineEdit, QPushButton, QVBoxLayout, QWidget

from explorer.engines import StaticCredential
from explorer.i18n import tr
from explorer.text import sentence, shown
from explorer.ui.theme import theme


class KeyDialog(QDialog):
    """Asks for the key of one connection; `credential` holds it for this session, or with `is_trial` for a test."""

    def __init__(self, connection: str, why: str, parent: QWidget | None = None, *, is_trial: bool = False) -> None:
        super().__init__(parent)
        self.setObjectName("keyDialog")
        self.setWindowTitle(tr("Key"))
        title = QLabel()
        title.setTextFormat(Qt.TextFormat.PlainText)
        title.setProperty("textRole", "dialogTitle")
        title.setText(shown(connection))
        reason = QLabel()
        reason.setTextFormat(Qt.TextFormat.PlainText)
        reason.setWordWrap(True)
        reason.setProperty("tone", "text2")
        used = tr("It is used for this test only.") if is_trial else tr("It is used until the program ends.")
        reason.setText(" ".join((sentence(why), used)))
        self.key_edit = QLineEdit()
        self.key_edit.setObjectName("keyEdit")
        self.key_edit.setEchoMode(QLineEdit.EchoMode.Password)
        self.key_edit.setAccessibleName(tr("Key"))
        self.open_button = QPushButton(tr("Test") if is_trial else tr("Open"))
        self.open_button.setProperty("kind", "primary")
        self.open_button.setEnabled(False)
        self.open_button.setDefault(True)
        cancel = QPushButton(tr("Cancel"))
        column = QVBoxLayout(self)
        column.setContentsMargins(24, 24, 24, 16)
        column.setSpacing(12)
        column.addWidget(title)
        column.addWidget(reason)
        column.addWidget(self.key_edit)
        buttons = QHBoxLayout()
        buttons.addStretch(1)
        buttons.addWidget(cancel)
        buttons.addWidget(self.open_button)
        column.addLayout(buttons)
        self.setMinimumWidth(theme().scaled(420))
        self.key_edit.textChanged.connect(self._on_key_edit_text_changed)
        cancel.clicked.connect(self.reject)
        self.open_button.clicked.connect(self.accept)

    @property
    def credential(self) -> StaticCredential:
        return StaticCredential(self.key_edit.text())

    def _on_key_edit_text_changed(self, text: str) -> None:
        self.open_button.setEnabled(not StaticCredential(text).is_blank)
