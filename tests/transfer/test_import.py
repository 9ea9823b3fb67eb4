"""JSONL into engines: the embedded one on a real file, and engines that refuse."""

from __future__ import annotations

import asyncio
import contextlib
import io
import json
import os
from collections.abc import Callable
from pathlib import Path
from typing import BinaryIO

import pytest

from explorer.contract import (
    InvalidRequest,
    ListRequest,
    MemoryEngine,
    StoreItem,
    StoreReceipt,
    Unavailable,
    dump_item,
)
from explorer.contract.reference import ReferenceEngine
from explorer.transfer import BadLine, FileError, ImportProgress, import_jsonl

from .made import learning

OpenMemory = Callable[[str], MemoryEngine]

GOOD = '{"type":"learning","text":"%s","kind":"fact","confidence":0.5}'


async def run(
    engine: MemoryEngine, source: str | Path | BinaryIO | bytes, *, strict: bool = False
) -> list[ImportProgress]:
    if isinstance(source, bytes):
        source = io.BytesIO(source)
    return [progress async for progress in import_jsonl(engine, source, strict=strict)]


def counts(progress: ImportProgress) -> tuple[int, int, int, int]:
    return progress.read, progress.stored, progress.replayed, progress.refused


def bad(told: list[ImportProgress]) -> list[BadLine]:
    return [line for progress in told for line in progress.bad]


class Picky(ReferenceEngine):
    """Refuses items by their text, as an engine with a size limit does: the whole batch, nothing stored."""

    def __init__(self, *refused: str) -> None:
        super().__init__()
        self.refused = refused
        self.calls: list[int] = []

    async def store(self, item: StoreItem) -> StoreReceipt:
        self.calls.append(1)
        self._refuse([item])
        return await super().store(item)

    async def store_many(self, items: list[StoreItem]) -> list[StoreReceipt]:
        self.calls.append(len(items))
        self._refuse(items)
        return await super().store_many(items)

    def _refuse(self, items: list[StoreItem]) -> None:
        if any(item.render_text() in self.refused for item in items):
            raise InvalidRequest("the item is too long for this engine")


class Failing(ReferenceEngine):
    """Answers `good` batches, then none."""

    def __init__(self, good: int) -> None:
        super().__init__()
        self.good = good

    async def store_many(self, items: list[StoreItem]) -> list[StoreReceipt]:
        self.good -= 1
        if self.good < 0:
            raise Unavailable("no answer")
        return await super().store_many(items)


async def test_file_goes_in_by_batches_of_a_hundred(open_memory: OpenMemory, tmp_path: Path) -> None:
    path = tmp_path / "items.jsonl"
    items = [learning(f"number {number}") for number in range(250)]
    await asyncio.to_thread(path.write_text, "".join(dump_item(item) + "\n" for item in items))
    engine = open_memory("m.db")
    try:
        told = await run(engine, path)
        assert [counts(progress) for progress in told] == [(100, 100, 0, 0), (200, 200, 0, 0), (250, 250, 0, 0)]
        size = len("".join(dump_item(item) + "\n" for item in items))
        assert (told[-1].bytes_done, told[-1].bytes_total) == (size, size)
        page = await engine.list(ListRequest(limit=1000))
        assert {hit.id for hit in page.items} == {item.fingerprint() for item in items}
        assert counts((await run(engine, path))[-1]) == (250, 0, 250, 0)
    finally:
        await engine.aclose()


async def test_same_item_twice_is_a_replay(open_memory: OpenMemory) -> None:
    engine = open_memory("m.db")
    try:
        assert counts((await run(engine, f"{GOOD % 'a'}\n{GOOD % 'a'}\n".encode()))[-1]) == (2, 1, 1, 0)
    finally:
        await engine.aclose()


BAD_LINES = [
    (b"{", "not JSON"),
    (b"nonsense", "not JSON"),
    (b"\xff\xfe", "not UTF-8"),
    (GOOD.replace("%s", "\\ud83d").encode(), "half of a surrogate pair"),
    ((GOOD % "a").replace("}", ',"extra":"\\udc00"}').encode(), "half of a surrogate pair"),
    ((GOOD % "a").replace("}", ',"text":"b"}').encode(), 'the key "text" is there twice'),
    ((GOOD % "a").replace("0.5", "NaN").encode(), "NaN is not a JSON number"),
    ((GOOD % "a").replace("0.5", "1.5").encode(), "confidence 1.5 is outside"),
    ((GOOD % " ").encode(), "learning text must not be empty"),
    ((GOOD % "a").replace("fact", "rumour").encode(), "kind: "),
    (b"[]", "valid dictionary"),
    (b"{}", "type"),
    (b'{"type":"%s"}' % (b"x" * 100_000), "'type' must be one of 'document', 'conversation', 'learning'"),
    (b'{"%s":1,"%s":1}' % (b"x" * 100_000, b"x" * 100_000), "the key "),
    (b'{"type":"document","body":{"text":"a"},"meta":{"namespace":"%s"}}' % (b"x" * 100_000), "meta.namespace: "),
    (b'{"type":"document","body":{"uri":"file:///a"}}', "unresolved uri"),
    (b'{"type":"conversation","turns":[]}', "at least one turn"),
    (b"[" * 100_000, "nested too deeply"),
    (b"\xef\xbb\xbf" + (GOOD % "late mark").encode(), "not JSON"),
]


@pytest.mark.parametrize(("line", "says"), BAD_LINES, ids=[says for _, says in BAD_LINES])
async def test_bad_line_is_told_and_the_rest_goes_in(line: bytes, says: str) -> None:
    engine = ReferenceEngine()
    told = await run(engine, (GOOD % "before").encode() + b"\n" + line + b"\r\n\n" + (GOOD % "after").encode())
    assert counts(told[-1]) == (3, 2, 0, 1)
    (fault,) = bad(told)
    assert fault.number == 2
    assert says in fault.reason
    assert "\n" not in fault.reason
    assert len(fault.reason) <= 300
    assert len(engine) == 2


async def test_blank_lines_marks_and_line_ends_are_no_lines() -> None:
    engine = ReferenceEngine()
    content = b"\xef\xbb\xbf" + (GOOD % "a").encode() + b"\r\n\r\n  \t\n" + (GOOD % "b").encode()
    told = await run(engine, content)
    assert counts(told[-1]) == (2, 2, 0, 0)
    assert told[-1].bytes_done == len(content)


async def test_numbers_count_blank_lines_too() -> None:
    assert bad(await run(ReferenceEngine(), b"\n\n{\n\n}\n")) == [
        BadLine(3, "not JSON: expecting property name enclosed in double quotes at character 1"),
        BadLine(5, "not JSON: expecting value at character 0"),
    ]


@pytest.mark.parametrize("content", [b"", b"\n\n", b"\xef\xbb\xbf"])
async def test_empty_input_is_told_once(content: bytes) -> None:
    assert [counts(progress) for progress in await run(ReferenceEngine(), content)] == [(0, 0, 0, 0)]


async def test_huge_line_goes_in(open_memory: OpenMemory) -> None:
    engine = open_memory("m.db")
    text = "データ" * 200_000  # 1.8 MB
    try:
        assert counts((await run(engine, (GOOD % text).encode()))[-1]) == (1, 1, 0, 0)
        page = await engine.list(ListRequest(limit=1))
        assert page.items[0].text == text
    finally:
        await engine.aclose()


async def test_refused_batch_is_tried_item_by_item() -> None:
    engine = Picky("number 7", "number 50")
    told = await run(engine, "\n".join(GOOD % f"number {number}" for number in range(100)).encode())
    assert counts(told[-1]) == (100, 98, 0, 2)
    assert bad(told) == [
        BadLine(8, "the item is too long for this engine"),
        BadLine(51, "the item is too long for this engine"),
    ]
    assert engine.calls == [100] + [1] * 100


async def test_reasons_come_in_the_order_of_the_lines() -> None:
    told = await run(Picky("b"), "\n".join(["{", GOOD % "a", GOOD % "b", "{"]).encode())
    assert [line.number for line in bad(told)] == [1, 3, 4]


async def test_item_that_breaks_a_rule_is_not_sent() -> None:
    engine = Picky()
    await run(engine, "\n".join([GOOD % "a", GOOD % " ", GOOD % "b"]).encode())
    assert engine.calls == [2]


async def test_strict_stops_at_the_first_bad_line() -> None:
    engine = ReferenceEngine()
    told = await run(engine, "\n".join([GOOD % "a", "{", GOOD % "b", "{"]).encode(), strict=True)
    assert [counts(progress) for progress in told] == [(2, 1, 0, 1)]
    assert told[-1].is_stopped
    assert [line.number for line in bad(told)] == [2]
    assert len(engine) == 1


async def test_strict_stops_at_what_the_engine_refuses() -> None:
    engine = Picky("b")
    told = await run(engine, "\n".join([GOOD % "a", GOOD % "b", GOOD % "c", "{"]).encode(), strict=True)
    assert counts(told[-1]) == (2, 1, 0, 1)
    assert [line.number for line in bad(told)] == [2]
    assert len(engine) == 1


async def test_strict_without_a_bad_line_is_not_stopped() -> None:
    told = await run(ReferenceEngine(), (GOOD % "a").encode(), strict=True)
    assert not told[-1].is_stopped


async def test_failure_comes_after_what_was_done() -> None:
    lines = [GOOD % f"n{number}" for number in range(250)]
    lines[130] = "{"
    importing = import_jsonl(Failing(1), io.BytesIO("\n".join(lines).encode()))
    told = [await anext(importing), await anext(importing)]
    with pytest.raises(Unavailable, match="no answer"):
        await anext(importing)
    # The second batch failed as a whole; its bad line is told all the same.
    assert [counts(progress) for progress in told] == [(100, 100, 0, 0), (101, 100, 0, 1)]
    assert bad(told)[0].number == 131


async def test_missing_file_is_told_with_its_name(tmp_path: Path) -> None:
    with pytest.raises(FileError, match=r"cannot read .*none\.jsonl: no such file"):
        await run(ReferenceEngine(), tmp_path / "none.jsonl")
    with pytest.raises(FileError, match="cannot read"):
        await run(ReferenceEngine(), tmp_path)
    with pytest.raises(FileError, match="cannot read"):
        await run(ReferenceEngine(), tmp_path / "a\0b")


async def test_pipe_has_no_total() -> None:
    out, into = os.pipe()
    with os.fdopen(into, "wb") as writer:
        writer.write((GOOD % "a").encode() + b"\n")
    with os.fdopen(out, "rb") as stream:
        told = await run(ReferenceEngine(), stream)
        assert not stream.closed  # the caller's own
    assert counts(told[-1]) == (1, 1, 0, 0)
    assert told[-1].bytes_total is None


async def test_leaving_early_stops_reading() -> None:
    engine = ReferenceEngine()
    content = "\n".join(GOOD % f"n{number}" for number in range(500)).encode()
    async with contextlib.aclosing(import_jsonl(engine, io.BytesIO(content))) as told:
        async for _ in told:
            break
    assert len(engine) == 100


async def test_real_conversations_go_in(open_memory: OpenMemory) -> None:
    """LoCoMo's 430 items where they are, else items made here: the ids are those of the lines."""
    lines = await asyncio.to_thread(real_lines)
    engine = open_memory("m.db")
    try:
        told = await run(engine, b"\n".join(lines))
        assert counts(told[-1]) == (len(lines), len(lines), 0, 0)
        page = await engine.list(ListRequest(limit=10_000))
        assert sorted(hit.text for hit in page.items) == sorted(map(rendered, lines))
    finally:
        await engine.aclose()


def real_lines() -> list[bytes]:
    shared = Path(os.environ.get("TINYMEMORY_SHARED") or Path(__file__).parents[3] / "shared")
    path = shared / "data" / "locomo" / "items.jsonl"
    if path.exists():
        return path.read_bytes().splitlines()
    print(f"{path} is not there: tested with items made here instead")
    turns = [{"role": "user", "text": f"Zoë: turn {turn}"} for turn in range(30)]
    talks = [json.dumps({"type": "conversation", "turns": turns[:length]}) for length in range(1, 30)]
    return [line.encode() for line in [*talks, *(GOOD % f"fact {number}" for number in range(300))]]


def rendered(line: bytes) -> str:
    """The item's text by independent means."""
    item = json.loads(line)
    if item["type"] == "learning":
        return str(item["text"])
    return "\n".join(f"{turn['role']}: {turn['text']}" for turn in item["turns"])
