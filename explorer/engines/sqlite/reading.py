"""What the file says, as the contract's answers. Each method reads one snapshot, through a connection handed in."""

from __future__ import annotations

import re
import sqlite3
import threading
from collections import OrderedDict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import TypeVar

from explorer.contract import (
    Citation,
    EraseRequest,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    Facet,
    FetchPage,
    FetchRequest,
    GetRequest,
    Hit,
    ItemId,
    ListPage,
    ListRequest,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
    admitted_by,
)
from explorer.engines.sqlite import cursors, facets, recall
from explorer.engines.sqlite.columns import Columns
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import Field
from explorer.engines.sqlite.filters import Filters, canonical
from explorer.engines.sqlite.order import NewestFirst
from explorer.engines.sqlite.payloads import Item, read_payload
from explorer.engines.sqlite.search import KeywordSearch, Ranking
from explorer.engines.sqlite.tokens import parse_query

T = TypeVar("T")
Listed = list[T]  # `Reading.list` hides the built-in of that name inside the class body

_ID = re.compile(r"[0-9a-f]{40}")
_KEPT_RANKINGS = 8

MODEL = "sqlite"


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erase takes: rows, ascending, and the number of distinct pairs of node and kind among them."""

    rows: list[int]
    scopes: int


class Reading:
    """Reads through the mirror of one file. Threads may share it: each call holds it to itself.

    Raises sqlite3.Error, which the caller translates.
    """

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._columns = Columns()
        self._filters = Filters(self._columns)
        self._order = NewestFirst(self._columns)
        self._search = KeywordSearch(self._columns)
        self._rankings: OrderedDict[tuple[str, int], Ranking] = OrderedDict()

    def reset(self) -> None:
        """Drop what was read so far: the next call may read another file."""
        with self._lock:
            self._columns.clear()
            self._search.postings.clear()
            self._rankings.clear()

    def list(self, conn: sqlite3.Connection, req: ListRequest) -> ListPage:
        found, next_cursor = self._page(conn, req)
        return ListPage(items=[Hit.of_item(id, item) for id, item in found], next_cursor=next_cursor)

    def export(self, conn: sqlite3.Connection, req: ListRequest) -> ExportPage:
        found, next_cursor = self._page(conn, req)
        return ExportPage(items=[Exported(id=id, item=item) for id, item in found], next_cursor=next_cursor)

    def explore(self, conn: sqlite3.Connection, reqs: Sequence[ExploreRequest]) -> Listed[ExplorePage]:
        """One page per request, in order; requests of one filter share its selection."""
        with self._lock:
            self._columns.sync(conn)
            pages, filter, selection = [], None, None
            for req in reqs:
                if selection is None or req.filter != filter:
                    filter, selection = req.filter, self._filters.select(conn, req.filter)
                pages.append(facets.explore(self._columns, selection, req.facet, req.limit))
            return pages

    def namespaces(self, conn: sqlite3.Connection, filter: MetaFilter) -> ExplorePage:
        with self._lock:
            self._columns.sync(conn)
            selection = self._filters.select_everywhere(conn, filter)
            return facets.explore(self._columns, selection, Facet.NAMESPACE, None)

    def get(self, conn: sqlite3.Connection, req: GetRequest) -> Listed[Exported]:
        found = []
        for id in dict.fromkeys(req.ids):
            row = _row_of(conn, id)
            if row is not None:
                _, item = _load(conn, row)
                if admitted_by(req.reach, item.meta.namespace):
                    found.append(Exported(id=id, item=item))
        return found

    def fetch(self, conn: sqlite3.Connection, req: FetchRequest) -> FetchPage:
        question = f"{req.mode} {req.query!r} {req.refers_to!r} {canonical(req.filter)}"
        generation, place = (None, None) if req.cursor is None else cursors.read_rank(question, req.cursor)
        with self._lock:
            self._sync_words(conn)
            mask = self._filters.select(conn, req.filter).mask
            if generation is None:
                generation = self._columns.generation
            ranking = self._rankings.get((question, generation))
            if ranking is None:
                # Of a generation that is gone: its scores were a little other ones, so the place is near, not exact.
                generation = self._columns.generation
                ranking = self._search.rank(
                    conn, parse_query(req.query), mask, lambda row: _text(conn, row), req.refers_to
                )
            limit = min(req.limit, self._columns.rows)
            places = ranking.after(place, limit + 1, mask)
            if len(places) > limit:
                self._keep((question, generation), ranking)
        hits = []
        for found in places[:limit]:
            id, item = _load(conn, found.row)
            hits.append(Hit.of_item(id, item, found.score))
        if len(places) <= limit:
            return FetchPage(hits=hits)
        return FetchPage(hits=hits, next_cursor=cursors.write_rank(question, generation, places[limit - 1]))

    def _keep(self, key: tuple[str, int], ranking: Ranking) -> None:
        """Remember a ranking that goes on: its next pages come from it, whatever came or went meanwhile."""
        self._rankings[key] = ranking
        self._rankings.move_to_end(key)
        if len(self._rankings) > _KEPT_RANKINGS:
            self._rankings.popitem(last=False)

    def recall(self, conn: sqlite3.Connection, req: RecallRequest) -> RecallAnswer:
        query = recall.content_query(req.question)
        citations, quotes = [], []
        with self._lock:
            self._sync_words(conn)
            selection = self._filters.select(conn, req.filter)
            ranking = self._search.rank(conn, query, selection.mask, lambda row: _text(conn, row), req.refers_to)
            places = ranking.after(None, min(req.limit, self._columns.rows))
            weights = self._search.weights(conn, query)
        for place in places:
            id, item = _load(conn, place.row)
            quote = recall.quote(item.render_text(), weights)
            quotes.append(quote)
            citations.append(
                Citation(id=id, kind=item.item_kind, snippet=quote.text, meta=item.meta, score=place.score)
            )
        return RecallAnswer(answer=recall.compose(quotes), citations=citations, model=MODEL)

    def rows_of(self, conn: sqlite3.Connection, ids: Iterable[ItemId]) -> Sequence[int]:
        """The rows of the ids that are held, ascending."""
        return sorted({row for id in ids if (row := _row_of(conn, id)) is not None})

    def rows_matching(self, conn: sqlite3.Connection, filter: MetaFilter) -> Sequence[int]:
        """The rows that a filter admits, ascending."""
        with self._lock:
            self._columns.sync(conn)
            rows: Sequence[int] = self._filters.select(conn, filter).rows.tolist()
            return rows

    def erasure(self, conn: sqlite3.Connection, req: EraseRequest) -> Erasure:
        with self._lock:
            columns = self._columns
            columns.sync(conn)
            rows = self._filters.erased_by(req.reach, req.kinds, everything=req.is_whole_tree)
            nodes = columns.codes[Field.NAMESPACE].values[rows].tolist()
            kinds = columns.codes[Field.KIND].values[rows].tolist()
            return Erasure(rows.tolist(), len(set(zip(nodes, kinds, strict=True))))

    def _page(self, conn: sqlite3.Connection, req: ListRequest) -> tuple[Sequence[tuple[ItemId, Item]], str | None]:
        question = canonical(req.filter)
        after = None if req.cursor is None else cursors.read_list(question, req.cursor)
        with self._lock:
            self._columns.sync(conn)
            limit = min(req.limit, self._columns.rows)
            rows = self._order.page(self._filters.select(conn, req.filter).mask, after, limit + 1)
            last = self._order.place(rows[limit - 1]) if len(rows) > limit else None
        return [_load(conn, row) for row in rows[:limit]], None if last is None else cursors.write_list(question, last)

    def _sync_words(self, conn: sqlite3.Connection) -> None:
        self._search.postings.sync(conn, self._columns.sync(conn))


def _row_of(conn: sqlite3.Connection, id: ItemId) -> int | None:
    if not _ID.fullmatch(id):
        return None  # no item of this engine has such an id
    row = conn.execute("SELECT id FROM item WHERE fp = ?", (bytes.fromhex(id),)).fetchone()
    return None if row is None else int(row[0])


def _load(conn: sqlite3.Connection, row: int) -> tuple[ItemId, Item]:
    found = conn.execute("SELECT fp, payload FROM item WHERE id = ?", (row,)).fetchone()
    if found is None:
        raise Contradiction(f"item {row} has fields but no content")
    id = ItemId(found[0].hex())
    return id, read_payload(found[1], id)


def _text(conn: sqlite3.Connection, row: int) -> str:
    return _load(conn, row)[1].render_text()
