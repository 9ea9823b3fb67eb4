"""JSONL into an engine."""

from __future__ import annotations

import asyncio
import contextlib
from collections.abc import AsyncGenerator
from dataclasses import dataclass
from pathlib import Path
from typing import BinaryIO

from explorer.contract import (
    MAX_STORE_MANY,
    InvalidRequest,
    MemoryEngine,
    StoreItem,
    StoreReceipt,
    TinyMemoryError,
    parse_item,
)
from explorer.engines.os_errors import why
from explorer.transfer.errors import FileError
from explorer.transfer.lines import LineReader

_BATCH_BYTES = 8 << 20
_MAX_REASON = 300


@dataclass(frozen=True, slots=True)
class BadLine:
    """A line that did not go in: its number, counted from 1, and why, as a sentence part."""

    number: int
    reason: str


def _bad(number: int, error: InvalidRequest) -> BadLine:
    text = error.text
    # It may quote what was read, and that be the whole line.
    return BadLine(number, text if len(text) <= _MAX_REASON else text[: _MAX_REASON - 1] + "…")


@dataclass(frozen=True, slots=True)
class ImportProgress:
    """How far an import is. `read` = `stored` + `replayed` + `refused`; blank lines count nowhere."""

    read: int = 0
    stored: int = 0
    replayed: int = 0
    """Held before, or earlier in the same file."""
    refused: int = 0
    bytes_done: int = 0
    bytes_total: int | None = None
    """The file's size; None for a pipe."""
    bad: tuple[BadLine, ...] = ()
    """The refused lines since the progress before."""
    is_stopped: bool = False
    """Whether a strict import ends here, at a bad line with more after it or not."""


async def import_jsonl(
    engine: MemoryEngine, source: str | Path | BinaryIO, *, strict: bool = False
) -> AsyncGenerator[ImportProgress, None]:
    """Store every line of `source`, at most 100 items at a time, and tell after each batch; at least once.

    A line that is no item, or that the engine refuses, is reported and the rest goes in; `strict` ends at the first,
    with the lines before it stored. Raises FileError where the source cannot be read, and the engine's own errors:
    what was done by then is yielded first. Running it again only replays what is stored already.
    Not a context manager: hold it with `contextlib.aclosing` where the loop over it may be left early.
    """
    with contextlib.ExitStack() as stack:
        if isinstance(source, (str, Path)):
            stream: BinaryIO = stack.enter_context(await asyncio.to_thread(open_source, Path(source)))
            name = str(source)
        else:
            stream, name = source, str(getattr(source, "name", "the input"))
        reader = LineReader(stream)
        stack.callback(reader.stop)
        done = ImportProgress(bytes_total=reader.size_bytes)
        is_told = False
        while True:
            try:
                batch = await asyncio.to_thread(_next_batch, reader, strict)
            except OSError as error:
                raise FileError(f"cannot read on in {name}: {why(error)}") from error
            if batch is None:
                break
            result = await _store(engine, batch.items, strict)
            bad = sorted([*batch.bad, *result.bad], key=lambda line: line.number)
            if strict and bad:
                bad = bad[:1]
            done = ImportProgress(
                read=done.read + result.stored + result.replayed + len(bad),
                stored=done.stored + result.stored,
                replayed=done.replayed + result.replayed,
                refused=done.refused + len(bad),
                bytes_done=reader.done_bytes,
                bytes_total=reader.size_bytes,
                bad=tuple(bad),
                is_stopped=strict and bool(bad),
            )
            is_told = True
            yield done
            if result.failure is not None:
                raise result.failure
            if done.is_stopped:
                break
        if not is_told:
            yield done


def open_source(path: Path) -> BinaryIO:
    """The file to import from. Raises FileError where it cannot be read."""
    try:
        return path.open("rb")
    except (OSError, ValueError) as error:
        raise FileError(f"cannot read {path}: {why(error)}") from error


@dataclass(frozen=True, slots=True)
class _Batch:
    items: list[tuple[int, StoreItem]]
    bad: list[BadLine]


def _next_batch(reader: LineReader, strict: bool) -> _Batch | None:
    """Read and parse, off the loop; None at the end. A strict batch ends at its first bad line."""
    lines = reader.next_batch(MAX_STORE_MANY, _BATCH_BYTES)
    if not lines:
        return None
    batch = _Batch([], [])
    for number, line in lines:
        if not line.strip():
            continue
        try:
            item = parse_item(line)
            item.check()
        except InvalidRequest as error:
            batch.bad.append(_bad(number, error))
            if strict:
                break
        else:
            batch.items.append((number, item))
    return batch


@dataclass(slots=True)
class _Stored:
    stored: int = 0
    replayed: int = 0
    bad: list[BadLine] | tuple[BadLine, ...] = ()
    failure: TinyMemoryError | None = None
    """Raised once what was stored has been told."""

    def count(self, receipt: StoreReceipt) -> None:
        self.replayed += receipt.replayed
        self.stored += not receipt.replayed


async def _store(engine: MemoryEngine, items: list[tuple[int, StoreItem]], strict: bool) -> _Stored:
    result = _Stored()
    if not items:
        return result
    try:
        for receipt in await engine.store_many([item for _, item in items]):
            result.count(receipt)
        return result
    except InvalidRequest as error:
        if len(items) == 1:
            result.bad = [_bad(items[0][0], error)]
            return result
    except TinyMemoryError as error:
        result.failure = error
        return result
    # The batch was refused as a whole, and nothing of it stored: one of its items is more than this engine takes.
    bad: list[BadLine] = []
    for number, item in items:
        try:
            result.count(await engine.store(item))
        except InvalidRequest as error:
            bad.append(_bad(number, error))
            if strict:
                break
        except TinyMemoryError as error:
            result.failure = error
            break
    result.bad = bad
    return result
