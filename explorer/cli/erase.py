"""`tinymemory erase`: erase what is at nodes for good."""

from __future__ import annotations

import argparse

from explorer.cli import removing
from explorer.cli.output import Console
from explorer.removal.plan import Action

HELP = "erase what is at nodes for good"
DESCRIPTION = """\
Erase what is at a node, or at it and below, of all kinds or those named: nothing of it is left in the memory, and
stored again it is new. An erase takes nodes and kinds only; what is chosen by other metadata can be forgotten. A
service: sandbox below the node stays, but for the whole tree (--node root --reach subtree), which takes sandboxes
too."""
EPILOG = removing.EPILOG


def add(parser: argparse.ArgumentParser) -> None:
    removing.add_flags(parser)


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    return await removing.run(args, parser, console, Action.ERASE, [])
