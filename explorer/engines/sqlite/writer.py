"""Changes of the file: each call is one transaction, whole or not at all. Lives on the writer's thread."""

from __future__ import annotations

import sqlite3
from collections import Counter, defaultdict
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass

import numpy as np

from explorer.contract import InvalidRequest, ItemId, StoreItem, StoreReceipt
from explorer.engines.sqlite.connection import OpenedFile, moved_away
from explorer.engines.sqlite.failures import Contradiction, translating
from explorer.engines.sqlite.fields import MISSING, RECORD, SINGLE, Field, pack_record, split_time, values_of
from explorer.engines.sqlite.payloads import read_payload, write_payload
from explorer.engines.sqlite.postings import Grouped, pack_posting, unpack_posting
from explorer.engines.sqlite.schema import LOG_KEPT, SEGMENT, State
from explorer.engines.sqlite.tokens import count_terms

Choose = Callable[[sqlite3.Connection], Sequence[int]]
"""Arrival numbers to remove, ascending, from what the file holds inside the removing transaction."""

_MOST_COUNTED = 255  # a term's count in an item is held in one byte
_CHECKPOINT_WAIT_MS = 1_000


@dataclass(frozen=True, slots=True)
class _Prepared:
    """An item in the form the file holds it."""

    fp: bytes
    payload: bytes
    values: list[str | None]
    tags: list[str]
    seconds: int
    nanoseconds: int
    terms: Counter[str]


def _prepare(fp: bytes, item: StoreItem) -> _Prepared:
    seconds, nanoseconds = split_time(item.meta.observed_at)
    return _Prepared(
        fp=fp,
        payload=write_payload(item),
        values=values_of(item),
        tags=list(dict.fromkeys(item.meta.tags)),
        seconds=seconds,
        nanoseconds=nanoseconds,
        terms=count_terms(item.render_text()),
    )


class Writer:
    def __init__(self, opened: OpenedFile) -> None:
        self._opened = opened
        self._location = opened.location
        self._conn: sqlite3.Connection | None = None
        self._has_full_segment = False
        self.has_traces = False
        """Whether removed text may still lie in the log, because a reader held up the checkpoint."""

    def store(self, items: Sequence[StoreItem]) -> list[StoreReceipt]:
        """Store what is not held yet; receipts in the order of `items`. On an error nothing is stored."""
        ids = [item.fingerprint() for item in items]
        conn = self._connection()
        with translating(self._location.path):
            # Splitting texts takes longest: it is done before the lock is taken, for what looks new.
            prepared = {
                id: _prepare(bytes.fromhex(id), item)
                for id, item in zip(ids, items, strict=True)
                if not _is_held(conn, id)
            }
            if not prepared:
                return [StoreReceipt(id=id, replayed=True) for id in ids]
            with self._transaction(conn):
                new: dict[ItemId, _Prepared] = {}
                for id, item in zip(ids, items, strict=True):
                    if id not in new and not _is_held(conn, id):
                        # Another process may have removed what was held a moment ago.
                        new[id] = prepared.get(id) or _prepare(bytes.fromhex(id), item)
                if new:
                    _insert(conn, list(new.values()))
                self._has_full_segment = _is_segment_full(State.read(conn))
        if self.has_traces:
            self.checkpoint()
        receipts = []
        for id in ids:
            receipts.append(StoreReceipt(id=id, replayed=id not in new))
            new.pop(id, None)
        return receipts

    def remove(self, choose: Choose) -> int:
        """Remove the items that `choose` names, and every trace of them in the file and its log; how many."""
        conn = self._connection()
        with translating(self._location.path):
            with self._transaction(conn):
                ids = choose(conn)
                if ids:
                    _remove(conn, ids)
            if ids or self.has_traces:
                self.checkpoint()
        return len(ids)

    @property
    def has_full_segment(self) -> bool:
        """Whether the last store filled a segment, so that `seal` has something to do."""
        return self._has_full_segment

    def seal(self) -> None:
        """Move the words of full segments into their lasting place."""
        conn = self._connection()
        with translating(self._location.path):
            while _is_segment_full(State.read(conn)):
                with self._transaction(conn):
                    state = State.read(conn)
                    if _is_segment_full(state):  # another process may have been first
                        _seal(conn, state.sealed_below // SEGMENT)
        self._has_full_segment = False

    def checkpoint(self) -> bool:
        """Bring the log into the file and empty it; False while a reader of an older snapshot holds it up."""
        conn = self._connection()
        with translating(self._location.path):
            usual_ms = int(self._location.busy_timeout_s * 1_000)
            conn.execute(f"PRAGMA busy_timeout = {min(usual_ms, _CHECKPOINT_WAIT_MS)}")
            try:
                (is_busy, _, _) = conn.execute("PRAGMA wal_checkpoint(TRUNCATE)").fetchone()
            finally:
                conn.execute(f"PRAGMA busy_timeout = {usual_ms}")
        self.has_traces = bool(is_busy)
        return not is_busy

    def close(self) -> None:
        """Close the connection; the last one of all processes brings the log into the file and removes it."""
        if self._conn is not None:
            self._conn.close()
            self._conn = None

    def _connection(self) -> sqlite3.Connection:
        if self._location.read_only:
            raise InvalidRequest(f"the memory file `{self._location.path}` is open read-only; nothing was changed")
        if self._conn is None:
            self._conn = self._opened.connect_writing()
        elif self._opened.is_moved:
            raise moved_away(self._location.path)
        return self._conn

    @contextmanager
    def _transaction(self, conn: sqlite3.Connection) -> Iterator[None]:
        conn.execute("BEGIN IMMEDIATE")
        try:
            yield
            conn.execute("COMMIT")
        except BaseException:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
            raise


def _is_held(conn: sqlite3.Connection, id: ItemId) -> bool:
    return conn.execute("SELECT 1 FROM item WHERE fp = ?", (bytes.fromhex(id),)).fetchone() is not None


def _insert(conn: sqlite3.Connection, items: Sequence[_Prepared]) -> None:
    state = State.read(conn)
    coder = _Coder(conn)
    first = state.next_id
    facts, heads = [], []
    for id, item in enumerate(items, first):
        codes = [
            MISSING if value is None else coder.code(field, value)
            for field, value in zip(SINGLE, item.values, strict=True)
        ]
        tags = np.array([coder.code(Field.TAG, tag) for tag in item.tags], "<u4")
        length = sum(item.terms.values())
        facts.append((id, pack_record(codes, item.seconds, item.nanoseconds, length, len(item.terms)), tags.tobytes()))
        counts = bytes([count if count <= _MOST_COUNTED else _MOST_COUNTED for count in item.terms.values()])
        heads.append((id, " ".join(item.terms), counts))
    conn.executemany(
        "INSERT INTO item VALUES(?, ?, ?)", [(id, item.fp, item.payload) for id, item in enumerate(items, first)]
    )
    conn.executemany("INSERT INTO fac VALUES(?, ?, ?)", facts)
    conn.executemany("INSERT INTO head VALUES(?, ?, ?)", heads)
    coder.write()
    conn.execute("UPDATE state SET generation = generation + 1, next_id = ?", (first + len(items),))


class _Coder:
    """Gives strings their codes within one transaction, and counts how often each is used."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._next = dict(conn.execute("SELECT field, next_code FROM field").fetchall())
        self._codes: dict[tuple[Field, str], int] = {}
        self._new: list[tuple[int, int, str]] = []
        self._uses: Counter[tuple[int, int]] = Counter()

    def code(self, field: Field, value: str) -> int:
        code = self._codes.get((field, value))
        if code is None:
            row = self._conn.execute("SELECT code FROM dict WHERE field = ? AND value = ?", (field, value)).fetchone()
            if row is None:
                code = self._next[field]
                self._next[field] = code + 1
                self._new.append((field, code, value))
            else:
                code = int(row[0])
            self._codes[field, value] = code
        self._uses[field, code] += 1
        return code

    def write(self) -> None:
        self._conn.executemany("INSERT INTO dict VALUES(?, ?, ?, 0)", self._new)
        self._conn.executemany(
            "UPDATE dict SET uses = uses + ? WHERE field = ? AND code = ?",
            [(count, field, code) for (field, code), count in self._uses.items()],
        )
        self._conn.executemany(
            "UPDATE field SET next_code = ? WHERE field = ?", [(next, field) for field, next in self._next.items()]
        )


def _remove(conn: sqlite3.Connection, ids: Sequence[int]) -> None:
    """Delete items, their records, their words and the strings that nothing else uses. `ids` are ascending, held."""
    state = State.read(conn)
    by_segment: dict[int, list[int]] = defaultdict(list)
    for id in ids:
        by_segment[id // SEGMENT].append(id)
    uses: Counter[tuple[int, int]] = Counter()
    for segment, members in by_segment.items():
        expected: Counter[int] = Counter()
        for id in members:
            row = conn.execute("SELECT rec, tags FROM fac WHERE id = ?", (id,)).fetchone()
            if row is None:
                raise Contradiction(f"item {id} has no record of its fields")
            if len(row[0]) != RECORD.itemsize or len(row[1]) % 4:
                raise Contradiction(f"the record of item {id} has the wrong size")
            record = np.frombuffer(row[0], RECORD)[0]
            uses.update(zip(SINGLE, record["codes"].tolist(), strict=True))
            uses.update((Field.TAG, code) for code in np.frombuffer(row[1], "<u4").tolist())
            expected[id] = int(record["terms"])
        if segment * SEGMENT < state.sealed_below:
            _remove_words(conn, segment, expected)
        keys = [(id,) for id in members]
        conn.executemany("DELETE FROM head WHERE id = ?", keys)
        conn.executemany("DELETE FROM fac WHERE id = ?", keys)
        conn.executemany("DELETE FROM item WHERE id = ?", keys)
    changes = [(count, field, code) for (field, code), count in uses.items() if code != MISSING]
    conn.executemany("UPDATE dict SET uses = uses - ? WHERE field = ? AND code = ?", changes)
    conn.executemany("DELETE FROM dict WHERE field = ? AND code = ? AND uses <= 0", [change[1:] for change in changes])
    generation = state.generation + 1
    conn.execute("INSERT INTO gone VALUES(?, ?)", (generation, np.array(ids, "<i8").tobytes()))
    floor = max(state.log_floor, generation - LOG_KEPT)
    conn.execute("DELETE FROM gone WHERE generation <= ?", (floor,))
    conn.execute("UPDATE state SET generation = ?, log_floor = ?", (generation, floor))


def _remove_words(conn: sqlite3.Connection, segment: int, expected: Counter[int]) -> None:
    """Take items out of a sealed segment. `expected`: the number of different terms of each item."""
    (first, last) = segment * SEGMENT, (segment + 1) * SEGMENT
    (held,) = conn.execute("SELECT count(*) FROM fac WHERE id >= ? AND id < ?", (first, last)).fetchone()
    if held == len(expected):
        conn.execute("DELETE FROM post WHERE seg = ?", (segment,))
        return
    terms: set[str] = set()
    for id in expected:
        row = conn.execute("SELECT payload FROM item WHERE id = ?", (id,)).fetchone()
        try:
            terms.update(count_terms(read_payload(row[0] if row else b"", str(id)).render_text()))
        except Contradiction:
            continue  # a damaged item can be removed too: the walk below finds its words
    left = +Counter(expected)
    _drop_from(conn, segment, left, sorted(terms))
    if +left:
        # A text splits otherwise than when it was stored (a newer Python knows more characters): look everywhere.
        every = [term for (term,) in conn.execute("SELECT term FROM post WHERE seg = ?", (segment,))]
        _drop_from(conn, segment, left, every)


def _drop_from(conn: sqlite3.Connection, segment: int, left: Counter[int], terms: Sequence[str]) -> None:
    """Take the items counted in `left` out of the postings of `terms`, counting down what was found."""
    first = segment * SEGMENT
    removed = np.array(sorted(left), np.int64) - first
    for term in terms:
        row = conn.execute("SELECT data FROM post WHERE seg = ? AND term = ?", (segment, term)).fetchone()
        if row is None:
            continue
        local, counts = unpack_posting(row[0])
        is_removed = np.isin(local, removed)
        if not is_removed.any():
            continue
        left.subtract((local[is_removed].astype(np.int64) + first).tolist())
        if is_removed.all():
            conn.execute("DELETE FROM post WHERE seg = ? AND term = ?", (segment, term))
        else:
            data = pack_posting(local[~is_removed], counts[~is_removed])
            conn.execute("UPDATE post SET data = ? WHERE seg = ? AND term = ?", (data, segment, term))


def _is_segment_full(state: State) -> bool:
    return state.next_id >= state.sealed_below + SEGMENT


def _seal(conn: sqlite3.Connection, segment: int) -> None:
    first, last = segment * SEGMENT, (segment + 1) * SEGMENT
    words = Grouped.of(conn.execute("SELECT id, terms, tf FROM head WHERE id < ? ORDER BY id", (last,)))
    conn.executemany(
        "INSERT INTO post VALUES(?, ?, ?)",
        ((segment, term, pack_posting(rows - first, counts)) for term, rows, counts in words.sorted()),
    )
    conn.execute("DELETE FROM head WHERE id < ?", (last,))
    conn.execute("UPDATE state SET sealed_below = ?", (last,))
