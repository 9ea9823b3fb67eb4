"""A move that is killed at any point: each item is where it was, where it goes, or both; and the receipts are true."""

from __future__ import annotations

import asyncio
import os
import random
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from explorer.contract import ListRequest, MetaFilter
from explorer.engines.sqlite import SqliteEngine
from explorer.removal.journal import Journal
from explorer.removal.receipts import Receipt
from tests.fakes import learning
from tests.removal.made import named
from tests.removal.moving_killed import BATCH, FROM, TO

ROOT = Path(__file__).parents[2]
ITEMS = 60
ROUNDS_MOST = 200


async def held(path: Path) -> dict[str, str]:
    """The nodes of all items, by what they say."""
    engine = SqliteEngine(path, embedder=None)
    page = await engine.export(ListRequest(filter=MetaFilter(), limit=1_000))
    await engine.aclose()
    return {each.item.render_text(): str(each.item.meta.namespace) for each in page.items}


@pytest.fixture
def killer(tmp_path: Path) -> Iterator[subprocess.Popen[str]]:
    """What makes processes and kills them."""
    command = [sys.executable, "-m", "tests.removal.moving_killed", str(tmp_path)]
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # so that it may fork
    pipe = subprocess.PIPE
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=one_thread) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


@pytest.mark.limit_s(120)
async def test_a_killed_move_loses_nothing_and_goes_on(tmp_path: Path, killer: subprocess.Popen[str]) -> None:
    rand = random.Random(3)
    engine = SqliteEngine(tmp_path / "from.db", embedder=None)
    items = [learning(f"note {n}", f"{FROM}/agent:b" if n % 3 else str(FROM)) for n in range(ITEMS)]
    await engine.store_many(list(items))
    await engine.aclose()
    assert killer.stdin is not None
    assert killer.stdout is not None
    killed = partly = 0
    for number in range(ROUNDS_MOST):
        wait_s = 0.02 * number + 0.03 * rand.random()  # later each time, so that it comes to its end
        killer.stdin.write(f"{wait_s}\n")
        killer.stdin.flush()
        ended = int(await asyncio.to_thread(killer.stdout.readline))
        assert ended in (0, -9)
        killed += ended != 0
        before, after = await held(tmp_path / "from.db"), await held(tmp_path / "to.db")
        assert before.keys() | after.keys() == {f"note {n}" for n in range(ITEMS)}
        partly += bool(before and after)
        receipts = [Receipt.read(entry.path) for entry in Journal(tmp_path / "receipts").entries()]
        gone = {item.fingerprint() for item in items if item.render_text() not in before}
        removed = {id for receipt in receipts for line in named(receipt.path, "removed") for id in line["ids"]}
        assert removed <= gone <= removed | {id for receipt in receipts for id in receipt.unanswered}
        assert all(receipt.unanswered_in_all <= BATCH for receipt in receipts)
        assert sum(receipt.damaged_lines for receipt in receipts) == 0
        if ended == 0:
            break
    assert ended == 0
    assert not before
    assert set(after.values()) == {str(TO), f"{TO}/agent:b"}
    assert killed > 2
    assert partly > 0
