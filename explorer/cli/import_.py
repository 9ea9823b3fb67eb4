"""`tinymemory import`: items from a JSONL file into a memory."""

from __future__ import annotations

import argparse
import contextlib
import json
import sys
from dataclasses import asdict
from pathlib import Path
from typing import BinaryIO

from explorer.cli.options import opened
from explorer.cli.output import Console, plural, size_text
from explorer.contract import ConfigError
from explorer.transfer import BadLine, ImportProgress, import_jsonl, open_source

HELP = "put the items of a JSONL file into a memory"
DESCRIPTION = """\
Put every line of FILE.jsonl into the memory: one item a line in the contract's wire form, as export writes it. A line
that is no item is named with its number and the reason, and the rest goes in. An item that is there already counts as
replayed, so that the same file can be imported again. The database is made where there is none."""
EPILOG = """\
--json prints one object: read, stored, replayed, refused, and bad, the number and reason of each refused line.
Exit status: 0 all went in; 1 a line was refused or the import failed; 2 wrong usage; 130 interrupted."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.jsonl", help="the file to read; - is standard input")
    parser.add_argument("--strict", action="store_true", help="stop at the first bad line; those before it are stored")


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    bad: list[BadLine] = []
    done = ImportProgress()
    with contextlib.ExitStack() as files:
        # Before the memory is opened: a misspelt name must not leave an empty database behind.
        source = _standard_input() if args.file == "-" else files.enter_context(open_source(Path(args.file)))
        async with (
            opened(args, read_only=False) as memory,
            contextlib.aclosing(import_jsonl(memory.engine, source, strict=args.strict)) as progress,
        ):
            if not memory.engine.descriptor().keeps_paths:
                console.note(_PATHS_STAY)
            async for done in progress:
                for line in done.bad:
                    console.note(f"line {line.number} refused: {line.reason}")
                bad += done.bad
                console.done = f"Before that: {_counts(done)}. Importing the file again adds the rest."
                console.progress(_progress(done))
    console.done = ""
    if args.json:
        told = {"read": done.read, "stored": done.stored, "replayed": done.replayed, "refused": done.refused}
        console.json(json.dumps({**told, "bad": [asdict(line) for line in bad]}, ensure_ascii=False))
    else:
        stop = "Stopped at the first bad line: " if done.is_stopped else ""
        console.out(f"{stop}{_counts(done)}.")
    return 1 if done.refused else 0


_PATHS_STAY = (
    "Folders and absolute workspaces are not stored there: items come back with the file name only, and an export from "
    "there cannot give the rest back."
)


def _standard_input() -> BinaryIO:
    if sys.stdin is None:
        raise ConfigError("there is no standard input to read; name a file")
    return sys.stdin.buffer


def _counts(done: ImportProgress) -> str:
    return f"{done.stored:,} stored, {done.replayed:,} replayed, {done.refused:,} refused"


def _progress(done: ImportProgress) -> str:
    total = f" of {size_text(done.bytes_total)}" if done.bytes_total is not None else ""
    return f"{plural(done.read, 'line')}, {size_text(done.bytes_done)}{total}: {_counts(done)}"
