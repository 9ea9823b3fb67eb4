"""The contract's vectors: the shared file where there is one, and a small set of our own that is always tested.

The shared file stays outside the repository. It is looked for at $TINYMEMORY_SHARED, else at ../shared beside it.
"""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

Vectors = dict[str, Any]

SHARED = Path(os.environ.get("TINYMEMORY_SHARED") or Path(__file__).parents[3] / "shared")
SHARED_FILE = SHARED / "spec" / "vectors" / "contract.json"

# Ids: `printf '%s' "$canonical" | sha256sum | cut -c1-40`, the canonical text written by hand.
_FINGERPRINTS = [
    {
        "name": "the worked example",
        "item": {
            "type": "learning",
            "text": "tea",
            "kind": "preference",
            "confidence": 0.9,
            "meta": {"observed_at": "1970-01-01T00:00:00Z"},
        },
        "canonical_json": '{"type":"learning","text":"tea","kind":"preference","confidence":0.9,'
        '"meta":{"source":{"kind":"agent"}}}',
        "id": "126a17b5bee85d0816f1fcdf6269c39c791aff3f",
    },
    {
        "name": "a third, and text outside ASCII",
        "item": {"type": "learning", "text": "thé ☕", "kind": "fact", "confidence": 0.3333333333333333},
        "canonical_json": '{"type":"learning","text":"thé ☕","kind":"fact","confidence":0.33333334,'
        '"meta":{"source":{"kind":"agent"}}}',
        "id": "ec2e66134709296e4b87beb062c0430f40d7c446",
    },
    {
        "name": "a control character, a node, a tag given twice",
        "item": {
            "type": "document",
            "body": {"text": 'a/b\u0001"'},
            "meta": {"namespace": "team:acme", "source": {"kind": "file", "id": "f"}, "tags": ["x", "x"]},
        },
        "canonical_json": '{"type":"document","body":{"text":"a/b\\u0001\\""},"meta":{"namespace":"team:acme",'
        '"source":{"kind":"file","id":"f"},"tags":["x","x"]}}',
        "id": "403229f0c3876d854735c013be3188a692d7d29a",
    },
    {
        "name": "turn time and tool calls",
        "item": {
            "type": "conversation",
            "turns": [
                {
                    "role": "user",
                    "text": "hi",
                    "at": "2026-10-04T15:00:00.25+05:30",
                    "tool_calls": [{"name": "ls", "id": "1"}, {"name": "cat"}],
                }
            ],
        },
        "canonical_json": '{"type":"conversation","turns":[{"role":"user","text":"hi","at":"2026-10-04T09:30:00.250Z",'
        '"tool_calls":[{"name":"ls","id":"1"},{"name":"cat"}]}],"meta":{"source":{"kind":"agent"}}}',
        "id": "f8c8228e336a2b30e061cebb27b2fadfeade1595",
    },
    {
        "name": "plain",
        "item": {"type": "document", "body": {"text": "same"}, "meta": {"namespace": "root"}},
        "canonical_json": '{"type":"document","body":{"text":"same"},"meta":{"source":{"kind":"agent"}}}',
        "id": "38b3ec78a0b76a31c5ca5c96403d8135d5d44390",
    },
    {
        "name": "plain, when seen",
        "item": {"type": "document", "body": {"text": "same"}, "meta": {"observed_at": "2026-10-04T09:30:00Z"}},
        "canonical_json": '{"type":"document","body":{"text":"same"},"meta":{"source":{"kind":"agent"}}}',
        "id": "38b3ec78a0b76a31c5ca5c96403d8135d5d44390",
    },
    {
        "name": "plain, with an empty title",
        "item": {"type": "document", "title": "", "body": {"text": "same"}},
        "canonical_json": '{"type":"document","title":"","body":{"text":"same"},"meta":{"source":{"kind":"agent"}}}',
        "id": "3c11c751d08c9e8d8e2a69d07c2a46996de3c317",
    },
    {
        "name": "plain, derive false",
        "item": {"type": "document", "body": {"text": "same"}, "meta": {"derive": False}},
        "canonical_json": '{"type":"document","body":{"text":"same"},'
        '"meta":{"source":{"kind":"agent"},"derive":false}}',
        "id": "e53785c7b8de5537013540184df1b7043171b8e1",
    },
]

_OF_WRITER = {"at": "team:acme/agent:writer", "inherit": True, "descendants": False}
_BELOW_ACME = {"at": "team:acme", "inherit": False, "descendants": True}

BUILT_IN: Vectors = {
    "upstream": {
        "fingerprint_relations": [
            {"equal": ["plain", "plain, when seen"]},
            {"differ": ["plain", "plain, with an empty title"]},
            {"differ": ["plain", "plain, derive false"]},
            {"equal": "a document with and without meta.observed_actor"},
        ],
        "namespace_parse_ok": [
            {"text": " team:acme/agent:writer\n", "depth": 2, "prints": "team:acme/agent:writer"},
            {"text": "root", "depth": 0, "prints": "root"},
            {"text": "", "depth": 0, "prints": "root"},
        ],
        "namespace_parse_errors": ["agent", "robot:x", "agent:a/", "Root", "/".join(["agent:a"] * 9)],
        "segment_kinds": ["agent", "team", "user", "ws", "project", "source", "service"],
        "sanitized_prefixes": [{"raw": "a.b", "starts_with": "a-b-"}, {"raw": "", "id": "_"}],
        # Read off the table of constructors, node by node.
        "reach_admits": [
            {"reach": _OF_WRITER, "namespace": "root", "admits": True},
            {"reach": _OF_WRITER, "namespace": "team:acme", "admits": True},
            {"reach": _OF_WRITER, "namespace": "team:acme/agent:editor", "admits": False},
            {"reach": _BELOW_ACME, "namespace": "team:acme/agent:writer", "admits": True},
            {"reach": _BELOW_ACME, "namespace": "team:acme/service:mail/agent:writer", "admits": False},
            {"reach": _BELOW_ACME, "namespace": "root", "admits": False},
        ],
        "reach_within": [
            {"reach": _BELOW_ACME, "outer": _BELOW_ACME, "within": True},
            {"reach": _OF_WRITER, "outer": _BELOW_ACME, "within": False},
            {"reach": _BELOW_ACME, "outer": _OF_WRITER, "within": False},
        ],
        "reach_serde": [
            {"value": _OF_WRITER, "json": _OF_WRITER},
            {"json": {"at": "agent:x"}, "reads_as": {"at": "agent:x", "inherit": True, "descendants": False}},
        ],
        # Seven digits in a row count, six do not; a letter on either side glues the run to a word.
        "holds_phone_number": {
            "true": ["1234567", "12-34 (56) 7", "é1234567é", "x 1234567_"],
            "false": ["123456", "a1234567", "1234567a", "12345678-1234-1234-1234-123456789012", "123x4567"],
        },
    },
    "render_text": [
        {
            "item": {"type": "document", "title": " Notes ", "body": {"text": "body\n"}},
            "text": "#  Notes \n\nbody\n",
        },
        {
            "item": {
                "type": "conversation",
                "turns": [
                    {"role": "system", "text": "be brief"},
                    {"role": "tool", "text": "done", "tool_calls": [{"name": "ls", "id": "1"}, {"name": "cat"}]},
                ],
            },
            "text": "system: be brief\ntool: done [tools: ls (1), cat]",
        },
        {"item": {"type": "document", "body": {"uri": "https://a.test"}}, "text": "https://a.test"},
    ],
    "derived": {
        "fingerprints": _FINGERPRINTS,
        # 0.3333333333333333 as a 32-bit float is 11184811 / 2**25 = 0.33333334326...; its neighbours are 3e-8 away.
        "f32_format": [
            {"json": "0", "written": "0.0"},
            {"json": "1", "written": "1.0"},
            {"json": "0.3333333333333333", "written": "0.33333334"},
            {"json": "0.0000015", "written": "0.0000015"},
            {"json": "0.00000015", "written": "1.5e-7"},
        ],
        "datetime_format": [
            {"json": "2026-10-04T09:30:00.5Z", "written": "2026-10-04T09:30:00.500Z"},
            {"json": "2026-10-04T09:30:00.000000001Z", "written": "2026-10-04T09:30:00.000000001Z"},
            {"json": "2027-01-01T01:00:00.1234+02:00", "written": "2026-12-31T23:00:00.123400Z"},
        ],
        # 0x108bf50c: FNV-1a of the bytes 61 2e 62, one xor and one multiplication each.
        "segment_sanitized": [{"raw": "a.b", "id": "a-b-108bf50c"}, {"raw": "a_b", "id": "a_b"}],
        "path_prefix": [
            {"filter": "/a", "item": "/a/b", "matches": True},
            {"filter": "/a", "item": "/ab", "matches": False},
            {"filter": "/a//", "item": "/a", "matches": True},
            {"filter": "", "item": "a", "matches": False},
        ],
        # `printf '%s' '+1 (555) 123-4567' | sha256sum | cut -c1-32`
        "redacted_id": [{"raw": "+1 (555) 123-4567", "redacted": "tm-redacted:f39a67bb4bdfb0b57c3db7689c8e8896"}],
        # By hand from the trigrams' buckets. "tide" has 4 of the 9 of "tide table", all in buckets of their own:
        # 4 / (2 * 3). In "rust code" the trigrams " ru" and "de " share bucket 38: (2 + 1 + 1 + 1) / (2 * sqrt(10)).
        "reference_scores": [
            {
                "query": "tide",
                "text": "Tide, table!",
                "keyword": {"score": 1.0, "hit": True},
                "vector": {"score": 2 / 3, "hit": True},
                "hybrid": {"score": 5 / 6, "hit": True},
            },
            {
                "query": "rust wood",
                "text": "rust",
                "keyword": {"score": 0.5, "hit": True},
                "vector": {"score": 4 / (2 * 8**0.5), "hit": True},
                "hybrid": {"score": (0.5 + 4 / (2 * 8**0.5)) / 2, "hit": True},
            },
            {
                "query": "rust",
                "text": "rust code",
                "keyword": {"score": 1.0, "hit": True},
                "vector": {"score": 5 / (2 * 10**0.5), "hit": True},
                "hybrid": {"score": (1 + 5 / (2 * 10**0.5)) / 2, "hit": True},
            },
            {
                "query": "?!",
                "text": "rust",
                "keyword": {"score": 0.0, "hit": False},
                "vector": {"score": 0.0, "hit": False},
                "hybrid": {"score": 0.0, "hit": False},
            },
        ],
    },
}


def sets() -> dict[str, Vectors]:
    """Each set of vectors by where it comes from."""
    found = {"built-in": BUILT_IN}
    if SHARED_FILE.is_file():
        found["shared"] = json.loads(SHARED_FILE.read_text(encoding="utf-8"))
    return found
