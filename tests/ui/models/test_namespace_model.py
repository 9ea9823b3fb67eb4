"""The rows of the namespace tree."""

from __future__ import annotations

from PySide6.QtCore import QPersistentModelIndex, Qt
from PySide6.QtGui import QTextDocument

from explorer.contract import ExplorePage, Facet, Namespace
from explorer.ui.models.namespace_model import Column, NamespaceModel, NodeRole
from tests.fakes import page_of


def page(counts: dict[str, int], **more: int | bool) -> ExplorePage:
    return page_of(Facet.NAMESPACE, counts, **more)


def model_of(counts: dict[str, int], *known: str, **more: int | bool) -> NamespaceModel:
    model = NamespaceModel()
    model.show_counts(page(counts, **more), known)
    return model


def rows(model: NamespaceModel) -> dict[str, tuple[str, str]]:
    """Here and All of every node, from top to bottom."""
    return {
        str(name): (model.index_of(name, Column.HERE).data(), model.index_of(name, Column.ALL).data())
        for name in model.names()
    }


def tip_of(model: NamespaceModel, path: str) -> str:
    tooltip = QTextDocument()
    tooltip.setHtml(model.index_of(Namespace.parse(path)).data(Qt.ItemDataRole.ToolTipRole))
    return tooltip.toPlainText()


def test_empty_model_is_the_root(qtmodeltester):
    model = NamespaceModel()
    qtmodeltester.check(model)
    assert model.names() == [Namespace.ROOT]
    assert rows(model) == {"root": ("", "")}


def test_filled_model_passes_qts_tester(qtmodeltester):
    model = model_of({"team:a/agent:b": 3, "team:a": 1, "user:x": 2, "service:s/agent:z": 4})
    qtmodeltester.check(model)
    model.show_counts(page({"team:a/agent:b": 1, "team:a/agent:c/user:d": 2, "team:0": 3}), ["user:y"])
    model.set_chosen(Namespace.parse("team:0"))
    model.show_counts(page({}), [])
    qtmodeltester.check(model)
    model.show_counts(page({"team:a": 1, "user:b": 1}), [])
    model.clear()
    qtmodeltester.check(model)


def test_here_and_all():
    model = model_of({"root": 2, "team:acme": 3, "team:acme/agent:triage": 5, "user:dana": 1})
    assert rows(model) == {
        "root": ("2", "11"),
        "team:acme": ("3", "8"),
        "team:acme/agent:triage": ("5", "5"),
        "user:dana": ("1", "1"),
    }


def test_a_node_on_the_way_has_a_row_without_items():
    assert rows(model_of({"team:a/agent:b/user:c": 2})) == {
        "root": ("0", "2"),
        "team:a": ("0", "2"),
        "team:a/agent:b": ("0", "2"),
        "team:a/agent:b/user:c": ("2", "2"),
    }


def test_a_node_can_hold_items_and_children():
    model = model_of({"team:a": 4, "team:a/agent:b": 3})
    assert rows(model)["team:a"] == ("4", "7")
    assert "4 items here, 7 with everything below" in tip_of(model, "team:a")


def test_a_sandbox_is_not_counted_by_what_is_above_but_within_itself():
    model = model_of({"team:a": 1, "team:a/service:s": 10, "team:a/service:s/agent:x": 5})
    assert rows(model) == {
        "root": ("0", "1"),
        "team:a": ("1", "1"),
        "team:a/service:s": ("10", "sandbox"),
        "team:a/service:s/agent:x": ("5", "5"),
    }
    assert "10 items here, 15 with everything below" in tip_of(model, "team:a/service:s")
    assert "A sandbox" in tip_of(model, "team:a/service:s")
    spoken = model.index_of(Namespace.parse("team:a/service:s")).data(Qt.ItemDataRole.AccessibleTextRole)
    assert spoken == "team:a/service:s, sandbox, 10 items here, 15 with everything below"


def test_a_sandbox_in_a_sandbox_is_one_again():
    model = model_of({"service:s": 1, "service:s/service:t": 2})
    assert model.node(Namespace.parse("service:s")).all == 1


def test_nodes_sort_by_segments_not_by_joined_text():  # "-" comes before "/"
    model = model_of({"team:A-1": 1, "team:A/agent:1": 1, "team:A": 1})
    assert [str(name) for name in model.names()] == ["root", "team:A", "team:A/agent:1", "team:A-1"]
    assert model.index_of(Namespace.parse("team:A/agent:1")).parent().data() == "team:A"


def test_a_label_comes_from_the_segment_itself():
    model = model_of({"team:2016/agent:01/user:2016": 1, "team:Develop/agent:el": 1})
    assert model.index_of(Namespace.parse("team:2016/agent:01")).data() == "agent:01"
    assert model.index_of(Namespace.parse("team:2016/agent:01/user:2016")).data() == "user:2016"
    assert model.index_of(Namespace.parse("team:Develop/agent:el")).data() == "agent:el"
    assert model.node(Namespace.parse("team:2016/agent:01")).id == "01"


def test_roles():
    model = model_of({"ws:desk": 1})
    at = Namespace.parse("ws:desk")
    index = model.index_of(at)
    assert index.data() == "ws:desk"
    assert model.node(at).icon == "workspace"
    assert index.data(Qt.ItemDataRole.UserRole) == "ws:desk"
    assert model.index_of(at, Column.ALL).data(Qt.ItemDataRole.UserRole) == "ws:desk"
    assert index.data(NodeRole) is model.node(at)
    assert model.index_of(Namespace.ROOT).data(Qt.ItemDataRole.UserRole) == "root"
    assert [model.headerData(at, Qt.Orientation.Horizontal) for at in Column] == ["Node", "Here", "All"]


def test_truncated_counts_have_a_plus():
    model = model_of({"team:a": 12}, "user:x", truncated=True, total=12)
    assert rows(model)["team:a"] == ("12+", "12+")
    assert rows(model)["user:x"] == ("0+", "0+")
    assert "Counting stopped at 12 items" in tip_of(model, "team:a")


def test_rows_are_updated_in_place():
    model = model_of({"team:b": 1, "team:d/agent:x": 1})
    resets, kept = [], QPersistentModelIndex(model.index_of(Namespace.parse("team:d/agent:x")))
    model.modelReset.connect(lambda: resets.append(True))
    model.show_counts(page({"team:a": 1, "team:c": 2, "team:d/agent:x": 7, "team:d/agent:a": 3}), [])
    assert resets == []
    assert (kept.data(), kept.row()) == ("agent:x", 1)
    assert [str(name) for name in model.names()] == [
        "root",
        "team:a",
        "team:c",
        "team:d",
        "team:d/agent:a",
        "team:d/agent:x",
    ]


def test_known_nodes_stay_without_items():
    model = model_of({"team:a": 1}, "team:a", "user:x")
    assert rows(model)["user:x"] == ("0", "0")


def test_what_is_no_namespace_is_left_out():
    assert list(rows(model_of({"no such kind:x": 3, "team:a": 1}))) == ["root", "team:a"]


def test_ten_thousand_siblings():
    counts = {f"user:u{at:05}": 1 for at in range(10_000)}
    model = model_of(counts)
    assert model.node(Namespace.ROOT).all == 10_000
    last = model.index_of(Namespace.parse("user:u09999"))
    assert last.row() == 9_999
    model.show_counts(page(counts | {"user:a": 1}), [])
    assert model.index_of(Namespace.parse("user:u09999")).row() == 10_000
