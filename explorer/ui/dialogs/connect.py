"""Saved connections: what there is, and the few fields that the chosen engine needs."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Callable, Sequence
from pathlib import Path

from pydantic import ValidationError
from PySide6.QtCore import QMargins, Qt, QTimer, Signal
from PySide6.QtWidgets import (
    QAbstractButton,
    QButtonGroup,
    QCheckBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLabel,
    QLineEdit,
    QPushButton,
    QScrollArea,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.contract import ConfigError, Detail, EngineDescriptor, InvalidRequest, TinyMemoryError
from explorer.contract.model import reason
from explorer.engines import (
    ConnectionStore,
    EngineCredential,
    EngineSettings,
    KeyPlace,
    KeyStore,
    SavedConnection,
    StaticCredential,
    find_credential,
    forget_kept,
)
from explorer.engines.registry import check_url, is_private
from explorer.i18n import tr
from explorer.ui import icons
from explorer.ui.ask import ask
from explorer.ui.clock import local_zone
from explorer.ui.dialogs.connect_parts.cards import EngineCard, EngineCards
from explorer.ui.dialogs.connect_parts.details import DetailsBox
from explorer.ui.dialogs.connect_parts.more_settings import FaultRow, MoreSettings
from explorer.ui.dialogs.connect_parts.refused import Server
from explorer.ui.dialogs.connect_parts.side import ConnectionRow
from explorer.ui.dialogs.connect_parts.trial import Found, check_settings, size_of, try_connection
from explorer.ui.dialogs.fields import KeyPlaceBox, ResultLine, field, row_of, rows_of
from explorer.ui.dialogs.key import KeyDialog
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.engine_words import engine_label
from explorer.ui.files import choose_memory
from explorer.ui.jobs import Jobs
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.theme import theme

_PAUSE_MS = 600
_PLACES = (KeyPlace.KEYRING, KeyPlace.ENVIRONMENT, KeyPlace.ASK)


class _NoKey(ConfigError):
    """There is no key to test with."""


class ConnectDialog(QDialog):
    """Chooses, makes, tests and removes saved connections. Accepted: `chosen_name` is to be opened."""

    renamed = Signal(str, str)  # the name before, and the one under which it is saved now

    def __init__(
        self,
        store: ConnectionStore,
        keys: KeyStore,
        saved: Sequence[SavedConnection],
        engines: Sequence[EngineDescriptor],
        current: str,
        parent: QWidget | None = None,
        details: Callable[[], Sequence[Detail]] | None = None,
    ) -> None:
        """`details` tells of the connection that is open, which is `current`."""
        super().__init__(parent)
        self.setObjectName("connectDialog")
        self.setWindowTitle(tr("Connections"))
        resize_to_design(self, 840, 656)
        self.chosen_name = ""
        self.chosen_is_new = False
        """Whether it names a file that was not open before, and may have to be made."""
        self.jobs = Jobs(self)
        self._store = store
        self._keys = keys
        self._engines = list(engines)
        self._zone = local_zone()
        self._new_place = KeyPlace.KEYRING  # where a new connection's key goes unless told otherwise
        self._edited: SavedConnection | None = None
        self._key_name = ""  # under which the keyring has the edited one's key
        self._current, self._details = current, details
        self._pause = QTimer(self)
        """Runs while an address is typed: half of one is no fault yet."""
        self._pause.setSingleShot(True)
        self._pause.setInterval(_PAUSE_MS)
        self._build_side()
        self._build_form()
        self._build_foot()
        columns = QHBoxLayout()
        columns.setContentsMargins(0, 0, 0, 0)
        columns.setSpacing(0)
        columns.addWidget(self._side)
        columns.addWidget(self._page, 1)
        whole = QVBoxLayout(self)
        whole.setContentsMargins(0, 0, 0, 0)
        whole.setSpacing(0)
        whole.addLayout(columns, 1)
        whole.addWidget(self._foot)
        self._connect()
        self._fill_side(list(saved))
        self.jobs.start("keyring", asyncio.to_thread(lambda: keys.is_available), self._on_keyring_known)
        shown = next((one for one in saved if one.name == current), saved[0] if saved else None)
        self._edit(shown)
        (self.open_button if shown is not None else self.path_edit).setFocus(Qt.FocusReason.OtherFocusReason)

    # Building

    def _build_side(self) -> None:
        self._side = QFrame()
        self._side.setProperty("surface", "panel")
        self._side.setFixedWidth(theme().scaled(248))
        head = QLabel(tr("Connections"))
        head.setProperty("textRole", "smallStrong")
        head.setProperty("tone", "text2")
        self._none_label = _tone(tr("None saved yet"))
        self._none_label.setContentsMargins(margins(12, 0, 0, 0))
        self._rows = QVBoxLayout()
        self._rows.setSpacing(2)
        self._row_group = QButtonGroup(self)
        self.new_button = QPushButton(tr("New connection"))
        self.new_button.setObjectName("newButton")
        self.new_button.setProperty("kind", "flat")
        icons.keep(self.new_button, "plus")
        column = QVBoxLayout(self._side)
        column.setContentsMargins(8, 16, 8, 12)
        head.setContentsMargins(margins(12, 0, 0, 4))
        column.addWidget(head)
        column.addWidget(self._none_label)
        column.addLayout(self._rows)
        column.addStretch(1)
        column.addWidget(self.new_button, 0, Qt.AlignmentFlag.AlignLeft)

    def _build_form(self) -> None:
        self._page = QFrame()
        self._page.setProperty("surface", "base")
        self._form = QWidget()
        self._title = plain_label("dialogTitle")
        self._aside = plain_label("small", "text2")
        self._cards = EngineCards(self._engines)
        self.name_edit = field("nameEdit", tr("Name"))
        self.path_edit = field("pathEdit", tr("File"))
        self.path_edit.setProperty("kind", "mono")
        self.choose_button = QPushButton(tr("Choose…"))
        self.read_only_check = QCheckBox(tr("Open read-only"))
        self.read_only_check.setObjectName("readOnlyCheck")
        self.endpoint_edit = field("endpointEdit", tr("Address"))
        self.endpoint_edit.setProperty("kind", "mono")
        self.key_edit = field("keyEdit", tr("Key"))
        self.key_edit.setEchoMode(QLineEdit.EchoMode.Password)
        self.place_box = KeyPlaceBox("keyPlaceBox", _PLACES)
        self.variable_edit = field("variableEdit", tr("Environment variable"))
        self.variable_edit.setPlaceholderText(tr("its name, such as {example}", example="CORTEX_KEY"))
        self._modes = plain_label("body")
        self._result = ResultLine(QMargins(24, 8, 24, 12))

        access = _tone(tr("Nothing in it can change until you unlock it."))
        access.setWordWrap(True)
        self._path_row = row_of(self.path_edit, self.choose_button)
        self._endpoint_row = FaultRow(self.endpoint_edit)
        self._key_row = FaultRow(self.key_edit)
        self._fields = rows_of(
            [
                (tr("Name"), self.name_edit),
                (tr("File"), self._path_row),
                (tr("Address"), self._endpoint_row),
                # Translators: where it is kept.
                (tr("Key kept"), self.place_box),
                (tr("Key"), self._key_row),
                (tr("Variable"), self.variable_edit),
                (tr("Access"), row_of(self.read_only_check, access)),
                (tr("Search"), row_of(self._modes, _tone(tr("as this engine declares")))),
            ]
        )
        self._details_box = DetailsBox()
        self._fields.addRow(self._details_box)
        self.more = MoreSettings(self._engines, self._fields, self)
        self._column = column = QVBoxLayout(self._form)
        column.setContentsMargins(24, 20, 24, 16)
        column.setSpacing(4)
        column.addWidget(self._title)
        column.addWidget(self._aside)
        column.addSpacing(8)
        column.addWidget(self._cards)
        column.addSpacing(12)
        column.addLayout(self._fields)
        column.addStretch(1)
        self._scroll = QScrollArea()
        self._scroll.setObjectName("connectScroll")
        self._scroll.setWidgetResizable(True)
        self._scroll.setFocusPolicy(Qt.FocusPolicy.NoFocus)
        self._scroll.setHorizontalScrollBarPolicy(Qt.ScrollBarPolicy.ScrollBarAlwaysOff)
        self._scroll.setWidget(self._form)
        page = QVBoxLayout(self._page)
        page.setContentsMargins(0, 0, 0, 0)
        page.setSpacing(0)
        page.addWidget(self._scroll, 1)
        page.addWidget(self._result)

    def _build_foot(self) -> None:
        self._foot = QFrame()
        self._foot.setProperty("surface", "dialogFoot")
        self._foot.setMinimumHeight(theme().row_height("dialogFoot"))
        self.remove_button = QPushButton(tr("Remove from list"))
        self.remove_button.setProperty("kind", "flat")
        self.test_button = QPushButton(tr("Test"))
        self.cancel_button = QPushButton(tr("Cancel"))
        self.open_button = QPushButton(tr("Open"))
        self.open_button.setObjectName("openButton")
        self.open_button.setProperty("kind", "primary")
        self.open_button.setDefault(True)
        row = QHBoxLayout(self._foot)
        row.setContentsMargins(24, 0, 24, 0)
        row.setSpacing(8)
        row.addWidget(self.remove_button)
        row.addStretch(1)
        for button in (self.test_button, self.cancel_button, self.open_button):
            row.addWidget(button)

    def _connect(self) -> None:
        self.new_button.clicked.connect(self._on_new_button_clicked)
        self._row_group.buttonClicked.connect(self._on_row_group_button_clicked)
        self._cards.group.buttonClicked.connect(self._on_cards_button_clicked)
        self.choose_button.clicked.connect(self._on_choose_button_clicked)
        self.place_box.currentIndexChanged.connect(self._show_fields)
        for edit in (self.name_edit, self.path_edit, self.endpoint_edit, self.key_edit, self.variable_edit):
            edit.textEdited.connect(self._on_edited)
        self.endpoint_edit.textEdited.connect(lambda: self._pause.start())
        self.endpoint_edit.editingFinished.connect(self._show_endpoint_fault)
        self._pause.timeout.connect(self._show_endpoint_fault)
        self.more.edited.connect(self._on_edited)
        self.more.left.connect(self._on_more_left)
        self.test_button.clicked.connect(self._on_test_button_clicked)
        self.cancel_button.clicked.connect(self.reject)
        self.open_button.clicked.connect(self._on_open_button_clicked)
        self.remove_button.clicked.connect(self._on_remove_button_clicked)
        self.jobs.failed.connect(self._on_jobs_failed)
        self.jobs.ended.connect(self._on_jobs_ended)

    # What is shown

    def _fill_side(self, saved: list[SavedConnection]) -> None:
        for button in self._row_group.buttons():
            self._row_group.removeButton(button)
            self._rows.removeWidget(button)
            button.deleteLater()
        self._none_label.setVisible(not saved)
        for one in saved:
            row = ConnectionRow(one, self._descriptor(one.engine))
            self._row_group.addButton(row)
            self._rows.addWidget(row)

    def _edit(self, saved: SavedConnection | None) -> None:
        """Fill the form with a saved connection, or with a new one."""
        self.jobs.cancel("test")  # its result would be another connection's
        self._edited = saved
        self._row_group.setExclusive(False)
        for button in self._row_group.buttons():
            assert isinstance(button, ConnectionRow)
            button.setChecked(saved is not None and button.saved.name == saved.name)
        self._row_group.setExclusive(True)
        settings = saved.settings if saved is not None else EngineSettings()
        engine_id = saved.engine if saved is not None else self._engines[0].id
        for card in self._cards.cards:
            card.setChecked(card.engine.id == engine_id)
        self.name_edit.setText(saved.name if saved is not None else "")
        self.path_edit.setText(settings.path or "")
        self.read_only_check.setChecked(bool(settings.read_only))
        self.endpoint_edit.setText(settings.endpoint or "")
        self.more.show_values(settings)
        self.key_edit.clear()  # a kept key never comes back on screen
        place = saved.key_from if saved is not None and saved.key_from is not KeyPlace.NONE else self._new_place
        self.place_box.show_place(place)
        self.variable_edit.setText((saved.key_variable or "") if saved is not None else "")
        is_kept = saved is not None and saved.key_from is KeyPlace.KEYRING
        self._key_name = saved.name if saved is not None and is_kept else ""
        self.key_edit.setPlaceholderText(tr("kept; enter a new one to replace it") if is_kept else "")
        self._title.setText(text.shown(saved.name) if saved is not None else tr("New connection"))
        opened = saved.last_opened if saved is not None else None
        if opened is not None:
            self._aside.setText(tr("Last opened {time}", time=text.when_full(opened, self._zone)))
        else:
            self._aside.setText(tr("Not opened yet"))
        self.remove_button.setEnabled(saved is not None)
        self._result.hide()
        self._key_row.show_fault("")
        is_open = saved is not None and saved.name == self._current
        self._details_box.show_details(self._details() if is_open and self._details is not None else [])
        self._fields.setRowVisible(self._details_box, self._details_box.has_any)
        self._show_fields()

    def _show_fields(self, *_: object) -> None:
        engine = self._engine()
        place = self.place_box.place
        shows_path = engine is not None and engine.needs_path
        shows_endpoint = engine is not None and _takes_endpoint(engine)
        shows_key = engine is not None and engine.needs_key
        self._fields.setRowVisible(self._path_row, shows_path)
        self._fields.setRowVisible(self._endpoint_row, shows_endpoint)
        self._fields.setRowVisible(self.place_box, shows_key)
        self._fields.setRowVisible(self._key_row, shows_key and place is KeyPlace.KEYRING)
        self._fields.setRowVisible(self.variable_edit, shows_key and place is KeyPlace.ENVIRONMENT)
        if engine is not None:
            self.endpoint_edit.setPlaceholderText(engine.default_endpoint or "https://\u2026")
            self._modes.setText(text.listed(map(text.word, engine.fetch_modes)) or tr("none"))
        self.more.show_engine(engine)
        self._show_endpoint_fault()
        self.open_button.setEnabled(engine is not None)
        self.test_button.setEnabled(engine is not None)

    def _show_endpoint_fault(self) -> None:
        """Say of an address, before anything is sent there, why nothing will be."""
        self._pause.stop()
        self._endpoint_row.show_fault(self._endpoint_fault())

    def _endpoint_fault(self) -> str:
        engine, endpoint = self._engine(), self.endpoint_edit.text().strip()
        if engine is None or not endpoint:
            return ""
        try:
            check_url(tr("the address"), endpoint)
        except ConfigError as error:
            return text.sentence(error.text)
        if engine.needs_key and not is_private(endpoint):
            return tr(
                "The key would travel unencrypted, so nothing is sent there. Use https://, "
                "or http:// only for a server on this computer."
            )
        return ""

    def _show_fault(self, lane: str, error: TinyMemoryError) -> None:
        """Say what cannot be used at its field, where one is named, else below."""
        row: FaultRow | None = None
        if (name := self.more.named_in(error)) is not None:
            row = self.more.show_fault(name, error)
        elif self._endpoint_row.isVisibleTo(self) and (words := self._endpoint_fault()):
            row = self._endpoint_row
            row.show_fault(words)
        elif isinstance(error, _NoKey):
            row = self._key_row
            row.show_fault(text.sentence(error.text))
        if lane == "check":  # a person is at another field by now
            return
        if row is None:
            self._result.show_failure(error)
            return
        self._result.hide()
        row.field.setFocus(Qt.FocusReason.OtherFocusReason)
        self._column.activate()  # what is said makes it higher
        self._scroll.ensureWidgetVisible(row)

    def _engine(self) -> EngineDescriptor | None:
        card = self._cards.group.checkedButton()
        return card.engine if isinstance(card, EngineCard) else None

    def _descriptor(self, id: str) -> EngineDescriptor | None:
        return next((engine for engine in self._engines if engine.id == id), None)

    # What is asked for

    def connection(self) -> SavedConnection:
        """The form as a connection. Raises ConfigError with what is missing."""
        engine = self._engine()
        if engine is None:
            raise ConfigError(tr("choose an engine"))
        old = self._edited.settings if self._edited is not None else EngineSettings()
        more = self.more.values()
        needs_key = engine.needs_key
        place = self.place_box.place if needs_key else KeyPlace.NONE
        path = self.path_edit.text().strip()
        if engine.needs_path and not path:
            raise ConfigError(tr("choose a file; one that is not there yet is made"))
        name = self.name_edit.text().strip() or (Path(path).name if path else engine_label(engine))
        settings = old.model_copy(
            update={
                "path": str(Path(path).expanduser().absolute()) if engine.needs_path else None,
                "read_only": self.read_only_check.isChecked() or None,
                "endpoint": (self.endpoint_edit.text().strip() or None) if _takes_endpoint(engine) else None,
                **more,
            }
        )
        variable = self.variable_edit.text().strip() or None
        if place is KeyPlace.ENVIRONMENT and variable is None:
            raise ConfigError(tr("name the environment variable that holds the key"))
        try:
            return SavedConnection(
                name=name,
                engine=engine.id,
                settings=settings,
                last_opened=self._edited.last_opened if self._edited is not None else None,
                key_from=place,
                key_variable=variable if place is KeyPlace.ENVIRONMENT else None,
            )
        except ValidationError as error:
            raise ConfigError(reason(error)) from None

    async def _credential(self, saved: SavedConnection) -> EngineCredential:
        typed = StaticCredential(self.key_edit.text())
        if saved.key_from is KeyPlace.KEYRING and not typed.is_blank:  # else its field is not shown
            return typed
        return (await asyncio.to_thread(find_credential, saved, self._keys)).credential

    async def _credential_to_test(self, saved: SavedConnection) -> EngineCredential:
        """The key to test with, for which a person is asked where it is kept nowhere; None where they give none."""
        if (credential := await self._credential(saved)) is not None:
            return credential
        if saved.key_from is KeyPlace.KEYRING:
            raise _NoKey(tr("enter the key: none is kept for this connection yet"))
        why = (await asyncio.to_thread(find_credential, saved, self._keys)).ask_because or ""
        question = KeyDialog(saved.name, why, self, is_trial=True)
        return question.credential if await ask(question) else None

    async def _test(self) -> Found | None:
        saved = self.connection()
        path = saved.settings.path
        if path is not None and await asyncio.to_thread(size_of, path) is None:
            await asyncio.to_thread(_check_folder, path)
            return Found(tr("The file is not there yet: opening makes a new, empty memory."), None)
        credential: EngineCredential = None
        if saved.key_from is not KeyPlace.NONE:
            await check_settings(saved, _placeholder(saved))  # refused before a key is looked for
            credential = await self._credential_to_test(saved)
            if credential is None:
                return None
        engine = self._engine()
        endpoint = saved.settings.endpoint_or(engine.default_endpoint) if engine is not None else None
        server = Server(engine, endpoint, self._zone) if engine is not None and endpoint is not None else None
        return await try_connection(saved, credential, server)

    async def _check(self) -> None:
        """Have the engine look at what is set, and reach nothing."""
        saved = self.connection()
        await check_settings(saved, _placeholder(saved))

    async def _save(self) -> str:
        saved = self.connection()
        replacing = self._edited.name if self._edited is not None else None
        before = self._edited.settings.path if self._edited is not None and self._edited.last_opened else None
        self.chosen_is_new = saved.settings.path != before
        # Refusals come before anything is written.
        await check_settings(saved, await self._credential(saved) or _placeholder(saved))
        path = saved.settings.path
        if path is not None and await asyncio.to_thread(size_of, path) is None:
            await asyncio.to_thread(_check_folder, path)
        if replacing is None:
            await asyncio.to_thread(self._store.add, saved)
        else:
            await asyncio.to_thread(lambda: self._store.save(saved, replacing=replacing))
        if (old := self._edited) is not None and (old.engine, old.settings) != (saved.engine, saved.settings):
            await asyncio.to_thread(forget_kept, old.engine, old.engine_settings)  # it may be another memory by now
        self._edited = saved  # should the keyring refuse below, another try replaces this entry
        if replacing is not None and replacing != saved.name:
            self.renamed.emit(replacing, saved.name)
        await self._keep_key(saved)
        return saved.name

    async def _keep_key(self, saved: SavedConnection) -> None:
        """Have the keyring hold the key under the connection's name, and none that nobody would find or remove."""
        typed, before = StaticCredential(self.key_edit.text()), self._key_name
        is_kept = saved.key_from is KeyPlace.KEYRING
        if is_kept and typed.is_blank:
            if before:
                await asyncio.to_thread(self._keys.rename, before, saved.name)
        else:
            if is_kept:
                await asyncio.to_thread(self._keys.set, saved.name, typed)
            if before and (before != saved.name or not is_kept):
                await asyncio.to_thread(self._keys.delete, before)
        self._key_name = saved.name if is_kept else ""

    async def _remove(self, saved: SavedConnection) -> list[SavedConnection]:
        await asyncio.to_thread(self._store.remove, saved.name)
        await asyncio.to_thread(forget_kept, saved.engine, saved.engine_settings)
        if saved.key_from is KeyPlace.KEYRING:
            await asyncio.to_thread(self._keys.delete, saved.name)
        return await asyncio.to_thread(self._store.load)

    # Signals

    def _on_new_button_clicked(self) -> None:
        self._edit(None)
        self.name_edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_row_group_button_clicked(self, button: QAbstractButton) -> None:
        assert isinstance(button, ConnectionRow)
        self._edit(button.saved)

    def _on_cards_button_clicked(self, card: QAbstractButton) -> None:
        self._on_edited()
        self._key_row.show_fault("")
        self.more.clear_faults()
        self._show_fields()

    def _on_edited(self, *_: object) -> None:
        self.jobs.cancel("test")
        self._result.hide()
        self._key_row.show_fault("")

    def _on_more_left(self) -> None:
        engine = self._engine()
        if engine is not None and not engine.needs_path:  # which would be made
            self.jobs.start("check", self._check(), lambda _: self.more.clear_faults())

    def _on_choose_button_clicked(self) -> None:
        self.jobs.start("choose", self._choose(), lambda _: None)

    async def _choose(self) -> None:
        title = tr("Choose a memory file, or name a new one")
        path = await choose_memory(self, title, self.path_edit.text(), may_be_new=True)
        if path is not None:
            self.path_edit.setText(str(path))
            self._on_edited()

    def _on_test_button_clicked(self) -> None:
        if self.jobs.is_running("test"):
            self.stop_test()
            return
        self.more.clear_faults()
        self._result.show_words(tr("Testing the connection"), None)
        self.test_button.setText(tr("Stop testing"))
        self.jobs.start("test", self._test(), self._on_tested)

    def _on_tested(self, found: Found | None) -> None:
        if found is None:  # the person did not give a key
            self._result.hide()
        else:
            self._result.show_words(found.words, found.is_good, found.details)

    def reject(self) -> None:
        if not self.jobs.is_running("save"):  # a connection and its key are saved, or removed, together
            super().reject()

    def stop_test(self) -> None:
        """Ask the engine no further; nothing is said of it then."""
        self.jobs.stop("test")
        self._result.hide()

    def _on_jobs_ended(self, lane: str, error: BaseException | None) -> None:
        if lane == "test":
            self.test_button.setText(tr("Test"))

    def _on_open_button_clicked(self) -> None:
        self.jobs.start("save", self._save(), self._on_saved)

    def _on_saved(self, name: str) -> None:
        self.chosen_name = name
        self.accept()

    def _on_remove_button_clicked(self) -> None:
        if self._edited is not None:
            self.jobs.start("save", self._remove(self._edited), self._on_removed)

    def _on_removed(self, saved: list[SavedConnection]) -> None:
        self._fill_side(saved)
        self._edit(saved[0] if saved else None)

    def _on_keyring_known(self, is_available: bool) -> None:
        """Offer the system's keyring only where there is one; a new connection then asks for its key."""
        if is_available:
            return
        self._new_place = KeyPlace.ASK
        self.place_box.refuse_keyring()
        is_new = self._edited is None or self._edited.key_from is KeyPlace.NONE
        if is_new and self.place_box.place is KeyPlace.KEYRING:
            self.place_box.show_place(self._new_place)

    def _on_jobs_failed(self, lane: str, error: Exception) -> None:
        if isinstance(error, ConfigError | InvalidRequest):
            self._show_fault(lane, error)
        elif lane != "check":  # what is said of a field is said while it is filled in, the rest when it is tried
            self._result.show_failure(error)


def _takes_endpoint(engine: EngineDescriptor) -> bool:
    return engine.needs_endpoint or engine.default_endpoint is not None


def _check_folder(path: str) -> None:
    """Raise ConfigError where a new file cannot be made at `path`."""
    folder = os.path.dirname(path)
    if not os.path.isdir(folder):
        raise ConfigError(tr("there is no folder {folder}; make it, or choose another file", folder=folder))
    if not os.access(folder, os.W_OK):
        raise ConfigError(tr("nothing can be written in {folder}; choose another folder", folder=folder))


def _placeholder(saved: SavedConnection) -> EngineCredential:
    """Stands for a key that comes at connect, so that everything else of the connection is checked now."""
    return StaticCredential("later") if saved.key_from is not KeyPlace.NONE else None


def _tone(words: str) -> QLabel:
    label = plain_label("small", "text3")
    label.setText(words)
    return label
