"""Search by meaning: the first ten by vector beside sqlite-vec over the same vectors, and beside the exact ten.

    python tests/benchmarks/bench_vectors.py --items 1000000 [--texts FILE [--column 2]] [--dir KEPT]

The texts are short: one a line, or one column of a file with tabs; without a file they are made up.
"""

from __future__ import annotations

import argparse
import asyncio
import importlib
import json
import sys
import tempfile
import time
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

import numpy as np
import numpy.typing as npt
from generate import Corpus
from measure import at_least, fraction, goals, in_child, median, ms, ratio, say, table, timed, timed_async
from peers import package

from explorer.contract import (
    MAX_STORE_MANY,
    Document,
    DocumentBody,
    FetchMode,
    FetchRequest,
    MemoryMeta,
    MetaFilter,
)
from explorer.engines.embedding import Embedder, default_embedder
from explorer.engines.sqlite import SqliteEngine

TEN = 10
QUERIES = 60
PASSES = 3
BUDGET_MS = 60_000
WORKSPACES = 5
"""So that a filter by one of them admits a fifth."""

Vectors = npt.NDArray[np.float32]

_SAY_EVERY_S = 15.0
_BATCH = 10_000


@dataclass(frozen=True)
class Texts:
    """What is stored, in order, and what is asked for, which is none of it."""

    stored: list[str]
    asked: list[str]

    @classmethod
    def of(cls, items: int, file: Path | None, column: int) -> Texts:
        wanted = items + QUERIES
        lines = Corpus().short_texts(wanted + wanted // 50) if file is None else _lines(file, column)
        found: dict[str, None] = {}
        for line in lines:
            found[line] = None
            if len(found) == wanted:
                break
        texts = list(found)
        if len(texts) < 20 * QUERIES:
            raise SystemExit(f"{len(texts):,} different texts are too few; at least {20 * QUERIES:,} are needed")
        step = len(texts) // QUERIES
        asked = texts[::step][:QUERIES]
        held_out = set(asked)
        return cls([text for text in texts if text not in held_out], asked)


def _lines(file: Path, column: int) -> Iterator[str]:
    with file.open(encoding="utf-8", errors="replace") as held:
        for line in held:
            cells = line.rstrip("\r\n").split("\t")
            if column <= len(cells) and len(text := cells[column - 1].strip()) > 3:
                yield text


def workspace_of(number: int) -> str:
    return f"/ws/{number % WORKSPACES}"


async def fill(path: Path, texts: Texts) -> tuple[float, float]:
    """Store the texts and wait for all their vectors; seconds for storing, and for what the vectors took beyond."""
    path.unlink(missing_ok=True)
    begun = said = time.perf_counter()
    engine = SqliteEngine(path)
    try:
        for start in range(0, len(texts.stored), MAX_STORE_MANY):
            batch = texts.stored[start : start + MAX_STORE_MANY]
            await engine.store_many(
                [
                    Document(body=DocumentBody(text=text), meta=MemoryMeta(workspace=workspace_of(number)))
                    for number, text in enumerate(batch, start)
                ]
            )
            if time.perf_counter() - said > _SAY_EVERY_S:
                said = time.perf_counter()
                say(f"  {start + len(batch):,} stored")
        stored = time.perf_counter()
        while True:
            status = await engine.vector_status()
            if status is None or status.error is not None:
                raise SystemExit(f"the engine makes no vectors: {status and status.error}")
            if status.with_vector >= status.items:
                break
            say(f"  {status.with_vector:,} of {status.items:,} have their vector")
            await asyncio.sleep(5.0)
        return stored - begun, time.perf_counter() - stored
    finally:
        await engine.aclose()


def embedded(path: Path, embedder: Embedder, texts: Texts) -> Vectors:
    """The texts' vectors as 32-bit floats, from a file where it holds them."""
    shape = (len(texts.stored), embedder.dims)
    if not path.exists():
        made = np.lib.format.open_memmap(path.with_suffix(".part"), "w+", np.float32, shape)
        for start in range(0, len(made), _BATCH):
            made[start : start + _BATCH] = embedder.embed(texts.stored[start : start + _BATCH])
        made.flush()
        path.with_suffix(".part").rename(path)
    return np.load(path, mmap_mode="r")


class SqliteVec:
    """A vec0 table of 8-bit vectors in apsw's SQLite, with the workspace beside them."""

    def __init__(self, path: Path, vectors: Vectors) -> None:
        apsw, sqlite_vec = importlib.import_module("apsw"), importlib.import_module("sqlite_vec")
        self._scale = 127.0 / float(
            max(np.abs(vectors[at : at + _BATCH]).max() for at in range(0, len(vectors), _BATCH))
        )
        is_new = not path.exists()
        self._conn = apsw.Connection(str(path))
        self._conn.enable_load_extension(True)
        self._conn.load_extension(sqlite_vec.loadable_path())
        if is_new:
            self._conn.execute("PRAGMA journal_mode = WAL")
            self._fill(vectors)
        self._conn.execute("PRAGMA cache_size = -400000")

    def _fill(self, vectors: Vectors) -> None:
        dims = vectors.shape[1]
        with self._conn:
            self._conn.execute(f"CREATE VIRTUAL TABLE vec USING vec0(v int8[{dims}], workspace text)")
            for start in range(0, len(vectors), _BATCH):
                block = self._whole(vectors[start : start + _BATCH])
                self._conn.executemany(
                    "INSERT INTO vec(rowid, v, workspace) VALUES(?, vec_int8(?), ?)",
                    [(at, row.tobytes(), workspace_of(at)) for at, row in enumerate(block, start)],
                )

    def _whole(self, vectors: Vectors) -> npt.NDArray[np.int8]:
        return np.clip(np.rint(vectors * self._scale), -127, 127).astype(np.int8)

    def nearest(self, query: Vectors, workspace: str | None) -> list[int]:
        sql = f"SELECT rowid FROM vec WHERE v MATCH vec_int8(?) AND k = {TEN}"
        values: list[Any] = [self._whole(query).tobytes()]
        if workspace is not None:
            sql += " AND workspace = ?"
            values.append(workspace)
        return [row for (row,) in self._conn.execute(sql, values)]

    def close(self) -> None:
        self._conn.close()


def exact_scores(vectors: Vectors, queries: Vectors) -> list[Vectors]:
    """For each query its cosine with every stored text."""
    scores = np.concatenate([vectors[at : at + 100_000] @ queries.T for at in range(0, len(vectors), 100_000)])
    return list(np.ascontiguousarray(scores.T))


def recall(rows: list[int], scores: Vectors, admitted: npt.NDArray[np.int64]) -> float:
    """The share of the exact first ten among `rows`; what shares the tenth's cosine counts as one of them."""
    least = np.partition(scores[admitted], len(admitted) - TEN)[len(admitted) - TEN]
    return sum(float(scores[row]) >= float(least) - 1e-5 for row in rows[:TEN]) / TEN


async def bench(folder: Path, items: int, file: Path | None = None, column: int = 1) -> None:
    """Make what is missing in `folder`, compare, time, and print the tables."""
    embedder = default_embedder()
    if embedder is None:
        print("\n### Vectors\n\nNot measured: wordllama is not installed.")
        return
    texts = Texts.of(items, file, column)
    folder = folder / "vectors"
    folder.mkdir(parents=True, exist_ok=True)
    manifest = folder / "build.json"
    asked_for = {"texts": len(texts.stored), "first": texts.stored[0], "last": texts.stored[-1]}
    known = json.loads(manifest.read_text("utf-8")) if manifest.exists() else {}
    path = folder / "engine.db"
    if known.get("asked_for") != asked_for:
        for old in folder.iterdir():
            old.unlink()
        say(f"vectors: storing {len(texts.stored):,} texts")
        stored, beyond = await fill(path, texts)
        known = {"asked_for": asked_for, "stored_s": stored, "beyond_s": beyond}
        manifest.write_text(json.dumps(known), "utf-8")
    say("vectors: embedding for the peer")
    vectors = embedded(folder / "vectors.npy", embedder, texts)
    queries = embedder.embed(texts.asked)
    peer = None
    if package("apsw") and package("sqlite_vec"):
        say("vectors: filling sqlite-vec")
        peer = SqliteVec(folder / "sqlite-vec.db", vectors)

    say("vectors: comparing")
    scores = exact_scores(vectors, queries)
    number_of = {text: number for number, text in enumerate(texts.stored)}
    filters: dict[str, str | None] = {"none": None, "one workspace": workspace_of(1)}
    recalls: dict[tuple[str, str], list[float]] = {}
    engine = SqliteEngine(path)
    for name, workspace in filters.items():
        admitted = np.arange(len(vectors)) if workspace is None else np.arange(1, len(vectors), WORKSPACES)
        for at, text in enumerate(texts.asked):
            page = await engine.fetch(request(text, workspace))
            rows = [number_of[hit.text] for hit in page.hits]
            if workspace is not None and any(workspace_of(row) != workspace for row in rows):
                raise SystemExit("the engine's answer holds what the filter does not admit")
            recalls.setdefault((name, "engine"), []).append(recall(rows, scores[at], admitted))
            if peer is not None and at < 12:
                found = recall(peer.nearest(queries[at], workspace), scores[at], admitted)
                recalls.setdefault((name, "peer"), []).append(found)
    await engine.aclose()

    say("vectors: timing")
    own: dict[str, list[list[float]]] = {name: [[] for _ in texts.asked] for name in filters}
    theirs: dict[str, list[float | None]] = {name: [] for name in filters}
    for name, workspace in filters.items():
        for number in range(PASSES):
            engine = SqliteEngine(path)
            await engine.fetch(request("something else", workspace))
            for at, text in enumerate(texts.asked):
                own[name][at].append((await timed_async(engine.fetch, request(text, workspace)))[0])
                if peer is not None and number == 0 and sum(value or 0 for value in theirs[name]) < BUDGET_MS / 2:
                    theirs[name].append(timed(peer.nearest, queries[at], workspace)[0])
            await engine.aclose()
    if peer is not None:
        peer.close()

    times: dict[str, float | None] = {}
    lines = []
    for name in filters:
        mine = [median(spans) for spans in own[name]]
        times[name] = ratio(mine, theirs[name])
        lines.append(
            [
                name,
                ms(median(mine)),
                _share(recalls[name, "engine"]),
                ms(median(theirs[name])),
                fraction(times[name]),
                _share(recalls.get((name, "peer"))),
            ]
        )
    words = sum(len(text.split()) for text in texts.stored) / len(texts.stored)
    made = "made up" if file is None else f"of {file.name}"
    kind = f"{made}, {words:.0f} words each, {embedder.dims} dimensions"
    table(
        f"The first ten by vector, {len(texts.stored):,} texts ({kind}), ms",
        ["filter", "engine", "recall@10", "sqlite-vec, 8 bits", "of it", "its recall@10"],
        lines,
        f"{len(texts.asked)} queries that are not stored. The engine's time holds making the query's vector and the "
        f"hits. Stored in {known['stored_s']:,.0f} s; the last vectors came {known['beyond_s']:,.0f} s later.",
    )
    held = in_child("child.py", "vectors", path)
    each = None if held is None else held / len(texts.stored)
    found = float(np.mean(recalls["none", "engine"]))
    goals(
        [
            ("at most 1/10 of sqlite-vec", fraction(times["none"]), at_least(times["none"], 10)),
            ("recall@10 of 0.97 or more", f"{found:.3f}", found >= 0.97),
            (
                "the search holds at most 40 bytes an item in memory",
                "-" if each is None else f"{each:.1f}",
                None if each is None else each <= 40,
            ),
        ]
    )


def request(text: str, workspace: str | None) -> FetchRequest:
    return FetchRequest(query=text, mode=FetchMode.VECTOR, filter=MetaFilter(workspace=workspace), limit=TEN)


def _share(values: list[float] | None) -> str:
    return "-" if not values else f"{sum(values) / len(values):.3f}"


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=100_000)
    parser.add_argument("--texts", type=Path, help="a file of UTF-8 text")
    parser.add_argument("--column", type=int, default=1, help="which column of it, from 1")
    parser.add_argument("--dir", type=Path, help="where the files are made and kept; without it they are removed")
    args = parser.parse_args()
    if args.dir is not None:
        asyncio.run(bench(args.dir, args.items, args.texts, args.column))
        return
    with tempfile.TemporaryDirectory() as folder:
        asyncio.run(bench(Path(folder), args.items, args.texts, args.column))


if __name__ == "__main__":
    main()
