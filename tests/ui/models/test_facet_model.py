"""The rows of the facet tree."""

from __future__ import annotations

import pytest
from PySide6.QtCore import QModelIndex, QPersistentModelIndex, Qt
from PySide6.QtGui import QTextDocument

from explorer.contract import Facet, InvalidRequest, ItemKind, MetaFilter, Namespace, Reach
from explorer.ui.models.facet_model import CountRole, FacetModel, RowTypeRole
from explorer.ui.models.facet_rows import (
    Order,
    RowType,
    chosen_values,
    has_condition,
    narrowed,
    toggled,
    value_label,
)
from tests.fakes import page_of

TAGS = page_of(Facet.TAG, {"refunds": 9, "billing": 7, "vip": 2}, missing=4)


def labels(model: FacetModel, facet: Facet) -> list[str]:
    return [row.label for row in model.section(facet).rows if row.type is not RowType.FIND]


def counts(model: FacetModel, facet: Facet) -> dict[str, str]:
    head = model.facet_index(facet)
    rows = [model.index(at, 0, head) for at in range(model.rowCount(head))]
    return {row.data(): row.data(CountRole) for row in rows if row.data(CountRole) is not None}


def many(n: int, facet: Facet = Facet.TAG, more: int = 0) -> FacetModel:
    model = FacetModel()
    model.show_pages({facet: page_of(facet, {f"v{at:05}": n - at for at in range(n)}, more=more)})
    return model


def tip_of(index: QModelIndex) -> str:
    tooltip = QTextDocument()
    tooltip.setHtml(index.data(Qt.ItemDataRole.ToolTipRole))
    return tooltip.toPlainText()


def test_empty_model_has_a_head_per_facet(qtmodeltester):
    model = FacetModel()
    qtmodeltester.check(model)
    heads = [model.index(at, 0).data(Qt.ItemDataRole.UserRole) for at in range(model.rowCount())]
    assert sorted(heads) == sorted(map(str, Facet))
    assert model.rowCount(model.facet_index(Facet.TAG)) == 0


def test_other_values_in_as_many_rows_move_nothing():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS})
    moved: list[str] = []
    for signal in (model.rowsInserted, model.rowsRemoved, model.rowsMoved, model.layoutChanged):
        signal.connect(lambda *_: moved.append("rows"))
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"vip": 5, "legal": 3, "refunds": 2}, missing=1)})
    assert counts(model, Facet.TAG) == {"vip": "5", "legal": "3", "refunds": "2", "no value": "1"}
    assert moved == []


def test_a_row_that_is_held_on_to_stays_the_same_row():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS})
    held = QPersistentModelIndex(model.row_index(Facet.TAG, RowType.VALUE, "billing"))
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"vip": 5, "billing": 3, "legal": 2}, missing=1)})
    assert held.data() == "billing"
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"vip": 5, "legal": 2}, missing=1)})
    assert not held.isValid()


def test_filled_model_passes_qts_tester(qtmodeltester):
    model = many(60, more=12)
    model.show_pages({Facet.KIND: page_of(Facet.KIND, {"learning": 3})})
    qtmodeltester.check(model)
    model.set_find(Facet.TAG, "v0001")
    model.show_filter(MetaFilter(tags_any=["v00040", "gone"]))
    model.show_more(Facet.TAG)
    model.set_find(Facet.TAG, "")
    model.set_order(Order.NAME, Facet)
    model.show_pages({Facet.TAG: TAGS})
    model.clear()
    qtmodeltester.check(model)


def test_rows_hold_their_facet_and_their_value():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS})
    head = model.facet_index(Facet.TAG)
    rows = [model.index(at, 0, head) for at in range(model.rowCount(head))]
    assert head.data(Qt.ItemDataRole.UserRole) == "tag"
    assert [row.data(Qt.ItemDataRole.UserRole) for row in rows] == ["refunds", "billing", "vip", None]
    assert counts(model, Facet.TAG) == {"refunds": "9", "billing": "7", "vip": "2", "no value": "4"}
    assert rows[3].data(RowTypeRole) == RowType.MISSING


def test_words_of_a_head():
    model = FacetModel()
    assert model.summary(Facet.TAG) == ""
    model.show_filter(MetaFilter(tags_any=["a", ""]))
    assert model.summary(Facet.TAG) == "\u2068a\u2069 or \u2068(empty)\u2069", "closed, it says what is chosen"
    assert model.summary(Facet.TAG, is_open=True) == ""
    model.show_filter(MetaFilter())
    model.show_pages({Facet.TAG: TAGS, Facet.LANGUAGE: page_of(Facet.LANGUAGE, {"en": 1})})
    assert model.summary(Facet.TAG) == "3 values"
    assert model.summary(Facet.LANGUAGE) == "1 value"
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {f"t{at}": 1 for at in range(50)}, more=168)})
    assert model.summary(Facet.TAG) == "218 values"
    assert model.summary(Facet.TAG, is_open=True) == "8 of 218 values"
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"a": 3}, more=379, truncated=True)})
    assert model.summary(Facet.TAG, is_open=True) == "380+ values"


def test_truncated_counts_have_a_plus_and_say_where_counting_stopped():
    model = FacetModel()
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"a": 12}, missing=3, truncated=True, total=5_000)})
    assert counts(model, Facet.TAG) == {"a": "12+", "no value": "3+"}
    row = model.row_index(Facet.TAG, RowType.VALUE, "a")
    assert "stopped at 5\u202f000 items" in tip_of(row)
    assert "stopped at 5\u202f000 items" in tip_of(model.facet_index(Facet.TAG))
    assert row.data(Qt.ItemDataRole.AccessibleTextRole) == "tag a, 12+ items"


@pytest.mark.parametrize("facet", Facet)
def test_how_many_values_can_be_chosen_is_told_and_spoken(facet):
    model = FacetModel()
    model.show_pages({facet: page_of(facet, {"learning": 3} if facet is Facet.KIND else {"agent": 2})})
    head = model.facet_index(facet)
    is_several = facet in (Facet.KIND, Facet.SOURCE, Facet.TAG)
    spoken = "several can be chosen" if is_several else "one can be chosen"
    told = "Several values may be chosen" if is_several else "One value may be chosen"
    assert told in tip_of(head)
    assert spoken in head.data(Qt.ItemDataRole.AccessibleTextRole)
    row = model.index(0, 0, head)
    assert row.data(RowTypeRole) == RowType.VALUE
    assert row.data(Qt.ItemDataRole.AccessibleDescriptionRole) == spoken


def test_chosen_values_stand_on_top_even_at_zero():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS})
    model.show_filter(MetaFilter(tags_any=["vip", "gone"]))
    assert labels(model, Facet.TAG) == ["vip", "gone", "refunds", "billing", "no value"]
    assert counts(model, Facet.TAG)["gone"] == "0"
    gone = model.row_index(Facet.TAG, RowType.VALUE, "gone")
    assert gone.data(Qt.ItemDataRole.CheckStateRole) == Qt.CheckState.Checked
    assert gone.data(Qt.ItemDataRole.AccessibleTextRole) == "tag gone, 0 items, chosen"


def test_count_of_a_chosen_value_beyond_the_limit_is_asked_for_or_not_known():
    model = FacetModel()
    model.show_filter(MetaFilter(tags_any=["rare", "rarer"]))
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"a": 9}, more=300)}, {Facet.TAG: {"rare": 1}})
    assert counts(model, Facet.TAG) == {"rare": "1", "rarer": "–", "a": "9"}


def test_order_is_kept_where_it_is_held_and_found_on_settling():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS})
    held = {Facet.TAG}
    model.show_filter(MetaFilter(tags_any=["vip"]), held)
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"new": 30, "vip": 20, "refunds": 1})}, held=held)
    assert labels(model, Facet.TAG)[:3] == ["refunds", "billing", "vip"], "nothing moves, though one has no items now"
    assert counts(model, Facet.TAG)["billing"] == "0"
    model.settle()
    assert labels(model, Facet.TAG) == ["vip", "new", "refunds"]


def test_rows_keep_their_identity_through_sorting():
    model = many(20)
    model.show_more(Facet.TAG)
    kept = QPersistentModelIndex(model.row_index(Facet.TAG, RowType.VALUE, "v00015"))
    model.show_filter(MetaFilter(tags_any=["v00015"]))
    assert kept.row() == 1, "right below the find box"
    assert kept.data() == "v00015"
    model.set_find(Facet.TAG, "v00003")
    assert kept.isValid(), "a chosen value is seen whatever is looked for"
    assert labels(model, Facet.TAG)[:2] == ["v00015", "v00003"]


def test_by_name():
    model = FacetModel()
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"b": 9, "C": 5, "a": 1})})
    model.set_order(Order.NAME, Facet)
    assert labels(model, Facet.TAG) == ["a", "b", "C"]


@pytest.mark.parametrize(("values", "has_find"), [(8, False), (9, True)])
def test_find_box_from_nine_values_on(values, has_find):
    model = many(values)
    assert model.row_index(Facet.TAG, RowType.FIND).isValid() is has_find


def test_more_row_up_to_the_limit_and_what_it_says_then():
    model = many(50, more=168)
    assert labels(model, Facet.TAG)[-1] == "Show 210 more tags"
    model.show_more(Facet.TAG)
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {f"t{at:03}": 300 - at for at in range(218)})})
    assert labels(model, Facet.TAG)[-2:] == ["t217", "Show fewer tags"]
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {f"t{at:03}": 600 - at for at in range(500)}, more=1_200)})
    assert labels(model, Facet.TAG)[-2:] == ["500 shown, 1\u202f200 more", "Show fewer tags"]
    model.show_fewer(Facet.TAG)
    assert labels(model, Facet.TAG)[-1] == "Show 492 of 1\u202f692 more tags"
    assert len(labels(model, Facet.TAG)) == 9


def test_find_over_twenty_thousand_values_makes_no_row_per_value():
    model = many(20_000, Facet.FILE_PATH)
    model.show_more(Facet.FILE_PATH)
    head = model.facet_index(Facet.FILE_PATH)
    assert model.rowCount(head) <= 503
    model.set_find(Facet.FILE_PATH, "V0199")
    assert labels(model, Facet.FILE_PATH) == [f"v0199{at}" for at in range(10)]
    model.set_find(Facet.FILE_PATH, "v0")
    assert model.rowCount(head) <= 503
    model.set_find(Facet.FILE_PATH, "nowhere")
    assert labels(model, Facet.FILE_PATH) == ["No path contains “\u2068nowhere\u2069”"]


def test_a_chosen_value_that_is_found_is_no_failure_to_find():
    model = many(20)
    model.show_filter(MetaFilter(tags_any=["v00003", "gone"]))
    for found in ("00003", "go"):
        model.set_find(Facet.TAG, found)
        assert labels(model, Facet.TAG) == ["v00003", "gone"], found
    model.set_find(Facet.TAG, "nowhere")
    assert labels(model, Facet.TAG) == ["v00003", "gone", "No tag contains “\u2068nowhere\u2069”"]


def test_a_head_says_what_is_looked_for():
    model = many(61)
    model.set_find(Facet.TAG, "0001")
    assert model.summary(Facet.TAG) == "11 of 61 values, finding “\u20680001\u2069”"
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"9": 3})})
    assert model.summary(Facet.TAG) == "0 of 1 value, finding “\u20680001\u2069”"
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"0001": 3})})
    assert model.summary(Facet.TAG) == "1 value, finding “\u20680001\u2069”"
    model.set_find(Facet.TAG, "7")
    assert model.summary(Facet.TAG) == "0 of 1 value, finding “\u20687\u2069”"
    model.set_find(Facet.TAG, "0001")
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"0001": 3}, more=4, truncated=True)})
    assert model.summary(Facet.TAG) == "5+ values, finding “\u20680001\u2069”"
    model.set_find(Facet.TAG, "")
    assert model.summary(Facet.TAG) == "5+ values"


def test_a_facet_without_values_says_so_and_a_chosen_value_keeps_its_zero():
    model = FacetModel()
    model.show_filter(MetaFilter(tags_any=["gone"]))
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {}), Facet.URL: page_of(Facet.URL, {}, missing=3)})
    assert model.summary(Facet.TAG) == model.summary(Facet.URL) == "no values"
    assert counts(model, Facet.TAG) == {"gone": "0"}
    assert "no item has it under the other conditions" in tip_of(model.row_index(Facet.TAG, RowType.VALUE, "gone"))


def test_counts_of_before_are_said_to_be_that():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS})
    model.set_stale(Facet)
    assert model.section(Facet.TAG).is_stale
    assert "These are the counts of before." in tip_of(model.facet_index(Facet.TAG))
    assert model.summary(Facet.URL) == ""


def test_counts_under_another_filter_are_of_before_once_nothing_is_counted_any_more():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS, Facet.AGENT: page_of(Facet.AGENT, {"writer": 1})})
    model.show_filter(MetaFilter(agent_id="writer"))
    assert not model.section(Facet.TAG).is_stale, "the new ones mostly come in no time"
    model.set_counting([Facet.TAG, Facet.AGENT])
    model.end_counting()
    assert model.section(Facet.TAG).is_stale
    assert not model.section(Facet.AGENT).is_stale
    model.show_pages({Facet.TAG: TAGS})
    model.end_counting()
    assert not model.section(Facet.TAG).is_stale


def test_find_text_itself_can_be_the_value_where_not_all_are_held():
    model = many(50, more=168)
    model.set_find(Facet.TAG, "rare")
    assert [row.type for row in model.section(Facet.TAG).rows] == [RowType.FIND, RowType.NOTE, RowType.EXACT]
    model.set_find(Facet.TAG, "v00003")
    assert not model.row_index(Facet.TAG, RowType.EXACT, "exact").isValid()
    names = many(50, Facet.NAMESPACE, more=5)
    names.set_find(Facet.NAMESPACE, "no:node")
    assert not names.row_index(Facet.NAMESPACE, RowType.EXACT, "exact").isValid(), "no filter could ask for it"


def test_failed_count_keeps_the_old_one_and_says_so():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS})
    model.show_errors({Facet.TAG: InvalidRequest("no <b>tags</b> here")})
    assert counts(model, Facet.TAG)["refunds"] == "9"
    head = model.facet_index(Facet.TAG)
    assert tip_of(head).startswith("Could not be counted: no <b>tags</b> here")
    assert "could not be counted" in head.data(Qt.ItemDataRole.AccessibleTextRole)
    assert model.summary(Facet.TAG) == "3 values"
    model.show_errors({Facet.URL: InvalidRequest("never")})
    assert model.summary(Facet.URL) == "not counted"


HOSTILE = '<style>a{color:red}</style><a href="http://x.test">Erase done</a><img src="http://127.0.0.1:9/p.png">'


def test_stored_text_is_plain_in_label_and_tooltip():
    model = FacetModel()
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {HOSTILE: 1, "a<b": 1, "x\u202ey\0": 1, "two\nlines": 1})})
    row = model.row_index(Facet.TAG, RowType.VALUE, HOSTILE)
    assert row.data() == HOSTILE
    assert HOSTILE in tip_of(row)
    assert row.data(Qt.ItemDataRole.ToolTipRole).startswith("<p "), "else Qt would choose by what is stored"
    assert "<img" not in row.data(Qt.ItemDataRole.ToolTipRole)
    assert "a<b" in tip_of(model.row_index(Facet.TAG, RowType.VALUE, "a<b"))
    odd = model.row_index(Facet.TAG, RowType.VALUE, "x\u202ey\0")
    assert odd.data() == "x⟦RLO⟧y⟦NUL⟧"
    assert odd.data(Qt.ItemDataRole.UserRole) == "x\u202ey\0"
    assert model.row_index(Facet.TAG, RowType.VALUE, "two\nlines").data() == "two lines"


def test_tooltip_of_a_long_value_is_cut():
    model = FacetModel()
    long = "x" * 1_000_000
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {long: 1})})
    assert len(model.row_index(Facet.TAG, RowType.VALUE, long).data(Qt.ItemDataRole.ToolTipRole)) < 5_000


def test_prefix_facets_say_what_they_also_match():
    model = FacetModel()
    model.show_pages({Facet.FOLDER: page_of(Facet.FOLDER, {"/home/u/proj": 1}), Facet.TAG: TAGS})
    said = tip_of(model.row_index(Facet.FOLDER, RowType.VALUE, "/home/u/proj"))
    assert "/home/u/proj/" in said
    assert "not a neighbour such as \u2068/home/u/proj-old\u2069" in said
    assert "neighbour" not in tip_of(model.row_index(Facet.TAG, RowType.VALUE, "vip"))


def test_missing_row_says_why_it_cannot_be_chosen():
    model = FacetModel()
    model.show_pages({Facet.TAG: TAGS})
    missing = model.row_index(Facet.TAG, RowType.MISSING)
    assert tip_of(missing) == "4 items without a tag.\nA filter cannot ask for items without a value."
    assert missing.data(Qt.ItemDataRole.CheckStateRole) is None


def test_shares_are_of_the_largest_row_seen():
    model = FacetModel()
    model.show_pages({Facet.TAG: page_of(Facet.TAG, {"a": 5, "b": 2}, missing=10)})
    assert [row.share for row in model.section(Facet.TAG).rows] == [0.5, 0.2, 1.0]


@pytest.mark.parametrize(
    ("facet", "value", "label"),
    [
        (Facet.KIND, "conversation", "Conversation"),
        (Facet.SOURCE, "github", "GitHub"),
        (Facet.SOURCE, "rss", "RSS"),
        (Facet.TAG, "conversation", "conversation"),
        (Facet.WORKSPACE, "", "(empty)"),
        (Facet.WORKSPACE, " \u3000", "(empty)"),
    ],
)
def test_labels(facet, value, label):
    assert value_label(facet, value) == label


def test_toggling_adds_where_several_are_taken_and_sets_where_one_is():
    none = MetaFilter()
    one = toggled(Facet.TAG, none, "a")
    assert toggled(Facet.TAG, one, "b") == MetaFilter(tags_any=["a", "b"])
    assert toggled(Facet.TAG, one, "a") == none
    assert toggled(Facet.KIND, MetaFilter(kinds=[ItemKind.DOCUMENT]), "learning").kinds == [
        ItemKind.DOCUMENT,
        ItemKind.LEARNING,
    ]
    assert toggled(Facet.AGENT, MetaFilter(agent_id="a"), "b") == MetaFilter(agent_id="b")
    assert toggled(Facet.AGENT, MetaFilter(agent_id="a"), "a") == none
    assert toggled(Facet.TAG, one, " ") == MetaFilter(tags_any=["a", " "])


def test_blank_values_are_set_directly():
    assert narrowed(Facet.WORKSPACE, MetaFilter(), "") == MetaFilter(workspace="")
    assert narrowed(Facet.TAG, MetaFilter(tags_any=["a"]), " ") == MetaFilter(tags_any=[" "])
    assert chosen_values(Facet.WORKSPACE, MetaFilter(workspace="")) == [""]
    assert has_condition(Facet.WORKSPACE, MetaFilter(workspace=""))
    with pytest.raises(InvalidRequest):
        narrowed(Facet.NAMESPACE, MetaFilter(), "")


def test_a_namespace_is_chosen_only_where_it_is_asked_for_alone():
    at = Namespace.parse("team:acme")
    assert chosen_values(Facet.NAMESPACE, MetaFilter(reach=Reach.exact(at))) == ["team:acme"]
    assert chosen_values(Facet.NAMESPACE, MetaFilter(reach=Reach.subtree(at))) == []
    assert has_condition(Facet.NAMESPACE, MetaFilter(reach=Reach.subtree(at)))


def test_moving_hiding_and_pinning_pass_qts_tester(qtmodeltester):
    model = many(20)
    model.show_pages({Facet.FOLDER: page_of(Facet.FOLDER, {"/a": 2, "/a/b": 1}, missing=1)})
    model.set_tree(Facet.FOLDER, True)
    qtmodeltester.check(model)
    row = QPersistentModelIndex(model.row_index(Facet.FOLDER, RowType.NODE, "//a/b"))
    head = QPersistentModelIndex(model.facet_index(Facet.FOLDER))
    model.set_pinned(Facet.FOLDER, True)
    model.set_hidden(Facet.KIND, True)
    model.move(Facet.TAG, 1)
    model.set_hidden(Facet.KIND, False)
    assert model.facets[:4] == [Facet.FOLDER, Facet.KIND, Facet.SOURCE, Facet.TAG]
    assert (row.data(), row.parent(), head.row()) == ("b", head, 0)
    model.set_hidden(Facet.FOLDER, True)
    assert not row.isValid()
    assert model.section(Facet.FOLDER).page is None
    model.show_pages({Facet.FOLDER: TAGS})
    model.set_find(Facet.FOLDER, "x")
    qtmodeltester.check(model)


def test_a_place_is_changed_with_what_is_seen_only():
    model = FacetModel()
    model.set_hidden(Facet.TAG, True)
    model.move(Facet.KIND, 1)
    assert model.facets[:2] == [Facet.SOURCE, Facet.KIND], "one step is one row, whatever is hidden between"
    model.set_pinned(Facet.URL, True)
    assert not model.can_move(Facet.URL, 1), "a pinned one stays above the others"
    assert not model.can_move(Facet.SOURCE, -1)
    model.set_pinned(Facet.URL, False)
    assert model.facets[0] is Facet.URL
    assert model.can_move(Facet.URL, 1)


def test_a_tooltip_of_a_node_is_cut():
    model = FacetModel()
    model.show_pages({Facet.FOLDER: page_of(Facet.FOLDER, {"x" * 1_000_000: 1})})
    model.set_tree(Facet.FOLDER, True)
    row = model.row_index(Facet.FOLDER, RowType.NODE, "x" * 1_000_000)
    assert len(row.data(Qt.ItemDataRole.ToolTipRole)) < 10_000
    assert len(row.data()) < 400
    assert len(row.data(Qt.ItemDataRole.AccessibleTextRole)) < 500


def test_stored_text_is_plain_in_a_tree_too():
    model = FacetModel()
    model.show_pages({Facet.FOLDER: page_of(Facet.FOLDER, {"/<b>x\u202ey</b>": 1})})
    model.set_tree(Facet.FOLDER, True)
    rows = [row for row in model.section(Facet.FOLDER).rows if row.type is RowType.NODE]
    assert [row.label for row in rows] == ["/", "<b>x⟦RLO⟧y<", "b>"]
    assert "<b>" not in model.row_index(Facet.FOLDER, RowType.NODE, rows[1].value).data(Qt.ItemDataRole.ToolTipRole)
