"""Items that the tests of this folder share."""

from __future__ import annotations

from explorer.contract import Learning, LearningKind, MemoryMeta, Namespace


def learning(text: str, at: str = "root", **meta: object) -> Learning:
    return Learning(
        text=text,
        kind=LearningKind.FACT,
        confidence=0.8,
        meta=MemoryMeta(namespace=Namespace.parse(at), **meta),  # type: ignore[arg-type]
    )
