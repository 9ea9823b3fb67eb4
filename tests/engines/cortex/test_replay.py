"""Storing into a memory that others write too: what is held already, by any of its ids or in part, is not stored twice.

Source: cortex, "store and store_many"; contract, "Algorithm" (the two rules of ids).
"""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import AsyncIterator, Iterable
from contextlib import asynccontextmanager

import pytest

from explorer.contract import (
    Conversation,
    Document,
    DocumentBody,
    GetRequest,
    ItemId,
    ListRequest,
    MemoryEngine,
    MemoryMeta,
    MetaFilter,
    Role,
    StoreItem,
    ToolCallRef,
    Turn,
    Unavailable,
)
from explorer.engines import EngineSettings, StaticCredential, build_engine
from explorer.engines.cortex.envelope import lay_out, newer_id
from tests.doubles.cortexdb import CortexDouble
from tests.fakes import learning

WIRES = ["cortexdb", "tinyhumans"]
CALLED = MemoryMeta(tool_call=ToolCallRef(name="search", id="call-7"))
"""Metadata by which an item has two ids."""


@pytest.fixture(params=WIRES)
def wire(request: pytest.FixtureRequest) -> str:
    return str(request.param)


def talk(turns: int, meta: MemoryMeta | None = None) -> Conversation:
    said = [Turn(role=Role.USER, text=f"this is turn {n} of {turns}") for n in range(turns)]
    return Conversation(turns=said, meta=meta or MemoryMeta())


def book(meta: MemoryMeta | None = None, pages: int = 4) -> Document:
    """A document that is several pieces."""
    text = "\f".join(f"# Chapter {n}\n" + f"line {n} of the book\n" * 10_000 for n in range(pages))
    return Document(body=DocumentBody(text=text), meta=meta or MemoryMeta())


def note(meta: MemoryMeta | None = None) -> Document:
    return Document(title="Note", body=DocumentBody(text="a short one"), meta=meta or MemoryMeta())


def many(count: int) -> list[StoreItem]:
    """Items of each kind in turn, conversations of two turns."""
    kinds = [lambda n: learning(f"fact {n}"), lambda n: talk(2 + n), lambda n: note(MemoryMeta(folder=f"/f/{n}"))]
    return [kinds[n % 3](n) for n in range(count)]
