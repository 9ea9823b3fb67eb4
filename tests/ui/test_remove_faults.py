"""The dialog of a removal over an engine that misbehaves."""

from __future__ import annotations

from pathlib import Path

import pytest
from pytestqt.qtbot import QtBot

from explorer.contract import ForgetReport, ForgetTarget, ListPage, ListRequest, Namespace, Unavailable
from explorer.removal.plan import Action, Target
from tests.conftest import Until
from tests.fakes import FakeEngine, learning
from tests.ui.removing import opened

ACME = Namespace.parse("team:acme")


class Dropping(FakeEngine):
    """Does what it is told the second time, and drops the connection before it says so; then it stays away."""

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        report = await super().forget(target)
        if len(self.requests("forget")) >= 2:
            raise Unavailable("the connection was dropped", retry_after_s=3_600)
        return report


async def test_a_repeated_cursor_confirms_nothing(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = FakeEngine()
    async with opened(qtbot, tmp_path, until, engine, [learning(f"l {i}", "team:acme") for i in range(20)]) as it:
        rows = (await engine.list(ListRequest(limit=10))).items
        engine.listing = lambda req: ListPage(items=rows, next_cursor="again")
        it.window.removal_wanted.emit(Target.at(ACME), Action.ERASE)
        dialog = it.dialog
        await until(lambda: dialog.count_button.text() == "Count again")
        assert "repeated a cursor" in dialog.banner.sentence
        dialog.confirm.confirm_edit.setText("team:acme")
        assert not dialog.confirm.remove_button.isEnabled()
        assert await it.stored() == 20
        engine.listing = None
        dialog.count_button.click()
        await it.counted()
        assert dialog.count_label.text() == "20 items"


@pytest.mark.limit_s(20)
async def test_a_dropped_connection_leaves_numbers_that_are_true(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = Dropping()
    async with opened(qtbot, tmp_path, until, engine, [learning(f"l {i}", "team:acme") for i in range(350)]) as it:
        dialog = await it.planned(Target.at(ACME))
        await it.done()
        outcome = dialog.outcome
        assert outcome is not None
        assert await it.stored() == 50, "two batches went, of which one was never answered"
        assert (outcome.removed, len(outcome.left)) == (300, 50)
        assert it.title.startswith("300 of 350 removed")
        assert outcome.stopped == "the connection was dropped"
        assert not outcome.is_clean


@pytest.mark.parametrize("is_wanted", [False, True])
async def test_texts_are_on_the_receipt_only_where_they_are_wanted(
    is_wanted: bool, qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with opened(qtbot, tmp_path, until, FakeEngine(), [learning("a secret", "team:acme")]) as it:
        dialog = await it.planned(Target.at(ACME), Action.ERASE)
        assert not dialog.confirm.texts_check.isChecked()
        dialog.confirm.texts_check.setChecked(is_wanted)
        await it.done()
        assert dialog.outcome is not None
        assert dialog.outcome.receipt is not None
        assert ("a secret" in dialog.outcome.receipt.read_text("utf-8")) is is_wanted


async def test_a_late_answer_to_the_first_count_is_not_that_of_the_second(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = FakeEngine()
    items = [learning("here", "team:acme"), learning("below", "team:acme/agent:a"), learning("elsewhere")]
    async with opened(qtbot, tmp_path, until, engine, items) as it:
        gate = engine.hold("list_preview", lambda req: req.filter.reach.descendants, stubborn=True)
        it.window.removal_wanted.emit(Target.below(ACME), Action.FORGET)
        await until(lambda: gate.waiting == 1)
        it.window.removal_wanted.emit(Target.at(ACME), Action.FORGET)
        dialog = await it.counted()
        assert dialog.count_label.text() == "1 item"
        gate.open()
        await until(lambda: gate.waiting == 0)
        assert it.dialog.count_label.text() == "1 item"
        assert it.title == "Forget the items at team:acme"
