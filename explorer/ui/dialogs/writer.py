"""Who writes answers: the engine by itself, or a model at an address, to which question and passages then go."""

from __future__ import annotations

import asyncio
import time

from pydantic import ValidationError
from PySide6.QtCore import Qt
from PySide6.QtWidgets import (
    QCheckBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPushButton,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.asking import EndpointWriter, Given, WriterSettings, WriterStore
from explorer.contract import ConfigError
from explorer.contract.model import reason
from explorer.engines import KeyPlace, StaticCredential
from explorer.engines.json_endpoint import place_of
from explorer.i18n import tr
from explorer.ui.dialogs.fields import KeyPlaceBox, ResultLine, field, rows_of
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.jobs import Jobs
from explorer.ui.labels import plain_label
from explorer.ui.theme import theme

EXAMPLE = "http://localhost:11434/v1"
_PLACE_CHARS = 120
_PLACES = (KeyPlace.NONE, KeyPlace.KEYRING, KeyPlace.ENVIRONMENT)
_ASKED = "Which colour is the door?"
_GIVEN = Given("The door of the office was painted green.")
"""What a test asks: made up, and nothing that is stored."""


def shown_place(endpoint: str) -> str:
    """An address as it is named on screen: host, port and path; as it is typed where it is none."""
    try:
        place = place_of(endpoint.strip())
    except ValueError:
        place = ""
    return text.shown(place or endpoint.strip(), _PLACE_CHARS)


class WriterDialog(QDialog):
    """Off until it is turned on. What is saved holds for all windows; a kept key never comes back on screen."""

    def __init__(self, store: WriterStore, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self.setObjectName("writerDialog")
        self.setWindowTitle(tr("Who writes answers"))
        resize_to_design(self, 600, 432)
        self.jobs = Jobs(self)
        self._store = store
        self._saved = WriterSettings()
        self._has_key = False
        self._build_form()
        self._build_foot()
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addWidget(self._form, 1)
        whole.addWidget(self._foot)
        self.on_check.toggled.connect(self._show_fields)
        self.place_box.currentIndexChanged.connect(self._on_edited)
        for edit in (self.endpoint_edit, self.model_edit, self.key_edit, self.variable_edit):
            edit.textEdited.connect(self._on_edited)
        self.test_button.clicked.connect(self._on_test_button_clicked)
        self.cancel_button.clicked.connect(self.reject)
        self.save_button.clicked.connect(self._on_save_button_clicked)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.ended.connect(self._on_jobs_ended)
        self._show_fields()
        self._form.setEnabled(False)  # until what is saved is known
        self.jobs.start("load", asyncio.to_thread(store.load), self._on_loaded)

    def _build_form(self) -> None:
        self._form = QFrame()
        self._form.setProperty("surface", "base")
        title = plain_label("dialogTitle", words=tr("Who writes answers"))
        aside = plain_label(
            "body",
            "text2",
            tr(
                "The engine answers by itself, and nothing goes anywhere else. "
                "A model of your choice can write the answer in its place, from the passages that the engine finds."
            ),
        )
        aside.setWordWrap(True)
        self.on_check = QCheckBox(tr("A model at this address writes the answers"))
        self.on_check.setObjectName("writerOnCheck")
        self.endpoint_edit = field("writerEndpointEdit", tr("Address"))
        self.endpoint_edit.setProperty("kind", "mono")
        self.endpoint_edit.setPlaceholderText(EXAMPLE)
        self.model_edit = field("writerModelEdit", tr("Model"))
        self.model_edit.setPlaceholderText(tr("its name, as the server has it"))
        self.place_box = KeyPlaceBox("writerKeyPlaceBox", _PLACES)
        self.key_edit = field("writerKeyEdit", tr("Key"))
        self.key_edit.setEchoMode(QLineEdit.EchoMode.Password)
        self.variable_edit = field("writerVariableEdit", tr("Environment variable"))
        self.variable_edit.setPlaceholderText(tr("its name, such as {example}", example="ANSWERS_KEY"))
        self.warning = plain_label("small", "caution")
        self.warning.setObjectName("writerWarningLabel")
        self.warning.setWordWrap(True)
        self.result_line = ResultLine()
        rows: list[tuple[str, QWidget]] = [
            (tr("Address"), self.endpoint_edit),
            (tr("Model"), self.model_edit),
            # Translators: where it is kept.
            (tr("Key kept"), self.place_box),
            (tr("Key"), self.key_edit),
            (tr("Variable"), self.variable_edit),
        ]
        self._fields = rows_of(rows)
        column = QVBoxLayout(self._form)
        column.setContentsMargins(24, 20, 24, 16)
        column.setSpacing(4)
        column.addWidget(title)
        column.addWidget(aside)
        column.addSpacing(12)
        column.addWidget(self.on_check, 0, Qt.AlignmentFlag.AlignLeft)
        column.addSpacing(8)
        column.addLayout(self._fields)
        column.addSpacing(8)
        column.addWidget(self.warning)
        column.addSpacing(8)
        column.addWidget(self.result_line)
        column.addStretch(1)

    def _build_foot(self) -> None:
        self._foot = QFrame()
        self._foot.setProperty("surface", "dialogFoot")
        self._foot.setMinimumHeight(theme().row_height("dialogFoot"))
        self.test_button = QPushButton(tr("Test"))
        self.test_button.setObjectName("writerTestButton")
        self.test_button.setToolTip(tr("Asks the model a question that is made up, with nothing of what is stored"))
        self.cancel_button = QPushButton(tr("Cancel"))
        self.save_button = QPushButton(tr("Save"))
        self.save_button.setObjectName("writerSaveButton")
        self.save_button.setProperty("kind", "primary")
        self.save_button.setDefault(True)
        row = QHBoxLayout(self._foot)
        row.setContentsMargins(24, 0, 24, 0)
        row.setSpacing(8)
        row.addWidget(self.test_button)
        row.addStretch(1)
        for button in (self.cancel_button, self.save_button):
            row.addWidget(button)

    # What is shown

    def _on_loaded(self, settings: WriterSettings) -> None:
        self._saved = settings
        self.on_check.setChecked(settings.is_on)
        self.endpoint_edit.setText(settings.endpoint)
        self.model_edit.setText(settings.model)
        self.place_box.show_place(settings.key_from)
        self.variable_edit.setText(settings.key_variable or "")
        self._form.setEnabled(True)
        self._show_fields()
        self.on_check.setFocus(Qt.FocusReason.OtherFocusReason)
        self.jobs.start("keyring", asyncio.to_thread(_looked_for, self._store, settings), self._on_keyring_known)

    def _on_keyring_known(self, found: tuple[bool, bool]) -> None:
        is_available, self._has_key = found
        if not is_available:
            self.place_box.refuse_keyring()
        self._show_fields()

    def _show_fields(self, *_: object) -> None:
        is_on = self.on_check.isChecked()
        for widget in (self.endpoint_edit, self.model_edit, self.place_box, self.key_edit, self.variable_edit):
            widget.setEnabled(is_on)
        self._fields.setRowVisible(self.key_edit, self.place_box.place is KeyPlace.KEYRING)
        self._fields.setRowVisible(self.variable_edit, self.place_box.place is KeyPlace.ENVIRONMENT)
        self.key_edit.setPlaceholderText(tr("kept; enter a new one to replace it") if self._is_key_kept else "")
        place = text.isolate(shown_place(self.endpoint_edit.text()) or tr("this address"))
        self.warning.setText(
            tr(
                "Each question, and the passages that are found for it, are then sent to {address}. "
                "Whoever runs that server can read them.",
                address=place,
            )
            if is_on
            else tr("It is off: no question and no passage is sent to any model.")
        )
        self.warning.setProperty("tone", "caution" if is_on else "text2")
        self.warning.style().unpolish(self.warning)
        self.warning.style().polish(self.warning)
        self.test_button.setEnabled(is_on)

    @property
    def _is_key_kept(self) -> bool:
        """Whether the keyring has a key for the address that is typed."""
        is_same = shown_place(self.endpoint_edit.text()) == shown_place(self._saved.endpoint)
        return self._has_key and is_same

    # What is asked for

    def settings(self) -> WriterSettings:
        """The form as settings. Raises ConfigError with what does not fit."""
        place = self.place_box.place
        variable = self.variable_edit.text().strip() or None
        try:
            return WriterSettings(
                is_on=self.on_check.isChecked(),
                endpoint=self.endpoint_edit.text().strip(),
                model=self.model_edit.text().strip(),
                key_from=place,
                key_variable=variable if place is KeyPlace.ENVIRONMENT else None,
            )
        except ValidationError as error:
            raise ConfigError(reason(error)) from None

    def _typed(self, settings: WriterSettings) -> StaticCredential | None:
        typed = StaticCredential(self.key_edit.text())
        return None if settings.key_from is not KeyPlace.KEYRING or typed.is_blank else typed

    async def _test(self) -> str:
        settings = self.settings()
        EndpointWriter(settings.endpoint, settings.model)  # refuses what is no address before a key is looked for
        credential = self._typed(settings) or await asyncio.to_thread(self._store.credential, settings)
        writer = EndpointWriter(settings.endpoint, settings.model, credential)
        began = time.monotonic()
        written = await writer.write(_ASKED, [_GIVEN])
        took = text.duration(time.monotonic() - began)
        return tr("{model} answers, in {took}.", model=text.inline(written.model, _PLACE_CHARS), took=took)

    async def _save(self) -> None:
        settings = self.settings()
        key = self._typed(settings)
        if settings.is_on and settings.key_from is KeyPlace.KEYRING and key is None and not self._is_key_kept:
            raise ConfigError(tr("enter the key, or choose that none is needed"))
        is_needed = settings.key_from is KeyPlace.KEYRING and self._is_key_kept
        await asyncio.to_thread(self._store.save, settings, key)
        if self._has_key and not is_needed:  # it is not to stay where nobody looks for it
            await asyncio.to_thread(self._store.delete_key, self._saved)

    # Signals

    def _on_edited(self, *_: object) -> None:
        self.jobs.cancel("test")
        self.result_line.hide()
        self._show_fields()

    def _on_test_button_clicked(self) -> None:
        if self.jobs.is_running("test"):
            self.jobs.stop("test")
            self.result_line.hide()
            return
        self.result_line.show_words(tr("Asking the model"), None)
        self.test_button.setText(tr("Stop testing"))
        self.jobs.start("test", self._test(), lambda said: self.result_line.show_words(said, True))

    def _on_save_button_clicked(self) -> None:
        self.jobs.start("save", self._save(), lambda _: self.accept())

    def done(self, code: int) -> None:
        if not self.jobs.is_running("save") or code == QDialog.DialogCode.Accepted:
            for lane in ("load", "keyring", "test"):
                self.jobs.cancel(lane)
            super().done(code)

    def _on_jobs_ended(self, lane: str, error: BaseException | None) -> None:
        if lane == "test":
            self.test_button.setText(tr("Test"))

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        self.result_line.show_failure(error)


def _looked_for(store: WriterStore, settings: WriterSettings) -> tuple[bool, bool]:
    """Whether there is a keyring, and whether it has the key of these settings, as far as it says."""
    try:
        has_key = settings.key_from is KeyPlace.KEYRING and store.has_key(settings)
    except ConfigError:
        has_key = False
    return store.has_keyring, has_key
