"""Engines that close themselves, items to fill them with, and what is in a file as anyone can see it."""

from __future__ import annotations

import asyncio
import random
import sqlite3
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager, closing
from pathlib import Path
from typing import Any

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    ExplorePage,
    Facet,
    Hit,
    ItemId,
    ItemKind,
    Learning,
    LearningKind,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    Role,
    SourceKind,
    SourceRef,
    StoreItem,
    Timestamp,
    ToolCallRef,
    Turn,
    TurnRange,
    redacted_id,
)
from explorer.engines.sqlite import SqliteEngine, segments, words

SETTLING_TRIES = 2_000


@asynccontextmanager
async def opened(path: Path, **options: Any) -> AsyncIterator[SqliteEngine]:
    """An engine for search by words alone, unless an embedder is given."""
    engine = SqliteEngine(path, **{"embedder": None, **options})
    try:
        yield engine
    finally:
        await engine.aclose()


async def vectors_made(engine: SqliteEngine) -> None:
    """Wait until every item has its vector, where the engine makes any."""
    for _ in range(SETTLING_TRIES):
        await engine.list(ListRequest(limit=1))  # the file is there, and looked at
        status = await engine.vector_status()
        if status is None or status.with_vector == status.items:
            return
        await asyncio.sleep(0.005)
    raise AssertionError(f"vectors are missing still: {status}")


async def settled(engine: SqliteEngine) -> None:
    """Wait for what goes on behind a store: sealing, merging, columns, and vectors."""
    await vectors_made(engine)
    with closing(sqlite3.connect(engine.path)) as conn:
        for _ in range(SETTLING_TRIES):
            if not words.is_due(conn) and not segments.is_due(conn):
                return
            await asyncio.sleep(0.005)
    raise AssertionError("it goes on and on")


def note(text: str, **meta: Any) -> Document:
    return Document(body=DocumentBody(text=text), meta=MemoryMeta(**meta))


async def fill(engine: MemoryEngine, items: Iterable[StoreItem]) -> list[ItemId]:
    batch = list(items)
    ids: list[ItemId] = []
    for start in range(0, len(batch), 100):
        ids += [receipt.id for receipt in await engine.store_many(batch[start : start + 100])]
    return ids


async def list_all(engine: MemoryEngine, filter: MetaFilter | None = None, limit: int = 50) -> list[Hit]:
    """Every page of a listing, one after another."""
    hits: list[Hit] = []
    cursor: str | None = None
    while True:
        page = await engine.list(ListRequest(filter=filter or MetaFilter(), limit=limit, cursor=cursor))
        assert len(page.items) <= limit
        hits += page.items
        cursor = page.next_cursor
        if cursor is None:
            return hits


def row_counts(path: Path) -> dict[str, int]:
    """Rows of each table that holds something of items."""
    with closing(sqlite3.connect(path)) as conn:
        return {
            table: conn.execute(f"SELECT count(*) FROM {table}").fetchone()[0]
            for table in ("item", "fac", "dict", "head", "post")
        }


def everything(path: Path) -> list[Any]:
    """All rows of the tables that hold items, for comparing two files or two moments."""
    with closing(sqlite3.connect(path)) as conn:
        return [
            conn.execute(f"SELECT * FROM {table} ORDER BY 1, 2").fetchall()
            for table in ("item", "fac", "dict", "head", "post")
        ]


class Maker:
    """Random items and filters over a small world, so that filters often find something."""

    TEXTS = (
        "",
        "a",
        "A",
        "a/b",
        "/",
        "/a",
        "/a/",
        "/a/b",
        "/a/bc",
        "/a/b/c",
        "//a",
        "é",
        "e\u0301",
        "日本",
        "a\0b",
        "🚀",
    )
    IDS = ("42", "u-1", "+49 170 1234567", redacted_id("+49 170 1234567"), "", redacted_id("u-1"))
    TAGS = ("x", "X", "", "x y", "tag", "tags", "\0", "日")
    NODES = (
        "root",
        "agent:a",
        "agent:b",
        "agent:a/agent:c",
        "agent:a/service:j",
        "agent:a/service:j/agent:d",
        "agent:a/service:j/service:k",
        "team:t/user:u/project:p/ws:w",
        "service:s",
    )
    TIMES = (
        "0001-01-01T00:00:00Z",
        "1677-01-01T00:00:00.000000001Z",
        "1969-12-31T23:59:59.999999999Z",
        "1970-01-01T00:00:00Z",
        "2024-05-01T00:00:00Z",
        "2024-05-01T00:00:00.000000001Z",
        "2024-05-01T00:00:00.000000002Z",
        "2024-05-01T00:00:00.1Z",
        "2024-05-01T00:00:01Z",
        "2300-01-01T00:00:00Z",
        "9999-12-31T23:59:59.999999999Z",
    )

    def __init__(self, seed: int) -> None:
        self.rand = random.Random(seed)
        self._number = 0

    def maybe(self, values: Iterable[Any], chance: float = 0.5) -> Any:
        return self.rand.choice(list(values)) if self.rand.random() < chance else None

    def meta(self) -> MemoryMeta:
        return MemoryMeta(
            namespace=Namespace.parse(self.rand.choice(self.NODES)),
            workspace=self.maybe(self.TEXTS),
            folder=self.maybe(self.TEXTS),
            file_path=self.maybe(self.TEXTS),
            language=self.maybe(self.TEXTS),
            repo=self.maybe(self.TEXTS),
            commit=self.maybe(self.TEXTS),
            url=self.maybe(self.TEXTS),
            thread_id=self.maybe(self.IDS),
            turns=self.maybe([TurnRange(first=0, last=1), TurnRange(first=0, last=2**32 - 1)]),
            agent_id=self.maybe(self.IDS),
            tool_call=self.maybe([ToolCallRef(name="grep"), ToolCallRef(name="grep", id="1"), ToolCallRef(name="")]),
            source=SourceRef(kind=self.rand.choice(list(SourceKind)), id=self.maybe(self.IDS)),
            tags=[self.rand.choice(self.TAGS) for _ in range(self.rand.randint(0, 3))],
            observed_at=self.time(0.8),
        )

    def time(self, chance: float) -> Timestamp | None:
        text = self.maybe(self.TIMES, chance)
        return None if text is None else Timestamp.parse(text)

    def item(self) -> StoreItem:
        self._number += 1
        text = f"item {self._number} {self.rand.choice(['red', 'green', 'blue'])}"
        match self.rand.choice(list(ItemKind)):
            case ItemKind.DOCUMENT:
                return Document(title=self.maybe(["A title"]), body=DocumentBody(text=text), meta=self.meta())
            case ItemKind.CONVERSATION:
                return Conversation(turns=[Turn(role=Role.USER, text=text)], meta=self.meta())
            case _:
                return Learning(text=text, kind=LearningKind.FACT, confidence=self.rand.random(), meta=self.meta())

    def reach(self) -> Reach:
        return Reach(
            at=Namespace.parse(self.rand.choice(self.NODES)),
            inherit=self.rand.random() < 0.5,
            descendants=self.rand.random() < 0.5,
        )

    def filter(self) -> MetaFilter:
        """A filter with few conditions set; those of one item would rarely leave anything."""
        choices: dict[str, Any] = {
            "reach": self.reach,
            "workspace": lambda: self.rand.choice(self.TEXTS),
            "folder": lambda: self.rand.choice(self.TEXTS),
            "file_path": lambda: self.rand.choice(self.TEXTS),
            "language": lambda: self.rand.choice(self.TEXTS),
            "repo": lambda: self.rand.choice(self.TEXTS),
            "commit": lambda: self.rand.choice(self.TEXTS),
            "url": lambda: self.rand.choice((*self.TEXTS, "nowhere")),
            "thread_id": lambda: self.rand.choice(self.IDS),
            "turns": lambda: TurnRange(first=0, last=self.rand.choice([0, 1, 2**32 - 1])),
            "agent_id": lambda: self.rand.choice(self.IDS),
            "tool_call": lambda: self.rand.choice(["grep", "", "sed"]),
            "source_id": lambda: self.rand.choice(self.IDS),
            "kinds": lambda: self.rand.choices(list(ItemKind), k=self.rand.randint(0, 2)),
            "sources": lambda: self.rand.choices(list(SourceKind), k=self.rand.randint(0, 3)),
            "tags_any": lambda: self.rand.choices((*self.TAGS, "none"), k=self.rand.randint(0, 3)),
            "observed_after": lambda: self.time(1.0),
            "observed_before": lambda: self.time(1.0),
        }
        names = self.rand.sample(list(choices), self.rand.choice([0, 1, 1, 1, 2, 2, 3]))
        return MetaFilter(**{name: choices[name]() for name in names})


class Oracle:
    """What an engine must answer, from the items themselves, in the order stored."""

    def __init__(self) -> None:
        self.held: dict[ItemId, StoreItem] = {}

    def store(self, item: StoreItem) -> None:
        self.held.setdefault(item.fingerprint(), item)

    def matching(self, filter: MetaFilter) -> list[ItemId]:
        """Newest first: `observed_at` descending, undated last, then the later stored first."""
        found = [
            (item.meta.observed_at, number, id)
            for number, (id, item) in enumerate(self.held.items())
            if filter.matches(item.item_kind, item.meta)
        ]
        dated = sorted((pair for pair in found if pair[0] is not None), key=lambda pair: (pair[0].unix_ns, pair[1]))
        undated = [pair for pair in found if pair[0] is None]
        return [id for _, _, id in [*reversed(dated), *reversed(undated)]]

    def everywhere(self, filter: MetaFilter) -> list[ItemId]:
        """As `matching`, in any order and whatever the node."""
        return [
            id
            for id, item in self.held.items()
            if filter.model_copy(update={"reach": Reach.exact(item.meta.namespace)}).matches(item.item_kind, item.meta)
        ]

    def counts(self, ids: list[ItemId], facet: Facet) -> tuple[Counter[str], int, int]:
        """Counts by value, the total, and the items without a value."""
        counts: Counter[str] = Counter()
        missing = 0
        for id in ids:
            values = facet.values(self.held[id].item_kind, self.held[id].meta)
            counts.update(values)
            missing += not values
        return counts, len(ids), missing


def check_page(page: ExplorePage, counts: Counter[str], total: int, missing: int, limit: int) -> None:
    ranked = sorted(counts.items(), key=lambda pair: (-pair[1], pair[0]))
    assert [(bucket.value, bucket.count) for bucket in page.buckets] == ranked[:limit]
    assert (page.total, page.missing) == (total, missing)
    assert page.more_buckets == max(0, len(ranked) - limit)
    assert not page.truncated
