"""Upkeep of the words: sealed, merged and removed, they are always those of the items that are there."""

from __future__ import annotations

import random
import sqlite3
from collections import Counter, defaultdict
from contextlib import closing
from pathlib import Path

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import FetchMode, FetchRequest, ForgetTarget, ItemId, StoreItem
from explorer.engines.sqlite import SqliteEngine, postings, schema, words
from explorer.engines.sqlite.postings import Lists, split_terms, unpack_posting
from explorer.engines.sqlite.tokens import index_terms
from tests.engines.sqlite.support import fill, note, opened

Words = dict[str, dict[str, int]]
"""How often each term is in each item, by the item's id."""


def words_in(path: Path) -> Words:
    found: Words = defaultdict(dict)
    with closing(sqlite3.connect(path)) as conn:
        ids = {row: fp.hex() for row, fp in conn.execute("SELECT id, fp FROM item")}
        for row, terms, counts in conn.execute("SELECT id, terms, tf FROM head"):
            found[ids[row]] = dict(zip(split_terms(terms), counts, strict=True))
        for first, term, data in conn.execute("SELECT r.first, p.term, p.data FROM post p JOIN run r ON r.id = p.run"):
            assert data
            places, often = unpack_posting(data)
            for row, count in zip((places.astype(int) + first).tolist(), often.tolist(), strict=True):
                found[ids[row]][term] = count
        assert conn.execute("SELECT count(*) FROM post WHERE run NOT IN (SELECT id FROM run)").fetchone() == (0,)
    return dict(found)


def words_of(items: dict[ItemId, StoreItem]) -> Words:
    terms = {id: index_terms(item.render_text(), item.meta.language).counts for id, item in items.items()}
    return {id: {term: min(count, 255) for term, count in counts.items()} for id, counts in terms.items()}


def runs_in(path: Path) -> list[tuple[int, int]]:
    """The runs, once all is done that the closing may have left to the next store."""
    with closing(sqlite3.connect(path)) as conn, conn:
        while words.step(conn):
            pass
        return conn.execute("SELECT first, stop FROM run ORDER BY id").fetchall()


async def found(engine: SqliteEngine, query: str) -> set[ItemId]:
    hits = (await engine.fetch(FetchRequest(query=query, mode=FetchMode.KEYWORD, limit=200))).hits
    return {hit.id for hit in hits}


@pytest.fixture
def small(monkeypatch: pytest.MonkeyPatch) -> None:
    """Runs of 4 items, merged by four."""
    monkeypatch.setattr(schema, "RUN", 4)
    monkeypatch.setattr(schema, "SEGMENT", 16)


def some_text(rand: random.Random) -> str:
    choices = ["run", "running", "runs", "café", "getUserName", "日本語", "🚀", *(f"w{number}" for number in range(30))]
    return " ".join(rand.choices(choices, k=rand.randint(0, 12))) or "empty"


@pytest.mark.usefixtures("small")
@pytest.mark.parametrize("seed", range(4))
async def test_words_are_those_of_the_items_whatever_came_and_went(folder: Path, seed: int) -> None:
    rand = random.Random(seed)
    path = folder / "memory.db"
    held: dict[ItemId, StoreItem] = {}
    stored = 0
    async with opened(path, embedder=None) as engine, opened(path, embedder=None) as other:
        while stored < 60:
            batch: list[StoreItem] = [
                note(f"n{stored + number} {some_text(rand)}", language=rand.choice([None, "de", "French", "python"]))
                for number in range(rand.randint(1, 7))
            ]
            held.update(zip(await fill(engine, batch), batch, strict=True))
            stored += len(batch)
            if held and rand.random() < 0.5:
                # Now and then a whole run, so that its number stays without words.
                gone = list(held)[:8] if rand.random() < 0.3 else rand.sample(list(held), rand.randint(1, len(held)))
                await engine.forget(ForgetTarget(ids=gone))
                for id in gone:
                    del held[id]
            for reader in (engine, other):
                assert await found(reader, "日本語") == {
                    id for id, item in held.items() if "日本語" in item.render_text()
                }
    assert words_in(path) == words_of(held)
    runs = runs_in(path)
    assert words_in(path) == words_of(held)
    full, rest = divmod(stored, 16)
    assert runs[:full] == [(first * 16, first * 16 + 16) for first in range(full)]
    assert runs[full:] == [(full * 16 + start, full * 16 + start + 4) for start in range(0, rest - 3, 4)]
    async with opened(path, embedder=None) as engine:
        await engine.forget(ForgetTarget(ids=list(held)))
    assert words_in(path) == {}


@pytest.mark.usefixtures("small")
async def test_what_a_reader_began_to_hold_goes_on_through_seals_and_merges(folder: Path) -> None:
    path = folder / "memory.db"
    ids: list[ItemId] = []
    async with opened(path, embedder=None) as writer, opened(path, embedder=None) as reader:
        for number in range(40):
            ids += await fill(writer, [note(f"apple n{number} part{number % 3}")])
            assert await found(reader, "apple") == set(ids)
            assert await found(reader, f"n{number}") == {ids[-1]}
            assert await found(reader, "part1") == set(ids[1::3])
    assert runs_in(path) == [(0, 16), (16, 32), (32, 36), (36, 40)]


@pytest.mark.usefixtures("small")
async def test_counts_beyond_a_byte_are_cut(folder: Path) -> None:
    async with opened(folder / "memory.db", embedder=None) as engine:
        items = [note("word " * count) for count in (254, 255, 256, 1_000)]
        ids = await fill(engine, items)
        assert await found(engine, "word") == set(ids)
    assert words_in(folder / "memory.db") == words_of(dict(zip(ids, items, strict=True)))
    assert runs_in(folder / "memory.db") == [(0, 4)]


LONG = [f"{'a' * size}{end}" for size in (7, 8, 15, 16, 17, 63) for end in ("", "b", "é")]
TERMS = st.sampled_from(["a", "ab", "abc", "b", "a!", "é", "日本", "日", "🚀", *LONG])


@given(
    st.lists(st.dictionaries(TERMS, st.integers(1, 255), max_size=6), max_size=12),
    st.integers(0, 12),
    st.sets(st.integers(0, 11)),
)
def test_lists_keep_every_entry(texts: list[dict[str, int]], parted: int, gone: set[int]) -> None:
    """Of words short and long, that begin alike, and in any script."""
    rows = [(row, " ".join(terms), bytes(terms.values())) for row, terms in enumerate(texts)]
    whole = Lists.of(rows, 0)
    wanted = Counter({(term, row): count for row, terms in enumerate(texts) for term, count in terms.items()})
    assert entries(whole) == wanted
    # Written and read, and put together from two parts.
    early, late = Lists.of(rows[:parted], 0), Lists.of(rows[parted:], parted)
    both = Lists.merged([again(early, 0), again(late, parted)])
    assert entries(both) == wanted
    assert both.terms == sorted(both.terms) == whole.terms
    changed, removed = whole.without(np.array(sorted(gone), np.uint32))
    assert Counter(removed.tolist()) == Counter({row: len(texts[row]) for row in gone if row < len(texts)})
    touched = {term for row in gone if row < len(texts) for term in texts[row]}
    assert set(changed.terms) == touched
    assert entries(changed) == {key: n for key, n in wanted.items() if key[0] in touched and key[1] not in gone}
    for term in ("a", "ab", "日", "zz"):
        places, counts = whole.find(term)
        assert dict(zip(places.tolist(), counts.tolist(), strict=True)) == {
            row: count for (held, row), count in wanted.items() if held == term
        }
        assert whole.longer(term) == [held for held in whole.terms if held.startswith(term) and held != term]


def test_words_that_are_mixed_to_the_same_number_stay_apart(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(postings, "_FIRST_FACTOR", 0)  # by which all are
    lists = Lists.of([(3, "b a ab", b"\1\2\3"), (4, "a", b"\4")], 0)
    assert entries(lists) == {("a", 3): 2, ("a", 4): 4, ("ab", 3): 3, ("b", 3): 1}


def entries(lists: Lists) -> dict[tuple[str, int], int]:
    found = {}
    begin = 0
    for term, end in zip(lists.terms, lists.ends.tolist(), strict=True):
        places = lists.places[begin:end].tolist()
        assert places == sorted(set(places))
        found.update(zip(((term, place) for place in places), lists.counts[begin:end].tolist(), strict=True))
        begin = end
    return found


def again(lists: Lists, offset: int) -> Lists:
    """As read from the file."""
    return Lists.read(lists.pack(), offset)
