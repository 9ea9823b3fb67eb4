"""`tinymemory namespaces`: the nodes of a memory, with their items counted."""

from __future__ import annotations

import argparse
import json
from typing import NamedTuple

from explorer.cli.options import filter_flags, filter_of, opened
from explorer.cli.output import Console
from explorer.contract import Namespace, Reach, SegmentKind
from explorer.contract.query import MAX_SCAN

HELP = "count the items of each node"
DESCRIPTION = """\
Count the items that the flags admit at each node: its own, and those in its whole subtree, which stops before a
service: sandbox. A sandbox is marked, and counts only what is in it. --node and --reach choose the nodes to show; a
subtree shows its sandboxes too."""
EPILOG = """\
--json prints one object a line: namespace, own, subtree, sandbox (whether it is one, or in one).
Exit status: 0 counted; 1 failed; 2 wrong usage."""


class _Node(NamedTuple):
    node: Namespace
    own: int
    subtree: int
    is_sandboxed: bool


def add(parser: argparse.ArgumentParser) -> None:
    filter_flags(parser)


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    filter = filter_of(args, parser)
    async with opened(args, read_only=True) as memory:
        page = await memory.engine.namespaces(filter, MAX_SCAN)
    own = {Namespace.parse(bucket.value): bucket.count for bucket in page.buckets}
    nodes = [node for node in _tree(own) if _is_shown(node.node, filter.reach)]
    if args.json:
        for node in nodes:
            told = {"namespace": str(node.node), "own": node.own, "subtree": node.subtree}
            console.json(json.dumps({**told, "sandbox": node.is_sandboxed}))
        return 0
    rows = [["OWN", "SUBTREE", "NODE"]]
    rows += [[f"{n.own:,}", f"{n.subtree:,}", _label(n)] for n in nodes]
    console.table(rows, right=frozenset({0, 1}))
    if page.truncated:
        console.note(f"Counting stopped after {page.total:,} items: every number is the least it can be.")
    return 0


def _tree(own: dict[Namespace, int]) -> list[_Node]:
    """Every node with items and the nodes above it, each before what is below it."""
    nodes = {above for node in own for above in node.ancestors_and_self()} | {Namespace.ROOT}
    subtree = dict.fromkeys(nodes, 0)
    for node, count in own.items():
        for above in node.ancestors_and_self():
            if not node.is_sandboxed_from(above):
                subtree[above] += count
    return [
        _Node(node, own.get(node, 0), subtree[node], node.is_sandboxed_from(Namespace.ROOT)) for node in sorted(nodes)
    ]


def _is_shown(node: Namespace, reach: Reach | None) -> bool:
    if reach is None:
        return True
    return reach.admits(node) or (reach.descendants and node.is_within(reach.at))


def _label(node: _Node) -> str:
    last = node.node.last
    is_sandbox = last is not None and last.kind is SegmentKind.SERVICE
    return "  " * node.node.depth + (str(last) if last else "root") + ("  (sandbox)" if is_sandbox else "")
