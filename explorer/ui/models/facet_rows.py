"""What the rows of the facet tree are and hold, and what choosing one makes of the filter. Free of Qt."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum

from explorer.contract import ExplorePage, Facet, MetaFilter, Reach, is_blank, is_path_prefix
from explorer.contract.query import MAX_BUCKETS
from explorer.i18n import mark, tr
from explorer.text import DASH, at_least, number, shown
from explorer.ui.models.path_tree import PathNode

TIP_CHARACTERS = 2_000
"""A stored value may be of any length, a tooltip may not fill the screen."""

FETCHED_FIRST = 50
FIND_FROM = 9
"""As many values have a find box."""
SHOWN_FIRST = FIND_FROM - 1
"""Value rows before more are asked for: what needs no find box."""
SHOWN_MOST = MAX_BUCKETS
BELOW_FIRST = 20
"""Rows below one node of a tree before more are asked for."""


@dataclass(frozen=True)
class Words:
    """What a facet is called, each in the source's language: see the properties."""

    _title: str
    _noun: str
    _one: str
    _many: str

    @property
    def title(self) -> str:
        """As a head."""
        return tr(self._title)

    @property
    def noun(self) -> str:
        """One of its values."""
        return tr(self._noun)

    @property
    def one(self) -> str:
        """One of its values, as what is looked for or missing."""
        return tr(self._one)

    @property
    def many(self) -> str:
        """Many of its values."""
        return tr(self._many)


# Also the order of the heads at first: what everybody filters by first, what only some engines fill last.
WORDS: Mapping[Facet, Words] = {
    # Translators: the title of a facet, then its values as in "No kind contains …", "Find a kind", "Show 9 more kinds"
    Facet.KIND: Words(mark("Kind"), mark("kind"), mark("a kind"), mark("kinds")),
    Facet.TAG: Words(mark("Tag"), mark("tag"), mark("a tag"), mark("tags")),
    Facet.SOURCE: Words(mark("Source"), mark("source"), mark("a source"), mark("sources")),
    Facet.AGENT: Words(mark("Agent"), mark("agent"), mark("an agent"), mark("agents")),
    Facet.FILE_PATH: Words(mark("File path"), mark("path"), mark("a path"), mark("paths")),
    Facet.FOLDER: Words(mark("Folder"), mark("folder"), mark("a folder"), mark("folders")),
    Facet.LANGUAGE: Words(mark("Language"), mark("language"), mark("a language"), mark("languages")),
    Facet.THREAD: Words(mark("Thread"), mark("thread"), mark("a thread"), mark("threads")),
    Facet.TOOL_CALL: Words(mark("Tool"), mark("tool"), mark("a tool"), mark("tools")),
    Facet.REPO: Words(mark("Repository"), mark("repository"), mark("a repository"), mark("repositories")),
    Facet.WORKSPACE: Words(mark("Workspace"), mark("workspace"), mark("a workspace"), mark("workspaces")),
    Facet.URL: Words(mark("Link"), mark("link"), mark("a link"), mark("links")),
    Facet.SOURCE_ID: Words(mark("Source id"), mark("source id"), mark("a source id"), mark("source ids")),
    Facet.NAMESPACE: Words(mark("Namespace"), mark("namespace"), mark("a namespace"), mark("namespaces")),
}
PATHS = frozenset({Facet.FOLDER, Facet.FILE_PATH, Facet.WORKSPACE, Facet.URL, Facet.REPO, Facet.NAMESPACE})
"""Facets whose values tell themselves apart at both ends."""

_NAMES = {
    "document": mark("Document"),
    "conversation": mark("Conversation"),
    "learning": mark("Learning"),
    "folder": mark("Folder"),
    "file": mark("File"),
    "link": mark("Link"),
    "github": mark("GitHub"),
    "rss": mark("RSS"),
    "agent": mark("Agent"),
    # Translators: an item was brought in by an import
    "import": mark("Import"),
}
"""Of kinds and sources."""


def value_label(facet: Facet, value: str) -> str:
    """A value as it stands in a row: one safe line, "(empty)" for a blank one."""
    if is_blank(value):
        return tr("(empty)")
    if facet in (Facet.KIND, Facet.SOURCE):
        return tr(_NAMES[value]) if value in _NAMES else value.capitalize()
    return shown(value)


# The filter


def chosen_values(facet: Facet, filter: MetaFilter) -> list[str]:
    """The values of `facet` that `filter` asks for; of namespaces only one that is asked for alone."""
    held = getattr(filter, facet.field)
    if held is None:
        return []
    if isinstance(held, Reach):
        return [str(held.at)] if held == Reach.exact(held.at) else []
    return [str(value) for value in held] if facet.takes_several else [held]


def apart_from(facet: Facet, filter: MetaFilter, scope: Reach | None = None) -> MetaFilter:
    """`filter` without the condition of `facet`, but never out of `scope`, which no condition took."""
    rest = facet.without(filter)
    return rest.model_copy(update={"reach": scope}) if facet is Facet.NAMESPACE else rest


def has_condition(facet: Facet, filter: MetaFilter, scope: Reach | None = None) -> bool:
    """Whether `filter` holds a condition of `facet`."""
    return apart_from(facet, filter, scope) != filter


def narrowed(facet: Facet, filter: MetaFilter, value: str) -> MetaFilter:
    """`filter` with `value` alone for `facet`: through `narrow`, or directly where that refuses a blank one.

    Raises InvalidRequest where the facet cannot have such a value.
    """
    if is_blank(value) and facet not in (Facet.KIND, Facet.SOURCE, Facet.NAMESPACE):
        return filter.model_copy(update={facet.field: [value] if facet.takes_several else value})
    return facet.narrow(filter, value)


def toggled(facet: Facet, filter: MetaFilter, value: str) -> MetaFilter:
    """`filter` with `value` added where the facet takes several, else set; or taken away where it was chosen."""
    chosen = chosen_values(facet, filter)
    if value not in chosen:
        alone = narrowed(facet, filter, value)
        if not facet.takes_several:
            return alone
        return filter.model_copy(update={facet.field: [*getattr(filter, facet.field), *getattr(alone, facet.field)]})
    if not facet.takes_several:
        return facet.without(filter)
    return filter.model_copy(update={facet.field: [one for one in getattr(filter, facet.field) if one != value]})


# Rows


class RowType(IntEnum):
    """What a row is. Heads are the first level, all else the second."""

    FACET = 0
    FIND = 1
    VALUE = 2
    MISSING = 3
    EXACT = 4
    """The text of the find box itself as a value, where the values are too many to show each."""
    MORE = 5
    FEWER = 6
    NOTE = 7
    COLUMNS = 8
    """What the two numbers of a tree's rows are."""
    NODE = 9
    """One segment in a tree of paths; its value is the node's key, see `path`."""


CHOICES = (RowType.VALUE, RowType.NODE)
"""What may be chosen."""
BARS = (*CHOICES, RowType.MISSING)
"""What has a bar."""


class Order(Enum):
    """How values are sorted."""

    COUNT = "count"
    NAME = "name"


@dataclass(slots=True)
class Row:
    """One row below a head."""

    type: RowType
    value: str = ""
    label: str = ""
    count: int | None = None
    """None where it is not known."""
    is_chosen: bool = False
    share: float = 0.0
    """Of the largest count shown."""
    share_before: float = 0.0
    path: str = ""
    """Of a node: the value that a filter asks for."""
    depth: int = 0
    below: int | None = None
    """Of a path, where it matters: how many items it has with what is below it."""
    is_open: bool | None = None
    """None where there is nothing below to open."""
    can_be_chosen: bool = True

    @property
    def key(self) -> tuple[RowType, str]:
        """What makes it the same row as another."""
        return self.type, self.value

    @property
    def wanted(self) -> str:
        """The value that a filter asks for."""
        return self.path if self.type is RowType.NODE else self.value


@dataclass
class Section:
    """What is held of one facet."""

    facet: Facet
    page: ExplorePage | None = None
    chosen: list[str] = field(default_factory=list)
    counted: dict[str, int] = field(default_factory=dict)
    """Counts of chosen values that are not among the page's buckets."""
    has_condition: bool = False
    fetched: int = FETCHED_FIRST
    """As many buckets are asked for."""
    shows_all: bool = False
    find: str = ""
    error: Exception | None = None
    is_counting: bool = False
    is_old: bool = False
    """Newer counts were asked for and did not come."""
    filter: MetaFilter | None = None
    """What the page was counted under."""
    is_partial: bool = False
    """The page is the start of a count that goes on, or was stopped: its numbers are lower bounds."""
    is_of_other: bool = False
    """The filter is another one since. Not seen at once: mostly the counts follow in no time."""
    rows: list[Row] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """Each value's count, the chosen ones included."""
    ranking: list[str] | None = None
    """All values in order, once that is known."""
    haystack: dict[str, str] | None = None
    """What each value is found by, once something is looked for."""
    order: Order = Order.COUNT
    is_tree: bool = False
    opened: dict[str, bool] = field(default_factory=dict)
    """By the keys of a tree's nodes: what was opened or closed by hand."""
    grown: set[str] = field(default_factory=set)
    """The nodes below which all is shown, as far as that goes."""
    tree: dict[str, PathNode] | None = None
    tree_counts: dict[str, int] = field(default_factory=dict)
    """What the tree was built of."""

    def take(self, page: ExplorePage | None, counted: Mapping[str, int]) -> None:
        """Hold another page."""
        self.page, self.counted = page, dict(counted)
        buckets = [] if page is None else page.buckets
        self.counts = {bucket.value: bucket.count for bucket in buckets} | self.counted
        self.ranking = self.haystack = None

    def forget(self) -> None:
        """Hold no count, and show no more than in the beginning; how it is shown stays."""
        self.take(None, {})
        self.error = None
        self.filter = None
        self.is_counting = self.is_old = self.is_partial = self.is_of_other = self.shows_all = False
        self.fetched, self.find = self.fetched_first, ""
        self.opened, self.grown, self.tree, self.tree_counts = {}, set(), None, {}

    @property
    def is_stale(self) -> bool:
        """Whether the counts are seen to be those of before."""
        return self.is_old or (self.is_counting and (self.is_of_other or not self.is_partial))

    @property
    def is_behind(self) -> bool:
        """Whether there are counts, but not all of what was asked last."""
        return self.is_old or self.is_partial

    @property
    def can_grow(self) -> bool:
        """Whether the start of a count says more than what is held."""
        return self.page is None or self.is_partial or self.is_of_other

    @property
    def is_missing(self) -> bool:
        """Whether there are no counts of what was asked last, and nothing says why."""
        return self.error is None and (self.page is None or self.is_behind)

    @property
    def fetched_first(self) -> int:
        """As many buckets are asked for before more are wanted. A tree has use for all of them."""
        return MAX_BUCKETS if self.is_tree else FETCHED_FIRST

    @property
    def is_cut(self) -> bool:
        """Whether there are values, or items, that were not counted or not named."""
        return self.page is not None and (self.page.truncated or self.page.more_buckets > 0)

    def below(self, path: str) -> int:
        """How many items the named values have at `path` and below it."""
        return sum(count for value, count in self.counts.items() if is_path_prefix(path, value))

    def total_values(self) -> int:
        """How many values there are, of which the page need not hold all."""
        return 0 if self.page is None else len(self.page.buckets) + self.page.more_buckets

    def is_dead(self, row: Row) -> bool:
        """Whether no item has the value under the other conditions, as far as is known."""
        if row.below is not None:
            return row.below == 0 and not self.is_cut
        return row.count == 0 and not (self.page is not None and self.page.truncated)

    def dead_values(self) -> list[str]:
        """The chosen values that no item has under the other conditions."""
        if self.page is None or self.is_stale or self.is_of_other:
            return []
        return [row.value for row in self.rows if row.type is RowType.VALUE and row.is_chosen and self.is_dead(row)]

    def below_text(self, count: int) -> str:
        """A count with what is below: values that were cut may be missing from it."""
        return at_least(count) if self.is_cut else number(count)

    def count_text(self, count: int | None) -> str:
        """A count as it may be written: one that stopped early has a plus, one that is not known is a dash."""
        if count is None:
            return DASH
        return at_least(count) if self.page is not None and self.page.truncated else number(count)
