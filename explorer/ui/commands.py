"""What the palette of a window offers: its actions, and the nodes, values, items, searches and views it knows."""

from __future__ import annotations

import asyncio
import itertools
from collections.abc import Collection, Iterator, Sequence
from functools import partial
from typing import TYPE_CHECKING

from PySide6.QtGui import QAction, QKeySequence
from shiboken6 import isValid

from explorer import text
from explorer.contract import ExplorePage, Facet, Hit, InvalidRequest, ItemId, MemoryEngine, MetaFilter, Namespace
from explorer.contract.query import MAX_BUCKETS
from explorer.i18n import tr, tr_in
from explorer.ui.actions import actions_of, why_not
from explorer.ui.facet_counts import count
from explorer.ui.headline import headline
from explorer.ui.item_view import KIND_ICONS
from explorer.ui.models.facet_rows import WORDS, narrowed, value_label
from explorer.ui.models.namespace_model import Node
from explorer.ui.namespaces import reach_of
from explorer.ui.palette import Command

if TYPE_CHECKING:
    from explorer.ui.main_window import MainWindow

NODES_AT_ONCE = 1_000
"""Of more nodes, those that come first in the tree are there at once, the others with what is asked."""
NODES_MOST = 10_000
_AT_A_TIME = 300  # entries made before others get their turn


_FACET_ICONS = {
    Facet.KIND: "document",
    Facet.TAG: "tag",
    Facet.SOURCE: "source",
    Facet.AGENT: "agent",
    Facet.FILE_PATH: "file",
    Facet.FOLDER: "project",
    Facet.THREAD: "conversation",
    Facet.REPO: "project",
    Facet.WORKSPACE: "workspace",
    Facet.URL: "external",
}


class Commands:
    """Of one window. What is stored is drawn as plain text, and is never what an entry is known by."""

    def __init__(self, window: MainWindow) -> None:
        self._window = window
        self._cut: list[Facet] = []  # those of which the engine has more values than it gives at once

    def gather(self) -> list[Command]:
        """All that needs no asking: the window's own actions first, then what was seen lately, then those of its
        panels and menus, then where one can go.
        """
        self._cut = []
        own: list[Command] = []
        lately: list[Command] = []
        others: list[Command] = []
        first = set(self._window.actions())
        for action, title in actions_of(self._window).items():
            if action is not self._window.palette_action:
                group = own if action in first else lately if action.property("what") else others
                group.append(_of_action(action, title))
        return [
            *own,
            *lately,
            *self._recent_items(),
            *others,
            *self._nodes(0, NODES_AT_ONCE),
            *self._values(),
        ]

    async def ask(self) -> list[Command]:
        """What is not on screen: further nodes, and of each facet that is not held whole as many values as the contract
        gives at once.
        """
        window = self._window
        engine, filter = window.engine, window.trail.current.filter
        if engine is None:
            return []
        pages = await _pages(engine, filter, self._facets_not_whole())
        self._cut = [facet for facet, page in pages.items() if page.more_buckets]
        found = []
        values = itertools.chain.from_iterable(itertools.starmap(self._values_of, pages.items()))
        for command in itertools.chain(self._nodes(NODES_AT_ONCE, NODES_MOST), values):
            found.append(command)
            if len(found) % _AT_A_TIME == 0:
                await asyncio.sleep(0)
        return found

    def beyond(self) -> str:
        """What there is that has no line, and the way to it."""
        what = [WORDS[facet].title for facet in self._cut]
        if self._window.namespaces.model.size > NODES_MOST:
            what.insert(0, tr("Node"))
        if not what:
            return ""
        return tr("There are more than can be found here: {what}. Type one whole to go to it.", what=text.listed(what))

    def made_of(self, typed: str) -> list[Command]:
        """The lines at the end: what is typed as a whole value where there are more than are known, and as a search
        inside the filter.
        """
        window = self._window
        if window.engine is None:
            return []
        words = text.isolate(text.shown(typed, 80))
        made = [
            Command(
                tr("Filter by {text}", text=words),
                _kind_of(facet),
                partial(self._narrow, facet, typed),
                _FACET_ICONS.get(facet, "funnel"),
                tr("as it is typed"),
                key=_value_key(facet, typed),
            )
            for facet in self._cut
        ]
        made += self._node_beyond(typed)
        question = tr("Ask: {words}", words=words)
        made.append(Command(question, tr_in("asked", "Question"), partial(window.show_asking, typed), "ask"))
        if window.engine.descriptor().fetch_modes:
            search = tr("Search inside the filter for {words}", words=words)
            made.append(Command(search, tr("Search"), partial(window.search_box.search, typed), "search"))
        return made

    # Where one can go

    def _nodes(self, first: int, end: int) -> Iterator[Command]:
        for node in self._window.namespaces.model.nodes()[first:end]:
            yield self._node(node)

    def _node(self, node: Node) -> Command:
        return Command(
            text.shown(str(node.namespace)),
            tr("Node"),
            partial(self._go_to_node, node.namespace),
            node.icon,
            text.counted(node.here, "item", self._window.namespaces.model.is_truncated),
            key=f"node {node.path}",
        )

    def _node_beyond(self, typed: str) -> Iterator[Command]:
        """The node of that path, where there are more than are listed."""
        model = self._window.namespaces.model
        if model.size <= NODES_MOST:
            return
        try:
            node = model.node(Namespace.parse(typed))
        except InvalidRequest:
            return
        if node is not None:
            yield self._node(node)

    def _values(self) -> Iterator[Command]:
        model = self._window.facets.model
        for facet in model.arrangement:
            page = model.section(facet).page
            if page is not None:
                yield from self._values_of(facet, page)

    def _values_of(self, facet: Facet, page: ExplorePage) -> Iterator[Command]:
        if facet is Facet.NAMESPACE:  # the nodes, which stand there already
            return
        kind = _kind_of(facet)
        for bucket in page.buckets:
            yield Command(
                value_label(facet, bucket.value),
                kind,
                partial(self._narrow, facet, bucket.value),
                _FACET_ICONS.get(facet, "funnel"),
                text.counted(bucket.count, "item", page.truncated),
                key=_value_key(facet, bucket.value),
            )

    def _facets_not_whole(self) -> list[Facet]:
        model = self._window.facets.model
        pages = {facet: model.section(facet).page for facet in model.arrangement if facet is not Facet.NAMESPACE}
        return [facet for facet, page in pages.items() if page is None or page.more_buckets]

    # What was seen lately

    def _recent_items(self) -> Iterator[Command]:
        for hit in self._window.recent.items():
            where = text.shown(str(hit.meta.namespace), 60)
            title = text.shown(headline(hit).name, 120) or tr("(empty)")
            yield Command(title, tr("Item"), partial(self._window.open_item, hit), KIND_ICONS[hit.kind], where)

    # What they do

    def _go_to_node(self, at: Namespace) -> None:
        filter = self._window.trail.current.filter
        reach = reach_of(self._window.namespaces.reach_box.currentData() or "subtree", at)
        self._window.go_to_filter(filter.model_copy(update={"reach": reach}))

    def _narrow(self, facet: Facet, value: str) -> None:
        try:
            self._window.go_to_filter(narrowed(facet, self._window.trail.current.filter, value))
        except InvalidRequest as error:  # a value that an engine counts, or a person types, and no filter can have
            self._window.show_exception(error)


class Recent:
    """The items that were shown last, newest first; kept for this session only."""

    def __init__(self, most: int = 20) -> None:
        self._most = most
        self._hits: dict[str, Hit] = {}

    def note(self, hit: Hit) -> None:
        self._hits.pop(hit.id, None)
        self._hits[hit.id] = hit
        while len(self._hits) > self._most:
            del self._hits[next(iter(self._hits))]

    def drop(self, gone: Collection[ItemId]) -> None:
        """What was removed cannot be gone back to."""
        self._hits = {id: hit for id, hit in self._hits.items() if id not in gone}

    def items(self) -> list[Hit]:
        return list(reversed(self._hits.values()))

    def clear(self) -> None:
        self._hits.clear()


async def _pages(engine: MemoryEngine, filter: MetaFilter, facets: Sequence[Facet]) -> dict[Facet, ExplorePage]:
    if not facets:
        return {}
    return (await count(engine, filter, dict.fromkeys(facets, MAX_BUCKETS))).pages


def _kind_of(facet: Facet) -> str:
    noun = WORDS[facet].noun
    return f"{noun[:1].upper()}{noun[1:]}"


def _value_key(facet: Facet, value: str) -> str:
    return f"{facet.value} {value}"


def _of_action(action: QAction, title: str) -> Command:
    keys = action.shortcut().toString(QKeySequence.SequenceFormat.NativeText)
    icon = str(action.property("iconName") or "")
    # Translators: beside an action that is a switch
    aside = tr("on") if action.isChecked() else ""
    what = str(action.property("what") or tr("Action"))

    def run() -> None:
        if isValid(action):  # a menu may have been filled anew meanwhile
            action.trigger()

    # Only of actions: of some thousand paths any two letters would be initials.
    return Command(title, what, run, icon, aside, keys, why_not(action), by_initials=True)
