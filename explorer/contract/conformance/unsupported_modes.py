"""Whether a mode that is not declared is refused."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.errors import Unsupported
from explorer.contract.query import FetchMode, FetchRequest


async def _make(session: Session) -> None:
    declared = session.modes(43)
    for mode in FetchMode:
        if mode not in declared:
            req = FetchRequest(query=session.marker, mode=mode, filter=session.filter, limit=5)
            await session.refused(43, session.engine.fetch(req), Unsupported)
    session.expect(43, True, "")  # an engine may declare them all


GROUP = Group("unsupported_modes", {43: "A fetch in a mode that is not declared is refused as unsupported."}, _make)
