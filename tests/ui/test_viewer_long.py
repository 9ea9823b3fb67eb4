"""Links as they are reached by hand, and an item of very many lines."""

from __future__ import annotations

import asyncio

import pytest
from PySide6.QtCore import QPoint, Qt
from PySide6.QtGui import QTextCursor
from pytestqt.qtbot import QtBot

from explorer.ui.markdown import Block, blocks
from explorer.ui.viewer import METADATA, RAW, READ, ItemViewer
from explorer.ui.viewer_parts import parsing
from explorer.ui.viewer_parts.link_dialog import LinkDialog
from tests.conftest import Until
from tests.ui.test_viewer import choose, note, opened, page_text

LINKS = "Begin\n\n[portal](https://intranet.example/a) and [mail](mailto:a@b.test) and [not](file:///etc/passwd)"
LINES = 100_000


def place_of(viewer: ItemViewer, words: str) -> QPoint:
    """The middle of the first occurrence of `words` on the Read page."""
    page = viewer.read_view
    found: QTextCursor = page.document().find(words)
    start = QTextCursor(found)
    start.setPosition(found.selectionStart())
    return (page.cursorRect(start).center() + page.cursorRect(found).center()) / 2


def dialog_of(viewer: ItemViewer) -> LinkDialog | None:
    return viewer.findChild(LinkDialog)


async def opened_links(qtbot: QtBot, until: Until) -> tuple[ItemViewer, list[str]]:
    viewer = await opened(qtbot, until, note(LINKS, mime="text/markdown"))
    went: list[str] = []
    viewer.open_url = lambda url: went.append(url.toString())
    return viewer, went


async def test_a_click_on_a_link_shows_its_target_first(qtbot: QtBot, until: Until) -> None:
    viewer, went = await opened_links(qtbot, until)
    before = viewer.read_view.toPlainText()
    qtbot.mouseClick(viewer.read_view.viewport(), Qt.MouseButton.LeftButton, pos=place_of(viewer, "not"))
    assert dialog_of(viewer) is None, "it is no link at all"
    qtbot.mouseClick(viewer.read_view.viewport(), Qt.MouseButton.LeftButton, pos=place_of(viewer, "portal"))
    await until(lambda: dialog_of(viewer) is not None and dialog_of(viewer).isVisible())
    dialog = dialog_of(viewer)
    assert dialog is not None
    assert dialog.target_view.toPlainText() == "https://intranet.example/a"
    assert went == []
    qtbot.mouseClick(dialog.open_button, Qt.MouseButton.LeftButton)
    await until(lambda: went)
    assert went == ["https://intranet.example/a"]
    assert viewer.read_view.toPlainText() == before, "the page itself went nowhere"
    await viewer.aclose()


async def test_a_link_is_reached_by_tab_and_pressed_by_enter(qtbot: QtBot, until: Until) -> None:
    viewer, went = await opened_links(qtbot, until)
    page = viewer.read_view
    viewer.window().activateWindow()
    page.setFocus()
    await until(page.hasFocus)
    for target in ("https://intranet.example/a", "mailto:a@b.test"):
        qtbot.keyClick(page, Qt.Key.Key_Tab)
        assert page.hasFocus()
        qtbot.keyClick(page, Qt.Key.Key_Return)
        await until(lambda: dialog_of(viewer) is not None and dialog_of(viewer).isVisible())
        dialog = dialog_of(viewer)
        assert dialog is not None
        assert dialog.target_view.toPlainText() == target
        qtbot.keyClick(dialog, Qt.Key.Key_Escape)
        await until(lambda: dialog_of(viewer) is None)
        viewer.window().activateWindow()
        await until(page.hasFocus)
    assert went == [], "shown, and not opened"
    qtbot.keyClick(page, Qt.Key.Key_Tab)
    assert not page.hasFocus(), "what is no link is no stop"
    await viewer.aclose()


@pytest.mark.limit_s(60)
async def test_of_a_hundred_thousand_lines_the_first_are_written_and_the_rest_on_demand(
    qtbot: QtBot, until: Until
) -> None:
    body = "\n".join(f"line {at}" for at in range(LINES))
    viewer = await opened(qtbot, until, note(body, mime="text/plain"))
    first = page_text(viewer)
    assert first.startswith("line 0\nline 1\nline 2\n")
    assert viewer.read_view.document().blockCount() < LINES // 10
    assert f"line {LINES - 1}" not in first
    assert not viewer.foot.isHidden()
    qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy, timeout_s=50)
    assert page_text(viewer).split("\n") == body.split("\n")
    assert viewer.foot.isHidden()
    await viewer.aclose()


@pytest.mark.parametrize("halt", ["stop", RAW, METADATA])
async def test_nothing_is_left_out_where_loading_was_cut_off_and_goes_on(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch, halt: str
) -> None:
    body = "\n\n".join(f"## Part {at}\n\nSome *text* with `code` and more of it." for at in range(2_000))
    begun: list[str] = []

    def parsed(source: str) -> list[Block]:
        begun.append(source)
        return blocks(source)

    monkeypatch.setattr(parsing, "blocks", parsed)
    viewer = await opened(qtbot, until, note(body))
    cuts = 0
    for turns in (None, 0, 1, 2, 3, None, 5, 10, 20, None):
        seen = len(begun)
        if viewer.rest_button.isHidden():
            break
        qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
        if turns is None:  # just as a part of it is being read
            await until(lambda seen=seen: len(begun) > seen or not viewer.jobs.is_busy)
        for _ in range(turns or 0):
            await asyncio.sleep(0)
        cuts += viewer.jobs.is_running("rest")
        if halt == "stop":
            qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
            await until(lambda: not viewer.jobs.is_busy)
        else:
            await choose(viewer, halt, until)
            await choose(viewer, READ, until)
    assert cuts >= 4
    if not viewer.rest_button.isHidden():
        qtbot.mouseClick(viewer.rest_button, Qt.MouseButton.LeftButton)
        await until(lambda: not viewer.jobs.is_busy)
    said = page_text(viewer).split("\n")
    assert [line for line in said if line.startswith("Part ")] == [f"Part {at}" for at in range(2_000)]
    assert sum(line == "Some text with code and more of it." for line in said) == 2_000
    assert viewer.foot.isHidden()
    await viewer.aclose()
