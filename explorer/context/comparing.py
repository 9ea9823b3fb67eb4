"""Two documents line by line: of two budgets, of two nodes, or before and after a removal."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from difflib import SequenceMatcher
from enum import StrEnum
from itertools import accumulate

from explorer.context.spec import ContextDoc
from explorer.contract import ItemId, is_blank

_NO_CONTENT = ("generated_at: ", "tokens: ")
_REFS = re.compile(r"refs: \[(.*)\]")
_WORDS = re.compile(r"[^\W\u2e80-\ua4ff\uac00-\ud7ff]+|\s+|[\s\S]")
_MOST_WORDS = 2_000
"""Of a line, above which only its two ends are compared."""
_MOST_PAIRS = 20_000
"""Of one text's words, or lines, with each that is the same in the other."""


class Change(StrEnum):
    SAME = "same"
    ADDED = "added"
    REMOVED = "removed"


_ALIKE = 0.3
"""The share of two lines that they have in common, from which one is the other with some words changed."""

Span = tuple[int, int]
"""Characters from the first to before the second."""


@dataclass(frozen=True, slots=True)
class LineChange:
    """A line of one document, or of both."""

    change: Change
    text: str
    """Without its line end. Of the frontmatter's time and tokens, which never count as changed, the later one."""
    words: tuple[Span, ...] = ()
    """The parts that the line beside it, which it replaces or that replaces it, does not have; none of a line that
    came or went as a whole."""


@dataclass(frozen=True, slots=True)
class Comparison:
    """What two documents have in common and what not."""

    lines: tuple[LineChange, ...]
    """All of both in order, what went before what came in its place."""
    refs_added: tuple[ItemId, ...]
    """Items that only the later document rests on, in its order."""
    refs_removed: tuple[ItemId, ...]

    @property
    def is_same(self) -> bool:
        """Whether they say the same, and rest on the same items."""
        is_unchanged = all(line.change is Change.SAME for line in self.lines)
        return is_unchanged and not self.refs_added and not self.refs_removed


def compare(before: str | ContextDoc, after: str | ContextDoc) -> Comparison:
    """What changed from one document to another. A text's items are those of its frontmatter."""
    old_refs, new_refs = _refs(before), _refs(after)
    return Comparison(
        tuple(_changes(_lines(before), _lines(after))),
        tuple(id for id in new_refs if id not in old_refs),
        tuple(id for id in old_refs if id not in new_refs),
    )


def _markdown(doc: str | ContextDoc) -> str:
    return doc if isinstance(doc, str) else doc.markdown


def _lines(doc: str | ContextDoc) -> list[str]:
    text = _markdown(doc)
    return text.removesuffix("\n").split("\n") if text else []  # not splitlines: stored text may hold its other ends


def _head(lines: list[str]) -> int:
    """How many lines the frontmatter has."""
    return lines.index("---", 1) + 1 if lines[:1] == ["---"] and "---" in lines[1:] else 0


def _refs(doc: str | ContextDoc) -> dict[ItemId, None]:
    if isinstance(doc, ContextDoc):
        return dict.fromkeys(doc.refs)
    lines = _lines(doc)
    found = next(filter(None, map(_REFS.fullmatch, lines[: _head(lines)])), None)
    return dict.fromkeys(ItemId(id) for id in found[1].split(", ") if id) if found else {}


def _keys(lines: list[str]) -> list[str]:
    """What two lines are compared by: without the values in the frontmatter that are no content."""
    head = _head(lines)
    names = [next((name for name in _NO_CONTENT if line.startswith(name)), line) for line in lines[:head]]
    return names + lines[head:]


def _changes(old: list[str], new: list[str]) -> Iterator[LineChange]:
    a, b = _keys(old), _keys(new)
    start, end = _same_at_ends(a, b)
    mid_a, mid_b = a[start : len(a) - end], b[start : len(b) - end]
    # Empty lines are in every text: they join what is alike, and are nothing to begin with. Nor are, where there would
    # be no end of it, those that make up much of a text.
    matcher = SequenceMatcher(is_blank, mid_a, mid_b, autojunk=_is_too_much(mid_a, mid_b))
    yield from (LineChange(Change.SAME, line) for line in new[:start])
    yield from _changes_between(old[start : len(a) - end], new[start : len(b) - end], matcher)
    yield from (LineChange(Change.SAME, line) for line in new[len(b) - end :])


def _changes_between(old: list[str], new: list[str], matcher: SequenceMatcher[str]) -> Iterator[LineChange]:
    for tag, old_start, old_stop, new_start, new_stop in matcher.get_opcodes():
        went, came = old[old_start:old_stop], new[new_start:new_stop]
        if tag == "equal":
            yield from (LineChange(Change.SAME, line) for line in came)
            continue
        pairs = [_word_changes(one, other) for one, other in zip(went, came, strict=False)]
        yield from (_line(Change.REMOVED, line, pairs, at, 0) for at, line in enumerate(went))
        yield from (_line(Change.ADDED, line, pairs, at, 1) for at, line in enumerate(came))


def _is_too_much(a: list[str], b: list[str]) -> bool:
    """Whether comparing all of two texts would take far too long: what they have in common is there again and again."""
    times = Counter(b)
    return sum(times[part] for part in a if not is_blank(part)) > _MOST_PAIRS


_Pair = tuple[tuple[Span, ...], tuple[Span, ...]]


def _line(change: Change, text: str, pairs: list[_Pair], at: int, side: int) -> LineChange:
    return LineChange(change, text, pairs[at][side] if at < len(pairs) else ())


def _word_changes(old: str, new: str) -> _Pair:
    """The parts of two lines that the other does not have; none where they have hardly a word in common."""
    a, b = _WORDS.findall(old), _WORDS.findall(new)
    start, end = _same_at_ends(a, b)
    mid_a, mid_b = a[start : len(a) - end], b[start : len(b) - end]
    if max(len(mid_a), len(mid_b)) > _MOST_WORDS or _is_too_much(mid_a, mid_b):
        blocks = [(0, len(mid_a), 0, len(mid_b))]
    else:
        codes = SequenceMatcher(is_blank, mid_a, mid_b, autojunk=False).get_opcodes()
        blocks = [code[1:] for code in codes if code[0] != "equal"]
    old_spans = _spans(a, [(start + first, start + last) for first, last, _, _ in blocks])
    new_spans = _spans(b, [(start + first, start + last) for _, _, first, last in blocks])
    is_alike = _kept(old, old_spans) >= _ALIKE * len(old) and _kept(new, new_spans) >= _ALIKE * len(new)
    # Lines of which one only goes on have most of the shorter in common.
    is_longer = not old_spans or not new_spans
    return (old_spans, new_spans) if is_alike or is_longer else ((), ())


def _same_at_ends(a: list[str], b: list[str]) -> tuple[int, int]:
    """How many parts both begin with, and how many of the rest both end with."""
    start = _same_at_start(a, b)
    return start, _same_at_start(a[start:][::-1], b[start:][::-1])


def _same_at_start(a: list[str], b: list[str]) -> int:
    return next((at for at, (one, other) in enumerate(zip(a, b, strict=False)) if one != other), min(len(a), len(b)))


def _spans(words: list[str], ranges: list[tuple[int, int]]) -> tuple[Span, ...]:
    """Ranges of words as ranges of characters."""
    places = list(accumulate(map(len, words), initial=0))
    return tuple((places[first], places[last]) for first, last in ranges if first < last)


def _kept(text: str, spans: tuple[Span, ...]) -> int:
    return len(text) - sum(stop - start for start, stop in spans)
