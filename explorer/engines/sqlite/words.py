"""Upkeep of the words: those of new items, sealing and merging them, and taking them out again.

The number of a run is twice its first row, and one more where it was merged: so runs have ascending numbers as they
have ascending rows, and the words of a new run go to the end of the tree.
"""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby

import numpy as np

from explorer.engines.sqlite import schema
from explorer.engines.sqlite.facts import ReadItem
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.postings import MOST_COUNTED, Lists
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.tokens import Terms, index_terms

_ROWS_AT_ONCE = 32

_Run = tuple[int, int, int]  # its number, its first row, the row after its last


def insert(conn: sqlite3.Connection, rows: Iterable[tuple[int, Terms]]) -> None:
    """Add the terms of new items; the rows are ascending."""
    heads = []
    for id, terms in rows:
        counts = bytes([count if count <= MOST_COUNTED else MOST_COUNTED for count in terms.counts.values()])
        heads.append((id, " ".join(terms.counts), counts))
    conn.executemany("INSERT INTO head VALUES(?, ?, ?)", heads)


def remove(conn: sqlite3.Connection, expected: Mapping[int, int | None], read_item: ReadItem) -> None:
    """Take items out, before `fac` and `item` lose them.

    `expected`: how many different terms each has, by row, ascending; None where that is not known.
    """
    state = State.read(conn)
    conn.executemany("DELETE FROM head WHERE id = ?", [(id,) for id in expected if id >= state.sealed_below])
    for run, first, stop in _runs(conn):
        members = {id: count for id, count in expected.items() if first <= id < stop}
        if members:
            _remove_from_run(conn, (run, first, stop), members, read_item)


def is_due(conn: sqlite3.Connection) -> bool:
    """Whether `step` has something to do."""
    state = State.read(conn)
    return _is_seal_due(state) or _mergeable(conn, state) is not None


def step(conn: sqlite3.Connection) -> bool:
    """Merge the runs of a segment that became full, or seal the next run; False where neither is due."""
    state = State.read(conn)
    runs = _mergeable(conn, state)
    if runs is not None:
        _merge(conn, runs)
    elif _is_seal_due(state):
        stop = state.sealed_below + schema.RUN
        held = _first_unsealed(conn, state)
        if held < stop:
            _seal(conn, state.sealed_below, stop)
        else:
            # Rows without items, of which a damaged file may have any number: not run by run.
            cover(conn, state.sealed_below, held - held % schema.RUN)
    else:
        return False
    return True


def cover(conn: sqlite3.Connection, first: int, stop: int) -> None:
    """Seal the rows `first` to `stop` (not included), bounds of runs, of which `head` and `post` hold nothing."""
    conn.executemany("INSERT INTO run VALUES(?, ?, ?)", _empty_runs(first, stop))
    conn.execute("UPDATE state SET sealed_below = ?", (stop,))


def _empty_runs(first: int, stop: int) -> Iterator[_Run]:
    while first < stop:
        if first % schema.SEGMENT == 0 and first + schema.SEGMENT <= stop:
            yield 2 * first + 1, first, first + schema.SEGMENT  # as if they had been merged
            first += schema.SEGMENT
        else:
            yield 2 * first, first, first + schema.RUN
            first += schema.RUN


def _first_unsealed(conn: sqlite3.Connection, state: State) -> int:
    """The first row in `head`, or the next one where that is empty."""
    (held,) = conn.execute("SELECT min(id) FROM head WHERE id >= ?", (state.sealed_below,)).fetchone()
    return state.next_id if held is None else min(int(held), state.next_id)


def _is_seal_due(state: State) -> bool:
    return state.next_id >= state.sealed_below + schema.RUN


def _mergeable(conn: sqlite3.Connection, state: State) -> list[_Run] | None:
    """The runs of the first segment that is sealed whole but in more than one."""
    full = state.sealed_below // schema.SEGMENT
    for segment, runs in groupby(_runs(conn), lambda run: run[1] // schema.SEGMENT):
        held = list(runs)
        if segment < full and len(held) > 1:
            return held
    return None


def _runs(conn: sqlite3.Connection) -> list[_Run]:
    runs = conn.execute("SELECT id, first, stop FROM run ORDER BY id").fetchall()
    if any(type(first) is not int or type(stop) is not int or not 0 <= first < stop for _, first, stop in runs):
        raise Contradiction("a run of its word index makes no sense; `tinymemory check --repair` makes them anew")
    return runs


def _seal(conn: sqlite3.Connection, first: int, stop: int) -> None:
    words = Lists.of(conn.execute("SELECT id, terms, tf FROM head WHERE id < ? ORDER BY id", (stop,)), first)
    _write(conn, (2 * first, first, stop), words)
    conn.execute("DELETE FROM head WHERE id < ?", (stop,))
    conn.execute("UPDATE state SET sealed_below = ?", (stop,))


def _merge(conn: sqlite3.Connection, runs: Sequence[_Run]) -> None:
    first, stop = runs[0][1], runs[-1][2]
    parts = []
    for run, begin, _ in runs:
        held = conn.execute("SELECT term, data FROM post WHERE run = ? ORDER BY term", (run,))
        parts.append(Lists.read(held, begin - first))
    for run, _, _ in runs:
        conn.execute("DELETE FROM post WHERE run = ?", (run,))
        conn.execute("DELETE FROM run WHERE id = ?", (run,))
    _write(conn, (2 * first + 1, first, stop), Lists.merged(parts))


def _write(conn: sqlite3.Connection, run: _Run, words: Lists) -> None:
    conn.execute("INSERT INTO run VALUES(?, ?, ?)", run)
    values = [value for term, data in words.pack() for value in (run[0], term, data)]
    # Many rows a statement take half the time of as many statements.
    whole = len(values) - len(values) % (3 * _ROWS_AT_ONCE)
    for size, start, stop in ((_ROWS_AT_ONCE, 0, whole), (1, whole, len(values))):
        statement = "INSERT INTO post VALUES" + ", ".join(["(?, ?, ?)"] * size)
        conn.executemany(statement, (values[at : at + 3 * size] for at in range(start, stop, 3 * size)))


def _remove_from_run(
    conn: sqlite3.Connection, run: _Run, expected: Mapping[int, int | None], read_item: ReadItem
) -> None:
    number, first, stop = run
    (held,) = conn.execute("SELECT count(*) FROM fac WHERE id >= ? AND id < ?", (first, stop)).fetchone()
    known = {id: count for id, count in expected.items() if count is not None}
    if held == len(known):
        conn.execute("DELETE FROM post WHERE run = ?", (number,))
        return
    terms: set[str] = set()
    for id in expected:
        item = read_item(id)
        if item is not None:  # a damaged item can be removed too: the walk below finds its words
            terms.update(index_terms(item.render_text(), item.meta.language).counts)
    query = "SELECT term, data FROM post WHERE run = ? AND term = ?"
    found = [row for term in sorted(terms) for row in conn.execute(query, (number, term))]
    left = Counter(known)
    left.subtract(_drop(conn, run, expected, Lists.read(found)))
    if +left or len(known) < len(expected):
        # A text splits otherwise than when it was stored (a newer Python knows more characters): look everywhere.
        every = conn.execute("SELECT term, data FROM post WHERE run = ? ORDER BY term", (number,))
        _drop(conn, run, expected, Lists.read(every))


def _drop(conn: sqlite3.Connection, run: _Run, ids: Iterable[int], lists: Lists) -> list[int]:
    """Take items out of lists of a run, and write those that changed; the items, each as often as it was found."""
    number, first, _ = run
    changed, gone = lists.without(np.array(list(ids), np.uint32) - np.uint32(first))
    for term, data in changed.pack():
        if len(data):
            conn.execute("UPDATE post SET data = ? WHERE run = ? AND term = ?", (data, number, term))
        else:
            conn.execute("DELETE FROM post WHERE run = ? AND term = ?", (number, term))
    found: list[int] = (gone.astype(np.int64) + first).tolist()
    return found
