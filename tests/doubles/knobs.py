"""Every lever of the double (spec 8.5, 8.6). As they stand: a strict server in good health."""

from __future__ import annotations

from dataclasses import dataclass, field
from typing import Any

from tests.doubles.checks import SCOPE_TYPES

Failure = tuple[int, str]
"""Status and code."""


@dataclass(kw_only=True)
class Knobs:
    # who may ask
    token: str = "key-4f1c9a0d77e2"
    """The one key that both wires take; another, or none, is 401."""
    tenant: str = "acme"
    """Whose memory the token opens on the hosted wire: all of it lies below `org:<tenant>`."""
    tenants: dict[str, str] = field(default_factory=dict)
    """More hosted keys, each with its tenant."""
    prefix: str = ""
    """A path before every route, without slashes at its ends; it is part of `endpoint`."""
    whoami: str | None = "user:local"
    """The caller that `GET v1/auth/whoami` names; None: there is no such route."""
    needs_actor: bool = True
    """Direct requests name that caller in X-Cortex-Actor, or are 401 ACTOR_MISMATCH."""

    # failures; numbers count down
    fail_all: Failure | None = None
    failures: dict[str, list[Failure]] = field(default_factory=dict)
    """By name of the route (`ROUTES`), what its next requests fail with, unapplied."""
    error_text: str | None = None
    """What the server says beside the code of a failure."""
    rate_limit_events: int = 0
    rate_limit_experience: int = 0
    rate_limit_forget: int = 0
    rate_limit_any: int = 0
    rate_limit_headers: dict[str, str] = field(default_factory=dict)
    """Sent with each 429: Retry-After (seconds or a date), RateLimit-Reset."""
    state_change_events: int = 0
    apply_then_fail: int = 0
    """So many writes are applied, then answered with `applied_failure`."""
    applied_failure: Failure = (503, "UNAVAILABLE")
    """(408, "TIMEOUT") for a durable write that the server gave up waiting for."""
    forget_then_fail: int = 0
    forget_gone_is_missing: bool = False
    """A forget that finds none of its ids is 404."""
    forget_refuses_stale: Failure | None = None
    """What a forget fails with, unapplied, that names an id which is not there, be it among a hundred that are."""
    claim_then_fail: int = 0
    fail_nth_experience: int | None = None
    """That write, counted from 1, is 400 and unapplied."""
    arm_after_write: tuple[int, int] | None = None
    """After the next applied write so many listings are 429, then so many empty."""
    registration_failure: Failure | None = None
    attribution_refusal: Failure | None = None
    legacy_conflict: bool = False

    # reading
    hide_listing: int = 0
    listed_after: int = 0
    """A new event is missing from so many listings that would show it."""
    ranked_after: int = 0
    """The same for recalls."""
    max_page: int = 200
    repeat_cursor: bool = False
    """A listing names the cursor it was asked with as the next one."""
    endless_listing: bool = False
    """A listing always has a next page; past its end they are empty."""
    padding_scopes: int = 0
    string_prefix_scopes: bool = False
    scopes_missing: bool = False
    """There is no listing of scopes (404)."""
    strips_tenant: bool = False
    """Hosted scopes are listed as the caller wrote them, not below the tenant's root."""

    # recall and answer
    recall_down: bool = False
    default_tokens: int = 4000
    chars_per_token: int = 4
    packs_without_id: int = 0
    expire_packs: int = 0
    drops_packs: bool = True
    """Any forget or erasure drops every pack."""
    answer: Any = "It is as the memory says."
    answer_model: str | None = "double-1"
    version_down: bool = False
    refers_unlisted: bool = False
    refers_refused: bool = False

    # erasing
    erasure_running_for: int = 0
    """An erasure is under way for so many polls; only then is anything erased."""
    erasure_running_as: str = "running"
    erasure_ends_as: str = "completed"
    erasure_post_omits_status: bool = False
    erasure_poll_omits_status: bool = False
    erasure_poll_status: Any = None
    """Each poll says this status."""
    erasure_incomplete: int = 0
    scoped_erase_answer: tuple[int, Any] | None = None
    """Status and body of each hosted scoped erasure; nothing is erased."""
    scoped_erase_missing: bool = False
    erase_all_missing: bool = False
    erase_all_answer: tuple[int, Any] | None = None

    # strictness
    scope_types: frozenset[str] = SCOPE_TYPES
    compares_body: bool = True
    """A write key stands for the whole body, not only for its text."""
    reroots: bool = True
    """Hosted scopes are stored below the tenant's root."""
    max_forget_ids: int = 100
    max_listing_labels: int = 50
    bulk_answer: Any = None
    """What a bulk write answers, after it was applied."""

    # time
    latency_ms: float = 0
    """Before each answer."""
    listing_delay_ms: float = 0
    """More before each event listing."""
