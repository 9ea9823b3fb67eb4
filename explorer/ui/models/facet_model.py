"""The fourteen facets and their counted values, as rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum, IntEnum
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from explorer.contract import ExplorePage, Facet, InvalidRequest, MetaFilter, Reach, TinyMemoryError, is_blank
from explorer.contract.query import MAX_BUCKETS
from explorer.ui.text import DASH, at_least, isolate, number, out_of, shown, tip

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()

TIP_CHARACTERS = 2_000
"""A stored value may be of any length, a tooltip may not fill the screen."""

FETCHED_FIRST = 50
FIND_FROM = 9
"""As many values have a find box."""
SHOWN_FIRST = FIND_FROM - 1
"""Value rows before more are asked for: what needs no find box."""
SHOWN_MOST = MAX_BUCKETS

RowTypeRole = Qt.ItemDataRole.UserRole + 1
CountRole = Qt.ItemDataRole.UserRole + 2


@dataclass(frozen=True)
class Words:
    """What a facet is called: as a head, one of its values, and many."""

    title: str
    one: str
    many: str

    @property
    def noun(self) -> str:
        """One of its values without the article."""
        return self.one.partition(" ")[2]


# Also the order of the rows: what everybody filters by first, what only some engines fill last.
WORDS: Mapping[Facet, Words] = {
    Facet.KIND: Words("Kind", "a kind", "kinds"),
    Facet.TAG: Words("Tag", "a tag", "tags"),
    Facet.SOURCE: Words("Source", "a source", "sources"),
    Facet.AGENT: Words("Agent", "an agent", "agents"),
    Facet.FILE_PATH: Words("File path", "a path", "paths"),
    Facet.FOLDER: Words("Folder", "a folder", "folders"),
    Facet.LANGUAGE: Words("Language", "a language", "languages"),
    Facet.THREAD: Words("Thread", "a thread", "threads"),
    Facet.TOOL_CALL: Words("Tool", "a tool", "tools"),
    Facet.REPO: Words("Repository", "a repository", "repositories"),
    Facet.WORKSPACE: Words("Workspace", "a workspace", "workspaces"),
    Facet.URL: Words("Link", "a link", "links"),
    Facet.SOURCE_ID: Words("Source id", "a source id", "source ids"),
    Facet.NAMESPACE: Words("Namespace", "a namespace", "namespaces"),
}
PATHS = frozenset({Facet.FOLDER, Facet.FILE_PATH, Facet.WORKSPACE, Facet.URL, Facet.REPO, Facet.NAMESPACE})
"""Facets whose values tell themselves apart at both ends."""

_HEAD_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
_FIND_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
_ROW_FLAGS = _FIND_FLAGS | Qt.ItemFlag.ItemIsSelectable

_CAPITALS = {"github": "GitHub", "rss": "RSS"}


def value_label(facet: Facet, value: str) -> str:
    """A value as it stands in a row: one safe line, "(empty)" for a blank one."""
    if is_blank(value):
        return "(empty)"
    if facet in (Facet.KIND, Facet.SOURCE):
        return _CAPITALS.get(value, value.capitalize())
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


def has_condition(facet: Facet, filter: MetaFilter) -> bool:
    """Whether `filter` holds a condition of `facet`."""
    return facet.without(filter) != filter


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

    @property
    def key(self) -> tuple[RowType, str]:
        """What makes it the same row as another."""
        return self.type, self.value


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
    is_stale: bool = False
    rows: list[Row] = field(default_factory=list)
    counts: dict[str, int] = field(default_factory=dict)
    """Each value's count, the chosen ones included."""
    ranking: list[str] | None = None
    """All values in order, once that is known."""
    haystack: dict[str, str] | None = None
    """What each value is found by, once something is looked for."""

    def take(self, page: ExplorePage | None, counted: Mapping[str, int]) -> None:
        """Hold another page."""
        self.page, self.counted = page, dict(counted)
        buckets = [] if page is None else page.buckets
        self.counts = {bucket.value: bucket.count for bucket in buckets} | self.counted
        self.ranking = self.haystack = None

    def total_values(self) -> int:
        """How many values there are, of which the page need not hold all."""
        return 0 if self.page is None else len(self.page.buckets) + self.page.more_buckets

    def is_dead(self, row: Row) -> bool:
        """Whether no item has the value under the other conditions, as far as is known."""
        return row.count == 0 and not (self.page is not None and self.page.truncated)

    def count_text(self, count: int | None) -> str:
        """A count as it may be written: one that stopped early has a plus, one that is not known is a dash."""
        if count is None:
            return DASH
        return at_least(count) if self.page is not None and self.page.truncated else number(count)


class FacetModel(QAbstractItemModel):
    """Two levels: a head per facet, and below it a find box, values, the missing ones and what the limit cut."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._sections = [Section(facet) for facet in WORDS]
        self._at = {section.facet: at for at, section in enumerate(self._sections)}
        self._order = Order.COUNT

    # What it holds

    @property
    def facets(self) -> list[Facet]:
        """From top to bottom."""
        return [section.facet for section in self._sections]

    @property
    def order(self) -> Order:
        """How values are sorted."""
        return self._order

    def section(self, facet: Facet) -> Section:
        """What is held of `facet`; not to be changed."""
        return self._sections[self._at[facet]]

    def facet_at(self, index: Index) -> Facet | None:
        """The facet whose head or row `index` is."""
        if not index.isValid():
            return None
        return self._sections[index.row() if index.internalId() == 0 else index.internalId() - 1].facet

    def row_at(self, index: Index) -> Row | None:
        """The row at `index`, None for a head."""
        if not index.isValid() or index.internalId() == 0:
            return None
        return self._sections[index.internalId() - 1].rows[index.row()]

    def facet_index(self, facet: Facet) -> QModelIndex:
        """The head of `facet`."""
        return self.index(self._at[facet], 0)

    def row_index(self, facet: Facet, type: RowType, value: str = "") -> QModelIndex:
        """The first such row, or an invalid index."""
        for at, row in enumerate(self.section(facet).rows):
            if row.key == (type, value):
                return self.index(at, 0, self.facet_index(facet))
        return QModelIndex()

    # What it is told

    def clear(self) -> None:
        """Forget every count, keep the filter's choices."""
        for at, section in enumerate(self._sections):
            section.take(None, {})
            section.error = None
            section.is_counting = section.is_stale = False
            section.fetched, section.shows_all, section.find = FETCHED_FIRST, False, ""
            self._set_rows(at, [])
            self._head_changed(at)

    def show_filter(self, filter: MetaFilter, held: Collection[Facet] = ()) -> None:
        """Mark what `filter` asks for, at once; the counts follow. See `show_pages` for `held`."""
        for at, section in enumerate(self._sections):
            chosen, condition = chosen_values(section.facet, filter), has_condition(section.facet, filter)
            if (chosen, condition) == (section.chosen, section.has_condition):
                continue
            section.chosen, section.has_condition = chosen, condition
            self._arrange(at, section.facet in held)
            self._head_changed(at)

    def show_pages(
        self,
        pages: Mapping[Facet, ExplorePage],
        counted: Mapping[Facet, Mapping[str, int]] | None = None,
        held: Collection[Facet] = (),
    ) -> None:
        """Take new counts; `counted` are those of chosen values that a page had no room for.

        The facets in `held` keep their rows and the order of them, even of values that are gone, until `settle`.
        """
        for facet, page in pages.items():
            at = self._at[facet]
            section = self._sections[at]
            section.take(page, (counted or {}).get(facet, {}))
            section.error = None
            section.is_counting = section.is_stale = False
            self._arrange(at, facet in held)
            self._head_changed(at)

    def show_errors(self, errors: Mapping[Facet, Exception]) -> None:
        """Say at the heads what could not be counted; the counts of before stay, marked stale."""
        for facet, error in errors.items():
            section = self.section(facet)
            section.error, section.is_counting, section.is_stale = error, False, True
            self._section_changed(self._at[facet])

    def set_stale(self) -> None:
        """Nothing could be counted: the counts of before stay, marked stale. Why is not said at each head."""
        for at, section in enumerate(self._sections):
            section.is_counting, section.is_stale = False, True
            self._section_changed(at)

    def set_counting(self, facets: Iterable[Facet]) -> None:
        """Mark what is being counted, and so is stale by now."""
        for facet in facets:
            section = self.section(facet)
            if not section.is_counting:
                section.is_counting = section.is_stale = True
                self._section_changed(self._at[facet])

    def end_counting(self) -> None:
        """Nothing is being counted any more."""
        for at, section in enumerate(self._sections):
            if section.is_counting:
                section.is_counting = False
                section.is_stale = section.error is not None
                self._section_changed(at)

    def set_order(self, order: Order) -> None:
        """Sort every facet's values."""
        self._order = order
        for section in self._sections:
            section.ranking = None
        self.settle()

    def settle(self, held: Collection[Facet] = ()) -> None:
        """Bring the facets outside `held` into their order."""
        for at, section in enumerate(self._sections):
            if section.facet not in held:
                self._arrange(at, held=False)

    def set_find(self, facet: Facet, text: str) -> None:
        """Show only the values that hold `text`, and the chosen ones."""
        section = self.section(facet)
        if section.find != text:
            section.find = text
            self._arrange(self._at[facet], held=False)
            self._head_changed(self._at[facet])

    def show_more(self, facet: Facet) -> None:
        """Show as many values as a page can hold."""
        section = self.section(facet)
        section.shows_all, section.fetched = True, SHOWN_MOST
        self._arrange(self._at[facet], held=True)
        self._head_changed(self._at[facet])

    def show_fewer(self, facet: Facet) -> None:
        """Show the first values only, as in the beginning."""
        section = self.section(facet)
        section.shows_all, section.fetched = False, FETCHED_FIRST
        self._arrange(self._at[facet], held=False)
        self._head_changed(self._at[facet])

    def fetch_all(self, facet: Facet) -> None:
        """Have the next count ask for as many values as a page can hold, however many are shown."""
        self.section(facet).fetched = SHOWN_MOST

    # Arranging

    def _arrange(self, at: int, held: bool) -> None:
        section = self._sections[at]
        self._set_rows(at, self._rows(section, held) if section.page is not None else self._rows_uncounted(section))

    def _rows_uncounted(self, section: Section) -> list[Row]:
        return [self._value_row(section, value) for value in section.chosen]

    def _rows(self, section: Section, held: bool) -> list[Row]:
        page = section.page
        assert page is not None
        chosen = set(section.chosen)
        found = [value for value in self._found(section) if value not in chosen]
        cap = SHOWN_MOST if section.shows_all or section.find else SHOWN_FIRST
        visible = self._ranked(section, section.chosen) + found[: max(0, cap - len(section.chosen))]
        if held and section.rows and not section.find:
            there = [row.value for row in section.rows if row.type is RowType.VALUE]
            room = max(len(there), len(visible))
            known = set(there)
            visible = [*there, *(value for value in visible if value not in known)]
            # A chosen value is always seen; any other newcomer waits where the rows are full already.
            spare = iter(range(room - len(there)))
            chosen = set(section.chosen)
            visible = [value for value in visible if value in known or value in chosen or next(spare, None) is not None]
        rows = [self._value_row(section, value) for value in visible]
        if page.missing and not section.find:
            rows.append(Row(RowType.MISSING, label="no value", count=page.missing))
        largest = max((row.count or 0 for row in rows), default=0)
        before = {row.key: row.share for row in section.rows}
        for row in rows:
            row.share = (row.count or 0) / largest if largest else 0.0
            row.share_before = before.get(row.key, 0.0)
        if section.total_values() >= FIND_FROM or section.find:  # what hides rows is seen
            rows.insert(0, Row(RowType.FIND))
        in_view = set(visible)
        hidden = sum(value not in in_view for value in found)
        rows += self._tail(section, found, hidden, len(visible))
        return rows

    def _value_row(self, section: Section, value: str) -> Row:
        page = section.page
        count = section.counts.get(value)
        if count is None and page is not None and not page.more_buckets:
            count = 0
        return Row(RowType.VALUE, value, value_label(section.facet, value), count, is_chosen=value in section.chosen)

    def _ranked(self, section: Section, values: Iterable[str]) -> list[str]:
        """`values` in the order asked for."""
        if self._order is Order.NAME:
            return sorted(values, key=lambda value: (value_label(section.facet, value).casefold(), value))
        return sorted(values, key=lambda value: (-section.counts.get(value, 0), value))

    def _found(self, section: Section) -> list[str]:
        """The values that hold what is looked for, all of them where nothing is, in the order asked for."""
        if section.ranking is None:
            section.ranking = self._ranked(section, section.counts)
        if not section.find:
            return section.ranking
        if section.haystack is None:
            section.haystack = {value: _found_by(section.facet, value) for value in section.counts}
        wanted, haystack = section.find.casefold(), section.haystack
        return [value for value in section.ranking if wanted in haystack[value]]

    def _tail(self, section: Section, found: list[str], hidden: int, shown_now: int) -> list[Row]:
        page, many = section.page, WORDS[section.facet].many
        assert page is not None
        beyond = 0 if section.find else page.more_buckets
        rows = []
        if section.find:
            wanted = section.find.casefold()
            if not found and not any(wanted in _found_by(section.facet, value) for value in section.chosen):
                among = "None of these" if page.more_buckets or page.truncated else f"No {WORDS[section.facet].noun}"
                rows.append(Row(RowType.NOTE, "none", f"{among} contains {_quoted(section.find)}"))
            if self._takes_exactly(section, found):
                rows.append(Row(RowType.EXACT, "exact", f"Filter by {_quoted(section.find)}"))
        elif section.shows_all and hidden + beyond:
            said = section.count_text(hidden + beyond)
            rows.append(Row(RowType.NOTE, "rest", f"{number(shown_now)} shown, {said} more"))
        elif hidden + beyond:
            room = SHOWN_MOST - SHOWN_FIRST
            said = section.count_text(hidden + beyond)
            text = (
                f"Show {said} more {many}" if hidden + beyond <= room else f"Show {number(room)} of {said} more {many}"
            )
            rows.append(Row(RowType.MORE, label=text))
        if section.shows_all and not section.find and section.total_values() > SHOWN_FIRST:
            rows.append(Row(RowType.FEWER, label=f"Show fewer {many}"))
        return rows

    def _takes_exactly(self, section: Section, found: list[str]) -> bool:
        """Whether the find text may be a value beyond those that are held."""
        page = section.page
        if page is None or not (page.more_buckets or page.truncated) or section.find in [*found, *section.chosen]:
            return False
        try:
            section.facet.narrow(MetaFilter(), section.find)
        except InvalidRequest:
            return False
        return True

    def _set_rows(self, at: int, rows: list[Row]) -> None:
        """Bring one facet's rows to `rows` with as few steps as a view can follow without losing its place."""
        section, parent = self._sections[at], self.index(at, 0)
        wanted = {row.key for row in rows}
        for first, last in reversed(_runs([row.key not in wanted for row in section.rows])):
            self.beginRemoveRows(parent, first, last)
            del section.rows[first : last + 1]
            self.endRemoveRows()
        there = {row.key for row in section.rows}
        self._reorder(at, parent, [row for row in rows if row.key in there])
        for first, last in _runs([row.key not in there for row in rows]):
            self.beginInsertRows(parent, first, last)
            section.rows[first:first] = rows[first : last + 1]
            self.endInsertRows()
        if rows:
            self.dataChanged.emit(self.index(0, 0, parent), self.index(len(rows) - 1, 0, parent))

    def _reorder(self, at: int, parent: QModelIndex, rows: list[Row]) -> None:
        section = self._sections[at]
        old = [row.key for row in section.rows]
        if old == [row.key for row in rows]:
            section.rows = rows
            return
        self.layoutAboutToBeChanged.emit()  # of the whole model: PySide6 has no other form
        place = {row.key: to for to, row in enumerate(rows)}
        section.rows = rows
        for index in self.persistentIndexList():
            if index.internalId() == at + 1:
                self.changePersistentIndex(index, self.index(place[old[index.row()]], index.column(), parent))
        self.layoutChanged.emit()

    def _head_changed(self, at: int) -> None:
        head = self.index(at, 0)
        self.dataChanged.emit(head, head)

    def _section_changed(self, at: int) -> None:
        self._head_changed(at)
        if rows := self._sections[at].rows:
            parent = self.index(at, 0)
            self.dataChanged.emit(self.index(0, 0, parent), self.index(len(rows) - 1, 0, parent))

    # In words

    def summary(self, facet: Facet, is_open: bool = False) -> str:
        """What stands at the right of a head: how many values there are, and of an open one how many are seen."""
        section = self.section(facet)
        page = section.page
        if page is None:
            return "not counted" if section.error is not None else ""
        total = section.total_values()
        seen = sum(row.type is RowType.VALUE and bool(row.count) for row in section.rows)
        if page.truncated:
            said = f"{at_least(total)} values"
        elif (is_open or section.find) and seen < total:
            said = f"{out_of(seen, total)} values"
        elif total == 0:
            said = "no values"
        else:
            said = "1 value" if total == 1 else f"{number(total)} values"
        return f"{said}, finding {_quoted(section.find)}" if section.find else said

    def _head_tip(self, section: Section) -> list[str]:
        lines = []
        if section.error is not None:
            error = section.error
            said = error.text if isinstance(error, TinyMemoryError) else type(error).__name__
            lines.append(f"Could not be counted: {shown(said, TIP_CHARACTERS)}")
        if section.page is not None and section.is_stale:
            lines.append("These are the counts of before.")
        if section.page is not None and section.page.truncated:
            lines.append(_stopped(section.page))
        if section.facet.takes_several:
            lines.append("Several values may be chosen; an item needs one of them.")
        return lines

    def _row_tip(self, section: Section, row: Row) -> list[str]:
        match row.type:
            case RowType.VALUE:
                name = "(empty): a blank value" if is_blank(row.value) else shown(row.value, TIP_CHARACTERS)
                lines = [isolate(name), self._counted(section, row)]
                if row.is_chosen and section.is_dead(row):
                    lines.append("It is in the filter, but no item has it under the other conditions.")
                if section.page is not None and section.page.truncated:
                    lines.append(_stopped(section.page))
                if section.facet.is_prefix:
                    base = shown(row.value.rstrip("/"), TIP_CHARACTERS)
                    lines.append(
                        f"The filter also matches what is below {isolate(base + '/')}, "
                        f"but not a neighbour such as {isolate(base + '-old')}."
                    )
                return lines
            case RowType.MISSING:
                return [
                    f"{_items(section.count_text(row.count), row.count)} without {WORDS[section.facet].one}.",
                    "A filter cannot ask for items without a value.",
                ]
            case RowType.NOTE if row.value == "rest":
                return ["The find box reaches the others: type one and filter by it."]
            case RowType.EXACT:
                return ["Not among the values that were counted; the filter takes it as it is written."]
        return []

    def _counted(self, section: Section, row: Row) -> str:
        if row.count is None:
            return "Not counted: too small to be among the values shown."
        return _items(section.count_text(row.count), row.count)

    def _row_spoken(self, section: Section, row: Row) -> str:
        if row.type in (RowType.VALUE, RowType.MISSING):
            title = WORDS[section.facet].title.lower()
            if row.type is RowType.MISSING:
                return f"{title}: no value, {_items(section.count_text(row.count), row.count)}, cannot be chosen"
            counted = "not counted" if row.count is None else _items(section.count_text(row.count), row.count)
            return f"{title} {row.label}, {counted}" + (", chosen" if row.is_chosen else "")
        return f"Find {WORDS[section.facet].one}" if row.type is RowType.FIND else row.label

    # Qt's model

    def rowCount(self, parent: Index = NOWHERE) -> int:
        if not parent.isValid():
            return len(self._sections)
        return len(self._sections[parent.row()].rows) if parent.internalId() == 0 and parent.column() == 0 else 0

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 1

    def hasChildren(self, parent: Index = NOWHERE) -> bool:
        if not parent.isValid():
            return True
        if parent.internalId() or parent.column():
            return False
        section = self._sections[parent.row()]
        return bool(section.rows) or section.page is None  # not counted yet: it may be opened already

    def index(self, row: int, column: int, parent: Index = NOWHERE) -> QModelIndex:
        # Not through hasIndex: it asks back twice, and a layout asks for every row.
        if column != 0 or not 0 <= row < self.rowCount(parent):
            return QModelIndex()
        return self.createIndex(row, column, parent.row() + 1 if parent.isValid() else 0)

    def parent(self, child: Index = NOWHERE) -> QModelIndex:  # type: ignore[override]
        if not child.isValid() or child.internalId() == 0:
            return QModelIndex()
        return self.createIndex(child.internalId() - 1, 0, 0)

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        row = self.row_at(index)
        if row is None:
            return _HEAD_FLAGS
        return _FIND_FLAGS if row.type is RowType.FIND else _ROW_FLAGS

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.row_at(index)
        if row is None:
            return self._head_data(self._sections[index.row()], role)
        section = self._sections[index.internalId() - 1]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.label
            case Qt.ItemDataRole.UserRole:
                return row.value if row.type is RowType.VALUE else None
            case Qt.ItemDataRole.CheckStateRole if row.type is RowType.VALUE:
                return Qt.CheckState.Checked if row.is_chosen else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.ToolTipRole:
                return tip("\n".join(self._row_tip(section, row)))
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._row_spoken(section, row)
            case _ if role == RowTypeRole:
                return int(row.type)
            case _ if role == CountRole:
                return section.count_text(row.count) if row.type in (RowType.VALUE, RowType.MISSING) else None
        return None

    def _head_data(self, section: Section, role: int) -> Any:
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return WORDS[section.facet].title
            case Qt.ItemDataRole.UserRole:
                return str(section.facet)
            case Qt.ItemDataRole.ToolTipRole:
                return tip("\n".join(self._head_tip(section)))
            case Qt.ItemDataRole.AccessibleTextRole:
                parts = [WORDS[section.facet].title, self.summary(section.facet)]
                parts += ["filtered"] if section.has_condition else []
                parts += ["could not be counted"] if section.error is not None else []
                return ", ".join(part for part in parts if part)
            case _ if role == RowTypeRole:
                return int(RowType.FACET)
        return None


def _runs(marks: list[bool]) -> list[tuple[int, int]]:
    """The first and last position of each run of true marks."""
    runs: list[tuple[int, int]] = []
    for at, is_marked in enumerate(marks):
        if is_marked and runs and runs[-1][1] == at - 1:
            runs[-1] = (runs[-1][0], at)
        elif is_marked:
            runs.append((at, at))
    return runs


def _found_by(facet: Facet, value: str) -> str:
    """What a value is looked up in: as it is stored, and as it stands in its row."""
    return f"{value}\n{value_label(facet, value)}".casefold()


def _quoted(text: str) -> str:
    return f"“{isolate(shown(text))}”"


def _items(said: str, count: int | None) -> str:
    return f"{said} item" if count == 1 and said == "1" else f"{said} items"


def _stopped(page: ExplorePage) -> str:
    return f"Counting stopped at {number(page.total)} items, so every number is at least what it says."
