"""`tinymemory export`: items of a memory into a JSONL file."""

from __future__ import annotations

import argparse
import contextlib
import json
import os
import sys
from pathlib import Path
from typing import BinaryIO

from explorer.cli.options import filter_flags, filter_of, opened
from explorer.cli.output import Console, plural, size_text, tell, visible
from explorer.contract import ConfigError
from explorer.transfer import ExportProgress, FileError, export_jsonl, refuse_memory, sandbox_roots

HELP = "write the items of a memory into a JSONL file"
DESCRIPTION = """\
Write every item that the flags admit into FILE.jsonl, one a line in the contract's wire form; importing that into a
new memory gives the same ids. The file appears when it is whole. What a service: sandbox holds is left out, as in
every read of a subtree, and said so; --sandboxes takes it along."""
EPILOG = """\
--json prints one object: written, bytes, incomplete (ids that the engine holds only part of, which are not in the
file) and left_in_sandboxes; where the items go to standard output, it goes to standard error.
Exit status: 0 all was written; 1 an item was incomplete or the export failed; 2 wrong usage; 130 interrupted."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("file", metavar="FILE.jsonl", help="the file to write; - is standard output")
    parser.add_argument("--force", action="store_true", help="overwrite a file that is there already")
    parser.add_argument("--sandboxes", action="store_true", help="also what is in service: sandboxes below the node")
    filter_flags(parser)


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    filter = filter_of(args, parser)
    is_stdout = args.file == "-"
    incomplete: list[str] = []
    done = ExportProgress()
    async with opened(args, read_only=True) as memory:
        target = _standard_output() if is_stdout else Path(args.file)
        if isinstance(target, Path):
            _refuse(target, memory.path, args.force)
        left = [] if args.sandboxes else await sandbox_roots(memory.engine, filter)
        export = export_jsonl(memory.engine, target, filter, sandboxes=args.sandboxes, overwrite=args.force)
        async with contextlib.aclosing(export) as progress:
            async for done in progress:
                incomplete += done.incomplete
                if not is_stdout:
                    console.done = "No file was written: an export is kept only when it is whole."
                console.progress(f"{plural(done.written, 'item')}, {size_text(done.bytes_written)}")
        console.done = ""
    left_items = sum(count for _, count in left)
    if args.json:
        told = {"written": done.written, "bytes": done.bytes_written, "incomplete": incomplete}
        text = json.dumps({**told, "left_in_sandboxes": left_items}, ensure_ascii=False)
        tell(text + "\n") if is_stdout else console.json(text)
        return 1 if incomplete else 0
    if left_items:
        nodes = ", ".join(str(node) for node, _ in left[:5]) + (", …" if len(left) > 5 else "")
        console.note(f"{plural(left_items, 'item')} in sandboxes left out ({nodes}); --sandboxes takes them along.")
    if incomplete:
        console.note(f"{plural(len(incomplete), 'item')} not written, since the engine holds only part of them:")
        for id in incomplete:
            console.note(f"  {id}")
    summary = f"{plural(done.written, 'item')} written, {size_text(done.bytes_written)}"
    if is_stdout:
        console.note(f"{summary}.")
    else:
        console.out(f"{summary}, to {_place(args.file)}")
    return 1 if incomplete else 0


def _standard_output() -> BinaryIO:
    if sys.stdout is None:
        raise ConfigError("there is no standard output to write to; name a file")
    return sys.stdout.buffer


def _place(path: str) -> str:
    return visible(os.path.abspath(path))


def _refuse(target: Path, database: str | None, force: bool) -> None:
    """Raise where the export would overwrite a file that was not meant, above all the memory itself."""
    refuse_memory(target, database)
    if os.path.isfile(target) and not force:  # not the Path's own, which fails for a name that is too long
        raise FileError(f"{target} is there already; choose another name, or add --force to overwrite it")
