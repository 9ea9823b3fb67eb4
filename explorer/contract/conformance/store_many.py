"""Whether a batch is stored in order, once."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.errors import InvalidRequest
from explorer.contract.items import StoreItem


async def _make(session: Session) -> None:
    batch: list[StoreItem] = [session.document(f"bulk-{place}") for place in range(3)]
    receipts = await session.served(30, session.engine.store_many(batch))
    session.expect(30, len(receipts) == len(batch), f"{len(receipts)} receipts for {len(batch)} items")
    replays = [receipt.id for receipt in receipts if receipt.replayed]
    session.expect(31, not replays, f"new items called replays: {', '.join(replays)}")
    for place, (receipt, item) in enumerate(zip(receipts, batch, strict=True)):
        session.expect(32, receipt.id == item.fingerprint(), f"receipt {place} names another item: {receipt.id}")
    listed = await session.list_ids(33, session.filter)
    absent = [receipt.id for receipt in receipts if receipt.id not in listed]
    session.expect(33, not absent, f"stored but not listed: {', '.join(absent)}")
    again = await session.served(34, session.engine.store_many(batch))
    new = [receipt.id for receipt in again if not receipt.replayed]
    session.expect(34, not new and len(again) == len(batch), f"no replay the second time: {', '.join(new)}")
    await session.refused(35, session.engine.store_many([]), InvalidRequest)


GROUP = Group(
    "store_many",
    {
        30: "A batch gets one receipt per item.",
        31: "None of a new batch is a replay.",
        32: "Each receipt has the fingerprint of the item at its place.",
        33: "The whole batch lists on return.",
        34: "The batch stored again is all replays.",
        35: "An empty batch is refused.",
    },
    _make,
)
