"""Whatever a model passes and wherever its tools are placed: it reaches nothing but what its host allows."""

from __future__ import annotations

import asyncio
import json
import tempfile
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.contract import (
    InvalidRequest,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    SegmentKind,
)
from explorer.contract.reference import ReferenceEngine
from explorer.engines.sqlite import SqliteEngine
from explorer.tools import TOOL_NAMES, MemoryTools, ToolScope
from tests.contract.strategies import some_examples
from tests.fakes import learning

NODES = [
    *("root", "team:acme", "team:acme/agent:a", "team:acme/agent:a/agent:sub", "team:acme/agent:b"),
    *("team:acme/service:cron", "team:acme/service:cron/agent:a", "user:dana", "service:mail", "team:acm"),
]
nodes = st.sampled_from(NODES).map(Namespace.parse) | st.lists(
    st.sampled_from([f"{kind.prefix}:a" for kind in SegmentKind]), max_size=4
).map(lambda parts: Namespace.parse("/".join(parts)))
reaches = st.none() | st.builds(
    lambda at, inherit, descendants: Reach(at=at, inherit=inherit, descendants=descendants),
    nodes,
    st.booleans(),
    st.booleans(),
)
scopes = st.builds(ToolScope, nodes, reaches) | nodes.map(ToolScope.at)

# --- arguments

leaves = st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5)
known_keys = st.sampled_from(
    ["filter", "ids", "question", "query", "learning", "conversation", "turns", "text", "limit"]
)
keys = known_keys | st.text(max_size=5)
trees = st.recursive(
    leaves, lambda inner: st.lists(inner, max_size=3) | st.dictionaries(keys, inner, max_size=3), max_leaves=12
)


def containers(tree: Any) -> Iterator[Any]:
    if isinstance(tree, (dict, list)):
        yield tree
        for part in list(tree.values() if isinstance(tree, dict) else tree):
            yield from containers(part)


@st.composite
def planted(draw: st.DrawFn) -> dict[str, Any]:
    """A random object with a key that the host fixes somewhere in it."""
    tree = draw(st.dictionaries(keys, trees, max_size=4))
    place = draw(st.sampled_from(list(containers(tree))))
    key, value = draw(st.sampled_from(["namespace", "reach"])), draw(trees)
    if isinstance(place, dict):
        place[key] = value
    else:
        place.insert(draw(st.integers(0, len(place))), {key: value})
    return tree


def called(name: str, arguments: Any) -> str:
    """The result of a call over an engine that never waits for anything, so that no event loop is needed."""
    with pytest.raises(StopIteration) as stopped:
        MemoryTools.new(ReferenceEngine()).call(name, arguments).send(None)
    return str(stopped.value.value)


@given(st.sampled_from(TOOL_NAMES), planted())
@some_examples
def test_no_key_that_the_host_fixes_is_ever_let_through(name, arguments):
    with pytest.raises(InvalidRequest, match=f"(?s){name}: `.*(namespace|reach)` is fixed by the host"):
        called(name, arguments)


@given(st.sampled_from(TOOL_NAMES), st.dictionaries(keys, trees, max_size=4) | trees)
@some_examples
def test_any_other_arguments_run_or_are_an_invalid_request(name, arguments):
    result, refusal = "{}", f"{name}: "
    try:
        result = called(name, arguments)
    except InvalidRequest as error:
        refusal = error.text
    assert isinstance(json.loads(result), dict)
    assert refusal.startswith((f"{name}: ", "unknown cursor"))


# --- what comes out, and what goes


def stored(at: Namespace, number: int) -> Any:
    """An item that tells in each field that a result may show where it lies."""
    mark = f"<{at}>"
    return learning(
        f"tea {number} {mark}", str(at), tags=[mark, "tea"], thread_id=mark, url=mark, file_path=mark, workspace=mark
    )


async def everything(engine: MemoryEngine) -> dict[str, Namespace]:
    """Every item's node by its id, sandboxes included."""
    found = {}
    for at in [bucket.value for bucket in (await engine.namespaces(MetaFilter())).buckets]:
        page = await engine.list(ListRequest(filter=MetaFilter(reach=Reach.exact(Namespace.parse(at))), limit=500))
        found.update({str(hit.id): hit.meta.namespace for hit in page.items})
    return found


async def check_confined(engine: MemoryEngine, scope: ToolScope, placed: list[Namespace], data: st.DataObject) -> None:
    for number, at in enumerate(placed):
        await engine.store(stored(at, number))
    before = await everything(engine)
    hidden = {at for at in placed if not scope.admits(at)}
    tools = MemoryTools.with_scope(engine, scope)

    ids = data.draw(st.lists(st.sampled_from(list(before)), min_size=1), label="ids")
    tag = data.draw(st.sampled_from([f"<{at}>" for at in placed]), label="tag")
    filters: Any = data.draw(st.sampled_from([None, {"tags_any": [tag]}, {"tags_any": ["tea"]}]), label="filter")
    calls: list[tuple[str, dict[str, Any]]] = [
        ("memory_recall", {"question": "tea?", "filter": filters, "limit": 50}),
        ("memory_fetch", {"query": f"tea {tag}", "mode": "keyword", "filter": filters, "limit": 50}),
        ("memory_list", {"filter": filters, "limit": 50}),
        ("memory_get", {"ids": ids}),
        *(("memory_explore", {"facet": facet, "filter": filters, "limit": 50}) for facet in ("tag", "thread", "url")),
    ]
    for name, arguments in calls:
        result = await tools.call(name, arguments)
        for at in hidden:
            assert f"<{at}>" not in result
        assert '"namespace"' not in result
    listed = json.loads(await tools.call("memory_list", {"limit": 50}))["items"]
    assert {hit["id"] for hit in listed} == {id for id, at in before.items() if scope.admits(at)}

    forget: dict[str, Any] = (
        {"ids": ids} if data.draw(st.booleans(), label="by ids") else {"filter": {"tags_any": ["tea"]}}
    )
    report = json.loads(await tools.call("memory_forget", forget))
    after = await everything(engine)
    gone = {id: at for id, at in before.items() if id not in after}
    assert all(scope.admits(at) for at in gone.values())
    assert report["forgotten"] == len(gone)
    if "ids" in forget:
        reachable = {id for id in ids if scope.admits(before[id])}
        assert (set(gone), report["skipped"]) == (
            reachable,
            [id for id in dict.fromkeys(ids) if id not in reachable],
        )
    else:
        assert set(gone) == {id for id, at in before.items() if scope.admits(at)}

    new = json.loads(await tools.call("memory_store", {"learning": {"text": "new"}}))
    assert (await everything(engine))[new["id"]] == scope.place


@given(scopes, st.lists(nodes, min_size=1, max_size=12), st.data())
@some_examples
def test_nothing_outside_the_reach_is_read_or_forgotten(scope, placed, data):
    asyncio.run(check_confined(ReferenceEngine(), scope, placed, data))


@given(scopes, st.lists(nodes, min_size=1, max_size=8), st.data())
@settings(deadline=None, max_examples=15)
def test_nothing_outside_the_reach_is_read_or_forgotten_in_the_embedded_engine(scope, placed, data):
    async def check(path: Path) -> None:
        engine = SqliteEngine(path, embedder=None)
        try:
            await check_confined(engine, scope, placed, data)
        finally:
            await engine.aclose()

    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(check(Path(folder) / "m.db"))
