"""The sample memory that a first run opens: an invented one, copied so that it can be changed freely."""

from __future__ import annotations

import asyncio
import os
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import platformdirs

from explorer.contract import MAX_STORE_MANY, EngineFailure, parse_item
from explorer.engines import EngineSettings, build_engine
from explorer.paths import resource

NAME = "Sample memory"


def sample_path() -> Path:
    """Where this user's copy lies."""
    return platformdirs.user_data_path("tinymemory-explorer", appauthor=False) / "sample.db"


async def ensure_sample(path: Path) -> Path:
    """`path`, holding the sample: made from the shipped items where it is missing, else left as it is.

    The copy appears under its name only once it is whole. Raises EngineFailure where the folder cannot be written.
    """
    unfinished = path.with_name(f".{path.name}.{os.getpid()}")
    try:
        if await asyncio.to_thread(_is_wanted, path, unfinished):
            try:
                await _fill(unfinished)
                await asyncio.to_thread(os.replace, unfinished, path)
            finally:
                await asyncio.to_thread(_remove, unfinished)
    except OSError as error:
        raise EngineFailure(f"the sample memory cannot be written to {path.parent}: {error.strerror}") from error
    return path


async def _fill(path: Path) -> None:
    engine = build_engine("sqlite", EngineSettings(path=str(path)), None)
    try:
        for lines in _batches(resource("sample/memory.jsonl")):
            await engine.store_many([parse_item(line) for line in lines])
    finally:
        await engine.aclose()


def _is_wanted(path: Path, unfinished: Path) -> bool:
    path.parent.mkdir(parents=True, exist_ok=True)
    _remove(unfinished)
    return not path.exists()


def _remove(unfinished: Path) -> None:
    for suffix in ("", "-wal", "-shm"):
        unfinished.with_name(unfinished.name + suffix).unlink(missing_ok=True)


def _batches(source: Path) -> Iterator[list[bytes]]:
    with source.open("rb") as lines:
        while batch := list(islice(lines, MAX_STORE_MANY)):
            yield batch
