"""What the tests of context.md are made of."""

from __future__ import annotations

from collections.abc import Sequence

from explorer.context import Brief, ContextSpec, Gathered
from explorer.context.gathering import Answered
from explorer.contract import Citation, Hit, ItemId, ItemKind, MemoryMeta, Timestamp
from tests.context.literal import Answer, Line

AT = Timestamp.parse("2026-10-02T12:00:00Z")


def citation(id: str, snippet: str = "") -> Citation:
    return Citation(id=ItemId(id), kind=ItemKind.DOCUMENT, snippet=snippet or f"what {id} says", meta=MemoryMeta())


def hit(id: str, text: str, **fields: object) -> Hit:
    return Hit.model_validate(
        {"id": id, "kind": "learning", "text": text, "meta": MemoryMeta(), "score": 0.0, **fields}
    )


def gathered(answers: Sequence[Answer], lines: Sequence[Line] = (), limit: int = 10_000) -> Gathered:
    """What `gather` gives of an engine that answers so."""
    briefs = [Brief(heading=answer.heading, question="?") for answer in answers]
    return Gathered(
        ContextSpec(briefs=briefs, learnings_limit=limit),
        "reference",
        tuple(
            Answered(brief, answer.body, tuple(map(citation, answer.refs)))
            for brief, answer in zip(briefs, answers, strict=True)
        ),
        tuple(hit(line.id, line.text) for line in lines),
    )
