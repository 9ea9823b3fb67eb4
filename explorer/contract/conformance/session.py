"""One run of the suite against one engine: its own names, how it asks, and how it judges.

Source: contract, "The conformance suite".
"""

from __future__ import annotations

import itertools
import time
from collections.abc import Awaitable, Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import Protocol, TypeVar

from explorer.contract.conformance.failures import CheckFailed, EngineFailed
from explorer.contract.engine import MemoryEngine
from explorer.contract.errors import TinyMemoryError
from explorer.contract.items import (
    Conversation,
    Document,
    DocumentBody,
    ItemId,
    Learning,
    LearningKind,
    Role,
    StoreItem,
    Turn,
)
from explorer.contract.meta import MemoryMeta, MetaFilter, SourceKind, SourceRef, ToolCallRef
from explorer.contract.namespace import Namespace, Reach, Segment, SegmentKind
from explorer.contract.query import EngineDescriptor, FetchMode, FetchRequest, Hit, ListRequest
from explorer.contract.timestamp import Timestamp

T = TypeVar("T")
OnCheck = Callable[[int], None]

MAX_PAGES = 10_000
_PAGE = 2
_TURN_TIME = Timestamp.parse("2025-05-06T07:08:09Z")
_runs = itertools.count()


class _Page(Protocol):
    @property
    def next_cursor(self) -> str | None: ...


PageT = TypeVar("PageT", bound=_Page)


def new_marker() -> str:
    """A word that no other run uses, in this process or another, and that no text holds by chance."""
    return f"tmconf{time.time_ns():x}{next(_runs):x}"


class Session:
    """The engine under test, and the names under which this run stores what it stores."""

    def __init__(self, engine: MemoryEngine, on_check: OnCheck | None = None, marker: str | None = None) -> None:
        self.engine = engine
        self.marker = marker or new_marker()
        self.workspace = f"tinymemory-conformance/{self.marker.removeprefix('tmconf')}"
        self.probe_workspace = f"{self.workspace}/probes"
        self.filter = MetaFilter(workspace=self.workspace)
        self.probe_filter = MetaFilter(workspace=self.probe_workspace)
        self.sandbox = Namespace((*self.node("a").segments, Segment(SegmentKind.SERVICE, "job")))
        self._group = ""
        self._on_check = on_check

    # --- what is stored

    def node(self, name: str, kind: SegmentKind = SegmentKind.AGENT) -> Namespace:
        return Namespace((Segment(kind, f"{self.marker}-{name}"),))

    def meta(self, **fields: object) -> MemoryMeta:
        return MemoryMeta.model_validate({"workspace": self.workspace, **fields})

    def narrowed(self, **fields: object) -> MetaFilter:
        """The run's filter with more conditions."""
        return MetaFilter.model_validate({"workspace": self.workspace, **fields})

    def document(self, label: str, **meta: object) -> Document:
        return Document(body=DocumentBody(text=f"{self.marker} {label} note"), meta=self.meta(**meta))

    def fact(self, text: str, confidence: float, **meta: object) -> Learning:
        return Learning(text=text, kind=LearningKind.FACT, confidence=confidence, meta=self.meta(**meta))

    def round_trip_items(self) -> list[StoreItem]:
        """One item of each kind, with everything set that its kind can hold."""
        asked = Turn(role=Role.USER, text=f"{self.marker} Which berth is ours?", at=_TURN_TIME)
        answered = Turn(
            role=Role.ASSISTANT,
            text="The third from the mole.",
            at=_TURN_TIME,
            tool_calls=[ToolCallRef(name="harbour_plan", id="call-7")],
        )
        thread = SourceRef(kind=SourceKind.CONVERSATION, id=f"{self.marker}-thread")
        return [
            Document(
                title="Harbour rules",
                body=DocumentBody(text=f"{self.marker} Boats give way to the ferry."),
                mime="text/markdown",
                meta=self.meta(tags=["roundtrip"]),
            ),
            Conversation(turns=[asked, answered], meta=self.meta(source=thread)),
            Learning(
                text=f"{self.marker} Prefers a berth near the mole.",
                kind=LearningKind.PREFERENCE,
                confidence=0.75,
                evidence="chose one on three visits",
                meta=self.meta(),
            ),
        ]

    # --- how it judges

    def begin(self, group: str) -> None:
        self._group = group

    def expect(self, number: int, holds: bool, detail: str) -> None:
        """Count check `number` as done; raise CheckFailed with `detail`, what was seen instead, unless it holds."""
        if self._on_check is not None:
            self._on_check(number)
        if not holds:
            raise self.wrong(number, detail)

    def wrong(self, number: int, detail: str) -> CheckFailed:
        return CheckFailed(self._group, number, detail)

    def failed(self, number: int, error: Exception) -> EngineFailed:
        said = str(error) if isinstance(error, TinyMemoryError) else f"{type(error).__name__}: {error}"
        return EngineFailed(self._group, number, said)

    # --- how it asks

    async def served(self, number: int, call: Awaitable[T]) -> T:
        """The answer to a call that every engine must serve; whatever it raises is the engine's failure."""
        try:
            return await call
        except Exception as error:
            raise self.failed(number, error) from error

    async def served_unless(self, number: int, refusal: type[TinyMemoryError], call: Awaitable[T]) -> T | None:
        """As `served`, but None where the engine may and does refuse."""
        try:
            return await call
        except refusal:
            return None
        except Exception as error:
            raise self.failed(number, error) from error

    async def refused(self, number: int, call: Awaitable[object], *kinds: type[TinyMemoryError]) -> None:
        """Check `number`: the call must be refused with one of `kinds`."""
        wanted = " or ".join(kind.label for kind in kinds)
        try:
            await call
        except kinds:
            self.expect(number, True, "")
        except Exception as error:
            raise self.wrong(number, f"refused with `{error}` instead of {wanted}") from error
        else:
            self.expect(number, False, f"served instead of refused as {wanted}")

    def descriptor(self, number: int) -> EngineDescriptor:
        try:
            return self.engine.descriptor()
        except Exception as error:
            raise self.failed(number, error) from error

    def modes(self, number: int) -> list[FetchMode]:
        return self.descriptor(number).fetch_modes

    async def store(self, number: int, item: StoreItem) -> ItemId:
        return (await self.served(number, self.engine.store(item))).id

    async def pages(
        self, number: int, ask: Callable[[str | None], Awaitable[PageT]], first: PageT | None = None
    ) -> list[PageT]:
        """Every page, from the first to the one without a next cursor."""
        page = first if first is not None else await self.served(number, ask(None))
        pages = [page]
        seen: set[str] = set()
        while page.next_cursor is not None:
            if page.next_cursor in seen:
                raise self.wrong(number, f"the cursor `{page.next_cursor}` came twice, so paging never ends")
            if len(pages) >= MAX_PAGES:
                raise self.wrong(number, f"no end after {MAX_PAGES} pages")
            seen.add(page.next_cursor)
            page = await self.served(number, ask(page.next_cursor))
            pages.append(page)
        return pages

    async def list_all(self, number: int, filter: MetaFilter) -> list[Hit]:
        """Everything that `filter` admits, two at a time."""
        pages = await self.pages(
            number, lambda cursor: self.engine.list(ListRequest(filter=filter, limit=_PAGE, cursor=cursor))
        )
        hits = [hit for page in pages for hit in page.items]
        for hit in hits:
            if hit.score != 0.0:
                raise self.wrong(number, f"{hit.id} is listed with the score {hit.score}")
        return hits

    async def list_ids(self, number: int, filter: MetaFilter) -> list[ItemId]:
        return [hit.id for hit in await self.list_all(number, filter)]

    async def fetch_ids(self, number: int, query: str, mode: FetchMode, filter: MetaFilter, limit: int) -> list[ItemId]:
        """Everything found; a page may be shorter than its limit, so cursors are followed here as well."""
        pages = await self.pages(
            number,
            lambda cursor: self.engine.fetch(
                FetchRequest(query=query, mode=mode, filter=filter, limit=limit, cursor=cursor)
            ),
        )
        return [hit.id for page in pages for hit in page.hits]


@dataclass(frozen=True)
class Group:
    """A group of checks: its name, what each of its numbers stands for, and how they are made."""

    name: str
    checks: Mapping[int, str]
    make: Callable[[Session], Awaitable[None]]


def same(left: Iterable[str], right: Iterable[str]) -> bool:
    """Whether both hold the same, in any order, repeats included."""
    return sorted(left) == sorted(right)


def admitting(filter: MetaFilter, reach: Reach | None) -> MetaFilter:
    return filter.model_copy(update={"reach": reach})
