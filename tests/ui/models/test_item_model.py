from __future__ import annotations

from datetime import UTC, datetime, timedelta, timezone
from typing import Any

import pytest
from PySide6.QtCore import QModelIndex, Qt

from explorer.contract import Hit, ItemId, ItemKind, LearningKind, MemoryMeta, Namespace, Timestamp
from explorer.ui.models.item_model import MAX_EMPTY_PAGES, Column, ItemModel, ItemRole, Page

ROOT = QModelIndex()


def hit(id: str, text: str = "text", kind: ItemKind = ItemKind.LEARNING, **more: Any) -> Hit:
    score, sure = more.pop("score", 0.0), more.pop("confidence", None)
    return Hit(id=ItemId(id), kind=kind, text=text, meta=MemoryMeta(**more), score=score, confidence=sure)


def hits(*ids: str) -> list[Hit]:
    return [hit(id) for id in ids]


def cell(model: ItemModel, row: int, column: Column, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
    return model.data(model.index(row, column), role)


@pytest.fixture
def model() -> ItemModel:
    return ItemModel()


@pytest.fixture
def wanted(model: ItemModel) -> list[str]:
    """The cursors asked for, in order."""
    asked: list[str] = []
    model.page_wanted.connect(asked.append)
    return asked


def test_model_keeps_qts_protocol_empty_and_filled(model: ItemModel, qtmodeltester: Any) -> None:
    qtmodeltester.check(model)
    model.show_first(Page(hits("a", "b"), "next"))
    qtmodeltester.check(model)
    model.append(Page(hits("c"), None))
    model.set_stale(True)
    qtmodeltester.check(model)


def test_pages_follow_each_other_to_the_end(model: ItemModel, wanted: list[str]) -> None:
    model.show_first(Page(hits("a", "b"), "1"))
    assert model.canFetchMore(ROOT)
    model.fetchMore(ROOT)
    model.fetchMore(ROOT)
    assert wanted == ["1"]  # once, until it is here
    model.append(Page(hits("c"), None))
    assert model.rowCount() == 3
    assert not model.canFetchMore(ROOT)
    assert not model.has_more
    assert not model.stopped


def test_a_page_that_did_not_come_is_asked_for_again_only_on_retry(model: ItemModel, wanted: list[str]) -> None:
    model.show_first(Page(hits("a"), "1"))
    model.fetchMore(ROOT)
    model.fail()
    model.fetchMore(ROOT)
    assert wanted == ["1"]
    model.retry()
    assert wanted == ["1", "1"]


def test_an_empty_cursor_is_not_the_end(model: ItemModel, wanted: list[str]) -> None:
    model.show_first(Page(hits("a"), ""))
    assert model.has_more
    model.fetchMore(ROOT)
    assert wanted == [""]
    model.append(Page(hits("b"), ""))
    assert model.rowCount() == 2
    assert "repeated a cursor" in model.stopped


def test_a_repeated_cursor_stops_with_a_sentence(model: ItemModel, wanted: list[str]) -> None:
    model.show_first(Page(hits("a"), "x"))
    model.fetchMore(ROOT)
    model.append(Page(hits("a", "b"), "y"))
    model.fetchMore(ROOT)
    model.append(Page(hits("a", "b"), "x"))
    assert wanted == ["x", "y"]
    assert model.rowCount() == 2
    assert not model.canFetchMore(ROOT)
    assert model.stopped == "The engine repeated a cursor; showing 2 unique items."
    assert not model.can_go_on


def test_one_empty_page_in_the_middle_is_passed_over(model: ItemModel, wanted: list[str]) -> None:
    model.show_first(Page([], "1"))
    assert wanted == ["1"]  # there is no row whose sight would ask for it
    model.append(Page([], "2"))
    model.append(Page(hits("a"), None))
    assert wanted == ["1", "2"]
    assert model.rowCount() == 1
    assert not model.stopped


def test_empty_pages_without_end_stop_and_can_be_taken_up_again(model: ItemModel, wanted: list[str]) -> None:
    model.show_first(Page(hits("a"), "0"))
    model.fetchMore(ROOT)
    for at in range(1, 100):
        if not model.is_waiting:
            break
        model.append(Page([], str(at)))
    assert len(wanted) == MAX_EMPTY_PAGES
    assert "brought nothing new" in model.stopped
    assert not model.canFetchMore(ROOT)
    model.go_on()
    assert wanted[-1] == str(MAX_EMPTY_PAGES)
    model.append(Page(hits("b"), None))
    assert model.rowCount() == 2
    assert not model.stopped


def test_pages_of_known_items_count_as_empty(model: ItemModel, wanted: list[str]) -> None:
    model.show_first(Page(hits("a", "b"), "0"))
    model.fetchMore(ROOT)
    at = 0
    while model.is_waiting:
        at += 1
        model.append(Page(hits("a", "b"), str(at)))
    assert at == MAX_EMPTY_PAGES
    assert model.rowCount() == 2


def test_a_new_first_page_starts_anew(model: ItemModel) -> None:
    model.show_first(Page(hits("a"), "x"))
    model.append(Page(hits("b"), "x"))
    model.set_stale(True)
    model.show_first(Page(hits("b"), "x"))
    assert model.rowCount() == 1
    assert model.has_more
    assert not model.stopped
    assert not model.is_stale
    assert model.row_of(ItemId("a")) is None
    assert model.row_of(ItemId("b")) == 0


def test_the_item_itself_is_under_its_role(model: ItemModel) -> None:
    one = hit("a", "so")
    model.show_first(Page([one], None))
    assert cell(model, 0, Column.SCORE, ItemRole) is one


def test_cells_say_what_is_known() -> None:
    zone = timezone(timedelta(hours=2))
    model = ItemModel(zone=zone)
    node = Namespace.parse("team:acme/agent:triage")
    at = Timestamp(datetime.now(UTC).year, 6, 30, 14, 42, 5, tzinfo=UTC)
    one = hit("a", "Two approvals", namespace=node, observed_at=at, confidence=0.915, score=0.5)
    model.show_first(Page([one], None))
    assert cell(model, 0, Column.TEXT) == "Two approvals"
    assert cell(model, 0, Column.NODE) == "agent:triage"
    assert cell(model, 0, Column.OBSERVED) == "30 Jun 16:42"
    assert cell(model, 0, Column.CONFIDENCE) == "0.92"
    assert cell(model, 0, Column.SCORE) == "0.50"
    assert cell(model, 0, Column.NODE, Qt.ItemDataRole.ToolTipRole) == "team:acme/agent:triage"
    tip = cell(model, 0, Column.OBSERVED, Qt.ItemDataRole.ToolTipRole)
    assert "16:42:05 UTC+2" in tip
    assert "14:42:05 UTC" in tip


def heads(model: ItemModel) -> list[str]:
    return [model.headerData(column, Qt.Orientation.Horizontal) for column in (Column.OBSERVED, Column.SCORE)]


def on(day: int) -> Timestamp:
    return Timestamp(2026, 6, day, tzinfo=UTC)


def test_the_head_shows_the_order_that_the_rows_are_in(model: ItemModel) -> None:
    changed: list[int] = []
    model.headerDataChanged.connect(lambda way, first, last: changed.append(first))
    model.show_first(Page([hit("a", observed_at=on(3)), hit("b", observed_at=on(3)), hit("c", observed_at=on(2))], "1"))
    assert heads(model) == ["↓ Observed", "Score"]
    spoken = Qt.ItemDataRole.AccessibleTextRole
    assert model.headerData(Column.OBSERVED, Qt.Orientation.Horizontal, spoken) == "Observed, newest first"
    model.append(Page([hit("d")], "2"))
    assert heads(model) == ["↓ Observed", "Score"]  # what has no date comes last
    model.append(Page([hit("e", observed_at=on(1))], None))
    assert heads(model) == ["Observed", "Score"]
    assert len(changed) == 2
    model.show_first(Page([hit("a", observed_at=on(2)), hit("b", observed_at=on(3))], None))
    assert heads(model) == ["Observed", "Score"]
    model.show_first(Page([hit("a", observed_at=on(3))], None))
    assert heads(model) == ["Observed", "Score"]  # one row is in every order


def test_hits_are_in_the_order_of_their_scores(model: ItemModel) -> None:
    model.show_first(Page([hit("a", score=2.5, observed_at=on(3)), hit("b", score=1.5, observed_at=on(2))], None))
    assert heads(model) == ["Observed", "↓ Score"]
    model.show_first(Page([hit("a", score=1.0, observed_at=on(3)), hit("b", score=1.0, observed_at=on(2))], None))
    assert heads(model) == ["Observed", "Score"]


def test_a_row_without_a_date_says_so(model: ItemModel) -> None:
    model.show_first(Page(hits("a"), None))
    assert cell(model, 0, Column.OBSERVED) == "–"
    assert cell(model, 0, Column.OBSERVED, Qt.ItemDataRole.AccessibleTextRole) == "no date"


def test_a_row_says_all_of_itself(model: ItemModel) -> None:
    at = Timestamp(2026, 6, 30, 14, 42, tzinfo=UTC)
    model.show_first(Page([hit("a", "Two approvals", observed_at=at, confidence=0.92)], None))
    model.set_learning_kinds({ItemId("a"): LearningKind.CORRECTION, ItemId("gone"): LearningKind.FACT})
    said = cell(model, 0, Column.TEXT, Qt.ItemDataRole.AccessibleTextRole)
    assert said == "learning, correction, confidence 0.92, Two approvals, root, 30 Jun 2026, 14:42 UTC"


def test_stored_text_stays_text_in_cells_and_tooltips(model: ItemModel) -> None:
    evil = '<img src="http://127.0.0.1:1/p.png"><b>Erase done</b>'
    model.show_first(Page([hit("a", evil)], None))
    assert cell(model, 0, Column.TEXT) == evil
    tip = cell(model, 0, Column.TEXT, Qt.ItemDataRole.ToolTipRole)
    assert "<img" not in tip
    assert "&lt;img" in tip


def test_odd_characters_are_drawn_and_long_texts_cut_before_qt_has_them(model: ItemModel) -> None:
    model.show_first(Page([hit("a", "before\0after\x1b[31m\u202eevil"), hit("b", "x" * 5_000_000)], None))
    assert cell(model, 0, Column.TEXT) == "before⟦NUL⟧after⟦ESC⟧[31m⟦RLO⟧evil"
    assert len(cell(model, 1, Column.TEXT)) == 300
    assert len(cell(model, 1, Column.TEXT, Qt.ItemDataRole.ToolTipRole)) < 1_000


@pytest.mark.parametrize(
    ("one", "title", "rest"),
    [
        (hit("a", "# Refund policy\n\nCustomers may", ItemKind.DOCUMENT), "Refund policy", "Customers may"),
        (hit("a", "# One\n\n# One\n\ntext", ItemKind.DOCUMENT), "One", "text"),
        (hit("a", "# One\n\n## ONE ##\ntext", ItemKind.DOCUMENT), "One", "text"),
        (hit("a", "# One\n\n# One", ItemKind.DOCUMENT), "One", ""),
        (hit("a", "# One\n\n## Two\n**Fixed:** it\n> **P** said", ItemKind.DOCUMENT), "One", "Two Fixed: it P said"),
        (
            hit("a", "# One\n\n| | Day |\n| --- | ---: |\n| Nights | 31 |", ItemKind.DOCUMENT, file_path="/a/b.md"),
            "One",
            "Day Nights · 31",
        ),
        (
            hit("a", "# One\n\n# kept\nx = a**b | c", ItemKind.DOCUMENT, file_path="/a/b.py"),
            "One",
            "# kept x = a**b | c",
        ),
        (hit("a", "# a.py\n\n# -*- coding", ItemKind.DOCUMENT), "a.py", "# -*- coding"),
        (hit("a", "no title\nhere", ItemKind.DOCUMENT, file_path="/srv/a.md"), "/srv/a.md", "no title here"),
        (hit("a", "no title", ItemKind.DOCUMENT), "", "no title"),
        (hit("a", "user: Hi,\nthere\nassistant: Yes", ItemKind.CONVERSATION), "", "Hi, there"),
        (hit("a", "system: be kind\nuser: Hi\nuser: two", ItemKind.CONVERSATION), "", "Hi"),
        (hit("a", "assistant: Hello\ntool: {}", ItemKind.CONVERSATION), "", "Hello"),
        (hit("a", "one\r\n\ttwo  three"), "", "one two three"),
        (hit("a", "user: a learning"), "", "user: a learning"),
        (hit("a", "\n \n" * 1_000 + "after much that is blank"), "", "after much that is blank"),
    ],
)
def test_one_line_for_each_kind(model: ItemModel, one: Hit, title: str, rest: str) -> None:
    model.show_first(Page([one], None))
    parts = model.headline(0)
    assert (parts.title, parts.rest) == (title, rest)


def test_small_scores_have_a_digit_more(model: ItemModel) -> None:
    def scored(*scores: float) -> list[str]:
        hits = [hit(str(at)).model_copy(update={"score": score}) for at, score in enumerate(scores)]
        model.show_first(Page(hits, None))
        return [model.data(model.index(row, Column.SCORE)) for row in range(len(scores))]

    assert scored(0.9123, 0.0141) == ["0.91", "0.01"]
    assert scored(0.0149, 0.0141) == ["0.015", "0.014"]
    assert scored(0.0) == ["0.00"]
