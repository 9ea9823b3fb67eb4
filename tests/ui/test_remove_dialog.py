"""Forgetting and erasing in the window: the question, the run, and what a fresh read says."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QAccessible, QAction, QMouseEvent
from PySide6.QtTest import QTest
from PySide6.QtWidgets import QApplication, QLabel, QMenu, QPlainTextEdit, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import (
    EngineFailure,
    EngineHealth,
    ExplorePage,
    Facet,
    ForgetReport,
    ForgetTarget,
    Hit,
    ItemId,
    ItemKind,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    StoreItem,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.contract.query import DEFAULT_SCAN
from explorer.engines import EngineSettings, build_engine
from explorer.options import Options
from explorer.removal.outcome import Phase, Step
from explorer.removal.plan import Action, Target
from explorer.removal.removing import Removal
from explorer.ui.dialogs.remove_parts.words import why_not_erase
from explorer.ui.job_list import State
from explorer.ui.models.facet_rows import RowType
from explorer.ui.theme import Theme
from tests.conftest import Until
from tests.fakes import FakeEngine, Gate, learning
from tests.ui.looks import cut_words
from tests.ui.removing import choose_file, opened, said, told
from tests.ui.test_app import is_idle, memory, rows, running

ACME = Namespace.parse("team:acme")
PROMISED = "previewTable sampleView confirmEdit wholeTreeCheck exportFirstButton removeButton receiptView"
ITEMS = [
    learning("at the team", "team:acme", observed_at="2026-05-02T10:00:00Z"),
    learning("the writer's", "team:acme/agent:writer", observed_at="2026-07-02T10:00:00Z"),
    learning("the writer's second", "team:acme/agent:writer"),
    learning("a nightly digest", "team:acme/service:nightly"),
    learning("at the root"),
    learning("beside", "team:north"),
]


@pytest.fixture(autouse=True)
def _asks_little(monkeypatch: pytest.MonkeyPatch) -> None:
    """How much is asked again is tested without a window."""
    monkeypatch.setattr("explorer.removal.preview.TEXTS", 12)


def sqlite(tmp_path: Path) -> MemoryEngine:
    return build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)


def at(n: int) -> list[StoreItem]:
    return [learning(f"learning {i:03}", "team:acme") for i in range(n)]


def enter(widget: QWidget) -> None:
    widget.window().activateWindow()
    widget.setFocus()
    QTest.keyClick(widget, Qt.Key.Key_Return)


# The plan and its numbers


@pytest.mark.limit_s(30)
async def test_a_node_and_what_is_below_it_is_erased(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, sqlite(tmp_path), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        assert it.title == "Erase team:acme and everything below it"
        assert dialog.objectName() == "removeDialog"
        for name in PROMISED.split():
            assert len(dialog.findChildren(QWidget, name)) == 1, name
        assert dialog.count_label.text() == "3 items"
        assert dialog.share_label.text().replace("\u00a0", " ") == "of 6 stored, 50 %"
        assert told(dialog.numbers.preview_table) == ["agent:writer, 2 items", "team:acme, 1 item"]
        assert told(dialog.numbers.kind_table) == ["Learning, 3 items"]
        assert [hit.text for hit in dialog.numbers.sample_view.samples.hits][:2] == ["at the team", "the writer's"]
        assert dialog.numbers.sample_view.samples.notes[:2] == ["oldest", "newest"]
        assert dialog.confirm.remove_button.text() == "Erase 3 items"
        assert not dialog.confirm.remove_button.isEnabled()
        await it.done()
        assert it.title == "3 of 3 items erased"
        assert dialog.receipt.isVisible()
        assert await it.texts() == {"at the root", "beside"}
        assert await it.stored() == 3, "the sandbox stays"
        assert it.window.items.model.rowCount() == 2, "the window has read again"
        assert dialog.outcome is not None
        assert dialog.outcome.is_clean
        assert dialog.outcome.receipt is not None
        assert dialog.outcome.receipt.exists()


async def test_a_removal_that_the_engine_has_not_finished_is_said(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    class Unfinished(FakeEngine):
        async def health(self) -> EngineHealth:
            is_begun = bool(self.requests("forget"))
            return EngineHealth.degraded("the removal is not finished") if is_begun else EngineHealth.ok()

    async with opened(qtbot, tmp_path, until, Unfinished(), ITEMS) as it:
        dialog = await it.planned(Target.at(ACME))
        await it.done()
        assert "The removal is not finished." in " ".join(said(dialog))


async def test_a_sandbox_below_stays_and_is_planned_separately(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        told = dialog.plan_column.sentences
        assert any("team:acme/service:nightly with 1 item" in line for line in told)
        assert any("root, team:north" in line for line in told), "what is above and beside"
        apart = next(b for b in dialog.plan_column.findChildren(QPushButton) if b.text() == "Plan it separately")
        apart.click()
        await until(lambda: dialog.removal is not None and dialog.count_label.text() == "1 item")
        assert it.title == "Erase team:acme/service:nightly and everything below it"


async def test_a_node_goes_whole_though_the_list_shows_a_part_of_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        hides = "The filter of the list does not narrow this: what it hides goes as well."
        dialog = await it.planned(Target.below(ACME))
        assert hides not in dialog.plan_column.sentences, "there is no filter"
        await it.close()
        it.window.go_to_filter(MetaFilter(tags_any=["none has it"]))
        await until(lambda: it.window.is_idle)
        dialog = await it.planned(Target.below(ACME))
        assert dialog.count_label.text() == "3 items"
        assert hides in dialog.plan_column.sentences
        await it.close()
        dialog = await it.planned(Target.of_filter(it.window.trail.current.filter))
        assert hides not in dialog.plan_column.sentences, "that filter is what goes"


async def test_a_quote_elsewhere_is_told_and_no_failed_job(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    secret = "the harbour bell at Wrenholt was cast in 1804 from two church bells that had cracked"
    items = [learning(secret, "team:acme"), learning(f"Ann said: {secret}", "root")]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        await it.planned(Target.at(ACME))
        dialog = await it.done()
        assert dialog.outcome is not None
        assert not dialog.outcome.is_clean
        assert dialog.outcome.is_gone
        assert "still answered from elsewhere" in it.window.error_banner.sentence
        assert it.window.job_list.jobs[0].state is State.DONE


@pytest.mark.limit_s(30)
async def test_the_whole_tree_needs_its_switch_before_its_name(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, sqlite(tmp_path), ITEMS) as it:
        it.window.findChild(QAction, "eraseTreeAction").trigger()
        dialog = await it.counted()
        confirm = dialog.confirm
        assert dialog.count_label.text() == "6 items", "sandboxes go as well"
        assert any("service:nightly with 1 item goes too" in line for line in dialog.plan_column.sentences)
        assert not confirm.confirm_edit.isEnabled()
        assert confirm.large_check.isHidden()
        confirm.whole_tree_check.setChecked(True)
        assert confirm.confirm_edit.isEnabled()
        assert not confirm.remove_button.isEnabled()
        confirm.confirm_edit.setText("root")
        assert confirm.remove_button.isEnabled()
        confirm.whole_tree_check.setChecked(False)
        assert not confirm.remove_button.isEnabled()
        await it.done()
        assert await it.stored() == 0


async def test_the_name_is_compared_by_code_point(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    items = [*ITEMS, *[learning(f"filler {i}") for i in range(5)]]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        confirm = dialog.confirm
        assert confirm.large_check.isHidden(), "less than half"
        for wrong in ("team:acm\u0435", "team:acme ", "TEAM:ACME", "\u2068team:acme\u2069"):
            confirm.confirm_edit.setText(wrong)
            assert not confirm.remove_button.isEnabled(), wrong
            assert confirm.wrong_label.isHidden(), "not while it is typed"
        confirm.confirm_edit.setFocus()
        confirm.confirm_edit.left.emit()
        assert confirm.wrong_label.isVisible()
        confirm.confirm_edit.setText("team:acme")
        assert confirm.wrong_label.isHidden()
        assert confirm.remove_button.isEnabled()


async def test_enter_removes_nothing(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        it.answer()
        buttons = [button for button in dialog.findChildren(QPushButton) if button.isDefault()]
        assert buttons == [dialog.confirm.cancel_button]
        enter(dialog.confirm.confirm_edit)
        enter(dialog.confirm.remove_button)
        enter(dialog.confirm.large_check)
        enter(dialog.numbers.preview_table)
        assert dialog.isVisible()
        assert not dialog.is_running
        assert not dialog.confirm.remove_button.isDefault()
        assert await it.stored() == 6


async def test_more_than_half_needs_its_own_switch(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), [learning(f"l {i}", tags=["a"]) for i in range(6)]) as it:
        dialog = await it.planned(Target.of_filter(MetaFilter(tags_any=["a"])))
        assert dialog.confirm.large_check.text() == "I know that this is more than half of the 6 items stored here"
        assert not dialog.confirm.remove_button.isEnabled()
        dialog.confirm.large_check.setChecked(True)
        assert dialog.confirm.remove_button.isEnabled()


async def test_a_prefix_names_what_it_catches(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    items = [
        learning(f"in {path}", file_path=path)
        for path in ("/home/u/proj/a.md", "/home/u/proj/b/c.md", "/home/u/proj-old/d.md")
    ]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        dialog = await it.planned(Target.of_filter(MetaFilter(file_path="/home/u/proj")))
        assert set(told(dialog.numbers.path_table)) == {"/home/u/proj/a.md, 1 item", "/home/u/proj/b/c.md, 1 item"}
        assert any("also matches what is below" in line for line in dialog.plan_column.sentences)
        await it.done()
        assert await it.texts() == {"in /home/u/proj-old/d.md"}


async def test_counting_goes_to_the_end_and_can_be_cancelled(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    engine.page_size = 10
    async with opened(qtbot, tmp_path, until, engine, at(35)) as it:
        gate = engine.hold("list_preview", lambda req: req.cursor is not None and req.limit == 200)
        it.window.removal_wanted.emit(Target.at(ACME), Action.FORGET)
        await until(lambda: it.removals.dialog is not None and gate.waiting >= 1)  # the list may wait there too
        dialog = it.dialog
        assert dialog.removal is None
        assert not dialog.confirm.remove_button.isEnabled()
        dialog.count_button.click()
        await until(lambda: dialog.count_button.text() == "Count again")
        assert "cancelled" in dialog.share_label.text()
        assert not dialog.confirm.remove_button.isEnabled()
        gate.open()
        dialog.count_button.click()
        await it.counted()
        assert dialog.count_label.text() == "35 items"


async def test_a_refused_key_confirms_nothing(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(5)) as it:
        engine.fail("list_preview", Unauthorized("the key is not valid"))
        it.window.removal_wanted.emit(Target.at(ACME), Action.FORGET)
        dialog = it.dialog
        await until(lambda: dialog.count_button.text() == "Count again")
        assert dialog.banner.sentence.startswith("The key was refused: the key is not valid.")
        assert not dialog.confirm.remove_button.isEnabled()
        assert it.window.items.model.rowCount() == 5


# What moved meanwhile


async def test_a_number_that_moved_stops_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        it.answer()
        await it.engine.store_many([learning("late", "team:acme"), learning("later", "team:acme")])
        dialog.confirm.remove_button.click()
        await until(lambda: dialog.moved_label.isVisible())
        assert dialog.moved_label.text() == "The number has moved: 2 new. Nothing was erased."
        assert dialog.old_count_label.text() == "3 items"
        assert dialog.old_count_label.isVisible()
        assert dialog.count_label.text() == "5 items"
        assert dialog.confirm.confirm_edit.text() == ""
        assert not dialog.confirm.remove_button.isEnabled()
        assert await it.stored() == 8
        await it.done()
        assert it.title == "5 of 5 items erased"


async def test_a_moved_number_is_seen_even_where_nothing_has_to_be_typed(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    items = [learning(f"l {i}", tags=["a"] if i < 2 else ["b"]) for i in range(9)]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        dialog = await it.planned(Target.of_filter(MetaFilter(tags_any=["a"])))
        assert dialog.confirm.remove_button.isEnabled()
        await it.engine.store(learning("late", tags=["a"]))
        dialog.confirm.remove_button.click()
        await until(lambda: dialog.moved_label.isVisible())
        assert not dialog.confirm.remove_button.isEnabled()
        dialog.confirm.moved_check.setChecked(True)
        assert dialog.confirm.remove_button.isEnabled()


# The run


def failing(engine: FakeEngine, bad: set[str]) -> set[ItemId]:
    """Have forgetting fail for items of these texts."""
    ids: set[ItemId] = set()

    def is_bad(target: ForgetTarget) -> bool:
        return bool(ids & set(target.ids or []))

    engine.fail("forget", EngineFailure("the row is locked"), is_bad)
    return ids


async def test_what_fails_is_named_stays_selected_and_is_tried_again(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(10)) as it:
        ids = failing(engine, set())
        ids |= {hit.id for hit in it.window.items.model.held_rows().values() if hit.text[-1] in "2468"}
        dialog = await it.planned(Target.at(ACME))
        await it.done()
        assert it.title == "6 of 10 removed, 4 failed"
        assert dialog.outcome is not None
        assert set(dialog.outcome.failed) == ids
        view = dialog.findChild(QPlainTextEdit, "failedView")
        assert view is not None
        assert view.toPlainText().count("the row is locked") == 4
        assert {hit.id for hit in it.window.items.selected_hits()} == ids
        job = next(job for job in it.window.job_list.jobs if job.title.startswith("Forget"))
        assert job.state is State.FAILED
        engine.mend()
        engine.calls.clear()
        dialog.receipt.retry_button.click()
        await until(lambda: dialog.removal is not None and dialog.receipt.isHidden())
        assert it.title == "Forget 4 chosen items"
        await it.done()
        assert it.title == "4 of 4 items forgotten"
        assert {id for req in engine.requests("forget") for id in req.ids} == ids
        assert await it.texts() == set()


async def test_a_busy_engine_is_waited_for_as_it_asks(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(5)) as it:
        engine.fail("forget", Unavailable("too many requests", retry_after_s=0.3), times=1)
        dialog = await it.planned(Target.at(ACME))
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: dialog.running.waiting_label.isVisible())
        assert dialog.running.waiting_label.text() == "Too many requests."
        await until(lambda: dialog.outcome is not None)
        assert it.title == "5 of 5 items forgotten"
        assert "Waited for a busy engine" in said(dialog)


async def test_while_it_runs_it_cannot_be_closed_and_can_be_paused_and_stopped(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(130)) as it:
        dialog = await it.planned(Target.at(ACME))
        it.answer()
        gate = engine.hold("forget")
        dialog.confirm.remove_button.click()
        await until(lambda: gate.waiting == 1)
        assert it.window.job_list.is_holding
        QTest.keyClick(dialog, Qt.Key.Key_Escape)
        dialog.close()
        assert dialog.isVisible()
        assert dialog.running.said == "0 of 130"
        dialog.running.pause_button.click()
        assert dialog.running.pause_button.text() == "Resume"
        gate.open()
        await until(lambda: dialog.running.said == "100 of 130")
        assert len(engine.requests("forget")) == 1, "no further batch while it is paused"
        dialog.running.stop_button.click()
        await until(lambda: dialog.outcome is not None)
        assert it.title == "100 of 130 removed, 30 not tried"
        assert await it.stored() == 30
        assert not it.window.job_list.is_holding


async def test_an_erase_that_was_asked_for_is_waited_for(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(5)) as it:
        dialog = await it.planned(Target.at(ACME), Action.ERASE)
        it.answer()
        gate = engine.hold("erase")
        dialog.confirm.remove_button.click()
        await until(lambda: gate.waiting == 1 and dialog.running.said.startswith("Erasing"))
        for button in (dialog.running.pause_button, dialog.running.stop_button):
            assert not button.isEnabled()
            assert button.toolTip() == "An erase that was asked for cannot be paused or stopped"
        assert dialog.running.part is None, "nobody knows how far the engine is"
        gate.open()
        await until(lambda: dialog.outcome is not None)
        assert it.title == "5 of 5 items erased"


async def test_it_goes_on_in_the_background_and_comes_back_with_the_receipt(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(5)) as it:
        dialog = await it.planned(Target.at(ACME))
        it.answer()
        gate = engine.hold("forget")
        dialog.confirm.remove_button.click()
        await until(lambda: gate.waiting == 1)
        dialog.running.hide_button.click()
        assert not dialog.isVisible()
        assert it.window.job_list.running[0].title == "Forget the items at team:acme"
        gate.open()
        await until(lambda: dialog.outcome is not None)
        assert dialog.isVisible()
        assert dialog.receipt.isVisible()


async def test_stopping_its_job_stops_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(130)) as it:
        dialog = await it.planned(Target.at(ACME))
        it.answer()
        gate = engine.hold("forget")
        dialog.confirm.remove_button.click()
        await until(lambda: gate.waiting == 1)
        job = it.window.job_list.running[0]
        job.stop()
        gate.open()
        await until(lambda: dialog.outcome is not None)
        assert job.state is State.CANCELLED
        assert it.title == "100 of 130 removed, 30 not tried"


async def test_an_engine_that_refuses_to_erase_offers_to_forget(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(4)) as it:
        engine.fail("erase", Unsupported("this plan does not include erasing"))
        dialog = await it.planned(Target.at(ACME), Action.ERASE)
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: "Nothing was erased." in dialog.banner.sentence)
        assert await it.stored() == 4
        button = dialog.banner.findChild(QPushButton, "bannerActionButton")
        assert button.text() == "Forget instead…"
        button.click()
        await until(lambda: dialog.removal is not None and dialog.action is Action.FORGET)
        assert dialog.confirm.confirm_edit.text() == "", "its own preview, and its own answers"
        await it.done()
        assert it.title == "4 of 4 items forgotten"


async def test_erase_is_greyed_where_it_cannot_be_told(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        dialog = await it.planned(Target.of_filter(MetaFilter(tags_any=["x"])), Action.ERASE)
        erase = dialog.choice.button("Erase")
        assert not erase.isEnabled()
        reason = why_not_erase(it.engine, dialog.target)
        assert erase.toolTip() == f"{reason}."
        assert dialog.action is Action.FORGET
        it.window.go_to_filter(MetaFilter(tags_any=["x"]))
        action = it.window.findChild(QAction, "eraseAction")
        assert not action.isEnabled()
        assert action.toolTip() == f"{action.property('tip')}. {reason}."


async def test_forget_and_erase_each_count_for_themselves(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        it.answer()
        dialog.choice.button("Forget").click()
        assert not dialog.confirm.remove_button.isEnabled()
        await it.counted()
        assert it.title == "Forget team:acme and everything below it"
        assert dialog.confirm.remove_button.text() == "Forget 3 items"
        assert dialog.confirm.confirm_edit.text() == ""


# What still answers


async def test_what_still_answers_is_said_and_can_be_opened(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(3)) as it:
        engine.haunt([it.window.items.model.held_rows()[1]])
        dialog = await it.planned(Target.at(ACME))
        await it.done()
        doubt = dialog.findChild(QLabel, "doubtLabel")
        assert doubt is not None
        assert "still find" in doubt.text()
        opener = dialog.receipt.findChild(QPushButton, "openStillButton")
        opener.click()
        assert it.window.viewer.hit is not None
        assert it.window.viewer.hit.id == engine.ghosts[0].id
        assert it.window.error_banner.sentence.startswith("3 of 3 items forgotten.")


# From the list


@pytest.mark.limit_s(30)
async def test_delete_forgets_the_selection_and_the_keyboard_is_on_the_next_row(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until, sqlite(tmp_path), at(10)) as it:
        view, model = it.window.items.view, it.window.items.model
        view.setFocus()
        view.selectRow(4)
        gone, following = model.held(4), model.held(5)
        assert gone is not None
        assert following is not None
        view.setFocus()
        it.window.items.forget_action.trigger()
        dialog = await it.counted()
        assert it.title == "Forget this item"
        assert dialog.one_item.item_text.toPlainText() == gone.text
        assert dialog.numbers.isHidden()
        assert dialog.confirm.confirm_edit.isHidden(), "one item: no name to type"
        await it.done()
        assert it.title == "1 of 1 item forgotten"
        assert view.currentIndex().row() == 4
        current = it.window.items.current_hit()
        assert current is not None
        assert current.id == following.id
        assert it.window.viewer.hit is not None
        assert it.window.viewer.hit.id == following.id
        assert gone.id not in [hit.id for hit in it.window.recent.items()]
        await it.close()
        it.window.items.forget_action.trigger()
        dialog = await it.counted()
        assert dialog.target.ids == [following.id], "a repeat cannot act on what is gone"


async def test_the_last_item_leaves_an_empty_viewer(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), at(1)) as it:
        it.window.items.forget_action.trigger()
        await it.counted()
        await it.done()
        assert it.window.viewer.hit is None
        assert it.window.items.model.rowCount() == 0


async def test_the_foot_offers_it_for_some_and_for_all_that_match(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    items = [learning(f"l {i:03}", tags=["a"]) for i in range(30)] + [learning("other")]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        it.window.go_to_filter(MetaFilter(tags_any=["a"]))
        await until(lambda: it.window.is_idle)
        it.window.items.select_all()
        it.window.items.forget_button.click()
        dialog = await it.counted()
        assert dialog.target.filter is not None
        assert dialog.target.filter.tags_any == ["a"]
        assert dialog.count_label.text() == "30 items"
        await it.done()
        assert await it.texts() == {"other"}


async def test_rows_chosen_by_hand_are_what_goes_though_they_are_all(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    items = [*(learning(f"l {i}", tags=["a"]) for i in range(3)), learning("other")]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        window = it.window
        window.go_to_filter(MetaFilter(tags_any=["a"]))
        await until(lambda: window.is_idle)
        window.items.view.selectAll()  # the rows there are, as by dragging over them
        assert window.items.selected_label.text() == "3 selected, all that match"
        await it.engine.store(learning("came later", tags=["a"]))
        window.refresh()
        await until(lambda: window.is_idle)
        assert window.items.selected_label.text() == "3 selected"
        window.items.forget_button.click()
        dialog = await it.counted()
        assert (dialog.target.filter, len(dialog.target.ids)) == (None, 3)
        await it.done()
        assert await it.texts() == {"other", "came later"}


async def test_all_that_is_listed_is_not_the_whole_tree(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        it.window.items.select_all()
        it.window.items.forget_button.click()
        dialog = await it.counted()
        assert dialog.count_label.text() == "5 items"
        assert it.title == "Forget 5 chosen items"
        await it.done()
        assert await it.stored() == 1, "the sandbox, which the list does not show"


async def test_delete_on_the_list_forgets_what_is_selected(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), at(3)) as it:
        view = it.window.items.view
        action = it.window.findChild(QAction, "forgetAction")
        assert action.toolTip()
        assert action.shortcutContext() is Qt.ShortcutContext.WidgetShortcut, "elsewhere the key removes a chip"
        it.window.activateWindow()
        view.setFocus()
        view.selectRow(1)
        QTest.keyClick(view, Qt.Key.Key_Delete)
        dialog = await it.counted()
        assert [hit.id for hit in it.window.items.selected_hits()] == dialog.target.ids


# From the panels


def menu_of(widget: QWidget) -> dict[str, QAction]:
    menu = next(menu for menu in widget.findChildren(QMenu) if menu.isVisible())
    actions = {action.text(): action for action in menu.actions()}
    menu.hide()
    return actions


async def test_a_node_offers_what_is_there_and_what_is_below(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        tree = it.window.namespaces.tree
        tree.menu_wanted.emit(it.window.namespaces.model.index_of(ACME), QPoint(10, 10))
        offered = menu_of(tree)
        offered["Forget items here…"].trigger()
        dialog = await it.counted()
        assert dialog.target == Target.at(ACME)
        assert dialog.count_label.text() == "1 item"
        assert any("team:acme/agent:writer" in line for line in dialog.plan_column.sentences), "what is below stays"
        tree.menu_wanted.emit(it.window.namespaces.model.index_of(ACME), QPoint(10, 10))
        menu_of(tree)["Erase here and below…"].trigger()
        await until(lambda: it.removals.dialog is not dialog)
        assert it.dialog.target == Target.below(ACME)
        assert it.dialog.action is Action.ERASE
        await it.counted()


async def test_a_value_offers_all_that_has_it(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    items = [learning(f"l {i}", tags=["a" if i < 3 else "b"]) for i in range(7)]
    async with opened(qtbot, tmp_path, until, FakeEngine(), items) as it:
        tree, model = it.window.facets.tree, it.window.facets.model
        tree.menu_wanted.emit(model.row_index(Facet.TAG, RowType.VALUE, "a"), QPoint(10, 10))
        menu_of(tree)["Forget all with this value…"].trigger()
        dialog = await it.counted()
        assert dialog.target == Target.of_value(Facet.TAG, "a")
        assert dialog.count_label.text() == "3 items"


async def test_what_runs_ends_with_its_memory(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(5)) as it:
        dialog = await it.planned(Target.at(ACME))
        it.answer()
        gate = engine.hold("forget")
        dialog.confirm.remove_button.click()
        await until(lambda: gate.waiting == 1)
        it.removals.leave(None)
        await until(lambda: it.removals.dialog is None and not it.window.job_list.running)
        assert it.window.job_list.jobs[0].words == "It was left in the middle; the journal has what went."
        await until(lambda: not it.removals.jobs.is_busy)


# The way back


@pytest.mark.limit_s(30)
async def test_an_export_first_is_read_back_and_restored(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, sqlite(tmp_path), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        path = tmp_path / "back.jsonl"
        row = dialog.confirm.way_back
        row.export_button.click()
        await choose_file(until, path)
        await until(lambda: row.path_label.isVisible())
        assert row.said_label.text() == "Exported 3 items, read back and counted:"
        assert row.path_label.text().endswith("back.jsonl")
        row.folder_button.click()
        assert it.opened_urls[-1].toLocalFile() == str(tmp_path)
        await it.done()
        assert "back.jsonl" in " ".join(said(dialog))
        dialog.receipt.restore_button.click()
        await until(lambda: "restored" in it.window.error_banner.sentence)
        assert it.window.error_banner.sentence == "3 items restored, 0 held already."
        assert await it.stored() == 6
        dialog.receipt.file_button.click()
        assert it.opened_urls[-1].toLocalFile() == str(tmp_path / "receipts")


@pytest.mark.parametrize("change", [Path.unlink, lambda path: path.write_text("x")], ids=["gone", "changed"])
async def test_an_export_that_is_gone_or_changed_when_it_is_pressed_stops_it(
    change: Callable[[Path], object], qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        path, row = tmp_path / "back.jsonl", dialog.confirm.way_back
        row.export_button.click()
        await choose_file(until, path)
        await until(row.path_label.isVisible)
        change(path)
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: bool(dialog.banner.sentence))
        assert "back.jsonl" in dialog.banner.sentence
        assert dialog.banner.sentence.endswith("export again. Nothing was erased.")
        assert (await it.stored(), list((tmp_path / "receipts").glob("*"))) == (6, [])
        assert not row.export_button.isHidden()
        path.unlink(missing_ok=True)
        dialog.banner.findChild(QPushButton, "bannerActionButton").click()
        await choose_file(until, path)
        await until(row.path_label.isVisible)
        await it.done()
        assert await it.stored() == 3


@pytest.mark.limit_s(30)
async def test_nothing_is_confirmed_while_the_export_is_written(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, sqlite(tmp_path), ITEMS) as it:
        it.removals.memory_path = str(tmp_path / "a.db")
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        it.answer()
        assert dialog.confirm.remove_button.isEnabled()
        dialog.confirm.way_back.export_button.click()
        assert not dialog.confirm.remove_button.isEnabled()
        await choose_file(until, tmp_path / "a.db")
        await until(lambda: bool(dialog.banner.sentence))
        assert dialog.confirm.remove_button.isEnabled()
        assert await it.stored() == 6, "the memory itself was not replaced"


async def test_an_engine_that_does_not_export_has_no_way_back(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    class NoExport(FakeEngine):
        export = MemoryEngine.export

    async with opened(qtbot, tmp_path, until, NoExport(), at(3)) as it:
        dialog = await it.planned(Target.at(ACME))
        assert "There is no way back: this engine does not export what it holds." in said(dialog)
        assert dialog.confirm.way_back.export_button.isHidden()


# Stored text


async def test_stored_text_cannot_speak_for_the_dialog(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    tag = "a<b \u202e<b>Erase done</b>\n\0"
    async with opened(qtbot, tmp_path, until, FakeEngine(), [learning("x" + tag, tags=[tag])]) as it:
        dialog = await it.planned(Target.of_filter(MetaFilter(tags_any=[tag])))
        undone = dialog.confirm.undone_label
        assert undone.isVisible()
        assert undone.text() == "This cannot be undone."
        for label in dialog.findChildren(QLabel):
            assert label.textFormat() is Qt.TextFormat.PlainText or not label.text(), label.text()
        line = next(line for line in dialog.plan_column.sentences if "a<b" in line)
        assert "\u202e" not in line
        assert "⟦RLO⟧" in line
        assert line.endswith("\u2069")
        assert it.title == "Forget what the filter admits"


# Where it is not possible


@pytest.mark.limit_s(30)
async def test_read_only_offers_none_of_it_and_says_why(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, sqlite(tmp_path), ITEMS, is_read_only=True) as it:
        for name in ("forgetAction", "eraseAction", "forgetMatchingAction", "forgetTreeAction", "eraseTreeAction"):
            action = it.window.findChild(QAction, name)
            assert not action.isEnabled(), name
            assert "Opened read-only" in action.toolTip(), name
        assert not it.window.items.forget_button.isEnabled()


async def test_a_search_is_no_filter(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        assert it.window.findChild(QAction, "forgetMatchingAction").isEnabled()
        it.window.search_box.search("writer")
        await until(lambda: it.window.is_idle and it.window.trail.current.query == "writer")
        assert not it.window.findChild(QAction, "forgetMatchingAction").isEnabled()


async def test_samples_open_in_the_viewer_and_all_in_the_list(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME))
        view = dialog.numbers.sample_view
        view.setCurrentIndex(view.samples.index(1, 0))
        enter(view)
        assert it.window.viewer.hit is not None
        assert it.window.viewer.hit.text == "the writer's"
        assert dialog.isVisible()
        dialog.numbers.list_button.click()
        assert it.window.trail.current.filter == dialog.target.filter
        assert dialog.isVisible()


async def test_another_memory_ends_a_plan(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        await it.planned(Target.below(ACME))
        it.removals.leave(None)
        await until(lambda: it.removals.dialog is None)


# Looks


@pytest.mark.parametrize("percent", [100, 200])
async def test_no_word_is_cut(qtbot: QtBot, tmp_path: Path, until: Until, themed: Theme, percent: int) -> None:
    engine = FakeEngine()
    long = "/".join(f"team:{letter * 100}" for letter in "abcdefgh")
    items = [*ITEMS, learning("deep down", long)]
    try:
        themed.set_zoom(percent)
        async with opened(qtbot, tmp_path, until, engine, items) as it:
            it.window.resize(1280, 800)
            dialog = await it.planned(Target.below(ACME), Action.ERASE)
            assert cut_words(dialog) == []
            dialog.begin(Target.below(Namespace.parse(long)), Action.ERASE)
            await until(lambda: dialog.removal is not None and not dialog.jobs.is_busy)
            assert dialog.confirm.name_text.toPlainText() == long
            assert cut_words(dialog) == []
            await it.done()
            assert cut_words(dialog) == []
    finally:
        themed.set_zoom(100)


# In the program


async def test_the_program_keeps_the_receipt_and_asks_before_it_closes(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    path = await memory(tmp_path / "a.db", "one", "two")
    async with running(qtbot, tmp_path) as program:
        await program.start(Options(open_path=path))
        await until(lambda: is_idle(program))
        program.window.removal_wanted.emit(Target.of_filter(MetaFilter(kinds=[ItemKind.LEARNING])), Action.FORGET)
        await until(lambda: program.removals.dialog is not None and program.removals.dialog.removal is not None)
        dialog = program.removals.dialog
        assert dialog is not None
        dialog.confirm.large_check.setChecked(True)
        dialog.confirm.confirm_edit.setText("root")
        dialog.confirm.remove_button.click()
        assert program.window.job_list.is_holding, "closing asks first"
        await until(lambda: dialog.outcome is not None)
        assert dialog.outcome is not None
        assert dialog.outcome.receipt is not None
        assert dialog.outcome.receipt.parent == tmp_path / "receipts"
        await until(lambda: is_idle(program))
        assert rows(program) == 0


async def test_a_fault_in_the_middle_is_not_said_to_be_nothing(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), at(5)) as it:
        dialog = await it.planned(Target.at(ACME))
        it.answer()

        async def fault(*_: object) -> AsyncGenerator[Step, None]:
            yield Step(Phase.REMOVING, 2, 5)
            raise ZeroDivisionError

        monkeypatch.setattr(Removal, "run", fault)
        dialog.confirm.remove_button.click()
        await until(lambda: bool(dialog.banner.sentence))
        assert "Nothing was forgotten" not in dialog.banner.sentence
        assert "left in the middle" in dialog.share_label.text()
        assert not dialog.confirm.remove_button.isEnabled()
        job = it.window.job_list.jobs[0]
        assert job.state is State.FAILED
        assert job.words == f"{dialog.banner.sentence} It was left in the middle; the journal has what went."
        dialog.count_button.click()
        await it.counted()
        assert dialog.count_label.text() == "5 items", "which is what nobody knew before"
        await until(lambda: it.window.is_idle)


# Not meant


async def test_the_second_half_of_a_double_click_stops_nothing_and_closes_nothing(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(3)) as it:
        dialog = await it.planned(Target.of_ids([(await rows_of(it.engine))[0]]))
        gate = engine.hold("forget")
        red, stop = dialog.confirm.remove_button, dialog.running.stop_button
        spot = red.mapTo(dialog, red.rect().center())
        qtbot.mouseClick(red, Qt.MouseButton.LeftButton)
        await until(lambda: gate.waiting == 1)
        assert dialog.childAt(spot) is stop, "it stands where the red one stood"
        second_click(stop)
        assert stop.isEnabled()
        gate.open()
        await until(lambda: dialog.outcome is not None)
        assert dialog.outcome is not None
        assert dialog.outcome.removed == 1
        second_click(dialog.receipt.done_button)
        assert dialog.isVisible(), "the receipt is there to be read"
        qtbot.mouseClick(dialog.receipt.done_button, Qt.MouseButton.LeftButton)
        assert not dialog.isVisible()


async def rows_of(engine: MemoryEngine) -> list[ItemId]:
    return [hit.id for hit in (await engine.list(ListRequest(filter=MetaFilter(), limit=200))).items]


def second_click(button: QPushButton) -> None:
    """What a button is told of a double click that began on another one in its place."""
    at, left = QPointF(button.rect().center()), Qt.MouseButton.LeftButton
    for kind in (QEvent.Type.MouseButtonDblClick, QEvent.Type.MouseButtonRelease):
        event = QMouseEvent(kind, at, button.mapToGlobal(at), left, left, Qt.KeyboardModifier.NoModifier)
        QApplication.sendEvent(button, event)


async def test_the_second_half_of_a_double_click_elsewhere_removes_nothing(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), at(3)) as it:
        dialog = await it.planned(Target.of_ids([(await rows_of(it.engine))[0]]))
        assert dialog.confirm.remove_button.isEnabled()
        second_click(dialog.confirm.remove_button)
        assert not dialog.is_running


async def test_a_selection_that_is_read_late_does_not_take_the_place_of_another_plan(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), at(3)) as it:
        gate = Gate()

        async def late() -> AsyncGenerator[list[Hit], None]:
            await gate.wait()
            yield it.window.items.selected_hits()

        monkeypatch.setattr(it.window.items, "selected_batches", late)
        it.window.items.view.selectRow(0)
        it.window.items.forget_action.trigger()
        await until(lambda: gate.waiting == 1)
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        gate.open()
        await until(lambda: not it.removals.jobs.is_busy)
        assert it.dialog is dialog


async def test_what_is_locked_meanwhile_is_not_planned_nor_restored(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), at(3), is_read_only=True) as it:
        it.window.removal_wanted.emit(Target.below(ACME), Action.ERASE)
        assert it.removals.dialog is None
        assert it.window.error_banner.sentence == "Opened read-only."
        it.removals.restore(tmp_path / "kept.jsonl")
        assert not it.removals.jobs.is_busy


async def test_all_that_takes_the_keyboard_has_a_name(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), ITEMS) as it:
        dialog = await it.planned(Target.below(ACME), Action.ERASE)
        nameless = nameless_in(dialog)
        await it.done()
        assert nameless + nameless_in(dialog) == []


def nameless_in(dialog: QWidget) -> list[str]:
    """What Tab comes to, and a screen reader has no word for."""
    taken = [
        one for one in dialog.findChildren(QWidget) if one.isVisible() and one.focusPolicy() & Qt.FocusPolicy.TabFocus
    ]
    spoken = {one: QAccessible.queryAccessibleInterface(one).text(QAccessible.Text.Name) for one in taken}
    return [one.objectName() or type(one).__name__ for one, name in spoken.items() if not name]


async def test_after_a_refusal_the_keyboard_is_not_on_the_red_button(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(3)) as it:
        dialog = await it.planned(Target.of_ids([(await rows_of(it.engine))[0]]))
        engine.fail("forget", Unauthorized("no such key"))
        dialog.activateWindow()
        dialog.confirm.remove_button.setFocus()
        qtbot.keyClick(dialog.confirm.remove_button, Qt.Key.Key_Space)
        await until(lambda: bool(dialog.banner.sentence))
        assert dialog.focusWidget() is dialog.confirm.cancel_button


async def test_what_is_the_same_number_but_a_larger_part_by_now_says_so(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    items = [*at(2), *[learning(f"filler {i}", "team:north") for i in range(4)]]
    async with opened(qtbot, tmp_path, until, engine, items) as it:
        dialog = await it.planned(Target.below(ACME))
        dialog.confirm.way_back.export_button.click()
        await choose_file(until, tmp_path / "back.jsonl")
        await until(lambda: dialog.confirm.way_back.path_label.isVisible())
        north = ListRequest(filter=MetaFilter(reach=Reach.exact(Namespace.parse("team:north"))), limit=10)
        await engine.forget(ForgetTarget(ids=[hit.id for hit in (await engine.list(north)).items]))
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: dialog.moved_label.isVisible())
        assert dialog.moved_label.text().endswith("this is a larger part of it now. Nothing was forgotten.")
        assert dialog.old_count_label.isHidden(), "the number is the same"
        assert dialog.confirm.large_check.isVisible()
        assert not dialog.confirm.remove_button.isEnabled()
        assert dialog.confirm.way_back.path_label.isVisible(), "the file still holds what would go"
        assert dialog.removal is not None
        assert dialog.removal.way_back is not None


async def test_a_way_back_that_lacks_what_came_meanwhile_is_none(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), at(5)) as it:
        dialog = await it.planned(Target.at(ACME))
        dialog.confirm.way_back.export_button.click()
        await choose_file(until, tmp_path / "back.jsonl")
        await until(lambda: dialog.confirm.way_back.path_label.isVisible())
        await it.engine.store(learning("late", "team:acme"))
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: dialog.moved_label.isVisible())
        assert dialog.confirm.way_back.path_label.isHidden()
        assert dialog.confirm.way_back.export_button.isVisible()
        assert dialog.removal is not None
        assert dialog.removal.way_back is None


async def test_a_run_that_failed_before_anything_went_has_a_job_that_failed(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(3)) as it:
        dialog = await it.planned(Target.at(ACME))
        it.answer()
        engine.fail("forget", Unauthorized("no such key"))
        dialog.confirm.remove_button.click()
        await until(lambda: bool(dialog.banner.sentence))
        job = it.window.job_list.jobs[0]
        assert job.state is State.FAILED
        assert job.words.startswith("The key was refused: no such key.")
        assert job.words.endswith("Nothing was removed.")


async def test_another_memory_ends_a_dialog_that_is_in_the_background(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, at(3)) as it:
        dialog = await it.planned(Target.below(ACME))
        gate = engine.hold("forget")
        it.answer()
        dialog.confirm.remove_button.click()
        await until(lambda: gate.waiting == 1)
        dialog.running.hide_button.click()
        it.removals.leave(None)
        assert it.removals.dialog is None
        await until(lambda: not it.removals.jobs.is_busy)


async def test_a_receipt_that_cannot_be_printed_there_says_so(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), at(3)) as it:
        dialog = await it.planned(Target.of_ids([(await rows_of(it.engine))[0]]))
        await it.done()
        dialog.receipt.print_button.click()
        await choose_file(until, tmp_path / "receipts" / "no folder.pdf" / "receipt.pdf")
        await until(lambda: bool(dialog.banner.sentence))
        assert "receipt.pdf" in dialog.banner.sentence
        dialog.receipt.print_button.click()
        await choose_file(until, tmp_path / "receipt.pdf")
        await until(lambda: dialog.banner.sentence.startswith("Printed to"))
        assert (tmp_path / "receipt.pdf").read_bytes().startswith(b"%PDF")
        assert (tmp_path / "receipt.pdf").read_bytes().rstrip().endswith(b"%%EOF")


@pytest.mark.parametrize(
    ("action", "fate"),
    [
        (Action.ERASE, "the erase takes them, and nothing here counts them."),
        (Action.FORGET, "what is in one is not found, and stays."),
    ],
)
async def test_sandboxes_that_are_not_listed_are_said_to_go_or_to_stay(
    qtbot: QtBot, tmp_path: Path, until: Until, action: Action, fate: str
) -> None:
    class Many(FakeEngine):
        async def namespaces(self, filter: MetaFilter, scan_limit: int = DEFAULT_SCAN) -> ExplorePage:
            page = await super().namespaces(filter, scan_limit)
            return page.model_copy(update={"truncated": True})

    async with opened(qtbot, tmp_path, until, Many(), [learning("x", "team:acme")]) as it:
        dialog = await it.planned(Target.below(Namespace.ROOT), action)
        told = [one for one in said(dialog) if "does not list all of its sandboxes" in one]
        assert told == [f"This engine does not list all of its sandboxes: {fate}"]


async def test_more_that_is_gone_than_was_to_go_is_told(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    class Careless(FakeEngine):
        async def forget(self, target: ForgetTarget) -> ForgetReport:
            report = await super().forget(target)
            self._drop(list(self._held)[:1])
            return report

    items = [learning(f"beside {n}", "user:ann") for n in range(3)]
    async with opened(qtbot, tmp_path, until, Careless(), [*items, learning("x", "team:acme")]) as it:
        await it.planned(Target.at(Namespace.parse("team:acme")))
        await it.done()
        assert it.window.error_banner.sentence == (
            "1 of 1 item forgotten. 1 more item is gone than this removed: by another program, or by the engine."
        )
