"""Making anew what is derived from the items: fields, strings, words, columns, and the signs of their vectors."""

from __future__ import annotations

import secrets
import sqlite3
from collections.abc import Callable

from explorer.engines.sqlite import facts, segments, vectors, words
from explorer.engines.sqlite.facts import Facts
from explorer.engines.sqlite.payloads import read_payload
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.tokens import index_terms

_BATCH = 500

_DERIVED = ("fac", "dict", "head", "run", "post", "cols", "gone")


def rebuild(conn: sqlite3.Connection, on_item: Callable[[int], None] | None = None) -> None:
    """Derive all from the rows of `item` and `vec`, in the caller's transaction; `on_item` is told how many are done.

    Other processes that have the file open read it anew. Raises Contradiction for an item that cannot be read.
    """
    for table in _DERIVED:
        conn.execute(f"DELETE FROM {table}")
    conn.execute("UPDATE field SET next_code = 1")
    next_id = State.read(conn).next_id
    conn.execute(
        "UPDATE state SET uid = ?, generation = generation + 1, log_floor = generation + 1, traces = generation + 1,"
        " changes = changes + 1, swept = 0, sealed_below = 0, next_id = 0",
        (secrets.token_bytes(8),),
    )
    done = 0
    last = -1
    while rows := conn.execute(
        "SELECT id, fp, payload FROM item WHERE id > ? ORDER BY id LIMIT ?", (last, _BATCH)
    ).fetchall():
        made = []
        for id, fp, payload in rows:
            item = read_payload(payload, fp.hex())
            made.append((id, Facts.of(item), index_terms(item.render_text(), item.meta.language)))
        facts.insert(conn, [(id, facts_of, terms.length, len(terms.counts)) for id, facts_of, terms in made])
        words.insert(conn, [(id, terms) for id, _, terms in made])
        last = rows[-1][0]
        # As far as the items are there, so that the words of one run at a time wait to be sealed.
        _settle(conn, last + 1)
        done += len(rows)
        if on_item is not None:
            on_item(done)
    _settle(conn, next_id)
    vectors.rebuild(conn)


def _settle(conn: sqlite3.Connection, next_id: int) -> None:
    conn.execute("UPDATE state SET next_id = ?", (next_id,))
    while words.step(conn) or segments.step(conn):
        pass
