"""Nodes, segments and reaches, besides what the vectors pin."""

from __future__ import annotations

import itertools

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import InvalidRequest, MemoryMeta, Namespace, Reach, Segment, SegmentKind, admitted_by
from explorer.contract.namespace import MAX_DEPTH, fnv1a_32
from tests.contract import strategies

ROOT = Namespace.ROOT


def node(text: str) -> Namespace:
    return Namespace.parse(text)


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("agent", "namespace segment `agent` must be written kind:id"),
        ("Root", "namespace segment `Root` must be written kind:id"),
        ("agent:a/", "namespace segment `` must be written kind:id"),
        ("robot:x", "`robot` is not a namespace segment kind"),
        ("workspace:x", "`workspace` is not a namespace segment kind"),
        ("Agent:x", "`Agent` is not a namespace segment kind"),
        (":x", "`` is not a namespace segment kind"),
        ("agent:a.b", "namespace id `a.b` must be 1 to 128 characters of A-Z, a-z, 0-9, `_` or `-`"),
        ("agent:a:b", "namespace id `a:b` must be 1 to 128 characters of A-Z, a-z, 0-9, `_` or `-`"),
        ("agent:", "namespace id `` must be 1 to 128 characters of A-Z, a-z, 0-9, `_` or `-`"),
        ("agent:é", "namespace id `é` must be 1 to 128 characters of A-Z, a-z, 0-9, `_` or `-`"),
        ("agent:a / agent:b", "namespace id `a ` must be 1 to 128 characters of A-Z, a-z, 0-9, `_` or `-`"),
        ("/".join(["ws:a"] * 9), "a namespace nests at most 8 deep"),
        # Each segment is looked at before the depth, from the left.
        ("/".join(["ws:a"] * 9) + "/robot:x/agent", "`robot` is not a namespace segment kind"),
    ],
)
def test_what_a_refusal_says(text: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        node(text)
    assert caught.value.text == said


def test_the_longest_id_has_128_characters() -> None:
    assert str(node("user:" + "a" * 128)) == "user:" + "a" * 128
    with pytest.raises(InvalidRequest):
        node("user:" + "a" * 129)
    with pytest.raises(InvalidRequest):
        Segment(SegmentKind.USER, "a\n")


def test_only_white_space_around_the_whole_is_set_aside() -> None:
    assert node("\u3000\t team:a/agent:b \n") == node("team:a/agent:b")
    assert node(" root ") == node("  ") == ROOT
    with pytest.raises(InvalidRequest):
        node("\x1fteam:a")  # `str.strip` would take it away


def test_a_node_and_its_neighbours() -> None:
    writer = node("team:acme/agent:writer")
    assert [str(above) for above in writer.ancestors_and_self()] == ["root", "team:acme", "team:acme/agent:writer"]
    assert writer.parent == node("team:acme")
    assert writer.last == Segment(SegmentKind.AGENT, "writer")
    assert (writer.depth, writer.is_root) == (2, False)
    assert (ROOT.parent, ROOT.last, ROOT.depth, ROOT.is_root, str(ROOT)) == (None, None, 0, True, "root")
    assert list(ROOT.ancestors_and_self()) == [ROOT]


def test_within_is_by_segment_not_by_text() -> None:
    assert node("agent:researcher").is_within(node("agent:researcher"))
    assert node("agent:researcher/agent:x").is_within(node("agent:researcher"))
    assert node("agent:researcher").is_within(ROOT)
    assert not node("agent:researchers").is_within(node("agent:researcher"))
    assert not ROOT.is_within(node("agent:researcher"))
    assert not node("user:a").is_within(node("agent:a"))


def test_a_child_below_the_deepest_node_is_refused() -> None:
    deepest = ROOT
    for _ in range(MAX_DEPTH):
        deepest = deepest.child(Segment(SegmentKind.AGENT, "a"))
    assert deepest.depth == MAX_DEPTH
    with pytest.raises(InvalidRequest, match="at most 8 deep"):
        deepest.child(Segment(SegmentKind.AGENT, "a"))


def test_nodes_for_any_host_id() -> None:
    assert str(Namespace.agent("writer")) == "agent:writer"
    assert str(Namespace.source("a.b")) == "source:a-b-108bf50c"
    assert str(Namespace.agent("")) == "agent:_"


@given(strategies.texts | st.text(max_size=200) | st.just("\ud800\udfff"))
@strategies.some_examples
def test_any_host_id_becomes_a_segment(raw: str) -> None:
    segment = Segment.sanitized(SegmentKind.SERVICE, raw)
    assert Segment.parse(str(segment)) == segment
    assert Segment.sanitized(SegmentKind.SERVICE, segment.id) == segment


def test_host_ids_that_look_alike_stay_apart() -> None:
    ids = [
        Segment.sanitized(SegmentKind.USER, raw).id
        for raw in ("a.b", "a b", "a-b", "A.b", " a.b", "x" * 129, "x" * 130)
    ]
    assert len(set(ids)) == len(ids)


def test_the_hash_of_nothing_and_of_one_letter() -> None:
    # From the FNV authors' own test suite.
    assert fnv1a_32(b"") == 0x811C9DC5
    assert fnv1a_32(b"a") == 0xE40C292C
    assert fnv1a_32(b"foobar") == 0xBF9CF968
    assert fnv1a_32([ord("é")]) != fnv1a_32("é".encode())


@given(strategies.namespaces, strategies.namespaces)
@strategies.some_examples
def test_nodes_sort_segment_by_segment(left: str, right: str) -> None:
    a, b = node(left), node(right)
    assert (a < b) + (b < a) + (a == b) == 1
    assert (a == b) == (str(a) == str(b))
    assert node(str(a)) == a
    assert MemoryMeta(namespace=a).model_dump().get("namespace", "root") == str(a)


def test_the_order_of_nodes() -> None:
    texts = ["agent:a", "root", "agent:a/agent:b", "agent:a-b", "user:a", "agent:B"]
    ordered = ["root", "agent:B", "agent:a", "agent:a/agent:b", "agent:a-b", "user:a"]
    assert [str(place) for place in sorted(map(node, texts))] == ordered


# --- reach


def test_constructors() -> None:
    at = node("agent:a")
    flags = [(reach.inherit, reach.descendants) for reach in (Reach.of(at), Reach.exact(at), Reach.subtree(at))]
    assert flags == [(True, False), (False, False), (False, True)]
    assert Reach() == Reach.of(ROOT)


def test_a_missing_reach_is_everything_but_sandboxes() -> None:
    for text in ("root", "agent:a", "ws:a/agent:b", "service:a", "ws:a/service:b/agent:c"):
        assert admitted_by(None, node(text)) is Reach.subtree(ROOT).admits(node(text)) is ("service" not in text)
    assert not admitted_by(Reach(), node("agent:a"))


def test_a_sandbox_is_open_from_inside() -> None:
    service, inside = node("ws:a/service:b"), node("ws:a/service:b/agent:c")
    assert Reach.of(inside).admits(service)
    assert Reach.subtree(service).admits(inside)
    assert Reach.subtree(inside).admits(inside)
    assert not Reach.subtree(service).admits(node("ws:a/service:b/service:c"))
    assert not Reach.of(node("ws:a")).admits(service)


def test_the_nodes_named() -> None:
    at = node("team:a/agent:b")
    assert Reach.of(at).nodes() == [ROOT, node("team:a"), at]
    assert Reach.subtree(at).nodes() == [at]


def test_at_the_deepest_node_there_is_nothing_below_to_widen() -> None:
    deepest = node("/".join(["agent:a"] * MAX_DEPTH))
    assert Reach.subtree(deepest).within(Reach.exact(deepest))
    parent = deepest.parent
    assert parent is not None
    assert not Reach.subtree(parent).within(Reach.exact(parent))


# Every node up to depth 3 over two segments, one of them a sandbox: enough for each rule to meet each other.
_NODES = [
    Namespace(tuple(Segment.parse(part) for part in path))
    for depth in range(4)
    for path in itertools.product(("agent:a", "service:s"), repeat=depth)
]
_REACHES = [
    Reach(at=at, inherit=inherit, descendants=descendants)
    for at in _NODES
    if at.depth < 3
    for inherit in (False, True)
    for descendants in (False, True)
]


def test_a_reach_within_another_admits_nothing_more() -> None:
    for inner, outer in itertools.product(_REACHES, repeat=2):
        widens = [place for place in _NODES if inner.admits(place) and not outer.admits(place)]
        assert not (inner.within(outer) and widens), (inner, outer, widens)


def test_every_reach_lies_within_itself() -> None:
    assert all(reach.within(reach) for reach in _REACHES)
