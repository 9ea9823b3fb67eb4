"""Whether an answer rests on items that are there."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.model import is_blank
from explorer.contract.query import RecallRequest

_LIMIT = 5


async def _make(session: Session) -> None:
    req = RecallRequest(question=session.marker, filter=session.filter, limit=_LIMIT)
    answer = await session.served(69, session.engine.recall(req))
    session.expect(69, not is_blank(answer.answer), "the answer is blank")
    cited = answer.citations
    session.expect(70, bool(cited), "the answer cites nothing")
    session.expect(71, len(cited) <= _LIMIT, f"{len(cited)} citations, {_LIMIT} were asked for")
    kinds = {hit.id: hit.kind for hit in await session.list_all(72, session.filter)}
    for citation in cited:
        session.expect(72, citation.id in kinds, f"the citation {citation.id} does not list")
        listed = kinds[citation.id]
        session.expect(72, citation.kind == listed, f"{citation.id} is cited as {citation.kind}, listed as {listed}")


GROUP = Group(
    "recall",
    {
        69: "The answer is not blank.",
        70: "It cites something.",
        71: "It cites no more than was asked for.",
        72: "What it cites lists, as the same kind.",
    },
    _make,
)
