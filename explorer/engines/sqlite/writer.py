"""Changes of the file: each call is one transaction, whole or not at all. Lives on the writer's thread."""

from __future__ import annotations

import sqlite3
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TypeVar

import numpy as np

from explorer.contract import InvalidRequest, ItemId, StoreItem, StoreReceipt
from explorer.engines.sqlite import facts, schema, segments, vectors, words
from explorer.engines.sqlite.connection import OpenedFile, check_layout, moved_away
from explorer.engines.sqlite.facts import Facts
from explorer.engines.sqlite.failures import Contradiction, translating
from explorer.engines.sqlite.payloads import read_payload, to_payload
from explorer.engines.sqlite.schema import LOG_KEPT, State
from explorer.engines.sqlite.tokens import Terms, index_terms

T = TypeVar("T")

Choose = Callable[[sqlite3.Connection], Sequence[int]]
"""Arrival numbers to remove, ascending, from what the file holds inside the removing transaction."""

_LOG_WAIT_S = 1.0  # for readers, before a removal is said to be unfinished
_LOG_LIMIT = 4 << 20  # bytes from which on the log is brought into the file; SQLite's usual 1,000 pages


_WITH_ROWS = ("item", "fac")  # the two that say which items there are
_OF_ITEMS = (*_WITH_ROWS, "dict", "head", "post", "cols", "vec", "pvec", "vbits")


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An item in the form the file holds it."""

    fp: bytes
    payload: bytes
    facts: Facts
    terms: Terms


def _prepare(id: ItemId, written: bytes, item: StoreItem) -> _Prepared:
    terms = index_terms(item.render_text(), item.meta.language)
    return _Prepared(bytes.fromhex(id), to_payload(written), Facts.of(item), terms)


class Writer:
    def __init__(self, opened: OpenedFile) -> None:
        self._opened = opened
        self._location = opened.location
        self._conn: sqlite3.Connection | None = None
        self._is_due = False
        self._log_limit = _LOG_LIMIT

    def store(self, items: Sequence[StoreItem]) -> list[StoreReceipt]:
        """Store what is not held yet; receipts in the order of `items`. On an error nothing is stored."""
        written = [item.written() for item in items]
        ids = [id for id, _ in written]
        conn = self._connection()
        with translating(self._location.path):
            # Splitting texts takes longest: it is done before the lock is taken, for what looks new.
            prepared: dict[ItemId, _Prepared] = {}
            for (id, payload), item in zip(written, items, strict=True):
                if id not in prepared and not _is_held(conn, id):  # of copies in one batch the first is stored
                    prepared[id] = _prepare(id, payload, item)
            if not prepared:
                return [StoreReceipt(id=id, replayed=True) for id in ids]
            with self._transaction(conn):
                new: dict[ItemId, _Prepared] = {}
                for (id, payload), item in zip(written, items, strict=True):
                    if id not in new and not _is_held(conn, id):
                        # Another process may have removed what was held a moment ago.
                        new[id] = prepared.get(id) or _prepare(id, payload, item)
                if new:
                    _insert(conn, list(new.values()))
                self._is_due = _is_due(conn)
        if self._opened.has_traces:
            self.empty_log(wait_s=0)
        receipts = []
        for id in ids:
            receipts.append(StoreReceipt(id=id, replayed=id not in new))
            new.pop(id, None)
        return receipts

    def remove(self, choose: Choose) -> int:
        """Remove the items that `choose` names, and every trace of them in the file and its log; how many."""
        conn = self._connection()
        with translating(self._location.path), self._transaction(conn):
            ids = choose(conn)
            if ids:
                _remove(conn, ids)
        if ids or self._opened.has_traces:
            self.empty_log(_LOG_WAIT_S)
        return len(ids)

    def remove_all(self, look: Callable[[sqlite3.Connection], None]) -> None:
        """Remove every item and all that was made of them, as `remove` does, whatever a damaged file says of them.

        `look` sees what there is, inside the removing transaction.
        """
        conn = self._connection()
        with translating(self._location.path), self._transaction(conn):
            look(conn)
            has_removed = _remove_all(conn)
        if has_removed or self._opened.has_traces:
            self.empty_log(_LOG_WAIT_S)

    def change(self, change: Callable[[sqlite3.Connection], T]) -> T:
        """What `change` returns, made in one transaction that leaves the items as they are."""
        conn = self._connection()
        with translating(self._location.path), self._transaction(conn):
            result = change(conn)
        if self._is_log_large():
            self.empty_log(wait_s=0)
        return result

    @property
    def is_settling_due(self) -> bool:
        """Whether the last store left something for `settle` to do."""
        return self._is_due or self._is_log_large()

    def settle(self) -> bool:
        """One transaction that brings what was stored into its lasting place; False when nothing is left to do."""
        if self._is_due:
            conn = self._connection()
            with translating(self._location.path), self._transaction(conn):
                self._is_due = words.step(conn) or segments.step(conn)
        elif self._is_log_large():
            self.empty_log(wait_s=0)
        return self.is_settling_due

    def empty_log(self, wait_s: float) -> None:
        """As `OpenedFile.empty_log`, which says what came of it."""
        conn = self._connection()
        with translating(self._location.path):
            is_emptied = self._opened.empty_log(conn, wait_s)
        self._log_limit = _LOG_LIMIT if is_emptied else 2 * max(_LOG_LIMIT, self._location.wal_size or 0)

    def close(self) -> None:
        if self._conn is not None:
            conn, self._conn = self._conn, None
            self._opened.close(conn)

    def _is_log_large(self) -> bool:
        return (self._location.wal_size or 0) > self._log_limit

    def _connection(self) -> sqlite3.Connection:
        if self._location.read_only:
            raise InvalidRequest(f"the memory file `{self._location.path}` is open read-only; nothing was changed")
        if self._conn is None:
            self._conn = self._opened.connect_writing()
        elif self._opened.is_moved:
            self._opened.complete(self._conn)
            raise moved_away(self._location.path)
        return self._conn

    @contextmanager
    def _transaction(self, conn: sqlite3.Connection) -> Iterator[None]:
        conn.execute("BEGIN IMMEDIATE")
        try:
            check_layout(self._location, conn)
            before = conn.total_changes
            yield
            if conn.total_changes > before:
                conn.execute("UPDATE state SET changes = changes + 1")
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise


def _is_held(conn: sqlite3.Connection, id: ItemId) -> bool:
    return conn.execute("SELECT 1 FROM item WHERE fp = ?", (bytes.fromhex(id),)).fetchone() is not None


def _insert(conn: sqlite3.Connection, items: Sequence[_Prepared]) -> None:
    state = State.read(conn)
    first = state.next_id
    rows = list(enumerate(items, first))
    conn.executemany("INSERT INTO item VALUES(?, ?, ?)", [(id, item.fp, item.payload) for id, item in rows])
    facts.insert(conn, [(id, item.facts, item.terms.length, len(item.terms.counts)) for id, item in rows])
    words.insert(conn, [(id, item.terms) for id, item in rows])
    conn.execute("UPDATE state SET next_id = ?", (first + len(items),))
    _log(conn, state, ())


def _remove(conn: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Delete items and all that was made of them. `ids` are ascending, and held."""
    words.remove(conn, facts.terms_of(conn, ids), lambda id: _item(conn, id))
    vectors.remove(conn, ids)
    segments.clear(conn, ids)
    facts.remove(conn, ids, lambda id: _item(conn, id))
    conn.executemany("DELETE FROM item WHERE id = ?", [(id,) for id in ids])
    state = State.read(conn)
    generation = _log(conn, state, ids)
    conn.execute("UPDATE state SET traces = ?, removals = removals + 1", (generation,))


def _log(conn: sqlite3.Connection, state: State, removed: Sequence[int]) -> int:
    """Begin the generation that has what was just changed; its number."""
    generation = state.next_generation()
    conn.execute("INSERT INTO gone VALUES(?, ?)", (generation, np.array(removed, "<i8").tobytes()))
    oldest = conn.execute(
        "SELECT generation FROM gone ORDER BY generation DESC LIMIT 1 OFFSET ?", (LOG_KEPT,)
    ).fetchone()
    floor = state.log_floor if oldest is None else oldest[0]
    conn.execute("DELETE FROM gone WHERE generation <= ?", (floor,))
    conn.execute("UPDATE state SET generation = ?, log_floor = ?", (generation, floor))
    return generation


def _remove_all(conn: sqlite3.Connection) -> bool:
    """Empty every table that holds items or what was made of them; False where there was nothing."""
    if not any(conn.execute(f"SELECT EXISTS(SELECT 1 FROM {table})").fetchone()[0] for table in _OF_ITEMS):
        return False
    state = State.read(conn)
    held = [conn.execute(f"SELECT id FROM {table} WHERE id >= 0 AND id < ?", (state.next_id,)) for table in _WITH_ROWS]
    ids = np.unique(np.concatenate([np.fromiter((id for (id,) in found), "<i8") for found in held])).tolist()
    for table in (*_OF_ITEMS, "run", "gone"):
        conn.execute(f"DELETE FROM {table}")
    words.cover(conn, 0, state.next_id - state.next_id % schema.RUN)
    generation = _log(conn, state, ids)
    # What was logged before may be damaged: who is further behind reads the columns anew.
    conn.execute("UPDATE state SET log_floor = ?, traces = ?, removals = removals + 1", (state.generation, generation))
    return True


def _item(conn: sqlite3.Connection, id: int) -> StoreItem | None:
    row = conn.execute("SELECT payload FROM item WHERE id = ?", (id,)).fetchone()
    try:
        return read_payload(row[0] if row else b"", str(id))
    except Contradiction:
        return None


def _is_due(conn: sqlite3.Connection) -> bool:
    return words.is_due(conn) or segments.is_due(conn)
