"""Processes that change a memory until they are killed, and what a memory must hold after that.

Run as a program, each line on standard input is a `Round`: a new process changes the file, its every step written into
a log, until it is killed in the middle.
"""

from __future__ import annotations

import asyncio
import contextlib
import hashlib
import json
import os
import random
import re
import signal
import sys
import time
import traceback
from collections.abc import Iterable, Sequence
from dataclasses import asdict, dataclass
from pathlib import Path

import numpy as np
import numpy.typing as npt

from explorer.contract import (
    Document,
    DocumentBody,
    EraseRequest,
    ForgetTarget,
    ItemId,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
    StoreItem,
    ToolCallRef,
)
from explorer.engines.sqlite import SqliteEngine, schema, writer

RUN, SEGMENT = 8, 32
DIMS = 24
NODES = 3
MANY = 120
"""Items from which on more are removed than stored."""
MARK = re.compile(rb"zq\d{4}v\d\dzq")


class FakeEmbedder:
    """Vectors that any two texts have of their own, at once."""

    name = "fake"
    dims = DIMS

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        made = np.empty((len(texts), DIMS), np.float32)
        for row, text in enumerate(texts):
            seed = int.from_bytes(hashlib.blake2b(text.encode(), digest_size=8).digest(), "little")
            made[row] = np.random.default_rng(seed).normal(size=DIMS)
        return made / np.linalg.norm(made, axis=1, keepdims=True)

    def close(self) -> None:
        pass


def use_small_segments() -> None:
    """So that sealing, merging and writing columns happen all the time."""
    schema.RUN, schema.SEGMENT = RUN, SEGMENT


def mark(batch: int, number: int) -> str:
    """A word that only this item has, in each of its fields."""
    return f"zq{batch:04}v{number:02}zq"


def item_of(batch: int, number: int) -> StoreItem:
    own = mark(batch, number)
    node = f"agent:n{batch % NODES}" + ("/service:box" if number % 4 == 3 else "")
    # Long enough for several passages, each with a vector of its own.
    text = " ".join(f"{own} running in passage {part} of many words. " * 8 for part in range(number % 3 + 1))
    meta = MemoryMeta(
        namespace=Namespace.parse(node),
        workspace=f"batch{batch}",
        folder=f"/{own}",
        url=f"https://{own}.test/",
        thread_id=own,
        tool_call=ToolCallRef(name=own, id=own),
        source=SourceRef(kind=SourceKind.FILE, id=own),
        tags=[own, f"half{number % 2}"],
    )
    return Document(title=own, body=DocumentBody(text=text), meta=meta)


@dataclass(frozen=True)
class Step:
    """One call of the engine."""

    call: str
    number: int
    """Of a batch; of a node for `erase`."""
    count: int = 0
    """Items of a new batch."""
    half: int = 0
    """Of a batch, for `forget_ids`."""

    def done_to(self, held: dict[ItemId, StoreItem]) -> dict[ItemId, StoreItem]:
        """What a memory with the items `held` has after it."""
        if self.call == "store":
            new = [item_of(self.number, number) for number in range(self.count)]
            return held | {item.fingerprint(): item for item in new}
        return {id: item for id, item in held.items() if not self._takes(item.meta)}

    def _takes(self, meta: MemoryMeta) -> bool:
        if self.call == "erase":
            return str(meta.namespace) == f"agent:n{self.number}"  # not the sandbox below it
        if meta.workspace != f"batch{self.number}":
            return False
        if self.call == "forget_filter":  # which reaches into no sandbox either
            return "service:" not in str(meta.namespace)
        return f"half{self.half}" in meta.tags


@dataclass(frozen=True)
class Round:
    path: str
    log: str
    seed: int
    next_batch: int
    held: list[tuple[int, int]]
    """Batch and number of each item that the file holds."""
    delay_s: float
    """From the first finished step to the end."""
    is_early: bool
    """Not waiting for any step: the end may come while the file is opened."""


def read_log(path: Path) -> tuple[list[Step], Step | None]:
    """The steps that were finished, and the one that was under way."""
    done: list[Step] = []
    begun: Step | None = None
    for line in path.read_text().splitlines() if path.exists() else []:
        if line == "done":
            assert begun is not None
            done.append(begun)
            begun = None
        else:
            begun = Step(**json.loads(line))
    return done, begun


async def change(task: Round) -> None:
    """Store, forget and erase for ever."""
    rand = random.Random(task.seed)
    held = {item.fingerprint(): item for item in (item_of(batch, number) for batch, number in task.held)}
    log = os.open(task.log, os.O_CREAT | os.O_APPEND | os.O_WRONLY)
    engine = SqliteEngine(task.path, embedder=FakeEmbedder())
    batch = task.next_batch
    while True:
        batches = sorted({int((item.meta.workspace or "").removeprefix("batch")) for item in held.values()})
        calls = ["store"] if not batches else ["store"] * (2 if len(held) > MANY else 8)
        calls += ["forget_ids", "forget_ids", "forget_filter", "erase"] if batches else []
        match rand.choice(calls):
            case "store":
                step = Step("store", batch, rand.randint(1, 20))
                batch += 1
            case "erase":
                step = Step("erase", rand.randrange(NODES))
            case call:
                step = Step(call, rand.choice(batches), half=rand.randrange(2))
        after = step.done_to(held)
        if after == held:
            continue
        os.write(log, json.dumps(asdict(step)).encode() + b"\n")
        await call_engine(engine, step, held.keys() - after.keys())
        os.write(log, b"done\n")
        held = after


async def call_engine(engine: SqliteEngine, step: Step, gone: Iterable[ItemId]) -> None:
    match step.call:
        case "store":
            await engine.store_many([item_of(step.number, number) for number in range(step.count)])
        case "erase":
            await engine.erase(EraseRequest(reach=Reach.subtree(Namespace.agent(f"n{step.number}"))))
        case "forget_filter":
            await engine.forget(ForgetTarget(filter=MetaFilter(workspace=f"batch{step.number}")))
        case "forget_ids":
            await engine.forget(ForgetTarget(ids=list(gone)))


def main() -> None:
    use_small_segments()
    writer._LOG_WAIT_S = 0.01  # a reader may be there for the whole of a round
    for line in sys.stdin:
        task = Round(**json.loads(line))
        child = os.fork()
        if not child:
            try:
                asyncio.run(change(task))
            except BaseException:
                traceback.print_exc()
            os._exit(1)
        deadline = time.monotonic() + 10
        while not task.is_early and "done" not in read_text(task.log):
            if time.monotonic() > deadline:
                raise TimeoutError(f"nothing was done in a round of the seed {task.seed}")
            time.sleep(0.001)
        time.sleep(task.delay_s)
        os.kill(child, signal.SIGKILL)
        print(os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]), flush=True)


def read_text(path: str) -> str:
    with contextlib.suppress(FileNotFoundError):
        return Path(path).read_text()
    return ""


if __name__ == "__main__":
    main()
