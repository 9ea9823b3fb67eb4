"""`tinymemory check`: whether a file is whole, and making it whole again."""

from __future__ import annotations

import argparse
import asyncio
import json
import time
from collections.abc import Callable, Sequence

from explorer.cli.output import Console, plural
from explorer.contract import TinyMemoryError
from explorer.engines.sqlite.checking import EXAMPLES, Checked, check_file
from explorer.engines.sqlite.repairing import Repaired, repair_file

CANNOT_OPEN = 2

HELP = "verify a file: every index against the items"
DESCRIPTION = """\
Read the whole file PATH, which the embedded engine (sqlite) made, and compare all that is in it with the items: their
ids, fields, words, columns and vectors, and what is left of items that are gone. Without --repair nothing is written.
Programs that have the file open go on; what they erase meanwhile leaves its log only when the check is done.

--repair makes all that is derived from the items anew where something is wrong. The file as it was stays beside it, as
PATH.repair-backup: it holds stored text that no erase reaches, so delete it in the end. An item that cannot be read is
taken out. One whose content is not that of its id, since another program changed it, gets the id of its content;
without --repair it can also be forgotten under the id it has."""
EPILOG = """\
--json prints one object: path, items, seconds, problems (each with problem, text, count and examples, the first few
places), and after --repair also copy (null where nothing was done), repaired_problems, unreadable, duplicates (ids of
items that were taken out), renamed (pairs of old and new id) and lost_places.
Exit status: 0 nothing is wrong, or all was mended; 1 something is wrong, or items had to be taken out; 2 the file
cannot be opened, or wrong usage."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "db", metavar="PATH", nargs="?", default=argparse.SUPPRESS, help="the file, as --db names it otherwise"
    )
    parser.add_argument("--repair", action="store_true", help="make anew what is derived from the items, after a copy")


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    engine, settings, _ = args.memory
    if engine != "sqlite" or not settings.path:
        parser.error("only a file of the engine sqlite can be checked")
    began = time.monotonic()
    repaired: Repaired | None = None
    try:
        if args.repair:
            repaired = repair_file(settings.path, _telling(console))
            checked = repaired.after
        else:
            checked = check_file(settings.path, _telling(console))
    except TinyMemoryError as error:
        console.note(f"tinymemory: {error.text}")
        return CANNOT_OPEN
    seconds = time.monotonic() - began
    if args.json:
        console.json(json.dumps(_told(settings.path, checked, repaired, seconds), ensure_ascii=False))
    else:
        _print(checked, repaired, seconds, console)
    has_lost = repaired is not None and (repaired.unreadable or repaired.duplicates or repaired.lost_places)
    return 0 if checked.is_clean and not has_lost else 1


def _telling(console: Console) -> Callable[[str], None]:
    """Shows progress. The work is not done on another thread, so this is where Ctrl-C is noticed."""
    task = asyncio.current_task()

    def tell(text: str) -> None:
        if task is not None and task.cancelling():
            raise asyncio.CancelledError
        console.progress(text)

    return tell


def _print(checked: Checked, repaired: Repaired | None, seconds: float, console: Console) -> None:
    if repaired is not None and repaired.copy is not None:
        if repaired.before is not None:
            console.out("Found:")
            _print_problems(repaired.before, console)
        else:
            console.out("The file had an older layout.")
        console.out("All that is derived from the items was made anew.")
        _print_lost(repaired, console)
        console.out(f"The file as it was is {repaired.copy}; it holds stored text, so delete it in the end.")
        if not checked.is_clean:
            console.out("Still wrong:")
    _print_problems(checked, console)
    pace = f", {seconds / checked.items * 100_000:.1f} s per 100,000" if checked.items >= 1000 else ""
    result = "nothing is wrong" if checked.is_clean else plural(len(checked.problems), "kind") + " of problems"
    console.out(f"{plural(checked.items, 'item')} checked in {seconds:.1f} s{pace}: {result}.")


def _print_problems(checked: Checked, console: Console) -> None:
    for problem in checked.problems:
        console.out(f"- {problem.text}")


def _print_lost(repaired: Repaired, console: Console) -> None:
    for ids, what in (
        (repaired.unreadable, "whose content cannot be read"),
        (repaired.duplicates, "with the content of another"),
    ):
        if ids:
            console.out(f"Taken out: {plural(len(ids), 'item')} {what} ({_first(ids)}).")
    if repaired.lost_places:
        console.out(f"Taken out: {plural(repaired.lost_places, 'place')} of broken pages, which may have held an item.")
    if repaired.renamed:
        pairs = [f"{old} is {new} now" for old, new in repaired.renamed]
        console.out(f"Given the id of their content: {plural(len(pairs), 'item')} ({_first(pairs)}).")


def _first(names: Sequence[str]) -> str:
    return ", ".join(names[:EXAMPLES]) + (", ..." if len(names) > EXAMPLES else "")


def _told(path: str, checked: Checked, repaired: Repaired | None, seconds: float) -> dict[str, object]:
    told: dict[str, object] = {
        "path": path,
        "items": checked.items,
        "seconds": round(seconds, 3),
        "problems": _problems(checked),
    }
    if repaired is not None:
        told |= {
            "copy": repaired.copy,
            "repaired_problems": [] if repaired.before is None else _problems(repaired.before),
            "unreadable": repaired.unreadable,
            "duplicates": repaired.duplicates,
            "renamed": repaired.renamed,
            "lost_places": repaired.lost_places,
        }
    return told


def _problems(checked: Checked) -> list[dict[str, object]]:
    return [
        {
            "problem": problem.trouble.name.lower(),
            "text": problem.text,
            "count": problem.count,
            "examples": problem.examples,
        }
        for problem in checked.problems
    ]
