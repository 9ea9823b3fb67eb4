"""What is selected in the list, as a target to be removed, moved or copied."""

from __future__ import annotations

import contextlib
from collections.abc import Callable

from explorer.contract import ItemId
from explorer.i18n import tr
from explorer.removal.plan import Target
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
        jobs.start("selected", _ids(window, jobs), lambda ids: plan(Target.of_ids(ids, reach)) if ids else None)


async def _ids(window: MainWindow, jobs: Jobs) -> list[ItemId]:
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
