"""The files that are measured, made once into a folder: the engine's at several sizes, and each peer's."""

from __future__ import annotations

import gc
import json
import shutil
import time
from collections.abc import Sequence
from pathlib import Path
from typing import Any

from generate import Corpus, Row
from measure import say
from peers import Duck, PlainSql, Tantivy, package

from explorer.contract import MAX_STORE_MANY
from explorer.engines.sqlite import SqliteEngine

SMALLER = (10_000, 100_000)
"""Sizes at which the engine's file is copied while it grows."""

PEERS: dict[str, type[PlainSql | Duck | Tantivy]] = {"plain": PlainSql, "duckdb": Duck, "tantivy": Tantivy}

_SAY_EVERY_S = 15.0


def open_engine(path: Path) -> SqliteEngine:
    """The engine without vectors: what is timed here is not embedding."""
    return SqliteEngine(path, embedder=None)


class Build:
    """A folder of files for one number of items, and what is known of how they were made."""

    def __init__(self, folder: Path, items: int, seed: int) -> None:
        self.folder = folder
        self.items = items
        self.sizes = [*(size for size in SMALLER if size < items), items]
        self.corpus = Corpus(seed, self.sizes)
        gc.freeze()  # the corpus holds a million strings, which no collection needs to look at
        self._manifest = folder / "build.json"
        folder.mkdir(parents=True, exist_ok=True)
        made_for = {"items": items, "seed": seed}
        if self._manifest.exists():
            self._known = json.loads(self._manifest.read_text("utf-8"))
            if {key: self._known[key] for key in made_for} != made_for:
                raise SystemExit(f"{folder} holds files for {self._known['items']:,} items; name another folder")
        else:
            self._known = {**made_for, "made": {}, "text_bytes": 0}

    def engine_path(self, size: int | None = None) -> Path:
        return self.folder / f"engine-{self.items if size is None else size}.db"

    @property
    def seconds(self) -> dict[str, float]:
        """How long each file took to make; making the items is counted by itself, as `items`."""
        made: dict[str, float] = self._known["made"]
        return made

    @property
    def text_bytes(self) -> int:
        """UTF-8 bytes of all items' rendered texts."""
        return int(self._known["text_bytes"])

    def has(self, peer: str) -> bool:
        return peer in self.seconds

    async def make(self, wanted: Sequence[str]) -> None:
        """Make what is missing of `engine` and the peers, in one pass over the items."""
        missing = [name for name in wanted if name not in self.seconds]
        for name in [name for name in missing if name in ("duckdb", "tantivy") and package(name) is None]:
            say(f"{name} is not installed: left out")
            missing.remove(name)
        if not missing:
            return
        say(f"making {', '.join(missing)} of {self.items:,} items in {self.folder}")
        spent = dict.fromkeys(missing, 0.0)
        peers = {name: PEERS[name].begin(self.folder) for name in missing if name in PEERS}
        engine = _EngineFile(self) if "engine" in missing else None
        generated, text_bytes, said, begun = 0.0, 0, time.perf_counter(), time.perf_counter()
        done = 0
        mark = time.perf_counter()
        for rows in self.corpus.rows(0, self.items):
            now = time.perf_counter()
            generated += now - mark
            text_bytes += sum(len(row.text.encode()) for row in rows)
            for name, peer in peers.items():
                spent[name] += _seconds(lambda peer=peer, rows=rows: peer.add(rows))
            if engine is not None:
                spent["engine"] += await engine.add(rows)
            done += len(rows)
            mark = time.perf_counter()
            if mark - said > _SAY_EVERY_S:
                said = mark
                left = (mark - begun) / done * (self.items - done)
                say(f"  {done:,} items, {(mark - begun) / done * 1e6:,.0f} us an item, {left / 60:.1f} min left")
        for name, peer in peers.items():
            say(f"  finishing {name}")
            spent[name] += _seconds(peer.finish)
            peer.close()
        if engine is not None:
            spent["engine"] += await engine.finish()
            generated += engine.making_items_s
        self._known["text_bytes"] = text_bytes
        self.seconds["items"] = generated
        self.seconds.update(spent)
        self._manifest.write_text(json.dumps(self._known, indent=1), "utf-8")


class _EngineFile:
    def __init__(self, build: Build) -> None:
        self._build = build
        self._path = build.engine_path()
        for file in build.folder.glob("engine-*"):
            file.unlink()
        self._engine = open_engine(self._path)
        self._stored = 0
        self.making_items_s = 0.0

    async def add(self, rows: Sequence[Row]) -> float:
        """Store a list of items; how many seconds that took without making them."""
        spent = 0.0
        for start in range(0, len(rows), MAX_STORE_MANY):
            begun = time.perf_counter()
            items = [self._build.corpus.item(row) for row in rows[start : start + MAX_STORE_MANY]]
            made = time.perf_counter()
            await self._engine.store_many(items)
            self.making_items_s += made - begun
            spent += time.perf_counter() - made
            self._stored += len(items)
            if self._stored in self._build.sizes[:-1]:
                await self._engine.aclose()
                shutil.copyfile(self._path, self._build.engine_path(self._stored))
                self._engine = open_engine(self._path)
        return spent

    async def finish(self) -> float:
        begun = time.perf_counter()
        await self._engine.aclose()
        return time.perf_counter() - begun


def _seconds(call: Any) -> float:
    begun = time.perf_counter()
    call()
    return time.perf_counter() - begun
