"""An item opened at a passage that was cited of it: on screen, marked, and said where it is not there."""

from __future__ import annotations

import re
from typing import Any

import pytest
from pytestqt.qtbot import QtBot

from explorer.contract import Hit, Passage, StoreItem
from explorer.ui.viewer import METADATA, READ, ItemViewer
from explorer.ui.viewer_parts.passage import Cited, sought, spans_in
from tests.conftest import Until
from tests.fakes import FakeEngine, learning
from tests.ui.test_viewer import built, hit_of, note, settled, talk
from tests.ui.test_viewer_pieces import FILLER

SAID = "Up to **50 EUR** the agent decides, see [the policy](https://example.org/p)."
DRAWN = "Up to 50 EUR the agent decides, see the policy"


def marked(viewer: ItemViewer) -> list[str]:
    """What is marked in the text that is read."""
    return [each.cursor.selectedText() for part in viewer._texts(READ) for each in part.extraSelections()]


def is_seen(viewer: ItemViewer) -> bool:
    """Whether the first mark is on screen."""
    for part in viewer._texts(READ):
        for each in part.extraSelections():
            cursor: Any = each.cursor
            cursor.setPosition(cursor.selectionStart())
            at = part.viewport().mapTo(viewer, part.cursorRect(cursor).center())
            return bool(viewer.pages.geometry().translated(viewer.content.pos()).contains(at))
    return False


async def opened(qtbot: QtBot, until: Until, item: StoreItem, quote: str, nth: int = 0) -> ItemViewer:
    """A viewer that shows `item` at the occurrence of `quote` with that number."""
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    hit = await hit_of(engine, item)
    viewer.show_passage(hit.model_copy(update={"text": quote}), Cited(quote, place_of(hit, quote, nth)))
    await settled(viewer, until)
    return viewer


def place_of(hit: Hit, quote: str, nth: int = 0) -> Passage:
    start = -1
    for _ in range(nth + 1):
        start = hit.text.index(quote, start + 1)
    return Passage(start=start, stop=start + len(quote))


@pytest.mark.parametrize("mime", ["text/markdown", "text/plain"])
@pytest.mark.parametrize("size", [1, 20])
async def test_it_is_on_screen_and_marked(qtbot: QtBot, until: Until, mime: str, size: int) -> None:
    body = f"{FILLER * size}{SAID}\n\n{FILLER}"
    viewer = await opened(qtbot, until, note(body, title="Handbook", mime=mime), SAID)
    (said,) = marked(viewer)
    assert said.startswith(DRAWN if mime == "text/markdown" else SAID[:20])
    assert is_seen(viewer)
    await viewer.aclose()


async def test_of_two_that_read_the_same_it_is_the_one_that_was_cited(qtbot: QtBot, until: Until) -> None:
    body = f"{SAID}\n\n{FILLER}{SAID}\n\n{FILLER}"
    viewer = await opened(qtbot, until, note(body, title=DRAWN, mime="text/markdown"), SAID, nth=1)
    assert len(marked(viewer)) == 1
    assert viewer.read_view.verticalScrollBar().value() > 0
    assert is_seen(viewer)
    viewer.show_passage(viewer.hit, Cited(SAID, place_of(viewer.hit, SAID)))  # type: ignore[arg-type]
    await settled(viewer, until)
    assert viewer.read_view.verticalScrollBar().value() == 0
    assert is_seen(viewer)
    await viewer.aclose()


async def test_turns_are_marked_without_who_said_them(qtbot: QtBot, until: Until) -> None:
    turns = [("user", f"this was said as {at}") for at in range(80)]
    item = talk(*turns, ("user", "When does the ledger close?"), ("assistant", "The ledger closes at six."), *turns)
    quote = "When does the ledger close?\nassistant: The ledger closes at six."
    viewer = await opened(qtbot, until, item, quote)
    assert marked(viewer) == ["When does the ledger close", "The ledger closes at six"]
    assert is_seen(viewer)
    await viewer.aclose()


async def test_what_was_learned_is_marked_in_its_statement(qtbot: QtBot, until: Until) -> None:
    viewer = await opened(qtbot, until, learning("Refunds above 200 EUR need two people."), "Refunds above 200 EUR")
    assert marked(viewer) == ["Refunds above 200 EUR"]
    assert is_seen(viewer)
    await viewer.aclose()


async def test_another_page_gives_way_and_another_item_has_no_marks(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    one, other = await hit_of(engine, note(SAID)), await hit_of(engine, note(f"{SAID} Another."))
    viewer.show_hit(one)
    viewer._choose_page(METADATA)
    await settled(viewer, until)
    viewer.show_passage(one, Cited(SAID, place_of(one, SAID)))
    await settled(viewer, until)
    assert viewer.segments.choice == READ
    assert marked(viewer)
    viewer.show_hit(one)  # its row became the current one
    assert marked(viewer)
    viewer.set_search(["agent"])
    assert [each.startswith("Up to") for each in marked(viewer)] == [True], "the passage stays until one goes on"
    viewer.show_hit(other)
    await settled(viewer, until)
    assert marked(viewer) == ["agent"]
    viewer.show_hit(one)
    await settled(viewer, until)
    assert marked(viewer) == ["agent"]
    await viewer.aclose()


async def test_words_that_are_not_there_any_more_are_said(qtbot: QtBot, until: Until) -> None:
    engine = FakeEngine()
    viewer = built(qtbot, engine)
    hit = await hit_of(engine, note(FILLER * 20))
    viewer.show_passage(hit, Cited("Nobody ever wrote this."))
    await settled(viewer, until)
    assert viewer.banner.sentence.startswith("The cited words are not found in this text.")
    await viewer.aclose()


async def test_a_line_without_end_is_opened_at_its_place(qtbot: QtBot, until: Until) -> None:
    body = f"{'QUJD' * 75_000} needle in it {'REVG' * 25_000}"
    viewer = await opened(qtbot, until, note(body, mime="text/plain"), "needle in it")
    assert marked(viewer) == ["needle in it"]
    assert is_seen(viewer)
    viewer.show_passage(viewer.hit, Cited(body[1_000:], Passage(start=1_000, stop=len(body))))  # type: ignore[arg-type]
    await settled(viewer, until)
    assert len(marked(viewer)) == 1
    await viewer.aclose()


def test_no_pattern_grows_with_a_passage(monkeypatch: pytest.MonkeyPatch) -> None:
    """One of many words takes minutes not to be found where they are said again and again, and the window waits."""
    made: list[int] = []
    compiled: Any = re._compile  # type: ignore[attr-defined]

    def note(pattern: Any, flags: int) -> Any:
        made.append(len(getattr(pattern, "pattern", pattern)))
        return compiled(pattern, flags)

    monkeypatch.setattr(re, "_compile", note)
    item = learning("la " * 2_000)
    whole = Hit.of_item(item.fingerprint(), item)
    absent = sought(Cited("la " * 300 + "lu"), whole, item)
    assert absent is not None
    assert spans_in(whole.text, absent) == []
    last = sought(Cited("la la", Passage(start=5_994, stop=5_999)), whole, item)
    assert last is not None
    assert spans_in(whole.text, last) == [(5_994, 5_999)]
    assert max(made, default=0) < 200


def test_what_has_no_words_is_not_sought() -> None:
    item = note("… – …")
    whole = Hit.of_item(item.fingerprint(), item)
    assert sought(Cited("… – …", Passage(start=0, stop=5)), whole, item) is None
    beyond = sought(Cited("abc def", Passage(start=90, stop=99)), whole, item)
    assert beyond is not None
    assert spans_in("so abc,\u2029def", beyond) == [(3, 11)]
    assert spans_in("nothing", beyond) == []


def test_of_several_the_right_one_is_waited_for() -> None:
    item = note("the same. the same. the same.")
    whole = Hit.of_item(item.fingerprint(), item)
    third = sought(Cited("the same", Passage(start=20, stop=28)), whole, item)
    assert third is not None
    assert spans_in(whole.text, third) == [(20, 28)]
    assert spans_in("the same. the", third, is_whole=False) == []
    assert spans_in("the same. the", third) == [(0, 8)], "what stood before it is drawn otherwise"
