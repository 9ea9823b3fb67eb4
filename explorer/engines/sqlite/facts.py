"""Upkeep of what is kept of items besides their text: the records of codes, and the strings behind the codes."""

from __future__ import annotations

import sqlite3
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass

import numpy as np

from explorer.contract import StoreItem
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import MISSING, RECORD, SINGLE, Codes, Field, pack_record, split_time, values_of
from explorer.engines.sqlite.schema import State

_MOST_CODES = (1 << 32) - 1  # of a field; a code has 32 bits


ReadItem = Callable[[int], StoreItem | None]
"""The item in a row; None where it cannot be read."""


@dataclass(frozen=True, slots=True)
class Facts:
    """The fields of an item before its strings have codes."""

    values: list[str | None]
    """Of the fields in `SINGLE`."""
    tags: list[str]
    seconds: int
    nanoseconds: int

    @classmethod
    def of(cls, item: StoreItem) -> Facts:
        seconds, nanoseconds = split_time(item.meta.observed_at)
        return cls(values_of(item), list(dict.fromkeys(item.meta.tags)), seconds, nanoseconds)


def is_next_code(field: Field, code: object, state: State) -> bool:
    """Whether `code` can be the next one of a field, by its kind and size."""
    # An item brings at most one new string to each field but the tags.
    most = _MOST_CODES if field is Field.TAG else state.next_id + 1
    return type(code) is int and MISSING < code <= most


def next_codes(conn: sqlite3.Connection, state: State) -> dict[Field, int]:
    """The code that the next new string of each field gets. Raises Contradiction for one that it cannot be."""
    held = dict(conn.execute("SELECT field, next_code FROM field").fetchall())
    for field in Field:
        if not is_next_code(field, held.get(field), state):
            raise senseless_codes(field)
    return {field: held[field] for field in Field}


def senseless_codes(field: Field) -> Contradiction:
    return Contradiction(
        f"the number of its {field.name.lower()} strings makes no sense; `tinymemory check --repair` counts them anew"
    )


def insert(conn: sqlite3.Connection, rows: Iterable[tuple[int, Facts, int, int]]) -> None:
    """Add the records of new items: row, facts, the length of the text in tokens, its different terms in the index."""
    coder = _Coder(conn)
    records = []
    for id, facts, length, terms in rows:
        codes = [
            MISSING if value is None else coder.code(field, value)
            for field, value in zip(SINGLE, facts.values, strict=True)
        ]
        tags = np.array([coder.code(Field.TAG, tag) for tag in facts.tags], "<u4")
        records.append((id, pack_record(codes, facts.seconds, facts.nanoseconds, length, terms), tags.tobytes()))
    conn.executemany("INSERT INTO fac VALUES(?, ?, ?)", records)
    coder.write()


def terms_of(conn: sqlite3.Connection, ids: Sequence[int]) -> dict[int, int | None]:
    """The number of different terms of each item; None where its record is missing or damaged."""
    records = {id: _record(conn, id) for id in ids}
    return {id: None if record is None else int(record[0]["terms"]) for id, record in records.items()}


def remove(conn: sqlite3.Connection, ids: Sequence[int], read_item: ReadItem) -> None:
    """Delete the records of items, before `item` loses them, and the strings that nothing else uses."""
    uses: Counter[tuple[int, int]] = Counter()
    for id in ids:
        record = _record(conn, id)
        if record is not None:
            uses.update(zip(SINGLE, record[0]["codes"].tolist(), strict=True))
            uses.update((Field.TAG, code) for code in record[1].tolist())
        elif (item := read_item(id)) is not None:
            uses.update(_codes_of(conn, Facts.of(item)))
    conn.executemany("DELETE FROM fac WHERE id = ?", [(id,) for id in ids])
    changes = [(count, field, code) for (field, code), count in uses.items() if code != MISSING]
    conn.executemany("UPDATE dict SET uses = uses - ? WHERE field = ? AND code = ?", changes)
    conn.executemany("DELETE FROM dict WHERE field = ? AND code = ? AND uses <= 0", [change[1:] for change in changes])


def _codes_of(conn: sqlite3.Connection, facts: Facts) -> list[tuple[int, int]]:
    """The fields and codes of those strings that have one."""
    strings = [*zip(SINGLE, facts.values, strict=True), *((Field.TAG, tag) for tag in facts.tags)]
    found = (
        (field, conn.execute("SELECT code FROM dict WHERE field = ? AND value = ?", (field, value)).fetchone())
        for field, value in strings
    )
    return [(field, int(row[0])) for field, row in found if row is not None]


def _record(conn: sqlite3.Connection, id: int) -> tuple[np.void, Codes] | None:
    """None where it is missing or damaged."""
    row = conn.execute("SELECT rec, tags FROM fac WHERE id = ?", (id,)).fetchone()
    is_sane = row is not None and all(type(part) is bytes for part in row)
    if not is_sane or len(row[0]) != RECORD.itemsize or len(row[1]) % 4:
        return None
    return np.frombuffer(row[0], RECORD)[0], np.frombuffer(row[1], "<u4")


class _Coder:
    """Gives strings their codes within one transaction, and counts how often each is used."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self._conn = conn
        self._next = next_codes(conn, State.read(conn))
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
