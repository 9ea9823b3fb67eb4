"""Work that is spread over the processor's cores."""

from __future__ import annotations

import threading
from functools import partial

import pytest

from explorer.engines.sqlite import cores
from explorer.engines.sqlite.cores import on_cores

MANY = 1 << 30


@pytest.mark.parametrize("count", [1, 2, 5])
def test_results_come_in_the_order_of_the_jobs(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(cores, "_CORES", count)
    assert on_cores([partial(pow, number, 2) for number in range(50)], MANY) == [number**2 for number in range(50)]
    assert on_cores([], MANY) == []


def test_jobs_run_side_by_side(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_CORES", 2)
    both = threading.Barrier(2, timeout=10)  # which one job alone would not pass
    on_cores([both.wait, both.wait], MANY)


@pytest.mark.parametrize("count", [1, 3])
def test_an_error_is_raised_once_all_that_was_begun_has_ended(monkeypatch: pytest.MonkeyPatch, count: int) -> None:
    monkeypatch.setattr(cores, "_CORES", count)
    before = threading.active_count()

    def fail() -> None:
        raise ValueError("this one")

    with pytest.raises(ValueError, match="this one"):
        on_cores([lambda: None, fail, lambda: None, lambda: None], MANY)
    assert threading.active_count() == before


def test_little_work_begins_no_thread(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(cores, "_CORES", 4)
    assert on_cores([threading.get_ident] * 9, 1_000) == [threading.get_ident()] * 9


def test_without_further_threads_one_does_it_all(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(self: threading.Thread) -> None:
        raise RuntimeError("can't start new thread")

    monkeypatch.setattr(cores, "_CORES", 4)
    monkeypatch.setattr(threading.Thread, "start", refuse)
    assert on_cores([partial(pow, number, 2) for number in range(9)], MANY) == [number**2 for number in range(9)]
