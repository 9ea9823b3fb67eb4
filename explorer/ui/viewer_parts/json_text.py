"""JSON laid out for reading, its strings and numbers exactly as they were written. Free of Qt."""

from __future__ import annotations

import re

_TOKEN = re.compile(r'"|[{}\[\]:,]|[^\s"{}\[\]:,]+')
_STEP = "  "


def pretty(compact: str) -> str:
    """`compact` with a line for each value: reading numbers and writing them again could change them."""
    out: list[str] = []
    depth = 0
    before = ""
    end = 0
    while (found := _TOKEN.search(compact, end)) is not None:
        end = _string_end(compact, found.start()) if found.group() == '"' else found.end()
        token = compact[found.start() : end]
        if token in "}]":
            depth -= 1
            if before not in "{[":
                out.append("\n" + _STEP * depth)
        elif before and before in "{[,":
            out.append("\n" + _STEP * depth)
        out.append(": " if token == ":" else token)
        depth += token in "{["
        before = token
    return "".join(out)


def _string_end(text: str, start: int) -> int:
    """The place after the string that begins at `start`. A pattern would keep other threads waiting for all of it."""
    at = start
    while (at := text.find('"', at + 1)) >= 0:
        before = at
        while text[before - 1] == "\\":
            before -= 1
        if (at - before) % 2 == 0:
            return at + 1
    return len(text)
