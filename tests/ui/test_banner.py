"""Banners, busy lines, empty and loading states."""

from __future__ import annotations

import time

import pytest
from PySide6.QtCore import Qt
from PySide6.QtWidgets import QApplication, QLabel, QPlainTextEdit, QPushButton, QToolButton, QVBoxLayout, QWidget
from pytestqt.qtbot import QtBot

from explorer.ui.banner import Banner
from explorer.ui.busy import BusyLine
from explorer.ui.empty import EmptyState, LoadingState, Skeleton
from explorer.ui.theme import Theme

HOSTILE = '<b>Erase done</b> <img src="http://192.0.2.7/p.png">'


class Pane(QWidget):
    """A banner over content."""

    def __init__(self) -> None:
        super().__init__()
        self.banner = Banner()
        self.content = QPlainTextEdit("rows")
        column = QVBoxLayout(self)
        column.setContentsMargins(0, 0, 0, 0)
        column.addWidget(self.banner)
        column.addWidget(self.content, 1)
        self.resize(600, 400)

    def button(self, name: str) -> QPushButton:
        return self.banner.findChild(QPushButton, name)


@pytest.fixture
def pane(qtbot: QtBot) -> Pane:
    made = Pane()
    qtbot.addWidget(made)
    made.show()
    qtbot.waitExposed(made)
    return made


def settle(qtbot: QtBot, pane: Pane) -> None:
    qtbot.waitUntil(lambda: pane.banner.maximumHeight() > 10_000)


def test_no_news_takes_no_room(pane: Pane) -> None:
    assert not pane.banner.isVisible()
    assert pane.content.y() == 0


def test_an_error_stands_over_the_content_and_hides_none_of_it(pane: Pane, qtbot: QtBot) -> None:
    pane.banner.show_error("The file is locked by another program.")
    settle(qtbot, pane)
    assert pane.banner.isVisible()
    assert pane.content.isVisible()
    qtbot.waitUntil(lambda: pane.content.y() >= pane.banner.geometry().bottom())
    assert not pane.button("detailsButton").isVisible()
    assert not pane.button("bannerActionButton").isVisible()
    assert pane.banner.sentence == "The file is locked by another program."


def test_it_grows_from_nothing(pane: Pane, qtbot: QtBot, themed: Theme) -> None:
    assert themed.animation_ms(120) > 0, "the style of the tests moves"
    pane.banner.show_error("The file is locked.")
    assert pane.banner.maximumHeight() == 0
    settle(qtbot, pane)
    assert 36 <= pane.banner.height() <= 52  # one line: no room kept for details that there are not


def test_markup_is_plain_text(pane: Pane, qtbot: QtBot) -> None:
    pane.banner.show_error(HOSTILE, details=HOSTILE)
    label = pane.banner.findChild(QLabel, "bannerLabel")
    assert label.textFormat() == Qt.TextFormat.PlainText
    assert label.text() == HOSTILE
    qtbot.mouseClick(pane.button("detailsButton"), Qt.MouseButton.LeftButton)
    details = pane.banner.findChild(QPlainTextEdit, "bannerDetails")
    assert details.isVisible()
    assert details.toPlainText() == HOSTILE
    assert details.isReadOnly()
    qtbot.mouseClick(pane.button("detailsButton"), Qt.MouseButton.LeftButton)
    assert not details.isVisible()


def test_retry_runs_once_and_takes_the_news_away(pane: Pane, qtbot: QtBot) -> None:
    calls: list[str] = []
    pane.banner.show_error("No answer.", retry=lambda: calls.append("retry"))
    assert pane.button("bannerActionButton").text() == "Retry"
    qtbot.mouseClick(pane.button("bannerActionButton"), Qt.MouseButton.LeftButton)
    assert calls == ["retry"]
    assert not pane.banner.isVisible()
    assert pane.banner.sentence == ""


def test_a_retry_that_fails_at_once_is_said(pane: Pane, qtbot: QtBot) -> None:
    pane.banner.show_error("No answer.", retry=lambda: pane.banner.show_error("Still no answer."))
    qtbot.mouseClick(pane.button("bannerActionButton"), Qt.MouseButton.LeftButton)
    assert pane.banner.isVisible()
    assert pane.banner.sentence == "Still no answer."
    assert not pane.button("bannerActionButton").isVisible()


def test_a_note_offers_its_action(pane: Pane, qtbot: QtBot) -> None:
    calls: list[str] = []
    pane.banner.show_note("3 new and 1 gone since this was read.", "Refresh", lambda: calls.append("refresh"))
    assert pane.button("bannerActionButton").text() == "Refresh"
    assert not pane.button("detailsButton").isVisible()
    qtbot.mouseClick(pane.button("bannerActionButton"), Qt.MouseButton.LeftButton)
    assert calls == ["refresh"]


def test_it_can_be_dismissed(pane: Pane, qtbot: QtBot) -> None:
    pane.banner.show_error("No answer.")
    qtbot.mouseClick(pane.banner.findChild(QToolButton, "dismissButton"), Qt.MouseButton.LeftButton)
    assert not pane.banner.isVisible()
    assert pane.content.isVisible()


def test_a_long_sentence_wraps_whole(pane: Pane, qtbot: QtBot) -> None:
    pane.banner.show_error("The key was refused and nothing was sent. " * 6, "details", lambda: None)
    settle(qtbot, pane)
    label = pane.banner.findChild(QLabel, "bannerLabel")
    qtbot.waitUntil(lambda: label.height() >= label.heightForWidth(label.width()) > 30)


def test_the_busy_line_waits_and_keeps_its_room(qtbot: QtBot) -> None:
    line = BusyLine()
    qtbot.addWidget(line)
    line.show()
    line.set_busy(True)
    assert not line.is_shown
    line.set_busy(False)  # a quick answer
    qtbot.wait(180)
    assert not line.is_shown
    line.set_busy(True)
    qtbot.waitUntil(lambda: line.is_shown, timeout=1000)
    line.set_busy(True)  # a second task: no new start
    assert line.is_shown
    assert line.height() == 2
    line.set_busy(False)
    assert not line.is_shown


def test_the_busy_line_without_motion_is_still_seen(
    qtbot: QtBot, themed: Theme, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(themed, "reduced_motion", True)
    line = BusyLine()
    qtbot.addWidget(line)
    line.resize(100, 2)
    line.show()
    line.set_busy(True)
    qtbot.waitUntil(lambda: line.is_shown)
    assert line.grab().toImage().pixelColor(50, 1) == themed.color("accent")


def test_an_empty_state_offers_at_most_two_ways(qtbot: QtBot) -> None:
    calls: list[str] = []
    state = EmptyState()
    qtbot.addWidget(state)
    state.resize(480, 360)
    state.show_state(
        "funnel",
        "Nothing matches these two conditions",
        HOSTILE,
        [("Clear all", lambda: calls.append("clear")), ("Remove the search", lambda: calls.append("remove"))],
    )
    state.show()
    main = state.findChild(QPushButton, "emptyMainButton")
    other = state.findChild(QPushButton, "emptyOtherButton")
    assert (other.text(), main.text()) == ("Clear all", "Remove the search")
    assert state.findChild(QLabel, "emptySentenceLabel").textFormat() == Qt.TextFormat.PlainText
    qtbot.mouseClick(main, Qt.MouseButton.LeftButton)
    qtbot.mouseClick(other, Qt.MouseButton.LeftButton)
    assert calls == ["remove", "clear"]
    state.show_state("inbox", "Nothing is stored", "The file is new.", [("Add an item", lambda: calls.append("add"))])
    assert not other.isVisible()
    qtbot.mouseClick(main, Qt.MouseButton.LeftButton)
    assert calls[-1] == "add"
    state.show_state("inbox", "Nothing is stored", "The file is new.")
    assert not main.isVisible()


@pytest.mark.parametrize("width", [240, 320, 900])
def test_an_empty_state_clips_no_text(qtbot: QtBot, width: int) -> None:
    state = EmptyState()
    qtbot.addWidget(state)
    state.show_state("key", "The key was refused", "What you saw last stays below. " * 4, [("Edit", lambda: None)])
    state.resize(width, 420)
    state.show()
    qtbot.waitExposed(state)
    for name in ("emptyTitleLabel", "emptySentenceLabel"):
        label = state.findChild(QLabel, name)
        assert label.height() >= label.heightForWidth(label.width())
        assert abs(label.geometry().center().x() - width / 2) <= 2


def test_loading_shows_nothing_then_rows_then_the_time(
    qtbot: QtBot, qapp: QApplication, monkeypatch: pytest.MonkeyPatch
) -> None:
    state = LoadingState()
    qtbot.addWidget(state)
    state.resize(480, 400)
    state.show()
    real = time.monotonic
    ahead_s = 0.0
    monkeypatch.setattr("explorer.ui.empty.time.monotonic", lambda: real() + ahead_s)
    state.start("Reading team:acme")
    rows = state.findChild(Skeleton)
    cancel = state.findChild(QPushButton, "loadingCancelButton")
    assert not rows.isVisible()
    qtbot.waitUntil(rows.isVisible, timeout=1000)
    assert not cancel.isVisible()
    ahead_s = 12.0
    qtbot.waitUntil(cancel.isVisible, timeout=1000)
    said = state.findChild(QLabel, "loadingLabel").text()
    assert said == "12\u00a0s so far. The first page appears as soon as it is here."
    with qtbot.waitSignal(state.cancel_wanted):
        qtbot.mouseClick(cancel, Qt.MouseButton.LeftButton)
    state.stop()
    assert not rows.isVisible()
    assert not cancel.isVisible()
