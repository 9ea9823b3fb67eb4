"""An engine opened read-only: every read passes, every write is refused, and nothing leads to what is inside."""

from __future__ import annotations

import contextlib
import gc
import inspect
import weakref
from collections.abc import AsyncIterator, Callable
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import (
    BeliefsRequest,
    ConsolidateRequest,
    EraseRequest,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    HistogramRequest,
    InvalidRequest,
    ItemId,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    RecallRequest,
    SpanRequest,
    StoreItem,
    StoreOptions,
    TinyMemoryError,
)
from explorer.contract.reference import ReferenceEngine
from explorer.engines import EngineSettings, build_engine, read_only_view
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.read_only import OWN_READS, READS
from explorer.engines.sqlite import SqliteEngine
from explorer.transfer import names_sandboxes
from tests.contract.engines import PlainEngine
from tests.fakes import learning

ITEM = learning("the build server is called ursa", "team:acme", tags=["infra"])
ITEMS: list[StoreItem] = [ITEM, learning("notes of the deploy", "team:acme/project:web"), learning("alone")]

TEAM = Reach.exact(Namespace.parse("team:acme"))

Arguments = Callable[[list[ItemId]], tuple[Any, ...]]
WRITES: dict[str, Arguments] = {
    "store": lambda ids: (ITEM,),
    "store_many": lambda ids: ([ITEM],),
    "store_with": lambda ids: (ITEM, StoreOptions()),
    "store_many_with": lambda ids: ([ITEM], StoreOptions()),
    "forget": lambda ids: (ForgetTarget(ids=ids),),
    "forget_within": lambda ids: (ids, None),
    "erase": lambda ids: (EraseRequest(reach=TEAM),),
    "consolidate": lambda ids: (ConsolidateRequest(reach=TEAM),),
}
ALL = MetaFilter()
LISTED = ListRequest(limit=50)
ASKED: dict[str, Arguments] = {
    "descriptor": lambda ids: (),
    "health": lambda ids: (),
    "sorts": lambda ids: (),
    "refuse_undeclared": lambda ids: (FetchMode.VECTOR,),
    "recall": lambda ids: (RecallRequest(question="ursa", limit=5),),
    "fetch": lambda ids: (FetchRequest(query="ursa", mode=FetchMode.KEYWORD, limit=5),),
    "fetch_explained": lambda ids: (FetchRequest(query="ursa", mode=FetchMode.KEYWORD, limit=5),),
    "list": lambda ids: (LISTED,),
    "list_preview": lambda ids: (LISTED,),
    "list_span": lambda ids: (SpanRequest(offset=0, limit=10),),
    "export": lambda ids: (LISTED,),
    "get": lambda ids: (GetRequest(ids=ids),),
    "get_items": lambda ids: (GetRequest(ids=ids),),
    "explore": lambda ids: (ExploreRequest(facet=Facet.TAG, limit=5),),
    "explore_many": lambda ids: (
        [ExploreRequest(facet=Facet.TAG, limit=5), ExploreRequest(facet=Facet.KIND, limit=5)],
    ),
    "explore_gradually": lambda ids: ([ExploreRequest(facet=Facet.TAG, limit=5)],),
    "refresh": lambda ids: (),
    "waiting": lambda ids: (),
    "details": lambda ids: (),
    "namespaces": lambda ids: (ALL,),
    "histogram": lambda ids: (HistogramRequest(),),
    "changes": lambda ids: (ALL,),
    "beliefs": lambda ids: (BeliefsRequest(reach=TEAM, limit=5),),
    "vector_status": lambda ids: (),
    "is_empty": lambda ids: (),
}


KINDS: dict[str, Callable[[Path], MemoryEngine]] = {
    "sqlite": lambda path: SqliteEngine(path, embedder=None),
    "reference": lambda path: ReferenceEngine(),
    "plain": lambda path: PlainEngine(),
}
of_each_kind = pytest.mark.parametrize("kind", KINDS)


@contextlib.asynccontextmanager
async def filled(kind: str, tmp_path: Path) -> AsyncIterator[MemoryEngine]:
    """An engine that holds `ITEMS`, open for writing."""
    engine = KINDS[kind](tmp_path / "a.db")
    for item in ITEMS:
        await engine.store(item)
    try:
        yield engine
    finally:
        await engine.aclose()


def public(kind: type) -> set[str]:
    return {name for name, _ in inspect.getmembers_static(kind) if not name.startswith("_")}


async def ids_of(engine: MemoryEngine) -> list[ItemId]:
    return [hit.id for hit in (await engine.list(LISTED)).items]


async def answer(engine: MemoryEngine, name: str, arguments: tuple[Any, ...]) -> Any:
    """What a call returns, or the error that it raises."""
    try:
        found = getattr(engine, name)(*arguments)
        if inspect.isasyncgen(found):
            return [step async for step in found]
        return await found if inspect.isawaitable(found) else found
    except TinyMemoryError as error:
        return error


def test_every_call_of_the_contract_is_a_read_or_a_write() -> None:
    assert set(WRITES) | READS == public(MemoryEngine)
    assert not set(WRITES) & READS


@pytest.mark.parametrize("kind", [SqliteEngine, ReferenceEngine, CortexEngine])
def test_every_call_of_our_own_engines_is_known(kind: type[MemoryEngine]) -> None:
    only_after_removals = {"drop_queries"}
    assert public(kind) <= set(WRITES) | READS | OWN_READS | only_after_removals


def test_every_read_is_asked_here() -> None:
    assert set(ASKED) | {"aclose", "path"} == READS | OWN_READS


@of_each_kind
async def test_each_write_is_refused_in_a_sentence(tmp_path: Path, kind: str) -> None:
    async with filled(kind, tmp_path) as engine:
        view = read_only_view(engine)
        before = (await engine.list(LISTED)).items
        for name, arguments in WRITES.items():
            error = await answer(view, name, arguments([hit.id for hit in before]))
            assert isinstance(error, InvalidRequest), name
            assert error.text == "this memory is open read-only; nothing was changed"
        assert (await engine.list(LISTED)).items == before


@of_each_kind
async def test_each_read_passes(tmp_path: Path, kind: str) -> None:
    async with filled(kind, tmp_path) as engine:
        view = read_only_view(engine)
        ids = await ids_of(engine)
        for name, arguments in ASKED.items():
            assert hasattr(view, name) == hasattr(engine, name)
            if hasattr(engine, name):
                assert str(await answer(view, name, arguments(ids))) == str(await answer(engine, name, arguments(ids)))
        assert getattr(view, "path", None) == getattr(engine, "path", None)


@of_each_kind
async def test_it_offers_what_the_engine_inside_offers(tmp_path: Path, kind: str) -> None:
    async with filled(kind, tmp_path) as engine:
        view = read_only_view(engine)
        assert names_sandboxes(view) == names_sandboxes(engine)
        for name in READS:
            default = getattr(MemoryEngine, name)
            assert (getattr(type(view), name) is default) == (getattr(type(engine), name) is default), name


@of_each_kind
async def test_no_attribute_leads_to_the_engine(tmp_path: Path, kind: str) -> None:
    async with filled(kind, tmp_path) as engine:
        view = read_only_view(engine)
        assert vars(view) == {}
        for name in dir(view):
            value = getattr(view, name, None)
            assert value is not engine
            assert getattr(value, "__self__", None) is not engine, name
        assert read_only_view(view) is view, "a view of a view is not one more"


async def test_a_call_that_the_contract_gets_later_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    def purge(self: MemoryEngine) -> str:
        return "gone"

    monkeypatch.setattr(MemoryEngine, "purge", purge, raising=False)

    class Newer(ReferenceEngine):
        def drop(self) -> str:
            return "gone too"

    view = read_only_view(Newer())
    with pytest.raises(InvalidRequest):
        view.purge()  # type: ignore[attr-defined]
    assert not hasattr(view, "drop")


def test_the_engine_goes_with_its_view() -> None:
    engine = ReferenceEngine()
    gone = weakref.ref(engine)
    view = read_only_view(engine)
    del engine
    gc.collect()
    assert gone() is not None
    del view
    assert gone() is None


async def test_a_file_opened_read_only_stays_as_it_is_byte_for_byte(tmp_path: Path) -> None:
    path = tmp_path / "memory" / "a.db"
    path.parent.mkdir()
    writer = SqliteEngine(path, embedder=None)
    for item in ITEMS:
        await writer.store(item)
    await writer.aclose()
    before = {file.name: file.read_bytes() for file in path.parent.iterdir()}
    engine = build_engine("sqlite", EngineSettings(path=str(path), read_only=True, embedding_model="none"))
    ids = await ids_of(engine)
    assert len(ids) == len(ITEMS)
    for name, arguments in WRITES.items():
        with pytest.raises(InvalidRequest):
            await getattr(engine, name)(*arguments(ids))
    await engine.aclose()
    assert {file.name: file.read_bytes() for file in path.parent.iterdir()} == before


async def test_any_engine_is_built_read_only() -> None:
    engine = build_engine("reference", EngineSettings(read_only=True))
    with pytest.raises(InvalidRequest):
        await engine.store(ITEM)
    assert await ids_of(engine) == []
    await build_engine("reference", EngineSettings()).store(ITEM)
