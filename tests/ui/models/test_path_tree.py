"""Paths as a tree."""

from __future__ import annotations

import pytest

from explorer.contract import is_path_prefix
from explorer.ui.models.path_tree import DEEPEST, PathNode, path_tree, segments_of

PATHS = {"/a": 2, "/a/b": 3, "/ab": 5, "//a//b": 7, "rel": 11, "rel/x": 13, "/": 17, "": 19, "/a/": 23, "/a-1/z": 29}


def nodes_of(counts: dict[str, int]) -> dict[str, PathNode]:
    return {node.key: node for top in path_tree(counts).values() for node in top.walk()}


@pytest.mark.parametrize(
    ("value", "segments"),
    [
        ("/a/b", ("/", "a", "b")),
        ("//a//b", ("/", "", "a", "", "b")),
        ("a/b", ("a", "b")),
        ("a/", ("a", "")),
        ("/", ("/",)),
        ("", ("",)),
        ("C:\\x", ("C:\\x",)),
    ],
)
def test_a_node_per_segment(value, segments):
    assert segments_of(value) == segments


def test_what_is_here_adds_up_to_all_items():
    nodes = nodes_of(PATHS)
    assert sum(node.here or 0 for node in nodes.values()) == sum(PATHS.values())
    assert sum(node.below for node in nodes.values() if node.depth == 0) == sum(PATHS.values())


def test_a_path_holds_items_and_paths():
    node = nodes_of(PATHS)["//a"]
    assert (node.path, node.here, node.below, sorted(node.nodes)) == ("/a", 2, 28, ["", "b"])


def test_neighbours_with_the_same_beginning_are_no_children():
    root = path_tree({"A": 1, "A-1": 2, "A/1": 4})
    assert {segment: node.below for segment, node in root.items()} == {"A": 5, "A-1": 2}


def test_counts_with_below_are_those_of_the_filter():
    for node in nodes_of(PATHS).values():
        if node.can_be_asked_for and node.path != "/":
            assert node.below == sum(n for value, n in PATHS.items() if is_path_prefix(node.path, value)), node.path


def test_an_empty_last_segment_cannot_be_asked_for():
    nodes = nodes_of({"//a//b": 1})
    assert [node.can_be_asked_for for node in sorted(nodes.values(), key=lambda node: node.depth)] == [
        True,
        False,
        True,
        False,
        True,
    ]
    assert is_path_prefix("//a/", "//a"), "why: the slash at the end says nothing"


def test_paths_of_any_depth_stay_small():
    for value in ("/" * 1_000_000, "/" + "/".join(["x"] * 500_000)):
        nodes = list(path_tree({value: 1})["/"].walk())
        assert len(nodes) == DEEPEST + 2
        assert nodes[-1].path == value
