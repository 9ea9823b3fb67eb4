"""Kill -9 in the middle of storing, forgetting, erasing, sealing, merging and embedding; then all is compared."""

from __future__ import annotations

import asyncio
import json
import os
import random
import re
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from dataclasses import asdict
from pathlib import Path

import pytest

from explorer.contract import ConfigError, ItemId, ListRequest, MetaFilter, Namespace, Reach, StoreItem
from explorer.engines.sqlite import SqliteEngine
from explorer.engines.sqlite.checking import check_file
from explorer.engines.sqlite.payloads import to_payload
from tests.engines.sqlite import crashing
from tests.engines.sqlite.crashing import MARK, FakeEmbedder, Round, read_log
from tests.engines.sqlite.support import fill, opened, vectors_made

ROOT = Path(__file__).parents[3]
FILES = 8
ROUNDS = 25  # for each of them: 200 in all
SCAN_EVERY = 5
PIECE = 16  # bytes of compressed content


@pytest.fixture(scope="module", autouse=True)
def small_segments() -> Iterator[None]:
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(crashing.schema, "RUN", crashing.RUN)
        patch.setattr(crashing.schema, "SEGMENT", crashing.SEGMENT)
        yield


@pytest.fixture(scope="module")
def crasher() -> Iterator[subprocess.Popen[str]]:
    """What makes processes and kills them."""
    pipe = subprocess.PIPE
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # so that it may fork
    command = [sys.executable, "-m", "tests.engines.sqlite.crashing"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=one_thread) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def crash(crasher: subprocess.Popen[str], task: Round) -> None:
    assert crasher.stdin is not None
    assert crasher.stdout is not None
    crasher.stdin.write(json.dumps(asdict(task)) + "\n")
    crasher.stdin.flush()
    assert int(crasher.stdout.readline()) == -9


async def held_by(engine: SqliteEngine) -> dict[ItemId, StoreItem]:
    found: dict[ItemId, StoreItem] = {}
    for node in (await engine.namespaces(MetaFilter())).buckets:
        reach = Reach.exact(Namespace.parse(node.value))
        page = await engine.export(ListRequest(filter=MetaFilter(reach=reach), limit=10_000))
        found |= {exported.id: exported.item for exported in page.items}
    return found


def place(item: StoreItem) -> tuple[int, int]:
    """Batch and number of an item."""
    found = re.search(r"zq(\d{4})v(\d\d)zq", item.render_text())
    assert found is not None
    return int(found[1]), int(found[2])


def vectors_in(path: Path) -> dict[str, bytes]:
    """All vectors by the id of their item, without changing the file."""
    with closing(sqlite3.connect(path)) as conn:
        found = conn.execute(
            "SELECT hex(fp), vec.data, pvec.data FROM vec JOIN item USING(id) LEFT JOIN pvec USING(id)"
        )
        return {fp.lower(): item + (passages or b"") for fp, item, passages in found}


@pytest.mark.limit_s(120)
@pytest.mark.parametrize("seed", range(FILES))
async def test_nothing_acknowledged_is_lost_and_nothing_is_half_there(
    folder: Path, crasher: subprocess.Popen[str], seed: int
) -> None:
    rand = random.Random(seed)
    path = folder / "memory.db"
    held: dict[ItemId, StoreItem] = {}
    removed: dict[ItemId, StoreItem] = {}
    vectors: dict[str, bytes] = {}
    next_batch = 0
    for number in range(ROUNDS):
        log = folder / f"{number}.log"
        delay_s = rand.random() * 0.05
        places = [place(item) for item in held.values()]
        task = Round(str(path), str(log), rand.randrange(2**32), next_batch, places, delay_s, rand.random() < 0.1)
        reader = sqlite3.connect(path, isolation_level=None)
        if number and rand.random() < 0.2:  # with a reader of the state before, whom no checkpoint passes
            reader.execute("BEGIN")
            reader.execute("SELECT * FROM state").fetchone()
        await asyncio.to_thread(crash, crasher, task)
        reader.close()
        done, begun = read_log(log)
        before = held
        for step in done:
            held = step.done_to(held)
            removed |= {id: item for id, item in before.items() if id not in held}
        after = held if begun is None else begun.done_to(held)
        if number % SCAN_EVERY == 1:
            async with opened(path, read_only=True) as engine:  # beside the log that was left
                try:
                    assert await held_by(engine) in (held, after)
                except ConfigError as error:
                    assert "was not closed properly; open it once for writing" in error.text  # noqa: PT017
        async with opened(path, embedder=FakeEmbedder()) as engine:
            found = await held_by(engine)
            assert found in (held, after), f"round {number} of seed {seed}: {begun}"
            removed |= {id: item for id, item in held.items() if id not in found}
            held = found
            removed = {id: item for id, item in removed.items() if id not in held}
            next_batch += sum(step.call == "store" for step in [*done, *([begun] if begun else [])])
            if number % SCAN_EVERY == 0:
                assert (await engine.health()).state == "ok"
                check_bytes(path, removed, vectors)
        assert check_file(path).problems == (), f"round {number} of seed {seed}"
        vectors |= vectors_in(path)
    check_bytes(path, removed, vectors)
    # The vectors are those that a file has which was never killed.
    async with opened(path, embedder=FakeEmbedder()) as engine, opened(folder / "b.db", embedder=FakeEmbedder()) as b:
        await fill(b, held.values())
        for each in (engine, b):
            await vectors_made(each)
    assert vectors_in(path) == vectors_in(folder / "b.db")
    assert check_file(path).problems == ()


def check_bytes(path: Path, removed: dict[ItemId, StoreItem], vectors: dict[str, bytes]) -> None:
    """Nothing of removed items is in the file, its log and the log's index."""
    gone = {crashing.mark(*place(item)).encode() for item in removed.values()}
    packed = [to_payload(item.written()[1]) for item in removed.values()]
    pieces = {content[at : at + PIECE] for content in packed for at in range(0, len(content) - PIECE, 4)}
    with closing(sqlite3.connect(path)) as conn:
        held = b"".join(payload for (payload,) in conn.execute("SELECT payload FROM item"))
    for file in path.parent.glob(path.name + "*"):
        data = file.read_bytes()
        assert not gone & set(MARK.findall(data)), file.name
        left = pieces & {data[at : at + PIECE] for at in range(len(data) - PIECE + 1)}
        assert not [piece for piece in left if piece not in held], file.name  # what another item has too may stay
        assert not [id for id in removed if bytes.fromhex(id) in data], file.name
        assert not [id for id in removed if id in vectors and vectors[id][: crashing.DIMS] in data], file.name
