"""Work on all cores: numpy lets other threads run while it goes over many numbers."""

from __future__ import annotations

import os
import threading
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import TypeVar

T = TypeVar("T")

_CORES = os.cpu_count() or 1
_WORTH = 1 << 17
"""Numbers that take several times as long to go over as another thread takes to begin."""


def on_cores(jobs: Sequence[Callable[[], T]], numbers: int) -> list[T]:
    """What each job returns, in their order. They are begun in order, side by side on this thread and others, so that
    none may use a connection. Raises the first error once all that was begun has ended.

    `numbers`: how many all jobs go over together; one thread alone is done sooner with few.
    """
    results: dict[int, T] = {}
    errors: list[BaseException] = []
    left = iter(range(len(jobs)))  # of which each thread takes the next one

    def work() -> None:
        for number in left:
            try:
                results[number] = jobs[number]()
            except BaseException as error:
                errors.append(error)
            if errors:
                return

    count = min(_CORES, len(jobs), numbers // _WORTH)
    threads = [threading.Thread(target=work, name="sqlite-core") for _ in range(count - 1)]
    begun = []
    with suppress(RuntimeError):  # no more threads are to be had: this one does it all
        for thread in threads:
            thread.start()
            begun.append(thread)
    work()
    for thread in begun:
        thread.join()
    if errors:
        raise errors[0]
    return [results[number] for number in range(len(jobs))]
