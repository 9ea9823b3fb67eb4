"""Embedders that misbehave give an error of the contract, and a hybrid read goes on by words alone."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from explorer.contract import EngineFailure, FetchMode, FetchRequest, RecallRequest, Unavailable
from explorer.engines.embedding.asking import ask
from tests.engines.sqlite.support import fill, note, opened

DIMS = 8
Answer = Callable[[Sequence[str]], Any]


class Odd:
    """Answers a query, which is short, in its own way."""

    name = "odd"
    dims = DIMS

    def __init__(self, answer: Answer) -> None:
        self._answer = answer

    def embed(self, texts: Sequence[str]) -> Any:
        return good(texts) if "stored" in texts[0] else self._answer(texts)

    def close(self) -> None:
        pass


def good(texts: Sequence[str]) -> Any:
    return np.ones((len(texts), DIMS), np.float32) / np.float32(np.sqrt(DIMS))


def fail(texts: Sequence[str]) -> Any:
    raise RuntimeError("the key is sk-secret")


def refuse(texts: Sequence[str]) -> Any:
    raise Unavailable("the server is down")


ODD: list[tuple[Answer, str]] = [
    (fail, "the embedder odd failed with an unexpected RuntimeError"),
    (lambda texts: good(texts) * np.float32(np.nan), "not a finite number"),
    (lambda texts: good(texts) * np.float32(np.inf), "not a finite number"),
    (lambda texts: good(texts)[:, :5], "one vector for each text"),
    (lambda texts: good(texts)[1:], "one vector for each text"),
    (lambda texts: good(texts).ravel(), "one vector for each text"),
    (lambda texts: None, "one vector for each text"),
    (lambda texts: "vectors", "an unexpected ValueError"),
]


@pytest.mark.parametrize(("answer", "says"), ODD)
async def test_odd_answers_are_errors_of_the_contract(tmp_path: Path, answer: Answer, says: str) -> None:
    with pytest.raises(EngineFailure, match=says) as raised:
        ask(Odd(answer), ["a query"])
    assert "sk-secret" not in str(raised.value)
    async with opened(tmp_path / "memory.db", embedder=Odd(answer)) as engine:
        await fill(engine, [note(f"an apple is stored, number {number}") for number in range(3)])
        request = FetchRequest(query="apple", mode=FetchMode.HYBRID, limit=5)
        page = await engine.fetch_explained(request)
        assert len(page.hits) == 3
        assert [note for note in page.notes if says in note and note.endswith("ranked by words alone")]
        with pytest.raises(EngineFailure, match=says):
            await engine.fetch(request.model_copy(update={"mode": FetchMode.VECTOR}))
        answer_ = await engine.recall(RecallRequest(question="what apple?", limit=3))
        assert answer_.citations


def test_the_embedders_own_error_stays() -> None:
    with pytest.raises(Unavailable, match="the server is down"):
        ask(Odd(refuse), ["a query"])


def test_lists_of_numbers_will_do() -> None:
    rows = ask(Odd(lambda texts: [[1.0] * DIMS for _ in texts]), ["a", "b"])
    assert (rows.shape, rows.dtype) == ((2, DIMS), np.float32)
