"""One measurement of an engine file in a process of its own; prints it as JSON.

python child.py open PATH (health | explore | list | fetch)    milliseconds from the engine's making to its answer
python child.py memory PATH                                    bytes resident after one of each call
"""

from __future__ import annotations

import asyncio
import gc
import json
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[2]))

from build import open_engine
from measure import resident_bytes, timed_async

from explorer.contract import (
    Document,
    DocumentBody,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    GetRequest,
    ListRequest,
    MetaFilter,
    RecallRequest,
)
from explorer.engines.sqlite import SqliteEngine

EXPLORE = [ExploreRequest(facet=facet, limit=50) for facet in Facet]
FILTERED = [ExploreRequest(facet=facet, filter=MetaFilter(workspace="/home/dev/atlas"), limit=50) for facet in Facet]
FETCH = FetchRequest(query="file value error", mode=FetchMode.KEYWORD, limit=20)
LIST = ListRequest(limit=50)


async def opened(path: Path, what: str) -> float:
    made: list[SqliteEngine] = []

    async def first() -> None:
        engine = open_engine(path)
        made.append(engine)
        match what:
            case "health":
                await engine.health()
            case "explore":
                await engine.explore_many(EXPLORE)
            case "list":
                await engine.list(LIST)
            case _:
                await engine.fetch(FETCH)

    spent, _ = await timed_async(first)
    await made[0].aclose()
    return spent


async def memory(path: Path) -> int | None:
    engine = open_engine(path)
    await engine.explore_many(EXPLORE)
    await engine.explore_many(FILTERED)
    await engine.namespaces(MetaFilter())
    page = await engine.list(LIST)
    await engine.fetch(FETCH)
    await engine.recall(RecallRequest(question="which file has the error?", limit=5))
    if page.items:
        await engine.get(GetRequest(ids=[hit.id for hit in page.items]))
    del page
    gc.collect()
    held = resident_bytes()
    await engine.aclose()
    return held


async def vectors(path: Path) -> int | None:
    req = FetchRequest(query="a server for files", mode=FetchMode.VECTOR, limit=10)
    with tempfile.TemporaryDirectory() as folder:
        other = SqliteEngine(Path(folder) / "other.db")  # loads the model, which is not the file's
        await other.store(Document(body=DocumentBody(text="one text")))
        await other.fetch(req)
        await other.aclose()
    engine = SqliteEngine(path)
    await engine.explore_many(EXPLORE)
    await engine.fetch(FETCH)
    gc.collect()
    before = resident_bytes()
    await engine.fetch(req)
    gc.collect()
    after = resident_bytes()
    await engine.aclose()
    return None if before is None or after is None else after - before


async def main(call: str, path: Path, *more: str) -> float | None:
    if call == "open":
        return await opened(path, *more)
    return await (memory(path) if call == "memory" else vectors(path))


if __name__ == "__main__":
    print(json.dumps(asyncio.run(main(sys.argv[1], Path(sys.argv[2]), *sys.argv[3:]))))
