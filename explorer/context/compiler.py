"""context.md of an engine: what it has to say gathered, and trimmed to the budget."""

from __future__ import annotations

from explorer.context.gathering import gather
from explorer.context.spec import ContextDoc, ContextSpec
from explorer.context.trimming import trim
from explorer.contract import MemoryEngine, Timestamp


class ContextCompiler:
    """Compiles documents; `ContextCompiler.at(time)` gives them all that time, so that they can be repeated."""

    def __init__(self, generated_at: Timestamp | None = None) -> None:
        self._generated_at = generated_at

    @classmethod
    def at(cls, generated_at: Timestamp) -> ContextCompiler:
        return cls(generated_at)

    async def compile(self, engine: MemoryEngine, spec: ContextSpec) -> ContextDoc:
        """As the function of that name."""
        gathered = await gather(engine, spec)
        return trim(gathered, spec.budget_tokens, generated_at=self._generated_at or Timestamp.now_utc()).doc


async def compile(engine: MemoryEngine, spec: ContextSpec) -> ContextDoc:
    """The document of this moment. An engine with nothing to say, or that fails, gives an empty one.

    Raises InvalidSpec, and nothing else.
    """
    return await ContextCompiler().compile(engine, spec)
