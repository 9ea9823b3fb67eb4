"""The flags that commands share: which memory, which of its items."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import getpass
import os
import re
import sys
from collections.abc import AsyncGenerator, Callable
from typing import Any, NamedTuple

from pydantic import ValidationError

from explorer.cli.output import Console
from explorer.contract import (
    ConfigError,
    InvalidRequest,
    ItemKind,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    Timestamp,
    TurnRange,
)
from explorer.contract.model import reason
from explorer.engines import (
    ConnectionStore,
    EngineCredential,
    EngineSettings,
    KeyStore,
    StaticCredential,
    build_engine,
    file_settings,
    find_credential,
)
from explorer.engines.config import DEFAULT_ENGINE
from explorer.engines.place import has_no_file

DB_VARIABLE = "TINYMEMORY_DB"

REACHES: dict[str, Callable[[Namespace], Reach]] = {
    "exact": Reach.exact,
    "inherit": Reach.of,
    "subtree": Reach.subtree,
}
"""How far from a node, by what the flags call it."""

_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)
_TURNS = re.compile(
    r"(\d{1,20})(?:\.\.(\d{1,20}))?", re.ASCII
)  # more digits than 32 bits have, fewer than `int` refuses


def memory_flags() -> argparse.ArgumentParser:
    """A parent parser with the flags of every command. They may stand before the command's name, too."""
    parser = argparse.ArgumentParser(add_help=False, argument_default=argparse.SUPPRESS, allow_abbrev=False)
    group = parser.add_argument_group("which memory")
    group.add_argument("--db", metavar="PATH", help=f"the database file; needed unless {DB_VARIABLE} names it")
    group.add_argument("--engine", metavar="ID", help=f"the engine that opens PATH (default: {DEFAULT_ENGINE})")
    group.add_argument("--connection", metavar="NAME", help="a connection saved in the window, instead of --db")
    group = parser.add_argument_group("output")
    group.add_argument("--json", action="store_true", help="machine-readable output, see below")
    group.add_argument("--progress", action="store_true", help="tell progress on stderr even where it is no terminal")
    return parser


def filter_flags(parser: argparse.ArgumentParser) -> None:
    """One flag for each field of MetaFilter, named after it; its reach is `--node` and `--reach`."""
    group = parser.add_argument_group(
        "which items", "an item must meet all that are given; nothing given is everything"
    )
    for field, metavar, help in (
        ("workspace", "TEXT", "in this workspace"),
        ("folder", "PATH", "from this folder, or one below it"),
        ("file_path", "PATH", "from this file, or one below this folder"),
        ("language", "TEXT", "in this language"),
        ("repo", "TEXT", "of this repository"),
        ("commit", "TEXT", "of this commit"),
        ("url", "URL", "from this address"),
    ):
        group.add_argument(flag(field), metavar=metavar, help=help)
    group.add_argument("--thread-id", "--thread", metavar="ID", help="of this thread")
    group.add_argument("--turns", metavar="A..B", type=_turns, help="covering exactly these turns, counted from 0")
    group.add_argument("--agent-id", "--agent", metavar="ID", help="of this agent")
    group.add_argument("--tool-call", metavar="NAME", help="of a call of this tool")
    group.add_argument("--source-id", metavar="ID", help="from this source")
    group.add_argument(
        "--kind",
        dest="kinds",
        action="append",
        choices=[kind.value for kind in ItemKind],
        help="of this kind; repeatable",
    )
    group.add_argument(
        "--source",
        dest="sources",
        action="append",
        choices=[kind.value for kind in SourceKind],
        help="from this kind of source; repeatable",
    )
    group.add_argument("--tag", dest="tags_any", metavar="TAG", action="append", help="with this tag; repeatable, any")
    group.add_argument(
        "--observed-after",
        metavar="TIME",
        type=_time,
        help="seen at TIME or later: 2026-10-04 (midnight UTC) or RFC 3339",
    )
    group.add_argument("--observed-before", metavar="TIME", type=_time, help="seen before TIME")
    node_flags(group.add_argument)


def node_flags(add: Callable[..., Any]) -> None:
    add("--node", metavar="NS", type=node, help="at this node, such as team:acme/agent:writer (default: the root)")
    add(
        "--reach",
        choices=list(REACHES),
        help="how far from the node: itself; itself and all above, as an agent there reads; or itself and all below "
        "except service: sandboxes (default: subtree)",
    )


def flag(field: str) -> str:
    return "--" + field.replace("_", "-")


def _turns(text: str) -> TurnRange:
    found = _TURNS.fullmatch(text)
    if found is None:
        raise argparse.ArgumentTypeError("write a range of turns like 4..5")
    first = int(found[1])
    try:
        return TurnRange(first=first, last=first if found[2] is None else int(found[2]))
    except ValidationError as error:
        raise argparse.ArgumentTypeError(reason(error)) from None


def _time(text: str) -> Timestamp:
    try:
        return Timestamp.parse(f"{text}T00:00:00Z" if _DAY.fullmatch(text) else text)
    except ValueError as error:
        raise argparse.ArgumentTypeError(f"{error}, or as a day like 2026-10-04") from None


def node(text: str) -> Namespace:
    """A flag's value as a node."""
    if not text.strip():  # a script's variable that was never set, perhaps
        raise argparse.ArgumentTypeError("a node must not be blank; the root is written root")
    try:
        return Namespace.parse(text)
    except InvalidRequest as error:
        raise argparse.ArgumentTypeError(error.text) from None


def whole_number(most: int | None = None, *, least: int = 1) -> Callable[[str], int]:
    """A flag's value as a number of at least `least`, at most `most`."""

    def read(text: str) -> int:
        try:
            number = int(text)
        except ValueError:
            number = least - 1
        if number < least or (most is not None and number > most):
            raise argparse.ArgumentTypeError(f"write a number from {least} {f'to {most}' if most else 'on'}")
        return number

    return read


def reach_of(args: argparse.Namespace) -> Reach | None:
    """The reach that the flags name; None where they name none."""
    if args.node is None and args.reach is None:
        return None
    return REACHES[args.reach or "subtree"](args.node or Namespace.ROOT)


def filter_of(args: argparse.Namespace, parser: argparse.ArgumentParser) -> MetaFilter:
    """The filter that the flags make; ends the program with a usage error for text that is not Unicode."""
    given = {field: getattr(args, field) for field in MetaFilter.model_fields if field != "reach"}
    try:
        return MetaFilter(reach=reach_of(args), **{field: value for field, value in given.items() if value is not None})
    except ValidationError as error:
        parser.error(reason(error))


class Memory(NamedTuple):
    engine: MemoryEngine
    path: str | None
    """The file that the engine reads, where it is one."""


@contextlib.asynccontextmanager
async def opened(args: argparse.Namespace, *, read_only: bool) -> AsyncGenerator[Memory, None]:
    """The memory that the flags name, closed at the end. Read-only makes no file where there is none."""
    engine_id, settings, credential = args.memory
    if read_only:
        settings = settings.model_copy(update={"read_only": True})
    engine = await asyncio.to_thread(build_engine, engine_id, settings, credential)
    try:
        yield Memory(engine, settings.path)
    finally:
        await engine.aclose()


def memory_of(args: argparse.Namespace, console: Console) -> tuple[str, EngineSettings, EngineCredential]:
    """What opens the memory that the flags name. May ask for a key, so that it belongs before any event loop:
    within one, the first Ctrl-C would not reach the prompt.
    """
    if args.connection is None:
        return args.engine or DEFAULT_ENGINE, file_settings(args.db), None
    store = ConnectionStore()
    connections = store.load()
    for notice in store.notices:
        console.note(notice)
    connection = next((known for known in connections if known.name == args.connection), None)
    if connection is None:
        names = ", ".join(known.name for known in connections) or "none"
        raise ConfigError(f"there is no saved connection named {args.connection}; saved are: {names}")
    if connection.last_opened is not None and has_no_file(connection.settings):  # an empty one would look all forgotten
        raise ConfigError(f"{connection.settings.path} is not there any more; it was moved, renamed or removed")
    found = find_credential(connection, KeyStore())
    credential = found.credential
    if found.ask_because is not None:
        if not sys.stdin.isatty():
            raise ConfigError(f"{found.ask_because} in a terminal, or let an environment variable hold it")
        console.note(f"{found.ask_because}.")
        credential = StaticCredential(getpass.getpass("Key: "))
    return connection.engine, connection.engine_settings, credential


def settle(args: argparse.Namespace, parser: argparse.ArgumentParser) -> None:
    """Fill in what may be left out; ends the program with a usage error where the memory is not named."""
    for name, default in (("db", None), ("engine", None), ("connection", None), ("json", False), ("progress", False)):
        setattr(args, name, getattr(args, name, default))
    if args.connection is not None:
        if args.db is not None or args.engine is not None:
            parser.error("--connection names its own engine and file: leave out --db and --engine")
        return
    args.db = args.db or os.environ.get(DB_VARIABLE) or None
    if args.db is None and args.engine in (None, DEFAULT_ENGINE):
        parser.error(f"which memory? Give --db PATH, or set {DB_VARIABLE}")
