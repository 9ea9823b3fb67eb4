"""Hits that are a piece of a longer item: they say which, and the whole is opened where the engine has it."""

from __future__ import annotations

from typing import Any

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QTextCursor
from pytestqt.qtbot import QtBot

from explorer.contract import Conversation, Hit, StoreItem, TurnRange
from explorer.ui.viewer import ItemViewer
from explorer.ui.viewer_parts.piece import piece_words
from tests.conftest import Until
from tests.fakes import FakeEngine
from tests.ui.test_viewer import WithoutExport, built, hit_of, meta, note, shown, talk, top_lines

FILLER = "Nothing of note stands here.\n\n" * 120
BODY = f"{FILLER}## Limits\n\nUp to **50 EUR** the agent decides.\n\n{FILLER}"


def piece_of(hit: Hit, *tags: str) -> Hit:
    """The hit as an engine gives it that found one piece of the document."""
    start = hit.text.index("## Limits")
    title = hit.text.partition("\n")[0]
    return hit.model_copy(
        update={
            "text": f"{title}\n\n{hit.text[start : start + 200]}",
            "meta": hit.meta.model_copy(update={"tags": [*hit.meta.tags, *tags]}),
        }
    )


def first_seen(view: Any) -> str:
    cursor: QTextCursor = view.cursorForPosition(view.viewport().rect().topLeft())
    cursor.movePosition(QTextCursor.MoveOperation.Down, QTextCursor.MoveMode.MoveAnchor, 2)
    return view.toPlainText()[max(0, cursor.position() - 60) : cursor.position() + 60]  # type: ignore[no-any-return]


def piece(viewer: ItemViewer) -> str:
    return viewer.piece_label.text().replace("\u2068", "").replace("\u2069", "")


@pytest.mark.parametrize("mime", ["text/markdown", "text/plain"])
@pytest.mark.parametrize("size", [1, 20])
async def test_a_piece_of_a_document_is_read_in_the_whole(qtbot: QtBot, until: Until, mime: str, size: int) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    whole = await hit_of(engine, note(FILLER * size + BODY, title="Handbook", mime=mime, meta=meta(tags=["hr"])))
    await shown(viewer, piece_of(whole, "page:3-5", "section:Limits"), until)
    assert piece(viewer) == "Found in pages 3 to 5, section Limits; this is the whole"
    assert viewer.piece_label.isVisible()
    assert not viewer.whole_button.isVisible()
    assert viewer.full_text() == whole.text
    view: Any = viewer.pages.currentWidget()
    assert "Limits" in first_seen(view)
    assert [button.drawn for button in viewer.pairs.buttons("tags")] == ["hr"]
    await viewer.aclose()


async def test_without_the_whole_a_piece_says_what_it_is(qtbot: QtBot, until: Until) -> None:
    engine = WithoutExport()
    viewer = built(qtbot, engine)
    whole = await hit_of(engine, note(BODY, title="Handbook"))
    await engine.store(note("x"))
    await shown(viewer, piece_of(whole, "page:7"), until)
    assert piece(viewer) == "A piece: page 7"
    await shown(viewer, whole, until)
    assert piece(viewer) == ""
    await viewer.aclose()


def test_stored_tags_are_no_pieces() -> None:
    item = note("x", meta=meta(tags=["page:1", "section:A", "page:x", "section:"]))
    whole = Hit.of_item(item.fingerprint(), item)
    assert piece_words(whole, whole) == ""
    assert piece_words(whole, None).startswith("page 1, section ")
    other = talk(("user", "x"), meta=meta(tags=["page:1"]))
    assert piece_words(Hit.of_item(other.fingerprint(), other), None) == ""


def part(first: int, last: int, thread: str = "desk/7") -> Conversation:
    return talk(
        *[("user", f"this was said as {at}") for at in range(first, last + 1)],
        meta=meta(thread_id=thread, turns=TurnRange(first=first, last=last)),
    )


@pytest.mark.parametrize("has_range", [True, False])
async def test_a_part_of_a_conversation_opens_the_whole(qtbot: QtBot, until: Until, has_range: bool) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    whole: StoreItem = part(0, 99)
    if not has_range:
        whole = talk(*[("user", f"this was said as {at}") for at in range(100)], meta=meta(thread_id="desk/7"))
    for item in (part(40, 43), whole, part(44, 60), part(0, 99, "other")):
        await engine.store(item)
    await shown(viewer, await hit_of(engine, part(40, 43)), until)
    assert piece(viewer) == "Turns 40 to 43 of a thread"
    viewer.whole_button.setFocus()
    qtbot.keyClick(viewer.whole_button, Qt.Key.Key_Space)
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.hit is not None
    assert viewer.hit.id == whole.fingerprint()
    assert "#40" in top_lines(viewer)
    assert viewer.back_button.text() == "Back to the part"
    qtbot.mouseClick(viewer.back_button, Qt.MouseButton.LeftButton)
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.hit.id == part(40, 43).fingerprint()
    await viewer.aclose()


async def test_a_part_whose_whole_is_not_stored_says_so(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    await engine.store(part(44, 45))
    await shown(viewer, await hit_of(engine, part(40, 43)), until)
    viewer.whole_button.click()
    await until(lambda: not viewer.jobs.is_busy)
    assert viewer.banner.sentence == "No more of this thread is stored."
    await viewer.aclose()
