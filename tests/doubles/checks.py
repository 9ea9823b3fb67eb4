"""What the server demands of a request body (spec 8.4, 8.6): each check raises `Refused` with the server's code."""

from __future__ import annotations

import re
from collections.abc import Collection
from typing import Any

SCOPE_TYPES = frozenset(("org", "dept", "team", "app", "user", "agent", "service", "ws", "project", "source"))
MAX_TEXT = 1 << 20
MAX_LABELS = 64
MAX_LABEL = 256
MAX_KEY = 64
MAX_CLAIM = 128
MAX_SEGMENTS = 31
MAX_BULK = 1000
WAITS = frozenset(("captured", "indexed", "consolidated", "settled", "accepted"))
VIEWS = frozenset(("raw", "granular", "structured", "holistic", "descend"))
LAYERS = ("events", "facts", "beliefs", "episodes", "understanding")

EXPERIENCE = frozenset(
    (
        "scope",
        "modality",
        "content",
        "context",
        "directives",
        "idempotency_key",
        "observed_actor",
        "subject",
        "source",
        "language",
        "scripts",
    )
)
CONTENT = frozenset(("kind", "role", "text"))
OTHER_CONTENT = {
    "json": {"kind", "data"},
    "triple": {"kind", "triple"},
    "blob_ref": {"kind", "blob_id", "transcript"},
}
"""Keys of the content that is no message, by its kind."""
CONTEXT = frozenset(("labels", "observed_at", "timezone", "refers_to"))
DIRECTIVES = frozenset(("extract",))
BULK = frozenset(("items", "ordering"))
RECALL = frozenset(
    (
        "scope",
        "query",
        "view",
        "include",
        "budgets",
        "filters",
        "temporal",
        "diagnostics",
        "language",
        "scripts",
        "query_variants",
    )
)
BUDGETS = frozenset(("max_tokens", "max_events", "per_layer_limits"))
METADATA = frozenset(("labels", "intent", "modality", "caller", "observed_actor"))
ANSWER = frozenset(
    (
        "scope",
        "question",
        "question_type",
        "question_date",
        "temporal",
        "filters",
        "answer_max_tokens",
        "answer_instructions",
        "cite_sources",
        "include_context",
        "use_pack_id",
    )
)
DIRECT_ANSWER = ANSWER | {"view", "diagnostics", "answer_model"}
FORGET = frozenset(("scope", "layers", "selector", "cascade", "audit_note", "confirm_all", "reason", "from_preview_id"))
ERASURE = frozenset(("scope", "selector", "confirm_all", "audit_note", "idempotency_key", "from_preview_id"))

SEGMENT = re.compile(r"[A-Za-z0-9_-]+:[A-Za-z0-9_-]+")


class Refused(Exception):
    """A failure of the server's engine, which the hosted backend relays in its own words."""

    def __init__(self, status: int, code: str, text: str = "") -> None:
        super().__init__(code)
        self.status = status
        self.code = code
        self.text = text or code.replace("_", " ").lower()


class BackendRefused(Refused):
    """A failure of the hosted backend itself: it goes out as it is."""


def demand(holds: object, status: int, code: str, text: str = "") -> None:
    if not holds:
        raise Refused(status, code, text)


def closed(value: Any, known: Collection[str], what: str) -> dict[str, Any]:
    """The object, when it has no key but the known ones."""
    demand(isinstance(value, dict), 422, "INVALID_BODY", f"{what} is not an object")
    unknown = sorted(set(value) - set(known))
    demand(not unknown, 422, "UNKNOWN_FIELD", f"{what}: unknown field {', '.join(unknown)}")
    return dict(value)


def scope_path(value: Any) -> str:
    """Direct grammar: `type:id` segments."""
    demand(isinstance(value, str), 422, "INVALID_BODY", "scope is not a string")
    demand(all(SEGMENT.fullmatch(each) for each in value.split("/")), 422, "INVALID_SCOPE_GRAMMAR")
    return str(value)


def hosted_path(value: Any) -> str:
    """Hosted grammar: the same, and no deeper than 31 segments."""
    segments = value.split("/") if isinstance(value, str) else [""]
    if len(segments) > MAX_SEGMENTS or not all(SEGMENT.fullmatch(each) for each in segments):
        raise BackendRefused(400, "BAD_REQUEST", "scope must be type:id segments")
    return str(value)


def registered_types(path: str, allowed: Collection[str]) -> None:
    for segment in path.split("/"):
        kind = segment.split(":")[0]
        demand(kind in allowed, 422, "UNREGISTERED_SCOPE_TYPE", f"scope type {kind} is not registered")


def experience(body: Any) -> dict[str, Any]:
    """A write by the closed schema, all but the length of its text, which replays come before."""
    closed(body, EXPERIENCE, "experience")
    for name in ("scope", "modality"):
        demand(isinstance(body.get(name), str) and body[name], 422, "INVALID_BODY", f"{name} is missing")
    content = body.get("content")
    kind = str(content.get("kind")) if isinstance(content, dict) else ""
    content = closed(content, OTHER_CONTENT.get(kind, CONTENT), "content")
    context = closed(body.get("context", {}), CONTEXT, "context")
    closed(body.get("directives", {}), DIRECTIVES, "directives")
    if kind not in OTHER_CONTENT:
        demand(kind == "message", 422, "INVALID_ENVELOPE", "content.kind")
        demand(content.get("role") in ("user", "assistant", "system", "tool"), 422, "INVALID_ENVELOPE", "content.role")
        text = content.get("text")
        demand(isinstance(text, str) and text, 422, "INVALID_ENVELOPE", "content.text is empty")
    labels = context.get("labels", [])
    demand(isinstance(labels, list) and all(isinstance(each, str) for each in labels), 422, "INVALID_BODY", "labels")
    demand(len(labels) <= MAX_LABELS, 422, "INVALID_ENVELOPE", "over 64 labels")
    demand(all(len(each.encode()) <= MAX_LABEL for each in labels), 422, "INVALID_ENVELOPE", "a label over 256 bytes")
    demand(not any(each.startswith("lang:") for each in labels), 422, "INVALID_ENVELOPE", "a reserved label")
    key = body.get("idempotency_key", "")
    demand(isinstance(key, str) and len(key) <= MAX_KEY, 422, "INVALID_ENVELOPE", "idempotency_key over 64 characters")
    return dict(body)
