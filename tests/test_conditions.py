from datetime import UTC, timedelta, timezone, tzinfo

import pytest

from explorer.conditions import QUERY, WINDOW, Condition, conditions, facet_of, with_value, without
from explorer.contract import Facet, ItemKind, MetaFilter, Namespace, Reach, SourceKind, Timestamp, TurnRange

ACME = Namespace.parse("team:acme")
FULL = MetaFilter(
    reach=Reach.subtree(ACME),
    workspace="w",
    folder="/src",
    file_path="/src/a",
    language="en",
    repo="o/r",
    commit="c0ffee",
    url="https://a.example",
    thread_id="t",
    turns=TurnRange(first=4, last=5),
    agent_id="writer",
    tool_call="shell",
    source_id="s",
    kinds=[ItemKind.LEARNING, ItemKind.DOCUMENT],
    sources=[SourceKind.FILE],
    tags_any=["a", ""],
    observed_after=Timestamp.parse("2026-01-01T00:00:00Z"),
    observed_before=Timestamp.parse("2026-07-01T00:00:00Z"),
)


def words(filter: MetaFilter, query: str = "") -> list[tuple[str, str]]:
    return [(one.words, one.value) for one in conditions(filter, UTC, query)]


def test_an_empty_filter_has_no_condition() -> None:
    assert conditions(MetaFilter(), UTC) == []


@pytest.mark.parametrize(
    ("reach", "said"),
    [
        (Reach.subtree(ACME), ("namespace at", "team:acme and below")),
        (Reach.of(ACME), ("namespace at", "team:acme with its parents")),
        (Reach.exact(ACME), ("namespace only at", "team:acme")),
        (Reach.of(Namespace.ROOT), ("namespace only at", "root")),
        (Reach(at=ACME, inherit=True, descendants=True), ("namespace at", "team:acme and below, with its parents")),
    ],
)
def test_each_reach_is_said_as_what_it_reads(reach: Reach, said: tuple[str, str]) -> None:
    assert words(MetaFilter(reach=reach)) == [said]


def test_paths_are_prefixes_and_lists_are_alternatives() -> None:
    said = words(FULL)
    assert ("folder under", "/src") in said
    assert ("file under", "/src/a") in said
    assert ("kind is", "learning or document") in said
    assert ("tag is", "a or (empty)") in said
    assert ("turns are", "4 to 5") in said
    assert ("observed from", "1 Jan 2026 to 30 Jun 2026") in said


def test_one_end_of_a_window_stands_alone() -> None:
    after = MetaFilter(observed_after=FULL.observed_after)
    before = MetaFilter(observed_before=FULL.observed_before)
    assert words(after) == [("observed from", "1 Jan 2026")]
    assert words(before) == [("observed before", "1 Jul 2026")]


def test_a_window_within_days_says_its_times() -> None:
    after, before = Timestamp.parse("2026-01-01T08:00:00Z"), Timestamp.parse("2026-01-01T09:30:00Z")
    said = words(MetaFilter(observed_after=after, observed_before=before))
    assert said == [("observed from", "1 Jan 2026, 08:00 UTC to 1 Jan 2026, 09:30 UTC")]


def test_one_day_is_one_day() -> None:
    after, before = Timestamp.parse("2026-01-01T00:00:00Z"), Timestamp.parse("2026-01-02T00:00:00Z")
    assert words(MetaFilter(observed_after=after, observed_before=before)) == [("observed on", "1 Jan 2026")]


@pytest.mark.parametrize("zone", [UTC, timezone(timedelta(hours=14)), timezone(timedelta(hours=-12))])
def test_the_ends_of_time_have_words_in_every_zone(zone: tzinfo) -> None:
    first, last = Timestamp.parse("0001-01-01T00:00:00Z"), Timestamp.parse("9999-12-31T23:59:59.999999999Z")
    assert len(conditions(MetaFilter(observed_after=first, observed_before=last), zone)) == 1


def test_blank_values_and_single_turns() -> None:
    assert words(MetaFilter(workspace="  ", turns=TurnRange(first=3, last=3))) == [
        ("workspace is", "(empty)"),
        ("turn is", "3"),
    ]


def test_a_search_comes_last() -> None:
    assert conditions(MetaFilter(workspace="w"), UTC, "late fee")[-1] == Condition(QUERY, "search for", "“late fee”")


def test_every_condition_can_be_removed_until_nothing_is_left() -> None:
    filter = FULL
    count = len(conditions(filter, UTC))
    for one in conditions(FULL, UTC):
        filter = without(filter, one.field)
        count -= 1
        assert len(conditions(filter, UTC)) == count
    assert filter == MetaFilter()


def test_a_value_of_an_item_becomes_its_condition() -> None:
    filter = with_value(MetaFilter(tags_any=["a", "b"]), "tags_any", "c")
    assert filter.tags_any == ["c"]
    assert with_value(filter, "commit", "c0ffee").commit == "c0ffee"
    assert FULL.observed_after is not None
    window = (FULL.observed_after, FULL.observed_before)
    both = with_value(MetaFilter(), WINDOW, window)
    assert (both.observed_after, both.observed_before) == window


def test_conditions_know_their_facets() -> None:
    assert facet_of("tags_any") is Facet.TAG
    assert facet_of("reach") is Facet.NAMESPACE
    assert facet_of("commit") is None


def test_a_prefix_says_what_else_it_admits() -> None:
    (folder,) = conditions(MetaFilter(folder="/home/u/proj"), UTC)
    assert folder.note == (
        "The filter also matches what is below \u2068/home/u/proj/\u2069, "
        "but not a neighbour such as \u2068/home/u/proj-old\u2069."
    )
    (agent,) = conditions(MetaFilter(agent_id="a"), UTC)
    assert agent.note == ""


def test_of_two_values_the_one_without_items_is_said() -> None:
    filter = MetaFilter(tags_any=["a", "b"], agent_id="x")
    agent, tags = conditions(filter, UTC, dead={"tags_any": ["b"]})
    assert (tags.value, tags.is_dead, agent.is_dead) == ("a or b (0)", False, False)
    agent, tags = conditions(filter, UTC, dead={"tags_any": ["b", "a"], "agent_id": ["x"]})
    assert (tags.value, tags.is_dead, agent.is_dead) == ("a or b", True, True)


def test_each_of_several_values_is_drawn_in_its_own_direction() -> None:
    filter = MetaFilter(tags_any=["abc", "\u05e9\u05dc\u05d5\u05dd", "x\u202ey\u2069"])
    (tags,) = conditions(filter, UTC, dead={"tags_any": ["\u05e9\u05dc\u05d5\u05dd"]})
    assert tags.drawn == "\u2068abc\u2069 or \u2068\u05e9\u05dc\u05d5\u05dd\u2069 (0) or \u2068x⟦RLO⟧y⟦PDI⟧\u2069"
    (many,) = conditions(MetaFilter(tags_any=["x" * 1_000] * 500), UTC)
    assert len(many.drawn) < 600


def test_of_many_values_the_first_are_named_and_the_others_counted() -> None:
    (many,) = conditions(MetaFilter(tags_any=[f"t{n}" for n in range(20_000)]), UTC)
    assert many.value.startswith("t0 or t1 or ")
    assert many.value.endswith(" or t14 and 19\u202f985 more")
    assert len(many.drawn) < 600
    (few,) = conditions(MetaFilter(tags_any=[f"t{n}" for n in range(15)]), UTC)
    assert few.value.endswith(" or t14")
