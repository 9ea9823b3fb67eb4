"""Whether a forget that could mean everything is refused."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.errors import InvalidRequest
from explorer.contract.meta import MetaFilter
from explorer.contract.query import ForgetTarget


async def _make(session: Session) -> None:
    before = await session.list_ids(61, session.filter)
    await session.refused(59, session.engine.forget(ForgetTarget(ids=[])), InvalidRequest)
    await session.refused(60, session.engine.forget(ForgetTarget(filter=MetaFilter())), InvalidRequest)
    after = await session.list_ids(61, session.filter)
    session.expect(61, len(after) == len(before), f"{len(before)} items before, {len(after)} after the refusals")


GROUP = Group(
    "empty_forget",
    {
        59: "Forgetting no id is refused.",
        60: "Forgetting by an empty filter is refused.",
        61: "The refusals removed nothing.",
    },
    _make,
)
