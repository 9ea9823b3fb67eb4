"""Whether a store keeps its id and its promise whatever it waits for."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.query import StoreOptions, Wait


async def _make(session: Session) -> None:
    visible, accepted = session.document("visible"), session.document("accepted")
    waiting = StoreOptions(wait=Wait.VISIBLE)
    receipt = await session.served(36, session.engine.store_with(visible, waiting))
    session.expect(36, receipt.id == visible.fingerprint(), f"the id {receipt.id} is not the fingerprint")
    listed = await session.list_ids(37, session.filter)
    session.expect(37, receipt.id in listed, f"{receipt.id} does not list, though its store waited for that")
    again = await session.served(38, session.engine.store_with(visible, waiting))
    session.expect(38, again.replayed, f"{receipt.id} stored again is no replay")
    receipt = await session.served(39, session.engine.store_with(accepted, StoreOptions(wait=Wait.ACCEPTED)))
    session.expect(39, receipt.id == accepted.fingerprint(), f"the id {receipt.id} is not the fingerprint")


GROUP = Group(
    "store_with",
    {
        36: "A store that waits until the item is visible answers its fingerprint.",
        37: "The item lists on return.",
        38: "The same store again is a replay.",
        39: "A store that waits for acceptance alone answers the fingerprint too.",
    },
    _make,
)
