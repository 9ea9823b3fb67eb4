"""What a plan lists is what goes, and nothing else: random trees, items and targets, on the program's own engines."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    EraseRequest,
    Facet,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    SourceKind,
    SourceRef,
    StoreItem,
    ToolCallRef,
    Turn,
)
from explorer.contract.namespace import EVERYTHING
from explorer.contract.reference import ReferenceEngine
from explorer.engines.sqlite.engine import SqliteEngine
from explorer.removal.journal import Journal
from explorer.removal.plan import Action, Target
from tests.removal.made import counted, done, named
from tests.removal.written import everything

NODES = [
    Namespace.parse(node)
    for node in (
        *("root", "team:a", "team:a/agent:x", "team:a/agent:x/user:u", "team:a-b", "user:u"),
        *("service:s", "service:s/team:a", "team:a/service:s", "team:a/service:s/agent:x"),
        *("team:a/service:s/service:t", "team:a/service:s/service:t/user:u", "agent:x/service:s"),
    )
]
PATHS = ["/", "/a", "/a/b", "/ab", "/a b", "a", "a/", ""]
NAMES = ["x", "X", "x y", "日"]
TIMES = [datetime(2026, month, 1, tzinfo=UTC) for month in (1, 2, 3)]

WAYS = ["ids", "filter", "value", "at", "below", "kinds"]

nodes = st.sampled_from(NODES)
names = st.none() | st.sampled_from(NAMES)
paths = st.none() | st.sampled_from(PATHS)
some_kinds = st.lists(st.sampled_from(list(ItemKind)), max_size=3)

metas = st.builds(
    MemoryMeta,
    namespace=nodes,
    workspace=names,
    folder=paths,
    file_path=paths,
    thread_id=names,
    agent_id=names,
    tool_call=st.none() | st.builds(ToolCallRef, name=st.sampled_from(NAMES)),
    source=st.builds(SourceRef, kind=st.sampled_from(list(SourceKind)[:3]), id=names),
    tags=st.lists(st.sampled_from(NAMES), max_size=2),
    observed_at=st.none() | st.sampled_from(TIMES),
)


def _item(kind: ItemKind, text: str, meta: MemoryMeta) -> StoreItem:
    match kind:
        case ItemKind.DOCUMENT:
            return Document(body=DocumentBody(text=text), meta=meta)
        case ItemKind.CONVERSATION:
            return Conversation(turns=[Turn(role=Role.USER, text=text)], meta=meta)
        case ItemKind.LEARNING:
            return Learning(text=text, kind=LearningKind.FACT, confidence=0.5, meta=meta)


items = st.lists(
    st.builds(_item, st.sampled_from(list(ItemKind)), st.sampled_from([f"this is text {n}" for n in range(6)]), metas),
    min_size=1,
    max_size=25,
)
reaches = st.builds(Reach, at=nodes, inherit=st.booleans(), descendants=st.booleans())
# Most conditions are left out most of the time: all of them at once admit nothing.
filters = st.fixed_dictionaries(
    {},
    optional={
        "reach": reaches,
        "workspace": st.sampled_from(NAMES),
        "folder": st.sampled_from(PATHS),
        "file_path": st.sampled_from(PATHS),
        "thread_id": st.sampled_from(NAMES),
        "agent_id": st.sampled_from(NAMES),
        "tool_call": st.sampled_from(NAMES),
        "source_id": st.sampled_from(NAMES),
        "kinds": some_kinds,
        "sources": st.lists(st.sampled_from(list(SourceKind)[:3]), max_size=2),
        "tags_any": st.lists(st.sampled_from(NAMES), max_size=2),
        "observed_after": st.sampled_from(TIMES),
        "observed_before": st.sampled_from(TIMES),
    },
)


@st.composite
def narrowed(draw: st.DrawFn) -> MetaFilter:
    fields: dict[str, Any] = draw(filters)
    kept = draw(st.sets(st.sampled_from(sorted(fields)), max_size=2)) if fields else set()
    return MetaFilter(**{name: value for name, value in fields.items() if name in kept})


@st.composite
def targets(draw: st.DrawFn, stored: list[StoreItem], ways: list[str]) -> Target:
    match draw(st.sampled_from(ways)):
        case "ids":
            ids = st.sampled_from([item.fingerprint() for item in stored]) | st.just(ItemId("0" * 40))
            return Target.of_ids(draw(st.lists(ids, min_size=1, max_size=8)), draw(st.none() | reaches))
        case "filter":
            return Target.of_filter(draw(narrowed()))
        case "value":
            item = draw(st.sampled_from(stored))
            facet = draw(st.sampled_from(list(Facet)))
            values = [value for value in facet.values(item.item_kind, item.meta) if value.strip()]
            return Target.of_value(facet, values[0], draw(narrowed())) if values else Target.at(item.meta.namespace)
        case "at":
            return Target.at(draw(nodes))
        case "below":
            return Target.below(draw(nodes))
        case _:
            return Target.of_filter(MetaFilter(reach=draw(reaches), kinds=draw(some_kinds)))


def meant(target: Target, item: StoreItem) -> bool:
    """Whether an item is one that the target speaks of, by the words of the contract."""
    meta = item.meta
    if target.filter is None:
        is_named = item.fingerprint() in target.ids
        return is_named and (target.reach is None or target.reach.admits(meta.namespace))
    reach = target.filter.reach
    assert reach is not None
    assert not reach.inherit
    only_kinds = target.filter == MetaFilter(reach=reach, kinds=target.filter.kinds)
    if reach.at.is_root and reach.descendants and only_kinds and len(set(target.filter.kinds)) in (0, len(ItemKind)):
        return True  # the whole tree: sandboxes as well
    return target.filter.matches(item.item_kind, meta)


def reference(folder: Path) -> MemoryEngine:
    return ReferenceEngine()


def embedded(folder: Path) -> MemoryEngine:
    return SqliteEngine(folder / "memory.db", embedder=None)


@pytest.mark.parametrize(("opened", "examples"), [(reference, 50), (embedded, 25)])
@pytest.mark.parametrize("action", Action)
def test_what_is_listed_is_what_goes_and_nothing_else(
    opened: Callable[[Path], MemoryEngine], examples: int, action: Action, tmp_path: Path
) -> None:
    engine = opened(tmp_path)
    journal = Journal(tmp_path / "receipts")
    with asyncio.Runner() as runner:

        @settings(max_examples=examples, deadline=None)
        @given(items, st.data())
        def check(stored: list[StoreItem], data: st.DataObject) -> None:
            target = data.draw(targets(stored, ["at", "below", "kinds"] if action is Action.ERASE else WAYS))
            runner.run(goes_exactly(engine, journal, stored, target, action))

        try:
            check()
        finally:
            runner.run(engine.aclose())


async def goes_exactly(
    engine: MemoryEngine, journal: Journal, stored: list[StoreItem], target: Target, action: Action
) -> None:
    await engine.erase(EraseRequest(reach=EVERYTHING, whole_tree=True))
    by_id = {item.fingerprint(): item for item in stored}
    await engine.store_many(stored)
    before = await everything(engine, NODES)
    assert before == set(by_id)
    removal = await counted(engine, target, action, journal)
    preview = removal.preview
    assert preview is not None
    expected = {id for id, item in by_id.items() if meant(target, item)}
    assert set(preview.ids) == expected
    assert set(preview.gone) == set(target.ids) - expected
    assert preview.nodes.total() == preview.kinds.total() == preview.months.total() == len(expected)
    assert preview.stored == len(before)
    stays = {id for sandbox in removal.plan.sandboxes for id in by_id if _is_below(by_id[id], sandbox.node)}
    assert removal.plan.takes_sandboxes or not stays & expected
    if not expected:
        return
    outcome = await done(removal)
    assert await everything(engine, NODES) == before - expected
    assert (outcome.removed, outcome.left, outcome.already_gone) == (len(expected), [], 0)
    assert outcome.stored_after == len(before) - len(expected)
    assert outcome.is_clean, outcome.checks
    assert len(named(outcome.receipt, "end")) == 1


def _is_below(item: StoreItem, node: Namespace) -> bool:
    return item.meta.namespace.is_within(node)
