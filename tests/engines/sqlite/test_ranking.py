"""Hybrid ranking: what it finds, what each part counts, freshness, and pages that go on as they began."""

from __future__ import annotations

import random
from collections.abc import Sequence
from datetime import date
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
    TimeHint,
    Timestamp,
    WeightProfile,
)
from explorer.engines.config import EngineSettings
from explorer.engines.sqlite import SqliteEngine, build, ranking, reading
from explorer.engines.sqlite.ranking import EMBEDDED
from explorer.engines.sqlite.sought import Look, Sought
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


@pytest.mark.parametrize("query", ["table oak", "oak"])
async def test_newer_of_equals_comes_first_only_where_freshness_counts(folder: Path, query: str) -> None:
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
            orders.append([hit.meta.workspace for hit in (await page(engine, query)).hits])
    assert orders == [["new", "old", "oldest", "undated"], ["oldest", "undated", "new", "old"]]


@pytest.mark.parametrize("seed", range(12))
async def test_whole_phrase_stays_among_the_first_five_at_any_age(
    folder: Path, monkeypatch: pytest.MonkeyPatch, seed: int
) -> None:
    """Property: with freshness on, an item that holds the query as a phrase is among the first 5 if it is without."""
    if seed % 2:
        monkeypatch.setattr(ranking, "_CHARS_LOOKED_AT", 0)  # as if each text were a very long one
    rand = random.Random(seed)
    words = ["amber", "brook", "cedar", "delta", "ember", "fjord"]
    items = {
        " ".join(rand.choices(words, k=rand.randint(1, 9))): rand.choice([None, 0, 0, 1, 5, 20, 400]) for _ in range(60)
    }
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [dated(text, days) for text, days in items.items()])
        await vectors_made(engine)
    without = BALANCED.model_copy(update={"freshness": 0.0})
    queries = [*words, *(" ".join(rand.choices(words, k=size)) for size in (2, 2, 2, 3, 3) for _ in range(3))]
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


@pytest.mark.parametrize("chars", [2_000_000, 0])
async def test_texts_that_hold_the_phrase_keep_their_places_however_long_they_are(
    folder: Path, monkeypatch: pytest.MonkeyPatch, chars: int
) -> None:
    """Though the first of them has all the characters that are looked at."""
    monkeypatch.setattr(ranking, "_CHARS_LOOKED_AT", chars)
    filler = "filler words of no use " * 9
    items = [
        *(dated(f"{filler} amber brook {filler} {number}", 400) for number in range(5)),
        *(dated(f"{filler} amber and a brook {filler} {number}", 0) for number in range(9)),
    ]
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=BALANCED, clock=lambda: NOW) as engine:
        await fill(engine, items)
        await vectors_made(engine)
        hits = (await page(engine, "amber brook", limit=5)).hits
        assert ["amber brook" in hit.text for hit in hits] == [True] * 5


async def test_old_item_that_holds_the_phrase_is_put_back_right_before_what_newer_ones_keep_out(folder: Path) -> None:
    items = [
        *(dated(f"cedar fir {number}", 0) for number in range(12)),
        dated("fir cedar", 400),
        dated("fir cedar 1999", 500),
    ]
    found = []
    for profile in (BALANCED, BALANCED.model_copy(update={"freshness": 0.0})):
        async with opened(folder / "memory.db", embedder=WordVectors(), profile=profile, clock=lambda: NOW) as engine:
            await fill(engine, items)
            await vectors_made(engine)
            req = FetchRequest(query="fir cedar", mode=FetchMode.HYBRID, limit=50)
            found.append((await engine.fetch_explained(req)).hits)
            assert [each.hit for each in found[-1]] == await all_pages(engine, "fir cedar", 3)
    on, off = found
    assert [each.hit.text for each in off[:2]] == ["fir cedar", "fir cedar 1999"]
    assert [each.hit.text for each in on[3:5]] == ["fir cedar", "fir cedar 1999"]
    scores = [each.hit.score for each in on]
    assert scores == sorted(scores, reverse=True)
    assert scores[2:6] == [scores[5]] * 4  # those before are no better, and yet newer
    for each in on:
        parts = each.breakdown
        total = BALANCED.final(
            graph=0.0, vector=parts.vector_similarity, keyword=parts.keyword_relevance, freshness=parts.freshness
        )
        if "fir cedar" in each.hit.text:
            assert parts.freshness < 1e-10
            assert total + 0.1 < parts.final_score
            assert np.float32(parts.final_score) == np.float32(each.hit.score)
        else:
            assert parts.freshness == 1
            assert total == pytest.approx(parts.final_score, abs=3e-6)


async def test_newer_of_equals_stays_first_beside_one_that_is_put_back(folder: Path) -> None:
    items = [
        dated("oak", days).model_copy(
            update={"meta": dated("oak", days).meta.model_copy(update={"workspace": f"{days} {number}"})}
        )
        for days, count in ((0, 8), (300, 3))
        for number in range(count)
    ]
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=BALANCED, clock=lambda: NOW) as engine:
        await fill(engine, items)
        await vectors_made(engine)
        found = [hit.meta.workspace for hit in (await page(engine, "oak")).hits]
        # Without freshness the later stored come first: the three old ones, and two of the others.
        assert found[:5] == ["0 7", "0 6", "300 2", "300 1", "300 0"]
        assert found[5:] == [f"0 {number}" for number in range(5, -1, -1)]


async def test_item_of_other_days_is_put_back_behind_those_of_hinted_ones(folder: Path) -> None:
    items = [
        dated("fir cedar", 400),
        *(dated(f"cedar fir {number}", 0) for number in range(12)),
        *(dated(f"a fir {number}", 40) for number in range(2)),
    ]
    day = Timestamp.from_unix_ns(int((NOW - 40 * DAY) * 10**9)).date().isoformat()
    async with opened(folder / "memory.db", embedder=WordVectors(), profile=BALANCED, clock=lambda: NOW) as engine:
        await fill(engine, items)
        await vectors_made(engine)
        hint = {"from": day, "to": day}
        hits = (await page(engine, "fir cedar", refers_to=hint)).hits
        assert {hit.text for hit in hits[:2]} == {"a fir 0", "a fir 1"}
        assert hits[4].text == "fir cedar"
        assert await all_pages(engine, "fir cedar", 2, refers_to=hint) == hits


# --- runs of characters, and how much is looked at ---


@pytest.mark.parametrize("mode", ["keyword", "hybrid"])
@pytest.mark.parametrize(("missed", "chars"), [(2_000, 20_000_000), (3, 20_000_000), (2_000, 90)])
async def test_what_holds_a_run_only_seemingly_is_no_hit_wherever_it_ranks(
    folder: Path, monkeypatch: pytest.MonkeyPatch, mode: str, missed: int, chars: int
) -> None:
    """Beyond the items that are looked at too; a page that looks at too many of them ends, and its cursor goes on."""
    monkeypatch.setattr(ranking, "_LOOKED_AT", 5)
    monkeypatch.setattr(reading, "_MISSED", missed)
    monkeypatch.setattr(reading, "_MISSED_CHARS", chars)
    rand = random.Random(1)
    apart = [f"日本 と 本語 {'x ' * rand.randint(0, 30)}{number}" for number in range(60)]
    whole = [f"これは日本語です {'x ' * rand.randint(0, 30)}{number}" for number in range(20)]
    items = apart + whole
    rand.shuffle(items)
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, map(note, [*items, *(f"y {number}" for number in range(90))]))
        await vectors_made(engine)
        for limit in (1, 7, 19, 20, 500):
            hits = await all_pages(engine, "日本語", limit, mode)
            assert sorted(hit.text for hit in hits) == sorted(whole)
            scores = [hit.score for hit in hits]
            assert scores == sorted(scores, reverse=True)
            req = FetchRequest(query="日本語", mode=FetchMode(mode), limit=limit)
            explained, first = await engine.fetch_explained(req), await engine.fetch(req)
            assert ([each.hit for each in explained.hits], explained.next_cursor) == (first.hits, first.next_cursor)
            if (missed, chars) == (2_000, 20_000_000):
                assert len(first.hits) == min(limit, 20)
                assert (first.next_cursor is None) == (limit >= 20)
        # What holds another word of the query, or is near it in meaning, is a hit by that.
        both = {hit.text for hit in await all_pages(engine, "日本語 x", 9, mode)}
        assert both == {text for text in items if "x" in text or text in whole}


async def test_runs_are_looked_for_in_a_ranking_that_is_kept_or_forgotten(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(ranking, "_LOOKED_AT", 5)
    texts_ = [f"{'日本語' if number % 3 else '日本 本語'} {'x ' * number}" for number in range(30)]
    async with opened(folder / "memory.db") as engine:
        await fill(engine, map(note, texts_))
        whole = await page(engine, "日本語", "keyword")
        first = await page(engine, "日本語", "keyword", limit=8)
        await fill(engine, [note("日本語")])
        assert first.hits + (await page(engine, "日本語", "keyword", cursor=first.next_cursor)).hits == whole.hits
        assert len(whole.hits) == 20


async def test_of_many_alike_items_some_are_looked_at(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    looks: list[str] = []
    look = Sought.look

    def counted(sought: Sought, item: StoreItem) -> Look:
        looks.append(item.render_text())
        return look(sought, item)

    monkeypatch.setattr(Sought, "look", counted)
    monkeypatch.setattr(ranking, "_LOOKED_AT", 4)
    filler = "Nothing of the kind is said in this sentence or the next one. " * 14
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [note(f"{'amber ' * 20} {filler} {'brook ' * 20} {number}") for number in range(90)])
        await vectors_made(engine)
        looks.clear()
        assert len((await page(engine, "amber brook", limit=90)).hits) == 90
        assert 4 < len(looks) == len(set(looks)) <= 2 * 4 + 6 * 4


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


@pytest.mark.parametrize(
    ("zone", "day"),
    [
        (None, date(2024, 5, 1)),
        ("Europe/Berlin", date(2024, 3, 31)),
        ("America/Toronto", date(1919, 3, 31)),  # its clock went from 23:30 to 00:30
        ("America/Toronto", date(1919, 3, 30)),
        ("Pacific/Auckland", date.min),
        ("America/New_York", date.min),
        ("Pacific/Auckland", date.max),
        ("America/New_York", date.max),
    ],
)
def test_hinted_days_begin_and_end_as_the_contract_has_them(zone: str | None, day: date) -> None:
    for last in {day, min(date.max, day.replace(year=min(9999, day.year + 1)))}:
        hint = TimeHint.model_validate({"from": day, "to": last, "zone": zone})
        begin, end = ranking._bounds(hint)
        for second in (begin - 1, begin, begin + 9, end - 1, end):
            try:
                moment = Timestamp.from_unix_ns(second * 10**9)
            except OverflowError:
                continue  # no such time
            assert hint.covers(moment) == (begin <= second < end), second


async def all_pages(engine: SqliteEngine, query: str, limit: int, mode: str = "hybrid", **options: object) -> list[Hit]:
    hits: list[Hit] = []
    while True:
        found = await page(engine, query, mode, limit, **options)
        hits += found.hits
        if found.next_cursor is None:
            return hits
        options["cursor"] = found.next_cursor


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


@pytest.mark.parametrize("query", ["cat", "日本語", "cat extra"])
async def test_pages_beyond_what_is_kept_of_a_ranking_go_on(
    folder: Path, monkeypatch: pytest.MonkeyPatch, query: str
) -> None:
    monkeypatch.setattr(reading, "_KEPT_PLACES", 10)
    monkeypatch.setattr(ranking, "_LOOKED_AT", 5)
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [note(f"cat {'x ' * (number % 23)}日本語 {number}") for number in range(70)])
        await fill(engine, [note(f"日本 {'x ' * (number % 7)}本語 {number}") for number in range(20)])
        await vectors_made(engine)
        whole = (await page(engine, query, limit=200)).hits
        assert len(whole) == 70
        hint = {"from": "2024-01-01", "to": "2024-01-01"}
        for limit in (1, 9, 10, 32):
            assert await all_pages(engine, query, limit) == whole
            assert await all_pages(engine, query, limit, refers_to=hint) == whole
        kept = engine._reading._rankings.values()
        assert len(kept) > 1
        assert all(len(part) == 10 for each in kept for part in (each._rows, each._scores, each._keys, each._vector))


async def test_what_is_kept_of_a_ranking_goes_on_as_it_began(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(reading, "_KEPT_PLACES", 10)
    async with opened(folder / "memory.db", embedder=WordVectors()) as engine:
        await fill(engine, [note(f"cat {'x ' * number}") for number in range(30)])
        await vectors_made(engine)
        whole = (await page(engine, "cat")).hits
        first = await page(engine, "cat", limit=4)
        await fill(engine, [note("cat cat"), note("cat cat cat"), *(note("x y " * number) for number in range(1, 9))])
        await vectors_made(engine)
        assert (await page(engine, "cat", limit=5, cursor=first.next_cursor)).hits == whole[4:9]
        rest = await all_pages(engine, "cat", 5, cursor=first.next_cursor)
        assert [hit.text for hit in rest] == [hit.text for hit in whole[4:]]  # scores are others in the end


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


@pytest.mark.parametrize("values", [1, 3, 1_000])
@pytest.mark.parametrize("limit", [1, 7, 99, 100, 101])
def test_best_are_the_largest_and_of_equals_the_later(values: int, limit: int) -> None:
    keys = np.random.default_rng(values).integers(0, values, 100).astype(np.float32)
    expected = sorted(range(100), key=lambda at: (keys[at], at), reverse=True)[:limit]
    assert ranking._best(keys, limit).tolist() == expected


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
            assert text in (await texts(engine, query))[:5]  # which newer ones would have passed
