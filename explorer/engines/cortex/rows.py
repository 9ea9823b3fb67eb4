"""The items of a snapshot as columns: one row an item, each different value of a field held once.

A column is named after the filter field that looks at it. Rows are only ever added; what reads many of them at once
reads a `Table`, which stays as it is while others come.
"""

from __future__ import annotations

import json
from array import array
from collections import Counter
from collections.abc import Callable, Hashable, Iterable, Sequence
from dataclasses import dataclass, field
from datetime import date, tzinfo
from functools import cached_property, partial
from threading import Lock
from typing import Any

import numpy as np
import numpy.typing as npt

from explorer.contract import (
    Facet,
    ItemId,
    ListOrder,
    MemoryMeta,
    MetaFilter,
    Namespace,
    SortBy,
    Timestamp,
    admitted_by,
    is_path_prefix,
    is_same_id,
)
from explorer.engines.calendar import count_days
from explorer.engines.cortex.digests import digests_of
from explorer.engines.cortex.envelope import IN_LABELS, Envelope, joined_labels
from explorer.engines.cortex.wires import RawEvent

UNDATED = np.iinfo(np.int64).min
TEXT_CHARS = 600
"""How much of an item's text is kept."""

Array = npt.NDArray[Any]
Value = Hashable


# What a row holds in each column; None is no value.
_OF: dict[str, Callable[[Envelope, MemoryMeta], Value]] = {
    "reach": lambda envelope, meta: str(meta.namespace),
    "kinds": lambda envelope, meta: envelope.kind.value,
    "sources": lambda envelope, meta: meta.source.kind.value,
    "source_id": lambda envelope, meta: meta.source.id,
    "workspace": lambda envelope, meta: _hidden(meta.workspace, envelope.ws),
    "folder": lambda envelope, meta: _hidden(meta.folder, tuple(envelope.fd)),
    "file_path": lambda envelope, meta: _hidden(meta.file_path, tuple(envelope.fp)),
    "language": lambda envelope, meta: meta.language,
    "repo": lambda envelope, meta: meta.repo,
    "commit": lambda envelope, meta: meta.commit,
    "url": lambda envelope, meta: meta.url,
    "thread_id": lambda envelope, meta: meta.thread_id,
    "turns": lambda envelope, meta: None if meta.turns is None else (meta.turns.first, meta.turns.last),
    "agent_id": lambda envelope, meta: meta.agent_id,
    "tool_call": lambda envelope, meta: None if meta.tool_call is None else meta.tool_call.name,
    "tags_any": lambda envelope, meta: tuple(dict.fromkeys(meta.tags)) or None,
}
COLUMNS = tuple(_OF)


def _hidden(shown: str | None, digests: str | tuple[str, ...] | None) -> Value:
    """A field of which only digests may have been sent."""
    return (shown, digests) if shown is not None or digests else None


# Whether a value of a column, None among them, is what a condition of a filter wants.
_ADMITS: dict[str, Callable[[Any], Callable[[Any], bool]]] = {
    "reach": lambda wanted: lambda held: admitted_by(wanted, Namespace.parse(held)),
    "kinds": lambda wanted: lambda held: held in wanted,
    "sources": lambda wanted: lambda held: held in wanted,
    "workspace": lambda wanted: _is_workspace(wanted),
    "folder": lambda wanted: _is_path(wanted),
    "file_path": lambda wanted: _is_path(wanted),
    "turns": lambda wanted: lambda held: held == (wanted.first, wanted.last),
    "tags_any": lambda wanted: lambda held: held is not None and not set(wanted).isdisjoint(held),
    **dict.fromkeys(("thread_id", "agent_id", "source_id"), lambda wanted: partial(is_same_id, wanted)),
    **dict.fromkeys(("language", "repo", "commit", "url", "tool_call"), lambda wanted: lambda held: held == wanted),
}


def _is_workspace(wanted: str) -> Callable[[Any], bool]:
    digests = digests_of({wanted})
    return lambda held: held is not None and (held[1] in digests if held[1] is not None else held[0] == wanted)


def _is_path(wanted: str) -> Callable[[Any], bool]:
    digests = digests_of({wanted, wanted.rstrip("/")})
    return lambda held: held is not None and (not digests.isdisjoint(held[1]) or is_path_prefix(wanted, held[0]))


def _shown(facet: Facet, value: Any) -> tuple[str, ...]:
    """By what an item with this value of a facet's column is counted."""
    if value is None:
        return ()
    if facet is Facet.TAG:
        return tuple(value)
    if facet in (Facet.WORKSPACE, Facet.FOLDER, Facet.FILE_PATH):
        return () if value[0] is None else (value[0],)
    return (value,)


_SORTED = {SortBy.KIND: "kinds", SortBy.NODE: "reach", SortBy.AGENT: "agent_id", SortBy.SOURCE: "sources"}


class Values:
    """The different values of one column, by their codes; 0 is none. May be added to from any thread."""

    __slots__ = ("_codes", "_lock", "known")

    def __init__(self) -> None:
        self.known: list[Any] = [None]
        self._codes: dict[Value, int] = {None: 0}
        self._lock = Lock()

    def code(self, value: Value) -> int:
        found = self._codes.get(value)
        if found is None:
            with self._lock:
                found = self._codes.get(value)
                if found is None:
                    found = len(self.known)
                    self.known.append(value)
                    self._codes[value] = found  # last: who finds the code finds its value
        return found


Dictionary = dict[str, Values]
"""The values of each column, shared by all rows of a snapshot."""


def new_dictionary() -> Dictionary:
    return {name: Values() for name in COLUMNS}


@dataclass(slots=True)
class Start:
    """An event that starts an item, as it is kept."""

    event: str
    id: ItemId
    head: str
    """The envelope as JSON, its text left out."""
    text: str
    """As much of the event's text as is kept."""
    micros: int
    """Since 1970, `UNDATED` without a time, and the nanoseconds that are left over."""
    nanos: int
    codes: list[int]
    """Of what it has in each column."""

    @classmethod
    def of(cls, raw: RawEvent, envelope: Envelope, dictionary: Dictionary) -> Start:
        meta, at = envelope.meta, envelope.meta.observed_at
        micros, nanos = (UNDATED, 0) if at is None else divmod(at.unix_ns, 1000)
        # As it came, where that is JSON of its own: to write it anew takes longer than all else here.
        head = joined_labels(raw.labels) if envelope.v == IN_LABELS else None
        return cls(
            raw.id,
            ItemId(envelope.id),
            head or envelope.model_copy(update={"text": ""}).model_dump_json(),
            envelope.text[:TEXT_CHARS],
            micros,
            nanos,
            [dictionary[name].code(of(envelope, meta)) for name, of in _OF.items()],
        )


@dataclass(slots=True)
class Rows:
    """The items of one scope, in the order they were read; see `Start` for what is held of each."""

    dictionary: Dictionary
    path: str
    ids: list[ItemId] = field(default_factory=list)
    events: list[str] = field(default_factory=list)
    heads: list[str] = field(default_factory=list)
    texts: list[str] = field(default_factory=list)
    stored: array[int] = field(default_factory=lambda: array("q"))
    """What is larger came later into the scope."""
    arrived: array[int] = field(default_factory=lambda: array("q"))
    """With which version of the snapshot it came."""
    micros: array[int] = field(default_factory=lambda: array("q"))
    nanos: array[int] = field(default_factory=lambda: array("H"))
    codes: dict[str, array[int]] = field(default_factory=lambda: {name: array("I") for name in COLUMNS})

    def __len__(self) -> int:
        return len(self.ids)

    def emptied(self) -> Rows:
        return Rows(self.dictionary, self.path)

    def add(self, start: Start, stored: int) -> None:
        self.ids.append(start.id)
        self.events.append(start.event)
        self.heads.append(start.head)
        self.texts.append(start.text)
        self.stored.append(stored)
        self.arrived.append(0)
        self.micros.append(start.micros)
        self.nanos.append(start.nanos)
        for column, code in zip(self.codes.values(), start.codes, strict=True):
            column.append(code)

    def envelope(self, row: int) -> Envelope:
        """With the part of the text that is kept."""
        return Envelope.model_validate({**json.loads(self.heads[row]), "text": self.texts[row]})


class Table:
    """The rows of some scopes as they were when it was made."""

    def __init__(
        self,
        dictionary: Dictionary,
        parts: Sequence[Rows],
        *,
        is_whole: bool,
        is_cut: bool = False,
        is_merged: bool = False,
    ) -> None:
        self.is_whole = is_whole
        """Whether the scopes were read to their ends."""
        self.is_cut = is_cut
        """Whether there is more that is not read at all."""
        self._is_merged = is_merged
        """Whether one item may be in several of the scopes: then the first one counts."""
        self._dictionary = dictionary
        self._parts = list(parts)
        sizes = [len(part) for part in parts]
        self._starts = np.concatenate([[0], np.cumsum(sizes)]).astype(np.int64)
        self.size = sum(sizes)
        self._codes = {name: _joined((part.codes[name] for part in parts), np.uint32) for name in COLUMNS}
        self._micros = _joined((part.micros for part in parts), np.int64)
        self._nanos = _joined((part.nanos for part in parts), np.uint16)
        self._stored = _joined((part.stored for part in parts), np.int64)
        self._arrived = _joined((part.arrived for part in parts), np.int64)

    def row(self, number: int) -> tuple[Rows, int]:
        """Whose row it is, and which there."""
        part = int(np.searchsorted(self._starts, number, "right")) - 1
        return self._parts[part], number - int(self._starts[part])

    @cached_property
    def ids(self) -> list[ItemId]:
        return [id for part, size in zip(self._parts, np.diff(self._starts), strict=True) for id in part.ids[:size]]

    @cached_property
    def _is_first(self) -> Array:
        """False at the rows of an item that another scope has too."""
        if not self._is_merged:
            return np.ones(self.size, np.bool_)
        first = {id: row for row, id in reversed(list(enumerate(self.ids)))}
        is_first = np.zeros(self.size, np.bool_)
        is_first[list(first.values())] = True
        return is_first

    def admitted(self, filter: MetaFilter, *, everywhere: bool = False) -> Array:
        """The rows that a filter admits, ascending; `everywhere` leaves its reach aside."""
        mask = self._is_first.copy()
        for name in COLUMNS:
            condition = getattr(filter, name)
            is_open = everywhere if name == "reach" else condition in (None, [])
            if not is_open:
                admits, codes = _ADMITS[name](condition), self._codes[name]
                known = self._dictionary[name].known
                used = np.flatnonzero(np.bincount(codes))
                fits = np.zeros(len(known), np.bool_)
                fits[used] = [admits(known[code]) for code in used.tolist()]
                mask &= fits[codes]
        after, before = filter.observed_after, filter.observed_before
        if after is not None or before is not None:
            mask &= self._micros != UNDATED
        if after is not None:
            mask &= ~self._is_before(after)
        if before is not None:
            mask &= self._is_before(before)
        return np.flatnonzero(mask)

    def _is_before(self, moment: Timestamp) -> Array:
        micros, nanos = divmod(moment.unix_ns, 1000)
        is_before: Array = (self._micros < micros) | ((self._micros == micros) & (self._nanos < nanos))
        return is_before

    def counts(self, facet: Facet, rows: Array) -> tuple[Counter[str], int]:
        """How many of the rows have each value, and how many have none."""
        known = self._dictionary[facet.field].known
        found = np.bincount(self._codes[facet.field][rows], minlength=1)
        counts: Counter[str] = Counter()
        missing = 0
        for code in np.flatnonzero(found).tolist():
            values = _shown(facet, known[code])
            missing += 0 if values else int(found[code])
            for value in values:
                counts[value] += int(found[code])
        return counts, missing

    def added(self, rows: Array, since: int) -> int:
        """How many of the rows came with a later version of the snapshot."""
        return int(np.count_nonzero(self._arrived[rows] > since))

    def days(self, rows: Array, zone: tzinfo) -> tuple[dict[date, int], int]:
        """How many of the rows are of each day of a zone, and how many of none."""
        micros = self._micros[rows]
        dated = micros[micros != UNDATED]
        return count_days(dated // 1_000_000, zone), len(micros) - len(dated)

    def ordered(self, rows: Array, order: ListOrder) -> Array:
        """The rows in the order of a listing: newest first within what is alike, what has no value last."""
        newest_first = rows[np.lexsort((self._stored[rows], self._nanos[rows], self._micros[rows]))[::-1]]
        if order.by is SortBy.OBSERVED:
            if order.descending:
                return newest_first
            is_dated = self._micros[newest_first] != UNDATED
            return np.concatenate([newest_first[is_dated][::-1], newest_first[~is_dated][::-1]])
        name = _SORTED[order.by]
        used, places = np.unique(self._codes[name][newest_first], return_inverse=True)
        known = self._dictionary[name].known
        values = [known[code] for code in used.tolist()]
        if order.by is SortBy.NODE:
            values = list(map(Namespace.parse, values))  # not by text: `a/b` is before `a-1`
        in_order = sorted((at for at, value in enumerate(values) if value is not None), key=values.__getitem__)
        ranks = np.full(len(values), len(values), np.int64)
        ranks[in_order[::-1] if order.descending else in_order] = np.arange(len(in_order))
        ordered: Array = newest_first[np.argsort(ranks[places], kind="stable")]
        return ordered


def _joined(parts: Iterable[array[int]], kind: Any) -> Array:
    # Copied: an array that is looked into cannot grow.
    return np.concatenate([np.zeros(0, kind), *(np.frombuffer(part, kind) for part in parts)])
