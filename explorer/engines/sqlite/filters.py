"""Which rows a filter admits, by look-up tables over the dictionaries instead of over the items.

Says the same as `MetaFilter.matches`, which the tests hold it against.
"""

from __future__ import annotations

import sqlite3
from collections import OrderedDict
from collections.abc import Callable

import numpy as np

from explorer.contract import ItemKind, MetaFilter, Namespace, Reach, admitted_by, redacted_id
from explorer.engines.sqlite.columns import Array, Columns, Mask, Rows, code_of
from explorer.engines.sqlite.fields import MISSING, UNDATED, Field, split_time, turns_text

_KEPT = 16  # selections; one takes a byte a row

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


class Selection:
    """The rows that a filter admits at one version of the columns, and what was counted over them so far."""

    def __init__(self, mask: Mask) -> None:
        self.mask = mask
        self.total = int(np.count_nonzero(mask))
        self._rows: Rows | None = None
        self._counts: dict[Field, Array] = {}

    @property
    def rows(self) -> Rows:
        """The rows admitted, ascending."""
        if self._rows is None:
            self._rows = np.flatnonzero(self.mask)
        return self._rows

    def counts(self, columns: Columns, field: Field) -> Array:
        """How often each code of a field occurs; for tags, code 0 counts the items without any."""
        counts = self._counts.get(field)
        if counts is None:
            counts = self._counts[field] = self._count(columns, field)
        return counts

    def _count(self, columns: Columns, field: Field) -> Array:
        size = len(columns.dictionaries[field])
        if field is not Field.TAG:
            codes = columns.codes[field].values
            if self.total < len(codes):
                codes = codes.take(self.rows)
            counted: Array = np.bincount(codes, minlength=size)
            return counted
        admitted = self.mask[columns.tag_rows.values]
        counts = np.bincount(columns.tag_codes.values[admitted], minlength=size)
        counts[MISSING] = self.total - np.count_nonzero(columns.is_tagged.values & self.mask)
        return counts


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

    def select(self, conn: sqlite3.Connection, filter: MetaFilter) -> Selection:
        """What `filter` admits. `conn` reads the snapshot that the columns were brought to."""
        return self._kept_or(canonical(filter), lambda: self._mask(conn, filter))

    def select_everywhere(self, conn: sqlite3.Connection, filter: MetaFilter) -> Selection:
        """As `select`, but at every node, sandboxes included, whatever the filter's reach."""
        key = "everywhere " + canonical(filter.model_copy(update={"reach": None}))
        return self._kept_or(key, lambda: self._mask(conn, filter, is_confined=False))

    def erased_by(self, reach: Reach, kinds: list[ItemKind], *, everything: bool) -> Rows:
        """The rows that an erase takes: `kinds` (all when empty) at the nodes of `reach`, or everything."""
        mask = self._columns.alive.values.copy()
        if not everything:
            self._confine(mask, reach.model_copy(update={"inherit": False}))
            self._keep_listed(mask, Field.KIND, [kind.value for kind in kinds])
        return np.flatnonzero(mask)

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
        columns = self._columns
        mask: Mask = columns.alive.values.copy()
        if is_confined:
            self._confine(mask, filter.reach)
        self._keep_listed(mask, Field.KIND, [kind.value for kind in filter.kinds])
        self._keep_listed(mask, Field.SOURCE, [kind.value for kind in filter.sources])
        for field, name in _EQUAL.items():
            wanted = getattr(filter, name)
            if wanted is not None:
                self._keep_codes(mask, field, {code_of(conn, field, wanted)})
        for field, name in _SAME_ID.items():
            wanted = getattr(filter, name)
            if wanted is not None:
                forms = {code_of(conn, field, wanted), code_of(conn, field, redacted_id(wanted))}
                self._keep_codes(mask, field, forms)
        if filter.turns is not None:
            self._keep_codes(mask, Field.TURNS, {code_of(conn, Field.TURNS, turns_text(filter.turns))})
        for field, name in _BELOW_PATH.items():
            wanted = getattr(filter, name)
            if wanted is not None:
                self._keep_below(mask, field, wanted, code_of(conn, field, wanted))
        self._keep_window(mask, filter)
        if filter.tags_any:
            self._keep_tagged(mask, {code_of(conn, Field.TAG, tag) for tag in filter.tags_any})
        return mask

    def _confine(self, mask: Mask, reach: Reach | None) -> None:
        nodes = self._columns.dictionaries[Field.NAMESPACE].namespaces()
        admitted = np.fromiter((admitted_by(reach, node) for node in nodes), np.bool_, len(nodes))
        admitted[MISSING] = False
        if not admitted[1:].all():
            mask &= admitted[self._columns.codes[Field.NAMESPACE].values]

    def _keep_listed(self, mask: Mask, field: Field, wanted: list[str]) -> None:
        if wanted:
            # These dictionaries hold a handful of values: no need to ask the file.
            values = self._columns.dictionaries[field].values
            self._keep_codes(mask, field, {code for code in range(1, len(values)) if values[code] in wanted})

    def _keep_codes(self, mask: Mask, field: Field, codes: set[int]) -> None:
        codes = codes - {MISSING}
        held = self._columns.codes[field].values
        if len(codes) == 1:
            mask &= held == next(iter(codes))
        else:
            admitted = np.zeros(len(self._columns.dictionaries[field]), np.bool_)
            admitted[list(codes)] = True
            mask &= admitted[held]

    def _keep_below(self, mask: Mask, field: Field, wanted: str, exact: int) -> None:
        base = wanted.rstrip("/")
        below = base + "/"
        values = self._columns.dictionaries[field].values
        # Unused codes read as '' and may be admitted: no living row has them.
        admitted = np.fromiter((value.startswith(below) or value == base for value in values), np.bool_, len(values))
        admitted[exact] = True
        admitted[MISSING] = False
        mask &= admitted[self._columns.codes[field].values]

    def _keep_window(self, mask: Mask, filter: MetaFilter) -> None:
        if filter.observed_after is None and filter.observed_before is None:
            return
        seconds, nanoseconds = self._columns.seconds.values, self._columns.nanoseconds.values
        mask &= seconds != UNDATED
        if filter.observed_after is not None:
            second, nanosecond = split_time(filter.observed_after)
            mask &= (seconds > second) | ((seconds == second) & (nanoseconds >= nanosecond))
        if filter.observed_before is not None:
            second, nanosecond = split_time(filter.observed_before)
            mask &= (seconds < second) | ((seconds == second) & (nanoseconds < nanosecond))

    def _keep_tagged(self, mask: Mask, codes: set[int]) -> None:
        admitted = np.zeros(len(self._columns.dictionaries[Field.TAG]), np.bool_)
        admitted[list(codes - {MISSING})] = True
        tagged = np.zeros(len(mask), np.bool_)
        tagged[self._columns.tag_rows.values[admitted[self._columns.tag_codes.values]]] = True
        mask &= tagged
