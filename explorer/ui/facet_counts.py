"""Counting facets: what is asked of the engine, and what one round of it brings. Free of Qt."""

from __future__ import annotations

from collections.abc import AsyncGenerator, Callable, Sequence
from dataclasses import dataclass, field

from explorer.contract import (
    ExplorePage,
    ExploreRequest,
    Facet,
    MemoryEngine,
    MetaFilter,
    Reach,
    TinyMemoryError,
    Unauthorized,
    Unavailable,
)
from explorer.contract.query import DEFAULT_SCAN, MAX_BUCKETS
from explorer.ui.models.facet_rows import apart_from, chosen_values


@dataclass
class Counted:
    """What one round of counting brought."""

    pages: dict[Facet, ExplorePage] = field(default_factory=dict)
    chosen: dict[Facet, dict[str, int]] = field(default_factory=dict)
    errors: dict[Facet, Exception] = field(default_factory=dict)


async def count(
    engine: MemoryEngine,
    filter: MetaFilter,
    limits: dict[Facet, int],
    scan_limit: int = DEFAULT_SCAN,
    scope: Reach | None = None,
    so_far: Callable[[Counted], None] | None = None,
) -> Counted:
    """Count facets, each under every condition but its own, and the chosen values that found no place among them.

    Nothing is counted out of `scope`, which is nobody's condition. `so_far` is told of pages that still grow.

    A facet that cannot be counted alone is an error of its own; raises where none can, or nobody answers.
    """
    reqs = [
        ExploreRequest(facet=facet, filter=apart_from(facet, filter, scope), limit=limit, scan_limit=scan_limit)
        for facet, limit in limits.items()
    ]
    counted = await _explore(engine, reqs, so_far)
    left_out = {facet: lost for facet, page in counted.pages.items() if (lost := _left_out(page, filter))}
    if left_out:
        # Under the whole filter each item has a chosen value, so these are their counts without the condition too.
        again = [ExploreRequest(facet=one, filter=filter, limit=MAX_BUCKETS, scan_limit=scan_limit) for one in left_out]
        for facet, page in (await _explore(engine, again)).pages.items():
            counts = {bucket.value: bucket.count for bucket in page.buckets}
            counted.chosen[facet] = {value: counts[value] for value in left_out[facet] if value in counts}
    return counted


def _left_out(page: ExplorePage, filter: MetaFilter) -> list[str]:
    """Chosen values that a page does not name though they may have items: cut, not reached, or in a sandbox."""
    if not (page.more_buckets or page.truncated or page.facet is Facet.NAMESPACE):
        return []
    named = {bucket.value for bucket in page.buckets}
    return [value for value in chosen_values(page.facet, filter) if value not in named]


async def _explore(
    engine: MemoryEngine, reqs: Sequence[ExploreRequest], so_far: Callable[[Counted], None] | None = None
) -> Counted:
    try:
        if so_far is None or type(engine).explore_gradually is MemoryEngine.explore_gradually:
            pages = await engine.explore_many(list(reqs))
        else:
            pages = await _explore_gradually(engine, reqs, so_far)
    except (Unauthorized, Unavailable):
        raise  # asking again, one by one, would only knock fourteen times
    except TinyMemoryError:
        return await _explore_singly(engine, reqs)
    return _by_facet(reqs, pages)


async def _explore_gradually(
    engine: MemoryEngine, reqs: Sequence[ExploreRequest], so_far: Callable[[Counted], None]
) -> list[ExplorePage]:
    pages: list[ExplorePage] = []
    steps = engine.explore_gradually(list(reqs))
    try:
        async for pages in steps:
            if all(page.truncated for page in pages):  # else they are the answer, which is told by returning it
                so_far(_by_facet(reqs, pages))
    finally:
        if isinstance(steps, AsyncGenerator):
            await steps.aclose()
    return pages


def _by_facet(reqs: Sequence[ExploreRequest], pages: Sequence[ExplorePage]) -> Counted:
    return Counted(pages={req.facet: page for req, page in zip(reqs, pages, strict=True)})


async def _explore_singly(engine: MemoryEngine, reqs: Sequence[ExploreRequest]) -> Counted:
    counted = Counted()
    for req in reqs:
        try:
            counted.pages[req.facet] = await engine.explore(req)
        except (Unauthorized, Unavailable):
            raise
        except TinyMemoryError as error:
            counted.errors[req.facet] = error
    if not counted.pages:
        raise next(iter(counted.errors.values()))
    return counted
