"""Cursors while items come and go, their refusals, and the order of times."""

from __future__ import annotations

import random
from pathlib import Path

import numpy as np
import pytest

from explorer.contract import (
    FetchMode,
    FetchRequest,
    ForgetTarget,
    InvalidRequest,
    ListRequest,
    MetaFilter,
    Timestamp,
)
from explorer.engines.sqlite import order
from explorer.engines.sqlite.columns import Columns
from explorer.engines.sqlite.fields import UNDATED
from explorer.engines.sqlite.filters import Selection
from explorer.engines.sqlite.order import NewestFirst
from tests.engines.sqlite.support import Maker, Oracle, fill, list_all, note, opened


def at(text: str) -> Timestamp:
    return Timestamp.parse(text)


async def test_newest_first_to_the_nanosecond_and_undated_last(tmp_path: Path) -> None:
    times = [
        None,
        "9999-12-31T23:59:59.999999999Z",
        "2024-01-01T00:00:00Z",
        "0001-01-01T00:00:00Z",
        "2024-01-01T00:00:00.000000001Z",
        "2024-01-01T00:00:00Z",
        None,
        "1969-12-31T23:59:59.999999999Z",
    ]
    items = [note(str(number), observed_at=time and at(time)) for number, time in enumerate(times)]
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, items)
        # 9999; the nanosecond later; of equals the later stored; before 1970; year 1; undated, the later stored first.
        assert [hit.text for hit in await list_all(engine, limit=3)] == ["1", "4", "5", "2", "7", "3", "6", "0"]


@pytest.mark.parametrize("few", [0, 1_024])
@pytest.mark.parametrize("anew", [0, 3, 4_096])
async def test_order_holds_while_items_come_and_go(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, few: int, anew: int
) -> None:
    """Sorted by itself or looked for among all; new rows placed one by one, or all sorted anew."""
    monkeypatch.setattr(order, "_FEW", few)
    monkeypatch.setattr(order, "_SORTED_ANEW", anew)
    monkeypatch.setattr(order, "_FIRST_BLOCK", 2)
    make = Maker(anew)
    oracle = Oracle()
    async with opened(tmp_path / "memory.db") as engine:
        for count in (60, 1, 3, 4, 30, 2):
            items = [make.item() for _ in range(count)]
            for item in items:
                oracle.store(item)
            await fill(engine, items)
            for filter in (MetaFilter(), make.filter(), make.filter()):
                assert [hit.id for hit in await list_all(engine, filter, 7)] == oracle.matching(filter)
            gone = make.rand.sample(list(oracle.held), 5)
            await engine.forget(ForgetTarget(ids=gone))
            for id in gone:
                del oracle.held[id]
            assert [hit.id for hit in await list_all(engine, limit=9)] == oracle.matching(MetaFilter())


@pytest.mark.parametrize("widest", [40, 62])
def test_rows_are_ordered_whatever_the_span_of_their_times(widest: int) -> None:
    """Also where second and place together exceed 64 bits, which takes more than 16 million items of all years."""
    rand = random.Random(widest)
    for _ in range(200):
        size = rand.randint(1, 12)
        choices = [UNDATED, -(2**widest), -1, 0, 5, 5, 5, 6, 2**widest]
        seconds = [rand.choice(choices) for _ in range(size)]
        nanoseconds = [0 if second == UNDATED else rand.choice([0, 0, 1, 999_999_999]) for second in seconds]
        columns = Columns()
        for column, values in (
            (columns.alive, np.ones(size, np.bool_)),
            (columns.seconds, np.array(seconds, np.int64)),
            (columns.nanoseconds, np.array(nanoseconds, np.uint32)),
        ):
            column.append(values)
        expected = sorted(range(size), key=lambda row: (seconds[row], nanoseconds[row], row), reverse=True)
        everything = Selection(np.ones(size, np.bool_))
        assert NewestFirst(columns).page(everything, None, size) == expected


async def test_window_includes_its_start_and_not_its_end(tmp_path: Path) -> None:
    times = ["2024-01-01T00:00:00Z", "2024-01-01T00:00:00.000000001Z", "2024-01-01T00:00:00.000000002Z", None]
    items = [note(str(number), observed_at=time and at(time)) for number, time in enumerate(times)]
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, items)
        window = MetaFilter(observed_after=at(times[0] or ""), observed_before=at(times[2] or ""))
        assert [hit.text for hit in await list_all(engine, window)] == ["1", "0"]
        assert len(await list_all(engine, MetaFilter(observed_after=at("0001-01-01T00:00:00Z")))) == 3


async def test_pages_go_on_where_they_were_while_items_come_and_go(tmp_path: Path) -> None:
    def dated(day: int) -> dict[str, Timestamp]:
        return {"observed_at": at(f"2024-01-{day:02}T00:00:00Z")}

    async with opened(tmp_path / "memory.db") as engine:
        ids = await fill(engine, [note(str(day), **dated(day)) for day in range(10, 20)])
        page = await engine.list(ListRequest(limit=4))
        assert [hit.text for hit in page.items] == ["19", "18", "17", "16"]
        # The last item shown goes, one before it and one after it; newer and older ones come.
        await engine.forget(ForgetTarget(ids=[ids[6], ids[8], ids[4]]))
        await fill(engine, [note("new", **dated(25)), note("older", **dated(5)), note("undated")])
        rest = await engine.list(ListRequest(limit=100, cursor=page.next_cursor))
        assert [hit.text for hit in rest.items] == ["15", "13", "12", "11", "10", "older", "undated"]
        assert rest.next_cursor is None
    async with opened(tmp_path / "memory.db") as engine:
        assert await engine.list(ListRequest(limit=100, cursor=page.next_cursor)) == rest


async def test_last_page_that_is_full_ends_the_listing(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, [note(str(number)) for number in range(4)])
        first = await engine.list(ListRequest(limit=2))
        assert first.next_cursor is not None
        assert (await engine.list(ListRequest(limit=2, cursor=first.next_cursor))).next_cursor is None
        assert len((await engine.list(ListRequest(limit=2**64 - 1))).items) == 4


@pytest.mark.parametrize("cursor", ["", "0", "2", "abc", "é", "A" * 39, "=" * 40, "\0", "x" * 10_000])
async def test_garbage_cursor_is_refused(tmp_path: Path, cursor: str) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, [note("a"), note("b")])
        with pytest.raises(InvalidRequest, match="unknown cursor"):
            await engine.list(ListRequest(limit=1, cursor=cursor))
        with pytest.raises(InvalidRequest, match="unknown cursor"):
            await engine.fetch(FetchRequest(query="a", mode=FetchMode.KEYWORD, limit=1, cursor=cursor))


async def test_cursor_of_another_question_is_refused(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        await fill(engine, [note("a b", tags=["t"]), note("a", tags=["t"])])
        listed = (await engine.list(ListRequest(limit=1))).next_cursor
        ranked = (await engine.fetch(FetchRequest(query="a", mode=FetchMode.KEYWORD, limit=1))).next_cursor
        assert listed is not None
        assert ranked is not None
        tagged = MetaFilter(tags_any=["t"])
        with pytest.raises(InvalidRequest, match="another filter"):
            await engine.list(ListRequest(filter=tagged, limit=1, cursor=listed))
        with pytest.raises(InvalidRequest, match="another filter"):
            await engine.fetch(FetchRequest(query="b", mode=FetchMode.KEYWORD, limit=1, cursor=ranked))
        with pytest.raises(InvalidRequest, match="another filter"):
            await engine.fetch(FetchRequest(query="a", mode=FetchMode.KEYWORD, filter=tagged, limit=1, cursor=ranked))
        with pytest.raises(InvalidRequest, match="unknown cursor"):
            await engine.list(ListRequest(limit=1, cursor=ranked))


async def test_ranked_pages_visit_each_hit_once(tmp_path: Path) -> None:
    async with opened(tmp_path / "memory.db") as engine:
        # Two words apart, so that many tie; the later stored comes first among them.
        ids = await fill(engine, [note(f"apple{' pear' * (number % 3)} {number}") for number in range(30)])
        seen = []
        cursor = None
        while True:
            req = FetchRequest(query="apple pear", mode=FetchMode.KEYWORD, limit=4, cursor=cursor)
            page = await engine.fetch(req)
            seen += page.hits
            cursor = page.next_cursor
            if len(seen) == 8:
                await engine.forget(ForgetTarget(ids=[seen[-1].id]))
            if cursor is None:
                break
        assert sorted(hit.id for hit in seen) == sorted(ids)
        assert all(hit.score > 0 for hit in seen)
        first = (await engine.fetch(FetchRequest(query="apple", mode=FetchMode.KEYWORD, limit=30))).hits
        assert [hit.score for hit in first] == sorted((hit.score for hit in first), reverse=True)
