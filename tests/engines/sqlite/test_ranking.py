"""Hybrid ranking: what it finds, what each part counts, freshness, and pages that go on as they began."""

from __future__ import annotations

import random
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest

from explorer.contract import (
    PROFILES,
    FetchMode,
    FetchPage,
    FetchRequest,
    Hit,
    MetaFilter,
    StoreItem,
    Timestamp,
    WeightProfile,
)
from explorer.engines.config import EngineSettings
from explorer.engines.sqlite import SqliteEngine, build, ranking
from explorer.engines.sqlite.ranking import EMBEDDED
from tests.engines.sqlite.support import fill, note, opened, vectors_made
from tests.engines.sqlite.word_vectors import WordVectors

BALANCED = PROFILES["balanced"]
NOW = 1_800_000_000.0
DAY = 86_400


def dated(text: str, days: float | None) -> StoreItem:
    """A note of so many days before `NOW`."""
    at = None if days is None else Timestamp.from_unix_ns(int((NOW - days * DAY) * 10**9))
    return note(text, observed_at=at)


async def page(engine: SqliteEngine, query: str, mode: str = "hybrid", limit: int = 50, **options: object) -> FetchPage:
    req = FetchRequest.model_validate({"query": query, "mode": mode, "limit": limit, **options})
    return await engine.fetch(req)


async def texts(engine: SqliteEngine, query: str, mode: str = "hybrid", **options: object) -> list[str]:
    return [hit.text for hit in (await page(engine, query, mode, **options)).hits]


async def test_hybrid_finds_what_either_part_finds(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors(2_000)) as engine:
        await fill(engine, [note("any feline naps"), note("a cat"), note("category theory"), note("oak tables")])
        assert set(await texts(engine, "cat")) == {"a cat", "any feline naps", "category theory"}
        assert await texts(engine, "cat", "vector") == ["a cat", "any feline naps"]
        assert await texts(engine, "cat", "keyword") == ["a cat", "category theory"]
        assert (await texts(engine, "cat"))[0] == "a cat"
        for mode in FetchMode:
            assert await texts(engine, "zebra", mode) == []
            assert await texts(engine, "?!", mode) == []


async def test_filter_holds_inside_the_ranking(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [note(f"cat {number}", workspace="many") for number in range(80)])
        await fill(engine, [note("one feline and much else that is not about it at all", workspace="few")])
        for mode in ("vector", "hybrid"):
            (found,) = await texts(engine, "cat", mode, filter={"workspace": "few"}, limit=3)
            assert found.startswith("one feline")


async def test_best_by_both_is_looked_at_though_first_by_neither(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(ranking, "_LOOKED_AT", 5)
    both = "2024 17 33 feline pond willow moss"  # numbers have no meaning to the vectors
    items = [
        note(both),
        *(note(f"2024 2024 2024 17 17 17 33 33 33 {number}") for number in range(8)),
        *(note(f"feline pond willow moss {number}") for number in range(8)),
        *(note(f"reed {number}") for number in range(30)),
    ]
    query = "2024 17 33 cat"
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, items)
        for mode in ("keyword", "vector"):
            assert both not in (await texts(engine, query, mode))[:5]
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=PROFILES["semantic"]) as engine:
        first, second = (await engine.fetch_explained(FetchRequest(query=query, mode=FetchMode.HYBRID, limit=2))).hits
        assert first.hit.text == both
        assert first.breakdown.keyword_relevance > 0.1  # of its passage too, not the index's lower bound
        assert second.breakdown.keyword_relevance == 0


async def test_words_of_one_passage_count_more_than_words_apart(folder: Path) -> None:
    filler = "Nothing of the kind is said in this sentence or the next one. " * 20
    async with opened(folder / "memory.db") as engine:
        await fill(
            engine,
            [
                note(f"Silver {filler} otter {filler} bridge"),
                note(f"{filler} Silver otter bridge {filler}"),
                note(f"Silver {filler} otter {filler} bridge again"),
                *(note(f"{filler} {number}") for number in range(5)),
            ],
        )
        assert "Silver otter bridge" in (await texts(engine, "bridge of the silver otter", "keyword"))[0]


async def test_item_that_holds_all_words_beats_one_that_repeats_some(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        await fill(engine, [note("tin tin tin tin lamp lamp lamp"), note("a tin lamp and a rug"), note("x"), note("y")])
        assert (await texts(engine, "rug lamp tin", "keyword"))[0] == "a tin lamp and a rug"


async def test_scores_are_within_0_and_1_and_the_parts_mode_is_its_own_score(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [note("red fox"), note("red fox red fox"), note("fox"), note("feline fox")])
        for mode in FetchMode:
            hits = (await page(engine, "red fox cat", mode)).hits
            assert hits
            assert all(0 < hit.score <= 1 for hit in hits)
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


# --- profiles and freshness ---


@pytest.mark.parametrize(
    ("setting", "profile"),
    [(None, EMBEDDED), ("", EMBEDDED), *PROFILES.items(), ("no such", BALANCED)],
)
async def test_profile_is_a_setting(folder: Path, setting: str | None, profile: WeightProfile) -> None:
    settings = EngineSettings(path=folder / "memory.db", profile=setting)
    engine = build(settings)
    try:
        await fill(engine, [note("a pear")])
        req = FetchRequest(query="pear", mode=FetchMode.HYBRID, limit=1)
        assert (await engine.fetch_explained(req)).profile == profile
    finally:
        await engine.aclose()


async def test_profile_weighs_the_parts_of_a_hybrid_read_only(folder: Path) -> None:
    items = [dated("cat cat cat", None), dated("feline", 0)]
    async with opened(folder / "memory.db", embedder=WordVectors(), clock=lambda: NOW) as engine:
        await fill(engine, items)
        await vectors_made(engine)
    orders = {}
    for name in ("lexical", "balanced"):
        options = {"embedder": WordVectors(), "profile": PROFILES[name], "clock": lambda: NOW}
        async with opened(folder / "memory.db", **options) as engine:
            orders[name] = [await texts(engine, "cat extra", mode) for mode in FetchMode]
    assert orders["lexical"][2] == ["cat cat cat", "feline"]
    assert orders["balanced"][2] == ["feline", "cat cat cat"]  # as near, not as good by words, but fresh
    assert orders["lexical"][:2] == orders["balanced"][:2]


async def test_newer_of_equals_comes_first_only_where_freshness_counts(folder: Path) -> None:
    ages = {"old": 30, "new": 1, "undated": None, "oldest": 90}
    items = [
        dated("oak", days).model_copy(update={"meta": dated("oak", days).meta.model_copy(update={"workspace": name})})
        for name, days in ages.items()
    ]
    orders = []
    for profile in (BALANCED, None):
        async with opened(folder / "memory.db", embedder=WordVectors(), profile=profile, clock=lambda: NOW) as engine:
            await fill(engine, items)
            await vectors_made(engine)
            # Not the query as one phrase, which would not age.
            orders.append([hit.meta.workspace for hit in (await page(engine, "table oak")).hits])
    assert orders == [["new", "old", "oldest", "undated"], ["oldest", "undated", "new", "old"]]


@pytest.mark.parametrize("seed", range(12))
async def test_whole_phrase_stays_among_the_first_five_at_any_age(folder: Path, seed: int) -> None:
    """Property: with freshness on, an item that holds the query as a phrase is among the first 5 if it is without."""
    rand = random.Random(seed)
    words = ["amber", "brook", "cedar", "delta", "ember", "fjord"]
    items = {
        " ".join(rand.choices(words, k=rand.randint(1, 9))): rand.choice([None, 0, 0, 1, 5, 20, 400]) for _ in range(60)
    }
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [dated(text, days) for text, days in items.items()])
        await vectors_made(engine)
    without = BALANCED.model_copy(update={"freshness": 0.0})
    queries = [" ".join(rand.choices(words, k=size)) for size in (1, 1, 2, 2, 2, 3, 3) for _ in range(3)]
    found = []
    for profile in (without, BALANCED):
        async with opened(folder / "memory.db", embedder=WordVectors(), profile=profile, clock=lambda: NOW) as engine:
            found.append([await texts(engine, query, limit=100) for query in queries])
    changed = checked = 0
    for query, off, on in zip(queries, *found, strict=True):
        assert set(off) == set(on)
        changed += off != on
        for text in off[:5]:
            if f" {query} " in f" {text} ":
                checked += 1
                assert text in on[:5], (query, text, off[:5], on[:5])
    assert changed > 5
    assert checked > 5


async def test_long_text_that_holds_the_phrase_does_not_age_either(folder: Path) -> None:
    long = "filler words of no use " * 9_000
    items = [
        dated(f"{long} amber brook {long}", 400),
        *(dated(f"amber and a brook {number}", 0) for number in range(4)),
    ]
    without = BALANCED.model_copy(update={"freshness": 0.0})
    ranks = []
    for profile in (without, BALANCED):
        async with opened(folder / "memory.db", embedder=WordVectors(), profile=profile, clock=lambda: NOW) as engine:
            await fill(engine, items)
            hits = (await page(engine, "amber brook", limit=5)).hits
            ranks.append([len(hit.text) > 400_000 for hit in hits].index(True))
    assert ranks[1] <= ranks[0]


# --- the days a question refers to, and pages ---


async def test_hinted_days_come_first_in_hybrid_too(folder: Path) -> None:
    items = [dated("cat cat", 3), dated("one feline", 40), dated("cat", 40), dated("cat cat cat", None)]
    day = Timestamp.from_unix_ns(int((NOW - 40 * DAY) * 10**9)).date().isoformat()
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, items)
        found = await page(engine, "cat", refers_to={"from": day, "to": day})
        assert {hit.text for hit in found.hits[:2]} == {"one feline", "cat"}
        for hits in (found.hits[:2], found.hits[2:]):
            assert [hit.score for hit in hits] == sorted((hit.score for hit in hits), reverse=True)


async def all_pages(engine: SqliteEngine, query: str, limit: int, mode: str = "hybrid") -> list[Hit]:
    hits: list[Hit] = []
    cursor = None
    while True:
        found = await page(engine, query, mode, limit, cursor=cursor)
        hits += found.hits
        cursor = found.next_cursor
        if cursor is None:
            return hits


@pytest.mark.parametrize("mode", ["vector", "hybrid"])
async def test_pages_are_the_whole_ranking_each_hit_once(folder: Path, mode: str) -> None:
    rand = random.Random(3)
    words = ["amber", "brook", "cat", "feline", "delta"]
    items = {" ".join(rand.choices(words, k=rand.randint(1, 6))) for _ in range(150)}
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=BALANCED) as engine:
        await fill(engine, map(note, sorted(items)))
        whole = (await page(engine, "amber cat", mode, 1_000)).hits
        assert len(whole) > 50
        for limit in (1, 7, 50):
            assert await all_pages(engine, "amber cat", limit, mode) == whole
        scores = [hit.score for hit in whole]
        assert scores == sorted(scores, reverse=True)


async def test_a_ranking_goes_on_as_it_began_while_vectors_come(folder: Path) -> None:
    embedder = WordVectors()
    async with opened(folder / "memory.db", embedder=embedder) as engine:
        await fill(engine, [note(f"cat {'x ' * number}") for number in range(6)])
        await vectors_made(engine)
        first = await page(engine, "cat", limit=3)
        expected = (await page(engine, "cat")).hits
        await fill(engine, [note("cat cat cat"), note("feline")])
        await vectors_made(engine)
        rest = await page(engine, "cat", cursor=first.next_cursor)
        assert first.hits + rest.hits == expected
        assert "feline" in await texts(engine, "cat")


async def test_a_forgotten_ranking_goes_on_from_the_place_of_its_last_hit(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [note(f"cat {'x ' * number}") for number in range(9)])
        whole = await page(engine, "cat")
        first = await page(engine, "cat", limit=4)
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        rest = await page(engine, "cat", cursor=first.next_cursor)
        assert first.hits + rest.hits == whole.hits


# --- parts by themselves ---


def test_scores_with_freshness_are_exact_in_32_bits() -> None:
    """So that what adds the same to two scores never swaps them, and never makes them equal."""
    rand = np.random.default_rng(1)
    rows = np.arange(2_000)
    keyword, vector = rand.random((2, 2_000), np.float32)
    keyword[::2] = keyword[1::2] * np.float32(1 + 2**-22)  # of equals, the later row would come first
    vector[::2] = vector[1::2]

    def order(fresh: Sequence[float] | None) -> list[int]:
        made = ranking.Ranking(
            rows, keyword, vector, BALANCED, NOW, fresh=None if fresh is None else np.array(fresh, np.float64)
        )
        return [place.row for place in made.after(None, 2_000)]

    assert order(None) == order([1.0] * 2_000) == order([0.3] * 2_000)


def test_own_weights_are_a_profile_that_can_be_used() -> None:
    EMBEDDED.check()
    assert EMBEDDED.name not in PROFILES
    assert (EMBEDDED.graph, EMBEDDED.freshness) == (0, 0)


async def test_empty_file_and_filter_that_admits_nothing(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=BALANCED) as engine:
        for mode in FetchMode:
            assert (await page(engine, "a cat", mode)).hits == []
        await fill(engine, [note("a cat")])
        for mode in FetchMode:
            nothing = MetaFilter(workspace="none")
            assert (await page(engine, "a cat", mode, filter=nothing)).hits == []


async def test_spellings_that_only_the_index_knows_are_hits_and_phrases(folder: Path) -> None:
    """An accent by itself, and a letter that folds to two."""
    texts_of = {"nai\u0308ve plan": "naive plan", "kleine Straße hier": "kleine strasse"}
    old = [dated(text, 300) for text in texts_of]
    new = [dated(f"plan kleine {number}", 0) for number in range(20)]
    async with opened(
        folder / "memory.db", embedder=WordVectors(), profile=PROFILES["balanced"], clock=lambda: NOW
    ) as engine:
        await fill(engine, [*old, *new])
        assert set(await texts(engine, "naive 深色模式", "keyword")) == {"nai\u0308ve plan"}
        for text, query in texts_of.items():
            assert text in await texts(engine, query, "keyword")
            found = (await engine.fetch_explained(FetchRequest(query=query, mode=FetchMode.HYBRID, limit=50))).hits
            assert [each.breakdown.freshness for each in found if each.hit.text == text] == [1.0]
