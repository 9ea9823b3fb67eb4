"""Whether counts agree with listings."""

from __future__ import annotations

from collections import Counter

from explorer.contract.conformance.session import Group, Session
from explorer.contract.errors import InvalidRequest
from explorer.contract.facets import Facet
from explorer.contract.query import ExploreRequest


async def _make(session: Session) -> None:
    def asking(facet: Facet, limit: int = 10) -> ExploreRequest:
        return ExploreRequest(facet=facet, filter=session.filter, limit=limit)

    page = await session.served(18, session.engine.explore(asking(Facet.KIND)))
    session.expect(18, page.facet is Facet.KIND, f"asked about kind, answered about {page.facet}")
    session.expect(19, not page.truncated, "a handful of items was not counted to the end")
    listed = await session.list_all(20, session.filter)
    session.expect(20, page.total == len(listed), f"{page.total} items counted, {len(listed)} listed")
    counts = {bucket.value: bucket.count for bucket in page.buckets}
    wanted = dict(Counter(str(hit.kind) for hit in listed))
    session.expect(21, counts == wanted, f"counted by kind: {counts}, listed: {wanted}")
    sizes = [bucket.count for bucket in page.buckets]
    session.expect(22, sizes == sorted(sizes, reverse=True), f"the buckets have the sizes {sizes}")
    for bucket in page.buckets:
        inside = await session.list_all(23, Facet.KIND.narrow(session.filter, bucket.value))
        session.expect(23, len(inside) == bucket.count, f"{bucket.value}: {bucket.count} counted, {len(inside)} listed")

    page = await session.served(24, session.engine.explore(asking(Facet.WORKSPACE)))
    spaces = [(bucket.value, bucket.count) for bucket in page.buckets]
    session.expect(24, spaces == [(session.workspace, len(listed))], f"counted by workspace: {spaces}")
    session.expect(24, page.missing == 0, f"{page.missing} items are said to have no workspace")
    await session.refused(25, session.engine.explore(asking(Facet.KIND, limit=0)), InvalidRequest)


GROUP = Group(
    "explore",
    {
        18: "The answer names the facet that was asked for.",
        19: "A handful of items is counted to the end.",
        20: "The total is the number of items that list.",
        21: "The count of each kind is that of the listing.",
        22: "Buckets come largest first.",
        23: "A narrowed listing has as many items as its bucket counts.",
        24: "One workspace is one bucket that counts every item, with none missing.",
        25: "A limit of no buckets is refused.",
    },
    _make,
)
