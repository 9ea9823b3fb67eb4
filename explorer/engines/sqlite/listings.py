"""Listings that are read by place: each the rows of a selection in one order, kept as it was begun."""

from __future__ import annotations

import itertools
import secrets
import sqlite3
from collections import OrderedDict
from dataclasses import dataclass

import numpy as np

from explorer.contract import ListOrder, Namespace, SortBy, SpanRequest
from explorer.engines.sqlite.columns import Columns, Rows
from explorer.engines.sqlite.fields import MISSING, UNDATED, Field
from explorer.engines.sqlite.filters import Selection
from explorer.engines.sqlite.order import NewestFirst
from explorer.engines.sqlite.segments import Array, smallest_type

_KEPT = 4
_BEGINNING = 1_000
"""Places up to which the newest are found without sorting all."""
_FIELDS = {
    SortBy.KIND: Field.KIND,
    SortBy.NODE: Field.NAMESPACE,
    SortBy.AGENT: Field.AGENT,
    SortBy.SOURCE: Field.SOURCE,
}


@dataclass(slots=True)
class Listing:
    name: str
    question: str
    version: tuple[bytes, int]
    """Of the columns it was made from."""
    selection: Selection
    order: ListOrder
    rows: Array | None = None
    """None until more than its beginning is asked for."""


class Listings:
    """The listings used last. Rows that were removed since are still in them."""

    def __init__(self, columns: Columns, newest_first: NewestFirst) -> None:
        self._columns = columns
        self._newest_first = newest_first
        self._epoch = 0
        self._kept: OrderedDict[str, Listing] = OrderedDict()
        self._begin = secrets.token_hex(4)  # so that no name of before means one of these
        self._numbers = itertools.count()

    def find(self, conn: sqlite3.Connection, question: str, selection: Selection, req: SpanRequest) -> Listing:
        """The listing that a request names, else one of what the selection holds now.

        `question`: one text for all requests of the same filter and order.
        """
        columns = self._columns
        if self._epoch != columns.epoch:  # rows are numbered anew
            self._epoch = columns.epoch
            self._kept.clear()
        listing = self._kept.get(req.listing or "")
        if listing is None or listing.question != question:
            alike = (one for one in self._kept.values() if one.question == question and one.version == columns.version)
            listing = next(alike, None)
        if listing is None:
            name = f"{self._begin}.{next(self._numbers)}"
            listing = self._kept[name] = Listing(name, question, columns.version, selection, req.order)
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(listing.name)
        return listing

    def rows(self, conn: sqlite3.Connection, listing: Listing, offset: int, limit: int) -> list[int]:
        """The rows at the places from `offset` on; those of items that were removed since are among them."""
        is_beginning = offset + limit <= _BEGINNING and listing.order == ListOrder()
        if listing.rows is None and is_beginning and listing.version == self._columns.version:
            return self._newest_first.page(listing.selection, None, offset + limit)[offset:]  # without sorting all
        found: list[int] = self._all(conn, listing)[offset : offset + limit].tolist()
        return found

    def place(self, conn: sqlite3.Connection, listing: Listing, row: int) -> int | None:
        """Where a row stands; None where it is not in the listing."""
        found = np.flatnonzero(self._all(conn, listing) == row)
        return int(found[0]) if len(found) else None

    def _all(self, conn: sqlite3.Connection, listing: Listing) -> Array:
        if listing.rows is None:
            newest_first = self._newest_first.all(listing.selection)
            listing.rows = self._sorted(conn, newest_first, listing.order).astype(np.uint32)
        return listing.rows

    def _sorted(self, conn: sqlite3.Connection, rows: Rows, order: ListOrder) -> Rows:
        """Rows, newest first, in another order."""
        if order.by is SortBy.OBSERVED:
            if order.descending:
                return rows
            is_dated = self._columns.seconds.values[rows] != UNDATED
            return np.concatenate([rows[is_dated][::-1], rows[~is_dated][::-1]])
        field = _FIELDS[order.by]
        codes = self._columns.codes[field].values[rows]
        ranks = self._ranks(conn, field, codes)
        if order.descending:
            ranks = ranks.max(initial=0) - ranks
        keys = ranks.astype(smallest_type(len(ranks)))[codes]  # two bytes are sorted ten times faster than eight
        keys[codes == MISSING] = len(ranks)
        ordered: Rows = rows[np.argsort(keys, kind="stable")]
        return ordered

    def _ranks(self, conn: sqlite3.Connection, field: Field, codes: Array) -> Array:
        """By code, the place of its value in order."""
        dictionary = self._columns.dictionaries[field]
        if field is not Field.NAMESPACE:
            return dictionary.ranks(conn).astype(np.int64)
        used: list[int] = np.unique(codes).tolist()
        texts = dictionary.strings(conn, used)
        in_order = sorted(zip(map(Namespace.parse, texts), used, strict=True))  # not by text: `a/b` is before `a-1`
        ranks = np.zeros(dictionary.size, np.int64)
        ranks[[code for _, code in in_order]] = np.arange(len(in_order))
        return ranks
