"""The embedded engine beside its peers, on the same items: results are compared first, then times.

    python tests/benchmarks/bench_embedded.py --items 1000000 [--dir KEPT] [--only facets,paging,...] [--seed 1]

Prints Markdown tables; see README.md here for what each figure means.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib.metadata
import math
import os
import platform
import re
import shutil
import sqlite3
import sys
import tempfile
from collections import Counter, defaultdict
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import ParamSpec

sys.path.insert(0, str(Path(__file__).parents[2]))

import bench_vectors
from build import Build, open_engine
from generate import COLUMNS, HUNDRED_NODES, SINGLE_NODES, hundred_node, single_node
from measure import (
    at_least,
    fraction,
    goals,
    in_child,
    least,
    median,
    ms,
    ratio,
    read_rate,
    say,
    table,
    timed,
    timed_async,
)
from peers import HITS, TOP, Condition, Counts, DatasetteFacets, Duck, PlainSql, Tantivy, package

from explorer.contract import (
    MAX_STORE_MANY,
    EraseRequest,
    ExplorePage,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    ItemId,
    ListRequest,
    MetaFilter,
    Namespace,
    Reach,
    StoreItem,
)
from explorer.engines.sqlite import SqliteEngine

P = ParamSpec("P")

NEEDS = {
    "facets": ("engine", "plain", "duckdb"),
    "paging": ("engine", "plain"),
    "keyword": ("engine", "plain", "tantivy"),
    "vector": (),
    "store": ("engine", "plain"),
    "open": ("engine",),
    "memory": ("engine", "plain"),
    "file": ("engine",),
    "erase": ("engine", "plain"),
}
PACKAGES = ("datasette", "duckdb", "tantivy", "apsw", "sqlite-vec")

ROUNDS = 5
"""Different filters or words of each kind."""

PASSES = 3
"""How often all of them are run, each time by an engine opened anew."""

BUDGET_MS = 30_000
"""What a peer may take for one kind of call; then no more rounds of it are begun."""

STORED_BATCHES = 60
GOAL_ITEMS = 1_000_000


OWN = "engine"


class Differ(Exception):
    """A peer and the engine answered otherwise: times of them would mean nothing."""


@dataclass
class Case:
    """A filter of the engine and the same in SQL."""

    filter: MetaFilter
    condition: Condition
    total: int = 0


class Timings:
    """Milliseconds of the engine and of peers by round, a filter or a query each; slow peers have fewer rounds."""

    def __init__(self, rounds: int) -> None:
        self._spans: dict[str, list[list[float]]] = defaultdict(lambda: [[] for _ in range(rounds)])

    def add(self, side: str, at: int, spent_ms: float) -> None:
        self._spans[side][at].append(spent_ms)

    def has_time_for(self, side: str) -> bool:
        return sum(map(sum, self._spans[side])) < BUDGET_MS

    def median(self, side: str = OWN) -> float | None:
        """Over the rounds, of the median of each."""
        return median(self._of_rounds(side))

    def times(self, peer: str) -> float | None:
        """How many times as long as the engine: the median of the rounds that both have."""
        return ratio(self._of_rounds(OWN), self._of_rounds(peer))

    def cells(self, peer: str) -> list[str]:
        return [ms(self.median(peer)), fraction(self.times(peer))]

    def _of_rounds(self, side: str) -> list[float | None]:
        return [median(spans) for spans in self._spans[side]]


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteEngine]:
    engine = open_engine(path)
    try:
        yield engine
    finally:
        await engine.aclose()


def every_facet(filter: MetaFilter) -> list[ExploreRequest]:
    return [ExploreRequest(facet=facet, filter=filter, limit=TOP) for facet in Facet]


def counts_of(pages: Sequence[ExplorePage]) -> dict[str, Counts]:
    return {
        page.facet.value: Counts(
            [(bucket.value, bucket.count) for bucket in page.buckets],
            page.total,
            page.missing,
            len(page.buckets) + page.more_buckets,
        )
        for page in pages
    }


def below(path: str) -> Condition:
    """A folder and what lies below it, as one range of an index (no folder's name goes on with `!` to `.`)."""
    return Condition("folder >= ? AND folder < ?", (path, path + "0"))


def value_cases(plain: PlainSql, items: int) -> list[Case]:
    """Single values, of different facets, that admit nearest to 19 %."""
    found = []
    for facet in (Facet.WORKSPACE, Facet.LANGUAGE, Facet.AGENT, Facet.SOURCE, Facet.REPO, Facet.TOOL_CALL):
        for value, count in plain.values(facet.value, 3):
            case = Case(facet.narrow(MetaFilter(), value), Condition(f"{facet.value} = ?", (value,)))
            found.append((abs(count / items - 0.19), value, case))
    return [case for *_, case in sorted(found, key=lambda entry: entry[:2])[:ROUNDS]]


def triple_cases(plain: PlainSql, items: int) -> list[Case]:
    """Three values together, one of them a tag, that admit about 0.6 %."""
    found = []
    tags = plain.conn.execute("SELECT tag, count(*) c FROM tag GROUP BY tag ORDER BY c DESC LIMIT 6").fetchall()
    for workspace, first in plain.values("workspace", 4):
        for language, second in plain.values("language", 4):
            for tag, third in tags:
                filter = MetaFilter(workspace=workspace, language=language, tags_any=[tag])
                condition = Condition("workspace = ? AND language = ?", (workspace, language), tag)
                expected = first * second * third / items**3
                found.append((abs(expected - 0.006), tag, Case(filter, condition)))
    return [case for *_, case in sorted(found, key=lambda entry: entry[:2])[:ROUNDS]]


def prefix_cases(plain: PlainSql, places: Sequence[str], items: int) -> list[Case]:
    """Folders with all below them that admit about 5 %."""
    found = [
        (abs(plain.count(below(place)) / items - 0.054), place, Case(MetaFilter(folder=place), below(place)))
        for place in places
    ]
    return [case for *_, case in sorted(found, key=lambda entry: entry[:2])[:ROUNDS]]


def reach_cases(plain: PlainSql, items: int) -> list[Case]:
    """Nodes with all below them, with and without what is above, that admit nearest to a third."""
    counts = {Namespace.parse(value): count for value, count in plain.values("namespace", -1)}
    found = []
    for at in counts:
        for inherit in (True, False):
            reach = Reach(at=at, inherit=inherit, descendants=True)
            nodes = [node for node in counts if reach.admits(node)]
            share = sum(counts[node] for node in nodes) / items
            if at.depth == 1 and len(nodes) > 2:
                marks = ", ".join("?" * len(nodes))
                condition = Condition(f"namespace IN ({marks})", tuple(map(str, nodes)))
                found.append((abs(share - 0.33), str(at), Case(MetaFilter(reach=reach), condition)))
    return [case for *_, case in sorted(found, key=lambda entry: entry[:2])[:ROUNDS]]


# --- facets ---------------------------------------------------------------------------------------------------------


async def bench_facets(build: Build) -> None:
    plain = PlainSql(build.folder)
    duck = Duck(build.folder) if build.has("duckdb") else None
    datasette = DatasetteFacets(plain.path) if package("datasette") else None
    kinds = {
        "none": [Case(MetaFilter(), Condition())],
        "one value": value_cases(plain, build.items),
        "three values, one a tag": triple_cases(plain, build.items),
        "folder prefix": prefix_cases(plain, build.corpus.places(), build.items),
        "reach": reach_cases(plain, build.items),
    }
    say("facets: comparing counts")
    held: dict[int, dict[str, Counts]] = {}
    async with opened(build.engine_path()) as engine:
        for kind, cases in kinds.items():
            for case in cases:
                mine = held[id(case)] = counts_of(await engine.explore_many(every_facet(case.filter)))
                case.total = mine["kind"].total
                if duck is None:
                    others = {facet.value: plain.counts(facet.value, case.condition) for facet in Facet}
                else:
                    others = dict(zip([*COLUMNS, "tag"], duck.counts(case.condition), strict=True))
                for facet in mine:
                    if mine[facet] != others[facet]:
                        raise Differ(f"{kind}, {case.condition}: {facet} is {mine[facet]}, the peer's {others[facet]}")

    say("facets: timing")
    timings = {kind: Timings(len(cases)) for kind, cases in kinds.items()}
    repeated: dict[str, list[float]] = {kind: [] for kind in kinds}
    for number in range(PASSES):
        async with opened(build.engine_path()) as engine:
            await engine.explore_many(every_facet(MetaFilter()))
            for kind, cases in kinds.items():
                for at, case in enumerate(cases):
                    reqs = every_facet(case.filter)
                    timings[kind].add(OWN, at, (await timed_async(engine.explore_many, reqs))[0])
                    for _ in range(3):
                        repeated[kind].append((await timed_async(engine.explore_many, reqs))[0])
                    if duck is not None and timings[kind].has_time_for("duckdb"):
                        spent, _ = timed(duck.counts, case.condition)
                        timings[kind].add("duckdb", at, spent)
                    if datasette is not None and number == 0 and timings[kind].has_time_for("datasette"):
                        spent, buckets = await datasette.count(case.condition)
                        if any(buckets[name] != held[id(case)][name].buckets for name in COLUMNS):
                            raise Differ(f"{kind}, {case.condition}: Datasette counts otherwise")
                        timings[kind].add("datasette", at, spent)

    rate = read_rate()
    width = plain.bytes_of_columns()
    limit_ms = width * build.items / rate * 1_000
    rows, over = [], {}
    for kind, cases in kinds.items():
        timing = timings[kind]
        own = timing.median()
        assert own is not None
        over[kind] = own / limit_ms
        admitted = median(case.total for case in cases) or 0
        rows.append(
            [
                f"{kind} ({admitted:,.0f})",
                ms(own),
                ms(median(repeated[kind])),
                *timing.cells("datasette"),
                *timing.cells("duckdb"),
                f"{over[kind]:.1f}",
            ]
        )
    table(
        f"All 14 facets (top {TOP}, total, missing, number of values), {build.items:,} items, ms",
        ["filter (admits)", "engine", "asked again", "Datasette, 13", "of it", "DuckDB", "of it", "times the limit"],
        rows,
        f"Counts equal in {sum(map(len, kinds.values()))} filters. One core reads {rate / 1e9:.1f} GB/s; the columns "
        f"are {width:.1f} bytes an item, so that reading them once takes {limit_ms:.2f} ms.",
    )
    filtered = [kind for kind in kinds if kind != "none"]
    slowest = least(timings[kind].times("datasette") for kind in filtered)
    times = [timings[kind].times("datasette") for kind in filtered]
    mean = None if None in times else math.exp(sum(math.log(value or 1) for value in times) / len(times))
    unfiltered = timings["none"].times("datasette")
    duck_least = least(timings[kind].times("duckdb") for kind in filtered)
    farthest = max(over[kind] for kind in filtered)
    goals(
        [
            ("each filter at most 1/100 of Datasette", fraction(slowest), at_least(slowest, 100)),
            ("their geometric mean at most 1/250 of Datasette", fraction(mean), at_least(mean, 250)),
            ("no filter: at most 1/150 of Datasette", fraction(unfiltered), at_least(unfiltered, 150)),
            ("each filter at most 1/5 of DuckDB", fraction(duck_least), at_least(duck_least, 5)),
            ("each filter at most 15 times the bandwidth limit", f"{farthest:.1f}", farthest <= 15),
        ]
    )
    for peer in (plain, duck, datasette):
        if peer is not None:
            peer.close()


# --- paging ---------------------------------------------------------------------------------------------------------


@dataclass
class Listed:
    """A listing that was walked whole: the cursors of pages at its depths."""

    case: Case
    depths: dict[str, int]
    cursors: dict[str, str | None]


async def bench_paging(build: Build) -> None:
    plain = PlainSql(build.folder)
    workspace = plain.values("workspace", 1)[0][0]
    triple = triple_cases(plain, build.items)[0]
    rare = plain.conn.execute(
        "SELECT source_id FROM item WHERE source_id LIKE 'rare-%' GROUP BY 1 ORDER BY count(*) DESC, 1 LIMIT 1"
    ).fetchone()[0]
    cases = {
        "none": Case(MetaFilter(), Condition()),
        "workspace": Case(MetaFilter(workspace=workspace), Condition("workspace = ?", (workspace,))),
        "three values": triple,
        "rare source id": Case(MetaFilter(source_id=rare), Condition("source_id = ?", (rare,))),
    }
    say("paging: comparing all pages")
    listings = {}
    async with opened(build.engine_path()) as engine:
        for name, case in cases.items():
            case.total = plain.count(case.condition)
            listings[name] = await walked(engine, plain, case)

    say("paging: timing")
    rows, worst, shapes = [], [], []
    ids: list[ItemId] = []
    for name, listed in listings.items():
        own_by_depth = []
        for depth_name, depth in listed.depths.items():
            if depth == 0 and depth_name != "first":
                continue  # a short listing is its first page
            condition = listed.case.condition
            after = plain.place(condition, depth) if depth else None
            req = ListRequest(filter=listed.case.filter, limit=TOP, cursor=listed.cursors[depth_name])
            timing = Timings(1)
            cold: list[float] = []
            for _ in range(PASSES):
                async with opened(build.engine_path()) as engine:
                    await engine.list(ListRequest(filter=MetaFilter(workspace="/none"), limit=1))
                    cold.append((await timed_async(engine.list, req))[0])
                    for _ in range(5):
                        spent, page = await timed_async(engine.list, req)
                        timing.add(OWN, 0, spent)
                    if depth_name == "first" and name == "none":
                        ids = [hit.id for hit in page.items]
            timing.add("keyset", 0, repeated_ms(plain.page_by_key, condition, after))
            timing.add("offset", 0, repeated_ms(plain.page_by_offset, condition, depth))
            mine = timing.median()
            assert mine is not None
            own_by_depth.append(mine)
            rows.append(
                [
                    f"{name} ({listed.case.total:,}), {depth_name} ({depth:,})",
                    ms(mine),
                    ms(median(cold)),
                    *timing.cells("keyset"),
                    *timing.cells("offset"),
                ]
            )
            if name == "workspace":
                worst.append((timing.times("keyset") or 0, timing.times("offset") or 0))
        if name in ("none", "workspace"):
            shapes.append(own_by_depth[-1] / own_by_depth[0])
    async with opened(build.engine_path()) as engine:
        got = [(await timed_async(engine.get, GetRequest(ids=ids)))[0] for _ in range(9)]
    table(
        f"A page of {TOP}, newest first, {build.items:,} items, ms",
        ["filter (admits), depth", "engine", "filter new", "keyset SQL", "of it", "OFFSET SQL", "of it"],
        rows,
        f"Every page of these listings is equal. The peers read {TOP} texts; the engine also makes hits of its items, "
        f"which with reading them by id takes {ms(median(got))} ms.",
    )
    keyset, offset = min(pair[0] for pair in worst), min(pair[1] for pair in worst)
    goals(
        [
            ("any depth under a workspace at most 1/50 of keyset SQL", fraction(keyset), keyset >= 50),
            ("any depth under a workspace at most 1/50 of OFFSET", fraction(offset), offset >= 50),
            ("the deepest page at most twice the first", f"{max(shapes):.1f}", max(shapes) <= 2),
        ]
    )
    plain.close()


async def walked(engine: SqliteEngine, plain: PlainSql, case: Case) -> Listed:
    """Walk a listing to its end beside the plain table's order; raises Differ at the first item that is another."""
    last = max(0, (case.total - 1) // TOP * TOP)
    middle = last // 2 // TOP * TOP
    depths = {"first": 0, "middle": middle, "last": last}
    cursors: dict[str, str | None] = {"first": None, "middle": None, "last": None}
    theirs = plain.order(case.condition)
    cursor: str | None = None
    depth = 0
    while depth < case.total:
        stop = next(at for at in sorted({middle, last, case.total}) if at > depth)
        page = await engine.list(ListRequest(filter=case.filter, limit=min(1_000, stop - depth), cursor=cursor))
        for place, hit in enumerate(page.items, depth):
            if place >= len(theirs) or hit.text != plain.text(theirs[place]):
                raise Differ(f"{case.condition}: item {place} of the listing is another one")
        depth += len(page.items)
        cursor = page.next_cursor
        if depth < case.total and (cursor is None or not page.items):
            raise Differ(f"{case.condition}: the listing ends after {depth} of {case.total}")
        for name, at in depths.items():
            if at == depth:
                cursors[name] = cursor
    if cursor is not None or len(theirs) != depth:
        raise Differ(f"{case.condition}: one listing is longer than the other")
    return Listed(case, depths, cursors)


def repeated_ms(call: Callable[P, object], *args: P.args, **options: P.kwargs) -> float:
    """The median of some calls; of fewer where they are slow."""
    spans: list[float] = []
    while len(spans) < ROUNDS and (not spans or sum(spans) < BUDGET_MS / 6):
        spans.append(timed(call, *args, **options)[0])
    found = median(spans)
    assert found is not None
    return found


# --- keyword --------------------------------------------------------------------------------------------------------


def chosen_words(build: Build, plain: PlainSql) -> dict[str, list[list[str]]]:
    """Queries of each kind: words that no other word begins with, by how many items hold them."""
    words = 7
    holders: Counter[str] = Counter()
    looked_at = 0
    for rows in build.corpus.rows(0, min(build.items, 4_000)):
        looked_at += len(rows)
        for row in rows:
            holders.update(set(re.findall("[a-z]+", row.text.lower())))
    known = set(build.corpus.words)

    def picked(least: float, most: float, among: Sequence[str]) -> list[str]:
        found = []
        for word in among:
            if least <= plain.holders(word) <= most and not plain.is_beginning(word):
                found.append(word)
            if len(found) == words:
                break
        return found

    def near(share: float) -> list[str]:
        return sorted(known & holders.keys(), key=lambda word: (abs(holders[word] / looked_at - share), word))[:400]

    common = picked(0.15 * build.items, 0.6 * build.items, near(0.25))
    middle = picked(0.006 * build.items, 0.015 * build.items, near(0.01))
    once = sorted(word for word, count in holders.items() if count == 1 and word.startswith("y") and len(word) > 8)
    rare = picked(2, 40, once)
    if not (common and len(middle) > 1 and rare):
        raise SystemExit("too few items to choose words by how common they are; take 5,000 or more")
    pairs = [[word, middle[at - 1]] for at, word in enumerate(middle)]
    mixed = [list(three) for three in zip(common, middle, rare, strict=False)]
    return {
        "rare word": [[word] for word in rare],
        "mid word": [[word] for word in middle],
        "common word": [[word] for word in common],
        "two mid, OR": pairs,
        "three mixed, OR": mixed,
    }


async def bench_keyword(build: Build) -> None:
    plain = PlainSql(build.folder)
    tantivy = Tantivy(build.folder) if build.has("tantivy") else None
    say("keyword: choosing words")
    queries = chosen_words(build, plain)
    workspace = plain.values("workspace", 1)[0][0]
    filters: dict[str, str | None] = {"": None, ", in one workspace": workspace}
    say("keyword: comparing the first 20")
    overlaps: dict[str, list[float]] = {}
    others: dict[str, list[float]] = {}
    async with opened(build.engine_path()) as engine:
        for end, place in filters.items():
            for kind, asked in queries.items():
                for words in asked:
                    best = plain.best(words, place)
                    page = await engine.fetch(request(words, place))
                    full = min(HITS, len(best))
                    if full:
                        mine = {hit.text for hit in page.hits}
                        overlaps.setdefault(kind + end, []).append(min(1.0, len(mine & best) / full))
                        if tantivy is not None:
                            shared = len(best & set(tantivy.search(words, place, plain)))
                            others.setdefault(kind + end, []).append(min(1.0, shared / full))

    say("keyword: timing")
    timings: dict[str, Timings] = {}
    for end, place in filters.items():
        for kind, asked in queries.items():
            timings[kind + end] = Timings(len(asked))
        for number in range(PASSES):
            async with opened(build.engine_path()) as engine:
                await engine.fetch(request(["file"], place))
                for kind, asked in queries.items():
                    timing = timings[kind + end]
                    for at, words in enumerate(asked):
                        req = request(words, place)
                        timing.add(OWN, at, (await timed_async(engine.fetch, req))[0])
                        if tantivy is not None:
                            spent, _ = timed(tantivy.search, words, place, plain)
                            timing.add("tantivy", at, spent)
                        if number == 0 and timing.has_time_for("fts5"):
                            timing.add("fts5", at, timed(plain.search, words, place)[0])
    async with opened(build.engine_path()) as engine:
        page = await engine.fetch(request(["file"], None))
        ids = [hit.id for hit in page.hits]
        got = [(await timed_async(engine.get, GetRequest(ids=ids)))[0] for _ in range(9)]
    rows = []
    for kind, timing in timings.items():
        rows.append(
            [
                kind,
                ms(timing.median()),
                *timing.cells("fts5"),
                *timing.cells("tantivy"),
                share(overlaps.get(kind)),
                share(others.get(kind)),
            ]
        )
    table(
        f"The first {HITS} by BM25, {build.items:,} items, ms",
        ["query", "engine", "FTS5", "of it", "tantivy", "of it", "shared with FTS5", "tantivy's"],
        rows,
        f"The peers read {HITS} texts; the engine also makes hits of its items, which with reading them by id takes "
        f"{ms(median(got))} ms.",
    )
    ends = list(filters)
    fts = least([timings["common word" + end].times("fts5") for end in ends])
    one = least([timings["common word" + end].times("tantivy") for end in ends])
    several = least([timings["three mixed, OR" + end].times("tantivy") for end in ends])
    overlap = sum(map(sum, overlaps.values())) / sum(map(len, overlaps.values()))
    goals(
        [
            ("a common word at most 1/30 of FTS5's `bm25()`", fraction(fts), at_least(fts, 30)),
            ("a common word within 1.5 times of tantivy", fraction(one), at_least(one, 1 / 1.5)),
            ("OR with a common word within 5 times of tantivy", fraction(several), at_least(several, 1 / 5)),
            (f"at least 0.95 of the first {HITS} shared with FTS5", f"{overlap:.3f}", overlap >= 0.95),
        ]
    )
    plain.close()


def request(words: Sequence[str], workspace: str | None) -> FetchRequest:
    filter = MetaFilter(workspace=workspace)
    return FetchRequest(query=" ".join(words), mode=FetchMode.KEYWORD, filter=filter, limit=HITS)


def share(values: Sequence[float] | None) -> str:
    return "-" if not values else f"{sum(values) / len(values):.2f}"


# --- store and erase ------------------------------------------------------------------------------------------------


@asynccontextmanager
async def copied(build: Build, size: int) -> AsyncIterator[SqliteEngine]:
    """The engine on a copy of a file, which may be changed; it has read everything once."""
    path = build.folder / "changed.db"
    remove_database(path)
    shutil.copyfile(build.engine_path(size), path)
    try:
        async with opened(path) as engine:
            await engine.explore_many(every_facet(MetaFilter()))
            yield engine
    finally:
        remove_database(path)


def copied_plain(build: Build) -> tuple[PlainSql, Path]:
    folder = build.folder / "changed"
    shutil.rmtree(folder, ignore_errors=True)
    folder.mkdir()
    shutil.copyfile(build.folder / PlainSql.NAME, folder / PlainSql.NAME)
    return PlainSql(folder), folder


def remove_database(path: Path) -> None:
    for end in ("", "-wal", "-shm"):
        path.with_name(path.name + end).unlink(missing_ok=True)


async def bench_store(build: Build) -> None:
    stop = build.items + STORED_BATCHES * MAX_STORE_MANY
    rows = [row for block in build.corpus.rows(build.items, stop) for row in block]
    items: list[StoreItem] = [build.corpus.item(row) for row in rows]
    batches = [items[at : at + MAX_STORE_MANY] for at in range(0, len(items), MAX_STORE_MANY)]
    spans: dict[int, list[float]] = {}
    for size in build.sizes:
        say(f"store: into {size:,} items")
        async with copied(build, size) as engine:
            spans[size] = [(await timed_async(engine.store_many, batch))[0] for batch in batches]
    say("store: the plain table")
    plain, folder = copied_plain(build)
    theirs = [
        timed(plain.store, rows[at : at + MAX_STORE_MANY])[0] for at in range(0, 20 * MAX_STORE_MANY, MAX_STORE_MANY)
    ]
    plain.close()
    shutil.rmtree(folder)
    first = median(spans[build.sizes[0]])
    assert first is not None
    found = []
    for size, own in spans.items():
        mine = median(own)
        assert mine is not None
        is_last = size == build.items
        found.append(
            [
                f"{size:,}",
                ms(mine),
                ms(sum(own) / len(own)),
                ms(max(own)),
                f"{mine / first:.2f}",
                ms(median(theirs)) if is_last else "-",
                fraction((median(theirs) or 0) / mine) if is_last else "-",
            ]
        )
    table(
        f"store_many of {MAX_STORE_MANY}, without embedding, ms",
        ["items held", "median", "mean", "slowest", "times the first size", "plain table and FTS5", "of it"],
        found,
    )
    grown = (median(spans[build.items]) or 0) / first
    goals([(f"at {build.items:,} at most twice that at {build.sizes[0]:,}", f"{grown:.2f}", grown <= 2)])


async def bench_erase(build: Build) -> None:
    rows = []
    firsts: dict[str, float] = {}
    for size in build.sizes:
        say(f"erase: from {size:,} items")
        spans: dict[str, list[float]] = {"forget 1": [], "forget 100": [], "erase 1": [], "erase 100": []}
        async with copied(build, size) as engine:
            for name, node, number in removals(size):
                at = Namespace.parse(node(size, number))
                call, wanted = name.split()
                page = await engine.list(ListRequest(filter=MetaFilter(reach=Reach.exact(at)), limit=200))
                if len(page.items) != int(wanted):
                    raise Differ(f"{at} holds {len(page.items)} items instead of {wanted}")
                if call == "forget":
                    target = ForgetTarget(ids=[hit.id for hit in page.items])
                    spent, _ = await timed_async(engine.forget, target)
                else:
                    req = EraseRequest(reach=Reach.exact(at))
                    spent, report = await timed_async(engine.erase, req)
                    if report.receipts:
                        raise Differ(f"an erase was not finished: {report.receipts}")
                spans[name].append(spent)
        medians = {name: median(values) or 0.0 for name, values in spans.items()}
        firsts = firsts or medians
        rows.append([f"{size:,}"] + [f"{ms(value)} ({value / firsts[name]:.1f}x)" for name, value in medians.items()])
    say("erase: the plain table")
    plain, folder = copied_plain(build)
    numbers = range(7, build.items, max(1, build.items // 200))
    one = median(timed(plain.remove, [numbers[at]])[0] for at in range(5))
    many = timed(plain.remove, numbers[10:110])[0]
    plain.close()
    shutil.rmtree(folder)
    rows.append([f"plain table and FTS5, {build.items:,}", ms(one), ms(many), "-", "-"])
    table(
        "Removing items that lie all over the file, ms (times the first size)",
        ["items held", "forget 1", "forget 100", "erase 1", "erase 100"],
        rows,
        "The plain table deletes with secure_delete and empties its log, and still keeps the words: this SQLite's FTS5 "
        "lets go of them only when its whole index is rewritten.",
    )


def removals(size: int) -> list[tuple[str, Callable[[int, int], str], int]]:
    half, third = SINGLE_NODES // 2, HUNDRED_NODES // 2
    return [
        *(("forget 1", single_node, number) for number in range(half)),
        *(("erase 1", single_node, number) for number in range(half, SINGLE_NODES)),
        *(("forget 100", hundred_node, number) for number in range(third)),
        *(("erase 100", hundred_node, number) for number in range(third, HUNDRED_NODES)),
    ]


# --- open, memory, file ---------------------------------------------------------------------------------------------


async def bench_open(build: Build) -> None:
    rows = []
    to_explore = to_list = 0.0
    for size in build.sizes:
        say(f"open: {size:,} items")
        found = {
            what: median(in_child("child.py", "open", build.engine_path(size), what) for _ in range(5)) or 0.0
            for what in ("health", "explore", "list", "fetch")
        }
        to_explore, to_list = found["explore"], found["list"]
        rows.append([f"{size:,}", *map(ms, found.values())])
    table(
        "Opening in a new process, ms from making the engine to its first answer",
        ["items held", "health (the file alone)", "all 14 facets", "first list page", "first search"],
        rows,
    )
    slower = max(to_explore, to_list)
    goals([(f"open at {build.items:,} under 150 ms: to the first facets and the first page", ms(slower), slower < 150)])


async def bench_memory(build: Build) -> None:
    plain = PlainSql(build.folder)
    strings = plain.bytes_of_strings()
    plain.close()
    with tempfile.TemporaryDirectory() as folder:
        empty = median(in_child("child.py", "memory", Path(folder) / "empty.db") for _ in range(3))
    held = median(in_child("child.py", "memory", build.engine_path()) for _ in range(3))
    if empty is None or held is None:
        say("memory: this system does not say what a process holds")
        return
    beyond = held - empty
    without = (beyond - strings) / build.items
    table(
        f"Resident memory after one of each call, {build.items:,} items",
        ["", "MB", "bytes an item"],
        [
            ["a process with an empty file", f"{empty / 1e6:.1f}", "-"],
            ["a process with this file", f"{held / 1e6:.1f}", "-"],
            ["beyond the empty one", f"{beyond / 1e6:.1f}", f"{beyond / build.items:.1f}"],
            ["of it the facets' strings (their UTF-8 bytes)", f"{strings / 1e6:.1f}", f"{strings / build.items:.1f}"],
            ["the rest", f"{(beyond - strings) / 1e6:.1f}", f"{without:.1f}"],
        ],
    )
    goals([("under 120 bytes an item, strings counted apart", f"{without:.1f}", without < 120)])


async def bench_file(build: Build) -> None:
    size = build.engine_path().stat().st_size
    allowed = 1.5 * build.text_bytes + 1_024 * build.items
    table(
        f"The engine's file, {build.items:,} items",
        ["", "MB", "bytes an item"],
        [
            ["text it holds", f"{build.text_bytes / 1e6:,.1f}", f"{build.text_bytes / build.items:,.0f}"],
            ["file", f"{size / 1e6:,.1f}", f"{size / build.items:,.0f}"],
            ["1.5 times the text and 1 KB an item", f"{allowed / 1e6:,.1f}", f"{allowed / build.items:,.0f}"],
        ],
    )
    over = (size - 1.5 * build.text_bytes) / build.items
    goals([("at most 1.5 times the text and 1 KB an item", f"1.5 times and {over:,.0f} bytes", size <= allowed)])


async def bench_vector(build: Build) -> None:
    await bench_vectors.bench(build.folder, build.items)


PARTS = {
    "facets": bench_facets,
    "paging": bench_paging,
    "keyword": bench_keyword,
    "vector": bench_vector,
    "store": bench_store,
    "open": bench_open,
    "memory": bench_memory,
    "file": bench_file,
    "erase": bench_erase,
}


# --- the command ----------------------------------------------------------------------------------------------------


def print_head(build: Build) -> None:
    print(f"\n## {build.items:,} items, {build.text_bytes / 1e6:,.0f} MB of text\n")
    versions = []
    for name in PACKAGES:
        try:
            versions.append(f"{name} {importlib.metadata.version(name)}")
        except importlib.metadata.PackageNotFoundError:
            versions.append(f"{name} missing")
    print(
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {os.cpu_count()} cores; "
        f"{', '.join(versions)}."
    )
    if build.seconds:
        made = ", ".join(f"{name} {seconds:,.0f} s" for name, seconds in build.seconds.items())
        print(f"Made in: {made}.")
    if build.items != GOAL_ITEMS:
        print(f"The goals are set for {GOAL_ITEMS:,} items.")


async def bench(folder: Path, items: int, seed: int, parts: Sequence[str]) -> None:
    build = Build(folder, items, seed)
    needed = {name for part in parts for name in NEEDS[part]}
    await build.make([name for name in ("engine", "plain", "duckdb", "tantivy") if name in needed])
    print_head(build)
    for part in parts:
        say(part)
        try:
            await PARTS[part](build)
        except Differ as differ:
            print(f"\n### {part}\n\nNot timed, as the results differ: {differ}")


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--dir", type=Path, help="where the files are made and kept; without it they are removed")
    parser.add_argument("--only", default=",".join(PARTS), help="parts, with commas: " + ",".join(PARTS))
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    parts: list[str] = args.only.split(",")
    for part in parts:
        if part not in PARTS:
            parser.error(f"`{part}` is no part; they are {', '.join(PARTS)}")
    if args.dir is not None:
        asyncio.run(bench(args.dir, args.items, args.seed, parts))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(bench(Path(folder), args.items, args.seed, parts))


if __name__ == "__main__":
    main()
