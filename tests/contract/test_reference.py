"""The reference engine, beyond what the conformance suite asks of every engine."""

from __future__ import annotations

from typing import Any

import pytest

from explorer.contract import (
    ConsolidateRequest,
    Consolidation,
    Conversation,
    Document,
    DocumentBody,
    EraseRequest,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    Hit,
    InvalidRequest,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
    Role,
    StoreItem,
    TimeHint,
    Turn,
    Unsupported,
)
from explorer.contract.reference import ReferenceEngine

EVERYTHING = Reach.subtree(Namespace.ROOT)
JOB = "agent:a/service:job"


def note(text: str, **meta: Any) -> Document:
    return Document(body=DocumentBody(text=text), meta=MemoryMeta.model_validate(meta))


async def holding(*items: StoreItem) -> ReferenceEngine:
    engine = ReferenceEngine()
    for item in items:
        await engine.store(item)
    return engine


async def texts(engine: ReferenceEngine, **filter: Any) -> list[str]:
    page = await engine.list(ListRequest(filter=MetaFilter.model_validate(filter), limit=1000))
    return [hit.text for hit in page.items]


def test_what_it_is() -> None:
    descriptor = ReferenceEngine().descriptor()
    assert (descriptor.id, descriptor.label) == ("reference", "Reference (in-memory)")
    assert (descriptor.hosted, descriptor.needs_endpoint, descriptor.needs_key) == (False, False, False)
    assert descriptor.default_endpoint is None
    assert descriptor.fetch_modes == list(FetchMode)
    assert descriptor.consolidation is Consolidation.ON_DEMAND
    descriptor.fetch_modes.clear()
    assert ReferenceEngine().descriptor().fetch_modes == list(FetchMode)


async def test_an_empty_engine_is_empty_but_there() -> None:
    engine = ReferenceEngine()
    assert engine.is_empty()
    assert len(engine) == 0
    assert engine  # so that `if engine:` does not mean "if it holds something"
    await engine.store(note("a"))
    assert not engine.is_empty()
    assert len(engine) == 1


# --- storing


async def test_a_replay_keeps_what_the_first_copy_said() -> None:
    first = note("a", observed_at="2026-10-04T09:30:00Z")
    engine = await holding(first)
    receipt = await engine.store(note("a", observed_at="2027-01-01T00:00:00Z", observed_actor={"id": "user:p"}))
    assert (receipt.id, receipt.replayed) == (first.fingerprint(), True)
    (hit,) = (await engine.list(ListRequest(limit=5))).items
    assert hit.meta == first.meta


async def test_a_batch_with_one_bad_item_stores_nothing() -> None:
    engine = ReferenceEngine()
    with pytest.raises(InvalidRequest):
        await engine.store_many([note("a"), note(" ")])
    with pytest.raises(InvalidRequest):
        await engine.store(note(" "))
    assert engine.is_empty()


async def test_what_it_holds_is_a_copy_of_its_own() -> None:
    item = Conversation(turns=[Turn(role=Role.USER, text="a")], meta=MemoryMeta(tags=["t"]))
    engine = await holding(item)
    item.turns.append(Turn(role=Role.USER, text="b"))
    item.meta.tags.append("u")

    async def spoil(*hits: Hit) -> None:
        for hit in hits:
            hit.meta.tags.append("v")

    everything = ListRequest(limit=5)
    (hit,) = (await engine.list(everything)).items
    assert (hit.text, hit.meta.tags) == ("user: a", ["t"])
    await spoil(hit, *(await engine.fetch(FetchRequest(query="a", mode=FetchMode.KEYWORD, limit=1))).hits)
    (citation,) = (await engine.recall(RecallRequest(question="a", limit=1))).citations
    citation.meta.tags.append("v")
    (exported,) = (await engine.export(everything)).items
    exported.item.meta.tags.append("v")
    assert isinstance(exported.item, Conversation)
    exported.item.turns.clear()
    (whole,) = await engine.get_items(GetRequest(ids=[hit.id]))
    assert whole.item == Conversation(turns=[Turn(role=Role.USER, text="a")], meta=MemoryMeta(tags=["t"]))
    assert whole.item.fingerprint() == hit.id


# --- listing


async def test_items_list_in_the_order_stored() -> None:
    engine = await holding(note("c"), note("a"), note("b"), note("c"))
    assert await texts(engine) == ["c", "a", "b"]
    await engine.forget(ForgetTarget(ids=[note("c").fingerprint()]))
    await engine.store(note("c"))
    assert await texts(engine) == ["a", "b", "c"]


async def test_cursors_are_offsets() -> None:
    engine = await holding(*(note(str(place)) for place in range(5)))

    async def page(cursor: str | None, limit: int = 2) -> tuple[list[str], str | None]:
        listed = await engine.list(ListRequest(limit=limit, cursor=cursor))
        exported = await engine.export(ListRequest(limit=limit, cursor=cursor))
        assert [hit.id for hit in listed.items] == [one.id for one in exported.items]
        assert listed.next_cursor == exported.next_cursor
        return [hit.text for hit in listed.items], listed.next_cursor

    assert await page(None) == (["0", "1"], "2")
    assert await page("2") == (["2", "3"], "4")
    assert await page("4") == (["4"], None)
    assert await page("5") == ([], None)
    assert await page("18446744073709551615") == ([], None)
    assert await page("0", limit=5) == (["0", "1", "2", "3", "4"], None)
    assert await page("0" * 5_000 + "4") == (["4"], None)
    assert await page("003", limit=2**64 - 1) == (["3", "4"], None)


@pytest.mark.parametrize("cursor", ["", "-1", "1.0", "x", " 1", "1_0", "²", "١", "18446744073709551616", "9" * 5_000])
async def test_what_is_no_cursor_is_refused(cursor: str) -> None:
    engine = await holding(note("a"))
    for call in (
        engine.list(ListRequest(limit=1, cursor=cursor)),
        engine.export(ListRequest(limit=1, cursor=cursor)),
        engine.fetch(FetchRequest(query="a", mode=FetchMode.HYBRID, limit=1, cursor=cursor)),
    ):
        with pytest.raises(InvalidRequest) as caught:
            await call
        assert caught.value.text == f"unknown cursor `{cursor}`"


@pytest.mark.parametrize(
    ("call", "said"),
    [
        (lambda e: e.list(ListRequest(limit=0)), "list limit must be positive"),
        (lambda e: e.export(ListRequest(limit=0)), "list limit must be positive"),
        (lambda e: e.fetch(FetchRequest(query="a", mode=FetchMode.VECTOR, limit=0)), "fetch limit must be positive"),
        (lambda e: e.fetch(FetchRequest(query="\n", mode=FetchMode.VECTOR, limit=1)), "fetch query must not be empty"),
        (
            lambda e: e.fetch(FetchRequest(query="a", mode=FetchMode.VECTOR, limit=1, max_scopes=0)),
            "fetch max_scopes must be positive",
        ),
        (lambda e: e.recall(RecallRequest(question=" ", limit=1)), "recall question must not be empty"),
        (lambda e: e.recall(RecallRequest(question="a", limit=0)), "recall limit must be positive"),
        (
            lambda e: e.fetch(
                FetchRequest(query="a", mode=FetchMode.VECTOR, limit=1, refers_to=_hint("2026-10-05", "2026-10-04"))
            ),
            "a time hint must not end before it begins",
        ),
        (
            lambda e: e.recall(
                RecallRequest(question="a", limit=1, refers_to=_hint("2026-10-04", "2026-10-04", "X/Y"))
            ),
            "`X/Y` is not a known time zone",
        ),
        (lambda e: e.explore(ExploreRequest(facet=Facet.TAG, limit=0)), "explore limit must be between 1 and 500"),
        (lambda e: e.forget(ForgetTarget(ids=[])), "forget needs at least one id"),
        (
            lambda e: e.forget(ForgetTarget(filter=MetaFilter())),
            "forget refuses an empty filter, which would mean everything",
        ),
    ],
)
async def test_what_is_refused(call: Any, said: str) -> None:
    engine = await holding(note("a"))
    with pytest.raises(InvalidRequest) as caught:
        await call(engine)
    assert caught.value.text == said
    assert len(engine) == 1


def _hint(first: str, last: str, zone: str | None = None) -> TimeHint:
    return TimeHint.model_validate({"from": first, "to": last, "zone": zone})


# --- ranking


async def found(engine: ReferenceEngine, query: str, mode: FetchMode = FetchMode.KEYWORD, **fields: Any) -> list[str]:
    page = await engine.fetch(FetchRequest(query=query, mode=mode, limit=50, **fields))
    return [hit.text for hit in page.hits]


async def test_the_best_comes_first_and_ties_in_the_order_stored() -> None:
    engine = await holding(note("sail"), note("mast"), note("sail the boat"), note("the boat"), note("Mast!"))
    assert await found(engine, "sail boat") == ["sail the boat", "sail", "the boat"]
    assert await found(engine, "MAST") == ["mast", "Mast!"]
    assert await found(engine, "?") == []
    page = await engine.fetch(FetchRequest(query="sail boat", mode=FetchMode.KEYWORD, limit=2))
    assert [(hit.text, hit.score) for hit in page.hits] == [("sail the boat", 1.0), ("sail", 0.5)]
    assert page.next_cursor == "2"
    rest = await engine.fetch(FetchRequest(query="sail boat", mode=FetchMode.KEYWORD, limit=2, cursor="2"))
    assert ([hit.text for hit in rest.hits], rest.next_cursor) == (["the boat"], None)


async def test_a_word_spelt_otherwise_is_near_but_not_the_same() -> None:
    engine = await holding(note("borrowing"), note("zzz qqq"))
    assert await found(engine, "borrow", FetchMode.KEYWORD) == []
    assert await found(engine, "borrow", FetchMode.VECTOR) == ["borrowing"]
    assert await found(engine, "borrow", FetchMode.HYBRID) == ["borrowing"]


async def test_titles_roles_and_tool_names_are_searched_too() -> None:
    titled = Document(title="Tide table", body=DocumentBody(text="at nine"))
    engine = await holding(titled, Conversation(turns=[Turn(role=Role.USER, text="ahoy")]))
    assert await found(engine, "tide") == ["# Tide table\n\nat nine"]
    assert await found(engine, "user") == ["user: ahoy"]


async def test_ranking_keeps_to_the_filter() -> None:
    engine = await holding(note("sail", workspace="w"), note("sail"), note("sail", namespace=JOB))
    assert len(await found(engine, "sail")) == 2
    assert len(await found(engine, "sail", filter=MetaFilter(workspace="w"))) == 1
    assert len(await found(engine, "sail", filter=MetaFilter(reach=Reach.exact(Namespace.parse(JOB))))) == 1


async def test_days_referred_to_come_first_but_nothing_is_lost() -> None:
    engine = await holding(
        note("sail boat now"),
        note("sail one", observed_at="2026-10-03T15:00:00Z"),
        note("sail boat two", observed_at="2026-10-04T12:00:00Z"),
        note("sail three", observed_at="2026-10-06T00:00:00Z"),
    )
    assert await found(engine, "sail boat") == ["sail boat now", "sail boat two", "sail one", "sail three"]
    hint = _hint("2026-10-04", "2026-10-05")
    lifted = ["sail boat two", "sail boat now", "sail one", "sail three"]
    assert await found(engine, "sail boat", refers_to=hint) == lifted
    in_tokyo = _hint("2026-10-04", "2026-10-05", "Asia/Tokyo")
    lifted = ["sail boat two", "sail one", "sail boat now", "sail three"]
    assert await found(engine, "sail boat", refers_to=in_tokyo) == lifted
    answer = await engine.recall(RecallRequest(question="sail boat", limit=1, refers_to=in_tokyo))
    assert [cited.snippet for cited in answer.citations] == ["sail boat now"]


async def test_a_mode_is_refused_before_the_rest_is_looked_at() -> None:
    class KeywordOnly(ReferenceEngine):
        def descriptor(self) -> Any:
            return super().descriptor().model_copy(update={"fetch_modes": [FetchMode.KEYWORD]})

    with pytest.raises(Unsupported) as caught:
        await KeywordOnly().fetch(FetchRequest(query="", mode=FetchMode.VECTOR, limit=0))
    assert caught.value.text == "engine `reference` does not offer vector fetch"


async def test_an_answer_names_what_it_rests_on() -> None:
    engine = await holding(note("sail"), note("sail boat"))
    answer = await engine.recall(RecallRequest(question="sail boat", limit=5, instructions=" "))
    assert answer.answer == "From 2 stored items: sail boat | sail"
    assert answer.model == "reference"
    assert [cited.snippet for cited in answer.citations] == ["sail boat", "sail"]
    best, second = (cited.score for cited in answer.citations)
    assert best is not None
    assert second is not None
    assert best == pytest.approx(1.0)
    assert second < best
    answer = await engine.recall(RecallRequest(question="boat", limit=1))
    assert answer.answer == "From 1 stored items: sail boat"
    answer = await engine.recall(RecallRequest(question="zzz", limit=1))
    assert (answer.answer, answer.citations) == ("Nothing stored answers this question.", [])


# --- forgetting and erasing


async def test_forgetting_by_id_goes_everywhere_by_filter_not_into_sandboxes() -> None:
    open_note, job_note = note("a", workspace="w"), note("b", workspace="w", namespace=JOB)
    engine = await holding(open_note, job_note)
    assert (await engine.forget(ForgetTarget(filter=MetaFilter(workspace="w")))).forgotten == 1
    assert len(engine) == 1
    ids = [job_note.fingerprint(), job_note.fingerprint(), ItemId("unknown"), ItemId("")]
    assert (await engine.forget(ForgetTarget(ids=ids))).forgotten == 1
    assert engine.is_empty()


def at(place: str) -> Namespace:
    return Namespace.parse(place)


async def test_an_erase_counts_pairs_of_node_and_kind() -> None:
    fact = Learning(text="c", kind=LearningKind.FACT, confidence=0.5, meta=MemoryMeta(namespace=at("agent:a")))
    engine = await holding(
        note("a", namespace="agent:a"),
        note("b", namespace="agent:a"),
        fact,
        note("d", namespace="agent:a/user:u"),
        note("e", namespace=JOB),
        note("f", namespace="agent:ab"),
        note("g"),
    )
    above = Reach(at=at("agent:a"), inherit=True, descendants=True)
    report = await engine.erase(EraseRequest(reach=above, kinds=[ItemKind.DOCUMENT], whole_tree=True))
    assert (report.erased_scopes, report.receipts) == (2, [])
    assert await texts(engine) == ["c", "f", "g"]
    assert await texts(engine, reach=Reach.exact(at(JOB))) == ["e"]
    report = await engine.erase(EraseRequest(reach=Reach.exact(at(JOB))))
    assert report.erased_scopes == 1
    assert not (await engine.store(note("e", namespace=JOB))).replayed
    assert (await engine.erase(EraseRequest(reach=Reach.exact(at("agent:x"))))).erased_scopes == 0


@pytest.mark.parametrize("kinds", [[], list(reversed(ItemKind))])
async def test_the_whole_tree_goes_only_when_it_is_meant_and_then_sandboxes_too(kinds: list[ItemKind]) -> None:
    engine = await holding(note("a"), note("b", namespace="agent:a"), note("c", namespace=JOB))
    with pytest.raises(InvalidRequest, match="needs whole_tree: true"):
        await engine.erase(EraseRequest(reach=EVERYTHING, kinds=kinds))
    assert len(engine) == 3
    report = await engine.erase(EraseRequest(reach=EVERYTHING, kinds=kinds, whole_tree=True))
    assert report.erased_scopes == 3
    assert engine.is_empty()


async def test_less_than_every_kind_of_the_tree_is_not_the_whole_tree() -> None:
    engine = await holding(note("a"), note("c", namespace=JOB))
    kinds = [ItemKind.DOCUMENT, ItemKind.LEARNING]
    assert (await engine.erase(EraseRequest(reach=EVERYTHING, kinds=kinds))).erased_scopes == 1
    assert len(engine) == 1
    assert (await engine.erase(EraseRequest(reach=Reach.of(Namespace.ROOT)))).erased_scopes == 0


# --- consolidation


async def consolidated(item: StoreItem) -> list[str]:
    engine = await holding(item)
    await engine.consolidate(ConsolidateRequest(reach=EVERYTHING))
    return await texts(engine, tags_any=["consolidated"])


@pytest.mark.parametrize(
    ("body", "sentence"),
    [
        ("One. Two.", "One."),
        ("  One\n\n  and\ta half! Two?", "One and a half!"),
        ("Why? Because.", "Why?"),
        ("v1.2 is out", "v1."),
        ("# Title\r\nText here\r\n## More\r\nand there.", "Text here and there."),
        ("# Title\n\n##  Part two. More", "Title Part two."),
        ("no end", "no end"),
        ("x" * 300, "x" * 240),
        ("x" * 239 + ". y", "x" * 239 + "."),
    ],
)
async def test_the_first_sentence_of_a_document(body: str, sentence: str) -> None:
    assert await consolidated(note(body)) == [sentence]


async def test_headings_without_words_say_nothing() -> None:
    assert await consolidated(note("###\n#")) == []


async def test_a_conversation_says_what_its_user_said_first() -> None:
    turns = [Turn(role=role, text=text) for role, text in ((Role.ASSISTANT, "Hello."), (Role.USER, "Tea please. Now."))]
    assert await consolidated(Conversation(turns=turns)) == ["Tea please."]
    assert await consolidated(Conversation(turns=turns[:1])) == []


async def test_consolidating_again_is_a_replay() -> None:
    source = note("One. Two.", namespace="agent:a", workspace="w", tags=["consolidated", "x"])
    engine = await holding(
        source,
        note("Three.", namespace="agent:a"),
        note("Four.", namespace="agent:b"),
        note("Five.", namespace=JOB),
        Learning(text="six.", kind=LearningKind.FACT, confidence=1.0),
    )
    both = [ItemKind.DOCUMENT, ItemKind.LEARNING]
    for _ in range(2):
        receipt = await engine.consolidate(ConsolidateRequest(reach=EVERYTHING, kinds=both))
        # Three beliefs at two nodes, for each of the two kinds asked about.
        assert (receipt.status, receipt.jobs, receipt.scopes, receipt.built) == ("completed", [], 4, 3)
        assert len(engine) == 8
    receipt = await engine.consolidate(ConsolidateRequest(reach=Reach.exact(at("agent:b"))))
    assert (receipt.scopes, receipt.built) == (3, 1)
    receipt = await engine.consolidate(ConsolidateRequest(reach=EVERYTHING, kinds=[ItemKind.LEARNING]))
    assert (receipt.scopes, receipt.built) == (0, 0)

    page = await engine.export(ListRequest(filter=MetaFilter(workspace="w", kinds=[ItemKind.LEARNING]), limit=9))
    (belief,) = (one.item for one in page.items)
    assert belief == Learning(
        text="One.", kind=LearningKind.FACT, confidence=0.5, evidence=source.fingerprint(), meta=source.meta
    )
    assert await texts(engine, tags_any=["consolidated"], reach=Reach.exact(at("agent:b"))) == ["Four."]
