"""Whether two users of one store see nothing of each other."""

from __future__ import annotations

from collections.abc import Iterable

from explorer.contract.conformance.session import Session, admitting, same
from explorer.contract.facets import Facet
from explorer.contract.items import ItemId
from explorer.contract.namespace import EVERYTHING, Reach, SegmentKind
from explorer.contract.query import ExploreRequest, ForgetTarget, GetRequest, RecallRequest

NAME = "isolation"
CHECKS = {
    83: "The first user lists what they stored.",
    84: "The second user lists none of it.",
    85: "The second reads none of it by id.",
    86: "The second finds none of it in any declared mode.",
    87: "The second has none of it cited in an answer.",
    88: "The second counts none of it.",
    89: "The second can forget none of it, by id or by workspace.",
    90: "The same item stored by the second user is theirs alone.",
    91: "What the second stores at a node that the first might use stays theirs.",
}


async def make(a: Session, b: Session) -> None:
    """`a` and `b` share a marker, so that each knows what to look for in the other's store."""
    items = a.round_trip_items()
    ids = [await a.store(83, item) for item in items]
    filter = a.filter

    async def expect_a_unchanged(number: int, after: str) -> None:
        listed = await a.list_ids(number, filter)
        a.expect(number, same(listed, ids), f"{after}, the first user lists {_named(listed)}")

    await expect_a_unchanged(83, "after three stores")
    for reach in (None, EVERYTHING):
        seen = await b.list_ids(84, admitting(filter, reach))
        b.expect(84, not seen, f"the second user lists {_named(seen)}")
    for reach in (None, EVERYTHING):
        got = await b.served(85, b.engine.get(GetRequest(ids=ids, reach=reach)))
        b.expect(85, not got, f"the second user reads {_named(hit.id for hit in got)}")
    for mode in b.modes(86):
        seen = await b.fetch_ids(86, b.marker, mode, filter, 20)
        b.expect(86, not seen, f"the second user finds {_named(seen)} by {mode} fetch")
    b.expect(86, True, "")
    answer = await b.served(87, b.engine.recall(RecallRequest(question=b.marker, filter=filter, limit=5)))
    b.expect(87, not answer.citations, f"the second user is told of {_named(c.id for c in answer.citations)}")
    page = await b.served(88, b.engine.explore(ExploreRequest(facet=Facet.NAMESPACE, filter=filter, limit=10)))
    b.expect(88, page.total == 0 and not page.buckets, f"the second user counts {page.total}")
    for what, target in (("by id", ForgetTarget(ids=ids)), ("by workspace", ForgetTarget(filter=filter))):
        report = await b.served(89, b.engine.forget(target))
        b.expect(89, report.forgotten == 0, f"the second user forgot {report.forgotten} {what}")
        await expect_a_unchanged(89, f"after the second user's forget {what}")

    receipt = await b.served(90, b.engine.store(items[0]))
    b.expect(90, not receipt.replayed, "the second user's first store of an item is called a replay")
    listed = await b.list_ids(90, filter)
    b.expect(90, listed == [receipt.id], f"after one store the second user lists {_named(listed)}")
    await expect_a_unchanged(90, "after the second user's store")

    node = b.node("a", SegmentKind.USER)
    at_node = Reach.exact(node)
    id = await b.store(91, b.document("isolated", namespace=node))
    listed = await b.list_ids(91, admitting(filter, at_node))
    b.expect(91, listed == [id], f"at the node the second user lists {_named(listed)}")
    for reach in (None, EVERYTHING, at_node):
        b.expect(91, id not in await a.list_ids(91, admitting(filter, reach)), "the first user lists it")


def _named(ids: Iterable[ItemId]) -> str:
    return ", ".join(ids) or "nothing"
