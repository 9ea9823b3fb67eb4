"""Forgetting and erasing: what goes, what stays, and what is sent for it."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from explorer.contract import (
    EngineFailure,
    EraseRequest,
    ExploreRequest,
    Facet,
    ForgetTarget,
    GetRequest,
    InvalidRequest,
    ItemId,
    ItemKind,
    MemoryEngine,
    MetaFilter,
    Reach,
    StoreItem,
    StoreOptions,
    Unavailable,
    Unsupported,
    Wait,
)
from explorer.engines.cortex import removing
from tests.doubles.cortexdb import CortexDouble
from tests.doubles.serving import Reply, Request
from tests.engines.cortex.flows import (
    LAYOUTS,
    at,
    fact,
    lay,
    listed,
    long_note,
    mislabelled,
    note,
    opened,
    scope_of,
    served,
    stored_at,
    talk,
)

UNKNOWN = ItemId("f" * 40)
LEARNINGS = [ItemKind.LEARNING]
AT_ROOT = Reach.exact(at(""))
EVERYWHERE = Reach.subtree(at(""))
BOTH = ["direct-legacy", "hosted-legacy"]
NEWER = ["direct-scope_root", "hosted-scope_root", "hosted-tenant_root"]


async def forget_ids(engine: MemoryEngine, *ids: ItemId) -> int:
    return (await engine.forget(ForgetTarget(ids=list(ids)))).forgotten


async def forget_where(engine: MemoryEngine, **filter: Any) -> int:
    return (await engine.forget(ForgetTarget(filter=MetaFilter(**filter)))).forgotten


def facts(count: int, namespace: str = "", **fields: Any) -> list[StoreItem]:
    return [fact(f"fact number {number}", namespace, **fields) for number in range(count)]


class Racing(CortexDouble):
    """Another client does something just before the first forget of this one."""

    race: Callable[[], object] | None = None

    async def _answer(self, request: Request) -> Reply:
        if request.path.endswith("/forget") and self.race is not None:
            self.race()
            self.race = None
        return await super()._answer(request)


# --- forgetting by id


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_id_is_forgotten_at_any_node_sandboxes_included_with_all_its_events(layout: str) -> None:
    async with served(layout) as (double, engine):
        gone = [fact("f", "agent:a/service:job"), talk("a", "b", "c", namespace="agent:b"), long_note()]
        kept = [fact("kept", "agent:a"), talk("d", "e", namespace="agent:b"), note("short")]
        ids = lay(double, engine, *gone)
        lay(double, engine, *kept)
        assert await forget_ids(engine, *ids, UNKNOWN, ids[0]) == 3
        assert len(double.log) == 4
        assert set(await listed(engine)) == {item.fingerprint() for item in kept}
        assert await forget_ids(engine, *ids) == 0


async def test_what_was_read_before_says_where_to_look_and_no_other_scope_is_asked() -> None:
    async with served() as (double, engine):
        items = [fact(f"of {number}", f"agent:a{number}") for number in range(5)]
        ids = lay(double, engine, *items)
        for forget in (
            lambda: engine.forget(ForgetTarget(ids=[ids[1], ids[3]])),
            lambda: engine.forget_within([ids[0], ids[4]], None),
        ):
            await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)])
            double.forget_requests()
            assert (await forget()).forgotten == 2
            assert double.counts() == {"events": 2, "forget": 2}
        assert [held.text for held in double.log] == ["of 2"]
        lay(double, engine, items[1])  # another client stored it again, which this one has not read
        assert await forget_ids(engine, ids[1], ids[2]) == 2
        assert len(double.log) == 0


async def test_what_was_read_before_widens_no_reach() -> None:
    async with served() as (double, engine):
        (id,) = lay(double, engine, fact("boxed", "agent:a/service:job"))
        await engine.namespaces(MetaFilter())
        assert (await engine.forget_within([id], None)).forgotten == 0
        assert await forget_ids(engine, id) == 1


async def test_forgetting_names_events_one_scope_and_what_is_to_happen() -> None:
    async with served() as (double, engine):
        item = talk("a", "b")
        ids = lay(double, engine, item)
        await forget_ids(engine, *ids)
        (body,) = double.bodies("forget")
        assert body == {
            "scope": "app:tinymemory/app:conversations",
            "layers": ["events"],
            "selector": {"memory_ids": ["evt_2", "evt_1"]},
            "cascade": "redact_events",
            "audit_note": "tinymemory: forget",
        }


async def test_another_item_with_the_same_label_stays() -> None:
    async with served() as (double, engine):
        wanted, scope = mislabelled(double, engine)
        assert await forget_ids(engine, wanted) == 1
        assert [each.text for each in double.held(scope)] == ["other"]


async def test_where_nothing_is_found_nothing_is_sent() -> None:
    async with served() as (double, engine):
        lay(double, engine, *facts(3))
        assert await forget_ids(engine, UNKNOWN) == 0
        assert await forget_where(engine, tags_any=["no such"]) == 0
        assert double.count("forget") == 0


async def test_what_is_malformed_is_refused_before_anything_is_asked() -> None:
    async with served() as (double, engine):
        for call in (
            engine.forget(ForgetTarget(ids=[])),
            engine.forget(ForgetTarget(filter=MetaFilter())),
            engine.forget_within([], None),
            engine.forget_within([ItemId(" ")], None),
            engine.erase(EraseRequest(reach=EVERYWHERE)),
            engine.erase(EraseRequest(reach=EVERYWHERE, kinds=list(ItemKind))),
        ):
            with pytest.raises(InvalidRequest):
                await call
        assert double.requests == []


async def test_an_erase_that_is_refused_leaves_what_was_read() -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("a"))
        counting = [ExploreRequest(facet=Facet.KIND, limit=9)]
        await engine.explore_many(counting)
        double.forget_requests()
        with pytest.raises(InvalidRequest):
            await engine.erase(EraseRequest(reach=EVERYWHERE))
        assert (await engine.explore_many(counting))[0].total == 1
        assert double.requests == []


@pytest.mark.parametrize("layout", BOTH)
async def test_events_go_a_hundred_at_a_time(layout: str) -> None:
    async with served(layout) as (double, engine):
        items = facts(230)
        ids = lay(double, engine, *items)
        assert await forget_ids(engine, *ids) == 230
        assert [len(body["selector"]["memory_ids"]) for body in double.bodies("forget")] == [100, 100, 30]
        assert len(double.log) == 0


@pytest.mark.parametrize("refusal", [(404, "NOT_FOUND"), (422, "UNKNOWN_MEMORY_ID"), (409, "GONE")], ids=str)
@pytest.mark.parametrize("layout", BOTH)
async def test_one_that_is_gone_already_does_not_keep_the_others(layout: str, refusal: tuple[int, str]) -> None:
    hosted, _ = LAYOUTS[layout]
    double = Racing(forget_refuses_stale=refusal)
    async with double, aclosing(opened(double, hosted=hosted)) as engine:
        items = facts(100)
        ids = lay(double, engine, *items)
        scope = stored_at(double, engine, items[0])
        gone = double.held(scope)[37].id
        double.race = lambda: double.log.drop(scope, [gone])
        assert await forget_ids(engine, *ids) == 99
        assert len(double.log) == 0
        assert double.count("forget") < 20


@pytest.mark.parametrize("layout", BOTH)
async def test_what_another_client_forgot_meanwhile_counts_for_nothing(layout: str) -> None:
    hosted, _ = LAYOUTS[layout]
    double = Racing(forget_gone_is_missing=True)
    async with double, aclosing(opened(double, hosted=hosted)) as engine:
        items = facts(3)
        ids = lay(double, engine, *items)
        double.race = lambda: double.log.drop_all(stored_at(double, engine, items[0]))
        assert await forget_ids(engine, *ids) == 0


async def test_a_refusal_that_is_not_of_a_stale_id_is_passed_on_and_soon() -> None:
    async with served(max_forget_ids=0) as (double, engine):
        ids = lay(double, engine, *facts(100))
        with pytest.raises(InvalidRequest):
            await forget_ids(engine, *ids)
        assert double.count("forget") < 10
        assert len(double.log) == 100


@pytest.mark.parametrize("layout", BOTH)
async def test_forgetting_under_a_rate_limit_is_tried_again_only_where_that_is_safe(layout: str) -> None:
    async with served(layout, rate_limit_forget=1) as (double, engine):
        ids = lay(double, engine, *facts(2))
        if "hosted" in layout:
            assert await forget_ids(engine, *ids) == 2
        else:
            with pytest.raises(Unavailable):
                await forget_ids(engine, *ids)
            assert len(double.log) == 2
            assert await forget_ids(engine, *ids) == 2


@pytest.mark.parametrize("layout", BOTH)
async def test_a_forget_whose_answer_was_lost_leaves_nothing_behind(layout: str) -> None:
    async with served(layout, forget_then_fail=1, forget_gone_is_missing=True) as (double, engine):
        ids = lay(double, engine, *facts(2))
        if "hosted" in layout:
            assert await forget_ids(engine, *ids) == 2
        else:
            with pytest.raises(Unavailable):
                await forget_ids(engine, *ids)
        assert await listed(engine) == []


# --- forgetting by filter


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_filter_forgets_what_it_matches_over_all_pages_and_nothing_else(layout: str) -> None:
    async with served(layout) as (double, engine):
        wanted = [*facts(130, "agent:a", repo="o/r", tags=["x"]), talk("a", "b", repo="o/r", tags=["x"])]
        kept = [fact("untagged", "agent:a", repo="o/r"), fact("boxed", "agent:a/service:job", repo="o/r", tags=["x"])]
        for item in (*wanted, *kept):
            lay(double, engine, item)
        assert await forget_where(engine, repo="o/r", tags_any=["x"]) == 131
        assert sorted(held.text for held in double.log) == ["boxed", "untagged"]


async def test_a_filter_by_folder_spares_the_neighbour_whose_name_begins_alike() -> None:
    async with served() as (double, engine):
        gone = note("in it", folder="/home/u/proj/src")
        kept = note("beside it", folder="/home/u/proj-old")
        lay(double, engine, gone, kept)
        assert await forget_where(engine, folder="/home/u/proj") == 1
        assert [held.text for held in double.log] == ["beside it"]


async def test_events_of_other_programs_are_never_removed() -> None:
    async with served() as (double, engine):
        scope = "app:tinymemory/app:learnings"
        double.put(scope, "said by another program", ["tm:k:d4f0bc5a29de06b5"])
        lay(double, engine, *facts(2))
        assert await forget_where(engine, sources=["agent"]) == 2
        assert await forget_where(engine, reach=EVERYWHERE) == 0
        assert [held.text for held in double.held(scope)] == ["said by another program"]


async def test_an_error_part_way_leaves_forgotten_what_was_and_asking_again_does_the_rest() -> None:
    async with Racing() as double, aclosing(opened(double)) as engine:
        lay(double, engine, note("doc", tags=["x"]), fact("fact", tags=["x"]))
        double.race = lambda: double.failures.update(events=[(500, "INTERNAL")] * 3)
        with pytest.raises(Unavailable):
            await forget_where(engine, tags_any=["x"])
        assert [held.text for held in double.log] == ["fact"]
        assert await forget_where(engine, tags_any=["x"]) == 1


async def test_a_filter_of_named_nodes_asks_for_no_scopes() -> None:
    async with served(padding_scopes=1000) as (double, engine):
        lay(double, engine, *facts(2))
        assert await forget_where(engine, reach=AT_ROOT) == 2
        assert double.count("scopes") == 0


@pytest.mark.parametrize("layout", BOTH)
async def test_a_listing_of_scopes_that_was_cut_stops_every_removal_before_it_begins(layout: str) -> None:
    async with served(layout, padding_scopes=1000) as (double, engine):
        ids = lay(double, engine, *facts(2))
        for call in (
            engine.forget(ForgetTarget(ids=ids)),
            engine.forget(ForgetTarget(filter=MetaFilter(kinds=LEARNINGS))),
            engine.forget_within(ids, None),
            engine.erase(EraseRequest(reach=EVERYWHERE, kinds=LEARNINGS)),
        ):
            with pytest.raises(EngineFailure, match=r"(CortexDB|TinyHumans): the server cut its list"):
                await call
        assert len(double.log) == 2
        assert set(double.counts()) == {"scopes"}


# --- forgetting within a reach


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_within_a_reach_only_what_it_admits_is_forgotten(layout: str) -> None:
    async with served(layout) as (double, engine):
        items = [fact("r"), fact("a", "agent:a"), fact("b", "agent:b"), fact("boxed", "agent:a/service:job")]
        ids = lay(double, engine, *items)
        assert (await engine.forget_within(ids, Reach.exact(at("agent:c")))).forgotten == 0
        assert (await engine.forget_within(ids, Reach.subtree(at("agent:a")))).forgotten == 1
        assert (await engine.forget_within([*ids, ids[0]], None)).forgotten == 2
        assert [held.text for held in double.log] == ["boxed"]


# --- erasing


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_an_erase_takes_a_node_and_what_is_below_but_no_sandbox_deepest_first(layout: str) -> None:
    async with served(layout) as (double, engine):
        gone = [
            fact("a", "agent:a"),
            note("d", "agent:a"),
            fact("c", "agent:a/agent:c"),
            talk("t", namespace="agent:a"),
        ]
        kept = [fact("root"), fact("b", "agent:b"), fact("job", "agent:a/service:job")]
        lay(double, engine, *gone, *kept)
        report = await engine.erase(
            EraseRequest(reach=Reach.of(at("agent:a")).model_copy(update={"descendants": True}))
        )
        assert report.erased_scopes == 4
        assert len(report.receipts) == 4
        assert sorted(held.text for held in double.log) == ["b", "job", "root"]
        paths = [body["scope"] for body in double.bodies("erasures")]
        assert paths == [scope_of(engine, item) for item in (gone[2], gone[1], gone[3], gone[0])]
        hosted = "hosted" in layout
        assert all(("confirm_all" not in body) is hosted for body in double.bodies("erasures"))
        assert all("selector" not in body for body in double.bodies("erasures"))


async def test_an_erase_of_some_kinds_leaves_the_others() -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("fact"), note("note"), fact("below", "agent:a"))
        report = await engine.erase(EraseRequest(reach=EVERYWHERE, kinds=LEARNINGS))
        assert report.erased_scopes == 2
        assert [held.text for held in double.log] == ["note"]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_was_erased_and_is_stored_again_is_new(layout: str) -> None:
    async with served(layout) as (_, engine):
        items: list[StoreItem] = [fact("a", "agent:a"), fact("c", "agent:a/agent:c"), note("n", "agent:a")]
        await engine.store_many(items)
        await engine.erase(EraseRequest(reach=Reach.subtree(at("agent:a"))))
        assert [receipt.replayed for receipt in await engine.store_many(items)] == [False] * 3
        assert set(await listed(engine)) == {item.fingerprint() for item in items}


async def test_where_nothing_is_registered_nothing_is_erased() -> None:
    async with served() as (double, engine):
        report = await engine.erase(EraseRequest(reach=Reach.subtree(at("agent:a"))))
        assert (report.erased_scopes, report.receipts) == (0, [])
        assert set(double.counts()) == {"scopes"}


@pytest.mark.parametrize("layout", ["direct-legacy", "direct-scope_root"])
async def test_the_whole_tree_on_the_direct_wire_is_every_scope_of_the_layout(layout: str) -> None:
    async with served(layout) as (double, engine):
        lay(double, engine, fact("a"), note("b", "source:pdf"), fact("boxed", "agent:a/service:job"))
        double.put("user:someone/app:else", "not of the layout")
        report = await engine.erase(EraseRequest(reach=EVERYWHERE, whole_tree=True))
        assert report.erased_scopes == 3
        assert [held.text for held in double.log] == ["not of the layout"]


@pytest.mark.parametrize("layout", ["hosted-legacy", "hosted-scope_root", "hosted-tenant_root"])
async def test_the_whole_tree_on_the_hosted_wire_is_one_request(layout: str) -> None:
    async with served(layout) as (double, engine):
        lay(double, engine, fact("a"), note("b", "source:pdf"), fact("boxed", "agent:a/service:job"))
        double.put("org:acme/app:else", "of another program")
        report = await engine.erase(EraseRequest(reach=EVERYWHERE, kinds=list(ItemKind), whole_tree=True))
        assert (report.erased_scopes, report.receipts) == (4, [])
        assert double.requests == ["DELETE /memory"]
        assert len(double.log) == 0
        assert (await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)]))[0].total == 0


async def test_a_backend_that_erases_nothing_says_so() -> None:
    async with served("hosted-legacy", erase_all_missing=True, scoped_erase_missing=True) as (double, engine):
        lay(double, engine, fact("a"))
        for reach, whole in ((EVERYWHERE, True), (AT_ROOT, False)):
            with pytest.raises(Unsupported):
                await engine.erase(EraseRequest(reach=reach, whole_tree=whole))
        assert len(double.log) == 1


@pytest.mark.parametrize(
    ("knobs", "error"),
    [
        ({"erasure_ends_as": "failed"}, EngineFailure),
        ({"erasure_running_for": 2, "erasure_ends_as": "failed"}, EngineFailure),
        ({"failures": {"erasures": [(503, "UNAVAILABLE")]}}, Unavailable),
    ],
)
async def test_an_erasure_that_fails_stops_the_erase(knobs: dict[str, Any], error: type[Exception]) -> None:
    async with served(**knobs) as (double, engine):
        lay(double, engine, fact("a"), fact("b", "agent:b"))
        with pytest.raises(error):
            await engine.erase(EraseRequest(reach=EVERYWHERE, kinds=LEARNINGS))
        assert double.count("erasures") == 1
        assert len(double.log) == 2


async def test_an_erasure_under_way_is_waited_for() -> None:
    async with served(erasure_running_for=2) as (double, engine):
        lay(double, engine, fact("a"))
        report = await engine.erase(EraseRequest(reach=AT_ROOT))
        assert report.erased_scopes == 1
        assert len(double.log) == 0
        assert double.count("erasure") == 2


@pytest.mark.parametrize("status", ["pending", "queued", "accepted"])
async def test_an_erasure_that_waits_its_turn_is_waited_for(status: str) -> None:
    async with served(erasure_running_for=1, erasure_running_as=status) as (double, engine):
        lay(double, engine, fact("a"))
        assert (await engine.erase(EraseRequest(reach=AT_ROOT))).erased_scopes == 1
        assert len(double.log) == 0


async def test_an_erasure_without_a_status_is_done_and_a_poll_without_one_is_a_failure() -> None:
    async with served(erasure_post_omits_status=True) as (double, engine):
        lay(double, engine, fact("a"))
        assert (await engine.erase(EraseRequest(reach=AT_ROOT))).erased_scopes == 1
        assert double.count("erasure") == 0
    for knobs in ({"erasure_poll_omits_status": True}, {"erasure_poll_status": 7}, {"erasure_poll_status": "lost"}):
        async with served(erasure_running_for=2, **knobs) as (double, engine):
            lay(double, engine, fact("a"), note("b"))
            with pytest.raises(EngineFailure):
                await engine.erase(EraseRequest(reach=AT_ROOT))
            assert double.count("erasures") == 1


@pytest.mark.parametrize(
    "answer",
    [
        {"erased": False, "scopes": 1, "erasure_ids": ["e"]},
        {"erased": 1, "scopes": 1, "erasure_ids": ["e"]},
        {"erased": True, "scopes": -1},
        {"erased": True, "scopes": True},
        {"erased": True, "scopes": 1},
        {"erased": True, "scopes": 1, "erasure_ids": [7]},
        {"erased": True},
        [],
    ],
)
async def test_a_scoped_erasure_that_does_not_say_what_it_did_is_a_failure(answer: object) -> None:
    async with served("hosted-legacy", scoped_erase_answer=(200, answer)) as (double, engine):
        lay(double, engine, fact("a"), note("b"))
        with pytest.raises(EngineFailure):
            await engine.erase(EraseRequest(reach=AT_ROOT))
        assert double.count("erasures") == 1


async def test_a_scoped_erasure_that_took_nothing_needs_no_receipt() -> None:
    answer = {"erased": True, "scopes": 0, "erasure_ids": None}
    async with served("hosted-legacy", scoped_erase_answer=(200, answer)) as (double, engine):
        lay(double, engine, fact("a"))
        report = await engine.erase(EraseRequest(reach=AT_ROOT))
        assert (report.erased_scopes, report.receipts) == (0, [])


@pytest.mark.parametrize(
    "answer",
    [
        {"success": True, "data": {"erased": False, "scopes": 1}},
        {"success": True, "data": {"erased": True, "scopes": "1"}},
        {"success": True, "data": {"erased": True}},
        {"success": True},
        {"erased": True, "scopes": 1},
    ],
)
async def test_an_erasure_of_everything_that_does_not_say_what_it_did_is_a_failure(answer: object) -> None:
    async with served("hosted-legacy", erase_all_answer=(200, answer)) as (double, engine):
        with pytest.raises(EngineFailure):
            await engine.erase(EraseRequest(reach=EVERYWHERE, whole_tree=True))
        assert len(double.requests) == 1


async def test_hosted_an_incomplete_erasure_is_tried_again() -> None:
    async with served("hosted-legacy", erasure_incomplete=2) as (double, engine):
        lay(double, engine, fact("a"))
        assert (await engine.erase(EraseRequest(reach=AT_ROOT))).erased_scopes == 1
        assert double.count("erasures") == 3


# --- an erase that would take more than was asked for


def above_and_below() -> tuple[StoreItem, StoreItem]:
    return note("above", "source:github"), note("below", "source:github/project:api")


@pytest.mark.parametrize("layout", NEWER)
async def test_the_server_hides_what_is_below_an_erased_scope(layout: str) -> None:
    async with served(layout) as (double, engine):
        above, below = above_and_below()
        lay(double, engine, above, below)
        await engine._wire.erase(scope_of(engine, above))
        assert double.held(stored_at(double, engine, below)) == []


@pytest.mark.parametrize("layout", NEWER)
async def test_where_the_engine_does_not_refuse_what_lies_below_is_lost(
    layout: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(removing.Removing, "_refuse_hiding", lambda *_: None)
    async with served(layout) as (_, engine):
        above, below = above_and_below()
        await engine.store_many([above, below])
        await engine.erase(EraseRequest(reach=Reach.exact(at("source:github"))))
        assert await listed(engine) == []
        assert await engine.get(GetRequest(ids=[below.fingerprint()])) == []
        accepted = StoreOptions(wait=Wait.ACCEPTED)
        assert not (await engine.store_with(above, accepted)).replayed
        assert (await engine.store_with(below, accepted)).replayed, "its key is still taken"
        assert await listed(engine) == [above.fingerprint()], "and so it cannot be stored again either"


@pytest.mark.parametrize("layout", NEWER)
async def test_an_erase_that_would_hide_more_is_refused_before_anything_goes(layout: str) -> None:
    async with served(layout) as (double, engine):
        above, below = above_and_below()
        lay(double, engine, above, below)
        with pytest.raises(Unsupported) as caught:
            await engine.erase(EraseRequest(reach=Reach.exact(at("source:github"))))
        assert f"`{scope_of(engine, above)}`" in caught.value.text
        assert f"`{scope_of(engine, below)}`" in caught.value.text
        assert set(double.counts()) == {"scopes"}
        assert len(double.log) == 2
        assert await forget_where(engine, reach=Reach.exact(at("source:github"))) == 1
        assert [held.text for held in double.log] == ["below"]
        assert (await engine.erase(EraseRequest(reach=Reach.exact(at("source:github/project:api"))))).erased_scopes == 1


@pytest.mark.parametrize("layout", NEWER)
async def test_a_sandbox_or_a_foreign_scope_below_stops_an_erase_as_well(layout: str) -> None:
    async with served(layout) as (double, engine):
        above = note("above", "source:github")
        boxed = note("boxed", "source:github/service:job")
        lay(double, engine, above, boxed)
        subtree = EraseRequest(reach=Reach.subtree(at("source:github")))
        with pytest.raises(Unsupported, match="service:job"):
            await engine.erase(subtree)
        await forget_ids(engine, boxed.fingerprint())
        double.put(f"{stored_at(double, engine, above)}/app:else", "of another program")
        with pytest.raises(Unsupported, match="app:else"):
            await engine.erase(subtree)
        assert double.count("erasures") == 0
        assert sorted(held.text for held in double.log) == ["above", "of another program"]


@pytest.mark.parametrize("layout", NEWER)
async def test_what_lies_below_and_is_asked_for_too_goes_first(layout: str) -> None:
    async with served(layout) as (_, engine):
        above, below = above_and_below()
        await engine.store_many([above, below])
        report = await engine.erase(EraseRequest(reach=Reach.subtree(at("source:github"))))
        assert report.erased_scopes == 2
        receipts = await engine.store_many([above, below])
        assert [receipt.replayed for receipt in receipts] == [False, False]
        assert await listed(engine) == [item.fingerprint() for item in (above, below)]


@pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])
async def test_what_an_erase_would_hide_below_a_retired_root_stops_it_as_well(hosted: bool) -> None:
    async with CortexDouble() as double, AsyncExitStack() as stack:
        before = await stack.enter_async_context(aclosing(opened(double, hosted=hosted, scope_root="user:1")))
        engine = await stack.enter_async_context(
            aclosing(opened(double, hosted=hosted, scope_root="org:1", retired_scope_root="user:1"))
        )
        above, below = above_and_below()
        lay(double, engine, above)
        lay(double, before, above, below)
        with pytest.raises(Unsupported) as caught:
            await engine.erase(EraseRequest(reach=Reach.exact(at("source:github"))))
        assert f"`{scope_of(before, below)}`" in caught.value.text
        assert double.count("erasures") == 0
        assert len(double.log) == 3
        assert (await engine.erase(EraseRequest(reach=Reach.subtree(at("source:github"))))).erased_scopes == 3
        assert len(double.log) == 0


async def test_a_scope_with_the_same_name_elsewhere_is_not_below() -> None:
    async with served("hosted-tenant_root") as (double, engine):
        item, elsewhere = note("mine", "source:x"), note("not below", "ws:main/source:x/project:p")
        lay(double, engine, item, elsewhere)
        assert (await engine.erase(EraseRequest(reach=Reach.exact(at("source:x"))))).erased_scopes == 1
        assert [held.text for held in double.log] == ["not below"]


# --- a root that is no longer written to


@pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])
async def test_a_retired_root_is_forgotten_and_erased_with_the_new_one(hosted: bool) -> None:
    async with CortexDouble() as double, AsyncExitStack() as stack:
        before = await stack.enter_async_context(aclosing(opened(double, hosted=hosted, scope_root="user:1")))
        now = opened(double, hosted=hosted, scope_root="org:1", retired_scope_root="user:1")
        engine = await stack.enter_async_context(aclosing(now))

        def refill() -> list[ItemId]:
            both = fact("in both", tags=["x"])
            return [
                *lay(double, before, both, fact("old", "agent:a", tags=["x"])),
                *lay(double, now, both, fact("new", "agent:a", tags=["x"])),
            ]

        for _ in range(2):  # not having read anything, and having
            ids = refill()
            assert await forget_ids(engine, *ids) == 3
            assert len(double.log) == 0
            await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)])
        ids = refill()
        engine.refresh()
        await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)])
        assert await forget_ids(engine, *ids) == 3
        assert len(double.log) == 0
        refill()
        assert await forget_where(engine, tags_any=["x"]) == 3
        assert len(double.log) == 0
        ids = refill()
        assert (await engine.forget_within(ids, Reach.exact(at("")))).forgotten == 1
        assert len(double.log) == 2
        assert (await engine.erase(EraseRequest(reach=Reach.subtree(at("agent:a"))))).erased_scopes == 2
        assert len(double.log) == 0
        refill()
        assert (await engine.erase(EraseRequest(reach=EVERYWHERE, whole_tree=True))).erased_scopes == 4
        assert len(double.log) == 0


# --- what the window kept


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_what_was_removed_is_not_counted_from_what_was_read_before(layout: str) -> None:
    async with served(layout) as (double, engine):
        items = [fact("a"), fact("b", "agent:b"), fact("c", "agent:c"), note("d")]
        ids = lay(double, engine, *items)

        async def counted() -> int:
            return (await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)]))[0].total

        assert await counted() == 4
        await forget_ids(engine, ids[0])
        assert await counted() == 3
        await forget_where(engine, reach=Reach.exact(at("agent:b")))
        assert await counted() == 2
        await engine.erase(EraseRequest(reach=Reach.exact(at("agent:c"))))
        assert await counted() == 1
        assert await engine.get(GetRequest(ids=ids[:3])) == []
