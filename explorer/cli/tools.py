"""`tinymemory tools`: what a model is told of the memory tools."""

from __future__ import annotations

import argparse
import json
from collections.abc import Callable
from typing import Any

from explorer.cli.options import opened
from explorer.cli.output import Console
from explorer.tools import MemoryTools, ToolSpec

HELP = "print the memory tools as a model's interface takes them"
DESCRIPTION = """\
Print name, description and arguments (a JSON Schema) of each memory tool, for a program that gives them to a model
itself. Which there are, and how fetch may search, depends on the engine that would serve them."""
EPILOG = """\
Prints one JSON array, with --json on one line.
Exit status: 0 printed; 1 failed; 2 wrong usage."""

_FORMS: dict[str, Callable[[ToolSpec], dict[str, Any]]] = {
    "plain": ToolSpec.as_dict,
    "mcp": ToolSpec.as_mcp,
    "openai": ToolSpec.as_openai,
    "anthropic": ToolSpec.as_anthropic,
}


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--format", choices=list(_FORMS), default="plain", help="whose form (default: plain)")
    parser.add_argument("--read-only", action="store_true", help="without the tools that store or forget")


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    async with opened(args, read_only=True) as memory:
        tools = MemoryTools.new(memory.engine)
        specs = (tools.read_only() if args.read_only else tools).specs()
    written = [_FORMS[args.format](spec) for spec in specs]
    console.json(json.dumps(written, ensure_ascii=False, indent=None if args.json else 2))
    return 0
