"""The vectors of the CortexDB sheet: the shared file where there is one, else the sheet's worked examples alone."""

from __future__ import annotations

import json
from typing import Any

from tests.contract.vectors import SHARED

Vectors = dict[str, Any]

SHARED_FILE = SHARED / "spec" / "vectors" / "cortex.json"

_LEARNING_LABELS = [
    "tm:i:067f52d5df721b52",
    "tm:t:82b1169e4b3068cb",
    "tm:s:31e06f7d89feb99a",
    "tm:k:8b34dbc2c05eb4d7",
    "kind:learning",
    'tm:e:00:{"v":3,"id":"521fc741e9b4b85bcbdede0575f70a51ac3a6ce9","kind":"learning","text":"",'
    '"meta":{"thread_id":"t-learn","source":{"kind":"conversation","id":"chat"}},"learning_kind":"preference",'
    '"confidence":0.8}',
]

BUILT_IN: Vectors = {
    "envelopes": [
        {
            "name": "the worked example",
            "item": {
                "type": "learning",
                "text": "prefers helix",
                "kind": "preference",
                "confidence": 0.8,
                "meta": {"thread_id": "t-learn", "source": {"kind": "conversation", "id": "chat"}},
            },
            "id": "521fc741e9b4b85bcbdede0575f70a51ac3a6ce9",
            "events": [
                {
                    "v": 3,
                    "body": {
                        "scope": "app:tinymemory/app:learnings",
                        "modality": "observation",
                        "content": {"kind": "message", "role": "user", "text": "prefers helix"},
                        "context": {"labels": _LEARNING_LABELS},
                        "idempotency_key": "tm3:0947f2654ecb162f2e73719a292bf978e22a72b9a6fd1eb056abdd9a",
                    },
                }
            ],
        }
    ],
    "path_digests": [
        {
            "file_path": "dir/",
            "sent": None,
            "fp": ["2b64c6d9afd8a34ed0dbf35f7de171a8825a50d9", "56aa336ce5e484fd6aa17b4e075d5be3f9ebfd86"],
            "filters": [{"file_path_filter": "dir", "matches": True}, {"file_path_filter": "di", "matches": False}],
        }
    ],
    "absolute_workspace": [{"workspace": "~/x", "absolute": True}, {"workspace": "1:", "absolute": False}],
    "narrowing": [{"filter": {"thread_id": "t1", "repo": "owner/repo"}, "labels": ["tm:t:628b49d96dcde97a"]}],
    "decode": [
        {
            "name": "v3",
            "text": "prefers helix",
            "labels": _LEARNING_LABELS,
            "result": {
                "v": 3,
                "id": "521fc741e9b4b85bcbdede0575f70a51ac3a6ce9",
                "kind": "learning",
                "text": "prefers helix",
            },
        },
        {"name": "someone else's", "text": "hello", "labels": ["topic:x"], "result": None},
    ],
    "scopes": [
        {
            "namespace": "source:gmail",
            "kind": "document",
            "legacy": "app:tinymemory/source:gmail/app:documents",
            "v3_root_org_42": "org:42/app:brain/source:gmail",
            "tenant_root": "app:brain/source:gmail",
        }
    ],
    "parse_scope": [
        {
            "path": "org:42/app:learnings",
            "legacy": None,
            "v3_root_org_42_direct": {"namespace": "root", "kind": "learning"},
            "v3_root_org_42_hosted": {"namespace": "root", "kind": "learning"},
            "tenant_root_hosted": {"namespace": "root", "kind": "learning"},
        }
    ],
    "scope_roots": [{"scope_root": "  /org:42/ ", "used": "org:42"}, {"scope_root": "org", "error": "Config"}],
    "node_prefixes": [
        {
            "namespace": "source:pdf",
            "legacy": ["app:tinymemory/source:pdf"],
            "v3_root_org_42": ["org:42/source:pdf", "org:42/app:brain/source:pdf"],
            "tenant_root": ["source:pdf", "app:brain/source:pdf"],
        }
    ],
    "cuts": [
        {
            "text": "Intro\n# A\nx\fy\n# B\nz",
            "overhead": 0,
            "target": 16,
            "limit": 1000,
            "pieces": [
                {"text": "Intro\n# A\nx", "pages": [1, 1]},
                {"text": "\fy\n# B\nz", "pages": [2, 2], "section": "A"},
            ],
        }
    ],
    "documents": [],
}


def _all() -> Vectors:
    if SHARED_FILE.is_file():
        shared: Vectors = json.loads(SHARED_FILE.read_text(encoding="utf-8"))
        return shared
    return BUILT_IN


VECTORS = _all()


def written_out(value: Any) -> Any:
    """A vector's item with each `generator` replaced by the text that it stands for."""
    if isinstance(value, list):
        return [written_out(part) for part in value]
    if not isinstance(value, dict):
        return value
    if "repeat" in value or "numbered" in value:
        return _text(value)
    made = {}
    for name, part in value.items():
        if name == "generator":
            made["text"] = _text(part)
        elif name == "tags" and isinstance(part, dict):
            made[name] = _text(part).splitlines()
        else:
            made[name] = written_out(part)
    return made


def _text(generator: Any) -> str:
    if isinstance(generator, str):
        return generator
    if isinstance(generator, list):
        return "".join(map(_text, generator))
    if "repeat" in generator:
        return str(generator["repeat"] * generator["times"])
    numbers = range(generator["from"], generator["to"] + 1)
    return "".join(generator["numbered"].replace("{i}", str(i)) for i in numbers)
