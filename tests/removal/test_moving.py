"""Moves and copies: what goes where, and that nothing is ever nowhere."""

from __future__ import annotations

import asyncio
import contextlib
import json
import random
import threading
from collections import Counter
from collections.abc import Awaitable, Callable
from datetime import UTC
from pathlib import Path
from typing import Any

import pytest

from explorer.contract import (
    EngineFailure,
    Exported,
    ExportPage,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    InvalidRequest,
    ItemId,
    ListRequest,
    MemoryEngine,
    MetaFilter,
    Namespace,
    Reach,
    StoreItem,
    Timestamp,
    Unauthorized,
    Unavailable,
    Unsupported,
    dump_item,
)
from explorer.contract.namespace import EVERYTHING
from explorer.contract.reference import ReferenceEngine
from explorer.engines.sqlite import SqliteEngine
from explorer.removal import moving
from explorer.removal.journal import Journal
from explorer.removal.moving import Move, MoveOutcome, MovePreview, Way, is_one_file, read_interrupted
from explorer.removal.page import page
from explorer.removal.plan import Action, Target, make_plan
from explorer.removal.receipts import Receipt, ReceiptWriter
from tests.conftest import Until
from tests.fakes import learning
from tests.removal.made import as_if_killed

CALLS = ("get", "get_items", "list", "list_preview", "export", "store_many", "forget", "namespaces")

ITEMS: list[StoreItem] = [
    learning("tea", "team:a", tags=["x"]),
    learning("milk", "team:a"),
    learning("tea", "team:a/agent:b", tags=["x"]),
    learning("sugar", "team:a/agent:b"),
    learning("lemon", "team:a/agent:b/user:c"),
    learning("boxed", "team:a/service:cron"),
    learning("elsewhere", "team:z"),
    learning("at the root"),
]
"""`team:a` and below holds five, outside its sandbox."""


def node(text: str) -> Namespace:
    return Namespace.parse(text)


async def filled(engine: MemoryEngine, items: list[StoreItem] | None = None) -> MemoryEngine:
    await engine.store_many(ITEMS if items is None else items)
    return engine


async def held(engine: MemoryEngine) -> Counter[tuple[str, str]]:
    """Text and node of every item, sandboxes included."""
    found: Counter[tuple[str, str]] = Counter()
    for bucket in (await engine.namespaces(MetaFilter())).buckets:
        reach = Reach.exact(node(bucket.value))
        page = await engine.export(ListRequest(filter=MetaFilter(reach=reach), limit=1000))
        assert page.next_cursor is None
        found.update((each.item.render_text(), bucket.value) for each in page.items)
    return found


async def move_of(
    tmp_path: Path,
    source: MemoryEngine,
    target: Target,
    to: str | None,
    destination: MemoryEngine | None = None,
    *,
    keeps_tree: bool = True,
    is_copy: bool = False,
    **more: Any,
) -> Move:
    return Move(
        source,
        await make_plan(source, target, Action.FORGET),
        source if destination is None else destination,
        Way(None if to is None else node(to), keeps_tree, is_copy),
        Journal(tmp_path / "receipts"),
        "here",
        "there",
        **more,
    )


async def counted(move: Move) -> MovePreview:
    async for preview in move.count():
        assert preview.is_whole == (move.preview is preview)
    assert move.preview is not None
    return move.preview


async def ran(move: Move) -> MoveOutcome:
    steps = [step async for step in move.run()]
    outcome = steps[-1].outcome
    assert outcome is not None
    told = (outcome.done, outcome.gone, outcome.kept, outcome.not_tried, outcome.unanswered)
    assert sum(map(len, told)) == outcome.planned
    return outcome


async def moved(move: Move) -> MoveOutcome:
    await counted(move)
    assert move.refusal() is None
    return await ran(move)


def below(at: str) -> Target:
    return Target.below(node(at))


class Files:
    """Memory files, closed at the end."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.opened: list[SqliteEngine] = []

    def __call__(self, name: str, **more: Any) -> SqliteEngine:
        self.opened.append(SqliteEngine(self.folder / name, embedder=None, **more))
        return self.opened[-1]

    async def __aenter__(self) -> Files:
        return self

    async def __aexit__(self, *_: object) -> None:
        for engine in self.opened:
            await engine.aclose()


# --- what goes where


async def test_keeps_the_tree_below(tmp_path: Path) -> None:
    async with Files(tmp_path) as files:
        for engine in (ReferenceEngine(), files("a.db")):
            await filled(engine)
            before = {each.id for each in await whole(engine, below("team:a"))}
            move = await move_of(tmp_path, engine, below("team:a"), "project:p")
            preview = await counted(move)
            assert preview.total == 5
            assert preview.to == {
                node("project:p"): 2,
                node("project:p/agent:b"): 2,
                node("project:p/agent:b/user:c"): 1,
            }
            assert preview.found.nodes[node("team:a")] == 2
            outcome = await ran(move)
            assert outcome.is_clean
            assert outcome.done.keys() == before
            assert await held(engine) == Counter(
                [
                    ("tea", "project:p"),
                    ("milk", "project:p"),
                    ("tea", "project:p/agent:b"),
                    ("sugar", "project:p/agent:b"),
                    ("lemon", "project:p/agent:b/user:c"),
                    ("boxed", "team:a/service:cron"),
                    ("elsewhere", "team:z"),
                    ("at the root", "root"),
                ]
            )


async def whole(engine: MemoryEngine, target: Target) -> list[Exported]:
    assert target.filter is not None
    return (await engine.export(ListRequest(filter=target.filter, limit=1000))).items


async def test_flattens_and_what_becomes_equal_becomes_one(tmp_path: Path) -> None:
    engine = await filled(ReferenceEngine())
    move = await move_of(tmp_path, engine, below("team:a"), "project:p", keeps_tree=False)
    preview = await counted(move)
    assert preview.to == {node("project:p"): 5}
    assert [len(ids) for ids in preview.equal.values()] == [2]
    outcome = await ran(move)
    assert outcome.is_clean
    assert len(outcome.done) == 5
    assert outcome.replayed == 1
    assert {at for _, at in await held(engine)} == {"project:p", "team:a/service:cron", "team:z", "root"}
    assert (await held(engine))["tea", "project:p"] == 1


async def test_of_two_that_become_equal_but_for_their_time_one_stays(tmp_path: Path) -> None:
    early, late = (Timestamp.parse(f"2026-01-0{day}T00:00:00Z") for day in (1, 2))
    items: list[StoreItem] = [learning("tea", "team:a", observed_at=early), learning("tea", "team:b", observed_at=late)]
    engine = await filled(ReferenceEngine(), items)
    target = Target.of_ids([item.fingerprint() for item in items], EVERYTHING)
    outcome = await moved(await move_of(tmp_path, engine, target, "project:p", keeps_tree=False))
    assert list(outcome.done) == [items[0].fingerprint()]
    assert list(outcome.kept) == [items[1].fingerprint()]
    assert "another time" in outcome.kept[items[1].fingerprint()]
    assert await held(engine) == Counter([("tea", "project:p"), ("tea", "team:b")])


async def test_an_item_that_its_new_place_holds_seen_at_another_time_stays(tmp_path: Path) -> None:
    here = learning("tea", "team:a", observed_at=Timestamp.parse("2026-01-01T00:00:00Z"))
    source = await filled(ReferenceEngine(), [here])
    there = await filled(ReferenceEngine(), [learning("tea", "team:a"), learning("more")])
    move = await move_of(tmp_path, source, below("team:a"), None, there)
    preview = await counted(move)
    assert preview.different == [here.fingerprint()]
    assert preview.held == 0
    outcome = await ran(move)
    assert list(outcome.kept) == [here.fingerprint()]
    assert await held(source) == Counter([("tea", "team:a")])


async def test_copies_to_another_memory_under_the_same_ids(tmp_path: Path) -> None:
    async with Files(tmp_path) as files:
        source, destination = await filled(files("a.db")), files("b.db")
        first = await moved(await move_of(tmp_path, source, below("team:a"), None, destination, is_copy=True))
        assert first.is_clean
        assert all(old == new for old, new in first.done.items())
        assert (first.replayed, len(first.done)) == (0, 5)
        assert await held(source) == await held(await filled(ReferenceEngine()))
        assert {dump_item(each.item) for each in await whole(destination, below("team:a"))} == {
            dump_item(each.item) for each in await whole(source, below("team:a"))
        }
        move = await move_of(tmp_path, source, below("team:a"), None, destination, is_copy=True)
        assert (await counted(move)).held == 5
        assert (await ran(move)).replayed == 5


async def test_sandboxes_stay_unless_named(tmp_path: Path) -> None:
    source = await filled(ReferenceEngine())
    move = await move_of(tmp_path, source, below("team:a"), "project:p", sandboxes=[node("team:a/service:cron")])
    assert [(box.node, box.items) for box in move.plan.sandboxes] == [(node("team:a/service:cron"), 1)]
    assert (await moved(move)).is_clean
    assert (await held(source))["boxed", "project:p/service:cron"] == 1
    source = await filled(ReferenceEngine())
    assert (await moved(await move_of(tmp_path, source, below("root"), "user:u"))).is_clean
    assert {at for _, at in await held(source)} == {
        "user:u",
        "user:u/team:a",
        "user:u/team:a/agent:b",
        "user:u/team:a/agent:b/user:c",
        "user:u/team:z",
        "team:a/service:cron",
    }


async def test_to_a_node_below_and_again_moves_nothing_twice(tmp_path: Path) -> None:
    engine = await filled(ReferenceEngine())
    move = await move_of(tmp_path, engine, below("team:a"), "team:a/agent:b")
    preview = await counted(move)
    assert (preview.total, preview.there) == (2, 3)
    assert (await ran(move)).is_clean
    after = await held(engine)
    assert after["milk", "team:a/agent:b"] == 1
    assert after["tea", "team:a/agent:b"] == 1  # the two became one
    again = await move_of(tmp_path, engine, below("team:a"), "team:a/agent:b")
    with pytest.raises(InvalidRequest, match="everything is there already"):
        await counted(again)
    assert await held(engine) == after


async def test_ids_move_from_wherever_they_are(tmp_path: Path) -> None:
    engine = await filled(ReferenceEngine())
    ids = [ITEMS[1].fingerprint(), ITEMS[4].fingerprint(), ItemId("0" * 40)]
    move = await move_of(tmp_path, engine, Target.of_ids(ids, EVERYTHING), "user:u", keeps_tree=False)
    preview = await counted(move)
    assert list(preview.nodes) == ids[:2]
    assert preview.found.gone == ids[2:]
    assert (await ran(move)).is_clean
    after = await held(engine)
    assert after["milk", "user:u"] == after["lemon", "user:u"] == 1
    assert after.total() == len(ITEMS)


async def test_what_is_in_a_sandbox_moves_by_its_id(tmp_path: Path) -> None:
    for reach, to in ((Reach.exact(node("team:a/service:cron")), "service:other"), (None, "user:u")):
        engine = await filled(ReferenceEngine())
        target = Target.of_ids([ITEMS[5].fingerprint()], reach)
        move = await move_of(tmp_path, engine, target, to, keeps_tree=False)
        assert (await moved(move)).is_clean
        after = await held(engine)
        assert after["boxed", to] == 1
        assert after.total() == len(ITEMS)


async def test_random_trees_go_exactly_where_they_should(tmp_path: Path) -> None:
    chance = random.Random(5)
    names = ["team:a", "agent:b", "user:c", "service:s"]
    for _ in range(40):
        nodes = ["/".join(chance.choices(names, k=chance.randrange(4))) or "root" for _ in range(6)]
        items: list[StoreItem] = [learning(f"t{n}", at) for n, at in enumerate(nodes)]
        engine = await filled(ReferenceEngine(), items)
        target = Target.below(node(chance.choice(nodes)))
        to = "/".join(chance.choices(names[:3], k=chance.randrange(3))) or "root"
        keeps = chance.random() < 0.5
        move = await move_of(tmp_path, engine, target, to, keeps_tree=keeps)
        before = await held(engine)
        try:
            preview = await counted(move)
        except InvalidRequest:
            preview = None
        if preview is None or move.refusal() is not None:
            assert await held(engine) == before
            continue
        base = move.base
        expected: Counter[tuple[str, str]] = Counter()
        for text, at in before:
            place = node(at)
            if target.filter is not None and target.filter.matches(items[0].item_kind, learning("", at).meta):
                rest = place.segments[base.depth :] if keeps else ()
                is_inside = keeps and node(to).is_within(base) and place.is_within(node(to))
                place = place if is_inside else Namespace((*node(to).segments, *rest))
            expected[text, str(place)] += 1
        outcome = await ran(move)
        assert outcome.is_clean, outcome
        assert await held(engine) == expected


# --- refused before anything begins


async def test_a_node_onto_itself_is_refused(tmp_path: Path) -> None:
    engine = await filled(ReferenceEngine())
    for target, to, keeps in (
        (below("team:a"), "team:a", True),
        (below("team:a"), None, True),
        (Target.at(node("team:a")), "team:a", False),
    ):
        move = await move_of(tmp_path, engine, target, to, keeps_tree=keeps)
        with pytest.raises(InvalidRequest, match="everything is there already; choose another node"):
            await counted(move)
        with pytest.raises(InvalidRequest, match="cannot run"):
            await ran(move)
    assert not (tmp_path / "receipts").exists()


async def test_two_connections_to_one_file_are_one_memory(tmp_path: Path) -> None:
    """Stored again and removed again under one id, everything would be gone."""
    async with Files(tmp_path) as files:
        source, same = await filled(files("a.db")), files("a.db")
        with pytest.raises(InvalidRequest, match="may be one memory"):
            await counted(await move_of(tmp_path, source, below("root"), None, same))
        target = Target.of_ids([ITEMS[0].fingerprint(), ITEMS[3].fingerprint()], EVERYTHING)
        outcome = await moved(await move_of(tmp_path, source, target, "team:a", same, keeps_tree=False))
        assert list(outcome.done) == [ITEMS[3].fingerprint()]
        assert (await held(source))["tea", "team:a"] == 1
        # Another file with the same items is told apart by what only one of them has.
        other = await filled(files("b.db"), [*ITEMS, learning("only there")])
        assert (await moved(await move_of(tmp_path, source, below("root"), None, other))).is_clean
        assert await held(source) == Counter([("boxed", "team:a/service:cron")])


def test_one_file_has_many_names(tmp_path: Path) -> None:
    path, link, other = tmp_path / "a.db", tmp_path / "link.db", tmp_path / "b.db"
    path.touch()
    link.symlink_to(path)
    assert is_one_file(str(path), str(link)) is True
    assert is_one_file(str(path), str(other)) is False
    assert is_one_file(str(other), str(tmp_path / "x" / ".." / "b.db")) is True
    assert is_one_file(str(path), None) is None


async def test_too_deep_is_named_before_anything_begins(tmp_path: Path) -> None:
    engine = await filled(ReferenceEngine())
    deep = "/".join(f"user:u{n}" for n in range(7))
    move = await move_of(tmp_path, engine, below("team:a"), deep)
    preview = await counted(move)
    assert preview.too_deep == {node("team:a/agent:b/user:c"): 1}
    assert "team:a/agent:b/user:c would nest more than 8 deep" in (move.refusal() or "")
    with pytest.raises(InvalidRequest, match="8 deep"):
        await ran(move)
    assert await held(engine) == await held(await filled(ReferenceEngine()))


async def test_a_place_that_is_itself_to_be_emptied_is_named(tmp_path: Path) -> None:
    items: list[StoreItem] = [learning("tea", "team:a/agent:b"), learning("tea", "team:a/agent:b/agent:b")]
    engine = await filled(ReferenceEngine(), items)
    move = await move_of(tmp_path, engine, below("team:a/agent:b"), "team:a")
    assert (await counted(move)).overlapping == {node("team:a/agent:b/agent:b"): 1}
    assert "itself to be emptied" in (move.refusal() or "")
    ids = Target.of_ids([item.fingerprint() for item in items], Reach.subtree(node("team:a/agent:b")))
    move = await move_of(tmp_path, engine, ids, "team:a")
    assert (await counted(move)).overlapping == {node("team:a/agent:b/agent:b"): 1}
    assert move.refusal() is not None


class Partly(ReferenceEngine):
    """Holds only part of what says milk."""

    async def export(self, req: ListRequest) -> ExportPage:
        page = await super().export(req)
        there = [each for each in page.items if each.item.render_text() != "milk"]
        return ExportPage(
            items=there,
            incomplete=[each.id for each in page.items if each not in there],
            next_cursor=page.next_cursor,
        )

    async def get_items(self, req: GetRequest) -> list[Exported]:
        return [each for each in await super().get_items(req) if each.item.render_text() != "milk"]


async def test_what_is_held_in_part_is_named_and_stays(tmp_path: Path) -> None:
    milk = ITEMS[1].fingerprint()
    for target in (below("team:a"), Target.of_ids([milk, ITEMS[0].fingerprint()], EVERYTHING)):
        engine = await filled(Partly())
        move = await move_of(tmp_path, engine, target, "project:p")
        assert (await counted(move)).incomplete == [milk]
        outcome = await ran(move)
        assert outcome.incomplete == [milk]
        assert not outcome.is_clean
        assert not outcome.kept
        assert len(await engine.get(GetRequest(ids=[milk]))) == 1


class Closed(ReferenceEngine):
    """Does not export."""

    export = MemoryEngine.export
    get_items = MemoryEngine.get_items


async def test_a_destination_that_gives_no_whole_items_is_only_copied_to(tmp_path: Path) -> None:
    source, destination = await filled(ReferenceEngine()), Closed()
    with pytest.raises(Unsupported, match="copy them"):
        await counted(await move_of(tmp_path, source, below("team:a"), None, destination))
    copied = await moved(await move_of(tmp_path, source, below("team:a"), None, destination, is_copy=True))
    assert copied.is_clean
    assert len(destination) == 5


# --- nothing is ever nowhere


class Killed(BaseException):
    """The program ended here."""


def wrap(engine: MemoryEngine, fault: Callable[[str, bool, Any], BaseException | None]) -> None:
    """Ask `fault` before and after each call what to raise."""

    def wrapped(name: str, call: Callable[[Any], Awaitable[Any]]) -> Callable[[Any], Awaitable[Any]]:
        async def made(req: Any) -> Any:
            if (error := fault(name, False, req)) is not None:
                raise error
            answer = await call(req)
            if (error := fault(name, True, req)) is not None:
                raise error
            return answer

        return made

    for name in CALLS:
        setattr(engine, name, wrapped(name, getattr(engine, name)))


class At:
    """Raises at the call of that number, before it is made or after; counts them all."""

    def __init__(self, error: BaseException, at: int, times: int = 1) -> None:
        self.error = error
        self.range = range(at, at + times)
        self.calls = 0
        self.is_on = False

    def __call__(self, name: str, is_after: bool, req: Any) -> BaseException | None:
        if not self.is_on:
            return None
        self.calls += 1
        return self.error if self.calls - 1 in self.range else None


async def nothing_is_nowhere(*engines: MemoryEngine, gone_from: str = "team:a", to: str = "project:p") -> None:
    everything: Counter[tuple[str, str]] = Counter()
    for engine in engines:
        everything |= await held(engine)
    for item in ITEMS:
        at = str(item.meta.namespace)
        places = {at, at.replace(gone_from, to, 1)}
        assert any(everything[item.render_text(), place] for place in places), (item.render_text(), at)


async def is_true(move: Move) -> None:
    """Whether what came of it says of each item what is so: also where the run was left."""
    assert move.preview is not None
    outcome, nodes = move._outcome, move.preview.nodes
    told = [*outcome.done, *outcome.gone, *outcome.kept, *outcome.not_tried, *outcome.unanswered]
    assert sorted(told) == sorted(nodes)
    there = {hit.id for hit in await move.source.get(GetRequest(ids=list(nodes)))}
    assert there <= {*outcome.kept, *outcome.not_tried, *outcome.unanswered}
    assert there >= {*outcome.kept, *outcome.not_tried}
    assert outcome.receipt is not None
    receipt = Receipt.read(outcome.receipt)
    assert receipt.is_finished
    assert (receipt.removed, receipt.failed_in_all) == (len(outcome.done), len(outcome.kept))
    assert (receipt.not_tried, receipt.unanswered) == (len(outcome.not_tried), outcome.unanswered)


KILLED, BROKEN, REFUSED, BUSY = Killed(), EngineFailure("broken"), Unauthorized("no key"), Unavailable("busy")


@pytest.mark.parametrize(
    ("kind", "error", "times", "step"),
    [
        ("one", KILLED, 1, 1),
        ("one", BROKEN, 1, 1),
        ("one", BROKEN, 10_000, 2),
        ("one", REFUSED, 1, 1),
        ("one", BUSY, 1, 2),
        ("one", BUSY, 10_000, 2),
        ("two", KILLED, 1, 1),
        ("two", REFUSED, 10_000, 2),
        ("file", KILLED, 1, 3),
    ],
    ids=str,
)
async def test_a_fault_at_any_call_loses_nothing_and_running_again_goes_on(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, kind: str, error: BaseException, times: int, step: int
) -> None:
    monkeypatch.setattr(moving, "MAX_STORE_MANY", 2)
    at, was_hit = 0, True
    async with Files(tmp_path) as files:
        while was_hit:
            source = await filled(files(f"{at}.db") if kind == "file" else ReferenceEngine())
            destination = source if kind == "one" else files(f"{at}-to.db") if kind == "file" else ReferenceEngine()
            fault = At(error, at, times)
            for engine in {source, destination}:
                wrap(engine, fault)
            move = await move_of(tmp_path, source, below("team:a"), "project:p", destination, sleep=no_sleep)
            await counted(move)
            fault.is_on = True
            try:
                await ran(move)
            except Killed:
                assert isinstance(error, Killed)
            fault.is_on = False
            was_hit = fault.calls > at
            await nothing_is_nowhere(source, destination)
            await is_true(move)
            again = await move_of(tmp_path, source, below("team:a"), "project:p", destination)
            if [each async for each in again.count()][-1].total:
                assert (await ran(again)).is_clean
            everything = await held(source) + (await held(destination) if destination is not source else Counter())
            assert everything.total() == len(ITEMS)
            assert {place for _, place in everything if place.startswith("team:a")} == {"team:a/service:cron"}
            at += step
    assert at > 10


async def no_sleep(seconds: float) -> None:
    await asyncio.sleep(0)


async def test_a_destination_opened_read_only_takes_nothing_away(tmp_path: Path) -> None:
    async with Files(tmp_path) as files:
        await filled(files("b.db"), [learning("there")])
        source = await filled(files("a.db"))
        destination = files("b.db", read_only=True)
        outcome = await moved(await move_of(tmp_path, source, below("team:a"), None, destination))
        assert len(outcome.kept) == 5
        assert all("read-only" in reason for reason in outcome.kept.values())
        assert await held(source) == await held(await filled(ReferenceEngine()))


async def test_fifty_that_fail_in_a_row_are_enough(tmp_path: Path) -> None:
    source = await filled(ReferenceEngine(), [learning(f"n{n}") for n in range(90)])
    await source.store_many([learning(f"m{n}") for n in range(90)])
    destination = await filled(ReferenceEngine(), [learning("there")])
    wrap(destination, lambda name, is_after, req: InvalidRequest("no") if name == "store_many" else None)
    outcome = await moved(await move_of(tmp_path, source, below("root"), None, destination))
    assert len(outcome.kept) == 50
    assert len(outcome.not_tried) == 130
    assert outcome.stopped == "50 items in a row failed"
    assert len(await whole(source, below("root"))) == 180


async def test_those_that_fail_between_others_are_not_in_a_row(tmp_path: Path) -> None:
    source = await filled(ReferenceEngine(), [learning(f"n{n}") for n in range(100)])
    destination = await filled(ReferenceEngine(), [learning("there")])
    bad = {f"n{n}" for n in range(100) if n % 5}

    def refuse(name: str, is_after: bool, req: Any) -> BaseException | None:
        hits = name == "store_many" and any(item.render_text() in bad for item in req)
        return InvalidRequest("no") if hits else None

    wrap(destination, refuse)
    outcome = await moved(await move_of(tmp_path, source, below("root"), None, destination))
    assert (len(outcome.done), len(outcome.kept), outcome.stopped) == (20, 80, None)


class Altering(ReferenceEngine):
    """Keeps a learning without its evidence, which no hit would show."""

    async def get_items(self, req: GetRequest) -> list[Exported]:
        return [
            Exported(id=each.id, item=each.item.model_copy(update={"evidence": None}))
            for each in await super().get_items(req)
        ]


async def test_only_what_is_read_back_whole_is_removed(tmp_path: Path) -> None:
    with_evidence = learning("tea", "team:a").model_copy(update={"evidence": "said so"})
    source = await filled(ReferenceEngine(), [with_evidence, learning("milk", "team:a")])
    outcome = await moved(await move_of(tmp_path, source, below("team:a"), None, Altering(), is_same_store=False))
    assert list(outcome.kept) == [with_evidence.fingerprint()]
    assert await held(source) == Counter([("tea", "team:a")])


class Losing(ReferenceEngine):
    """Says that it stored, and did not."""

    async def store_many(self, items: list[StoreItem]) -> Any:
        return await ReferenceEngine().store_many(items)


class Faulty(ReferenceEngine):
    """Forgets, and answers nothing but an error: to that, or to what is asked after it."""

    def __init__(self, error: BaseException, is_told_at_once: bool, lasts: bool) -> None:
        super().__init__()
        self.error = error
        self.is_told_at_once = is_told_at_once
        self.lasts = lasts
        self.has_forgotten = False

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        report = await super().forget(target)
        self.has_forgotten = True
        if self.is_told_at_once:
            raise self.error
        return report

    async def get(self, req: GetRequest) -> list[Hit]:
        if self.has_forgotten and self.lasts:
            raise self.error
        return await super().get(req)


@pytest.mark.parametrize("error", [Unauthorized("no key"), EngineFailure("broken"), Unavailable("busy")], ids=str)
@pytest.mark.parametrize(("is_told_at_once", "lasts"), [(True, False), (False, True), (True, True)])
async def test_what_was_asked_to_go_is_never_told_as_not_tried(
    tmp_path: Path, error: BaseException, is_told_at_once: bool, lasts: bool
) -> None:
    source, destination = await filled(Faulty(error, is_told_at_once, lasts)), ReferenceEngine()
    move = await move_of(tmp_path, source, below("team:a"), None, destination, is_same_store=False, sleep=no_sleep)
    outcome = await moved(move)
    assert len(destination) == 5
    assert not outcome.not_tried
    assert not outcome.kept
    assert len(outcome.unanswered if lasts else outcome.done) == 5
    assert outcome.is_clean != lasts
    assert outcome.receipt is not None
    receipt = Receipt.read(outcome.receipt)
    assert (receipt.unanswered_in_all, receipt.removed, receipt.left) == ((5, 0, 5) if lasts else (0, 5, 0))


async def test_where_the_memory_refuses_to_let_go_all_is_told_as_there(tmp_path: Path) -> None:
    source = await filled(ReferenceEngine())
    wrap(source, lambda name, is_after, req: REFUSED if name == "forget" else None)
    outcome = await moved(
        await move_of(tmp_path, source, below("team:a"), None, ReferenceEngine(), is_same_store=False)
    )
    assert (len(outcome.not_tried), outcome.stopped) == (5, "no key")


class Lagging(ReferenceEngine):
    """The other connection to a memory, taken for another one: what goes there goes here, a little later."""

    def __init__(self, other: ReferenceEngine) -> None:
        super().__init__()
        wrap(other, self.after)

    def after(self, name: str, is_after: bool, req: Any) -> None:
        if name == "forget" and is_after:
            for id in req.ids:
                self._held.pop(id, None)


async def test_what_the_new_place_loses_with_the_old_is_stored_again(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "MAX_STORE_MANY", 2)
    source = ReferenceEngine()
    await filled(source)
    destination = Lagging(source)
    move = await move_of(tmp_path, source, below("team:a"), None, destination, is_same_store=False)
    outcome = await moved(move)
    await nothing_is_nowhere(source, destination)
    assert (len(outcome.done), len(outcome.kept), len(outcome.not_tried)) == (0, 2, 3)
    assert all("it was stored there again" in reason for reason in outcome.kept.values())
    assert "may be one memory" in (outcome.stopped or "")


class Clinging(ReferenceEngine):
    """Says that it forgot, and did not."""

    async def forget(self, target: ForgetTarget) -> ForgetReport:
        return ForgetReport(forgotten=len(target.ids or []))


async def test_what_an_engine_says_is_not_believed(tmp_path: Path) -> None:
    source = await filled(ReferenceEngine())
    outcome = await moved(await move_of(tmp_path, source, below("team:a"), None, Losing(), is_same_store=False))
    assert len(outcome.kept) == 5
    assert await held(source) == await held(await filled(ReferenceEngine()))
    outcome = await moved(await move_of(tmp_path, await filled(Clinging()), below("team:a"), "project:p"))
    assert not outcome.done
    assert set(outcome.kept.values()) == {"it is at its new place, but still answers at its old one"}


# --- pausing, stopping, waiting, the receipt


async def test_pause_stop_and_what_was_gone_meanwhile(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "MAX_STORE_MANY", 1)
    engine = await filled(ReferenceEngine())
    move = await move_of(tmp_path, engine, below("team:a"), "project:p")
    ids = list((await counted(move)).nodes)
    await engine.forget(ForgetTarget(ids=[ids[1]]))
    steps = move.run()
    await anext(steps)
    assert (await anext(steps)).done == 1
    move.pause()
    going = asyncio.ensure_future(anext(steps))
    for _ in range(20):
        await asyncio.sleep(0)
    assert not going.done()
    move.resume()
    assert (await going).done == 2
    move.stop()
    outcome = (await anext(steps)).outcome
    assert outcome is not None
    await steps.aclose()
    assert (list(outcome.done), outcome.gone, outcome.not_tried) == ([ids[0]], [ids[1]], ids[2:])
    assert outcome.stopped == "it was stopped here"
    assert outcome.receipt is not None
    lines = [json.loads(line) for line in outcome.receipt.read_text(encoding="utf-8").splitlines()]
    assert [line["line"] for line in lines] == [
        "begin",
        "planned",
        "copied",
        "asked",
        "removed",
        "paused",
        "resumed",
        "stopped",
        "end",
    ]
    assert lines[2]["pairs"] == [[ids[0], outcome.done[ids[0]]]]
    receipt = Receipt.read(outcome.receipt)
    assert (receipt.action, receipt.planned, receipt.removed, receipt.not_tried) == ("move", 5, 1, 3)
    said = page(receipt, UTC)
    assert "1 of 5 items moved" in said
    assert "To the memory" in said
    assert "there" in said
    assert "project:p" in said
    text = outcome.receipt.read_text(encoding="utf-8")
    assert not any(item.render_text() in text for item in ITEMS if item.render_text() != "tea")


async def test_a_busy_engine_is_waited_for_and_given_up(tmp_path: Path) -> None:
    for times, is_clean in ((3, True), (10_000, False)):
        engine = await filled(ReferenceEngine())
        fault = At(Unavailable("busy"), 4, times)
        wrap(engine, fault)
        said: list[str | None] = []
        move = await move_of(tmp_path, engine, below("team:a"), "project:p")

        async def sleep(seconds: float, move: Move = move, said: list[str | None] = said) -> None:
            said.append(move.waiting)

        move._sleep = sleep
        await counted(move)
        fault.is_on = True
        outcome = await ran(move)
        assert outcome.is_clean == is_clean
        assert set(said) == {"busy"}
        assert move.waiting is None
        assert outcome.waited_s == 7.0 if is_clean else 200 < outcome.waited_s <= 300
        assert outcome.stopped == (None if is_clean else "busy")


async def test_an_error_that_no_engine_should_raise_is_told(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(moving, "MAX_STORE_MANY", 2)
    engine = await filled(ReferenceEngine())
    at = At(ConnectionResetError("secret"), 12)
    wrap(engine, at)
    move = await move_of(tmp_path, engine, below("team:a"), "project:p")
    await counted(move)
    at.is_on = True
    outcome = await ran(move)
    at.is_on = False
    assert outcome.stopped == "an error that was not expected: ConnectionResetError"
    assert outcome.receipt is not None
    receipt = Receipt.read(outcome.receipt)
    assert (receipt.is_finished, receipt.stopped) == (True, outcome.stopped)
    await nothing_is_nowhere(engine)


async def cancelled(move: Move) -> None:
    async with contextlib.aclosing(move.run()) as steps:
        async for _ in steps:
            pass


@pytest.mark.parametrize("of", ["start", "close"])
async def test_cancelled_while_the_receipt_is_touched_nobody_holds_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, until: Until, of: str
) -> None:
    engine = await filled(ReferenceEngine())
    move = await move_of(tmp_path, engine, below("team:a"), "project:p")
    await counted(move)
    owner: Any = {"start": Journal, "close": ReceiptWriter}[of]
    call = getattr(owner, of)
    entered, may_go_on = threading.Event(), threading.Event()

    def slowly(*args: Any, **more: Any) -> Any:
        entered.set()
        may_go_on.wait(5)
        return call(*args, **more)

    monkeypatch.setattr(owner, of, slowly)
    running = asyncio.create_task(cancelled(move))
    await until(entered.is_set)
    running.cancel()
    for _ in range(3):
        await asyncio.sleep(0)
    assert not running.done(), "the thread still has the file"
    may_go_on.set()
    with pytest.raises(asyncio.CancelledError):
        await running
    if of == "start":
        assert list((tmp_path / "receipts").iterdir()) == []
        assert await held(engine) == await held(await filled(ReferenceEngine()))
        return
    (entry,) = Journal(tmp_path / "receipts").entries()
    assert (entry.is_finished, entry.is_running, entry.removed) == (True, False, 5)


async def test_leaving_early_leaves_a_receipt_that_is_true_so_far(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "MAX_STORE_MANY", 2)
    engine = await filled(ReferenceEngine())
    move = await move_of(tmp_path, engine, below("team:a"), "project:p")
    await counted(move)
    steps = move.run()
    await anext(steps)
    await anext(steps)
    await steps.aclose()
    (path,) = (tmp_path / "receipts").glob("*.jsonl")
    receipt = Receipt.read(path)
    assert (receipt.stopped, receipt.is_clean) == ("it was left before its end", False)
    assert (receipt.removed, receipt.copied, receipt.not_tried) == (2, 2, 3)
    as_if_killed(path)
    receipt = Receipt.read(path)
    assert receipt.is_interrupted
    assert (receipt.removed, receipt.copied) == (2, 2)
    found = read_interrupted(path)
    assert found is not None
    assert found.target == move.plan.target
    assert (found.way, found.connection, found.to_connection) == (move.way, "here", "there")
    again = Move(
        engine, await make_plan(engine, found.target, Action.FORGET), engine, found.way, move._journal, "here", "there"
    )
    outcome = await moved(again)
    assert len(outcome.done) == 3
    assert outcome.receipt is not None
    move._journal.settle(path, outcome.receipt)
    assert Receipt.read(path).continued_by == outcome.receipt.name


async def test_an_interrupted_selection_goes_on_with_what_is_left_of_it(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "MAX_STORE_MANY", 1)
    engine = await filled(ReferenceEngine())
    ids = [ITEMS[0].fingerprint(), ITEMS[1].fingerprint(), ITEMS[6].fingerprint()]
    move = await move_of(tmp_path, engine, Target.of_ids(ids, EVERYTHING), "project:p", keeps_tree=False)
    await counted(move)
    steps = move.run()
    await anext(steps)
    await anext(steps)
    await steps.aclose()
    (path,) = (tmp_path / "receipts").glob("*.jsonl")
    assert Receipt.read(path).is_finished
    as_if_killed(path)
    found = read_interrupted(path)
    assert found is not None
    assert found.target == Target.of_ids(ids[1:], EVERYTHING)
    assert found.way == Way(node("project:p"), keeps_tree=False)
    path.write_text(path.read_text(encoding="utf-8").replace('"to":"project:p"', '"to":"pro ject"'), encoding="utf-8")
    assert read_interrupted(path) is None


async def test_a_receipt_that_cannot_be_written_stops_before_anything_goes(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(moving, "MAX_STORE_MANY", 2)
    engine = await filled(ReferenceEngine())
    move = await move_of(tmp_path, engine, below("team:a"), "project:p")
    await counted(move)
    steps = move.run()
    await anext(steps)
    await anext(steps)
    assert move._writer is not None

    def refuse(line: str, /, **facts: Any) -> None:
        raise moving.FileError("the disk is full")

    monkeypatch.setattr(move._writer, "note", refuse)
    outcome = (await anext(steps)).outcome
    assert outcome is not None
    assert outcome.stopped == "the disk is full"
    assert (len(outcome.done), len(outcome.not_tried)) == (2, 3)
    assert (await held(engine))["tea", "team:a"] == 0
    assert sum(place.startswith("team:a") for _, place in await held(engine)) == 4
