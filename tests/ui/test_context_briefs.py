"""The briefs of context.md: edited, put in order, and kept as presets in a real file."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

import pytest
from PySide6.QtCore import QModelIndex, Qt
from pytestqt.qtbot import QtBot

from explorer.context import DEFAULT_BRIEFS, Brief, ContextSpec
from explorer.context.presets import Preset, PresetStore
from explorer.contract import MetaFilter
from explorer.ui.dialogs.briefs import BriefsDialog
from tests.conftest import Until
from tests.ui.contexts import TRIAGE, at, engine_of, is_done, previewing
from tests.ui.test_app import dialog_of

TAGGED = at(TRIAGE).model_copy(update={"tags_any": ["refunds"]})


@pytest.fixture(autouse=True)
def _asks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.ui.context_preview.ASKS_AFTER_MS", 1)


@asynccontextmanager
async def editing(
    qtbot: QtBot, tmp_path: Path, until: Until, spec: ContextSpec | None = None
) -> AsyncIterator[BriefsDialog]:
    dialog = BriefsDialog(spec or ContextSpec(), PresetStore(tmp_path / "presets.json"), TAGGED, UTC)
    qtbot.addWidget(dialog)
    dialog.show()
    try:
        await until(lambda: not dialog.jobs.is_busy)
        yield dialog
    finally:
        dialog.close()
        await dialog.jobs.aclose()


def headings(dialog: BriefsDialog) -> list[str]:
    assert [dialog.list.item(row).text() for row in range(dialog.list.count())] == [
        one.heading or "(no heading)" for one in dialog.spec.briefs
    ]
    return [one.heading for one in dialog.spec.briefs]


def press(qtbot: QtBot, dialog: BriefsDialog, name: str) -> None:
    button = getattr(dialog, name)
    assert button.isEnabled(), name
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


async def test_a_brief_is_added_edited_moved_and_removed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    names = [one.heading for one in DEFAULT_BRIEFS]
    async with editing(qtbot, tmp_path, until) as dialog:
        assert headings(dialog) == names
        press(qtbot, dialog, "add_button")
        assert dialog.heading_edit.hasFocus()
        assert not dialog.use_button.isEnabled()
        assert dialog.wrong_label.text() == "Brief 2 has no heading."
        qtbot.keyClicks(dialog.heading_edit, "Open questions")
        assert dialog.wrong_label.text() == "Brief 2 has no question."
        qtbot.keyClicks(dialog.question_edit, "What is still open?")
        assert dialog.use_button.isEnabled()
        assert headings(dialog) == [names[0], "Open questions", *names[1:]]
        press(qtbot, dialog, "up_button")
        assert headings(dialog) == ["Open questions", *names]
        assert not dialog.up_button.isEnabled()
        press(qtbot, dialog, "down_button")
        press(qtbot, dialog, "down_button")
        assert headings(dialog) == [*names[:2], "Open questions", *names[2:]]
        assert dialog.spec.briefs[2] == Brief(heading="Open questions", question="What is still open?")
        qtbot.keyClick(dialog.list, Qt.Key.Key_Delete)
        assert headings(dialog) == names
        for _ in names:
            press(qtbot, dialog, "remove_button")
        assert headings(dialog) == []
        assert not dialog.form.isEnabled()
        assert dialog.use_button.isEnabled(), "a document of learnings alone"
        press(qtbot, dialog, "defaults_button")
        assert headings(dialog) == names


async def test_a_brief_is_dragged_to_another_place(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    names = [one.heading for one in DEFAULT_BRIEFS]
    async with editing(qtbot, tmp_path, until) as dialog:
        root = QModelIndex()
        dialog.list.model().moveRow(root, 0, root, 3)
        assert headings(dialog) == [names[1], names[2], names[0], names[3]]
        dialog.list.model().moveRow(root, 3, root, 0)
        assert headings(dialog) == [names[3], names[1], names[2], names[0]]


async def test_a_brief_takes_the_filter_of_the_window(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with editing(qtbot, tmp_path, until) as dialog:
        assert dialog.filter_label.text() == "Asked of everything that the agent reaches."
        press(qtbot, dialog, "take_filter_button")
        assert dialog.spec.briefs[0].filter == MetaFilter(tags_any=["refunds"]), "the reach is that of the agent"
        assert "refunds" in dialog.filter_label.text()
        assert dialog.spec.briefs[1].filter.is_empty()
        press(qtbot, dialog, "all_button")
        assert dialog.spec.briefs[0].filter.is_empty()


async def test_a_preset_is_saved_used_replaced_and_removed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = PresetStore(tmp_path / "presets.json")
    async with editing(qtbot, tmp_path, until, ContextSpec(budget_tokens=800)) as dialog:
        assert not dialog.save_button.isEnabled()
        dialog.learnings_spin.setValue(5)
        qtbot.keyClicks(dialog.preset_edit, "Stand-up")
        press(qtbot, dialog, "save_button")
        await until(lambda: dialog.preset_box.count() == 1)
        assert store.load() == [Preset(name="Stand-up", learnings_limit=5, budget_tokens=800)]
        assert dialog.save_button.text() == "Replace preset"
    async with editing(qtbot, tmp_path, until) as dialog:
        dialog.preset_box.setCurrentIndex(0)
        dialog.preset_box.activated.emit(0)
        assert (dialog.spec.learnings_limit, dialog.spec.budget_tokens) == (5, 800)
        press(qtbot, dialog, "remove_button")
        press(qtbot, dialog, "save_button")
        await until(lambda: not dialog.jobs.is_busy)
        assert len(store.load()[0].briefs) == 3
        press(qtbot, dialog, "remove_preset_button")
        await until(lambda: dialog.preset_box.count() == 0)
        assert store.load() == []


async def test_what_a_preset_says_is_kept_where_a_field_shows_less(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = PresetStore(tmp_path / "presets.json")
    brief = Brief(heading="A" * 300, question="Que faire\u00a0?")
    store.save(Preset(name="odd", briefs=[brief], learnings_limit=5_000))
    store.save(Preset(name="huge", learnings_limit=2**64 - 1))
    async with editing(qtbot, tmp_path, until) as dialog:
        dialog.preset_box.setCurrentIndex(1)
        dialog.preset_box.activated.emit(1)
        assert dialog.spec.learnings_limit == 2**31 - 1
        dialog.preset_box.setCurrentIndex(0)
        dialog.preset_box.activated.emit(0)
        assert dialog.spec.learnings_limit == 5_000
        qtbot.keyClicks(dialog.question_edit, "Et ")
        assert dialog.spec.briefs == [Brief(heading="A" * 300, question="Et Que faire\u00a0?")]
        dialog.heading_edit.selectAll()
        qtbot.keyClicks(dialog.heading_edit, "B")
        assert dialog.spec.briefs == [Brief(heading="B", question="Et Que faire\u00a0?")]


async def test_the_preset_that_was_chosen_is_the_one_removed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    store = PresetStore(tmp_path / "presets.json")
    names = ["Stand-up", " Stand-up", "A" * 90, "A" * 80]
    for name in names:
        store.save(Preset(name=name))
    for row in (1, 1):
        async with editing(qtbot, tmp_path, until) as dialog:
            dialog.preset_box.setCurrentIndex(row)
            dialog.preset_box.activated.emit(row)
            assert dialog.save_button.text() == "Replace preset"
            press(qtbot, dialog, "remove_preset_button")
            await until(lambda: not dialog.jobs.is_busy)
    assert [one.name for one in store.load()] == ["Stand-up", "A" * 80]


async def test_a_file_that_cannot_be_read_is_told(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    (tmp_path / "presets.json").write_text("{", "utf-8")
    async with editing(qtbot, tmp_path, until) as dialog:
        await until(lambda: dialog.banner.sentence)
        assert "presets" in dialog.banner.sentence
        assert headings(dialog)


async def test_what_was_edited_is_asked(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        asked = len(engine.requests("recall"))
        panel.briefs_action.trigger()
        await until(lambda: dialog_of(BriefsDialog) is not None)
        dialog = dialog_of(BriefsDialog)
        assert dialog is not None
        await until(lambda: not dialog.jobs.is_busy)
        for _ in range(3):
            press(qtbot, dialog, "remove_button")
        press(qtbot, dialog, "use_button")
        await until(lambda: is_done(panel) and panel.trimmed is not None)
        assert panel.trimmed is not None
        assert [one.heading for one in panel.trimmed.sections] == ["Recent important events", "Learnings"]
        assert len(engine.requests("recall")) == asked + 1


async def test_a_dialog_that_is_open_ends_with_the_window(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        panel.briefs_action.trigger()
        await until(lambda: dialog_of(BriefsDialog) is not None)
    assert dialog_of(BriefsDialog) is None
