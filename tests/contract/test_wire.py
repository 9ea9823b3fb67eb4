"""The JSON form: what is read, what is refused, and that what is written keeps every byte."""

from __future__ import annotations

import hashlib
import json
import re
import struct
from decimal import Decimal
from typing import Any

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from explorer.contract import (
    BeliefsRequest,
    Citation,
    ConsolidateReceipt,
    ConsolidateRequest,
    Consolidation,
    Document,
    DocumentBody,
    EngineDescriptor,
    EngineHealth,
    EraseReport,
    EraseRequest,
    ExplorePage,
    ExploreRequest,
    Exported,
    ExportPage,
    FacetBucket,
    FetchMode,
    FetchPage,
    FetchRequest,
    ForgetReport,
    ForgetTarget,
    GetRequest,
    Hit,
    InvalidRequest,
    Learning,
    LearningKind,
    ListPage,
    ListRequest,
    MemoryMeta,
    MetaFilter,
    RecallAnswer,
    RecallRequest,
    Role,
    StoreOptions,
    StoreReceipt,
    TimeHint,
    Turn,
    dump_item,
    parse_item,
    to_unicode,
    wire,
)
from explorer.contract.model import Model, collapsed, is_blank, reason, trimmed
from tests.contract import strategies

LEARNING = '{"type":"learning","text":"tea","kind":"fact","confidence":0.5}'


def refusal(text: str | bytes) -> str:
    with pytest.raises(InvalidRequest) as caught:
        parse_item(text)
    return caught.value.text


def with_field(field: str) -> str:
    """The learning with one more field, in JSON."""
    return f"{LEARNING[:-1]},{field}}}"


def with_meta(meta: str) -> str:
    return with_field(f'"meta":{meta}')


# --- what is refused


@pytest.mark.parametrize(
    "text",
    [
        with_field('"text":"tea"'),
        with_meta('{"tags":[],"tags":["a"]}'),
        with_meta('{"unknown":{"deep":[{"a":1,"a":1}]}}'),
        with_field('"unknown":{"a":1,"\\u0061":2}'),
    ],
)
def test_a_repeated_key_is_refused_wherever_it_is(text: str) -> None:
    assert "is there twice" in refusal(text)


@pytest.mark.parametrize(
    "text",
    [
        LEARNING.replace("tea", "\\ud83d"),
        LEARNING.replace("tea", "\\uDE00\\ud83d"),
        with_field('"unknown":["\\udfff"]'),
        with_field('"\\ud800":1'),
        LEARNING.replace("tea", "\ud800"),
    ],
)
def test_half_a_surrogate_pair_is_refused_wherever_it_is(text: str) -> None:
    assert refusal(text) == "a string holds half of a surrogate pair"


def test_a_whole_surrogate_pair_is_one_character() -> None:
    item = parse_item(LEARNING.replace("tea", "\\ud83d\\ude00"))
    assert item.render_text() == "😀"
    assert "😀" in dump_item(item)


@pytest.mark.parametrize("number", ["1e400", "-1e999", "1e39", "-3.5e38", "1" + "0" * 400, "1" + "0" * 5000])
def test_a_number_beyond_its_type_is_refused(number: str) -> None:
    assert refusal(LEARNING.replace("0.5", number))


@pytest.mark.parametrize("word", ["NaN", "Infinity", "-Infinity"])
def test_what_is_no_number_is_refused_even_where_it_is_ignored(word: str) -> None:
    assert word in refusal(LEARNING.replace("0.5", word))
    assert word in refusal(with_field(f'"unknown":{word}'))


@pytest.mark.parametrize(
    "meta",
    [
        '{"turns":{"first":4294967296,"last":0}}',
        '{"turns":{"first":-1,"last":0}}',
        '{"turns":{"first":1.0,"last":2}}',
        '{"turns":{"first":true,"last":2}}',
        '{"turns":{"first":"1","last":2}}',
        '{"turns":[1,2]}',
        '{"turns":{"first":1}}',
        '{"derive":1}',
        '{"derive":"true"}',
        '{"source":{}}',
        '{"source":"agent"}',
        '{"source":{"kind":"composio"}}',
        '{"source":{"kind":"Agent"}}',
        '{"tags":"a"}',
        '{"tags":["a",null]}',
        '{"workspace":1}',
        '{"tool_call":{"id":"a"}}',
        '{"namespace":"agent:a.b"}',
        '{"namespace":["agent:a"]}',
        "[]",
    ],
)
def test_a_value_of_another_type_is_refused(meta: str) -> None:
    assert refusal(with_meta(meta)).startswith("learning.meta")


@pytest.mark.parametrize(
    "time",
    [
        '"2026-10-04T09:30:60Z"',
        '"2026-10-04T24:00:00Z"',
        '"2026-02-29T00:00:00Z"',
        '"2026-10-04T09:30:00"',
        '"2026-10-04"',
        '"0000-12-31T23:59:59Z"',
        '"0001-01-01T00:00:00+00:01"',
        '"9999-12-31T23:59:59-00:01"',
        '"10000-01-01T00:00:00Z"',
        '"2026-10-04T09:30:00+24:00"',
        '"2026-10-04T09:30:00.Z"',
        '" 2026-10-04T09:30:00Z"',
        '"２０２６-10-04T09:30:00Z"',
        "1790000000",
        "true",
    ],
)
def test_a_time_outside_the_calendar_or_the_format_is_refused(time: str) -> None:
    assert refusal(with_meta(f'{{"observed_at":{time}}}')).startswith("learning.meta.observed_at: ")


@pytest.mark.parametrize(
    "text",
    [
        LEARNING.replace('"tea"', "null"),
        LEARNING.replace('"fact"', "null"),
        LEARNING.replace("0.5", "null"),
        with_field('"meta":null'),
        with_meta('{"namespace":null}'),
        with_meta('{"source":null}'),
        with_meta('{"source":{"kind":null}}'),
        with_meta('{"tags":null}'),
        with_meta('{"tool_call":{"name":null}}'),
        '{"type":"document","body":null}',
        '{"type":"document","body":{"text":null}}',
        '{"type":"conversation","turns":null}',
        '{"type":"conversation","turns":[{"role":"user","text":"a","tool_calls":null}]}',
        "null",
    ],
)
def test_null_is_refused_where_something_must_be(text: str) -> None:
    assert refusal(text)


def test_null_reads_as_unset_where_nothing_need_be() -> None:
    unset = ["workspace", "folder", "file_path", "language", "repo", "commit", "url", "thread_id", "turns", "agent_id"]
    unset += ["tool_call", "observed_at", "derive", "observed_actor"]
    nulls = ",".join(f'"{name}":null' for name in unset)
    item = parse_item(with_meta(f'{{{nulls},"source":{{"kind":"agent","id":null}}}}'))
    assert item == parse_item(LEARNING)
    assert parse_item(with_field('"evidence":null')) == parse_item(LEARNING)
    document = '{"type":"document","title":null,"body":{"text":"a"},"mime":null}'
    assert parse_item(document) == Document(body=DocumentBody(text="a"))


@pytest.mark.parametrize(
    "body",
    ["{}", '{"text":"a","uri":"b"}', '{"other":"a"}', '"a"', '["a"]'],
    ids=["none", "both", "other", "bare", "list"],
)
def test_a_document_body_is_a_text_or_a_uri(body: str) -> None:
    assert refusal(f'{{"type":"document","body":{body}}}')


@pytest.mark.parametrize(
    "text",
    [
        LEARNING.replace('"type":"learning",', ""),
        LEARNING.replace('"learning"', '"Learning"'),
        LEARNING.replace('"type"', '"kind"', 1),
        LEARNING.replace('"fact"', '"Fact"'),
        LEARNING + "x",
        LEARNING[:-1],
        LEARNING.replace("tea", "a\nb"),
        LEARNING.replace('"tea"', "'tea'"),
        "",
        "[]",
        "\ufeff" + LEARNING,
    ],
)
def test_other_text_is_refused(text: str) -> None:
    assert refusal(text)


@pytest.mark.parametrize(
    "data",
    [
        LEARNING.replace("tea", "é").encode("latin-1"),
        LEARNING.encode("utf-16"),
        LEARNING.replace("tea", "@").encode().replace(b"@", b"\xed\xa0\x80"),
        b"\xef\xbb\xbf" + LEARNING.encode(),
    ],
    ids=["latin-1", "utf-16", "a surrogate in UTF-8", "a byte order mark"],
)
def test_bytes_that_are_not_plain_utf_8_are_refused(data: bytes) -> None:
    assert refusal(data)


def test_nesting_too_deep_to_read_is_refused() -> None:
    deep = "[" * 100_000 + "]" * 100_000
    assert refusal(with_field(f'"unknown":{deep}')) == "the JSON is nested too deeply"


def test_nesting_is_searched_for_surrogates_as_deep_as_it_is_read() -> None:
    def nested(inner: str) -> str:
        # The pair makes the reader look at every string.
        return with_field('"unknown":' + "[" * 600 + inner + "]" * 600)

    assert parse_item(nested('"\\ud83d\\ude00"')) == parse_item(LEARNING)
    assert refusal(nested('"\\ud83d"')) == "a string holds half of a surrogate pair"


def test_a_refusal_says_where_and_not_what() -> None:
    said = refusal('{"type":"conversation","turns":[{"role":"user","text":"a"},{"role":"pilot","text":5}]}')
    assert said == "conversation.turns.1.role: input should be 'user', 'assistant', 'system' or 'tool' (and 1 more)"
    assert "secret" not in refusal(LEARNING.replace("0.5", '"secret"'))
    with pytest.raises(ValidationError) as caught:
        ListRequest.model_validate_json('{"limit":1,"limit":1}')
    assert reason(caught.value) == 'the key "limit" is there twice'


@pytest.mark.parametrize(
    "text",
    [
        '{"limit":18446744073709551616}',
        '{"limit":-1}',
        '{"limit":1.0}',
        '{"limit":true}',
        '{"limit":"1"}',
        "{}",
        '{"limit":1,"filter":null}',
        '{"limit":1,"filter":{"kinds":null}}',
        '{"limit":1,"filter":{"reach":{"inherit":null}}}',
        '{"limit":1,"filter":{"tool_call":{"name":"a"}}}',
    ],
)
def test_requests_are_read_as_strictly(text: str) -> None:
    with pytest.raises(ValidationError):
        ListRequest.model_validate_json(text)


@pytest.mark.parametrize("text", ["{}", '{"ids":null}', '{"ids":["a"],"filter":{}}', '{"ids":[1]}', "[]"])
def test_a_forget_target_is_ids_or_a_filter(text: str) -> None:
    with pytest.raises(ValidationError):
        ForgetTarget.model_validate_json(text)


@pytest.mark.parametrize(
    "day", ["1790000000", '"1790000000"', '"2026-10-04T00:00:00"', '"2026-1-4"', '"2026-02-30"', "null"]
)
def test_a_day_is_only_a_day(day: str) -> None:
    with pytest.raises(ValidationError):
        TimeHint.model_validate_json(f'{{"from":{day},"to":"9999-12-31"}}')


@pytest.mark.parametrize("make", [lambda: Turn(role=Role.USER, text="\ud800"), lambda: MemoryMeta(tags=["a\udfff"])])
def test_no_item_is_made_of_text_without_a_utf_8_form(make: Any) -> None:
    with pytest.raises(ValidationError):
        make()


def test_bad_units_are_replaced_for_those_who_ask() -> None:
    assert to_unicode("a\ud800b\udfffé😀") == "a\ufffdb\ufffdé😀"
    assert to_unicode("plain") == "plain"
    assert parse_item(LEARNING.replace("tea", to_unicode("\udc80"))).render_text() == "\ufffd"


# --- what is written


def test_strings_are_escaped_only_where_they_must_be() -> None:
    text = "".join(map(chr, range(0x20))) + '"\\/\x7f\x80\u2028\u2029é日😀'
    written = wire.dumps(text)
    assert written.startswith('"\\u0000\\u0001')
    assert "\\b\\t\\n\\u000b\\f\\r\\u000e" in written
    assert written.endswith('\\u001f\\"\\\\/\x7f\x80\u2028\u2029é日😀"')
    assert json.loads(written) == text


@pytest.mark.parametrize(
    ("value", "text"),
    [
        (0.0, "0.0"),
        (-0.0, "-0.0"),
        (1, "1.0"),
        (16777216.0, "16777216.0"),
        (123456.789, "123456.79"),
        (9.999999e12, "9999999000000.0"),
        (1e13, "1e13"),
        (3.4028234663852886e38, "3.4028235e38"),
        (1e-6, "0.000001"),
        (9.9e-7, "9.9e-7"),
        (1.4e-45, "1e-45"),
        (float("nan"), "null"),
        (float("inf"), "null"),
    ],
)
def test_32_bit_floats(value: float, text: str) -> None:
    assert wire.f32_text(value) == text


@given(st.floats(width=32, allow_nan=False, allow_infinity=False))
@strategies.many_examples
def test_32_bit_floats_are_written_as_short_as_numpy_writes_them(value: float) -> None:
    text = wire.f32_text(value)
    assert np.float32(text) == np.float32(value)
    shortest = np.format_float_scientific(np.float32(value), unique=True)
    assert Decimal(text) == Decimal(shortest)
    # And no digit more than that number needs, but for the zero of `1.0`.
    assert re.fullmatch(r"-?(0|[1-9]\d*)\.(0|\d*[1-9])|-?[1-9](\.\d*[1-9])?e-?[1-9]\d*", text)


short_decimals = st.builds("{}e{}".format, st.integers(-(10**8), 10**8), st.integers(-50, 30)).map(float)


@given(st.floats(-1e30, 1e30) | short_decimals)
@strategies.many_examples
def test_rounding_to_32_bits_gives_the_double_with_the_fewest_digits(value: float) -> None:
    once = wire.round_f32(value)
    assert wire.round_f32(once) == once
    assert struct.pack("<f", once) == struct.pack("<f", value)
    assert wire.f32_text(once) == wire.f32_text(value)
    assert Decimal(repr(once)) == Decimal(np.format_float_scientific(np.float32(value), unique=True))


@pytest.mark.parametrize("exponent", [-149, -127, -126, -44, -10, -1, 0, 1, 24, 96, 127])
def test_powers_of_two_whose_neighbours_lie_at_unequal_distances(exponent: int) -> None:
    value = 2.0**exponent
    assert Decimal(wire.f32_text(value)) == Decimal(np.format_float_scientific(np.float32(value), unique=True))


def test_two_doubles_of_one_32_bit_value_are_one_confidence() -> None:
    given = Learning(text="a", kind=LearningKind.FACT, confidence=0.8)
    as_single = Learning(text="a", kind=LearningKind.FACT, confidence=0.800000011920929)
    assert given == as_single
    assert given.fingerprint() == as_single.fingerprint()


META_KEYS = [
    "namespace",
    "workspace",
    "folder",
    "file_path",
    "language",
    "repo",
    "commit",
    "url",
    "thread_id",
    "turns",
    "agent_id",
    "tool_call",
    "source",
    "tags",
    "observed_at",
    "derive",
    "observed_actor",
]
FULL_META: dict[str, Any] = {
    "namespace": "team:acme",
    "workspace": "",
    "folder": "/a",
    "file_path": "/a/b",
    "language": "en",
    "repo": "o/r",
    "commit": "c",
    "url": "u",
    "thread_id": "t",
    "turns": {"first": 0, "last": 4294967295},
    "agent_id": "a",
    "tool_call": {"name": "n", "id": "i"},
    "source": {"kind": "import", "id": "s"},
    "tags": ["y", "x", "y"],
    "observed_at": "2026-10-04T09:30:00.000000001Z",
    "derive": True,
    "observed_actor": {"id": "user:p", "name": "P"},
}


def compact(value: Any) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def test_metadata_is_written_in_the_order_of_the_contract() -> None:
    shuffled = compact(dict(sorted(FULL_META.items(), reverse=True)))
    meta = MemoryMeta.model_validate_json(shuffled)
    assert list(json.loads(meta.model_dump_json())) == META_KEYS == list(FULL_META)
    assert meta.model_dump_json() == compact(FULL_META)


def test_what_is_unset_is_left_out() -> None:
    assert MemoryMeta().model_dump_json() == '{"source":{"kind":"agent"}}'
    assert MetaFilter().model_dump_json() == "{}"
    assert (
        MemoryMeta.model_validate_json('{"namespace":"root","tags":[]}').model_dump_json()
        == MemoryMeta().model_dump_json()
    )
    assert MemoryMeta(derive=False).model_dump_json() == '{"source":{"kind":"agent"},"derive":false}'
    assert dump_item(parse_item('{"type":"document","body":{"uri":"u"}}')) == (
        '{"type":"document","body":{"uri":"u"},"meta":{"source":{"kind":"agent"}}}'
    )


def test_unknown_keys_are_ignored() -> None:
    assert parse_item(with_meta('{"unknown":1,"source":{"kind":"agent","other":2}}')) == parse_item(LEARNING)


HIT = '{"id":"1","kind":"learning","text":"tea","meta":{"source":{"kind":"agent"}},"score":0.0,"confidence":0.8}'
BARE_HIT = '{"id":"1","kind":"document","text":"","meta":{"source":{"kind":"agent"}},"score":0.33333334}'
FULL_FILTER = (
    '{"reach":{"at":"team:acme","inherit":false,"descendants":true},"workspace":"w","folder":"f","file_path":"p",'
    '"language":"l","repo":"r","commit":"c","url":"u","thread_id":"t","turns":{"first":1,"last":2},"agent_id":"a",'
    '"tool_call":"n","source_id":"s","kinds":["document","learning"],"sources":["rss"],"tags_any":["x"],'
    '"observed_after":"2026-10-04T09:30:00Z","observed_before":"2026-10-05T09:30:00.500Z"}'
)
HINT = '{"from":"2026-10-01","to":"2026-10-04","zone":"Europe/Lisbon"}'
WRITTEN: list[tuple[type[Model], str]] = [
    (MetaFilter, FULL_FILTER),
    (RecallRequest, f'{{"question":"q","filter":{FULL_FILTER},"limit":5,"instructions":"i","refers_to":{HINT}}}'),
    (RecallRequest, '{"question":"q","filter":{},"limit":0}'),
    (RecallAnswer, '{"answer":"a","citations":[],"model":"m"}'),
    (
        RecallAnswer,
        '{"answer":"","citations":[{"id":"1","kind":"document","snippet":"s","meta":{"source":{"kind":"agent"}},'
        '"score":1.0}]}',
    ),
    (Citation, '{"id":"1","kind":"document","snippet":"s","meta":{"source":{"kind":"agent"}}}'),
    (
        FetchRequest,
        f'{{"query":"q","mode":"hybrid","filter":{{}},"limit":1,"cursor":"c","beliefs":2,"refers_to":{HINT},'
        '"max_scopes":3}',
    ),
    (FetchRequest, '{"query":"q","mode":"keyword","filter":{},"limit":18446744073709551615}'),
    (FetchPage, f'{{"hits":[{HIT},{BARE_HIT}],"next_cursor":"2","beliefs":[{HIT}]}}'),
    (FetchPage, '{"hits":[]}'),
    (Hit, HIT),
    (ListRequest, '{"filter":{},"limit":1,"cursor":""}'),
    (ListPage, f'{{"items":[{BARE_HIT}],"next_cursor":"x"}}'),
    (ListPage, '{"items":[]}'),
    (StoreReceipt, '{"id":"1","replayed":false}'),
    (StoreOptions, '{"wait":"accepted"}'),
    (Exported, '{"id":"1","item":{"type":"document","body":{"text":"a"},"meta":{"source":{"kind":"agent"}}}}'),
    (ExportPage, '{"items":[],"incomplete":["1","2"],"next_cursor":"3"}'),
    (ExportPage, '{"items":[]}'),
    (EraseRequest, '{"reach":{"at":"root","inherit":true,"descendants":false},"whole_tree":false}'),
    (
        EraseRequest,
        '{"reach":{"at":"root","inherit":true,"descendants":false},"kinds":["conversation"],"whole_tree":true}',
    ),
    (EraseReport, '{"erased_scopes":0}'),
    (EraseReport, '{"erased_scopes":2,"receipts":["r"]}'),
    (ForgetTarget, '{"ids":["1"]}'),
    (ForgetTarget, '{"filter":{"workspace":""}}'),
    (ForgetReport, '{"forgotten":7}'),
    (ExploreRequest, '{"facet":"source_id","filter":{},"limit":10,"scan_limit":5000}'),
    (FacetBucket, '{"value":"","count":1}'),
    (
        ExplorePage,
        '{"facet":"tag","buckets":[{"value":"x","count":2}],"total":3,"missing":1,"more_buckets":0,"truncated":false}',
    ),
    (GetRequest, '{"ids":["1"]}'),
    (GetRequest, '{"ids":["1"],"reach":{"at":"ws:main","inherit":false,"descendants":false}}'),
    (ConsolidateRequest, '{"reach":{"at":"root","inherit":true,"descendants":false},"kinds":["document"]}'),
    (ConsolidateReceipt, '{"status":"completed","jobs":["j"],"scopes":1,"built":0}'),
    (ConsolidateReceipt, '{"status":"scheduled","scopes":0}'),
    (BeliefsRequest, '{"reach":{"at":"root","inherit":true,"descendants":false},"query":"q","limit":3}'),
    (TimeHint, '{"from":"2026-10-01","to":"2026-10-04"}'),
    (EngineHealth, '{"state":"ok"}'),
    (EngineHealth, '{"state":"degraded","reason":"r"}'),
    (EngineHealth, '{"state":"down","reason":""}'),
    (
        EngineDescriptor,
        '{"id":"i","label":"l","description":"d","hosted":false,"needs_endpoint":true,"needs_key":false,'
        '"default_endpoint":null,"fetch_modes":["keyword","hybrid"]}',
    ),
    (
        EngineDescriptor,
        '{"id":"i","label":"l","description":"d","hosted":true,"needs_endpoint":true,"needs_key":true,'
        '"default_endpoint":"https://a.test","fetch_modes":[],"consolidation":"on_demand"}',
    ),
]


@pytest.mark.parametrize(("kind", "text"), WRITTEN, ids=[f"{kind.__name__}-{n}" for n, (kind, _) in enumerate(WRITTEN)])
def test_each_request_and_answer_is_written_as_it_was_read(kind: type[Model], text: str) -> None:
    read = kind.model_validate_json(text)
    assert read.model_dump_json() == text
    assert kind.model_validate_json(text.encode()) == read
    assert kind.model_validate_json(bytearray(text.encode())) == read


@pytest.mark.parametrize(
    ("kind", "short", "full"),
    [
        (ListRequest, '{"limit":1}', '{"filter":{},"limit":1}'),
        (RecallAnswer, '{"answer":"a"}', '{"answer":"a","citations":[]}'),
        (StoreOptions, "{}", '{"wait":"visible"}'),
        (ExploreRequest, '{"facet":"kind","limit":1}', '{"facet":"kind","filter":{},"limit":1,"scan_limit":5000}'),
        (EraseRequest, '{"reach":{}}', '{"reach":{"at":"root","inherit":true,"descendants":false},"whole_tree":false}'),
        (
            FetchRequest,
            '{"query":"q","mode":"vector","limit":1,"beliefs":0}',
            '{"query":"q","mode":"vector","filter":{},"limit":1}',
        ),
    ],
)
def test_what_may_be_missing_has_its_default(kind: type[Model], short: str, full: str) -> None:
    assert kind.model_validate_json(short).model_dump_json() == full


def test_what_only_this_program_knows_is_not_written() -> None:
    descriptor = EngineDescriptor(
        id="i",
        label="l",
        description="d",
        hosted=False,
        needs_endpoint=False,
        needs_key=False,
        fetch_modes=[FetchMode.VECTOR],
        consolidation=Consolidation.NONE,
        needs_path=True,
        settings=["scope_root"],
        keeps_paths=False,
        erases_others=True,
    )
    for name in ("needs_path", "settings", "keeps_paths", "erases_others"):
        assert f'"{name}"' not in descriptor.model_dump_json()
    assert "consolidation" not in descriptor.model_dump_json()


@given(strategies.items)
@strategies.many_examples
def test_any_item_keeps_its_bytes_and_its_id(value: dict[str, Any]) -> None:
    read = parse_item(compact(value))
    written = dump_item(read)
    again = parse_item(written)
    assert again == read
    assert dump_item(again) == written
    assert again.fingerprint() == read.fingerprint()
    assert wire.dumps(wire.loads(written)) == written
    if value["type"] != "learning":  # without a 32-bit float the standard library writes the same bytes
        assert compact(json.loads(written)) == written
        bare = json.loads(written)
        bare["meta"].pop("observed_at", None)
        bare["meta"].pop("observed_actor", None)
        assert hashlib.sha256(compact(bare).encode()).hexdigest()[:40] == read.fingerprint()


@given(strategies.items, strategies.times())
@strategies.some_examples
def test_when_and_by_whom_it_was_seen_is_no_part_of_an_item(value: dict[str, Any], time: str) -> None:
    told = {**value, "meta": {**value.get("meta", {}), "observed_at": time, "observed_actor": {"id": "user:p"}}}
    assert parse_item(compact(told)).fingerprint() == parse_item(compact(value)).fingerprint()


@given(strategies.filters)
@strategies.many_examples
def test_any_filter_keeps_its_bytes(value: dict[str, Any]) -> None:
    read = MetaFilter.model_validate_json(compact(value))
    written = read.model_dump_json()
    assert MetaFilter.model_validate_json(written) == read
    assert compact(json.loads(written)) == written
    assert read.is_empty() == (written == "{}")


# --- blank


def test_white_space_is_what_unicode_calls_so() -> None:
    assert is_blank(" \t\n\v\f\r\x85\xa0\u1680\u2000\u200a\u2028\u2029\u202f\u205f\u3000")
    assert is_blank("")
    for separator in "\x1c\x1d\x1e\x1f\u200b\ufeff\u180e":  # the first four `str.strip` would take away
        assert not is_blank(separator)
    assert trimmed("\x1f a \x1c\u3000") == "\x1f a \x1c"
    assert collapsed("\u2003a\n\n b\x1c c\t") == "a b\x1c c"
