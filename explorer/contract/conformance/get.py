"""Whether items are read by id, in the order asked."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.errors import InvalidRequest
from explorer.contract.items import ItemId
from explorer.contract.query import GetRequest

_UNKNOWN = ItemId("0" * 40)


async def _make(session: Session) -> None:
    listed = await session.list_all(26, session.filter)
    session.expect(26, bool(listed), "nothing lists of what this run stored")
    wanted = list(reversed(listed))
    ids = [hit.id for hit in wanted]
    got = await session.served(27, session.engine.get(GetRequest(ids=[*ids[:1], _UNKNOWN, *ids[1:]])))
    got_ids = [hit.id for hit in got]
    session.expect(27, got_ids == ids, f"asked for {', '.join(ids)} and an unknown id, got {', '.join(got_ids)}")
    for hit, like in zip(got, wanted, strict=True):
        is_same = (hit.kind, hit.meta, hit.text) == (like.kind, like.meta, like.text)
        session.expect(28, is_same, f"{hit.id} reads otherwise than it lists")
    await session.refused(29, session.engine.get(GetRequest(ids=[])), InvalidRequest)


GROUP = Group(
    "get",
    {
        26: "Something of this run lists.",
        27: "Known ids come back in the order asked, the unknown one left out.",
        28: "Each reads as it lists.",
        29: "Asking for no id is refused.",
    },
    _make,
)
