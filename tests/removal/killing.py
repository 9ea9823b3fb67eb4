"""Processes that remove items from a memory until they are killed.

Run as a program, each line on standard input is a `Round`: a new process counts, confirms and runs a removal, and is
killed once its receipt has so many lines, or ends by itself before that.
"""

from __future__ import annotations

import asyncio
import json
import os
import signal
import sys
import time
import traceback
from dataclasses import dataclass
from pathlib import Path

from explorer.engines.sqlite import SqliteEngine
from explorer.removal import forgetting
from explorer.removal.journal import Journal
from explorer.removal.plan import Action, Target
from tests.removal.made import counted, steps_of

BATCH = 5
LIMIT_S = 20.0


@dataclass(frozen=True)
class Round:
    memory: str
    receipts: str
    action: str
    target: str
    """As JSON."""
    lines: int
    """Of the receipt, from which on it is killed; 0 while it counts."""
    delay_s: float
    """From then to the end."""


async def remove(task: Round) -> None:
    engine = SqliteEngine(task.memory, embedder=None)
    target = Target.model_validate_json(task.target)
    removal = await counted(engine, target, Action(task.action), Journal(Path(task.receipts)))
    await steps_of(removal)
    await engine.aclose()


def lines_in(folder: Path) -> int:
    return sum(path.read_bytes().count(b"\n") for path in folder.glob("*.jsonl"))


def main() -> None:
    forgetting.FIRST_BATCH = forgetting.LEAST_BATCH = forgetting.MOST_BATCH = BATCH
    for line in sys.stdin:
        task = Round(**json.loads(line))
        child = os.fork()
        if not child:
            try:
                asyncio.run(remove(task))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        ended = wait_for(child, task)
        if ended is None:
            time.sleep(task.delay_s)
            os.kill(child, signal.SIGKILL)
            ended = os.waitpid(child, 0)[1]
        print(os.waitstatus_to_exitcode(ended), flush=True)


def wait_for(child: int, task: Round) -> int | None:
    """Until the receipt has its lines; how the process ended where it did before."""
    deadline = time.monotonic() + LIMIT_S
    while lines_in(Path(task.receipts)) < task.lines:
        pid, ended = os.waitpid(child, os.WNOHANG)
        if pid:
            return ended
        if time.monotonic() > deadline:
            raise TimeoutError(f"nothing came of {task}")
        time.sleep(0.0005)
    return None


if __name__ == "__main__":
    main()
