"""Ranked reads: what packs are asked for, how they become one ranking, and which of them an answer rests on."""

from __future__ import annotations

from contextlib import AsyncExitStack, aclosing
from typing import Any

import pytest

from explorer.contract import (
    EngineFailure,
    FetchMode,
    FetchPage,
    FetchRequest,
    InvalidRequest,
    ItemKind,
    MemoryEngine,
    MetaFilter,
    NotFound,
    Reach,
    RecallAnswer,
    RecallRequest,
    TimeHint,
    Timestamp,
    Unavailable,
    Unsupported,
)
from explorer.engines.cortex.labels import narrowing
from explorer.engines.cortex.walking import write_cursor
from tests.doubles.cortexdb import CortexDouble
from tests.doubles.serving import Reply, Request
from tests.engines.cortex.flows import (
    LAYOUTS,
    at,
    fact,
    lay,
    long_note,
    meta,
    note,
    opened,
    put_at,
    scope_of,
    served,
    talk,
)

LEARNINGS = [ItemKind.LEARNING]
AT_ROOT = Reach.exact(at(""))


async def found(
    engine: MemoryEngine, query: str, limit: int = 10, cursor: str | None = None, **filter: Any
) -> FetchPage:
    req = FetchRequest(query=query, mode=FetchMode.HYBRID, filter=MetaFilter(**filter), limit=limit, cursor=cursor)
    return await engine.fetch(req)


async def told(engine: MemoryEngine, question: str, limit: int = 6, **filter: Any) -> RecallAnswer:
    return await engine.recall(RecallRequest(question=question, filter=MetaFilter(**filter), limit=limit))


# --- fetch


@pytest.mark.parametrize("mode", [FetchMode.KEYWORD, FetchMode.VECTOR])
async def test_only_hybrid_fetch_is_offered(mode: FetchMode) -> None:
    async with served() as (double, engine):
        with pytest.raises(Unsupported, match=f"does not offer {mode} fetch"):
            await engine.fetch(FetchRequest(query="tea", mode=mode, limit=1))
        assert double.requests == []


async def test_a_pack_is_asked_of_one_exact_scope_with_room_for_whole_events() -> None:
    async with served() as (double, engine):
        await found(engine, "tea", 5, reach=AT_ROOT, kinds=LEARNINGS)
        await found(engine, "tea", 5, write_cursor("f", {"offset": 5}), reach=AT_ROOT, kinds=LEARNINGS)
        await found(engine, "tea", 500, reach=AT_ROOT, kinds=LEARNINGS)
        first, second, third = double.bodies("recall")
        assert first == {
            "scope": "app:tinymemory/app:learnings",
            "query": "tea",
            "view": "granular",
            "include": ["events"],
            "budgets": {"max_tokens": 8_388_608, "per_layer_limits": {"events": 18}},
        }
        assert second["budgets"]["per_layer_limits"] == {"events": 33}
        assert third["budgets"]["per_layer_limits"] == {"events": 1000}
        await found(engine, "tea", 1, reach=AT_ROOT, kinds=LEARNINGS)
        assert double.bodies("recall")[-1]["budgets"]["max_tokens"] == 6 * 786_432


async def test_hits_are_scored_by_a_rank_that_counts_on_from_page_to_page() -> None:
    async with served() as (double, engine):
        items = [fact(f"tea {'leaf ' * (number % 2)}number {number}") for number in range(7)]
        lay(double, engine, *items)
        pages = [await found(engine, "tea leaf", 3)]
        while pages[-1].next_cursor is not None:
            pages.append(await found(engine, "tea leaf", 3, pages[-1].next_cursor))
        hits = [hit for page in pages for hit in page.hits]
        order = [items[number] for number in (5, 3, 1, 6, 4, 2, 0)]  # both words first, the newest among equals
        assert [hit.id for hit in hits] == [item.fingerprint() for item in order]
        assert [hit.score for hit in hits] == pytest.approx([1 / (1 + rank) for rank in range(7)])
        assert [len(page.hits) for page in pages] == [3, 3, 1]


async def test_an_item_of_many_events_does_not_hide_the_others() -> None:
    async with served() as (double, engine):
        others = [talk(f"tea of another {number}") for number in range(3)]
        long = talk(*(f"tea, turn {number}" for number in range(100)))
        lay(double, engine, *others, long)
        order = [long, *others[::-1]]
        page = await found(engine, "tea", 3, reach=AT_ROOT, kinds=[ItemKind.CONVERSATION])
        assert [hit.id for hit in page.hits] == [item.fingerprint() for item in order[:3]]
        assert [body["budgets"]["per_layer_limits"]["events"] for body in double.bodies("recall")] == [12, 48, 192]
        last = await found(engine, "tea", 3, page.next_cursor, reach=AT_ROOT, kinds=[ItemKind.CONVERSATION])
        assert [hit.id for hit in last.hits] == [order[3].fingerprint()]
        assert last.next_cursor is None


@pytest.mark.parametrize("cursor", ["", "f", "l7b7d", "f7b7d", write_cursor("f", {"offset": -1})])
async def test_a_text_that_is_no_cursor_of_a_fetch_is_refused_before_anything_is_asked(cursor: str) -> None:
    async with served() as (double, engine):
        with pytest.raises(InvalidRequest, match="unknown cursor"):
            await found(engine, "tea", 3, cursor)
        assert double.requests == []


async def test_the_packs_of_all_scopes_are_merged_rank_by_rank() -> None:
    async with served() as (double, engine):
        notes = [note("tea leaf milk"), note("tea leaf"), note("tea")]
        facts = [fact("tea leaf milk"), fact("tea")]
        below = [fact("tea leaf", "agent:a")]
        for items in (notes, facts, below):
            lay(double, engine, *items)
        page = await found(engine, "tea leaf milk")
        order = [notes[0], facts[0], below[0], notes[1], facts[1], notes[2]]
        assert [hit.id for hit in page.hits] == [item.fingerprint() for item in order]


async def test_scopes_are_asked_at_most_four_at_a_time() -> None:
    async with served(latency_ms=20) as (double, engine):
        lay(double, engine, *(fact("tea", f"agent:a{number}") for number in range(9)))
        assert len((await found(engine, "tea", 20)).hits) == 9
        assert 1 < double.peak <= 4


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_a_fetch_keeps_to_its_reach_and_out_of_sandboxes(layout: str) -> None:
    async with served(layout) as (double, engine):
        items = [fact("tea here", "agent:a"), fact("tea there", "agent:b"), fact("tea boxed", "agent:a/service:job")]
        lay(double, engine, *items)

        async def texts(**filter: Any) -> set[str]:
            return {hit.text for hit in (await found(engine, "tea", **filter)).hits}

        assert await texts() == {"tea here", "tea there"}
        assert await texts(reach=Reach.of(at("agent:a"))) == {"tea here"}
        assert await texts(reach=Reach.exact(at("agent:a/service:job"))) == {"tea boxed"}


async def test_a_filter_narrows_the_pack_and_is_applied_again_to_what_comes() -> None:
    async with served() as (double, engine):
        wanted, other = fact("tea wanted", repo="owner/repo", tags=["x"]), fact("tea other", repo="owner/repo")
        lay(double, engine, wanted, other, fact("tea elsewhere", repo="owner/other"))
        page = await found(engine, "tea", reach=AT_ROOT, kinds=LEARNINGS, repo="owner/repo", tags_any=["x"])
        assert [hit.id for hit in page.hits] == [wanted.fingerprint()]
        (body,) = double.bodies("recall")
        assert body["filters"] == {"metadata": {"labels": narrowing(MetaFilter(repo="owner/repo"))}}


async def test_a_conversation_is_found_whole_and_one_of_a_single_turn_without_a_lookup() -> None:
    async with served() as (double, engine):
        long, short = talk("which tea?", "green", "thanks"), talk("tea alone")
        lay(double, engine, short)
        page = await found(engine, "tea", reach=AT_ROOT)
        assert [hit.text for hit in page.hits] == ["user: tea alone"]
        assert double.count("events") == 0
        lay(double, engine, long)
        page = await found(engine, "tea green", reach=AT_ROOT)
        assert [hit.text for hit in page.hits] == [long.render_text(), short.render_text()]
        assert double.count("events") == 1


async def test_a_long_document_is_found_by_the_piece_with_its_place_and_title() -> None:
    async with served() as (double, engine):
        item = long_note(tags=["kept"])
        lay(double, engine, item)
        (hit,) = (await found(engine, "word2", reach=AT_ROOT)).hits
        assert hit.id == item.fingerprint()
        assert hit.meta.tags == ["kept", "page:2", "section:Part 2"]
        assert hit.text.startswith("# Handbook\n\n\f# Part 2")
        assert "word1" not in hit.text
        assert len(hit.text) > 200_000  # the server's own budget would have cut it


async def test_items_whose_texts_a_small_budget_would_cut_are_found_all_the_same() -> None:
    async with served(default_tokens=10) as (double, engine):
        tags = [f"tag number {number}" for number in range(1200)]  # more than labels hold: all of it is in the text
        items = [fact(f"tea number {number}", tags=tags) for number in range(3)]
        lay(double, engine, *items)
        assert all(held.text.startswith('{"v":2') for held in double.log)
        page = await found(engine, "tea", reach=AT_ROOT, kinds=LEARNINGS)
        assert [hit.meta.tags for hit in page.hits] == [tags] * 3


async def test_a_conversation_that_went_meanwhile_is_left_out() -> None:
    async with served() as (double, engine):
        lay(double, engine, talk("tea?", "green"))
        double.hide_listing = 1
        assert (await found(engine, "tea", reach=AT_ROOT)).hits == []


async def test_events_of_other_programs_are_not_found() -> None:
    async with served() as (double, engine):
        double.put("app:tinymemory/app:learnings", "tea of another")
        lay(double, engine, fact("tea of ours"))
        assert [hit.text for hit in (await found(engine, "tea")).hits] == ["tea of ours"]
        assert engine.details()[0].value == "1"


async def test_what_is_of_the_days_asked_about_comes_first() -> None:
    async with served() as (double, engine):
        then = Timestamp.parse("2026-01-02T03:04:05Z")
        dated, better = fact("tea then", observed_at=then), fact("tea leaf")
        lay(double, engine, dated, better)
        hint = TimeHint.model_validate({"from": "2026-01-02", "to": "2026-01-02"})
        req = FetchRequest(query="tea leaf", mode=FetchMode.HYBRID, limit=5)
        assert [hit.text for hit in (await engine.fetch(req)).hits] == ["tea leaf", "tea then"]
        hinted = req.model_copy(update={"refers_to": hint})
        assert [hit.text for hit in (await engine.fetch(hinted)).hits] == ["tea then", "tea leaf"]


async def test_an_item_that_a_retired_root_holds_too_is_found_once_as_the_new_root_has_it() -> None:
    async with CortexDouble() as double, AsyncExitStack() as stack:
        before = await stack.enter_async_context(aclosing(opened(double, scope_root="user:1")))
        now = opened(double, scope_root="org:1", retired_scope_root="user:1")
        engine = await stack.enter_async_context(aclosing(now))
        both, old = fact("tea leaf"), fact("tea of old")
        seen = both.model_copy(update={"meta": meta(observed_at="2026-01-02T03:04:05Z")})
        lay(double, before, old, both)
        lay(double, now, fact("tea leaf milk"), seen)
        hits = (await found(engine, "tea leaf milk")).hits
        assert [hit.text for hit in hits] == ["tea leaf milk", "tea of old", "tea leaf"]
        assert hits[-1].meta.observed_at is not None


async def test_a_server_that_cannot_rank_is_unavailable() -> None:
    async with served(recall_down=True) as (double, engine):
        with pytest.raises(Unavailable):
            await found(engine, "tea", reach=AT_ROOT, kinds=LEARNINGS)
        assert double.count("recall") == 3


# --- recall


async def test_where_nothing_is_stored_nothing_is_asked() -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("in a sandbox", "agent:a/service:job"))
        assert await told(engine, "tea?") == RecallAnswer(answer="")
        assert double.counts() == {"scopes": 1}


async def test_an_answer_asks_for_events_and_a_share_of_each_derived_layer() -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("tea is green"))
        await told(engine, "tea?", 6)
        (body,) = double.bodies("recall")
        assert body == {
            "scope": "app:tinymemory/app:learnings",
            "query": "tea?",
            "view": "granular",
            "include": ["events", "facts", "beliefs", "episodes", "understanding"],
            "budgets": {
                "max_tokens": 8_388_608,
                "per_layer_limits": {"events": 12, "facts": 2, "beliefs": 2, "episodes": 1, "understanding": 1},
            },
        }
        await told(engine, "tea?", 1)
        assert double.bodies("recall")[-1]["budgets"] == {
            "max_tokens": 3 * 786_432,
            "per_layer_limits": {"events": 2, "facts": 1, "beliefs": 0, "episodes": 0, "understanding": 0},
        }


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_the_answer_rests_on_the_pack_with_the_most_and_cites_all_of_them(layout: str) -> None:
    async with served(layout) as (double, engine):
        deep = [fact("tea one", "team:t/agent:a"), fact("tea two", "team:t/agent:a")]
        root = [fact("tea three"), fact("tea four"), fact("tea five")]
        lay(double, engine, *deep, *root, fact("coffee", "team:t"))
        said = await told(engine, "tea?", 4)
        assert (said.answer, said.model) == ("It is as the memory says.", "double-1")
        (body,) = double.bodies("answer")
        assert body["scope"] == scope_of(engine, root[0])
        order = [deep[1], root[2], deep[0], root[1]]  # the deepest node first, rank by rank
        assert [cited.id for cited in said.citations] == [item.fingerprint() for item in order]
        assert [cited.snippet for cited in said.citations] == ["tea two", "tea five", "tea one", "tea four"]
        assert {cited.score for cited in said.citations} == {None}


async def test_of_two_packs_alike_the_deeper_one_is_asked() -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("tea here"), below := fact("tea below", "agent:a"))
        await told(engine, "tea?")
        assert double.bodies("answer")[0]["scope"] == scope_of(engine, below)


async def test_what_the_filter_does_not_admit_is_neither_counted_nor_cited() -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("tea one"), fact("tea two"), below := fact("tea below", "agent:a", tags=["x"]))
        said = await told(engine, "tea?", tags_any=["x"])
        assert [cited.id for cited in said.citations] == [below.fingerprint()]
        assert double.bodies("answer")[0]["scope"] == scope_of(engine, below)


async def test_an_item_in_the_scope_of_another_kind_is_cited_but_not_found() -> None:
    async with served() as (double, engine):
        lay(double, engine, note("tea is stored"))
        put_at(double, "app:tinymemory/app:documents", stray := fact("tea astray"), stray.fingerprint())
        assert [hit.text for hit in (await found(engine, "tea")).hits] == ["tea is stored"]
        assert [cited.snippet for cited in (await told(engine, "tea?")).citations] == ["tea astray", "tea is stored"]


async def test_with_a_reach_its_nodes_are_asked_whether_registered_or_not() -> None:
    async with served() as (double, engine):
        said = await told(engine, "tea?", reach=Reach.of(at("agent:a")), kinds=LEARNINGS)
        assert said.citations == []
        scopes = [body["scope"] for body in double.bodies("recall")]
        assert sorted(scopes) == ["app:tinymemory/agent:a/app:learnings", "app:tinymemory/app:learnings"]
        assert double.count("scopes") == 0


async def test_a_piece_is_cited_with_its_place_and_without_the_title() -> None:
    async with served() as (double, engine):
        lay(double, engine, long_note())
        (cited,) = (await told(engine, "word3?")).citations
        assert cited.meta.tags == ["page:3", "section:Part 3"]
        assert cited.snippet.startswith("\f# Part 3")


@pytest.mark.parametrize("layout", ["direct-legacy", "hosted-legacy"])
async def test_instructions_are_passed_on(layout: str) -> None:
    async with served(layout) as (double, engine):
        lay(double, engine, fact("tea is green"))
        await engine.recall(RecallRequest(question="tea?", limit=2, instructions="in one word"))
        await engine.recall(RecallRequest(question="tea?", limit=2))
        first, second = double.bodies("answer")
        assert first["answer_instructions"] == "in one word"
        assert second.get("answer_instructions", "left out") == ("left out" if "hosted" in layout else None)


async def test_where_packs_expired_all_are_built_again_up_to_three_rounds() -> None:
    async with served(expire_packs=2) as (double, engine):
        lay(double, engine, fact("tea one"), fact("tea two", "agent:a"))
        assert (await told(engine, "tea?")).answer == "It is as the memory says."
        assert (double.count("recall"), double.count("answer")) == (6, 3)
        double.forget_requests()
        double.expire_packs = 3
        with pytest.raises(NotFound):
            await told(engine, "tea?")
        assert (double.count("recall"), double.count("answer")) == (6, 3)


async def test_a_removal_between_pack_and_answer_costs_a_round() -> None:
    class Racing(CortexDouble):
        """Another client forgets something just before the first answer."""

        async def _answer(self, request: Request) -> Reply:
            if request.path.endswith("/answer") and not self.count("answer"):
                self._drop_packs()
            return await super()._answer(request)

    async with Racing() as double, aclosing(opened(double)) as engine:
        lay(double, engine, fact("tea is green"))
        assert (await told(engine, "tea?")).answer
        assert (double.count("recall"), double.count("answer")) == (2, 2)


async def test_a_pack_without_an_id_is_a_failure_and_nothing_is_answered_from_it() -> None:
    async with served(packs_without_id=1) as (double, engine):
        lay(double, engine, fact("tea is green"))
        with pytest.raises(EngineFailure, match=r"CortexDB: .* no id"):
            await told(engine, "tea?")
        assert double.count("answer") == 0


async def test_an_answer_that_is_no_text_is_a_failure() -> None:
    async with served(answer=None) as (double, engine):
        lay(double, engine, fact("tea is green"))
        with pytest.raises(EngineFailure):
            await told(engine, "tea?")


async def test_a_blank_question_is_refused_before_anything_is_asked() -> None:
    async with served() as (double, engine):
        with pytest.raises(InvalidRequest):
            await told(engine, " ")
        with pytest.raises(InvalidRequest):
            await found(engine, " ")
        assert double.requests == []
