"""What a client's configuration says to start this server."""

from __future__ import annotations

import json
import os

from explorer.contract import Namespace


def client_config(path: str | os.PathLike[str], place: Namespace, *, read_only: bool = False) -> str:
    """The JSON that most clients take to start `tinymemory mcp` over the file at `path`, five lines."""
    args = ["mcp", "--db", os.path.abspath(path), "--place", str(place), *(["--read-only"] if read_only else [])]
    entry = f'"command": "tinymemory", "args": {json.dumps(args, ensure_ascii=False)}'
    return f'{{\n  "mcpServers": {{\n    "memory": {{ {entry} }}\n  }}\n}}'
