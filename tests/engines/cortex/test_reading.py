"""Listing, reading by id, exporting and counting: what is asked of the server, and what comes of its answers."""

from __future__ import annotations

from collections import Counter
from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from explorer.contract import (
    EngineFailure,
    ExploreRequest,
    Facet,
    GetRequest,
    InvalidRequest,
    ItemId,
    ItemKind,
    ListRequest,
    MetaFilter,
    Reach,
    SourceKind,
    StoreItem,
    Unavailable,
)
from explorer.engines.cortex import reading, walking
from explorer.engines.cortex.labels import id_label, narrowing
from explorer.engines.cortex.walking import Bookmark, write_cursor
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.flows import (
    LAYOUTS,
    all_hits,
    at,
    fact,
    lay,
    listed,
    long_note,
    meta,
    mislabelled,
    note,
    opened,
    scope_of,
    served,
    talk,
)

EVERYWHERE = Reach.subtree(at(""))
UNKNOWN = ItemId("f" * 40)


def facts(count: int, namespace: str = "", start: int = 0) -> list[StoreItem]:
    return [fact(f"fact number {number}", namespace) for number in range(start, start + count)]


def ids_of(items: list[StoreItem]) -> list[ItemId]:
    return [item.fingerprint() for item in items]


def labels_of(double: CortexDouble) -> list[list[str]]:
    """The labels of each listing that was asked for."""
    return [each.params.get("labels", "").split(",") for each in double.asked if each.route == "events"]


# --- listing


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_listing_shows_each_item_once_by_kind_then_node_newest_first(layout: str) -> None:
    async with served(layout) as (double, engine):
        below = facts(130, "team:a/agent:b")
        notes = [note("a note"), note("of a source", "source:pdf")]
        talks = [talk("hello", "yes?"), talk("alone")]
        root = facts(3)
        for items in (below, notes, talks, root):
            lay(double, engine, *items)
        found = await listed(engine, 7)
        order = [*notes, *talks[::-1], *root[::-1], *below[::-1]]
        assert found == ids_of(order)


async def test_every_event_comes_twice_and_a_page_may_end_between_the_copies() -> None:
    async with served(max_page=3) as (double, engine):
        items = [talk("one", "two"), talk("three", "four"), talk("five")]
        lay(double, engine, *items)
        hits = await all_hits(engine, 1)
        assert [hit.text for hit in hits] == [item.render_text() for item in items[::-1]]


async def test_a_page_that_ends_with_the_listing_has_no_cursor() -> None:
    async with served() as (double, engine):
        lay(double, engine, *facts(4))
        page = await engine.list(ListRequest(limit=4))
        assert len(page.items) == 4
        assert page.next_cursor is None
        assert (await engine.list(ListRequest(limit=3))).next_cursor is not None


async def test_a_listing_asks_for_two_hundred_copies_a_page_of_one_exact_scope() -> None:
    async with served() as (double, engine):
        lay(double, engine, *facts(150))
        assert len(await listed(engine, 500, reach=Reach.exact(at("")), kinds=["learning"])) == 150
        asked = [each.params for each in double.asked]
        assert [(each["scope"], each["limit"]) for each in asked] == [("app:tinymemory/app:learnings", "200")] * 2
        assert double.unknown_params == []


async def test_what_comes_or_goes_between_two_pages_neither_repeats_nor_hides_an_item() -> None:
    async with served() as (double, engine):
        old = facts(10)
        ids = lay(double, engine, *old)
        first = await engine.list(ListRequest(limit=4))
        lay(double, engine, *facts(7, start=100))
        newest = double.held(scope_of(engine, old[0]))[9]
        double.log.drop(scope_of(engine, old[0]), [newest.id])  # shown on the first page
        rest = await engine.list(ListRequest(limit=50, cursor=first.next_cursor))
        assert [hit.id for hit in rest.items] == ids[5::-1]


async def test_a_listing_goes_on_with_the_next_scope_where_its_own_is_gone() -> None:
    async with served() as (double, engine):
        gone, left = facts(4, "agent:a"), facts(2, "agent:b")
        lay(double, engine, *gone, *left)
        first = await engine.list(ListRequest(limit=2))
        double.log.drop_all(scope_of(engine, gone[0]))
        rest = await engine.list(ListRequest(limit=9, cursor=first.next_cursor))
        assert [hit.id for hit in rest.items] == ids_of(left)[::-1]
        over = Bookmark("org:of/app:another").write()
        assert (await engine.list(ListRequest(limit=9, cursor=over))).items == []


@pytest.mark.parametrize(
    "cursor",
    ["", "l", "lzz", "l7", "l7b", "l7B7D", "f7b7d", "l7b7d", write_cursor("l", {"scope": "a", "offset": -1}), "l[]"],
)
async def test_a_text_that_is_no_cursor_is_refused_before_anything_is_asked(cursor: str) -> None:
    async with served() as (double, engine):
        with pytest.raises(InvalidRequest, match="unknown cursor"):
            await engine.list(ListRequest(limit=1, cursor=cursor))
        with pytest.raises(InvalidRequest, match="unknown cursor"):
            await engine.export(ListRequest(limit=1, cursor=cursor))
        assert double.requests == []


async def test_a_listing_without_descendants_asks_for_no_scopes_and_only_for_those_in_reach() -> None:
    async with served() as (double, engine):
        await engine.list(ListRequest(filter=MetaFilter(reach=Reach.of(at("team:a/agent:b"))), limit=9))
        scopes = [each.params["scope"] for each in double.asked]
        nodes = ["app:tinymemory", "app:tinymemory/team:a", "app:tinymemory/team:a/agent:b"]
        kinds = ["documents", "conversations", "learnings"]
        assert scopes == [f"{node}/app:{kind}" for kind in kinds for node in nodes]


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_listing_with_descendants_asks_once_for_the_scopes_and_keeps_out_of_sandboxes(layout: str) -> None:
    async with served(layout) as (double, engine):
        outer, inner = fact("outer", "agent:a"), fact("inner", "agent:a/service:job")
        lay(double, engine, outer, inner)
        assert await listed(engine) == ids_of([outer])
        assert double.count("scopes") == 1
        assert await listed(engine, reach=Reach.exact(at("agent:a/service:job"))) == ids_of([inner])
        assert await listed(engine, reach=Reach.subtree(at("agent:a/service:job"))) == ids_of([inner])
        assert await listed(engine, reach=Reach.subtree(at("agent:a"))) == ids_of([outer])


@pytest.mark.parametrize("layout", ["direct-scope_root", "hosted-tenant_root"])
async def test_documents_of_a_source_are_found_below_any_node_of_the_newer_layout(layout: str) -> None:
    async with served(layout) as (double, engine):
        items = [
            note("a", "team:t/source:pdf"),
            note("b", "team:t/source:pdf/project:p"),
            fact("c", "team:t/source:pdf"),
        ]
        lay(double, engine, *items)
        for node in ("", "team:t", "team:t/source:pdf"):
            assert set(await listed(engine, reach=Reach.subtree(at(node)))) == set(ids_of(items))
        assert await listed(engine, reach=Reach.subtree(at("team:t/source:pdf/project:p"))) == ids_of(items[1:2])


async def test_neighbours_that_the_server_lists_by_the_start_of_their_name_are_left_out() -> None:
    async with served(string_prefix_scopes=True) as (double, engine):
        wanted, neighbour = fact("mine", "agent:ann"), fact("not mine", "agent:anna")
        lay(double, engine, wanted, neighbour)
        assert await listed(engine, reach=Reach.subtree(at("agent:ann"))) == ids_of([wanted])
        assert all("anna" not in each.params.get("scope", "") for each in double.asked)


async def test_where_the_server_lists_no_scopes_the_known_ones_are_read() -> None:
    async with served(scopes_missing=True) as (double, engine):
        known, unknown = fact("at the root"), fact("below it", "agent:a")
        lay(double, engine, known, unknown)
        assert await listed(engine) == ids_of([known])


@pytest.mark.parametrize("strips_tenant", [False, True])
async def test_hosted_scopes_are_read_with_the_tenants_prefix_or_without(strips_tenant: bool) -> None:
    async with served("hosted-legacy", strips_tenant=strips_tenant) as (double, engine):
        lay(double, engine, item := fact("below", "agent:a"))
        assert await listed(engine) == ids_of([item])
        assert all(not each.params.get("scope", "").startswith("org:") for each in double.asked)


async def test_hosted_an_empty_prefix_is_not_sent() -> None:
    async with served("hosted-tenant_root") as (double, engine):
        lay(double, engine, item := fact("below", "agent:a"))
        assert await listed(engine) == ids_of([item])
        (scopes,) = [each for each in double.asked if each.route == "scopes"]
        assert "prefix" not in scopes.params


# --- filters


FIELDS: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
    "thread_id": ({"thread_id": "t1"}, {}),
    "source_id": ({"source_id": "s1"}, {}),
    "repo": ({"repo": "owner/repo"}, {}),
    "workspace": ({"workspace": "logical"}, {}),
    "absolute workspace": ({"workspace": "/Users/priya/proj"}, {}),
    "agent_id": ({"agent_id": "writer"}, {}),
    "language": ({"language": "rust"}, {}),
    "sources": ({}, {"sources": ["agent"]}),
    "redacted thread": ({"thread_id": "channel:whatsapp_+15551234567_x"}, {}),
}


@pytest.mark.parametrize("field", FIELDS)
async def test_a_filter_sends_the_label_of_one_field_and_is_applied_again_to_what_comes(field: str) -> None:
    on_item, more = FIELDS[field]
    async with served() as (double, engine):
        wanted, other = fact("wanted", **on_item), fact("other", **({} if on_item else {"source_id": "s"}))
        lay(double, engine, wanted, other)
        filter = MetaFilter(reach=Reach.exact(at("")), kinds=[ItemKind.LEARNING], **on_item, **more)
        # An event that carries the label by chance, as two values of one digest would.
        scope = scope_of(engine, other)
        held = double.held(scope)[1]
        double.log.drop(scope, [held.id])
        double.put(scope, held.text, [*held.labels, *narrowing(filter)])
        assert [hit.id for hit in (await engine.list(ListRequest(filter=filter, limit=9))).items] == ids_of([wanted])
        assert labels_of(double) == [narrowing(filter)]
        assert double.asked[0].request.query.count("labels=") == 1


async def test_several_source_kinds_are_asked_for_at_once() -> None:
    async with served() as (double, engine):
        await listed(engine, reach=Reach.exact(at("")), kinds=["learning"], sources=["file", "rss"])
        filter = MetaFilter(sources=[SourceKind.FILE, SourceKind.RSS])
        assert labels_of(double) == [narrowing(filter)]
        assert len(narrowing(filter)) == 2


async def test_an_item_is_found_by_the_folders_that_stayed_on_the_machine() -> None:
    async with served() as (double, engine):
        item = note("rules", file_path="/Users/priya/docs/guide.md", folder="/Users/priya/docs")
        lay(double, engine, item)
        for path in ("/Users/priya/docs/guide.md", "/Users/priya/docs/", "/Users", "guide.md"):
            assert await listed(engine, file_path=path) == ids_of([item])
        assert await listed(engine, folder="/Users/priya") == ids_of([item])
        assert await listed(engine, file_path="/Users/pri") == []
        (hit,) = await all_hits(engine)
        assert hit.meta.file_path == "guide.md"
        assert hit.meta.folder is None


# --- items of several events


async def test_conversations_are_put_together_at_most_four_lookups_at_a_time() -> None:
    async with served(listing_delay_ms=20) as (double, engine):
        items = [talk("ask", "answer", f"thanks {node}", namespace=f"agent:a{node}") for node in range(9)]
        lay(double, engine, *items)
        hits = await all_hits(engine, 50, kinds=["conversation"])
        assert [hit.text for hit in hits] == [item.render_text() for item in items]
        assert 1 < double.listings_peak <= 4


async def test_fifty_items_of_one_scope_are_put_together_by_one_lookup() -> None:
    async with served() as (double, engine):
        items = [talk("ask", f"answer {number}") for number in range(51)]
        lay(double, engine, *items)
        reach = Reach.exact(at(""))
        assert len(await listed(engine, 60, reach=reach, kinds=["conversation"])) == 51
        sizes = [len(labels) for labels in labels_of(double) if labels != [""]]
        assert sorted(sizes, reverse=True)[:1] == [50]
        assert {label for labels in labels_of(double) for label in labels} - {""} == {
            id_label(item.fingerprint()) for item in items
        }


async def test_items_of_one_event_need_no_lookup() -> None:
    async with served() as (double, engine):
        lay(double, engine, talk("one turn"), note("short"), fact("a fact"))
        assert len(await listed(engine, reach=Reach.exact(at("")))) == 3
        assert double.count("events") == 3


async def test_a_document_in_pieces_comes_back_whole() -> None:
    async with served() as (double, engine):
        item = long_note()
        lay(double, engine, item)
        assert len(double.held(scope_of(engine, item))) == 3
        (hit,) = await all_hits(engine)
        assert hit.text == item.render_text()
        assert hit.meta.tags == []


async def test_a_document_that_lacks_a_piece_is_left_out_and_an_export_names_it() -> None:
    async with served() as (double, engine):
        broken, whole = long_note("Broken"), note("short")
        lay(double, engine, whole)
        lay(double, engine, broken, only=(0, 2))
        page = await engine.list(ListRequest(limit=1))
        assert page.items == []  # short, and yet it goes on
        assert page.next_cursor is not None
        assert await listed(engine) == ids_of([whole])
        assert await engine.get(GetRequest(ids=ids_of([broken]))) == []
        exported = await engine.export(ListRequest(limit=9))
        assert exported.incomplete == ids_of([broken])
        assert [each.id for each in exported.items] == ids_of([whole])
        assert exported.items[0].item == whole


async def test_a_conversation_that_lacks_a_turn_is_shown_without_it_and_not_at_all_without_its_first() -> None:
    async with served() as (double, engine):
        late, early = talk("a", "b", "c"), talk("d", "e", "f")
        lay(double, engine, late, only=(0, 2))
        lay(double, engine, early, only=(1, 2))
        (hit,) = await all_hits(engine)
        assert hit.text == "user: a\nuser: c"


async def test_a_preview_has_the_same_items_order_and_cursors_without_a_lookup() -> None:
    async with served() as (double, engine):
        items = [long_note(), talk("ask", "answer"), fact("a fact"), note("short", title="Title")]
        lay(double, engine, *items)
        exact = MetaFilter(reach=Reach.exact(at("")))
        double.forget_requests()
        preview = await engine.list_preview(ListRequest(filter=exact, limit=3))
        assert double.count("events") == 3 - 1  # documents and conversations fill the page
        page = await engine.list(ListRequest(filter=exact, limit=3))
        assert [hit.id for hit in preview.items] == [hit.id for hit in page.items]
        assert preview.next_cursor == page.next_cursor
        texts = [hit.text for hit in preview.items]
        assert texts[0] == "# Title\n\nshort"
        assert texts[1].startswith("# Handbook\n\n# Part 1")
        assert len(texts[1]) < len(page.items[1].text)
        assert texts[2] == "user: ask"


# --- by id


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_items_are_read_by_id_in_the_order_asked_whole_and_as_they_were_stored(layout: str) -> None:
    async with served(layout) as (double, engine):
        items = [fact("f", "agent:a"), talk("ask", "answer", namespace="agent:b"), long_note(), note("n", "source:pdf")]
        ids = lay(double, engine, *items)
        asked = GetRequest(ids=[ids[2], UNKNOWN, ids[0], ids[3], ids[1], ids[2]])
        hits = await engine.get(asked)
        assert [hit.id for hit in hits] == [ids[2], ids[0], ids[3], ids[1]]
        assert [hit.score for hit in hits] == [0.0] * 4
        got = {each.id: each.item for each in await engine.get_items(asked)}
        assert got == dict(zip(ids, items, strict=True))


async def test_reading_by_id_ends_as_soon_as_all_are_found() -> None:
    async with served() as (double, engine):
        doc, other = note("a"), note("b")
        lay(double, engine, doc, other)
        await engine.get(GetRequest(ids=ids_of([doc, other]), reach=Reach.of(at("agent:a"))))
        assert double.count("events") == 1
        double.forget_requests()
        await engine.get(GetRequest(ids=[*ids_of([doc, other]), UNKNOWN], reach=Reach.of(at("agent:a"))))
        assert double.count("events") == 6
        assert labels_of(double)[-1] == [id_label(UNKNOWN)]  # those found are not asked for again


async def test_what_was_read_before_says_which_scopes_to_ask_first() -> None:
    async with served() as (double, engine):
        items = [fact(f"of {number}", f"agent:a{number}") for number in range(6)]
        ids = lay(double, engine, *items)
        await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)])
        double.forget_requests()
        hits = await engine.get(GetRequest(ids=[ids[4], ids[1]]))
        assert [hit.id for hit in hits] == [ids[4], ids[1]]
        assert double.counts() == {"events": 2}
        assert sorted(labels_of(double)) == sorted([[id_label(ids[4])], [id_label(ids[1])]])
        double.log.drop_all(scope_of(engine, items[4]))
        assert [hit.id for hit in await engine.get(GetRequest(ids=[ids[4], ids[1]]))] == [ids[1]]


async def test_reading_by_id_keeps_to_its_reach() -> None:
    async with served() as (double, engine):
        inside, outside, sandboxed = fact("i", "agent:a"), fact("o", "agent:b"), fact("s", "agent:a/service:job")
        ids = lay(double, engine, inside, outside, sandboxed)

        async def got(reach: Reach | None) -> list[ItemId]:
            return [hit.id for hit in await engine.get(GetRequest(ids=ids, reach=reach))]

        assert await got(Reach.of(at("agent:a"))) == ids[:1]
        assert await got(None) == ids[:2]
        assert await got(Reach.exact(at("agent:a/service:job"))) == ids[2:]


async def test_two_hundred_ids_are_looked_up_fifty_at_a_time() -> None:
    async with served(listing_delay_ms=20) as (double, engine):
        items = facts(200)
        ids = lay(double, engine, *items)
        hits = await engine.get(GetRequest(ids=ids, reach=Reach.exact(at(""))))
        assert [hit.id for hit in hits] == ids
        assert {len(labels) for labels in labels_of(double)} == {50}
        assert 1 < double.listings_peak <= 4


async def test_another_item_with_the_same_label_is_not_taken_for_the_one_asked_for() -> None:
    async with served() as (double, engine):
        wanted, _ = mislabelled(double, engine)
        assert [hit.text for hit in await engine.get(GetRequest(ids=[wanted]))] == ["wanted"]


# --- export


async def test_an_export_needs_every_scope_named_a_listing_does_not(caplog: pytest.LogCaptureFixture) -> None:
    async with served(padding_scopes=1000) as (double, engine):
        lay(double, engine, item := fact("at the root"))
        with pytest.raises(EngineFailure, match=r"(CortexDB|TinyHumans): the server cut its list"):
            await engine.export(ListRequest(limit=9))
        assert double.count("events") == 0
        page = await engine.list(ListRequest(filter=MetaFilter(kinds=[ItemKind.DOCUMENT]), limit=9))
        assert page.items == []
        assert "cut its list" in caplog.text
        documents = MetaFilter(kinds=[ItemKind.DOCUMENT])
        assert (await engine.explore(ExploreRequest(facet=Facet.KIND, filter=documents, limit=9))).truncated
        exact = MetaFilter(reach=Reach.exact(at("")))
        assert [each.item for each in (await engine.export(ListRequest(filter=exact, limit=9))).items] == [item]


# --- other programs' events, and servers that misbehave


async def test_events_of_other_programs_are_skipped_and_each_is_counted_once() -> None:
    async with served() as (double, engine):
        scope = "app:tinymemory/app:learnings"
        double.put(scope, "said by an agent of its own", ["topic:tea"])
        double.put(scope, '{"v":2,"id":"x","kind":"robot"}')
        lay(double, engine, item := fact("ours"))
        for _ in range(2):
            assert await listed(engine) == ids_of([item])
        assert {detail.name: detail.value for detail in engine.details()} == {"Events of other programs": "2"}
        assert len(double.held(scope)) == 3


async def test_an_item_in_the_scope_of_another_kind_is_not_shown() -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("ours"))
        held = double.held("app:tinymemory/app:learnings")[0]
        double.put("app:tinymemory/app:documents", held.text, held.labels)
        assert len(await all_hits(engine)) == 1


async def test_a_listing_that_names_the_cursor_it_was_asked_with_is_a_failure() -> None:
    async with served(repeat_cursor=True) as (double, engine):
        lay(double, engine, *facts(3))
        for call in (
            engine.list(ListRequest(limit=9)),
            engine.export(ListRequest(limit=9)),
            engine.explore(ExploreRequest(facet=Facet.KIND, limit=9)),
            engine.get(GetRequest(ids=[UNKNOWN])),
        ):
            with pytest.raises(EngineFailure, match=r"CortexDB: .* no end"):
                await call


async def test_a_listing_without_end_is_given_up_and_counting_says_that_it_was_cut(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    assert walking.MAX_PAGES == 500
    for module in (walking, reading):
        monkeypatch.setattr(module, "MAX_PAGES", 20)
    async with served(endless_listing=True) as (double, engine):
        lay(double, engine, *facts(3))
        exact = MetaFilter(reach=Reach.exact(at("")), kinds=[ItemKind.LEARNING])
        with pytest.raises(EngineFailure, match=r"CortexDB: .* no end"):
            await engine.list(ListRequest(filter=exact, limit=9))
        assert double.count("events") == 21
        double.forget_requests()
        page = await engine.explore(ExploreRequest(facet=Facet.KIND, filter=exact, limit=9))
        assert (page.total, page.truncated) == (3, True)
        assert double.count("events") == 20


@pytest.mark.parametrize("layout", ["direct-legacy", "hosted-legacy"])
async def test_a_listing_outlasts_a_rate_limit_and_a_change_of_rights(layout: str) -> None:
    async with served(layout, rate_limit_events=2) as (double, engine):
        lay(double, engine, item := fact("ours"))
        exact = {"reach": Reach.exact(at("")), "kinds": ["learning"]}
        assert await listed(engine, **exact) == ids_of([item])
        assert double.count("events") == 3
        double.rate_limit_events = 3
        with pytest.raises(Unavailable):
            await listed(engine, **exact)


async def test_a_change_of_rights_is_asked_about_six_times() -> None:
    async with served(state_change_events=5) as (double, engine):
        lay(double, engine, item := fact("ours"))
        exact = {"reach": Reach.exact(at("")), "kinds": ["learning"]}
        assert await listed(engine, **exact) == ids_of([item])
        double.state_change_events = 6
        with pytest.raises(Unavailable):
            await listed(engine, **exact)


async def test_what_is_not_listed_yet_is_listed_later() -> None:
    async with served() as (double, engine):
        lay(double, engine, item := fact("ours"))
        exact = {"reach": Reach.exact(at("")), "kinds": ["learning"]}
        double.hide_listing = 1
        assert await listed(engine, **exact) == []
        assert await listed(engine, **exact) == ids_of([item])


# --- counting


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_counts_are_those_of_the_listing_four_scopes_at_a_time_without_a_lookup(layout: str) -> None:
    async with served(layout, listing_delay_ms=20) as (double, engine):
        items: list[StoreItem] = [
            *(fact(f"of {number}", f"agent:a{number}", tags=["x", "x", f"y{number % 2}"]) for number in range(6)),
            talk("ask", "answer", "thanks", tags=["x"]),
            long_note(),
            note("hidden", "agent:a1/service:job", tags=["x"]),
        ]
        lay(double, engine, *items)
        page = await engine.explore(ExploreRequest(facet=Facet.TAG, limit=2))
        assert [(bucket.value, bucket.count) for bucket in page.buckets] == [("x", 7), ("y0", 3)]
        assert (page.total, page.missing, page.more_buckets, page.truncated) == (8, 1, 1, False)
        assert 1 < double.listings_peak <= 4
        scopes = Counter(each.params["scope"] for each in double.asked if each.route == "events")
        assert set(scopes.values()) == {1}
        assert (
            await engine.explore(ExploreRequest(facet=Facet.KIND, limit=9))
            == (await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)]))[0]
        )


async def test_an_item_is_counted_by_the_event_that_starts_it() -> None:
    async with served() as (double, engine):
        lay(double, engine, long_note("Whole"))
        lay(double, engine, long_note("Without its end"), only=(0, 1))
        lay(double, engine, long_note("Without its start"), only=(1, 2))
        page = await engine.explore(ExploreRequest(facet=Facet.KIND, limit=9))
        assert (page.total, page.truncated) == (2, False)


async def test_counting_ends_at_its_limit_and_says_so_only_where_there_is_more() -> None:
    async with served() as (double, engine):
        lay(double, engine, *facts(250))
        exact = MetaFilter(reach=Reach.exact(at("")), kinds=[ItemKind.LEARNING])

        async def counted(scan_limit: int) -> tuple[int, bool, int]:
            double.forget_requests()
            page = await engine.explore(ExploreRequest(facet=Facet.KIND, filter=exact, limit=9, scan_limit=scan_limit))
            return page.total, page.truncated, double.count("events")

        assert await counted(250) == (250, False, 3)
        assert await counted(249) == (249, True, 3)
        assert await counted(40) == (40, True, 1)


# --- a root that is no longer written to


@pytest.mark.parametrize("hosted", [False, True], ids=["direct", "hosted"])
async def test_a_retired_root_is_read_beside_the_new_one_each_item_once_and_never_written(hosted: bool) -> None:
    async with CortexDouble() as double, AsyncExitStack() as stack:
        before = await stack.enter_async_context(aclosing(opened(double, hosted=hosted, scope_root="user:1")))
        now = opened(double, hosted=hosted, scope_root="org:1", retired_scope_root="user:1")
        engine = await stack.enter_async_context(aclosing(now))
        both, old, new = fact("in both", tags=["b"]), fact("only old", "agent:a"), fact("only new", "agent:b")
        both_again = both.model_copy(update={"meta": meta(tags=["b"], observed_at="2026-01-02T03:04:05Z")})
        talks = talk("asked before", "answered")
        lay(double, before, both, old, talks)
        lay(double, now, both_again, new)
        ids = ids_of([talks, both, old, new])
        assert await listed(engine, 1) == ids
        assert await listed(engine) == ids
        hits = await engine.get(GetRequest(ids=ids[::-1]))
        assert [hit.id for hit in hits] == ids[::-1]
        assert hits[2].meta.observed_at is not None  # the new root's copy
        assert {hit.id: hit.meta.observed_at for hit in await all_hits(engine)}[ids[1]] is not None
        exported = await engine.export(ListRequest(limit=9))
        assert [each.id for each in exported.items] == ids
        page = await engine.explore(ExploreRequest(facet=Facet.NAMESPACE, limit=9))
        assert {bucket.value: bucket.count for bucket in page.buckets} == {"root": 2, "agent:a": 1, "agent:b": 1}
        old_paths = [path for path in double.log.scopes() if "user:1" in path]
        held = {path: double.held(path) for path in old_paths}
        await engine.store_many([fact("stored now"), both, old, talks])
        assert {path: double.held(path) for path in double.log.scopes() if "user:1" in path} == held
        bodies = [*double.bodies("experience"), *(body for bulk in double.bodies("bulk") for body in bulk["items"])]
        written = [body["scope"] for body in bodies]
        assert written
        assert all(path.startswith("org:1/") for path in written)
        assert await listed(engine) == [ids[0], fact("stored now").fingerprint(), *ids[1:]]


async def test_what_a_new_root_holds_without_its_beginning_is_shown_as_the_retired_one_has_it() -> None:
    async with CortexDouble() as double, AsyncExitStack() as stack:
        before = await stack.enter_async_context(aclosing(opened(double, scope_root="user:1")))
        now = opened(double, scope_root="org:1", retired_scope_root="user:1")
        engine = await stack.enter_async_context(aclosing(now))
        (id,) = lay(double, before, both := talk("asked", "answered"))
        lay(double, now, both, only=[1])
        assert await listed(engine) == [id]
        lay(double, now, both, only=[0])
        assert await listed(engine) == [id]
