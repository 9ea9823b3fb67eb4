"""CortexDB as the window reads it: what opening, drilling down and listing cost over a server of some delay.

    python tests/benchmarks/bench_cortex.py [--items 20000] [--nodes 20] [--delay-ms 20] [--hosted] [--quick]

The server is the double of the tests, in a process of its own. Prints Markdown tables; results are compared first.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import sys
import tempfile
import time
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).parents[2]))

from generate import Corpus
from measure import at_least, fraction, goals, median, ms, ratio, say, table, timed, timed_async
from peers import TOP, package

from explorer.contract import (
    ExploreRequest,
    Facet,
    HistogramRequest,
    ItemKind,
    MetaFilter,
    Namespace,
    Reach,
    SpanRequest,
    StoreItem,
)
from explorer.contract.engine import explore_many_by_listing
from explorer.engines import EngineSettings, StaticCredential
from explorer.engines.cortex import DIRECT, HOSTED
from explorer.engines.cortex.cache import ListingCache
from explorer.engines.cortex.direct import DirectWire
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.envelope import lay_out
from explorer.engines.cortex.hosted import HostedWire
from explorer.engines.cortex.scopes import Layout
from explorer.engines.cortex.settings import CortexSettings
from tests.doubles.cortexdb import CortexDouble

PASSES = 3
ALL = MetaFilter()
SINGLY = "14 facets one by one"
LISTED = "14 facets over one listing"
SDK = "cortexdbai: every page of every scope"
PEERS = (SINGLY, LISTED, SDK)
_ACTOR = "user:local"


def nodes(count: int) -> list[Namespace]:
    return [Namespace.parse(f"team:t{number % 4}/agent:a{number}") for number in range(count)]


def items(count: int, places: list[Namespace]) -> Iterator[StoreItem]:
    """The stream of the corpus, with its kinds spread over all places alike."""
    corpus = Corpus()
    number = 0
    for block in corpus.rows(0, count):
        for row in block:
            item = corpus.item(row)
            meta = item.meta.model_copy(update={"namespace": places[number % len(places)]})
            yield item.model_copy(update={"meta": meta})
            number += 1


# --- the server


async def serve(args: argparse.Namespace) -> None:
    """Fill a double, tell where it is, and answer until the standard input ends."""
    double = CortexDouble(latency_ms=args.delay_ms)
    layout = Layout(hosted=args.hosted)
    for item in items(args.items, nodes(args.nodes)):
        path = layout.path(item.meta.namespace, item.item_kind)
        for event in lay_out(item, item.fingerprint()):
            scope = double.rooted(path) if args.hosted else path
            double.put(scope, event.text, event.labels, modality=event.modality, role=event.role)
    async with double:
        events = sum(len(double.held(scope)) for scope in double.log.scopes())
        told = {"endpoint": double.endpoint, "token": double.token, "scopes": double.log.scopes(), "events": events}
        print(json.dumps(told), flush=True)
        await asyncio.to_thread(sys.stdin.read)


@dataclass
class Server:
    endpoint: str
    token: str
    scopes: list[str]
    events: int


@asynccontextmanager
async def served(args: argparse.Namespace) -> AsyncIterator[Server]:
    given = ["--items", args.items, "--nodes", args.nodes, "--delay-ms", args.delay_ms, *["--hosted"] * args.hosted]
    process = await asyncio.create_subprocess_exec(
        sys.executable,
        __file__,
        "--serve",
        *map(str, given),
        stdin=asyncio.subprocess.PIPE,
        stdout=asyncio.subprocess.PIPE,
        limit=2**24,
    )
    assert process.stdin is not None
    assert process.stdout is not None
    try:
        yield Server(**json.loads(await process.stdout.readline()))
    finally:
        process.stdin.close()
        await process.wait()


# --- its readers


@dataclass
class Reader:
    """An engine, and what it has asked."""

    engine: CortexEngine
    asked: list[str] = field(default_factory=list)

    def requests(self) -> int:
        """Since the last time."""
        count = len(self.asked)
        self.asked.clear()
        return count


@asynccontextmanager
async def opened(server: Server, args: argparse.Namespace, cache: Path | None = None) -> AsyncIterator[Reader]:
    settings = CortexSettings.of(EngineSettings(endpoint=server.endpoint), hosted=args.hosted)
    wire = (HostedWire if args.hosted else DirectWire)(settings, StaticCredential(server.token))
    kept = None if cache is None else ListingCache(cache, "bench")
    reader = Reader(CortexEngine(wire, settings, HOSTED if args.hosted else DIRECT, kept))
    ask = wire.transport.ask

    async def counted(method: str, route: str, **options: Any) -> Any:
        reader.asked.append(f"{method} {route}")
        return await ask(method, route, **options)

    wire.transport.ask = counted  # type: ignore[method-assign]
    await reader.engine.health()  # connected, as any reader of the same pool is
    reader.requests()
    try:
        yield reader
    finally:
        await reader.engine.aclose()


def exploring(filter: MetaFilter = ALL) -> list[ExploreRequest]:
    return [ExploreRequest(facet=facet, filter=filter, limit=TOP, scan_limit=50_000) for facet in Facet]


async def window(engine: CortexEngine, filter: MetaFilter = ALL) -> list[Any]:
    """All that the window asks when it opens a memory, or a filter is chosen."""
    return list(
        await asyncio.gather(
            engine.changes(filter),
            engine.namespaces(filter),
            engine.explore_many(exploring(filter)),
            engine.histogram(HistogramRequest(filter=filter)),
            _listed(engine, filter),
        )
    )


async def _listed(engine: CortexEngine, filter: MetaFilter) -> int:
    """Until the listing is whole; its length."""
    while (span := await engine.list_span(SpanRequest(filter=filter, offset=0, limit=TOP))).is_partial:
        pass
    return span.total


async def one_by_one(engine: CortexEngine) -> list[Any]:
    """Each facet by itself from the server, as `explore` counts it."""
    return [await engine.explore(req) for req in exploring()]


def sdk_walk(server: Server) -> int:
    """Every event of every scope by CortexDB's own client, one page after another; how many there are."""
    from cortexdb import Cortex

    seen: set[str] = set()
    with Cortex(server.endpoint, actor=_ACTOR, bearer=server.token) as client:
        for scope in server.scopes:
            cursor = None
            while True:
                page = client.events(scope, limit=200, cursor=cursor)
                seen.update(event["id"] for event in page["items"])
                if not page["has_more"]:
                    break
                cursor = page["next_cursor"]
    return len(seen)


class Stalls:
    """How long the loop worked without coming round: for that long a window stands still.

    In processor time of its thread, which other work on the machine does not stretch.
    """

    def __init__(self) -> None:
        self.longest_ms = 0.0

    async def watch(self, work: Awaitable[Any]) -> Any:
        is_over = asyncio.Event()

        async def look() -> None:
            while not is_over.is_set():
                before = time.thread_time()
                await asyncio.sleep(0.0005)
                self.longest_ms = max(self.longest_ms, (time.thread_time() - before) * 1_000)

        async with asyncio.TaskGroup() as group:
            group.create_task(look())
            try:
                return await work
            finally:
                is_over.set()


@dataclass
class Figure:
    times: list[float] = field(default_factory=list)
    requests: int = 0
    longest_ms: float = 0.0


async def bench(args: argparse.Namespace) -> None:
    say(f"filling the double with {args.items:,} items")
    async with served(args) as server:
        say(f"{server.events:,} events in {len(server.scopes)} scopes at {server.endpoint}")
        figures: dict[str, Figure] = {}

        async def measured(name: str, reader: Reader, work: Awaitable[Any]) -> Any:
            reader.requests()
            stalls = Stalls()
            taken, found = await timed_async(stalls.watch, work)
            figure = figures.setdefault(name, Figure())
            figure.longest_ms = max(figure.longest_ms, stalls.longest_ms)
            figure.times.append(taken)
            figure.requests = reader.requests()
            return found

        drilled = MetaFilter(
            reach=Reach.subtree(Namespace.parse("team:t1")), kinds=[ItemKind.DOCUMENT, ItemKind.LEARNING]
        )
        with tempfile.TemporaryDirectory() as folder:
            for number in range(PASSES):
                say(f"pass {number + 1} of {PASSES}")
                async with opened(server, args) as reader:
                    facets = await measured("14 facets", reader, reader.engine.explore_many(exploring()))
                    await measured("the same again", reader, reader.engine.explore_many(exploring()))
                cache = Path(folder) / str(number)
                async with opened(server, args, cache) as reader:
                    first = await measured("opening", reader, window(reader.engine))
                    await measured("drilling down", reader, window(reader.engine, drilled))
                    middle = SpanRequest(offset=args.items // 2, limit=TOP)
                    await measured("the middle of the list", reader, reader.engine.list_span(middle))
                async with opened(server, args, cache) as reader:
                    again = await measured("opening again", reader, window(reader.engine))
                if again[1:] != first[1:] or first[2] != facets:
                    raise SystemExit("the second opening tells something else than the first")
                if package("cortexdb") and not args.hosted:
                    taken, count = await asyncio.to_thread(timed, sdk_walk, server)
                    if count != server.events:
                        raise SystemExit(f"the SDK saw {count:,} of {server.events:,} events")
                    figures.setdefault(SDK, Figure()).times.append(taken)
            if not args.quick:
                say("counting from the server")
                async with opened(server, args) as reader:
                    by_listing = explore_many_by_listing(reader.engine, exploring())
                    listed = await measured(LISTED, reader, by_listing)
                    single = await measured(SINGLY, reader, one_by_one(reader.engine))
                    if not facets == listed == single:
                        raise SystemExit("the counts differ from those of a plain listing")
            kept_bytes = sum(file.stat().st_size for file in (Path(folder) / "0").rglob("*") if file.is_file())

        def times(name: str) -> list[float]:
            return figures[name].times if name in figures else []

        table(
            f"{args.items:,} items, {server.events:,} events, {len(server.scopes)} scopes, "
            f"{args.delay_ms:g} ms a request, {'hosted' if args.hosted else 'Direct'}",
            ["", "requests", "ms", "loop, ms", *(f"of {peer}" for peer in PEERS)],
            [
                [
                    name,
                    figure.requests or ("-" if name == SDK else 0),
                    ms(median(figure.times)),
                    "-" if name == SDK else ms(figure.longest_ms),
                    *(fraction(ratio(figure.times, times(peer))) for peer in PEERS),
                ]
                for name, figure in figures.items()
            ],
            f"Medians of {PASSES} passes, but for the two countings from the server, which are timed once. The loop: "
            "the longest that it worked without coming round, in processor time. Opening includes writing the "
            "cache, which no pane waits for; it holds "
            f"{kept_bytes / args.items:,.0f} bytes an item.",
        )
        one = ratio(times("14 facets"), times(SINGLY))
        twice = ratio(times("opening again"), times("opening"))
        goals(
            [
                ("14 facets in at most 1/10 of the time of one by one", fraction(one), at_least(one, 10)),
                ("opening again in at most 1/2 of the time of opening", fraction(twice), at_least(twice, 2)),
                (
                    "drilling down asks nothing",
                    str(figures["drilling down"].requests),
                    figures["drilling down"].requests == 0,
                ),
                (
                    "opening again asks for the scopes and a page of each",
                    str(figures["opening again"].requests),
                    figures["opening again"].requests == 1 + len(server.scopes),
                ),
            ]
        )


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--items", type=int, default=20_000)
    parser.add_argument("--nodes", type=int, default=20, help="each has a scope for every kind of item")
    parser.add_argument("--delay-ms", type=float, default=20.0)
    parser.add_argument("--hosted", action="store_true")
    parser.add_argument("--quick", action="store_true", help="leave out the countings from the server")
    parser.add_argument("--serve", action="store_true", help=argparse.SUPPRESS)
    args = parser.parse_args()
    for name in list(os.environ):  # the server is on this machine
        if name.lower().endswith("_proxy"):
            del os.environ[name]
    asyncio.run(serve(args) if args.serve else bench(args))


if __name__ == "__main__":
    main()
