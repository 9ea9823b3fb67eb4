"""The sheet's worked numbers, and exact documents of the shared file where there is one."""

from __future__ import annotations

import json
from typing import Any

import pytest

from explorer.context import ContextCompiler, ContextSpec, compile, trim
from explorer.contract import Timestamp, parse_item
from explorer.contract.reference import ReferenceEngine
from tests.context.literal import Answer, Line
from tests.context.made import AT, gathered
from tests.contract.vectors import SHARED

FILE = SHARED / "spec" / "vectors" / "context.json"
VECTORS: dict[str, Any] = json.loads(FILE.read_text("utf-8")) if FILE.exists() else {"layout": [], "stores": []}

BODY = "- " + "Alice builds memory systems in Rust. " * 6
WORKED_ANSWERS = [Answer("About the user", BODY.strip(), ["id1", "id2"])]
WORKED_LINES = [Line("id3", "prefers  terse\nanswers"), Line("id1", "uses vim")]


@pytest.mark.parametrize(
    ("budget", "tokens", "chars", "refs"),
    [
        (1500, 100, 400, ["id1", "id2", "id3"]),
        (98, 97, 388, ["id1", "id2", "id3"]),
        (80, 79, 314, ["id1", "id2"]),
        (60, 59, 234, ["id1", "id2"]),
        (40, 0, 0, []),
    ],
)
def test_worked_numbers(budget: int, tokens: int, chars: int, refs: list[str]) -> None:
    doc = trim(gathered(WORKED_ANSWERS, WORKED_LINES), budget, generated_at=AT).doc
    assert (doc.tokens, len(doc.markdown), doc.refs) == (tokens, chars, refs)
    assert (doc.engine, doc.generated_at) == ("reference", AT)


def test_worked_document() -> None:
    doc = trim(gathered(WORKED_ANSWERS, WORKED_LINES), 1500, generated_at=AT).doc
    assert doc.markdown == (
        "---\ngenerated_at: 2026-10-02T12:00:00Z\nengine: reference\ntokens: 100\nrefs: [id1, id2, id3]\n---\n\n"
        f"# Context\n\n## About the user\n\n{BODY.strip()}\n\n## Learnings\n\n- prefers terse answers\n- uses vim\n"
    )
    shorter = trim(gathered(WORKED_ANSWERS, WORKED_LINES), 80, generated_at=AT).doc
    assert shorter.markdown.endswith("Rust. Alice…\n")


def test_one_learning_with_a_long_id() -> None:
    doc = trim(gathered([], [Line("a" * 64, "x")]), 1500, generated_at=AT).doc
    assert (doc.tokens, len(doc.markdown)) == (44, 175)


def test_layout_of_the_shared_file() -> None:
    for case in VECTORS["layout"]:
        answers = [Answer(brief["heading"], brief["body"], brief["refs"]) for brief in case["briefs"]]
        found = gathered(answers, [Line(line["id"], line["text"]) for line in case["learnings"]])
        for wanted in case["results"]:
            doc = trim(found, wanted["budget_tokens"], generated_at=Timestamp.parse(VECTORS["generated_at"])).doc
            assert (doc.markdown, doc.tokens, doc.refs) == (wanted["markdown"], wanted["tokens"], wanted["refs"])


async def test_stores_of_the_shared_file() -> None:
    for store in VECTORS["stores"]:
        engine = ReferenceEngine()
        for item in store["items"]:
            await engine.store(parse_item(json.dumps(item)))
        compiler = ContextCompiler.at(Timestamp.parse(VECTORS["generated_at"]))
        for wanted in store["results"]:
            spec = ContextSpec.model_validate({**store["spec"], "budget_tokens": wanted["budget_tokens"]})
            doc = await compiler.compile(engine, spec)
            got = (doc.markdown, doc.tokens, doc.refs)
            assert got == (wanted["markdown"], wanted["tokens"], wanted["refs"]), store["name"]
            assert (doc.engine, doc.generated_at.text) == ("reference", VECTORS["generated_at"])


def test_it_is_said_which_vectors_are_tested(capsys: pytest.CaptureFixture[str]) -> None:
    with capsys.disabled():
        if not FILE.exists():
            print(f"\ncontext vectors: {FILE} is not there, only the worked numbers were tested")
    assert WORKED_LINES


async def test_the_time_is_that_of_compiling() -> None:
    before = Timestamp.now_utc()
    doc = await compile(ReferenceEngine(), ContextSpec())
    assert before <= doc.generated_at <= Timestamp.now_utc()
