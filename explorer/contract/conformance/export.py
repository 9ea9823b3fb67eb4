"""Whether an engine that exports hands back exactly what was stored."""

from __future__ import annotations

from collections.abc import Awaitable

from explorer.contract.conformance.session import Group, Session, same
from explorer.contract.errors import Unsupported
from explorer.contract.query import ExportPage, ListRequest


async def _make(session: Session) -> None:
    items = session.round_trip_items()
    for item in items:
        await session.store(9, item)

    def ask(cursor: str | None) -> Awaitable[ExportPage]:
        return session.engine.export(ListRequest(filter=session.filter, limit=2, cursor=cursor))

    first = await session.served_unless(9, Unsupported, ask(None))
    session.expect(9, True, "")
    if first is None:
        return
    pages = await session.pages(10, ask, first)
    incomplete = [id for page in pages for id in page.incomplete]
    session.expect(10, not incomplete, f"called incomplete: {', '.join(incomplete)}")
    exported = [one for page in pages for one in page.items]
    session.expect(11, len(exported) == len(items), f"{len(exported)} of {len(items)} items came back")
    wanted = {item.fingerprint(): item for item in items}
    session.expect(12, same((one.id for one in exported), wanted), "not every item came back once under its id")
    for one in exported:
        session.expect(12, one.item == wanted[one.id], f"{one.id} is not what was stored")
    for one in exported:
        receipt = await session.served(13, session.engine.store(one.item))
        session.expect(13, receipt.replayed, f"{one.id} stored again is no replay")
        session.expect(13, receipt.id == one.id, f"{one.id} stored again became {receipt.id}")
    for one in exported:
        session.expect(14, one.id == one.item.fingerprint(), f"{one.id} is not the fingerprint of its item")


GROUP = Group(
    "export",
    {
        9: "The engine exports, or says at once that it does not.",
        10: "Nothing that was stored whole is called incomplete.",
        11: "As many items come back as were stored.",
        12: "Each comes back once, under its fingerprint, the same in every part.",
        13: "Storing an exported item where it was is a replay.",
        14: "An exported item has its fingerprint as id.",
    },
    _make,
)
