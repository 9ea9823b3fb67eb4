"""Which rows a filter admits, by look-up tables over the dictionaries instead of over the items.

Says the same as `MetaFilter.matches`, which the tests hold it against.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable, Sequence

import numpy as np

from explorer.contract import InvalidRequest, ItemKind, MetaFilter, Namespace, Reach, admitted_by, redacted_id
from explorer.engines.sqlite.columns import Columns, Mask, Rows, no_string
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.fields import MISSING, UNDATED, Field, split_time, turns_text
from explorer.engines.sqlite.segments import Array

_KEPT = 16  # selections; one takes a bit a row

_EQUAL = {
    Field.WORKSPACE: "workspace",
    Field.LANGUAGE: "language",
    Field.REPO: "repo",
    Field.COMMIT: "commit",
    Field.URL: "url",
    Field.TOOL_CALL: "tool_call",
}
_SAME_ID = {Field.THREAD: "thread_id", Field.AGENT: "agent_id", Field.SOURCE_ID: "source_id"}
_BELOW_PATH = {Field.FOLDER: "folder", Field.FILE_PATH: "file_path"}
_PIECE = 1 << 16
"""Codes that are looked up at once: they are widened first."""
_SPARSE = 8
"""One row in so many left: from there on, only the rows left are looked at."""


class Selection:
    """The rows that a filter admits at one version of the columns, kept as bits."""

    def __init__(self, mask: Mask) -> None:
        self._size = len(mask)
        self._bits = np.packbits(mask)
        self.total = int(np.count_nonzero(mask))

    @property
    def mask(self) -> Mask:
        """Whether each row is admitted; unpacked at each call."""
        return np.unpackbits(self._bits, count=self._size).view(np.bool_)

    @property
    def rows(self) -> Rows:
        """The rows admitted, ascending; made at each call."""
        return np.flatnonzero(self.mask)


def canonical(filter: MetaFilter) -> str:
    """One text for all filters that mean the same by their form: the default reach spelled out, lists as sets."""
    return filter.model_copy(
        update={
            "reach": filter.reach or Reach.subtree(Namespace.ROOT),
            "kinds": sorted(set(filter.kinds)),
            "sources": sorted(set(filter.sources)),
            "tags_any": sorted(set(filter.tags_any)),
        }
    ).model_dump_json()


class Filters:
    """Selections of the filters used last, kept while the columns stay as they are."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._version: tuple[bytes, int] = (b"", -1)
        self._kept: OrderedDict[str, Selection] = OrderedDict()
        self._nodes = _Nodes(columns)

    def select(self, conn: sqlite3.Connection, filter: MetaFilter) -> Selection:
        """The rows that `filter` admits."""
        return self._kept_or(canonical(filter), lambda: self._mask(conn, filter))

    def select_everywhere(self, conn: sqlite3.Connection, filter: MetaFilter) -> Selection:
        """As `select`, whatever node an item is at."""
        key = "everywhere " + canonical(filter.model_copy(update={"reach": None}))
        return self._kept_or(key, lambda: self._mask(conn, filter, is_confined=False))

    def erased_by(self, conn: sqlite3.Connection, reach: Reach, kinds: list[ItemKind], *, everything: bool) -> Rows:
        """The rows that an erase takes: `kinds` (all when empty) at the nodes of `reach`, or everything."""
        left = _Left(self._columns, conn)
        if not everything:
            self._nodes.confine(left, reach.model_copy(update={"inherit": False}))
            if kinds:
                left.keep_values(Field.KIND, [kind.value for kind in kinds])
        return left.rows()

    def _kept_or(self, key: str, mask: Callable[[], Mask]) -> Selection:
        if self._version != self._columns.version:
            self._kept.clear()
            self._version = self._columns.version
        selection = self._kept.get(key)
        if selection is None:
            selection = self._kept[key] = Selection(mask())
            if len(self._kept) > _KEPT:
                self._kept.popitem(last=False)
        self._kept.move_to_end(key)
        return selection

    def _mask(self, conn: sqlite3.Connection, filter: MetaFilter, *, is_confined: bool = True) -> Mask:
        """Comparisons of single codes first, look-ups then, tags last: each looks only at what the others left."""
        left = _Left(self._columns, conn)
        for field, name in _EQUAL.items():
            wanted = getattr(filter, name)
            if wanted is not None:
                left.keep_values(field, [wanted])
        if filter.turns is not None:
            left.keep_values(Field.TURNS, [turns_text(filter.turns)])
        for field, name in _SAME_ID.items():
            wanted = getattr(filter, name)
            if wanted is not None:
                left.keep_values(field, [wanted, redacted_id(wanted)])
        for field, kinds in ((Field.KIND, filter.kinds), (Field.SOURCE, filter.sources)):
            if kinds:
                left.keep_values(field, [kind.value for kind in kinds])
        left.keep_window(filter)
        for field, name in _BELOW_PATH.items():
            wanted = getattr(filter, name)
            if wanted is not None:
                left.keep_below(field, wanted)
        if is_confined:
            self._nodes.confine(left, filter.reach)
        if filter.tags_any:
            left.keep_tagged(filter.tags_any)
        return left.mask()


class _Left:
    """The rows that passed every condition so far: a mask over all, or, once they are few, a list."""

    def __init__(self, columns: Columns, conn: sqlite3.Connection) -> None:
        self.conn = conn
        self._columns = columns
        self._mask: Mask = columns.alive.values.copy()
        self._rows: Rows | None = None

    def of(self, column: Array) -> Array:
        """What a column holds in the rows that are left."""
        return column if self._rows is None else column.take(self._rows)

    def keep(self, is_kept: Mask) -> None:
        """Leave out, of the rows that are left, those that do not pass."""
        if self._rows is not None:
            self._rows = self._rows.compress(is_kept)  # numpy's own way to choose takes several times as long
            return
        self._mask &= is_kept
        if np.count_nonzero(self._mask) * _SPARSE < len(self._mask):
            self._rows = np.flatnonzero(self._mask)

    def rows(self) -> Rows:
        return np.flatnonzero(self._mask) if self._rows is None else self._rows

    def mask(self) -> Mask:
        if self._rows is not None:
            self._mask = np.zeros(len(self._mask), np.bool_)
            self._mask[self._rows] = True
        return self._mask

    def keep_values(self, field: Field, values: Sequence[str]) -> None:
        """Leave out what has none of `values`."""
        self._keep_codes(field, self._codes(field, values))

    def keep_below(self, field: Field, path: str) -> None:
        """Leave out what neither is `path` nor lies below it."""
        base = path.rstrip("/")
        below = self._columns.dictionaries[field].below(self.conn, base)
        self._keep_codes(field, np.concatenate([self._codes(field, [path, base]), below]))

    def keep_tagged(self, values: Sequence[str]) -> None:
        """Leave out what has no tag among `values`."""
        tags = self._columns.tags
        is_wanted = _is_one_of(self._codes(Field.TAG, values), self._columns.dictionaries[Field.TAG].size)
        is_tagged = np.zeros(len(self._mask), np.bool_)
        is_tagged[tags.more_rows[is_wanted(tags.more)]] = True
        is_tagged = self.of(is_tagged)
        for column in tags.first:
            is_tagged |= is_wanted(self.of(column.values))
        self.keep(is_tagged)

    def _codes(self, field: Field, values: Sequence[str]) -> Sequence[int]:
        """MISSING for a string that no item has."""
        dictionary = self._columns.dictionaries[field]
        return [dictionary.code(self.conn, value) for value in values]

    def _keep_codes(self, field: Field, codes: Sequence[int] | Array) -> None:
        is_wanted = _is_one_of(codes, self._columns.dictionaries[field].size)
        self.keep(is_wanted(self.of(self._columns.codes[field].values)))

    def keep_window(self, filter: MetaFilter) -> None:
        after, before = filter.observed_after, filter.observed_before
        if after is not None:
            self.keep(self._is_from(*split_time(after)))
        if before is not None:
            self.keep(~self._is_from(*split_time(before)))
            self.keep(self.of(self._columns.seconds.values) != UNDATED)

    def _is_from(self, second: int, nanosecond: int) -> Mask:
        seconds = self.of(self._columns.seconds.values)
        if nanosecond == 0:
            return seconds >= second
        nanoseconds = self.of(self._columns.nanoseconds.values)
        is_from: Mask = (seconds > second) | ((seconds == second) & (nanoseconds >= nanosecond))
        return is_from


def _is_one_of(codes: Sequence[int] | Array, size: int) -> Callable[[Array], Mask]:
    """What tells of a column whether each of its codes, all below `size`, is among `codes`, and not MISSING."""
    if len(codes) == 1 and codes[0] != MISSING:
        return lambda held: held == codes[0]
    table = np.zeros(size, np.bool_)
    table[codes] = True
    table[MISSING] = False

    return lambda held: _look_up(table, held)


def _look_up(table: Mask, codes: Array) -> Mask:
    """What a table says of each of some codes, all of which it has."""
    found = np.empty(len(codes), np.bool_)
    for start in range(0, len(codes), _PIECE):
        some = slice(start, start + _PIECE)
        table.take(codes[some], out=found[some], mode="clip")  # no code is beyond; this mode needs no copy
    return found


class _Nodes:
    """The nodes by code, and which of them a reach admits."""

    def __init__(self, columns: Columns) -> None:
        self._columns = columns
        self._epoch = 0
        self._nodes: list[Namespace | None] = []
        self._admitted: dict[Reach | None, Mask] = {}

    def confine(self, left: _Left, reach: Reach | None) -> None:
        """Leave out what is at a node that `reach` does not admit."""
        self._bring_up_to_date(left.conn)
        admitted = self._admitted.get(reach)
        if admitted is None:
            if len(self._admitted) >= _KEPT:
                self._admitted.clear()
            nodes = self._nodes
            admitted = np.fromiter((node is None or admitted_by(reach, node) for node in nodes), np.bool_, len(nodes))
            self._admitted[reach] = admitted
        if not admitted.all():
            left.keep(_look_up(admitted, left.of(self._columns.codes[Field.NAMESPACE].values)))

    def _bring_up_to_date(self, conn: sqlite3.Connection) -> None:
        dictionary = self._columns.dictionaries[Field.NAMESPACE]
        if self._epoch != self._columns.epoch:
            self._epoch, self._nodes = self._columns.epoch, []
        known = len(self._nodes)
        if known == dictionary.size:
            return
        self._admitted.clear()
        nodes: list[Namespace | None] = [None] * (dictionary.size - known)
        found = conn.execute(
            "SELECT code, value FROM dict WHERE field = ? AND code >= ? AND code < ?",
            (Field.NAMESPACE, known, dictionary.size),
        )
        for code, text in found:
            try:
                nodes[code - known] = Namespace.parse(text)
            except InvalidRequest as error:
                raise Contradiction(f"it names a node that is none ({error.text})") from error
        is_used = self._columns.counts(Field.NAMESPACE)[known:] > 0
        if any(node is None and used for node, used in zip(nodes, is_used.tolist(), strict=True)):
            raise no_string(Field.NAMESPACE)
        self._nodes += nodes
