"""Requests and answers of the engine's calls; `check()` on a request raises InvalidRequest by the contract's limits.

Source: memory-v2, "Recall", "Fetch and list", "Explore and get", "Export", "Erase"; contract, "Validation and errors".
"""

from __future__ import annotations

import re
from datetime import date, datetime
from enum import StrEnum
from typing import Annotated, Any, ClassVar, Literal

from pydantic import BeforeValidator, Field, model_validator

from explorer.contract.errors import InvalidRequest
from explorer.contract.facets import Facet, FacetBucket
from explorer.contract.items import AnyItem, ItemId, StoreItem
from explorer.contract.meta import ItemKind, MemoryMeta, MetaFilter
from explorer.contract.model import F32, Count, Flag, Model, Text, is_blank
from explorer.contract.namespace import Reach
from explorer.contract.timestamp import Timestamp, zone_named

MAX_STORE_MANY = 100
MAX_GET_IDS = 200
MAX_BUCKETS = 500
MAX_SCAN = 50_000
DEFAULT_SCAN = 5_000
NOTHING_ANSWERS = "Nothing stored answers this question."
"""What `recall` answers, without citations, where it found nothing."""
_DAY = re.compile(r"\d{4}-\d\d-\d\d", re.ASCII)


class FetchMode(StrEnum):
    KEYWORD = "keyword"
    VECTOR = "vector"
    HYBRID = "hybrid"


def _read_day(value: object) -> object:
    """Keep pydantic from reading numbers and times of day as dates."""
    is_day = (isinstance(value, str) and _DAY.fullmatch(value)) or (
        isinstance(value, date) and not isinstance(value, datetime)
    )
    if not is_day:
        raise ValueError("a day must be written like 2026-10-04")
    return value


Day = Annotated[date, BeforeValidator(_read_day)]


class TimeHint(Model):
    """The days that a question refers to, both included, read in `zone` (UTC when unset). Newer than memory-v2."""

    from_: Day = Field(alias="from")
    to: Day
    zone: Text | None = None

    def check(self) -> None:
        if self.from_ > self.to:
            raise InvalidRequest("a time hint must not end before it begins")
        zone_named(self.zone)

    def covers(self, observed_at: Timestamp | None) -> bool:
        if observed_at is None:
            return False
        try:
            day = observed_at.astimezone(zone_named(self.zone)).date()
        except OverflowError:
            return False  # in that zone it is a day before the year 1 or after 9999, which no hint can name
        return self.from_ <= day <= self.to


class Hit(Model):
    """An item as a read shows it: its rendered text, and a score where it was ranked (else 0.0)."""

    id: ItemId
    kind: ItemKind
    text: Text
    meta: MemoryMeta
    score: F32
    confidence: F32 | None = None
    """A learning's confidence; None for other kinds."""

    @classmethod
    def of_item(cls, id: ItemId, item: StoreItem, score: float = 0.0) -> Hit:
        return cls(
            id=id,
            kind=item.item_kind,
            text=item.render_text(),
            meta=item.meta,
            score=score,
            confidence=item.confidence_or_none,
        )


class RecallRequest(Model):
    question: Text
    filter: MetaFilter = Field(default_factory=MetaFilter)
    limit: Count
    instructions: Text | None = None
    refers_to: TimeHint | None = None

    def check(self) -> None:
        if is_blank(self.question):
            raise InvalidRequest("recall question must not be empty")
        _check_limit("recall", self.limit)
        if self.refers_to is not None:
            self.refers_to.check()


class Passage(Model):
    """A piece of an item: the characters `start` to `stop` (not included) of its rendered text. Not in memory-v2."""

    start: Count
    stop: Count


class Citation(Model):
    id: ItemId
    kind: ItemKind
    snippet: Text
    meta: MemoryMeta
    score: F32 | None = None
    place: Passage | None = Field(default=None, exclude=True)
    """Where in the item the snippet stands; this program's own, so not on the wire."""
    further: list[Text] = Field(default_factory=list, exclude=True)
    """What else of the item the answer quotes, word for word; this program's own, so not on the wire."""


class RecallAnswer(Model):
    answer: Text
    citations: list[Citation] = Field(default_factory=list)
    model: Text | None = None


class FetchRequest(Model):
    LEFT_OUT: ClassVar[dict[str, Any]] = {"beliefs": 0}

    query: Text
    mode: FetchMode
    filter: MetaFilter = Field(default_factory=MetaFilter)
    limit: Count
    cursor: Text | None = None
    beliefs: Count = 0
    refers_to: TimeHint | None = None
    max_scopes: Count | None = None

    def check(self) -> None:
        if is_blank(self.query):
            raise InvalidRequest("fetch query must not be empty")
        _check_limit("fetch", self.limit)
        if self.max_scopes == 0:
            raise InvalidRequest("fetch max_scopes must be positive")
        if self.refers_to is not None:
            self.refers_to.check()


class FetchPage(Model):
    LEFT_OUT: ClassVar[dict[str, Any]] = {"beliefs": []}

    hits: list[Hit]
    next_cursor: Text | None = None
    beliefs: list[Hit] = Field(default_factory=list)


class ListRequest(Model):
    filter: MetaFilter = Field(default_factory=MetaFilter)
    limit: Count
    cursor: Text | None = None

    def check(self) -> None:
        _check_limit("list", self.limit)


class ListPage(Model):
    items: list[Hit]
    next_cursor: Text | None = None
    """None is the end, and only None: a page may be shorter than its limit."""
    is_cut: Flag = Field(default=False, exclude=True)
    """Whether items may be at places that the engine did not learn of; this program's own, so not on the wire."""


class StoreReceipt(Model):
    id: ItemId
    replayed: Flag
    """Whether the item was held already, so that nothing was written."""


class Wait(StrEnum):
    """What a store waits for: that the item can be read, or only that it was taken."""

    VISIBLE = "visible"
    ACCEPTED = "accepted"


class StoreOptions(Model):
    wait: Wait = Wait.VISIBLE


class ForgetTarget(Model):
    """Either ids, in any namespace, or everything that a non-empty filter matches."""

    ids: list[ItemId] | None = None
    filter: MetaFilter | None = None

    @model_validator(mode="after")
    def _names_one(self) -> ForgetTarget:
        if (self.ids is None) == (self.filter is None):
            raise ValueError("a forget target is either ids or a filter")
        return self

    def check(self) -> None:
        if self.ids is not None and not self.ids:
            raise InvalidRequest("forget needs at least one id")
        if self.filter is not None and self.filter.is_empty():
            raise InvalidRequest("forget refuses an empty filter, which would mean everything")


class ForgetReport(Model):
    forgotten: Count


class ExploreRequest(Model):
    facet: Facet
    filter: MetaFilter = Field(default_factory=MetaFilter)
    limit: Count
    """Buckets, 1..500."""
    scan_limit: Count = DEFAULT_SCAN
    """Items that a counting by listing reads at most, 1..50 000."""

    def check(self) -> None:
        if not 1 <= self.limit <= MAX_BUCKETS:
            raise InvalidRequest(f"explore limit must be between 1 and {MAX_BUCKETS}")
        if not 1 <= self.scan_limit <= MAX_SCAN:
            raise InvalidRequest(f"explore scan_limit must be between 1 and {MAX_SCAN}")


class ExplorePage(Model):
    facet: Facet
    buckets: list[FacetBucket]
    """Largest first, ties by value."""
    total: Count
    """Items that the filter admits."""
    missing: Count
    """Of those, the ones without a value."""
    more_buckets: Count
    """Values cut by the limit."""
    truncated: Flag
    """Whether counting stopped early, so that every number is a lower bound."""


class GetRequest(Model):
    ids: list[ItemId]
    reach: Reach | None = None

    def check(self) -> None:
        if not 1 <= len(self.ids) <= MAX_GET_IDS:
            raise InvalidRequest(f"get takes between 1 and {MAX_GET_IDS} ids")
        if any(map(is_blank, self.ids)):
            raise InvalidRequest("an id must not be blank")


class Exported(Model):
    id: ItemId
    item: AnyItem


class ExportPage(Model):
    LEFT_OUT: ClassVar[dict[str, Any]] = {"incomplete": []}

    items: list[Exported]
    incomplete: list[ItemId] = Field(default_factory=list)
    """Items that the engine holds only part of."""
    next_cursor: Text | None = None


class EraseRequest(Model):
    LEFT_OUT: ClassVar[dict[str, Any]] = {"kinds": []}

    reach: Reach
    """`inherit` is ignored: an erase never goes up."""
    kinds: list[ItemKind] = Field(default_factory=list)
    whole_tree: Flag = False

    @property
    def is_whole_tree(self) -> bool:
        return self.reach.at.is_root and self.reach.descendants and (not self.kinds or set(self.kinds) == set(ItemKind))

    def check(self) -> None:
        if self.is_whole_tree and not self.whole_tree:
            raise InvalidRequest("erasing the whole tree needs whole_tree: true")

    def admits(self, kind: ItemKind, meta: MemoryMeta) -> bool:
        """Whether the erase removes such an item; a sandbox goes only by name or with the whole tree."""
        if self.is_whole_tree:
            return True
        down = self.reach.model_copy(update={"inherit": False})
        return down.admits(meta.namespace) and (not self.kinds or kind in self.kinds)


class EraseReport(Model):
    LEFT_OUT: ClassVar[dict[str, Any]] = {"receipts": []}

    erased_scopes: Count
    """Distinct pairs of node and kind."""
    receipts: list[Text] = Field(default_factory=list)


class Consolidation(StrEnum):
    NONE = "none"
    ON_DEMAND = "on_demand"
    SCHEDULED = "scheduled"
    AUTOMATIC = "automatic"


class ConsolidateRequest(Model):
    LEFT_OUT: ClassVar[dict[str, Any]] = {"kinds": []}

    reach: Reach
    kinds: list[ItemKind] = Field(default_factory=list)

    def check(self) -> None:
        if len(set(self.kinds)) != len(self.kinds):
            raise InvalidRequest("consolidate names a kind twice")


class ConsolidateReceipt(Model):
    LEFT_OUT: ClassVar[dict[str, Any]] = {"jobs": []}

    status: Literal["started", "scheduled", "completed"]
    jobs: list[Text] = Field(default_factory=list)
    scopes: Count
    built: Count | None = None


class BeliefsRequest(Model):
    reach: Reach
    query: Text | None = None
    limit: Count

    def check(self) -> None:
        _check_limit("beliefs", self.limit)
        if self.query is not None and is_blank(self.query):
            raise InvalidRequest("beliefs query must not be empty")


class EngineDescriptor(Model):
    """What an engine is and offers; hosts show and ask for only what it says."""

    LEFT_OUT: ClassVar[dict[str, Any]] = {"consolidation": Consolidation.NONE}
    WRITTEN_NULL: ClassVar[frozenset[str]] = frozenset({"default_endpoint"})

    id: Text
    label: Text
    description: Text
    hosted: Flag
    needs_endpoint: Flag
    needs_key: Flag
    default_endpoint: Text | None = None
    fetch_modes: list[FetchMode]
    consolidation: Consolidation = Consolidation.NONE
    needs_path: Flag = Field(default=False, exclude=True)
    """Whether the engine opens a file or folder; this program's own, so not on the wire, like those below."""
    settings: list[Text] = Field(default_factory=list, exclude=True)
    """Further settings that the engine takes, by their names in `EngineSettings`, in the order to offer them."""
    keeps_paths: Flag = Field(default=True, exclude=True)
    """Whether items come back with their folder and absolute paths; False: these stay on this machine."""
    erases_others: Flag = Field(default=False, exclude=True)
    """Whether an erase takes what other programs keep at the same places too."""

    @property
    def may_cost(self) -> bool:
        """Whether an answer may be paid for: where an account is needed, a model there may write it."""
        return self.hosted or self.needs_key


class EngineHealth(Model):
    state: Literal["ok", "degraded", "down"]
    reason: Text | None = None

    @classmethod
    def ok(cls) -> EngineHealth:
        return cls(state="ok")

    @classmethod
    def degraded(cls, reason: str) -> EngineHealth:
        return cls(state="degraded", reason=reason)

    @classmethod
    def down(cls, reason: str) -> EngineHealth:
        return cls(state="down", reason=reason)

    @property
    def is_serving(self) -> bool:
        return self.state != "down"


def check_batch(items: list[StoreItem]) -> None:
    """Raise InvalidRequest for a batch that `store_many` must refuse whole."""
    if not 1 <= len(items) <= MAX_STORE_MANY:
        raise InvalidRequest(f"store_many takes between 1 and {MAX_STORE_MANY} items")
    for item in items:
        item.check()


def _check_limit(call: str, limit: int) -> None:
    if limit < 1:
        raise InvalidRequest(f"{call} limit must be positive")
