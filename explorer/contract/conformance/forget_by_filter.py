"""Whether forgetting by a filter removes what it matches and nothing else."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session
from explorer.contract.query import ForgetTarget


async def _make(session: Session) -> None:
    before = await session.list_ids(68, session.filter)
    tag = f"{session.marker}-drop"
    for label in ("drop-0", "drop-1"):
        await session.store(66, session.document(label, tags=[tag]))
    tagged = session.narrowed(tags_any=[tag])
    report = await session.served(66, session.engine.forget(ForgetTarget(filter=tagged)))
    session.expect(66, report.forgotten == 2, f"two items have the tag, {report.forgotten} were removed")
    left = await session.list_ids(67, tagged)
    session.expect(67, not left, f"still listed: {', '.join(left)}")
    after = await session.list_ids(68, session.filter)
    session.expect(68, len(after) == len(before), f"{len(before)} other items before, {len(after)} after")


GROUP = Group(
    "forget_by_filter",
    {
        66: "Forgetting by a tag reports the two items that have it.",
        67: "Nothing with the tag lists.",
        68: "Nothing without the tag goes with them.",
    },
    _make,
)
