"""Why a hit is where it is: the page is that of `fetch`, the parts make the score, and notes say what was missing."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from explorer.contract import (
    PROFILES,
    ExplainedPage,
    FetchMode,
    FetchPage,
    FetchRequest,
    InvalidRequest,
    StoreItem,
    Unavailable,
    Unsupported,
)
from explorer.engines.sqlite import SqliteEngine
from explorer.engines.sqlite.passages import passages_of
from tests.conftest import Until
from tests.engines.sqlite.support import fill, note, opened, vectors_made
from tests.engines.sqlite.test_passages import sentences, talk
from tests.engines.sqlite.test_ranking import BALANCED, NOW, dated
from tests.engines.sqlite.word_vectors import WordVectors


async def explain(engine: SqliteEngine, query: str, mode: str = "hybrid", **options: object) -> ExplainedPage:
    req = FetchRequest.model_validate({"query": query, "mode": mode, "limit": 50, **options})
    return await engine.fetch_explained(req)


def as_fetched(page: ExplainedPage) -> FetchPage:
    return FetchPage(hits=[explained.hit for explained in page.hits], next_cursor=page.next_cursor)


def many(seed: int, count: int = 80) -> list[StoreItem]:
    rand = random.Random(seed)
    words = ["amber", "brook", "cat", "feline", "delta", "cats", "Amberley"]
    made = {" ".join(rand.choices(words, k=rand.randint(1, 7))) for _ in range(count)}
    return [dated(text, rand.choice([None, 0, 1, 3, 9, 50])) for text in sorted(made)]


@pytest.mark.parametrize("mode", list(FetchMode))
@pytest.mark.parametrize("profile", [None, *PROFILES])
async def test_is_the_page_of_fetch_and_its_parts_make_the_scores(
    folder: Path, mode: FetchMode, profile: str | None
) -> None:
    weights = None if profile is None else PROFILES[profile]
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=weights, clock=lambda: NOW) as engine:
        await fill(engine, many(4))
        for query in ("amber cat", "delta", "brook of amber"):
            cursor = None
            for _ in range(30):
                req = FetchRequest(query=query, mode=mode, limit=9, cursor=cursor)
                page = await engine.fetch_explained(req)
                assert as_fetched(page) == await engine.fetch(req)
                assert page.notes == []
                for found in page.hits:
                    parts = found.breakdown
                    assert np.float32(parts.final_score) == np.float32(found.hit.score)
                    assert parts.profile == page.profile.name
                    assert parts.graph_relevance == parts.episodic_relevance == 0
                    assert all(0 <= part <= 1 for part in (parts.keyword_relevance, parts.vector_similarity))
                    total = page.profile.final(
                        graph=0.0,
                        vector=parts.vector_similarity,
                        keyword=parts.keyword_relevance,
                        freshness=parts.freshness,
                    )
                    if parts.final_score > total + 3e-6:
                        # A whole phrase, put back among the first five, that newer items had passed.
                        assert page.profile.freshness
                        assert query in found.hit.text.lower()
                        assert cursor is None
                        assert page.hits.index(found) < 5
                    else:
                        assert parts.final_score == pytest.approx(total, abs=3e-6)
                cursor = page.next_cursor
                if cursor is None:
                    break
            else:
                raise AssertionError("the pages have no end")


async def test_profile_is_the_modes_own_where_one_part_ranks(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=BALANCED) as engine:
        await fill(engine, [note("a cat")])
        names = [(await explain(engine, "cat", mode)).profile.name for mode in FetchMode]
        assert names == ["keyword", "vector", "balanced"]


@pytest.mark.parametrize(
    ("days", "freshness"),
    [(0, 1), (-3, 1), (3.5, 0.7071), (7, 0.5), (14, 0.25), (30, 0.0513), (100_000, 0), (None, 0)],
)
async def test_freshness_halves_in_a_week(folder: Path, days: float | None, freshness: float) -> None:
    for profile in (BALANCED, None):
        options = {"embedder": WordVectors(), "profile": profile, "clock": lambda: NOW}
        async with opened(folder / "memory.db", **options) as engine:
            await fill(engine, [dated("an oak", days)])
            (found,) = (await explain(engine, "table oak")).hits
            assert found.breakdown.freshness == pytest.approx(freshness, abs=1e-4)


async def test_freshness_is_that_of_the_item_whatever_it_holds(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=BALANCED, clock=lambda: NOW) as engine:
        await fill(engine, [dated("an old oak table", 70), dated("a table of old oak", 7)])
        for query in ("oak table", "oak"):
            found = (await explain(engine, query)).hits
            fresh = {each.hit.text: each.breakdown.freshness for each in found}
            assert fresh == pytest.approx({"an old oak table": 2**-10, "a table of old oak": 0.5})


# --- the passage ---


async def test_passage_holds_most_of_the_query_or_is_nearest(folder: Path) -> None:
    talked = talk("we met", "yes", "the cat sat", "on what", "an amber mat", "nice", "and then", "a feline friend came")
    item = note(f"{sentences(12)} A cat in amber. {sentences(12)}")
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [talked, item])
        for mode in FetchMode:
            for found in (await explain(engine, "amber cat", mode)).hits:
                assert found.passage is not None
                held = talked if found.hit.text == talked.render_text() else item
                assert (found.passage.start, found.passage.stop) in passages_of(held)
                shown = found.hit.text[found.passage.start : found.passage.stop]
                if mode is not FetchMode.VECTOR:
                    assert "cat" in shown
                    assert "amber" in shown
        (nearest,) = [
            found for found in (await explain(engine, "cat friend came", "vector")).hits if "feline" in found.hit.text
        ]
        assert nearest.passage is not None
        assert nearest.hit.text[nearest.passage.start :].endswith("a feline friend came")


async def test_item_of_one_passage_shows_it_where_only_its_meaning_is_near(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [note("a feline")])
        (found,) = (await explain(engine, "cat", "vector")).hits
        assert found.passage is not None
        assert (found.passage.start, found.passage.stop) == (0, len("a feline"))


# --- notes ---


async def test_items_without_a_vector_are_counted_where_the_filter_admits_them(folder: Path, until: Until) -> None:
    embedder = WordVectors()
    async with opened(folder / "memory.db", embedder=embedder) as engine:
        await fill(engine, [note(f"cat {number}", workspace="a") for number in range(3)])
        await vectors_made(engine)
        embedder.error = Unavailable("the model is out")
        await fill(engine, [note("cat food", workspace="a"), note("dog food", workspace="b")])
        await until(lambda: engine._job is not None and engine._job.error is not None)
        embedder.error = None  # for the query; the items wait for their second try
        here = await explain(engine, "cat", filter={"workspace": "a"})
        assert here.notes == ["1 of 4 items have no vector yet (the model is out)"]
        assert (await explain(engine, "cat", "vector")).notes == ["2 of 5 items have no vector yet (the model is out)"]
        assert "cat food" in [found.hit.text for found in here.hits]
        assert (await explain(engine, "cat", "keyword")).notes == []


async def test_hybrid_says_that_its_vector_part_failed_and_ranks_by_words(folder: Path) -> None:
    embedder = WordVectors()
    async with opened(folder / "memory.db", embedder=embedder) as engine:
        await fill(engine, [note("a cat"), note("any feline")])
        await vectors_made(engine)
        embedder.error = Unavailable("the model is out")
        page = await explain(engine, "cat extra")
        assert page.notes == ["the vector part failed: the model is out; ranked by words alone"]
        assert [found.hit.text for found in page.hits] == ["a cat"]
        assert page.hits[0].breakdown.vector_similarity == 0
        with pytest.raises(Unavailable, match="the model is out"):
            await explain(engine, "cat extra", "vector")
        embedder.error = None
        again = await explain(engine, "cat extra")
        assert (len(again.hits), again.notes) == (2, [])


async def test_next_page_of_a_ranking_by_words_alone_stays_by_words(folder: Path) -> None:
    embedder = WordVectors()
    async with opened(folder / "memory.db", embedder=embedder) as engine:
        await fill(engine, [note("a cat"), note("the cat sat"), note("any feline")])
        await vectors_made(engine)
        embedder.error = Unavailable("the model is out")
        first = await explain(engine, "cat extra", limit=1)
        embedder.error = None
        assert len((await explain(engine, "cat extra", limit=1)).hits) == 1  # another ranking of the same query
        rest = await explain(engine, "cat extra", cursor=first.next_cursor)
        assert len(first.hits + rest.hits) == 2
        assert all(found.breakdown.vector_similarity == 0 for found in rest.hits)


async def test_undeclared_modes_and_blank_queries_are_refused(folder: Path) -> None:
    async with opened(folder / "memory.db") as engine:
        with pytest.raises(Unsupported, match="engine `sqlite` does not offer hybrid fetch"):
            await explain(engine, "cat")
        with pytest.raises(InvalidRequest, match="fetch query must not be empty"):
            await explain(engine, " ", "keyword")
        assert (await explain(engine, "cat", "keyword")).hits == []
