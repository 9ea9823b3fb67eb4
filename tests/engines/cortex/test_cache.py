"""What is kept of a memory elsewhere: the second opening reads what is new, and nothing that was removed stays."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import (
    EraseRequest,
    ForgetTarget,
    ListOrder,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    SortBy,
    SpanRequest,
)
from explorer.engines import EngineSettings, StaticCredential, build_engine, forget_kept
from explorer.engines.cortex import browsing
from explorer.engines.cortex import cache as cache_module
from explorer.engines.cortex.cache import ListingCache, Saved, cache_folder
from explorer.engines.cortex.rows import Rows, new_dictionary
from explorer.engines.cortex.settings import CortexSettings
from explorer.engines.locks import try_lock
from tests.conftest import Until
from tests.doubles.cortexdb import CortexDouble
from tests.engines.cortex.filling import WIRES, opened, put
from tests.engines.cortex.test_snapshot import ALL, exploring, made, open_window, scopes_of
from tests.fakes import learning

on_each_wire = pytest.mark.parametrize("wire", WIRES)
EVERYTHING = EraseRequest(reach=Reach.subtree(Namespace.ROOT), whole_tree=True)


@pytest.fixture(autouse=True)
def patient(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(browsing, "PATIENCE_S", 60.0)


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    return tmp_path / "listings"


def kept(folder: Path, name: str = "memory") -> ListingCache:
    return ListingCache(folder, name)


def files(folder: Path) -> list[Path]:
    return sorted(folder.glob("*/*.json"))


def everything_in(folder: Path) -> str:
    return "\n".join(path.read_text("utf-8", errors="replace") for path in folder.rglob("*") if path.is_file())


async def total(engine: MemoryEngine) -> int:
    (page,) = await engine.explore_many(exploring()[:1])
    return page.total


async def answers(engine: MemoryEngine) -> list[Any]:
    """All that the window asks, without the names that a listing is given."""
    changes, *counts, span = await open_window(engine)
    ordered = [await engine.list_span(SpanRequest(order=ListOrder(by=by), offset=0, limit=1000)) for by in SortBy]
    return [changes.total, *counts, *((each.items, each.total) for each in [span, *ordered])]


@on_each_wire
async def test_the_second_opening_lists_the_scopes_once_and_reads_a_page_of_each(wire: str, folder: Path) -> None:
    async with CortexDouble(max_page=6) as double:
        put(double, wire, made(150))
        async with opened(double, wire, cache=kept(folder)) as engine:
            before = await answers(engine)
            assert double.count("events") > scopes_of(double)
        double.forget_requests()
        async with opened(double, wire, cache=kept(folder)) as engine:
            assert await answers(engine) == before
            assert double.counts() == {"scopes": 1, "events": scopes_of(double)}


@on_each_wire
async def test_what_others_stored_meanwhile_is_there(wire: str, folder: Path) -> None:
    async with CortexDouble(max_page=20) as double:
        put(double, wire, [learning(f"note {number}") for number in range(100)])
        async with opened(double, wire, cache=kept(folder)) as engine:
            assert await total(engine) == 100
        put(double, wire, [learning(f"new {number}") for number in range(25)])
        put(double, wire, [learning("elsewhere", "team:acme")])
        double.forget_requests()
        async with opened(double, wire, cache=kept(folder)) as engine:
            assert await total(engine) == 126
            assert double.counts() == {"scopes": 1, "events": 3 + 1}
            span = await engine.list_span(
                SpanRequest(filter=MetaFilter(reach=Reach.exact(Namespace.ROOT)), offset=0, limit=30)
            )
            assert [hit and hit.text for hit in span.items][:26] == [*(f"new {24 - at}" for at in range(25)), "note 99"]
        double.forget_requests()
        async with opened(double, wire, cache=kept(folder)) as engine:
            assert await total(engine) == 126
            assert double.counts() == {"scopes": 1, "events": 2}


async def test_what_was_met_of_other_programs_is_still_known(folder: Path) -> None:
    async with CortexDouble(max_page=6) as double:
        put(double, "direct", [learning("note")])
        double.put("app:tinymemory/app:learnings", "of another program")
        put(double, "direct", [learning(f"note {number}") for number in range(20)])
        for _ in range(2):
            async with opened(double, cache=kept(folder)) as engine:
                assert await total(engine) == 21
                (detail,) = [each for each in engine.details() if each.name == "Events of other programs"]
                assert detail.value == "1"


async def test_what_others_removed_meanwhile_is_found_out_by_a_refresh(folder: Path) -> None:
    async with CortexDouble() as double:
        ids = put(double, "direct", [learning(f"note {number}") for number in range(3)])
        async with opened(double, cache=kept(folder)) as engine:
            await total(engine)
        async with opened(double) as other:
            await other.forget(ForgetTarget(ids=ids[:1]))
        async with opened(double, cache=kept(folder)) as engine:
            assert await total(engine) == 3
            engine.refresh()
            assert await total(engine) == 2
        assert "note 0" not in everything_in(folder)
        async with opened(double, cache=kept(folder)) as engine:
            assert await total(engine) == 2


@on_each_wire
async def test_nothing_removed_stays_in_the_files(wire: str, folder: Path) -> None:
    items = [
        learning(f"secret {number}", f"agent:a{number}", url=f"https://secret.example/{number}") for number in range(4)
    ]
    async with CortexDouble() as double, opened(double, wire, cache=kept(folder)) as engine:
        ids = put(double, wire, items)
        await engine.changes(ALL)
        assert all(f"secret {number}" in everything_in(folder) for number in range(4))
        await engine.forget(ForgetTarget(ids=ids[:1]))
        assert "secret 0" not in everything_in(folder)
        assert "example/0" not in everything_in(folder)
        await engine.erase(EraseRequest(reach=Reach.exact(Namespace.parse("agent:a1"))))
        assert "secret 1" not in everything_in(folder)
        await engine.forget_within(ids[2:3], None)
        assert "secret 2" not in everything_in(folder)
        assert "secret 3" in everything_in(folder)
        await engine.changes(ALL)
        await engine.erase(EVERYTHING)
        assert "secret" not in everything_in(folder)
        await engine.changes(ALL)
        assert "secret" not in everything_in(folder)


async def test_a_removal_that_fails_drops_what_it_may_have_removed(folder: Path) -> None:
    async with CortexDouble() as double, opened(double, cache=kept(folder)) as engine:
        ids = put(double, "direct", [learning("secret")])
        await engine.changes(ALL)
        double.forget_then_fail = 5
        with pytest.raises(Exception, match="503"):
            await engine.forget(ForgetTarget(ids=ids))
        assert "secret" not in everything_in(folder)


@on_each_wire
@pytest.mark.parametrize("how", ["forget", "erase", "everything"])
async def test_it_is_gone_before_the_server_is_told(wire: str, how: str, folder: Path, until: Until) -> None:
    async with CortexDouble() as double, opened(double, wire, cache=kept(folder)) as engine:
        ids = put(double, wire, [learning("secret")])
        await engine.changes(ALL)
        assert "secret" in everything_in(folder)
        double.latency_ms = 200
        work = {
            "forget": lambda: engine.forget(ForgetTarget(ids=ids)),
            "erase": lambda: engine.erase(EraseRequest(reach=Reach.exact(Namespace.ROOT))),
            "everything": lambda: engine.erase(EVERYTHING),
        }
        removal = asyncio.ensure_future(work[how]())
        await until(lambda: {"forget", "erasures", "erase_all"} & double.counts().keys())
        assert "secret" not in everything_in(folder)
        await removal


async def test_another_window_does_not_bring_back_what_was_removed(folder: Path) -> None:
    async with CortexDouble() as double:
        ids = put(double, "direct", [learning("secret"), learning("note")])
        async with opened(double, cache=kept(folder)) as one, opened(double, cache=kept(folder)) as other:
            assert await total(one) == await total(other) == 2
            await one.forget(ForgetTarget(ids=ids[:1]))
        assert "secret" not in everything_in(folder), "both have saved what they hold"
        async with opened(double, cache=kept(folder)) as engine:
            assert await total(engine) == 1


async def test_a_save_that_is_under_way_does_not_bring_it_back_either(folder: Path) -> None:
    one = kept(folder)
    async with CortexDouble() as double, opened(double, cache=one) as engine:
        put(double, "direct", [learning("secret")])
        await engine.changes(ALL)
        (path,) = double.log.scopes()
        saved = one.load(path, new_dictionary())
        assert saved is not None
        drops = one.drops(path)
        one.drop(path)
        one.save(path, saved, len(saved.rows), drops)
        assert "secret" not in everything_in(folder)


async def test_what_was_removed_goes_though_another_program_keeps_the_lock(
    folder: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(cache_module, "_LOCK_WAIT_S", 0.01)
    async with CortexDouble() as double:
        (id,) = put(double, "direct", [learning("to be removed")])
        async with opened(double, cache=kept(folder)) as engine:
            assert await total(engine) == 1
        (file,) = files(folder)
        async with opened(double, cache=kept(folder)) as engine:
            assert await total(engine) == 1
            with (file.parent / ".lock").open("rb+") as lock:
                assert try_lock(lock.fileno())
                await engine.forget(ForgetTarget(ids=[id]))
                assert "to be removed" not in everything_in(folder)


async def test_the_memory_of_another_account_is_never_shown(folder: Path) -> None:
    async with CortexDouble(tenants={"key-of-another": "other"}) as double:
        put(double, "hosted", [learning("of acme"), learning("of acme too")])
        async with opened(double, "hosted", cache=kept(folder)) as engine:
            await total(engine)
        async with opened(double, "hosted", token="key-of-another", cache=kept(folder)) as engine:
            steps = [pages async for pages in engine.explore_gradually(exploring()[:1])]
            assert {pages[0].total for pages in steps} == {0}


def named(**settings: Any) -> str:
    given = EngineSettings(endpoint="https://cortex.example", **settings)
    made = ListingCache.of(given, CortexSettings.of(given, hosted=False))
    assert made is not None
    return made.folder.name


def test_each_deployment_account_and_layout_has_files_of_its_own() -> None:
    given = EngineSettings(endpoint="https://other.example")
    other = ListingCache.of(given, CortexSettings.of(given, hosted=False))
    hosted = ListingCache.of(
        EngineSettings(endpoint="https://cortex.example"),
        CortexSettings.of(EngineSettings(endpoint="https://cortex.example"), hosted=True),
    )
    assert other is not None
    assert hosted is not None
    names = [
        named(),
        named(account="work"),
        named(scope_root="org:42"),
        named(scope_root="org:42", retired_scope_root="user:42"),
        other.folder.name,
        hosted.folder.name,
    ]
    assert len(set(names)) == len(names)
    assert named(listing_cache=True) == named()


async def test_no_key_is_in_the_files_and_only_their_owner_reads_them(folder: Path) -> None:
    async with CortexDouble() as double:
        put(double, "direct", [learning("note")])
        async with opened(double, cache=kept(folder), headers={"x-proxy": "proxy-secret"}) as engine:
            await engine.changes(ALL)
        held = everything_in(folder) + "".join(map(str, folder.rglob("*")))
        assert double.token not in held
        assert "proxy-secret" not in held
        assert double.endpoint not in held
        if os.name == "posix":
            assert {stat.S_IMODE(path.stat().st_mode) for path in files(folder)} == {0o600}
            assert stat.S_IMODE((folder / "memory").stat().st_mode) == 0o700
        assert not list(folder.rglob("*.tmp"))


@pytest.mark.parametrize("spoil", ["cut", "changed", "empty", "json", "swapped", "version", "folder"])
async def test_a_file_that_is_damaged_or_another_s_is_ignored(folder: Path, spoil: str) -> None:
    async with CortexDouble() as double:
        put(double, "direct", [learning("note"), learning("other", "team:acme")])
        async with opened(double, cache=kept(folder)) as engine:
            before = await answers(engine)
        one, two = files(folder)
        data = one.read_bytes()
        match spoil:
            case "cut":
                one.write_bytes(data[: len(data) // 2])
            case "changed":
                one.write_bytes(data.replace(b"note", b"nota").replace(b"other", b"othes"))
            case "empty":
                one.write_bytes(b"")
            case "json":
                one.write_bytes(b"[]\n" * 9)
            case "swapped":
                one.write_bytes(two.read_bytes())
            case "version":
                first, _, rest = data.partition(b"\n")
                one.write_bytes(json.dumps({**json.loads(first), "version": 99}).encode() + b"\n" + rest)
            case "folder":
                one.unlink()
                one.mkdir()
        async with opened(double, cache=kept(folder)) as engine:
            assert await answers(engine) == before


async def test_where_nothing_can_be_kept_all_is_read(tmp_path: Path) -> None:
    (tmp_path / "listings").write_text("not a folder")
    async with CortexDouble() as double:
        ids = put(double, "direct", [learning("note")])
        for _ in range(2):
            async with opened(double, cache=kept(tmp_path / "listings")) as engine:
                await engine.changes(ALL)
                assert await total(engine) == 1
        async with opened(double, cache=kept(tmp_path / "listings")) as engine:
            await engine.forget(ForgetTarget(ids=ids))
            assert await total(engine) == 0


def test_any_id_of_the_server_is_kept(folder: Path) -> None:
    one, path = kept(folder), "app:tinymemory/app:learnings"
    saved = Saved(Rows(new_dictionary(), path), {"evt\ud800": "", "\n": "a", "\u2028": "b"}, [""], is_cut=True)
    one.save(path, saved, 0, one.drops(path))
    again = one.load(path, new_dictionary())
    assert again is not None
    assert (again.recent, again.foreign, again.is_cut) == (saved.recent, saved.foreign, saved.is_cut)


def test_the_files_used_longest_ago_go_first(folder: Path) -> None:
    for age, name in enumerate("abc"):
        (folder / name).mkdir(parents=True)
        (folder / name / "x.json").write_bytes(bytes(100))
        os.utime(folder / name / "x.json", (1_000_000 - age, 1_000_000 - age))
    kept(folder).trim(250)
    assert [file.parent.name for file in files(folder)] == ["a", "b"]


async def test_the_setting_turns_it_off_and_removes_what_is_there() -> None:
    async with CortexDouble() as double:
        put(double, "direct", [learning("note")])
        for setting, there in ((None, True), (False, False), (False, False), (True, True)):
            settings = EngineSettings(endpoint=double.endpoint, listing_cache=setting)
            engine = build_engine("cortexdb", settings, StaticCredential(double.token))
            await engine.changes(ALL)
            await engine.aclose()
            assert ("note" in everything_in(cache_folder())) == there


@on_each_wire
async def test_what_is_kept_goes_with_its_connection(wire: str) -> None:
    id = {"direct": "cortexdb", "hosted": "tinyhumans"}[wire]
    async with CortexDouble() as double:
        put(double, wire, [learning("note")])
        settings = [EngineSettings(endpoint=double.endpoint, account=name) for name in ("one", "other")]
        for each in settings:
            engine = build_engine(id, each, StaticCredential(double.token))
            await engine.changes(ALL)
            await engine.aclose()
    assert len(files(cache_folder())) == 2
    forget_kept(id, settings[0])
    assert len(files(cache_folder())) == 1
    forget_kept(id, EngineSettings(endpoint="no address"))
    forget_kept("of a package that is gone", settings[1])
    assert "note" in everything_in(cache_folder())
    forget_kept(id, settings[1])
    assert "note" not in everything_in(cache_folder())
