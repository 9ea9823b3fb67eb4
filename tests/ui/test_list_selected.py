"""Selecting all that match, and taking items elsewhere."""

from __future__ import annotations

import gettext
import itertools
import subprocess
import sys
from datetime import UTC
from pathlib import Path

import pytest
from PySide6.QtCore import Qt
from PySide6.QtGui import QGuiApplication
from PySide6.QtWidgets import QMenu
from pytestqt.qtbot import QtBot

from explorer import i18n
from explorer.contract import (
    Document,
    DocumentBody,
    EngineFailure,
    ExplorePage,
    Facet,
    FetchMode,
    ForgetTarget,
    Hit,
    ListPage,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    StoreItem,
    Timestamp,
    Unavailable,
    dump_item,
    parse_item,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.transfer import CopyForm
from explorer.transfer.copying import markdown
from explorer.ui import item_copies
from explorer.ui.items import ItemList
from explorer.ui.models.item_model import SPAN_PAGE, Column
from tests.conftest import Until
from tests.fakes import FakeEngine, filled, learning

NARROW = "\u202f"
CTRL = Qt.KeyboardModifier.ControlModifier
SHIFT = Qt.KeyboardModifier.ShiftModifier


async def listed(qtbot: QtBot, until: Until, engine: MemoryEngine, query: str = "") -> ItemList:
    items = ItemList(zone=UTC)
    qtbot.addWidget(items)
    items.resize(680, 600)
    items.show()
    items.set_engine(engine, "a.db")
    items.show_filter(MetaFilter(), query, FetchMode.KEYWORD if query else None)
    await settled(items, until)
    return items


async def many(n: int) -> FakeEngine:
    engine = FakeEngine()
    await filled((learning(f"learning {at:04}") for at in range(n)), engine)
    return engine


async def settled(items: ItemList, until: Until) -> None:
    await until(lambda: not items.jobs.is_busy and not items.model.missing(items.view.visible_rows()))


def selected(items: ItemList) -> str:
    return items.selected_label.text().replace(NARROW, " ")


def click(
    qtbot: QtBot, items: ItemList, row: int, modifiers: Qt.KeyboardModifier = Qt.KeyboardModifier.NoModifier
) -> None:
    rect = items.view.visualRect(items.model.index(row, Column.TEXT))
    qtbot.mouseClick(items.view.viewport(), Qt.MouseButton.LeftButton, modifiers, rect.center())


def clipboard() -> str:
    return QGuiApplication.clipboard().text()


async def test_rows_are_added_to_the_selection_and_taken_out(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until, await many(30))
    click(qtbot, items, 2)
    click(qtbot, items, 5, SHIFT)
    click(qtbot, items, 8, CTRL)
    click(qtbot, items, 3, CTRL)
    assert [hit.text[-1] for hit in items.selected_hits()] == ["2", "4", "5", "8"]
    assert selected(items) == "4 selected"
    qtbot.keyClick(items.view, Qt.Key.Key_Escape)
    assert selected(items) == "1 selected"
    await items.aclose()


async def test_all_that_match_are_selected_also_what_is_not_loaded(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until, await many(450))
    click(qtbot, items, 0)
    assert items.select_all_button.text() == "Select all 450"
    assert items.selected_filter is None
    qtbot.mouseClick(items.select_all_button, Qt.MouseButton.LeftButton)
    assert selected(items) == "450 selected, all that match"
    assert items.selected_filter == MetaFilter()
    assert items.select_all_button.isHidden()
    assert items.view.hasFocus() or not items.isActiveWindow()
    items.view.scrollToBottom()
    await until(lambda: items.model.rowCount() == 400)
    assert selected(items) == "450 selected, all that match"
    assert items.view.selectionModel().isRowSelected(399)
    await settled(items, until)
    click(qtbot, items, items.view.visible_rows().start + 1)
    assert selected(items) == "1 selected"
    assert items.selected_filter is None
    assert not items.select_all_button.isHidden()
    await items.aclose()


async def test_ctrl_a_selects_all_that_match(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until, await many(250))
    qtbot.keyClick(items.view, Qt.Key.Key_A, CTRL)
    assert selected(items) == "250 selected, all that match"
    items.show_filter(MetaFilter(tags_any=["none"]))
    await settled(items, until)
    assert items.selected_filter is None
    await items.aclose()


async def test_all_hits_of_a_search_are_loaded_and_selected(qtbot: QtBot, until: Until) -> None:
    engine = await many(120)
    items = await listed(qtbot, until, engine, "learning")
    assert items.model.rowCount() == 50
    assert selected(items) == "1 selected"
    assert items.select_all_button.text() == "Select all 50+"
    qtbot.mouseClick(items.select_all_button, Qt.MouseButton.LeftButton)
    await settled(items, until)
    assert items.model.rowCount() == 120
    assert selected(items) == "120 selected, all that match"
    assert len(items.selected_hits()) == 120
    assert items.select_all_button.isHidden()
    assert items.selected_filter is None, "a search is no filter: the hits themselves are"
    items.copy(CopyForm.ID)
    await until(lambda: len(clipboard().split()) == 120)
    await items.aclose()


async def test_selecting_all_hits_ends_at_a_limit_and_says_so(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("explorer.ui.items.MAX_HITS_SELECTED", 100)
    items = await listed(qtbot, until, await many(180), "learning")
    qtbot.keyClick(items.view, Qt.Key.Key_A, CTRL)
    await settled(items, until)
    assert items.model.rowCount() == 100
    assert selected(items) == "100 selected of 100+ found"
    assert items.select_all_button.isHidden()
    assert not items.load_more_button.isHidden(), "more can still be had, page by page"
    await items.aclose()


async def test_stale_hits_are_selected_as_they_are(qtbot: QtBot, until: Until) -> None:
    engine = await many(120)
    items = await listed(qtbot, until, engine, "learning")
    engine.fail("fetch", Unavailable("the network is down"))
    items.refresh()
    await settled(items, until)
    assert items.model.is_stale
    qtbot.keyClick(items.view, Qt.Key.Key_A, CTRL)
    await settled(items, until)
    assert selected(items) == "50 selected of 50+ found"
    await items.aclose()


async def test_loading_hits_to_select_them_can_be_stopped_and_can_fail(qtbot: QtBot, until: Until) -> None:
    engine = await many(180)
    items = await listed(qtbot, until, engine, "learning")
    gate = engine.hold("fetch")
    qtbot.keyClick(items.view, Qt.Key.Key_A, CTRL)
    assert selected(items) == "50 selected, more are being loaded"
    click(qtbot, items, 3)
    assert selected(items) == "1 selected"
    gate.open()
    await settled(items, until)
    assert (items.model.rowCount(), selected(items)) == (100, "1 selected"), "the page on its way is the last"
    engine.fail("fetch", Unavailable("the network is down"))
    qtbot.keyClick(items.view, Qt.Key.Key_A, CTRL)
    await settled(items, until)
    assert selected(items) == "100 selected of 100+ found"
    assert "the network is down" in items.banner.sentence
    engine.mend()
    gate = engine.hold("fetch")
    qtbot.keyClick(items.view, Qt.Key.Key_A, CTRL)
    assert selected(items) == "100 selected, more are being loaded"
    items.cancel_reading()  # as the Cancel of the job does
    gate.open()
    await settled(items, until)
    assert selected(items) == "100 selected of 100+ found"
    qtbot.mouseClick(items.select_all_button, Qt.MouseButton.LeftButton)
    await settled(items, until)
    assert selected(items) == "180 selected, all that match"
    await items.aclose()


async def test_a_capped_count_stays_one_when_all_are_selected(qtbot: QtBot, until: Until) -> None:
    engine = await many(250)
    engine.pages[Facet.KIND] = ExplorePage(
        facet=Facet.KIND, buckets=[], total=210, missing=0, more_buckets=0, truncated=True
    )
    items = await listed(qtbot, until, engine)
    click(qtbot, items, 0)
    assert items.select_all_button.text() == "Select all 210+"
    items.select_all()
    assert selected(items) == "210+ selected, all that match"
    await items.aclose()


ITEMS: list[StoreItem] = [
    learning("late fees are waived", "team:acme", tags=["re`funds"]),
    Document(
        title="Refund policy",
        body=DocumentBody(text="Customers may return items."),
        meta=MemoryMeta(observed_at=Timestamp.parse("2026-06-30T09:30:00Z")),
    ),
]


@pytest.mark.parametrize("form", list(CopyForm))
async def test_items_are_copied_in_four_forms(qtbot: QtBot, until: Until, form: CopyForm) -> None:
    items = await listed(qtbot, until, await filled(ITEMS))
    items.select_all()
    action = items.copies.actions[form]
    key = action.shortcut()[0]
    qtbot.keyClick(items.view, key.key(), key.keyboardModifiers())
    await settled(items, until)
    hits = items.selected_hits()
    found = clipboard()
    match form:
        case CopyForm.TEXT:
            assert found == "late fees are waived\n\n# Refund policy\n\nCustomers may return items."
        case CopyForm.ID:
            assert found.split("\n") == [hit.id for hit in hits]
        case CopyForm.JSON:
            assert found.split("\n") == [dump_item(item) for item in ITEMS]
            assert [parse_item(line).fingerprint() for line in found.split("\n")] == [hit.id for hit in hits]
        case CopyForm.MARKDOWN:
            first, second = found.split("\n\n---\n\n")
            assert first == f"**learning** · `team:acme` · tags ``re`funds`` · `{hits[0].id}`\n\nlate fees are waived"
            assert second.startswith("**document** · `root` · 2026-06-30T09:30:00Z · `")
            assert second.endswith("\n\n# Refund policy\n\nCustomers may return items.")
    how = "" if form is CopyForm.TEXT else f" as {form.value}"
    assert items.copied_label.text() == f"Copied 2 items{how}"
    click(qtbot, items, 0)
    assert items.copied_label.text() == ""
    await items.aclose()


def test_markdown_lets_no_value_out_of_its_code_span() -> None:
    item = learning("text", tags=["`a", "a\nb"])
    hit = Hit.of_item(item.fingerprint(), item)
    assert "tags `` `a ``, `a b`" in markdown(hit)


async def test_all_are_copied_also_what_is_not_loaded(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until, await many(450))
    items.select_all()
    items.copy(CopyForm.TEXT)
    await settled(items, until)
    assert clipboard().split("\n\n") == [f"learning {at:04}" for at in range(450)]
    assert items.copied_label.text() == "Copied 450 items"
    await items.aclose()


async def test_rows_by_place_that_are_not_held_are_read_for_copying(qtbot: QtBot, until: Until, tmp_path: Path) -> None:
    engine = SqliteEngine(tmp_path / "a.db", embedder=None)
    for start in range(0, 500, 100):
        await engine.store_many([learning(f"learning {at:04}") for at in range(start, start + 100)])
    items = await listed(qtbot, until, engine)
    assert items.model.held_count == SPAN_PAGE
    click(qtbot, items, 2)
    qtbot.keyClick(items.view, Qt.Key.Key_End, SHIFT)
    await settled(items, until)
    assert selected(items) == "498 selected"
    items.copy(CopyForm.TEXT)
    await settled(items, until)
    assert clipboard().split("\n\n") == [f"learning {at:04}" for at in reversed(range(498))]
    await items.aclose()
    await engine.aclose()


class Spanish(gettext.NullTranslations):
    """A few words of another language."""

    def gettext(self, message: str) -> str:
        said = {"Copying, {items} so far": "{items} hasta ahora", "Copied {items}": "{items} copiados"}
        return said.get(message, message)


async def test_copying_can_be_cancelled_in_any_language(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(i18n, "_words", Spanish())
    engine = await many(450)
    items = await listed(qtbot, until, engine)
    items.select_all()
    gate = engine.hold("list_preview", lambda req: req.cursor == "200")
    items.copy(CopyForm.TEXT)
    await until(lambda: gate.waiting)
    assert items.copied_label.text() == "200 items hasta ahora"
    assert items.copy_cancel_button.isVisible()
    gate.open()
    await settled(items, until)
    assert items.copied_label.text() == "450 items copiados"
    assert items.copy_cancel_button.isHidden()
    await items.aclose()


async def test_copying_can_be_cancelled_and_says_when_it_fails(qtbot: QtBot, until: Until) -> None:
    engine = await many(450)
    items = await listed(qtbot, until, engine)
    QGuiApplication.clipboard().setText("before")
    items.select_all()
    gate = engine.hold("list_preview", lambda req: req.cursor == "200")
    items.copy(CopyForm.TEXT)
    await until(lambda: gate.waiting)
    assert items.copied_label.text() == "Copying, 200 items so far"
    qtbot.mouseClick(items.copy_cancel_button, Qt.MouseButton.LeftButton)
    await settled(items, until)
    assert items.copied_label.text() == ""
    assert items.copy_cancel_button.isHidden()
    gate.open()
    engine.fail("get", EngineFailure("disk"))
    items.copy(CopyForm.TEXT)
    await settled(items, until)
    assert items.banner.sentence == "The engine failed: disk."
    assert items.copy_cancel_button.isHidden()
    assert clipboard() == "before"
    await items.aclose()


@pytest.mark.parametrize("page", ["empty", "the same", "the same cursor"])
async def test_a_list_without_end_is_not_copied_without_end(qtbot: QtBot, until: Until, page: str) -> None:
    engine = await many(250)
    items = await listed(qtbot, until, engine)
    QGuiApplication.clipboard().setText("before")
    hits = [] if page == "empty" else (await engine.list_preview(ListRequest(limit=200))).items
    pages = itertools.count()
    engine.listing = lambda req: ListPage(items=hits, next_cursor="x" if "cursor" in page else str(next(pages)))
    items.select_all()
    items.copy(CopyForm.ID)
    await settled(items, until)
    assert "never came to the end of its list" in items.banner.sentence
    assert items.copied_label.text() == ""
    assert clipboard() == "before", "less than all that match is not passed off as all"
    await items.aclose()


async def test_more_than_a_clipboard_takes_is_refused(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(item_copies, "MAX_COPIED_CHARS", 100)
    items = await listed(qtbot, until, await many(30))
    QGuiApplication.clipboard().setText("before")
    items.select_all()
    items.copy(CopyForm.TEXT)
    await settled(items, until)
    assert items.banner.sentence.endswith("that is too much for the clipboard; export it to a file.")
    assert clipboard() == "before"
    await items.aclose()


async def test_selected_rows_are_pulled_out_as_a_file(
    qtbot: QtBot, until: Until, monkeypatch: pytest.MonkeyPatch
) -> None:
    items = await listed(qtbot, until, await filled([*ITEMS, *(learning(f"learning {at}") for at in range(5))]))
    pulled: list[Path] = []
    monkeypatch.setattr(items.copies, "pull", pulled.append)

    class Pointer:
        @staticmethod
        def mouseButtons() -> Qt.MouseButton:
            return Qt.MouseButton.LeftButton

    monkeypatch.setattr(item_copies, "QGuiApplication", Pointer)
    click(qtbot, items, 0)
    click(qtbot, items, 1, SHIFT)
    start = items.view.visualRect(items.model.index(1, Column.TEXT)).center()
    viewport = items.view.viewport()
    qtbot.mousePress(viewport, Qt.MouseButton.LeftButton, pos=start)
    for step in (10, 60):
        qtbot.mouseMove(viewport, start + type(start)(step, 0))
    await until(lambda: pulled)
    qtbot.mouseRelease(viewport, Qt.MouseButton.LeftButton, pos=start)
    assert pulled[0].name == "2 items.jsonl"
    lines = pulled[0].read_text("utf-8").splitlines()
    assert [parse_item(line) for line in lines] == ITEMS
    monkeypatch.setattr("explorer.ui.items.MAX_DRAGGED", 1)
    items.view.drag_wanted.emit()
    assert items.banner.sentence.startswith("More than 1 items cannot be pulled out")
    await items.aclose()


@pytest.mark.parametrize(
    ("text", "name"),
    [("late fees: never/ever?", "late fees_ never_ever.jsonl"), ("..", "learning.jsonl"), ("退款", "退款.jsonl")],
)
def test_a_file_is_named_so_that_every_system_takes_it(text: str, name: str) -> None:
    item = learning(text)
    assert item_copies.file_name(Hit.of_item(item.fingerprint(), item)) == name


PULL = """
import os, sys
os.environ["QT_QPA_PLATFORM"] = "offscreen"
from pathlib import Path
from PySide6.QtGui import QDrag
from PySide6.QtWidgets import QApplication, QWidget
from explorer.ui import item_copies
from explorer.ui.jobs import Jobs

class Drag(QDrag):
    def exec(self, actions):
        print(self.mimeData().urls()[0].fileName())

item_copies.QDrag = Drag
app = QApplication([])
view = QWidget()
copies = item_copies.Copies(view, Jobs(view))
for _ in range(3):
    copies.pull(Path("/tmp/2 items.jsonl"))
app.processEvents()
"""


def test_a_program_that_pulled_files_out_ends_well() -> None:
    ended = subprocess.run([sys.executable, "-c", PULL], capture_output=True, text=True, timeout=30)
    assert ended.returncode == 0, ended.stderr
    assert ended.stdout == "2 items.jsonl\n" * 3


async def test_the_menu_of_a_row_offers_the_copies(qtbot: QtBot, until: Until) -> None:
    items = await listed(qtbot, until, await many(3))
    rect = items.view.visualRect(items.model.index(1, Column.TEXT))
    items.view.customContextMenuRequested.emit(rect.center())
    menu = next(one for one in items.findChildren(QMenu) if one.isVisible())
    words = [action.text() for action in menu.actions() if action.text()]
    copies = ["Copy text", "Copy as Markdown", "Copy as JSON", "Copy id"]
    assert words == [*copies, "Export…", "Move or copy…", "Select all", "Forget…"]
    menu.close()
    await items.aclose()


async def test_a_refresh_keeps_what_is_selected(qtbot: QtBot, until: Until) -> None:
    engine = await many(30)
    items = await listed(qtbot, until, engine)
    click(qtbot, items, 2)
    click(qtbot, items, 5, CTRL)
    await engine.store(learning("another"))
    items.refresh()
    await settled(items, until)
    assert [hit.text[-1] for hit in items.selected_hits()] == ["2", "5"]
    items.select_all()
    items.refresh()
    await settled(items, until)
    assert selected(items) == "31 selected, all that match"
    items.show_filter(MetaFilter(), "learning")
    await settled(items, until)
    assert len(items.selected_hits()) == 1  # the current one alone
    await items.aclose()


async def in_file(tmp_path: Path, n: int) -> SqliteEngine:
    engine = SqliteEngine(tmp_path / "a.db", embedder=None)
    for start in range(0, n, 100):
        await engine.store_many(
            [learning(f"learning {at:04}", tags=[f"t{at % 10}"]) for at in range(start, start + 100)]
        )
    return engine


async def test_a_refresh_keeps_rows_that_were_never_looked_at(qtbot: QtBot, until: Until, tmp_path: Path) -> None:
    engine = await in_file(tmp_path, 700)
    items = await listed(qtbot, until, engine)
    click(qtbot, items, 1)
    items.view.scrollTo(items.model.index(450, Column.TEXT))
    await settled(items, until)
    click(qtbot, items, 450, SHIFT)
    assert selected(items) == "450 selected"
    before = [f"learning {699 - at:04}" for at in range(1, 451)]
    await engine.store_many([learning(f"new {at}") for at in range(70)])
    items.refresh()
    await settled(items, until)
    assert selected(items) == "450 selected"
    items.copy(CopyForm.TEXT)
    await settled(items, until)
    assert clipboard().split("\n\n") == before
    await items.aclose()
    await engine.aclose()


async def test_a_refresh_keeps_rows_that_came_by_cursor(qtbot: QtBot, until: Until) -> None:
    engine = await many(450)
    items = await listed(qtbot, until, engine)
    items.view.scrollToBottom()
    await until(lambda: items.model.rowCount() == 400)
    items.view.scrollTo(items.model.index(390, Column.TEXT))
    click(qtbot, items, items.view.visible_rows().start)
    assert items.view.currentIndex().row() > 200, "beyond the first page"
    items.view.scrollToTop()
    click(qtbot, items, 1, CTRL)
    kept = {hit.id for hit in items.selected_hits()}
    assert len(kept) == 2
    items.refresh()
    await settled(items, until)
    assert {hit.id for hit in items.selected_hits()} == kept
    await items.aclose()


async def test_what_a_refresh_cannot_keep_selected_is_said(qtbot: QtBot, until: Until, tmp_path: Path) -> None:
    engine = await in_file(tmp_path, 700)
    items = await listed(qtbot, until, engine)
    click(qtbot, items, 1)
    qtbot.keyClick(items.view, Qt.Key.Key_End, SHIFT)
    await settled(items, until)
    assert selected(items) == "699 selected"
    items.refresh()
    await settled(items, until)
    assert selected(items) == "1 selected, 698 let go: not found again"
    click(qtbot, items, items.view.visible_rows().start + 1)
    assert selected(items) == "1 selected"
    await items.aclose()
    await engine.aclose()


@pytest.mark.parametrize("form", CopyForm)
async def test_what_is_no_longer_stored_is_not_handed_out(
    qtbot: QtBot, until: Until, tmp_path: Path, form: CopyForm
) -> None:
    engine = await in_file(tmp_path, 500)
    items = await listed(qtbot, until, engine)
    stored = (await engine.list(ListRequest(limit=500))).items
    items.select_all()
    await engine.forget(ForgetTarget(filter=MetaFilter(tags_any=["t3"])))
    items.copy(form)
    await settled(items, until)
    assert items.copied_label.text() == "450 of 500 copied; 50 are no longer stored"
    named = [hit.id if form is CopyForm.ID else hit.text for hit in stored]
    assert [name in clipboard() for name in named] == ["t3" not in hit.meta.tags for hit in stored], "held or not"
    await items.aclose()
    await engine.aclose()


async def test_copying_from_a_memory_that_was_left_says_no_more(qtbot: QtBot, until: Until) -> None:
    engine, other = await many(900), await many(3)
    items = await listed(qtbot, until, engine)
    QGuiApplication.clipboard().setText("before")
    items.select_all()
    gate = engine.hold("list_preview", stubborn=True)
    items.copy(CopyForm.TEXT)
    await until(lambda: gate.waiting)
    assert items.copied_label.text() == "Copying, 200 items so far"
    said: list[str] = []
    items.set_engine(other, "b.db")
    assert items.copied_label.text() == ""
    items.copies.said.connect(lambda words, _: said.append(words))
    items.show_filter(MetaFilter())
    await until(lambda: items.model.rowCount() == 3)
    asked = len(engine.requests("list_preview"))
    gate.open()
    await settled(items, until)
    assert not any(said)
    assert len(engine.requests("list_preview")) == asked, "nor is more read of it"
    assert clipboard() == "before"
    await items.aclose()
