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
    for token in _TOKEN.findall(compact):
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
