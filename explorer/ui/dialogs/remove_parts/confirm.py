"""What is said before a removal runs: the way back, the switches, the name; and the buttons."""

from __future__ import annotations

from pathlib import Path

from PySide6.QtCore import Qt, Signal
from PySide6.QtGui import QFocusEvent, QTextOption
from PySide6.QtWidgets import (
    QCheckBox,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QPlainTextEdit,
    QPushButton,
    QSizePolicy,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.i18n import tr, tr_n
from explorer.removal.confirmation import MANY, Answers, Confirmation
from explorer.removal.plan import Action
from explorer.removal.preview import Preview
from explorer.removal.way_back import Export, WayBack
from explorer.ui.dialogs.plan_parts.one_line import OneLine
from explorer.ui.dialogs.remove_parts.words import press, recounted
from explorer.ui.first_click import take_first_click_only
from explorer.ui.icons import IconLabel
from explorer.ui.labels import plain_label
from explorer.ui.margins import margins
from explorer.ui.rows import text_width
from explorer.ui.theme import theme

_NAME_BESIDE_PX = 360  # a longer name stands over its field, where it can break
_FIELD_PX = 240
_CHECK_EDGE = 5
_LINES_MOST = 4


class WayBackRow(QFrame):
    """The offer to export first, how far that is, and what came of it."""

    export_wanted = Signal()
    cancel_wanted = Signal()
    folder_wanted = Signal(object)  # a Path
    incomplete_wanted = Signal()

    def __init__(self) -> None:
        super().__init__()
        self.setProperty("surface", "sunken")
        self._way_back: WayBack | None = None
        self._mark = IconLabel()
        self.said_label = plain_label("body")
        self.said_label.setObjectName("wayBackLabel")
        self.path_label = OneLine("mono", "text", Qt.TextElideMode.ElideMiddle)
        self.path_label.setObjectName("wayBackPathLabel")
        self.path_label.setSizePolicy(QSizePolicy.Policy.Maximum, QSizePolicy.Policy.Fixed)
        self.size_label = plain_label("small", "text3")
        self.keeps_paths = True
        """Whether folders and absolute workspaces are in such a file."""
        self.paths_label = plain_label("small", "caution", tr("Folders and absolute workspaces are not in it."))
        self.paths_label.setObjectName("wayBackPathsLabel")
        self.paths_label.setContentsMargins(margins(24, 0, 0, 4))  # under the words, beside the icon
        self.paths_label.hide()
        self.export_button = QPushButton(tr("Export first…"))
        self.export_button.setObjectName("exportFirstButton")
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setObjectName("cancelExportButton")
        self.cancel_button.setAccessibleName(tr("Cancel the export"))
        self.folder_button = QPushButton(tr("Show in folder"))
        self.folder_button.setObjectName("showInFolderButton")
        self.incomplete_button = QPushButton(tr("Show which"))
        self.incomplete_button.setObjectName("incompleteButton")
        for button in (self.cancel_button, self.folder_button, self.incomplete_button):
            button.setProperty("kind", "link")
        for button in (self.cancel_button, self.folder_button, self.incomplete_button, self.export_button):
            button.setAutoDefault(False)
        column = QVBoxLayout(self)
        column.setContentsMargins(margins(12, 4, 8, 4))
        column.setSpacing(0)
        row = QHBoxLayout()
        row.setSpacing(8)
        column.addLayout(row)
        column.addWidget(self.paths_label)
        row.addWidget(self._mark)
        row.addWidget(self.said_label)
        row.addWidget(self.path_label)
        row.addWidget(self.size_label)
        row.addWidget(self.incomplete_button)
        row.addStretch(1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.folder_button)
        row.addWidget(self.export_button)
        self.setMinimumHeight(theme().row_height("row") + 8)
        self.export_button.clicked.connect(self.export_wanted)
        self.cancel_button.clicked.connect(self.cancel_wanted)
        self.incomplete_button.clicked.connect(self.incomplete_wanted)
        self.folder_button.clicked.connect(self._on_folder_button_clicked)

    def offer(self, can_export: bool, said: str = "") -> None:
        """Nothing is exported yet; or it cannot be, which is said."""
        self._way_back = None
        if not can_export:
            said = tr("There is no way back: this engine does not export what it holds.")
            self._show("warning", "caution", said)
            return
        self._show("export", "text2", said or tr("A way back: what goes, in a file that is read back and counted."))
        self.export_button.show()

    def show_progress(self, step: Export, total: int) -> None:
        if step.read_back:
            said = text.named(tr("Reading the file back"), text.out_of(step.read_back, total))
        else:
            said = text.named(tr("Exporting"), text.out_of(step.written, total))
        self._show("export", "text2", said)
        self.cancel_button.show()

    def show_done(self, way_back: WayBack) -> None:
        self._way_back = way_back
        n = way_back.items
        said = tr_n(
            "Exported {n} item, read back and counted:",
            "Exported {n} items, read back and counted:",
            n,
            n=text.number(n),
        )
        self._show("check-ring", "accent", said)
        if way_back.incomplete:
            n = len(way_back.incomplete)
            lacking = tr_n(
                "{n} item is missing: the engine holds only part of it.",
                "{n} items are missing: the engine holds only part of them.",
                n,
                n=text.number(n),
            )
            self._mark.show_icon("warning", "caution")
            self.said_label.setText(f"{said} {lacking}")
            self.incomplete_button.show()
        self.path_label.say(text.shown(home(way_back.path), 1_000))
        self.size_label.setText(text.size(way_back.size_bytes))
        for part in (self.path_label, self.size_label, self.folder_button):
            part.show()

    def _on_folder_button_clicked(self) -> None:
        if self._way_back is not None:
            self.folder_wanted.emit(self._way_back.path)

    def _show(self, icon: str, token: str, said: str) -> None:
        self._mark.show_icon(icon, token)
        self.said_label.setText(said)
        self.paths_label.setVisible(not self.keeps_paths and token != "caution")
        for part in (
            self.path_label,
            self.size_label,
            self.incomplete_button,
            self.cancel_button,
            self.folder_button,
            self.export_button,
        ):
            part.hide()


def home(path: Path) -> str:
    """A path as people write it: from their home folder on where it lies there."""
    try:
        return str(Path("~") / path.relative_to(Path.home()))
    except (ValueError, RuntimeError):
        return str(path)


class ConfirmEdit(QLineEdit):
    """Takes the name that is to be typed; it tells when it is left."""

    left = Signal()

    def focusOutEvent(self, event: QFocusEvent) -> None:
        super().focusOutEvent(event)
        if event.reason() != Qt.FocusReason.ActiveWindowFocusReason:
            self.left.emit()


class ConfirmPart(QWidget):
    """What has to be said before the plan runs, in the order of reading, over the foot."""

    cancelled = Signal()
    pressed = Signal()

    def __init__(self, parent: QWidget | None = None) -> None:
        super().__init__(parent)
        self._action = Action.FORGET
        self._needed: Confirmation | None = None
        self._total = 0
        self._has_moved = False
        self._why_wait = ""
        self.way_back = WayBackRow()
        self.texts_check = QCheckBox(tr("Write what the items say on the receipt as well"))
        self.texts_check.setObjectName("textsCheck")
        self.whole_tree_check = QCheckBox(tr("I mean the whole tree: every node, sandboxes included"))
        self.whole_tree_check.setObjectName("wholeTreeCheck")
        self.large_check = QCheckBox()
        self.large_check.setObjectName("largeCheck")
        self.moved_check = QCheckBox(tr("I have seen the new number"))
        self.moved_check.setObjectName("movedCheck")
        self.type_label = plain_label("body", "", tr("Type"))
        self.name_label = plain_label("mono")
        self.name_label.setObjectName("nameLabel")
        self.name_label.setTextInteractionFlags(Qt.TextInteractionFlag.TextSelectableByMouse)
        self.name_text = QPlainTextEdit()  # of a long name: a label breaks no word
        self.name_text.setObjectName("nameText")
        self.name_text.setReadOnly(True)
        self.name_text.setProperty("textRole", "mono")
        self.name_text.setProperty("kind", "field")
        self.name_text.setWordWrapMode(QTextOption.WrapMode.WrapAnywhere)
        self.name_text.setTabChangesFocus(True)
        self.name_text.setAccessibleName(tr("The name to be typed"))
        self.to_confirm_label = plain_label("body", "", tr("to confirm"))
        self.confirm_edit = ConfirmEdit()
        self.confirm_edit.setObjectName("confirmEdit")
        self.confirm_edit.setProperty("kind", "mono")
        self.confirm_edit.setMinimumWidth(theme().scaled(_FIELD_PX))
        self.wrong_label = plain_label("small", "text2")
        self.wrong_label.setObjectName("wrongNameLabel")
        self.undone_mark = IconLabel("warning", "danger")
        self.undone_label = plain_label("strong", "danger", tr("This cannot be undone."))
        self.undone_label.setObjectName("undoneLabel")
        self.note_label = plain_label("small", "text3")
        self.note_label.setWordWrap(True)
        self.note_label.setObjectName("noteLabel")
        self.cancel_button = QPushButton(tr("Cancel"))
        self.cancel_button.setObjectName("cancelButton")
        self.cancel_button.setDefault(True)
        self.remove_button = QPushButton()
        self.remove_button.setObjectName("removeButton")
        self.remove_button.setProperty("kind", "danger")
        self.remove_button.setAutoDefault(False)
        take_first_click_only(self.remove_button)

        typed = QHBoxLayout()
        typed.setContentsMargins(margins(_CHECK_EDGE, 0, 0, 0))
        typed.setSpacing(8)
        for label in (self.type_label, self.name_label, self.to_confirm_label):
            typed.addWidget(label)
        typed.addWidget(self.confirm_edit)
        typed.addStretch(1)
        typed.addWidget(self.undone_mark)
        typed.addWidget(self.undone_label)
        above = QVBoxLayout()
        # A box to tick has a border of its own, inside of which it is flush with the rest.
        above.setContentsMargins(margins(24 - _CHECK_EDGE, 12, 24, 12))
        above.setSpacing(8)
        above.addLayout(_inset(self.way_back))
        for check in (self.texts_check, self.whole_tree_check, self.large_check, self.moved_check):
            above.addWidget(check, 0, Qt.AlignmentFlag.AlignLeft)
        above.addLayout(_inset(self.name_text))
        above.addLayout(typed)
        above.addLayout(_inset(self.wrong_label))
        top = QFrame()
        top.setProperty("surface", "foot")
        top.setLayout(above)
        foot = QFrame()
        foot.setProperty("surface", "dialogFoot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(24, 12, 24, 12)
        row.setSpacing(8)
        row.addWidget(self.note_label, 1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.remove_button)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(top)
        column.addWidget(foot)

        for check in (self.whole_tree_check, self.large_check, self.moved_check):
            check.toggled.connect(self._on_said)
        self.confirm_edit.textChanged.connect(self._on_confirm_edit_text_changed)
        self.confirm_edit.left.connect(self._on_confirm_edit_left)
        self.cancel_button.clicked.connect(self.cancelled)
        self.remove_button.clicked.connect(self.pressed)
        self.begin(Action.FORGET)

    @property
    def answers(self) -> Answers:
        return Answers(self.confirm_edit.text(), self.whole_tree_check.isChecked(), self.large_check.isChecked())

    def begin(self, action: Action) -> None:
        """A plan is being counted: nothing can be confirmed."""
        self._action = action
        self._needed, self._total, self._has_moved = None, 0, False
        self.clear()
        self.note_label.setText(recounted(action))
        self._show_parts(None)
        self._show()

    def show_needed(self, needed: Confirmation, preview: Preview, *, has_moved: bool = False) -> None:
        """Ask for what a counted plan needs; after a number has moved all is asked for anew."""
        self._needed, self._total, self._has_moved = needed, preview.total, has_moved
        if has_moved:
            self.clear()
        self.large_check.setText(large_words(preview))
        self._show_parts(needed)
        self._show()

    def wait(self, why: str) -> None:
        """Refuse the press for a reason; "" lets it be again."""
        self._why_wait = why
        self._show()

    def clear(self) -> None:
        """Take all answers back."""
        for check in (self.whole_tree_check, self.large_check, self.moved_check):
            check.setChecked(False)
        self.confirm_edit.clear()
        self.wrong_label.clear()
        self.wrong_label.hide()

    def _show_parts(self, needed: Confirmation | None) -> None:
        name = needed.name if needed is not None and needed.name is not None else ""
        is_long = text_width(name, "mono") > theme().scaled(_NAME_BESIDE_PX)
        self.name_label.setText("" if is_long else text.shown(name, 2_000))
        self.type_label.setText(tr("Type the name above to confirm") if is_long else tr("Type"))
        self.name_text.setPlainText(text.shown(name, 2_000) if is_long else "")
        line = theme().metrics("mono").lineSpacing()
        width = max(1, self.width() - 80)
        lines = min(_LINES_MOST, 1 + text_width(name, "mono") // width)
        self.name_text.setFixedHeight(round(line * lines) + 20)
        self.name_text.setVisible(is_long)
        self.name_label.setVisible(bool(name) and not is_long)
        for part in (self.type_label, self.confirm_edit):
            part.setVisible(bool(name))
        self.to_confirm_label.setVisible(bool(name) and not is_long)
        self.confirm_edit.setAccessibleName(tr("Type {name} to confirm", name=text.isolate(text.shown(name, 2_000))))
        self.whole_tree_check.setVisible(needed is not None and needed.whole_tree)
        self.large_check.setVisible(needed is not None and needed.large)
        asks_nothing = needed is not None and not (needed.whole_tree or needed.large or name)
        self.moved_check.setVisible(self._has_moved and asks_nothing)
        self.way_back.setVisible(needed is not None)
        self.texts_check.setVisible(needed is not None)

    def _show(self) -> None:
        """Whether it may be pressed, and why not."""
        needed = self._needed
        first = needed is not None and needed.whole_tree and not self.whole_tree_check.isChecked()
        self.confirm_edit.setEnabled(needed is not None and not first)
        missing: str | None
        if needed is None:
            missing = tr("Nothing can be confirmed before it is counted to the end.")
        elif self._total == 0:
            missing = tr("There is nothing that it would remove.")
        elif not self.moved_check.isHidden() and not self.moved_check.isChecked():
            missing = tr("The number has moved: look at the new one first.")
        else:
            missing = self._why_wait or needed.missing(self.answers)
        self.remove_button.setText(
            press(self._action, self._total) if needed is not None else press_nothing(self._action)
        )
        self.remove_button.setEnabled(missing is None)
        self.remove_button.setToolTip(missing or "")
        self.remove_button.setAccessibleDescription(missing or "")

    def _on_said(self) -> None:
        self._show()

    def _on_confirm_edit_text_changed(self) -> None:
        self.wrong_label.clear()
        self.wrong_label.hide()
        self._on_said()

    def _on_confirm_edit_left(self) -> None:
        typed, needed = self.confirm_edit.text(), self._needed
        is_wrong = bool(typed) and needed is not None and needed.name is not None and typed != needed.name
        self.wrong_label.setText(tr("That is not the name as it is shown.") if is_wrong else "")
        self.wrong_label.setVisible(is_wrong)


def _inset(part: QWidget) -> QHBoxLayout:
    row = QHBoxLayout()
    row.setContentsMargins(margins(_CHECK_EDGE, 0, 0, 0))
    row.addWidget(part)
    return row


def press_nothing(action: Action) -> str:
    """What the red button says while there is no number."""
    return tr("Erase") if action is Action.ERASE else tr("Forget")


def large_words(preview: Preview) -> str:
    """What the switch says that a large removal needs."""
    if preview.stored_is_least:
        return tr("I know that this may be a large part of what is stored here: not all of it could be counted")
    if 2 * preview.total > preview.stored:
        return tr_n(
            "I know that this is more than half of the {n} item stored here",
            "I know that this is more than half of the {n} items stored here",
            preview.stored,
            n=text.number(preview.stored),
        )
    return tr("I know that this is more than {n} items", n=text.number(MANY))
