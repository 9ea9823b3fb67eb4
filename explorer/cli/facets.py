"""`tinymemory facets`: the values of each facet, counted."""

from __future__ import annotations

import argparse

from explorer.cli.options import filter_flags, filter_of, opened, whole_number
from explorer.cli.output import Console, one_line, plural
from explorer.contract import ExplorePage, ExploreRequest, Facet, is_blank
from explorer.contract.query import MAX_BUCKETS, MAX_SCAN

HELP = "count the values of each facet"
DESCRIPTION = """\
Count the values of each FACET (all fourteen where none is named) among the items that the flags admit: the largest
first, then how many values were cut and how many items have none."""
EPILOG = """\
--json prints one object a line, the contract's ExplorePage: facet, buckets of value and count, total, missing,
more_buckets, truncated.
Exit status: 0 counted; 1 failed; 2 wrong usage."""


def add(parser: argparse.ArgumentParser) -> None:
    parser.add_argument("facets", metavar="FACET", nargs="*", type=_facet, help=f"one of {', '.join(Facet)}")
    parser.add_argument(
        "--limit", metavar="N", type=whole_number(MAX_BUCKETS), default=20, help="values a facet at most (default: 20)"
    )
    filter_flags(parser)


def _facet(name: str) -> Facet:
    try:
        return Facet(name)
    except ValueError:
        raise argparse.ArgumentTypeError(f"`{name}` is no facet; choose of {', '.join(Facet)}") from None


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    filter = filter_of(args, parser)
    asked = list(dict.fromkeys(args.facets)) or list(Facet)
    requests = [ExploreRequest(facet=facet, filter=filter, limit=args.limit, scan_limit=MAX_SCAN) for facet in asked]
    async with opened(args, read_only=True) as memory:
        pages = await memory.engine.explore_many(requests)
    for number, page in enumerate(pages):
        if args.json:
            console.json(page.model_dump_json())
        else:
            if number:
                console.out()
            _print(page, console)
    return 0


def _print(page: ExplorePage, console: Console) -> None:
    least = "at least " if page.truncated else ""
    without = f", {page.missing:,} without" if page.missing else ""
    console.out(f"{page.facet}: {least}{plural(page.total, 'item')}{without}")
    rows = [
        ["", f"{bucket.count:,}", "(empty)" if is_blank(bucket.value) else one_line(bucket.value)]
        for bucket in page.buckets
    ]
    console.table(rows, right=frozenset({1}))
    if page.more_buckets:
        console.out(f"  and {plural(page.more_buckets, 'more value', 'more values')}")
