"""Each field of the filter by its rule."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import (
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    SourceRef,
    holds_phone_number,
    is_path_prefix,
    is_same_id,
    redacted_id,
)
from tests.contract import strategies

PHONE = "channel:sms_15551234567"


def does_match(conditions: dict[str, Any], held: dict[str, Any], kind: ItemKind = ItemKind.DOCUMENT) -> bool:
    return MetaFilter.model_validate(conditions).matches(kind, MemoryMeta.model_validate(held))


@pytest.mark.parametrize("field", ["workspace", "language", "repo", "commit", "url"])
def test_fields_that_must_be_equal(field: str) -> None:
    assert does_match({field: "Value"}, {field: "Value"})
    assert does_match({field: ""}, {field: ""})
    for other in ("value", "Value ", "Value/below", ""):
        assert not does_match({field: "Value"}, {field: other})
    assert not does_match({field: "Value"}, {})
    assert not does_match({field: ""}, {})
    assert not does_match({field: PHONE}, {field: redacted_id(PHONE)})


@pytest.mark.parametrize(
    ("field", "held"),
    [
        ("thread_id", lambda value: {"thread_id": value}),
        ("agent_id", lambda value: {"agent_id": value}),
        ("source_id", lambda value: {"source": {"kind": "file", "id": value}}),
    ],
)
def test_ids_match_in_their_redacted_form_too(field: str, held: Any) -> None:
    assert does_match({field: PHONE}, held(PHONE))
    assert does_match({field: PHONE}, held(redacted_id(PHONE)))
    assert does_match({field: redacted_id(PHONE)}, held(redacted_id(PHONE)))
    assert not does_match({field: redacted_id(PHONE)}, held(PHONE))
    assert not does_match({field: PHONE}, held(PHONE + "1"))
    assert not does_match({field: PHONE}, held(redacted_id(PHONE + "1")))
    assert not does_match({field: PHONE}, held(None))
    assert not does_match({field: PHONE}, {})


@pytest.mark.parametrize(("field", "other"), [("folder", "file_path"), ("file_path", "folder")])
def test_paths_match_what_lies_below(field: str, other: str) -> None:
    for wanted in ("/a", "/a/", "/a///"):
        assert does_match({field: wanted}, {field: "/a"})
        assert does_match({field: wanted}, {field: "/a/b"})
        assert not does_match({field: wanted}, {field: "/ab"})
        assert not does_match({field: wanted}, {field: "/"})
        assert not does_match({field: wanted}, {other: "/a/b"})
        assert not does_match({field: wanted}, {})


@pytest.mark.parametrize(
    ("wanted", "held", "is_prefix"),
    [
        ("/a/b", "/a", False),
        ("/A", "/a", False),
        ("a", "a/b", True),
        ("a", "/a", False),
        ("/a/../b", "/b", False),
        ("/a", "/a\\b", False),
        ("/", "/", True),
        ("/", "/a", True),
        ("//", "/a", True),
        ("/", "a", False),
        ("", "", True),
        ("", "/a", True),
        ("", "a", False),
        ("/a/", "/a/", True),
        ("/a", "/a/", True),
        ("/a", None, False),
        ("", None, False),
    ],
)
def test_path_prefixes(wanted: str, held: str | None, is_prefix: bool) -> None:
    assert is_path_prefix(wanted, held) is is_prefix


def test_turns_must_be_the_same_range() -> None:
    wanted = {"turns": {"first": 2, "last": 4}}
    assert does_match(wanted, {"turns": {"first": 2, "last": 4}})
    for first, last in ((2, 5), (1, 4), (3, 3), (4, 2)):
        assert not does_match(wanted, {"turns": {"first": first, "last": last}})
    assert not does_match(wanted, {})


def test_a_tool_call_matches_by_its_name() -> None:
    assert does_match({"tool_call": "grep"}, {"tool_call": {"name": "grep", "id": "1"}})
    assert not does_match({"tool_call": "grep"}, {"tool_call": {"name": "Grep", "id": "grep"}})
    assert not does_match({"tool_call": "grep"}, {})


def test_kinds_and_sources_and_tags_match_any_of_theirs() -> None:
    assert does_match({"kinds": ["learning", "document"]}, {})
    assert not does_match({"kinds": ["learning"]}, {})
    assert does_match({"kinds": ["learning"]}, {}, ItemKind.LEARNING)
    assert does_match({"sources": ["rss", "agent"]}, {})
    assert not does_match({"sources": ["rss"]}, {})
    assert does_match({"tags_any": ["a", "b"]}, {"tags": ["c", "b"]})
    assert not does_match({"tags_any": ["a"]}, {"tags": ["A", "ab"]})
    assert not does_match({"tags_any": ["a"]}, {})
    for empty in ("kinds", "sources", "tags_any"):
        assert does_match({empty: []}, {})


@pytest.mark.parametrize(
    ("observed_at", "is_inside"),
    [
        ("2026-10-03T23:59:59.999999999Z", False),
        ("2026-10-04T00:00:00Z", True),
        ("2026-10-04T02:00:00+02:00", True),
        ("2026-10-04T12:00:00Z", True),
        ("2026-10-04T23:59:59.999999999Z", True),
        ("2026-10-05T00:00:00Z", False),
    ],
)
def test_the_window_holds_its_start_and_not_its_end(observed_at: str, is_inside: bool) -> None:
    held = {"observed_at": observed_at}
    after, before = {"observed_after": "2026-10-04T00:00:00Z"}, {"observed_before": "2026-10-05T00:00:00Z"}
    assert does_match({**after, **before}, held) is is_inside
    assert does_match(after, held) is not observed_at.startswith("2026-10-03")
    assert does_match(before, held) is not observed_at.startswith("2026-10-05")


def test_what_was_never_seen_lies_in_no_window() -> None:
    assert does_match({}, {})
    assert not does_match({"observed_after": "0001-01-01T00:00:00Z"}, {})
    assert not does_match({"observed_before": "9999-12-31T00:00:00Z"}, {})


def test_no_filter_enters_a_sandbox_unless_its_reach_does() -> None:
    job = "agent:a/service:job"
    assert not does_match({}, {"namespace": job})
    assert not does_match({"workspace": "w"}, {"namespace": job, "workspace": "w"})
    assert does_match({"reach": Reach.exact(Namespace.parse(job))}, {"namespace": job})
    assert does_match({}, {"namespace": "agent:a"})
    assert not does_match({"reach": Reach()}, {"namespace": "agent:a"})


def test_all_conditions_must_hold() -> None:
    wanted = {"workspace": "w", "tags_any": ["a"], "kinds": ["document"]}
    held = {"workspace": "w", "tags": ["a"]}
    assert does_match(wanted, held)
    assert not does_match(wanted, held, ItemKind.LEARNING)
    for name in held:
        assert not does_match(wanted, {key: value for key, value in held.items() if key != name})


def test_nothing_in_the_filter_asks_for_what_has_no_field() -> None:
    held = MemoryMeta.model_validate({"derive": False, "observed_actor": {"id": "user:p"}})
    assert MetaFilter().matches(ItemKind.LEARNING, held)
    assert len(MetaFilter.model_fields) == 18


@pytest.mark.parametrize("field", sorted(set(MetaFilter.model_fields) - {"kinds", "sources", "tags_any"}))
def test_a_filter_with_one_field_is_not_empty(field: str) -> None:
    values = {
        "reach": Reach(),
        "turns": {"first": 0, "last": 0},
        "observed_after": "2026-10-04T00:00:00Z",
        "observed_before": "2026-10-04T00:00:00Z",
    }
    assert not MetaFilter.model_validate({field: values.get(field, "")}).is_empty()
    assert MetaFilter.model_validate({field: None}).is_empty()


def test_empty_lists_are_empty() -> None:
    assert MetaFilter(kinds=[], sources=[], tags_any=[]).is_empty()
    for condition in (
        {"kinds": [ItemKind.DOCUMENT]},
        {"sources": [SourceKind.AGENT]},
        {"tags_any": [""]},
    ):
        assert not MetaFilter.model_validate(condition).is_empty()


def test_kinds_alone_decide_which_kinds_are_admitted() -> None:
    assert all(MetaFilter(workspace="w").admits_kind(kind) for kind in ItemKind)
    only = MetaFilter(kinds=[ItemKind.LEARNING])
    assert [kind for kind in ItemKind if only.admits_kind(kind)] == [ItemKind.LEARNING]


@given(strategies.metas, st.sampled_from(list(ItemKind)))
@strategies.some_examples
def test_every_item_is_found_by_all_that_it_holds(held: dict[str, Any], kind: ItemKind) -> None:
    meta = MemoryMeta.model_validate(held)
    alike = MetaFilter(
        reach=Reach.exact(meta.namespace),
        workspace=meta.workspace,
        folder=meta.folder,
        file_path=meta.file_path,
        language=meta.language,
        repo=meta.repo,
        commit=meta.commit,
        url=meta.url,
        thread_id=meta.thread_id,
        turns=meta.turns,
        agent_id=meta.agent_id,
        tool_call=meta.tool_call.name if meta.tool_call else None,
        source_id=meta.source.id,
        kinds=[kind],
        sources=[meta.source.kind],
        tags_any=meta.tags,
        observed_after=meta.observed_at,
    )
    assert alike.matches(kind, meta)
    if meta.observed_at is not None:
        assert not alike.model_copy(update={"observed_before": meta.observed_at}).matches(kind, meta)


def test_ids_are_redacted_once() -> None:
    assert is_same_id(redacted_id("a"), redacted_id("a"))
    assert not is_same_id("a", None)
    assert not holds_phone_number(redacted_id(PHONE))
    assert not holds_phone_number("tm-redacted: 1234567")


@pytest.mark.parametrize(
    ("raw", "does_hold"),
    [
        ("1234567", True),
        ("123456", False),
        ("+1 (23) 45.6-7", True),
        ("123_4567", False),  # an underscore ends a run, a dash does not
        ("a1234567", False),
        ("_1234567", True),
        ("é1234567", True),  # glued is to an ASCII letter only
        ("1234567a", False),
        ("1234567 a", True),  # the letter does not touch the digits
        ("1234567é", True),
        ("a1 234567 x", False),  # the run is glued where it begins
        ("a 1234567", True),
        ("123456a1234567", False),
        ("123456-a 1234567", True),
        ("x12345678 / 7654321", True),  # the second run stands alone
        ("١٢٣٤٥٦٧", False),
        ("12345678-1234-1234-1234-123456789012", False),
        ("12345678-1234-1234-1234-12345678901", True),  # one digit short of a UUID
        ("ABCDEF01-1234-1234-1234-1234567890AB 5551234", True),
    ],
)
def test_phone_numbers(raw: str, does_hold: bool) -> None:
    assert holds_phone_number(raw) is does_hold


def test_source_ids_are_those_of_the_source() -> None:
    held = MemoryMeta(source=SourceRef(kind=SourceKind.FILE, id="a"))
    assert MetaFilter(source_id="a").matches(ItemKind.DOCUMENT, held)
    assert not MetaFilter(agent_id="a").matches(ItemKind.DOCUMENT, held)
