"""What a hostile server, disk or neighbour may do: nothing goes that was not meant, and nothing removed stays."""

from __future__ import annotations

import asyncio
import errno
import os
import re
from collections.abc import Callable
from contextlib import aclosing
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import (
    EngineFailure,
    EraseRequest,
    ExploreRequest,
    Facet,
    FetchMode,
    FetchRequest,
    ForgetTarget,
    GetRequest,
    InvalidRequest,
    ItemId,
    ItemKind,
    ListRequest,
    MetaFilter,
    Reach,
    SpanRequest,
    StoreItem,
    Unauthorized,
    Unsupported,
)
from explorer.engines.cortex import cache as caches
from explorer.engines.cortex.cache import ListingCache
from explorer.engines.cortex.engine import CortexEngine
from explorer.engines.cortex.failures import refusal
from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble
from tests.doubles.fault_proxy import FaultProxy, Link
from tests.doubles.serving import Reply, Request, rendered
from tests.engines.cortex.flows import LAYOUTS, all_hits, at, fact, lay, note, opened, scope_of, served, stored_at, talk

LEARNINGS = [ItemKind.LEARNING]
BOTH = ["direct-legacy", "hosted-legacy"]


def copy(double: CortexDouble, engine: CortexEngine, item: StoreItem, node: str) -> None:
    """What another program does that copies an item's events into the scope of another node."""
    like = item.model_copy(update={"meta": item.meta.model_copy(update={"namespace": at(node)})})
    for held in double.held(stored_at(double, engine, item)):
        double.put(stored_at(double, engine, like), held.text, held.labels, role=held.role, modality=held.modality)


class Racing(CortexDouble):
    """Another client does something just before the first forget of this one."""

    race: Callable[[], object] | None = None

    async def _answer(self, request: Request) -> Reply:
        if request.path.endswith("/forget") and self.race is not None:
            self.race()
            self.race = None
        return await super()._answer(request)


async def forget(engine: CortexEngine, *ids: ItemId) -> int:
    return (await engine.forget(ForgetTarget(ids=list(ids)))).forgotten


# --- what was removed is still there


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("read", ["nothing", "one scope", "since changed", "all"])
async def test_a_copy_in_another_scope_is_forgotten_with_the_item(layout: str, read: str) -> None:
    async with served(layout) as (double, engine):
        item = talk("a", "b", namespace="agent:a")
        (id,) = lay(double, engine, item)
        lay(double, engine, fact("kept", "agent:b"))
        if read != "since changed":
            copy(double, engine, item, "agent:b")
        reach = {"one scope": Reach.exact(at("agent:a"))}.get(read)
        if read != "nothing":
            await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9, filter=MetaFilter(reach=reach))])
        if read == "since changed":
            copy(double, engine, item, "agent:b")
            engine._snapshot.note_written(scope_of(engine, item))
        assert await forget(engine, id) == 1
        assert [held.text for held in double.log] == ["kept"]


async def test_a_copy_within_the_reach_is_forgotten_and_one_outside_stays() -> None:
    async with served() as (double, engine):
        item = talk("a", namespace="agent:a")
        (id,) = lay(double, engine, item)
        copy(double, engine, item, "agent:a/team:x")
        copy(double, engine, item, "agent:b")
        await engine.explore_many(
            [ExploreRequest(facet=Facet.KIND, limit=9, filter=MetaFilter(reach=Reach.exact(at("agent:a"))))]
        )
        assert (await engine.forget_within([id], Reach.subtree(at("agent:a")))).forgotten == 1
        assert [held.scope for held in double.log] == ["app:tinymemory/agent:b/app:conversations"]


async def counted(engine: CortexEngine) -> int:
    (page,) = await engine.explore_many([ExploreRequest(facet=Facet.KIND, limit=9)])
    return page.total


def no_mark(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A full disk: what is there can go, and nothing new fits."""

    def write(path: Path, *_: Any, **__: Any) -> int:
        raise OSError(errno.ENOSPC, "full")

    monkeypatch.setattr(Path, "write_text", write)


def no_lock(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """Another program holds the lock and does not go on."""
    monkeypatch.setattr(caches, "_LOCK_WAIT_S", 0.0)
    monkeypatch.setattr(caches, "try_lock", lambda handle: False)


def no_unlink(monkeypatch: pytest.MonkeyPatch, folder: Path) -> None:
    """A folder that has become read-only, with files that are not."""

    def unlink(path: Path, missing_ok: bool = False) -> None:
        raise PermissionError(errno.EACCES, "read-only")

    monkeypatch.setattr(Path, "unlink", unlink)
    monkeypatch.setattr(os, "replace", unlink)


@pytest.mark.parametrize("trouble", [no_mark, no_lock, no_unlink])
async def test_a_disk_that_fails_keeps_nothing_that_was_removed(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, trouble: Callable[[pytest.MonkeyPatch, Path], None]
) -> None:
    async with CortexDouble() as double:
        async with aclosing(opened(double, cache=ListingCache(tmp_path, "memory"))) as engine:
            ids = lay(double, engine, fact("secret"), fact("note"))
            assert await counted(engine) == 2
        engine = opened(double, cache=ListingCache(tmp_path, "memory"))  # which dies before it can save again
        with monkeypatch.context() as patch:
            assert await counted(engine) == 2
            trouble(patch, tmp_path)
            assert await forget(engine, ids[0]) == 1
        await engine._wire.aclose()
        assert not any(b"secret" in file.read_bytes() for file in tmp_path.glob("*/*"))
        async with aclosing(opened(double, cache=ListingCache(tmp_path, "memory"))) as engine:
            assert await counted(engine) == 1


async def test_an_attempt_that_was_not_applied_is_not_taken_for_done_where_one_of_many_was_gone() -> None:
    """The server fails once, another client takes one of the events away, and then the server knows not all of them."""
    double = Racing(forget_refuses_stale=(404, "NOT_FOUND"), failures={"forget": [(503, "UNAVAILABLE")]})
    async with double, aclosing(opened(double, hosted=True)) as engine:
        items = [fact(f"fact {number}") for number in range(20)]
        ids = lay(double, engine, *items)
        scope = stored_at(double, engine, items[0])
        gone = double.held(scope)[7].id
        double.race = lambda: double.log.drop(scope, [gone])
        assert await forget(engine, *ids) >= 19
        assert len(double.log) == 0


@pytest.mark.parametrize("layout", BOTH)
async def test_a_server_that_says_yes_and_keeps_an_event_is_not_believed(layout: str) -> None:
    async with served(layout) as (double, engine):
        ids = lay(double, engine, *(fact(f"fact {number}") for number in range(7)))
        drop = double.log.drop
        double.log.drop = lambda scope, ids: drop(scope, [id for id in ids if id != "evt_3"])  # type: ignore[method-assign]
        with pytest.raises(EngineFailure, match="holds it still"):
            await forget(engine, *ids)
        assert [held.id for held in double.log] == ["evt_3"]


# --- another's memory is shown


@pytest.mark.parametrize("hosted", [False, True])
@pytest.mark.parametrize("count", [0, 1, 25, 400])
async def test_another_key_at_the_same_place_is_shown_nothing_that_the_cache_has(
    tmp_path: Path, hosted: bool, count: int
) -> None:
    """Where no account tells them apart, and each memory counts its events from one."""
    for name, there in (("ours", 30), ("theirs", count), ("ours", 30)):
        async with CortexDouble() as double:
            engine = opened(double, hosted=hosted, cache=ListingCache(tmp_path, "memory"))
            async with aclosing(engine):
                lay(double, engine, *(fact(f"{name} {number}", tags=[name]) for number in range(there)))
                lay(double, engine, *(talk(f"{name} {number}", "b", namespace="agent:a") for number in range(there)))
                requests = [ExploreRequest(facet=Facet.TAG, limit=9)]
                steps = [pages async for pages in engine.explore_gradually(requests)]
                assert {bucket.value for (page,) in steps for bucket in page.buckets} <= {name}
                assert steps[-1][0].total == 2 * there
                span = await engine.list_span(SpanRequest(filter=MetaFilter(), offset=0, limit=900))
                assert all(hit is not None and name in hit.text for hit in span.items)
                assert len(span.items) == 2 * there


# --- cursors


@pytest.mark.parametrize("place", ['{"scope":"a","engine":"\\ud800","offset":0,"last":null}', "[" * 90000, "1" * 5000])
async def test_a_cursor_that_nobody_wrote_is_refused(place: str) -> None:
    async with served() as (double, engine):
        lay(double, engine, fact("note"))
        for tag in "lf":
            cursor = f"{tag}{place.encode().hex()}"
            with pytest.raises(InvalidRequest, match="unknown cursor"):
                await engine.list(ListRequest(limit=9, cursor=cursor))
            with pytest.raises(InvalidRequest, match="unknown cursor"):
                await engine.fetch(FetchRequest(query="note", mode=FetchMode.HYBRID, limit=9, cursor=cursor))


# --- more goes than was meant: roots that lie in each other

INSIDE: list[dict[str, Any]] = [
    {"scope_root": "org:42", "retired_scope_root": "org:42/team:x"},
    {"scope_root": "org:42/team:x", "retired_scope_root": "org:42"},
    {"tenant_root": True, "retired_scope_root": "team:x"},
]
on_nested_roots = pytest.mark.parametrize(
    ("hosted", "roots"),
    [(hosted, roots) for hosted in (False, True) for roots in INSIDE if hosted or "tenant_root" not in roots],
)


def only(roots: dict[str, Any], *, retired: bool) -> dict[str, Any]:
    """The settings of who writes to one of the roots alone."""
    if retired:
        return {"scope_root": roots["retired_scope_root"]}
    return {name: value for name, value in roots.items() if name != "retired_scope_root"}


@on_nested_roots
async def test_an_erase_takes_no_scope_that_is_another_node_of_the_other_root(
    hosted: bool, roots: dict[str, Any]
) -> None:
    async with CortexDouble() as double, aclosing(opened(double, hosted=hosted, **roots)) as engine:
        for retired in (False, True):
            async with aclosing(opened(double, hosted=hosted, **only(roots, retired=retired))) as one:
                for node in ("", "team:x", "team:x/agent:b"):
                    lay(double, one, fact(f"{'old' if retired else 'new'} {node}", node))
        before = len(double.log)
        for reach in (Reach.exact(at("")), Reach.subtree(at("team:x"))):
            with pytest.raises(Unsupported, match="forget the items instead"):
                await engine.erase(EraseRequest(reach=reach))
        assert double.count("erasures") == 0
        assert len(double.log) == before
        for _ in range(2):
            found = [hit.text for hit in await all_hits(engine, limit=2)]
            assert sorted(found) == sorted({held.text for held in double.log})
            within = [hit.text for hit in await all_hits(engine, limit=2, reach=Reach.subtree(at("team:x")))]
            assert sorted(within) == [
                f"{age} {node}" for age in ("new", "old") for node in ("team:x", "team:x/agent:b")
            ]
            (page,) = await engine.explore_many(
                [ExploreRequest(facet=Facet.KIND, limit=9, filter=MetaFilter(reach=Reach.subtree(at("team:x"))))]
            )
            assert page.total == 4
        gone = await engine.forget(ForgetTarget(filter=MetaFilter(reach=Reach.subtree(at("team:x/agent:b")))))
        assert gone.forgotten == 2
        assert await forget(engine, fact("old ").fingerprint(), fact("old team:x", "team:x").fingerprint()) == 2
        assert sorted(held.text for held in double.log) == ["new ", "new team:x"]


@on_nested_roots
async def test_nothing_is_written_into_a_retired_root(hosted: bool, roots: dict[str, Any]) -> None:
    async with CortexDouble() as double, aclosing(opened(double, hosted=hosted, **roots)) as engine:
        inside = "" if roots.get("scope_root") == "org:42/team:x" else "team:x"
        with pytest.raises(InvalidRequest):
            await engine.store(fact("lost", inside))
        assert len(double.log) == 0


async def test_a_root_that_is_a_node_of_the_retired_one_is_not_taken_for_it() -> None:
    """Hosted, a root is found after any prefix: also after the retired root."""
    roots = {"scope_root": "team:x", "retired_scope_root": "org:42"}
    async with CortexDouble() as double, aclosing(opened(double, hosted=True, **roots)) as engine:
        async with aclosing(opened(double, hosted=True, scope_root="org:42")) as before:
            ids = lay(double, before, fact("old", "team:x"), fact("older", "team:x/agent:a"))
        lay(double, engine, fact("new"))
        assert (await engine.erase(EraseRequest(reach=Reach.exact(at(""))))).erased_scopes == 1
        assert [held.text for held in double.log] == ["old", "older"]
        assert {hit.text for hit in await all_hits(engine)} == {"old", "older"}
        assert await forget(engine, *ids) == 2
        assert len(double.log) == 0


@pytest.mark.parametrize(
    ("hosted", "root", "node"), [(True, "agent:a/agent:a", "agent:a"), (True, "app:learnings", "")]
)
async def test_a_node_that_reads_back_as_another_is_refused(hosted: bool, root: str, node: str) -> None:
    async with CortexDouble() as double, aclosing(opened(double, hosted=hosted, scope_root=root)) as engine:
        with pytest.raises(InvalidRequest):
            await engine.store(fact("lost", node))
        assert len(double.log) == 0


async def test_what_another_program_keeps_below_a_longer_tenant_prefix_is_not_hidden() -> None:
    async with CortexDouble() as double, aclosing(opened(double, hosted=True, scope_root="org:42")) as engine:
        double.tenant = "acme/dept:x"
        lay(double, engine, note("mine", "source:x"))
        double.put("org:acme/dept:x/org:42/app:brain/source:x/app:theirs", "theirs", [])
        with pytest.raises(Unsupported, match="would hide"):
            await engine.erase(EraseRequest(reach=Reach.exact(at("source:x"))))
        assert len(double.log) == 2


# --- a call that is given up


@pytest.mark.parametrize("hosted", [False, True])
async def test_a_request_given_up_at_any_moment_takes_no_connection_away_for_good(hosted: bool, until: Until) -> None:
    async with CortexDouble() as double, aclosing(opened(double, hosted=hosted)) as engine:
        for steps in [*range(40), *range(40)]:
            await engine.list(ListRequest(limit=9, filter=MetaFilter(reach=Reach.exact(at("")), kinds=LEARNINGS)))
            async with asyncio.TaskGroup() as group:
                task = group.create_task(engine.store(fact(f"note {steps}")))
                for _ in range(steps):
                    await asyncio.sleep(0)
                task.cancel()
        await until(lambda: double.open_connections <= 1)


# --- a key that leaks

KEY = "key-4f1c9a0d77e2"


@pytest.mark.parametrize("hosted", [False, True])
@pytest.mark.parametrize("status", [400, 403, 500])
@pytest.mark.parametrize(
    "body",
    [
        b'{"errorCode":"%s"}' % KEY.encode(),
        b'{"error_code":"x%s","message":"m"}' % KEY.encode(),
        b'{"error":"Bearer%%20%s"}' % KEY.replace("-", "%2D").encode(),
        b'{"error":{"message":"key-4f1c\\n9a0d77e2"}}',
        "\u200b".join(KEY).encode(),
        KEY.encode("utf-16"),
        b'{"details":{"capability":"%s"}}' % KEY.encode(),
    ],
)
def test_however_the_server_spells_the_key_no_error_repeats_it(body: bytes, status: int, hosted: bool) -> None:
    error = refusal("head", status, body, hosted=hosted, secrets=[KEY])
    said = re.sub(r"[\W_]|%2D|20", "", f"{error} {error.refusal}").lower()
    assert "4f1c9a0d77e2" not in said


@pytest.mark.parametrize("depth", [900, 6000])
def test_an_error_nested_without_end_is_an_error(depth: int) -> None:
    body = b'{"error":' * depth + b"1" + b"}" * depth
    assert isinstance(refusal("head", 403, body, hosted=True, secrets=[KEY]), Unauthorized)


@pytest.mark.parametrize("layout", LAYOUTS)
async def test_without_a_list_of_scopes_nothing_is_taken_for_removed_that_is_there(layout: str) -> None:
    async with served(layout, scopes_missing=True) as (double, engine):
        (id,) = lay(double, engine, fact("note"))
        with pytest.raises(Unsupported, match="forget the items instead"):
            await engine.erase(EraseRequest(reach=Reach.exact(at(""))))
        assert len(double.log) == 1
        assert await forget(engine, id) == 1
        assert len(double.log) == 0


class Shrinking(CortexDouble):
    """Another client removes the newest events just before each page but the first, as often as told."""

    times = 0
    scope = ""

    async def _answer(self, request: Request) -> Reply:
        if self.times and request.path.endswith("/events") and "cursor" in dict(request.params):
            self.times -= 1
            self.log.drop(self.scope, [held.id for held in self.held(self.scope)][-15:])
        return await super()._answer(request)


@pytest.mark.parametrize("layout", BOTH)
async def test_what_moves_while_it_is_paged_is_forgotten_too(layout: str) -> None:
    hosted, settings = LAYOUTS[layout]
    async with Shrinking(max_page=20) as double, aclosing(opened(double, hosted=hosted, **settings)) as engine:
        items = [fact(f"fact {number}") for number in range(100)]
        lay(double, engine, *items)
        double.scope, double.times = stored_at(double, engine, items[0]), 3
        await engine.forget(ForgetTarget(filter=MetaFilter(kinds=LEARNINGS)))
        assert len(double.log) == 0
        assert double.times == 0


async def test_an_odd_event_of_another_program_hides_none_of_the_others(tmp_path: Path) -> None:
    odd = ['"text": "a", "text": "b"', '"text": "\\ud800"', '"text": 1e999', '"text": "c", "n": NaN']
    events = [f'{{"id": "odd-{at}", "content": {{{text}}}, "context": {{}}}}' for at, text in enumerate(odd)]
    events.append('{"id": "\\udfff", "content": {"text": "d"}}')

    async def spoiled(link: Link) -> None:
        answer = await link.upstream()
        items = re.search(rb'"items": ?\[', answer.body)
        assert items is not None
        rest = answer.body[items.end() :]
        told = (
            answer.body[: items.end()] + ", ".join(events).encode() + (b"" if rest.startswith(b"]") else b", ") + rest
        )
        await link.send(rendered(Reply(told, answer.status)))

    async with CortexDouble() as double, FaultProxy(double.endpoint) as proxy:
        cache = ListingCache(tmp_path, "memory")
        async with aclosing(opened(double, endpoint=proxy.endpoint, cache=cache)) as engine:
            (id,) = lay(double, engine, fact("ours"))
            proxy.only, proxy.always = "/events", spoiled
            assert [hit.id for hit in (await engine.list(ListRequest(limit=9))).items] == [id]
            changes = await engine.changes(MetaFilter())
            assert (changes.total, len(list(tmp_path.glob("*/*.json")))) == (1, 1)
            assert engine.details()[0].value == "4"
            assert [hit.id for hit in await engine.get(GetRequest(ids=[id]))] == [id]
