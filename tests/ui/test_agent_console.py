"""The agent's console: what it sends, what it shows, and what it asks before it writes."""

from __future__ import annotations

import json
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from PySide6.QtCore import Qt, QUrl
from PySide6.QtWidgets import (
    QApplication,
    QCheckBox,
    QComboBox,
    QLineEdit,
    QMessageBox,
    QPlainTextEdit,
    QPushButton,
    QSpinBox,
    QToolButton,
)
from pytestqt.qtbot import QtBot

from explorer.contract import (
    ForgetTarget,
    GetRequest,
    ItemId,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    StoreItem,
    StoreReceipt,
    Unavailable,
)
from explorer.removal.journal import Journal
from explorer.tools import TOOL_NAMES, MemoryTools, ToolScope
from explorer.ui.console import BY_HAND, FORM, RESULT, ConsolePanel
from explorer.ui.main_window import MainWindow
from explorer.ui.tool_result import item_ids, parts
from explorer.ui.viewer_parts.readers import copy_plain
from tests.conftest import Until
from tests.ui.test_agent_view import READ_BY_WRITER, TRIAGE, WRITER, memory, see_as
from tests.ui.test_main_window import opened, texts

READS = [
    ("memory_recall", {"question": "when does the ledger close?"}),
    ("memory_fetch", {"query": "refunds", "limit": 3}),
    ("memory_list", {}),
    ("memory_list", {"filter": {"tags_any": ["<i>hostile</i>"]}}),
    ("memory_explore", {"facet": "tag"}),
]


@asynccontextmanager
async def console(
    qtbot: QtBot, tmp_path: Path, until: Until, node: Namespace | None = WRITER
) -> AsyncIterator[tuple[MainWindow, ConsolePanel, MemoryEngine]]:
    engine = await memory(tmp_path)
    async with opened(qtbot, tmp_path, until, engine) as window:
        if node is not None:
            await see_as(window, node, until)
        window.console_action.trigger()
        yield window, window.console, engine


def field(panel: ConsolePanel, path: str, kind: type) -> Any:
    form = panel.form
    assert form is not None
    found = form.findChild(kind, f"arg:{path}")
    assert found is not None, path
    return found


def choose(panel: ConsolePanel, tool: str, arguments: dict[str, Any] | None = None) -> None:
    panel.tool_box.setCurrentText(tool)
    assert panel.tool == tool
    assert panel.form is not None
    assert panel.form.set_values(arguments or {})


async def run(panel: ConsolePanel, until: Until) -> str:
    before = len(panel.calls)
    panel.run_button.click()
    await until(lambda: len(panel.calls) > before and not panel.jobs.is_busy)
    return panel.calls[-1].said


async def ids_by_text(engine: MemoryEngine) -> dict[str, ItemId]:
    found = {}
    for reach in (None, Reach.exact(Namespace.parse("team:acme/service:nightly"))):
        page = await engine.list(ListRequest(filter=MetaFilter(reach=reach), limit=200))
        found |= {hit.text: hit.id for hit in page.items}
    return found


def question() -> QMessageBox | None:
    boxes = [one for one in QApplication.topLevelWidgets() if isinstance(one, QMessageBox) and one.isVisible()]
    return boxes[0] if boxes else None


async def answer(until: Until, words: str) -> str:
    """Press a button of the question; what it had asked."""
    await until(lambda: question() is not None)
    box = question()
    assert box is not None
    asked = f"{box.text()}\n{box.informativeText()}"
    button = next(one for one in box.buttons() if one.text().replace("&", "") == words)
    button.click()
    return asked


@pytest.mark.parametrize(("tool", "arguments"), READS, ids=lambda one: str(one))
async def test_it_shows_byte_for_byte_what_the_agent_gets(
    qtbot: QtBot, tmp_path: Path, until: Until, tool: str, arguments: dict[str, Any]
) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, engine):
        expected = await MemoryTools.with_scope(engine, ToolScope.at(WRITER)).call(tool, arguments)
        choose(panel, tool, arguments)
        assert await run(panel, until) == expected
        panel.copy_button.click()
        assert QApplication.clipboard().text() == expected
        assert json.loads(panel.shown_text) == json.loads(expected)
        assert panel.segments.choice == RESULT
        panel.raw_check.click()
        assert panel.shown_text == expected
        told = panel.result_view.toPlainText()
        assert "stranger" not in told
        assert "triage" not in told


async def test_it_is_the_agent_of_the_node_that_is_looked_at(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until, node=None) as (window, panel, _):
        assert panel.scope == ToolScope.default()
        assert "all but sandboxes" in panel.scope_label.text()
        window.go_to_filter(MetaFilter(reach=Reach.subtree(TRIAGE)))
        assert panel.scope == ToolScope.at(TRIAGE)
        assert panel.scope_label.text() == "As agent:triage at team:acme"
        window.back_action.trigger()
        await see_as(window, WRITER, until)
        window.go_to_filter(MetaFilter(reach=Reach.exact(Namespace.parse("team:acme"))))
        assert panel.scope == ToolScope.at(WRITER), "what the person narrows to is no other agent"


async def test_only_what_is_set_in_the_form_is_sent(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, _engine):
        choose(panel, "memory_fetch")
        form = panel.form
        assert form is not None
        assert form.values() == {}
        qtbot.keyClicks(field(panel, "query", QLineEdit), "refunds")
        limit = field(panel, "limit", QSpinBox)
        assert limit.text() == "10 (default)"
        assert (limit.minimum(), limit.maximum()) == (0, 50)
        limit.setValue(3)
        mode = field(panel, "mode", QComboBox)
        assert [mode.itemText(at) for at in range(mode.count())] == ["hybrid (default)", "keyword", "vector", "hybrid"]
        mode.setCurrentIndex(1)
        fold = form.findChild(QToolButton, "fold:filter")
        assert not form.findChild(QCheckBox, "arg:filter.kinds:learning").isVisible()
        fold.click()
        form.findChild(QCheckBox, "arg:filter.kinds:learning").click()
        field(panel, "filter.tags_any", QPlainTextEdit).setPlainText("refunds\nbilling\n")
        field(panel, "filter.observed_after", QLineEdit).setText("2026-01-01T00:00:00Z")
        wanted = {
            "query": "refunds",
            "mode": "keyword",
            "limit": 3,
            "filter": {
                "kinds": ["learning"],
                "tags_any": ["refunds", "billing"],
                "observed_after": "2026-01-01T00:00:00Z",
            },
        }
        assert form.values() == wanted
        fold.click()
        assert fold.text() == "filter (3 set)"
        panel.segments.button(BY_HAND).click()
        assert json.loads(panel.json_edit.toPlainText()) == wanted


async def test_a_conversation_is_filled_in_turn_by_turn(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, _engine):
        choose(panel, "memory_store")
        form = panel.form
        assert form is not None
        form.findChild(QToolButton, "fold:conversation").click()
        add = form.findChild(QPushButton, "add:conversation.turns")
        add.click()
        add.click()
        field(panel, "conversation.turns[0].role", QComboBox).setCurrentText("user")
        field(panel, "conversation.turns[0].text", QPlainTextEdit).setPlainText("where is it?\nplease")
        field(panel, "conversation.turns[1].role", QComboBox).setCurrentText("assistant")
        field(panel, "conversation.turns[1].text", QPlainTextEdit).setPlainText("on its way")
        turns = [{"role": "user", "text": "where is it?\nplease"}, {"role": "assistant", "text": "on its way"}]
        assert form.values() == {"conversation": {"turns": turns}}


@pytest.mark.parametrize(
    ("tool", "by_hand"),
    [
        ("memory_recall", "{}"),
        ("memory_list", '{"filter": {"reach": {"at": "team:other"}}}'),
        ("memory_list", '{"limit": 51}'),
        ("memory_get", '{"ids": []}'),
        ("memory_forget", '{"filter": {}}'),
        ("memory_store", "{}"),
        ("memory_list", "[1"),
    ],
)
async def test_errors_are_those_that_the_agent_sees(
    qtbot: QtBot, tmp_path: Path, until: Until, tool: str, by_hand: str
) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, engine):
        choose(panel, tool)
        panel.segments.button(BY_HAND).click()
        panel.json_edit.setPlainText(by_hand)
        said = await run(panel, until)
        assert question() is None, "what comes to nothing is not asked about"
        with pytest.raises(Exception, match=tool) as raised:
            await MemoryTools.with_scope(engine, ToolScope.at(WRITER)).call_json(tool, by_hand)
        assert said == raised.value.text  # type: ignore[attr-defined]
        assert panel.result_view.toPlainText() == said
        assert panel.said_label.text().startswith(f"{tool}, invalid request")


async def test_json_that_the_form_cannot_hold_stays_as_it_is(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, _engine):
        choose(panel, "memory_list", {"limit": 4})
        panel.segments.button(BY_HAND).click()
        odd = '{"limit": 4, "filter": {"workspace": ""}}'
        panel.json_edit.setPlainText(odd)
        panel.segments.button(FORM).click()
        assert panel.segments.choice == BY_HAND
        assert panel.json_edit.toPlainText() == odd
        assert "cannot hold" in panel.banner.sentence
        assert json.loads(await run(panel, until))["items"] == []
        assert panel.calls[-1].arguments == odd
        panel.segments.button(BY_HAND).click()
        panel.json_edit.setPlainText('{"limit": 2}')
        panel.segments.button(FORM).click()
        assert panel.segments.choice == FORM
        assert panel.form is not None
        assert panel.form.values() == {"limit": 2}


@pytest.mark.parametrize(
    ("tool", "by_hand"),
    [
        ("memory_list", '{"limit": 3000000000}'),
        ("memory_list", '{"limit": -1e400}'),
        ("memory_list", f'{{"limit": 1{"0" * 5_000}}}'),
        ("memory_list", f'{{"limit": {"[" * 100_000}}}'),
        ("memory_list", '{"limit": 2} {"limit": 3}'),
        ("memory_list", '{"limit": NaN}'),
        ("memory_list", '{"limit": 1, "limit": 2}'),
        ("memory_forget", '{"ids": ["one"], "ids": ["other"]}'),
        ("memory_store", f'{{"learning": {{"text": "a", "confidence": 1{"0" * 400}}}}}'),
        ("memory_store", json.dumps({"document": {"text": "word\\n" * 120_000}})),
        ("memory_store", json.dumps({"conversation": {"turns": [{"role": "user", "text": "a"}] * 2_000}})),
    ],
    ids=lambda one: one[:40],
)
async def test_odd_json_is_left_to_the_tool_and_changes_no_form(
    qtbot: QtBot, tmp_path: Path, until: Until, tool: str, by_hand: str
) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, _engine):
        before: dict[str, Any] = {"tags": ["kept"]} if tool == "memory_store" else {}
        choose(panel, tool, before)
        assert panel.form is not None
        panel.segments.button(BY_HAND).click()
        panel.json_edit.setPlainText(by_hand)
        panel.segments.button(FORM).click()
        assert panel.segments.choice == BY_HAND
        assert "cannot hold" in panel.banner.sentence
        assert panel.form.values() == before
        assert panel.json_edit.toPlainText() == by_hand


async def test_spaces_that_do_not_break_are_characters_of_their_own(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    ids = ["one\u00a0two", "one two"]
    async with console(qtbot, tmp_path, until) as (_, panel, _engine):
        choose(panel, "memory_forget", {"ids": ids})
        assert json.loads(await run(panel, until))["skipped"] == ids
        panel.segments.button(BY_HAND).click()
        assert json.loads(await run(panel, until))["skipped"] == ids
        choose(panel, "memory_get")
        panel.show_call(panel.calls[0])
        assert json.loads(await run(panel, until))["skipped"] == ids, "as it was called before"


def test_what_is_copied_is_what_is_selected(qtbot: QtBot) -> None:
    view = QPlainTextEdit("one\u00a0two\nthree\u2028four")
    qtbot.addWidget(view)
    view.selectAll()
    copy_plain(view)
    assert QApplication.clipboard().text() == "one\u00a0two\nthree\nfour"


async def test_ends_of_lines_in_a_string_are_those_of_the_call_before(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    ids = ["one\u2028two", "one\u2029two"]
    async with console(qtbot, tmp_path, until) as (_, panel, _engine):
        choose(panel, "memory_forget")
        panel.segments.button(BY_HAND).click()
        panel.json_edit.setPlainText(json.dumps({"ids": ids}))
        assert json.loads(await run(panel, until))["skipped"] == ids
        panel.show_call(replace(panel.calls[0], arguments=json.dumps({"ids": ids}, ensure_ascii=False)))
        assert json.loads(await run(panel, until))["skipped"] == ids


async def test_a_read_only_agent_has_no_tools_that_write(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, engine):
        offered = [panel.tool_box.itemText(at) for at in range(panel.tool_box.count())]
        assert offered == list(TOOL_NAMES)
        panel.read_only_check.click()
        offered = [panel.tool_box.itemText(at) for at in range(panel.tool_box.count())]
        assert offered == list(TOOL_NAMES[:5])
        panel.read_only_check.click()
        window.show_engine(engine, "a.db", is_read_only=True, keeps_view=True)
        await until(lambda: window.is_idle)
        offered = [panel.tool_box.itemText(at) for at in range(panel.tool_box.count())]
        assert offered == list(TOOL_NAMES[:5])
        assert not panel.read_only_check.isEnabled()
        assert not panel.scope.writes


async def test_a_store_is_asked_about_and_seen_at_once(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, _engine):
        choose(panel, "memory_store", {"learning": {"text": "<b>tea</b> at four"}, "tags": ["tea"]})
        panel.run_button.click()
        asked = await answer(until, "Cancel")
        assert "Store this at team:acme/agent:writer?" in asked
        assert "<b>tea</b> at four" in asked
        await until(lambda: not panel.jobs.is_busy)
        assert panel.calls == []
        assert panel.said_label.text() == "Nothing was done."

        panel.run_button.click()
        await answer(until, "Store")
        await until(lambda: len(panel.calls) == 1 and window.is_idle)
        told = json.loads(panel.calls[-1].answer)
        assert told["replayed"] is False
        assert "<b>tea</b> at four" in texts(window), "the list reads again"
        row = next(hit for hit in window.items.model.held_rows().values() if hit.id == told["id"])
        assert (str(row.meta.namespace), row.meta.source.kind.value) == (str(WRITER), "agent")


async def test_what_was_stored_without_an_answer_is_seen(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, engine):
        stored = engine.store

        async def store(item: StoreItem) -> StoreReceipt:
            await stored(item)
            raise Unavailable("the answer did not come")

        monkeypatch.setattr(engine, "store", store)
        choose(panel, "memory_store", {"learning": {"text": "tea at four"}})
        panel.run_button.click()
        await answer(until, "Store")
        await until(lambda: len(panel.calls) == 1 and window.is_idle)
        assert panel.calls[-1].said == "the answer did not come"
        await until(lambda: "tea at four" in texts(window))


async def test_a_forget_reads_the_ids_back_and_leaves_a_receipt(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, engine):
        ids = await ids_by_text(engine)
        mine, above = ids["the ledger closes at six"], ids["refunds need a second approval"]
        siblings, boxed = ids["triage keeps a queue of refunds"], ids["a nightly digest of refunds"]
        choose(panel, "memory_forget", {"ids": [siblings, mine, "nobody's", boxed, above]})
        panel.run_button.click()
        asked = await answer(until, "Forget")
        assert "Forget 2 items as agent:writer at team:acme?" in asked
        assert "team:acme/agent:writer: 1 item" in asked
        assert "team:acme: 1 item" in asked
        assert "3 ids are out of its reach or not stored, and are skipped." in asked
        assert "no copy is kept" in asked
        await until(lambda: len(panel.calls) == 1 and window.is_idle)
        assert panel.calls[-1].answer == json.dumps(
            {"forgotten": 2, "skipped": [siblings, "nobody's", boxed]}, separators=(",", ":")
        )
        assert texts(window) == READ_BY_WRITER - {"the ledger closes at six", "refunds need a second approval"}
        assert set(await ids_by_text(engine)) >= {"triage keeps a queue of refunds", "a nightly digest of refunds"}

        [entry] = window.journal.journal.entries()
        assert (entry.action, entry.planned) == ("forget", 2)
        assert not entry.is_interrupted
        assert panel.receipt_button.isVisible()
        panel.receipt_button.click()
        await until(lambda: window.is_idle)
        assert window.journal_dock.isVisible()
        assert window.journal.current is not None
        assert window.journal.current.path == entry.path


async def test_a_forget_by_filter_takes_what_the_agent_reads_alone(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, engine):
        choose(panel, "memory_forget", {"filter": {"tags_any": ["billing"]}})
        panel.run_button.click()
        asked = await answer(until, "Cancel")
        assert "Forget 2 items" in asked
        await until(lambda: not panel.jobs.is_busy)
        assert texts(window) == READ_BY_WRITER, "refused, so nothing went"
        assert Journal(window.journal.journal.folder).entries() == []
        panel.run_button.click()
        await answer(until, "Forget")
        await until(lambda: len(panel.calls) == 1 and window.is_idle)
        assert panel.calls[-1].answer == '{"forgotten":2,"skipped":[]}'
        left = set(await ids_by_text(engine))
        assert "a stranger's note" in left
        assert not left & {"the ledger closes at six", "refunds need a second approval"}


async def test_a_large_forget_needs_a_switch_of_its_own(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until, node=None) as (_, panel, engine):
        page = await engine.list(ListRequest(limit=200))
        choose(panel, "memory_forget", {"ids": [hit.id for hit in page.items]})
        panel.run_button.click()
        await until(lambda: question() is not None)
        box = question()
        assert box is not None
        agree = next(one for one in box.buttons() if one.text().replace("&", "") == "Forget")
        agree.click()
        assert not agree.isEnabled()
        check = box.checkBox()
        assert "more than half" in check.text()
        check.click()
        await answer(until, "Forget")
        await until(lambda: len(panel.calls) == 1)
        assert json.loads(panel.calls[-1].answer)["forgotten"] == len(page.items)


async def test_what_was_removed_is_in_no_call_of_before(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, engine):
        mine = (await ids_by_text(engine))["the ledger closes at six"]
        choose(panel, "memory_list", {})
        assert "the ledger closes at six" in await run(panel, until)
        choose(panel, "memory_list", {"filter": {"tags_any": ["style"]}})
        assert mine not in await run(panel, until)
        await engine.forget(ForgetTarget(ids=[mine]))
        window.show_removed({mine}, set())
        await until(lambda: window.is_idle)
        assert [mine in call.answer for call in panel.calls] == [False]
        window.show_left_midway()
        await until(lambda: window.is_idle)
        assert panel.calls == []
        assert panel.result_view.toPlainText() == ""
        assert not panel.copy_button.isEnabled()


async def test_what_came_meanwhile_is_not_forgotten_unseen(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, engine):
        ids = await ids_by_text(engine)
        mine, above = ids["the ledger closes at six"], ids["refunds need a second approval"]
        choose(panel, "memory_forget", {"ids": [mine, above]})
        panel.run_button.click()
        await until(lambda: question() is not None)
        await engine.forget(ForgetTarget(ids=[above]))
        await answer(until, "Forget")
        await until(lambda: len(panel.calls) == 1)
        assert panel.calls[-1].error is not None
        assert "nothing was forgotten" in panel.calls[-1].said
        assert await engine.get(GetRequest(ids=[mine])) != []


async def test_nothing_in_reach_is_not_asked_about(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, engine):
        siblings = (await ids_by_text(engine))["triage keeps a queue of refunds"]
        choose(panel, "memory_forget", {"ids": [siblings]})
        assert json.loads(await run(panel, until)) == {"forgotten": 0, "skipped": [siblings]}
        assert question() is None
        assert window.journal.journal.entries() == []


async def test_an_id_in_the_answer_leads_to_its_item(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, _engine):
        choose(panel, "memory_list", {"filter": {"tags_any": ["style"]}})
        await run(panel, until)
        html = panel.result_view.toHtml()
        assert 'href="#0"' in html
        panel.result_view.anchorClicked.emit(QUrl("#0"))
        await until(lambda: window.viewer.hit is not None and window.viewer.hit.text.startswith("everyone"))
        panel.result_view.anchorClicked.emit(QUrl("file:///etc/passwd"))  # no address of a text leads anywhere
        assert window.viewer.hit is not None


def test_ids_are_found_where_they_stand_for_items() -> None:
    told = {
        "items": [{"id": 'a"<', "text": '"id":"a', "meta": {"source": {"id": "src"}}}, {"id": "b"}],
        "missing": ["c"],
    }
    answer = json.dumps(told, separators=(",", ":"))
    ids = item_ids(answer)
    assert ids == ['a"<', "b"]
    found = list(parts(answer, ids))
    assert "".join(part.text for part in found) == answer
    assert [part.text for part in found if part.id is not None] == ['"a\\"<"', '"b"']
    assert item_ids('{"id":"x","replayed":false}') == ["x"]
    assert item_ids("[]") == item_ids("no json") == []


async def test_the_calls_of_the_session_can_be_shown_and_run_again(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, _engine):
        assert not panel.history_button.isEnabled()
        choose(panel, "memory_list", {"limit": 1})
        await run(panel, until)
        choose(panel, "memory_explore", {"facet": "kind"})
        await run(panel, until)
        menu = panel.history_button.menu()
        menu.aboutToShow.emit()
        said = [action.text() for action in menu.actions()]
        assert said[0].startswith('memory_explore {"facet": "kind"}, ')
        assert said[1].startswith('memory_list {"limit": 1}, ')
        menu.actions()[1].trigger()
        assert panel.tool == "memory_list"
        assert panel.form is not None
        assert panel.form.values() == {"limit": 1}
        assert '"next_cursor"' in panel.shown_text
        assert len(json.loads(await run(panel, until))["items"]) == 1


async def test_ctrl_enter_runs_from_within(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (_, panel, _engine):
        choose(panel, "memory_fetch")
        query = field(panel, "query", QLineEdit)
        query.setFocus()
        qtbot.keyClicks(query, "refunds")
        qtbot.keyClick(query, Qt.Key.Key_Return, Qt.KeyboardModifier.ControlModifier)
        await until(lambda: len(panel.calls) == 1)
        assert panel.calls[0].arguments == '{"query": "refunds"}'


async def test_another_memory_has_calls_of_its_own(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with console(qtbot, tmp_path, until) as (window, panel, engine):
        choose(panel, "memory_list", {"limit": 1})
        await run(panel, until)
        window.show_engine(engine, "a.db", is_read_only=False, keeps_view=True)
        await until(lambda: window.is_idle)
        assert len(panel.calls) == 1
        window.show_engine(engine, "b.db", is_read_only=False)
        await until(lambda: window.is_idle)
        assert panel.calls == []
        assert panel.result_view.toPlainText() == ""
