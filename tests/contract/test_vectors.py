"""The contract against its vectors: what other programs over the same data compute."""

from __future__ import annotations

import hashlib
import json
from collections.abc import Iterator
from typing import Any

import pytest

from explorer.contract import (
    ActorRef,
    FetchMode,
    InvalidRequest,
    Namespace,
    Reach,
    Segment,
    SegmentKind,
    StoreItem,
    Timestamp,
    dump_item,
    holds_phone_number,
    is_path_prefix,
    is_same_id,
    parse_item,
    redacted_id,
    wire,
)
from explorer.contract.meta import NO_IDENTITY
from explorer.contract.reference import Searchable, score
from tests.contract.vectors import BUILT_IN, SHARED_FILE, sets

SETS = sets()


def cases(*path: str) -> list[Any]:
    """The entries of one section of every set, each a case of its own that is named after its set."""

    def entries(vectors: Any) -> Iterator[Any]:
        section = vectors
        for key in path:
            section = section[key]
        yield from section

    return [
        pytest.param(entry, id=f"{origin}-{place}")
        for origin, vectors in SETS.items()
        for place, entry in enumerate(entries(vectors))
    ]


def item_of(entry: dict[str, Any]) -> StoreItem:
    return parse_item(json_of(entry["item"]))


def json_of(value: Any) -> str:
    """JSON that keeps a number's own digits, as `wire.dumps`, which shortens to 32 bits, would not."""
    return json.dumps(value, ensure_ascii=False)


def test_it_is_said_which_vectors_are_tested(capsys: pytest.CaptureFixture[str]) -> None:
    if "shared" not in SETS:
        with capsys.disabled():
            print(f"\ncontract vectors: {SHARED_FILE} is not there, only the built-in set was tested")
    assert list(SETS) == (["built-in", "shared"] if SHARED_FILE.is_file() else ["built-in"])


def test_the_built_in_set_has_every_section_that_is_tested() -> None:
    def sections(vectors: Any) -> set[str]:
        return {f"{part}.{key}" for part in ("upstream", "derived") for key in vectors[part]} | {"render_text"}

    for vectors in SETS.values():
        tested = {name for name in sections(vectors) if not name.endswith(("_literals", "_note"))}
        assert tested == sections(BUILT_IN)
        # Upstream pins no id yet. Should the file name one some day, it wants a test.
        assert vectors["upstream"].get("fingerprint_literals", []) == []


@pytest.mark.parametrize("entry", cases("derived", "fingerprints"))
def test_fingerprints(entry: dict[str, Any]) -> None:
    item = item_of(entry)
    bare = item.meta.model_copy(update=dict.fromkeys(NO_IDENTITY))
    canonical = dump_item(item.model_copy(update={"meta": bare}))
    assert canonical == entry["canonical_json"]
    assert item.fingerprint() == entry["id"]
    assert hashlib.sha256(entry["canonical_json"].encode()).hexdigest()[:40] == entry["id"]


@pytest.mark.parametrize("origin", list(SETS))
def test_fingerprint_relations(origin: str) -> None:
    vectors = SETS[origin]
    ids = {entry["name"]: item_of(entry).fingerprint() for entry in vectors["derived"]["fingerprints"]}
    for relation in vectors["upstream"]["fingerprint_relations"]:
        if relation.get("equal") == "a document with and without meta.observed_actor":
            item = parse_item('{"type":"document","body":{"text":"same"}}')
            actor = ActorRef(id="user:priya@acme.test", name="Priya")
            told = item.model_copy(update={"meta": item.meta.model_copy(update={"observed_actor": actor})})
            assert dump_item(told) != dump_item(item)
            assert told.fingerprint() == item.fingerprint()
        elif "equal" in relation:
            left, right = relation["equal"]
            assert ids[left] == ids[right]
        else:
            left, right = relation["differ"]
            assert ids[left] != ids[right]


@pytest.mark.parametrize("entry", cases("derived", "f32_format"))
def test_32_bit_floats(entry: dict[str, str]) -> None:
    assert wire.f32_text(float(entry["json"])) == entry["written"]
    learning = f'{{"type":"learning","text":"x","kind":"fact","confidence":{entry["json"]}}}'
    assert f'"confidence":{entry["written"]},' in dump_item(parse_item(learning))


@pytest.mark.parametrize("entry", cases("derived", "datetime_format"))
def test_times(entry: dict[str, str]) -> None:
    assert Timestamp.parse(entry["json"]).text == entry["written"]
    item = f'{{"type":"document","body":{{"text":"x"}},"meta":{{"observed_at":"{entry["json"]}"}}}}'
    assert f'"observed_at":"{entry["written"]}"' in dump_item(parse_item(item))


@pytest.mark.parametrize("entry", cases("derived", "segment_sanitized"))
def test_sanitised_ids(entry: dict[str, str]) -> None:
    assert Segment.sanitized(SegmentKind.AGENT, entry["raw"]).id == entry["id"]


@pytest.mark.parametrize("entry", cases("upstream", "sanitized_prefixes"))
def test_starts_of_sanitised_ids(entry: dict[str, str]) -> None:
    id = Segment.sanitized(SegmentKind.SERVICE, entry["raw"]).id
    if "id" in entry:
        assert id == entry["id"]
    else:
        assert id.startswith(entry["starts_with"])
        assert len(id) == len(entry["starts_with"]) + 8


@pytest.mark.parametrize("origin", list(SETS))
def test_segment_kinds(origin: str) -> None:
    assert [kind.prefix for kind in SegmentKind] == SETS[origin]["upstream"]["segment_kinds"]


@pytest.mark.parametrize("entry", cases("derived", "path_prefix"))
def test_path_prefixes(entry: dict[str, Any]) -> None:
    assert is_path_prefix(entry["filter"], entry["item"]) is entry["matches"]


@pytest.mark.parametrize("entry", cases("derived", "redacted_id"))
def test_redacted_ids(entry: dict[str, str]) -> None:
    assert redacted_id(entry["raw"]) == entry["redacted"]
    assert is_same_id(entry["raw"], entry["redacted"])
    assert not is_same_id(entry["redacted"], entry["raw"])


@pytest.mark.parametrize("raw", cases("upstream", "holds_phone_number", "true"))
def test_phone_numbers(raw: str) -> None:
    assert holds_phone_number(raw)
    assert not holds_phone_number(redacted_id(raw))


@pytest.mark.parametrize("raw", cases("upstream", "holds_phone_number", "false"))
def test_what_is_no_phone_number(raw: str) -> None:
    assert not holds_phone_number(raw)


@pytest.mark.parametrize("entry", cases("upstream", "namespace_parse_ok"))
def test_namespaces(entry: dict[str, Any]) -> None:
    node = Namespace.parse(entry["text"])
    assert (node.depth, str(node)) == (entry["depth"], entry["prints"])


@pytest.mark.parametrize("text", cases("upstream", "namespace_parse_errors"))
def test_what_is_no_namespace(text: str) -> None:
    with pytest.raises(InvalidRequest):
        Namespace.parse(text)


@pytest.mark.parametrize("entry", cases("upstream", "reach_admits"))
def test_what_a_reach_admits(entry: dict[str, Any]) -> None:
    reach = Reach.model_validate(entry["reach"])
    assert reach.admits(Namespace.parse(entry["namespace"])) is entry["admits"]


@pytest.mark.parametrize("entry", cases("upstream", "reach_within"))
def test_what_a_reach_lies_within(entry: dict[str, Any]) -> None:
    assert Reach.model_validate(entry["reach"]).within(Reach.model_validate(entry["outer"])) is entry["within"]


@pytest.mark.parametrize("entry", cases("upstream", "reach_serde"))
def test_how_a_reach_is_written(entry: dict[str, Any]) -> None:
    read = Reach.model_validate_json(json_of(entry["json"]))
    wanted = entry.get("value") or entry["reads_as"]
    assert read == Reach.model_validate(wanted)
    assert read.model_dump_json() == json_of(wanted).replace(" ", "")


@pytest.mark.parametrize("entry", cases("render_text"))
def test_rendered_text(entry: dict[str, Any]) -> None:
    assert item_of(entry).render_text() == entry["text"]


@pytest.mark.parametrize("mode", list(FetchMode))
@pytest.mark.parametrize("entry", cases("derived", "reference_scores"))
def test_reference_scores(entry: dict[str, Any], mode: FetchMode) -> None:
    points, is_hit = score(mode, Searchable(entry["query"]), Searchable(entry["text"]))
    assert points == pytest.approx(entry[mode]["score"], abs=1e-6)
    assert is_hit is entry[mode]["hit"]
