"""Which items hold a term: the lists of the sealed runs, and the words of the items that are not sealed yet."""

from __future__ import annotations

import itertools
import sqlite3
from array import array
from bisect import bisect_left
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass

import numpy as np
import numpy.typing as npt

from explorer.engines.sqlite.columns import Mask, Rows
from explorer.engines.sqlite.failures import Contradiction
from explorer.engines.sqlite.schema import State
from explorer.engines.sqlite.tokens import STEM_MARK

Local = npt.NDArray[np.uint16]
Counts = npt.NDArray[np.uint8]
Places = npt.NDArray[np.uint32]
"""Arrival numbers, or distances from the first one of a run."""

Piece = tuple[int, Local | Places, Counts]
"""Part of the list of a term: the row that places are counted from; places, ascending; how often (at most 255)."""

HeadRow = tuple[int, str, bytes]
"""An item's words as `head` holds them: arrival number, terms with a space between, how often each occurs."""

MOST_COUNTED = 255
"""How often a term counts in an item, at most: it is held in one byte."""
_LONGER_WORDS = 64
"""Words that one prefix stands for in each run: its first ones."""
_BYTES = 3  # of one entry of a list: two of its row, one of its count
_COUNT_BITS = 8
_FIRST_BYTES = np.array([(1 << 8 * count) - 1 for count in range(9)], np.uint64)
_NO_TEXT = (1 << 64) - 1
_FIRST_FACTOR = 0x9E3779B97F4A7C15
_FACTOR_STEP = 0xC2B2AE3D27D4EB4E  # even, so that odd ones follow: these lose no bits
_LAST = "\U0010ffff"  # after every character that a term holds

# Runs have ascending numbers as they have ascending rows; one statement for all runs takes a third of one for each.
_FIND = (
    "WITH wanted(low, high) AS (VALUES {ranges}) SELECT p.term, r.first, p.data FROM run r CROSS JOIN wanted"
    " CROSS JOIN post p ON p.run = r.id AND p.term >= low AND p.term <= high ORDER BY r.id"
)
_FIND_LONGER = (
    "SELECT p.term, r.first, p.data FROM run r CROSS JOIN post p ON p.run = r.id AND p.term > :prefix"
    " AND p.term <= coalesce("
    "(SELECT term FROM post WHERE run = r.id AND term > :prefix AND term < :after ORDER BY term LIMIT 1 OFFSET :most),"
    " :after)"
)


def unpack_posting(data: bytes) -> tuple[Local, Counts]:
    """One term of one run as the file holds it: ids counted from the run's first, ascending; then the term's counts."""
    size, rest = divmod(len(data), _BYTES)
    if rest:
        raise _wrong_size()
    return np.frombuffer(data, "<u2", size), np.frombuffer(data, np.uint8, size, 2 * size)


def split_terms(terms: str) -> list[str]:
    """The terms of a row of `head`; an item whose text holds none has an empty text there."""
    return terms.split(" ") if terms else []


@dataclass(frozen=True, slots=True)
class Lists:
    """The lists of many terms, one after another in the order of their terms.

    That of the term at n ends before `ends[n]`, and begins where the one before ends; its places are ascending.
    """

    terms: list[str]
    ends: Rows
    places: Places
    counts: Counts

    @classmethod
    def of(cls, found: Iterable[HeadRow], first: int) -> Lists:
        """Those of rows of `head`, which come in ascending order; places are counted from `first`."""
        ids, texts, held = [], [], []
        for id, terms, tf in found:
            if len(tf) != (terms.count(" ") + 1 if terms else 0):
                raise _wrong_counts(id)
            if terms:
                ids.append(id - first)
                texts.append(terms)
                held.append(tf)
        if not texts:
            return cls([], np.zeros(0, np.int64), np.zeros(0, np.uint32), np.zeros(0, np.uint8))
        words, ends, order = _grouped(" ".join(texts).encode())
        places = np.repeat(np.array(ids, np.uint32), np.fromiter(map(len, held), np.int64, len(held)))
        return cls(words, ends, places.take(order), np.frombuffer(b"".join(held), np.uint8).take(order))

    @classmethod
    def read(cls, found: Iterable[tuple[str, bytes]], offset: int = 0) -> Lists:
        """Those of terms of one run with their data, in the order of the terms; `offset` is added to each place."""
        rows = list(found)
        terms = [term for term, _ in rows]
        held = [data for _, data in rows]
        sizes, rest = np.divmod(np.fromiter(map(len, held), np.int64, len(held)), _BYTES)
        if rest.any():
            raise _wrong_size()
        every = np.frombuffer(b"".join(held), np.uint8)
        is_place = _is_place(sizes)
        places = every[is_place].view("<u2").astype(np.uint32)
        places += np.uint32(offset)
        return cls(terms, np.cumsum(sizes), places, every[~is_place])

    @classmethod
    def merged(cls, parts: Sequence[Lists]) -> Lists:
        """All of `parts`, whose places are ascending from one to the next."""
        every = list(itertools.chain.from_iterable(part.terms for part in parts))
        if not every:
            return parts[0]
        terms, ends, order = _grouped(" ".join(every).encode())
        sizes = np.concatenate([part.sizes for part in parts])
        source = _moved(sizes, order)
        return cls(
            terms,
            np.cumsum(sizes.take(order)).take(ends - 1),
            np.concatenate([part.places for part in parts]).take(source),
            np.concatenate([part.counts for part in parts]).take(source),
        )

    @property
    def sizes(self) -> Rows:
        return np.diff(self.ends, prepend=0)

    def pack(self) -> Iterator[tuple[str, bytes]]:
        """Each term with its data as the file holds it; see `unpack_posting`."""
        is_place = _is_place(self.sizes)
        data = np.empty(len(is_place), np.uint8)
        data[is_place] = self.places.astype("<u2").view(np.uint8)
        data[~is_place] = self.counts
        held = data.tobytes()  # of which pieces are made in a quarter of the time that views take
        begin = 0
        for term, end in zip(self.terms, (self.ends * _BYTES).tolist(), strict=True):
            yield term, held[begin:end]
            begin = end

    def without(self, places: Places) -> tuple[Lists, Places]:
        """The lists that held any of `places`, without them (some are empty then); and the places found, repeated."""
        is_gone = np.isin(self.places, places)
        list_of = np.repeat(np.arange(len(self.terms)), self.sizes)
        changed = np.unique(list_of[is_gone])
        is_kept = np.zeros(len(self.terms), np.bool_)
        is_kept[changed] = True
        is_kept = is_kept[list_of] & ~is_gone
        sizes = np.bincount(list_of[is_kept], minlength=len(self.terms))[changed]
        terms = [self.terms[number] for number in changed.tolist()]
        return Lists(terms, np.cumsum(sizes), self.places[is_kept], self.counts[is_kept]), self.places[is_gone]

    def find(self, term: str) -> tuple[Places, Counts]:
        """Empty where no list is that of `term`."""
        number = bisect_left(self.terms, term)
        if self.terms[number : number + 1] != [term]:
            return np.zeros(0, np.uint32), np.zeros(0, np.uint8)
        held = slice(int(self.ends[number - 1]) if number else 0, int(self.ends[number]))
        return self.places[held], self.counts[held]

    def longer(self, prefix: str) -> list[str]:
        """The longer terms that begin with `prefix`, in order."""
        begin = bisect_left(self.terms, prefix)
        begin += self.terms[begin : begin + 1] == [prefix]
        return self.terms[begin : bisect_left(self.terms, prefix + _LAST)]


def _grouped(raw: bytes) -> tuple[list[str], Rows, Rows]:
    """The different words of a text, in order; where each one's numbers end in the third array; and there, word after
    word, which words of the text (UTF-8, a space between two) it is, ascending.

    Not by a dictionary: its entries lie all over the memory, so that it takes twice as long.
    """
    stops = np.flatnonzero(np.frombuffer(raw + b" ", np.uint8) == ord(" "))
    starts = np.concatenate(([0], stops[:-1] + 1))
    sizes = stops - starts
    # The first 16 bytes of each word, as two numbers. Longer words, few, are numbered: their second number is one
    # that no text has.
    eights = np.ndarray(len(raw) + 9, "<u8", raw + bytes(16), strides=(1,))
    low, high = eights[starts], eights[starts + 8]
    low &= _FIRST_BYTES[np.minimum(sizes, 8)]
    high &= _FIRST_BYTES[np.clip(sizes - 8, 0, 8)]
    numbers: defaultdict[bytes, int] = defaultdict(itertools.count().__next__)
    for at in np.flatnonzero(sizes > 16).tolist():
        low[at], high[at] = numbers[raw[starts[at] : stops[at]]], _NO_TEXT
    # The bytes of each word mixed to one number, with its place below, since single numbers are sorted fastest.
    bits = np.uint64(len(starts).bit_length())
    for factor in itertools.count(_FIRST_FACTOR, _FACTOR_STEP):
        mixed = np.uint64(factor & _NO_TEXT)
        keys = (low * mixed) ^ ((high + mixed) * np.uint64(0xBF58476D1CE4E5B9))
        keys ^= keys >> np.uint64(32)
        keys = (keys * mixed >> bits << bits) | np.arange(len(keys), dtype=np.uint64)
        keys.sort()
        order = (keys & ((np.uint64(1) << bits) - np.uint64(1))).astype(np.int64)
        keys >>= bits
        is_begin = np.concatenate(([True], keys[1:] != keys[:-1]))
        ordered_low, ordered_high = low.take(order), high.take(order)
        is_other = (ordered_low[1:] != ordered_low[:-1]) | (ordered_high[1:] != ordered_high[:-1])
        if np.array_equal(is_begin[1:], is_other):
            break  # no two words are mixed to the same
    begins = np.flatnonzero(is_begin)
    heads = order.take(begins)
    words = [raw[start:stop] for start, stop in zip(starts[heads].tolist(), stops[heads].tolist(), strict=True)]
    by_word = np.array(sorted(range(len(words)), key=words.__getitem__), np.int64)  # as UTF-8 and as text alike
    sizes = np.diff(begins, append=len(order))
    source = _moved(sizes, by_word)
    return [words[at].decode() for at in by_word.tolist()], np.cumsum(sizes.take(by_word)), order.take(source)


def _moved(sizes: Rows, order: Rows) -> Rows:
    """For lists of these sizes, one after another, that are to stand in `order`: where each entry comes from."""
    moved = sizes.take(order)
    source = np.repeat((np.cumsum(sizes) - sizes).take(order) - (np.cumsum(moved) - moved), moved)
    source += np.arange(len(source))
    return source


def _is_place(sizes: Rows) -> npt.NDArray[np.bool_]:
    """Which bytes of lists of these sizes, as the file holds them, are of places; the others are counts."""
    pattern = np.tile(np.array([True, False]), len(sizes))
    return np.repeat(pattern, np.column_stack((2 * sizes, sizes)).ravel())


def _wrong_size() -> Contradiction:
    return Contradiction("a list of a word's items has the wrong size")


def _wrong_counts(id: int) -> Contradiction:
    return Contradiction(f"the words of item {id} have the wrong number of counts")


class Postings:
    """Lookup of terms in a snapshot. Holds the words of items not yet sealed in memory, from the first search on.

    What was removed since then is still there: so a look-up is told which rows are alive.
    """

    def __init__(self) -> None:
        self.clear()

    def clear(self) -> None:
        """Begin anew at the next `sync`."""
        self._uid = b""
        self._sealed_below = 0
        self._next_id = 0
        self._early: Lists | None = None
        # What came after the first reading, an entry an item: row << 8 | count, ascending.
        self._late: dict[str, array[int]] = {}

    def sync(self, conn: sqlite3.Connection, state: State) -> None:
        """Read the words that came since the last call."""
        is_begun = self._early is not None and state.uid == self._uid and state.sealed_below == self._sealed_below
        if is_begun and state.next_id == self._next_id:
            return
        try:
            if is_begun and state.next_id > self._next_id:
                self._add(_head(conn, self._next_id))
            else:
                self.clear()
                self._early = Lists.of(_head(conn, state.sealed_below), 0)
                self._uid, self._sealed_below = state.uid, state.sealed_below
        except BaseException:
            self.clear()
            raise
        self._next_id = state.next_id

    def find(self, conn: sqlite3.Connection, terms: Sequence[str], alive: Mask) -> dict[str, list[Piece]]:
        """The lists of those of `terms` that any of the rows that are `alive` hold, in the order of the rows.

        Terms that follow one another in order take little more time than one of them.
        """
        ranges = _ranges(terms)
        query = _FIND.format(ranges=", ".join(["(?, ?)"] * len(ranges)))
        found = _sealed(conn.execute(query, [*itertools.chain(*ranges)]), len(alive))
        for term in terms:
            if self._early is not None:
                _add_unsealed(found, term, self._early.find(term), alive)
            if term in self._late:
                _add_unsealed(found, term, _split_entries(self._late[term]), alive)
        return found

    def find_longer(self, conn: sqlite3.Connection, prefix: str, alive: Mask) -> dict[str, list[Piece]]:
        """The lists of longer terms that begin with `prefix`; of each run those of the first 64."""
        values = {"prefix": prefix, "after": prefix + _LAST, "most": _LONGER_WORDS - 1}
        found = _sealed(conn.execute(_FIND_LONGER, values), len(alive))
        if self._early is not None:
            for term in self._early.longer(prefix)[:_LONGER_WORDS]:
                _add_unsealed(found, term, self._early.find(term), alive)
        longer = sorted(term for term in self._late if term.startswith(prefix) and term != prefix)
        for term in longer[:_LONGER_WORDS]:
            _add_unsealed(found, term, _split_entries(self._late[term]), alive)
        return found

    def _add(self, found: Iterable[HeadRow]) -> None:
        for id, terms, counts in found:
            split = split_terms(terms)
            if len(split) != len(counts):
                raise _wrong_counts(id)
            for term, count in zip(split, counts, strict=True):
                entry = (id << _COUNT_BITS) | count
                held = self._late.get(term)
                if held is not None:
                    held.append(entry)
                else:
                    self._late[term] = array("q", (entry,))


def _head(conn: sqlite3.Connection, first: int) -> Iterator[HeadRow]:
    # No generator: one that is left early closes its cursor wherever it is collected, on another thread perhaps.
    return conn.execute("SELECT id, terms, tf FROM head WHERE id >= ? ORDER BY id", (first,))


def _split_entries(entries: array[int]) -> tuple[Places, Counts]:
    held = np.array(entries, np.int64)
    return (held >> _COUNT_BITS).astype(np.uint32), held.astype(np.uint8)


def _ranges(terms: Iterable[str]) -> list[tuple[str, str]]:
    """First and last terms of ranges that hold these terms and no other."""
    wanted = set(terms)
    # Nothing that is a term comes between a stem's word and its mark. The search for each range reads the whole lists
    # of the terms that it comes by, so that one for both takes half the time.
    return [
        (term, term + STEM_MARK if term + STEM_MARK in wanted else term)
        for term in sorted(wanted)
        if not (term.endswith(STEM_MARK) and term.removesuffix(STEM_MARK) in wanted)
    ]


def _sealed(found: Iterable[tuple[str, int, bytes]], rows: int) -> dict[str, list[Piece]]:
    pieces: dict[str, list[Piece]] = {}
    for term, first, data in found:
        places, counts = unpack_posting(data)
        last = first + int(places.max(initial=0))
        if first < 0 or last >= rows:
            raise _never_stored(min(first, last))
        pieces.setdefault(term, []).append((first, places, counts))
    return pieces


def _add_unsealed(found: dict[str, list[Piece]], term: str, held: tuple[Places, Counts], alive: Mask) -> None:
    places, counts = held
    if len(places) and int(places.max()) >= len(alive):
        raise _never_stored(int(places.max()))
    is_alive = alive[places]
    if is_alive.any():
        found.setdefault(term, []).append((0, places[is_alive], counts[is_alive]))


def _never_stored(row: int) -> Contradiction:
    return Contradiction(f"the words name item {row}, which was never stored")
