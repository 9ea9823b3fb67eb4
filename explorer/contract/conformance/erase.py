"""Whether an engine that erases removes a node with what is below it, and nothing beside."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session, same
from explorer.contract.errors import InvalidRequest, Unsupported
from explorer.contract.meta import ItemKind
from explorer.contract.namespace import EVERYTHING, Reach, Segment, SegmentKind
from explorer.contract.query import EraseRequest

_TAG = "erase"


async def _make(session: Session) -> None:
    engine, node, kept = session.engine, session.node("erased"), session.node("kept")
    places = {"node": node, "child": node.child(Segment(SegmentKind.AGENT, "child")), "sibling": kept}
    items = {
        label: session.fact(f"{session.marker} {label} erasable fact", 0.9, namespace=place, tags=[_TAG])
        for label, place in places.items()
    }
    ids = {label: await session.store(78, item) for label, item in items.items()}

    await session.refused(77, engine.erase(EraseRequest(reach=EVERYTHING)), InvalidRequest, Unsupported)
    report = await session.served_unless(78, Unsupported, engine.erase(EraseRequest(reach=Reach.subtree(node))))
    session.expect(78, True, "")
    if report is None:
        return
    tagged = session.narrowed(kinds=[ItemKind.LEARNING], tags_any=[_TAG])
    left = await session.list_ids(79, tagged)
    session.expect(79, left == [ids["sibling"]], f"after the erase {', '.join(left) or 'nothing'} lists")
    for label in ("node", "child"):
        receipt = await session.served(80, engine.store(items[label]))
        session.expect(80, not receipt.replayed, f"the erased {label}'s item stored anew is called a replay")
    listed = await session.list_ids(81, tagged)
    session.expect(81, same(listed, ids.values()), f"{len(listed)} of {len(ids)} items list once stored anew")


GROUP = Group(
    "erase",
    {
        77: "Erasing the whole tree without saying so is refused.",
        78: "The engine erases a node and what is below it, or says that it does not erase.",
        79: "Only the sibling's item lists afterwards.",
        80: "An erased item stored again is new.",
        81: "All of them list again.",
    },
    _make,
)
