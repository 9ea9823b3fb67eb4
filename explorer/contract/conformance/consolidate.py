"""Whether consolidation does what the descriptor promises, and beliefs stay where they may be read."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.errors import InvalidRequest, Unsupported
from explorer.contract.items import Document, DocumentBody
from explorer.contract.meta import ItemKind
from explorer.contract.namespace import Reach
from explorer.contract.query import BeliefsRequest, ConsolidateRequest, Consolidation

_LIMIT = 10
_PROMISED = {
    Consolidation.ON_DEMAND: ("started", "completed"),
    Consolidation.AUTOMATIC: ("started", "completed"),
    Consolidation.SCHEDULED: ("scheduled",),
}


async def _make(session: Session) -> None:
    engine, node = session.engine, session.node("beliefs")
    reach = Reach.exact(node)
    body = DocumentBody(text=f"{session.marker} The night ferry leaves at eleven. It takes no cars.")
    await session.store(73, Document(body=body, meta=session.meta(namespace=node)))

    twice = ConsolidateRequest(reach=reach, kinds=[ItemKind.DOCUMENT, ItemKind.DOCUMENT])
    await session.refused(73, engine.consolidate(twice), InvalidRequest)
    req = ConsolidateRequest(reach=reach, kinds=[ItemKind.DOCUMENT])
    declared = session.descriptor(74).consolidation
    if declared is Consolidation.NONE:
        await session.refused(74, engine.consolidate(req), Unsupported)
    else:
        receipt = await session.served(74, engine.consolidate(req))
        wanted = _PROMISED[declared]
        session.expect(
            74, receipt.status in wanted, f"declared {declared}, answered {receipt.status}, not {' or '.join(wanted)}"
        )

    await session.refused(75, engine.beliefs(BeliefsRequest(reach=reach, limit=0)), InvalidRequest)
    asked = BeliefsRequest(reach=reach, query=f"{session.marker} ferry", limit=_LIMIT)
    beliefs = await session.served(76, engine.beliefs(asked))
    session.expect(76, len(beliefs) <= _LIMIT, f"{len(beliefs)} beliefs, {_LIMIT} were asked for")
    for belief in beliefs:
        session.expect(76, belief.kind is ItemKind.LEARNING, f"the belief {belief.id} is a {belief.kind}")
        session.expect(76, "belief" in belief.meta.tags, f"the belief {belief.id} is not tagged as one")
        at = belief.meta.namespace
        session.expect(76, reach.admits(at), f"the belief {belief.id} is at {at}, beyond the reach")


GROUP = Group(
    "consolidate",
    {
        73: "Naming a kind twice is refused.",
        74: "A valid request is answered as the descriptor declares.",
        75: "A limit of no beliefs is refused.",
        76: "Beliefs are few enough, learnings, tagged, and within the reach.",
    },
    _make,
)
