"""Whether each kind of item lists as what was stored."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session


async def _make(session: Session) -> None:
    for item in session.round_trip_items():
        kind = item.item_kind
        receipt = await session.served(2, session.engine.store(item))
        session.expect(2, not receipt.replayed, f"the new {kind} is called a replay")
        listed = await session.list_all(3, session.narrowed(kinds=[kind]))
        found = [hit for hit in listed if hit.id == receipt.id]
        session.expect(3, len(found) == 1, f"the {kind} {receipt.id} lists {len(found)} times")
        hit = found[0]
        session.expect(4, hit.kind == kind, f"the {kind} {hit.id} lists as a {hit.kind}")
        session.expect(5, hit.meta == item.meta, f"the metadata of {kind} {hit.id} reads {hit.meta.model_dump_json()}")
        wanted = item.confidence_or_none
        session.expect(
            6, hit.confidence == wanted, f"the {kind} {hit.id} has confidence {hit.confidence}, not {wanted}"
        )
        session.expect(7, hit.text == item.render_text(), f"the text of {kind} {hit.id} is not its rendered form")
        others = [other.id for other in listed if other.kind != kind]
        session.expect(8, not others, f"other kinds among the {kind}s: {', '.join(others)}")


GROUP = Group(
    "round_trip",
    {
        2: "An item stored for the first time is no replay.",
        3: "It lists once, under the id of its receipt.",
        4: "It lists as the kind it is.",
        5: "All of its metadata lists as stored.",
        6: "A learning lists with its confidence, any other kind without one.",
        7: "Its text lists in the rendered form.",
        8: "A listing of one kind holds no other kind.",
    },
    _make,
)
