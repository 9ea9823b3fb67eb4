"""The program around the commands: its flags, and how each way of ending is told."""

from __future__ import annotations

import argparse
import asyncio
import os
import sys
from collections.abc import Coroutine, Sequence
from typing import Any, Protocol

import explorer
from explorer.cli import (
    ask,
    check,
    context,
    erase,
    export,
    facets,
    forget,
    get,
    import_,
    list_,
    mcp,
    namespaces,
    tools,
)
from explorer.cli.options import memory_flags, memory_of, settle
from explorer.cli.output import Console, silence, silence_what_fails, tell, visible
from explorer.contract import TinyMemoryError

FAILED = 1
USAGE = 2
INTERRUPTED = 130
TRACEBACK_VARIABLE = "TINYMEMORY_TRACEBACK"
PIPE_CLOSED = 141  # as a shell shows a program that SIGPIPE ended

DESCRIPTION = (
    "Import, export, read, ask, forget, erase and check what AI agents remember, and serve it to them. "
    "The window is tinymemory-explorer."
)
EPILOG = """\
Flags of the memory may stand before the command or after it. The first reading of a file never makes one: only import
and mcp do. `tinymemory COMMAND --help` says what a command prints and which exit status it ends with."""


class Command(Protocol):
    """What a command's module holds."""

    HELP: str
    DESCRIPTION: str
    EPILOG: str

    def add(self, parser: argparse.ArgumentParser) -> None:
        """Add the command's own flags."""

    def run(
        self, args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console
    ) -> Coroutine[Any, Any, int]:
        """Do it; the exit status."""


COMMANDS: dict[str, Command] = {
    "import": import_,
    "export": export,
    "facets": facets,
    "list": list_,
    "get": get,
    "ask": ask,
    "namespaces": namespaces,
    "context": context,
    "forget": forget,
    "erase": erase,
    "check": check,
    "mcp": mcp,
    "tools": tools,
}


def main(argv: Sequence[str] | None = None) -> int:
    """Run one command; the exit status. Never raises, for a wrong flag neither."""
    console: Console | None = None
    try:
        parser, by_name = _parsers()
        args = parser.parse_args(argv)
        command_parser = by_name[args.command]
        settle(args, command_parser)
        console = Console(progress=args.progress)
        args.memory = memory_of(args, console)
        status = asyncio.run(COMMANDS[args.command].run(args, command_parser, console))
        console.finish()
        return status
    except SystemExit as error:  # argparse: it has said why, or shown its help
        return error.code if isinstance(error.code, int) else USAGE
    except KeyboardInterrupt:
        _tell("Interrupted.", console)
        return INTERRUPTED
    except BrokenPipeError:
        silence(sys.stdout)
        return PIPE_CLOSED
    except TinyMemoryError as error:
        _tell(f"tinymemory: {error.text}", console)
        return FAILED
    except Exception as error:
        if os.environ.get(TRACEBACK_VARIABLE):
            raise
        # Only its kind: the text of an error that nobody expected may quote anything.
        _tell(
            f"tinymemory: this failed in an unforeseen way ({type(error).__name__}); "
            f"set {TRACEBACK_VARIABLE}=1 to see where",
            console,
        )
        return FAILED
    finally:
        silence_what_fails()


def _tell(text: str, console: Console | None) -> None:
    if console is None:
        tell(visible(text) + "\n")
        return
    console.note(text)
    if console.done:
        console.note(console.done)


def _parsers() -> tuple[argparse.ArgumentParser, dict[str, argparse.ArgumentParser]]:
    parser = argparse.ArgumentParser(
        prog="tinymemory",
        description=DESCRIPTION,
        epilog=EPILOG,
        parents=[memory_flags()],
        formatter_class=argparse.RawDescriptionHelpFormatter,
        allow_abbrev=False,
    )
    parser.add_argument("--version", action="version", version=f"tinymemory {explorer.__version__}")
    commands = parser.add_subparsers(title="commands", dest="command", metavar="COMMAND", required=True)
    by_name = {}
    for name, command in COMMANDS.items():
        by_name[name] = commands.add_parser(
            name,
            help=command.HELP,
            description=command.DESCRIPTION,
            epilog=command.EPILOG,
            parents=[memory_flags()],
            formatter_class=argparse.RawDescriptionHelpFormatter,
            allow_abbrev=False,
        )
        command.add(by_name[name])
    return parser, by_name
