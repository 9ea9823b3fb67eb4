"""The tables of the file and the numbered steps that make them.

A step, once released, never changes: later layouts are further steps.
"""

from __future__ import annotations

import secrets
import sqlite3
from contextlib import closing
from dataclasses import dataclass
from functools import cache

from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import Field

APPLICATION_ID = 0x544D454D  # "TMEM", in the header of the file

SEGMENT = 1 << 14
"""Arrival numbers in one full segment: few enough to rewrite for an erase, and to fit 16 bits."""

RUN = 1 << 12
"""Arrival numbers whose words are sealed at once; the runs of a full segment are merged into one."""

MOST_ROWS = 1 << 32
"""Arrival numbers there can be: what counts them in the file or in memory has 32 bits."""

ROWS_AT_ONCE = 1 << 14
"""Arrival numbers that one change can have given out, at the very most: many times what one call may store."""

MOST_COUNTED = 1 << 62
"""Far beyond what any number in the state row can count to, and yet such a number can still grow."""

LOG_KEPT = 1_000
"""Generations that are logged, with what each removed; a reader further behind reads the columns anew."""

_STEP = 1 << 30

_UID_BYTES = 8

_FIRST = (
    # `id` is the arrival number: it is never used twice, so that other processes can tell new from gone.
    "CREATE TABLE item(id INTEGER PRIMARY KEY, fp BLOB NOT NULL UNIQUE, payload BLOB NOT NULL)",
    # The truth behind the columns in memory: a RECORD of codes, and the codes of the tags (u32 each).
    "CREATE TABLE fac(id INTEGER PRIMARY KEY, rec BLOB NOT NULL, tags BLOB NOT NULL)",
    "CREATE TABLE field(field INTEGER PRIMARY KEY, name TEXT NOT NULL, next_code INTEGER NOT NULL)",
    # The strings that items use, each under a code that is never given to another string.
    "CREATE TABLE dict(field INTEGER NOT NULL, code INTEGER NOT NULL, value TEXT NOT NULL, uses INTEGER NOT NULL,"
    " PRIMARY KEY(field, code)) WITHOUT ROWID",
    "CREATE UNIQUE INDEX dict_by_value ON dict(field, value)",
    # Words of items in the segment that is still filling: one row an item, space-separated terms, their counts (u8).
    "CREATE TABLE head(id INTEGER PRIMARY KEY, terms TEXT NOT NULL, tf BLOB NOT NULL)",
    # Words of full segments: ids within the segment (u16 each), then their counts (u8 each). By segment first, so that
    # sealing appends to the end of the tree, at any size of the file.
    "CREATE TABLE post(seg INTEGER NOT NULL, term TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY(seg, term))"
    " WITHOUT ROWID",
    # Arrival numbers removed per generation (i64 each): how other processes' columns catch up.
    "CREATE TABLE gone(generation INTEGER PRIMARY KEY, ids BLOB NOT NULL)",
    "CREATE TABLE state(one INTEGER PRIMARY KEY CHECK(one = 1), uid BLOB NOT NULL, generation INTEGER NOT NULL,"
    " next_id INTEGER NOT NULL, sealed_below INTEGER NOT NULL, log_floor INTEGER NOT NULL)",
)


def _make_first(conn: sqlite3.Connection) -> None:
    for statement in _FIRST:
        conn.execute(statement)
    conn.executemany("INSERT INTO field VALUES(?, ?, 1)", [(field, field.name.lower()) for field in Field])
    conn.execute("INSERT INTO state VALUES(1, ?, 0, 0, 0, 0)", (secrets.token_bytes(_UID_BYTES),))


_SECOND = (
    "DROP TABLE post",
    "DELETE FROM head",
    # Sealed runs of arrival numbers [first, stop): ascending, without gaps, up to `state.sealed_below`.
    "CREATE TABLE run(id INTEGER PRIMARY KEY, first INTEGER NOT NULL, stop INTEGER NOT NULL)",
    # Words of a run: ids counted from its first (u16 each), then their counts (u8 each). By run first, so that sealing
    # appends to the end of the tree, at any size of the file.
    "CREATE TABLE post(run INTEGER NOT NULL, term TEXT NOT NULL, data BLOB NOT NULL, PRIMARY KEY(run, term))"
    " WITHOUT ROWID",
    # The columns of a full segment, so that opening a large file does not read `fac` row by row.
    "CREATE TABLE cols(seg INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    # Vectors: of items, of their passages, and the sign bits of a full segment's items.
    "CREATE TABLE vec(id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE pvec(id INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    "CREATE TABLE vbits(seg INTEGER PRIMARY KEY, data BLOB NOT NULL)",
    # Which embedder made the vectors, and of which arrival numbers: `vectors.Made` says how to read it.
    "CREATE TABLE model(one INTEGER PRIMARY KEY CHECK(one = 1), name TEXT NOT NULL, dims INTEGER NOT NULL,"
    " form INTEGER NOT NULL, epoch INTEGER NOT NULL, low INTEGER NOT NULL, high INTEGER NOT NULL,"
    " top INTEGER NOT NULL)",
    "ALTER TABLE state ADD COLUMN changes INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE state ADD COLUMN swept INTEGER NOT NULL DEFAULT 0",
    "ALTER TABLE state ADD COLUMN traces INTEGER NOT NULL DEFAULT 0",
    "DELETE FROM gone",
    "UPDATE state SET sealed_below = 0, log_floor = generation, traces = generation",
)


def _make_second(conn: sqlite3.Connection) -> None:
    for statement in _SECOND:
        conn.execute(statement)


_THIRD = (
    # `item.payload` may be compressed from here on, `gone` has a row for each generation, those that only added too,
    # and `vec` has one, without data, for an item that was found to have no meaning.
    "ALTER TABLE state ADD COLUMN removals INTEGER NOT NULL DEFAULT 0",
    "DELETE FROM gone",
    "UPDATE state SET log_floor = generation",
    # Which were not counted from the first in the first layout; see `most_rows`.
    f"UPDATE state SET changes = max(changes, 1 + next_id / {ROWS_AT_ONCE})",
    "INSERT INTO vec SELECT item.id, x'' FROM item, model WHERE (item.id < low OR item.id >= high AND item.id < top)"
    " AND item.id NOT IN (SELECT id FROM vec)",
)


def _make_third(conn: sqlite3.Connection) -> None:
    for statement in _THIRD:
        conn.execute(statement)


MIGRATIONS = (_make_first, _make_second, _make_third)

VERSION = len(MIGRATIONS)


@cache
def made_by(version: int) -> frozenset[tuple[str, str]]:
    """Kind and name of each table and index of a layout, apart from those that SQLite makes by itself."""
    with closing(sqlite3.connect(":memory:")) as conn:
        for step in MIGRATIONS[:version]:
            step(conn)
        return frozenset(objects(conn))


def objects(conn: sqlite3.Connection) -> list[tuple[str, str]]:
    """Kind and name of all that a file holds besides what SQLite makes by itself."""
    return conn.execute("SELECT type, name FROM sqlite_master WHERE sql IS NOT NULL ORDER BY name").fetchall()


def migrate(conn: sqlite3.Connection) -> None:
    """Bring the file to `VERSION`; run it inside a transaction."""
    (version,) = conn.execute("PRAGMA user_version").fetchone()
    for step in MIGRATIONS[version:]:
        step(conn)
    conn.execute(f"PRAGMA application_id = {APPLICATION_ID}")
    conn.execute(f"PRAGMA user_version = {VERSION}")


@dataclass(frozen=True, slots=True)
class State:
    """The one row that every read and write begins with."""

    uid: bytes
    """Of this file; differs when another file took its place."""
    generation: int
    """Grows with each change of the items, by a random step: where an older copy took the file's place, or was written
    over it, no generation that follows is one that there was before."""
    next_id: int
    sealed_below: int
    """Postings of arrival numbers below are in `post`, those of the others in `head`."""
    log_floor: int
    """The generations above are logged."""
    changes: int
    """Grows with each transaction that changes the file."""
    swept: int
    """The transactions up to this one left nothing of moved rows in the file; 0 before the first sweeping."""
    traces: int
    """The generation of the last removal, while its text may still lie in the file or its log; 0 when it cannot."""
    removals: int
    """How many there were."""

    @classmethod
    def read(cls, conn: sqlite3.Connection) -> State:
        row = conn.execute(
            "SELECT uid, generation, next_id, sealed_below, log_floor, changes, swept, traces, removals FROM state"
        ).fetchone()
        if row is None:
            raise Contradiction("its state row is missing")
        uid, *numbers = row
        is_sane = type(uid) is bytes and len(uid) == _UID_BYTES
        if not is_sane or not all(type(number) is int and 0 <= number < MOST_COUNTED for number in numbers):
            raise _senseless_state()
        state = cls(uid, *numbers)
        if (
            state.next_id > most_rows(state.changes)
            or state.sealed_below > state.next_id
            or max(state.log_floor, state.traces) > state.generation
            or state.swept > state.changes
        ):
            raise _senseless_state()
        return state

    def next_generation(self) -> int:
        return self.generation + 1 + secrets.randbelow(_STEP)


def most_rows(changes: int) -> int:
    """Arrival numbers that a file of so many changes can have given out: numbers of damage must not be counted to."""
    return min(MOST_ROWS, changes * ROWS_AT_ONCE)


def fewest_changes(rows: int) -> int:
    """Changes of a file that gave out so many arrival numbers, at least; see `most_rows`."""
    return -(-rows // ROWS_AT_ONCE)


def _senseless_state() -> Contradiction:
    return Contradiction("its state row makes no sense; `tinymemory check --repair` makes it anew from the items")
