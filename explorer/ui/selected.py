"""What is selected in the list, as a target to be removed, moved or copied."""

from __future__ import annotations

import contextlib
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from explorer.contract import GetRequest, ItemId, MemoryEngine, MetaFilter, Namespace, Reach
from explorer.contract.query import MAX_GET_IDS
from explorer.i18n import tr
from explorer.removal.plan import Target
from explorer.removal.preview import listed
from explorer.ui.job_list import Progress, Read, items_done
from explorer.ui.jobs import Jobs
from explorer.ui.main_window import MainWindow


def plan_selected(window: MainWindow, jobs: Jobs, plan: Callable[[Target], None]) -> None:
    """Hand `plan` what is selected: the filter where that is all of it, else items by their ids, once all are read."""
    items, filter = window.items, window.items.selected_filter
    reach = items.selected_reach
    target = Target.of_filter(filter) if filter is not None and items.selected_count.n > 1 else None
    # Of the whole tree the list shows no sandboxes: what is selected there is less.
    if target is not None and not target.is_whole_tree:
        plan(target)
    elif window.engine is not None:
        jobs.start("selected", selected_ids(window, jobs), lambda ids: plan(Target.of_ids(ids, reach)) if ids else None)


async def selected_ids(window: MainWindow, jobs: Jobs) -> list[ItemId]:
    """The ids of what is selected, once all are read."""
    selected = window.items.selected_count
    ids: list[ItemId] = []

    def found() -> Progress:
        return items_done(len(ids), None if selected.is_least else selected.n)

    reading = Read(tr("Read what is selected"), lambda: jobs.cancel("selected"), found)
    with window.job_list.if_slow(reading):
        async with contextlib.aclosing(window.items.selected_batches()) as batches:
            async for hits in batches:
                ids += [hit.id for hit in hits]
    return ids


async def listed_ids(window: MainWindow, jobs: Jobs, engine: MemoryEngine, filter: MetaFilter) -> list[ItemId]:
    """The ids of all that a filter admits, once all are read."""
    ids: list[ItemId] = []
    reading = Read(tr("Read what matches"), lambda: jobs.cancel("selected"), lambda: items_done(len(ids), None))
    with window.job_list.if_slow(reading):
        async with contextlib.aclosing(listed(engine, filter)) as pages:
            async for hits in pages:
                ids += [hit.id for hit in hits]
    return ids


@dataclass(frozen=True)
class Seen:
    """What an agent reads of some items, in the order asked, and what it does not: out of its reach, or gone."""

    ids: list[ItemId]
    skipped: list[ItemId]


async def seen_of(engine: MemoryEngine, agent: Namespace, ids: Awaitable[list[ItemId]]) -> Seen:
    """Read items back as an agent at `agent` reads them, which is what its tool does before it forgets."""
    wanted = list(dict.fromkeys(await ids))
    found: set[ItemId] = set()
    for start in range(0, len(wanted), MAX_GET_IDS):
        batch = wanted[start : start + MAX_GET_IDS]
        found |= {hit.id for hit in await engine.get(GetRequest(ids=batch, reach=Reach.of(agent)))}
    return Seen([id for id in wanted if id in found], [id for id in wanted if id not in found])
