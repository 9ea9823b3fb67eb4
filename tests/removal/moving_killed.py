"""Processes that move items from one file to another until they are killed.

Run as a program, each line on standard input is the seconds after which a new process is killed; it answers how the
process ended: 0 by itself, -9 killed.
"""

from __future__ import annotations

import asyncio
import os
import signal
import sys
import time
import traceback
from pathlib import Path

from explorer.contract import Namespace
from explorer.engines.sqlite import SqliteEngine
from explorer.removal import moving
from explorer.removal.journal import Journal
from explorer.removal.moving import Move, Way
from explorer.removal.plan import Action, Target, make_plan

BATCH = 5
FROM, TO = Namespace.parse("team:a"), Namespace.parse("project:p")


async def move(folder: Path) -> None:
    source, destination = (SqliteEngine(folder / name, embedder=None) for name in ("from.db", "to.db"))
    plan = await make_plan(source, Target.below(FROM), Action.FORGET)
    taken = Move(source, plan, destination, Way(TO), Journal(folder / "receipts"), "from", "to", is_same_store=False)
    async for _ in taken.count():
        pass
    if taken.refusal() is None:
        async for _ in taken.run():
            pass
    await source.aclose()
    await destination.aclose()


def main(folder: Path) -> None:
    moving.MAX_STORE_MANY = BATCH
    for line in sys.stdin:
        child = os.fork()
        if not child:
            try:
                asyncio.run(move(folder))
                os._exit(0)
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        time.sleep(float(line))
        os.kill(child, signal.SIGKILL)  # one that has ended waits for us, and is not hit
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


if __name__ == "__main__":
    main(Path(sys.argv[1]))
