"""What an engine gets for nothing: the defaults over `list`, `store`, `forget` and `export`."""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

import pytest

from explorer.contract import (
    BeliefsRequest,
    ConsolidateRequest,
    Document,
    DocumentBody,
    EngineFailure,
    EraseRequest,
    ExploreRequest,
    Exported,
    ExportPage,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    HistogramRequest,
    InvalidRequest,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    ListPage,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    StoreItem,
    StoreOptions,
    Timestamp,
    ToolCallRef,
    Unsupported,
    Wait,
    explore_by_listing,
    get_by_listing,
    get_items_by_export,
)
from explorer.contract.engine import MemoryEngine
from explorer.contract.reference import ReferenceEngine
from tests.contract.engines import ForwardingEngine, PlainEngine

UNKNOWN = ItemId("0" * 40)


def note(text: str, **meta: Any) -> Document:
    return Document(body=DocumentBody(text=text), meta=MemoryMeta.model_validate(meta))


def fact(text: str, **meta: Any) -> Learning:
    return Learning(text=text, kind=LearningKind.FACT, confidence=0.5, meta=MemoryMeta.model_validate(meta))


async def filled(engine: PlainEngine, items: Sequence[StoreItem]) -> list[ItemId]:
    return [(await engine.store(item)).id for item in items]


async def numbered(count: int, page_size: int = 1000) -> tuple[PlainEngine, list[ItemId]]:
    engine = PlainEngine(page_size)
    return engine, await filled(engine, [note(f"note {place}", tags=[f"t{place % 2}"]) for place in range(count)])


def exploring(facet: Facet = Facet.TAG, limit: int = 10, **fields: Any) -> ExploreRequest:
    return ExploreRequest(facet=facet, limit=limit, **fields)


# --- explore


async def test_counting_gradually_is_by_default_one_count() -> None:
    engine, _ = await numbered(4)
    reqs = [exploring(), exploring(Facet.KIND)]
    steps = [pages async for pages in engine.explore_gradually(reqs)]
    assert steps == [await engine.explore_many(reqs)]
    assert [page.truncated for page in steps[0]] == [False, False]


async def test_an_engine_keeps_nothing_waits_for_nothing_and_has_nothing_to_tell() -> None:
    engine, _ = await numbered(1)
    engine.refresh()
    assert engine.waiting() is None
    assert engine.details() == []


async def test_values_are_counted_over_pages() -> None:
    engine = PlainEngine(page_size=2)
    await filled(engine, [note("a", tags=["x", "y"]), note("b", tags=["x", "x"]), note("c"), note("d", tags=[""])])
    page = await engine.explore(exploring())
    assert [(bucket.value, bucket.count) for bucket in page.buckets] == [("x", 2), ("", 1), ("y", 1)]
    assert (page.facet, page.total, page.missing, page.more_buckets, page.truncated) == (Facet.TAG, 4, 1, 0, False)
    assert len(engine.listed) == 2


async def test_the_limit_cuts_buckets_and_says_how_many() -> None:
    engine = PlainEngine()
    await filled(engine, [note("a", tags=["x", "y", "z"]), note("b", tags=["z"])])
    page = await engine.explore(exploring(limit=1))
    assert [(bucket.value, bucket.count) for bucket in page.buckets] == [("z", 2)]
    assert (page.more_buckets, page.truncated) == (2, False)


@pytest.mark.parametrize(
    ("scan_limit", "total", "truncated", "sizes"),
    [(4, 4, True, [4]), (5, 5, False, [5]), (6, 5, False, [6])],
)
async def test_counting_stops_at_the_scan_limit(scan_limit: int, total: int, truncated: bool, sizes: list[int]) -> None:
    engine, _ = await numbered(5)
    page = await engine.explore(exploring(scan_limit=scan_limit))
    assert (page.total, page.truncated) == (total, truncated)
    assert [req.limit for req in engine.listed] == sizes


async def test_pages_ask_for_200_and_then_for_what_is_left_to_scan() -> None:
    engine, _ = await numbered(450)
    page = await engine.explore(exploring(scan_limit=410))
    assert (page.total, page.truncated) == (410, True)
    assert [(req.limit, req.cursor) for req in engine.listed] == [(200, None), (200, "200"), (10, "400")]
    engine.listed.clear()
    page = await engine.explore(exploring())
    assert (page.total, page.truncated) == (450, False)
    assert [req.limit for req in engine.listed] == [200, 200, 200]


async def test_exactly_the_scan_limit_over_several_pages_is_not_truncated() -> None:
    engine, _ = await numbered(5, page_size=2)
    page = await engine.explore(exploring(scan_limit=5))
    assert (page.total, page.truncated) == (5, False)
    assert [req.limit for req in engine.listed] == [5, 3, 1]


@pytest.mark.parametrize(
    ("fields", "said"),
    [
        ({"limit": 0}, "explore limit must be between 1 and 500"),
        ({"limit": 501}, "explore limit must be between 1 and 500"),
        ({"scan_limit": 0}, "explore scan_limit must be between 1 and 50000"),
        ({"scan_limit": 50_001}, "explore scan_limit must be between 1 and 50000"),
    ],
)
async def test_an_explore_out_of_bounds_reads_nothing(fields: dict[str, Any], said: str) -> None:
    engine, _ = await numbered(1)
    req = exploring(**fields)
    for call in (engine.explore(req), explore_by_listing(engine, req), engine.explore_many([exploring(), req])):
        with pytest.raises(InvalidRequest) as caught:
            await call
        assert caught.value.text == said
    assert not engine.listed
    await engine.explore(exploring(limit=500, scan_limit=50_000))


class _Circular(PlainEngine):
    """Names the same next page for ever, as a broken engine might."""

    async def list(self, req: ListRequest) -> ListPage:
        self.listed.append(req)
        page = await self.inner.list(ListRequest(filter=req.filter, limit=1))
        return page.model_copy(update={"next_cursor": "again"})

    async def export(self, req: ListRequest) -> ExportPage:
        page = await self.inner.export(ListRequest(filter=req.filter, limit=1))
        return page.model_copy(update={"next_cursor": "again"})


async def test_a_cursor_that_comes_again_ends_the_reading() -> None:
    engine = _Circular()
    first, second = await filled(engine, [note("a", tags=["x"]), note("b", tags=["x"])])
    page = await engine.explore(exploring())
    assert (page.total, page.truncated) == (2, True)
    assert [hit.id for hit in await engine.get(GetRequest(ids=[first, second]))] == [first]
    assert len(engine.listed) == 4
    assert [one.id for one in await engine.get_items(GetRequest(ids=[first]))] == [first]


class _Endless(_Circular):
    """Names another page each time, and brings nothing new on any."""

    def __init__(self, is_empty: bool) -> None:
        super().__init__()
        self.is_empty = is_empty
        self.pages = itertools.count()

    def another(self, page: Any) -> Any:
        items = [] if self.is_empty else page.items
        return page.model_copy(update={"items": items, "next_cursor": str(next(self.pages))})

    async def list(self, req: ListRequest) -> ListPage:
        return self.another(await super().list(req))

    async def export(self, req: ListRequest) -> ExportPage:
        return self.another(await super().export(req))


@pytest.mark.parametrize("is_empty", [True, False])
async def test_pages_without_end_are_not_read_without_end(is_empty: bool) -> None:
    engine = _Endless(is_empty)
    _, second = await filled(engine, [note("a", tags=["x"]), note("b", tags=["x"])])
    page = await engine.explore(exploring(scan_limit=500))
    assert page.truncated
    bars = await engine.histogram(HistogramRequest(scan_limit=500))
    assert bars.truncated
    with pytest.raises(EngineFailure, match="never came to the end of its listing"):
        await engine.get(GetRequest(ids=[second]))
    hits = await engine.inner.get(GetRequest(ids=[second]))

    class Found(_Endless):
        async def get(self, req: GetRequest) -> list[Any]:
            return hits

    finding = Found(is_empty)
    finding.inner = engine.inner
    with pytest.raises(EngineFailure, match="never came to the end of its listing"):
        await finding.get_items(GetRequest(ids=[second]))


async def test_an_export_that_goes_in_a_circle_does_not_find_everything() -> None:
    engine = _Circular()
    (await filled(engine, [note("a"), note("b")]))
    hits = await engine.inner.get(GetRequest(ids=[note("b").fingerprint()]))

    class Found(_Circular):
        async def get(self, req: GetRequest) -> list[Any]:
            return hits

    finding = Found()
    finding.inner = engine.inner
    assert await get_items_by_export(finding, GetRequest(ids=[hits[0].id])) == []


# --- explore many


async def test_requests_of_one_filter_share_a_listing() -> None:
    engine = PlainEngine()
    await filled(engine, [note("a", workspace="w", tags=["x"]), note("b", workspace="v"), fact("c", workspace="w")])
    in_w = MetaFilter(workspace="w")
    reqs = [
        exploring(Facet.KIND, filter=in_w),
        exploring(Facet.WORKSPACE),
        exploring(Facet.TAG, filter=MetaFilter(workspace="w"), limit=1),
        exploring(Facet.KIND, filter=in_w, scan_limit=1),
    ]
    pages = await engine.explore_many(reqs)
    assert [page.facet for page in pages] == [req.facet for req in reqs]
    assert [(page.total, page.missing, page.truncated) for page in pages] == [
        (2, 0, False),
        (3, 0, False),
        (2, 1, False),
        (1, 0, True),
    ]
    assert len(engine.listed) == 3
    assert pages == [await engine.explore(req) for req in reqs]


async def test_no_requests_read_nothing() -> None:
    engine, _ = await numbered(1)
    assert await engine.explore_many([]) == []
    assert not engine.listed


async def test_an_engine_that_counts_by_itself_is_asked_for_each() -> None:
    class Counting(PlainEngine):
        asked = 0

        async def explore(self, req: ExploreRequest) -> Any:
            self.asked += 1
            return await super().explore(req)

    engine = Counting()
    await filled(engine, [note("a")])
    pages = await engine.explore_many([exploring(Facet.KIND), exploring(Facet.TAG)])
    assert engine.asked == 2
    assert [page.facet for page in pages] == [Facet.KIND, Facet.TAG]


# --- get


async def test_items_come_in_the_order_asked_each_once() -> None:
    engine, ids = await numbered(5, page_size=2)
    asked = [ids[3], UNKNOWN, ids[0], ids[3]]
    hits = await engine.get(GetRequest(ids=asked))
    assert [hit.id for hit in hits] == [ids[3], ids[0]]
    assert [hit.text for hit in hits] == ["note 3", "note 0"]
    assert {hit.score for hit in hits} == {0.0}
    assert await get_by_listing(engine, GetRequest(ids=asked)) == hits


async def test_reading_stops_once_all_are_found() -> None:
    engine, ids = await numbered(5, page_size=2)
    await engine.get(GetRequest(ids=[ids[1], ids[0]]))
    assert len(engine.listed) == 1
    assert engine.listed[0].limit == 200
    engine.listed.clear()
    await engine.get(GetRequest(ids=[UNKNOWN]))
    assert len(engine.listed) == 3


async def test_a_get_keeps_to_its_reach() -> None:
    engine = PlainEngine()
    places = ["root", "agent:a", "agent:b", "agent:a/service:job"]
    ids = await filled(engine, [note("same", namespace=place) for place in places])

    async def found(reach: Reach | None) -> list[str]:
        hits = await engine.get(GetRequest(ids=ids, reach=reach))
        return [str(hit.meta.namespace) for hit in hits]

    assert await found(None) == ["root", "agent:a", "agent:b"]
    assert await found(Reach.of(Namespace.parse("agent:a"))) == ["root", "agent:a"]
    assert await found(Reach.exact(Namespace.parse("agent:a/service:job"))) == ["agent:a/service:job"]


@pytest.mark.parametrize(
    ("ids", "said"),
    [
        ([], "get takes between 1 and 200 ids"),
        ([UNKNOWN] * 201, "get takes between 1 and 200 ids"),
        ([UNKNOWN, ItemId(" ")], "an id must not be blank"),
    ],
)
async def test_a_get_out_of_bounds_reads_nothing(ids: list[ItemId], said: str) -> None:
    engine, _ = await numbered(1)
    req = GetRequest(ids=ids)
    reference = ReferenceEngine()
    for call in (engine.get(req), engine.get_items(req), reference.get(req), reference.get_items(req)):
        with pytest.raises(InvalidRequest) as caught:
            await call
        assert caught.value.text == said
    assert not engine.listed
    assert await engine.get(GetRequest(ids=[UNKNOWN] * 200)) == []
    assert await engine.get(GetRequest(ids=[ItemId("\x1c")])) == []  # no white space by the contract


# --- whole items


FULL = {
    "namespace": "agent:a/service:job",
    "workspace": "w",
    "folder": "/a",
    "file_path": "/a/b",
    "language": "en",
    "repo": "o/r",
    "commit": "c",
    "url": "u",
    "thread_id": "t",
    "turns": {"first": 1, "last": 2},
    "agent_id": "g",
    "tool_call": {"name": "n", "id": "1"},
    "source": {"kind": "file", "id": "s"},
    "tags": ["x", "y"],
    "observed_at": "2026-10-04T09:30:00.000000001Z",
}


async def test_whole_items_are_found_among_exports() -> None:
    engine = ForwardingEngine(page_size=3)
    items: list[StoreItem] = [
        note("a", **FULL),
        note("a"),
        Document(title="T", body=DocumentBody(text="b"), mime="text/plain", meta=MemoryMeta(tags=["x"])),
        Learning(text="c", kind=LearningKind.PROCEDURE, confidence=0.75, evidence="e"),
    ]
    ids = await filled(engine, items)
    whole = await engine.get_items(GetRequest(ids=[ids[3], UNKNOWN, ids[2], ids[1], ids[0], ids[3]]))
    assert [(one.id, one.item) for one in whole] == [(ids[3], items[3]), (ids[2], items[2]), (ids[1], items[1])]
    job = Reach.exact(Namespace.parse("agent:a/service:job"))
    assert await engine.get_items(GetRequest(ids=ids, reach=job)) == [
        Exported.model_validate({"id": ids[0], "item": items[0]})
    ]
    everything = [await reader.get_items(GetRequest(ids=ids)) for reader in (engine, engine.inner)]
    assert everything[0] == everything[1]


async def test_what_is_held_in_part_is_left_out() -> None:
    class Partial(ForwardingEngine):
        async def export(self, req: ListRequest) -> ExportPage:
            page = await super().export(req)
            kept = [one for one in page.items if one.item.render_text() != "b"]
            gone = [one.id for one in page.items if one.item.render_text() == "b"]
            return ExportPage(items=kept, incomplete=gone, next_cursor=page.next_cursor)

    engine = Partial()
    ids = await filled(engine, [note("a"), note("b")])
    assert [one.id for one in await engine.get_items(GetRequest(ids=ids))] == [ids[0]]


async def test_whole_items_need_an_engine_that_exports() -> None:
    engine, ids = await numbered(1)
    with pytest.raises(Unsupported, match="does not export items"):
        await engine.get_items(GetRequest(ids=ids))


# --- forget within a reach


async def test_ids_are_forgotten_where_the_reach_admits_them() -> None:
    engine = PlainEngine()
    places = ["root", "agent:a", "agent:b", "agent:a/service:job"]
    ids = await filled(engine, [note("same", namespace=place) for place in places])
    report = await engine.forget_within([ids[3], ids[2], ids[0], UNKNOWN], Reach.of(Namespace.parse("agent:a")))
    assert report.forgotten == 1
    assert engine.forgotten == [ForgetTarget(ids=[ids[0]])]
    report = await engine.forget_within([ids[1], ids[1], ids[3]], None)
    assert report.forgotten == 1
    assert engine.forgotten[1:] == [ForgetTarget(ids=[ids[1]])]
    assert len(engine.inner) == 2


async def test_nothing_found_is_nothing_forgotten() -> None:
    engine, _ = await numbered(1)
    assert (await engine.forget_within([UNKNOWN], None)).forgotten == 0
    assert not engine.forgotten


async def test_many_ids_are_looked_up_in_batches_and_forgotten_at_once() -> None:
    class Asked(PlainEngine):
        def __init__(self) -> None:
            super().__init__()
            self.batches: list[int] = []

        async def get(self, req: GetRequest) -> list[Any]:
            self.batches.append(len(req.ids))
            return await super().get(req)

    engine = Asked()
    ids = await filled(engine, [note(f"note {place}") for place in range(401)])
    report = await engine.forget_within([*ids, *ids], None)
    assert report.forgotten == 401
    assert engine.batches == [200, 200, 1]
    assert engine.forgotten == [ForgetTarget(ids=ids)]


@pytest.mark.parametrize(
    ("ids", "said"), [([], "forget needs at least one id"), ([UNKNOWN, ItemId("")], "an id must not be blank")]
)
async def test_forgetting_no_id_or_a_blank_one_is_refused(ids: list[ItemId], said: str) -> None:
    engine, _ = await numbered(1)
    with pytest.raises(InvalidRequest) as caught:
        await engine.forget_within(ids, None)
    assert caught.value.text == said
    assert not engine.listed


# --- nodes


async def test_nodes_are_counted_without_a_cut_and_without_sandboxes() -> None:
    engine = PlainEngine()
    nodes = [f"agent:a{place}" for place in range(600)]
    await filled(
        engine, [note("a", namespace=place, workspace="w") for place in (*nodes, "service:job", "agent:a7/user:u")]
    )
    await filled(engine, [note("b", namespace="agent:a7")])
    wanted = MetaFilter(workspace="w", reach=Reach.exact(Namespace.parse("agent:a7")))
    page = await engine.namespaces(wanted)
    assert len(page.buckets) == 601
    assert (page.total, page.more_buckets, page.truncated) == (601, 0, False)
    assert {bucket.count for bucket in page.buckets} == {1}
    page = await engine.namespaces(wanted, scan_limit=10)
    assert (page.total, page.truncated) == (10, True)
    with pytest.raises(InvalidRequest):
        await engine.namespaces(wanted, scan_limit=0)


async def test_the_reference_engine_names_sandboxes_too() -> None:
    engine = ReferenceEngine()
    for item in (note("a"), note("b"), note("c", namespace="ws:m/service:job"), fact("d", namespace="user:u")):
        await engine.store(item)
    documents = MetaFilter(kinds=[ItemKind.DOCUMENT], reach=Reach.exact(Namespace.parse("user:u")))
    page = await engine.namespaces(documents)
    assert [(bucket.value, bucket.count) for bucket in page.buckets] == [("root", 2), ("ws:m/service:job", 1)]
    assert (page.facet, page.total, page.missing, page.more_buckets, page.truncated) == (
        Facet.NAMESPACE,
        3,
        0,
        0,
        False,
    )
    with pytest.raises(InvalidRequest):
        await engine.namespaces(documents, scan_limit=50_001)


# --- the rest


async def test_a_batch_is_stored_one_by_one_once_all_of_it_may_be() -> None:
    engine = PlainEngine()
    receipts = await engine.store_many([note("a"), note("b"), note("a")])
    assert [receipt.replayed for receipt in receipts] == [False, False, True]
    assert [receipt.id for receipt in receipts] == [item.fingerprint() for item in (note("a"), note("b"), note("a"))]
    for batch in ([note("c"), note(" ")], [], [note("c")] * 101):
        with pytest.raises(InvalidRequest):
            await engine.store_many(list(batch))
    assert len(engine.inner) == 2


@pytest.mark.parametrize("wait", list(Wait))
async def test_waiting_makes_no_difference_by_default(wait: Wait) -> None:
    engine = PlainEngine()
    options = StoreOptions(wait=wait)
    assert (await engine.store_with(note("a"), options)).id == note("a").fingerprint()
    assert [one.replayed for one in await engine.store_many_with([note("a"), note("b")], options)] == [True, False]


async def test_a_preview_is_a_listing() -> None:
    engine, _ = await numbered(3)
    req = ListRequest(limit=2)
    assert await engine.list_preview(req) == await engine.list(req)


EVERYTHING = Reach.subtree(Namespace.ROOT)


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda e: e.export(ListRequest(limit=1)), "engine `plain` does not export items"),
        (lambda e: e.erase(EraseRequest(reach=EVERYTHING, whole_tree=True)), "engine `plain` does not erase"),
        (lambda e: e.consolidate(ConsolidateRequest(reach=EVERYTHING)), "engine `plain` does not consolidate memory"),
        (
            lambda e: e.fetch(FetchRequest(query="q", mode=FetchMode.VECTOR, limit=1)),
            "engine `plain` does not offer vector fetch",
        ),
    ],
)
async def test_what_an_engine_does_not_offer(call: Any, said: str) -> None:
    with pytest.raises(Unsupported) as caught:
        await call(PlainEngine())
    assert caught.value.text == said


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda e: e.export(ListRequest(limit=0)), "list limit must be positive"),
        (lambda e: e.erase(EraseRequest(reach=EVERYTHING)), "erasing the whole tree needs whole_tree: true"),
        (
            lambda e: e.consolidate(ConsolidateRequest(reach=EVERYTHING, kinds=[ItemKind.LEARNING] * 2)),
            "consolidate names a kind twice",
        ),
        (lambda e: e.beliefs(BeliefsRequest(reach=EVERYTHING, limit=0)), "beliefs limit must be positive"),
        (lambda e: e.beliefs(BeliefsRequest(reach=EVERYTHING, limit=1, query=" ")), "beliefs query must not be empty"),
    ],
)
@pytest.mark.parametrize("make", [PlainEngine, ReferenceEngine])
async def test_a_bad_request_is_refused_before_anything_else(make: type[MemoryEngine], call: Any, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        await call(make())
    assert caught.value.text == said


async def test_no_beliefs_by_default() -> None:
    assert await PlainEngine().beliefs(BeliefsRequest(reach=EVERYTHING, limit=5, query="q")) == []
    assert await PlainEngine().aclose() is None  # type: ignore[func-returns-value]


async def test_an_item_is_found_among_exports_by_its_redacted_thread() -> None:
    engine = ForwardingEngine()
    held = note("a", thread_id="tm-redacted:8d90c7f4547ee12b0c05583b182334bb", tool_call=ToolCallRef(name="n"))
    seen = held.model_copy(
        update={"meta": held.meta.model_copy(update={"observed_at": Timestamp.parse("2026-10-04T09:30:00Z")})}
    )
    (id,) = await filled(engine, [seen])
    assert [one.item for one in await engine.get_items(GetRequest(ids=[id]))] == [seen]
