"""The suite that every engine passes, on a new file and on one that was used before."""

from __future__ import annotations

from pathlib import Path

from explorer.contract import MetaFilter, conformance
from tests.engines.sqlite.support import list_all, note, opened, row_counts


async def test_new_file_then_opened_again(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with opened(path) as engine:
        kept = await engine.store(note("was there before"))
        await conformance.run(engine)
    async with opened(path) as engine:
        await conformance.run(engine)
        assert [hit.id for hit in await list_all(engine, MetaFilter(workspace=None))][-1] == kept.id


async def test_suite_leaves_nothing_behind(tmp_path: Path) -> None:
    path = tmp_path / "memory.db"
    async with opened(path) as engine:
        await conformance.run(engine)
        left = await list_all(engine)
    assert {hit.meta.workspace for hit in left} <= {None}  # the kept items of the consolidate and erase checks, if any
    assert row_counts(path)["item"] == len(left)


async def test_two_files_share_nothing(tmp_path: Path) -> None:
    async with opened(tmp_path / "a.db") as a, opened(tmp_path / "b.db") as b:
        await conformance.run_isolation(a, b)
