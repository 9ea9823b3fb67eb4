"""The preview of context.md: what is asked and when, and that a budget asks nobody."""

from __future__ import annotations

import asyncio
import random
import re
from itertools import pairwise
from pathlib import Path

import pytest
from PySide6.QtCore import QPoint, Qt, QUrl
from PySide6.QtGui import QAccessible, QGuiApplication
from PySide6.QtWidgets import QFileDialog, QLabel, QLineEdit, QPushButton
from pytestqt.qtbot import QtBot

from explorer.context import DEFAULT_BRIEFS, ContextCompiler, ContextSpec
from explorer.contract import Document, DocumentBody, MemoryMeta, Unavailable
from explorer.engines import EngineSettings, build_engine
from explorer.ui.context_parts.budget import MOST, budget_at, place_of, stepped
from explorer.ui.context_parts.header import ITEMS as ITEMS_PAGE
from explorer.ui.context_parts.pages import RENDERED, SOURCE
from explorer.ui.context_preview import ASKS_AFTER_MS, ContextPanel
from explorer.ui.theme import theme
from explorer.ui.viewer_parts.link_dialog import LinkDialog
from tests.conftest import Until
from tests.fakes import learning
from tests.ui.contexts import ACME, TRIAGE, WRITER, at, engine_of, is_done, previewing
from tests.ui.test_app import dialog_of

NARROW = "\u202f"


@pytest.fixture(autouse=True)
def _asks_soon(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("explorer.ui.context_preview.ASKS_AFTER_MS", 1)


def title(panel: ContextPanel) -> str:
    """What the empty state says, where it is on the screen."""
    label = panel.empty.findChild(QLabel, "emptyTitleLabel")
    assert isinstance(label, QLabel)
    return label.text() if label.isVisible() else ""


def press(qtbot: QtBot, panel: ContextPanel, words: str) -> None:
    button = next(one for one in panel.findChildren(QPushButton) if one.text() == words and one.isVisible())
    qtbot.mouseClick(button, Qt.MouseButton.LeftButton)


def markdown(panel: ContextPanel) -> str:
    assert panel.trimmed is not None
    return panel.trimmed.doc.markdown


async def drag(qtbot: QtBot, panel: ContextPanel, place: int, until: Until) -> None:
    panel.budget.slider.setValue(place)
    await until(lambda: not panel._trimming.isActive() and not panel.jobs.is_busy)


# Budget


async def test_a_budget_is_dragged_without_asking_again(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        asked = engine.asked
        assert asked == 5, "four briefs and the learnings"
        compiler = ContextCompiler.at(panel.gathered_at)
        for _ in range(50):
            place = random.Random(place_of(panel.budget.tokens)).randrange(1_001)
            await drag(qtbot, panel, place, until)
            assert engine.asked == asked
            doc = await compiler.compile(engine, panel.spec)
            assert markdown(panel) == doc.markdown
            n, total = (f"{each:,}".replace(",", NARROW) for each in (doc.tokens, panel.budget.tokens))
            assert panel.numbers.tokens_label.text() == f"{n} of {total} tokens"
            engine.calls = engine.calls[:0]
            asked = 0


@pytest.mark.parametrize("typed", ["0", "-5", "200001", "", "1.5"])
async def test_what_is_no_budget_is_refused_in_the_field(
    qtbot: QtBot, tmp_path: Path, until: Until, typed: str
) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        before = markdown(panel)
        spin = panel.budget.spin
        spin.setFocus()
        spin.selectAll()
        qtbot.keyClick(spin, Qt.Key.Key_Delete)
        qtbot.keyClicks(spin, typed)
        if typed in ("0", "", "200001"):
            assert panel.numbers.estimate_label.text() == f"a budget is 1 to 200{NARROW}000 tokens"
        qtbot.keyClick(spin, Qt.Key.Key_Tab)
        budget = spin.value()
        assert 1 <= budget <= MOST
        assert budget == {"-5": 5, "1.5": 15, "200001": 20_000}.get(typed, 1_500), "no sign, point or further digit"
        assert "estimate" in panel.numbers.estimate_label.text()
        if budget == 1_500:
            assert markdown(panel) == before


async def test_keys_step_by_a_hundred_and_by_a_thousand(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        for widget in (panel.budget.slider, panel.budget.spin):
            panel.set_budget(1_500)
            widget.setFocus()
            for key, budget in (
                (Qt.Key.Key_Up, 1_600),
                (Qt.Key.Key_PageUp, 2_000),
                (Qt.Key.Key_PageUp, 3_000),
                (Qt.Key.Key_Down, 2_900),
                (Qt.Key.Key_PageDown, 2_000),
                (Qt.Key.Key_PageDown, 1_000),
                (Qt.Key.Key_PageDown, 1),
                (Qt.Key.Key_Down, 1),
                (Qt.Key.Key_Up, 100),
            ):
                qtbot.keyClick(widget, key)
                assert panel.budget.tokens == panel.budget.spin.value() == budget
        slider = panel.budget.slider
        qtbot.keyClick(slider, Qt.Key.Key_End)
        assert panel.budget.tokens == 200_000
        assert slider.value() == slider.maximum()
        qtbot.keyClick(slider, Qt.Key.Key_Left)
        assert panel.budget.tokens == 199_900
        qtbot.keyClick(slider, Qt.Key.Key_Home)
        assert (panel.budget.tokens, slider.value()) == (1, 0)


def test_the_slider_goes_from_one_to_all_by_numbers_that_can_be_said() -> None:
    budgets = [budget_at(place) for place in range(1_001)]
    assert budgets == sorted(budgets)
    assert (budgets[0], budgets[-1]) == (1, 200_000)
    assert {1, 10, 100, 1_000, 1_500, 10_000, 100_000} <= set(budgets)
    assert all(int(str(budget)[2:] or 0) == 0 for budget in budgets)
    assert all(abs(place_of(budget_at(place)) - place) < 60 for place in range(1_001))
    assert (stepped(1_234, 100), stepped(1_234, -100), stepped(1_200, -1_000)) == (1_300, 1_200, 1_000)


# When it asks


async def test_it_asks_nothing_while_it_is_not_seen(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        asked = engine.asked
        panel.hide()
        panel.show_filter(at(WRITER))
        panel.refresh()
        await asyncio.sleep(1.5 * ASKS_AFTER_MS / 1_000)
        assert engine.asked == asked
        panel.show()
        await until(lambda: is_done(panel) and panel.node == WRITER)
        assert "only the writer" in markdown(panel)


async def test_what_is_asked_while_it_goes_is_asked_when_it_is_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    gate = engine.hold("recall")
    async with previewing(qtbot, tmp_path, until, engine, waits=False) as panel:
        await until(lambda: gate.waiting == 4)
        panel.hide()
        await until(lambda: gate.waiting == 0)
        assert not panel.jobs.is_busy
        gate.open()
        panel.show()
        await until(lambda: is_done(panel))


async def test_the_list_comes_first(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    is_read: list[bool] = []
    looked = 0

    def is_list_read() -> bool:
        nonlocal looked
        looked += 1
        return bool(is_read)

    async with previewing(qtbot, tmp_path, until, engine, is_list_read=is_list_read, waits=False) as panel:
        await until(lambda: looked > 2)
        assert engine.asked == 0
        is_read.append(True)
        await until(lambda: is_done(panel))


async def test_an_engine_whose_answers_may_cost_is_asked_only_when_the_person_says_so(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = await engine_of()
    engine.may_cost = True
    async with previewing(qtbot, tmp_path, until, engine, waits=False) as panel:
        await until(lambda: title(panel) == "Not compiled yet")
        said = panel.empty.findChild(QLabel, "emptySentenceLabel")
        assert "may cost money" in said.text()
        panel.refresh()
        panel.show_filter(at(WRITER))
        await until(lambda: not panel._asking.isActive())
        assert engine.asked == 0
        press(qtbot, panel, "Compile")
        await until(lambda: is_done(panel))
        assert engine.asked == 5
        await drag(qtbot, panel, 500, until)
        assert engine.asked == 5, "to trim costs nothing"
        panel.refresh()
        await until(lambda: "asked only when you say so" in panel.banner.sentence)
        assert engine.asked == 5
        assert markdown(panel), "what was told stays to be read"


async def test_a_document_that_was_paid_for_outlives_a_look_at_another_node(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = await engine_of()
    engine.may_cost = True
    async with previewing(qtbot, tmp_path, until, engine, waits=False) as panel:
        await until(lambda: title(panel) == "Not compiled yet")
        press(qtbot, panel, "Compile")
        await until(lambda: is_done(panel))
        before = markdown(panel)
        panel.show_filter(at(WRITER))
        panel.show_filter(at(TRIAGE))
        await until(lambda: not panel._waiting.isActive() and not panel._asking.isActive())
        assert markdown(panel) == before
        panel.show_filter(at(WRITER))
        assert panel.banner.sentence == "", "nothing of this node was asked before"
        await until(lambda: title(panel) == "Not compiled yet")
        assert panel.banner.sentence == ""


async def test_that_it_is_old_is_said_until_it_is_not(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    engine.may_cost = True
    async with previewing(qtbot, tmp_path, until, engine, waits=False) as panel:
        panel.compile_action.trigger()
        await until(lambda: is_done(panel))
        panel.refresh()
        await until(lambda: "asked only when you say so" in panel.banner.sentence)
        panel.compile_action.trigger()
        await until(lambda: is_done(panel) and not panel.banner.sentence)


async def test_only_the_newest_answer_is_shown(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    gate = engine.hold("recall", lambda req: req.filter.reach.at == TRIAGE, stubborn=True)
    async with previewing(qtbot, tmp_path, until, engine, waits=False) as panel:
        await until(lambda: gate.waiting == 4)
        panel.show_filter(at(WRITER))
        await until(lambda: "only the writer" in (panel.trimmed.doc.markdown if panel.trimmed else ""))
        gate.open()
        await until(lambda: gate.waiting == 0 and not panel.jobs.is_busy)
        assert "only the writer" in markdown(panel)
        assert panel.node_button.node == WRITER


async def test_the_document_of_another_node_does_not_stay(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        gate = engine.hold("recall")
        panel.show_filter(at(WRITER))
        await until(lambda: title(panel) == "Compiling")
        assert panel.trimmed is None
        assert "working preference" not in panel.pages.read_view.toPlainText()
        assert panel.numbers.tokens_label.text() == ""
        press(qtbot, panel, "Cancel")
        await until(lambda: title(panel) == "Compiling was stopped")
        assert gate.waiting == 0
        gate.open()
        press(qtbot, panel, "Compile")
        await until(lambda: is_done(panel))


async def test_another_engine_begins_anew(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine, other = await engine_of(), await engine_of([learning("of the other memory", str(TRIAGE))])
    gate = engine.hold("recall", stubborn=True)
    async with previewing(qtbot, tmp_path, until, engine, waits=False) as panel:
        await until(lambda: gate.waiting == 4)
        panel.set_engine(other)
        panel.show_filter(at(TRIAGE))
        await until(lambda: is_done(panel))
        gate.open()
        await until(lambda: gate.waiting == 0)
        assert "of the other memory" in markdown(panel)
        panel.set_engine(None)
        assert title(panel) == "Nothing is open"
        assert panel.pages.read_view.toPlainText() == ""
        assert not panel.copy_action.isEnabled()


async def test_it_ends_while_it_gathers(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    gate = engine.hold("recall")
    async with previewing(qtbot, tmp_path, until, engine, waits=False):
        await until(lambda: gate.waiting == 4)
    assert gate.waiting == 0


# What it says


async def test_two_estimates_stand_beside_each_other(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        panel.resize(900, 420)
        await until(lambda: "; by " in panel.numbers.estimate_label.text())
        assert panel.numbers.estimate_label.text().startswith("estimate, 4 characters a token; by ")
        assert not panel.numbers.warning.isVisible()
        assert "are the frontmatter with its ids" in panel.numbers.tokens_label.toolTip()


async def test_chinese_is_told_to_take_more(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    text = "退款什么时候到账我已经等了十天请尽快处理并告诉我进度" * 6
    async with previewing(qtbot, tmp_path, until, await engine_of([learning(text, str(TRIAGE))])) as panel:
        assert panel.numbers.warning.isVisible()
        assert panel.numbers.tokens_label.property("tone") == "caution"
        assert "differ by more than half" in panel.numbers.tokens_label.toolTip()
        assert "differ by more than half" in panel.numbers.warning.accessibleName()


async def test_an_empty_memory_is_no_error(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of([])) as panel:
        assert title(panel) == "Nothing stored for this node"
        assert panel.banner.sentence == ""
        assert panel.numbers.tokens_label.text() == f"0 of 1{NARROW}500 tokens"
        assert not panel.save_action.isEnabled()


async def test_what_was_left_out_elsewhere_makes_no_document_empty(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of([learning("of triage alone", str(TRIAGE))])
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        assert panel.gathered is not None
        for hit in panel.gathered.learnings:
            panel.leave_out(hit.id, True)
        assert title(panel) == "An empty document"
        panel.show_filter(at(WRITER))
        await until(lambda: is_done(panel))
        assert title(panel) == "Nothing stored for this node"


async def test_a_budget_that_is_too_small_says_so(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        panel.set_budget(10)
        assert title(panel) == "10 tokens have no room for any of it"
        press(qtbot, panel, "What was left out")
        await until(lambda: panel.entry_page.model.entries)
        assert panel.entry_page.model.entries
        assert all("no room" in one.why_not for one in panel.entry_page.model.entries[:5])


async def test_an_item_longer_than_the_budget_is_shortened(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    long = learning("the user " + "likes to work in long sentences " * 1_600, str(TRIAGE))
    async with previewing(qtbot, tmp_path, until, await engine_of([long])) as panel:
        line = next(one for one in panel.numbers.lines.lines if one.part.is_short)
        assert "shortened" in line.part.items or "of" in line.part.items
        assert "token budget" in line.part.why
        assert panel.trimmed is not None
        assert 0 < panel.trimmed.doc.tokens <= 1_500


async def test_failed_briefs_are_told(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    engine.fail("recall", Unavailable("the socket is closed"), lambda req: "project" in req.question)
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        assert panel.banner.sentence == "Not answered: Active work. The engine did not answer. The socket is closed."
        failed = next(one for one in panel.numbers.lines.lines if one.part.heading == "Active work")
        assert (failed.part.items, failed.part.is_short) == ("failed", True)
        panel.banner.clear()
        panel.set_budget(1_400)
        assert panel.banner.sentence == "", "it is said once"
        panel.refresh()
        await until(lambda: panel.banner.sentence)
        engine.mend()
        press(qtbot, panel, "Retry")
        await until(lambda: is_done(panel) and panel.banner.sentence == "")


async def test_nothing_but_failures_is_no_empty_memory(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    for call in ("recall", "list"):
        engine.fail(call, Unavailable("the socket is closed"))
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        assert title(panel) == "No brief was answered"
        engine.mend()
        press(qtbot, panel, "Retry")
        await until(lambda: is_done(panel) and bool(markdown(panel)))


# Sections and items


async def test_sections_are_buttons_and_their_sizes_are_shares(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        assert panel.trimmed is not None
        parts = panel.numbers.bar.parts
        present = [one for one in panel.trimmed.sections if one.tokens]
        assert len(parts) == len(present)
        assert panel.numbers.bar.height() == 12
        for part, one in zip(parts, present, strict=True):
            interface = QAccessible.queryAccessibleInterface(part)
            assert interface.role() == QAccessible.Role.Button
            assert interface.text(QAccessible.Text.Name).startswith(f"{one.heading}, ")
        total = sum(one.tokens for one in present)
        for part, one in zip(parts, present, strict=True):
            assert abs(part.width() / panel.numbers.bar.width() - one.tokens / total) < 0.03
        for before, after in pairwise(parts):
            assert after.x() - before.geometry().right() - 1 == 1
        panel.numbers.bar.setFocus()
        qtbot.keyClick(panel.numbers.bar, Qt.Key.Key_Right)
        assert panel.numbers.bar.accessibleDescription() == parts[1].accessibleName()
        place = panel.pages.read_view.verticalScrollBar().value()
        qtbot.keyClick(panel.numbers.bar, Qt.Key.Key_Return)
        assert panel.pages.read_view.verticalScrollBar().value() > place, "to its heading"


async def test_what_is_left_out_is_listed_item_by_item(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        line = next(one for one in panel.numbers.lines.lines if one.part.heading == "Learnings")
        in_it, in_all = (int(word) for word in line.part.items.split() if word.isdigit())
        assert (in_all, in_it < in_all) == (32, True)
        qtbot.mouseClick(line, Qt.MouseButton.LeftButton)
        page = panel.entry_page
        await until(lambda: page.model.entries)
        assert page.isVisible()
        assert panel.segments.choice == ITEMS_PAGE
        assert page.title_label.text() == f"{in_all - in_it} not in Learnings"
        reasons = {one.why_not for one in page.model.entries}
        assert len(page.model.entries) == in_all - in_it
        assert reasons <= {
            "The token budget had no room for it.",
            "It comes after as many learnings as the limit lets in.",
        }
        with qtbot.waitSignal(panel.item_wanted) as told:
            qtbot.keyClick(page.tree, Qt.Key.Key_Return)
        assert told.args[0].id == page.model.entries[0].hit.id
        qtbot.mouseClick(page.all_button, Qt.MouseButton.LeftButton)
        assert len(page.model.entries) > in_all
        qtbot.mouseClick(page.back_button, Qt.MouseButton.LeftButton)
        assert panel.pages.isVisible()
        panel.numbers.lines.setFocus()
        for _ in panel.numbers.lines.lines:
            qtbot.keyClick(panel.numbers.lines, Qt.Key.Key_Down)
        qtbot.keyClick(panel.numbers.lines, Qt.Key.Key_Return)
        assert page.isVisible(), "the last line is that of the learnings"


async def test_a_list_that_was_not_read_whole_is_no_total(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.context.gathering._PAGE", 10)
    monkeypatch.setattr("explorer.context.gathering._PAGES", 2)
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        line = panel.numbers.lines.lines[-1]
        assert re.fullmatch(r"\d+ of 20\+ items", line.part.items)


async def test_an_item_is_left_out_and_put_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        asked, before = engine.asked, markdown(panel)
        panel._choose_page(ITEMS_PAGE)
        page = panel.entry_page
        await until(lambda: page.model.entries)
        row = next(at for at, one in enumerate(page.model.entries) if one.heading == "Learnings" and one.is_in)
        entry = page.model.entries[row]
        page.tree.setCurrentIndex(page.model.index(row, 0))
        qtbot.mouseClick(page.without_button, Qt.MouseButton.LeftButton)
        assert entry.hit.id not in markdown(panel)
        await until(lambda: any(one.is_taken_out for one in page.model.entries))
        assert panel.numbers.without_row.isVisible()
        assert panel.numbers.without_label.text() == "Without 1 item that you left out."
        assert page.tree.currentIndex().row() == row, "the next one is current"
        out = next(at for at, one in enumerate(page.model.entries) if one.is_taken_out)
        assert page.model.entries[out].why_not == "You left it out."
        page.tree.setCurrentIndex(page.model.index(out, 0))
        assert page.without_button.text() == "Put back"
        qtbot.mouseClick(panel.numbers.put_back_button, Qt.MouseButton.LeftButton)
        assert markdown(panel) == before
        assert not panel.numbers.without_row.isVisible()
        assert engine.asked == asked, "nobody was asked"


async def test_the_model_of_items_keeps_the_rules(
    qtbot: QtBot, tmp_path: Path, until: Until, qtmodeltester: object
) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        panel._choose_page(ITEMS_PAGE)
        await until(lambda: panel.entry_page.model.entries)
        qtmodeltester.check(panel.entry_page.model)  # type: ignore[attr-defined]
        assert panel.entry_page.model.rowCount() > 5


# The pages


def links(panel: ContextPanel) -> list[str]:
    """The addresses of the rendered page, in order."""
    found = []
    block = panel.pages.read_view.document().begin()
    while block.isValid():
        each = block.begin()
        while not each.atEnd():
            href = each.fragment().charFormat().anchorHref()
            if href and (not found or found[-1] != href):
                found.append(href)
            each += 1
        block = block.next()
    return found


def click_on(qtbot: QtBot, panel: ContextPanel, words: str) -> None:
    view = panel.pages.read_view
    cursor = view.document().find(words)
    assert not cursor.isNull()
    cursor.setPosition(cursor.selectionStart() + 1)
    view.reveal(cursor.position())
    at = view.cursorRect(cursor).center() + QPoint(1, 0)
    qtbot.mouseClick(view.viewport(), Qt.MouseButton.LeftButton, pos=at)


async def test_citations_lead_to_their_items(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        text = panel.pages.read_view.toPlainText()
        assert text.startswith("About the user")
        assert "[1]" in text
        assert "generated_at" not in text
        with qtbot.waitSignal(panel.item_wanted) as told:
            click_on(qtbot, panel, "[1]")
        first = panel.gathered.briefs[0].citations[0]  # type: ignore[union-attr]
        assert (told.args[0].id, told.args[1].quote) == (first.id, first.snippet)
        with qtbot.waitSignal(panel.item_wanted) as told:
            click_on(qtbot, panel, "[→]")
        assert told.args[0].id == panel.gathered.learnings[0].id  # type: ignore[union-attr]
        assert told.args[1] is None, "it is listed whole"
        panel._choose_page(SOURCE)
        assert panel.pages.source_view.toPlainText() == markdown(panel).removesuffix("\n") + "\n"
        panel._choose_page(RENDERED)
        assert panel.pages.read_view.toPlainText() == text


async def test_the_numbers_of_an_answer_are_links_themselves(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of([learning("the user works [2] with the user [1] and [77]", str(TRIAGE))])
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        text = panel.pages.read_view.toPlainText().partition("Learnings")[0]
        assert text.count("[1]") == text.count("From "), "no list of numbers behind those that are there"
        with qtbot.waitSignal(panel.item_wanted):
            click_on(qtbot, panel, "[1]")


async def test_each_point_of_an_answer_leads_to_what_it_quotes(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(tmp_path / "a.db")), None)
    await engine.store_many(
        [
            learning("The user is Dana, the user leads support.", str(TRIAGE)),
            learning("The user likes to work in the morning, says the user.", str(TRIAGE)),
        ]
    )
    try:
        async with previewing(qtbot, tmp_path, until, engine) as panel:
            assert panel.gathered is not None
            brief = panel.gathered.briefs[0]
            points = [line for line in brief.body.split("\n") if line.startswith("- ")]
            assert len(points) == len(brief.citations) == 2
            others = "|".join(brief.heading for brief in DEFAULT_BRIEFS[1:])
            text = re.split(f"{others}|Learnings", panel.pages.read_view.toPlainText())[0]
            rows = [line for line in text.split("\n") if re.search(r"\[\d\]", line)]
            assert [row[-3:] for row in rows] == ["[1]", "[2]"]
            with qtbot.waitSignal(panel.item_wanted) as told:
                click_on(qtbot, panel, "[2]")
            assert told.args[0].id == brief.citations[1].id
            assert brief.citations[1].snippet.split(",")[0] in rows[1]
    finally:
        await engine.aclose()


async def test_stored_markdown_does_nothing(qtbot: QtBot, tmp_path: Path, until: Until, listener: object) -> None:
    port = listener.port  # type: ignore[attr-defined]
    evil = (
        "the user <script>alert(1)</script> is <b>bold</b> [x](javascript:alert(1)) ![p](file:///etc/passwd) "
        f"![q](http://127.0.0.1:{port}/p.png) [fake](item:0) [web](https://example.org/a) <img src='http://127.0.0.1:{port}/'>"
    )
    async with previewing(qtbot, tmp_path, until, await engine_of([learning(evil, str(TRIAGE))])) as panel:
        text = panel.pages.read_view.toPlainText()
        assert "<script>alert(1)</script>" in text
        assert "image not loaded: file:///etc/passwd" in text
        own = {link for link in links(panel) if link.startswith("item:")}
        assert set(links(panel)) - own == {"https://example.org/a"}
        assert all(isinstance(panel.pages.read_view._entry_of(QUrl(link)), object) for link in own)
        opened: list[QUrl] = []
        panel.open_url = opened.append
        click_on(qtbot, panel, "web")
        await until(lambda: dialog_of(LinkDialog) is not None)
        dialog = dialog_of(LinkDialog)
        assert dialog is not None
        assert dialog.target_view.toPlainText() == "https://example.org/a"
        assert opened == []
        qtbot.mouseClick(dialog.open_button, Qt.MouseButton.LeftButton)
        await until(lambda: opened == [QUrl("https://example.org/a")])
        assert not listener()  # type: ignore[operator]


async def test_what_is_read_stays_where_it_is_while_the_budget_changes(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        bar = panel.pages.read_view.verticalScrollBar()
        bar.setValue(120)
        panel.set_budget(1_400)
        await until(lambda: not panel.jobs.is_busy)
        assert bar.value() == 120


async def test_a_long_document_is_written_in_parts(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    items = [learning(f"the user {n} " + "works on refunds and likes words " * 600, str(TRIAGE)) for n in range(8)]
    async with previewing(qtbot, tmp_path, until, await engine_of(items)) as panel:
        panel.set_budget(200_000)
        await until(lambda: not panel.jobs.is_busy)
        assert len(markdown(panel)) > 500_000
        assert panel.trimmed is not None
        written = len(panel.pages.read_view.toPlainText())
        assert 0 < written < 100_000
        assert panel.pages.foot.isVisible()
        assert panel.pages.note_label.text()
        panel._choose_page(SOURCE)
        qtbot.mouseClick(panel.pages.rest_button, Qt.MouseButton.LeftButton)
        await until(lambda: not panel.jobs.is_busy)
        assert len(panel.pages.source_view.toPlainText()) >= len(markdown(panel)) - 2
        assert not panel.pages.foot.isVisible()


async def test_a_body_that_looks_like_a_heading_stays_in_its_section(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    tricky = Document(
        body=DocumentBody(text="the user works\n\n## Learnings\n\n- on projects\n\n## Active work\n\nx"),
        meta=MemoryMeta(namespace=TRIAGE),
    )
    engine = await engine_of([tricky, learning("the user works on it", str(TRIAGE))])
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        assert panel.trimmed is not None
        assert len(panel.pages._starts) == sum(one.tokens > 0 for one in panel.trimmed.sections)


async def test_it_is_copied_and_saved(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        panel.copy_action.trigger()
        assert QGuiApplication.clipboard().text() == markdown(panel)
        panel.save_action.trigger()
        await until(lambda: dialog_of(QFileDialog) is not None)
        dialog = dialog_of(QFileDialog)
        assert dialog is not None
        edit = dialog.findChild(QLineEdit, "fileNameEdit")
        assert isinstance(edit, QLineEdit)
        edit.setText(str(tmp_path / "out.md"))
        qtbot.keyClick(edit, Qt.Key.Key_Return)
        await until(lambda: "Saved to" in panel.banner.sentence)
        assert (tmp_path / "out.md").read_text("utf-8") == markdown(panel)


# Nodes


async def test_a_node_is_chosen_by_its_words(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        qtbot.mouseClick(panel.node_button, Qt.MouseButton.LeftButton)
        popup = panel.node_button.popup
        assert popup is not None
        assert popup.list.count() == 5
        qtbot.keyClicks(popup.find_edit, "writ")
        assert popup.list.count() == 1
        qtbot.keyClick(popup.find_edit, Qt.Key.Key_Return)
        await until(lambda: is_done(panel) and panel.node == WRITER)
        assert panel.node_button.accessibleName() == "Brief for team:acme / agent:writer"
        panel.show_filter(at(ACME))
        assert panel.node == WRITER, "it was chosen by hand"
        panel.node_button.open()
        popup = panel.node_button.popup
        assert popup is not None
        first = popup.list.item(0)
        assert first.text() == "The node of the filter"
        popup.list.itemClicked.emit(first)
        await until(lambda: is_done(panel) and panel.node == ACME)


async def test_the_reach_is_that_of_an_agent_placed_there(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine, ACME) as panel:
        requests = [*engine.requests("recall"), *engine.requests("list")]
        assert {str(req.filter.reach.at) for req in requests} == {"team:acme"}
        assert all(req.filter.reach.inherit and not req.filter.reach.descendants for req in requests)
        assert "working preference" not in markdown(panel)
        assert "who leads support" in markdown(panel)


async def test_briefs_and_budget_are_kept(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await engine_of()
    async with previewing(qtbot, tmp_path, until, engine) as panel:
        panel.set_budget(777)
        panel.set_spec(ContextSpec(briefs=[], learnings_limit=3))
        await until(lambda: is_done(panel))
        state = panel.state()
        for broken in ("", "{", '{"budget_tokens": 0}', '{"briefs": [{"heading": "", "question": ""}]}'):
            panel.restore(broken)
            assert panel.state() == state
    async with previewing(qtbot, tmp_path, until, engine, waits=False) as panel:
        panel.restore(state)
        await until(lambda: is_done(panel))
        assert panel.budget.spin.value() == 777
        assert [one.heading for one in panel.trimmed.sections] == ["Learnings"]  # type: ignore[union-attr]


async def test_colours_of_another_theme_are_drawn(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with previewing(qtbot, tmp_path, until, await engine_of()) as panel:
        text = panel.pages.read_view.toPlainText()
        theme().changed.emit()
        await until(lambda: not panel.jobs.is_busy)
        assert panel.pages.read_view.toPlainText() == text
