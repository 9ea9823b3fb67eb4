"""Timing, memory and tables for the benchmarks."""

from __future__ import annotations

import json
import os
import statistics
import subprocess
import sys
import time
from collections.abc import Awaitable, Callable, Iterable, Sequence
from pathlib import Path
from typing import Any, ParamSpec, TypeVar

import numpy as np

P = ParamSpec("P")
T = TypeVar("T")

clock = time.process_time if os.environ.get("BENCH_CLOCK") == "cpu" else time.perf_counter
"""Seconds. Processor time is steadier on a machine that has other work, but counts every thread of a peer."""


def say(text: str) -> None:
    """A line of progress; the tables alone go to the standard output."""
    print(f"[{time.strftime('%H:%M:%S')}] {text}", file=sys.stderr, flush=True)


def timed(call: Callable[P, T], *args: P.args, **options: P.kwargs) -> tuple[float, T]:
    """Milliseconds that a call took, and what it returned."""
    start = clock()
    found = call(*args, **options)
    return (clock() - start) * 1_000, found


async def timed_async(call: Callable[P, Awaitable[T]], *args: P.args, **options: P.kwargs) -> tuple[float, T]:
    start = clock()
    found = await call(*args, **options)
    return (clock() - start) * 1_000, found


def median(values: Iterable[float | None]) -> float | None:
    """None where there is nothing."""
    held = [value for value in values if value is not None]
    return statistics.median(held) if held else None


def ratio(own: Sequence[float | None], peer: Sequence[float | None]) -> float | None:
    """How many times as long the peer took: the median over the rounds in which both were timed."""
    pairs = zip(own, peer, strict=False)
    return median(theirs / mine for mine, theirs in pairs if mine is not None and theirs is not None)


def ms(value: float | None) -> str:
    if value is None:
        return "-"
    return f"{value:,.0f}" if value >= 100 else f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def fraction(times: float | None) -> str:
    """Own time as a part of the peer's, which took `times` as long."""
    if times is None:
        return "-"
    return f"1/{times:,.0f}" if times >= 10 else f"1/{times:.1f}" if times >= 1 else f"{1 / times:.1f}x"


def verdict(is_met: bool | None) -> str:
    return "not measured" if is_met is None else "met" if is_met else "**missed**"


def least(values: Iterable[float | None]) -> float | None:
    """None where one was not measured."""
    held = list(values)
    known = [value for value in held if value is not None]
    return min(known) if known and len(known) == len(held) else None


def at_least(value: float | None, wanted: float) -> bool | None:
    return None if value is None else value >= wanted


def table(title: str, head: Sequence[str], rows: Iterable[Sequence[object]], note: str = "") -> None:
    print(f"\n### {title}\n")
    print("| " + " | ".join(head) + " |")
    print("| --- |" + " ---: |" * (len(head) - 1))
    for row in rows:
        print("| " + " | ".join(map(str, row)) + " |")
    if note:
        print(f"\n{note}")
    sys.stdout.flush()


def goals(rows: Iterable[tuple[str, str, bool | None]]) -> None:
    """What was aimed at, what was measured, and whether that meets it."""
    print("\n| goal | measured | |")
    print("| --- | --- | --- |")
    for goal, measured, is_met in rows:
        print(f"| {goal} | {measured} | {verdict(is_met)} |")
    sys.stdout.flush()


def read_rate() -> float:
    """Bytes per second at which one core reads memory: the best of some sums over 256 MB."""
    held = np.ones(1 << 25, np.uint64)
    return held.nbytes / min(timed(held.sum)[0] for _ in range(9)) * 1_000


def resident_bytes() -> int | None:
    """What this process holds in memory now; None where the system does not say."""
    try:
        pages = int(Path("/proc/self/statm").read_text("ascii").split()[1])
    except OSError:
        return None
    return pages * os.sysconf("SC_PAGE_SIZE")


def in_child(script: str, *args: object) -> Any:
    """What `script` of this folder prints as JSON when a new process runs it."""
    found = subprocess.run(
        [sys.executable, Path(__file__).with_name(script), *map(str, args)],
        stdout=subprocess.PIPE,
        text=True,
        check=True,
    )
    return json.loads(found.stdout)
