"""Finding words in the item that is read."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from PySide6.QtWidgets import QApplication
from pytestqt.qtbot import QtBot

from explorer.contract import Learning, LearningKind
from explorer.ui.main_window import MainWindow
from explorer.ui.theme import theme
from explorer.ui.viewer import METADATA, RAW, READ, ItemViewer
from explorer.ui.viewer_parts.found import MAX_MARKS, pattern_of, spans_of
from tests.conftest import Until
from tests.fakes import FakeEngine, filled
from tests.ui.test_viewer import built, choose, hit_of, note, opened, shown, talk

TEXT = "Ledger one.\n" + "x\n" * 300 + "The LEDGER two, a.c and abc.\n" + "y\n" * 300 + "ledger three"


def count(viewer: ItemViewer) -> str:
    return viewer.find_bar.count_label.text().replace("\u202f", " ")


def current(view: Any) -> list[tuple[str, int]]:
    """What stands out among the marks, and where."""
    ground = theme().color("accent")
    return [
        (each.cursor.selectedText(), each.cursor.selectionStart())
        for each in view.extraSelections()
        if each.format.background().color() == ground
    ]


def is_seen(view: Any) -> bool:
    (place,) = [start for _, start in current(view)]
    cursor = QTextCursor(view.document())
    cursor.setPosition(place)
    return bool(view.viewport().rect().contains(view.cursorRect(cursor)))


async def find(qtbot: QtBot, viewer: ItemViewer, words: str, until: Until) -> None:
    viewer.open_find()
    viewer.find_bar.edit.clear()
    qtbot.keyClicks(viewer.find_bar.edit, words)
    await until(lambda: not viewer.jobs.is_busy)


@pytest.mark.parametrize("mime", ["text/plain", "text/markdown"])
async def test_words_are_counted_marked_and_walked(qtbot: QtBot, until: Until, mime: str) -> None:
    viewer = await opened(qtbot, until, note(TEXT, mime=mime))
    view: Any = viewer.pages.currentWidget()
    await find(qtbot, viewer, "ledger", until)
    edit = viewer.find_bar.edit
    assert count(viewer) == "1 of 3"
    assert [each.cursor.selectedText() for each in view.extraSelections()] == ["Ledger", "LEDGER", "ledger"]
    assert current(view)[0][0] == "Ledger"
    seen = []
    for key, shift in (
        (Qt.Key.Key_Return, False),
        (Qt.Key.Key_F3, False),
        (Qt.Key.Key_F3, False),
        (Qt.Key.Key_Return, True),
        (Qt.Key.Key_F3, True),
    ):
        qtbot.keyClick(edit, key, Qt.KeyboardModifier.ShiftModifier if shift else Qt.KeyboardModifier.NoModifier)
        assert is_seen(view)
        seen.append(count(viewer))
    assert seen == ["2 of 3", "3 of 3", "1 of 3", "3 of 3", "2 of 3"]
    # Letters and signs as they are written, whatever a pattern would make of them.
    await find(qtbot, viewer, "A.C", until)
    assert count(viewer) == "1 of 1"
    assert current(view)[0][0] == "a.c"
    await find(qtbot, viewer, "nowhere", until)
    assert count(viewer) == "none"
    assert not viewer.find_bar.next_button.isEnabled()
    assert view.extraSelections() == []
    qtbot.keyClick(edit, Qt.Key.Key_Escape)
    assert not viewer.is_finding
    assert view.hasFocus()
    await viewer.aclose()


async def test_what_is_not_loaded_is_loaded_first(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("needle " + "hay " * 50_000 + "needle " + "hay " * 50_000 + "needle"))
    assert not viewer.rest_button.isHidden()
    await find(qtbot, viewer, "needle", until)
    assert count(viewer) == "1 of 3"
    assert viewer.rest_button.isHidden()
    qtbot.keyClick(viewer.find_bar.edit, Qt.Key.Key_Return, Qt.KeyboardModifier.ShiftModifier)
    assert count(viewer) == "3 of 3"
    assert is_seen(viewer.pages.currentWidget())
    await viewer.aclose()


async def test_turns_and_both_texts_of_a_learning_are_searched(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, talk(*[("user", f"line {n} \U0001f600 ledger") for n in range(60)]))
    await find(qtbot, viewer, "ledger", until)
    assert count(viewer) == "1 of 60"
    viewer.find_step(-1)
    assert count(viewer) == "60 of 60"
    assert is_seen(viewer.read_view)
    assert current(viewer.read_view)[0][0] == "ledger"
    engine = FakeEngine()
    viewer.set_engine(engine)
    long = talk(*[("user", "so it is said " * 30 + "ledger") for _ in range(400)])
    await shown(viewer, await hit_of(engine, long), until)
    viewer.find_step(1)
    await until(lambda: not viewer.jobs.is_busy)
    assert count(viewer).endswith(" of 400")
    lesson = Learning(
        text="the ledger " * 80, kind=LearningKind.FACT, confidence=0.5, evidence="a ledger\n" * 60 + "the last ledger"
    )
    await shown(viewer, await hit_of(engine, lesson), until)
    assert count(viewer) == "1 of 141"
    viewer.find_step(-1)
    assert current(viewer.card.evidence)[0][0] == "ledger"
    assert viewer.card.verticalScrollBar().value() > 0
    await viewer.aclose()


async def test_a_page_that_is_no_text_gives_way(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note(TEXT, mime="text/plain"))
    await choose(viewer, METADATA, until)
    viewer.open_find()
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.segments.choice == READ
    await find(qtbot, viewer, "ledger", until)
    await choose(viewer, RAW, until)
    assert count(viewer) == "1 of 3"
    assert current(viewer.raw_view)[0][0] == "Ledger"
    await choose(viewer, METADATA, until)
    assert not viewer.is_finding
    await choose(viewer, RAW, until)
    assert viewer.raw_view.extraSelections() == []
    await viewer.aclose()


async def test_the_marks_of_the_search_come_back(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note(TEXT, mime="text/plain"))
    viewer.set_search(["three"])
    await find(qtbot, viewer, "ledger", until)
    assert len(viewer.plain_view.extraSelections()) == 3
    qtbot.mouseClick(viewer.find_bar.close_button, Qt.MouseButton.LeftButton)
    assert [each.cursor.selectedText() for each in viewer.plain_view.extraSelections()] == ["three"]
    await viewer.aclose()


async def test_of_very_many_those_around_what_is_seen_are_marked(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, note("a word\n" * 5_000, mime="text/plain"))
    await find(qtbot, viewer, "word", until)
    view = viewer.plain_view
    assert count(viewer) == "1 of 5 000"
    view.verticalScrollBar().setValue(view.verticalScrollBar().maximum())
    last = 5_000 * len("a word\n") - len("word\n")
    await until(lambda: last in [each.cursor.selectionStart() for each in view.extraSelections()])
    assert len(view.extraSelections()) <= MAX_MARKS + 1
    # The first of new words is one that is seen, not the first of the item.
    await find(qtbot, viewer, "a word", until)
    assert int(count(viewer).replace(" ", "").partition("of")[0]) > 4_000
    await viewer.aclose()


async def test_another_item_is_searched_for_the_same(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    await shown(viewer, await hit_of(engine, note("ledger", mime="text/plain")), until)
    await find(qtbot, viewer, "ledger", until)
    await shown(viewer, await hit_of(engine, note("no, ledger ledger", mime="text/plain")), until)
    assert count(viewer) == "1 of 2"
    viewer.show_hit(None)
    await viewer.aclose()


async def test_the_windows_key_finds_in_the_item_where_that_has_the_keyboard(qtbot: QtBot, until: Until) -> None:
    window = MainWindow()
    qtbot.addWidget(window)
    window.show()
    engine = await filled([note(TEXT, mime="text/plain")])
    window.show_engine(engine, "a.db", is_read_only=False)
    await until(lambda: window.is_idle)
    window.activateWindow()
    control = Qt.KeyboardModifier.ControlModifier
    window.viewer.plain_view.setFocus()
    qtbot.keyClick(window.viewer.plain_view, Qt.Key.Key_F, control)
    assert QApplication.focusWidget() is window.viewer.find_bar.edit
    qtbot.keyClicks(window.viewer.find_bar.edit, "ledger")
    await until(lambda: count(window.viewer) == "1 of 3")
    window.viewer.plain_view.setFocus()
    qtbot.keyClick(window.viewer.plain_view, Qt.Key.Key_F3)
    assert count(window.viewer) == "2 of 3"
    qtbot.keyClick(window.viewer.plain_view, Qt.Key.Key_Escape)
    assert not window.viewer.is_finding
    window.items.view.setFocus()
    qtbot.keyClick(window.items.view, Qt.Key.Key_F, control)
    assert QApplication.focusWidget() is window.search_box.search_edit
    await window.aclose()
    window.close_for_good()


async def test_words_are_found_across_the_breaks_of_a_long_line(qtbot: QtBot, until: Until) -> None:
    # Each line as long as it may be is followed by a break, so that one of the words is cut by it.
    body = "first\n" + ("\U0001f600" + "x" * 54 + "needle") * 400 + "\r\nneedle\nneed\nle"
    viewer = await opened(qtbot, until, note(body, mime="text/plain"))
    await find(qtbot, viewer, "needle", until)
    view = viewer.plain_view
    assert view.document().blockCount() > 10
    assert count(viewer) == "1 of 401"
    texts = set()
    for _ in range(100):
        viewer.find_step(1)
        texts.add(current(view)[0][0])
    assert {text.replace("\u2029", "") for text in texts} == {"needle"}
    assert len(texts) > 1  # one of them at least lies on both sides of a break
    await viewer.aclose()


def test_places_are_counted_as_qt_does_across_every_stride() -> None:
    pattern = pattern_of(["Needle"])
    assert pattern is not None
    text = ("\U0001f600" * 4 + "x" * 49_990 + "needLE" + "y" * 30) * 4
    spans = spans_of(text, pattern)
    units = text.encode("utf-16-le")
    assert len(spans) == 4
    for start, end in zip(spans.starts, spans.ends, strict=True):
        assert units[2 * start : 2 * end].decode("utf-16-le") == "needLE"
    assert len(spans_of(text, pattern, 3)) == 3
    assert pattern_of([f"w{n}" for n in range(21)]) is None
