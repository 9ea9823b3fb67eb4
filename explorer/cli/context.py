"""`tinymemory context`: the context.md of a memory."""

from __future__ import annotations

import argparse
import asyncio
import logging
from pathlib import Path
from typing import Any

from pydantic import ValidationError

from explorer.cli.options import node, opened, whole_number
from explorer.cli.output import Console, plural
from explorer.context import (
    DEFAULT_BUDGET_TOKENS,
    DEFAULT_LEARNINGS,
    Brief,
    ContextSpec,
    PresetStore,
    Why,
    gather,
    trim,
)
from explorer.contract import ConfigError, EngineFailure, Reach, Timestamp, wire
from explorer.contract.model import Model, reason
from explorer.engines.os_errors import why
from explorer.transfer import FileError, refuse_memory, write_file

HELP = "print a context.md: what the memory tells an agent at the start of a session"
DESCRIPTION = """\
Print a context.md: answers to some questions (briefs), then the newest learnings, within a budget of tokens. --at
confines it to what an agent at that node reads: the node and all above it. What had no room, and what the engine did
not answer, is told on standard error. An empty memory gives an empty document."""
EPILOG = """\
--briefs reads JSON: a list of briefs, each with a heading, a question and perhaps a filter as list --json has it; or
a whole spec with budget_tokens, briefs, learnings_limit and reach. Flags come before what a file or a preset says.
--json prints one object: markdown, tokens (estimated: four characters each), generated_at, engine, refs (ids).
Exit status: 0 compiled, an empty document too; 1 failed, or nothing
was answered; 2 wrong usage."""

log = logging.getLogger("explorer.context")


def add(parser: argparse.ArgumentParser) -> None:
    add = parser.add_argument
    add("--at", metavar="NS", type=node, help="for an agent at this node, such as team:acme/agent:writer")
    add(
        "--budget",
        metavar="N",
        type=whole_number(),
        help=f"tokens of the document at most (default: {DEFAULT_BUDGET_TOKENS})",
    )
    add(
        "--learnings",
        metavar="N",
        type=whole_number(least=0),
        help=f"learnings at most, 0 for none (default: {DEFAULT_LEARNINGS})",
    )
    which = parser.add_mutually_exclusive_group()
    which.add_argument("--preset", metavar="NAME", help="the briefs, learnings and budget saved in the window as NAME")
    which.add_argument("--briefs", metavar="FILE.json", help="the briefs in this file, see below")
    add("--output", metavar="FILE", help="write the document into FILE instead")
    add("--force", action="store_true", help="overwrite FILE where it is there already")


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    log.addHandler(logging.NullHandler())  # what it says of failures is told below, and made safe
    spec = await asyncio.to_thread(_spec, args, console)
    async with opened(args, read_only=True) as memory:
        if args.output is not None:
            refuse_memory(args.output, memory.path)
        gathered = await gather(memory.engine, spec)
    if gathered.failure is not None:  # an agent may well begin without some of it, but not without knowing
        raise EngineFailure(gathered.failure)
    trimmed = trim(gathered, spec.budget_tokens, generated_at=Timestamp.now_utc())
    doc = trimmed.doc
    text = doc.model_dump_json() + "\n" if args.json else doc.markdown
    if args.output is None:
        console.document(text)
    else:
        await asyncio.to_thread(write_file, args.output, text.encode(), overwrite=args.force)
    for section in trimmed.sections:
        if section.why in (Why.FAILED, Why.BUDGET, Why.SHORTENED):
            console.note(f"{section.heading}: {section.reason}")
    if not doc.markdown:
        # What stands above is why; else there was nothing to say.
        console.note("The document is empty: nothing that is stored goes into it.")
    elif args.output is not None:
        console.note(f"About {plural(doc.tokens, 'token')}, resting on {plural(len(doc.refs), 'item')}.")
    return 0


def _spec(args: argparse.Namespace, console: Console) -> ContextSpec:
    spec = ContextSpec()
    if args.preset is not None:
        spec = _preset(args.preset, console)
    elif args.briefs is not None:
        spec = _read(Path(args.briefs))
    given: dict[str, Any] = {"budget_tokens": args.budget, "learnings_limit": args.learnings}
    if args.at is not None:
        given["reach"] = Reach.of(args.at)
    spec = spec.model_copy(update={name: value for name, value in given.items() if value is not None})
    spec.check()
    return spec


def _preset(name: str, console: Console) -> ContextSpec:
    store = PresetStore()
    presets = store.load()
    for notice in store.notices:
        console.note(notice)
    found = next((preset for preset in presets if preset.name == name), None)
    if found is None:
        names = ", ".join(preset.name for preset in presets) or "none"
        raise ConfigError(f"there is no saved preset named {name}; saved are: {names}")
    return found.spec()


class _Briefs(Model):
    briefs: list[Brief]


def _read(path: Path) -> ContextSpec:
    try:
        value = wire.loads(path.read_bytes().removeprefix(b"\xef\xbb\xbf"))
        if isinstance(value, list):
            return ContextSpec(briefs=_Briefs(briefs=value).briefs)
        return ContextSpec.model_validate(value)
    except ValidationError as error:
        raise ConfigError(f"{path} does not hold briefs: {reason(error)}") from None
    except wire.WireError as error:
        raise ConfigError(f"{path} does not hold briefs: {error}") from None
    except ValueError as error:
        raise FileError(f"cannot read {path}: its name holds a NUL character") from error
    except OSError as error:
        raise FileError(f"cannot read {path}: {why(error)}") from error
