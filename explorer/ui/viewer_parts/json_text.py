"""JSON laid out for reading, its strings and numbers exactly as they were written. Free of Qt."""

from __future__ import annotations

import re

_TOKEN = re.compile(r'"[^"\\]*(?:\\.[^"\\]*)*"|[{}\[\]:,]|[^\s"{}\[\]:,]+', re.DOTALL)
_STEP = "  "


def pretty(compact: str) -> str:
    """`compact` with a line for each value: reading numbers and writing them again could change them."""
    out: list[str] = []
    depth = 0
    before = ""
    for found in _TOKEN.finditer(compact):  # one by one: a list of all would keep other threads waiting
        token = found.group()
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
