"""Characters that are not seen, found in long texts. Free of Qt."""

from __future__ import annotations

import re
from collections.abc import Iterator

from explorer.i18n import tr
from explorer.text import MARKS, mark_at


def _ranges(codes: set[int]) -> str:
    """A regular expression's class for `codes`: one range for neighbours, which is searched ten times as fast."""
    starts = sorted(code for code in codes if code - 1 not in codes)
    ends = sorted(code for code in codes if code + 1 not in codes)
    return "".join(f"\\U{start:08x}-\\U{end:08x}" for start, end in zip(starts, ends, strict=True))


# Beside what `MARKS` names: variation selectors, halves of surrogate pairs, and code points that Qt's documents keep
# for themselves (the object sign, and the noncharacters by which they begin and end their frames).
_CODES = {ord(char) for char in MARKS} | {0xFFFC, 0xFFFE, 0xFFFF}
_CODES |= {*range(0xFE00, 0xFE10), *range(0xE0100, 0xE01F0), *range(0xD800, 0xE000), *range(0xFDD0, 0xFDF0)}
_HIDDEN = re.compile(f"[{_ranges(_CODES)}]")
_LOOKS_AROUND = 2  # characters on each side of a joiner that say whether it joins


def runs(text: str) -> Iterator[tuple[str, bool]]:
    """`text` in pieces: as it is, or the name of one hidden character with True. `\\n` and `\\t` are not hidden."""
    start = 0
    for found in _HIDDEN.finditer(text):
        at = found.start()
        name = _name(text, at)
        if name is None:
            continue
        if at > start:
            yield text[start:at], False
        yield name, True
        start = at + 1
    if start < len(text):
        yield text[start:], False


def marked(text: str) -> str:
    """`text` over several lines with its hidden characters as ⟦names⟧."""
    return "".join(f"⟦{piece}⟧" if is_mark else piece for piece, is_mark in runs(text))


def _name(text: str, at: int) -> str | None:
    char = text[at]
    around = text[max(0, at - _LOOKS_AROUND) : at + _LOOKS_AROUND + 1]
    if (name := mark_at(around, min(at, _LOOKS_AROUND))) is not None:
        return name
    if "\ud800" <= char <= "\udfff":
        # Translators: of surrogates, the two code units by which UTF-16 writes one character
        return tr("half of a pair")
    is_reserved = char in "\ufffc\ufffe\uffff" or "\ufdd0" <= char <= "\ufdef"
    return f"U+{ord(char):04X}" if is_reserved else None
