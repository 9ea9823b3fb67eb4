"""The briefs of context.md: which questions its sections answer, in which order; and presets of them."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import tzinfo

from pydantic import ValidationError
from PySide6.QtCore import QSize, Qt
from PySide6.QtWidgets import (
    QAbstractItemView,
    QComboBox,
    QDialog,
    QFrame,
    QHBoxLayout,
    QLineEdit,
    QListWidgetItem,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QVBoxLayout,
    QWidget,
)

from explorer import text
from explorer.conditions import conditions
from explorer.context import DEFAULT_BRIEFS, DEFAULT_LEARNINGS, Brief, ContextSpec, InvalidSpec
from explorer.context.presets import Preset, PresetStore
from explorer.contract import MetaFilter, is_blank
from explorer.contract.model import reason
from explorer.i18n import tr, tr_in
from explorer.ui import news
from explorer.ui.banner import Banner
from explorer.ui.dialogs.named_list import NamedList
from explorer.ui.dialogs.sizes import resize_to_design
from explorer.ui.jobs import Jobs
from explorer.ui.labels import plain_label
from explorer.ui.theme import theme
from explorer.ui.typed import typed

MOST_LEARNINGS = 1_000
_HEADING_MOST = 200
_INT_MOST = 2**31 - 1  # that a field takes
_QUESTION_LINES = 4
_SIZE = (720, 480)


class BriefsDialog(QDialog):
    """Edits a copy; `spec` is what came of it. Presets are saved and removed at once, whatever becomes of the rest."""

    def __init__(
        self, spec: ContextSpec, store: PresetStore, filter: MetaFilter, zone: tzinfo, parent: QWidget | None = None
    ) -> None:
        """`filter`: the window's, which a brief may take over."""
        super().__init__(parent)
        self.setObjectName("briefsDialog")
        self.setWindowTitle(tr("Briefs of context.md"))
        self._store = store
        self._window_filter = filter.model_copy(update={"reach": None})  # that of the agent takes its place anyway
        self._zone = zone
        self._budget_tokens = spec.budget_tokens
        self._briefs: list[Brief] = []
        self._presets: list[Preset] = []
        self._is_showing = False
        self.jobs = Jobs(self)
        self._build()
        self._connect()
        self._show_spec(spec)
        self.jobs.start("presets", asyncio.to_thread(store.load), self._on_presets)

    # Building

    def _build(self) -> None:
        title = plain_label("dialogTitle", "", tr("Briefs of context.md"))
        said = plain_label("body", "text2", tr("Each brief is a question; its answer is a section of the document."))
        said.setWordWrap(True)
        self.banner = Banner()
        self.preset_box = QComboBox()
        self.preset_box.setObjectName("presetBox")
        self.preset_box.setAccessibleName(tr("Preset"))
        self.preset_box.setEditable(True)
        self.preset_box.setInsertPolicy(QComboBox.InsertPolicy.NoInsert)
        self.preset_edit = QLineEdit()
        self.preset_edit.setPlaceholderText(tr("Choose a preset, or name a new one"))
        self.preset_edit.setAccessibleName(tr("Name of the preset"))
        self.preset_edit.setMaxLength(80)
        self.preset_edit.setProperty("kind", "bare")
        self.preset_box.setLineEdit(self.preset_edit)
        self.preset_box.setMinimumContentsLength(24)
        self.save_button = self._button("savePresetButton", tr("Save preset"))
        self.remove_preset_button = self._button("removePresetButton", tr("Remove preset"))
        presets = QHBoxLayout()
        presets.setSpacing(8)
        presets.addWidget(plain_label("body", "text2", tr("Preset")))
        presets.addWidget(self.preset_box, 1)
        presets.addWidget(self.save_button)
        presets.addWidget(self.remove_preset_button)

        self.list = NamedList()
        self.list.setObjectName("briefList")
        self.list.setAccessibleName(tr("Briefs in the order of the document"))
        self.list.setProperty("surface", "card")
        self.list.setDragDropMode(QAbstractItemView.DragDropMode.InternalMove)
        self.add_button = self._button("addBriefButton", tr("Add"))
        self.remove_button = self._button("removeBriefButton", tr("Remove"))
        self.up_button = self._button("briefUpButton", tr("Up"))
        self.down_button = self._button("briefDownButton", tr("Down"))
        under = QHBoxLayout()
        under.setSpacing(4)
        for button in (self.add_button, self.remove_button, self.up_button, self.down_button):
            button.setProperty("kind", "small")
            under.addWidget(button)
        under.addStretch(1)
        left = QVBoxLayout()
        left.setSpacing(8)
        left.addWidget(self.list, 1)
        left.addLayout(under)

        self.heading_edit = QLineEdit()
        self.heading_edit.setObjectName("briefHeadingEdit")
        self.heading_edit.setAccessibleName(tr("Heading"))
        self.heading_edit.setMaxLength(_HEADING_MOST)
        self.question_edit = QPlainTextEdit()
        self.question_edit.setObjectName("briefQuestionEdit")
        self.question_edit.setProperty("kind", "field")
        self.question_edit.setAccessibleName(tr_in("asked", "Question"))
        self.question_edit.setTabChangesFocus(True)
        self.question_edit.setMinimumHeight(round(theme().metrics("body").lineSpacing() * _QUESTION_LINES) + 12)
        self.filter_label = plain_label("small", "text2")
        self.filter_label.setObjectName("briefFilterLabel")
        self.filter_label.setWordWrap(True)
        self.take_filter_button = self._button("takeFilterButton", tr("Ask within the window's filter"))
        self.all_button = self._button("askAllButton", tr("Ask of everything"))
        ways = QHBoxLayout()
        ways.setSpacing(4)
        for button in (self.take_filter_button, self.all_button):
            button.setProperty("kind", "small")
            ways.addWidget(button)
        ways.addStretch(1)
        self.form = QWidget()
        form = QVBoxLayout(self.form)
        form.setContentsMargins(0, 0, 0, 0)
        form.setSpacing(4)
        form.addWidget(plain_label("small", "text2", tr("Heading")))
        form.addWidget(self.heading_edit)
        form.addSpacing(6)
        form.addWidget(plain_label("small", "text2", tr_in("asked", "Question")))
        form.addWidget(self.question_edit, 1)
        form.addSpacing(6)
        form.addWidget(self.filter_label)
        form.addLayout(ways)
        self.learnings_spin = QSpinBox()
        self.learnings_spin.setObjectName("learningsSpin")
        self.learnings_spin.setAccessibleName(tr("Learnings listed at most"))
        self.learnings_spin.setRange(0, MOST_LEARNINGS)
        self.learnings_spin.setToolTip(tr("The newest of them come last in the document; 0 lists none"))
        learnings = QHBoxLayout()
        learnings.setSpacing(8)
        learnings.addWidget(plain_label("body", "text2", tr("Learnings listed at most")))
        learnings.addWidget(self.learnings_spin)
        learnings.addStretch(1)
        right = QVBoxLayout()
        right.setSpacing(8)
        right.addWidget(self.form, 1)
        right.addLayout(learnings)
        body = QHBoxLayout()
        body.setSpacing(16)
        body.addLayout(left, 2)
        body.addLayout(right, 3)

        self.wrong_label = plain_label("small", "caution")
        self.wrong_label.setObjectName("briefsWrongLabel")
        self.defaults_button = self._button("defaultBriefsButton", tr("The four of the contract"))
        self.defaults_button.setProperty("kind", "link")
        self.cancel_button = self._button("cancelBriefsButton", tr("Cancel"))
        self.use_button = self._button("useBriefsButton", tr("Use these briefs"))
        self.use_button.setProperty("kind", "primary")
        self.use_button.setDefault(True)
        foot = QFrame()
        foot.setProperty("surface", "dialogFoot")
        row = QHBoxLayout(foot)
        row.setContentsMargins(24, 12, 24, 12)
        row.setSpacing(8)
        row.addWidget(self.defaults_button)
        row.addWidget(self.wrong_label, 1)
        row.addWidget(self.cancel_button)
        row.addWidget(self.use_button)
        page = QVBoxLayout()
        page.setContentsMargins(24, 20, 24, 16)
        page.setSpacing(10)
        page.addWidget(title)
        page.addWidget(said)
        page.addLayout(presets)
        page.addLayout(body, 1)
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.setSpacing(0)
        column.addWidget(self.banner)
        column.addLayout(page, 1)
        column.addWidget(foot)
        resize_to_design(self, *_SIZE)

    def _button(self, name: str, words: str) -> QPushButton:
        button = QPushButton(words)
        button.setObjectName(name)
        button.setAutoDefault(False)
        return button

    def _connect(self) -> None:
        self.list.currentRowChanged.connect(lambda _: self._show_brief())
        self.list.model().rowsMoved.connect(self._on_list_rows_moved)
        self.list.remove_wanted.connect(self._on_remove_button_clicked)
        self.heading_edit.textChanged.connect(lambda heading: self._on_form_changed(heading=heading))
        self.question_edit.textChanged.connect(lambda: self._on_form_changed(question=typed(self.question_edit)))
        self.take_filter_button.clicked.connect(lambda: self._set_filter(self._window_filter))
        self.all_button.clicked.connect(lambda: self._set_filter(MetaFilter()))
        self.add_button.clicked.connect(self._on_add_button_clicked)
        self.remove_button.clicked.connect(self._on_remove_button_clicked)
        self.up_button.clicked.connect(lambda: self._move(-1))
        self.down_button.clicked.connect(lambda: self._move(1))
        self.defaults_button.clicked.connect(self._on_defaults_button_clicked)
        self.preset_box.activated.connect(self._on_preset_box_activated)
        self.preset_edit.textChanged.connect(lambda _: self._allow())
        self.save_button.clicked.connect(self._on_save_button_clicked)
        self.remove_preset_button.clicked.connect(self._on_remove_preset_button_clicked)
        self.cancel_button.clicked.connect(self.reject)
        self.use_button.clicked.connect(self.accept)
        self.finished.connect(lambda _: self.jobs.cancel())
        self.jobs.failed.connect(lambda _, error: self.banner.show_error(news.sentence(error), news.details(error)))

    # What is edited

    @property
    def spec(self) -> ContextSpec:
        """What is answered; its budget and reach are those it was given."""
        return ContextSpec(
            briefs=list(self._briefs),
            learnings_limit=self.learnings_spin.value(),
            budget_tokens=self._budget_tokens,
        )

    def _show_spec(self, spec: ContextSpec) -> None:
        self._briefs = list(spec.briefs)
        self._budget_tokens = spec.budget_tokens
        limit = min(spec.learnings_limit, _INT_MOST)
        self.learnings_spin.setMaximum(max(MOST_LEARNINGS, limit))  # one from a file stays what it is
        self.learnings_spin.setValue(limit)
        self._show_list(0)

    def _show_list(self, row: int) -> None:
        self._is_showing = True
        self.list.clear()
        for brief in self._briefs:
            item = QListWidgetItem(_name_of(brief))
            item.setSizeHint(QSize(0, theme().row_height("row")))
            self.list.addItem(item)
        self._is_showing = False
        self.list.setCurrentRow(max(0, min(row, len(self._briefs) - 1)))
        self._show_brief()

    def _show_brief(self) -> None:
        if self._is_showing:
            return
        row = self.list.currentRow()
        brief = self._briefs[row] if 0 <= row < len(self._briefs) else None
        self._is_showing = True
        self.form.setEnabled(brief is not None)
        if self.heading_edit.text() != (brief.heading if brief is not None else ""):
            self.heading_edit.setText(brief.heading if brief is not None else "")
        if typed(self.question_edit) != (brief.question if brief is not None else ""):
            self.question_edit.setPlainText(brief.question if brief is not None else "")
        told = conditions(brief.filter, self._zone) if brief is not None else []
        asked = "; ".join(f"{one.words} {one.value}" for one in told)
        self.filter_label.setText(
            tr("Asked only where {conditions}.", conditions=text.shown(asked, 400))
            if asked
            else tr("Asked of everything that the agent reaches.")
        )
        self._is_showing = False
        self._allow()

    def _on_form_changed(self, **changed: str) -> None:
        """Take over what was typed, and nothing beside it: a field may show less than what it is about."""
        row = self.list.currentRow()
        if self._is_showing or not 0 <= row < len(self._briefs):
            return
        self._briefs[row] = self._briefs[row].model_copy(update=changed)
        self.list.item(row).setText(_name_of(self._briefs[row]))
        self._allow()

    def _set_filter(self, filter: MetaFilter) -> None:
        row = self.list.currentRow()
        if 0 <= row < len(self._briefs):
            self._briefs[row] = self._briefs[row].model_copy(update={"filter": filter})
            self._show_brief()

    def _on_add_button_clicked(self) -> None:
        row = self.list.currentRow() + 1
        self._briefs.insert(row, Brief(heading="", question=""))
        self._show_list(row)
        self.heading_edit.setFocus(Qt.FocusReason.OtherFocusReason)

    def _on_remove_button_clicked(self) -> None:
        row = self.list.currentRow()
        if 0 <= row < len(self._briefs):
            del self._briefs[row]
            self._show_list(row)

    def _move(self, step: int) -> None:
        row = self.list.currentRow()
        if 0 <= row < len(self._briefs) and 0 <= row + step < len(self._briefs):
            self._briefs.insert(row + step, self._briefs.pop(row))
            self._show_list(row + step)

    def _on_list_rows_moved(self, parent: object, start: int, end: int, to: object, row: int) -> None:
        """By the mouse: `row` counts with the moved one still in its place."""
        self._briefs.insert(row - 1 if row > start else row, self._briefs.pop(start))
        self._show_brief()

    def _on_defaults_button_clicked(self) -> None:
        self._show_spec(
            ContextSpec(
                briefs=list(DEFAULT_BRIEFS), learnings_limit=DEFAULT_LEARNINGS, budget_tokens=self._budget_tokens
            )
        )

    def _wrong(self) -> str:
        """Why no document can be compiled by this; "" where one can."""
        for number, brief in enumerate(self._briefs, 1):
            if is_blank(brief.heading):
                return tr("Brief {n} has no heading.", n=number)
            if is_blank(brief.question):
                return tr("Brief {n} has no question.", n=number)
        return ""

    def _allow(self) -> None:
        row, count = self.list.currentRow(), len(self._briefs)
        wrong = self._wrong()
        self.wrong_label.setText(wrong)
        self.use_button.setEnabled(not wrong)
        self.remove_button.setEnabled(0 <= row < count)
        self.up_button.setEnabled(0 < row < count)
        self.down_button.setEnabled(0 <= row < count - 1)
        brief = self._briefs[row] if 0 <= row < count else None
        self.all_button.setEnabled(brief is not None and not brief.filter.is_empty())
        is_other = brief is not None and brief.filter != self._window_filter
        self.take_filter_button.setEnabled(is_other and not self._window_filter.is_empty())
        name = self._preset_name
        is_taken = any(preset.name == name for preset in self._presets)
        self.save_button.setEnabled(bool(name) and not wrong)
        self.save_button.setText(tr("Replace preset") if is_taken else tr("Save preset"))
        self.remove_preset_button.setEnabled(is_taken)

    # Presets

    @property
    def _preset_name(self) -> str:
        """Of the preset that was chosen, as the file has it; else as it is typed."""
        row, said = self.preset_box.currentIndex(), self.preset_box.currentText()
        if row >= 0 and self.preset_box.itemText(row)[: self.preset_edit.maxLength()] == said:
            return str(self.preset_box.itemData(row))
        return said.strip()

    def _on_presets(self, presets: list[Preset]) -> None:
        self._presets = presets
        name = self.preset_box.currentText()
        self.preset_box.clear()
        for preset in presets:
            self.preset_box.addItem(text.shown(preset.name, 80), preset.name)
        self.preset_box.setCurrentIndex(-1)
        self.preset_box.setEditText(name)
        if self._store.notices:
            self.banner.show_note(" ".join(self._store.notices), icon="warning")
            self._store.notices.clear()
        self._allow()

    def _on_preset_box_activated(self, row: int) -> None:
        name = self.preset_box.itemData(row)
        preset = next((one for one in self._presets if one.name == name), None)
        if preset is not None:
            self._show_spec(preset.spec())

    def _on_save_button_clicked(self) -> None:
        spec = self.spec
        try:
            preset = Preset(
                name=self._preset_name,
                briefs=spec.briefs,
                learnings_limit=spec.learnings_limit,
                budget_tokens=spec.budget_tokens,
            )
            preset.spec().check()
        except (ValidationError, InvalidSpec) as error:
            said = reason(error) if isinstance(error, ValidationError) else error.text
            self.banner.show_error(text.sentence(said))
            return
        self._change(lambda: self._store.save(preset))

    def _on_remove_preset_button_clicked(self) -> None:
        name = self._preset_name
        self._change(lambda: self._store.remove(name))

    def _change(self, change: Callable[[], object]) -> None:
        """Change what is saved, and show it anew."""

        def work() -> list[Preset]:
            change()
            return self._store.load()

        self.banner.clear()
        self.jobs.start("presets", asyncio.to_thread(work), self._on_presets)


def _name_of(brief: Brief) -> str:
    return text.shown(brief.heading, 80) or tr("(no heading)")
