"""What the engine has to say for a context.md, asked once, for any budget.

Source: the sheet of context.md, "Gathering".
"""

from __future__ import annotations

import asyncio
import logging
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, TypeVar

from explorer.context.spec import Brief, ContextSpec
from explorer.context.why import Why
from explorer.contract import (
    Citation,
    Hit,
    ItemKind,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    RecallRequest,
    TinyMemoryError,
)
from explorer.contract.model import trimmed

if TYPE_CHECKING:
    from explorer.context.offering import Offer

RECALLED = 8
"""The most items that a brief's answer may rest on."""
INSTRUCTIONS = (
    "Answer in a few short markdown bullets that fit into a brief read before work begins. "
    "Say only what the stored items support."
)

_PAGE = 100
_PAGES = 50

log = logging.getLogger(__name__)

T = TypeVar("T")


@dataclass(frozen=True)
class Answered:
    """A brief and what came of its question. `body` is "" where it is skipped, which `skipped` tells."""

    brief: Brief
    body: str = ""
    """The answer without white space at both ends."""
    citations: tuple[Citation, ...] = ()
    skipped: Why | None = None
    error: str = ""
    """The text of the failure, where that is why."""


@dataclass(frozen=True, eq=False)
class Gathered:
    """Everything that documents of any budget are made of. Equal only to itself."""

    spec: ContextSpec
    engine: str
    """The id that the engine's descriptor has."""
    briefs: tuple[Answered, ...]
    """In the order of the spec, skipped ones too."""
    learnings: tuple[Hit, ...] = ()
    """All that were listed, in the order of the document: newest first, then the most confident."""
    learnings_error: str | None = None
    """Why there is no list of learnings, where it failed."""
    is_list_whole: bool = True
    """False where there may be more learnings than were read: no more than 5 000 are."""
    kept: list[Offer] = field(default_factory=list, init=False, repr=False)
    """What trimming made of it last; not for other use."""

    @property
    def failure(self) -> str | None:
        """The text of the first failure where nothing that was asked was answered; else None."""
        asked = [answered.error if answered.skipped is Why.FAILED else None for answered in self.briefs]
        if self.spec.learnings_limit:
            asked.append(self.learnings_error)
        return asked[0] if asked and None not in asked else None


async def gather(engine: MemoryEngine, spec: ContextSpec) -> Gathered:
    """Ask everything that a document by this spec can need: a recall for each brief, and the learnings' list.

    The questions are asked at the same time. What fails is logged, and told in the answer. Raises InvalidSpec.
    """
    spec.check()
    async with asyncio.TaskGroup() as group:
        asked = [group.create_task(_answered(engine, brief, spec)) for brief in spec.briefs]
        listing = group.create_task(_learnings(engine, spec)) if spec.learnings_limit else None
    gathered = Gathered(spec, engine.descriptor().id, tuple(task.result() for task in asked))
    if listing is None:
        return gathered
    learnings, is_whole, error = listing.result()
    return replace(gathered, learnings=learnings, is_list_whole=is_whole, learnings_error=error)


async def _answered(engine: MemoryEngine, brief: Brief, spec: ContextSpec) -> Answered:
    filter = brief.filter if spec.reach is None else brief.filter.model_copy(update={"reach": spec.reach})
    request = RecallRequest(question=brief.question, filter=filter, limit=RECALLED, instructions=INSTRUCTIONS)
    answer, error = await _tried(lambda: engine.recall(request), f"the brief “{brief.heading}”")
    if answer is None:
        return Answered(brief, skipped=Why.FAILED, error=error)
    body = trimmed(answer.answer)
    if not body:
        return Answered(brief, skipped=Why.BLANK)
    if not answer.citations:
        return Answered(brief, skipped=Why.UNCITED)
    return Answered(brief, body, tuple(answer.citations))


async def _learnings(engine: MemoryEngine, spec: ContextSpec) -> tuple[tuple[Hit, ...], bool, str | None]:
    """The learnings in order, whether they are all, and why there are none where their list failed."""
    filter = MetaFilter(kinds=[ItemKind.LEARNING], reach=spec.reach)
    found: list[Hit] = []
    cursor: str | None = None
    for _ in range(_PAGES):
        request = ListRequest(filter=filter, limit=_PAGE, cursor=cursor)
        page, error = await _tried(lambda request=request: engine.list(request), "the learnings")  # type: ignore[misc]
        if page is None:
            return (), True, error
        found += [hit for hit in page.items if hit.kind is ItemKind.LEARNING]
        cursor = page.next_cursor
        if cursor is None:
            break
    return tuple(sorted(found, key=_place)), cursor is None, None


def _place(hit: Hit) -> tuple[bool, int, float]:
    at = hit.meta.observed_at
    return at is None, 0 if at is None else -at.unix_ns, -(hit.confidence or 0.0)


async def _tried(call: Callable[[], Awaitable[T]], what: str) -> tuple[T | None, str]:
    """What a call answers, or the text of its failure."""
    try:
        return await call(), ""
    except TinyMemoryError as error:
        log.warning("context.md goes without %s: %s", what, error)
        return None, error.text
    except Exception as error:  # one question less is no reason to have no document
        log.exception("context.md goes without %s", what)
        return None, f"an error that was not expected: {type(error).__name__}"
