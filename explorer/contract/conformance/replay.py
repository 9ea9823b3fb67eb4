"""Whether storing the same again is noticed."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session


async def _make(session: Session) -> None:
    item = session.document("replay")
    first = await session.served(15, session.engine.store(item))
    second = await session.served(15, session.engine.store(item))
    session.expect(15, second.replayed and not first.replayed, "the second store of a document is not the replay")
    session.expect(16, first.id == second.id, f"one document got the ids {first.id} and {second.id}")
    times = (await session.list_ids(17, session.filter)).count(first.id)
    session.expect(17, times == 1, f"the document stored twice lists {times} times")


GROUP = Group(
    "replay",
    {
        15: "The second store of the same document is a replay.",
        16: "Both receipts name one id.",
        17: "The document lists once.",
    },
    _make,
)
