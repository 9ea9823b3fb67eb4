"""`tinymemory mcp`: a memory for agents, over the Model Context Protocol."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import logging
import os
import re
import signal
import sys
from collections.abc import Awaitable, Callable, Iterator

from explorer.cli.options import REACHES, Memory, node, opened
from explorer.cli.output import Console
from explorer.contract import ConfigError, ListRequest, MemoryEngine, MetaFilter, Namespace, Unavailable
from explorer.tools import MemoryTools, ToolScope

HELP = "serve the memory to an agent (Model Context Protocol)"
DESCRIPTION = """\
Serve the memory tools to a client of the Model Context Protocol, which starts this command itself: over standard input
and output, or with --http over HTTP on this computer alone. What the agent stores lands at --place; it reads, and may
forget, what is there and at the nodes above, and nothing else. The database is made where there is none, unless
--read-only. The window and other commands may have it open at the same time."""
EPILOG = """\
Needs the MCP SDK: pip install 'tinymemory-explorer[mcp]'. Standard output carries the protocol alone; what there is to
tell goes to standard error.
Exit status: 0 the client left, or a signal ended it; 1 failed; 2 wrong usage, or the SDK is not installed."""

DEFAULT_PORT = 8787
_PORT = re.compile(r"\d{1,5}", re.ASCII)
MISSING_SDK = (
    "tinymemory: mcp needs the SDK of the Model Context Protocol; install it with: "
    "pip install 'tinymemory-explorer[mcp]'"
)


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument(
        "--place",
        metavar="NODE",
        type=node,
        required=True,
        help="where the agent stands, such as team:acme/agent:writer; the root is written root",
    )
    parser.add_argument(
        "--reach",
        choices=list(REACHES),
        default="inherit",
        help="what it reads and may forget: its node alone, with all above (the default), or with all below",
    )
    parser.add_argument("--read-only", action="store_true", help="no tool that stores or forgets; no file is made")
    parser.add_argument(
        "--http",
        metavar="PORT",
        nargs="?",
        type=_port,
        const=DEFAULT_PORT,
        help=f"serve http://127.0.0.1:PORT/mcp (default: {DEFAULT_PORT}; 0 is any free port) instead of standard input",
    )


def _port(text: str) -> int:
    if not (_PORT.fullmatch(text) and int(text) <= 65535):
        raise argparse.ArgumentTypeError("write a port from 0 to 65535; only 127.0.0.1 is served")
    return int(text)


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    if args.http is None and (sys.stdin is None or sys.stdout is None):
        raise ConfigError("the protocol needs standard input and standard output, and one of them is closed")
    try:
        import explorer.mcp.http
        import explorer.mcp.server
        import explorer.mcp.stdio
    except ModuleNotFoundError as error:
        if (error.name or "").partition(".")[0] == "explorer":
            raise
        console.note(MISSING_SDK)
        return 2
    _tell_logs(console)
    stop = asyncio.Event()
    with contextlib.ExitStack() as at_end:
        # Before the memory is opened: a port that is taken must not leave an empty database behind.
        listening = None if args.http is None else at_end.enter_context(explorer.mcp.http.listen(args.http))
        at_end.enter_context(_ended_by_signals(stop))
        async with opened(args, read_only=args.read_only) as memory:
            await _open(memory, console, read_only=args.read_only)
            tools = MemoryTools.with_scope(memory.engine, _scope(args))
            server = explorer.mcp.server.memory_server(tools, _hider(memory.path), _checker(memory.engine))
            what = f"{memory.path or memory.engine.descriptor().label}, placed at {args.place}"
            what += ", read-only" if args.read_only else ""
            if listening is None:
                console.note(f"Serving {what}, over standard input and output.")
                await explorer.mcp.stdio.serve_stdio(server, stop)
            else:
                console.note(f"Serving {what}, at {explorer.mcp.http.address(listening)}")
                await explorer.mcp.http.serve_http(server, listening, stop)
    return 0


def _scope(args: argparse.Namespace) -> ToolScope:
    place: Namespace = args.place
    return ToolScope(place, REACHES[args.reach](place), writes=not args.read_only)


async def _open(memory: Memory, console: Console, *, read_only: bool) -> None:
    """Open the file now, so that what is wrong with it is told at once and not to the first caller."""
    is_new = not read_only and _is_missing(memory.path)
    try:
        await memory.engine.list(ListRequest(limit=1))
    except Unavailable as error:  # it may be there by the time that somebody asks
        console.note(f"{error.text}. Serving all the same.")
        return
    if is_new:
        console.note(f"There was no memory at {memory.path}: a new one was made.")


def _is_missing(path: str | None) -> bool:
    return path is not None and not os.path.exists(path)


def _checker(engine: MemoryEngine) -> Callable[[], Awaitable[object]]:
    """Raises Unavailable once the file was deleted or replaced: one that is open can be read on, which for a window is
    a way to save it, but an agent would go on with what was done away with.
    """
    return lambda: engine.changes(MetaFilter())


def _hider(path: str | None) -> Callable[[str], str]:
    """Takes the folder of the memory's file out of a sentence, so that a client learns the file's name at most."""
    if path is None:
        return str
    folders = {os.path.dirname(at) for at in (os.path.abspath(path), os.path.realpath(path), path)}
    hidden = sorted((os.path.join(folder, "") for folder in folders if folder.strip(os.sep)), key=len, reverse=True)

    def hide(text: str) -> str:
        for folder in hidden:
            text = text.replace(folder, "")
        return text

    return hide


@contextlib.contextmanager
def _ended_by_signals(stop: asyncio.Event) -> Iterator[None]:
    """Let Ctrl-C, and a request to terminate, set `stop`."""
    loop = asyncio.get_running_loop()
    signals = [signal.SIGINT, signal.SIGTERM]
    if sys.platform == "win32":
        before = {number: signal.getsignal(number) for number in signals}
        for number in signals:
            signal.signal(number, lambda *_: loop.call_soon_threadsafe(stop.set))
        try:
            yield
        finally:
            for number, handler in before.items():
                signal.signal(number, handler)
        return
    for number in signals:
        loop.add_signal_handler(number, stop.set)
    try:
        yield
    finally:
        for number in signals:
            loop.remove_signal_handler(number)


def _tell_logs(console: Console) -> None:
    """Tell warnings of whatever is used as lines on standard error: without a trace, which may quote anything."""

    class Telling(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            kind = f" ({record.exc_info[0].__name__})" if record.exc_info and record.exc_info[0] else ""
            console.note(f"{record.name}: {record.getMessage()}{kind}")

    logging.basicConfig(handlers=[Telling(logging.WARNING)], level=logging.WARNING)
