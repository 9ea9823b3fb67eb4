"""Searching in the window: what people type, what they searched before, the way back, and why a hit is there."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

import pytest
from PySide6.QtCore import QSettings, Qt
from PySide6.QtGui import QAction, QInputMethodEvent
from PySide6.QtWidgets import QApplication, QLabel, QPushButton, QWidget
from pytestqt.qtbot import QtBot

from explorer.contract import (
    EngineFailure,
    Facet,
    FetchMode,
    MemoryEngine,
    MetaFilter,
    StoreItem,
    Timestamp,
    Unavailable,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.ui.main_window import MainWindow
from explorer.ui.models.facet_rows import RowType
from explorer.ui.models.item_model import Column
from explorer.ui.toolbar import MAX_RECENT, MAX_RECENT_CHARS, SearchBox
from explorer.ui.trail import View
from tests.conftest import Until
from tests.engines.sqlite.support import vectors_made
from tests.engines.sqlite.word_vectors import WordVectors
from tests.fakes import FakeEngine, filled, learning
from tests.ui.test_main_window import chip_names, opened, texts

ITEMS: list[StoreItem] = [
    learning("session-recalls are kept for a day", tags=["a"]),
    learning("我喜欢深色模式", tags=["a"]),
    learning("see Downloads/x/report.pdf"),
    learning('they said "--error-on-warnings" on ubuntu 20.04'),
    learning("the review is on 2026-12-15"),
    learning("an asterisk * alone"),
    learning("don't use pre-edit hooks"),
]


async def made(path: Path, items: Sequence[StoreItem] = ITEMS, **options: object) -> SqliteEngine:
    engine = SqliteEngine(path, **{"embedder": None, **options})  # type: ignore[arg-type]
    await engine.store_many(list(items))
    return engine


async def search(qtbot: QtBot, window: MainWindow, until: Until, query: str) -> set[str]:
    """Type a query as people do, without Return; the texts that are found."""
    edit = window.search_box.search_edit
    edit.setFocus()
    edit.selectAll()
    if query.isascii():
        qtbot.keyClicks(edit, query)
    else:  # by an input method, as such text is
        commit = QInputMethodEvent()
        commit.setCommitString(query)
        QApplication.sendEvent(edit, commit)
    await until(lambda: window.trail.current.query == query.strip() and window.is_idle)
    return texts(window)


@pytest.mark.parametrize(
    ("query", "found"),
    [
        ("session-recall", "session-recalls are kept for a day"),  # F2
        ("深色", "我喜欢深色模式"),  # F4
        ("Downloads/x", "see Downloads/x/report.pdf"),
        ('"--error-on-warnings"', 'they said "--error-on-warnings" on ubuntu 20.04'),
        ("ubuntu 20.04", 'they said "--error-on-warnings" on ubuntu 20.04'),
        ("2026-12-15", "the review is on 2026-12-15"),
        ("don't", "don't use pre-edit hooks"),
        ("pre-edit", "don't use pre-edit hooks"),
    ],
)
async def test_what_people_type_is_found(qtbot: QtBot, tmp_path: Path, until: Until, query: str, found: str) -> None:
    engine = await made(tmp_path / "a.db")
    async with opened(qtbot, tmp_path, until, engine) as window:
        assert found in await search(qtbot, window, until, query)
        assert window.items.banner.sentence == ""


@pytest.mark.parametrize(
    "query", ["*", "a AND", "NEAR(", "col:x", "^x", '"', "'", "-", "(", "\\", "%", "深*", "x" * 500]
)
async def test_no_query_is_an_error(qtbot: QtBot, tmp_path: Path, until: Until, query: str) -> None:
    engine = await made(tmp_path / "a.db")
    async with opened(qtbot, tmp_path, until, engine) as window:
        await search(qtbot, window, until, query)
        assert window.items.banner.sentence == ""
        assert window.error_banner.sentence == ""
        assert not window.items.model.is_stale
        assert "chip:query" in chip_names(window)


async def test_what_is_pasted_is_no_error_either(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await made(tmp_path / "a.db")
    async with opened(qtbot, tmp_path, until, engine) as window:
        edit = window.search_box.search_edit
        for query in ("x" * 10_000, "日" * 10_000, "x y " * 2_500, "a\0b", "a\u202eb"):
            edit.clear()
            edit.insert(query)
            qtbot.keyClick(edit, Qt.Key.Key_Return)
            await until(lambda query=query: window.is_idle and window.trail.current.query == query.strip())
            assert window.items.banner.sentence == ""
            assert window.error_banner.sentence == ""
            assert not window.items.model.is_stale
            assert not window.grab().isNull()


async def test_only_blanks_are_no_search(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await made(tmp_path / "a.db")
    async with opened(qtbot, tmp_path, until, engine) as window:
        edit = window.search_box.search_edit
        qtbot.keyClicks(edit, "   ")
        qtbot.keyClick(edit, Qt.Key.Key_Return)
        await until(lambda: window.is_idle)
        assert window.trail.current == View()
        assert len(texts(window)) == len(ITEMS)


async def test_the_result_line_says_that_half_of_the_search_failed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    embedder = WordVectors()
    engine = await made(tmp_path / "a.db", embedder=embedder)
    await vectors_made(engine)
    embedder.error = Unavailable("the model is out")
    async with opened(qtbot, tmp_path, until, engine) as window:
        assert "the review is on 2026-12-15" in await search(qtbot, window, until, "2026-12-15")
        said = "found by hybrid; the vector part failed: the model is out; ranked by words alone"
        assert window.items.aside_label.text() == said
        assert said in window.items.aside_label.toolTip()
        assert not window.items.aside_label.grab().isNull()
        qtbot.keyClick(window.search_box.search_edit, Qt.Key.Key_Escape)
        await until(lambda: window.is_idle and not window.trail.current.query)
        assert "failed" not in window.items.aside_label.text()


async def test_hits_say_what_their_scores_are_made_of(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await made(tmp_path / "a.db")
    asked: list[str] = []
    real = engine.fetch
    engine.fetch = lambda req: (asked.append(req.query), real(req))[1]  # type: ignore[method-assign, func-returns-value]
    async with opened(qtbot, tmp_path, until, engine) as window:
        await search(qtbot, window, until, "session-recall")
        model = window.items.model
        tip = model.data(model.index(0, Column.SCORE), Qt.ItemDataRole.ToolTipRole)
        assert tip.splitlines()[0].startswith("Words: ")
        assert tip.splitlines()[-1] == f"Score: {model.hit(0).score:.3f}"
        assert asked == []  # one read for the hits and their parts
        assert not window.items.view.grab().isNull()


async def test_an_engine_that_does_not_explain_shows_its_scores(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    class Silent(SqliteEngine):
        fetch_explained = MemoryEngine.fetch_explained

    engine = Silent(tmp_path / "a.db", embedder=None)
    await engine.store_many(ITEMS)
    async with opened(qtbot, tmp_path, until, engine) as window:
        await search(qtbot, window, until, "session-recall")
        model = window.items.model
        tip = model.data(model.index(0, Column.SCORE), Qt.ItemDataRole.ToolTipRole)
        assert tip == f"Score {model.hit(0).score:.3f}"


async def test_escape_returns_to_the_list_where_it_was(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = SqliteEngine(tmp_path / "a.db", embedder=None)
    for start in range(0, 600, 100):
        await engine.store_many(
            [
                learning(f"item {at}", observed_at=Timestamp.parse(f"2020-01-01T00:{at // 60:02}:{at % 60:02}Z"))
                for at in range(start, start + 100)
            ]
        )
    async with opened(qtbot, tmp_path, until, engine) as window:
        view = window.items.view
        view.setCurrentIndex(window.items.model.index(450, Column.TEXT))
        await until(lambda: window.is_idle and window.items.current_hit() is not None)
        was = view.verticalScrollBar().value()
        await search(qtbot, window, until, "item")
        qtbot.keyClick(window.search_box.search_edit, Qt.Key.Key_Down)
        qtbot.keyClick(view, Qt.Key.Key_Down)
        await until(lambda: window.is_idle)
        qtbot.keyClick(view, Qt.Key.Key_Escape)  # out of the hits as out of the field
        await until(lambda: window.is_idle and not window.trail.current.query)
        await until(lambda: window.items.current_hit() is not None)
        current = window.items.current_hit()
        assert current is not None
        assert current.text == "item 149"
        assert view.verticalScrollBar().value() == was
        assert window.search_box.search_edit.text() == ""
        await search(qtbot, window, until, "item 3")
        qtbot.keyClick(window.search_box.search_edit, Qt.Key.Key_Escape)
        await until(lambda: window.is_idle and not window.trail.current.query)
        assert view.verticalScrollBar().value() == was


async def test_a_search_stays_inside_the_filter(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await made(tmp_path / "a.db")
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.go_to_filter(MetaFilter(tags_any=["a"]))
        await until(lambda: window.is_idle)
        assert await search(qtbot, window, until, "the") == set()
        assert await search(qtbot, window, until, "kept") == {"session-recalls are kept for a day"}
        assert window.trail.current == View(MetaFilter(tags_any=["a"]), "kept", FetchMode.KEYWORD)


async def test_conditions_stay_where_nothing_is_found_and_lead_back(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    engine = await made(tmp_path / "a.db")
    async with opened(qtbot, tmp_path, until, engine) as window:
        window.go_to_filter(MetaFilter(tags_any=["a"]))
        await until(lambda: window.is_idle)
        assert await search(qtbot, window, until, "zebra") == set()
        assert chip_names(window) == {"chip:tags_any", "chip:query"}
        ticked = window.facets.model.row_index(Facet.TAG, RowType.VALUE, "a")
        assert ticked.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked
        state = window.items.state
        assert state.findChild(QLabel, "emptyTitleLabel").text() == "Nothing matches these two conditions"
        assert "Without the search there are 2 items." in state.findChild(QLabel, "emptySentenceLabel").text()
        removes = next(one for one in state.findChildren(QPushButton) if one.text() == "Remove the search")
        qtbot.mouseClick(removes, Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle and len(texts(window)) == 2)
        assert chip_names(window) == {"chip:tags_any"}
        await search(qtbot, window, until, "zebra")
        cross = window.findChild(QWidget, "chip:tags_any").findChild(QWidget, "removeChipButton")
        qtbot.mouseClick(cross, Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle)
        assert chip_names(window) == {"chip:query"}, "also with nothing found"
        qtbot.mouseClick(window.findChild(QPushButton, "clearFilterButton"), Qt.MouseButton.LeftButton)
        await until(lambda: window.is_idle and len(texts(window)) == len(ITEMS))


async def test_late_hits_never_replace_those_of_what_was_typed_since(
    qtbot: QtBot, tmp_path: Path, until: Until
) -> None:
    engine = await filled([learning("green tea"), learning("black coffee")])
    assert isinstance(engine, FakeEngine)
    late = engine.hold("fetch", lambda req: req.query == "tea", stubborn=True)
    async with opened(qtbot, tmp_path, until, engine) as window:
        edit = window.search_box.search_edit
        qtbot.keyClicks(edit, "tea")
        await until(lambda: late.waiting)
        edit.selectAll()
        qtbot.keyClicks(edit, "coffee")
        try:
            await until(lambda: texts(window) == {"black coffee"})
        finally:
            late.open()
        await until(lambda: not late.waiting and window.is_idle)
        assert texts(window) == {"black coffee"}
        assert window.items.count_label.text() == "1 hit"
        assert window.trail.current.query == "coffee"


# What was searched for before


def entries(box: SearchBox) -> dict[str, QAction]:
    """The menu of recent searches, as it opens."""
    box.fill_recent()
    words = (
        (action.text().replace("\u2068", "").replace("\u2069", ""), action)
        for action in box.recent_button.menu().actions()
    )
    return {text: action for text, action in words if text}


def typed(qtbot: QtBot, box: SearchBox, query: str) -> None:
    box.search_edit.clear()
    qtbot.keyClicks(box.search_edit, query)
    qtbot.keyClick(box.search_edit, Qt.Key.Key_Return)


def test_recent_searches_are_offered_last_first(qtbot: QtBot) -> None:
    box = SearchBox()
    qtbot.addWidget(box)
    box.show_modes([FetchMode.KEYWORD])
    assert not entries(box)["No recent searches"].isEnabled()
    for query in ("one", "two & three", "one"):
        typed(qtbot, box, query)
    assert list(entries(box))[:2] == ["one", "two && three"]
    wanted: list[str] = []
    box.search_wanted.connect(lambda query, mode: wanted.append(query))
    entries(box)["two && three"].trigger()
    assert wanted == ["two & three"]
    assert box.search_edit.text() == "two & three"
    assert box.recent == ["two & three", "one"]
    for at in range(20):
        typed(qtbot, box, f"query {at}")
    assert len(box.recent) == MAX_RECENT


def test_only_what_was_typed_and_run_is_remembered(qtbot: QtBot) -> None:
    box = SearchBox()
    qtbot.addWidget(box)
    box.show_modes([FetchMode.KEYWORD])
    qtbot.keyClicks(box.search_edit, "half a wo")  # still typing
    assert box.recent == []
    qtbot.keyClicks(box.search_edit, "rd")
    qtbot.keyClick(box.search_edit, Qt.Key.Key_Escape)
    assert box.recent == ["half a word"]
    box.show_search("the text of some item", None)  # more like this
    qtbot.keyClick(box.search_edit, Qt.Key.Key_Return)
    box.search_edit.setText("x" * (MAX_RECENT_CHARS + 1))
    qtbot.keyClick(box.search_edit, Qt.Key.Key_Return)
    typed(qtbot, box, "   ")
    assert box.recent == ["half a word"]


def test_searches_can_be_forgotten_and_left_unremembered(qtbot: QtBot) -> None:
    box = SearchBox()
    qtbot.addWidget(box)
    box.show_modes([FetchMode.KEYWORD])
    typed(qtbot, box, "secret")
    entries(box)["Forget recent searches"].trigger()
    assert box.recent == []
    typed(qtbot, box, "secret")
    entries(box)["Remember searches"].trigger()
    assert box.recent == []
    typed(qtbot, box, "secret")
    assert box.recent == []
    assert "secret" not in box.recent_state()
    other = SearchBox()
    qtbot.addWidget(other)
    other.restore_recent(box.recent_state())
    typed(qtbot, other, "secret")
    assert other.recent == []
    assert "Searches are not remembered" in entries(other)
    for odd in ("", "[]", "{", '{"queries": 3, "remembers": 1}'):
        other.restore_recent(odd)
        assert other.recent == []


async def test_the_window_keeps_them(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    settings = QSettings(str(tmp_path / "window.ini"), QSettings.Format.IniFormat)
    async with opened(qtbot, tmp_path, until, await made(tmp_path / "a.db"), settings) as window:
        await search(qtbot, window, until, "kept")
        qtbot.keyClick(window.search_box.search_edit, Qt.Key.Key_Return)
    async with opened(qtbot, tmp_path, until, await made(tmp_path / "b.db"), settings) as window:
        window.restore_layout()
        assert window.search_box.recent == ["kept"]


async def test_a_failed_search_keeps_what_was_typed(qtbot: QtBot, tmp_path: Path, until: Until) -> None:
    class Failing(SqliteEngine):
        async def fetch_explained(self, req: object) -> object:  # type: ignore[override]
            raise EngineFailure("disk")

    engine = Failing(tmp_path / "a.db", embedder=None)
    await engine.store_many(ITEMS)
    async with opened(qtbot, tmp_path, until, engine) as window:
        await search(qtbot, window, until, "kept")
        assert window.items.banner.sentence.startswith("The engine failed: disk. The rows below are those of before;")
        assert window.search_box.search_edit.text() == "kept"
        assert window.items.model.is_stale
