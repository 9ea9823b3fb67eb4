"""Whether forgetting an id removes that item and no other."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.query import ForgetTarget


async def _make(session: Session) -> None:
    before = await session.list_ids(64, session.filter)
    id = await session.store(62, session.document("forget-me"))
    target = ForgetTarget(ids=[id])
    report = await session.served(62, session.engine.forget(target))
    session.expect(62, report.forgotten == 1, f"forgetting one id removed {report.forgotten}")
    after = await session.list_ids(63, session.filter)
    session.expect(63, id not in after, f"{id} still lists")
    session.expect(64, len(after) == len(before), f"{len(before)} other items before, {len(after)} after")
    report = await session.served(65, session.engine.forget(target))
    session.expect(65, report.forgotten == 0, f"forgetting it again removed {report.forgotten}")


GROUP = Group(
    "forget_by_id",
    {
        62: "Forgetting one id reports one.",
        63: "The item no longer lists.",
        64: "No other item goes with it.",
        65: "Forgetting it again reports none.",
    },
    _make,
)
