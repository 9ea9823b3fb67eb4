"""Whether the engine serves at all."""

from __future__ import annotations

from explorer.contract.conformance.session import Group, Session


async def _make(session: Session) -> None:
    health = await session.served(1, session.engine.health())
    session.expect(1, health.is_serving, f"the engine is {health.state}: {health.reason}")


GROUP = Group("health", {1: "The engine says that it is serving, in full or in part."}, _make)
