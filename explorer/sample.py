"""The sample memory that a first run opens: an invented one, copied so that it can be changed freely."""

from __future__ import annotations

import asyncio
import os
import shutil
import tempfile
from collections.abc import Iterator
from itertools import islice
from pathlib import Path

import platformdirs

from explorer.contract import MAX_STORE_MANY, EngineFailure, parse_item
from explorer.engines import EngineSettings, build_engine
from explorer.paths import resource


def sample_path() -> Path:
    """Where this user's copy lies."""
    return platformdirs.user_data_path("tinymemory-explorer", appauthor=False) / "sample.db"


async def ensure_sample(path: Path) -> Path:
    """`path`, holding the sample: made from the shipped items where it is missing, else left as it is.

    The copy appears under its name only once it is whole, and never in the place of another's.
    Raises EngineFailure where the folder cannot be written.
    """
    try:
        if not await asyncio.to_thread(path.exists):
            workshop = await asyncio.to_thread(_make_workshop, path)
            try:
                made = workshop / path.name
                await _fill(made)
                await asyncio.to_thread(_put_in_place, made, path)
            finally:
                await asyncio.to_thread(shutil.rmtree, workshop, ignore_errors=True)
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


def _make_workshop(path: Path) -> Path:
    """A folder of this call's own beside `path`: other windows may be making their copy at the same time."""
    path.parent.mkdir(parents=True, exist_ok=True)
    return Path(tempfile.mkdtemp(prefix=f".{path.name}-", dir=path.parent))


def _put_in_place(made: Path, path: Path) -> None:
    if path.exists():
        return
    # SQLite would take the log of a copy that was deleted by hand for this one's, and mix the two.
    for suffix in ("-wal", "-shm", "-journal"):
        path.with_name(path.name + suffix).unlink(missing_ok=True)
    try:
        os.link(made, path)  # which, unlike a rename, never takes another's place
    except FileExistsError:
        pass
    except OSError:  # a file system without links
        os.replace(made, path)


def _batches(source: Path) -> Iterator[list[bytes]]:
    with source.open("rb") as lines:
        while batch := list(islice(lines, MAX_STORE_MANY)):
            yield batch
