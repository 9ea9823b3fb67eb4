from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import ConfigError, InvalidRequest, ItemKind, Namespace, Reach
from explorer.engines.cortex.scopes import Layout, Scope, checked_root
from tests.contract import strategies
from tests.engines.cortex.vectors import BUILT_IN, VECTORS

LAYOUTS = {
    "legacy": Layout(),
    "v3_root_org_42": Layout("org:42"),
    "v3_root_org_42_direct": Layout("org:42"),
    "v3_root_org_42_hosted": Layout("org:42", hosted=True),
    "tenant_root": Layout("", hosted=True),
    "tenant_root_hosted": Layout("", hosted=True),
}


@pytest.mark.parametrize("vector", VECTORS["scopes"], ids=lambda vector: f"{vector['namespace']} {vector['kind']}")
def test_where_items_are_kept(vector: dict[str, Any]) -> None:
    namespace, kind = Namespace.parse(vector["namespace"]), ItemKind(vector["kind"])
    for name in ("legacy", "v3_root_org_42", "tenant_root"):
        layout = LAYOUTS[name]
        assert layout.path(namespace, kind) == vector[name]
        assert layout.parse(vector[name]) == Scope(vector[name], namespace, kind)


@pytest.mark.parametrize("vector", VECTORS["parse_scope"], ids=lambda vector: vector["path"])
def test_what_a_path_is(vector: dict[str, Any]) -> None:
    for name, wanted in vector.items():
        if name == "path":
            continue
        scope = LAYOUTS[name].parse(vector["path"])
        found = None if scope is None else {"namespace": str(scope.namespace), "kind": scope.kind.value}
        assert found == wanted, name


@pytest.mark.parametrize("vector", VECTORS["scope_roots"], ids=lambda vector: repr(vector["scope_root"]))
def test_what_a_root_is(vector: dict[str, Any]) -> None:
    if "error" in vector:
        assert vector["error"] == "Config"
        with pytest.raises(ConfigError, match="scope root"):
            checked_root(vector["scope_root"])
    else:
        assert checked_root(vector["scope_root"]) == vector["used"]


@pytest.mark.parametrize("vector", VECTORS["node_prefixes"], ids=lambda vector: vector["namespace"])
def test_what_is_listed_for_a_node_of_each_layout(vector: dict[str, Any]) -> None:
    node = Namespace.parse(vector["namespace"])
    assert {name: LAYOUTS[name].prefixes(node) for name in vector if name != "namespace"} == {
        name: prefixes for name, prefixes in vector.items() if name != "namespace"
    }


def test_every_group_of_the_vectors_is_read_by_a_test() -> None:
    tests = "".join(path.read_text("utf-8") for path in Path(__file__).parent.glob("test_*.py"))
    groups = {name for name, value in VECTORS.items() if isinstance(value, list)}
    assert groups == {name for name in groups if f'VECTORS["{name}"]' in tests}
    assert set(BUILT_IN) == groups


@pytest.mark.parametrize(
    ("layout", "path", "sent"),
    [
        (Layout(), "org:7/app:tinymemory/app:learnings", "org:7/app:tinymemory/app:learnings"),
        (Layout(hosted=True), "org:7/app:tinymemory/app:learnings", "app:tinymemory/app:learnings"),
        (Layout("org:42", hosted=True), "org:7/org:42/app:learnings", "org:42/app:learnings"),
        (Layout("", hosted=True), "org:7/app:brain/source:x", "app:brain/source:x"),
    ],
)
def test_a_tenants_prefix_is_not_sent_back(layout: Layout, path: str, sent: str) -> None:
    scope = layout.parse(path)
    assert scope is not None
    assert scope.path == sent


@pytest.mark.parametrize(
    "path",
    [
        "",
        "/",
        "app:tinymemory",
        "app:tinymemory/root/app:learnings",
        "app:tinymemory/ /app:learnings",
        "app:tinymemory//app:learnings",
        "app:tinymemory/app:learnings/",
        "app:tinymemory/" + "agent:a/" * 9 + "app:learnings",
        "app:learnings/",
        "org:42/app:notes",
        "org:42/app:brain/app:brain/source:x",
        "org:42/app:flows/app:learnings",
    ],
)
def test_paths_of_no_layout(path: str) -> None:
    assert [name for name, layout in LAYOUTS.items() if layout.parse(path) is not None] == []


layouts = st.sampled_from(
    [Layout(hosted=hosted) for hosted in (False, True)]
    + [Layout(root, hosted=hosted) for root in ("org:42", "team:a", "team:a/agent:b") for hosted in (False, True)]
    + [Layout("", hosted=True)]
)
near = st.lists(st.sampled_from(["team:a", "agent:b", "source:s", "service:j", "ws:a"]), max_size=6).map(
    lambda parts: "/".join(parts) or "root"
)


@strategies.many_examples
@given(layouts, strategies.namespaces | near, st.sampled_from(list(ItemKind)), st.sampled_from(["", "org:9/"]))
def test_a_path_reads_back(layout: Layout, node: str, kind: ItemKind, prefix: str) -> None:
    namespace = Namespace.parse(node)
    try:
        layout.refuse(namespace)
    except InvalidRequest:
        assert layout.root is not None
        assert layout.root.split("/")[0] in node.split("/")
        return
    path = layout.path(namespace, kind)
    assert layout.parse(path) == Scope(path, namespace, kind)
    if layout.hosted:
        assert layout.parse(prefix + path) == Scope(path, namespace, kind)


@strategies.many_examples
@given(layouts, near, near, st.sampled_from(list(ItemKind)))
def test_prefixes_hold_all_that_is_below(layout: Layout, at: str, below: str, kind: ItemKind) -> None:
    above, namespace = Namespace.parse(at), Namespace.parse(below)
    path = layout.path(namespace, kind)
    prefixes = layout.prefixes(above)
    is_below = any(not prefix or f"{path}/".startswith(f"{prefix}/") for prefix in prefixes)
    if Reach.subtree(above).admits(namespace):
        assert is_below
    elif is_below:
        assert namespace.is_within(above)  # a sandbox, which is left out after listing


@pytest.mark.parametrize(
    ("root", "node", "prefixes"),
    [
        (None, "root", ["app:tinymemory"]),
        (None, "team:a/source:s", ["app:tinymemory/team:a/source:s"]),
        ("org:42", "root", ["org:42"]),
        ("", "root", [""]),
        ("org:42", "ws:m/service:j", ["org:42/ws:m/app:flows/service:j"]),
        ("org:42", "ws:m/source:s", ["org:42/ws:m/source:s", "org:42/ws:m/app:brain/source:s"]),
        ("", "service:j/source:s", ["app:flows/service:j/source:s", "app:flows/service:j/app:brain/source:s"]),
    ],
)
def test_what_is_listed_for_a_node(root: str | None, node: str, prefixes: list[str]) -> None:
    assert Layout(root, hosted=root == "").prefixes(Namespace.parse(node)) == prefixes


def test_the_order_of_scopes() -> None:
    nodes = ["root", "agent:b", "agent:b/user:x", "team:a", "user:a", "ws:a", "source:a", "service:a"]
    wanted = [
        Scope(Layout().path(Namespace.parse(n), kind), Namespace.parse(n), kind) for kind in ItemKind for n in nodes
    ]
    assert sorted(reversed(wanted)) == wanted
    twice = [Scope(path, Namespace.ROOT, ItemKind.LEARNING) for path in ("a", "b")]
    assert sorted(reversed(twice)) == twice


def test_a_node_that_repeats_the_root_is_refused() -> None:
    node = Namespace.parse("team:a/agent:b/user:c")
    with pytest.raises(InvalidRequest, match=r"`team:a/agent:b/user:c` repeats the scope root `team:a/agent:b`"):
        Layout("team:a/agent:b").refuse(node)
    Layout("agent:b").refuse(node)
    with pytest.raises(InvalidRequest):
        Layout("agent:b", hosted=True).refuse(node)
    Layout().refuse(node)
    Layout("", hosted=True).refuse(node)


@pytest.mark.parametrize(
    ("text", "root"), [(" org:42 ", "org:42"), ("/org:42/dept:a-b_C/", "org:42/dept:a-b_C"), ("app:x", "app:x")]
)
def test_roots(text: str, root: str) -> None:
    assert checked_root(text) == root


@pytest.mark.parametrize(
    "text",
    ["", " ", "/", "org", "org:", ":42", "org:4 2", "tenant:42", "Org:42", "org:é", "org:a:b"]
    + [f"org:42/{rest}" for rest in ("/team:a", "app:tinymemory", "\nx:y", "x")],
)
def test_roots_that_are_none(text: str) -> None:
    with pytest.raises(ConfigError, match="scope root"):
        checked_root(text)
