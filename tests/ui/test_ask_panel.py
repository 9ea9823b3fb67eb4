"""The Ask panel: a question, its answer with what it rests on, and what it says where there is none."""

from __future__ import annotations

from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from datetime import UTC
from pathlib import Path

import pytest
from PySide6.QtCore import QEvent, QPoint, QPointF, Qt
from PySide6.QtGui import QGuiApplication, QMouseEvent
from PySide6.QtWidgets import QApplication, QLabel, QPushButton
from pytestqt.qtbot import QtBot

from explorer.asking import Answered, By, Mark, Sentence
from explorer.contract import (
    Citation,
    EngineHealth,
    FetchMode,
    ForgetTarget,
    Hit,
    ItemId,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Passage,
    RecallAnswer,
    RecallRequest,
    StoreItem,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
    Unsupported,
)
from explorer.engines import EngineSettings, build_engine
from explorer.ui import asking
from explorer.ui.ask_parts.question import Nothing, Reply
from explorer.ui.ask_parts.sentence import SHOWN_CHARS, SentenceRow
from explorer.ui.asking import AskPanel
from explorer.ui.banner import Banner
from explorer.ui.viewer_parts.passage import Cited
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning
from tests.ui.test_viewer import note, talk

TAGGED = MetaFilter(tags_any=["refunds"])
ITEMS: list[StoreItem] = [
    learning("Refunds above 200 EUR need a second approval.", "team:acme", tags=["refunds"]),
    note("The ledger closes at six.\n\nRefunds are paid on Fridays.", title="Refund policy", mime="text/markdown"),
    talk(("user", "When does the ledger close?"), ("assistant", "The ledger closes at six in the evening.")),
    learning("The nightly digest runs at two.", "team:acme/service:nightly"),
]
ASKED = "When does the ledger close?"


class Silent(FakeEngine):
    """An engine that cannot recall."""

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        raise Unsupported("this engine has no recall")


@asynccontextmanager
async def showing(
    qtbot: QtBot, engine: MemoryEngine | None, filter: MetaFilter | None = None
) -> AsyncIterator[AskPanel]:
    panel = AskPanel(UTC)
    qtbot.addWidget(panel)
    panel.resize(440, 640)
    panel.show()
    panel.activateWindow()
    panel.set_engine(engine)
    panel.show_filter(filter or MetaFilter())
    try:
        yield panel
    finally:
        await panel.aclose()
        if engine is not None:
            await engine.aclose()


async def sqlite(folder: Path, items: list[StoreItem] | None = None) -> MemoryEngine:
    engine = build_engine("sqlite", EngineSettings(path=str(folder / "a.db")), None)
    for item in ITEMS if items is None else items:
        await engine.store(item)
    return engine


async def asked(qtbot: QtBot, panel: AskPanel, until: Until, question: str = ASKED) -> None:
    """Ask as a person does, and wait for what comes of it."""
    panel.ask_edit.clear()
    qtbot.keyClicks(panel.ask_edit, question)
    qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Return)
    await until(lambda: not panel.jobs.is_busy)


def label(panel: AskPanel, name: str) -> QLabel:
    found = panel.findChild(QLabel, name)
    assert isinstance(found, QLabel), name
    return found


def state(panel: AskPanel) -> tuple[str, list[str]]:
    """The title of what is said in place of an answer, and the ways on; "" where an answer is shown."""
    if not panel.empty.isVisible():
        return "", []
    buttons = [button for button in panel.empty.findChildren(QPushButton) if button.isVisible()]
    return label(panel, "emptyTitleLabel").text(), [button.text() for button in buttons]


def press(panel: AskPanel, words: str) -> None:
    """The button with these words that is seen."""
    found = [button for button in panel.findChildren(QPushButton) if button.text() == words and button.isVisible()]
    assert found, words
    QApplication.processEvents()
    found[0].click()


def banner_button(banner: Banner) -> QPushButton:
    button = banner.findChild(QPushButton, "bannerActionButton")
    assert isinstance(button, QPushButton)
    return button


def cite(panel: AskPanel, number: int) -> QPushButton:
    button = panel.view.findChild(QPushButton, f"cite:{number}")
    assert isinstance(button, QPushButton), number
    return button


def said(panel: AskPanel) -> list[str]:
    return [row.text() for row in panel.view.sentences]


# Asking


async def test_it_asks_when_it_is_told_to_and_not_while_one_types(qtbot: QtBot, until: Until) -> None:
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    async with showing(qtbot, engine) as panel:
        assert not panel.ask_button.isEnabled()
        qtbot.keyClicks(panel.ask_edit, "ledger")
        assert not panel.jobs.is_busy
        assert engine.requests("recall") == []
        qtbot.mouseClick(panel.ask_button, Qt.MouseButton.LeftButton)
        await until(lambda: panel.answered is not None)
        panel.ask_edit.clear()
        qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Return)
        assert not panel.jobs.is_busy, "nothing is asked of nothing"
        assert [req.question for req in engine.requests("recall")] == ["ledger"]


async def test_it_says_of_what_it_asks_and_asks_that(qtbot: QtBot, until: Until) -> None:
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    async with showing(qtbot, engine) as panel:
        assert panel.scope_label.text() == "all items"
        panel.show_filter(TAGGED)
        assert panel.scope_label.text().replace("\u2068", "").replace("\u2069", "") == "tag is refunds"
        await asked(qtbot, panel, until, "refunds")
        assert engine.requests("recall")[-1].filter == TAGGED


async def test_the_answer_is_sentences_with_the_places_they_rest_on(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, await sqlite(tmp_path)) as panel:
        opened: list[tuple[Hit, Cited | None]] = []
        panel.open_wanted.connect(lambda hit, cited: opened.append((hit, cited)))
        await asked(qtbot, panel, until)
        assert state(panel) == ("", [])
        assert label(panel, "askedLabel").text().strip("\u2068\u2069") == ASKED
        assert label(panel, "answeredByLabel").text().startswith("Put together by the engine")
        assert any("The ledger closes at six" in each for each in said(panel))
        assert panel.answered is not None
        assert [source.number for source in panel.view.sources] == list(panel.answered.cited)
        number = panel.answered.sentences[0].cites[0]
        qtbot.mouseClick(cite(panel, number), Qt.MouseButton.LeftButton)
        hit, cited = opened[-1]
        citation = panel.answered.citations[number - 1]
        assert (hit.id, cited) == (citation.id, Cited(citation.snippet, citation.place))
        assert citation.place is not None
        source = panel.view.sources[0]
        assert source.accessibleName().startswith(f"Citation {source.number}: {source.title}, ")
        assert source.where.strip("\u2068\u2069") in source.accessibleName()
        qtbot.mouseClick(source, Qt.MouseButton.LeftButton)
        assert len(opened) == 2


async def test_what_is_answered_is_heard(
    qtbot: QtBot, tmp_path: Path, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    heard: list[str] = []
    monkeypatch.setattr(asking.QAccessible, "updateAccessibility", lambda event: heard.append(event.message()))
    async with showing(qtbot, await sqlite(tmp_path)) as panel:
        await asked(qtbot, panel, until)
        assert "The ledger closes at six" in heard[-1]
        await asked(qtbot, panel, until, "Who won the world cup of 1930?")
        assert heard[-1] == "Nothing stored answers this question."
        panel.show_filter(MetaFilter(tags_any=["nobody"]))
        await asked(qtbot, panel, until)
        assert heard[-1].startswith("The filter admits nothing")


async def test_documents_are_called_by_their_title(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, await sqlite(tmp_path)) as panel:
        await asked(qtbot, panel, until, "When are refunds paid?")
        assert "Refund policy" in [source.title for source in panel.view.sources]


async def test_what_was_read_and_not_cited_opens_too(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    others = [learning(f"Lunch {at} is at the canteen, where the ledger lies.") for at in range(3)]
    async with showing(qtbot, await sqlite(tmp_path, [*ITEMS, *others])) as panel:
        opened: list[tuple[Hit, Cited | None]] = []
        panel.open_wanted.connect(lambda hit, cited: opened.append((hit, cited)))
        await asked(qtbot, panel, until, "Which refunds above 200 EUR need a second approval, by the ledger?")
        assert panel.answered is not None
        n = len(panel.view.not_cited)
        assert n >= 1
        button = panel.view.not_cited_button
        assert button is not None
        assert button.text() == f"Read and not cited ({n})"
        assert not panel.view.not_cited[0].isVisible()
        button.setFocus()
        qtbot.keyClick(button, Qt.Key.Key_Space)
        assert panel.view.not_cited[0].isVisible()
        assert button.accessibleDescription() == "The list is open"
        panel.view.not_cited[0].setFocus()
        qtbot.keyClick(panel.view.not_cited[0], Qt.Key.Key_Return)
        assert opened[-1][1] is None
        assert opened[-1][0].id not in {panel.answered.citations[at - 1].id for at in panel.answered.cited}


async def test_everything_is_reached_by_keys(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, await sqlite(tmp_path)) as panel:
        opened: list[Hit] = []
        panel.open_wanted.connect(lambda hit, cited: opened.append(hit))
        await asked(qtbot, panel, until)
        panel.setFocus()
        assert QApplication.focusWidget() is panel.ask_edit
        passed = []
        for _ in range(40):
            focus = QApplication.focusWidget()
            assert focus is not None
            passed.append(focus)
            qtbot.keyClick(focus, Qt.Key.Key_Tab)
        assert panel.answered is not None
        number = panel.answered.cited[0]
        for each in (cite(panel, number), *panel.view.sources, panel.copy_button, panel.history_button):
            assert each in passed
        cite(panel, number).setFocus()
        qtbot.keyClick(cite(panel, number), Qt.Key.Key_Return)
        panel.view.sources[0].setFocus()
        qtbot.keyClick(panel.view.sources[0], Qt.Key.Key_Down)
        assert QApplication.focusWidget() is panel.view.sources[1]
        assert len(opened) == 1


# Marks


def answered(*sentences: Sentence, texts: tuple[str, ...] = ("one", "two"), **more: object) -> Answered:
    citations = tuple(
        Citation(
            id=ItemId(f"{at:040x}"),
            kind=learning(text).item_kind,
            snippet=text,
            meta=MemoryMeta(),
            place=Passage(start=0, stop=len(text)),
        )
        for at, text in enumerate(texts)
    )
    facts: dict[str, object] = {
        "question": "what?",
        "filter": MetaFilter(),
        "sentences": sentences,
        "citations": citations,
        "read_not_cited": (),
        "says_nothing": False,
        "by": By.ENDPOINT,
        "model": "gemma",
        "elapsed_s": 1.5,
    }
    return Answered(**{**facts, **more})  # type: ignore[arg-type]


async def test_what_a_model_at_the_server_wrote_is_not_said_to_be_in_the_words_of_what_is_stored(qtbot: QtBot) -> None:
    async with showing(qtbot, None) as panel:
        panel._show(Reply(answered(Sentence("One is so.", (1,), 1.0), by=By.SERVER), address=""))
        assert label(panel, "answeredByLabel").text().startswith("Written by gemma at the server of the memory")


@pytest.mark.parametrize(
    ("mark", "why"),
    [
        (Mark.UNCITED, "no citation"),
        (Mark.OUT_OF_RANGE, "cites a passage that is not there"),
        (Mark.WEAK, "its passages hold 20\u00a0% of its words"),
    ],
)
async def test_a_sentence_that_rests_on_too_little_is_marked(qtbot: QtBot, mark: Mark, why: str) -> None:
    async with showing(qtbot, None) as panel:
        good = Sentence("One is so.", (1,), 1.0)
        bad = Sentence("Two is <b>so</b>.", () if mark is Mark.UNCITED else (2,), 0.2, mark)
        panel._show(Reply(answered(good, bad), address="localhost:11434/v1"))
        trusted, marked = panel.view.sentences
        assert (trusted.property("tone"), trusted.why, trusted.toolTip()) == ("text", "", "")
        assert marked.property("tone") == "caution"
        assert marked.why == why
        assert f"{why[1:]}." in marked.toolTip()
        assert why in marked.accessibleName()
        assert "Two is <b>so</b>." in marked.accessibleName()
        reason = marked.findChild(QLabel, "whyMarkedLabel")
        assert isinstance(reason, QLabel)
        assert reason.isVisible()
        assert reason.text() == why, "colour is not the only sign"
        by = label(panel, "answeredByLabel").text().replace("\u2068", "").replace("\u2069", "")
        assert by == "Written by gemma at localhost:11434/v1, 1.5\u00a0s"


async def test_what_a_model_left_out_was_read_and_not_cited(qtbot: QtBot) -> None:
    async with showing(qtbot, None) as panel:
        opened: list[tuple[Hit, Cited | None]] = []
        panel.open_wanted.connect(lambda hit, cited: opened.append((hit, cited)))
        panel._show(Reply(answered(Sentence("Two.", (2,), 1.0))))
        assert [source.number for source in panel.view.sources] == [2]
        (left_out,) = panel.view.not_cited
        left_out.click()
        assert opened[0][1] == Cited("one", Passage(start=0, stop=3))


def test_text_of_a_sentence_is_marked_and_copied(qtbot: QtBot) -> None:
    said = "The ledger closes at six \U0001f600 in the evening of every single day but the last."
    row = SentenceRow(said, [(1, "one")])
    qtbot.addWidget(row)
    row.resize(220, row.heightForWidth(220))
    row.show()
    row.activateWindow()
    QApplication.processEvents()
    qtbot.mousePress(row, Qt.MouseButton.LeftButton, pos=QPoint(0, 6))
    qtbot.keyClick(row, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert row.hasFocus()
    assert row.marked_text == ""
    before = row.grab().toImage()
    _drag(row, QPoint(row.width() - 1, row.height() - 4))
    assert row.marked_text == said, "over all its lines, as one"
    assert row.grab().toImage() != before
    qtbot.keyClick(row, Qt.Key.Key_C, Qt.KeyboardModifier.ControlModifier)
    assert QGuiApplication.clipboard().text() == said
    _drag(row, QPoint(60, 6))
    assert said.startswith(row.marked_text)
    assert 3 < len(row.marked_text) < 15
    row.clearFocus()
    assert row.marked_text == ""


def _drag(row: SentenceRow, to: QPoint) -> None:
    """The pointer moves with its button held."""
    at = QPointF(to)
    buttons = Qt.MouseButton.LeftButton
    event = QMouseEvent(
        QEvent.Type.MouseMove, at, row.mapToGlobal(at), Qt.MouseButton.NoButton, buttons, Qt.KeyboardModifier.NoModifier
    )
    QApplication.sendEvent(row, event)


def test_a_long_sentence_takes_the_room_it_needs(qtbot: QtBot) -> None:
    row = SentenceRow("word " * 100, [(1, "one"), (2, "two")], "no citation")
    qtbot.addWidget(row)
    row.resize(300, row.heightForWidth(300))
    row.show()
    for part in row._parts:
        assert row.rect().contains(part.geometry()), part
    assert row.heightForWidth(200) > row.heightForWidth(300)
    endless = SentenceRow("x" * 5_000_000, [], "")
    qtbot.addWidget(endless)
    assert len(endless.text()) == SHOWN_CHARS + 1
    endless.resize(300, endless.heightForWidth(300))
    assert not endless.grab().isNull()


async def test_an_answer_of_megabytes_is_shown_as_far_as_one_reads(qtbot: QtBot) -> None:
    line = f"needle {'QUJD' * 1_250_000}"
    async with showing(qtbot, None) as panel:
        item = learning(line)
        reply = answered(
            Sentence(line, (1,), 1.0), texts=(line,), read_not_cited=(Hit.of_item(item.fingerprint(), item),)
        )
        panel._show(Reply(reply))
        assert panel.view.not_cited_button is not None
        panel.view.not_cited_button.click()
        assert max(len(each.text()) for each in panel.findChildren(QLabel)) < 4_000
        rows = [*panel.view.sources, *panel.view.not_cited]
        assert len(rows) == 2
        assert max(len(row.toolTip()) + len(row.accessibleName()) for row in rows) < 10_000
        assert not panel.grab().isNull()


async def test_an_answer_of_many_sentences_comes_in_parts(qtbot: QtBot) -> None:
    async with showing(qtbot, None) as panel:
        panel._show(Reply(answered(*(Sentence(f"So it is {at}.", (1,), 1.0) for at in range(101)))))
        button = panel.view.more_button
        assert button is not None
        assert (len(panel.view.sentences), button.text()) == (40, "Show 61 more sentences")
        QApplication.processEvents()
        button.setFocus()
        qtbot.keyClick(button, Qt.Key.Key_Space)
        assert (len(panel.view.sentences), button.text()) == (80, "Show 21 more sentences")
        assert QApplication.focusWidget() is button
        qtbot.keyClick(button, Qt.Key.Key_Space)
        assert [row.text() for row in panel.view.sentences] == [f"So it is {at}." for at in range(101)]
        assert not button.isVisible()
        assert QApplication.focusWidget() is panel.view
        panel._show(Reply(answered(Sentence("One.", (1,), 1.0))))
        assert panel.view.more_button is None


async def test_what_an_engine_says_of_its_answer_is_shown(qtbot: QtBot) -> None:
    async with showing(qtbot, None) as panel:
        note = "searched by words alone: \x1b <b>out</b>" + "x" * 5_000
        panel._show(Reply(answered(Sentence("One.", (1,), 1.0), note=note)))
        said = label(panel, "engineNoteLabel").text()
        assert said.startswith("Searched by words alone: ⟦ESC⟧ <b>out</b>x")
        assert len(said) < 700
        panel._show(Reply(answered(Sentence("One.", (1,), 1.0))))
        QApplication.sendPostedEvents(None, QEvent.Type.DeferredDelete)
        assert panel.findChild(QLabel, "engineNoteLabel") is None


# One question after another


async def test_only_the_newest_answer_is_shown(qtbot: QtBot, until: Until) -> None:
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    gate = engine.hold("recall", lambda req: req.question == "refunds", stubborn=True)
    async with showing(qtbot, engine) as panel:
        qtbot.keyClicks(panel.ask_edit, "refunds")
        qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Return)
        await until(lambda: gate.waiting == 1)
        panel.ask_edit.setText("ledger")
        qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Return)
        await until(lambda: panel.answered is not None)
        gate.open()
        await until(lambda: gate.waiting == 0)
        await panel.jobs.settle()
        assert panel.answered is not None
        assert panel.answered.question == "ledger"
        assert [each.question for each in panel.history] == ["ledger"]


@pytest.mark.parametrize("by", ["button", "key"])
async def test_what_takes_long_says_so_and_is_cancelled(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch, by: str
) -> None:
    monkeypatch.setattr(asking, "TELLS_AFTER_S", 0.0)
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    gate = engine.hold("recall")
    async with showing(qtbot, engine) as panel:
        assert not panel.cancel_action.isEnabled()
        qtbot.keyClicks(panel.ask_edit, "refunds")
        qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Return)
        await until(lambda: panel.elapsed_label.text().endswith(" so far."))
        assert panel.ask_button.text() == "Cancel"
        if by == "button":
            qtbot.mouseClick(panel.ask_button, Qt.MouseButton.LeftButton)
        else:
            qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Escape)
        await until(lambda: not panel.jobs.is_busy)
        assert gate.waiting == 0
        assert panel.banner.sentence == "Asking was stopped."
        assert (panel.ask_button.text(), panel.elapsed_label.text()) == ("Ask", "")
        gate.open()
        banner_button(panel.banner).click()
        await until(lambda: panel.answered is not None)
        assert panel.banner.sentence == ""


async def test_another_filter_leaves_the_answer_marked_as_of_before(qtbot: QtBot, until: Until) -> None:
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    async with showing(qtbot, engine, TAGGED) as panel:
        await asked(qtbot, panel, until, "refunds")
        before = said(panel)
        assert not panel.stale_banner.isVisible()
        panel.show_filter(MetaFilter())
        assert said(panel) == before
        told = panel.stale_banner.sentence.replace("\u2068", "").replace("\u2069", "")
        assert told == "Asked under another filter: tag is refunds"
        assert len(engine.requests("recall")) == 1, "nothing is asked by itself"
        panel.show_filter(TAGGED)
        assert not panel.stale_banner.isVisible()
        panel.show_filter(MetaFilter())
        banner_button(panel.stale_banner).click()
        await until(lambda: panel.answered is not None and panel.answered.filter == MetaFilter())
        assert not panel.stale_banner.isVisible()
        assert [req.filter for req in engine.requests("recall")] == [TAGGED, MetaFilter()]
        panel.show_filter(TAGGED)
        assert panel.stale_banner.sentence == "Asked without a filter"


# No answer


async def test_each_emptiness_is_said_in_its_own_words(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    found: dict[str, tuple[str, list[str]]] = {}
    async with showing(qtbot, await sqlite(tmp_path, [])) as panel:
        found["beginning"] = state(panel)
        await asked(qtbot, panel, until)
        found["nothing stored"] = state(panel)
        panel.refuse_writing("Opened read-only")
        await asked(qtbot, panel, until)
        assert state(panel)[1] == [], "nothing can be imported into what is read-only"
    (tmp_path / "2").mkdir()
    async with showing(qtbot, await sqlite(tmp_path / "2", [ITEMS[-1]])) as panel:
        await asked(qtbot, panel, until)
        found["sandboxed"] = state(panel)
    (tmp_path / "3").mkdir()
    async with showing(qtbot, await sqlite(tmp_path / "3"), MetaFilter(tags_any=["nobody"])) as panel:
        await asked(qtbot, panel, until)
        found["filtered"] = state(panel)
        wanted: list[MetaFilter] = []
        panel.filter_wanted.connect(wanted.append)
        panel.filter_wanted.connect(panel.show_filter)  # as the window does
        press(panel, "Ask without the filter")
        await until(lambda: panel.answered is not None)
        assert wanted == [MetaFilter()]
        assert said(panel)
        await asked(qtbot, panel, until, "Who won the world cup of 1930?")
        assert state(panel) == ("", [])
        assert label(panel, "nothingLabel").text() == "Nothing stored answers this question."
        assert panel.view.not_cited_button is None or all(row.isVisible() for row in panel.view.not_cited)
        searches: list[str] = []
        panel.search_wanted.connect(searches.append)
        press(panel, "Search instead")
        assert searches == ["Who won the world cup of 1930?"]
    assert found == {
        "beginning": ("Ask what is remembered", []),
        "nothing stored": ("Nothing is stored in this memory", ["Import…"]),
        "sandboxed": ("Nothing is stored outside sandboxes", []),
        "filtered": ("The filter admits nothing", ["Ask without the filter"]),
    }


async def test_a_degraded_engine_is_no_empty_memory(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    engine.state = EngineHealth.degraded("the index is behind")
    async with showing(qtbot, engine) as panel:
        await asked(qtbot, panel, until)
        assert state(panel) == ("The engine answers, but not fully", ["Ask again"])
        assert "The index is behind" in label(panel, "emptySentenceLabel").text()
        await engine.store(ITEMS[0])
        panel.show_health(engine.state)
        await asked(qtbot, panel, until, "refunds")
        assert said(panel)
        assert "may lack what cannot be found now" in panel.banner.sentence, "it is said beside an answer as well"


async def test_an_engine_that_cannot_say_how_it_is_has_answered_all_the_same(qtbot: QtBot, until: Until) -> None:
    class Unwell(FakeEngine):
        async def health(self) -> EngineHealth:
            raise Unavailable("no route to the server")

    async with showing(qtbot, await filled(ITEMS, Unwell())) as panel:
        await asked(qtbot, panel, until, "zzz")
        assert state(panel) == ("", [])
        assert label(panel, "nothingLabel").text() == "Nothing stored answers this question."


@pytest.mark.parametrize(
    ("error", "title", "ways_on"),
    [
        (Unauthorized("the key sk-1 was refused"), "The key was refused", ["Connections…"]),
        (Unavailable("no route to the server"), "There is no answer", ["Ask again"]),
    ],
)
async def test_a_failure_says_what_can_be_done(
    qtbot: QtBot, until: Until, error: TinyMemoryError, title: str, ways_on: list[str]
) -> None:
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    engine.fail("recall", error)
    async with showing(qtbot, engine) as panel:
        await asked(qtbot, panel, until)
        assert state(panel) == (title, ways_on)
        assert len(engine.requests("recall")) == 1, "nothing is tried again by itself"
        assert "sk-1" not in label(panel, "emptySentenceLabel").text()
        engine.mend()
        await asked(qtbot, panel, until, "ledger")
        before = said(panel)
        engine.fail("recall", error)
        await asked(qtbot, panel, until, "refunds")
        assert said(panel) == before, "the answer of before stays"
        assert label(panel, "askedLabel").text().strip("\u2068\u2069") == "ledger"
        assert banner_button(panel.banner).text() == ways_on[0]
        assert "sk-1" not in panel.banner.sentence
        if isinstance(error, Unauthorized):
            with qtbot.waitSignal(panel.connections_wanted):
                banner_button(panel.banner).click()


async def test_an_engine_that_cannot_answer_is_searched_instead(qtbot: QtBot, until: Until) -> None:
    async with showing(qtbot, await filled(ITEMS, Silent())) as panel:
        await asked(qtbot, panel, until)
        assert state(panel) == ("This engine answers no questions", ["Search instead"])
        with qtbot.waitSignal(panel.search_wanted) as told:
            press(panel, "Search instead")
        assert told.args == [ASKED]


async def test_where_nothing_is_open_nothing_is_asked(qtbot: QtBot) -> None:
    async with showing(qtbot, None) as panel:
        assert not panel.ask_edit.isEnabled()
        assert not panel.again_action.isEnabled()
        assert panel.ask_button.toolTip() == "Nothing is open"


# What was removed


async def test_an_answer_goes_with_what_it_held(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, await sqlite(tmp_path)) as panel:
        await asked(qtbot, panel, until, "When are refunds paid?")
        await asked(qtbot, panel, until)
        assert panel.answered is not None
        panel.let_go([ItemId("f" * 40)])
        assert said(panel)
        id = panel.answered.citations[0].id
        cite(panel, panel.answered.cited[0]).setFocus()
        panel.let_go([id])
        assert state(panel) == ("The answer is gone", ["Ask again"])
        assert panel.answered is None
        assert QApplication.focusWidget() is panel.ask_edit, "the keyboard is not left nowhere"
        assert not panel.copy_actions[0].isEnabled()
        assert all(id not in each.ids for each in panel.history)
        assert all(reply.answered in list(panel.history) for reply in panel._replies)


async def test_an_answer_that_is_awaited_goes_too(qtbot: QtBot, until: Until) -> None:
    engine = await filled(ITEMS)
    assert isinstance(engine, FakeEngine)
    gate = engine.hold("fetch")  # what is read besides: the recall has answered
    async with showing(qtbot, engine) as panel:
        qtbot.keyClicks(panel.ask_edit, "refunds")
        qtbot.keyClick(panel.ask_edit, Qt.Key.Key_Return)
        await until(lambda: gate.waiting == 1)
        panel.let_go([ITEMS[0].fingerprint()])
        gate.open()
        await until(lambda: not panel.jobs.is_busy)
        assert state(panel) == ("The answer is gone", ["Ask again"])
        assert len(panel.history) == 0


async def test_what_others_removed_is_noticed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await sqlite(tmp_path)
    async with showing(qtbot, engine) as panel:
        await asked(qtbot, panel, until)
        panel.look_again()
        await until(lambda: not panel.jobs.is_busy)
        assert said(panel)
        assert panel.answered is not None
        await engine.forget(ForgetTarget(ids=[panel.answered.citations[0].id]))
        panel.look_again()
        await until(lambda: not panel.jobs.is_busy)
        assert state(panel)[0] == "The answer is gone"


async def test_another_memory_begins_anew(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await sqlite(tmp_path)
    async with showing(qtbot, engine) as panel:
        await asked(qtbot, panel, until)
        panel.set_engine(engine, keeps_answers=True)
        assert said(panel)
        panel.set_engine(FakeEngine())
        assert state(panel)[0] == "Ask what is remembered"
        assert (panel.ask_edit.text(), len(panel.history), panel._replies) == ("", 0, [])


# Copying, and what was asked before


async def test_it_is_copied_with_its_sources(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, await sqlite(tmp_path)) as panel:
        assert not panel.copy_actions[0].isEnabled()
        await asked(qtbot, panel, until)
        assert panel.answered is not None
        for action, head in zip(panel.copy_actions, ("Sources", "### Sources"), strict=True):
            action.trigger()
            copied = QGuiApplication.clipboard().text()
            assert head in copied.splitlines()
            assert copied.count(ASKED) >= 1
            assert panel.answered.citations[0].id in copied


async def test_a_question_of_before_is_shown_again(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    async with showing(qtbot, await sqlite(tmp_path), TAGGED) as panel:
        panel.history_menu.aboutToShow.emit()
        assert [action.text() for action in panel.history_menu.actions() if action.text()] == [
            "Nothing was asked yet",
            "Forget these questions",
        ]
        await asked(qtbot, panel, until, "What needs an approval?")
        first = said(panel)
        panel.show_filter(MetaFilter())
        await asked(qtbot, panel, until)
        panel.history_menu.aboutToShow.emit()
        entries = [action for action in panel.history_menu.actions() if action.isCheckable()]
        assert [action.text().strip("\u2068\u2069") for action in entries] == [ASKED, "What needs an approval?"]
        assert [action.isChecked() for action in entries] == [True, False]
        entries[1].trigger()
        assert said(panel) == first
        assert panel.ask_edit.text() == "What needs an approval?"
        assert panel.stale_banner.isVisible(), "it was asked under another filter"
        await until(lambda: not panel.jobs.is_busy)
        panel.history_menu.aboutToShow.emit()
        next(action for action in panel.history_menu.actions() if action.text() == "Forget these questions").trigger()
        assert state(panel)[0] == "Ask what is remembered"
        assert len(panel.history) == 0


async def test_search_by_no_mode_is_not_offered(qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch) -> None:
    engine = await filled(ITEMS, Silent())
    plain = engine.descriptor().model_copy(update={"fetch_modes": []})
    monkeypatch.setattr(engine, "descriptor", lambda: plain)
    assert FetchMode.KEYWORD not in engine.descriptor().fetch_modes
    async with showing(qtbot, engine) as panel:
        await asked(qtbot, panel, until)
        assert state(panel) == ("This engine answers no questions", [])


def test_each_nothing_has_words(qtbot: QtBot) -> None:
    panel = AskPanel(UTC)
    qtbot.addWidget(panel)
    panel.show()
    titles = set()
    for nothing in (Nothing.STORED, Nothing.SANDBOXED, Nothing.ADMITTED):
        panel._show(Reply(answered(texts=(), says_nothing=True), nothing=nothing))
        titles.add(state(panel)[0])
    assert len(titles) == 3
