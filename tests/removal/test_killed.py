"""A removal that is killed at any point leaves a receipt that is true: 50 times, on the embedded engine's file."""

from __future__ import annotations

import asyncio
import json
import os
import random
import shutil
import subprocess
import sys
from collections.abc import AsyncIterator, Iterator
from contextlib import asynccontextmanager
from dataclasses import asdict
from pathlib import Path

import pytest

from explorer.contract import ItemId, Namespace
from explorer.engines.sqlite import SqliteEngine
from explorer.engines.sqlite.checking import check_file
from explorer.removal.journal import Journal, target_left
from explorer.removal.plan import Action, Target
from explorer.removal.receipts import Receipt, ids_left
from tests.fakes import learning
from tests.removal.killing import BATCH, Round, lines_in
from tests.removal.made import counted, done, ids_of, named
from tests.removal.written import everything

ROOT = Path(__file__).parents[2]
ROUNDS = 25  # of each action: 50 in all
TARGET = Target.below(Namespace.parse("agent:a"))
PLANNED = 40
OTHERS = 20


@asynccontextmanager
async def opened(path: Path) -> AsyncIterator[SqliteEngine]:
    engine = SqliteEngine(path, embedder=None)
    try:
        yield engine
    finally:
        await engine.aclose()


@pytest.fixture(scope="module")
def killer() -> Iterator[subprocess.Popen[str]]:
    """What makes processes and kills them."""
    pipe = subprocess.PIPE
    one_thread = os.environ | {"OPENBLAS_NUM_THREADS": "1", "OMP_NUM_THREADS": "1"}  # so that it may fork
    command = [sys.executable, "-m", "tests.removal.killing"]
    with subprocess.Popen(command, stdin=pipe, stdout=pipe, text=True, cwd=ROOT, env=one_thread) as process:
        yield process
        assert process.stdin is not None
        process.stdin.close()


def kill(killer: subprocess.Popen[str], task: Round) -> bool:
    """Whether it was killed before it ended."""
    assert killer.stdin is not None
    assert killer.stdout is not None
    killer.stdin.write(json.dumps(asdict(task)) + "\n")
    killer.stdin.flush()
    ended = int(killer.stdout.readline())
    assert ended in (0, -9)
    return ended != 0


@pytest.mark.limit_s(120)
@pytest.mark.parametrize("action", Action)
async def test_the_receipt_of_a_killed_removal_is_true(
    tmp_path: Path, killer: subprocess.Popen[str], action: Action
) -> None:
    rand = random.Random(action.value)
    whole = tmp_path / "whole.db"
    async with opened(whole) as engine:
        places = ["agent:a", "agent:a/agent:c"] * (PLANNED // 2) + ["agent:a/service:box", "agent:b"] * (OTHERS // 2)
        items = [learning(f"item {number} says something", place) for number, place in enumerate(places)]
        await engine.store_many(items)
        before = await everything(engine)
        going = set(await ids_of(engine, TARGET.filter))
    assert (len(before), len(going)) == (PLANNED + OTHERS, PLANNED)

    # One that nobody kills, to know how many lines there are to die at.
    shutil.copy(whole, tmp_path / "first.db")
    first = Round(str(tmp_path / "first.db"), str(tmp_path / "first"), action, TARGET.model_dump_json(), 10**6, 0.0)
    assert not await asyncio.to_thread(kill, killer, first)
    lines = lines_in(tmp_path / "first")
    assert lines > (2 * PLANNED // BATCH if action is Action.FORGET else 4)

    cut_short = unanswered = 0
    for number in range(ROUNDS):
        memory, journal = tmp_path / f"{number}.db", Journal(tmp_path / str(number))
        shutil.copy(whole, memory)
        at, delay_s = rand.randrange(lines), rand.random() * 0.02
        # An erase is one call: half of them are killed inside of it.
        if action is Action.ERASE and number % 2:
            at, delay_s = 3, rand.random() * 0.01
        task = Round(str(memory), str(journal.folder), action, TARGET.model_dump_json(), at, delay_s)
        said = f"round {number} of {task}"
        is_killed = await asyncio.to_thread(kill, killer, task)
        async with opened(memory) as engine:
            there = await everything(engine)
            assert before - going <= there, said
            entries = journal.entries()
            if not entries or not entries[0].is_readable:
                assert there == before, said
                continue
            path = entries[0].path
            read, left = Receipt.read(path), ids_left(path)
            gone, open = going - set(left), set(read.unanswered)
            assert read.planned == PLANNED, said
            assert not gone & there, said  # what it says was removed
            assert set(left) - open <= there, said  # what it says was not asked for
            assert (read.removed, read.not_tried) == (len(gone), len(left) - len(open)), said
            assert read.already_gone == read.failed_in_all == read.damaged_lines == 0, said
            if read.is_finished:
                assert (read.is_clean, there) == (True, before - going), said
                continue
            assert is_killed, said
            assert entries == journal.unfinished(), said
            cut_short += 1
            unanswered += bool(open)
            if number % 3 == 0:
                await go_on(engine, journal, path, there & going)
                assert await everything(engine) == before - going, said
        assert check_file(memory).problems == (), said
    assert cut_short >= ROUNDS // 3
    assert unanswered


async def go_on(engine: SqliteEngine, journal: Journal, path: Path, there: set[ItemId]) -> None:
    """What was interrupted is counted anew, confirmed, run, and written down; both receipts say so."""
    action, target = Action(Receipt.read(path).action), target_left(path)
    if target is None or not there:
        journal.settle(path)
        assert journal.unfinished() == []
        return
    removal = await counted(engine, target, action, journal)
    assert removal.preview is not None
    assert set(removal.preview.ids) == there
    outcome = await done(removal)
    assert outcome.is_clean
    assert outcome.receipt is not None
    journal.settle(path, outcome.receipt)
    assert named(path, "end")[0]["continued_by"] == outcome.receipt.name
    assert journal.unfinished() == []
