"""Facets: the values that items are counted by, and the way back to a filter."""

from __future__ import annotations

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from explorer.contract import (
    Facet,
    FacetBucket,
    InvalidRequest,
    ItemKind,
    MemoryMeta,
    MetaFilter,
    Namespace,
    Reach,
    SourceKind,
    rank_buckets,
)
from tests.contract import strategies

META = MemoryMeta.model_validate(
    {
        "namespace": "team:acme/agent:writer",
        "workspace": "w",
        "folder": "/a",
        "file_path": "/a/b",
        "language": "en",
        "repo": "o/r",
        "commit": "c0ffee",
        "url": "https://a.test",
        "thread_id": "t",
        "agent_id": "g",
        "tool_call": {"name": "grep", "id": "1"},
        "source": {"kind": "rss", "id": "feed"},
        "tags": ["y", "x"],
    }
)
VALUES = {
    Facet.KIND: ["learning"],
    Facet.SOURCE: ["rss"],
    Facet.SOURCE_ID: ["feed"],
    Facet.WORKSPACE: ["w"],
    Facet.FOLDER: ["/a"],
    Facet.FILE_PATH: ["/a/b"],
    Facet.LANGUAGE: ["en"],
    Facet.REPO: ["o/r"],
    Facet.URL: ["https://a.test"],
    Facet.THREAD: ["t"],
    Facet.AGENT: ["g"],
    Facet.TOOL_CALL: ["grep"],
    Facet.TAG: ["y", "x"],
    Facet.NAMESPACE: ["team:acme/agent:writer"],
}
NARROWED: dict[Facet, dict[str, Any]] = {
    Facet.KIND: {"kinds": [ItemKind.LEARNING]},
    Facet.SOURCE: {"sources": [SourceKind.RSS]},
    Facet.SOURCE_ID: {"source_id": "feed"},
    Facet.WORKSPACE: {"workspace": "w"},
    Facet.FOLDER: {"folder": "/a"},
    Facet.FILE_PATH: {"file_path": "/a/b"},
    Facet.LANGUAGE: {"language": "en"},
    Facet.REPO: {"repo": "o/r"},
    Facet.URL: {"url": "https://a.test"},
    Facet.THREAD: {"thread_id": "t"},
    Facet.AGENT: {"agent_id": "g"},
    Facet.TOOL_CALL: {"tool_call": "grep"},
    Facet.TAG: {"tags_any": ["y"]},
    Facet.NAMESPACE: {"reach": Reach.exact(Namespace.parse("team:acme/agent:writer"))},
}
BUSY = MetaFilter.model_validate(
    {
        "reach": {"at": "user:p", "inherit": True, "descendants": True},
        **{name: "other" for name in ("workspace", "folder", "file_path", "language", "repo", "commit", "url")},
        **{name: "other" for name in ("thread_id", "agent_id", "tool_call", "source_id")},
        "turns": {"first": 1, "last": 2},
        "kinds": ["document", "conversation"],
        "sources": ["file"],
        "tags_any": ["other", "more"],
        "observed_after": "2026-10-04T00:00:00Z",
        "observed_before": "2026-10-05T00:00:00Z",
    }
)


@pytest.mark.parametrize("facet", list(Facet))
def test_values(facet: Facet) -> None:
    assert facet.values(ItemKind.LEARNING, META) == VALUES[facet]


def test_kind_source_and_namespace_are_never_missing() -> None:
    having = {facet: facet.values(ItemKind.DOCUMENT, MemoryMeta()) for facet in Facet}
    assert {facet: values for facet, values in having.items() if values} == {
        Facet.KIND: ["document"],
        Facet.SOURCE: ["agent"],
        Facet.NAMESPACE: ["root"],
    }


def test_a_blank_value_is_a_value() -> None:
    held = MemoryMeta.model_validate(
        {"workspace": "", "tags": ["", "a"], "source": {"kind": "file", "id": ""}, "tool_call": {"name": ""}}
    )
    assert Facet.WORKSPACE.values(ItemKind.DOCUMENT, held) == [""]
    assert Facet.TAG.values(ItemKind.DOCUMENT, held) == ["", "a"]
    assert Facet.SOURCE_ID.values(ItemKind.DOCUMENT, held) == [""]
    assert Facet.TOOL_CALL.values(ItemKind.DOCUMENT, held) == [""]


def test_a_tag_listed_twice_counts_once_and_stays_as_it_is() -> None:
    held = MemoryMeta(tags=["b", "a", "b"])
    assert Facet.TAG.values(ItemKind.DOCUMENT, held) == ["b", "a"]
    assert held.tags == ["b", "a", "b"]


@pytest.mark.parametrize("facet", list(Facet))
def test_narrowing_sets_the_one_field(facet: Facet) -> None:
    before = BUSY.model_copy(deep=True)
    narrowed = facet.narrow(BUSY, VALUES[facet][0])
    (field, wanted) = next(iter(NARROWED[facet].items()))
    assert field == facet.field
    assert getattr(narrowed, field) == wanted
    assert narrowed.model_copy(update={field: getattr(BUSY, field)}) == BUSY
    assert before == BUSY
    assert facet.narrow(MetaFilter(), VALUES[facet][0]) == MetaFilter.model_validate(NARROWED[facet])
    assert MetaFilter.model_validate_json(narrowed.model_dump_json()) == narrowed


@pytest.mark.parametrize("facet", list(Facet))
def test_narrowing_by_a_value_of_an_item_finds_the_item(facet: Facet) -> None:
    for value in VALUES[facet]:
        assert facet.narrow(MetaFilter(), value).matches(ItemKind.LEARNING, META)
    other = MemoryMeta(namespace=Namespace.parse("user:p"))
    assert not facet.narrow(MetaFilter(), VALUES[facet][0]).matches(ItemKind.DOCUMENT, other)


@pytest.mark.parametrize("facet", list(Facet))
def test_the_condition_can_be_taken_away_again(facet: Facet) -> None:
    assert facet.without(facet.narrow(MetaFilter(), VALUES[facet][0])) == MetaFilter()
    assert facet.narrow(facet.without(BUSY), VALUES[facet][0]) == facet.narrow(BUSY, VALUES[facet][0])


@pytest.mark.parametrize("facet", list(Facet))
@pytest.mark.parametrize("value", ["", " \t\n", "\u3000"])
def test_a_blank_value_is_refused_first(facet: Facet, value: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        facet.narrow(MetaFilter(), value)
    assert caught.value.text == f"a `{facet}` value must not be blank"


@pytest.mark.parametrize(
    ("facet", "value", "said"),
    [
        (Facet.KIND, "Document", "`Document` is not an item kind"),
        (Facet.KIND, " document", "` document` is not an item kind"),
        (Facet.SOURCE, "composio", "`composio` is not a source kind"),
        (Facet.NAMESPACE, "robot:x", "`robot` is not a namespace segment kind"),
        (Facet.NAMESPACE, "agent", "namespace segment `agent` must be written kind:id"),
    ],
)
def test_an_unknown_value_is_refused(facet: Facet, value: str, said: str) -> None:
    with pytest.raises(InvalidRequest) as caught:
        facet.narrow(MetaFilter(), value)
    assert caught.value.text == said


def test_a_value_is_kept_untrimmed() -> None:
    assert Facet.WORKSPACE.narrow(MetaFilter(), " w ").workspace == " w "
    assert Facet.TAG.narrow(MetaFilter(), "\x1f").tags_any == ["\x1f"]


def test_which_facets_take_several_values_or_a_prefix() -> None:
    assert [facet for facet in Facet if facet.takes_several] == [Facet.KIND, Facet.SOURCE, Facet.TAG]
    assert [facet for facet in Facet if facet.is_prefix] == [Facet.FOLDER, Facet.FILE_PATH]


def test_buckets_are_ranked_by_count_then_by_code_point() -> None:
    counts = {"b": 2, "a": 2, "é": 2, "Z": 2, "": 2, "rare": 1, "most": 3, "\ufb01": 2, "😀": 2}
    buckets, more = rank_buckets(counts, 500)
    # U+1F600 comes after U+FB01 by code point, though before it by UTF-16 unit.
    assert [bucket.value for bucket in buckets] == ["most", "", "Z", "a", "b", "é", "\ufb01", "😀", "rare"]
    assert (buckets[0], more) == (FacetBucket(value="most", count=3), 0)
    buckets, more = rank_buckets(counts, 2)
    assert ([bucket.value for bucket in buckets], more) == (["most", ""], 7)
    assert rank_buckets({}, 10) == ([], 0)


@given(strategies.metas, st.sampled_from(list(Facet)), st.sampled_from(list(ItemKind)))
@strategies.some_examples
def test_whatever_is_counted_can_be_found(held: dict[str, Any], facet: Facet, kind: ItemKind) -> None:
    meta = MemoryMeta.model_validate(held)
    here = MetaFilter(reach=Reach.exact(meta.namespace))
    values = facet.values(kind, meta)
    assert len(set(values)) == len(values)
    for value in filter(str.strip, values):  # a blank one is counted, but not narrowed by
        assert facet.narrow(here, value).matches(kind, meta)
