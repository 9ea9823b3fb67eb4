"""What the tools do over a memory: whose items they show, store and forget, and what they answer."""

from __future__ import annotations

import asyncio
import json
from typing import Any

import pytest

from explorer.contract import (
    Citation,
    EngineFailure,
    ExploreRequest,
    FetchMode,
    FetchPage,
    FetchRequest,
    GetRequest,
    Hit,
    InvalidRequest,
    ItemId,
    ItemKind,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    RecallAnswer,
    RecallRequest,
    SourceKind,
    SourceRef,
    Timestamp,
    Unsupported,
)
from explorer.contract.reference import ReferenceEngine
from explorer.engines.sqlite import SqliteEngine
from explorer.tools import TOOL_NAMES, MemoryTools, ToolScope
from explorer.tools.results import rounded
from tests.fakes import FakeEngine, filled, learning
from tests.tools.recording import RecordingEngine

NOW = Timestamp.parse("2026-11-30T12:00:00.987654321Z")
AGENT_A = Namespace.parse("team:acme/agent:a")
TEAM, SIBLING, BOX = "team:acme", "team:acme/agent:b", "team:acme/agent:a/service:cron"

SHARED_BY_ALL = learning("tea for all", "root", tags=["all"])
OF_TEAM = learning("tea for the team", TEAM, tags=["team"])
OF_A = learning("tea for a", str(AGENT_A), tags=["a"])
OF_B = learning("tea for b", SIBLING, tags=["b"])
IN_BOX = learning("tea in the box", BOX, tags=["box"])
ALL = [SHARED_BY_ALL, OF_TEAM, OF_A, OF_B, IN_BOX]


async def memory(make=ReferenceEngine) -> Any:
    return await filled(ALL, make())


async def call(tools: MemoryTools, name: str, **arguments: Any) -> Any:
    return json.loads(await tools.call(f"memory_{name}", arguments))


async def refused(tools: MemoryTools, name: str, arguments: Any, kind: type[Exception] = InvalidRequest) -> str:
    with pytest.raises(kind) as raised:
        await tools.call(name, arguments)
    return raised.value.text  # type: ignore[attr-defined, no-any-return]


def texts(page: Any) -> set[str]:
    return {hit["text"] for hit in page.get("items", page.get("hits"))}


# --- scope


def test_a_scope_is_built_as_its_host_says():
    tools = MemoryTools.new(ReferenceEngine())
    assert tools.scope() == ToolScope() == ToolScope.default() == ToolScope(Namespace.ROOT, None, True)
    assert ToolScope.at(AGENT_A) == ToolScope(AGENT_A, Reach.of(AGENT_A), True)
    assert tools.placed_at(AGENT_A).scope() == ToolScope.at(AGENT_A)
    everything = Reach.subtree(Namespace.ROOT)
    assert tools.reach(everything).placed_at(AGENT_A).scope().reach == Reach.of(AGENT_A)
    assert tools.placed_at(AGENT_A).reach(everything).scope() == ToolScope(AGENT_A, everything)
    assert tools.read_only().placed_at(AGENT_A).scope() == ToolScope(AGENT_A, Reach.of(AGENT_A), False)
    assert tools.placed_at(AGENT_A).reach(None).scope() == ToolScope(AGENT_A, None)
    assert tools.scope() == ToolScope.default(), "the first is as it was"
    scope = ToolScope(AGENT_A, everything, False)
    assert MemoryTools.with_scope(ReferenceEngine(), scope).scope() == scope


async def test_an_agent_reads_its_node_and_those_above_and_never_its_siblings():
    engine = await memory()
    tools = MemoryTools.new(engine).placed_at(AGENT_A)
    seen = {"tea for all", "tea for the team", "tea for a"}
    assert texts(await call(tools, "list")) == seen
    assert texts(await call(tools, "fetch", query="tea")) == seen
    assert {hit["snippet"] for hit in (await call(tools, "recall", question="tea?"))["citations"]} == seen
    tags = await call(tools, "explore", facet="tag")
    assert {bucket["value"] for bucket in tags["buckets"]} == {"all", "team", "a"}
    assert tags["total"] == 3
    ids = [item.fingerprint() for item in (OF_B, OF_A, IN_BOX)]
    got = await call(tools, "get", ids=[ids[0], "unknown", ids[1], ids[2]])
    assert (texts(got), got["missing"]) == ({"tea for a"}, [ids[0], "unknown", ids[2]])


async def test_without_a_reach_everything_but_sandboxes_is_read():
    engine = await memory()
    tools = MemoryTools.new(engine)
    assert texts(await call(tools, "list")) == {item.render_text() for item in ALL} - {"tea in the box"}
    assert (await call(tools, "forget", ids=[IN_BOX.fingerprint()]))["forgotten"] == 0
    assert (await call(tools, "forget", filter={"kinds": ["learning"]}))["forgotten"] == 4
    assert len(engine) == 1


async def test_a_subtree_reach_after_placing_shows_every_agent_below():
    tools = MemoryTools.new(await memory()).placed_at(AGENT_A).reach(Reach.subtree(Namespace.parse(TEAM)))
    assert texts(await call(tools, "list")) == {"tea for the team", "tea for a", "tea for b"}


async def test_a_forget_by_ids_takes_only_what_the_tools_can_read():
    engine = await filled(ALL, FakeEngine())
    tools = MemoryTools.new(engine).placed_at(AGENT_A)
    sibling, own, team, box = (item.fingerprint() for item in (OF_B, OF_A, OF_TEAM, IN_BOX))
    report = await call(tools, "forget", ids=[sibling, own, "unknown", team, box, own])
    assert report == {"forgotten": 2, "skipped": [sibling, "unknown", box]}
    assert engine.requests("forget")[0].ids == [own, team]
    assert [hit.id for hit in await engine.get(GetRequest(ids=[sibling]))] == [sibling]

    engine.calls.clear()
    assert await call(tools, "forget", ids=[sibling]) == {"forgotten": 0, "skipped": [sibling]}
    assert engine.requests("forget") == []


async def test_an_exact_reach_keeps_a_forget_from_what_is_above():
    engine = await memory()
    tools = MemoryTools.new(engine).placed_at(AGENT_A).reach(Reach.exact(AGENT_A))
    report = await call(tools, "forget", ids=[OF_TEAM.fingerprint(), OF_A.fingerprint()])
    assert report == {"forgotten": 1, "skipped": [OF_TEAM.fingerprint()]}
    assert (await call(tools, "forget", filter={"kinds": ["learning"]}))["forgotten"] == 0


async def test_a_forget_by_filter_stays_within_the_reach():
    engine = await memory()
    tools = MemoryTools.new(engine).placed_at(AGENT_A)
    assert await call(tools, "forget", filter={"tags_any": ["b", "a"]}) == {"forgotten": 1, "skipped": []}
    assert [hit.text for hit in await engine.get(GetRequest(ids=[OF_B.fingerprint()]))] == ["tea for b"]


async def test_what_is_stored_lands_at_the_place_whatever_the_reach_is():
    engine = ReferenceEngine()
    scope = ToolScope(AGENT_A, Reach.exact(Namespace.parse(TEAM)))
    tools = MemoryTools(engine, scope, clock=lambda: NOW)
    stored = await call(tools, "store", learning={"text": "likes tea"}, tags=["b", "a", "b"])
    (hit,) = await engine.get(GetRequest(ids=[stored["id"]], reach=Reach.exact(AGENT_A)))
    assert hit.meta == MemoryMeta(
        namespace=AGENT_A, source=SourceRef(kind=SourceKind.AGENT), tags=["b", "a", "b"], observed_at=NOW
    )
    assert not stored["replayed"]
    again = await call(tools, "store", learning={"text": "likes tea"}, tags=["b", "a", "b"])
    assert again == {"id": stored["id"], "replayed": True}
    assert texts(await call(tools, "list")) == set(), "its own reach does not hold the place"


async def test_the_time_of_a_store_is_now_without_a_clock():
    engine = ReferenceEngine()
    before = Timestamp.now_utc()
    await call(MemoryTools.new(engine), "store", document={"text": "x"})
    (hit,) = (await engine.list(ListRequest(limit=1))).items
    assert before <= hit.meta.observed_at <= Timestamp.now_utc()


async def test_the_scopes_reach_replaces_a_filters_own_also_where_it_is_none():
    filter = MetaFilter(reach=Reach.subtree(Namespace.ROOT), workspace="w")
    assert ToolScope.at(AGENT_A).confined(filter) == MetaFilter(reach=Reach.of(AGENT_A), workspace="w")
    assert ToolScope.default().confined(filter) == MetaFilter(workspace="w")
    assert ToolScope.at(AGENT_A).admits(Namespace.ROOT)
    assert not ToolScope.at(AGENT_A).admits(Namespace.parse(SIBLING))
    assert not ToolScope.default().admits(Namespace.parse(BOX))


@pytest.mark.parametrize("name", TOOL_NAMES)
@pytest.mark.parametrize("key", ["namespace", "reach"])
@pytest.mark.parametrize(
    "at", ["{}", '{"filter": {}}', '{"x": [[{"y": {}}]]}', '{"learning": {}}', '{"conversation": {"turns": [{}]}}']
)
async def test_what_the_host_fixes_is_refused_wherever_it_stands(name, key, at):
    arguments = json.loads(at.replace("{}", json.dumps({key: None})))
    text = await refused(MemoryTools.new(ReferenceEngine()), name, arguments)
    assert text.startswith(f"{name}: `")
    assert f"{key}` is fixed by the host" in text


async def test_read_only_tools_refuse_writes_before_they_look_at_anything():
    tools = MemoryTools.new(await memory()).read_only()
    for name in ("memory_store", "memory_forget"):
        for arguments in (None, {"namespace": "root"}, "x"):
            assert await refused(tools, name, arguments, Unsupported) == f"{name}: read-only"
    with pytest.raises(Unsupported, match="read-only"):
        await tools.call_json("memory_store", "not json")
    assert len((await call(tools, "list"))["items"]) == 4


# --- arguments that no schema describes


def deep(depth: int, inside: Any) -> Any:
    for level in range(depth):
        inside = [inside] if level % 2 else {"x": inside}
    return inside


@pytest.mark.parametrize("name", TOOL_NAMES)
async def test_nesting_of_any_depth_is_refused_in_a_short_sentence(name):
    tools = MemoryTools.new(ReferenceEngine())
    text = await refused(tools, name, {"filter": deep(20_000, {"reach": 1})})
    assert "reach` is fixed by the host" in text
    assert len(text) < 400
    assert await refused(tools, name, {"more": deep(20_000, 1)}) == f"{name}: `more` is not an argument of this tool"


async def test_a_value_that_holds_itself_comes_to_an_end():
    loop: dict[str, Any] = {}
    loop["x"] = [loop]
    assert "is not an argument" in await refused(MemoryTools.new(ReferenceEngine()), "memory_list", loop)


async def test_the_first_key_that_the_host_fixes_is_named_in_the_order_given():
    tools = MemoryTools.new(ReferenceEngine())
    text = await refused(tools, "memory_list", {"a": [{"b": {"reach": 1}}], "namespace": 1})
    assert "`a[].b.reach`" in text
    assert "`namespace`" in await refused(tools, "memory_list", {"namespace": 1, "a": {"reach": 1}})


HALF = "\ud800"


@pytest.mark.parametrize(
    ("name", "arguments", "problem"),
    [
        ("memory_recall", {"question": HALF}, "`question` must be a string"),
        ("memory_recall", {"question": "q", "instructions": HALF}, "`instructions` must be a string"),
        ("memory_fetch", {"query": "q", "cursor": HALF}, "`cursor` must be a string"),
        ("memory_fetch", {"query": "q", "mode": HALF}, "`mode` must be a string"),
        ("memory_fetch", {"query": "q", "mode": 1}, "`mode` must be a string"),
        ("memory_list", {"filter": {"workspace": HALF}}, "`filter.workspace` must be a string"),
        ("memory_list", {"filter": {"tags_any": [HALF]}}, "`filter.tags_any` must be an array of strings"),
        ("memory_list", {"filter": {"kinds": [HALF]}}, "`filter.kinds` must be an array of strings"),
        ("memory_list", {"filter": {"observed_after": 5}}, "`filter.observed_after` must be a string"),
        ("memory_list", {"filter": {"observed_after": "2026-02-30T00:00:00Z"}}, "must be an rfc 3339 timestamp"),
        ("memory_list", {"filter": {"observed_after": "0001-01-01T00:00:00+09:00"}}, "must be an rfc 3339 timestamp"),
        ("memory_list", {HALF: 1}, "`\ufffd` is not an argument of this tool"),
        ("memory_list", {"": 1}, "`` is not an argument of this tool"),
        ("memory_list", {" limit": 1}, "` limit` is not an argument of this tool"),
        ("memory_list", {"limit": 10**5000}, "`limit` must be an integer from 1 to 50"),
        ("memory_list", {"limit": float("nan")}, "`limit` must be an integer from 1 to 50"),
        ("memory_list", {"limit": False}, "`limit` must be an integer from 1 to 50"),
        ("memory_get", {"ids": [HALF]}, "`ids` must be an array of strings"),
        ("memory_get", {"ids": ["\u3000"]}, "`ids` must not hold a blank id"),
        ("memory_get", {"ids": ("a",)}, "`ids` must be an array of strings"),
        ("memory_explore", {"facet": ["tag"]}, "`facet` must be a string"),
        ("memory_store", {"learning": {"text": HALF}}, "`learning.text` must be a string"),
        ("memory_store", {"learning": {"text": "x", "learning_kind": 1}}, "`learning.learning_kind` must be a string"),
        ("memory_store", {"learning": {"text": "x", "confidence": float("nan")}}, "must be a number from 0 to 1"),
        ("memory_store", {"learning": {"text": "x", "confidence": float("inf")}}, "must be a number from 0 to 1"),
        ("memory_store", {"learning": {"text": "x", "confidence": 10**5000}}, "must be a number from 0 to 1"),
        ("memory_store", {"learning": {"text": "x", "confidence": True}}, "must be a number from 0 to 1"),
        ("memory_store", {"document": {"text": "x", "title": 5}}, "`document.title` must be a string"),
        ("memory_store", {"document": {"text": "x"}, "tags": [HALF]}, "`tags` must be an array of strings"),
        ("memory_store", {"conversation": {"turns": [{"text": "x"}]}}, "`conversation.turns[].role` is required"),
        ("memory_store", {"conversation": {"turns": [{"role": "user", "text": " "}]}}, "turns[].text` is required"),
        ("memory_forget", {"ids": []}, "`ids` must list from 1 to 200 ids"),
    ],
)
async def test_values_that_are_no_plain_json_are_refused_by_name(name, arguments, problem):
    engine = RecordingEngine()
    text = await refused(MemoryTools.new(engine), name, arguments)
    assert text.startswith(f"{name}: ")
    assert problem in text
    text.encode("utf-8")
    assert engine.calls == []


@pytest.mark.parametrize(
    ("written", "problem"),
    [
        ('{"limit": 1, "limit": 2}', 'the key "limit" is there twice'),
        ('{"limit": NaN}', "NaN is not a JSON number"),
        ('{"filter": {"workspace": "\\ud800"}}', "half of a surrogate pair"),
        ("[" * 100_000, "nested too deeply"),
        ('{"limit": ' + "9" * 5000 + "}", "too many digits"),
        ("{", "not JSON"),
        ("", "not JSON"),
        ("[]", "arguments must be a json object"),
    ],
)
async def test_arguments_that_are_still_text_are_read_by_the_contracts_rules(written, problem):
    tools = MemoryTools.new(ReferenceEngine())
    for given in (written, written.encode()):
        with pytest.raises(InvalidRequest) as raised:
            await tools.call_json("memory_list", given)
        assert raised.value.text.startswith("memory_list: arguments must be a json object")
        assert problem in raised.value.text
    with pytest.raises(InvalidRequest, match="unknown tool `x`"):
        await tools.call_json("x", written)
    assert await tools.call_json("memory_list", "null") == await tools.call_json("memory_list", "{}")


async def test_what_an_error_repeats_is_cut():
    tools = MemoryTools.new(ReferenceEngine())
    long = "k" * 10_000
    assert len(await refused(tools, long, None)) < 300
    assert len(await refused(tools, "memory_list", {long: 1})) < 200
    assert len(await refused(tools, "memory_list", {"filter": {"kinds": [long]}})) < 200
    assert (await refused(tools, HALF, None)).startswith("unknown tool `\ufffd`; valid: memory_recall, ")


# --- results


class Answering(ReferenceEngine):
    """Gives back what a test puts there."""

    hit: Hit

    async def fetch(self, req: FetchRequest) -> FetchPage:
        return FetchPage(hits=[self.hit], next_cursor="next")

    async def recall(self, req: RecallRequest) -> RecallAnswer:
        one = Citation(id=self.hit.id, kind=self.hit.kind, snippet="a", meta=self.hit.meta, score=None)
        return RecallAnswer(answer="an answer", citations=[one], model="secret-model")


FULL_META = MemoryMeta.model_validate(
    {
        "namespace": "team:acme",
        "workspace": "w",
        "folder": "f",
        "file_path": "f/x.md",
        "language": "en",
        "repo": "acme/api",
        "commit": "c0ffee",
        "url": "https://a.example",
        "thread_id": "t",
        "turns": {"first": 1, "last": 2},
        "agent_id": "a",
        "tool_call": {"name": "ls", "id": "1"},
        "source": {"kind": "file", "id": "docs"},
        "tags": ["b", "a", "b"],
        "observed_at": "2026-10-05T12:30:59.999999999Z",
    }
)


async def test_a_hit_shows_what_is_listed_for_it_and_nothing_else():
    engine = Answering()
    engine.hit = Hit(id=ItemId("1"), kind=ItemKind.LEARNING, text="é\n", meta=FULL_META, score=0.33335, confidence=0.8)
    assert await MemoryTools.new(engine).call("memory_fetch", {"query": "x"}) == (
        '{"hits":[{"id":"1","kind":"learning","text":"é\\n","score":0.3334,"confidence":0.8,'
        '"meta":{"source":{"kind":"file","id":"docs"},"file_path":"f/x.md","url":"https://a.example",'
        '"thread_id":"t","tags":["b","a","b"],"observed_at":"2026-10-05T12:30:59Z"}}],"next_cursor":"next"}'
    )
    assert await MemoryTools.new(engine).call("memory_recall", {"question": "x"}) == (
        '{"answer":"an answer","citations":[{"id":"1","kind":"learning","snippet":"a",'
        '"meta":{"source":{"kind":"file","id":"docs"},"file_path":"f/x.md","url":"https://a.example",'
        '"thread_id":"t","tags":["b","a","b"],"observed_at":"2026-10-05T12:30:59Z"}}]}'
    )


async def test_results_are_compact_and_leave_out_what_is_not_there():
    engine = ReferenceEngine()
    tools = MemoryTools(engine, clock=lambda: NOW)
    stored = json.loads(await tools.call("memory_store", {"document": {"text": "body"}}))
    id = stored["id"]
    meta = '{"source":{"kind":"agent"},"observed_at":"2026-11-30T12:00:00Z"}'
    hit = f'{{"id":"{id}","kind":"document","text":"body","score":0.0,"meta":{meta}}}'
    assert await tools.call("memory_list") == f'{{"items":[{hit}]}}'
    assert await tools.call("memory_get", {"ids": [id, "x"]}) == f'{{"items":[{hit}],"missing":["x"]}}'
    assert await tools.call("memory_explore", {"facet": "url"}) == (
        '{"facet":"url","buckets":[],"total":1,"missing":1,"more_buckets":0,"truncated":false}'
    )
    assert await tools.call("memory_explore", {"facet": "kind"}) == (
        '{"facet":"kind","buckets":[{"value":"document","count":1}],'
        '"total":1,"missing":0,"more_buckets":0,"truncated":false}'
    )
    assert await tools.call("memory_forget", {"ids": [id, "x"]}) == '{"forgotten":1,"skipped":["x"]}'


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (0.0, "0.0"),
        (1.0, "1.0"),
        (0.8, "0.8"),
        (0.03125, "0.0313"),  # a half, exactly
        (-0.03125, "-0.0313"),
        (0.00004, "0.0"),
        (-0.00004, "0.0"),
        (0.00005, "0.0"),  # as a 32-bit float it lies below the half
        (12345.6789, "12345.6787"),
        (2e7, "20000000.0"),
        (3e38, "3e+38"),
        (float("inf"), "0.0"),
        (float("nan"), "0.0"),
    ],
)
def test_scores_are_rounded_to_four_places_half_away_from_zero(value, shown):
    assert json.dumps(rounded(value)) == shown


async def test_pages_go_on_by_their_cursor():
    tools = MemoryTools.new(await memory()).placed_at(AGENT_A)
    first = await call(tools, "list", limit=2)
    second = await call(tools, "list", limit=2, cursor=first["next_cursor"])
    assert len(texts(first) | texts(second)) == 3
    assert "next_cursor" not in second


# --- engines


async def test_errors_of_an_engine_pass_as_they_are():
    engine = FakeEngine()
    error = EngineFailure("it broke")
    for name in ("recall", "fetch", "explore", "get"):
        engine.fail(name, error)
    tools = MemoryTools.new(engine)
    arguments = {
        "recall": {"question": "q"},
        "fetch": {"query": "q"},
        "explore": {"facet": "tag"},
        "get": {"ids": ["x"]},
    }
    for name, given in arguments.items():
        with pytest.raises(EngineFailure) as raised:
            await tools.call(f"memory_{name}", given)
        assert raised.value is error


async def test_a_forget_whose_read_fails_forgets_nothing():
    engine = await filled(ALL, FakeEngine())
    engine.fail("get", EngineFailure("it broke"))
    with pytest.raises(EngineFailure):
        await MemoryTools.new(engine).call("memory_forget", {"ids": [OF_A.fingerprint()]})
    assert engine.requests("forget") == []


async def test_the_embedded_engine_answers_alike(tmp_path):
    engine = SqliteEngine(tmp_path / "m.db", embedder=None)
    try:
        tools = MemoryTools.new(await filled(ALL, engine)).placed_at(AGENT_A)  # type: ignore[arg-type]
        plain = MemoryTools.new(await memory()).placed_at(AGENT_A)
        for name, arguments in (
            ("explore", {"facet": "tag"}),
            ("get", {"ids": [OF_B.fingerprint(), OF_A.fingerprint()]}),
            ("forget", {"ids": [OF_B.fingerprint(), OF_A.fingerprint()]}),
            ("forget", {"filter": {"tags_any": ["b", "team"]}}),
            ("list", {"limit": 50}),
        ):
            assert await call(tools, name, **arguments) == await call(plain, name, **arguments)
        mode = tools.specs()[1].parameters["properties"]["mode"]
        assert mode["enum"] == [FetchMode.KEYWORD.value]
        counts = await engine.explore(ExploreRequest(facet="namespace", limit=10))  # type: ignore[arg-type]
        assert {bucket.value for bucket in counts.buckets} == {"root", SIBLING}
    finally:
        await engine.aclose()


async def test_calls_run_at_the_same_time():
    engine = FakeEngine()
    gate = engine.hold("get")
    tools = MemoryTools.new(engine)
    async with asyncio.TaskGroup() as group:
        held = group.create_task(tools.call("memory_get", {"ids": ["x"]}))
        assert json.loads(await tools.call("memory_list")) == {"items": []}
        gate.open()
    assert json.loads(held.result()) == {"items": [], "missing": ["x"]}
