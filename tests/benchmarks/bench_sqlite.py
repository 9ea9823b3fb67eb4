"""Figures of the embedded engine beside plain SQL on the same items: one table with an index on each column, a tag
table, and FTS5 for words.

Run: python tests/benchmarks/bench_sqlite.py [--items 20000 100000] [--seed 1]

Each figure is a median over repeated calls, in one process; answers are compared before they are timed. Ratios count,
absolute times depend on the machine and on what else it does. Prints figures, asserts no times.
"""

from __future__ import annotations

import argparse
import asyncio
import random
import sqlite3
import statistics
import sys
import tempfile
import time
from collections.abc import Awaitable, Callable
from functools import partial
from pathlib import Path

ROOT = Path(__file__).parents[2]
sys.path.insert(0, str(ROOT))

from explorer.contract import (  # noqa: E402
    Document,
    DocumentBody,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    Hit,
    ItemId,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    Namespace,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    ToolCallRef,
    parse_item,
)
from explorer.engines.sqlite import SqliteEngine  # noqa: E402

COLUMNS = [facet for facet in Facet if facet is not Facet.TAG]
ROUNDS = 7
PAGE = 50
BATCH = 100


def make_items(count: int, seed: int) -> list[StoreItem]:
    """Documents with every facet filled as a coding agent would: few workspaces, many files, words by Zipf's law."""
    rand = random.Random(seed)
    words = ["".join(rand.choices("abcdefghijklmnopqrstuvwxyz", k=rand.randint(3, 10))) for _ in range(20_000)]
    weights = [1.0 / (rank + 3) for rank in range(len(words))]
    made: list[StoreItem] = []
    for number in range(count):
        workspace = min(int(rand.expovariate(0.35)), 19)
        folder = f"/ws/{workspace}/src/{int(rand.expovariate(0.15))}"
        text = " ".join(rand.choices(words, weights, k=rand.randint(30, 170)))
        meta = MemoryMeta(
            namespace=Namespace.parse(f"team:t{workspace % 5}/agent:a{rand.randint(0, 20)}"),
            workspace=f"/ws/{workspace}",
            folder=folder,
            file_path=f"{folder}/file{int(rand.expovariate(0.01))}.py",
            language=rand.choice(["en", "de", "python", "rust"]),
            repo=f"acme/repo{workspace}",
            url=f"https://acme.test/{number // 3}" if rand.random() < 0.5 else None,
            thread_id=f"thread-{number // 40}",
            agent_id=f"agent-{rand.randint(0, 20)}",
            tool_call=ToolCallRef(name=rand.choice(["grep", "edit", "shell"])) if rand.random() < 0.3 else None,
            source=SourceRef(kind=rand.choice(list(SourceKind)), id=f"source-{rand.randint(0, 300)}"),
            tags=rand.sample([f"tag{tag}" for tag in range(60)], rand.randint(0, 4)),
            observed_at=Timestamp.from_unix_ns(rand.randint(1_600_000_000, 1_760_000_000) * 10**9),
        )
        made.append(Document(title=f"note {number}", body=DocumentBody(text=text), meta=meta))
    return made


class Peer:
    """The same items in plain SQL, every column indexed."""

    def __init__(self, path: Path, items: list[StoreItem]) -> None:
        self.conn = conn = sqlite3.connect(path, isolation_level=None)
        conn.execute("PRAGMA journal_mode = WAL")
        names = ", ".join(f"{facet.value} TEXT" for facet in COLUMNS)
        conn.execute(
            f"CREATE TABLE item(id INTEGER PRIMARY KEY, fp TEXT UNIQUE, observed INTEGER, {names}, payload TEXT)"
        )
        conn.execute("CREATE TABLE tag(item INTEGER, tag TEXT, PRIMARY KEY(item, tag)) WITHOUT ROWID")
        for facet in COLUMNS:
            conn.execute(f"CREATE INDEX by_{facet.value} ON item({facet.value})")
        conn.execute("CREATE INDEX by_observed ON item(observed DESC, id DESC)")
        conn.execute("CREATE INDEX by_tag ON tag(tag)")
        conn.execute("CREATE VIRTUAL TABLE words USING fts5(text, content='')")
        marks = ", ".join("?" * (len(COLUMNS) + 4))
        for start in range(0, len(items), BATCH):
            conn.execute("BEGIN IMMEDIATE")
            for number, item in enumerate(items[start : start + BATCH], start):
                meta = item.meta
                values = [next(iter(facet.values(item.item_kind, meta)), None) for facet in COLUMNS]
                observed = meta.observed_at.unix_ns if meta.observed_at else None
                row = (number, item.fingerprint(), observed, *values, item.model_dump_json())
                conn.execute(f"INSERT INTO item VALUES({marks})", row)
                conn.executemany("INSERT INTO tag VALUES(?, ?)", [(number, tag) for tag in dict.fromkeys(meta.tags)])
                conn.execute("INSERT INTO words(rowid, text) VALUES(?, ?)", (number, item.render_text()))
            conn.execute("COMMIT")
        conn.execute("ANALYZE")

    def facets(self, where: str, values: list[str]) -> list[tuple[list[tuple[str, int]], int]]:
        """The 50 largest buckets and the total of each facet."""
        found = []
        total = self.conn.execute(f"SELECT count(*) FROM item WHERE {where}", values).fetchone()[0]
        for facet in Facet:
            if facet is Facet.TAG:
                sql = f"SELECT tag, count(*) c FROM tag WHERE item IN (SELECT id FROM item WHERE {where}) GROUP BY tag"
            else:
                sql = (
                    f"SELECT {facet.value}, count(*) c FROM item WHERE {where} AND {facet.value} IS NOT NULL"
                    f" GROUP BY {facet.value}"
                )
            found.append((self.conn.execute(f"{sql} ORDER BY c DESC, 1 LIMIT 50", values).fetchall(), total))
        return found

    def page(self, where: str, values: list[str], after: tuple[int, int] | None) -> list[Hit]:
        keyset = "" if after is None else "AND (observed, id) < (?, ?)"
        sql = f"SELECT fp, payload FROM item WHERE {where} {keyset} ORDER BY observed DESC, id DESC LIMIT {PAGE}"
        return [hit_of(fp, payload) for fp, payload in self.conn.execute(sql, [*values, *(after or ())])]

    def search(self, query: str) -> list[Hit]:
        """The last word stands for longer ones too, as in the engine."""
        words = " OR ".join(f'"{word}"' for word in query.split()) + " *"
        found = self.conn.execute(
            "SELECT rowid FROM words WHERE words MATCH ? ORDER BY bm25(words) LIMIT 20", (words,)
        ).fetchall()
        return [
            hit_of(*self.conn.execute("SELECT fp, payload FROM item WHERE id = ?", row).fetchone()) for row in found
        ]


def hit_of(fp: str, payload: str) -> Hit:
    return Hit.of_item(ItemId(fp), parse_item(payload))


def title_of(hit: Hit) -> str:
    return hit.text[2:].split("\n")[0]


def timed(call: Callable[[], object]) -> float:
    """Median milliseconds of a call."""
    spans = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        call()
        spans.append((time.perf_counter() - start) * 1_000)
    return statistics.median(spans)


async def timed_async(call: Callable[[], Awaitable[object]]) -> float:
    spans = []
    for _ in range(ROUNDS):
        start = time.perf_counter()
        await call()
        spans.append((time.perf_counter() - start) * 1_000)
    return statistics.median(spans)


def show(name: str, own: float, peer: float | None = None) -> None:
    beside = "" if peer is None else f"{peer:12.2f}{peer / own:10.1f}x"
    print(f"{name:<44}{own:12.2f}{beside}")


async def bench(count: int, seed: int) -> None:
    items = make_items(count, seed)
    with tempfile.TemporaryDirectory() as folder:
        start = time.perf_counter()
        peer = Peer(Path(folder) / "peer.db", items)
        peer_s = time.perf_counter() - start
        path = Path(folder) / "own.db"
        engine = SqliteEngine(path)
        start = time.perf_counter()
        spans = []
        for at in range(0, count, BATCH):
            begun = time.perf_counter()
            await engine.store_many(items[at : at + BATCH])
            spans.append((time.perf_counter() - begun) * 1_000)
        own_s = time.perf_counter() - start
        await engine.aclose()
        own_mb, peer_mb = (file.stat().st_size / 2**20 for file in (path, Path(folder) / "peer.db"))
        text_mb = sum(len(item.render_text()) for item in items) / 2**20
        print(f"\n{count:,} items, {text_mb:.0f} MB of text; file {own_mb:.0f} MB, peer {peer_mb:.0f} MB")
        print(f"{'':<44}{'own ms':>12}{'peer ms':>12}{'ratio':>11}")
        show("store_many of 100, mean", own_s / count * BATCH * 1_000, peer_s / count * BATCH * 1_000)
        print(
            f"  median {statistics.median(spans):.1f}, slowest {max(spans):.0f} (it waits for a segment being sealed)"
        )
        await bench_reads(path, peer, items)
        peer.conn.close()


async def bench_reads(path: Path, peer: Peer, items: list[StoreItem]) -> None:
    engine = SqliteEngine(path)
    start = time.perf_counter()
    await engine.list(ListRequest(limit=1))
    show("open and list one", (time.perf_counter() - start) * 1_000)
    start = time.perf_counter()
    await engine.fetch(FetchRequest(query="zzz", mode=FetchMode.KEYWORD, limit=1))
    show("first search (words of the filling segment)", (time.perf_counter() - start) * 1_000)

    workspace = MetaFilter(workspace="/ws/1")
    several = MetaFilter(workspace="/ws/1", language="python", sources=[SourceKind.FILE])
    conditions: list[tuple[str, MetaFilter, str, list[str]]] = [
        ("none", MetaFilter(), "1", []),
        ("one value", workspace, "workspace = ?", ["/ws/1"]),
        ("three values", several, "workspace = ? AND language = ? AND source = ?", ["/ws/1", "python", "file"]),
        ("folder prefix", MetaFilter(folder="/ws/2/src/1"), "folder = ?", ["/ws/2/src/1"]),
    ]
    for name, filter, where, values in conditions:
        reqs = [ExploreRequest(facet=facet, filter=filter, limit=50) for facet in Facet]
        pages = await engine.explore_many(reqs)
        counted = [([(bucket.value, bucket.count) for bucket in page.buckets], page.total) for page in pages]
        assert counted == peer.facets(where, values), name

        async def ask(reqs: list[ExploreRequest] = reqs) -> None:
            engine._reading._filters._kept.clear()  # what a filter admits is kept: each round counts anew
            await engine.explore_many(reqs)

        own = await timed_async(ask)
        show(f"14 facets, {name} ({pages[0].total:,})", own, timed(partial(peer.facets, where, values)))

    seen = [item.meta.observed_at.unix_ns if item.meta.observed_at else 0 for item in items]
    order = sorted(range(len(items)), key=lambda at: (-seen[at], -at))
    held = [at for at in order if items[at].meta.workspace == "/ws/1"]
    titles = [f"note {at}" for at in held]
    cursors: list[str | None] = [None]
    while cursors[-1] is not None or len(cursors) == 1:
        page = await engine.list(ListRequest(filter=workspace, limit=PAGE, cursor=cursors[-1]))
        at = (len(cursors) - 1) * PAGE
        assert [title_of(hit) for hit in page.items] == titles[at : at + PAGE]
        cursors.append(page.next_cursor)
    for name, number in (("first", 0), ("middle", len(cursors) // 2), ("last", len(cursors) - 2)):
        req = ListRequest(filter=workspace, limit=PAGE, cursor=cursors[number])
        last = held[number * PAGE - 1] if number else None
        after = None if last is None else (seen[last], last)
        beside = peer.page("workspace = ?", ["/ws/1"], after)
        assert [title_of(hit) for hit in beside] == titles[number * PAGE : (number + 1) * PAGE]
        own = await timed_async(partial(engine.list, req))
        plain = timed(partial(peer.page, "workspace = ?", ["/ws/1"], after))
        show(f"page of {PAGE}, {name} of {len(cursors) - 1}", own, plain)

    for name, query in words_of(items):
        fetch = FetchRequest(query=query, mode=FetchMode.KEYWORD, limit=20)
        ranked = await engine.fetch(fetch)
        theirs = {hit.id for hit in peer.search(query)}
        overlap = len(theirs & {hit.id for hit in ranked.hits}) / max(1, len(theirs))

        async def search(req: FetchRequest = fetch) -> None:
            engine._reading._rankings.clear()  # so that each round ranks anew
            await engine.fetch(req)

        own = await timed_async(search)
        plain = timed(partial(peer.search, query))
        show(f"words, {name} (top 20 shared {overlap:.2f})", own, plain)
    await engine.aclose()


def words_of(items: list[StoreItem]) -> list[tuple[str, str]]:
    """A common, a middling and a rare word, and three together."""
    holders: dict[str, int] = {}
    for item in items[:5_000]:
        for word in set(item.render_text().split()):
            holders[word] = holders.get(word, 0) + 1
    ranked = sorted(holders, key=lambda word: (-holders[word], word))
    ranked = [word for word in ranked if word.isalpha() and word != "note"]
    common, middle, rare = ranked[2], ranked[len(ranked) // 40], ranked[len(ranked) // 2]
    return [("common", common), ("middle", middle), ("rare", rare), ("all three", f"{common} {middle} {rare}")]


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0] if __doc__ else None)
    parser.add_argument("--items", type=int, nargs="+", default=[20_000, 100_000])
    parser.add_argument("--seed", type=int, default=1)
    args = parser.parse_args()
    for count in args.items:
        asyncio.run(bench(count, args.seed))


if __name__ == "__main__":
    main()
