"""Digests that stand for what is not sent, or not sent in full.

Source: cortex, sections 2.1 and 2.3.
"""

from __future__ import annotations

import hashlib
from collections.abc import Iterable

_LABEL = 16
_PATH = 40


def _hex(value: str) -> str:
    return hashlib.sha256(value.encode("utf-8")).hexdigest()


def label_digest(value: str) -> str:
    """The 16 hex digits that stand for `value` in a lookup label."""
    return _hex(value)[:_LABEL]


def path_digest(value: str) -> str:
    """The 40 hex digits that stand for a path; they begin with its `label_digest`."""
    return _hex(value)[:_PATH]


def path_digests(path: str) -> list[str]:
    """The digest of each part of `path` that ends before a `/`, from the left, then that of the whole."""
    ends = [at for at, char in enumerate(path) if char == "/"]
    made = [path_digest(path[:end]) for end in (*ends, len(path))]
    return [digest for at, digest in enumerate(made) if at == 0 or digest != made[at - 1]]


def is_digest_of(held: str, value: str) -> bool:
    """Whether `held` stands for the path `value`; an older writer kept 16 digits of it."""
    return len(held) in (_LABEL, _PATH) and path_digest(value).startswith(held)


def digests_of(values: Iterable[str]) -> frozenset[str]:
    """All that may be held of these paths: each digest, and the start of it that an older writer kept."""
    full = set(map(path_digest, values))
    return frozenset(full | {digest[:_LABEL] for digest in full})
