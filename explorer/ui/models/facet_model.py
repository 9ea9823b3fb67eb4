"""The fourteen facets and their counted values, as rows."""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping
from typing import Any

from PySide6.QtCore import QAbstractItemModel, QModelIndex, QObject, QPersistentModelIndex, Qt

from explorer.conditions import below_words
from explorer.contract import ExplorePage, Facet, InvalidRequest, MetaFilter, Reach, TinyMemoryError, is_blank
from explorer.i18n import tr, tr_n
from explorer.text import counted, either, in_quotes, isolate, listed, number, shown, tip, word
from explorer.ui.models.facet_rows import (
    BARS,
    BELOW_FIRST,
    CHOICES,
    FIND_FROM,
    SHOWN_FIRST,
    SHOWN_MOST,
    TIP_CHARACTERS,
    WORDS,
    Order,
    Row,
    RowType,
    Section,
    apart_from,
    chosen_values,
    has_condition,
    value_label,
)
from explorer.ui.models.path_tree import ROOT, PathNode, path_tree

Index = QModelIndex | QPersistentModelIndex
NOWHERE = QModelIndex()

RowTypeRole = Qt.ItemDataRole.UserRole + 1
CountRole = Qt.ItemDataRole.UserRole + 2
BelowRole = Qt.ItemDataRole.UserRole + 3

_HEAD_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemIsSelectable
_FIND_FLAGS = Qt.ItemFlag.ItemIsEnabled | Qt.ItemFlag.ItemNeverHasChildren
_ROW_FLAGS = _FIND_FLAGS | Qt.ItemFlag.ItemIsSelectable


class FacetModel(QAbstractItemModel):
    """Two levels: a head per facet, and below it a find box, values, the missing ones and what the limit cut."""

    def __init__(self, parent: QObject | None = None) -> None:
        super().__init__(parent)
        self._sections = {facet: Section(facet) for facet in WORDS}
        self._filter = MetaFilter()
        self._scope: Reach | None = None
        self._by_id = list(WORDS)  # the rows below a head know it by its place here, wherever it stands
        self._ids = {facet: at + 1 for at, facet in enumerate(self._by_id)}
        self._arrangement = list(WORDS)
        self._pinned: set[Facet] = set()
        self._hidden: set[Facet] = set()
        self._shown = list(WORDS)
        self._at = {facet: at for at, facet in enumerate(self._shown)}

    # What it holds

    @property
    def facets(self) -> list[Facet]:
        """Those that are shown, from top to bottom."""
        return list(self._shown)

    @property
    def arrangement(self) -> list[Facet]:
        """All of them, the hidden ones at their places."""
        return list(self._arrangement)

    @property
    def pinned(self) -> frozenset[Facet]:
        """Those that stand above the others."""
        return frozenset(self._pinned)

    @property
    def hidden(self) -> frozenset[Facet]:
        """Those that are not shown, whatever they hold."""
        return frozenset(self._hidden)

    @property
    def order(self) -> Order | None:
        """How values are sorted; None where the facets differ in it."""
        orders = {section.order for section in self._sections.values()}
        return orders.pop() if len(orders) == 1 else None

    def section(self, facet: Facet) -> Section:
        """What is held of `facet`; not to be changed."""
        return self._sections[facet]

    def facet_at(self, index: Index) -> Facet | None:
        """The facet whose head or row `index` is."""
        if not index.isValid():
            return None
        return self._shown[index.row()] if index.internalId() == 0 else self._by_id[index.internalId() - 1]

    def row_at(self, index: Index) -> Row | None:
        """The row at `index`, None for a head."""
        id = index.internalId()  # 0 of an invalid one, too
        return self._sections[self._by_id[id - 1]].rows[index.row()] if id else None

    def above(self, index: Index) -> QModelIndex:
        """The node that the one at `index` is below of, or the head."""
        row, facet = self.row_at(index), self.facet_at(index)
        if row is not None and facet is not None:
            rows = self._sections[facet].rows
            for at in range(index.row() - 1, -1, -1):
                if rows[at].type is RowType.NODE and rows[at].depth < row.depth:
                    return index.sibling(at, 0)
        return index.parent()

    def facet_index(self, facet: Facet) -> QModelIndex:
        """The head of `facet`, an invalid index where it is hidden."""
        at = self._at.get(facet)
        return self.createIndex(at, 0, 0) if at is not None else QModelIndex()

    def row_index(self, facet: Facet, type: RowType, value: str = "") -> QModelIndex:
        """The first such row, or an invalid index."""
        for at, row in enumerate(self.section(facet).rows):
            if row.key == (type, value):
                return self.index(at, 0, self.facet_index(facet))
        return QModelIndex()

    # Which facets are shown, and where

    def arrange_facets(
        self, arrangement: Iterable[Facet], pinned: Collection[Facet] = (), hidden: Collection[Facet] = ()
    ) -> None:
        """Show the facets in another order; those that `arrangement` does not name come last, in the order of `WORDS`.

        The pinned ones stand above the others. The last one is never hidden.
        """
        named = list(dict.fromkeys(arrangement))
        named += [facet for facet in WORDS if facet not in named]
        self._pinned = set(pinned)
        self._hidden = set(hidden) if len(set(hidden)) < len(WORDS) else set()
        self._arrangement = sorted(named, key=lambda facet: facet not in self._pinned)
        self._show_heads([facet for facet in self._arrangement if facet not in self._hidden])

    def set_pinned(self, facet: Facet, is_pinned: bool) -> None:
        """Put `facet` above those that are not pinned, as the last of the pinned ones; or back below them."""
        rest = [one for one in self._arrangement if one is not facet]
        pinned = self._pinned | {facet} if is_pinned else self._pinned - {facet}
        end = sum(one in self._pinned for one in rest)
        self.arrange_facets([*rest[:end], facet, *rest[end:]], pinned, self._hidden)

    def set_hidden(self, facet: Facet, is_hidden: bool) -> None:
        """Show `facet` or not; its place stays its own."""
        hidden = self._hidden | {facet} if is_hidden else self._hidden - {facet}
        self.arrange_facets(self._arrangement, self._pinned, hidden)

    def can_move(self, facet: Facet, step: int) -> bool:
        """Whether there is another place above (-1) or below (1), among the pinned ones or among the others."""
        return self._neighbour(facet, step) is not None

    def move(self, facet: Facet, step: int) -> None:
        """Change places with the facet above (-1) or below (1)."""
        other = self._neighbour(facet, step)
        if other is not None:
            moved = [one for one in self._arrangement if one is not facet]
            moved.insert(moved.index(other) + (step > 0), facet)
            self.arrange_facets(moved, self._pinned, self._hidden)

    def _neighbour(self, facet: Facet, step: int) -> Facet | None:
        if facet in self._hidden:
            return None
        at = self._at[facet] + step
        if not 0 <= at < len(self._shown):
            return None
        other = self._shown[at]
        return other if (other in self._pinned) == (facet in self._pinned) else None

    def _show_heads(self, wanted: list[Facet]) -> None:
        """Bring the heads to `wanted`, one step after the other, so that a view keeps what is open."""
        for facet in [one for one in self._shown if one not in wanted]:
            at = self._at[facet]
            self.beginRemoveRows(NOWHERE, at, at)
            del self._shown[at]
            self._note_places()
            section = self._sections[facet]
            section.forget()
            section.rows = []
            self.endRemoveRows()
        for at, facet in enumerate(wanted):
            if facet not in self._at:
                self.beginInsertRows(NOWHERE, at, at)
                self._shown.insert(at, facet)
                self._note_places()
                self.endInsertRows()
                self._arrange(facet, held=False)
            elif self._shown[at] is not facet:
                was = self._at[facet]
                self.beginMoveRows(NOWHERE, was, was, NOWHERE, at)
                self._shown.insert(at, self._shown.pop(was))
                self._note_places()
                self.endMoveRows()
        for facet in wanted:
            self._head_changed(facet)

    def _note_places(self) -> None:
        self._at = {facet: at for at, facet in enumerate(self._shown)}

    # What it is told

    def clear(self) -> None:
        """Forget every count, keep the filter's choices."""
        self.forget(self._sections)

    def forget(self, facets: Iterable[Facet]) -> None:
        """Hold no count of `facets` any more, as if they had never been counted."""
        for facet in facets:
            self._sections[facet].forget()
            self._arrange(facet, held=False)
            self._head_changed(facet)

    def show_filter(self, filter: MetaFilter, held: Collection[Facet] = (), scope: Reach | None = None) -> None:
        """Mark what `filter` asks for, at once; the counts follow. See `show_pages` for `held`.

        `scope` is a reach that no condition set, and that every count stays in.
        """
        self._filter, self._scope = filter, scope
        for facet, section in self._sections.items():
            section.is_of_other = section.page is not None and section.filter != apart_from(facet, filter, scope)
            chosen, condition = chosen_values(facet, filter), has_condition(facet, filter, scope)
            if (chosen, condition) == (section.chosen, section.has_condition):
                continue
            section.chosen, section.has_condition = chosen, condition
            self._arrange(facet, facet in held)
            self._head_changed(facet)

    def show_pages(
        self,
        pages: Mapping[Facet, ExplorePage],
        counted: Mapping[Facet, Mapping[str, int]] | None = None,
        held: Collection[Facet] = (),
        *,
        is_partial: bool = False,
    ) -> None:
        """Take new counts; `counted` are those of chosen values that a page had no room for.

        `is_partial`: the count goes on, and others follow.

        The facets in `held` keep their rows and the order of them, even of values that are gone, until `settle`.
        """
        for facet, page in pages.items():
            section = self._sections[facet]
            section.take(page, (counted or {}).get(facet, {}))
            section.error = None
            section.filter = apart_from(facet, self._filter, self._scope)
            section.is_counting = section.is_counting and is_partial
            section.is_partial = is_partial
            section.is_old = section.is_of_other = False
            self._arrange(facet, facet in held)
            self._head_changed(facet)

    def show_errors(self, errors: Mapping[Facet, Exception]) -> None:
        """Say at the heads what could not be counted; the counts of before stay, marked stale."""
        for facet, error in errors.items():
            section = self.section(facet)
            section.error, section.is_counting, section.is_old = error, False, True
            self._section_changed(facet)

    def set_stale(self, facets: Iterable[Facet]) -> None:
        """They could not be counted: the counts of before stay, marked stale. Why is not said at each head."""
        for facet in facets:
            section = self.section(facet)
            section.is_counting, section.is_old = False, True
            self._section_changed(facet)

    def set_counting(self, facets: Iterable[Facet]) -> None:
        """Mark what is being counted, and so is stale by now."""
        for facet in facets:
            section = self.section(facet)
            if not section.is_counting:
                section.is_counting = True
                self._section_changed(facet)

    def end_counting(self) -> None:
        """Nothing is being counted any more: counts under another filter are not followed by newer ones."""
        for facet, section in self._sections.items():
            before = section.is_stale
            section.is_counting = False
            section.is_old = section.is_old or section.is_of_other
            if section.is_stale != before:
                self._section_changed(facet)

    def set_order(self, order: Order, facets: Iterable[Facet]) -> None:
        """Sort the values of `facets`."""
        for facet in facets:
            section = self.section(facet)
            section.order, section.ranking = order, None
            self._arrange(facet, held=False)

    def set_tree(self, facet: Facet, is_tree: bool) -> None:
        """Show the values of a facet of paths as a tree or as a list."""
        section = self.section(facet)
        section.is_tree = is_tree and facet.is_prefix
        section.fetched = max(section.fetched, section.fetched_first)
        self._arrange(facet, held=False)
        self._head_changed(facet)

    def set_open(self, facet: Facet, key: str, is_open: bool) -> None:
        """Open or close a node of a tree."""
        section = self.section(facet)
        section.opened[key] = is_open
        if not is_open:
            section.grown.discard(key)
        self._arrange(facet, held=True)

    def settle(self, held: Collection[Facet] = ()) -> None:
        """Bring the facets outside `held` into their order."""
        for facet in self._shown:
            if facet not in held:
                self._arrange(facet, held=False)

    def set_find(self, facet: Facet, text: str) -> None:
        """Show only the values that hold `text`, and the chosen ones."""
        section = self.section(facet)
        if section.find != text:
            section.find = text
            self._arrange(facet, held=False)
            self._head_changed(facet)

    def show_more(self, facet: Facet, key: str = "") -> None:
        """Show as many values as a page can hold; in a tree those right below the node of `key`."""
        section = self.section(facet)
        if section.is_tree:
            section.grown.add(key)
        else:
            section.shows_all, section.fetched = True, SHOWN_MOST
        self._arrange(facet, held=True)
        self._head_changed(facet)

    def show_fewer(self, facet: Facet) -> None:
        """Show the first values only, as in the beginning."""
        section = self.section(facet)
        section.shows_all, section.fetched = False, section.fetched_first
        section.grown.clear()
        self._arrange(facet, held=False)
        self._head_changed(facet)

    def fetch_all(self, facet: Facet) -> None:
        """Have the next count ask for as many values as a page can hold, however many are shown."""
        self.section(facet).fetched = SHOWN_MOST

    # Arranging

    def _arrange(self, facet: Facet, held: bool) -> None:
        section = self._sections[facet]
        if facet not in self._at:
            return
        if section.page is None:
            rows = self._rows_uncounted(section)
        elif section.is_tree and not section.find:
            rows = self._tree_rows(section, held)
        else:
            rows = self._rows(section, held)
        self._set_rows(facet, rows)

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
            rows.append(_missing_row(page))
        _share(rows, section)
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
        row = Row(RowType.VALUE, value, value_label(section.facet, value), count, is_chosen=value in section.chosen)
        if row.is_chosen and section.facet.is_prefix and page is not None:
            row.below = section.below(value)
        return row

    def _tree_rows(self, section: Section, held: bool) -> list[Row]:
        """The chosen path, and the nodes that are seen: each one below its own."""
        page = section.page
        assert page is not None
        # What is gone keeps its place until the pointer leaves, as in a list.
        kept = dict.fromkeys(section.tree_counts, 0) if held else {}
        counts = kept | section.counts
        if section.tree is None or counts != section.tree_counts:
            section.tree, section.tree_counts = path_tree(counts), counts
        places = {row.value: at for at, row in enumerate(section.rows) if row.type is RowType.NODE} if held else {}
        rows = [Row(RowType.COLUMNS)] if section.tree or section.chosen else []
        rows += [self._value_row(section, value) for value in section.chosen]
        if section.tree:
            self._add_nodes(rows, section, section.tree, places)
        if page.missing:
            rows.append(_missing_row(page))
        _share(rows, section)
        if section.total_values() >= FIND_FROM:
            rows.insert(0, Row(RowType.FIND))
        if page.more_buckets:
            said = tr(
                "{n} more {many} are not in the tree",
                n=section.count_text(page.more_buckets),
                many=WORDS[section.facet].many,
            )
            rows.append(Row(RowType.NOTE, "rest", said))
        return rows

    def _add_nodes(
        self, rows: list[Row], section: Section, top: Mapping[str, PathNode], places: Mapping[str, int]
    ) -> None:
        def ranked(nodes: Mapping[str, PathNode]) -> list[PathNode]:
            by_name = section.order is Order.NAME
            return sorted(
                nodes.values(),
                key=lambda node: (
                    places.get(node.key, len(places) + SHOWN_MOST),
                    0 if by_name else -node.below,
                    node.segment.casefold(),
                    node.segment,
                ),
            )

        def add(key: str, nodes: Mapping[str, PathNode], depth: int) -> None:
            cap = SHOWN_MOST if key in section.grown else BELOW_FIRST
            for node in ranked(nodes)[:cap]:
                goes_on = len(nodes) == 1 or node.is_passage or node.key == ROOT
                is_open = section.opened.get(node.key, goes_on) if node.nodes else None
                rows.append(self._node_row(section, node, is_open))
                if is_open:
                    add(node.key, node.nodes, depth + 1)
            if len(nodes) > cap:
                is_grown = cap == SHOWN_MOST
                rest = number(len(nodes) - cap)
                said = tr("{n} more are not shown", n=rest) if is_grown else _more(nodes, cap)
                rows.append(Row(RowType.NOTE if is_grown else RowType.MORE, key, said, depth=depth))

        add("", top, 0)

    def _node_row(self, section: Section, node: PathNode, is_open: bool | None) -> Row:
        page = section.page
        here = node.here if node.here is not None or (page is not None and page.more_buckets) else 0
        return Row(
            RowType.NODE,
            node.key,
            tr("(empty)") if is_blank(node.segment) else shown(node.segment),
            here,
            is_chosen=node.can_be_asked_for and node.path in section.chosen,
            path=node.path,
            depth=node.depth,
            below=node.below,
            is_open=is_open,
            can_be_chosen=node.can_be_asked_for,
        )

    def _ranked(self, section: Section, values: Iterable[str]) -> list[str]:
        """`values` in the order asked for."""
        if section.order is Order.NAME:
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
        page, words = section.page, WORDS[section.facet]
        assert page is not None
        beyond = 0 if section.find else page.more_buckets
        rows = []
        if section.find:
            wanted, quoted = section.find.casefold(), _quoted(section.find)
            if not found and not any(wanted in _found_by(section.facet, value) for value in section.chosen):
                said = tr("No {noun} contains {text}", noun=words.noun, text=quoted)
                if page.more_buckets or page.truncated:
                    said = tr("None of these contains {text}", text=quoted)
                rows.append(Row(RowType.NOTE, "none", said))
            if self._takes_exactly(section, found):
                rows.append(Row(RowType.EXACT, "exact", tr("Filter by {text}", text=quoted)))
        elif section.shows_all and hidden + beyond:
            rest = section.count_text(hidden + beyond)
            rows.append(Row(RowType.NOTE, "rest", tr("{n} shown, {rest} more", n=number(shown_now), rest=rest)))
        elif hidden + beyond:
            room, rest = SHOWN_MOST - SHOWN_FIRST, section.count_text(hidden + beyond)
            said = tr("Show {n} more {many}", n=rest, many=words.many)
            if hidden + beyond > room:
                said = tr("Show {n} of {rest} more {many}", n=number(room), rest=rest, many=words.many)
            rows.append(Row(RowType.MORE, label=said))
        if section.shows_all and not section.find and section.total_values() > SHOWN_FIRST:
            rows.append(Row(RowType.FEWER, label=tr("Show fewer {many}", many=words.many)))
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

    def _set_rows(self, facet: Facet, rows: list[Row]) -> None:
        """Bring one facet's rows to `rows` with as few steps as a view can follow without losing its place."""
        section, parent = self._sections[facet], self.facet_index(facet)
        if not self._replace(section, parent, rows):
            wanted = {row.key for row in rows}
            for first, last in reversed(_runs([row.key not in wanted for row in section.rows])):
                self.beginRemoveRows(parent, first, last)
                del section.rows[first : last + 1]
                self.endRemoveRows()
            there = {row.key for row in section.rows}
            self._reorder(facet, parent, [row for row in rows if row.key in there])
            for first, last in _runs([row.key not in there for row in rows]):
                self.beginInsertRows(parent, first, last)
                section.rows[first:first] = rows[first : last + 1]
                self.endInsertRows()
        if rows:
            self.dataChanged.emit(self.index(0, 0, parent), self.index(len(rows) - 1, 0, parent))

    def _replace(self, section: Section, parent: QModelIndex, rows: list[Row]) -> bool:
        """Write `rows` over those of a facet, and add or take away what there is more or less of; False where that
        would not do: a row that somebody holds on to must not become another, nor one of another height.

        Most answers bring other values in nearly as many rows: nothing has to be laid out for that.
        """
        old, new = section.rows, rows
        start = 0
        while start < min(len(old), len(new)) and old[start].key == new[start].key:
            start += 1
        end = 0
        while end < min(len(old), len(new)) - start and old[-1 - end].key == new[-1 - end].key:
            end += 1
        stop = len(old) - end
        if any(row.type is RowType.FIND for row in (*old[start:stop], *new[start : len(new) - end])):
            return False
        id = self._ids[section.facet]
        if start < stop and any(
            index.internalId() == id and start <= index.row() < stop for index in self.persistentIndexList()
        ):
            return False
        more = len(new) - len(old)
        if more > 0:
            self.beginInsertRows(parent, stop, stop + more - 1)
            section.rows = [*old[:stop], *new[stop : stop + more], *old[stop:]]
            self.endInsertRows()
        elif more < 0:
            self.beginRemoveRows(parent, stop + more, stop - 1)
            section.rows = [*old[: stop + more], *old[stop:]]
            self.endRemoveRows()
        section.rows = new
        return True

    def _reorder(self, facet: Facet, parent: QModelIndex, rows: list[Row]) -> None:
        section = self._sections[facet]
        old = [row.key for row in section.rows]
        if old == [row.key for row in rows]:
            section.rows = rows
            return
        self.layoutAboutToBeChanged.emit()  # of the whole model: PySide6 has no other form
        place = {row.key: to for to, row in enumerate(rows)}
        section.rows = rows
        for index in self.persistentIndexList():
            if index.internalId() and self.facet_at(index) is facet:
                self.changePersistentIndex(index, self.index(place[old[index.row()]], index.column(), parent))
        self.layoutChanged.emit()

    def _head_changed(self, facet: Facet) -> None:
        head = self.facet_index(facet)
        if head.isValid():
            self.dataChanged.emit(head, head)

    def _section_changed(self, facet: Facet) -> None:
        self._head_changed(facet)
        parent = self.facet_index(facet)
        if parent.isValid() and (rows := self._sections[facet].rows):
            self.dataChanged.emit(self.index(0, 0, parent), self.index(len(rows) - 1, 0, parent))

    # In words

    def summary(self, facet: Facet, is_open: bool = False) -> str:
        """What stands at the right of a head: how many values there are, and of an open one how many are seen.

        Of one that is not counted, as it is closed: what is chosen.
        """
        section = self.section(facet)
        page = section.page
        if page is None and section.error is None:
            return "" if is_open else either(isolate(value_label(facet, value)) for value in section.chosen)
        if page is None:
            return tr("not counted")
        total = section.total_values()
        seen = sum(row.type is RowType.VALUE and bool(row.count) for row in section.rows)
        if page.truncated:
            said = counted(total, "value", is_least=True)
        elif (is_open or section.find) and seen < total and not (section.is_tree and not section.find):
            said = tr_n("{n} of {total} value", "{n} of {total} values", total, n=number(seen), total=number(total))
        elif total == 0:
            said = tr("no values")
        else:
            said = counted(total, "value")
        return tr("{values}, finding {text}", values=said, text=_quoted(section.find)) if section.find else said

    def _head_tip(self, section: Section) -> list[str]:
        lines = []
        if section.error is not None:
            error = section.error
            said = error.text if isinstance(error, TinyMemoryError) else type(error).__name__
            lines.append(tr("Could not be counted: {error}", error=shown(said, TIP_CHARACTERS)))
        if section.page is not None and section.is_stale:
            lines.append(tr("These are the counts of before."))
        if section.page is not None and section.page.truncated:
            lines.append(_stopped(section.page))
        if section.facet.takes_several:
            lines.append(tr("Several values may be chosen; an item needs one of them."))
        else:
            lines.append(tr("One value may be chosen; another takes its place."))
        return lines

    def _row_tip(self, section: Section, row: Row) -> list[str]:
        match row.type:
            case RowType.COLUMNS:
                return [tr("Here: items with this very path. All: these and what is below.")]
            case RowType.NODE:
                lines = [isolate(shown(row.path, TIP_CHARACTERS)), self._counted(section, row)]
                if not row.can_be_chosen:
                    said = tr("A filter cannot ask for an empty segment: it would admit all that is above it.")
                    return [*lines, said]
                return [*lines, below_words(row.path)]
            case RowType.VALUE:
                value = word(row.value) if section.facet in (Facet.KIND, Facet.SOURCE) else row.value
                name = tr("(empty): a blank value") if is_blank(value) else shown(value, TIP_CHARACTERS)
                lines = [isolate(name), self._counted(section, row)]
                if row.is_chosen and section.is_dead(row):
                    lines.append(tr("It is in the filter, but no item has it under the other conditions."))
                if section.page is not None and section.page.truncated:
                    lines.append(_stopped(section.page))
                if section.facet.is_prefix:
                    lines.append(below_words(row.value))
                return lines
            case RowType.MISSING:
                items = _items(section.count_text(row.count), row.count)
                return [
                    tr("{items} without {one}.", items=items, one=WORDS[section.facet].one),
                    tr("A filter cannot ask for items without a value."),
                ]
            case RowType.NOTE if row.value != "none":
                return [tr("The find box reaches the others: type one and filter by it.")]
            case RowType.EXACT:
                return [tr("Not among the values that were counted; the filter takes it as it is written.")]
        return []

    def _counted(self, section: Section, row: Row) -> str:
        if row.below is not None:
            return tr("{n} here, {items} with what is below.", **self._here_and_below(section, row, row.below))
        if row.count is None:
            return tr("Not counted: too small to be among the values shown.")
        return _items(section.count_text(row.count), row.count)

    def _here_and_below(self, section: Section, row: Row, below: int) -> dict[str, str]:
        here = "?" if row.count is None else section.count_text(row.count)
        return {"n": here, "items": _items(section.below_text(below), below)}

    def _row_spoken(self, section: Section, row: Row) -> str:
        words = WORDS[section.facet]
        if row.type in (RowType.VALUE, RowType.MISSING):
            items = tr("not counted") if row.count is None else _items(section.count_text(row.count), row.count)
            if row.type is RowType.MISSING:
                return tr("{facet}: no value, {items}, cannot be chosen", facet=words.noun, items=items)
            said = tr("{facet} {value}, {items}", facet=words.noun, value=row.label, items=items)
            return listed([said, tr("chosen") if row.is_chosen else ""])
        if row.type is RowType.NODE:
            below = self._here_and_below(section, row, row.below or 0)
            parts = [
                tr("{facet} {value}, level {n}", facet=words.noun, value=row.label, n=row.depth + 1),
                tr("{n} here, {items} with what is below", **below),
            ]
            # Translators: of a branch of a tree
            parts += [] if row.is_open is None else [tr("open") if row.is_open else tr("closed")]
            parts += [tr("chosen")] if row.is_chosen else [] if row.can_be_chosen else [tr("cannot be chosen")]
            return listed(parts)
        if row.type is RowType.COLUMNS:
            return tr("Here, all")
        return tr("Find {one}", one=words.one) if row.type is RowType.FIND else row.label

    # Qt's model

    def rowCount(self, parent: Index = NOWHERE) -> int:
        if not parent.isValid():
            return len(self._shown)
        if parent.internalId() or parent.column():
            return 0
        return len(self._sections[self._shown[parent.row()]].rows)

    def columnCount(self, parent: Index = NOWHERE) -> int:
        return 1

    def hasChildren(self, parent: Index = NOWHERE) -> bool:
        if not parent.isValid():
            return True
        if parent.internalId() or parent.column():
            return False
        section = self._sections[self._shown[parent.row()]]
        return bool(section.rows) or section.page is None  # not counted yet: it may be opened already

    def index(self, row: int, column: int, parent: Index = NOWHERE) -> QModelIndex:
        # Not through hasIndex: it asks back twice, and a layout asks for every row.
        if column != 0 or not 0 <= row < self.rowCount(parent):
            return QModelIndex()
        return self.createIndex(row, 0, self._ids[self._shown[parent.row()]] if parent.isValid() else 0)

    def parent(self, child: Index = NOWHERE) -> QModelIndex:  # type: ignore[override]
        id = child.internalId()  # 0 of an invalid one, too
        return self.facet_index(self._by_id[id - 1]) if id else QModelIndex()

    def flags(self, index: Index) -> Qt.ItemFlag:
        if not index.isValid():
            return Qt.ItemFlag.NoItemFlags
        row = self.row_at(index)
        if row is None:
            return _HEAD_FLAGS
        if row.type is RowType.COLUMNS:
            return Qt.ItemFlag.ItemNeverHasChildren  # the keyboard goes past it
        return _FIND_FLAGS if row.type is RowType.FIND else _ROW_FLAGS

    def data(self, index: Index, role: int = Qt.ItemDataRole.DisplayRole) -> Any:
        if not index.isValid():
            return None
        row = self.row_at(index)
        if row is None:
            return self._head_data(self._sections[self._shown[index.row()]], role)
        section = self._sections[self._by_id[index.internalId() - 1]]
        match role:
            case Qt.ItemDataRole.DisplayRole:
                return row.label
            case Qt.ItemDataRole.UserRole:
                return row.value if row.type is RowType.VALUE else row.path if row.type is RowType.NODE else None
            case Qt.ItemDataRole.CheckStateRole if row.type in CHOICES:
                return Qt.CheckState.Checked if row.is_chosen else Qt.CheckState.Unchecked
            case Qt.ItemDataRole.ToolTipRole:
                return tip("\n".join(self._row_tip(section, row)))
            case Qt.ItemDataRole.AccessibleTextRole:
                return self._row_spoken(section, row)
            case Qt.ItemDataRole.AccessibleDescriptionRole if row.type in CHOICES:
                return _how_many(section.facet)
            case _ if role == RowTypeRole:
                return int(row.type)
            case _ if role == CountRole:
                return section.count_text(row.count) if row.type in (*CHOICES, RowType.MISSING) else None
            case _ if role == BelowRole:
                return section.below_text(row.below) if row.below is not None else None
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
                parts = [WORDS[section.facet].title, self.summary(section.facet), _how_many(section.facet)]
                parts += [tr("pinned")] if section.facet in self._pinned else []
                parts += [tr("filtered")] if section.has_condition else []
                parts += [tr("could not be counted")] if section.error is not None else []
                return listed(parts)
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


def _more(nodes: Mapping[str, PathNode], cap: int) -> str:
    rest = number(len(nodes) - cap)
    if len(nodes) <= SHOWN_MOST:
        return tr("Show {n} more", n=rest)
    return tr("Show {n} of {rest} more", n=number(SHOWN_MOST - cap), rest=rest)


def _missing_row(page: ExplorePage) -> Row:
    return Row(RowType.MISSING, label=tr("no value"), count=page.missing)


def _share(rows: list[Row], section: Section) -> None:
    """Give each row its bar: against the largest one shown. It moves there where the same rows were there before."""
    before = {row.key: row.share for row in section.rows if row.type in BARS}
    stays = list(before) == [row.key for row in rows if row.type in BARS]
    sizes = [(row.count if row.below is None or not section.is_tree else row.below) or 0 for row in rows]
    largest = max(sizes, default=0)
    for row, size in zip(rows, sizes, strict=True):
        row.share = size / largest if largest else 0.0
        row.share_before = before.get(row.key, row.share) if stays else row.share


def _found_by(facet: Facet, value: str) -> str:
    """What a value is looked up in: as it is stored, and as it stands in its row."""
    return f"{value}\n{value_label(facet, value)}".casefold()


def _quoted(text: str) -> str:
    return in_quotes(isolate(shown(text)))


def _items(said: str, count: int | None) -> str:
    n = count if count is not None and said == number(count) else 2  # a count from below is many
    return tr_n("{n} item", "{n} items", n, n=said)


def _how_many(facet: Facet) -> str:
    # Translators: values of a facet; a screen reader says it where others see a box to tick, or a round one
    return tr("several can be chosen") if facet.takes_several else tr("one can be chosen")


def _stopped(page: ExplorePage) -> str:
    return tr(
        "Counting stopped at {n} items, so every number is at least what it says.",
        n=number(page.total),
    )
