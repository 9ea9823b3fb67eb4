"""`tinymemory list`: the items of a memory, a line each."""

from __future__ import annotations

import argparse
from collections.abc import AsyncGenerator

from explorer.cli.options import filter_flags, filter_of, opened, whole_number
from explorer.cli.output import Console, one_line
from explorer.contract import EngineFailure, Hit, ListRequest, MemoryEngine, MetaFilter

HELP = "list items, a line each"
DESCRIPTION = """\
List the items that the flags admit, in the engine's own order: id, day (UTC) and kind, the node, and how the text
begins. `tinymemory get ID` shows one whole."""
EPILOG = """\
--json prints one object a line, the contract's Hit: id, kind, text, meta, score, confidence.
Exit status: 0 listed; 1 failed; 2 wrong usage."""

_PAGE = 200
_MAX_EMPTY_PAGES = 1000


def add(parser: argparse.ArgumentParser) -> None:
    many = parser.add_mutually_exclusive_group()
    many.add_argument("--limit", metavar="N", type=whole_number(), default=50, help="items at most (default: 50)")
    many.add_argument("--all", action="store_true", help="every item")
    filter_flags(parser)


async def run(args: argparse.Namespace, parser: argparse.ArgumentParser, console: Console) -> int:
    filter = filter_of(args, parser)
    limit = None if args.all else args.limit
    listed = 0
    async with opened(args, read_only=True) as memory:
        async for hits, has_more in _pages(memory.engine, filter, limit, is_whole=args.json):
            listed += len(hits)
            if args.json:
                for hit in hits:
                    console.json(hit.model_dump_json())
            else:
                console.table([_row(hit) for hit in hits])
                if has_more and limit is not None and listed >= limit:
                    console.note(f"There are more than these {listed:,}; --limit N or --all shows them.")
    return 0


def _row(hit: Hit) -> list[str]:
    day = hit.meta.observed_at.text[:10] if hit.meta.observed_at else "-"
    return [one_line(hit.id), f"{day:10}", f"{hit.kind:12}", str(hit.meta.namespace), one_line(hit.text, 200)]


async def _pages(
    engine: MemoryEngine, filter: MetaFilter, limit: int | None, *, is_whole: bool
) -> AsyncGenerator[tuple[list[Hit], bool], None]:
    """The hits of each page, and whether the engine has more after it."""
    call = engine.list if is_whole else engine.list_preview
    cursor: str | None = None
    seen: set[str] = set()
    read = empty = 0
    while limit is None or read < limit:
        size = _PAGE if limit is None else min(_PAGE, limit - read)
        page = await call(ListRequest(filter=filter, limit=size, cursor=cursor))
        read += len(page.items)
        cursor = page.next_cursor
        yield page.items, cursor is not None
        if cursor is None:
            return
        empty = 0 if page.items else empty + 1
        if cursor in seen or empty > _MAX_EMPTY_PAGES:
            raise EngineFailure(f"engine `{engine.descriptor().id}` repeats a page of its listing; it may not be whole")
        seen.add(cursor)
