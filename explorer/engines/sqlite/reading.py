"""What the file says, as the contract's answers. Each method reads one snapshot, through a connection handed in."""

from __future__ import annotations

import re
import sqlite3
import threading
import time
import zlib
from collections import OrderedDict
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from itertools import groupby, islice
from typing import TypeVar

import numpy as np

from explorer.contract import (
    Changes,
    Citation,
    EraseRequest,
    ExplainedHit,
    ExplainedPage,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    Facet,
    FetchMode,
    FetchPage,
    FetchRequest,
    GetRequest,
    Histogram,
    HistogramRequest,
    Hit,
    ItemId,
    ItemKind,
    ListPage,
    ListRequest,
    MetaFilter,
    Passage,
    RecallAnswer,
    RecallRequest,
    Span,
    SpanRequest,
    WeightProfile,
    admitted_by,
)
from explorer.engines.sqlite import broad, cursors, facets, recall, timeline
from explorer.engines.sqlite.columns import Columns, Mask
from explorer.engines.sqlite.cursors import RankPlace
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import Field
from explorer.engines.sqlite.filters import Filters, Selection, canonical
from explorer.engines.sqlite.listings import Listings
from explorer.engines.sqlite.nearest import VectorIndex
from explorer.engines.sqlite.order import NewestFirst
from explorer.engines.sqlite.payloads import Item, read_payload
from explorer.engines.sqlite.ranking import Question, Ranker, Ranking
from explorer.engines.sqlite.recall import Quote
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.search import KeywordSearch
from explorer.engines.sqlite.tokens import parse_query, spaced
from explorer.engines.sqlite.vectors import Vector

T = TypeVar("T")
Listed = list[T]  # `Reading.list` hides the built-in of that name inside the class body

_ID = re.compile(r"[0-9a-f]{40}")
_KEPT_RANKINGS = 8
_KEPT_PLACES = 10_000
"""Places of a kept ranking, of some 25 bytes each. Pages beyond them go on as those of a forgotten ranking do."""
_MISSED = 2_000
"""Items that only seem to be hits, and as many characters as `_MISSED_CHARS`, after which a page ends though it is not
full; its cursor goes on."""
_MISSED_CHARS = 20_000_000

_LOOKED_AT = 200
"""Items in which answers to the parts of a broad question are looked for: so many of the best, and of the newest."""
_WHOLE = 0.999

MODEL = "sqlite"


@dataclass(frozen=True, slots=True)
class Erasure:
    """What an erase takes: rows, ascending, and the number of distinct pairs of node and kind among them."""

    rows: list[int]
    scopes: int
    has_orphans: bool
    """Whether the file holds items without fields, or fields without an item: nobody knows what those belong to."""


@dataclass(frozen=True, slots=True)
class Coverage:
    """How many items search by meaning knows."""

    items: int
    with_vector: int
    """Items whose vectors were made, those included that have none for want of meaning."""
    new: int
    """Items without, stored since the last that got one."""


@dataclass(frozen=True, slots=True)
class Meaning:
    """What is known of the meaning of a query."""

    vector: Vector | None = None
    failure: str | None = None
    """Why a hybrid read has no vector, without a full stop."""
    behind: str | None = None
    """What keeps items from getting vectors, without a full stop."""


@dataclass(frozen=True, slots=True)
class _Found:
    place: RankPlace
    id: ItemId
    item: Item


@dataclass(frozen=True, slots=True)
class _RankedPage:
    ranking: Ranking
    mask: Mask
    found: Listed[_Found]
    next_cursor: str | None


class _Loaded:
    """Items that a ranking looks at, so that those of its page are not read twice."""

    def __init__(self, conn: sqlite3.Connection) -> None:
        self.conn = conn
        self._items: dict[int, tuple[ItemId, Item]] = {}

    def look_at(self, row: int) -> Item:
        if row not in self._items:
            self._items[row] = _load(self.conn, row)
        return self._items[row][1]

    def take(self, row: int) -> tuple[ItemId, Item]:
        """Id and item, of which nothing is remembered then."""
        return self._items.pop(row, None) or _load(self.conn, row)


class Reading:
    """Reads through the mirror of one file. Threads may share it: each call holds it to itself.

    Raises sqlite3.Error, which the caller translates.
    """

    def __init__(
        self,
        model: str | None = None,
        profile: WeightProfile | None = None,
        clock: Callable[[], float] = time.time,
    ) -> None:
        """`model`: the name of the embedder whose vectors count; None for search by words alone.

        `profile` weighs hybrid reads, None for the engine's own weights; `clock` gives the seconds since 1970.
        """
        self._clock = clock
        self._lock = threading.Lock()
        self._columns = Columns()
        self._filters = Filters(self._columns)
        self._order = NewestFirst(self._columns)
        self._listings = Listings(self._columns, self._order)
        self._search = KeywordSearch(self._columns)
        self._vectors = VectorIndex(model)
        self._ranker = Ranker(self._columns, self._search, self._vectors, profile)
        self._coverage: tuple[object, Coverage] = (None, Coverage(0, 0, 0))
        self._rankings: OrderedDict[tuple[bytes, int], Ranking] = OrderedDict()  # without the words
        self._epoch = self._columns.epoch

    def reset(self) -> None:
        """Drop what was read so far: the next call may read another file."""
        with self._lock:
            self._columns.clear()
            self._search.postings.clear()
            self._vectors.clear()
            self._rankings.clear()

    def coverage(self, conn: sqlite3.Connection) -> Coverage:
        with self._lock:
            self._vectors.sync(conn, self._sync(conn))
            version = (self._columns.version, self._vectors.version)
            if self._coverage[0] != version:
                ranges, alive = self._vectors.ranges, self._columns.alive.values
                covered = sum(int(np.count_nonzero(alive[first:stop])) for first, stop in ranges)
                new = int(np.count_nonzero(alive[self._vectors.top :]))
                self._coverage = (version, Coverage(int(np.count_nonzero(alive)), covered, new))
            return self._coverage[1]

    def list(self, conn: sqlite3.Connection, req: ListRequest) -> ListPage:
        found, next_cursor = self._page(conn, req)
        return ListPage(items=[Hit.of_item(id, item) for id, item in found], next_cursor=next_cursor)

    def span(self, conn: sqlite3.Connection, req: SpanRequest) -> Span:
        with self._lock:
            self._columns.sync(conn)
            selection = self._filters.select(conn, req.filter)
            listing = self._listings.find(conn, f"{req.order!r} {canonical(req.filter)}", selection, req)
            rows = self._listings.rows(conn, listing, req.offset, req.limit)
            alive = self._columns.alive.values
            at = None if req.place_of is None else _row_of(conn, req.place_of)
            place = None if at is None else self._listings.place(conn, listing, at)
            is_held = [bool(alive[row]) for row in rows]
        items = [Hit.of_item(*_load(conn, row)) if held else None for row, held in zip(rows, is_held, strict=True)]
        return Span(items=items, total=listing.selection.total, listing=listing.name, place=place)

    def export(self, conn: sqlite3.Connection, req: ListRequest) -> ExportPage:
        found, next_cursor = self._page(conn, req)
        return ExportPage(items=[Exported(id=id, item=item) for id, item in found], next_cursor=next_cursor)

    def explore(self, conn: sqlite3.Connection, reqs: Sequence[ExploreRequest]) -> Listed[ExplorePage]:
        """One page per request, in order; requests of one filter share its selection."""
        with self._lock:
            self._columns.sync(conn)
            pages = []
            for filter, group in groupby(reqs, lambda req: req.filter):
                wanted = [(req.facet, req.limit) for req in group]
                pages += facets.explore(conn, self._columns, self._filters.select(conn, filter), wanted)
            return pages

    def namespaces(self, conn: sqlite3.Connection, filter: MetaFilter) -> ExplorePage:
        with self._lock:
            self._columns.sync(conn)
            selection = self._filters.select_everywhere(conn, filter)
            (page,) = facets.explore(conn, self._columns, selection, [(Facet.NAMESPACE, None)])
            return page

    def histogram(self, conn: sqlite3.Connection, req: HistogramRequest) -> Histogram:
        with self._lock:
            self._columns.sync(conn)
            return timeline.histogram(self._columns, self._filters.select(conn, req.filter), req)

    def changes(self, conn: sqlite3.Connection, filter: MetaFilter, since: str | None) -> Changes:
        """As `MemoryEngine.changes`. A mark is the file's uid, its generation and the next arrival number."""
        with self._lock:
            state = self._columns.sync(conn)
            selection = self._filters.select(conn, filter)
            uid, _, first = since.split(".") if since else ("", "", "0")
            added = int(np.count_nonzero(selection.mask[int(first) :])) if uid == state.uid.hex() else None
            mark = f"{state.uid.hex()}.{state.generation}.{state.next_id}"
            return Changes(mark=mark, total=selection.total, added=added)

    def get(self, conn: sqlite3.Connection, req: GetRequest) -> Listed[Exported]:
        found = []
        for id in dict.fromkeys(req.ids):
            row = _row_of(conn, id)
            if row is not None:
                _, item = _load(conn, row)
                if admitted_by(req.reach, item.meta.namespace):
                    found.append(Exported(id=id, item=item))
        return found

    def fetch(self, conn: sqlite3.Connection, req: FetchRequest, meaning: Meaning) -> FetchPage:
        with self._lock:
            page = self._ranked(conn, req, meaning)
        hits = [Hit.of_item(found.id, found.item, found.place.score) for found in page.found]
        return FetchPage(hits=hits, next_cursor=page.next_cursor)

    def explain(self, conn: sqlite3.Connection, req: FetchRequest, meaning: Meaning) -> ExplainedPage:
        """The page that `fetch` gives, with the parts of each score."""
        with self._lock:
            page = self._ranked(conn, req, meaning)
            question = _question(req, meaning)
            sought = self._ranker.sought(conn, question.query, question.phrase)
            hits = []
            for found in page.found:
                span = self._ranker.span(conn, found.place.row, found.item, question, sought)
                hits.append(
                    ExplainedHit(
                        hit=Hit.of_item(found.id, found.item, found.place.score),
                        breakdown=page.ranking.breakdown(found.place, found.item.meta.observed_at),
                        passage=None if span is None else Passage(start=span[0], stop=span[1]),
                    )
                )
            notes = self._notes(req, page.mask, meaning)
        return ExplainedPage(hits=hits, next_cursor=page.next_cursor, profile=page.ranking.weights, notes=notes)

    def _ranked(self, conn: sqlite3.Connection, req: FetchRequest, meaning: Meaning) -> _RankedPage:
        question = f"{req.mode} {req.query!r} {req.refers_to!r} {canonical(req.filter)}"
        number, place = (None, None) if req.cursor is None else cursors.read_rank(question, req.cursor)
        self._sync_search(conn)
        mask = self._filters.select(conn, req.filter).mask
        asked = _question(req, meaning)
        limit = min(req.limit, self._columns.rows)
        loaded = _Loaded(conn)
        ranking = None if number is None else self._rankings.get((cursors.digest(question), number))
        page = None if ranking is None else self._filled(loaded, asked, ranking, place, limit, mask)
        kept = None
        if number is None or ranking is None or page is None:
            # One that was forgotten had a little other scores, so the place in its successor is near, not exact.
            state = (self._columns.version, None if meaning.vector is None else self._vectors.version)
            number = zlib.crc32(repr(state).encode())
            ranking = self._rank(loaded, asked, mask)
            kept = ranking.cut(_KEPT_PLACES)
            if place is None:  # the first page is soonest found among what is kept
                page = self._filled(loaded, asked, kept, None, limit, None)
            if page is None:
                page = self._filled(loaded, asked, ranking, place, limit, None)
                assert page is not None  # as this ranking is whole
        found, last = page
        next_cursor = None
        if last is not None:
            self._keep((cursors.digest(question), number), kept or ranking)
            next_cursor = cursors.write_rank(question, number, last)
        return _RankedPage(ranking, mask, found, next_cursor)

    def _filled(
        self,
        loaded: _Loaded,
        question: Question,
        ranking: Ranking,
        place: RankPlace | None,
        limit: int,
        among: Mask | None,
    ) -> tuple[Listed[_Found], RankPlace | None] | None:
        """The hits of a page that comes after `place`, and the place that the next page comes after, if there is one.

        None where the ranking was cut and does not reach as far. `among`: the rows that count, None for all.
        """
        found: Listed[_Found] = []
        sought = None
        if ranking.has_seeming:
            sought = self._ranker.sought(loaded.conn, question.query, question.phrase)
        missed = chars = 0
        count = limit + 1
        while True:
            places = ranking.after(place, count, among)
            for place in places:
                if len(found) == limit and (sought is None or not ranking.is_seeming(place)):
                    return found, found[-1].place
                id, item = loaded.take(place.row)
                if sought is None or not ranking.is_seeming(place) or sought.holds_run(item):
                    if len(found) == limit:
                        return found, found[-1].place
                    found.append(_Found(place, id, item))
                    continue
                missed += 1
                chars += len(item.render_text())
                if missed == _MISSED or chars > _MISSED_CHARS:
                    return found, place
            if len(places) < count:
                return None if ranking.is_cut else (found, None)
            count *= 2

    def _notes(self, req: FetchRequest, mask: Mask, meaning: Meaning) -> Listed[str]:
        """What kept a ranking from being whole."""
        if req.mode is FetchMode.KEYWORD:
            return []
        if meaning.failure is not None:
            return [f"the vector part failed: {meaning.failure}; ranked by words alone"]
        items = int(np.count_nonzero(mask))
        missing = int(np.count_nonzero(mask & ~self._vectors.covered(len(mask))))
        if not missing:
            return []
        behind = "" if meaning.behind is None else f" ({meaning.behind})"
        return [f"{missing:,} of {items:,} items have no vector yet{behind}"]

    def _keep(self, key: tuple[bytes, int], ranking: Ranking) -> None:
        """Remember a ranking that goes on: its next pages come from it, whatever came or went meanwhile."""
        self._rankings[key] = ranking
        self._rankings.move_to_end(key)
        if len(self._rankings) > _KEPT_RANKINGS:
            self._rankings.popitem(last=False)

    def recall(self, conn: sqlite3.Connection, req: RecallRequest, meaning: Meaning) -> RecallAnswer:
        mode = FetchMode.KEYWORD if meaning.vector is None else FetchMode.HYBRID
        query = recall.spread(parse_query(req.question))
        question = Question(query, spaced(req.question), mode, meaning.vector, req.refers_to)
        apart = broad.taken_apart(req.question)
        with self._lock:
            self._sync_search(conn)
            loaded = _Loaded(conn)
            selection = self._filters.select(conn, req.filter)
            ranking = self._rank(loaded, question, selection.mask)
            given: Listed[tuple[_Found, Quote]] = []
            if apart is not None and apart.is_understood:
                given = self._answers_to_parts(loaded, apart, selection, ranking, req.limit)
            if not given:
                given = self._answers(loaded, question, ranking, req.limit)
            if not given and apart is not None and not apart.is_understood:
                given = self._answers_to_parts(loaded, apart, selection, ranking, req.limit)
        answer = recall.compose([quote for _, quote in given])
        if meaning.failure is not None:
            answer += f"\n\n(Searched by words alone: {meaning.failure}.)"
        citations = [_citation(found, quote) for found, quote in given]
        return RecallAnswer(answer=answer, citations=citations, model=MODEL)

    def _answers(
        self, loaded: _Loaded, question: Question, ranking: Ranking, limit: int
    ) -> Listed[tuple[_Found, Quote]]:
        """What the best items say that answers a question as a whole; in words, unless only a tool or code does."""
        sought = self._ranker.sought(loaded.conn, recall.content_of(question.query), question.phrase)
        found = []
        for place in ranking.after(None, min(limit, self._columns.rows)):
            id, item = loaded.take(place.row)
            found.append(_Found(place, id, item))
        named = recall.named_in(question.query, [one.item for one in found])
        has_vector = self._vectors.covered(self._columns.rows)
        for in_words in (True, False):
            quoted = []
            for one in found:
                # An item that waits for its vector is not far in meaning: nobody knows.
                is_known = question.vector is not None and bool(has_vector[one.place.row])
                parts = ranking.breakdown(one.place, one.item.meta.observed_at)
                similarity = parts.vector_similarity if is_known else None
                nearest = partial(self._ranker.span, loaded.conn, one.place.row, one.item, question, sought)
                quote = recall.quote(one.item, sought, similarity, named, nearest, in_words=in_words)
                if quote is not None:
                    quoted.append((one, quote))
            given = recall.answering([quote for _, quote in quoted])
            if given:
                return [quoted[number] for number in given]
        return []

    def _answers_to_parts(
        self, loaded: _Loaded, apart: broad.Broad, selection: Selection, ranking: Ranking, limit: int
    ) -> Listed[tuple[_Found, Quote]]:
        """What answers the parts of a broad question, each by itself, by turns; an item once."""
        limit = min(limit, self._columns.rows)
        ranked = ranking.after(None, _LOOKED_AT)
        newest = self._order.page(selection, None, _LOOKED_AT)
        places = {place.row: place for place in ranked}
        rows = [] if apart.is_recent else list(places)  # what is new is given newest first
        found = {}
        for row in dict.fromkeys([*rows, *newest]):
            id, item = loaded.take(row)
            found[row] = _Found(places.get(row, RankPlace(False, 0.0, row)), id, item)
        among = list(found.values())
        if apart.is_recent:
            among = _recent(among)
        aspects = dict.fromkeys(aspect for part in apart.parts for aspect in part.aspects)
        answers = [_saying(among, aspect) for aspect in aspects]
        for part in apart.parts:
            if not part.aspects:
                answers.append(iter(self._answers_to_part(loaded, part, selection.mask, limit)))
        return recall.by_turns(answers, limit, lambda one: one.id)

    def _answers_to_part(
        self, loaded: _Loaded, part: broad.Part, mask: Mask, limit: int
    ) -> Listed[tuple[_Found, Quote]]:
        """What holds nearly all words of a part, and all of what the question is about."""
        query = recall.spread(parse_query(part.text))
        question = Question(query, spaced(part.text), FetchMode.KEYWORD, None, None)
        answers = self._answers(loaded, question, self._rank(loaded, question, mask), limit)
        about = self._ranker.sought(loaded.conn, parse_query(part.subject), spaced(part.subject))
        return [
            (one, quote)
            for one, quote in answers
            if quote.share >= recall.BY_WORDS_ALONE
            and (not part.subject or about.shares(one.item, [quote.best.span])[0] > _WHOLE)
        ]

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
            rows = self._filters.erased_by(conn, req.reach, req.kinds, everything=req.is_whole_tree)
            nodes = columns.codes[Field.NAMESPACE].values[rows].tolist()
            kinds = columns.codes[Field.KIND].values[rows].tolist()
            # Not row by row, which would take as long as reading all.
            (held,) = conn.execute("SELECT count(*) FROM item").fetchone()
            (first,) = conn.execute("SELECT min(id) FROM item").fetchone()
            has_orphans = held != columns.living or (first or 0) < 0
            return Erasure(rows.tolist(), len(set(zip(nodes, kinds, strict=True))), has_orphans)

    def _page(self, conn: sqlite3.Connection, req: ListRequest) -> tuple[Sequence[tuple[ItemId, Item]], str | None]:
        question = canonical(req.filter)
        after = None if req.cursor is None else cursors.read_list(question, req.cursor)
        with self._lock:
            self._columns.sync(conn)
            limit = min(req.limit, self._columns.rows)
            rows = self._order.page(self._filters.select(conn, req.filter), after, limit + 1)
            last = self._order.place(rows[limit - 1]) if len(rows) > limit else None
        return [_load(conn, row) for row in rows[:limit]], None if last is None else cursors.write_list(question, last)

    def _rank(self, loaded: _Loaded, question: Question, mask: Mask) -> Ranking:
        return self._ranker.rank(loaded.conn, question, mask, loaded.look_at, self._clock())

    def _sync_search(self, conn: sqlite3.Connection) -> None:
        state = self._sync(conn)
        self._search.postings.sync(conn, state)
        self._vectors.sync(conn, state)

    def _sync(self, conn: sqlite3.Connection) -> State:
        state = self._columns.sync(conn)
        if self._columns.epoch != self._epoch:  # perhaps another file, or this one as it was: what is numbered alike
            self._search.postings.clear()
            self._vectors.clear()
            self._epoch = self._columns.epoch
        return state


def _saying(among: Sequence[_Found], aspect: broad.Aspect) -> Iterator[tuple[_Found, Quote]]:
    """The items that say something of an aspect, each with the first that it says; learnings first."""
    for one in sorted(among, key=lambda one: one.item.item_kind is not ItemKind.LEARNING):
        for span in islice(broad.saying(one.item, aspect), 1):
            yield one, recall.quote_at(one.item, span)
    told = set()
    for one in among if aspect.has_places else ():
        where = broad.place_of(one.item)
        if where is not None and where not in told and (first := recall.first_in_words(one.item)) is not None:
            told.add(where)
            yield one, recall.quote_at(one.item, first, where)


def _recent(among: Sequence[_Found]) -> Listed[_Found]:
    """Those of the last days of their own time."""
    days = [one.item.meta.observed_at for one in among]
    newest = max((day.date() for day in days if day is not None), default=None)
    return [
        one
        for one, day in zip(among, days, strict=True)
        if newest is not None and day is not None and newest - day.date() <= broad.RECENT
    ]


def _citation(found: _Found, quote: Quote) -> Citation:
    start, stop = quote.best.span
    return Citation(
        id=found.id,
        kind=found.item.item_kind,
        snippet=quote.best.text,
        meta=found.item.meta,
        score=found.place.score,
        place=Passage(start=start, stop=stop),
        further=[statement.text for statement in quote.statements[1:]],
    )


def _question(req: FetchRequest, meaning: Meaning) -> Question:
    query = parse_query(req.query if req.mode is not FetchMode.VECTOR else "")
    return Question(query, spaced(req.query), req.mode, meaning.vector, req.refers_to)


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
