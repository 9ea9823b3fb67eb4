"""Plans and their previews: what goes, what stays, and what has to be said before it does."""

from __future__ import annotations

import contextlib
from datetime import UTC, timedelta, timezone, tzinfo

import pytest

from explorer.contract import (
    Document,
    DocumentBody,
    ExplorePage,
    Facet,
    InvalidRequest,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
    StoreItem,
    Unavailable,
)
from explorer.contract.query import DEFAULT_SCAN
from explorer.removal.confirmation import MANY, Answers, Confirmation
from explorer.removal.plan import Action, Plan, Sandbox, Target, make_plan
from explorer.removal.preview import SAMPLES, TEXTS, Preview, count
from tests.contract.engines import PlainEngine
from tests.fakes import FakeEngine, filled, learning

ROOT = Namespace.ROOT
ACME = Namespace.parse("team:acme")
BOT = Namespace.parse("team:acme/service:bot")


def document(text: str, at: str = "root", **meta: object) -> StoreItem:
    return Document(body=DocumentBody(text=text), meta=MemoryMeta(namespace=Namespace.parse(at), **meta))  # type: ignore[arg-type]


async def previewed(items: list[StoreItem], target: Target, zone: tzinfo = UTC) -> Preview:
    engine = await filled(items)
    async with contextlib.aclosing(count(engine, await make_plan(engine, target, Action.FORGET), zone)) as counting:
        async for preview in counting:
            last = preview
    assert last.is_whole
    return last


# --- targets


def test_what_is_above_the_node_of_a_filter_is_not_meant() -> None:
    target = Target.of_filter(MetaFilter(reach=Reach.of(BOT), language="en"))
    assert target.filter == MetaFilter(reach=Reach.exact(BOT), language="en")
    assert target.above == [ROOT, ACME]


@pytest.mark.parametrize(
    ("target", "node", "is_whole"),
    [
        (Target.at(ACME), ACME, False),
        (Target.below(ACME), ACME, False),
        (Target.at(ROOT), ROOT, False),
        (Target.below(ROOT), ROOT, True),
        (Target.of_filter(MetaFilter()), ROOT, True),
        (Target.of_filter(MetaFilter(kinds=list(ItemKind))), ROOT, True),
        (Target.of_filter(MetaFilter(kinds=[ItemKind.LEARNING])), ROOT, False),
        (Target.of_filter(MetaFilter(tags_any=["a"])), None, False),
        (Target.of_value(Facet.NAMESPACE, "team:acme"), ACME, False),
        (Target.of_ids(["a" * 40]), None, False),  # type: ignore[list-item]
    ],
)
def test_which_node_a_target_is_about(target: Target, node: Namespace | None, is_whole: bool) -> None:
    assert (target.node, target.is_whole_tree) == (node, is_whole)
    assert target.is_nodes_and_kinds == (node is not None)


def test_nothing_chosen_is_no_target() -> None:
    with pytest.raises(InvalidRequest, match="nothing is chosen"):
        Target.of_ids([])


@pytest.mark.parametrize(
    "target",
    [Target.of_value(Facet.AGENT, "ann"), Target.of_value(Facet.SOURCE, "rss"), Target.of_ids(["a" * 40])],  # type: ignore[list-item]
)
async def test_an_erase_takes_nodes_and_kinds_only(target: Target) -> None:
    with pytest.raises(InvalidRequest, match="nodes and kinds only"):
        await make_plan(FakeEngine(), target, Action.ERASE)
    assert (await make_plan(FakeEngine(), target, Action.FORGET)).action is Action.FORGET


# --- plans


async def test_sandboxes_below_stay_and_are_named_but_go_with_the_whole_tree() -> None:
    engine = await filled(
        [
            learning("one", "team:acme"),
            learning("two", "team:acme/service:bot"),
            learning("three", "team:acme/service:bot/user:ann"),
            learning("four", "service:mail"),
        ]
    )
    below = await make_plan(engine, Target.below(ACME), Action.ERASE)
    assert (below.sandboxes, below.takes_sandboxes, len(below.filters)) == ((Sandbox(BOT, 2),), False, 1)
    whole = await make_plan(engine, Target.below(ROOT), Action.ERASE)
    assert whole.sandboxes == (Sandbox(Namespace.parse("service:mail"), 1), Sandbox(BOT, 2))
    assert whole.takes_sandboxes
    assert [filter.reach for filter in whole.filters[1:]] == [
        Reach.subtree(Namespace.parse("service:mail")),
        Reach.subtree(BOT),
    ]
    at = await make_plan(engine, Target.at(ACME), Action.ERASE)
    assert (at.sandboxes, at.knows_sandboxes) == ((), True)


async def test_an_engine_that_does_not_name_its_sandboxes_may_have_some() -> None:
    engine = PlainEngine()
    assert not (await make_plan(engine, Target.below(ACME), Action.FORGET)).knows_sandboxes
    assert (await make_plan(engine, Target.at(ACME), Action.FORGET)).knows_sandboxes


async def test_an_engine_that_names_only_some_of_its_sandboxes_may_have_others() -> None:
    class Many(FakeEngine):
        async def namespaces(self, filter: MetaFilter, scan_limit: int = DEFAULT_SCAN) -> ExplorePage:
            page = await super().namespaces(filter, scan_limit)
            return page.model_copy(update={"truncated": True})

    engine = await filled([learning("two", "team:acme/service:bot")], Many())
    plan = await make_plan(engine, Target.below(ROOT), Action.ERASE)
    assert (plan.sandboxes, plan.knows_sandboxes) == ((Sandbox(BOT, 1),), False)
    assert (await make_plan(engine, Target.at(ACME), Action.FORGET)).knows_sandboxes


# --- previews


@pytest.mark.parametrize(
    ("folder", "caught"),
    [
        ("/a", {"/a": 1, "/a/b": 2}),
        ("/a/", {"/a": 1, "/a/b": 2}),
        ("/a/b", {"/a/b": 2}),
        ("/ab", {"/ab": 1}),
        ("/", {"/a": 1, "/a/b": 2, "/ab": 1}),
    ],
)
async def test_a18_a_folder_also_catches_what_is_below_it_and_never_its_neighbour(
    folder: str, caught: dict[str, int]
) -> None:
    items = [document(f"{n} {at}", folder=at) for n, at in enumerate(["/a", "/a/b", "/a/b", "/ab", None, "a"])]
    preview = await previewed(items, Target.of_value(Facet.FOLDER, folder))
    assert (preview.paths, preview.total) == (caught, sum(caught.values()))


async def test_a18_a_file_catches_no_file_that_only_begins_so() -> None:
    paths = ["/home/u/proj", "/home/u/proj/a.py", "/home/u/proj-old", "/home/u/proj-old/a.py"]
    preview = await previewed(
        [document(path, file_path=path) for path in paths], Target.of_value(Facet.FILE_PATH, paths[0])
    )
    assert list(preview.paths) == paths[:2]


async def test_a18_a_tag_catches_no_tag_that_only_begins_so() -> None:
    items = [learning(tag, tags=[tag]) for tag in ["Test", "Test2", "Test space", "test"]]
    for tag in ["Test", "Test space"]:
        preview = await previewed(items, Target.of_value(Facet.TAG, tag))
        assert [hit.text for hit in preview.samples] == [tag]
        assert preview.paths == {}


async def test_it_counts_by_kind_node_source_and_month() -> None:
    preview = await previewed(
        [
            learning("one", "team:acme", observed_at="2026-01-31T23:30:00Z"),
            learning("two", "team:acme/user:ann", observed_at="2026-03-01T00:00:00Z", source="rss"),
            document("three", "team:acme", source=SourceRef(kind=SourceKind.FOLDER, id="notes")),
            document("four", "team:acme/service:bot"),
            document("five", "user:ann"),
        ],
        Target.below(ACME),
        timezone(timedelta(hours=1)),
    )
    assert (preview.total, preview.stored, preview.stored_is_least) == (3, 5, False)
    assert preview.kinds == {ItemKind.LEARNING: 2, ItemKind.DOCUMENT: 1}
    assert preview.nodes == {ACME: 2, Namespace.parse("team:acme/user:ann"): 1}
    assert preview.sources == {(SourceKind.AGENT, None): 1, (SourceKind.RSS, None): 1, (SourceKind.FOLDER, "notes"): 1}
    assert preview.months == {"2026-02": 1, "2026-03": 1, None: 1}  # where the person is
    assert [hit.text for hit in (preview.oldest, preview.newest) if hit] == ["one", "two"]


async def test_of_many_items_the_oldest_the_newest_and_some_of_all_over_are_shown() -> None:
    days = [f"2026-01-{day:02}T00:00:00Z" for day in range(1, 29)]
    items = [learning(f"{n} of {day}", observed_at=day) for n in range(9) for day in reversed(days)]
    preview = await previewed(items, Target.at(ROOT))
    assert (preview.total, len(preview.samples), len(preview.texts)) == (252, SAMPLES, TEXTS)
    assert [hit.text[-20:] for hit in preview.samples[:2]] == [days[0], days[-1]]
    assert len({hit.id for hit in preview.samples}) == SAMPLES
    assert len({hit.text.split()[0] for hit in preview.texts}) > 3  # not only the first or last of them


async def test_it_grows_page_by_page_and_is_whole_at_the_end_only() -> None:
    engine = await filled(learning(f"number {n}") for n in range(450))
    plan = await make_plan(engine, Target.at(ROOT), Action.FORGET)
    async with contextlib.aclosing(count(engine, plan)) as counting:
        seen = [(preview.total, preview.is_whole) async for preview in counting]
    assert seen == [(200, False), (400, False), (450, False), (450, True)]


async def test_a_count_that_fails_at_its_end_is_not_whole() -> None:
    engine = await filled([learning("one")])
    engine.fail("namespaces", Unavailable("away"))
    counting = count(engine, Plan(Target.at(ROOT), Action.FORGET, (MetaFilter(),)))
    preview = await anext(counting)
    with pytest.raises(Unavailable):
        await anext(counting)
    assert not preview.is_whole


async def test_items_named_are_found_where_they_are() -> None:
    items = [learning("one", "team:acme"), learning("two", "team:acme/service:bot"), learning("three", "service:mail")]
    ids = [item.fingerprint() for item in items]
    unknown = "0" * 40
    anywhere = await previewed(items, Target.of_ids([*ids, unknown]))  # type: ignore[list-item]
    assert (list(anywhere.ids), anywhere.gone) == ([ids[0], ids[2], ids[1]], [unknown])
    assert anywhere.sandboxed == {Namespace.parse("service:mail"): [ids[2]], BOT: [ids[1]]}
    there = await previewed(items, Target.of_ids(ids, Reach.subtree(BOT)))
    assert (list(there.ids), there.gone) == ([ids[1]], [ids[0], ids[2]])


# --- confirmation


def preview_of(total: int, stored: int, *, is_least: bool = False) -> Preview:
    return Preview(ids=dict.fromkeys(map(str, range(total))), stored=stored, stored_is_least=is_least)  # type: ignore[arg-type]


def needed(target: Target, preview: Preview) -> Confirmation:
    return Confirmation.needed(Plan(target, Action.ERASE, ()), preview)


@pytest.mark.parametrize(
    ("total", "stored", "is_least", "large"),
    [
        (1, 1, False, False),  # one item is confirmed with its text
        (2, 2, False, True),
        (50, 100, False, False),
        (51, 100, False, True),
        (MANY, 1_000_000, False, False),
        (MANY + 1, 1_000_000, False, True),
        (2, 5_000, True, True),
    ],
)
def test_a_large_part_needs_a_switch_of_its_own(total: int, stored: int, is_least: bool, large: bool) -> None:
    target = Target.of_value(Facet.TAG, "a")
    assert needed(target, preview_of(total, stored, is_least=is_least)) == Confirmation(None, False, large)


def test_a_node_is_typed_and_the_whole_tree_has_a_switch_before_its_name() -> None:
    few = preview_of(3, 100)
    assert needed(Target.at(ACME), few) == Confirmation("team:acme", False, False)
    whole = needed(Target.below(ROOT), preview_of(100, 100))
    assert whole == Confirmation("root", True, False)
    assert whole.missing(Answers(typed="root")) == "First switch on that the whole tree is meant."
    assert whole.missing(Answers(whole_tree=True)) == "Type the name of the node exactly as it is shown."
    assert whole.missing(Answers(typed="root", whole_tree=True)) is None


@pytest.mark.parametrize("typed", ["", "Team:acme", "team:acme ", "tеam:acme", "team:acme\u202e", "team：acme"])
def test_a_name_is_compared_by_code_point(typed: str) -> None:
    confirmation = needed(Target.at(ACME), preview_of(3, 100))
    with pytest.raises(InvalidRequest, match="not confirmed"):
        confirmation.check(Answers(typed=typed, whole_tree=True, large=True))
    confirmation.check(Answers(typed="team:acme"))
