"""Whether a run can take back everything that it stored."""

from __future__ import annotations

from explorer.contract.conformance.failures import ConformanceFailure
from explorer.contract.conformance.session import Group, Session, admitting
from explorer.contract.namespace import Reach
from explorer.contract.query import ForgetTarget


async def _make(session: Session) -> None:
    # No filter enters a sandbox unless it names it, and a run that ended early left its item there.
    sandboxed = admitting(session.filter, Reach.exact(session.sandbox))
    first: ConformanceFailure | None = None
    for filter in (session.filter, session.probe_filter, sandboxed):
        try:
            await session.served(82, session.engine.forget(ForgetTarget(filter=filter)))
            left = await session.list_ids(82, filter)
            session.expect(82, not left, f"forgotten, but still listed: {', '.join(left)}")
        except ConformanceFailure as failure:
            first = first or failure  # the other filters are still worth a try
    if first is not None:
        raise first


GROUP = Group("cleanup", {82: "Forgetting all that the run stored leaves none of it."}, _make)
