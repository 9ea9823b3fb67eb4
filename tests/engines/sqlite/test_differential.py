"""Every operation of the engine against the reference engine: random items, filters, reaches and calls, one file.

What the contract leaves to an engine is compared with a definition of its own: the order of listings with a sort, the
hits of a query with a table of what each of its words finds.

The random calls are the same in every run. TINYMEMORY_SEED takes others; a failure names the seed, and the shortest
list of calls found that still fails.
"""

from __future__ import annotations

import asyncio
import os
import random
import sys
import time
from collections.abc import Awaitable, Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field, replace
from itertools import dropwhile, zip_longest
from pathlib import Path
from typing import Any, TypeVar
from zlib import crc32

import numpy as np
import numpy.typing as npt
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from explorer.contract import (
    MAX_STORE_MANY,
    EngineHealth,
    EraseRequest,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    HistogramRequest,
    Hit,
    ItemId,
    ListRequest,
    MetaFilter,
    RecallRequest,
    StoreItem,
    TinyMemoryError,
    Unsupported,
    parse_item,
)
from explorer.contract.model import Model
from explorer.contract.namespace import EVERYTHING
from explorer.contract.reference import ReferenceEngine
from explorer.contract.wire import dumps, round_f32
from explorer.engines.sqlite import SqliteEngine
from explorer.engines.sqlite.checking import check_file
from tests.contract import strategies as wild
from tests.engines.sqlite.strategies import Maker, Operation, Question, shown

SEED = os.environ.get("TINYMEMORY_SEED", "0")
WORLDS = 16
OPERATIONS = 630  # in each world
LIMITS = {
    **{"RUN": 8, "SEGMENT": 32, "LOG_KEPT": 1, "_SLOTS": 2},
    **{"_FEW": 5, "_FIRST_BLOCK": 4, "_SORTED_ANEW": 9, "_FEW_TIES": 2, "_MOST_WALKED": 8},
    **{"_KEPT": 2, "_KEPT_RANKINGS": 1, "_STRINGS_KEPT": 8, "_ASKED_AT_ONCE": 3},
    **{"_PIECE": 3, "_BLOCK": 5, "_SAMPLED": 40, "_WORTH": 2},
}
"""Sizes from which the engine goes another way, so small that a few items cross them; every second world has them."""

EVERY = 2**64 - 1
PAGES = 5  # of a listing or ranking that are read at most
READS = 3  # beside one change, at most
SHRINKING_S = 90.0
LIMIT_S = 20.0  # for one operation

UNFINISHED = "is not finished: its log still holds traces"

READERS = (*["first"] * 4, *["second"] * 3, "read-only")
WRITERS = ("first", "first", "second")
STORES = ("store", "store_many", "store_with", "store_many_with")
CHANGES = (*STORES, "forget", "forget_within", "erase")

Key = tuple[bool, int, int]
T = TypeVar("T", ExploreRequest, HistogramRequest)

NOTHING = "nothing"


class Difference(AssertionError):
    """Says where two answers first differ, and how."""

    def __init__(self, got: object, expected: object) -> None:
        place = ""
        while (inner := _first_difference(got, expected)) is not None:
            step, got, expected = inner
            place += step
        super().__init__(f"at answer{place}: got {shown(got)}, expected {shown(expected)}")


def _first_difference(got: Any, expected: Any) -> tuple[str, Any, Any] | None:
    """The first part in which two values differ; None where they do not have the same parts."""
    if type(got) is not type(expected):
        return None
    if isinstance(got, list | tuple) and got != [] != expected:
        pairs = zip_longest(got, expected, fillvalue=NOTHING)
        return next((f"[{at}]", *pair) for at, pair in enumerate(pairs) if pair[0] != pair[1])
    if isinstance(got, Model):
        names = type(got).model_fields
        return next((f".{n}", a, b) for n in names if (a := getattr(got, n)) != (b := getattr(expected, n)))
    return None


def same(got: object, expected: object) -> None:
    if got != expected:
        raise Difference(got, expected)


async def outcome(answer: Awaitable[Any]) -> Any:
    """What a call returns, or the contract's error that it raises: those compare by kind and sentence."""
    try:
        return await answer
    except TinyMemoryError as error:
        return error


class Trigrams:
    """An embedder for tests: which trigrams a text has."""

    name = "trigrams"
    dims = 64

    def embed(self, texts: Sequence[str]) -> npt.NDArray[np.float32]:
        counts = np.zeros((len(texts), self.dims), np.float32)
        for row, text in enumerate(texts):
            for start in range(len(text) - 2):
                counts[row, crc32(text[start : start + 3].encode()) % self.dims] += 1
        norms: npt.NDArray[np.float32] = np.linalg.norm(counts, axis=1, keepdims=True)
        return counts / np.maximum(norms, 1e-9, dtype=np.float32)

    def close(self) -> None:
        pass


@dataclass(frozen=True)
class Listing:
    """A listing that is read page by page while other operations come between."""

    filter: MetaFilter
    limit: int
    cursor: str | None = None
    last: Key | None = None
    """The sort key of the last item shown."""


class World:
    """Engines over one file, and the reference engine, which is told the same."""

    def __init__(self, path: Path, *, has_vectors: bool = False) -> None:
        """`has_vectors`: whether the first engine makes them; the others then go on without."""
        self._path = path
        self._has_vectors = has_vectors
        self._reference = ReferenceEngine()
        self._engines: dict[str, SqliteEngine] = {}
        self._arrivals: dict[ItemId, int] = {}
        self._stored = 0
        self._listings: dict[int, Listing] = {}

    async def __aenter__(self) -> World:
        same((await self._engine("first").health()).state, "ok")  # makes the file, which a read-only one needs
        return self

    async def __aexit__(self, *_: object) -> None:
        for engine in self._engines.values():
            await asyncio.wait_for(engine.aclose(), LIMIT_S)

    @property
    def ids(self) -> list[ItemId]:
        """Of all items that were stored, those that are gone again included."""
        return list(self._arrivals)

    async def run(self, operation: Operation) -> None:
        """Call both, and raise Difference where their answers differ."""
        engine, args = self._engine(operation.by), operation.args
        match operation.name:
            case "together":
                await self._together(*args)
            case "page":
                await self._page(engine, *args)
            case "fetch":
                await self._fetch(engine, *args)
            case "fetch_explained":
                await self._fetch_explained(engine, *args)
            case "recall":
                await self._recall(engine, *args)
            case "health":
                await self._become_healthy(engine)
            case "reopen":
                await self._reopen(operation.by)
            case "check":
                await self._check()
            case _:
                same(*await asyncio.gather(outcome(self._ask(engine, operation)), outcome(self._expect(operation))))

    async def _become_healthy(self, engine: SqliteEngine) -> None:
        """At once, unless others use the file all the time, so that the log of a removal is not empty yet."""
        deadline = time.monotonic() + LIMIT_S / 2
        while True:
            health = await engine.health()
            if UNFINISHED not in (health.reason or "") or time.monotonic() > deadline:
                break
            await asyncio.sleep(0.01)
        same(health, EngineHealth.ok())

    async def _check(self) -> None:
        """The file's indexes hold what its items say, and its items are as many as they must be."""
        checked = await asyncio.to_thread(check_file, self._path)
        same([problem.text for problem in checked.problems], [])
        same(checked.items, len(self._reference))

    def _engine(self, name: str) -> SqliteEngine:
        if name not in self._engines:
            embedder = Trigrams() if self._has_vectors and name == "first" else None
            self._engines[name] = SqliteEngine(self._path, read_only=name == "read-only", embedder=embedder)
        return self._engines[name]

    async def _ask(self, engine: SqliteEngine, operation: Operation) -> Any:
        call, args = getattr(engine, operation.name), operation.args
        match operation.name:
            case "list" | "list_preview" | "export":
                return await _walk(call, *args)
            case "erase":
                report = await call(*args)
                same([receipt for receipt in report.receipts if UNFINISHED not in receipt], [])
                return report.model_copy(update={"receipts": []})
        return await call(*args)

    async def _expect(self, operation: Operation) -> Any:
        """What the engine must answer; a change is done to the reference engine."""
        call, args = getattr(self._reference, operation.name), operation.args
        match operation.name:
            case "list" | "list_preview" | "export":
                refused_or_one = args[0].model_copy(update={"limit": min(args[0].limit, 1)})
                await call(refused_or_one)
                ordered: list[Any] = await self._listed(args[0].filter)
                if operation.name == "export":
                    page = await call(ListRequest(filter=args[0].filter, limit=EVERY))
                    by_id = {exported.id: exported for exported in page.items}
                    ordered = [by_id[hit.id] for hit in ordered]
                most = PAGES * args[0].limit
                return ordered[:most], len(ordered) <= most
            case "explore" | "histogram":
                return await call(_scanning_all(args[0]))
            case "explore_many":
                return await call([_scanning_all(req) for req in args[0]])
            case "consolidate":
                args[0].check()
                raise Unsupported("engine `sqlite` does not consolidate memory")
        answer = await call(*args)
        if operation.name in STORES:
            for receipt in answer if isinstance(answer, list) else [answer]:
                if not receipt.replayed:
                    self._stored += 1
                    self._arrivals[receipt.id] = self._stored
        return answer

    def _key(self, hit: Hit) -> Key:
        """Newest first is this, descending: dated before undated, later before earlier, later stored before earlier."""
        at = hit.meta.observed_at
        return at is not None, 0 if at is None else at.unix_ns, self._arrivals[hit.id]

    async def _listed(self, filter: MetaFilter) -> list[Hit]:
        page = await self._reference.list(ListRequest(filter=filter, limit=EVERY))
        return sorted(page.items, key=self._key, reverse=True)

    async def _page(self, engine: SqliteEngine, slot: int, filter: MetaFilter, limit: int) -> None:
        """The next page of a listing that was begun, of a new one where there is none."""
        listing = self._listings.pop(slot, None) or Listing(filter, limit)
        req = ListRequest(filter=listing.filter, limit=listing.limit, cursor=listing.cursor)
        page = await engine.list(req)
        rest = [
            hit for hit in await self._listed(listing.filter) if listing.last is None or self._key(hit) < listing.last
        ]
        same(page.items, rest[: listing.limit])
        same(page.next_cursor is None, len(rest) <= listing.limit)
        if page.next_cursor is not None:
            self._listings[slot] = replace(listing, cursor=page.next_cursor, last=self._key(page.items[-1]))

    async def _together(self, change: Operation, read: Operation) -> None:
        """Reads beside a change see nothing of it or all of it, and then go on seeing that."""
        before = await outcome(self._expect(read))
        changing = asyncio.ensure_future(outcome(self._ask(self._engine(change.by), change)))
        answers = []
        while not changing.done() and len(answers) < READS:
            answers.append(await outcome(self._ask(self._engine(read.by), read)))
        same(await changing, await outcome(self._expect(change)))
        after = await outcome(self._expect(read))
        for answer in dropwhile(lambda answer: answer == before, answers):
            same(answer, after)

    async def _reopen(self, name: str) -> None:
        await self._engine(name).aclose()
        del self._engines[name]
        facets = [ExploreRequest(facet=facet, limit=50) for facet in Facet]
        await self.run(Operation("explore_many", (facets,), name))

    async def _fetch(self, engine: SqliteEngine, req: FetchRequest, question: Question) -> None:
        ranked = await outcome(self._ranked(engine, req, question))
        if isinstance(ranked, TinyMemoryError):
            same(await outcome(engine.fetch(req)), ranked)
            return
        admitted, by_words = ranked
        found, is_end = await _walk(engine.fetch, req)
        same([hit.model_copy(update={"score": 0.0}) for hit in found], [admitted.get(hit.id) for hit in found])
        ids = {hit.id for hit in found}
        same(len(ids), len(found))
        if req.mode is FetchMode.KEYWORD:
            same(ids - by_words, set())
            same((len(found), is_end), (min(len(by_words), PAGES * req.limit), len(by_words) <= PAGES * req.limit))
        elif req.mode is FetchMode.HYBRID and is_end:
            same(by_words - ids, set())
        ranks = [(req.refers_to is not None and req.refers_to.covers(hit.meta.observed_at), hit.score) for hit in found]
        same(ranks, sorted(ranks, reverse=True))

    async def _ranked(
        self, engine: SqliteEngine, req: FetchRequest, question: Question
    ) -> tuple[dict[ItemId, Hit], set[ItemId]]:
        """The items that a ranked read may find, and those of them that hold a word of the question."""
        engine.refuse_undeclared(req.mode)
        all_at_once = {"limit": min(req.limit, 1) * EVERY, "mode": FetchMode.KEYWORD}
        simply = {hit.id for hit in (await self._reference.fetch(req.model_copy(update=all_at_once))).hits}
        admitted = {hit.id: hit for hit in await self._listed(req.filter)}
        by_words = {id for id, hit in admitted.items() if any(each in hit.text for each in question.fragments)}
        # The table against the reference engine, whose words are simpler ones: parts of words are none.
        same(simply ^ by_words if question.is_plain else simply - by_words, set())
        return admitted, by_words

    async def _fetch_explained(self, engine: SqliteEngine, req: FetchRequest, question: Question) -> None:
        explained, page = await outcome(engine.fetch_explained(req)), await outcome(engine.fetch(req))
        if isinstance(page, TinyMemoryError):
            same(explained, page)
            return
        if req.mode is FetchMode.KEYWORD:  # vectors may come between the two calls
            same(([each.hit for each in explained.hits], explained.next_cursor), (page.hits, page.next_cursor))
        for each in explained.hits:
            same(round_f32(each.breakdown.final_score), each.hit.score)
            if each.passage is not None:
                same(0 <= each.passage.start < each.passage.stop <= len(each.hit.text), True)

    async def _recall(self, engine: SqliteEngine, req: RecallRequest, question: Question) -> None:
        answer = await outcome(engine.recall(req))
        try:
            req.check()
        except TinyMemoryError as error:
            same(answer, error)
            return
        ranked = FetchRequest(query=question.text, mode=FetchMode.KEYWORD, filter=req.filter, limit=EVERY)
        admitted, by_words = await self._ranked(engine, ranked, question)
        ids = {citation.id for citation in answer.citations}
        same(ids - (by_words if engine.descriptor().fetch_modes == [FetchMode.KEYWORD] else admitted.keys()), set())
        same(len(ids), len(answer.citations))
        same(len(answer.citations) <= req.limit, True)
        same(bool(answer.citations), answer.answer != "Nothing stored answers this question.")
        for citation in answer.citations:
            hit = admitted[citation.id]
            same((citation.kind, citation.meta), (hit.kind, hit.meta))
            if citation.snippet.strip("…").strip() not in hit.text:
                raise Difference(citation.snippet, hit.text)


async def _walk(call: Callable[[Any], Awaitable[Any]], req: Any) -> tuple[list[Any], bool]:
    """What the first pages show, and whether the end was among them."""
    shown: list[Any] = []
    for _ in range(PAGES):
        page = await call(req)
        entries = page.hits if isinstance(req, FetchRequest) else page.items
        same(len(entries) <= req.limit, True)
        same([*getattr(page, "beliefs", []), *getattr(page, "incomplete", [])], [])
        shown += entries
        if page.next_cursor is None:
            return shown, True
        req = req.model_copy(update={"cursor": page.next_cursor})
    return shown, False


def _scanning_all(req: T) -> T:
    """The embedded engine counts everything, whatever the scan limit; a limit out of bounds is refused by both."""
    return req.model_copy(update={"scan_limit": 50_000}) if 1 <= req.scan_limit <= 50_000 else req


# --- worlds, and what is left of one that failed


@dataclass
class Play:
    """One random world: where its file goes, and the calls made so far."""

    folder: Path
    number: int
    operations: list[Operation] = field(default_factory=list, repr=False)
    runs: int = 0

    async def play(self) -> None:
        """Make the calls of this world; AssertionError with what it takes to see a failure again."""
        rand = random.Random(f"{SEED}:{self.number}")
        make = Maker(rand)
        with _with_constants(self._constants):
            try:
                async with self._world() as world:
                    if self.number == 1:  # so many strings came and went that codes take two bytes
                        for _ in range(4):
                            batch = [make.fresh() for _ in range(MAX_STORE_MANY)]
                            await self._run(world, Operation("store_many", (batch,)))
                        everything = EraseRequest(reach=EVERYTHING, whole_tree=True)
                        await self._run(world, Operation("erase", (everything,)))
                    for _ in range(rand.choice([0, 1, 2])):
                        await self._run(world, Operation("store_many", ([make.item() for _ in range(20)],)))
                    while len(self.operations) < OPERATIONS:
                        await self._run(world, self._next(make, world.ids))
                    await self._run(world, Operation("check", ()))
            except Exception as error:
                raise AssertionError(await self._report(error)) from error

    @property
    def _constants(self) -> dict[str, int]:
        return LIMITS if self.number % 2 else {}

    def _next(self, make: Maker, ids: list[ItemId]) -> Operation:
        if make.rand.random() < 0.02:
            return make.together(ids)
        operation = make.operation(ids, READERS)
        return replace(operation, by=make.rand.choice(WRITERS)) if operation.name in CHANGES else operation

    async def _run(self, world: World, operation: Operation) -> None:
        self.operations.append(operation)
        await asyncio.wait_for(world.run(operation), LIMIT_S)

    def _world(self) -> World:
        self.runs += 1
        made = self.folder / f"{self.number}-{self.runs}"
        made.mkdir()
        return World(made / "memory.db", has_vectors=self.number % 4 == 3)

    async def _report(self, error: Exception) -> str:
        # What hangs would hang again, each time.
        is_hanging = isinstance(error, TimeoutError)
        left, again = (self.operations, None) if is_hanging else await self._shrunk(self.operations)
        last = self.operations[-1] if self.operations else "opening it"
        lines = "\n".join(map(str, left))
        return (
            f"world {self.number} of TINYMEMORY_SEED={SEED}, call {len(self.operations)}, "
            f"{last}:\n{error!r}\n"
            + (f"These calls fail too: {again!r}" if again else "The same calls did not fail again:")
            + f"\n{lines}"
        )

    async def _failure(self, operations: Sequence[Operation]) -> Exception | None:
        """What fails where just these calls are made."""
        try:
            async with self._world() as world:
                for operation in operations:
                    await asyncio.wait_for(world.run(operation), LIMIT_S)
        except Exception as error:
            return error
        return None

    async def _shrunk(self, operations: list[Operation]) -> tuple[list[Operation], Exception | None]:
        """A shorter list that fails too, and how: single items for batches, then without what it can do without."""
        deadline = time.monotonic() + SHRINKING_S
        error = await self._failure(operations)
        if error is None:
            return operations, None

        async def is_enough(tried: list[Operation]) -> bool:
            nonlocal operations, error
            failure = await self._failure(tried) if time.monotonic() < deadline else None
            if failure is not None:
                operations, error = tried, failure
            return failure is not None

        await is_enough([part for operation in operations for part in _parts(operation)])
        size = len(operations) // 2
        while size:
            start = 0
            while start < len(operations):
                if not await is_enough(operations[:start] + operations[start + size :]):
                    start += size
            size //= 2
        position = 0
        while position < len(operations):
            for plainer in _plainer(operations[position]):
                if await is_enough([*operations[:position], plainer, *operations[position + 1 :]]):
                    break
            else:
                position += 1
        return operations, error


def _parts(operation: Operation) -> list[Operation]:
    if operation.name == "store_many":
        return [replace(operation, name="store", args=(item,)) for item in operation.args[0]]
    return [operation]


def _plainer(operation: Operation) -> Iterator[Operation]:
    """The same call with one thing less: an element of its list, a condition of its filter, a field of its item."""
    if not operation.args:
        return
    first, *rest = operation.args
    if isinstance(first, list):
        fewer: Iterator[Any] = (first[:at] + first[at + 1 :] for at in range(len(first)))
    elif isinstance(first, StoreItem):
        fewer = (first.model_copy(update={"meta": meta}) for meta in _unset(first.meta))
    elif isinstance(getattr(first, "filter", None), MetaFilter):
        fewer = (first.model_copy(update={"filter": filter}) for filter in _unset(first.filter))
    else:
        return
    for less in fewer:
        yield replace(operation, args=(less, *rest))


def _unset(model: Model) -> Iterator[Model]:
    """The model without each of the fields that are set."""
    for name, each in type(model).model_fields.items():
        default = each.get_default(call_default_factory=True)
        if getattr(model, name) != default:
            yield model.model_copy(update={name: default})


@contextmanager
def _with_constants(constants: Mapping[str, int]) -> Iterator[None]:
    """The engine with other values for these constants, wherever in its modules they are."""
    package = SqliteEngine.__module__.rpartition(".")[0]
    modules = [module for name, module in sorted(sys.modules.items()) if name.startswith(package)]
    with pytest.MonkeyPatch.context() as patch:
        for name, value in constants.items():
            holders = [module for module in modules if name in vars(module)]
            assert holders, f"the engine has no {name} any more; take what now stands for it into LIMITS"
            for module in holders:
                patch.setattr(module, name, value)
        yield


@pytest.mark.limit_s(900)
async def test_every_operation_answers_as_the_reference_engine(folder: Path) -> None:
    compared = 0
    for number in range(WORLDS):
        play = Play(folder, number)
        await play.play()
        compared += len(play.operations)
    print(f"{compared:,} operations compared, TINYMEMORY_SEED={SEED}")
    assert compared >= 10_000


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(st.lists(wild.items, min_size=1, max_size=8), st.data())
def test_wild_items(tmp_path: Path, raw: list[wild.JsonObject], data: st.DataObject) -> None:
    """Any text anywhere: NUL, quotes, surrogate-free Unicode, times of all years."""
    items = [parse_item(dumps(value)) for value in raw]
    filter = data.draw(wild.filters.map(MetaFilter.model_validate))
    if data.draw(st.booleans()):
        # A filter made of an item's own values, which random text would not hit.
        meta = data.draw(st.sampled_from(items)).meta
        own: dict[str, Any] = {
            "reach": None,
            **{name: getattr(meta, name) for name in ("workspace", "folder", "file_path", "language", "repo", "url")},
            "tags_any": meta.tags,
            "observed_after": meta.observed_at,
        }
        filter = MetaFilter(**own)
    ids = [item.fingerprint() for item in items]

    async def check() -> None:
        async with World(tmp_path / f"{data.draw(st.uuids(version=4), label='name')}.db") as world:
            for item in items:
                await world.run(Operation("store", (item,)))
            for admitted in (filter, MetaFilter()):
                for limit in (2, EVERY):
                    await world.run(Operation("list", (ListRequest(filter=admitted, limit=limit),)))
                await world.run(Operation("export", (ListRequest(filter=admitted, limit=3),)))
                reqs = [ExploreRequest(facet=facet, filter=admitted, limit=2) for facet in Facet]
                await world.run(Operation("explore_many", (reqs,)))
                await world.run(Operation("namespaces", (admitted,)))
            await world.run(Operation("get_items", (GetRequest(ids=ids, reach=filter.reach),)))
            await world.run(Operation("forget", (ForgetTarget(filter=filter),)))
            await world.run(Operation("forget", (ForgetTarget(ids=ids),)))
            await world.run(Operation("namespaces", (MetaFilter(),)))

    asyncio.run(check())
