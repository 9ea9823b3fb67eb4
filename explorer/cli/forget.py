"""`tinymemory forget`: take items out of every read."""

from __future__ import annotations

import argparse

from explorer.cli import removing
from explorer.cli.output import Console
from explorer.removal.plan import Action

HELP = "take items out of every read"
DESCRIPTION = """\
Forget the items that the flags admit, or those named by --id: they are taken out of every read. What is above a node,
and a service: sandbox below it, is never touched, but for the whole tree (--node root --reach subtree), which takes
sandboxes too."""
EPILOG = removing.EPILOG


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("--id", dest="ids", metavar="ID", action="append", help="this item; repeatable")
    removing.add_flags(parser)


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    return await removing.run(args, parser, console, Action.FORGET, args.ids or [])
