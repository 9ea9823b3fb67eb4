"""Making a damaged file whole again from the items that can be read, after a copy of it."""

from __future__ import annotations

import contextlib
import os
import sqlite3
from collections.abc import Iterator
from contextlib import closing, contextmanager
from dataclasses import dataclass
from typing import Any

from explorer.contract import NotFound
from explorer.engines.sqlite import connection, rebuilding, schema
from explorer.engines.sqlite.checking import Checked, Progress, Trouble, check
from explorer.engines.sqlite.copies import copying
from explorer.engines.sqlite.failures import Contradiction, translating
from explorer.engines.sqlite.location import Location
from explorer.engines.sqlite.payloads import read_payload

_BATCH = 500
_BAD_FOR_VECTORS = (
    Trouble.STRUCTURE,
    Trouble.UNREADABLE,
    Trouble.FINGERPRINT,
    Trouble.VECTORS,
    Trouble.NO_VECTOR,
    Trouble.SIGNS,  # which may tell that a vector changed
)
"""Where one of these is found, all vectors go, and are made anew in the background."""
_OBJECTS = "SELECT type, name FROM sqlite_master WHERE type IN ('table', 'view') AND name <> 'sqlite_sequence'"

Row = tuple[int, Any, Any]
"""Of `item`."""


@dataclass(frozen=True, slots=True)
class Repaired:
    """What a repair found and did. What it took out, the copy still holds."""

    before: Checked | None
    """None for a file of an older layout, which was brought to the present one."""
    after: Checked
    copy: str | None
    """The file as it was; None where nothing was wrong, so that nothing was done."""
    unreadable: tuple[str, ...] = ()
    """Ids of items that were taken out because their content cannot be read."""
    duplicates: tuple[str, ...] = ()
    """Ids of items that were taken out because another one has the same content."""
    renamed: tuple[tuple[str, str], ...] = ()
    """Old and new ids of items whose content was not that of their id."""
    lost_places: int = 0
    """Places of broken pages that cannot be read, each of which may have held an item."""


def repair_file(path: str | os.PathLike[str], on_progress: Progress = lambda _: None) -> Repaired:
    """Check the file at `path`, and where something is wrong make all that is derived from the items anew.

    Readers go on meanwhile; writers wait, or are told that the file is locked. A copy as it was stays beside the file.
    An item that cannot be read is taken out, and one whose content is not that of its id gets the id of its content.
    Killed in the middle, the file stays as it was. Raises as opening does, and EngineFailure where no item can be read.
    """
    location = Location(os.path.abspath(path))
    if not os.path.exists(location.path):
        raise NotFound(f"there is no file `{location.path}`")
    connection.check(location)
    with translating(location.path), closing(location.open("mode=rw")) as conn:
        connection.prepare(conn)
        conn.execute("BEGIN IMMEDIATE")
        try:
            # Reading on another connection: after an error of the structure one does not write any more.
            with closing(location.open("mode=ro")) as other, _snapshot(other):
                (version,) = other.execute("PRAGMA user_version").fetchone()
                before = check(other, on_progress) if version == schema.VERSION else None
                is_sound = _is_sound(other) if before is None else before.count_of(Trouble.STRUCTURE) == 0
            if before is not None and before.is_clean:
                return Repaired(before, before, None)
            with copying(
                location, "repair", lambda done, all: on_progress(f"copying: {done:,} of {all:,} pages")
            ) as copy:
                _empty(conn, is_sound)
                repair = _Repair(conn, copy.path, on_progress)
                repair.run(has_vectors=before is not None and not any(map(before.count_of, _BAD_FOR_VECTORS)))
                kept = copy.keep()
                conn.execute("COMMIT")
        finally:
            if conn.in_transaction:
                conn.execute("ROLLBACK")
        if not is_sound:
            on_progress("freeing lost pages")
            conn.execute("VACUUM")
        connection.OpenedFile(location).empty_log(conn, 0)
        with _snapshot(conn):
            after = check(conn, on_progress)
    return Repaired(
        before,
        after,
        kept,
        tuple(repair.unreadable),
        tuple(repair.duplicates),
        tuple(repair.renamed),
        repair.lost_places,
    )


@contextmanager
def _snapshot(conn: sqlite3.Connection) -> Iterator[None]:
    conn.execute("PRAGMA temp_store = MEMORY")
    conn.execute("BEGIN")
    try:
        yield
    finally:
        if conn.in_transaction:
            conn.execute("ROLLBACK")


def _is_sound(conn: sqlite3.Connection) -> bool:
    try:
        return bool(conn.execute("PRAGMA integrity_check(1)").fetchone() == ("ok",))
    except sqlite3.DatabaseError:
        return False


def _empty(conn: sqlite3.Connection, is_sound: bool) -> None:
    """Take everything out, and make the present layout."""
    if is_sound:
        for kind, name in conn.execute(_OBJECTS).fetchall():
            conn.execute(f'DROP {kind} "{name.replace(chr(34), chr(34) * 2)}"')
    else:
        # Dropping a table walks its pages, which may be the broken ones. Merely forgotten, they are lost until VACUUM.
        conn.execute("PRAGMA writable_schema = ON")
        conn.execute("DELETE FROM sqlite_master")
        conn.execute("PRAGMA writable_schema = RESET")
    conn.execute("PRAGMA user_version = 0")
    schema.migrate(conn)


class _Repair:
    """The empty file filled again from the copy, inside the transaction that `conn` is in."""

    def __init__(self, conn: sqlite3.Connection, copy: str, on_progress: Progress) -> None:
        self._conn = conn
        self._copy = copy
        self._on_progress = on_progress
        self.unreadable: list[str] = []
        self.duplicates: list[str] = []
        self.renamed: list[tuple[str, str]] = []
        self.lost_places = 0
        self._misplaced: list[int] = []

    def run(self, has_vectors: bool) -> None:
        """`has_vectors`: whether the copy's vectors go into the file again."""
        # Immutable: nothing else is made beside the copy, and nothing changes it.
        with closing(Location(self._copy).open("mode=ro&immutable=1")) as source:
            generation, next_id, removals, most = _numbers(source)
            next_id = self._take_items(source, next_id, most)
            self._conn.execute(
                "UPDATE state SET generation = ?, next_id = ?, removals = ?, changes = ?",
                (generation, next_id, removals, schema.fewest_changes(next_id)),
            )
            if has_vectors and not self._misplaced:
                self._take_vectors(source)
        rebuilding.rebuild(self._conn, lambda done: self._on_progress(f"making the indexes: {done:,} items"))

    def _take_items(self, source: sqlite3.Connection, next_id: int, most: int) -> int:
        """Take over the items that can be read; the next row.

        Those below row 0, or from `most` on, where none can be, get new rows.
        """
        for done, (id, fp, payload) in enumerate(self._rows(source)):
            if 0 <= id < most:
                self._take_item(id, fp, payload)
                next_id = max(next_id, id + 1)
            else:
                self._misplaced.append(id)
            if done % _BATCH == 0:
                self._on_progress(f"reading the items: {done:,}")
        for id in self._misplaced:
            fp, payload = source.execute("SELECT fp, payload FROM item WHERE id = ?", (id,)).fetchone()
            self._take_item(next_id, fp, payload)
            next_id += 1
        has_lost = self.unreadable or self.lost_places
        if has_lost and self._conn.execute("SELECT 1 FROM item").fetchone() is None:
            raise Contradiction("none of its items can be read; nothing was changed; only a backup helps")
        return next_id

    def _take_item(self, id: int, fp: Any, payload: Any) -> None:
        name = fp.hex() if isinstance(fp, bytes) else f"row {id}"
        try:
            right = read_payload(payload, name).fingerprint()
        except Contradiction:
            self.unreadable.append(name)
            return
        if self._conn.execute("SELECT 1 FROM item WHERE fp = ?", (bytes.fromhex(right),)).fetchone() is not None:
            self.duplicates.append(name)
            return
        if right != name:
            self.renamed.append((name, right))
        self._conn.execute("INSERT INTO item VALUES(?, ?, ?)", (id, bytes.fromhex(right), payload))

    def _rows(self, source: sqlite3.Connection) -> Iterator[Row]:
        """The rows of `item`, ascending; from a broken page on, each by itself."""
        last = -1
        try:
            for row in source.execute("SELECT id, fp, payload FROM item ORDER BY id"):
                last = row[0]
                yield row
            return
        except sqlite3.DatabaseError:
            stop = _stop(source)
        for id in range(last + 1, stop):
            try:
                found = source.execute("SELECT id, fp, payload FROM item WHERE id = ?", (id,)).fetchone()
            except sqlite3.DatabaseError:
                self.lost_places += 1
                continue
            if found is not None:
                yield found

    def _take_vectors(self, source: sqlite3.Connection) -> None:
        for table in ("vec", "pvec"):
            found = source.execute(f"SELECT id, data FROM {table}")
            while batch := found.fetchmany(_BATCH):
                self._conn.executemany(
                    f"INSERT INTO {table} SELECT ?1, ?2 WHERE EXISTS(SELECT 1 FROM item WHERE id = ?1)", batch
                )
        row = source.execute("SELECT * FROM model").fetchone()
        if row is not None:
            self._conn.execute(f"INSERT INTO model VALUES({', '.join('?' * len(row))})", row)


def _numbers(source: sqlite3.Connection) -> tuple[int, int, int, int]:
    """Generation, next row and removals, as far as they can be read and can be, since rows are not used twice; and how
    many rows there can be.
    """
    for others in ("removals, changes", "0, 0"):  # which a file of an older layout does not count
        with contextlib.suppress(sqlite3.DatabaseError, UnicodeDecodeError):
            row = source.execute(f"SELECT generation, next_id, {others} FROM state").fetchone()
            if row is None:
                break
            generation, next_id, removals, changes = (
                number if type(number) is int and 0 <= number < schema.MOST_COUNTED else 0 for number in row
            )
            most = schema.most_rows(changes) or schema.MOST_ROWS
            return generation, next_id if next_id <= most else 0, removals, most
    return 0, 0, 0, schema.MOST_ROWS


def _stop(source: sqlite3.Connection) -> int:
    """The row after the last one of which anything is known."""
    _, stop, _, most = _numbers(source)
    for table in ("item", "fac", "head"):
        with contextlib.suppress(sqlite3.DatabaseError):
            query = f"SELECT max(id) FROM {table} WHERE id < ?"
            stop = max(stop, (source.execute(query, (most,)).fetchone()[0] or 0) + 1)
    return stop
