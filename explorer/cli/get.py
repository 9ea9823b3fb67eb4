"""`tinymemory get`: single items, whole."""

from __future__ import annotations

import argparse
from typing import Any

from explorer.cli.options import node_flags, opened, reach_of
from explorer.cli.output import Console, visible
from explorer.contract import (
    Conversation,
    Document,
    Exported,
    GetRequest,
    Hit,
    ItemId,
    Learning,
    MemoryEngine,
    MetaFilter,
    Reach,
    Unsupported,
)
from explorer.contract.query import MAX_GET_IDS
from explorer.transfer import sandbox_roots

HELP = "show items whole"
DESCRIPTION = """\
Show the items with these ids, in this order: their metadata, then their text. Without --node they are looked for
everywhere, service: sandboxes included. An id that is not found is named on standard error."""
EPILOG = """\
--json prints one object a line, the contract's Exported: id, and item in the form that import reads; from an engine
that does not export, its Hit: id, kind, text, meta, score, confidence.
Exit status: 0 all were found; 1 one was not, or failed; 2 wrong usage."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("ids", metavar="ID", nargs="+", help="an item's id, as list prints it")
    node_flags(parser.add_argument)


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    ids = [ItemId(id) for id in dict.fromkeys(args.ids)]
    async with opened(args, read_only=True) as memory:
        found = await _find(memory.engine, ids, reach_of(args))
    is_first = True
    for id in ids:
        answer = found.get(id)
        if answer is None:
            continue
        if args.json:
            console.json(answer.model_dump_json())
            continue
        if not is_first:
            console.out("\n" + "-" * 40 + "\n")
        is_first = False
        _print(answer, console)
    missing = [id for id in ids if id not in found]
    for id in missing:
        console.note(f"no item {id}" + ("" if args.node is None and args.reach is None else " within that reach"))
    return 1 if missing else 0


async def _find(engine: MemoryEngine, ids: list[ItemId], reach: Reach | None) -> dict[ItemId, Exported | Hit]:
    found = await _get(engine, ids, reach)
    if reach is None and len(found) < len(ids):
        for root, _ in await sandbox_roots(engine, MetaFilter()):
            missing = [id for id in ids if id not in found]
            if not missing:
                break
            found |= await _get(engine, missing, Reach.subtree(root))
    return found


async def _get(engine: MemoryEngine, ids: list[ItemId], reach: Reach | None) -> dict[ItemId, Exported | Hit]:
    """As stored where the engine exports, else as it is read."""
    found: dict[ItemId, Exported | Hit] = {}
    for start in range(0, len(ids), MAX_GET_IDS):
        request = GetRequest(ids=ids[start : start + MAX_GET_IDS], reach=reach)
        try:
            found.update((exported.id, exported) for exported in await engine.get_items(request))
        except Unsupported:
            found.update((hit.id, hit) for hit in await engine.get(request))
    return found


def _print(answer: Exported | Hit, console: Console) -> None:
    if isinstance(answer, Hit):
        kind, text, confidence, meta = answer.kind, answer.text, answer.confidence, answer.meta
        item = None
    else:
        item = answer.item
        kind, text, confidence, meta = item.item_kind, item.render_text(), item.confidence_or_none, item.meta
    fields: list[tuple[str, Any]] = [("id", answer.id), ("kind", kind)]
    match item:
        case Document():
            fields += [("mime", item.mime)]
        case Conversation():
            fields += [("turns in it", len(item.turns))]
        case Learning():
            fields += [("learning", item.kind), ("evidence", item.evidence)]
    fields += [("confidence", confidence), ("namespace", str(meta.namespace))]
    fields += [(name, value) for name, value in meta.model_dump(mode="json").items() if name != "namespace"]
    rows = [(name, _value(value)) for name, value in fields if value is not None]
    room = max(len(name) for name, _ in rows)
    for name, value in rows:
        console.out(f"{name:{room}}  {visible(value)}")
    console.out()
    console.out(visible(text, keep="\n\t"))


def _value(value: Any) -> str:
    match value:
        case {"first": first, "last": last}:
            return f"{first}..{last}"
        case dict():
            head, *rest = map(str, value.values())
            return f"{head} ({', '.join(rest)})" if rest else head
        case list():
            return ", ".join(map(str, value))
        case "":
            return "(empty)"
        case bool():
            return "yes" if value else "no"
        case _:
            return str(value)
